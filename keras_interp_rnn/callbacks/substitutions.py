"""Logs how a network's outputs change if one symbol of a text is replaced or deleted."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from numpy.typing import ArrayLike

from keras_interp_rnn import analysis
from keras_interp_rnn._network import GivenAlphabet
from keras_interp_rnn._outputs import GivenOutputs
from keras_interp_rnn.analysis.substitutions import Substitutions as Result
from keras_interp_rnn.callbacks._texts import TextProbe


class Substitutions(TextProbe):
    r"""Logs the outputs of a network for fixed texts, and for every text that differs from one of them in one symbol.

    - `interp_rnn/substitutions/text_i`, for the plugin: (1 + T alternatives) outputs numbers per text and step.

    Steps are optimizer iterations and continue when a saved model is trained further. If weights become non-finite,
    logging stops with one warning; training continues.

    Args:
        log_dir: the folder of the logs; this callback writes to `substitutions` in it, a run of its own.
        texts: a few texts, each int (T,), T <= 100, as the model reads them; or strings, if there is an alphabet.
        alternatives: as `analysis.substitutions`.
        alphabet: names of the symbols, and of the outputs if there are as many; as `analysis.substitutions`.
        outputs: names of the outputs: `datasets.Outputs` or a list; by default those that a model carries.
        update_freq: "epoch", or a number of training steps. Logged before the first step too.

    Raises:
        ValueError: if there is no text, one is empty or too long, or the frequency is not positive; when training
            begins, as `analysis.substitutions`.

    Example:

        texts = [datasets.text.encode("annual revenue")]
        model.fit(windows, callbacks=[Substitutions("logs", texts, alphabet=datasets.text.ALPHABET)])
    """

    folder = "substitutions"
    longest = 100

    def __init__(
        self,
        log_dir: str | os.PathLike[str],
        texts: Sequence[ArrayLike],
        *,
        alternatives: ArrayLike | str | None = None,
        alphabet: GivenAlphabet | None = None,
        outputs: GivenOutputs | None = None,
        update_freq: str | int = "epoch",
    ) -> None:
        super().__init__(log_dir, texts, alphabet, outputs, update_freq)
        self.alternatives = alternatives

    def measured(self, text: Any) -> Result:
        return analysis.substitutions(
            self.network, text, alternatives=self.alternatives, alphabet=self.alphabet, outputs=self.outputs
        )
