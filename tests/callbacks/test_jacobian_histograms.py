"""What JacobianHistograms writes, read back from the event files and drawn by TensorBoard's own code."""

from __future__ import annotations

import copy
import warnings
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.plugins.distribution import compressor

from keras_interp_rnn import analysis, layers
from keras_interp_rnn.callbacks import JacobianHistograms
from keras_interp_rnn.callbacks._summaries import distribution
from tensorboard_plugins.interp_rnn import schema
from tests.tolerances import TOLERANCES

BACKEND = keras.backend.backend()
BATCH, LENGTH, STEPS, SYMBOLS = 4, 7, 3, 5
LAGS = (0, 3)
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


def written(log_dir: Path) -> EventAccumulator:
    accumulator = EventAccumulator(str(log_dir / "jacobians"), size_guidance={"tensors": 0}, purge_orphaned_data=False)
    return accumulator.Reload()


def points(log_dir: Path, tag: str) -> list[tuple[int, np.ndarray]]:
    """All steps and values of a tag, in the order they were written."""
    return [
        (event.step, tf.make_ndarray(event.tensor_proto)) for event in written(log_dir).Tensors(f"interp_rnn/{tag}")
    ]


def steps(log_dir: Path) -> list[int]:
    return [step for step, _ in points(log_dir, "jacobian/lag_0")]


def lines(buckets: np.ndarray) -> np.ndarray:
    """What the Distributions tab draws at one step, from the lowest line to the highest."""
    return np.array([value for _, value in compressor.compress_histogram(buckets.tolist())])


def distribution_of(values: np.ndarray, folder: Path) -> np.ndarray:
    with tf.summary.create_file_writer(str(folder / "jacobians")).as_default():
        distribution("interp_rnn/some", values, 3)
    [(step, buckets)] = points(folder, "some")
    assert step == 3
    return buckets


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


class TestDistributions:
    @pytest.mark.parametrize("size", [1, 2, 5, 9, 1000])
    @pytest.mark.parametrize("spread", [0.0, 1.0, 5.0])
    def test_the_nine_lines_are_the_percentiles_however_skewed_the_sample(
        self, tmp_path: Path, size: int, spread: float
    ) -> None:
        values = np.random.default_rng(size).lognormal(sigma=spread, size=size)
        drawn = lines(distribution_of(values, tmp_path))
        np.testing.assert_allclose(drawn, np.percentile(values, LINES), rtol=1e-9)

    def test_values_of_any_sign_and_shape(self, tmp_path: Path) -> None:
        values = np.random.default_rng(0).normal(size=(7, 3)) ** 3 - 30
        buckets = distribution_of(values, tmp_path)
        np.testing.assert_allclose(lines(buckets), np.percentile(values, LINES), rtol=1e-9)
        assert buckets[:, 2].sum() == pytest.approx(values.size)

    def test_the_distributions_tab_lists_it(self, tmp_path: Path) -> None:
        distribution_of(np.arange(5.0), tmp_path)
        assert list(written(tmp_path).PluginTagToContent("histograms")) == ["interp_rnn/some"]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[tuple[int, np.ndarray]]]:
    """Where a run of two epochs was written, and what the witness saw."""
    folder, model = tmp_path_factory.mktemp("run"), new_model()
    witness = SingularValues(model.layers[2])
    train(model, JacobianHistograms(folder, PROBE, lags=LAGS), witness)
    return folder, witness.seen


