r"""The numbers of a network that a certificate is about, read from its program, and the network made of such numbers.

A proof holds for the operations that it takes into account. So this is a closed list: the operations, layers, dtypes
and options whose arithmetic docs/notes/certificate.md describes. Anything else between the ids of a word and the
network's decision is refused by name, even if it would do no harm.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import keras
import numpy as np
from keras import ops

from keras_interp_rnn import _backend, layers
from keras_interp_rnn._alphabet import Alphabet
from keras_interp_rnn._arrays import as_float64, check_finite
from keras_interp_rnn._cells import equations_of, is_cell_of_keras
from keras_interp_rnn._program import draws_noise, read
from keras_interp_rnn._program import operations as o
from keras_interp_rnn._program.graph import computing_layers
from keras_interp_rnn._types import Array
from keras_interp_rnn.automata.certificates import _proved
from keras_interp_rnn.automata.certificates._proved import Proved
from keras_interp_rnn.automata.networks import (
    Acceptor,
    Recognizer,
    SymbolEmbedding,
    open_acceptor,
    require_memoryless,
)
from keras_interp_rnn.equations import GRU, SimpleRNN, transitions

EMBEDDINGS = (keras.layers.Embedding, SymbolEmbedding)
RECURRENT = (layers.StateRegularizedRNN, layers.SRSimpleRNN, layers.SRGRU)
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
    """The numbers of a model, every operation of which is recognized.

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
    model, symbols = acceptor.model, acceptor.symbols
    parts = _parts(model)
    _check_layer(parts.recurrence, ends=symbols.end is not None)
    layer = parts.recurrence.layer
    dtype = _dtype(computing_layers(model))
    if dtype == "float32":
        _check_products()
    _check_ids(model, symbols)
    check_finite(model)
    cell = layer.cell
    equations = equations_of(cell.cell, as_float64)
    assert isinstance(equations, GRU | SimpleRNN)  # of the closed list of cells
    features = as_float64(parts.lookup.table(as_float64))
    kernel, bias = parts.head.arrays(as_float64)
    bias = np.zeros(kernel.shape[1]) if bias is None else bias
    decides = kernel.shape[1] == 1
    numbers = Proved(
        symbols,
        acceptor.first_id,
        dtype,
        bool(cell.learn_temperature),
        bool(cell.is_hard),
        {id_: features[id_] for id_ in _proved.read_ids(symbols)},
        equations,
        as_float64(cell.centroids),
        kernel[:, 0] if decides else kernel,
        float(bias[0]) if decides else bias,
        acceptor.labels,
    )
    # Compiled before, they compute what the model then was; the next call compiles them again.
    vars(model).update(predict_function=None, test_function=None)
    return Deployed(acceptor, numbers)


def network_of(numbers: Proved, temperature: float) -> keras.Model:
    """A network of exactly these numbers: a `Recognizer` where its ids are those of a `SymbolEmbedding`.

    Raises:
        ValueError: if the numbers that are read from it are others.
    """
    symbols, dtype = numbers.symbols, numbers.dtype
    width, (k, units) = len(numbers.equations.kernel), numbers.centroids.shape
    options: dict[str, Any] = {"transition": "soft_argmax" if numbers.hard else "mixture", "dtype": dtype}
    options |= {"learn_temperature": numbers.learns_temperature, "regularize_last_step": symbols.end is None}
    if isinstance(numbers.equations, GRU):
        recurrent: Any = layers.SRGRU(
            units, k, reset_after=numbers.equations.reset_after, use_bias=_has_bias(numbers.equations), **options
        )
    else:
        recurrent = layers.SRSimpleRNN(units, k, use_bias=_has_bias(numbers.equations), **options)
    embedding, kind = _embedding(symbols, width, dtype)
    head = keras.layers.Dense(1 if numbers.kernel.ndim == 1 else numbers.kernel.shape[1], dtype=dtype)
    model = kind([keras.Input((None,), dtype="int32"), embedding, recurrent, head])
    table = np.zeros((embedding.input_dim, width))
    for id_, row in numbers.embeddings.items():
        table[id_] = row
    embedding.set_weights([table])
    recurrent.cell.cell.set_weights(_weights(numbers.equations))
    recurrent.cell.centroids.assign(numbers.centroids)
    head.set_weights([numbers.kernel.reshape(units, -1), np.reshape(numbers.bias, -1)])
    _set_temperature(recurrent.cell, temperature)
    if kind is Recognizer and len(numbers.labels) > 2:
        model.labels = tuple(numbers.labels)
    found = deployed(open_acceptor(model, symbols))
    if found.temperature() != temperature or not _proved.same(found.numbers, numbers):
        raise ValueError(
            "A network must have the numbers of its certificate. Received: a network that was built of them and has "
            "others. Use a certificate that `certify` returned, or that was loaded."
        )
    return model


