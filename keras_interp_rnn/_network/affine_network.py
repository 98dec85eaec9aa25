"""A network of an ISAN or a linear recurrence in float64: an affine map a symbol or a step, and an affine head."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import keras
import numpy as np
from numpy.typing import ArrayLike, NDArray

from keras_interp_rnn._alphabet import Alphabet
from keras_interp_rnn._arrays import (
    as_array,
    as_float64,
    as_symbols,
    at_step,
    check_finite,
    without_unread,
)
from keras_interp_rnn._backend.keras_quirks import walk_layers
from keras_interp_rnn._cells import built_for, equations_of
from keras_interp_rnn._network.affine_steps import affine_maps
from keras_interp_rnn._network.lost_masks import warn_of_lost_masks
from keras_interp_rnn._network.recurrent import recurrent_layer_inputs
from keras_interp_rnn._network.texts import GivenAlphabet, read_text, resolve_alphabet
from keras_interp_rnn._program.affine_layers import describe, is_isan_cell, is_linear_recurrence, reads_symbols
from keras_interp_rnn._program.fold import SYMBOLS, Content, fold
from keras_interp_rnn._program.graph import is_stateful, makes_mask
from keras_interp_rnn._program.operations import PROBABILITIES, Affine, Lookup, Scale
from keras_interp_rnn._types import AnyArray, Array, Tensor
from keras_interp_rnn.affine import AffineMap


class ISANWeights(NamedTuple):
    """kernel (K, n, n), bias (K, n), initial_state (n,)."""

    kernel: Array
    bias: Array
    initial_state: Array


class Way(NamedTuple):
    """A recurrence along a text.

    Attributes:
        weights: a matrix and a bias for each symbol, or for each step of vectors. head: from states to logits.
        rows: int (T,), which of these matrices each step applies, in reading order.
        pooled: (T,), the weight of each step's state in the mean that the head reads; None where it reads states.
    """

    weights: ISANWeights
    head: AffineMap
    rows: NDArray[np.int64]
    pooled: Array | None = None


class OpenedText(NamedTuple):
    """A text and the network that reads it.

    Attributes:
        ways: in which the network reads, of two directions the forward one first; the head's bias is in the first.
        symbols: int (T,), the text. cell: that of the first way.
        vectors: (T, features), what it reads; None of symbols.
        given: the layer whose inputs are taken as they are, where other layers make them; else "".
        at_the_end: whether the head reads the text as a whole.
        same_steps: whether the layer has a step for each of the text; other layers below it may make others.
    """

    ways: list[Way]
    symbols: NDArray[np.int64]
    cell: Any
    vectors: Array | None
    given: str = ""
    at_the_end: bool = False
    same_steps: bool = True


class AffineReading:
    """A network of one ISAN or linear recurrence, whose graph is followed once.

    Args:
        network: an ISAN, a FactoredISAN with a vocabulary or a linear recurrence, its cell, `keras.layers.RNN` around
            an ISAN's cell, or a model with one of these.
        alphabet: names of the ids; None for those that a model carries.

    Attributes:
        network: what is read, from the ids on. names: of the ids; None where they have none.

    Raises:
        ValueError: of a model that has no graph, or several inputs.
    """

    def __init__(self, network: object, alphabet: GivenAlphabet | None = None) -> None:
        self.network, self.names = resolve_alphabet(network, alphabet)
        self.flow = fold(self.network) if isinstance(self.network, keras.Model) else None
        if self.flow is not None and self.flow.recurrences:
            warn_of_lost_masks(self.network)

    @functools.cached_property
    def layer(self) -> Any:
        """The layer, or `keras.layers.RNN` around an ISAN's cell; a layer or a cell itself.

        Raises:
            ValueError: if there is none or more than one, or if the model changes the symbols before they reach it.
        """
        network = self.network
        if self.flow is None:
            if reads_symbols(network) or is_isan_cell(network):
                return network
            raise ValueError(
                "Exactly one ISAN can be read at a time: layers.ISAN, layers.FactoredISAN with a vocabulary, their "
                "cells, keras.layers.RNN around one of these cells, a linear recurrence, or a model with one of these. "
                f"Received: {describe(network)}. Of other recurrent layers use analysis.attribution or "
                "analysis.trace; of an ISAN pass the layer itself."
            )
        calls, outputs = self.flow
        layers = list({id(call.layer): call.layer for call, _ in calls}.values())
        two_ways = [way.layer for content in outputs[:1] for way in content.ways[1:]]
        if len(layers) - len(two_ways) != 1:
            reasons = {value.reason for value in outputs if value.reason and not layers}
            raise ValueError(
                f"Exactly one ISAN can be read at a time. Received: {network.name}, with {len(layers)}"
                f"{''.join(f'; it has {reason}' for reason in sorted(reasons))}. Of other recurrent layers use "
                "analysis.attribution or analysis.trace; of an ISAN pass the layer itself."
            )
        self._check_unchanged()
        if two_ways:
            raise ValueError(
                f"A network must read in one direction here. Received: {network.name}, with {layers[0].name} and "
                f"{two_ways[0].name}. Pass one of them, as forward_layer or backward_layer of a Bidirectional. For "
                "both use analysis.contributions, where Dense layers alone read them, or use analysis.attribution."
            )
        return layers[0]

    def _check_unchanged(self) -> None:
        """Raises ValueError if other layers change what the layer reads, or under which mask."""
        reason = next((value.reason for _, value in (self.flow or ((), ()))[0] if value.reason), "")
        if reason:
            raise ValueError(
                "A model's symbols must reach its ISAN unchanged, and its states begin with its own initial state. "
                f"Received: {self.network.name}, with {reason}. Pass the ISAN layer and its Dense layer as readout."
            )

    @property
    def masks_zero(self) -> bool:
        """Whether steps of the id 0 are masked, as by an Embedding, so that they leave the state as it is."""
        return self.flow is not None and self.content.mask == "zero" and is_linear_recurrence(self.cell)

    @property
    def content(self) -> Content:
        """The value that the layer reads, made of the symbols."""
        return SYMBOLS if self.flow is None else self.flow.recurrences[0][1]

    @property
    def cell(self) -> Any:
        """The cell, whose weights are there and finite."""
        return _built_cell(self.layer)

    def forwards(self) -> AffineReading:
        """Itself; raises ValueError for a layer with `go_backwards`, or a model with one."""
        if getattr(self.layer, "go_backwards", False):
            raise ValueError(
                "A network must read forwards for its text to be split. Received: a "
                f"{'layer that' if self.flow is None else 'model whose ISAN'} has go_backwards=True. Pass the ISAN's "
                "cell, the Dense layer as readout, and the symbols in reverse."
            )
        return self

    def weights(self, vectors: Array | None = None) -> ISANWeights:
        """The matrices and biases that are applied; of a FactoredISAN the K products of its factors.

        Args:
            vectors: (K, features), of a linear recurrence without an Embedding; None for one-hot ones.

        Raises:
            ValueError: as `layer` and `affine_maps`; if there are no weights yet, or one is not finite; if the network
                does not read these vectors.
        """
        return self._weights(self.cell, vectors)

    def _weights(self, cell: Any, vectors: Array | None) -> ISANWeights:
        """Those of a cell, which reads what the network makes of the symbols."""
        read = self.content
        if is_linear_recurrence(cell):
            kernel, bias = affine_maps(cell, vectors_of(cell, vectors, read.lookup))
            if vectors is None and read.mask == "zero":
                kernel[0], bias[0] = np.eye(bias.shape[1]), 0.0
            return ISANWeights(kernel, bias, np.zeros(bias.shape[1]))
        if vectors is not None:
            raise ValueError(
                f"An ISAN must read symbols. Received: {vectors.dtype} of shape {vectors.shape}. Pass ids."
            )
        kernel, bias = cell.kernels() if hasattr(cell, "kernels") else (cell.recurrent_kernel, cell.bias)
        return ISANWeights(*(as_float64(w) for w in (kernel, bias, cell.initial_state)))

    def parameters(self) -> list[Any]:
        """All that makes the maps of a network: two networks with equal ones are equal."""
        cell, read = self.cell, self.content
        known = equations_of(cell, as_float64)
        embedding = None if read.lookup is None else read.lookup.table(as_float64)
        return [type(known), *vars(known).values(), embedding, read.mask]

    def readout(self, given: Any = None) -> AffineMap:
        """The affine map from states to logits.

        Args:
            given: a Dense layer, of which the logits before its activation count, or a pair (matrix (n, outputs), bias
                (outputs,)); None for the Dense layers of the model, without activations between them, before the
                activation of the last one. A layer or a cell without a readout reads the state: the identity.

        Raises:
            ValueError: if the head is not affine before its last activation, or reads anything but the states; if the
                pair has other shapes.
        """
        if given is None and self.flow is not None:
            given = self._head(pooled=False)
        units = self.cell.units
        if given is None:
            given = np.eye(units), np.zeros(units)
        if isinstance(given, (tuple, list)):
            arrays = [_numbers(part) for part in given]
        elif type(given) is keras.layers.Dense and given.built and given.quantization_mode is None:
            check_finite(given)
            matrix = as_float64(given.kernel)
            arrays = [matrix, np.zeros(matrix.shape[1]) if given.bias is None else as_float64(given.bias)]
        else:
            raise ValueError(
                "`readout` must be affine: a Dense layer that has its weights and is not quantized, or a pair (matrix, "
                f"bias). Received: {describe(given)}. Call the model once, or pass the pair."
            )
        shapes = [array.shape for array in arrays]
        if len(shapes) != 2 or len(shapes[1]) != 1 or shapes[0] != (units, *shapes[1]):
            raise ValueError(
                f"`readout` must be a Dense layer, or a pair (matrix, bias) of shapes ({units}, outputs) and "
                f"(outputs,). Received: {', '.join(map(str, shapes))}."
            )
        return _joined(self.cell, *arrays)

    def _head(self, *, pooled: bool) -> tuple[Array, Array]:
        """The matrix and the bias between a model's states, or their mean if `pooled`, and its output's activation."""
        assert self.flow is not None
        outputs, name = self.flow.outputs, self.network.name
        heads = list({tuple(id(part.layer) for part in x.head): x for x in outputs if x.head}.values())
        reason = next((value.reason for value in outputs if value.reason), f"{len(heads)} Dense heads on them")
        if len(heads) != 1 or any(value.reason for value in outputs):
            raise ValueError(
                "Dense layers alone must read the ISAN's states or their mean, with no activation but at the end, for "
                f"logits to split exactly. Received: {name}, with {reason}. Pass the ISAN layer and readout=(matrix, "
                "bias); or use analysis.attribution, which takes other models too."
            )
        check_finite(self.network)
        if heads[0].pooled and not pooled:
            raise ValueError(
                "Dense layers must read the states themselves here. Received: "
                f"{name}, whose head reads their mean. Use analysis.contributions, which splits it."
            )
        first, *others = heads[0].head
        matrix, bias = matrix_and_offset(first)
        for operation in others:
            following, added = matrix_and_offset(operation)
            matrix, bias = matrix @ following, bias @ following + added
        return matrix, bias

    def centred(
        self, readout: object = None, origin: object = None, vectors: Array | None = None
    ) -> tuple[ISANWeights, AffineMap]:
        r"""Weights and readout of the same network for the states h - m.

        The biases become $b_x - m (1 - W_x)$, the initial state $h_0 - m$, the readout's bias $c + m R$.

        Args:
            readout, vectors: as `readout` and `weights`.
            origin: m, (n,); "initial" for $h_0$; None for 0, where training left the network.

        Raises:
            ValueError: as these two; if the origin is none of these.
        """
        weights, head = self.weights(vectors), self.readout(readout)
        if origin is None:
            return weights, head
        kernel, bias, start = weights
        if isinstance(origin, str):
            if origin != "initial":
                raise ValueError(f'`origin` must be a state, "initial" or None. Received: {origin!r}. Pass "initial".')
            shift = start
        else:
            shift = as_array("An origin's numbers", origin).astype(np.float64)
        if shift.shape != start.shape or not np.isfinite(shift).all():
            raise ValueError(
                f"`origin` must be a state of {len(start)} finite numbers. Received: shape {shift.shape}. Pass "
                "`mean_state(network, sequences)`."
            )
        return (
            ISANWeights(kernel, bias - shift + shift @ kernel, start - shift),
            AffineMap(head.matrix, shift @ head.matrix + head.offset),
        )

    @property
    def activation(self) -> Callable[..., Tensor] | None:
        """The function that a model applies to its logits in the end; None for none, and of a layer or a cell."""
        ends = () if self.flow is None else self.flow.outputs
        return next((value.activation for value in ends if value.kind == "activated logits"), None)

    @property
    def explains_logits(self) -> bool:
        """Whether the logits are what is to be explained: where nothing, a softmax or a sigmoid follows them."""
        return self.activation is None or self.activation in PROBABILITIES

    def splits(self) -> bool:
        """Whether every logit is a sum over what is read, given nothing but that: not of a stack.

        Raises:
            ValueError: if it is none, as `open`.
        """
        head = self._top
        if head is not None and self._is_stack(head):
            return False
        if head is not None and (head.pooled or len(head.ways) > 1):
            self._check_unchanged()
            self._head(pooled=True)
        else:
            self.forwards().readout()
        return True

    def open(
        self, symbols: object, readout: object = None, origin: object = None, *, whole: bool = False
    ) -> OpenedText:
        """A text, ids or symbols with names, and the network that reads it.

        A sequence of vectors (time, features), which a linear recurrence reads, is one of as many symbols. The
        uppermost linear recurrence of a stack is opened on what the layers below it make of the text.

        Args:
            whole: whether heads that read the text as a whole are opened too: over the mean of the states, or over a
                layer in both directions.

        Raises:
            ValueError: as `weights`, `readout`, `centred` and `as_symbols`; if the network reads backwards; of such a
                head, if no step is read, or for an origin.
        """
        read = _text(symbols, self.names)
        head = self._top if readout is None else None
        if head is not None and self._is_stack(head):
            layer = head.ways[0].layer
            vectors = as_float64(recurrent_layer_inputs(self.network, read[None], layer.name)[1])[0]
            opened = AffineReading(layer)._opened(vectors, self._head(pooled=whole), origin)
            opened = opened._replace(given=layer.name)
        elif head is None or not whole or not (head.pooled or len(head.ways) > 1):
            return self._opened(read, readout, origin)
        elif len(head.ways) > 1:
            self._check_unchanged()
            opened = self._two_ways(head, read, self._head(pooled=True))
        else:
            opened = self._opened(read, self._head(pooled=True), origin)
        if origin is not None and (head.pooled or len(opened.ways) > 1):
            raise ValueError(
                "`origin` must be None unless the network reads forwards, state by state. Received: origin for "
                f"{self.network.name}. Leave it out."
            )
        as_read = read.ndim == 1 and len(read) == len(opened.symbols)
        same = len(read) == len(opened.symbols)
        opened = opened._replace(symbols=read.astype(np.int64) if as_read else opened.symbols, same_steps=same)
        return _averaged(opened, head.mask) if head.pooled else opened

    def _opened(self, read: AnyArray, readout: object, origin: object) -> OpenedText:
        """One direction, state by state."""
        vectors = read if _are_vectors(read) else None
        weights, head = self.centred(readout, origin, vectors)
        rows = _rows(read, weights)
        return OpenedText([Way(weights, head, rows)], rows, self.forwards().cell, vectors)

    @property
    def _top(self) -> Content | None:
        """The output of a model, if it is affine in the states of one layer."""
        if self.flow is None:
            return None
        first, *others = self.flow.outputs
        alone = first.ways and all(value.ways == first.ways for value in others)
        return first if alone and first.head else None

    def _is_stack(self, head: Content) -> bool:
        """Whether other layers make what the layer under the head reads, and at the steps of the text.

        Not with a mask or in a nested model, and not where the state is carried from call to call.
        """
        assert self.flow is not None
        layer = head.ways[0].layer
        calls = [(bool(read.reason), call.mask) for call, read in self.flow.recurrences if call.layer is layer]
        if len(head.ways) > 1 or calls != [(True, None)]:
            return False
        masked = any(makes_mask(part) for part in walk_layers(self.network))
        inside = any(part is layer for part in self.network.layers)
        return inside and not masked and not is_stateful(self.network) and is_linear_recurrence(layer)

    def _two_ways(self, content: Content, read: AnyArray, head: tuple[Array, Array]) -> OpenedText:
        """Both directions, each with its own rows of the head."""
        layers = [way.layer for way in content.ways]
        (matrix, bias), units = head, layers[0].cell.units
        halves = {"concat": (matrix[:units], matrix[units:]), "sum": (matrix, matrix), "ave": (matrix / 2, matrix / 2)}
        ways = []
        for one, rows, offset in zip(layers, halves[content.merge], (bias, 0 * bias), strict=True):
            cell = _built_cell(one)
            weights = self._weights(cell, read if _are_vectors(read) else None)
            order = slice(None, None, -1 if one.go_backwards else 1)
            ways.append(Way(weights, _joined(cell, rows, offset), _rows(read, weights)[order]))
        text, cell = ways[0].rows, _built_cell(layers[0])
        return OpenedText(ways, text, cell, None, at_the_end=not layers[0].return_sequences)

    def outputs_at(self, inputs: Array, outputs: Array, step: int) -> tuple[Array, Array] | None:
        """The outputs (batch, outputs) of the network itself at a step, and what it makes of these logits.

        None of a cell, and of a stateful network: to run it would change its states, which need not be those at the
        start of a text.
        """
        if is_isan_cell(self.network) or is_stateful(self.network):
            return None
        computed = self.network(keras.ops.convert_to_tensor(inputs), training=False)
        own = as_float64(computed[0] if isinstance(computed, (list, tuple)) else computed)
        if self.activation is not None:
            outputs = as_float64(self.activation(keras.ops.convert_to_tensor(outputs)))
        return at_step(self.network, own, step), outputs


def _built_cell(layer: Any) -> Any:
    cell = getattr(layer, "cell", layer)
    if not cell.built:
        raise ValueError(f"The layer must have its weights. Received: {layer!r}. Call it on symbols once.")
    check_finite(cell)
    return cell


def _text(symbols: object, names: Alphabet | None) -> AnyArray:
    """A text as ids, or one sequence of vectors (time, features)."""
    given = None if isinstance(symbols, str) else np.asarray(symbols)
    if given is None or not _are_vectors(given):
        return read_text("symbols", symbols, names)
    [vectors] = without_unread(given[None], np.ones((1, len(given)), bool))
    return np.asarray(vectors, np.float64)


def _rows(read: AnyArray, weights: ISANWeights) -> NDArray[np.int64]:
    """Which matrix each step applies: that of its id, or of its vector."""
    return np.arange(len(read)) if _are_vectors(read) else as_symbols(read, len(weights.kernel))


def _are_vectors(read: AnyArray) -> bool:
    return read.ndim == 2 and np.issubdtype(read.dtype, np.floating)


def _averaged(opened: OpenedText, mask: str) -> OpenedText:
    """With a head that reads the mean of the states, those of masked steps left out."""
    counted = (opened.symbols != 0) if mask == "zero" else np.ones(len(opened.symbols), bool)
    if not counted.any():
        raise ValueError(
            f"A mean must be taken over at least one step. Received: a text of {len(counted)} masked steps."
        )
    weight = counted / counted.sum()
    ways = [way._replace(pooled=pooled) for way, pooled in zip(opened.ways, (weight, weight[::-1]), strict=False)]
    return opened._replace(ways=ways, at_the_end=True)


def matrix_and_offset(operation: Affine | Scale, dtype: Any = np.float64) -> tuple[Array, Array]:
    """The matrix and the offset of an affine operation."""

    def weight(variable: Any) -> Array:
        return np.asarray(as_float64(variable).astype(dtype))

    if isinstance(operation, Affine):
        matrix, offset = operation.arrays(weight)
        return matrix, np.zeros(matrix.shape[1], dtype) if offset is None else offset
    features = np.zeros(operation.reads[0].shape[-1] or 1)
    centre, factor, offset = (np.add(array, features) for array in operation.arrays(weight))
    return np.diag(factor), offset - centre * factor


def vectors_of(cell: object, given: Array | None, lookup: Lookup | None) -> Array:
    """The vectors (K, features) that a linear recurrence reads: of a table, those given, or one-hot ones."""
    if given is None and lookup is not None:
        check_finite(lookup.layer)
        return as_float64(lookup.table(as_float64))
    shape = built_for(cell)
    features = int(shape[-1]) if shape and shape[-1] is not None else 0
    if given is None:
        return np.eye(features)
    if lookup is not None:
        raise ValueError(
            f"A model with an Embedding must read ids. Received: {given.dtype} of shape {given.shape}. Pass ids, or "
            "the layer and readout=(matrix, bias)."
        )
    if given.shape[1] != features:
        raise ValueError(
            f"Vectors must have the {features} features that the layer reads. Received: shape {given.shape}. Pass one "
            "sequence, (time, features)."
        )
    return given


def _joined(cell: Any, matrix: Array, offset: Array) -> AffineMap:
    """A map of outputs (..., units) as one of states, to which they have been joined where they are others."""
    known = equations_of(cell, as_float64) if is_linear_recurrence(cell) else None
    joined = known is not None and not known.outputs_state
    return AffineMap(
        np.concatenate([np.zeros((cell.state_size, matrix.shape[1])), matrix]) if joined else matrix, offset
    )


def _numbers(given: ArrayLike) -> Array:
    array = np.asarray(given)
    if not np.issubdtype(array.dtype, np.number) or np.issubdtype(array.dtype, np.complexfloating):
        raise ValueError(
            f"`readout` must be a matrix and a bias of real numbers. Received: {array.dtype} of {array.shape}."
        )
    return array.astype(np.float64)
