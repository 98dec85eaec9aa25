"""The section and the pictures of the recommenders."""

import keras
import numpy as np
import pytest

from examples.papers import _records as records
from examples.papers import _report as report
from examples.papers import minimal_rnn_recommendation
from examples.papers._recommendation import gate_weights
from keras_interp_rnn import initializers
from tests.papers.common import a_run

if keras.backend.backend() != "tensorflow":
    pytest.skip("The recommender's backend is TensorFlow.", allow_module_level=True)

RECOMMENDATION = minimal_rnn_recommendation.Recommendation()


def results(given):
    return "\n".join(report.pages([RECOMMENDATION], given).values())


def a_record(kind="GRU", seed=0, data="video", **result):
    scores = dict.fromkeys(("map_20", "recall_20", "ndcg_20", "seconds"), 1.0)
    return {
        "experiment": "minimal-rnn-recommendation",
        "data": {"name": data},
        "model": {"layer": kind, "seed": seed},
        "protocol": {"units": 64},
        "result": {**scores, **result},
        "environment": records.environment(),
    }


def test_the_first_seed_of_every_network_on_the_last_data_is_drawn():
    def with_curve(kind, seed, score, data="video"):
        point = {"map_20": score, "singular_values": [[1e-3, 0.1, 1.0]]}
        curve = [{"step": step, "seconds": 36 * step, **point} for step in (1, 2)]
        given = a_record(kind, seed, data)
        return {**given, "curve": curve, "protocol": {"lags": [0]}}

    given = [with_curve("GRU", 1, 0.2), with_curve("GRU", 0, 0.1), with_curve("CFN", 0, 0.3)]
    pictures = RECOMMENDATION.pictures([*given, with_curve("vanilla", 0, 0.4, data="beauty")])
    assert set(pictures) == {"recommendation_progress.png", "jacobians_in_training.png"}
    by_steps, by_hours = pictures["recommendation_progress.png"].axes
    drawn = {line.get_label(): (list(line.get_xdata()), list(line.get_ydata())) for line in by_steps.lines}
    assert drawn == {"GRU": ([1, 2], [0.1, 0.1]), "CFN": ([1, 2], [0.3, 0.3])}
    assert list(by_hours.lines[0].get_xdata()) == [0.01, 0.02]


def test_a_network_is_named_by_its_gates_and_drawn_beside_its_default():
    def started(kind, score, **protocol):
        point = {"step": 1, "seconds": 36, "map_20": score, "singular_values": [[1e-3, 0.1, 1.0]]}
        given = a_record(kind, map_20=score, gate={"diagonal": score, "moving": 1.0, "moved": 1.0})
        return {**given, "curve": [point, {**point, "step": 2}], "protocol": {"lags": [0], **protocol}}

    given = [
        started("GRU", 0.1),
        started("GRU", 0.2, gate_bias=1.0, gate_steps=None),
        started("MinimalRNN", 0.3, gate_bias=None, gate_steps=100.0),
    ]
    text = results(given)
    assert "| video | GRU | 1 | 0.1000 |" in text
    assert "| video | GRU, gate bias 1 | 1 | 0.2000 |" in text
    assert "| video | MinimalRNN, gates for 100 steps | 1 | 0.3000 |" in text
    assert RECOMMENDATION.fields(given)["diagonal"] == "not measured"  # of the default alone
    pictures = RECOMMENDATION.pictures(given)
    shown = pictures["jacobians_in_training_by_gates.png"]
    titles = {text.get_text() for axis in shown.axes for text in (axis.title, axis.yaxis.label)}
    assert {"GRU", "GRU, gate bias 1", "MinimalRNN, gates for 100 steps"} <= titles
    assert len(pictures["recommendation_progress.png"].axes[0].lines) == 1


def test_a_row_says_how_its_gates_start():
    from examples.papers import _recommendation

    recommender = _recommendation.recommender("GRU", 20, 4, True, gate_bias=2.0)
    bias = keras.ops.convert_to_numpy(recommender.get_layer("recurrent").cell.bias)
    np.testing.assert_array_equal(bias, [[2.0] * 4 + [0.0] * 8, [0.0] * 12])
    recommender = _recommendation.recommender("MinimalRNN", 20, 4, False, gate_steps=50.0)
    bias = keras.ops.convert_to_numpy(recommender.get_layer("recurrent").cell.bias)
    np.testing.assert_allclose(bias, initializers.CriticalBias("MinimalRNN", 50.0).gate_bias, rtol=1e-6)


def test_without_data_it_says_what_to_give(tmp_path):
    with pytest.raises(ValueError, match="The paper's data are not public; .* Give a file of interactions by --data"):
        RECOMMENDATION.load(a_run(tmp_path, smoke=False))


def test_gates_are_those_of_networks_with_context_where_there_are_any():
    sizes = {"diagonal": 1.5, "moving": 1.25, "moved": 2.0}
    plain = a_record("MinimalRNN", data="beauty", gate=sizes)
    reads = a_record("MinimalRNN", data="beauty", gate={**sizes, "diagonal": 3.0})
    reads["protocol"] = {"attributes": True}
    assert RECOMMENDATION.fields([plain])["gates"] == "beauty, one seed"
    fields = RECOMMENDATION.fields([plain, reads])
    assert (fields["diagonal"], fields["gates"]) == ("3.0", "beauty, with attributes, one seed")
    assert "| beauty | MinimalRNN, with attributes | 1 |" in fields["table"]


def test_what_chance_gives_is_measured_on_orthogonal_matrices():
    rng = np.random.default_rng(0)
    drawn = [gate_weights(np.linalg.qr(rng.normal(size=(64, 64)))[0]) for _ in range(400)]
    for name, (mean, deviation) in minimal_rnn_recommendation.BY_CHANCE.items():
        sizes = [sizes[name] for sizes in drawn]
        assert np.mean(sizes) == pytest.approx(mean, abs=0.02)
        assert np.std(sizes) == pytest.approx(deviation, abs=0.01)
