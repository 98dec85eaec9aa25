"""Recurrences that are affine in the state given the inputs, by literal loops, in float64.

- `min_gru`, `min_lstm`: Feng et al. 2024, arXiv:2410.01201.
- `lru`: Orvieto et al. 2023, arXiv:2303.06349.
- `rg_lru`: De et al. 2024, arXiv:2402.19427.
- `gated_linear_attention`: Yang et al. 2023, arXiv:2312.06635; with one gate a head the recurrence of Mamba-2, Dao and
  Gu 2024, arXiv:2405.21060.
- `delta_net`: Yang et al. 2024, arXiv:2406.06484; with its gate Yang, Kautz and Hatamizadeh 2024, arXiv:2412.06464.

Each is `function(weights, x, mask=None, initial_state=None, ...)` of sequences x (batch, time, features), and returns
the `Result` (states, outputs).

States are rows throughout, h W + b, though some of the papers write columns. Heads are neighbouring columns: head h of
width m has the columns h m to (h + 1) m - 1. An initial state is that of one sequence, for all, or has a batch axis;
without it the state starts at zero.

A step whose mask is False leaves the state as it was. Where outputs are not the states, they repeat the output of the
step read last, and are zero before the first such step, as in Keras.

The cores `diagonal_real`, `diagonal_complex`, `matrix_decay` and `matrix_delta` take the coefficients of every step.
They know no weights, and a masked step reads the state that it left as it was.

Every function takes complex arrays too, so that `complex_step` of tests/oracles/minimal_rnn.py gives derivatives; a
complex number of the LRU is therefore a pair (real, imaginary), on a last axis of 2.

`ring_eigenvalues`, `rg_lru_lambda` and `step_bias` turn uniform numbers in (0, 1) into initial weights.
"""

from typing import NamedTuple

import numpy as np

from tests.oracles.minimal_rnn import sigmoid


def softplus(x) -> np.ndarray:
    return np.log1p(np.exp(x))


def silu(x) -> np.ndarray:
    return x * sigmoid(x)


class Result(NamedTuple):
    """States after each step, and outputs (batch, time, features)."""

    states: np.ndarray
    outputs: np.ndarray


# Cores: the recurrences alone.


def diagonal_real(a, b, h0, mask=None) -> np.ndarray:
    """h_t = a_t * h_{t-1} + b_t, with a, b (batch, time, n) and h0 (batch, n): the states (batch, time, n)."""
    states = np.zeros(b.shape, np.result_type(a, b, h0))
    for sequence in range(b.shape[0]):
        h = h0[sequence]
        for t in range(b.shape[1]):
            if mask is None or mask[sequence][t]:
                h = a[sequence, t] * h + b[sequence, t]
            states[sequence, t] = h
    return states


def diagonal_complex(a, b, h0, mask=None) -> np.ndarray:
    """h_t = a_t * h_{t-1} + b_t in complex numbers, each a pair (real, imaginary) on the last axis.

    a, b (batch, time, n, 2) and h0 (batch, n, 2): the states (batch, time, n, 2).
    """
    states = np.zeros(b.shape, np.result_type(a, b, h0))
    for sequence in range(b.shape[0]):
        real, imaginary = h0[sequence, :, 0], h0[sequence, :, 1]
        for t in range(b.shape[1]):
            if mask is None or mask[sequence][t]:
                a_real, a_imaginary = a[sequence, t, :, 0], a[sequence, t, :, 1]
                real, imaginary = (
                    a_real * real - a_imaginary * imaginary + b[sequence, t, :, 0],
                    a_real * imaginary + a_imaginary * real + b[sequence, t, :, 1],
                )
            states[sequence, t, :, 0] = real
            states[sequence, t, :, 1] = imaginary
    return states


