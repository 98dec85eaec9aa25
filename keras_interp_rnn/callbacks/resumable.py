"""Training that survives a kill: after every epoch, everything needed to resume is on disk."""

from __future__ import annotations

import json
import math
import os
import re
import tempfile
import threading
import time
import zipfile
from pathlib import Path
from types import FrameType
from typing import Any, Literal

import keras
import numpy as np

from keras_interp_rnn import _backend
from keras_interp_rnn._backend.keras_quirks import fit_around, optimizer_steps, random_states
from keras_interp_rnn._checks import as_path, choice
from keras_interp_rnn._io import DAMAGED_ARCHIVE, atomic_write, read_json
from keras_interp_rnn._network import carried_states
from keras_interp_rnn.callbacks import _memory
from keras_interp_rnn.callbacks._base import NamedCallback, claim, has_ended, release

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


class Resumable(NamedCallback):
    """Saves the model, optimizer, carried states, random seeds and history after every epoch, and the best model.

    If the process is killed, or the power fails, only the current epoch is lost. The files of each epoch have their own
    names. Once they are on the disk, the progress file that points to them is replaced in one step, and only then are
    the files of the previous epoch deleted. No other file is deleted.

    The memory of the other callbacks of `fit` is saved too, and restored when training begins: their public attributes
    that training changed, if they hold numbers, texts, arrays, or lists, tuples and dictionaries of these. So
    `EarlyStopping`, `ReduceLROnPlateau` and `ModelCheckpoint` continue with their best value, count and best weights.
    This callback acts after all others, whatever its place in the list.

    While `fit` trains in a directory, no other `fit` of the process can train there, and no other process, if the file
    system has locks. The lock is released when `fit` ends, for other processes within about a second if an exception or
    an interruption ends it.

    Args:
        directory: the folder of this run. The callback writes `model.keras` (the best model so far, which always
            loads), `progress.json` and files `resume-...`.
        monitor: the entry of the logs by which models are ranked; ties are broken by the lowest `val_loss`.
        mode: "min" if the best value is the smallest, or "max".

    Attributes:
        epoch: number of finished epochs, for `fit(initial_epoch=...)`.
        history: logs of every finished epoch, with `seconds` of training so far, without interruptions.

    Raises:
        ValueError: if the mode is unknown, if epochs in the directory did not log this monitor, or if its progress file
            is damaged. When training begins, if another `fit` or process trains there, if the run has finished epochs
            and `load` or `initial_epoch` was forgotten, or if a stateful network has a different number of steps per
            epoch than before, as with a different batch size or length. At the end of the first epoch, if `monitor` is
            not in the logs.

    Example:

        resumable = Resumable("runs/isan")
        model = resumable.load() or build_and_compile()
        how = {"epochs": 20, "initial_epoch": resumable.epoch, "shuffle": False, "validation_data": held_out}
        model.fit(windows, callbacks=[resumable], **how)
    """

    def __init__(
        self, directory: str | os.PathLike[str], monitor: str = "val_loss", *, mode: Literal["min", "max"] = "min"
    ) -> None:
        super().__init__()
        self.monitor, self.mode = monitor, choice("mode", mode, ("min", "max"))
        self.directory = as_path("directory", directory)
        if self.directory.exists() and not self.directory.is_dir():
            raise ValueError(
                f"`directory` must be a folder. Received: {self.directory}, which is a file. Pass another path."
            )
        self.directory.mkdir(parents=True, exist_ok=True)
        progress = self._read()
        self.history: list[dict[str, Any]] = progress["history"]
        self._files: list[str] = progress["files"]
        self._iterations: int = progress["iterations"]
        self._steps: int = progress["steps"]
        self._generator: np.ndarray | None = None
        self._trained: keras.Model | None = None  # the model that was loaded, or saved last
        self._others: list[keras.callbacks.Callback] = []
        self._digests: dict[int, tuple[keras.callbacks.Callback, dict[str, bytes]]] = {}

    @property
    def epoch(self) -> int:
        return len(self.history)

    @property
    def best(self) -> Path:
        """The file of the best model so far."""
        return self.directory / "model.keras"

    @property
    def _progress(self) -> Path:
        return self.directory / "progress.json"

    def load(self) -> keras.Model | None:
        """The model after the last finished epoch, with its optimizer and carried states; None at the start.

        Raises:
            ValueError: if a file of that epoch is missing or damaged.
        """
        if not self.history:
            return None
        for path in (self._checkpoint(self.epoch), self._carried(self.epoch)):
            _check_whole(path, *_OF_LAST_EPOCH)
        model = keras.models.load_model(self._checkpoint(self.epoch))
        with np.load(self._carried(self.epoch)) as states:
            carried_states.write(model, [states[name] for name in states.files if name.startswith("arr_")])
            seeds = [states[name] for name in states.files if name.startswith("seed_")]
            self._generator = states["generator"] if "generator" in states.files else None
        self._trained = model
        for variable, value in zip(random_states(model), seeds, strict=False):
            variable.assign(value)
        return model

    def load_best(self) -> keras.Model:
        """The best model so far.

        Raises:
            ValueError: if its file is missing or damaged.
        """
        rule = "The best model of a run must be a .keras file in its directory"
        _check_whole(self.best, rule, "Remove the directory, and train again.")
        return keras.models.load_model(self.best)

    def on_train_begin(self, logs: object = None) -> None:
        callbacks, fit = fit_around(self)
        claim(self.directory, self, fit, ONE_TRAINING)
        _lock(self.directory, fit)
        self._check_continues()
        _check_writable(self.directory)
        place = next(i for i, one in enumerate(callbacks) if one is self)
        if not all(isinstance(one, Resumable) for one in callbacks[place:]):
            # Keras calls the callbacks in order: at the end of the list it comes here again, after all others.
            callbacks[place] = keras.callbacks.Callback()
            callbacks.append(self)
            return
        self._delete_outdated()
        forgotten = (Resumable, keras.callbacks.History, keras.callbacks.ProgbarLogger)
        self._others = [one for one in callbacks if not isinstance(one, forgotten)]
        for other in self._others:
            self._digests.setdefault(id(other), (other, _memory.digests(other)))
        if self.history:
            _check_whole(self._carried(self.epoch), *_OF_LAST_EPOCH)
            with np.load(self._carried(self.epoch)) as saved:
                _memory.restore(self._others, saved)
        before = self.history[-1]["seconds"] if self.history else 0.0
        self._started = time.monotonic() - before
        if self._generator is not None:  # now, as `fit` draws from it before it begins
            _backend.set_generator_state(self._generator)
            self._generator = None

    def on_train_end(self, logs: object = None) -> None:
        release(self.directory, self)
        _unlock(self.directory)

    def on_epoch_begin(self, epoch: int, logs: object = None) -> None:
        if epoch != self.epoch:
            raise ValueError(
                f"A run must continue with the epoch after its last one. Received: epoch {epoch}, counted from 0, and "
                f"{self.directory}, where {self.epoch} are finished. Pass `fit` initial_epoch=resumable.epoch and the "
                "model of resumable.load(), or pass another directory."
            )

    def on_epoch_end(self, epoch: int, logs: dict[str, float] | None = None) -> None:
        logs = logs or {}
        if self.monitor not in logs:
            raise ValueError(
                f"`monitor` must be in the logs. Received: monitor={self.monitor!r}, and logs of {sorted(logs)}. Pass "
                "`fit` validation_data, or Resumable another monitor."
            )
        # A metric without an average over classes is a list.
        entry: dict[str, Any] = {name: np.asarray(value, np.float64).tolist() for name, value in logs.items()}
        if not isinstance(entry[self.monitor], float):
            raise ValueError(
                f"`monitor` must be a number in the logs. Received: monitor={self.monitor!r}, which is "
                f"{entry[self.monitor]!r}. Average the metric, or pass another monitor."
            )
        entry["seconds"] = time.monotonic() - self._started
        if not self.best.exists() or self._rank(entry) < min(map(self._rank, self.history), default=(math.inf, 0.0)):
            self._save(self.best)
        history = [*self.history, entry]
        current = self._names(len(history))
        self._save(self._checkpoint(len(history)))
        seeds = enumerate(random_states(self.model))
        saved: dict[str, Any] = {f"seed_{i}": keras.ops.convert_to_numpy(seed) for i, seed in seeds}
        if (generator := _backend.generator_state()) is not None:
            saved["generator"] = generator
        saved |= _memory.pack(self._others, [self._digests[id(other)][1] for other in self._others])
        with atomic_write(self._carried(len(history))) as partial:
            np.savez(partial, *carried_states.read(self.model), **saved)
        self._trained, self._iterations, self._steps = self.model, optimizer_steps(self.model), self._steps_per_epoch()
        files = [*current, *(name for name in self._files if name not in current)]
        progress = {"history": history, "files": files, "iterations": self._iterations, "steps": self._steps}
        with atomic_write(self._progress) as partial:
            partial.write_text(json.dumps(progress, indent=1))
        self.history, self._files = history, files
        self._delete_outdated()

    def _delete_outdated(self) -> None:
        """Deletes the files of earlier epochs, and files that a kill left half written."""
        current = self._names(self.epoch)
        for name in self._files:
            if name not in current:
                (self.directory / name).unlink(missing_ok=True)
        self._files = [name for name in self._files if name in current]
        for file in self.directory.iterdir():
            if _PARTIAL.fullmatch(file.name):
                file.unlink()

    def _steps_per_epoch(self) -> int:
        return (self.params or {}).get("steps") or 0

    def _check_continues(self) -> None:
        """Raises ValueError if `fit` does not continue the run in the directory."""
        if len(self._read()["history"]) != self.epoch:
            raise ValueError(
                f"A run must continue from its last epoch. Received: {self.directory}, where an epoch was finished "
                "since this Resumable was made. Make another, and call its `load`."
            )
        if not self.history:
            return
        iterations = optimizer_steps(self.model)
        if self.model is not self._trained and iterations != self._iterations:
            raise ValueError(
                f"A run must continue with its model. Received: a model whose optimizer has taken {iterations} steps, "
                f"and {self.directory}, where it has taken {self._iterations}. Train the model of resumable.load(), or "
                "pass another directory."
            )
        steps = self._steps_per_epoch()
        if steps and self._steps and steps != self._steps and carried_states.stateful_layers(self.model):
            raise ValueError(
                f"A run of a stateful network must have the same number of steps in every epoch. Received: {steps}, "
                f"and {self.directory}, where epochs have {self._steps}. Use the same batch size, length and "
                "text as before, or pass another directory."
            )

    def _read(self) -> dict[str, Any]:
        if not os.path.lexists(self._progress):
            return {"history": [], "files": [], "iterations": 0, "steps": 0}
        rule, remedy = "A run must resume from its progress file", "Remove the directory, or pass another."
        parts = {"history": list, "files": list, "iterations": int, "steps": int}
        progress = read_json(self._progress, rule, parts, remedy)
        history, files = progress["history"], progress["files"]
        seconds = [entry.get("seconds") if isinstance(entry, dict) else None for entry in history]
        if not all(map(_is_duration, seconds)) or not all(isinstance(f, str) and _OF_EPOCH.fullmatch(f) for f in files):
            raise ValueError(f"{rule}. Received: {self._progress}, which is damaged. {remedy}")
        for entry in history:
            if not isinstance(entry.get(self.monitor), int | float):
                raise ValueError(
                    "`monitor` must be a number that the epochs of the run have logged. Received: "
                    f"monitor={self.monitor!r}, and {self.directory}, whose epochs have {sorted(entry)}. Pass one of "
                    "these, or another directory."
                )
        return progress

    def _rank(self, logs: dict[str, Any]) -> tuple[float, float]:
        monitored, loss = logs[self.monitor], logs.get("val_loss", 0.0)
        rank = monitored if self.mode == "min" else -monitored
        return (math.inf if math.isnan(rank) else rank), (math.inf if math.isnan(loss) else loss)

    def save_if_none(self) -> None:
        """Saves the current model as the best one if no epoch has finished, for example after an interruption."""
        if not self.best.exists():
            self._save(self.best)

    def _save(self, path: Path) -> None:
        with atomic_write(path) as partial:
            self.model.save(partial)

    def _checkpoint(self, epoch: int) -> Path:
        return self.directory / f"resume-{epoch:04d}.keras"

    def _carried(self, epoch: int) -> Path:
        return self.directory / f"resume-{epoch:04d}.npz"

    def _names(self, epoch: int) -> list[str]:
        return [self._checkpoint(epoch).name, self._carried(epoch).name]