def _embedding(symbols: Alphabet, width: int, dtype: str) -> tuple[Any, type[keras.Sequential]]:
    """An Embedding of the ids of an alphabet, and the class of a model with it."""
    if all(type(symbol) in (int, str) for symbol in symbols.ordinary):
        named = SymbolEmbedding(symbols.ordinary, width, dtype=dtype)
        if named.alphabet == symbols:
            return named, Recognizer
    return keras.layers.Embedding(len(symbols), width, mask_zero=True, dtype=dtype), keras.Sequential


def _has_bias(cell: GRU | SimpleRNN) -> bool:
    return cell.bias is not None


def _weights(cell: GRU | SimpleRNN) -> list[Array]:
    """The weights of a cell of Keras."""
    biases: list[Any] = [] if cell.bias is None else [cell.bias]
    if isinstance(cell, GRU) and cell.recurrent_bias is not None:
        biases = [np.stack([*biases, cell.recurrent_bias])]
    return [cell.kernel, cell.recurrent_kernel, *biases]


def _set_temperature(cell: Any, temperature: float) -> None:
    """Sets exactly this temperature, of which the cell may hold the logarithm."""
    if not cell.learn_temperature:
        cell.set_temperature(temperature)
        return
    near = np.log(np.float64(temperature)).astype(cell.log_temperature.dtype)
    for _ in range(4):  # the next float may be the one whose exponential it is
        near = np.nextafter(near, -np.inf, dtype=near.dtype)
    for _ in range(9):
        if np.exp(np.float64(near)) == temperature:
            break
        near = np.nextafter(near, np.inf, dtype=near.dtype)
    cell.log_temperature.assign(near)


@dataclass(frozen=True)
class _Parts:
    """The operations of a model."""

    lookup: o.Lookup
    recurrence: o.Recur
    head: o.Affine


def _refusal(received: str) -> ValueError:
    return ValueError(
        "A model must be ids -> Embedding -> state-regularized layer -> Dense, with Dropout in between, to be "
        f"certified. Received: {received}. Build that model with these weights and certify it."
    )


def _parts(model: Any) -> _Parts:
    """The operations that the ids of a word pass through: all that the model computes."""
    if len(model.inputs) != 1 or len(model.outputs) != 1:
        raise _refusal(f"{model.name}, with several inputs or outputs")
    program = read(model)
    [ids], [output] = program.inputs, program.outputs
    known = (o.NotEqual, o.Lookup, o.Recur, o.Affine, o.Elementwise)
    unknown = next((operation for operation in program.operations if type(operation) not in known), None)
    if unknown is not None:
        raise _refusal(f"{_named(unknown)}{_called(unknown)}")
    found: dict[type, Any] = {}
    for operation in program.operations:
        first = found.setdefault(type(operation), operation)
        if first is not operation:
            raise _refusal(f"{_named(operation)} besides {_named(first)}")
    lookup, recurrence, head = (found.get(kind) for kind in (o.Lookup, o.Recur, o.Affine))
    if lookup is None or recurrence is None or head is None:
        raise _refusal(f"{model.name}, of {', '.join(map(_named, program.operations))}")
    for operation, kinds in ((lookup, EMBEDDINGS), (recurrence, RECURRENT), (head, (keras.layers.Dense,))):
        if type(operation.layer) not in kinds:
            raise _refusal(_named(operation))
        if getattr(operation, "adapted", False):
            raise _refusal(f"{operation.name} with LoRA")
    activation = found.get(o.Elementwise)
    last = head if activation is None else activation
    chain = [lookup.reads, recurrence.reads, head.reads, *([] if activation is None else [activation.reads]), [output]]
    made = [[ids], lookup.makes, recurrence.makes[:1], head.makes, *([] if activation is None else [last.makes])]
    if chain != made:
        raise _refusal(f"{model.name}, whose layers are not one after the other")
    _check_mask(recurrence, lookup, found.get(o.NotEqual), ids)
    _check_head(head, activation)
    return _Parts(lookup, recurrence, head)


