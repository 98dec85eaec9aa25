"""Where the states of an automaton stand: layers by distance from the start, few crossings, fixed for a run."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping

ROUNDS = 8
"""Sweeps over the layers, to and fro, in which each state moves to the mean height of its neighbours."""

TALLEST = 8
"""States above each other in a layer; more go into the next column."""


def positions(edges: Iterable[tuple[int, int]], starts: Iterable[int]) -> dict[int, tuple[float, float]]:
    """Column and row of every state that an edge touches or that is a start; rows are centred around 0.

    Args:
        edges: (from, to), of all the automata that shall be drawn alike.
        starts: their first states, the commonest first.
    """
    pairs = sorted(set(edges))
    states = sorted({state for pair in pairs for state in pair} | set(starts))
    order = [*dict.fromkeys(starts), *states]
    after: dict[int, list[int]] = {state: [] for state in states}
    near: dict[int, set[int]] = {state: set() for state in states}
    for here, there in pairs:
        if here != there:
            after[here].append(there)
            near[here].add(there)
            near[there].add(here)
    layers = _layers(order, after)
    _sort(layers, near)
    return {
        state: (float(column), row - (len(layer) - 1) / 2)
        for column, layer in enumerate(layers)
        for row, state in enumerate(layer)
    }


def _layers(order: list[int], after: Mapping[int, list[int]]) -> list[list[int]]:
    """Breadth first; what no start leads to begins anew in the next column."""
    layers: list[list[int]] = []
    seen: set[int] = set()
    for start in order:
        if start in seen:
            continue
        depth = {start: len(layers)}
        seen.add(start)
        queue = deque([start])
        found: dict[int, list[int]] = {}
        while queue:
            state = queue.popleft()
            found.setdefault(depth[state], []).append(state)
            for following in after[state]:
                if following not in seen:
                    seen.add(following)
                    depth[following] = depth[state] + 1
                    queue.append(following)
        for layer in (found[level] for level in sorted(found)):
            layers += [layer[i : i + TALLEST] for i in range(0, len(layer), TALLEST)]
    return layers


def _sort(layers: list[list[int]], near: Mapping[int, set[int]]) -> None:
    height: dict[int, float] = {}

    def settle(layer: list[int]) -> None:
        height.update({state: row - (len(layer) - 1) / 2 for row, state in enumerate(layer)})

    for layer in layers:
        settle(layer)
    for sweep in range(ROUNDS):
        for layer in layers if sweep % 2 == 0 else reversed(layers):
            within = set(layer)

            def mean(state: int, within: set[int] = within) -> float:
                others = [height[other] for other in near[state] if other not in within]
                return sum(others) / len(others) if others else height[state]

            layer.sort(key=lambda state: (mean(state), state))
            settle(layer)
