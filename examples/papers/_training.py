"""Training that resumes after a kill, for a number of steps or of minutes."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import keras
import numpy as np
from numpy.typing import NDArray

from examples.papers._experiment import Run, Trainable
from examples.papers._files import cached
from keras_interp_rnn import callbacks

NUM_WARM, MIN_TIMED, MAX_TIMED, MIN_SECONDS = 4, 12, 60, 20.0
"""How minutes are converted into steps: untimed steps, the smallest and the largest number of timed steps, and the
seconds after which no more are timed."""


def schedule(rate: float, steps: int, warm_up: int, decay: float = 0.01) -> Any:
    """A learning rate that grows linearly to `rate`, then falls along a cosine to the fraction `decay` of it."""
    warm_up = min(warm_up, steps // 10)
    return keras.optimizers.schedules.CosineDecay(
        0.0 if warm_up else rate,
        steps - warm_up,
        alpha=decay,
        warmup_target=rate if warm_up else None,
        warmup_steps=warm_up,
    )


def steps_for_minutes(
    folder: Path, minutes: float, epochs: int, make: Callable[[], tuple[keras.Model, keras.utils.PyDataset]]
) -> int:
    """The number of steps in an epoch for which all epochs take `minutes`, without validation.

    Steps are timed once, and the number is written into the folder of the run, so that a resumed run keeps its plan.
    `make` gives a model to time, and its batches.
    """

    def timed() -> dict[str, int]:
        model, batches = make()
        seconds: list[float] = []
        while len(seconds) < NUM_WARM + MAX_TIMED:
            started = time.monotonic()
            model.train_on_batch(*batches[len(seconds) % len(batches)])
            seconds.append(time.monotonic() - started)
            if len(seconds) >= NUM_WARM + MIN_TIMED and sum(seconds[NUM_WARM:]) >= MIN_SECONDS:
                break
        return {"steps": max(1, round(60 * minutes / float(np.median(seconds[NUM_WARM:])) / epochs))}

    return int(cached(folder / "plan.json", timed, steps=int)["steps"])


def fit(
    folder: Path,
    build: Callable[[], keras.Model],
    batches: Callable[[int, int], keras.utils.PyDataset],
    validation: Any,
    steps: int,
    epochs: int,
    verbose: int = 1,
    monitor: str = "val_loss",
    more: Sequence[keras.callbacks.Callback] = (),
) -> callbacks.Resumable:
    """Trains in a folder, or resumes the training that is there; keeps the best weights by validation.

    Args:
        folder: checkpoints and TensorBoard's logs. build: a compiled model.
        batches: (number of batches done, number left) -> those left. validation: as `fit` takes it.
        steps: batches in an epoch. epochs: of the whole training. verbose: as in `fit`.
        monitor: what ranks the weights: the highest if it is an accuracy, else the lowest. more: callbacks.

    Returns:
        Where the best model lies, and the history; `training_seconds` of an epoch are without validation.
    """
    resumable = callbacks.Resumable(folder, monitor, mode="max" if monitor.endswith("accuracy") else "min")
    model = resumable.load() or build()
    done, all_steps = resumable.epoch * steps, epochs * steps
    if done < all_steps:
        tensorboard = keras.callbacks.TensorBoard(folder / "tensorboard")
        model.fit(
            batches(done, all_steps - done),
            epochs=epochs,
            initial_epoch=resumable.epoch,
            steps_per_epoch=steps,
            shuffle=False,
            validation_data=validation,
            callbacks=[callbacks.CarriedState(across_epochs=True), TrainingTime(), *more, resumable, tensorboard],
            verbose=verbose,
        )
    return resumable


def train(
    network: Trainable,
    run: Run,
    monitor: str = "val_loss",
    more: Callable[[Any], Sequence[keras.callbacks.Callback]] = lambda protocol: (),
) -> tuple[Any, callbacks.Resumable]:
    """Trains a network in the folder of a run, or resumes its training.

    Args:
        network: its protocol's steps are replaced where the run has minutes of training, without validation.
        monitor: as in `fit`. more: protocol -> callbacks.

    Returns:
        The protocol, and as `fit`.
    """
    protocol = network.base
    if run.minutes is not None:

        def timed() -> tuple[keras.Model, keras.utils.PyDataset]:
            return network.build(protocol), network.batches(protocol, 0, None)

        steps = steps_for_minutes(run.folder, run.minutes, protocol.epochs, timed)
        protocol = dataclasses.replace(protocol, steps=steps)
    print(f"{run.row}: {protocol.epochs} epochs of {protocol.steps} steps.", flush=True)
    return protocol, fit(
        run.folder,
        lambda: network.build(protocol),
        lambda done, left: network.batches(protocol, done, left),
        network.validation(protocol),
        protocol.steps,
        protocol.epochs,
        run.verbose,
        monitor,
        more(protocol),
    )


def fit_next_epoch(
    model: keras.Model,
    x: NDArray[Any],
    y: NDArray[Any],
    batch_size: int,
    resumable: callbacks.Resumable,
    more: Sequence[keras.callbacks.Callback] = (),
) -> None:
    """One epoch over rows of its own in the order given; then `resumable`, which loaded the model, keeps it.

    The callbacks `more` come before it, so that it keeps what they add to the logs.
    """
    model.fit(
        x,
        y,
        batch_size,
        epochs=resumable.epoch + 1,
        initial_epoch=resumable.epoch,
        shuffle=False,
        verbose=0,
        callbacks=[*more, resumable],
    )


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
    """Batches of rows; the order of each pass depends on the seed and the number of the pass alone.

    Args:
        x, y: rows. batch_size: rows in a batch; a remainder at the end of a pass is skipped.
        seed: of the orders. start: number of batches already read. count: number of batches.
        segment: number of ids read of a longer row, from a place drawn again in each pass; 0 for whole rows.
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
    """The seconds of all epochs, without validation."""
    return sum(entry["training_seconds"] for entry in history)
