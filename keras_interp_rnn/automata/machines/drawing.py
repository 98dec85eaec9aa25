"""Automata as SVG: states that accept have a double ring, or states their output; the start has an arrow.

Plain tables in, text out. Where everything stands is computed by the layout that the TensorBoard plugin uses too.
"""

from __future__ import annotations

import html
import zlib
from collections.abc import Collection, Hashable, Mapping, Sequence

from keras_interp_rnn._results import INK, LINE, visible
from tensorboard_plugins.interp_rnn import layout

DASHED = ' stroke-dasharray="5 4"'


def svg(
    edges: Mapping[layout.Edge, Sequence[Hashable]],
    accepting: Collection[int],
    start: int,
    names: Sequence[str],
    outputs: Sequence[Hashable] | None = None,
    unsupported: Collection[tuple[int, Hashable]] = (),
) -> str:
    """Draws an automaton.

    Args:
        edges: (state, next state) -> the symbols that lead from one to the other.
        accepting: states.
        start: a state.
        names: one for each state.
        outputs: of a Moore machine, one for each state.
        unsupported: (state, symbol) of transitions that no word takes. They are in parentheses; an edge that has no
            other is dashed.

    Returns:
        An SVG element.

    Example:

    >>> drawing = svg({(0, 1): "ab", (1, 0): "a"}, accepting={1}, start=0, names=["even", "odd"])
    >>> drawing[:4], ">a, b</text>" in drawing, "state odd, accepting" in drawing
    ('<svg', True, True)
    """
    pairs = {*unsupported}
    taken = {edge: [s for s in symbols if (edge[0], s) not in pairs] for edge, symbols in edges.items()}
    labels = {edge: _parts(symbols, taken[edge]) for edge, symbols in edges.items()}
    # Drawings on one page must not share an id.
    marker = f"arrow-{zlib.crc32(repr((sorted(labels.items()), start, list(names))).encode()):08x}"
    points = layout.points(labels, [start, *range(len(names))])
    routes, (left, top, width, height), _ = layout.route(points, labels, start)
    shapes = [
        f'<path d="{route.path}" fill="none" stroke="{LINE}"{"" if taken[edge] else DASHED} '
        f'marker-end="url(#{marker})"/>'
        for edge, route in routes.items()
    ]
    x, y = points[start]
    shapes.append(
        f'<path d="M{x - layout.RADIUS - layout.ARROW:.1f} {y:.1f}H{x - layout.RADIUS:.1f}" stroke="{INK}" '
        f'marker-end="url(#{marker})"/>'
    )
    for edge, route in routes.items():
        shapes.append(
            f'<text x="{route.x}" y="{route.y}" paint-order="stroke" stroke="white" stroke-width="8" '
            f'stroke-linejoin="round" fill="{INK}">{html.escape(labels[edge])}</text>'
        )
    for state, name in enumerate(names):
        output = None if outputs is None else visible(str(outputs[state]))
        shapes.append(_state(*points[state], name, state in accepting, output))
    arrow = (
        f'<defs><marker id="{marker}" viewBox="0 0 8 8" refX="7.5" refY="4" markerWidth="8" markerHeight="8" '
        f'orient="auto-start-reverse"><path d="M0 0.5L8 4L0 7.5z" fill="{LINE}"/></marker></defs>'
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="{left:.1f} {top:.1f} {width:.1f} {height:.1f}" font-family="sans-serif" font-size="12" '
        f'text-anchor="middle" dominant-baseline="central" role="img" aria-label="automaton of {len(names)} states">'
        f'{arrow}<rect x="{left:.1f}" y="{top:.1f}" width="100%" height="100%" fill="white"/>{"".join(shapes)}</svg>'
    )


def _state(x: float, y: float, name: str, accepts: bool, output: str | None) -> str:
    says = f"output {output}" if output is not None else "accepting" if accepts else "rejecting"
    title = html.escape(f"state {name}, {says}")
    rings = f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{layout.RADIUS:g}" fill="white" stroke="{INK}"/>'
    if accepts:
        rings += f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{layout.RADIUS - 4:g}" fill="none" stroke="{INK}"/>'
    if output is not None:
        rings += f'<path d="M{x - layout.RADIUS:.1f} {y:.1f}h{2 * layout.RADIUS:g}" stroke="{LINE}"/>'
    texts = "".join(
        f'<text x="{x:.1f}" y="{y + below:.1f}" fill="{INK}" font-size="{size:g}">{html.escape(text)}</text>'
        for text, below, size in layout.inside(name, output)
    )
    return f"<g><title>{title}</title>{rings}{texts}</g>"


def _parts(symbols: Sequence[Hashable], taken: Sequence[Hashable]) -> str:
    """The symbols of one edge, those that no word takes in parentheses."""
    others = [symbol for symbol in symbols if symbol not in taken]
    return " ".join([_label(taken)] * bool(taken) + [f"({_label(others)})"] * bool(others))


def _label(symbols: Sequence[Hashable]) -> str:
    """The symbols of one edge; letters or digits that follow each other are one range."""
    texts = [visible(str(symbol)) for symbol in symbols]
    if len(texts) > 3 and all(len(text) == 1 for text in texts):
        runs: list[list[str]] = []
        for text in sorted(texts):
            if runs and ord(text) == ord(runs[-1][-1]) + 1 and text.isalnum() and runs[-1][-1].isalnum():
                runs[-1].append(text)
            else:
                runs.append([text])
        texts = [f"{run[0]}-{run[-1]}" if len(run) > 2 else ", ".join(run) for run in runs]
    return layout.shortened(texts)
