r"""A model as a certificate sees it: everything between the ids and the decision, recognized part by part.

A proof holds for the parts that it takes into account. So this is a closed list: the kinds of models, layers, dtypes
and operations whose arithmetic docs/notes/certificate.md describes. Anything else between the ids of a word and the
network's decision is refused by name, even if it would do no harm, and so is an option, an attribute or a method on any
object that the same layers do not have when they are built again (`_as_built`).
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import keras
import numpy as np
from keras import ops

from keras_interp_rnn import _backend, layers
from keras_interp_rnn._backend.keras_quirks import made_by
from keras_interp_rnn._cells import equations_of
from keras_interp_rnn._network import as_float64, check_finite
from keras_interp_rnn.automata.certificates._as_built import built_again, first_difference
from keras_interp_rnn.automata.certificates._proved import Proved
from keras_interp_rnn.automata.machines import WordEncoding
from keras_interp_rnn.automata.networks import Acceptor, Recognizer, SymbolEmbedding, require_memoryless
from keras_interp_rnn.equations import GRU, SimpleRNN, transitions

EMBEDDINGS = (keras.layers.Embedding, SymbolEmbedding)
RECURRENT = (layers.StateRegularizedRNN, layers.SRSimpleRNN, layers.SRGRU)
CELLS = (keras.layers.GRUCell, keras.layers.SimpleRNNCell)
"""Exact types: a subclass may compute something else."""

TRANSITIONS = (transitions.Mixture, transitions.SoftArgmax, transitions.Gumbel)

EXACT_IN_FLOAT32 = 2**24
"""Below, a float32 holds every integer."""


@dataclass(frozen=True, eq=False)
class Deployed:
    """A recognized model: as an acceptor of words, and its numbers."""

    acceptor: Acceptor
    numbers: Proved

    def temperature(self, requested: float | None = None) -> float:
        r"""$\tau$ as the layer holds it: the deployed one, or the one after `set_temperature(requested)`.

        With `learn_temperature` the layer holds $\log \tau$; this is the exact exponential of that.
        """
        cell = self.acceptor.layer.cell
        if requested is None:
            held = ops.convert_to_numpy(cell.log_temperature if cell.learn_temperature else cell.temperature)
        else:
            with np.errstate(over="ignore"):
                held = np.asarray(np.log(requested) if cell.learn_temperature else requested).astype(self.numbers.dtype)
        return float(np.exp(np.float64(held)) if cell.learn_temperature else np.float64(held))


def deployed(acceptor: Acceptor) -> Deployed:
    """The parts of a model, every one of them recognized.

    Raises:
        ValueError: for anything that is not on the list, or weights that are not finite.
    """
    if len(acceptor.layers) > 1:
        raise ValueError(
            "A certificate must be about one regularized layer, which reads the symbols themselves. Received: "
            f"{acceptor.model.name} with {[layer.name for layer in acceptor.layers]}; the upper ones read states, over "
            "which nothing is proved. Compare the automaton with the network by `extract(network).fidelity()`."
        )
    require_memoryless(acceptor)
    first, encoding, model = acceptor.first_id, acceptor.encoding, acceptor.model
    chain = _layers(model)
    embedding, layer, head = _parts(chain, model)
    _check_layer(layer, ends=encoding.end is not None)
    cell, inner = layer.cell, layer.cell.cell
    dtype = _dtype([*chain, cell, inner])
    if dtype == "float32":
        _check_products()
    _check_ids(model, encoding)
    try:
        found = first_difference(model, built_again(model, chain, dtype), model.name)
    except (TypeError, ValueError) as error:  # of Keras's constructors
        found = f"{model.name}, whose layers cannot be built again ({error})"
    if found is not None:
        raise ValueError(
            "Every object between the ids and the verdict must be as its class builds it, without options that a proof "
            f"does not know. Received: {found}. Build that model with these weights and certify it."
        )
    # Compiled before, they compute what the model then was; the next call compiles them again.
    vars(model).update(predict_function=None, test_function=None)
    check_finite(model)
    equations = equations_of(inner, as_float64)
    assert isinstance(equations, GRU | SimpleRNN)  # of the closed list of cells
    kernel = as_float64(head.kernel)
    bias = as_float64(head.bias) if head.use_bias else np.zeros(head.units)
    features = as_float64(embedding.embeddings)
    numbers = Proved(
        encoding,
        first,
        dtype,
        bool(cell.learn_temperature),
        cell.is_hard,
        {id_: features[id_] for id_ in (*encoding.codes, *encoding.tokens)},
        equations,
        as_float64(cell.centroids),
        kernel[:, 0] if head.units == 1 else kernel,
        float(bias[0]) if head.units == 1 else bias,
        acceptor.labels,
    )
    return Deployed(acceptor, numbers)


def _refusal(received: str) -> ValueError:
    return ValueError(
        "A model must be ids -> Embedding -> state-regularized layer -> Dense(1), with Dropout in between, to be "
        f"certified. Received: {received}. Build that model with these weights and certify it."
    )


def _layers(model: Any) -> list[Any]:
    """The layers that the ids of a word pass through, in order: all that the model computes."""
    functional, _ = _reference_types()
    if type(model) in (keras.Sequential, Recognizer):
        return [part for part in model.layers if type(part) is not keras.layers.InputLayer]
    if type(model) is functional:
        return _functional_chain(model)
    raise _refusal(f"{model.name}, of the class {type(model).__name__}")


@functools.cache
def _reference_types() -> tuple[type, type]:
    """Two classes without a public name: functional models, and the operation that makes an Embedding's mask."""
    ids = keras.Input((None,), dtype="int32")
    model = keras.Model(ids, ops.not_equal(ids, 0))
    return type(model), type(model.operations[-1])


