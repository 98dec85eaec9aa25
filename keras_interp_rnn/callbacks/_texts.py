"""Base class of callbacks that measure how a network reads a few fixed texts."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from numpy.typing import ArrayLike

from keras_interp_rnn._arrays import check_finite
from keras_interp_rnn._network import GivenAlphabet, read_text, resolve_alphabet
from keras_interp_rnn._outputs import GivenOutputs, as_outputs
from keras_interp_rnn.callbacks import _summaries
from keras_interp_rnn.callbacks._probes import Probe, copied_text, length_of, write_tag


class TextProbe(Probe):
    """A probe of fixed texts, each measured by itself.

    A subclass defines `folder`, `longest` and `measured`. If results have a residual, the largest of all texts is
    logged as a scalar.

    Args:
        log_dir, texts, alphabet, outputs, update_freq: as the subclass documents them.

    Raises:
        ValueError: if there is no text, one is empty or too long, or the frequency is not positive.
    """

    longest: int
    """Maximum number of symbols of a text: a longer one would take too long, or write tens of megabytes a step."""
    in_parts = False
    """Whether each step is a tag of its own, as steps are large (`schema`)."""

    def __init__(
        self,
        log_dir: str | os.PathLike[str],
        texts: Sequence[ArrayLike],
        alphabet: GivenAlphabet | None,
        outputs: GivenOutputs | None,
        update_freq: str | int,
    ) -> None:
        super().__init__(log_dir, update_freq)
        if isinstance(texts, str) or not isinstance(texts, Iterable):
            raise ValueError(f"`texts` must be a list of texts. Received: texts={texts!r}. Pass [text] for one text.")
        for text in texts:
            if isinstance(text, Mapping):
                raise ValueError(
                    f"Each text of {type(self).__name__} must be all that the model reads. Received: a dict of "
                    f"{', '.join(map(str, text))}. Call the function of that name in `analysis` after training."
                )
        self.texts = [copied_text(text) for text in texts]
        self.alphabet = alphabet
        self.outputs = None if outputs is None else as_outputs(outputs)
        if not self.texts:
            raise self._refused([])
        for text in self.texts:
            if not isinstance(text, str) or not text:  # the symbols of a string depend on the alphabet: see `measure`
                self._check_length(length_of(text))

    def measured(self, text: Any) -> Any:
        """The result to write for one text, which has a `tag`."""
        raise NotImplementedError

    def measure(self) -> list[Any]:
        check_finite(self.network)
        for text in self.texts:
            if isinstance(text, str) and len(text) > self.longest:
                names = resolve_alphabet(self.network, self.alphabet)[1]
                self._check_length(read_text("A text", text, names).shape)
        return [self.measured(text) for text in self.texts]

    def write(self, found: list[Any], step: int) -> None:
        for i, result in enumerate(found):
            name = f"{self.folder}/text_{i}"
            if self.in_parts:
                write_tag(f"{name}/step_{step}", result.tag(), step, part_of=f"{_summaries.PREFIX}/{name}")
            else:
                write_tag(name, result.tag(), step)
        residuals = [result.residual for result in found if hasattr(result, "residual")]
        if residuals:
            _summaries.scalars({f"{self.folder}_residual": max(residuals)}, step)

    def _check_length(self, shape: tuple[int, ...]) -> None:
        if len(shape) != 1 or not 0 < shape[0] <= self.longest:
            raise self._refused([shape])

    def _refused(self, shapes: list[tuple[int, ...]]) -> ValueError:
        return ValueError(
            f"{type(self).__name__} must have at least one text, each of 1 to {self.longest} symbols. Received: shapes "
            f"{shapes}. Pass a few such texts."
        )
