"""Predictions after no symbol and after one, against counts in loops; naive Bayes against its product."""

import numpy as np
import pytest

from examples.papers._ngrams import NaiveBayes, ngram_agreement
from tests.analysis.isan.networks import CLOSE, network
from tests.oracles import isan_reading as reading


@pytest.mark.parametrize(("units", "symbols"), [(3, 5), (7, 4)])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_predictions_after_one_symbol_stand_beside_those_counted(units, symbols, seed):
    model, (_, bias, _, W_ro, b_ro) = network(units, symbols, symbols, seed)
    text = np.random.default_rng(seed).choice(symbols, 60, p=np.arange(1, symbols + 1) / sum(range(symbols + 1)))
    found = ngram_agreement(model, text)
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
    found = ngram_agreement(model, text)
    np.testing.assert_allclose(found.counted_bigram, reading.counted(text, 5)[1], **CLOSE)
    for unknown in (found.counted_bigram[:, 0], found.bigram_correlations, found.unigram_baseline):
        np.testing.assert_array_equal(np.isnan(unknown), [False, False, True, False, True])
    assert np.isfinite(found.bigram).all()
    assert np.isfinite(found.unigram_correlation)


@pytest.mark.parametrize("seed", range(2))
def test_an_origin_moves_the_predictions_as_that_of_the_contributions(seed):
    model, (kernel, bias, _, W_ro, b_ro) = network(3, 5, 5, seed)
    origin = np.random.default_rng(seed).normal(size=3)
    found = ngram_agreement(model, [0, 1, 2, 3, 4, 4, 1], origin=origin)
    unigram, bigram = reading.next_symbols(W_ro, b_ro + W_ro @ origin, kernel @ origin + bias - origin)
    np.testing.assert_allclose(found.unigram, unigram, **CLOSE)
    np.testing.assert_allclose(found.bigram, bigram, **CLOSE)


def test_the_correlation_with_a_uniform_distribution_is_not_known():
    assert np.isnan(ngram_agreement(network(3, 4, 4, 0)[0], [0, 1, 2, 3]).unigram_correlation)


@pytest.mark.parametrize(("symbols", "history"), [(3, 0), (3, 1), (5, 4), (2, 9)])
def test_naive_bayes_is_the_brute_force_product(symbols, history):
    rng = np.random.default_rng(symbols + history)
    train, test = rng.integers(0, symbols, 70).tolist(), rng.integers(0, symbols, 30).tolist()

    def likelihood(age, symbol, following):
        pairs = [(train[t - age - 1], train[t]) for t in range(age + 1, len(train))]
        both = sum(pair == (symbol, following) for pair in pairs)
        return (both + 1) / (sum(pair[1] == following for pair in pairs) + symbols)

    total = 0.0
    for t, wanted in enumerate(test):
        weights = []
        for c in range(symbols):
            weight = (train.count(c) + 1) / (len(train) + symbols)
            for age in range(min(history, t)):
                weight *= likelihood(age, test[t - age - 1], c)
            weights.append(weight)
        total -= np.log2(weights[wanted] / sum(weights))
    model = NaiveBayes(np.array(train, np.uint8), history, vocabulary_size=symbols)
    assert model.bits(np.array(test, np.uint8)) == pytest.approx(total / len(test), rel=1e-12)
