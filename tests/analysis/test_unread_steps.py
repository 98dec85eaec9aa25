"""Steps that are not read may hold anything, on every backend: NaN, infinity, ids out of range. Others may not."""

import keras
import numpy as np
import pytest
from keras import ops

from keras_interp_rnn import _backend, analysis, layers
from keras_interp_rnn._network.agreement import MAX_DIFFERENCE, computed_in

FEATURES, UNITS, VOCABULARY = 4, 3, 5
READ = np.array([[1, 0, 1, 1, 0, 1], [0, 0, 1, 0, 1, 1]], bool)
METHODS = ("auto", "occlusion", "path_integral")


@keras.saving.register_keras_serializable("tests")
class Flagged(keras.layers.Layer):
    """A user's layer, which passes on what it reads, and masks steps whose last feature is not positive."""

    def __init__(self, **arguments) -> None:
        super().__init__(**arguments)
        self.supports_masking = True

    def call(self, x):
        return x

    def compute_mask(self, x, mask=None):
        return x[..., -1] > 0

    def compute_output_shape(self, shape):
        return shape


@keras.saving.register_keras_serializable("tests")
class KnownIds(Flagged):
    """Masks ids out of range."""

    def compute_mask(self, x, mask=None):
        return ops.logical_and(x >= 0, x < VOCABULARY)


def vectors() -> tuple[np.ndarray, np.ndarray]:
    """Sequences with zeros, and with NaN and infinity, at steps that are not read, which the last feature tells."""
    x = np.random.default_rng(0).normal(size=(*READ.shape, FEATURES)).astype("float32")
    x[..., -1] = READ
    x[~READ] = 0
    y = x.copy()
    y[~READ, :2] = np.nan, np.inf
    return x, y


def ids() -> tuple[np.ndarray, np.ndarray]:
    """Texts with -1, and with other ids out of range, at steps that are not read."""
    x = np.random.default_rng(0).integers(0, VOCABULARY, READ.shape).astype("int32")
    x[~READ] = -1
    y = x.copy()
    y[~READ] = [-7, 9999, 2**31 - 1, VOCABULARY, -1][: (~READ).sum()]
    return x, y


def sequential(*parts: keras.layers.Layer, ids: bool = False, **own) -> keras.Model:
    keras.utils.set_random_seed(0)
    start = keras.Input((READ.shape[1],), dtype="int32") if ids else keras.Input((READ.shape[1], FEATURES), **own)
    return keras.Sequential([start, *parts])


def two_inputs(ids: bool) -> keras.Model:
    """A model that reads its mask as a second input."""
    keras.utils.set_random_seed(0)
    mask = keras.Input(READ.shape[1:], dtype="bool")
    x = keras.Input(READ.shape[1:], dtype="int32") if ids else keras.Input((READ.shape[1], FEATURES))
    layer = layers.ISAN(UNITS, VOCABULARY) if ids else layers.MinGRU(UNITS)
    return keras.Model([x, mask], keras.layers.Dense(2)(layer(x, mask=mask)))


def masks_nan() -> keras.Model:
    """A model of operations that masks what is no number."""
    keras.utils.set_random_seed(0)
    x = keras.Input((READ.shape[1], FEATURES))
    mask = ops.logical_not(ops.isnan(x[..., 0]))
    return keras.Model(x, keras.layers.Dense(2)(layers.MinGRU(UNITS)(x, mask=mask)))


MODELS = {
    "MinGRU": lambda: sequential(Flagged(), layers.MinGRU(UNITS), keras.layers.Dense(2)),
    "two directions": lambda: sequential(
        Flagged(), keras.layers.Bidirectional(layers.MinGRU(UNITS)), keras.layers.Dense(2)
    ),
    "a layer below": lambda: sequential(
        Flagged(), keras.layers.Dense(4, activation="tanh"), keras.layers.LSTM(UNITS), keras.layers.Dense(2)
    ),
    "an input": lambda: two_inputs(ids=False),
}
LAYERS = {
    "MinGRU": lambda: layers.MinGRU(UNITS),
    "two directions": lambda: keras.layers.Bidirectional(keras.layers.LSTM(UNITS)),
    "ISAN": lambda: layers.ISAN(UNITS, VOCABULARY),
}


def predicted(network, x) -> np.ndarray:
    several = isinstance(x, list)
    given = [ops.convert_to_tensor(part) for part in x] if several else ops.convert_to_tensor(x)
    return np.asarray(ops.convert_to_numpy(network(given, training=False)), np.float64)


def assert_same(found, expected) -> None:
    np.testing.assert_allclose(found.shares, expected.shares, rtol=0, atol=1e-6)
    np.testing.assert_allclose(found.output, expected.output, rtol=0, atol=1e-6)
    assert found.residual == pytest.approx(expected.residual, abs=1e-6)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", MODELS)
def test_attribution_of_a_model_with_masks(name, method):
    model, (zeros, others) = MODELS[name](), vectors()
    x, y = ([zeros, READ], [others, READ]) if name == "an input" else (zeros, others)
    found = analysis.attribution(model, y, target=[0, 1], method=method)
    np.testing.assert_allclose(found.output, predicted(model, y), rtol=0, atol=1e-6)
    assert_same(found, analysis.attribution(model, x, target=[0, 1], method=method))
    assert np.abs(found.shares[~READ]).max() < 1e-6


