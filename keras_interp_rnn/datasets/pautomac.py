r"""PAutomaC, the competition on learning probabilistic automata (Verwer, Eyraud and de la Higuera, 2014).

    train = pautomac.load("train", problem=6, source="pautomac")        # words drawn from a machine
    test = pautomac.load("test", problem=6, source="pautomac")
    pautomac.perplexity(estimates, pautomac.solution(6, source="pautomac"))

The data may be used for academic research; this package has none of them. A problem is the files `6.pautomac.train`,
`6.pautomac.test`, `6.pautomac_solution.txt` and `6.pautomac_model.txt`, in a folder or in an archive of it.

Reference: Verwer, Eyraud, de la Higuera, "PAutomaC: a probabilistic automata and hidden Markov models learning
competition", Machine Learning, 2014.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from keras_interp_rnn._results import short_repr
from keras_interp_rnn.datasets._arguments import one_of
from keras_interp_rnn.datasets._files import DataError, member

__all__ = ["Machine", "Words", "load", "machine", "perplexity", "solution"]

PathLike = str | os.PathLike[str]
Array = NDArray[np.float64]


@short_repr
@dataclass(frozen=True, eq=False)
class Words:
    """Words of a problem.

    Attributes:
        words: int32 arrays of ids in [0, num_symbols), in the order of the file.
        num_symbols: size of the alphabet.
    """

    words: tuple[NDArray[np.int32], ...]
    num_symbols: int


@short_repr
@dataclass(frozen=True, eq=False)
class Machine:
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
    """Loads the words of a problem.

    Args:
        split: "train" or "test".
        problem: its number in the competition, 1 to 48.
        source: the folder with the competition's files, or a .tar, .tar.gz or .tar.xz archive of it.

    Returns:
        `Words`.

    Raises:
        ValueError: if `split` is neither of the two.
        datasets.DataError: if there is no such problem at `source`, or its file is damaged.

    Example:

    >>> from keras_interp_rnn.datasets import pautomac
    >>> pautomac.load("train", problem=1, source="pautomac").words
    (array([0, 2], dtype=int32), array([], dtype=int32), array([1], dtype=int32))
    """
    one_of("split", split, ("train", "test"))
    name = f"{problem}.pautomac.{split}"
    rows = [_integers(line, name) for line in _lines(source, name)]
    if not rows or len(rows[0]) != 2 or rows[0][0] != len(rows) - 1:
        raise DataError(
            f"{name} begins with the number of its words and of its symbols, then a line for each. Received: "
            f"{rows[0] if rows else 'an empty file'} before {max(len(rows) - 1, 0)} lines. Unpack the archive again."
        )
    num_symbols = rows[0][1]
    for row in rows[1:]:
        if not row or row[0] != len(row) - 1 or any(not 0 <= symbol < num_symbols for symbol in row[1:]):
            raise DataError(
                f"A line of {name} is the length of its word and that many symbols in [0, {num_symbols}). Received: "
                f"{row[:20]}. Unpack the archive again."
            )
    return Words(tuple(np.array(row[1:], np.int32) for row in rows[1:]), num_symbols)


def solution(problem: int, *, source: PathLike) -> Array:
    """Loads the probabilities of a problem's test words under its machine, which sum to 1 over the test words.

    Args:
        problem: its number in the competition.
        source: as `load`.

    Returns:
        float64 (num_words,).

    Raises:
        datasets.DataError: if there is no such problem at `source`, or its file is damaged.

    Example:

    >>> from keras_interp_rnn.datasets import pautomac
    >>> pautomac.solution(1, source="pautomac")
    array([0.75, 0.25])
    """
    name = f"{problem}.pautomac_solution.txt"
    lines = _lines(source, name)
    try:
        count, *values = (float(line) for line in lines)
    except ValueError as error:
        raise DataError(f"{name} holds a number a line. Received: {error}. Unpack the archive again.") from None
    if count != len(values) or not values or not np.isfinite(values).all() or min(values) < 0:
        raise DataError(
            f"{name} begins with the number of probabilities that follow. Received: {count:g} before {len(values)}, or "
            "a number below 0. Unpack the archive again."
        )
    return np.array(values)


def machine(problem: int, *, source: PathLike) -> Machine:
    """Loads the machine that drew a problem's words.

    Args:
        problem: its number in the competition.
        source: as `load`.

    Returns:
        `Machine`.

    Raises:
        datasets.DataError: if there is no such problem at `source`, or its file is damaged.

    Example:

    >>> from keras_interp_rnn.datasets import pautomac
    >>> pautomac.machine(1, source="pautomac").stop
    array([0. , 0.5])
    """
    name = f"{problem}.pautomac_model.txt"
    tables: dict[str, dict[tuple[int, ...], float]] = {letter: {} for letter in "IFST"}
    current: dict[tuple[int, ...], float] | None = None
    for line in _lines(source, name):
        heading = re.fullmatch(r"([IFST]):\s*(?:\([a-z, ]*\))?\s*", line)
        entry = re.fullmatch(r"\s*\(([\d,]+)\)\s+(\S+)\s*", line)
        if heading:
            current = tables[heading[1]]
        elif entry and current is not None:
            try:
                key, value = tuple(int(part) for part in entry[1].split(",")), float(entry[2])
            except ValueError:
                raise _damaged(name, line) from None
            if key in current or not 0 <= value <= 1:
                raise _damaged(name, line)
            current[key] = value
        elif line.strip():
            raise _damaged(name, line)
    ranks = {"I": 1, "F": 1, "S": 2, "T": 3}
    if any(len(key) != ranks[letter] for letter, table in tables.items() for key in table) or not tables["S"]:
        raise _damaged(name, "a table of other columns, or none of symbols")
    states = 1 + max(
        max(key[0] for table in tables.values() for key in table), max((key[2] for key in tables["T"]), default=0)
    )
    symbols = 1 + max(key[1] for letter in "ST" for key in tables[letter])
    arrays = {"I": np.zeros(states), "F": np.zeros(states), "S": np.zeros((states, symbols))}
    arrays["T"] = np.zeros((states, symbols, states))
    for letter, table in tables.items():
        for key, value in table.items():
            arrays[letter][key] = value
    return Machine(arrays["I"], arrays["F"], arrays["S"], arrays["T"])


def perplexity(estimates: ArrayLike, targets: ArrayLike) -> float:
    r"""The competition's score of estimated probabilities of the test words, $2^{-\sum_w p(w) \log_2 q(w)}$.

    Args:
        estimates: (num_words,), above 0; divided by their sum, they are q.
        targets: (num_words,), the machine's, as `solution`; divided by their sum, they are p.

    Returns:
        The perplexity: at least that of the machine itself, `perplexity(targets, targets)`.

    Raises:
        ValueError: if there is no word, the shapes differ, an estimate is not above 0, a target is below 0, or all are
            0.

    Example:

    >>> from keras_interp_rnn.datasets import pautomac
    >>> pautomac.perplexity([0.5, 0.5], [0.75, 0.25])
    2.0
    """
    q, p = np.asarray(estimates, np.float64), np.asarray(targets, np.float64)
    paired = q.ndim == 1 and q.shape == p.shape and q.size
    if not paired or not (q > 0).all() or not (p >= 0).all() or not np.isfinite(q.sum()) or not 0 < p.sum() < np.inf:
        raise ValueError(
            "Estimates and targets are one probability for each test word; estimates are above 0, targets not all 0. "
            "Received: "
            f"shapes {q.shape} and {p.shape}, the least estimate {q.min(initial=np.inf):.3g}. Smooth the estimates."
        )
    return float(2.0 ** -(p / p.sum() @ np.log2(q / q.sum())))


def _lines(source: PathLike, name: str) -> list[str]:
    """The lines of a file in a folder, or in an archive."""
    return member(source, name, "the competition's files", "number of the problem", "ascii").splitlines()


def _integers(line: str, name: str) -> list[int]:
    try:
        return [int(part) for part in line.split()]
    except ValueError:
        raise _damaged(name, line) from None


def _damaged(name: str, line: str) -> DataError:
    return DataError(f"{name} has a line that is none of its format. Received: {line[:60]!r}. Unpack it again.")
