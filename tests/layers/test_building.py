"""Every layer in every way in which Keras builds, copies, saves and exports it.

Keras builds a model on float placeholders, also one that will read ids: where a layer refuses them, a loaded model
keeps random weights, with no more than a warning, which fails a test here.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import keras
import numpy as np
import pytest

from keras_interp_rnn import automata, layers
from keras_interp_rnn.datasets import Alphabet
from tests.layers.common import numpy, refusal
from tests.layers.contract import BACKEND
from tests.layers.subjects import SUBJECTS, TRIED

pytestmark = pytest.mark.core(1)  # cases are seeds, sizes or another layer in the same way


BATCH, TIME, SYMBOLS = 2, 4, 5
IDS = np.random.default_rng(0).integers(SYMBOLS, size=(BATCH, TIME))


class Stack(NamedTuple):
    """Layers that read sequences."""

    name: str
    make: Callable[..., list[keras.layers.Layer]]  # arguments are those of its recurrent layer
    inputs: np.ndarray
    loops: bool = False

    @property
    def input(self) -> Any:
        return keras.Input(self.inputs.shape[1:], dtype=self.inputs.dtype.name)


def of_subject(subject: Any) -> Stack:
    inputs = subject.sample(batch=BATCH, time=TIME).inputs
    inputs = inputs.astype("int64" if subject.integers else "float32")
    return Stack(subject.name, lambda **flags: [subject.layer(dtype=None, **flags)], inputs, subject.loops)


def stacked(**flags: Any) -> list[keras.layers.Layer]:
    return [keras.layers.RNN([layers.ISANCell(3, SYMBOLS), layers.CFNCell(4)], **flags)]


STACKS = [
    *map(of_subject, TRIED),
    Stack("stacked cells", stacked, IDS[:, :, None]),
    Stack("an alphabet", lambda **flags: [Alphabet("abcde").layer(), layers.ISAN(4, SYMBOLS, **flags)], IDS),
    Stack(
        "word dropout",
        lambda **flags: [layers.WordDropout(0.5), keras.layers.Embedding(SYMBOLS, 3), layers.SRGRU(4, 3, **flags)],
        IDS,
    ),
    Stack("symbols", lambda **flags: [automata.SymbolEmbedding("abcd", 3), layers.SRLSTM(4, 3, **flags)], IDS),
]
IN_A_ROW = [stack for stack in STACKS if len(stack.make()) == 1]


def each(stacks: list[Stack]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("stack", [pytest.param(stack, id=stack.name) for stack in stacks])


every_stack = each(STACKS)
only_tensorflow = pytest.mark.skipif(BACKEND != "tensorflow", reason="TensorFlow's")


@keras.saving.register_keras_serializable(package="tests")
class Reader(keras.Model):
    """A subclassed model, which Keras builds by running it on placeholders."""

    def __init__(self, parts: list[keras.layers.Layer], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.parts, self.head = parts, keras.layers.Dense(2)

    def call(self, x: Any) -> Any:
        for part in self.parts:
            x = part(x)
        return self.head(x)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "parts": [keras.saving.serialize_keras_object(part) for part in self.parts]}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Reader:
        return cls([keras.saving.deserialize_keras_object(part) for part in config.pop("parts")], **config)


def run(parts: list[keras.layers.Layer], x: Any) -> np.ndarray:
    """The outputs of the layers one by one, on what they really read."""
    for part in parts:
        x = part(x)
    return numpy(x)


def assert_same(found: Any, expected: Any) -> None:
    found, expected = (np.asarray(numpy(x), "float32") for x in (found, expected))
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def assert_loads(model: keras.Model, inputs: np.ndarray, folder: Path) -> None:
    expected = numpy(model(inputs))
    model.save(folder / "model.keras")
    loaded = keras.models.load_model(folder / "model.keras")
    assert_same(loaded(inputs), expected)


class TestBuilding:
    @every_stack
    def test_a_sequential_model_without_an_input(self, stack: Stack, tmp_path: Path) -> None:
        model = keras.Sequential([*stack.make(), keras.layers.Dense(2)])
        outputs = numpy(model(stack.inputs))
        assert_same(outputs, run(model.layers, stack.inputs))
        assert_same(model.predict(stack.inputs, verbose=0), outputs)
        assert_loads(model, stack.inputs, tmp_path)

    @every_stack
    @pytest.mark.parametrize("batch", [None, BATCH])
    def test_a_sequential_model_built_for_a_shape(self, stack: Stack, batch: int | None) -> None:
        model = keras.Sequential([*stack.make(), keras.layers.Dense(2)])
        model.build((batch, *stack.inputs.shape[1:]))
        assert_same(model(stack.inputs), run(model.layers, stack.inputs))

    @every_stack
    def test_a_layer_of_a_configuration(self, stack: Stack) -> None:
        parts = stack.make()
        expected = run(parts, stack.inputs)
        again = [type(part).from_config(part.get_config()) for part in parts]
        for part, built in zip(again, parts, strict=True):
            part.build_from_config(built.get_build_config())
            part.set_weights(built.get_weights())
        assert_same(run(again, stack.inputs), expected)

    @every_stack
    @pytest.mark.parametrize("float_input", [False, True])
    def test_a_functional_model_and_its_clone(self, stack: Stack, float_input: bool) -> None:
        parts, x = stack.make(), stack.input
        inputs = keras.Input(x.shape[1:]) if float_input else x
        x = inputs
        for part in parts:
            x = part(x)
        model = keras.Model(inputs, x)
        clone = keras.models.clone_model(model)
        clone.set_weights(model.get_weights())
        for one in (model, clone):
            assert_same(one(stack.inputs), run(parts, stack.inputs))

    @pytest.mark.skipif(BACKEND != "jax", reason="JAX's")
    @every_stack
    def test_a_stateless_call(self, stack: Stack) -> None:
        model = keras.Sequential([*stack.make(), keras.layers.Dense(2)])
        model.build((None, *stack.inputs.shape[1:]))
        weights = ([v.value for v in some] for some in (model.trainable_variables, model.non_trainable_variables))
        outputs, _ = model.stateless_call(*weights, stack.inputs)
        assert_same(outputs, run(model.layers, stack.inputs))


class TestSaving:
    @every_stack
    def test_a_subclassed_model(self, stack: Stack, tmp_path: Path) -> None:
        assert_loads(Reader(stack.make()), stack.inputs, tmp_path)

    @each(IN_A_ROW)
    def test_a_bidirectional_model(self, stack: Stack, tmp_path: Path) -> None:
        assert_loads(Reader([keras.layers.Bidirectional(*stack.make())]), stack.inputs, tmp_path)

    @each(IN_A_ROW)
    @pytest.mark.parametrize("subclassed", [False, True])
    def test_distributed_over_time(self, stack: Stack, subclassed: bool, tmp_path: Path) -> None:
        inputs = np.stack([stack.inputs, stack.inputs[:, ::-1]], axis=1)
        parts = [keras.layers.TimeDistributed(*stack.make())]
        if subclassed:
            model = Reader(parts)
        else:
            model = keras.Sequential([keras.Input(inputs.shape[1:], dtype=inputs.dtype.name), *parts])
        assert_loads(model, inputs, tmp_path)

    @each([stack for stack in STACKS if stack.loops])
    def test_a_cell_in_the_loop_of_keras(self, stack: Stack, tmp_path: Path) -> None:
        [layer] = stack.make()
        inputs = stack.inputs if stack.inputs.ndim == 3 else stack.inputs[:, :, None]
        cell = type(layer.cell).from_config(layer.cell.get_config())
        assert_loads(Reader([keras.layers.RNN(cell)]), inputs, tmp_path)

    @each([stack for stack in IN_A_ROW if stack.name in SUBJECTS])  # Keras builds no stateful layer of its own so
    def test_a_stateful_layer(self, stack: Stack, tmp_path: Path) -> None:
        [layer] = stack.make(stateful=True)
        model = Reader([layer])
        model(stack.inputs)
        layer.reset_state()
        assert_loads(model, stack.inputs, tmp_path)

    @pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16"])
    @each([stack for stack in IN_A_ROW if stack.inputs.dtype.kind == "i"])
    def test_a_bidirectional_model_of_mixed_precision(
        self, stack: Stack, policy: str, global_policy: Callable[[str], None], tmp_path: Path
    ) -> None:
        """Placeholders are rounded to half precision, which would round ids."""
        global_policy(policy)
        assert_loads(Reader([keras.layers.Bidirectional(*stack.make())]), stack.inputs, tmp_path)


class TestExport:
    @pytest.mark.matrix
    @only_tensorflow
    @every_stack
    @pytest.mark.parametrize("subclassed", [False, True])
    def test_a_saved_model(self, stack: Stack, subclassed: bool, tmp_path: Path) -> None:
        """Inputs have the dtype with which the model was built."""
        import tensorflow as tf

        parts = stack.make()
        model = Reader(parts) if subclassed else keras.Sequential([*parts, keras.layers.Dense(2)])
        expected = numpy(model(stack.inputs))
        model.export(tmp_path / "served", verbose=False)
        served = tf.saved_model.load(str(tmp_path / "served"))
        [dtype] = {spec.dtype for spec in served.serve.input_signature or served.serve.concrete_functions[0].inputs[:1]}
        assert_same(served.serve(tf.cast(stack.inputs, dtype)), expected)


class TestPaths:
    """Variables have a path each: Keras's checkpoints and .h5 files know them by it."""

    @each(IN_A_ROW)
    def test_variable_paths_of_several_layers_differ(self, stack: Stack) -> None:
        x = keras.Input(batch_shape=stack.inputs.shape, dtype=stack.inputs.dtype.name)
        outputs = [
            *(stack.make(**flags)[0](x) for flags in ({}, {}, {"stateful": True}, {"stateful": True})),
            keras.layers.Bidirectional(*stack.make())(x),
        ]
        model = keras.Model(x, keras.layers.Concatenate()(outputs))
        paths = [variable.path for variable in model.variables]
        assert len(set(paths)) == len(paths), sorted(path for path in paths if paths.count(path) > 1)
        model.compile("adam", "mse")
        assert set(model.get_state_tree()) >= {"trainable_variables", "non_trainable_variables"}

    @each(IN_A_ROW)
    def test_weights_in_an_h5_file_load(self, stack: Stack, tmp_path: Path) -> None:
        x = stack.input
        model = keras.Model(x, keras.layers.Bidirectional(*stack.make())(x))
        model.save_weights(tmp_path / "model.weights.h5")
        again = keras.models.clone_model(model)
        again.load_weights(tmp_path / "model.weights.h5")
        assert_same(again(stack.inputs), model(stack.inputs))


