"""Regular languages from long words: what is measured of the search and of the learners beside it, and the tables."""

import keras
import numpy as np
import pytest

from examples.papers import mlregtest, mlregtest_learners
from keras_interp_rnn import automata
from tests.papers.common import EXPERIMENTS, a_run, tables

EXPERIMENT, LEARNERS = EXPERIMENTS["mlregtest"], EXPERIMENTS["mlregtest-learners"]

ENVIRONMENT = {"date": "2026-11-25", "hardware": "", "commit": "", "python": "3", "versions": {}, "backend": ""}


@pytest.fixture
def truth():
    return automata.DFA.from_regex("(b|a+c)*a*", alphabet="abc")


def test_an_automaton_is_judged_on_every_test_set(tmp_path, truth):
    sets = mlregtest.word_sets("any", truth, a_run(tmp_path), "validation")
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
    monkeypatch.setattr(automata, "train_recognizer", lambda *_, **settings: pytest.fail("not so"))

    def raising(sentence):
        def train(*_, **settings):
            raise ValueError(sentence)

        monkeypatch.setattr(automata, "train_recognizer", train)

    raising("No automaton was found that describes the labels")
    found = mlregtest.searched(truth, sets, a_run(tmp_path))
    assert (found["found"], found["certified"], found["method"]) == (None, False, "")
    raising("Another")
    with pytest.raises(ValueError, match="Another"):
        mlregtest.searched(truth, sets, a_run(tmp_path))


@pytest.mark.parametrize("layer", mlregtest_learners.NETWORKS)
def test_a_network_is_trained_and_judged_and_a_gru_is_asked(layer, tmp_path, truth):
    run = a_run(tmp_path)
    sets = mlregtest.word_sets("any", truth, run, "validation")
    found = mlregtest_learners._trained(layer, truth, sets, run)
    assert found["LA"] == pytest.approx(found["validation"])  # the same words, in the smoke run
    assert 0.3 < found["LA"] <= 1
    assert ("asked" in found) == (layer == "GRU")
    if layer == "GRU" and found["asked"]["found"] is not None:
        assert found["asked"]["LA"] == found["LA"]  # they agree on these words


def test_the_kept_weights_are_those_of_the_highest_accuracy_on_the_validation_words(tmp_path, truth, monkeypatch):
    monkeypatch.setattr(mlregtest_learners, "EPOCHS", 6)
    sets = mlregtest.word_sets("any", truth, a_run(tmp_path), "validation")
    keras.utils.set_random_seed(3)
    embedding = automata.SymbolEmbedding(truth.alphabet, 4)
    model = automata.Recognizer(
        [keras.Input((None,), dtype="int32"), embedding, keras.layers.SimpleRNN(4), keras.layers.Dense(1)]
    )
    best = mlregtest_learners._fitted(model, sets, False)
    words, labels = sets["validation"]
    assert best == pytest.approx(np.mean(model.classify(words) == labels))


def one(found, exact, **more):
    accuracies = dict.fromkeys(mlregtest.TESTS, None if found is None else 1.0 if exact else 0.75)
    return {"states": 4, "seconds": 2.0, "found": found, "exact": exact, **accuracies, **more}


def record(experiment, row, result, words=10_000, **protocol):
    return {
        **{"table": {"table": experiment.name, "row": row, "order": 0}, "environment": ENVIRONMENT},
        "data": {"words": words},
        **{"protocol": {"seed": 0, **protocol}, "result": result},
    }


def test_the_table_of_the_search_counts_languages_and_lists_those_that_were_missed():
    certified = {"certified": True, "method": "patterns"}
    result = {
        "04.04.SL.2.1.0": one(4, True, **certified),
        "04.04.SL.2.1.1": one(3, False, **certified),
        "04.04.SL.2.1.2": one(None, False, certified=False, method=""),
    }
    strong = {"04.04.SL.2.1.0": one(4, True, **certified)}
    few = {"04.04.SL.2.1.3": one(3, False, **certified)}
    fields = EXPERIMENT.fields(
        [
            record(EXPERIMENT, "04.SL", result),
            record(EXPERIMENT, "04.SL, strong", strong, sampling="strong"),
            record(EXPERIMENT, "04.SL, 1,000 words", few, words=1_000),
        ]
    )
    row = ["3", "1", "2", "2", "87.5%", "87.5%", "87.5%", "87.5%", "2"]
    assert tables(fields["weak"])[0][1:] == [["04.SL", *row], ["all", *row]]
    assert tables(fields["weak_missed"])[0][1:] == [
        ["04.04.SL.2.1.1", "4", "another automaton of 3 states that contradicts no word; LA 75.0%"],
        ["04.04.SL.2.1.2", "4", "nothing, in 2 s"],
    ]
    assert (fields["weak_exact"], fields["weak_certified"]) == ("1 of 3", "2")
    assert tables(fields["strong"])[0][-1][:4] == ["all", "1", "1", "1"]
    assert (fields["strong_exact"], fields["strong_certified"]) == ("1 of 1", "1")
    assert tables(fields["weak_few"])[0][-1][:4] == ["all", "1", "0", "1"]
    assert (fields["strong_few"], fields["strong_few_exact"]) == ("", "0 of 0")


def test_a_row_with_few_words_draws_as_many():
    rows = EXPERIMENT.rows
    assert len(rows) == 4 * len([row for row in rows if "," not in row]) == 96
    assert rows["04.SL, strong, 1,000 words"] == {
        **{"letters": "04", "kind": "SL", "sampling": "strong"},
        "words": 1_000,
    }
    assert LEARNERS.rows["GRU, 1,000 words"] == {"learner": "GRU", "words": 1_000}


def test_the_tables_of_the_learners_compare_them_and_show_every_language():
    gru = {
        name: value for name, value in one(9, False, asked=one(None, False)).items() if name not in ("found", "exact")
    }
    records = [
        record(LEARNERS, "search", {"x": one(4, True), "y": one(4, True)}, learner="search"),
        record(LEARNERS, "GRU", {"x": gru, "y": gru}, learner="GRU"),
        record(LEARNERS, "EDSM", {"x": one(None, False)}, learner="EDSM"),
        record(LEARNERS, "search, 1,000 words", {"x": one(3, False)}, words=1_000, learner="search"),
    ]
    fields = LEARNERS.fields(records)
    assert tables(fields["table"])[0][1:] == [
        ["search", "2", "0", "2", *["100.0%"] * 4, "2"],
        ["GRU", "2", "0", "", *["75.0%"] * 4, "2"],
        ["EDSM", "1", "1", "0", "", "", "", "", "2"],
        ["L* asks the GRU", "2", "2", "0", "", "", "", "", "2"],
    ]
    assert tables(fields["languages"])[0] == [
        ["language", "search", "GRU"],
        ["x", "100.0%", "75.0%"],
        ["y", "100.0%", "75.0%"],
    ]
    assert tables(fields["table_few"])[0][1:] == [["search", "1", "0", "0", *["75.0%"] * 4, "2"]]
    assert tables(fields["languages_few"])[0][1:] == [["x", "75.0%"]]
    assert LEARNERS.summary(records[1]) == "2 of 2 languages, 75.0% accuracy on long words one edit apart"
    assert LEARNERS.summary(records[2]) == "0 of 1 languages"
