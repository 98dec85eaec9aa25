"""Hidden state and memory of networks along one string of parentheses."""

import numpy as np
import pytest

from examples.papers import _languages as languages
from examples.papers import parentheses_states
from keras_interp_rnn import analysis
from keras_interp_rnn.datasets import LabelledWords, balanced_parentheses
from tests.papers.common import EXPERIMENTS

EXPERIMENT = EXPERIMENTS["parentheses-states"]


def test_the_count_is_read_off_the_state_that_has_it(monkeypatch):
    """A made-up trace: the memory is affine in the count, the hidden state knows only whether a bracket is open."""
    words = balanced_parentheses.load("test_d5_l200", config="small")
    rng = np.random.default_rng(0)
    basis = rng.normal(size=3)

    def trace(_, ids):
        shape = ids.shape
        traced = {name: np.full((*shape, size), np.nan) for name, size in (("h", 2), ("c", 3), ("alpha", 4))}
        inside = [word for word, label in zip(words.words, words.labels, strict=True) if label]
        for i, word in enumerate(inside[: len(ids)]):
            count = np.cumsum([{"(": 1, ")": -1}.get(symbol, 0) for symbol in word])
            steps = slice(1, 1 + len(word))  # after the start token
            traced["c"][i, steps] = count[:, None] * basis + 5
            traced["h"][i, steps] = (count > 0)[:, None] * [1, -1]
            traced["alpha"][i, steps] = np.eye(4)[np.where(count > 0, 1, 3)]
        return traced

    monkeypatch.setattr(analysis, "trace", trace)
    found = parentheses_states.count_in_states(*parentheses_states.states_along(None, words, start_token=True))
    assert found["count"]["c"] == pytest.approx(1)
    assert 0.05 < found["count"]["h"] < 0.9
    assert found["visited"] == 2


@pytest.mark.parametrize("drift", [0.0, 0.02, -0.01])
def test_the_drift_of_the_count_is_its_slope(monkeypatch, drift):
    words = balanced_parentheses.load("test_d10_l200", config="small")
    monkeypatch.setattr(parentheses_states, "FITTED", 3)  # which hardly sees the drift

    def trace(_, ids):
        c = np.full((*ids.shape, 1), np.nan)
        inside = [word for word, label in zip(words.words, words.labels, strict=True) if label]
        for i, word in enumerate(inside[: len(ids)]):
            count = np.cumsum([{"(": 1, ")": -1}.get(symbol, 0) for symbol in word])
            c[i, : len(word), 0] = 3 - 2 * (count + drift * np.arange(len(word)))
        return {"c": c}

    monkeypatch.setattr(analysis, "trace", trace)
    found = parentheses_states.drift_of_count(*parentheses_states.states_along(None, words, start_token=False))
    assert found == pytest.approx(100 * drift, abs=0.02 + abs(5 * drift))


def test_counts_are_read_by_what_shallow_strings_teach():
    """A memory that counts to four and stays there."""

    def along(highest):
        count = np.concatenate([np.arange(highest), np.arange(highest, -1, -1)])
        return {"c": [np.minimum(count, 4)[:, None] * [2.0, -1.0] + 3]}, [count]

    assert parentheses_states.counts_read(along(4), along(6)) == pytest.approx([0, 1, 2, 3, 4, 4, 4])


def test_rejected_words_are_those_in_the_language(monkeypatch):
    words = LabelledWords(("(", "()", ")", "()()"), np.array([False, True, False, True]), "()")
    monkeypatch.setattr(languages, "predict", lambda *_: np.array([3.0, -0.5, -2.0, 0.5]))
    assert parentheses_states.rejected(None, words, start_token=True) == 0.5


def test_the_picture_is_of_the_papers_strings():
    def record(config, seed, **more):
        return {"data": {"config": config}, "protocol": {"seed": seed}, "result": {"LSTM": more}}

    given = [record("large_near", 0, counts_read=[0.0]), record("large_paper", 0), record("large_paper", 1)]
    assert EXPERIMENT.pictures(given) == {}
    given[2]["result"]["LSTM"]["counts_read"] = [0.0, 1.0]
    [(name, figure)] = EXPERIMENT.pictures(given).items()
    assert name == "parentheses-counts.png"
    assert [text.get_text() for text in figure.axes[0].get_legend().get_texts()] == ["LSTM, seed 1"]


def verdicts(own, other, seeds=3):
    """Of networks with these results, spread a little over seeds; others on other strings do not count."""

    def spread(of, seed):
        return {**of, "count": {name: share + seed / 1000 for name, share in of["count"].items()}}

    given = [
        {"data": {"config": "large_paper"}, "result": {"SR-LSTM-P": spread(own, seed), "LSTM": spread(other, seed)}}
        for seed in range(seeds)
    ]
    drift = {"drift": {"h": 0.5, "c": 4.0}}
    earlier = {"data": {"config": "large_near"}, "result": {"SR-LSTM-P": drift, "LSTM": drift}}
    return [claim.verdict for claim in EXPERIMENT.claims([*given, earlier])]


def test_the_claims_of_the_count_and_of_drift_are_of_seeds():
    own = {"drift": {"h": 0.1, "c": 0.1}, "count": {"h": 0.2, "c": 0.95}, "visited": 2}
    other = {"drift": {"h": 0.2, "c": 0.2}, "count": {"h": 0.95, "c": 0.95}}
    assert verdicts(own, other) == ["found", "found"]
    assert verdicts({**own, "visited": 3}, other)[0] == "found in part"
    assert verdicts(own, {**other, "count": {"h": 0.89, "c": 0.99}})[0] == "found in part"
    assert verdicts(own, other, seeds=1) == ["undetermined", "undetermined"]
    assert verdicts({**own, "drift": {"h": 0.3, "c": 0.1}}, other)[1] == "found in part"
