"""What has to be settled before any test imports a backend."""

import os

# JAX turns float64 arrays into float32 unless told before its import: tests in float64 would test nothing.
os.environ.setdefault("JAX_ENABLE_X64", "1")

import keras
import pytest


@pytest.fixture(autouse=True)
def _same_random_numbers_in_any_order_of_tests() -> None:
    keras.utils.set_random_seed(0)
