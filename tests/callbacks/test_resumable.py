"""A run that was stopped and resumed is the run that was never stopped, whenever the kill came."""

from __future__ import annotations

import math
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import keras
import numpy as np
import pytest

from keras_interp_rnn import losses
from keras_interp_rnn._network import carried_states
from keras_interp_rnn.callbacks import CarriedState, Resumable, resumable
from keras_interp_rnn.datasets import Windows
from keras_interp_rnn.layers import ISAN
from tests.archives import DAMAGES, spoiled

BATCH, LENGTH, STEPS = 3, 7, 6
WINDOWS = 4 * STEPS  # of the training text


def text(seed: int, size: int = WINDOWS * BATCH * LENGTH + 1) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 5, size)


def new_model(units: int = 6) -> keras.Model:
    keras.utils.set_random_seed(1)
    model = keras.Sequential(
        [
            keras.Input(batch_shape=(BATCH, LENGTH), dtype="int32"),
            ISAN(units, 5, return_sequences=True, stateful=True),
            keras.layers.Dense(5),
        ]
    )
    schedule = keras.optimizers.schedules.CosineDecay(0.01, 4 * STEPS)
    model.compile(keras.optimizers.Adam(schedule, global_clipnorm=1.44), losses.BitsPerSymbol())
    model.optimizer.build(model.trainable_variables)  # a model saved before that loads with a warning
    return model


def train(
    directory: Path,
    epochs: int,
    callbacks: tuple[keras.callbacks.Callback, ...] = (),
    windows: int = WINDOWS,
) -> Resumable:
    """To this epoch, from where the files in the directory say that it stopped. Returns the callback."""
    resumable = Resumable(directory)
    model = resumable.load() or new_model()
    model.fit(
        Windows(
            text(0)[: windows * BATCH * LENGTH + 1],
            BATCH,
            length=LENGTH,
            start=resumable.epoch * STEPS,
            num_windows=(epochs - resumable.epoch) * STEPS,
        ),
        validation_data=Windows(text(1, 100), BATCH, length=LENGTH),
        epochs=epochs,
        initial_epoch=resumable.epoch,
        steps_per_epoch=STEPS,
        shuffle=False,
        callbacks=[CarriedState(across_epochs=True), resumable, *callbacks],
        verbose=0,
    )
    return resumable


def assert_same_run(found: Resumable, expected: Resumable) -> None:
    assert found.epoch == expected.epoch
    for one, other in zip(found.history, expected.history, strict=True):
        for name in ("loss", "val_loss"):
            assert one[name] == pytest.approx(other[name], abs=1e-6)
    models = [(run.load(), keras.models.load_model(run.best)) for run in (found, expected)]
    for one, other in zip(*models, strict=True):
        for a, b in zip(one.get_weights(), other.get_weights(), strict=True):
            np.testing.assert_allclose(a, b, rtol=0, atol=1e-6)
        for a, b in zip(one.optimizer.variables, other.optimizer.variables, strict=True):
            np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=0, atol=1e-6)
        for a, b in zip(carried_states.read(one), carried_states.read(other), strict=True):
            np.testing.assert_allclose(a, b, rtol=0, atol=1e-6)


@pytest.mark.matrix
def test_a_pass_need_not_hold_whole_epochs(tmp_path: Path) -> None:
    # Nine windows a pass and six an epoch: the second epoch and the third read across the end of a pass.
    expected = train(tmp_path / "at once", epochs=4, windows=9)
    train(tmp_path / "in two", epochs=2, windows=9)
    assert_same_run(train(tmp_path / "in two", epochs=4, windows=9), expected)


def constant_model() -> keras.Model:
    """Whose loss does not change."""
    model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1, use_bias=False)])
    model.compile(keras.optimizers.SGD(1.0), "mse")
    return model


def fit(model: keras.Model, *callbacks: keras.callbacks.Callback, **epochs: int) -> None:
    """Trains a model of one number in epochs of three steps."""
    model.fit(np.zeros((3, 1)), np.ones((3, 1)), 1, verbose=0, callbacks=list(callbacks), **epochs)


