"""The linearized steps of a recurrent layer, in float64.

A cell whose equations are known (`_cells.equations_of`) is linearized by them; any other cell is differentiated by the
backend, one backward pass per step over one copy of the batch for each entry of h.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import keras
import numpy as np
from keras import ops, tree
from numpy.typing import NDArray

from keras_interp_rnn import _backend
from keras_interp_rnn._cells import equations_of
from keras_interp_rnn._network.arrays import as_float64, as_symbols, check_finite
from keras_interp_rnn._network.recurrent import only_recurrent_layer, run_cell
from keras_interp_rnn._types import Array
from keras_interp_rnn.equations import NUMPY, CellEquations, LinearStep

States = tuple[Array, ...]


def closed_form(layer: Any) -> CellEquations | None:
    """The equations by which a layer's steps are linearized, weights in float64; None where the backend does it."""
    equations = equations_of(layer.cell, as_float64)
    return equations if equations is not None and equations.has_derivative else None


def linear_steps(
    layer: Any, equations: CellEquations | None, sequences: NDArray[Any], read: NDArray[np.bool_], steps: int
) -> Iterator[LinearStep]:
    """The last `steps` steps that each sequence reads, the last one first; `equations` as of `closed_form(layer)`.

    Raises:
        ValueError: if a sequence reads fewer.
    """
    enough = read.sum(axis=1) >= steps
    if not enough.all():
        row = int(np.argmin(enough))
        raise ValueError(
            f"A lag of {steps - 1} needs {steps} steps that are read. Received: sequence {row} with "
            f"{int(read[row].sum())} (of {read.shape[1]} steps, less those masked). Give longer sequences or a "
            "shorter lag."
        )
    if equations is None:
        return _differentiated(layer, sequences, read, steps)
    return _linearized(layer, equations, sequences, read, steps)


def output_in_state(layer: Any) -> Array:
    """dh/ds (n, s): which entries of the whole state are the output h, the first state of the topmost cell."""
    top = layer.cell
    while hasattr(top, "cells"):
        top = top.cells[-1]
    everything, of_top = (int(sum(tree.flatten(cell.state_size))) for cell in (layer.cell, top))
    return np.eye(int(tree.flatten(top.state_size)[0]), everything, everything - of_top)


def _states_before(step: Callable[[Array, int], Array], start: Array, read: NDArray[np.bool_]) -> Array:
    """Runs `step(state, t)` over a batch: (time, batch, s), the state before each step."""
    before = np.empty((read.shape[1], *start.shape))
    state = start
    for t in range(read.shape[1]):
        before[t] = state
        state = np.where(read[:, t, None], step(state, t), state)
    return before


def _last_read(read: NDArray[np.bool_], steps: int) -> NDArray[np.intp]:
    """(steps, batch): the last steps that each sequence reads, the last one first."""
    return np.argsort(np.where(read, np.arange(read.shape[1]), -1), axis=1)[:, : -steps - 1 : -1].T


def _linearized(
    layer: Any, equations: CellEquations, sequences: NDArray[Any], read: NDArray[np.bool_], steps: int
) -> Iterator[LinearStep]:
    """The steps, linearized by the cell's equations."""
    cell = layer.cell
    reads = _read_by_equations(cell, sequences)
    drive = equations.drive(NUMPY, reads)
    parts = [as_float64(part) for part in tree.flatten(layer.get_initial_state(batch_size=len(sequences)))]
    ends = np.cumsum([part.shape[1] for part in parts])[:-1].tolist()

    def split(state: Array) -> States:
        return tuple(np.split(state, ends, axis=-1))

    def step(state: Array, t: int) -> Array:
        return np.concatenate(equations.step(NUMPY, split(state), tuple(x[:, t] for x in drive)).states, axis=-1)

    rows = np.arange(len(sequences))
    before = _states_before(step, np.concatenate(parts, axis=-1), read)
    # A state-regularized layer may leave its centroids out at the last step: there the cell within steps alone.
    last = equations if getattr(layer, "regularize_last_step", True) else equations.cell  # type: ignore[attr-defined]
    for lag, t in enumerate(_last_read(read, steps)):
        now = tuple(x[rows, t] for x in drive)
        linear = (equations if lag else last).linearization(NUMPY, split(before[t, rows]), now)
        yield LinearStep(linear.before, _into_inputs(cell, linear.input, sequences[rows, t]))


