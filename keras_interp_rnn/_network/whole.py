"""A model of any graph as a function of the vectors of one of its inputs, run and differentiated by Keras.

The vectors are that input, or what an Embedding, a one-hot encoding or an ISAN makes of its ids. They alone vary: other
inputs, ids and masks are those of the original sequences. A model that reads ids in another way too, such as a bag of
words or the length of the text, is refused, as that would stay. The graph is followed operation by operation, nested
models too, each in its own dtype. A model without a graph is called on symbolic inputs to get one; if that fails, it is
one operation of its inputs.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import keras
import numpy as np
from keras import ops, tree
from numpy.typing import ArrayLike, NDArray

from keras_interp_rnn import _backend
from keras_interp_rnn._backend.keras_quirks import made_by, operation_name, walk_layers
from keras_interp_rnn._backend.network_runs import own_outputs
from keras_interp_rnn._checks import integer, invalid, is_integer
from keras_interp_rnn._network.agreement import Absent, difference, nothing, other_ids, runs_of
from keras_interp_rnn._network.along import vocabulary_of
from keras_interp_rnn._network.arrays import (
    as_array,
    as_float64,
    as_mask,
    as_sequences,
    at_step,
    check_finite,
    in_rank,
    without_unread,
)
from keras_interp_rnn._network.chain import Rows, check_repeatable, without_recurrent_layer
from keras_interp_rnn._network.graph import (
    Masked,
    check_ids,
    evaluate,
    mask_after,
    place_of,
    read_by,
    run_with_masks,
    runs_its_graph,
    takes_mask,
    takes_training,
    traced,
    vocabulary_sizes,
    warn_of_lost_masks,
)
from keras_interp_rnn._network.parts import IDENTITIES, RESHAPING, logits_by, probabilities_by
from keras_interp_rnn._network.recurrent import RECURRENT
from keras_interp_rnn._network.symbols import (
    GivenNames,
    Names,
    as_strings,
    is_text,
    read_strings,
    read_texts,
    resolve_names,
    text_layer,
    text_layers,
    with_strings,
)
from keras_interp_rnn._types import Array, Tensor

Path = tuple[int, ...]
"""The nodes of the calls of nested models, and the node of an operation in the innermost one."""

HELD, IDS, MASK, VECTORS = "held", "ids", "mask", "vectors"
"""The kinds of tensors: computed from other inputs; from the ids, otherwise than as vectors; from masks of the
sequences alone; from the vectors. All but the last are those of the original sequences."""

MASKS = ("NotEqual", "Any", "Isnan", "Isfinite")
"""Operations by which Keras makes masks."""

JOIN = ("Concatenate", "Stack", "Append", "Hstack", "Vstack")
"""Operations and layers that make features of what they join."""

BY_COUNT = ("Multiply", "Divide", "TrueDivide", "DivideNoNan", "Where", "Take", "TakeAlongAxis", "GetItem", "Mod")
"""Operations that may read how many steps there are, as for a mean over them, or which one is the last."""

PROBED = 16
"""Indices along an axis that are changed, at most, to see along which axis a layer takes its steps."""


class Edge(NamedTuple):
    """A tensor of the graph, its mask, and its kind."""

    tensor: Any
    mask: Any
    kind: str


class Source(NamedTuple):
    """Where the vectors enter the graph: in place of the output of an operation, or of an ISAN's ids."""

    path: Path
    replaces_ids: bool
    shape: tuple[int, ...]
    are_symbols: bool


class _Made(NamedTuple):
    """A value that a network makes of ids, the name of the operation that makes it, this operation, and its reader."""

    array: Array
    name: str
    maker: Any = None
    reader: Any = None


def _moved(before: _Made, after: _Made, where: tuple[Any, ...]) -> bool:
    """Whether more than digits that are rounded has changed."""
    first, second = before.array[where], after.array[where]
    scale = np.abs(np.where(np.isfinite(before.array), before.array, 0.0)).max(initial=0.0)
    return not np.allclose(first, second, rtol=0.0, atol=1e-6 * scale, equal_nan=True)


