r"""The smallest ISAN with the same logits, by the spaces that symbols reach and that the readout sees.

Let p = h_0, and Q an orthonormal basis (rows) of the smallest space of directions that holds p W_x + b_x - p for every
x and that no W_x leaves: all states are p + u Q. Let V be an orthonormal basis (columns) of the smallest space that
holds the columns of Q R and that no Q W_x Q^T takes out of itself: all logits depend on u through u V alone. Then

    y = u V:      y_0 = 0,   W'_x = V^T Q W_x Q^T V,   b'_x = (p W_x + b_x - p) Q^T V,   R' = V^T Q R,   c' = p R + c

has the same logits, and no ISAN of fewer units has (docs/notes/weighted-automata.md). Ranks are numerical: directions
with a singular value below `tolerance` are left out, in coordinates in which all units move alike (`scaling.py`).
`residual` is the difference between the outputs of both networks.

Reference: Schuetzenberger, "On the definition of a family of automata", Information and Control, 1961, for linear
automata; the affine form is this package's.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from keras_interp_rnn._arrays import check_range
from keras_interp_rnn._checks import fraction
from keras_interp_rnn._network import isan_of
from keras_interp_rnn._results import Table
from keras_interp_rnn._types import Array
from keras_interp_rnn.affine import AffineMap
from keras_interp_rnn.analysis.weighted.differences import largest_difference
from keras_interp_rnn.analysis.weighted.forms import AffineForm, LayerAndReadout, affine_form
from keras_interp_rnn.analysis.weighted.scaling import exponents, scaled, without_rounding
from keras_interp_rnn.analysis.weighted.spaces import Space, backward_space, forward_space


@dataclass(frozen=True, eq=False, repr=False)
class Minimization(LayerAndReadout):
    r"""The smallest network with the same outputs. It unpacks into its layer and its readout.

    Attributes:
        layer: a built ISAN. readout: from its states to the outputs, `readout.apply(layer(symbols))`.
        units_before: of the original network.
        reachable: dimension of the space of states that the original network reaches, around the initial state.
        units: of the smallest network.
        tolerance: relative singular values at or below it counted as zero.
        smallest_kept, largest_dropped: the smallest relative singular value that counted and the largest that did not,
            over both steps. If they are close, the number of units depends on the tolerance.
        residual: largest difference between the outputs, computed in float64 with the new layer's weights rounded to
            its dtype. The layer itself also computes in that dtype.
        max_length: None if the residual is a proved bound for all words; otherwise the residual is the largest
            difference on all words of at most `max_length` symbols, run in float64.

    Units: of the outputs (nats, for logits).

    Example: see `minimize`.
    """

    units_before: int
    reachable: int
    units: int
    tolerance: float
    smallest_kept: float
    largest_dropped: float
    residual: float
    max_length: int | None

    def table(self) -> Table:
        """The sizes, the difference of the outputs, and the singular values at the cut."""
        words = "all words" if self.max_length is None else f"all words of at most {self.max_length} symbols"
        return Table(
            f"{self.units} of {self.units_before} units ({self.reachable} dimensions are reached): outputs differ by "
            f"at most {self.residual:.1e} on {words}; singular values kept from {self.smallest_kept:.1e}, dropped to "
            f"{self.largest_dropped:.1e}"
        )


def minimize(
    network: object, *, readout: object = None, tolerance: float = 1e-10, dtype: str = "float64"
) -> Minimization:
    r"""The ISAN with the fewest units that has the same logits on every text.

    Args:
        network: a model of an ISAN, of a FactoredISAN or a linear recurrence over symbols, and a Dense head; a layer
            or a cell; a pair (layer, readout); or a `WeightedAutomaton`, a `DFA`, a `Certificate` that holds.
        readout: for a layer or a cell: its Dense head, or a pair (matrix, bias); None reads the state.
        tolerance: in [0, 1). Singular values at or below it, relative to the norms of the mapped vectors, count as
            zero. They are computed in coordinates that remove the scales of the units. Pass 1e-6 for weights that were
            rounded to float32.
        dtype: of the new layer.

    Returns:
        `Minimization`: the layer, its readout, and the singular values that determined its size.

    Raises:
        ValueError: for any other network, or a tolerance outside [0, 1).

    Units: nats (logits), or those of the outputs of an automaton.
    Exactness: equal outputs except for rounding and the dropped directions. If the symbols contract the states,
        `residual` bounds the difference on all words; otherwise it is the largest difference on all words of at most
        `max_length` symbols. `analysis.equivalent(network, minimized)` proves equality to a tolerance, or finds a
        witness.
    Cost: O(K n^3).
    Example:

        >>> from keras_interp_rnn import analysis, automata
        >>> parity = automata.DFA([[0, 1], [1, 0]], accepting={1})
        >>> smallest = analysis.minimize(parity)  # the outputs are (1 - (-1)^t) / 2: one number and a constant
        >>> smallest.units_before, smallest.units, smallest.layer.units
        (2, 1, 1)

    Reference: Schuetzenberger, 1961; proof in docs/notes/weighted-automata.md.
    """
    tolerance = fraction("tolerance", tolerance)
    form = affine_form(network, readout)
    small, forward, backward = minimized(form, tolerance)
    readout_map = AffineMap(small.readout if small.units else np.zeros((1, small.num_outputs)), small.offset)
    layer = isan_of(small.kernel, small.bias, small.initial, dtype=dtype, return_sequences=form.return_sequences)
    residual, max_length = largest_difference(form, affine_form((layer, readout_map)))
    sizes = form.units, len(forward.basis), small.units
    cuts = min(forward.kept, backward.kept), max(forward.dropped, backward.dropped)
    return Minimization(layer, readout_map, *sizes, tolerance, *cuts, residual, max_length)


def minimized(form: AffineForm, tolerance: float) -> tuple[AffineForm, Space, Space]:
    """The smallest affine form, and the forward and the backward space in balanced coordinates."""
    with np.errstate(over="ignore", invalid="ignore"):
        moved = form.initial @ form.kernel + form.bias - form.initial
    check_range("The first states of a network", [moved])
    drift, kernel, readout, forward, backward = reduced(moved, form.kernel, form.readout, tolerance)
    small = replace(
        form, initial=np.zeros(len(readout)), kernel=kernel, bias=drift, readout=readout, offset=form.outputs([])
    )
    return small, forward, backward


def reduced(
    vectors: Array, kernel: Array, readout: Array, tolerance: float
) -> tuple[Array, Array, Array, Space, Space]:
    """Rows, matrices and columns with the same products v W_{x_1} ... W_{x_k} R, of the smallest size."""
    links = np.abs(kernel).max(axis=0)
    drift = without_rounding(np.abs(vectors).max(axis=0), links)
    seen = without_rounding(np.abs(readout).max(axis=1, initial=0.0), links.T)
    e = exponents(drift, links, seen, move_alike=True)
    vectors, kernel, readout = scaled(vectors, kernel, readout, e)
    forward = forward_space(vectors, kernel, tolerance)
    to = forward.basis.T
    reached, seen = forward.basis @ kernel @ to, forward.basis @ readout
    backward = backward_space(seen, reached, tolerance)
    view = backward.basis.T
    return vectors @ to @ view, backward.basis @ reached @ view, backward.basis @ seen, forward, backward


def constant_last(initial: Array, transitions: Array, final: Array, tolerance: float) -> tuple[Array, Array, Array]:
    """A smallest automaton; if a vector c is constant, A_x c = c for all x, c becomes the last coordinate, exactly.

    Of no state, the automaton of one state whose values are 0.
    """
    n = len(initial)
    if not n:
        return np.zeros(1), np.zeros((len(transitions), 1, 1)), np.zeros((1, final.shape[1]))
    off = (transitions - np.eye(n)).reshape(-1, n)
    _, values, directions = np.linalg.svd(off)
    constant = directions[-1]
    if values[-1] > max(tolerance, 1e-13) * max(1.0, values[0]) or not initial @ constant:
        return initial, transitions, final
    constant = constant / (initial @ constant)
    to = np.concatenate([directions[:-1], constant[None]]).T
    back = np.concatenate([directions[:-1], constant[None] / (constant @ constant)])
    initial, transitions, final = initial @ to, back @ transitions @ to, back @ final
    initial[-1], transitions[:, :, -1] = 1, np.eye(n)[-1]
    return initial, transitions, final
