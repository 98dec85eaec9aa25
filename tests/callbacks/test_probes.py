"""All callbacks that measure a network while it trains: when they write, and that they leave no trace."""

import copy
import warnings
from pathlib import Path

import keras
import numpy as np
import pytest

from keras_interp_rnn import callbacks, layers
from keras_interp_rnn.automata import tomita
from keras_interp_rnn.callbacks import _summaries
from keras_interp_rnn.callbacks._probes import Probe
from tests.automata.networks import network_of
from tests.callbacks.events import events, isan_network, points, steps

X = np.random.default_rng(0).integers(1, 3, (12, 5)).astype("int32")


class Weight(Probe):
    """Writes one weight."""

    folder = "weights"

    def measure(self):
        return keras.ops.convert_to_numpy(self.model.layers[-1].bias)[0]

    def write(self, found, step):
        _summaries.scalars({"weight": found}, step)


def small_model(**compiled):
    model = keras.Sequential([keras.Input((5,), dtype="int32"), keras.layers.Dense(1)])
    model.compile(keras.optimizers.SGD(0.01), "mse", **compiled)
    return model


def fit(model, *watching, epochs=2, batch=4):
    model.fit(X, X[:, :1], batch, epochs, shuffle=False, verbose=0, callbacks=list(watching))


@pytest.mark.parametrize(
    ("every", "expected"),
    [
        *(("epoch", [0, 3, 6]), (1, [0, 1, 2, 3, 4, 5, 6]), (2, [0, 2, 4, 6]), (4, [0, 4]), (6, [0, 6]), (7, [0])),
        *((np.int64(3), [0, 3, 6]),),
    ],
)
def test_a_probe_writes_before_the_first_step_and_every_update_freq(tmp_path, every, expected):
    fit(small_model(run_eagerly=True), Weight(tmp_path, every))
    assert steps(tmp_path / "weights", "weight") == expected


@pytest.mark.parametrize(("every", "expected"), [(3, [0, 4, 6, 10, 12]), (5, [0, 6, 10]), (8, [0, 10])])
def test_several_training_steps_in_one_call(tmp_path, every, expected):
    # Calls end after steps 4, 6, 10 and 12, and log where a multiple of `every` was reached or passed.
    fit(small_model(steps_per_execution=4), Weight(tmp_path, every), batch=2)
    assert steps(tmp_path / "weights", "weight") == expected


def test_values_are_those_of_the_step(tmp_path):
    seen = []
    witness = keras.callbacks.LambdaCallback(
        on_train_batch_end=lambda batch, logs: seen.append(keras.ops.convert_to_numpy(model.layers[-1].bias)[0])
    )
    # Compiled: with JAX the weights are then elsewhere than in the model while an epoch lasts.
    model = small_model()
    fit(model, Weight(tmp_path, 1), witness, epochs=1)
    assert [value.item() for _, value in points(tmp_path / "weights", "weight")] == [0.0, *seen]
    assert len({0.0, *seen}) == 4


def rename_in_order(folder):
    """File by file: TensorBoard reads those of one second by name, the tenth before the ninth."""
    files = sorted(folder.glob("events.*"), key=lambda file: file.stat().st_mtime_ns)
    for place, file in enumerate(files):
        file.rename(file.with_name(f"events.out.tfevents.{place}"))


def test_a_saved_model_goes_on_where_it_stopped(tmp_path):
    model = small_model()
    fit(model, Weight(tmp_path, 2))
    model.save(tmp_path / "model.keras")
    fit(keras.models.load_model(tmp_path / "model.keras"), Weight(tmp_path, 2), epochs=1)
    rename_in_order(tmp_path / "weights")
    assert steps(tmp_path / "weights", "weight") == [0, 2, 4, 6, 6, 8]


