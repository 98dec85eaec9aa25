"""What users pass, and weights, as NumPy arrays: checked once, with one error sentence each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import keras
import numpy as np
from keras import ops
from numpy.typing import ArrayLike, NDArray

from keras_interp_rnn._checks import is_integer
from keras_interp_rnn._results import separator


def as_array(what: str, given: Any) -> NDArray[Any]:
    """Symbols, ids or sequences, as users pass them, as an array of numbers.

    Args:
        what: the name of the argument, for the error. given: an array, a tensor or nested lists.

    Raises:
        ValueError: for text, for None and other objects, for rows of different lengths.
    """
    if isinstance(given, str):
        raise ValueError(
            f"{what} are numbers. Received: a string. Encode it first, e.g. by datasets.text.encode, with the alphabet "
            "that the model was trained on."
        )
    if np.ma.is_masked(given):
        raise ValueError(
            f"{what} must be an array without a mask of its own. Received: a masked array. Pass `given.filled(...)`, "
            "and which steps are read as the `mask`."
        )
    try:
        array = np.asarray(ops.convert_to_numpy(given) if hasattr(given, "dtype") else given)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{what} are one array. Received: {type(given).__name__} ({error}). Pad its rows.") from None
    if array.dtype.kind not in "biuf" and array.dtype.name != "bfloat16":
        raise ValueError(
            f"{what} are an array of numbers. Received: {type(given).__name__}, which makes one of dtype "
            f"{array.dtype}. Pass a NumPy array or a tensor."
        )
    return array


def generator(seed: Any) -> np.random.Generator:
    """NumPy's generator of a seed; raises ValueError for what is none."""
    try:
        return np.random.default_rng(seed)
    except (TypeError, ValueError):
        raise ValueError(f"A seed is an int >= 0, or None. Received: seed={seed!r}.") from None


def listed(what: str, given: Any) -> list[Any]:
    """What a user passes several of, as a list.

    Raises:
        ValueError: if it is one thing.
    """
    try:
        return list(given)
    except TypeError:
        raise ValueError(f"{what} are several, in a list. Received: {given!r}. Pass a list.") from None


def as_float64(tensor: Any) -> NDArray[np.float64]:
    """A weight or a tensor as a float64 array, exactly as the backend holds it."""
    return np.asarray(ops.convert_to_numpy(tensor), np.float64)


def as_symbols(symbols: ArrayLike, vocabulary_size: int) -> NDArray[np.int64]:
    """The symbols of one text as an integer vector.

    Raises:
        ValueError: if they are not one row of integers in [0, vocabulary_size).
    """
    array = as_array("symbols", symbols)
    if array.ndim != 1 or (array.size and not np.issubdtype(array.dtype, np.integer)):
        raise ValueError(
            f"symbols must be the integers of one text, shape (time,). Received: {array.dtype} of shape "
            f"{array.shape}. Pass one row of a batch."
        )
    if not is_integer(vocabulary_size):
        raise ValueError(f"vocabulary_size is an int. Received: vocabulary_size={vocabulary_size!r}.")
    if array.size and (array.min() < 0 or array.max() >= vocabulary_size):
        raise ValueError(
            f"symbols must lie in [0, {vocabulary_size}). Received: {array.min()} to {array.max()}. Map the text "
            "with the alphabet that was trained on."
        )
    return array.astype(np.int64)


def check_id_range(given: Any, size: int) -> None:
    """Raises ValueError unless an array holds whole numbers in [0, size): backends read others as some id in there."""
    ids = as_array("Ids", given)
    if ids.size and not ((ids >= 0) & (ids < size) & (ids == np.floor(ids))).all():
        raise ValueError(
            f"Ids must be integers in [0, {size}). Received: from {ids.min()} to {ids.max()}, of {ids.dtype}. Map the "
            "text with the alphabet that the model was trained on."
        )


def check_finite(layer: keras.layers.Layer) -> None:
    """Raises ValueError if a weight of a layer or model is not finite."""
    for weight in layer.weights:
        if not np.isfinite(ops.convert_to_numpy(weight)).all():
            raise ValueError(
                f"The weights must be finite. Received: NaN or infinity in {weight.path}. Train with a lower learning "
                "rate or with clipped gradients."
            )


def check_range(name: str, arrays: Iterable[NDArray[Any]]) -> None:
    """Raises ValueError where something that was computed has left the range of its floats."""
    if not all(np.isfinite(array).all() for array in arrays):
        raise ValueError(
            f"{name} must fit into floats. Received: weights so large that they overflow. Scale the weights down, or "
            "pass a shorter text."
        )


