"""Telescoping and occlusion: an output for each step, of sequences that share what they have in common."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from keras_interp_rnn._network.prefixes import Prefixes, is_read_by_steps
from keras_interp_rnn._network.vectors import Network
from keras_interp_rnn._types import Array
from keras_interp_rnn.analysis.attribution.groups import players_of
from keras_interp_rnn.analysis.attribution.opening import row_slices, steps_that_count


def by_replacing(
    opened: Network, absent: Array, outputs: NDArray[np.int64], ends: tuple[Array, Array], *, telescoping: bool
) -> Array:
    """The shares of telescoping or of occlusion; `ends` are the outputs without any step and with all."""
    if is_read_by_steps(opened):
        return _by_prefixes(opened, absent, outputs, telescoping=telescoping)
    shares = _by_running(opened, absent, outputs, ends, telescoping=telescoping)
    return np.where(opened.mask[..., None], shares, 0.0)


def _by_prefixes(opened: Network, absent: Array, outputs: NDArray[np.int64], *, telescoping: bool) -> Array:
    """Each sequence from the state at its first difference from another one: half of the steps."""
    players = players_of(None, steps_that_count(opened, absent))
    shares = np.zeros((*opened.mask.shape, outputs.shape[1]))
    for row, (places, columns) in enumerate(zip(players.places, outputs, strict=True)):
        n = len(places)
        sets = np.tri(n + 1, n, -1, bool) if telescoping else ~np.eye(n + 1, n, dtype=bool)  # all, in the last row
        found = Prefixes(opened, row, absent[row], players.of_steps[row]).outputs(sets)[:, columns]
        shares[row, places] = np.diff(found, axis=0) if telescoping else found[-1] - found[:-1]
    return shares


def _by_running(
    opened: Network, absent: Array, outputs: NDArray[np.int64], ends: tuple[Array, Array], *, telescoping: bool
) -> Array:
    (count, length), features = opened.inputs.shape[:2], opened.inputs.ndim - 2
    steps, (without, whole) = np.arange(length), ends
    # Telescoping reads the first steps alone, 1 to T - 1 of them; occlusion all but one.
    runs = steps[1:] if telescoping else steps
    sequence, changed = (index.ravel() for index in np.indices((count, len(runs))))
    values = np.empty((len(sequence), outputs.shape[1]))
    for part in row_slices(opened, len(sequence)):
        rows, run = sequence[part], runs[changed[part], None]
        there = (steps < run if telescoping else steps != run).reshape(-1, length, *[1] * features)
        found = opened.run(np.where(there, opened.inputs[rows], absent[rows]), rows)
        values[part] = np.take_along_axis(found, outputs[rows], axis=1)
    between = values.reshape(count, len(runs), outputs.shape[1])
    if not telescoping:
        return whole[:, None] - between
    upto = np.concatenate([without[:, None], between, whole[:, None]], axis=1)
    # A masked step changes nothing but digits that are rounded.
    for t in steps[:0:-1]:
        upto[:, t] = np.where(opened.mask[:, t, None], upto[:, t], upto[:, t + 1])
    leading = ~np.logical_or.accumulate(opened.mask, axis=1)[:, :-1, None]
    upto[:, 1:-1] = np.where(leading, without[:, None], upto[:, 1:-1])
    return np.diff(upto, axis=1)
