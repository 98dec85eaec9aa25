"""Hidden state and memory of networks along one string of parentheses."""

import pytest

from keras_interp_rnn.reproduce import _records as records
from keras_interp_rnn.reproduce import _report as report
from tests.reproduce.common import EXPERIMENTS, a_run, tables

EXPERIMENT = EXPERIMENTS["parentheses-states"]


def test_where_the_count_is_has_its_errors_in_the_order_of_the_tests():
    found = {"errors": {"test_d10_l200": 0.3, "test_d5_l200": 0.1}, "drift": {"h": 0.5, "c": 4.0}}
    given = {
        "experiment": "parentheses_states",
        "data": {"config": "large_near"},
        "protocol": {"tests": ["test_d5_l200", "test_d10_l200"]},
        "result": {"LSTM": found},
        "environment": records.environment(),
    }
    [[head, line]] = tables(report.section(EXPERIMENT, [given], None))
    assert head[2:4] == ["d5 l200", "d10 l200"]
    assert line == ["large_near", "LSTM", "10.0%", "30.0%", "0.5", "4.0"]
    assert EXPERIMENT.summary(given) == "LSTM: drift of h 0.5, of c 4.0"


@pytest.mark.slow
def test_a_run_trains_traces_and_draws(tmp_path):
    run = a_run(tmp_path, "large_near", settings=EXPERIMENT.rows["large_near"])
    record = EXPERIMENT.run(run)
    assert record["data"] == EXPERIMENT.identity(run)
    assert record["protocol"]["tests"] == ["test_d5_l200"]
    [(network, found)] = record["result"].items()
    assert network == "SR-LSTM-P"
    assert set(found["errors"]) == {"test_d5_l200"}
    assert set(found["drift"]) == {"h", "c"}
    assert (tmp_path / "figure5-SR-LSTM-P.png").exists()
    assert (tmp_path / "SR-LSTM-P" / "model.keras").exists()