class Killed(BaseException):
    """Not an Exception, so that nobody catches it on the way."""


class KillAt(keras.callbacks.Callback):
    """In the middle of an epoch, counted from 0."""

    def __init__(self, epoch: int, kill: Callable[[], None]) -> None:
        super().__init__()
        self.epoch, self.kill = epoch, kill

    def on_epoch_begin(self, epoch: int, logs=None) -> None:
        self.now = epoch

    def on_train_batch_end(self, batch: int, logs=None) -> None:
        if (self.now, batch) == (self.epoch, 2):
            self.kill()


def killed() -> None:
    raise Killed


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> Resumable:
    """Four epochs in one go."""
    return train(tmp_path_factory.mktemp("uninterrupted"), epochs=4)


IN_ANOTHER_PROCESS = """
import os, sys
from pathlib import Path

from tests.callbacks.test_resumable import KillAt, train

train(Path(sys.argv[1]), epochs=4, callbacks=(KillAt(2, lambda: os._exit(9)),))
"""


@pytest.mark.matrix
def test_a_killed_process_is_gone_on_with_in_another(uninterrupted: Resumable, tmp_path: Path) -> None:
    root = Path(__file__).parents[2]
    command = [sys.executable, "-c", IN_ANOTHER_PROCESS, str(tmp_path)]
    ended = subprocess.run(command, cwd=root, timeout=300, check=False)
    assert ended.returncode == 9
    assert Resumable(tmp_path).epoch == 2
    assert_same_run(train(tmp_path, epochs=4), uninterrupted)


