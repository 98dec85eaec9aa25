"""Weighted automata as SVG: edges have symbols and weights, states their initial and final weights.

Plain tables in, text out, on the layout that drawings of deterministic automata use. A state with a final weight has a
double ring and the weight beneath its name. One state that alone starts, with the weight 1, has an arrow; else a
dashed circle leads to every state with an initial weight, which stands on the edge.
"""

from __future__ import annotations

import html
import zlib
from collections.abc import Mapping, Sequence

from keras_interp_rnn._results import INK, LINE, visible
from tensorboard_plugins.interp_rnn import layout

MAX_EDGES = layout.CROWDED // 2
"""Edges, initial weights among them, beyond which labels could not be read."""

INSIDE = 2 * layout.RADIUS - 8
"""Width of the text in a state."""

Edge = tuple[int, int]


def svg(
    edges: Mapping[Edge, Sequence[tuple[str, float]]],
    initial: Mapping[int, float],
    final: Mapping[int, Sequence[float]],
    names: Sequence[str],
) -> str:
    """Draws a weighted automaton.

    Args:
        edges: (state, next state) -> the symbols that lead from one to the other, each with its weight.
        initial: states -> initial weights that are not 0.
        final: states -> final weights, one for each output, that are not all 0.
        names: one for each state.

    Returns:
        An SVG element.

    Raises:
        ValueError: for more than `MAX_EDGES` edges.

    Example:

    >>> drawing = svg({(0, 1): [("a", 0.5)], (1, 0): [("a", 1), ("b", 1)]}, {0: 1}, {1: [0.25]}, ["even", "odd"])
    >>> drawing[:4], ">a:0.5</text>" in drawing, ">a, b</text>" in drawing, "final weight 0.25" in drawing
    ('<svg', True, True, True)
    """
    apart = list(initial.values()) != [1]
    count = len(edges) + len(initial)
    if count > MAX_EDGES:
        raise ValueError(
            f"A drawn weighted automaton must have at most {MAX_EDGES} edges, initial weights among them. Received: "
            f"{count}, of {len(names)} states. Minimize it, or set weights to 0 that hardly matter."
        )
    labels = {edge: _label(weights) for edge, weights in edges.items()}
    titles = {edge: ", ".join(f"{visible(s)}:{weight:g}" for s, weight in weights) for edge, weights in edges.items()}
    source = len(names)
    if apart:
        for state, weight in initial.items():
            labels[source, state] = titles[source, state] = number(weight)
    start = source if apart else next(iter(initial))
    points = layout.points(labels, [start, *range(len(names))])
    routes, (left, top, width, height), _ = layout.route(points, labels, None if apart else start)
    marker = f"weighted-{zlib.crc32(repr((edges, initial, final, names)).encode()):08x}"
    arrow = f'marker-end="url(#{marker})"'
    shapes = [f'<path d="{route.path}" fill="none" stroke="{LINE}" {arrow}/>' for route in routes.values()]
    x, y = points[start]
    if apart:
        shapes.append(
            f'<g><title>initial weights</title><circle cx="{x:.1f}" cy="{y:.1f}" r="{layout.RADIUS:g}" fill="white" '
            f'stroke="{LINE}" stroke-dasharray="3 3"/><text x="{x:.1f}" y="{y:.1f}" fill="{INK}" font-size="10">start'
            "</text></g>"
        )
    else:
        path = f"M{x - layout.RADIUS - layout.ARROW:.1f} {y:.1f}H{x - layout.RADIUS:.1f}"
        shapes.append(f'<path d="{path}" stroke="{INK}" {arrow}/>')
    for edge, route in routes.items():
        shapes.append(
            f'<g><title>{html.escape(titles[edge])}</title><text x="{route.x}" y="{route.y}" paint-order="stroke" '
            f'stroke="white" stroke-width="8" stroke-linejoin="round" fill="{INK}">{html.escape(labels[edge])}</text>'
            "</g>"
        )
    for state, name in enumerate(names):
        shapes.append(_state(*points[state], name, initial.get(state, 0.0), final.get(state, ())))
    head = (
        f'<defs><marker id="{marker}" viewBox="0 0 8 8" refX="7.5" refY="4" markerWidth="8" markerHeight="8" '
        f'orient="auto-start-reverse"><path d="M0 0.5L8 4L0 7.5z" fill="{LINE}"/></marker></defs>'
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="{left:.1f} {top:.1f} {width:.1f} {height:.1f}" font-family="sans-serif" font-size="12" '
        'text-anchor="middle" dominant-baseline="central" role="img" '
        f'aria-label="weighted automaton of {len(names)} states">'
        f'{head}<rect x="{left:.1f}" y="{top:.1f}" width="100%" height="100%" fill="white"/>{"".join(shapes)}</svg>'
    )


def number(weight: float) -> str:
    """A weight with three digits."""
    return f"{weight:.3g}".replace("e+0", "e").replace("e-0", "e-").replace("e+", "e")


def _label(weights: Sequence[tuple[str, float]]) -> str:
    """Symbols with their weights; without, where all are 1."""
    texts = [visible(symbol) for symbol, _ in weights]
    shown = {number(weight) for _, weight in weights}
    if shown == {"1"}:
        return layout.shortened(texts)
    if len(shown) == 1:
        return f"{layout.shortened(texts)}:{shown.pop()}"
    return layout.shortened([f"{text}:{number(weight)}" for text, (_, weight) in zip(texts, weights, strict=True)])


def _state(x: float, y: float, name: str, initial: float, final: Sequence[float]) -> str:
    ends = ", ".join(f"{weight:g}" for weight in final)
    title = f"state {name}"
    title += f", initial weight {initial:g}" if initial else ""
    title += f", final weight{'s' * (len(final) > 1)} {ends}" if ends else ""
    shapes = f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{layout.RADIUS:g}" fill="white" stroke="{INK}"/>'
    if not ends:
        return f"<g><title>{html.escape(title)}</title>{shapes}{_text(x, y, name, 12)}</g>"
    shapes += f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{layout.RADIUS - 3:g}" fill="none" stroke="{INK}"/>'
    if len(final) == 1 and final[0] != 1:
        shapes += _text(x, y - 5, name, 10) + _text(x, y + 6, number(final[0]), 9)
    else:
        shapes += _text(x, y, name, 12)
    return f"<g><title>{html.escape(title)}</title>{shapes}</g>"


def _text(x: float, y: float, text: str, largest: float) -> str:
    """Within a state: smaller where it is long, or cut."""
    size = min(largest, max(7.0, 12 * INSIDE / max(layout.text_width(text), 1)))
    shown = text
    while layout.text_width(shown) * size / 12 > INSIDE:
        shown = f"{shown.rstrip('…')[:-1]}…"
    return f'<text x="{x:.1f}" y="{y:.1f}" fill="{INK}" font-size="{size:.3g}">{html.escape(shown)}</text>'
