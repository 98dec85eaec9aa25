"""Acceptors as AT&T tables, as OpenFst, foma and the MLRegTest benchmark write them."""

from __future__ import annotations

import math
import re

from keras_interp_rnn.automata import DFA

NO_SYMBOL = re.compile(r"|ε|<eps>|<epsilon>|@0@|@_\w+_@|@[CDENPRU]\.[^@]+@")
"""Names that programs write for no symbol (epsilon), for any other symbol, or for a flag."""


def read_att(text: str) -> DFA:
    r"""The automaton of an AT&T table.

    Args:
        text: a line `from to symbol symbol [weight]` for each edge, and a line `state [weight]` for each accepting
            state; states are numbers. The first state named is the start. Lines may name the symbol once, as in the
            output of `fstprint --acceptor`; finite weights are ignored.

    Returns:
        An automaton whose states are numbered in the order in which they are first named; its symbols are sorted.

    Raises:
        ValueError: if a line cannot be read, reads no symbol or a class of symbols, writes another symbol or has an
            infinite weight; if two edges of a state read the same symbol.

    Example:

    >>> even = read_att("0 1 a a\n1 0 a a\n0")
    >>> even.accepts("aa"), even.accepts("a")
    (True, False)
    """
    numbers: dict[str, int] = {}
    edges: dict[tuple[int, str], int] = {}
    accepting: list[int] = []
    lines = [
        (number, line, line.split("\t") if "\t" in line else line.split())
        for number, line in enumerate(re.split("\r\n|\r|\n", text.removeprefix("\ufeff")), start=1)
        if line.strip()
    ]
    # Programs write the symbol of every edge twice; or once, and then a fourth field is a weight. Three fields, or a
    # fourth that is a fraction, mean once; an integer may be the output of a transducer.
    once = any(len(row) == 3 or (len(row) == 4 and row[2] != row[3] and _is_fraction(row[3])) for _, _, row in lines)
    for number, line, row in lines:
        received = f"Received: line {number}, {line[:60]!r}."
        states, symbols, weights = row[: 2 if len(row) > 2 else 1], row[2:4], row[4:] if len(row) > 2 else row[1:]
        if once and len(row) == 4 and row[2] != row[3]:
            symbols, weights = row[2:3], row[3:]
        values = [_number(weight) for weight in weights]
        are_states = all(state.isascii() and state.isdigit() for state in states)
        if not are_states or len(set(symbols)) > 1 or len(values) > 1 or not all(map(math.isfinite, values)):
            raise ValueError(
                "A line of an AT&T table must be `from to symbol symbol [weight]`, the symbol twice, or an accepting "
                f"state, `state [weight]`; states are numbers, and weights finite. {received} Pass an acceptor, not a "
                "transducer; write an integer weight as 1.0, not 1."
            )
        if symbols and NO_SYMBOL.fullmatch(symbols[0]):
            raise ValueError(
                f"Every edge of a deterministic automaton must read a symbol. {received} Remove the epsilon "
                "transitions and flags first, and write an edge for each symbol of a wildcard."
            )
        ends = [numbers.setdefault(state, len(numbers)) for state in states]
        if not symbols:
            accepting += ends
        elif edges.setdefault((ends[0], symbols[0]), ends[1]) != ends[1]:
            raise ValueError(
                f"From a state of a deterministic automaton one edge must read a symbol. {received} Determinize the "
                "automaton first."
            )
    alphabet = sorted({symbol for _, symbol in edges})
    rows = [[edges.get((state, symbol)) for symbol in alphabet] for state in numbers.values()]
    return DFA(rows, accepting, alphabet=alphabet)


def _number(field: str) -> float:
    """A field as a float; NaN if it is no number."""
    try:
        return float(field)
    except ValueError:
        return math.nan


def _is_fraction(field: str) -> bool:
    """Whether a field is a number that is not written as an integer."""
    return not math.isnan(_number(field)) and not re.fullmatch(r"[-+]?\d+", field)
