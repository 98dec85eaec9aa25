"""Palindromes w w^-1 over a to z, and strings that are none, through TFDS.

    words = palindromes.load("train", config="small")
    words.words[0], words.labels[0], words.positives
    words.ids(start=True, end=True)                  # int32, padded with 0
    palindromes.builder("small").info.metadata       # numbers of words and positives of each split

Splits: train and validation (at most 100 symbols), and the three test sets of the paper's table 3, with 500 words of
either label each: test_l100, test_l200, test_l500. The paper does not give the numbers of training and validation
words; they are those of `balanced_parentheses`.

A negative is a palindrome in which each letter was redrawn with probability 1/2: the outermost two or three pairs of
letters give nearly all of them away, so nothing has to be remembered. In "small_near" and "large_near" it differs from
a palindrome in one letter.

Reference: Wang, Lawrence and Niepert, "State-Regularized Recurrent Neural Networks", 2022, section 5.2 and table 3.
"""

from typing import Any

from keras_interp_rnn.datasets.labelled_words import LabelledWords, PathLike, built, loaded

__all__ = ["builder", "load"]


def builder(config: str = "small", *, seed: int = 0, data_dir: PathLike | None = None) -> Any:
    """Prepares the data, and returns their TFDS builder.

    Args:
        config: "small", "large", "small_near" or "large_near".
        seed: int >= 0, of the words; each seed has its own folder.
        data_dir: folder of prepared data; None for TFDS's default.

    Returns:
        The builder; its `info.metadata` has the number of words and of words in the language of each split.

    Raises:
        ImportError: if `tensorflow_datasets` is missing.
        ValueError: if `config` is unknown, or `seed` is not an integer >= 0.

    Example:

    >>> from keras_interp_rnn.datasets import palindromes
    >>> palindromes.builder("small").info.metadata["splits"]["test_l500"]
    {'words': 1000, 'positives': 500}
    """
    return built("palindromes", config, seed, data_dir)


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

    >>> from keras_interp_rnn.datasets import palindromes
    >>> words = palindromes.load("train", config="small")
    >>> len(words), words.positives
    (1008, 601)
    """
    return loaded(builder(config, seed=seed, data_dir=data_dir), split)
