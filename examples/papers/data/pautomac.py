r"""PAutomaC, the competition on learning probabilistic automata (Verwer, Eyraud and de la Higuera, 2014).

    train = pautomac.load("train", problem=6, source="pautomac")        # words drawn from a machine
    pautomac.perplexity(estimates, pautomac.solution(6, source="pautomac"))

The data may be used for academic research, and are not downloaded. A problem is the files `6.pautomac.train`,
`6.pautomac.test`, `6.pautomac_solution.txt` and `6.pautomac_model.txt`; a `source` is the folder with them, or a .tar,
.tar.gz or .tar.xz archive of it.

Reference: Verwer, Eyraud, de la Higuera, "PAutomaC: a probabilistic automata and hidden Markov models learning
competition", Machine Learning, 2014.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from examples.papers.data._sources import PathLike, files, parsing

Array = NDArray[np.float64]

WHAT = "the competition's, of the problems that you ask for"


class Words(NamedTuple):
    """Words of a problem, int32 arrays of ids in [0, num_symbols), in the order of the file."""

    words: tuple[NDArray[np.int32], ...]
    num_symbols: int


class Machine(NamedTuple):
    """The machine that drew a problem's words, as `automata.WeightedAutomaton.from_hmm` takes it.

    Attributes:
        initial: (n,), probability of starting in each state.
        stop: (n,), probability that the word ends in a state, before a further symbol.
        emissions: (n, K), probability of each symbol in a state that does not stop.
        transitions: (n, K, n), probability of the next state after a state and a symbol.
    """

    initial: Array
    stop: Array
    emissions: Array
    transitions: Array


def load(split: str, *, problem: int, source: PathLike) -> Words:
    """Loads the words of a problem, its number in the competition; `split` is "train" or "test"."""
    name = f"{problem}.pautomac.{split}"
    with parsing(name, "the number of its words and of its symbols, then a line a word: its length, and its symbols"):
        (count, num_symbols), *rows = [[*map(int, line.split())] for line in _lines(source, name)]
        if count != len(rows):
            raise ValueError(f"{count} before {len(rows)} lines")
        for length, *word in rows:
            if length != len(word) or not all(0 <= symbol < num_symbols for symbol in word):
                raise ValueError(f"{length} before {word[:20]}, of {num_symbols} symbols")
        return Words(tuple(np.array(word, np.int32) for _, *word in rows), num_symbols)


def solution(problem: int, *, source: PathLike) -> Array:
    """Loads the probabilities of a problem's test words under its machine, which sum to 1 over the test words."""
    name = f"{problem}.pautomac_solution.txt"
    with parsing(name, "the number of its probabilities, and one a line"):
        count, *values = map(float, _lines(source, name))
        if count != len(values) or not all(0 <= value <= 1 for value in values):
            raise ValueError(f"{count:g} before {len(values)}, or a number outside of [0, 1]")
    return np.array(values)


def machine(problem: int, *, source: PathLike) -> Machine:
    """Loads the machine that drew a problem's words."""
    name = f"{problem}.pautomac_model.txt"
    with parsing(name, "four tables, I, F, S and T, of a key in parentheses and a probability a line"):
        tables: dict[str, dict[tuple[int, ...], float]] = {letter: {} for letter in "IFST"}
        current: dict[tuple[int, ...], float] | None = None
        for line in filter(str.strip, _lines(source, name)):
            if heading := re.fullmatch(r"([IFST]):\s*(?:\([a-z, ]*\))?\s*", line):
                current = tables[heading[1]]
                continue
            entry = re.fullmatch(r"\s*\(([\d,]+)\)\s+(\S+)\s*", line)
            key = tuple(map(int, entry[1].split(","))) if entry else ()
            if not entry or current is None or key in current or not 0 <= float(entry[2]) <= 1:
                raise ValueError(f"the line {line[:60]!r}")
            current[key] = float(entry[2])
        return Machine(*_arrays(tables))


def _arrays(tables: dict[str, dict[tuple[int, ...], float]]) -> list[Array]:
    """The four tables as arrays, 0 where they have no line."""
    axes = {"I": "q", "F": "q", "S": "qs", "T": "qsq"}
    sizes = {"q": 0, "s": 0}
    for letter, table in tables.items():
        for key in table:
            for axis, place in zip(axes[letter], key, strict=True):
                sizes[axis] = max(sizes[axis], place + 1)
    if not sizes["s"]:
        raise ValueError("no symbol")
    arrays = []
    for letter, table in tables.items():
        arrays.append(np.zeros([sizes[axis] for axis in axes[letter]]))
        for key, value in table.items():
            arrays[-1][key] = value
    return arrays


def perplexity(estimates: ArrayLike, targets: ArrayLike) -> float:
    r"""The competition's score of estimated probabilities of the test words, $2^{-\sum_w p(w) \log_2 q(w)}$.

    Args:
        estimates: (num_words,), above 0; divided by their sum, they are q.
        targets: (num_words,), the machine's, as `solution`; divided by their sum, they are p.

    Returns:
        The perplexity: at least that of the machine itself, `perplexity(targets, targets)`.

    Raises:
        ValueError: if the shapes differ, or an estimate is not above 0.
    """
    q, p = np.asarray(estimates, np.float64), np.asarray(targets, np.float64)
    if q.shape != p.shape or not (q > 0).all() or not np.isfinite(q.sum()):
        raise ValueError(
            "Estimates must be a finite probability above 0 for each test word. Received: shapes "
            f"{q.shape} and {p.shape}, the least estimate {q.min(initial=np.inf):.3g}. Smooth them."
        )
    return float(2.0 ** -(p / p.sum() @ np.log2(q / q.sum())))


def _lines(source: PathLike, name: str) -> list[str]:
    """The lines of a file."""
    return files(source, name, what=WHAT)[name].decode("ascii").splitlines()