class TestWhatIsWritten:
    def test_at_the_beginning_and_after_every_epoch(self, run: tuple) -> None:
        assert steps(run[0]) == [0, STEPS, 2 * STEPS] == [step for step, _ in run[1]]

    def test_the_plugin_gets_all_percentiles(self, run: tuple) -> None:
        folder, seen = run
        events = written(folder).Tensors("interp_rnn/jacobian_percentiles")
        for event, (_, values) in zip(events, seen, strict=True):
            expected = np.percentile(values.reshape(len(LAGS), -1), np.arange(101), axis=1).T
            np.testing.assert_allclose(tf.make_ndarray(event.tensor_proto), expected, rtol=1e-5)
        content = written(folder).SummaryMetadata("interp_rnn/jacobian_percentiles").plugin_data.content
        assert schema.described(content)["lags"] == list(LAGS)

    def test_the_tags_are_those_of_the_documentation(self, run: tuple) -> None:
        names = ("jacobian", "jacobian_log10", "spectral_norm", "condition_log10", "near_one")
        tags = {f"interp_rnn/{n}/lag_{k}" for n in names for k in LAGS} | {"interp_rnn/jacobian_percentiles"}
        assert set(written(run[0]).Tags()["tensors"]) == tags
        for plugin, kinds in (("histograms", names[:2]), ("scalars", names[2:])):
            tags = {f"interp_rnn/{name}/lag_{lag}" for name in kinds for lag in LAGS}
            assert set(written(run[0]).PluginTagToContent(plugin)) == tags

    @pytest.mark.parametrize("number", range(len(LAGS)))
    def test_the_lines_are_the_percentiles_of_the_singular_values(self, run: tuple, number: int) -> None:
        found = points(run[0], f"jacobian/lag_{LAGS[number]}")
        logarithms = points(run[0], f"jacobian_log10/lag_{LAGS[number]}")
        for (step, values), (_, buckets), (_, log_buckets) in zip(run[1], found, logarithms, strict=True):
            # The callback's embedding of the probe may round otherwise than the witness's.
            bound = TOLERANCES[BACKEND, "float32"]
            np.testing.assert_allclose(
                lines(buckets), np.percentile(values[number], LINES), rtol=bound, err_msg=f"{step}"
            )
            np.testing.assert_allclose(lines(log_buckets), np.percentile(np.log10(values[number]), LINES), atol=bound)

    @pytest.mark.parametrize("number", range(len(LAGS)))
    def test_the_scalars_are_medians_over_sequences_and_a_share(self, run: tuple, number: int) -> None:
        names = ("spectral_norm", "condition_log10", "near_one")
        found = [points(run[0], f"{name}/lag_{LAGS[number]}") for name in names]
        for i, (_, values) in enumerate(run[1]):
            of_lag = values[number]
            condition = np.log10(of_lag.max(axis=1) / of_lag.min(axis=1))
            expected = [np.median(of_lag.max(axis=1)), np.median(condition), ((of_lag >= 0.5) & (of_lag <= 2)).mean()]
            np.testing.assert_allclose([of_name[i][1] for of_name in found], expected, rtol=1e-4)

    def test_what_vanished_is_cut_off_in_the_logarithm(self, tmp_path: Path) -> None:
        forgetful = keras.layers.SimpleRNN(4, recurrent_initializer="zeros", trainable=False)
        train(new_model([forgetful]), JacobianHistograms(tmp_path, PROBE, lags=LAGS), epochs=1)
        for (_, buckets), (_, log_buckets) in zip(
            points(tmp_path, "jacobian/lag_3"), points(tmp_path, "jacobian_log10/lag_3"), strict=True
        ):
            np.testing.assert_array_equal(buckets[:, :2], 0)
            np.testing.assert_allclose(log_buckets[:, :2], -30)
        assert [value for _, value in points(tmp_path, "condition_log10/lag_3")] == [0, 0]

    def test_lags_in_any_order(self, tmp_path: Path) -> None:
        model = new_model()
        train(model, JacobianHistograms(tmp_path, PROBE, lags=[3, 0]), epochs=1)
        ascending = analysis.jacobian_singular_values(model, PROBE, lags=LAGS)
        for lag, values in zip(LAGS, ascending, strict=True):
            last = points(tmp_path, f"jacobian/lag_{lag}")[-1][1]
            np.testing.assert_allclose(lines(last), np.percentile(values, LINES), rtol=1e-4)


