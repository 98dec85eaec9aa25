"""Words over "0" and "1", labelled by one of the seven languages of Tomita, through TFDS.

    words = tomita.load("train", config="1")
    words.words[0], words.labels[0], words.positives
    words.ids(start=True, end=True)                  # int32, padded with 0
    tomita.builder("1").info.metadata                # numbers of words and positives of each split

The splits differ in the lengths of their words: train (0 to 12, 16, 19, 22), validation (13 to 28 except those of
train), test (30 to 1,000). Each length has up to 100 words in the language and 100 outside it, or all if there are
fewer.

Reference: Tomita, 1982; Wang, Lawrence and Niepert, "State-Regularized Recurrent Neural Networks", 2022, section 5.1.
"""

from typing import Any

from keras_interp_rnn.datasets.labelled_words import LabelledWords, PathLike, built, loaded

__all__ = ["builder", "load"]


def builder(config: str, *, seed: int = 0, data_dir: PathLike | None = None) -> Any:
    """Prepares the data, and returns their TFDS builder.

    Args:
        config: "1" to "7", the number of the language.
        seed: int >= 0, of the words; each seed has its own folder.
        data_dir: folder of prepared data; None for TFDS's default.

    Returns:
        The builder; its `info.metadata` has the number of words and of words in the language of each split.

    Raises:
        ImportError: if `tensorflow_datasets` is missing.
        ValueError: if `config` is unknown, or `seed` is not an integer >= 0.

    Example:

    >>> from keras_interp_rnn.datasets import tomita
    >>> tomita.builder("1").info.metadata["splits"]["train"]
    {'words': 1036, 'positives': 16}
    """
    return built("tomita", config, seed, data_dir)


def load(split: str, *, config: str, seed: int = 0, data_dir: PathLike | None = None) -> LabelledWords:
    """Loads the words of a split. They are generated on the first call and nothing is downloaded.

    Args:
        split: "train", "validation" or "test", or a slice of one in TFDS's notation ("train[:10%]").
        config: as `builder`.
        seed: as `builder`.
        data_dir: as `builder`.

    Returns:
        The words, and whether each is in the language.

    Raises:
        ImportError: if `tensorflow_datasets` is missing.
        ValueError: if `split` or `config` is unknown, or `seed` is not an integer >= 0.

    Example:

    >>> from keras_interp_rnn.datasets import tomita
    >>> words = tomita.load("train", config="1")
    >>> sorted(words.up_to(1).words)
    ['', '0', '1']
    """
    return loaded(builder(config, seed=seed, data_dir=data_dir), split)
