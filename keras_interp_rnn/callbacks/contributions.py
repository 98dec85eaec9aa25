"""What every symbol of a few texts contributes to every prediction of an ISAN, through training."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from numpy.typing import ArrayLike

from keras_interp_rnn import analysis
from keras_interp_rnn.analysis.isan.contributions import Contributions as Result
from keras_interp_rnn.callbacks._texts import TextProbe
from keras_interp_rnn.views import tags

MAX_BYTES = 2**25
"""Of the tensor of one text at one step."""


class Contributions(TextProbe):
    r"""Logs the contributions $\kappa_s^t$ of every source to every target of fixed texts during `fit`.

    - `interp_rnn/contributions/text_i/step_n`, all of them, for the plugin: 2 T (T + 3) outputs bytes a text and step;
    - `interp_rnn/contributions_residual`, by how much their sum misses the logits, the largest of all texts.

    Steps are optimizer iterations and continue when a saved model is trained further.

    Args:
        log_dir: its events go to the folder `contributions` in it, a run of its own.
        texts: a few, each int (T,), T <= 500, as the ISAN reads them; or strings, where there is an alphabet. Of each
            at most 32 MiB are written a step: with 5,000 outputs, T <= 56.
        alphabet: names of the symbols and of the outputs; as `analysis.contributions`.
        readout: as `analysis.contributions`, where the model's head is not affine before its activation.
        update_freq: "epoch", or a number of training steps. Logged before the first step too.

    Raises:
        ValueError: if there is no text, one is empty or too long, or a frequency is no positive number; when training
            begins, as `analysis.contributions`.

    If weights become non-finite, warns once and stops logging; training continues.

    Example:

        texts = [datasets.text.encode("annual revenue")]
        model.fit(windows, callbacks=[Contributions("logs", texts, alphabet=datasets.text.ALPHABET)])
    """

    folder = "contributions"
    longest = 500
    in_parts = True

    def __init__(
        self,
        log_dir: str | os.PathLike[str],
        texts: Sequence[ArrayLike],
        *,
        alphabet: Sequence[str] | None = None,
        readout: Any = None,
        update_freq: str | int = "epoch",
    ) -> None:
        super().__init__(log_dir, texts, alphabet, update_freq)
        self.readout = readout

    def measured(self, text: Any) -> Result:
        found = analysis.contributions(self.model, text, readout=self.readout, alphabet=self.alphabet)
        length, outputs = len(found.symbols), len(found.bias)
        size = 2 * length * (length + 3) * outputs
        if size > MAX_BYTES:
            fits = int((MAX_BYTES / (2 * outputs) + 2.25) ** 0.5 - 1.5)
            raise ValueError(
                f"Contributions writes at most {MAX_BYTES // 2**20} MiB of a text at a step. Received: a text of "
                f"{length} symbols for {outputs:,} outputs, {size / 2**20:.0f} MiB. Give one of at most {fits} symbols."
            )
        return found

    def tag(self, found: Result) -> tags.Tag:
        return tags.contributions(found)
