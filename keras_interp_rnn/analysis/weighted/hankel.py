"""Hankel tables of functions of words: H(p, s) = f(ps) and H_x(p, s) = f(pxs) over prefixes p and suffixes s.

The first prefix and the first suffix are the empty word. `of_values` looks up a table. For `of_words` f(v) is the mean
number of occurrences of v in a word; all places of all words are counted at once, for two lengths at a time.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from keras_interp_rnn._checks import integer
from keras_interp_rnn._types import Array

Ids = NDArray[np.int64]


def learned(
    words: Sequence[Ids], values: Sequence[float] | None, rank: int, num_symbols: int, max_length: int, max_basis: int
) -> tuple[Array, Array, Array]:
    """The initial vector, the matrices and the final vector of `rank` states: see `WeightedAutomaton.from_hankel`.

    Args:
        values: of the words; None for drawn words, whose probabilities are estimated.

    Raises:
        ValueError: if a number is out of range, or the table does not have that rank.
    """
    integer("rank", rank)
    integer("max_length", max_length, 0)
    integer("max_basis", max_basis)
    if values is None:
        initial, transitions, final = factored(*of_words(words, num_symbols, max_length, max_basis), rank)
        rest = np.eye(rank) - transitions.sum(axis=0)
        return initial @ rest, transitions, rest @ final
    if not np.isfinite(values).all():
        raise ValueError("Values of words must be finite numbers. Received: NaN or infinity. Leave these words out.")
    pairs = [(word, float(value)) for word, value in zip(words, values, strict=True)]
    return factored(*of_values(pairs, num_symbols, max_length, max_basis), rank)


def of_values(
    words: Sequence[tuple[Ids, float]], num_symbols: int, max_length: int, max_basis: int
) -> tuple[Array, Array]:
    """H (P, S) and H_x (K, P, S) of a function given by its values.

    Args:
        words: (word, value); all other words have the value 0.
        num_symbols: K. max_length: of prefixes and suffixes. max_basis: of prefixes and of suffixes, those with the
            largest values.
    """
    values = {tuple(word.tolist()): value for word, value in words}
    prefixes: dict[tuple[int, ...], float] = defaultdict(float)
    suffixes: dict[tuple[int, ...], float] = defaultdict(float)
    for word, value in values.items():
        for length in range(min(len(word), max_length) + 1):
            prefixes[word[:length]] += abs(value)
            suffixes[word[len(word) - length :]] += abs(value)
    rows, columns = (_chosen(parts, max_basis) for parts in (prefixes, suffixes))
    table = np.array([[values.get((*p, *s), 0.0) for s in columns] for p in rows])
    shifted = [[[values.get((*p, x, *s), 0.0) for s in columns] for p in rows] for x in range(num_symbols)]
    return table, np.array(shifted)


def of_words(words: Sequence[Ids], num_symbols: int, max_length: int, max_basis: int) -> tuple[Array, Array]:
    """H (P, S) and H_x (K, P, S) of the mean number of occurrences in a word.

    Args:
        words: of ids in [0, num_symbols). max_length, max_basis: as `of_values`, those most frequent.
    """
    # All words in one row, with another symbol before and after each, so that no run crosses two words.
    text = np.concatenate([[-1], *(np.append(word, -1) for word in words)]) if words else np.array([-1])
    base = num_symbols + 1
    longest = max(0, min(max_length, int(np.log(2.0**62) / np.log(base)) - 1))
    # Place i is before symbol i of the row; a word of T symbols has T + 1 places.
    places = np.arange(1, len(text))
    runs = [_runs(text, length, base) for length in range(longest + 1)]
    codes, counts = np.unique(np.concatenate([run[run > 0] for run in runs]), return_counts=True)
    chosen = np.append(0, codes[np.argsort(-counts, kind="stable")])[:max_basis]  # code 0 is the empty word
    order = np.argsort(chosen)

    def index(codes: Ids) -> Ids:
        """The index of each code among the chosen words; -1 for others."""
        at = np.minimum(np.searchsorted(chosen[order], codes), len(chosen) - 1)
        return np.where((codes >= 0) & (chosen[order][at] == codes), order[at], -1)

    starting = [index(run) for run in runs]  # at place i the chosen word is text[i : i + length]
    size = len(chosen)
    table, shifted = np.zeros((size, size)), np.zeros((num_symbols, size, size))
    for before in range(longest + 1):
        ended = places[places - before >= 1]
        prefix = starting[before][ended - before]
        ended, prefix = ended[prefix >= 0], prefix[prefix >= 0]
        for after in range(longest + 1):
            suffix = starting[after][ended]
            both = suffix >= 0
            np.add.at(table, (prefix[both], suffix[both]), 1)
            further = text[ended]
            suffix = starting[after][np.minimum(ended + 1, len(text) - 1)]
            both = (suffix >= 0) & (further >= 0)
            np.add.at(shifted, (further[both], prefix[both], suffix[both]), 1)
    total = max(len(words), 1)
    return table / total, shifted / total


def factored(table: Array, shifted: Array, rank: int) -> tuple[Array, Array, Array]:
    r"""The initial vector, the matrices and the final vector of the automaton of tables, from a decomposition.

    With the largest singular values and vectors, $H \approx U D V^T$, they are $H(\varepsilon, \cdot) V$,
    $D^{-1} U^T H_x V$ and $D^{-1} U^T H(\cdot, \varepsilon)$.

    Raises:
        ValueError: if the table does not have that rank.
    """
    left, values, right = np.linalg.svd(table, full_matrices=False)
    if rank > len(values) or not values[rank - 1] > 1e-12 * values[0]:
        size = int((values > 1e-12 * values.max(initial=0)).sum())
        raise ValueError(
            f"An automaton of {rank} states must have a table of that rank. Received: one of rank {size}, of shape "
            f"{table.shape}. Pass a smaller rank, or more or longer words."
        )
    back, to = left[:, :rank].T / values[:rank, None], right[:rank].T
    return table[0] @ to, back @ shifted @ to, back @ table[:, 0]


def _runs(text: Ids, length: int, base: int) -> Ids:
    """For each place the run of `length` symbols after it as one number; -1 if it is not within a word."""
    codes, inside = np.zeros(len(text), np.int64), np.ones(len(text), bool)
    for step in range(length):
        ahead = np.append(text[step:], np.full(step, -1))[: len(text)]
        inside &= ahead >= 0
        codes = codes * base + np.where(ahead >= 0, ahead + 1, 0)
    return np.where(inside, codes, -1)


def _chosen(parts: dict[tuple[int, ...], float], count: int) -> list[tuple[int, ...]]:
    """The empty word, then the words of the largest values; among equal values, short words first."""
    others = sorted((part for part in parts if part), key=lambda part: (-parts[part], len(part), part))
    return [(), *others][:count]
