"""MLRegTest: words labelled by regular languages of known classes, none of them short (van der Poel et al., 2024).

    mlregtest.languages(source="mlregtest")                           # names, such as 04.03.TLT.2.1.0
    mlregtest.load("04.03.TLT.2.1.0", source="mlregtest")             # 10,000 words of 20 to 29 symbols
    mlregtest.automaton("04.03.TLT.2.1.0", source="mlregtest")        # the language itself

The benchmark's automata (CC BY 4.0) are not downloaded: a `source` is a folder of its files `NAME.att`, or a .tar,
.tar.gz or .tar.xz archive of it. A name has the size of the alphabet, the size of its part which the rule is about, the
class, and the rule's parameters. The training words are drawn here after the benchmark's protocol, from a seed: half of
them are in the language, and equally many of each length, uniformly among all that there are. A word may come twice.

Reference: van der Poel et al., "MLRegTest: a benchmark for the machine learning of regular languages", Journal of
Machine Learning Research 25 (283), 2024.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from examples.papers.data._sources import PathLike, files, parsing
from keras_interp_rnn.automata import DFA
from keras_interp_rnn.datasets import DataError, LabelledWords

Ints = NDArray[np.int64]

WHAT = "https://github.com/heinz-jeffrey/subregular-learning"

LENGTHS = range(20, 30)
"""Of the words."""


def languages(*, source: PathLike) -> tuple[str, ...]:
    """The names of the languages, in order."""
    return tuple(name.removesuffix(".att") for name in files(source, "*.att", what=WHAT))


def automaton(language: str, *, source: PathLike) -> DFA:
    """Loads a language as its minimal complete automaton, whose symbols are one-character strings."""
    name = f"{language}.att"
    with parsing(name, "an automaton over one-character symbols, in AT&T's format"):
        dfa = DFA.from_att(files(source, name, what=WHAT)[name].decode())
        if any(len(str(symbol)) != 1 for symbol in dfa.alphabet):
            raise ValueError(f"the alphabet {dfa.alphabet[:8]}")
    return dfa.minimize()


def load(language: str, *, source: PathLike, num_words: int = 10_000, seed: int = 0) -> LabelledWords:
    """Draws training words; the same arguments give the same words.

    Args:
        language: its name.
        source: the folder, or an archive of it.
        num_words: even; the benchmark has 1,000, 10,000 and 100,000.
        seed: int >= 0.

    Returns:
        The words and their labels, in random order.

    Raises:
        datasets.DataError: also if the language has no words of these lengths, or no others.
    """
    dfa = automaton(language, source=source)
    sampler, rng = Sampler(dfa), np.random.default_rng([seed, *b"train"])
    letters = np.array(dfa.alphabet)
    words: list[str] = []
    labels: list[bool] = []
    for i, length in enumerate(LENGTHS):
        number = num_words // 2 // len(LENGTHS) + (i < num_words // 2 % len(LENGTHS))
        for label in (True, False):
            drawn = sampler.words(label, length, number, rng)
            words += map("".join, letters[drawn])
            labels += [label] * len(drawn)
    if not any(labels) or all(labels):
        raise DataError(
            f"A language must have words in it and words not in it. Received: {language}, with {sum(labels)} and "
            f"{len(labels) - sum(labels)} of them. Choose another language."
        )
    order = np.random.default_rng([seed, 1]).permutation(len(words))
    return LabelledWords(tuple(words[i] for i in order), np.array(labels)[order], "".join(map(str, dfa.alphabet)))


class Sampler:
    """Uniform draws of words of one length, by the number of completions of each state."""

    def __init__(self, dfa: DFA) -> None:
        complete = dfa.complete()
        self.table = np.array(complete.transitions, np.int64)
        self.start = complete.start
        self.accepting = np.isin(np.arange(len(complete)), list(complete.accepting))
        self.completions = {label: [(self.accepting == label).astype(int).tolist()] for label in (True, False)}
        """Label -> for each length and state, the exact number of words that lead to a state of the label."""

    def words(self, label: bool, length: int, number: int, rng: np.random.Generator) -> Ints:
        """(number, length) symbols of words of a label; (0, length) if there is none."""
        completions = self.completions[label]
        while len(completions) <= length:
            completions.append([sum(completions[-1][q] for q in row) for row in self.table.tolist()])
        if not completions[length][self.start]:
            return np.empty((0, length), np.int64)
        states = np.full(number, self.start)
        words = np.empty((number, length), np.int64)
        for t in range(length):
            here, after = completions[length - t], completions[length - t - 1]
            # Ratios of exact counts, rounded once.
            chances = [[after[q] / n if n else 0.0 for q in row] for n, row in zip(here, self.table, strict=True)]
            below = np.cumsum(chances, axis=1)[states]
            symbols = (rng.random((number, 1)) * below[:, -1:] >= below).sum(axis=1)
            words[:, t], states = symbols, self.table[states, symbols]
        return words
