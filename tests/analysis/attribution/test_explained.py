"""The output that is explained: the logit under a softmax or a sigmoid, in whatever way a network has it."""

import keras
import numpy as np
import pytest
from keras import ops
from scipy.special import expit, softmax

from keras_interp_rnn import analysis, layers
from tests.oracles import shapley

FEATURES, STEPS, OUTPUTS = 3, 4, 3
Dense, Input, Model = keras.layers.Dense, keras.Input, keras.Model


def functional(last):
    x = Input((STEPS, FEATURES))
    return Model(x, last(Dense(OUTPUTS)(keras.layers.LSTM(4)(x))))


def sequential(*last, sequences=False):
    return keras.Sequential([Input((STEPS, FEATURES)), keras.layers.LSTM(4, return_sequences=sequences), *last])


def nested(name):
    return sequential(keras.Sequential([Input((4,)), Dense(OUTPUTS, activation=name)]))


def graph(last):
    """A graph that is not one layer after the other."""
    x = Input((STEPS, FEATURES))
    states = keras.layers.LSTM(FEATURES, return_sequences=True)(x)
    return Model(x, last(keras.layers.GRU(4)(keras.layers.Add()([x, states]))))


def of_steps(name):
    return sequential(keras.layers.TimeDistributed(Dense(OUTPUTS, activation=name)), sequences=True)


HEADS = {
    "a Dense layer": lambda name: sequential(Dense(OUTPUTS, activation=name)),
    "a function of keras.ops in a Dense layer": lambda name: sequential(
        Dense(OUTPUTS, activation=ops.softmax if name == "softmax" else ops.sigmoid)
    ),
    "an Activation": lambda name: sequential(Dense(OUTPUTS), keras.layers.Activation(name)),
    "dropout after it": lambda name: sequential(Dense(OUTPUTS, activation=name), keras.layers.Dropout(0.5)),
    "an operation": lambda name: functional(ops.softmax if name == "softmax" else ops.sigmoid),
    "TimeDistributed": of_steps,
    "TimeDistributed activation": lambda name: sequential(
        Dense(OUTPUTS), keras.layers.TimeDistributed(keras.layers.Activation(name)), sequences=True
    ),
    "a nested model": nested,
    "a graph": lambda name: graph(Dense(OUTPUTS, activation=name)),
    "a graph with an Activation": lambda name: graph(lambda x: keras.layers.Activation(name)(Dense(OUTPUTS)(x))),
    "a graph with an operation": lambda name: graph(
        lambda x: (ops.softmax if name == "softmax" else ops.sigmoid)(Dense(OUTPUTS)(x))
    ),
    "a graph with a nested model": lambda name: graph(nested_head(name)),
}


def nested_head(name):
    return keras.Sequential([Input((4,)), Dense(OUTPUTS, activation=name)])


def layers_of(model):
    return [x for layer in model.layers for x in (layers_of(layer) if isinstance(layer, Model) else [layer])]


def randomized(model):
    rng = np.random.default_rng(0)
    for weight in model.trainable_weights:
        weight.assign(rng.normal(size=weight.shape) * 1.5)
    return model


def computed(model, x):
    found = np.asarray(ops.convert_to_numpy(model(x)), np.float64)
    return found[:, -1] if found.ndim == 3 else found


def inverse(probabilities, name):
    """Logits, of a softmax but for a constant."""
    return np.log(probabilities) - (0 if name == "softmax" else np.log1p(-probabilities))


@pytest.mark.core(6)
@pytest.mark.parametrize("name", ["softmax", "sigmoid"])
@pytest.mark.parametrize("head", HEADS)
def test_the_logit_is_explained_in_whatever_way_a_network_makes_its_probabilities(head, name):
    model = randomized(HEADS[head](name))
    x = np.random.default_rng(1).normal(size=(2, STEPS, FEATURES)).astype("float32")
    split = analysis.attribution(model, x, target=[0, 1, 2])
    assert split.unit == {"softmax": "logit", "sigmoid": "log-odds"}[name]
    probabilities = computed(model, x)
    np.testing.assert_allclose(split.probability, probabilities, atol=1e-5)
    activate = (lambda logits: softmax(logits, axis=-1)) if name == "softmax" else expit
    np.testing.assert_allclose(activate(split.output), probabilities, atol=1e-5)
    assert split.difference < 1e-5
    # By hand: the states that the last Dense layer reads, times its kernel, and its bias.
    dense = [layer for layer in layers_of(model) if layer.weights][-1]
    dense = getattr(dense, "layer", dense)
    assert split.residual < 1e-12
    for shares, row in zip(split.shares, x, strict=True):

        def value(variants):
            seen = []
            call = dense.call
            dense.call = lambda states, **options: (seen.append(states), call(states, **options))[1]
            model(variants.astype("float32"))
            del dense.call
            states = np.asarray(ops.convert_to_numpy(seen[-1]), np.float64)
            kernel, bias = (np.asarray(ops.convert_to_numpy(w), np.float64) for w in (dense.kernel, dense.bias))
            return (states[:, -1] if states.ndim == 3 else states) @ kernel + bias

        expected = shapley.of_steps(value, row, np.zeros_like(row), np.arange(STEPS))
        np.testing.assert_allclose(shares, expected, atol=1e-5)
    # Of the probability the sum is another one.
    other = analysis.attribution(model, x, target=[0, 1, 2], of="probability")
    assert (other.unit, other.probability) == ("probability", None)
    np.testing.assert_allclose(other.output, probabilities, atol=1e-5)
    for shares, row in zip(other.shares, x, strict=True):
        expected = shapley.of_steps(lambda some: computed(model, some), row, np.zeros_like(row), np.arange(STEPS))
        np.testing.assert_allclose(shares, expected, atol=1e-5)


