"""From recurrent Keras layers to their linearized steps in float64: a bridge, so that `jacobians` is NumPy.

For ISAN, MinimalRNN and CFN cells every step's Jacobian is written down (`equations`), for Keras's own what pulls a
product back through a step; any other cell is differentiated by the backend, one backward pass per step over one copy
of the batch for each entry of h.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import keras
import numpy as np
from keras import ops, tree
from numpy.typing import NDArray

from keras_interp_rnn import _backend
from keras_interp_rnn.analysis._graph import registered
from keras_interp_rnn.analysis._reading import run_cell
from keras_interp_rnn.analysis._weights import checked_symbols, isan_weights
from keras_interp_rnn.equations import isan, minimal_rnn

Array = NDArray[np.float64]


class LinearStep(Protocol):
    """One step of every sequence of a batch, linearized where it was taken. The state s_t has s entries."""

    def before(self, product: Array) -> Array:
        """P (batch, r, s) -> P @ ds_t/ds_{t-1} (batch, r, s)."""

    def input(self, product: Array) -> Array:
        """P (batch, r, s) -> P @ ds_t/dx_t (batch, r, features)."""


def linear_steps(layer: Any, sequences: NDArray[Any], read: NDArray[np.bool_], steps: int) -> Iterator[LinearStep]:
    """The last `steps` steps that each sequence reads, the last one first.

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
    ways = {
        "keras_interp_rnn>ISANCell": _affine_steps,
        "keras_interp_rnn>MinimalRNNCell": _gated_steps,
        "keras_interp_rnn>CFNCell": _gated_steps,
    }
    if _is_plain(layer.cell):
        return _keras_steps(layer, sequences, read, steps)
    return ways.get(registered(layer.cell), _any_steps)(layer, sequences, read, steps)


def output_in_state(layer: Any) -> Array:
    """dh/ds (n, s): which entries of the whole state are the output h. A cell's first state, of the topmost cell."""
    top = layer.cell
    while hasattr(top, "cells"):
        top = top.cells[-1]
    everything, of_top = (int(sum(tree.flatten(cell.state_size))) for cell in (layer.cell, top))
    return np.eye(int(tree.flatten(top.state_size)[0]), everything, everything - of_top)


def _states_before(
    step: Callable[[Array, NDArray[Any]], Array], start: Array, sequences: NDArray[Any], read: NDArray[np.bool_]
) -> Array:
    """Runs `step(state, inputs)` over a batch: (time, batch, s), the state before each step."""
    before = np.empty((sequences.shape[1], *start.shape))
    state = start
    for t in range(sequences.shape[1]):
        before[t] = state
        state = np.where(read[:, t, None], step(state, sequences[:, t]), state)
    return before


def _last_read(read: NDArray[np.bool_], steps: int) -> NDArray[np.intp]:
    """(steps, batch): the last steps that each sequence reads, the last one first."""
    return np.argsort(np.where(read, np.arange(read.shape[1]), -1), axis=1)[:, : -steps - 1 : -1].T


@dataclass
class _AffineStep:
    """Eq. 1 of the ISAN is linear already; its derivative by x_t is that of `expected_step`: column k, h W_k + b_k."""

    kernel: Array
    bias: Array
    state: Array
    distribution: Array

    def before(self, product: Array) -> Array:
        return product @ np.einsum("bk,knm->bmn", self.distribution, self.kernel)

    def input(self, product: Array) -> Array:
        return product @ (np.einsum("bn,knm->bmk", self.state, self.kernel) + self.bias.T)


