"""Random affine networks in other coordinates, in another order, with useless units."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from keras_interp_rnn.automata import WeightedAutomaton
from keras_interp_rnn.layers import ISAN
from tests.oracles import weighted_automata as oracle


class Network(NamedTuple):
    """Weights with states as rows."""

    kernel: np.ndarray  # (K, n, n)
    bias: np.ndarray  # (K, n)
    initial: np.ndarray  # (n,)
    readout: np.ndarray  # (n, outputs)
    offset: np.ndarray  # (outputs,)

    @property
    def units(self) -> int:
        return len(self.initial)

    def oracle(self):
        """initial, matrices and final of the textbook, states as columns."""
        return oracle.of_isan(np.swapaxes(self.kernel, 1, 2), self.bias, self.initial, self.readout.T, self.offset)

    def outputs(self, word) -> np.ndarray:
        return oracle.value(*self.oracle(), word)

    def all_outputs(self, words) -> np.ndarray:
        """(words, outputs)."""
        weights = self.oracle()
        return np.array([oracle.value(*weights, word) for word in words])

    def pair(self) -> tuple[Any, tuple[np.ndarray, np.ndarray]]:
        """The layer and its readout."""
        layer = ISAN(self.units, len(self.kernel), dtype="float64", recurrent_constraint=None)
        layer.build((None, None))
        layer.set_weights([self.kernel, self.bias, self.initial])
        return layer, (self.readout, self.offset)

    def automaton(self) -> WeightedAutomaton:
        """The same as a weighted automaton, which is made without Keras."""
        initial, matrices, final = self.oracle()
        return WeightedAutomaton(initial, np.swapaxes(matrices, 1, 2), final.T)

    def in_basis(self, matrix: np.ndarray) -> Network:
        """z = h matrix."""
        back = np.linalg.inv(matrix)
        return Network(
            back @ self.kernel @ matrix, self.bias @ matrix, self.initial @ matrix, back @ self.readout, self.offset
        )

    def permuted(self, order: np.ndarray) -> Network:
        """Units in another order: the same numbers."""
        return Network(
            self.kernel[:, order][:, :, order],
            self.bias[:, order],
            self.initial[order],
            self.readout[order],
            self.offset,
        )

    def padded(self, rng: np.random.Generator, unreachable: int, unseen: int, gain: float = 0.5) -> Network:
        """With units that no symbol moves from 0, which the others read, and units that others move and none reads."""
        n, symbols = self.units, len(self.kernel)
        size = n + unreachable + unseen
        kernel = rng.normal(size=(symbols, size, size)) * gain / np.sqrt(size)
        bias, initial = rng.normal(size=(symbols, size)), rng.normal(size=size)
        reach, sight = slice(n, n + unreachable), slice(n + unreachable, size)
        kernel[:, :n, :n], bias[:, :n], initial[:n] = self.kernel, self.bias, self.initial
        kernel[:, :n, reach] = kernel[:, sight, reach] = 0
        bias[:, reach] = initial[reach] = 0
        kernel[:, sight, :n] = 0
        readout = rng.normal(size=(size, self.readout.shape[1]))
        readout[:n], readout[sight] = self.readout, 0
        return Network(kernel, bias, initial, readout, self.offset)

    def changed(self, rng: np.random.Generator, by: float) -> Network:
        """With one entry of one matrix changed."""
        kernel = self.kernel.copy()
        kernel[tuple(rng.integers(size) for size in kernel.shape)] += by
        return self._replace(kernel=kernel)


def gramians(weights: Any, texts: Any, horizon: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Covariance of the states after every prefix, the effect of a state on the logits there, and the mean state."""
    kernel, bias, initial, readout = weights
    states, effects = [], np.zeros((len(initial),) * 2)
    centred = readout - readout.mean(axis=1, keepdims=True)
    for text in texts:
        for t in range(len(text) + 1):
            state = initial
            for symbol in text[:t]:
                state = state @ kernel[symbol] + bias[symbol]
            states.append(state)
            for k in range(min(t, horizon) + 1):
                effect = centred
                for symbol in reversed(text[t - k : t]):
                    effect = kernel[symbol] @ effect
                effects += effect @ effect.T
    return np.cov(np.array(states).T, bias=True), effects / len(states), np.mean(states, axis=0)


def stored(pair: Any) -> Network:
    """The weights of a layer and its readout as they are stored, in float64."""
    layer, readout = pair
    cell = layer.cell
    weights = (np.asarray(w, np.float64) for w in (cell.recurrent_kernel, cell.bias, cell.initial_state))
    return Network(*weights, readout.matrix, readout.offset)


def drawn(seed: int = 0, units: int = 5, symbols: int = 3, outputs: int = 4, gain: float = 0.5) -> Network:
    """Dense and asymmetric; matrices contract for a gain below a half."""
    rng = np.random.default_rng(seed)
    return Network(
        rng.normal(size=(symbols, units, units)) * gain / np.sqrt(units),
        rng.normal(size=(symbols, units)),
        rng.normal(size=units),
        rng.normal(size=(units, outputs)),
        rng.normal(size=outputs),
    )


def scales(rng: np.random.Generator, units: int, decades: float = 8) -> np.ndarray:
    """A diagonal matrix of powers of ten from -decades to decades."""
    return np.diag(10.0 ** rng.uniform(-decades, decades, units))


def rotation(rng: np.random.Generator, units: int) -> np.ndarray:
    """A matrix of condition number 4 or so, neither orthogonal nor symmetric."""
    left, right = (np.linalg.qr(rng.normal(size=(units, units)))[0] for _ in range(2))
    return left * np.linspace(0.5, 2, units) @ right
