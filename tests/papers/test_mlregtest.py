"""Regular languages from long words: what is measured of the search and of the learners beside it, and the tables."""

import keras
import numpy as np
import pytest

from examples.papers import mlregtest, mlregtest_learners
from keras_interp_rnn import automata
from tests.papers.common import EXPERIMENTS, a_run, committed

EXPERIMENT, LEARNERS = EXPERIMENTS["mlregtest"], EXPERIMENTS["mlregtest-learners"]


@pytest.fixture
def truth():
    return automata.DFA.from_regex("(b|a+c)*a*", alphabet="abc")


def test_an_automaton_is_judged_on_every_test_set(tmp_path, truth):
    sets = mlregtest.word_sets("any", truth, a_run(tmp_path))
    assert [*sets] == ["train", *mlregtest.TESTS.values(), "validation"]
    words, labels = sets["train"]
    assert labels == [*map(truth.accepts, words)]
    assert 2 * sum(labels) == len(words) == 240
    found = mlregtest.searched(truth, sets, a_run(tmp_path))
    assert (found["states"], found["found"], found["exact"], found["certified"]) == (3, 3, True, True)
    assert [found[test] for test in mlregtest.TESTS] == [1.0] * 4
    everything = automata.DFA([[0, 0, 0]], {0}, alphabet="abc")
    assert mlregtest.quality(everything, truth, sets) == {
        **{"found": 1, "exact": False},
        **dict.fromkeys(mlregtest.TESTS, 0.5),
    }
    assert mlregtest.quality(None, truth, sets)["LA"] is None


def test_what_the_search_does_not_find_is_said_and_other_errors_are_raised(tmp_path, truth, monkeypatch):
    sets = mlregtest.word_sets("any", truth, a_run(tmp_path))
    monkeypatch.setattr(automata, "infer", lambda *_, **settings: pytest.fail("not so"))

    def raising(sentence):
        def infer(*_, **settings):
            raise ValueError(sentence)

        monkeypatch.setattr(automata, "infer", infer)

    raising("No automaton was found that describes the labels")
    found = mlregtest.searched(truth, sets, a_run(tmp_path))
    assert (found["found"], found["certified"], found["method"]) == (None, False, "")
    raising("Another")
    with pytest.raises(ValueError, match="Another"):
        mlregtest.searched(truth, sets, a_run(tmp_path))


def test_every_network_of_an_automaton_that_was_found_is_certified():
    found = [one for record in committed("mlregtest") for one in record["result"].values()]
    assert [one["certified"] for one in found] == [one["found"] is not None for one in found]


@pytest.mark.core(1)
@pytest.mark.parametrize("layer", mlregtest_learners.NETWORKS)
def test_a_network_is_trained_and_judged_and_a_gru_is_asked(layer, tmp_path, truth):
    run = a_run(tmp_path)
    sets = mlregtest.word_sets("any", truth, run)
    found = mlregtest_learners._trained(layer, truth, sets, run)
    assert found["LA"] == pytest.approx(found["validation"])  # the same words, in the smoke run
    assert 0.3 < found["LA"] <= 1
    assert ("asked" in found) == (layer == "GRU")
    if layer == "GRU" and found["asked"]["found"] is not None:
        assert found["asked"]["LA"] == found["LA"]  # they agree on these words


@pytest.mark.matrix  # a whole training
def test_the_kept_weights_are_those_of_the_highest_accuracy_on_the_validation_words(tmp_path, truth, monkeypatch):
    monkeypatch.setattr(mlregtest_learners, "EPOCHS", 6)
    sets = mlregtest.word_sets("any", truth, a_run(tmp_path))
    keras.utils.set_random_seed(3)
    embedding = automata.SymbolEmbedding(truth.alphabet, 4)
    model = automata.Recognizer(
        [keras.Input((None,), dtype="int32"), embedding, keras.layers.SimpleRNN(4), keras.layers.Dense(1)]
    )
    best = mlregtest_learners._fitted(model, sets, False)
    words, labels = sets["validation"]
    assert best == pytest.approx(np.mean(model.classify(words) == labels))
