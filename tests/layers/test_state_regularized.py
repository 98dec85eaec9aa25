"""State-regularized layers: transitions, noise, temperature, strength, theorems, cells of the user.

The behaviour of every layer is in test_contract.py. Values are the oracle's in float64. The noise that a layer
draws is read off another layer of the same seed, see `revealed_noise`.
"""

import inspect
import itertools
import json
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
from keras import ops

from keras_interp_rnn import _backend, layers
from keras_interp_rnn.equations import transitions
from keras_interp_rnn.layers import StateRegularizedCell, StateRegularizedRNN
from tests import autodiff
from tests.gated_samples import assert_close
from tests.layers.common import numpy, tensor
from tests.layers.contract import BACKEND, QUICK
from tests.oracles import state_regularized as oracle
from tests.samples import outputs_of
from tests.state_regularized_samples import (
    GATED,
    KINDS,
    WITH_MEMORY,
    Sample,
    in_keras,
    make_cell,
    revealed_noise,
    sample,
    set_weights,
    variables,
)

pytestmark = pytest.mark.core(2)  # cases are flags, or another layer in the same way


SEED = 11
SMALL = {"batch": 2, "time": 3, "features": 5, "units": 4, "centroids": 6}
LAYERS = {"SimpleRNN": "SRSimpleRNN", "GRU": "SRGRU", "LSTM": "SRLSTM", "PeepholeLSTM": "SRPeepholeLSTM"}
TRANSITIONS: dict[str, dict[str, Any]] = {
    "mixture": {"transition": "mixture"},
    "soft_argmax": {"transition": "soft_argmax"},
    "gumbel": {"transition": "gumbel", "noise": 0.75},
    "straight through": {"transition": "gumbel", "straight_through": True},
    "sample": {"transition": "sample"},
}

every_kind = pytest.mark.parametrize("kind", [*KINDS, *GATED])
every_transition = pytest.mark.parametrize("transition", TRANSITIONS)
every_layer = pytest.mark.parametrize("kind", LAYERS)
without_memory = pytest.mark.parametrize("kind", [kind for kind in (*KINDS, *GATED) if kind not in WITH_MEMORY])


def noise_of(some: Sample, **flags: bool) -> np.ndarray:
    """The noise that a layer of the seed draws at its first call for these sequences."""
    return revealed_noise(SEED, (*some.inputs.shape[:2], some.centroids), **flags)[0]


def visited(states, S: np.ndarray) -> np.ndarray:
    """Bool (..., k): which of the centroids, the columns of S, each state is, digit by digit."""
    states = numpy(states)
    # Keras 3.15 on torch: a product of float64 goes through float32, see tests/tolerances.py.
    rows = S.T.astype("float32" if BACKEND == "torch" else states.dtype)
    return (states[..., None, :] == rows).all(axis=-1)


