"""State-regularized networks by literal loops, in float64 (Wang, Lawrence and Niepert, TPAMI 2022, section 4).

The paper's convention throughout: states are columns, so each W is (n, inputs), each U (the paper's R for the LSTM) is
(n, n), each p and b is (n,), and the centroids are the columns of S, (n, k). x is (batch, time, inputs); h0 and c0 are
(n,) for all sequences or (batch, n) for each.

A network is the recurrent component, eq. 13: `step(h, c, x)` gives u, the memory c (None where there is none) and the
gates by name. `GRU` is Keras's, where z keeps the state (eq. 12 of the paper writes 1 - z for that) and U_h enters the
candidate: without B_z, B_r, B_h (Keras's reset_after=False) r multiplies the state before U_h, with them r multiplies
U_h h + B_h. `LSTM` is eqs. 3-8 and `PeepholeLSTM` eqs. 23-25, where o sees the new memory. `Memoryless` is any network
whose step is of h and x alone, such as those of tests/oracles/minimal_rnn.py.

`Stochastic` is the stochastic component. `alpha` is eq. 15. A transition makes the weights w of the centroids:
"mixture" (eq. 20) w = alpha; "soft_argmax" (eq. 17) the one-hot of the greatest alpha; "gumbel" (eq. 19, the division
by tau inside of exp) the softmax of (u.s_i + noise g_i)/tau, or its one-hot with straight_through; "sample" (eq. 16)
the one-hot of the greatest u.s_i/tau + g_i, which is centroid j with probability alpha_j if g is Gumbel's. Then
h = strength * sum_i w_i s_i + (1 - strength) * u.

A transition by a one-hot has no derivative of its own. By definition the state that soft_argmax or straight_through
makes has that of the softmax's mixture sum_i a_i s_i, in u as in the centroids; a sampled state has that of its
centroid alone. Every function takes complex arrays, and follows this rule: the real part of such a state is the
centroid, the imaginary part that of the mixture, so that `complex_step` gives the derivatives so defined.
"""

from typing import NamedTuple

import numpy as np

from tests.oracles.minimal_rnn import complex_step, sigmoid

TRANSITIONS = ("mixture", "soft_argmax", "gumbel", "sample")


class VanillaRNN(NamedTuple):
    """h_t = tanh(W x_t + U h_{t-1} + b)."""

    W: np.ndarray
    U: np.ndarray
    b: np.ndarray

    def step(self, h, c, x):
        return np.tanh(self.W @ x + self.U @ h + self.b), None, {}


class GRU(NamedTuple):
    """h_t = z h_{t-1} + (1 - z) hh, in both of Keras's conventions."""

    W_z: np.ndarray
    U_z: np.ndarray
    b_z: np.ndarray
    W_r: np.ndarray
    U_r: np.ndarray
    b_r: np.ndarray
    W_h: np.ndarray
    U_h: np.ndarray
    b_h: np.ndarray
    B_z: np.ndarray | None = None
    B_r: np.ndarray | None = None
    B_h: np.ndarray | None = None

    def step(self, h, c, x):
        if self.B_h is None:
            z = sigmoid(self.W_z @ x + self.b_z + self.U_z @ h)
            r = sigmoid(self.W_r @ x + self.b_r + self.U_r @ h)
            hh = np.tanh(self.W_h @ x + self.b_h + self.U_h @ (r * h))
        else:
            z = sigmoid(self.W_z @ x + self.b_z + self.U_z @ h + self.B_z)
            r = sigmoid(self.W_r @ x + self.b_r + self.U_r @ h + self.B_r)
            hh = np.tanh(self.W_h @ x + self.b_h + r * (self.U_h @ h + self.B_h))
        return z * h + (1 - z) * hh, None, {"z": z, "r": r, "hh": hh}


class LSTM(NamedTuple):
    """Eqs. 3-8."""

    W_i: np.ndarray
    U_i: np.ndarray
    b_i: np.ndarray
    W_f: np.ndarray
    U_f: np.ndarray
    b_f: np.ndarray
    W_c: np.ndarray
    U_c: np.ndarray
    b_c: np.ndarray
    W_o: np.ndarray
    U_o: np.ndarray
    b_o: np.ndarray

    def step(self, h, c, x):
        i = sigmoid(self.W_i @ x + self.U_i @ h + self.b_i)
        f = sigmoid(self.W_f @ x + self.U_f @ h + self.b_f)
        o = sigmoid(self.W_o @ x + self.U_o @ h + self.b_o)
        cc = np.tanh(self.W_c @ x + self.U_c @ h + self.b_c)
        c = f * c + i * cc
        return o * np.tanh(c), c, {"i": i, "f": f, "cc": cc, "o": o}


