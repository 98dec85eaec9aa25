"""Everything that a cell computes at a step.

States come from the cell's own code, everything else from its equations (`_cells.equations_of`), run in `keras.ops` on
the weights as the variables hold them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import keras
import numpy as np
from keras import ops
from numpy.typing import NDArray

from keras_interp_rnn._cells import equations_of
from keras_interp_rnn._program.along import last_read, state_names, state_sizes, step_cell, treats_steps_alike
from keras_interp_rnn._types import AnyArray, Tensor
from keras_interp_rnn.equations.state_regularized import OWN

Quantities = dict[str, Tensor]


def run_with_quantities(
    layer: Any, sequences: AnyArray, read: NDArray[np.bool_], given: Mapping[int, list[Tensor]] | None = None
) -> Iterator[dict[str, AnyArray]]:
    """Runs a layer's cell: per step, in reading order, its quantities by name, each (batch, ...).

    Masked steps keep the state; `h` and `c` are then the state kept, and all other quantities have no meaning. After
    the steps in `given` the states are those given there.
    """
    cell = layer.cell
    if hasattr(layer, "checked"):
        sequences = ops.convert_to_numpy(layer.checked(ops.convert_to_tensor(sequences)))
    batch = len(sequences)
    states = [ops.cast(x, layer.variable_dtype) for x in keras.tree.flatten(layer.get_initial_state(batch_size=batch))]
    ends = np.ones(read.shape, bool)
    if not treats_steps_alike(layer):
        ends[np.arange(batch), last_read(read, 1)[0]] = False
    for t in range(sequences.shape[1]):
        applied = ends[:, t]
        regularize = None if applied.all() else ops.convert_to_tensor(applied[:, None])
        quantities, _, new = _step(cell, ops.convert_to_tensor(sequences[:, t]), states, regularize)
        if read[:, t].all():
            states = [ops.cast(x, old.dtype) for x, old in zip(new, states, strict=True)]
        else:
            kept = ops.convert_to_tensor(read[:, t, None])
            states = [ops.where(kept, ops.cast(x, old.dtype), old) for x, old in zip(new, states, strict=True)]
        states = (given or {}).get(t, states)
        tensors = {**quantities, **_named(cell, states)}
        arrays = {name: np.array(ops.convert_to_numpy(tensor)) for name, tensor in tensors.items()}
        for name, values in arrays.items():
            if name.endswith(("alpha", "centroid")):
                values[~applied] = -1 if name.endswith("centroid") else np.nan
        yield arrays


def _step(
    cell: Any, inputs: Tensor, states: list[Tensor], regularize: Tensor | None
) -> tuple[Quantities, Tensor, list[Tensor]]:
    """Quantities besides the states, the output, the new states; regularize: bool (batch, 1), None where all are."""
    if isinstance(cell, keras.layers.StackedRNNCells):
        return _stack(cell, inputs, states, regularize)
    if hasattr(cell, "stochastic_component"):
        return _state_regularized(cell, inputs, states, regularize)
    output, new = step_cell(cell, inputs, states)
    equations = equations_of(cell, ops.convert_to_tensor)
    if equations is None:
        return {}, output, new
    reads = cell.encode(inputs) if hasattr(cell, "encode") else inputs
    integer = "int" in keras.backend.standardize_dtype(reads.dtype)
    drive = equations.drive(ops, reads if integer else ops.cast(reads, cell.variable_dtype))
    precise = tuple(ops.cast(x, cell.variable_dtype) for x in states)
    return equations.step(ops, precise, drive).quantities, output, new


def _state_regularized(
    cell: Any, inputs: Tensor, states: list[Tensor], regularize: Tensor | None
) -> tuple[Quantities, Tensor, list[Tensor]]:
    """As `equations.StateRegularized.step`, over a cell whose equations need not be known, with the noise it draws."""
    inner, _, new = _step(cell.cell, inputs, states, regularize)
    quantities = {f"cell_{name}" if name in OWN else name: x for name, x in inner.items()}
    u = ops.cast(new[0], cell.variable_dtype)
    component = cell.stochastic_component()
    alpha, weights = component.transition_weights(ops, u, cell.draw((u.shape[0],), training=False))
    quantities.update(u=u, alpha=alpha, centroid=ops.argmax(weights, axis=-1))
    state = component.next_state(ops, u, alpha, weights, regularize)
    return quantities, state, [state, *new[1:]]


def _stack(
    stack: Any, inputs: Tensor, states: list[Tensor], regularize: Tensor | None
) -> tuple[Quantities, Tensor, list[Tensor]]:
    quantities: Quantities = {}
    new: list[Tensor] = []
    for i, (cell, own) in enumerate(zip(stack.cells, _divided(stack, states), strict=True)):
        inner, inputs, inner_states = _step(cell, inputs, own, regularize)
        quantities.update({f"{i}/{name}": x for name, x in inner.items()})
        new += inner_states
    return quantities, inputs, new


def _named(cell: object, states: list[Tensor]) -> Quantities:
    """A cell's states by name: h, and c where there is a second one."""
    if isinstance(cell, keras.layers.StackedRNNCells):
        parts = zip(cell.cells, _divided(cell, states), strict=True)
        return {f"{i}/{name}": x for i, (part, own) in enumerate(parts) for name, x in _named(part, own).items()}
    return dict(zip(state_names(len(states)), states, strict=True))


def _divided(stack: Any, states: list[Tensor]) -> Iterator[list[Tensor]]:
    remaining = iter(states)
    for cell in stack.cells:
        yield [next(remaining) for _ in state_sizes(cell)]
