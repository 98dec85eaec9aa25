"""What every symbol of a few texts contributes to every prediction of an ISAN, through training."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from keras_interp_rnn import analysis
from keras_interp_rnn._deprecation import former_arguments
from keras_interp_rnn.analysis.network import check_finite
from keras_interp_rnn.callbacks import _summaries
from keras_interp_rnn.callbacks._probes import Probe
from tensorboard_plugins.interp_rnn import schema

LONGEST = 500
"""Symbols of a text: of more, a step would write tens of megabytes."""


class Contributions(Probe):
    r"""Logs the contributions $\kappa_s^t$ of every source to every target of fixed texts during `fit`.

    - `interp_rnn/contributions/text_i/step_n`, all of them, for the plugin: 2 T (T + 3) outputs bytes a text and step;
    - `interp_rnn/contributions_residual`, by how much their sum misses the logits, the largest of all texts.

    Steps are optimizer iterations and continue when a saved model is trained further.

    Args:
        log_dir: its events go to the folder `contributions` in it, a run of its own.
        texts: a few, each int (T,), T <= 500, as the ISAN reads them; or strings, where there is an alphabet.
        alphabet: names of the symbols and of the outputs; as `analysis.contributions`.
        readout: as `analysis.contributions`, where the model's head is not one linear Dense layer.
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

    @former_arguments(("self", "log_dir", "texts", "alphabet", "readout", "update_freq"))
    def __init__(
        self,
        log_dir: str | os.PathLike[str],
        texts: Sequence[ArrayLike],
        *,
        alphabet: Sequence[str] | None = None,
        readout: Any = None,
        update_freq: str | int = "epoch",
    ) -> None:
        super().__init__(log_dir, update_freq)
        self.texts = [text if isinstance(text, str) else np.array(text) for text in texts]
        self.alphabet, self.readout = alphabet, readout
        lengths = [(len(text),) if isinstance(text, str) else text.shape for text in self.texts]
        if not lengths or any(len(shape) != 1 or not 0 < shape[0] <= LONGEST for shape in lengths):
            raise ValueError(
                f"Contributions takes texts of 1 to {LONGEST} symbols, at least one. Received: shapes {lengths}."
            )

    def measure(self) -> list[analysis.Contributions]:
        check_finite(self.model)
        return [
            analysis.contributions(self.model, text, readout=self.readout, alphabet=self.alphabet)
            for text in self.texts
        ]

    def write(self, found: list[analysis.Contributions], step: int) -> None:
        for i, split in enumerate(found):
            series = f"interp_rnn/contributions/text_{i}"
            described = schema.metadata(
                "contributions",
                part_of=series,
                symbols=[split.name(int(symbol)).strip() for symbol in split.symbols],
                outputs=[split.name(output).strip() for output in range(len(split.bias))],
            )
            rows = [split.values[: t + 1, column] for column, t in enumerate(split.targets)]
            triangle = np.concatenate([*rows, split.bias[None]]).astype(np.float32)
            _summaries.tensor(f"{series}/step_{step}", triangle, step, described)
        _summaries.scalar("interp_rnn/contributions_residual", max(split.residual for split in found), step)
