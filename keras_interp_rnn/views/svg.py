"""Drawings of results as SVG."""

from __future__ import annotations

import functools
import html
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from keras_interp_rnn._results import AGAINST, FOR, GREY, INK, LINES, nth, signed
from keras_interp_rnn.analysis.patching import Patching
from keras_interp_rnn.analysis.phase_portraits import PhasePortrait
from keras_interp_rnn.analysis.traces import Trace
from keras_interp_rnn.automata import Certificate, MooreMachine, WeightedAutomaton
from keras_interp_rnn.automata.inference import Inference
from keras_interp_rnn.automata.networks import Extraction
from keras_interp_rnn.automata.queries import Learned

MAX_STEPS, MAX_ENTRIES = 60, 24
"""Maximum numbers of steps and entries that a heat map shows."""
CELL = 12
"""Side of a cell of a heat map, in pixels."""


@functools.singledispatch
def as_svg(result: Any) -> str:
    """The drawing of a result."""
    raise TypeError(
        "A drawing must be one of an automaton, an inference, an extraction, a certificate, a trace, a patching "
        f"or a phase portrait. Received: {type(result).__name__}. Save it as .html or .txt."
    )


@as_svg.register(MooreMachine)
@as_svg.register(WeightedAutomaton)
def automaton(machine: MooreMachine | WeightedAutomaton) -> str:
    """The automaton; raises ValueError if it has too many edges."""
    return machine.to_svg()


@as_svg.register
def extraction(result: Extraction) -> str:
    """The automaton, its states named by their centroids; transitions that no word takes are dashed."""
    return result.dfa.to_svg([str(centroid) for centroid in result.centroids], unsupported=result.unsupported or ())


@as_svg.register
def learned(result: Learned) -> str:
    """The automaton."""
    return result.dfa.to_svg()


@as_svg.register
def inference(result: Inference) -> str:
    """The automaton with how often words take its edges; transitions that no word takes are dashed."""
    return result.dfa.to_svg(unsupported=result.unsupported, support=result.support)


@as_svg.register
def certificate(result: Certificate) -> str:
    """The automaton that the network follows, its states named by their centroids."""
    return result.path.to_svg([str(centroid) for centroid in result.centroids])


@as_svg.register
def trace(traced: Trace) -> str:
    """The state of the first layer over the steps of the first sequence."""
    name = next((name for name in traced if name.split("/")[-1] == "h"), next(iter(traced)))
    first = traced[name][0]
    flat = first.reshape(len(first), -1)
    return heat_map(flat, [f"unit {i}" for i in range(flat.shape[1])])


@as_svg.register
def patching(result: Patching) -> str:
    """The shares that each quantity, from top to bottom, restores at each step."""
    return heat_map(result.restored.T, result.names)


@as_svg.register
def phase_lines(portrait: PhasePortrait) -> str:
    """The line of each symbol over the logits that it was read at, its name as a tooltip; a ring at its fixed point."""
    width, height, edge = 420, 320, 24
    low, high = float(portrait.logits.min()), float(portrait.logits.max())
    reach = max(float(np.abs(portrait.changes).max()), 1e-300)

    def place(logit: float, change: float) -> tuple[float, float]:
        across = (logit - low) / max(high - low, 1e-300)
        return edge + across * (width - 2 * edge), height / 2 - change / reach * (height / 2 - edge)

    drawn = []
    for symbol in np.unique(portrait.symbols).tolist():
        logits = portrait.logits[portrait.symbols == symbol]
        ends = np.array([logits.min(), logits.max()])
        changes = portrait.slopes[symbol] * ends + portrait.intercepts[symbol]
        if not np.isfinite(changes).all():
            continue
        color, title = LINES[symbol % len(LINES)], f"<title>{html.escape(portrait.name(symbol))}</title>"
        (x0, y0), (x1, y1) = (place(*end) for end in zip(ends.tolist(), changes.tolist(), strict=True))
        line = f'x1="{x0:.1f}" y1="{y0:.1f}" x2="{x1:.1f}" y2="{y1:.1f}"'
        drawn.append(f'<line {line} stroke="{color}" stroke-width="2">{title}</line>')
        drawn.append(
            f'<text x="{x1:.1f}" y="{y1 - 4:.1f}" text-anchor="end" font-size="11" fill="{INK}">'
            f"{html.escape(portrait.name(symbol))}</text>"
        )
        fixed = float(portrait.fixed_points[symbol])
        if low <= fixed <= high:
            x, y = place(fixed, 0.0)
            drawn.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="none" stroke="{color}" stroke-width="2"/>')
    middle = height / 2
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'role="img" aria-label="Change of the logit, up to {reach:.3g}, against the logit, {low:.3g} to {high:.3g}">'
        f'<line x1="{edge}" y1="{middle}" x2="{width - edge}" y2="{middle}" stroke="{GREY}"/>{"".join(drawn)}'
        f'<text x="{edge}" y="{height - 4}" font-size="11" fill="{INK}">logit {low:.2f}</text>'
        f'<text x="{width - edge}" y="{height - 4}" text-anchor="end" font-size="11" fill="{INK}">{high:.2f}</text>'
        f'<text x="4" y="12" font-size="11" fill="{INK}">change {reach:+.2f}</text></svg>'
    )