_OF_LAST_EPOCH = (
    "A run must resume from the files of its last epoch",
    "Remove the directory or pass another; its model.keras is the best model so far.",
)
_OF_EPOCH = re.compile(r"resume-\d{4,}\.(keras|npz)")
_PARTIAL = re.compile(rf"partial-[0-9a-f]{{16}}-({_OF_EPOCH.pattern}|model\.keras|progress\.json)")
"""The names of this callback's files while `atomic_write` writes them."""


def _is_duration(value: object) -> bool:
    return isinstance(value, int | float) and 0 <= value < 1e15


ONE_TRAINING = "A directory must have at most one training."

_LOCKED: dict[Path, int] = {}
"""The descriptors that lock the directories in which this process trains; a kill releases the locks."""

_FITS: dict[Path, FrameType] = {}
"""The frame of the `fit` that trains in a directory."""

_CHANGES = threading.RLock()
"""Held while the two dictionaries change."""


def _forget_in_a_child() -> None:
    """Releases the locks in a forked process: its copies would outlive the locks of its parent."""
    global _CHANGES
    _CHANGES = threading.RLock()  # another thread of the parent may have held it
    for descriptor in _LOCKED.values():
        os.close(descriptor)
    _LOCKED.clear()
    _FITS.clear()


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_forget_in_a_child)


