"""Logs the contribution of every symbol of a few texts to every prediction of an ISAN."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from numpy.typing import ArrayLike

from keras_interp_rnn import analysis
from keras_interp_rnn._network import AffineReading, GivenAlphabet
from keras_interp_rnn._outputs import GivenOutputs
from keras_interp_rnn.analysis.isan.contributions import Contributions as Split
from keras_interp_rnn.analysis.isan.top_contributions import TopContributions, top_contributions
from keras_interp_rnn.callbacks._texts import TextProbe
from tensorboard_plugins.interp_rnn import schema

MAX_NUMBERS = 2**22
"""Maximum size of the tensor of one text at one step, float32: 16 MiB."""


class Contributions(TextProbe):
    r"""Logs the contributions $\kappa_s^t$ of every source to every target of fixed texts during `fit`.

    - `interp_rnn/contributions/text_i/step_n`, for the plugin: 2 T (T + 3) outputs bytes per text and step. Above 2^22
      numbers (16 MiB), only as many outputs as fit, at each target the most probable ones, and the sum of all others:
      of 5,000 outputs 781 for T = 100, 31 for T = 500. If the network reads the text in both directions, or as a whole
      (such as by a mean of states), only the contributions to the last target;
    - `interp_rnn/contributions_residual`, the largest difference between their sum and the logits over all texts.

    Steps are optimizer iterations and continue when a saved model is trained further. If weights become non-finite,
    logging stops with one warning; training continues.

    Args:
        log_dir: the folder of the logs; this callback writes to `contributions` in it, a run of its own.
        texts: a few texts, each int (T,), T <= 1,444, as the ISAN reads them; or strings, if there is an alphabet. For
            a text of 1,444 symbols the terms of two outputs fit.
        alphabet: names of the symbols and of the outputs; as `analysis.contributions`.
        outputs: names of the outputs: `datasets.Outputs` or a list; by default those that a model carries.
        readout: as `analysis.contributions`, if the model's head is not affine before its activation.
        update_freq: "epoch", or a number of training steps. Logged before the first step too.

    Raises:
        ValueError: if there is no text, one is empty or too long, or the frequency is not positive; when training
            begins, as `analysis.contributions`.

    Example:

        texts = [datasets.text.encode("annual revenue")]
        model.fit(windows, callbacks=[Contributions("logs", texts, alphabet=datasets.text.ALPHABET)])
    """

    folder = "contributions"
    longest = 1_444  # two outputs, the others and the norms of T (T + 7) / 2 rows
    in_parts = True

    def __init__(
        self,
        log_dir: str | os.PathLike[str],
        texts: Sequence[ArrayLike],
        *,
        alphabet: GivenAlphabet | None = None,
        outputs: GivenOutputs | None = None,
        readout: Any = None,
        update_freq: str | int = "epoch",
    ) -> None:
        super().__init__(log_dir, texts, alphabet, outputs, update_freq)
        self.readout = readout

    def measured(self, text: Any) -> Split | TopContributions:
        opened = AffineReading(self.network, self.alphabet).open(text, self.readout, whole=True)
        outputs, length = len(opened.ways[0].head.offset), len(opened.symbols)
        options = {"readout": self.readout, "alphabet": self.alphabet, "outputs": self.outputs}
        if opened.at_the_end or len(opened.ways) > 1:
            split = analysis.contributions(self.network, text, targets=-1, **options)
            top = MAX_NUMBERS // (length + 3) - 2
            return split if (length + 2) * outputs <= MAX_NUMBERS else split.most_probable(top)
        if (schema.target_rows(length).stop + 1) * outputs <= MAX_NUMBERS:
            return analysis.contributions(self.network, text, **options)
        top = MAX_NUMBERS // schema.block_rows(length).stop - 2
        return top_contributions(self.network, text, num_outputs=top, **options)
