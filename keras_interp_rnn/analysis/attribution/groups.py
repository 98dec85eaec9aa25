"""The players of an attribution: the steps of each sequence, or groups of them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from keras_interp_rnn._arrays import as_array
from keras_interp_rnn._results import nth
from keras_interp_rnn._types import Array


class Players(NamedTuple):
    """The players: each is there or not.

    Attributes:
        columns: (batch, time), the place in the shares of each step: its own, or that of its group.
        num_places: how many. groups: (batch, time) or None, as they were given.
        of_steps: (batch, time), the player of each step, which is negative where nothing changes by its absence.
        places: for each sequence the place in the shares of every player.
    """

    columns: NDArray[np.intp]
    num_places: int
    groups: NDArray[np.int64] | None
    of_steps: NDArray[np.intp]
    places: list[NDArray[np.intp]]

    def steps_there(self, row: int, coalitions: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """(m, time), the steps of a sequence that are there for coalitions (m, n) of its players."""
        of_steps = self.of_steps[row]
        there = np.ones((len(coalitions), len(of_steps)), bool)
        there[:, of_steps >= 0] = coalitions[:, of_steps[of_steps >= 0]]
        return there

    def sums(self, shares: Array) -> Array:
        """The shares (batch, places, ...) of steps (batch, time, ...)."""
        if self.groups is None:
            return shares
        found = np.zeros((len(shares), self.num_places, *shares.shape[2:]))
        np.add.at(found, (np.arange(len(shares))[:, None], self.columns), shares)
        return found

    def names(self, tokens: tuple[tuple[str, ...], ...]) -> tuple[tuple[str, ...], ...]:
        """The name of what is read in each place."""
        if self.groups is None or not tokens:
            return tokens
        joint = "" if all(len(name) == 1 for row in tokens for name in row) else " "
        return tuple(
            tuple(joint.join(np.array(row, object)[places == i]) for i in range(self.num_places))
            for row, places in zip(tokens, self.columns, strict=True)
        )

    def read(self, read: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """In which places a step is read."""
        return np.asarray(self.sums(read.astype(np.float64)) > 0)


def players_of(groups: ArrayLike | None, changed: NDArray[np.bool_]) -> Players:
    """The players of a batch; at steps `changed` (batch, time) something else is read without them."""
    shape = changed.shape
    if groups is None:
        given, columns, count = None, np.broadcast_to(np.arange(shape[1]), shape), shape[1]
    else:
        given = _checked(groups, shape)
        columns, count = given, int(given.max(initial=-1)) + 1
    of_steps, places = np.full(shape, -1), []
    for row, (column, there) in enumerate(zip(columns, changed, strict=True)):
        chosen, player = np.unique(column[there], return_inverse=True)
        of_steps[row, there] = player
        places.append(chosen)
    return Players(columns, count, given, of_steps, places)


def _checked(groups: ArrayLike, shape: tuple[int, ...]) -> NDArray[np.int64]:
    array = as_array("The groups", groups)
    if array.shape not in (shape, shape[1:]) or array.dtype.kind not in "iu" or array.min(initial=0) < 0:
        raise ValueError(
            f"`groups` must be the number of a group, from 0, for each step, {shape[1:]} or {shape}. Received: "
            f"{array.dtype} of shape {array.shape}. Pass [0, 0, 1] for a word of two tokens and another of one."
        )
    array = np.broadcast_to(array.astype(np.int64), shape)
    if array.max(initial=0) >= shape[1]:
        row = int(array.max(axis=1).argmax())
        raise ValueError(
            f"`groups` must be numbered from 0 without gaps. Received: group {array.max()} of {shape[1]} steps in "
            f"{nth('sequence', row)}. Pass numpy.unique(groups, return_inverse=True)[1]."
        )
    return array
