"""Training that survives a kill: after every epoch, everything needed to resume is on disk."""

from __future__ import annotations

import json
import math
import os
import re
import time
import zipfile
import zlib
from pathlib import Path
from typing import Any, Literal

import keras
import numpy as np

from keras_interp_rnn import _backend
from keras_interp_rnn._backend.keras_quirks import random_states
from keras_interp_rnn._files import as_path, atomic_write
from keras_interp_rnn.analysis.network import carried_states

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


class Resumable(keras.callbacks.Callback):
    """Saves model, optimizer, carried states, random seeds and history after every epoch, and the best model.

    A kill, or a power cut, loses the epoch it falls in and nothing else: files of an epoch have names of their own, the
    progress file that points to them is replaced in one step once they are on the disk, and only then the epoch before
    is deleted. While one process trains in a directory, another cannot (where the file system has locks).

    Args:
        directory: of this run. `model.keras` in it is the best model so far, and always loads.
        monitor: the entry of the logs that tells which model is best; ties go to the lowest `val_loss`.
        mode: "min" if the best is smallest there, or "max".

    Attributes:
        epoch: epochs finished, for `fit(initial_epoch=...)`.
        history: logs of every finished epoch, with `seconds` since the start of the training, stops left out.

    Raises:
        ValueError: if there is no such mode, if the run in the directory was ranked without this monitor, or its
            progress file is damaged; when training begins, if another process trains there; at the first epoch's end,
            if `monitor` is not among the logs.

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
        if mode not in ("min", "max"):
            raise ValueError(f"mode must be 'min' or 'max'. Received: {mode!r}.")
        self.directory = as_path(directory, "directory")
        self.monitor, self.mode = monitor, mode
        if self.directory.exists() and not self.directory.is_dir():
            raise ValueError(f"A run has a directory. Received: {self.directory}, which is a file. Give another path.")
        self.directory.mkdir(parents=True, exist_ok=True)
        self.history: list[dict[str, Any]] = []
        if self._progress.exists():
            self.history = self._read()
        self._started = time.monotonic()
        self._generator: np.ndarray | None = None

    @property
    def epoch(self) -> int:
        return len(self.history)

    @property
    def best(self) -> Path:
        """Where the best model so far lies."""
        return self.directory / "model.keras"

    @property
    def _progress(self) -> Path:
        return self.directory / "progress.json"

    def load(self) -> keras.Model | None:
        """The model as it was after the last finished epoch, with optimizer and carried states; None at the start.

        Raises:
            ValueError: if a file of that epoch is missing or damaged.
        """
        if not self.history:
            return None
        rule, remedy = "A run resumes from the files of its last epoch", "its model.keras is the best model so far"
        for path in (self._checkpoint(self.epoch), self._carried(self.epoch)):
            _check_whole(path, rule, f"Remove the directory or give another; {remedy}.")
        model = keras.models.load_model(self._checkpoint(self.epoch))
        with np.load(self._carried(self.epoch)) as states:
            carried_states.write(model, [states[name] for name in states.files if name.startswith("arr_")])
            seeds = [states[name] for name in states.files if name.startswith("seed_")]
            self._generator = states["generator"] if "generator" in states.files else None
        for variable, value in zip(random_states(model), seeds, strict=False):
            variable.assign(value)
        return model

    def load_best(self) -> keras.Model:
        """The best model so far.

        Raises:
            ValueError: if its file is missing or damaged.
        """
        rule = "The best model of a run is a .keras file in its directory"
        _check_whole(self.best, rule, "Remove the directory, and train again.")
        return keras.models.load_model(self.best)

    def on_train_begin(self, logs: Any = None) -> None:
        _lock(self.directory)
        before = self.history[-1]["seconds"] if self.history else 0.0
        self._started = time.monotonic() - before
        if self._generator is not None:  # now, as `fit` draws from it before it begins
            _backend.set_generator_state(self._generator)
            self._generator = None

    def on_train_end(self, logs: Any = None) -> None:
        _unlock(self.directory)

    def on_epoch_end(self, epoch: int, logs: dict[str, float] | None = None) -> None:
        logs = logs or {}
        if self.monitor not in logs:
            raise ValueError(
                f"Resumable ranks models by monitor={self.monitor!r}, which is not among the logs. Received: "
                f"{sorted(logs)}. Give fit validation_data, or Resumable another monitor."
            )
        # What a metric has for each class is a list.
        entry: dict[str, Any] = {name: np.asarray(value, np.float64).tolist() for name, value in logs.items()}
        if not isinstance(entry[self.monitor], float):
            raise ValueError(
                f"Resumable ranks models by a number. Received: monitor={self.monitor!r}, which is "
                f"{entry[self.monitor]!r}. Give the metric an average, or another monitor."
            )
        entry["seconds"] = time.monotonic() - self._started
        if not self.best.exists() or self._rank(entry) < min(map(self._rank, self.history), default=(math.inf, 0.0)):
            self._save(self.best)
        history = [*self.history, entry]
        self._save(self._checkpoint(len(history)))
        seeds = enumerate(random_states(self.model))
        drawn: dict[str, Any] = {f"seed_{i}": keras.ops.convert_to_numpy(seed) for i, seed in seeds}
        if (generator := _backend.generator_state()) is not None:
            drawn["generator"] = generator
        with atomic_write(self._carried(len(history))) as partial:
            np.savez(partial, *carried_states.read(self.model), **drawn)
        with atomic_write(self._progress) as partial:
            partial.write_text(json.dumps({"history": history}, indent=1))
        self.history = history
        current = (self._checkpoint(self.epoch), self._carried(self.epoch))
        for file in self.directory.iterdir():
            if _OUTLIVED.fullmatch(file.name) and file not in current:
                file.unlink()

    def _read(self) -> list[dict[str, Any]]:
        try:
            history = list(json.loads(self._progress.read_text())["history"])
            for entry in history:
                float(entry["seconds"])
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(
                f"A run resumes from its progress file. Received: {self._progress}, damaged ({error!r}). Remove the "
                "directory, or give another."
            ) from None
        if history and self.monitor not in history[-1]:
            raise ValueError(
                f"A run resumes with a monitor that its epochs logged. Received: monitor={self.monitor!r}, and "
                f"{self.directory}, whose epochs have {sorted(history[-1])}. Give one of these, or another directory."
            )
        return history

    def _rank(self, logs: dict[str, Any]) -> tuple[float, float]:
        monitored, loss = logs[self.monitor], logs.get("val_loss", 0.0)
        rank = monitored if self.mode == "min" else -monitored
        return (math.inf if math.isnan(rank) else rank), (math.inf if math.isnan(loss) else loss)

    def save_if_none(self) -> None:
        """After an interruption: leaves the model as it is now, if no epoch was finished yet."""
        if not self.best.exists():
            self._save(self.best)

    def _save(self, path: Path) -> None:
        with atomic_write(path) as partial:
            self.model.save(partial)

    def _checkpoint(self, epoch: int) -> Path:
        return self.directory / f"epoch-{epoch:04d}.keras"

    def _carried(self, epoch: int) -> Path:
        return self.directory / f"epoch-{epoch:04d}.npz"


_OF_EPOCH = r"epoch-(\d{4}|[1-9]\d{4,})\.(keras|npz)"
_OUTLIVED = re.compile(rf"partial-\d+-({_OF_EPOCH}|model\.keras|progress\.json)|{_OF_EPOCH}")
"""Files of this callback that the next epoch does without; others in the directory are the user's."""

