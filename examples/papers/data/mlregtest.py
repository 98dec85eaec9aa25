"""MLRegTest: words labelled by regular languages of known classes, none of them short (van der Poel et al., 2024).

    mlregtest.languages(source="mlregtest")                                    # names, such as 04.03.TLT.2.1.0
    mlregtest.load("train", language="04.03.TLT.2.1.0", source="mlregtest")    # 10,000 words of length 20 to 29
    mlregtest.automaton("04.03.TLT.2.1.0", source="mlregtest")                 # the language itself

The benchmark's automata (CC BY 4.0) are not downloaded: a `source` is a folder of its files `NAME.att`, or a .tar,
.tar.gz or .tar.xz archive of it. A name has the size of the alphabet, the size of its part which the rule is about, the
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

import numpy as np
from numpy.typing import NDArray

from examples.papers.data._att import read_att
from examples.papers.data._sources import PathLike, files, parsing
from keras_interp_rnn.automata import DFA
from keras_interp_rnn.datasets import DataError, LabelledWords

Ints = NDArray[np.int64]

WHAT = "https://github.com/heinz-jeffrey/subregular-learning"

SPLITS = ("train", "validation", "short_random", "long_random", "short_adversarial", "long_adversarial")
"""The names of the sets of words."""

SHORT, LONG = range(20, 30), range(31, 51)
"""Lengths of the benchmark's words."""

TRIES = 60
"""Rounds in which words that are missing are drawn again."""


def languages(*, source: PathLike) -> tuple[str, ...]:
    return tuple(name.removesuffix(".att") for name in files(source, "*.att", what=WHAT))


def automaton(language: str, *, source: PathLike) -> DFA:
    """Loads a language as its minimal complete automaton, whose symbols are one-character strings."""
    name = f"{language}.att"
    with parsing(name, "an automaton over one-character symbols, in AT&T's format"):
        dfa = read_att(files(source, name, what=WHAT)[name].decode())
        if any(len(str(symbol)) != 1 for symbol in dfa.alphabet):
            raise ValueError(f"the alphabet {dfa.alphabet[:8]}")
    return dfa.minimize()


def load(split: str, *, language: str, source: PathLike, num_words: int = 10_000, seed: int = 0) -> LabelledWords:
    """Draws the words of a split; the same arguments give the same words.

    Args:
        split: one of `SPLITS`.
        language: its name.
        source: the folder, or an archive of it.
        num_words: even; the benchmark has 1,000, 10,000 and 100,000.
        seed: int >= 0.

    Returns:
        The words and their labels, in random order; pairs stay together.

    Raises:
        datasets.DataError: also if the language has no words of these lengths, or no others.
    """
    dfa = automaton(language, source=source)
    drawn, labels = _drawn(dfa, split, num_words, seed)
    if not any(labels) or all(labels):
        raise DataError(
            f"A split must have words in the language and words not in it. Received: {language}, with {sum(labels)} "
            f"and {len(labels) - sum(labels)} of them for the split {split!r}. Choose another language."
        )
    together = 2 if split.endswith("adversarial") else 1
    order = np.random.default_rng([seed, 1]).permutation(len(drawn) // together)
    rows = (order[:, None] * together + np.arange(together)).ravel()
    letters = np.array(dfa.alphabet)
    words = tuple("".join(letters[drawn[row]]) for row in rows)
    return LabelledWords(words, np.array(labels, bool)[rows], "".join(map(str, dfa.alphabet)))


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

    def accepts(self, words: Ints) -> NDArray[np.bool_]:
        """Whether each of words of one length, (number, length), is in the language."""
        states = np.full(len(words), self.start)
        for symbols in words.T:
            states = self.table[states, symbols]
        return self.accepting[states]


Drawn = tuple[list[Ints], list[bool]]
"""Words as symbols' places in the alphabet, and whether each is in the language."""


def _drawn(dfa: DFA, split: str, num_words: int, seed: int) -> Drawn:
    """The words of a split: as many of each length and label as there are, up to `num_words`.

    Each split has random numbers of its own; one that may not have words of another draws that too.
    """
    sampler = Sampler(dfa)
    seen: set[bytes] = set()
    for name in dict.fromkeys(("train", "validation", split)):
        rng = np.random.default_rng([seed, *name.encode()])
        lengths = LONG if name.startswith("long") else SHORT
        numbers = {
            length: num_words // 2 // len(lengths) + (i < num_words // 2 % len(lengths))
            for i, length in enumerate(lengths)
        }
        if name.endswith("adversarial"):
            return _pairs(sampler, numbers, rng, seen)
        words, labels = _random(sampler, numbers, rng, seen, repeated="random" not in name)
        if name == split:
            break
        seen |= {word.tobytes() for word in words}
    return words, labels


def _random(
    sampler: Sampler, numbers: dict[int, int], rng: np.random.Generator, apart: set[bytes], *, repeated: bool
) -> Drawn:
    """Words of every length, half of them in the language, none of them in `apart`."""
    words: list[Ints] = []
    labels: list[bool] = []
    for length, number in numbers.items():
        for label in (True, False):
            found: list[Ints] = []
            taken = set(apart)
            for _ in range(TRIES):
                if len(found) == number:
                    break
                for word in sampler.words(label, length, number - len(found), rng):
                    if word.tobytes() not in taken:
                        found.append(word)
                        if not repeated:
                            taken.add(word.tobytes())
            words += found
            labels += [label] * len(found)
    return words, labels


def _pairs(sampler: Sampler, numbers: dict[int, int], rng: np.random.Generator, apart: set[bytes]) -> Drawn:
    """Pairs of words of which one is in the language, and one edit of a symbol leads from one to the other."""
    words: list[Ints] = []
    labels: list[bool] = []
    taken = set(apart)
    for length, number in numbers.items():
        found = 0
        for round_ in range(TRIES):
            if found == number:
                break
            label = round_ % 2 == 0  # from either side: words of one label may be far from those of the other
            several = sampler.words(label, length, 2 * number, rng)
            edited = _edited(several, sampler.table.shape[1], range(min(numbers), max(numbers) + 1), rng)
            differ = np.flatnonzero(sampler.accepts(edited) != label)
            for word, other in zip(several[differ], edited[differ], strict=True):
                keys = {word.tobytes(), other.tobytes()}
                if found < number and taken.isdisjoint(keys):
                    taken |= keys
                    words += [word, other]
                    labels += [label, not label]
                    found += 1
    return words, labels


def _edited(words: Ints, num_symbols: int, lengths: range, rng: np.random.Generator) -> Ints:
    """The words with a symbol replaced, removed or inserted: the same in all, at a place of its own in each."""
    number, length = words.shape
    change = rng.choice([c for c in (-1, 0, 1) if length + c in lengths])
    place = rng.integers(length + (change == 1), size=(number, 1))
    symbols = rng.integers(num_symbols, size=(number, 1))
    at = np.arange(length + change)
    # Where each place of a word is read from: one further after a removed symbol, one less after an inserted one.
    source = at + (at >= place) if change < 0 else np.clip(at - (at > place) * change, 0, length - 1) + 0 * place
    kept = np.take_along_axis(words, source, axis=1)
    return kept if change < 0 else np.where(at == place, symbols, kept)
