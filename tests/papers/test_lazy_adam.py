"""LazyAdam beside Adam and beside Adam written out row by row."""

import keras
import numpy as np
import pytest

from examples.papers.lazy_adam import LazyAdam
from keras_interp_rnn import layers


def row_by_row(w, gradients, rate, beta_1=0.9, beta_2=0.999, epsilon=1e-7):
    """The docstring, a row at a time; every row counts the steps of all."""
    w, m, v = w.copy(), np.zeros_like(w), np.zeros_like(w)
    for t, gradient in enumerate(gradients, 1):
        for i in range(len(w)):
            if w.ndim == 1 or gradient[i].any():
                m[i] += (1 - beta_1) * (gradient[i] - m[i])
                v[i] += (1 - beta_2) * (gradient[i] ** 2 - v[i])
                w[i] -= rate * np.sqrt(1 - beta_2**t) / (1 - beta_1**t) * m[i] / (np.sqrt(v[i]) + epsilon)
    return w


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("shape", [(7,), (7, 2), (7, 3, 2)])
def test_rows_without_a_gradient_stay_as_they_are(seed, shape):
    rng = np.random.default_rng(seed)
    w = rng.normal(size=shape).astype("float32")
    there = (rng.random((6, 7)) < 0.4).reshape(6, 7, *[1] * (len(shape) - 1))
    gradients = (rng.normal(size=(6, *shape)) * there).astype("float32")
    variable, optimizer = keras.Variable(w), LazyAdam(0.1)
    for gradient in gradients:
        optimizer.apply([keras.ops.convert_to_tensor(gradient)], [variable])
    np.testing.assert_allclose(variable.numpy(), row_by_row(w, gradients, 0.1), atol=1e-5)
    never = ~there.reshape(6, 7).any(axis=0)
    np.testing.assert_array_equal(variable.numpy()[never], w[never])


def model(optimizer, *read):
    keras.utils.set_random_seed(3)
    # The constraint starts its search from the digits of the weights, so that one rounding makes another network.
    read = read or [layers.ISAN(4, 9, recurrent_constraint=None)]
    made = keras.Sequential([keras.Input((6,), dtype="int32"), *read, keras.layers.Dense(3)])
    made.compile(optimizer, keras.losses.SparseCategoricalCrossentropy(from_logits=True), jit_compile=False)
    return made


def data(symbols):
    rng = np.random.default_rng(0)
    return rng.integers(symbols, size=(40, 6)).astype("int32"), rng.integers(3, size=40).astype("int32")


def test_where_every_row_has_a_gradient_it_is_adam():
    x, y = data(9)
    lazy, adam = model(LazyAdam(0.01)), model(keras.optimizers.Adam(0.01))
    for made in (lazy, adam):
        made.fit(x, y, 40, epochs=8, verbose=0, shuffle=False)
    for one, other in zip(lazy.get_weights(), adam.get_weights(), strict=True):
        np.testing.assert_allclose(one, other, atol=2e-5)


def test_symbols_that_do_not_occur_keep_their_matrices_and_a_saved_model_goes_on(tmp_path):
    x, y = data(5)
    made = model(LazyAdam(0.02, beta_1=0.8, beta_2=0.9, epsilon=1e-4, global_clipnorm=1.0))
    before = made.layers[0].get_weights()[:2]
    made.fit(x, y, 8, epochs=3, verbose=0, shuffle=False)
    for old, new in zip(before, made.layers[0].get_weights()[:2], strict=True):
        np.testing.assert_array_equal(new[5:], old[5:])
        assert (new[:5] != old[:5]).reshape(5, -1).any(axis=1).all()
    made.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    assert loaded.optimizer.get_config() == made.optimizer.get_config()
    for one in (made, loaded):
        one.fit(x, y, 8, verbose=0, shuffle=False)
    for old, new in zip(made.get_weights(), loaded.get_weights(), strict=True):
        np.testing.assert_array_equal(old, new)


@pytest.mark.parametrize("clip", [None, 0.05])
def test_an_embedding_is_trained_as_by_its_dense_gradient(clip):
    """Repeated rows are summed before they are clipped and squared."""
    x, y = data(4)
    read = keras.layers.Embedding(9, 3), keras.layers.GlobalAveragePooling1D()
    made = model(LazyAdam(0.1, global_clipnorm=clip), *read)
    first = now = [w.astype("float64") for w in made.get_weights()]
    made.fit(x, y, 40, epochs=2, verbose=0, shuffle=False)
    gradients = []
    for _ in range(2):
        pooled = now[0][x].mean(axis=1)
        p = np.exp(pooled @ now[1] + now[2])
        p /= p.sum(axis=1, keepdims=True)
        delta = (p - np.eye(3)[y]) / len(x)
        of_table = np.zeros_like(now[0])
        np.add.at(of_table, x, (delta @ now[1].T)[:, None] / 6)
        found = [of_table, pooled.T @ delta, delta.sum(axis=0)]
        norm = np.sqrt(sum((g**2).sum() for g in found))
        gradients.append([g if clip is None else g * min(1, clip / norm) for g in found])
        now = [row_by_row(w, g, 0.1) for w, g in zip(first, zip(*gradients, strict=True), strict=True)]
    for found, wanted in zip(made.get_weights(), now, strict=True):
        np.testing.assert_allclose(found, wanted, atol=2e-4)
