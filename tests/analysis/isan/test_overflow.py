"""An input-switched affine network has no nonlinearity, so its states may grow without bound: none of it is read."""

import keras
import numpy as np
import pytest

from keras_interp_rnn import analysis, layers
from keras_interp_rnn.analysis.isan.timescales import contributions_by_age

TEXT = np.arange(40) % 4


def growing():
    """A model whose states overflow float64 within a dozen symbols, and whose contributions do."""
    ids = keras.Input((None,), dtype="int32")
    isan = layers.ISAN(3, 4, return_sequences=True, recurrent_constraint=None, dtype="float64")
    model = keras.Model(ids, keras.layers.Dense(4, dtype="float64")(isan(ids)))
    rng = np.random.default_rng(0)
    model.set_weights([rng.normal(size=weight.shape) for weight in model.get_weights()])
    isan.cell.recurrent_kernel.assign(1e30 * np.array(keras.ops.convert_to_numpy(isan.cell.recurrent_kernel)))
    return model


READINGS = {
    "contributions": lambda model: analysis.contributions(model, TEXT),
    "recent_contributions": lambda model: list(analysis.recent_contributions(model, TEXT, window=3)),
    "contributions_by_age": lambda model: list(contributions_by_age(model, TEXT, max_age=30)),
    "timescales": lambda model: analysis.timescales(model, TEXT, max_age=3),
    "attribution": lambda model: analysis.attribution(model, TEXT[None], target=1),
    "shapley_values": lambda model: analysis.shapley_values(model, TEXT),
    "truncate": lambda model: analysis.truncate(model, 2, sequences=[TEXT]),
    "affine_map": lambda model: analysis.affine_map(model, TEXT),
    "mean_state": lambda model: analysis.mean_state(model, [TEXT]),
    "CompositionTable": lambda model: analysis.CompositionTable(model, [TEXT.tolist()]),
}


@pytest.mark.parametrize("name", READINGS)
def test_what_overflows_is_refused_by_one_sentence(name):
    with pytest.raises(ValueError, match=r"must fit into floats. Received: weights so large.*pass a shorter text"):
        READINGS[name](growing())


def test_the_steps_before_are_read():
    split = analysis.contributions(growing(), TEXT, targets=5)
    assert np.isfinite(split.values).all()
    assert split.residual < 1e-9 * np.abs(split.logits).max()
    recent = analysis.recent_contributions(growing(), TEXT, window=3)
    np.testing.assert_allclose([next(recent).logits for _ in range(5)][-1], split.logits[0], rtol=1e-9)


def test_numbers_of_the_caller_are_warned_of_as_before():
    """A generator leaves NumPy's settings alone between its steps."""
    for recent in analysis.recent_contributions(growing(), TEXT[:5], window=2):
        with pytest.warns(RuntimeWarning, match="overflow"):
            np.float64(1e300) * (1e300 + 0 * recent.step)
