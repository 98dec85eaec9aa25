r"""Lyapunov exponents of a recurrent layer: how fast nearby states move apart, or together, while it reads a sequence.

A small change of the state is multiplied at each step by the Jacobian $J_t = \partial s_t / \partial s_{t-1}$. With
$Q_t R_t = J_t Q_{t-1}$, Q orthogonal and R upper triangular, the i-th exponent is the mean growth of a direction,

$$\lambda_i = \frac{1}{T} \sum_t \log \lvert (R_t)_{ii} \rvert,$$

and their sum is the mean of $\log \lvert \det J_t \rvert$. A positive one means chaos; all below 0 mean that the layer
forgets its initial state, the slowest direction by a factor of e in $1 / \lvert \lambda_1 \rvert$ steps.

References: Benettin et al., "Lyapunov characteristic exponents for smooth dynamical systems", Meccanica 15, 1980; Vogt
et al., "On Lyapunov exponents for RNNs", Frontiers in Applied Mathematics and Statistics 8, 2022.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from keras_interp_rnn._checks import integer
from keras_interp_rnn._network import read_texts, resolve_alphabet, resolve_recurrent_layer
from keras_interp_rnn._program import CellAlong, linear_steps
from keras_interp_rnn._results import Result
from keras_interp_rnn._types import Array


@dataclass(frozen=True, eq=False, repr=False)
class LyapunovExponents(Result):
    """Exponents of each sequence, with the growth of each step, in nats per step.

    Attributes:
        exponents: (batch, s), in descending order; -inf for a direction that a step maps to 0.
        growth: (batch, steps, s), log |R_ii| of each step that counts, in reading order; the exponents are the means.
        method: "closed form" or "autodiff", as for `input_output_jacobian`.

    Example: see `lyapunov_exponents`.
    """

    exponents: Array
    growth: Array
    method: str

    @property
    def standard_error(self) -> Array:
        """(batch, s), estimated from the means of ten blocks of steps; NaN for fewer than ten steps."""
        steps = self.growth.shape[1] // 10 * 10
        if not steps:
            return np.full(self.exponents.shape, np.nan)
        blocks = self.growth[:, :steps].reshape(len(self.growth), 10, -1, self.growth.shape[-1]).mean(axis=2)
        return np.asarray(blocks.std(axis=1, ddof=1) / np.sqrt(10))


def lyapunov_exponents(
    network: object, inputs: object, *, mask: object = None, num_exponents: int | None = None, num_skipped: int = 0
) -> LyapunovExponents:
    r"""The Lyapunov exponents of a recurrent layer along sequences.

    Args:
        network, inputs, mask: as `input_output_jacobian`, of a single layer in one direction.
        num_exponents: number of exponents, the largest ones; None for as many as the state has entries (h and c of an
            LSTM).
        num_skipped: number of steps at the beginning that only align the directions and do not count. If sequences
            differ in length, the last steps count, as many as the shortest sequence has.

    Returns:
        `LyapunovExponents`: `exponents` (batch, s), in nats per step, and `standard_error`.

    Raises:
        ValueError: as `input_output_jacobian` with respect to the state; if a sequence reads too few steps.

    Exactness: Jacobians as in `input_output_jacobian`, in float64. The sum of all s exponents is the mean of
        $\log \lvert \det J_t \rvert$, to rounding. The exponents are those of these steps; `standard_error` estimates
        their distance from the limit of long sequences.
    Example:

        >>> from keras_interp_rnn import analysis
        >>> layer = keras.layers.SimpleRNN(3, recurrent_initializer="orthogonal", activation="linear")
        >>> found = analysis.lyapunov_exponents(layer, np.ones((1, 50, 2)))
        >>> bool(np.abs(found.exponents).max() < 1e-6)  # a rotation neither stretches nor shrinks
        True

    References: Benettin et al., 1980; Vogt et al., 2022.
    """
    integer("num_skipped", num_skipped, 0)
    network, names = resolve_alphabet(network)
    layer, sequences, read = resolve_recurrent_layer(network, read_texts(inputs, names), mask)
    recurrent = CellAlong(layer)
    num_steps = int(read.sum(axis=1).min())
    if num_steps <= num_skipped:
        raise ValueError(
            f"Every sequence must read more than num_skipped={num_skipped} steps. Received: one of {num_steps}. Pass "
            "longer sequences, or skip fewer steps."
        )
    steps = list(linear_steps(recurrent, sequences, read, num_steps))[::-1]
    size = sum(state.shape[-1] for state in recurrent.before)
    count = size if num_exponents is None else min(integer("num_exponents", num_exponents), size)
    everything = np.tile(np.eye(size), (len(sequences), 1, 1))
    directions, growth = everything[:, :, :count], []
    with np.errstate(divide="ignore"):
        for step in steps:
            directions, triangle = np.linalg.qr(step.before(everything) @ directions)
            growth.append(np.log(np.abs(np.diagonal(triangle, axis1=1, axis2=2))))
    counted = np.stack(growth, axis=1)[:, num_skipped:]
    order = np.argsort(-counted.mean(axis=1), axis=1, kind="stable")
    counted = np.take_along_axis(counted, order[:, None, :], axis=2)
    return LyapunovExponents(counted.mean(axis=1), counted, "closed form" if recurrent.is_closed else "autodiff")
