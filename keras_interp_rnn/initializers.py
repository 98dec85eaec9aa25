r"""Initial biases of gated networks that make an input influence the state for a given number of steps.

In a wide network with random matrices the arguments of the gates are normally distributed. The effect of a step on the
variance of the state, and on that of a small perturbation, is therefore given by a few Gaussian integrals, the mean
field. With the gate $u$ that keeps the state, the candidate $c$, and the scale $\sigma$ of the recurrent matrices,

$$Q = E[u^2]\, Q + E[(1 - u)^2]\, E[c^2], \qquad \chi = E[u^2] + (\text{what passes through gates and candidate}),$$

where Q is the mean square of the state, and $\chi$ the mean square of the singular values of a step's Jacobian. After k
steps the mean square has shrunk by $\chi^k$. At $\chi = 1$, the critical point, gradients neither vanish nor explode on
average. With orthogonal matrices the bias of u moves $\chi$ from a third to nearly 1. `CriticalBias` computes the bias
for a given value of $\chi$.

The derivation and its assumptions are in docs/notes/mean-field.md. It follows Chen, Pennington and Schoenholz,
"Dynamical isometry and a mean field theory of RNNs", ICML 2018, arXiv:1806.05394 (MinimalRNN), and Gilboa et al., 2019,
arXiv:1901.08987 (GRU, LSTM).
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import keras
import numpy as np

from keras_interp_rnn._checks import choice, non_negative, positive, within
from keras_interp_rnn._results import short_repr
from keras_interp_rnn._types import Tensor

__all__ = ["CriticalBias", "mean_field"]

NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(61)
WEIGHTS = WEIGHTS / WEIGHTS.sum()
"""Nodes and weights of Gauss-Hermite quadrature, for expectations over a standard normal variable."""

STATE_STEPS, BISECTIONS = 1000, 40
LOWEST, HIGHEST = -10.0, 20.0
"""Range of gate biases that is searched."""

Function = Callable[[Tensor], Tensor]

LARGEST_BIAS = 30.0
"""Largest absolute value of a gate bias; sigmoid(37) is 1 in float64."""


@short_repr
@dataclasses.dataclass(frozen=True)
class MeanField:
    """Mean-field statistics of the states and gradients of a wide random network.

    Attributes:
        gate_bias: bias of the gate that keeps the state. state_variance: mean square of the state after many steps; for
            an LSTM, of the cell state. growth: factor by which the mean square of the singular values of
            $dh_{t+k}/dh_t$ changes with each step k; for an LSTM, from the second step on.

    Example: see `mean_field`.
    """

    gate_bias: float
    state_variance: float
    growth: float

    @property
    def steps(self) -> float:
        """Number of steps in which the root mean square of the singular values shrinks to 1/e; negative if it grows."""
        return math.inf if self.growth == 1 else -2 / math.log(self.growth)


def mean_field(
    cell: str,
    gate_bias: float,
    *,
    recurrent_scale: float = 1.0,
    input_variance: float = 1.0,
    reset_after: bool = True,
) -> MeanField:
    r"""The mean field of a MinimalRNN, a GRU or an LSTM with many units.

    Args:
        cell: "MinimalRNN", with the default encoder; "GRU" or "LSTM".
        gate_bias: bias of the gate that keeps the state: u of a MinimalRNN, z of a GRU in Keras's notation, f of an
            LSTM, whose input gate has the negative bias. All other biases are 0.
        recurrent_scale: $\sigma$ > 0 of each recurrent matrix: 1 if it is orthogonal, or has entries of variance 1/n.
        input_variance: >= 0, mean square of the input's term in the argument of each gate and candidate or, for a
            MinimalRNN, of its encoder's tanh. It is v for features with mean square v and an orthogonal kernel. Inputs
            of different steps are assumed to be independent.
        reset_after: for a GRU, as in Keras.

    Returns:
        `MeanField`.

    Raises:
        ValueError: if the cell is unknown or a number is out of range.

    Exactness: the limit of infinitely many units with independent matrices at every step. A layer, whose steps share
    their matrices, agrees within 2 % at a gate bias of 3 or more; at a bias of 0 the growth of a GRU or an LSTM is up
    to a quarter higher (docs/notes/mean-field.md).
    Reference: Chen, Pennington and Schoenholz, 2018, arXiv:1806.05394, section 3.

    Example:

    >>> from keras_interp_rnn import initializers
    >>> print(f"{initializers.mean_field('MinimalRNN', 1.0).growth:.3f}")  # the bias of layers.MinimalRNN
    0.543
    >>> field = initializers.mean_field("MinimalRNN", 5.0)
    >>> print(f"{field.growth:.3f}, to 1/e in {field.steps:.0f} steps")
    0.984, to 1/e in 123 steps
    """
    cell = choice("cell", cell, CELLS)
    scale = positive("recurrent_scale", recurrent_scale)
    drive = non_negative("input_variance", input_variance)
    remedy = "Larger ones open or close a gate for good."
    gate_bias = within("gate_bias", gate_bias, -LARGEST_BIAS, LARGEST_BIAS, remedy)
    options = {"reset_after": reset_after} if cell == "GRU" else {}
    return MeanField(gate_bias, *CELLS[cell](gate_bias, scale**2, drive, **options))


@keras.saving.register_keras_serializable(package="keras_interp_rnn")
class CriticalBias(keras.initializers.Initializer):
    r"""Biases with which the influence of an input shrinks to 1/e in a given number of steps.

    The bias b of the gate that keeps the state solves $\chi(b) = e^{-2/k}$ in the mean field of `mean_field`. The
    larger the number of steps k, the closer the network is to its critical point, $\chi = 1$. The bias of the input
    gate of an LSTM is -b; all other biases are 0. The layer should have orthogonal recurrent matrices, Keras's default.

    Args:
        cell: "MinimalRNN", "GRU" or "LSTM": the layer whose `bias_initializer` this is. `keras.layers.LSTM` needs
            `unit_forget_bias=False`, because it otherwise initializes its gates separately.
        steps: k > 0, finite.
        recurrent_scale, input_variance, reset_after: as `mean_field`.

    Call arguments:
        shape: shape of the layer's bias, (n,) for a MinimalRNN, (2, 3n) or (3n,) for a GRU, (4n,) for an LSTM.
        dtype: of the values.
    Raises:
        ValueError: if no bias from -10 to 20 gives the number of steps; if the shape is not that of the cell's bias; as
            `mean_field`.
    Reference: Chen, Pennington and Schoenholz, 2018, arXiv:1806.05394.

    Example:

    >>> import keras
    >>> from keras_interp_rnn import initializers, layers
    >>> start = initializers.CriticalBias("MinimalRNN", steps=100)
    >>> print(f"{start.gate_bias:.2f}")
    4.79
    >>> layer = layers.MinimalRNN(16, bias_initializer=start)
    >>> gru = keras.layers.GRU(16, bias_initializer=initializers.CriticalBias("GRU", steps=100))
    """

    def __init__(
        self,
        cell: str,
        steps: float = 100.0,
        *,
        recurrent_scale: float = 1.0,
        input_variance: float = 1.0,
        reset_after: bool = True,
    ) -> None:
        self.cell, self.steps = cell, positive("steps", steps)
        self.recurrent_scale, self.input_variance, self.reset_after = recurrent_scale, input_variance, reset_after
        self.gate_bias = self._solved()

    def _solved(self) -> float:
        """The bias, by bisection: the growth increases with it, unless large matrices make it exceed 1."""
        target = math.exp(-2 / self.steps)
        settings: dict[str, Any] = {
            "recurrent_scale": self.recurrent_scale,
            "input_variance": self.input_variance,
            "reset_after": self.reset_after,
        }

        def growth(bias: float) -> float:
            return mean_field(self.cell, bias, **settings).growth

        low, high = LOWEST, HIGHEST
        if not growth(low) <= target <= growth(high):
            raise ValueError(
                f"`steps` must be reached by a gate bias from {LOWEST:g} to {HIGHEST:g}. Received: "
                f"steps={self.steps:g} and recurrent_scale={self.recurrent_scale:g}, which no such bias reaches. "
                "Choose a recurrent_scale of about 1 and another number of steps."
            )
        for _ in range(BISECTIONS):
            middle = (low + high) / 2
            low, high = (middle, high) if growth(middle) < target else (low, middle)
        return (low + high) / 2

    def __call__(self, shape: tuple[int, ...], dtype: object = None) -> Any:
        """The biases."""
        signs = SIGNS[self.cell]
        units, rest = divmod(shape[-1], len(signs))
        if rest or len(shape) > 2 or (len(shape) == 2 and (self.cell != "GRU" or shape[0] != 2)):
            raise ValueError(
                f"The bias of {self.cell} must have {len(signs)} parts of n each. Received: shape={shape}. Name the "
                "cell of the layer."
            )
        bias = np.zeros(shape)
        bias.reshape(-1, shape[-1])[0] = np.repeat(np.multiply(signs, self.gate_bias), units)
        return keras.ops.convert_to_tensor(bias, dtype=dtype or keras.backend.floatx())

    def get_config(self) -> dict[str, Any]:
        return {
            "cell": self.cell,
            "steps": self.steps,
            "recurrent_scale": self.recurrent_scale,
            "input_variance": self.input_variance,
            "reset_after": self.reset_after,
        }


SIGNS = {"MinimalRNN": (1,), "GRU": (1, 0, 0), "LSTM": (-1, 1, 0, 0)}
"""Factor of the gate bias in each part of a layer's bias, in order."""


