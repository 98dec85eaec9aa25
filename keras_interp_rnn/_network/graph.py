"""Follows the graph of a Keras model from its inputs to its outputs, with values of any kind on its edges.

With tensors as values this runs the model, operation by operation; with descriptions as values it derives what every
tensor holds.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import re
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import keras
import numpy as np
from keras import ops, tree
from numpy.typing import NDArray

from keras_interp_rnn._backend.keras_quirks import made_by, mask_of, nodes_of, with_mask
from keras_interp_rnn._network.arrays import check_id_range
from keras_interp_rnn._types import Tensor

Value = TypeVar("Value")

PASSING_ON = (keras.layers.Identity, keras.layers.Dropout, keras.layers.Reshape)
"""Layers whose outputs are numbers of their inputs."""


def evaluate(
    model: keras.Model,
    inputs: Sequence[Value],
    call: Callable[[Any, Any, dict[int, Value]], Sequence[Value]],
    tensors: Sequence[keras.KerasTensor] | None = None,
) -> list[Value]:
    """The values of a model's outputs, or of other tensors of its graph, given those of its inputs.

    Args:
        model: Sequential or functional; nested models are operations like others.
        inputs: a value for each tensor of `model.inputs`.
        call: takes an operation, the node of this call, and the values known so far by the id of their tensor; returns
            a value for each output tensor of the node.
        tensors: whose values are returned; by default the outputs. Only the operations that they depend on are called.
    """
    known = {id(tensor): value for tensor, value in zip(tree.flatten(model.inputs), inputs, strict=True)}
    outputs = tree.flatten(model.outputs if tensors is None else list(tensors))
    waiting = list(outputs)
    while waiting:
        if id(waiting[-1]) in known:
            waiting.pop()
            continue
        operation, node = made_by(waiting[-1])
        missing = [tensor for tensor in node.input_tensors if id(tensor) not in known]
        if missing:
            waiting += missing
            continue
        values = call(operation, node, known)
        known.update((id(tensor), value) for tensor, value in zip(node.output_tensors, values, strict=True))
    return [known[id(tensor)] for tensor in outputs]


def runs_its_graph(model: keras.Model) -> bool:
    """Whether the model has a graph and runs nothing else: a subclass may override training, but not the call."""
    if not getattr(model, "inputs", None):
        return False
    for name in ("call", "__call__"):
        owner = next(part for part in type(model).__mro__ if name in vars(part))
        if owner.__module__.split(".")[0] != "keras":
            return False
    return True


def traced(model: keras.Model, symbolic: Any) -> keras.Model | None:
    """A functional model of what a subclass calls; None where its call is not made of layers and operations of Keras.

    Args:
        symbolic: the inputs, as `keras.Input` makes them.
    """
    training = {"training": False} if takes_training(model) else {}
    for call in (model.call, model):
        with contextlib.suppress(Exception):  # whatever a call raises that is no graph
            return functional(symbolic, call(symbolic, **training), model.name)
    return None


def functional(inputs: Any, outputs: Any, name: str) -> keras.Model:
    """`keras.Model`, whose tensors need not have the names of a dict of inputs."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="When providing `inputs` as a dict")
        return keras.Model(inputs, outputs, name=name)


def takes_training(model: Any) -> bool:
    """Whether the call of a model is told that it is not in training."""
    return "training" in inspect.signature(model.call).parameters


class Masked(NamedTuple):
    """A tensor of a model's graph when the model reads some inputs, and its mask; None where it has none."""

    tensor: Any
    mask: Any = None


Note = Callable[[Any, Any, Any, list[Masked]], None]
"""Takes an operation, the node of a call, the mask that the call is given, and its outputs."""


