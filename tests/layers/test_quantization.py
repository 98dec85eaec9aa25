"""`quantize("int8")`: Keras quantizes Dense and Embedding, and our layers hold such only as encoders.

Their own matrices stay as they are, as those of Keras's recurrent layers do.
"""

from collections.abc import Callable
from pathlib import Path

import keras
import numpy as np
import pytest
from keras import ops

from keras_interp_rnn import layers

MODELS: dict[str, tuple[tuple[int, ...], Callable[[], keras.layers.Layer]]] = {
    "ISAN": ((), lambda: layers.ISAN(9, 6)),
    "FactoredISAN": ((4,), lambda: layers.FactoredISAN(9, 2)),
    "FactoredISAN of symbols": ((), lambda: layers.FactoredISAN(9, 2, 6)),
    "MinimalRNN": ((4,), lambda: layers.MinimalRNN(9)),
    "MinimalRNN of ids": ((), lambda: layers.MinimalRNN(9, encoder=keras.layers.Embedding(6, 9))),
    "MinimalRNN with an encoder": ((4,), lambda: layers.MinimalRNN(9, encoder=keras.layers.Dense(9, "relu"))),
    "MinimalRNN with an encoder of two layers": (
        (4,),
        lambda: layers.MinimalRNN(9, encoder=keras.Sequential([keras.layers.Dense(7), keras.layers.Dense(9)])),
    ),
    "CFN": ((4,), lambda: layers.CFN(9)),
    "PeepholeLSTM": ((4,), lambda: layers.PeepholeLSTM(9)),
    "SRSimpleRNN": ((4,), lambda: layers.SRSimpleRNN(9, 3)),
    "SRGRU": ((4,), lambda: layers.SRGRU(9, 3)),
    "SRLSTM": ((4,), lambda: layers.SRLSTM(9, 3)),
    "SRPeepholeLSTM": ((4,), lambda: layers.SRPeepholeLSTM(9, 3)),
    "StateRegularizedRNN over MinimalRNNCell": (
        (4,),
        lambda: layers.StateRegularizedRNN(layers.StateRegularizedCell(layers.MinimalRNNCell(9), 3)),
    ),
}


# Keras says of every layer without matrices that it can quantize that there are none; Keras 3.16 in other words.
@pytest.mark.filterwarnings("ignore:Layer .* does not have a `quantize:UserWarning")
@pytest.mark.filterwarnings("ignore:.*were skipped because they do not support quantization:UserWarning")
@pytest.mark.parametrize("name", MODELS)
def test_a_quantized_model_saved_and_loaded_gives_the_same_numbers(name: str, tmp_path: Path) -> None:
    features, make = MODELS[name]
    rng = np.random.default_rng(1)
    inputs = rng.normal(size=(3, 5, *features)) if features else rng.integers(6, size=(3, 5))
    inputs = inputs.astype("float32" if features else "int32")
    model = keras.Sequential([keras.Input((None, *features), dtype=inputs.dtype.name), make(), keras.layers.Dense(2)])
    for weight in model.weights:
        if len(weight.shape):  # not the temperature, the strength and the noise
            weight.assign(rng.normal(size=weight.shape) / np.sqrt(weight.shape[-1]))
    precise = ops.convert_to_numpy(model(inputs))
    model.quantize("int8")
    quantized = ops.convert_to_numpy(model(inputs))
    error = np.abs(quantized - precise).max()
    assert 0 < error < 0.1 * np.abs(precise).max()
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(ops.convert_to_numpy(loaded(inputs)), quantized)
    clone = keras.models.clone_model(model)
    clone.set_weights(model.get_weights())
    np.testing.assert_array_equal(ops.convert_to_numpy(clone(inputs)), quantized)
