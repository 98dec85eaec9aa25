"""transition_counts: float32 (symbols or 1, k, k), how often a symbol moved the network from centroid to centroid.

Description: symbols, their names, or []. It may have classes, their names, one for each centroid, and verdict, a
headline.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorboard_plugins.interp_rnn import layout
from tensorboard_plugins.interp_rnn.checks import Rule, UnknownContent, name, names
from tensorboard_plugins.interp_rnn.kinds._graph import GraphKind, edges_of, name_of, placed
from tensorboard_plugins.interp_rnn.kinds._kind import ArrayKind, Description

RARE = 0.01
"""Least fraction of a move, among the moves by its symbol from its centroid, that is shown."""

LIKELY = 0.1
"""Least fraction of a move, among the last moves from its centroid, that influences the layout."""


class _TransitionCounts(GraphKind, ArrayKind):
    NAME = "transition_counts"
    RULES = (
        Rule("symbols", "a list of names", names),
        Rule("classes", "a list of names", names, needed=False),
        Rule("verdict", "a sentence", name, needed=False),
    )

    def form(self, description: Description, shape: tuple[int, ...]) -> tuple[str, bool]:
        num_symbols = len(description["symbols"])
        square = len(shape) == 3 and shape[1] == shape[2]
        return f"({num_symbols or 'symbols'}, k, k)", square and num_symbols in (0, shape[0])

    def decode(self, description: Description, tensor: NDArray[Any]) -> NDArray[Any]:
        counts = super().decode(description, tensor)
        if not (np.isfinite(counts).all() and (counts >= 0).all()):
            raise UnknownContent("transition_counts must be finite and 0 or more. Received: other numbers.")
        return counts

    def overview(self, description: Description, values: Sequence[Any]) -> dict[str, Any]:
        """The layout of the centroids; history, numbers of each step."""
        total = np.sum(values, axis=0, dtype=np.float64) if values else np.zeros((1, 1, 1))
        counts = total.sum(axis=0)
        last = values[-1].sum(axis=0, dtype=np.float64) if values else counts
        by_use = [i for moved in (last, counts) for i in np.argsort(-_moves(moved), kind="stable").tolist()]
        starts = [i for i in dict.fromkeys(by_use) if _moves(counts)[i] > 0]
        likely = last >= LIKELY * np.maximum(last.sum(axis=1, keepdims=True), 1)
        history = {
            "states": [int(np.count_nonzero(value.sum(axis=(0, 1)))) for value in values],
            "entropy": [_entropy(value) for value in values],
        }
        usual = {(state, target) for state, target in np.argwhere(likely).tolist()}
        return {**placed([self.states_and_edges(description, total)], starts, usual), "history": history}

    def states_and_edges(self, description: Description, value: Any) -> dict[str, Any]:
        counts = np.asarray(value, np.float64)
        fractions = counts / np.maximum(counts.sum(axis=-1, keepdims=True), 1)
        arrivals = counts.sum(axis=(0, 1))
        used = np.flatnonzero(arrivals + counts.sum(axis=(0, 2)))
        symbols: dict[tuple[int, int], list[list[Any]]] = {}
        for symbol, state, target in np.argwhere(fractions >= RARE).tolist():
            read = name_of(description["symbols"], symbol) if description["symbols"] else ""
            symbols.setdefault((state, target), []).append([read, round(float(fractions[symbol, state, target]), 4)])
        steps = max(arrivals.sum(), 1)
        classes = enumerate(description.get("classes") or ())
        called = {i: {"name": f"{i} {of}", "inside": layout.inside(str(i), of)} for i, of in classes}
        return {
            **({"verdict": [description["verdict"]]} if "verdict" in description else {}),
            "start": None,
            "states": [
                {"id": int(i), "accepting": None, "use": round(float(arrivals[i] / steps), 6), **called.get(i, {})}
                for i in used
            ],
            "edges": edges_of(symbols),
            "entropy": _entropy(counts),
        }


def _moves(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """The number of moves that begin or end at each centroid, (k,)."""
    return counts.sum(axis=0) + counts.sum(axis=1)


def _entropy(counts: NDArray[Any]) -> float | None:
    """The entropy of the next centroid given centroid and symbol, nats: 0 for the counts of an automaton."""
    moves, together = (part[part > 0].astype(np.float64) for part in (counts, counts.sum(axis=-1)))
    if not moves.size:
        return None
    return float(((together * np.log(together)).sum() - (moves * np.log(moves)).sum()) / moves.sum())


KIND = _TransitionCounts()
