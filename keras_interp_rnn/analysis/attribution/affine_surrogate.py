r"""An affine network in the place of any recurrent network, along one text: what reads an ISAN reads it.

A step of the text is there or not (a reference is read in its place), so along this text a network reads two symbols a
step. The surrogate has an affine map for each, of a few coordinates of the state,

    y_t = y_{t-1} A_t^z + b_t^z,   z = 1 if step t is there, else 0;      output = y_T R + c,

which is an ISAN with 2 T symbols, "present at t" and "absent at t". The maps are regressions over the states that a
sample of coalitions passes through: complementary pairs, all sizes as often. A state counts as much as the coalitions
that share it. Three passes:

1. Principal components of the states after each step, 60 at most, and the map of each step from those before it.
2. From the last step to the first: how much each direction of the state matters for the output after the maps of the
   steps that follow, there or not with equal chance (an observability Gramian, Q). The components of the states in the
   metric Q are the coordinates: directions that differ much and matter much, as in balanced truncation.
3. From the first step to the last: the maps again, from the states of the surrogate itself to the coordinates of the
   network's, so that errors do not add up; and the readout from its last states.

The strength of ridge regression is that of the smallest generalized cross-validation error, in which each degree of
freedom counts 1.4 times, against overfitting; none where every coalition's state is known.

Why so, by measurement: LSTMs and a GRU of 16 to 24 units were trained on words with "not", "very" and "but", and on
Tomita 4, and R^2 was taken over all 2^14 coalitions of texts of 14 steps, the mean over ten texts. Of 960 runs, 12
principal components alone explain 0.920 to 0.994, 12 coordinates in the metric Q 0.985 to 0.9985, and 8 or 16 as much.
From 240 runs to 960 R^2 rises from 0.959 to 0.985 for Tomita 4, and the runs take milliseconds, as coalitions share
their prefixes: the fit takes ten times as long.

The coordinates begin at the states in which no step is there, so that "absent" adds nothing, and the first of them is
what the output would rise by if no further step were there: the model's output after each step is that of the text so
far.

Reference: Foerster et al., ICML 2017, for ISANs; Golub, Heath and Wahba, "Generalized cross-validation", Technometrics,
1979; Moore, "Principal component analysis in linear systems", IEEE Transactions on Automatic Control, 1981.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from keras_interp_rnn._checks import choice, integer
from keras_interp_rnn._network import GivenAlphabet, isan_model, token_names
from keras_interp_rnn._network.inputs import Reading, read_inputs
from keras_interp_rnn._network.prefixes import Level, Prefixes, is_read_by_steps
from keras_interp_rnn._network.vectors import Network
from keras_interp_rnn._outputs import GivenOutputs, output_names
from keras_interp_rnn._results import Result, Table, counted, named_output, nth
from keras_interp_rnn._types import Array
from keras_interp_rnn.analysis.attribution.coalitions import Coalitions, Pairs, all_coalitions, nobody_and_all
from keras_interp_rnn.analysis.attribution.groups import Players, players_of
from keras_interp_rnn.analysis.attribution.opening import (
    absent_vectors,
    as_explained,
    batch_of_one,
    opened_for,
    steps_that_count,
)
from keras_interp_rnn.analysis.attribution.wording import variance
from keras_interp_rnn.analysis.weighted.backgrounds import Background

MAX_STEPS = 512
"""Maximum number of steps or groups: a background has a probability for each pair of 2 T symbols."""

RANK, COMPONENTS = 12, 60
"""Maximum number of coordinates of the surrogate, and of principal components from which they are chosen."""

HELD_OUT = 4
"""One further run for so many of the fit is held out, to measure what the surrogate explains."""

DEGREE = 1.4
"""How often each degree of freedom counts in generalized cross-validation."""

RIDGES = np.concatenate([[0.0], np.logspace(-10, 0, 21)])
"""Strengths of ridge regression that are tried, in parts of the variance of the regressors."""

SMALLEST = 1e-10
"""In parts of the largest singular value, below which a direction is rounding."""


@dataclass(frozen=True, eq=False, repr=False)
class AffineSurrogate(Result):
    r"""An ISAN that was fitted to a network along one text.

    Attributes:
        model: a `keras.Sequential` of a `layers.ISAN` in float64 and a `Dense` layer, over 2 T symbols: id t is
            "present at step t", id T + t "absent at step t", t from 0. With `groups` T is the number of groups. The
            names of the symbols are those of what is read. Its output after some steps is that of the text so far, with
            no further step there.
        word: (T,), the ids of the text, all steps present, in the order in which the network reads them.
        background: of `analysis.shapley_values`: every step is absent.
        r_squared: the share of the variance of the network's output over coalitions, all sizes alike, that the
            surrogate explains. Below 0 the mean output explains more; -inf where the output does not vary and the
            surrogate misses it. It is of the output: differences of outputs, such as interactions, may be much worse.
        num_held_out: the number of coalitions on which it was measured, none of which is in the fit, besides the text
            and the one with no step, which are; 0 if all coalitions are in the fit, which are those on which it was
            measured then.
        num_runs: the number of coalitions to which the surrogate was fitted. rank: the largest of its states' ranks.
        target: the index of the output. output: its value for the text, by the network, before a softmax or a sigmoid
            at the end; surrogate_output: by the surrogate.
        unit: as of `Attribution`; "" for the output's own.
        tokens: (T,), the names of what is read; () for vectors.
        groups: (steps,), the group of each step; None if there are none.
        output_names: of all outputs, with units; () if they have no names.

    Example: see `affine_surrogate`.
    """

    model: Any
    word: NDArray[np.int64]
    background: Background
    r_squared: float
    num_held_out: int
    num_runs: int
    rank: int
    target: int
    output: float
    surrogate_output: float
    unit: str = ""
    tokens: tuple[str, ...] = ()
    groups: NDArray[np.int64] | None = None
    output_names: tuple[str, ...] = ()

    def table(self) -> Table:
        """To what it was fitted, what it explains, and that it is no more than that."""
        steps = counted(len(self.word), "step" if self.groups is None else "group")
        unseen = f"over {self.num_held_out} coalitions that it has not seen, the text and the empty one"
        unit = f" ({self.unit})" if self.unit else ""
        fitted = f"{counted(self.num_runs, 'run')} along this text"
        if not self.num_held_out:
            fitted, unseen = f"all {counted(self.num_runs, 'coalition')} of this text", "over them"
        return Table(
            f"an affine network fitted to {fitted}, {steps}; explains {variance(self.r_squared)} of the variance "
            f"{unseen}; what it misses is not in its numbers",
            notes=(
                f"{named_output(self, self.target)}{unit}: {self.output:.4f} by the network, "
                f"{self.surrogate_output:.4f} by the surrogate, of rank {self.rank}",
            ),
        )


def affine_surrogate(
    network: object,
    sequence: ArrayLike | str | Sequence[object] | Mapping[str, object],
    *,
    target: int | None = None,
    step: int = -1,
    reference: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    of: str = "logit",
    alphabet: GivenAlphabet | None = None,
    outputs: GivenOutputs | None = None,
    num_runs: int = 960,
    with_respect_to: int | str | None = None,
) -> AffineSurrogate:
    r"""Fits an ISAN to a network along one text, in which each step is there or not.

    What is exact for an ISAN can then be read off the surrogate of any network that is read step by step, such as
    `contributions` and `shapley_values`. That is as good as the surrogate is, of which `r_squared` is the measure. What
    it misses is not in its numbers: for values with an error bar use `attribution`.

    Args:
        network: a model of layers one after the other with a recurrent layer, which reads in one direction, or such a
            layer.
        sequence: one text, as `attribution` reads it: ids (T,), vectors (T, features), or a text, if the ids have
            names; with or without an axis of 1 for the batch.
        target: index of the output to explain; None for the largest one.
        step: the step to explain if there are outputs at every step, from 0, or negative from the end.
        reference: (features,) or (T, features), the vectors in place of steps that are not there, as in `attribution`.
        groups: int (T,), from 0: the group of each step, such as the word of each token. The steps of a group must
            follow one another.
        of: "logit" for the logit, or log-odds, under a softmax, or sigmoid, at the end; "probability" for what that
            makes of it.
        alphabet: names of the ids; by default the alphabet that a model carries.
        outputs: names of the outputs: `datasets.Outputs` or a list; by default those that a model carries.
        num_runs: maximum number of coalitions to which the surrogate is fitted; a quarter as many are held out. If
            there are no more than both together, it is fitted to all: to the 1,024 of ten steps for 960.
        with_respect_to: as in `attribution`, which of several inputs the steps are of.

    Returns:
        `AffineSurrogate`.

    Raises:
        ValueError: as `attribution`; if the network is not read step by step in one direction; for several sequences,
            or for more than 512 steps or groups.

    Units: of the output: `unit` of the result.
    Exactness: an approximation; `r_squared` is its quality. It is the network, to rounding, if along the text that is
        affine in at most 12 coordinates of its state, as an ISAN or a `MinGRU` of so many units is.
    Cost: 2.25 num_runs T updates of the state at most, of two passes over the fit and one over what is held out, and
        O(T num_runs n^2) for the fit.
    Example:

        >>> from keras_interp_rnn import analysis
        >>> model = keras.Sequential([keras.layers.Embedding(9, 3), keras.layers.LSTM(4), keras.layers.Dense(1)])
        >>> surrogate = analysis.affine_surrogate(model, [1, 5, 2, 5, 7])
        >>> surrogate.num_runs, surrogate.r_squared > 0.99  # all coalitions of five steps
        (32, True)
        >>> shares = analysis.shapley_values(surrogate.model, surrogate.word, background=surrogate.background)
        >>> shares.values[1:, 0, 0].shape
        (5,)

    Reference: Foerster et al., ICML 2017, for ISANs; Moore, IEEE Transactions on Automatic Control, 1981.
    """
    choice("of", of, ("logit", "probability"))
    integer("num_runs", num_runs, 16)
    reading = read_inputs(network, batch_of_one(network, sequence, alphabet), alphabet, with_respect_to)
    chain, absent, unit = _opened(reading, step, reference, of)
    players = players_of(groups, steps_that_count(chain, absent))
    _check_places(players, chain.inputs.shape[1])
    game = Prefixes(chain, 0, absent[0], players.of_steps[0])
    ends = game.outputs(nobody_and_all(game.num_players))
    if not np.isfinite(ends).all():
        raise ValueError(
            "The outputs of a network must be numbers, also where no step is there. Received: "
            f"{ends[~np.isfinite(ends)][0]}. Pass another `reference`."
        )
    chosen = int(ends[1].argmax()) if target is None else integer("target", target, 0, below=ends.shape[1])
    fitted, held_out = _coalitions(game.num_players, num_runs)
    surrogate = _fit(game, fitted, game.outputs(fitted)[:, [chosen]], players.columns[0])
    tested = np.concatenate([held_out, nobody_and_all(game.num_players)]) if len(held_out) else fitted
    arrays, order = surrogate.arrays(players.num_places)
    [tokens] = players.names(token_names(reading.arrays[reading.varies], reading.names)) or ((),)
    kind = "step" if groups is None else "group"
    names = _names(tokens or [nth(kind, i) for i in range(players.num_places)], kind)
    return AffineSurrogate(
        model=isan_model(*arrays, names),
        word=order,
        background=_all_absent(order),
        r_squared=_explained(game.outputs(tested)[:, chosen], surrogate.outputs(tested)[:, 0], _weights(tested)),
        num_held_out=len(held_out),
        num_runs=len(fitted),
        rank=surrogate.rank,
        target=chosen,
        output=float(ends[1, chosen]),
        surrogate_output=float(surrogate.outputs(np.ones((1, game.num_players), bool))[0, 0]),
        unit=unit,
        tokens=tuple(tokens),
        groups=None if players.groups is None else players.groups[0],
        output_names=output_names(network, outputs, ends.shape[1]),
    )


def _opened(reading: Reading, step: int, reference: ArrayLike | None, of: str) -> tuple[Network, Array, str]:
    """The network as a chain that is read step by step, the vectors in place of those of absent steps, and the unit."""
    opened, reason = opened_for(reading, None, step, functools.partial(absent_vectors, reference))
    if len(opened.inputs) != 1 or not opened.inputs.shape[1]:
        raise ValueError(
            "One sequence of at least one step must be given. Received: inputs of shape "
            f"{opened.inputs.shape[:2]} (batch, time). Pass one row of the batch."
        )
    name, remedy = reading.network.name, "Use analysis.attribution, which takes any network."
    if not is_read_by_steps(opened):
        why = reason.removeprefix("; ") or "some layer above its recurrent ones reads several steps at a time"
        raise ValueError(
            "A network must be read step by step, layer after layer in one direction, so that its state tells of what "
            f"was read. Received: {name}: {why}. {remedy}"
        )
    if len(opened.directions) > 1:
        raise ValueError(
            "A network must be read in one direction, so that its state tells of all that was read. Received: "
            f"{name}, with a Bidirectional layer. {remedy}"
        )
    explained, _, unit, _ = as_explained(opened, of)
    assert isinstance(explained, Network)
    opened = explained
    return opened, absent_vectors(reference, opened.inputs, opened.reads_symbols), unit


def _check_places(players: Players, num_steps: int) -> None:
    columns = players.columns[0]
    if np.count_nonzero(np.diff(columns)) + 1 != len(np.unique(columns)):
        raise ValueError(
            "The steps of a group must follow one another, as the surrogate reads them as one symbol. Received: "
            f"groups={columns.tolist()!r:.200}. Pass a number for each run of steps."
        )
    if players.num_places > MAX_STEPS:
        raise ValueError(
            f"A text must have at most {MAX_STEPS} steps or groups of steps. Received: {players.num_places}"
            f"{'' if players.groups is None else f' groups of {num_steps} steps'}. Pass `groups`, such as the sentence "
            "of each token, or use analysis.attribution."
        )


def _coalitions(num_players: int, num_runs: int) -> tuple[Coalitions, Coalitions]:
    """Coalitions (m, n) for the fit, nobody and all among them, and others that are held out; all of few players."""
    n = num_players
    if 2**n <= num_runs + num_runs // HELD_OUT:
        return all_coalitions(n), np.zeros((0, n), bool)
    rng = np.random.default_rng(0)
    pairs, num_held_out = Pairs(n, rng), num_runs // (2 * HELD_OUT)
    drawn = pairs.draw((num_runs - 2) // 2 + num_held_out)
    sizes = drawn.sum(axis=1)
    by_size = np.lexsort([rng.random(len(drawn)), np.minimum(sizes, n - sizes)])
    places = (np.arange(num_held_out) + rng.random()) * len(drawn) / num_held_out
    held_out = np.zeros(len(drawn), bool)
    held_out[by_size[places.astype(np.intp)]] = True
    fitted, tested = drawn[~held_out], drawn[held_out]
    return np.concatenate([fitted, ~fitted, nobody_and_all(n)]), np.concatenate([tested, ~tested])


def _weights(coalitions: Coalitions) -> Array:
    """(m,), with the sum 1, the same for all sizes."""
    sizes = coalitions.sum(axis=1)
    weights = 1 / np.bincount(sizes)[sizes]
    return np.asarray(weights / weights.sum())


def _explained(outputs: Array, predicted: Array, weights: Array) -> float:
    """R^2; of outputs that do not vary 1 where they are predicted, and otherwise -inf."""
    scale = np.abs(outputs).max()
    varied, missed = weights @ (outputs - weights @ outputs) ** 2, weights @ (outputs - predicted) ** 2
    if varied <= (1e-12 * scale) ** 2:
        return 1.0 if missed <= (1e-9 * scale) ** 2 else -np.inf
    return float(1 - missed / varied)


class _Prefixes(NamedTuple):
    """The states after one step, of all prefixes of the coalitions that differ.

    Attributes:
        place, player: of the step in the shares, and in coalitions. there: (nodes,), whether the player is there.
        parent: (nodes,), the prefix before the step. node: (m,), the prefix of each coalition.
        weights: (nodes,), with the sum 1. are_all: whether these are the prefixes of all coalitions, not of a sample.
        components: (nodes, r), principal components with the mean 0. scales: (r,), their standard deviations.
    """

    place: int
    player: int
    there: NDArray[np.bool_]
    parent: NDArray[np.intp]
    node: NDArray[np.intp]
    weights: Array
    are_all: bool
    components: Array
    scales: Array


def _prefixes(game: Prefixes, coalitions: Coalitions, weights: Array, places: NDArray[np.intp]) -> Iterator[_Prefixes]:
    node, met = np.zeros(len(coalitions), np.intp), set[int]()
    for level in game.levels(coalitions):
        met |= {level.player} if level.player >= 0 else set()
        parent = np.empty(len(level.there), np.intp)
        parent[level.node], node = node, level.node
        mass = np.asarray(np.bincount(node, weights, len(parent)), np.float64)
        components, scales = _principal(_states(level), mass)
        there = np.asarray(level.there, bool)
        are_all = len(parent) == 2.0 ** len(met)
        yield _Prefixes(int(places[level.step]), level.player, there, parent, node, mass, are_all, components, scales)


def _states(level: Level) -> Array:
    """(nodes, n), without outputs that are a part of the states."""
    different: list[Array] = []
    for array in level.after:
        if not any(array.shape == other.shape and (array == other).all() for other in different):
            different.append(array)
    return np.concatenate(different, axis=1)


def _principal(states: Array, weights: Array) -> tuple[Array, Array]:
    """The largest principal components (nodes, r), and their standard deviations."""
    centred = states - weights @ states
    _, scales, directions = np.linalg.svd(centred * np.sqrt(weights)[:, None], full_matrices=False)
    kept = np.flatnonzero(scales > SMALLEST * max(scales.max(initial=0.0), 1e-300))[:COMPONENTS]
    return centred @ directions[kept].T, scales[kept]


class _Step(NamedTuple):
    """The maps of a step that is absent and of one that is present, as matrices with the constant 1 last."""

    place: int
    player: int
    absent: Array
    present: Array


class _Surrogate(NamedTuple):
    """Maps from no coordinate before the first step to those after the last; the readout, a matrix and an offset."""

    steps: Sequence[_Step]
    readout: tuple[Array, Array]

    @property
    def rank(self) -> int:
        return max(int(step.present.shape[1]) - 1 for step in self.steps)

    def outputs(self, coalitions: Coalitions) -> Array:
        """(m, 1) for coalitions (m, n)."""
        states = np.ones((len(coalitions), 1))
        for step in self.steps:
            there = coalitions[:, step.player, None] if step.player >= 0 else np.True_
            states = np.where(there, states @ step.present, states @ step.absent)
        return np.asarray(states[:, :-1] @ self.readout[0] + self.readout[1])

    def arrays(self, num_places: int) -> tuple[tuple[Array, Array, Array, tuple[Array, Array]], NDArray[np.int64]]:
        """The weights of an ISAN and its readout, and the places in reading order, those that are not read last.

        Its state is 0 where no step is there. The first unit is what the output would rise by from there if the steps
        to come were absent; the others are the coordinates.
        """
        matrix, offset = self.readout
        joined: dict[int, list[Array]] = {}
        for step in self.steps:
            sides = joined.get(step.place, [np.eye(len(step.absent))] * 2)
            joined[step.place] = [sides[0] @ step.absent, sides[1] @ step.present]
        ahead = [matrix[:, 0]]  # after each place and before the first, the last first
        for absent, _ in reversed(joined.values()):
            ahead.append(absent[:-1, :-1] @ ahead[-1])
        units = 1 + max(map(len, ahead))
        kernel, bias = np.zeros((2 * num_places, units, units)), np.zeros((2 * num_places, units))
        unread = [place for place in range(num_places) if place not in joined]
        for place in unread:
            kernel[[place, num_places + place]] = np.eye(units)
        nobody = np.ones((1, 1))
        for place, sides in joined.items():
            ahead.pop()
            zero, nobody = nobody, nobody @ sides[0]
            for symbol, side in zip((num_places + place, place), sides, strict=True):
                before, after = (size - 1 for size in side.shape)
                kernel[symbol, 1 : 1 + before, 1 : 1 + after] = side[:-1, :-1]
                bias[symbol, 1 : 1 + after] = 0.0 if side is sides[0] else ((zero @ side) - nobody)[0, :-1]
                kernel[symbol, :, 0] = kernel[symbol, :, 1 : 1 + after] @ ahead[-1]
                bias[symbol, 0] = bias[symbol, 1 : 1 + after] @ ahead[-1]
        first = np.eye(units)[:, :1]
        order = np.array([*joined, *unread], np.int64)
        return (kernel, bias, np.zeros(units), (first, nobody[0, :-1] @ matrix + offset)), order


def _fit(game: Prefixes, coalitions: Coalitions, outputs: Array, places: NDArray[np.intp]) -> _Surrogate:
    weights = _weights(coalitions)
    levels = list(_prefixes(game, coalitions, weights, places))
    last = levels[-1]

    def readout(states: Array) -> tuple[Array, Array]:
        return _regression(states[last.node], outputs, weights, last.are_all)

    steps, states = _maps(levels, [level.components for level in levels], from_own=False)
    coordinates = _coordinates(levels, steps, readout(states)[0])
    steps, states = _maps(levels, coordinates, from_own=True)
    return _Surrogate(steps, readout(states))


def _maps(levels: Sequence[_Prefixes], coordinates: Sequence[Array], *, from_own: bool) -> tuple[list[_Step], Array]:
    """The maps to the coordinates after each step from those before it, or from what the maps make of them.

    Returns:
        The maps, and the last states (nodes, r): those that the maps make, or the coordinates.
    """
    states, found = np.zeros((1, 0)), []
    for level, goal in zip(levels, coordinates, strict=True):
        before, made, sides = states[level.parent], goal.copy(), []
        for side in (False, True):
            rows = np.flatnonzero(level.there == side if level.player >= 0 else level.there)
            matrix, offset = _regression(before[rows], goal[rows], level.weights[rows], level.are_all)
            made[rows] = before[rows] @ matrix + offset
            sides.append(np.block([[matrix, np.zeros((len(matrix), 1))], [offset, np.ones((1, 1))]]))
        found.append(_Step(level.place, level.player, *sides))
        states = made if from_own else goal
    return found, states


def _coordinates(levels: Sequence[_Prefixes], steps: Sequence[_Step], readout: Array) -> list[Array]:
    """For each step the directions of its components that differ and matter most, (nodes, at most 12)."""
    matters = readout @ readout.T
    found: list[Array] = []
    for level, step in zip(reversed(levels), reversed(steps), strict=True):
        size, scales = len(matters), level.scales
        # A tenth of it is the same for all directions that differ: what follows is itself fitted.
        even = 0.1 * (scales**2 @ np.diagonal(matters)) / max(float(scales @ scales), 1e-300)
        values, vectors = np.linalg.eigh(matters + even * np.eye(size))
        root = vectors * np.sqrt(np.maximum(values, 0.0)) if even > 0 else np.eye(size)
        _, sizes, directions = np.linalg.svd(scales[:, None] * root, full_matrices=False)
        kept = np.flatnonzero(sizes > SMALLEST * sizes.max(initial=0.0))[:RANK]
        found.append(level.components @ root @ directions[kept].T)
        sides = [side[:-1, :-1] for side in (step.absent, step.present)]
        matters = np.mean([side @ matters @ side.T for side in sides], axis=0)
    return found[::-1]


def _regression(x: Array, y: Array, weights: Array, are_all: bool) -> tuple[Array, Array]:
    """The matrix and the offset of an affine map from x (rows, n) to y (rows, outputs).

    Args:
        are_all: whether there are no other rows: then the map is that of least squares.
    """
    weights = weights / weights.sum()
    root, mean, goal = np.sqrt(weights)[:, None], weights @ x, weights @ y
    left, scales, right = np.linalg.svd((x - mean) * root, full_matrices=False)
    kept = scales > SMALLEST * scales.max(initial=0.0)
    left, scales, right = left[:, kept], scales[kept], right[kept]
    varied = (y - goal) * root
    along, ridge = left.T @ varied, 0.0
    if not are_all and len(scales):
        ridges = RIDGES * (scales @ scales)
        kept_of_each = scales**2 / (scales**2 + ridges[:, None])
        total, explained = (varied**2).sum(), (along**2).sum(axis=1)
        missed = np.maximum(total - (2 * kept_of_each - kept_of_each**2) @ explained, 1e-24 * total)
        left_over = 1 - DEGREE * (1 + kept_of_each.sum(axis=1)) / len(x)
        errors = np.where(left_over > 0, missed / np.maximum(left_over, 1e-9) ** 2, np.inf)
        ridge = ridges[errors.argmin()] if np.isfinite(errors).any() else ridges[-1]
    matrix = right.T @ (along * (scales / (scales**2 + ridge))[:, None])
    return matrix, goal - mean @ matrix


def _names(tokens: Sequence[str], kind: str) -> list[str]:
    """Distinct names of the symbols: what is read, with its place where that is read more than once, and its absence.

    Args:
        kind: of the places, "step" or "group".
    """
    places = [f"{token} ({nth(kind, i)})" for i, token in enumerate(tokens)]
    present = [place if tokens.count(token) > 1 else token for token, place in zip(tokens, places, strict=True)]
    names = [*present, *(f"{name} absent" for name in present)]
    return names if len(set(names)) == len(names) else [*places, *(f"{place} absent" for place in places)]


def _all_absent(order: NDArray[np.int64]) -> Background:
    """Each step absent: a chain that moves from one to the next one with certainty."""
    count = len(order)
    absent = count + order
    initial, transitions = np.zeros(2 * count), np.zeros((2 * count, 2 * count))
    initial[absent[0]] = 1
    following = np.append(absent[1:], absent[-1])
    transitions[absent, following] = transitions[order, following] = 1
    return Background(initial, transitions)
