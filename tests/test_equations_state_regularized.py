"""The equations of state regularization in float64 NumPy and in keras.ops, against loops written from the paper.

Then the loops themselves: against Keras's own cells, against differences, and against what the paper proves of them.
"""

import keras
import numpy as np
import pytest

from keras_interp_rnn import layers
from keras_interp_rnn.equations import NUMPY, StochasticComponent, transitions
from tests.gated_samples import assert_close
from tests.oracles import state_regularized as oracle
from tests.oracles.isan import numerical_gradient
from tests.samples import MASKS, make_mask
from tests.state_regularized_samples import (
    GATED,
    KINDS,
    make_cell,
    sample,
    set_weights,
)

pytestmark = pytest.mark.core(2)  # cases are flags, or another layer in the same way


SEEDS = (0, 1, 2)
BATCH, UNITS, CENTROIDS = 3, 4, 6
SMALL = {"batch": 2, "time": 4, "features": 5, "units": 3, "centroids": 6}
NAMESPACES = pytest.mark.parametrize(
    ("xp", "backend"), [(NUMPY, "numpy"), (keras.ops, None)], ids=["numpy", "keras.ops"]
)
every_seed = pytest.mark.parametrize("seed", SEEDS)
every_kind = pytest.mark.parametrize("kind", [*KINDS, *GATED])


def tensor(xp, array):
    return array if xp is NUMPY else keras.ops.convert_to_tensor(array)


def component(seed: int, **settings) -> tuple[oracle.Stochastic, np.ndarray, np.ndarray]:
    """A stochastic component, states u (batch, n) and Gumbel noise (batch, k)."""
    rng = np.random.default_rng(seed)
    stochastic = oracle.Stochastic(rng.normal(size=(UNITS, CENTROIDS)), **{"tau": 0.6, **settings})
    return stochastic, rng.normal(size=(BATCH, UNITS)), rng.gumbel(size=(BATCH, CENTROIDS))


def of_tensors(
    xp, centroids: np.ndarray, strength: float | np.ndarray = 1.0, tau: float = 1.0, noise: float = 1.0, transition=None
) -> StochasticComponent:
    strength = tensor(xp, np.asarray(strength, centroids.dtype))
    return StochasticComponent(transition or transitions.Mixture(), tensor(xp, centroids), tau, strength, noise)


def of_rows(function, *batches: np.ndarray) -> np.ndarray:
    return np.stack([function(*row) for row in zip(*batches, strict=True)])


