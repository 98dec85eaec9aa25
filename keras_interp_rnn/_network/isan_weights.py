"""The weights of an ISAN and its readout as float64 arrays, and an ISAN layer made of such arrays."""

from __future__ import annotations

from typing import Any, NamedTuple

import keras
import numpy as np
from numpy.typing import ArrayLike, NDArray

from keras_interp_rnn._cells import built_for, equations_of
from keras_interp_rnn._network import isan_models
from keras_interp_rnn._network.arrays import (
    alphabet_of,
    as_array,
    as_float64,
    as_symbols,
    check_finite,
    check_range,
    read_text,
)
from keras_interp_rnn._network.linear_recurrences import affine_maps
from keras_interp_rnn._network.parts import Linear
from keras_interp_rnn._types import Array
from keras_interp_rnn.affine import AffineMap


class ISANWeights(NamedTuple):
    """kernel (K, n, n), bias (K, n), initial_state (n,)."""

    kernel: Array
    bias: Array
    initial_state: Array


def isan_layer(network: Any) -> Any:
    """The ISAN or linear recurrence of a model: the layer, or `keras.layers.RNN` around an ISAN's cell.

    A layer or a cell stands for itself.

    Raises:
        ValueError: if there is none or more than one, or if the model changes the symbols before they reach it.
    """
    if not isinstance(network, keras.Model):
        if isan_models.reads_symbols(network) or isan_models.is_isan_cell(network):
            return network
        raise ValueError(
            "Exactly one ISAN can be read at a time: layers.ISAN, layers.FactoredISAN with a vocabulary, their cells, "
            "keras.layers.RNN around one of these cells, a linear recurrence, or a model with one of these. Received: "
            f"{isan_models.describe(network)}. Pass the ISAN layer itself; of other recurrent layers use "
            "analysis.attribution or analysis.trace."
        )
    calls, outputs = isan_models.follow_symbols(network)
    layers = list({id(layer): layer for layer, _ in calls}.values())
    if len(layers) != 1:
        reasons = {value.reason for value in outputs if value.reason and not layers}
        raise ValueError(
            f"Exactly one ISAN can be read at a time. Received: {network.name}, with {len(layers)}"
            f"{''.join(f'; it has {reason}' for reason in sorted(reasons))}. Pass the ISAN layer itself; of other "
            "recurrent layers use analysis.attribution or analysis.trace."
        )
    for _, value in calls:
        if value.reason:
            raise ValueError(
                "A model's symbols must reach its ISAN unchanged, and its states begin with its own initial state. "
                f"Received: {network.name}, with {value.reason}. Pass the ISAN layer and its Dense layer as readout."
            )
    if isan_models.is_two_way(layers[0]):
        raise ValueError(
            f"A network must read in one direction here. Received: {network.name}, with {layers[0].name}. Pass its "
            "forward_layer or its backward_layer. For both use analysis.contributions, where Dense layers alone read "
            "them, or use analysis.attribution."
        )
    return layers[0]


def isan_weights(network: Any, vectors: Array | None = None) -> ISANWeights:
    """Weights of an `ISAN`, of an `ISANCell`, of `keras.layers.RNN` around one, or of a model with one of these.

    Those of a `FactoredISAN` with a vocabulary are the matrices that it applies, K of them; those of a linear
    recurrence the matrices that it applies to the vectors.

    Args:
        network: any of these.
        vectors: (K, features), of a linear recurrence without an Embedding; None for one-hot ones.

    Raises:
        ValueError: as `isan_layer` and `affine_maps`; if there are no weights yet, or one is not finite; if the network
            does not read these vectors.
    """
    return _weights(network, _built_cell(network), vectors)


