"""Weighted automata as SVG: edges have symbols and weights, states their initial and final weights.

A state with a final weight has a double ring and the weight beneath its name. A single initial weight of 1 is an arrow;
otherwise edges with the initial weights come from a dashed circle.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence

import numpy as np

from keras_interp_rnn._results import LINE, Table, counted, shown_word, texts, visible
from keras_interp_rnn._types import Array
from keras_interp_rnn.automata.machines import CIRCLE, RING, State, names_of_states, picture
from tensorboard_plugins.interp_rnn import layout

MAX_EDGES = 60
"""Maximum number of edges, initial weights included, whose labels can still be read."""

WORDS = 6
"""Maximum number of words in a table, and of values of each."""

SOURCE = f'<circle r="{layout.RADIUS:g}" fill="white" stroke="{LINE}" stroke-dasharray="3 3"/>'
"""The circle from which initial weights come."""


class Drawable:
    """A weighted automaton that can be drawn: initial (n,), transitions (K, n, n), final (n,) or (n, m)."""

    initial: Array
    transitions: Array
    final: Array

    @property
    def _symbols(self) -> tuple[Hashable, ...]:
        """The symbols, in the order of the matrices."""
        raise NotImplementedError

    def value(self, word: Iterable[Hashable]) -> float | Array:
        """The value of a word."""
        raise NotImplementedError

    def to_svg(self, names: Sequence[str] | None = None) -> str:
        """A drawing of a sparse automaton, as an SVG element.

        Edges are labelled symbol:weight, with three digits; a weight of 1 is omitted. A state with a final weight has a
        double ring, and the weight under its name unless it is 1. A single initial weight of 1 is drawn as an arrow;
        other initial weights label edges from a dashed circle. Tooltips show labels that are cut off in full.

        Args:
            names: of the states; by default their numbers.

        Raises:
            ValueError: if there is not one name for each state, or if there are more than 60 edges, too many to read.

        Example:

        >>> from keras_interp_rnn.automata import WeightedAutomaton
        >>> coin = WeightedAutomaton([1], [[[0.375]], [[0.125]]], [0.5], alphabet="ht")
        >>> ">h:0.375, t:0.125</text>" in coin.to_svg()
        True
        """
        labels, final = names_of_states(names, len(self.initial)), self.final.reshape(len(self.initial), -1)
        edges: dict[tuple[int, int], list[tuple[str, float]]] = {}
        for state, target, i in np.argwhere(np.moveaxis(self.transitions, 0, -1)).tolist():
            weight = float(self.transitions[i, state, target])
            edges.setdefault((state, target), []).append((str(self._symbols[i]), weight))
        starts = {state: float(weight) for state, weight in enumerate(self.initial) if weight}
        return svg(edges, starts, {state: row.tolist() for state, row in enumerate(final) if row.any()}, labels)

    @property
    def is_drawable(self) -> bool:
        """Whether the automaton has few enough edges for `to_svg`."""
        edges = int(self.transitions.any(axis=0).sum()) + int((self.initial != 0).sum())
        return edges <= MAX_EDGES

    def _repr_svg_(self) -> str | None:
        return self.to_svg() if self.is_drawable else None

    def table(self) -> Table:
        """Its size, and its values for the shortest words."""
        sizes = f"{counted(len(self.initial), 'state')}, {counted(len(self.transitions), 'symbol')}"
        outputs = self.final.shape[1] if self.final.ndim == 2 else 1
        words = [(), *((symbol,) for symbol in self._symbols[: WORDS - 1])]
        values = []
        for symbols in words:
            try:
                found = np.ravel(self.value(symbols)).tolist()
            except ValueError:
                values.append("too large for a float")
            else:
                values.append(", ".join(f"{x:.4g}" for x in found[:WORDS]) + (", ..." if outputs > WORDS else ""))
        names = [repr(shown_word(symbols)) if symbols else "the empty word" for symbols in words]
        several = f", {outputs} values a word" if outputs > 1 else ""
        drawn = (self.drawing,) if self.is_drawable else ()
        columns = texts("word", names), texts("value", values)
        return Table(f"weighted automaton: {sizes}{several}", columns, drawings=drawn)

    def drawing(self) -> str:
        """The drawing of `to_svg`; raises ValueError if there are too many edges."""
        return self.to_svg()


def svg(
    edges: Mapping[layout.Edge, Sequence[tuple[str, float]]],
    initial: Mapping[int, float],
    final: Mapping[int, Sequence[float]],
    names: Sequence[str],
) -> str:
    """A weighted automaton as an SVG element.

    Args:
        edges: (state, next state) -> symbols with weights.
        initial: states -> initial weights that are not 0.
        final: states -> final weights, one for each output, that are not all 0.
        names: one for each state.

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
            f"A drawing must have at most {MAX_EDGES} edges and initial weights. Received: {count}, of {len(names)} "
            "states. Minimize the automaton, or set negligible weights to 0."
        )
    labels = {edge: _label(weights) for edge, weights in edges.items()}
    titles = {edge: ", ".join(f"{visible(s)}:{weight:g}" for s, weight in weights) for edge, weights in edges.items()}
    states = [_state(name, initial.get(state, 0.0), final.get(state, ())) for state, name in enumerate(names)]
    start = next(iter(initial), 0)
    if apart:
        start = len(states)
        states.append(State("initial weights", SOURCE, [layout.Line("start", 0, 10)]))
        for state, weight in initial.items():
            labels[start, state] = titles[start, state] = number(weight)
    return picture(f"weighted automaton of {len(names)} states", labels, states, start, arrow=not apart, titles=titles)


def number(weight: float) -> str:
    """A weight with three digits."""
    return f"{weight:.3g}".replace("e+0", "e").replace("e-0", "e-").replace("e+", "e")


def _label(weights: Sequence[tuple[str, float]]) -> str:
    """Symbols with their weights, or without if all are 1."""
    texts = [visible(symbol) for symbol, _ in weights]
    shown = {number(weight) for _, weight in weights}
    if shown == {"1"}:
        return layout.shortened(texts)
    if len(shown) == 1:
        return f"{layout.shortened(texts)}:{shown.pop()}"
    return layout.shortened([f"{text}:{number(weight)}" for text, (_, weight) in zip(texts, weights, strict=True)])


def _state(name: str, initial: float, final: Sequence[float]) -> State:
    ends = ", ".join(f"{weight:g}" for weight in final)
    title = f"state {name}"
    title += f", initial weight {initial:g}" if initial else ""
    title += f", final weight{'s' * (len(final) > 1)} {ends}" if ends else ""
    written = number(final[0]) if len(final) == 1 and final[0] != 1 else None
    lines = layout.inside(name, written)
    if written is not None:  # within the ring
        lines = [lines[0]._replace(below=-5), lines[1]._replace(below=6, size=min(9.0, lines[1].size))]
    return State(title, CIRCLE + (RING if ends else ""), lines)