def _sigmoid(x: Tensor) -> Tensor:
    return 0.5 * (1 + np.tanh(x / 2))


def _sigmoid_slope(x: Tensor) -> Tensor:
    return _sigmoid(x) * _sigmoid(-x)


def _tanh_slope(x: Tensor) -> Tensor:
    return 1 - np.tanh(x) ** 2


def _square(of: Function, mean: float, variance: float) -> float:
    """E[f(x)^2] of a normal x."""
    return float(WEIGHTS @ of(mean + math.sqrt(variance) * NODES) ** 2)


def _fixed_point(following: Callable[[float], float]) -> float:
    """The fixed point of the map of variances."""
    variance = 0.0
    for _ in range(STATE_STEPS):
        variance, before = following(variance), variance
        if abs(variance - before) <= 1e-13 * variance:
            break
    return variance


def _minimal_rnn(bias: float, scale: float, drive: float) -> tuple[float, float]:
    """Mean square of the state, and growth; `scale` and `drive` are squares."""
    latent = _square(np.tanh, 0.0, drive)

    def argument(state: float) -> float:
        return scale * state + latent

    def following(state: float) -> float:
        kept_part, admitted = (_square(_sigmoid, sign * bias, argument(state)) for sign in (1, -1))
        return admitted * latent / (1 - kept_part)

    state = _fixed_point(following)
    through_gate = scale * _square(_sigmoid_slope, bias, argument(state)) * (state + latent)
    return state, _square(_sigmoid, bias, argument(state)) + through_gate


