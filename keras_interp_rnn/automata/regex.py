"""Regular expressions to automata, by Glushkov's construction: positions in the expression become states."""

from __future__ import annotations

from dataclasses import dataclass

from keras_interp_rnn.automata.dfa import DFA


@dataclass
class _Part:
    """A part of an expression: whether it matches nothing at all, and where its matches begin and end."""

    empty: bool
    first: frozenset[int]
    last: frozenset[int]


class _Reader:
    """Reads an expression from left to right and gathers which position may follow which."""

    def __init__(self, expression: str, alphabet: tuple[str, ...]) -> None:
        self.expression, self.alphabet, self.place = expression, alphabet, 0
        self.symbols: list[str] = []
        self.follow: list[set[int]] = []

    def next(self) -> str:
        return self.expression[self.place] if self.place < len(self.expression) else ""

    def wrong(self, what: str) -> ValueError:
        return ValueError(
            f"A regular expression holds the symbols {''.join(self.alphabet)!r}, |, *, +, ? and pairs of parentheses. "
            f"Received: {self.expression!r}, {what} at place {self.place}."
        )

    def choice(self) -> _Part:
        part = self.sequence()
        while self.next() == "|":
            self.place += 1
            other = self.sequence()
            part = _Part(part.empty or other.empty, part.first | other.first, part.last | other.last)
        return part

    def sequence(self) -> _Part:
        part = _Part(True, frozenset(), frozenset())
        while self.next() not in ("", "|", ")"):
            other = self.repeated()
            for position in part.last:
                self.follow[position] |= other.first
            part = _Part(
                part.empty and other.empty,
                part.first | (other.first if part.empty else frozenset()),
                other.last | (part.last if other.empty else frozenset()),
            )
        return part

    def repeated(self) -> _Part:
        part = self.single()
        while self.next() and self.next() in "*+?":
            sign = self.next()
            self.place += 1
            if sign != "?":
                for position in part.last:
                    self.follow[position] |= part.first
            part = _Part(part.empty or sign != "+", part.first, part.last)
        return part

    def single(self) -> _Part:
        sign = self.next()
        if sign == "(":
            self.place += 1
            part = self.choice()
            if self.next() != ")":
                raise self.wrong("with no closing parenthesis")
            self.place += 1
            return part
        if sign not in self.alphabet:
            raise self.wrong(f"with {sign!r}")
        self.place += 1
        self.symbols.append(sign)
        self.follow.append(set())
        here = frozenset([len(self.symbols) - 1])
        return _Part(False, here, here)


def automaton(expression: str, alphabet: tuple[str, ...]) -> DFA:
    """A deterministic automaton of the expression, not minimal."""
    reader = _Reader(expression, alphabet)
    whole = reader.choice()
    if reader.next():
        raise reader.wrong(f"with {reader.next()!r}")
    # Sets of positions just read; -1 stands for the start.
    start = frozenset([-1])
    order = {start: 0}
    queue, rows = [start], []
    for positions in queue:
        reachable = set().union(*(whole.first if p == -1 else reader.follow[p] for p in positions))
        row: list[int | None] = []
        for symbol in alphabet:
            target = frozenset(p for p in reachable if reader.symbols[p] == symbol)
            if target and target not in order:
                order[target] = len(order)
                queue.append(target)
            row.append(order.get(target))
        rows.append(row)
    ends = set(whole.last) | ({-1} if whole.empty else set())
    return DFA(rows, [i for positions, i in order.items() if positions & ends], 0, alphabet)