class TestAgainstTheOracle:
    @NAMESPACES
    @every_seed
    def test_scores(self, xp, backend: str | None, seed: int) -> None:
        stochastic, u, _ = component(seed)
        found = of_tensors(xp, stochastic.S.T).scores(xp, tensor(xp, u))
        assert_close(found, of_rows(stochastic.similarities, u), "float64", backend)

    @NAMESPACES
    @every_seed
    @pytest.mark.parametrize("tau", [0.05, 0.6, 1.0, 9.0])
    def test_transition_probabilities(self, xp, backend: str | None, seed: int, tau: float) -> None:
        stochastic, u, g = component(seed, tau=tau, noise=0.7)
        scores = of_rows(stochastic.similarities, u)
        found = transitions.probabilities(xp, tensor(xp, scores), tau)
        assert_close(found, of_rows(stochastic.alpha, u), "float64", backend)
        found = transitions.probabilities(xp, tensor(xp, scores + 0.7 * g), tau)
        assert_close(found, of_rows(stochastic.perturbed, u, g), "float64", backend)

    @NAMESPACES
    @every_seed
    @pytest.mark.parametrize("transition", ["gumbel", "sample"])
    def test_noise_enters_the_weights_of_centroids(self, xp, backend: str | None, seed: int, transition: str) -> None:
        """Gumbel noise is scaled before the temperature divides it; sampling takes it whole."""
        stochastic, u, g = component(seed, transition=transition, noise=0.7)
        some = of_tensors(xp, stochastic.S.T, tau=0.6, noise=0.7, transition=transitions.NAMES[transition]())
        _, weights = some.transition_weights(xp, tensor(xp, u), tensor(xp, g))
        assert_close(weights, of_rows(stochastic.weights, u, g), "float64", backend)

    @NAMESPACES
    @every_seed
    @pytest.mark.parametrize("strength", [0.3, 1.0])
    def test_the_product_with_the_derivative(self, xp, backend: str | None, seed: int, strength: float) -> None:
        stochastic, u, _ = component(seed, strength=strength)
        product = np.random.default_rng(seed).normal(size=(BATCH, 2, UNITS))
        found = of_tensors(xp, stochastic.S.T, np.array(strength), tau=0.6).pull_back(
            xp, tensor(xp, u), tensor(xp, product)
        )
        jacobians = of_rows(lambda row: oracle.complex_step(stochastic.state, row), u)
        assert_close(found, product @ jacobians, "float64", backend)

    @NAMESPACES
    def test_transition_probabilities_do_not_overflow(self, xp, backend: str | None) -> None:
        scores = np.array([[1e4, 0.0, -1e4], [-1e4, -1e4, -1e4], [0.0, 800.0, 800.0]])
        found = transitions.probabilities(xp, tensor(xp, scores), 0.5)
        expected = np.array([[1, 0, 0], [1 / 3, 1 / 3, 1 / 3], [0, 0.5, 0.5]])
        assert_close(found, expected, "float64", backend)

    @NAMESPACES
    @every_seed
    @pytest.mark.parametrize("strength", [0.0, 0.3, 1.0])
    def test_the_state(self, xp, backend: str | None, seed: int, strength: float) -> None:
        stochastic, u, _ = component(seed, strength=strength)
        weights = of_rows(stochastic.weights, u)
        weights, u_ = tensor(xp, weights), tensor(xp, u)
        found = of_tensors(xp, stochastic.S.T, np.array(strength)).next_state(xp, u_, weights, weights)
        assert_close(found, of_rows(stochastic.state, u), "float64", backend)

    @NAMESPACES
    @pytest.mark.parametrize("strength", [0.0, 1.0])
    def test_the_state_at_either_end_is_exact(self, xp, backend: str | None, strength: float) -> None:
        """The other end may be anything: far off, it takes no digit away."""
        stochastic, u, _ = component(0)
        weights, centroids = of_rows(stochastic.weights, u), stochastic.S.T
        if strength == 0:
            centroids = 1e6 * centroids
        else:
            u = 1e6 * u
        weights, state = (tensor(xp, array.astype("float32")) for array in (weights, u))
        some = of_tensors(xp, centroids.astype("float32"), np.float32(strength))
        found = some.next_state(xp, state, weights, weights)
        expected = state if strength == 0 else xp.matmul(weights, some.centroids)
        np.testing.assert_array_equal(*(keras.ops.convert_to_numpy(x) for x in (found, expected)))

    @NAMESPACES
    def test_gumbel_noise(self, xp, backend: str | None) -> None:
        uniform = np.array([1e-30, 1e-3, np.exp(-1), 0.5, 0.999])
        found = transitions.gumbel(xp, tensor(xp, uniform))
        expected = np.array([-np.log(30 * np.log(10)), -np.log(3 * np.log(10)), 0, -np.log(np.log(2)), 6.907255070523])
        # log goes through float32 on torch as on JAX, see tests/tolerances.py.
        np.testing.assert_allclose(
            keras.ops.convert_to_numpy(found), expected, atol=1e-9 if xp is NUMPY else 1e-5, rtol=0
        )

    def test_the_oracle_has_the_same_transitions(self) -> None:
        assert tuple(transitions.NAMES) == oracle.TRANSITIONS