class Disk:
    """Dies at the k-th operation on files: what is being written is left half written, nothing else happens."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, dies_at: int) -> None:
        self.operations, self.dies_at = 0, dies_at
        monkeypatch.setattr(os, "replace", self.operation(os.replace))
        monkeypatch.setattr(Path, "unlink", self.operation(Path.unlink))
        monkeypatch.setattr(Path, "write_text", self.operation(Path.write_text, written=0))
        monkeypatch.setattr(np, "savez", self.operation(np.savez, written=0))
        monkeypatch.setattr(keras.Model, "save", self.operation(keras.Model.save, written=1))

    def operation(self, real: Callable, written: int | None = None) -> Callable:
        def instead(*args, **kwargs):
            self.operations += 1
            if self.operations == self.dies_at:
                if written is not None:
                    with open(args[written], "wb") as file:
                        file.write(b"half of")
                raise Killed
            return real(*args, **kwargs)

        return instead


VALIDATION = [3.0, 2.0, 2.5]


def begin(resumable: Resumable, model: keras.Model) -> None:
    resumable.set_model(model)
    resumable.on_train_begin()


def pretend_epoch(model: keras.Model, resumable: Resumable, loss: float = 0.0) -> None:
    """The end of an epoch, without training: weights and states are the number of the epoch."""
    number = resumable.epoch + 1
    for variable in (*model.weights, *model.layers[0].states):
        variable.assign(np.full(variable.shape, number))
    begin(resumable, model)
    resumable.on_epoch_end(number - 1, {"loss": loss, "val_loss": VALIDATION[number - 1]})


def run_on_a_disk_that_dies(directory: Path, dies_at: int) -> int:
    """Three epochs, killed at that operation and gone on with. Returns how many operations there were before."""
    model = new_model(units=2)
    with pytest.MonkeyPatch.context() as monkeypatch:
        disk = Disk(monkeypatch, dies_at)
        resumable = Resumable(directory)
        try:
            for _ in VALIDATION:
                pretend_epoch(model, resumable)
        except Killed:
            pass
    return disk.operations


def weights_of(model: keras.Model) -> set[float]:
    return {float(value) for weight in model.get_weights() for value in np.unique(weight)}


@pytest.mark.parametrize("dies_at", range(1, 27))
def test_a_kill_between_any_two_operations_on_files_breaks_nothing(tmp_path: Path, dies_at: int) -> None:
    operations = run_on_a_disk_that_dies(tmp_path, dies_at)
    assert operations == dies_at
    resumable = Resumable(tmp_path)
    finished = resumable.epoch
    assert [entry["val_loss"] for entry in resumable.history] == VALIDATION[:finished]
    model = resumable.load()
    if finished:
        assert weights_of(model) == {finished}
        assert {float(value) for state in carried_states.read(model) for value in np.unique(state)} == {finished}
    else:
        assert model is None
        model = new_model(units=2)
    if finished or resumable.best.exists():
        # The best model of the epochs finished, or of the one that the kill fell in.
        allowed = {1: {1, 2}, 2: {2}, 3: {2}}.get(finished, {1})
        assert weights_of(keras.models.load_model(resumable.best)) <= allowed
    while resumable.epoch < len(VALIDATION):
        pretend_epoch(model, resumable)
    again = Resumable(tmp_path)
    assert again.epoch == len(VALIDATION)
    assert weights_of(again.load()) == {3}
    assert weights_of(again.load_best()) == {2}
    if finished < len(VALIDATION):
        files = {"model.keras", "progress.json", "resume-0003.keras", "resume-0003.npz"}
        assert {path.name for path in tmp_path.iterdir()} == files


def test_the_kills_above_fall_on_every_operation(tmp_path: Path) -> None:
    assert run_on_a_disk_that_dies(tmp_path, dies_at=0) == 26


def test_files_of_earlier_epochs_that_a_kill_left_are_deleted_when_training_begins(tmp_path: Path) -> None:
    run_on_a_disk_that_dies(tmp_path, dies_at=25)  # before the files of the second of three epochs are deleted
    assert len(list(tmp_path.glob("resume-*"))) == 4
    resumable = Resumable(tmp_path)
    begin(resumable, resumable.load())
    assert sorted(path.name for path in tmp_path.glob("resume-*")) == ["resume-0003.keras", "resume-0003.npz"]


NAN = math.nan


@pytest.mark.parametrize(
    ("arguments", "values", "losses", "best"),
    [
        ({}, [3.0, 2.0, 2.5], [0.0] * 3, 2),  # the smallest
        ({}, [3.0, 3.0], [0.0] * 2, 1),  # an equal one does not replace it
        *(({}, values, [0.0] * 3, values.index(3.0) + 1) for values in ([NAN, 3.0, 4.0], [4.0, NAN, 3.0])),
        ({}, [4.0, 3.0, NAN], [0.0] * 3, 2),  # a value that is no number is never the best for long
        ({"monitor": "loss"}, VALIDATION, [5.0, 6.0, 4.0], 3),  # another monitor ranks by another value
        *(  # ties are broken by the validation loss
            ({"monitor": "loss", "mode": "max"}, values, [0.9] * 3, 2)
            for values in ([3.0, 2.0, 2.0], [NAN, 2.0, NAN], [3.0, 2.0, 2.5])
        ),
        ({"mode": "max"}, [3.0, NAN, 4.0, 4.0, 2.0], [0.0] * 5, 3),
        ({"mode": "max"}, [1.0, 2.0, 5.0, NAN], [0.0] * 4, 3),
    ],
)
def test_the_best_model_is_the_one_with_the_best_monitored_value(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: dict, values: list, losses: list, best: int
) -> None:
    monkeypatch.setattr(sys.modules[__name__], "VALIDATION", values)
    resumable, model = Resumable(tmp_path, **arguments), new_model(units=2)
    for loss in losses:
        pretend_epoch(model, resumable, loss)
    assert weights_of(keras.models.load_model(resumable.best)) == {best}
    assert weights_of(resumable.load()) == {len(values)}
    assert Resumable(tmp_path, **arguments).epoch == len(values)


def test_rejects_other_modes_monitors_and_directories(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="`mode` must be one of 'min', 'max'. Received: mode='auto'"):
        Resumable(tmp_path / "new", mode="auto")
    assert not (tmp_path / "new").exists()
    (tmp_path / "file").touch()
    with pytest.raises(ValueError, match=r"`directory` must be a folder\. Received: .*file, which is a file"):
        Resumable(tmp_path / "file")
    pretend_epoch(new_model(units=2), Resumable(tmp_path / "run"))
    sentence = r"Received: monitor='accuracy', and .* have \['loss', 'seconds', 'val_loss'\]"
    with pytest.raises(ValueError, match=sentence):
        Resumable(tmp_path / "run", "accuracy", mode="max")


@pytest.mark.parametrize(
    "content",
    [
        *("", "{", "[]", "{}", '{"history":' * 5_000, None),
        *(
            f'{{"history": {history}, "files": {files}, "iterations": 1, "steps": 1}}'
            for history, files in (
                *(("null", "[]"), ("[1, 2]", "[]"), ('[{"val_loss": 1.0}]', "[]")),
                *(('[{"seconds": 1e999, "val_loss": 1.0}]', "[]"), ("[]", '["../../notes.txt"]')),
            )
        ),
    ],
)
def test_rejects_a_damaged_progress_file(tmp_path: Path, content: str | None) -> None:
    """None for a folder of that name."""
    if content is None:
        (tmp_path / "progress.json").mkdir()
    else:
        (tmp_path / "progress.json").write_text(content)
    with pytest.raises(ValueError, match=r"from its progress file\. Received: .*progress\.json.*Remove the directory"):
        Resumable(tmp_path)


def test_rejects_a_monitor_that_fit_does_not_log(tmp_path: Path) -> None:
    resumable = Resumable(tmp_path)
    sentence = (
        r"`monitor` must be in the logs\. Received: monitor='val_loss', and logs of \['loss'\]\. Pass `fit` "
        r"validation_data, or Resumable another monitor\."
    )
    with pytest.raises(ValueError, match=sentence):
        new_model().fit(Windows(text(0), BATCH, length=LENGTH), shuffle=False, callbacks=[resumable], verbose=0)
    assert Resumable(tmp_path).epoch == 0


def test_a_new_run_has_a_folder_and_nothing_to_load(tmp_path: Path) -> None:
    resumable = Resumable(tmp_path / "deep" / "folder")
    assert resumable.load() is None
    assert (resumable.epoch, resumable.history) == (0, [])
    assert resumable.directory.is_dir()


def test_seconds_leave_the_stops_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: clock[0])
    model = new_model(units=2)
    for epoch, seconds in enumerate((5, 7)):
        resumable = Resumable(tmp_path)
        begin(resumable, model)
        clock[0] += seconds
        resumable.on_epoch_end(epoch, {"val_loss": 3.0})
        clock[0] += 1000  # a stop
    assert [entry["seconds"] for entry in Resumable(tmp_path).history] == [5, 12]


def test_an_interruption_before_the_first_epoch_leaves_a_model(tmp_path: Path) -> None:
    resumable, model = Resumable(tmp_path), new_model(units=2)
    resumable.set_model(model)
    resumable.save_if_none()
    for found, expected in zip(keras.models.load_model(resumable.best).get_weights(), model.get_weights(), strict=True):
        np.testing.assert_array_equal(found, expected)
    pretend_epoch(model, resumable)
    resumable.save_if_none()
    assert weights_of(keras.models.load_model(resumable.best)) == {1}


class Log:
    """Which files were synchronized, replaced and deleted, in order."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.events: list[tuple[str, str]] = []
        fsync, replace, unlink = os.fsync, os.replace, Path.unlink

        def synced(descriptor: int) -> None:
            self.events.append(("sync", os.readlink(f"/proc/self/fd/{descriptor}")))
            fsync(descriptor)

        def replaced(source: Path, target: Path) -> None:
            self.events.append(("replace", f"{source} {target}"))
            replace(source, target)

        def deleted(path: Path, *args, **kwargs) -> None:
            self.events.append(("delete", path.name))
            unlink(path, *args, **kwargs)

        monkeypatch.setattr(os, "fsync", synced)
        monkeypatch.setattr(os, "replace", replaced)
        monkeypatch.setattr(Path, "unlink", deleted)


