"""Bits per symbol, against NumPy."""

import keras
import numpy as np
import pytest
from keras import ops

from keras_interp_rnn.losses import BitsPerSymbol
from tests import autodiff
from tests.tolerances import assert_close


def bits(symbols: np.ndarray, logits: np.ndarray) -> np.ndarray:
    """-log2 softmax(l)_y at each place."""
    largest = logits.max(-1, keepdims=True)
    log_p = logits - largest - np.log(np.exp(logits - largest).sum(-1, keepdims=True))
    return -np.take_along_axis(log_p, symbols[..., None], -1)[..., 0] / np.log(2)


def some(seed: int, scale: float = 3.0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.integers(5, size=(3, 7)).astype("int32"), scale * rng.normal(size=(3, 7, 5))


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_loss_is_the_mean_of_the_bits(seed: int) -> None:
    symbols, logits = some(seed)
    assert_close(BitsPerSymbol(dtype="float64")(symbols, logits), bits(symbols, logits).mean(), "float64")
    each = BitsPerSymbol(reduction="none", dtype="float64")(symbols, logits)
    assert_close(each, bits(symbols, logits), "float64")


def test_the_loss_is_single_unless_told_otherwise() -> None:
    symbols, logits = some(0)
    assert_close(BitsPerSymbol()(symbols, logits), bits(symbols, logits).mean(), "float32")


def test_large_logits_do_not_overflow() -> None:
    symbols, logits = some(0, scale=1e4)
    assert_close(BitsPerSymbol(dtype="float64")(symbols, logits), bits(symbols, logits).mean(), "float64")


def test_sample_weights_choose_what_counts() -> None:
    symbols, logits = some(0)
    weights = np.zeros((3, 7))
    weights[1, 2:5] = 1
    found = BitsPerSymbol(reduction="sum", dtype="float64")(symbols, logits, sample_weight=weights)
    assert_close(found, bits(symbols, logits)[1, 2:5].sum(), "float64")


def test_gradients_are_those_of_nats_by_the_natural_logarithm_of_two() -> None:
    symbols, logits = some(0)
    p = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)
    expected = (p - np.eye(5)[symbols]) / np.log(2)
    loss = BitsPerSymbol(reduction="sum", dtype="float64")
    [found] = autodiff.gradients(lambda x: loss(ops.convert_to_tensor(symbols), x), [logits])
    assert_close(found, expected, "float64")


def test_evaluate_reports_bits() -> None:
    symbols, logits = some(0)
    inputs = keras.Input((7, 5))
    model = keras.Model(inputs, keras.layers.Identity()(inputs))
    model.compile(loss=BitsPerSymbol())
    found = model.evaluate(logits, symbols, verbose=0)
    assert found == pytest.approx(bits(symbols, logits).mean(), rel=1e-5)


def test_the_configuration_brings_the_loss_back() -> None:
    loss = BitsPerSymbol(name="bpc", reduction="sum")
    again = keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(loss))
    assert (type(again), again.name, again.reduction) == (BitsPerSymbol, "bpc", "sum")
