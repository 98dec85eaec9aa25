"""Masks go through every layer to the next one, whatever Keras's own RNN says of masks."""

from collections.abc import Callable

import keras
import numpy as np
import pytest
from keras import ops

from keras_interp_rnn import layers
from tests.tolerances import assert_close

LAYERS: dict[str, Callable[..., keras.layers.RNN]] = {
    "ISAN": lambda **flags: layers.ISAN(5, 4, **flags),
    "FactoredISAN": lambda **flags: layers.FactoredISAN(5, 2, **flags),
    "MinimalRNN": lambda **flags: layers.MinimalRNN(5, **flags),
    "CFN": lambda **flags: layers.CFN(5, **flags),
    "PeepholeLSTM": lambda **flags: layers.PeepholeLSTM(5, **flags),
    "SRSimpleRNN": lambda **flags: layers.SRSimpleRNN(5, 3, **flags),
    "SRGRU": lambda **flags: layers.SRGRU(5, 3, **flags),
    "SRLSTM": lambda **flags: layers.SRLSTM(5, 3, **flags),
    "SRPeepholeLSTM": lambda **flags: layers.SRPeepholeLSTM(5, 3, **flags),
    "StateRegularizedRNN": lambda **flags: layers.StateRegularizedRNN(
        layers.StateRegularizedCell(layers.MinimalRNNCell(5), 3), **flags
    ),
}


@pytest.fixture(params=[False, True], ids=["this Keras", "Keras 3.16"])
def keras_version(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keras 3.16 has `supports_masking = False` in `RNN.__init__`, where Keras up to 3.15 has True."""
    if not request.param:
        return
    plain = keras.layers.RNN.__init__

    def without_masks(self, *args, **kwargs) -> None:
        plain(self, *args, **kwargs)
        self.supports_masking = False

    monkeypatch.setattr(keras.layers.RNN, "__init__", without_masks)


@pytest.mark.usefixtures("keras_version")
@pytest.mark.parametrize("name", LAYERS)
def test_the_second_of_two_layers_skips_what_the_first_skipped(name: str) -> None:
    rng = np.random.default_rng(1)
    ids = rng.integers(1, 9, size=(3, 6))
    ids[0, 4:] = ids[1, :2] = ids[2, 3] = 0
    first, second = LAYERS[name](return_sequences=True), LAYERS[name](return_sequences=True)
    # An ISAN reads distributions here.
    features = keras.layers.Embedding(9, 4, mask_zero=True)
    between = keras.layers.Dense(4, activation="softmax")
    inputs = keras.Input((6,), dtype="int32")
    model = keras.Model(inputs, second(between(first(features(inputs)))))
    for weight in model.weights:
        if len(weight.shape):  # not the temperature, the strength and the noise
            weight.assign(rng.normal(size=weight.shape))
    found = model(ids)
    np.testing.assert_array_equal(ops.convert_to_numpy(model.output._keras_mask is not None), True)
    by_hand = second(between(first(features(ids), mask=ids != 0)), mask=ids != 0)
    assert_close(found, by_hand, "float32")
    unmasked = ops.convert_to_numpy(second(between(first(features(ids), mask=ids != 0)), mask=ids >= 0))
    assert np.abs(ops.convert_to_numpy(found) - unmasked).max() > 1e-2
