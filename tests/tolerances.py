"""How far two computations of one number may lie apart. The only place with such bounds, each with its reason."""

from typing import Any

import keras
import numpy as np

TOLERANCES = {
    # Rounding of sums of some hundred products in another order: about 1e-14 seen, so four digits to spare.
    ("numpy", "float64"): 1e-12,
    ("tensorflow", "float64"): 1e-10,
    ("jax", "float64"): 1e-10,  # with JAX_ENABLE_X64, see tests/conftest.py
    ("torch", "float64"): 1e-10,
    # The same with 24 bits: some 1e-6 seen.
    ("tensorflow", "float32"): 3e-5,
    ("jax", "float32"): 3e-5,
    ("torch", "float32"): 3e-5,
}


def assert_close(actual: Any, expected: Any, dtype: str, backend: str | None = None) -> None:
    """Raises unless `actual` has this dtype and lies close to `expected`, relative to its largest entry.

    Args:
        actual: tensor of the backend, or NumPy array.
        expected: array of the same shape, of any dtype.
        dtype: of `actual`; a float64 test that ran in float32 would otherwise pass by a lax bound.
        backend: key of `TOLERANCES`; by default Keras's.
    """
    actual, expected = keras.ops.convert_to_numpy(actual), keras.ops.convert_to_numpy(expected)
    assert actual.dtype == dtype, f"computed in {actual.dtype}, not {dtype}"
    assert actual.shape == expected.shape, f"shape {actual.shape}, expected {expected.shape}"
    bound = TOLERANCES[backend or keras.backend.backend(), dtype] * max(1.0, np.abs(expected).max(initial=0.0))
    np.testing.assert_allclose(actual, expected, rtol=0, atol=bound)