class TestTheOracle:
    @pytest.mark.skipif(
        keras.backend.backend() == "jax",
        reason="Keras 3.15 on JAX: tanh of float64 is float32",
    )
    @pytest.mark.parametrize("mask", [None, "scattered"])
    @pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "PeepholeLSTM"])
    def test_recurrent_components_are_those_of_keras(self, kind: str, mask: str | None) -> None:
        some = sample(kind, mask=mask, strength=0.0)
        if some.mask is not None:
            some.mask[:, 0] = True  # before the first True Keras's loop on JAX (3.15) puts out the initial state
        cell = make_cell(kind, some.units, dtype="float64")
        layer = keras.layers.RNN(cell, return_sequences=True, dtype="float64")
        layer.build(some.inputs.shape)
        set_weights(cell, some.network)
        found = layer(some.inputs, initial_state=some.starts, mask=some.mask)
        assert_close(found, some.path(from_zeros=False).h, "float64")

    def test_without_peepholes_the_peephole_lstm_is_the_lstm(self) -> None:
        some = sample("PeepholeLSTM")
        zeros = {name: np.zeros(some.units) for name in ("p_i", "p_f", "p_o")}
        path = some._replace(network=some.network._replace(**zeros)).path()
        expected = some._replace(network=oracle.LSTM(*some.network[:12])).path()
        assert_close(path.h, expected.h, "float64", "numpy")
        assert_close(path.c, expected.c, "float64", "numpy")
        assert np.abs(some.path().h - path.h).max() > 0.01

    def test_each_peephole_opens_its_own_gate(self) -> None:
        """One unit, by hand: c_0 = 2, every other weight zero, candidate tanh(0.5)."""
        zero, one = np.zeros((1, 1)), np.zeros(1)
        network = oracle.PeepholeLSTM(*[zero, zero, one] * 4, one, one, one)._replace(b_c=np.full(1, 0.5))
        candidate, half = np.tanh(0.5), 0.5
        for name, i, f in (("p_i", oracle.sigmoid(2), half), ("p_f", half, oracle.sigmoid(2)), ("p_o", half, half)):
            u, c, gates = network._replace(**{name: np.ones(1)}).step(one, np.full(1, 2.0), one)
            memory = f * 2 + i * candidate
            o = oracle.sigmoid(memory) if name == "p_o" else half
            np.testing.assert_allclose([c[0], u[0], gates["o"][0]], [memory, o * np.tanh(memory), o], rtol=1e-14)

    @pytest.mark.parametrize("transition", ["mixture", "gumbel"])
    @every_kind
    def test_its_gradients_are_the_slopes(self, kind: str, transition: str) -> None:
        some = sample(kind, 0, transition, mask="scattered", strength=0.8, **{**SMALL, "units": 2})
        g = np.random.default_rng(0).gumbel(size=(2, 4, 6))

        def loss(some=some) -> complex:
            return np.sum(some.cotangent * some.path(from_zeros=False, g=g).h)

        by_centroids = oracle.gradients(some.stochastic, lambda s: loss(some._replace(stochastic=s)))
        by_weights = oracle.gradients(some.network, lambda network: loss(some._replace(network=network)))
        found = by_centroids.S
        slopes = numerical_gradient(lambda S: float(loss(some.with_(S=S))), some.stochastic.S)
        np.testing.assert_allclose(found, slopes, atol=1e-6)
        for name in ("tau", "strength"):
            moved = [loss(some.with_(**{name: getattr(some.stochastic, name) + d})) for d in (1e-6, -1e-6)]
            np.testing.assert_allclose(getattr(by_centroids, name), (moved[0] - moved[1]) / 2e-6, atol=1e-6)
        network, gradient = some.network, by_weights
        if isinstance(network, oracle.Memoryless):
            return
        name = next(name for name in network._fields if name.startswith("U"))
        slopes = numerical_gradient(
            lambda U: float(loss(some._replace(network=network._replace(**{name: U})))), getattr(network, name)
        )
        np.testing.assert_allclose(getattr(gradient, name), slopes, atol=1e-6)

    @every_seed
    def test_a_hard_transition_has_the_value_of_a_centroid_and_the_slope_of_the_mixture(self, seed: int) -> None:
        stochastic, [u, *_], [g, *_] = component(seed)
        for hard, soft in (
            ({"transition": "soft_argmax"}, {"transition": "mixture"}),
            ({"transition": "gumbel", "straight_through": True}, {"transition": "gumbel"}),
        ):
            hard, soft = stochastic._replace(**hard), stochastic._replace(**soft)
            j = int(np.argmax(soft.weights(u, g)))
            assert_close(hard.state(u, g), stochastic.S[:, j], "float64", "numpy")
            found = oracle.complex_step(lambda u, hard=hard, g=g: hard.state(u, g), u)
            assert_close(found, oracle.complex_step(lambda u, soft=soft, g=g: soft.state(u, g), u), "float64", "numpy")
            by_S = oracle.complex_step(lambda S, hard=hard, g=g, u=u: hard._replace(S=S).state(u, g), stochastic.S)
            right = oracle.complex_step(lambda S, soft=soft, g=g, u=u: soft._replace(S=S).state(u, g), stochastic.S)
            assert_close(by_S, right, "float64", "numpy")

    @every_seed
    def test_a_sample_has_the_slope_of_its_centroid_alone(self, seed: int) -> None:
        stochastic, [u, *_], [g, *_] = component(seed, transition="sample")
        assert not oracle.complex_step(lambda u: stochastic.state(u, g), u).any()
        j = int(np.argmax(stochastic.weights(u, g)))
        expected = np.zeros((UNITS, UNITS, CENTROIDS))
        expected[:, :, j] = np.eye(UNITS)
        found = oracle.complex_step(lambda S: stochastic._replace(S=S).state(u, g), stochastic.S)
        assert_close(found, expected, "float64", "numpy")

    def test_the_greatest_of_perturbed_scores_is_a_draw(self) -> None:
        """Eq. 18: 5,000 draws, each share within six standard deviations."""
        stochastic, [u, *_], _ = component(0, transition="sample", tau=1.7)
        draws = np.random.default_rng(0).gumbel(size=(5_000, CENTROIDS))
        shares = np.mean([stochastic.weights(u, g) for g in draws], axis=0)
        alpha = stochastic.alpha(u)
        assert (np.abs(shares - alpha) < 6 * np.sqrt(alpha * (1 - alpha) / 5_000)).all()


