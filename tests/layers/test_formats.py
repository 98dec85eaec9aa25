"""Every layer in every format that Keras exports on a backend: the table of docs/deploy.md names these tests."""

from __future__ import annotations

import re
from pathlib import Path

import keras
import numpy as np
import pytest

from keras_interp_rnn import layers
from tests.layers.common import numpy
from tests.tolerances import assert_close

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
SIGNATURE = [keras.InputSpec(shape=(BATCH, TIME), dtype="int32", name="ids")]


def on(*backends: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(BACKEND not in backends, reason=f"exported on {' and '.join(backends)}")


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
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # Keras 3.15 falls back to torch's older exporter,
# whose trace holds one shape, and warns wherever a shape is looked at or a number becomes a tensor.
@pytest.mark.filterwarnings("ignore:Converting a tensor to a Python")
@pytest.mark.filterwarnings(r"ignore:torch\.\w+ results are registered as constants")
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


@every_layer
def test_a_stream_is_the_whole_sequence(kind: str) -> None:
    """One symbol in, one prediction out, the state kept from call to call; and begun anew."""
    whole, stream = model_of(kind), model_of(kind, 1, 1, stateful=True)
    stream.set_weights(whole.get_weights())
    [layer] = [layer for layer in stream.layers if isinstance(layer, keras.layers.RNN)]
    for text in (ids_of(1, 9), ids_of(1, 4)):
        layer.reset_state()
        found = [numpy(stream(text[:, t : t + 1])) for t in range(text.shape[1])]
        assert_close(np.concatenate(found, axis=1), whole(text), "float32")


def test_the_page_names_tests_that_exist() -> None:
    root = Path(__file__).parents[2]
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", (root / "docs" / "deploy.md").read_text())
    assert len(named) >= 9
    for path, name in named:
        assert f"def {name}(" in (root / path).read_text(), name
