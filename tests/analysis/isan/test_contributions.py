import dataclasses
import inspect
import re
import tracemalloc

import keras
import numpy as np
import pytest

from keras_interp_rnn import analysis, layers
from keras_interp_rnn._results import percent, quoted
from keras_interp_rnn.datasets import Alphabet
from keras_interp_rnn.equations import isan as equations
from tests.analysis.isan import networks
from tests.oracles import isan as oracle
from tests.oracles import isan_reading as reading
from tests.tolerances import assert_close

CLOSE = {"rtol": 1e-12, "atol": 1e-12}
TEXT = np.array([3, 1, 0, 2, 2, 1, 0, 3, 1])


def network(units, symbols, outputs, seed):
    """A model, its weights as the paper writes them, and the bias of its readout."""
    model, (*paper, readout_bias) = networks.network(units, symbols, outputs, seed)
    return model, tuple(paper), readout_bias


@pytest.mark.parametrize(("units", "symbols", "outputs"), [(5, 3, 4), (7, 11, 2), (2, 6, 5)])
@pytest.mark.parametrize("seed", [0, 1])
def test_contributions_are_those_of_equation_6(units, symbols, outputs, seed):
    model, paper, readout_bias = network(units, symbols, outputs, seed)
    text = np.random.default_rng(seed).integers(0, symbols, 9)
    split = analysis.contributions(model, text)
    np.testing.assert_allclose(split.values, oracle.contributions(*paper, text), **CLOSE)
    np.testing.assert_allclose(split.bias + split.values.sum(axis=0), split.logits, **CLOSE)
    assert split.residual < 1e-12


def test_a_layer_by_itself_splits_its_state():
    model, _, readout_bias = network(5, 3, 4, seed=4)
    isan, head = model.layers
    matrix, text = head.get_weights()[0], [0, 2, 1]
    whole, states = analysis.contributions(model, text), analysis.contributions(isan, text)
    np.testing.assert_allclose(states.values @ matrix, whole.values, atol=1e-12)
    np.testing.assert_allclose(states.logits[-1], analysis.affine_map(isan, text).apply(isan.get_weights()[2]))
    recent, of_state = (list(analysis.recent_contributions(each, text, window=2)) for each in (model, isan))
    for one, state in zip(recent, of_state, strict=True):
        np.testing.assert_allclose(one.values, state.values @ matrix, atol=1e-12)
        np.testing.assert_allclose(one.logits, state.logits @ matrix + readout_bias, atol=1e-12)


def test_an_empty_text_has_no_contributions_and_one_word():
    split = analysis.contributions(network(5, 3, 4, seed=5)[0], [])
    assert split.values.shape == (1, 0, 4)
    assert (split.residual, split.alphabet) == (0, None)
    assert str(split) == "Contributions of an empty text"
    assert split._repr_html_() == "<div><p>Contributions of an empty text</p></div>"
    words = split.by_word()
    assert (words.starts.tolist(), words.names, words.values.shape) == ([0], ("h_0",), (1, 0, 4))
    assert list(analysis.recent_contributions(network(5, 3, 4, seed=5)[0], [], window=2)) == []


def test_a_model_that_reads_backwards_is_refused_and_its_parts_are_not():
    isan, head = layers.ISAN(4, 3, return_sequences=True, go_backwards=True), keras.layers.Dense(2)
    model = keras.Sequential([keras.Input((None,), dtype="int32"), isan, head])
    text = np.array([2, 0, 1, 1])
    with pytest.raises(ValueError, match="Received: a model whose ISAN has go_backwards=True. Pass the ISAN's cell"):
        analysis.contributions(model, text)
    found = analysis.contributions(isan.cell, text[::-1], readout=head)
    np.testing.assert_allclose(found.logits, model(text[None])[0], atol=1e-6)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_map_of_a_word_is_reading_it(seed):
    model, (kernel, bias, _, _), _ = network(6, 4, 3, seed)
    rng = np.random.default_rng(seed)
    text, state = rng.integers(0, 4, 10), rng.normal(size=6)
    read = oracle.states(kernel, bias, state, text[None])[0, -1]
    whole = analysis.affine_map(model, text)
    np.testing.assert_allclose(whole.apply(state), read, **CLOSE)
    two_words = analysis.affine_map(model, text[:3]).then(analysis.affine_map(model, text[3:]))
    np.testing.assert_allclose(two_words.apply(state), read, **CLOSE)
    np.testing.assert_array_equal(analysis.affine_map(model, []).apply(state), state)


