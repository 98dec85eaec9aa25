"""Helpers of several test files of layers."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
from keras import ops

from keras_interp_rnn import _backend
from tests.tolerances import assert_close

ON_ACCELERATOR = bool(_backend.accelerator())

reads_ids_back = pytest.mark.skipif(ON_ACCELERATOR, reason="ids on an accelerator are not copied back to be checked")


def numpy(x: Any) -> np.ndarray:
    return ops.convert_to_numpy(x)


def tensor(x: Any) -> Any:
    return ops.convert_to_tensor(x)


def regex(*parts: str) -> str:
    """A pattern of these sentences in this order, with any text between them."""
    return ".*".join(re.escape(part) for part in parts)


def refusal(*parts: str) -> Any:
    """Expects a ValueError of these sentences in this order, with any text between them."""
    return pytest.raises(ValueError, match=regex(*parts))


def next_symbols(units: int) -> tuple[np.ndarray, np.ndarray]:
    """Texts in which each symbol is followed by the next, mostly."""
    rng = np.random.default_rng(units)
    text = (rng.integers(5, size=(16, 1)) + np.arange(12) + (rng.random((16, 12)) < 0.1)) % 5
    return text[:, :-1].astype("int32"), text[:, 1:].astype("int32")


def serialized(name: str, value: Any) -> Any:
    """An argument in a configuration that was written to JSON and read back."""
    for kind in (keras.initializers, keras.regularizers, keras.constraints):
        if name.endswith(kind.__name__.split(".")[-1].removesuffix("s")):
            value = kind.serialize(kind.get(value))
    if isinstance(value, keras.layers.Layer):
        value = keras.saving.serialize_keras_object(value)
    return json.loads(json.dumps(value))


IN_A_FRESH_PROCESS = """
import sys

import keras_interp_rnn
import keras, numpy

model_path, inputs_path, outputs_path = sys.argv[1:]
model = keras.models.load_model(model_path)
assert model.loss.name == "bits_per_symbol"
numpy.save(outputs_path, keras.ops.convert_to_numpy(model(numpy.load(inputs_path))))
"""


def assert_same_in_a_fresh_process(model: keras.Model, inputs: np.ndarray, folder: Path) -> None:
    paths = [folder / "model.keras", folder / "inputs.npy", folder / "outputs.npy"]
    model.save(paths[0])
    np.save(paths[1], inputs)
    environment = {name: value for name, value in os.environ.items() if name != "JAX_ENABLE_X64"}
    subprocess.run([sys.executable, "-c", IN_A_FRESH_PROCESS, *paths], env=environment, check=True, timeout=300)
    assert_close(np.load(paths[2]), model(inputs), "float32")
