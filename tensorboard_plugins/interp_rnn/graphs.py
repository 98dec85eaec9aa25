"""States and edges of what was logged as an automaton, or counted as transitions: one form for both, for the page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorboard_plugins.interp_rnn import layout

KINDS = ("automaton", "transition_counts")

MEASURED = ("minimal", "agreement", "distance", "entropy", "equivalent", "counterexample")
"""What the callback says of an automaton as a whole, where it does."""

RARE = 0.01
"""Moves that are a smaller share of those by the same symbol from the same centroid are left out."""

LIKELY = 0.1
"""Share from which on a counted move has a say in where the centroids stand."""


def graph(content: Mapping[str, Any], value: Any) -> dict[str, Any]:
    """What is drawn of one step.

    Returns:
        start: a centroid, or None where it is not known. states: id (the centroid), accepting (None where not known),
        use (share of the steps that arrive there, None where not known). edges: from, to (centroids), symbols: names
        and probabilities (None where not known), the likeliest first. From an automaton also what its callback
        measured (`MEASURED`).
    """
    names = content.get("symbols") or []
    if content["kind"] == "automaton":
        return _of_automaton(value, names)
    return _of_counts(np.asarray(value, np.float64), names)


def overview(kind: str, values: Sequence[Any]) -> dict[str, Any]:
    """positions: centroid -> column and row, the same at every step; history: numbers for each step."""
    if kind == "automaton":
        edges: set[tuple[int, int]] = set()
        for said in values:
            centroids = np.array(said["centroids"])
            table = np.array(said["transitions"])
            here, _ = np.nonzero(table >= 0)
            edges.update(zip(centroids[here].tolist(), centroids[table[table >= 0]].tolist(), strict=True))
        starts = Counter(said["centroids"][said["start"]] for said in values)
        order = [centroid for centroid, _ in starts.most_common()]
        history = {
            "states": [len(said["centroids"]) for said in values],
            **{name: [said.get(name) for said in values] for name in ("minimal", "entropy", "agreement", "distance")},
        }
    else:
        summed = [np.asarray(value).sum(axis=0) for value in values]
        counts = np.sum(summed, axis=0, dtype=np.float64) if summed else np.zeros((1, 1))
        likely = counts >= LIKELY * np.maximum(counts.sum(axis=1, keepdims=True), 1)
        edges = {(int(i), int(j)) for i, j in np.argwhere(likely & (counts > 0))}
        moves = counts.sum(axis=0) + counts.sum(axis=1)
        order = [int(i) for i in np.argsort(-moves, kind="stable") if moves[i] > 0]
        history = {
            "states": [int(np.count_nonzero(one.sum(axis=0))) for one in summed],
            "entropy": [_entropy(np.asarray(value)) for value in values],
        }
    placed = layout.positions(edges, order)
    return {"positions": {str(centroid): list(place) for centroid, place in placed.items()}, "history": history}


def _of_automaton(said: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    centroids, accepting = said["centroids"], set(said["accepting"])
    visits, confidence = said.get("visits"), said.get("confidence")
    gathered: dict[tuple[int, int], list[list[Any]]] = {}
    for state, row in enumerate(said["transitions"]):
        for symbol, to in enumerate(row):
            if to >= 0:
                sure = confidence[state][symbol] if confidence else None
                gathered.setdefault((centroids[state], centroids[to]), []).append([_name(names, symbol), sure])
    return {
        "start": centroids[said["start"]],
        "states": [
            {"id": centroid, "accepting": state in accepting, "use": visits[state] if visits else None}
            for state, centroid in enumerate(centroids)
        ],
        "edges": _edges(gathered),
        **{name: said.get(name) for name in MEASURED},
    }


def _of_counts(counts: NDArray[np.float64], names: Sequence[str]) -> dict[str, Any]:
    shares = _shares(counts)
    arrivals = counts.sum(axis=(0, 1))
    used = np.flatnonzero(arrivals + counts.sum(axis=(0, 2)))
    gathered: dict[tuple[int, int], list[list[Any]]] = {}
    for symbol, here, there in np.argwhere(shares >= RARE).tolist():
        sure = round(float(shares[symbol, here, there]), 4)
        gathered.setdefault((here, there), []).append([_name(names, symbol) if names else "", sure])
    total = max(arrivals.sum(), 1)
    return {
        "start": None,
        "states": [{"id": int(i), "accepting": None, "use": round(float(arrivals[i] / total), 6)} for i in used],
        "edges": _edges(gathered),
        "entropy": _entropy(counts),
    }


def _edges(gathered: Mapping[tuple[int, int], list[list[Any]]]) -> list[dict[str, Any]]:
    return [
        {"from": here, "to": there, "symbols": sorted(symbols, key=lambda pair: -(pair[1] or 0))}
        for (here, there), symbols in gathered.items()
    ]


def _shares(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Of the moves by a symbol from a centroid, the share that goes to each; 0 where there are none."""
    return counts / np.maximum(counts.sum(axis=-1, keepdims=True), 1)


def _entropy(counts: NDArray[Any]) -> float | None:
    """Of the next centroid, given centroid and symbol, nats: 0 where the counts are those of an automaton."""
    moves, together = (part[part > 0].astype(np.float64) for part in (counts, counts.sum(axis=-1)))
    if not moves.size:
        return None
    return float(((together * np.log(together)).sum() - (moves * np.log(moves)).sum()) / moves.sum())


def _name(names: Sequence[str], symbol: int) -> str:
    return names[symbol] if symbol < len(names) else str(symbol)
