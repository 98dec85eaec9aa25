"""How far two computations of one number may lie apart. The only place with such bounds, each with its reason."""

from typing import Any

import keras
import numpy as np

TOLERANCES = {
    # Some hundred products, summed in another order: about 1e-15 seen.
    ("numpy", "float64"): 1e-12,
    # Trajectories and gradients, sums of some thousand such: about 1e-14 seen.
    ("tensorflow", "float64"): 1e-10,
    ("jax", "float64"): 1e-10,  # with JAX_ENABLE_X64, see tests/conftest.py
    # Keras 3.15: keras.ops.tanh goes through float32 on JAX, whatever it is given. The tests of networks with tanh ask
    # for this bound, until the Keras named below.
    ("jax, tanh", "float64"): 3e-6,
    # Keras 3.15: keras.ops.matmul, where and others go through float32 on torch, whatever they are given. To become
    # 1e-10 with the first Keras whose keras.backend.result_type("float64") is float64 there.
    ("torch", "float64"): 3e-6,
    # As in float64, with 2^-24 for 2^-53: about 3e-6 seen.
    ("tensorflow", "float32"): 3e-5,
    ("jax", "float32"): 3e-5,
    ("torch", "float32"): 3e-5,
}


def atol_of_layer(tight: float) -> float:
    """For what a float64 layer computes: `tight`, or on torch, where Keras goes through float32, what that allows."""
    return max(tight, TOLERANCES["torch", "float64"]) if keras.backend.backend() == "torch" else tight


def assert_close(actual: Any, expected: Any, dtype: str, backend: str | None = None) -> None:
    """Raises unless `actual` has this dtype and lies close to `expected`, relative to its largest entry.

    Args:
        actual: tensor of the backend, or NumPy array.
        expected: array of the same shape, of any dtype.
        dtype: of `actual`; a test in float64 that ran in float32 would otherwise pass by chance.
        backend: key of `TOLERANCES`; by default Keras's.
    """
    backend = backend or keras.backend.backend()
    actual, expected = keras.ops.convert_to_numpy(actual), keras.ops.convert_to_numpy(expected)
    allowed = (dtype, "float32") if backend == "torch" else (dtype,)
    assert actual.dtype in allowed, f"computed in {actual.dtype}, not {dtype}"
    assert actual.shape == expected.shape, f"shape {actual.shape}, expected {expected.shape}"
    bound = TOLERANCES[backend, dtype] * max(1.0, np.abs(expected).max(initial=0.0))
    np.testing.assert_allclose(actual, expected, rtol=0, atol=bound)
