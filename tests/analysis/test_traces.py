"""Traces: states are the outputs of the layers, and the gates reproduce the states."""

import keras
import numpy as np
import pytest
from keras import ops

from keras_interp_rnn import analysis, automata, layers
from keras_interp_rnn._alphabet import with_token_ids
from tests.samples import passing_masks_on

pytestmark = pytest.mark.core(2)  # cases are flags, or another layer in the same way


UNITS, FEATURES, K = 4, 5, 3

LAYERS = {
    "MinimalRNN": lambda **flags: layers.MinimalRNN(UNITS, **flags),
    "CFN": lambda **flags: layers.CFN(UNITS, **flags),
    "PeepholeLSTM": lambda **flags: layers.PeepholeLSTM(UNITS, peephole_initializer="orthogonal", **flags),
    "SimpleRNN": lambda **flags: keras.layers.SimpleRNN(UNITS, **flags),
    "LSTM": lambda **flags: keras.layers.LSTM(UNITS, **flags),
    "GRU": lambda **flags: keras.layers.GRU(UNITS, **flags),
    "GRU, reset before": lambda **flags: keras.layers.GRU(UNITS, reset_after=False, use_bias=False, **flags),
    "SRSimpleRNN": lambda **flags: layers.SRSimpleRNN(UNITS, K, temperature=0.5, **flags),
    "SRGRU": lambda **flags: layers.SRGRU(UNITS, K, transition="soft_argmax", **flags),
    "SRLSTM": lambda **flags: layers.SRLSTM(UNITS, K, strength=0.7, regularize_last_step=False, **flags),
    "SRPeepholeLSTM": lambda **flags: layers.SRPeepholeLSTM(UNITS, K, transition="gumbel", **flags),
    "over MinimalRNN": lambda **flags: layers.StateRegularizedRNN(
        layers.StateRegularizedCell(layers.MinimalRNNCell(UNITS), K), **flags
    ),
}
GATES = {
    "MinimalRNN": {"z", "u"},
    "CFN": {"u", "i", "candidate"},
    "PeepholeLSTM": {"i", "f", "o", "candidate", "c"},
    "SimpleRNN": set(),
    "LSTM": {"i", "f", "o", "candidate", "c"},
    "GRU": {"u", "r", "candidate"},
    "GRU, reset before": {"u", "r", "candidate"},
    "SRSimpleRNN": {"u", "alpha", "centroid"},
    "SRGRU": {"u", "alpha", "centroid", "cell_u", "r", "candidate"},
    "SRLSTM": {"u", "alpha", "centroid", "i", "f", "o", "candidate", "c"},
    "SRPeepholeLSTM": {"u", "alpha", "centroid", "i", "f", "o", "candidate", "c"},
    "over MinimalRNN": {"u", "alpha", "centroid", "z", "cell_u"},
}

MASK = np.array([[1, 1, 1, 1, 1, 1], [1, 1, 0, 1, 1, 0], [0, 1, 1, 1, 0, 0]], bool)


def batch(seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(3, 6, FEATURES)).astype("float32")


def traced(name: str, mask: np.ndarray | None = None, seed: int = 0, **flags):
    keras.utils.set_random_seed(seed)
    layer = LAYERS[name](**flags)
    layer(batch())
    for weight in layer.weights:
        if "bias" in weight.name or "peephole" in weight.name:  # which begin at zero
            weight.assign(np.random.default_rng(seed).normal(size=weight.shape))
    return layer, analysis.trace(layer, batch(), mask=mask)


def before(states: np.ndarray) -> np.ndarray:
    """The state before each step, from zeros."""
    return np.concatenate([np.zeros_like(states[:, :1]), states[:, :-1]], axis=1)