def run_with_masks(operation: Any, node: Any, known: dict[int, Masked], note: Note = lambda *_: None) -> list[Masked]:
    """The outputs of an operation outside training, with the masks that Keras passes on with them.

    Args:
        note: called for each operation that runs, those of nested models too.
    """
    args, kwargs, mask = read_by(operation, node, known)
    if isinstance(operation, keras.Model) and getattr(operation, "inputs", None):
        inside = functools.partial(run_with_masks, note=note)
        return evaluate(operation, [*map(Masked, tree.flatten(args[0]), tree.flatten(mask))], inside)
    tensors = tree.flatten(operation(*args, **kwargs))
    outputs = [Masked(x, mask_of(x)) for x in tensors]
    note(operation, node, mask, outputs)
    return outputs


def read_by(operation: Any, node: Any, known: dict[int, Masked]) -> tuple[tuple[Any, ...], dict[str, Any], Any]:
    """The arguments of a call, masks on their tensors, and the mask that it is given: its own, or that of its input."""
    reads = {id(tensor): known[id(tensor)] for tensor in node.input_tensors}
    args, kwargs = node.arguments.fill_in({key: with_mask(read.tensor, read.mask) for key, read in reads.items()})
    mask = kwargs.get("mask")
    if mask is None and node.arguments.args:
        mask = tree.map_structure(lambda x: reads[id(x)].mask if id(x) in reads else None, node.arguments.args[0])
    return args, kwargs, mask


def takes_mask(operation: Any) -> bool:
    """Whether an operation reads the mask of its first argument."""
    return isinstance(operation, keras.Layer) and "mask" in inspect.signature(operation.call).parameters


def mask_after(operation: Any, inputs: Any, mask: Any) -> Any:
    """The mask that an operation passes on; None where it passes on none."""
    is_layer = isinstance(operation, keras.layers.Layer)
    passes_on = is_layer and (operation.supports_masking or isinstance(operation, keras.layers.Embedding))
    return operation.compute_mask(inputs, mask) if passes_on else None


class _Way(NamedTuple):
    """Whether a tensor carries a mask, and the layer below it that was given one and dropped it."""

    masked: bool = False
    lost_by: Any = None


_DROP_MASKS = (keras.layers.RNN, keras.layers.Bidirectional, keras.layers.TimeDistributed)
"""Layers that pass on the mask that they are given before Keras 3.16, and not since."""


def warn_of_lost_masks(network: Any) -> None:
    """Warns where a layer reads steps that are masked for a recurrent layer below, which did not pass its mask on.

    It does since Keras 3.16 if it is one of `_DROP_MASKS` whose `supports_masking` nobody has set.
    """
    affected: dict[int, tuple[Any, Any]] = {}

    def note(operation: Any, node: Any, way: _Way) -> None:
        reads_mask = takes_mask(operation) and not isinstance(operation, _IGNORE_MASKS)
        if reads_mask and way.lost_by is not None and not way.masked:
            affected.setdefault(id(operation), (operation, way.lost_by))

    _follow_masks(network, note)
    for above, below in affected.values():
        warnings.warn(
            "Every layer is read with the mask that this Keras gives it. Received: "
            f"{network.name}, where {below.name} ({type(below).__name__}) does not pass its mask on, so that "
            f"{above.name} ({type(above).__name__}) reads masked steps too. If the network was trained with Keras "
            f"before 3.16, which passed it on, set `supports_masking = True` on {below.name}.",
            UserWarning,
            stacklevel=4,
        )


