"""How far back a network looks, against loops over all of its contributions."""

import functools
import re
import sys

import keras
import numpy as np
import pytest

from keras_interp_rnn import analysis, layers
from keras_interp_rnn.analysis.isan.timescales import Timescales, TwoExponentials, contributions_by_age
from tests.oracles import isan as oracle
from tests.oracles import isan_reading as reading

SYMBOLS, UNITS = 4, 6
CLOSE = {"rtol": 1e-11, "atol": 1e-12}


@functools.cache
def network(seed, units=UNITS, outputs=SYMBOLS):
    """A model with random asymmetric weights, the same as the paper writes them (columns), and its readout's bias."""
    rng = np.random.default_rng(seed)
    model = keras.Sequential(
        [
            keras.Input((None,), dtype="int32"),
            layers.ISAN(units, SYMBOLS, return_sequences=True, dtype="float64"),
            keras.layers.Dense(outputs, dtype="float64"),
        ]
    )
    scales = [0.9 / np.sqrt(units), 1.0, 1.5, 0.7, 1.0]
    weights = [rng.normal(size=w.shape) * scale for w, scale in zip(model.get_weights(), scales, strict=True)]
    model.set_weights(weights)
    kernel, bias, start, readout, readout_bias = weights
    return model, (kernel.transpose(0, 2, 1), bias, start, readout.T), readout_bias


def text_of(seed, length, beginning=()):
    return np.concatenate([beginning, np.random.default_rng(seed).integers(0, SYMBOLS, length)]).astype(int)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_contributions_age_by_age_are_the_diagonals_of_all_contributions(seed):
    model, paper, _ = network(seed)
    text = text_of(seed, 11)
    kappa = oracle.contributions(*paper, text)
    found = list(contributions_by_age(model, text, max_age=7))
    assert [age for age, _ in found] == list(range(8))
    for age, terms in found:
        expected = [kappa[t - age, t - 1] for t in range(age + 1, 12)]
        assert terms.shape == (11 - age, SYMBOLS)
        np.testing.assert_allclose(terms, expected, **CLOSE)


def test_no_contribution_is_older_than_the_text():
    model, paper, _ = network(0)
    text = [2, 0, 0, 3, 1]
    found = list(contributions_by_age(model, text, max_age=100))
    assert [terms.shape for _, terms in found] == [(5, 4), (4, 4), (3, 4), (2, 4), (1, 4)]
    np.testing.assert_allclose(found[-1][1][0], oracle.contributions(*paper, text)[1, 4], **CLOSE)
    assert [age for age, _ in contributions_by_age(model, text, max_age=0)] == [0]
    assert list(contributions_by_age(model, [], max_age=3)) == []


def test_ages_of_a_layer_are_those_of_its_state_or_of_a_given_readout():
    model, _, _ = network(1)
    isan, head = model.layers
    matrix, offset = head.get_weights()
    text = text_of(1, 9)
    by_age = functools.partial(contributions_by_age, symbols=text, max_age=6)
    ages = [by_age(layer, readout=readout) for layer, readout in ((model, None), (isan, head), (isan, None))]
    arrays = by_age(isan.cell, readout=(matrix[:, :3], offset[:3]))
    for (_, whole), (_, same), (_, state), (_, fewer) in zip(*ages, arrays, strict=True):
        np.testing.assert_array_equal(same, whole)
        np.testing.assert_allclose(state @ matrix, whole, **CLOSE)
        np.testing.assert_allclose(fewer, whole[:, :3], **CLOSE)


def test_ages_of_what_is_no_text_are_refused():
    with pytest.raises(ValueError, match=r"symbols must lie in \[0, 4\). Received: 1 to 4"):
        next(iter(contributions_by_age(network(0)[0], [1, 4], max_age=3)))


def assert_as_the_oracle(found, paper, readout_bias, text, oldest, separator):
    """Every field against the loops."""
    kappa = oracle.contributions(*paper, text[:-1])
    wanted = text[1:]
    np.testing.assert_array_equal(found.ages, np.arange(oldest + 1))
    np.testing.assert_allclose(found.decay, reading.mean_norm_by_age(kappa, oldest), **CLOSE)
    history, whole = reading.bits_with_history(kappa, readout_bias, wanted, oldest)
    np.testing.assert_allclose(found.history, history, **CLOSE)
    assert found.whole == pytest.approx(whole, rel=1e-11)
    table = reading.bits_by_position(kappa, readout_bias, text[:-1], wanted, separator, oldest)
    assert found.positions.tolist() == list(table)
    columns = [list(column) for column in zip(*table.values(), strict=True)] or [[], [], [], []]
    assert found.counts.tolist() == columns[0]
    for medians, expected in zip((found.median_all, found.median_only, found.median_without), columns[1:], strict=True):
        np.testing.assert_allclose(medians, expected, **CLOSE)


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("oldest", [0, 1, 5, 19])
@pytest.mark.parametrize("beginning", [(0,), (2, 3, 1), (0, 0)])
def test_timescales_are_those_of_loops_over_all_contributions(seed, oldest, beginning):
    model, paper, readout_bias = network(seed)
    text = text_of(seed, 21 - len(beginning), beginning)
    found = analysis.timescales(model, text, max_age=oldest)
    assert_as_the_oracle(found, paper, readout_bias, text, oldest, separator=0)