def test_attribution_of_a_model_that_masks_nan():
    model, (_, y) = masks_nan(), vectors()
    found = analysis.attribution(model, y, target=[0, 1])
    np.testing.assert_allclose(found.output, predicted(model, y), rtol=0, atol=1e-6)
    assert np.abs(found.shares[~READ]).max() < 1e-6
    assert np.abs(found.shares[READ]).max() > 1e-3


@pytest.mark.parametrize("form", ["own mask", "an input"])
def test_attribution_and_trace_of_ids_out_of_range(form):
    own = form == "own mask"
    isan = layers.ISAN(UNITS, VOCABULARY)
    model = sequential(KnownIds(), isan, keras.layers.Dense(2), ids=True) if own else two_inputs(ids=True)
    x, y = (given if own else [given, READ] for given in ids())
    for method in METHODS:
        found = analysis.attribution(model, y, target=[0, 1], method=method)
        np.testing.assert_allclose(found.output, predicted(model, y), rtol=0, atol=1e-6)
        assert_same(found, analysis.attribution(model, x, target=[0, 1], method=method))
    np.testing.assert_array_equal(analysis.trace(model, y)["h"], analysis.trace(model, x)["h"])


@pytest.mark.parametrize("name", LAYERS)
def test_layers_with_a_mask(name):
    keras.utils.set_random_seed(0)
    layer, (x, y) = LAYERS[name](), ids() if name == "ISAN" else vectors()
    layer(np.where(READ, x, 0) if name == "ISAN" else x)
    for method in METHODS:
        found = analysis.attribution(layer, y, target=[0, 1], mask=READ, method=method)
        assert_same(found, analysis.attribution(layer, x, target=[0, 1], mask=READ, method=method))
    jacobian, expected = (analysis.input_output_jacobian(layer, given, lag=1, mask=READ) for given in (y, x))
    np.testing.assert_array_equal(jacobian, expected)
    traces, expected = (analysis.trace(layer, given, mask=READ) for given in (y, x))
    for quantity, values in expected.items():
        np.testing.assert_array_equal(traces[quantity], values)


def test_refuses_what_is_no_number_at_a_step_that_is_read():
    x, _ = vectors()
    x[1, 2, 0] = np.nan
    lstm, both = keras.layers.LSTM(UNITS), keras.layers.Bidirectional(layers.MinGRU(UNITS))
    backwards = keras.layers.LSTM(UNITS, go_backwards=True)
    model = sequential(both, keras.layers.Dense(2))
    sentence = "must be finite at steps that are read. Received: nan at step 3 of sequence 2. Leave that sequence out"
    for call in (
        lambda: analysis.trace(lstm, x),
        lambda: analysis.trace(backwards, x, mask=READ),
        lambda: analysis.trace(model, x),
        lambda: analysis.input_output_jacobian(lstm, x, lag=1),
        lambda: analysis.input_output_jacobian(both, x, lag=1, mask=READ),
        lambda: analysis.lyapunov_exponents(lstm, x),
        lambda: analysis.attribution(lstm, x),
        lambda: analysis.attribution(model, x),
        lambda: analysis.attribution(MODELS["MinGRU"](), x),
    ):
        with pytest.raises(ValueError, match=sentence):
            call()
    with pytest.raises(ValueError, match="Received: nan at step 3 of sequence 1"):
        analysis.contributions(model, x[1])


def test_contributions_take_no_layer_below_two_directions_for_nothing():
    """Their gates read what that layer makes of the text, or its mask."""
    x, _ = vectors()
    both = keras.layers.Bidirectional(layers.MinGRU(UNITS))
    squashed = sequential(keras.layers.Dense(FEATURES, activation="tanh"), both, keras.layers.Dense(2))
    for model in (squashed, MODELS["MinGRU"](), MODELS["two directions"]()):
        with pytest.raises(ValueError, match="must reach its ISAN unchanged"):
            analysis.contributions(model, x[0])
        found = analysis.attribution(model, x, target=[0, 1])
        np.testing.assert_allclose(found.output, predicted(model, x), rtol=0, atol=1e-6)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("activation", ["tanh", "gelu", "sigmoid"])
def test_attribution_in_float64(activation, method):
    with _backend.double_precision():
        model = sequential(
            keras.layers.Dense(3, activation="tanh", dtype="float64"),
            keras.layers.LSTM(UNITS, dtype="float64"),
            keras.layers.LayerNormalization(dtype="float64"),
            keras.layers.Dense(2, activation=activation, dtype="float64"),
            dtype="float64",
        )
        found = analysis.attribution(model, vectors()[0].astype("float64"), target=1, method=method)
    assert found.residual < 1e-6 or method == "occlusion"  # whose shares do not add up
    assert "Keras runs it" not in found.reason
    assert found.difference < 1e-6


def test_float64_is_measured_by_what_the_backend_computes():
    with _backend.double_precision():
        expected = "float64" if keras.backend.backend() == "tensorflow" else "float32"
        assert computed_in("float64") == expected
    assert computed_in("float16") == "float16"
    assert MAX_DIFFERENCE["float64"] == 1e-9
