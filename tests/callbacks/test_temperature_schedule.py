"""TemperatureSchedule: the values of the cells at every step, resumed or not, and their effect in a compiled step."""

import copy

import keras
import numpy as np
import pytest

from keras_interp_rnn import layers
from keras_interp_rnn.callbacks import TemperatureSchedule

X = np.random.default_rng(0).normal(size=(8, 5, 3)).astype("float32")
Y = X[:, 0, :1]


class Witness(keras.callbacks.Callback):
    """Temperature, strength and noise during every batch."""

    def __init__(self):
        super().__init__()
        self.seen = []

    def on_train_batch_end(self, batch, logs=None):
        cell = self.model.get_layer("watched").cell
        self.seen.append(
            tuple(float(keras.ops.convert_to_numpy(x)) for x in (cell.current_temperature(), cell.strength, cell.noise))
        )


def network(**arguments) -> keras.Model:
    keras.utils.set_random_seed(0)
    model = keras.Sequential(
        [
            keras.Input((5, 3)),
            layers.SRGRU(4, 3, return_sequences=True, transition="gumbel", name="below"),
            layers.SRSimpleRNN(4, 3, name="watched", **arguments),
            keras.layers.Dense(1),
        ]
    )
    model.compile(keras.optimizers.SGD(0.01), "mse", jit_compile=False)
    return model


def fit(model: keras.Model, *callbacks, **arguments):
    return model.fit(X, Y, 4, verbose=0, callbacks=list(callbacks), **{"epochs": 3, **arguments})


@pytest.mark.parametrize("learned", [False, True])
def test_all_cells_follow_the_epochs(learned):
    model, witness = network(learn_temperature=learned, transition="gumbel"), Witness()
    schedule = TemperatureSchedule(lambda e: 1 / (1 + e), strength=lambda e: e / 4, noise=lambda e: 2.0 * e)
    history = fit(model, schedule, witness)
    expected = [(1 / (1 + e), e / 4, 2.0 * e) for e in range(3) for _ in range(2)]
    np.testing.assert_allclose(witness.seen, expected, rtol=1e-2 if learned else 1e-6)  # learned: SGD moves it on
    assert float(model.get_layer("below").cell.temperature) == pytest.approx(1 / 3)
    assert history.history["temperature"] == pytest.approx([1, 1 / 2, 1 / 3])
    assert history.history["strength"] == [0, 1 / 4, 1 / 2]


@pytest.mark.matrix
def test_a_layer_by_its_name_alone():
    model = network()
    fit(model, TemperatureSchedule(lambda e: 0.25, layer="watched"))
    assert float(model.get_layer("watched").cell.temperature) == 0.25
    assert float(model.get_layer("below").cell.temperature) == 1


@pytest.mark.matrix
def test_steps_of_the_optimizer_go_on_in_a_saved_model(tmp_path):
    model, witness = network(), Witness()
    fit(model, TemperatureSchedule(lambda step: 1 / (1 + step), update_freq="batch"), witness, epochs=1)
    model.save(tmp_path / "model.keras")
    again, later = keras.models.load_model(tmp_path / "model.keras"), Witness()
    assert float(again.get_layer("watched").cell.temperature) == 0.5
    schedule = keras.optimizers.schedules.InverseTimeDecay(1.0, 1, 1.0)
    fit(again, TemperatureSchedule(schedule, update_freq="batch"), later, epochs=1)
    seen = [temperature for temperature, _, _ in witness.seen + later.seen]
    np.testing.assert_allclose(seen, [1, 1 / 2, 1 / 3, 1 / 4], rtol=1e-6)


def test_epochs_go_on_where_fit_is_told_to_begin():
    model = network()
    fit(model, TemperatureSchedule(lambda e: 1 / (1 + e)), initial_epoch=2, epochs=4)
    assert float(model.get_layer("watched").cell.temperature) == 0.25


@pytest.mark.matrix
def test_a_compiled_step_reads_the_current_value():
    # At strength 0 the centroids have no part in the state, and get no gradient.
    model = network()
    centroids = model.get_layer("watched").cell.centroids
    before = keras.ops.convert_to_numpy(centroids).copy()
    fit(model, TemperatureSchedule(strength=lambda e: 0.0), epochs=1)
    np.testing.assert_array_equal(keras.ops.convert_to_numpy(centroids), before)
    fit(model, TemperatureSchedule(strength=lambda e: 1.0), epochs=1)
    assert np.abs(keras.ops.convert_to_numpy(centroids) - before).max() > 1e-6


@pytest.mark.matrix
def test_a_tuner_may_copy_it():
    schedule = copy.deepcopy(TemperatureSchedule(lambda e: 0.5))
    model = network()
    fit(model, schedule)
    assert float(model.get_layer("watched").cell.temperature) == 0.5


def test_rejects_other_schedules_values_and_models():
    with pytest.raises(ValueError, match="must have at least one schedule. Received: none. Pass a"):
        TemperatureSchedule()
    with pytest.raises(ValueError, match="`temperature` must be a function of the .* Received: temperature=0.5. Build"):
        TemperatureSchedule(0.5)
    with pytest.raises(ValueError, match="`update_freq` must be one of 'epoch', 'batch'. Received: update_freq=7"):
        TemperatureSchedule(lambda e: 1, update_freq=7)
    with pytest.raises(ValueError, match="`temperature` must be a positive number. Received: temperature=0.0"):
        fit(network(), TemperatureSchedule(lambda e: 1 - e))
    for value in ("a", None, float("nan"), float("inf"), 10**400):
        with pytest.raises(
            ValueError, match=f"`noise` must be a finite number. Received: noise={value!r}. Change its schedule at 0"
        ):
            fit(network(), TemperatureSchedule(noise=lambda e, value=value: value))
    plain = keras.Sequential([keras.Input((5, 3)), keras.layers.GRU(2), keras.layers.Dense(1)])
    plain.compile("sgd", "mse")
    with pytest.raises(ValueError, match="must have state-regularized cells to set. Received: none in the model. Use"):
        fit(plain, TemperatureSchedule(lambda e: 1))
