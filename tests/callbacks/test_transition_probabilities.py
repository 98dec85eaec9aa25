"""The events of TransitionProbabilities, read back from the files."""

import json
import sys

import keras
import numpy as np
import pytest

from keras_interp_rnn import analysis, layers
from keras_interp_rnn.callbacks import TransitionProbabilities
from keras_interp_rnn.callbacks.transition_probabilities import transition_counts
from tests.callbacks.events import described, look, points

BATCH, LENGTH, STEPS, SYMBOLS, K = 4, 7, 3, 5, 3
WORDS = ("", "a", "b", "c", "d")

rng = np.random.default_rng(0)
X = rng.integers(1, SYMBOLS, (STEPS * BATCH, LENGTH)).astype("int32")
X[::3, 5:] = 0  # padding
Y = rng.normal(size=(STEPS * BATCH, 1)).astype("float32")


def network(**arguments) -> keras.Model:
    keras.utils.set_random_seed(1)
    model = keras.Sequential(
        [
            keras.Input((LENGTH,), dtype="int32"),
            keras.layers.Embedding(SYMBOLS, 3, mask_zero=True),
            layers.SRGRU(4, K, name="watched", **arguments),
            keras.layers.Dense(1),
        ]
    )
    model.compile(keras.optimizers.Adam(0.05), "mse", run_eagerly=True)
    return model


def train(model: keras.Model, *callbacks, epochs: int = 2):
    return model.fit(X, Y, BATCH, epochs, shuffle=False, callbacks=list(callbacks), verbose=0)


def test_all_probabilities_of_the_fixed_sequences_at_every_epoch(tmp_path):
    model = network()
    before = analysis.transition_probabilities(model, X[:2])
    train(model, TransitionProbabilities(tmp_path, X[:2], tokens=WORDS))
    steps, values = zip(*points(tmp_path / "transitions", "transition_probabilities"), strict=True)
    assert steps == (0, STEPS, 2 * STEPS)
    np.testing.assert_array_equal(values[0], before)
    np.testing.assert_array_equal(values[-1], analysis.transition_probabilities(model, X[:2]))
    assert np.isnan(values[0][0, 5:]).all()
    content = described(tmp_path / "transitions", "transition_probabilities")
    assert content["kind"] == "transition_probabilities"
    assert content["tokens"] == [[WORDS[i] for i in row] for row in X[:2]]


def test_tokens_that_print_nothing_are_visible(tmp_path):
    names = ["", "\n", " ", "\t", "a\nb"]
    look(network(), TransitionProbabilities(tmp_path, X[:2], tokens=names))
    shown = ["", "⏎", "␣", "⇥", "a⏎b"]
    assert described(tmp_path / "transitions", "transition_probabilities")["tokens"] == [
        [shown[i] for i in row] for row in X[:2]
    ]
    assert described(tmp_path / "transitions", "transition_counts")["symbols"] == shown[: X[:2].max() + 1]


def test_scalars_over_the_validation_set(tmp_path):
    model = network(temperature=0.2)
    look(model, TransitionProbabilities(tmp_path, X[:2], validation=X))
    found = analysis.trace(model, X)
    read = found["centroid"] >= 0
    alpha = found["alpha"][read].astype(float)
    assert points(tmp_path / "transitions", "alpha_entropy")[-1][1] == pytest.approx(
        -(alpha * np.log(alpha)).sum(-1).mean(), rel=1e-5
    )
    shares = np.bincount(found["centroid"][read], minlength=K) / read.sum()
    assert points(tmp_path / "transitions", "centroids_used")[-1][1] == (shares > 0).sum()
    shares = shares[shares > 0]
    effective = np.exp(-(shares * np.log(shares)).sum())
    assert points(tmp_path / "transitions", "centroids_effective")[-1][1] == pytest.approx(effective, rel=1e-5)
    counts = points(tmp_path / "transitions", "transition_counts")[-1][1]
    assert counts.shape == (SYMBOLS, K, K)
    assert counts.sum() == (read[:, 1:] & read[:, :-1]).sum()
    assert described(tmp_path / "transitions", "transition_counts")["symbols"] == [str(i) for i in range(SYMBOLS)]


def test_counts_by_hand():
    centroid = np.array([[0, 1, 1, -1], [2, 0, 1, 1]])
    ids = np.array([[3, 1, 1, 0], [1, 2, 1, 2]])
    expected = np.zeros((4, 3, 3))
    expected[1, 0, 1], expected[1, 1, 1], expected[2, 2, 0], expected[2, 1, 1] = 2, 1, 1, 1
    np.testing.assert_array_equal(transition_counts(centroid, 3, ids), expected)
    np.testing.assert_array_equal(transition_counts(centroid, 3, None), expected.sum(axis=0, keepdims=True))
    np.testing.assert_array_equal(transition_counts(centroid, 3, ids + 1000), expected.sum(axis=0, keepdims=True))
    # A layer keeps its state at masked steps, so a move across them is counted.
    centroid, ids = np.array([[0, -1, 1, -1, -1, 2]]), np.array([[3, 0, 1, 0, 0, 2]])
    expected = np.zeros((4, 3, 3))
    expected[1, 0, 1], expected[2, 1, 2] = 1, 1
    np.testing.assert_array_equal(transition_counts(centroid, 3, ids), expected)


