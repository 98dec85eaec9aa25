"""Logs the exact Shapley values of the symbols of a few texts."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from numpy.typing import ArrayLike

from keras_interp_rnn import analysis
from keras_interp_rnn._network import GivenAlphabet
from keras_interp_rnn._outputs import GivenOutputs
from keras_interp_rnn.analysis.weighted.shapley import ShapleyValues as Result
from keras_interp_rnn.callbacks._texts import TextProbe


class ShapleyValues(TextProbe):
    r"""Logs the Shapley value of every symbol of fixed texts during `fit`, for every output after the last symbol.

    - `interp_rnn/shapley_values/text_i`, for the plugin: (T + 1) outputs numbers per text and step, the means last;
    - `interp_rnn/shapley_values_residual`, the largest difference between their sum and $f(x) - E f$ over all texts.

    Steps are optimizer iterations and continue when a saved model is trained further. If weights become non-finite,
    logging stops with one warning; training continues.

    Args:
        log_dir: the folder of the logs; this callback writes to `shapley_values` in it, a run of its own.
        texts: a few texts, each int (T,), T <= 200, as the network reads them; or strings, if there is an alphabet.
        background: distribution of the unknown symbols, as `analysis.shapley_values`.
        alphabet: names of the symbols and of the outputs; as `analysis.shapley_values`.
        outputs: names of the outputs: `datasets.Outputs` or a list; by default those that a model carries.
        update_freq: "epoch", or a number of training steps. Logged before the first step too.

    Raises:
        ValueError: if there is no text, one is empty or too long, or the frequency is not positive; when training
            begins, as `analysis.shapley_values`.

    Example:

        texts = [datasets.text.encode("annual revenue")]
        model.fit(windows, callbacks=[ShapleyValues("logs", texts, alphabet=datasets.text.ALPHABET)])
    """

    folder = "shapley_values"
    longest = 200

    def __init__(
        self,
        log_dir: str | os.PathLike[str],
        texts: Sequence[ArrayLike],
        *,
        background: analysis.Background | ArrayLike | None = None,
        alphabet: GivenAlphabet | None = None,
        outputs: GivenOutputs | None = None,
        update_freq: str | int = "epoch",
    ) -> None:
        super().__init__(log_dir, texts, alphabet, outputs, update_freq)
        self.background = background

    def measured(self, text: Any) -> Result:
        return analysis.shapley_values(
            self.network, text, background=self.background, alphabet=self.alphabet, outputs=self.outputs
        )
