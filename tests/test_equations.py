"""Every cell's equations in NumPy and in keras.ops, against the oracles: steps, quantities, linearized steps.

Then the stochastic component at its edges, and the oracles against Keras's own cells.

The Jacobians are those of the oracle's own step by the complex step, good to the last digits; the bound asked for of
the package is 1e-9, that of tests/tolerances.py is narrower.
"""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import pytest

from keras_interp_rnn import layers
from keras_interp_rnn._cells import equations_of
from keras_interp_rnn.equations import NUMPY, CellEquations, transitions
from tests.gated_samples import assert_close
from tests.oracles import state_regularized as oracle
from tests.oracles.minimal_rnn import complex_step
from tests.samples import MASKS, make_mask
from tests.state_regularized_samples import GATED, KINDS, make_cell, random_network, sample, set_weights

pytestmark = pytest.mark.core(2)  # cases are flags, or another layer in the same way


BATCH, UNITS, FEATURES, CENTROIDS = 3, 4, 5, 6
NAMES = {"z": "u", "hh": "candidate", "cc": "candidate"}
"""Quantities that the oracle calls by another letter."""
NAMESPACES = pytest.mark.parametrize(
    ("xp", "backend"), [(NUMPY, "numpy"), (keras.ops, None)], ids=["numpy", "keras.ops"]
)
every_kind = pytest.mark.parametrize("kind", [*KINDS, *GATED])
every_seed = pytest.mark.parametrize("seed", [0, 1, 2])


def float64(weight: Any) -> np.ndarray:
    return np.asarray(keras.ops.convert_to_numpy(weight), np.float64)


def known(kind: str, seed: int, xp: Any = NUMPY) -> tuple[oracle.Network, keras.layers.Layer, CellEquations]:
    """A network of the oracle's, the cell with its weights, and the cell's equations."""
    network = random_network(kind, np.random.default_rng(seed), UNITS, FEATURES)
    cell = make_cell(kind, UNITS, dtype="float64")
    cell.build((BATCH, FEATURES))
    set_weights(cell, network)
    equations = equations_of(cell, float64 if xp is NUMPY else keras.ops.convert_to_tensor)
    assert equations is not None
    return network, cell, equations


