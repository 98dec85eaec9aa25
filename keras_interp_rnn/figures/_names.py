"""Names of symbols, escaped for Matplotlib."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from keras_interp_rnn._results import visible

PITCH = 1.15 / 72
"""Inches of a one-character name along an axis, per point of its font; the widest character is an em."""


def plain(name: str) -> str:
    """A name on one line with every character visible; a single dollar sign is kept."""
    # Two dollar signs would start mathematics.
    return escaped(name) if name.count("$") > 1 else visible(name)


def name_ticks(axis: Any, places: Iterable[float], names: Sequence[str], fontsize: float | None = None) -> None:
    """Labels the ticks of the x axis with names, rotated if they have more than one character."""
    axis.set_xticks(list(places), names, fontsize=fontsize)
    for tick, name in zip(axis.get_xticklabels(), names, strict=True):
        tick.set_rotation(90 if len(name.strip()) > 1 else 0)


def beyond(inches: float, count: int, fontsize: float) -> float:
    """Inches by which an axis of this length must grow for `count` names to fit side by side."""
    return max(0.0, count * fontsize * PITCH - inches)


def escaped(name: str) -> str:
    """A name on one line with every dollar sign escaped, for use inside longer texts."""
    return visible(name).replace("$", r"\$")
