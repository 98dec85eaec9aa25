r"""A small automaton from labelled words, by merging states of their prefix tree; some labels may be wrong.

The words' prefixes are the states of a tree, each with the counts of its labels. In the blue-fringe order (Lang,
Pearlmutter and Price, 1998) the red states are final and their other children are blue. The blue state with the most
words below it is merged with a red one, its subtree folded onto the transitions of the red one, or becomes red itself.

Without noise a merge may not join different labels, and the merge that joins most equal ones is made, as in EDSM; an
automaton of some of the words is also repaired, by single changes of its table. If
labels are wrong with probability eta, the labels of a state have the likelihood

    L_c(n) = (1 - eta)^{n_c} (eta / (C - 1))^{n - n_c},     L(n) = mean_c L_c(n),

where n are their counts and c is the right label. The merge is made that raises sum ln L most, among those whose
disagreements eta explains, up to a few standard deviations. Single changes of the table (`_state_changes`) then shorten
the description. This is repeated for two orders of the blue states, several numbers of deviations and several values of
eta (if it is known, that value and 0), until the shortest description has come out twice; then the search goes on from
that automaton with a few transitions moved at random.

References: Oncina and Garcia, 1992 (RPNI); Lang, Pearlmutter and Price, "Results of the Abbadingo One DFA learning
competition and a new evidence-driven state merging algorithm", ICGI 1998.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from keras_interp_rnn._types import Array, Ints
from keras_interp_rnn.automata.inference._deadline import NEVER, Deadline, Limits, TimeUp
from keras_interp_rnn.automata.inference._prefix_tree import Machine, PrefixTree, Words, bits
from keras_interp_rnn.automata.inference._state_changes import MAX_MOVED, kicked, refined

DEVIATIONS = (3.0, 2.0, 4.0, 6.0)
"""Standard deviations by which the disagreements of a merge may exceed what the noise explains: each is tried."""

NOISES = (0.03, 0.0, 0.12, 0.25)  # values of eta that are tried if it is not known
SECONDS = 30.0  # computing time after which the search ends; all short words take a second or a few
NUM_KICKS = 24  # random changes from which the search with noise goes on


def smallest_automaton(words: Words, limits: Limits, start: Machine | None = None) -> Machine | None:
    """The automaton of the shortest description that is found; without noise, one that contradicts no word.

    Args:
        start: an automaton of some of the words, to begin with.

    Returns:
        The automaton; None if none of at most `words.max_states` is found in time.
    """
    limits, tree = limits.within(SECONDS), words.tree
    if limits.exact:
        found = [] if start is None else [refined(tree, start.table, limits.until)]
        found = [machine for machine in found if words.error(machine) == 0]
        merged = (merge_states(words, 0.0, limits.until, by_evidence=order) for order in (True, False))
        return min([*found, *(machine for machine in merged if machine is not None)], key=len, default=None)

    def judged(table: Ints) -> tuple[float, Machine]:
        machine = refined(tree, table, limits.until)
        return bits(tree, machine.table) if len(machine) <= words.max_states else math.inf, machine

    best, shortest, times = None, math.inf, 0
    for table in _beginnings(words, limits, start):
        length, machine = judged(table)
        times = times + 1 if abs(length - shortest) < 1e-9 else 1 if length < shortest else times
        if length < shortest - 1e-9:
            best, shortest = machine, length
        if times == 2 and len(best or ()) != 1:  # one state: nothing was found, so the search goes on
            break
    if start is not None and times == 2 and shortest > bits(tree, start.table) - 1e-9:
        return best  # as a search on some of the words ended with it, one on all words does too
    rng = np.random.default_rng(limits.seed)
    for _ in range(NUM_KICKS):
        if best is None or limits.until.passed:
            break
        length, machine = judged(kicked(best.table, rng, growing=0.5, min_moved=MAX_MOVED))
        if length < shortest - 1e-9:
            best, shortest = machine, length
    return best


def _beginnings(words: Words, limits: Limits, start: Machine | None) -> Iterator[Ints]:
    """The tables from which the search with noise begins: `start`, and the results of merging."""
    if start is not None:
        yield start.table
    etas = NOISES if limits.noise is None else (limits.noise,)
    settings = [(deviation, eta) for deviation in DEVIATIONS for eta in etas if eta or deviation == DEVIATIONS[0]]
    if limits.noise is not None:
        settings.append((DEVIATIONS[0], 0.0))  # a rare label is not taken for noise
    for deviation, eta in settings:
        for by_evidence in (True, False):
            machine = merge_states(words, eta, limits.until, deviation=deviation, by_evidence=by_evidence)
            if machine is not None:
                yield machine.table


def merge_states(
    words: Words,
    noise: float = 0.0,
    until: Deadline = NEVER,
    *,
    deviation: float = DEVIATIONS[0],
    by_evidence: bool = True,
) -> Machine | None:
    """The automaton that one run of merging finds.

    Args:
        noise: eta, below 1/2. deviation: of `DEVIATIONS`. by_evidence: whether the blue state with the most words comes
            first, or else the one of the shortest prefix, as in RPNI.

    Returns:
        The automaton; None at the deadline, or above `words.max_states`.
    """
    tree = words.tree
    merging = _Merging(tree, noise, deviation, until)
    while not until.passed:
        blue = [
            (int(node), state, symbol)
            for state in merging.red
            for symbol in range(tree.num_symbols)
            if (node := merging.child[state, symbol]) >= 0 and node not in merging.red
        ]
        if not blue:
            return merging.machine()
        node, state, symbol = max(blue, key=lambda each: (by_evidence * merging.below[each[0]], -each[0]))
        try:
            if not merging.merge_best(node, state, symbol):
                merging.red[node] = len(merging.red)
        except TimeUp:
            break
        if len(merging.red) > words.max_states:
            break
    return None


class _Merging:
    """One run of merging: the tree as it is changed, and the red states with their places."""

    def __init__(self, tree: PrefixTree, noise: float, deviation: float, until: Deadline) -> None:
        self.deviation, self.until = deviation, until
        self.noise, self.num_symbols = noise, tree.num_symbols
        self.child, self.counts, self.below = tree.child.copy(), tree.counts.copy(), tree.below.copy()
        self.red = {0: 0}

    def merge_best(self, blue: int, parent: int, symbol: int) -> bool:
        """Merges a blue state with the red one that it fits best; returns False if it fits none."""
        scores = {state: self.score(state, blue, parent, symbol) for state in self.red}
        state = max(scores, key=scores.__getitem__)
        if scores[state] == -math.inf:
            return False
        self.child[parent, symbol] = state
        into, nodes, _ = self.fold(state, blue)
        np.add.at(self.counts, into, self.counts[nodes])
        np.add.at(self.below, into, self.below[nodes])
        return True

    def score(self, red: int, blue: int, parent: int, symbol: int) -> float:
        """How well a blue state fits a red one; minus infinity if it does not."""
        self.until.check(1)
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
        # Each count of labels against those it is merged with, and the disagreements that eta explains.
        others = after[place.ravel()] - counts
        known = others.any(axis=1)
        others, counts = others[known], counts[known]
        likely = _posterior(others, self.noise)
        right = likely * (1 - self.noise) + (1 - likely) * self.noise / (counts.shape[1] - 1)
        total = counts.sum(axis=1)
        predicted = others.argmax(axis=1)
        hits, rate = counts[np.arange(len(counts)), predicted], right[np.arange(len(counts)), predicted]
        excess, variance = (total * rate - hits).sum(), (total * rate * (1 - rate)).sum()
        if excess > self.deviation * math.sqrt(variance) or gain < 0:
            return -math.inf
        return float(gain)

    def fold(self, red: int, blue: int) -> tuple[Ints, Ints, list[tuple[Ints, int]]]:
        """Folds the tree below a blue state onto a red one; the caller adds the counts.

        Returns:
            The states into which nodes go, these nodes, and the grafts: the states and symbols that had no child, and
            got one of a node.
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

    def machine(self) -> Machine:
        """The automaton of the red states; a transition without a target stays."""
        rows = [[self.red.get(int(target), i) for target in self.child[state]] for state, i in self.red.items()]
        return Machine(np.array(rows), self.counts[list(self.red)].argmax(axis=1))


def _evidence(counts: Array, noise: float) -> Array:
    """The logarithm of L(n) for each row of counts."""
    return np.asarray(np.logaddexp.reduce(_log_likelihoods(counts, noise), axis=1) - math.log(counts.shape[1]))


def _posterior(counts: Array, noise: float) -> Array:
    """The probability of each label of a state, from the counts."""
    logs = _log_likelihoods(counts, noise)
    return np.asarray(np.exp(logs - np.logaddexp.reduce(logs, axis=1)[:, None]))


def _log_likelihoods(counts: Array, noise: float) -> Array:
    """The logarithm of L_c(n) for each label c and each row of counts."""
    wrong = math.log(noise / (counts.shape[1] - 1))
    return np.asarray(counts.sum(axis=1)[:, None] * wrong + counts * (math.log1p(-noise) - wrong))
