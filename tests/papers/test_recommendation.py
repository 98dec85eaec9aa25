"""The recommender's metrics by hand, its layers, and how it is trained."""

import dataclasses

import keras
import numpy as np
import pytest

from examples.papers.data import interactions

if keras.backend.backend() != "tensorflow":
    pytest.skip("The recommender's backend is TensorFlow.", allow_module_level=True)

from examples.papers import _recommendation as recommendation
from tests.papers.common import a_run, assert_same_training, killed_at_every_other_call


def test_metrics_by_hand():
    found = recommendation.metrics(np.array([1, 2, 20, 21]))
    assert found["map_20"] == pytest.approx((1 + 1 / 2 + 1 / 20) / 4)
    assert found["recall_20"] == pytest.approx(3 / 4)
    assert found["ndcg_20"] == pytest.approx((1 + 1 / np.log2(3) + 1 / np.log2(21)) / 4)


@pytest.mark.matrix
def test_training_beats_popularity_on_sequences_that_follow_a_rule(tmp_path):
    data = interactions.generate(num_items=60, num_users=400, length=12)
    train, validation, _ = data.leave_one_out()
    model = recommendation.recommender("MinimalRNN", 60, units=16, with_gaps=False)
    model.compile(keras.optimizers.Adam(0.01))
    probe = validation.histories.padded(np.arange(4))
    curve, watch = recommendation.curve_of(model, validation, probe, [0, 5], tmp_path)
    model.fit(interactions.TrainingBatches(train, 50), epochs=12, verbose=0, shuffle=False, callbacks=[watch])
    popular = np.bincount(data.items, minlength=61)[1:]
    rank_by_popularity = 1 + (popular[None] > popular[validation.targets - 1][:, None]).sum(axis=1)
    best = max(point["map_20"] for point in curve)
    assert best > 1.2 * recommendation.metrics(rank_by_popularity)["map_20"]
    assert np.shape(curve[0]["singular_values"]) == (2, 9)
    ranks = recommendation.ranks(model, validation)
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(recommendation.ranks(loaded, validation), ranks)


def test_popularity_by_hand():
    # Users meet 1, 1, 2, 3 | 4, 1 (too few to hold out) | 2, 1, 3 | 1, 2, 2, 2.
    items = np.array([1, 1, 2, 3, 4, 1, 2, 1, 3, 1, 2, 2, 2], np.int32)
    data = interactions.Interactions(items, None, np.array([0, 4, 6, 9, 13]), ["a", "b", "c", "d", "e"])
    # In training: 1, 1 | 4, 1 | 2 | 1, 2: four times item 1, twice item 2, once 4; 3 ties with 5. Targets: 3, 3, 2.
    found = recommendation.popularity(data)
    assert found == recommendation.metrics(np.array([5, 5, 2]))


def test_a_model_is_ranked_by_one_graph(monkeypatch):
    data = interactions.generate(num_items=30, num_users=300, length=12)
    _, validation, _ = data.leave_one_out()
    model = recommendation.recommender("GRU", 30, units=4, with_gaps=False)
    for size in (64, 100, 37, 64):
        recommendation.ranks(model, validation, size)
    assert model.read.experimental_get_tracing_count() <= 3


def test_sizes_in_the_gates_weights_by_hand():
    weights = np.full((4, 4), -1.0)
    np.fill_diagonal(weights, 6.0)
    assert recommendation.gate_weights(weights) == {"diagonal": 6.0, "moving": 1.0, "moved": 1.0}
    weights[1, [0, 2, 3]] = 5.0  # h[1] acts on all entries: 12 entries off the diagonal, their mean 24 / 12
    assert recommendation.gate_weights(weights) == {"diagonal": 3.0, "moving": 2.5, "moved": pytest.approx(7 / 6)}


def attributes_in(folder, content):
    path = folder / "x_item2attributes.json"
    if content is not None:
        path.write_text(content)
    return recommendation.read_attributes(path, ["b", "a"])


