"""Weighted automata: values by the oracle's loop, sums, products, conversions, learning and drawings."""

import itertools
import math
import xml.etree.ElementTree

import keras
import numpy as np
import pytest

from keras_interp_rnn import analysis, layers
from keras_interp_rnn.analysis.weighted import hankel
from keras_interp_rnn.automata import DFA, WeightedAutomaton, tomita
from tests.automata.hidden_markov import hidden_markov
from tests.oracles import weighted_automata as oracle
from tests.tolerances import atol_of_layer

WORDS = list(oracle.words(3, 4))


def drawn(seed=0, states=4, outputs=2, alphabet=None):
    rng = np.random.default_rng(seed)
    final = rng.normal(size=(states, outputs) if outputs else states)
    return WeightedAutomaton(
        rng.normal(size=states), rng.normal(size=(3, states, states)) / np.sqrt(states), final, alphabet
    )


def expected(automaton, word):
    matrices = np.swapaxes(automaton.transitions, 1, 2)
    final = automaton.final.T if automaton.final.ndim == 2 else automaton.final
    return oracle.value(automaton.initial, matrices, final, word)


@pytest.mark.parametrize("outputs", [0, 1, 3])
@pytest.mark.parametrize("seed", range(3))
def test_values_equal_those_of_the_loop(seed, outputs):
    automaton = drawn(seed, outputs=outputs)
    for word in WORDS:
        np.testing.assert_allclose(automaton.value(word), expected(automaton, word), atol=1e-13)
    values = automaton.values(WORDS)
    assert values.shape == ((len(WORDS), outputs) if outputs else (len(WORDS),))
    np.testing.assert_array_equal(values, [automaton.value(word) for word in WORDS])
    assert isinstance(automaton.value(()), np.ndarray if outputs else float)
    assert len(automaton.values([])) == 0


@pytest.mark.parametrize("outputs", [0, 2])
def test_sums_products_and_multiples(outputs):
    first, second = drawn(0, 4, outputs), drawn(1, 3, outputs)
    for word in WORDS:
        a, b = first.value(word), second.value(word)
        np.testing.assert_allclose(first.sum(second).value(word), a + b, atol=1e-12)
        np.testing.assert_allclose(first.product(second).value(word), a * b, atol=1e-12)
        np.testing.assert_allclose(first.scale(-2.5).value(word), -2.5 * a, atol=1e-12)
    assert (len(first.sum(second)), len(first.product(second))) == (7, 12)


def test_alphabets_pair_up_by_name():
    first, second = drawn(0, alphabet="abc"), drawn(1, alphabet="cab")
    for word in ("", "a", "bca"):
        a, b = first.value(word), second.value(word)
        np.testing.assert_allclose(first.sum(second).value(word), a + b, atol=1e-13)
        np.testing.assert_allclose(first.product(second).value(word), a * b, atol=1e-13)
    np.testing.assert_array_equal(first.value("bca"), first.value([1, 2, 0]))
    pairs, tens = drawn(0, alphabet=[(0, 0), (0, 1), (1, 0)]), drawn(0, alphabet=[30, 10, 20])
    np.testing.assert_array_equal(pairs.value([(0, 1), (0, 0)]), pairs.value([1, 0]))
    np.testing.assert_array_equal(tens.value([10, 30]), drawn(0).value([1, 0]))
    for call, sentence in (
        (lambda: first.sum(drawn(1)), "Both automata must read the same alphabet"),
        (lambda: first.sum(drawn(outputs=1, alphabet="abc")), "must have the same number of outputs"),
        (lambda: first.product(tomita(1)), "must have the same number of outputs"),
        (lambda: first.value("ad"), "the symbol 'd'"),
        (lambda: drawn().value([3]), r"must lie in \[0, 3\)"),
    ):
        with pytest.raises(ValueError, match=sentence):
            call()


@pytest.mark.parametrize("seed", range(3))
def test_the_smallest_automaton_has_the_rank_of_its_table(seed):
    automaton = drawn(seed, 3, 1)
    padded = automaton.sum(drawn(9, 3, 1).scale(0))
    change = np.random.default_rng(seed).normal(size=(6, 6))
    initial, back = padded.initial @ change, np.linalg.inv(change)
    small = WeightedAutomaton(initial, back @ padded.transitions @ change, back @ padded.final).minimize()
    assert len(small) == 3
    np.testing.assert_allclose(small.values(WORDS), automaton.values(WORDS), atol=1e-10)
    zero = automaton.scale(0).minimize()
    assert len(zero) == 1
    assert not zero.values(WORDS).any()