_LOCKED: dict[Path, int] = {}
"""Directories in which this process trains, and the descriptors that hold their locks; a kill releases them."""


def _lock(directory: Path) -> None:
    """Raises ValueError if another process has locked the directory."""
    directory = directory.resolve()
    if fcntl is None or directory in _LOCKED:
        return
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(descriptor)
        if isinstance(error, BlockingIOError):
            raise ValueError(
                f"One process trains in a directory. Received: {directory}, where another is training. Wait until it "
                "ends, or give another directory."
            ) from None
        return  # a file system without locks
    _LOCKED[directory] = descriptor


def _unlock(directory: Path) -> None:
    descriptor = _LOCKED.pop(directory.resolve(), None)
    if descriptor is not None:
        os.close(descriptor)


def _check_whole(path: Path, rule: str, remedy: str) -> None:
    """Raises ValueError for a missing or damaged zip, as models and arrays are; with these sentences."""
    try:
        with zipfile.ZipFile(path) as archive:
            broken = archive.testzip()
            if broken is None:
                return
            trouble = f"{broken} in it is damaged"
    except (OSError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        trouble = "missing" if isinstance(error, FileNotFoundError) else f"damaged ({error})"
    raise ValueError(f"{rule}. Received: {path}, {trouble}. {remedy}")