@pytest.mark.core
@pytest.mark.parametrize(
    ("targets", "steps"),
    [(None, range(1, 10)), ([7, 1, 4], [7, 1, 4]), ((-1, -9), [9, 1]), (4, [4]), (np.array([-3]), [7])],
)
def test_targets_are_steps_from_either_end_in_the_order_of_the_argument(targets, steps):
    model, paper, readout_bias = network(5, 4, 6, seed=7)
    split = analysis.contributions(model, TEXT, targets=targets)
    assert split.targets.tolist() == list(steps)
    expected = oracle.contributions(*paper, TEXT)[:, split.targets - 1]
    np.testing.assert_allclose(split.values, expected, **CLOSE)
    np.testing.assert_allclose(split.norms(), [reading.lengths(of_source) for of_source in expected], **CLOSE)
    np.testing.assert_allclose(split.logits, expected.sum(axis=0) + readout_bias, **CLOSE)
    assert split.residual < 1e-12


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_without_is_the_network_whose_biases_at_those_places_are_zero(seed):
    model, (kernel, bias, start, readout), readout_bias = network(5, 4, 6, seed)
    split = analysis.contributions(model, TEXT)
    # Symbol K + x moves the state as x does and adds nothing to it.
    silent = layers.ISAN(5, 8, return_sequences=True, dtype="float64")
    head = keras.layers.Dense(6, dtype="float64")
    rerun = keras.Sequential([keras.Input((None,), dtype="int32"), silent, head])
    for sources, initial_state in (([[2], [1, 5, 9], []], start), ([[0], [0, 3, 4]], 0 * start)):
        texts = np.array([TEXT + 4 * np.isin(range(1, 10), taken_out) for taken_out in sources])
        silent.set_weights([np.tile(kernel.transpose(0, 2, 1), (2, 1, 1)), np.vstack([bias, 0 * bias]), initial_state])
        head.set_weights([readout.T, readout_bias])
        assert_close(rerun(texts), [split.without(taken_out) for taken_out in sources], "float64")
    np.testing.assert_array_equal(split.without((4, 2, 4)), split.without({2, 4}))


@pytest.mark.parametrize(
    ("text", "starts", "names"),
    [
        (" ab b", [0, 1, 4], ("h_0", "␣ab", "␣b")),
        ("ba  ab ", [0, 1, 3, 4, 7], ("h_0", "ba", "␣", "␣ab", "␣")),
        ("  a", [0, 1, 2], ("h_0", "␣", "␣a")),
        ("abba", [0, 1], ("h_0", "abba")),
        ("a b", [0, 1, 2], ("h_0", "a", "␣b")),
        (" ", [0, 1], ("h_0", "␣")),
    ],
)
@pytest.mark.parametrize("separator", [0, 2])
def test_a_word_is_the_sum_of_its_symbols(text, starts, names, separator):
    alphabet = " ab" if separator == 0 else "ab "
    model, paper, _ = network(5, 3, 4, seed=8)
    symbols = [alphabet.index(letter) for letter in text]
    split = analysis.contributions(model, symbols, alphabet=alphabet)
    words = split.by_word(separator)
    assert words.starts.tolist() == starts
    assert words.names == names
    expected = reading.by_word(oracle.contributions(*paper, symbols), symbols, separator)
    np.testing.assert_allclose(words.values, expected, **CLOSE)
    np.testing.assert_allclose(words.norms(), [reading.lengths(word) for word in expected], **CLOSE)
    np.testing.assert_allclose(split.bias + words.values.sum(axis=0), split.logits, **CLOSE)