@pytest.mark.parametrize("number", range(1, 8))
def test_the_value_of_a_dfa_is_1_for_accepted_words(number):
    dfa = tomita(number)
    automaton = WeightedAutomaton.from_dfa(dfa)
    network, small = automaton.to_isan(), automaton.minimize()
    assert len(small) == oracle.hankel_rank(automaton.value, 2, 4)
    for length in range(1, 7):
        words = list(itertools.product(range(2), repeat=length))
        accepted = [dfa.accepts([dfa.alphabet[i] for i in word]) for word in words]
        assert automaton.values(words).tolist() == accepted
        assert keras.ops.convert_to_numpy(network(np.array(words)))[:, 0].tolist() == accepted
        np.testing.assert_allclose(small.values(words), accepted, atol=1e-12)


def test_missing_transitions_have_the_value_zero():
    automaton = WeightedAutomaton.from_dfa(DFA([[1, -1], [-1, 0]], {0}, alphabet="ab"))
    assert [automaton.value(word) for word in ("", "ab", "abab", "a", "b", "aab")] == [1, 1, 1, 0, 0, 0]


@pytest.mark.matrix
@pytest.mark.parametrize("kind", ["model", "layer", "cell", "pair", "factored"])
def test_values_of_a_network_are_its_logits_and_to_isan_gives_it_back(kind):
    keras.utils.set_random_seed(3)
    layer = (
        layers.FactoredISAN(5, 2, vocabulary_size=3, dtype="float64")
        if kind == "factored"
        else layers.ISAN(5, 3, dtype="float64")
    )
    model = keras.Sequential([keras.Input((None,), dtype="int32"), layer, keras.layers.Dense(2, dtype="float64")])
    rng = np.random.default_rng(0)
    model.set_weights([rng.normal(size=w.shape) * 0.5 for w in model.get_weights()])
    head = model.layers[-1]
    network = {"layer": layer, "cell": layer.cell, "pair": (layer, head)}.get(kind, model)
    automaton = WeightedAutomaton.from_network(network, readout=head if kind in ("layer", "cell") else None)
    assert len(automaton) == 6
    back = automaton.to_isan(return_sequences=True, dtype="float64")
    for word in [w for w in WORDS if w]:
        logits = keras.ops.convert_to_numpy(model(np.array([word])))[0]
        np.testing.assert_allclose(automaton.value(word), logits, atol=atol_of_layer(1e-12))
        prefixes = keras.ops.convert_to_numpy(back(np.array([word])))[0]
        expected = [automaton.value(word[: t + 1]) for t in range(len(word))]
        np.testing.assert_allclose(prefixes, expected, atol=atol_of_layer(1e-12))
    assert back.layers[0].units == 5  # the constant coordinate becomes biases
    assert analysis.equivalent(automaton, back).exact


def test_values_of_a_hidden_markov_model_are_probabilities():
    rng = np.random.default_rng(0)
    initial, move, emit = (rng.dirichlet(np.ones(n), size=m) for n, m in ((4, 1), (4, 4), (3, 4)))
    stop = rng.uniform(0.1, 0.6, size=4)
    prefix = hidden_markov(initial[0], move, emit)
    whole = hidden_markov(initial[0], move, emit, stop=stop)
    for length in range(4):
        assert sum(prefix.value(w) for w in itertools.product(range(3), repeat=length)) == pytest.approx(1)
    for word in WORDS:
        first = ends = 0.0
        for path in itertools.product(range(4), repeat=len(word) + 1):
            p = initial[0][path[0]]
            for t, symbol in enumerate(word):
                p *= emit[path[t], symbol] * move[path[t], path[t + 1]]
            first += p
            ends += p * np.prod([1 - stop[state] for state in path[:-1]]) * stop[path[-1]]
        assert prefix.value(word) == pytest.approx(first, rel=1e-12)
        assert whole.value(word) == pytest.approx(ends, rel=1e-12)


