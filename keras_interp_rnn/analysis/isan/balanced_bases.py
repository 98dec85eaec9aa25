r"""Balanced coordinates of an ISAN: those that its outputs and some texts determine.

No output of an ISAN determines the coordinates of its states: $h \mapsto h T$ changes none (docs/notes/origin.md). But
norms, angles, singular values and principal directions are properties of coordinates. The coordinates in which the two
Gramians of `truncation` are one diagonal matrix are unique, up to the signs of the axes.

Reference: Moore, "Principal component analysis in linear systems", IEEE Trans. Automatic Control, 1981.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike

from keras_interp_rnn._arrays import listed
from keras_interp_rnn._checks import integer
from keras_interp_rnn.affine import AffineMap
from keras_interp_rnn.analysis.isan.bases import Basis
from keras_interp_rnn.analysis.weighted.forms import affine_form
from keras_interp_rnn.analysis.weighted.truncation import balancing, gramians, states_on

REDUNDANT = 1e-9
"""A coordinate whose singular value is below this times the largest is taken for redundant."""


def balanced_basis(
    network: object,
    *,
    sequences: Iterable[ArrayLike],
    readout: object = None,
    horizon: int = 60,
    max_steps: int = 256,
) -> Basis:
    r"""Coordinates in which each direction varies on some texts as much as it affects the logits.

    With $m$ the mean of the states that the texts reach, $C$ their covariance and $O$ the mean over steps of
    $\sum_k N_k N_k^T$, $N_k = W_{x_{t-k+1}} \cdots W_{x_t} R_c$, coordinates are $z = (h - m) P$ with

    $$P^T C P = P^{-1} O P^{-T} = \Sigma, \qquad \Sigma = \operatorname{diag}(\sigma_1 \ge \sigma_2 \ge \dots),$$

    where $\sigma$ are the singular values of $O^{1/2} C^{1/2}$ and $R_c$ is the readout less its mean over the outputs.

    **They are unique up to signs** if the singular values are distinct and not 0: whatever the coordinates of the
    network, the result is the same network. *Proof.* $C$ and $O$ of a network in coordinates $h T$ are $T^T C T$ and
    $T^{-1} O T^{-T}$. Let two results differ by $T$. Both Gramians are $\Sigma$ in both, so $\Sigma = T^T \Sigma T$ and
    $\Sigma = T \Sigma T^T$, that is $\Sigma T = T^{-T} \Sigma$ and $\Sigma T^{-T} = T \Sigma$. Then $\Sigma^2 T =
    \Sigma T^{-T} \Sigma = T \Sigma^2$: T commutes with a diagonal matrix of distinct entries, so it is diagonal; and by
    $\Sigma = T^T \Sigma T$ its entries are 1 or -1. $\square$

    Args:
        network: a model of an ISAN and a Dense head; or an ISAN layer.
        sequences: texts of ids such as the network reads, thousands of symbols altogether; one text is [text].
        readout: for a layer: its Dense head, or a pair (matrix, bias).
        horizon: number of symbols over which the effect of a state on later logits is followed.
        max_steps: number of steps, evenly spaced, whose logits count.

    Returns:
        `Basis` with n coordinates, the largest singular value first; `num_readout` is 0. Pass it to `change_basis`, and
        the resulting network to any analysis.

    Raises:
        ValueError: if there is no such network, no symbol, or one outside the vocabulary; if states leave the range of
            float64; if a coordinate does not vary on the texts or does not affect the logits.

    Exactness: `change_basis` gives the same outputs for every text, to rounding, which its `residual` reports.
    Cost: O(T n^2 + max_steps horizon n^2 outputs + K n^3).
    Example:

        >>> from keras_interp_rnn import analysis, layers
        >>> model = keras.Sequential([keras.Input((None,), dtype="int32"), layers.ISAN(5, 3), keras.layers.Dense(3)])
        >>> basis = analysis.balanced_basis(model, sequences=[np.random.default_rng(0).integers(3, size=500)])
        >>> layer, readout = analysis.change_basis(model, basis)
        >>> layer.units, basis.names[0]
        (5, 'balanced 0')

    Reference: Moore, 1981.
    """
    form = affine_form(network, readout)
    texts = [form.ids(sequence) for sequence in listed("Texts", sequences)]
    horizon, max_steps = integer("horizon", horizon, 0), integer("max_steps", max_steps)
    if not sum(map(len, texts)):
        raise ValueError("`sequences` must have at least one symbol. Received: no symbol. Pass sequences of ids.")
    mean, covariance, seen = gramians(form, texts, [states_on(form, text) for text in texts], horizon, max_steps)
    # In units of their own deviation, so that the size of a unit does not decide what is rounded.
    deviation = np.sqrt(np.diagonal(covariance))
    units = np.where(deviation > 0, deviation, 1.0)
    to, back, values = balancing(
        covariance / np.outer(units, units), seen * np.outer(units, units), form.units, REDUNDANT
    )
    if missing := form.units - len(back):
        sizes = np.array2string(values[-missing:], precision=1)
        raise ValueError(
            "Each coordinate of a balanced basis must vary on the texts and show in the logits. Received: "
            f"{missing} of {form.units} that do not (singular values {sizes}). Pass more text, or minimize or truncate "
            "the network first."
        )
    names = tuple(f"balanced {i}" for i in range(form.units))
    to = to / units[:, None]
    return Basis(AffineMap(to, -mean @ to), AffineMap(back * units, mean), 0, names)
