"""What JacobianHistograms writes, read back from the event files and drawn by TensorBoard's own code."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
from tensorboard.plugins.distribution import compressor

from keras_interp_rnn import analysis, layers
from keras_interp_rnn.callbacks import JacobianHistograms
from keras_interp_rnn.callbacks._summaries import distribution
from tests.callbacks.events import described, events, look, points, steps
from tests.tolerances import TOLERANCES

BACKEND = keras.backend.backend()
BATCH, LENGTH, STEPS, SYMBOLS = 4, 7, 3, 5
LAGS = (3, 0)
NAMES = ("jacobian", "jacobian_log10", "spectral_norm", "condition_log10", "near_one")
LINES = np.array(compressor.NORMAL_HISTOGRAM_BPS) / 100

rng = np.random.default_rng(0)
X = rng.integers(1, SYMBOLS, (STEPS * BATCH, LENGTH)).astype("int32")
X[::3, 5:] = 0  # padding
Y = rng.normal(size=(STEPS * BATCH, 2)).astype("float32")
PROBE = X[:5]


def new_model(recurrent: list[keras.layers.Layer] | None = None, **compiled: Any) -> keras.Model:
    """Untraced unless told otherwise: a few steps are faster so."""
    keras.utils.set_random_seed(1)
    model = keras.Sequential(
        [
            keras.Input((LENGTH,), dtype="int32"),
            keras.layers.Embedding(SYMBOLS, 3, mask_zero=True),
            keras.layers.Dropout(0.2),
            *(recurrent or [layers.MinimalRNN(4)]),
            keras.layers.Dense(2),
        ]
    )
    model.compile(keras.optimizers.Adam(0.05), "mse", **{"run_eagerly": True, **compiled})
    return model


def train(
    model: keras.Model, *callbacks: keras.callbacks.Callback, epochs: int = 2, batch: int = BATCH
) -> keras.callbacks.History:
    return model.fit(X, Y, batch, epochs, shuffle=False, callbacks=list(callbacks), verbose=0)


def lines(buckets: np.ndarray) -> np.ndarray:
    """What the Distributions tab draws at one step, from the lowest line to the highest."""
    return np.array([value for _, value in compressor.compress_histogram(buckets.tolist())])


class SingularValues(keras.callbacks.Callback):
    """Witness: the singular values at the beginning and after every epoch, for the layer itself."""

    def __init__(self, layer: keras.layers.Layer) -> None:
        super().__init__()
        self.layer, self.seen = layer, []

    def on_train_begin(self, logs=None) -> None:
        embedding = self.model.layers[0]
        values = analysis.jacobian_singular_values(self.layer, embedding(PROBE), lags=LAGS, mask=PROBE != 0)
        self.seen.append((int(self.model.optimizer.iterations), values))

    def on_epoch_end(self, epoch, logs=None) -> None:
        self.on_train_begin()


SAMPLES = [np.random.default_rng(n).lognormal(sigma=5.0, size=n) for n in (1, 2, 9, 1000)]
SAMPLES += [np.ones(5), np.random.default_rng(0).normal(size=(7, 3)) ** 3 - 30]


@pytest.mark.core
@pytest.mark.parametrize("values", SAMPLES)
def test_the_distributions_tab_draws_the_percentiles_of_any_sample(tmp_path: Path, values: np.ndarray) -> None:
    with tf.summary.create_file_writer(str(tmp_path / "jacobians")).as_default():
        distribution("some", values, 3)
    [(step, buckets)] = points(tmp_path / "jacobians", "some")
    assert step == 3
    np.testing.assert_allclose(lines(buckets), np.percentile(values, LINES), rtol=1e-9)
    assert buckets[:, 2].sum() == pytest.approx(values.size)
    assert list(events(tmp_path / "jacobians").PluginTagToContent("histograms")) == ["interp_rnn/some"]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[tuple[int, np.ndarray]]]:
    """Where a run of two epochs was written, and what the witness saw."""
    folder, model = tmp_path_factory.mktemp("run"), new_model()
    witness = SingularValues(model.layers[2])
    train(model, JacobianHistograms(folder, PROBE, lags=LAGS), witness)
    return folder / "jacobians", witness.seen


class TestWhatIsWritten:
    def test_the_plugin_gets_all_percentiles(self, run: tuple) -> None:
        folder, seen = run
        for (_, found), (_, values) in zip(points(folder, "jacobian_percentiles"), seen, strict=True):
            expected = np.percentile(values.reshape(len(LAGS), -1), np.arange(101), axis=1).T
            np.testing.assert_allclose(found, expected, rtol=1e-5)
        assert described(folder, "jacobian_percentiles")["lags"] == list(LAGS)

    def test_the_tags_are_those_of_the_documentation(self, run: tuple) -> None:
        tags = {f"interp_rnn/{n}/lag_{k}" for n in NAMES for k in LAGS} | {"interp_rnn/jacobian_percentiles"}
        assert set(events(run[0]).Tags()["tensors"]) == tags
        for plugin, kinds in (("histograms", NAMES[:2]), ("scalars", NAMES[2:])):
            tags = {f"interp_rnn/{name}/lag_{lag}" for name in kinds for lag in LAGS}
            assert set(events(run[0]).PluginTagToContent(plugin)) == tags

    @pytest.mark.parametrize("number", range(len(LAGS)))
    def test_the_lines_and_scalars_of_a_lag_are_those_of_its_singular_values(self, run: tuple, number: int) -> None:
        folder, lag = run[0], LAGS[number]
        written = {name: points(folder, f"{name}/lag_{lag}") for name in NAMES}
        assert steps(folder, f"jacobian/lag_{lag}") == [0, STEPS, 2 * STEPS] == [step for step, _ in run[1]]
        for i, (_, values) in enumerate(run[1]):
            found = {name: series[i][1] for name, series in written.items()}
            of_lag = values[number]
            # The callback's embedding of the probe may round otherwise than the witness's.
            bound = TOLERANCES[BACKEND, "float32"]
            np.testing.assert_allclose(lines(found["jacobian"]), np.percentile(of_lag, LINES), rtol=bound)
            logarithms = np.percentile(np.log10(of_lag), LINES)
            np.testing.assert_allclose(lines(found["jacobian_log10"]), logarithms, atol=bound)
            condition = np.log10(of_lag.max(axis=1) / of_lag.min(axis=1))
            expected = [np.median(of_lag.max(axis=1)), np.median(condition), ((of_lag >= 0.5) & (of_lag <= 2)).mean()]
            np.testing.assert_allclose([found[name] for name in NAMES[2:]], expected, rtol=1e-4)

    def test_a_vanished_value_is_cut_off_in_the_logarithm(self, tmp_path: Path) -> None:
        forgetful = keras.layers.SimpleRNN(4, recurrent_initializer="zeros", trainable=False)
        look(new_model([forgetful]), JacobianHistograms(tmp_path, PROBE, lags=LAGS))
        [(_, buckets)] = points(tmp_path / "jacobians", "jacobian/lag_3")
        [(_, log_buckets)] = points(tmp_path / "jacobians", "jacobian_log10/lag_3")
        np.testing.assert_array_equal(buckets[:, :2], 0)
        np.testing.assert_allclose(log_buckets[:, :2], -30)
        assert points(tmp_path / "jacobians", "condition_log10/lag_3") == [(0, 0)]


class TestWhatIsRead:
    @pytest.mark.parametrize("name", ["below", "above"])
    def test_a_layer_by_its_name(self, tmp_path: Path, name: str) -> None:
        model = new_model([keras.layers.SimpleRNN(3, return_sequences=True, name="below"), layers.CFN(4, name="above")])
        embedding, _, below, above, _ = model.layers
        reads = embedding(PROBE) if name == "below" else below(embedding(PROBE), mask=PROBE != 0)
        layer = below if name == "below" else above
        expected = np.percentile(analysis.jacobian_singular_values(layer, reads, lags=(3,), mask=PROBE != 0), LINES)
        look(model, JacobianHistograms(tmp_path, PROBE, lags=LAGS, layer=name))
        np.testing.assert_allclose(lines(points(tmp_path / "jacobians", "jacobian/lag_3")[0][1]), expected, rtol=1e-4)

    def test_a_layer_of_a_subclassed_model_with_its_inputs(self, tmp_path: Path) -> None:
        class Own(keras.Model):
            def __init__(self) -> None:
                super().__init__()
                self.recurrent, self.head = layers.MinimalRNN(4), keras.layers.Dense(2)

            def call(self, x):
                return self.head(self.recurrent(x))

        model, inputs = Own(), np.random.default_rng(0).normal(size=(8, LENGTH, 3)).astype("float32")
        model.compile("adam", "mse", run_eagerly=True)
        callback = JacobianHistograms(tmp_path, inputs, lags=LAGS, layer=model.recurrent)
        model.fit(inputs, Y[:8], BATCH, callbacks=[callback], verbose=0)
        assert steps(tmp_path / "jacobians", "jacobian/lag_0") == [0, 2]
        expected = np.percentile(analysis.jacobian_singular_values(model.recurrent, inputs, lags=LAGS)[0], LINES)
        np.testing.assert_allclose(lines(points(tmp_path / "jacobians", "jacobian/lag_3")[-1][1]), expected, rtol=1e-4)


class TestTraining:
    @pytest.mark.parametrize("watched_layer", ["below", "above"])
    def test_carried_states_are_unchanged(self, tmp_path: Path, watched_layer: str) -> None:
        def stateful() -> keras.Model:
            keras.utils.set_random_seed(1)
            flags = {"stateful": True, "return_sequences": True}
            model = keras.Sequential(
                [
                    keras.Input(batch_shape=(BATCH, LENGTH), dtype="int32"),
                    layers.ISAN(4, SYMBOLS, name="below", **flags),
                    keras.layers.GRU(3, name="above", **flags),
                    keras.layers.Dense(2),
                ]
            )
            model.compile("adam", "mse", run_eagerly=True)
            return model

        watched, alone = stateful(), stateful()
        targets = np.repeat(Y[:, None], LENGTH, axis=1)
        callback = JacobianHistograms(tmp_path, X[:BATCH], lags=LAGS, layer=watched_layer, update_freq=2)
        for model, callbacks in ((watched, [callback]), (alone, [])):
            model.fit(X, targets, BATCH, shuffle=False, callbacks=callbacks, verbose=0)
        for found, expected in zip(watched.get_weights(), alone.get_weights(), strict=True):
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)


class TestErrors:
    def test_rejects_a_lag_longer_than_a_sequence_of_the_batch(self, tmp_path: Path) -> None:
        callback = JacobianHistograms(tmp_path, PROBE, lags=(0, 5))
        with pytest.raises(
            ValueError, match=r"at least 6 steps for a lag of 5.*Received: sequence 1 with 5 \(of 7 steps, less"
        ):
            train(new_model(), callback)
        assert not (tmp_path / "jacobians").exists()

    def test_rejects_inputs_that_are_not_finite(self, tmp_path: Path) -> None:
        x = np.random.default_rng(0).normal(size=(8, 6, 2)).astype("float32")
        probe = x[:3].copy()
        probe[1, 0] = np.nan
        model = keras.Sequential([keras.Input((6, 2)), keras.layers.GRU(3), keras.layers.Dense(1)])
        sentence = r"The inputs of gru\w* must be finite at steps that are read\. Received: nan at step 1 of sequence 2"
        with pytest.raises(ValueError, match=sentence):
            look(model, JacobianHistograms(tmp_path, probe, lags=LAGS))

    @pytest.mark.parametrize(
        ("recurrent", "arguments", "sentence"),
        [
            (None, {"lags": 3}, r"`lags` must be one row of integers\. Received: .*\. Pass a list"),
            (None, {"lags": ()}, "`lags` must be a list of at least one lag"),
            (
                None,
                {"layer": "nobody"},
                r"One recurrent layer.*with \['minimal'\], the name 'nobody'. Pass the layer and its own",
            ),
            (
                lambda: [layers.CFN(3, return_sequences=True, name="below"), layers.CFN(4, name="above")],
                {},
                r"with \['below', 'above'\], no name. Pass the layer and its own inputs; or its name",
            ),
        ],
    )
    def test_rejects_other_lags_and_layers(self, tmp_path: Path, recurrent, arguments, sentence: str) -> None:
        model = new_model(recurrent() if recurrent else [layers.MinimalRNN(4, name="minimal")])
        with pytest.raises(ValueError, match=sentence):
            look(model, JacobianHistograms(tmp_path, PROBE, **{"lags": LAGS, **arguments}))
