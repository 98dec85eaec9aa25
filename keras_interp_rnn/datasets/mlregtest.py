"""MLRegTest: words labelled by regular languages of known classes, none of them short (van der Poel et al., 2024).

    mlregtest.languages(source="mlregtest")                                    # names, such as 04.03.TLT.2.1.0
    mlregtest.load("train", language="04.03.TLT.2.1.0", source="mlregtest")    # 10,000 words of length 20 to 29
    mlregtest.automaton("04.03.TLT.2.1.0", source="mlregtest")                 # the language itself

This package has none of the benchmark's automata (CC BY 4.0): `source` is a folder of its files `NAME.att`, or a .tar,
.tar.gz or .tar.xz archive of it. A name says the size of the alphabet, that of its part which the rule is about, the
class, and the rule's parameters. The words are drawn here after the benchmark's protocol, from a seed:

| split | words |
|---|---|
| `train`, `validation` | of 20 to 29 symbols; a word may come twice, but none of `validation` is in `train` |
| `short_random`, `long_random` | of 20 to 29, and of 31 to 50; none twice, none in `train` or `validation` |
| `short_adversarial`, `long_adversarial` | such words in pairs, one in the language, one not, one edit apart |

Half of the words are in the language, and equally many of each length, drawn uniformly among all that there are. Where
there are too few different ones, a split has fewer.

Reference: van der Poel et al., "MLRegTest: a benchmark for the machine learning of regular languages", Journal of
Machine Learning Research 25 (283), 2024.
"""

from __future__ import annotations

import os

import numpy as np

from keras_interp_rnn._numbers import at_least
from keras_interp_rnn.automata import DFA
from keras_interp_rnn.datasets import _drawn_words
from keras_interp_rnn.datasets._arguments import one_of
from keras_interp_rnn.datasets._files import DataError, member, members
from keras_interp_rnn.datasets.labelled_words import LabelledWords

__all__ = ["SPLITS", "automaton", "languages", "load"]

PathLike = str | os.PathLike[str]

SPLITS = ("train", "validation", "short_random", "long_random", "short_adversarial", "long_adversarial")
"""The names of the sets of words."""

WHAT = "the benchmark's automata"


def languages(*, source: PathLike) -> tuple[str, ...]:
    """The names of the languages.

    Args:
        source: a folder of files `NAME.att`, or a .tar, .tar.gz or .tar.xz archive of it.

    Returns:
        The names, in order.

    Raises:
        datasets.DataError: if there is no such file at `source`.

    Example:

    >>> from keras_interp_rnn.datasets import mlregtest
    >>> mlregtest.languages(source="mlregtest")
    ('02.02.SL.2.1.0',)
    """
    return tuple(name.removesuffix(".att") for name in members(source, ".att", WHAT))


def automaton(language: str, *, source: PathLike) -> DFA:
    """Loads a language as its minimal complete automaton.

    Args:
        language: its name.
        source: as `languages`.

    Returns:
        The automaton, whose symbols are one-character strings.

    Raises:
        datasets.DataError: if there is no such language at `source`, or its file is damaged.

    Example:

    >>> from keras_interp_rnn.datasets import mlregtest
    >>> mlregtest.automaton("02.02.SL.2.1.0", source="mlregtest").accepts("abab")
    True
    """
    name = f"{language}.att"
    text = member(source, name, WHAT, "name of the language")
    try:
        dfa = DFA.from_att(text)
    except ValueError as error:
        raise DataError(f"{name} must be an automaton. Received: {error} Unpack the archive again.") from None
    if any(len(str(symbol)) != 1 for symbol in dfa.alphabet):
        raise DataError(f"Symbols of {name} have one character. Received: {dfa.alphabet[:8]}. Unpack it again.")
    return dfa.minimize()


def load(split: str, *, language: str, source: PathLike, num_words: int = 10_000, seed: int = 0) -> LabelledWords:
    """Draws the words of a split; the same arguments give the same words.

    Args:
        split: one of `SPLITS`.
        language: its name.
        source: as `languages`.
        num_words: even, at least 2; the benchmark has 1,000, 10,000 and 100,000.
        seed: int >= 0.

    Returns:
        The words and their labels, in random order; pairs stay together.

    Raises:
        ValueError: if `split` is none of the six, or `num_words` or `seed` is no such number.
        datasets.DataError: as `automaton`; if the language has no words of these lengths, or no others.

    Example:

    >>> from keras_interp_rnn.datasets import mlregtest
    >>> words = mlregtest.load("train", language="02.02.SL.2.1.0", source="mlregtest", num_words=40)
    >>> len(words), words.positives, max(map(len, words.words))
    (40, 20, 29)
    """
    one_of("split", split, SPLITS)
    for name, value, least in (("num_words", num_words, 2), ("seed", seed, 0)):
        at_least(name, value, least)
    if num_words % 2:
        raise ValueError(
            f"Half of the words are in the language. Received: num_words={num_words}. Give an even number."
        )
    dfa = automaton(language, source=source)
    drawn, labels = _drawn_words.draw(dfa, split, num_words, seed)
    if not any(labels) or all(labels):
        raise DataError(
            f"A split has words in the language and words not in it. Received: {language}, with {sum(labels)} and "
            f"{len(labels) - sum(labels)} of them for the split {split!r}. Choose another language."
        )
    together = 2 if split.endswith("adversarial") else 1
    order = np.random.default_rng([seed, 1]).permutation(len(drawn) // together)
    rows = (order[:, None] * together + np.arange(together)).ravel()
    letters = np.array(dfa.alphabet)
    words = tuple("".join(letters[drawn[row]]) for row in rows)
    return LabelledWords(words, np.array(labels, bool)[rows], "".join(map(str, dfa.alphabet)))
