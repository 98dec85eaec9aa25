"""The layers of Keras that make ids of strings: the model after them, their alphabet, and the ids that they make."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any

import keras
import numpy as np
from keras import ops, tree
from numpy.typing import NDArray

from keras_interp_rnn._alphabet import PADDING, Alphabet, distinct_names
from keras_interp_rnn._arrays import as_float64
from keras_interp_rnn._backend.keras_quirks import nodes_of, walk_layers
from keras_interp_rnn._program import operations as o
from keras_interp_rnn._program.graph import functional, inputs_of, runs_its_graph, takes_training, traced
from keras_interp_rnn._program.read import read

TEXT_LAYERS = (keras.layers.TextVectorization, keras.layers.StringLookup)


class TextLayerAlphabet(Alphabet):
    """The alphabet of a `TextVectorization` or a `StringLookup`, which makes the ids of texts itself."""

    _layer: Any
    _num_special: int

    def __init__(self, layer: Any) -> None:
        mode = layer.get_config()["output_mode"]
        if layer.get_config().get("invert", False):
            raise ValueError(
                f"A text layer must make ids of texts. Received: {layer.name} with invert=True. Pass the layer that "
                "made the ids."
            )
        if mode != "int":
            raise ValueError(
                f"A text layer must make ids of texts. Received: {layer.name} with output_mode={mode!r}. Make it with "
                "output_mode='int'."
            )
        splits = isinstance(layer, keras.layers.TextVectorization)
        unknown = 1 if splits else layer.num_oov_indices
        pads = splits or layer.mask_token is not None
        names = distinct_names([PADDING if i == 0 and pads else name for i, name in enumerate(layer.get_vocabulary())])
        vars(self).update(_layer=layer, _num_special=pads + unknown)
        super().__init__(
            names,
            padding=names[0] if pads else None,
            unknown=names[int(pads)] if unknown else None,
            split=(lambda text: [names[i] for i in self.encode(text)]) if splits else None,
        )

    @property
    def ordinary(self) -> tuple[Any, ...]:
        return tuple(self.symbols)[self._num_special :]

    def encode(self, text: Any, *, end: bool = True) -> NDArray[np.int32]:
        if self.split is None:
            return super().encode(text)
        words = [text] if isinstance(text, str) else [*text]
        blank = {"character": "", "whitespace": " "}.get(str(self._layer.get_config()["split"]))
        whole = blank is None or any(blank in word if blank else len(word) != 1 for word in words)
        if len(words) > 1 and whole:
            raise ValueError(
                "A text must be a string, or a list of its words. Received: a list of "
                f"{len(words)} strings, of which some have several words. Pass one of them, or all in one string."
            )
        row: NDArray[np.int32] = self._ids([str(blank).join(words)])[0]
        return row

    def ids_of(self, symbols: object) -> NDArray[np.int32]:
        given = [*self._symbols_of(symbols)]
        hashes = self.split is None and self.unknown is not None and given
        return self._ids(given) if hashes else super().ids_of(given)

    def _ids(self, texts: list[Any]) -> NDArray[np.int32]:
        """The ids (texts, time), or of single strings (texts,), that the layer makes."""
        ids = np.asarray(ops.convert_to_numpy(self._layer(np.array(texts, object))), np.int32)
        return ids[:, None] if self.split is not None and ids.ndim == 1 else ids


def text_layer(network: object) -> Any | None:
    """The first layer of a model that makes ids of strings."""
    layers = getattr(network, "layers", []) if isinstance(network, keras.Model) else []
    return next((part for part in layers if isinstance(part, TEXT_LAYERS) and not getattr(part, "invert", False)), None)


def after_text_layers(network: object, reads: int) -> tuple[Any, Any]:
    """A model from its ids on, and the text layer that made those of one of its inputs; None where it reads ids.

    Args:
        reads: the index of the input.

    Raises:
        ValueError: for a model of strings that is no graph from its text layers on.
    """
    if text_layer(network) is None:
        _check_no_strings(network)
        return network, None
    if isinstance(network, keras.Sequential) and network.layers[0] is text_layer(network):
        ids = keras.Input((None,), dtype="int32")
        return keras.Sequential([ids, *network.layers[1:]], name=network.name), network.layers[0]
    network = with_strings(network)
    layers = text_layers(network)
    return _after(network, layers) if layers else network, layers.get(reads, (None,))[0]


def _check_no_strings(network: keras.Layer) -> None:
    """Raises ValueError for a model of strings whose text layer is in a model in it, where no ids can be put in."""
    if not any(str(tensor.dtype) == "string" for tensor in inputs_of(network)):
        return
    inside = next((part for part in walk_layers(network) if isinstance(part, TEXT_LAYERS)), None)
    if inside is not None:
        raise ValueError(
            "A text layer must be a layer of the model itself. Received: "
            f"{network.name}, whose {inside.name} is in a model in it. Build the model of the layers after it, and "
            "pass ids, and the text layer as alphabet."
        )


def with_strings(network: Any, inputs: Any = None) -> Any:
    """A model of strings whose graph is known, of the same layers: for a subclass a functional one.

    Args:
        inputs: as the model reads them, texts or a list or a dict with some; None for texts (batch, 1).

    Raises:
        ValueError: if a subclass cannot be called on symbolic strings.
    """
    if runs_its_graph(network) or isinstance(network, keras.Sequential):
        return network
    given = "" if inputs is None else as_strings(inputs)
    parts = [given] if is_text(given) else list(given.values() if isinstance(given, Mapping) else given)
    training = {"training": False} if takes_training(network) else {}
    for shape in ((1,), ()):
        with contextlib.suppress(Exception):  # whatever a call raises of strings of another shape
            tensors: Any = [_string_tensor(x, shape) if is_text(x) else ops.convert_to_tensor(x) for x in parts]
            if is_text(given):
                [tensors] = tensors
            elif isinstance(given, Mapping):
                tensors = dict(zip(given, tensors, strict=True))
            expected = tree.flatten(network(tensors, **training))
            graph = traced(network, tree.map_structure(_input_like, tensors))
            found = [] if graph is None else tree.flatten(graph(tensors, training=False))
            pairs = [(as_float64(a), as_float64(b)) for a, b in zip(found, expected, strict=True)]
            if all(np.allclose(a, b, rtol=1e-4, atol=1e-6 * np.abs(b).max(), equal_nan=True) for a, b in pairs):
                return graph
    raise ValueError(
        "A model of strings must be layers and operations of Keras from its text layer on. Received: "
        f"{network.name}, a {type(network).__name__}. Build a Sequential or functional model of its layers; or one of "
        "those after the text layer, and pass ids, and the text layer as alphabet."
    )


def _input_like(tensor: Any) -> Any:
    return keras.Input(tuple(tensor.shape[1:]), dtype=keras.backend.standardize_dtype(tensor.dtype))


def _string_tensor(texts: object, shape: tuple[int, ...]) -> Any:
    """Texts as a tensor of strings (batch,) or (batch, 1)."""
    texts = [texts] if isinstance(texts, str) else as_strings(texts)
    if any(isinstance(text, list | tuple) for text in texts) and len(set(map(len, texts))) > 1:  # lists of words
        texts = [" ".join(text) for text in texts]
    flat = np.asarray(texts, object).ravel().tolist()
    rows = len(flat) if None in shape else len(flat) // int(np.prod(shape))
    return ops.reshape(ops.convert_to_tensor(flat, dtype="string"), (rows, *(-1 if n is None else n for n in shape)))


def text_layers(network: Any) -> dict[int, tuple[Any, Any]]:
    """For each input of strings, by its index, the layer that makes ids of it, and the ids as a tensor of the graph.

    Raises:
        ValueError: if something else reads the strings.
    """
    found: dict[int, tuple[Any, Any]] = {}
    program = read(network)
    strings = {value: i for i, value in enumerate(program.inputs) if value.dtype == "string"}
    for operation in program.operations:
        index = next((strings[value] for value in operation.reads if value in strings), None)
        if index is None:
            continue
        if isinstance(operation, o.Reshape):
            strings[operation.makes[0]] = index
            continue
        nested = isinstance(operation, o.Opaque) and len(operation.place) > 1
        if nested or not isinstance(operation.layer, TEXT_LAYERS) or index in found:
            raise ValueError(
                "A text must be read by one layer alone, which makes ids of it. Received: "
                f"{network.name}, in which {operation.name} ({type(operation.layer).__name__}) reads it too. Pass the "
                "model of the layers after those that read strings, and ids."
            )
        assert isinstance(operation, o.Opaque)
        found[index] = operation.layer, nodes_of(operation.layer)[operation.place[-1]].output_tensors[0]
    return found


def _after(network: Any, layers: Mapping[int, tuple[object, object]]) -> Any:
    """The model of ids after its text layers, of the same layers."""
    inputs = [layers[i][1] if i in layers else tensor for i, tensor in enumerate(network.inputs)]
    structure = network.input if len(inputs) > 1 or isinstance(network.input, dict) else network.inputs[0]
    return functional(tree.pack_sequence_as(structure, inputs), network.outputs, network.name)


def read_strings(network: Any, index: int, given: Any) -> Any:
    """The ids that the text layer of one of a model's inputs makes of texts; numbers as they are."""
    given = as_strings(given)
    if not is_text(given):
        return given
    layer, _ = text_layers(network).get(index, (None, None)) if isinstance(network, keras.Model) else (None, None)
    if layer is None:
        raise ValueError(
            f"Texts must be read by a text layer. Received: texts for input {index + 1} (index {index}) of "
            f"{network.name}, which has none there. Pass numbers."
        )
    return np.asarray(ops.convert_to_numpy(layer(_string_tensor(given, tuple(network.inputs[index].shape[1:])))))