class PeepholeLSTM(NamedTuple):
    """Eqs. 23-25 for the gates, eqs. 6-8 for the rest: i and f see the memory before, o the memory after."""

    W_i: np.ndarray
    U_i: np.ndarray
    b_i: np.ndarray
    W_f: np.ndarray
    U_f: np.ndarray
    b_f: np.ndarray
    W_c: np.ndarray
    U_c: np.ndarray
    b_c: np.ndarray
    W_o: np.ndarray
    U_o: np.ndarray
    b_o: np.ndarray
    p_i: np.ndarray
    p_f: np.ndarray
    p_o: np.ndarray

    def step(self, h, c, x):
        f = sigmoid(self.W_f @ x + self.U_f @ h + self.p_f * c + self.b_f)
        i = sigmoid(self.W_i @ x + self.U_i @ h + self.p_i * c + self.b_i)
        cc = np.tanh(self.W_c @ x + self.U_c @ h + self.b_c)
        c = f * c + i * cc
        o = sigmoid(self.W_o @ x + self.U_o @ h + self.p_o * c + self.b_o)
        return o * np.tanh(c), c, {"i": i, "f": f, "cc": cc, "o": o}


class Memoryless(NamedTuple):
    """A network of a state alone, with `step(h, x)`."""

    network: NamedTuple

    def step(self, h, c, x):
        return self.network.step(h, x), None, {}


Network = VanillaRNN | GRU | LSTM | PeepholeLSTM | Memoryless


def softmax(a) -> np.ndarray:
    """Of one vector; the shift changes nothing."""
    e = np.exp(a - a.real.max())
    return e / e.sum()


def one_hot_of(a) -> np.ndarray:
    """1 at the first of the greatest real parts of a, 0 elsewhere."""
    result = np.zeros(len(a))
    result[np.argmax(a.real)] = 1
    return result


class Stochastic(NamedTuple):
    """The stochastic component, eqs. 15-20; g is a draw of Gumbel(0, 1) for each centroid."""

    S: np.ndarray  # (n, k)
    transition: str = "mixture"
    tau: float = 1.0
    strength: float = 1.0
    noise: float = 1.0
    straight_through: bool = False

    def similarities(self, u) -> np.ndarray:
        """u.s_i for each i."""
        return np.array([np.sum(u * self.S[:, i]) for i in range(self.S.shape[1])])

    def alpha(self, u) -> np.ndarray:
        """Eq. 15."""
        return softmax(self.similarities(u) / self.tau)

    def perturbed(self, u, g) -> np.ndarray:
        """Eq. 19."""
        return softmax((self.similarities(u) + self.noise * g) / self.tau)

    def weights(self, u, g=None) -> np.ndarray:
        """Those of the centroids in the next state."""
        if self.transition == "mixture":
            return self.alpha(u)
        if self.transition == "soft_argmax":
            return one_hot_of(self.alpha(u))
        if self.transition == "gumbel":
            return one_hot_of(self.perturbed(u, g)) if self.straight_through else self.perturbed(u, g)
        if self.transition == "sample":
            return one_hot_of(self.similarities(u) / self.tau + g)
        raise ValueError(self.transition)

    def mixture(self, w) -> np.ndarray:
        """sum_i w_i s_i."""
        return sum(w[i] * self.S[:, i] for i in range(len(w)))

    def of_centroids(self, u, g=None) -> np.ndarray:
        """What the centroids give to h_t."""
        result = self.mixture(self.weights(u, g))
        soft = None
        if self.transition == "soft_argmax":
            soft = self.mixture(self.alpha(u))
        elif self.transition == "gumbel" and self.straight_through:
            soft = self.mixture(self.perturbed(u, g))
        if soft is None or not np.iscomplexobj(soft):
            return result
        return result.real + 1j * soft.imag

    def state(self, u, g=None) -> np.ndarray:
        """h_t from u_t."""
        return self.strength * self.of_centroids(u, g) + (1 - self.strength) * u


class Path(NamedTuple):
    """What a network goes through, in the order in which the steps are read: (batch, time, ...).

    A step whose mask is False leaves h and c as they were; its other quantities are zero, and `chosen` is -1.
    """

    u: np.ndarray  # eq. 13
    alpha: np.ndarray  # eq. 15, (batch, time, k)
    weights: np.ndarray  # of the centroids in h, whatever the strength; zero where h = u without a transition
    chosen: np.ndarray  # the centroid of the greatest weight, or -1 where h = u without a transition
    h: np.ndarray
    c: np.ndarray | None
    gates: dict[str, np.ndarray]


