"""The symbols of a text: which character has which id, saved with the model that reads them."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import keras
import numpy as np
from numpy.typing import ArrayLike, NDArray

from keras_interp_rnn._io import atomic_write, expanded
from keras_interp_rnn.datasets._files import DataError, existing_file

_BLOCK = 1 << 20
"""Number of characters encoded at a time, which bounds the memory besides the ids."""


@keras.saving.register_keras_serializable(package="keras_interp_rnn")
@dataclass(frozen=True)
class Alphabet(Sequence[str]):
    r"""Characters or tokens as symbols: symbol i has the id i.

    An alphabet is a sequence of strings, and can be given wherever names of symbols are taken.

    Bytes need no alphabet: `np.frombuffer(data, np.uint8)` are ids in [0, 256) already.

    Args:
        symbols: distinct characters, at least one, in a string; or names of tokens, words and events for example, in a
            list. `Alphabet.from_text` collects those of a text.
        unknown: the symbol that stands for every other one; None to refuse others.

    Raises:
        ValueError: if there are no symbols, one is empty or occurs twice, or `unknown` is not one of them.

    Example:

    >>> alphabet = Alphabet.from_text("to be\nor not")
    >>> alphabet.symbols
    '\n benort'
    >>> alphabet.decode(alphabet.encode("not to be"))
    'not to be'
    >>> events = Alphabet(["login", "fail", "logout"])
    >>> events.encode(["login", "logout"]), events.decode([0, 2])
    (array([0, 2], dtype=int32), ['login', 'logout'])

    A model has its alphabet in a layer that returns its inputs, so that it is saved with the model:

        model = keras.Sequential([
            keras.Input((None,), dtype="int32"),
            alphabet.layer(),
            layers.ISAN(192, len(alphabet), return_sequences=True),
            keras.layers.Dense(len(alphabet)),
        ])
        alphabet = Alphabet.of(keras.models.load_model("model.keras"))
    """

    symbols: str | Sequence[str]
    unknown: str | None = None
    _place: dict[str, int] = field(init=False, repr=False, compare=False)
    _ids: NDArray[np.int32] | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        symbols = self.symbols
        if not isinstance(symbols, str):
            names = tuple(symbols) if isinstance(symbols, Iterable) else ()
            symbols = names if all(isinstance(name, str) and name for name in names) else ()
            symbols = "".join(symbols) if all(len(name) == 1 for name in symbols) else symbols
        if not symbols:
            raise ValueError(
                "`symbols` must be a string of at least one character, or a list of names. Received: "
                f"{self.symbols!r}. Use Alphabet.from_text for the characters of a text."
            )
        [(symbol, count)] = Counter(symbols).most_common(1)
        if count > 1:
            raise ValueError(
                f"`symbols` must be distinct. Received: {symbol!r} {count} times. Use Alphabet.from_text for the "
                "characters of a text."
            )
        place = {name: i for i, name in enumerate(symbols)}
        if self.unknown is not None and self.unknown not in place:
            raise ValueError(
                f"`unknown` must be one of the symbols. Received: unknown={self.unknown!r}. Add it to the symbols."
            )
        ids = None
        if isinstance(symbols, str):
            points = _points(symbols)
            others = -1 if self.unknown is None else place[self.unknown]
            # The last entry is that of all code points beyond the largest.
            ids = np.full(int(points.max()) + 2, others, np.int32)
            ids[points] = np.arange(len(points))
        for name, value in (("symbols", symbols), ("_place", place), ("_ids", ids)):
            object.__setattr__(self, name, value)

    @classmethod
    def from_text(
        cls, text: str | Iterable[str], *, min_count: int = 1, max_size: int | None = None, unknown: str | None = None
    ) -> Alphabet:
        """The characters of a text, in the order of their code points, or its tokens, in alphabetical order.

        Args:
            text: any text: a string, or a list of tokens.
            min_count: int, characters or tokens that occur fewer times are left out.
            max_size: int > 0, number of symbols, `unknown` among them, beyond which the rarest are left out; None for
                all.
            unknown: stands for what is left out, and for all others. It is added if the text does not have it: a good
                choice is "\N{REPLACEMENT CHARACTER}", or "<unk>" of tokens. With None, others are refused.

        Returns:
            The alphabet.

        Raises:
            ValueError: if no symbol is left.

        Example:

        >>> Alphabet.from_text("abracadabra", max_size=3, unknown="?").symbols
        '?ab'
        """
        reserved = int(unknown is not None)
        if max_size is not None and max_size <= reserved:
            raise ValueError(
                f"`max_size` must be at least {reserved + 1}{', with `unknown`' if reserved else ''}. Received: "
                f"max_size={max_size}. Give a larger one."
            )
        what, text = ("characters", text) if isinstance(text, str) else ("tokens", list(text))
        counts = Counter(text)
        counts.pop(unknown or "", None)
        # Ties in the order of code points, so that the same text makes the same alphabet.
        ranked = sorted((c for c, count in counts.items() if count >= min_count), key=lambda c: (-counts[c], c))
        kept = ranked[: None if max_size is None else max_size - reserved]
        if not kept:
            raise ValueError(
                f"`text` must have one of its {what} at least min_count={min_count} times. Received: a text of "
                f"{len(text)} {what}. Give a longer text or a smaller min_count."
            )
        symbols = sorted({*kept, *([] if unknown is None else [unknown])})
        return cls("".join(symbols) if isinstance(text, str) else tuple(symbols), unknown)

    @classmethod
    def of(cls, model: keras.Model) -> Alphabet:
        """The alphabet of a model that has one (see `layer`).

        Args:
            model: a Keras model.

        Returns:
            Its alphabet.

        Raises:
            ValueError: if it has none, or several.

        Example:

        >>> model = keras.Sequential([keras.Input((None,), dtype="int32"), Alphabet("abc").layer()])
        >>> Alphabet.of(model).symbols
        'abc'
        """
        carried = [part.alphabet for part in _layers(model) if isinstance(part, AlphabetLayer)]
        alphabets = dict.fromkeys(alphabet for alphabet in carried if isinstance(alphabet, Alphabet))
        if len(alphabets) != 1:
            raise ValueError(
                f"A model must have one alphabet. Received: {model.name}, with {len(alphabets)}. Put Alphabet.layer() "
                "right after its input."
            )
        return next(iter(alphabets))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Alphabet:
        """Loads an alphabet that `save` wrote.

        Args:
            path: of the file.

        Returns:
            The alphabet.

        Raises:
            ValueError: if there is no such file, or it is not one of an alphabet.
        """
        path = existing_file(path)
        try:
            config = json.loads(path.read_text(encoding="utf-8"))
            return cls(config["symbols"], config["unknown"])
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise ValueError(
                f"An alphabet is JSON with `symbols` and `unknown`. Received: {path}, which is not ({error!r}). Give a "
                "file that Alphabet.save wrote."
            ) from None

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the alphabet into a JSON file, whole or not at all.

        Args:
            path: of the file; one that exists is overwritten.

        Example:

        >>> Alphabet("abc").save("alphabet.json")
        >>> Alphabet.load("alphabet.json").symbols
        'abc'
        """
        with atomic_write(expanded(path)) as partial:
            partial.write_text(json.dumps(self.get_config(), indent=1) + "\n", encoding="utf-8")

    def encode(self, text: str | Sequence[str]) -> NDArray[np.int32]:
        """Maps a text to ids.

        Args:
            text: a string over the alphabet, or a list of its symbols; any text, if the alphabet has `unknown`. Of
                tokens a list.

        Returns:
            int32 (num_symbols,), in [0, len(alphabet)).

        Raises:
            datasets.DataError: if a symbol is not in the alphabet; it names the first one.

        Example:

        >>> Alphabet("abc?", unknown="?").encode("cab!")
        array([2, 0, 1, 3], dtype=int32)
        """
        if not isinstance(text, str) or self._ids is None:
            ids = self._of_list(text)
        else:
            ids = np.empty(len(text), np.int32)
            for start in range(0, len(text), _BLOCK):
                ids[start : start + _BLOCK] = self.ids_of(_points(text[start : start + _BLOCK]))
        if ids.size and ids.min() < 0:
            position = int((ids < 0).argmax())
            raise DataError(
                f"`text` must consist of the {len(self)} symbols of its alphabet. Received: {text[position]!r} at "
                f"position {position}. Leave it out of the text, or make the alphabet with `unknown`, a symbol that "
                "stands for all others."
            )
        return ids

    def _of_list(self, text: Any) -> NDArray[np.int32]:
        """The ids of a list of symbols, -1 for symbols outside an alphabet without `unknown`."""
        if isinstance(text, str):
            raise DataError(
                f"`text` must be a list of tokens, as this alphabet has {self[0]!r} and others. Received: the string "
                f"{text[:40]!r}. Split it, by text.split() for one."
            )
        if isinstance(text, bytes) or not isinstance(text, Iterable) or not all(isinstance(x, str) for x in text):
            raise DataError(
                f"`text` must be a string or a list of symbols. Received: {type(text).__name__}. Decode bytes first; "
                "ids are encoded already."
            )
        longer = [] if self._ids is None else [name for name in text if len(name) != 1]
        if longer:
            raise DataError(
                f"`text` must be one text, of which this alphabet reads the characters. Received: a list with "
                f"{longer[0][:40]!r}. Encode one at a time, [alphabet.encode(text) for text in texts]."
            )
        others = -1 if self.unknown is None else self._place[self.unknown]
        return np.array([self._place.get(name, others) for name in text], np.int32)

    def decode(self, ids: ArrayLike) -> str | list[str]:
        """Maps ids back to characters or tokens. The id of unknown ones becomes `unknown`.

        Args:
            ids: integers (num_symbols,), in [0, len(alphabet)).

        Returns:
            The text; of tokens a list.

        Raises:
            datasets.DataError: if an id is out of range or not an integer.

        Example:

        >>> Alphabet("abc?", unknown="?").decode([2, 0, 1, 3])
        'cab?'
        """
        array = np.asarray(ids)
        if array.ndim != 1 or (array.size and not np.issubdtype(array.dtype, np.integer)):
            raise DataError(
                f"`ids` must be integers (num_symbols,). Received: {array.dtype} of shape {array.shape}. Decode one "
                "text at a time."
            )
        if array.size and not 0 <= array.min() <= array.max() < len(self):
            raise DataError(
                f"`ids` must lie in [0, {len(self)}). Received: ids from {array.min()} to {array.max()}. Decode with "
                "the alphabet that encoded them."
            )
        if not isinstance(self.symbols, str):
            return [self.symbols[i] for i in array.tolist()]
        return _points(self.symbols)[array.astype(np.intp, copy=False)].tobytes().decode("utf-32-le", "surrogatepass")

    def ids_of(self, code_points: NDArray[np.unsignedinteger[Any]]) -> NDArray[np.int32]:
        """The ids of code points, by an alphabet of characters.

        Args:
            code_points: unsigned integers of any shape.

        Returns:
            int32 of the same shape; -1 for characters outside an alphabet without `unknown`.

        Example:

        >>> Alphabet("abc").ids_of(np.array([ord("c"), ord("z")], np.uint32))
        array([ 2, -1], dtype=int32)
        """
        if self._ids is None:
            raise ValueError(
                f"Code points are those of characters. Received: an alphabet with {self[0]!r}. Use `encode`."
            )
        return self._ids[np.minimum(code_points, len(self._ids) - 1)]

    def layer(self) -> AlphabetLayer:
        """A layer that returns its inputs and holds this alphabet. Put it right after the input of a model.

        Returns:
            The layer.

        Example:

        >>> Alphabet("abc").layer().alphabet.symbols
        'abc'
        """
        return AlphabetLayer(self)

    def get_config(self) -> dict[str, Any]:
        return {
            "symbols": self.symbols if isinstance(self.symbols, str) else list(self.symbols),
            "unknown": self.unknown,
        }

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Alphabet:
        return cls(**config)

    def __len__(self) -> int:
        return len(self.symbols)

    def __getitem__(self, index: Any) -> str:
        return self.symbols[index]


@keras.saving.register_keras_serializable(package="keras_interp_rnn")
class AlphabetLayer(keras.layers.Identity):
    """Returns its inputs, and holds what names the ids that a model reads: `Alphabet.layer()`, `Vocabulary.layer()`.

    Args:
        alphabet: an `Alphabet`, or a `Vocabulary` of words.
        **kwargs: as `keras.layers.Layer`.
    """

    def __init__(self, alphabet: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if not (hasattr(alphabet, "encode") and hasattr(alphabet, "get_config")):
            raise ValueError(
                f"An AlphabetLayer holds an Alphabet, or a Vocabulary of words. Received: {alphabet!r}. Use their "
                "layer()."
            )
        self.alphabet = alphabet

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "alphabet": keras.saving.serialize_keras_object(self.alphabet)}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> AlphabetLayer:
        return cls(**{**config, "alphabet": keras.saving.deserialize_keras_object(config.get("alphabet"))})


def _points(text: str) -> NDArray[np.uint32]:
    """The code points of a text, lone halves of surrogate pairs included."""
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4")


def _layers(model: Any) -> list[Any]:
    """The layers of a model and of the models inside it."""
    return [part for layer in model.layers for part in (_layers(layer) if hasattr(layer, "layers") else [layer])]