def _functional_chain(model: Any) -> list[Any]:
    """The layers from the ids to the output, from the last one back along the graph that the model runs."""
    _, not_equal = _reference_types()
    known = (*EMBEDDINGS, *RECURRENT, keras.layers.InputLayer, keras.layers.Dropout, keras.layers.Dense, not_equal)
    for operation in model.operations:
        if type(operation) not in known:
            raise _refusal(f"{operation.name}, of the class {type(operation).__name__}")
    for structure in (model.input, model.output):
        if not isinstance(structure, keras.KerasTensor):
            raise _refusal(f"{model.name}, with several inputs or outputs, or named ones")
    chain: list[Any] = []
    tensor = model.output
    while tensor is not model.input:
        layer, node = made_by(tensor)
        if type(layer) is not_equal:
            raise _refusal(f"{model.name}, whose output is a mask")
        chain.insert(0, layer)
        tensor = _only_read(layer, node.arguments, model.input)
    return chain


def _only_read(layer: Any, arguments: Any, ids: Any) -> Any:
    """The one tensor that a call of a layer reads, apart from a recurrent layer's mask."""
    options = {name: value for name, value in arguments.kwargs.items() if value is not None}
    if options.pop("training", False):
        raise _refusal(f"{layer.name}, which is called with training=True")
    mask = options.pop("mask", None)
    if options or len(arguments.args) != 1 or not isinstance(arguments.args[0], keras.KerasTensor):
        raise _refusal(f"{layer.name}, which is called with more than the output of one layer")
    if type(layer) in RECURRENT and mask is None:
        raise _refusal(
            f"{layer.name}, whose mask is not part of the model's graph: call it without a training argument"
        )
    if type(layer) in RECURRENT and not _masks_padding(mask, ids):
        raise _refusal(f"{layer.name}, which is not masked where ids are 0 and nowhere else")
    return arguments.args[0]


def _masks_padding(mask: Any, ids: Any) -> bool:
    """Whether a mask is not_equal(ids, 0): the one of which a proof holds."""
    if not isinstance(mask, keras.KerasTensor):
        return False
    operation, node = made_by(mask)
    if type(operation) is not _reference_types()[1] or node.arguments.kwargs or len(node.arguments.args) != 2:
        return False
    compared, value = node.arguments.args
    return compared is ids and type(value) in (int, float) and value == 0


