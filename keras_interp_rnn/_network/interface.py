"""The inputs and outputs of a model: ids of which range, logits or probabilities."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import keras
import numpy as np
from keras import tree
from numpy.typing import NDArray

from keras_interp_rnn._arrays import check_id_range
from keras_interp_rnn._backend.trained_losses import are_quantities
from keras_interp_rnn._outputs import GivenOutputs
from keras_interp_rnn._program import operations as o
from keras_interp_rnn._program.graph import runs_its_graph
from keras_interp_rnn._program.read import RECURRENT, Program, needed, read
from keras_interp_rnn._program.values import forward, with_functions
from keras_interp_rnn._types import AnyArray


def predict_on_batch(model: keras.Model, inputs: object, batch_size: int) -> Any:
    """As `model.predict_on_batch`, `batch_size` rows of each output.

    Under a `tf.distribute` strategy every replica reads the whole batch, and Keras joins what they return. A model that
    cannot be compiled, as with `TimeDistributed` over steps of any number, is called as it is.
    """
    try:
        found = model.predict_on_batch(inputs)
    except Exception:  # of another kind on each backend; what the call raises is raised
        found = tree.map_structure(keras.ops.convert_to_numpy, model(inputs, training=False))
    return tree.map_structure(lambda rows: rows[:batch_size], found)


def last_activation(network: object) -> str | None:
    """The name of the activation that makes the first output of a Sequential or functional model.

    "linear" for a layer that could have one and has none, "" where no name is known; None if there is no graph.
    """
    if not isinstance(network, keras.Model):
        return ""
    if not runs_its_graph(network):
        return None
    program = read(network)
    makers = {value: operation for operation in program.operations for value in operation.makes}
    operation = makers.get(program.outputs[0])
    while isinstance(operation, o.Reshape):
        operation = makers.get(operation.reads[0])
    layer = None if operation is None else operation.layer
    if layer is None or isinstance(layer, RECURRENT):  # of a recurrent one the states are the outputs
        return ""
    layer = layer.layer if isinstance(layer, keras.layers.Wrapper) else layer
    function = getattr(layer, "activation", layer)
    name = getattr(function, "__name__", type(function).__name__)
    name = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower().replace("re_lu", "relu")  # of a class, as LeakyReLU
    known = getattr(keras.activations, name, None)
    if name == "softmax" and hasattr(function, "__name__") and function is not known:  # another of that name
        return ""
    return name if known is not None else ""


def ends_in_softmax(model: object) -> bool:
    """Whether the first output of a Sequential or functional model is that of a softmax layer or activation."""
    return last_activation(model) == "softmax"


def gives_probabilities(model: object, rows: AnyArray) -> bool:
    """Whether a model ends in a softmax; where no graph tells it, whether all outputs (rows, n) are distributions."""
    return ends_in_softmax(model) or bool((rows >= 0).all() and np.allclose(rows.sum(axis=-1), 1, atol=1e-3))


def share_no_probability(model: object, outputs: GivenOutputs | None, num_outputs: int) -> bool:
    """Whether outputs are quantities, or several that have a probability each, by a sigmoid."""
    return are_quantities(model, outputs) or (num_outputs > 1 and last_activation(model) == "sigmoid")


def check_logits(model: Any, outputs: AnyArray | None = None) -> None:
    """Raises ValueError if a model gives neither logits nor, by a softmax, probabilities: its head may have sigmoids.

    Args:
        outputs: that are no distributions. If they lie between 0 and 1, and no graph tells why, they are of sigmoids.
    """
    activation = last_activation(model)
    unknown = not activation and outputs is not None and bool(((outputs > 0) & (outputs < 1)).all())
    if unknown or activation not in ("linear", "softmax", "log_softmax", "", None):
        received = "outputs between 0 and 1, whose sums are not 1" if unknown else f"activation={activation!r}"
        raise ValueError(
            "A model that predicts the next symbol must end in logits or in a softmax over all symbols. Received: "
            f"{model.name}, with {received}. Train it with a linear head, or with a softmax."
        )


def vocabulary_sizes(model: keras.Model) -> list[int | None]:
    """For each input of a Sequential or functional model the number of its ids; None where it is not read as ids.

    Ids are what an Embedding reads, or a layer with a `vocabulary_size`, which may come after an `Identity`.
    """
    program = read(model)
    sizes: dict[o.Value, list[int]] = {value: [] for value in program.inputs}
    for operation in program.operations:
        for value in operation.reads[:1]:
            size = _vocabulary_size(operation) if value in sizes else None
            if size is not None:
                sizes[value].append(size)
    return [min(found, default=None) for found in sizes.values()]


def check_ids(model: keras.Model, inputs: Sequence[AnyArray]) -> None:
    """Raises ValueError if an input of a model holds ids that the model does not have, at steps that are read."""
    for i, (given, size) in enumerate(zip(inputs, vocabulary_sizes(model), strict=True)):
        if size is not None and not ((given >= 0) & (given < size)).all():
            read_at = _steps_read(read(model), inputs, i)
            given = given if read_at is None else np.where(read_at, given, 0)
        if size is not None:
            check_id_range(given, size)


def _steps_read(program: Program, inputs: Sequence[AnyArray], index: int) -> NDArray[np.bool_] | None:
    """The steps of ids (batch, time) that layers read under masks that they are given; None where one reads all."""
    ids = program.inputs[index]
    readers = [operation for operation in program.operations if ids in operation.reads]
    masks = [operation.mask for operation in readers if isinstance(operation, o.Recur) and operation.mask is not None]
    if len(masks) < len(readers):
        return None
    known = dict(zip(program.inputs, inputs, strict=True))
    forward(with_functions(needed(program.operations, masks)), known)
    found = np.any([known[mask] for mask in masks], axis=0)
    return np.asarray(found, bool) if found.shape == inputs[index].shape else None


def _vocabulary_size(operation: o.Operation) -> int | None:
    layer = operation.layer
    if isinstance(layer, keras.layers.Embedding):
        return int(layer.input_dim)
    if isinstance(layer, keras.layers.IntegerLookup):
        raise ValueError(
            f"A model must read the ids of its tables. Received: {layer.name} (IntegerLookup), which makes other "
            "ids of them. Pass these, and the model of the layers after it, keras.Model(layer.output, model.output)."
        )
    rank = len(operation.reads[0].shape)
    return getattr(layer, "vocabulary_size", None) if rank == 2 else None  # else it reads distributions
