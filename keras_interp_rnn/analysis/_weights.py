"""From Keras layers to float64 arrays: the one bridge, so that everything else in `analysis` is NumPy."""

from __future__ import annotations

from typing import Any, NamedTuple

import keras
import numpy as np
from numpy.typing import ArrayLike, NDArray

from keras_interp_rnn.affine import AffineMap
from keras_interp_rnn.analysis import _graph
from keras_interp_rnn.analysis._reading import as_array, check_finite

Array = NDArray[np.float64]


class ISANWeights(NamedTuple):
    """kernel (K, n, n), bias (K, n), initial_state (n,)."""

    kernel: Array
    bias: Array
    initial_state: Array


def isan_layer(network: Any) -> Any:
    """The ISAN of a model: the layer, or `keras.layers.RNN` around a cell; of a layer or a cell itself.

    Raises:
        ValueError: if there is none or more than one, or if the model changes the symbols before they reach it.
    """
    if not isinstance(network, keras.Model):
        if _graph.is_isan(network) or _graph.is_isan_cell(network):
            return network
        raise ValueError(
            "Exactly one ISAN can be read at a time: layers.ISAN, layers.FactoredISAN with a vocabulary, their cells, "
            "keras.layers.RNN around one of these cells, or a model with one of these. Received: "
            f"{_graph.described(network)}. Pass the ISAN layer itself."
        )
    found, outputs = _graph.followed(network)
    layers = list({id(layer): layer for layer, _ in found}.values())
    if len(layers) != 1:
        reasons = {value.reason for value in outputs if value.reason and not layers}
        raise ValueError(
            f"Exactly one ISAN can be read at a time. Received: {network.name}, with {len(layers)}"
            f"{''.join(f'; it has {reason}' for reason in sorted(reasons))}. Pass the ISAN layer itself."
        )
    for _, value in found:
        if value.reason:
            raise ValueError(
                "A model's symbols must reach its ISAN unchanged and without a mask, and its states begin with its own "
                f"initial state. Received: {network.name}, with {value.reason}. Pass the ISAN layer and "
                "readout=(matrix, bias)."
            )
    return layers[0]


def isan_weights(network: Any) -> ISANWeights:
    """Weights of an `ISAN`, of an `ISANCell`, of `keras.layers.RNN` around one, or of a model with one of these.

    Those of a `FactoredISAN` with a vocabulary are the matrices that it applies, K of them.

    Raises:
        ValueError: as `isan_layer`; if there are no weights yet, or one is not finite.
    """
    layer = isan_layer(network)
    cell = getattr(layer, "cell", layer)
    if not cell.built:
        raise ValueError(f"The layer has no weights yet. Received: {layer!r}. Call it on symbols once.")
    check_finite(cell)
    kernel, bias = cell.kernels() if hasattr(cell, "kernels") else (cell.recurrent_kernel, cell.bias)
    return ISANWeights(*(_array(w) for w in (kernel, bias, cell.initial_state)))


def affine_readout(network: Any, readout: Any = None) -> AffineMap:
    """The affine map from states to logits.

    Args:
        network: a model whose head is one linear Dense layer after the ISAN; or a layer.
        readout: a Dense layer or a pair (matrix (n, outputs), bias (outputs,)), where the model has no such head;
            None for a layer by itself reads the state: the identity.

    Raises:
        ValueError: if the head is not one linear Dense layer, or reads anything but the states themselves; if the pair
            has other shapes.
    """
    if readout is None and isinstance(network, keras.Model):
        readout = _head(network)
    units = isan_weights(network).bias.shape[1]
    if readout is None:
        return AffineMap.identity(units)
    if isinstance(readout, (tuple, list)):
        arrays = [_numbers(part) for part in readout]
    elif type(readout) is keras.layers.Dense and readout.built and _graph.is_linear(readout):
        check_finite(readout)
        matrix = _array(readout.kernel)
        arrays = [matrix, np.zeros(matrix.shape[1]) if readout.bias is None else _array(readout.bias)]
    else:
        raise ValueError(
            "readout must be affine: a Dense layer that has its weights, no activation and no quantization, or a pair "
            f"(matrix, bias). Received: {_graph.described(readout)}. Call the model once, or pass the pair of the "
            "logits before the activation."
        )
    shapes = [array.shape for array in arrays]
    if len(shapes) != 2 or len(shapes[1]) != 1 or shapes[0] != (units, *shapes[1]):
        raise ValueError(
            f"readout must be a Dense layer, or a pair (matrix, bias) of shapes ({units}, outputs) and (outputs,). "
            f"Received: {', '.join(map(str, shapes))}."
        )
    return AffineMap(*arrays)


