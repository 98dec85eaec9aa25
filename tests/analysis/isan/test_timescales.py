"""Time scales, against loops over all contributions."""

import functools
import re
import sys

import numpy as np
import pytest

from keras_interp_rnn import analysis
from keras_interp_rnn.analysis.isan.timescales import Timescales, contributions_by_age
from tests.analysis.isan import networks
from tests.analysis.isan.networks import CLOSE, isan_of
from tests.oracles import isan as oracle
from tests.oracles import isan_reading as reading

pytestmark = pytest.mark.core(1)  # cases are seeds, sizes or another layer in the same way


SYMBOLS, UNITS = 4, 6


@functools.cache
def network(seed, outputs=SYMBOLS):
    """A model that forgets, the same as the paper writes it (columns), and its readout's bias."""
    scales = [0.9 / np.sqrt(UNITS), 1.0, 1.5, 0.7, 1.0]
    model = networks.network.__wrapped__(UNITS, SYMBOLS, outputs, seed)[0]
    model.set_weights([w / 0.6 * scale for w, scale in zip(model.get_weights(), scales, strict=True)])
    kernel, bias, start, readout, readout_bias = model.get_weights()
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


MIXED = text_of(3, 24)


@pytest.mark.core
@pytest.mark.parametrize(
    ("text", "oldest", "separator"),
    [
        *((text_of(1, 21 - len(begun), begun), oldest, 0) for oldest in (0, 1, 5, 19) for begun in ((2, 3, 1), (0, 0))),
        *((MIXED, 8, separator) for separator in (2, 3, [2], (0, 3), {1, 2})),
        (text_of(1, 15) % 3 + 1, 4, 0),  # no separator, and no position
        (np.array([1, 0, 3, 2, 2, 1, 3, 3, 1, 2, 1]), 3, 0),  # positions end where the separator is too old
        (np.array([0, 1, 0, 2, 0, 3, 0, 2, 1]), 5, 0),  # medians of four
    ],
)
def test_timescales_are_those_of_loops_over_all_contributions(text, oldest, separator):
    model, paper, readout_bias = network(len(text))
    found = analysis.timescales(model, text, max_age=oldest, separator=separator)
    kappa, following = oracle.contributions(*paper, text[:-1]), text[1:]
    np.testing.assert_array_equal(found.ages, np.arange(oldest + 1))
    np.testing.assert_allclose(found.decay, reading.mean_norm_by_age(kappa, oldest), **CLOSE)
    history, whole = reading.bits_with_history(kappa, readout_bias, following, oldest)
    np.testing.assert_allclose(found.history, history, **CLOSE)
    assert found.whole == pytest.approx(whole, rel=1e-11)
    # For the oracle several separators are one symbol, -1.
    several = [separator] if isinstance(separator, int) else separator
    marked = [-1 if symbol in several else symbol for symbol in text[:-1].tolist()]
    table = reading.bits_by_position(kappa, readout_bias, marked, following, -1, oldest)
    assert found.positions.tolist() == list(table)
    counts, *medians = [list(column) for column in zip(*table.values(), strict=True)] or [[], [], [], []]
    assert found.counts.dtype == np.int64
    assert found.counts.tolist() == counts
    for of, expected in zip((found.median_all, found.median_only, found.median_without), medians, strict=True):
        np.testing.assert_allclose(of, expected, **CLOSE)
    if separator == 0:
        default = analysis.timescales(model, text, max_age=oldest)
        np.testing.assert_array_equal(default.median_without, found.median_without)


@pytest.mark.parametrize("separators", [[0], [2], (0, 3)])
@pytest.mark.parametrize("seed", [0, 1])
def test_all_separators_contribute_together_however_old(separators, seed):
    model, _, readout_bias = network(seed)
    text = text_of(seed, 40)
    found = analysis.timescales(model, text, max_age=3, separator=separators)
    values = analysis.contributions(model, text[:-1]).values
    of_separators = np.r_[False, np.isin(text[:-1], separators)]
    logits = values[of_separators].sum(axis=0) + readout_bias
    bits = [np.log2(np.exp(row - row[x]).sum()) for row, x in zip(logits, text[1:], strict=True)]
    marked = np.flatnonzero(np.isin(text[:-1], separators))
    since = np.array([t - marked[marked <= t].max(initial=-99) for t in range(len(text) - 1)])
    expected = [np.median(np.array(bits)[since + 1 == position]) for position in found.positions]
    np.testing.assert_allclose(found.median_separators, expected, **CLOSE)
    assert np.abs(found.median_separators - found.median_only).max() > 1e-3