def matrix_decay(alpha, k, v, q, S0, mask=None) -> Result:
    """S_t = diag(alpha_t) S_{t-1} + k_t^T v_t and o_t = q_t S_t in each head (GLA, eq. 3).

    alpha (batch, time, heads, d_k), or (batch, time, heads, 1) for one gate a head; k, q (batch, time, heads, d_k),
    v (batch, time, heads, d_v), S0 (batch, heads, d_k, d_v): the states (batch, time, heads, d_k, d_v) and the reads
    (batch, time, heads, d_v).
    """
    gates = alpha * np.ones(k.shape)

    def step(S, at):
        return np.diag(gates[at]) @ S + np.outer(k[at], v[at])

    return _read_matrices(step, q, S0, mask, np.result_type(alpha, k, v, q, S0))


def matrix_delta(alpha, beta, k, v, q, S0, mask=None) -> Result:
    """S_t = alpha_t (S_{t-1} - beta_t k_t^T (k_t S_{t-1})) + beta_t k_t^T v_t and o_t = q_t S_t in each head.

    The transpose of eq. 10 of Gated DeltaNet, S_t = S_{t-1} (alpha_t (I - beta_t k_t k_t^T)) + beta_t v_t k_t^T;
    with alpha = 1 section 2.2 of DeltaNet. alpha, beta (batch, time, heads), the others as for `matrix_decay`.
    """

    def step(S, at):
        erased = S - beta[at] * np.outer(k[at], k[at] @ S)
        return alpha[at] * erased + beta[at] * np.outer(k[at], v[at])

    return _read_matrices(step, q, S0, mask, np.result_type(alpha, beta, k, v, q, S0))


def _read_matrices(step, q, S0, mask, dtype) -> Result:
    """S_t = step(S_{t-1}, (sequence, t, head)), and the reads q_t S_t."""
    batch, time, heads, d_k = q.shape
    d_v = S0.shape[-1]
    states = np.zeros((batch, time, heads, d_k, d_v), dtype)
    reads = np.zeros((batch, time, heads, d_v), dtype)
    for sequence in range(batch):
        for head in range(heads):
            S = S0[sequence, head]
            for t in range(time):
                at = sequence, t, head
                if mask is None or mask[sequence][t]:
                    S = step(S, at)
                states[at] = S
                reads[at] = q[at] @ S
    return Result(states, reads)


# Layers: what makes the coefficients from the inputs, and outputs from the states.


class MinGRU(NamedTuple):
    """W_z, W_h (features, n), b_z, b_h (n,)."""

    W_z: np.ndarray
    b_z: np.ndarray
    W_h: np.ndarray
    b_h: np.ndarray


def positive(u) -> np.ndarray:
    """Listing of appendix B: g(u) = u + 0.5 if u >= 0, sigmoid(u) otherwise."""
    u = np.asarray(u)
    result = np.zeros_like(u)
    for index in np.ndindex(u.shape):
        result[index] = u[index] + 0.5 if u[index].real >= 0 else sigmoid(u[index])
    return result


def min_gru(weights: MinGRU, x, mask=None, initial_state=None, positive_states: bool = False) -> Result:
    """Section 3.1 (equations without numbers): states and outputs h (batch, time, n).

    z_t = sigmoid(x_t W_z + b_z), c_t = x_t W_h + b_h, h_t = (1 - z_t) h_{t-1} + z_t c_t.
    `positive_states` is the variant for computation in log space (appendix B): c_t = g(x_t W_h + b_h). The initial
    state is a state in both; the paper's listing in log space takes g of it.
    """
    x = np.asarray(x)
    z = sigmoid(x @ weights.W_z + weights.b_z)
    c = x @ weights.W_h + weights.b_h
    if positive_states:
        c = positive(c)
    h = diagonal_real(1 - z, z * c, _start(initial_state, (len(x), c.shape[-1])), mask)
    return Result(h, outputs_under_mask(h, mask))


class MinLSTM(NamedTuple):
    """W_f, W_i, W_h (features, n), b_f, b_i, b_h (n,)."""

    W_f: np.ndarray
    b_f: np.ndarray
    W_i: np.ndarray
    b_i: np.ndarray
    W_h: np.ndarray
    b_h: np.ndarray


