r"""The difference between the outputs of two affine networks: a bound for all words, or the largest on short words.

Side by side, two affine networks are one, with states [h, h'], readout [R; -R'] and offset c - c', whose outputs are
the differences. If the symbols contract the states, the lemma of `_bounds` bounds these on all words. Otherwise
rounding may grow without end along a word, no bound holds for all words, and all words up to a length are run.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from keras_interp_rnn._types import Array
from keras_interp_rnn.analysis.weighted import _bounds
from keras_interp_rnn.analysis.weighted.forms import AffineForm
from keras_interp_rnn.analysis.weighted.scaling import exactly_balanced, useful

SEARCHED = 1e6
"""Largest K n^3 for which a norm is searched in which the symbols contract: it takes a second or two."""

STATES, PRODUCTS = 10_000, 2e8
"""Maximum number of states and of multiplications when words are run."""

LONGEST = 100
"""Maximum length of the words that are run."""


def largest_difference(first: AffineForm, second: AffineForm) -> tuple[float, int | None]:
    """A bound on all words and None; or the largest difference on all words up to a length, and that length."""
    both, loose, units = side_by_side(first, second)
    # A symbol repeated without end contracts only if its eigenvalues do.
    if np.abs(np.linalg.eigvals(both.kernel[:, :units, :units])).max() < 1:
        search = both.num_symbols * max(units, both.units - units) ** 3 <= SEARCHED
        always = min(bound.always for bound in _bounds.bounds_of(both, units, loose, search=search))
        if np.isfinite(always):
            return always, None
    return on_short_words(first, second)


def on_short_words(first: AffineForm, second: AffineForm) -> tuple[float, int]:
    """The largest difference on all words up to a length, and that length: less than `LONGEST` for many words."""
    states = np.concatenate([first.initial, second.initial])[None]
    n, each = first.units, first.units**2 + second.units**2
    largest, tried, length = 0.0, 0, -1
    with np.errstate(all="ignore"):
        while len(states):
            outputs = states[:, :n] @ first.readout + first.offset, states[:, n:] @ second.readout + second.offset
            if not all(np.isfinite(part).all() for part in outputs):
                return (largest, length) if length > 0 else (np.inf, max(length, 0))
            largest, length = max(largest, float(np.abs(outputs[0] - outputs[1]).max(initial=0.0))), length + 1
            ahead = len(states) * first.num_symbols
            tried += ahead
            if length == LONGEST or (length > 0 and (tried > STATES or tried * each > PRODUCTS)):
                break
            steps = [
                (states[:, :n] @ a + b, states[:, n:] @ c + d)
                for a, b, c, d in zip(first.kernel, first.bias, second.kernel, second.bias, strict=True)
            ]
            # One of the words that lead to the same states suffices.
            states = np.unique(np.concatenate([np.concatenate(step, axis=1) for step in steps]), axis=0)
    return largest, length


def side_by_side(first: AffineForm, second: AffineForm, centred: bool = False) -> tuple[AffineForm, float, int]:
    """The network whose outputs are the differences, a bound of the rounding of its readout, and the first one's units.

    Units without effect are left out, and the others scaled to count alike: the function is exactly the same.

    Args:
        centred: whether the mean over outputs is subtracted.
    """
    one, other = useful(first), useful(second)
    both = exactly_balanced(
        AffineForm(
            np.concatenate([one.initial, other.initial]),
            block_diagonal(one.kernel, other.kernel),
            np.concatenate([one.bias, other.bias], axis=1),
            np.concatenate([one.readout, -other.readout]),
            first.offset - second.offset,
            rounding=_rounding(one, other),
            head_rounding=np.concatenate([_of_head(one), _of_head(other)]),
        )
    )
    computed = float(_of_head(both).max(initial=0.0))
    computed += max(float(_of_head(form).max(initial=0.0)) for form in (first, second))  # of the offset
    if not centred:
        return both, computed, one.units
    readout, offset = both.readout, both.offset
    largest = max(float(np.abs(readout).max(initial=0.0)), float(np.abs(offset).max()))
    loose = (len(offset) + 4) * _bounds.EPSILON * largest
    readout, offset = readout - readout.mean(axis=1, keepdims=True), offset - offset.mean()
    return replace(both, readout=readout, offset=offset), loose + 2 * computed, one.units


def _of_head(form: AffineForm) -> Array:
    return np.zeros_like(form.readout) if form.head_rounding is None else form.head_rounding


def _rounding(one: AffineForm, other: AffineForm) -> tuple[Array, Array] | None:
    """The rounding of the maps of both, side by side; None where both have the stored weights."""
    if one.rounding is None and other.rounding is None:
        return None
    pairs = [form.rounding or (np.zeros_like(form.kernel), np.zeros_like(form.bias)) for form in (one, other)]
    (kernel, bias), (of_other, bias_of_other) = pairs
    return block_diagonal(kernel, of_other), np.concatenate([bias, bias_of_other], axis=1)


def block_diagonal(first: Array, second: Array) -> Array:
    """(K, n + m, n + m) of (K, n, n) and (K, m, m)."""
    n, m = first.shape[1], second.shape[1]
    both = np.zeros((len(first), n + m, n + m))
    both[:, :n, :n], both[:, n:, n:] = first, second
    return both
