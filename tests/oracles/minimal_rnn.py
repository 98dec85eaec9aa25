"""MinimalRNN and the CFN that it is compared with, by literal loops, in float64 (Chen, NIPS workshop 2017).

The paper's convention throughout: states are columns, so W_x is (n, inputs), U_h is (n, n), and x (batch, time,
inputs); h0 is (n,) for all sequences or (batch, n) for each. `MinimalRNN` is eq. 3 with Phi(x) = tanh(W_x x + b_z),
`CFN` eq. 2.

Every function takes complex arrays too, so that `complex_step` gives derivatives without a difference of close
numbers: f(x + i e) = f(x) + i e f'(x) + O(e^2), exact to rounding for e = 1e-30.
"""

from typing import NamedTuple

import numpy as np


def sigmoid(x) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


class MinimalRNN(NamedTuple):
    """Eq. 3; without W_x and b_z the input is z itself, whatever Phi made it."""

    W_x: np.ndarray | None
    b_z: np.ndarray | None
    U_h: np.ndarray
    U_z: np.ndarray
    b_u: np.ndarray

    def encode(self, x):
        return x if self.W_x is None else np.tanh(self.W_x @ x + self.b_z)

    def gate(self, h, z):
        return sigmoid(self.U_h @ h + self.U_z @ z + self.b_u)

    def step(self, h, x):
        z = self.encode(x)
        u = self.gate(h, z)
        return u * h + (1 - u) * z


class CFN(NamedTuple):
    """Eq. 2, u = sigmoid(U_u h + V_u x + b_u) and i = sigmoid(U_i h + V_i x + b_i), as in Laurent and von Brecht."""

    U_u: np.ndarray
    V_u: np.ndarray
    b_u: np.ndarray
    U_i: np.ndarray
    V_i: np.ndarray
    b_i: np.ndarray
    W_x: np.ndarray
    b_x: np.ndarray

    def gates(self, h, x):
        return sigmoid(self.U_u @ h + self.V_u @ x + self.b_u), sigmoid(self.U_i @ h + self.V_i @ x + self.b_i)

    def step(self, h, x):
        u, i = self.gates(h, x)
        return u * np.tanh(h) + i * np.tanh(self.W_x @ x + self.b_x)


Network = MinimalRNN | CFN


def states(network: Network, h0, x, mask=None, go_backwards: bool = False) -> np.ndarray:
    """The state after each step: (batch, time, n), in the order in which the steps are read.

    A step whose mask is False leaves the state as it was.
    """
    h0, x = np.asarray(h0), np.asarray(x)
    batch, time = x.shape[:2]
    dtype = np.result_type(np.float64, h0, x, *(weight for weight in network if weight is not None))
    result = np.zeros((batch, time, h0.shape[-1]), dtype)
    for sequence in range(batch):
        h = h0 if h0.ndim == 1 else h0[sequence]
        steps = reversed(range(time)) if go_backwards else range(time)
        for position, step in enumerate(steps):
            if mask is None or mask[sequence][step]:
                h = network.step(h, x[sequence, step])
            result[sequence, position] = h
    return result


def complex_step(function, array, epsilon: float = 1e-30) -> np.ndarray:
    """The derivatives of `function` by each entry of the array: (*shape of its value, *shape of the array)."""
    array = np.asarray(array)
    value = np.asarray(function(array))
    result = np.zeros((*value.shape, *array.shape))
    for index in np.ndindex(array.shape):
        moved = array.astype(np.complex128)
        moved[index] += 1j * epsilon
        result[(..., *index)] = np.imag(function(moved)) / epsilon
    return result