def test_attributes_are_read_item_by_item_all_as_long(tmp_path):
    found = attributes_in(tmp_path, '{"a": [7], "b": [7, 12, 9, 40], "c": [100]}')
    np.testing.assert_allclose(found, [[0, 0, 0, 0], [0.5, 0.5, 0.5, 0.5], [1, 0, 0, 0]])
    assert found.dtype == np.float32


@pytest.mark.core
@pytest.mark.parametrize(
    ("content", "says"),
    [
        ('{"b": [1]}', "without 'a'. Give that of the same data."),
        ('{"b": [1], "a": 3}', "without 'a'. Give that of the same data."),
        ("[1]", "Download it again."),
        (None, "Received: no .*x_item2attributes.json. Put it there, or choose another row."),
    ],
)
def test_attributes_of_other_items_are_refused(tmp_path, content, says):
    with pytest.raises(ValueError, match=f"must be.*{says}$"):
        attributes_in(tmp_path, content)


def test_the_layer_reads_attributes_beside_the_item():
    attributes = np.random.default_rng(0).normal(size=(31, 5)).astype("float32")
    model = recommendation.recommender("MinimalRNN", 30, units=8, with_gaps=True, attributes=attributes)
    np.testing.assert_array_equal(model.get_layer("attributes_of_items").embeddings, attributes)
    assert not model.get_layer("attributes_of_items").trainable
    given = {"items": np.array([[3, 7]]), "gaps": np.array([[0, 1]])}
    before = np.array(model(given))
    model.get_layer("attributes_of_items").set_weights([attributes + (np.arange(31) == 7)[:, None]])
    after = np.array(model(given))
    np.testing.assert_array_equal(after[:, 0], before[:, 0])
    assert not np.allclose(after[:, 1], before[:, 1])


def test_dimensions_are_counted_by_the_mean_square_of_their_weights():
    items, context = [[3, 0, 1, 0.1], [0, 0, 1, 0.1]], [[1, 1, 0, 1]]
    assert recommendation.dimensions_of_items(np.array(items + context), 2) == 0.5


@pytest.mark.parametrize("reads", [[], ["time gap"], ["time gap", "attributes"]])
def test_the_weights_of_figure_3_are_the_layers_own(reads):
    attributes = np.ones((31, 5), "float32") if "attributes" in reads else None
    model = recommendation.recommender("MinimalRNN", 30, units=8, with_gaps=bool(reads), attributes=attributes)
    kernel, recurrent, blocks = recommendation.latent_weights(model)
    cell = model.get_layer("recurrent").cell
    np.testing.assert_array_equal(kernel, cell.encoder.kernel)
    np.testing.assert_array_equal(recurrent, cell.recurrent_kernel)
    assert blocks == {"item": 8, **dict.fromkeys(reads, 2)}
    assert kernel.shape == (sum(blocks.values()), 8)


@pytest.mark.matrix
def test_killed_in_any_epoch_it_ends_with_the_same_weights(tmp_path, monkeypatch):
    data = interactions.generate(num_items=60, num_users=40, length=12)
    protocol = recommendation.Protocol(units=6, batch=8, epochs=4, negatives=20, probe=2, lags=(0, 5))

    def train(name, protocol=protocol):
        return recommendation.train("MinimalRNN", "drawn", data, protocol, a_run(tmp_path / name, seed=3))

    expected, whole = train("whole")
    # Once in every epoch, after its training, and once at the test.
    (found, model), kills = killed_at_every_other_call(monkeypatch, recommendation, "ranks", lambda: train("killed"))
    assert kills == protocol.epochs + 1
    assert_same_training((found["curve"], model), (expected["curve"], whole))
    assert {**found["result"], "seconds": 0} == {**expected["result"], "seconds": 0}
    with pytest.raises(ValueError, match="resumes with the settings it was started with.*'epochs': 5.*'epochs': 4"):
        train("killed", dataclasses.replace(protocol, epochs=5))
