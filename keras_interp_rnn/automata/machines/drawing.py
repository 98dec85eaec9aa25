"""Automata as SVG: states that accept have a double ring, or states their output; the start has an arrow.

Plain tables in, text out. Where everything stands is computed by the layout that the TensorBoard plugin uses too.
"""

from __future__ import annotations

import html
import zlib
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence

from keras_interp_rnn._results import INK, LINE, visible
from keras_interp_rnn.automata.machines._deterministic import Deterministic
from tensorboard_plugins.interp_rnn import layout

Drawn = Callable[[float, float], str]
"""Takes the place of a state, and returns its drawing."""


def svg(automaton: Deterministic, names: Sequence[str], unsupported: Collection[tuple[int, Hashable]]) -> str:
    """A deterministic automaton as an SVG element.

    Args:
        automaton: to be drawn.
        names: one for each state.
        unsupported: (state, symbol) of transitions that no word takes. They are in parentheses; an edge that has no
            other is dashed.
    """
    edges = automaton.edges()
    taken = {edge: [s for s in symbols if (edge[0], s) not in unsupported] for edge, symbols in edges.items()}
    labels = {edge: _parts(symbols, taken[edge]) for edge, symbols in edges.items()}
    states = []
    for name, output in zip(names, automaton.outputs, strict=True):
        if automaton._names.accepts:
            title = f"{name}, {'accepting' if output else 'rejecting'}"
            states.append(drawn_state(title, layout.inside(name), ring=bool(output)))
        else:
            shown = visible(str(output))
            states.append(drawn_state(f"{name}, output {shown}", layout.inside(name, shown), ring=False, line=True))
    dashed = [edge for edge, symbols in taken.items() if not symbols]
    return sheet(f"automaton of {len(names)} states", labels, states, automaton.start, dashed=dashed)


def drawn_state(title: str, lines: Sequence[layout.Line], *, ring: bool, line: bool = False) -> Drawn:
    """A state with lines of text, perhaps with a second ring, or with a line between name and output."""

    def drawn(x: float, y: float) -> str:
        shapes = f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{layout.RADIUS:g}" fill="white" stroke="{INK}"/>'
        if ring:
            shapes += f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{layout.RADIUS - 4:g}" fill="none" stroke="{INK}"/>'
        if line:
            shapes += f'<path d="M{x - layout.RADIUS:.1f} {y:.1f}h{2 * layout.RADIUS:g}" stroke="{LINE}"/>'
        texts = "".join(
            f'<text x="{x:.1f}" y="{y + below:.1f}" fill="{INK}" font-size="{size:g}">{html.escape(text)}</text>'
            for text, below, size in lines
        )
        return f"<g><title>{html.escape(f'state {title}')}</title>{shapes}{texts}</g>"

    return drawn


def sheet(
    says: str,
    labels: Mapping[layout.Edge, str],
    states: Sequence[Drawn],
    start: int,
    *,
    arrow: bool = True,
    dashed: Collection[layout.Edge] = (),
    titles: Mapping[layout.Edge, str] | None = None,
) -> str:
    """The drawing of an automaton of any kind.

    Args:
        says: what it is.
        labels: (state, next state) -> the label of the edge.
        states: how each is drawn at its place.
        start: the state on the left.
        arrow: whether an arrow leads to it.
        dashed: edges.
        titles: the tooltip of each edge.
    """
    points = layout.points(labels, [start, *range(len(states))])
    routes, (left, top, width, height), _ = layout.route(points, labels, start if arrow else None)
    drawn = [draw(*points[number]) for number, draw in enumerate(states)]
    # Drawings on one page must not share an id.
    marker = f"arrow-{zlib.crc32(repr((sorted(labels.items()), start, drawn)).encode()):08x}"
    shapes = []
    for edge, route in routes.items():
        style = ' stroke-dasharray="5 4"' if edge in dashed else ""
        shapes.append(f'<path d="{route.path}" fill="none" stroke="{LINE}"{style} marker-end="url(#{marker})"/>')
    if arrow:
        x, y = points[start]
        path = f"M{x - layout.RADIUS - layout.ARROW:.1f} {y:.1f}H{x - layout.RADIUS:.1f}"
        shapes.append(f'<path d="{path}" stroke="{INK}" marker-end="url(#{marker})"/>')
    for edge, route in routes.items():
        title = f"<title>{html.escape(titles[edge])}</title>" if titles else ""
        shapes.append(
            f'<g>{title}<text x="{route.x}" y="{route.y}" paint-order="stroke" stroke="white" stroke-width="8" '
            f'stroke-linejoin="round" fill="{INK}">{html.escape(labels[edge])}</text></g>'
        )
    shapes += drawn
    head = (
        f'<defs><marker id="{marker}" viewBox="0 0 8 8" refX="7.5" refY="4" markerWidth="8" markerHeight="8" '
        f'orient="auto-start-reverse"><path d="M0 0.5L8 4L0 7.5z" fill="{LINE}"/></marker></defs>'
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="{left:.1f} {top:.1f} {width:.1f} {height:.1f}" font-family="sans-serif" font-size="12" '
        f'text-anchor="middle" dominant-baseline="central" role="img" aria-label="{says}">{head}'
        f'<rect x="{left:.1f}" y="{top:.1f}" width="100%" height="100%" fill="white"/>{"".join(shapes)}</svg>'
    )


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
