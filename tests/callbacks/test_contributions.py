"""What Contributions writes, read back from the event files."""

import json
import warnings

import keras
import numpy as np
import pytest
import tensorflow as tf
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from keras_interp_rnn import layers
from keras_interp_rnn.callbacks import Contributions
from tensorboard_plugins.interp_rnn import checks, schema
from tests.oracles import isan as oracle

TEXTS = [np.array([2, 0, 1, 1, 2]), np.array([1])]


def network(head=True):
    isan = layers.ISAN(4, 3, return_sequences=True, recurrent_constraint=None)  # training leaves the weights alone
    model = keras.Sequential([keras.Input((None,), dtype="int32"), isan, keras.layers.Dense(3)])
    if not head:
        model.add(keras.layers.Activation("softmax"))
        model.add(keras.layers.Dense(3))
    rng = np.random.default_rng(0)
    model.set_weights([rng.normal(size=w.shape) * 0.6 for w in model.get_weights()])
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.SGD(0.0), loss, run_eagerly=True)
    return model


def train(model, *callbacks, epochs=1):
    symbols = np.random.default_rng(1).integers(0, 3, (4, 6))
    model.fit(symbols[:, :-1], symbols[:, 1:], 2, epochs, verbose=0, callbacks=list(callbacks))


def events(folder):
    return EventAccumulator(str(folder / "contributions"), {"tensors": 0}, purge_orphaned_data=False).Reload()


def steps(folder, text=0):
    """Those at which a text was written, each in a tag of its own."""
    found, series = events(folder), f"interp_rnn/contributions/text_{text}/"
    written = [event for tag in found.Tags()["tensors"] if tag.startswith(series) for event in found.Tensors(tag)]
    return sorted(event.step for event in written)


def test_symbols_that_print_nothing_are_visible(tmp_path):
    train(network(), Contributions(tmp_path, TEXTS, alphabet="\n \x07"))
    described = json.loads(
        events(tmp_path).SummaryMetadata("interp_rnn/contributions/text_0/step_0").plugin_data.content
    )
    assert (described["symbols"], described["outputs"]) == ([r"\x07", "⏎", "␣", "␣", r"\x07"], ["⏎", "␣", r"\x07"])


@pytest.mark.parametrize("text", [0, 1])
def test_every_term_of_every_target_is_where_the_schema_says(tmp_path, text):
    model = network()
    train(model, Contributions(tmp_path, TEXTS, alphabet="_ab"))
    kernel, bias, start, readout, readout_bias = (np.array(w, np.float64) for w in model.get_weights())
    expected = oracle.contributions(kernel.transpose(0, 2, 1), bias, start, readout.T, TEXTS[text])
    found = events(tmp_path)
    assert steps(tmp_path, text) == [0, 2]
    series = f"interp_rnn/contributions/text_{text}"
    [first] = found.Tensors(f"{series}/step_0")
    written = tf.make_ndarray(first.tensor_proto)
    length = len(TEXTS[text])
    assert written.shape == (length * (length + 3) // 2 + 1, 3)
    assert written.dtype == np.float32
    for t in range(1, length + 1):
        np.testing.assert_allclose(written[schema.target_rows(t)], expected[: t + 1, t - 1], atol=1e-6)
    np.testing.assert_allclose(written[-1], readout_bias, atol=1e-6)
    assert schema.target_rows(length).stop == len(written) - 1
    content = schema.described(found.SummaryMetadata(f"{series}/step_0").plugin_data.content)
    assert content["part_of"] == series
    assert content["symbols"] == ["_ab"[symbol] for symbol in TEXTS[text]]
    assert content["outputs"] == ["_", "a", "b"]


def test_the_residual_is_rounding(tmp_path):
    train(network(), Contributions(tmp_path, TEXTS))
    values = [tf.make_ndarray(e.tensor_proto) for e in events(tmp_path).Tensors("interp_rnn/contributions_residual")]
    assert len(values) == 2
    assert all(0 <= value < 1e-12 for value in values)


def test_every_so_many_steps(tmp_path):
    train(network(), Contributions(tmp_path, TEXTS[:1], update_freq=3), epochs=4)
    assert steps(tmp_path) == [0, 3, 6]


def test_weights_that_are_not_finite_are_warned_of_and_training_goes_on(tmp_path):
    model = network()
    callback = Contributions(tmp_path, TEXTS)
    broken = keras.callbacks.LambdaCallback(
        on_epoch_begin=lambda epoch, logs: model.layers[0].cell.bias.assign(np.full((3, 4), np.nan)) if epoch else None
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        train(model, broken, callback, epochs=3)
    [sentence] = [str(w.message) for w in caught if issubclass(w.category, UserWarning)]
    assert sentence.startswith("Contributions writes nothing from step 4 on. The weights must be finite.")
    assert steps(tmp_path) == [0, 2]


@pytest.mark.parametrize("texts", [[], [[]], [np.zeros(501, int)], [np.zeros((2, 3), int)]])
def test_texts_of_no_use_are_refused(tmp_path, texts):
    with pytest.raises(ValueError, match="texts of 1 to 500 symbols, at least one. Received: shapes"):
        Contributions(tmp_path, texts)


def test_a_head_that_does_not_split_stops_before_the_training(tmp_path):
    with pytest.raises(ValueError, match="Logits split exactly if Dense layers alone"):
        train(network(head=False), Contributions(tmp_path, TEXTS))


class TestSchema:
    def test_what_is_described_is_read(self):
        content = schema.metadata("jacobian", lags=[0, 5]).plugin_data.content
        assert schema.described(content) == {"kind": "jacobian", "version": 1, "lags": [0, 5]}

    @pytest.mark.parametrize(
        ("content", "says"),
        [
            (b"", "not described as"),
            (b"\xff", "not described as"),
            (b"[1]", "not described as"),
            (b'{"kind": "jacobian"}', "not described as"),
            (json.dumps({"kind": "jacobian", "version": 2}).encode(), "version 2 of 'jacobian'"),
            (json.dumps({"kind": "other", "version": 1}).encode(), "version 1 of 'other'"),
        ],
    )
    def test_what_is_not_known_is_refused(self, content, says):
        with pytest.raises(checks.UnknownContent, match=says):
            schema.described(content)

    def test_rows_of_targets_follow_each_other(self):
        slices = [schema.target_rows(t) for t in range(1, 30)]
        assert slices[0] == slice(0, 2)
        assert all(one.stop == other.start for one, other in zip(slices, slices[1:], strict=False))
        assert all(rows.stop - rows.start == t + 1 for t, rows in enumerate(slices, start=1))


def test_strings_are_read_by_the_alphabet(tmp_path):
    train(network(), Contributions(tmp_path, ["ca", "b"], alphabet="abc"))
    content = events(tmp_path).SummaryMetadata("interp_rnn/contributions/text_0/step_0").plugin_data.content
    assert json.loads(content)["symbols"] == ["c", "a"]