@pytest.mark.skipif(not os.path.exists("/proc/self/fd"), reason="reads /proc")
def test_an_epoch_is_on_the_disk_before_the_one_before_is_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    resumable, model = Resumable(tmp_path), new_model(units=2)
    pretend_epoch(model, resumable)
    log = Log(monkeypatch)
    pretend_epoch(model, resumable)
    kinds = [kind for kind, _ in log.events]
    assert kinds == ["sync", "replace", "sync"] * 4 + ["delete"] * 2  # best, checkpoint, states, progress
    for i in range(0, 12, 3):
        (_, file), (_, moved), (_, folder) = log.events[i : i + 3]
        assert moved.split() == [file, moved.split()[1]]
        assert folder == str(tmp_path)
    assert {name for kind, name in log.events if kind == "delete"} == {"resume-0001.keras", "resume-0001.npz"}


@pytest.fixture(scope="module")
def one_epoch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("one-epoch")
    pretend_epoch(new_model(units=2), Resumable(folder))
    return folder


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        *(
            (name, damage)
            for name in ("resume-0001.keras", "resume-0001.npz")
            for damage in ("missing", "empty", "half", "a bit", *DAMAGES)
        ),
        *(("model.keras", damage) for damage in ("missing", "empty", "half", *DAMAGES)),
    ],
)
def test_rejects_a_damaged_file(one_epoch: Path, tmp_path: Path, name: str, damage: str) -> None:
    folder = shutil.copytree(one_epoch, tmp_path / "run")
    path = folder / name
    content = path.read_bytes()
    middle = len(content) // 2
    changed = {
        "empty": b"",
        "half": content[:middle],
        "a bit": content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :],
    }
    path.unlink()
    if damage != "missing":
        path.write_bytes(changed[damage] if damage in changed else spoiled(content, damage))
    resumable = Resumable(folder)
    if name == "model.keras":
        load = resumable.load_best
        sentence = r"of a run must be a \.keras file.*Received: .*model\.keras, which is (missing|damaged).*again\."
    else:
        load = resumable.load
        sentence = rf"of its last epoch\. Received: .*{name}, (which is (missing|damaged)|in which .* is d).*Remove"
    with pytest.raises(ValueError, match=sentence):
        load()


