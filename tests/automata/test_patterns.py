"""Automata found by decision trees over patterns: factors, subsequences, sequences, tiers and counts."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from keras_interp_rnn import automata
from keras_interp_rnn.automata import DFA
from keras_interp_rnn.automata.inference import _deadline, _pattern_rules, _pattern_trees, _searches
from keras_interp_rnn.automata.inference._deadline import Deadline, Limits
from keras_interp_rnn.automata.inference._pattern_rules import shortest_rules
from keras_interp_rnn.automata.inference._pattern_trees import Node, Search
from keras_interp_rnn.automata.inference._patterns import Family, Pattern, read
from keras_interp_rnn.automata.inference._prefix_tree import Machine, Words
from keras_interp_rnn.automata.inference._searches import search
from tests.automata.networks import dfa_of, long_words, places

KINDS = ("factor", "subsequence", "sequence")


def occurrences(piece, word):
    return [i for i in range(len(word) - len(piece) + 1) if tuple(word[i : i + len(piece)]) == piece]


def sequential_bits(counts, num_labels):
    """Bits of labels, each predicted from those before with half a count added: another form of the estimate."""
    likely, seen = Fraction(1), [0] * num_labels
    for label, count in enumerate(counts):
        for _ in range(count):
            likely *= Fraction(2 * seen[label] + 1, 2 * sum(seen) + num_labels)
            seen[label] += 1
    return -math.log2(likely)


def is_in(pattern, family, word):
    """Whether a word has a pattern by the definition, by trying all places of its pieces on the tier."""
    symbols = [family.start, *(family.tier.index(symbol) for symbol in word if symbol in family.tier), family.end]
    if pattern.modulus:
        return len(occurrences(pattern.pieces[0], symbols)) % pattern.modulus == pattern.residue
    if pattern.times > 1:
        return len(occurrences(pattern.pieces[0], symbols)) >= pattern.times
    ways = itertools.product(*(occurrences(piece, symbols) for piece in pattern.pieces))
    return any(
        all(at + len(piece) <= after for at, after, piece in zip(way, way[1:], pattern.pieces, strict=False))
        for way in ways
    )


def drawn_patterns(family, rng, number=60):
    """Patterns that random changes lead to."""
    found = []
    for _ in range(number):
        near, changes = list(family.simplest()), rng.integers(5) + 1
        for _ in range(changes):
            pattern = near[rng.integers(len(near))]
            near = family.neighbours(pattern)
        found.append(pattern)
    return found


@pytest.mark.parametrize("tier", [(0, 1, 2), (0, 2)])
@pytest.mark.parametrize("kind", KINDS)
def test_the_automaton_of_a_pattern_follows_its_definition(kind, tier):
    family, rng = Family(kind, tier, 3), np.random.default_rng(len(tier))
    words = [tuple(rng.choice(3, size=rng.integers(13), p=[0.6, 0.1, 0.3]).tolist()) for _ in range(80)]
    patterns = drawn_patterns(family, rng)
    expected = [[is_in(pattern, family, word) for word in words] for pattern in patterns]
    np.testing.assert_array_equal(family.holds(patterns, family.letters(words)), expected)
    assert 0.05 < np.mean(expected) < 0.95
    # On the whole alphabet the skipped symbols change nothing.
    whole = Family(kind, (0, 1, 2), 3).letters(words)
    np.testing.assert_array_equal(read([family.on_all_symbols(pattern) for pattern in patterns], whole), expected)


@pytest.mark.parametrize("kind", KINDS)
def test_changes_lead_to_patterns_of_the_family_and_back(kind):
    family = Family(kind, (0, 1, 3), 5)
    for pattern in drawn_patterns(family, np.random.default_rng(0), 20):
        near = family.neighbours(pattern)
        assert len(near) == len({*near})
        assert pattern not in near
        for other in near:
            flat = [symbol for piece in other.pieces for symbol in piece]
            assert other in family
            assert family.start not in flat[1:]
            assert family.end not in flat[:-1]
            assert family.bits_of(other) > 0
        shorter = [other for other in near if other.size == pattern.size - 1 and other.times == pattern.times]
        assert any(pattern in family.neighbours(other) for other in shorter) or pattern.size == 1


def test_neighbours_are_those_of_one_change():
    family = Family("factor", (0,), 1)  # 1 is the start of a word, 2 its end
    near = [Pattern(((0, 0),)), Pattern(((1, 0),)), Pattern(((0, 2),)), Pattern(((0,),), 2)]
    near += [Pattern(((0,),), 1, modulus, residue) for modulus in (3, 4, 5) for residue in range(modulus)]
    assert {*family.neighbours(Pattern(((0,),)))} == {*near, Pattern(((0,),), 1, 2, 0)}
    for kind, pieces, expected in (
        (
            "sequence",
            ((0, 1), (1,)),
            [((1,), (1,)), ((0, 1),), ((0, 0, 1), (1,)), ((0, 1), (1, 0)), ((0,), (0, 1), (1,)), ((0, 1), (1,), (0,))],
        ),
        ("subsequence", ((0,), (1,)), [((1,),), ((0,),), ((0,), (0,), (1,)), ((0,), (1,), (0,))]),
    ):
        assert Family(kind, (0, 1), 2).resized(Pattern(pieces), [0]) == [*map(Pattern, expected)]


def test_a_repeated_piece_is_named_once():
    family = Family("sequence", (0, 1), 2)
    once, twice = Pattern(((0, 1), (1,))), Pattern(((0, 1), (1,), (0, 1), (1,)))
    other = Pattern(((0, 1), (1,), (0, 1), (0,)))
    assert family.bits_of(once) < family.bits_of(twice) < family.bits_of(other)


def search_of(family, words, labels, exact=True):
    labelled = Words(words, labels, family.num_symbols, int(labels.max()) + 1)
    return Search(family, labelled, Limits(0.0 if exact else None), np.random.default_rng(0), 1000)


def walk(machine, word):
    """The label that a machine gives a word."""
    state = 0
    for symbol in word:
        state = machine.table[state, symbol]
    return machine.outputs[state]


@pytest.mark.parametrize("exact", [True, False])
def test_the_bits_of_a_tree_are_those_of_its_patterns_and_labels(exact):
    rng = np.random.default_rng(1)
    words = [tuple(rng.integers(3, size=rng.integers(9)).tolist()) for _ in range(90)]
    labels = np.array([len(word) % 3 for word in words])
    family = Family("factor", (0, 1, 2), 3)
    task = search_of(family, words, labels, exact)
    one, two = Pattern(((0,),)), Pattern(((1, 2),))
    tree = Node(one, Node(two, 0, 1), 2)
    task.ask([one, two])
    leaves = [(0 if is_in(two, family, word) else 1) if 0 in word else 2 for word in words]
    counts = np.zeros((3, 3), int)
    np.add.at(counts, (leaves, labels), 1)
    wrong = (counts.sum() - counts.max(axis=1).sum()) if exact else 0
    expected = family.bits + family.bits_of(one) + family.bits_of(two) + 6 + 30 * wrong
    expected += sum(sequential_bits(row, 3) for row in counts.tolist())
    np.testing.assert_allclose(task.bits(tree), expected, rtol=1e-12)
    machine = _pattern_rules._product(family, tree)
    assert [walk(machine, word) for word in words] == leaves


def test_drops_questions_that_do_not_matter():
    words = [word for length in range(4) for word in itertools.product(range(3), repeat=length)]
    family, one, two = Family("factor", (0, 1, 2), 3), Pattern(((0,),)), Pattern(((1, 2),))
    task = search_of(family, words, np.array([int(0 in word) for word in words]))
    task.ask([one, two])
    assert task.labelled(Node(one, Node(two, 0, 1), Node(two, 1, 1)), task.all) == Node(one, 1, 0)


def of_patterns(family, patterns, label):
    """The automaton of a boolean function of patterns."""

    def grown(answers):
        if len(answers) == len(patterns):
            return int(label(*answers))
        return Node(patterns[len(answers)], grown((*answers, True)), grown((*answers, False)))

    return dfa_of(_pattern_rules._product(family, grown(())), "abcdefgh"[: family.num_symbols]).minimize()


LANGUAGES = {
    # No factor abab, no baba.
    "local": (Family("factor", (0, 1, 2), 3), [((0, 1, 0, 1),), ((1, 0, 1, 0),)], lambda p, q: not (p or q)),
    # aa if and only if bb.
    "locally testable": (Family("factor", (0, 1, 2), 3), [((0, 0),), ((1, 1),)], lambda p, q: p == q),
    # a before b before c before a.
    "piecewise": (Family("subsequence", (0, 1, 2), 3), [((0,), (1,), (2,), (0,))], lambda p: p),
    # After an ab no c next to a c.
    "sequence": (Family("sequence", (0, 1, 2), 3), [((0, 1), (2, 2))], lambda p: not p),
    # No aa on the tier of a, b and c, among eight symbols.
    "tier": (Family("factor", (0, 1, 2), 8), [((0, 0),)], lambda p: not p),
}


@pytest.mark.matrix
@pytest.mark.parametrize("name", LANGUAGES)
def test_a_language_of_each_kind_is_found_from_long_words(name):
    family, pieces, label = LANGUAGES[name]
    truth = of_patterns(family, [Pattern(each) for each in pieces], label)
    words, labels = long_words(np.random.default_rng(0), truth, 2000)
    machine = shortest_rules(Words(places(words, truth.alphabet), labels.astype(int), len(truth.alphabet), 2), Limits())
    assert dfa_of(machine, truth.alphabet).equivalent(truth)


@pytest.mark.matrix
def test_finds_a_count_with_a_remainder_although_labels_are_wrong():
    """Whether the number of b is divisible by three, one label in twenty wrong."""
    truth = DFA([[0, 1], [1, 2], [2, 0]], {0}, alphabet="ab")
    rng = np.random.default_rng(0)
    words, labels = long_words(rng, truth, 1000)
    wrong = rng.random(len(labels)) < 0.05
    machine = shortest_rules(Words(places(words, "ab"), (labels ^ wrong).astype(int), 2, 2), Limits(0.05))
    assert dfa_of(machine, "ab").equivalent(truth)


def test_a_parity_is_one_question():
    """Whether the number of b is even, from 40 words: two questions, for remainders by four, would save too little."""
    truth = DFA([[0, 1], [1, 0]], {0}, alphabet="ab")
    words, labels = long_words(np.random.default_rng(0), truth, 40)
    machine, describes = search("patterns", Words(places(words, "ab"), labels.astype(int), 2, 2), Limits())
    assert describes
    assert dfa_of(machine, "ab").equivalent(truth)


def test_a_tree_grows_on_after_the_answers_are_dropped(monkeypatch):
    family, pieces, label = LANGUAGES["local"]
    truth = of_patterns(family, [Pattern(each) for each in pieces], label)
    words, labels = long_words(np.random.default_rng(0), truth, 400)
    task = search_of(family, places(words, truth.alphabet), labels.astype(int))
    rare = Pattern(((2, 2, 1, 0, 2, 2),))
    tree = Node(Pattern(((0,),)), 1, Node(rare, 1, 0))
    task.ask([Pattern(((0,),)), rare])
    expected = task.grown(tree)
    monkeypatch.setattr(_pattern_trees, "POOL", 0)
    assert task.grown(tree) == expected


def test_finds_no_rule_in_random_labels():
    rng = np.random.default_rng(0)
    words = ["".join(rng.choice([*"ab"], size=12)) for _ in range(60)]
    words = [*dict.fromkeys(words)]
    labels = rng.random(len(words)) < 0.5
    with pytest.raises(ValueError, match="No automaton was found that describes the labels of"):
        automata.infer(words, labels, alphabet="ab", time_budget=3.0)


def test_finds_the_rule_that_any_of_several_symbols_makes_the_label():
    """Among 120 symbols there are 15: a tree would have to ask for each of them."""
    rng = np.random.default_rng(0)
    alarms = range(12, 117, 7)
    words = [tuple(rng.choice(120, 8).tolist()) for _ in range(600)]
    for wrong in (0, 5):
        labels = np.array([any(symbol in alarms for symbol in word) for word in words]).astype(np.int64)
        labels[:wrong] ^= 1
        machine, saved, contradicts = _pattern_rules._single_symbols(Words(words, labels, 120, 2))
        assert saved > 200
        assert contradicts == (wrong > 0)
        assert machine.outputs.tolist() == [0, 1]
        assert np.flatnonzero(machine.table[0]).tolist() == [*alarms]
    labels[:5] ^= 1
    assert len(shortest_rules(Words(words, labels, 120, 2), Limits())) == 2


def test_rules_of_few_words_go_on_from_the_words_that_contradict_them(monkeypatch):
    """No aa, but for words with cc, which are rare."""
    rng = np.random.default_rng(0)
    words = [*dict.fromkeys(tuple(rng.choice(3, 12, p=[0.49, 0.49, 0.02]).tolist()) for _ in range(3000))]

    def has(pair):
        return np.array([pair in zip(word, word[1:], strict=False) for word in words])

    labels = ~has((0, 0)) | has((2, 2))
    every = Words(words, labels.astype(np.int64), 3, 2)
    read = []

    def recorded(part, limits, start=None):
        read.append((len(part), None if start is None else int((~part.right(start)).sum())))
        return shortest_rules(part, limits, start)

    monkeypatch.setitem(_searches.SEARCHES, "patterns", recorded)
    monkeypatch.setattr(_searches, "PART", 400)
    machine = _searches._on_growing_parts("patterns", every, Limits(), None)
    sizes, contradicted = zip(*read, strict=True)
    assert sizes[0] == 400
    assert contradicted[0] is None
    assert every.right(machine).all()
    assert all(number > 0 for number in contradicted[1:])


def test_rules_about_few_of_many_symbols_are_found_on_these():
    """An event after another one, without a third between them, among 50 kinds of events."""
    rng = np.random.default_rng(0)
    chances = np.array([0.5] * 45 + [4.0] * 5)
    order = rng.permutation(50)
    words = [tuple(order[rng.choice(50, 30, p=chances / chances.sum())].tolist()) for _ in range(250)]
    first, second, third = order[[48, 49, 47]].tolist()

    def follows(word):
        last = [symbol for symbol in word if symbol in (first, second, third)]
        return (first, second) in zip(last, last[1:], strict=False)

    labels = np.array([follows(word) for word in words])
    machine = _pattern_rules._on_fewer_symbols(Words(words, labels.astype(np.int64), 50, 2), Limits())
    others = [tuple(order[rng.choice(50, 30, p=chances / chances.sum())].tolist()) for _ in range(1000)]
    assert Words(others, np.array([follows(word) for word in others]).astype(np.int64), 50, 2).error(machine) == 0
    assert _pattern_rules._on_fewer_symbols(Words([(0,), (1,)] * 2, np.array([0, 1] * 2), 2, 2), Limits()) is None


@pytest.mark.parametrize("above", [False, True])
def test_rules_on_few_symbols_must_save_the_bits_that_name_these(monkeypatch, above):
    words = [(symbol, 99 - symbol) for symbol in range(50)]
    labels = np.array([8 in word or 91 in word for word in words]).astype(np.int64)
    table = np.zeros((2, 17), np.int64)
    table[1], table[0, [3, 5]] = 1, 1
    price = np.log2(17) + np.log2(100 * 99 / 2)
    saved = price + _pattern_rules.MIN_SAVED + (0.01 if above else -0.01)
    machine = Machine(table, np.array([0, 1]))
    monkeypatch.setattr(_pattern_rules, "_of_trees", lambda *_: (machine, saved))
    found = _pattern_rules._on_fewer_symbols(Words(words, labels, 100, 2), Limits())
    assert (found is not None) == above


@pytest.mark.parametrize(("number", "found"), [(25, False), (60, True), (120, True)])
def test_a_rule_of_single_symbols_must_save_ten_bits(monkeypatch, number, found):
    """Where trees save nothing. Of 25 words 6 have one of the symbols, which saves 5 bits."""
    monkeypatch.setattr(_pattern_rules, "_of_trees", lambda *_: (None, 0.0))
    words = [(place % 4, 4 + place % 36) for place in range(number)]
    every = Words(words, np.array([word[0] == 1 for word in words]).astype(np.int64), 40, 2)
    _, saved, contradicts = _pattern_rules._single_symbols(every)
    assert not contradicts
    assert (saved > _pattern_rules.MIN_SAVED) == found
    machine = shortest_rules(every, Limits())
    assert (machine is not None) == found
    if machine is not None:
        assert every.right(machine).all()


@pytest.mark.parametrize("by", ["patterns", "merging"])
def test_a_search_ends_at_the_deadline(by, monkeypatch):
    """The clock advances by a second whenever it is read."""
    rng = np.random.default_rng(0)
    words = [tuple(rng.integers(100, size=20).tolist()) for _ in range(400)]
    without_rule = Words(words, rng.integers(2, size=400), 100, 2)
    clock = itertools.count()
    monkeypatch.setattr(_deadline.time, "monotonic", lambda: float(next(clock)))
    _, describes = search(by, without_rule, Limits(until=Deadline(3.5)))
    assert not describes
    assert 4 <= next(clock) <= 7
