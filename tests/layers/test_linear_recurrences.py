"""Initial weights of linear recurrences follow the laws of the papers, as in tests/oracles/linear_recurrences.py.

They are mapped back to the numbers from which they were made, which must be uniform in (0, 1).
"""

import dataclasses

import keras
import numpy as np

from keras_interp_rnn import equations, layers
from keras_interp_rnn.equations import NUMPY
from tests.layers.common import numpy, tensor
from tests.oracles import linear_recurrences as oracle
from tests.tolerances import atol_of_layer

MANY = 20_000


def weights(cell: keras.Layer, features: int) -> dict[str, np.ndarray]:
    cell.build((None, features))
    return {weight.name: numpy(weight).astype(float) for weight in cell.weights}


def assert_uniform(u: np.ndarray) -> None:
    """Kolmogorov's distance from the uniform distribution; a sample is further away once in 10^6 times."""
    assert 0 < u.min() < u.max() < 1
    assert np.abs(np.sort(u) - np.linspace(0, 1, len(u))).max() < 2.7 / np.sqrt(len(u))


def test_the_eigenvalues_of_an_lru_fill_a_ring():
    cell = layers.LRUCell(3, MANY, min_radius=0.4, max_radius=0.9, max_phase=3.0)
    found = weights(cell, features=5)
    area, turn = (np.exp(-2 * np.exp(found["decay"])) - 0.4**2) / (0.9**2 - 0.4**2), np.exp(found["phase"]) / 3.0
    for u in (area, turn):
        assert_uniform(u)
    assert abs(np.corrcoef(area, turn)[0, 1]) < 5 / np.sqrt(MANY)
    expected = oracle.ring_eigenvalues(area, turn, 0.4, 0.9, max_phase=3.0)
    for name, right in zip(("decay", "phase", "gain"), expected, strict=True):
        np.testing.assert_allclose(found[name], right, rtol=1e-4, atol=1e-4)


def test_an_lru_reads_and_writes_at_the_scale_of_its_paper():
    """B of variance 1 / (2 features) and C of 1 / states, both a part of a complex number."""
    found = weights(layers.LRUCell(50, 400), features=50)
    for name, variance in (("kernel", 1 / 100), ("output_kernel", 1 / 400), ("skip", 1.0)):
        drawn = found[name]
        assert abs(drawn.var() / variance - 1) < 5 * np.sqrt(2 / drawn.size), name


def test_the_decays_of_an_rg_lru_are_uniform():
    found = weights(layers.RGLRUCell(2_000, min_decay=0.5, max_decay=0.9), features=2_000)
    u = (np.exp(-8 * np.logaddexp(0, -found["decay"])) - 0.5) / (0.9 - 0.5)
    assert_uniform(u)
    np.testing.assert_allclose(found["decay"], oracle.rg_lru_lambda(u, 0.5, 0.9), rtol=1e-4)


def test_the_steps_of_a_gated_delta_net_are_uniform_in_their_logarithm():
    found = weights(layers.DeltaNetCell(2, MANY, 1, 1, gated=True), features=1)
    u = np.log(np.logaddexp(0, found["decay_bias"]) / 0.001) / np.log(100)
    assert_uniform(u)
    np.testing.assert_allclose(found["decay_bias"], oracle.step_bias(u), rtol=1e-4)
    assert_uniform(np.exp(found["rate"]) / 16)


def test_norms_of_matrix_states_are_computed_in_the_dtype_that_is_given():
    """A mean of keras.ops goes through float32 on JAX (Keras 3.15), whatever it is given."""
    rng = np.random.default_rng(0)
    read = rng.normal(size=(5, 6))
    kernels = {"kernel": np.zeros((3, 14)), "decay_kernel": None, "log_rate": None, "decay_bias": None}
    known = equations.DeltaNet(2, rng.normal(size=(6, 4)), rng.normal(size=3), None, **kernels)
    on_backend = dataclasses.replace(known, output_kernel=tensor(known.output_kernel), scale=tensor(known.scale))
    found = numpy(on_backend.read_out(keras.ops, tensor(read), None))
    np.testing.assert_allclose(found, known.read_out(NUMPY, read, None), rtol=0, atol=atol_of_layer(1e-14))


def test_a_positive_min_gru_that_begins_at_one_half_is_the_papers_log_space_form():
    rng = np.random.default_rng(0)
    layer = layers.MinGRU(4, positive=True, return_sequences=True)
    x = rng.normal(size=(2, 9, 3)).astype("float32")
    layer.build(x.shape)
    gates, candidates = np.split(x @ numpy(layer.cell.kernel).astype(float) + numpy(layer.cell.bias), 2, axis=-1)

    def log_g(a: np.ndarray) -> np.ndarray:
        return np.where(a >= 0, np.log(np.maximum(a, 0) + 0.5), -np.logaddexp(0, -a))

    decays = np.cumsum(-np.logaddexp(0, gates), axis=1)
    first = np.full((2, 1, 4), log_g(np.zeros(())))
    written = -np.logaddexp(0, -gates) + log_g(candidates) - decays
    expected = np.exp(decays + np.logaddexp.accumulate(np.concatenate([first, written], axis=1), axis=1)[:, 1:])
    found = numpy(layer(x, initial_state=np.full((2, 4), 0.5, "float32")))
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    assert np.abs(numpy(layer(x)) - expected)[:, 0].max() > 0.05  # a layer begins at 0