class TestFractions:
    """Ids may come as floats, which Keras makes of them; what is no id is refused."""

    READERS = {
        "ISAN": lambda: layers.ISAN(4, SYMBOLS, autocast=False),
        "FactoredISAN": lambda: layers.FactoredISAN(4, 2, SYMBOLS, autocast=False),
        "ISANCell": lambda: functools.partial(layers.ISANCell(4, SYMBOLS), states=keras.ops.ones((TIME * BATCH, 4))),
        "WordDropout": lambda: layers.WordDropout(0.5, autocast=False),
    }
    every_reader = pytest.mark.parametrize("reader", READERS)

    @staticmethod
    def floats(reader: str) -> np.ndarray:
        return (IDS.reshape(-1, 1) if reader == "ISANCell" else IDS).astype("float32")

    @every_reader
    def test_integer_valued_floats_are_ids(self, reader: str) -> None:
        layer, floats = self.READERS[reader](), self.floats(reader)
        found, expected = layer(floats), layer(floats.astype("int32"))
        assert_same(*((found[0], expected[0]) if reader == "ISANCell" else (found, expected)))

    @every_reader
    @pytest.mark.parametrize("value", [0.5, np.nan])
    def test_floats_that_are_no_integers_are_refused(self, reader: str, value: float) -> None:
        floats = self.floats(reader)
        floats[1, 0] = value
        with refusal(f"Inputs of {reader} must be integer ids", "Received: ", "dtype=float32."):
            self.READERS[reader]()(floats)

    @every_reader
    def test_ids_in_half_precision_are_refused(self, reader: str) -> None:
        floats = keras.ops.cast(self.floats(reader), "bfloat16")
        with refusal(f"Inputs of {reader} must be integer ids", "Received: ", "dtype=bfloat16."):
            self.READERS[reader]()(floats)

    @only_tensorflow
    def test_a_compiled_function_stops_at_a_fraction(self) -> None:
        import tensorflow as tf

        layer = layers.ISAN(4, SYMBOLS)
        floats = self.floats("ISAN")
        compiled = tf.function(layer)
        compiled(tf.constant(floats))
        floats[0, 1] += 0.5
        with pytest.raises(tf.errors.InvalidArgumentError, match="ids must lie in"):
            compiled(tf.constant(floats))
