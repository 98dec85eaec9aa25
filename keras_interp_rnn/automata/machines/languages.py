"""The seven languages of Tomita, 1982, the usual benchmark of automaton extraction."""

from __future__ import annotations

from keras_interp_rnn._checks import invalid, is_integer
from keras_interp_rnn.automata.machines.dfa import DFA

DESCRIPTIONS = {
    1: "1*",
    2: "(10)*",
    3: "no odd number of 0s in a row comes anywhere after an odd number of 1s in a row",
    4: "no three 0s in a row",
    5: "an even number of 0s and an even number of 1s",
    6: "the numbers of 0s and of 1s differ by a multiple of 3",
    7: "0*1*0*1*",
}

_TABLES: dict[int, tuple[list[list[int]], set[int]]] = {
    1: ([[-1, 0]], {0}),
    2: ([[-1, 1], [0, -1]], {0}),
    # Even run of 1s; odd run of 1s; after it an odd run of 0s, which may not end; after it anything else.
    3: ([[0, 1], [2, 0], [3, -1], [2, 3]], {0, 1, 3}),
    4: ([[1, 0], [2, 0], [-1, 0]], {0, 1, 2}),
    5: ([[1, 2], [0, 3], [3, 0], [2, 1]], {0}),
    6: ([[1, 2], [2, 0], [0, 1]], {0}),
    7: ([[0, 1], [2, 1], [2, 3], [-1, 3]], {0, 1, 2, 3}),
}


def tomita(number: int) -> DFA:
    """The minimal complete automaton of one of Tomita's languages over "0" and "1".

    Args:
        number: 1 to 7, see `DESCRIPTIONS`.

    Raises:
        ValueError: for another number.

    Example:

    >>> tomita(4).accepts("1001"), tomita(4).accepts("10001")
    (True, False)

    Reference: Tomita, 1982, "Dynamic Construction of Finite Automata from Examples Using Hill-Climbing". The third is
        read as in the published comparisons (Weiss, Goldberg and Yahav, 2018; AALpy), where "after" means anywhere
        after, not only directly after. The seventh is 0*1*0*1*.
    """
    if not is_integer(number) or number not in _TABLES:
        raise invalid("number", "an integer from 1 to 7", number)
    table, accepting = _TABLES[number]
    return DFA(table, accepting).minimize()