def test_the_first_of_equal_logits_wins_and_a_single_output_is_both_winner_and_runner_up():
    isan = network(5, 4, 6, seed=0)[0].layers[0]
    for offset, winner in (([1.0, 2.0, 2.0], (1, 2)), ([1.0, 2.0], (1, 0)), ([0.0], (0, 0))):
        readout = (np.full((5, len(offset)), float(len(offset) == 1)), np.array(offset))
        split = analysis.contributions(isan, TEXT, readout=readout)
        assert split.winner() == winner
    np.testing.assert_array_equal(split.logit_difference(), split.values[:, -1, 0])


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_terms_of_all_sources_add_up_to_the_lead_of_a_logit(seed):
    model, paper, readout_bias = network(5, 4, 6, seed)
    split, kappa = analysis.contributions(model, TEXT), oracle.contributions(*paper, TEXT)
    for target, step in ((-1, 8), (2, 2)):
        first, second = split.winner(target)
        assert [first, second] == sorted(range(6), key=lambda output: -split.logits[step, output])[:2]
        for options, (i, j) in (
            ({}, (first, second)),
            ({"towards": 4, "against": 1}, (4, 1)),
            ({"towards": 0, "against": 0}, (0, 0)),
            ({"towards": 5}, (5, second)),
            ({"against": 0}, (first, 0)),
        ):
            pull = split.logit_difference(target, **options)
            np.testing.assert_allclose(pull, kappa[:, step, i] - kappa[:, step, j], **CLOSE)
            lead = split.logits[step, i] - split.logits[step, j] - (readout_bias[i] - readout_bias[j])
            np.testing.assert_allclose(pull.sum(), lead, atol=1e-12)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_top_sources_have_the_largest_terms_of_either_sign(seed):
    model, paper, _ = network(5, 4, 6, seed)
    split, kappa = analysis.contributions(model, TEXT), oracle.contributions(*paper, TEXT)
    for target, step, output in ((-1, 8, None), (4, 4, None), (6, 6, 3), (-1, 8, 0)):
        column = kappa[:, step, split.winner(target)[0] if output is None else output]
        expected = sorted(enumerate(column), key=lambda pair: -abs(pair[1]))
        for count in (1, 4):
            found = split.top(count, target=target, output=output)
            assert [source for source, _ in found] == [source for source, _ in expected[:count]]
            np.testing.assert_allclose([term for _, term in found], [term for _, term in expected[:count]], rtol=1e-12)
    assert (len(split.top()), len(split.top(100))) == (5, 10)
    assert sorted(source for source, _ in split.top(100, target=4)) == [0, 1, 2, 3, 4, 5]  # none that comes after


