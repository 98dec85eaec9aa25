r"""MinimalRNN and its neighbours: Chen, "MinimalRNN", 2017, arXiv:1711.06788; CFN: Laurent and von Brecht, 2016.

States are rows, so each matrix here is the transpose of the paper's (docs/conventions.md). A `drive` is the part of a
gate's argument that does not depend on the state, computed for all steps at once: d_t = z_t U_z + b_u, and so on.

    eq. 3    MinimalRNN   u_t = sigmoid(h_{t-1} U_h + d_t)
                          h_t = u_t * h_{t-1} + (1 - u_t) * z_t
    eq. 2    CFN          [u_t, i_t] = sigmoid(h_{t-1} U + d_t)
                          h_t = u_t * tanh(h_{t-1}) + i_t * c_t,                  c_t = tanh(x_t W_x + b_x)
    eq. 1    GRU          [u_t, r_t] = sigmoid(h_{t-1} [U_h, R_h] + d_t)
                          c_t = tanh((r_t * h_{t-1}) W_h + a_t),                  a_t = x_t W_x + b_h
                          h_t = u_t * h_{t-1} + (1 - u_t) * c_t

(The paper gives eq. 2 without its gates; they are those of Laurent and von Brecht, who write theta and eta.)

The state Jacobian of MinimalRNN and of CFN is a diagonal and one scaled matrix per gate,

    eq. 4    dh_t/dh_{t-1} = D_{diagonal} + sum_g D_{slopes_g} U_g^T,

in the paper's orientation: row i belongs to h_t[i], column j to h_{t-1}[j]. `minimal_rnn_linearization` and
`cfn_linearization` give the vectors, `state_jacobian` the matrix. The layers' gradients run on the same vectors.
"""

from __future__ import annotations

from typing import Any

Array = Any


def sigmoid(xp: Any, x: Array) -> Array:
    """1 / (1 + exp(-x)), without overflow."""
    return xp.sigmoid(x) if hasattr(xp, "sigmoid") else 0.5 + 0.5 * xp.tanh(0.5 * x)


def minimal_rnn_step(state: Array, gate: Array, latent: Array) -> Array:
    """Eq. 3 with the gate u_t = sigmoid(h_{t-1} U_h + d_t): all (..., n) -> (..., n)."""
    return latent + gate * (state - latent)


def minimal_rnn_linearization(state: Array, gate: Array, latent: Array) -> tuple[Array, Array]:
    """Eq. 4's vectors at h_{t-1}, u_t, z_t (..., n): diagonal u (..., n), slopes (h - z) u (1 - u) (..., n).

    The latent enters the same way: dh_t/dz_t = D_{1 - u} + D_{slopes} U_z^T.
    """
    return gate, (state - latent) * gate * (1 - gate)


def cfn_step(xp: Any, state: Array, gates: Array, candidate: Array) -> Array:
    """Eq. 2: h_{t-1} (..., n), gates [u_t, i_t] (..., 2n), candidate c_t (..., n) -> (..., n)."""
    update, admit = xp.split(gates, 2, axis=-1)
    return update * xp.tanh(state) + admit * candidate


def cfn_linearization(xp: Any, state: Array, gates: Array, candidate: Array) -> tuple[Array, Array]:
    """CFN's vectors at h_{t-1}, [u_t, i_t], c_t: diagonal u (1 - tanh(h)^2) (..., n), slopes (..., 2n).

    Slopes: [tanh(h) u (1 - u), c i (1 - i)]. The input enters by dh_t/dc_t = D_i and by the gates' own drives.
    """
    update, _ = xp.split(gates, 2, axis=-1)
    squashed = xp.tanh(state)
    return update * (1 - squashed * squashed), xp.concatenate([squashed, candidate], axis=-1) * gates * (1 - gates)


def state_jacobian(xp: Any, diagonal: Array, slopes: Array, recurrent_kernel: Array) -> Array:
    """Eq. 4: diagonal (..., n), slopes (..., G n), recurrent_kernel (n, G n) -> dh_t/dh_{t-1} (..., n, n)."""
    units = recurrent_kernel.shape[0]
    jacobian = diagonal[..., None] * xp.eye(units, dtype=diagonal.dtype)
    for first in range(0, recurrent_kernel.shape[1], units):
        gate = slice(first, first + units)
        jacobian = jacobian + slopes[..., gate, None] * xp.transpose(recurrent_kernel[:, gate])
    return jacobian


def gru_step(
    xp: Any, gate_kernel: Array, candidate_kernel: Array, state: Array, gate_drive: Array, candidate_drive: Array
) -> tuple[Array, Array, Array]:
    """Eq. 1: gate_kernel [U_h, R_h] (n, 2n), candidate_kernel (n, n), state (..., n), drives (..., 2n), (..., n).

    Returns: h_t (..., n), [u_t, r_t] (..., 2n), c_t (..., n).
    """
    gates = sigmoid(xp, xp.matmul(state, gate_kernel) + gate_drive)
    update, reset = xp.split(gates, 2, axis=-1)
    candidate = xp.tanh(xp.matmul(reset * state, candidate_kernel) + candidate_drive)
    return candidate + update * (state - candidate), gates, candidate


def gru_state_jacobian(
    xp: Any, gate_kernel: Array, candidate_kernel: Array, state: Array, gates: Array, candidate: Array
) -> Array:
    """Eq. 5, completed, at h_{t-1}, [u_t, r_t], c_t -> dh_t/dh_{t-1} (..., n, n).

        D_u + D_{(h - c) u (1 - u)} U_h^T + D_{(1 - u)(1 - c^2)} W_h^T (D_r + D_{h r (1 - r)} R_h^T)

    (The paper's eq. 5 prints the last term as D_{(1 - u)(1 - c^2) r} W_h R_h: the derivative of the reset gate inside
    the product is left out. This is the whole derivative.)
    """
    units = state.shape[-1]
    update, reset = xp.split(gates, 2, axis=-1)
    through_update = state_jacobian(xp, update, (state - candidate) * update * (1 - update), gate_kernel[:, :units])
    inside = state_jacobian(xp, reset, state * reset * (1 - reset), gate_kernel[:, units:])
    scale = (1 - update) * (1 - candidate * candidate)
    return through_update + scale[..., None] * xp.matmul(xp.transpose(candidate_kernel), inside)
