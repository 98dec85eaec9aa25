"""What the callbacks share that look at how an ISAN reads a few fixed texts."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from keras_interp_rnn.analysis.network import check_finite
from keras_interp_rnn.callbacks._probes import Probe


class TextProbe(Probe):
    """A probe that looks at fixed texts, each by itself.

    A subclass gives `longest`, `measured` and `write`, besides `folder`.

    Args:
        log_dir, texts, alphabet, update_freq: as the subclass documents them.

    Raises:
        ValueError: if there is no text, one is empty or too long, or a frequency is no positive number.
    """

    longest: int
    """Symbols of a text: of more, a step would take too long, or write tens of megabytes."""

    def __init__(
        self,
        log_dir: str | os.PathLike[str],
        texts: Sequence[ArrayLike],
        alphabet: Sequence[str] | None,
        update_freq: str | int,
    ) -> None:
        super().__init__(log_dir, update_freq)
        self.texts = [text if isinstance(text, str) else np.array(text) for text in texts]
        self.alphabet = alphabet
        lengths = [(len(text),) if isinstance(text, str) else text.shape for text in self.texts]
        if not lengths or any(len(shape) != 1 or not 0 < shape[0] <= self.longest for shape in lengths):
            raise ValueError(
                f"{type(self).__name__} takes texts of 1 to {self.longest} symbols, at least one. Received: shapes "
                f"{lengths}."
            )

    def measured(self, text: Any) -> Any:
        """What there is to be written of one text."""
        raise NotImplementedError

    def measure(self) -> list[Any]:
        check_finite(self.model)
        return [self.measured(text) for text in self.texts]
