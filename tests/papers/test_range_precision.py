"""Range against precision: logits by the equations, and what is counted along a training."""

import keras
import numpy as np
import pytest

from examples.papers import _languages, _range
from keras_interp_rnn import datasets
from tests.papers.common import EXPERIMENTS, a_run

EXPERIMENT = EXPERIMENTS["range-precision"]
LABELLED = {"()": True, "((a))": True, "(b": False, "((": False, "(((": False, "a": True, "(((((": False, ")(": False}
WORDS = datasets.LabelledWords(tuple(LABELLED), np.array([*LABELLED.values()]), "()ab")


@pytest.fixture(autouse=True)
def _without_xla(monkeypatch):
    """So small a network trains for a shorter time than XLA compiles."""
    monkeypatch.setattr(_languages, "JIT_COMPILE", False)


def network(kind, seed=0):
    protocol = _languages.Protocol(units=5, centroids=3 * kind.startswith("SR"), start_token=True, paper_weights=True)
    return _languages.build(kind, 4, protocol, seed)


@pytest.mark.parametrize("kind", _languages.NETWORKS)
def test_logits_by_the_equations_are_the_models(kind):
    model, ids = network(kind), WORDS.ids(start=True, end=True)
    weights = [keras.ops.convert_to_numpy(weight) for weight in model.trainable_variables]
    weights[-1] = weights[-1] + 0.25
    found = _range.logits(model, weights, ids)
    model.trainable_variables[-1].assign(weights[-1])
    np.testing.assert_allclose(found, model.predict_on_batch(ids)[:, 0], atol=1e-5)


def test_errors_are_counted_by_the_difference_of_parentheses():
    np.testing.assert_array_equal(_range.differences(WORDS), [0, 0, 1, 2, 3, 0, 3, 0])
    model = network("LSTM")
    logits = _range.logits(model, model.get_weights(), WORDS.ids(start=True, end=True))
    judge = _range.Judge({"first": WORDS, "second": WORDS}, WORDS, start_token=True, growing=0)
    judge.set_model(model)
    logs = {}
    for epoch in range(2 * _range.AVERAGED):
        judge.on_epoch_end(epoch, logs)
        assert bool(logs["wrong"]) == (epoch % _range.EVERY == 1)
        assert bool(logs["averaged"]) == (epoch == 2 * _range.AVERAGED - 1)
    wrong = (logits > 0) != WORDS.labels
    expected = [wrong[[0, 1, 5, 7]].sum(), wrong[2], wrong[3], wrong[[4, 6]].sum()]
    np.testing.assert_array_equal(logs["wrong"], [expected] * 2)
    np.testing.assert_array_equal(logs["averaged"], logs["wrong"])  # weights that stay are their own mean
    assert logs["longer_error"] == logs["averaged_longer_error"] == pytest.approx(wrong.mean())


def test_a_run_is_evaluated_along_the_way(tmp_path):
    run = a_run(tmp_path, "SR-LSTM-P", settings=EXPERIMENT.rows["SR-LSTM-P"])
    record = EXPERIMENT.run(run)
    assert ["wrong" in point for point in record["curve"]] == [False, True] * 4
    assert ["averaged" in point for point in record["curve"]] == [False] * 7 + [True]
    assert EXPERIMENT.run(run)["curve"] == record["curve"]