@pytest.mark.parametrize("separator", [0, 2, 3])
def test_any_symbol_may_stand_between_words(separator):
    model, paper, readout_bias = network(3)
    text = text_of(3, 24)
    found = analysis.timescales(model.layers[0], text, max_age=8, separator=separator, readout=model.layers[1])
    assert_as_the_oracle(found, paper, readout_bias, text, 8, separator)
    same = analysis.timescales(
        model.layers[0], text, max_age=8, separator=separator, readout=tuple(model.layers[1].get_weights())
    )
    np.testing.assert_array_equal(same.median_only, found.median_only)


@pytest.mark.parametrize("separators", [[2], (0, 3), {1, 2}])
def test_several_symbols_may_stand_between_words(separators):
    model, paper, readout_bias = network(3)
    text = text_of(3, 24)
    found = analysis.timescales(model, text, max_age=8, separator=separators)
    # To the oracle they are one symbol, where it asks which symbol stands between words.
    kappa = oracle.contributions(*paper, text[:-1])
    marked = [-1 if symbol in separators else symbol for symbol in text[:-1].tolist()]
    table = reading.bits_by_position(kappa, readout_bias, marked, text[1:], -1, 8)
    assert found.positions.tolist() == list(table)
    for medians, column in ((found.median_all, 1), (found.median_only, 2), (found.median_without, 3)):
        np.testing.assert_allclose(medians, [row[column] for row in table.values()], **CLOSE)


@pytest.mark.parametrize("separators", [[0], [2], (0, 3)])
@pytest.mark.parametrize("seed", [0, 1])
def test_all_separators_contribute_together_however_old(separators, seed):
    model, _, readout_bias = network(seed)
    text = text_of(seed, 40)
    found = analysis.timescales(model, text, max_age=3, separator=separators)
    values = analysis.contributions(model, text[:-1]).values
    kept = np.r_[False, np.isin(text[:-1], separators)]
    logits = values[kept].sum(axis=0) + readout_bias
    bits = [np.log2(np.exp(row - row[x]).sum()) for row, x in zip(logits, text[1:], strict=True)]
    marked = np.flatnonzero(np.isin(text[:-1], separators))
    since = np.array([t - marked[marked <= t].max(initial=-99) for t in range(len(text) - 1)])
    expected = [np.median(np.array(bits)[since + 1 == position]) for position in found.positions]
    np.testing.assert_allclose(found.median_separators, expected, **CLOSE)
    assert np.abs(found.median_separators - found.median_only).max() > 1e-3


def test_the_space_is_the_separator_by_default():
    model = network(3)[0]
    text = text_of(3, 24)
    default, given = (analysis.timescales(model, text, max_age=8, **chosen) for chosen in ({}, {"separator": 0}))
    np.testing.assert_array_equal(default.median_without, given.median_without)
    assert len(analysis.timescales(model, text_of(3, 170)).ages) == 151


def test_a_text_without_separators_has_no_positions():
    model, paper, readout_bias = network(1)
    text = text_of(1, 15) % 3 + 1
    found = analysis.timescales(model, text, max_age=4)
    assert_as_the_oracle(found, paper, readout_bias, text, 4, separator=0)
    assert found.positions.size == found.counts.size == found.median_all.size == found.median_only.size == 0


def test_positions_end_where_the_separator_is_too_old():
    model, paper, readout_bias = network(2)
    text = np.array([1, 0, 3, 2, 2, 1, 3, 3, 1, 2, 1])
    found = analysis.timescales(model, text, max_age=3)
    assert found.positions.tolist() == [1, 2, 3, 4]
    assert found.counts.tolist() == [1, 1, 1, 1]
    assert_as_the_oracle(found, paper, readout_bias, text, 3, separator=0)


