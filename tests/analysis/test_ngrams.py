import numpy as np
import pytest

from keras_interp_rnn import analysis
from tests.oracles.ngrams import BackoffOracle


@pytest.mark.parametrize(("symbols", "length"), [(3, 40), (5, 30), (4, 600), (2, 200)])
@pytest.mark.parametrize("order", [1, 2, 3, 4])
@pytest.mark.parametrize("discount", [0.5, 0.9])
def test_the_tables_are_the_brute_force_model(symbols, length, order, discount):
    rng = np.random.default_rng(symbols * length + order)
    train, test = rng.integers(0, symbols, length).astype(np.uint8), rng.integers(0, symbols, 60).astype(np.uint8)
    model = analysis.BackoffModel(train, order, symbols, discount)
    witness = BackoffOracle(train, order, symbols, discount)
    assert model.bits(test) == pytest.approx(witness.bits(test), abs=1e-12)
    history = tuple(test[: order - 1])
    np.testing.assert_allclose(
        model.probabilities[-1][history], [witness.probability(history, c) for c in range(symbols)], atol=1e-12
    )


def test_every_distribution_sums_to_one():
    train = np.random.default_rng(0).integers(0, 4, 50)
    for table in analysis.BackoffModel(train, 3, 4).probabilities:
        np.testing.assert_allclose(table.sum(axis=-1), 1, atol=1e-12)
        assert (table > 0).all()


@pytest.mark.parametrize(
    ("order", "discount", "symbols", "sentence"),
    [
        (0, 0.5, 27, "order must be at least 1. Received: order=0"),
        (2, 0.0, 27, r"discount must lie in \(0, 1\]. Received: discount=0.0"),
        (3, 0.5, 1000, r"must be at most 67108864.*Received: 1000 \*\* 3. Pass a lower order"),
    ],
)
def test_impossible_models_are_refused(order, discount, symbols, sentence):
    with pytest.raises(ValueError, match=sentence):
        analysis.BackoffModel(np.zeros(5, dtype=np.uint8), order, symbols, discount)


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
    model = analysis.NaiveBayes(np.array(train, np.uint8), history, symbols)
    assert model.bits(np.array(test, np.uint8)) == pytest.approx(total / len(test), rel=1e-12)


def test_naive_bayes_needs_a_text_longer_than_its_history():
    with pytest.raises(ValueError, match=r"must lie in \[0, 4\].*Received: history=5"):
        analysis.NaiveBayes(np.zeros(5, np.uint8), 5, 3)