def min_lstm(weights: MinLSTM, x, mask=None, initial_state=None, positive_states: bool = False) -> Result:
    """Section 3.2 (equations without numbers): states and outputs h (batch, time, n).

    f_t = sigmoid(x_t W_f + b_f), i_t = sigmoid(x_t W_i + b_i), c_t = x_t W_h + b_h, or g of it as in `min_gru`,
    f'_t = f_t / (f_t + i_t), i'_t = i_t / (f_t + i_t), h_t = f'_t h_{t-1} + i'_t c_t.
    """
    x = np.asarray(x)
    f = sigmoid(x @ weights.W_f + weights.b_f)
    i = sigmoid(x @ weights.W_i + weights.b_i)
    c = x @ weights.W_h + weights.b_h
    if positive_states:
        c = positive(c)
    f, i = f / (f + i), i / (f + i)
    h = diagonal_real(f, i * c, _start(initial_state, (len(x), c.shape[-1])), mask)
    return Result(h, outputs_under_mask(h, mask))


class LRU(NamedTuple):
    """nu_log, theta_log, gamma_log (n,), B_re, B_im (features, n), C_re, C_im (n, outputs), D (features,) or None.

    With D there are as many outputs as features.
    """

    nu_log: np.ndarray
    theta_log: np.ndarray
    gamma_log: np.ndarray
    B_re: np.ndarray
    B_im: np.ndarray
    C_re: np.ndarray
    C_im: np.ndarray
    D: np.ndarray | None


def lru(weights: LRU, x, mask=None, initial_state=None) -> Result:
    """Section 3.3, eq. 7 and appendix A: states (batch, time, n, 2), outputs (batch, time, outputs).

    lambda = exp(-exp(nu_log) + i exp(theta_log)), h_t = lambda h_{t-1} + exp(gamma_log) * (x_t B),
    y_t = Re(h_t C) + D * x_t. The initial state is (n, 2) or (batch, n, 2).
    """
    x = np.asarray(x)
    batch, time = x.shape[:2]
    radius, angle = np.exp(-np.exp(weights.nu_log)), np.exp(weights.theta_log)
    eigenvalues = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=-1)
    gamma = np.exp(weights.gamma_log)
    b = np.stack([gamma * (x @ weights.B_re), gamma * (x @ weights.B_im)], axis=-1)
    a = eigenvalues * np.ones((batch, time, 1, 1))
    h = diagonal_complex(a, b, _start(initial_state, (batch, *eigenvalues.shape)), mask)
    y = h[..., 0] @ weights.C_re - h[..., 1] @ weights.C_im
    if weights.D is not None:
        y = y + weights.D * x
    return Result(h, outputs_under_mask(y, mask))


class RGLRU(NamedTuple):
    """W_a, W_x (heads, m, m), b_a, b_x (heads, m), Lambda (n,), where n = heads m is also the number of features.

    Sigmoid(Lambda) is the a of the paper.
    """

    W_a: np.ndarray
    b_a: np.ndarray
    W_x: np.ndarray
    b_x: np.ndarray
    Lambda: np.ndarray


def rg_lru(weights: RGLRU, x, mask=None, initial_state=None) -> Result:
    """Section 2.4, eqs. 1-4: states and outputs h (batch, time, n).

    r_t = sigmoid(x_t W_a + b_a) (1), i_t = sigmoid(x_t W_x + b_x) (2), each in blocks of m features,
    a_t = a^(8 r_t) with a = sigmoid(Lambda) (3), h_t = a_t h_{t-1} + sqrt(1 - a_t^2) (i_t x_t) (4).
    Computed by log a_t = -8 softplus(-Lambda) r_t, which is eq. 6 with the sign that it lacks in print.
    """
    x = np.asarray(x)
    r = sigmoid(_blockwise(x, weights.W_a) + weights.b_a.ravel())
    i = sigmoid(_blockwise(x, weights.W_x) + weights.b_x.ravel())
    log_a = -8 * softplus(-weights.Lambda) * r
    a, root = np.exp(log_a), np.sqrt(-np.expm1(2 * log_a))
    h = diagonal_real(a, root * (i * x), _start(initial_state, (len(x), x.shape[-1])), mask)
    return Result(h, outputs_under_mask(h, mask))