def _gru(bias: float, scale: float, drive: float, reset_after: bool) -> tuple[float, float]:
    """As `_minimal_rnn`."""

    def reset(state: float) -> Tensor:
        """Arguments of the reset gate at the nodes."""
        return math.sqrt(scale * state + drive) * NODES

    def of_candidate(of: Function, state: float) -> Tensor:
        """E[f(x)^2] over the candidate's argument, for each argument of the reset gate."""
        gates = _sigmoid(reset(state)) ** 2
        gates = gates if reset_after else np.full_like(gates, WEIGHTS @ gates)
        spread = np.sqrt(gates * scale * state + drive)
        return of(spread[:, None] * NODES) ** 2 @ WEIGHTS

    def following(state: float) -> float:
        kept_part, admitted = (_square(_sigmoid, sign * bias, scale * state + drive) for sign in (1, -1))
        return float(admitted * (WEIGHTS @ of_candidate(np.tanh, state)) / (1 - kept_part))

    state = _fixed_point(following)
    argument = scale * state + drive
    candidate = float(WEIGHTS @ of_candidate(np.tanh, state))
    gates, slopes = _sigmoid(reset(state)), _sigmoid_slope(reset(state))
    if reset_after:
        # r g + x with g = h U: over r, g and x.
        inner = math.sqrt(scale * state) * NODES
        arguments = gates[:, None, None] * inner[:, None] + math.sqrt(drive) * NODES
        passed = np.einsum("rgx,x->rg", _tanh_slope(arguments) ** 2, WEIGHTS)
        through = scale * (gates[:, None] ** 2 + (slopes[:, None] * inner) ** 2)
        through_candidate = float(np.einsum("rg,rg,r,g", passed, through, WEIGHTS, WEIGHTS))
    else:
        held = WEIGHTS @ gates**2 + scale * state * (WEIGHTS @ slopes**2)
        through_candidate = float(scale * held * (WEIGHTS @ of_candidate(_tanh_slope, state)))
    growth = (
        _square(_sigmoid, bias, argument)
        + scale * _square(_sigmoid_slope, bias, argument) * (state + candidate)
        + _square(_sigmoid, -bias, argument) * through_candidate
    )
    return state, growth


def _lstm(bias: float, scale: float, drive: float) -> tuple[float, float]:
    """As `_minimal_rnn`, for a normally distributed cell state; the growth is that of (c, h)."""

    def cell(hidden: float) -> float:
        """Mean square of the cell state, given that of the hidden state."""
        argument = scale * hidden + drive
        written = _square(_sigmoid, -bias, argument) * _square(np.tanh, 0.0, argument)
        return written / (1 - _square(_sigmoid, bias, argument))

    def following(hidden: float) -> float:
        return _square(_sigmoid, 0.0, scale * hidden + drive) * _square(np.tanh, 0.0, cell(hidden))

    hidden = _fixed_point(following)
    state, argument = cell(hidden), scale * hidden + drive
    forget = _square(_sigmoid, bias, argument)
    into_cell = scale * (
        _square(_sigmoid_slope, bias, argument) * state
        + _square(_sigmoid_slope, -bias, argument) * _square(np.tanh, 0.0, argument)
        + _square(_sigmoid, -bias, argument) * _square(_tanh_slope, 0.0, argument)
    )
    shown = _square(_sigmoid, 0.0, argument) * _square(_tanh_slope, 0.0, state)
    through_output = scale * _square(_sigmoid_slope, 0.0, argument) * _square(np.tanh, 0.0, state)
    step = np.array([[forget, into_cell], [shown * forget, shown * into_cell + through_output]])
    return state, float(np.abs(np.linalg.eigvals(step)).max())


CELLS: dict[str, Callable[..., tuple[float, float]]] = {
    "MinimalRNN": _minimal_rnn,
    "GRU": _gru,
    "LSTM": _lstm,
}
