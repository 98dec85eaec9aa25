"""Automata by a tree of suffixes that tell states apart.

A state is a word, its access word. Inner nodes of the tree are suffixes, and leaves are states. A word w goes to the
child of the label that the network gives w followed by the suffix. The next state after q and a symbol is the leaf that
the access word of q, followed by the symbol, sinks to. All words at the same depth are asked in one batch.

In a word that the automaton labels wrongly there is a symbol after which its state is not the one of what was read. A
search by bisection finds it, which gives one more state, and the rest of the word as its suffix. It begins at the end
of the word, as short suffixes are cheap.

References: Kearns and Vazirani, "An Introduction to Computational Learning Theory", 1994, section 8.3, for the tree;
Rivest and Schapire, "Inference of finite automata using homing sequences", Information and Computation, 1993, for the
search; Angluin, "Learning regular sets from queries and counterexamples", 1987.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any

from keras_interp_rnn.automata.machines import MISSING, Word

PLACES = 8  # of a word that are asked in one batch


@dataclass(eq=False)
class Node:
    """A node of the tree: a leaf with a state, or an inner node with a suffix."""

    state: int = -1
    suffix: Word | None = None
    parent: Node | None = None
    children: dict[Hashable, Node] = field(default_factory=dict)


class Tree:
    """The states that are known, their transitions, and the tree that tells them apart.

    Attributes:
        access: the access word of each state; that of state 0 is the empty word.
        table: states x symbols, the next state; `MISSING` until `close` has found it. outputs: of each state.
    """

    def __init__(self, ask: Callable[[Sequence[Word]], list[Any]], alphabet: Sequence[Hashable]) -> None:
        self.ask, self.alphabet = ask, tuple(alphabet)
        self.column = {symbol: i for i, symbol in enumerate(alphabet)}
        self.access: list[Word] = []
        self.outputs: list[Hashable] = []
        self.table: list[list[int]] = []
        self.leaves: list[Node] = []
        self.root = Node(suffix=())
        self.open: dict[tuple[int, int], Node] = {}  # transitions to be found -> the node to begin at
        self._sink([()], [self.root])

    def close(self) -> None:
        """Finds all transitions that are not known, of new states too."""
        while self.open:
            places = list(self.open)
            words = [(*self.access[state], self.alphabet[column]) for state, column in places]
            for (state, column), leaf in zip(places, self._sink(words, list(self.open.values())), strict=True):
                self.table[state][column] = leaf.state
                del self.open[state, column]

    def refine(self, word: Word) -> None:
        """Adds the state that a word which the automaton labels wrongly needs; `close` finds its transitions."""
        states = self.path(word)
        low = self._turn(word, states)
        old, new, suffix = states[low + 1], (*self.access[states[low]], word[low]), word[low + 1 :]
        label, _ = self.ask([(*new, *suffix), new])
        node = self.leaves[old]
        node.suffix, node.state = suffix, -1
        self.leaves[old] = node.children[self.outputs[states[-1]]] = Node(old, parent=node)
        self._add(node, label, new)
        moved = [(q, c) for q, row in enumerate(self.table) for c, target in enumerate(row) if target == old]
        self.open.update(dict.fromkeys(moved, node))

    def path(self, word: Word, start: int = 0) -> list[int]:
        """The state before a word and after each of its symbols."""
        states = [start]
        for symbol in word:
            states.append(self.table[states[-1]][self.column[symbol]])
        return states

    def between(self, first: int, second: int) -> Word:
        """The suffix that tells two states apart."""
        above, node = set[int](), self.leaves[first].parent
        while node is not None:
            above.add(id(node))
            node = node.parent
        node = self.leaves[second].parent
        while node is not None and id(node) not in above:
            node = node.parent
        return () if node is None else node.suffix or ()

    def _turn(self, word: Word, states: list[int]) -> int:
        """The place of a symbol with which the label of the rest, after the access word of the state, becomes wrong.

        At the beginning that label is the network's, at the end the automaton's.
        """
        low, high = 0, len(word)
        places = [high - (1 << i) for i in range(high.bit_length()) if 1 << i < high]
        while high - low > 1:
            labels = self.ask([(*self.access[states[place]], *word[place:]) for place in places])
            right = (place for place, label in zip(places, labels, strict=True) if label != self.outputs[states[-1]])
            low = next(right, low)
            high = min((place for place in places if place > low), default=high)
            step = max(1, (high - low) // PLACES)
            places = list(range(high - step, low, -step))
        return low

    def _sink(self, words: Sequence[Word], nodes: list[Node]) -> list[Node]:
        """The leaf that each word sinks to from a node; a label without a child makes the word a state."""
        inner = [i for i, node in enumerate(nodes) if node.suffix is not None]
        while inner:
            labels = self.ask([(*words[i], *(nodes[i].suffix or ())) for i in inner])
            for i, label in zip(inner, labels, strict=True):
                if label not in nodes[i].children:
                    self._add(nodes[i], label, words[i])
                nodes[i] = nodes[i].children[label]
            inner = [i for i in inner if nodes[i].suffix is not None]
        return nodes

    def _add(self, parent: Node, label: Hashable, access: Word) -> None:
        """A state as a new leaf."""
        state = len(self.access)
        [output] = self.ask([access])
        parent.children[label] = Node(state, parent=parent)
        self.leaves.append(parent.children[label])
        self.access.append(access)
        self.outputs.append(output)
        self.table.append([MISSING] * len(self.alphabet))
        self.open.update({(state, column): self.root for column in range(len(self.alphabet))})
