"""Certificates: bounds are attacked, proofs are checked against the network itself, corrupted ones are refused."""

import dataclasses
import functools
import itertools

import keras
import numpy as np
import pytest
from keras import ops

from keras_interp_rnn import automata, layers
from keras_interp_rnn.automata import DFA, WordEncoding, _bounds, _network, tomita
from keras_interp_rnn.automata._deployed import Deployed, deployed
from keras_interp_rnn.automata._network import open_acceptor
from tests.automata.networks import drawn, network_of
from tests.automata.test_extraction import other_model

IDS = {"a": 2, "b": 3}

CELLS = {
    "SimpleRNN": lambda: layers.SRSimpleRNN(6, 4, temperature=0.7, name="recurrent"),
    "GRU": lambda: layers.SRGRU(6, 4, temperature=0.7, name="recurrent"),
    "GRU, reset before": lambda: layers.SRGRU(6, 4, reset_after=False, name="recurrent"),
    "GRU, no bias": lambda: layers.SRGRU(6, 4, use_bias=False, name="recurrent"),
}


def random_model(name: str, seed: int) -> keras.Model:
    """All weights large and asymmetric, biases too."""
    model = other_model(CELLS[name]())
    rng = np.random.default_rng(seed)
    for weight in model.trainable_weights:
        weight.assign(rng.normal(size=weight.shape) * rng.uniform(0.3, 1.5))
    return model


def opened(model: keras.Model) -> Deployed:
    return deployed(open_acceptor(model, WordEncoding(IDS, start=1)))


@pytest.mark.parametrize("epsilon", [1e-6, 1e-2, 0.3])
@pytest.mark.parametrize("name", CELLS)
@pytest.mark.parametrize("seed", [0, 1])
def test_no_state_of_a_region_leaves_its_box(name, seed, epsilon):
    model = random_model(name, seed)
    parts = opened(model)
    bound, verdict, scores = _bounds.bounds_of(parts, parts.temperature())
    centroids, features = parts.centroids, parts.embeddings
    k, n = centroids.shape
    rng = np.random.default_rng(seed)
    for i, id_ in itertools.product(range(k), (1, 2, 3)):
        region = scores.region(i, epsilon)
        box = bound(region)(features[id_])
        shares = rng.dirichlet(np.full(k, 0.3), size=300)
        shares[:k] = np.eye(k)  # the corners
        alpha = epsilon * shares * rng.choice([1.0, rng.random()], size=(300, 1)) + 0.0
        alpha[:, i] += 1 - alpha.sum(axis=1)
        states = (alpha @ centroids).astype("float32")
        states = (states + region.error * rng.choice([-0.9, 0, 0.9], size=states.shape)).astype("float32")
        u, next_alpha = _network._step(parts.acceptor.layer.cell, states, features[id_].astype("float32"))
        assert (u >= box.low).all()
        assert (u <= box.high).all()
        for target in range(k):
            others = 1 - next_alpha[:, target]
            odds = np.log(next_alpha[:, target]) - np.log(np.maximum(others, 1e-12))
            assert (odds[others > 1e-5] >= scores.worst_log_odds(box, target) - 1e-2).all()
        logits = ops.convert_to_numpy(model.layers[-1](states))[:, 0]
        assert logits.min() >= verdict(region.box(), True)
        assert -logits.max() >= verdict(region.box(), False)


@pytest.mark.parametrize("sizes", [[1.0], [1e-4, 30.0], [1e3, 1e-3, 1.0]], ids=str)
@pytest.mark.parametrize("name", CELLS)
def test_a_region_holds_the_states_that_the_network_computes(name, sizes):
    """Centroids of sizes far apart too: what is allowed to a small one does not come from a large one."""
    model = random_model(name, 3)
    cell, rng = model.get_layer("recurrent").cell, np.random.default_rng(0)
    factors = np.resize(sizes, cell.centroids.shape[0])
    cell.centroids.assign(ops.convert_to_numpy(cell.centroids) * factors[:, None])
    cell.set_temperature(max(sizes))
    parts = opened(model)
    _, _, scores = _bounds.bounds_of(parts, parts.temperature())
    u = rng.uniform(-1, 1, size=(500, 6)).astype("float32")
    component = cell.stochastic_component()
    given = ops.convert_to_tensor(u)
    computed, weights = component.transition_weights(ops, given)
    state = ops.convert_to_numpy(component.next_state(ops, given, computed, weights)).astype(float)
    exact = u.astype(float) @ scores.centroids.T / parts.temperature()
    alpha = np.exp(exact - exact.max(axis=1, keepdims=True))
    alpha /= alpha.sum(axis=1, keepdims=True)
    apart = np.abs(state - alpha @ scores.centroids)
    for i in range(len(factors)):
        error = scores.region(i, 1 - alpha[:, i]).error
        assert np.isfinite(error).all()
        assert (apart <= error).all()
    assert apart.max() > 0


@pytest.mark.parametrize("transition", ["mixture", "soft_argmax", "gumbel"])
@pytest.mark.parametrize("number", range(1, 8))
def test_networks_made_by_hand_are_certified(number, transition):
    model = network_of(tomita(number), transition=transition)
    found = automata.certify(model, tomita(number))
    assert found.holds, found
    assert found.margins.min() > 0
    assert found.check(model)
    assert (found.epsilon == 0) == (transition == "soft_argmax")
    assert str(found).startswith("certified for every word at temperature 1")


