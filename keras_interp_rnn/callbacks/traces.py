"""Logs the quantities that a recurrent layer computes while it reads a few sequences."""

from __future__ import annotations

import dataclasses
import os

import keras

from keras_interp_rnn import analysis
from keras_interp_rnn._network import GivenAlphabet, token_names
from keras_interp_rnn.analysis.traces import Trace
from keras_interp_rnn.callbacks import _summaries
from keras_interp_rnn.callbacks._probes import InputProbe, write_tag


class Traces(InputProbe):
    r"""Logs gates, states and all other quantities of a recurrent layer at every step of fixed sequences during `fit`.

    - `interp_rnn/trace/step_n`, all quantities of `analysis.trace`, for the plugin: 4 sequences time entries bytes.

    Steps are optimizer iterations and continue when a saved model is trained further. If weights become non-finite,
    logging stops with one warning; training continues.

    Args:
        log_dir: the folder of the logs; this callback writes to `traces` in it, a run of its own.
        inputs: the fixed sequences, (sequences, time, ...), as the model reads them; or texts, if the ids have
            names. A few suffice.
        tokens: names of the ids in `inputs`; as `analysis.trace`.
        layer: name of the recurrent layer, if the model has several. Or the layer itself, for a subclassed model;
            `inputs` are then those of the layer.
        update_freq: "epoch", or a number of training steps. Logged before the first step too.

    Raises:
        ValueError: if there are no sequences, or the frequency is not positive; when training begins, if there is no
            such layer or all steps of a sequence are masked.

    Example:

        model.fit(x, y, callbacks=[Traces("logs", x[:4], tokens=words)])
    """

    folder = "traces"

    def __init__(
        self,
        log_dir: str | os.PathLike[str],
        inputs: object,
        *,
        tokens: GivenAlphabet | None = None,
        layer: str | keras.layers.Layer | None = None,
        update_freq: str | int = "epoch",
    ) -> None:
        super().__init__(log_dir, inputs, layer, update_freq)
        self.tokens = tokens

    def measure(self) -> Trace:
        layer, reads, mask = self.layer_and_reads(self.inputs)
        traced = analysis.trace(layer, reads, mask=mask)
        backwards = getattr(layer, "go_backwards", False)
        names = token_names(self.read(self.inputs), self.resolved()[1], backwards=backwards)
        return dataclasses.replace(traced, tokens=names)

    def write(self, found: Trace, step: int) -> None:
        write_tag(f"trace/step_{step}", found.tag(), step, part_of=f"{_summaries.PREFIX}/trace")
