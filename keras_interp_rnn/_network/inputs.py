"""The inputs of a network as users pass them: one array or several, ids or texts, and which of them has the steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import keras
import numpy as np
from keras import ops, tree
from numpy.typing import ArrayLike

from keras_interp_rnn._alphabet import Alphabet
from keras_interp_rnn._arrays import as_array, as_mask, as_sequences, in_rank, is_float
from keras_interp_rnn._checks import integer, invalid, is_integer
from keras_interp_rnn._network.interface import vocabulary_sizes
from keras_interp_rnn._network.text_layers import (
    as_strings,
    is_text,
    read_strings,
    text_layer,
    text_layers,
    with_strings,
)
from keras_interp_rnn._network.texts import GivenAlphabet, read_texts, resolve_alphabet
from keras_interp_rnn._program.graph import inputs_of, runs_its_graph, takes_training, traced
from keras_interp_rnn._types import AnyArray


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
    names: Alphabet | None
    own: Callable[[list[AnyArray]], Any] | None

    def as_read(self, arrays: Sequence[object]) -> Any:
        """Several inputs in the list or the dict that the network reads."""
        return tree.pack_sequence_as(self.network.input, list(arrays))


def as_declared(given: AnyArray, tensor: Any) -> AnyArray:
    """An input as the model reads it, in the rank and the dtype of its tensor; floats as float64."""
    x = ops.convert_to_numpy(ops.cast(ops.convert_to_tensor(in_rank(given, tensor)), tensor.dtype))
    if not is_float(x):
        return np.asarray(x)
    return np.asarray(x, np.float64)


def as_model(layer: keras.layers.Layer, inputs: object, mask: ArrayLike | None = None) -> tuple[keras.Model, list[Any]]:
    """A model of a layer, and its inputs: those of the layer, and its mask where there is one."""
    given = [as_array("The inputs", inputs)]
    given += [] if mask is None else [as_mask(mask, given[0].shape[:2])]
    x, *of_mask = (keras.Input(array.shape[1:], dtype=str(array.dtype)) for array in given)
    return keras.Model([x, *of_mask], layer(x, **dict(zip(["mask"], of_mask, strict=False)))), given


def read_inputs(
    network: object, inputs: object, alphabet: GivenAlphabet | None = None, varies: int | str | None = None
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
            inputs = inputs if are_several(inputs) else read_texts(inputs, resolve_alphabet(network, alphabet)[1])
            network, own = _with_graph(network, inputs)
    index, given = input_index(network, varies), listed_inputs(network, inputs)
    given = [read_strings(network, i, array) if i != index else array for i, array in enumerate(given)]
    network, names = resolve_alphabet(network, alphabet, index)
    array = as_array("The inputs", read_texts(given[index], names))
    given[index] = array.astype(np.int64) if array.dtype == bool and array.ndim < 3 else array
    if isinstance(network, keras.Sequential) and not inputs_of(network):
        network(as_sequences(given[index]))  # which has a graph from now on
    return Reading(network, given, index, names, own)


def _with_graph(model: keras.Model, inputs: object) -> tuple[keras.Model, Callable[[list[AnyArray]], Any]]:
    """A functional model of the layers of a subclass, and the subclass as a function of arrays."""
    several = are_several(inputs)
    arrays = tree.map_structure(lambda x: as_array("The inputs", x), inputs) if several else as_array("Inputs", inputs)
    training = {"training": False} if takes_training(model) else {}

    def own(given: list[AnyArray]) -> Any:
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


def are_several(inputs: object, model: object = None) -> bool:
    """Whether these are several inputs of a model, not one array or nested lists."""
    if isinstance(inputs, Mapping):
        return True
    if not isinstance(inputs, list | tuple) or not inputs:
        return False
    if len(inputs_of(model)) > 1:
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
    tensors = inputs_of(model)
    names = _names_of_inputs(model) if tensors and isinstance(inputs, Mapping) else range(len(tensors))
    ranks = {name: len(tensor.shape) for name, tensor in zip(names, tensors, strict=True)}

    def row(key: object, given: Any) -> Any:
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
    expected = inputs_of(model) or [None]
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
    return [tensor.name for tensor in inputs_of(model)] or [""]


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