def test_moves_of_a_layer_that_reads_backwards_are_in_its_order(tmp_path):
    keras.utils.set_random_seed(0)
    model = keras.Sequential(
        [
            keras.layers.Embedding(4, 3, embeddings_initializer=keras.initializers.RandomNormal(stddev=2)),
            layers.SRGRU(5, 3, go_backwards=True, centroids_initializer=keras.initializers.RandomNormal(stddev=2)),
            keras.layers.Dense(1),
        ]
    )
    ids = np.random.default_rng(0).integers(0, 4, (6, 9))
    look(model, TransitionProbabilities(tmp_path, ids))
    read = analysis.trace(model, ids)["centroid"]  # in reading order
    expected = np.zeros((ids.max() + 1, 3, 3))
    for row, centroids in zip(ids[:, ::-1], read, strict=True):
        for symbol, before, after in zip(row[1:], centroids[:-1], centroids[1:], strict=True):
            expected[symbol, before, after] += 1
    np.testing.assert_array_equal(points(tmp_path / "transitions", "transition_counts")[-1][1], expected)


def test_a_layer_that_reads_backwards_is_shown_in_the_order_of_the_tokens(tmp_path):
    model = network(go_backwards=True)
    look(model, TransitionProbabilities(tmp_path, X[:2]))
    [*_, (_, values)] = points(tmp_path / "transitions", "transition_probabilities")
    np.testing.assert_array_equal(np.isnan(values[..., 0]), X[:2] == 0)


def test_real_valued_inputs_have_no_tokens(tmp_path):
    keras.utils.set_random_seed(0)
    model = keras.Sequential([keras.Input((5, 2)), layers.SRSimpleRNN(3, K), keras.layers.Dense(1)])
    x = rng.normal(size=(4, 5, 2)).astype("float32")
    look(model, TransitionProbabilities(tmp_path, x[:1]))
    assert described(tmp_path / "transitions", "transition_probabilities")["tokens"] == []
    assert points(tmp_path / "transitions", "transition_counts")[0][1].shape == (1, K, K)
    assert described(tmp_path / "transitions", "transition_counts")["symbols"] == []


def test_rejects_other_layers_and_sequences_that_are_all_padding(tmp_path):
    plain = keras.Sequential([keras.layers.Embedding(SYMBOLS, 3), keras.layers.GRU(2, name="gru")])
    with pytest.raises(ValueError, match="`layer` must be a state-regularized layer. Received: gru"):
        look(plain, TransitionProbabilities(tmp_path, X[:2]))
    with pytest.raises(ValueError, match="mask that is False at every step of sequence 1"):
        look(network(), TransitionProbabilities(tmp_path, np.zeros((1, LENGTH), int)))


@pytest.mark.parametrize("sequences", [False, True])
def test_outputs_are_those_of_the_head_at_centroids_and_of_the_model_at_the_last_step(tmp_path, sequences):
    model = network(return_sequences=sequences)
    look(model, TransitionProbabilities(tmp_path, X[:3]))
    _, values = points(tmp_path / "transitions", "outputs")[-1]
    assert values.shape == (K + 3, 1)
    centroids = model.get_layer("watched").cell.centroids.numpy()
    kernel, bias = model.layers[-1].get_weights()
    np.testing.assert_allclose(values[:K], centroids @ kernel + bias, rtol=1e-5, atol=1e-6)
    predicted = model.predict(X[:3], verbose=0)
    np.testing.assert_allclose(values[K:], predicted[:, -1] if sequences else predicted, rtol=1e-5, atol=1e-6)
    assert described(tmp_path / "transitions", "outputs")["middle"] == 0


def test_texts_name_what_moved_the_network(tmp_path):
    look(network(), TransitionProbabilities(tmp_path, X[:2], validation=X, tokens=WORDS))
    _, written_texts = points(tmp_path / "transitions", "transition_texts")[-1]
    texts = json.loads(written_texts.item())
    _, counts = points(tmp_path / "transitions", "transition_counts")[-1]
    assert {tuple(move[:3]) for move in texts["moves"]} == {tuple(move) for move in np.argwhere(counts).tolist()}
    sentences = {" ".join(WORDS[token] for token in row if token) for row in X}
    for symbol, _, _, text in texts["moves"]:
        assert text.split()[-1] == WORDS[symbol]
        assert any(sentence.startswith(text) for sentence in sentences)
    for tokens in texts["prototypes"]:
        assert [p for _, p in tokens] == sorted((p for _, p in tokens), reverse=True)
        assert {token for token, _ in tokens} <= set(WORDS[1:])


def test_texts_are_the_commonest_moves_first_and_no_more_than_asked(monkeypatch):
    module = sys.modules[TransitionProbabilities.__module__]
    monkeypatch.setattr(module, "MOVES", 2)
    centroid = np.array([[0, 1, 0, 1, 0, 2]])
    alpha = np.eye(3)[centroid]
    ids = np.array([[1, 1, 2, 1, 2, 3]])
    texts = module.transition_texts(alpha, centroid, ids, "_abc".__getitem__)
    assert [move[:3] for move in texts["moves"]] == [[1, 0, 1], [2, 1, 0]]
    assert texts["moves"][0][3] == "a a"
    assert texts["prototypes"] == [[["b", 1.0], ["a", 1.0]], [["a", 1.0]], [["c", 1.0]]]