def _follow_masks(network: Any, note: Callable[[Any, Any, _Way], None]) -> None:
    """Calls `note` for each call in a model's graph with what becomes of the mask of its first input."""
    if not isinstance(network, keras.Model) or not getattr(network, "inputs", None):
        return

    def follow(operation: Any, node: Any, known: dict[int, _Way]) -> list[_Way]:
        ways = [known[id(tensor)] for tensor in node.input_tensors] or [_Way()]
        if isinstance(operation, keras.Model) and getattr(operation, "inputs", None):
            return evaluate(operation, ways[: len(operation.inputs)], follow)
        is_layer = isinstance(operation, keras.Layer)
        passes_on = is_layer and bool(operation.supports_masking)
        masked, lost_by = ways[0].masked or node.arguments.kwargs.get("mask") is not None, ways[0].lost_by
        note(operation, node, _Way(masked, lost_by))
        if masked and not passes_on and isinstance(operation, _DROP_MASKS):
            lost_by = operation
        elif not passes_on and not isinstance(operation, _DROP_MASKS):
            lost_by = None
        begins = is_layer and (getattr(operation, "mask_zero", False) or isinstance(operation, keras.layers.Masking))
        after = _Way(begins or (masked and passes_on), lost_by)
        return [after if len(tensor.shape) > 2 else _Way() for tensor in node.output_tensors]

    evaluate(network, [_Way()] * len(tree.flatten(network.inputs)), follow)


_IGNORE_MASKS = (keras.layers.Lambda, keras.layers.TimeDistributed, keras.Model)
"""Layers that take a mask and treat each step alike."""


def predict_on_batch(model: keras.Model, inputs: Any, batch_size: int) -> Any:
    """As `model.predict_on_batch`, `batch_size` rows of each output.

    Under a `tf.distribute` strategy every replica reads the whole batch, and Keras joins what they return.
    """
    return tree.map_structure(lambda rows: rows[:batch_size], model.predict_on_batch(inputs))


def place_of(tensor: Tensor, outputs: Sequence[Tensor]) -> int:
    """Which of the outputs of a call a tensor is."""
    return [id(output) for output in outputs].index(id(tensor))


def makes_mask(layer: Any) -> bool:
    """Whether a layer may make a mask of what it reads: an Embedding, a Masking, a user's layer."""
    own = type(layer).compute_mask.__module__.split(".")[0] not in ("keras", __name__.split(".")[0])
    return own or bool(getattr(layer, "mask_zero", False)) or isinstance(layer, keras.layers.Masking)


def last_activation(model: Any) -> str | None:
    """The name of the activation that makes the first output of a Sequential or functional model.

    "linear" for a layer that could have one and has none, "" where no name is known; None if there is no graph.
    """
    operation: Any = model
    node: Any = None
    tensor: Tensor | None = None
    while True:
        if isinstance(operation, keras.layers.TimeDistributed):
            operation = operation.layer
        elif isinstance(operation, keras.Model):
            outputs = tree.flatten(getattr(operation, "outputs", None))
            if not outputs or outputs[0] is None:  # a subclassed model
                return None
            tensor = outputs[0 if tensor is None else place_of(tensor, node.output_tensors)]
            operation, node = made_by(tensor)
        elif isinstance(operation, PASSING_ON) or (
            isinstance(operation, keras.layers.Activation) and operation.activation is keras.activations.linear
        ):
            tensor = node.input_tensors[0]
            operation, node = made_by(tensor)
        else:
            break
    if isinstance(operation, keras.layers.RNN):  # its states are the outputs
        return ""
    function = getattr(operation, "activation", operation)
    name = getattr(function, "__name__", type(function).__name__)
    name = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower().replace("re_lu", "relu")  # of a class, as LeakyReLU
    known = getattr(keras.activations, name, None)
    if name == "softmax" and hasattr(function, "__name__") and function is not known:  # another of that name
        return ""
    return name if known is not None else ""


def ends_in_softmax(model: Any) -> bool:
    """Whether the first output of a Sequential or functional model is that of a softmax layer or activation."""
    return last_activation(model) == "softmax"


def gives_probabilities(model: Any, rows: NDArray[Any]) -> bool:
    """Whether a model ends in a softmax; where no graph tells it, whether all outputs (rows, n) are distributions."""
    return ends_in_softmax(model) or bool((rows >= 0).all() and np.allclose(rows.sum(axis=-1), 1, atol=1e-3))


