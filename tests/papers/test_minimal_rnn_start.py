"""Jacobians of untrained networks: draws, biases, and their section."""

import numpy as np

from examples.papers import minimal_rnn_start


def test_every_draw_adds_its_values_and_a_network_without_gates_has_no_gate_bias():
    protocol = {"units": 4, "length": 8, "batch": 2, "draws": 3, "lags": [0, 3], "scale": 1.0}
    values = minimal_rnn_start.singular_values(protocol)
    assert {kind: of_kind.shape for kind, of_kind in values.items()} == dict.fromkeys(
        ("vanilla", "GRU", "CFN", "MinimalRNN"), (2, 3 * 2 * 4)
    )
    biased = minimal_rnn_start.singular_values({**protocol, "gate_bias": 1.0})
    assert list(biased) == ["GRU", "CFN", "MinimalRNN"]
    assert not np.allclose(biased["GRU"], values["GRU"])
    np.testing.assert_array_equal(biased["MinimalRNN"], values["MinimalRNN"])  # 1 is its own


def test_critical_gates_are_those_of_networks_that_have_a_mean_field():
    protocol = {"units": 16, "length": 30, "batch": 2, "draws": 1, "lags": [0, 20], "scale": 1.0}
    values = minimal_rnn_start.singular_values({**protocol, "gate_steps": 100.0})
    assert list(values) == ["GRU", "MinimalRNN"]
    for of_kind in values.values():
        first, last = np.median(of_kind, axis=1)
        assert last > 0.5 * first
