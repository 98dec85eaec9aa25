"""The oracle of MinimalRNN, CFN and GRU, against differences and what the paper derives.

The package's equations meet the oracles in test_equations.py.
"""

import numpy as np
import pytest

from tests.gated_samples import assert_close, random_network
from tests.oracles import minimal_rnn as oracle
from tests.oracles.isan import numerical_gradient
from tests.samples import MASKS, make_mask

pytestmark = pytest.mark.core(2)  # cases are flags, or another layer in the same way


SEEDS = (0, 1, 2)
UNITS, FEATURES = 4, 5
every_seed = pytest.mark.parametrize("seed", SEEDS)
every_network = pytest.mark.parametrize("kind", ["MinimalRNN", "CFN", "GRU", "VanillaRNN"])


def drawn(kind: str, seed: int) -> tuple[oracle.Network, np.ndarray, np.ndarray]:
    """A network, a state (n,) and an input (features,)."""
    rng = np.random.default_rng(seed)
    network = random_network(kind, rng, UNITS, FEATURES)
    return network, rng.normal(size=UNITS), rng.normal(size=FEATURES)


class TestAgainstDifferences:
    @every_seed
    @every_network
    def test_the_oracles_jacobians(self, kind: str, seed: int) -> None:
        network, h, x = drawn(kind, seed)
        by_state, by_input = network.jacobians(h, x)
        assert by_input.shape == (UNITS, FEATURES)
        assert_close(by_state, oracle.complex_step(lambda h: network.step(h, x), h), "float64", "numpy")
        assert_close(by_input, oracle.complex_step(lambda x: network.step(h, x), x), "float64", "numpy")
        rows = [numerical_gradient(lambda h, i=i: network.step(h, x)[i], h) for i in range(UNITS)]
        np.testing.assert_allclose(by_state, rows, atol=1e-8)

    @pytest.mark.parametrize("k", [0, 1, 5])
    @every_network
    def test_the_oracles_input_jacobian_is_equation_4(self, kind: str, k: int) -> None:
        network, h, _ = drawn(kind, 1)
        x = np.random.default_rng(1).normal(size=(6, FEATURES))
        expected = oracle.complex_step(lambda x: oracle.states(network, h, x[None])[0, -1], x)[:, 5 - k]
        assert_close(oracle.input_jacobian(network, h, x, k), expected, "float64", "numpy")

    @pytest.mark.parametrize("mask", [None, *MASKS])
    @pytest.mark.parametrize("kind", ["MinimalRNN", "CFN"])
    def test_the_oracles_gradients(self, kind: str, mask: str | None) -> None:
        rng = np.random.default_rng(2)
        network = random_network(kind, rng, 2, 3)
        h, x, cotangent = (rng.normal(size=size) for size in ((2, 2), (2, 4, 3), (2, 4, 2)))
        mask = None if mask is None else make_mask(mask, rng, 2, 4)
        by_weight, by_start, by_input = oracle.loss_gradients(network, h, x, cotangent, mask)

        def loss(h=h, x=x, **weights) -> float:
            return float(np.sum(cotangent * oracle.states(network._replace(**weights), h, x, mask)))

        for name, weight in network._asdict().items():
            difference = numerical_gradient(lambda w, name=name: loss(**{name: w}), weight)
            np.testing.assert_allclose(getattr(by_weight, name), difference, atol=1e-7)
        np.testing.assert_allclose(by_start, numerical_gradient(lambda h: loss(h=h), h), atol=1e-7)
        np.testing.assert_allclose(by_input, numerical_gradient(lambda x: loss(x=x), x), atol=1e-7)


class TestEquation5:
    def test_the_printed_equation_differs_from_the_derivative(self) -> None:
        """D_u + D_{(h - c) u (1 - u)} U_h + D_{(1 - u)(1 - c^2) r} W_h R_h."""
        network, h, x = drawn("GRU", 0)
        u, r, c = network.parts(h, x)
        printed = (
            np.diag(u)
            + np.diag((h - c) * u * (1 - u)) @ network.U_h
            + np.diag((1 - u) * (1 - c**2) * r) @ network.W_h @ network.R_h
        )
        true = network.jacobians(h, x)[0]
        assert np.abs(printed - true).max() > 0.1

    def test_without_a_reset_the_gru_is_a_vanilla_network_under_one_gate(self) -> None:
        network, h, x = drawn("GRU", 0)
        network = network._replace(R_h=0 * network.R_h, R_x=0 * network.R_x, b_r=np.full(UNITS, 50.0))
        u, _, c = network.parts(h, x)
        vanilla = oracle.VanillaRNN(network.W_h, network.W_x, network.b_h).jacobians(h, x)[0]
        expected = np.diag(u) + np.diag((h - c) * u * (1 - u)) @ network.U_h + (1 - u)[:, None] * vanilla
        assert_close(network.jacobians(h, x)[0], expected, "float64", "numpy")


class TestBounds:
    @pytest.mark.parametrize("seed", SEEDS)
    def test_a_minimal_rnn_stays_in_the_box_of_its_latents(self, seed: int) -> None:
        """A new state is a weighted mean of the state before and the latent, whose entries lie in [-1, 1]."""
        network, _, _ = drawn("MinimalRNN", seed)
        x = 10 * np.random.default_rng(seed).normal(size=(2, 50, FEATURES))
        assert np.abs(oracle.states(network, np.zeros(UNITS), x)).max() <= 1

    def test_a_cfn_without_input_relaxes_to_zero(self) -> None:
        """Eq. 2 with zero candidates: |h_t| < |h_{t-1}| entry by entry."""
        network, h, _ = drawn("CFN", 0)
        network = network._replace(W_x=0 * network.W_x, b_x=0 * network.b_x)
        path = [h, *(h := network.step(h, np.zeros(FEATURES)) for _ in range(20))]
        assert (np.diff(np.abs(path), axis=0) < 0).all()
