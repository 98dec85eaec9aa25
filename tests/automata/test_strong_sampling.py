"""Rules for words that were drawn label by label: the fractions of words with each label, and what they decide."""

import itertools

import numpy as np
import pytest

from keras_interp_rnn.automata import DFA
from keras_interp_rnn.automata.inference._deadline import Limits
from keras_interp_rnn.automata.inference._pattern_rules import shortest_rules
from keras_interp_rnn.automata.inference._pattern_trees import Node, Search
from keras_interp_rnn.automata.inference._patterns import Family, Pattern
from keras_interp_rnn.automata.inference._prefix_tree import Words
from keras_interp_rnn.automata.inference._strong_sampling import Sharpening, _exactly, automaton_of, fractions
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
def test_the_fraction_of_words_with_each_label_is_that_of_all_words(kind, tier):
    family, rng = Family(kind, tier, 3), np.random.default_rng(5)
    patterns = drawn_patterns(family, rng, 20)
    for tree in (1, *(drawn_tree(patterns, rng) for _ in range(6))):
        found = fractions(family, tree, 3, 5)
        for length in range(6):
            labels = [label_of(tree, family, word) for word in itertools.product(range(3), repeat=length)]
            np.testing.assert_allclose(found[length], np.bincount(labels, minlength=3) / len(labels), atol=1e-12)


def test_an_automaton_that_would_be_too_large_is_not_formed(monkeypatch):
    monkeypatch.setattr("keras_interp_rnn.automata.inference._strong_sampling.MAX_PAIRS", 5)
    family = Family("factor", (0, 1), 2)
    tree = Node(Pattern(((0, 0),)), Node(Pattern(((1, 1),)), 0, 1), 0)
    assert automaton_of(family, tree) is None
    assert fractions(family, tree, 2, 3) is None
    words = [*itertools.product(range(2), repeat=4)]
    search = Search(family, Words(words, np.arange(16) % 2, 2, 2), Limits(), np.random.default_rng(0), 10)
    assert Sharpening(search, np.full(16, 4)).bits(tree) == np.inf


@pytest.mark.parametrize(("modulus", "residue", "count"), [(2, 0, 1), (3, 1, 1), (4, 3, 3), (3, 0, 0)])
def test_a_number_modulo_another_becomes_that_number(modulus, residue, count):
    family = Family("factor", (0, 1), 2)
    piece = ((0, 1),)
    tree = _exactly(Node(Pattern(piece, 1, modulus, residue), 1, 0), Pattern(piece, 1, modulus, residue))
    for word in itertools.product(range(2), repeat=9):
        number = sum(pair == (0, 1) for pair in itertools.pairwise(word))
        if number < max(modulus, 2):
            assert label_of(tree, family, word) == (number % modulus == residue), word
        else:  # only one number gives the other answer, or this
            assert label_of(tree, family, word) == (modulus == 2)


def words_of(dfa, number, rng):
    """Words drawn label by label, of 20 to 29 symbols."""
    words = [
        (language.sample(int(rng.integers(20, 30)), seed), label)
        for label, language in enumerate((dfa.complement(), dfa))
        for seed in range(number)
    ]
    return [tuple(map(int, word)) for word, _ in words], np.array([label for _, label in words])


def language_of(machine):
    return DFA(machine.table.tolist(), np.flatnonzero(machine.outputs).tolist(), alphabet=range(machine.table.shape[1]))


def counting(piece, times, num_symbols, tier=None):
    """The words with a piece so many times, on a tier."""
    family = Family("factor", tuple(tier or range(num_symbols)), num_symbols)
    pattern = Pattern((piece,), times)
    whole, _ = family.on_all_symbols(pattern)
    table, holds = family.automaton(pattern)
    return DFA(
        whole[:, :num_symbols].tolist(),
        np.flatnonzero(holds[table[:, family.end]]).tolist(),
        alphabet=range(num_symbols),
        start=int(table[0, family.start]),
    )


@pytest.mark.matrix
@pytest.mark.parametrize("tier", [None, (0, 1, 3, 5, 6)])
def test_a_rare_piece_is_told_from_a_part_of_it_by_how_words_were_drawn(tier):
    """No word drawn has 00 four times but not five times: labels cannot tell these."""
    truth = counting((0, 0), 5, 8, tier)
    words, labels = words_of(truth, 600, np.random.default_rng(0))
    weak = language_of(shortest_rules(Words(words, labels, 8, 2), Limits()))
    strong = language_of(shortest_rules(Words(words, labels, 8, 2), Limits(strong=True)))
    assert [weak.accepts(word) for word in words] == [strong.accepts(word) for word in words] == labels.tolist()
    assert strong.equivalent(truth)
    assert not weak.equivalent(truth)
