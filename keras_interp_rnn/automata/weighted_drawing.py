"""Weighted automata as SVG: edges have symbols and weights, states their initial and final weights.

Plain tables in, text out, on the layout that drawings of deterministic automata use. A state with a final weight has a
double ring and the weight beneath its name. One state that alone starts, with the weight 1, has an arrow; else a
dashed circle leads to every state with an initial weight, which stands on the edge.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from keras_interp_rnn._results import INK, LINE, visible
from keras_interp_rnn.automata.machines import Drawn, drawn_state, sheet
from tensorboard_plugins.interp_rnn import layout

MAX_EDGES = layout.CROWDED // 2
"""Edges, initial weights among them, beyond which labels could not be read."""

INSIDE = 2 * layout.RADIUS - 8
"""Width of the text in a state."""


def svg(
    edges: Mapping[layout.Edge, Sequence[tuple[str, float]]],
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

    >>> drawn = svg({(0, 1): [("a", 0.5)], (1, 0): [("a", 1), ("b", 1)]}, {0: 1}, {1: [0.25]}, ["even", "odd"])
    >>> drawn[:4], ">a:0.5</text>" in drawn, ">a, b</text>" in drawn, "final weight 0.25" in drawn
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
    states = [_state(name, initial.get(i, 0.0), final.get(i, ())) for i, name in enumerate(names)]
    start = len(states) if apart else next(iter(initial))
    if apart:
        states.append(_source)
        for target, weight in initial.items():
            labels[start, target] = titles[start, target] = number(weight)
    says = f"weighted automaton of {len(names)} states"
    return sheet(says, labels, states, start, arrow=not apart, titles=titles)


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


def _state(name: str, initial: float, final: Sequence[float]) -> Drawn:
    ends = ", ".join(f"{weight:g}" for weight in final)
    title = name + (f", initial weight {initial:g}" if initial else "")
    title += f", final weight{'s' * (len(final) > 1)} {ends}" if ends else ""
    lines = [_line(name, 0, 12)]
    if len(final) == 1 and final[0] != 1:
        lines = [_line(name, -5, 10), _line(number(final[0]), 6, 9)]
    return drawn_state(title, lines, ring=bool(ends))


def _line(text: str, below: float, largest: float) -> layout.Line:
    """Text in a state: smaller where it is long, or cut."""
    size = min(largest, max(7.0, 12 * INSIDE / max(layout.text_width(text), 1)))
    while layout.text_width(text) * size / 12 > INSIDE:
        text = f"{text.rstrip('…')[:-1]}…"
    return layout.Line(text, below, round(size, 1))


def _source(x: float, y: float) -> str:
    """The circle from which initial weights come."""
    return (
        f'<g><title>initial weights</title><circle cx="{x:.1f}" cy="{y:.1f}" r="{layout.RADIUS:g}" fill="white" '
        f'stroke="{LINE}" stroke-dasharray="3 3"/><text x="{x:.1f}" y="{y:.1f}" fill="{INK}" font-size="10">start'
        "</text></g>"
    )
