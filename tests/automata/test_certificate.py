"""Certificates of networks: bounds hold for random states, and proofs for words that the network itself reads."""

import concurrent.futures
import dataclasses
import itertools

import keras
import numpy as np
import pytest
from keras import ops

from keras_interp_rnn import automata, layers
from keras_interp_rnn._alphabet import with_token_ids
from keras_interp_rnn.automata import DFA, tomita
from keras_interp_rnn.automata.certificates import _bounds
from keras_interp_rnn.automata.certificates._deployed import Deployed, deployed
from keras_interp_rnn.automata.machines import DESCRIPTIONS
from keras_interp_rnn.automata.networks import _acceptor
from keras_interp_rnn.automata.networks._acceptor import open_acceptor
from tests.automata.networks import network_of
from tests.automata.test_extraction import other_model

SYMBOLS = with_token_ids({"a": 2, "b": 3}, 1, None)

CELLS = {
    "SimpleRNN": (layers.SRSimpleRNN, {"temperature": 0.7}),
    "GRU": (layers.SRGRU, {"temperature": 0.7}),
    "GRU, reset before": (layers.SRGRU, {"reset_after": False}),
    "GRU, no bias": (layers.SRGRU, {"use_bias": False}),
}


def random_model(name: str, seed: int, outputs: int = 1) -> keras.Model:
    """A model whose weights, with the biases, are large and asymmetric."""
    kind, arguments = CELLS[name]
    model = other_model(kind(6, 4, name="recurrent", **arguments), outputs=outputs)
    rng = np.random.default_rng(seed)
    for weight in model.trainable_weights:
        weight.assign(rng.normal(size=weight.shape) * rng.uniform(0.3, 1.5))
    return model


def opened(model: keras.Model) -> Deployed:
    return deployed(open_acceptor(model, SYMBOLS))


@pytest.mark.parametrize("outputs", [1, 4])
@pytest.mark.parametrize("epsilon", [1e-6, 1e-2, 0.3])
@pytest.mark.parametrize("name", CELLS)
def test_no_state_of_a_region_leaves_its_box(name, epsilon, outputs):
    model = random_model(name, outputs, outputs)
    parts = opened(model)
    bound, verdict, scores = _bounds.bounds_of(parts.numbers, parts.temperature())
    centroids, features = parts.numbers.centroids, parts.numbers.embeddings
    k, n = centroids.shape
    rng = np.random.default_rng(outputs)
    for i, id_ in itertools.product(range(k), (1, 2, 3)):
        region = scores.region(i, epsilon)
        box = bound(region)(features[id_])
        shares = rng.dirichlet(np.full(k, 0.3), size=300)
        shares[:k] = np.eye(k)  # the corners
        alpha = epsilon * shares * rng.choice([1.0, rng.random()], size=(300, 1)) + 0.0
        alpha[:, i] += 1 - alpha.sum(axis=1)
        states = (alpha @ centroids).astype("float32")
        states = (states + region.error * rng.choice([-0.9, 0, 0.9], size=states.shape)).astype("float32")
        u, next_alpha = _acceptor._step(parts.acceptor.layer.cell, states, features[id_].astype("float32"))
        assert (u >= box.low).all()
        assert (u <= box.high).all()
        for target in range(k):
            others = 1 - next_alpha[:, target]
            odds = np.log(next_alpha[:, target]) - np.log(np.maximum(others, 1e-12))
            assert (odds[others > 1e-5] >= scores.worst_log_odds(box, target) - 1e-2).all()
        logits = ops.convert_to_numpy(model.layers[-1](states))
        if outputs == 1:
            assert logits.min() >= verdict(region.box(), True)
            assert -logits.max() >= verdict(region.box(), False)
        for label in range(outputs if outputs > 1 else 0):
            lead = logits[:, label] - np.delete(logits, label, axis=1).max(axis=1)
            assert lead.min() >= verdict(region.box(), label)


