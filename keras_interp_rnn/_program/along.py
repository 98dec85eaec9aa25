"""Cells along sequences, in reading order: their states, their outputs, and their steps linearized.

A cell whose equations are known (`_cells.equations_of`) runs, and is linearized, by them in float64; another one by its
own code, in its own dtype, which the backend differentiates: one backward pass per step over one copy of the batch for
each row of P.
"""

from __future__ import annotations

import functools
import inspect
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import keras
import numpy as np
from keras import ops, tree
from numpy.typing import NDArray

from keras_interp_rnn import _backend
from keras_interp_rnn._arrays import as_float64, as_symbols
from keras_interp_rnn._backend import keras_quirks
from keras_interp_rnn._cells import equations_of
from keras_interp_rnn._results import nth
from keras_interp_rnn._types import AnyArray, Array, Tensor
from keras_interp_rnn.equations import NUMPY, LinearStep

States = tuple[Array, ...]
Mask = NDArray[np.bool_]


def along(
    xp: Any, step: Callable[[int, Sequence[Tensor]], Sequence[Tensor]], states: Sequence[Tensor], read: Any, steps: int
) -> Iterator[Sequence[Tensor]]:
    """The states after each step, where a masked step keeps those before it. An output that is repeated is one of them.

    Args:
        xp: array namespace. step: (t, states) -> states. states: each (batch, n), at the start.
        read: bool (batch, steps), which steps are read, in reading order; None for all.
    """
    for t in range(steps):
        new = step(t, states)
        if read is not None:
            new = [xp.where(read[:, t, None], x, old) for x, old in zip(new, states, strict=True)]
        states = new
        yield states


def output_size(cell: Any) -> int:
    """The length of a cell's output; without a size of its own it is the first state."""
    return int(tree.flatten(getattr(cell, "output_size", cell.state_size))[0])


def state_sizes(cell: Any) -> list[int | tuple[int, ...]]:
    """The size of each state of a cell, or its shape; those of a stack of cells one after the other."""
    if isinstance(cell, keras.layers.StackedRNNCells):
        return [size for part in cell.cells for size in state_sizes(part)]
    return list(cell.state_size) if isinstance(cell.state_size, (list, tuple)) else [cell.state_size]


def cells_of(cell: Any) -> list[Any]:
    """The cells of a stack, from the inputs on; of any other cell itself."""
    return [*cell.cells] if isinstance(cell, keras.layers.StackedRNNCells) else [cell]


def encoder_of(cell: Any) -> Any:
    """The layer by which a cell reads its inputs; None where it has none."""
    return getattr(innermost(cell), "encoder", None)


def state_names(count: int) -> list[str]:
    """The names of a cell's states: h, and c where there is one more."""
    return ["h", "c"] if count == 2 else ["h", *(f"state_{i}" for i in range(1, count))]


def last_read(read: Mask, steps: int) -> NDArray[np.intp]:
    """(steps, batch): the last steps that each sequence reads, the last one first."""
    return np.argsort(np.where(read, np.arange(read.shape[1]), -1), axis=1)[:, : -steps - 1 : -1].T


def draws_noise(cell: object) -> bool:
    """Whether a state-regularized cell draws noise outside training."""
    return getattr(getattr(cell, "transition", None), "is_deterministic", True) is False


def treats_steps_alike(layer: object) -> bool:
    """Whether the last step is as all others: a state-regularized layer may leave its centroids out there."""
    return bool(getattr(layer, "regularize_last_step", True))


def step_cell(cell: Any, inputs: Any, states: Sequence[object]) -> tuple[Any, list[Any]]:
    """The output of any Keras cell, and its states as one list, after a step outside training, as in a layer."""
    arguments = {"training": False} if "training" in inspect.signature(cell.call).parameters else {}
    given = (
        tree.pack_sequence_as(cell.state_size, list(states))
        if isinstance(cell, keras.layers.StackedRNNCells)
        else list(states)
    )

    def step(inputs: Any) -> Any:
        return cell(inputs, given, **arguments)

    output, new = keras_quirks.as_in_a_layer(cell, step)(inputs)
    return output, tree.flatten(new)