@pytest.mark.parametrize("mask", [None, MASK], ids=["", "mask"])
@pytest.mark.parametrize("name", LAYERS)
def test_states_are_the_outputs_of_the_layer(name, mask):
    layer, found = traced(name, mask, return_sequences=True, return_state=True)
    outputs, *states = layer(batch(), mask=mask)
    assert set(found) == {"h", *GATES[name]}
    begun = np.ones((3, 6), bool) if mask is None else np.cumsum(mask, axis=1) > 0
    np.testing.assert_allclose(found["h"][begun], ops.convert_to_numpy(outputs)[begun], atol=1e-6)
    for kind, state in zip("hc", states, strict=False):
        np.testing.assert_allclose(found[kind][:, -1], ops.convert_to_numpy(state), atol=1e-6)


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize(
    ("name", "next_state"),
    [
        ("MinimalRNN", lambda t, h: t["u"] * h + (1 - t["u"]) * t["z"]),
        ("CFN", lambda t, h: t["u"] * np.tanh(h) + t["i"] * t["candidate"]),
        ("LSTM", lambda t, h: t["o"] * np.tanh(t["f"] * before(t["c"]) + t["i"] * t["candidate"])),
        ("SRGRU", lambda t, h: t["cell_u"] * h + (1 - t["cell_u"]) * t["candidate"]),
    ],
)
def test_gates_make_the_states(name, next_state, seed):
    _, found = traced(name, seed=seed)
    state = found["u"] if name == "SRGRU" else found["h"]
    np.testing.assert_allclose(next_state(found, before(found["h"])), state, atol=1e-5)


@pytest.mark.parametrize("name", ["SRSimpleRNN", "SRGRU", "SRPeepholeLSTM", "over MinimalRNN"])
def test_alpha_is_the_softmax_of_dot_products(name):
    layer, found = traced(name)
    centroids = ops.convert_to_numpy(layer.cell.centroids).astype(float)
    scores = found["u"].astype(float) @ centroids.T / float(layer.cell.current_temperature())
    weights = np.exp(scores)
    alpha = weights / weights.sum(axis=-1, keepdims=True)
    np.testing.assert_allclose(found["alpha"], alpha, atol=1e-6)
    np.testing.assert_array_equal(found["centroid"], alpha.argmax(axis=-1))
    state = centroids[found["centroid"]] if name == "SRGRU" else alpha @ centroids
    np.testing.assert_allclose(found["h"], state, atol=1e-5)
    np.testing.assert_array_equal(analysis.transition_probabilities(layer, batch()), found["alpha"])


@pytest.mark.parametrize("mask", [None, MASK], ids=["", "mask"])
@pytest.mark.parametrize("backwards", [False, True])
def test_quantities_of_masked_steps_are_nan_and_centroids_minus_one(mask, backwards):
    _, found = traced("SRLSTM", mask, go_backwards=backwards)
    read = np.ones((3, 6), bool) if mask is None else mask[:, ::-1] if backwards else mask
    last = 5 - np.argmax(read[:, ::-1], axis=1)
    there = read.copy()
    there[np.arange(3), last] = False
    np.testing.assert_array_equal(found.read, read)
    np.testing.assert_array_equal(~np.isnan(found["alpha"]).any(axis=-1), there)
    np.testing.assert_array_equal(found["centroid"] >= 0, there)
    np.testing.assert_array_equal(~np.isnan(found["f"]).any(axis=-1), read)
    assert np.isfinite([found["h"], found["c"]]).all()
    np.testing.assert_allclose(found["h"][np.arange(3), last], found["u"][np.arange(3), last], atol=1e-6)


def test_a_drawn_centroid_is_the_state():
    keras.utils.set_random_seed(0)
    layer = layers.SRSimpleRNN(UNITS, K, transition="sample", seed=1)
    layer(batch())
    found = analysis.trace(layer, batch())
    np.testing.assert_allclose(found["h"], ops.convert_to_numpy(layer.cell.centroids)[found["centroid"]], atol=1e-6)
    assert len(np.unique(found["centroid"])) == K
    assert (found["centroid"] != found["alpha"].argmax(axis=-1)).any()