@pytest.mark.matrix
@pytest.mark.parametrize("seed", range(3))
def test_a_certified_network_is_right_on_every_word_that_is_tried(seed):
    truth = drawn(np.random.default_rng(seed), 5, ("a", "b"))
    model = network_of(truth)
    assert automata.certify(model, truth).holds
    rng = np.random.default_rng(seed)
    words = [tuple(rng.choice(["a", "b"], size=rng.integers(0, 400))) for _ in range(300)]
    np.testing.assert_array_equal(model.classify(words), [truth.accepts(word) for word in words])


def test_another_language_is_not_certified():
    found = automata.certify(network_of(tomita(5)), tomita(4))
    assert not found.holds
    assert "they differ on ('0',)" in found.failure
    assert not found.check(network_of(tomita(5)))


def test_a_soft_network_is_not_certified_and_the_place_is_named():
    model = network_of(tomita(3), scale=0.4)
    found = automata.certify(model, tomita(3))
    assert not found.holds
    assert "centroid" in found.failure
    assert automata.certify(model, tomita(3), temperature=0.1).holds


@pytest.mark.matrix
def test_the_largest_temperature_is_certified_and_no_much_larger_one():
    model = network_of(tomita(3))
    largest = automata.largest_temperature(model, tomita(3))
    assert largest > 1
    assert automata.certify(model, tomita(3), temperature=largest).holds
    assert not automata.certify(model, tomita(3), temperature=1.002 * largest).holds
    assert automata.largest_temperature(model, tomita(4)) == 0


def test_a_network_that_is_certified_when_colder_alone_has_a_largest_temperature_below_its_own():
    model = network_of(tomita(3), scale=0.4)
    largest = automata.largest_temperature(model, tomita(3))
    assert 0.1 < largest < 0.9
    assert automata.certify(model, tomita(3), temperature=largest).holds
    assert not automata.certify(model, tomita(3), temperature=1.002 * largest).holds


@functools.cache
def certified():
    model = network_of(tomita(3))
    return model, automata.certify(model, tomita(3))


class TestCorruption:
    @pytest.mark.parametrize(
        "change",
        [
            {"temperature": 40.0},
            {"epsilon": 0.45},
            {"epsilon": 1e-300},
            {"epsilon": -0.1},
            {"dfa": tomita(4)},
            {"holds": False},
        ],
        ids=str,
    )
    def test_other_claims(self, change):
        model, certificate = certified()
        if change == {"epsilon": 0.45}:
            model = network_of(tomita(3), scale=0.9)  # of small margins, where epsilon matters
            certificate = automata.certify(model, tomita(3), temperature=0.2)
            assert certificate.holds
            assert not certificate.check(model)  # deployed at 1
            model.layers[1].cell.set_temperature(0.2)
            assert certificate.check(model)
            assert not dataclasses.replace(certificate, temperature=1.0, epsilon=0.45).check(model)
            return
        assert certificate.check(model)
        assert not dataclasses.replace(certificate, **change).check(model)

    def test_other_centroids(self):
        model, certificate = certified()
        turned = (*certificate.centroids[1:], certificate.centroids[0])
        assert not dataclasses.replace(certificate, centroids=turned).check(model)
        assert not dataclasses.replace(certificate, centroids=(*certificate.centroids[:-1], 99)).check(model)

    def test_another_path(self):
        model, certificate = certified()
        path = certificate.path
        accepting = set(range(len(path))) - path.accepting
        lying = DFA(path.transitions, accepting, start=path.start, alphabet=path.alphabet)
        assert not dataclasses.replace(certificate, path=lying, dfa=lying).check(model)
        rows = [list(row) for row in path.transitions]
        rows[0][0] = (rows[0][0] + 1) % len(path)
        lying = DFA(rows, path.accepting, start=path.start, alphabet=path.alphabet)
        assert not dataclasses.replace(certificate, path=lying, dfa=lying).check(model)

    def test_other_weights(self):
        _, certificate = certified()
        other = network_of(tomita(3))
        centroids = other.layers[1].cell.centroids
        centroids.assign(ops.convert_to_numpy(centroids)[::-1])
        assert not certificate.check(other)


def test_what_cannot_be_bounded():
    over_minimal = layers.StateRegularizedRNN(layers.StateRegularizedCell(layers.MinimalRNNCell(4), 3))
    dfa = DFA([[0, 0]], {0}, start=0, alphabet="ab")
    with pytest.raises(ValueError, match="for GRUCell and SimpleRNNCell. Received: keras_interp_rnn>MinimalRNNCell"):
        automata.certify(other_model(over_minimal), dfa, alphabet=IDS, start=1)
    with pytest.raises(ValueError, match="known for activation='tanh'. Received"):
        automata.certify(other_model(layers.SRGRU(4, 3, activation="relu")), dfa, alphabet=IDS, start=1)
    rounded = other_model(layers.SRGRU(4, 3, dtype="mixed_bfloat16"), dtype="mixed_bfloat16")
    with pytest.raises(
        ValueError, match="all layers are in float32, or all in float64. Received: .* of mixed_bfloat16"
    ):
        automata.certify(rounded, dfa, alphabet=IDS, start=1)
    with pytest.raises(ValueError, match="has a further state"):
        automata.certify(other_model(layers.SRLSTM(4, 3)), dfa, alphabet=IDS, start=1)
    with pytest.raises(ValueError, match="temperature must be a number > 0. Received: temperature=0"):
        automata.certify(network_of(tomita(1)), tomita(1), temperature=0)
    embedding, head = keras.layers.Embedding(5, 3, mask_zero=True), [keras.layers.Dense(3), keras.layers.Dense(1)]
    deep = keras.Sequential([keras.Input((None,), dtype="int32"), embedding, layers.SRGRU(4, 3), *head])
    with pytest.raises(ValueError, match="one Dense layer, linear or sigmoid, that reads the state"):
        automata.certify(deep, dfa, alphabet=IDS, start=1)