def test_a_value_is_right_where_states_underflow_or_overflow_on_the_way():
    """One coordinate falls by 1e-200 at each a and rises again at each b; only it is read."""
    automaton = WeightedAutomaton([1, 1], [np.diag([1, 1e-200]), np.diag([1, 1e200])], [0, 3], alphabet="ab")
    for word in ("aabb", "bbaa", "aaaabbbb"):
        assert automaton.value(word) == pytest.approx(3, rel=1e-13)
    assert automaton.value("aa") == 0
    with pytest.raises(ValueError, match="The value of a word must fit into floats"):
        automaton.value("bb")


def test_values_below_the_smallest_float_are_rounded_to_it_or_to_zero():
    coin = WeightedAutomaton([1], [[[0.5]], [[0.5]]], [1])
    assert [coin.value([0] * n) for n in (1022, 1074, 1100)] == [2.0**-1022, 5e-324, 0]


def test_print_shows_the_size_and_the_first_values():
    ones = WeightedAutomaton([1, 0], [[[1, 0], [0, 1]], [[1, 1], [0, 1]]], [0, 1], alphabet="01")
    said, _, *rows = str(ones).splitlines()
    assert said == "weighted automaton: 2 states, 2 symbols"
    assert [row.rsplit(None, 1) for row in rows] == [["the empty word", "0"], ["'0'", "0"], ["'1'", "1"]]
    assert "2 values a word" in str(drawn())
    assert "too large" in str(WeightedAutomaton([1e300], [[[1e300]]], [1]))


@pytest.mark.core
@pytest.mark.parametrize(
    ("arguments", "rule"),
    [
        (([1, 0], np.eye(3)[None], [1, 0]), "must have the shapes initial"),
        (([1, 0], np.eye(2)[None], [1, 0, 0]), "must have the shapes initial"),
        (([[1, 0]], np.eye(2)[None], [1, 0]), "must have the shapes initial"),
        (([], np.zeros((1, 0, 0)), []), "must have the shapes initial"),
        (([1, 0], np.zeros((0, 2, 2)), [1, 0]), "must have the shapes initial"),
        (([1, 0], np.eye(2)[None], 1), r"must have the shapes initial .* and \(\)\."),
        (([1, 0], np.eye(2)[None], np.ones((2, 1, 1))), r"must have the shapes initial .* and \(2, 1, 1\)\."),
        (([1, np.nan], np.eye(2)[None], [1, 0]), "NaN or infinity in initial"),
        (([1, 0], [[[1, np.inf], [0, 1]]], [1, 0]), "NaN or infinity in transitions"),
        ((["1", "0"], np.eye(2)[None], [1, 0]), "real numbers"),
        (([1j, 0], np.eye(2)[None], [1, 0]), "real numbers"),
        (([1, 0], np.eye(2)[None], [1, 0], "ab"), "`alphabet` must be 1 different symbols"),
        (([1, 0], np.eye(2)[None].repeat(2, 0), [1, 0], "aa"), "each once"),
    ],
)
def test_rejects_invalid_weighted_automata(arguments, rule):
    with pytest.raises(ValueError, match=rule):
        WeightedAutomaton(*arguments)


def test_weights_are_immutable_copies():
    initial = np.ones(2)
    automaton = WeightedAutomaton(initial, np.eye(2)[None], [1, 0])
    initial[0] = 7
    assert automaton.value([0]) == 1
    with pytest.raises(ValueError, match="read-only"):
        automaton.initial[0] = 2


@pytest.mark.parametrize("states", [1, 2, 4])
def test_an_automaton_is_learned_exactly_from_its_values(states):
    automaton = drawn(5, states, 0)
    values = {word: automaton.value(word) for word in oracle.words(3, 5)}
    learned = WeightedAutomaton.from_hankel(values, states, num_symbols=3, max_length=2)
    long = [tuple(np.random.default_rng(i).integers(3, size=12)) for i in range(20)]
    np.testing.assert_allclose(learned.values(long), automaton.values(long), rtol=1e-8, atol=1e-10)
    with pytest.raises(ValueError, match=f"one of rank {states}, of shape"):
        WeightedAutomaton.from_hankel(values, states + 1, num_symbols=3, max_length=2)


def machine(seed=0, states=3):
    rng = np.random.default_rng(seed)
    initial, move, emit = (
        rng.dirichlet(np.full(n, 0.5), size=m) for n, m in ((states, 1), (states, states), (2, states))
    )
    return initial[0], rng.uniform(0.15, 0.5, size=states), emit, move


