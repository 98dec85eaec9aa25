"""Drawings of results as SVG."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from keras_interp_rnn._palette import BLUE, GREY, RED
from keras_interp_rnn.analysis import Trace
from keras_interp_rnn.automata import DFA, Certificate, Extraction

MAX_STEPS, MAX_ENTRIES = 60, 24
"""Steps and entries that a heat map shows, the first ones."""
CELL = 12
"""Pixels of one number in a heat map."""


@functools.singledispatch
def as_svg(result: Any) -> str:
    """The drawing of a result."""
    raise TypeError(
        f"Automata, extractions, certificates and traces have a drawing. Received: {type(result).__name__}. Save it as "
        ".html or .txt."
    )


@as_svg.register
def automaton(dfa: DFA) -> str:
    """The automaton."""
    return dfa.to_svg()


@as_svg.register
def extraction(result: Extraction) -> str:
    """The automaton, its states named by their centroids."""
    return result.dfa.to_svg([str(centroid) for centroid in result.centroids])


@as_svg.register
def certificate(result: Certificate) -> str:
    """The automaton that the network follows, its states named by their centroids."""
    return result.path.to_svg([str(centroid) for centroid in result.centroids])


@as_svg.register
def trace(traced: Trace) -> str:
    """The state over the steps of the first sequence."""
    name = "h" if "h" in traced else next(iter(traced))
    return heat_map(of_first_sequence(traced[name]))


def of_first_sequence(values: NDArray[Any]) -> NDArray[np.float64]:
    """(time, entries) of the first sequence of a quantity (batch, time, ...)."""
    first = np.asarray(values, np.float64)[0]
    return first.reshape(len(first), -1)


def heat_map(values: ArrayLike) -> str:
    """A grid of numbers: blue above zero, red below, the stronger the larger; grey where there is none.

    Full colour stands for 1, as most quantities of a cell lie in [-1, 1]; or for the largest absolute value above 1.

    Args:
        values: (time, entries); time runs from left to right. Each cell has its number as a tooltip.
    """
    array = np.asarray(values, np.float64)
    cut = array[:MAX_STEPS, :MAX_ENTRIES]
    scale = float(np.nanmax(np.abs(cut), initial=1.0))
    cells = []
    for t, row in enumerate(cut):
        for i, value in enumerate(row.tolist()):
            known = np.isfinite(value)
            color, opacity = (BLUE if value > 0 else RED, abs(value) / scale) if known else (GREY, 0.3)
            cells.append(
                f'<rect x="{t * CELL}" y="{i * CELL}" width="{CELL}" height="{CELL}" fill="{color}" '
                f'fill-opacity="{opacity:.3f}"><title>step {t}, entry {i}: {value:.4g}</title></rect>'
            )
    width, height = cut.shape[0] * CELL, cut.shape[1] * CELL
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'role="img" aria-label="{cut.shape[0]} of {len(array)} steps, {cut.shape[1]} of {array.shape[1]} entries">'
        f"{''.join(cells)}</svg>"
    )
