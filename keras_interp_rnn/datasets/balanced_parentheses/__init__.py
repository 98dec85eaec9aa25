"""Balanced parentheses among letters, and strings that do not balance, through TFDS.

    words = balanced_parentheses.load("train", config="small")
    words.words[0], words.labels[0], words.positives
    words.ids(start=True, end=True)                       # int32, padded with 0
    balanced_parentheses.builder("small").info.metadata   # numbers of words and positives of each split

Splits: train (depth 1 to 5, at most 100 symbols), validation (depth 6 to 10), and the six test sets of the paper's
table 1, with 500 words of either label each: test_d1_10_l100, test_d10_20_l100, test_d10_20_l200, test_d5_l200,
test_d10_l200, test_d20_l1000. The numbers of training and validation words and of their positives are the paper's.

The configs "small_paper" and "large_paper" draw positives as the paper does, by S -> ( S ) | S S | letter with
probability 1/3 for each rule: most are short, with a median of about ten symbols in training and 60 at depths 10 to 20.
In "small" and "large" all depths and many lengths are equally frequent, so that training strings are nearly as long as
test strings. A negative is a positive in which each symbol was redrawn with probability 1/2, as in the published data;
in the paper's configs the numbers of ( and ) differ. In "small_near" and "large_near" a negative differs from a
positive in one symbol.

Reference: Wang, Lawrence and Niepert, "State-Regularized Recurrent Neural Networks", 2022, section 5.2 and table 1.
"""

from typing import Any

from keras_interp_rnn.datasets.labelled_words import LabelledWords, PathLike, built, loaded

__all__ = ["builder", "load"]


def builder(config: str = "small", *, seed: int = 0, data_dir: PathLike | None = None) -> Any:
    """Prepares the data, and returns their TFDS builder.

    Args:
        config: "small", "large", "small_near", "large_near", "small_paper" or "large_paper".
        seed: int >= 0, of the words; each seed has its own folder.
        data_dir: folder of prepared data; None for TFDS's default.

    Returns:
        The builder; its `info.metadata` has the number of words and of words in the language of each split.

    Raises:
        ImportError: if `tensorflow_datasets` is missing.
        ValueError: if `config` is unknown, or `seed` is not an integer >= 0.

    Example:

    >>> from keras_interp_rnn.datasets import balanced_parentheses
    >>> balanced_parentheses.builder("small").info.metadata["splits"]["train"]
    {'words': 1008, 'positives': 601}
    """
    return built("balanced_parentheses", config, seed, data_dir)


def load(split: str, *, config: str = "small", seed: int = 0, data_dir: PathLike | None = None) -> LabelledWords:
    """Loads the words of a split. They are generated on the first call and nothing is downloaded.

    Args:
        split: one of the splits above, or a slice of one in TFDS's notation ("train[:10%]").
        config: as `builder`.
        seed: as `builder`.
        data_dir: as `builder`.

    Returns:
        The words, and whether each is in the language.

    Raises:
        ImportError: if `tensorflow_datasets` is missing.
        ValueError: if `split` or `config` is unknown, or `seed` is not an integer >= 0.

    Example:

    >>> from keras_interp_rnn.datasets import balanced_parentheses
    >>> words = balanced_parentheses.load("train", config="small")
    >>> len(words), words.positives
    (1008, 601)
    """
    return loaded(builder(config, seed=seed, data_dir=data_dir), split)
