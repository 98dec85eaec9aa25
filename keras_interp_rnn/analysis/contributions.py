r"""Every logit of an input-switched affine network, split exactly among the symbols read so far.

The state is affine in its history, so the logits are a sum with one term per source (Foerster et al., ICML 2017,
eqs. 4 to 6):

    l_t = c + sum_{s=0}^{t} kappa_s^t,        kappa_s^t = b_{x_s} W_{x_{s+1}} ... W_{x_t} R,        b_{x_0} = h_0.

All terms of step t come from those of step t - 1 by one product with W_{x_t}: O(T^2 n^2) for T symbols.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from keras_interp_rnn.analysis._weights import affine_readout, checked_symbols, isan_weights
from keras_interp_rnn.equations import isan as equations

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Contributions:
    r"""Terms $\kappa_s^t$ of every logit of one text.

    Attributes:
        symbols: (T,), the text.
        values: (T + 1, T, outputs); `values[s, t - 1]` is $\kappa_s^t$: source s = 0 is the initial state, s >= 1
            the s-th symbol; zero where s > t.
        bias: (outputs,), the readout's own bias, the same at every step.
        logits: (T, outputs), from running the recurrence forward, not from `values`.
        residual: largest |bias + sum of values over sources - logits|, in logits; rounding, about 1e-15 relative.

    Units: nats (logits).
    """

    symbols: NDArray[np.int64]
    values: Array
    bias: Array
    logits: Array
    residual: float

    def without(self, sources: Collection[int]) -> Array:
        """Logits (T, outputs) the network would have put out had these sources contributed nothing.

        Args:
            sources: numbers in [0, T]; 0 is the initial state.
        """
        return self.logits - self.values[sorted(set(sources))].sum(axis=0)


def contributions(layer: Any, symbols: ArrayLike, readout: Any = None) -> Contributions:
    r"""Splits the logits of one text among its symbols and the initial state.

    Args:
        layer: a model of an ISAN and a linear Dense head, which is found; or an ISAN layer or cell.
        symbols: int (T,), one text, read from the learned initial state.
        readout: for a layer: its Dense head, or a pair (matrix (n, outputs), bias (outputs,)); None splits the
            state itself.

    Returns:
        `Contributions`; T + 1 sources, T targets: 8 (T + 1) T outputs bytes.

    Raises:
        ValueError: if there is no ISAN, if the head is not linear, or if a symbol is outside the vocabulary.

    Units: nats (logits).
    Exactness: the terms sum to the logits; `residual` reports by how much they miss (float64 rounding).
    Reference: Foerster et al., ICML 2017, eqs. 4 to 6.
    """
    weights = isan_weights(layer)
    head = affine_readout(layer, readout)
    text = checked_symbols(symbols, len(weights.kernel))
    steps, outputs = len(text), head.matrix.shape[1]
    values = np.zeros((steps + 1, steps, outputs))
    for t, terms in enumerate(equations.sources(np, *weights, text)):
        values[: t + 2, t] = terms @ head.matrix
    states = np.array(list(equations.states(np, *weights, text))).reshape(steps, len(weights.initial_state))
    logits = equations.logits(np, head.matrix, head.offset, states)
    residual = np.abs(head.offset + values.sum(axis=0) - logits).max(initial=0.0)
    return Contributions(text, values, head.offset, logits, float(residual))
