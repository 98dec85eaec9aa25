"""Logs the singular values of input-output Jacobians, as in figure 5 of the MinimalRNN paper."""

from __future__ import annotations

import os
from collections.abc import Sequence

import keras
import numpy as np

from keras_interp_rnn import analysis
from keras_interp_rnn._checks import integers
from keras_interp_rnn.analysis.jacobians import jacobian_tag
from keras_interp_rnn.callbacks import _summaries
from keras_interp_rnn.callbacks._probes import InputProbe, write_tag

SMALLEST = 1e-30
"""Singular values below it are replaced by it before log10."""


class JacobianHistograms(InputProbe):
    r"""Logs the singular values of $\partial h_T / \partial x_{T-k}$ on a fixed batch during `fit`.

    TensorBoard's Distributions tab then shows the nine percentile lines of Chen, 2017, figure 5: maximum, 93, 84, 69,
    50, 31, 16, 7 %, minimum, over all sequences of the batch. The callback logs for every lag k

    - `interp_rnn/jacobian/lag_k` and `interp_rnn/jacobian_log10/lag_k`, distributions;
    - `interp_rnn/spectral_norm/lag_k`, the largest singular value, median over the sequences;
    - `interp_rnn/condition_log10/lag_k`, log10 of largest over smallest, median over the sequences;
    - `interp_rnn/near_one/lag_k`, the share of singular values in [0.5, 2];

    and `interp_rnn/jacobian_percentiles` for the plugin, the percentiles 0, 1, ..., 100 for all lags.

    Steps are optimizer iterations and continue when a saved model is trained further. If weights become non-finite,
    logging stops with one warning; training continues.

    Args:
        log_dir: the folder of the logs; this callback writes to `jacobians` in it, a run of its own.
        inputs: the batch, as the model reads it. 32 sequences suffice; all are read to their last unmasked step.
        lags: ints >= 0.
        layer: name of the recurrent layer, if the model has several. Or the layer itself, for a subclassed model;
            `inputs` are then those of the layer.
        update_freq: "epoch", or a number of training steps. The values before the first step are logged too.

    Raises:
        ValueError: if the batch is empty, lags are not integers or the frequency is not positive; when training begins,
            if there is no such layer, if a sequence is shorter than the longest lag, or as
            `analysis.jacobian_singular_values`.

    Example:

        model.fit(x, y, callbacks=[JacobianHistograms("logs", x[:32], lags=(0, 10, 25))])
    """

    folder = "jacobians"

    def __init__(
        self,
        log_dir: str | os.PathLike[str],
        inputs: object,
        *,
        lags: Sequence[int] = (0, 5, 10, 25),
        layer: str | keras.layers.Layer | None = None,
        update_freq: str | int = "epoch",
    ) -> None:
        super().__init__(log_dir, inputs, layer, update_freq)
        self.lags = tuple(integers("lags", lags, ndim=1, remedy="Pass a list such as [0, 10].").tolist())

    def measure(self) -> np.ndarray:
        layer, reads, mask = self.layer_and_reads(self.inputs)
        return analysis.jacobian_singular_values(layer, reads, lags=self.lags, mask=mask)

    def write(self, found: np.ndarray, step: int) -> None:
        write_tag("jacobian_percentiles", jacobian_tag(found, self.lags), step)
        for lag, values in zip(self.lags, found, strict=True):
            logarithms = np.log10(np.maximum(values, SMALLEST))
            _summaries.distribution(f"jacobian/lag_{lag}", values, step)
            _summaries.distribution(f"jacobian_log10/lag_{lag}", logarithms, step)
            scalars = {
                f"spectral_norm/lag_{lag}": np.median(values[:, 0]),
                f"condition_log10/lag_{lag}": np.median(logarithms[:, 0] - logarithms[:, -1]),
                f"near_one/lag_{lag}": np.mean((values >= 0.5) & (values <= 2)),
            }
            _summaries.scalars(scalars, step)
