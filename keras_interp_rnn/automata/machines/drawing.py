"""Automata as SVG: accepting states have a double ring, states of Moore machines their output; the start has an arrow.

`picture` draws weighted automata too. Positions come from the layout of the TensorBoard plugin.
"""

from __future__ import annotations

import html
import zlib
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from typing import NamedTuple

from keras_interp_rnn._results import INK, LINE, visible
from keras_interp_rnn._types import FiniteAutomaton
from keras_interp_rnn.automata.machines.graphs import edges_of
from tensorboard_plugins.interp_rnn import layout

DASHED = ' stroke-dasharray="5 4"'
HALO = 'paint-order="stroke" stroke="white" stroke-width="8" stroke-linejoin="round"'


def svg(
    automaton: FiniteAutomaton,
    names: Sequence[str],
    unsupported: Collection[tuple[int, Hashable]],
    support: Sequence[Sequence[int]] | None = None,
    *,
    accepts: bool,
) -> str:
    """A deterministic automaton as an SVG element.

    Args:
        automaton: the one to draw.
        names: one for each state.
        unsupported: (state, symbol) of transitions that no word takes. They are in parentheses; an edge of these alone
            is dashed.
        support: (states, symbols), how often words take each transition; edges then have the sum over their symbols.
        accepts: whether outputs are True for accepted words and False for rejected ones.
    """
    edges = edges_of(automaton.transitions, automaton.alphabet)
    taken = {edge: [s for s in symbols if (edge[0], s) not in unsupported] for edge, symbols in edges.items()}
    labels = {edge: label_of_edge(symbols, taken[edge], _shortened) for edge, symbols in edges.items()}
    whole = {edge: label_of_edge(symbols, taken[edge]) for edge, symbols in edges.items()}
    titles = {edge: title for edge, title in whole.items() if title != labels[edge]} or None
    if support is not None:
        column = {symbol: i for i, symbol in enumerate(automaton.alphabet)}
        counts = {edge: sum(support[edge[0]][column[s]] for s in symbols) for edge, symbols in edges.items()}
        labels = {edge: f"{label}: {counts[edge]:,}" for edge, label in labels.items()}
    states = []
    for name, output in zip(names, automaton.outputs, strict=True):
        shape, written = CIRCLE, None
        if accepts:
            described = "accepting" if output else "rejecting"
            shape += RING * bool(output)
        else:
            written = visible(str(output))
            described = f"output {written}"
            shape += f'<path d="M{-layout.RADIUS:g} 0h{2 * layout.RADIUS:g}" stroke="{LINE}"/>'
        states.append(State(f"state {name}, {described}", shape, layout.inside(name, written)))
    dashed = {edge for edge, symbols in taken.items() if not symbols}
    return picture(f"automaton of {len(names)} states", labels, states, automaton.start, titles=titles, dashed=dashed)


def numbered_states(states: Sequence[int], alphabet: Sequence[Hashable]) -> list[str]:
    """Names of states, by their numbers: "3", or "q3" if a symbol is called 3 too."""
    return layout.state_names(states, alphabet)


CIRCLE = f'<circle r="{layout.RADIUS:g}" fill="white" stroke="{INK}"/>'
RING = f'<circle r="{layout.RADIUS - 3.5:g}" fill="none" stroke="{INK}"/>'


class State(NamedTuple):
    """The text of a state and its outline, around its centre."""

    title: str
    shape: str
    lines: Sequence[layout.Line]


def picture(
    described: str,
    labels: Mapping[layout.Edge, str],
    states: Sequence[State],
    start: int,
    *,
    arrow: bool = True,
    titles: Mapping[layout.Edge, str] | None = None,
    dashed: Collection[layout.Edge] = (),
) -> str:
    """States and edges as an SVG element.

    Args:
        described: the subject of the drawing.
        labels: of all edges.
        states: with the numbers 0, 1, ...
        start: the state on the left; with an arrow, unless `arrow` is False.
        titles: tooltips of edges whose labels are cut.
        dashed: edges.
    """
    drawing = layout.draw(labels, [start, *range(len(states))])
    left, top, width, height = drawing.box
    # Drawings on one page must not share an id.
    marker = f"arrow-{zlib.crc32(repr((labels, states, start, titles)).encode()):08x}"
    head = f'marker-end="url(#{marker})"'
    shapes = [
        f'<path d="{route.path}" fill="none" stroke="{LINE}"{DASHED if edge in dashed else ""} {head}/>'
        for edge, route in drawing.routes.items()
    ]
    if arrow:
        x, y = drawing.points[start]
        path = f"M{x - layout.RADIUS - layout.ARROW:.1f} {y:.1f}H{x - layout.RADIUS:.1f}"
        shapes.append(f'<path d="{path}" stroke="{INK}" {head}/>')
    for edge, route in drawing.routes.items():
        title = f"<title>{html.escape(titles[edge])}</title>" if titles and edge in titles else ""
        shapes.append(f"<g>{title}{_text(route.x, route.y, labels[edge], HALO)}</g>")
    for state, (title, shape, lines) in enumerate(states):
        x, y = drawing.points[state]
        texts = "".join(_text(0, below, text, f'font-size="{size:g}"') for text, below, size in lines)
        shapes.append(f'<g transform="translate({x} {y})"><title>{html.escape(title)}</title>{shape}{texts}</g>')
    shapes.insert(
        0,
        f'<defs><marker id="{marker}" viewBox="0 0 8 8" refX="7.5" refY="4" markerWidth="8" markerHeight="8" '
        f'orient="auto"><path d="M0 0.5L8 4L0 7.5z" fill="{LINE}"/></marker></defs>'
        f'<rect x="{left}" y="{top}" width="100%" height="100%" fill="white"/>',
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="{left} {top} {width} {height}" font-family="sans-serif" font-size="12" text-anchor="middle" '
        f'dominant-baseline="central" role="img" aria-label="{described}">{"".join(shapes)}</svg>'
    )


def _text(x: float, y: float, text: str, more: str) -> str:
    return f'<text x="{x:g}" y="{y:g}" fill="{INK}" {more}>{html.escape(text)}</text>'


def label_of_edge(
    symbols: Sequence[Hashable], taken: Sequence[Hashable], joined: Callable[[list[str]], str] = ", ".join
) -> str:
    """The symbols of one edge, with those that no word takes in parentheses."""
    parts = ([symbol for symbol in symbols if (symbol in taken) == is_taken] for is_taken in (True, False))
    texts = (joined([visible(str(symbol)) for symbol in part]) for part in parts)
    return " ".join(form.format(text) for form, text in zip(("{}", "({})"), texts, strict=True) if text)


def _shortened(texts: list[str]) -> str:
    """The names of symbols, cut; consecutive letters or digits make a range."""
    if len(texts) > 3 and all(len(text) == 1 for text in texts):
        runs: list[list[str]] = []
        for text in sorted(texts):
            if runs and ord(text) == ord(runs[-1][-1]) + 1 and text.isalnum() and runs[-1][-1].isalnum():
                runs[-1].append(text)
            else:
                runs.append([text])
        texts = [f"{run[0]}-{run[-1]}" if len(run) > 2 else ", ".join(run) for run in runs]
    return layout.shortened(texts)
