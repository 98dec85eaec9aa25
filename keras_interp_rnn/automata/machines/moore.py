"""Moore machines: automata that give every word one of several labels."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from keras_interp_rnn._checks import invalid
from keras_interp_rnn._results import short_repr
from keras_interp_rnn.automata.machines import _dot
from keras_interp_rnn.automata.machines._automaton import Automaton
from keras_interp_rnn.automata.machines._deterministic import Names
from keras_interp_rnn.automata.machines.dfa import DFA
from keras_interp_rnn.automata.machines.words import optional_alphabet


@short_repr
@dataclass(frozen=True)
class MooreMachine(Automaton):
    """A deterministic automaton that gives each word a label: the output of the state to which the word leads.

    States are 0, ..., n - 1, and no transition is missing. A `DFA` is a machine with the outputs False and True.
    `accepting` gives the DFA of the words with one label, with all the methods of a DFA.

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
    >>> ones_modulo_3.accepting("none").count(4)
    5
    """

    _names = Names("outputs", "output", "output", "moore", ("MooreMachine", "MooreState", "output"))

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
    def _of(cls, transitions: Any, outputs: Sequence[Any], start: int, alphabet: Any) -> MooreMachine:
        return MooreMachine(transitions, outputs, start=start, alphabet=alphabet)

    def accepting(self, label: Hashable) -> DFA:
        """The complete automaton of the words with a given label, with the states of the machine.

        Raises:
            ValueError: if no state has this output.

        Example:

        >>> parity = MooreMachine([[0, 1], [1, 0]], ["even", "odd"])
        >>> list(parity.accepting("odd").words(2))
        [('0', '1'), ('1', '0')]
        """
        if label not in self.outputs:
            raise invalid("label", f"one of the machine's, {', '.join(map(repr, self.labels))}", label)
        return DFA._of(self.transitions, [output == label for output in self.outputs], self.start, self.alphabet)

    @classmethod
    def from_dfa(cls, dfa: DFA) -> MooreMachine:
        """The machine that labels every word with whether an automaton accepts it.

        Returns:
            A machine with the outputs True and False; a missing transition leads to a further state with output False.

        Raises:
            ValueError: if `dfa` is not a DFA.

        Example:

        >>> MooreMachine.from_dfa(DFA([[-1, 0]], accepting={0}))
        MooreMachine(transitions=((1, 0), (1, 1)), outputs=(True, False), start=0, alphabet=('0', '1'))
        """
        if not isinstance(dfa, DFA):
            raise invalid("dfa", "a DFA", dfa)
        whole = dfa.complete()
        return cls._of(whole.transitions, whole.outputs, whole.start, whole.alphabet)

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
        return cls._read(_dot.read_moore_dot(text, optional_alphabet(alphabet), labels))


def automaton_of(
    transitions: Any, outputs: Sequence[Hashable], labels: Sequence[Hashable], *, start: int = 0, alphabet: Any
) -> Automaton:
    """The automaton with these outputs: a `DFA` if the labels are False and True, else a `MooreMachine`."""
    kind: type[Automaton] = DFA if tuple(labels) == (False, True) else MooreMachine
    return kind._of(transitions, outputs, start, alphabet)