def test_probabilities_are_learned_better_from_more_words():
    initial, stop, emit, move = machine()
    rng = np.random.default_rng(1)
    words = [oracle.draw(initial, stop, emit, move, rng) for _ in range(20_000)]
    true = hidden_markov(initial, move, emit, stop=stop)
    tests = list(oracle.words(2, 5))
    errors = [
        np.abs(WeightedAutomaton.from_hankel(words[:n], 2, num_symbols=2).values(tests) - true.values(tests)).sum()
        for n in (200, 20_000)
    ]
    assert errors[1] < 0.03 < errors[0]


def test_the_tables_are_counts_of_occurrences():
    rng = np.random.default_rng(0)
    words = [rng.integers(3, size=rng.integers(0, 7)) for _ in range(40)]
    table, shifted = hankel.of_words(words, 3, max_length=2, max_basis=100)
    counts = {part: oracle.occurrences(words, part) for part in oracle.words(3, 2)}
    seen = [part for part in counts if counts[part]]
    assert table.shape == (len(seen), len(seen))
    # The basis is ordered by the first column of the table, f of the prefix itself, with the empty word first.
    assert table[0, 0] == counts[()]
    np.testing.assert_allclose(np.sort(table[:, 0]), sorted(counts[part] for part in seen))
    totals = {
        "table": sum(oracle.occurrences(words, (*p, *s)) for p in seen for s in seen),
        "shifted": sum(oracle.occurrences(words, (*p, x, *s)) for p in seen for s in seen for x in range(3)),
    }
    assert table.sum() == pytest.approx(totals["table"], rel=1e-12)
    assert shifted.sum() == pytest.approx(totals["shifted"], rel=1e-12)
    small, moved = hankel.of_words(words, 3, max_length=2, max_basis=4)
    np.testing.assert_array_equal(small, table[:4, :4])
    np.testing.assert_array_equal(moved, shifted[:, :4, :4])


def test_prefix_sums_add_the_values_of_all_continuations():
    initial, stop, emit, move = machine()
    whole = hidden_markov(initial, move, emit, stop=stop)
    prefix = whole.prefix_sums()
    assert prefix.value(()) == pytest.approx(1)
    for word in oracle.words(2, 3):
        onwards = sum(prefix.value((*word, x)) for x in range(2))
        assert prefix.value(word) == pytest.approx(whole.value(word) + onwards, rel=1e-12)
    with pytest.raises(ValueError, match="must have a spectral radius below 1"):
        hidden_markov(initial, move, emit).prefix_sums()


def test_a_few_words_of_named_symbols_are_learned():
    learned = WeightedAutomaton.from_hankel(["ab", "ab", "a", ""], 3, alphabet="ab")
    assert learned.alphabet == ("a", "b")
    assert learned.values(["", "a", "ab", "b"]) == pytest.approx([0.25, 0.25, 0.5, 0], abs=1e-9)


@pytest.mark.core
@pytest.mark.parametrize(
    ("words", "arguments", "rule"),
    [
        ({(0,): math.nan}, {"rank": 1}, "must be finite numbers. Received: NaN"),
        ({(): math.inf}, {"rank": 1}, "must be finite numbers. Received: NaN or infinity"),
        ({(): 1.0, (0,): 0.5}, {"rank": 1.5}, "`rank` must be a positive integer. Received: rank=1.5"),
        ({(): 1.0, (0,): 0.5}, {"rank": 5}, "Received: one of rank"),
        ({(0,): 0.0}, {"rank": 1}, "Received: one of rank 0"),
        ([], {"rank": 1}, "Received: one of rank 0"),
        (["ab", "b"], {"rank": 1}, "no ids. Pass the alphabet"),
        (["ab", "b"], {"rank": 1, "alphabet": "a"}, "the symbol 'b'"),
        (["ab", "b"], {"rank": 1, "alphabet": 3}, "An alphabet must be a sequence.*Received: 3"),
        (["a", "b"], {"rank": 1, "alphabet": "ab", "num_symbols": 1}, "the length of the alphabet, 2. Received: num_s"),
        ([(0,)], {"rank": 1, "num_symbols": 0}, "`num_symbols` must be a positive integer. Received: num_symbols=0"),
        (3, {"rank": 1}, "Words must be a list of sequences of symbols.*Received: 3"),
    ],
)
def test_rejects_words_that_cannot_be_learned(words, arguments, rule):
    with pytest.raises(ValueError, match=rule):
        WeightedAutomaton.from_hankel(words, **arguments)


