"""Deterministic finite automata: frozen tables and exact operations on them."""

from __future__ import annotations

import functools
import itertools
import math
import operator
import random
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from keras_interp_rnn._deprecation import former_arguments
from keras_interp_rnn._repr import short_repr
from keras_interp_rnn.automata.conversions import MISSING, Conversions
from keras_interp_rnn.automata.words import checked_alphabet

MAX_COUNT_BYTES = 1e9
"""Memory that the counts of words of a length may take."""


@short_repr
@dataclass(frozen=True)
class DFA(Conversions):
    """A deterministic finite automaton over named symbols.

    States are 0, ..., n - 1. A transition may be missing: a word that needs it is rejected.

    Args:
        transitions: for each state the next state for each symbol, in the order of the alphabet, or a mapping from
            symbols to states. -1 or None for a missing transition.
        accepting: states in which a word is accepted.
        start: the state before the first symbol.
        alphabet: the symbols, hashable and different.

    Raises:
        ValueError: if the automaton does not have one of the states or symbols.

    Two automata are equal if they have the same table. `minimize` numbers states in breadth-first order, so minimal
    complete automata of the same language are equal.

    Example:

    >>> even = DFA([[0, 1], [1, 0]], accepting={0}, alphabet="ab")
    >>> even.accepts("abba"), even.accepts("ab")
    (True, False)
    """

    transitions: tuple[tuple[int, ...], ...]
    accepting: frozenset[int]
    start: int
    alphabet: tuple[Hashable, ...]
    _column: dict[Hashable, int] = field(init=False, repr=False, compare=False)

    @former_arguments(positional=("self", "transitions", "accepting", "start", "alphabet"))
    def __init__(
        self,
        transitions: Iterable[Sequence[int | None] | Mapping[Hashable, int]],
        accepting: Iterable[int],
        *,
        start: int = 0,
        alphabet: Iterable[Hashable] = "01",
    ) -> None:
        symbols = checked_alphabet(alphabet)
        if not isinstance(transitions, Iterable) or not isinstance(accepting, Iterable):
            raise ValueError(
                "An automaton needs a row of transitions for each state, and a set of accepting states. Received: "
                f"transitions={transitions!r}, accepting={accepting!r}."
            )
        rows = tuple(tuple(_complete_row(row, symbols)) for row in transitions)
        states = range(len(rows))
        object.__setattr__(self, "transitions", rows)
        object.__setattr__(self, "accepting", frozenset(_state(state, "accepting") for state in accepting))
        object.__setattr__(self, "start", _state(start, "start"))
        object.__setattr__(self, "alphabet", symbols)
        object.__setattr__(self, "_column", {symbol: i for i, symbol in enumerate(symbols)})
        for state, row in enumerate(rows):
            strays = [target for target in row if target not in states and target != MISSING]
            if len(row) != len(symbols) or strays:
                raise ValueError(
                    f"Every state has one of the {len(rows)} states, or -1, for each of {len(symbols)} symbols. "
                    f"Received: state {state} with {list(row)}."
                )
        if self.start not in states or not self.accepting <= set(states):
            raise ValueError(
                f"Start and accepting states are among 0 to {len(rows) - 1}. Received: start={self.start}, "
                f"accepting={sorted(self.accepting)}."
            )

    def __len__(self) -> int:
        """Number of states."""
        return len(self.transitions)

    # Reading words

    def step(self, state: int, symbol: Hashable) -> int:
        """The next state.

        Args:
            state: a state, or -1.
            symbol: a symbol of the alphabet.

        Returns:
            The state after the symbol; -1 if there is none.

        Raises:
            ValueError: if the automaton has no such state or symbol.

        Example:

        >>> DFA([[0, 1], [1, -1]], accepting={1}).step(0, "1")
        1
        """
        try:
            column = self._column[symbol]
        except (KeyError, TypeError):
            raise ValueError(
                f"A word must be over the alphabet {self.alphabet!r}. Received: the symbol {symbol!r}."
            ) from None
        if state == MISSING:
            return MISSING
        if not 0 <= state < len(self.transitions):
            raise ValueError(f"States are 0 to {len(self) - 1}, or -1 for none. Received: state={state!r}.")
        return self.transitions[state][column]

    def run(self, word: Iterable[Hashable]) -> list[int]:
        """The states that a word passes through.

        Args:
            word: symbols of the alphabet.

        Returns:
            The start and the state after each symbol; -1 after a missing transition.

        Raises:
            ValueError: if a symbol is not in the alphabet.

        Example:

        >>> DFA([[0, 1], [1, -1]], accepting={1}).run("0110")
        [0, 0, 1, -1, -1]
        """
        states = [self.start]
        for symbol in word:
            states.append(self.step(states[-1], symbol))
        return states

    def accepts(self, word: Iterable[Hashable]) -> bool:
        """Whether a word is in the language.

        Args:
            word: symbols of the alphabet.

        Returns:
            True if the automaton accepts it.

        Raises:
            ValueError: if a symbol is not in the alphabet.

        Example:

        >>> tomita_1 = DFA([[-1, 0]], accepting={0})
        >>> tomita_1.accepts("111"), tomita_1.accepts("101")
        (True, False)
        """
        state = self.start
        for symbol in word:
            state = self.step(state, symbol)
        return state in self.accepting

    # Related automata

    @cached_property
    def is_complete(self) -> bool:
        """Whether every state has a transition for every symbol."""
        return all(MISSING not in row for row in self.transitions)

    def complete(self) -> DFA:
        """An automaton of the same language without missing transitions.

        Returns:
            The automaton itself, or one with a further state, which rejects, for the missing transitions.

        Example:

        >>> DFA([[-1, 0]], accepting={0}).complete().transitions
        ((1, 0), (1, 1))
        """
        if self.is_complete:
            return self
        sink = len(self)
        rows = [[sink if target == MISSING else target for target in row] for row in self.transitions]
        rows.append([sink] * len(self.alphabet))
        return DFA(rows, self.accepting, start=self.start, alphabet=self.alphabet)

    def reachable(self) -> DFA:
        """The automaton without the states that no word leads to.

        Returns:
            An automaton whose states are numbered in breadth-first order, that of the shortest words.

        Example:

        >>> DFA([[2, 2], [0, 0], [0, 2]], accepting={2}).reachable().transitions
        ((1, 1), (0, 1))
        """
        order = {state: i for i, state in enumerate(breadth_first(self))}
        rows = [[order.get(target, MISSING) for target in self.transitions[state]] for state in order]
        accepting = [order[state] for state in self.accepting if state in order]
        return DFA(rows, accepting, alphabet=self.alphabet)

    def minimize(self) -> DFA:
        """The smallest complete automaton of the same language, by Hopcroft's algorithm in O(symbols n log n).

        Returns:
            An automaton whose states are numbered in breadth-first order, so that it is the same for equivalent ones.

        Example:

        >>> len(DFA([[1, 2], [1, 2], [2, 1]], accepting={0, 1}).minimize())
        2
        """
        whole = self.complete().reachable()
        blocks = _hopcroft(whole)
        members = sorted(set(blocks))
        place = {block: i for i, block in enumerate(members)}
        one_of = {block: state for state, block in enumerate(blocks)}
        rows = [[place[blocks[target]] for target in whole.transitions[one_of[block]]] for block in members]
        accepting = {place[blocks[state]] for state in whole.accepting}
        return DFA(rows, accepting, start=place[blocks[whole.start]], alphabet=self.alphabet).reachable()

    def complement(self) -> DFA:
        """The automaton of all words that this one rejects.

        Returns:
            A complete automaton.

        Example:

        >>> DFA([[-1, 0]], accepting={0}).complement().accepts("10")
        True
        """
        whole = self.complete()
        rejecting = set(range(len(whole))) - whole.accepting
        return DFA(whole.transitions, rejecting, start=whole.start, alphabet=whole.alphabet)

    def product(self, other: DFA, accept: Callable[[bool, bool], bool]) -> DFA:
        """The automaton that runs two automata side by side.

        Args:
            other: an automaton over the same symbols.
            accept: whether to accept a word, given whether each of the two does.

        Returns:
            A complete automaton; its states are the pairs of states that words lead to.

        Raises:
            ValueError: if the alphabets differ, or `other` is no DFA.

        Example:

        >>> even, short = DFA([[1, 1], [0, 0]], {0}), DFA([[1, 1], [-1, -1]], {0, 1})
        >>> both = even.product(short, lambda first, second: first and second)
        >>> both.accepts(""), both.accepts("0"), both.accepts("01")
        (True, False, False)
        """
        if not isinstance(other, DFA):
            raise ValueError(f"An automaton is compared with another DFA. Received: {other!r}.")
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
        accepting = [i for (a, b), i in order.items() if accept(a in left.accepting, b in right.accepting)]
        return DFA(rows, accepting, alphabet=self.alphabet)

    # Comparison

    def equivalent(self, other: DFA) -> bool:
        """Whether two automata accept the same language.

        Args:
            other: an automaton over the same symbols.

        Returns:
            True if no word tells them apart.

        Raises:
            ValueError: if the alphabets differ, or `other` is no DFA.

        Example:

        >>> DFA([[-1, 0]], {0}).equivalent(DFA.from_regex("1*"))
        True
        """
        return self.counterexample(other) is None

    def counterexample(self, other: DFA) -> tuple[Hashable, ...] | None:
        """A shortest word that one automaton accepts and the other rejects.

        Args:
            other: an automaton over the same symbols.

        Returns:
            The first such word in the order of the alphabet; None if the automata are equivalent.

        Raises:
            ValueError: if the alphabets differ, or `other` is no DFA.

        Example:

        >>> DFA.from_regex("1*").counterexample(DFA.from_regex("1?"))
        ('1', '1')
        """
        return self.product(other, lambda a, b: a != b).shortest()

    def shortest(self) -> tuple[Hashable, ...] | None:
        """A shortest word of the language.

        Returns:
            The first such word in the order of the alphabet; None if the language is empty.

        Example:

        >>> DFA.from_regex("(01)+1").shortest()
        ('0', '1', '1')
        """
        came: dict[int, tuple[int, Hashable] | None] = {self.start: None}
        queue = deque([self.start])
        while queue:
            state = queue.popleft()
            if state in self.accepting:
                word = []
                at = came[state]
                while at is not None:
                    word.append(at[1])
                    at = came[at[0]]
                return tuple(reversed(word))
            for symbol, target in zip(self.alphabet, self.transitions[state], strict=True):
                if target != MISSING and target not in came:
                    came[target] = (state, symbol)
                    queue.append(target)
        return None

    # Words of a length

    def count(self, length: int) -> int:
        """The number of words of a length in the language.

        Args:
            length: int >= 0.

        Returns:
            An int of any size.

        Raises:
            ValueError: if counting would take more than 1 GB.

        Example:

        >>> [DFA.from_regex("(0|1)*1").count(length) for length in range(4)]
        [0, 1, 2, 4]
        """
        return count_completions(self, length)[0][self.start]

    @former_arguments(rng="seed")
    def sample(self, length: int, seed: random.Random | int | None = None) -> tuple[Hashable, ...]:
        """Draws a word of a length from the language, each with the same probability.

        Args:
            length: int >= 0.
            seed: an int, or the generator to draw from.

        Returns:
            The word.

        Raises:
            ValueError: if there is no word of this length, or if counting would take more than 1 GB.

        Example:

        >>> DFA.from_regex("(01)*").sample(4, seed=0)
        ('0', '1', '0', '1')
        """
        rng = seed if isinstance(seed, random.Random) else random.Random(seed)
        completions = count_completions(self, length)
        if not completions[0][self.start]:
            raise ValueError(f"There must be a word of that length. Received: length={length}, of which there is none.")
        word, state = [], self.start
        for after in completions[1:]:
            options = [(s, t) for s, t in zip(self.alphabet, self.transitions[state], strict=True) if t != MISSING]
            drawn = rng.randrange(sum(after[target] for _, target in options))
            ends = itertools.accumulate(after[target] for _, target in options)
            symbol, state = next(option for option, end in zip(options, ends, strict=True) if drawn < end)
            word.append(symbol)
        return tuple(word)

    def words(self, length: int) -> Iterator[tuple[Hashable, ...]]:
        """All words of a length in the language, in the order of the alphabet.

        Args:
            length: int >= 0.

        Yields:
            Each word.

        Raises:
            ValueError: if counting would take more than 1 GB.

        Example:

        >>> list(DFA.from_regex("(0|1)1").words(2))
        [('0', '1'), ('1', '1')]
        """
        completions = count_completions(self, length)
        # A stack, not recursion: a word may be longer than Python recurses.
        open_: list[tuple[int, tuple[Hashable, ...]]] = [(self.start, ())]
        while open_:
            state, word = open_.pop()
            if not completions[len(word)][state]:
                continue
            if len(word) == length:
                yield word
                continue
            steps = zip(self.alphabet, self.transitions[state], strict=True)
            after = [(target, (*word, symbol)) for symbol, target in steps if target != MISSING]
            open_.extend(reversed(after))

    # As a graph

    def edges(self) -> dict[tuple[int, int], tuple[Hashable, ...]]:
        """The transitions as a graph.

        Returns:
            (state, next state) -> the symbols that lead from one to the other.

        Example:

        >>> DFA([[0, 1], [0, 0]], {1}).edges()
        {(0, 0): ('0',), (0, 1): ('1',), (1, 0): ('0', '1')}
        """
        edges: dict[tuple[int, int], list[Hashable]] = {}
        for state, row in enumerate(self.transitions):
            for symbol, target in zip(self.alphabet, row, strict=True):
                if target != MISSING:
                    edges.setdefault((state, target), []).append(symbol)
        return {edge: tuple(symbols) for edge, symbols in edges.items()}

    def _over(self, alphabet: tuple[Hashable, ...]) -> DFA:
        """The same automaton with its symbols in this order."""
        if set(alphabet) != set(self.alphabet):
            raise ValueError(
                f"Both automata must read the same alphabet. Received: {alphabet!r} and {self.alphabet!r}."
            )
        columns = [self._column[symbol] for symbol in alphabet]
        rows = [[row[column] for column in columns] for row in self.transitions]
        return DFA(rows, self.accepting, start=self.start, alphabet=alphabet)


