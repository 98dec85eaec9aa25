"""Deterministic finite automata, whose states accept or reject: languages."""

from __future__ import annotations

import functools
import itertools
import math
import random
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from keras_interp_rnn._alphabet import distinct_symbols
from keras_interp_rnn._checks import integer, invalid, is_integer
from keras_interp_rnn._results import short_repr
from keras_interp_rnn.automata.machines import dot, libraries
from keras_interp_rnn.automata.machines.formats import Table
from keras_interp_rnn.automata.machines.graphs import MISSING, shortest_word
from keras_interp_rnn.automata.machines.moore import MooreMachine, Names, as_state
from keras_interp_rnn.automata.machines.words import optional_alphabet

MAX_COUNT_BYTES = 1e9
"""Memory that the counts of words of a length may take."""

COUNT_BYTES = 36
"""Memory of a small int and of its entry in a list."""


@short_repr
@dataclass(frozen=True)
class DFA(MooreMachine):
    """A deterministic finite automaton over named symbols, which accepts or rejects every word.

    States are 0, ..., n - 1. A transition may be missing: the automaton rejects words that need it.

    Args:
        transitions: for each state the next state for each symbol, in the order of the alphabet, or a mapping from
            symbols to states. -1 or None for a missing transition.
        accepting: states at which a word is accepted.
        start: the state before the first symbol.
        alphabet: the symbols, hashable and all different.

    Attributes:
        outputs: whether each state accepts.
        labels: False and True.

    Raises:
        ValueError: if an argument names a state or a symbol that the automaton does not have.

    Two automata are equal if they have the same table. `minimize` numbers states in breadth-first order, so minimal
    complete automata of the same language are equal.

    Example:

    >>> even = DFA([[0, 1], [1, 0]], accepting={0}, alphabet="ab")
    >>> even.accepts("abba"), even.accepts("ab")
    (True, False)
    """

    title = "Automaton"
    _names = Names("accepting", "accepting", "accepts", "dfa", libraries.OfAALpy("Dfa", "DfaState", "is_accepting"))

    outputs: tuple[bool, ...] = field(init=False, repr=False)
    accepting: frozenset[int] = field(init=False)

    def __init__(
        self,
        transitions: Iterable[Sequence[int | None] | Mapping[Hashable, int]],
        accepting: Iterable[int],
        *,
        start: int = 0,
        alphabet: Iterable[Hashable] = "01",
    ) -> None:
        self._set_table(transitions, start, alphabet)
        if not isinstance(accepting, Iterable):
            raise invalid("accepting", "a set of states", accepting)
        states = frozenset(as_state(state, "accepting") for state in accepting)
        if not states <= set(range(len(self))):
            raise invalid("accepting", f"among the states 0 to {len(self) - 1}", sorted(states))
        object.__setattr__(self, "accepting", states)
        object.__setattr__(self, "outputs", tuple(state in states for state in range(len(self))))

    @classmethod
    def _of(cls, transitions: Any, outputs: Sequence[object], start: int, alphabet: Any) -> DFA:
        accepting = [state for state, output in enumerate(outputs) if output]
        return DFA(transitions, accepting, start=start, alphabet=alphabet)

    @property
    def _table(self) -> Table:
        return Table(self.transitions, sorted(self.accepting), self.start, self.alphabet)

    @property
    def labels(self) -> tuple[bool, bool]:
        return False, True

    @classmethod
    def from_moore(cls, dfa: MooreMachine, label: Hashable) -> DFA:
        """The complete automaton of the words to which a machine gives a label, with the states of the machine.

        Raises:
            ValueError: if `dfa` is no Moore machine; if no state has this output.

        Example:

        >>> parity = MooreMachine([[0, 1], [1, 0]], ["even", "odd"])
        >>> list(DFA.from_moore(parity, "odd").words(2))
        [('0', '1'), ('1', '0')]
        """
        if not isinstance(dfa, MooreMachine):
            raise invalid("dfa", "a MooreMachine", dfa)
        if label not in dfa.labels:
            raise invalid("label", f"one of the machine's, {', '.join(map(repr, dfa.labels))}", label)
        whole = dfa.complete()
        return cls._of(whole.transitions, [output == label for output in whole.outputs], whole.start, whole.alphabet)

    def accepts(self, word: Iterable[Hashable]) -> bool:
        """Whether a word is in the language.

        Raises:
            ValueError: if a symbol is not in the alphabet.

        Example:

        >>> tomita_1 = DFA([[-1, 0]], accepting={0})
        >>> tomita_1.accepts("111"), tomita_1.accepts("101")
        (True, False)
        """
        return bool(self.output(word))

    # Related automata

    def complement(self) -> DFA:
        """The complete automaton of all words that this one rejects.

        Example:

        >>> DFA([[-1, 0]], accepting={0}).complement().accepts("10")
        True
        """
        whole = self.complete()
        return self._of(whole.transitions, [not output for output in whole.outputs], whole.start, whole.alphabet)

    def product(self, other: DFA, accept: Callable[[bool, bool], bool]) -> DFA:
        """The automaton that runs two automata in parallel.

        Args:
            other: an automaton over the same symbols.
            accept: function of two bools, whether this automaton and whether `other` accepts a word, that returns
                whether the product accepts it.

        Returns:
            A complete automaton whose states are the reachable pairs of states.

        Raises:
            ValueError: if the alphabets differ, `other` is not a DFA, or `accept` is not a function.

        Example:

        >>> even, short = DFA([[1, 1], [0, 0]], {0}), DFA([[1, 1], [-1, -1]], {0, 1})
        >>> both = even.product(short, lambda first, second: first and second)
        >>> both.accepts(""), both.accepts("0"), both.accepts("01")
        (True, False, False)
        """
        if not callable(accept):
            raise invalid("accept", "a function of two bools", accept, "Try `operator.and_`.")
        left, right, rows, pairs = self._product(other)
        return self._of(rows, [accept(left.outputs[a], bool(right.outputs[b])) for a, b in pairs], 0, self.alphabet)

    def shortest(self) -> tuple[Hashable, ...] | None:
        """The first shortest word of the language in the order of the alphabet; None if the language is empty.

        Example:

        >>> DFA.from_regex("(01)+1").shortest()
        ('0', '1', '1')
        """
        return shortest_word(self.transitions, self.start, self.accepting, self.alphabet)

    # Words of a length

    def count(self, length: int) -> int:
        """The number of words of a given length in the language, an int of any size.

        Raises:
            ValueError: if counting would take more than 1 GB.

        Example:

        >>> [DFA.from_regex("(0|1)*1").count(length) for length in range(4)]
        [0, 1, 2, 4]
        """
        return count_completions(self, length)[0][self.start]

    def sample(self, length: int, seed: random.Random | int | None = None) -> tuple[Hashable, ...]:
        """A word of a given length in the language, drawn uniformly.

        Args:
            length: int >= 0.
            seed: an int, or a generator from which to draw.

        Raises:
            ValueError: if there is no word of this length, if `seed` is neither an int nor a generator, or if counting
                would take more than 1 GB.

        Example:

        >>> DFA.from_regex("(01)*").sample(4, seed=0)
        ('0', '1', '0', '1')
        """
        if seed is not None and not isinstance(seed, random.Random) and not is_integer(seed):
            raise invalid("seed", "an integer, a random.Random or None", seed)
        rng = seed if isinstance(seed, random.Random) else random.Random(None if seed is None else int(seed))
        completions = count_completions(self, length)
        if not completions[0][self.start]:
            raise ValueError(f"The language must have a word of that length. Received: length={length}.")
        word, state = [], self.start
        for after in completions[1:]:
            options = [(s, t) for s, t in zip(self.alphabet, self.transitions[state], strict=True) if t != MISSING]
            drawn = rng.randrange(sum(after[target] for _, target in options))
            ends = itertools.accumulate(after[target] for _, target in options)
            symbol, state = next(option for option, end in zip(options, ends, strict=True) if drawn < end)
            word.append(symbol)
        return tuple(word)

    def words(self, length: int) -> Iterator[tuple[Hashable, ...]]:
        """All words of a given length in the language, in the order of the alphabet.

        Raises:
            ValueError: if counting would take more than 1 GB.

        Example:

        >>> list(DFA.from_regex("(0|1)1").words(2))
        [('0', '1'), ('1', '1')]
        """
        completions = count_completions(self, length)
        # A stack, as a word may be longer than Python recurses.
        stack: list[tuple[int, tuple[Hashable, ...]]] = [(self.start, ())]
        while stack:
            state, word = stack.pop()
            if not completions[len(word)][state]:
                continue
            if len(word) == length:
                yield word
                continue
            steps = zip(self.alphabet, self.transitions[state], strict=True)
            after = [(target, (*word, symbol)) for symbol, target in steps if target != MISSING]
            stack.extend(reversed(after))

    # Conversions

    @classmethod
    def from_regex(cls, expression: str, alphabet: Iterable[str] = "01") -> DFA:
        """The minimal, complete automaton of a regular expression, as automata-lib reads it.

        Args:
            expression: of symbols, `|`, `*`, `+`, `?` and parentheses, and what else automata-lib knows.
            alphabet: symbols of one character, none of which is an operator of automata-lib.

        Raises:
            ValueError: if the expression cannot be read, or a symbol is an operator.
            ImportError: if automata-lib is not installed.

        Example:

        >>> DFA.from_regex("(ab)*", alphabet="ab").accepts("abab")
        True
        """
        if not isinstance(expression, str):
            raise invalid("expression", "a string", expression)
        return cls._read(libraries.from_regex(expression, distinct_symbols(alphabet))).minimize()

    @classmethod
    def from_dot(  # type: ignore[override]  # a constructor
        cls, text: str, *, alphabet: Iterable[Hashable] | None = None
    ) -> DFA:
        """The automaton of a digraph in DOT, as `to_dot`, AALpy, LearnLib and the Automata Wiki write it.

        Args:
            text: the digraph. States with two rings (the shape doublecircle, or `peripheries=2`) accept. An edge from a
                node of shape none or point, or named `__start0`, points to the start; an edge to such a node comes from
                an accepting state. The label of an edge is a symbol, or several separated by ", ". Attributes may be
                set by `node [...]` and `edge [...]`, also in subgraphs. A digraph without accepting states needs a
                state with `peripheries=1`, as `to_dot` writes it.
            alphabet: the symbols in order; by default the symbols of the edges, sorted.

        Raises:
            ValueError: if `text` is no such digraph; if there is not exactly one start; if an edge has no symbol, or
                has an output, as in a Mealy machine; if two edges of a state read the same symbol; if an attribute
                concerns more than the drawing.

        Example:

        >>> even = DFA([[0, 1], [1, 0]], {0})
        >>> DFA.from_dot(even.to_dot()) == even
        True
        """
        return cls._read(dot.read_dot(text, optional_alphabet(alphabet)))

    def to_automata_lib(self) -> libraries.Theirs:
        """The automaton as an `automata.fa.dfa.DFA` of automata-lib, with the same states; symbols are strings.

        Raises:
            ValueError: if two symbols are the same as strings.

        Example:

        >>> even = DFA([[0, 1], [1, 0]], {0})
        >>> DFA.from_automata_lib(even.to_automata_lib()) == even
        True
        """
        return libraries.to_automata_lib(self)

    @classmethod
    def from_automata_lib(cls, other: libraries.Theirs, alphabet: Iterable[Hashable] | None = None) -> DFA:
        """The automaton of an `automata.fa.dfa.DFA` of automata-lib, without states that no word reaches.

        Args:
            other: the automaton.
            alphabet: its symbols in order; by default they are sorted.

        Raises:
            ValueError: if `other` is of another kind.
        """
        return cls._read(libraries.from_automata_lib(other, optional_alphabet(alphabet))).reachable()


