"""Deterministic automata: frozen tables whose states have outputs, exact operations on them, and conversions.

A `MooreMachine` gives every word a label; a `DFA` is one with the labels False and True.

Reference: Moore, "Gedanken-experiments on sequential machines", Automata Studies, 1956.
"""

from __future__ import annotations

import operator
from collections import Counter, deque
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from keras_interp_rnn._alphabet import distinct_symbols, shown_symbols
from keras_interp_rnn._checks import integers, invalid, is_integer
from keras_interp_rnn._results import Shown, Table, Tag, View, counted, short_repr, view, visible
from keras_interp_rnn._types import Array, FiniteAutomaton, Ints
from keras_interp_rnn.automata.machines import dot, drawing, formats, libraries, showing
from keras_interp_rnn.automata.machines.graphs import MISSING, breadth_first, edges_of, equivalent_states, shortest_word
from keras_interp_rnn.automata.machines.showing import Transitions
from keras_interp_rnn.automata.machines.words import (
    checked_word,
    names_of_states,
    optional_alphabet,
    ordered,
)

Self = TypeVar("Self", bound="MooreMachine")


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
    aalpy: libraries.OfAALpy

    @property
    def accepts(self) -> bool:
        """Whether outputs are True for accepted words and False for rejected ones."""
        return self.question == "accepts"


