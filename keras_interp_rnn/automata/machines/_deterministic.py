"""Deterministic automata: frozen tables whose states have outputs, and exact operations on them.

`DFA` and `MooreMachine` are this class with two constructors: a DFA has the outputs False and True.

References: Moore, "Gedanken-experiments on sequential machines", Automata Studies, 1956; Hopcroft, "An n log n
algorithm for minimizing states in a finite automaton", 1971.
"""

from __future__ import annotations

import operator
from collections import Counter, deque
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, TypeVar

from keras_interp_rnn._checks import invalid, is_integer
from keras_interp_rnn.automata.machines.words import checked_alphabet, checked_word, ordered, shown_alphabet

Self = TypeVar("Self", bound="Deterministic")

Transitions = tuple[tuple[int, Hashable], ...]
"""(state, symbol) pairs."""

MISSING = -1
"""The next state where there is no transition."""


class Names(NamedTuple):
    """The names of a kind of automaton in files, in code and in AALpy.

    Attributes:
        states: second argument of its constructor. output: attribute of a state. question: method that reads a word.
            code: default prefix in C. aalpy: classes of the automaton and of a state, and the state's attribute.
    """

    states: str
    output: str
    question: str
    code: str
    aalpy: tuple[str, str, str]

    @property
    def accepts(self) -> bool:
        """Whether outputs are True for accepted words and False for rejected ones."""
        return self.question == "accepts"