class TestSteps:
    @pytest.mark.parametrize(
        ("every", "expected"), [(1, [0, 1, 2, 3, 4, 5, 6]), (2, [0, 2, 4, 6]), (4, [0, 4]), (6, [0, 6]), (7, [0])]
    )
    def test_every_so_many_training_steps(self, tmp_path: Path, every: int, expected: list[int]) -> None:
        train(new_model(), JacobianHistograms(tmp_path, PROBE, lags=(0,), update_freq=every))
        assert steps(tmp_path) == expected

    @pytest.mark.matrix
    @pytest.mark.parametrize(("every", "expected"), [(3, [0, 4, 6, 10, 12]), (5, [0, 6, 10]), (8, [0, 10])])
    def test_several_training_steps_in_one_call(self, tmp_path: Path, every: int, expected: list[int]) -> None:
        # Calls end after steps 4, 6, 10 and 12, and log where a multiple of `every` was reached or passed.
        model = new_model(run_eagerly=False, steps_per_execution=4)
        train(model, JacobianHistograms(tmp_path, PROBE, lags=(0,), update_freq=every), batch=BATCH // 2)
        assert steps(tmp_path) == expected

    @pytest.mark.matrix
    def test_the_values_are_those_of_the_step(self, tmp_path: Path) -> None:
        class Witness(keras.callbacks.Callback):
            values: list[np.ndarray] = []

            def on_train_begin(self, logs=None):
                self.values.append(analysis.jacobian_singular_values(self.model, PROBE, lags=(0,))[0])

            def on_train_batch_end(self, batch, logs=None):
                self.on_train_begin()

        # Compiled: with JAX the weights are then elsewhere than in the model while an epoch lasts.
        model, witness = new_model(run_eagerly=False), Witness()
        train(model, JacobianHistograms(tmp_path, PROBE, lags=(0,), update_freq=1), witness, epochs=1)
        found = [lines(buckets) for _, buckets in points(tmp_path, "jacobian/lag_0")]
        expected = [np.percentile(values, LINES) for values in witness.values]
        np.testing.assert_allclose(found, expected, rtol=1e-4)
        assert (np.abs(np.diff(found, axis=0)).max(axis=1) > 1e-3).all()

    @pytest.mark.matrix
    @pytest.mark.parametrize("update_freq", ["epoch", 2])
    def test_a_saved_model_goes_on_where_it_stopped(self, tmp_path: Path, update_freq: str | int) -> None:
        model = new_model()
        train(model, JacobianHistograms(tmp_path, PROBE, lags=LAGS, update_freq=update_freq))
        model.save(tmp_path / "model.keras")
        again = keras.models.load_model(tmp_path / "model.keras")
        train(again, JacobianHistograms(tmp_path, PROBE, lags=LAGS, update_freq=update_freq), epochs=1)
        before, after = ([0, 3, 6], [6, 9]) if update_freq == "epoch" else ([0, 2, 4, 6], [6, 8])
        assert steps(tmp_path) == before + after
        [(_, last), (_, first)] = [point for point in points(tmp_path, "jacobian/lag_3") if point[0] == 6]
        np.testing.assert_allclose(first, last, rtol=1e-6)

    def test_one_callback_may_serve_several_fits(self, tmp_path: Path) -> None:
        model, callback = new_model(), JacobianHistograms(tmp_path, PROBE, lags=LAGS)
        for _ in range(2):
            train(model, callback, epochs=1)
        # File by file: TensorBoard reads those of one second by name, the tenth before the ninth.
        files = sorted((tmp_path / "jacobians").glob("events.*"), key=lambda file: file.stat().st_mtime_ns)
        for place, file in enumerate(files):
            file.rename(file.with_name(f"events.out.tfevents.{place}"))
        assert steps(tmp_path) == [0, 3, 3, 6]


class TestWhatIsRead:
    @pytest.mark.parametrize("name", ["below", "above"])
    def test_the_layer_of_that_name(self, tmp_path: Path, name: str) -> None:
        model = new_model([keras.layers.SimpleRNN(3, return_sequences=True, name="below"), layers.CFN(4, name="above")])
        embedding, _, below, above, _ = model.layers
        reads = embedding(PROBE) if name == "below" else below(embedding(PROBE), mask=PROBE != 0)
        layer = below if name == "below" else above
        expected = np.percentile(analysis.jacobian_singular_values(layer, reads, lags=(3,), mask=PROBE != 0), LINES)
        train(model, JacobianHistograms(tmp_path, PROBE, lags=LAGS, layer=name), epochs=1)
        np.testing.assert_allclose(lines(points(tmp_path, "jacobian/lag_3")[0][1]), expected, rtol=1e-4)

    def test_a_layer_of_a_subclassed_model_and_what_it_reads(self, tmp_path: Path) -> None:
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
        assert steps(tmp_path) == [0, 2]
        expected = np.percentile(analysis.jacobian_singular_values(model.recurrent, inputs, lags=LAGS)[1], LINES)
        np.testing.assert_allclose(lines(points(tmp_path, "jacobian/lag_3")[-1][1]), expected, rtol=1e-4)

    def test_a_model_of_several_inputs(self, tmp_path: Path) -> None:
        ids, other = keras.Input((LENGTH,), dtype="int32"), keras.Input((2,))
        state = layers.MinimalRNN(4)(keras.layers.Embedding(SYMBOLS, 3)(ids))
        model = keras.Model([ids, other], keras.layers.Dense(2)(keras.layers.Concatenate()([state, other])))
        model.compile("adam", "mse", run_eagerly=True)
        callback = JacobianHistograms(tmp_path, [PROBE, Y[:5]], lags=LAGS)
        model.fit([X, Y], Y, BATCH, callbacks=[callback], verbose=0)
        assert steps(tmp_path) == [0, STEPS]


class TestBesideOthers:
    def test_looking_leaves_no_trace_in_training(self, tmp_path: Path) -> None:
        watched, alone = new_model(), new_model()
        train(watched, JacobianHistograms(tmp_path, PROBE, lags=LAGS, update_freq=2))
        train(alone)
        for found, expected in zip(watched.get_weights(), alone.get_weights(), strict=True):
            np.testing.assert_array_equal(found, expected)

    @pytest.mark.parametrize("watched_layer", ["below", "above"])
    def test_nor_in_the_states_that_layers_carry(self, tmp_path: Path, watched_layer: str) -> None:
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
        wanted = np.repeat(Y[:, None], LENGTH, axis=1)
        callback = JacobianHistograms(tmp_path, X[:BATCH], lags=LAGS, layer=watched_layer, update_freq=2)
        for model, callbacks in ((watched, [callback]), (alone, [])):
            model.fit(X, wanted, BATCH, shuffle=False, callbacks=callbacks, verbose=0)
        for found, expected in zip(watched.get_weights(), alone.get_weights(), strict=True):
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)

    def test_keras_tensorboard_in_the_same_folder(self, tmp_path: Path) -> None:
        train(new_model(), keras.callbacks.TensorBoard(tmp_path), JacobianHistograms(tmp_path, PROBE, lags=LAGS))
        assert {"train", "jacobians"} <= {path.name for path in tmp_path.iterdir()}
        assert all(tag.startswith("interp_rnn/") for tag in written(tmp_path).Tags()["tensors"])
        beside = EventAccumulator(str(tmp_path / "train")).Reload().Tags()["tensors"]
        assert "epoch_loss" in beside
        assert not any(tag.startswith("interp_rnn/") for tag in beside)

    def test_a_deep_copy_is_a_callback_of_its_own(self, tmp_path: Path) -> None:
        callback = JacobianHistograms(tmp_path, PROBE, lags=LAGS)
        train(new_model(), copy.deepcopy(callback), epochs=1)
        assert steps(tmp_path) == [0, STEPS]
        train(new_model(), copy.deepcopy(callback), callback, epochs=1)

    @pytest.mark.matrix
    @pytest.mark.filterwarnings("ignore::DeprecationWarning")
    def test_a_search_of_keras_tuner(self, tmp_path: Path) -> None:
        keras_tuner = pytest.importorskip("keras_tuner")

        def build(parameters: Any) -> keras.Model:
            return new_model([layers.MinimalRNN(parameters.Int("units", 2, 4))])

        tuner = keras_tuner.GridSearch(
            build, "loss", max_trials=2, executions_per_trial=2, directory=tmp_path, project_name="search"
        )
        logs = tmp_path / "logs"
        both = [JacobianHistograms(logs, PROBE, lags=LAGS), keras.callbacks.TensorBoard(logs)]
        tuner.search(X, Y, batch_size=BATCH, epochs=1, callbacks=both, verbose=0)
        runs = {file.parent.relative_to(logs) for file in logs.rglob("events*")}
        trials = [Path(trial, f"execution{i}") for trial in tuner.oracle.trials for i in range(2)]
        assert len(trials) == 4
        assert {run for run in runs if run.name == "jacobians"} == {trial / "jacobians" for trial in trials}
        assert set(trials) <= runs  # those of keras.callbacks.TensorBoard
        assert all(steps(logs / trial) == [0, STEPS] for trial in trials)

    def test_mixed_precision(self, tmp_path: Path) -> None:
        before = keras.config.dtype_policy()
        keras.config.set_dtype_policy("mixed_float16")
        try:
            train(new_model(), JacobianHistograms(tmp_path, PROBE, lags=LAGS))
        finally:
            keras.config.set_dtype_policy(before)
        assert len(steps(tmp_path)) == 3
        for tag in ("jacobian/lag_0", "jacobian/lag_3", "jacobian_log10/lag_3", "near_one/lag_3"):
            assert all(np.isfinite(values).all() for _, values in points(tmp_path, tag))


