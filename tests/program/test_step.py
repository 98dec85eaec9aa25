"""A program one symbol at a time, besides what the table of interpreters tries."""

import keras
import numpy as np
import pytest
from keras import ops

from keras_interp_rnn import layers
from keras_interp_rnn._program import read
from keras_interp_rnn._program.step import steps_of
from tests.program.models import EACH, MODELS, SYMBOLS, of_ids

TEXT = np.array([0, 3, 1, 0, 4, 4, 2, 0])


@pytest.mark.parametrize("name", ["state-regularized", "MinGRU, padding masked", "causal convolutions"])
def test_a_large_vocabulary_leaves_the_drives_to_the_steps(name, monkeypatch):
    monkeypatch.setattr("keras_interp_rnn._program.step.NUMBERS", 0)
    keras.utils.set_random_seed(4)
    model = MODELS[name].make()
    expected = ops.convert_to_numpy(model(TEXT[None]))[0]
    steps = steps_of(read(model), SYMBOLS)
    found = np.concatenate([steps.read(int(symbol)) for symbol in TEXT])
    np.testing.assert_allclose(found if expected.ndim == 2 else found[-1], expected, rtol=1e-4, atol=1e-5)


def test_a_network_that_draws_noise_has_no_steps():
    assert steps_of(read(of_ids(layers.SRGRU(4, 3, transition="sample", **EACH))), SYMBOLS) is None