class CellAlong:
    """A cell of a recurrent layer along sequences.

    Attributes:
        equations: None where the cell's own code runs, and the backend differentiates it.
        patch: (step, name, value) -> value, which replaces states, and quantities of `equations.patched`, in a run by
            equations; None for none.
    """

    patch: Callable[[int, str, Array], Array] | None = None

    def __init__(self, layer: Any, cell: Any = None) -> None:
        self.layer, self.cell = layer, layer.cell if cell is None else cell
        self.num_outputs, self.num_states = output_size(self.cell), len(state_sizes(self.cell))
        # Equations know no noise, which the cell's own code draws.
        self.equations = None if draws_noise(self.cell) else equations_of(self.cell, as_float64)
        self.leaves_out = not treats_steps_alike(layer)  # at the last step the cell inside steps alone

    @property
    def is_closed(self) -> bool:
        """Whether the steps are linearized by equations."""
        return self.equations is not None and self.equations.has_derivative

    @property
    def state_names(self) -> list[str]:
        """The names of the states, as a trace has them."""
        return state_names(self.num_states)

    @functools.cached_property
    def state_dtype(self) -> str:
        """The dtype in which the cell keeps its states from step to step."""
        first, *_ = tree.flatten(self.layer.get_initial_state(batch_size=1))
        return str(keras.backend.standardize_dtype(first.dtype))

    def run(self, inputs: AnyArray, read: Mask, starts: Sequence[Array] | None = None) -> Array:
        """The outputs (batch, time, n), repeated where a step is masked, 0 before the first one that is read.

        Args:
            inputs: (batch, time, ...). read: bool (batch, time). Both in reading order.
            starts: the states, each (batch, n); None for those of the layer.
        """
        rows, steps = read.shape
        # Masked steps, which may hold NaN, are not read.
        inputs = np.where(read.reshape(rows, steps, *[1] * (inputs.ndim - 2)), inputs, np.zeros_like(inputs))
        if starts is None:
            starts = [as_float64(x) for x in tree.flatten(self.layer.get_initial_state(batch_size=rows))]
        drive = None if self.equations is None else self.equations.drive(NUMPY, read_by_equations(self.cell, inputs))
        self.inputs, self.drive, self.last = inputs, drive or (inputs,), np.zeros(read.shape, bool)
        if self.leaves_out:
            self.last[np.arange(rows), last_read(read, 1)[0]] = True
        self.before = [np.empty((steps, *start.shape)) for start in starts]

        def step(t: int, states: Sequence[Array]) -> list[Array]:
            for kept, state in zip(self.before, states[1:], strict=True):
                kept[t] = state
            now, last = tuple(x[:, t] for x in self.drive), self.last[:, t, None]
            new = self._step(self._by, states[1:], now, t)
            if last.any():
                plain = self._step(self._by.cell, states[1:], now, t)
                new = [np.where(last, a, b) for a, b in zip(plain, new, strict=True)]
            return new

        outputs = []
        for output, *states in along(np, step, [np.zeros((rows, self.num_outputs)), *starts], read, steps):
            outputs.append(output)
            self.after = states
        return np.stack(outputs, axis=1)

    def pulled_back(self, gradient: Array, read: Mask, ends: Sequence[Array | None]) -> tuple[Array, list[Array]]:
        """From gradients by what the last run computed to those by its inputs, and by the states that it began with.

        Args:
            gradient: by the outputs, (batch, time, n). read: as of `run`. ends: by the states after the last step, each
                (batch, n); None for 0.
        """
        (rows, steps), width = read.shape, self.num_outputs
        sizes = [x.shape[-1] for x in self.before]
        states = [np.zeros((rows, size)) if end is None else end for size, end in zip(sizes, ends, strict=True)]
        # By the output, which a masked step repeats, and by the states.
        carried = np.concatenate([np.zeros((rows, width)), *states], axis=-1)[:, None]
        result = np.zeros(self.inputs.shape)
        for t in reversed(range(steps)):
            there = read[:, t, None, None]
            carried[:, 0, :width] += gradient[:, t]
            linear = self.linear(t, outputs=True)
            result[:, t] = np.where(there, linear.input(carried), 0)[:, 0]
            before = np.concatenate([np.zeros((rows, 1, width)), linear.before(carried)], axis=-1)
            carried = np.where(there, before, carried)
        return result, np.split(carried[:, 0, width:], np.cumsum(sizes)[:-1].tolist(), axis=-1)

    def linear(self, t: Any, *, outputs: bool = False) -> LinearStep:
        """The steps t of the last run, linearized; t: int, or (batch,) of ints.

        With `outputs` the columns of P begin with those of the output, before those of the states.
        """
        rows = np.arange(len(self.last))
        states, now = tuple(x[t, rows] for x in self.before), tuple(x[rows, t] for x in self.drive)
        inputs, last = self.inputs[rows, t], self.last[rows, t, None, None]
        steps = [self._linear(by, states, now, inputs, outputs) for by in self._by_with_and_without()]
        if len(steps) == 1:
            return steps[0]

        def chosen(pulls: list[Callable[[Array], Array]]) -> Callable[[Array], Array]:
            return lambda product: np.where(last, pulls[1](product), pulls[0](product))

        return LinearStep(chosen([step.before for step in steps]), chosen([step.input for step in steps]))

    @property
    def _by(self) -> Any:
        """The equations, or the cell; its `cell` steps without the stochastic component."""
        return self.cell if self.equations is None else self.equations

    def _by_with_and_without(self) -> list[Any]:
        return [self._by, self._by.cell] if self.leaves_out else [self._by]

    def _step(self, by: Any, states: Sequence[Array], now: tuple[Array, ...], t: int = 0) -> list[Array]:
        """The output and the states after step t."""
        if self.equations is not None:
            patch = None if self.patch is None else functools.partial(self.patch, t)
            by_patch = {"patch": patch} if patch and self.equations.patched else {}
            new = by.step(NUMPY, tuple(states), now, **by_patch).states
            if patch is not None:
                new = tuple(patch(name, x) for name, x in zip(self.state_names, new, strict=True))
            return [self.equations.output(NUMPY, new, now), *new]
        tensors = [ops.convert_to_tensor(x, dtype=by.variable_dtype) for x in states]
        return [as_float64(x) for x in self._by_code(by, self._readable(now[0]), tensors)]

    def _readable(self, inputs: AnyArray) -> Tensor:
        floats = np.issubdtype(inputs.dtype, np.floating)
        return ops.convert_to_tensor(inputs.astype(self.cell.variable_dtype) if floats else inputs)

    def _by_code(self, cell: object, inputs: Tensor, states: Sequence[Tensor]) -> list[Tensor]:
        """As `_step`; without the stochastic component the output is the state."""
        output, new = step_cell(cell, inputs, [ops.cast(x, self.state_dtype) for x in states])
        return [output if cell is self.cell else new[0], *new]

    def _linear(self, by: Any, states: States, now: tuple[Array, ...], inputs: AnyArray, outputs: bool) -> LinearStep:
        if self.equations is None or not self.is_closed or (outputs and not self.equations.outputs_state):
            return self._differentiated(self.cell if by is self._by else self.cell.cell, states, inputs, outputs)
        linear, units = by.linearization(NUMPY, states, now), states[0].shape[-1]
        into = _into_inputs(self.cell, linear.input, inputs)
        if not outputs:
            return LinearStep(linear.before, into)

        def joined(product: Array) -> Array:  # the output is the first state
            first = product[..., :units] + product[..., units : 2 * units]
            return np.concatenate([first, product[..., 2 * units :]], axis=-1)

        return LinearStep(lambda product: linear.before(joined(product)), lambda product: into(joined(product)))

    def _differentiated(self, cell: Any, states: States, inputs: AnyArray, outputs: bool) -> LinearStep:
        """By the backend; the cell treats the rows of a batch independently."""
        state = np.concatenate(states, axis=-1).astype(self.cell.variable_dtype)
        ends = np.cumsum([x.shape[1] for x in states]).tolist()

        def step(state: Tensor, inputs: Tensor) -> Tensor:
            parts = [state[:, start:end] for start, end in itertools.pairwise([0, *ends])]
            found = self._by_code(cell, inputs, parts)
            return ops.concatenate(found if outputs else found[1:], axis=-1)

        def before(product: Array) -> Array:
            given = ops.repeat(self._readable(inputs), product.shape[1], axis=0)
            return _pulled_back(lambda state: step(state, given), state, product)

        def by_input(product: Array) -> Array:
            given = ops.repeat(ops.convert_to_tensor(state), product.shape[1], axis=0)
            return _pulled_back(lambda x: step(given, x), _differentiable(inputs, self.cell), product)

        return LinearStep(before, by_input)


