"""Balanced parentheses among letters, and strings that do not balance, through TFDS.

    words = balanced_parentheses.load("train", "small")
    words.words[0], words.labels[0], words.positives
    words.ids(start=True, end=True)                  # int32, padded by 0
    balanced_parentheses.builder("small").info.metadata      # how many words and positives each split has

Splits: train (depth 1 to 5, at most 100 symbols), validation (depth 6 to 10), and the six test sets of the paper's
table 1, 500 words of either label each: test_d1_10_l100, test_d10_20_l100, test_d10_20_l200, test_d5_l200,
test_d10_l200, test_d20_l1000. Numbers of training and validation words and of their positives are the paper's.

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


def builder(config: str = "small", seed: int = 0, data_dir: PathLike | None = None) -> Any:
    """Returns the TFDS builder, its data prepared.

    Args:
        config: "small", "large", "small_near", "large_near", "small_paper", "large_paper".
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