def path(
    network: Network,
    stochastic: Stochastic | None,
    h0,
    x,
    c0=None,
    g=None,
    mask=None,
    go_backwards: bool = False,
    regularize_last_step: bool = True,
) -> Path:
    """The whole path of each sequence.

    Args:
        stochastic: None for the recurrent component alone, h = u.
        c0: needed where the network has a memory.
        g: (batch, time, k) in the order in which the steps are read, where the transition draws.
        regularize_last_step: if False, h = u at the last step of a sequence that is read, which is the one before
            its last False steps.
    """
    h0, x = np.asarray(h0), np.asarray(x)
    batch, time = x.shape[:2]
    n, k = h0.shape[-1], 0 if stochastic is None else stochastic.S.shape[1]
    dtype = np.result_type(np.float64, h0, x, *arrays(network), *(() if stochastic is None else arrays(stochastic)))
    if c0 is not None:
        c0 = np.asarray(c0)
        dtype = np.result_type(dtype, c0)
    us, hs = np.zeros((2, batch, time, n), dtype)
    cs = None if c0 is None else np.zeros((batch, time, n), dtype)
    alphas, weights = np.zeros((2, batch, time, k), dtype)
    chosen = np.full((batch, time), -1)
    gates: dict[str, np.ndarray] = {}
    for sequence in range(batch):
        h = h0 if h0.ndim == 1 else h0[sequence]
        c = c0 if c0 is None or c0.ndim == 1 else c0[sequence]
        steps = list(range(time))
        if go_backwards:
            steps = steps[::-1]
        read = [mask is None or bool(mask[sequence][step]) for step in steps]
        for position, step in enumerate(steps):
            if read[position]:
                u, c, of_step = network.step(h, c, x[sequence, step])
                us[sequence, position] = u
                for name, gate in of_step.items():
                    gates.setdefault(name, np.zeros((batch, time, n), dtype))[sequence, position] = gate
                h = u
                if stochastic is not None:
                    alphas[sequence, position] = stochastic.alpha(u)
                    if regularize_last_step or any(read[position + 1 :]):
                        draw = None if g is None else g[sequence][position]
                        h = stochastic.state(u, draw)
                        weights[sequence, position] = stochastic.weights(u, draw)
                        chosen[sequence, position] = np.argmax(weights[sequence, position].real)
            hs[sequence, position] = h
            if cs is not None:
                cs[sequence, position] = c
    return Path(us, alphas, weights, chosen, hs, cs, gates)


def arrays(part) -> list[np.ndarray]:
    """The numbers in a network or in a stochastic component."""
    found = []
    for field in part:
        if isinstance(field, tuple):
            found += arrays(field)
        elif field is not None and not isinstance(field, (str, bool)):
            found.append(np.asarray(field))
    return found


def gradients(part: NamedTuple, loss) -> NamedTuple:
    """Of the number `loss(part)` by every array and float of a network or a stochastic component, in its form."""
    result = {}
    for name, field in part._asdict().items():
        if isinstance(field, tuple):
            result[name] = gradients(field, lambda inner, name=name: loss(part._replace(**{name: inner})))
        elif field is None or isinstance(field, (str, bool)):
            result[name] = field
        else:
            result[name] = complex_step(lambda w, name=name: loss(part._replace(**{name: w})), field)
    return part._replace(**result)


def probabilistic_automaton(network: Network, stochastic: Stochastic, symbols) -> np.ndarray:
    """Theorem 4.1: [a, i, j] is the probability to go from centroid i to centroid j reading symbols[a]."""
    k = stochastic.S.shape[1]
    result = np.zeros((len(symbols), k, k))
    for a, x in enumerate(symbols):
        for i in range(k):
            u, _, _ = network.step(stochastic.S[:, i], None, x)
            result[a, i] = stochastic.alpha(u)
    return result


class Automaton(NamedTuple):
    """Theorem 4.2: the deterministic automaton of tau -> 0."""

    first: np.ndarray  # (symbols,), the centroid reached from the initial state
    delta: np.ndarray  # (symbols, k), the centroid reached from each centroid
    margin: float  # the least distance of a greatest u.s_i to the next, over all these steps

    def walk(self, word) -> list[int]:
        """The centroid after each symbol of the word."""
        visited = [int(self.first[word[0]])]
        for a in word[1:]:
            visited.append(int(self.delta[a, visited[-1]]))
        return visited


def deterministic_automaton(network: Network, stochastic: Stochastic, h0, symbols) -> Automaton:
    k = stochastic.S.shape[1]
    first = np.zeros(len(symbols), int)
    delta = np.zeros((len(symbols), k), int)
    margin = np.inf
    for a, x in enumerate(symbols):
        for i in range(-1, k):
            u, _, _ = network.step(h0 if i < 0 else stochastic.S[:, i], None, x)
            similarities = stochastic.similarities(u)
            j = int(np.argmax(similarities))
            for other in range(k):
                if other != j:
                    margin = min(margin, similarities[j] - similarities[other])
            if i < 0:
                first[a] = j
            else:
                delta[a, i] = j
    return Automaton(first, delta, float(margin))