class GatedLinearAttention(NamedTuple):
    """W_q, W_k (features, d_k), W_v (features, d_v), and the rest by its part.

    The gate: W_alpha (features, rank) and W_alpha2 (rank, gates), or W_alpha (features, gates) without W_alpha2;
    b_alpha (gates,), where gates is d_k, or the number of heads for one gate a head.

    The output: W_r (features, d_v) and b_r (d_v,) of the output gate, or None; the norm's scale (d_v / heads,), or
    None; W_o (d_v, outputs).
    """

    W_q: np.ndarray
    W_k: np.ndarray
    W_v: np.ndarray
    W_alpha: np.ndarray
    W_alpha2: np.ndarray | None
    b_alpha: np.ndarray
    W_r: np.ndarray | None
    b_r: np.ndarray | None
    norm_scale: np.ndarray | None
    W_o: np.ndarray


def gated_linear_attention(weights: GatedLinearAttention, x, mask=None, initial_state=None, *, heads: int) -> Result:
    """Sections 4.1 and 4.4: states (batch, time, heads, d_k/heads, d_v/heads), outputs (batch, time, outputs).

    alpha_t = sigmoid(x_t W_alpha W_alpha2 + b_alpha)^(1/16), S_t = diag(alpha_t) S_{t-1} + k_t^T v_t (eq. 3),
    o_t = q_t S_t, y_t = (silu(x_t W_r + b_r) * concat(norm(o_t))) W_o.
    The norm of each head is the root of the mean square, as in the authors' library, where there is a scale for it.

    With one gate a head S_t = alpha_t S_{t-1} + k_t^T v_t is Mamba-2's recurrence (its eq. 2, A_t = alpha_t I).
    """
    x = np.asarray(x)
    q, k, v = (_heads(x @ W, heads) for W in (weights.W_q, weights.W_k, weights.W_v))
    logits = x @ weights.W_alpha
    if weights.W_alpha2 is not None:
        logits = logits @ weights.W_alpha2
    alpha = _heads(sigmoid(logits + weights.b_alpha) ** (1 / 16), heads)
    S0 = _start(initial_state, (len(x), heads, k.shape[-1], v.shape[-1]))
    states, reads = matrix_decay(alpha, k, v, q, S0, mask)
    y = _normalized(reads, weights.norm_scale).reshape(*x.shape[:2], -1)
    if weights.W_r is not None:
        y = silu(x @ weights.W_r + weights.b_r) * y
    return Result(states, outputs_under_mask(y @ weights.W_o, mask))


class DeltaNet(NamedTuple):
    """W_q, W_k (features, d_k), W_v (features, d_v), W_beta (features, heads).

    The gate of Gated DeltaNet: W_a (features, heads), A_log and dt_bias (heads,), all None without it. The output: W_g
    (features, d_v) of an output gate, or None; the norm's scale (d_v / heads,) or None; W_o (d_v, outputs) or None for
    the heads side by side.
    """

    W_q: np.ndarray
    W_k: np.ndarray
    W_v: np.ndarray
    W_beta: np.ndarray
    W_a: np.ndarray | None
    A_log: np.ndarray | None
    dt_bias: np.ndarray | None
    W_g: np.ndarray | None
    norm_scale: np.ndarray | None
    W_o: np.ndarray | None