def _lock(directory: Path, fit: FrameType | None = None) -> None:
    """Locks a directory until `_unlock` or the end of `fit`; raises ValueError if another process has locked it."""
    directory = directory.resolve()
    if fcntl is None:
        return
    with _CHANGES:
        if directory not in _LOCKED:
            descriptor = os.open(directory, os.O_RDONLY)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                os.close(descriptor)
                if isinstance(error, BlockingIOError):
                    raise ValueError(
                        f"{ONE_TRAINING} Received: {directory}, where another process trains. Wait until it ends, or "
                        "pass another directory."
                    ) from None
                return  # a file system without locks
            _LOCKED[directory] = descriptor
        if fit is None or _FITS.get(directory) is fit:
            return
        _FITS[directory] = fit
    threading.Thread(target=_unlock_after, args=(directory, fit), daemon=True).start()


def _unlock_after(directory: Path, fit: FrameType) -> None:
    """Waits until `fit` has ended: an exception ends it without calling its callbacks, and its frame may live on."""
    while True:
        time.sleep(0.25)
        with _CHANGES:
            if _FITS.get(directory) is not fit:
                return
            if has_ended(fit):
                _unlock(directory)
                return


def _unlock(directory: Path) -> None:
    directory = directory.resolve()
    with _CHANGES:
        _FITS.pop(directory, None)
        descriptor = _LOCKED.pop(directory, None)
    if descriptor is not None:
        os.close(descriptor)


def _check_writable(directory: Path) -> None:
    """Raises ValueError if no file can be written, before an epoch is trained in vain."""
    try:
        with tempfile.TemporaryFile(dir=directory):
            pass
    except OSError as error:
        raise ValueError(
            f"A run must be able to write into its directory. Received: {directory} ({error.strerror}). Pass another, "
            "or change its permissions."
        ) from None


def _check_whole(path: Path, rule: str, remedy: str) -> None:
    """Raises ValueError with these sentences if a file of a model or of arrays, a zip, is missing or damaged."""
    try:
        with zipfile.ZipFile(path) as archive:
            if (broken := archive.testzip()) is None:
                return
            damage = f"in which {broken} is damaged"
    except FileNotFoundError:
        damage = "which is missing"
    except DAMAGED_ARCHIVE as error:
        damage = f"which is damaged ({error})"
    raise ValueError(f"{rule}. Received: {path}, {damage}. {remedy}")
