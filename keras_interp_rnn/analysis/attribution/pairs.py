r"""Pairs of players that act together, from the outputs of all coalitions.

The interaction of players i and j of n in a game v is the mean of what they change together less what they change
apart, over the coalitions S of the others, by their sizes:

    I_ij = sum over S of w(|S|) (v(S with i and j) - v(S with i) - v(S with j) + v(S)),

with w(s) = s! (n - s - 2)! / (n - 1)! for the Shapley interaction index, which weighs all sizes alike, and
w(s) = 1 / 2^(n - 2) for that of Banzhaf, which weighs all coalitions alike.

Reference: Grabisch and Roubens, "An axiomatic approach to the concept of interaction among players in cooperative
games", International Journal of Game Theory, 1999.
"""

from __future__ import annotations

import functools
import itertools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from keras_interp_rnn._alphabet import Alphabet
from keras_interp_rnn._network.inputs import Reading
from keras_interp_rnn._network.prefixes import Prefixes, is_read_by_steps
from keras_interp_rnn._network.vectors import Network
from keras_interp_rnn._types import Array
from keras_interp_rnn.analysis.attribution.coalitions import all_coalitions, sizes_of
from keras_interp_rnn.analysis.attribution.groups import Players, players_of
from keras_interp_rnn.analysis.attribution.opening import (
    absent_vectors,
    as_explained,
    opened_for,
    outputs_of,
    steps_that_count,
)
from keras_interp_rnn.analysis.attribution.shapley import EXACT_PLAYERS, EXACT_RUNS


def exact_interactions(outputs: Array, index: str) -> Array:
    """(n, n, K), symmetric and 0 on the diagonal, from the values (2^n, K) of all coalitions.

    Args:
        outputs: in an index bit i is that of player i. index: "shapley" or "banzhaf".
    """
    n = len(outputs).bit_length() - 1
    found = np.zeros((n, n, outputs.shape[1]))
    if n < 2:
        return found
    if index == "shapley":
        of_size = np.array([1 / ((n - 1) * math.comb(n - 2, s)) for s in range(n - 1)])
    else:
        of_size = np.full(n - 1, 0.5 ** (n - 2))
    weights = of_size[sizes_of(n - 2)]
    change = outputs - outputs[0]  # keeps the digits of small changes
    for i, j in itertools.combinations(range(n), 2):
        split = change.reshape(-1, 2, 2 ** (j - i - 1), 2, 2**i, change.shape[1])
        together = split[:, 1, :, 1] - split[:, 1, :, 0] - split[:, 0, :, 1] + split[:, 0, :, 0]
        found[i, j] = found[j, i] = weights @ together.reshape(len(weights), -1)
    return found


def gap_of_sums(sums: Array, first: Array, last: Array) -> float:
    """The largest gap of an identity: the Shapley interactions of a player sum to its last gain less its first one.

    Args:
        sums: of each player, over the others. first, last: what it changes where no other is there, and where all are.
    """
    return float(np.abs(sums - (last - first)).max(initial=0.0))


@dataclass(frozen=True)
class OneSequence:
    """A sequence of a network as a game of its steps.

    Attributes:
        opened: the network, before its last activation if the logit is explained. absent: the vectors (1, time, ...) in
            place of steps that are not there. players: the steps or groups.
        unit: of the outputs. reason: how the network is run, if not in float64. names: of the ids that are read.
    """

    opened: Network
    absent: Array
    players: Players
    unit: str
    reason: str
    names: Alphabet | None

    @property
    def num_players(self) -> int:
        return len(self.players.places[0])

    @property
    def is_read_by_steps(self) -> bool:
        return is_read_by_steps(self.opened)

    @property
    def is_read_in_one_direction(self) -> bool:
        """Whether it is read by steps, all of them in one order."""
        return is_read_by_steps(self.opened) and len(self.opened.directions) == 1

    @property
    def max_players(self) -> int:
        """How many players have all their coalitions run."""
        return EXACT_PLAYERS if self.is_read_by_steps else EXACT_RUNS

    @functools.cached_property
    def ends(self) -> Array:
        """(2, outputs), with no step there and with all."""
        x = np.concatenate([self.absent, self.opened.inputs])
        return outputs_of(self.opened, x, np.zeros(2, np.intp))

    def all_outputs(self) -> Array:
        """(2^n, outputs) for all coalitions; in the index of a coalition bit i is that of player i."""
        of_steps, n = self.players.of_steps[0], self.num_players
        if is_read_by_steps(self.opened):
            return Prefixes(self.opened, 0, self.absent[0], of_steps).all_outputs()
        there = self.players.steps_there(0, all_coalitions(n))
        x = np.where(there.reshape(*there.shape, *[1] * (self.absent.ndim - 2)), self.opened.inputs, self.absent)
        return outputs_of(self.opened, x, np.zeros(len(x), np.intp))


def open_sequence(reading: Reading, reference: ArrayLike | None, groups: ArrayLike | None, of: str) -> OneSequence:
    """The game of the only sequence of a batch; raises ValueError as `attribution`."""
    opened, reason = opened_for(reading, None, -1, functools.partial(absent_vectors, reference))
    if len(opened.inputs) != 1:
        raise ValueError(f"One sequence must be given. Received: {len(opened.inputs)}. Pass one row of the batch.")
    opened, _, unit, _ = as_explained(opened, of)
    absent = absent_vectors(reference, opened.inputs, opened.reads_symbols)
    players = players_of(groups, steps_that_count(opened, absent))
    game = OneSequence(opened, absent, players, unit, reason, reading.names)
    if not np.isfinite(game.ends[0]).all():
        output = int(np.flatnonzero(~np.isfinite(game.ends[0]))[0])
        raise ValueError(
            "The outputs of a network must be numbers where no step is there. Received: "
            f"{game.ends[0, output]}. Pass another `reference`."
        )
    return game
