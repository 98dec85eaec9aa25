"""Schedules for the temperature, strength and noise of a state-regularized network while it trains."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import keras

from keras_interp_rnn._backend import keras_quirks
from keras_interp_rnn._checks import choice, invalid
from keras_interp_rnn.callbacks._base import NamedCallback

Schedule = Callable[[int], float]


class TemperatureSchedule(NamedCallback):
    r"""Sets temperature, strength and noise of state-regularized cells during training.

    The values are weights of the cells: a saved model keeps the last values, and a compiled training step reads the
    current ones.

    Args:
        temperature: a function from the epoch, or the training step, to the temperature $\tau$ > 0, such as a
            `keras.optimizers.schedules.LearningRateSchedule`. None leaves the temperature unchanged.
        strength: the same for $\lambda$ in [0, 1].
        noise: the same for the scale >= 0 of the Gumbel noise.
        layer: name of the layer whose cells are set; None for all cells of the model.
        update_freq: "epoch" or "batch", which also determines the argument of the schedules: the epoch, counted by
            `fit` from its `initial_epoch`, or the optimizer's step, which continues in a saved model.

    The current values are in the logs of every epoch as `temperature`, `strength`, `noise`.

    Raises:
        ValueError: if there is no schedule; when training begins, if the model has no such cells; during training, if a
            schedule returns a value outside its range.

    Example:

        model.fit(x, y, epochs=20, callbacks=[TemperatureSchedule(lambda epoch: max(0.1, 0.8**epoch))])
    """

    def __init__(
        self,
        temperature: Schedule | None = None,
        strength: Schedule | None = None,
        *,
        noise: Schedule | None = None,
        layer: str | None = None,
        update_freq: str = "epoch",
    ) -> None:
        super().__init__()
        schedules = {"temperature": temperature, "strength": strength, "noise": noise}
        self.schedules = {name: function for name, function in schedules.items() if function is not None}
        for name, function in self.schedules.items():
            if not callable(function):
                rule = "a function of the epoch or step"
                raise invalid(name, rule, function, "Build the layer with a value that is constant.")
        if not self.schedules:
            raise ValueError(
                "TemperatureSchedule must have at least one schedule. Received: none. Pass a function of the epoch."
            )
        self.layer = layer
        self.update_freq = choice("update_freq", update_freq, ("epoch", "batch"))

    def on_train_begin(self, logs: object = None) -> None:
        if not self._cells():
            place = "the model" if self.layer is None else f"the layer {self.layer!r}"
            raise ValueError(
                f"TemperatureSchedule must have state-regularized cells to set. Received: none in {place}. Use a layer "
                "such as layers.SRLSTM."
            )

    def on_epoch_begin(self, epoch: int, logs: object = None) -> None:
        if self.update_freq == "epoch":
            self._set(epoch)

    def on_train_batch_begin(self, batch: int, logs: object = None) -> None:
        if self.update_freq == "batch":
            self._set(keras_quirks.optimizer_steps(self.model))

    def on_epoch_end(self, epoch: int, logs: dict[str, float] | None = None) -> None:
        if logs is not None:
            logs.update(self._values)

    def _set(self, at: int) -> None:
        self._values = {name: _finite(name, schedule(at), at) for name, schedule in self.schedules.items()}
        for cell in self._cells():
            for name, value in self._values.items():
                getattr(cell, f"set_{name}")(value)

    def _cells(self) -> list[keras.layers.Layer]:
        model = self.model if self.layer is None else self.model.get_layer(self.layer)
        return [part for part in keras_quirks.walk_layers(model) if hasattr(part, "set_temperature")]


def _finite(name: str, value: Any, at: int) -> float:
    """The value of a schedule, which may be a tensor, as a float."""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise invalid(name, "a finite number", value, f"Change its schedule at {at}.")
    return number
