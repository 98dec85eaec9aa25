"""Words of a formal language and words outside it: what the builders of languages hold, and how networks read them."""

from __future__ import annotations

import importlib
import os
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from keras_interp_rnn._repr import short_repr
from keras_interp_rnn.automata.words import WordEncoding
from keras_interp_rnn.datasets import _tfds

__all__ = ["LabelledWords"]

PathLike = str | os.PathLike[str]


@short_repr
@dataclass(frozen=True, eq=False)
class LabelledWords:
    """Words, and whether each is in the language.

    Attributes:
        words: of one-character symbols. labels: bool (words,). alphabet: all symbols that words are made of.
    """

    words: tuple[str, ...]
    labels: NDArray[np.bool_]
    alphabet: str

    def __len__(self) -> int:
        return len(self.words)

    @property
    def positives(self) -> int:
        """How many are in the language."""
        return int(self.labels.sum())

    def up_to(self, length: int) -> LabelledWords:
        """Those of at most so many symbols."""
        short = np.array([len(word) <= length for word in self.words], bool)
        words = tuple(word for word, taken in zip(self.words, short, strict=True) if taken)
        return LabelledWords(words, self.labels[short], self.alphabet)

    @property
    def start_id(self) -> int:
        return self.encoding(start=True).tokens[0]

    @property
    def end_id(self) -> int:
        return self.encoding(end=True).tokens[0]

    def encoding(self, start: bool = False, end: bool = False) -> WordEncoding:
        """How `ids` writes the words: what `automata.extract` and its like take as the alphabet of a model.

        Args:
            start, end: whether a token stands before and after every word.
        """
        return WordEncoding.with_tokens(self.alphabet, start=start, end=end)

    def ids(self, start: bool = False, end: bool = False, length: int | None = None) -> NDArray[np.int32]:
        """The words as rows of ids: padding 0, start token 1, symbol i of the alphabet i + 2, then the end token.

        These are the ids of `automata.train_recognizer` too.

        Args:
            start, end: whether a token stands before and after every word.
            length: of the rows; None for the longest.

        Returns:
            int32 (words, length), padded at the end.

        Raises:
            ValueError: if a word is longer than `length` leaves room for, or has a symbol outside the alphabet.
        """
        return self.encoding(start, end).ids(self.words, length)


def built(name: str, config: str, seed: int, data_dir: PathLike | None) -> Any:
    """The TFDS builder of the language `datasets.<name>`, its data prepared."""
    _tfds.imported(name)
    from keras_interp_rnn.datasets._language_builder import LanguageConfig

    builder = importlib.import_module(f"keras_interp_rnn.datasets.{name}.{name}_dataset_builder").Builder
    if config not in builder.builder_configs:
        raise ValueError(
            f"`config` is one of {sorted(builder.builder_configs)}. Received: {config!r}. Choose one of them."
        )
    if seed != int(seed) or seed < 0:
        raise ValueError(f"A seed is an integer of at least 0. Received: seed={seed!r}.")
    chosen: Any = config
    if seed:
        description = builder.builder_configs[config].description
        chosen = LanguageConfig(name=f"{config}-seed{seed}", description=description, language=config, seed=int(seed))
    with _tfds.undamaged(_tfds.data_root(data_dir) / name):
        made = builder(config=chosen, data_dir=data_dir)
    return _tfds.prepare(made, quiet=True)


def loaded(made: Any, split: str) -> LabelledWords:
    """A split of a prepared builder."""
    examples = list(_tfds.in_order(made, split))
    words = tuple(example["word"].decode("ascii") for example in examples)
    return LabelledWords(words, np.array([example["label"] for example in examples], bool), made.ALPHABET)
