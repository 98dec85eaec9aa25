r"""Coordinates in which all units of an affine network count alike: scales are powers of two, which round nothing.

The scale of a unit is arbitrary: the states h_i d_i, with the rows of W and R divided by d_i, are the same network.
Before singular values are compared, units are scaled so that the largest weight into each from other units (or its
drift, relative to the largest drift) equals the largest weight out of it (or its readout, relative to the largest),
after Osborne (1960). The start, sqrt(o_i / r_i) with r_i how far the shortest words move the unit and o_i how much of
it the shortest words show, is in proportion to any scale of the unit, and so is every step. Networks that differ by a
diagonal change of coordinates therefore become the same, but for the powers of two. If a tolerance decides which units
are left out, each unit is finally scaled so that the largest weight into it is the largest weight of all: its effect on
the outputs is then in the weights out of it alone.

Reference: Osborne, "On pre-conditioning of matrices", Journal of the ACM, 1960.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from keras_interp_rnn._types import Array
from keras_interp_rnn.analysis.weighted.forms import AffineForm

SWEEPS = 50
"""Maximum number of rounds."""

ROUNDED = 8 * float(np.finfo(np.float64).eps)
"""Fraction of a size up to which it may be the rounding of a 0."""

CLOSE = 0.25
"""Bits by which a unit may remain out of balance."""


def exactly_balanced(form: AffineForm) -> AffineForm:
    """The same network with units that count alike; unchanged if a weight would leave the range of float64."""
    size = np.abs(form.kernel)
    with np.errstate(all="ignore"):
        moved = np.abs(form.initial @ form.kernel + form.bias - form.initial)
        # If a symbol moves a unit by less than the rounding of its state, the rounding counts.
        rounded = np.abs(form.initial) @ size + np.abs(form.bias) + np.abs(form.initial)
        drift = (moved + np.finfo(np.float64).eps * rounded).max(axis=0)
    if not np.isfinite(drift).all():
        return form
    e = exponents(drift, size.max(axis=0), np.abs(form.readout).max(axis=1, initial=0.0))
    before = np.concatenate([form.initial[None], form.bias]), form.kernel, form.readout
    after = scaled(*before, e)
    if not all(np.array_equal(a, b) for a, b in zip(before, scaled(*after, -e), strict=True)):
        return form
    rows, kernel, readout = after
    off, of_head = form.rounding, form.head_rounding
    if off is not None:
        of_bias, of_kernel, _ = scaled(off[1], off[0], form.readout, e)
        off = of_kernel, of_bias
    if of_head is not None:
        *_, of_head = scaled(form.bias, form.kernel, of_head, e)
    found = replace(form, initial=rows[0], kernel=kernel, bias=rows[1:], readout=readout)
    return replace(found, rounding=off, head_rounding=of_head)


def scaled(rows: Array, kernel: Array, readout: Array, exponents: NDArray[np.int32]) -> tuple[Array, Array, Array]:
    """Rows v, matrices W and columns R of a network in the coordinates h_i 2^e_i."""
    e = exponents
    with np.errstate(over="ignore", under="ignore"):
        return np.ldexp(rows, e), np.ldexp(kernel, e - e[:, None]), np.ldexp(readout, -e[:, None])


def useful(form: AffineForm) -> AffineForm:
    """The same network without units that stay 0 on all words or that no output ever sees; one unit remains."""
    edges = (form.kernel != 0).any(axis=0)
    moves = closed((form.initial != 0) | (form.bias != 0).any(axis=0), edges)
    used = np.flatnonzero(moves & closed((form.readout != 0).any(axis=1), edges.T))
    if len(used) == form.units:
        return form
    if not len(used):
        used, form = np.arange(1), replace(form, initial=np.zeros(form.units), bias=np.zeros_like(form.bias))
    off = form.rounding
    return replace(
        form,
        initial=form.initial[used],
        kernel=form.kernel[:, used[:, None], used],
        bias=form.bias[:, used],
        readout=form.readout[used],
        rounding=None if off is None else (off[0][:, used[:, None], used], off[1][:, used]),
        head_rounding=None if form.head_rounding is None else form.head_rounding[used],
    )


def closed(units: NDArray[np.bool_], edges: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """These units and all units to which edges lead from them."""
    while (more := units | edges[units].any(axis=0)).sum() > units.sum():
        units = more
    return units


def exponents(drift: Array, links: Array, seen: Array, *, move_alike: bool = False) -> NDArray[np.int32]:
    """The exponents e (n,) of coordinates h_i 2^e_i in which units count alike.

    Args:
        drift: (n,), >= 0, the largest first step of each unit. links: (n, n), the largest weights from unit to unit.
            seen: (n,), the largest weights in the readout.
        move_alike: whether every unit moves by as much as the largest.
    """
    with np.errstate(divide="ignore"):
        drift, links, seen = np.log2(drift), np.log2(links), np.log2(seen)
    reach, show = _by_shortest(drift, links), _by_shortest(seen, links.T)
    x = _half_way(show, reach, 0.0)
    apart = links.copy()
    np.fill_diagonal(apart, -np.inf)
    for _ in range(SWEEPS if len(x) else 0):
        largest = (links + x - x[:, None]).max()
        largest = largest if np.isfinite(largest) else 0.0
        into = np.maximum((apart + x - x[:, None]).max(axis=0), _relative(drift + x, largest))
        out = np.maximum((apart + x - x[:, None]).max(axis=1), _relative(seen - x, largest))
        off = _half_way(out, into, largest)
        x = x + off / 2  # half of the way, as two units may compensate for each other
        if np.abs(off).max() < CLOSE:
            break
    if move_alike and len(x):
        x = x + np.where(np.isfinite(into), largest - into, 0.0)
    return np.rint(x).astype(np.int32)


def without_rounding(sizes: Array, links: Array) -> Array:
    """Sizes (n,), set to 0 if they are below the rounding of the sizes that longer paths of links bring to their units.

    Such a number is the rounding of a 0. As the size of its unit it would be wrong by many orders of magnitude.
    """
    growth = float(np.abs(np.linalg.eigvals(links)).max(initial=0.0))
    if not (np.isfinite(growth) and growth > 0):
        return sizes
    ahead, longer = sizes, np.zeros_like(sizes)
    with np.errstate(over="ignore", invalid="ignore"):
        for _ in range(len(sizes)):
            ahead = ahead @ (links / growth)
            longer = np.fmax(longer, ahead)
    return np.where(sizes > ROUNDED * longer, sizes, 0.0)


def _half_way(out: Array, into: Array, largest: float) -> Array:
    """(out - into) / 2; if one of them is missing, the way of the other to `largest`; if both are, 0."""
    filled = np.where(np.isfinite(out), out, 2 * largest - into), np.where(np.isfinite(into), into, 2 * largest - out)
    with np.errstate(invalid="ignore"):
        return np.nan_to_num((filled[0] - filled[1]) / 2)


def _relative(sizes: Array, largest: float) -> Array:
    top = sizes.max(initial=-np.inf)
    return sizes - top + largest if np.isfinite(top) else sizes


def _by_shortest(start: Array, links: Array) -> Array:
    """The largest product, as log2, along the shortest paths to each unit; -infinity if there is no path."""
    found, fresh = start, np.isfinite(start)
    while fresh.any():
        ahead = (found[fresh, None] + links[fresh]).max(axis=0)
        fresh = np.isfinite(ahead) & ~np.isfinite(found)
        found = np.where(fresh, ahead, found)
    return found
