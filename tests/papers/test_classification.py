"""Networks that tell classes apart."""

import dataclasses

import keras
import numpy as np
import pytest

from examples.papers import _classification as classification
from examples.papers import _records as records
from examples.papers.data import mnist
from keras_interp_rnn import layers
from keras_interp_rnn.datasets import Alphabet, words
from tests.papers.common import EXPERIMENTS, a_run

SMALL = {"units": 5, "embedding": 4, "batch": 8, "epochs": 2, "steps": 2}


def data_of(name="sr-imdb"):
    """The generated data of an experiment."""
    return EXPERIMENTS[name].read(None, True, {})


def protocol(kind: str, **more):
    sr = {"centroids": 3, "transition": "mixture", "temperature": 1.0} if kind.startswith("SR") else {}
    return classification.Protocol(kind, **{**SMALL, **sr, **more})


@pytest.mark.parametrize("kind", classification.NETWORKS)
def test_the_recurrent_layer_is_the_one_named(kind):
    found = classification.recurrent(protocol(kind), seed=0)
    cell = {
        "RNN": keras.layers.SimpleRNN,
        "GRU": keras.layers.GRU,
        "LSTM": keras.layers.LSTM,
        "LSTM-P": layers.PeepholeLSTM,
        "SR-RNN": layers.SRSimpleRNN,
        "SR-GRU": layers.SRGRU,
        "SR-LSTM": layers.SRLSTM,
        "SR-LSTM-P": layers.SRPeepholeLSTM,
    }[kind]
    assert type(found) is cell
    if kind.startswith("SR"):
        assert not found.regularize_last_step


@pytest.mark.parametrize("seed", range(3))
def test_rows_of_a_group_are_held_out_together(seed):
    groups = np.random.default_rng(seed).integers(40, size=500)
    data = classification.Sequences((np.zeros((500, 1)), None), None, ("a",), None, {}, groups)
    kept, held_out = classification.split(data, seed)
    np.testing.assert_array_equal(np.sort(np.concatenate([kept, held_out])), np.arange(500))
    assert not set(groups[kept]) & set(groups[held_out])
    assert 50 <= len(held_out) < 50 + np.bincount(groups).max()
    assert not np.array_equal(held_out, classification.split(data, seed + 1)[1])


@pytest.mark.core
@pytest.mark.parametrize("sizes", [(7,), (1, 1), (99, 1), (3, 90, 7)])
def test_a_group_is_left_to_train_on(sizes):
    groups = np.repeat(range(len(sizes)), sizes)
    data = classification.Sequences((np.zeros((len(groups), 1)), None), None, ("a",), None, {}, groups)
    if len(sizes) == 1:
        with pytest.raises(ValueError, match="besides the one that is held out. Received: 7 rows of one group"):
            classification.split(data, 0)
    else:
        assert all(map(len, classification.split(data, 0)))


def test_the_optimizer_is_adam_or_that_of_the_paper():
    data = data_of()
    kinds = [
        classification.build(protocol("LSTM", optimizer=name), data, 8, 0).optimizer for name in ("Adam", "RMSprop")
    ]
    assert [type(kind).__name__ for kind in kinds] == ["Adam", "RMSprop"]
    config = kinds[1].get_config()
    assert [config[name] for name in ("rho", "momentum", "epsilon", "centered")] == [0.95, 0.9, 1e-4, True]


@pytest.mark.parametrize(("name", "outputs"), [("sr-imdb", 1), ("sr-newsgroups", 3), ("sr-mnist", 10)])
def test_one_logit_for_two_classes_else_one_for_each(name, outputs):
    data = data_of(name)
    pixels = data.vocabulary is None
    model = classification.build(protocol("SR-LSTM", head="last_and_cell" if pixels else "last"), data, 10, 0)
    assert model.output_shape == (None, outputs)
    if pixels:  # the head reads hidden and cell state
        assert model.layers[-1].kernel.shape == (2 * 5, 10)


def test_the_mean_over_time_is_that_of_the_words_alone():
    data = data_of()
    model = classification.build(protocol("SR-LSTM", head="mean"), data, 10, 0)
    x = data.test[0]
    np.testing.assert_allclose(model(x), model(np.pad(x, ((0, 0), (0, 9)))), atol=1e-6)


def test_embeddings_start_from_word_vectors():
    data = data_of()
    model = classification.build(protocol("LSTM", vectors=0.5), data, 10, 0)
    [embedding] = [layer for layer in model.layers if isinstance(layer, keras.layers.Embedding)]
    wanted = 0.5 * words.vectors(data.train[0], len(data.vocabulary), num_features=4)
    np.testing.assert_array_equal(embedding.get_weights()[0], wanted)


@pytest.mark.matrix
@pytest.mark.parametrize("kind", ["LSTM", "SR-LSTM-P"])
def test_the_error_is_that_of_the_best_model_on_the_test_data(tmp_path, kind):
    data = data_of()
    record, best = classification.train(protocol(kind), data, a_run(tmp_path))
    x, y = data.test
    logits = best.predict(x, verbose=0)[:, 0]
    assert record["result"].test == pytest.approx(np.mean((logits > 0) != y))
    digest = records.sha256(*data.train, *data.test)
    assert record["data"] == {"name": "smoke", "train": 36, "validation": 4, "test": 20, "sha256": digest}
    assert record["protocol"]["network"] == kind
    assert record["result"].read == 2 * 2 * 8
    assert Alphabet.load(tmp_path / "vocabulary.json") == data.vocabulary


