"""Shares of one feature against its values: whether they rise where the feature is larger."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from keras_interp_rnn._results import Column, Result, Table, counted, numbers, quoted, scatter
from keras_interp_rnn._types import Array
from keras_interp_rnn.analysis.attribution.wording import unit_of

STRONG, WEAK = 0.7, 0.3
"""Rank correlations from which shares rise or fall with the values, and below which they do not."""


@dataclass(frozen=True, eq=False, repr=False)
class ShareDependence(Result):
    r"""The shares of one feature at all steps of all sequences that are read, and the values that were read there.

    Attributes:
        feature: its name, or "feature 3". output: the name of the explained output.
        sequences, steps: (n,), indices from 0. values, shares: (n,).
        unit: as of `Attribution`.

    Example: see `Attribution.dependence`.
    """

    feature: str
    output: str
    sequences: NDArray[np.int64]
    steps: NDArray[np.int64]
    values: Array
    shares: Array
    unit: str = ""

    @property
    def rank_correlation(self) -> float:
        """Spearman's, of values and shares; NaN where one of both does not vary."""
        return rank_correlation(self.values, self.shares)

    def table(self) -> Table:
        """A row for each step of each sequence: the value of the feature, and its share."""
        ranks, unit = self.rank_correlation, unit_of(self.unit)
        count = f"{counted(len(self.values), 'step')} of {counted(len(np.unique(self.sequences)), 'sequence')}"
        caption = f"shares of {quoted(self.feature)} in {count}; they or its values do not vary"
        if np.isfinite(ranks):
            span = f"from {self.shares.min():+.3g} to {self.shares.max():+.3g}{f' {unit}' if unit else ''}"
            words = f"{_in_words(ranks)}, {span}: rank correlation {ranks:+.2f}"
            caption = f"shares of {quoted(self.feature)} {words} over {count}"
        return Table(
            caption,
            (
                Column("sequence", (self.sequences + 1).tolist(), form="d"),
                Column("step", (self.steps + 1).tolist(), form="d"),
                numbers(self.feature, self.values, ".4g"),
                numbers(f"share of {self.output}", self.shares, "+.3g", unit=unit),
            ),
            ("by path integral: one point for each step; what it does together with other features is in its spread",),
            bars=f"share of {self.output}",
            drawings=(self._points,),
        )

    def drawing(self) -> str:
        """A point for each step: its share against the value of the feature."""
        return self._points(self.table().caption)

    def _points(self, title: str = "") -> str:
        unit = unit_of(self.unit)
        share = f"share of {self.output}{f', {unit}' if unit else ''}"
        return scatter(self.values, self.shares, x=self.feature, y=share, title=title)


def _in_words(correlation: float) -> str:
    if abs(correlation) < WEAK:
        return "neither rise nor fall with its value"
    return f"{'' if abs(correlation) >= STRONG else 'tend to '}{'rise' if correlation > 0 else 'fall'} with its value"


def correlation(first: Array, second: Array) -> float:
    """Pearson's; NaN where one of both does not vary."""
    if not len(first):
        return np.nan
    a, b = first - first.mean(), second - second.mean()
    scale = np.sqrt((a @ a) * (b @ b))
    return float(np.clip(a @ b / scale, -1, 1)) if scale > 0 else np.nan


def rank_correlation(first: Array, second: Array) -> float:
    """Spearman's; NaN where one of both does not vary."""
    return correlation(rankdata(first), rankdata(second))