class WordNames(Sequence[str]):
    """The names of the ids of a `WordEncoding`, padding and tokens included, as an alphabet that encodes words."""

    def __init__(self, encoding: Any) -> None:
        self.encoding = encoding
        names = dict(zip(encoding.codes, map(str, encoding.alphabet), strict=True))
        tokens = {encoding.end: "</s>", encoding.start: "<s>", 0: "<pad>"}
        self.names = tuple((tokens | names).get(i, str(i)) for i in range(encoding.size))

    def __len__(self) -> int:
        return len(self.names)

    def __getitem__(self, index: Any) -> Any:
        return self.names[index]

    def encode(self, word: Any) -> NDArray[np.int32]:
        return self.encode_all([word])[0]

    def encode_all(self, words: Any) -> NDArray[np.int32]:
        """Words as rows of ids, padded to the longest."""
        return np.asarray(self.encoding.ids(words))


def alphabet_of(model: Any) -> Any | None:
    """The names of the ids that a model reads, where a layer carries them; None where none does.

    That is an `AlphabetLayer`, as `datasets.text.Alphabet.layer` makes it, or an `automata.SymbolEmbedding`.
    """
    for part in getattr(model, "layers", []):
        alphabet = alphabet_of(part) if hasattr(part, "layers") else getattr(part, "alphabet", None)
        if not hasattr(part, "layers") and hasattr(part, "encoding"):
            alphabet = WordNames(part.encoding)
        if hasattr(alphabet, "encode"):
            return alphabet
    return None


def is_text(given: Any) -> bool:
    """Whether something is a string or a list of strings, not ids."""
    if isinstance(given, np.ndarray):
        return given.dtype.kind in "UT" or (given.dtype.kind == "O" and given.size > 0 and is_text(given.tolist()))
    if isinstance(given, (list, tuple)):
        return len(given) > 0 and all(map(is_text, given))
    return isinstance(given, str)


def encode_text(text: Any, alphabet: Any) -> NDArray[np.integer[Any]]:
    """A text as ids, by an `Alphabet`, a sequence of symbols or a mapping from ids to symbols.

    Args:
        text: a string, each of whose characters is a symbol, or a list of symbols.

    Raises:
        ValueError: without an alphabet, or if the text has symbols that are not in it.
    """
    if alphabet is None:
        raise ValueError(
            f"A string is read by an alphabet. Received: {text!r}, and none. Pass alphabet=..., or put "
            "`Alphabet.layer()` right after the input of the model."
        )
    # An Alphabet may have a symbol for those unknown; strings and bytes encode to bytes.
    if hasattr(alphabet, "encode") and not isinstance(alphabet, str):
        return np.asarray(alphabet.encode(text))
    names = (
        alphabet.items() if isinstance(alphabet, Mapping) else enumerate(listed("The symbols of an alphabet", alphabet))
    )
    ids = {name: i for i, name in names}
    strays = [name for name in text if name not in ids]
    if strays:
        longer = isinstance(text, str) and any(len(str(name)) > 1 for name in ids)
        raise ValueError(
            f"A text is made of the alphabet's symbols. Received: {strays[0]!r}."
            f"{' Pass a list of them, as some have several letters.' if longer else ''}"
        )
    return np.array([ids[name] for name in text], np.int64)


def symbol_ids(alphabet: Any, symbols: Any = None) -> NDArray[np.integer[Any]]:
    """The ids of some symbols of an alphabet, None for all: without the tokens and the padding of words."""
    if isinstance(alphabet, WordNames):
        codes = alphabet.encoding.codes if symbols is None else map(alphabet.encoding.code, symbols)
        return np.array([*codes], np.int64)
    return np.arange(len(alphabet)) if symbols is None else encode_text(symbols, alphabet)


def read_text(what: str, given: Any, alphabet: Any) -> NDArray[Any]:
    """One text, ids or symbols of the alphabet, as an array of ids; raises ValueError as `as_array`, `encode_text`."""
    return encode_text(given, alphabet) if is_text(given) else as_array(what, given)


def read_texts(given: Any, alphabet: Any) -> Any:
    """A batch of texts as users pass it: symbols as ids (batch, time), anything else as it is.

    Args:
        given: a string, or a list of strings or of lists of symbols; of an alphabet with names of several letters a
            list of symbols is one text. Numbers are not looked at.

    Raises:
        ValueError: as `encode_text`; if texts have different lengths, and the alphabet has no padding.
    """
    if not is_text(given):
        return given
    symbols = getattr(getattr(alphabet, "encoding", None), "alphabet", alphabet)
    tokens = symbols is not None and separator(symbols) != ""
    texts = [given] if isinstance(given, str) or (tokens and all(isinstance(x, str) for x in given)) else list(given)
    if isinstance(alphabet, WordNames):
        return alphabet.encode_all(texts)
    rows = [encode_text(text, alphabet) for text in texts]
    lengths = sorted({len(row) for row in rows})
    if len(lengths) > 1:
        raise ValueError(
            f"Texts that are read together have one length. Received: lengths from {lengths[0]} to {lengths[-1]}. Pass "
            "one at a time; or ids, padded as those that the model was trained on."
        )
    return np.stack(rows)