def test_a_stack_of_cells_is_traced_cell_by_cell():
    cells = [layers.StateRegularizedCell(keras.layers.GRUCell(UNITS), K), keras.layers.LSTMCell(6)]
    layer = keras.layers.RNN(cells, return_sequences=True)
    outputs = layer(batch())
    found = analysis.trace(layer, batch())
    np.testing.assert_allclose(found["1/h"], ops.convert_to_numpy(outputs), atol=1e-6)
    assert {"0/alpha", "0/centroid", "0/u", "0/cell_u", "0/h", "1/f", "1/c"} <= set(found)


def test_ids_of_an_isan():
    layer = layers.ISAN(UNITS, 5, return_sequences=True)
    ids = np.array([[1, 2, 3], [4, 0, 1]])
    np.testing.assert_allclose(analysis.trace(layer, ids)["h"], ops.convert_to_numpy(layer(ids)), atol=1e-6)


@pytest.mark.parametrize("make", [layers.PeepholeLSTM, lambda *a, **k: layers.SRPeepholeLSTM(*a, 3, **k)])
@pytest.mark.parametrize("masked", [False, True])
def test_peepholes_are_traced_in_mixed_precision(make, masked):
    layer = make(4, dtype="mixed_bfloat16", return_sequences=True)
    rng = np.random.default_rng(0)
    inputs, mask = rng.normal(size=(2, 5, 3)).astype("float32"), np.array([[1, 1, 0, 1, 0], [0, 1, 1, 1, 1]], bool)
    outputs = keras.ops.convert_to_numpy(keras.ops.cast(layer(inputs, mask=mask if masked else None), "float32"))
    traced = analysis.trace(layer, inputs, mask=mask if masked else None)
    begun = np.cumsum(mask, axis=1) > 0 if masked else np.ones((2, 5), bool)
    np.testing.assert_allclose(traced["h"][begun].astype("float32"), outputs[begun], atol=0.02)
    gates = traced["i"].astype("float32")[mask if masked else begun]
    assert ((gates > 0) & (gates < 1)).all()


@pytest.mark.parametrize("training", [True, False])
def test_the_mask_of_an_embedding_reaches_a_layer_called_with_training(training):
    ids = keras.Input((None,), dtype="int32")
    layer = layers.SRGRU(4, 3)
    states = layer(keras.layers.Embedding(6, 2, mask_zero=True)(ids), training=training)
    model = keras.Model(ids, keras.layers.Dense(2)(states))
    traced = analysis.trace(model, np.array([[1, 2, 3, 0, 0], [4, 1, 5, 2, 3]]))
    assert np.isnan(traced["alpha"][0, 3:]).all()
    np.testing.assert_array_equal(traced["h"][0, 4], traced["h"][0, 2])
    assert not np.isnan(traced["alpha"][1]).any()


@pytest.mark.parametrize("mask", [None, MASK], ids=["no mask", "mask"])
@pytest.mark.parametrize("name", ["GRU", "LSTM", "SRGRU", "MinimalRNN"])
def test_both_directions_are_at_the_steps_that_they_read(name, mask):
    keras.utils.set_random_seed(1)
    layer = keras.layers.Bidirectional(LAYERS[name](return_sequences=True))
    x = batch()
    expected = ops.convert_to_numpy(layer(x, mask=mask))
    found = analysis.trace(layer, x, mask=mask)
    assert {part.split("/")[0] for part in found} == {"forward", "backward"}
    read = MASK if mask is not None else np.ones_like(MASK)
    np.testing.assert_array_equal(found.read, read)
    both = np.concatenate([found["forward/h"], found["backward/h"]], axis=-1)
    np.testing.assert_allclose(both[read], expected[read], atol=1e-6)
    backward = analysis.trace(layer.backward_layer, x, mask=mask)
    for part, values in backward.items():
        np.testing.assert_array_equal(found[f"backward/{part}"], values[:, ::-1])


