"""Rules for words that were drawn label by label: the fractions of words with each label, and what they decide."""

import itertools

import numpy as np
import pytest

from keras_interp_rnn.automata.inference import _strong_sampling
from keras_interp_rnn.automata.inference._deadline import Limits
from keras_interp_rnn.automata.inference._pattern_rules import _product, shortest_rules
from keras_interp_rnn.automata.inference._pattern_trees import Node, Search
from keras_interp_rnn.automata.inference._patterns import Family, Pattern
from keras_interp_rnn.automata.inference._prefix_tree import Words
from keras_interp_rnn.automata.inference._strong_sampling import Sharpening, _exactly, fractions, tree_automaton
from tests.automata.networks import dfa_of
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
def test_fractions_of_labels_are_those_among_all_words(kind, tier):
    family, rng = Family(kind, tier, 3), np.random.default_rng(5)
    patterns = drawn_patterns(family, rng, 20)
    for tree in (1, *(drawn_tree(patterns, rng) for _ in range(6))):
        found = fractions(family, tree, 3, 5)
        for length in range(6):
            labels = [label_of(tree, family, word) for word in itertools.product(range(3), repeat=length)]
            np.testing.assert_allclose(found[length], np.bincount(labels, minlength=3) / len(labels), atol=1e-12)


def test_forms_no_automaton_that_would_be_too_large(monkeypatch):
    monkeypatch.setattr(_strong_sampling, "MAX_PAIRS", 5)
    family = Family("factor", (0, 1), 2)
    tree = Node(Pattern(((0, 0),)), Node(Pattern(((1, 1),)), 0, 1), 0)
    assert tree_automaton(family, tree) is None
    assert fractions(family, tree, 2, 3) is None
    words = [*itertools.product(range(2), repeat=4)]
    search = Search(family, Words(words, np.arange(16) % 2, 2, 2), Limits(), np.random.default_rng(0), 10)
    assert Sharpening(search, np.full(16, 4)).bits(tree) == np.inf


@pytest.mark.parametrize(("modulus", "residue"), [(2, 0), (3, 1), (4, 3), (3, 0)])
def test_a_remainder_becomes_an_exact_number(modulus, residue):
    family, pattern = Family("factor", (0, 1), 2), Pattern(((0, 1),), 1, modulus, residue)
    tree = _exactly(Node(pattern, 1, 0), pattern)
    for word in itertools.product(range(2), repeat=9):
        number = sum(pair == (0, 1) for pair in itertools.pairwise(word))
        # "Even" becomes "not once".
        assert label_of(tree, family, word) == (number != 1 if modulus == 2 else number == residue), word


@pytest.mark.matrix
@pytest.mark.parametrize("tier", [range(8), (0, 1, 3, 5, 6)])
def test_strong_sampling_distinguishes_a_rare_piece_from_a_part_of_it(tier):
    """The words with 00 five times on a tier; no word drawn has it four times, so labels alone do not suffice."""
    family = Family("factor", tuple(tier), 8)
    truth = dfa_of(_product(family, Node(Pattern(((0, 0),), 5), 1, 0)), range(8))
    rng, words, labels = np.random.default_rng(0), [], np.repeat([0, 1], 600)
    for language in (truth.complement(), truth):
        words += [language.sample(int(rng.integers(20, 30)), seed) for seed in range(600)]
    weak, strong = (
        dfa_of(shortest_rules(Words(words, labels, 8, 2), Limits(strong=each)), range(8)) for each in (False, True)
    )
    assert [weak.accepts(word) for word in words] == [strong.accepts(word) for word in words] == labels.tolist()
    assert strong.equivalent(truth)
    assert not weak.equivalent(truth)
