"""Drawings as SVG: maps, bars, lines and points."""

from __future__ import annotations

import html
import textwrap
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from keras_interp_rnn._results.names import AGAINST, FOR, GREY, INK, LINES, PAPER, nth, signed
from keras_interp_rnn._results.names import cut as shortened
from keras_interp_rnn._results.table import Table, written
from keras_interp_rnn._types import Array

MAX_STEPS, MAX_ENTRIES = 60, 24
"""Maximum numbers of steps and entries that a heat map shows."""
CELL, LARGE = 12, (46, 24)
"""Side of a cell of a heat map, in pixels; width and height of one with a number."""
HALF = 0.6
"""Opacity of a cell above which its number is white."""
MAX_NAME = 30
"""Maximum number of characters of the name of a row."""
MAX_BARS = 40
"""Maximum number of bars in a drawing, besides those of the base."""
CAPTION = 72
"""Maximum number of characters of a line of a caption."""
FONT = "DejaVu Sans, Arial, sans-serif"
"""Fonts of names and numbers; widths are counted for the first one."""


Lines = Sequence[tuple[int, str, tuple[tuple[float, float], ...], float]]
"""For each symbol its number, its name, the ends of its line and its fixed point."""


def phase_lines(logits: ArrayLike, changes: ArrayLike, lines: Lines) -> str:
    """The change of a logit against the logit before: the line of each symbol, and a ring at its fixed point.

    Args:
        logits, changes: of all points, which give the axes their range.
    """
    width, height, edge = 420, 320, 24
    before, change = np.asarray(logits, np.float64), np.asarray(changes, np.float64)
    low, high = float(before.min()), float(before.max())
    reach = max(float(np.abs(change).max()), 1e-300)

    def place(logit: float, change: float) -> tuple[float, float]:
        across = (logit - low) / max(high - low, 1e-300)
        return edge + across * (width - 2 * edge), height / 2 - change / reach * (height / 2 - edge)

    drawn = []
    for symbol, name, ends, fixed in lines:
        color, title = LINES[symbol % len(LINES)], f"<title>{html.escape(name)}</title>"
        (x0, y0), (x1, y1) = (place(*end) for end in ends)
        line = f'x1="{x0:.1f}" y1="{y0:.1f}" x2="{x1:.1f}" y2="{y1:.1f}"'
        drawn.append(f'<line {line} stroke="{color}" stroke-width="2">{title}</line>')
        drawn.append(
            f'<text x="{x1:.1f}" y="{y1 - 4:.1f}" text-anchor="end" font-size="11" fill="{INK}">'
            f"{html.escape(name)}</text>"
        )
        if low <= fixed <= high:
            x, y = place(fixed, 0.0)
            drawn.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="none" stroke="{color}" stroke-width="2"/>')
    middle = height / 2
    low_end = _label(edge, height - 4, f"logit {low:.2f}", "start")
    high_end = _label(width - edge, height - 4, f"{high:.2f}", "end")
    axis = f'<line x1="{edge}" y1="{middle}" x2="{width - edge}" y2="{middle}" stroke="{GREY}"/>'
    caption = f"Change of the logit, up to {reach:.3g}, against the logit, {low:.3g} to {high:.3g}"
    return _svg(
        width, height, caption, [axis, *drawn, low_end, high_end, _label(4, 12, f"change {reach:+.2f}", "start")]
    )


