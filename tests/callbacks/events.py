"""Event files, read back as TensorBoard reads them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import keras
import numpy as np
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.util import tensor_util

from keras_interp_rnn.layers import ISAN


def events(folder: Path) -> EventAccumulator:
    return EventAccumulator(str(folder), {"tensors": 0}, purge_orphaned_data=False).Reload()


def points(folder: Path, tag: str) -> list[tuple[int, np.ndarray]]:
    """All steps and values of a tag, in the order they were written."""
    found = events(folder).Tensors(f"interp_rnn/{tag}")
    return [(event.step, tensor_util.make_ndarray(event.tensor_proto)) for event in found]


def steps(folder: Path, tag: str) -> list[int]:
    return [step for step, _ in points(folder, tag)]


def described(folder: Path, tag: str) -> dict[str, Any]:
    """The description of a tag for the plugin."""
    found = events(folder).SummaryMetadata(f"interp_rnn/{tag}")
    assert found.plugin_data.plugin_name == "interp_rnn"
    assert found.data_class  # without one TensorBoard does not list the tag
    return json.loads(found.plugin_data.content)


def look(model: keras.Model, callback: keras.callbacks.Callback, loss: Any = "mse") -> None:
    """Lets a callback look at a model as before the first step of a training."""
    model.compile(keras.optimizers.SGD(0.0), loss)
    callback.set_model(model)
    callback.on_train_begin()
    callback.on_train_end()


def isan_network(*more: keras.layers.Layer, scale: float = 0.6, seed: int = 0) -> keras.Model:
    """Logits of three symbols, with random weights and without a constraint."""
    isan = ISAN(4, 3, return_sequences=True, recurrent_constraint=None)
    model = keras.Sequential([keras.Input((None,), dtype="int32"), isan, keras.layers.Dense(3), *more])
    rng = np.random.default_rng(seed)
    model.set_weights([scale * rng.normal(size=weight.shape) for weight in model.get_weights()])
    return model
