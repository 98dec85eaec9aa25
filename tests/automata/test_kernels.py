"""Measured errors of the backend's tanh, sigmoid and exp, which a certificate assumes to be small."""

import math

import keras
import numpy as np
import pytest

from keras_interp_rnn import automata, layers
from keras_interp_rnn._alphabet import with_token_ids
from keras_interp_rnn.automata import tomita
from keras_interp_rnn.automata.certificates import _bounds, _kernels
from tests.automata.networks import network_of


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_no_error_exceeds_the_measured_one(dtype):
    """At 300 other arguments, compared with `math`."""
    errors = dict(_kernels.measured(dtype))
    assert list(errors) == ["tanh", "sigmoid", "exp"]
    rng = np.random.default_rng(5)
    x = np.concatenate([rng.uniform(-30, 30, 100), rng.uniform(-1, 1, 200)]).astype(dtype)
    found = {name: keras.ops.convert_to_numpy(getattr(keras.ops, name)(x)) for name in ("tanh", "sigmoid")}
    unit = float(np.finfo(dtype).eps)
    # Keras's tanh and sigmoid of float64 on JAX are of float32.
    coarsest = float(np.finfo("float32" if keras.backend.backend() == "jax" else dtype).eps)
    for name, exact in (("tanh", math.tanh), ("sigmoid", lambda v: 1 / (1 + math.exp(-v)))):
        off = max(abs(float(y) - exact(float(v))) for v, y in zip(x, found[name], strict=True))
        assert off <= errors[name] + unit
        assert 0 < errors[name] < 8 * coarsest
    below = -np.abs(x)
    exponentials = keras.ops.convert_to_numpy(keras.ops.exp(below))
    off = max(abs(float(y) / math.exp(float(v)) - 1) for v, y in zip(below, exponentials, strict=True))
    assert off <= errors["exp"] + unit
    assert 0 < errors["exp"] < 16 * unit


def test_a_certificate_states_the_measured_errors():
    certificate = automata.certify(network_of(tomita(2)), tomita(2))
    assert certificate.function_errors == dict(_kernels.measured("float32"))
    assert max(certificate.function_errors.values()) < _bounds.FUNCTION_ERROR
    assert "on this machine they are within 2^-2" in str(certificate)
    assert "within 2^-20 of their values" in str(certificate)


@pytest.mark.parametrize("name", ["tanh", "sigmoid", "exp", "softmax"])
@pytest.mark.parametrize("off", [1e-5, np.nan])
def test_rejects_a_function_with_a_larger_error(monkeypatch, name, off):
    """At a few of its arguments alone."""
    true = getattr(keras.ops, name)

    def worse(x, **options):
        y = true(x, **options)
        some = keras.ops.abs(x - 0.5) < 0.1 if name in ("tanh", "sigmoid") else keras.ops.abs(x + 0.5) < 0.1
        return keras.ops.where(some, y * (1 + off), y)

    monkeypatch.setattr(keras.ops, name, worse)
    _kernels._measured.cache_clear()
    try:
        with pytest.raises(ValueError, match=r"tanh and sigmoid must be within .* Received: (tanh|sigmoid|exp) of"):
            automata.certify(network_of(tomita(1)), tomita(1))
    finally:
        _kernels._measured.cache_clear()


@pytest.mark.filterwarnings("ignore:Explicitly requested dtype float64")
@pytest.mark.skipif(keras.backend.backend() != "jax", reason="JAX alone computes float64 in float32 unless told")
def test_rejects_float64_that_jax_computes_in_float32():
    import jax

    word = keras.layers.Embedding(4, 3, mask_zero=True, dtype="float64")
    parts = [word, layers.SRGRU(4, 3, dtype="float64"), keras.layers.Dense(1, dtype="float64")]
    with jax.enable_x64(False):
        model = keras.Sequential([keras.Input((None,), dtype="int32"), *parts])
        with pytest.raises(ValueError, match="layers in float64, for which jax takes float32"):
            automata.certify(model, tomita(1), alphabet=with_token_ids({"0": 2, "1": 3}, 1, None))