def opened(network: Any, symbols: ArrayLike, readout: Any = None) -> tuple[ISANWeights, AffineMap, NDArray[np.int64]]:
    """A text and the network that reads it: weights, readout, symbols.

    Raises:
        ValueError: as `isan_weights`, `affine_readout` and `checked_symbols`; if the network reads backwards.
    """
    weights, head = isan_weights(network), affine_readout(network, readout)
    check_forwards(network)
    return weights, head, checked_symbols(symbols, len(weights.kernel))


def check_forwards(network: Any) -> None:
    """Raises ValueError for a layer with `go_backwards`, or a model with one."""
    if getattr(isan_layer(network), "go_backwards", False):
        raise ValueError(
            "A text is taken apart in the order in which it is read. Received: "
            f"a {'model whose ISAN' if isinstance(network, keras.Model) else 'layer that'} has go_backwards=True. Pass "
            "the ISAN's cell, the Dense layer as readout, and the symbols in reverse."
        )


def affine_map(layer: Any, symbols: ArrayLike) -> AffineMap:
    r"""What reading a word does to the state: one affine map, $h \mapsto h A + b$.

    $A = W_{x_1} \cdots W_{x_T}$ and $b = \sum_s b_{x_s} W_{x_{s+1}} \cdots W_{x_T}$.

    Args:
        layer: an ISAN, its cell, or a model with one.
        symbols: int (time,), the word; empty for the identity.

    Returns:
        The map, float64; `apply` it to states (..., n), or join it to another by `then`.

    Raises:
        ValueError: if a symbol is outside the vocabulary.

    Exactness: equal to reading the symbols one by one, to float64 rounding.
    Reference: Foerster et al., ICML 2017, section 5.1.
    """
    check_forwards(layer)
    weights = isan_weights(layer)
    maps = [AffineMap(weights.kernel[s], weights.bias[s]) for s in checked_symbols(symbols, len(weights.kernel))]
    return AffineMap.compose(maps, weights.bias.shape[1])


def checked_symbols(symbols: ArrayLike, vocabulary_size: int) -> NDArray[np.int64]:
    """Symbols of one text as an integer vector.

    Raises:
        ValueError: if they are not one row of integers in [0, vocabulary_size).
    """
    array = as_array("symbols", symbols)
    if array.ndim != 1 or (array.size and not np.issubdtype(array.dtype, np.integer)):
        raise ValueError(
            f"symbols must be the integers of one text, shape (time,). Received: {array.dtype} of shape "
            f"{array.shape}. Pass one row of a batch."
        )
    if array.size and (array.min() < 0 or array.max() >= vocabulary_size):
        raise ValueError(
            f"symbols must lie in [0, {vocabulary_size}). Received: {array.min()} to {array.max()}. Map the text "
            "with the alphabet that was trained on."
        )
    return array.astype(np.int64)


def _head(model: keras.Model) -> keras.layers.Dense:
    """The linear Dense layer that makes a model's output from its ISAN's states; a softmax may follow."""
    outputs = _graph.followed(model).outputs
    heads = list({id(value.layer): value.layer for value in outputs if value.layer is not None}.values())
    reason = next((value.reason for value in outputs if value.reason), f"{len(heads)} linear Dense layers on them")
    if len(heads) != 1 or any(value.reason for value in outputs):
        raise ValueError(
            "Logits split exactly only if one linear Dense layer reads the ISAN's states. Received: "
            f"{model.name}, with {reason}. Pass the ISAN layer and readout=(matrix, bias)."
        )
    return heads[0]


def _numbers(given: ArrayLike) -> Array:
    array = np.asarray(given)
    if not np.issubdtype(array.dtype, np.number) or np.issubdtype(array.dtype, np.complexfloating):
        raise ValueError(f"A readout is a matrix and a bias of real numbers. Received: {array.dtype} of {array.shape}.")
    return array.astype(np.float64)


def _array(weight: Any) -> Array:
    return np.asarray(keras.ops.convert_to_numpy(weight), dtype=np.float64)