def automaton_of(
    transitions: object, outputs: Sequence[Hashable], labels: Sequence[Hashable], *, start: int = 0, alphabet: object
) -> MooreMachine:
    """The automaton with these outputs: a `DFA` if the labels are False and True, else a `MooreMachine`."""
    kind: type[MooreMachine] = DFA if tuple(labels) == (False, True) else MooreMachine
    return kind._of(transitions, outputs, start, alphabet)


def count_completions(dfa: DFA, length: int) -> list[list[int]]:
    """Entry t: for each state, the number of words of length - t that lead from it to acceptance."""
    length = integer("length", length, 0)
    # A count of words of t symbols has up to t log2(symbols) bits, and there is one for each t and state.
    size = len(dfa) * length * (COUNT_BYTES + length / 2 * math.log2(len(dfa.alphabet)) / 8)
    if size > MAX_COUNT_BYTES:
        raise ValueError(
            f"Counts of words must take at most {MAX_COUNT_BYTES / 1e9:g} GB. Received: length={length}, which takes "
            f"up to {size / 1e9:.3g} GB with {len(dfa)} states. Pass a smaller length."
        )
    return _completions(dfa, length)


@functools.lru_cache(maxsize=16)
def _completions(dfa: DFA, length: int) -> list[list[int]]:
    counts = [[int(accepts) for accepts in dfa.outputs]]
    for _ in range(length):
        last = counts[-1]
        counts.append([sum(last[target] for target in row if target != MISSING) for row in dfa.transitions])
    return counts[::-1]