def _weights(network: Any, cell: Any, vectors: Array | None) -> ISANWeights:
    """Those of a cell, which reads what the network makes of the symbols."""
    if isan_models.is_linear_recurrence(cell):
        kernel, bias = affine_maps(cell, _vectors(network, cell, vectors))
        if vectors is None and _masks_zero(network):
            kernel[0], bias[0] = np.eye(bias.shape[1]), 0.0
        return ISANWeights(kernel, bias, np.zeros(bias.shape[1]))
    if vectors is not None:
        raise ValueError(f"An ISAN reads symbols. Received: {vectors.dtype} of shape {vectors.shape}. Pass ids.")
    kernel, bias = cell.kernels() if hasattr(cell, "kernels") else (cell.recurrent_kernel, cell.bias)
    return ISANWeights(*(as_float64(w) for w in (kernel, bias, cell.initial_state)))


def _built_cell(network: Any) -> Any:
    """The cell of a network's ISAN or linear recurrence, whose weights are there and finite."""
    layer = isan_layer(network)
    cell = getattr(layer, "cell", layer)
    if not cell.built:
        raise ValueError(f"The layer has no weights yet. Received: {layer!r}. Call it on symbols once.")
    check_finite(cell)
    return cell


def _masks_zero(network: Any) -> bool:
    """Whether steps that read the symbol 0 are masked, and so keep the state."""
    if not isinstance(network, keras.Model):
        return False
    return any(value.mask == "zero" for _, value in isan_models.follow_symbols(network).isans)


def _vectors(network: Any, cell: Any, given: Array | None) -> Array:
    """The vectors (K, features) that a linear recurrence reads: an Embedding's, those given, or one-hot ones."""
    embedding = None
    if isinstance(network, keras.Model):
        embedding = next(value.embedding for _, value in isan_models.follow_symbols(network).isans)
    if given is None and embedding is not None:
        check_finite(embedding)
        return as_float64(embedding.embeddings)
    shape = built_for(cell)
    features = int(shape[-1]) if shape and shape[-1] is not None else 0
    if given is None:
        return np.eye(features)
    if embedding is not None:
        raise ValueError(
            f"A model with an Embedding reads ids. Received: {given.dtype} of shape {given.shape}. Pass ids, or the "
            "layer and readout=(matrix, bias)."
        )
    if given.shape[1] != features:
        raise ValueError(
            f"The layer reads vectors of {features} features. Received: shape {given.shape}. Pass one sequence, "
            "(time, features)."
        )
    return given


def affine_readout(network: Any, readout: Any = None) -> AffineMap:
    """The affine map from states to logits.

    Args:
        network: a model whose head is a Dense layer on the ISAN's states, or several without activations between them:
            what comes before the activation of the last one; or a layer.
        readout: a Dense layer, of which the logits before its activation count, or a pair (matrix (n, outputs), bias
            (outputs,)), where the model has no such head; None for a layer by itself reads the state: the identity.

    Raises:
        ValueError: if the head is not affine before its last activation, or reads anything but the states themselves;
            if the pair has other shapes.
    """
    if readout is None and isinstance(network, keras.Model):
        readout = _head(network)
    cell = _built_cell(network)
    units = cell.units
    if readout is None:
        return _joined(cell, np.eye(units), np.zeros(units))
    if isinstance(readout, (tuple, list)):
        arrays = [_numbers(part) for part in readout]
    elif type(readout) is keras.layers.Dense and readout.built and readout.quantization_mode is None:
        check_finite(readout)
        arrays = [*Linear(readout).arrays]
    else:
        raise ValueError(
            "readout must be affine: a Dense layer that has its weights, and is not quantized, or a pair (matrix, "
            f"bias). Received: {isan_models.describe(readout)}. Call the model once, or pass the pair."
        )
    shapes = [array.shape for array in arrays]
    if len(shapes) != 2 or len(shapes[1]) != 1 or shapes[0] != (units, *shapes[1]):
        raise ValueError(
            f"readout must be a Dense layer, or a pair (matrix, bias) of shapes ({units}, outputs) and (outputs,). "
            f"Received: {', '.join(map(str, shapes))}."
        )
    return _joined(cell, *arrays)