LOCKING = """
import fcntl, os, sys
fcntl.flock(os.open(sys.argv[1], os.O_RDONLY), fcntl.LOCK_EX)
print("locked", flush=True)
sys.stdin.read()
"""


def lowest_free_descriptor() -> int:
    descriptor = os.open(os.curdir, os.O_RDONLY)
    os.close(descriptor)
    return descriptor


def test_two_processes_do_not_train_in_one_directory(tmp_path: Path) -> None:
    pytest.importorskip("fcntl")
    command = [sys.executable, "-c", LOCKING, str(tmp_path)]
    model = new_model(units=2)
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout.readline() == b"locked\n"
        resumable = Resumable(tmp_path)
        sentence = r"A directory must have at most one training\. Received: .*, where another process trains"
        free = lowest_free_descriptor()
        with pytest.raises(ValueError, match=sentence):
            begin(resumable, model)
        assert lowest_free_descriptor() == free
        other.stdin.close()
        assert other.wait(timeout=60) == 0
    resumable.on_train_begin()
    Resumable(tmp_path).on_train_begin()  # the same process may
    resumable.on_train_end()


def test_two_trainings_of_a_process_do_not_share_a_directory(tmp_path: Path) -> None:
    entered, leave, ends = threading.Event(), threading.Event(), []

    class Wait(keras.callbacks.Callback):
        def on_epoch_begin(self, epoch: int, logs=None) -> None:
            entered.set()
            assert leave.wait(60)

    first = constant_model()
    thread = threading.Thread(
        target=lambda: ends.append(fit(first, Resumable(tmp_path, "loss"), Wait(), epochs=3)), daemon=True
    )
    thread.start()
    assert entered.wait(60)
    for directory in (tmp_path, tmp_path / "." / "" / ".." / tmp_path.name):
        with pytest.raises(
            ValueError, match=r"^Resumable: .*at most one training\..*another `fit` of this process trains"
        ):
            fit(constant_model(), Resumable(directory, "loss"), epochs=1)
    leave.set()
    thread.join(60)
    assert len(ends) == 1
    assert Resumable(tmp_path, "loss").epoch == 3
    with pytest.raises(ValueError, match="another callback of this `fit` writes"):
        fit(constant_model(), Resumable(tmp_path / "new", "loss"), Resumable(tmp_path / "new", "loss"), epochs=1)


