"""The automaton of a tree over patterns."""

import itertools

import numpy as np
import pytest

from keras_interp_rnn.automata.inference import _tree_automata
from keras_interp_rnn.automata.inference._pattern_trees import Node
from keras_interp_rnn.automata.inference._patterns import Family, Pattern
from keras_interp_rnn.automata.inference._tree_automata import tree_automaton
from tests.automata.test_patterns import KINDS, drawn_patterns, is_in


def drawn_tree(patterns, rng, depth=2):
    if not depth or rng.random() < 0.2:
        return int(rng.integers(3))
    pattern = patterns[rng.integers(len(patterns))]
    return Node(pattern, drawn_tree(patterns, rng, depth - 1), drawn_tree(patterns, rng, depth - 1))


def label_of(tree, family, word):
    while not isinstance(tree, int):
        tree = tree.yes if is_in(tree.pattern, family, word) else tree.no
    return tree


@pytest.mark.parametrize("tier", [(0, 1, 2), (0, 2)])
@pytest.mark.parametrize("kind", KINDS)
def test_it_labels_words_as_the_tree_does(kind, tier):
    family, rng = Family(kind, tier, 3), np.random.default_rng(5)
    patterns = drawn_patterns(family, rng, 20)
    for tree in (1, *(drawn_tree(patterns, rng) for _ in range(6))):
        whole = tree_automaton(family, tree)
        for word in itertools.chain.from_iterable(itertools.product(range(3), repeat=n) for n in range(6)):
            state = whole.start
            for symbol in word:
                state = whole.table[state, whole.class_of[symbol]]
            assert whole.labels[state] == label_of(tree, family, word), word


def test_forms_no_automaton_that_would_be_too_large(monkeypatch):
    monkeypatch.setattr(_tree_automata, "MAX_PAIRS", 5)
    tree = Node(Pattern(((0, 0),)), Node(Pattern(((1, 1),)), 0, 1), 0)
    assert tree_automaton(Family("factor", (0, 1), 2), tree) is None