def test_nested_lists_are_read_as_arrays():
    model = nested(layers.SRGRU(UNITS, K), inside=False)
    ids = [[1, 2, 3, 0], [2, 5, 0, 0]]
    np.testing.assert_array_equal(analysis.trace(model, ids)["h"], analysis.trace(model, np.array(ids))["h"])


def test_every_layer_of_a_model_is_traced_under_its_name():
    keras.utils.set_random_seed(2)
    model = keras.Sequential(
        [
            keras.layers.Embedding(7, FEATURES, mask_zero=True),
            passing_masks_on(keras.layers.Bidirectional(keras.layers.GRU(3, return_sequences=True), name="first")),
            layers.SRGRU(UNITS, K, return_sequences=True, name="second"),
            keras.layers.LSTM(2, name="third"),
            keras.layers.Dense(1),
        ]
    )
    ids = np.array([[1, 2, 3, 4, 0], [5, 6, 1, 2, 3]])
    model(ids)
    found = analysis.trace(model, ids)
    embedded, mask = model.layers[0](ids), ids > 0
    for part in ("forward", "backward"):
        alone = analysis.trace(getattr(model.layers[1], f"{part}_layer"), embedded, mask=mask)["h"]
        np.testing.assert_array_equal(found[f"first/{part}/h"], alone if part == "forward" else alone[:, ::-1])
    second = analysis.trace(model.layers[2], model.layers[1](embedded, mask=mask), mask=mask)
    np.testing.assert_allclose(found["second/alpha"], second["alpha"], atol=1e-6)
    output = ops.convert_to_numpy(model(ids))
    np.testing.assert_allclose(ops.convert_to_numpy(model.layers[-1](found["third/h"][:, -1])), output, atol=1e-6)
    assert "third/c" in found
    assert "first/forward/h" in str(found)
    assert "first/forward/h" in found._repr_html_()


def nested(*parts: keras.layers.Layer, inside: bool) -> keras.Model:
    """Ids, an Embedding with a mask, and the parts, in the model itself or in one inside it."""
    ids = keras.Input((None,), dtype="int32")
    x = keras.layers.Embedding(7, FEATURES, mask_zero=True)(ids)
    for part in [keras.Sequential([keras.Input((None, FEATURES)), *parts], name="inner")] if inside else parts:
        x = part(x)
    return keras.Model(ids, keras.layers.Dense(1)(x))


@pytest.mark.filterwarnings("ignore:Layer 'inner'.*was passed an input with a mask")
def test_layers_of_nested_models_are_read_as_those_of_the_model():
    keras.utils.set_random_seed(2)
    lower = passing_masks_on(keras.layers.LSTM(3, return_sequences=True))
    parts = [keras.layers.Dropout(0.5), lower, layers.SRGRU(UNITS, K)]
    flat, inner = nested(*parts, inside=False), nested(*parts, inside=True)
    inner.layers[1].set_weights(flat.layers[1].get_weights())
    inner.layers[-1].set_weights(flat.layers[-1].get_weights())
    ids = np.array([[1, 2, 3, 4, 0], [5, 0, 0, 0, 0]])
    found, expected = analysis.trace(inner, ids), analysis.trace(flat, ids)
    assert set(found) == {f"inner/{name}" for name in expected}
    for name, values in expected.items():
        np.testing.assert_allclose(found[f"inner/{name}"], values, atol=1e-6)


@pytest.mark.filterwarnings("ignore:Layer 'inner'.*was passed an input with a mask")
def test_one_layer_of_a_nested_model_is_that_of_the_model():
    keras.utils.set_random_seed(3)
    layer = layers.SRGRU(UNITS, K)
    flat = nested(layer, inside=False)
    inner = nested(layer, inside=True)
    inner.layers[1].set_weights(flat.layers[1].get_weights())
    inner.layers[-1].set_weights(flat.layers[-1].get_weights())
    ids = np.array([[1, 2, 3, 4], [5, 2, 2, 1]])
    for call in (
        lambda model: analysis.transition_probabilities(model, ids),
        lambda model: analysis.input_output_jacobian(model, ids, lag=2),
        lambda model: analysis.prototypes(model, ids).outputs,
        lambda model: automata.extract(model, alphabet=with_token_ids({"a": 1, "b": 2}, 3, None)).entropy,
    ):
        np.testing.assert_allclose(call(inner), call(flat), atol=1e-6)