def _affine_steps(layer: Any, sequences: NDArray[Any], read: NDArray[np.bool_], steps: int) -> Iterator[LinearStep]:
    kernel, bias, start = isan_weights(layer.cell)
    ids = np.issubdtype(sequences.dtype, np.integer) and sequences.shape[2:] in ((), (1,))
    if ids:
        sequences = sequences.reshape(*sequences.shape[:2], 1)
        checked_symbols(sequences.ravel(), len(kernel))
    elif sequences.shape[2:] != (len(kernel),):
        raise ValueError(
            "An ISAN reads integer ids (batch, time), or one-hot vectors or distributions (batch, time, "
            f"{len(kernel)}). Received: {sequences.dtype} of shape {sequences.shape}. Cast ids to an integer dtype."
        )
    chosen = np.eye(len(kernel))[sequences[..., 0]] if ids else sequences.astype(np.float64)

    def step(state: Array, distribution: Array) -> Array:
        return isan.expected_step(np, kernel, bias, state, distribution)

    rows = np.arange(len(sequences))
    states = _states_before(step, np.tile(start, (len(sequences), 1)), chosen, read)
    for t in _last_read(read, steps):
        yield _AffineStep(kernel, bias, states[t, rows], chosen[rows, t])


@dataclass
class _GatedStep:
    """Eq. 4 and its like for CFN: a diagonal, and one scaled matrix per gate."""

    cell: Any
    inputs: NDArray[Any]
    recurrent: Array
    diagonal: Array
    slopes: Array
    admission: Array

    def before(self, product: Array) -> Array:
        units = len(self.recurrent)
        result = product * self.diagonal[:, None]
        for gate in self._gates():
            scaled = (product * self.slopes[:, None, gate]).reshape(-1, units)
            result += (scaled @ self.recurrent[:, gate].T).reshape(result.shape)
        return result

    def input(self, product: Array) -> Array:
        of_latent, of_drive = _projection_jacobians(self.cell, self.inputs)
        result = (product * self.admission[:, None]) @ of_latent
        for gate in self._gates():
            result += (product * self.slopes[:, None, gate]) @ of_drive[:, gate]
        return result

    def _gates(self) -> list[slice]:
        units, columns = self.recurrent.shape
        return [slice(first, first + units) for first in range(0, columns, units)]


def _gated_steps(layer: Any, sequences: NDArray[Any], read: NDArray[np.bool_], steps: int) -> Iterator[LinearStep]:
    cell = layer.cell
    recurrent = _float64(cell.recurrent_kernel)
    units = len(recurrent)
    minimal = registered(cell) == "keras_interp_rnn>MinimalRNNCell"
    latent, drive = cell.project(sequences.reshape(-1, *sequences.shape[2:]))
    both = np.concatenate([_float64(latent), _float64(drive)], axis=-1).reshape(*sequences.shape[:2], -1)

    def gates_at(state: Array, drive: Array) -> Array:
        return minimal_rnn.sigmoid(np, state @ recurrent + drive)

    def step(state: Array, both: Array) -> Array:
        latent, gates = both[:, :units], gates_at(state, both[:, units:])
        if minimal:
            return minimal_rnn.minimal_rnn_step(state, gates, latent)
        return minimal_rnn.cfn_step(np, state, gates, latent)

    rows = np.arange(len(sequences))
    states = _states_before(step, np.zeros((len(sequences), units)), both, read)
    for t in _last_read(read, steps):
        state, latent = states[t, rows], both[rows, t, :units]
        gates = gates_at(state, both[rows, t, units:])
        if minimal:
            diagonal, slopes = minimal_rnn.minimal_rnn_linearization(state, gates, latent)
            admission = 1 - gates
        else:
            diagonal, slopes = minimal_rnn.cfn_linearization(np, state, gates, latent)
            admission = gates[:, units:]
        yield _GatedStep(cell, sequences[rows, t], recurrent, diagonal, slopes, admission)


def _projection_jacobians(cell: Any, inputs: NDArray[Any]) -> tuple[Array, Array]:
    """dz/dx (batch, n, features) and dd/dx (batch, G n, features) at one step."""
    inputs = _differentiable(inputs, cell)
    if registered(cell) == "keras_interp_rnn>CFNCell":
        kernel, units = _float64(cell.kernel), cell.units
        candidate, _ = cell.project(inputs)
        slope = 1 - _float64(candidate) ** 2
        of_drive = np.broadcast_to(kernel[:, : 2 * units].T, (len(inputs), 2 * units, kernel.shape[0]))
        return slope[:, :, None] * kernel[:, 2 * units :].T, of_drive
    encoder = cell.encoder
    if isinstance(encoder, keras.layers.Dense) and encoder.activation is keras.activations.tanh and inputs.ndim == 2:
        slope = 1 - _float64(encoder(inputs)) ** 2
        of_latent = slope[:, :, None] * _float64(encoder.kernel).T
    else:
        of_latent = _pulled_back(encoder, inputs, np.tile(np.eye(cell.units), (len(inputs), 1, 1)))
    return of_latent, _float64(cell.kernel).T @ of_latent


