"""A network that is right on all words while a centroid stands for two states, and the word that shows it."""

from pathlib import Path

import numpy as np
import pytest

from examples.papers import _languages, shared_centroid
from keras_interp_rnn import automata
from tests.papers.common import EXPERIMENTS, a_run

EXPERIMENT = EXPERIMENTS["shared-centroid"]
TRUTH = automata.tomita(shared_centroid.LANGUAGE)
WEIGHTS = Path(__file__).with_name("shared_centroid.npz")
"""Of the network that the run "4 centroids" with seed 0 trained, in the order of `get_weights`."""


@pytest.fixture(scope="module")
def network():
    model = shared_centroid.build(4)
    with np.load(WEIGHTS) as arrays:
        model.set_weights([*arrays.values()])
    return model


def test_the_stored_network_is_right_on_all_words_of_up_to_twelve_symbols(network):
    words = _languages.short_words(TRUTH, 12)
    assert not shared_centroid.wrong(network, words).any()


def test_its_four_centroids_cannot_be_the_five_states(network):
    dfa = automata.extract(network, alphabet=shared_centroid.alphabet()).dfa
    assert len(dfa) <= 4 < len(TRUTH) == 5
    words = _languages.short_words(TRUTH, 10)
    assert np.sum([dfa.output(word) for word in words.words] != words.labels) > 100


def test_the_proof_is_refused_with_a_word_that_the_network_classifies_rightly(network):
    alphabet = shared_centroid.alphabet()
    certificate = automata.certify(network, TRUTH, alphabet=alphabet)
    word = automata.extract(network, alphabet=alphabet).dfa.difference(TRUTH)
    assert not certificate.holds
    assert certificate.failure == f"the path of the centroids is another automaton: they differ on {word!r}"
    logit = network.predict_on_batch(alphabet.encode_batch([word]))[0, 0]
    assert (logit > 0) == TRUTH.accepts(word)


def test_a_run_counts_what_network_and_automaton_get_wrong(tmp_path):
    record = EXPERIMENT.run(a_run(tmp_path, "4 centroids", settings=EXPERIMENT.rows["4 centroids"]))
    result, words = record["result"], _languages.short_words(TRUTH, 4)
    assert (result["tried"], result["read"]) == (len(words), len(words))
    model = shared_centroid.keras.models.load_model(tmp_path / "model.keras")
    assert result["wrong"] == shared_centroid.wrong(model, words).sum()
    dfa = automata.extract(model, alphabet=shared_centroid.alphabet()).dfa
    assert result["automaton_wrong"] == sum(dfa.output(word) != TRUTH.accepts(word) for word in words.words)
    assert result["certified"] == (not result["failure"])
    assert dfa.accepts(result["word"]) != TRUTH.accepts(result["word"])
