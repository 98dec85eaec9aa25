"""Words over "0" and "1", labelled by one of the seven languages of Tomita, through TFDS.

    words = tomita.load("train", "1")
    words.words[0], words.labels[0], words.positives
    words.ids(start=True, end=True)                  # int32, padded by 0
    tomita.builder("1").info.metadata      # how many words and positives each split has

Splits, apart by the length of their words: train (0 to 12, 16, 19, 22), validation (13 to 28 but for those), test
(30 to 1,000). Of each length up to 100 words in the language and 100 outside, all where there are fewer.

Reference: Tomita, 1982; Wang, Lawrence and Niepert, "State-Regularized Recurrent Neural Networks", 2022, section 5.1.
"""

from typing import Any

from keras_interp_rnn.datasets.labelled_words import LabelledWords, PathLike, built, loaded

__all__ = ["builder", "load"]


def builder(config: str, seed: int = 0, data_dir: PathLike | None = None) -> Any:
    """Returns the TFDS builder, its data prepared.

    Args:
        config: "1", "2", "3", "4", "5", "6", "7".
        seed: of the words; other seeds lie in other folders.
        data_dir: where prepared data lie; TFDS's own default.

    Raises:
        ImportError: if `tensorflow_datasets` is missing.
        ValueError: if `config` is unknown or `seed` is none.
    """
    return built("tomita", config, seed, data_dir)


def load(split: str, config: str, seed: int = 0, data_dir: PathLike | None = None) -> LabelledWords:
    """Returns the words of a split.

    Args:
        split: one of those above, or a slice of one in TFDS's notation ("train[:10%]").
        config, seed, data_dir: as `builder`.

    Raises:
        ImportError, ValueError: as `builder`.
    """
    return loaded(builder(config, seed, data_dir), split)