def test_one_callback_may_serve_several_fits_and_be_copied(tmp_path):
    model, watch = small_model(run_eagerly=True), Weight(tmp_path, "epoch")
    for _ in range(2):
        fit(model, watch, epochs=1)
    rename_in_order(tmp_path / "weights")
    assert steps(tmp_path / "weights", "weight") == [0, 3, 3, 6]
    other = copy.deepcopy(Weight(tmp_path / "copied", "epoch"))
    copied = copy.deepcopy(other)
    copied.log_dir = tmp_path / "again"
    fit(small_model(run_eagerly=True), copied, other, epochs=1)
    for folder in ("copied", "again"):
        assert steps(tmp_path / folder / "weights", "weight") == [0, 3]


def test_keras_tensorboard_in_the_same_folder(tmp_path):
    fit(small_model(), keras.callbacks.TensorBoard(tmp_path), Weight(tmp_path, "epoch"))
    assert {"train", "weights"} <= {path.name for path in tmp_path.iterdir()}
    assert events(tmp_path / "weights").Tags()["tensors"] == ["interp_rnn/weight"]
    tags = events(tmp_path / "train").Tags()["tensors"]
    assert "epoch_loss" in tags
    assert not any(tag.startswith("interp_rnn/") for tag in tags)


@pytest.mark.matrix
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_search_of_keras_tuner(tmp_path):
    keras_tuner = pytest.importorskip("keras_tuner")

    def build(parameters):
        parameters.Int("units", 2, 4)
        return small_model()

    tuner = keras_tuner.GridSearch(
        build, "loss", max_trials=2, executions_per_trial=2, directory=tmp_path, project_name="search"
    )
    logs = tmp_path / "logs"
    both = [Weight(logs, "epoch"), keras.callbacks.TensorBoard(logs)]
    tuner.search(X, X[:, :1], batch_size=4, epochs=1, callbacks=both, verbose=0)
    runs = {file.parent.relative_to(logs) for file in logs.rglob("events*")}
    trials = [Path(trial, f"execution{i}") for trial in tuner.oracle.trials for i in range(2)]
    assert len(trials) == 4
    assert {run for run in runs if run.name == "weights"} == {trial / "weights" for trial in trials}
    assert set(trials) <= runs  # those of keras.callbacks.TensorBoard
    assert all(steps(logs / trial / "weights", "weight") == [0, 3] for trial in trials)


@pytest.mark.parametrize("update_freq", [0, -3, 2.5, "batch", None, True])
def test_rejects_invalid_frequencies(tmp_path, update_freq):
    sentence = rf"`update_freq` must be a positive integer\. Received: update_freq={update_freq!r}\. Pass .* or 'epoch'"
    with pytest.raises(ValueError, match=sentence):
        callbacks.JacobianHistograms(tmp_path, X, update_freq=update_freq)


@pytest.mark.parametrize("folder", [None, 5, ""])
@pytest.mark.parametrize(("kind", "name"), [(callbacks.Traces, "log_dir"), (callbacks.Resumable, "directory")])
def test_rejects_folders_that_are_not_paths(folder, kind, name):
    inputs = [X] if kind is callbacks.Traces else []
    with pytest.raises(ValueError, match=f"`{name}` must be a path: .* Received: {name}="):
        kind(folder, *inputs)


@pytest.mark.parametrize(("name", "reason"), [("file", "where no folder can be made"), ("\udcff", "Unicode")])
def test_rejects_a_folder_that_cannot_be_made(tmp_path, name, reason):
    (tmp_path / "file").touch()
    with pytest.raises(ValueError, match=rf"Weight must be able to write into log_dir\. Received: log_dir='.*{reason}"):
        fit(small_model(), Weight(tmp_path / name, "epoch"))


@pytest.mark.parametrize("inputs", [X[:0], [X[:0], X[:0]], [], 3])
@pytest.mark.parametrize("kind", [callbacks.JacobianHistograms, callbacks.TransitionProbabilities, callbacks.Traces])
def test_rejects_an_empty_batch(tmp_path, inputs, kind):
    with pytest.raises(ValueError, match=rf"{kind.__name__} must read a fixed batch of sequences. Received: none. P"):
        kind(tmp_path, inputs)