def test_large_logits_do_not_overflow():
    model, _, _ = network(0)
    isan = model.layers[0]
    readout = np.random.default_rng(0).normal(size=(UNITS, SYMBOLS)) * 1e4
    found = analysis.timescales(isan, text_of(0, 20), max_age=5, readout=(readout, np.zeros(SYMBOLS)))
    for bits in (found.history, [found.whole], found.median_all, found.median_only, found.median_without):
        assert np.isfinite(bits).all()


AGES = np.arange(151.0)


def measured(decay):
    """`Timescales` with this decay and nothing else."""
    decay, empty = np.asarray(decay, float), np.zeros(0)
    return Timescales(np.arange(len(decay)), decay, empty, 0.0, empty, empty, empty, empty, empty)


@pytest.mark.parametrize("scales", [(5, 50), (2, 30), (8, 80), (1, 100), (3, 12)])
@pytest.mark.parametrize("amplitudes", [(5.0, 0.5), (1.0, 1.0), (0.3, 2.0), (50.0, 0.01)])
def test_the_fit_finds_the_exponentials_of_an_exact_sum(scales, amplitudes):
    fit = measured(sum(a * np.exp(-AGES / scale) for a, scale in zip(amplitudes, scales, strict=True))).fit()
    np.testing.assert_allclose(fit.scales, scales, rtol=0.01)
    np.testing.assert_allclose(fit.amplitudes, amplitudes, rtol=0.01)
    assert fit.error < 1e-3 < fit.error_of_one


@pytest.mark.parametrize("scales", [(5, 50), (2, 30), (8, 80)])
@pytest.mark.parametrize("seed", [0, 1])
def test_the_fit_tolerates_noise_and_reports_its_error(scales, seed):
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
def test_a_fit_of_any_data_is_finite(decay):
    fit = measured(decay).fit()
    assert np.isfinite([*fit.amplitudes, *fit.scales, fit.error, fit.error_of_one]).all()
    assert fit.scales[0] <= fit.scales[1]
    assert fit.error <= fit.error_of_one + 1e-6


def test_a_long_reading_shows_its_progress_in_a_terminal_and_leaves_nothing(monkeypatch, capsys):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setattr("keras_interp_rnn._io.monotonic", lambda: 0.0)  # too early for the time left
    analysis.timescales(network(0)[0], text_of(0, 40), max_age=7)
    printed = capsys.readouterr().out
    assert [line for line in printed.split("\r\x1b[K") if line] == [f"timescales: age {age} of 7" for age in range(8)]
    assert printed.endswith("\r\x1b[K")


def test_the_decay_of_a_network_without_biases_is_not_fitted():
    silent = isan_of(np.random.default_rng(0).normal(size=(4, 5, 5)) * 0.3, np.zeros((4, 5)), np.ones(5))
    readout = (np.random.default_rng(0).normal(size=(5, 4)), np.zeros(4))
    found = analysis.timescales(silent, np.arange(40) % 4, max_age=20, readout=readout)
    with pytest.raises(ValueError, match="Check that the network has biases"):
        found.fit()


def test_refuses_invalid_arguments():
    model = network(0)[0]
    for length, oldest in ((5, 4), (5, 9), (5, -1), (1, 0), (0, 0)):
        sentence = (
            f"an integer in [0, {length - 1}). Received: max_age={oldest}. A text must be longer than the largest"
        )
        with pytest.raises(ValueError, match=re.escape(sentence)):
            analysis.timescales(model, text_of(0, length), max_age=oldest)
    for separator in (99, -1, "a", None, [0, 99]):
        with pytest.raises(ValueError, match="`separator` must (lie in|be integers).*Received: .*Pass ids"):
            analysis.timescales(model, [0, 2, 1, 0, 1, 1], max_age=2, separator=separator)
    for max_age in (-1, 1.5, "1", True):
        with pytest.raises(ValueError, match="`max_age` must be a non-negative integer. Received: max_age="):
            list(contributions_by_age(model, [0, 2, 1], max_age=max_age))
    for outputs in (3, 5):
        sentence = f"The outputs must be the logits of the next symbol, 4 of them. Received: a head of {outputs}."
        with pytest.raises(ValueError, match=re.escape(sentence)):
            analysis.timescales(network(0, outputs)[0], text_of(0, 10), max_age=3)
    assert len(analysis.timescales(model, text_of(3, 170)).ages) == 151