@dataclass
class _KerasStep:
    """A step of Keras's own cells: part of P goes to the state before directly, the rest through what enters the gates.

    `pull(product)`: the direct part (batch, r, s), and P times the derivative by what the state, and by what the input,
    adds to the gates and the candidate (batch, r, G n).
    """

    kernel: Array
    recurrent: Array
    pull: Callable[[Array], tuple[Array, Array, Array]]

    def before(self, product: Array) -> Array:
        direct, of_state, _ = self.pull(product)
        direct[..., : len(self.recurrent)] += _rows(of_state, self.recurrent.T)
        return direct

    def input(self, product: Array) -> Array:
        return _rows(self.pull(product)[2], self.kernel.T)


def _is_plain(cell: Any) -> bool:
    """Whether it is a cell of Keras's with the activations it comes with."""
    usual = {"activation": keras.activations.tanh, "recurrent_activation": keras.activations.sigmoid}
    return registered(cell) in _PULLS and all(getattr(cell, name, wanted) is wanted for name, wanted in usual.items())


def _keras_steps(layer: Any, sequences: NDArray[Any], read: NDArray[np.bool_], steps: int) -> Iterator[LinearStep]:
    cell, pull = layer.cell, _PULLS[registered(layer.cell)]
    _differentiable(sequences, cell)
    kernel, recurrent = _float64(cell.kernel), _float64(cell.recurrent_kernel)
    bias = np.zeros((2, kernel.shape[1]))
    if cell.use_bias:
        given = _float64(cell.bias)
        bias = given if given.ndim == 2 else np.stack([given, np.zeros_like(given)])
    drives = sequences.astype(np.float64) @ kernel + bias[0]

    def moved(state: Array, drive: Array) -> tuple[Array, Callable[[Array], tuple[Array, Array, Array]]]:
        return pull(cell, recurrent, bias[1], state, drive)

    rows = np.arange(len(sequences))
    start = np.zeros((len(sequences), sum(tree.flatten(cell.state_size))))
    states = _states_before(lambda state, drive: moved(state, drive)[0], start, drives, read)
    for t in _last_read(read, steps):
        yield _KerasStep(kernel, recurrent, moved(states[t, rows], drives[rows, t])[1])


def _pull_simple_rnn(cell: Any, recurrent: Array, bias: Array, state: Array, drive: Array) -> Any:
    new = np.tanh(state @ recurrent + bias + drive)

    def pull(product: Array) -> tuple[Array, Array, Array]:
        through = product * (1 - new**2)[:, None]
        return np.zeros_like(product), through, through

    return new, pull


def _pull_gru(cell: Any, recurrent: Array, bias: Array, state: Array, drive: Array) -> Any:
    n = cell.units
    inner = state @ recurrent + bias
    gates = minimal_rnn.sigmoid(np, (inner + drive)[:, : 2 * n])
    update, reset = gates[:, :n], gates[:, n:]
    own = recurrent[:, 2 * n :]
    mixed = reset * inner[:, 2 * n :] if cell.reset_after else (reset * state) @ own
    candidate = np.tanh(mixed + drive[:, 2 * n :])
    through_update = (state - candidate) * update * (1 - update)
    through_candidate = (1 - update) * (1 - candidate**2)

    def pull(product: Array) -> tuple[Array, Array, Array]:
        direct, of_update = product * update[:, None], product * through_update[:, None]
        of_candidate = product * through_candidate[:, None]
        if cell.reset_after:
            of_reset = of_candidate * (inner[:, 2 * n :] * reset * (1 - reset))[:, None]
            of_state = of_candidate * reset[:, None]
        else:
            held = _rows(of_candidate, own.T)
            direct += held * reset[:, None]
            of_reset, of_state = held * (state * reset * (1 - reset))[:, None], np.zeros_like(of_candidate)
        return (
            direct,
            np.concatenate([of_update, of_reset, of_state], axis=-1),
            np.concatenate([of_update, of_reset, of_candidate], axis=-1),
        )

    return candidate + update * (state - candidate), pull


