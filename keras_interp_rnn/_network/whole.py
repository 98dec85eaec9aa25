"""A model of any graph as a function of the vectors of one of its inputs, run and differentiated by Keras.

The vectors are that input, or what an Embedding, a one-hot encoding or an ISAN makes of its ids. They alone vary: other
inputs, ids and masks are those of the original sequences. The graph is followed operation by operation, nested models
too, each in its own dtype. A model without a graph is called on symbolic inputs to get one; if that fails, it is one
operation of its inputs.
"""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import keras
import numpy as np
from keras import ops, tree
from numpy.typing import NDArray

from keras_interp_rnn import _backend
from keras_interp_rnn._backend.keras_quirks import operation_name, walk_layers
from keras_interp_rnn._checks import integer, invalid, is_integer
from keras_interp_rnn._network.along import vocabulary_of
from keras_interp_rnn._network.arrays import as_array, as_float64, at_step, check_finite, check_id_range
from keras_interp_rnn._network.chain import Rows, check_repeatable, without_recurrent_layer
from keras_interp_rnn._network.graph import evaluate, run_with_masks, vocabulary_sizes
from keras_interp_rnn._network.isan_models import runs_its_graph
from keras_interp_rnn._network.recurrent import RECURRENT
from keras_interp_rnn._types import Array, Tensor

Path = tuple[int, ...]
"""The nodes of the calls of nested models, and the node of an operation in the innermost one."""

HELD, IDS, VECTORS = "held", "ids", "vectors"
"""Whether a tensor is that of the original sequences, also where it holds the ids, or is computed from the vectors."""

