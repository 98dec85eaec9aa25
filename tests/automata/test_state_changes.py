"""Changes of an automaton where some labels are wrong: what they are estimated to save, and where they lead."""

import itertools
import math

import numpy as np
import pytest

from keras_interp_rnn.automata.inference._deadline import Deadline
from keras_interp_rnn.automata.inference._prefix_tree import PrefixTree, bits
from keras_interp_rnn.automata.inference._state_changes import (
    NUM_EVALUATED,
    contradicted_below,
    promising,
    refined,
    started,
    trimmed,
)
from tests.automata.networks import dfa_of, drawn


def drawn_words(rng, num_symbols, number=300, longest=8):
    return [tuple(rng.integers(num_symbols, size=rng.integers(longest + 1)).tolist()) for _ in range(number)]


def after(table, state, word):
    for symbol in word:
        state = table[state, symbol]
    return state


@pytest.mark.parametrize("num_labels", [2, 3])
def test_counts_the_words_contradicted_below_a_prefix(num_labels):
    rng = np.random.default_rng(num_labels)
    words, labels = drawn_words(rng, 3), rng.integers(num_labels, size=300)
    table, outputs = rng.integers(4, size=(4, 3)), rng.integers(num_labels, size=4)
    tree = PrefixTree(words, labels, 3, num_labels)
    found = contradicted_below(tree, table, outputs)
    prefixes = {0: ()}
    for nodes, parents, symbols in tree.levels:
        prefixes |= {n: (*prefixes[p], s) for n, p, s in zip(nodes, parents, symbols, strict=True)}
    for node in rng.choice(len(tree.child), 40, replace=False):
        prefix = prefixes[node]
        endings = [(word[len(prefix) :], label) for word, label in zip(words, labels, strict=True)
                   if word[: len(prefix)] == prefix]  # fmt: skip
        for state in range(4):
            expected = sum(outputs[after(table, state, ending)] != label for ending, label in endings)
            assert found[node, state] == expected


def noisy(seed, states, num_symbols, longest, noise):
    """An automaton that accepts a third to two thirds of all short words, and their tree, with some wrong labels."""
    rng = np.random.default_rng(seed)
    words = [word for n in range(longest + 1) for word in itertools.product(range(num_symbols), repeat=n)]
    share = 0.0
    while not 1 / 3 < share < 2 / 3:
        truth = drawn(rng, states, tuple("abcd"[:num_symbols]))
        table = np.array(truth.transitions)
        labels = np.array([after(table, truth.start, word) in truth.accepting for word in words])
        share = labels.mean()
    wrong = rng.random(len(words)) < noise
    return truth, PrefixTree(words, (labels ^ wrong).astype(np.int64), num_symbols, 2), rng


def kind(table, other):
    """The kind of change that leads from a table to another; None if there is none."""
    size = len(table)
    for start in range(1, size):
        order = [start, *(state for state in range(size) if state != start)]
        if len(other) == size and (np.array(order)[other] == table[order]).all():
            return "started"
    places = [tuple(place) for place in np.argwhere(other[:size] != table)]
    if len(other) == size + 1:
        differs = np.flatnonzero(other[size] != table[table[places[0]]])
        if len(places) > 1 or other[places[0]] != size or len(differs) > 1:
            return None
        return "copied" if not len(differs) else "looped" if other[size, differs[0]] == size else "changed copy"
    pairs = {(table[place], other[place]) for place in places}
    if len(places) == 1:
        return "moved"
    return "merged" if len(pairs) == 1 and not (other == pairs.pop()[0]).any() else None


def test_changes_are_of_six_kinds():
    _, tree, rng = noisy(0, 5, 2, 8, 0.05)
    kinds = set()
    for size in (4, 5, 6, 7, 8, 9) * 5:
        table = trimmed(tree, rng.integers(size, size=(size, 2)))
        changed = [*promising(tree, table)]
        assert len(changed) <= NUM_EVALUATED
        for other in changed:
            assert 0 <= other.min() <= other.max() < len(other)
        kinds |= {kind(table, other) for other in changed}
    assert kinds == {"moved", "merged", "copied", "changed copy", "looped", "started"}


@pytest.mark.parametrize("seed", range(6))
def test_changes_lead_back_to_the_automaton(seed):
    """From a table with a few transitions moved, and from one with every state twice; one label in twenty is wrong."""
    truth, tree, rng = noisy(seed, 8, 2 + seed % 2, 10 - 3 * (seed % 2), 0.05)
    table = np.array(truth.transitions)
    assert truth.start == 0
    for beginning in (table.copy(), np.concatenate([table, table])):
        for _ in range(3):
            target = rng.integers(len(beginning))
            beginning[rng.integers(len(table)), rng.integers(tree.num_symbols)] = target
        found = refined(tree, beginning)
        assert bits(tree, found.table) <= bits(tree, beginning)
        assert dfa_of(found, truth.alphabet).equivalent(truth)
        assert len(found) == len(truth)


def test_another_state_becomes_the_start():
    truth, tree, _ = noisy(1, 7, 3, 7, 0.05)
    table = np.array(truth.transitions)
    for start in range(1, len(table)):
        other = started(table, start)
        assert dfa_of(refined(tree, other), truth.alphabet).equivalent(truth)
        late = refined(tree, other, Deadline(-math.inf)).table  # no time: the table it began with
        assert bits(tree, late) == bits(tree, other) > bits(tree, table)
