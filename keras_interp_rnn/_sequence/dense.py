"""Cells with one product h U of the state, over whole sequences, alone or followed by a stochastic component.

The backward pass takes gradients from step to step through the states alone. The gradients of the weights are products
over all steps, formed once after the loop.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterable, Sequence

from keras import ops

from keras_interp_rnn import _backend
from keras_interp_rnn._sequence.masks import zero_where_masked
from keras_interp_rnn._sequence.scan import scan
from keras_interp_rnn._types import Tensor
from keras_interp_rnn.equations import DenseEquations, StochasticComponent

Tensors = tuple[Tensor, ...]


def dense_states(
    cell: DenseEquations,
    component: StochasticComponent | None,
    starts: Sequence[Tensor],
    drive: Tensors,
    noise: Tensor | None = None,
    regularize: Tensor | None = None,
    dropout_mask: Tensor | None = None,
    mask: Tensor | None = None,
    unroll: bool = False,
) -> tuple[Tensor, list[Tensor]]:
    """The first state after every step, (time, batch, n), and the last states, differentiable in all but the masks.

    Args:
        cell: the equations of the cell, with `multiplies_once` and `has_derivative`; products have the dtype of U.
        component: the map from the cell's first state u to h; None if h is u.
        starts: the states before the first step, each (batch, n).
        drive: each part (time, batch, width).
        noise: Gumbel noise (time, batch, k), or None.
        regularize: bool (time, batch or 1, 1), False where a step skips the component; or None.
        dropout_mask: (time, batch, n), factors of the first state where it enters h U; or None.
        mask: bool (time, batch), False keeps the states; or None.
        unroll: whether the graph repeats the step instead of looping.
    """
    read = None if mask is None else mask[:, :, None]
    optional = {"read": read, "regularize": regularize, "noise": noise, "dropout_mask": dropout_mask}
    of_steps = {name: x for name, x in optional.items() if x is not None}

    @_backend.custom_gradient
    def run(*tensors: Tensor) -> tuple[Tensor, Callable[[Tensor], Tensors]]:
        trajectory = _Trajectory(cell, component, len(starts), tensors, of_steps, unroll)
        return trajectory.outputs, trajectory.gradients

    weights = [getattr(cell, name) for name in cell.step_weights]
    of_component = () if component is None else (component.centroids, component.temperature)
    found = run(*starts, *drive, *weights, *of_component)
    num_others = len(starts) - 1
    return found[: -num_others or None], [found[i - num_others - 1] for i in range(len(starts))]


class _Trajectory:
    """A cell along the steps, and the gradients of all that it is computed of.

    Args:
        num_states: of the cell.
        tensors: the states at the start, the parts of the drive, the weights of a step, and the component's.
        of_steps: sequences (time, ...) that a step also reads, by name.

    Attributes:
        states: each (time, batch, n), after every step. kept: what `cell.kept` keeps of each step. mixed: what the
            component's adjoint needs of each step.
        outputs: one tensor, as a custom gradient takes: h of all steps, then the other states after the last one.
    """

    def __init__(
        self,
        cell: DenseEquations,
        component: StochasticComponent | None,
        num_states: int,
        tensors: Tensors,
        of_steps: dict[str, Tensor],
        unroll: bool,
    ) -> None:
        num_of_component = 0 if component is None else 2
        num_parts = len(tensors) - num_states - len(cell.step_weights) - num_of_component
        self._starts, self._drive, weights, of_component = _grouped(
            tensors, num_states, num_parts, len(cell.step_weights), num_of_component
        )
        self._precise, self._rounded = self._starts[0].dtype, cell.recurrent_kernel.dtype
        self._cell = dataclasses.replace(cell, **dict(zip(cell.step_weights, weights, strict=True)))
        self._component, self._of_steps, self._unroll = component, of_steps, unroll
        if component is not None:
            self._component = dataclasses.replace(component, centroids=of_component[0], temperature=of_component[1])
        units, self._width = cell.recurrent_kernel.shape
        widths = (units,) * num_states + (self._width,) + ((units, *self._k) if self._k else ())
        sequences = (*self._drive, *of_steps.values())
        last, outputs = scan(self._step, list(self._starts), sequences, widths, unroll=unroll)
        self.states, [self.kept], self.mixed = _grouped(outputs, num_states, 1, num_of_component)
        others = [x[None] for x in last[1:]]
        self.outputs = ops.concatenate([self.states[0], *others], axis=0) if others else self.states[0]

    @property
    def _k(self) -> tuple[int, ...]:
        """The number of centroids, if there are any."""
        return () if self._component is None else (self._component.centroids.shape[0],)

    @property
    def _own_parts(self) -> list[int]:
        """The parts of the drive whose gradient is not that of the product."""
        return [i for i in range(len(self._drive)) if i != self._cell.added_part]

    def _step(self, states: list[Tensor], now: Tensors) -> tuple[list[Tensor], Tensors]:
        """The next states, and these with all that `_back` needs of the step."""
        drive, rest = _grouped(now, len(self._drive), len(self._of_steps))
        of_step = dict(zip(self._of_steps, rest, strict=True))
        entering = _entering(states, self._rounded, of_step.get("dropout_mask"))
        product = ops.cast(self._cell.product(ops, entering), self._precise)
        after = self._cell.step_given_product(ops, tuple(states), product, drive)
        kept, new = self._cell.kept(ops, product, after), list(after.states)
        mixed: Tensors = ()
        if self._component is not None:
            new[0], mixed = _through_component(self._component, new[0], of_step)
        if "read" in of_step:
            new = [ops.where(of_step["read"], x, old) for x, old in zip(new, states, strict=True)]
        return new, (*new, kept, *mixed)

    def gradients(self, upstream: Tensor) -> Tensors:
        """The gradients by all tensors, from those by the outputs."""
        num_others = len(self._starts) - 1
        ends = [ops.zeros_like(self._starts[0]), *(upstream[i - num_others] for i in range(num_others))]
        before = [ops.concatenate([x[None], of[:-1]], axis=0) for x, of in zip(self._starts, self.states, strict=True)]
        by_outputs = upstream[: -num_others or None]
        sequences = (by_outputs, *before, *self._drive, self.kept, *self.mixed, *self._of_steps.values())
        units = self.states[0].shape[-1]
        own_widths = (self._drive[i].shape[-1] for i in self._own_parts)
        widths = (self._width, *own_widths, *((*self._k, units) if self._k else ()))
        self._transposed = ops.transpose(self._cell.recurrent_kernel)
        by_starts, collected = scan(self._back, ends, sequences, widths, reverse=True, unroll=self._unroll)
        [by_product], by_parts, by_component = _grouped(collected, 1, len(self._own_parts), len(self.mixed))
        by_drive = dict(zip(self._own_parts, by_parts, strict=True))
        entering = _entering(before, self._rounded, self._of_steps.get("dropout_mask"))
        rows = _rows([ops.cast(by_product, self._rounded)])
        by_weights = self._cell.step_weight_gradients(ops, _rows(entering), _rows(self.states), *rows)
        found = (*by_starts, *(by_drive.get(i, by_product) for i in range(len(self._drive))), *by_weights)
        if self._component is None:
            return found
        noise = self._of_steps.get("noise")
        return *found, *_component_gradients(self._component, self.mixed, by_component, noise)

    def _back(self, after: list[Tensor], now: Tensors) -> tuple[list[Tensor], Tensors]:
        """The gradients by the states before a step, and by what is collected, from those by the states after it."""
        [by_output], before, drive, [kept], mixed, rest = _grouped(
            now, 1, len(self._starts), len(self._drive), 1, len(self.mixed), len(self._of_steps)
        )
        of_step = dict(zip(self._of_steps, rest, strict=True))
        by_states = [after[0] + by_output, *after[1:]]
        by_new = [zero_where_masked(x, of_step.get("read")) for x in by_states]
        collected: Tensors = ()
        if self._component is not None:
            by_new[0], collected = _into_component(self._component, by_new[0], mixed, of_step)
        pulled = self._cell.pull_back(ops, before, drive, kept)(_joined(by_new))
        earlier = _split(pulled.states, len(self._starts))
        by_entering = ops.cast(ops.matmul(ops.cast(pulled.product, self._rounded), self._transposed), self._precise)
        earlier[0] = earlier[0] + _dropped(by_entering, of_step.get("dropout_mask"))
        if "read" in of_step:
            earlier = [ops.where(of_step["read"], x, same) for x, same in zip(earlier, by_states, strict=True)]
        return earlier, (pulled.product, *(pulled.drive[i] for i in self._own_parts), *collected)


def _dropped(state: Tensor, dropout_mask: Tensor | None) -> Tensor:
    return state if dropout_mask is None else state * dropout_mask


def _entering(states: Sequence[Tensor], dtype: object, dropout_mask: Tensor | None) -> Tensors:
    """The states as the product h U reads them."""
    return ops.cast(_dropped(states[0], dropout_mask), dtype), *states[1:]


def _through_component(
    component: StochasticComponent, u: Tensor, of_step: dict[str, Tensor]
) -> tuple[Tensor, tuple[Tensor, Tensor]]:
    """The next state, and what its adjoint needs: u and the weights of the centroids with their gradient."""
    alpha, z = component.transition_weights(ops, u, of_step.get("noise"))
    state = component.next_state(ops, u, alpha, z, of_step.get("regularize"))
    return state, (u, alpha if component.transition.passes_gradient else z)


def _into_component(
    component: StochasticComponent, g: Tensor, mixed: Tensors, of_step: dict[str, Tensor]
) -> tuple[Tensor, tuple[Tensor, Tensor]]:
    """The gradient of u, of the scores (batch, k), and of the state where it is regularized, from that of the state."""
    regularize = of_step.get("regularize")
    regularized = zero_where_masked(g, regularize)
    into_u = (1 - component.strength) * g
    if component.transition.passes_gradient:
        into_scores = component.strength * component.into_scores(ops, mixed[1], regularized)
        into_u = into_u + ops.matmul(into_scores, component.centroids)
    else:
        into_scores = ops.zeros_like(mixed[1])
    if regularize is not None:
        into_u = ops.where(regularize, into_u, g)
    return into_u, (into_scores, regularized)


def _component_gradients(
    component: StochasticComponent, mixed: Tensors, collected: Tensors, noise: Tensor | None
) -> tuple[Tensor, Tensor]:
    """The gradients of the centroids and of tau, over all steps. mixed, collected: each (time, batch, ...)."""
    u, weights, into_scores, into_state = _rows([*mixed, *collected])
    by_scores = ops.matmul(ops.transpose(into_scores), u)
    by_mixture = component.strength * ops.matmul(ops.transpose(weights), into_state)
    # The scores are u S^T and their noise, both over tau.
    of_scores = ops.sum(by_scores * component.centroids)
    if noise is not None:
        of_scores = of_scores + component.noise * ops.sum(collected[0] * noise)
    return by_scores + by_mixture, -of_scores / component.temperature


def _grouped(flat: Iterable[Tensor], *sizes: int) -> list[Tensors]:
    """Tensors in consecutive groups of these sizes."""
    tensors = iter(flat)
    return [tuple(itertools.islice(tensors, size)) for size in sizes]


def _joined(states: Sequence[Tensor]) -> Tensor:
    return states[0] if len(states) == 1 else ops.concatenate(list(states), axis=-1)


def _split(states: Tensor, number: int) -> list[Tensor]:
    return [states] if number == 1 else list(ops.split(states, number, axis=-1))


def _rows(sequences: Iterable[Tensor]) -> Tensors:
    """Tensors (time, batch, n) as (time batch, n)."""
    return tuple(ops.reshape(x, (-1, x.shape[-1])) for x in sequences)
