"""The equations of MinimalRNN, CFN and GRU, in float64 NumPy and in keras.ops, against loops written from the paper."""

import keras
import numpy as np
import pytest

from keras_interp_rnn import equations
from keras_interp_rnn.equations import NUMPY
from tests.gated_samples import assert_close, random_network
from tests.oracles import minimal_rnn as oracle
from tests.oracles.isan import numerical_gradient
from tests.samples import MASKS, make_mask

pytestmark = pytest.mark.core(2)  # cases are flags, or another layer in the same way


SEEDS = (0, 1, 2)
BATCH, UNITS, FEATURES = 3, 4, 5
NAMESPACES = pytest.mark.parametrize(
    ("xp", "backend"), [(NUMPY, "numpy"), (keras.ops, None)], ids=["numpy", "keras.ops"]
)
every_seed = pytest.mark.parametrize("seed", SEEDS)
every_network = pytest.mark.parametrize("kind", ["MinimalRNN", "CFN", "GRU", "VanillaRNN"])


class Package:
    """The package's equations with an oracle's weights: rows for columns."""

    def __init__(self, xp, network) -> None:
        self.xp, self.network, w = xp, network, network
        kind = type(network).__name__
        if kind == "MinimalRNN":
            weights = [w.U_z], [w.U_h], [w.b_u]
        elif kind == "CFN":
            weights = [w.V_u, w.V_i, w.W_x], [w.U_u, w.U_i], [w.b_u, w.b_i, w.b_x]
        else:
            weights = [w.U_x, w.R_x, w.W_x], [w.U_h, w.R_h, w.W_h], [w.b_u, w.b_r, w.b_h]
        self.equations = getattr(equations, kind)(*(self.tensor(np.concatenate(part).T) for part in weights))

    def tensor(self, array: np.ndarray):
        return array if self.xp is NUMPY else keras.ops.convert_to_tensor(array)

    def entering(self, h: np.ndarray, x: np.ndarray) -> tuple:
        """State and drive; the inputs of a MinimalRNN's equations are its latents."""
        reads = np.tanh(x @ self.network.W_x.T + self.network.b_z) if hasattr(self.network, "b_z") else x
        return (self.tensor(h),), self.equations.drive(self.xp, self.tensor(reads))

    def step(self, h: np.ndarray, x: np.ndarray):
        """The next state."""
        return self.equations.step(self.xp, *self.entering(h, x)).states[0]

    def jacobian(self, h: np.ndarray, x: np.ndarray, by: str = "before"):
        """dh_t/dh_{t-1} (batch, n, n), or by the input."""
        identity = self.tensor(np.tile(np.eye(UNITS), (len(h), 1, 1)))
        return getattr(self.equations.linearization(self.xp, *self.entering(h, x)), by)(identity)


def drawn(kind: str, seed: int) -> tuple[oracle.Network, np.ndarray, np.ndarray]:
    """A network, states (batch, n) and inputs (batch, features)."""
    rng = np.random.default_rng(seed)
    network = random_network(kind, rng, UNITS, FEATURES)
    return network, rng.normal(size=(BATCH, UNITS)), rng.normal(size=(BATCH, FEATURES))


def stacked(function, *batches: np.ndarray) -> np.ndarray:
    return np.stack([function(*row) for row in zip(*batches, strict=True)])


class TestAgainstTheOracle:
    @NAMESPACES
    @every_seed
    @pytest.mark.parametrize("kind", ["MinimalRNN", "CFN", "GRU"])
    def test_a_step_and_its_jacobians(self, xp, backend: str | None, kind: str, seed: int) -> None:
        network, h, x = drawn(kind, seed)
        package = Package(xp, network)
        assert_close(package.step(h, x), stacked(network.step, h, x), "float64", backend)
        by_state = stacked(lambda h, x: network.jacobians(h, x)[0], h, x)
        assert_close(package.jacobian(h, x), by_state, "float64", backend)
        reads = x
        if kind == "MinimalRNN":  # by the latent, which its equations read
            reads, network = np.tanh(x @ network.W_x.T + network.b_z), network._replace(W_x=None)
        by_input = stacked(lambda h, x: network.jacobians(h, x)[1], h, reads)
        assert_close(package.jacobian(h, x, "input"), by_input, "float64", backend)

    @NAMESPACES
    def test_the_sigmoid_does_not_overflow(self, xp, backend: str | None) -> None:
        x = np.array([-1e4, -800.0, -1.0, 0.0, 2.0, 800.0, 1e4])
        expected = [0, 0, 1 / (1 + np.e), 0.5, 1 / (1 + np.exp(-2)), 1, 1]
        found = xp.sigmoid(x if xp is NUMPY else keras.ops.convert_to_tensor(x))
        assert_close(found, np.array(expected), "float64", backend)


class TestAgainstDifferences:
    @every_seed
    @every_network
    def test_the_oracles_jacobians(self, kind: str, seed: int) -> None:
        network, h, x = drawn(kind, seed)
        h, x = h[0], x[0]
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
        expected = oracle.complex_step(lambda x: oracle.states(network, h[0], x[None])[0, -1], x)[:, 5 - k]
        assert_close(oracle.input_jacobian(network, h[0], x, k), expected, "float64", "numpy")

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
    def test_what_the_paper_prints_is_not_the_derivative(self) -> None:
        """D_u + D_{(h - c) u (1 - u)} U_h + D_{(1 - u)(1 - c^2) r} W_h R_h."""
        network, h, x = drawn("GRU", 0)
        h, x = h[0], x[0]
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
        h, x = h[0], x[0]
        network = network._replace(R_h=0 * network.R_h, R_x=0 * network.R_x, b_r=np.full(UNITS, 50.0))
        u, _, c = network.parts(h, x)
        vanilla = oracle.VanillaRNN(network.W_h, network.W_x, network.b_h).jacobians(h, x)[0]
        expected = np.diag(u) + np.diag((h - c) * u * (1 - u)) @ network.U_h + (1 - u)[:, None] * vanilla
        assert_close(Package(NUMPY, network).jacobian(h[None], x[None])[0], expected, "float64", "numpy")


class TestBounds:
    @pytest.mark.parametrize("seed", SEEDS)
    def test_a_minimal_rnn_stays_in_the_box_of_its_latents(self, seed: int) -> None:
        """A weighted mean of the state before and the latent: no entry leaves [-1, 1] from within."""
        network, _, _ = drawn("MinimalRNN", seed)
        x = 10 * np.random.default_rng(seed).normal(size=(2, 50, FEATURES))
        assert np.abs(oracle.states(network, np.zeros(UNITS), x)).max() <= 1

    def test_a_cfn_without_input_relaxes_to_zero(self) -> None:
        """Of eq. 2 with zero candidates, |h_t| < |h_{t-1}| entry by entry."""
        network, h, _ = drawn("CFN", 0)
        package = Package(NUMPY, network._replace(W_x=0 * network.W_x, b_x=0 * network.b_x))
        for _ in range(20):
            new = package.step(h, np.zeros((BATCH, FEATURES)))
            assert (np.abs(new) < np.abs(h)).all()
            h = new
