"""From cells to everything they compute at a step: a bridge, so that `traces` is NumPy.

Each cell's step is run by the cell's own code where that tells all; gates that a cell keeps to itself (Keras's LSTM and
GRU) are computed here from its weights, its state is not.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import keras
import numpy as np
from keras import ops
from numpy.typing import NDArray

from keras_interp_rnn.analysis._reading import run_cell

Tensor = Any
Quantities = dict[str, Tensor]


def steps(layer: Any, sequences: NDArray[Any], read: NDArray[np.bool_]) -> Iterator[dict[str, NDArray[Any]]]:
    """Runs a layer's cell: per step, in reading order, its quantities by name, each (batch, ...).

    Masked steps keep the state; `h` and `c` are then the state kept, whatever else is there means nothing.
    """
    cell = layer.cell
    if hasattr(layer, "checked"):
        sequences = ops.convert_to_numpy(layer.checked(ops.convert_to_tensor(sequences)))
    batch = len(sequences)
    states = [ops.cast(x, layer.variable_dtype) for x in keras.tree.flatten(layer.get_initial_state(batch_size=batch))]
    ends = np.ones(read.shape, bool)
    if not getattr(layer, "regularize_last_step", True):
        last = read.shape[1] - 1 - np.argmax(read[:, ::-1], axis=1)
        ends[np.arange(batch), last] = False
    components = {id(part): part.component() for part in _regularized(cell)}
    for t in range(sequences.shape[1]):
        applied = ends[:, t]
        run = _Run(components, None if applied.all() else ops.convert_to_tensor(applied[:, None]))
        quantities, new = _step(cell, ops.convert_to_tensor(sequences[:, t]), states, run)
        if read[:, t].all():
            states = [ops.cast(x, old.dtype) for x, old in zip(new, states, strict=True)]
        else:
            kept = ops.convert_to_tensor(read[:, t, None])
            states = [ops.where(kept, ops.cast(x, old.dtype), old) for x, old in zip(new, states, strict=True)]
        found = {name: np.array(ops.convert_to_numpy(x)) for name, x in {**quantities, **_named(cell, states)}.items()}
        for name, values in found.items():
            if name.endswith(("alpha", "centroid")):
                values[~applied] = -1 if name.endswith("centroid") else np.nan
        yield found


class _Run(NamedTuple):
    """What the cells of one step share."""

    components: dict[int, Any]  # of each state-regularized cell, by its id
    regularize: Tensor | None  # bool (batch, 1), None where the stochastic component applies everywhere


def _regularized(cell: Any) -> Iterator[Any]:
    """The state-regularized cells of a cell."""
    if hasattr(cell, "cells"):
        for part in cell.cells:
            yield from _regularized(part)
    elif keras.saving.get_registered_name(type(cell)) == "keras_interp_rnn>StateRegularizedCell":
        yield cell


def _step(cell: Any, inputs: Tensor, states: list[Tensor], run: _Run) -> tuple[Quantities, list[Tensor]]:
    """Quantities besides the states, and the new states."""
    if hasattr(cell, "cells"):
        return _stack(cell, inputs, states, run)
    kind = keras.saving.get_registered_name(type(cell))
    if kind == "keras_interp_rnn>StateRegularizedCell":
        return _state_regularized(cell, inputs, states, run)
    inside = _INSIDE.get(kind)
    return inside(cell, inputs, states) if inside else {}, run_cell(cell, inputs, states)


def _state_regularized(cell: Any, inputs: Tensor, states: list[Tensor], run: _Run) -> tuple[Quantities, list[Tensor]]:
    quantities, new = _step(cell.cell, inputs, states, run)
    own = {"u", "alpha", "centroid", "h", "c"}
    quantities = {f"cell_{name}" if name in own else name: x for name, x in quantities.items()}
    u = ops.cast(new[0], cell.variable_dtype)
    component = run.components[id(cell)]
    alpha, weights = cell.transit(u, component, cell.draw((u.shape[0],), training=False))
    state = cell.arrive(u, alpha, weights, component, run.regularize)
    quantities.update(u=u, alpha=alpha, centroid=ops.argmax(weights, axis=-1))
    return quantities, [state, *new[1:]]


def _stack(stack: Any, inputs: Tensor, states: list[Tensor], run: _Run) -> tuple[Quantities, list[Tensor]]:
    quantities: Quantities = {}
    new: list[Tensor] = []
    for i, (cell, own) in enumerate(zip(stack.cells, _divided(stack, states), strict=True)):
        found, moved = _step(cell, inputs, own, run)
        quantities.update({f"{i}/{name}": x for name, x in found.items()})
        new += moved
        inputs = moved[0]
    return quantities, new


def _named(cell: Any, states: list[Tensor]) -> Quantities:
    """A cell's states by name: h, and c where there is a second one."""
    if hasattr(cell, "cells"):
        parts = zip(cell.cells, _divided(cell, states), strict=True)
        return {f"{i}/{name}": x for i, (part, own) in enumerate(parts) for name, x in _named(part, own).items()}
    names = ["h", "c"] if len(states) == 2 else ["h", *(f"state_{i}" for i in range(1, len(states)))]
    return dict(zip(names, states, strict=True))


