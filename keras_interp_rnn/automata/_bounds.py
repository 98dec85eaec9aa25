r"""Bounds on what a state-regularized cell computes, in float32 or float64, over a region of states.

Every bound is of the number that the network's own arithmetic arrives at: beside the interval of the exact value stands
an allowance for rounding, from the classical bound on a sum of m products, $\gamma_m \sum |a||b|$ with
$\gamma_m = m u / (1 - m u)$, u the unit roundoff of the layer's dtype. The bounds are float64 and widened by `WIDEN`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import keras
import numpy as np
from keras import ops
from numpy.typing import NDArray

from keras_interp_rnn.analysis._reading import middle
from keras_interp_rnn.automata._network import Network

Array = NDArray[np.float64]

FUNCTION_ERROR = 2.0**-20
"""Allowed to tanh, sigmoid and exp of the backend: absolute for the first two, relative for exp."""

WIDEN = 1e-12
"""Relative allowance for the float64 rounding of these bounds themselves."""


class Box(NamedTuple):
    """Componentwise bounds: low <= x <= high."""

    low: Array
    high: Array

    def wider(self, by: Array | float) -> Box:
        slack = by + WIDEN * (np.abs(self.low) + np.abs(self.high))
        return Box(self.low - slack, self.high + slack)

    @property
    def magnitude(self) -> Array:
        return np.maximum(np.abs(self.low), np.abs(self.high))


@dataclass(frozen=True)
class Region:
    """States s + sum_j a_j d_j + e with a_j >= 0, sum a_j <= epsilon, |e| <= error."""

    centre: Array
    directions: Array  # (j, n)
    epsilon: float
    error: Array

    @classmethod
    def point(cls, state: Array) -> Region:
        return cls(state, np.zeros((0, len(state))), 0.0, np.zeros(len(state)))

    def under(self, matrix: Array) -> Box:
        """Bounds on h @ matrix: a linear map of the simplex has its extremes at the corners."""
        middle, moves = self.centre @ matrix, self.directions @ matrix
        spread = self.error @ np.abs(matrix)
        low = self.epsilon * np.minimum(moves.min(axis=0, initial=0.0), 0) - spread
        high = self.epsilon * np.maximum(moves.max(axis=0, initial=0.0), 0) + spread
        return Box(middle + low, middle + high).wider(0.0)

    def box(self) -> Box:
        return self.under(np.eye(len(self.centre)))


@dataclass(frozen=True)
class Scores:
    """The stochastic component at one temperature."""

    centroids: Array
    temperature: float
    unit: float

    def region(self, i: int, epsilon: float, hard: bool) -> Region:
        """Where the state lies that the network computes when alpha_i >= 1 - epsilon, or when it takes s_i itself."""
        s = self.centroids
        if hard:
            return Region.point(s[i])
        # alpha as computed is alpha (1 + eta); its mixture rounds k products. Probabilities that underflow: 1e-36.
        k, n = s.shape
        largest = np.abs(s).max(axis=0)
        # |u| is at most 1, or what the state before was: it lies between that and a tanh.
        score = _gamma(n + 4, self.unit) * float(largest @ np.maximum(1.01 * largest, 1.0)) / self.temperature
        eta = np.expm1(2 * score) + (k + 8) * self.unit + 2 * FUNCTION_ERROR
        error = (eta + _gamma(k + 2, self.unit) * (1 + eta)) * largest + 1e-36
        return Region(s[i], np.delete(s, i, axis=0) - s[i], epsilon, error)

    def worst_log_odds(self, u: Box, target: int, hard: bool) -> float:
        r"""Lower bound of $\ln(\alpha_t / (1 - \alpha_t))$ over a box of u; hard: of the lead of the score of t."""
        if len(self.centroids) == 1:
            return np.inf
        apart = np.delete(self.centroids, target, axis=0) - self.centroids[target]
        most = np.maximum(apart * u.low, apart * u.high)
        bound = most.sum(axis=1) + WIDEN * np.abs(most).sum(axis=1)
        if hard:
            # The scores are computed before they are compared: both may be off.
            off = 2 * _gamma(u.low.size + 4, self.unit) * (np.abs(self.centroids).max(axis=0) @ u.magnitude)
            return float(-(bound.max() + off) / self.temperature)
        exponents = bound / self.temperature
        highest = exponents.max()
        worst = highest + np.log(np.exp(exponents - highest).sum())
        return float(-worst - WIDEN * (abs(worst) + abs(highest) + 1))


Cell = Callable[[Region, NDArray[Any]], Box]
Verdict = Callable[[Box, bool], float]


def of(opened: Network, temperature: float) -> tuple[Cell, Verdict, Scores]:
    """Bounds of a network's parts: u of the cell over a region; the head's output over a box; the component.

    Raises:
        ValueError: for a cell or a head of which no bound is known.
    """
    layer = opened.layer
    inner = layer.cell.cell
    dtype = keras.backend.standardize_dtype(layer.variable_dtype)
    if keras.backend.standardize_dtype(layer.compute_dtype) != dtype or dtype not in ("float32", "float64"):
        raise ValueError(
            f"Rounding is counted for float32 and float64. Received: {layer.name} with dtype {layer.dtype_policy.name}."
        )
    unit = {"float32": 2.0**-24, "float64": 2.0**-53}[dtype]
    kinds = {"GRUCell": _gru, "SimpleRNNCell": _simple_rnn}
    kind = keras.saving.get_registered_name(type(inner))
    if kind not in kinds:
        raise ValueError(f"Bounds are known of GRUCell and SimpleRNNCell. Received: {kind}.")
    for name, wanted in (("activation", keras.activations.tanh), ("recurrent_activation", keras.activations.sigmoid)):
        if getattr(inner, name, wanted) is not wanted:
            raise ValueError(
                f"Bounds are known of {name}={wanted.__name__!r}. Received: {inner.name} with "
                f"{name}={getattr(inner, name)!r}."
            )
    scores = Scores(opened.centroids(), temperature, unit)
    return kinds[kind](inner, unit), _head(opened, unit), scores


def _simple_rnn(cell: Any, unit: float) -> Cell:
    kernel, recurrent = _array(cell.kernel), _array(cell.recurrent_kernel)
    bias = _array(cell.bias) if cell.use_bias else np.zeros(recurrent.shape[1])

    def bounds(region: Region, feature: NDArray[Any]) -> Box:
        x = np.asarray(feature, np.float64)
        drive = x @ kernel + bias
        absolute = np.abs(x) @ np.abs(kernel) + np.abs(bias) + region.box().magnitude @ np.abs(recurrent)
        before = region.under(recurrent)
        return _tanh(_shifted(before, drive).wider(_gamma(len(x) + len(recurrent) + 8, unit) * absolute))

    return bounds


def _gru(cell: Any, unit: float) -> Cell:
    kernel, recurrent = _array(cell.kernel), _array(cell.recurrent_kernel)
    n = recurrent.shape[0]
    of_input, of_state = np.zeros(3 * n), np.zeros(3 * n)
    if cell.use_bias:
        bias = _array(cell.bias)
        of_input, of_state = (bias[0], bias[1]) if cell.reset_after else (bias, of_state)

    def bounds(region: Region, feature: NDArray[Any]) -> Box:
        x = np.asarray(feature, np.float64)
        state = region.box()
        drive = x @ kernel + of_input
        of_drive = np.abs(x) @ np.abs(kernel) + np.abs(of_input)
        of_inner = state.magnitude @ np.abs(recurrent) + np.abs(of_state)
        gamma = _gamma(len(x) + n + 12, unit)
        inner = _shifted(region.under(recurrent), of_state).wider(gamma * of_inner)
        gates = _sigmoid(_shifted(inner, drive).wider(gamma * (of_drive + of_inner)))
        update, reset, own = slice(n), slice(n, 2 * n), slice(2 * n, None)
        r = Box(gates.low[reset], gates.high[reset])
        if cell.reset_after:
            mixed = _product(r, Box(inner.low[own], inner.high[own]))
        else:
            held = _product(r, state).wider(2 * unit * state.magnitude)
            mixed = _linear(held, recurrent[:, own]).wider(gamma * of_inner[own])
        size = mixed.magnitude + of_drive[own]
        candidate = _tanh(_shifted(mixed, drive[own]).wider(gamma * size))
        return _between(Box(gates.low[update], gates.high[update]), state, candidate, unit)

    return bounds


def _head(opened: Network, unit: float) -> Verdict:
    model, layer = opened.model, opened.layer
    after = model.layers[model.layers.index(layer) + 1 :]
    after = [part for part in after if not isinstance(part, keras.layers.Dropout)]
    known = (keras.activations.linear, keras.activations.sigmoid)
    if len(after) != 1 or not isinstance(after[0], keras.layers.Dense) or after[0].activation not in known:
        raise ValueError(
            "A verdict is bounded where one Dense layer, linear or sigmoid, reads the state. Received: a head of "
            f"{[part.name for part in after]}."
        )
    kernel = _array(after[0].kernel)[:, 0]
    bias = float(_array(after[0].bias)[0]) if after[0].use_bias else 0.0
    assert middle(model) in (0.0, 0.5)  # of the logit, both are 0

    def margin(state: Box, accepts: bool) -> float:
        """Least distance of the logit from 0 on the right side; sigmoid keeps the side up to its own error."""
        low = float(np.minimum(kernel * state.low, kernel * state.high).sum()) + bias
        high = float(np.maximum(kernel * state.low, kernel * state.high).sum()) + bias
        size = float(np.abs(kernel) @ state.magnitude) + abs(bias)
        slack = (_gamma(len(kernel) + 4, unit) + WIDEN) * size + 8 * FUNCTION_ERROR
        return (low if accepts else -high) - slack

    return margin


def _between(gate: Box, state: Box, candidate: Box, unit: float) -> Box:
    """Z * h + (1 - z) * c with z in [0, 1]: rises in h and in c, and is linear in z."""
    gate = Box(np.clip(gate.low, 0, 1), np.clip(gate.high, 0, 1))
    low = np.minimum(*(z * state.low + (1 - z) * candidate.low for z in gate))
    high = np.maximum(*(z * state.high + (1 - z) * candidate.high for z in gate))
    return Box(low, high).wider(8 * unit * (state.magnitude + candidate.magnitude))


def _product(a: Box, b: Box) -> Box:
    corners = [x * y for x in a for y in b]
    return Box(np.minimum.reduce(corners), np.maximum.reduce(corners)).wider(0.0)


def _linear(x: Box, matrix: Array) -> Box:
    middle, half = (x.low + x.high) / 2 @ matrix, (x.high - x.low) / 2 @ np.abs(matrix)
    return Box(middle - half, middle + half).wider(WIDEN * (x.magnitude @ np.abs(matrix)))


def _shifted(x: Box, by: Array) -> Box:
    return Box(x.low + by, x.high + by).wider(WIDEN * np.abs(by))


def _tanh(x: Box) -> Box:
    return Box(np.tanh(x.low), np.tanh(x.high)).wider(FUNCTION_ERROR)


def _sigmoid(x: Box) -> Box:
    return Box(0.5 + 0.5 * np.tanh(x.low / 2), 0.5 + 0.5 * np.tanh(x.high / 2)).wider(FUNCTION_ERROR)


def _gamma(m: int, unit: float) -> float:
    return m * unit / (1 - m * unit)


def _array(x: Any) -> Array:
    return np.asarray(ops.convert_to_numpy(x), np.float64)
