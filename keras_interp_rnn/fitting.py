r"""Second-order fits of small networks: L-BFGS in float64, from several starts, of many networks at once.

Adam needs thousands of steps, and a learning rate, where a network has a hundred weights. L-BFGS needs some hundred
evaluations and no rate. What is minimized is the weighted mean of the model's loss, plus its penalties,

$$\frac{\sum_i w_i \, \ell(y_i, \hat y_i)}{\sum_i w_i} + \text{penalties},$$

over the sequences of a fit. The gradient comes from the backend's automatic differentiation; layers of this package
bring their own adjoint.

What it leaves out: models of more than some thousand weights, mini-batches, and dropout: the model runs as in
`predict`.

Reference: Liu and Nocedal, "On the limited memory BFGS method for large scale optimization", Mathematical Programming
45, 1989; several starts as in Ji-An, Benna and Mattar, Nature 644, 2025.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import keras
import numpy as np
from keras import ops
from numpy.typing import ArrayLike, NDArray

from keras_interp_rnn import _backend
from keras_interp_rnn._checks import integer
from keras_interp_rnn._io import say
from keras_interp_rnn._lbfgs import Minimization
from keras_interp_rnn._results import Sentence
from keras_interp_rnn._types import Array, Ints, Tensor

__all__ = ["fit_lbfgs"]

TOLERANCE = 1e-6
"""Largest entry of the gradient, in nats, at which a fit has converged."""


@dataclass(frozen=True, repr=False)
class Fits(Sentence):
    """Networks that `fit_lbfgs` fitted.

    Attributes:
        model: the model, with the weights of the first fit.
        weights: (fits, P), the trainable weights of each fit, one after the other as in `model.trainable_variables`.
        losses: (fits, starts), minima of the objective: mean loss plus penalties.
        converged: bool (fits, starts).
        num_steps: int (fits, starts).
        seconds: how long it took.
    """

    model: keras.Model
    weights: Array
    losses: Array
    converged: NDArray[np.bool_]
    num_steps: Ints
    seconds: float
    _objective: Any = field(repr=False)

    @property
    def loss(self) -> Array:
        """(fits,), the least objective of each fit."""
        return np.asarray(np.nanmin(self.losses, axis=1))

    def __len__(self) -> int:
        return len(self.weights)

    def load(self, fit: int = 0) -> keras.Model:
        """The model, with the weights of one fit."""
        parts = self._objective.parts(self.weights[fit])
        for variable, value in zip(self.model.trainable_variables, parts, strict=True):
            variable.assign(value)
        return self.model

    def evaluate(self, data: Sequence[Any], *, subsets: ArrayLike | None = None) -> Array:
        """The mean loss of each fit, without penalties, on other data or sequences.

        Args:
            data: as of `fit_lbfgs`.
            subsets: bool (fits, batch), the sequences of each fit; by default all of them.

        Returns:
            (fits,); NaN where a fit has no sequence.
        """
        prepared = _prepared(data, subsets, len(self))
        return self._objective.losses(self.weights, prepared)


def fit_lbfgs(
    model: keras.Model,
    data: Sequence[Any],
    *,
    subsets: ArrayLike | None = None,
    num_restarts: int = 8,
    max_steps: int = 500,
    seed: int = 0,
    verbose: int = 1,
) -> Fits:
    r"""Fits a small compiled model, or many copies of it, by L-BFGS in float64.

    The first start is the model's weights, the others are drawn by its initializers. The best of each fit counts.
    Constraints hold exactly: bounds, such as `constraints.Between` and Keras's `NonNeg`, bound the search; any other is
    applied to the weights inside the objective.

    Args:
        model: a built model of one output, compiled with a loss.
        data: (x, y) or (x, y, sample_weight), arrays of sequences as in `fit`. A weight of 0 leaves a step out.
        subsets: bool (fits, batch), the sequences of each fit: of one subject, one fold, both. By default there is one
            fit, of all sequences.
        num_restarts: starts of each fit.
        max_steps: of each start.
        seed: of the starts.
        verbose: 1 prints the progress in a terminal, 0 nothing.

    Returns:
        The fits. The model has the weights of the first one.

    Raises:
        ValueError: if the model is not built, not compiled, or cannot be copied; if arrays do not fit together.

    Units: nats, or those of the loss.
    Example:

    >>> from keras_interp_rnn import layers
    >>> model = keras.Sequential([
    ...     keras.Input((None,), dtype="int32"),
    ...     layers.DiagonalISAN(1, vocabulary_size=4, return_sequences=True),
    ...     keras.layers.Dense(1),
    ... ])
    >>> model.compile(loss=keras.losses.BinaryCrossentropy(from_logits=True))
    >>> symbols = np.random.default_rng(0).integers(0, 4, (6, 50))
    >>> fits = fit_lbfgs(model, (symbols, symbols // 2), num_restarts=2, verbose=0)
    >>> bool(fits.loss[0] < 0.01)
    True

    Reference: Liu and Nocedal, 1989.
    """
    started = time.monotonic()
    num_restarts, max_steps = integer("num_restarts", num_restarts), integer("max_steps", max_steps)
    prepared = _prepared(data, subsets, None)
    with _backend.double_precision():
        objective = _Objective(model)
        starts = objective.starts(num_restarts, seed)
        fits = prepared.num_fits
        points = np.tile(starts, (fits, 1))
        fit_of = np.repeat(np.arange(fits), num_restarts)

        def progress(evaluation: int, live: int) -> None:
            if verbose:
                say(f"L-BFGS, evaluation {evaluation}: {len(points) - live:,} of {len(points):,} starts done")

        search = Minimization(
            lambda at, rows: objective(at, prepared, fit_of[rows]), points, *objective.bounds, max_steps, TOLERANCE
        )
        minima = search.run(progress)
    if verbose:
        say("")
    losses = minima.values.reshape(fits, num_restarts)
    best = np.argmin(np.where(np.isfinite(losses), losses, np.inf), axis=1)
    chosen = minima.points.reshape(fits, num_restarts, -1)[np.arange(fits), best]
    result = Fits(
        model,
        objective.constrained(chosen),
        losses,
        minima.converged.reshape(losses.shape),
        minima.num_steps.reshape(losses.shape),
        time.monotonic() - started,
        objective,
    )
    result.load(0)
    return result


@dataclass(frozen=True)
class _Data:
    """Sequences, and which of them each fit reads, padded to the same number with sequences of weight 0."""

    x: Any
    y: NDArray[Any]
    weights: Array
    rows: Ints
    counts: Array

    @property
    def num_fits(self) -> int:
        return len(self.rows)

    def of(self, fits: Ints) -> tuple[Any, ...]:
        """Inputs, targets and weights of fits, each with a first axis of their number."""
        rows, counts = self.rows[fits], self.counts[fits]
        weights = self.weights[rows]
        weights = weights * counts.reshape(*counts.shape, *[1] * (weights.ndim - 2))
        return (*(leaf[rows] for leaf in keras.tree.flatten(self.x)), self.y[rows], weights)


def _prepared(data: Sequence[Any], subsets: ArrayLike | None, num_fits: int | None) -> _Data:
    if not isinstance(data, tuple | list) or len(data) not in (2, 3):
        raise ValueError(f"`data` must be (x, y) or (x, y, sample_weight). Received: {type(data).__name__}.")
    x = keras.tree.map_structure(_doubled, data[0])
    y = _doubled(data[1])
    sizes = {len(leaf) for leaf in [*keras.tree.flatten(x), y]}
    if len(sizes) > 1:
        raise ValueError(f"`data` must hold arrays of one number of sequences. Received: {sorted(sizes)}.")
    weights = np.ones(y.shape[:2]) if len(data) == 2 else np.asarray(data[2], np.float64)
    if weights.ndim < 1 or weights.shape != y.shape[: weights.ndim] or not (weights >= 0).all():
        raise ValueError(
            f"`sample_weight` must be non-negative numbers of shape {y.shape[:1]} or {y.shape[:2]}. Received: shape "
            f"{weights.shape}. Pass one weight for each sequence, or for each step."
        )
    mask = np.ones((num_fits or 1, len(y)), bool) if subsets is None else np.asarray(subsets)
    if mask.ndim != 2 or mask.shape[1] != len(y) or mask.dtype != bool or mask.shape[0] != (num_fits or len(mask)):
        raise ValueError(
            f"`subsets` must be booleans of shape ({num_fits or 'fits'}, {len(y)}). Received: {mask.dtype} of shape "
            f"{mask.shape}."
        )
    widest = max(int(mask.sum(axis=1).max()), 1)
    rows = np.argsort(~mask, axis=1, kind="stable")[:, :widest]
    return _Data(x, y, weights, rows, np.take_along_axis(mask, rows, axis=1).astype(np.float64))


def _doubled(values: Any) -> NDArray[Any]:
    """An array, floats in float64."""
    array = np.asarray(values)
    return array.astype(np.float64) if array.dtype.kind in "fb" else array


class _Objective:
    """The loss of a model and its penalties, as functions of flat weights."""

    def __init__(self, model: keras.Model) -> None:
        if not isinstance(model, keras.Model) or not model.built:
            raise ValueError(f"`model` must be a built Keras model. Received: {model!r:.100}. Call it on inputs once.")
        if getattr(model, "loss", None) is None:
            raise ValueError("`model` must be compiled with a loss. Received: a model without one. Call model.compile.")
        self.model = model
        self.loss = keras.losses.get(model.loss)
        self.copy = _copy(model, None)
        for variable, value in zip(self.copy.variables, model.variables, strict=True):
            variable.assign(ops.cast(value, variable.dtype))
        self.variables = self.copy.trainable_variables
        self.shapes = [tuple(variable.shape) for variable in self.variables]
        self.sizes = [int(np.prod(shape)) for shape in self.shapes]
        self.fixed = [variable.value for variable in self.copy.non_trainable_variables]
        boxes = [_box(variable.constraint) for variable in self.variables]
        ends = [box or (-np.inf, np.inf) for box in boxes]
        self.projections = [
            variable.constraint if box is None else None for variable, box in zip(self.variables, boxes, strict=True)
        ]
        self.bounds = [np.repeat([end[side] for end in ends], self.sizes) for side in range(2)]
        self._with_penalty = _backend.values_and_gradients(lambda *args: self.value(*args, penalty=True))
        self._without = _backend.values_and_gradients(lambda *args: self.value(*args, penalty=False))

    def starts(self, number: int, seed: int) -> Array:
        """(number, P): the model's weights, then what its initializers draw."""
        models = [self.copy, *(_copy(self.model, 1000 * seed + draw) for draw in range(1, number))]
        return np.stack([_flat(each.trainable_variables) for each in models])

    def parts(self, weights: Any) -> list[Any]:
        """Flat weights (P,) as the model's variables."""
        ends = np.cumsum(self.sizes)
        flat = [weights[end - size : end] for end, size in zip(ends, self.sizes, strict=True)]
        return [part.reshape(shape) if isinstance(part, np.ndarray) else ops.reshape(part, shape)
                for part, shape in zip(flat, self.shapes, strict=True)]  # fmt: skip

    def projected(self, weights: Tensor) -> list[Tensor]:
        """The model's variables, within its constraints."""
        pairs = zip(self.parts(weights), self.projections, strict=True)
        return [part if project is None else project(part) for part, project in pairs]

    def constrained(self, weights: Array) -> Array:
        """Weights (fits, P) within the constraints."""
        if not any(self.projections):
            return weights
        with _backend.double_precision():
            rows = [[ops.convert_to_numpy(part).ravel() for part in self.projected(ops.convert_to_tensor(row))]
                    for row in weights]  # fmt: skip
        return np.stack([np.concatenate(row) for row in rows])

    def value(self, weights: Tensor, *data: Tensor, penalty: bool) -> Tensor:
        """The objective of one fit, at weights (P,)."""
        *leaves, y, sample_weight = data
        x = leaves[0] if len(leaves) == 1 else leaves
        output, _, penalties = self.copy.stateless_call(
            self.projected(weights), self.fixed, x, training=False, return_losses=True
        )
        losses = self.loss.call(y, output) if isinstance(self.loss, keras.losses.Loss) else self.loss(y, output)
        mask = getattr(output, "_keras_mask", None)
        if mask is not None:
            sample_weight = sample_weight * ops.cast(mask, sample_weight.dtype)
        if len(losses.shape) < len(sample_weight.shape):
            sample_weight = ops.mean(sample_weight, axis=tuple(range(len(losses.shape), len(sample_weight.shape))))
        total = ops.sum(sample_weight * losses) / ops.sum(sample_weight)
        return total + sum(penalties) if penalty and penalties else total

    def __call__(self, weights: Array, data: _Data, fits: Ints) -> tuple[Array, Array]:
        return self._with_penalty(weights, *data.of(fits))

    def losses(self, weights: Array, data: _Data) -> Array:
        with _backend.double_precision():
            return self._without(weights, *data.of(np.arange(len(weights))))[0]


def _flat(variables: Sequence[keras.Variable]) -> Array:
    return np.concatenate([np.asarray(ops.convert_to_numpy(each), np.float64).ravel() for each in variables])


def _copy(model: keras.Model, seed: int | None) -> keras.Model:
    """The model in float64; its weights are drawn anew from a seed, if there is one."""
    draws = None if seed is None else np.random.default_rng(seed)

    def double(layer: keras.layers.Layer) -> keras.layers.Layer:
        return type(layer).from_config(_changed(layer.get_config(), draws))

    return keras.models.clone_model(model, clone_function=double)


def _changed(config: Any, draws: np.random.Generator | None) -> Any:
    """A configuration in float64, with other seeds."""
    if isinstance(config, list):
        return [_changed(each, draws) for each in config]
    if not isinstance(config, dict):
        return config
    if config.get("class_name") == "DTypePolicy":
        return {**config, "config": {"name": "float64"}}
    changed = {name: _changed(value, draws) for name, value in config.items()}
    if isinstance(config.get("dtype"), str) and "float" in config["dtype"]:
        changed["dtype"] = "float64"
    if "seed" in config and draws is not None:
        changed["seed"] = int(draws.integers(2**31))
    return changed


def _box(constraint: Any) -> tuple[float, float] | None:
    """The bounds that a constraint is; None if it is not one."""
    if constraint is None:
        return -np.inf, np.inf
    if type(constraint) is keras.constraints.NonNeg:
        return 0.0, np.inf
    if hasattr(constraint, "min_value") and hasattr(constraint, "max_value"):
        return constraint.min_value, constraint.max_value
    return None
