"""The symbols of a text: which character has which id, kept with the model that reads them."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import keras
import numpy as np
from numpy.typing import ArrayLike, NDArray

from keras_interp_rnn.datasets._files import TextError, existing_file

_BLOCK = 1 << 20
"""Characters encoded at a time: bounds the memory beside the ids."""


@keras.saving.register_keras_serializable(package="keras_interp_rnn")
@dataclass(frozen=True)
class Alphabet(Sequence[str]):
    r"""Any characters as symbols: character i has id i. A sequence of its symbols, so it serves wherever names do.

    Bytes need none: they are ids in [0, 256) already, `np.frombuffer(data, np.uint8)`.

    Args:
        symbols: different characters, at least one. `Alphabet.from_text` finds those of a text.
        unknown: the one among them that stands for every other character; None to refuse others.

    Raises:
        ValueError: if there are no symbols, one comes twice, or `unknown` is not one of them.

    Example:

    >>> alphabet = Alphabet.from_text("to be\nor not")
    >>> alphabet.symbols
    '\n benort'
    >>> alphabet.decode(alphabet.encode("not to be"))
    'not to be'

    A model carries its alphabet in a layer that passes ids on, so that it is saved with the model:

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
            raise ValueError(f"An alphabet is a string of at least one symbol. Received: {self.symbols!r}.")
        [(often, count)] = Counter(self.symbols).most_common(1)
        if count > 1:
            raise ValueError(
                f"The symbols of an alphabet differ. Received: {often!r} {count} times. Use Alphabet.from_text for the "
                "symbols of a text."
            )
        if self.unknown is not None and (len(self.unknown) != 1 or self.unknown not in self.symbols):
            raise ValueError(
                f"unknown must be one of the symbols. Received: unknown={self.unknown!r}. Add it to the symbols."
            )
        points = _points(self.symbols)
        stranger = -1 if self.unknown is None else self.symbols.index(self.unknown)
        # One entry more than the largest code point: that of all larger ones.
        ids = np.full(int(points.max()) + 2, stranger, np.int32)
        ids[points] = np.arange(len(points))
        object.__setattr__(self, "_ids", ids)

    @classmethod
    def from_text(
        cls, text: str, min_count: int = 1, max_size: int | None = None, unknown: str | None = None
    ) -> Alphabet:
        """The characters of a text, in the order of their code points.

        Args:
            text: any text.
            min_count: rarer characters are left out.
            max_size: at most this many symbols, the most frequent, `unknown` among them.
            unknown: stands for the characters left out, and for any other. Added if the text does not have it:
                "\N{REPLACEMENT CHARACTER}" is a good choice. Without one, a text with other characters is refused.

        Raises:
            ValueError: if nothing is left.
        """
        reserved = int(unknown is not None)
        if max_size is not None and max_size <= reserved:
            raise ValueError(
                f"An alphabet has at least one symbol{' besides `unknown`' if reserved else ''}. Received: "
                f"max_size={max_size}."
            )
        counts = Counter(text)
        counts.pop(unknown or "", None)
        # Ties by code point, so that the same text makes the same alphabet.
        ranked = sorted((c for c, count in counts.items() if count >= min_count), key=lambda c: (-counts[c], c))
        kept = ranked[: None if max_size is None else max_size - reserved]
        if not kept:
            raise ValueError(
                f"An alphabet is made of the characters that a text has at least {min_count} times. Received: a text "
                f"of {len(text)} characters, none of them so often. Give a longer text or a smaller min_count."
            )
        return cls("".join(sorted({*kept, *(unknown or "")})), unknown)

    @classmethod
    def of(cls, model: keras.Model) -> Alphabet:
        """The alphabet that a model carries (see `layer`).

        Raises:
            ValueError: if it carries none, or several.
        """
        found = dict.fromkeys(part.alphabet for part in _layers(model) if isinstance(part, AlphabetLayer))
        if len(found) != 1:
            raise ValueError(
                f"A model carries one alphabet. Received: {model.name}, with {len(found)}. Put Alphabet.layer() right "
                "after its input."
            )
        return next(iter(found))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Alphabet:
        """The alphabet that `save` wrote.

        Raises:
            ValueError: if there is no such file, or it is another one.
        """
        path = existing_file(path)
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
            return cls(found["symbols"], found["unknown"])
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(
                f"An alphabet is loaded from JSON with `symbols` and `unknown`. Received: {path}, which is none "
                f"({error!r}). Give a file that Alphabet.save wrote."
            ) from None

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the alphabet into a JSON file."""
        Path(path).write_text(json.dumps(self.get_config(), indent=1) + "\n", encoding="utf-8")

    def encode(self, text: str) -> NDArray[np.int32]:
        """Maps a text to ids.

        Args:
            text: characters of the alphabet, or any, if it has a symbol for those unknown.

        Returns:
            int32 (characters,), in [0, len(alphabet)).

        Raises:
            TextError: if a character is foreign to the alphabet; names the first one.
        """
        if not isinstance(text, str):
            raise TextError(f"A string is encoded. Received: {type(text).__name__}. Decode bytes first.")
        ids = np.empty(len(text), np.int32)
        for start in range(0, len(text), _BLOCK):
            ids[start : start + _BLOCK] = self.ids_of(_points(text[start : start + _BLOCK]))
        if ids.size and ids.min() < 0:
            position = int((ids < 0).argmax())
            raise TextError(
                f"A text is encoded from the {len(self)} symbols of its alphabet. Received: {text[position]!r} at "
                f"position {position}. Leave it out of the text, or make the alphabet with `unknown`, a symbol that "
                "stands for all others."
            )
        return ids

    def decode(self, ids: ArrayLike) -> str:
        """Maps ids back to characters; that of an unknown character to `unknown`.

        Args:
            ids: integers (characters,), in [0, len(alphabet)).

        Raises:
            TextError: if an id is out of range, or no integer.
        """
        found = np.asarray(ids)
        if found.ndim != 1 or (found.size and not np.issubdtype(found.dtype, np.integer)):
            raise TextError(f"Ids are integers (characters,). Received: {found.dtype} of shape {found.shape}.")
        if found.size and not 0 <= found.min() <= found.max() < len(self):
            raise TextError(
                f"Ids lie in [0, {len(self)}). Received: ids from {found.min()} to {found.max()}. Decode with the "
                "alphabet that encoded them."
            )
        return _points(self.symbols)[found.astype(np.intp, copy=False)].tobytes().decode("utf-32-le", "surrogatepass")

    def ids_of(self, code_points: NDArray[np.unsignedinteger[Any]]) -> NDArray[np.int32]:
        """Ids of code points; -1 for those that are foreign, where the alphabet has no symbol for them."""
        return self._ids[np.minimum(code_points, len(self._ids) - 1)]

    def layer(self) -> AlphabetLayer:
        """A layer that passes ids on, and by which a model carries this alphabet: put it right after the input."""
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
    """Passes on what it reads, and carries the alphabet of a model's ids with the model: `Alphabet.layer()`.

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
    """The code points of a text; halves of surrogate pairs by themselves too, as a str may hold them."""
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4")


def _layers(model: Any) -> list[Any]:
    """The layers of a model, those of models in it among them."""
    return [part for layer in model.layers for part in (_layers(layer) if hasattr(layer, "layers") else [layer])]
