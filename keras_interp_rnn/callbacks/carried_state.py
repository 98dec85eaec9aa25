"""Resets the states that `stateful=True` layers carry from batch to batch."""

from __future__ import annotations

import contextlib

from keras_interp_rnn._network import carried_states
from keras_interp_rnn.callbacks._base import NamedCallback


class CarriedState(NamedCallback):
    """Resets the carried states before each epoch and each validation; training continues from its own states.

    Without this callback a `stateful=True` layer starts an epoch from the state at the end of the text, so its states
    may grow through all epochs to values that no new text reaches. The layer would also start the validation text from
    the state after the training text, and continue training from the state after the validation text.

    Args:
        across_epochs: bool. True carries the states from one epoch to the next, for data in which each epoch continues
            the text of the previous one, such as `Windows(text, ..., num_windows=epochs * steps)` with
            `steps_per_epoch=steps`.

    Example:

        model.fit(windows, validation_data=held_out, shuffle=False, callbacks=[CarriedState()])
    """

    def __init__(self, across_epochs: bool = False) -> None:
        super().__init__()
        self.across_epochs = across_epochs

    def on_epoch_begin(self, epoch: int, logs: object = None) -> None:
        if not self.across_epochs:
            for layer in carried_states.stateful_layers(self.model):
                layer.reset_state()

    def on_test_begin(self, logs: object = None) -> None:
        self._validation = contextlib.ExitStack()
        self._validation.enter_context(carried_states.from_the_start(self.model))

    def on_test_end(self, logs: object = None) -> None:
        self._validation.close()