def _joined(cell: Any, matrix: Array, offset: Array) -> AffineMap:
    """What reads outputs (..., units), as a map of states, to which they have been joined where they are others."""
    known = equations_of(cell, as_float64) if isan_models.is_linear_recurrence(cell) else None
    joined = known is not None and not known.outputs_state
    return AffineMap(
        np.concatenate([np.zeros((cell.state_size, matrix.shape[1])), matrix]) if joined else matrix, offset
    )


class OpenedText(NamedTuple):
    """A text and the network that reads it.

    Attributes:
        weights: a matrix and a bias for each symbol, or for each step of given vectors. head: from states to logits.
        rows: int (T,), which of these matrices each step applies. symbols: int (T,), the text.
        cell: that of the ISAN or linear recurrence. vectors: (T, features), what it reads; None of symbols.
        given: the layer whose inputs are taken as they are, where other layers make them; else "".
        pooled: (T,), the weight of each step's state in the mean that the head reads; None where it reads states.
        backwards: of a network that reads in both directions, the one that reads backwards, its rows in reverse; its
            head has the bias 0.
        at_the_end: whether the head reads the text as a whole.
    """

    weights: ISANWeights
    head: AffineMap
    rows: NDArray[np.int64]
    symbols: NDArray[np.int64]
    cell: Any
    vectors: Array | None
    given: str = ""
    pooled: Array | None = None
    backwards: OpenedText | None = None
    at_the_end: bool = False


def open_isan(network: Any, symbols: Any, readout: Any = None, origin: Any = None, alphabet: Any = None) -> OpenedText:
    """A text, ids or symbols of the alphabet, and the network that reads it, in one direction, state by state.

    A sequence of vectors (time, features), which a linear recurrence reads, is one of as many symbols.

    Raises:
        ValueError: as `isan_with_origin` and `as_symbols`; if the network reads backwards.
    """
    names = alphabet_of(network) if alphabet is None else alphabet
    given = None if isinstance(symbols, str) else np.asarray(symbols)
    if given is not None and given.ndim == 2 and np.issubdtype(given.dtype, np.floating):
        check_range("The vectors of a sequence", [given])
        vectors, ids = given.astype(np.float64), np.arange(len(given))
        weights, head = isan_with_origin(network, readout, origin, vectors)
    else:
        weights, head = isan_with_origin(network, readout, origin)
        vectors, ids = None, as_symbols(read_text("symbols", symbols, names), len(weights.kernel))
    check_forwards(network)
    return OpenedText(weights, head, ids, ids, _built_cell(network), vectors)


def open_composed(network: Any, symbols: Any, readout: Any, origin: Any, alphabet: Any) -> OpenedText:
    """As `open_isan`, of more models: a head over the mean of the states, a layer in both directions, a stack.

    The uppermost linear recurrence of a stack is opened on what the layers below it make of the text.

    Raises:
        ValueError: as `open_isan`; if no step is read; if such a network is given an origin.
    """
    names = alphabet_of(network) if alphabet is None else alphabet
    composed = isan_models.composed_head(network) if readout is None else None
    if composed is None:
        return open_isan(network, symbols, readout, origin, names)
    value, stacked = composed
    layer, (matrix, bias) = value.layer, _head_arrays(network)[1]
    if origin is not None and (value.pooled or isan_models.is_two_way(layer)):
        raise ValueError(
            "An origin must be a state of a network that reads forwards, state by state. Received: origin for "
            f"{network.name}. Leave it out."
        )
    read, given, vectors = read_text("symbols", symbols, names), "", None
    if stacked:
        vectors = as_float64(keras.Model(network.inputs[0], layer.input)(keras.ops.convert_to_tensor(read[None])))[0]
        given = layer.name
    what = read if vectors is None else vectors
    if isan_models.is_two_way(layer):
        opened = _two_ways(network, layer, what, matrix, bias)
    else:
        opened = open_isan(network if vectors is None else layer, what, (matrix, bias), origin, names)
    ids = read.astype(np.int64) if read.ndim == 1 and len(read) == len(opened.rows) else opened.symbols
    pooled = None
    if value.pooled:
        counted = (ids != 0) if value.mask == "zero" else np.ones(len(ids), bool)
        if not counted.any():
            raise ValueError(f"A mean must be that of at least one step. Received: a text of {len(ids)} masked steps.")
        pooled = counted / counted.sum()
    at_the_end = value.pooled or (opened.backwards is not None and not layer.return_sequences)
    return opened._replace(symbols=ids, given=given, pooled=pooled, at_the_end=at_the_end)