@pytest.mark.parametrize("name", LAYERS)
def test_the_next_step_goes_on_from_a_state_that_is_set(name):
    keras.utils.set_random_seed(3)
    layer = LAYERS[name]()
    layer(batch())
    plain = analysis.trace(layer, batch())
    states = ["h", "c"] if "c" in plain else ["h"]
    rng = np.random.default_rng(0)
    states_set = [rng.normal(size=(3, plain[state].shape[-1])).astype("float32") for state in states]
    found = analysis.trace(layer, batch(), set={2: states_set if len(states) > 1 else states_set[0]})
    for state, values in zip(states, states_set, strict=True):
        np.testing.assert_array_equal(found[state][:, 2], values)
        np.testing.assert_array_equal(found[state][:, :2], plain[state][:, :2])
    # From there the layer itself goes on: its last output from this initial state.
    continued = layer(batch()[:, 3:], initial_state=[ops.convert_to_tensor(one) for one in states_set])
    np.testing.assert_allclose(found["h"][:, -1], ops.convert_to_numpy(continued), atol=1e-6)


def test_refuses_invalid_arguments():
    trace, probabilities = analysis.trace, analysis.transition_probabilities
    both, ones = keras.layers.Bidirectional, np.ones(UNITS)

    def refused(sentence, call, *arguments, **options):
        with pytest.raises(ValueError, match=sentence):
            call(*arguments, **options)

    unread = np.array([[True] * 6, [False] * 6, [True] * 6])
    refused("mask that is False at every step of sequence 2", trace, LAYERS["SRGRU"](), batch(), mask=unread)
    sentence = "a single state-regularized layer. Received: .*forward/centroid, backward/centroid"
    refused(sentence, probabilities, both(LAYERS["SRGRU"]()), batch())
    refused("must be a recurrent layer, keras.layers.RNN or a subclass", trace, keras.layers.Dense(2), batch())
    refused(
        "which has none. Use analysis.attribution, which reads any recurrent layer, or build it of layers.SRLSTM",
        probabilities,
        keras.layers.GRU(3),
        batch(),
    )
    for step, state, rule in (
        (6, ones, r"integers in \[0, 5\]. Received: 6"),
        (-1, ones, "Received: -1"),
        (1.5, ones, "Received: 1.5"),
        (1, np.zeros(5), r"of shape \(4,\), with or without the batch of 3 in front. Received: \(5,\)"),
        (1, np.inf * ones, "finite"),
        (1, [ones, ones], r"Received: \(2, 4\) for set\[1\]"),
    ):
        refused(rule, trace, LAYERS["GRU"](), batch(), set={step: state})
    sentence = "`set` must be used with a single recurrent layer. Received: a network with forward, backward"
    refused(sentence, trace, both(keras.layers.GRU(UNITS)), batch(), set={1: ones})


@pytest.mark.parametrize(
    "read",
    [
        analysis.trace,
        analysis.attribution,
        lambda model, x: analysis.jacobian_singular_values(model, x, lags=[1]),
        analysis.lyapunov_exponents,
    ],
    ids=["trace", "attribution", "jacobians", "lyapunov"],
)
def test_a_single_sequence_is_refused_in_one_sentence(read):
    model = keras.Sequential([keras.Input((5, 3)), keras.layers.LSTM(4), keras.layers.Dense(1)])
    with pytest.raises(
        ValueError, match=r"must be a batch .* \(None, 5, 3\). Received: one of shape \(5, 3\). Pass inp"
    ):
        read(model, np.ones((5, 3), "float32"))