def _parts(chain: list[Any], model: Any) -> tuple[Any, Any, Any]:
    """The Embedding, the recurrent layer and the head of a chain of layers."""
    chain = [part for part in chain if type(part) is not keras.layers.Dropout]
    if len(chain) < 2 or type(chain[0]) not in EMBEDDINGS or type(chain[1]) not in RECURRENT:
        names = [f"{part.name} ({type(part).__name__})" for part in chain]
        raise _refusal(f"{model.name}, of {', '.join(names)}")
    embedding, layer, *head = chain
    if isinstance(model, keras.Sequential) and not embedding.mask_zero:
        raise _refusal(f"{embedding.name} without mask_zero=True, so that {layer.name} reads the padding")
    if len(head) != 1 or type(head[0]) is not keras.layers.Dense or not _keeps_the_decision(head[0]):
        raise ValueError(
            "One Dense layer must read the state and decide: linear or sigmoid with one output, linear or softmax "
            f"with an output for each label. Received: a head of {[part.name for part in head]}."
        )
    if head[0].units == 2:
        raise _refusal(f"{head[0].name} with {head[0].units} outputs")
    return embedding, layer, head[0]


def _keeps_the_decision(head: Any) -> bool:
    """Whether a head's activation leaves the sign of its one logit, or which of its logits is the largest."""
    keeps = keras.activations.sigmoid if head.units == 1 else keras.activations.softmax
    return any(head.activation is known for known in (keras.activations.linear, keeps))  # not ==, which is the user's


def _check_layer(layer: Any, ends: bool) -> None:
    if ends and layer.regularize_last_step:
        raise ValueError(
            "The stochastic component must skip an end token, for a decision after it to be bounded. Received: a layer "
            "with regularize_last_step=True. Build it with False, or without an end token."
        )
    if not ends and not layer.regularize_last_step:
        raise _refusal(
            f"{layer.name} with regularize_last_step=False and no end token: its last state need not be near a centroid"
        )
    cell = layer.cell
    if type(cell) is not layers.StateRegularizedCell:
        raise _refusal(f"{layer.name} over a {type(cell).__name__}")
    if type(cell.transition) not in TRANSITIONS:
        known = ", ".join(repr(kind.name) for kind in TRANSITIONS)
        raise ValueError(
            f"A transition must be one that the proof knows: {known}. "
            f"Received: {layer.name} with transition={cell.transition!r}. Train with one of those, or compare the "
            "automaton with the network by `extract(network).fidelity()`."
        )
    inner = cell.cell
    if type(inner) not in CELLS:
        raise ValueError(
            "The inner cell must be a GRUCell or a SimpleRNNCell. Received: "
            f"{keras.saving.get_registered_name(type(inner))}."
        )
    for name, required in (("activation", keras.activations.tanh), ("recurrent_activation", keras.activations.sigmoid)):
        if getattr(inner, name, required) is not required:
            raise ValueError(
                f"The inner cell must have {name}={required.__name__!r}. Received: {inner.name} with "
                f"{name}={getattr(inner, name)!r}."
            )


def _check_products() -> None:
    """Raises ValueError where the backend multiplies float32 numbers in a lower precision."""
    if reduced := _backend.reduced_products():
        received, remedy = reduced
        raise ValueError(
            f"Products must be computed in full float32. Received: {received}. Call {remedy}, here "
            "and where the network is deployed."
        )


def _dtype(parts: list[Any]) -> str:
    """The one dtype in which all parts hold their weights and compute."""
    dtypes = {
        keras.backend.standardize_dtype(dtype) for part in parts for dtype in (part.variable_dtype, part.compute_dtype)
    }
    if dtypes not in ({"float32"}, {"float64"}):
        raise ValueError(
            "All layers must be in float32, or all in float64. Received: "
            f"{', '.join(f'{part.name} of {part.dtype_policy.name}' for part in parts)}. Build all in one of them."
        )
    dtype = str(dtypes.pop())
    held = ops.convert_to_numpy(ops.zeros(1, dtype)).dtype
    if held != dtype:
        raise ValueError(
            f"Layers must be in a dtype that the backend computes in. Received: layers in {dtype}, for which "
            f"{_backend.name()} takes {held}. Switch {dtype} on (JAX: jax.config.update('jax_enable_x64', True))."
        )
    return dtype


def _check_ids(model: Any, encoding: WordEncoding) -> None:
    """Raises ValueError if the model's input changes ids, by casting them."""
    dtype, largest = keras.backend.standardize_dtype(model.inputs[0].dtype), encoding.size - 1
    for name in (dtype, model.dtype_policy.name):  # a model casts floats to its own dtype
        exact = name in ("int32", "int64", "float64") or (name == "float32" and largest < EXACT_IN_FLOAT32)
        if not exact and (name == dtype or dtype.startswith("float")):
            raise _refusal(f"{model.name} with inputs of {name}, which cannot hold the ids up to {largest}")
