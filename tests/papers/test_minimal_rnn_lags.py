"""How far back a network remembers: the task, its rows, and the claim."""

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
    matrix = layer.cell.recurrent_kernel.numpy()[:, :6]
    np.testing.assert_allclose(matrix @ matrix.T, np.eye(6), atol=1e-5)
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


def records_of(longest):
    """Records of rows, with one longest lag for each seed."""
    rows = list(EXPERIMENT.rows)
    return [
        {
            "experiment": EXPERIMENT.name,
            "protocol": {"lags": [10, 20], "seed": seed},
            "result": {
                "longest": lag,
                "steps": {"10": 100, "100": None if lag < 100 else 400 + 500 * (row[0] == "G")},
            },
            "table": {"row": row, "order": rows.index(row)},
        }
        for row, of_row in longest.items()
        for seed, lag in enumerate(of_row)
    ]


def test_the_claim_is_on_steps_to_learn_and_on_the_longest_lag():
    own = {"MinimalRNN": [50, 50, 60], "vanilla": [20, 20, 20], "GRU": [10, 10, 20], "CFN": [10, 10, 10]}
    [claim] = EXPERIMENT.claims(records_of(own))
    assert [finding.holds for finding in claim.findings] == [None, True, None, None]
    critical = {f"{kind}, gates for 100 steps": [100, 100, 200] for kind in ("MinimalRNN", "GRU")}
    [claim] = EXPERIMENT.claims(records_of({**own, **critical, "GRU, gate bias 1": [90, 90, 90]}))
    assert [finding.holds for finding in claim.findings] == [True, True, False, None]
    assert claim.verdict == "found in part"
