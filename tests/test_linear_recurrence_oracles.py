"""The oracles of tests/oracles/linear_recurrences.py are held to one another, and to what theory says of each.

By other ways to the same numbers: sums over the history, matrices, complex numbers, masked attention.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.oracles import linear_recurrences as oracle
from tests.oracles.minimal_rnn import sigmoid

BATCH, TIME, FEATURES, UNITS = 2, 7, 3, 4
HEADS, D_K, D_V = 2, 6, 10  # of all heads
SEEDS = pytest.mark.parametrize("seed", [0, 1, 2])
TIGHT = {"rtol": 1e-12, "atol": 1e-12}

Arrays = np.ndarray


def random(seed: int) -> Callable[..., Arrays]:
    generator = np.random.default_rng(seed)
    return lambda *shape: generator.normal(size=shape)


def min_gru(draw: Any) -> oracle.MinGRU:
    return oracle.MinGRU(draw(FEATURES, UNITS), draw(UNITS), draw(FEATURES, UNITS), draw(UNITS))


def min_lstm(draw: Any) -> oracle.MinLSTM:
    return oracle.MinLSTM(*(part for _ in range(3) for part in (draw(FEATURES, UNITS), draw(UNITS))))


def lru(draw: Any) -> oracle.LRU:
    into, out = (FEATURES, UNITS), (UNITS, FEATURES)
    return oracle.LRU(
        draw(UNITS) - 2, draw(UNITS), draw(UNITS), draw(*into), draw(*into), draw(*out), draw(*out), draw(FEATURES)
    )


def rg_lru(draw: Any) -> oracle.RGLRU:
    """Of two blocks of three features."""
    return oracle.RGLRU(draw(2, 3, 3), draw(2, 3), draw(2, 3, 3), draw(2, 3), draw(6) + 2)


def gated_linear_attention(draw: Any) -> oracle.GatedLinearAttention:
    return oracle.GatedLinearAttention(
        W_q=draw(FEATURES, D_K),
        W_k=draw(FEATURES, D_K),
        W_v=draw(FEATURES, D_V),
        W_alpha=draw(FEATURES, 2),
        W_alpha2=draw(2, D_K),
        b_alpha=draw(D_K),
        W_r=draw(FEATURES, D_V),
        b_r=draw(D_V),
        norm_scale=draw(D_V // HEADS),
        W_o=draw(D_V, 8),
    )


def delta_net(draw: Any) -> oracle.DeltaNet:
    """With every part."""
    return oracle.DeltaNet(
        W_q=draw(FEATURES, D_K),
        W_k=draw(FEATURES, D_K),
        W_v=draw(FEATURES, D_V),
        W_beta=draw(FEATURES, HEADS),
        W_a=draw(FEATURES, HEADS),
        A_log=draw(HEADS),
        dt_bias=draw(HEADS),
        W_g=draw(FEATURES, D_V),
        norm_scale=draw(D_V // HEADS),
        W_o=draw(D_V, 8),
    )


MATRIX = (HEADS, D_K // HEADS, D_V // HEADS)
LAYERS = {
    "MinGRU": (oracle.min_gru, min_gru, FEATURES, (UNITS,), {}),
    "MinLSTM": (oracle.min_lstm, min_lstm, FEATURES, (UNITS,), {}),
    "LRU": (oracle.lru, lru, FEATURES, (UNITS, 2), {}),
    "RGLRU": (oracle.rg_lru, rg_lru, 6, (6,), {}),
    "GLA": (oracle.gated_linear_attention, gated_linear_attention, FEATURES, MATRIX, {"heads": HEADS}),
    "DeltaNet": (oracle.delta_net, delta_net, FEATURES, MATRIX, {"heads": HEADS}),
}


def sample(name: str, seed: int) -> tuple[Callable[..., oracle.Result], Any, Arrays, Arrays, dict]:
    """A layer, its weights, inputs, the initial states of a batch, and its options."""
    layer, make, features, state, options = LAYERS[name]
    draw = random(seed)
    return layer, make(draw), draw(BATCH, TIME, features), draw(BATCH, *state), options


class TestGatedUnits:
    @SEEDS
    def test_states_of_a_min_gru_are_convex_combinations_of_candidates(self, seed: int) -> None:
        _, weights, x, start, _ = sample("MinGRU", seed)
        z, c = sigmoid(x @ weights.W_z + weights.b_z), x @ weights.W_h + weights.b_h
        points = np.concatenate([start[:, None], c], axis=1)
        shares = np.concatenate([np.ones((BATCH, 1, UNITS)), z], axis=1)  # of each point in the state, when it comes
        for t in range(TIME):
            still = np.stack([shares[:, s] * np.prod(1 - z[:, s : t + 1], axis=1) for s in range(t + 2)], axis=1)
            np.testing.assert_allclose(still.sum(1), 1, **TIGHT)
            expected = np.sum(still * points[:, : t + 2], axis=1)
            states = oracle.min_gru(weights, x, initial_state=start).states
            np.testing.assert_allclose(states[:, t], expected, **TIGHT)

    @SEEDS
    def test_positive_states_are_those_of_the_recurrence_in_log_space(self, seed: int) -> None:
        _, weights, x, start, _ = sample("MinGRU", seed)
        start = np.abs(start)
        states = oracle.min_gru(weights, x, initial_state=start, positive_states=True).states
        k, u = x @ weights.W_z + weights.b_z, x @ weights.W_h + weights.b_h
        log_g = np.where(u >= 0, np.log(np.maximum(u, 0) + 0.5), -np.logaddexp(0, -u))
        log_h = np.log(start)
        for t in range(TIME):
            log_h = np.logaddexp(log_h - np.logaddexp(0, k[:, t]), log_g[:, t] - np.logaddexp(0, -k[:, t]))
            np.testing.assert_allclose(states[:, t], np.exp(log_h), **TIGHT)

    @SEEDS
    @pytest.mark.parametrize("positive_states", [False, True])
    def test_a_min_lstm_is_a_min_gru_of_the_gates_difference(self, seed: int, positive_states: bool) -> None:
        _, weights, x, start, _ = sample("MinLSTM", seed)
        f, i = x @ weights.W_f + weights.b_f, x @ weights.W_i + weights.b_i
        k = np.logaddexp(0, -f) - np.logaddexp(0, -i)  # the logit of i / (f + i)
        c = x @ weights.W_h + weights.b_h
        first, second, zeros = np.eye(2 * UNITS)[:, :UNITS], np.eye(2 * UNITS)[:, UNITS:], np.zeros(UNITS)
        as_gru = oracle.MinGRU(first, zeros, second, zeros)  # takes k and c for its inputs
        inputs = np.concatenate([k, c], axis=-1)
        states = oracle.min_lstm(weights, x, None, start, positive_states).states
        np.testing.assert_allclose(states, oracle.min_gru(as_gru, inputs, None, start, positive_states).states, **TIGHT)


def eigenvalues_of(weights: oracle.LRU) -> Arrays:
    return np.exp(-np.exp(weights.nu_log) + 1j * np.exp(weights.theta_log))


class TestLRU:
    @SEEDS
    def test_outputs_are_a_convolution(self, seed: int) -> None:
        _, weights, x, _, _ = sample("LRU", seed)
        into = np.exp(weights.gamma_log) * (weights.B_re + 1j * weights.B_im)
        out = weights.C_re + 1j * weights.C_im
        kernel = [np.real(into * eigenvalues_of(weights) ** lag @ out) for lag in range(TIME)]
        expected = weights.D * x
        for t in range(TIME):
            for lag in range(t + 1):
                expected[:, t] += x[:, t - lag] @ kernel[lag]
        np.testing.assert_allclose(oracle.lru(weights, x).outputs, expected, **TIGHT)

    @SEEDS
    def test_states_are_those_of_complex_numbers(self, seed: int) -> None:
        _, weights, x, start, _ = sample("LRU", seed)
        states = oracle.lru(weights, x, initial_state=start).states
        into = np.exp(weights.gamma_log) * (weights.B_re + 1j * weights.B_im)
        h = start[..., 0] + 1j * start[..., 1]
        for t in range(TIME):
            h = eigenvalues_of(weights) * h + x[:, t] @ into
            np.testing.assert_allclose(states[:, t, :, 0] + 1j * states[:, t, :, 1], h, **TIGHT)


class TestRGLRU:
    @SEEDS
    def test_the_decay_is_a_power_of_a(self, seed: int) -> None:
        _, weights, x, start, _ = sample("RGLRU", seed)
        dense = np.zeros((2, 6, 6))
        for gate, blocks in enumerate([weights.W_a, weights.W_x]):
            dense[gate, :3, :3], dense[gate, 3:, 3:] = blocks
        h = start
        states = oracle.rg_lru(weights, x, initial_state=start).states
        for t in range(TIME):
            r = sigmoid(x[:, t] @ dense[0] + weights.b_a.reshape(6))
            i = sigmoid(x[:, t] @ dense[1] + weights.b_x.reshape(6))
            a = sigmoid(weights.Lambda) ** (8 * r)
            h = a * h + np.sqrt(1 - a**2) * i * x[:, t]
            np.testing.assert_allclose(states[:, t], h, rtol=1e-10, atol=1e-10)


def gla_keys(weights: oracle.GatedLinearAttention, x: Arrays) -> tuple[Arrays, Arrays, Arrays]:
    """Queries, keys and logarithms of the gates, heads side by side."""
    logits = x @ (weights.W_alpha @ weights.W_alpha2) + weights.b_alpha
    return x @ weights.W_q, x @ weights.W_k, -np.logaddexp(0, -logits) / 16


class TestLayersOfMatrixStates:
    @SEEDS
    def test_gated_linear_attention_is_a_sum_over_the_history(self, seed: int) -> None:
        """From inputs to outputs: o_t = sum_s (q_t * prod of the gates after s) . k_s v_s."""
        layer, weights, x, _, options = sample("GLA", seed)
        q, k, log_gates = (part.reshape(BATCH, TIME, HEADS, 3) for part in gla_keys(weights, x))
        v = (x @ weights.W_v).reshape(BATCH, TIME, HEADS, 5)
        total = np.cumsum(log_gates, axis=1)
        reads = np.zeros(v.shape)
        for t in range(TIME):
            for s in range(t + 1):
                strength = np.sum(q[:, t] * np.exp(total[:, t] - total[:, s]) * k[:, s], axis=-1, keepdims=True)
                reads[:, t] += strength * v[:, s]
        gate = x @ weights.W_r + weights.b_r
        length = np.sqrt(np.sum(reads**2, axis=-1, keepdims=True) / 5 + 1e-5)
        normalized = reads / length * weights.norm_scale
        expected = (gate / (1 + np.exp(-gate)) * normalized.reshape(BATCH, TIME, D_V)) @ weights.W_o
        np.testing.assert_allclose(layer(weights, x, **options).outputs, expected, **TIGHT)

    @SEEDS
    def test_a_delta_net_is_steps_of_descent(self, seed: int) -> None:
        """From inputs to outputs: the state descends |k S - v|^2 / 2 from where it has decayed to."""
        layer, weights, x, start, options = sample("DeltaNet", seed)
        q, k, v, gate = (
            u / (1 + np.exp(-u)) for u in (x @ W for W in (weights.W_q, weights.W_k, weights.W_v, weights.W_g))
        )
        beta = 1 / (1 + np.exp(-(x @ weights.W_beta)))
        step = np.logaddexp(0, x @ weights.W_a + weights.dt_bias)
        alpha = np.exp(-step * np.exp(weights.A_log))
        expected = np.zeros((BATCH, TIME, D_V))
        for head in range(HEADS):
            keys, values = slice(head * 3, head * 3 + 3), slice(head * 5, head * 5 + 5)
            for sequence in range(BATCH):
                S = start[sequence, head]
                for t in range(TIME):
                    query, key = (
                        part[sequence, t, keys] / np.hypot(np.linalg.norm(part[sequence, t, keys]), 1e-3)
                        for part in (q, k)
                    )
                    S = alpha[sequence, t, head] * S
                    S = S - beta[sequence, t, head] * np.outer(key, key @ S - v[sequence, t, values])
                    read = query @ S
                    normalized = read / np.hypot(np.linalg.norm(read) / np.sqrt(5), np.sqrt(1e-5))
                    expected[sequence, t, values] = gate[sequence, t, values] * normalized * weights.norm_scale
        outputs = layer(weights, x, initial_state=start, **options).outputs
        np.testing.assert_allclose(outputs, expected @ weights.W_o, **TIGHT)