def heat_map(
    values: ArrayLike,
    names: Sequence[str],
    *,
    column: str = "step",
    least: float = 1.0,
    labelled: bool = False,
    columns: Sequence[str] = (),
    title: str = "",
    form: str = "",
    legend: str = "",
) -> str:
    """A grid of numbers: blue above zero, orange below, stronger for larger numbers, grey for NaN and infinities.

    Args:
        values: (time, entries); time runs from left to right. Each cell has its number as a tooltip.
        names: of the entries. column: what the cells of one column belong to; columns count from 1.
        least: least absolute value of full colour, which is that of the largest number above it. Most quantities of a
            cell lie in [-1, 1].
        labelled: whether the rows have their names at the left. columns: names of the columns, below them.
        title: what was found, above the map. form: of numbers in the cells, which are then large; "" for none.
        legend: what a number is, below the map.
    """
    array = np.asarray(values, np.float64)
    cut = array[:MAX_STEPS, :MAX_ENTRIES]
    wide, high = LARGE if form else (CELL, CELL)
    scale = float(np.nanmax(np.abs(cut), initial=least)) or 1.0
    cells = []
    for t, row in enumerate(cut):
        for i, value in enumerate(row.tolist()):
            known = np.isfinite(value)
            color, opacity = (signed(value), abs(value) / scale) if known else (GREY, 0.3)
            place = f"{nth(column, t)}, {columns[t]}" if columns else nth(column, t)
            tip = html.escape(f"{place}, {names[i]}: {value:.4g}")
            cells.append(
                f'<rect x="{t * wide}" y="{i * high}" width="{wide}" height="{high}" fill="{color}" '
                f'fill-opacity="{opacity:.3f}"><title>{tip}</title></rect>'
            )
            if form:
                ink = PAPER if opacity > HALF else INK
                number = written(value, form)
                cells.append(_label(t * wide + wide / 2, i * high + high - 7, number, "middle", color=ink))
    width, height = cut.shape[0] * wide, cut.shape[1] * high
    if labelled:
        left = 14 + 7 * min(MAX_NAME, max(map(len, names[:MAX_ENTRIES]), default=0))
        cells = [f'<g transform="translate({left})">{"".join(cells)}</g>']
        for i, name in enumerate(names[: cut.shape[1]]):
            cells.append(_label(left - 6, i * high + high / 2 + 4, shortened(name, MAX_NAME), "end"))
        width += left
    if columns:
        left = width - cut.shape[0] * wide
        shown = [shortened(name, MAX_NAME) for name in columns[: cut.shape[0]]]
        for t, name in enumerate(shown):
            turned = f'transform="translate({left + (t + 0.5) * wide + 4} {height + 6}) rotate(-90)" text-anchor="end"'
            cells.append(f'<text {turned} font-size="11" fill="{INK}">{html.escape(name)}</text>')
        height += 12 + 7 * max(map(len, shown), default=0)
    for line in textwrap.wrap(legend, CAPTION):
        height += 16
        cells.append(_label(8, height, line, "start"))
        width = max(width, 16 + int(6.6 * len(line)))
    height += 8 * bool(legend)
    caption = f"{cut.shape[0]} of {len(array)} {column}s, {cut.shape[1]} of {array.shape[1]} entries"
    return _titled(title, width, height, cells) if title else _svg(width, height, caption, cells)


def bar(part: float, *, both: bool = False, outlined: bool = False, size: int = 120) -> str:
    """A bar for a number in [-1, 1]; hidden from screen readers, which read the number next to it.

    Args:
        both: whether there are bars of both signs, which grow from an axis in the middle. outlined: of a base.
        size: of a bar of full length, and of both directions, in pixels.
    """
    known = min(max(part, -1.0), 1.0) if np.isfinite(part) else 0.0
    full, axis = (size / 2, size / 2) if both else (size, 0)
    long = full * abs(known)
    look = f'fill="none" stroke="{INK}"' if outlined else f'fill="{signed(known)}"'
    line = f'<path d="M{axis:g} 0V12" stroke="{GREY}"/>' if both else ""
    edges = f"M{axis:g} 1h{long * np.sign(known):.1f}v10H{axis:g}z"
    return f'<svg width="{size}" height="12" aria-hidden="true">{line}<path d="{edges}" {look}/></svg>'


def bars(table: Table) -> str:
    """The bars of a table with their names, as a drawing of its own.

    Raises:
        ValueError: for a table without bars.
    """
    parts, column = table.bar_parts(), table.bar_column
    if parts is None or column is None:
        raise ValueError(f"A table must have bars to be drawn. Received: {table.caption!r}. Save it as .csv or .html.")
    rows = table.strongest(MAX_BARS).tolist()
    words = [column for column in table.columns if column.is_text and column.name]
    names = [table.between.join(filter(None, (column.cell(row) for column in words))) for row in rows]
    numbers = [column.cell(row) for row in rows]
    left, right = (max(40, 12 + 7 * min(MAX_NAME, max(map(len, each), default=0))) for each in (names, numbers))
    drawn, step, long, both = [], 18, 240, bool((parts[rows] < 0).any())
    height = step * len(rows) + 20
    for place, row in enumerate(rows):
        y = place * step
        drawn.append(_label(left - 6, y + 10, shortened(names[place], MAX_NAME), "end"))
        piece = bar(float(parts[row]), both=both, outlined=row < table.base, size=long)
        drawn.append(f'<g transform="translate({left} {y})">{piece[piece.index(">") + 1 : -len("</svg>")]}</g>')
        drawn.append(_label(left + long + 6, y + 10, numbers[place], "start"))
    drawn.append(_label(left, height - 5, f"{column.heading}{'; blue: above 0, orange: below' * both}", "start"))
    return _titled(table.caption, left + long + right, height, drawn)


def _titled(title: str, width: float, height: float, parts: Sequence[str]) -> str:
    """A drawing below a sentence."""
    lines = textwrap.wrap(title, CAPTION)
    top, across = 14 + 17 * len(lines), 16 + int(7.2 * max(map(len, lines)))
    above = [_label(8, 18 + 17 * line, text, "start", 12) for line, text in enumerate(lines)]
    below = f'<g transform="translate(0 {top})">{"".join(parts)}</g>'
    return _svg(max(width, across), top + height, title, [*above, below])