class Deterministic:
    """A deterministic automaton: the label of a word is the output of the state that it leads to.

    Attributes:
        transitions: for each state 0, ..., n - 1 the next one for each symbol, `MISSING` where there is none.
        outputs: of each state. After a missing transition the output is False.
        start: a state.
        alphabet: the symbols.
    """

    _names: ClassVar[Names]

    transitions: tuple[tuple[int, ...], ...]
    outputs: tuple[Hashable, ...]
    start: int
    alphabet: tuple[Hashable, ...]

    @classmethod
    def _of(cls: type[Self], transitions: Any, outputs: Sequence[Any], start: int, alphabet: Any) -> Self:
        """The automaton with these outputs."""
        raise NotImplementedError

    def _set_table(self, transitions: Any, start: Any, alphabet: Any) -> None:
        """Sets the fields of the table; raises ValueError unless all states and symbols are the automaton's."""
        symbols = checked_alphabet(alphabet)
        if not isinstance(transitions, Iterable):
            raise invalid("transitions", "a row for each state", transitions)
        rows = tuple(tuple(_complete_row(row, symbols)) for row in transitions)
        states = range(MISSING, len(rows))
        for state, row in enumerate(rows):
            if len(row) != len(symbols) or not all(target in states for target in row):
                raise ValueError(
                    f"Every state must have one of the {len(rows)} states, or -1, for each of {len(symbols)} symbols. "
                    f"Received: state {state} with {list(row)}."
                )
        first = as_state(start, "start")
        if not 0 <= first < len(rows):
            raise invalid("start", f"one of the states 0 to {len(rows) - 1}", first)
        for name, value in (("transitions", rows), ("alphabet", symbols), ("start", first)):
            object.__setattr__(self, name, value)

    def __len__(self) -> int:
        """Number of states."""
        return len(self.transitions)

    @property
    def labels(self) -> tuple[Hashable, ...]:
        """The different outputs, in ascending order if they can be compared."""
        return ordered(self.outputs)

    # Reading words

    def step(self, state: int, symbol: Hashable) -> int:
        """The next state; -1 if the transition is missing, or if the state is -1.

        Raises:
            ValueError: if the automaton has no such state or symbol.
        """
        if not is_integer(state) or not -1 <= state < len(self):
            raise invalid("state", f"one of 0 to {len(self) - 1}, or -1 for none", state)
        return self._after(state, symbol)

    @cached_property
    def _column(self) -> dict[Hashable, int]:
        return {symbol: i for i, symbol in enumerate(self.alphabet)}

    def _after(self, state: int, symbol: Hashable) -> int:
        """As `step`, without a check of the state."""
        try:
            column = self._column[symbol]
        except (KeyError, TypeError):
            received = f"Received: the symbol {symbol!r}."
            raise ValueError(f"A word must be over the alphabet {shown_alphabet(self.alphabet)}. {received}") from None
        return MISSING if state == MISSING else self.transitions[state][column]

    def run(self, word: Iterable[Hashable]) -> list[int]:
        """The start and the state after each symbol of a word; -1 after a missing transition.

        Raises:
            ValueError: if `word` is not iterable, or a symbol is not in the alphabet.

        Example:

        >>> from keras_interp_rnn.automata import DFA
        >>> DFA([[0, 1], [1, -1]], accepting={1}).run("0110")
        [0, 0, 1, -1, -1]
        """
        states = [self.start]
        for symbol in checked_word(word):
            states.append(self._after(states[-1], symbol))
        return states

    def output(self, word: Iterable[Hashable]) -> Hashable:
        """The label of a word: the output of the state that it leads to; False after a missing transition.

        Raises:
            ValueError: if `word` is not iterable, or a symbol is not in the alphabet.

        Example:

        >>> from keras_interp_rnn.automata import MooreMachine
        >>> parity = MooreMachine([[0, 1], [1, 0]], ["even", "odd"])
        >>> parity.output(""), parity.output("01011")
        ('even', 'odd')
        """
        state = self.start
        for symbol in checked_word(word):
            state = self._after(state, symbol)
        return state != MISSING and self.outputs[state]

    # Related automata

    @cached_property
    def is_complete(self) -> bool:
        """Whether every state has a transition for every symbol."""
        return all(MISSING not in row for row in self.transitions)

    def complete(self: Self) -> Self:
        """The automaton without missing transitions: these lead to a further state, which rejects.

        Example:

        >>> from keras_interp_rnn.automata import DFA
        >>> DFA([[-1, 0]], accepting={0}).complete().transitions
        ((1, 0), (1, 1))
        """
        if self.is_complete:
            return self
        sink = len(self)
        rows = [[sink if target == MISSING else target for target in row] for row in self.transitions]
        rows.append([sink] * len(self.alphabet))
        return self._of(rows, [*self.outputs, False], self.start, self.alphabet)

    def reachable(self: Self) -> Self:
        """The automaton of the states that some word reaches, numbered in breadth-first order.

        Example:

        >>> from keras_interp_rnn.automata import DFA
        >>> DFA([[2, 2], [0, 0], [0, 2]], accepting={2}).reachable().transitions
        ((1, 1), (0, 1))
        """
        order = {state: i for i, state in enumerate(breadth_first(self))}
        rows = [[order.get(target, MISSING) for target in self.transitions[state]] for state in order]
        return self._of(rows, [self.outputs[state] for state in order], 0, self.alphabet)

    def minimize(self: Self) -> Self:
        """The smallest complete equivalent automaton, by Hopcroft's algorithm in O(symbols n log n).

        Its states are numbered in breadth-first order, so that equivalent automata have equal minimal ones.

        Example:

        >>> from keras_interp_rnn.automata import DFA
        >>> len(DFA([[1, 2], [1, 2], [2, 1]], accepting={0, 1}).minimize())
        2
        """
        whole = self.complete().reachable()
        blocks = _hopcroft(whole)
        members = sorted(set(blocks))
        place = {block: i for i, block in enumerate(members)}
        one_of = {block: state for state, block in enumerate(blocks)}
        rows = [[place[blocks[target]] for target in whole.transitions[one_of[block]]] for block in members]
        outputs = [whole.outputs[one_of[block]] for block in members]
        return self._of(rows, outputs, place[blocks[whole.start]], self.alphabet).reachable()

    # Comparison

    def equivalent(self, other: Deterministic) -> bool:
        """Whether two automata give every word the same output.

        Raises:
            ValueError: if the alphabets differ, or `other` is of another kind.
        """
        return self.difference(other) is None

    def difference(self, other: Deterministic) -> tuple[Hashable, ...] | None:
        """The first shortest word, in the order of the alphabet, to which two automata give different outputs.

        Returns:
            The word; None if the automata are equivalent.

        Raises:
            ValueError: if the alphabets differ, or `other` is of another kind.

        Example:

        >>> from keras_interp_rnn.automata import DFA
        >>> DFA.from_regex("1*").difference(DFA.from_regex("1?"))
        ('1', '1')
        """
        left, right, rows, pairs = self._product(other)
        apart = {i for i, (a, b) in enumerate(pairs) if left.outputs[a] != right.outputs[b]}
        return shortest_word(rows, 0, apart, self.alphabet)

    def _product(self: Self, other: Deterministic) -> tuple[Self, Self, list[list[int]], list[tuple[int, int]]]:
        """Both automata, complete and over the same symbols, and the table and pairs of states of their product."""
        if not isinstance(other, type(self)):
            raise ValueError(f"An automaton must be compared with another {type(self).__name__}. Received: {other!r}.")
        left, right = self.complete(), other._over(self.alphabet).complete()
        order = {(left.start, right.start): 0}
        queue = deque(order)
        rows: list[list[int]] = []
        while queue:
            a, b = queue.popleft()
            row = []
            for pair in zip(left.transitions[a], right.transitions[b], strict=True):
                if pair not in order:
                    order[pair] = len(order)
                    queue.append(pair)
                row.append(order[pair])
            rows.append(row)
        return left, right, rows, list(order)

    def _over(self: Self, alphabet: tuple[Hashable, ...]) -> Self:
        """The same automaton with its symbols in this order."""
        if set(alphabet) != set(self.alphabet):
            received = f"Received: {shown_alphabet(alphabet)}; {shown_alphabet(self.alphabet)}."
            raise ValueError(f"Both automata must read the same alphabet. {received}")
        columns = [self._column[symbol] for symbol in alphabet]
        rows = [[row[column] for column in columns] for row in self.transitions]
        return self._of(rows, self.outputs, self.start, alphabet)

    # As a graph

    def edges(self) -> dict[tuple[int, int], tuple[Hashable, ...]]:
        """(state, next state) -> the symbols that lead from one to the other.

        Example:

        >>> from keras_interp_rnn.automata import DFA
        >>> DFA([[0, 1], [0, 0]], {1}).edges()
        {(0, 0): ('0',), (0, 1): ('1',), (1, 0): ('0', '1')}
        """
        edges: dict[tuple[int, int], list[Hashable]] = {}
        for state, row in enumerate(self.transitions):
            for symbol, target in zip(self.alphabet, row, strict=True):
                if target != MISSING:
                    edges.setdefault((state, target), []).append(symbol)
        return {edge: tuple(symbols) for edge, symbols in edges.items()}


