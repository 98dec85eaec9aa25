"""Predictions after no symbol and after one, against counts in loops."""

import re

import numpy as np
import pytest

from keras_interp_rnn import analysis
from tests.analysis.isan.networks import CLOSE, network
from tests.oracles import isan_reading as reading

pytestmark = pytest.mark.core(1)  # cases are seeds, sizes or another layer in the same way


@pytest.mark.parametrize(("units", "symbols"), [(3, 5), (7, 4)])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_predictions_after_one_symbol_stand_beside_those_counted(units, symbols, seed):
    model, (_, bias, _, W_ro, b_ro) = network(units, symbols, symbols, seed)
    text = np.random.default_rng(seed).choice(symbols, 60, p=np.arange(1, symbols + 1) / sum(range(symbols + 1)))
    found = analysis.ngram_agreement(model, text)
    unigram, bigram = reading.next_symbols(W_ro, b_ro, bias)
    counted_unigram, counted_bigram = reading.counted(text, symbols)
    np.testing.assert_allclose(found.unigram, unigram, **CLOSE)
    np.testing.assert_allclose(found.bigram, bigram, **CLOSE)
    np.testing.assert_allclose(found.counted_unigram, counted_unigram, **CLOSE)
    np.testing.assert_allclose(found.counted_bigram, counted_bigram, **CLOSE)
    assert found.unigram_correlation == pytest.approx(reading.correlation(unigram, counted_unigram), abs=1e-12)
    for x in range(symbols):
        expected = reading.correlation(bigram[x], counted_bigram[x])
        assert found.bigram_correlations[x] == pytest.approx(expected, abs=1e-12)
        expected = reading.correlation(counted_unigram, counted_bigram[x])
        assert found.unigram_baseline[x] == pytest.approx(expected, abs=1e-12)


def test_what_follows_a_symbol_that_the_text_has_not_is_not_known():
    model = network(3, 5, 5, 0)[0]
    # The text has no 2, and nothing comes after its 4.
    text = [0, 1, 0, 0, 3, 1, 1, 0, 4]
    found = analysis.ngram_agreement(model, text)
    np.testing.assert_allclose(found.counted_bigram, reading.counted(text, 5)[1], **CLOSE)
    for unknown in (found.counted_bigram[:, 0], found.bigram_correlations, found.unigram_baseline):
        np.testing.assert_array_equal(np.isnan(unknown), [False, False, True, False, True])
    assert np.isfinite(found.bigram).all()
    assert np.isfinite(found.unigram_correlation)


def test_predictions_with_large_logits_do_not_overflow():
    model, (_, bias, _, _, _) = network(7, 4, 3, 0)
    readout = (1e4 * np.random.default_rng(0).normal(size=(7, 4)), np.array([0.0, 2000.0, 1.0, 3.0]))
    found = analysis.ngram_agreement(model.layers[0], [0, 1, 2, 3, 1, 1], readout=readout)
    np.testing.assert_allclose(found.unigram, [0, 1, 0, 0], atol=1e-12)
    np.testing.assert_array_equal(found.bigram.argmax(axis=1), (bias @ readout[0] + readout[1]).argmax(axis=1))


@pytest.mark.parametrize("symbols", [1, 4, 5, 7])
def test_the_correlation_with_a_uniform_distribution_is_not_known(symbols):
    isan = network(3, symbols, symbols, 0)[0].layers[0]
    matrix = np.random.default_rng(1).normal(size=(3, symbols))
    uniform, every = np.zeros(symbols), np.arange(float(symbols))
    text = np.random.default_rng(0).integers(0, symbols, 50)
    assert np.isnan(analysis.ngram_agreement(isan, text, readout=(matrix, uniform)).unigram_correlation)
    equally_often = np.tile(np.arange(symbols), 2)
    assert np.isnan(analysis.ngram_agreement(isan, equally_often, readout=(matrix, every)).unigram_correlation)


def test_agreement_of_other_outputs_or_too_short_a_text_is_refused():
    for outputs, length in ((3, 10), (5, 10), (4, 1), (4, 0)):
        sentence = "the next symbol, 4 of them, and a text has two symbols at least. Received: a head of"
        with pytest.raises(ValueError, match=re.escape(f"{sentence} {outputs}, a text of {length}.")):
            analysis.ngram_agreement(network(7, 4, outputs, 0)[0], np.arange(length) % 4)