def heat_map(values: ArrayLike, names: Sequence[str], *, column: str = "step", least: float = 1.0) -> str:
    """A grid of numbers: blue above zero, orange below, stronger for larger numbers, grey for NaN and infinities.

    Args:
        values: (time, entries); time runs from left to right. Each cell has its number as a tooltip.
        names: of the entries. column: what the cells of one column belong to; columns count from 1.
        least: least absolute value of full colour, which is that of the largest number above it. Most quantities of a
            cell lie in [-1, 1].
    """
    array = np.asarray(values, np.float64)
    cut = array[:MAX_STEPS, :MAX_ENTRIES]
    scale = float(np.nanmax(np.abs(cut), initial=least)) or 1.0
    cells = []
    for t, row in enumerate(cut):
        for i, value in enumerate(row.tolist()):
            known = np.isfinite(value)
            color, opacity = (signed(value), abs(value) / scale) if known else (GREY, 0.3)
            title = html.escape(f"{nth(column, t)}, {names[i]}: {value:.4g}")
            cells.append(
                f'<rect x="{t * CELL}" y="{i * CELL}" width="{CELL}" height="{CELL}" fill="{color}" '
                f'fill-opacity="{opacity:.3f}"><title>{title}</title></rect>'
            )
    width, height = cut.shape[0] * CELL, cut.shape[1] * CELL
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'role="img" aria-label="{cut.shape[0]} of {len(array)} {column}s, {cut.shape[1]} of {array.shape[1]} entries">'
        f"{''.join(cells)}</svg>"
    )


def bar(share: float, color: str = FOR) -> str:
    """A bar whose length is a share in [0, 1]; hidden from screen readers, which read the number next to it."""
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" width="120" height="12" viewBox="0 0 120 12" aria-hidden="true">'
        f'<rect width="{120 * share if np.isfinite(share) else 0:.1f}" height="12" fill="{color}"/></svg>'
    )


def points(states: ArrayLike, attracts: ArrayLike) -> str:
    """States on their first two principal axes: a blue disc for a point that attracts, an orange square for others.

    Args:
        states: (points, s). Each has its number as a tooltip.
        attracts: bool (points,).
    """
    array = np.asarray(states, np.float64)
    centred = array - array.mean(axis=0, keepdims=True) if len(array) else array
    axes = np.linalg.svd(centred, full_matrices=False)[2][:2] if centred.size else np.zeros((0, array.shape[1]))
    flat = np.zeros((len(array), 2))
    flat[:, : len(axes)] = centred @ axes.T
    size, edge = 320, 20
    reach = max(float(np.abs(flat).max(initial=0)), 1e-300)
    places = size / 2 + flat * (size / 2 - edge) / reach
    drawn = []
    for i, ((x, y), attractor) in enumerate(zip(places.tolist(), np.asarray(attracts).tolist(), strict=True)):
        title = f"<title>{nth('point', i)}, {'attracts' if attractor else 'does not attract'}</title>"
        shape = (
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="6" fill="{FOR}">{title}</circle>'
            if attractor
            else f'<rect x="{x - 5:.1f}" y="{y - 5:.1f}" width="10" height="10" fill="none" stroke="{AGAINST}" '
            f'stroke-width="2">{title}</rect>'
        )
        drawn.append(shape)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{size}" height="{size}" viewBox="0 0 {size} {size}" '
        f'role="img" aria-label="{len(array)} fixed points, {int(np.sum(attracts))} of which attract">'
        f'<rect x="0.5" y="0.5" width="{size - 1}" height="{size - 1}" fill="none" stroke="{GREY}"/>'
        f"{''.join(drawn)}</svg>"
    )