def _pull_lstm(cell: Any, recurrent: Array, bias: Array, state: Array, drive: Array) -> Any:
    n = cell.units
    drives = state[:, :n] @ recurrent + bias + drive
    admit, keep, emit = (minimal_rnn.sigmoid(np, drives[:, i * n : (i + 1) * n]) for i in (0, 1, 3))
    candidate = np.tanh(drives[:, 2 * n : 3 * n])
    memory = keep * state[:, n:] + admit * candidate
    squashed = np.tanh(memory)

    def pull(product: Array) -> tuple[Array, Array, Array]:
        of_output, of_memory = product[..., :n], product[..., n:]
        of_memory = of_memory + of_output * (emit * (1 - squashed**2))[:, None]
        through = [
            of_memory * (candidate * admit * (1 - admit))[:, None],
            of_memory * (state[:, n:] * keep * (1 - keep))[:, None],
            of_memory * (admit * (1 - candidate**2))[:, None],
            of_output * (squashed * emit * (1 - emit))[:, None],
        ]
        direct = np.concatenate([np.zeros_like(of_output), of_memory * keep[:, None]], axis=-1)
        both = np.concatenate(through, axis=-1)
        return direct, both, both

    return np.concatenate([emit * squashed, memory], axis=-1), pull


_PULLS: dict[str, Callable[[Any, Array, Array, Array, Array], Any]] = {
    "SimpleRNNCell": _pull_simple_rnn,
    "GRUCell": _pull_gru,
    "LSTMCell": _pull_lstm,
}


def _rows(product: Array, matrix: Array) -> Array:
    """P (batch, r, m) @ matrix (m, n), as one product."""
    return (product.reshape(-1, product.shape[-1]) @ matrix).reshape(*product.shape[:-1], -1)


@dataclass
class _AnyStep:
    """The backend's own derivatives of `step(state, inputs)`, which treats the rows of a batch one by one."""

    step: Callable[[Any, Any], Any]
    cell: Any
    state: NDArray[Any]
    inputs: NDArray[Any]

    def before(self, product: Array) -> Array:
        copies = ops.convert_to_tensor(np.repeat(self.inputs, product.shape[1], axis=0))
        return _pulled_back(lambda state: self.step(state, copies), self.state, product)

    def input(self, product: Array) -> Array:
        copies = ops.convert_to_tensor(np.repeat(self.state, product.shape[1], axis=0))
        return _pulled_back(lambda x: self.step(copies, x), _differentiable(self.inputs, self.cell), product)


def _any_steps(layer: Any, sequences: NDArray[Any], read: NDArray[np.bool_], steps: int) -> Iterator[LinearStep]:
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

    def forward(state: Array, inputs: NDArray[Any]) -> Array:
        return _float64(step(ops.convert_to_tensor(state, dtype=dtype), ops.convert_to_tensor(inputs)))

    rows = np.arange(len(sequences))
    start = np.concatenate([_float64(part) for part in parts], axis=-1)
    states = _states_before(forward, start, sequences, read).astype(dtype)
    # A state-regularized layer may leave its centroids out at the last step: there the cell inside runs alone.
    last = step if getattr(layer, "regularize_last_step", True) else functools.partial(step, cell=cell.cell)
    for lag, t in enumerate(_last_read(read, steps)):
        yield _AnyStep(step if lag else last, cell, states[t, rows], sequences[rows, t])


def _pulled_back(function: Callable[[Any], Any], rows: NDArray[Any], product: Array) -> Array:
    """P @ df/dx at every row x of a function that treats rows one by one: (rows, r, outputs) -> (rows, r, features).

    Every row is repeated r times and each copy asked for its own row of P: one backward pass for all.
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


def _float64(x: Any) -> Array:
    return np.asarray(ops.convert_to_numpy(x), np.float64)
