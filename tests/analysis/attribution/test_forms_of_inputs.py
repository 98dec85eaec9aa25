"""Forms of inputs and models that mean the same: empty texts among others, ids of dtype bool, unbuilt models."""

import keras
import numpy as np
import pytest
from keras import ops

from keras_interp_rnn import analysis, layers
from keras_interp_rnn.analysis.attribution import top_attribution

IDS = np.array([[1, 0, 1], [1, 1, 0]])


def model_of_strings():
    words = keras.layers.TextVectorization()
    words.adapt(["a b c"])
    return [keras.Input((1,), dtype="string"), words, *of_ids()]


def of_ids():
    return [keras.layers.Embedding(6, 3, mask_zero=True), keras.layers.GRU(4), keras.layers.Dense(1)]


@pytest.mark.core(1)
@pytest.mark.parametrize(("texts", "padded"), [([["a", "b"], []], ["a b", ""]), ([[], ["b"]], ["", "b"])])
def test_an_empty_list_among_texts_is_an_empty_text(texts, padded):
    model = keras.Sequential(model_of_strings())
    found, expected = (analysis.attribution(model, given) for given in (texts, padded))
    np.testing.assert_array_equal(found.shares, expected.shares)
    assert found.tokens == expected.tokens
    empty = texts.index([])
    assert not found.shares[empty].any()
    assert not found.read[empty].any()
    names = keras.layers.StringLookup(vocabulary=["a", "b", "c"], mask_token="")
    by_names = analysis.attribution(
        keras.Sequential([keras.Input((None,), dtype="int32"), *of_ids()]), texts, alphabet=names
    )
    assert not by_names.shares[empty].any()


@pytest.mark.core(1)
@pytest.mark.parametrize("texts", [[["a"], []], [[], ["a", "b"]]])
def test_an_empty_list_needs_padding_among_texts(texts):
    model = keras.Sequential([keras.Input((None,), dtype="int32"), *of_ids()])
    with pytest.raises(
        ValueError, match="must have one length. Received: lengths from 0 to .*an alphabet with `padding`"
    ):
        analysis.attribution(model, texts, alphabet="_ab")
    with pytest.raises(ValueError, match="at least one of at least one step"):
        analysis.attribution(model, [[], []], alphabet="_ab")


NETWORKS = {
    "embedded": lambda: keras.Sequential([keras.Input((None,), dtype="int32"), *of_ids()]),
    "without an Input": lambda: keras.Sequential(of_ids()),
    "symbols": lambda: keras.Sequential(
        [keras.Input((None,), dtype="int32"), layers.ISAN(3, 4), keras.layers.Dense(2)]
    ),
    "a layer": lambda: layers.ISAN(3, 4),
}


@pytest.mark.core(2)
@pytest.mark.parametrize("name", NETWORKS)
def test_ids_of_dtype_bool_are_0_and_1(name):
    model = NETWORKS[name]()
    expected = analysis.attribution(model, IDS, target=0, method="shapley")
    for given in (IDS == 1, (IDS == 1).tolist(), ops.convert_to_tensor(IDS == 1)):
        found = analysis.attribution(model, given, target=0, method="shapley")
        np.testing.assert_array_equal(found.shares, expected.shares)
        assert found.tokens == expected.tokens


@pytest.mark.core
def test_a_text_of_dtype_bool_has_tokens():
    assert top_attribution(NETWORKS["embedded"](), [True, False, True]).tokens == ("1", "0", "1")


@pytest.mark.core
def test_a_model_that_is_not_built_is_split_as_it_is_afterwards():
    model = keras.Sequential([layers.ISAN(4, 6), keras.layers.Dense(2)])
    first, second = (analysis.attribution(model, IDS) for _ in range(2))
    assert first.method == second.method == "contributions"
    np.testing.assert_array_equal(first.shares, second.shares)


@pytest.mark.parametrize("below", [[], [keras.layers.Conv1D(4, 2, padding="same")]], ids=["chain", "graph"])
def test_other_features_than_a_model_declares_are_refused(below):
    model = keras.Sequential([keras.Input((None, 3)), *below, keras.layers.GRU(2)])
    with pytest.raises(ValueError, match=r"declares, 3\. Received: inputs of shape \(2, 5, 4\)"):
        analysis.attribution(model, np.ones((2, 5, 4), "float32"))


@pytest.mark.core
def test_a_loss_is_that_of_a_compiled_model_alone():
    class Model(keras.Model):
        def __init__(self):
            super().__init__()
            self.loss = keras.Variable(0.0)
            self.words, self.states = keras.layers.Embedding(3, 2), keras.layers.GRU(2)

        def call(self, x):
            return self.states(self.words(x))

    model = Model()
    model(np.array([[1, 2]]))
    assert not top_attribution(model, [1, 2]).values


@pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="ragged tensors are TensorFlow's")
def test_ragged_tensors_are_refused():
    import tensorflow as tf

    model = keras.Sequential([keras.Input((None, 1)), keras.layers.GRU(2)])
    with pytest.raises(ValueError, match=r"one array\. Received: a ragged tensor"):
        analysis.attribution(model, tf.ragged.constant([[[1.0]], [[2.0], [3.0]]], ragged_rank=1))


@pytest.mark.core(1)
def test_a_dict_of_names_is_from_ids_to_names_or_from_names_to_ids():
    model = NETWORKS["embedded"]()
    ways = [analysis.attribution(model, "ab", alphabet=names) for names in ({1: "a", 2: "b"}, {"a": 1, "b": 2})]
    np.testing.assert_array_equal(ways[0].shares, ways[1].shares)
    assert ways[0].tokens == ways[1].tokens == (("a", "b"),)
    with pytest.raises(ValueError, match="Ids must be ints from 0 to 2147483647. Received: 'a' for the symbol 1.5"):
        analysis.attribution(model, "ab", alphabet={"a": 1.5, "b": 2})


@pytest.mark.core(1)
def test_pairs_are_of_one_text():
    model = keras.Sequential(model_of_strings())
    assert analysis.interactions(model, ["a b"]).tokens == analysis.interactions(model, ["a", "b"]).tokens
    with pytest.raises(ValueError, match=r"list of its words\. Received: a list of 2 strings"):
        analysis.interactions(model, ["a b", "c"])