def check_num_steps(read: Mask, steps: int) -> None:
    """Raises ValueError if a sequence reads fewer steps."""
    enough = read.sum(axis=1) >= steps
    if not enough.all():
        row = int(np.argmin(enough))
        raise ValueError(
            f"Sequences must read at least {steps} steps for a lag of {steps - 1}. Received: {nth('sequence', row)} "
            f"with {int(read[row].sum())} (of {read.shape[1]} steps, less those masked). Give longer sequences or a "
            "shorter lag."
        )


def linear_steps(recurrent: CellAlong, sequences: AnyArray, read: Mask, steps: int) -> Iterator[LinearStep]:
    """The last `steps` steps that each sequence reads, the last one first.

    Raises:
        ValueError: if a sequence reads fewer, or if states are no vectors.
    """
    check_num_steps(read, steps)
    shapes = [tuple(x.shape) for x in tree.flatten(recurrent.layer.get_initial_state(batch_size=len(read)))]
    if any(len(shape) != 2 for shape in shapes):
        raise ValueError(
            f"States must be vectors, (batch, n), for Jacobians. Received: states of shapes {shapes} in "
            f"{recurrent.layer.name}. Use a layer with vectors as states."
        )
    recurrent.run(sequences, read)
    return (recurrent.linear(t) for t in last_read(read, steps))


