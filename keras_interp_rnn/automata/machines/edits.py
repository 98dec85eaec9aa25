r"""The smallest edit that gives a word another label: a shortest path in a product with a Levenshtein automaton.

A node (i, q) of the product means that i symbols of the word have been read and that the automaton is in the state q.
With $d(i, q)$ the smallest number of edits that leads there,

$$d(i + 1, q) = \min(d(i, p), \; p \xrightarrow{x_{i+1}} q; \quad d(i, p) + 1, \; p \to q; \quad d(i, q) + 1; \quad
d(i + 1, p) + 1, \; p \to q):$$

for a symbol that stays, is substituted, deleted or inserted. The smallest $d(n, q)$ over the states of another label is
the answer, exactly, for words of any length.

Reference: Wagner, "Order-n correction for regular languages", Communications of the ACM 17(5), 1974.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from keras_interp_rnn._checks import choice, holding
from keras_interp_rnn._results import Column, Sentence, Table, counted, short_repr, visible
from keras_interp_rnn._types import ProvedNetwork
from keras_interp_rnn.automata.machines.moore import MooreMachine
from keras_interp_rnn.automata.machines.showing import SHOWN, Transitions, in_words
from keras_interp_rnn.automata.machines.words import checked_word

Distances = NDArray[np.int64]

MIN_WORDS = 3
"""A transition that fewer words take has little evidence."""

UNREACHED = np.iinfo(np.int64).max // 2
"""Distance of a node that no edit reaches."""


@short_repr
class Change(NamedTuple):
    """One edit of a word.

    Attributes:
        kind: "insert", "delete" or "substitute".
        position: of the symbol in the word, from 0; an insertion is before it.
        old: the symbol that is substituted or deleted; None for an insertion.
        new: the symbol that takes its place or is inserted; None for a deletion.

    Example: see `smallest_edit`.
    """

    kind: str
    position: int
    old: Hashable
    new: Hashable

    def __str__(self) -> str:
        place = f"position {self.position + 1}"
        if self.kind == "insert":
            return f"insert {visible(str(self.new))} before {place}"
        if self.kind == "delete":
            return f"delete {visible(str(self.old))} at {place}"
        return f"put {visible(str(self.new))} in place of {visible(str(self.old))} at {place}"


@dataclass(frozen=True, repr=False)
class Edit(Sentence):
    """A smallest edit of a word that gives it another label.

    Attributes:
        word, edited: the word before and after the changes.
        label, new_label: the labels of the two words.
        changes: substitutions, deletions and insertions, from the first position to the last.
        rare: transitions on the path of the edited word, as (state, symbol), that fewer than three of the words take
            from which the automaton was inferred; empty if it was not inferred.

    Example: see `smallest_edit`.
    """

    word: tuple[Hashable, ...]
    edited: tuple[Hashable, ...]
    label: Hashable
    new_label: Hashable
    changes: tuple[Change, ...]
    rare: Transitions = ()

    @property
    def distance(self) -> int:
        """Number of edits."""
        return len(self.changes)

    def table(self) -> Table:
        """The new label, the number of edits and the first of them; a row for each."""
        changes = [str(change) for change in self.changes[:SHOWN]]
        if self.distance > SHOWN:
            changes.append(f"and {self.distance - SHOWN:,} more")
        count = counted(self.distance, "edit")
        text = f"{self.new_label!r} in place of {self.label!r} after {count}: {'; '.join(changes)}."
        if self.rare:
            text += (
                f" Little evidence: the edited word takes {in_words(self.rare)}, as fewer than {MIN_WORDS} words do."
            )
        rows = [(change.position + 1, change.kind, change.old, change.new) for change in self.changes]
        position, kind, old, new = zip(*rows, strict=True) if rows else ((), (), (), ())
        symbols = ([None if symbol is None else visible(str(symbol)) for symbol in each] for each in (old, new))
        columns = Column("position", position, form="d"), *map(Column, ("edit", "old", "new"), (kind, *symbols))
        return Table(text, columns, folded=True)


def smallest_edit(dfa: object, word: Iterable[Hashable], *, label: Hashable = None) -> Edit:
    """The smallest number of substitutions, insertions and deletions that gives a word another label.

    Args:
        dfa: a `DFA` or a `MooreMachine`; or a result that has one as `dfa`, such as a `Certificate` that holds, which
            proves that the edit changes the network's verdict too, or an `Inference`, whose words are the evidence for
            the edit.
        word: symbols of the alphabet.
        label: the label of the edited word; None for any label other than that of `word`.

    Returns:
        `Edit`: `distance`, `changes` in order, and the edited word. If there are several smallest edits, it is one that
        leaves the longest end of the word unchanged.

    Raises:
        ValueError: if `dfa` is of another type, or a certificate that does not hold; if a symbol is not in the
            alphabet; if no word has the label, or all words have the same label.

    Exactness: no word at a smaller edit distance has the label, by dynamic programming over all words. An inferred
        automaton may be wrong where it has seen few words: see `rare` of the result.
    Cost: time and memory proportional to the length of the word times the number of transitions.
    Example:

        >>> from keras_interp_rnn import automata
        >>> language = automata.DFA.from_regex("a(ba)*", alphabet="ab")
        >>> edit = automata.smallest_edit(language, "abab")
        >>> edit.label, edit.new_label, edit.distance, "".join(edit.edited)
        (False, True, 1, 'aba')
        >>> print(edit)
        True in place of False after 1 edit: delete b at position 4.

    Reference: Wagner, "Order-n correction for regular languages", Communications of the ACM 17(5), 1974.
    """
    machine = getattr(holding(dfa) if isinstance(dfa, ProvedNetwork) else dfa, "dfa", dfa)
    if not isinstance(machine, MooreMachine):
        raise ValueError(
            f"`dfa` must be a DFA, a MooreMachine or a Certificate. Received: {dfa!r:.100}. Prove a "
            "network by `certify`, or read it by `extract(network).dfa`."
        )
    machine = machine.complete()
    symbols = tuple(checked_word(word))
    old_label = machine.outputs[machine.run(symbols)[-1]]
    if label is not None:
        choice("label", label, machine.labels)
    ends = np.array([output == label if label is not None else output != old_label for output in machine.outputs])
    product = _Product(np.array(machine.transitions), [machine.alphabet.index(symbol) for symbol in symbols])
    distances = product.distances(machine.start)
    last = np.where(ends, distances[-1], UNREACHED)
    if last.min() >= UNREACHED:
        raise ValueError(
            f"At least one word must have {'another label' if label is None else f'the label {label!r}'}. Received: an "
            f"automaton that gives every word {old_label!r}. Ask for another label."
        )
    end = int(last.argmin())
    names: dict[int | None, Hashable] = {None: None, **dict(enumerate(machine.alphabet))}
    path = product.path(distances, end)
    changes = [Change(kind, position, names[old], names[new]) for kind, position, old, new in path]
    edited = _edited(symbols, changes)
    taken = zip(machine.run(edited), edited, strict=False)
    few = {*getattr(dfa, "rare", ()), *(getattr(dfa, "unsupported", None) or ())}
    rare = tuple(dict.fromkeys(edge for edge in taken if edge in few))
    return Edit(symbols, edited, old_label, machine.outputs[end], tuple(changes), rare)


class _Product:
    """The product of an automaton with the Levenshtein automaton of a word.

    Args:
        transitions: (states, symbols). word: indices of its symbols in the alphabet.
    """

    def __init__(self, transitions: NDArray[np.int64], word: list[int]) -> None:
        self.transitions, self.word = transitions, word
        states, symbols = transitions.shape
        edges = np.unique(np.stack([np.repeat(np.arange(states), symbols), transitions.ravel()], axis=1), axis=0)
        self.sources, self.targets = edges.T

    def distances(self, start: int) -> Distances:
        """The smallest numbers of edits (word length + 1, states)."""
        found = np.full((len(self.word) + 1, len(self.transitions)), UNREACHED)
        found[0, start] = 0
        self._insert(found[0])
        for i, symbol in enumerate(self.word):
            before, after = found[i], found[i + 1]
            after[:] = before + 1
            np.minimum.at(after, self.targets, before[self.sources] + 1)
            np.minimum.at(after, self.transitions[:, symbol], before)
            self._insert(after)
        return found

    def _insert(self, distances: Distances) -> None:
        """Lowers distances by inserted symbols, in place."""
        while True:
            old = distances.copy()
            np.minimum.at(distances, self.targets, distances[self.sources] + 1)
            if (distances == old).all():
                return

    def path(self, distances: Distances, end: int) -> list[tuple[str, int, int | None, int | None]]:
        """(kind, position, old symbol, new symbol) of the edits of a shortest path to a state, the first one first."""
        changes: list[tuple[str, int, int | None, int | None]] = []
        i, state = len(self.word), end
        while i > 0 or distances[i, state] > 0:
            here, symbol = distances[i, state], self.word[i - 1] if i else None
            same = self._before(distances[i - 1], here, state, symbol) if i else None
            if same is not None:
                i, state = i - 1, same[0]
            elif i and distances[i - 1, state] == here - 1:
                i -= 1
                changes.append(("delete", i, symbol, None))
            elif i and (substituted := self._before(distances[i - 1], here - 1, state)) is not None:
                i, (state, new) = i - 1, substituted
                changes.append(("substitute", i, symbol, new))
            else:
                inserted = self._before(distances[i], here - 1, state)
                assert inserted is not None  # one of the four terms of the minimum
                state, new = inserted
                changes.append(("insert", i, None, new))
        return changes[::-1]

    def _before(
        self, row: Distances, distance: object, state: int, symbol: int | None = None
    ) -> tuple[int, int] | None:
        """A state at a distance, and a symbol that leads from it to another state; None if there is none."""
        leads = self.transitions == state
        if symbol is not None:
            leads = leads & (np.arange(leads.shape[1]) == symbol)
        found = np.argwhere(leads & (row == distance)[:, None])
        return None if not len(found) else (int(found[0, 0]), int(found[0, 1]))


def _edited(word: tuple[Hashable, ...], changes: list[Change]) -> tuple[Hashable, ...]:
    """The word after the changes, which are in the order of their positions."""
    symbols = list(word)
    for change in reversed(changes):
        end = change.position + (change.kind != "insert")
        symbols[change.position : end] = [] if change.kind == "delete" else [change.new]
    return tuple(symbols)
