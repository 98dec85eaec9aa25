"""The singular values of input-output Jacobians through training, as the MinimalRNN paper's figure 5 shows them."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from keras_interp_rnn import analysis
from keras_interp_rnn.analysis._steps import layer_in
from keras_interp_rnn.callbacks import carried_state
from keras_interp_rnn.callbacks._summaries import write_distribution

SMALLEST = 1e-30
"""Below it log10 is cut off: a singular value that vanished."""


class JacobianHistograms(keras.callbacks.Callback):
    r"""Logs the singular values of $\partial h_T / \partial x_{T-k}$ on a fixed batch during `fit`.

    TensorBoard's Distributions tab then shows the nine percentile lines of Chen, 2017, figure 5: maximum, 93, 84, 69,
    50, 31, 16, 7 %, minimum, over all sequences of the batch. For every lag k it gets

    - `interp_rnn/jacobian/lag_k` and `interp_rnn/jacobian_log10/lag_k`, distributions;
    - `interp_rnn/spectral_norm/lag_k`, the largest singular value, median over the sequences;
    - `interp_rnn/condition_log10/lag_k`, log10 of largest over smallest, median over the sequences;
    - `interp_rnn/near_one/lag_k`, the share of singular values in [0.5, 2].

    Steps are the optimizer's, so they go on where they were when a saved model is trained further.

    Args:
        log_dir: its events go to the folder `jacobians` in it, a run of its own beside those of
            `keras.callbacks.TensorBoard(log_dir)`.
        inputs: the batch, as the model reads it. 32 sequences are plenty; all are read to their last unmasked step.
        lags: ints >= 0.
        layer: name of the recurrent layer, where the model has several. Or the layer itself, for a subclassed model;
            `inputs` are then what the layer reads.
        update_freq: "epoch", or a number of training steps. The values before the first step are logged too.

    Raises:
        ValueError: if the batch is empty or a frequency is no positive number; when training begins, if there is no
            such layer, if a sequence is shorter than the longest lag, or as `analysis.jacobian_singular_values`.

    Weights that are not finite any more are warned of once, and nothing is written; training goes on.

    Example:

    >>> model.fit(x, y, callbacks=[JacobianHistograms("logs", x[:32], lags=(0, 10, 25))])
    """

    def __init__(
        self,
        log_dir: str | os.PathLike[str],
        inputs: Any,
        lags: Sequence[int] = (0, 5, 10, 25),
        layer: str | keras.layers.Layer | None = None,
        update_freq: str | int = "epoch",
    ) -> None:
        super().__init__()
        self.log_dir = Path(log_dir)
        self.inputs = keras.tree.map_structure(np.asarray, inputs)
        self.lags = tuple(lags)
        self.layer = layer
        self.update_freq = update_freq
        if any(len(part) == 0 for part in keras.tree.flatten(self.inputs)):
            raise ValueError("JacobianHistograms reads a fixed batch. Received: no sequence. Give it a few.")
        if update_freq != "epoch" and not (isinstance(update_freq, int) and update_freq > 0):
            raise ValueError(f"update_freq must be 'epoch' or a number of steps > 0. Received: {update_freq!r}.")
        self._writer: tf.summary.SummaryWriter | None = None

    def on_train_begin(self, logs: Any = None) -> None:
        values = self._singular_values()
        self._writer = tf.summary.create_file_writer(str(self.log_dir / "jacobians"))
        self._warned = False
        self._logged = self._step()
        self._write(values, self._writer)

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        every = self.update_freq
        if isinstance(every, int) and self._step() // every > self._logged // every:
            self._log()

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        if self.update_freq == "epoch":
            self._log()

    def on_train_end(self, logs: Any = None) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def _step(self) -> int:
        return int(self.model.optimizer.iterations)

    def _singular_values(self) -> np.ndarray:
        if isinstance(self.layer, keras.layers.Layer):
            return analysis.jacobian_singular_values(self.layer, self.inputs, self.lags)
        with carried_state.kept(self.model):
            layer, reads, mask = layer_in(self.model, self.inputs, self.layer)
        return analysis.jacobian_singular_values(layer, reads, self.lags, mask=mask)

    def _log(self) -> None:
        self._logged = self._step()
        try:
            values = self._singular_values()
        except ValueError as error:
            if not self._warned:
                warnings.warn(f"No Jacobians from step {self._logged} on. {error}", stacklevel=2)
            self._warned = True
            return
        self._write(values, self._writer)

    def _write(self, values: np.ndarray, writer: Any) -> None:
        with writer.as_default():
            for lag, of_lag in zip(self.lags, values, strict=True):
                logarithms = np.log10(np.maximum(of_lag, SMALLEST))
                write_distribution(f"interp_rnn/jacobian/lag_{lag}", of_lag, self._logged)
                write_distribution(f"interp_rnn/jacobian_log10/lag_{lag}", logarithms, self._logged)
                scalars = {
                    "spectral_norm": np.median(of_lag[:, 0]),
                    "condition_log10": np.median(logarithms[:, 0] - logarithms[:, -1]),
                    "near_one": np.mean((of_lag >= 0.5) & (of_lag <= 2)),
                }
                for name, value in scalars.items():
                    tf.summary.scalar(f"interp_rnn/{name}/lag_{lag}", value, step=self._logged)
        writer.flush()
