"""Names of the ids that a network reads: texts to ids, and ids to names, by one rule for all functions.

What a user passes names the ids; else what the model carries. That is, given or carried,

- a sequence of names, or a mapping from ids to names: a string is a text of single characters, a list one of names;
- an `Alphabet` of `datasets.text`, which may have a symbol for unknown ones; carried in its `layer`;
- a `Vocabulary` of `datasets.words`: a string is split into words; start and end tokens are added; carried likewise;
- a `WordEncoding` of `automata`, with its tokens; carried in a `SymbolEmbedding`;
- a `TextVectorization` or `StringLookup` of Keras. A model that begins with one is read from the ids after it on.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import keras
import numpy as np
from keras import ops, tree
from numpy.typing import NDArray

from keras_interp_rnn._backend.keras_quirks import nodes_of, walk_layers
from keras_interp_rnn._checks import integers
from keras_interp_rnn._program import operations as o
from keras_interp_rnn._program.arrays import as_array, as_float64
from keras_interp_rnn._program.graph import functional, runs_its_graph, takes_training, traced
from keras_interp_rnn._program.read import read
from keras_interp_rnn._results import separator, visible

GivenNames = Any
"""Names as users pass them: any of those above."""

_TEXT_LAYERS = (keras.layers.TextVectorization, keras.layers.StringLookup)


class Names(Sequence[str]):
    """The names of ids, and the ids of texts.

    Args:
        names: by id; an id without a name is shown as a number.

    Attributes:
        symbols: the ids that a text is made of, without padding and tokens around it.
        frame: the ids of tokens before and after a text. end: that of the one after it; None where there is none.
        splits: whether a string is split into words; else it is one of symbols of one letter.
        pads: whether texts of different lengths are padded by the id 0.
        unknown: the symbol in place of those without an id; None where they are refused.
    """

    frame: tuple[int, ...] = ()
    end: int | None = None
    unknown: str | None = None
    splits = pads = False

    def __init__(self, names: Mapping[int, Any] | Iterable[Any]) -> None:
        self._names = dict(names) if isinstance(names, Mapping) else dict(enumerate(names))
        integers("ids", [*self._names], ndim=1, remedy="Pass a dict from ids to names, or a list of names.")
        self.symbols = tuple(self._names)

    def __len__(self) -> int:
        return max(self._names, default=-1) + 1

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return tuple(self[i] for i in range(*index.indices(len(self))))
        place = range(len(self))[index]
        return self._names.get(place, str(place))

    def __repr__(self) -> str:
        return repr(tuple(self))

    def name(self, token: Any) -> str:
        """The name of an id; raises ValueError where it has none."""
        if int(token) not in self._names:
            raise ValueError(
                f"`tokens` must name every id that occurs. Received: {len(self._names)} names, none for the id "
                f"{int(token)}. Pass the names of the vocabulary that made the ids, or leave `tokens` out."
            )
        return str(self._names[int(token)])

    def encode(self, text: Any) -> NDArray[np.integer[Any]]:
        """The ids (time,) of a text, a string or a list of symbols; raises ValueError for symbols without an id."""
        ids = {name: i for i, name in self._names.items()}
        strays = [name for name in text if name not in ids]
        if strays:
            longer = isinstance(text, str) and not self._has_letters()
            raise ValueError(
                "A text must be made of the alphabet's symbols. Received: "
                f"{strays[0]!r}.{' Pass a list of them, as some have several letters.' if longer else ''}"
            )
        return np.array([ids[name] for name in text], np.int64)

    def encode_all(self, texts: Any) -> NDArray[np.integer[Any]]:
        """The ids (batch, time) of texts; a string is one, and a list of symbols of several letters.

        Raises:
            ValueError: as `encode`; if texts have different lengths, and there is no padding.
        """
        listed = not self.splits and not self._has_letters() and all(isinstance(x, str) for x in texts)
        rows = [self.encode(text) for text in ([texts] if isinstance(texts, str) or listed else texts)]
        lengths = sorted({len(row) for row in rows})
        if len(lengths) > 1 and not self.pads:
            raise ValueError(
                f"Texts that are read together must have one length. Received: lengths from {lengths[0]} to "
                f"{lengths[-1]}. Pass one text at a time, or ids that are padded like the training data: none of these "
                "names is padding."
            )
        return np.stack([np.pad(row, (0, lengths[-1] - len(row))) for row in rows])

    def ids(self, symbols: Any = None) -> NDArray[np.integer[Any]]:
        """The ids of some symbols, each by itself; None for all that a text is made of."""
        if symbols is None:
            return np.array(self.symbols, np.int64)
        return Names.encode(self, symbols)

    def _has_letters(self) -> bool:
        return separator(self[i] for i in self.symbols) == ""


class _AlphabetNames(Names):
    """Those of an `Alphabet`."""

    def __init__(self, alphabet: Any) -> None:
        super().__init__(alphabet)
        self._alphabet, self.unknown = alphabet, alphabet.unknown

    def encode(self, text: Any) -> NDArray[np.integer[Any]]:
        return np.asarray(self._alphabet.encode(text))

    def ids(self, symbols: Any = None) -> NDArray[np.integer[Any]]:
        return super().ids() if symbols is None else self.encode(symbols)


class _VocabularyNames(Names):
    """Those of a `Vocabulary`, which splits a text into words, and whose first four ids are no words."""

    splits = pads = True

    def __init__(self, vocabulary: Any) -> None:
        super().__init__(vocabulary.names)
        self._vocabulary = vocabulary
        self.frame, self.end, self.symbols = (2, 3), 3, self.symbols[4:]

    def encode(self, text: Any) -> NDArray[np.integer[Any]]:
        return np.asarray(self._vocabulary.encode([text])[0])


class WordNames(Names):
    """Those of a `WordEncoding`: words are sequences of symbols, which may be numbers."""

    pads = True

    def __init__(self, encoding: Any) -> None:
        tokens = {encoding.end: "</s>", encoding.start: "<s>", 0: "<pad>"}
        symbols = dict(zip(encoding.codes, map(str, encoding.alphabet), strict=True))
        known = {i: name for i, name in (tokens | symbols).items() if i is not None}
        super().__init__({i: known.get(i, str(i)) for i in range(encoding.size)})
        self.encoding = encoding
        self.symbols, self.frame, self.end = encoding.codes, encoding.tokens, encoding.end

    def encode(self, text: Any) -> NDArray[np.integer[Any]]:
        return np.asarray(self.encoding.ids([text])[0])

    def ids(self, symbols: Any = None) -> NDArray[np.integer[Any]]:
        return super().ids() if symbols is None else np.array([*map(self.encoding.code, symbols)], np.int64)


class _TextLayerNames(Names):
    """Those of a `TextVectorization` or a `StringLookup`, which encodes texts itself."""

    def __init__(self, layer: Any) -> None:
        names = layer.get_vocabulary()
        mode = layer.get_config()["output_mode"]
        if mode != "int":
            raise ValueError(
                f"A text layer must make ids of texts. Received: {layer.name} with output_mode={mode!r}. Make it with "
                "output_mode='int'."
            )
        self.splits = isinstance(layer, keras.layers.TextVectorization)
        special = 2 if self.splits else layer.num_oov_indices + (layer.mask_token is not None)
        self.pads = self.splits or layer.mask_token is not None
        super().__init__(["<pad>" if i == 0 and self.pads else name for i, name in enumerate(names)])
        self._layer, self.symbols, self._known = layer, self.symbols[special:], self.splits or layer.num_oov_indices

    def encode(self, text: Any) -> NDArray[np.integer[Any]]:
        if self.splits:
            blank = "" if self._layer.get_config()["split"] == "character" else " "
            words = [text] if isinstance(text, str) else [*text]
            if blank.isspace() and blank in "".join(words[1:] + words[:-1]):
                raise ValueError(
                    "A text must be a string, or a list of its words. Received: a list of "
                    f"{len(words)} strings, of which some have several words. Pass one of them, or all in one string."
                )
            text = [blank.join(words)]
        elif not self._known or not len(text) or (isinstance(text, str) and not self._has_letters()):
            return super().encode(text)
        ids = np.asarray(ops.convert_to_numpy(self._layer(np.array([*text], object))), np.int64)
        return ids[0] if self.splits else ids


def resolve_names(network: Any, given: GivenNames | None = None, reads: int = 0) -> tuple[Any, Names | None]:
    """A network that reads ids, and their names: those given, or else those that it carries; None where it has none.

    Args:
        network: a model, a layer or a cell. A model of strings, which begins with a text layer, is read from after it.
        given: any of the names above.
        reads: of a model of several inputs the index of the one whose names are asked for.

    Raises:
        ValueError: if what is given names nothing; for a preset in place of its model; for a model of strings that is
            no graph from its text layers on.
    """
    if not isinstance(network, keras.layers.Layer) and isinstance(getattr(network, "model", None), keras.Model):
        raise ValueError(f"A network must be a Keras model. Received: a {type(network).__name__}. Pass its `model`.")
    if text_layer(network) is None:
        _check_no_strings(network)
        carried = _carried(network)
    elif isinstance(network, keras.Sequential) and network.layers[0] is text_layer(network):
        carried = names_of(network.layers[0])
        network = keras.Sequential([keras.Input((None,), dtype="int32"), *network.layers[1:]], name=network.name)
    else:
        network = with_strings(network)
        layers = text_layers(network)
        carried = names_of(layers[reads][0]) if reads in layers else _carried(network)
        network = _after(network, layers) if layers else network
    if given is None:
        return network, carried
    if isinstance(carried, WordNames) and isinstance(given, Sequence) and tuple(given) == carried.encoding.alphabet:
        return network, carried  # its symbols, without their tokens
    return network, names_of(given)


def _check_no_strings(network: keras.Layer) -> None:
    """Raises ValueError for a model of strings whose text layer is in a model in it, where no ids can be put in."""
    inputs = tree.flatten(getattr(network, "inputs", None) or [])
    if not any(str(tensor.dtype) == "string" for tensor in inputs):
        return
    inside = next((part for part in walk_layers(network) if isinstance(part, _TEXT_LAYERS)), None)
    if inside is not None:
        raise ValueError(
            "A text layer must be a layer of the model itself. Received: "
            f"{network.name}, whose {inside.name} is in a model in it. Build the model of the layers after it, and "
            "pass ids, and the text layer as alphabet."
        )


def names_of(given: GivenNames) -> Names:
    """The names that a user or a layer gives; raises ValueError for anything else."""
    if isinstance(given, Names):
        return given
    if isinstance(given, _TEXT_LAYERS):
        return _TextLayerNames(given)
    if hasattr(given, "encoding") and isinstance(given, keras.layers.Layer):
        return WordNames(given.encoding)
    if hasattr(given, "codes") and hasattr(given, "tokens"):
        return WordNames(given)
    if hasattr(given, "encode") and hasattr(given, "names"):
        return _VocabularyNames(given)
    if hasattr(given, "encode") and hasattr(given, "unknown"):
        return _AlphabetNames(given)
    if isinstance(given, bytes) or not isinstance(given, Sequence | Mapping | np.ndarray):
        raise ValueError(
            f"`tokens` must be a list or a dict of names. Received: {given!r}. Pass one of these, or leave it out."
        )
    return Names(given if isinstance(given, Mapping) else list(given))


def _carried(model: Any) -> Names | None:
    """The names that a layer of a model carries."""
    for part in getattr(model, "layers", []):
        found = part if hasattr(part, "encoding") else getattr(part, "alphabet", None)
        if hasattr(part, "layers"):
            if (names := _carried(part)) is not None:
                return names
        elif hasattr(found, "encode") or hasattr(found, "encoding"):
            return names_of(found)
    return None


def text_layer(network: Any) -> Any | None:
    """The first layer of a model that makes ids of strings."""
    layers = getattr(network, "layers", []) if isinstance(network, keras.Model) else []
    return next(
        (part for part in layers if isinstance(part, _TEXT_LAYERS) and not getattr(part, "invert", False)), None
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


def _string_tensor(texts: Any, shape: tuple[int, ...]) -> Any:
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
        if nested or not isinstance(operation.layer, _TEXT_LAYERS) or index in found:
            raise ValueError(
                "A text must be read by one layer alone, which makes ids of it. Received: "
                f"{network.name}, in which {operation.name} ({type(operation.layer).__name__}) reads it too. Pass the "
                "model of the layers after those that read strings, and ids."
            )
        assert isinstance(operation, o.Opaque)
        found[index] = operation.layer, nodes_of(operation.layer)[operation.place[-1]].output_tensors[0]
    return found


def _after(network: Any, layers: Mapping[int, tuple[Any, Any]]) -> Any:
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


def is_text(given: Any) -> bool:
    """Whether something is a string or a list of strings, of which some may be empty lists, not ids."""
    given = as_strings(given)
    if isinstance(given, np.ndarray):
        return given.dtype.kind in "UT" or (given.dtype.kind == "O" and given.size > 0 and is_text(given.tolist()))
    if isinstance(given, (list, tuple)):
        written = [part for part in given if not isinstance(part, (list, tuple)) or len(part)]
        return len(written) > 0 and all(map(is_text, written))
    return isinstance(given, str)


def read_text(what: str, given: Any, names: Names | None) -> NDArray[Any]:
    """One text, ids or a string or a list of symbols, as an array of ids.

    Raises:
        ValueError: as `as_array`; for a text without names; as `Names.encode`.
    """
    given = as_strings(given)
    if isinstance(given, np.ndarray) and given.size == 1 and given.ndim != 1 and is_text(given):
        given = given.item()  # one text as a model of strings reads it
    if not is_text(given):
        return as_array(what, given)
    if not isinstance(given, str) and not all(isinstance(symbol, str) for symbol in given):
        raise ValueError(f"{what} must be one text. Received: {len(given)} lists of symbols. Pass one of them.")
    return np.asarray(_required(given, names).encode(given))


def read_texts(given: Any, names: Names | None) -> Any:
    """A batch of texts as users pass it: texts as ids (batch, time), anything else as it is.

    Args:
        given: a string, or a list of strings or of lists of symbols; of names of several letters a list of symbols is
            one text, unless strings are split into words. Numbers are not looked at.

    Raises:
        ValueError: for texts without names; as `Names.encode_all`.
    """
    given = as_strings(given)
    return _required(given, names).encode_all(given) if is_text(given) else given


def _required(text: Any, names: Names | None) -> Names:
    if names is None:
        raise ValueError(
            f"A text must come with an alphabet. Received: {text!r}, without one. Pass alphabet=..., or put "
            "`Alphabet.layer()` right after the input of the model."
        )
    return names


def token_name(names: Names | None, token: Any) -> str:
    """The name of an id, or the id itself where there are no names; raises ValueError for an id without a name."""
    return str(int(token)) if names is None else names.name(token)


def token_names(inputs: Any, names: Names | None = None, *, backwards: bool = False) -> tuple[tuple[str, ...], ...]:
    """The names of ids (batch, time), as views show them; () for any other input.

    Args:
        inputs: of a layer or model. names: of the ids; None for the ids themselves.
        backwards: whether they are read from the last step to the first.

    Raises:
        ValueError: if an id has no name.
    """
    try:
        ids = as_array("Tokens", inputs)
    except ValueError:  # several inputs, or no numbers
        return ()
    if ids.ndim != 2 or not np.issubdtype(ids.dtype, np.integer):
        return ()
    shown = {token: visible(token_name(names, token)) for token in np.unique(ids).tolist()}
    read = ids[:, ::-1] if backwards else ids
    return tuple(tuple(shown[token] for token in row) for row in read.tolist())
