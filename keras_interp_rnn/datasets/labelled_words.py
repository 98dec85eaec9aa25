"""Words of a formal language and words outside it: what the builders of languages hold, and how networks read them."""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["LabelledWords"]

PathLike = str | os.PathLike[str]


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

    @property
    def start_id(self) -> int:
        return 1

    @property
    def end_id(self) -> int:
        return len(self.alphabet) + 2

    def ids(self, start: bool = False, end: bool = False, length: int | None = None) -> NDArray[np.int32]:
        """The words as rows of ids: padding 0, start token 1, symbol i of the alphabet i + 2, then the end token.

        These are the ids of `automata.train_recognizer` too.

        Args:
            start, end: whether a token stands before and after every word.
            length: of the rows; None for the longest.

        Returns:
            int32 (words, length), padded at the end.

        Raises:
            ValueError: if a word is longer than `length` leaves room for.
        """
        code = {symbol: i + 2 for i, symbol in enumerate(self.alphabet)}
        longest = max(map(len, self.words), default=0) + start + end
        if length is not None and longest > length:
            raise ValueError(
                f"A row holds its word and the tokens. Received: length={length}, and a word that needs {longest}."
            )
        rows = np.zeros((len(self), longest if length is None else length), np.int32)
        for row, word in zip(rows, self.words, strict=True):
            line = [*[self.start_id] * start, *(code[symbol] for symbol in word), *[self.end_id] * end]
            row[: len(line)] = line
        return rows


def built(name: str, builder_class: Callable[[], Any], config: str, seed: int, data_dir: PathLike | None) -> Any:
    """The TFDS builder of a language, its data prepared."""
    try:
        import tensorflow_datasets as tfds
    except ImportError as error:
        raise ImportError(
            f"`datasets.{name}` needs tensorflow_datasets ({error}): pip install keras_interp_rnn[datasets]"
        ) from error
    from keras_interp_rnn.datasets._language_builder import LanguageConfig

    builder = builder_class()
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
    made = builder(config=chosen, data_dir=data_dir)
    with contextlib.redirect_stderr(io.StringIO()):  # eight progress bars for a few seconds' work
        made.download_and_prepare(download_config=tfds.download.DownloadConfig(try_download_gcs=False))
    return made


def loaded(made: Any, split: str) -> LabelledWords:
    """A split of a prepared builder."""
    import tensorflow_datasets as tfds

    in_order = tfds.ReadConfig(interleave_cycle_length=1, try_autocache=False)
    examples = list(tfds.as_numpy(made.as_dataset(split=split, shuffle_files=False, read_config=in_order)))
    words = tuple(example["word"].decode("ascii") for example in examples)
    return LabelledWords(words, np.array([example["label"] for example in examples], bool), made.ALPHABET)