def _svg(width: float, height: float, caption: str, parts: Sequence[str]) -> str:
    """A drawing of parts, with a sentence for screen readers."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'font-family="{FONT}" role="img" aria-label="{html.escape(caption)}">{"".join(parts)}</svg>'
    )


def _label(x: float, y: float, text: str, anchor: str, size: int = 11, color: str = INK) -> str:
    place = f'x="{x:g}" y="{y:g}" text-anchor="{anchor}" font-size="{size}"'
    return f'<text {place} fill="{color}">{html.escape(text)}</text>'


def line_chart(values: Sequence[ArrayLike], names: Sequence[str], *, x: str = "index") -> str:
    """A line for each array over its places, which count from 1; gaps where numbers are not finite."""
    width, height, left, edge = 420, 200, 60, 24
    arrays = [np.asarray(array, np.float64) for array in values]
    known = np.concatenate([array[np.isfinite(array)] for array in arrays])
    low, high = (float(known.min()), float(known.max())) if len(known) else (0.0, 1.0)
    most = max(map(len, arrays))
    drawn = []
    for number, (array, name) in enumerate(zip(arrays, names, strict=True)):
        across = left + np.arange(len(array)) / max(most - 1, 1) * (width - left - edge)
        up = height - edge - (array - low) / max(high - low, 1e-300) * (height - 2 * edge)
        path, pen = "", "M"
        for one, other in zip(across.tolist(), up.tolist(), strict=True):
            path, pen = (f"{path}{pen}{one:.1f} {other:.1f}", "L") if np.isfinite(other) else (path, "M")
        color = LINES[number % len(LINES)]
        drawn.append(f'<path d="{path}" fill="none" stroke="{color}"><title>{html.escape(name)}</title></path>')
        shown = f'<text x="{left + 90 * number}" y="12" font-size="11" fill="{color}">{html.escape(name)}</text>'
        drawn.append(shown)
    ends = [_label(left - 6, edge + 4, f"{high:.4g}", "end"), _label(left - 6, height - edge, f"{low:.4g}", "end")]
    axis = [_label(left, height - 4, f"{x} 1", "start"), _label(width - edge, height - 4, f"{most:,}", "end")]
    return _svg(width, height, f"{', '.join(names)}, {low:.4g} to {high:.4g}", [*drawn, *ends, *axis])


def scatter(horizontal: ArrayLike, vertical: ArrayLike, *, x: str, y: str, title: str = "") -> str:
    """A point for each pair of numbers, blue above zero and orange below.

    Args:
        x, y: what they are. title: what was found, above the points.
    """
    width, height, left, edge = 420, 280, 60, 26
    across, up = np.asarray(horizontal, np.float64), np.asarray(vertical, np.float64)
    (x0, x1), (y0, y1) = (
        (float(v.min()), float(v.max())) if len(v) else (0.0, 1.0) for v in (across, np.append(up, 0.0))
    )

    def place(values: Array, low: float, high: float, start: float, end: float) -> Array:
        return start + (values - low) / max(high - low, 1e-300) * (end - start)

    zero = float(place(np.zeros(1), y0, y1, height - edge, edge)[0])
    drawn = [f'<path d="M{left} {zero:.1f}H{width - edge}" stroke="{GREY}"/>']
    for cx, cy, one in zip(
        place(across, x0, x1, left, width - edge), place(up, y0, y1, height - edge, edge), up, strict=True
    ):
        drawn.append(f'<circle cx="{cx:.1f}" cy="{cy:.1f}" r="2.5" fill="{signed(one)}" fill-opacity="0.6"/>')
    for value, at in {f"{y1:.3g}": edge + 4, f"{y0:.3g}": height - edge, "0": zero + 4}.items():
        drawn.append(_label(left - 6, at, value, "end"))
    drawn += [_label(left, height - 6, f"{x0:.4g}", "start"), _label(width - edge, height - 6, f"{x1:.4g}", "end")]
    drawn += [
        _label((left + width - edge) / 2, height - 6, shortened(x, MAX_NAME), "middle"),
        _label(4, 12, y, "start"),
    ]
    return _titled(title or f"{y} against {x}", width, height, drawn)


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
    frame = f'<rect x="0.5" y="0.5" width="{size - 1}" height="{size - 1}" fill="none" stroke="{GREY}"/>'
    caption = f"{len(array)} fixed points, {int(np.sum(attracts))} of which attract"
    return _svg(size, size, caption, [frame, *drawn])