def _two_ways(network: Any, layer: Any, read: Any, matrix: Array, bias: Array) -> OpenedText:
    """Both directions of a Bidirectional, each with its own rows of the head."""
    ways = (layer.forward_layer, layer.backward_layer)
    units = ways[0].cell.units
    heads = {"concat": (matrix[:units], matrix[units:]), "sum": (matrix, matrix), "ave": (matrix / 2, matrix / 2)}
    vectors = None if np.ndim(read) == 1 else np.asarray(read, np.float64)
    opened = []
    for way, rows, offset in zip(ways, heads[layer.merge_mode], (bias, np.zeros_like(bias)), strict=True):
        cell = _built_cell(way)
        weights = _weights(network, cell, vectors)
        steps = as_symbols(read, len(weights.kernel)) if vectors is None else np.arange(len(vectors))
        opened.append(OpenedText(weights, _joined(cell, rows, offset), steps, steps, cell, None))
    forwards, backwards = opened
    return forwards._replace(backwards=backwards._replace(rows=backwards.rows[::-1]))


def isan_with_origin(
    network: Any, readout: Any = None, origin: Any = None, vectors: Array | None = None
) -> tuple[ISANWeights, AffineMap]:
    r"""Weights and readout of the same network for the states h - m.

    The biases become $b_x - m (1 - W_x)$, the initial state $h_0 - m$, the readout's bias $c + m R$.

    Args:
        network, readout, vectors: as `isan_weights` and `affine_readout`.
        origin: m, (n,); "initial" for $h_0$; None for 0, where training left the network.

    Raises:
        ValueError: as these two; if the origin is none of these.
    """
    weights, head = isan_weights(network, vectors), affine_readout(network, readout)
    if origin is None:
        return weights, head
    kernel, bias, start = weights
    if isinstance(origin, str):
        if origin != "initial":
            raise ValueError(f'An origin is a state, "initial" or None. Received: {origin!r}. Pass "initial".')
        shift = start
    else:
        shift = as_array("An origin's numbers", origin).astype(np.float64)
    if shift.shape != start.shape or not np.isfinite(shift).all():
        raise ValueError(
            f"An origin is a state of {len(start)} finite numbers. Received: shape {shift.shape}. Pass that of "
            "`mean_state(network, sequences)`."
        )
    return (
        ISANWeights(kernel, bias - shift + shift @ kernel, start - shift),
        AffineMap(head.matrix, shift @ head.matrix + head.offset),
    )


def check_forwards(network: Any) -> None:
    """Raises ValueError for a layer with `go_backwards`, or a model with one."""
    if getattr(isan_layer(network), "go_backwards", False):
        raise ValueError(
            "A text is split in the order in which it is read. Received: "
            f"a {'model whose ISAN' if isinstance(network, keras.Model) else 'layer that'} has go_backwards=True. Pass "
            "the ISAN's cell, the Dense layer as readout, and the symbols in reverse."
        )


def _head(model: keras.Model) -> tuple[Array, Array]:
    """The matrix and the bias between the states of a model's ISAN and its output; an activation may follow."""
    pooled, arrays = _head_arrays(model)
    if pooled:
        raise ValueError(
            "Dense layers must read the states themselves here. Received: "
            f"{model.name}, whose head reads their mean. Use analysis.contributions, which splits it."
        )
    return arrays


