"""Tables of transitions as graphs: shortest words, the states that words reach, and states that are equivalent.

A table has a row for each state, with the next state for each symbol, -1 where there is none.

Reference: Hopcroft, "An n log n algorithm for minimizing states in a finite automaton", 1971.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Hashable, Iterable, Sequence

MISSING = -1
"""The next state where there is no transition."""

Rows = Sequence[Sequence[int]]


def shortest_word(
    rows: Rows, start: int, goals: Collection[int], alphabet: Sequence[Hashable]
) -> tuple[Hashable, ...] | None:
    """The first shortest word, in the order of the alphabet, that leads from a state to one of the goals."""
    before: dict[int, tuple[int, Hashable] | None] = {start: None}
    queue = deque(before)
    while queue:
        state = queue.popleft()
        if state in goals:
            word = []
            while step := before[state]:
                state, symbol = step
                word.append(symbol)
            return tuple(reversed(word))
        for symbol, target in zip(alphabet, rows[state], strict=True):
            if target != MISSING and target not in before:
                before[target] = (state, symbol)
                queue.append(target)
    return None


def breadth_first(rows: Rows, start: int) -> list[int]:
    """The states that words lead to, in the order of the shortest of these words."""
    order = {start: None}
    queue = deque(order)
    while queue:
        for target in rows[queue.popleft()]:
            if target != MISSING and target not in order:
                order[target] = None
                queue.append(target)
    return list(order)


def reaching(rows: Rows, goals: Iterable[int]) -> set[int]:
    """The states from which some word leads to one of the goals."""
    states = set(goals)
    while True:
        more = {state for state, row in enumerate(rows) if state not in states and states.intersection(row)}
        if not more:
            return states
        states |= more


def equivalent_states(rows: Rows, outputs: Sequence[Hashable]) -> list[int]:
    """For each state of a complete table the number of its block of equivalent states, by Hopcroft's algorithm."""
    n, columns = len(rows), range(len(rows[0]))
    before: list[list[list[int]]] = [[[] for _ in range(n)] for _ in columns]
    for state, row in enumerate(rows):
        for column, target in enumerate(row):
            before[column][target].append(state)
    different = {output: i for i, output in enumerate(dict.fromkeys(outputs))}
    block = [different[output] for output in outputs]
    parts: list[set[int]] = [set() for _ in different]
    for state, i in enumerate(block):
        parts[i].add(state)
    largest = max(range(len(parts)), key=lambda i: len(parts[i]))  # what it splits, the others split too
    waiting = {(i, column) for i in range(len(parts)) if i != largest for column in columns}
    while waiting:
        i, column = waiting.pop()
        touched: dict[int, list[int]] = {}
        for target in parts[i]:
            for state in before[column][target]:
                touched.setdefault(block[state], []).append(state)
        for j, split in touched.items():
            if len(split) == len(parts[j]):
                continue
            new = len(parts)
            moved = set(split)
            parts[j] -= moved
            parts.append(moved)
            for state in split:
                block[state] = new
            smaller = new if len(moved) <= len(parts[j]) else j
            waiting |= {(new if (j, c) in waiting else smaller, c) for c in columns}
    return block


def edges_of(rows: Rows, alphabet: Sequence[Hashable]) -> dict[tuple[int, int], tuple[Hashable, ...]]:
    """(state, next state) -> the symbols that lead from one to the other."""
    edges: dict[tuple[int, int], list[Hashable]] = {}
    for state, row in enumerate(rows):
        for symbol, target in zip(alphabet, row, strict=True):
            if target != MISSING:
                edges.setdefault((state, target), []).append(symbol)
    return {edge: tuple(symbols) for edge, symbols in edges.items()}
