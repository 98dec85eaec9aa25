"""Whether a network that was opened computes what the network that was given does; where it does not, it is refused.

With f the outputs of the network itself, g those of what was opened, x the inputs and r what replaces them,

    |g(x) - f(x)| <= rounding + MAX_DIFFERENCE |g(x) - g(r)|,

output by output, sequence by sequence: the change is what is split, so that is what an error is measured against. The
same holds for changed inputs. f is run again on x, and among other sequences: noise has no shares, and neither have
outputs that depend on the other rows of a batch.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol

import keras
import numpy as np
from keras import ops
from numpy.typing import NDArray

from keras_interp_rnn import _backend
from keras_interp_rnn._arrays import MAX_DIFFERENCE, as_float64
from keras_interp_rnn._network.inputs import as_declared
from keras_interp_rnn._program.graph import computing_layers, runs_its_graph
from keras_interp_rnn._program.read import read_opaque
from keras_interp_rnn._program.values import forward, with_functions
from keras_interp_rnn._types import AnyArray, Array

OF_OUTPUT, OF_STATES = 8, 32
"""Roundings of an output, and of what makes it move, that are allowed."""

TINY = 2.0**-6
"""A part of a rounding of 1: smaller outputs may be differences of numbers that are rounded, as after tanh_shrink."""

Run = Callable[[list[AnyArray]], Array]
"""The outputs (rows, outputs) of the network itself for an array of each of its inputs."""


def computed_in(dtype: str) -> str:
    """The dtype in which the backend computes layers of a dtype: float64 may be rounded to float32 on the way.

    Keras (3.15) multiplies matrices and takes means of float64 in float32 on torch, and tanh, sin and cos on JAX, which
    has no float64 at all unless it is switched on. TensorFlow computes float64. A number that float32 rounds tells it.
    """
    if dtype != "float64":
        return dtype
    number = np.full((1, 1), 0.1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of JAX, that this will be float32
        x = ops.convert_to_tensor(number, dtype="float64")
        pairs = [(ops.matmul(x, x), number @ number), (ops.mean(x), number.mean()), (ops.tanh(x), np.tanh(number))]
        pairs += [(ops.sin(x), np.sin(number)), (ops.cos(x), np.cos(number))]
        exact = all(np.abs(as_float64(found) - right).max() < 1e-14 for found, right in pairs)
    return "float64" if exact else "float32"


class Opened(Protocol):
    """A network as a function of the vectors that it reads."""

    @property
    def inputs(self) -> Array: ...

    @property
    def mask(self) -> NDArray[np.bool_]: ...

    @property
    def reads_symbols(self) -> bool: ...

    def run(self, x: Array, rows: NDArray[np.intp]) -> Array: ...


Absent = Callable[[Array, bool], Array]
"""From the vectors that a network reads, and whether they are one-hot vectors of symbols, to those in their place."""


def nothing(inputs: Array, reads_symbols: bool) -> Array:
    """Zeros or, for symbols, the mean of all of them."""
    return np.full(inputs.shape, 1 / inputs.shape[-1] if reads_symbols else 0.0)


class Batch(NamedTuple):
    """Inputs among others: in which rows of the arrays these are, and the others."""

    arrays: list[AnyArray]
    rows: NDArray[np.intp]
    others: NDArray[np.intp]


class Given(NamedTuple):
    """The outputs of the network itself.

    Attributes:
        run: the network. inputs: an array for each input. others: changed ones; None where there are none.
        output: (batch, outputs). changed: for the changed inputs.
        among: the output again, where other sequences are in the batch. batch: that one; None where there is none.
    """

    network: Any
    run: Run
    inputs: list[AnyArray]
    others: list[AnyArray] | None
    output: Array
    changed: Array | None
    among: Array
    batch: Batch | None

    def with_others(self) -> list[AnyArray]:
        """The inputs, and below them the changed ones."""
        if self.others is None:
            return self.inputs
        return [np.concatenate(pair) for pair in zip(self.inputs, self.others, strict=True)]


def runs_of(network: Any, run: Run, inputs: Sequence[AnyArray], varies: int, size: int | None) -> Given:
    """Runs a network twice on its inputs, the second time among changed ones.

    Args:
        varies: the index of the input that is changed. size: the number of its ids; None of vectors.

    Raises:
        ValueError: if the network runs on no other batch.
    """
    arrays = list(inputs)
    output = run(arrays)
    others = [_changed(array, size) if i == varies else array for i, array in enumerate(arrays)]
    if np.array_equal(others[varies], arrays[varies]):
        return Given(network, run, arrays, None, output, None, run(arrays), None)
    for batch, are_changed in _among(arrays, others, size):
        # Whatever the backend raises of inputs that the user did not choose, or of another number of rows.
        with contextlib.suppress(Exception):
            found = run(batch.arrays)
            among, changed = found[batch.rows], found[batch.others]
            goes_on = not are_changed or np.isfinite(changed[np.isfinite(output)]).all()
            if len(found) == len(batch.arrays[0]) and goes_on:
                read = others if are_changed else None
                return Given(network, run, arrays, read, output, changed if are_changed else None, among, batch)
    raise ValueError(
        f"A network must read any number of sequences. Received: {network.name}, which reads {len(output)}, and fails "
        f"for {2 * len(output)}. Build it without a fixed number of rows, and give it the same weights."
    )


def _among(inputs: list[AnyArray], others: list[AnyArray], size: int | None) -> Iterator[tuple[Batch, bool]]:
    """Batches with other sequences, and whether these are changed ones: for networks that read any, or an even number.

    The first has one more row, of the largest vectors. In all of them the neighbours of a sequence are other ones.
    """
    count = len(inputs[0])
    each = np.arange(count)
    last = [3 * b[:1] if size is None and b.dtype.kind == "f" else b[:1] for b in others]
    larger = [np.concatenate([b, a, c]) for a, b, c in zip(inputs, others, last, strict=True)]
    yield Batch(larger, each + count, each), True
    for partners, are_changed in ((others, True), ([np.roll(a, 1, axis=0) for a in inputs], False)):
        pairs = [np.stack([a, b], axis=1).reshape(-1, *a.shape[1:]) for a, b in zip(inputs, partners, strict=True)]
        yield Batch(pairs, 2 * each, 2 * each + 1), are_changed


def _changed(given: AnyArray, size: int | None) -> AnyArray:
    """Other inputs of values that occur, in other numbers too; steps of zeros are left as they are."""
    rng = np.random.default_rng(0)
    are_ids = size is not None or given.dtype.kind in "iu"
    rows = given.reshape(-1, 1 if are_ids and given.ndim < 3 else given.shape[-1])
    # Steps that hold no numbers, or no ids, are masked.
    there, moved = (rows != 0).any(axis=1) & np.isfinite(rows.astype(np.float64)).all(axis=1), rows.copy()
    there &= True if size is None else (rows < size).all(axis=1) & (rows >= 0).all(axis=1)
    if are_ids:
        words = other_ids(rows[there], size)
        words = words[words != 0] if (words != 0).any() else words
        places = np.searchsorted(words, rows[there])
        if len(words) > 1:
            moved[there] = words[(places + rng.integers(1, len(words), places.shape)) % len(words)]
        return moved.reshape(given.shape)
    for column in moved.T:
        column[there] = rng.choice(column[there], there.sum()) if there.any() else column[there]
    if np.array_equal(np.sort(moved, axis=0), np.sort(rows, axis=0)) and given.dtype.kind == "f":
        moved = moved * rng.uniform(0.5, 1.5, moved.shape).astype(given.dtype)
    return moved.reshape(given.shape)


def other_ids(ids: AnyArray, size: int | None) -> AnyArray:
    """Ids that occur and, where these are few, their neighbours, in order: none that a table might not have."""
    words = np.unique(ids.astype(np.int64) if ids.dtype.kind == "u" else ids)
    words = words if size is None else words[(words >= 0) & (words < size)]
    if 0 < len(words) < 4:
        end = max(words[-1], 1) if size is None else size - 1
        near = np.arange(max(words[0] - 2, 0), min(words[-1] + 2, end) + 1) if words[-1] - words[0] < 64 else words
        below = np.arange(min(3, end) + 1)
        words = np.unique(np.concatenate([words, near, below])).astype(words.dtype)
    return words


def difference(opened: Opened, given: Given, absent: Absent) -> tuple[float, float] | None:
    """How far what was opened is from the network, and how far its output moves; None where that is rounding.

    Args:
        opened: for `Given.with_others`. absent: the vectors in place of the inputs.

    Raises:
        ValueError: if an output is not finite; if the network computes another one the next time, or in another batch.
    """
    count = len(given.output)
    rows = np.arange(len(opened.inputs))
    own = given.output if given.changed is None else np.concatenate([given.output, given.changed])
    _check_finite(given.output, opened.mask[:count])
    replaced = np.resize(absent(opened.inputs[:count], opened.reads_symbols), opened.inputs.shape)
    found, without = opened.run(opened.inputs, rows), opened.run(replaced, rows)
    if found.shape != own.shape:
        return np.inf, 0.0
    allowed = _allowed(given.network, own, found, without)
    _check_repeats(given, allowed[:count], _rounding(given.network, given.output, found[:count], without[:count]))
    apart = _apart(own, found)
    if (apart <= allowed).all():
        return None
    worst = np.unravel_index(np.argmax(np.where(np.isnan(apart), np.inf, apart / allowed)), apart.shape)
    return float(apart[worst]), float(np.abs(found - without)[worst])


def _allowed(network: object, own: Array, found: Array, without: Array) -> Array:
    """The rounding of each output, and the part of its change that is put down to it."""
    size, moves = _size(own, found, without)
    change = np.nan_to_num(_apart(found, without), posinf=0.0)
    coarsest, epsilon = _coarsest(network)
    allowed: Array = MAX_DIFFERENCE[coarsest] * change + epsilon * (OF_OUTPUT * size + OF_STATES * moves + TINY)
    return allowed


def _rounding(network: object, own: Array, found: Array, without: Array) -> Array:
    """By how much two equal runs may differ: sums of float32 in another order, and a digit of what is coarser."""
    size, moves = _size(own, found, without)
    single = float(np.finfo("float32").eps)
    allowed: Array = single * (OF_OUTPUT * size + OF_STATES * moves + TINY) + 2 * _coarsest(network)[1] * size
    return allowed


def _size(own: Array, found: Array, without: Array) -> tuple[Array, Array]:
    """The size of each output, and how far each output moves over all sequences."""
    everything = np.concatenate([own, found, without])
    moves: Array = np.ptp(np.where(np.isfinite(everything), everything, 0.0), axis=0)
    return np.fmax(np.abs(own), np.abs(without)), moves


def _coarsest(network: object) -> tuple[str, float]:
    """The coarsest dtype that a layer computes in, and its rounding."""
    dtypes = {computed_in(dtype) for dtype in {str(layer.compute_dtype) for layer in computing_layers(network)}}
    coarsest = max(dtypes & MAX_DIFFERENCE.keys(), key=MAX_DIFFERENCE.__getitem__, default="float32")
    epsilon = 2.0**-7 if coarsest == "bfloat16" else float(np.finfo(coarsest).eps)
    if _backend.reduced_products() is not None:
        epsilon = max(epsilon, 2.0**-10)  # TensorFloat-32
    return coarsest, epsilon


def _check_finite(output: Array, read: NDArray[np.bool_]) -> None:
    """Raises ValueError if the network gives no number for a sequence."""
    bad = np.flatnonzero(np.isnan(output).any(axis=1))
    if bad.size:
        row = int(bad[0])
        why = "" if read[row].any() else ", of which no step is read, as all are masked"
        raise ValueError(
            f"The outputs of a network must be numbers. Received: NaN for sequence {row + 1} of {len(output)}{why}. "
            "Leave it out."
        )


def _check_repeats(given: Given, allowed: Array, rounding: Array) -> None:
    """Raises ValueError if the network draws noise, or reads the other rows of a batch.

    Args:
        allowed: for another batch, where products may be summed in another order. rounding: for the same one.
    """
    again = given.run(given.inputs)
    draws_noise = not (_apart(again, given.output) <= rounding).all()
    if not draws_noise and (_apart(given.among, given.output) <= allowed).all():
        return
    each = np.arange(len(given.output))
    batch = Batch(given.inputs, each, each) if draws_noise else given.batch
    name = _first_apart(given.network, given.inputs, batch) if batch is not None else None
    name = name or given.network.name
    if draws_noise:
        raise ValueError(
            f"A network must compute the same from the same inputs. Received: {name}, whose output is another one the "
            "second time. Rebuild the network without what draws noise or counts calls, and give it the same weights."
        )
    raise ValueError(
        f"The output for a sequence must depend on that sequence alone. Received: {name}, whose output is another one "
        "where other sequences are in the batch. Leave out what mixes the rows of a batch."
    )


def _apart(first: Array, second: Array) -> Array:
    with np.errstate(invalid="ignore"):  # of equal infinities
        return np.abs(np.where(first == second, 0.0, first - second))


def _first_apart(network: object, inputs: Sequence[Any], batch: Batch) -> str | None:
    """The first operation of a model that makes something else of the same sequences, inside of another batch."""
    if not isinstance(network, keras.Model) or not runs_its_graph(network):
        return None
    program = read_opaque(network)

    def values(arrays: Sequence[Any], rows: NDArray[np.intp]) -> list[list[Any]]:
        """The values of each operation, of the rows that are compared."""
        known = dict(zip(program.inputs, map(as_declared, arrays, network.inputs), strict=True))
        forward(with_functions(program.operations), known)
        found = [[known[value] for value in operation.makes] for operation in program.operations]
        of_batch = (len(arrays[0]),)
        return [[x if x is None or x.shape[:1] != of_batch else x[rows] for x in made] for made in found]

    with contextlib.suppress(Exception):  # strings, and what else is no array of numbers
        before, after = values(inputs, np.arange(len(batch.rows))), values(batch.arrays, batch.rows)
        for operation, first, second in zip(program.operations, before, after, strict=True):
            pairs = [(a, b) for a, b in zip(first, second, strict=True) if a is not None and b is not None]
            if not all(np.shape(a) != np.shape(b) or np.allclose(a, b, rtol=1e-4, atol=1e-6) for a, b in pairs):
                return f"{operation.name} ({type(operation.layer).__name__})"
    return None