def _named(operation: o.Operation) -> str:
    return f"{operation.name} ({type(operation.layer).__name__})"


def _called(operation: o.Operation) -> str:
    """The arguments of a call that a proof does not know."""
    names = ", ".join(operation.arguments)
    return f", which is called with {names}" if names else ""


def _check_mask(recurrence: o.Recur, lookup: o.Lookup, mask: o.NotEqual | None, ids: o.Value) -> None:
    """Raises ValueError unless a layer is masked where ids are 0: the one mask of which a proof holds."""
    if recurrence.mask is None or mask is None:
        raise _refusal(f"{lookup.name} without mask_zero=True, so that {recurrence.name} reads the padding")
    if recurrence.mask is not mask.makes[0] or mask.reads != [ids] or mask.value != 0:
        raise _refusal(f"{recurrence.name}, which is not masked where ids are 0 and nowhere else")


def _check_head(head: o.Affine, activation: o.Elementwise | None) -> None:
    """Raises ValueError unless the sign of the one logit, or the largest of the logits, is the decision."""
    layer, units = head.layer, int(head.layer.units)
    keeps = keras.activations.sigmoid if units == 1 else keras.activations.softmax
    function = keras.activations.linear if activation is None else activation.function
    alone = activation is None or activation.layer is layer
    if not alone or not any(function is known for known in (keras.activations.linear, keeps)):
        # not ==, which is the user's
        raise ValueError(
            "One Dense layer must read the state and decide: linear or sigmoid with one output, linear or softmax "
            f"with an output for each label. Received: {layer.name} of {units}, and "
            f"{getattr(function, '__name__', function)}."
        )
    if units == 2:
        raise _refusal(f"{layer.name} with {units} outputs")


def _check_layer(recurrence: o.Recur, ends: bool) -> None:
    layer = recurrence.layer
    flags = {
        "go_backwards": recurrence.backwards,
        "return_sequences": recurrence.sequences,
        "zero_output_for_mask": recurrence.zeros,
        "stateful": recurrence.stateful,
    }
    for name, is_set in flags.items():
        if is_set:
            raise _refusal(f"{layer.name} with {name}=True")
    if draws_noise(layer.cell):
        raise _refusal(f"{layer.name}, which draws noise outside training")
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
    if not is_cell_of_keras(inner) or not isinstance(equations_of(inner, as_float64), GRU | SimpleRNN):
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


def _check_ids(model: Any, symbols: Alphabet) -> None:
    """Raises ValueError if the model's input changes ids, by casting them."""
    dtype, largest = keras.backend.standardize_dtype(model.inputs[0].dtype), len(symbols) - 1
    for name in (dtype, model.dtype_policy.name):  # a model casts floats to its own dtype
        exact = name in ("int32", "int64", "float64") or (name == "float32" and largest < EXACT_IN_FLOAT32)
        if not exact and (name == dtype or dtype.startswith("float")):
            raise _refusal(f"{model.name} with inputs of {name}, which cannot hold the ids up to {largest}")
