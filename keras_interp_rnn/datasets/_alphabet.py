"""Alphabets: the ids of the symbols of a text, saved with the model that reads them."""

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

from keras_interp_rnn._checks import expanded_path, integer, integers, invalid
from keras_interp_rnn._io import atomic_write
from keras_interp_rnn._results import nth
from keras_interp_rnn.datasets._files import DataError, existing_file

_BLOCK = 1 << 20
"""Characters encoded at a time, which bounds the memory."""


@keras.saving.register_keras_serializable(package="keras_interp_rnn")
@dataclass(frozen=True)
class Alphabet(Sequence[str]):
    r"""Characters or tokens as symbols: symbol i has the id i.

    An alphabet is a sequence of strings. Pass it wherever names of symbols are expected.

    Bytes need no alphabet: `np.frombuffer(data, np.uint8)` are ids in [0, 256).

    Args:
        symbols: distinct characters, at least one, in a string; or names of tokens, such as words or events, in a list.
            `Alphabet.from_text` collects those of a text.
        unknown: the symbol that replaces all symbols outside the alphabet; None to raise an error for them.

    Raises:
        ValueError: if there are no symbols, if one is empty or occurs twice, or if `unknown` is not one of them.

    Example:

    >>> alphabet = Alphabet.from_text("to be\nor not")
    >>> alphabet.symbols
    '\n benort'
    >>> alphabet.decode(alphabet.encode("not to be"))
    'not to be'
    >>> events = Alphabet(["login", "fail", "logout"])
    >>> events.encode(["login", "logout"]), events.decode([0, 2])
    (array([0, 2], dtype=int32), ['login', 'logout'])

    A layer that returns its inputs saves the alphabet with a model:

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
            rule = "a string of at least one character, or a list of names"
            raise invalid("symbols", rule, self.symbols, "Use Alphabet.from_text for the characters of a text.")
        [(symbol, count)] = Counter(symbols).most_common(1)
        if count > 1:
            raise ValueError(
                f"`symbols` must be distinct. Received: {symbol!r} {count} times. Use Alphabet.from_text for the "
                "characters of a text."
            )
        place = {name: i for i, name in enumerate(symbols)}
        if self.unknown is not None and self.unknown not in place:
            raise invalid("unknown", "one of the symbols", self.unknown, "Add it to the symbols.")
        ids = None
        if isinstance(symbols, str):
            points = _points(symbols)
            others = -1 if self.unknown is None else place[self.unknown]
            # The last entry is for all code points beyond the largest.
            ids = np.full(int(points.max()) + 2, others, np.int32)
            ids[points] = np.arange(len(points))
        for name, value in (("symbols", symbols), ("_place", place), ("_ids", ids)):
            object.__setattr__(self, name, value)

    @classmethod
    def from_text(
        cls, text: str | Iterable[str], *, min_count: int = 1, max_size: int | None = None, unknown: str | None = None
    ) -> Alphabet:
        """The alphabet of the characters of a text, or of its tokens, in alphabetical order.

        Args:
            text: any text: a string, or a list of tokens.
            min_count: int, characters or tokens that occur fewer times are omitted.
            max_size: int > 0, largest number of symbols, including `unknown`; the rarest are omitted. None for all.
            unknown: the symbol that replaces omitted and all other symbols, added if the text does not have it. Good
                choices are "\N{REPLACEMENT CHARACTER}" and, for tokens, "<unk>". None raises an error for them.

        Returns:
            The alphabet.

        Raises:
            ValueError: if no symbol is left.

        Example:

        >>> Alphabet.from_text("abracadabra", max_size=3, unknown="?").symbols
        '?ab'
        """
        reserved = int(unknown is not None)
        if max_size is not None:
            integer("max_size", max_size, reserved + 1, "One of the symbols is `unknown`." if reserved else "")
        what, text = ("characters", text) if isinstance(text, str) else ("tokens", list(text))
        counts = Counter(text)
        counts.pop(unknown or "", None)
        # Ties in the order of code points, so that the same text makes the same alphabet.
        ranked = sorted((c for c, count in counts.items() if count >= min_count), key=lambda c: (-counts[c], c))
        chosen = ranked[: None if max_size is None else max_size - reserved]
        if not chosen:
            raise ValueError(
                f"`text` must contain one of its {what} at least min_count={min_count} times. Received: a text of "
                f"{len(text)} {what}. Give a longer text or a smaller min_count."
            )
        symbols = sorted({*chosen, *([] if unknown is None else [unknown])})
        return cls("".join(symbols) if isinstance(text, str) else tuple(symbols), unknown)

    @classmethod
    def of(cls, model: keras.Model) -> Alphabet:
        """The alphabet of a model, from its `AlphabetLayer` (see `layer`).

        Args:
            model: a Keras model.

        Returns:
            Its alphabet.

        Raises:
            ValueError: if the model has no alphabet, or several.

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
            ValueError: if there is no such file, or it does not contain an alphabet.
        """
        path = existing_file(path)
        try:
            config = json.loads(path.read_text(encoding="utf-8"))
            return cls(config["symbols"], config["unknown"])
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise ValueError(
                f"The file of an alphabet must be JSON with `symbols` and `unknown`. Received: {path} ({error!r}). "
                "Give a file that Alphabet.save wrote."
            ) from None

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the alphabet to a JSON file, atomically.

        Args:
            path: of the file; one that exists is overwritten.

        Example:

        >>> Alphabet("abc").save("alphabet.json")
        >>> Alphabet.load("alphabet.json").symbols
        'abc'
        """
        with atomic_write(expanded_path("path", path)) as partial:
            partial.write_text(json.dumps(self.get_config(), indent=1) + "\n", encoding="utf-8")

    def encode(self, text: str | Sequence[str]) -> NDArray[np.int32]:
        """Maps a text to ids.

        Args:
            text: a string over the alphabet, or a list of its symbols; any text, if the alphabet has `unknown`.
                Tokens need a list.

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
                f"{nth('position', position)}. Leave it out of the text, or make the alphabet with `unknown`, a symbol "
                "for all others."
            )
        return ids

    def _of_list(self, text: Any) -> NDArray[np.int32]:
        """The ids of a list of symbols, -1 for symbols outside an alphabet without `unknown`."""
        if isinstance(text, str):
            raise DataError(
                f"`text` must be a list of tokens such as {self[0]!r}. Received: the string {text[:40]!r}. Split it, "
                "for example by text.split()."
            )
        if isinstance(text, bytes) or not isinstance(text, Iterable) or not all(isinstance(x, str) for x in text):
            raise DataError(
                f"`text` must be a string or a list of symbols. Received: {type(text).__name__}. Decode bytes first; "
                "ids are encoded already."
            )
        longer = [] if self._ids is None else [name for name in text if len(name) != 1]
        if longer:
            raise DataError(
                f"`text` must be one text, a string or a list of characters. Received: a list with {longer[0][:40]!r}. "
                "Encode one at a time, [alphabet.encode(text) for text in texts]."
            )
        others = -1 if self.unknown is None else self._place[self.unknown]
        return np.array([self._place.get(name, others) for name in text], np.int32)

    def decode(self, ids: ArrayLike) -> str | list[str]:
        """Maps ids back to characters or tokens; the id of unknown symbols becomes `unknown`.

        Args:
            ids: integers (num_symbols,), in [0, len(alphabet)).

        Returns:
            The text, or a list of tokens.

        Raises:
            datasets.DataError: if an id is out of range or not an integer.

        Example:

        >>> Alphabet("abc?", unknown="?").decode([2, 0, 1, 3])
        'cab?'
        """
        remedy = "Decode one text at a time, with the alphabet that encoded it."
        array = integers("ids", ids, ndim=1, below=len(self), remedy=remedy, error=DataError)
        if not isinstance(self.symbols, str):
            return [self.symbols[i] for i in array.tolist()]
        return _points(self.symbols)[array.astype(np.intp, copy=False)].tobytes().decode("utf-32-le", "surrogatepass")

    def ids_of(self, code_points: NDArray[np.unsignedinteger[Any]]) -> NDArray[np.int32]:
        """Maps code points to ids, for an alphabet of characters.

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
                f"The alphabet must consist of characters. Received: an alphabet with {self[0]!r}. Use `encode`."
            )
        ids: NDArray[np.int32] = self._ids[np.minimum(code_points, len(self._ids) - 1)]
        return ids

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
    """An identity layer that saves the names of ids with a model: `Alphabet.layer()`, `Vocabulary.layer()`.

    Args:
        alphabet: an `Alphabet`, or a `Vocabulary` of words.
        **kwargs: as `keras.layers.Layer`.
    """

    def __init__(self, alphabet: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if not (hasattr(alphabet, "encode") and hasattr(alphabet, "get_config")):
            raise invalid("alphabet", "an Alphabet or a Vocabulary", alphabet, "Use its layer().")
        self.alphabet = alphabet

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "alphabet": keras.saving.serialize_keras_object(self.alphabet)}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> AlphabetLayer:
        return cls(**{**config, "alphabet": keras.saving.deserialize_keras_object(config.get("alphabet"))})


def _points(text: str) -> NDArray[np.uint32]:
    """The code points of a text, including lone surrogates."""
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4")


def _layers(model: Any) -> list[Any]:
    """The layers of a model and of the models inside it."""
    return [part for layer in model.layers for part in (_layers(layer) if hasattr(layer, "layers") else [layer])]
