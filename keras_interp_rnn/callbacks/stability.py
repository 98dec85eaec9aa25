"""Logs whether an ISAN's products of matrices stay bounded while it trains."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from typing import Any

import keras
import numpy as np
from numpy.typing import ArrayLike, NDArray

from keras_interp_rnn._arrays import as_symbols
from keras_interp_rnn._backend.keras_quirks import optimizer_steps
from keras_interp_rnn._network import AffineReading, read_text, resolve_alphabet
from keras_interp_rnn._results import symbol_name, text_of
from keras_interp_rnn.callbacks import _summaries
from keras_interp_rnn.callbacks._probes import Probe, copied_text, length_of

SPIKE = 1.5
"""Warns of a batch whose loss exceeds this many times the loss of a uniform guess."""

FAR = 100.0
"""Warns of a state whose norm exceeds this many times the median over the text."""


class Stability(Probe):
    r"""Logs how close the states of an ISAN are to exploding, and warns once when a loss or a state does.

    Each symbol x in a run multiplies the state by $W_x$, so the state grows without bound if the spectral radius
    $\rho(W_x)$ exceeds 1. Validation data seldom show this. The callback logs

    - `interp_rnn/spectral_radius`, the largest $\rho(W_x)$ of any symbol;
    - `interp_rnn/state_norm`, the largest $\|h_t\|$ while the ISAN reads `text` from its initial state.

    It warns of the first batch whose loss exceeds 1.5 times that of a uniform guess, and of the first state of
    `text` whose norm exceeds 100 times the median norm.

    Args:
        log_dir: the folder of the logs; this callback writes to `stability` in it, a run of its own.
        text: int (T,), T > 0, as the ISAN reads it, or a string, if there is an alphabet: some thousands of symbols,
            with runs as in the data.
        alphabet: symbols by id, for the warnings; by default the alphabet that the model carries, otherwise ids.
        update_freq: "epoch", or a number of training steps. Logged before the first step too. Losses are checked at
            every step.

    Raises:
        ValueError: if the text is empty or the frequency is not positive; when training begins, if the model has no
            ISAN that can be read, or the text has symbols that the ISAN does not know.

    Cost: the eigenvalues of K matrices and T products h W at every logged step.
    Units: those of the loss, bits or nats.

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
                f"`text` must be one text (T,), T > 0. Received: shape {length_of(self.text)}. Pass a few thousand "
                "symbols of the data."
            )

    def on_train_begin(self, logs: object = None) -> None:
        self._uniform, self._warned_of_loss, self._warned_of_state = self._uniform_loss(), False, False
        super().on_train_begin(logs)

    def on_epoch_begin(self, epoch: int, logs: object = None) -> None:
        self._total, self._batches = 0.0, 0

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        mean = (logs or {}).get("loss")  # of the batches of this epoch so far
        if mean is not None:
            batches = max(batch, self._batches) + 1
            total = float(mean) * batches
            self._check_loss((total - self._total) / (batches - self._batches))
            self._total, self._batches = total, batches
        super().on_train_batch_end(batch, logs)

    def measure(self) -> dict[str, float]:
        reading = AffineReading(self.network, self.alphabet)
        weights, names = reading.weights(), reading.names
        text = as_symbols(read_text("A text", self.text, names), len(weights.kernel))
        norms, state = np.empty(len(text)), weights.initial_state
        with np.errstate(over="ignore", invalid="ignore"):  # a state that overflows is warned of below
            for t, x in enumerate(text):
                state = state @ weights.kernel[x] + weights.bias[x]
                norms[t] = np.linalg.norm(state)
        worst = int(np.nan_to_num(norms, nan=np.inf).argmax())
        if not norms[worst] <= FAR * np.median(norms) and not self._warned_of_state:
            self._warned_of_state = True
            read = text_of(names, text[max(0, worst - 19) : worst + 1])
            warnings.warn(
                f"The state of {self.model.name} has a norm of {norms[worst]:.3g} after reading {read!r}, where "
                f"{np.median(norms):.3g} is usual. {self._advice(weights.kernel)}",
                stacklevel=2,
            )
        return {"spectral_radius": _largest_radius(weights.kernel)[0], "state_norm": float(norms[worst])}

    def write(self, found: dict[str, float], step: int) -> None:
        _summaries.scalars(found, step)

    def _check_loss(self, loss: float) -> None:
        if self._warned_of_loss or self._uniform is None or loss <= SPIKE * self._uniform:
            return
        self._warned_of_loss = True
        try:
            advice = self._advice(AffineReading(self.model).weights().kernel)
        except ValueError as error:
            advice = str(error)
        warnings.warn(
            f"A batch cost {loss:.3g} at step {optimizer_steps(self.model)}, where a uniform guess costs "
            f"{self._uniform:.3g}. {advice}",
            stacklevel=2,
        )

    def _uniform_loss(self) -> float | None:
        """The loss of a uniform guess, in the units of the loss; None if the loss does not compare logits with ids."""
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

    def _advice(self, kernel: NDArray[np.float64]) -> str:
        radius, symbol = _largest_radius(kernel)
        _, names = resolve_alphabet(self.model, self.alphabet)
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