def breadth_first(dfa: DFA) -> list[int]:
    """The states that words lead to, in the order of the shortest of these words."""
    order = {dfa.start: None}
    queue = deque(order)
    while queue:
        for target in dfa.transitions[queue.popleft()]:
            if target != MISSING and target not in order:
                order[target] = None
                queue.append(target)
    return list(order)


def coaccessible(dfa: DFA) -> set[int]:
    """The states from which some word is accepted."""
    states = set(dfa.accepting)
    while True:
        more = {s for s, row in enumerate(dfa.transitions) if s not in states and states.intersection(row)}
        if not more:
            return states
        states |= more


def _complete_row(row: Sequence[int | None] | Mapping[Hashable, int], alphabet: tuple[Hashable, ...]) -> Iterator[int]:
    if not isinstance(row, Iterable):
        raise ValueError(f"Transitions need a row of states for each state. Received: {row!r} for a row.")
    if isinstance(row, Mapping):
        strays = [symbol for symbol in row if symbol not in alphabet]
        if strays:
            raise ValueError(f"Transitions must be over the alphabet {alphabet!r}. Received: the symbol {strays[0]!r}.")
        row = [row.get(symbol) for symbol in alphabet]
    yield from (MISSING if target is None else _state(target, "transitions") for target in row)


