"""What the centroids of a network that reads pixels stand for."""

import importlib.util

import keras
import numpy as np
import pytest

from keras_interp_rnn import layers
from tests.papers.common import EXPERIMENTS, a_run

EXPERIMENT = EXPERIMENTS["mnist-centroids"]


@pytest.mark.matrix
def test_a_run_analyses_the_network_it_is_given(tmp_path):
    keras.utils.set_random_seed(0)
    inputs = keras.Input((None, 1))
    model = keras.Model(inputs, keras.layers.Dense(10)(layers.SRGRU(6, 4)(inputs)))
    (tmp_path / "theirs").mkdir()
    (tmp_path / "mine").mkdir()
    model.save(tmp_path / "theirs" / "model.keras")
    run = a_run(tmp_path / "mine", "", settings=EXPERIMENT.rows[""], model=tmp_path / "theirs" / "model.keras")
    record = EXPERIMENT.run(run)
    x, y = EXPERIMENT.load(run).test
    right = np.asarray(model(x)).argmax(axis=1) == y
    assert record["result"]["accuracy"] == pytest.approx(right.mean())
    assert record["model"] == {"centroids": 4, "run": "theirs"}
    assert record["data"] == {**EXPERIMENT.identity(run), "pixels": 16, "digits": 20}
    drawn = {path.name for path in (tmp_path / "mine").iterdir()}
    assert drawn == {"figure7.png", "figure9.png"} | ({"figure8.png"} if right.any() else set())


def test_without_scikit_learn_nothing_is_trained(tmp_path, monkeypatch):
    spec = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *of: None if name == "sklearn" else spec(name, *of))
    with pytest.raises(ImportError, match=r"scikit-learn: pip install 'keras_interp_rnn\[examples\]'$"):
        EXPERIMENT.run(a_run(tmp_path, "", settings=EXPERIMENT.rows[""]))
