import math

import keras
import numpy as np
import pytest

from keras_interp_rnn import analysis, automata, layers
from tests.automata.hidden_markov import hidden_markov

SESSIONS = [[1, 2, 3, 0, 5], [2], [4, 4, 1, 0, 2, 5, 1], [2, 2]]


def model(*parts, length=None):
    keras.utils.set_random_seed(0)
    return keras.Sequential([keras.Input((length,), dtype="int32"), *parts])


def isan(activation=None):
    return model(layers.ISAN(5, 6, return_sequences=True), keras.layers.Dense(6, activation))


def lstm(length=None, sequences=True, activation=None):
    recurrent = keras.layers.LSTM(5, return_sequences=sequences, bias_initializer="random_normal")
    return model(keras.layers.Embedding(6, 4), recurrent, keras.layers.Dense(6, activation), length=length)


def probabilities(network, session, position):
    """Of the next event after a prefix that is read alone."""
    outputs = np.asarray(network(np.array([session[:position]])), np.float64)
    outputs = outputs[0, -1] if outputs.ndim == 3 else outputs[0]
    if network.layers[-1].activation is keras.activations.softmax:
        return outputs
    return np.exp(outputs) / np.exp(outputs).sum()


@pytest.mark.parametrize(
    "make",
    [isan, lambda: isan("softmax"), lstm, lambda: lstm(8), lambda: lstm(sequences=False, activation="softmax")],
    ids=["ISAN", "softmax", "LSTM", "a fixed length", "the last step"],
)
def test_the_surprise_of_an_event_is_that_of_its_prefix_read_alone(make):
    network = make()
    found = analysis.surprise(network, SESSIONS)
    fixed = network.input_shape[1]
    for i, session in enumerate(SESSIONS):
        assert math.isnan(found.nats[i][0])
        assert found.expected[i][0] == -1
        for t in range(1, len(session)):
            prefix = session if fixed is None else np.pad(session[:t], (0, fixed - t))
            if fixed is None:
                chances = probabilities(network, prefix, t)
            else:
                logits = np.asarray(network(prefix[None]), np.float64)[0, t - 1]
                chances = np.exp(logits) / np.exp(logits).sum()
            np.testing.assert_allclose(found.nats[i][t], -np.log(chances[session[t]]), rtol=1e-4)
            assert found.expected[i][t] == chances.argmax()
            np.testing.assert_allclose(found.expected_nats[i][t], -np.log(chances.max()), rtol=1e-4)


def test_a_network_of_windows_predicts_from_the_first_whole_one():
    network = lstm(3, sequences=False)
    found = analysis.surprise(network, SESSIONS)
    assert [int(np.isnan(row).sum()) for row in found.nats] == [3, 1, 3, 2]
    chances = probabilities(network, SESSIONS[2][2:5], 3)
    np.testing.assert_allclose(found.nats[2][5], -np.log(chances[5]), rtol=1e-4)


@pytest.mark.parametrize("seed", range(3))
def test_contributions_of_an_affine_network_sum_to_the_log_odds(seed):
    keras.utils.set_random_seed(seed)
    network = isan()
    rng = np.random.default_rng(seed)
    for weight in network.weights:
        weight.assign(rng.normal(size=weight.shape))
    event = analysis.surprise(network, SESSIONS, num_events=1).events[0]
    assert event.method == "contributions"
    assert event.residual < 1e-10
    np.testing.assert_allclose(event.shares.sum() + event.rest, event.log_odds, rtol=1e-4)
    split = analysis.contributions(network, event.symbols, targets=-1)
    np.testing.assert_allclose(
        event.shares, split.logit_difference(towards=event.expected, against=event.came)[1:], rtol=1e-12
    )
    assert SESSIONS[event.session][event.position] == event.came