@pytest.mark.parametrize("sizes", [[1.0], [1e-4, 30.0], [1e3, 1e-3, 1.0]], ids=str)
@pytest.mark.parametrize("name", CELLS)
def test_a_region_holds_the_states_that_the_network_computes(name, sizes):
    """Also for centroids of very different sizes: the error of a small one does not come from a large one."""
    model = random_model(name, 3)
    cell, rng = model.get_layer("recurrent").cell, np.random.default_rng(0)
    factors = np.resize(sizes, cell.centroids.shape[0])
    cell.centroids.assign(ops.convert_to_numpy(cell.centroids) * factors[:, None])
    cell.set_temperature(max(sizes))
    parts = opened(model)
    _, _, scores = _bounds.bounds_of(parts.numbers, parts.temperature())
    u = rng.uniform(-1, 1, size=(500, 6)).astype("float32")
    component = cell.stochastic_component()
    tensor = ops.convert_to_tensor(u)
    computed, weights = component.transition_weights(ops, tensor)
    state = ops.convert_to_numpy(component.next_state(ops, tensor, computed, weights)).astype(float)
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
def test_certifies_networks_made_by_hand(number, transition):
    model = network_of(tomita(number), transition=transition)
    found = automata.certify(model, tomita(number))
    assert found.holds, found
    assert found.margins.min() > 0
    assert found.check(model)
    assert (found.epsilon == 0) == (transition == "soft_argmax")
    size, drawn = len(tomita(number).minimize()), len(found.path)
    merged = f", {size} when equivalent ones are merged" if drawn > size else ""
    rule = DESCRIPTIONS[number]
    verdict = f"Proved: on every word, however long, the network answers as Tomita's automaton {number}, “{rule}”"
    states = f"({drawn} state{'s' * (drawn > 1)}{merged}).\nWhen: at the temperature 1.\n"
    assert str(found).startswith(f"{verdict} {states}")


@pytest.mark.parametrize(("scale", "low", "high"), [(3.0, 1, 1e3), (0.4, 0.1, 0.9)])
def test_the_largest_temperature_is_certified_and_no_larger_one(scale, low, high):
    """It is below the network's own temperature, 1, if the network is certified only when colder."""
    model = network_of(tomita(3), scale=scale)
    largest = automata.largest_temperature(model, tomita(3))
    assert low < largest < high
    assert automata.certify(model, tomita(3), temperature=largest).holds
    assert not automata.certify(model, tomita(3), temperature=1.002 * largest).holds
    assert automata.largest_temperature(model, tomita(4)) == 0


DFA_OF_ALL = DFA([[0, 0]], {0}, start=0, alphabet="ab")


@pytest.mark.parametrize(
    ("build", "sentence"),
    [
        (
            lambda: other_model(layers.StateRegularizedRNN(layers.StateRegularizedCell(layers.MinimalRNNCell(4), 3))),
            "must be a GRUCell or a SimpleRNNCell. Received: keras_interp_rnn>MinimalRNNCell",
        ),
        (lambda: other_model(layers.SRGRU(4, 3, activation="relu")), "must have activation='tanh'. Received"),
        (lambda: other_model(layers.SRLSTM(4, 3)), "has a further state"),
        (
            lambda: keras.Sequential([*other_model(layers.SRGRU(4, 3), outputs=3).layers, keras.layers.Dense(1)]),
            "dense.* .Dense. besides dense",
        ),
    ],
)
def test_rejects_what_cannot_be_bounded(build, sentence):
    with pytest.raises(ValueError, match=sentence):
        automata.certify(build(), DFA_OF_ALL, alphabet=SYMBOLS)


@pytest.mark.parametrize("built_in_a_thread", [False, True])
@pytest.mark.parametrize("make", [lambda: automata.compile(tomita(1)), lambda: network_of(tomita(1))])
def test_certifies_and_checks_in_any_thread(make, built_in_a_thread, tmp_path):
    def in_a_thread(function):
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            return pool.submit(function).result()

    network = in_a_thread(make) if built_in_a_thread else make()
    network.save(tmp_path / "network.keras")
    loaded = in_a_thread(lambda: keras.models.load_model(tmp_path / "network.keras"))

    def proved():
        dfa = automata.extract(network).dfa
        certificate = automata.certify(network, dfa)
        return certificate.holds, certificate.failure, certificate.check(network), certificate.check(loaded)

    assert in_a_thread(proved) == proved()
    assert proved()[0] == proved()[2] == proved()[3]


def test_a_certificate_of_which_more_is_said_than_was_proved_is_none(tmp_path):
    network = automata.compile(automata.tomita(1))
    failed, good = (automata.certify(network, automata.tomita(number)) for number in (4, 1))
    for edited in (
        dataclasses.replace(failed, holds=True),
        dataclasses.replace(good, holds="no"),
        dataclasses.replace(good, holds=1),
    ):
        assert str(edited).startswith("Not yet proved")
        assert not edited.check(network)
        with pytest.raises(ValueError, match="must hold"):
            edited.save(tmp_path / "edited.json")
        with pytest.raises(ValueError, match="must hold"):
            automata.smallest_edit(edited, "1101")
    assert good.holds is True