def drawn(kind: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Whole states (batch, s) and inputs (batch, features)."""
    rng = np.random.default_rng([seed, 1])
    states = 2 if kind.endswith("LSTM") else 1
    return rng.normal(size=(BATCH, states * UNITS)), rng.normal(size=(BATCH, FEATURES))


def of_rows(function: Any, *batches: np.ndarray) -> np.ndarray:
    return np.stack([function(*row) for row in zip(*batches, strict=True)])


def moved(network: oracle.Network, state: np.ndarray, x: np.ndarray, stochastic: Any = None) -> np.ndarray:
    """The oracle's next whole state."""
    h, c = (state, None) if len(state) == UNITS else (state[:UNITS], state[UNITS:])
    h, c, _ = network.step(h, c, x)
    h = h if stochastic is None else stochastic.state(h, np.zeros(CENTROIDS))
    return h if c is None else np.concatenate([h, c])


def split(state: np.ndarray) -> tuple[np.ndarray, ...]:
    return tuple(np.split(state, state.shape[-1] // UNITS, axis=-1))


def drive(equations: CellEquations, cell: Any, x: np.ndarray, xp: Any = NUMPY) -> tuple[Any, ...]:
    reads = cell.encode(keras.ops.convert_to_tensor(x)) if hasattr(cell, "encode") else keras.ops.convert_to_tensor(x)
    return equations.drive(xp, float64(reads) if xp is NUMPY else reads)


def tensors(xp: Any, *arrays: np.ndarray) -> tuple[Any, ...]:
    return arrays if xp is NUMPY else tuple(map(keras.ops.convert_to_tensor, arrays))


class TestSteps:
    @NAMESPACES
    @every_seed
    @every_kind
    def test_states_and_quantities(self, xp: Any, backend: str | None, kind: str, seed: int) -> None:
        network, cell, equations = known(kind, seed, xp)
        states, x = drawn(kind, seed)
        found = equations.step(xp, tensors(xp, *split(states)), drive(equations, cell, x, xp))
        assert len(found.states) == len(split(states))
        together = np.concatenate([keras.ops.convert_to_numpy(x) for x in found.states], axis=-1)
        # The encoder of a MinimalRNN is a layer: it runs on the backend, whatever the namespace.
        bound = None if kind == "MinimalRNN" else backend
        assert_close(together, of_rows(lambda s, x: moved(network, s, x), states, x), "float64", bound)
        halves = split(states) if len(found.states) == 2 else (*split(states), [None] * BATCH)
        expected = [network.step(*row)[2] for row in zip(*halves, x, strict=True)]
        assert {NAMES.get(name, name) for name in expected[0]} <= set(found.quantities)
        for name in expected[0]:
            values = np.stack([gates[name] for gates in expected])
            assert_close(found.quantities[NAMES.get(name, name)], values, "float64", bound)

    @every_kind
    def test_cells_of_other_activations_have_no_derivative(self, kind: str) -> None:
        if kind in GATED:
            pytest.skip("its activations are its own")
        cell = make_cell(kind, UNITS, activation="elu")
        cell.build((BATCH, FEATURES))
        equations = equations_of(cell, float64)
        assert equations is not None
        assert not equations.has_derivative


class TestLinearizedSteps:
    @NAMESPACES
    @every_seed
    @every_kind
    def test_by_state_and_input(self, xp: Any, backend: str | None, kind: str, seed: int) -> None:
        network, cell, equations = known(kind, seed, xp)
        states, x = drawn(kind, seed)
        self.check(network, None, cell, equations, states, x, xp)

    @pytest.mark.parametrize(
        "settings",
        [
            {"transition": "mixture"},
            {"transition": "mixture", "strength": 0.7},
            {"transition": "soft_argmax"},
            {"transition": "gumbel"},
            {"transition": "gumbel", "straight_through": True, "strength": 0.4},
        ],
        ids=str,
    )
    @every_kind
    def test_by_state_and_input_under_state_regularization(self, kind: str, settings: dict[str, Any]) -> None:
        network = random_network(kind, np.random.default_rng(3), UNITS, FEATURES)
        inner = make_cell(kind, UNITS, dtype="float64")
        cell = layers.StateRegularizedCell(inner, CENTROIDS, temperature=0.6, dtype="float64", **settings)
        cell.build((BATCH, FEATURES))
        set_weights(inner, network)
        S = np.random.default_rng(4).normal(size=(UNITS, CENTROIDS))
        cell.centroids.assign(S.T)
        equations = equations_of(cell, float64)
        assert equations is not None
        assert equations.has_derivative
        states, x = drawn(kind, 5)
        self.check(network, oracle.Stochastic(S, tau=0.6, **settings), cell, equations, states, x)

    @staticmethod
    def check(
        network: Any, stochastic: Any, cell: Any, equations: Any, states: np.ndarray, x: np.ndarray, xp: Any = NUMPY
    ) -> None:
        # The rows of a random P, not of the identity: every entry of the product counts.
        product = np.random.default_rng(6).normal(size=(BATCH, 3, states.shape[-1]))
        linear = equations.linearization(xp, tensors(xp, *split(states)), drive(equations, cell, x, xp))
        [rows] = tensors(xp, product)
        by_state = of_rows(lambda s, x: complex_step(lambda s: moved(network, s, x, stochastic), s), states, x)
        inner = cell.cell if hasattr(cell, "cell") else cell
        bound = "jax, tanh" if keras.backend.backend() == "jax" else keras.backend.backend()
        bound = bound if xp is keras.ops or isinstance(inner, layers.MinimalRNNCell) else "numpy"
        assert_close(linear.before(rows), product @ by_state, "float64", bound)
        by_input = float64(linear.input(rows))
        if isinstance(inner, layers.MinimalRNNCell):  # whose input is the latent here
            slope = 1 - float64(inner.encoder(x)) ** 2
            by_input = (by_input * slope[:, None]) @ float64(inner.encoder.kernel).T
        expected = of_rows(lambda s, x: complex_step(lambda x: moved(network, s, x, stochastic), x), states, x)
        assert_close(by_input, product @ expected, "float64", bound)


@NAMESPACES
def test_the_sigmoid_does_not_overflow(xp: Any, backend: str | None) -> None:
    x = np.array([-1e4, -800.0, -1.0, 0.0, 2.0, 800.0, 1e4])
    expected = [0, 0, 1 / (1 + np.e), 0.5, 1 / (1 + np.exp(-2)), 1, 1]
    assert_close(xp.sigmoid(*tensors(xp, x)), np.array(expected), "float64", backend)


@NAMESPACES
def test_transition_probabilities_do_not_overflow(xp: Any, backend: str | None) -> None:
    scores = np.array([[1e4, 0.0, -1e4], [-1e4, -1e4, -1e4], [0.0, 800.0, 800.0]])
    found = transitions.probabilities(xp, *tensors(xp, scores), 0.5)
    expected = np.array([[1, 0, 0], [1 / 3, 1 / 3, 1 / 3], [0, 0.5, 0.5]])
    assert_close(found, expected, "float64", backend)


@NAMESPACES
def test_gumbel_noise(xp: Any, backend: str | None) -> None:
    uniform = np.array([1e-30, 1e-3, np.exp(-1), 0.5, 0.999])
    found = transitions.gumbel(xp, *tensors(xp, uniform))
    expected = np.array([-np.log(30 * np.log(10)), -np.log(3 * np.log(10)), 0, -np.log(np.log(2)), 6.907255070523])
    # log goes through float32 on torch as on JAX, see tests/tolerances.py.
    np.testing.assert_allclose(keras.ops.convert_to_numpy(found), expected, atol=1e-9 if xp is NUMPY else 1e-5, rtol=0)


def test_the_oracle_has_the_same_transitions() -> None:
    assert tuple(transitions.NAMES) == oracle.TRANSITIONS


@pytest.mark.skipif(
    keras.backend.backend() == "jax",
    reason="Keras 3.15 on JAX: tanh of float64 is float32",
)
@pytest.mark.parametrize("mask", [None, "scattered"])
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "PeepholeLSTM"])
def test_recurrent_components_are_those_of_keras(kind: str, mask: str | None) -> None:
    some = sample(kind, mask=mask, strength=0.0)
    if some.mask is not None:
        some.mask[:, 0] = True  # before the first True Keras's loop on JAX (3.15) puts out the initial state
    cell = make_cell(kind, some.units, dtype="float64")
    layer = keras.layers.RNN(cell, return_sequences=True, dtype="float64")
    layer.build(some.inputs.shape)
    set_weights(cell, some.network)
    found = layer(some.inputs, initial_state=some.starts, mask=some.mask)
    assert_close(found, some.path(from_zeros=False).h, "float64")


def test_without_peepholes_the_peephole_lstm_is_the_lstm() -> None:
    some = sample("PeepholeLSTM")
    zeros = {name: np.zeros(some.units) for name in ("p_i", "p_f", "p_o")}
    path = some._replace(network=some.network._replace(**zeros)).path()
    expected = some._replace(network=oracle.LSTM(*some.network[:12])).path()
    assert_close(path.h, expected.h, "float64", "numpy")
    assert_close(path.c, expected.c, "float64", "numpy")
    assert np.abs(some.path().h - path.h).max() > 0.01


def test_each_peephole_opens_its_own_gate() -> None:
    """One unit, by hand: c_0 = 2, every other weight zero, candidate tanh(0.5)."""
    zero, one = np.zeros((1, 1)), np.zeros(1)
    network = oracle.PeepholeLSTM(*[zero, zero, one] * 4, one, one, one)._replace(b_c=np.full(1, 0.5))
    candidate, half = np.tanh(0.5), 0.5
    for name, i, f in (("p_i", oracle.sigmoid(2), half), ("p_f", half, oracle.sigmoid(2)), ("p_o", half, half)):
        u, c, gates = network._replace(**{name: np.ones(1)}).step(one, np.full(1, 2.0), one)
        memory = f * 2 + i * candidate
        o = oracle.sigmoid(memory) if name == "p_o" else half
        np.testing.assert_allclose([c[0], u[0], gates["o"][0]], [memory, o * np.tanh(memory), o], rtol=1e-14)


def test_the_first_transitions_of_the_layers_keep_gradients_at_a_twelfth() -> None:
    """1 / (12 tau), for the variance of the first centroids, uniform in [-0.5, 0.5], is 1 / 12."""
    cell = layers.StateRegularizedCell(keras.layers.GRUCell(8), 4000, temperature=1 / 12)
    cell.build((None, 3))
    sizes = np.linalg.svd(np.cov(keras.ops.convert_to_numpy(cell.centroids), rowvar=False) / float(cell.temperature))[1]
    np.testing.assert_allclose(sizes, 1, atol=0.15)


def test_masks_of_the_samples_hide_something() -> None:
    for kind in MASKS:
        assert not make_mask(kind, np.random.default_rng(0), 3, 7).all()


class TestEquationsOf:
    def test_a_subclass_that_computes_something_else_has_none(self) -> None:
        class Louder(layers.CFNCell):
            def step(self, inputs, state, dropout_mask):
                return 2 * super().step(inputs, state, dropout_mask)

        class OwnCall(keras.layers.GRUCell):
            def call(self, inputs, states, training=False):
                return inputs, [inputs]

        class Mixin:
            def call(self, inputs, states, training=False):
                return 2 * inputs, states

        class Mixed(Mixin, layers.CFNCell):
            pass

        class OwnName(layers.CFNCell):
            """Adds nothing that computes."""

            def __init__(self, units, **kwargs):
                super().__init__(units, **kwargs)
                self.purpose = "none"

        expected = {Louder: False, OwnCall: False, Mixed: False, OwnName: True, layers.CFNCell: True}
        for kind, has_some in expected.items():
            cell = kind(UNITS)
            cell.build((None, FEATURES))
            assert (equations_of(cell, float64) is not None) == has_some
        cell.call = lambda inputs, states: (inputs, [inputs])
        assert equations_of(cell, float64) is None

    def test_a_cell_of_the_user_may_define_equations(self) -> None:
        class Shifted(Cell := layers.CFNCell):
            def step(self, inputs, state, dropout_mask):
                return 1 + super().step(inputs, state, dropout_mask)

            def equations(self, read):
                return ("its own", *Cell.equations(self, read).__dict__)

        cell = Shifted(UNITS)
        cell.build((None, FEATURES))
        assert equations_of(cell, float64)[0] == "its own"  # type: ignore[index]

    def test_a_stack_has_none(self) -> None:
        stack = keras.layers.StackedRNNCells([keras.layers.GRUCell(3), layers.CFNCell(4)])
        stack.build((None, FEATURES))
        assert equations_of(stack, float64) is None


class TestTransitions:
    @pytest.mark.parametrize("name", transitions.NAMES)
    def test_a_name_and_a_config_give_the_transition(self, name: str) -> None:
        transition = transitions.get(name)
        assert transition.name == name
        assert transitions.get(transition) is transition
        assert transitions.get(transition.get_config()) == transition

    def test_a_config_has_the_settings(self) -> None:
        gumbel = transitions.Gumbel(straight_through=True)
        assert transitions.get(gumbel.get_config()) == gumbel != transitions.Gumbel()
        assert repr(gumbel) == "Gumbel(straight_through=True, sample_at_inference=False)"
        assert gumbel.is_hard
        assert gumbel.is_deterministic
        assert not transitions.Gumbel(sample_at_inference=True).is_deterministic

    def test_only_sampling_transitions_take_noise(self) -> None:
        takes = {name: [kind().takes_noise(training) for training in (True, False)] for name, kind in NOISY.items()}
        expected = {"mixture": [False, False], "soft_argmax": [False, False]}
        assert takes == {**expected, "gumbel": [True, False], "sample": [True, True]}

    @pytest.mark.parametrize("identifier", ["mixtrue", None, 3, {"name": "none"}])
    def test_an_unknown_transition_is_refused(self, identifier: Any) -> None:
        with pytest.raises(ValueError, match="must be one of 'mixture', 'soft_argmax', 'gumbel', 'sample'"):
            transitions.get(identifier)

    def test_a_cell_saves_a_transition_of_the_user(self) -> None:
        class Sharpened(transitions.Transition):
            """A mixture at half the temperature."""

            name = "sharpened, of the tests"

            def __call__(self, xp, scores, temperature, noise=None, scale=1.0):
                return super().__call__(xp, scores, temperature / 2)

        try:
            layer = layers.SRGRU(UNITS, 3, transition=Sharpened())
            again = layers.SRGRU.from_config(layer.get_config())
            assert type(again.cell.transition) is Sharpened
            half = layers.SRGRU(UNITS, 3, temperature=0.5)
            x = np.random.default_rng(0).normal(size=(2, 7, FEATURES)).astype("float32")
            layer(x), half(x)
            for ours, theirs in (
                (layer.cell.centroids, half.cell.centroids),
                *zip(*(part.cell.cell.weights for part in (layer, half)), strict=True),
            ):
                theirs.assign(ours)
            np.testing.assert_allclose(*(keras.ops.convert_to_numpy(part(x)) for part in (layer, half)), atol=1e-6)
        finally:
            del transitions.NAMES[Sharpened.name]


NOISY = dict(transitions.NAMES)
