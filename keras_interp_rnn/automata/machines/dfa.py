"""Deterministic finite automata, whose states accept or reject: languages."""

from __future__ import annotations

import functools
import itertools
import math
import random
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from keras_interp_rnn._checks import integer, invalid, is_integer
from keras_interp_rnn._io import needed
from keras_interp_rnn._results import short_repr
from keras_interp_rnn.automata.machines import _dot, formats, regex
from keras_interp_rnn.automata.machines._automaton import Automaton, NumbersOfStates
from keras_interp_rnn.automata.machines._deterministic import MISSING, Names, as_state, shortest_word
from keras_interp_rnn.automata.machines.words import checked_alphabet, optional_alphabet

MAX_COUNT_BYTES = 1e9
"""Memory that the counts of words of a length may take."""

COUNT_BYTES = 36
"""Memory of a small int and of its entry in a list."""


@short_repr
@dataclass(frozen=True)
class DFA(Automaton):
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

    _names = Names("accepting", "accepting", "accepts", "dfa", ("Dfa", "DfaState", "is_accepting"))

    transitions: tuple[tuple[int, ...], ...]
    accepting: frozenset[int]
    start: int
    alphabet: tuple[Hashable, ...]
    outputs: tuple[bool, ...] = field(init=False, repr=False, compare=False)

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
    def _of(cls, transitions: Any, outputs: Sequence[Any], start: int, alphabet: Any) -> DFA:
        accepting = [state for state, output in enumerate(outputs) if output]
        return DFA(transitions, accepting, start=start, alphabet=alphabet)

    @property
    def labels(self) -> tuple[bool, bool]:
        return False, True

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
        return self._of(rows, [accept(left.outputs[a], right.outputs[b]) for a, b in pairs], 0, self.alphabet)

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

    # Other formats

    @classmethod
    def from_regex(cls, expression: str, alphabet: Iterable[str] = "01", *, max_states: int = 10_000) -> DFA:
        """The minimal, complete automaton of a regular expression of symbols, `|`, `*`, `+`, `?` and parentheses.

        Args:
            expression: the regular expression, of any depth.
            alphabet: one-character symbols other than `|*+?()`.
            max_states: int > 0, limit of the automaton before minimization: `(0|1)*1` followed by n times `(0|1)` has
                2^(n+1) states.

        Raises:
            ValueError: if the expression cannot be read, with the place; if its automaton would have more states.

        Example:

        >>> DFA.from_regex("(ab)*", alphabet="ab").accepts("abab")
        True
        """
        symbols = checked_alphabet(alphabet)
        if not isinstance(expression, str):
            raise invalid("expression", "a string", expression)
        characters = tuple(symbol for symbol in symbols if isinstance(symbol, str) and len(symbol) == 1)
        if characters != symbols or set(symbols) & set(regex.OPERATORS):
            raise ValueError(
                f"Symbols of an expression must be single characters other than its operators {regex.OPERATORS}. "
                f"Received: alphabet={symbols!r}. Write other characters for them."
            )
        return cls._read(regex.table(expression, characters, integer("max_states", max_states))).minimize()

    @classmethod
    def from_att(cls, text: str, *, alphabet: Iterable[Hashable] | None = None) -> DFA:
        r"""The automaton of an AT&T table, as OpenFst, foma and the MLRegTest benchmark write acceptors.

        Args:
            text: a line `from to symbol symbol` for each edge, and a line for each accepting state; states are numbers.
                The first state named is the start. Finite weights at the end of a line are ignored. Lines may name the
                symbol once, as in the output of `fstprint --acceptor`.
            alphabet: the symbols in order; by default the symbols of the edges, sorted.

        Returns:
            An automaton whose states are numbered in the order in which they are first named.

        Raises:
            ValueError: if a line cannot be read, reads no symbol (epsilon) or a class of symbols (foma's
                `@_IDENTITY_SYMBOL_@`), writes a different symbol or has an infinite weight; if two edges of a state
                read the same symbol.

        Example:

        >>> even = DFA.from_att("0 1 a a\n1 0 a a\n0")
        >>> even.accepts("aa"), even.accepts("a")
        (True, False)
        """
        return cls._read(formats.read_att(text, optional_alphabet(alphabet)))

    @classmethod
    def from_dot(cls, text: str, *, alphabet: Iterable[Hashable] | None = None) -> DFA:
        """The automaton of a digraph in DOT, as `to_dot`, AALpy, LearnLib and the Automata Wiki write it.

        Args:
            text: the digraph. States with two rings (the shape doublecircle, or `peripheries=2`) accept. An edge from a
                node of shape none or point, or named `__start0`, points to the start; an edge to such a node comes from
                an accepting state. The label of an edge is a symbol, or several separated by ", ". Attributes may be
                set by `node [...]` and `edge [...]`, also in subgraphs. A digraph without accepting states needs a
                state with `peripheries=1`, as `to_dot` writes it.
            alphabet: as `from_att`.

        Raises:
            ValueError: if `text` is no such digraph; if there is not exactly one start; if an edge has no symbol, or
                has an output, as in a Mealy machine; if two edges of a state read the same symbol; if an attribute
                concerns more than the drawing.

        Example:

        >>> even = DFA([[0, 1], [1, 0]], {0})
        >>> DFA.from_dot(even.to_dot()) == even
        True
        """
        return cls._read(_dot.read_dot(text, optional_alphabet(alphabet)))

    @classmethod
    def from_flexfringe(cls, text: str, *, alphabet: Iterable[Hashable] | None = None, accepted: str = "1") -> DFA:
        """The automaton that FlexFringe learned, from the JSON file that it writes.

        Args:
            text: the JSON object, with the lists `nodes`, whose node 0 is the start, and `edges`. A state accepts if
                more than half of the words that end there have the label `accepted`. A state in which no word ends
                rejects.
            alphabet: as `from_att`.
            accepted: label of the words of the language.

        Raises:
            ValueError: if `text` is no such object; if an edge leads to a state that is not listed; if a state has no
                counts of labels, or two edges for one symbol, as with guards on attributes; if no word has the label.

        Example:

        >>> a = '{"nodes": [{"id": 0, "data": {"final_counts": {"0": 3, "1": 0}}},'
        >>> b = '{"id": 1, "data": {"final_counts": {"0": 0, "1": 4}}}],'
        >>> c = '"edges": [{"source": "0", "target": "1", "name": "a"}]}'
        >>> DFA.from_flexfringe(a + b + c)
        DFA(transitions=((1,), (-1,)), accepting=frozenset({1}), start=0, alphabet=('a',))
        """
        return cls._read(formats.read_flexfringe(text, optional_alphabet(alphabet), accepted))

    def to_automata_lib(self) -> Any:
        """The automaton as an `automata.fa.dfa.DFA` of automata-lib, with the same states; symbols are strings.

        Raises:
            ValueError: if two symbols are the same as strings.

        Example:

        >>> even = DFA([[0, 1], [1, 0]], {0})
        >>> DFA.from_automata_lib(even.to_automata_lib()) == even
        True
        """
        with needed("automata-lib", extra="automata", by="`DFA.to_automata_lib`"):
            from automata.fa.dfa import DFA as Other

        names = formats.texts(self.alphabet, "automata-lib")
        steps = [zip(names, row, strict=True) for row in self.transitions]
        return Other(
            states=set(range(len(self))),
            input_symbols=set(names),
            transitions={i: {name: to for name, to in row if to != MISSING} for i, row in enumerate(steps)},
            initial_state=self.start,
            final_states=set(self.accepting),
            allow_partial=not self.is_complete,
        )

    @classmethod
    def from_automata_lib(cls, other: Any, alphabet: Iterable[Hashable] | None = None) -> DFA:
        """The automaton of an `automata.fa.dfa.DFA` of automata-lib, without states that no word reaches.

        Args:
            other: the automaton.
            alphabet: its symbols in order; by default they are sorted.

        Raises:
            ValueError: if `other` is of another kind.
        """
        attributes = ("input_symbols", "states", "transitions", "final_states", "allow_partial")
        if not all(hasattr(other, name) for name in attributes):
            remedy = "Make a nondeterministic one deterministic by DFA.from_nfa."
            raise invalid("other", "an automata.fa.dfa.DFA", other, remedy)
        symbols = optional_alphabet(alphabet) or tuple(sorted(other.input_symbols))
        number = NumbersOfStates(other.states, lambda state: state)
        rows = [number.row(other.transitions.get(state, {})) for state in other.states]
        accepting = [number(state) for state in other.final_states]
        return cls._read(formats.Table(rows, accepting, number(other.initial_state), symbols)).reachable()


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
