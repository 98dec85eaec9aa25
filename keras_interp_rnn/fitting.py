r"""Second-order fits of small networks by L-BFGS in float64, from several starts, many networks at once.

For a network of a hundred weights Adam needs thousands of steps and a learning rate. L-BFGS needs some hundred
evaluations and no learning rate. It minimizes the weighted mean of the model's loss, plus its penalties,

$$\frac{\sum_i w_i \, \ell(y_i, \hat y_i)}{\sum_i w_i} + \lambda \cdot \text{penalties},$$

over the sequences of a fit, with a factor $\lambda$ for each fit. The gradient comes from the backend's automatic
differentiation; layers of this package bring their own adjoint.

It does not suit models of more than some thousand weights. There are no mini-batches and no dropout: the model runs as
in `predict`.

Reference: Liu and Nocedal, "On the limited memory BFGS method for large scale optimization", Mathematical Programming
45, 1989; several starts as in Ji-An, Benna and Mattar, Nature 644, 2025.
"""

from __future__ import annotations

import functools
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import keras
import numpy as np
from keras import ops, tree
from numpy.typing import ArrayLike, NDArray

from keras_interp_rnn import _backend
from keras_interp_rnn._backend.keras_quirks import mask_of
from keras_interp_rnn._checks import integer, invalid
from keras_interp_rnn._io import say
from keras_interp_rnn._lbfgs import Box, Minimization
from keras_interp_rnn._network import carried_states, copies
from keras_interp_rnn._program import stack_of
from keras_interp_rnn._program.graph import inputs_of
from keras_interp_rnn._results import Sentence, nth
from keras_interp_rnn._types import AnyArray, Array, Ints, Tensor
from keras_interp_rnn.constraints import Interval

__all__ = ["fit_lbfgs"]

TOLERANCE = 1e-6
"""Largest entry of the gradient at which a start has converged."""

MIN_GAIN = 1e-6
"""Decrease of the loss over ten steps below which a start has converged."""

MAX_STEPS_AT_ONCE = 2**22
"""Steps of all sequences that are computed together."""

SMALL_START = 0.01
"""How far weights are moved for a start where their constraint has no derivative, as a norm at 0."""

RUNS = "The model, its loss and its penalties must run in float64, compiled"
RUN_REMEDY = "Leave out what fixes another dtype, or what the backend does not compile"
"""The rule where one of them raises an error of its own, and its remedy."""

MEAN = ("sum_over_batch_size", "mean", "mean_with_sample_weight")
"""Reductions of a loss that are means."""

COMPARED = 8
"""Sequences on which the objective is compared with the loss that Keras computes."""

SHRINKAGE, SMALL = 3, 2**15
"""A batch is compiled again for the starts that are not done, once they are so many times fewer, unless all its
sequences have few steps: it is then computed sooner than compiled."""