@pytest.fixture(params=["CPU", "accelerator"])
def device(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """An accelerator reads the inputs of all steps at once, and runs several steps a turn; here it is pretended."""
    title = "" if request.param == "CPU" else "a chip"
    monkeypatch.setattr(type(_backend.current()), "accelerator", lambda self: title)


@pytest.mark.usefixtures("device")
class TestValues:
    @pytest.mark.parametrize("seed", [0, 1])
    @every_transition
    @every_kind
    def test_every_transition_over_every_cell(self, kind: str, transition: str, seed: int) -> None:
        """In training, where gumbel draws; the flags that are off by default are on for one of the seeds."""
        some = sample(kind, seed, mask=[None, "scattered"][seed], strength=0.875, **TRANSITIONS[transition])
        reading = {"go_backwards": seed == 1, "regularize_last_step": seed == 0}
        layer = some.layer(return_sequences=True, return_state=True, seed=SEED, **reading)
        outputs, state, *memory = layer(some.inputs, mask=some.mask, training=True)
        path = some.path(g=noise_of(some, go_backwards=seed == 1), **reading)
        assert_close(outputs, some.outputs(path, go_backwards=seed == 1), "float64")
        assert_close(state, path.h[:, -1], "float64")
        assert len(memory) == (kind in WITH_MEMORY)
        for found in memory:
            assert_close(found, path.c[:, -1], "float64")

    @pytest.mark.parametrize("centroids", [1, 9])
    def test_numbers_of_centroids(self, centroids: int) -> None:
        some = sample("GRU", 3, centroids=centroids)
        assert_close(some.layer(return_sequences=True)(some.inputs), some.path().h, "float64")

    @every_layer
    def test_the_cells_and_how_the_centroids_begin(self, kind: str) -> None:
        drawn = []
        for _ in range(2):
            layer = getattr(layers, LAYERS[kind])(4, 6)
            layer.build((None, None, 5))
            drawn.append(numpy(layer.cell.centroids))
            assert np.abs(drawn[-1]).max() <= 0.5
            assert drawn[-1].std() > 0.15
        assert np.abs(drawn[0] - drawn[1]).max() > 0.1
        assert isinstance(layer, StateRegularizedRNN)
        assert isinstance(layer.cell, StateRegularizedCell)
        inner = {"PeepholeLSTM": layers.PeepholeLSTMCell}.get(kind) or getattr(keras.layers, f"{kind}Cell")
        assert type(layer.cell.cell) is inner
        for scalar in (layer.cell.temperature, layer.cell.strength, layer.cell.noise):
            assert tuple(scalar.shape) == ()
            assert any(weight is scalar for weight in layer.weights)


class TestPaths:
    """Cells of known equations read the inputs of all steps at once."""

    def path(self, layer: keras.layers.RNN, **call: Any) -> Any:
        layer(np.ones((2, 3, 4), "float32"), **call)
        return layer.chosen_path

    @every_layer
    def test_cells_of_known_equations_read_inputs_at_once(self, kind: str) -> None:
        for training in (False, True):
            assert self.path(getattr(layers, LAYERS[kind])(5, 2), training=training).name == "whole_sequence"

    @pytest.mark.parametrize(
        ("options", "reason"),
        [
            ({"dropout": 0.5}, "a cell with dropout runs step by step"),
            ({"recurrent_dropout": 0.5}, "a cell with dropout runs step by step"),
            ({"dtype": "mixed_bfloat16"}, "a cell that computes in bfloat16 runs step by step"),
            ({"reset_after": False}, "the cell of SRGRU runs step by step"),
            ({"activation": "elu"}, "the cell of SRGRU runs step by step"),
        ],
    )
    def test_other_cells_read_step_by_step(self, options: dict[str, Any], reason: str) -> None:
        chosen = self.path(layers.SRGRU(5, 2, **options), training=True)
        assert chosen == ("stepwise", f"{reason}: pass fused=False")

    def test_cells_and_transitions_of_ones_own_run_step_by_step(self) -> None:
        class Own(keras.layers.GRUCell):
            def call(self, inputs: Any, states: Any, training: bool = False) -> Any:
                return super().call(2 * inputs, states, training)

        class Scaled(transitions.Mixture):
            name = ""

        assert self.path(StateRegularizedRNN(StateRegularizedCell(Own(5), 2))).name == "stepwise"
        assert self.path(layers.SRGRU(5, 2, transition=Scaled())).name == "stepwise"


class TestEitherEnd:
    @pytest.mark.parametrize("transition", ["mixture", "sample"])
    @every_kind
    def test_strength_0_is_the_plain_cell(self, kind: str, transition: str) -> None:
        """Digit by digit, even of centroids that would drown it."""
        some = sample(kind, time=3, strength=0.0, **TRANSITIONS[transition])
        some = some.with_(S=1e6 * some.stochastic.S)
        layer, stepwise = (some.layer(return_sequences=True, dtype="float32", fused=fused) for fused in ("auto", False))
        plain = keras.layers.RNN(stepwise.cell.cell, return_sequences=True)
        whole, found, expected = (numpy(each(some.inputs, training=True)) for each in (layer, stepwise, plain))
        assert_close(whole, expected, "float32")
        if BACKEND == "jax":  # XLA compiles two loops, each with sums in an order of its own
            assert_close(found, expected, "float32")
        else:
            np.testing.assert_array_equal(found, expected)

    @pytest.mark.parametrize("transition", ["soft_argmax", "straight through", "sample"])
    @every_layer
    def test_strength_1_allows_only_centroids_as_states(self, kind: str, transition: str) -> None:
        some = sample(kind, **TRANSITIONS[transition])
        states = some.layer(return_sequences=True)(some.inputs, training=True)
        assert visited(states, some.stochastic.S).any(axis=-1).all()


class TestSettings:
    @pytest.mark.parametrize("learn_temperature", [False, True])
    def test_set_temperature_changes_fixed_and_learned_temperatures(self, learn_temperature: bool) -> None:
        some = sample("GRU", tau=0.375)
        layer = some.layer(learn_temperature=learn_temperature, return_sequences=True)
        cell = layer.cell
        assert float(numpy(cell.current_temperature())) == pytest.approx(0.375, rel=1e-6)
        assert_close(layer(some.inputs), some.path().h, "float64")
        cell.set_temperature(3.0)
        assert float(numpy(cell.current_temperature())) == pytest.approx(3, rel=1e-6)
        assert_close(layer(some.inputs), some.with_(tau=3.0).path().h, "float64")
        names = {variable.name for variable in layer.trainable_variables}
        assert ("log_temperature" in names) == learn_temperature
        assert ("temperature" in {weight.name for weight in layer.weights}) != learn_temperature
        if learn_temperature:
            cell.log_temperature.assign(-5.0)
            assert float(numpy(cell.current_temperature())) == pytest.approx(np.exp(-5), rel=1e-6)

    def test_settings_have_the_precision_of_the_layer(self) -> None:
        settings = {"temperature": 0.7, "strength": 0.9, "noise": 0.8}
        for learn_temperature in (False, True):
            cell = StateRegularizedCell(
                keras.layers.GRUCell(4, dtype="float64"),
                6,
                **settings,
                learn_temperature=learn_temperature,
                dtype="float64",
            )

            def seen(cell=cell) -> list[float]:
                return [float(numpy(x)) for x in (cell.current_temperature(), cell.strength, cell.noise)]

            # Through exp and log, float64 is float32 on JAX and torch, see tests/tolerances.py.
            rough = 1e-6 if learn_temperature and BACKEND != "tensorflow" else 1e-14
            np.testing.assert_allclose(seen(), list(settings.values()), rtol=rough)
            for name in settings:
                getattr(cell, f"set_{name}")(0.6)
            np.testing.assert_allclose(seen(), 0.6, rtol=rough)

    @pytest.mark.parametrize("value", [2, 2.0, np.float32(2), np.int64(2)])
    def test_settings_take_numbers_of_any_type(self, value) -> None:
        cell = StateRegularizedCell(keras.layers.GRUCell(4), np.int64(3), temperature=value, noise=value)
        assert float(numpy(cell.current_temperature())) == 2
        assert json.loads(json.dumps(cell.get_config()))["noise"] == 2

    def test_a_compiled_model_sees_new_settings_and_draws_noise_at_every_call(self) -> None:
        some = sample("GRU", transition="gumbel")
        some = some._replace(inputs=some.inputs.astype("float32").astype("float64"))  # to which `predict` rounds
        inputs = keras.Input((None, 2), dtype="float64")
        layer = some.layer(return_sequences=True, sample_at_inference=True, seed=SEED)
        model = keras.Model(inputs, layer(inputs))
        settings = [{}, {"temperature": 2.5}, {"strength": 0.375}, {"noise": 0.25}]
        for setting, g in zip(settings, revealed_noise(SEED, (3, 5, 6), draws=4), strict=True):
            for name, value in setting.items():
                getattr(layer.cell, f"set_{name}")(value)
                some = some.with_(**{name.replace("temperature", "tau"): value})
            assert_close(model.predict(some.inputs, verbose=0), some.path(g=g).h, "float64")

    def test_fit_moves_only_weights_that_are_learned(self) -> None:
        x = np.random.default_rng(0).normal(size=(8, 3, 5)).astype("float32")
        inputs = keras.Input((3, 5))
        settings = ({}, {"learn_centroids": False}, {"learn_temperature": True})
        parts = [layers.SRSimpleRNN(4, 6, **arguments) for arguments in settings]
        model = keras.Model(inputs, keras.layers.Add()([part(inputs) for part in parts]))
        before = [{weight.name: numpy(weight).copy() for weight in part.weights} for part in parts]
        model.compile(keras.optimizers.SGD(0.5), "mse", jit_compile=QUICK)
        model.fit(x, x[:, 0, :4], epochs=1, verbose=0)
        moved = [
            {weight.name for weight in part.weights if np.abs(numpy(weight) - old[weight.name]).max() > 1e-6}
            for part, old in zip(parts, before, strict=True)
        ]
        of_cell = {"kernel", "recurrent_kernel", "bias"}
        assert moved == [of_cell | {"centroids"}, of_cell, of_cell | {"centroids", "log_temperature"}]


class TestNoise:
    def test_noise_is_drawn_for_each_step_of_each_sequence(self) -> None:
        [first, second] = revealed_noise(SEED, (50, 7, 6), draws=2)
        differences = first[..., 1:] - first[..., :1]
        assert len(np.unique(differences.round(9))) == differences.size
        assert np.abs(first - second).max() > 1
        # The difference of two Gumbels is logistic: mean 0, variance pi^2 / 3.
        assert abs(differences[..., ::2].mean()) < 0.2
        pairs = first[..., ::2] - first[..., 1::2]
        assert pairs.var() == pytest.approx(np.pi**2 / 3, rel=0.2)
        # From step to step and from sequence to sequence nothing carries over.
        for axis in (0, 1):
            moved = np.roll(pairs, 1, axis=axis)
            assert abs(np.corrcoef(pairs.ravel(), moved.ravel())[0, 1]) < 6 / np.sqrt(pairs.size)

    @pytest.mark.parametrize("transition", ["gumbel", "sample"])
    def test_a_seed_repeats_noise(self, transition: str) -> None:
        some = sample("GRU", transition=transition)
        first, same, other = (some.layer(return_sequences=True, seed=seed) for seed in (3, 3, 4))
        drawn = [numpy(first(some.inputs, training=True)) for _ in range(2)]
        for states in drawn:
            np.testing.assert_array_equal(states, numpy(same(some.inputs, training=True)))
        assert np.abs(drawn[0] - drawn[1]).max() > 0.1
        assert np.abs(drawn[0] - numpy(other(some.inputs, training=True))).max() > 0.1

    def test_without_a_seed_the_global_seed_repeats_noise(self) -> None:
        some = sample("GRU", transition="sample")
        drawn = []
        for seed in (1, 1, 2):
            keras.utils.set_random_seed(seed)
            drawn.append(numpy(some.layer(return_sequences=True)(some.inputs)))
        np.testing.assert_array_equal(drawn[0], drawn[1])
        assert np.abs(drawn[0] - drawn[2]).max() > 0.1

    def test_noise_is_drawn_in_training_or_by_sampling(self) -> None:
        some = sample("GRU")

        def spread(transition: str, training: bool, **arguments: Any) -> float:
            layer = some.with_(**TRANSITIONS[transition]).layer(**arguments)
            return float(np.ptp([numpy(layer(some.inputs, training=training)) for _ in range(2)], axis=0).max())

        for transition in TRANSITIONS:
            draws = transition not in ("mixture", "soft_argmax")
            assert (spread(transition, True) > 0) == draws
            assert (spread(transition, False) > 0) == (transition == "sample")
        assert spread("gumbel", False, sample_at_inference=True) > 0

    @pytest.mark.parametrize("transition", ["sample", "straight through"])
    def test_shares_of_the_centroids(self, transition: str) -> None:
        """20,000 draws are within six standard deviations of alpha, and two steps are independent.

        Eq. 19's draw has the temperature on both terms, so its shares are those of a temperature of 1.
        """
        some = sample("SimpleRNN", centroids=3, tau=1.8, **TRANSITIONS[transition])
        some = some._replace(network=some.network._replace(U=np.zeros((4, 4))))
        x = np.tile(some.inputs[:1, :1], (20_000, 2, 1))
        states = some.layer(return_sequences=True, dtype="float32", seed=5)(x, training=True)
        drawn = visited(states, some.stochastic.S).argmax(axis=-1)
        u, _, _ = some.network.step(np.zeros(4), None, some.inputs[0, 0])
        alpha = some.stochastic._replace(tau=1.8 if transition == "sample" else 1.0).alpha(u)
        assert alpha.max() < 0.9
        for i, j in itertools.product(range(3), range(3)):
            expected = alpha[i] * alpha[j]
            share = np.mean((drawn[:, 0] == i) & (drawn[:, 1] == j))
            assert abs(share - expected) < 6 * np.sqrt(expected * (1 - expected) / 20_000)

    def test_fit_draws_at_every_batch(self) -> None:
        layer = layers.SRGRU(4, 6, transition="sample")
        model = keras.Sequential([keras.Input((6, 5)), layer])
        model.compile(keras.optimizers.SGD(0.0), "mse", jit_compile=QUICK)
        x = np.ones((8, 6, 5), "float32")
        history = model.fit(x, np.zeros((8, 4), "float32"), epochs=4, verbose=0).history["loss"]
        assert len(set(history)) > 1


@pytest.mark.usefixtures("device")
class TestGradients:
    @staticmethod
    def check(some: Sample, g: np.ndarray | None = None, **flags: bool) -> None:
        """Gradients by every weight, the centroids, the temperature, the inputs and the states."""
        layer = some.layer(return_sequences=True, learn_temperature=True, seed=SEED, **flags)
        layer.cell.seed_generator.state.assign(some.layer(seed=SEED).cell.seed_generator.state)
        start = numpy(layer.cell.seed_generator.state).copy()
        go_backwards = flags.get("go_backwards", False)
        cotangent = outputs_of(some.cotangent, some.mask, go_backwards)

        def loss(inputs, *starts):
            outputs = layer(inputs, initial_state=list(starts), mask=some.mask, training=True)
            return ops.sum(tensor(some.cotangent) * outputs)

        def value(some: Sample) -> complex:
            return np.sum(cotangent * some.path(from_zeros=False, g=g, **flags).h)

        given = [some.inputs, *some.starts]
        cell = layer.cell
        watched = [*variables(cell.cell), cell.centroids, cell.log_temperature]
        found = autodiff.variable_gradients(lambda: loss(*(tensor(array) for array in given)), watched)
        cell.seed_generator.state.assign(start)
        found += autodiff.gradients(loss, given)
        by_network = oracle.gradients(some.network, lambda network: value(some._replace(network=network)))
        by_component = oracle.gradients(some.stochastic, lambda s: value(some._replace(stochastic=s)))
        expected = [*in_keras(by_network), by_component.S.T, by_component.tau * some.stochastic.tau]
        for name in ("inputs", "start", "memory")[: len(given)]:
            expected.append(
                oracle.complex_step(lambda x, name=name: value(some._replace(**{name: x})), getattr(some, name))
            )
        for gradient, right in zip(found, expected, strict=True):
            assert_close(gradient, right, "float64")

    @pytest.mark.parametrize("transition", ["mixture", "gumbel"])
    @every_kind
    def test_gradients_of_every_cell(self, kind: str, transition: str) -> None:
        some = sample(kind, mask="trailing", strength=0.875, **SMALL, **TRANSITIONS[transition])
        self.check(some, noise_of(some))

    @pytest.mark.parametrize("transition", ["soft_argmax", "straight through"])
    @pytest.mark.parametrize("kind", ["SimpleRNN", "PeepholeLSTM"])
    def test_gradients_of_a_hard_transition_equal_those_of_its_softmax(self, kind: str, transition: str) -> None:
        """One step and several: the states are centroids, the slopes are those of the mixture."""
        for time in (1, 3):
            some = sample(kind, **{**SMALL, "time": time}, **TRANSITIONS[transition])
            self.check(some, noise_of(some))

    @pytest.mark.parametrize("kind", ["SimpleRNN", "LSTM"])
    def test_gradients_of_a_sample_equal_those_of_its_centroid(self, kind: str) -> None:
        some = sample(kind, **SMALL, transition="sample")
        self.check(some, noise_of(some))

    def test_a_sample_passes_no_gradient_to_the_cell(self) -> None:
        some = sample("GRU", **SMALL, transition="sample")
        layer = some.layer(learn_temperature=True)
        watched = [*variables(layer.cell.cell), layer.cell.log_temperature, layer.cell.centroids]
        *through, by_centroids = autodiff.variable_gradients(lambda: ops.sum(layer(some.inputs)), watched)
        for gradient in through:
            np.testing.assert_array_equal(gradient, 0)
        # Two sequences end in one centroid each.
        np.testing.assert_allclose(np.unique(by_centroids.sum(axis=1))[-1] % 4, 0)
        assert by_centroids.sum() == 2 * 4


class TestTheorems:
    @staticmethod
    def texts(seed: int, batch: int, time: int) -> tuple[np.ndarray, np.ndarray]:
        """Two symbols as vectors, and texts of them."""
        rng = np.random.default_rng(seed)
        return rng.normal(size=(2, 5)), rng.integers(2, size=(batch, time))

    @pytest.mark.parametrize("seed", [0, 1])
    @without_memory
    def test_a_sampling_network_is_a_probabilistic_automaton(self, kind: str, seed: int) -> None:
        """Theorem 4.1, first: where a history led to centroid i, the next symbol alone decides on the probabilities.

        They are read off the state that the mixture makes of them in the next step.
        """
        symbols, text = self.texts(seed, 40, 12)
        some = sample(kind, seed, transition="sample", batch=40, time=12, features=5, centroids=3)
        some = some._replace(inputs=symbols[text])
        states = numpy(some.layer(return_sequences=True)(some.inputs))
        seen = visited(states, some.stochastic.S)
        assert seen.any(axis=-1).all(), "a state that is no centroid"
        i, a = seen[:, :-1].argmax(axis=-1).ravel(), text[:, 1:].ravel()
        before, read = states[:, :-1].reshape(-1, 4), some.inputs[:, 1:].reshape(-1, 1, 5)
        mixture = some.with_(transition="mixture").layer()
        found = mixture(tensor(read), initial_state=tensor(before))
        automaton = oracle.probabilistic_automaton(some.network, some.stochastic, symbols)
        assert_close(found, automaton[a, i] @ some.stochastic.S.T, "float64")
        # Then: the transitions it makes have those probabilities.
        j = seen[:, 1:].argmax(axis=-1).ravel()
        for pair in {*zip(a, i, strict=True)}:
            to = j[(a == pair[0]) & (i == pair[1])]
            for centroid in range(3):
                p = automaton[(*pair, centroid)]
                assert abs(np.sum(to == centroid) - len(to) * p) <= 6 * np.sqrt(len(to) * p * (1 - p)) + 1

    @pytest.mark.parametrize("kind", WITH_MEMORY)
    def test_a_network_with_a_memory_is_no_automaton(self, kind: str) -> None:
        """The theorem is of networks without one: of one centroid, one symbol, and two histories."""
        symbols, text = self.texts(0, 40, 12)
        some = sample(kind, transition="sample", batch=40, time=12, features=5, centroids=2)._replace(
            inputs=symbols[text]
        )
        layer = some.layer(return_state=True)
        _, state, memory = layer(some.inputs)
        ends = visited(state, some.stochastic.S)[:, 0]
        assert ends.sum() > 2
        step = np.tile(symbols[0], (40, 1, 1))
        found = numpy(some.with_(transition="mixture").layer()(tensor(step), initial_state=[state, memory]))
        assert np.ptp(found[ends], axis=0).max() > 0.01

    @pytest.mark.parametrize("transition", ["mixture", "soft_argmax", "gumbel", "sample"])
    @without_memory
    def test_a_cold_network_is_a_deterministic_automaton(self, kind: str, transition: str) -> None:
        """Theorem 4.2, with tau a sixtieth of the least margin between two centroids."""
        symbols, text = self.texts(22, 6, 12)
        some = sample(kind, 22, transition=transition, batch=6, time=12, features=5, centroids=3)
        automaton = oracle.deterministic_automaton(some.network, some.stochastic, np.zeros(4), symbols)
        some = some.with_(tau=automaton.margin / 60)._replace(inputs=symbols[text])
        walks = np.array([automaton.walk(word) for word in text])
        assert len(np.unique(walks)) > 1, "an automaton of one state"
        assert_close(some.layer(return_sequences=True)(some.inputs), some.stochastic.S.T[walks], "float64")


@keras.saving.register_keras_serializable(package="tests")
class OwnCell(keras.layers.Layer):
    """A cell as a user may write it: no list of states, no initial state, an output other than the state."""

    def __init__(self, units: int, counts: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.units, self.counts = units, counts
        self.state_size = [units, 2] if counts else units

    def build(self, input_shape: Any) -> None:
        self.kernel = self.add_weight(shape=(input_shape[-1] + self.units, self.units), name="kernel")

    def call(self, inputs, states):
        h = states[0] if isinstance(states, (list, tuple)) else states
        new = ops.tanh(ops.matmul(ops.concatenate([inputs, h], axis=-1), self.kernel))
        return 3 * new, [new, states[1] + 1] if self.counts else new

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "units": self.units, "counts": self.counts}


class TestCells:
    @pytest.mark.parametrize("transition", ["sample", "straight through"])
    def test_a_cell_in_the_loop_of_keras_draws_noise(self, transition: str) -> None:
        some = sample("GRU", batch=50, **TRANSITIONS[transition])
        layer = keras.layers.RNN(some.cell(seed=3), return_sequences=True, dtype="float64")
        states = numpy(layer(some.inputs, training=True))
        seen = visited(states, some.stochastic.S)
        assert seen.any(axis=-1).all()
        assert (seen.sum(axis=(0, 1)) > 0).sum() > 3
        again = numpy(layer(some.inputs, training=True))
        # On JAX, Keras's loop is traced once, and the draw with it (3.15).
        assert (np.abs(again - states).max() > 0.1) == (BACKEND != "jax")

    @pytest.mark.parametrize("counts", [False, True])
    def test_a_cell_of_the_user_is_regularized(self, counts: bool) -> None:
        some = sample("SimpleRNN", mask="trailing")
        own = OwnCell(4, counts, dtype="float64")
        cell = StateRegularizedCell(own, 6, temperature=0.75, dtype="float64")
        layer = StateRegularizedRNN(cell, return_sequences=True, return_state=True, dtype="float64")
        layer.build(some.inputs.shape)
        own.kernel.assign(np.concatenate([some.network.W.T, some.network.U.T]))
        cell.centroids.assign(np.ascontiguousarray(some.stochastic.S.T))
        without_bias = some._replace(network=some.network._replace(b=np.zeros(4)))
        outputs, _, *rest = layer(some.inputs, mask=some.mask)
        assert_close(outputs, without_bias.outputs(without_bias.path()), "float64")
        if counts:
            assert_close(rest[0], np.tile(some.mask.sum(axis=1, keepdims=True), (1, 2)).astype("float64"), "float64")
        again = StateRegularizedRNN.from_config(json.loads(json.dumps(layer.get_config())))
        assert type(again.cell.cell) is OwnCell

    def test_a_cell_that_reads_ids(self) -> None:
        """A layer with an encoder equals one without that reads the encoded inputs."""
        encoder = keras.layers.Embedding(5, 4)
        layer, twin = (
            StateRegularizedRNN(StateRegularizedCell(layers.MinimalRNNCell(4, encoder=each), 6), return_sequences=True)
            for each in (encoder, keras.layers.Identity())
        )
        ids = np.random.default_rng(0).integers(5, size=(3, 7)).astype("int32")
        states = layer(ids)
        assert states.shape == (3, 7, 4)
        encoded = encoder(ids)
        twin.build(encoded.shape)
        for name in ("kernel", "recurrent_kernel", "bias"):
            getattr(twin.cell.cell, name).assign(getattr(layer.cell.cell, name))
        twin.cell.centroids.assign(layer.cell.centroids)
        assert_close(twin(encoded), numpy(states), "float32")


@pytest.mark.skipif(BACKEND != "tensorflow", reason="tf.function is TensorFlow's")
class TestCompiled:
    @pytest.mark.matrix
    @every_transition
    def test_an_exported_model_computes_the_same_on_any_batch(self, transition: str, tmp_path: Path) -> None:
        """With the last settings; 'sample' draws new noise at every call."""
        import tensorflow as tf

        some = sample("PeepholeLSTM", **TRANSITIONS[transition])
        layer = some.layer(return_sequences=True, regularize_last_step=False, seed=SEED)
        inputs = keras.Input((None, 2), dtype="float64")
        model = keras.Model(inputs, layer(inputs))
        layer.cell.set_temperature(2.5)
        layer.cell.set_strength(0.875)
        model.export(tmp_path / "saved_model", verbose=False)
        served = tf.saved_model.load(str(tmp_path / "saved_model"))
        seen = []
        for draws, size in enumerate(({}, {"batch": 5, "time": 1}, {"batch": 1, "time": 7}, {}), start=1):
            batch = sample("PeepholeLSTM", 1, **size)
            given = some.with_(tau=2.5, strength=0.875)._replace(
                inputs=batch.inputs, start=batch.start, memory=batch.memory
            )
            shape = (*batch.inputs.shape[:2], 6)
            # Gumbel's noise is of training alone.
            g = revealed_noise(SEED, shape, draws)[-1] if transition == "sample" else np.zeros(shape)
            seen.append(served.serve(batch.inputs))
            assert_close(seen[-1], given.path(g=g, regularize_last_step=False).h, "float64")
            if transition != "sample":
                assert_close(seen[-1], model(batch.inputs), "float64")
        assert (np.abs(seen[0] - seen[-1]).max() > 0.1) == (transition == "sample")


class TestDropout:
    RATES = {"dropout": 0.4, "recurrent_dropout": 0.4}

    def test_dropout_of_the_state_is_drawn_once_a_sequence(self) -> None:
        layer = layers.SRSimpleRNN(
            4, 6, strength=0.0, recurrent_dropout=0.4, seed=3, activation=None, return_sequences=True
        )
        layer.build((None, None, 4))
        set_weights(layer.cell.cell, oracle.VanillaRNN(np.zeros((4, 4)), np.eye(4), np.zeros(4)))
        x, start = np.ones((200, 6, 4), "float32"), np.ones((200, 4), "float32")
        seen = numpy(layer(x, initial_state=start, training=True))
        kept = seen[:, 0] > 0.5
        assert abs(kept.mean() - 0.6) < 0.07
        for t in range(6):
            np.testing.assert_allclose(seen[:, t], kept / 0.6 ** (t + 1), rtol=1e-4, atol=1e-4)

    def test_dropout_and_noise_of_one_seed_are_independent(self) -> None:
        """One layer shows its dropout, its twin, with no kernel and unit vectors for centroids, its noise."""
        arguments = {"transition": "gumbel", "dropout": 0.5, "activation": None, "seed": 3, "return_sequences": True}
        seen = []
        for strength, kernel in ((0.0, np.eye(6)), (1.0, np.zeros((6, 6)))):
            layer = layers.SRSimpleRNN(6, 6, strength=strength, **arguments)
            layer.build((None, None, 6))
            set_weights(layer.cell.cell, oracle.VanillaRNN(kernel, np.zeros((6, 6)), np.zeros(6)))
            layer.cell.centroids.assign(np.eye(6))
            seen.append(numpy(layer(np.ones((200, 3, 6), "float32"), training=True)))
        kept, noise = seen[0][:, 0] > 0.5, np.log(seen[1])
        for t in range(3):
            assert abs(np.corrcoef(kept.ravel(), noise[:, t].ravel())[0, 1]) < 6 / np.sqrt(kept.size)

    @pytest.mark.parametrize("kind", ["GRU", "PeepholeLSTM"])
    def test_a_bare_cell_with_dropout_runs_at_inference(self, kind: str) -> None:
        some = sample(kind)
        inner = make_cell(kind, 4, dtype="float64", **self.RATES)
        cell = StateRegularizedCell(inner, 6, temperature=0.75, dtype="float64")
        layer = keras.layers.RNN(cell, return_sequences=True, dtype="float64")
        layer.build(some.inputs.shape)
        set_weights(inner, some.network)
        cell.centroids.assign(np.ascontiguousarray(some.stochastic.S.T))
        assert_close(layer(some.inputs, training=False), some.path().h, "float64")

    @pytest.mark.parametrize("kind", GATED)
    def test_dropout_of_the_inner_cell_is_drawn_in_training(self, kind: str) -> None:
        some = sample(kind)
        inner = make_cell(kind, 4, **self.RATES)
        layer = StateRegularizedRNN(StateRegularizedCell(inner, 6), return_sequences=True)
        x = some.inputs.astype("float32")
        expected = numpy(layer(x))
        np.testing.assert_array_equal(numpy(layer(x)), expected)
        assert np.abs(numpy(layer(x, training=True)) - expected).max() > 1e-3


class TestPrecision:
    @pytest.mark.parametrize("policy", ["mixed_bfloat16", "mixed_float16"])
    def test_states_are_centroids_of_single_precision(self, policy: str) -> None:
        some = sample("GRU", transition="sample")
        layer = some.layer(stateful=True, dtype=policy)
        layer(some.inputs)
        assert layer.states[0].dtype == "float32"
        assert visited(layer.states[0].value, some.stochastic.S).any(axis=-1).all()


class TestConfiguration:
    def test_the_defaults(self) -> None:
        parameters = inspect.signature(StateRegularizedCell).parameters
        defaults = {name: one.default for name, one in parameters.items() if one.default is not one.empty}
        del defaults["centroids_initializer"]
        numbers = {"temperature": 1.0, "transition": "mixture", "strength": 1.0, "noise": 1.0, "learn_centroids": True}
        off = dict.fromkeys(("learn_temperature", "straight_through", "sample_at_inference"), False)
        none = dict.fromkeys(("centroids_regularizer", "centroids_constraint", "seed"))
        assert defaults == numbers | off | none


class TestSaving:
    @pytest.mark.parametrize("learn_temperature", [False, True])
    def test_a_saved_layer_has_the_last_settings(self, learn_temperature: bool, tmp_path: Path) -> None:
        some = sample("GRU")
        inputs = keras.Input((None, 2), dtype="float64")
        layer = some.layer(return_sequences=True, learn_temperature=learn_temperature)
        model = keras.Model(inputs, layer(inputs))
        layer.cell.set_temperature(2.5)
        layer.cell.set_strength(0.375)
        layer.cell.set_noise(0.25)
        model.save(tmp_path / "model.keras")
        again = keras.models.load_model(tmp_path / "model.keras")
        assert_close(again(some.inputs), some.with_(tau=2.5, strength=0.375).path().h, "float64")
        assert float(numpy(again.layers[-1].cell.noise)) == 0.25
