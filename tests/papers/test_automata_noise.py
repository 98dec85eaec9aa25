"""Automata from words with wrong labels: what is drawn, what is measured, and the tables."""

import itertools

import numpy as np
import pytest

from examples.papers import automata_noise
from keras_interp_rnn import automata
from tests.papers.common import EXPERIMENTS, a_run, tables

EXPERIMENT = EXPERIMENTS["automata-noise"]


def test_the_automata_are_minimal_and_of_all_sizes():
    drawn = [automata_noise.automaton(index) for index in range(40)]
    assert [len(dfa) for dfa in drawn] == [3 + index % 13 for index in range(40)]
    assert [len(dfa.alphabet) for dfa in drawn] == [2 + index % 3 for index in range(40)]
    assert all(len(dfa.minimize()) == len(dfa) for dfa in drawn)
    assert len({dfa.to_json() for dfa in drawn}) == 40


def test_words_noise_and_fresh_words_have_seeds_of_their_own():
    truth = automata_noise.automaton(4)
    clean, noisy = (automata_noise.sample(truth, noise, (4, 0), 100, 500) for noise in (0.0, 0.1))
    assert clean.words == noisy.words
    assert clean.fresh == noisy.fresh
    right = [truth.accepts(word) for word in clean.words]
    assert clean.labels == right
    assert [label != flipped for label, flipped in zip(noisy.labels, noisy.wrong, strict=True)] == right
    assert 0.05 < np.mean(noisy.wrong) < 0.15
    short = [word for n in range(5) for word in itertools.product("abc", repeat=n)]  # 121
    assert noisy.words[: len(short)] == short
    assert len({*noisy.words}) == len(noisy.words)
    assert {len(word) for word in noisy.words[len(short) :]} == {*range(5, automata_noise.LONGEST + 1)}
    assert not {*noisy.fresh} & {*noisy.words}
    assert automata_noise.sample(truth, 0.1, (4, 1), 100, 500).wrong[:100] != noisy.wrong[:100]


@pytest.mark.matrix
@pytest.mark.parametrize("learner", automata_noise.LEARNERS)
def test_a_learner_is_exact_on_right_labels_and_is_ended_in_time(learner, monkeypatch):
    truth = automata_noise.automaton(1)
    given = automata_noise.sample(truth, 0.0, (1, 0), 300, 100)
    found = automata_noise._merged(learner, truth, given)
    assert (found["exact"], found["found"], found["accuracy"]) == (True, len(truth), 1.0)
    monkeypatch.setattr(automata_noise, "SECONDS", 0.0)
    found = automata_noise._merged(learner, truth, automata_noise.sample(truth, 0.2, (1, 0)))
    assert found == {"seconds": 0.0, "found": None, "exact": False, "accuracy": None}


def test_the_search_is_measured(tmp_path, monkeypatch):
    truth = automata_noise.automaton(0)
    run = a_run(tmp_path, settings={"noise": 0.05, "known": False})
    given = automata_noise.sample(truth, 0.05, (0, 0), 400, 100)
    found = automata_noise._searched(truth, given, run)
    assert found["exact"]
    assert found["certified"]
    assert found["contradicted"] == found["wrong_contradicted"] == sum(given.wrong)
    assert found["label_noise"] == pytest.approx(sum(given.wrong) / len(given.words))
    other = automata.DFA([[0] * len(truth.alphabet)], {0}, alphabet=truth.alphabet)
    assert automata_noise._quality(truth, other, given)["accuracy"] == np.mean([*map(truth.accepts, given.fresh)])

    def refused(*_, **settings):
        raise ValueError("No automaton was found that describes the labels")

    monkeypatch.setattr(automata, "train_recognizer", refused)
    found = automata_noise._searched(truth, given, run)
    assert (found["found"], found["exact"], found["certified"]) == (None, False, False)


def record(row, known, search, **learners):
    found = {"states": 4, "symbols": 2, "noise": 0.05, "words": 100, "wrong": 5, "search": search, **learners}
    return {
        "table": {"table": "automata-noise", "row": row, "order": 0},
        "protocol": {"known": known, "seed": 0},
        "environment": {
            "date": "2026-11-25",
            "hardware": "",
            "commit": "",
            "python": "3",
            "versions": {},
            "backend": "",
        },
        "result": {"0": found, "1": {**found, "search": {**NOTHING, "certified": False}}},
    }


FOUND = {"found": 4, "exact": True, "accuracy": 1.0, "seconds": 2.0, "certified": True, "method": "merging"}
FOUND |= {"contradicted": 6, "wrong_contradicted": 5, "label_noise": 0.06, "interval": [0.02, 0.13]}
NOTHING = {"found": None, "exact": False, "accuracy": None, "seconds": 10.0}


def test_the_tables_say_what_was_found_and_what_was_not():
    other = {"found": 9, "exact": False, "accuracy": 0.8, "seconds": 1.0}
    records = [record("5%", True, FOUND, RPNI=other, EDSM=NOTHING), record("5%, not known", False, FOUND)]
    fields = EXPERIMENT.fields(records)
    (rows,) = tables(fields["table"])
    assert rows[1] == ["5%", "search", "1 of 2", "1", "1", "+0", "6.0", "10.0", "100.00%"]
    assert rows[2] == ["5%", "RPNI", "0 of 2", "", "0", "+5", "1.0", "1.0", "80.00%"]
    assert rows[3] == ["5%", "EDSM", "0 of 2", "", "2", "", "10.0", "10.0", ""]
    assert tables(fields["labels"])[0][1] == ["5%", "5", "6", "5"]
    assert tables(fields["estimates"])[0][1:] == [["5%, not known", "6.00%", "6.00% to 6.00%", "1"]]
    assert tables(fields["missed"])[0][1] == ["5%", "4", "2", "nothing, in 10 s"]
    assert EXPERIMENT.summary(records[0]) == "1 of 2 exact"
