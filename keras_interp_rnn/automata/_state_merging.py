r"""A small automaton from labelled words, by merging states of their prefix tree; some labels may be wrong.

The words' prefixes are the states of a tree, each with the counts of its labels. In the blue-fringe order (Lang,
Pearlmutter and Price, 1998) a red part is final and the blue states are its children: the one below which most words
lie is merged with a red state, its subtree folded onto what the red one reads already, or becomes red itself.

Without noise a merge may not join different labels, and the one that joins most equal ones is taken, as in EDSM. With
labels that are wrong with probability eta, a state of label c has the labels n with the likelihood

    L_c(n) = (1 - eta)^{n_c} (eta / (C - 1))^{n - n_c},     L(n) = mean_c L_c(n),

and the merge is taken that raises sum ln L most, if its disagreements are no more than eta explains (below a few
standard deviations). Then transitions are moved, and states split off, as long as that shortens the description

    bits = n K log2 n + n log2 C + log2 binomial(N, e) + e log2(C - 1),

for n states, K symbols, C labels, and N words of which e are contradicted (Rissanen's minimum description length).

References: Oncina and Garcia, 1992 (RPNI); Lang, Pearlmutter and Price, "Results of the Abbadingo One DFA learning
competition and a new evidence-driven state merging algorithm", ICGI 1998.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

DEVIATIONS = (3.0, 2.0, 4.0, 6.0)
"""Standard deviations by which the disagreements of a merge may exceed what the noise explains: each is tried."""

MOST_MOVED = 3
"""Transitions that a kick moves at most."""

NUM_KICKS = 24
"""Times that the search with noise goes on from a changed automaton."""


@dataclass(frozen=True, eq=False)
class Machine:
    """A complete table and a label for each state; the start is state 0.

    Attributes:
        table: (n, K). outputs: (n,), labels.
    """

    table: Ints
    outputs: Ints

    def __len__(self) -> int:
        return len(self.table)


class PrefixTree:
    """The prefixes of words as a tree, breadth first, with the counts of labels at each.

    Attributes:
        child: (nodes, K), -1 where there is none. counts: (nodes, C). levels: nodes of each length, with their parent
            and symbol.
    """

    def __init__(self, words: Sequence[Sequence[int]], labels: Ints, num_symbols: int, num_labels: int) -> None:
        self.num_symbols, self.num_labels, self.num_words = num_symbols, num_labels, len(words)
        longest = max(map(len, words), default=0)
        letters = np.full((len(words), longest), -1, np.int64)
        for row, word in zip(letters, words, strict=True):
            row[: len(word)] = word
        at = np.zeros(len(words), np.int64)
        self.levels: list[tuple[Ints, Ints, Ints]] = []
        size, rows = 1, np.arange(len(words))
        for column in range(longest):
            rows = rows[letters[rows, column] >= 0]
            keys, place = np.unique(at[rows] * num_symbols + letters[rows, column], return_inverse=True)
            self.levels.append((np.arange(size, size + len(keys)), keys // num_symbols, keys % num_symbols))
            at[rows] = size + place.ravel()
            size += len(keys)
        self.ends = at
        self.child = np.full((size, num_symbols), -1, np.int64)
        for nodes, parents, symbols in self.levels:
            self.child[parents, symbols] = nodes
        self.counts = np.zeros((size, num_labels))
        np.add.at(self.counts, (at, labels), 1.0)
        self.below = self.counts.sum(axis=1)  # words of the subtree
        for nodes, parents, _ in reversed(self.levels):
            np.add.at(self.below, parents, self.below[nodes])

    def states(self, table: Ints, start: int = 0) -> Ints:
        """The state that an automaton is in after each prefix."""
        states = np.empty(len(self.child), np.int64)
        states[0] = start
        for nodes, parents, symbols in self.levels:
            states[nodes] = table[states[parents], symbols]
        return states

    def counts_of(self, states: Ints, num_states: int) -> Floats:
        """Counts of labels (n, C) in each state, from the state of each prefix."""
        return np.stack([np.bincount(states, weights=column, minlength=num_states) for column in self.counts.T], axis=1)


def smallest_automaton(
    tree: PrefixTree, noise: float = 0.0, max_states: int | None = None, *, until: float = math.inf, seed: int = 0
) -> Machine | None:
    """The automaton of the shortest description that is found: without noise, of those that contradict no word.

    Args:
        tree: of the words. noise: eta, below 1/2. max_states: gives up above. until: `time.monotonic` at which the
            search ends. seed: of the search.

    Returns:
        The automaton; None if none of so many states is found in that time.
    """
    found = []
    for by_evidence in (True, False):
        for deviation in DEVIATIONS if noise else DEVIATIONS[:1]:
            machine = merge_states(tree, noise, max_states, until=until, deviation=deviation, by_evidence=by_evidence)
            if machine is not None:
                found.append(_refined(tree, machine.table, until) if noise else machine)
    if not found or not noise:
        return min(found, key=len, default=None)
    best = min(found, key=lambda machine: _bits(tree, machine.table))
    rng = np.random.default_rng(seed)
    for _ in range(NUM_KICKS):
        if time.monotonic() > until:
            break
        other = _refined(tree, kicked(best.table, rng, growing=0.5, fewest=MOST_MOVED), until)
        best = min(best, other, key=lambda machine: _bits(tree, machine.table))
    return best


def kicked(table: Ints, rng: np.random.Generator, *, growing: float, fewest: int) -> Ints:
    """The table with some transitions moved at random, perhaps with a copy of a state.

    Args:
        growing: probability of a new state. fewest: of the transitions that are moved; the most are `MOST_MOVED`.
    """
    new = table.copy()
    if growing and rng.random() < growing:
        new = np.concatenate([new, new[rng.integers(len(new), size=1)]])
    for _ in range(rng.integers(fewest, MOST_MOVED + 1)):
        new[rng.integers(len(new)), rng.integers(new.shape[1])] = rng.integers(len(new))
    return new


def merge_states(
    tree: PrefixTree,
    noise: float = 0.0,
    max_states: int | None = None,
    *,
    until: float = math.inf,
    deviation: float = DEVIATIONS[0],
    by_evidence: bool = True,
) -> Machine | None:
    """The automaton that one run of merging finds.

    Args:
        tree: of the words. noise: eta, below 1/2. max_states: gives up above. until: `time.monotonic` at which it
            gives up. deviation: of `DEVIATIONS`. by_evidence: whether the blue state of the most words comes first, or
            the one of the shortest prefix, as in RPNI.

    Returns:
        The automaton; None if it was given up.
    """
    merging = _Merging(tree, noise, deviation)
    limit = len(tree.child) if max_states is None else max_states
    red = [0]
    while True:
        blue = [
            (int(node), state, symbol)
            for state in red
            for symbol in range(tree.num_symbols)
            if (node := merging.child[state, symbol]) >= 0 and node not in merging.red
        ]
        if not blue:
            return merging.machine(red)
        node, state, symbol = max(blue, key=lambda each: (by_evidence * merging.below[each[0]], -each[0]))
        if not merging.merge_best(red, node, state, symbol):
            red.append(node)
            merging.red.add(node)
            if len(red) > limit:
                return None
        if time.monotonic() > until:
            return None


class _Merging:
    """The state of a run."""

    def __init__(self, tree: PrefixTree, noise: float, deviation: float) -> None:
        self.deviation = deviation
        self.noise, self.num_symbols = noise, tree.num_symbols
        self.child, self.counts, self.below = tree.child.copy(), tree.counts.copy(), tree.below.copy()
        self.red = {0}

    def merge_best(self, red: list[int], blue: int, parent: int, symbol: int) -> bool:
        """Merges a blue state with the red one that it fits best; False if it fits none."""
        best = max(((self.score(state, blue, parent, symbol), -place) for place, state in enumerate(red)))
        if best[0] == -math.inf:
            return False
        self.child[parent, symbol] = red[-best[1]]
        into, nodes, _ = self.fold(red[-best[1]], blue)
        np.add.at(self.counts, into, self.counts[nodes])
        np.add.at(self.below, into, self.below[nodes])
        return True

    def score(self, red: int, blue: int, parent: int, symbol: int) -> float:
        """How well a blue state fits a red one; minus infinity if it does not."""
        self.child[parent, symbol] = red  # first, as the walk may pass here
        into, nodes, grafts = self.fold(red, blue)
        for targets, column in grafts:
            self.child[targets, column] = -1
        self.child[parent, symbol] = blue
        labelled = self.counts[nodes].any(axis=1)
        targets, place = np.unique(into[labelled], return_inverse=True)
        counts = self.counts[nodes[labelled]]
        before = self.counts[targets]
        after = before.copy()
        np.add.at(after, place.ravel(), counts)
        if not self.noise:
            if ((after > 0).sum(axis=1) > 1).any():
                return -math.inf
            return float(len(counts) - (~before.any(axis=1)).sum())
        gain = _evidence(after, self.noise).sum() - _evidence(before, self.noise).sum()
        gain -= _evidence(counts, self.noise).sum()
        # What the merged states say, each without the label in question, against what eta explains.
        others = after[place.ravel()] - counts
        known = others.any(axis=1)
        others, counts = others[known], counts[known]
        likely = _posterior(others, self.noise)
        right = likely * (1 - self.noise) + (1 - likely) * self.noise / (counts.shape[1] - 1)
        total = counts.sum(axis=1)
        said = others.argmax(axis=1)
        hits, rate = counts[np.arange(len(counts)), said], right[np.arange(len(counts)), said]
        excess, variance = (total * rate - hits).sum(), (total * rate * (1 - rate)).sum()
        if excess > self.deviation * math.sqrt(variance) or gain < 0:
            return -math.inf
        return float(gain)

    def fold(self, red: int, blue: int) -> tuple[Ints, Ints, list[tuple[Ints, int]]]:
        """Folds the tree below a blue state onto a red one: into which state each of its nodes goes, and the grafts.

        What no state has yet is grafted onto it. The counts are left to the caller.
        """
        into, nodes = np.array([red]), np.array([blue])
        all_into, all_nodes, grafts = [into], [nodes], []
        while len(nodes):
            next_into, next_nodes = [], []
            for column in range(self.num_symbols):
                kids = self.child[nodes, column]
                there = kids >= 0
                if not there.any():
                    continue
                kids, targets = kids[there], into[there]
                open_ = self.child[targets, column] < 0
                if open_.any():
                    places, first = np.unique(targets[open_], return_index=True)
                    self.child[places, column] = kids[open_][first]
                    grafts.append((places, column))
                onto = self.child[targets, column]
                moved = onto != kids
                next_into.append(onto[moved])
                next_nodes.append(kids[moved])
            into = np.concatenate(next_into) if next_into else nodes[:0]
            nodes = np.concatenate(next_nodes) if next_nodes else nodes[:0]
            all_into.append(into)
            all_nodes.append(nodes)
        return np.concatenate(all_into), np.concatenate(all_nodes), grafts

    def machine(self, red: list[int]) -> Machine:
        place = {state: i for i, state in enumerate(red)}
        rows = [[place.get(int(target), i) for target in self.child[state]] for i, state in enumerate(red)]
        return Machine(np.array(rows), self.counts[red].argmax(axis=1))


def _evidence(counts: Floats, noise: float) -> Floats:
    """The logarithm of L(n), of each row of counts."""
    return np.logaddexp.reduce(_log_likelihoods(counts, noise), axis=1) - math.log(counts.shape[1])


def _posterior(counts: Floats, noise: float) -> Floats:
    """Probability of each label of a state, from the counts."""
    logs = _log_likelihoods(counts, noise)
    return np.exp(logs - np.logaddexp.reduce(logs, axis=1)[:, None])


def _log_likelihoods(counts: Floats, noise: float) -> Floats:
    wrong = math.log(noise / (counts.shape[1] - 1))
    return counts.sum(axis=1)[:, None] * wrong + counts * (math.log1p(-noise) - wrong)


def description_length(num_states: int, errors: float, tree: PrefixTree) -> float:
    """Bits that an automaton and the labels that it contradicts take."""
    words, labels = tree.num_words, tree.num_labels
    which = (math.lgamma(words + 1) - math.lgamma(errors + 1) - math.lgamma(words - errors + 1)) / math.log(2)
    table = num_states * (tree.num_symbols * math.log2(num_states) + math.log2(labels))
    return table + which + errors * math.log2(max(labels - 1, 1))


def most_states(tree: PrefixTree) -> int:
    """Beyond this number of states no automaton is a shorter description than the labels by themselves."""
    bits, states = _bits_of_labels(tree), 1
    while description_length(states + 1, 0, tree) < bits:
        states += 1
    return states


def is_shorter(tree: PrefixTree, machine: Machine) -> bool:
    """Whether an automaton, with the labels that it contradicts, is a shorter description than the labels."""
    return _bits(tree, machine.table) < _bits_of_labels(tree)


def _bits_of_labels(tree: PrefixTree) -> float:
    counts = tree.counts.sum(axis=0)
    words = math.lgamma(tree.num_words + 1) - sum(math.lgamma(count + 1) for count in counts)
    return words / math.log(2)


def _refined(tree: PrefixTree, table: Ints, until: float) -> Machine:
    """The machine of the shortest description that single steps lead to, as in `_neighbours`.

    The label of each state is the one that most of its words have.
    """
    best = trimmed(tree, table)
    shortest = _bits(tree, best)
    improved = True
    while improved and time.monotonic() < until:
        improved = False
        for other in _neighbours(best):
            bits = _bits(tree, other)
            if bits < shortest - 1e-9:
                best, shortest, improved = trimmed(tree, other), bits, True
                break
    return Machine(best, tree.counts_of(tree.states(best), len(best)).argmax(axis=1))


def moves(table: Ints) -> Iterator[Ints]:
    """A transition leads to another state."""
    for state, symbol in np.ndindex(*table.shape):
        for target in range(len(table)):
            if target != table[state, symbol]:
                moved = table.copy()
                moved[state, symbol] = target
                yield moved


def _neighbours(table: Ints) -> Iterator[Ints]:
    size, symbols = table.shape
    yield from moves(table)
    # A copy of a state for one of the transitions into it, with one transition of its own.
    for state in range(size):
        for symbol in range(symbols):
            split = np.concatenate([table, table[table[state, symbol]][None]])
            split[state, symbol] = size
            yield split
            for own in range(symbols):
                for target in range(size + 1):
                    if target != split[size, own]:
                        moved = split.copy()
                        moved[size, own] = target
                        yield moved


def _bits(tree: PrefixTree, table: Ints) -> float:
    states = tree.states(table)
    counts = tree.counts_of(states, len(table))
    used = len(np.unique(states))
    return description_length(used, float(counts.sum() - counts.max(axis=1).sum()), tree)


def trimmed(tree: PrefixTree, table: Ints) -> Ints:
    """The table without the states that no prefix of a word reaches."""
    reached, first = np.unique(tree.states(table), return_index=True)
    order = reached[np.argsort(first)]
    place = np.full(len(table), -1)
    place[order] = np.arange(len(order))
    rows = place[table[order]]
    return np.where(rows < 0, np.arange(len(order))[:, None], rows)