def counts_of_transitions(automaton: Deterministic, words: Iterable[Sequence[Hashable]]) -> list[list[int]]:
    """How often words take each transition: states x symbols."""
    taken = Counter(pair for word in words for pair in zip(automaton.run(word), word, strict=False))
    return [[taken[state, symbol] for symbol in automaton.alphabet] for state in range(len(automaton))]


def unsupported(automaton: Deterministic, words: Iterable[Sequence[Hashable]]) -> Transitions:
    """The transitions that no word takes."""
    counts = enumerate(counts_of_transitions(automaton, words))
    return tuple((state, automaton.alphabet[i]) for state, row in counts for i, count in enumerate(row) if not count)


def shortest_word(
    rows: Sequence[Sequence[int]], start: int, goals: Collection[int], alphabet: Sequence[Hashable]
) -> tuple[Hashable, ...] | None:
    """The first shortest word, in the order of the alphabet, that leads from a state to one of the goals."""
    before: dict[int, tuple[int, Hashable] | None] = {start: None}
    queue = deque(before)
    while queue:
        state = queue.popleft()
        if state in goals:
            word = []
            while step := before[state]:
                state, symbol = step
                word.append(symbol)
            return tuple(reversed(word))
        for symbol, target in zip(alphabet, rows[state], strict=True):
            if target != MISSING and target not in before:
                before[target] = (state, symbol)
                queue.append(target)
    return None


def breadth_first(automaton: Deterministic) -> list[int]:
    """The states that words lead to, in the order of the shortest of these words."""
    order = {automaton.start: None}
    queue = deque(order)
    while queue:
        for target in automaton.transitions[queue.popleft()]:
            if target != MISSING and target not in order:
                order[target] = None
                queue.append(target)
    return list(order)


def reaching(automaton: Deterministic, goals: Iterable[int]) -> set[int]:
    """The states from which some word leads to one of the goals."""
    states = set(goals)
    while True:
        more = {s for s, row in enumerate(automaton.transitions) if s not in states and states.intersection(row)}
        if not more:
            return states
        states |= more


def as_state(value: Any, where: str) -> int:
    """A state; raises ValueError if it is no integer."""
    if not is_integer(value):
        raise ValueError(
            f"States must be the ints 0, 1, ... Received: {value!r} in {where}. Number the states and pass the numbers."
        )
    return operator.index(value)


def _complete_row(row: Sequence[int | None] | Mapping[Hashable, int], alphabet: tuple[Hashable, ...]) -> Iterator[int]:
    if not isinstance(row, Iterable):
        raise ValueError(f"`transitions` must have a row of states for each state. Received: the row {row!r}.")
    if isinstance(row, Mapping):
        strays = [symbol for symbol in row if symbol not in alphabet]
        if strays:
            raise ValueError(
                f"Transitions must be over the alphabet {shown_alphabet(alphabet)}. Received: the symbol {strays[0]!r}."
            )
        row = [row.get(symbol) for symbol in alphabet]
    yield from (MISSING if target is None else as_state(target, "transitions") for target in row)


def _hopcroft(automaton: Deterministic) -> list[int]:
    """For each state of a complete automaton the number of its block of equivalent states."""
    n, columns = len(automaton), range(len(automaton.alphabet))
    before: list[list[list[int]]] = [[[] for _ in range(n)] for _ in columns]
    for state, row in enumerate(automaton.transitions):
        for column, target in enumerate(row):
            before[column][target].append(state)
    different = {output: i for i, output in enumerate(dict.fromkeys(automaton.outputs))}
    block = [different[output] for output in automaton.outputs]
    parts: list[set[int]] = [set() for _ in different]
    for state, i in enumerate(block):
        parts[i].add(state)
    largest = max(range(len(parts)), key=lambda i: len(parts[i]))  # what it splits, the others split too
    waiting = {(i, column) for i in range(len(parts)) if i != largest for column in columns}
    while waiting:
        i, column = waiting.pop()
        touched: dict[int, list[int]] = {}
        for target in parts[i]:
            for state in before[column][target]:
                touched.setdefault(block[state], []).append(state)
        for j, split in touched.items():
            if len(split) == len(parts[j]):
                continue
            new = len(parts)
            moved = set(split)
            parts[j] -= moved
            parts.append(moved)
            for state in split:
                block[state] = new
            smaller = new if len(moved) <= len(parts[j]) else j
            waiting |= {(new if (j, c) in waiting else smaller, c) for c in columns}
    return block
