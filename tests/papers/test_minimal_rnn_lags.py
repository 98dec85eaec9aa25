"""How far back a network remembers: the task and its rows."""

import numpy as np
import pytest

from examples.papers import minimal_rnn_lags as lags
from tests.papers.common import EXPERIMENTS, a_run

EXPERIMENT = EXPERIMENTS["minimal-rnn-lags"]


def test_the_first_step_alone_tells_the_class_and_noise_is_as_long():
    x, y = lags.sequences(np.random.default_rng(0), 500, 20, 8)
    assert x.shape == (500, 21, 8)
    np.testing.assert_array_equal(x[:, 0].argmax(axis=1), y)
    assert set(np.unique(x[:, 0])) == {0, 1}
    assert (x[:, 1:] ** 2).sum(axis=2).mean() == pytest.approx(1, abs=0.02)
    assert np.bincount(y).min() > 30


@pytest.mark.parametrize("row", EXPERIMENT.rows)
def test_a_row_is_its_network_with_its_gates(row):
    protocol = {**lags.PROTOCOL, **EXPERIMENT.rows[row], "units": 6, "seed": 1}
    layer = lags.model_of(protocol).layers[0]
    kind = protocol["network"]
    assert type(layer).__name__ == {"vanilla": "SimpleRNN"}.get(kind, kind)
    if "gate" in row:
        bias = layer.cell.bias.numpy().reshape(-1, layer.cell.bias.shape[-1])[0, :6]
        assert (bias == 1).all() if row.endswith("1") else (bias > 3).all()


@pytest.mark.matrix
def test_a_lag_that_is_not_learned_ends_a_run_and_a_killed_run_goes_on(tmp_path, monkeypatch):
    tried = []

    def learn(_, lag):
        tried.append(lag)
        return {"steps": 300 if lag < 50 else None, "right": 0.5}

    monkeypatch.setattr(lags, "_learn", learn)
    for _ in range(2):
        run = a_run(tmp_path, "GRU", settings=EXPERIMENT.rows["GRU"], smoke=False)
        record = EXPERIMENT.run(run)
        assert record["result"] == {"longest": 20, "steps": {"10": 300, "20": 300, "50": None}}
    assert tried == [10, 20, 50]


def test_a_short_lag_is_learned():
    protocol = {**lags.PROTOCOL, **EXPERIMENT.rows["vanilla"], "units": 16, "seed": 0, "every": 50}
    found = lags._learn(protocol, 2)
    assert found["steps"] <= 500
    assert found["right"] >= 0.95
    assert lags._learn({**protocol, "steps": 50, "recalls": 2.0}, 2)["steps"] is None