def test_a_sliding_network_keeps_weights_of_full_strength(tmp_path):
    settings = protocol("SR-LSTM-P", slide=True, peepholes="zeros", head="last_and_cell", epochs=3)
    record, model = classification.train(settings, data_of("sr-mnist"), a_run(tmp_path))
    strengths = [entry["strength"] for entry in record["curve"]]
    # Six steps: none before the third, half of it at the fourth, all from the fifth on.
    assert strengths == pytest.approx([0.0, 0.5, 1.0])
    assert float(model.get_layer("recurrent").cell.strength.numpy()) == 1.0
    accuracies = [entry["val_accuracy"] for entry in record["curve"]]
    assert record["result"].validation == 1 - accuracies[-1]
    assert "slid_accuracy" not in record["curve"][0]


@pytest.mark.matrix
@pytest.mark.parametrize("kind", ["LSTM", "LSTM-P", "SR-LSTM", "SR-LSTM-P"])
def test_a_network_goes_on_from_coarse_pixels_four_times_as_slowly(tmp_path, kind):
    slides = kind.startswith("SR")
    settings = protocol(kind, coarse=0.25, slide=slides, head="last_and_cell", epochs=3, learning_rate=0.0)
    record, model = classification.train(settings, data_of("sr-mnist"), a_run(tmp_path))
    first = keras.models.load_model(tmp_path / "coarse" / "model.keras")
    before = {weight.name: weight.numpy() for weight in first.get_layer("recurrent").weights}
    after = {weight.name: weight.numpy() for weight in model.get_layer("recurrent").weights}
    shift = np.log(4) * np.repeat([-1, 1, 0, 0], 5)  # of i, f, c and o
    np.testing.assert_allclose(after["bias"], before.pop("bias") + shift, rtol=1e-6)
    for name, value in before.items():
        np.testing.assert_array_equal(after[name], value)
    np.testing.assert_array_equal(model.layers[-1].kernel, first.layers[-1].kernel)
    assert record["coarse"]["sequences"] == record["result"].read == 3 * 2 * 8
    # Six steps: half of it at the second, all from the third on.
    assert [entry.get("strength") for entry in record["curve"]] == ([0.5, 1.0, 1.0] if slides else [None] * 3)


def test_a_memory_made_slower_reads_four_steps_as_one():
    """Where gates are nearly shut: c after 20 inputs, each read four times, is that of the faster cell."""

    def model():
        return keras.Sequential([keras.Input((None, 1)), keras.layers.LSTM(3, return_state=True, name="recurrent")])

    first, slow = model(), model()
    rng = np.random.default_rng(0)
    bias = np.concatenate([rng.normal(-5, 0.5, 3), rng.normal(5, 0.5, 3), rng.normal(size=6)])
    kernel, recurrent = rng.normal(size=(1, 12)) / 4, rng.normal(size=(3, 12)) / 4
    first.set_weights([kernel, recurrent, bias])
    assert classification._taken_over(first, slow) is slow
    x = rng.normal(size=(8, 20, 1)).astype("float32")
    wanted, found = np.array(first(x)[2]), np.array(slow(np.repeat(x, 4, axis=1))[2])
    assert np.abs(wanted).max() > 0.02
    np.testing.assert_allclose(found, wanted, atol=0.02 * np.abs(wanted).max())


@pytest.mark.parametrize(
    ("kind", "changed", "says"),
    [
        ("RNN", {"network": "CNN"}, r"`network` must be one of RNN, GRU.*Received: 'CNN'"),
        ("LSTM", {"slide": True}, r"`slide` must be used with centroids. Received: 'LSTM'"),
        ("SR-GRU", {"coarse": 0.2}, r"`coarse` must be used with an LSTM. Received: 'SR-GRU'. Leave it out."),
    ],
)
def test_settings_that_do_not_go_together_are_refused(kind, changed, says, tmp_path):
    with pytest.raises(ValueError, match=says):
        classification.train(dataclasses.replace(protocol(kind), **changed), data_of("sr-mnist"), a_run(tmp_path))


def test_networks_that_take_up_their_centroids_slowly_stand_for_their_kind():
    errors = {"SR-LSTM-P (k = 100, eq. 20)": 0.05, "SR-LSTM-P (k = 100, eq. 20), slide": 0.02, "LSTM": 0.03}
    records_of = [{"table": {"row": row}, "result": {"test_error": error}} for row, error in errors.items()]
    reached, better, *_ = EXPERIMENTS["sr-mnist-quarter"].claims(records_of)
    assert reached.findings[0].figure == "2.00% (1 seed)"
    assert better.findings[2].figure == "LSTM: 2.00% against 3.00% (1 and 1 seeds)"


def test_a_quarter_of_the_pixels_is_that_of_the_images(monkeypatch):
    images = np.random.default_rng(0).integers(256, size=(20, 28, 28)).astype("uint8")
    monkeypatch.setattr(mnist, "load", lambda split, source: (images, np.arange(20) % 10))
    whole, quarter = (classification.digits(None, side=side) for side in (28, 14))
    found = classification.quartered(whole)
    np.testing.assert_allclose(found.test[0], quarter.test[0], rtol=1e-6)
    assert found.info == quarter.info == {"name": "mnist", "pixels": 196}
    assert whole.train[0].shape == (20, 784, 1)


def test_peepholes_begin_as_the_protocol_says():
    layer = classification.recurrent(protocol("SR-LSTM-P", peepholes="zeros"), 0)
    layer.build((None, 3, 2))
    assert not layer.cell.cell.peephole.numpy().any()