SVG = "{http://www.w3.org/2000/svg}"


def drawing_of(automaton, names=None):
    """(texts, titles, number of circles) of a drawing, as XML reads it."""
    root = xml.etree.ElementTree.fromstring(automaton.to_svg(names))
    texts = [element.text for element in root.iter(f"{SVG}text")]
    return texts, [element.text for element in root.iter(f"{SVG}title")], len(list(root.iter(f"{SVG}circle")))


def test_a_drawing_has_every_weight_that_is_not_zero():
    transitions = [[[0, 0.25], [0, 0]], [[0, -2], [1e30, 0]], [[0.5, 0], [0, 0]]]
    automaton = WeightedAutomaton([1, 0], transitions, [0, 1 / 3], alphabet='a"<')
    texts, titles, circles = drawing_of(automaton)
    assert sorted(texts) == sorted(["0", "1", "0.333", 'a:0.25, ":-2', '":1e30', "<:0.5"])
    assert "state 0, initial weight 1" in titles
    assert "state 1, final weight 0.333333" in titles
    assert circles == 3  # the second ring
    assert drawing_of(automaton, ["x", "y"])[0].count("x") == 1


def test_several_initial_weights_come_from_a_dashed_circle():
    start = WeightedAutomaton([0.5, -3], [[[1, 0], [0, 1]]], [[1, 2], [0, 0]])
    texts, titles, circles = drawing_of(start)
    assert sorted(texts) == sorted(["start", "0.5", "-3", "0", "1", "0", "0"])
    assert "state 0, initial weight 0.5, final weights 1, 2" in titles
    assert circles == 4
    nothing = WeightedAutomaton([0], [[[0]]], [0])
    assert sorted(drawing_of(nothing)[0]) == ["0", "start"]


def test_the_drawing_of_a_dfa_has_no_weights():
    dfa = tomita(3)
    texts, _, circles = drawing_of(WeightedAutomaton.from_dfa(dfa))
    assert len(texts) == len(dfa) + len(dfa.edges())
    assert not any(":" in text for text in texts)
    assert circles == len(dfa) + len(dfa.accepting)


def test_a_dense_automaton_has_no_drawing():
    dense = drawn(0, states=8)
    assert not dense.is_drawable
    assert dense._repr_svg_() is None
    assert "<svg" not in dense._repr_html_()
    with pytest.raises(ValueError, match="at most 60 edges and initial weights. Received: 72, of 8 states"):
        dense.to_svg()
    assert "<svg" in drawn(0)._repr_html_()
    assert drawn(0)._repr_svg_() == drawn(0).to_svg()
    with pytest.raises(ValueError, match="`names` must be a name for each of 4 states. Received: names="):
        drawn(0).to_svg(["a"])


@pytest.mark.parametrize("scale", [1e-300, 1e200])
def test_the_size_does_not_depend_on_the_scale_of_the_weights(scale):
    small = drawn(0, states=2, outputs=0)
    padded = WeightedAutomaton(
        np.append(small.initial, 0) * scale,
        np.pad(small.transitions, ((0, 0), (0, 1), (0, 1))) * scale,
        np.append(small.final, 1),
    )
    smallest = padded.minimize()
    assert len(smallest) == 2
    np.testing.assert_allclose(smallest.value([]), padded.value([]))
    with pytest.raises(ValueError, match=r"in \[0, 1\). Received: tolerance=2"):
        padded.minimize(tolerance=2)


def test_rejects_numbers_beyond_the_range_of_floats():
    huge = WeightedAutomaton([1e300], [[[1e300]]], [1])
    assert huge.value([]) == 1e300
    with pytest.raises(ValueError, match="The value of a word must fit into floats"):
        huge.value([0])
    with pytest.raises(ValueError, match="NaN or infinity in initial"):
        huge.product(huge)
    with pytest.raises(ValueError, match=r'at most 3.4e\+38. Received: 1e\+300. Pass dtype="float64"'):
        huge.to_isan()
    assert huge.to_isan(dtype="float64").layers[0].get_weights()[0].item() == 1e300
    final = WeightedAutomaton([1, 0], [[[1, 0], [0, 1]]], [0, 1]).scale(1e6)
    for dtype in ("float16", "mixed_float16"):
        with pytest.raises(ValueError, match=f"Weights of dtype {dtype} must be at most 6.55e.04. Received: 1e.06."):
            final.to_isan(dtype=dtype)
