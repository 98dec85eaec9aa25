"""How a sequence enters a program: as one vector for each step, and whether it is read in another way too.

A model that reads ids in another way as well, such as a bag of words or the length of the text, is refused: that would
stay where steps are taken away.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, Protocol

import keras
import numpy as np
from numpy.typing import NDArray

from keras_interp_rnn._arrays import as_float64, is_float, without_unread
from keras_interp_rnn._backend.keras_quirks import operation_name, walk_layers
from keras_interp_rnn._cells import is_of_keras
from keras_interp_rnn._network.agreement import other_ids
from keras_interp_rnn._program import operations as o
from keras_interp_rnn._program.along import Mask, vocabulary_of
from keras_interp_rnn._program.graph import takes_mask
from keras_interp_rnn._program.read import RECURRENT, Program
from keras_interp_rnn._program.values import RULES, Known, Step, forward
from keras_interp_rnn._types import AnyArray, Array

HELD, IDS, MASK, VECTORS = "held", "ids", "mask", "vectors"
"""The kinds of values: computed from other inputs; from the ids, otherwise than as vectors; from masks of the sequences
alone; from the vectors. All but the last are those of the original sequences."""

MASKS = ("NotEqual", "Any", "Isnan", "Isfinite")
"""Operations by which Keras makes masks."""

JOIN = ("Concatenate", "Stack", "Append", "Hstack", "Vstack")
"""Operations and layers that make features of what they join."""

BY_COUNT = ("Multiply", "Divide", "TrueDivide", "DivideNoNan", "Where", "Take", "TakeAlongAxis", "GetItem", "Mod")
"""Operations that may read how many steps there are, as for a mean over them, or which one is the last."""

PROBED = 16
"""Indices along an axis that are changed, at most, to see along which axis a layer takes its steps."""

OF_EACH_ID = (o.Lookup, o.OneHot, o.Cast, o.NotEqual)
"""Operations that treat every id by itself."""


def is_of_each_step(operation: o.Operation) -> bool:
    """Whether an operation treats every step by itself. A function of the user may not."""
    if isinstance(operation, o.Elementwise):
        return is_of_keras(operation.function)
    return operation.of_rows


class Opened(Protocol):
    """A network as a function of the vectors that it reads."""

    inputs: Array

    def run(self, x: Array, rows: NDArray[np.intp]) -> Array: ...

    def values(self, x: Array, rows: NDArray[np.intp]) -> Known: ...


class Entering:
    """A program that reads some sequences, and where their vectors enter.

    Attributes:
        known: all values for these sequences. kinds: of the values. given: the input whose steps are taken away.
        sources: the values that the vectors take the place of.
        steps: the operations that the vectors reach, in order. before: the others.
        output: the value of the program's output.

    Args:
        program: of one output. starts: an array for each of its inputs. varies: the index of the one whose steps are
            taken away. reads_ids: whether that one holds ids. size: the number of its ids, if it is known.

    Raises:
        ValueError: if ids are read by an operation that computes more than their vectors.
    """

    def __init__(
        self, program: Program, starts: Sequence[AnyArray], varies: int, reads_ids: bool, size: int | None
    ) -> None:
        self._name, self._size = program.name, size
        self._reads_ids, self.given = reads_ids, program.inputs[varies]
        self._given = starts[varies]
        self.output = program.outputs[0]
        self.known: Known = dict(zip(program.inputs, starts, strict=True))
        self.kinds = dict.fromkeys(program.inputs, HELD)
        self.kinds[self.given] = IDS if reads_ids else VECTORS
        self.sources: list[o.Value] = [] if reads_ids else [self.given]
        self.steps: list[Step] = []
        self.before: list[Step] = []
        self._makers: dict[o.Value, o.Operation] = {}
        self._one_hot: dict[o.Value, o.Value] = {}
        self._masks_held: dict[o.Value, o.Value] = {}
        self._masks: list[Mask] = []
        for operation in program.operations:
            self._add(operation)
        if not self.sources:
            raise ValueError(
                f"A layer must make vectors (batch, time, features) of the ids. Received: {self._name}, in which "
                "no layer does so by itself. Make the Embedding a layer of the model, or pass numbers as floats."
            )
        if reads_ids and self.kinds[self.output] != VECTORS:
            raise self._other_reader(self._makers[self.output].name, self.output)

    @property
    def shape(self) -> tuple[int, int]:
        """How many sequences there are, of how many steps."""
        return len(self._given), self._given.shape[1] if self._given.ndim > 1 else 1

    @property
    def mask(self) -> Mask:
        """Bool (batch, time), the steps that no mask leaves out."""
        return np.asarray(np.all([np.ones(self.shape, bool), *self._masks], axis=0))

    def inputs(self) -> Array:
        """The vectors (batch, time, ...), of several sources side by side."""
        if not self._reads_ids:
            return np.asarray(without_unread(self._given, self.mask), np.float64)
        arrays = [as_float64(self.known[source]) for source in self.sources]
        if len(arrays) == 1:
            return arrays[0]
        return np.concatenate([array.reshape(*array.shape[:2], -1) for array in arrays], axis=-1)

    @property
    def reads_symbols(self) -> bool:
        """Whether the vectors are one-hot vectors of symbols, or distributions over them, that a cell looks up."""
        everything = [step.operation for step in (*self.before, *self.steps)]
        of_symbols = {operation for operation in everything if _vocabulary_size(operation) is not None}
        if not of_symbols:
            return False
        for source in self.sources:
            one_hot = source in self._makers and operation_name(self._makers[source].layer) == "OneHot"
            readers = [operation for operation in everything if source in operation.reads]
            if not one_hot and not of_symbols.issuperset(readers):
                return False
        return True

    def _add(self, operation: o.Operation) -> None:
        operation = self._with_vectors(operation)
        step = Step(operation, RULES[type(operation)](operation))
        with np.errstate(invalid="ignore"):  # of what steps hold that are not read
            forward([step], self.known)
        kinds = {self.kinds[value] for value in operation.reads}
        self._check_reads(operation, kinds)
        self._makers.update(dict.fromkeys(operation.makes, operation))
        masks = {value.mask for value in operation.makes}
        for value in operation.makes:
            self.kinds[value] = MASK if value in masks else self._kind(operation, value, kinds)
        if all(self.kinds[value] != VECTORS for value in operation.makes):
            self.before.append(step)
            return
        for mask in dict.fromkeys([*operation.masks, *(value.mask for value in operation.reads)]):
            array = None if mask is None else self.known.get(mask)
            if array is not None and array.shape == self.shape:
                self._masks.append(array.astype(bool))
        if VECTORS in kinds:
            makes = [value if self.kinds[value] == VECTORS else o.Value((), "bool") for value in operation.makes]
            operation = dataclasses.replace(self._with_held_masks(operation), makes=makes)
            self.steps.append(step._replace(operation=operation))
        else:
            self.before.append(step)
            if IDS in kinds:
                self._enter(operation)

    def _with_held_masks(self, operation: o.Operation) -> o.Operation:
        """An operation that reads masks made of the vectors as one that reads those of the original sequences."""

        def held(mask: o.Value) -> o.Value:
            if self.kinds[mask] != VECTORS:
                return mask
            if mask not in self._masks_held:
                self._masks_held[mask] = found = o.Value(mask.shape, mask.dtype)
                self.known[found], self.kinds[found] = self.known[mask], MASK
            return self._masks_held[mask]

        if isinstance(operation, o.Opaque):
            return dataclasses.replace(operation, given=[held(mask) for mask in operation.given])
        return operation if operation.mask is None else dataclasses.replace(operation, mask=held(operation.mask))

    def _with_vectors(self, operation: o.Operation) -> o.Operation:
        """A cell that looks ids up as one that reads their one-hot vectors."""
        size = _vocabulary_size(operation)
        if size is None or self.kinds[operation.reads[0]] != IDS:
            return operation
        ids = operation.reads[0]
        if ids not in self._one_hot:
            flat, vectors = o.Value(ids.shape[:2], ids.dtype), o.Value((*ids.shape[:2], size), operation.layer.dtype)
            self._one_hot[ids] = vectors
            layer = operation.layer
            for made in (
                o.Reshape(layer=layer, reads=[ids], makes=[flat]),
                o.OneHot(layer=layer, reads=[flat], makes=[vectors], mask=operation.mask, size=size),
            ):
                self._add(made)
        return dataclasses.replace(operation, reads=[self._one_hot[ids], *operation.reads[1:]])

    def _kind(self, operation: o.Operation, value: o.Value, kinds: set[str]) -> str:
        """The kind of a value, from those that its operation reads."""
        array = self.known[value]
        name = operation_name(operation.layer)
        if VECTORS in kinds:
            return MASK if array.dtype == bool and name in MASKS else VECTORS
        if IDS in kinds and array.dtype != bool:
            vectors = is_float(array) and (array.ndim > 2 or isinstance(operation.layer, RECURRENT))
            return VECTORS if vectors else IDS
        if MASK in kinds or IDS in kinds:
            # What a trained layer makes of how many steps there are is a feature.
            per_step = self.shape[1] in array.shape[1:]
            return IDS if getattr(operation.layer, "weights", None) and not per_step else MASK
        return HELD

    def _check_reads(self, operation: o.Operation, kinds: set[str]) -> None:
        """Raises ValueError where an operation on the vectors also reads the ids, or counts made of masks."""
        if VECTORS not in kinds:
            return
        name = operation_name(operation.layer)
        for value in operation.reads:
            kind, per_step = self.kinds[value], self.shape[1] in self.known[value].shape[1:]
            as_weights = kind == MASK and name not in JOIN and (per_step or name in BY_COUNT)
            if kind in (IDS, MASK) and not as_weights:
                raise self._other_reader(operation.name, value)

    def _other_reader(self, reader: str, value: o.Value) -> ValueError:
        maker = self._makers.get(value)
        made = "the input" if maker is None else f"{maker.name} ({type(maker.layer).__name__})"
        return ValueError(
            "A sequence must enter a network as one vector for each step, so that steps can be taken away. Received: "
            f"{self._name}, in which {reader} also reads {made}, which is made of the sequence in another way, such as "
            "a count of its words or its length, and would stay. Make that an input of its own, and pass it with the "
            "sequence."
        )

    def _enter(self, operation: o.Operation) -> None:
        """Notes that an operation makes vectors of ids."""
        layer, [value, *others] = operation.layer, [x for x in operation.makes if self.kinds[x] == VECTORS]
        recurrent = isinstance(layer, keras.Layer) and any(isinstance(x, RECURRENT) for x in walk_layers(layer))
        recurrent = recurrent and not isinstance(operation, o.OneHot)
        if others or self.known[value].shape[1] != self.shape[1] or recurrent:
            raise ValueError(
                "A layer must make vectors (batch, time, features) of the ids, and nothing else. Received: "
                f"{layer.name} ({type(layer).__name__}). Make the Embedding a layer of the model."
            )
        self.sources.append(value)

    # Whether the vectors tell all that the network knows of a sequence

    def check(self, network: Opened, count: int) -> None:
        """Raises ValueError where vectors are not those of single steps, or the ids are read in another way too.

        Args:
            network: what was opened. count: how many sequences were given; the others are changed ones.
        """
        if self._reads_ids:
            self._check_made_of_single_ids(network, count)
        else:
            self._check_steps(network)

    def _is_plain(self) -> bool:
        """Whether each vector, and each entry of a mask, is made of one id."""
        for operation, _ in self.before:
            if not any(self.kinds[value] in (IDS, MASK) for value in operation.reads):
                continue
            [read], [made] = operation.reads[:1], operation.makes[:1]
            in_place = isinstance(operation, o.Reshape) and self.known[read].shape[:2] == self.known[made].shape[:2]
            if not isinstance(operation, OF_EACH_ID) and not in_place:
                return False
        return not any(self.kinds[value] == MASK for operation, _ in self.steps for value in operation.reads)

    def _check_made_of_single_ids(self, network: Opened, count: int) -> None:
        """Ids are changed at some steps, and the vectors at the others must stay.

        Words are changed everywhere, padding is not, and whatever else is made of the ids must stay.
        """
        ids = as_float64(self.known[self.given])
        words = other_ids(ids[:count], self._size)
        before = None if self._is_plain() else self._made_of(ids)
        if before is None or not len(words):
            return
        steps = self.shape[1]
        at = np.arange(steps).reshape(1, -1, *[1] * (ids.ndim - 2))
        leaks: dict[o.Value, bool] = {}
        rng, order = np.random.default_rng(0), np.searchsorted(words, np.where(np.isin(ids, words), ids, words[0]))
        for bit in range((steps - 1).bit_length()):
            for there in (0, 1):
                chosen = (at >> bit) % 2 == there
                others = words[(order + rng.integers(1, len(words), ids.shape)) % len(words)]
                after = self._made_of(np.where(chosen, others, ids))
                if after is None:
                    continue
                for value, array in before.items():
                    if array.shape[:2] == ids.shape[:2]:
                        rest = np.flatnonzero(~chosen.ravel())
                        leaks[value] = leaks.get(value, False) or _moved(array, after[value], (slice(count), rest))
        if any(leaks.get(source) for source in self.sources):
            first = next(self._makers[value] for value, leaks_out in leaks.items() if leaks_out)
            raise ValueError(
                "A sequence must enter a network as one vector for each step, which is that of the id of this step "
                f"alone. Received: {self._name}, in which {first.name} ({type(first.layer).__name__}) makes it of "
                "other steps. Change the order of the ids before they are passed, or that of the vectors, after the "
                "Embedding."
            )
        counts = {value for step in self.steps for value in step.operation.reads if self.kinds[value] == MASK}
        leaking = {
            mask
            for step in self.steps
            for mask in step.operation.masks
            if mask is not None and _reads_mask(step.operation) and leaks.get(mask)
        }
        others = {value: before[value] for value in before if value in counts | leaking}
        if others:
            self._check_padding(network, ids, count, words, others)

    def _check_padding(
        self, network: Opened, ids: Array, count: int, words: Array, made: dict[o.Value, AnyArray]
    ) -> None:
        """Raises ValueError where what is made of the ids tells more than where padding is.

        Padding is one id: 0 at the start or the end of sequences, or one whose vectors change nothing.
        """
        given, first = ids[:count], next(iter(made))
        for padding in (None, *dict.fromkeys([0.0, *given[:, -1].ravel(), *given[:, 0].ravel()])):
            times = dict.fromkeys(made, 0)
            for word in words[:: -(-len(words) // 8)]:
                after = self._made_of(np.where(ids == padding, ids, word)) if word != padding else None
                if after is None:
                    continue
                for value, array in made.items():
                    times[value] += _moved(array, after[value], (slice(count),))
            told = [value for value in made if times[value] > 1]  # one word may be padding that does not occur
            if not told and (padding is None or self._is_padding(network, given == padding, padding == 0)):
                return
            first = told[0] if told else first
        reader = next(step.operation for step in self.steps if first in (*step.operation.reads, *step.operation.masks))
        raise self._other_reader(reader.name, first)

    @staticmethod
    def _is_padding(network: Opened, padded: NDArray[np.bool_], is_zero: bool) -> bool:
        """Whether steps are padding, and no word: of the id 0 the first or the last ones; others change nothing."""
        ends = np.logical_and.accumulate(padded, axis=1) | np.logical_and.accumulate(padded[:, ::-1], axis=1)[:, ::-1]
        if is_zero and np.array_equal(padded, ends):
            return True
        rows, x = np.arange(len(padded)), network.inputs[: len(padded)]
        chosen = padded.reshape(*padded.shape[:2], -1).any(axis=-1)
        chosen = chosen.reshape(*chosen.shape, *[1] * (x.ndim - 2))
        noise = np.where(chosen, 3 * np.random.default_rng(0).normal(size=x.shape), 0)
        return all(np.array_equal(network.run(x + change, rows), network.run(x, rows)) for change in (noise, -noise))

    def _made_of(self, ids: Array) -> dict[o.Value, AnyArray] | None:
        """The values of other ids that the vectors do not reach; None where the network cannot read them.

        These are the vectors, the masks under which they are read, and what else is read with them.
        """
        known: Known = {value: array for value, array in self.known.items() if self.kinds[value] == HELD}
        known[self.given] = ids.astype(self.known[self.given].dtype)
        try:
            for step in self.before:
                reads = (*step.operation.reads, *step.operation.masks)
                if any(value is not None and self.kinds[value] == VECTORS for value in reads):
                    known.update({value: self.known[value] for value in step.operation.makes})
                elif any(value not in known for value in step.operation.makes):
                    forward([step], known)
        except Exception:  # whatever the backend raises of ids that the network does not have
            return None
        made = [value for step in self.before for value in step.operation.makes if self.kinds[value] != HELD]
        return {value: known[value] for value in made if known.get(value) is not None}

    def _check_steps(self, network: Opened) -> None:
        """Raises ValueError where the lowest recurrent layer takes its steps along another axis than the second."""
        x, rank = network.inputs, self._given.ndim
        places = [i for i, step in enumerate(self.steps) if isinstance(step.operation.layer, RECURRENT)]
        if rank < 3 or not places or all(is_of_each_step(step.operation) for step in self.steps[: places[0]]):
            return
        lowest = self.steps[places[0]].operation
        noise, changed = np.random.default_rng(0).normal(size=x.shape[1:]), {}
        for axis in range(1, rank):
            size = x.shape[axis]
            chosen = np.unique(np.linspace(0, size - 1, PROBED).astype(int))
            chosen = np.resize(chosen, len(chosen) + len(chosen) % 2)  # rows may be read in pairs
            rows = np.zeros(len(chosen), int)
            at_places = np.eye(size)[chosen].reshape(len(chosen), *(size if i == axis else 1 for i in range(1, rank)))
            with_change = network.values(x[rows] + at_places * noise, rows)[lowest.reads[0]]
            without = network.values(x[rows], rows)[lowest.reads[0]]
            moved = (with_change != without).reshape(*with_change.shape[:2], -1).any(axis=-1)
            read = moved.any(axis=1)  # a network may drop steps, or features
            changed[axis] = float(moved[read].mean()) if read.any() else 0.0
        turned = [axis for axis, part in changed.items() if 0 < part <= 0.5 < 1 == changed[1]]
        if turned:
            raise ValueError(
                "Steps must be along the second axis of the inputs. Received: inputs of shape "
                f"{x.shape[1:]} for each sequence, of which {lowest.name} ({type(lowest.layer).__name__}) takes axis "
                f"{turned[0]} as its steps. Turn the inputs round, and pass the model of the layers after the one that "
                "does it, keras.Model(layer.output, model.output)."
            )


def _vocabulary_size(operation: o.Operation) -> int | None:
    """The number of symbols that a recurrent layer looks up; None for any other operation."""
    layer = operation.layer
    if not isinstance(operation, o.Recur | o.Opaque) or not isinstance(layer, RECURRENT):
        return None
    return vocabulary_of(getattr(layer, "forward_layer", layer).cell)


def _reads_mask(operation: o.Operation) -> bool:
    return isinstance(operation, o.Recur | o.Mean) or (
        isinstance(operation, o.Opaque) and (takes_mask(operation.layer) or bool(operation.given))
    )


def _moved(before: AnyArray, after: AnyArray, where: tuple[Any, ...]) -> bool:
    """Whether more than digits that are rounded has changed."""
    scale = np.abs(np.where(np.isfinite(before), before, 0.0)).max(initial=0.0)
    return not np.allclose(before[where], after[where], rtol=0.0, atol=1e-6 * scale, equal_nan=True)
