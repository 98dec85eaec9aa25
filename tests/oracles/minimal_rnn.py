"""MinimalRNN and the networks it is compared with, by literal loops, in float64 (Chen, NIPS workshop 2017).

The paper's convention throughout: states are columns, so W_x is (n, inputs), U_h is (n, n), and x (batch, time,
inputs); h0 is (n,) for all sequences or (batch, n) for each. `MinimalRNN` is eq. 3 with Phi(x) = tanh(W_x x + b_z),
`CFN` eq. 2, `GRU` eq. 1, `VanillaRNN` h_t = tanh(W_h h_{t-1} + W_x x_t + b).

`jacobians` are dh_t/dh_{t-1} and dh_t/dx_t entry by entry, from the scalar equations: [i, j] is dh_t^i by the j-th
entry of h_{t-1} or x_t. Eq. 5 for the GRU is not used: it leaves out the path of the reset gate through h_{t-1} (its
last factor is D_r W_h R_h, while r stands to the right of W_h, and is itself differentiated).
`input_jacobian` is eq. 4.

Every function takes complex arrays too, so that `complex_step` gives derivatives without a difference of close
numbers: f(x + i e) = f(x) + i e f'(x) + O(e^2), exact to rounding for e = 1e-30. `loss_gradients` are those of
L = sum(cotangent * states), one weight at a time, and stand for back-propagation.
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

    def jacobians(self, h, x):
        z = self.encode(x)
        u, n = self.gate(h, z), len(h)
        dh, dz = np.zeros((n, n), z.dtype), np.zeros((n, n), z.dtype)
        for i in range(n):
            for j in range(n):
                du_h = u[i] * (1 - u[i]) * self.U_h[i, j]
                du_z = u[i] * (1 - u[i]) * self.U_z[i, j]
                dh[i, j] = du_h * h[i] - du_h * z[i]
                dz[i, j] = du_z * h[i] - du_z * z[i]
                if i == j:
                    dh[i, j] += u[i]
                    dz[i, j] += 1 - u[i]
        if self.W_x is None:
            return dh, dz
        dx = np.zeros((n, len(x)), z.dtype)
        for i in range(n):
            for j in range(len(x)):
                for k in range(n):
                    dx[i, j] += dz[i, k] * (1 - z[k] ** 2) * self.W_x[k, j]
        return dh, dx


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

    def jacobians(self, h, x):
        u, g = self.gates(h, x)
        c, n = np.tanh(self.W_x @ x + self.b_x), len(h)
        dh, dx = np.zeros((n, n), c.dtype), np.zeros((n, len(x)), c.dtype)
        for i in range(n):
            du, dg = u[i] * (1 - u[i]), g[i] * (1 - g[i])
            for j in range(n):
                dh[i, j] = du * self.U_u[i, j] * np.tanh(h[i]) + dg * self.U_i[i, j] * c[i]
                if i == j:
                    dh[i, j] += u[i] * (1 - np.tanh(h[i]) ** 2)
            for j in range(len(x)):
                dx[i, j] = du * self.V_u[i, j] * np.tanh(h[i]) + dg * self.V_i[i, j] * c[i]
                dx[i, j] += g[i] * (1 - c[i] ** 2) * self.W_x[i, j]
        return dh, dx


class GRU(NamedTuple):
    """Eq. 1: u = sigmoid(U_h h + U_x x + b_u) keeps the state, r = sigmoid(R_h h + R_x x + b_r) comes before W_h."""

    U_h: np.ndarray
    U_x: np.ndarray
    b_u: np.ndarray
    R_h: np.ndarray
    R_x: np.ndarray
    b_r: np.ndarray
    W_h: np.ndarray
    W_x: np.ndarray
    b_h: np.ndarray

    def parts(self, h, x):
        u = sigmoid(self.U_h @ h + self.U_x @ x + self.b_u)
        r = sigmoid(self.R_h @ h + self.R_x @ x + self.b_r)
        return u, r, np.tanh(self.W_h @ (r * h) + self.W_x @ x + self.b_h)

    def step(self, h, x):
        u, _, c = self.parts(h, x)
        return u * h + (1 - u) * c

    def jacobians(self, h, x):
        u, r, c = self.parts(h, x)
        n = len(h)
        dh, dx = np.zeros((n, n), c.dtype), np.zeros((n, len(x)), c.dtype)
        for i in range(n):
            du = u[i] * (1 - u[i])
            for j in range(n):
                inner = self.W_h[i, j] * r[j]  # of the argument of tanh: r_k h_k by h_j, k = j, and r_k by h_j, any k
                for k in range(n):
                    inner += self.W_h[i, k] * h[k] * r[k] * (1 - r[k]) * self.R_h[k, j]
                dh[i, j] = du * self.U_h[i, j] * (h[i] - c[i]) + (1 - u[i]) * (1 - c[i] ** 2) * inner
                if i == j:
                    dh[i, j] += u[i]
            for j in range(len(x)):
                inner = self.W_x[i, j]
                for k in range(n):
                    inner += self.W_h[i, k] * h[k] * r[k] * (1 - r[k]) * self.R_x[k, j]
                dx[i, j] = du * self.U_x[i, j] * (h[i] - c[i]) + (1 - u[i]) * (1 - c[i] ** 2) * inner
        return dh, dx


class VanillaRNN(NamedTuple):
    """h_t = tanh(W_h h_{t-1} + W_x x_t + b)."""

    W_h: np.ndarray
    W_x: np.ndarray
    b: np.ndarray

    def step(self, h, x):
        return np.tanh(self.W_h @ h + self.W_x @ x + self.b)

    def jacobians(self, h, x):
        new, n = self.step(h, x), len(h)
        dh, dx = np.zeros((n, n), new.dtype), np.zeros((n, len(x)), new.dtype)
        for i in range(n):
            for j in range(n):
                dh[i, j] = (1 - new[i] ** 2) * self.W_h[i, j]
            for j in range(len(x)):
                dx[i, j] = (1 - new[i] ** 2) * self.W_x[i, j]
        return dh, dx


Network = MinimalRNN | CFN | GRU | VanillaRNN


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


def input_jacobian(network: Network, h0, x, k: int) -> np.ndarray:
    """Eq. 4 for one sequence (T, inputs): dh_T/dx_{T-k}, (n, inputs), the later matrices to the left."""
    x = np.asarray(x)
    T = len(x)
    before = [np.asarray(h0), *states(network, h0, x[None])[0]]  # before[t] is h_t
    _, product = network.jacobians(before[T - k - 1], x[T - k - 1])  # x_t is x[t - 1]
    for t in range(T - k + 1, T + 1):
        product = network.jacobians(before[t - 1], x[t - 1])[0] @ product
    return product


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


def loss_gradients(
    network: Network, h0, x, cotangent, mask=None, go_backwards: bool = False
) -> tuple[Network, np.ndarray, np.ndarray]:
    """Gradients of sum(cotangent * states) by every weight (as a network), by h0 (of its shape) and by x."""

    def loss(changed: Network, h0, x):
        return np.sum(cotangent * states(changed, h0, x, mask, go_backwards))

    by_weight = {
        name: None
        if weight is None
        else complex_step(lambda w, name=name: loss(network._replace(**{name: w}), h0, x), weight)
        for name, weight in network._asdict().items()
    }
    by_start = complex_step(lambda start: loss(network, start, x), h0)
    return type(network)(**by_weight), by_start, complex_step(lambda inputs: loss(network, h0, inputs), x)