class Whole:
    """A model as a function of the vectors of one of its inputs.

    Attributes:
        inputs: (batch, time, ...), the vectors. mask: bool (batch, time), True.
        output: (batch, outputs), the model's own; of a sequence of outputs that of a step.
        reads_symbols: whether the vectors are one-hot vectors of symbols.

    Args:
        model: Sequential or functional, of one output.
        inputs: an array for each of its inputs, in their order. varies: the index of the one whose vectors vary.
        step: of a sequence of outputs the one that is computed; negative from the end.
        absent, own: as of `open_chain`.
        recurrent: whether it must have a recurrent layer.

    Raises:
        ValueError: if it has no recurrent layer or several outputs, carries states or draws noise; if an input, an
            output or a weight is not finite; if ids are read by an operation that computes more than their vectors, or
            steps are not the second axis of the inputs; if a row depends on others of its batch.
    """

    def __init__(
        self,
        model: keras.Model,
        inputs: Sequence[Any],
        varies: int = 0,
        step: int = -1,
        *,
        absent: Absent = nothing,
        own: Callable[[Any], Any] | None = None,
        recurrent: bool = True,
    ) -> None:
        _check(model, recurrent)
        arrays = [
            in_rank(as_array("The inputs", array), tensor) for array, tensor in zip(inputs, model.inputs, strict=True)
        ]
        if len({len(array) for array in arrays}) > 1:
            raise ValueError(
                "All inputs must have as many rows. Received: "
                f"{', '.join(str(len(array)) for array in arrays)}. Pass a row of each input for each sequence."
            )
        sizes = vocabulary_sizes(model)
        for i, (array, tensor) in enumerate(zip(arrays, model.inputs, strict=True)):
            # Vectors may hold anything at steps that are not read.
            checked = i != varies or "float" not in tensor.dtype
            if checked and not np.isfinite(array.astype(np.float64)).all():
                raise ValueError("The inputs must be finite. Received: NaN or infinity. Remove those sequences.")
        check_ids(model, arrays)
        check_finite(model)
        self._model, self._step = model, step
        self._end, self._leaves_out_end = _end(model), False
        given = arrays[varies]
        reads_ids = sizes[varies] is not None or "float" not in model.inputs[varies].dtype
        cells = [x.cell for x in walk_layers(model) if isinstance(x, keras.layers.RNN)]
        self._reads_distributions = any(vocabulary_of(cell) is not None for cell in cells)
        if given.dtype.kind in "iu" and given.ndim < 3:  # a Sequential model without an Input declares floats for ids
            reads_ids = reads_ids or self._reads_distributions
        structure = model.inputs[0] if isinstance(model, keras.Sequential) else model.input
        outputs = own_outputs(model)

        def run(arrays: list[NDArray[Any]]) -> Array:
            values = [ops.cast(x, tensor.dtype) for x, tensor in zip(arrays, model.inputs, strict=True)]
            found = outputs(tree.pack_sequence_as(structure, values)) if own is None else own(arrays)
            return at_step(model, as_float64(tree.flatten(found)[0]), step)

        runs = runs_of(model, run, arrays, varies, sizes[varies])
        both = runs.with_others()
        values = [
            ops.cast(ops.convert_to_tensor(x), tensor.dtype) for x, tensor in zip(both, model.inputs, strict=True)
        ]
        self.output = runs.output
        self._count, self._steps = len(both[varies]), given.shape[1] if given.ndim > 1 else 1
        self._varies, self._starts = -1 if reads_ids else varies, values  # -1: the vectors of ids vary
        self._ids, self._size = varies, sizes[varies]
        self._sources: list[Source] = []
        self._found: list[Any] = []
        self._recorded: dict[Path, list[Edge]] = {}
        self._masks: list[NDArray[np.bool_]] = []
        self._lowest: Path | None = None  # the first call of a recurrent layer on the vectors
        self._record([IDS if i == varies and reads_ids else HELD for i in range(len(values))])
        self.mask = np.all(self._masks, axis=0) if self._masks else np.ones((self._count, self._steps), bool)
        self.inputs = self._joined() if reads_ids else without_unread(both[varies], self.mask).astype(np.float64)
        self._check_steps(given.ndim)
        if reads_ids:
            self._check_made_of_single_ids(len(given))
        if (apart := difference(self, runs, absent)) is not None:
            raise ValueError(
                f"What is explained must be the network itself. Received: {model.name}, whose output is {apart[0]:.2g} "
                f"from that of its operations run one after the other, where the inputs change it by {apart[1]:.2g}. "
                "Build it of layers and operations of Keras that depend on the inputs alone."
            )
        self.mask = self._read()[: len(given)]
        self.inputs = self.inputs[: len(given)]
        warn_of_lost_masks(model)

    def _read(self) -> NDArray[np.bool_]:
        """The steps (batch, time) that are read: all but those that a mask leaves out, and that change nothing."""
        read, rows = np.ones((self._count, self._steps), bool), np.arange(self._count)
        if not self._masks:
            return read
        masked = ~np.all(self._masks, axis=0)
        noise = 3 * np.random.default_rng(0).normal(size=self.inputs.shape)
        whole = self.run(self.inputs, rows)
        of_steps = (*masked.shape, *[1] * (self.inputs.ndim - 2))
        for chosen in (masked, *(masked & (np.arange(self._steps) == t) for t in range(self._steps))):
            if chosen.any():
                # Of both signs, as a rectifier or a maximum may pass one alone.
                changed = [np.where(chosen.reshape(of_steps), x, self.inputs) for x in (noise, -noise)]
                same = np.all([(self.run(x, rows) == whole).all(axis=1) for x in changed], axis=0)
                read &= ~(chosen & same[:, None])
            if (read == ~masked).all():
                break
        return read

    def run(self, x: Array, rows: Rows) -> Array:
        """(rows, outputs) for vectors (rows, time, ...), each in place of those of a sequence."""
        return as_float64(self._outputs(ops.convert_to_tensor(x.astype(self._dtype)), rows))

    @property
    def activation(self) -> str | None:
        """The activation at the end, where that makes probabilities of logits: "softmax" or "sigmoid"."""
        return None if self._end is None else self._end.activation

    def before_activation(self) -> Whole:
        """The same network without that activation."""
        found = copy.copy(self)
        found._leaves_out_end = self._end is not None
        return found

    def gradient(self, x: Array, rows: Rows, outputs: NDArray[np.int64]) -> Array:
        """The gradient of one output of each row by the row."""

        def chosen(x: Tensor) -> Tensor:
            found = self._outputs(x, rows)
            weights = ops.convert_to_tensor((np.arange(found.shape[-1]) == outputs[:, None]).astype("float32"))
            return ops.sum(ops.cast(found, "float32") * weights)

        return np.asarray(_backend.gradient(chosen, x.astype(self._dtype)), np.float64)

    @property
    def reads_symbols(self) -> bool:
        return bool(self._sources) and all(source.are_symbols for source in self._sources)

    @property
    def _dtype(self) -> str:
        tensor = self._found[0] if self._sources else self._starts[self._varies]
        return str(keras.backend.standardize_dtype(tensor.dtype))

    def _check_made_of_single_ids(self, count: int) -> None:
        """Raises ValueError where a vector is not that of the id of its step, or where words are read otherwise too.

        Ids are changed at some steps, and the vectors at the others must stay; words are changed everywhere, padding is
        not, and whatever else is made of the ids must stay.
        """
        ids = as_float64(self._starts[self._ids])
        before = self._made_of(ids)
        if before is None:
            return
        words = other_ids(ids[:count], self._size)
        if not len(words):
            return
        at = np.arange(self._steps).reshape(1, -1, *[1] * (ids.ndim - 2))
        leaks: dict[tuple[Path, str], bool] = {}
        rng, order = np.random.default_rng(0), np.searchsorted(words, np.where(np.isin(ids, words), ids, words[0]))
        for bit in range((self._steps - 1).bit_length()):
            for there in (0, 1):
                chosen = (at >> bit) % 2 == there
                others = words[(order + rng.integers(1, len(words), ids.shape)) % len(words)]
                after = self._made_of(np.where(chosen, others, ids))
                if after is None:
                    continue
                for key, made in before.items():
                    if made.array.shape[:2] == ids.shape[:2]:
                        rest = np.flatnonzero(~chosen.ravel())
                        leaks[key] = leaks.get(key, False) or _moved(made, after[key], (slice(count), rest))
        entered = [(source.path, "vectors") for source in self._sources]
        if any(leaks.get(key) for key in entered):
            name = next(before[key].name for key, moves in leaks.items() if moves and key[1] == "vectors")
            raise ValueError(
                "A sequence must enter a network as one vector for each step, which is that of the id of this step "
                f"alone. Received: {self._model.name}, in which {name} makes it of other steps. Change the order of "
                "the ids before they are passed, or that of the vectors, after the Embedding."
            )
        others = [key for key, made in before.items() if made.reader and not (key[1] == "mask" and not leaks.get(key))]
        if others:
            self._check_padding(ids, count, words, {key: before[key] for key in others})

    def _check_padding(self, ids: Array, count: int, words: Array, made: dict[Any, _Made]) -> None:
        """Raises ValueError where what is made of the ids tells more than where padding is.

        Padding is one id: 0 at the start or the end of sequences, or one whose vectors change nothing.
        """
        given, first = ids[:count], next(iter(made.values()))
        for padding in (None, *dict.fromkeys([0.0, *given[:, -1].ravel(), *given[:, 0].ravel()])):
            times = dict.fromkeys(made, 0)
            for word in words[:: -(-len(words) // 8)]:
                after = self._made_of(np.where(ids == padding, ids, word)) if word != padding else None
                if after is None:
                    continue
                for key in made:
                    times[key] += _moved(made[key], after[key], (slice(count),))
            told = [each for key, each in made.items() if times[key] > 1]  # one word may be padding that does not occur
            if not told and (padding is None or self._is_padding(given == padding, padding == 0)):
                return
            first = told[0] if told else first
        raise self._other_reader(first.maker, first.reader)

    def _is_padding(self, padded: NDArray[np.bool_], is_zero: bool) -> bool:
        """Whether steps are padding, and no word: of the id 0 the first or the last ones; others change nothing."""
        ends = np.logical_and.accumulate(padded, axis=1) | np.logical_and.accumulate(padded[:, ::-1], axis=1)[:, ::-1]
        if is_zero and np.array_equal(padded, ends):
            return True
        chosen = padded.reshape(*padded.shape[:2], -1).any(axis=-1).reshape(*padded.shape[:2], *self._of_features)
        rows, x = np.arange(len(padded)), self.inputs[: len(padded)]
        noise = np.where(chosen, 3 * np.random.default_rng(0).normal(size=x.shape), 0)
        return all(np.array_equal(self.run(x + change, rows), self.run(x, rows)) for change in (noise, -noise))

    @property
    def _of_features(self) -> tuple[int, ...]:
        return (1,) * (self.inputs.ndim - 2)

    def _made_of(self, ids: Array) -> dict[tuple[Path, str], _Made] | None:
        """The vectors of other ids, and what else the network makes of these; None where it cannot read them.

        What is made of vectors is that of the original sequences.
        """
        found: dict[tuple[Path, str], _Made] = {}
        starts = [*self._starts]
        starts[self._ids] = ops.cast(ops.convert_to_tensor(ids), starts[self._ids].dtype)
        kinds = [IDS if i == self._ids else HELD for i in range(len(starts))]

        def call(operation: Any, node: Any, known: Mapping[int, Any], path: Path) -> list[Edge]:
            recorded = self._recorded[path]
            as_masks = {id(x) for x in _masks_of(node)}
            read = [known[id(x)] for x in node.input_tensors]
            if all(edge.kind != VECTORS for edge in read):
                tensors = run_with_masks(operation, node, dict(known))
                edges = [Edge(new, mask, old.kind) for (new, mask), old in zip(tensors, recorded, strict=True)]
                if any(edge.kind in (IDS, MASK, VECTORS) for edge in edges):
                    name = f"{operation.name} ({type(operation).__name__})"
                    found[path, "vectors"] = _Made(as_float64(edges[0].tensor), name)
            else:
                args, _, mask = read_by(operation, node, dict(known))
                masks = tree.flatten(mask_after(operation, args[0], mask)) if args else [None]
                masks = [*masks, *[None] * len(recorded)]
                edges = [old._replace(mask=new) for old, new in zip(recorded, masks, strict=False)]
                given = [x for x in tree.flatten(mask) if x is not None] if takes_mask(operation) else []
                for i, x in enumerate(given):
                    found[path, "mask" if i == 0 else f"mask {i}"] = _Made(as_float64(x), "", operation, operation)
                for i, (x, edge) in enumerate(zip(node.input_tensors, read, strict=True)):
                    if edge.kind == MASK and id(x) not in as_masks:
                        found[path, f"{i}"] = _Made(as_float64(edge.tensor), "", made_by(x)[0], operation)
            return edges

        edges = [Edge(value, None, kind) for value, kind in zip(starts, kinds, strict=True)]
        try:
            self._follow(self._model, edges, (), call)
        except Exception:  # whatever the backend raises of ids that the network does not have
            return None
        return found

    def _joined(self) -> Array:
        """The vectors of all sources side by side."""
        if not self._sources:
            raise ValueError(
                f"A layer must make vectors (batch, time, features) of the ids. Received: {self._model.name}, in which "
                "no layer does so by itself. Make the Embedding a layer of the model, or pass numbers as floats."
            )
        arrays = [as_float64(tensor) for tensor in self._found]
        if len(arrays) == 1:
            return arrays[0]
        return np.concatenate([array.reshape(*array.shape[:2], -1) for array in arrays], axis=-1)

    def _record(self, kinds: list[str]) -> None:
        """Runs the graph on the original sequences."""
        vectors = [VECTORS if i == self._varies else kind for i, kind in enumerate(kinds)]
        edges = [Edge(value, None, kind) for value, kind in zip(self._starts, vectors, strict=True)]
        [output] = self._follow(self._model, edges, (), self._recording)
        if self._sources and output.kind != VECTORS:
            raise self._other_reader(made_by(self._model.outputs[0])[0], self._model)

    def _outputs(self, x: Tensor, rows: Rows) -> Tensor:
        """(rows, outputs), as a tensor."""

        def repeated(tensor: Any) -> Any:
            """A tensor of the original sequences for the rows; one that is the same for all as it is."""
            of_all = tensor is None or tuple(tensor.shape[:1]) != (self._count,)
            return tensor if of_all else ops.take(tensor, rows, axis=0)

        if self._sources:
            ends = np.cumsum([int(np.prod(source.shape)) for source in self._sources])[:-1].tolist()
            whole = len(self._sources) == 1
            parts = [x] if whole else ops.split(x, ends, axis=-1)
            shapes = [(len(rows), self._steps, *source.shape) for source in self._sources]
            given = {s.path: ops.reshape(x, shape) for s, x, shape in zip(self._sources, parts, shapes, strict=True)}
        else:
            given = {}
        edges = [
            Edge(x, None, VECTORS) if i == self._varies else Edge(repeated(value), None, HELD)
            for i, value in enumerate(self._starts)
        ]
        replaced = {source.path for source in self._sources if source.replaces_ids}

        def call(operation: Any, node: Any, known: Mapping[int, Any], path: Path) -> list[Edge]:
            recorded = self._recorded[path]
            if path in given and path not in replaced:
                return [Edge(given[path], repeated(recorded[0].mask), VECTORS)]
            if all(edge.kind != VECTORS for edge in recorded):
                return [Edge(repeated(tensor), repeated(mask), kind) for tensor, mask, kind in recorded]
            read = dict(known)
            for mask in _masks_of(node):  # users make theirs by any operation
                _, maker = made_by(mask)
                if made := self._recorded.get((*path[:-1], id(maker))):
                    read[id(mask)] = Edge(repeated(made[place_of(mask, maker.output_tensors)].tensor), None, HELD)
            if path == self._lowest:
                self._of_lowest = read[id(node.input_tensors[0])].tensor
            if path in given:
                ids = node.input_tensors[0]
                read[id(ids)] = read[id(ids)]._replace(tensor=given[path])
            if self._leaves_out_end and self._end is not None and path == self._end.path:
                tensors = [self._end.logits(read[id(node.input_tensors[0])].tensor)]
            else:
                args, kwargs, _ = read_by(operation, node, read)
                tensors = tree.flatten(operation(*args, **kwargs))
            return [
                Edge(tensor if kind == VECTORS else repeated(original), repeated(mask), kind)
                for tensor, (original, mask, kind) in zip(tensors, recorded, strict=True)
            ]

        [output] = self._follow(self._model, edges, (), call)
        found = output.tensor
        found = found[:, self._step] if len(found.shape) > 2 else found
        return ops.reshape(found, (len(rows), -1))

    def _follow(self, model: Any, edges: list[Edge], path: Path, call: Any) -> list[Edge]:
        def enter(operation: Any, node: Any, known: dict[int, Edge]) -> list[Edge]:
            inside = (*path, id(node))
            if isinstance(operation, keras.Model) and runs_its_graph(operation):
                read = [known[id(tensor)] for tensor in tree.flatten(node.arguments.args[0])]
                return self._follow(operation, read, inside, call)
            found: list[Edge] = call(operation, node, known, inside)
            return found

        return evaluate(model, edges, enter)

    def _recording(self, operation: Any, node: Any, known: Mapping[int, Any], path: Path) -> list[Edge]:
        given: list[Any] = []
        found = run_with_masks(operation, node, dict(known), lambda _, node, mask, outputs: given.append(mask))
        # What is read as a mask is no input of the computation.
        as_masks = {id(x) for x in _masks_of(node)}
        read = [known[id(tensor)] for tensor in node.input_tensors if id(tensor) not in as_masks]
        kinds = {edge.kind for edge in read}
        self._check_read_as_vectors(operation, node, known, kinds - {HELD})
        edges = [Edge(tensor, mask, self._kind(operation, tensor, kinds)) for tensor, mask in found]
        masks = [*given, *(known[id(x)].tensor for x in _masks_of(node))]
        if VECTORS not in kinds and IDS in kinds and any(edge.kind == VECTORS for edge in edges):
            ids = known[id(node.input_tensors[0])].tensor
            edges = self._entered(operation, path, edges, ids, masks)
        if any(edge.kind == VECTORS for edge in edges):
            self._note_masks(masks)
        if VECTORS in kinds and self._lowest is None and isinstance(operation, RECURRENT):
            self._lowest, self._reader = path, operation
        self._recorded[path] = edges
        return edges

    def _note_masks(self, given: list[Any]) -> None:
        """Keeps the masks under which an operation reads the vectors."""
        for mask in tree.flatten(given):
            if mask is not None and tuple(mask.shape) == (self._count, self._steps):
                self._masks.append(np.asarray(ops.convert_to_numpy(mask), bool))

    def _check_read_as_vectors(self, operation: Any, node: Any, known: Mapping[int, Edge], kinds: set[str]) -> None:
        """Raises ValueError where an operation on the vectors also reads the ids, or counts made of masks."""
        if VECTORS not in kinds:
            return
        as_masks = {id(x) for x in _masks_of(node)}
        name = operation_name(operation)
        for tensor in node.input_tensors:
            kind = HELD if id(tensor) in as_masks else known[id(tensor)].kind
            per_step = self._steps in tuple(known[id(tensor)].tensor.shape[1:])
            as_weights = kind == MASK and name not in JOIN and (per_step or name in BY_COUNT)
            if kind in (IDS, MASK) and not as_weights:
                raise self._other_reader(made_by(tensor)[0], operation)

    def _other_reader(self, maker: Any, reader: Any) -> ValueError:
        return ValueError(
            "A sequence must enter a network as one vector for each step, so that steps can be taken away. Received: "
            f"{self._model.name}, in which {reader.name} also reads {maker.name} ({type(maker).__name__}), which is "
            "made of the sequence in another way, such as a count of its words or its length, and would stay. Make "
            "that an input of its own, and pass it with the sequence."
        )

    def _check_steps(self, rank: int) -> None:
        """Raises ValueError where the lowest recurrent layer takes its steps along another axis than the second."""
        if self._varies < 0 or rank < 3 or self._lowest is None:
            return
        noise, changed = np.random.default_rng(0).normal(size=self.inputs.shape[1:]), {}
        for axis in range(1, rank):
            size = self.inputs.shape[axis]
            places = np.unique(np.linspace(0, size - 1, PROBED).astype(int))
            places = np.resize(places, len(places) + len(places) % 2)  # rows may be read in pairs
            shape = [len(places), *(size if i == axis else 1 for i in range(1, rank))]
            rows = np.zeros(len(places), int)
            at_places = np.eye(size)[places].reshape(shape)
            self._outputs(ops.convert_to_tensor((self.inputs[rows] + at_places * noise).astype(self._dtype)), rows)
            with_change = as_float64(self._of_lowest)
            self._outputs(ops.convert_to_tensor(self.inputs[rows].astype(self._dtype)), rows)
            moved = (with_change != as_float64(self._of_lowest)).reshape(*with_change.shape[:2], -1).any(axis=-1)
            read = moved.any(axis=1)  # a network may drop steps, or features
            changed[axis] = float(moved[read].mean()) if read.any() else 0.0
        turned = [axis for axis, part in changed.items() if 0 < part <= 0.5 < 1 == changed[1]]
        if turned:
            operation = self._reader
            raise ValueError(
                "Steps must be along the second axis of the inputs. Received: inputs of shape "
                f"{self.inputs.shape[1:]} for each sequence, of which {operation.name} ({type(operation).__name__}) "
                f"takes axis {turned[0]} as its steps. Turn the inputs round, and pass the model of the layers after "
                "the one that does it, keras.Model(layer.output, model.output)."
            )

    def _kind(self, operation: Any, tensor: Any, kinds: set[str]) -> str:
        """The kind of an output, from those that the operation reads."""
        dtype = keras.backend.standardize_dtype(tensor.dtype)
        if VECTORS in kinds:
            return MASK if dtype == "bool" and operation_name(operation) in MASKS else VECTORS
        if IDS in kinds and dtype != "bool":
            vectors = "float" in dtype and (len(tensor.shape) > 2 or isinstance(operation, RECURRENT))
            return VECTORS if vectors else IDS
        if MASK in kinds or IDS in kinds:
            # What a trained layer makes of how many steps there are is a feature.
            per_step = self._steps in tuple(tensor.shape[1:])
            return IDS if getattr(operation, "weights", None) and not per_step else MASK
        return HELD

    def _entered(self, operation: Any, path: Path, edges: list[Edge], ids: Any, masks: list[Any]) -> list[Edge]:
        """Notes where the vectors of ids enter, which an operation reads under some masks."""
        if isinstance(operation, RECURRENT):
            size = vocabulary_of(getattr(operation, "forward_layer", operation).cell)
            read = np.ones(tuple(ids.shape[:2]), bool)
            for mask in tree.flatten(masks):
                read &= True if mask is None else np.asarray(ops.convert_to_numpy(mask), bool)
            ids = without_unread(ops.convert_to_numpy(ids), read)
            vectors = ops.one_hot(ops.reshape(ids, ids.shape[:2]), int(size or 0), dtype=operation.variable_dtype)
            self._sources.append(Source(path, True, tuple(vectors.shape[2:]), True))
            self._found.append(vectors)
            return edges
        vectors = edges[0].tensor
        recurrent = isinstance(operation, keras.Layer) and any(isinstance(x, RECURRENT) for x in walk_layers(operation))
        if len(edges) > 1 or vectors.shape[1] != self._steps or recurrent:
            raise ValueError(
                "A layer must make vectors (batch, time, features) of the ids, and nothing else. Received: "
                f"{operation.name} ({type(operation).__name__}). Make the Embedding a layer of the model."
            )
        are_symbols = operation_name(operation) == "OneHot" and self._reads_distributions
        self._sources.append(Source(path, False, tuple(vectors.shape[2:]), are_symbols))
        self._found.append(vectors)
        return edges


class _End(NamedTuple):
    """Where a model makes its probabilities of logits, by which activation, and the logits from what it reads there."""

    path: Path
    activation: str
    logits: Callable[[Tensor], Tensor]


def _end(model: keras.Model) -> _End | None:
    tensor = model.outputs[0]
    path: Path = ()
    while True:
        operation, node = made_by(tensor)
        if isinstance(operation, keras.Model) and runs_its_graph(operation):
            path, tensor = (*path, id(node)), operation.outputs[place_of(tensor, node.output_tensors)]
        elif (type(operation) in IDENTITIES or operation_name(operation) in RESHAPING) and node.input_tensors:
            tensor = node.input_tensors[0]
        else:
            break
    activation = probabilities_by(operation)
    return None if activation is None else _End((*path, id(node)), activation, functools.partial(logits_by, operation))


def _masks_of(node: Any) -> list[Any]:
    """The tensors that a call reads as masks."""
    call = inspect.signature(node.operation.call).bind(*node.arguments.args, **node.arguments.kwargs)
    given = [x for name, x in call.arguments.items() if name.endswith("mask")]
    return [x for x in tree.flatten(given) if isinstance(x, keras.KerasTensor)]


def _check(model: keras.Model, recurrent: bool) -> None:
    if recurrent and not any(isinstance(layer, RECURRENT) for layer in walk_layers(model)):
        raise without_recurrent_layer(model)
    if len(model.outputs) != 1:
        raise ValueError(
            f"A model must have one output. Received: {model.name}, with {len(model.outputs)}. Pass "
            "keras.Model(model.inputs, model.outputs[i])."
        )
    check_repeatable(model)


def steps_read(reading: Reading, step: int = -1) -> NDArray[np.bool_]:
    """The steps (batch, time) that a network reads: all but those that its own masks take from all that read them.

    All of a network that `Whole` refuses, as one that counts its ids: it reads masked steps too.
    """
    masks = masks_of(reading)
    read = np.ones(np.shape(reading.arrays[reading.varies])[:2], bool)
    if any(not mask.all() for mask in masks):
        with contextlib.suppress(ValueError):
            network, arrays = reading.network, reading.arrays
            read = Whole(network, arrays, reading.varies, step, own=reading.own, recurrent=False).mask
    return read


def masks_of(reading: Reading) -> list[NDArray[np.bool_]]:
    """The masks (batch, time) under which the layers and operations of a network read some sequences.

    Raises:
        ValueError: if part of the network is no graph, so that its masks are not known.
    """
    network, shape, found = reading.network, np.shape(reading.arrays[reading.varies])[:2], []

    def note(operation: Any, node: Any, mask: Any, outputs: list[Masked]) -> None:
        for each in tree.flatten(mask):
            if each is not None and tuple(each.shape) == shape:
                found.append(np.asarray(ops.convert_to_numpy(each), bool))

    def call(operation: Any, node: Any, known: dict[int, Masked]) -> list[Masked]:
        if isinstance(operation, keras.Model) and not getattr(operation, "inputs", None):
            raise ValueError(f"A network must be a graph for its masks to be known. Received: {operation.name}.")
        return run_with_masks(operation, node, known, note)

    arrays = [in_rank(np.asarray(x), tensor) for x, tensor in zip(reading.arrays, network.inputs, strict=True)]
    values = [Masked(ops.cast(x, tensor.dtype)) for x, tensor in zip(arrays, network.inputs, strict=True)]
    evaluate(network, values, call)
    return found


class Reading(NamedTuple):
    """A network that reads numbers, and what it reads.

    Attributes:
        network: Sequential or functional, or a layer; of a model of strings what comes after its text layers.
        arrays: for each of its inputs. varies: the index of the one whose steps are taken away.
        names: of the ids of that one. own: the network that was given, if `network` was made of it; else None.
    """

    network: Any
    arrays: list[Any]
    varies: int
    names: Names | None
    own: Callable[[list[NDArray[Any]]], Any] | None

    def as_read(self, arrays: Sequence[Any]) -> Any:
        """Several inputs in the list or the dict that the network reads."""
        return tree.pack_sequence_as(self.network.input, list(arrays))


def as_model(layer: keras.layers.Layer, inputs: Any, mask: ArrayLike | None = None) -> tuple[keras.Model, list[Any]]:
    """A model of a layer, and its inputs: those of the layer, and its mask where there is one."""
    given = [as_array("The inputs", inputs)]
    given += [] if mask is None else [as_mask(mask, given[0].shape[:2])]
    x, *of_mask = (keras.Input(array.shape[1:], dtype=str(array.dtype)) for array in given)
    return keras.Model([x, *of_mask], layer(x, **dict(zip(["mask"], of_mask, strict=False)))), given


def read_inputs(
    network: Any, inputs: Any, alphabet: GivenNames | None = None, varies: int | str | None = None
) -> Reading:
    """A network and its inputs, texts as ids.

    Args:
        inputs: (batch, time, ...), texts, or a list or a dict of them, as the network reads them.
        varies: the index or the name of the input whose steps are taken away; None as `input_index`.

    Raises:
        ValueError: if the inputs are not those of the network; if a subclass cannot be called on symbolic inputs.
    """
    own = None
    if isinstance(network, keras.Model) and not runs_its_graph(network) and not isinstance(network, keras.Sequential):
        if text_layer(network) is not None:
            network = with_strings(network, inputs if is_text(inputs) or are_several(inputs) else None)
        else:
            inputs = inputs if are_several(inputs) else read_texts(inputs, resolve_names(network, alphabet)[1])
            network, own = _with_graph(network, inputs)
    index, given = input_index(network, varies), listed_inputs(network, inputs)
    given = [read_strings(network, i, array) if i != index else array for i, array in enumerate(given)]
    network, names = resolve_names(network, alphabet, index)
    array = as_array("The inputs", read_texts(given[index], names))
    given[index] = array.astype(np.int64) if array.dtype == bool and array.ndim < 3 else array
    if isinstance(network, keras.Sequential) and not hasattr(network, "inputs"):
        network(as_sequences(given[index]))  # which has a graph from now on
    return Reading(network, given, index, names, own)


def _with_graph(model: keras.Model, inputs: Any) -> tuple[keras.Model, Callable[[list[NDArray[Any]]], Any]]:
    """A functional model of the layers of a subclass, and the subclass as a function of arrays."""
    several = are_several(inputs)
    arrays = tree.map_structure(lambda x: as_array("The inputs", x), inputs) if several else as_array("Inputs", inputs)
    training = {"training": False} if takes_training(model) else {}

    def own(given: list[NDArray[Any]]) -> Any:
        return model(tree.pack_sequence_as(arrays, given), **training)

    own(tree.flatten(arrays))  # creates its weights
    symbolic = tree.map_structure(lambda x: keras.Input(x.shape[1:], dtype=str(x.dtype)), arrays)
    graph = traced(model, symbolic)
    if graph is None:
        raise ValueError(
            f"The call of a model must be layers and operations of Keras. Received: {model.name}, an "
            f"{type(model).__name__}. Build a Sequential or functional model of its layers."
        )
    return graph, own


def are_several(inputs: Any, model: Any = None) -> bool:
    """Whether these are several inputs of a model, not one array or nested lists."""
    if isinstance(inputs, Mapping):
        return True
    if not isinstance(inputs, list | tuple) or not inputs:
        return False
    if len(getattr(model, "inputs", None) or []) > 1:
        return True
    texts = [is_text(part) for part in inputs]
    return any(getattr(part, "ndim", 0) > 1 for part in inputs) or (any(texts) and not is_text(inputs))


def one_row(model: Any, inputs: Any) -> Any:
    """Several inputs of a model for one text as a batch of one.

    Args:
        inputs: a list, or a dict by their names: texts as strings or lists of symbols, ids, and numbers, with or
            without an axis of 1 for the batch.

    Raises:
        ValueError: if there is more than one row of an input.
    """
    tensors = list(getattr(model, "inputs", None) or [])
    names = _names_of_inputs(model) if tensors and isinstance(inputs, Mapping) else range(len(tensors))
    ranks = {name: len(tensor.shape) for name, tensor in zip(names, tensors, strict=True)}

    def row(key: Any, given: Any) -> Any:
        given = as_strings(given)
        if is_text(given):
            nested = np.asarray(given, object)
            if nested.size == 1:
                return nested.item()
            rows: Any = [list(given)] if nested.ndim == 1 else list(given)
        else:
            rows = as_array("An input", given)
            while rows.ndim < ranks.get(key, 2):
                rows = rows[None]
        if len(rows) != 1:
            raise ValueError(
                f"One text must come with one row of each other input. Received: {len(rows)} rows. Pass one of them."
            )
        return rows

    if isinstance(inputs, Mapping):
        return {key: row(key, given) for key, given in inputs.items()}
    return [row(i, given) for i, given in enumerate(inputs)]


def listed_inputs(model: Any, inputs: Any) -> list[Any]:
    """An array for each input of a model, in the order of `model.inputs`.

    Raises:
        ValueError: if there are not as many.
    """
    expected = list(getattr(model, "inputs", None) or [None])
    named = isinstance(inputs, Mapping)
    if len(expected) == 1 and not named:
        return [inputs]
    names = _names_of_inputs(model)
    if named and set(inputs) == set(names):
        return [inputs[name] for name in names]
    if isinstance(inputs, list | tuple) and len(inputs) == len(expected):
        return list(inputs)
    if len(expected) == 1:
        return [as_array("The inputs", inputs)]  # raises ValueError with the shape to pass
    raise ValueError(
        f"The inputs must be one array for each of the model's inputs {', '.join(names)}. Received: "
        f"{type(inputs).__name__} of {len(inputs)}. Pass a list, or a dict by these names."
    )


def _names_of_inputs(model: Any) -> list[str]:
    """The names of a model's inputs: the keys of a dict of them, or their own."""
    structure = getattr(model, "input", None) if not isinstance(model, keras.Sequential) else None
    if isinstance(structure, dict) and not any(tree.is_nested(part) for part in structure.values()):
        by_id = {id(tensor): str(name) for name, tensor in structure.items()}
        return [by_id[id(tensor)] for tensor in model.inputs]
    return [getattr(tensor, "name", "") for tensor in getattr(model, "inputs", None) or [None]]


def input_index(model: Any, chosen: int | str | None = None) -> int:
    """The index of an input of a model, given by its index or its name.

    None for the one that is read as steps, which are ids, words of a text or vectors; of several in a list the first.

    Raises:
        ValueError: if there is no such input; for None, if not exactly one of a dict is read as steps.
    """
    names = _names_of_inputs(model)
    if chosen is None:
        if len(names) < 2:
            return 0
        steps = [i for i, of_steps in enumerate(_are_steps(model)) if of_steps]
        if len(steps) == 1 or not isinstance(model.input, dict):
            return steps[0] if steps else 0
        read = ", ".join(names[i] for i in steps) or "none"
        raise ValueError(
            "One input must be the one whose steps are looked at. Received: a dict of "
            f"{', '.join(names)}, of which {read} {'is' if not steps else 'are'} read as steps. Pass its name as "
            "with_respect_to."
        )
    if is_integer(chosen):
        return integer("with_respect_to", chosen, 0, below=len(names))
    if chosen not in names:
        raise invalid("with_respect_to", f"an input of the model, by its index or its name: {', '.join(names)}", chosen)
    return names.index(chosen)


def _are_steps(model: Any) -> list[bool]:
    """For each input whether it is read as steps: vectors (batch, time, features), ids, or texts."""
    sizes = vocabulary_sizes(model)
    words = keras.layers.TextVectorization
    texts = {i for i, (layer, _) in text_layers(model).items() if isinstance(layer, words)}
    found = []
    for i, (tensor, size) in enumerate(zip(model.inputs, sizes, strict=True)):
        dtype, shape = str(tensor.dtype), tuple(tensor.shape)
        are_ids = size is not None or "int" in dtype or dtype == "string"
        found.append(len(shape) > 2 or i in texts or (are_ids and shape[1:] not in ((), (1,))))
    return found