@dataclass(frozen=True, repr=False)
class Fits(Sentence):
    """Networks that `fit_lbfgs` fitted.

    Attributes:
        model: the model, with the weights of the first fit.
        weights: (fits, P), the trainable weights of each fit, one after the other as in `model.trainable_variables`.
        losses: (fits, starts), minima of the objective: mean loss plus penalties.
        converged: bool (fits, starts), whether the search converged.
        num_steps: int (fits, starts), steps of each search.
        seconds: duration of the call.

    Example: see `fit_lbfgs`.
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
        """(fits,), the smallest objective of each fit."""
        return np.asarray(np.nanmin(self.losses, axis=1))

    def __len__(self) -> int:
        return len(self.weights)

    def __str__(self) -> str:
        fits = "1 fit" if len(self) == 1 else f"{len(self):,} fits"
        return (
            f"{fits} of {self.weights.shape[1]:,} weights, loss {float(self.loss.mean()):.5f}, from "
            f"{self.losses.shape[1]:,} starts each, {float(self.converged.mean()):.0%} of which converged, in "
            f"{self.seconds:.1f} s"
        )

    __repr__ = __str__

    def load(self, fit: int = 0) -> keras.Model:
        """The model, with the weights of one fit."""
        parts = self._objective.parts(self.weights[fit])
        for variable, value in zip(self.model.trainable_variables, parts, strict=True):
            variable.assign(value)
        return self.model

    def evaluate(self, data: Sequence[object], *, subsets: ArrayLike | None = None) -> Array:
        """The mean loss of each fit, without penalties, on other data or sequences.

        Args:
            data: as for `fit_lbfgs`.
            subsets: bool (fits, batch), the sequences of each fit; by default all of them.

        Returns:
            (fits,); NaN if a fit has no sequence.
        """
        rows = np.arange(len(self))
        with _backend.double_precision():
            prepared = _prepared(data, subsets, np.zeros(len(self)))
            evaluate = _Evaluation(self._objective, prepared, rows, project=False)
            return np.concatenate([evaluate(self.weights[part], part)[0] for part in evaluate.parts(rows)])


def fit_lbfgs(
    model: keras.Model,
    data: Sequence[object],
    *,
    subsets: ArrayLike | None = None,
    penalty_factors: ArrayLike | None = None,
    num_restarts: int = 8,
    max_steps: int = 300,
    seed: int = 0,
    verbose: int = 1,
) -> Fits:
    r"""Fits a small compiled model, or many copies of it, by L-BFGS in float64.

    The first start is the model's weights; its initializers draw the others. The best start of each fit is returned.
    Constraints hold exactly: bounds, such as `constraints.Interval` and Keras's `NonNeg`, bound the search; any other
    constraint is applied to the weights inside the objective. Weights that begin where such a constraint has no
    derivative, as the norm of a bias at 0, begin about 0.01 off, in a random direction.

    `ignore_class` and `loss_weights` count as in `fit`. The mean is over the sum of the weights of the steps, as in
    Keras with reduction="mean_with_sample_weight"; by default Keras divides by the number of steps, so that weights
    other than 1 change the size of the loss relative to the penalties there, and not here.

    Args:
        model: a built model of one output, compiled with a loss.
        data: (x, y) or (x, y, sample_weight), arrays of sequences as in `fit`. A step with weight 0 does not count,
            and its target may be NaN.
        subsets: bool (fits, batch), the sequences of each fit, such as those of one subject or one fold. By default
            there is one fit, to all sequences.
        penalty_factors: (fits,), non-negative factors of the model's penalties, one for each fit. By default 1.
        num_restarts: number of starts of each fit.
        max_steps: maximum number of steps of each start.
        seed: of the starts.
        verbose: 1 prints the progress in a terminal, 0 prints nothing.

    Returns:
        The fits. The model has the weights of the first fit.

    Raises:
        ValueError: if the model is not built, not compiled, or cannot be copied; if the shapes of arrays do not match;
            if the loss has another reduction than a mean, or compares sequences; if the objective is not the loss that
            Keras computes at the model's weights; if the objective or its gradient is not finite at a start.

    Units: those of the loss, usually nats.
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
    _loss_of(model)
    prepared = _prepared(data, subsets, penalty_factors)
    if not prepared.totals.all():
        empty = ", ".join(nth("row", i) for i in np.flatnonzero(prepared.totals == 0).tolist())
        raise ValueError(
            f"Each of `subsets` must have a step of positive weight. Received: none in {empty}. Leave these rows out."
        )
    sample = _sampled(model, prepared)
    with _backend.double_precision():
        objective = _Objective(model)
        objective.check(sample)
        starts = objective.starts(num_restarts, seed)
        rows = np.arange(prepared.num_fits * num_restarts)
        evaluate = _Evaluation(objective, prepared, rows // num_restarts, project=True)
        found = []
        for part in evaluate.parts(rows):
            values = functools.partial(evaluate.of, part)
            lower, upper = objective.bounds
            first = _smooth_starts(objective, values, starts[part % num_restarts], seed)
            search = Minimization(values, first, lower, upper, max_steps, TOLERANCE, MIN_GAIN)
            found.append(search.run(functools.partial(_say, part[-1] + 1, len(rows)) if verbose else None))
        points, losses, converged, num_steps = (
            np.concatenate([getattr(each, name) for each in found]).reshape(prepared.num_fits, num_restarts, *shape)
            for name, shape in (("points", (-1,)), ("values", ()), ("converged", ()), ("num_steps", ()))
        )
        best = np.argmin(np.where(np.isfinite(losses), losses, np.inf), axis=1)
        weights = objective.constrained(points[np.arange(len(best)), best])
    if verbose:
        say("")
    result = Fits(model, weights, losses, converged, num_steps, time.monotonic() - started, objective)
    result.load(0)
    return result


def _smooth_starts(
    objective: _Objective, values: Callable[[Array, Ints], tuple[Array, Array]], starts: Array, seed: int
) -> Array:
    """The starts of all rows (rows, P), moved where a constraint has no derivative.

    Raises:
        ValueError: if the objective or its gradient is not finite at a start, with what is not.
    """
    box, rows = Box(*objective.bounds), np.arange(len(starts))
    try:
        value, gradient = values(box.points(box.coordinates(starts)), rows)
    except Exception as error:
        if isinstance(error, ValueError) and "Received: " in str(error):
            raise
        raise _refused(RUNS, error, RUN_REMEDY) from error
    if not np.isfinite(gradient).all():
        starts = objective.moved(starts, gradient, seed)
        value, gradient = values(box.points(box.coordinates(starts)), rows)
    if np.isfinite(value).all() and np.isfinite(gradient).all():
        return starts
    bad = int(np.flatnonzero(~np.isfinite(value) | ~np.isfinite(gradient).all(axis=1))[0])
    if not np.isfinite(value[bad]):
        received = f"{value[bad]}. The inputs, the targets of positive weight and the outputs must be finite."
    else:
        received = f"a gradient of NaN or infinity by {objective.names_of(~np.isfinite(gradient[bad]))}."
    raise ValueError(
        f"The objective and its gradient must be finite at each start. Received: {received} Change the data, the loss, "
        "the constraint or the initializers."
    )


@dataclass(frozen=True, repr=False)
class _Sample:
    """Some sequences, with what Keras computes of them.

    Attributes:
        x, y, weights: as in `_Data`. outputs: those of the model. loss: with penalties.
    """

    x: Any
    y: AnyArray
    weights: Array
    outputs: list[AnyArray]
    loss: float


def _sampled(model: keras.Model, data: _Data) -> _Sample | None:
    """Outputs and loss that Keras computes of some sequences; None if the loss is not finite there.

    Where its loss divides by the number of steps, all weights are 1, and missing targets are replaced by another.

    Raises:
        ValueError: if the model cannot be fitted.
    """
    loss = _loss_of(model)
    totals = data.weights.reshape(len(data.weights), -1).sum(axis=1)
    rows = np.flatnonzero(totals > 0)[:COMPARED]
    batch = model.inputs[0].shape[0]
    rows = np.resize(rows, batch) if batch else rows
    x = tree.map_structure(lambda leaf: leaf[rows], data.x)
    y, weights = data.y[rows].copy(), data.weights[rows]
    there = weights > 0
    y[~there] = y[there][0]
    is_weighted = getattr(loss, "reduction", MEAN[0]) == MEAN[2] and not (weights == 1).all()
    weights = weights if is_weighted else np.ones(weights.shape)
    try:
        with copies.same_draws(model), carried_states.from_the_start(model):
            outputs = model(tree.map_structure(_single, x), training=False)
            [output] = tree.flatten(outputs)
            y = y[..., None] if y.ndim < output.ndim and output.shape[-1] == 1 else y
            target = tree.pack_sequence_as(outputs, [ops.convert_to_tensor(_single(y))])
            given = ops.convert_to_tensor(_single(weights)) if is_weighted else None
            value = float(ops.convert_to_numpy(model.compute_loss(x, target, outputs, given, training=False)))
    except Exception as error:
        raise _refused(
            "The model must compute its loss of the data", error, "Compare their shapes and dtypes"
        ) from error
    values = [np.asarray(ops.convert_to_numpy(output), np.float64)]
    return _Sample(x, y, weights, values, value) if np.isfinite(value) else None


def _single(array: AnyArray) -> AnyArray:
    return array.astype(keras.config.floatx()) if array.dtype.kind == "f" else array


def _refused(rule: str, error: Exception, remedy: str) -> ValueError:
    """An error that the backend, Keras or a user's function raised, as one sentence."""
    lines = [line for line in str(error).replace("\x1b[1m", "").replace("\x1b[0m", "").splitlines() if line.strip()]
    what = f"{type(error).__name__}: {lines[0] if lines else ''}"[:200].rstrip(" .:")
    return ValueError(f"{rule}. Received: {what}. {remedy}.")


def _loss_of(model: keras.Model) -> Any:
    """The loss with which a model is compiled.

    Raises:
        ValueError: if the model, or its loss, is not one that is fitted.
    """
    if not isinstance(model, keras.Model) or not model.built:
        raise ValueError(f"`model` must be a built Keras model. Received: {model!r:.100}. Call it on inputs once.")
    if not inputs_of(model) or len(model.outputs) != 1:
        received = f"{len(model.outputs)} outputs" if inputs_of(model) else "a subclass of keras.Model"
        raise ValueError(
            f"`model` must be Sequential or functional, with one output. Received: {model.name}, {received}. Rebuild "
            "it by keras.Model(inputs, output)."
        )
    losses = tree.flatten(getattr(model, "loss", None))
    if len(losses) != 1 or not isinstance(losses[0], str | keras.losses.Loss | Callable):
        raise ValueError("`model` must be compiled with one loss. Received: a model without. Call model.compile.")
    loss = keras.losses.get(losses[0])
    reduction = getattr(loss, "reduction", MEAN[0])
    if reduction not in MEAN:
        raise ValueError(
            f"The loss must have a mean for its reduction, one of {', '.join(MEAN)}. Received: {reduction!r}. "
            "Leave `reduction` out, and multiply the loss by `loss_weights`."
        )
    return loss


def _loss_weight(model: keras.Model) -> float:
    """The factor of the loss with which a model was compiled."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about lambdas, which Keras cannot save
        given = tree.flatten(model.get_compile_config().get("loss_weights"))
    numbers = [1.0 if each is None else each for each in given]
    if len(numbers) > 1:
        raise invalid("loss_weights", "one number, as the model has one output", given)
    return float(numbers[0]) if numbers else 1.0


def _say(end: int, total: int, evaluation: int, live: int) -> None:
    say(f"L-BFGS: {end - live:,} of {total:,} starts done, evaluation {evaluation}")


@dataclass(frozen=True, repr=False)
class _Data:
    """Sequences, and which of them each fit reads, padded to the same number with sequences of weight 0.

    Attributes:
        x: inputs (batch, ...), in Keras's structure. y: targets (batch, ...).
        weights: (batch,) or (batch, time).
        sequences: int (fits, most), the sequences of each fit. counts: (fits, most), 0 for padding, 1 otherwise.
        factors: (fits,), of the penalties.
    """

    x: Any
    y: AnyArray
    weights: Array
    sequences: Ints
    counts: Array
    factors: Array

    @property
    def num_fits(self) -> int:
        return len(self.sequences)

    @property
    def totals(self) -> Array:
        """The weights of each fit, summed."""
        each = self.weights.reshape(len(self.weights), -1).sum(axis=1)
        return np.asarray((each[self.sequences] * self.counts).sum(axis=1))

    @property
    def num_steps(self) -> int:
        """Steps that each fit reads."""
        return int(self.sequences.shape[1] * np.prod(self.y.shape[1:2]))

    def of(self, fits: Ints) -> list[AnyArray]:
        """Inputs, targets, weights and factors of fits, each with a first axis of their number."""
        sequences, weights = self.sequences[fits], self.weights[self.sequences[fits]]
        weights = weights * self.counts[fits].reshape(*sequences.shape, *[1] * (weights.ndim - 2))
        return [*(leaf[sequences] for leaf in tree.flatten(self.x)), self.y[sequences], weights, self.factors[fits]]


def _prepared(data: Sequence[object], subsets: ArrayLike | None, factors: ArrayLike | None) -> _Data:
    if not isinstance(data, tuple | list) or len(data) not in (2, 3):
        raise ValueError(f"`data` must be (x, y) or (x, y, sample_weight). Received: {type(data).__name__}.")
    targets = data[1]
    if isinstance(targets, dict):
        if len(targets) != 1:
            raise ValueError(f"`data` must have one target. Received: a dict of {len(targets)}. Pass one array.")
        [targets] = targets.values()
    x, y = tree.map_structure(_doubled, data[0]), _doubled(targets)
    sizes = sorted({len(leaf) for leaf in [*tree.flatten(x), y]})
    if len(sizes) > 1:
        raise ValueError(f"`data` must hold arrays of one number of sequences. Received: {sizes}.")
    weights = np.ones(y.shape[:1]) if len(data) == 2 else np.asarray(data[2], np.float64)
    if weights.ndim not in (1, 2) or weights.shape != y.shape[: weights.ndim] or not (weights >= 0).all():
        raise ValueError(
            f"`sample_weight` must be non-negative numbers of shape {y.shape[:1]} or {y.shape[:2]}. Received: shape "
            f"{weights.shape}. Pass one weight for each sequence, or for each step."
        )
    num_fits = None if factors is None else np.size(factors)
    mask = np.ones((1 if num_fits is None else num_fits, len(y)), bool) if subsets is None else np.asarray(subsets)
    if mask.dtype != bool or mask.ndim != 2 or mask.shape[1] != len(y) or num_fits not in (None, len(mask)):
        raise ValueError(
            f"`subsets` must be booleans of shape ({num_fits or 'fits'}, {len(y)}). Received: {mask.dtype} of shape "
            f"{mask.shape}. Pass a row for each fit, True for the sequences that it reads."
        )
    scales = np.ones(len(mask)) if factors is None else np.asarray(factors, np.float64)
    if scales.ndim != 1 or not (scales >= 0).all() or not np.isfinite(scales).all():
        raise ValueError(
            f"`penalty_factors` must be non-negative numbers of shape (fits,). Received: {factors!r:.100}. Pass one "
            "number for each fit."
        )
    most = max(int(mask.sum(axis=1).max()), 1)
    sequences = np.argsort(~mask, axis=1, kind="stable")[:, :most]
    return _Data(x, y, weights, sequences, np.take_along_axis(mask, sequences, axis=1).astype(float), scales)


def _doubled(values: object) -> AnyArray:
    """An array, floats and booleans in float64."""
    array = np.asarray(values)
    return array.astype(np.float64) if array.dtype.kind in "fb" else array


class _Evaluation:
    """An objective at the weights of many rows, each with the data of its fit, in batches of a few sizes.

    Args:
        fit_of: int (rows,), whose data a row reads.
        project: whether weights may be outside of the constraints.
    """

    def __init__(self, objective: _Objective, data: _Data, fit_of: Ints, project: bool) -> None:
        self.data, self.fit_of = data, fit_of
        self.at_once = max(1, MAX_STEPS_AT_ONCE // data.num_steps) if objective.maps else 1
        self.compute = _backend.values_and_gradients(functools.partial(objective.values, data.x, project))
        self.slots = np.zeros(0, np.int64)
        self.tensors: dict[int, list[Tensor]] = {}

    def parts(self, rows: Ints) -> list[Ints]:
        """Rows that are minimized together."""
        size = self.at_once if self.at_once > 1 else len(rows)
        return [rows[i : i + size] for i in range(0, len(rows), size)]

    def of(self, part: Ints, points: Array, live: Ints) -> tuple[Array, Array]:
        """As called, of the live rows of a part."""
        return self(points, part[live])

    def __call__(self, points: Array, rows: Ints) -> tuple[Array, Array]:
        """Values (rows,) and gradients (rows, P)."""
        if self.at_once == 1:
            pairs = [self.compute(point[None], *self._tensors(row)) for point, row in zip(points, rows, strict=True)]
            return np.concatenate([value for value, _ in pairs]), np.concatenate([slope for _, slope in pairs])
        is_small = len(self.slots) * self.data.num_steps <= SMALL
        if not np.isin(rows, self.slots).all() or (SHRINKAGE * len(rows) <= len(self.slots) and not is_small):
            self.slots = rows
            self.points = points.copy()
            self.batch = [ops.convert_to_tensor(part) for part in self.data.of(self.fit_of[rows])]
        places = np.searchsorted(self.slots, rows)
        self.points[places] = points
        values, gradients = self.compute(self.points, *self.batch)
        return values[places], gradients[places]

    def _tensors(self, row: int) -> list[Tensor]:
        fit = int(self.fit_of[row])
        if fit not in self.tensors:
            self.tensors[fit] = [ops.convert_to_tensor(part) for part in self.data.of(self.fit_of[[row]])]
        return self.tensors[fit]


class _Objective:
    """The loss of a model and its penalties, as functions of flat weights (rows, P)."""

    def __init__(self, model: keras.Model) -> None:
        self.loss, self.loss_weight = _loss_of(model), _loss_weight(model)
        self.model, (self.copy, layers) = model, _copy(model, None)
        copies.give_weights(copies.Copy(self.copy, layers))
        shapes = [[tuple(variable.shape) for variable in each.trainable_variables] for each in (model, self.copy)]
        if shapes[0] != shapes[1]:
            raise ValueError(
                f"{copies.RULE}. Received: {model.name}, whose copy has {len(shapes[1])} weights that train in place "
                f"of {len(shapes[0])}. Let no layer hold the weights of another."
            )
        self.variables = self.copy.trainable_variables
        self.fixed = [variable.value for variable in self.copy.non_trainable_variables]
        self.shapes = [tuple(variable.shape) for variable in self.variables]
        self.sizes = [int(np.prod(shape)) for shape in self.shapes]
        boxes = [_box(variable.constraint) for variable in self.variables]
        self.projections = [v.constraint if box is None else None for v, box in zip(self.variables, boxes, strict=True)]
        ends = [box or (-np.inf, np.inf) for box in boxes]
        self.bounds = [np.repeat([end[side] for end in ends], self.sizes) for side in range(2)]
        self.stack = stack_of(self.copy)
        self.maps = self.stack is not None or _backend.maps_loops()

    def check(self, sample: _Sample | None) -> None:
        """Compares the objective at the model's weights with the loss that Keras computes.

        Raises:
            ValueError: if they differ, if a loss compares sequences, or if something does not run in float64.
        """
        if sample is None:
            return
        x = tree.map_structure(ops.convert_to_tensor, sample.x)
        try:
            output = self._output(x)
            copies.check_computes(self.model, [np.asarray(ops.convert_to_numpy(output))], sample.outputs)
            self._check_each(sample.y, output)
            parts = [*tree.flatten(sample.x), sample.y, sample.weights, np.ones(())]
            point = _flat(self.variables)[None]
            tensors = [ops.convert_to_tensor(part[None]) for part in (point[0], *parts)]
            value = float(ops.convert_to_numpy(self.values(sample.x, False, *tensors))[0])
        except Exception as error:
            if isinstance(error, ValueError) and "Received: " in str(error):
                raise
            raise _refused(RUNS, error, RUN_REMEDY) from error
        # Where no step counts it is NaN; that all of them do not is found at the starts.
        if (
            np.isfinite(value)
            and not abs(value - sample.loss) <= copies.rounding(self.model) * max(abs(value), abs(sample.loss)) + 1e-6
        ):
            raise ValueError(
                "The objective must be the loss that Keras computes. Received: a model of which Keras computes "
                f"{sample.loss:.6g}, where the mean of its loss and its penalties are {value:.6g}, for "
                f"{len(sample.y)} sequences. Leave `compute_loss` of the model and `__call__` of the loss as they are."
            )

    def _output(self, x: object) -> Tensor:
        """The output of the copy as the objective computes it."""
        if self.stack is None:
            return tree.flatten(self.copy(x, training=False))[0]
        leaves = [leaf[None] for leaf in tree.flatten(x)]
        return self.stack(lambda variable: ops.convert_to_tensor(variable)[None], leaves)[0]

    def _check_each(self, y: AnyArray, output: Tensor) -> None:
        """Raises ValueError unless a loss has values for each sequence by itself."""
        target, rule = ops.convert_to_tensor(y), "The loss must have a value for each step by itself. Received: "
        remedy = "Use a loss of each sequence, and give the model outputs (batch, time, outputs)."
        together = self._losses(target, output)
        name = getattr(self.loss, "__name__", type(self.loss).__name__)
        if tuple(together.shape)[:1] != (len(y),):
            raise ValueError(f"{rule}{name}, whose values have the shape {tuple(together.shape)}. {remedy}")
        each = [self._losses(target[k : k + 1], output[k : k + 1]) for k in range(len(y))]
        alone = ops.convert_to_numpy(ops.concatenate(each))
        if not np.allclose(ops.convert_to_numpy(together), alone, rtol=1e-4, atol=1e-6, equal_nan=True):
            raise ValueError(f"{rule}{name}, which compares the sequences of a batch. {remedy}")

    def _losses(self, y: Tensor, output: Tensor) -> Tensor:
        """The values of the loss, before any mean."""
        return self.loss.call(y, output) if isinstance(self.loss, keras.losses.Loss) else self.loss(y, output)

    def moved(self, points: Array, gradients: Array, seed: int) -> Array:
        """Starts (rows, P), a little off where constraints that are no bounds have no derivative."""
        off = SMALL_START * np.random.default_rng([seed, len(points)]).normal(size=points.shape)
        parts = zip(self.parts(points), self.parts(gradients), self.parts(off), self.projections, strict=True)
        found = []
        for point, gradient, step, project in parts:
            point, gradient, step = (each.reshape(len(points), -1) for each in (point, gradient, step))
            smooth = np.isfinite(gradient).all(axis=1, keepdims=True) | (project is None)
            found.append(np.where(smooth, point, point + step))
        return np.concatenate(found, axis=1)

    def names_of(self, entries: NDArray[np.bool_]) -> str:
        """The weights that have one of these entries (P,), with their constraints."""
        chosen = [v for v, part in zip(self.variables, self.parts(entries), strict=True) if part.any()]
        return ", ".join(
            v.path + (f" under {type(v.constraint).__name__}" if v.constraint is not None else "") for v in chosen
        )

    def starts(self, number: int, seed: int) -> Array:
        """(number, P): the model's weights, then what its initializers draw."""
        models = [self.copy, *(_copy(self.model, [seed, draw]).model for draw in range(1, number))]
        return np.stack([_flat(each.trainable_variables) for each in models])

    def parts(self, weights: Any) -> list[Any]:
        """Flat weights (..., P) as the model's variables (..., *shape)."""
        ends = np.cumsum(self.sizes)
        reshape = np.reshape if isinstance(weights, np.ndarray) else ops.reshape
        return [
            reshape(weights[..., end - size : end], (*weights.shape[:-1], *shape))
            for end, size, shape in zip(ends, self.sizes, self.shapes, strict=True)
        ]

    def constrained(self, weights: Any) -> Any:
        """Weights (rows, P) within the constraints that are no bounds."""
        if not any(self.projections):
            return weights
        if isinstance(weights, np.ndarray):
            return ops.convert_to_numpy(self.constrained(ops.convert_to_tensor(weights)))
        return _of_each_row(self._constrained, weights, weights.shape[1])

    def _constrained(self, weights: Tensor) -> Tensor:
        """As `constrained`, of one row (P,)."""
        pairs = zip(self.parts(weights), self.projections, strict=True)
        parts = [part if project is None else project(part) for part, project in pairs]
        return ops.concatenate([ops.reshape(part, (-1,)) for part in parts])

    def values(self, structure: object, project: bool, weights: Tensor, *data: Tensor) -> Tensor:
        """The objective of each row, (rows,): of weights (rows, P), data (rows, ...) and factors (rows,)."""
        if project:
            weights = self.constrained(weights)
        if self.stack is None and weights.shape[0] > 1:
            rows = ops.vectorized_map(
                lambda row: self.values(structure, False, *(part[None] for part in row)), (weights, *data)
            )
            return rows[:, 0]
        *leaves, y, sample_weight, factors = data
        if self.stack is None:
            x = tree.pack_sequence_as(structure, [leaf[0] for leaf in leaves])
            outputs, _, penalties = self.copy.stateless_call(
                self.parts(weights[0]), self.fixed, x, training=False, return_losses=True
            )
            [output] = tree.flatten(outputs)
            mask = mask_of(output)
            if mask is not None:
                sample_weight = _with_mask(sample_weight, mask[None])
            value = self._mean(y, output[None], sample_weight)
            return value + factors * sum(penalties) if penalties else value
        parts = self.parts(weights)
        trained = {id(variable): part for variable, part in zip(self.variables, parts, strict=True)}

        def read(variable: keras.Variable) -> Tensor:
            if id(variable) in trained:
                return trained[id(variable)]
            return ops.repeat(ops.convert_to_tensor(variable)[None], weights.shape[0], axis=0)

        value = self._mean(y, self.stack(read, leaves), sample_weight)
        if all(variable.regularizer is None for variable in self.variables):
            return value
        return value + factors * _of_each_row(self._penalty, weights, 1)[:, 0]

    def _penalty(self, weights: Tensor) -> Tensor:
        """The penalties of weights (P,)."""
        pairs = zip(self.variables, self.parts(weights), strict=True)
        return sum(variable.regularizer(part) for variable, part in pairs if variable.regularizer is not None)

    def _mean(self, y: Tensor, output: Tensor, sample_weight: Tensor) -> Tensor:
        """Weighted means (rows,) of the loss over targets, outputs and weights, each (rows, batch, ...)."""
        if len(y.shape) < len(output.shape) and output.shape[-1] == 1:
            y = y[..., None]
        (rows, batch), of_weights = output.shape[:2], tuple(sample_weight.shape)
        # A target of weight 0 may be missing. A product with 0 would be NaN, here or in the gradient.
        counts = ops.reshape(sample_weight > 0, (*of_weights, *[1] * (len(y.shape) - len(of_weights))))
        y = ops.where(counts, y, ops.zeros_like(y))
        losses = None
        alike = len(y.shape) != len(output.shape) or all(
            one in (None, 1, other) or other is None for one, other in zip(y.shape, output.shape, strict=True)
        )
        if alike and all(size in (None, other) for size, other in zip(output.shape, of_weights, strict=False)):
            flat = [ops.reshape(part, (rows * batch, *part.shape[2:])) for part in (y, output)]
            losses = self._losses(*flat)
            mask = mask_of(losses)  # a loss leaves out steps by it, as with `ignore_class`
            losses = ops.reshape(losses, (rows, batch, *losses.shape[1:]))
        if losses is None or len(losses.shape) < len(of_weights):
            raise ValueError(
                f"The loss must have a value for each step. Received: outputs of shape {tuple(output.shape[1:])}, "
                f"targets {tuple(y.shape[1:])} and weights {of_weights[1:]}. Give the model outputs "
                "(batch, time, outputs)."
            )
        ignored = getattr(self.loss, "ignore_class", None)
        if mask is not None:
            sample_weight = _with_mask(sample_weight, ops.reshape(mask, (rows, batch, *mask.shape[1:])))
        elif ignored is not None:
            known = ops.not_equal(ops.cast(y, "int32"), ignored)
            sample_weight = _with_mask(sample_weight, ops.reshape(known, losses.shape))
        sample_weight = ops.reshape(
            sample_weight, (*sample_weight.shape, *[1] * (len(losses.shape) - len(sample_weight.shape)))
        )
        axes = tuple(range(1, len(losses.shape)))
        losses = ops.where(sample_weight > 0, losses, ops.zeros_like(losses))
        mean = ops.sum(sample_weight * losses, axis=axes) / ops.sum(sample_weight * ops.ones_like(losses), axis=axes)
        return self.loss_weight * mean


def _with_mask(weights: Tensor, mask: Tensor) -> Tensor:
    """Weights (rows, batch, ...) of the steps of a mask (rows, batch, ...)."""
    more = len(mask.shape) - len(weights.shape)
    return ops.reshape(weights, (*weights.shape, *[1] * more)) * ops.cast(mask, weights.dtype)


def _of_each_row(function: Callable[[Tensor], Tensor], rows: Tensor, width: int) -> Tensor:
    """A function of vectors (n,) to `width` numbers, of each of rows (rows, n); it may be any function."""
    if _backend.maps_loops():
        return ops.vectorized_map(lambda row: ops.reshape(function(row), (width,)), rows)

    def step(state: Tensor, now: tuple[Tensor, ...]) -> tuple[Tensor, tuple[Tensor]]:
        return state, (ops.reshape(function(now[0][0]), (1, width)),)

    _, [values] = _backend.scan(step, ops.zeros((1, 1), rows.dtype), (rows[:, None],), (width,))
    return values[:, 0]


def _flat(variables: Sequence[keras.Variable]) -> Array:
    return np.concatenate([np.asarray(ops.convert_to_numpy(each), np.float64).ravel() for each in variables])


def _copy(model: keras.Model, seed: Sequence[int] | None) -> copies.Copy:
    """The model in float64, with the weights that its initializers draw; from other seeds, if there is one."""
    draws = None if seed is None else np.random.default_rng(seed)
    return copies.copy_of(model, lambda config: _changed(config, draws))


def _changed(config: object, draws: np.random.Generator | None) -> Any:
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


def _box(constraint: object) -> tuple[float, float] | None:
    """The bounds that a constraint is; None if it is not one."""
    if constraint is None:
        return -np.inf, np.inf
    if type(constraint) is keras.constraints.NonNeg:
        return 0.0, np.inf
    return (constraint.min_value, constraint.max_value) if isinstance(constraint, Interval) else None