class Break(keras.callbacks.Callback):
    """Makes a weight NaN when the second epoch begins."""

    def on_epoch_begin(self, epoch, logs=None) -> None:
        if epoch == 1:
            weight = self.model.get_layer("minimal").cell.bias
            weight.assign(np.full(weight.shape, np.nan))


class TestErrors:
    def test_weights_that_are_no_longer_finite_are_warned_of_once(self, tmp_path: Path) -> None:
        callback = JacobianHistograms(tmp_path, PROBE, lags=LAGS, update_freq=2)
        model = new_model([layers.MinimalRNN(4, name="minimal")])
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            history = train(model, Break(), callback, epochs=3)
        [sentence] = [str(warning.message) for warning in caught if issubclass(warning.category, UserWarning)]
        assert sentence.startswith(
            "JacobianHistograms writes nothing from step 4 on. The weights must be finite. Received: NaN or infinity in"
        )
        assert len(history.epoch) == 3
        assert steps(tmp_path) == [0, 2]
        with pytest.raises(ValueError, match="The weights must be finite"):  # the next fit says so before it begins
            train(model, callback)

    def test_a_lag_longer_than_a_sequence_of_the_batch(self, tmp_path: Path) -> None:
        callback = JacobianHistograms(tmp_path, PROBE, lags=(0, 5))
        with pytest.raises(
            ValueError, match=r"A lag of 5 needs 6 steps.*Received: sequence 0 with 5 \(of 7 steps, less"
        ):
            train(new_model(), callback)
        assert not (tmp_path / "jacobians").exists()

    @pytest.mark.parametrize("inputs", [PROBE[:0], [PROBE[:0], Y[:0]], []])
    def test_an_empty_batch(self, tmp_path: Path, inputs: Any) -> None:
        with pytest.raises(ValueError, match=r"reads a fixed batch. Received: no sequence. Give it a few"):
            JacobianHistograms(tmp_path, inputs)

    def test_inputs_that_are_not_finite_are_named(self, tmp_path: Path) -> None:
        x = np.random.default_rng(0).normal(size=(8, 6, 2)).astype("float32")
        probe = x[:3].copy()
        probe[1, 0] = np.nan
        model = keras.Sequential([keras.Input((6, 2)), keras.layers.GRU(3), keras.layers.Dense(1)])
        model.compile("sgd", "mse")
        sentence = r"The inputs must be finite\. Received: sequences with NaN or infinity\. Remove those"
        with pytest.raises(ValueError, match=sentence):
            model.fit(x, x[:, 0, :1], verbose=0, callbacks=[JacobianHistograms(tmp_path, probe, lags=LAGS)])

    def test_a_folder_that_cannot_be_made(self, tmp_path: Path) -> None:
        (tmp_path / "file").touch()
        with pytest.raises(ValueError, match=r"JacobianHistograms writes into a folder\. Received: log_dir='.*file'"):
            train(new_model(), JacobianHistograms(tmp_path / "file", PROBE, lags=LAGS))

    def test_lags_that_are_none(self, tmp_path: Path) -> None:
        with pytest.raises(ValueError, match=r"lags are ints >= 0\. Received: lags=3\. Give a list"):
            JacobianHistograms(tmp_path, PROBE, lags=3)

    def test_no_layer_of_that_name(self, tmp_path: Path) -> None:
        callback = JacobianHistograms(tmp_path, PROBE, lags=LAGS, layer="nobody")
        sentence = r"One recurrent layer.*with \['minimal'\], the name 'nobody'. Pass the layer and its own"
        with pytest.raises(ValueError, match=sentence):
            train(new_model([layers.MinimalRNN(4, name="minimal")]), callback)

    def test_several_layers_and_no_name(self, tmp_path: Path) -> None:
        recurrent = [layers.CFN(3, return_sequences=True, name="below"), layers.CFN(4, name="above")]
        with pytest.raises(
            ValueError, match=r"with \['below', 'above'\], no name. Pass the layer and its own inputs; or its name"
        ):
            train(new_model(recurrent), JacobianHistograms(tmp_path, PROBE, lags=LAGS))

    def test_no_lag(self, tmp_path: Path) -> None:
        with pytest.raises(ValueError, match="lags must name at least one lag"):
            train(new_model(), JacobianHistograms(tmp_path, PROBE, lags=()))

    @pytest.mark.parametrize("update_freq", [0, -3, 2.5, "batch", None, True])
    def test_a_frequency_that_is_none(self, tmp_path: Path, update_freq: Any) -> None:
        sentence = rf"update_freq must be 'epoch' or a number of steps > 0. Received: {update_freq!r}"
        with pytest.raises(ValueError, match=sentence):
            JacobianHistograms(tmp_path, PROBE, update_freq=update_freq)
