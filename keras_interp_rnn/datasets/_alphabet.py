"""The symbols of a text: which character has which id, saved with the model that reads them."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import keras
import numpy as np
from numpy.typing import ArrayLike, NDArray

from keras_interp_rnn.datasets._files import DataError, existing_file, given_path

_BLOCK = 1 << 20
"""Number of characters encoded at a time, which bounds the memory besides the ids."""


@keras.saving.register_keras_serializable(package="keras_interp_rnn")
@dataclass(frozen=True)
class Alphabet(Sequence[str]):
    r"""Characters as symbols: character i has the id i.

    An alphabet is a sequence of strings, and can be given wherever names of symbols are taken.

    Bytes need no alphabet: `np.frombuffer(data, np.uint8)` are ids in [0, 256) already.

    Args:
        symbols: distinct characters, at least one. `Alphabet.from_text` collects those of a text.
        unknown: the symbol that stands for every other character; None to refuse others.

    Raises:
        ValueError: if there are no symbols, one occurs twice, or `unknown` is not one of them.

    Example:

    >>> alphabet = Alphabet.from_text("to be\nor not")
    >>> alphabet.symbols
    '\n benort'
    >>> alphabet.decode(alphabet.encode("not to be"))
    'not to be'

    A model has its alphabet in a layer that returns its inputs, so that it is saved with the model:

        model = keras.Sequential([
            keras.Input((None,), dtype="int32"),
            alphabet.layer(),
            layers.ISAN(192, len(alphabet), return_sequences=True),
            keras.layers.Dense(len(alphabet)),
        ])
        alphabet = Alphabet.of(keras.models.load_model("model.keras"))
    """

    symbols: str
    unknown: str | None = None
    _ids: NDArray[np.int32] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.symbols, str) or not self.symbols:
            raise ValueError(
                f"`symbols` must be a string of at least one character. Received: {self.symbols!r}. Use "
                "Alphabet.from_text for the characters of a text."
            )
        [(symbol, count)] = Counter(self.symbols).most_common(1)
        if count > 1:
            raise ValueError(
                f"`symbols` must be distinct. Received: {symbol!r} {count} times. Use Alphabet.from_text for the "
                "characters of a text."
            )
        if self.unknown is not None and (len(self.unknown) != 1 or self.unknown not in self.symbols):
            raise ValueError(
                f"`unknown` must be one of the symbols. Received: unknown={self.unknown!r}. Add it to the symbols."
            )
        points = _points(self.symbols)
        others = -1 if self.unknown is None else self.symbols.index(self.unknown)
        # The last entry is that of all code points beyond the largest.
        ids = np.full(int(points.max()) + 2, others, np.int32)
        ids[points] = np.arange(len(points))
        object.__setattr__(self, "_ids", ids)

    @classmethod
    def from_text(
        cls, text: str, *, min_count: int = 1, max_size: int | None = None, unknown: str | None = None
    ) -> Alphabet:
        """The characters of a text, in the order of their code points.

        Args:
            text: any text.
            min_count: int, characters that occur fewer times are left out.
            max_size: int > 0, number of symbols, `unknown` among them, beyond which the rarest are left out; None for
                all.
            unknown: stands for the characters that are left out, and for all others. It is added if the text does not
                have it: "\N{REPLACEMENT CHARACTER}" is a good choice. With None, other characters are refused.

        Returns:
            The alphabet.

        Raises:
            ValueError: if no character is left.

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
        counts = Counter(text)
        counts.pop(unknown or "", None)
        # Ties in the order of code points, so that the same text makes the same alphabet.
        ranked = sorted((c for c, count in counts.items() if count >= min_count), key=lambda c: (-counts[c], c))
        kept = ranked[: None if max_size is None else max_size - reserved]
        if not kept:
            raise ValueError(
                f"`text` must have a character that occurs at least min_count={min_count} times. Received: a text of "
                f"{len(text)} characters. Give a longer text or a smaller min_count."
            )
        return cls("".join(sorted({*kept, *(unknown or "")})), unknown)

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
        alphabets = dict.fromkeys(part.alphabet for part in _layers(model) if isinstance(part, AlphabetLayer))
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
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(
                f"An alphabet is JSON with `symbols` and `unknown`. Received: {path}, which is not ({error!r}). Give a "
                "file that Alphabet.save wrote."
            ) from None

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the alphabet into a JSON file.

        Args:
            path: of the file; one that exists is overwritten.

        Example:

        >>> Alphabet("abc").save("alphabet.json")
        >>> Alphabet.load("alphabet.json").symbols
        'abc'
        """
        given_path(path, "path").write_text(json.dumps(self.get_config(), indent=1) + "\n", encoding="utf-8")

    def encode(self, text: str) -> NDArray[np.int32]:
        """Maps a text to ids.

        Args:
            text: characters of the alphabet; any, if the alphabet has `unknown`.

        Returns:
            int32 (num_characters,), in [0, len(alphabet)).

        Raises:
            datasets.DataError: if a character is not in the alphabet; it names the first one.

        Example:

        >>> Alphabet("abc?", unknown="?").encode("cab!")
        array([2, 0, 1, 3], dtype=int32)
        """
        if not isinstance(text, str):
            raise DataError(f"`text` must be a string. Received: {type(text).__name__}. Decode bytes first.")
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

    def decode(self, ids: ArrayLike) -> str:
        """Maps ids back to characters. The id of unknown characters becomes `unknown`.

        Args:
            ids: integers (num_characters,), in [0, len(alphabet)).

        Returns:
            The text.

        Raises:
            datasets.DataError: if an id is out of range or not an integer.

        Example:

        >>> Alphabet("abc?", unknown="?").decode([2, 0, 1, 3])
        'cab?'
        """
        array = np.asarray(ids)
        if array.ndim != 1 or (array.size and not np.issubdtype(array.dtype, np.integer)):
            raise DataError(
                f"`ids` must be integers (num_characters,). Received: {array.dtype} of shape {array.shape}. Decode one "
                "text at a time."
            )
        if array.size and not 0 <= array.min() <= array.max() < len(self):
            raise DataError(
                f"`ids` must lie in [0, {len(self)}). Received: ids from {array.min()} to {array.max()}. Decode with "
                "the alphabet that encoded them."
            )
        return _points(self.symbols)[array.astype(np.intp, copy=False)].tobytes().decode("utf-32-le", "surrogatepass")

    def ids_of(self, code_points: NDArray[np.unsignedinteger[Any]]) -> NDArray[np.int32]:
        """The ids of code points.

        Args:
            code_points: unsigned integers of any shape.

        Returns:
            int32 of the same shape; -1 for characters outside an alphabet without `unknown`.

        Example:

        >>> Alphabet("abc").ids_of(np.array([ord("c"), ord("z")], np.uint32))
        array([ 2, -1], dtype=int32)
        """
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
        return {"symbols": self.symbols, "unknown": self.unknown}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Alphabet:
        return cls(**config)

    def __len__(self) -> int:
        return len(self.symbols)

    def __getitem__(self, index: Any) -> str:
        return self.symbols[index]


@keras.saving.register_keras_serializable(package="keras_interp_rnn")
class AlphabetLayer(keras.layers.Identity):
    """Returns its inputs, and holds the alphabet of the ids that a model reads: `Alphabet.layer()`.

    Args:
        alphabet: an `Alphabet`.
        **kwargs: as `keras.layers.Layer`.
    """

    def __init__(self, alphabet: Alphabet, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.alphabet = alphabet

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "alphabet": keras.saving.serialize_keras_object(self.alphabet)}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> AlphabetLayer:
        return cls(**{**config, "alphabet": keras.saving.deserialize_keras_object(config["alphabet"])})


def _points(text: str) -> NDArray[np.uint32]:
    """The code points of a text, lone halves of surrogate pairs included."""
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4")


def _layers(model: Any) -> list[Any]:
    """The layers of a model and of the models inside it."""
    return [part for layer in model.layers for part in (_layers(layer) if hasattr(layer, "layers") else [layer])]