def _read_by_equations(cell: Any, sequences: NDArray[Any]) -> NDArray[Any]:
    """The sequences as the equations read them, (batch, time, ...): ids without an axis of 1, or float64."""
    size = _vocabulary(cell)
    if size is not None and np.issubdtype(sequences.dtype, np.integer) and sequences.shape[2:] in ((), (1,)):
        as_symbols(sequences.ravel(), size)
        sequences = sequences.reshape(*sequences.shape[:2], 1)
    elif size is not None and sequences.shape[2:] != (size,):
        raise ValueError(
            "An ISAN reads integer ids (batch, time), or one-hot vectors or distributions (batch, time, "
            f"{size}). Received: {sequences.dtype} of shape {sequences.shape}. Cast ids to an integer dtype."
        )
    if not hasattr(cell, "encode"):
        return as_float64(sequences)
    flat = sequences.reshape(-1, *sequences.shape[2:])
    encoded = np.asarray(ops.convert_to_numpy(cell.encode(ops.convert_to_tensor(flat))))
    encoded = encoded.reshape(*sequences.shape[:2], *encoded.shape[1:])
    return encoded if np.issubdtype(encoded.dtype, np.integer) else encoded.astype(np.float64)


def _vocabulary(cell: Any) -> int | None:
    """The vocabulary size of the innermost cell; None if it does not read symbols."""
    size = getattr(_innermost(cell), "vocabulary_size", None)
    return None if size is None else int(size)


def _into_inputs(cell: Any, pull: Callable[[Array], Array], inputs: NDArray[Any]) -> Callable[[Array], Array]:
    """P -> P @ ds_t/dx_t, through the encoder, if the cell has one. Ids count as one-hot vectors."""
    encoder = getattr(_innermost(cell), "encoder", None)
    if encoder is None and _vocabulary(cell) is not None:
        return pull
    if encoder is None:
        return lambda product: (_differentiable(inputs, cell), pull(product))[1]

    def through_encoder(product: Array) -> Array:
        given, of_latent = _differentiable(inputs, cell), pull(product)
        if _is_dense_tanh(encoder) and given.ndim == 2:
            slope = 1 - as_float64(encoder(given)) ** 2
            return (of_latent * slope[:, None]) @ as_float64(encoder.kernel).T
        return _pulled_back(encoder, given, of_latent)

    return through_encoder


def _innermost(cell: Any) -> Any:
    """The cell that reads the inputs."""
    while hasattr(cell, "cell"):
        cell = cell.cell
    return cell


def _is_dense_tanh(encoder: Any) -> bool:
    return (
        type(encoder) is keras.layers.Dense
        and encoder.activation is keras.activations.tanh
        and encoder.quantization_mode is None
        and not encoder.lora_enabled
    )


def _differentiated(layer: Any, sequences: NDArray[Any], read: NDArray[np.bool_], steps: int) -> Iterator[LinearStep]:
    """The steps, differentiated by the backend; the cell treats the rows of a batch independently."""
    cell = layer.cell
    dtype = cell.variable_dtype
    template = layer.get_initial_state(batch_size=len(sequences))
    parts = tree.flatten(template)
    if any(len(part.shape) != 2 for part in parts):
        raise ValueError(
            "Jacobians are taken of states that are vectors, (batch, n). Received: states of shapes "
            f"{[tuple(part.shape) for part in parts]} in {layer.name}."
        )
    ends = np.cumsum([part.shape[1] for part in parts]).tolist()

    def step(state: Any, inputs: Any, cell: Any = cell) -> Any:
        state = ops.cast(state, cell.compute_dtype)
        split = [state[:, start:end] for start, end in itertools.pairwise([0, *ends])]
        new = run_cell(cell, inputs, tree.pack_sequence_as(template, split))
        return ops.concatenate(tree.flatten(new), axis=-1)

    def forward(state: Array, t: int) -> Array:
        return as_float64(step(ops.convert_to_tensor(state, dtype=dtype), ops.convert_to_tensor(sequences[:, t])))

    rows = np.arange(len(sequences))
    start = np.concatenate([as_float64(part) for part in parts], axis=-1)
    states = _states_before(forward, start, read).astype(dtype)
    # A state-regularized layer may leave its centroids out at the last step: there the cell inside runs alone.
    last = step if getattr(layer, "regularize_last_step", True) else functools.partial(step, cell=cell.cell)
    for lag, t in enumerate(_last_read(read, steps)):
        yield _linear(step if lag else last, cell, states[t, rows], sequences[rows, t])