def _head_arrays(model: keras.Model) -> tuple[bool, tuple[Array, Array]]:
    """Whether a model's head reads the mean of the states, and its matrix and bias."""
    outputs = isan_models.follow_symbols(model).outputs
    heads = list({tuple(id(part.layer) for part in value.head): value for value in outputs if value.head}.values())
    reason = next((value.reason for value in outputs if value.reason), f"{len(heads)} Dense heads on them")
    if len(heads) != 1 or any(value.reason for value in outputs):
        raise ValueError(
            "Logits split exactly if Dense layers alone read the ISAN's states or their mean, with no activation but "
            f"at the end. Received: {model.name}, with {reason}. Pass the ISAN layer and readout=(matrix, bias); or "
            "use analysis.attribution, which takes other models too."
        )
    check_finite(model)
    first, *others = heads[0].head
    matrix, bias = first.arrays
    for part in others:
        following, added = part.arrays
        matrix, bias = matrix @ following, bias @ following + added
    return heads[0].pooled, (matrix, bias)


def last_outputs(network: Any, inputs: Array, outputs: Array) -> tuple[Array, Array] | None:
    """What a network of an ISAN computes itself, (batch, outputs), at the last step, and what it makes of these logits.

    None of a cell, and of a stateful network: to run it would change its states, which need not be those at the start
    of a text.
    """
    if isan_models.is_isan_cell(network) or getattr(isan_layer(network), "stateful", False):
        return None
    computed = network(keras.ops.convert_to_tensor(inputs), training=False)
    own = as_float64(computed[0] if isinstance(computed, (list, tuple)) else computed)
    activation = isan_models.activation_of(network)
    if activation is not None:
        outputs = as_float64(activation(keras.ops.convert_to_tensor(outputs)))
    return own[:, -1] if own.ndim == 3 else own, outputs


def _numbers(given: ArrayLike) -> Array:
    array = np.asarray(given)
    if not np.issubdtype(array.dtype, np.number) or np.issubdtype(array.dtype, np.complexfloating):
        raise ValueError(f"A readout is a matrix and a bias of real numbers. Received: {array.dtype} of {array.shape}.")
    return array.astype(np.float64)


def isan_like(network: Any, kernel: Array, bias: Array, initial_state: Array, dtype: str) -> Any:
    """A built ISAN layer with the arguments of the one in `network`, and these weights.

    Raises:
        ValueError: if the network has no `layers.ISAN`.
    """
    template = isan_layer(network)
    if type(template).__name__ != "ISAN":
        raise ValueError(
            f"A change of basis makes one ISAN layer out of one. Received: {template!r}. Pass an ISAN layer, and its "
            "readout."
        )
    config = {**template.get_config(), "units": len(initial_state), "dtype": dtype, "stateful": False}
    return _built(type(template).from_config(config), kernel, bias, initial_state)


def isan_of(kernel: Array, bias: Array, initial_state: Array, *, dtype: str, return_sequences: bool = False) -> Any:
    """A built `layers.ISAN` with these weights; of no unit, one with a unit that stays 0."""
    if not len(initial_state):
        kernel, bias, initial_state = np.zeros((len(kernel), 1, 1)), np.zeros((len(kernel), 1)), np.zeros(1)
    # By its registered name, as `layers` stands beside this package, not below it.
    make = keras.saving.get_registered_object("keras_interp_rnn>ISAN")
    layer = make(
        len(initial_state), len(kernel), recurrent_constraint=None, return_sequences=return_sequences, dtype=dtype
    )
    return _built(layer, kernel, bias, initial_state)


def _built(layer: Any, kernel: Array, bias: Array, initial_state: Array) -> Any:
    layer.build((None, None))
    for variable, value in zip(
        (layer.cell.recurrent_kernel, layer.cell.bias, layer.cell.initial_state),
        (kernel, bias, initial_state),
        strict=True,
    ):
        variable.assign(value)
    return layer
