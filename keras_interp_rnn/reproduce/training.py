"""What the protocols share: training that goes on where it was killed, for as many steps or as many minutes."""

from __future__ import annotations

import functools
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import numpy as np
from numpy.typing import NDArray

from keras_interp_rnn import callbacks
from keras_interp_rnn._files import atomic_write
from keras_interp_rnn.reproduce import records

WARM, TIMED, MOST, LONG_ENOUGH = 4, 12, 60, 20.0
"""Where minutes are counted out as steps: steps before the clock, the fewest and the most on it, and how many seconds
of them are enough."""


def schedule(
    rate: float, steps: int, warm_up: int, decay: float = 0.01
) -> keras.optimizers.schedules.LearningRateSchedule:
    """Linear growth to `rate`, then a cosine to the share `decay` of it at the last step."""
    warm_up = min(warm_up, steps // 10)
    return keras.optimizers.schedules.CosineDecay(
        0.0 if warm_up else rate,
        steps - warm_up,
        alpha=decay,
        warmup_target=rate if warm_up else None,
        warmup_steps=warm_up,
    )


def steps_within(folder: Path, minutes: float, epochs: int, step: Callable[[int], None]) -> int:
    """Steps of an epoch so that all epochs take so many minutes, without validation.

    They are counted out once, after some dozen steps have been timed, and written into the folder: a run that goes on
    keeps its plan.

    Args:
        folder: of the run. step: does the i-th step, with a model of its own.
    """
    path = folder / "plan.json"
    if path.exists():
        rule = "The plan of a run is JSON with its steps"
        return int(records.read_json(path, rule, {"steps": int}, "Delete it, and they are counted again.")["steps"])
    seconds: list[float] = []
    for i in range(WARM + MOST):
        started = time.monotonic()
        step(i)
        seconds.append(time.monotonic() - started)
        if len(seconds) >= WARM + TIMED and sum(seconds[WARM:]) >= LONG_ENOUGH:
            break
    steps = max(1, round(60 * minutes / float(np.median(seconds[WARM:])) / epochs))
    records.write_json(path, {"steps": steps})
    return steps


def trial_steps(make: Callable[[], tuple[keras.Model, keras.utils.PyDataset]]) -> Callable[[int], None]:
    """Does the i-th training step of a model and its batches, which are made when the first is taken."""
    made = functools.cache(make)

    def step(i: int) -> None:
        model, batches = made()
        model.train_on_batch(*batches[i % len(batches)])

    return step


def fit(
    folder: Path,
    build: Callable[[], keras.Model],
    batches: Callable[[int, int], keras.utils.PyDataset],
    validation: Any,
    steps: int,
    epochs: int,
    verbose: int = 1,
    by_accuracy: bool = False,
) -> callbacks.Resumable:
    """Trains in a folder, or goes on with what is there; the best weights by validation are kept.

    Args:
        folder: checkpoints and TensorBoard's logs. build: a compiled model.
        batches: from how many batches are done and how many are left, those. validation: as `fit` takes it.
        steps: batches in an epoch. epochs: of the whole training. verbose: as in `fit`.
        by_accuracy: whether the best weights are those of the highest accuracy, or of the least loss.

    Returns:
        Where the best model lies, and the history; `training_seconds` of an epoch are without validation.
    """
    resumable = callbacks.Resumable(folder, "val_accuracy", mode="max") if by_accuracy else callbacks.Resumable(folder)
    model = resumable.load() or build()
    done, all_steps = resumable.epoch * steps, epochs * steps
    if done < all_steps:
        model.fit(
            batches(done, all_steps - done),
            epochs=epochs,
            initial_epoch=resumable.epoch,
            steps_per_epoch=steps,
            shuffle=False,
            validation_data=validation,
            callbacks=[
                callbacks.CarriedState(across_epochs=True),
                TrainingTime(),
                resumable,
                keras.callbacks.TensorBoard(folder / "tensorboard"),
            ],
            verbose=verbose,
        )
    return resumable


def save_progress(path: Path, model: keras.Model, kept: list[NDArray[Any]], progress: dict[str, Any]) -> None:
    """Writes all that a training needs to go on, whole or not at all.

    Args:
        model: compiled and built. kept: its best weights so far. progress: what JSON can hold.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    parts = {"weights": model.get_weights(), "optimizer": map(np.asarray, model.optimizer.variables), "kept": kept}
    arrays = {f"{part}_{i}": array for part, all_of_it in parts.items() for i, array in enumerate(all_of_it)}
    with atomic_write(path) as partial:
        np.savez(partial, progress=np.array(json.dumps(progress)), **arrays)


def load_progress(path: Path, model: keras.Model) -> tuple[list[NDArray[Any]], dict[str, Any]]:
    """Sets the model and its optimizer to what `save_progress` wrote; returns the best weights and the progress."""
    model.optimizer.build(model.trainable_variables)
    with np.load(path) as file:

        def part(name: str) -> list[NDArray[Any]]:
            return [file[f"{name}_{i}"] for i in range(sum(key.startswith(f"{name}_") for key in file.files))]

        model.set_weights(part("weights"))
        for variable, value in zip(model.optimizer.variables, part("optimizer"), strict=True):
            variable.assign(value)
        return part("kept"), dict(json.loads(str(file["progress"])))


class TrainingTime(keras.callbacks.Callback):
    """Adds `training_seconds` to the logs of an epoch: its own, without validation."""

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        self._started, self._without = time.monotonic(), 0.0

    def on_test_begin(self, logs: Any = None) -> None:
        self._paused = time.monotonic()

    def on_test_end(self, logs: Any = None) -> None:
        self._without += time.monotonic() - self._paused

    def on_epoch_end(self, epoch: int, logs: dict[str, float] | None = None) -> None:
        if logs is not None:
            logs["training_seconds"] = time.monotonic() - self._started - self._without


class Shuffled(keras.utils.PyDataset):
    """Batches of rows, each pass in an order of its own that follows from the seed and the pass alone.

    Args:
        x, y: rows. batch_size: of them in a batch; what is left over at the end of a pass is not used in it.
        seed: of the orders. start: batches read already. count: items.
        segment: ids read of a longer row, from a place that is drawn anew in each pass; 0 for whole rows.
    """

    def __init__(
        self,
        x: NDArray[Any],
        y: NDArray[Any],
        batch_size: int,
        seed: int,
        start: int = 0,
        count: int | None = None,
        segment: int = 0,
    ) -> None:
        super().__init__()
        self.x, self.y, self.batch_size, self.seed, self.start = x, y, batch_size, seed, start
        self.segment = segment
        self.batches = len(x) // batch_size
        self._count = self.batches if count is None else count
        if self.batches < 1:
            raise ValueError(f"A batch takes {batch_size} rows. Received: {len(x)}. Give more data or a smaller batch.")

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, index: int) -> tuple[NDArray[Any], NDArray[Any]]:
        passed, at = divmod(index + self.start, self.batches)
        order = np.random.default_rng([self.seed, passed]).permutation(len(self.x))
        rows = order[at * self.batch_size : (at + 1) * self.batch_size]
        x = self.x[rows]
        if self.segment:
            spare = np.maximum(np.count_nonzero(x, axis=1) - self.segment, 0)
            first = np.random.default_rng([self.seed, passed, at]).integers(spare + 1)
            x = np.take_along_axis(x, first[:, None] + np.arange(min(self.segment, x.shape[1])), axis=1)
        return x, self.y[rows]


def training_seconds(history: list[dict[str, float]]) -> float:
    """Of all epochs, without validation."""
    return sum(entry["training_seconds"] for entry in history)
