r"""Equality of two weighted automata on all words in exact arithmetic: floats are integers times powers of two.

The function of a weighted automaton is zero on all words if and only if it is on a basis of its forward space
(Schuetzenberger, 1961; Tzeng, 1992). The basis is found by elimination over the integers, after a look modulo a prime,
which finds a difference faster, if there is one: a number that is not 0 modulo a prime is not 0. Networks too large for
that may still be one network with its units in another order, which `have_same_units` sees without any arithmetic.
"""

from __future__ import annotations

import math
from collections import deque
from typing import Any

import numpy as np
from numpy.typing import NDArray

from keras_interp_rnn._types import Array
from keras_interp_rnn.analysis.weighted.scaling import closed

Automaton = tuple[Array, Array, Array]

PRIME = 67_108_859
"""Below 2^26, so that sums of 2,048 products of residues fit into 63 bits."""

WORK = 1e9
"""Operations on words of 64 bits that a proof may take: about a minute."""


def is_zero(initial: Array, transitions: Array, final: Array, *, up_to_constant: bool = False) -> bool | None:
    """Whether initial W_{x_1} ... W_{x_k} final is exactly 0 for all words; None where that would take too long.

    Args:
        up_to_constant: whether all outputs of a word may be the same number instead.
    """
    size = len(initial)
    # The entries of a basis are minors: products of at most one number per vector of the basis.
    bits = size * _bits(transitions) + _bits(initial)
    if len(transitions) * size**3 * max(1.0, bits / 64) > WORK:
        return None
    columns = _columns(final, up_to_constant)
    residues = np.array(columns % PRIME, np.int64)
    return _vanishes_modulo(initial, transitions, residues) and _vanishes(
        _integers(initial), _integers(transitions), columns
    )


def have_same_units(first: Automaton, second: Automaton, *, up_to_constant: bool = False) -> bool:
    """Whether two automata are one with its states in another order, but for states that are never reached or seen.

    They are then equal on all words. False says nothing: equal automata can have quite different states.

    Args:
        first, second: (initial, transitions, final) of each, of as many symbols and outputs.
        up_to_constant: as for `is_zero`.
    """
    columns = _columns(np.concatenate([first[2], second[2]]), up_to_constant)
    one = _in_order(first, columns[: len(first[0])])
    other = _in_order(second, columns[len(first[0]) :])
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


def _in_order(automaton: Automaton, columns: Any) -> tuple[Array, Array, Any]:
    """An automaton without the states that no word reaches or no output sees, in an order of their numbers alone."""
    initial, transitions, _ = automaton
    edges = (transitions != 0).any(axis=0)
    used = np.flatnonzero(closed(initial != 0, edges) & closed((columns != 0).any(axis=1), edges.T))
    inner = transitions[:, used[:, None], used]
    numbers = [initial[used, None], *np.sort(inner, axis=2), *np.swapaxes(np.sort(inner, axis=1), 1, 2)]
    order = np.lexsort(np.concatenate(numbers, axis=1).T)
    used = used[order]
    return initial[used], transitions[:, used[:, None], used], columns[used]


def _columns(final: Array, up_to_constant: bool) -> Any:
    """Final vectors as integers; less the first one where a constant does not count."""
    columns = _integers(final)
    return columns[:, 1:] - columns[:, :1] if up_to_constant else columns


def _bits(array: Array) -> int:
    """How many bits the integers have at most that an array is, times one power of two."""
    exponents = np.frexp(array[array != 0])[1]
    return int(53 + exponents.max() - exponents.min()) if exponents.size else 0


def _integers(array: Array) -> Any:
    """An array times one number, as Python's integers without a common factor."""
    mantissas, exponents = np.frexp(array)
    numbers = np.ldexp(mantissas, 53).astype(np.int64)
    used = numbers != 0
    least = int(exponents[used].min()) if used.any() else 0
    shifts = np.where(used, exponents - least, 0)
    whole = np.array([int(n) << int(s) for n, s in zip(numbers.ravel(), shifts.ravel(), strict=True)], object)
    common = math.gcd(*whole.tolist()) or 1
    return (whole // common).reshape(array.shape)


def _vanishes(initial: Any, transitions: Any, final: Any) -> bool:
    rows: list[tuple[int, Any]] = []  # (pivot, vector), each zero at the pivots before it
    waiting = deque([initial])
    while waiting:
        vector = waiting.popleft()
        for pivot, row in rows:
            if vector[pivot]:
                vector = _primitive(vector * row[pivot] - row * vector[pivot])
        used = np.flatnonzero(vector)
        if not len(used):
            continue
        if (vector @ final).any():
            return False
        rows.append((int(used[0]), vector))
        waiting.extend(_primitive(vector @ matrix) for matrix in transitions)
    return True


def _primitive(vector: Any) -> Any:
    """Without a common factor, so that entries grow no longer than minors do."""
    return vector // (math.gcd(*vector.tolist()) or 1)


def _vanishes_modulo(initial: Array, transitions: Array, columns: NDArray[np.int64]) -> bool:
    vector, matrices = _residues(initial), _residues(transitions)
    rows: list[tuple[int, Any]] = []
    waiting = deque([vector])
    while waiting:
        vector = waiting.popleft()
        for pivot, row in rows:
            if vector[pivot]:
                vector = (vector - row * vector[pivot]) % PRIME
        used = np.flatnonzero(vector)
        if not len(used):
            continue
        vector = vector * pow(int(vector[used[0]]), -1, PRIME) % PRIME
        if ((vector @ columns) % PRIME).any():
            return False
        rows.append((int(used[0]), vector))
        waiting.extend((vector @ matrix) % PRIME for matrix in matrices)
    return True


def _residues(array: Array) -> NDArray[np.int64]:
    mantissas, exponents = np.frexp(array)
    numbers = np.ldexp(mantissas, 53).astype(np.int64) % PRIME
    powers = {int(e): pow(2, int(e) - 53, PRIME) for e in np.unique(exponents)}
    return numbers * np.vectorize(powers.__getitem__, otypes=[np.int64])(exponents) % PRIME
