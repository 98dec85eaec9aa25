"""Interprets a program in float64: the values of its outputs for some inputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from keras import ops, tree

from keras_interp_rnn._backend.keras_quirks import with_mask
from keras_interp_rnn._network.along import CellAlong
from keras_interp_rnn._network.arrays import as_float64
from keras_interp_rnn._network.parts import Activation
from keras_interp_rnn._program import Program
from keras_interp_rnn._program import operations as o
from keras_interp_rnn._types import Array

Known = dict[o.Value, Any]


def values(program: Program, inputs: Sequence[Any]) -> list[Array]:
    """The outputs, by the operations' equations in float64; opaque calls run by Keras, in their own dtype."""
    known: Known = dict(zip(program.inputs, inputs, strict=True))
    for operation in program.operations:
        known.update(zip(operation.makes, RULES[type(operation)](operation, known), strict=True))
    return [known[value] for value in program.outputs]


def _affine(operation: o.Affine, x: Array) -> Array:
    matrix, offset = operation.arrays(as_float64)
    product = x @ matrix
    return product if offset is None else product + offset


def _scale(operation: o.Scale, x: Array) -> Array:
    centre, factor, offset = operation.arrays(as_float64)
    return (x - centre) * factor + offset


def _elementwise(operation: o.Elementwise, x: Array) -> Array:
    return Activation(operation.function, _Named(operation.name)).forward(x, None)


class _Named:
    compute_dtype = "float32"

    def __init__(self, name: str) -> None:
        self.name = name


def _normalize(operation: o.Normalize, x: Array) -> Array:
    centred = x - x.mean(axis=-1, keepdims=True)
    y = centred / np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + operation.epsilon)
    y = y if operation.gamma is None else y * as_float64(operation.gamma)
    return y if operation.beta is None else y + as_float64(operation.beta)


def _reshape(operation: o.Reshape, x: Array) -> Array:
    return x.reshape(len(x), *(-1 if size is None else size for size in operation.makes[0].shape[1:]))


def _mean(operation: o.Mean, known: Known) -> list[Array]:
    [x] = (known[value] for value in operation.reads)
    there = np.ones(x.shape[:2], bool) if operation.mask is None else known[operation.mask]
    weights = there / there.sum(axis=1, keepdims=True)
    return [(x * weights[:, :, None]).sum(axis=1)]


def _unmasked(operation: o.Unmasked, known: Known) -> list[Array]:
    [x] = (known[value] for value in operation.reads)
    there = (x != operation.value).any(axis=-1)
    return [x * there[..., None], there]


def _recur(operation: o.Recur, known: Known) -> list[Array]:
    x, *starts = (known[value] for value in operation.reads)
    order = slice(None, None, -1 if operation.backwards else 1)
    read = np.ones(x.shape[:2], bool) if operation.mask is None else known[operation.mask]
    along = CellAlong(operation.layer, operation.cell)
    if not starts:
        own = tree.flatten(operation.layer.get_initial_state(batch_size=len(x)))
        starts = [as_float64(ops.cast(each, operation.layer.variable_dtype)) for each in own]
    outputs = along.run(x[:, order], read[:, order], starts)
    if operation.zeros:
        outputs = np.where(read[:, order, None], outputs, 0)
    if not operation.sequences:
        return [outputs[:, -1]]
    return [outputs[:, order] if operation.in_order else outputs]


def _opaque(operation: o.Opaque, known: Known) -> list[Array]:
    given = [ops.convert_to_tensor(known[value], dtype=value.dtype) for value in operation.reads]
    masks = [None if value.mask is None else ops.convert_to_tensor(known[value.mask]) for value in operation.reads]
    found = operation.call([with_mask(x, mask) for x, mask in zip(given, masks, strict=True)])
    return [np.asarray(ops.convert_to_numpy(x)) if x.dtype == "bool" else as_float64(x) for x in found]


def _by_reads(function: Callable[..., Array]) -> Callable[[Any, Known], list[Array]]:
    """A rule of an operation that makes one value of all values that it reads."""
    return lambda operation, known: [function(operation, *(known[value] for value in operation.reads))]


RULES: dict[type[o.Operation], Callable[[Any, Known], list[Array]]] = {
    o.Lookup: _by_reads(lambda operation, ids: operation.table(as_float64)[np.asarray(ids).astype(int)]),
    o.OneHot: _by_reads(lambda operation, ids: np.eye(operation.size)[np.asarray(ids).astype(int)]),
    o.Cast: _by_reads(lambda operation, x: np.asarray(x).astype(operation.makes[0].dtype)),
    o.Affine: _by_reads(_affine),
    o.Scale: _by_reads(_scale),
    o.Elementwise: _by_reads(_elementwise),
    o.Normalize: _by_reads(_normalize),
    o.Join: _by_reads(lambda operation, *parts: np.concatenate(parts, axis=-1)),
    o.Sum: _by_reads(lambda operation, *parts: sum(f * x for f, x in zip(operation.factors, parts, strict=True))),
    o.Reshape: _by_reads(_reshape),
    o.NotEqual: _by_reads(lambda operation, x: np.asarray(x) != operation.value),
    o.Mean: _mean,
    o.Unmasked: _unmasked,
    o.Recur: _recur,
    o.Opaque: _opaque,
}
"""Operation -> the values that it makes."""