def test_shares_by_deletion_are_changes_of_the_log_odds():
    network = lstm()
    network.layers[-1].bias.assign([0, 9, -9, 9, -9, 9])
    event = analysis.surprise(network, SESSIONS, num_events=1).events[0]
    before = event.symbols.tolist()

    def odds(session):
        chances = probabilities(network, session, len(session))
        return np.log(chances[event.expected] / chances[event.came])

    for place, share in enumerate(event.shares):
        without = before[:place] + before[place + 1 :]
        expected = odds(before) - odds(without) if without else math.nan
        np.testing.assert_allclose(share, expected, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("seed", range(3))
def test_the_surprises_of_an_automaton_sum_to_minus_the_logarithm_of_the_probability(seed):
    rng = np.random.default_rng(seed)
    start, rows, emissions = (rng.dirichlet(np.ones(n), m) for n, m in ((3, 1), (3, 3), (4, 3)))
    automaton = hidden_markov(start[0], rows, emissions, [0.2, 0.1, 0.3], "abcd")
    words = ["abca", "d", "a" * 40]
    found = analysis.surprise(automaton, words)
    assert found.names == (*"abcd", "end")
    np.testing.assert_allclose(found.scores("total"), -np.log(automaton.values(words)), rtol=1e-9)
    for word, nats in zip(words, found.nats, strict=True):
        prefixes = automaton.prefix_sums()
        values = [prefixes.value(word[:t]) for t in range(len(word) + 1)]
        np.testing.assert_allclose(np.exp(-nats[:-1]), np.divide(values[1:], values[:-1]), rtol=1e-9)


def test_sessions_are_ranked_and_equal_ones_keep_their_order():
    automaton = automata.WeightedAutomaton.from_words(["ab"] * 99 + ["b"], alphabet="ab")
    found = analysis.surprise(automaton, ["ab", "b", "ab", "abab"])
    assert found.ranked("total").tolist() == [3, 1, 0, 2]
    assert found.ranked("largest")[0] == 3
    np.testing.assert_allclose(found.scores("mean"), [row.mean() for row in found.nats])
    assert len(found.events) <= 5
    assert found.events[0].log_odds == max(event.log_odds for event in found.events)
    with pytest.raises(ValueError, match="`by` must be one of"):
        found.ranked("median")


def test_what_is_impossible_is_infinitely_surprising_and_read_as_if_it_had_not_come():
    automaton = automata.WeightedAutomaton.from_words(["ab"] * 9, alphabet="abc", pseudo_count=0)
    found = analysis.surprise(automaton, ["acb"])
    np.testing.assert_allclose(found.nats[0], [0, math.inf, 0, 0], atol=1e-12)
    assert "inf" in str(found)
    assert found._repr_html_()


NAMES = ["login", "open", "read", "close", "logout"]
NORMAL = [["login", "open", *["read"] * n, "close", "logout"] for n in (1, 2, 3, 4, 5, 6)] * 40


@pytest.mark.parametrize("pseudo_count", [0, 0.01, 1])
@pytest.mark.parametrize(
    ("session", "wrong"),
    [
        ("login close read read read close logout", {1}),  # exchanged
        ("login open read read read close open", {6}),
        ("login read read read close logout", {1}),  # left out
        ("login open read login read read close logout", {3}),  # inserted
        ("open read read close logout", {0}),
        ("login logout read read login close logout", {1, 4}),
    ],
)
def test_one_wrong_event_is_one_surprise(session, wrong, pseudo_count):
    automaton = automata.WeightedAutomaton.from_words(NORMAL, alphabet=NAMES, pseudo_count=pseudo_count)
    [nats] = analysis.surprise(automaton, [session.split()]).nats
    assert {*np.flatnonzero(nats > -np.log(0.1)).tolist()} == wrong


def most_probable_path(automaton, word):
    """By trying every state after every symbol that the words of the automaton never had there."""
    size, num_symbols = len(automaton), len(automaton.transitions)
    weights = np.concatenate([automaton.transitions.sum(axis=2).T, automaton.final[:, None]], axis=1)

    def best(state, rest):
        if not len(rest):
            return weights[state, num_symbols]
        symbol = rest[0]
        [after] = np.flatnonzero(automaton.transitions[symbol, state])
        unseen = after == state and weights[state, symbol] == weights[state].min() and weights[state, symbol] < 0.1
        return weights[state, symbol] * max(best(each, rest[1:]) for each in (range(size) if unseen else [after]))

    return best(0, word)


@pytest.mark.parametrize("seed", range(4))
def test_a_session_with_unseen_events_has_the_probability_of_its_best_path(seed):
    rng = np.random.default_rng(seed)
    words = [[0, 1, *[2] * n, 3, 1, 2] for n in range(4) for _ in range(10)]
    automaton = automata.WeightedAutomaton.from_words(words, num_symbols=4)
    sessions = [rng.integers(0, 4, length).tolist() for length in (1, 2, 3, 4, 5, 6)]
    found = analysis.surprise(automaton, sessions)
    np.testing.assert_allclose(
        found.scores("total"), [-np.log(most_probable_path(automaton, word)) for word in sessions], rtol=1e-6
    )


def test_each_session_has_an_event_explained_before_one_has_two():
    automaton = automata.WeightedAutomaton.from_words(NORMAL, alphabet=NAMES)
    two = "login logout read read login close logout".split()
    one = "login open read read read close open".split()
    found = analysis.surprise(automaton, [two, NORMAL[0], one, two], num_events=5)
    assert [event.session for event in found.events] == [0, 2, 3, 0, 3]
    assert all(np.exp(-event.nats) <= 0.1 for event in found.events)
    for event in found.events:
        assert event.log_odds > 0
        assert event.nats == found.nats[event.session][event.position]


def test_no_likely_event_is_explained():
    automaton = automata.WeightedAutomaton.from_words(["ab", "ac"] * 9 + ["ac"], alphabet="abc")
    assert analysis.surprise(automaton, ["ab"]).events == ()  # "ac" is likelier


HEADS = {
    "a Dense layer": [keras.layers.Dense(6, "sigmoid")],
    "an Activation": [keras.layers.Dense(6), keras.layers.Activation("softplus")],
    "behind layers that change nothing": [
        keras.layers.Dense(6, "sigmoid"),
        keras.layers.Dropout(0.5),
        keras.layers.Activation("linear"),
    ],
    "TimeDistributed": [keras.layers.TimeDistributed(keras.layers.Dense(6, "relu"))],
    "a layer": [keras.layers.Dense(6), keras.layers.ReLU()],
    "nested": [keras.Sequential([keras.layers.Dense(6, "hard_sigmoid")])],
    "a function that no name is known of": [keras.layers.Dense(6, lambda x: keras.ops.sigmoid(x))],
}


@pytest.mark.parametrize("head", HEADS.values(), ids=HEADS)
def test_refuses_heads_that_are_neither_logits_nor_a_softmax(head):
    network = model(layers.ISAN(5, 6, return_sequences=True), *head)
    with pytest.raises(ValueError, match="must end in logits or in a softmax over all symbols"):
        analysis.surprise(network, SESSIONS)


@pytest.mark.parametrize(
    "head",
    [
        [keras.layers.Activation("softmax")],
        [keras.layers.Softmax(), keras.layers.Dropout(0.5)],
        [keras.layers.Activation("log_softmax")],
        [keras.layers.Activation(lambda x: keras.ops.softmax(x))],
        [keras.layers.Dropout(0.5)],
    ],
)
def test_heads_of_the_same_probabilities_give_the_same_surprise(head):
    plain = isan()
    network = keras.Sequential([*plain.layers, *head])
    for one, two in zip(*(analysis.surprise(each, SESSIONS).nats for each in (plain, network)), strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-4)


@pytest.mark.parametrize(
    ("network", "sessions", "rule"),
    [
        (lambda: keras.layers.LSTM(3), SESSIONS, "must be a model or an automaton"),
        (lambda: model(layers.ISAN(5, 6), keras.layers.Dense(2)), SESSIONS, r"an output for each .* \(1, 2\), and the"),
        (lambda: lstm(4), SESSIONS, "must fit into the model. Received: 7 events, and a model of 4 steps"),
        (
            lambda: model(
                keras.layers.Embedding(6, 4),
                keras.layers.Bidirectional(keras.layers.LSTM(3, return_sequences=True)),
                keras.layers.Dense(6),
            ),
            SESSIONS,
            "must not read later ones",
        ),
        (isan, [], "There must be a session"),
        (isan, [[1], []], "every session must have an event. Received: session 2 of 2, which has none"),
        (lambda: automata.WeightedAutomaton.from_words(["a"], alphabet="a"), ["a", ""], "Received: session 2 of 2"),
        (isan, [[1, 9]], "and the event 9"),
        (isan, [[1, -1]], r"must lie in \[0, 2147483648\). Received: sequences from -1 to 1"),
        (isan, [["a"]], "must come with an alphabet"),
        (isan, [[[1, 2]]], "Received: "),
        (lambda: automata.WeightedAutomaton.from_dfa(automata.tomita(1)), ["1"], "Received: "),
    ],
)
def test_refuses_what_predicts_no_events(network, sessions, rule):
    with pytest.raises(ValueError, match=rule):
        analysis.surprise(network(), sessions)


def test_an_automaton_must_have_probabilities_of_words():
    half = automata.WeightedAutomaton([1], [[[0.5]]], [0.25], "a")
    with pytest.raises(ValueError, match="which sum to 1. Received: values that sum to 0.5"):
        analysis.surprise(half, ["a"])
    negative = automata.WeightedAutomaton([2, -1], [[[0.2, 0], [0, 0.5]]], [0.8, 0.5], "a")
    with pytest.raises(ValueError, match="a negative one after 0 events"):
        analysis.surprise(negative, ["a"])
    with pytest.raises(ValueError, match="must be None for an automaton, which has its own"):
        analysis.surprise(automata.WeightedAutomaton.from_words(["a"], alphabet="a"), ["a"], alphabet="a")