def of_states():
    parts = [keras.layers.Embedding(4, 3, mask_zero=True), layers.SRGRU(4, 3), keras.layers.Dense(1)]
    return keras.Sequential([keras.Input((5,), dtype="int32"), *parts])


PROBES = {
    "JacobianHistograms": (of_states, {"inputs": X[:2], "lags": (0, 3)}, "jacobians"),
    "TransitionProbabilities": (of_states, {"inputs": X[:2]}, "transitions"),
    "Automaton": (lambda: network_of(tomita(4)), {}, "automaton"),
    "Attributions": (of_states, {"texts": X[:1]}, "attributions"),
    "Contributions": (isan_network, {"texts": X[:1]}, "contributions"),
    "ShapleyValues": (isan_network, {"texts": X[:1], "alphabet": "_ab"}, "shapley_values"),
    "Substitutions": (isan_network, {"texts": X[:1], "alternatives": [1, 2]}, "substitutions"),
    "Stability": (isan_network, {"text": X[0]}, "stability"),
}


@pytest.mark.parametrize("name", PROBES)
def test_weights_that_are_not_finite_are_warned_of_once_and_nothing_is_written(name, tmp_path):
    """By the calls that `fit` makes; the next fit says so before it begins."""
    build, arguments, folder = PROBES[name]
    model = build()
    model.compile(keras.optimizers.SGD(0.0), "mse")
    watch = getattr(callbacks, name)(tmp_path, **arguments)
    watch.set_model(model)
    watch.on_train_begin()
    before = [weight.copy() for weight in model.get_weights()]
    model.optimizer.iterations.assign(2)
    watch.on_epoch_end(0, {})
    for found, expected in zip(model.get_weights(), before, strict=True):
        np.testing.assert_array_equal(found, expected)  # looking leaves no trace
    model.layers[-1].bias.assign(np.full(model.layers[-1].bias.shape, np.nan))
    recurrent = next(layer for layer in model.layers if hasattr(layer, "cell"))
    for weight in recurrent.trainable_weights:
        weight.assign(np.full(weight.shape, np.nan))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for epoch, step in ((1, 4), (2, 6)):
            model.optimizer.iterations.assign(step)
            watch.on_epoch_end(epoch, {})
    [sentence] = [str(warning.message) for warning in caught if issubclass(warning.category, UserWarning)]
    assert sentence.startswith(f"{name} writes nothing from step 4 on. The weights must be finite.")
    watch.on_train_end()
    found = events(tmp_path / folder)
    assert {event.step for tag in found.Tags()["tensors"] for event in found.Tensors(tag)} == {0, 2}
    with pytest.raises(ValueError, match="The weights must be finite"):
        watch.on_train_begin()


@pytest.mark.parametrize("name", sorted({*PROBES} - {"Automaton"}))
def test_looking_leaves_no_trace_in_training(name, tmp_path):
    build, arguments, folder = PROBES[name]
    weights = []
    for watching in ([getattr(callbacks, name)(tmp_path, **arguments, update_freq=2)], []):
        keras.utils.set_random_seed(1)
        model = build()
        if build is of_states:
            model.add(keras.layers.Dropout(0.2))
            y = X[:, :1].astype("float32")
        else:
            y = np.eye(3, dtype="float32")[X]
        model.compile(keras.optimizers.Adam(0.05), "mse", run_eagerly=True)
        model.fit(X, y, 4, 1, shuffle=False, verbose=0, callbacks=watching)
        weights.append(model.get_weights())
    for watched, alone in zip(*weights, strict=True):
        np.testing.assert_array_equal(watched, alone)
    found = events(tmp_path / folder)
    assert {event.step for tag in found.Tags()["tensors"] for event in found.Tensors(tag)} >= {0, 2}
