"""The automaton of a stack of state-regularized layers against one over all tuples of centroids."""

import itertools

import keras
import numpy as np
import pytest

from keras_interp_rnn import analysis, automata, layers
from keras_interp_rnn.automata import DFA, SymbolEmbedding
from keras_interp_rnn.datasets import Alphabet
from tests.layers.subjects import keras_network

ALPHABET = "abc"
KINDS = {"lower": "GRU", "upper": "SimpleRNN"}


def stack(seed, end=False, functional=False, temperature=0.02, **options):
    """A stack with random weights so large that the probability of every step is near 1."""
    keras.utils.set_random_seed(seed)
    rng = np.random.default_rng(seed)
    parts = [
        keras.layers.Embedding(6, 3, mask_zero=True) if end else SymbolEmbedding(ALPHABET, 3),
        layers.SRGRU(5, 3, return_sequences=True, temperature=temperature, name="lower", **options),
        keras.layers.Dropout(0.5),
        layers.SRSimpleRNN(4, 4, temperature=temperature, name="upper", **options),
        keras.layers.Dense(1),
    ]
    inputs = keras.Input((None,), dtype="int32")
    if functional:
        reached = inputs
        for part in parts:
            reached = part(reached)
        model = keras.Model(inputs, reached)
    else:
        model = keras.Sequential([inputs, *parts])
    for weight in model.trainable_weights:
        if "temperature" not in weight.path:
            weight.assign(rng.normal(scale=1.5, size=weight.shape))
    return model


def by_tuples(model):
    """(automaton over all tuples, tuples, probabilities of its moves, the start tuple), by brute force."""
    cells = {name: model.get_layer(name).cell for name in KINDS}
    networks = {
        name: keras_network({w.name: np.asarray(w, float) for w in cells[name].cell.weights}, kind, "")
        for name, kind in KINDS.items()
    }
    tables = {name: np.asarray(cell.centroids, float) for name, cell in cells.items()}
    embedding, head = model.layers[-5], model.layers[-1]
    vectors = np.asarray(embedding.embeddings, float)
    symbols = embedding.alphabet
    kernel, bias = (np.asarray(w, float) for w in head.get_weights())
    temperature = 0.02

    def move(states, x):
        """The next tuple, and its probability, of states h; the upper layer reads the lower one's centroid."""
        target, sure = [], 1.0
        for name, network in networks.items():
            u, _, _ = network.step(states[len(target)], None, x)
            scores = tables[name] @ u / temperature
            alpha = np.exp(scores - scores.max())
            target.append(int(alpha.argmax()))
            sure *= (alpha / alpha.sum()).max()
            x = tables[name][target[-1]]
        return tuple(target), sure

    start = move([np.zeros(5), np.zeros(4)], vectors[symbols.start_id])[0]
    tuples = list(itertools.product(range(3), range(4)))
    rows, sure = [], {}
    for pair in tuples:
        states = [tables[name][i] for name, i in zip(KINDS, pair, strict=True)]
        moves = [move(states, vectors[code]) for code in symbols.ids_of(symbols.ordinary)]
        rows.append([tuples.index(target) for target, _ in moves])
        sure[pair] = [probability for _, probability in moves]
    accepting = [i for i, pair in enumerate(tuples) if tables["upper"][pair[1]] @ kernel[:, 0] + bias[0] > 0]
    return DFA(rows, accepting, start=tuples.index(start), alphabet=ALPHABET), tuples, sure, start


