import numpy as np
import pytest

from keras_interp_rnn import analysis
from tests.oracles.ngrams import BackoffOracle

pytestmark = pytest.mark.core(1)  # cases are seeds, sizes or another layer in the same way


@pytest.mark.parametrize(("symbols", "length"), [(3, 40), (5, 30), (4, 600), (2, 200)])
@pytest.mark.parametrize("order", [1, 2, 3, 4])
@pytest.mark.parametrize("discount", [0.5, 0.9])
def test_the_tables_are_the_brute_force_model(symbols, length, order, discount):
    rng = np.random.default_rng(symbols * length + order)
    train, test = rng.integers(0, symbols, length).astype(np.uint8), rng.integers(0, symbols, 60).astype(np.uint8)
    model = analysis.BackoffModel(train, order, vocabulary_size=symbols, discount=discount)
    witness = BackoffOracle(train, order, symbols, discount)
    assert model.bits(test) == pytest.approx(witness.bits(test), abs=1e-12)
    history = tuple(test[: order - 1])
    np.testing.assert_allclose(
        model.probabilities[-1][history], [witness.probability(history, c) for c in range(symbols)], atol=1e-12
    )


@pytest.mark.core
@pytest.mark.parametrize(
    ("order", "discount", "symbols", "sentence"),
    [
        (0, 0.5, 27, "`order` must be a positive integer. Received: order=0. Pass 1"),
        (2, 0.0, 27, r"`discount` must be a number in \(0, 1\]. Received: discount=0.0"),
        (40, 0.5, 3, r"vocabulary_size \*\* order below 2 \*\* 63. Received: 3 \*\* 40. Pass a lower order"),
        (7, 0.5, 1000, r"order below 2 \*\* 63. Received: 1000 \*\* 7. Pass a lower order"),
        (10**9, 0.5, 1000, r"order must be below 63.*Received: 1000 \*\* 1000000000. Pass a lower order"),
        (10**9, 0.5, 1, r"order must be below 63.*Received: 1 \*\* 1000000000. Pass a lower order"),
        (2, 0.5, 0, "`vocabulary_size` must be a positive integer. Received: vocabulary_size=0"),
    ],
)
def test_refuses_impossible_orders_discounts_and_sizes(order, discount, symbols, sentence):
    with pytest.raises(ValueError, match=sentence):
        analysis.BackoffModel(np.zeros(5, dtype=np.uint8), order, vocabulary_size=symbols, discount=discount)


def test_a_table_of_too_many_histories_is_refused_where_it_is_asked_for():
    model = analysis.BackoffModel(np.zeros(5, np.uint8), 3, vocabulary_size=1000)
    assert model.bits([0, 0, 0, 1]) > 0
    with pytest.raises(
        ValueError, match=r"must be at most 67108864.*Received: 1000 \*\* 3. Use `bits`, or pass a lower"
    ):
        model.probabilities  # noqa: B018


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize(("order", "discount"), [(1, 0.5), (4, 0.5), (6, 0.7), (6, 1.0)])
def test_many_symbols_and_long_histories_are_counted_as_by_brute_force(seed, order, discount):
    rng = np.random.default_rng(seed)
    # Skewed, so that some histories have seen every symbol that ever comes, others hardly one.
    train, test = (np.minimum(rng.geometric(0.05, n) - 1, 255).astype(np.uint8) for n in (900, 120))
    test[:40] = train[100:140]
    model, witness = (
        analysis.BackoffModel(train, order, vocabulary_size=256, discount=discount),
        BackoffOracle(train, order, 256, discount),
    )
    if discount < 1:
        assert model.bits(test) == pytest.approx(witness.bits(test), rel=1e-12)
    assert np.isinf(model.bits(train)) == (discount == 1), "of a discount of 1 nothing is left to what came once"


@pytest.mark.parametrize(("symbols", "length"), [(2, 0), (2, 1), (2, 3), (3, 2000), (1, 20)])
def test_texts_shorter_than_the_order_and_texts_with_every_history(symbols, length):
    rng = np.random.default_rng(length)
    train, test = rng.integers(0, symbols, length), rng.integers(0, symbols, 40)
    model, witness = analysis.BackoffModel(train, 5, vocabulary_size=symbols), BackoffOracle(train, 5, symbols)
    assert model.bits(test) == pytest.approx(witness.bits(test), rel=1e-12, abs=1e-12)


@pytest.mark.parametrize(
    ("symbols", "sentence"),
    [
        ([0, 7], r"`symbols` must lie in \[0, 5\). Received: 0 to 7. Map the text"),
        ([0, -1], r"`symbols` must lie in \[0, 5\). Received: -1 to 0. Map the text"),
        ([0.0, 1.0], "the integers of one text.*Received: float64"),
        ([[0, 1]], r"Received: int64 of shape \(1, 2\)"),
    ],
)
def test_symbols_outside_the_vocabulary_are_refused(symbols, sentence):
    model = analysis.BackoffModel(np.arange(40) % 5, 2, vocabulary_size=5)
    for refused in (model.bits, lambda text: analysis.BackoffModel(text, 1, vocabulary_size=5)):
        with pytest.raises(ValueError, match=sentence):
            refused(symbols)
    with pytest.raises(ValueError, match="at least one symbol. Received: an empty text"):
        model.bits([])


@pytest.mark.parametrize("kind", [np.uint8, np.int16, np.int32, np.int64])
def test_sizes_of_any_kind_of_integer_make_the_same_model(kind):
    text = np.random.default_rng(0).integers(0, 100, 3000)
    for order in (1, 3, 5):
        plain, other = (analysis.BackoffModel(text, order, vocabulary_size=size) for size in (100, kind(100)))
        assert other.bits(text[:200]) == plain.bits(text[:200])
