"""Automata as objects of other libraries, and the other way round. Each library is imported where it is asked for."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from keras_interp_rnn._checks import invalid
from keras_interp_rnn._io import needed
from keras_interp_rnn._types import FiniteAutomaton
from keras_interp_rnn.automata.machines.formats import Table, texts
from keras_interp_rnn.automata.machines.graphs import MISSING, edges_of

Alphabet: TypeAlias = tuple[Hashable, ...]
Rows: TypeAlias = Sequence[Mapping[Hashable, int]]

Theirs: TypeAlias = Any
"""An object of another library."""

NOTHING = ""
"""The output of a Mealy machine before the first symbol."""


class OfAALpy(NamedTuple):
    """Classes of AALpy: of an automaton and of its states, and the attribute of a state that has its output."""

    automaton: str
    state: str
    output: str


def to_networkx(automaton: FiniteAutomaton, attribute: str, by: str) -> Theirs:
    """A `networkx.MultiDiGraph`; outputs are the attribute of nodes with this name.

    Args:
        by: the class whose method is called, for the error.
    """
    with needed("networkx", extra="automata", by=f"`{by}.to_networkx`"):
        import networkx

    graph = networkx.MultiDiGraph(alphabet=automaton.alphabet)
    for state, output in enumerate(automaton.outputs):
        graph.add_node(state, **{attribute: output}, start=state == automaton.start)
    for (state, target), symbols in edges_of(automaton.transitions, automaton.alphabet).items():
        for symbol in symbols:
            graph.add_edge(state, target, symbol=symbol)
    return graph


def to_aalpy(automaton: FiniteAutomaton, names: OfAALpy, by: str) -> Theirs:
    """An automaton of AALpy of a complete one. by: as of `to_networkx`."""
    with needed("aalpy", extra="automata", by=f"`{by}.to_aalpy`"):
        from aalpy import automata as theirs

    states = [getattr(theirs, names.state)(f"s{state}", output) for state, output in enumerate(automaton.outputs)]
    for state, row in zip(states, automaton.transitions, strict=True):
        state.transitions = {symbol: states[t] for symbol, t in zip(automaton.alphabet, row, strict=True)}
    return getattr(theirs, names.automaton)(states[automaton.start], states)


def from_aalpy(
    other: Theirs, names: OfAALpy, alphabet: Alphabet | None, *, mealy: bool
) -> tuple[Rows, list[Hashable], int, Alphabet]:
    """Rows, outputs, start and alphabet of an automaton of AALpy.

    Args:
        mealy: whether Mealy machines are read too, as the Moore machine of their last outputs.
    """
    with needed("aalpy", extra="automata", by="`from_aalpy`"):
        from aalpy import automata as theirs

    is_mealy = mealy and isinstance(other, theirs.MealyMachine)
    if not is_mealy and not isinstance(other, getattr(theirs, names.automaton)):
        raise invalid("other", f"an aalpy.automata.{names.automaton}{' or MealyMachine' * mealy}", other)
    symbols = alphabet or tuple(other.get_input_alphabet())
    number = _Numbers(other.states, id)
    rows = [number.row(state.transitions) for state in other.states]
    start = number(other.initial_state)
    if is_mealy:
        return *of_last_outputs(rows, [state.output_fun for state in other.states], start), symbols
    return rows, [getattr(state, names.output) for state in other.states], start, symbols


def of_last_outputs(
    rows: Rows, written: Sequence[Mapping[Hashable, Hashable]], start: int
) -> tuple[Rows, list[Hashable], int]:
    """Rows, outputs and start of the Moore machine whose label of a word is the last output of a Mealy machine.

    Args:
        rows: for each state, from a symbol to the next state. written: from a symbol to its output.
    """
    pairs: dict[tuple[int, Hashable], int] = {(start, NOTHING): 0}
    table: list[dict[Hashable, int]] = []
    for state, _ in (queue := [*pairs]):
        row = {}
        for symbol, target in rows[state].items():
            pair = target, written[state][symbol]
            if pair not in pairs:
                pairs[pair] = len(pairs)
                queue.append(pair)
            row[symbol] = pairs[pair]
        table.append(row)
    return table, [output for _, output in pairs], 0


def to_automata_lib(automaton: FiniteAutomaton) -> Theirs:
    """An `automata.fa.dfa.DFA` of automata-lib; symbols are strings."""
    with needed("automata-lib", extra="automata", by="`DFA.to_automata_lib`"):
        from automata.fa.dfa import DFA

    names = texts(automaton.alphabet, "automata-lib")
    steps = [dict(zip(names, row, strict=True)) for row in automaton.transitions]
    return DFA(
        states=set(range(len(steps))),
        input_symbols=set(names),
        transitions={i: {name: to for name, to in row.items() if to != MISSING} for i, row in enumerate(steps)},
        initial_state=automaton.start,
        final_states={state for state, accepts in enumerate(automaton.outputs) if accepts},
        allow_partial=any(MISSING in row for row in automaton.transitions),
    )


def from_automata_lib(other: Theirs, alphabet: Alphabet | None) -> Table:
    """The table of an `automata.fa.dfa.DFA` of automata-lib."""
    with needed("automata-lib", extra="automata", by="`DFA.from_automata_lib`"):
        from automata.fa.dfa import DFA

    if not isinstance(other, DFA):
        remedy = "Make a nondeterministic one deterministic by DFA.from_nfa."
        raise invalid("other", "an automata.fa.dfa.DFA", other, remedy)
    number = _Numbers(other.states, lambda state: state)
    rows = [number.row(other.transitions.get(state, {})) for state in other.states]
    accepting = [number(state) for state in other.final_states]
    return Table(rows, accepting, number(other.initial_state), alphabet or tuple(sorted(other.input_symbols)))


def from_regex(expression: str, alphabet: Alphabet) -> Table:
    """The table of a regular expression of automata-lib, deterministic and not minimized."""
    with needed("automata-lib", extra="automata", by="`DFA.from_regex`"):
        from automata.base.exceptions import AutomatonException, RegexException
        from automata.fa.dfa import DFA
        from automata.fa.nfa import NFA, RESERVED_CHARACTERS

    symbols = [symbol for symbol in alphabet if isinstance(symbol, str) and len(symbol) == 1]
    if len(symbols) < len(alphabet) or not RESERVED_CHARACTERS.isdisjoint(symbols):
        raise ValueError(
            "Symbols of an expression must be single characters other than its operators "
            f"{''.join(sorted(RESERVED_CHARACTERS)).strip()}. Received: alphabet={alphabet!r}. Write other characters "
            "for them."
        )
    shown = repr(expression if len(expression) <= 60 else f"{expression[:57]}...")
    try:
        nfa = NFA.from_regex(expression, input_symbols=set(symbols))
    except (AutomatonException, RegexException) as error:
        raise ValueError(
            f"An expression must be one that automata-lib reads, of symbols of the alphabet {alphabet!r}, `|`, `*`, "
            f"`+`, `?` and parentheses. Received: expression={shown}: {error}"
        ) from None
    return from_automata_lib(DFA.from_nfa(nfa, retain_names=False, minify=False), alphabet)


class _Numbers:
    """Another library's states -> their numbers; a state is found by its key."""

    def __init__(self, states: Iterable[Theirs], key: Callable[[Theirs], Hashable]) -> None:
        self.key = key
        self.numbers = {key(state): i for i, state in enumerate(states)}

    def __call__(self, state: Theirs) -> int:
        try:
            return self.numbers[self.key(state)]
        except (KeyError, TypeError):
            raise ValueError(
                "The start and all targets of transitions must be among the states of an automaton. Received: "
                f"{getattr(state, 'state_id', state)!r}, which is not. Add it to `states`."
            ) from None

    def row(self, transitions: Mapping[Theirs, Theirs]) -> dict[Hashable, int]:
        if not isinstance(transitions, Mapping):
            raise ValueError(
                f"Transitions of a deterministic automaton must map symbols to states. Received: {transitions!r}."
            )
        return {symbol: self(target) for symbol, target in transitions.items()}