MASKS = ("NotEqual", "Any")
"""Operations by which Keras makes masks."""


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

    Raises:
        ValueError: if it has no recurrent layer or several outputs, carries states or draws noise; if an input or a
            weight is not finite; if ids are read by an operation that computes more than their vectors.
    """

    def __init__(self, model: keras.Model, inputs: Sequence[Any], varies: int = 0, step: int = -1) -> None:
        _check(model)
        arrays = [as_array("The inputs", array) for array in inputs]
        sizes = vocabulary_sizes(model)
        for array, size in zip(arrays, sizes, strict=True):
            if not np.isfinite(array.astype(np.float64)).all():
                raise ValueError("The inputs must be finite. Received: NaN or infinity. Remove those sequences.")
            if size is not None:
                check_id_range(array, size)
        check_finite(model)
        self._model, self._step = model, step
        values = [
            ops.cast(ops.convert_to_tensor(array), tensor.dtype)
            for array, tensor in zip(arrays, model.inputs, strict=True)
        ]
        sequential = isinstance(model, keras.Sequential)
        own = model(values[0] if sequential else tree.pack_sequence_as(model.input, values), training=False)
        self.output = at_step(model, as_float64(own), step)
        given = arrays[varies]
        self._steps = given.shape[1] if given.ndim > 1 else 1
        reads_ids = sizes[varies] is not None or given.dtype.kind != "f"
        self._varies, self._starts = -1 if reads_ids else varies, values  # -1: the vectors of ids vary
        self._sources: list[Source] = []
        self._found: list[Any] = []
        self._recorded: dict[Path, list[Edge]] = {}
        self._record([IDS if i == varies and reads_ids else HELD for i in range(len(values))])
        self.inputs = given.astype(np.float64) if not reads_ids else self._joined()
        self.mask = np.ones((len(given), self._steps), bool)
        if not np.allclose(self.run(self.inputs, np.arange(len(given))), self.output, rtol=1e-2, atol=1e-2):
            raise ValueError(
                f"A model's graph must compute what the model does. Received: {model.name}, whose outputs differ. "
                "Build it of layers and operations of Keras that draw no noise."
            )

    def run(self, x: Array, rows: Rows) -> Array:
        """(rows, outputs) for vectors (rows, time, ...), each in place of those of a sequence."""
        return as_float64(self._outputs(ops.convert_to_tensor(x.astype(self._dtype)), rows))

    def gradient(self, x: Array, rows: Rows, outputs: NDArray[np.int64]) -> Array:
        """The gradient of one output of each row by the row."""

        def chosen(x: Tensor) -> Tensor:
            found = self._outputs(x, rows)
            weights = (np.arange(found.shape[-1]) == outputs[:, None]).astype("float32")
            return ops.sum(ops.cast(found, "float32") * weights)

        return np.asarray(_backend.gradient(chosen, x.astype(self._dtype)), np.float64)

    @property
    def reads_symbols(self) -> bool:
        return bool(self._sources) and all(source.replaces_ids for source in self._sources)

    @property
    def _dtype(self) -> str:
        tensor = self._found[0] if self._sources else self._starts[self._varies]
        return str(keras.backend.standardize_dtype(tensor.dtype))

    def _joined(self) -> Array:
        """The vectors of all sources side by side."""
        if not self._sources:
            raise ValueError(
                f"A layer must make vectors (batch, time, features) of the ids. Received: {self._model.name}, in which "
                "no layer does so by itself. Make the Embedding a layer of the model."
            )
        arrays = [as_float64(tensor) for tensor in self._found]
        if len(arrays) == 1:
            return arrays[0]
        return np.concatenate([array.reshape(*array.shape[:2], -1) for array in arrays], axis=-1)

    def _record(self, kinds: list[str]) -> None:
        """Runs the graph on the original sequences."""
        vectors = [VECTORS if i == self._varies else kind for i, kind in enumerate(kinds)]
        edges = [Edge(value, None, kind) for value, kind in zip(self._starts, vectors, strict=True)]
        self._follow(self._model, edges, (), self._recording)

    def _outputs(self, x: Tensor, rows: Rows) -> Tensor:
        """(rows, outputs), as a tensor."""

        def repeated(tensor: Any) -> Any:
            """A tensor of the original sequences for the rows."""
            return None if tensor is None else ops.take(tensor, rows, axis=0)

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

        def call(operation: Any, node: Any, known: Mapping[int, Edge], path: Path) -> list[Edge]:
            recorded = self._recorded[path]
            if path in given and path not in replaced:
                return [Edge(given[path], repeated(recorded[0].mask), VECTORS)]
            if all(edge.kind != VECTORS for edge in recorded):
                return [Edge(repeated(tensor), repeated(mask), kind) for tensor, mask, kind in recorded]
            read = dict(known)
            if path in given:
                ids = node.input_tensors[0]
                read[id(ids)] = read[id(ids)]._replace(tensor=given[path])
            tensors = _run(operation, node, read)
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
        kinds = {known[id(tensor)].kind for tensor in node.input_tensors}
        found = run_with_masks(operation, node, dict(known))
        edges = [Edge(tensor, mask, self._kind(operation, tensor, kinds)) for tensor, mask in found]
        if VECTORS not in kinds and IDS in kinds and any(edge.kind == VECTORS for edge in edges):
            ids = known[id(node.input_tensors[0])].tensor
            edges = self._entered(operation, path, edges, ids)
        self._recorded[path] = edges
        return edges

    def _kind(self, operation: Any, tensor: Any, kinds: set[str]) -> str:
        """The kind of an output, from those that the operation reads."""
        dtype = keras.backend.standardize_dtype(tensor.dtype)
        if VECTORS in kinds:
            return HELD if dtype == "bool" and operation_name(operation) in MASKS else VECTORS
        if IDS not in kinds or dtype == "bool":
            return HELD
        vectors = "float" in dtype and (len(tensor.shape) > 2 or isinstance(operation, RECURRENT))
        return VECTORS if vectors else IDS

    def _entered(self, operation: Any, path: Path, edges: list[Edge], ids: Any) -> list[Edge]:
        """Notes where the vectors of ids enter."""
        if isinstance(operation, RECURRENT):
            size = vocabulary_of(getattr(operation, "forward_layer", operation).cell)
            vectors = ops.one_hot(ops.reshape(ids, ids.shape[:2]), int(size or 0), dtype=operation.variable_dtype)
            self._sources.append(Source(path, True, tuple(vectors.shape[2:])))
            self._found.append(vectors)
            return edges
        vectors = edges[0].tensor
        recurrent = isinstance(operation, keras.Layer) and any(isinstance(x, RECURRENT) for x in walk_layers(operation))
        if len(edges) > 1 or vectors.shape[1] != self._steps or recurrent:
            raise ValueError(
                "A layer must make vectors (batch, time, features) of the ids, and nothing else. Received: "
                f"{operation.name} ({type(operation).__name__}). Make the Embedding a layer of the model."
            )
        self._sources.append(Source(path, operation_name(operation) == "OneHot", tuple(vectors.shape[2:])))
        self._found.append(vectors)
        return edges


def _run(operation: Any, node: Any, known: Mapping[int, Edge]) -> list[Tensor]:
    """The outputs of an operation under the masks of the original sequences."""
    args, kwargs = node.arguments.fill_in({id(tensor): known[id(tensor)].tensor for tensor in node.input_tensors})
    first = node.arguments.args[0] if node.arguments.args else None
    mask = known[id(first)].mask if id(first) in known else None
    takes_mask = isinstance(operation, keras.Layer) and "mask" in inspect.signature(operation.call).parameters
    if takes_mask and mask is not None and kwargs.get("mask") is None:
        kwargs = {**kwargs, "mask": mask}
    tensors: list[Tensor] = tree.flatten(operation(*args, **kwargs))
    return tensors


def _check(model: keras.Model) -> None:
    if not any(isinstance(layer, RECURRENT) for layer in walk_layers(model)):
        raise without_recurrent_layer(model)
    if len(model.outputs) != 1:
        raise ValueError(
            f"A model must have one output. Received: {model.name}, with {len(model.outputs)}. Pass "
            "keras.Model(model.inputs, model.outputs[i])."
        )
    check_repeatable(model)


def with_graph(model: Any, inputs: Any) -> Any:
    """A model whose graph is known, of the same layers: for a subclass a functional one.

    Args:
        model: any network; only subclasses of `keras.Model` with a call of their own are replaced.
        inputs: an array, or a list or a dict of arrays, as the model reads them.

    Raises:
        ValueError: if a subclass cannot be called on symbolic inputs.
    """
    if not isinstance(model, keras.Model) or runs_its_graph(model) or isinstance(model, keras.Sequential):
        return model
    arrays = tree.map_structure(np.asarray, inputs) if _are_several(inputs) else np.asarray(inputs)
    model(arrays)  # creates its weights
    symbolic = tree.map_structure(
        lambda x: keras.Input(x.shape[1:], dtype="int32" if x.dtype.kind in "iu" else keras.config.floatx()), arrays
    )
    training = {"training": False} if "training" in inspect.signature(model.call).parameters else {}
    for call in (model.call, model):
        with contextlib.suppress(Exception):  # whatever a call raises that is no graph
            return keras.Model(symbolic, call(symbolic, **training), name=model.name)
    raise ValueError(
        f"The call of a model must be layers and operations of Keras. Received: {model.name}, an "
        f"{type(model).__name__}. Build a Sequential or functional model of its layers."
    )


def _are_several(inputs: Any) -> bool:
    return isinstance(inputs, Mapping) or (
        isinstance(inputs, list | tuple) and len(inputs) > 0 and hasattr(inputs[0], "shape") and inputs[0].ndim > 1
    )


def listed_inputs(model: Any, inputs: Any) -> list[Any]:
    """An array for each input of a model, in the order of `model.inputs`.

    Raises:
        ValueError: if there are not as many.
    """
    expected = list(getattr(model, "inputs", None) or [None])
    if len(expected) == 1 and not isinstance(inputs, Mapping):
        return [inputs]
    names = [tensor.name for tensor in expected]
    if isinstance(inputs, Mapping) and set(inputs) == set(names):
        return [inputs[name] for name in names]
    if isinstance(inputs, list | tuple) and len(inputs) == len(expected):
        return list(inputs)
    raise ValueError(
        f"The inputs must be one array for each of the model's inputs {', '.join(names)}. Received: "
        f"{type(inputs).__name__} of {len(inputs)}. Pass a list, or a dict by these names."
    )


def input_index(model: Any, chosen: int | str) -> int:
    """The index of an input of a model, given by its index or its name."""
    names = [getattr(tensor, "name", "") for tensor in getattr(model, "inputs", None) or [None]]
    if is_integer(chosen):
        return integer("with_respect_to", chosen, 0, below=len(names))
    if chosen not in names:
        raise invalid("with_respect_to", f"an input of the model, by its index or its name: {', '.join(names)}", chosen)
    return names.index(chosen)