@pytest.mark.parametrize("functional", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_the_automaton_of_a_stack_is_part_of_the_one_over_all_tuples(seed, functional):
    model = stack(seed, functional=functional)
    whole, tuples, sure, start = by_tuples(model)
    found = automata.extract(model)
    assert found.centroids[0] == start
    assert len(found.dfa) == len(whole.reachable())
    assert found.dfa.equivalent(whole)
    for i, pair in enumerate(found.centroids):
        moves = [found.centroids[target] for target in found.dfa.transitions[i]]
        assert moves == [tuples[target] for target in whole.transitions[tuples.index(pair)]]
        assert (i in found.dfa.accepting) == (tuples.index(pair) in whole.accepting)
        np.testing.assert_allclose(found.confidence[i], sure[pair], atol=2e-4)
    assert found.unsupported is None
    assert "taken" not in str(found)
    assert automata.extract(found.network.model, [found.dfa.alphabet[:1]]).support.sum() == 1


@pytest.fixture(scope="module")
def extracted():
    return [automata.extract(stack(seed)) for seed in range(6)]


def test_a_stack_with_probabilities_near_1_decides_as_its_automaton(extracted):
    lower, upper = (set(indices) for indices in zip(*(pair for f in extracted for pair in f.centroids), strict=True))
    assert min(len(lower), len(upper)) > 1
    found = next(found for found in extracted if min(found.confidence.min(), found.start_confidence) > 0.999)
    assert found.fidelity(num_short=40, num_random=20, max_length=30, num_searched=40).perfect


def model_of(*parts):
    ids = keras.Input((None,), dtype="int32")
    return keras.Sequential([ids, SymbolEmbedding(ALPHABET, 3), *parts, keras.layers.Dense(1)])


def test_a_stack_of_three_layers_with_a_dense_one_between():
    lower, middle = layers.SRGRU(4, 2, return_sequences=True), layers.SRSimpleRNN(3, 3, return_sequences=True)
    found = automata.extract(model_of(lower, keras.layers.Dense(6, "relu"), middle, layers.SRGRU(5, 2)))
    assert all(len(state) == 3 for state in found.centroids)
    assert found.network.trace([("a", "b")])[0].max() < 2 * 3 * 2


@pytest.mark.parametrize("regularize_last_step", [True, False])
@pytest.mark.parametrize("end", [False, True])
def test_margins_are_the_outputs_of_the_model(end, regularize_last_step):
    """At a temperature of nearly 0 the states are centroids, so the model's output depends on the last tuple alone."""
    for seed in range(4):
        model = stack(seed, end, temperature=1e-3, regularize_last_step=regularize_last_step or not end)
        symbols = Alphabet.with_tokens(ALPHABET, start=True, end=True)
        found = automata.extract(model, alphabet=symbols if end else None)
        words = ["", "a", "cb", "abcab", "bbbac"]
        outputs = np.asarray(model(found.network.encode(words), training=False))[:, 0]
        for word, output in zip(words, outputs, strict=True):
            state = found.dfa.start
            for symbol in word:
                state = found.dfa.transitions[state][ALPHABET.index(symbol)]
            assert output == pytest.approx(found.margins[state], abs=1e-3)


def test_an_explanation_of_a_stack_is_about_its_last_layer():
    model = stack(1)
    ids = [1, 2, 3, 2, 4]
    explained = analysis.explain(model, ids)
    traced = analysis.trace(model, np.array([ids]))
    np.testing.assert_allclose(explained.alpha, traced["upper/alpha"][0], atol=1e-6)
    assert set(explained.centroids) <= set(range(4))
    assert analysis.prototypes(model, np.array([ids])).classes.shape == (4,)


class SumSoFar(keras.layers.Layer):
    """At every step the sum of the steps up to it."""

    def __init__(self):
        super().__init__()
        self.supports_masking = True

    def call(self, inputs):
        return keras.ops.cumsum(inputs, axis=1)


def of_two(lower, *upper):
    return model_of(lower(5, return_sequences=True), *upper)


def regularized(units, **options):
    return layers.SRGRU(units, 3, **options)


@pytest.mark.core
@pytest.mark.parametrize(
    ("build", "arguments", "sentence"),
    [
        (lambda: of_two(regularized, layers.SRLSTM(4, 4)), {}, "whose cell has a further state"),
        (
            lambda: of_two(regularized, SumSoFar(), layers.SRGRU(4, 4)),
            {},
            "depends on other steps too. Remove the layers",
        ),
        (lambda: of_two(keras.layers.GRU, layers.SRGRU(4, 4)), {}, "One recurrent layer of a model must be chosen"),
        (lambda: stack(0), {"data": ["ab"], "method": "counts"}, "must be read by method='exact'"),
    ],
)
def test_rejects_stacks_whose_state_is_no_tuple_of_centroids(build, arguments, sentence):
    with pytest.raises(ValueError, match=sentence):
        automata.extract(build(), **arguments)


def test_a_stack_is_not_certified():
    sentence = r"about one regularized layer, .* Received: sequential.* with \['lower', 'upper'\]"
    with pytest.raises(ValueError, match=sentence):
        automata.certify(stack(0), DFA([[0, 0, 0]], [0], alphabet=ALPHABET))
