"""What the paper says of MinimalRNN, CFN and GRU, held to the oracles.

The package's equations meet the oracles in test_equations.py.
"""

import numpy as np
import pytest

from tests.oracles.minimal_rnn import complex_step, states
from tests.state_regularized_samples import random_network

UNITS, FEATURES = 4, 5


def test_equation_5_as_printed_is_not_the_derivative_of_the_gru() -> None:
    """D_u + D_{(h - c) u (1 - u)} U_h + D_{(1 - u)(1 - c^2) r} W_h R_h."""
    rng = np.random.default_rng(1)
    network = random_network("GRU of reset before", rng, UNITS, FEATURES)
    h, x = rng.normal(size=UNITS), rng.normal(size=FEATURES)
    u, r, c = network.step(h, None, x)[2].values()
    printed = (
        np.diag(u)
        + np.diag((h - c) * u * (1 - u)) @ network.U_z
        + np.diag((1 - u) * (1 - c**2) * r) @ network.U_h @ network.U_r
    )
    assert np.abs(printed - complex_step(lambda h: network.step(h, None, x)[0], h)).max() > 0.1


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_minimal_rnn_stays_in_the_box_of_its_latents(seed: int) -> None:
    """A new state is a weighted mean of the state before and the latent, whose entries lie in [-1, 1]."""
    network = random_network("MinimalRNN", np.random.default_rng(seed), UNITS, FEATURES).network
    x = 10 * np.random.default_rng(seed).normal(size=(2, 50, FEATURES))
    assert np.abs(states(network, np.zeros(UNITS), x)).max() <= 1


def test_a_cfn_without_input_relaxes_to_zero() -> None:
    """Eq. 2 with zero candidates: |h_t| < |h_{t-1}| entry by entry."""
    rng = np.random.default_rng(0)
    network = random_network("CFN", rng, UNITS, FEATURES).network
    network = network._replace(W_x=0 * network.W_x, b_x=0 * network.b_x)
    path = [h := rng.normal(size=UNITS), *(h := network.step(h, np.zeros(FEATURES)) for _ in range(20))]
    assert (np.diff(np.abs(path), axis=0) < 0).all()
