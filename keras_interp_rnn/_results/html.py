"""Tables as HTML: an element for notebooks, and a page for a file. Everything that comes from a user is escaped."""

from __future__ import annotations

import html

from keras_interp_rnn._results import drawings
from keras_interp_rnn._results.table import Table

MAX_ROWS = 200
"""Maximum number of rows of a table."""

LEFT = ' style="text-align:left"'


def as_element(table: Table) -> str:
    """One element: the caption, the notes, the drawings, the rows and the parts."""
    sentences = "".join(f"<p>{html.escape(line)}</p>" for line in (table.caption, *table.notes) if line)
    legend = f"<figcaption>{html.escape(table.legend)}</figcaption>" * bool(table.legend)
    drawn = "".join(f'<figure><div class="drawn">{drawing()}</div>{legend}</figure>' for drawing in table.drawings)
    outline = "" if len(table) or not table.outline else f"<pre>{html.escape(chr(10).join(table.outline))}</pre>"
    parts = "".join(map(as_element, table.parts))
    return f"<div>{sentences}{drawn}{outline}{_rows(table)}{parts}</div>"


def _rows(table: Table) -> str:
    if not table.columns:
        return ""
    parts = table.bar_parts()
    both = parts is not None and bool((parts < 0).any())
    chosen = table.strongest(MAX_ROWS).tolist()
    heads = []
    for column in table.columns:
        look = LEFT if column.is_text else ""
        heads.append(f'<th scope="col"{look}>{html.escape(column.heading)}</th>')
        heads += ['<th scope="col"></th>'] if column is table.bar_column else []
        heads += [f'<th scope="col">± {html.escape(column.heading)}</th>'] if column.error is not None else []
    body = []
    for row in chosen:
        cells = []
        for column in table.columns:
            look = LEFT if column.is_text else ""
            cells.append(f"<td{look}>{html.escape(column.cell(row))}</td>")
            if column is table.bar_column and parts is not None:
                drawn = drawings.bar(float(parts[row]), both=both, outlined=row < table.base)
                cells.append(f"<td>{drawn}</td>")
            if column.error is not None:
                cells.append(f"<td>{column.error[row]:.2g}</td>")
        body.append(f"<tr>{''.join(cells)}</tr>")
    more = len(table) - len(chosen)
    left_out = f"<p>{more:,} more rows</p>" if more > 0 else ""
    return f"<table><thead><tr>{''.join(heads)}</tr></thead><tbody>{''.join(body)}</tbody></table>{left_out}"
