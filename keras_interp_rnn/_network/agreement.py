"""Whether a network that was opened computes what the network that was given does; where it does not, it is refused.

With f the outputs of the network itself, g those of what was opened, x the inputs and r what replaces them,

    |g(x) - f(x)| <= rounding + MAX_DIFFERENCE |g(x) - g(r)|,

output by output, sequence by sequence: the change is what is split, so that is what an error is measured against. The
same holds for changed inputs. f is run twice on x, the second time among other sequences: noise has no shares, and
neither have outputs that depend on the other rows of a batch.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import keras
import numpy as np
from keras import ops
from numpy.typing import NDArray

from keras_interp_rnn import _backend
from keras_interp_rnn._backend.keras_quirks import walk_layers
from keras_interp_rnn._network.arrays import as_float64
from keras_interp_rnn._network.graph import Masked, evaluate, run_with_masks
from keras_interp_rnn._network.stepper import MAX_DIFFERENCE, computed_in
from keras_interp_rnn._types import Array

OF_OUTPUT, OF_STATES = 8, 32
"""Roundings of an output, and of what makes it move, that are allowed."""

TINY = 2.0**-6
"""A part of a rounding of 1: smaller outputs may be differences of numbers that are rounded, as after tanh_shrink."""

Run = Callable[[list[NDArray[Any]]], Array]
"""The outputs (rows, outputs) of the network itself for an array of each of its inputs."""


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


class Given(NamedTuple):
    """The outputs of the network itself.

    Attributes:
        run: the network. inputs: an array for each input. others: changed ones; None where there are none.
        output: (batch, outputs). changed: for the changed inputs.
        among: the output again, where other sequences are in the batch.
    """

    network: Any
    run: Run
    inputs: list[NDArray[Any]]
    others: list[NDArray[Any]] | None
    output: Array
    changed: Array | None
    among: Array

    def with_others(self) -> list[NDArray[Any]]:
        """The inputs, and below them the changed ones."""
        if self.others is None:
            return self.inputs
        return [np.concatenate(pair) for pair in zip(self.inputs, self.others, strict=True)]


def runs_of(network: Any, run: Run, inputs: Sequence[NDArray[Any]], varies: int, size: int | None) -> Given:
    """Runs a network twice on its inputs, the second time between changed ones.

    Args:
        varies: the index of the input that is changed. size: the number of its ids; None of vectors.
    """
    arrays = list(inputs)
    output = run(arrays)
    others = [_changed(array, size) if i == varies else array for i, array in enumerate(arrays)]
    count = len(output)
    if not np.array_equal(others[varies], arrays[varies]):
        # Whatever the backend raises of inputs that the user did not choose, or of another number of rows.
        with contextlib.suppress(Exception):
            found = run(_among(arrays, others, size))
            if len(found) == 2 * count + 1 and np.isfinite(found[:count]).all():
                return Given(network, run, arrays, others, output, found[:count], found[count : 2 * count])
    return Given(network, run, arrays, None, output, None, run(arrays))


def _among(inputs: list[NDArray[Any]], others: list[NDArray[Any]], size: int | None) -> list[NDArray[Any]]:
    """A batch of other sequences, those that are asked for, and one more, of the largest vectors."""
    last = [3 * b[:1] if size is None and b.dtype.kind == "f" else b[:1] for b in others]
    return [np.concatenate([b, a, c]) for a, b, c in zip(inputs, others, last, strict=True)]


def _changed(given: NDArray[Any], size: int | None) -> NDArray[Any]:
    """Other inputs of values that occur: those of each feature in another order, steps of zeros left as they are."""
    rng = np.random.default_rng(0)
    are_ids = size is not None or given.dtype.kind in "iu"
    rows = given.reshape(-1, 1 if are_ids and given.ndim < 3 else given.shape[-1])
    # Steps that hold no numbers, or no ids, are masked.
    there, moved = (rows != 0).any(axis=1) & np.isfinite(rows.astype(np.float64)).all(axis=1), rows.copy()
    there &= True if size is None else (rows < size).all(axis=1) & (rows >= 0).all(axis=1)
    for column in moved.T:
        column[there] = rng.permutation(column[there])
    if np.array_equal(moved, rows):
        if size is not None and size > 2:
            moved[there] = 1 + moved[there] % (size - 1)
        elif given.dtype.kind == "f":
            moved = moved * rng.uniform(0.5, 1.5, moved.shape).astype(given.dtype)
    return moved.reshape(given.shape)


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
    _check_repeats(given, allowed[:count])
    apart = np.abs(np.where(own == found, 0.0, own - found))
    if (apart <= allowed).all():
        return None
    worst = np.unravel_index(np.argmax(np.where(np.isnan(apart), np.inf, apart / allowed)), apart.shape)
    return float(apart[worst]), float(np.abs(found - without)[worst])


def _allowed(network: Any, own: Array, found: Array, without: Array) -> Array:
    """The rounding of each output, and the part of its change that is put down to it."""
    layers = [layer for layer in walk_layers(network) if not isinstance(layer, _DO_NOT_COMPUTE)]
    dtypes = {computed_in(dtype) for dtype in {str(layer.compute_dtype) for layer in layers}}
    coarsest = max(dtypes & MAX_DIFFERENCE.keys(), key=MAX_DIFFERENCE.__getitem__, default="float32")
    epsilon = 2.0**-7 if coarsest == "bfloat16" else float(np.finfo(coarsest).eps)
    if _backend.reduced_products() is not None:
        epsilon = max(epsilon, 2.0**-10)  # TensorFloat-32
    everything = np.concatenate([own, found, without])
    moves = np.ptp(np.where(np.isfinite(everything), everything, 0.0), axis=0)
    size = np.fmax(np.abs(own), np.abs(without))
    change = np.nan_to_num(np.abs(found - without), posinf=0.0)
    allowed: Array = MAX_DIFFERENCE[coarsest] * change + epsilon * (OF_OUTPUT * size + OF_STATES * moves + TINY)
    return allowed


_DO_NOT_COMPUTE = (keras.Model, keras.layers.InputLayer)
"""Layers whose dtype no number is computed in."""


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


def _check_repeats(given: Given, allowed: Array) -> None:
    """Raises ValueError if the network draws noise, or reads the other rows of a batch."""
    if (np.abs(given.among - given.output) <= allowed).all():
        return
    again = given.run(given.inputs)
    batch = given.inputs
    draws_noise = not (np.abs(again - given.output) <= allowed).all()
    if not draws_noise and given.others is not None:
        batch = _among(given.inputs, given.others, None)
    name = _first_apart(given.network, given.inputs, batch, len(given.output)) or given.network.name
    if draws_noise:
        raise ValueError(
            f"A network must compute the same from the same inputs. Received: {name}, whose output is another one the "
            "second time. Rebuild the network without what draws noise or counts calls, and give it the same weights."
        )
    raise ValueError(
        f"The output for a sequence must depend on that sequence alone. Received: {name}, whose output is another one "
        "where other sequences are in the batch. Leave out what mixes the rows of a batch."
    )


def _first_apart(network: Any, inputs: Sequence[Any], batch: Sequence[Any], count: int) -> str | None:
    """The first operation of a model that makes something else of the same sequences, inside of another batch."""
    if not isinstance(network, keras.Model) or not getattr(network, "inputs", None):
        return None
    start = 0 if len(batch[0]) == count else count

    def outputs(arrays: Sequence[Any], rows: slice) -> list[tuple[Any, list[Any]]]:
        found: list[tuple[Any, list[Any]]] = []

        def note(operation: Any, node: Any, mask: Any, results: list[Masked]) -> None:
            values = [as_float64(each.tensor) for each in results]
            found.append((operation, [value[rows] if value.shape[:1] == (size,) else value for value in values]))

        def call(operation: Any, node: Any, known: dict[int, Masked]) -> list[Masked]:
            return run_with_masks(operation, node, known, note)

        size = len(arrays[0])
        evaluate(network, [Masked(ops.cast(x, t.dtype)) for x, t in zip(arrays, network.inputs, strict=True)], call)
        return found

    with contextlib.suppress(Exception):  # strings, and what else is no array of numbers
        before, after = outputs(inputs, slice(None)), outputs(batch, slice(start, start + count))
        for (operation, first), (_, second) in zip(before, after, strict=True):
            if not all(np.allclose(a, b, rtol=1e-4, atol=1e-6) for a, b in zip(first, second, strict=True)):
                return f"{operation.name} ({type(operation).__name__})"
    return None
