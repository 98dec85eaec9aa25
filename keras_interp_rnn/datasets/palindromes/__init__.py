"""Palindromes w w^-1 over a to z, and strings that are none, through TFDS.

    words = palindromes.load("train", "small")
    words.words[0], words.labels[0], words.positives
    words.ids(start=True, end=True)                  # int32, padded by 0
    palindromes.builder("small").info.metadata      # how many words and positives each split has

Splits: train and validation (at most 100 symbols), and the three test sets of the paper's table 3: test_l100,
test_l200, test_l500, 500 words of either label each. The paper does not give the numbers of words: they are those of
`balanced_parentheses`.

A negative is a palindrome in which each letter was redrawn with probability 1/2: the outermost two or three pairs of
letters give nearly all of them away, so nothing has to be remembered. In "small_near" and "large_near" it differs from
a palindrome in one letter.

Reference: Wang, Lawrence and Niepert, "State-Regularized Recurrent Neural Networks", 2022, section 5.2 and table 3.
"""

from typing import Any

from keras_interp_rnn.datasets.labelled_words import LabelledWords, PathLike, built, loaded

__all__ = ["builder", "load"]


def builder(config: str = "small", seed: int = 0, data_dir: PathLike | None = None) -> Any:
    """Returns the TFDS builder, its data prepared.

    Args:
        config: "small", "large", "small_near", "large_near".
        seed: of the words; other seeds lie in other folders.
        data_dir: where prepared data lie; TFDS's own default.

    Raises:
        ImportError: if `tensorflow_datasets` is missing.
        ValueError: if `config` is unknown or `seed` is none.
    """
    return built("palindromes", config, seed, data_dir)


def load(split: str, config: str = "small", seed: int = 0, data_dir: PathLike | None = None) -> LabelledWords:
    """Returns the words of a split.

    Args:
        split: one of those above, or a slice of one in TFDS's notation ("train[:10%]").
        config, seed, data_dir: as `builder`.

    Raises:
        ImportError, ValueError: as `builder`.
    """
    return loaded(builder(config, seed, data_dir), split)