class TestLimits:
    """Limits of the stochastic component. The theorems of section 4.1 are checked on the layers."""

    def test_the_temperature_runs_from_one_centroid_to_all(self) -> None:
        stochastic, [u, *_], _ = component(0)
        entropies = []
        for tau in (0.001, 0.1, 1.0, 10.0, 1e6):
            alpha = stochastic._replace(tau=tau).alpha(u)
            assert alpha.sum() == pytest.approx(1)
            entropies.append(-np.sum(alpha * np.log(np.maximum(alpha, 1e-300))))
        assert entropies == sorted(entropies)
        assert entropies[0] < 0.05
        assert entropies[-1] == pytest.approx(np.log(CENTROIDS))

    @every_seed
    def test_a_mixture_hands_on_changes_as_the_covariance_of_its_centroids(self, seed: int) -> None:
        """dh / du = Cov_alpha(S) / tau: the derivative of a softmax's mean."""
        rng = np.random.default_rng(seed)
        centroids, state, tau, small = rng.normal(size=(CENTROIDS, UNITS)), rng.normal(size=UNITS), 0.6, 1e-6

        component = StochasticComponent(transitions.Mixture(), centroids, tau, 1.0)

        def mixed(state: np.ndarray) -> np.ndarray:
            return component.next_state(NUMPY, state, *component.transition_weights(NUMPY, state))

        slopes = [(mixed(state + step) - mixed(state - step)) / (2 * small) for step in small * np.eye(UNITS)]
        alpha, _ = component.transition_weights(NUMPY, state)
        covariance = np.cov(centroids, rowvar=False, aweights=alpha, ddof=0)
        np.testing.assert_allclose(np.stack(slopes), covariance / tau, rtol=1e-6, atol=1e-8)

    def test_the_first_transitions_of_the_layers_keep_gradients_at_a_twelfth(self) -> None:
        """1 / (12 tau), for the variance of the first centroids, uniform in [-0.5, 0.5], is 1 / 12."""
        cell = layers.StateRegularizedCell(keras.layers.GRUCell(8), 4000, temperature=1 / 12)
        cell.build((None, 3))
        sizes = np.linalg.svd(
            np.cov(keras.ops.convert_to_numpy(cell.centroids), rowvar=False) / float(cell.temperature)
        )[1]
        np.testing.assert_allclose(sizes, 1, atol=0.15)

    def test_masks_of_the_samples_hide_something(self) -> None:
        for kind in MASKS:
            assert not make_mask(kind, np.random.default_rng(0), 3, 7).all()