def output_in_state(layer: Any) -> Array:
    """dh/ds (n, s): which entries of the whole state are the output h, the first state of the topmost cell."""
    top = layer.cell
    while isinstance(top, keras.layers.StackedRNNCells):
        top = top.cells[-1]
    everything, of_top = (int(sum(tree.flatten(cell.state_size))) for cell in (layer.cell, top))
    return np.eye(int(tree.flatten(top.state_size)[0]), everything, everything - of_top)


def read_by_equations(cell: object, sequences: AnyArray) -> AnyArray:
    """The sequences as the equations read them, (batch, time, ...): ids without an axis of 1, or float64."""
    size = vocabulary_of(cell)
    if size is not None and np.issubdtype(sequences.dtype, np.integer) and sequences.shape[2:] in ((), (1,)):
        as_symbols(sequences.ravel(), size)
        sequences = sequences.reshape(*sequences.shape[:2], 1)
    elif size is not None and sequences.shape[2:] != (size,):
        raise ValueError(
            "An ISAN's inputs must be integer ids (batch, time), or one-hot vectors or distributions (batch, time, "
            f"{size}). Received: {sequences.dtype} of shape {sequences.shape}. Cast ids to an integer dtype."
        )
    if not hasattr(cell, "encode"):
        return as_float64(sequences)
    flat = sequences.reshape(-1, *sequences.shape[2:])
    encoded = np.asarray(ops.convert_to_numpy(cell.encode(ops.convert_to_tensor(flat))))
    encoded = encoded.reshape(*sequences.shape[:2], *encoded.shape[1:])
    return encoded if np.issubdtype(encoded.dtype, np.integer) else encoded.astype(np.float64)


def vocabulary_of(cell: object) -> int | None:
    """The vocabulary size of the innermost cell; None if it does not read symbols."""
    size = getattr(innermost(cell), "vocabulary_size", None)
    return None if size is None else int(size)


def _into_inputs(cell: object, pull: Callable[[Array], Array], inputs: AnyArray) -> Callable[[Array], Array]:
    """P -> P @ ds_t/dx_t, through the encoder, if the cell has one. Ids count as one-hot vectors."""
    encoder = encoder_of(cell)
    if encoder is None and vocabulary_of(cell) is not None:
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


def innermost(cell: object) -> Any:
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


def _pulled_back(function: Callable[[Any], Any], rows: AnyArray, product: Array) -> Array:
    """P @ df/dx at every row x of a function of independent rows: (rows, r, outputs) -> (rows, r, features).

    Every row is repeated r times, and each copy takes one row of P: a single backward pass for all.
    """
    weights = ops.convert_to_tensor(product.reshape(-1, product.shape[-1]).astype(rows.dtype))
    gradient = _backend.gradient(
        lambda x: ops.sum(ops.cast(function(x), weights.dtype) * weights), np.repeat(rows, product.shape[1], axis=0)
    )
    return np.asarray(gradient, np.float64).reshape(*product.shape[:2], -1)


def _differentiable(inputs: AnyArray, cell: Any) -> AnyArray:
    if not np.issubdtype(inputs.dtype, np.floating):
        raise ValueError(
            f"Inputs must be real numbers, to differentiate by them. Received: inputs of dtype {inputs.dtype}. Ask for "
            "with_respect_to='state', or pass the embedded inputs to the layer after the Embedding."
        )
    return inputs.astype(cell.variable_dtype)
