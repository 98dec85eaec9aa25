"""Words on which an automaton and a network may differ, from clusters of the network's states.

Words are explored from the empty one on. Two words whose states lie in one cluster should lead the automaton to one
state. Where they do not, the network is asked for both words, each followed by the suffix that tells the two states of
the automaton apart. Either the automaton labels one of the two wrongly, or the network tells the words apart, and the
cluster is split halfway between their states. A word that leads to a known cluster is not continued at first; where no
others are left, those are whose states are farthest from that of the cluster's word. Clusters remain for the next
automaton; the first ones are the orthants of the first principal directions of states.

An exploration that ends without a difference is no proof: a cluster is one word's state, and others in it were not
followed.

Reference: Weiss, Goldberg and Yahav, "Extracting automata from recurrent neural networks using queries and
counterexamples", ICML 2018, arXiv:1711.09576, section 4. They split a cluster by a support vector machine.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from keras_interp_rnn._types import Array
from keras_interp_rnn.automata.machines import Word, short_words
from keras_interp_rnn.automata.queries._asking import Asked
from keras_interp_rnn.automata.queries._tree import Tree

DIRECTIONS = 5  # principal directions whose signs make the first clusters
BATCH = 128  # words whose states are computed at once
MAX_EXPLORED = 1000  # words that are followed for one automaton
FAR = 0.01  # distance from the state of a cluster's word, in parts of the largest from the mean, that is followed last
FARTHEST = 8  # words that are followed last at once


@dataclass(eq=False)
class Cluster:
    """A part of the space of states: whole, or split by the hyperplane normal @ x = offset."""

    normal: Array | None = None
    offset: float = 0.0
    sides: tuple[Cluster, ...] = ()


class Visit(NamedTuple):
    """A word, the network's state after it, and the automaton's."""

    word: Word
    vector: Array
    state: int


class Clusters:
    """The clusters of a network's states; `states` computes (words, n) of them."""

    def __init__(self, states: Callable[[Sequence[Word]], Array], alphabet: Sequence[object]) -> None:
        self.states = states
        self.vectors: dict[Word, Array] = {}
        self.first: dict[bytes, Cluster] = {}
        some = self._vectors(short_words(alphabet, BATCH)[1:])
        self.mean = some.mean(axis=0)
        self.spread = np.linalg.norm(some - self.mean, axis=1).max()
        self.directions = np.linalg.svd(some - self.mean, full_matrices=False)[2][:DIRECTIONS].T

    def difference(self, tree: Tree, asked: Asked) -> Word | None:
        """A word that the automaton of a tree labels wrongly; None if none is found."""
        seen: dict[int, Visit] = {}  # id of a cluster -> the word that stands for it
        frontier, num_explored = deque[Word]([()]), 0
        others: list[tuple[float, int, Word]] = []  # a heap, the word of the largest distance first
        while (frontier or others) and num_explored < MAX_EXPLORED:
            if not frontier:
                farthest = [heapq.heappop(others)[-1] for _ in range(min(FARTHEST, len(others)))]
                frontier.extend((*word, symbol) for word in farthest for symbol in tree.alphabet)
            batch = [frontier.popleft() for _ in range(min(BATCH, len(frontier)))]
            num_explored += len(batch)
            labels, vectors = asked(batch), self._vectors(batch)
            visits = [Visit(word, vector, tree.path(word)[-1]) for word, vector in zip(batch, vectors, strict=True)]
            for visit, label in zip(visits, labels, strict=True):
                if tree.outputs[visit.state] != label:
                    return visit.word
            for visit in visits:
                cluster = self._cluster(visit.vector)
                other = seen.setdefault(id(cluster), visit)
                if other.state != visit.state:
                    word = _told_apart(tree, asked, other, visit)
                    if word is not None:
                        return word
                    if not _split(cluster, other.vector, visit.vector):
                        continue
                    seen |= {id(self._cluster(each.vector)): each for each in (other, visit)}
                    other = visit
                distance = float(np.linalg.norm(visit.vector - other.vector))
                if other is visit:
                    frontier.extend((*visit.word, symbol) for symbol in tree.alphabet)
                elif distance > FAR * self.spread:
                    heapq.heappush(others, (-distance, len(visit.word), visit.word))
        return None

    def _vectors(self, words: Sequence[Word]) -> Array:
        new = [word for word in words if word not in self.vectors]
        if new:
            self.vectors.update(zip(new, self.states(new), strict=True))
        return np.array([self.vectors[word] for word in words])

    def _cluster(self, vector: Array) -> Cluster:
        signs = (vector - self.mean) @ self.directions > 0
        cluster = self.first.setdefault(signs.tobytes(), Cluster())
        while cluster.normal is not None:
            cluster = cluster.sides[int(vector @ cluster.normal > cluster.offset)]
        return cluster


def _told_apart(tree: Tree, asked: Asked, *visits: Visit) -> Word | None:
    """The word of two visits, with the suffix that tells their states apart, that the automaton labels wrongly."""
    suffix = tree.between(*(visit.state for visit in visits))
    words = [(*visit.word, *suffix) for visit in visits]
    ends = [tree.path(suffix, visit.state)[-1] for visit in visits]
    pairs = zip(words, ends, asked(words), strict=True)
    return next((word for word, end, label in pairs if tree.outputs[end] != label), None)


def _split(cluster: Cluster, first: Array, second: Array) -> bool:
    """Splits a cluster halfway between two states; False if they are the same."""
    normal = second - first
    offset = float((first + second) @ normal / 2)
    if not first @ normal <= offset < second @ normal:
        return False
    cluster.normal, cluster.offset, cluster.sides = normal, offset, (Cluster(), Cluster())
    return True
