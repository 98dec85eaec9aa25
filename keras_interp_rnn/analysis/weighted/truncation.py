r"""Balanced truncation, weighted by texts: a smaller ISAN with nearly the same logits on them.

With p the mean of the states that some texts reach and C their covariance, and

    O = mean of  sum_k N_k N_k^T,     N_k = W_{x_{t-k+1}} ... W_{x_t} R_c,

over steps t of the texts, O measures the effect of a change of a state on the logits now and later (R_c is the readout
less its mean over the outputs, as softmax does not depend on the mean). Directions with much variance that hardly show
in the logits may be dropped, and so may directions that show but hardly vary. Balanced coordinates z = (s - p) P make
both Gramians the same diagonal matrix, whose entries, the singular values of O^{1/2} C^{1/2}, measure the effect of
each coordinate; the largest ones stay (Moore, 1981). The smaller network can be trained further.

Limits: there is no guarantee for other texts. The error is measured on these texts; `analysis.equivalent(network,
truncated, tolerance=...)` may prove a bound for all words.

Reference: Moore, "Principal component analysis in linear systems", IEEE Trans. Automatic Control, 1981; for automata
Balle, Panangaden and Precup, "Singular value automata and approximate minimization", Math. Struct. Comp. Sci., 2019.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from keras_interp_rnn._arrays import check_range, listed
from keras_interp_rnn._checks import integer
from keras_interp_rnn._network import isan_of
from keras_interp_rnn._results import Table, line_chart, numbered, numbers
from keras_interp_rnn._types import Array
from keras_interp_rnn.affine import AffineMap
from keras_interp_rnn.analysis.statistics import cross_entropy_bits
from keras_interp_rnn.analysis.weighted.forms import AffineForm, LayerAndReadout, affine_form
from keras_interp_rnn.analysis.weighted.scaling import exactly_balanced
from keras_interp_rnn.equations import isan as equations


@dataclass(frozen=True, eq=False, repr=False)
class Truncation(LayerAndReadout):
    r"""A smaller network, and its errors. It unpacks into its layer and its readout.

    Attributes:
        layer: a built ISAN. readout: from its states to the outputs, `readout.apply(layer(symbols))`.
        units_before, units: of the original and of the smaller network.
        singular_values: (units_before,), the effect of each balanced coordinate, in descending order; the smaller
            network has the first `units`.
        logit_error: root mean square difference of the logits, minus their mean over the outputs, on the sequences.
        residual: largest such difference, in nats.
        bits_before, bits_after: bits per symbol of predicting the sequences; NaN if the outputs are not the symbols.

    Example: see `truncate`.
    """

    units_before: int
    units: int
    singular_values: Array
    logit_error: float
    residual: float
    bits_before: float
    bits_after: float

    def table(self) -> Table:
        """The sizes and the errors; a row for each singular value."""
        bits = f"; {self.bits_before:.4f} bits per symbol became {self.bits_after:.4f}"
        values = numbers("singular value", self.singular_values, ".4g")
        drawn = (lambda: line_chart([self.singular_values], ["singular value"], x="coordinate"),)
        return Table(
            f"{self.units} of {self.units_before} units: logits differ by {self.logit_error:.2g} nats (root mean "
            f"square), at most {self.residual:.2g}, on the sequences; nothing is proved of others"
            f"{'' if math.isnan(self.bits_before) else bits}",
            (numbered("coordinate", len(self.singular_values)), values),
            folded=True,
            drawings=drawn if len(self.singular_values) > 1 else (),
        )


def truncate(
    network: object,
    units: int,
    *,
    sequences: Iterable[ArrayLike],
    readout: object = None,
    horizon: int = 60,
    max_steps: int = 256,
    dtype: str = "float64",
) -> Truncation:
    r"""An ISAN with fewer units that has nearly the same logits on some texts, found without training.

    Args:
        network: a model of an ISAN, a FactoredISAN or a linear recurrence over symbols, and a Dense head; a layer or a
            cell; or a pair (layer, readout).
        units: int > 0, number of units of the smaller network, at most as many as the network has.
        sequences: texts of ids like those that the network will read, thousands of symbols in all; one text is [text].
        readout: for a layer or a cell: its Dense head, or a pair (matrix, bias).
        horizon: number of symbols over which the effect of a state on later logits is followed.
        max_steps: maximum number of steps, evenly spaced, whose logits count.
        dtype: of the new layer.

    Returns:
        `Truncation`: the layer, its readout, and the errors on the sequences.

    Raises:
        ValueError: for any other network, if it has fewer units, if there is no symbol, or one outside the vocabulary,
            or if states leave the range of float64.

    Units: nats (logits) and bits per symbol.
    Exactness: approximate; logits differ by up to `residual` on the sequences. Nothing is proved of other texts:
        `analysis.equivalent(network, truncated, tolerance=...)` may find a bound for all words, or none, even if the
        states contract. Only directions without variance, and
        directions that affect no logit, are removed exactly, to rounding.
    Cost: O(T n^2 + max_steps horizon n^2 outputs + K n^3).
    Example:

        >>> from keras_interp_rnn import analysis, layers
        >>> model = keras.Sequential([keras.Input((None,), dtype="int32"), layers.ISAN(8, 3), keras.layers.Dense(3)])
        >>> small = analysis.truncate(model, 5, sequences=[np.random.default_rng(0).integers(3, size=500)])
        >>> small.layer.units, small.readout.matrix.shape, small.singular_values.shape
        (5, (5, 3), (8,))

    Reference: Moore, 1981; Balle, Panangaden and Precup, 2019.
    """
    form = exactly_balanced(affine_form(network, readout))
    texts = [form.ids(sequence) for sequence in listed("Texts", sequences)]
    units = integer("units", units, remedy=f"The network has {form.units} units.", below=form.units + 1)
    horizon, max_steps = integer("horizon", horizon, 0), integer("max_steps", max_steps)
    if not sum(map(len, texts)):
        raise ValueError("`sequences` must have at least one symbol. Received: no symbol. Pass sequences of ids.")
    states = [states_on(form, text) for text in texts]
    mean, covariance, seen = gramians(form, texts, states, horizon, max_steps)
    to, back, values = balancing(covariance, seen, units, 1e-14)
    beyond = units - to.shape[1]  # units beyond the rank stay 0
    to, back = np.pad(to, ((0, 0), (0, beyond))), np.pad(back, ((0, beyond), (0, 0)))
    small = AffineForm(
        (form.initial - mean) @ to,
        back @ form.kernel @ to,
        (mean @ form.kernel + form.bias - mean) @ to,
        back @ form.readout,
        mean @ form.readout + form.offset,
    )
    logits = [state @ form.readout + form.offset for state in states]
    others = [states_on(small, text) @ small.readout + small.offset for text in texts]
    gaps = np.concatenate([a - b for a, b in zip(logits, others, strict=True)])
    gaps -= gaps.mean(axis=1, keepdims=True) if form.num_outputs > 1 else 0.0
    layer = isan_of(small.kernel, small.bias, small.initial, dtype=dtype, return_sequences=form.return_sequences)
    errors = float(np.sqrt(np.mean(gaps**2))), float(np.abs(gaps).max(initial=0.0))
    bits = (_bits(each, texts, form.num_symbols) for each in (logits, others))
    return Truncation(layer, AffineMap(small.readout, small.offset), form.units, units, values, *errors, *bits)


def gramians(
    form: AffineForm, texts: list[NDArray[np.int64]], states: list[Array], horizon: int, max_steps: int
) -> tuple[Array, Array, Array]:
    """The mean p (n,) of the states on the texts, and the Gramians C and O (n, n); ValueError if one is not finite."""
    view = form.readout - form.readout.mean(axis=1, keepdims=True) if form.num_outputs > 1 else form.readout
    with np.errstate(all="ignore"):
        covariance, mean = _covariance(states)
        seen = _observability(form.kernel, view, texts, horizon, max_steps)
    check_range("The states on the sequences and their effects", (covariance, seen))
    return mean, covariance, seen


def balancing(covariance: Array, seen: Array, units: int, tolerance: float) -> tuple[Array, Array, Array]:
    """P (n, m), its left inverse (m, n), and all n singular values.

    There are m = `units` coordinates; fewer if fewer singular values are above the tolerance, relative to the largest.
    """
    varies, shows = _root(covariance), _root(seen)
    left, values, right = np.linalg.svd(shows.T @ varies)
    kept = int(min(units, (values > tolerance * values.max(initial=0.0)).sum()))
    scale = np.sqrt(values[:kept])
    return shows @ left[:, :kept] / scale, (varies @ right[:kept].T / scale).T, values


def states_on(form: AffineForm, text: NDArray[np.int64]) -> Array:
    """The states after 0, ..., T symbols."""
    with np.errstate(all="ignore"):
        return np.array([form.initial, *equations.states(np, form.kernel, form.bias, form.initial, text)])


def _covariance(states: list[Array]) -> tuple[Array, Array]:
    every = np.concatenate(states)
    mean = every.mean(axis=0)
    return (every - mean).T @ (every - mean) / len(every), mean


def _observability(kernel: Array, view: Array, texts: list[NDArray[np.int64]], horizon: int, max_steps: int) -> Array:
    """The mean over steps of sum_k N_k N_k^T, at most back to the beginning of the text."""
    ends = [(text, t) for text in texts for t in range(len(text) + 1)]
    chosen = [ends[i] for i in np.unique(np.linspace(0, len(ends) - 1, min(max_steps, len(ends))).astype(int))]
    total = np.zeros((len(view),) * 2)
    for text, t in chosen:
        columns = [view]
        for k in range(1, min(horizon, t) + 1):
            columns.append(kernel[text[t - k]] @ columns[-1])
        together = np.concatenate(columns, axis=1)
        total += together @ together.T
    return total / len(chosen)


def _root(gramian: Array) -> Array:
    """G with G G^T a positive semidefinite matrix."""
    values, vectors = np.linalg.eigh(gramian)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))


def _bits(logits: list[Array], texts: list[NDArray[np.int64]], num_symbols: int) -> float:
    """Mean cross-entropy of each next symbol, the first one predicted from the initial state."""
    if logits[0].shape[1] != num_symbols:
        return float("nan")
    bits = [cross_entropy_bits(one[:-1], text) for one, text in zip(logits, texts, strict=True)]
    return float(np.concatenate(bits).mean())
