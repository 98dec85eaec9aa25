"""Bars on the tokens of a text, for numbers that anything computed: another package, a paper, your own code."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from keras_interp_rnn._checks import invalid
from keras_interp_rnn._results import Column, Result, Table, because, numbered, texts, visible
from keras_interp_rnn._types import Array


@dataclass(frozen=True, eq=False, repr=False)
class Bars(Result):
    """Numbers of tokens, as a result that can be printed, shown in a notebook and saved.

    Attributes:
        tokens: (T,), their names. values: (T, K). outputs: (K,), what the numbers are of; () for one without a name.
        unit: of the numbers.

    Example: see `bars`.
    """

    tokens: tuple[str, ...]
    values: Array
    outputs: tuple[str, ...] = ()
    unit: str = ""

    def table(self) -> Table:
        """A row for each token."""
        names = self.outputs or ("value",)
        columns = (Column(n, each.tolist(), self.unit, sums=True) for n, each in zip(names, self.values.T, strict=True))
        strongest = because(self.tokens, self.values[:, 0].tolist(), self.unit).removeprefix(", ")
        flat = "every number is 0" if not self.values.any() else "no number is finite"
        caption = f"{names[0]}, {strongest}" if self.outputs and strongest else strongest or flat
        return Table(
            caption,
            (numbered("position", len(self.tokens)), texts("token", self.tokens), *columns),
            bars=names[0] if len(names) == 1 else "",
        )


def bars(tokens: Sequence[object], values: ArrayLike, *, outputs: Sequence[str] | None = None, unit: str = "") -> Bars:
    """Draws numbers as bars, one for each token.

    Args:
        tokens: (T,), names of tokens, steps or features.
        values: (T,), a number for each; or (T, K), for each of K outputs.
        outputs: the names of the outputs; None for one that needs no name.
        unit: of the numbers.

    Returns:
        `Bars`: print it, end a cell of a notebook with it, or `views.save` it.

    Raises:
        ValueError: if there is not a number for each token, or not a name for each output.

    Example:

    >>> from keras_interp_rnn import views
    >>> print(views.bars(["not", "a", "bad", "film"], [0.9, 0.0, -0.4, 0.1], outputs=["positive"]))
    positive, above all because of “not” (+0.9)
    position  token  positive
           1  not        +0.9              |############
           2  a           0.0              |
           3  bad        -0.4         -----|
           4  film       +0.1              |#
    """
    if not isinstance(tokens, Iterable):
        raise invalid("tokens", "a sequence of names", tokens)
    names = tuple(visible(str(token)) for token in tokens)
    try:
        given = np.asarray(values)
        array = np.zeros(()) if given.dtype.kind in "cSU" else given.astype(np.float64)
    except (TypeError, ValueError):  # ragged, or no numbers
        array = np.zeros(())
    array = array[:, None] if array.ndim == 1 else array
    if array.ndim != 2 or len(array) != len(names) or not array.shape[1]:
        raise invalid("values", f"an array ({len(names)},) or ({len(names)}, outputs), a number for each token", values)
    if not isinstance(outputs, Iterable | None):
        raise invalid("outputs", f"a name for each of {array.shape[1]} outputs", outputs)
    named = () if outputs is None else tuple(visible(str(name)) for name in outputs)
    if len(named) != array.shape[1] and not (outputs is None and array.shape[1] == 1):
        raise invalid("outputs", f"a name for each of {array.shape[1]} outputs", outputs)
    return Bars(names, array, named, visible(unit) if unit else "")
