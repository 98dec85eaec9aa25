"""Every layer in every format that Keras exports on a backend: the table of docs/deploy.md names these tests."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest

from keras_interp_rnn import layers
from tests.layers.common import numpy
from tests.tolerances import assert_close

pytestmark = pytest.mark.core(1)  # cases are seeds, sizes or another layer in the same way


BACKEND = keras.backend.backend()
SYMBOLS, BATCH, TIME = 6, 3, 7
LAYERS = {
    "ISAN": lambda **flags: layers.ISAN(9, SYMBOLS, **flags),
    "FactoredISAN": lambda **flags: layers.FactoredISAN(9, 3, SYMBOLS, **flags),
    "MinimalRNN": lambda **flags: layers.MinimalRNN(8, **flags),
    "CFN": lambda **flags: layers.CFN(8, **flags),
    "PeepholeLSTM": lambda **flags: layers.PeepholeLSTM(8, **flags),
    "SRGRU": lambda **flags: layers.SRGRU(8, 4, **flags),
}
every_layer = pytest.mark.parametrize("kind", LAYERS)
Run = Callable[[list[np.ndarray]], Any]
"""One step of a model: from its inputs to its outputs."""
SIGNATURE = [keras.InputSpec(shape=(BATCH, TIME), dtype="int32", name="ids")]


def on(*backends: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(BACKEND not in backends, reason=f"exported on {' and '.join(backends)}")


def traced(test: Any) -> Any:
    """A test of a file made by `torch.jit.trace`, which Keras 3.15 calls for OpenVINO and falls back to for ONNX.

    Its trace holds one shape, and it warns wherever a shape is looked at or a number becomes a tensor.
    """
    messages = (
        ":DeprecationWarning",
        "Converting a tensor to a Python",
        r"torch\.\w+ results are registered as constants",
    )
    for message in messages:
        test = pytest.mark.filterwarnings(f"ignore:{message}")(test)
    return test


def model_of(kind: str, batch: int | None = None, time: int | None = None, **flags) -> keras.Model:
    """Logits over ids; layers of real-valued inputs read an embedding."""
    ids = keras.Input((time,), batch_size=batch, dtype="int32", name="ids")
    read = ids if "ISAN" in kind else keras.layers.Embedding(SYMBOLS, 5)(ids)
    states = LAYERS[kind](**{"return_sequences": True, **flags})(read)
    model = keras.Model(ids, keras.layers.Dense(SYMBOLS)(states))
    rng = np.random.default_rng(0)
    model.set_weights([rng.normal(size=weight.shape) / 2 for weight in model.weights])
    model(ids_of(batch or BATCH, time or TIME))
    return model


def ids_of(batch: int = BATCH, time: int = TIME) -> np.ndarray:
    return np.random.default_rng(batch * time).integers(SYMBOLS, size=(batch, time)).astype("int32")


@on("tensorflow")
@pytest.mark.filterwarnings("ignore:In the future `np.object`:FutureWarning")  # tf2onnx 1.17
@every_layer
def test_onnx_reads_any_length(kind: str, tmp_path: Path) -> None:
    pytest.importorskip("tf2onnx")
    onnxruntime = pytest.importorskip("onnxruntime")
    model = model_of(kind)
    model.export(tmp_path / "model.onnx", format="onnx", verbose=False)
    session = onnxruntime.InferenceSession(tmp_path / "model.onnx")
    for batch, time in ((3, 7), (1, 7), (3, 1), (2, 12)):
        [found] = session.run(None, {session.get_inputs()[0].name: ids_of(batch, time)})
        assert_close(found, model(ids_of(batch, time)), "float32")


@on("torch")
@traced
@every_layer
def test_onnx_of_a_fixed_length(kind: str, tmp_path: Path) -> None:
    pytest.importorskip("onnxscript")
    onnxruntime = pytest.importorskip("onnxruntime")
    model = model_of(kind)
    model.export(tmp_path / "model.onnx", format="onnx", verbose=False, input_signature=SIGNATURE)
    session = onnxruntime.InferenceSession(tmp_path / "model.onnx")
    [found] = session.run(None, {session.get_inputs()[0].name: ids_of()})
    assert_close(found, model(ids_of()), "float32")


@on("torch")
@pytest.mark.filterwarnings("ignore:No complete tensor found in the group:UserWarning")
@every_layer
def test_torch_export(kind: str, tmp_path: Path) -> None:
    import torch

    model = model_of(kind)
    model.export(tmp_path / "model.pt2", format="torch", verbose=False, input_signature=SIGNATURE)
    found = torch.export.load(tmp_path / "model.pt2").module()(torch.tensor(ids_of()))
    assert_close(found, model(ids_of()), "float32")


@on("jax")
@pytest.mark.filterwarnings("ignore:The `native_serialization` parameter:DeprecationWarning")  # TensorFlow or Keras
@every_layer
def test_saved_model_from_jax(kind: str, tmp_path: Path) -> None:
    import tensorflow as tf

    model = model_of(kind, **({"fused": False} if kind == "ISAN" else {}))
    model.export(tmp_path / "served", verbose=False)
    served = tf.saved_model.load(tmp_path / "served")
    for batch, time in ((3, 7), (1, 7), (3, 1)):
        assert_close(served.serve(ids_of(batch, time)).numpy(), model(ids_of(batch, time)), "float32")


@on("tensorflow")
@pytest.mark.filterwarnings("ignore:.*tf.lite.Interpreter is deprecated")
@every_layer
def test_litert_unrolled_needs_builtins_alone(kind: str, tmp_path: Path) -> None:
    import tensorflow as tf

    model = model_of(kind, time=TIME, unroll=True)
    model.export(tmp_path / "model.tflite", format="litert", verbose=False)
    interpreter = tf.lite.Interpreter(str(tmp_path / "model.tflite"))
    [place] = interpreter.get_input_details()
    interpreter.resize_tensor_input(place["index"], (BATCH, TIME))
    interpreter.allocate_tensors()  # fails where an operation is TensorFlow's own
    interpreter.set_tensor(place["index"], ids_of())
    interpreter.invoke()
    assert_close(interpreter.get_tensor(interpreter.get_output_details()[0]["index"]), model(ids_of()), "float32")


@on("tensorflow")
@every_layer
def test_openvino_unrolled(kind: str, tmp_path: Path) -> None:
    openvino = pytest.importorskip("openvino")
    model = model_of(kind, time=TIME, unroll=True)
    model.export(str(tmp_path / "model.xml"), format="openvino", verbose=False)
    # Else products are in bfloat16 where the processor has it.
    exact = {"INFERENCE_PRECISION_HINT": "f32"}
    compiled = openvino.Core().compile_model(tmp_path / "model.xml", "CPU", exact)
    assert_close(compiled([ids_of()])[compiled.output(0)], model(ids_of()), "float32")


@on("torch")
@traced
@every_layer
def test_openvino_of_a_fixed_length(kind: str, tmp_path: Path) -> None:
    openvino = pytest.importorskip("openvino")
    model = model_of(kind)
    model.export(str(tmp_path / "model.xml"), format="openvino", verbose=False, input_signature=SIGNATURE)
    exact = {"INFERENCE_PRECISION_HINT": "f32"}
    compiled = openvino.Core().compile_model(tmp_path / "model.xml", "CPU", exact)
    assert_close(compiled([ids_of()])[compiled.output(0)], model(ids_of()), "float32")


@every_layer
def test_a_stream_is_the_whole_sequence(kind: str) -> None:
    """One symbol in, one prediction out, the state kept from call to call; and reset."""
    whole, stream = model_of(kind), model_of(kind, 1, 1, stateful=True)
    stream.set_weights(whole.get_weights())
    [layer] = [layer for layer in stream.layers if isinstance(layer, keras.layers.RNN)]
    for text in (ids_of(1, 9), ids_of(1, 4)):
        layer.reset_state()
        found = [numpy(stream(text[:, t : t + 1])) for t in range(text.shape[1])]
        assert_close(np.concatenate(found, axis=1), whole(text), "float32")


def step_of(whole: keras.Model) -> keras.Model:
    """One step of this model: (symbol, states) -> (logits, new states)."""
    [layer] = [layer for layer in whole.layers if isinstance(layer, keras.layers.RNN)]
    tables = [layer for layer in whole.layers if isinstance(layer, keras.layers.Embedding)]
    read = symbol = keras.Input((1,), batch_size=1, dtype="int32", name="symbol")
    for table in tables:
        read = table(read)
    sizes = keras.tree.flatten(layer.state_size)
    states = [keras.Input((size,), batch_size=1, name=f"state_{i}") for i, size in enumerate(sizes)]
    flags = {"return_sequences": False, "return_state": True, "unroll": True}
    one = type(layer).from_config({**layer.get_config(), **flags})
    output, *new = one(read, initial_state=states)
    one.set_weights(layer.get_weights())
    step = keras.Model([symbol, *states], [whole.layers[-1](output), *new])
    step([np.zeros(x.shape, x.dtype) for x in step.inputs])  # Keras exports what has been called
    return step


def assert_steps_are_the_sequence(run: Run, whole: keras.Model) -> None:
    [layer] = [layer for layer in whole.layers if isinstance(layer, keras.layers.RNN)]
    states = [numpy(start) for start in keras.tree.flatten(layer.get_initial_state(1))]
    text, found = ids_of(1, 9), []
    for t in range(text.shape[1]):
        logits, *states = map(numpy, run([text[:, t : t + 1], *states]))
        found.append(logits)
    assert_close(np.stack(found, axis=1), whole(text), "float32")


@every_layer
def test_one_step_with_its_states_is_the_sequence(kind: str) -> None:
    whole = model_of(kind)
    assert_steps_are_the_sequence(step_of(whole), whole)


@on("tensorflow")
@every_layer
def test_compiled_steps_are_the_sequence(kind: str) -> None:
    import tensorflow as tf

    whole, stream = model_of(kind), model_of(kind, 1, 1, stateful=True)
    stream.set_weights(whole.get_weights())
    compiled = tf.function(stream)
    assert_steps_are_the_sequence(tf.function(step_of(whole)), whole)
    compiled(ids_of(1, 1))
    [layer] = [layer for layer in stream.layers if isinstance(layer, keras.layers.RNN)]
    layer.reset_state()
    assert_steps_are_the_sequence(lambda given: [compiled(given[0])[:, 0], *given[1:]], whole)


def in_onnx_runtime(path: Path, names: list[str]) -> Run:
    import onnxruntime

    session = onnxruntime.InferenceSession(path)
    return lambda given: session.run(None, dict(zip(names, given, strict=True)))


def in_litert(path: Path, names: list[str]) -> Run:
    import tensorflow as tf

    run = tf.lite.Interpreter(str(path)).get_signature_runner()

    def outputs(given: list[np.ndarray]) -> list[np.ndarray]:
        found = run(**dict(zip(names, given, strict=True)))
        return [found[f"output_{i}"] for i in range(len(found))]

    return outputs


def in_openvino(path: Path, names: list[str]) -> Run:
    import openvino

    compiled = openvino.Core().compile_model(path, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    return lambda given: list(compiled(given).values())[: len(names)]  # others are left over from its translation


RUNTIMES = {"onnx": in_onnx_runtime, "litert": in_litert, "openvino": in_openvino}


@on("tensorflow")
@pytest.mark.filterwarnings("ignore:In the future `np.object`:FutureWarning")  # tf2onnx 1.17
@pytest.mark.filterwarnings("ignore:.*tf.lite.Interpreter is deprecated")
@pytest.mark.parametrize(
    ("form", "ending", "needed"),
    [("onnx", "onnx", ["tf2onnx", "onnxruntime"]), ("litert", "tflite", []), ("openvino", "xml", ["openvino"])],
    ids=["onnx", "litert", "openvino"],
)
@every_layer
def test_exported_steps_are_the_sequence(kind: str, form: str, ending: str, needed: list[str], tmp_path: Path) -> None:
    """In LiteRT by builtins alone."""
    for package in needed:
        pytest.importorskip(package)
    whole = model_of(kind)
    step = step_of(whole)
    path = tmp_path / f"step.{ending}"
    step.export(str(path), format=form, verbose=False)
    assert_steps_are_the_sequence(RUNTIMES[form](path, [place.name for place in step.inputs]), whole)


def test_the_page_names_tests_that_exist() -> None:
    root = Path(__file__).parents[2]
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", (root / "docs" / "deploy.md").read_text())
    assert len(named) >= 9
    for path, name in named:
        assert f"def {name}(" in (root / path).read_text(), name
