"""Ids that a network does not have are refused by whatever reads a text, never read as others."""

import keras
import numpy as np
import pytest

from keras_interp_rnn import analysis, layers

READERS = {
    "explain": lambda model, ids: analysis.explain(model, ids),
    "phrases": lambda model, ids: analysis.phrases(model, np.asanyarray(ids)[None], length=2),
    "prototypes": lambda model, ids: analysis.prototypes(model, np.asanyarray(ids)[None]),
    "trace": lambda model, ids: analysis.trace(model, np.asanyarray(ids)[None]),
    "transition_probabilities": lambda model, ids: analysis.transition_probabilities(model, np.asanyarray(ids)[None]),
}


@pytest.fixture(scope="module", params=["with an input", "without an input", "nested"])
def network(request):
    parts = [keras.layers.Embedding(3, 3), layers.SRGRU(4, 3), keras.layers.Dense(1)]
    if request.param == "with an input":
        parts.insert(0, keras.Input((None,), dtype="int32"))
    if request.param == "nested":
        embedding = keras.Sequential([keras.Input((None,), dtype="int32"), keras.layers.Embedding(3, 3)])
        parts = [keras.Input((None,), dtype="int32"), embedding, *parts[1:]]
    return keras.Sequential(parts)


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("ids", [[-1, 0], [2**40, 0], [2**32 + 1, 0], [3, 0], [0.9, 1.9], [np.nan, 1.0]], ids=str)
def test_ids_outside_the_vocabulary_are_refused(network, reader, ids):
    with pytest.raises(ValueError, match=r"Ids must be integers in \[0, 3\)|must be (the )?integers"):
        READERS[reader](network, ids)


@pytest.mark.parametrize("reader", READERS)
def test_a_masked_array_is_refused_as_its_mask_would_be_lost(network, reader):
    with pytest.raises(ValueError, match="without a mask of its own"):
        READERS[reader](network, np.ma.masked_array([0, 1, 2], [0, 0, 1]))


@pytest.mark.parametrize("reader", ["explain", "phrases", "prototypes"])
def test_outputs_that_overflow_are_refused(reader):
    model = keras.Sequential([keras.layers.Embedding(3, 3), layers.SRGRU(4, 3), keras.layers.Dense(1)])
    model(np.array([[0, 1]]))
    model.layers[-1].kernel.assign(np.full((4, 1), 1e38))
    model.layers[1].cell.centroids.assign(np.full((3, 4), 3.0))
    with pytest.raises(ValueError, match="must fit into floats"):
        READERS[reader](model, [0, 1, 2])


def test_a_model_without_an_input_reads_texts_of_any_length():
    model = keras.Sequential([keras.layers.Embedding(3, 3), layers.SRGRU(4, 3), keras.layers.Dense(1)])
    model(np.array([[0, 1]]))
    np.testing.assert_allclose(analysis.explain(model, [0, 1, 2]).output, model(np.array([[0, 1, 2]]))[0], atol=1e-6)
