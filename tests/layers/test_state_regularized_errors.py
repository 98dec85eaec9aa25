"""Errors of the state-regularized layers: rule, value received, remedy."""

import keras
import numpy as np
import pytest

from keras_interp_rnn import callbacks, layers
from keras_interp_rnn.layers import SRGRU, StateRegularizedCell, StateRegularizedRNN
from tests.layers.common import refusal, regex

X = np.zeros((3, 7, 5), "float32")


def of_cell(**arguments) -> StateRegularizedCell:
    return StateRegularizedCell(keras.layers.GRUCell(4), **{"num_centroids": 3, **arguments})


def of_layer(**arguments) -> SRGRU:
    return SRGRU(4, **{"num_centroids": 3, **arguments})


every_maker = pytest.mark.parametrize("make", [of_cell, of_layer], ids=["cell", "layer"])


RULES = [
    ("temperature", "a positive number", [0, float("nan"), "1"]),
    ("strength", "a number in [0, 1]", [-0.1, 1.1, np.float32(1.5)]),
    ("noise", "a non-negative number", [-1e-9, float("inf"), None]),
]


class TestNumbers:
    @pytest.mark.parametrize(("name", "rule", "values"), RULES)
    def test_settings_out_of_range_are_refused(self, name: str, rule: str, values: list) -> None:
        """An error changes no setting."""
        halves = {"temperature": 0.5, "strength": 0.5, "noise": 0.5}
        cells = [of_cell(**halves, learn_temperature=learned) for learned in (False, True)]
        for value in values:
            sentence = regex(f"`{name}` must be {rule}.", f"Received: {name}={value!r}.")
            for make in (of_cell, of_layer):
                with pytest.raises(ValueError, match=sentence):
                    make(**{name: value})
            for cell in cells:
                with pytest.raises(ValueError, match=sentence):
                    getattr(cell, f"set_{name}")(value)
        for cell in cells:
            seen = (cell.current_temperature(), cell.strength, cell.noise)
            np.testing.assert_allclose([float(keras.ops.convert_to_numpy(x)) for x in seen], 0.5, rtol=1e-6)


class TestTransitions:
    @every_maker
    def test_an_unknown_transition_is_refused_with_the_nearest_name(self, make) -> None:
        sentence = "`transition` must be one of 'mixture', 'soft_argmax', 'gumbel', 'sample'. Received: transition="
        with refusal(sentence, "'softargmax'. Did you mean 'soft_argmax'?"):
            make(transition="softargmax")

    @every_maker
    def test_arguments_of_gumbel_are_refused_for_other_transitions(self, make) -> None:
        for name in ("straight_through", "sample_at_inference"):
            for transition in ("mixture", "soft_argmax", "sample"):
                received = f"Received: transition={transition!r}."
                with refusal(f"`transition` must be 'gumbel' with {name}=True.", received):
                    make(transition=transition, **{name: True})


class MatrixCell(keras.layers.Layer):
    state_size = ((4, 4),)

    def call(self, inputs, states):
        return inputs, states


class TestCells:
    def test_cells_without_a_vector_as_state_are_refused(self) -> None:
        sentence = regex(
            "whose first state is its hidden state, a vector (batch, n).", "Received: cell=", "Pass a cell"
        )
        for cell in (
            keras.layers.Dense(4),
            keras.layers.GRU(4),
            layers.MinimalRNN(4),
            keras.layers.Bidirectional(keras.layers.GRU(4)),
            keras.layers.StackedRNNCells([keras.layers.GRUCell(4), keras.layers.GRUCell(3)]),
            keras.layers.StackedRNNCells([keras.layers.LSTMCell(4)]),
            MatrixCell(),
            *(keras.layers.GRUCell, 4, "gru", None),
        ):
            with pytest.raises(ValueError, match=sentence):
                StateRegularizedCell(cell, 3)

    def test_a_layer_of_other_cells_is_refused(self) -> None:
        rule, remedy = "`cell` must be a StateRegularizedCell. Received:", "StateRegularizedCell(cell, num_c"
        for cell in (keras.layers.GRUCell(4), keras.layers.GRU(4), None):
            with refusal(rule, remedy):
                StateRegularizedRNN(cell)

    @pytest.mark.parametrize("rates", [{"dropout": 0.3}, {"recurrent_dropout": 0.3}], ids=str)
    def test_a_bare_cell_draws_no_dropout(self, rates: dict[str, float]) -> None:
        """In training; at inference there is nothing to draw, see tests/layers/test_state_regularized.py."""
        layer = keras.layers.RNN(StateRegularizedCell(keras.layers.GRUCell(4, **rates), 3))
        with refusal("dropout", "Received:", "Use layers.StateRegularizedRNN(cell)."):
            layer(X, training=True)


class TestTemperaturesThatFloatsTakeForZero:
    """They would divide the scores by 0: every output would be NaN."""

    RANGES = {"float32": (2.0**-126, 3.4028234663852886e38), "float64": (2.0**-1022, 1.7976931348623157e308)}

    @pytest.mark.parametrize("learn_temperature", [False, True])
    @pytest.mark.parametrize(
        ("dtype", "value"),
        [
            *(("float32", value) for value in (1e-46, 1e-40, 2.0**-127, 3.5e38, 1e300)),
            *(("mixed_bfloat16", value) for value in (1e-46, 1e-40)),
            *(("float64", value) for value in (5e-324, 2.0**-1023)),
            *(("bfloat16", value) for value in (1e-40, 3.4e38)),
            *(("float16", value) for value in (1e-5, 65505.0)),
        ],
    )
    def test_temperatures_that_divide_by_zero_are_refused(
        self, dtype: str, value: float, learn_temperature: bool
    ) -> None:
        stored = dtype.replace("mixed_bfloat16", "float32")
        sentence = regex(
            f"`temperature` must be a normal number of {stored}, from ",
            f"Received: temperature={value!r}.",
            "For the most probable centroid alone use transition='soft_argmax'.",
        )
        arguments = {"dtype": dtype, "learn_temperature": learn_temperature}
        with pytest.raises(ValueError, match=sentence):
            layers.SRGRU(4, 3, temperature=value, **arguments)
        cell = layers.SRGRU(4, 3, **arguments).cell
        with pytest.raises(ValueError, match=sentence):
            cell.set_temperature(value)
        # float() and not convert_to_numpy: NumPy refuses scalar bfloat16 tensors of TensorFlow (ml_dtypes 0.6).
        assert float(keras.ops.stop_gradient(cell.current_temperature())) == 1

    @pytest.mark.parametrize("dtype", RANGES)
    def test_the_smallest_and_largest_temperature_are_accepted(self, dtype: str) -> None:
        cell = layers.SRGRU(4, 3, dtype=dtype).cell
        for value in self.RANGES[dtype]:
            cell.set_temperature(value)
            assert float(cell.current_temperature()) == value

    def test_a_temperature_too_small_in_a_schedule_is_refused(self) -> None:
        model = keras.Sequential([keras.Input((3, 5)), layers.SRGRU(4, 3)])
        model.compile("sgd", "mse")
        schedule = callbacks.TemperatureSchedule(lambda epoch: 10.0 ** (-46 * epoch))
        with refusal("`temperature` must be a normal number of float32", "Received: "):
            model.fit(np.ones((2, 3, 5)), np.ones((2, 4)), epochs=2, verbose=0, callbacks=[schedule])
