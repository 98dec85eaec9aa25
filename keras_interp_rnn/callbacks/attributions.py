"""Logs the share of every step of a few texts in the outputs of any recurrent network."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from numpy.typing import ArrayLike

from keras_interp_rnn._checks import choice, integer, invalid
from keras_interp_rnn._network import GivenAlphabet
from keras_interp_rnn._outputs import GivenOutputs
from keras_interp_rnn._results import counted
from keras_interp_rnn.analysis.attribution import METHODS, TopAttribution, top_attribution
from keras_interp_rnn.callbacks._texts import TextProbe


class Attributions(TextProbe):
    r"""Logs, during `fit`, the share of every step of fixed texts in the outputs of a network after the last step.

    - `interp_rnn/attributions/text_i`, for the plugin: (T + 4) outputs numbers per text and step, or (2 T + 4) with the
      standard errors of "shapley"; if there are more than 64 outputs, only the 16 most probable at that step. Under a
      softmax or a sigmoid shares are of logits or log-odds, which the tag names as its unit;
    - `interp_rnn/attributions_residual`, the largest difference between the outputs and their sums of shares over all
      texts: rounding for "shapley", "telescoping" and "contributions".

    Steps are optimizer iterations and continue when a saved model is trained further. If weights become non-finite,
    logging stops with one warning; training continues.

    Args:
        log_dir: the folder of the logs; this callback writes to `attributions` in it, a run of its own.
        texts: a few texts, each int (T,), T <= 500, as the model reads them; or strings, if there is an alphabet.
        method: as `analysis.attribution`: by default Shapley values, unless contributions are exact.
        alphabet: names of the ids, and of the outputs if there are as many; as `analysis.attribution`.
        outputs: names of the outputs: `datasets.Outputs` or a list; by default those that a model carries.
        update_freq: "epoch", or a number of training steps. Logged before the first step too.
        max_work: of "shapley", as `analysis.attribution`, for each text; None for an eighth of its updates, or a
            quarter of its runs.

    Raises:
        ValueError: if there is no text, one is empty or too long, the method is unknown, or the frequency or the work
            is not positive; when training begins, as `analysis.attribution`.

    Cost: by default, Shapley values of a text of 60 tokens take about a second of one core each time: 0.7 s for an LSTM
        of 32 units, 1.6 s for one of 128, 0.8 s for one of 64 under attention. Their standard errors are then at most 6
        to 13 % of the range of the shares (random networks). Up to 16 tokens they are exact, under attention up to 8.
        "telescoping" and "occlusion" read T + 1 sequences per text and step, "path_integral" 32 or more for each
        output.

    Example:

        model.fit(ids, labels, callbacks=[Attributions("logs", ["a good film"], alphabet=vocabulary)])  # an LSTM
    """

    folder = "attributions"
    longest = 500

    def __init__(
        self,
        log_dir: str | os.PathLike[str],
        texts: Sequence[ArrayLike],
        *,
        method: str = "auto",
        alphabet: GivenAlphabet | None = None,
        outputs: GivenOutputs | None = None,
        update_freq: str | int = "epoch",
        max_work: int | None = None,
        labels: Sequence[object] | None = None,
    ) -> None:
        super().__init__(log_dir, texts, alphabet, outputs, update_freq)
        self.labels = [None] * len(self.texts) if labels is None else [*labels]
        if len(self.labels) != len(self.texts):
            raise invalid("labels", f"a class for each of {counted(len(self.texts), 'text')}", labels)
        self.method = choice("method", method, METHODS)
        self.max_work = None if max_work is None else integer("max_work", max_work)

    def measured(self, text: Any) -> TopAttribution:
        [label] = (label for label, each in zip(self.labels, self.texts, strict=True) if each is text)
        return top_attribution(
            self.network,
            text,
            method=self.method,
            alphabet=self.alphabet,
            outputs=self.outputs,
            max_work=self.max_work,
            label=label,
        )