def test_of_an_even_number_of_targets_the_median_lies_between_two():
    model, paper, readout_bias = network(4)
    text = np.array([0, 1, 0, 2, 0, 3, 0, 2, 1])
    found = analysis.timescales(model, text, max_age=5)
    assert found.counts.tolist() == [4, 4]
    assert_as_the_oracle(found, paper, readout_bias, text, 5, separator=0)


@pytest.mark.parametrize("seed", [0, 1])
def test_the_longest_history_is_all_that_was_read_when_the_network_starts_from_zero(seed):
    model, _, readout_bias = network(seed)
    kernel, bias, start, readout, _ = model.get_weights()
    isan = layers.ISAN(UNITS, SYMBOLS, dtype="float64")
    isan.build((None, None))
    text = text_of(seed, 14)
    for initial_state, equal in ((0 * start, True), (start, False)):
        isan.set_weights([kernel, bias, initial_state])
        found = analysis.timescales(isan, text, max_age=12, readout=(readout, readout_bias))
        assert len(found.history) == 14
        assert np.isclose(found.history[-1], found.whole, rtol=1e-11) == equal


def test_without_history_only_the_bias_of_the_readout_predicts():
    model, _, readout_bias = network(0)
    text = text_of(0, 30)
    found = analysis.timescales(model, text, max_age=9)
    expected = np.mean([-np.log2(reading.softmax(readout_bias)[symbol]) for symbol in text[10:]])
    assert found.history[0] == pytest.approx(expected, rel=1e-12)


def test_large_logits_do_not_overflow():
    model, _, _ = network(0)
    isan = model.layers[0]
    readout = np.random.default_rng(0).normal(size=(UNITS, SYMBOLS)) * 1e4
    found = analysis.timescales(isan, text_of(0, 20), max_age=5, readout=(readout, np.zeros(SYMBOLS)))
    for bits in (found.history, [found.whole], found.median_all, found.median_only, found.median_without):
        assert np.isfinite(bits).all()


@pytest.mark.parametrize(("length", "oldest"), [(5, 4), (5, 9), (5, -1), (1, 0), (0, 0)])
def test_a_text_that_is_too_short_is_refused(length, oldest):
    sentence = f"longer than the largest age by two symbols. Received: max_age={oldest}, {length} symbols."
    with pytest.raises(ValueError, match=re.escape(sentence)):
        analysis.timescales(network(0)[0], text_of(0, length), max_age=oldest)


@pytest.mark.parametrize("outputs", [3, 5])
def test_outputs_that_are_not_the_next_symbols_are_refused(outputs):
    sentence = f"The outputs are the logits of the next symbol, 4 of them. Received: a head of {outputs}."
    with pytest.raises(ValueError, match=re.escape(sentence)):
        analysis.timescales(network(0, outputs=outputs)[0], text_of(0, 10), max_age=3)


def test_timescales_of_symbols_outside_the_vocabulary_are_refused():
    with pytest.raises(ValueError, match=r"symbols must lie in \[0, 4\). Received: 1 to 7"):
        analysis.timescales(network(0)[0], [1, 7, 2, 3], max_age=1)


AGES = np.arange(151.0)


def measured(decay):
    """`Timescales` with this decay and nothing else."""
    decay, empty = np.asarray(decay, float), np.zeros(0)
    return Timescales(np.arange(len(decay)), decay, empty, 0.0, empty, empty, empty, empty, empty)


def test_two_exponentials_are_a_function_of_the_age():
    fit = TwoExponentials((3.0, 0.5), (2.0, 40.0), 0.0, 0.0)
    expected = [3 * np.exp(-age / 2) + 0.5 * np.exp(-age / 40) for age in (0, 1, 7.5)]
    np.testing.assert_allclose(fit([0, 1, 7.5]), expected, rtol=1e-14)
    assert fit(7.5) == pytest.approx(expected[-1], rel=1e-14)
    assert fit(np.zeros((2, 3), int)).shape == (2, 3)


@pytest.mark.parametrize("scales", [(5, 50), (2, 30), (8, 80), (1, 100), (3, 12)])
@pytest.mark.parametrize("amplitudes", [(5.0, 0.5), (1.0, 1.0), (0.3, 2.0), (50.0, 0.01)])
def test_the_fit_finds_the_exponentials_of_an_exact_sum(scales, amplitudes):
    fit = measured(sum(a * np.exp(-AGES / scale) for a, scale in zip(amplitudes, scales, strict=True))).fit()
    np.testing.assert_allclose(fit.scales, scales, rtol=0.01)
    np.testing.assert_allclose(fit.amplitudes, amplitudes, rtol=0.01)
    assert fit.error < 1e-3 < fit.error_of_one