@pytest.mark.parametrize(("target", "step"), [(-1, 9), (3, 4)])
@pytest.mark.parametrize(("width", "strength"), [(24, 1), (7, 1), (24, 100)])
def test_a_terminal_shows_a_line_for_each_source(target, step, width, strength):
    model, paper, readout_bias = network(5, 4, 4, seed=9)
    readout_bias = strength * readout_bias
    split = analysis.contributions(model.layers[0], TEXT, readout=(paper[-1].T, readout_bias), alphabet="a bc")
    assert str(split) == split.shown() == split.shown(8, width=24)
    title, heading, *rows = split.shown(target, width).splitlines()
    first, second = split.winner(target)
    p = reading.softmax(split.logits[step - 1])
    winner, runner = ("a␣bc"[output] for output in (first, second))
    read = "c␣abb␣ac␣"[:step]
    assert title.startswith(f"after '{read}': “{winner}”, {percent(p[first])} sure, ")
    assert re.search("sure, (above all because of “|although “.*” moves it the other way most )", title)
    assert title.endswith(f" nats); then “{runner}” {percent(p[second])}")
    assert heading.split() == f"position source nats for '{winner}' over '{runner}'".split()
    kappa = oracle.contributions(*paper, TEXT)[: step + 1, step - 1]
    pulls = [readout_bias[first] - readout_bias[second], *(kappa[:, first] - kappa[:, second])]
    assert [row[:16].split() for row in rows] == [["bias"], ["h_0"], *([str(s), x] for s, x in enumerate(read, 1))]
    assert [row[16:].split()[0] for row in rows] == [f"{pull:+.4f}" for pull in pulls]
    longest = max(1, *map(abs, pulls))
    for row, pull in zip(rows, pulls, strict=True):
        below, above = row.split(f"{pull:+.4f}")[1].split("|")
        bar, empty = (above, below.strip()) if pull > 0 else (below.strip(), above)
        assert bar == ("#" if pull > 0 else "-") * len(bar)
        assert not empty
        assert abs(len(bar) - width // 2 * abs(pull) / longest) <= 0.5 + 1e-9


@pytest.mark.parametrize("window", [1, 3, 40])
@pytest.mark.parametrize("seed", [0, 1])
def test_recent_contributions_are_the_last_ones_and_the_sum_of_the_others(window, seed):
    model, paper, readout_bias = network(5, 4, 6, seed)
    text = np.random.default_rng(seed).integers(0, 4, 11)
    found = list(analysis.recent_contributions(model, text, window=window))
    assert [recent.step for recent in found] == list(range(1, 12))
    for recent, (values, earlier) in zip(
        found, reading.recent(oracle.contributions(*paper, text), window), strict=True
    ):
        assert recent.values.shape == (min(recent.step, window), 6)
        np.testing.assert_allclose(recent.values, values, **CLOSE)
        np.testing.assert_allclose(recent.earlier, earlier, **CLOSE)
        total = readout_bias + recent.values.sum(axis=0) + recent.earlier
        np.testing.assert_allclose(recent.logits, total, **CLOSE)
    np.testing.assert_allclose([recent.logits for recent in found], analysis.contributions(model, text).logits, **CLOSE)


def test_recent_contributions_come_one_by_one_in_memory_that_does_not_grow():
    model = networks.network.__wrapped__(7, 4, 6, seed=1)[0]
    model.set_weights([0.3 * weight for weight in model.get_weights()])
    text = np.random.default_rng(1).integers(0, 4, 1000)
    steps = analysis.recent_contributions(model, text, window=3)
    assert inspect.isgenerator(steps)
    tracemalloc.start()
    try:
        for _ in range(20):
            next(steps)
        before, _ = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        assert sum(1 for _ in steps) == 980
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # The terms of all symbols would be 1000 * 7 * 8 = 56,000 bytes.
    assert peak - before < 20_000


INVISIBLE = "\n \tA\x07"


def split_text(text, **arguments):
    """A text over characters that print nothing, read by a model that carries their alphabet or is given it."""
    alphabet = Alphabet(INVISIBLE)
    rng = np.random.default_rng(6)
    isan, head = layers.ISAN(4, len(alphabet), return_sequences=True), keras.layers.Dense(len(alphabet))
    model = keras.Sequential([keras.Input((None,), dtype="int32"), alphabet.layer(), isan, head])
    model.set_weights([rng.normal(size=w.shape) for w in model.get_weights()])
    return analysis.contributions(model, alphabet.encode(text), **arguments)


@pytest.mark.parametrize("arguments", [{}, {"alphabet": INVISIBLE}, {"alphabet": np.array([*INVISIBLE])}])
def test_white_space_and_control_characters_are_visible_wherever_a_text_is_shown(arguments):
    split = split_text("A\nA \t\x07A", **arguments)
    assert "".join(map(split.name, split.symbols)) == r"A⏎A␣⇥\x07A"
    lines = str(split).splitlines()
    assert len(lines) == 2 + 1 + 1 + 7
    assert [line[10:16].strip() for line in lines[2:]] == ["bias", "h_0", "A", "⏎", "A", "␣", "⇥", r"\x07", "A"]
    _, described = split.tag()
    assert described["symbols"] == ["A", "⏎", "A", "␣", "⇥", r"\x07", "A"]


def test_words_begin_at_any_white_space_of_the_alphabet():
    split = split_text("A\nA A\t\nA")
    assert split.by_word().names == ("h_0", "A", "⏎A", "␣A", "⇥", "⏎A")
    assert split.by_word().starts.tolist() == [0, 1, 2, 4, 6, 7]
    assert split.by_word(0).names == split.by_word([0]).names == ("h_0", "A", "⏎A␣A⇥", "⏎A")
    assert split.by_word([0, 2]).names == ("h_0", "A", "⏎A␣A", "⇥", "⏎A")
    np.testing.assert_allclose(split.by_word().values[2], split.values[2:4].sum(axis=0), rtol=1e-12)
    for alphabet in (None, "xyzAB"):  # neither has white space
        assert dataclasses.replace(split_text("A\nA"), alphabet=alphabet).by_word().starts.tolist() == [0, 1, 2]


@pytest.mark.parametrize("wrong", [1e-3, 2.0, -1e-3, -2.0])
def test_the_residual_reports_wrong_terms(wrong, monkeypatch):
    model, _, _ = network(5, 4, 3, seed=2)
    states = equations.states

    def moved(*arguments):
        for step, state in enumerate(states(*arguments)):
            yield state + wrong * (step == 4)

    monkeypatch.setattr(equations, "states", moved)
    matrix = model.layers[-1].get_weights()[0]
    residual = analysis.contributions(model, TEXT).residual
    assert residual == pytest.approx(abs(wrong) * np.abs(matrix.sum(axis=0)).max(), rel=1e-9)


@pytest.mark.parametrize(("outputs", "names"), [(5, [*"abcd", "␣"]), (2, ["output 1 (index 0)", "output 2 (index 1)"])])
def test_outputs_have_the_names_of_symbols_if_their_numbers_agree(outputs, names):
    model, _, _ = network(4, 5, outputs, seed=1)
    split = analysis.contributions(model, "ab c", alphabet="abcd ")
    winner, runner = (names[i] for i in split.winner())
    first, head, *_ = str(split).splitlines()
    assert quoted(winner) in first.split(", above")[0]
    assert f"; then {quoted(runner)} " in first
    assert head.endswith(f"nats for {winner.split(' (')[0]!r} over {runner.split(' (')[0]!r}")  # the index is said once
    assert split.tag()[1]["outputs"] == names


def test_refuses_invalid_arguments():
    model = network(5, 4, 6, seed=7)[0]
    split = analysis.contributions(model, TEXT)

    def refused(sentence, call, *arguments, **options):
        with pytest.raises(ValueError, match=re.escape(sentence)):
            call(*arguments, **options)

    for wrong in (0, 10, -10, [3, 12], [2, 5, 2], [3, -7], []):
        sentence = f"`targets` must be different steps in [1, 9], or negative from the end. Received: targets={wrong}."
        refused(sentence, analysis.contributions, model, TEXT, targets=wrong)
    for wrong in (2.0, [1.5, 2], "3", [[1, 2]], [True, False]):
        sentence = "`targets` must be one row of integers. Received: "
        refused(sentence, analysis.contributions, model, TEXT, targets=wrong)
    refused(
        "different steps in [1, 0], or negative from the end. Received: targets=1.",
        analysis.contributions,
        model,
        [],
        targets=1,
    )
    for wrong in ([-1], [10], [0, 3, 12], [-2, 4]):
        sentence = f"`sources` must lie in [0, 10). Received: sources from {min(wrong)} to {max(wrong)}. 0 is the"
        refused(sentence, split.without, wrong)
    sentence = "A text must consist of the symbols of its alphabet, ('x', 'y', 'z', 'w'). Received: 'a'"
    refused(sentence, analysis.contributions, model, "xa", alphabet="xyzw")
    sentence = "`window` must be a positive integer. Received: window=0."
    refused(sentence, analysis.recent_contributions, model, TEXT, window=0)
    # Before the first step, though it is a generator.
    sentence = "`symbols` must lie in [0, 4). Received: 0 to 4"
    refused(sentence, analysis.recent_contributions, model, [0, 4], window=2)
