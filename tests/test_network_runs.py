"""The compiled function of a network computes what the network does, whatever is changed in it."""

import gc
import weakref

import keras
import numpy as np
import pytest
from keras import ops

from keras_interp_rnn import layers
from keras_interp_rnn._backend import network_runs
from keras_interp_rnn._backend.network_runs import own_outputs

L = keras.layers
IDS = np.array([[1, 2, 0, 0], [3, 1, 2, 0]], "int32")


def of_ids(recurrent=None, *above):
    keras.utils.set_random_seed(1)
    model = keras.Sequential(
        [
            keras.Input((None,), dtype="int32"),
            L.Embedding(5, 3, mask_zero=True, name="embedding"),
            recurrent or L.LSTM(4, name="recurrent"),
            *(above or [L.Dense(2, activation="softmax", name="head")]),
        ]
    )
    random_weights(model)
    return model


def random_weights(model):
    rng = np.random.default_rng(2)
    model.set_weights([rng.normal(size=w.shape).astype(w.dtype) for w in model.get_weights()])


def run_often(model, x):
    """Runs it until it is compiled, where it can be."""
    for _ in range(network_runs.AS_IT_IS + 2):
        own_outputs(model)(x)
    known = network_runs._RUNS.get(model)
    return known is not None and known.compiled is not None


def set_weights(model):
    model.set_weights([0.5 * w for w in model.get_weights()])


def set_activation(model):
    model.get_layer("head").activation = keras.activations.sigmoid


def set_order(model):
    model.get_layer("recurrent").go_backwards = True


def replace_variable(model):
    head = model.get_layer("head")
    old = head._kernel
    head._tracker.unlock()
    head._kernel = keras.Variable(2 * ops.convert_to_numpy(old))


def patch_instance(model):
    head = model.get_layer("head")
    object.__setattr__(head, "call", lambda x, training=None: x[:, :2])


def patch_class(model):
    class Other(L.LSTM):
        pass

    model.get_layer("recurrent").__class__ = Other
    Other.call = lambda self, x, **_: 0 * ops.sum(x, axis=(1,))[:, :1] + ops.ones((1, 4))


CHANGES = [set_weights, set_activation, set_order, replace_variable, patch_instance, patch_class]


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_is_seen(change):
    model = of_ids()
    was_compiled = run_often(model, IDS)
    assert was_compiled == (keras.backend.backend() == "tensorflow")
    before = ops.convert_to_numpy(model(IDS, training=False))

    change(model)

    after = ops.convert_to_numpy(model(IDS, training=False))
    assert np.abs(after - before).max() > 1e-3
    for _ in range(network_runs.AS_IT_IS + 2):
        np.testing.assert_allclose(ops.convert_to_numpy(own_outputs(model)(IDS)), after, atol=1e-6)


def test_a_layer_that_is_adapted_again_is_seen():
    x = np.arange(12, dtype="float32").reshape(1, 4, 3)
    normalization = L.Normalization(axis=-1)
    normalization.adapt(x)
    model = keras.Sequential([keras.Input((None, 3)), normalization, L.GRU(2)])
    run_often(model, x)
    normalization.adapt(3 * x + 1)
    np.testing.assert_allclose(
        ops.convert_to_numpy(own_outputs(model)(x)), ops.convert_to_numpy(model(x, training=False)), atol=1e-6
    )


@pytest.mark.parametrize("constants", [np.array([1.0, 2.0, 3.0], "float32"), [1.0, 2.0, 3.0]], ids=["array", "list"])
def test_constants_that_are_written_over_are_seen(constants):
    x = np.arange(12, dtype="float32").reshape(1, 4, 3)
    model = keras.Sequential([keras.Input((None, 3)), L.Rescaling(constants), L.GRU(2)])
    run_often(model, x)
    constants[0] = -5.0
    np.testing.assert_allclose(
        ops.convert_to_numpy(own_outputs(model)(x)), ops.convert_to_numpy(model(x, training=False)), atol=1e-6
    )


def test_an_opening_runs_one_function_all_along():
    keras.utils.set_random_seed(0)
    model = keras.Sequential([keras.Input((5, 3)), L.GRU(8, dtype="mixed_bfloat16"), L.Dense(3, dtype="bfloat16")])
    random_weights(model)
    x = np.random.default_rng(0).normal(size=(4, 5, 3)).astype("float32")
    for _ in range(network_runs.AS_IT_IS + 2):
        outputs = own_outputs(model)
        found = [np.asarray(ops.convert_to_numpy(outputs(x)), "float32") for _ in range(network_runs.AS_IT_IS + 2)]
        assert all(np.array_equal(found[0], each) for each in found)


@pytest.mark.parametrize(
    "recurrent", [lambda: layers.SRLSTM(4, 3), lambda: L.Bidirectional(L.GRU(3)), lambda: L.GRU(4)]
)
def test_any_number_and_length_of_sequences(recurrent):
    model = of_ids(recurrent())
    run_often(model, IDS)
    for x in (IDS[:1], IDS[:, :2], np.ones((3, 7), "int64")):
        expected = ops.convert_to_numpy(model(x, training=False))
        np.testing.assert_allclose(ops.convert_to_numpy(own_outputs(model)(x)), expected, atol=1e-6)


@pytest.mark.parametrize(
    "above",
    [
        lambda: L.Lambda(lambda x: x + np.random.default_rng().normal()),
        lambda: L.Activation(lambda x: x + np.random.default_rng().normal()),
    ],
)
def test_functions_of_users_are_never_compiled(above):
    model = of_ids(None, above(), L.Dense(1))
    assert not run_often(model, IDS)
    found = [float(ops.convert_to_numpy(own_outputs(model)(IDS))[0, 0]) for _ in range(3)]
    assert len(set(found)) == 3


def test_an_error_is_that_of_the_network():
    model = of_ids()
    run_often(model, IDS)
    with pytest.raises(ValueError, match="Invalid input shape"):
        own_outputs(model)(np.ones((1, 2, 3, 4)))


def test_a_network_is_not_kept():
    model = of_ids()
    run_often(model, IDS)
    there = weakref.ref(model)
    del model
    gc.collect()
    assert there() is None