def delta_net(weights: DeltaNet, x, mask=None, initial_state=None, *, heads: int) -> Result:
    """DeltaNet, sections 2.2 and 3.3; Gated DeltaNet, eq. 10 and section 3.4, without their short convolutions.

    q_t, k_t = silu(x_t W_q), silu(x_t W_k), each head divided by sqrt(sum of squares + 1e-6),
    v_t = silu(x_t W_v), beta_t = sigmoid(x_t W_beta),
    alpha_t = exp(-exp(A_log) softplus(x_t W_a + dt_bias)), or 1,
    S_t = alpha_t (S_{t-1} - beta_t k_t^T (k_t S_{t-1})) + beta_t k_t^T v_t, o_t = q_t S_t,
    y_t = concat(norm(o_t)) W_o, with silu(x_t W_g) times the normalized reads where there is W_g; the norm as for
    `gated_linear_attention`.
    States (batch, time, heads, d_k/heads, d_v/heads), outputs (batch, time, outputs).
    """
    x = np.asarray(x)
    q, k, v = (_heads(silu(x @ W), heads) for W in (weights.W_q, weights.W_k, weights.W_v))
    q, k = (part / np.sqrt(np.sum(part**2, axis=-1, keepdims=True) + 1e-6) for part in (q, k))
    beta = sigmoid(x @ weights.W_beta)
    if weights.W_a is None:
        alpha = np.ones(beta.shape)
    else:
        alpha = np.exp(-np.exp(weights.A_log) * softplus(x @ weights.W_a + weights.dt_bias))
    S0 = _start(initial_state, (len(x), heads, k.shape[-1], v.shape[-1]))
    states, reads = matrix_delta(alpha, beta, k, v, q, S0, mask)
    y = _normalized(reads, weights.norm_scale).reshape(*x.shape[:2], -1)
    if weights.W_g is not None:
        y = silu(x @ weights.W_g) * y
    if weights.W_o is not None:
        y = y @ weights.W_o
    return Result(states, outputs_under_mask(y, mask))


# Parts of the layers.


def _start(initial_state, shape: tuple[int, ...]) -> np.ndarray:
    """The initial state of every sequence."""
    return np.zeros(shape) if initial_state is None else np.asarray(initial_state) * np.ones(shape)


def _heads(x, heads: int) -> np.ndarray:
    """(batch, time, heads m) as (batch, time, heads, m)."""
    return x.reshape(*x.shape[:2], heads, -1)


def _blockwise(x, W) -> np.ndarray:
    """The product with the matrix that has the blocks W (heads, m, m) on its diagonal."""
    m = W.shape[1]
    return np.concatenate([x[..., h * m : (h + 1) * m] @ W[h] for h in range(len(W))], axis=-1)


def _normalized(o, scale) -> np.ndarray:
    """By the root of the mean square of the values of a head, if there is a scale, the same in every head."""
    return o if scale is None else scale * o / np.sqrt(np.mean(o**2, axis=-1, keepdims=True) + 1e-5)


def outputs_under_mask(outputs, mask) -> np.ndarray:
    """Keras's rule: a masked step repeats the output before it, and there are zeros before the first step read."""
    if mask is None:
        return outputs
    result = np.zeros_like(outputs)
    for sequence in range(outputs.shape[0]):
        last = np.zeros_like(outputs[sequence, 0])
        for t in range(outputs.shape[1]):
            if mask[sequence][t]:
                last = outputs[sequence, t]
            result[sequence, t] = last
    return result


# Initial weights from uniform numbers.


def ring_eigenvalues(u1, u2, r_min, r_max, max_phase) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """nu_log, theta_log and gamma_log of an LRU whose eigenvalues are uniform on a ring (Lemma 3.2, appendix A)."""
    nu = -0.5 * np.log(u1 * (r_max**2 - r_min**2) + r_min**2)
    gamma = np.sqrt(-np.expm1(-2 * nu))  # 1 - |lambda|^2
    return np.log(nu), np.log(max_phase * u2), np.log(gamma)


def rg_lru_lambda(u, low, high) -> np.ndarray:
    """Lambda for which a^8, a = sigmoid(Lambda), is uniform between the two (Griffin, section 2.4)."""
    a = (low + u * (high - low)) ** (1 / 8)
    return np.log(a / (1 - a))


def step_bias(u) -> np.ndarray:
    """dt_bias for which softplus(dt_bias) is uniform in its logarithm between 0.001 and 0.1 (Mamba-2's code)."""
    return np.log(np.expm1(0.001 * 100**u))
