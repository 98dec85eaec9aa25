"""Whether an ISAN's products of matrices stay in bounds while it trains."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import keras
import numpy as np
from numpy.typing import ArrayLike, NDArray

from keras_interp_rnn._backend.keras_quirks import optimizer_steps
from keras_interp_rnn._network import AffineReading, as_symbols, read_text, resolve_names
from keras_interp_rnn._results import symbol_name, text_of
from keras_interp_rnn.callbacks import _summaries
from keras_interp_rnn.callbacks._probes import Probe, copied_text, length_of

SPIKE = 1.5
"""Warns of a batch whose loss is this many times that of a uniform guess."""

FAR = 100.0
"""Warns of a state whose norm is this many times the median over the text."""


class Bounds(NamedTuple):
    """What is written at a step."""

    radius: float
    symbol: int
    state_norm: float


class Stability(Probe):
    r"""Logs how far an ISAN is from blowing up, and warns, once, when a loss or a state does.

    Reading the symbol x over and over multiplies the state by $W_x$ each time, so it grows without bound where the
    spectral radius $\rho(W_x)$ exceeds 1. Validation data seldom show it.

    - `interp_rnn/spectral_radius`, the largest $\rho(W_x)$ of any symbol;
    - `interp_rnn/state_norm`, the largest $\|h_t\|$ while the ISAN reads `text` from its initial state.

    It warns of the first batch whose loss exceeds 1.5 times that of a uniform guess, and of the first state of
    `text` whose norm exceeds 100 times their median.

    Args:
        log_dir: its events go to the folder `stability` in it, a run of its own.
        text: int (T,), T > 0, as the ISAN reads it, or a string, where there is an alphabet: some thousands of symbols,
            with the runs that the data hold.
        alphabet: symbols by id, for the warnings; by default the one that the model carries, or else ids.
        update_freq: "epoch", or a number of training steps. Logged before the first step too. Losses are watched at
            every step.

    Raises:
        ValueError: if the text is empty or a frequency is no positive number; when training begins, if the model has no
            ISAN that can be read, or the text symbols that it does not know.

    Cost: the eigenvalues of K matrices and T products h W at every logged step.
    Units: the loss is compared in its own, bits or nats.

    Example:

        model.fit(windows, callbacks=[Stability("logs", text[:5_000], alphabet=alphabet)])
    """

    folder = "stability"

    def __init__(
        self,
        log_dir: str | os.PathLike[str],
        text: ArrayLike | str,
        *,
        alphabet: Sequence[str] | None = None,
        update_freq: str | int = "epoch",
    ) -> None:
        super().__init__(log_dir, update_freq)
        self.text, self.alphabet = copied_text(text), alphabet
        if len(length_of(self.text)) != 1 or not len(self.text):
            raise ValueError(
                f"Stability reads one text (T,), T > 0. Received: shape {length_of(self.text)}. Give it a few thousand "
                "symbols of the data."
            )

    def on_train_begin(self, logs: Any = None) -> None:
        self._uniform, self._losses_seen, self._states_seen = self._uniform_loss(), False, False
        super().on_train_begin(logs)

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        self._total, self._batches = 0.0, 0

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        mean = (logs or {}).get("loss")  # of the batches of this epoch so far
        if mean is not None:
            since = max(batch + 1 - self._batches, 1)
            loss = (float(mean) * (self._batches + since) - self._total) / since
            self._total, self._batches = float(mean) * (self._batches + since), self._batches + since
            self._watch(loss)
        super().on_train_batch_end(batch, logs)

    def measure(self) -> Bounds:
        reading = AffineReading(self.model, self.alphabet)
        weights, names = reading.weights(), reading.names
        text = as_symbols(read_text("A text", self.text, names), len(weights.kernel))
        radius, symbol = _largest_radius(weights.kernel)
        norms, state = np.empty(len(text)), weights.initial_state
        with np.errstate(over="ignore", invalid="ignore"):  # a state that overflows is what this is about
            for t, x in enumerate(text):
                state = state @ weights.kernel[x] + weights.bias[x]
                norms[t] = np.linalg.norm(state)
        worst = int(np.nan_to_num(norms, nan=np.inf).argmax())
        if not norms[worst] <= FAR * np.median(norms) and not self._states_seen:
            self._states_seen = True
            read = text_of(names, text[max(0, worst - 19) : worst + 1])
            warnings.warn(
                f"The state of {self.model.name} has a norm of {norms[worst]:.3g} after reading {read!r}, where "
                f"{np.median(norms):.3g} is usual. {self._advice(radius, symbol)}",
                stacklevel=2,
            )
        return Bounds(radius, symbol, float(norms[worst]))

    def write(self, found: Bounds, step: int) -> None:
        _summaries.scalar("interp_rnn/spectral_radius", found.radius, step)
        _summaries.scalar("interp_rnn/state_norm", found.state_norm, step)

    def _watch(self, loss: float) -> None:
        if self._losses_seen or self._uniform is None or loss <= SPIKE * self._uniform:
            return
        self._losses_seen = True
        try:
            advice = self._advice(*_largest_radius(AffineReading(self.model).weights().kernel))
        except ValueError as error:
            advice = str(error)
        warnings.warn(
            f"A batch cost {loss:.3g} at step {optimizer_steps(self.model)}, where a uniform guess costs "
            f"{self._uniform:.3g}. {advice}",
            stacklevel=2,
        )

    def _uniform_loss(self) -> float | None:
        """What a uniform guess costs, in the loss's own units; None of a loss that does not compare logits with ids."""
        outputs = self.model.output_shape
        if not isinstance(outputs, tuple) or not isinstance(self.model.loss, (str, keras.Loss)):
            return None
        guess = np.full((1, 1, outputs[-1]), 1 / outputs[-1], np.float32)  # equal logits, or equal probabilities
        try:
            losses = keras.losses.get(self.model.loss)(np.zeros((1, 1), np.int32), guess)
            uniform = float(keras.ops.convert_to_numpy(losses).mean())
        except ValueError:
            return None
        return uniform if np.isclose(uniform, np.log(outputs[-1]) / np.array([1, np.log(2)]), rtol=1e-3).any() else None

    def _advice(self, radius: float, symbol: int) -> str:
        _, names = resolve_names(self.model, self.alphabet)
        return (
            f"The largest spectral radius is {radius:.3g}, of {symbol_name(names, symbol)!r}; above 1, a run "
            "of the symbol makes the state grow without bound. Keep the ISAN's recurrent_constraint, or lower the "
            "learning rate."
        )


def _largest_radius(kernel: NDArray[np.float64]) -> tuple[float, int]:
    """The largest spectral radius of any symbol's matrix, and the symbol."""
    radii = np.abs(np.linalg.eigvals(kernel)).max(axis=1)
    symbol = int(radii.argmax())
    return float(radii[symbol]), symbol