@pytest.mark.parametrize("end", [KeyboardInterrupt, ValueError])
def test_a_training_that_an_error_ended_leaves_the_directory_to_the_next(tmp_path: Path, end: type) -> None:
    def ended() -> None:
        raise end

    with pytest.raises(end) as held:
        fit(constant_model(), Resumable(tmp_path, "loss"), KillAt(1, ended), epochs=2)
    assert held.tb is not None
    again = Resumable(tmp_path, "loss")
    fit(again.load(), again, epochs=2, initial_epoch=again.epoch)
    assert Resumable(tmp_path, "loss").epoch == 2


def test_other_files_of_the_user_and_checkpoints_stay(tmp_path: Path) -> None:
    files = ["epoch-notes.txt", "partial-results.csv", "epoch-0001.png", "epoch-plots/first.png"]
    for name in files:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("mine")
    (tmp_path / "partial-0123456789abcdef-resume-0001.keras").write_text("of a run that was killed")
    checkpoints = keras.callbacks.ModelCheckpoint(tmp_path / "epoch-{epoch:04d}.keras")
    fit(constant_model(), checkpoints, Resumable(tmp_path, "loss"), epochs=2)
    assert all((tmp_path / name).read_text() == "mine" for name in files)
    assert not list(tmp_path.glob("partial-*.keras"))
    assert [path.name for path in sorted(tmp_path.glob("resume-*.keras"))] == ["resume-0002.keras"]
    assert len(list(tmp_path.glob("epoch-*.keras"))) == 2


def test_a_metric_for_each_class_is_saved_and_rejected_as_a_monitor(tmp_path: Path) -> None:
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(3, activation="softmax")])
    model.compile("sgd", "categorical_crossentropy", metrics=[keras.metrics.F1Score(average=None, name="f1")])
    x, y = np.ones((4, 2)), np.eye(3)[[0, 1, 2, 0]]
    model.fit(x, y, epochs=2, verbose=0, callbacks=[Resumable(tmp_path, "loss")])
    resumed = Resumable(tmp_path, "loss")
    assert [len(entry["f1"]) for entry in resumed.history] == [3, 3]
    assert resumed.load() is not None
    with pytest.raises(ValueError, match="`monitor` must be a number in the logs. Received: monitor='f1'"):
        model.fit(x, y, verbose=0, callbacks=[Resumable(tmp_path / "other", "f1")])


def test_a_resumed_run_draws_what_an_uninterrupted_one_does(tmp_path: Path) -> None:
    """Also dropout without a seed, which draws from a generator of the whole process on torch."""
    x = np.random.default_rng(0).normal(size=(16, 4))

    def trained(folder: Path, to: int, seed: int) -> float:
        keras.utils.set_random_seed(seed)
        resumable = Resumable(folder, "loss")
        model = resumable.load()
        if model is None:
            model = keras.Sequential([keras.Input((4,)), keras.layers.Dropout(0.3), keras.layers.Dense(1)])
            model.compile("adam", "mse")
        epochs = {"initial_epoch": resumable.epoch, "epochs": to}
        model.fit(x, x[:, :1], 4, **epochs, shuffle=False, verbose=0, callbacks=[resumable])
        return resumable.history[-1]["loss"]

    whole = trained(tmp_path / "whole", 2, seed=0)
    trained(tmp_path / "parts", 1, seed=0)
    assert trained(tmp_path / "parts", 2, seed=7) == whole


