"""Balanced parentheses among letters, and strings that do not balance, through TFDS.

    words = balanced_parentheses.load("train", "small")
    words.words[0], words.labels[0], words.positives
    words.ids(start=True, end=True)                  # int32, padded by 0
    balanced_parentheses.builder("small").info.metadata      # how many words and positives each split has

Splits: train (depth 1 to 5, at most 100 symbols), validation (depth 6 to 10), and the six test sets of the paper's
table 1, 500 words of either label each: test_d1_10_l100, test_d10_20_l100, test_d10_20_l200, test_d5_l200,
test_d10_l200, test_d20_l1000. Numbers of training and validation words and of their positives are the paper's.

A negative is a positive in which each symbol was drawn anew with probability 1/2, as in the published data: most of
those are so far from balanced that a network need not count exactly. In the configs "small_near" and "large_near" it
differs from a positive in one symbol.

Reference: Wang, Lawrence and Niepert, "State-Regularized Recurrent Neural Networks", 2022, section 5.2 and table 1.
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
    return built("balanced_parentheses", config, seed, data_dir)


def load(split: str, config: str = "small", seed: int = 0, data_dir: PathLike | None = None) -> LabelledWords:
    """Returns the words of a split.

    Args:
        split: one of those above, or a slice of one in TFDS's notation ("train[:10%]").
        config, seed, data_dir: as `builder`.

    Raises:
        ImportError, ValueError: as `builder`.
    """
    return loaded(builder(config, seed, data_dir), split)
