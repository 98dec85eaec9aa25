"""Interprets a program in float64: the values of its operations, and gradients pulled back through them.

What an operation computes is a `Function`: `RULES` has one for each kind. Weights are read when it is made.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias

import keras
import numpy as np
from keras import ops, tree

from keras_interp_rnn import _backend
from keras_interp_rnn._arrays import as_float64, is_float
from keras_interp_rnn._backend.keras_quirks import with_mask
from keras_interp_rnn._program import operations as o
from keras_interp_rnn._program.along import CellAlong, Mask, cells_of
from keras_interp_rnn._types import AnyArray, Array, Tensor
from keras_interp_rnn.equations import NUMPY

Known: TypeAlias = dict[o.Value, Any]
"""Values that are known, as arrays: float64, ids and bool. A mask that nothing makes is None."""

Gradients: TypeAlias = list[Array | None]
"""None for no gradient: of ids, of masks, and of what nothing reads."""


class Function(Protocol):
    """The computation of an operation, and gradients pulled back through its last values."""

    def forward(self, reads: Sequence[Any], masks: Sequence[Mask | None]) -> list[Any]: ...

    def backward(self, gradients: Gradients) -> Gradients: ...


class Step(NamedTuple):
    """An operation, and what it computes."""

    operation: o.Operation
    function: Function


def with_functions(operations: Iterable[o.Operation]) -> list[Step]:
    """The operations with their functions, of the weights as they are now."""
    return [Step(operation, RULES[type(operation)](operation)) for operation in operations]


def forward(steps: Sequence[Step], known: Known) -> None:
    """Adds what operations make to the values that are known."""
    for operation, function in steps:
        masks = [None if mask is None else known[mask] for mask in operation.masks]
        made = function.forward([known[value] for value in operation.reads], masks)
        known.update(zip(operation.makes, made, strict=True))


def backward(steps: Sequence[Step], gradients: dict[o.Value, Array]) -> None:
    """Adds the gradients by what operations read to those by what they made in the last run."""
    for operation, function in reversed(steps):
        by_made = [gradients.get(value) for value in operation.makes]
        if all(gradient is None for gradient in by_made):
            continue
        for value, gradient in zip(operation.reads, function.backward(by_made), strict=True):
            if gradient is not None:
                gradients[value] = gradients[value] + gradient if value in gradients else gradient


class Equation:
    """y = f(x, ...).

    Args:
        value: f. pull: from the gradient by y, y and x, ... to the gradients by x, ...
    """

    def __init__(self, value: Callable[..., Any], pull: Callable[..., Gradients] = lambda *_: [None]) -> None:
        self.value, self.pull = value, pull

    def forward(self, reads: Sequence[Any], masks: Sequence[Mask | None]) -> list[Any]:
        self._reads, self._made = reads, self.value(*reads)
        return [self._made]

    def backward(self, gradients: Gradients) -> Gradients:
        return self.pull(gradients[0], self._made, *self._reads)


def _lookup(operation: o.Lookup) -> Equation:
    table = as_float64(operation.table(as_float64))
    # Masked steps may hold other ids, as far as the backend lets them.
    return Equation(lambda ids: table[np.clip(ids.astype(np.int64), 0, len(table) - 1)])


def _one_hot(operation: o.OneHot) -> Equation:
    return Equation(lambda ids: (ids[..., None] == np.arange(operation.size)).astype(np.float64))


def _cast(operation: o.Cast) -> Equation:
    dtype = operation.makes[0].dtype

    def value(x: AnyArray) -> AnyArray:
        return x.astype(np.float64 if "float" in dtype else dtype)

    return Equation(value, lambda gradient, y, x: [gradient if is_float(x) and is_float(y) else None])


def _affine(operation: o.Affine) -> Equation:
    matrix, offset = operation.arrays(as_float64)
    matrix = matrix.reshape(-1, matrix.shape[-1])
    if offset is None:
        return Equation(lambda x: x @ matrix, lambda gradient, y, x: [gradient @ matrix.T])
    return Equation(lambda x: x @ matrix + offset, lambda gradient, y, x: [gradient @ matrix.T])


def _scale(operation: o.Scale) -> Equation:
    centre, factor, offset = operation.arrays(as_float64)
    # Large numbers keep their digits in x - centre.
    return Equation(lambda x: (x - centre) * factor + offset, lambda gradient, y, x: [gradient * factor])


def _normalize(operation: o.Normalize) -> Equation:
    weights = {"gamma": operation.gamma, "beta": operation.beta}
    constants = {name: as_float64(weight) for name, weight in weights.items() if weight is not None}

    def pull(gradient: Array, y: Array, x: Array) -> Gradients:
        gradient = gradient * constants.get("gamma", 1.0)
        centred = x - x.mean(axis=-1, keepdims=True)
        variance = (centred * centred).mean(axis=-1, keepdims=True) + operation.epsilon
        along = centred * (gradient * centred).mean(axis=-1, keepdims=True) / variance
        return [(gradient - gradient.mean(axis=-1, keepdims=True) - along) / np.sqrt(variance)]

    return Equation(lambda x: operation.value(NUMPY, x, lambda _, name: constants[name]), pull)


CLOSED: dict[Any, tuple[Callable[[Array], Array], Callable[[Array, Array], Array]]] = {
    keras.activations.sigmoid: (NUMPY.sigmoid, lambda gradient, y: gradient * y * (1 - y)),
    keras.activations.tanh: (np.tanh, lambda gradient, y: gradient * (1 - y * y)),
    keras.activations.relu: (lambda x: np.maximum(x, 0), lambda gradient, y: gradient * (y > 0)),
    keras.activations.softmax: (NUMPY.softmax, lambda gradient, y: y * (gradient - (gradient * y).sum(-1)[..., None])),
}
"""Activation -> its function, and the gradient by what it reads, from that by its value y."""


def _elementwise(operation: o.Elementwise) -> Function:
    if operation.function not in CLOSED:
        dtype = str(getattr(operation.layer, "compute_dtype", operation.reads[0].dtype))
        return ByKeras(lambda tensors, _: [operation.function(*tensors)], [dtype])
    value, pull = CLOSED[operation.function]
    return Equation(value, lambda gradient, y, x: [pull(gradient, y)])


def _join(operation: o.Join) -> Equation:
    def pull(gradient: Array, y: Array, *parts: Array) -> Gradients:
        return list(np.split(gradient, np.cumsum([x.shape[-1] for x in parts])[:-1], axis=-1))

    return Equation(lambda *parts: np.concatenate(parts, axis=-1), pull)


def _sum(operation: o.Sum) -> Equation:
    factors = operation.factors
    return Equation(
        lambda *parts: functools.reduce(np.add, [f * x for f, x in zip(factors, parts, strict=True)]),
        lambda gradient, _, *parts: [_summed(gradient * f, x) for f, x in zip(factors, parts, strict=True)],
    )


def _summed(gradient: Array, x: Array) -> Array:
    """The gradient by a value of which one step was added to each of several."""
    axes = tuple(axis for axis, size in enumerate(x.shape) if size == 1 != gradient.shape[axis])
    return gradient.sum(axis=axes, keepdims=True) if axes else gradient


def _reshape(operation: o.Reshape) -> Equation:
    shape = [-1 if size is None else size for size in operation.makes[0].shape[1:]]
    return Equation(lambda x: x.reshape(len(x), *shape), lambda gradient, y, x: [gradient.reshape(x.shape)])


def _windows(operation: o.Windows) -> Equation:
    shape = operation.makes[0].shape

    def value(x: Array) -> Array:
        places = operation.places(x.shape[1])
        steps = np.concatenate([x, np.zeros_like(x[:, :1])], axis=1)[:, places]
        return steps.reshape(len(x), *places.shape[: len(shape) - 2], places.shape[1] * x.shape[2])

    def pull(gradient: Array, y: Array, x: Array) -> Gradients:
        places = operation.places(x.shape[1])
        by_step = gradient.reshape(len(x), *places.shape, x.shape[2])
        whole = np.zeros((len(x), x.shape[1] + 1, x.shape[2]))
        for at in range(places.shape[1]):
            whole[:, places[:, at]] += by_step[:, :, at]
        return [whole[:, :-1]]

    return Equation(value, pull)


def _read(masks: Sequence[Mask | None], x: Array) -> Mask:
    """The steps (batch, time) of sequences that an operation reads: those of its mask, or all."""
    return next((mask for mask in masks if mask is not None), np.ones(x.shape[:2], bool))


class Mean:
    """The mean over the steps that are read."""

    def forward(self, reads: Sequence[Array], masks: Sequence[Mask | None]) -> list[Array]:
        [x] = reads
        there = _read(masks, x)
        with np.errstate(invalid="ignore"):  # NaN for a sequence without a step, as of Keras
            self._weights: Array = (there / there.sum(axis=1, keepdims=True))[:, :, None]
        return [np.asarray((x * self._weights).sum(axis=1))]

    def backward(self, gradients: Gradients) -> Gradients:
        [gradient] = gradients
        assert gradient is not None
        return [gradient[:, None, :] * self._weights]


class Unmasked:
    """Steps of which not all numbers are a value."""

    def __init__(self, operation: o.Unmasked) -> None:
        self.value = operation.value

    def forward(self, reads: Sequence[Array], masks: Sequence[Mask | None]) -> list[Any]:
        [x] = reads
        self._there = (x != self.value).any(axis=-1)
        return [np.where(self._there[..., None], x, 0.0), self._there]

    def backward(self, gradients: Gradients) -> Gradients:
        gradient, *_ = gradients
        assert gradient is not None
        return [np.where(self._there[..., None], gradient, 0.0)]


class ByKeras:
    """A function that Keras runs and differentiates, each value in its dtype.

    Args:
        call: from tensors with masks on them, and masks that are given besides, to tensors. dtypes: of what it reads.
    """

    def __init__(self, call: o.Call, dtypes: Sequence[str]) -> None:
        self._call, self._dtypes = call, dtypes

    def _made(self, tensors: Sequence[Tensor], masks: Sequence[Mask | None]) -> list[Tensor | None]:
        given = [None if mask is None else ops.convert_to_tensor(mask) for mask in masks]
        own = [*given[: len(tensors)], *[None] * (len(tensors) - len(given))]
        return self._call([with_mask(x, mask) for x, mask in zip(tensors, own, strict=True)], given[len(tensors) :])

    def forward(self, reads: Sequence[Any], masks: Sequence[Mask | None]) -> list[Any]:
        self._reads = [in_dtype(x, dtype) for x, dtype in zip(reads, self._dtypes, strict=True)]
        self._masks = masks
        made = self._made([*map(ops.convert_to_tensor, self._reads)], masks)
        return [None if x is None else _as_array(x) for x in made]

    def backward(self, gradients: Gradients) -> Gradients:
        varied = [i for i, x in enumerate(self._reads) if is_float(x)]
        if not varied:
            return [None] * len(self._reads)
        dtype = self._reads[varied[0]].dtype
        ends = np.cumsum([self._reads[i].size for i in varied])[:-1].tolist()

        def product(flat: Tensor) -> Tensor:
            tensors = [*map(ops.convert_to_tensor, self._reads)]
            for i, part in zip(varied, ops.split(flat, ends) if ends else [flat], strict=True):
                tensors[i] = ops.cast(ops.reshape(part, self._reads[i].shape), self._dtypes[i])
            made = self._made(tensors, self._masks)
            terms = [
                ops.sum(ops.cast(x, flat.dtype) * ops.convert_to_tensor(gradient.astype(dtype)))
                for x, gradient in zip(made, gradients, strict=True)
                if gradient is not None
            ]
            return functools.reduce(ops.add, terms)

        flat = np.concatenate([self._reads[i].astype(dtype).ravel() for i in varied])
        parts = np.split(np.asarray(_backend.gradient(product, flat), np.float64), ends)
        found: Gradients = [None] * len(self._reads)
        for i, part in zip(varied, parts, strict=True):
            found[i] = part.reshape(self._reads[i].shape)
        return found


def in_dtype(array: AnyArray, dtype: str) -> AnyArray:
    """A value in the dtype that its tensor declares; ids, which a layer may declare as floats, as they are."""
    return array.astype(dtype) if is_float(array) else array


def _as_array(tensor: Tensor) -> AnyArray:
    """A tensor as an array; floats as float64."""
    floats = "float" in keras.backend.standardize_dtype(tensor.dtype)
    return as_float64(tensor) if floats else np.asarray(ops.convert_to_numpy(tensor))


class Cells:
    """The cells of a recurrent layer along sequences, one above the other.

    Attributes:
        operation: which it is. cells: from the inputs on. starts: their states at the start, each (n,).
        order: from the order of the steps to that of reading.
        read: bool (batch, time), the steps of the last run that are not masked, in reading order.
    """

    def __init__(self, operation: o.Recur) -> None:
        self.operation, layer = operation, operation.layer
        self.order = slice(None, None, -1 if operation.backwards else 1)
        self.cells = [CellAlong(layer, cell) for cell in cells_of(operation.cell)]
        states = tree.flatten(layer.get_initial_state(1))
        self.starts = [as_float64(ops.cast(x, layer.variable_dtype))[0] for x in states]

    def of_cells(self, states: Sequence[object]) -> list[list[Any]]:
        """States of all cells, for each cell."""
        remaining = iter(states)
        return [[next(remaining) for _ in range(cell.num_states)] for cell in self.cells]

    def forward(self, reads: Sequence[Any], masks: Sequence[Mask | None]) -> list[Any]:
        x, *starts = reads
        self.read = _read(masks, x)[:, self.order]
        outputs = x[:, self.order]
        starts = starts or [np.tile(start, (len(x), 1)) for start in self.starts]
        for cell, own in zip(self.cells, self.of_cells(starts), strict=True):
            outputs = cell.run(outputs, self.read, own)
        if self.operation.zeros:
            outputs = np.where(self.read[..., None], outputs, 0)
        ends = [state for cell in self.cells for state in cell.after]
        outputs = self._ordered(outputs) if self.operation.sequences else outputs[:, -1]
        return [outputs, *ends][: len(self.operation.makes)]

    def _ordered(self, outputs: Array) -> Array:
        """Outputs of all steps, from the order of reading to that in which they are made, or back."""
        return outputs[:, self.order] if self.operation.in_order else outputs

    def backward(self, gradients: Gradients) -> Gradients:
        (rows, steps), (gradient, *ends) = self.read.shape, gradients
        width = self.cells[-1].num_outputs
        if gradient is None:
            gradient = np.zeros((rows, steps, width))
        elif self.operation.sequences:
            gradient = self._ordered(gradient)
        else:
            gradient = np.concatenate([np.zeros((rows, steps - 1, width)), gradient[:, None]], axis=1)
        if self.operation.zeros:
            gradient = gradient * self.read[..., None]
        ends = ends or [None] * len(self.starts)
        by_starts: list[Array] = []
        for cell, own in reversed([*zip(self.cells, self.of_cells(ends), strict=True)]):
            gradient, of_cell = cell.pulled_back(gradient, self.read, own)
            by_starts = [*of_cell, *by_starts]
        return [gradient[:, self.order], *by_starts][: len(self.operation.reads)]


def _recur(operation: o.Recur) -> Function:
    """By equations, where all states are vectors."""
    cells = Cells(operation)
    if all(start.ndim == 1 for start in cells.starts):
        return cells

    def call(tensors: list[Tensor], _: list[Tensor]) -> list[Tensor | None]:
        x, *states = tensors
        found = tree.flatten(operation.layer(x, **({"initial_state": states} if states else {})))
        turned = operation.backwards and operation.sequences and operation.in_order
        return [ops.flip(found[0], axis=1) if turned else found[0], *found[1:]][: len(operation.makes)]

    return ByKeras(call, [value.dtype for value in operation.reads])


RULES: dict[type[o.Operation], Callable[[Any], Function]] = {
    o.Lookup: _lookup,
    o.OneHot: _one_hot,
    o.Cast: _cast,
    o.Affine: _affine,
    o.Scale: _scale,
    o.Elementwise: _elementwise,
    o.Normalize: _normalize,
    o.Mean: lambda operation: Mean(),
    o.Join: _join,
    o.Sum: _sum,
    o.Reshape: _reshape,
    o.Windows: _windows,
    o.NotEqual: lambda operation: Equation(lambda x: x != operation.value),
    o.Unmasked: Unmasked,
    o.Recur: _recur,
    o.Opaque: lambda operation: ByKeras(operation.call, [value.dtype for value in operation.reads]),
}
"""Operation -> what it computes."""
