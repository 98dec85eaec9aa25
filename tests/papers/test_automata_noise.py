"""Automata from words with wrong labels: what is drawn, what is measured, and the tables."""

import itertools

import numpy as np
import pytest

from examples.papers import _aalpy, automata_noise
from keras_interp_rnn import automata
from tests.papers.common import EXPERIMENTS, a_run

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
def test_a_learner_is_exact_on_right_labels_and_is_ended_in_time(learner):
    truth = automata_noise.automaton(1)
    given = automata_noise.sample(truth, 0.0, (1, 0), 300, 100)
    seconds, dfa = _aalpy.merged(learner, given.words, given.labels, truth.alphabet, 10.0)
    found = automata_noise._quality(truth, dfa, given)
    assert 0 < seconds < 10
    assert (found["exact"], found["found"], found["accuracy"]) == (True, len(truth), 1.0)
    noisy = automata_noise.sample(truth, 0.2, (1, 0))
    assert _aalpy.merged(learner, noisy.words, noisy.labels, truth.alphabet, 0.0) == (0.0, None)
    assert automata_noise._quality(truth, None, noisy) == {"found": None, "exact": False, "accuracy": None}


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

    monkeypatch.setattr(automata, "infer", refused)
    found = automata_noise._searched(truth, given, run)
    assert (found["found"], found["exact"], found["certified"]) == (None, False, False)