def as_strings(given: Any) -> Any:
    """A tensor or an array of strings as nested lists of strings, anything else as it is."""
    if type(given).__module__.startswith("tensorflow") and "string" in str(getattr(given, "dtype", "")):
        given = given.numpy()
        given = given.decode() if isinstance(given, bytes) else given
    if isinstance(given, np.ndarray) and given.dtype.kind == "O" and any(isinstance(x, bytes) for x in given.flat):
        decoded = [text.decode() if isinstance(text, bytes) else text for text in given.ravel().tolist()]
        return np.array(decoded, object).reshape(given.shape)
    if isinstance(given, (list, tuple)) and any(isinstance(text, bytes) for text in given):
        return [text.decode() if isinstance(text, bytes) else text for text in given]
    return given


def is_text(given: object) -> bool:
    """Whether something is a string or a list of strings, of which some may be empty lists, not ids."""
    given = as_strings(given)
    if isinstance(given, np.ndarray):
        return given.dtype.kind in "UT" or (given.dtype.kind == "O" and given.size > 0 and is_text(given.tolist()))
    if isinstance(given, (list, tuple)):
        written = [part for part in given if not isinstance(part, (list, tuple)) or len(part)]
        return len(written) > 0 and all(map(is_text, written))
    return isinstance(given, str)
