"""Deterministic finite automata: small, frozen, and exact."""

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

from keras_interp_rnn._extras import needed
from keras_interp_rnn._repr import short_repr
from keras_interp_rnn.automata import drawing, regex

MISSING = -1
"""In place of a state: there is no transition."""

COUNTED = 1e9
"""Bytes that the counts of words of a length may take."""


@short_repr
@dataclass(frozen=True)
class DFA:
    """A deterministic finite automaton over named symbols.

    States are 0, ..., n - 1. A transition may be missing: a word that needs it is rejected.

    Args:
        transitions: for each state the next state of each symbol, in the order of the alphabet, -1 or None where there
            is none; or mappings from symbols to states.
        accepting: states in which a word is accepted.
        start: the state before the first symbol.
        alphabet: the symbols, hashable and different.

    Raises:
        ValueError: if a state or a symbol is none of the automaton's.

    Two automata are equal if they have the same table. `minimize` numbers states in the order in which they are met,
    so minimal complete automata of the same language are equal.

    Example:

    >>> even = DFA([[0, 1], [1, 0]], accepting={0}, start=0, alphabet="ab")
    >>> even.accepts("abba"), even.accepts("ab")
    (True, False)
    """

    transitions: tuple[tuple[int, ...], ...]
    accepting: frozenset[int]
    start: int
    alphabet: tuple[Hashable, ...]
    _column: dict[Hashable, int] = field(init=False, repr=False, compare=False)

    def __init__(
        self,
        transitions: Iterable[Sequence[int | None] | Mapping[Hashable, int]],
        accepting: Iterable[int],
        start: int = 0,
        alphabet: Iterable[Hashable] = "01",
    ) -> None:
        symbols = _symbols(alphabet)
        if not isinstance(transitions, Iterable) or not isinstance(accepting, Iterable):
            raise ValueError(
                "An automaton has a row of transitions for each state, and a set of accepting states. Received: "
                f"transitions={transitions!r}, accepting={accepting!r}."
            )
        rows = tuple(tuple(_row(row, symbols)) for row in transitions)
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
        """The next state, -1 if there is none; raises ValueError for a symbol or a state that is none of its own."""
        try:
            column = self._column[symbol]
        except (KeyError, TypeError):
            raise ValueError(
                f"A word is made of the alphabet {self.alphabet!r}. Received: the symbol {symbol!r}."
            ) from None
        if state == MISSING:
            return MISSING
        if not 0 <= state < len(self.transitions):
            raise ValueError(f"States are 0 to {len(self) - 1}, or -1 for none. Received: state={state!r}.")
        return self.transitions[state][column]

    def run(self, word: Iterable[Hashable]) -> list[int]:
        """The states a word leads through, the start first; -1 after a missing transition."""
        states = [self.start]
        for symbol in word:
            states.append(self.step(states[-1], symbol))
        return states

    def accepts(self, word: Iterable[Hashable]) -> bool:
        """Whether the word is in the language."""
        state = self.start
        for symbol in word:
            state = self.step(state, symbol)
        return state in self.accepting

    # Other automata of it

    @cached_property
    def is_complete(self) -> bool:
        """Whether no transition is missing."""
        return all(MISSING not in row for row in self.transitions)

    def complete(self) -> DFA:
        """The same language with no transition missing: what was missing leads to a state that rejects all."""
        if self.is_complete:
            return self
        sink = len(self)
        rows = [[sink if target == MISSING else target for target in row] for row in self.transitions]
        return DFA([*rows, [sink] * len(self.alphabet)], self.accepting, self.start, self.alphabet)

    def reachable(self) -> DFA:
        """The states that words lead to, numbered in the order in which the shortest words meet them."""
        order = {self.start: 0}
        queue = deque([self.start])
        while queue:
            for target in self.transitions[queue.popleft()]:
                if target != MISSING and target not in order:
                    order[target] = len(order)
                    queue.append(target)
        rows = [[order.get(target, MISSING) for target in self.transitions[state]] for state in order]
        return DFA(rows, [order[state] for state in self.accepting if state in order], 0, self.alphabet)

    def minimize(self) -> DFA:
        """The smallest complete automaton of the same language, by Hopcroft's algorithm: O(symbols n log n)."""
        whole = self.complete().reachable()
        blocks = _hopcroft(whole)
        members = sorted(set(blocks))
        place = {block: i for i, block in enumerate(members)}
        one_of = {block: state for state, block in enumerate(blocks)}
        rows = [[place[blocks[target]] for target in whole.transitions[one_of[block]]] for block in members]
        accepting = {place[blocks[state]] for state in whole.accepting}
        return DFA(rows, accepting, place[blocks[whole.start]], self.alphabet).reachable()

    def complement(self) -> DFA:
        """All words that this one rejects."""
        whole = self.complete()
        return DFA(whole.transitions, set(range(len(whole))) - whole.accepting, whole.start, whole.alphabet)

    def product(self, other: DFA, accept: Callable[[bool, bool], bool]) -> DFA:
        """The automaton that reads a word in both: accepting where `accept(self accepts, other accepts)`.

        Raises:
            ValueError: if the alphabets differ, or the other is no DFA.
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
        return DFA(rows, accepting, 0, self.alphabet)

    # Comparison

    def equivalent(self, other: DFA) -> bool:
        """Whether both have the same language."""
        return self.counterexample(other) is None

    def counterexample(self, other: DFA) -> tuple[Hashable, ...] | None:
        """A shortest word that one accepts and the other rejects, the first of those by the alphabet; or None."""
        return self.product(other, lambda a, b: a != b).shortest()

    def shortest(self) -> tuple[Hashable, ...] | None:
        """A shortest word of the language, the first of those by the alphabet; None if there is no word."""
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
        """How many words of this length are in the language; raises ValueError where counting would take over 1 GB."""
        return _ways(self, length)[0][self.start]

    def sample(self, length: int, rng: random.Random | int | None = None) -> tuple[Hashable, ...]:
        """One of the words of this length, each with the same probability.

        Raises:
            ValueError: if there is none, or if the counts of words would take more than 1 GB.
        """
        rng = rng if isinstance(rng, random.Random) else random.Random(rng)
        ways = _ways(self, length)
        if not ways[0][self.start]:
            raise ValueError(f"There must be a word of that length. Received: length={length}, of which there is none.")
        word, state = [], self.start
        for after in ways[1:]:
            options = [(s, t) for s, t in zip(self.alphabet, self.transitions[state], strict=True) if t != MISSING]
            drawn = rng.randrange(sum(after[target] for _, target in options))
            ends = itertools.accumulate(after[target] for _, target in options)
            symbol, state = next(option for option, end in zip(options, ends, strict=True) if drawn < end)
            word.append(symbol)
        return tuple(word)

    def words(self, length: int) -> Iterator[tuple[Hashable, ...]]:
        """All words of this length in the language, in the order of the alphabet."""
        ways = _ways(self, length)
        # A stack, not recursion: a word may be longer than Python recurses.
        open_: list[tuple[int, tuple[Hashable, ...]]] = [(self.start, ())]
        while open_:
            state, word = open_.pop()
            if not ways[len(word)][state]:
                continue
            if len(word) == length:
                yield word
                continue
            steps = zip(self.alphabet, self.transitions[state], strict=True)
            after = [(target, (*word, symbol)) for symbol, target in steps if target != MISSING]
            open_.extend(reversed(after))

    # To and from elsewhere

    @classmethod
    def from_regex(cls, expression: str, alphabet: Iterable[str] = "01", max_states: int = 10_000) -> DFA:
        """The minimal automaton of a regular expression: symbols, concatenation, `|`, `*`, `+`, `?`, parentheses.

        Args:
            expression: of any depth.
            alphabet: one-character symbols.
            max_states: int > 0. Of the automaton before it is made minimal: `(0|1)*1` and n times `(0|1)` takes
                2^(n+1) states.

        Raises:
            ValueError: if the expression cannot be read, at the place where; if its automaton would have more states.
        """
        symbols = _symbols(alphabet)
        if not isinstance(expression, str):
            raise ValueError(f"A regular expression is a string. Received: expression={expression!r}.")
        characters = tuple(symbol for symbol in symbols if isinstance(symbol, str) and len(symbol) == 1)
        if characters != symbols:
            raise ValueError(f"The symbols of an expression are single characters. Received: alphabet={symbols!r}.")
        if not _is_int(max_states) or max_states < 1:
            raise ValueError(f"An automaton has at least one state. Received: max_states={max_states!r}.")
        table = regex.table(expression, characters, max_states)
        return cls(table.transitions, table.accepting, 0, characters).minimize()

    def to_dot(self, name: str = "dfa") -> str:
        """The automaton for Graphviz, the symbols of one edge together."""
        lines = [f'digraph "{name}" {{', "  rankdir=LR;", '  "" [shape=none];', f'  "" -> {self.start};']
        for state in range(len(self)):
            shape = "doublecircle" if state in self.accepting else "circle"
            lines.append(f"  {state} [shape={shape}];")
        for (state, target), symbols in self.edges().items():
            label = ", ".join(map(str, symbols)).replace("\\", "\\\\").replace('"', '\\"')
            lines.append(f'  {state} -> {target} [label="{label}"];')
        return "\n".join([*lines, "}"])

    def edges(self) -> dict[tuple[int, int], tuple[Hashable, ...]]:
        """(state, next state) -> the symbols that lead from one to the other."""
        found: dict[tuple[int, int], list[Hashable]] = {}
        for state, row in enumerate(self.transitions):
            for symbol, target in zip(self.alphabet, row, strict=True):
                if target != MISSING:
                    found.setdefault((state, target), []).append(symbol)
        return {edge: tuple(symbols) for edge, symbols in found.items()}

    def to_svg(self, names: Sequence[str] | None = None) -> str:
        """A drawing, laid out without any program outside Python; of more than a handful of states labels overlap.

        Args:
            names: of the states; their numbers without.

        Raises:
            ValueError: if there is not one name for each state.
        """
        texts = [str(name) for name in (range(len(self)) if names is None else names)]
        if len(texts) != len(self):
            raise ValueError(
                f"There must be a name for each of {len(self)} states. Received: {len(texts)}. Give one for each."
            )
        return drawing.svg(self.edges(), self.accepting, self.start, texts)

    def _repr_svg_(self) -> str:
        return self.to_svg()

    def to_networkx(self) -> Any:
        """A `networkx.MultiDiGraph`: nodes have `accepting` and `start`, edges `symbol`."""
        with needed("networkx", extra="automata", by="`DFA.to_networkx`"):
            import networkx

        graph = networkx.MultiDiGraph(alphabet=self.alphabet)
        for state in range(len(self)):
            graph.add_node(state, accepting=state in self.accepting, start=state == self.start)
        for (state, target), symbols in self.edges().items():
            for symbol in symbols:
                graph.add_edge(state, target, symbol=symbol)
        return graph

    def to_automata_lib(self) -> Any:
        """The `automata.fa.dfa.DFA` of automata-lib; symbols as strings."""
        with needed("automata-lib", extra="automata", by="`DFA.to_automata_lib`"):
            from automata.fa.dfa import DFA as Other

        rows = {
            state: {str(s): t for s, t in zip(self.alphabet, row, strict=True) if t != MISSING}
            for state, row in enumerate(self.transitions)
        }
        return Other(
            states=set(range(len(self))),
            input_symbols=set(map(str, self.alphabet)),
            transitions=rows,
            initial_state=self.start,
            final_states=set(self.accepting),
            allow_partial=not self.is_complete,
        )

    @classmethod
    def from_automata_lib(cls, other: Any, alphabet: Iterable[Hashable] | None = None) -> DFA:
        """From an `automata.fa.dfa.DFA`; `alphabet` fixes the order of its symbols."""
        symbols = tuple(alphabet) if alphabet is not None else tuple(sorted(other.input_symbols))
        place = {state: i for i, state in enumerate(other.states)}
        rows = [{symbol: place[t] for symbol, t in other.transitions[state].items()} for state in place]
        return cls(rows, [place[s] for s in other.final_states], place[other.initial_state], symbols).reachable()

    def to_aalpy(self) -> Any:
        """The `aalpy.automata.Dfa` of AALpy, complete, as its algorithms want it."""
        with needed("aalpy", extra="automata", by="`DFA.to_aalpy`"):
            from aalpy.automata import Dfa, DfaState

        whole = self.complete()
        states = [DfaState(f"s{state}", state in whole.accepting) for state in range(len(whole))]
        for state, row in zip(states, whole.transitions, strict=True):
            state.transitions = {symbol: states[t] for symbol, t in zip(whole.alphabet, row, strict=True)}
        return Dfa(states[whole.start], states)

    @classmethod
    def from_aalpy(cls, other: Any, alphabet: Iterable[Hashable] | None = None) -> DFA:
        """From an `aalpy.automata.Dfa`; `alphabet` fixes the order of its symbols."""
        symbols = tuple(alphabet) if alphabet is not None else tuple(other.get_input_alphabet())
        place = {state.state_id: i for i, state in enumerate(other.states)}
        rows = [{symbol: place[t.state_id] for symbol, t in state.transitions.items()} for state in other.states]
        accepting = [i for i, state in enumerate(other.states) if state.is_accepting]
        return cls(rows, accepting, place[other.initial_state.state_id], symbols).reachable()

    def _over(self, alphabet: tuple[Hashable, ...]) -> DFA:
        """The same automaton with its symbols in this order."""
        if set(alphabet) != set(self.alphabet):
            raise ValueError(
                f"Both automata must read the same alphabet. Received: {alphabet!r} and {self.alphabet!r}."
            )
        columns = [self._column[symbol] for symbol in alphabet]
        return DFA([[row[c] for c in columns] for row in self.transitions], self.accepting, self.start, alphabet)


def _symbols(alphabet: Iterable[Hashable]) -> tuple[Hashable, ...]:
    """The symbols; raises ValueError unless there is one at least, and all are hashable and different."""
    try:
        symbols = tuple(alphabet)
        different = len(set(symbols)) == len(symbols)
    except TypeError:
        raise ValueError(f"An alphabet is a row of hashable symbols. Received: alphabet={alphabet!r}.") from None
    if not symbols or not different:
        raise ValueError(f"An alphabet holds at least one symbol, each once. Received: alphabet={symbols!r}.")
    return symbols


def _row(row: Sequence[int | None] | Mapping[Hashable, int], alphabet: tuple[Hashable, ...]) -> Iterator[int]:
    if not isinstance(row, Iterable):
        raise ValueError(f"Transitions are a row of states for each state. Received: {row!r} for a row.")
    if isinstance(row, Mapping):
        strays = [symbol for symbol in row if symbol not in alphabet]
        if strays:
            raise ValueError(f"Transitions are of the alphabet {alphabet!r}. Received: the symbol {strays[0]!r}.")
        row = [row.get(symbol) for symbol in alphabet]
    yield from (MISSING if target is None else _state(target, "transitions") for target in row)


def _is_int(value: Any) -> bool:
    return hasattr(value, "__index__") and not isinstance(value, bool)


def _state(value: Any, where: str) -> int:
    if not _is_int(value):
        raise ValueError(
            f"States are the ints 0, 1, ... Received: {value!r} in {where}. Number the states and give their numbers."
        )
    return operator.index(value)


def _hopcroft(dfa: DFA) -> list[int]:
    """The block of every state of a complete automaton, equivalent states in one."""
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


def _ways(dfa: DFA, length: int) -> list[list[int]]:
    """Entry t: from each state, how many words of length - t lead to acceptance."""
    if not _is_int(length) or length < 0:
        raise ValueError(f"A length is an int of at least 0. Received: length={length!r}.")
    length = operator.index(length)
    # Counts of words of t symbols have up to t log2(symbols) bits, and there is one for each t and state.
    size = len(dfa) * length**2 / 2 * math.log2(len(dfa.alphabet)) / 8
    if size > COUNTED:
        raise ValueError(
            f"Counts of words take at most {COUNTED / 1e9:g} GB. Received: length={length}, which takes up to "
            f"{size / 1e9:.3g} GB with {len(dfa)} states. Give a smaller length."
        )
    return _counted(dfa, length)


@functools.lru_cache(maxsize=16)
def _counted(dfa: DFA, length: int) -> list[list[int]]:
    ways = [[int(state in dfa.accepting) for state in range(len(dfa))]]
    for _ in range(length):
        last = ways[-1]
        ways.append([sum(last[target] for target in row if target != MISSING) for row in dfa.transitions])
    return ways[::-1]