@pytest.mark.parametrize("scales", [(5, 50), (2, 30), (8, 80)])
@pytest.mark.parametrize("seed", [0, 1])
def test_the_fit_stands_some_noise_and_says_how_far_off_it_is(scales, seed):
    noise = np.exp(0.01 * np.random.default_rng(seed).normal(size=151))
    data = (4 * np.exp(-AGES / scales[0]) + 0.6 * np.exp(-AGES / scales[1])) * noise
    fit = measured(data).fit()
    np.testing.assert_allclose(fit.scales, scales, rtol=0.03)
    assert fit.error == pytest.approx(np.sqrt(np.mean(np.log(fit(AGES) / data) ** 2)), rel=1e-6)
    # The best single exponential is a straight line through the logarithm.
    line = np.polyval(np.polyfit(AGES, np.log(data), 1), AGES)
    assert fit.error_of_one == pytest.approx(np.sqrt(np.mean((line - np.log(data)) ** 2)), rel=1e-4)


@pytest.mark.parametrize("scale", [0.5, 7, 40, 1000])
def test_a_single_exponential_is_fitted_too(scale):
    data = 3 * np.exp(-AGES / scale)
    fit = measured(data).fit()
    np.testing.assert_allclose(fit(AGES), data, rtol=1e-6)
    assert fit.scales[0] <= fit.scales[1]
    assert fit.error < 1e-6
    assert fit.error_of_one < 1e-6


@pytest.mark.parametrize(
    "decay", [[2.0], [2.0, 1.0], [2.0, 1.0, 0.7], np.ones(20), np.exp(AGES / 20), [1.0, *[0.0] * 9]]
)
def test_a_fit_of_other_data_goes_through(decay):
    fit = measured(decay).fit()
    assert np.isfinite([*fit.amplitudes, *fit.scales, fit.error, fit.error_of_one]).all()
    assert fit.scales[0] <= fit.scales[1]
    assert fit.error <= fit.error_of_one + 1e-6


def test_the_decay_of_a_network_with_two_scales_is_read_and_fitted():
    # Two units that forget at their own rates, each read by an output of its own.
    isan = layers.ISAN(2, 2, dtype="float64")
    isan.build((None, None))
    rates = np.exp(-1 / np.array([3.0, 25.0]))
    isan.set_weights([np.tile(np.diag(rates), (2, 1, 1)), np.tile([0.0, 2.0], (2, 1)), np.array([1.0, -1.0])])
    text = text_of(0, 160) % 2
    slow = analysis.timescales(isan, text, max_age=80, readout=(np.eye(2), np.zeros(2)))
    np.testing.assert_allclose(slow.decay, 2 * np.exp(-slow.ages / 25), rtol=1e-12)
    assert slow.fit().scales[1] == pytest.approx(25, rel=1e-3)
    isan.set_weights([np.tile(np.diag(rates), (2, 1, 1)), np.array([[0.0, 2.0], [9.0, 0.0]]), np.zeros(2)])
    both = analysis.timescales(isan, np.array([0, 1] * 100), max_age=80, readout=(np.eye(2), np.zeros(2))).fit()
    np.testing.assert_allclose(both.scales, [3, 25], rtol=0.01)
    np.testing.assert_allclose(both.amplitudes, [4.5, 1], rtol=0.02)


def test_a_long_reading_shows_its_progress_in_a_terminal_and_leaves_nothing(monkeypatch, capsys):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setattr("keras_interp_rnn._io.monotonic", lambda: 0.0)  # too early for the time left
    analysis.timescales(network(0)[0], text_of(0, 40), max_age=7)
    printed = capsys.readouterr().out
    assert [line for line in printed.split("\r\x1b[K") if line] == [f"timescales: age {age} of 7" for age in range(8)]
    assert printed.endswith("\r\x1b[K")


@pytest.mark.parametrize("max_age", [-1, 1.5, "1", True])
def test_an_age_is_an_integer_of_at_least_0(max_age):
    with pytest.raises(ValueError, match="`max_age` must be an integer of at least 0. Received: max_age="):
        list(contributions_by_age(network(0)[0], [0, 2, 1], max_age=max_age))


@pytest.mark.parametrize("separator", [99, -1, "a", None, [0, 99]])
def test_separators_are_symbols(separator):
    with pytest.raises(ValueError, match=rf"Separators are symbols in \[0, {SYMBOLS}\)\. Received: separator="):
        analysis.timescales(network(0)[0], [0, 2, 1, 0, 1, 1], max_age=2, separator=separator)
