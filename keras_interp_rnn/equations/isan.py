r"""Input-switched affine networks: Foerster et al., "Input Switched Affine Networks", ICML 2017, arXiv:1611.09434.

States are rows, so each matrix here is the transpose of the paper's (docs/conventions.md). With kernel $W$ (K, n, n),
bias $b$ (K, n), readout $R$ (n, outputs) and readout bias $c$:

    eq. 1        h_t = h_{t-1} W_{x_t} + b_{x_t}
    eq. 3        l_t = h_t R + c
    eqs. 4-6     l_t = c + sum_{s=0}^{t} kappa_s^t,   kappa_s^t = b_{x_s} W_{x_{s+1}} ... W_{x_t} R,   b_{x_0} = h_0

(The remark under eq. 6, kappa_t^t = b_{x_t}, omits the readout; eq. 6 itself gives b_{x_t} R.)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from keras_interp_rnn._types import ArrayModule, Tensor
from keras_interp_rnn.equations._cell import CellEquations, Drive, LinearStep, States, Step


@dataclass(frozen=True)
class ISAN(CellEquations):
    """The equations of an ISAN, eq. 1, for symbols, int (...), or distributions over them (..., K).

    Attributes:
        kernel: (K, n, n). bias: (K, n).
    """

    kernel: Tensor
    bias: Tensor

    def drive(self, xp: ArrayModule, inputs: Tensor) -> Drive:
        return (inputs,)

    def step(self, xp: ArrayModule, states: States, drive: Drive) -> Step:
        [state], [now] = states, drive
        are_symbols = len(now.shape) < len(state.shape)
        return Step(((step if are_symbols else expected_step)(xp, self.kernel, self.bias, state, now),), {})

    def linearization(self, xp: ArrayModule, states: States, drive: Drive) -> LinearStep:
        """The step is linear already; column k of its derivative by the distribution is h W_k + b_k."""
        [state], [now] = states, drive
        are_symbols = len(now.shape) < len(state.shape)
        kernel = xp.take(self.kernel, now, axis=0) if are_symbols else xp.einsum("bk,knm->bnm", now, self.kernel)

        def into_distribution(product: Tensor) -> Tensor:
            columns = xp.einsum("bn,knm->bmk", state, self.kernel) + xp.transpose(self.bias)
            return xp.matmul(product, columns)

        return LinearStep(lambda product: xp.matmul(product, xp.transpose(kernel, (0, 2, 1))), into_distribution)


def step(xp: ArrayModule, kernel: Tensor, bias: Tensor, state: Tensor, symbols: Tensor) -> Tensor:
    """A step, eq. 1, of a batch: state (batch, n), symbols int (batch,) -> (batch, n)."""
    matrices = xp.take(kernel, symbols, axis=0)
    return xp.matmul(state[:, None, :], matrices)[:, 0, :] + xp.take(bias, symbols, axis=0)


def expected_step(xp: ArrayModule, kernel: Tensor, bias: Tensor, state: Tensor, distribution: Tensor) -> Tensor:
    """Eq. 1 averaged over the next symbol, sum_k p_k (h W_k + b_k): distribution p (batch, K) -> (batch, n)."""
    images = xp.einsum("bn,knm->bkm", state, kernel) + bias
    return xp.einsum("bk,bkm->bm", distribution, images)


def states(xp: ArrayModule, kernel: Tensor, bias: Tensor, initial_state: Tensor, symbols: Tensor) -> Iterator[Tensor]:
    """Eq. 1 along one text: initial_state (n,), symbols int (time,); yields h_1, ..., h_T."""
    state = initial_state
    for symbol in symbols:
        state = xp.matmul(state, kernel[symbol]) + bias[symbol]
        yield state


def sources(xp: ArrayModule, kernel: Tensor, bias: Tensor, initial_state: Tensor, symbols: Tensor) -> Iterator[Tensor]:
    """Eq. 4 along one text: for t = 1, ..., T yields (t + 1, n), whose rows are the terms s = 0, ..., t of h_t.

    Row 0 belongs to the initial state, row s to the symbol read at step s. Row s of step t is row s of step t - 1
    times W_{x_t}.
    """
    terms = initial_state[None, :]
    for symbol in symbols:
        terms = xp.concatenate([xp.matmul(terms, kernel[symbol]), bias[symbol][None, :]], axis=0)
        yield terms


def sources_seen(
    xp: ArrayModule, kernel: Tensor, bias: Tensor, initial_state: Tensor, symbols: Tensor, readout: Tensor
) -> Tensor:
    """Eqs. 4 to 6 for the last step alone, from its end: (T + 1, outputs), whose rows are the terms of one logit.

    `sources` takes O(T^2 n^2) for all steps; this takes O(T n^2 outputs).
    """
    terms = []
    for symbol in symbols[::-1]:
        terms.append(xp.matmul(bias[symbol], readout))
        readout = xp.matmul(kernel[symbol], readout)
    return xp.stack([xp.matmul(initial_state, readout), *terms[::-1]])


def logits(xp: ArrayModule, readout: Tensor, readout_bias: Tensor, state: Tensor) -> Tensor:
    """Eq. 3: (..., n) -> (..., outputs)."""
    return xp.matmul(state, readout) + readout_bias
