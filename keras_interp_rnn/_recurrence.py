r"""Whole-sequence trajectories with gradients of their own, the mask rule, and the choice of the path for ISAN.

Affine recurrences, `switched_affine_states`. One step is $h_t = h_{t-1} W_{x_t} + b_{x_t}$. The adjoint of an affine
recurrence is an affine recurrence, transposed and run backwards (docs/notes/affine-adjoint.md), so no path stores
anything but the states, and the gradient of all matrices is a few large products over all steps at once instead of one
small one per step. Its paths, chosen by `choose_path`:

- "grouped": `_kernels.tensorflow`, sequences that read the same symbol share a product. TensorFlow on CPUs.
- "static":  the same mathematics in `keras.ops` with sizes fixed in advance. Every backend, XLA, GPUs.
- "stepwise": the cell in `scan`, differentiated by the backend. Distributions as inputs, `unroll=True`.

Gated recurrences, `gated_states`: MinimalRNN and CFN, whose states mix inside their gates alone. One path, `keras.ops`.

Mask rule (that of `keras.layers.RNN`): a masked step keeps the state and repeats the last output; before the first
unmasked step the output is zero.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from keras import ops

from keras_interp_rnn import _backend

Tensor = Any

BLOCK = 32
"""Rows per block of the static kernel gradient: every symbol pads to a multiple of it."""

FEW_SYMBOLS = 64
"""Up to here every symbol has a product of its own on the grouped path; beyond, only the commonest."""

SMALLEST_GROUPED_UNITS = {"few": 8, "many": 96}
"""With fewer units the products are so small that launching one per symbol costs more than copying matrices."""


class Path(NamedTuple):
    """How a sequence will be computed, and why."""

    name: str
    reason: str


def choose_path(fused: bool | str, units: int, vocabulary_size: int, reads_ids: bool, unroll: bool) -> Path:
    """Which path runs.

    Args:
        fused: "auto", True or False, as the layer was told.
        units, vocabulary_size: n, K.
        reads_ids: False if the input is a distribution over symbols.
        unroll: as in `keras.layers.RNN`.

    Raises:
        ValueError: fused is True and no whole-sequence path can run; the message says why.
    """
    obstacle = None
    if not reads_ids:
        obstacle = "the input is a distribution over symbols, which mixes all matrices at every step: pass integer ids"
    elif unroll:
        obstacle = "unroll=True asks for the cell step by step: pass unroll=False"
    if fused is True and obstacle:
        raise ValueError(f"fused=True cannot run here: {obstacle}, or fused='auto'.")
    if fused is False:
        return Path("stepwise", "fused=False")
    if obstacle:
        return Path("stepwise", obstacle)
    if _backend.name() != "tensorflow":
        return Path("static", f"the grouped kernel is TensorFlow's, the backend is {_backend.name()}")
    smallest = SMALLEST_GROUPED_UNITS["few" if vocabulary_size <= FEW_SYMBOLS else "many"]
    if units < smallest:
        return Path(
            "static", f"below {smallest} units, with {vocabulary_size} symbols, grouping costs more than it saves"
        )
    tensorflow_obstacle = _backend.tensorflow_obstacle()
    if tensorflow_obstacle:
        return Path("static", tensorflow_obstacle)
    return Path("grouped", "TensorFlow on CPU")


def switched_affine_states(
    path: str, kernel: Tensor, bias: Tensor, start: Tensor, symbols: Tensor, mask: Tensor | None = None
) -> Tensor:
    """States h_1, ..., h_T of every sequence of a batch, differentiable in kernel, bias and start.

    Args:
        path: "grouped" or "static".
        kernel: (K, n, n). bias: (K, n). start: (batch, n).
        symbols: int (batch, time) in [0, K).
        mask: bool (batch, time), False keeps the state; or None.

    Returns:
        (batch, time, n)
    """
    if path == "grouped":
        from keras_interp_rnn._kernels.tensorflow import trajectory
    else:
        trajectory = _static_trajectory

    # One tensor out, ids and mask from outside: what the custom gradients of all three backends accept.
    @ops.custom_gradient
    def run(kernel: Tensor, bias: Tensor, start: Tensor) -> tuple[Tensor, Callable[..., tuple[Tensor, ...]]]:
        states, adjoint = trajectory(kernel, bias, start, symbols, mask)

        def gradient(*args: Tensor, upstream: Tensor | None = None) -> tuple[Tensor, ...]:
            return adjoint(args[0] if upstream is None else upstream)

        return states, gradient

    return run(kernel, bias, start)


class Gates(NamedTuple):
    """A recurrence whose state is mixed inside its gates alone, u_t = sigmoid(h_{t-1} U + d_t).

    Attributes:
        step: (state, gates, latent) -> the next state.
        linearization: (state, gates, latent) -> diagonal (..., n) and slopes (..., G n), as in
            `equations.minimal_rnn.state_jacobian`.
        admission: gates -> dh_t/dlatent_t, a diagonal (..., n).
    """

    step: Callable[[Tensor, Tensor, Tensor], Tensor]
    linearization: Callable[[Tensor, Tensor, Tensor], tuple[Tensor, Tensor]]
    admission: Callable[[Tensor], Tensor]


def gated_states(
    recurrence: Gates,
    recurrent_kernel: Tensor,
    start: Tensor,
    drive: Tensor,
    latent: Tensor,
    mask: Tensor | None = None,
    thinning: Tensor | None = None,
    unroll: bool = False,
) -> Tensor:
    """States h_1, ..., h_T of every sequence of a batch, time-major, differentiable in all tensors but the masks.

    The adjoint of a step is the transpose of its Jacobian, a diagonal and one scaled matrix per gate, so the way back
    is as cheap as the way forward, and the gradient of the recurrent kernel is one product over all steps.

    Args:
        recurrence: of G gates.
        recurrent_kernel: (n, G n); its dtype is that of the product h U.
        start: (batch, n); its dtype is that of the states.
        drive: (time, batch, G n), what enters the gates besides the state.
        latent: (time, batch, n).
        mask: bool (time, batch), False keeps the state; or None.
        thinning: (batch, n), by which the state is multiplied where it enters the gates; or None.
        unroll: whether the graph repeats the step instead of looping.

    Returns:
        (time, batch, n)
    """
    precise, product = start.dtype, recurrent_kernel.dtype
    units, width = recurrent_kernel.shape
    masks = () if mask is None else (mask[:, :, None],)

    def entering(state: Tensor) -> Tensor:
        return ops.cast(state if thinning is None else state * ops.cast(thinning, precise), product)

    @ops.custom_gradient
    def run(recurrent_kernel: Tensor, start: Tensor, drive: Tensor, latent: Tensor) -> Any:
        def step(state: Tensor, now: tuple[Tensor, ...]) -> tuple[Tensor, tuple[Tensor, Tensor]]:
            drive, latent, *read = now
            gates = ops.sigmoid(ops.cast(ops.matmul(entering(state), recurrent_kernel), precise) + drive)
            new = recurrence.step(state, gates, latent)
            if read:
                new = ops.where(read[0], new, state)
            return new, (new, gates)

        _, (states, gates) = scan(step, start, (drive, latent, *masks), (units, width), unroll=unroll)

        def gradient(*args: Tensor, upstream: Tensor | None = None) -> tuple[Tensor, ...]:
            upstream = args[0] if upstream is None else upstream
            before = ops.concatenate([start[None], states[:-1]], axis=0)
            transposed = ops.transpose(recurrent_kernel)

            # Step by step, though nothing here but g is sequential: what is small stays in the processor's cache.
            def back(after: Tensor, now: tuple[Tensor, ...]) -> tuple[Tensor, tuple[Tensor, Tensor]]:
                upstream, state, gates, latent, *read = now
                g = after + upstream
                diagonal, slopes = recurrence.linearization(state, gates, latent)
                into_gates = ops.concatenate([g] * (width // units), axis=-1) * slopes
                into_latent = g * recurrence.admission(gates)
                if read:
                    into_gates = ops.where(read[0], into_gates, ops.zeros_like(into_gates))
                    into_latent = ops.where(read[0], into_latent, ops.zeros_like(into_latent))
                    diagonal = ops.where(read[0], diagonal, ops.ones_like(diagonal))
                mixed = ops.cast(ops.matmul(ops.cast(into_gates, product), transposed), precise)
                if thinning is not None:
                    mixed = mixed * ops.cast(thinning, precise)
                return g * diagonal + mixed, (into_gates, into_latent)

            sequences = (upstream, before, gates, latent, *masks)
            into_start, (into_gates, into_latent) = scan(
                back, ops.zeros_like(start), sequences, (width, units), reverse=True, unroll=unroll
            )
            rows = ops.reshape(entering(before), (-1, units))
            columns = ops.reshape(ops.cast(into_gates, product), (-1, width))
            return ops.matmul(ops.transpose(rows), columns), into_start, into_gates, into_latent

        return states, gradient

    return run(recurrent_kernel, start, ops.cast(drive, precise), ops.cast(latent, precise))


def scan(
    step: Callable[[Any, Any], tuple[Any, Any]],
    start: Any,
    sequences: tuple[Tensor, ...],
    widths: tuple[int, ...],
    reverse: bool = False,
    unroll: bool = False,
) -> tuple[Any, tuple[Tensor, ...]]:
    """As `jax.lax.scan`: the last state, and what `step(state, entries)` puts out besides the next one, stacked.

    Args:
        start: (batch, n), or a list of such.
        sequences: each (time, ...). widths: last axes of what is put out, each (batch, width) of the (first) state's
            dtype.
        unroll: whether the graph repeats the step; the number of steps is known then.
    """
    if not unroll:
        if _backend.name() != "tensorflow":
            return ops.scan(step, start, sequences, reverse=reverse)
        from keras_interp_rnn._kernels.tensorflow import loop

        return loop(step, start, sequences, widths, reverse)
    state, outputs = start, []
    order = range(sequences[0].shape[0])
    for t in reversed(order) if reverse else order:
        state, output = step(state, tuple(x[t] for x in sequences))
        outputs.append(output)
    outputs = outputs[::-1] if reverse else outputs
    return state, tuple(ops.stack(parts) for parts in zip(*outputs, strict=True))


def last_read(mask: Tensor | None, steps: Any) -> Tensor:
    """Bool (time, batch) or (time, 1), time-major: True at the last step that each sequence reads.

    Args:
        mask: bool (time, batch), or None. steps: their number.
    """
    if mask is None:
        return (ops.arange(steps) == steps - 1)[:, None]
    after = ops.flip(ops.cumsum(ops.cast(ops.flip(mask, axis=0), "int32"), axis=0), axis=0)
    return ops.logical_and(mask, after == 1)


def outputs_under_mask(states: Tensor, mask: Tensor | None, zero_output: bool) -> Tensor:
    """What an RNN layer puts out for states (batch, time, n) whose masked steps repeat the state before."""
    if mask is None:
        return states
    begun = mask if zero_output else ops.cumsum(ops.cast(mask, "int32"), axis=1) > 0
    return ops.where(begun[:, :, None], states, ops.zeros_like(states))


def _affine_scan(
    kernel: Tensor, symbols: Tensor, read: Tensor | None, addends: Tensor, start: Tensor, reverse: bool = False
) -> tuple[Tensor, Tensor]:
    """h_t = h_{t-1} W_{x_t} + a_t, time-major: symbols (T, B), read (T, B, 1) bool or None, addends (T, B, n)."""

    def step(state: Tensor, now: tuple[Tensor, ...]) -> tuple[Tensor, tuple[Tensor]]:
        symbols, addends, *read = now
        new = ops.matmul(state[:, None, :], ops.take(kernel, symbols, axis=0))[:, 0, :]
        if read:
            new = ops.where(read[0], new, state)
        new = new + addends
        return new, (new,)

    masks = () if read is None else (read,)
    state, [states] = scan(step, start, (symbols, addends, *masks), (kernel.shape[1],), reverse)
    return state, states


def _static_trajectory(
    kernel: Tensor, bias: Tensor, start: Tensor, symbols: Tensor, mask: Tensor | None
) -> tuple[Tensor, Callable[[Tensor], tuple[Tensor, Tensor, Tensor]]]:
    """As `_kernels.tensorflow.trajectory`, with sizes that do not depend on the values."""
    symbols = ops.transpose(symbols)
    read = None if mask is None else ops.transpose(mask)[:, :, None]
    addends = ops.take(bias, symbols, axis=0)
    if read is not None:
        addends = ops.where(read, addends, ops.zeros_like(addends))
    _, states = _affine_scan(kernel, symbols, read, addends, start)

    def adjoint(upstream: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        upstream = ops.transpose(upstream, (1, 0, 2))
        # g_{t-1} = u_{t-1} + g_t W_{x_t}^T from g_T = u_T; u_0 = 0, so the last one is the gradient of start.
        earlier = ops.concatenate([ops.zeros_like(upstream[:1]), upstream[:-1]], axis=0)
        into_start, backward = _affine_scan(
            ops.transpose(kernel, (0, 2, 1)), symbols, read, earlier, upstream[-1], reverse=True
        )
        gradients = ops.concatenate([backward[1:], upstream[-1:]], axis=0)
        if read is not None:
            gradients = ops.where(read, gradients, ops.zeros_like(gradients))
        before = ops.concatenate([start[None], states[:-1]], axis=0)
        units = kernel.shape[1]
        kernel_gradient, bias_gradient = _grouped_gradients(
            ops.reshape(symbols, (-1,)),
            ops.reshape(before, (-1, units)),
            ops.reshape(gradients, (-1, units)),
            kernel.shape[0],
        )
        return kernel_gradient, bias_gradient, into_start

    return ops.transpose(states, (1, 0, 2)), adjoint


def _grouped_gradients(
    symbols: Tensor, before: Tensor, gradients: Tensor, vocabulary_size: int
) -> tuple[Tensor, Tensor]:
    """For every symbol the sum over its rows of before^T gradient, and of gradient. Rows: (R, n).

    The rows of each symbol are padded with zeros to whole blocks, one product per block, then summed by symbol: at
    most R / BLOCK + K blocks, whatever the data.
    """
    rows, units = ops.shape(symbols)[0], before.shape[1]
    order = ops.argsort(symbols)
    sorted_symbols = ops.take(symbols, order, axis=0)
    # Not ops.bincount: on JAX its length depends on the values.
    counts = ops.segment_sum(ops.ones_like(symbols), symbols, num_segments=vocabulary_size)
    blocks_of = (counts + BLOCK - 1) // BLOCK
    first_row = ops.cumsum(counts) - counts
    first_block = ops.cumsum(blocks_of) - blocks_of
    rank = ops.arange(rows, dtype="int32") - ops.take(first_row, sorted_symbols, axis=0)
    place = BLOCK * ops.take(first_block, sorted_symbols, axis=0) + rank
    number_of_blocks = (rows + BLOCK - 1) // BLOCK + vocabulary_size

    def in_blocks(values: Tensor) -> Tensor:
        padded = ops.scatter(place[:, None], ops.take(values, order, axis=0), (number_of_blocks * BLOCK, units))
        return ops.reshape(padded, (-1, BLOCK, units))

    left, right = in_blocks(before), in_blocks(gradients)
    block_ends = ops.cumsum(blocks_of)
    owner = ops.searchsorted(block_ends, ops.arange(number_of_blocks, dtype="int32"), side="right")
    owner = ops.minimum(ops.cast(owner, "int32"), vocabulary_size - 1)
    products = ops.matmul(ops.transpose(left, (0, 2, 1)), right)
    kernel_gradient = ops.segment_sum(products, owner, num_segments=vocabulary_size)
    bias_gradient = ops.segment_sum(ops.sum(right, axis=1), owner, num_segments=vocabulary_size)
    return kernel_gradient, bias_gradient
