"""Cells with one product h U of the state, over whole sequences, alone or followed by a stochastic component.

The backward pass takes gradients from step to step through the states alone. The gradients of the weights are products
over all steps, formed once after the loop.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable, Sequence
from typing import Any

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
    units, width = cell.recurrent_kernel.shape
    num_states, num_parts, num_weights = len(starts), len(drive), 0 if component is None else 2
    end = 1 - num_states or None  # of h in the output of `run`
    precise, rounded = starts[0].dtype, cell.recurrent_kernel.dtype
    read = None if mask is None else mask[:, :, None]
    optional = {"read": read, "regularize": regularize, "noise": noise, "dropout_mask": dropout_mask}
    extras = {name: x for name, x in optional.items() if x is not None}
    own_parts = [i for i in range(num_parts) if i != cell.added_part]
    k = () if component is None else (component.centroids.shape[0],)

    @_backend.custom_gradient
    def run(*tensors: Tensor) -> Any:
        sizes = num_states, num_parts, len(cell.step_weights), num_weights
        starts, drive, weights, of_component = _grouped(tensors, *sizes)
        known = dataclasses.replace(cell, **dict(zip(cell.step_weights, weights, strict=True)))
        stochastic = component
        if component is not None:
            stochastic = dataclasses.replace(component, centroids=of_component[0], temperature=of_component[1])

        def step(states: list[Tensor], now: Tensors) -> tuple[list[Tensor], Tensors]:
            drive, rest = _grouped(now, num_parts, len(extras))
            of_step = dict(zip(extras, rest, strict=True))
            entering = _entering(states, rounded, of_step.get("dropout_mask"))
            product = ops.cast(known.product(ops, entering), precise)
            after = known.step_given_product(ops, tuple(states), product, drive)
            kept, new = known.kept(ops, product, after), list(after.states)
            mixed: Tensors = ()
            if stochastic is not None:
                new[0], mixed = _through_component(stochastic, new[0], of_step)
            if "read" in of_step:
                new = [ops.where(of_step["read"], x, old) for x, old in zip(new, states, strict=True)]
            return new, (*new, kept, *mixed)

        widths = (units,) * num_states + (width,) + ((units, *k) if k else ())
        last, outputs = scan(step, list(starts), (*drive, *extras.values()), widths, unroll=unroll)
        states, [kept], mixed = _grouped(outputs, num_states, 1, num_weights)

        def gradient(upstream: Tensor) -> Tensors:
            ends = [ops.zeros_like(starts[0]), *(upstream[i - num_states] for i in range(1, num_states))]
            before = [ops.concatenate([x[None], of[:-1]], axis=0) for x, of in zip(starts, states, strict=True)]
            transposed = ops.transpose(known.recurrent_kernel)

            def back(after: list[Tensor], now: Tensors) -> tuple[list[Tensor], Tensors]:
                [upstream], before, drive, [kept], mixed, rest = _grouped(
                    now, 1, num_states, num_parts, 1, num_weights, len(extras)
                )
                of_step = dict(zip(extras, rest, strict=True))
                g = [after[0] + upstream, *after[1:]]
                into = [zero_where_masked(x, of_step.get("read")) for x in g]
                collected: Tensors = ()
                if stochastic is not None:
                    into[0], collected = _into_component(stochastic, into[0], mixed, of_step)
                pulled = known.pull_back(ops, before, drive, kept)(_joined(into))
                into_product = pulled.product
                earlier = _split(pulled.states, num_states)
                into_first = ops.cast(ops.matmul(ops.cast(into_product, rounded), transposed), precise)
                earlier[0] = earlier[0] + _dropped(into_first, of_step.get("dropout_mask"))
                if "read" in of_step:
                    earlier = [ops.where(of_step["read"], x, same) for x, same in zip(earlier, g, strict=True)]
                return earlier, (into_product, *(pulled.drive[i] for i in own_parts), *collected)

            sequences = (upstream[:end], *before, *drive, kept, *mixed, *extras.values())
            widths = (width, *(drive[i].shape[-1] for i in own_parts), *((*k, units) if k else ()))
            into_starts, collected = scan(back, ends, sequences, widths, reverse=True, unroll=unroll)
            [into_product], into_parts, of_component = _grouped(collected, 1, len(own_parts), num_weights)
            into_drive = dict(zip(own_parts, into_parts, strict=True))
            entering = _entering(before, rounded, dropout_mask)
            rows = _rows([ops.cast(into_product, rounded)])
            into_weights = known.step_weight_gradients(ops, _rows(entering), _rows(states), *rows)
            return (
                *into_starts,
                *(into_drive.get(i, into_product) for i in range(num_parts)),
                *into_weights,
                *(() if stochastic is None else _component_gradients(stochastic, mixed, of_component, noise)),
            )

        # One tensor, as a custom gradient takes: h of all steps, then the other states after the last one.
        others = [x[None] for x in last[1:]]
        return ops.concatenate([states[0], *others], axis=0) if others else states[0], gradient

    weights = [getattr(cell, name) for name in cell.step_weights]
    of_component = () if component is None else (component.centroids, component.temperature)
    found = run(*starts, *drive, *weights, *of_component)
    return found[:end], [found[i - num_states] for i in range(num_states)]


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
