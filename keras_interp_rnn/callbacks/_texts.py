"""The base class of callbacks that look at how a network reads a few fixed texts."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any

from numpy.typing import ArrayLike

from keras_interp_rnn._network import check_finite, read_text, resolve_names
from keras_interp_rnn.callbacks import _summaries
from keras_interp_rnn.callbacks._probes import Probe, copied_text, length_of
from keras_interp_rnn.views.tags import Tag
from tensorboard_plugins.interp_rnn import schema


class TextProbe(Probe):
    """A probe that looks at fixed texts, each by itself.

    A subclass gives `longest`, `measured` and `tag`, besides `folder`, which is the kind of its tags too, unless it
    overrides `kind`. Where results have a residual, the largest of all texts is logged as a scalar.

    Args:
        log_dir, texts, alphabet, update_freq: as the subclass documents them.

    Raises:
        ValueError: if there is no text, one is empty or too long, or a frequency is no positive number.
    """

    longest: int
    """Symbols of a text: of more, a step would take too long, or write tens of megabytes."""
    in_parts = False
    """Whether each step is a tag of its own, as steps are large (`schema`)."""

    def __init__(
        self,
        log_dir: str | os.PathLike[str],
        texts: Sequence[ArrayLike],
        alphabet: Sequence[str] | None,
        update_freq: str | int,
    ) -> None:
        super().__init__(log_dir, update_freq)
        if isinstance(texts, str) or not isinstance(texts, Iterable):
            raise ValueError(
                f"{type(self).__name__} takes a list of texts. Received: texts={texts!r}. Give [text] for one text."
            )
        self.texts = [copied_text(text) for text in texts]
        self.alphabet = alphabet
        if not self.texts:
            raise self._refused([])
        for text in self.texts:
            if (
                not isinstance(text, str) or not text
            ):  # of a longer one `measure` counts the symbols: it knows the alphabet
                self._check_length(length_of(text))

    def measured(self, text: Any) -> Any:
        """The result to write for one text."""
        raise NotImplementedError

    def tag(self, found: Any) -> Tag:
        """The tensor and the description of what was measured of one text."""
        raise NotImplementedError

    def kind(self, found: Any) -> str:
        """The kind of that tag."""
        return self.folder

    def measure(self) -> list[Any]:
        check_finite(self.model)
        for text in self.texts:
            if isinstance(text, str) and len(text) > self.longest:
                names = resolve_names(self.model, self.alphabet)[1]
                self._check_length(read_text("A text", text, names).shape)
        return [self.measured(text) for text in self.texts]

    def _check_length(self, shape: tuple[int, ...]) -> None:
        if len(shape) != 1 or not 0 < shape[0] <= self.longest:
            raise self._refused([shape])

    def _refused(self, shapes: list[tuple[int, ...]]) -> ValueError:
        return ValueError(
            f"{type(self).__name__} takes texts of 1 to {self.longest} symbols, at least one. Received: shapes "
            f"{shapes}."
        )

    def write(self, found: list[Any], step: int) -> None:
        for i, one in enumerate(found):
            name, part = f"interp_rnn/{self.folder}/text_{i}", {}
            if self.in_parts:
                name, part = f"{name}/step_{step}", {"part_of": name}
            values, description = self.tag(one)
            _summaries.tensor(name, values, step, schema.metadata(self.kind(one), **part, **description))
        if all(hasattr(one, "residual") for one in found):
            _summaries.scalar(f"interp_rnn/{self.folder}_residual", max(one.residual for one in found), step)