def _divided(stack: Any, states: list[Tensor]) -> Iterator[list[Tensor]]:
    remaining = iter(states)
    for cell in stack.cells:
        yield [next(remaining) for _ in keras.tree.flatten(cell.state_size)]


def _minimal_rnn(cell: Any, inputs: Tensor, states: list[Tensor]) -> Quantities:
    latent, drive = cell.project(inputs)
    return {"z": latent, "u": ops.sigmoid(ops.matmul(states[0], cell.recurrent_kernel) + drive)}


def _cfn(cell: Any, inputs: Tensor, states: list[Tensor]) -> Quantities:
    candidate, drive = cell.project(inputs)
    update, admit = ops.split(ops.sigmoid(ops.matmul(states[0], cell.recurrent_kernel) + drive), 2, axis=-1)
    return {"u": update, "i": admit, "candidate": candidate}


def _peephole_lstm(cell: Any, inputs: Tensor, states: list[Tensor]) -> Quantities:
    _, _, gates = cell.step(inputs, states)
    return dict(zip("ifo", gates, strict=True))


def _lstm(cell: Any, inputs: Tensor, states: list[Tensor]) -> Quantities:
    bias = cell.bias if cell.use_bias else 0
    drives = ops.matmul(inputs, cell.kernel) + ops.matmul(states[0], cell.recurrent_kernel) + bias
    admit, keep, candidate, emit = ops.split(drives, 4, axis=-1)
    gate = cell.recurrent_activation
    return {"i": gate(admit), "f": gate(keep), "o": gate(emit), "candidate": cell.activation(candidate)}


def _gru(cell: Any, inputs: Tensor, states: list[Tensor]) -> Quantities:
    units, [state] = cell.units, states
    of_input, of_state = 0, 0
    if cell.use_bias:
        of_input, of_state = (cell.bias[0], cell.bias[1]) if cell.reset_after else (cell.bias, 0)
    drive = ops.matmul(inputs, cell.kernel) + of_input
    update, reset = ops.split(
        cell.recurrent_activation(
            drive[:, : 2 * units] + (ops.matmul(state, cell.recurrent_kernel) + of_state)[:, : 2 * units]
        ),
        2,
        axis=-1,
    )
    own = cell.recurrent_kernel[:, 2 * units :]
    if cell.reset_after:
        mixed = reset * (ops.matmul(state, cell.recurrent_kernel) + of_state)[:, 2 * units :]
    else:
        mixed = ops.matmul(reset * state, own)
    return {"u": update, "r": reset, "candidate": cell.activation(drive[:, 2 * units :] + mixed)}


_INSIDE = {
    "keras_interp_rnn>MinimalRNNCell": _minimal_rnn,
    "keras_interp_rnn>CFNCell": _cfn,
    "keras_interp_rnn>PeepholeLSTMCell": _peephole_lstm,
    "LSTMCell": _lstm,
    "GRUCell": _gru,
}
