r"""A smaller ISAN with nearly the same logits on texts: balanced truncation, weighted by these texts.

With p the mean of the states that some texts reach and C their covariance, and

    O = mean of  sum_k N_k N_k^T,     N_k = W_{x_{t-k+1}} ... W_{x_t} R_c,

over steps t of the texts, O says what a change of a state does to the logits now and later (R_c is the readout less its
mean over the outputs, as softmax sees it). Directions with much variance that hardly show in the logits may go, and so
may those that show but hardly vary. Balanced coordinates z = (s - p) P make both Gramians the same diagonal matrix,
whose entries, the singular values of O^{1/2} C^{1/2}, say what each coordinate is worth; the first ones are kept
(Moore, 1981). Afterwards the smaller network can be trained further, as any other.

What this leaves out: a guarantee for other texts. On the texts given the price is measured; for all words
`analysis.equivalent(network, truncated, tolerance=...)` has a bound, where there is one.

Reference: Moore, "Principal component analysis in linear systems", IEEE Trans. Automatic Control, 1981; for automata
Balle, Panangaden and Precup, "Singular value automata and approximate minimization", Math. Struct. Comp. Sci., 2019.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_softmax

from keras_interp_rnn._checks import is_integer
from keras_interp_rnn._network import check_range, isan_of, listed
from keras_interp_rnn._results import Unpackable
from keras_interp_rnn._types import Array
from keras_interp_rnn.affine import AffineMap
from keras_interp_rnn.analysis.weighted.forms import AffineForm, affine_form
from keras_interp_rnn.analysis.weighted.scaling import exactly_balanced
from keras_interp_rnn.equations import isan as equations


@dataclass(frozen=True, eq=False, repr=False)
class Truncation(Unpackable):
    r"""A smaller network, and what it costs. It unpacks into its layer and its readout.

    Attributes:
        layer: a built ISAN. readout: from its states to the outputs, `readout.apply(layer(symbols))`.
        units_before, units: of the network that was given, and of this one.
        singular_values: (units_before,), what each balanced coordinate is worth, in descending order; this network
            keeps the first ones.
        logit_error: root mean square difference of the logits, less their mean over the outputs, on the sequences.
        residual: largest such difference, in nats.
        bits_before, bits_after: bits per symbol of predicting the sequences; NaN where outputs are not the symbols.

    Example: see `truncate`.
    """

    layer: Any
    readout: AffineMap
    units_before: int
    units: int
    singular_values: Array
    logit_error: float
    residual: float
    bits_before: float
    bits_after: float

    def parts(self) -> tuple[Any, AffineMap]:
        """What it unpacks into: the layer and its readout."""
        return self.layer, self.readout


def truncate(
    network: Any,
    units: int,
    *,
    sequences: Iterable[ArrayLike],
    readout: Any = None,
    horizon: int = 60,
    max_steps: int = 256,
    dtype: str = "float64",
) -> Truncation:
    r"""An ISAN of fewer units that has nearly the same logits on some texts, without training.

    Args:
        network: a model of an ISAN, of a FactoredISAN or a linear recurrence over symbols, and a Dense head; a layer
            or a cell; or a pair (layer, readout).
        units: int > 0, at most those of the network.
        sequences: texts of ids such as the network will read, thousands of symbols altogether; one text is [text].
        readout: for a layer or a cell: its Dense head, or a pair (matrix, bias).
        horizon: how many symbols back the effect of a state on later logits is followed.
        max_steps: of how many steps, evenly spaced, the logits are followed back.
        dtype: of the new layer.

    Returns:
        `Truncation`: the layer, its readout, and the price on the sequences.

    Raises:
        ValueError: if the network is none of these, if it has fewer units, if there is no symbol, or one outside the
            vocabulary, if states leave the range of float64.

    Units: nats (logits) and bits per symbol.
    Exactness: none: logits differ by `residual` on the sequences. With all units that matter they are the same to
        rounding: directions without variance, and those that no logit shows, cost nothing to leave out.
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
    numbers = all(map(is_integer, (units, horizon, max_steps)))
    if not numbers or not 1 <= units <= form.units or horizon < 0 or max_steps < 1:
        raise ValueError(
            f"A network of {form.units} units is truncated to 1 to {form.units} units, with a horizon of at least 0 "
            f"and max_steps of at least 1, all integers. Received: units={units}, horizon={horizon}, "
            f"max_steps={max_steps}."
        )
    if not sum(map(len, texts)):
        raise ValueError("Truncation is weighted by texts. Received: no symbol. Pass sequences of ids.")
    states = [states_on(form, text) for text in texts]
    mean, covariance, seen = gramians(form, texts, states, horizon, max_steps)
    to, back, values = balancing(covariance, seen, units, 1e-14)
    small = AffineForm(
        (form.initial - mean) @ to,
        back @ form.kernel @ to,
        (mean @ form.kernel + form.bias - mean) @ to,
        back @ form.readout,
        mean @ form.readout + form.offset,
    )
    small = _padded(small, units)
    logits = [state @ form.readout + form.offset for state in states]
    others = [states_on(small, text) @ small.readout + small.offset for text in texts]
    gaps = np.concatenate([a - b for a, b in zip(logits, others, strict=True)])
    gaps -= gaps.mean(axis=1, keepdims=True) if form.num_outputs > 1 else 0.0
    layer = isan_of(small.kernel, small.bias, small.initial, dtype=dtype, return_sequences=form.return_sequences)
    return Truncation(
        layer,
        AffineMap(small.readout, small.offset),
        form.units,
        units,
        values,
        float(np.sqrt(np.mean(gaps**2))),
        float(np.abs(gaps).max(initial=0.0)),
        _bits(logits, texts, form.num_symbols),
        _bits(others, texts, form.num_symbols),
    )


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
    """The mean over steps of sum_k N_k N_k^T, back to the beginning of the text at most."""
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
    """G of a positive semidefinite matrix G G^T."""
    values, vectors = np.linalg.eigh(gramian)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))


def _padded(form: AffineForm, units: int) -> AffineForm:
    """With units that stay 0, where fewer are worth anything."""
    more = units - form.units
    return AffineForm(
        np.pad(form.initial, (0, more)),
        np.pad(form.kernel, ((0, 0), (0, more), (0, more))),
        np.pad(form.bias, ((0, 0), (0, more))),
        np.pad(form.readout, ((0, more), (0, 0))),
        form.offset,
    )


def _bits(logits: list[Array], texts: list[NDArray[np.int64]], num_symbols: int) -> float:
    """Mean -log2 of the softmax at each next symbol, the first one predicted from the initial state."""
    if logits[0].shape[1] != num_symbols:
        return float("nan")
    log_p = [log_softmax(one[:-1], axis=1)[np.arange(len(text)), text] for one, text in zip(logits, texts, strict=True)]
    return float(-np.concatenate(log_p).mean() / np.log(2))