def check_logits(model: Any, outputs: NDArray[Any] | None = None) -> None:
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
    inputs = tree.flatten(model.inputs)
    sizes: list[int | None] = [None] * len(inputs)

    def note(operation: Any, node: Any, known: dict[int, int | None]) -> list[int | None]:
        source = known[id(node.input_tensors[0])] if node.input_tensors else None
        if source is not None:
            found = _vocabulary_size(operation, len(node.input_tensors[0].shape))
            sizes[source] = min((size for size in (found, sizes[source]) if size is not None), default=None)
        passed_on = source if isinstance(operation, keras.layers.Identity) else None
        return [passed_on] * len(node.output_tensors)

    numbered: list[int | None] = [*range(len(inputs))]
    evaluate(model, numbered, note)
    return sizes


def check_ids(model: keras.Model, inputs: Sequence[NDArray[Any]]) -> None:
    """Raises ValueError if an input of a model holds ids that the model does not have, at steps that are read."""
    for i, (given, size) in enumerate(zip(inputs, vocabulary_sizes(model), strict=True)):
        if size is not None and not ((given >= 0) & (given < size)).all():
            read = _steps_read(model, inputs, i)
            given = given if read is None else np.where(read, given, 0)
        if size is not None:
            check_id_range(given, size)


def _steps_read(model: keras.Model, inputs: Sequence[NDArray[Any]], index: int) -> NDArray[np.bool_] | None:
    """The steps of ids (batch, time) that layers read under masks that they are given; None where one reads all."""
    ids, readers = tree.flatten(model.inputs)[index], []

    def note(operation: Any, node: Any, _: Any) -> list[None]:
        readers.extend([node] if any(x is ids for x in node.input_tensors) else [])
        return [None] * len(node.output_tensors)

    evaluate(model, [None] * len(inputs), note)
    masks = [x for node in readers for name, x in node.arguments.kwargs.items() if name == "mask" and x is not None]
    if not all(isinstance(made_by(node.output_tensors[0])[0], keras.layers.RNN) for node in readers):
        return None
    if len(masks) < len(readers):
        return None
    found = evaluate(model, [Masked(ops.convert_to_tensor(x)) for x in inputs], run_with_masks, masks)
    read = np.any([ops.convert_to_numpy(x.tensor) for x in found], axis=0)
    return np.asarray(read, bool) if read.shape == inputs[index].shape else None


def _vocabulary_size(operation: Any, rank: int) -> int | None:
    if isinstance(operation, keras.layers.Embedding):
        return int(operation.input_dim)
    if isinstance(operation, keras.Model) and getattr(operation, "inputs", None):
        return vocabulary_sizes(operation)[0]
    if isinstance(operation, keras.layers.IntegerLookup):
        raise ValueError(
            f"A model must read the ids of its tables. Received: {operation.name} (IntegerLookup), which makes other "
            "ids of them. Pass these, and the model of the layers after it, keras.Model(layer.output, model.output)."
        )
    return getattr(operation, "vocabulary_size", None) if rank == 2 else None  # else it reads distributions


def call_of(model: keras.Model, layer: keras.layers.Layer) -> Any:
    """The node of a layer's call in a model's graph, with its input and output tensors; of several the first.

    The layer may have been called elsewhere too, as one that another model shares.

    Raises:
        ValueError: if the model does not call it: a nested model may.
    """
    calls = []

    def note(operation: Any, node: Any, _: Any) -> list[None]:
        calls.extend([node] if operation is layer else [])
        return [None] * len(node.output_tensors)

    evaluate(model, [None] * len(tree.flatten(model.inputs)), note)
    if not calls:
        raise ValueError(
            f"A layer must be one of the model's own layers here. Received: {layer.name}, which is not in the graph of "
            f"{model.name} itself. Pass the nested model that holds it, or a model of the same layers, not nested."
        )
    return min(calls, key=nodes_of(layer).index)