def _is_int(value: Any) -> bool:
    return hasattr(value, "__index__") and not isinstance(value, bool)


def _state(value: Any, where: str) -> int:
    if not _is_int(value):
        raise ValueError(
            f"States are the ints 0, 1, ... Received: {value!r} in {where}. Number the states and pass their numbers."
        )
    return operator.index(value)


def _hopcroft(dfa: DFA) -> list[int]:
    """The block of every state of a complete automaton; equivalent states are in the same block."""
    n = len(dfa)
    before: list[list[list[int]]] = [[[] for _ in range(n)] for _ in dfa.alphabet]
    for state, row in enumerate(dfa.transitions):
        for column, target in enumerate(row):
            before[column][target].append(state)
    accepting = set(dfa.accepting)
    parts = [part for part in (accepting, set(range(n)) - accepting) if part]
    block = [0] * n
    for i, part in enumerate(parts):
        for state in part:
            block[state] = i
    smallest = min(range(len(parts)), key=lambda i: len(parts[i]))
    waiting = {(smallest, column) for column in range(len(dfa.alphabet))}
    while waiting:
        i, column = waiting.pop()
        arriving = [state for target in parts[i] for state in before[column][target]]
        touched: dict[int, list[int]] = {}
        for state in arriving:
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
            for c in range(len(dfa.alphabet)):
                waiting.add((new if (j, c) in waiting else smaller, c))
    return block


def count_completions(dfa: DFA, length: int) -> list[list[int]]:
    """Entry t: for each state, the number of words of length - t that lead from it to acceptance."""
    if not _is_int(length) or length < 0:
        raise ValueError(f"A length is an int of at least 0. Received: length={length!r}.")
    length = operator.index(length)
    # Counts of words of t symbols have up to t log2(symbols) bits, and there is one for each t and state.
    size = len(dfa) * length**2 / 2 * math.log2(len(dfa.alphabet)) / 8
    if size > MAX_COUNT_BYTES:
        raise ValueError(
            f"Counts of words take at most {MAX_COUNT_BYTES / 1e9:g} GB. Received: length={length}, which takes up to "
            f"{size / 1e9:.3g} GB with {len(dfa)} states. Give a smaller length."
        )
    return _completions(dfa, length)


@functools.lru_cache(maxsize=16)
def _completions(dfa: DFA, length: int) -> list[list[int]]:
    counts = [[int(state in dfa.accepting) for state in range(len(dfa))]]
    for _ in range(length):
        last = counts[-1]
        counts.append([sum(last[target] for target in row if target != MISSING) for row in dfa.transitions])
    return counts[::-1]