class Seen(keras.callbacks.Callback):
    """Remembers in public, and in private what it may not be given back."""

    def __init__(self, note: str = "") -> None:
        super().__init__()
        self.seen, self.total, self.pairs, self._handle, self.note = {}, np.zeros(2), [], 0, note

    def on_epoch_end(self, epoch: int, logs=None) -> None:
        self.seen[str(epoch)] = np.float32(epoch)
        self.total[1] += epoch
        self.pairs.append((epoch, None))
        self._handle += 1


@pytest.mark.parametrize("first", [True, False])
def test_callbacks_remember_across_a_kill(tmp_path: Path, first: bool) -> None:
    def run(directory: Path, *kill: keras.callbacks.Callback) -> tuple[Resumable, list]:
        resumable = Resumable(directory, "loss")
        early = keras.callbacks.EarlyStopping("loss", patience=4, min_delta=1e-3, restore_best_weights=True)
        plateau = keras.callbacks.ReduceLROnPlateau("loss", patience=2, cooldown=1)
        others = [early, plateau, Seen(note=str(directory))]
        model = resumable.load() or constant_model()
        watching = [resumable, *others] if first else [*others, resumable]
        fit(model, *watching, *kill, epochs=9, initial_epoch=resumable.epoch)
        return resumable, [*others, float(model.optimizer.learning_rate)]

    expected, (early, plateau, seen, rate) = run(tmp_path / "whole")
    for epoch in (3, 4):
        with pytest.raises(Killed):
            run(tmp_path / "killed", KillAt(epoch, killed))
    found, (early_again, plateau_again, seen_again, rate_again) = run(tmp_path / "killed")
    assert found.epoch == expected.epoch == 5
    assert [early_again.wait, early_again.best, early_again.best_epoch] == [4, 1.0, 0]
    np.testing.assert_array_equal(early_again.best_weights, [np.load(found._carried(5))["callbacks_0"]])
    assert rate_again == rate < 1
    assert (plateau_again.wait, plateau_again.cooldown_counter) == (plateau.wait, plateau.cooldown_counter)
    assert (seen_again.seen, seen_again.pairs) == (seen.seen, seen.pairs)
    assert seen_again.pairs[-1] == (4, None)
    np.testing.assert_array_equal(seen_again.total, seen.total)
    assert seen_again.note == str(tmp_path / "killed")  # training did not change it
    assert (seen_again._handle, seen._handle) == (1, 5)


@pytest.mark.parametrize(
    ("loads", "initial_epoch", "message"),
    [
        (
            False,
            2,
            r"must continue with its model\. Received: a model whose optimizer has taken 0 steps, and .*taken 6",
        ),
        (False, 0, "must continue with its model"),
        (True, 0, r"must continue with the epoch after its last one\. Received: epoch 0, .*initial_epoch="),
    ],
)
def test_rejects_a_forgotten_load_and_deletes_nothing(
    tmp_path: Path, loads: bool, initial_epoch: int, message: str
) -> None:
    fit(constant_model(), Resumable(tmp_path, "loss"), epochs=2)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    resumable = Resumable(tmp_path, "loss")
    model = resumable.load() if loads else constant_model()
    with pytest.raises(ValueError, match=message):
        fit(model, resumable, epochs=3, initial_epoch=initial_epoch)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_callbacks_remember_in_a_fit_that_goes_on_in_the_same_process(tmp_path: Path) -> None:
    model = constant_model()
    for epoch in range(2):
        early = keras.callbacks.EarlyStopping("loss", patience=5)
        fit(model, Resumable(tmp_path, "loss"), early, initial_epoch=epoch, epochs=epoch + 1)
    assert early.wait == 1


