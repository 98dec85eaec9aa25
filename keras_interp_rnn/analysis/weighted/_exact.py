r"""Equality of two weighted automata on all words in exact arithmetic: floats are integers times powers of two.

The function of a weighted automaton is zero on all words if and only if it is zero on a basis of its forward space
(Schuetzenberger, 1961; Tzeng, 1992). The basis is found by elimination over the integers. Elimination modulo a prime
comes first, as it finds a difference faster: a number that is not 0 modulo a prime is not 0. Networks too large for
elimination may still be one network with its units in another order, which `have_same_units` finds without arithmetic.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from keras_interp_rnn._types import Array
from keras_interp_rnn.analysis.weighted.scaling import closed

Automaton = tuple[Array, Array, Array]

PRIME = 67_108_859
"""A prime below 2^26, so that sums of 2,048 products of residues fit into 63 bits."""

WORK = 1e9
"""Maximum number of operations on 64 bits in a proof: about a minute."""


def is_zero(initial: Array, transitions: Array, final: Array, *, up_to_constant: bool = False) -> bool | None:
    """Whether initial W_{x_1} ... W_{x_k} final is exactly 0 for all words; None if that would take too long.

    Args:
        up_to_constant: whether all outputs of a word may be the same number instead of 0.
    """
    size = len(initial)
    # The entries of a basis are minors: products of at most one number per vector of the basis.
    bits = size * _bits(transitions) + _bits(initial)
    if len(transitions) * size**3 * max(1.0, bits / 64) > WORK:
        return None
    columns = _columns(final, up_to_constant)
    modulo = _residues(initial), _residues(transitions), np.array(columns % PRIME, np.int64)
    return _vanishes(*modulo, _modulo_prime) and _vanishes(
        _integers(initial), _integers(transitions), columns, _primitive
    )


def have_same_units(first: Automaton, second: Automaton, *, up_to_constant: bool = False) -> bool:
    """Whether two automata are one with its states in another order, but for states that are never reached or seen.

    They are then equal on all words. The converse does not hold: equal automata can have quite different states.

    Args:
        first, second: (initial, transitions, final) of each, of as many symbols and outputs.
        up_to_constant: as for `is_zero`.
    """
    columns = _columns(np.concatenate([first[2], second[2]]), up_to_constant)
    one = _in_order(first, columns[: len(first[0])])
    other = _in_order(second, columns[len(first[0]) :])
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


def _in_order(automaton: Automaton, columns: Any) -> tuple[Array, Array, Any]:
    """An automaton without states that no word reaches or no output sees, ordered by their numbers alone."""
    initial, transitions, _ = automaton
    edges = (transitions != 0).any(axis=0)
    used = np.flatnonzero(closed(initial != 0, edges) & closed((columns != 0).any(axis=1), edges.T))
    inner = transitions[:, used[:, None], used]
    numbers = [initial[used, None], *np.sort(inner, axis=2), *np.swapaxes(np.sort(inner, axis=1), 1, 2)]
    order = np.lexsort(np.concatenate(numbers, axis=1).T)
    used = used[order]
    return initial[used], transitions[:, used[:, None], used], columns[used]


def _columns(final: Array, up_to_constant: bool) -> Any:
    """Final vectors as integers; less the first vector if constants do not count."""
    columns = _integers(final)
    return columns[:, 1:] - columns[:, :1] if up_to_constant else columns


def _bits(array: Array) -> int:
    """Maximum number of bits of the entries of an array as integers times one power of two."""
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


def _vanishes(initial: Any, transitions: Any, final: Any, reduced: Callable[[Any], Any]) -> bool:
    """Whether the function is 0, by elimination over integers; `reduced` makes a multiple of a vector short."""
    rows: list[tuple[int, Any]] = []  # (pivot, vector), each zero at the pivots before it
    waiting = deque([initial])
    while waiting:
        vector = waiting.popleft()
        for pivot, row in rows:
            if vector[pivot]:
                vector = reduced(vector * row[pivot] - row * vector[pivot])
        used = np.flatnonzero(vector)
        if not len(used):
            continue
        if reduced(vector @ final).any():
            return False
        rows.append((int(used[0]), vector))
        waiting.extend(reduced(vector @ matrix) for matrix in transitions)
    return True


def _primitive(vector: Any) -> Any:
    """The vector without a common factor, so that entries stay as short as minors."""
    return vector // (math.gcd(*vector.tolist()) or 1)


def _modulo_prime(vector: Any) -> Any:
    return vector % PRIME


def _residues(array: Array) -> NDArray[np.int64]:
    mantissas, exponents = np.frexp(array)
    numbers = np.ldexp(mantissas, 53).astype(np.int64) % PRIME
    powers = {int(e): pow(2, int(e) - 53, PRIME) for e in np.unique(exponents)}
    return np.asarray(numbers * np.vectorize(powers.__getitem__, otypes=[np.int64])(exponents) % PRIME)
