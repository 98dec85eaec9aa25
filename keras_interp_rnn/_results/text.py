"""Tables as text for a terminal: columns line up, and bars of both signs grow from one axis."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np

from keras_interp_rnn._results.names import cut
from keras_interp_rnn._results.table import Column, Table, written
from keras_interp_rnn._types import Array, Ints

NAME, HEAD = 30, 14
"""Maximum widths of a text in a column, and of the heading of numbers before the last column."""
MARGIN = 11
"""Width of the margin of an estimate."""
BAR = 24
"""Maximum number of signs of a bar, half of them to each side of an axis."""


def as_lines(table: Table, *, width: int = BAR) -> list[str]:
    """The caption, the notes, the outline or the rows, and the parts after an empty line each.

    Of many rows the strongest are shown, and the sum of the others where sums have a meaning.

    Args:
        width: of a bar, in signs.
    """
    lines = [table.caption, *table.notes, *(table.outline or _grid(table, width))]
    for part in table.parts:
        lines += ["", *as_lines(part, width=width)]
    return [line.rstrip() for line in lines if line or len(lines) > 1]


def _grid(table: Table, width: int) -> list[str]:
    if not len(table) or table.folded:
        return []
    chosen = table.strongest(table.rows)
    others = np.setdiff1d(np.arange(len(table)), chosen)
    summed = len(others) > 0 and any(column.sums for column in table.columns)
    used = [c for c in table.columns if not c.is_empty(chosen if c.name else range(len(table)))]
    named = next((i for i, column in enumerate(used) if column.is_text and column.name), 0)
    last = max((i for i, column in enumerate(used) if not column.is_text), default=-1)
    columns = []
    for i, column in enumerate(used):
        cells = [_with_error(column, row) for row in chosen.tolist()]
        if summed:
            cells.insert(table.base, _of_others(column, chosen, others, is_name=i == named))
        alike = sum(cut(other.name, HEAD) == cut(column.name, HEAD) for other in used) > 1
        columns.append(_aligned(column, cells, is_last_number=i == last, is_last=i == len(used) - 1, is_whole=alike))
    parts = table.bar_parts()
    bars = [] if parts is None else _bars(parts[chosen], width)
    if summed and bars:
        bars.insert(table.base, "")
    lines = ["  ".join(cells) for cells in zip(*columns, strict=True)]
    lines = [lines[0], *(f"{line}  {bar}" for line, bar in zip(lines[1:], bars or [""] * len(lines[1:]), strict=True))]
    return lines if summed or not len(others) else [*lines, f"and {len(others):,} more"]


def _with_error(column: Column, row: int) -> str:
    if column.error is None or column.values[row] is None:
        return column.cell(row)
    return _and_margin(column.cell(row), column.error[row])


def _and_margin(number: str, margin: float, bound: str = "") -> str:
    shown = f" ± {bound}{margin:.2g}" if margin else ""
    return f"{number}{shown:{MARGIN}}"


def _of_others(column: Column, chosen: Ints, others: Ints, *, is_name: bool) -> str:
    """The cell of the rows that are left out: how many, their sum, or how many have a mark.

    The total of estimates has no error, so that of a sum is at most that of the rest.
    """
    if is_name:
        return f"{len(others)} others"
    if column.sums:
        total = written(math.fsum(column.values[i] for i in others), column.decimals)
        if column.error is None:
            return total
        errors = np.asarray(column.error)
        margin = min(errors[others].sum(), errors[chosen].sum())
        return _and_margin(total, margin, "≤")
    marks = Counter(column.values[i] for i in others) if column.is_text and not column.name else {}
    return ", ".join(f"{count} {mark}" for mark, count in marks.items() if mark)


def _aligned(column: Column, cells: list[str], *, is_last_number: bool, is_last: bool, is_whole: bool) -> list[str]:
    """The heading and the cells of a column, in one width: texts to the left, numbers to the right.

    Texts in the last column are whole, and headings that would be cut alike. The heading of the last numbers may be
    longer than they are, as nothing but bars follows, and has their unit.
    """
    if column.is_text:
        wide = max(map(len, [column.heading, *cells]))
        wide = wide if is_last else min(wide, NAME)
        return [f"{cut(cell, wide):{wide}}" for cell in [column.heading, *cells]]
    wide = max(map(len, cells))
    if is_last_number:
        wide = max(wide, len(column.heading)) if len(column.heading) <= HEAD else wide
        return [f"{column.heading:>{wide}}", *(f"{cell:>{wide}}" for cell in cells)]
    heading = column.name if is_whole else cut(column.name, max(HEAD, wide))
    wide = max(wide, len(heading))
    return [f"{cell:>{wide}}" for cell in [heading, *cells]]


def _bars(parts: Array, width: int) -> list[str]:
    """Bars for numbers in [-1, 1], from one axis if there are both signs."""
    known = np.where(np.isfinite(parts), np.clip(parts, -1, 1), 0)
    if not (known < 0).any():
        return ["#" * round(width * part) for part in known.tolist()]
    half = width // 2
    return [
        f"{'-' * round(-half * min(part, 0)):>{half}}|{'#' * round(half * max(part, 0))}" for part in known.tolist()
    ]