def test_a_loaded_model_may_be_compiled_again_and_a_model_in_memory_goes_on(tmp_path: Path) -> None:
    resumable, model = Resumable(tmp_path, "loss"), constant_model()
    fit(model, resumable, epochs=1)
    fit(model, Resumable(tmp_path, "loss"), epochs=2, initial_epoch=1)
    with pytest.raises(ValueError, match=r"where an epoch was finished since this Resumable was made\. Make another"):
        fit(model, resumable, epochs=2, initial_epoch=1)
    resumable = Resumable(tmp_path, "loss")
    loaded = resumable.load()
    loaded.compile("adam", "mse")
    fit(loaded, resumable, epochs=3, initial_epoch=2)
    assert Resumable(tmp_path, "loss").epoch == 3


def test_a_stateful_network_resumes_with_the_steps_it_had(tmp_path: Path) -> None:
    def read(steps: int) -> None:
        resumable = Resumable(tmp_path, "loss")
        model = resumable.load() or new_model(units=2)
        windows = Windows(text(0)[: steps * BATCH * LENGTH + 1], BATCH, length=LENGTH)
        epochs = {"initial_epoch": resumable.epoch, "epochs": resumable.epoch + 1}
        model.fit(windows, **epochs, shuffle=False, verbose=0, callbacks=[resumable])

    read(4)
    with pytest.raises(
        ValueError, match=r"same number of steps in every epoch\. Received: 3, and .*have 4\. Use the same b"
    ):
        read(3)
    read(4)


def test_an_interrupted_fit_leaves_the_directory_to_other_processes(tmp_path: Path) -> None:
    fcntl = pytest.importorskip("fcntl")
    descriptor = os.open(tmp_path, os.O_RDONLY)  # locks of two descriptors exclude each other, as of two processes

    def interrupted() -> None:
        with pytest.raises(BlockingIOError):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as held:  # a notebook holds the traceback too
        fit(constant_model(), Resumable(tmp_path, "loss"), KillAt(1, interrupted), epochs=2)
    assert held.tb is not None
    for _ in range(50):
        time.sleep(0.1)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            break
        except BlockingIOError:
            continue
    else:
        pytest.fail("still locked")
    os.close(descriptor)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded, use of fork:DeprecationWarning")
def test_a_forked_process_neither_shares_a_lock_nor_keeps_it(tmp_path: Path) -> None:
    fcntl = pytest.importorskip("fcntl")
    resumable._lock(tmp_path)
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            resumable._lock(tmp_path)
            os.write(writing, b"shares")
        except ValueError:
            os.write(writing, b"rejected")
        time.sleep(600)
        os._exit(0)
    try:
        assert os.read(reading, 10) == b"rejected"
        resumable._unlock(tmp_path)
        other = os.open(tmp_path, os.O_RDONLY)
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)  # while the child lives
        os.close(other)
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


@pytest.mark.skipif(not hasattr(os, "setuid") or os.getuid() != 0, reason="becomes another user")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded, use of fork:DeprecationWarning")
def test_rejects_a_directory_that_cannot_be_written_before_the_training(tmp_path: Path) -> None:
    for folder in (tmp_path, *tmp_path.parents):  # as pytest's folders are the user's alone
        if os.stat(folder).st_uid == os.getuid() and folder != Path("/"):
            os.chmod(folder, 0o755)
    model = new_model()
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.setgid(65534)
        os.setuid(65534)
        try:
            begin(Resumable(tmp_path), model)
        except BaseException as error:
            os.write(writing, f"{type(error).__name__}: {error}".encode())
        os._exit(0)
    os.close(writing)
    os.waitpid(child, 0)
    sentence = os.read(reading, 1000).decode()
    rule = "ValueError: Resumable: A run must be able to write into its directory."
    assert sentence == f"{rule} Received: {tmp_path} (Permission denied). Pass another, or change its permissions."
