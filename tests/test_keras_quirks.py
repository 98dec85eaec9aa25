"""Behaviour of Keras that differs from its documentation: each function of `_backend.keras_quirks` corrects it."""

import ast
import inspect
import re
import subprocess
import sys
from pathlib import Path

import keras
import numpy as np
import pytest
from keras import ops

from keras_interp_rnn import layers
from keras_interp_rnn._backend import keras_quirks

ROOT = Path(__file__).parents[1]
FUNCTIONS = {
    name: function
    for name, function in vars(keras_quirks).items()
    if inspect.isfunction(function) and function.__module__ == keras_quirks.__name__
}


def test_a_quirk_names_its_versions_and_its_test():
    for name, function in FUNCTIONS.items():
        written = inspect.getdoc(function)
        assert re.search(r"^Holds: Keras 3\.\d+", written, re.M), name
        [(path, test)] = re.findall(r"^Guarded by: (tests/\S+\.py)::(test_\w+)\.$", written, re.M)
        functions = {node.name for node in ast.walk(ast.parse((ROOT / path).read_text())) if hasattr(node, "name")}
        assert test in functions, f"{name} is guarded by {test}, which {path} does not have"


def test_placeholders_are_told_from_values():
    """Keras runs a model without `build` on them, and finds out the output of a layer by them."""
    seen = []

    class Seeing(keras.Model):
        def call(self, x):
            seen.append(keras_quirks.only_infers_shapes())
            return x

    model = Seeing()
    model(np.ones((2, 3)))
    assert seen[-1] is False
    model.build((2, 3))
    model.compute_output_spec(keras.KerasTensor((2, 3)))
    assert seen[-1] is True
    assert not keras_quirks.only_infers_shapes()


def test_a_walk_meets_layers_in_wrappers_cells_and_models():
    inner = keras.Sequential([keras.Input((6,)), keras.layers.Dense(2, name="inside a model")])
    cell = layers.StateRegularizedCell(keras.layers.GRUCell(3, name="inside a cell"), 2, name="inside a layer")
    ways = keras.layers.Bidirectional(layers.StateRegularizedRNN(cell, name="inside a wrapper"))
    model = keras.Sequential([keras.Input((None, 4)), ways, inner])
    met = {layer.name for layer in keras_quirks.walk_layers(model)}
    assert {
        "inside a model",
        "forward_inside a wrapper",
        "backward_inside a wrapper",
        "inside a layer",
        "inside a cell",
    } <= met
    assert model.name in met


def test_a_layer_that_passes_masks_on():
    layer = keras.layers.SimpleRNN(3, return_sequences=True)
    layer.supports_masking = False
    keras_quirks.pass_masks_on(layer)
    embedded = keras.layers.Embedding(5, 2, mask_zero=True)(np.array([[1, 2, 0]]))
    assert ops.convert_to_numpy(layer(embedded)._keras_mask).tolist() == [[True, True, False]]


def test_a_tensor_is_given_a_mask():
    embedded = keras.layers.Embedding(5, 2, mask_zero=True)(np.array([[1, 2, 0]]))
    for given in (None, [[False, True, True]]):
        masked = keras_quirks.with_mask(embedded, None if given is None else ops.convert_to_tensor(given))
        found = keras_quirks.mask_of(masked)
        assert given == (None if found is None else ops.convert_to_numpy(found).tolist())
        np.testing.assert_array_equal(ops.convert_to_numpy(masked), ops.convert_to_numpy(embedded))
    assert ops.convert_to_numpy(keras_quirks.mask_of(embedded)).tolist() == [[True, True, False]]


def test_a_callback_finds_the_others_and_the_call_of_fit():
    class Finds(keras.callbacks.Callback):
        def on_train_begin(self, logs=None):
            self.found, self.fit = keras_quirks.fit_around(self)
            self.found.append(last)  # the list is the one that `fit` goes through

    class Last(keras.callbacks.Callback):
        begun = False

        def on_train_begin(self, logs=None):
            self.begun = True

    finds, last, other = Finds(), Last(), keras.callbacks.Callback()
    model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    model.fit(np.zeros((1, 1)), np.zeros((1, 1)), verbose=0, callbacks=[finds, other])
    assert finds.found[:2] == [finds, other]
    assert finds.fit.f_code.co_name == "fit"
    assert last.begun
    assert keras_quirks.fit_around(finds) == ([finds], None)


def test_random_states_are_what_a_saved_model_leaves_out(tmp_path):
    model = keras.Sequential([keras.Input((50,)), keras.layers.Dropout(0.5, seed=1)])
    ones = np.ones((1, 50), "float32")
    model(ones, training=True)
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    states = keras_quirks.random_states(model)
    assert len(states) == 1
    for new, old in zip(keras_quirks.random_states(loaded), states, strict=True):
        new.assign(old)
    second = ops.convert_to_numpy(model(ones, training=True))
    np.testing.assert_array_equal(ops.convert_to_numpy(loaded(ones, training=True)), second)
    # What the loaded model drew was not the first numbers again.
    first = keras.Sequential([keras.Input((50,)), keras.layers.Dropout(0.5, seed=1)])(ones, training=True)
    assert (ops.convert_to_numpy(first) != second).any()


def test_a_tensor_knows_the_call_that_made_it():
    dense = keras.layers.Dense(3)
    first, second = keras.Input((4,)), keras.Input((4,))
    outputs = [dense(first), dense(second)]
    for inputs, output in zip([first, second], outputs, strict=True):
        operation, node = keras_quirks.made_by(output)
        assert operation is dense
        assert node.input_tensors == [inputs]
        assert node.output_tensors == [output]
    assert isinstance(keras_quirks.made_by(first)[0], keras.layers.InputLayer)


def test_only_operations_of_keras_have_a_name():
    operation, _ = keras_quirks.made_by(ops.expand_dims(keras.Input((4,), dtype="int32"), -1))
    assert keras_quirks.operation_name(operation) == "ExpandDims"

    class ExpandDims(keras.layers.Layer):
        def call(self, x):
            return x

    assert keras_quirks.operation_name(ExpandDims()) == ""


def test_a_cell_with_autocast_steps_by_itself():
    def step(x):
        return x

    assert keras_quirks.as_in_a_layer(keras.layers.GRUCell(2), step) is step


@pytest.mark.matrix  # the core trains under a strategy in test_devices.py
@pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="the strategies of tf.distribute")
def test_steps_of_an_optimizer_are_read_under_a_strategy():
    """In a process of its own: TensorFlow divides a CPU into devices before it is used."""
    program = """
import keras, numpy as np, tensorflow as tf
from keras_interp_rnn._backend.keras_quirks import optimizer_steps

tf.config.set_logical_device_configuration(
    tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 2
)
with tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"]).scope():
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
    assert optimizer_steps(model) == 0
    model.compile("sgd", "mse")
model.fit(np.ones((8, 3)), np.ones((8, 1)), batch_size=4, verbose=0)
try:
    int(model.optimizer.iterations)
except TypeError:
    print(optimizer_steps(model))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.stdout == "2\n", done.stderr