def _linear(step: Callable[[Any, Any], Any], cell: Any, state: NDArray[Any], inputs: NDArray[Any]) -> LinearStep:
    def copies(rows: NDArray[Any], product: Array) -> Any:
        return ops.convert_to_tensor(np.repeat(rows, product.shape[1], axis=0))

    def before(product: Array) -> Array:
        given = copies(inputs, product)
        return _pulled_back(lambda state: step(state, given), state, product)

    def by_input(product: Array) -> Array:
        given = copies(state, product)
        return _pulled_back(lambda x: step(given, x), _differentiable(inputs, cell), product)

    return LinearStep(before, by_input)


def _pulled_back(function: Callable[[Any], Any], rows: NDArray[Any], product: Array) -> Array:
    """P @ df/dx at every row x of a function of independent rows: (rows, r, outputs) -> (rows, r, features).

    Every row is repeated r times, and each copy takes one row of P: a single backward pass for all.
    """
    wanted = ops.convert_to_tensor(product.reshape(-1, product.shape[-1]).astype(rows.dtype))
    gradient = _backend.gradient(
        lambda x: ops.sum(ops.cast(function(x), wanted.dtype) * wanted), np.repeat(rows, product.shape[1], axis=0)
    )
    return np.asarray(gradient, np.float64).reshape(*product.shape[:2], -1)


def _differentiable(inputs: NDArray[Any], cell: Any) -> NDArray[Any]:
    if not np.issubdtype(inputs.dtype, np.floating):
        raise ValueError(
            "Only real-valued inputs have a derivative. Received: inputs of dtype "
            f"{inputs.dtype}. Ask for with_respect_to='state', or pass the embedded inputs to the layer behind the "
            "Embedding."
        )
    return inputs.astype(cell.variable_dtype)


def cell_map(network: Any, held: Array) -> tuple[Callable[[Array], tuple[Array, Array]], int]:
    """Whole states (rows, s) -> the states after one step under one input (features,), and the Jacobians (rows, s, s).

    Returns:
        That function, and s.

    Raises:
        ValueError: if the recurrent layer's equations are not known in closed form.
    """
    layer = network if not isinstance(network, keras.Model) else only_recurrent_layer(network)
    if not isinstance(layer, keras.layers.RNN):
        raise ValueError(f"Fixed points are those of a recurrent layer. Received: {layer!r}. Pass an RNN of the cell.")
    if not layer.cell.built:
        raise ValueError(f"The layer has no weights yet. Received: {layer.name}. Call it on sequences once.")
    check_finite(layer)
    equations = closed_form(layer)
    if equations is None:
        raise ValueError(
            "Fixed points are computed from the equations of the cell, with their derivative: of Keras's cells with "
            "their usual activations, of SimpleRNN with relu, sigmoid or none too. Received: "
            f"{layer.name} over {type(layer.cell).__name__}. Give a subclass of the cell a method `equations`; pass "
            "the layers of a stack one by one."
        )
    features = getattr(_innermost(layer.cell), "kernel", None)
    if features is not None and tuple(features.shape)[:1] != held.shape and not hasattr(layer.cell, "encode"):
        raise ValueError(f"The cell reads {features.shape[0]} features. Received: inputs of shape {held.shape}.")
    sizes = [int(size) for size in tree.flatten(layer.cell.state_size)]
    drive = equations.drive(NUMPY, _read_by_equations(layer.cell, held[None, None]))
    ends = np.cumsum(sizes)[:-1].tolist()

    def step(state: Array) -> tuple[Array, Array]:
        parts = tuple(np.split(state, ends, axis=-1))
        now = tuple(np.repeat(x[:, 0], len(state), axis=0) for x in drive)
        product = np.tile(np.eye(sum(sizes)), (len(state), 1, 1))
        after = np.concatenate(equations.step(NUMPY, parts, now).states, axis=-1)
        return after, equations.linearization(NUMPY, parts, now).before(product)

    return step, sum(sizes)
