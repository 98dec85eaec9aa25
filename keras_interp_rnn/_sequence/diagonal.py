r"""Diagonal recurrences over whole sequences, real or complex, in a few parallel passes or step by step.

One step is $h_t = a_t \odot h_{t-1} + b_t$. Its adjoint is the same recurrence run backwards: with the gradient $u_t$
of the loss by each state,

$$g_t = u_t + \bar a_{t+1} \odot g_{t+1}, \qquad \frac{\partial L}{\partial b_t} = g_t, \qquad
  \frac{\partial L}{\partial a_t} = g_t \odot \bar h_{t-1},$$

where the bars are conjugates. So one function computes both directions, and stores only the states.

Two steps form one step with decay $a_{t+1} a_t$ and addend $a_{t+1} b_t + b_{t+1}$. After m passes over pairs,
$T / 2^m$ steps remain for a loop (Blelloch, 1990, "Prefix sums and their applications"). On a CPU the loop alone is
fastest; on an accelerator, where each pass is one launch, the passes alone.

Complex numbers are real arrays, [real parts | imaginary parts] side by side in the last axis.
"""

from __future__ import annotations

from typing import Any

from keras import ops

from keras_interp_rnn import _backend
from keras_interp_rnn._sequence.scan import UNROLLED, Path, scan, whole_or_stepwise
from keras_interp_rnn._types import Tensor

PASSES = 5
"""Passes on an accelerator if the number of steps is not known; a loop over T / 32 steps follows."""


def choose_path(fused: bool | str, steps: int | None, unroll: bool) -> Path:
    """Chooses the path.

    Args:
        fused: "auto", True or False, as in the layer.
        steps: T, if known.
        unroll: as in `keras.layers.RNN`.

    Raises:
        ValueError: if fused is True and no whole-sequence path can run, with the reason.
    """
    stepwise = whole_or_stepwise(fused, UNROLLED if unroll else None)
    if stepwise is not None:
        return stepwise
    device = _backend.accelerator()
    if not device:
        return Path("loop", "on a CPU one pass, step after step, reads and writes the least")
    if steps is None:
        return Path(
            "parallel", f"on {device}, {PASSES} passes over pairs, then a loop: the number of steps is not known"
        )
    return Path("parallel", f"on {device}, passes alone")


def diagonal_states(
    path: str, decay: Tensor, addend: Tensor, start: Tensor, read: Tensor | None, is_complex: bool = False
) -> Tensor:
    """States h_1, ..., h_T of every sequence of a batch, time-major, differentiable in decay, addend and start.

    Args:
        path: "loop" or "parallel".
        decay: a, addend: b, both (time, batch, n), or (time, batch, 2 n) where they are complex.
        start: (batch, n) or (batch, 2 n), in the dtype of the states.
        read: bool (time, batch, 1), False keeps the state; or None.
        is_complex: whether the last axis holds real and imaginary parts.

    Returns:
        (time, batch, n) or (time, batch, 2 n)
    """
    decay, addend = (ops.cast(x, start.dtype) for x in (decay, addend))
    if read is not None:
        decay, addend = ops.where(read, decay, _ones(decay, is_complex)), ops.where(read, addend, 0.0)
    times = _times_complex if is_complex else ops.multiply
    conjugate = _conjugate if is_complex else lambda x: x

    @_backend.custom_gradient
    def run(decay: Tensor, addend: Tensor, start: Tensor) -> Any:
        # The start joins the first addend, and the first decay is not used again.
        first = addend[:1] + times(decay[:1], start[None])
        states = _states(path, times, decay, ops.concatenate([first, addend[1:]], axis=0))

        def gradient(upstream: Tensor) -> tuple[Tensor, ...]:
            # Backwards, g_t follows from g_{t+1} with the decay a_{t+1}; a_{T+1}, the first one, is not used.
            later = conjugate(ops.concatenate([decay[1:], decay[:1]], axis=0))
            addend_gradient = _states(path, times, later, upstream, reverse=True)
            before = ops.concatenate([start[None], states[:-1]], axis=0)
            start_gradient = times(conjugate(decay[0]), addend_gradient[0])
            return times(conjugate(before), addend_gradient), addend_gradient, start_gradient

        return states, gradient

    return run(decay, addend, start)


def _states(path: str, times: object, decay: Tensor, addend: Tensor, reverse: bool = False) -> Tensor:
    """h_t = a_t h_{t-1} + b_t from h_1 = b_1; in reverse h_t = a_t h_{t+1} + b_t from h_T = b_T."""
    if path == "loop":
        return _loop(times, decay, addend, reverse)
    if reverse:
        return ops.flip(_states(path, times, ops.flip(decay, axis=0), ops.flip(addend, axis=0)), axis=0)
    steps = decay.shape[0]
    if steps is not None:
        return _pairs(times, decay, addend, (steps - 1).bit_length())
    padding = [[0, -ops.shape(decay)[0] % 2**PASSES], [0, 0], [0, 0]]
    return _pairs(times, ops.pad(decay, padding), ops.pad(addend, padding), PASSES)[: ops.shape(decay)[0]]


def _pairs(times: Any, decay: Tensor, addend: Tensor, passes: int) -> Tensor:
    """The states by passes over pairs of steps, and a loop over the remaining steps."""
    steps = decay.shape[0]
    if steps == 1:
        return addend
    if passes == 0:
        return _loop(times, decay, addend)
    if steps is not None and steps % 2:
        but_last = _pairs(times, decay[:-1], addend[:-1], passes)
        return ops.concatenate([but_last, addend[-1:] + times(decay[-1:], but_last[-1:])], axis=0)
    later = decay[1::2]
    joint = addend[1::2] + times(later, addend[0::2])
    second = _pairs(times, times(later, decay[0::2]), joint, passes - 1)  # h_2, h_4, ...
    first = ops.concatenate([addend[:1], addend[2::2] + times(decay[2::2], second[:-1])], axis=0)  # h_1, h_3, ...
    return ops.reshape(ops.stack([first, second], axis=1), (-1, *ops.shape(decay)[1:]))


def _loop(times: Any, decay: Tensor, addend: Tensor, reverse: bool = False) -> Tensor:
    def step(state: Tensor, now: tuple[Tensor, ...]) -> tuple[Tensor, tuple[Tensor]]:
        new = times(now[0], state) + now[1]
        return new, (new,)

    _, [states] = scan(step, ops.zeros_like(addend[0]), (decay, addend), (addend.shape[-1],), reverse)
    return states


def _times_complex(a: Tensor, b: Tensor) -> Tensor:
    (real, imaginary), (other_real, other_imaginary) = ops.split(a, 2, axis=-1), ops.split(b, 2, axis=-1)
    product = [real * other_real - imaginary * other_imaginary, real * other_imaginary + imaginary * other_real]
    return ops.concatenate(product, axis=-1)


def _conjugate(x: Tensor) -> Tensor:
    real, imaginary = ops.split(x, 2, axis=-1)
    return ops.concatenate([real, -imaginary], axis=-1)


def _ones(x: Tensor, is_complex: bool) -> Tensor:
    """The number 1, real or complex, as an array of the last axis."""
    ones = ops.ones_like(x[0, 0])
    if not is_complex:
        return ones
    half = x.shape[-1] // 2
    return ops.concatenate([ones[:half], ops.zeros_like(ones[half:])], axis=-1)
