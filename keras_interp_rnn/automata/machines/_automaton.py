"""Conversions of automata: to and from text, pictures, code and other libraries' objects."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from numpy.typing import ArrayLike

from keras_interp_rnn._checks import integers, invalid
from keras_interp_rnn._io import needed
from keras_interp_rnn._results import as_html
from keras_interp_rnn.automata.machines import _dot, drawing, formats
from keras_interp_rnn.automata.machines._deterministic import Deterministic
from keras_interp_rnn.automata.machines.words import names_of_states, optional_alphabet

Self = TypeVar("Self", bound="Automaton")


class Automaton(Deterministic):
    """A `DFA` or a `MooreMachine`, with the conversions that both have."""

    @classmethod
    def _read(cls: type[Self], table: formats.Table) -> Self:
        make: Any = cls
        made: Self = make(table.transitions, table.states, start=table.start, alphabet=table.alphabet)
        return made

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
        return formats.write_json(self)

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
        return _dot.write_dot(self, name, self._transitions(unsupported))

    def to_svg(
        self,
        names: Sequence[str] | None = None,
        *,
        unsupported: Iterable[tuple[int, Hashable]] = (),
        support: ArrayLike | None = None,
    ) -> str:
        """A drawing, legible up to about sixty states.

        Args:
            names: of the states; by default their numbers.
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
        return drawing.svg(self, names_of_states(names, len(self)), self._transitions(unsupported), rows)

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

    def _repr_html_(self) -> str:
        return as_html(self)

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
        return formats.write_python(self)

    def to_c(self, name: str | None = None) -> str:
        """C99 code with a function `name_accepts(word, length)`, or `name_output` for a Moore machine.

        Args:
            name: prefix of all identifiers; by default dfa or moore.

        Returns:
            A translation unit with a table and a loop. A word is an array of unsigned char, the indices of its symbols
            in the alphabet. The function returns the index of the word's label in `labels` (for a `DFA` 1 if it accepts
            the word, otherwise 0), or -1 if a symbol is outside the alphabet.

        Raises:
            ValueError: if there are more than 255 symbols, or the name is not an identifier.

        Example:

        >>> from keras_interp_rnn.automata import DFA
        >>> "int even_accepts(const unsigned char *word, size_t length)" in DFA([[0, 1], [1, 0]], {0}).to_c("even")
        True
        """
        return formats.write_c(self, self._names.code if name is None else name)

    # Other libraries

    def to_networkx(self) -> Any:
        """The automaton as a `networkx.MultiDiGraph`.

        Nodes have the attributes `accepting` (`output` for a Moore machine) and `start`, edges `symbol`.

        Example:

        >>> from keras_interp_rnn.automata import DFA
        >>> sorted(DFA([[0, 1], [1, 0]], {0}).to_networkx().edges(data="symbol"))
        [(0, 0, '0'), (0, 1, '1'), (1, 0, '1'), (1, 1, '0')]
        """
        with needed("networkx", extra="automata", by=f"`{type(self).__name__}.to_networkx`"):
            import networkx

        graph = networkx.MultiDiGraph(alphabet=self.alphabet)
        for state, output in enumerate(self.outputs):
            graph.add_node(state, **{self._names.output: output}, start=state == self.start)
        for (state, target), symbols in self.edges().items():
            for symbol in symbols:
                graph.add_edge(state, target, symbol=symbol)
        return graph

    def to_aalpy(self) -> Any:
        """The automaton, complete, as an `aalpy.automata.Dfa` or `aalpy.automata.MooreMachine` of AALpy.

        Example:

        >>> from keras_interp_rnn.automata import DFA
        >>> even = DFA([[0, 1], [1, 0]], {0})
        >>> DFA.from_aalpy(even.to_aalpy(), alphabet="01") == even
        True
        """
        with needed("aalpy", extra="automata", by=f"`{type(self).__name__}.to_aalpy`"):
            from aalpy import automata as theirs

        whole, (kind, of_state, _) = self.complete(), self._names.aalpy
        states = [getattr(theirs, of_state)(f"s{state}", output) for state, output in enumerate(whole.outputs)]
        for state, row in zip(states, whole.transitions, strict=True):
            state.transitions = {symbol: states[t] for symbol, t in zip(whole.alphabet, row, strict=True)}
        return getattr(theirs, kind)(states[whole.start], states)

    @classmethod
    def from_aalpy(cls: type[Self], other: Any, alphabet: Iterable[Hashable] | None = None) -> Self:
        """The automaton of an `aalpy.automata.Dfa` or `aalpy.automata.MooreMachine`.

        States that no word reaches are omitted.

        Args:
            other: the automaton. Its states may share a `state_id`.
            alphabet: its symbols in order; by default as in `other`.

        Raises:
            ValueError: if `other` is of another kind.
        """
        kind, _, attribute = cls._names.aalpy
        states = getattr(other, "states", None) or ()
        if not hasattr(other, "get_input_alphabet") or not all(hasattr(state, attribute) for state in states):
            raise invalid("other", f"an aalpy.automata.{kind}", other)
        symbols = optional_alphabet(alphabet) or tuple(other.get_input_alphabet())
        number = NumbersOfStates(states, id)
        rows = [number.row(state.transitions) for state in states]
        outputs = [getattr(state, attribute) for state in states]
        return cls._of(rows, outputs, number(other.initial_state), symbols).reachable()


class NumbersOfStates:
    """Another library's states -> their numbers; a state is found by its key."""

    def __init__(self, states: Iterable[Any], key: Callable[[Any], Hashable]) -> None:
        self.key = key
        self.numbers = {key(state): i for i, state in enumerate(states)}

    def __call__(self, state: Any) -> int:
        try:
            return self.numbers[self.key(state)]
        except (KeyError, TypeError):
            raise ValueError(
                "The start and all targets of transitions must be among the states of an automaton. Received: "
                f"{getattr(state, 'state_id', state)!r}, which is not. Add it to `states`."
            ) from None

    def row(self, transitions: Mapping[Hashable, Any]) -> dict[Hashable, int]:
        if not isinstance(transitions, Mapping):
            raise ValueError(
                f"Transitions of a deterministic automaton must map symbols to states. Received: {transitions!r}."
            )
        return {symbol: self(target) for symbol, target in transitions.items()}
