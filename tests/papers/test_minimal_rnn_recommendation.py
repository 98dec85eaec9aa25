"""The pictures of the recommenders, and how their gates start."""

import keras
import numpy as np
import pytest

from examples.papers import _records as records
from examples.papers import minimal_rnn_recommendation
from examples.papers._recommendation import gate_weights
from keras_interp_rnn import initializers
from tests.papers.common import a_run

if keras.backend.backend() != "tensorflow":
    pytest.skip("The recommender's backend is TensorFlow.", allow_module_level=True)

RECOMMENDATION = minimal_rnn_recommendation.Recommendation()


def a_record(kind, seed, score, data="video", **gates):
    point = {"map_20": score, "singular_values": [[1e-3, 0.1, 1.0]]}
    return {
        "data": {"name": data},
        "model": {"layer": kind, "seed": seed},
        "protocol": {"lags": [0], **gates},
        "result": dict.fromkeys((*minimal_rnn_recommendation.SCORES, "seconds"), score),
        "curve": [{"step": step, "seconds": 36 * step, **point} for step in (1, 2)],
        "environment": records.environment(),
    }


def test_the_first_seed_of_every_network_on_the_last_data_is_drawn_and_its_gates_apart():
    given = [a_record("GRU", 1, 0.2), a_record("GRU", 0, 0.1), a_record("CFN", 0, 0.3)]
    pictures = RECOMMENDATION.pictures([*given, a_record("vanilla", 0, 0.4, data="beauty")])
    assert set(pictures) == {"recommendation_progress.png", "jacobians_in_training.png"}
    by_steps, by_hours = pictures["recommendation_progress.png"].axes
    drawn = {line.get_label(): (list(line.get_xdata()), list(line.get_ydata())) for line in by_steps.lines}
    assert drawn == {"GRU": ([1, 2], [0.1, 0.1]), "CFN": ([1, 2], [0.3, 0.3])}
    assert list(by_hours.lines[0].get_xdata()) == [0.01, 0.02]
    with_bias = a_record("GRU", 0, 0.5, gate_bias=1.0, gate_steps=None)
    critical = a_record("MinimalRNN", 0, 0.6, gate_bias=None, gate_steps=100.0)
    pictures = RECOMMENDATION.pictures([*given, with_bias, critical])
    shown = pictures["jacobians_in_training_by_gates.png"]
    titles = {text.get_text() for axis in shown.axes for text in (axis.title, axis.yaxis.label)}
    assert {"GRU", "GRU, gate bias 1", "MinimalRNN, gates for 100 steps"} <= titles
    assert len(pictures["recommendation_progress.png"].axes[0].lines) == 2


def test_without_all_networks_there_are_no_claims_and_without_weights_no_gates():
    records_of = [a_record("GRU", 1, 0.2), a_record("CFN", 0, 0.3)]
    assert RECOMMENDATION.claims(records_of) == []
    fields = RECOMMENDATION.fields(records_of)
    assert (fields["by_gates"], fields["gates"], fields["moved"]) == ("", "no record", "not measured")
    assert "| video | GRU | 1 | 0.2000 |" in fields["table"]


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


def test_what_chance_gives_is_measured_on_orthogonal_matrices():
    rng = np.random.default_rng(0)
    drawn = [gate_weights(np.linalg.qr(rng.normal(size=(64, 64)))[0]) for _ in range(400)]
    for name, (mean, deviation) in minimal_rnn_recommendation.BY_CHANCE.items():
        sizes = [sizes[name] for sizes in drawn]
        assert np.mean(sizes) == pytest.approx(mean, abs=0.02)
        assert np.std(sizes) == pytest.approx(deviation, abs=0.01)
