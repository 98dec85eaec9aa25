"""The singular values of input-output Jacobians through training, as the MinimalRNN paper's figure 5 shows them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any

import keras
import numpy as np

from keras_interp_rnn import analysis
from keras_interp_rnn.callbacks import _summaries
from keras_interp_rnn.callbacks._probes import InputProbe
from keras_interp_rnn.views import tags
from tensorboard_plugins.interp_rnn import schema

SMALLEST = 1e-30
"""Below it log10 is cut off: a singular value that vanished."""


class JacobianHistograms(InputProbe):
    r"""Logs the singular values of $\partial h_T / \partial x_{T-k}$ on a fixed batch during `fit`.

    TensorBoard's Distributions tab then shows the nine percentile lines of Chen, 2017, figure 5: maximum, 93, 84, 69,
    50, 31, 16, 7 %, minimum, over all sequences of the batch. For every lag k it gets

    - `interp_rnn/jacobian/lag_k` and `interp_rnn/jacobian_log10/lag_k`, distributions;
    - `interp_rnn/spectral_norm/lag_k`, the largest singular value, median over the sequences;
    - `interp_rnn/condition_log10/lag_k`, log10 of largest over smallest, median over the sequences;
    - `interp_rnn/near_one/lag_k`, the share of singular values in [0.5, 2];

    and `interp_rnn/jacobian_percentiles` for the plugin, the percentiles 0, 1, ..., 100 for all lags.

    Steps are optimizer iterations and continue when a saved model is trained further.

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

    If weights become non-finite, warns once and stops logging; training continues.

    Example:

        model.fit(x, y, callbacks=[JacobianHistograms("logs", x[:32], lags=(0, 10, 25))])
    """

    folder = "jacobians"

    def __init__(
        self,
        log_dir: str | os.PathLike[str],
        inputs: Any,
        *,
        lags: Sequence[int] = (0, 5, 10, 25),
        layer: str | keras.layers.Layer | None = None,
        update_freq: str | int = "epoch",
    ) -> None:
        super().__init__(log_dir, inputs, layer, update_freq)
        if not isinstance(lags, Iterable):
            raise ValueError(f"lags are ints >= 0. Received: lags={lags!r}. Give a list of them.")
        self.lags = tuple(lags)

    def measure(self) -> np.ndarray:
        layer, reads, mask = self.layer_and_reads(self.inputs)
        return analysis.jacobian_singular_values(layer, reads, lags=self.lags, mask=mask)

    def write(self, found: np.ndarray, step: int) -> None:
        percentiles, description = tags.jacobian(found, self.lags)
        described = schema.metadata("jacobian", **description)
        _summaries.tensor("interp_rnn/jacobian_percentiles", percentiles, step, described)
        for lag, of_lag in zip(self.lags, found, strict=True):
            logarithms = np.log10(np.maximum(of_lag, SMALLEST))
            _summaries.distribution(f"interp_rnn/jacobian/lag_{lag}", of_lag, step)
            _summaries.distribution(f"interp_rnn/jacobian_log10/lag_{lag}", logarithms, step)
            scalars = {
                "spectral_norm": np.median(of_lag[:, 0]),
                "condition_log10": np.median(logarithms[:, 0] - logarithms[:, -1]),
                "near_one": np.mean((of_lag >= 0.5) & (of_lag <= 2)),
            }
            for name, value in scalars.items():
                _summaries.scalar(f"interp_rnn/{name}/lag_{lag}", value, step)
