"""Moore machines: automata that give every word one of several labels."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from keras_interp_rnn._results import short_repr
from keras_interp_rnn.automata._deterministic import Deterministic, as_state, difference, label_of
from keras_interp_rnn.automata.conversions import MooreConversions
from keras_interp_rnn.automata.dfa import DFA
from keras_interp_rnn.automata.words import checked_alphabet, ordered


@short_repr
@dataclass(frozen=True)
class MooreMachine(MooreConversions, Deterministic):
    """A deterministic automaton whose states have outputs: a word is given the output of the state it leads to.

    States are 0, ..., n - 1, and no transition is missing. A `DFA` is a Moore machine of the outputs True and False;
    `accepting` gives the DFA of the words of one label, so that whatever a DFA can do is done label by label.

    Args:
        transitions: for each state the next state for each symbol, in the order of the alphabet, or a mapping from
            symbols to states.
        outputs: the label of each state, any hashable.
        start: the state before the first symbol.
        alphabet: the symbols, hashable and different.

    Attributes:
        labels: the different outputs, in ascending order where they have one.

    Raises:
        ValueError: if the machine does not have one of the states or symbols, a transition is missing, or there is not
            one output for each state.

    Two machines are equal if they have the same table. `minimize` numbers states in breadth-first order, so minimal
    machines that give the same labels are equal.

    Reference: Moore, "Gedanken-experiments on sequential machines", Automata Studies, 1956.

    Example:

    >>> ones_modulo_3 = MooreMachine([[0, 1], [1, 2], [2, 0]], ["none", "one", "two"])
    >>> ones_modulo_3.output("10110"), ones_modulo_3.output("11")
    ('none', 'two')
    >>> ones_modulo_3.accepting("none").count(4)
    5
    """

    transitions: tuple[tuple[int, ...], ...]
    outputs: tuple[Hashable, ...]
    start: int
    alphabet: tuple[Hashable, ...]
    _column: dict[Hashable, int] = field(init=False, repr=False, compare=False)

    def __init__(
        self,
        transitions: Iterable[Sequence[int] | Mapping[Hashable, int]],
        outputs: Iterable[Hashable],
        *,
        start: int = 0,
        alphabet: Iterable[Hashable] = "01",
    ) -> None:
        symbols = checked_alphabet(alphabet)
        if not isinstance(transitions, Iterable) or not isinstance(outputs, Iterable):
            raise ValueError(
                "A Moore machine needs a row of transitions and an output for each state. Received: "
                f"transitions={transitions!r}, outputs={outputs!r}."
            )
        self._set_table(transitions, symbols)
        object.__setattr__(self, "outputs", tuple(outputs))
        object.__setattr__(self, "start", as_state(start, "start"))
        if len(self.outputs) != len(self):
            raise ValueError(
                f"Every state of a Moore machine has one output. Received: {len(self.outputs)} outputs for {len(self)} "
                "states. Give one for each."
            )
        for label in self.outputs:
            if not _is_label(label):
                raise ValueError(f"Outputs are hashable, and equal to themselves. Received: the output {label!r}.")
        if self.start not in range(len(self)):
            raise ValueError(f"The start is among the states 0 to {len(self) - 1}. Received: start={self.start}.")
        if not self.is_complete:
            raise ValueError(
                "A Moore machine gives every word a label. Received: a table with a missing transition, -1. Add a "
                "state for these words, with an output of its own."
            )

    @property
    def labels(self) -> tuple[Hashable, ...]:
        """The different outputs, in ascending order where they have one.

        Example:

        >>> MooreMachine([[0, 1], [1, 2], [2, 0]], ["b", "a", "b"]).labels
        ('a', 'b')
        """
        return ordered(self.outputs)

    def output(self, word: Iterable[Hashable]) -> Hashable:
        """The label of a word.

        Args:
            word: symbols of the alphabet.

        Returns:
            The output of the state that the word leads to.

        Raises:
            ValueError: if a symbol is not in the alphabet.

        Example:

        >>> parity = MooreMachine([[0, 1], [1, 0]], ["even", "odd"])
        >>> parity.output(""), parity.output("01011")
        ('even', 'odd')
        """
        return label_of(self, word)

    # Related automata

    def accepting(self, label: Hashable) -> DFA:
        """The automaton of the words that have a label.

        Args:
            label: one of `labels`.

        Returns:
            A complete automaton, with the states of the machine.

        Raises:
            ValueError: if no state has this output.

        Example:

        >>> parity = MooreMachine([[0, 1], [1, 0]], ["even", "odd"])
        >>> list(parity.accepting("odd").words(2))
        [('0', '1'), ('1', '0')]
        """
        states = [state for state, output in enumerate(self.outputs) if output == label]
        if not states:
            raise ValueError(f"Labels of this machine are {', '.join(map(repr, self.labels))}. Received: {label!r}.")
        return DFA(self.transitions, states, start=self.start, alphabet=self.alphabet)

    @classmethod
    def from_dfa(cls, dfa: DFA) -> MooreMachine:
        """The machine that says of every word whether an automaton accepts it.

        Args:
            dfa: the automaton.

        Returns:
            A machine of the outputs True and False; a missing transition leads to a further state, of output False.

        Raises:
            ValueError: if `dfa` is no DFA.

        Example:

        >>> MooreMachine.from_dfa(DFA([[-1, 0]], accepting={0}))
        MooreMachine(transitions=((1, 0), (1, 1)), outputs=(True, False), start=0, alphabet=('0', '1'))
        """
        if not isinstance(dfa, DFA):
            raise ValueError(f"A Moore machine is made from a DFA. Received: dfa={dfa!r}.")
        whole = dfa.complete()
        outputs = [state in whole.accepting for state in range(len(whole))]
        return cls(whole.transitions, outputs, start=whole.start, alphabet=whole.alphabet)

    @property
    def _labels(self) -> tuple[Hashable, ...]:
        return self.outputs

    def _relabelled(self, transitions: Any, labels: Sequence[Any], start: int, alphabet: Any) -> MooreMachine:
        return MooreMachine(transitions, labels, start=start, alphabet=alphabet)

    # Comparison

    def difference(self, other: MooreMachine) -> tuple[Hashable, ...] | None:
        """A shortest word to which two machines give different labels.

        Args:
            other: a machine over the same symbols.

        Returns:
            The first such word in the order of the alphabet; None if the machines are equivalent.

        Raises:
            ValueError: if the alphabets differ, or `other` is no MooreMachine.

        Example:

        >>> parity = MooreMachine([[0, 1], [1, 0]], ["even", "odd"])
        >>> parity.difference(MooreMachine([[0, 1], [1, 1]], ["even", "odd"]))
        ('1', '1')
        """
        return difference(self, other)


def _is_label(value: Any) -> bool:
    """Whether a value can be told from others: it is hashable and no NaN."""
    try:
        hash(value)
    except TypeError:
        return False
    return bool(value == value)
