"""From Keras layers to float64 arrays: the one bridge, so that everything else in `analysis` is NumPy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import keras
import numpy as np
from numpy.typing import ArrayLike, NDArray

from keras_interp_rnn.affine import AffineMap

Array = NDArray[np.float64]

_PASSES_ON = (
    *(keras.layers.InputLayer, keras.layers.Identity, keras.layers.Masking, keras.layers.ActivityRegularization),
    *(keras.layers.Dropout, keras.layers.GaussianDropout, keras.layers.GaussianNoise, keras.layers.AlphaDropout),
)
"""Layers that put out what they read, outside training."""


class ISANWeights(NamedTuple):
    """kernel (K, n, n), bias (K, n), initial_state (n,)."""

    kernel: Array
    bias: Array
    initial_state: Array


def isan_weights(layer: Any) -> ISANWeights:
    """Weights of an `ISAN`, of an `ISANCell`, of `keras.layers.RNN` around one, or of a model with one of these.

    Those of a `FactoredISAN` with a vocabulary are the matrices that it applies, K of them.

    Raises:
        ValueError: if there is none, if there is more than one, or if it has no weights yet.
    """
    cells = _switched_affine_cells(layer)
    if len(cells) != 1:
        raise ValueError(
            f"Exactly one ISAN can be read at a time. Received: {layer!r}, with {len(cells)}. Pass the ISAN layer "
            "itself."
        )
    [cell] = cells
    if not cell.built:
        raise ValueError(f"The layer has no weights yet. Received: {layer!r}. Call it on symbols once.")
    kernel, bias = cell.kernels() if hasattr(cell, "kernels") else (cell.recurrent_kernel, cell.bias)
    return ISANWeights(*(_array(w) for w in (kernel, bias, cell.initial_state)))


def affine_readout(model_or_layer: Any, readout: Any = None) -> AffineMap:
    """The affine map from states to logits.

    Args:
        model_or_layer: a model whose head is one linear Dense layer after the ISAN; or a layer.
        readout: a Dense layer or a pair (matrix (n, outputs), bias (outputs,)), where the model has no such head;
            None for a layer by itself reads the state: the identity.

    Raises:
        ValueError: if the head is not one linear Dense layer, or reads anything but the states themselves; if the pair
            has other shapes.
    """
    if isinstance(readout, (tuple, list)):
        units = isan_weights(model_or_layer).bias.shape[1]
        arrays = [np.asarray(part, dtype=np.float64) for part in readout]
        shapes = [array.shape for array in arrays]
        if len(shapes) != 2 or len(shapes[1]) != 1 or shapes[0] != (units, *shapes[1]):
            raise ValueError(
                f"readout must be a Dense layer, or a pair (matrix, bias) of shapes ({units}, outputs) and (outputs,). "
                f"Received: {', '.join(map(str, shapes))}."
            )
        return AffineMap(*arrays)
    if readout is None:
        if not isinstance(model_or_layer, keras.Model):
            return AffineMap.identity(isan_weights(model_or_layer).bias.shape[1])
        readout = _head(model_or_layer)
    if not isinstance(readout, keras.layers.Dense) or not readout.built:
        raise ValueError(
            f"readout must be a Dense layer that has its weights, or a pair (matrix, bias). Received: {readout!r}. "
            "Call the model once, or pass the arrays."
        )
    matrix = _array(readout.kernel)
    return AffineMap(matrix, np.zeros(matrix.shape[1]) if readout.bias is None else _array(readout.bias))


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
    weights = isan_weights(layer)
    maps = [AffineMap(weights.kernel[s], weights.bias[s]) for s in checked_symbols(symbols, len(weights.kernel))]
    return AffineMap.compose(maps, weights.bias.shape[1])


def checked_symbols(symbols: ArrayLike, vocabulary_size: int) -> NDArray[np.int64]:
    """Symbols of one text as an integer vector.

    Raises:
        ValueError: if they are not one row of integers in [0, vocabulary_size).
    """
    array = np.asarray(symbols)
    if array.ndim != 1 or (array.size and not np.issubdtype(array.dtype, np.integer)):
        raise ValueError(
            f"symbols must be the integers of one text, shape (time,). Received: {array.dtype} of shape "
            f"{array.shape}. Pass one row of a batch."
        )
    if array.size and (array.min() < 0 or array.max() >= vocabulary_size):
        raise ValueError(
            f"symbols must lie in [0, {vocabulary_size}). Received: {array.min()} to {array.max()}. Map the text "
            "with the alphabet the layer was trained on."
        )
    return array.astype(np.int64)


def _switched_affine_cells(layer: Any) -> list[Any]:
    if hasattr(layer, "recurrent_kernel") or type(layer).__name__ in ("ISANCell", "FactoredISANCell"):
        return [layer] if getattr(layer, "vocabulary_size", None) else []
    parts = [layer.cell] if hasattr(layer, "cell") else getattr(layer, "layers", None) or getattr(layer, "cells", [])
    return [cell for part in parts for cell in _switched_affine_cells(part)]


def _head(model: keras.Model) -> keras.layers.Dense:
    """The Dense layer right after the ISAN, if it is the model's last and linear."""
    after: list[Any] = []
    backwards = False
    for step in _operations(model):
        if _switched_affine_cells(step):
            after, backwards = [], getattr(step, "go_backwards", False)
        elif not _passes_on(step):
            after.append(step)
    head = after[0] if after else None
    linear = isinstance(head, keras.layers.Dense) and head.activation is keras.activations.linear
    if not linear or not all(isinstance(step, keras.layers.Softmax) for step in after[1:]):
        raise ValueError(
            "Logits split exactly only if one linear Dense layer reads the ISAN's states. Received: a model with "
            f"{[step.name for step in after]} after the ISAN. Pass the ISAN layer and readout=(matrix, bias)."
        )
    if backwards:
        raise ValueError(
            "A text is taken apart in the order in which it is read. Received: a model whose ISAN has "
            "go_backwards=True. Pass the ISAN's cell, the Dense layer as readout, and the symbols in reverse."
        )
    return head


def _operations(model: keras.Model) -> Iterator[Any]:
    """Layers, and operations that are none, in the order of the model; nested models opened."""
    for step in getattr(model, "operations", model.layers):
        if isinstance(step, keras.Model):
            yield from _operations(step)
        else:
            yield step


def _passes_on(step: Any) -> bool:
    """Whether a layer puts out what it reads, outside training."""
    if isinstance(step, keras.layers.Activation):
        return step.activation is keras.activations.linear
    return isinstance(step, _PASSES_ON)


def _array(weight: Any) -> Array:
    return np.asarray(keras.ops.convert_to_numpy(weight), dtype=np.float64)
