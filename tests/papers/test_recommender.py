"""A catalogue: its ranks by sorting, its sampled loss beside the whole softmax, its draws by their probabilities."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from examples.papers.recommender import Catalogue, Recommender
from tests.tolerances import assert_close


def catalogue(items=7, size=3, seed=0, **arguments):
    layer = Catalogue(items, size, seed=seed, **arguments)
    layer.build()
    rng = np.random.default_rng(seed)
    layer.set_weights([rng.normal(size=(items + 1, size)), rng.normal(size=items + 1)])
    return layer


def test_it_reads_rows_of_its_table_and_masks_padding():
    layer = catalogue()
    ids = np.array([[3, 7, 0]])
    embeddings = layer(ids)
    assert_close(embeddings, layer.get_weights()[0][ids], "float32")
    np.testing.assert_array_equal(keras.ops.convert_to_numpy(layer.compute_mask(ids)), [[True, True, False]])


def test_a_saved_model_computes_the_same(tmp_path):
    layer = catalogue(seed=5, negatives=4, name="catalogue")
    items = keras.Input((None,), dtype="int32")
    model = Recommender(items, keras.layers.GRU(3, return_sequences=True)(layer(items)))
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    assert type(loaded) is Recommender
    assert loaded.get_layer("catalogue").get_config() == layer.get_config()
    ids = np.array([[3, 7, 0], [1, 0, 0]])
    assert_close(loaded(ids), keras.ops.convert_to_numpy(model(ids)), "float32")


@pytest.mark.parametrize("chunk", [1, 3, 7, 100])
def test_ranks_are_those_of_a_sort(chunk):
    layer = catalogue()
    states = np.random.default_rng(1).normal(size=(50, 3)).astype("float32")
    targets = np.random.default_rng(2).integers(1, 8, size=50).astype("int32")
    embeddings, bias = layer.get_weights()
    scores = states @ embeddings[1:].T + bias[1:]
    expected = [list(np.argsort(-row)).index(target - 1) + 1 for row, target in zip(scores, targets, strict=True)]
    assert layer.ranks(states, targets, chunk).tolist() == expected


def test_ties_and_scores_that_are_no_numbers_count_against_the_target():
    layer = catalogue()
    layer.set_weights([np.zeros((8, 3)), np.zeros(8)])
    assert layer.ranks(np.ones((1, 3), "float32"), np.array([4], "int32")).tolist() == [7]
    assert layer.ranks(np.full((1, 3), np.nan, "float32"), np.array([4], "int32")).tolist() == [7]


def test_the_sampled_loss_estimates_the_whole_softmax():
    layer = catalogue(items=40, negatives=40)
    states = tf.constant(np.random.default_rng(1).normal(size=(1, 4, 3)), tf.float32)
    targets = tf.constant([[3, 17, 0, 40]])
    embeddings, bias = (tf.constant(w) for w in layer.get_weights())
    logits = tf.matmul(states[0], embeddings, transpose_b=True) + bias
    rows = [0, 1, 3]
    exact = tf.nn.sparse_softmax_cross_entropy_with_logits(tf.gather(targets[0], rows), tf.gather(logits, rows))
    drawn = [layer.loss(states, targets, step).numpy() for step in range(300)]
    assert np.mean(drawn) == pytest.approx(np.mean(exact), abs=0.25)


def test_negatives_are_different_items_that_follow_from_the_step():
    layer = catalogue(items=1000, negatives=100, seed=5)
    chance = np.log1p(1 / np.arange(1, 1002)) / np.log(1002)
    assert chance.sum() == pytest.approx(1)
    among, all_draws = np.zeros(1001), []
    for step in range(400):
        drawn, draws = (tensor.numpy() for tensor in layer.drawn(step))
        assert len(drawn) == len(set(drawn.tolist())) == 100 <= draws <= 400
        assert drawn.min() >= 0
        assert drawn.max() <= 1000
        among[drawn] += 1 / 400
        all_draws.append(draws)
    expected = layer._expected(np.arange(1001), np.mean(all_draws)).numpy()
    np.testing.assert_allclose(expected, 1 - (1 - chance) ** np.mean(all_draws), rtol=1e-5)
    np.testing.assert_allclose(among, expected, atol=5 * np.sqrt(0.25 / 400))
    assert among.sum() == pytest.approx(expected.sum(), rel=0.01)
    ids = np.array([[0], [1], [30], [1000]])
    theirs = [
        tf.random.log_uniform_candidate_sampler(ids, 1, 100, unique=True, range_max=1001).true_expected_count
        for _ in range(400)
    ]
    np.testing.assert_allclose(np.mean(theirs, axis=0), layer._expected(ids, np.mean(all_draws)), rtol=0.02)
    np.testing.assert_array_equal(layer.drawn(7)[0], layer.drawn(7)[0])
    other = catalogue(items=1000, negatives=100, seed=6).drawn(7)[0]
    assert set(other.numpy().tolist()) != set(layer.drawn(7)[0].numpy().tolist())


def test_of_few_items_as_many_as_are_found():
    layer = catalogue(items=5, negatives=512)
    found = [layer.drawn(step) for step in range(50)]
    assert {len(set(drawn.numpy().tolist())) for drawn, _ in found} <= {3, 4, 5}
    assert max(drawn.numpy().max() for drawn, _ in found) == 5
    assert all(draws == 20 or len(drawn) == 5 for drawn, draws in found)


def trained(policy="float32", regularizer=None):
    """The loss of an epoch, and by how much the weights moved at most."""
    keras.utils.set_random_seed(0)
    rng = np.random.default_rng(0)
    x, y = rng.integers(1, 8, (4, 5)), rng.integers(0, 8, (4, 5))
    layer = Catalogue(7, 3, negatives=4, name="catalogue", dtype=policy)
    items = keras.Input((None,), dtype="int32")
    states = keras.layers.GRU(3, return_sequences=True, kernel_regularizer=regularizer, dtype=policy)(layer(items))
    model = Recommender(items, states)
    model.compile(keras.optimizers.SGD(0.1))
    before = model.get_weights()
    [loss] = model.fit(x, y, 4, verbose=0).history["loss"]
    return loss, max(np.abs(old - new).max() for old, new in zip(before, model.get_weights(), strict=True))


def test_it_trains_and_losses_of_layers_count():
    plain, moved = trained()
    assert moved > 0
    assert trained(regularizer=keras.regularizers.L2(10.0))[0] > plain + 1
    assert trained("mixed_bfloat16")[0] == pytest.approx(plain, rel=0.1)
