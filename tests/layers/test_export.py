"""`model.export(format="onnx")` of an ISAN on its default path under TensorFlow."""

from pathlib import Path

import keras
import numpy as np
import pytest

from tests.samples import Sample, sample
from tests.tolerances import assert_close

if keras.backend.backend() != "tensorflow":
    pytest.skip("the paths are TensorFlow's", allow_module_level=True)

import tensorflow as tf

# All take the grouped path; with more than 64 symbols the rare ones go their own way in it.
SAMPLES = {
    "few symbols": {"vocabulary_size": 6, "units": 9},
    "many symbols": {"vocabulary_size": 70, "units": 96},
}
every_size = pytest.mark.parametrize("size", SAMPLES)
masked_or_not = pytest.mark.parametrize("mask", [None, "scattered"])


def model_of(some: Sample) -> keras.Model:
    ids = keras.Input((None,), dtype="int32")
    mask = None if some.mask is None else keras.Input((None,), dtype="bool")
    layer = some.layer(return_sequences=True, dtype="float32")
    model = keras.Model(ids if mask is None else [ids, mask], layer(ids, mask=mask))
    model(inputs_of(some))
    assert layer.chosen_path.name == "grouped"
    return model


def inputs_of(some: Sample) -> list[np.ndarray] | np.ndarray:
    return some.symbols if some.mask is None else [some.symbols, some.mask]


@every_size
@masked_or_not
def test_a_loop_writes_each_step_at_its_count(size: str, mask: str | None) -> None:
    """The one form of a loop with outputs that tf2onnx (1.17) translates: others end in an invalid file."""
    model = model_of(sample(mask=mask, **SAMPLES[size]))
    signature = [tf.TensorSpec(x.shape, x.dtype) for x in model.inputs]
    graph = tf.function(lambda *inputs: model(list(inputs) if mask else inputs[0])).get_concrete_function(*signature)
    bodies = [
        graph.graph._get_function(operation.get_attr("body").name).graph
        for operation in graph.graph.get_operations()
        if operation.type in ("While", "StatelessWhile")
    ]
    writes = [
        operation.inputs[1].op.type
        for body in bodies
        for operation in body.get_operations()
        if operation.type == "TensorListSetItem"
    ]
    assert writes == ["Placeholder"]


@pytest.mark.filterwarnings("ignore:In the future `np.object`:FutureWarning")  # tf2onnx 1.17
@every_size
@masked_or_not
def test_onnx_runtime_computes_the_same(size: str, mask: str | None, tmp_path: Path) -> None:
    pytest.importorskip("tf2onnx")
    onnxruntime = pytest.importorskip("onnxruntime")
    model = model_of(sample(mask=mask, **SAMPLES[size]))
    model.export(tmp_path / "model.onnx", format="onnx", verbose=False)
    session = onnxruntime.InferenceSession(tmp_path / "model.onnx")
    for seed, (batch, time) in enumerate([(3, 7), (1, 7), (3, 1), (1, 1)]):
        inputs = inputs_of(sample(seed, batch=batch, time=time, mask=mask, **SAMPLES[size]))
        given = inputs if isinstance(inputs, list) else [inputs]
        [found] = session.run(None, {place.name: x for place, x in zip(session.get_inputs(), given, strict=True)})
        assert_close(found, model(inputs), "float32")