@short_repr
@dataclass(frozen=True)
class MooreMachine(Shown):
    """A deterministic automaton that gives each word a label: the output of the state to which the word leads.

    States are 0, ..., n - 1, and no transition is missing. A `DFA` is a machine with the outputs False and True.
    `DFA.from_moore` gives the DFA of the words with one label, with all the methods of a DFA.

    Args:
        transitions: for each state the next state for each symbol, in the order of the alphabet, or a mapping from
            symbols to states.
        outputs: the label of each state, any hashable value.
        start: the state before the first symbol.
        alphabet: the symbols, hashable and all different.

    Attributes:
        labels: the different outputs, in ascending order if they can be compared.

    Raises:
        ValueError: if an argument names a state or a symbol that the machine does not have, if a transition is missing,
            or if there is not one output for each state.

    Two machines are equal if they have the same table. `minimize` numbers states in breadth-first order, so minimal
    machines that give the same labels are equal.

    Example:

    >>> ones_modulo_3 = MooreMachine([[0, 1], [1, 2], [2, 0]], ["none", "one", "two"])
    >>> ones_modulo_3.output("10110"), ones_modulo_3.output("11")
    ('none', 'two')
    >>> ones_modulo_3.minimize() == ones_modulo_3
    True
    """

    _names: ClassVar[Names] = Names(
        "outputs", "output", "output", "moore", libraries.OfAALpy("MooreMachine", "MooreState", "output")
    )

    transitions: tuple[tuple[int, ...], ...]
    outputs: tuple[Hashable, ...]
    start: int
    alphabet: tuple[Hashable, ...]

    def __init__(
        self,
        transitions: Iterable[Sequence[int] | Mapping[Hashable, int]],
        outputs: Iterable[Hashable],
        *,
        start: int = 0,
        alphabet: Iterable[Hashable] = "01",
    ) -> None:
        self._set_table(transitions, start, alphabet)
        if not isinstance(outputs, Iterable):
            raise invalid("outputs", "a label for each state", outputs)
        object.__setattr__(self, "outputs", tuple(outputs))
        if len(self.outputs) != len(self):
            raise invalid("outputs", f"a label for each of {len(self)} states", self.outputs)
        try:
            comparable = all(label == label for label in set(self.outputs))
        except TypeError:
            comparable = False
        if not comparable:
            raise invalid("outputs", "hashable labels that equal themselves", self.outputs)
        if not self.is_complete:
            raise ValueError(
                "A Moore machine must give every word a label. Received: a table with a missing transition, -1. Add a "
                "state for these words, with an output of its own."
            )

    @classmethod
    def _of(cls: type[Self], transitions: object, outputs: Sequence[object], start: int, alphabet: object) -> Self:
        """The automaton with these outputs."""
        make: Any = cls
        made: Self = make(transitions, outputs, start=start, alphabet=alphabet)
        return made

    @classmethod
    def _read(cls: type[Self], table: formats.Table) -> Self:
        """The automaton of the arguments of its constructor."""
        make: Any = cls
        made: Self = make(table.transitions, table.states, start=table.start, alphabet=table.alphabet)
        return made

    @property
    def _table(self) -> formats.Table:
        """The arguments of its constructor."""
        return formats.Table(self.transitions, self.outputs, self.start, self.alphabet)

    def _set_table(self, transitions: object, start: object, alphabet: object) -> None:
        """Sets the fields of the table; raises ValueError unless all states and symbols are the automaton's."""
        symbols = distinct_symbols(alphabet)
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
            raise ValueError(f"A word must be over the alphabet {shown_symbols(self.alphabet)}. {received}") from None
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
        order = {state: i for i, state in enumerate(breadth_first(self.transitions, self.start))}
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
        blocks = equivalent_states(whole.transitions, whole.outputs)
        members = sorted(set(blocks))
        place = {block: i for i, block in enumerate(members)}
        one_of = {block: state for state, block in enumerate(blocks)}
        rows = [[place[blocks[target]] for target in whole.transitions[one_of[block]]] for block in members]
        outputs = [whole.outputs[one_of[block]] for block in members]
        return self._of(rows, outputs, place[blocks[whole.start]], self.alphabet).reachable()

    # Comparison

    def equivalent(self, other: MooreMachine) -> bool:
        """Whether two automata give every word the same output.

        Raises:
            ValueError: if the alphabets differ, or `other` is of another kind.
        """
        return self.difference(other) is None

    def difference(self, other: MooreMachine) -> tuple[Hashable, ...] | None:
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

    def _product(self: Self, other: MooreMachine) -> tuple[Self, MooreMachine, list[list[int]], list[tuple[int, int]]]:
        """Both automata, complete and over the same symbols, and the table and pairs of states of their product."""
        if not isinstance(other, MooreMachine) or other._names is not self._names:
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
            received = f"Received: {shown_symbols(alphabet)}; {shown_symbols(self.alphabet)}."
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
        return edges_of(self.transitions, self.alphabet)

    # Conversions

    def to_json(self) -> str:
        """The automaton as a JSON object; symbols are strings or integers, outputs strings, integers or bools.

        Raises:
            ValueError: if a symbol or an output is of another type.

        Example:

        >>> from keras_interp_rnn.automata import DFA
        >>> even = DFA([[0, 1], [1, 0]], {0})
        >>> DFA.from_json(even.to_json()) == even
        True
        """
        return formats.write_json(self._table, type(self).__name__, self._names.states)

    @classmethod
    def from_json(cls: type[Self], text: str) -> Self:
        """Reads what `to_json` wrote.

        Raises:
            ValueError: if `text` is anything else, or damaged.
        """
        return cls._read(formats.read_json(text, cls.__name__, cls._names.states))

    def to_dot(self, name: str = "automaton", *, unsupported: Iterable[tuple[int, Hashable]] = ()) -> str:
        """The automaton as text for Graphviz, as AALpy writes it.

        Args:
            name: of the graph.
            unsupported: (state, symbol) pairs, the transitions that no word of yours takes; they are dashed.

        Returns:
            A digraph as `from_dot` and AALpy read it, with an edge for each symbol. Accepting states are double
            circles; a state of a Moore machine has the label "name|output".

        Raises:
            ValueError: if a symbol is empty, means no symbol (such as ε) or could be read as several (a longer text
                with a comma, a slash, a line break, or surrounding blanks); if an output has a line break or
                surrounding blanks; if two symbols or two outputs have the same text; if `unsupported` has a pair that
                is not a transition.

        Example:

        >>> from keras_interp_rnn.automata import DFA
        >>> print(DFA([[0, 0]], {0}, alphabet="ab").to_dot())
        digraph "automaton" {
          rankdir=LR;
          0 [label="0", shape=doublecircle];
          0 -> 0 [label="a"];
          0 -> 0 [label="b"];
          __start0 [label="", shape=none];
          __start0 -> 0 [label=""];
        }
        """
        return dot.write_dot(self, name, self._transitions(unsupported), accepts=self._names.accepts)

    def to_svg(
        self,
        names: Sequence[str] | None = None,
        *,
        unsupported: Iterable[tuple[int, Hashable]] = (),
        support: ArrayLike | None = None,
    ) -> str:
        """A drawing, legible up to about sixty states.

        Args:
            names: of the states; by default their numbers, after a q if there are symbols of these names.
            unsupported: (state, symbol) pairs, the transitions that no word of yours takes, as in
                `Extraction.unsupported`. Their symbols are in parentheses, and an edge of such symbols alone is dashed.
            support: int (states, symbols), how often words take each transition, as in `support` of the result of
                `infer`; an edge is labelled with the sum over its symbols.

        Returns:
            An SVG element. Accepting states have a double ring; states of a Moore machine have their output under the
            name; the start has an arrow.

        Raises:
            ValueError: if there is not one name for each state, `unsupported` has a pair that is not a transition, or
                `support` has another shape.

        Example:

        >>> from keras_interp_rnn.automata import DFA
        >>> DFA([[0, 1], [1, 0]], {0}).to_svg(["even", "odd"])[:4]
        '<svg'
        """
        counts = None if support is None else integers("support", support, ndim=2)
        if counts is not None and counts.shape != (len(self), len(self.alphabet)):
            raise invalid("support", f"of shape {(len(self), len(self.alphabet))}", counts.shape)
        rows = None if counts is None else counts.tolist()
        known = drawing.numbered_states(range(len(self)), self.alphabet) if names is None else names
        return drawing.svg(
            self, names_of_states(known, len(self)), self._transitions(unsupported), rows, accepts=self._names.accepts
        )

    def _transitions(self, unsupported: Iterable[tuple[int, Hashable]]) -> set[tuple[int, Hashable]]:
        """The pairs; raises ValueError unless each is a state and a symbol."""
        pairs = {(state, symbol) for state, symbol in unsupported}
        strays = pairs - {(state, symbol) for state in range(len(self)) for symbol in self.alphabet}
        if strays:
            raise ValueError(
                "`unsupported` must be pairs of a state and a symbol of this automaton. Received: unsupported with "
                f"{min(strays, key=repr)!r}. Pass transitions of the automaton that is drawn."
            )
        return pairs

    def _repr_svg_(self) -> str:
        return self.to_svg()

    def table(
        self,
        *,
        names: Sequence[object] | None = None,
        unsupported: Transitions = (),
        support: Ints | None = None,
    ) -> Table:
        """A row for each transition; a terminal shows the edges of each state.

        Args:
            names: of the states; by default their numbers.
            unsupported: (state, symbol) pairs of transitions that no word takes, in parentheses.
            support: (states, symbols), how often words take each transition.
        """
        sizes = f"{counted(len(self), 'state')}, {counted(len(self.alphabet), 'symbol')}"
        missing = "" if self.is_complete else "; a word without a transition is rejected"
        lines = showing.edge_lines(self, unsupported, support, accepts=self._names.accepts)
        columns = showing.transition_columns(self, names)
        return Table(f"{type(self).__name__}: {sizes}{missing}", columns, outline=tuple(lines))

    def drawing(self) -> str:
        """The drawing of `to_svg`."""
        return self.to_svg()

    def tag(
        self,
        centroids: Sequence[object] | None = None,
        confidence: Array | None = None,
        *,
        unsupported: Transitions | None = None,
        sizes: Sequence[int] | None = None,
        reference: MooreMachine | None = None,
        **measured: Any,
    ) -> Tag:
        """The automaton as a tag of the TensorBoard plugin, with values measured for it; the tensor is a text.

        Args:
            centroids: of the states; by default the states' numbers.
            confidence: (states, symbols), of each transition.
            unsupported: as `table`.
            sizes: the numbers of centroids of the layers of a stack. A state keeps its number through training if they
                are known.
            reference: another automaton, to be drawn next to it.
            **measured: further values.
        """

        def as_read(machine: FiniteAutomaton) -> dict[str, Any]:
            table = {"transitions": [list(row) for row in machine.transitions], "start": machine.start}
            if self._names.accepts:
                return {**table, "accepting": [i for i, output in enumerate(machine.outputs) if output]}
            return {**table, "outputs": [visible(str(output)) for output in machine.outputs]}

        of_states = centroids, confidence, unsupported, sizes
        return showing.automaton_tag(self, *of_states, table=as_read, reference=reference, **measured)

    def page_view(self, *measured: Any, **more: Any) -> View | None:
        """The states and edges in the plugin's view; None if there are none, or too many. Arguments as `tag`."""
        if not showing.is_drawable(self):
            return None
        text, description = self.tag(*measured, minimal=len(self.minimize()), **more)
        return view("states", (np.array(text, object), description))

    def to_python(self) -> str:
        """A Python module without imports, with a function `accepts(word)`, or `output(word)` for a Moore machine.

        Raises:
            ValueError: if a symbol is not a string, bytes or an integer, or an output is not one of these or a bool.

        Example:

        >>> from keras_interp_rnn.automata import DFA
        >>> module = {}
        >>> exec(DFA([[0, 1], [1, 0]], {0}).to_python(), module)
        >>> module["accepts"]("0110"), module["accepts"]("1")
        (True, False)
        """
        return formats.write_python(self.complete(), self._names.question)

    def to_c(self, name: str | None = None) -> str:
        """C99 code that reads words symbol by symbol or as a whole.

        Args:
            name: prefix of all identifiers; by default dfa or moore.

        Returns:
            A translation unit with a table, an enum of the symbols' numbers in the alphabet, and three functions:
            `NAME_reset(state)` begins a word, `NAME_step(state, symbol)` reads a symbol, and `NAME_accepts(word,
            length)`, or `NAME_output` for a Moore machine, reads a word, an array of unsigned char. The last two
            return the index of the word's label in `labels` (for a `DFA` 1 if it accepts the word, otherwise 0), or -1
            if a symbol is outside the alphabet.

        Raises:
            ValueError: if there are more than 255 symbols, or the name is not an identifier.

        Example:

        >>> from keras_interp_rnn.automata import DFA
        >>> "int even_step(even_state *state, int symbol)" in DFA([[0, 1], [1, 0]], {0}).to_c("even")
        True
        """
        names = self._names
        return formats.write_c(self.complete(), names.code if name is None else name, names.question)

    def to_networkx(self) -> libraries.Theirs:
        """The automaton as a `networkx.MultiDiGraph`.

        Nodes have the attributes `accepting` (`output` for a Moore machine) and `start`, edges `symbol`.

        Example:

        >>> from keras_interp_rnn.automata import DFA
        >>> sorted(DFA([[0, 1], [1, 0]], {0}).to_networkx().edges(data="symbol"))
        [(0, 0, '0'), (0, 1, '1'), (1, 0, '1'), (1, 1, '0')]
        """
        return libraries.to_networkx(self, self._names.output, type(self).__name__)

    def to_aalpy(self) -> libraries.Theirs:
        """The automaton, complete, as an `aalpy.automata.Dfa` or `aalpy.automata.MooreMachine` of AALpy.

        Example:

        >>> from keras_interp_rnn.automata import DFA
        >>> even = DFA([[0, 1], [1, 0]], {0})
        >>> DFA.from_aalpy(even.to_aalpy(), alphabet="01") == even
        True
        """
        return libraries.to_aalpy(self.complete(), self._names.aalpy, type(self).__name__)

    @classmethod
    def from_aalpy(cls: type[Self], other: libraries.Theirs, alphabet: Iterable[Hashable] | None = None) -> Self:
        """The automaton of an `aalpy.automata.Dfa`, `MooreMachine` or `MealyMachine`; states that no word reaches go.

        Of a Mealy machine it is the Moore machine that gives each word the last output, and "" the empty word.

        Args:
            other: the automaton. Its states may share a `state_id`.
            alphabet: its symbols in order; by default as in `other`.

        Raises:
            ValueError: if `other` is of another kind.
        """
        rows, outputs, start, symbols = libraries.from_aalpy(
            other, cls._names.aalpy, optional_alphabet(alphabet), mealy=not cls._names.accepts
        )
        return cls._of(rows, outputs, start, symbols).reachable()

    @classmethod
    def from_dot(
        cls, text: str, *, alphabet: Iterable[Hashable] | None = None, labels: Iterable[Hashable] | None = None
    ) -> MooreMachine:
        """The machine of a digraph in DOT, as `to_dot`, AALpy and LearnLib write it.

        Args:
            text: as for `DFA.from_dot`, but states have the label "name|output", or "name / output".
            alphabet: as for `DFA.from_dot`.
            labels: the outputs, identified by their text; by default the texts themselves.

        Raises:
            ValueError: if `text` is no such digraph, if there is not exactly one start, if a transition is missing, or
                if two edges of a state read the same symbol.

        Example:

        >>> machine = MooreMachine([[0, 1], [1, 0]], [0, 1])
        >>> MooreMachine.from_dot(machine.to_dot(), labels=[0, 1]) == machine
        True
        """
        return cls._read(dot.read_moore_dot(text, optional_alphabet(alphabet), labels))


def counts_of_transitions(automaton: MooreMachine, words: Iterable[Sequence[Hashable]]) -> list[list[int]]:
    """How often words take each transition: states x symbols."""
    taken = Counter(pair for word in words for pair in zip(automaton.run(word), word, strict=False))
    return [[taken[state, symbol] for symbol in automaton.alphabet] for state in range(len(automaton))]


def unsupported(automaton: MooreMachine, words: Iterable[Sequence[Hashable]]) -> Transitions:
    """The transitions that no word takes."""
    counts = enumerate(counts_of_transitions(automaton, words))
    return tuple((state, automaton.alphabet[i]) for state, row in counts for i, count in enumerate(row) if not count)


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
                f"Transitions must be over the alphabet {shown_symbols(alphabet)}. Received: the symbol {strays[0]!r}."
            )
        row = [row.get(symbol) for symbol in alphabet]
    yield from (MISSING if target is None else as_state(target, "transitions") for target in row)
