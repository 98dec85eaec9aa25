"""Long texts and large vocabularies: the same values in bounded memory, or a sentence with the size."""

import sys

import keras
import numpy as np
import pytest

from keras_interp_rnn import analysis
from tests.analysis.isan.networks import network


def test_contributions_that_do_not_fit_are_refused_with_their_size():
    model, text = network(4, 5, 3, seed=1)[0], np.zeros(30_000, int)  # whose matrix contracts
    with pytest.raises(
        ValueError, match=r"must fit into 16 GiB.*30000 symbols, 30000 targets and 3 outputs.*20\.1 GiB"
    ):
        analysis.contributions(model, text)
    assert analysis.contributions(model, text[:20_000], targets=-1).values.shape == (20_001, 1, 3)


@pytest.mark.parametrize("method", ["shapley", "telescoping", "occlusion"])
def test_attribution_is_the_same_a_few_sequences_at_a_time(monkeypatch, method):
    keras.utils.set_random_seed(0)
    model = keras.Sequential([keras.Input((None, 3)), keras.layers.GRU(4), keras.layers.Dense(2)])
    inputs = np.random.default_rng(0).normal(size=(2, 7, 3))
    whole = analysis.attribution(model, inputs, target=1, method=method)
    monkeypatch.setattr(sys.modules["keras_interp_rnn.analysis.attribution.opening"], "WORKING_MEMORY", 3 * 7 * 3 * 8)
    parts = analysis.attribution(model, inputs, target=1, method=method)
    np.testing.assert_allclose(parts.shares, whole.shares, rtol=1e-12, atol=1e-14)