@pytest.mark.core(1)
@pytest.mark.parametrize("method", ["telescoping", "path_integral", "occlusion"])
def test_other_methods_explain_the_logit_too(method):
    model = randomized(HEADS["a graph"]("softmax"))
    x = np.random.default_rng(1).normal(size=(1, STEPS, FEATURES)).astype("float32")
    split = analysis.attribution(model, x, method=method)
    shapley_values = analysis.attribution(model, x)
    np.testing.assert_allclose(split.output, shapley_values.output)
    assert split.unit == "logit"
    assert analysis.attribution(model, x, method=method, of="probability").output == pytest.approx(
        float(split.probability[0]), abs=1e-6
    )


def test_a_class_that_is_certain_has_shares():
    """Its probability is 1 in float32 with either half of the steps, which would have no share in it."""
    model = sequential(Dense(2, "softmax"))
    for weight in model.trainable_weights:
        weight.assign(np.full(weight.shape, 0.3) * np.sign(np.arange(weight.shape[-1]) - 0.5))
    model.layers[-1].kernel.assign(np.outer(np.ones(4), [60.0, -60.0]))
    x = np.ones((1, STEPS, FEATURES), "float32")
    split = analysis.attribution(model, x, target=int(computed(model, x).argmax()))
    assert split.probability[0] > 1 - 1e-6
    assert np.abs(split.shares).min() > 0.1
    of_probability = analysis.attribution(model, x, target=int(split.targets[0]), of="probability")
    assert np.abs(split.shares).sum() > 3 * np.abs(of_probability.shares).sum()


@pytest.mark.parametrize("activation", [None, "linear", "tanh", "relu"])
def test_other_outputs_are_explained_as_they_are(activation):
    model = randomized(sequential(Dense(OUTPUTS, activation=activation)))
    x = np.random.default_rng(1).normal(size=(1, STEPS, FEATURES)).astype("float32")
    logit, probability = (analysis.attribution(model, x, target=1, of=of) for of in ("logit", "probability"))
    assert (logit.unit, logit.probability) == ("", None)
    np.testing.assert_array_equal(logit.shares, probability.shares)
    np.testing.assert_allclose(logit.output, computed(model, x)[:, 1], atol=1e-6)


def test_softmax_along_another_axis_makes_no_logits_of_the_outputs():
    model = randomized(sequential(Dense(OUTPUTS), keras.layers.Softmax(axis=1), sequences=True))
    x = np.random.default_rng(1).normal(size=(1, STEPS, FEATURES)).astype("float32")
    split = analysis.attribution(model, x, target=1)
    assert split.unit == ""
    np.testing.assert_allclose(split.output, computed(model, x)[:, 1], atol=1e-6)


def test_half_precision_has_logits():
    def dense(x):
        return Dense(OUTPUTS, "softmax", dtype="mixed_float16")(x)

    for model in (sequential(Dense(OUTPUTS, "softmax", dtype="mixed_float16")), graph(dense)):
        x = np.random.default_rng(1).normal(size=(2, STEPS, FEATURES)).astype("float32")
        split = analysis.attribution(randomized(model), x, target=[0, 1, 2])
        assert split.unit == "logit"
        np.testing.assert_allclose(softmax(split.output, axis=-1), computed(model, x), atol=2e-3)
        assert split.residual < 1e-3


@pytest.mark.parametrize("name", ["softmax", "sigmoid"])
def test_an_isan_and_an_lstm_under_one_head_have_shares_in_one_unit(name):
    ids = np.array([[0, 3, 1, 2]])
    lstm = [keras.layers.Embedding(5, 3), keras.layers.LSTM(4)]
    for parts, method in (([layers.ISAN(4, 5)], "contributions"), (lstm, "shapley")):
        model = randomized(keras.Sequential([Input((None,), dtype="int32"), *parts, Dense(2, name)]))
        split = analysis.attribution(model, ids, target=1)
        assert (split.method, split.unit) == (method, {"softmax": "logit", "sigmoid": "log-odds"}[name])
        both = analysis.attribution(model, ids, target=[0, 1])
        activate = (lambda logits: softmax(logits, axis=-1)) if name == "softmax" else expit
        np.testing.assert_allclose(activate(both.output), computed(model, ids), atol=1e-5)
        np.testing.assert_allclose(split.probability, computed(model, ids)[:, 1], atol=1e-5)
        assert analysis.attribution(model, ids, target=1, of="probability").method == "shapley"
    model = keras.Sequential([Input((None,), dtype="int32"), layers.ISAN(4, 5), Dense(2, name)])
    with pytest.raises(ValueError, match=r"Contributions are of the .* before a .*Choose method='shapley'"):
        analysis.attribution(model, ids, method="contributions", of="probability")
