import json
from pathlib import Path

import pytest

from keras_interp_rnn.reproduce import records, report

ROOT = Path(__file__).parents[2]


def record(name="mine", size="8e4", bits=1.9):
    return {
        "experiment": "isan_text8",
        "data": {"name": name, "characters": 1000, "text_sha256": "ab" * 32, "whole_text8": False},
        "model": {"size": size, "units": 53, "parameters": 78785},
        "protocol": {"batch": 2, "epochs": 1},
        "result": {"test_bits": bits, "validation_bits": 1.95, "characters": 2e6, "seconds": 7200},
        "environment": {**records.environment(), "commit": "c0ffee"},
    }


def test_the_committed_report_is_generated_from_the_committed_records():
    folder = ROOT / "docs" / "records"
    assert (ROOT / "docs" / "results.md").read_text() == report.results(report.read(folder))


def test_every_figure_of_a_record_appears_beside_its_data_and_the_papers():
    text = report.results([record()])
    assert "| mine | 8e4 | 53 | 78,785 | 1.900 | 1.950 | 1.92 | 2 M | 120 |" in text
    assert "`abababababababab…`. Not the whole text8." in text
    assert "commit `c0ffee`" in text


def test_without_records_there_are_no_figures():
    assert "No records yet." in report.results([])


def test_rows_are_sorted_by_data_and_size():
    text = report.results([record("b", "1.28e6"), record("b", "8e4"), record("a", "3.2e5")])
    rows = [line.split("|")[1:3] for line in text.splitlines() if line.startswith(("| a", "| b"))]
    assert [[cell.strip() for cell in row] for row in rows] == [["a", "3.2e5"], ["b", "8e4"], ["b", "1.28e6"]]


def test_jacobians_stand_by_scale_network_and_lag():
    rows = {"GRU": {"p10_p50_p90": [[1e-3, 0.25, 0.5], [1e-9, 1e-7, 1e-5]]}}
    given = {
        "experiment": "jacobians_at_start",
        "protocol": {"scale": 1.0, "lags": [0, 25]},
        "result": rows,
        "environment": records.environment(),
    }
    text = report.results([given])
    assert "| k = 0 | k = 25 |" in text
    assert "| 1 | GRU | 0.25 (1.0e-03 to 5.0e-01) | 1e-07 (1.0e-09 to 1.0e-05) |" in text


def test_recommenders_are_averaged_over_their_seeds():
    def of_seed(seed, score):
        return {
            "experiment": "recommend",
            "data": {"name": "video"},
            "model": {"layer": "GRU", "seed": seed},
            "protocol": {"units": 64},
            "result": {"map_20": score, "recall_20": 2 * score, "ndcg_20": score, "seconds": 100 + seed},
            "environment": records.environment(),
        }

    text = report.results([of_seed(0, 0.1), of_seed(1, 0.2)])
    assert "| video | GRU | 2 | 0.1500 ± 0.0707 | 0.3000 ± 0.1414 | 0.1500 ± 0.0707 | 100 |" in text


def test_a_record_is_written_whole_or_not_at_all(tmp_path):
    path = tmp_path / "new" / "r.json"
    records.write(path, {"a": 1, "environment": "elsewhere"})
    assert json.loads(path.read_text()) == {"a": 1, "environment": "elsewhere"}
    with pytest.raises(TypeError):
        records.write(path, {"a": object()})
    assert json.loads(path.read_text()) == {"a": 1, "environment": "elsewhere"}


def test_a_record_says_where_it_was_made(tmp_path):
    records.write(tmp_path / "r.json", {"a": 1})
    assert json.loads((tmp_path / "r.json").read_text()) == {"a": 1, "environment": records.environment()}


def test_the_environment_names_versions_and_hardware():
    found = records.environment()
    assert set(found) == {"date", "commit", "python", "versions", "hardware"}
    assert "cores of" in found["hardware"]
    assert all(found["versions"].values())
