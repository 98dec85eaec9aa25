"""Hidden state and memory of networks along one string of parentheses."""

import numpy as np
import pytest

from examples.papers import _languages as languages
from examples.papers import parentheses_states
from examples.papers.data import balanced_parentheses
from keras_interp_rnn import analysis
from keras_interp_rnn.datasets import LabelledWords
from tests.papers.common import EXPERIMENTS

EXPERIMENT = EXPERIMENTS["parentheses-states"]


@pytest.fixture
def traced(monkeypatch):
    """Makes up the trace of strings: name of a quantity -> its values from the counts of open brackets."""

    def trace_of(words, start_token, **quantities):
        inside = [word for word, label in zip(words.words, words.labels, strict=True) if label]
        counts = [np.cumsum([{"(": 1, ")": -1}.get(symbol, 0) for symbol in word]) for word in inside]

        def trace(_, ids):
            found = {name: np.full((*ids.shape, len(of([0])[0])), np.nan) for name, of in quantities.items()}
            for name, of in quantities.items():
                for along, count in zip(found[name], counts, strict=False):
                    along[int(start_token) : int(start_token) + len(count)] = of(count)
            return found

        monkeypatch.setattr(analysis, "trace", trace)
        return parentheses_states.states_along(None, words, start_token)

    return trace_of


def test_the_count_is_read_off_the_state_that_has_it(traced):
    """The memory is affine in the count, the hidden state knows only whether a bracket is open."""
    basis = np.random.default_rng(0).normal(size=3)
    along = traced(
        balanced_parentheses.load("test_d5_l200", config="small"),
        True,
        c=lambda count: np.multiply.outer(count, basis) + 5,
        h=lambda count: np.multiply.outer(np.sign(count), [1, -1]),
        alpha=lambda count: np.eye(4)[np.where(np.sign(count), 1, 3)],
    )
    found = parentheses_states.count_in_states(*along)
    assert found["count"]["c"] == pytest.approx(1)
    assert 0.05 < found["count"]["h"] < 0.9
    assert found["visited"] == 2


@pytest.mark.parametrize("drift", [0.0, 0.02, -0.01])
def test_the_drift_of_the_count_is_its_slope(traced, monkeypatch, drift):
    monkeypatch.setattr(parentheses_states, "FITTED", 3)  # which hardly sees the drift
    words = balanced_parentheses.load("test_d10_l200", config="small")
    along = traced(words, False, c=lambda count: 3 - 2 * (count + drift * np.arange(len(count)))[:, None])
    assert parentheses_states.drift_of_count(*along) == pytest.approx(100 * drift, abs=0.02 + abs(5 * drift))


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


def test_drift_distinguishes_states_that_run_away_from_states_that_return():
    turns = np.linspace(0, 8 * np.pi, 80, endpoint=False)
    line, circle = np.arange(8.0)[:, None], np.stack([np.sin(turns), np.cos(turns)], axis=1)
    assert parentheses_states.drift(line) == 6
    assert parentheses_states.drift(circle) < 1e-12
    assert parentheses_states.drift(np.ones((8, 2))) == 0
