"""Automata as tables, as text and as tags of the TensorBoard plugin."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any

import numpy as np

from keras_interp_rnn._results import Column, Tag, counted, visible
from keras_interp_rnn._results import texts as column_of
from keras_interp_rnn._types import Array, FiniteAutomaton, Ints
from keras_interp_rnn.automata.machines.drawing import label_of_edge
from keras_interp_rnn.automata.machines.graphs import MISSING, edges_of

Transitions = tuple[tuple[int, Hashable], ...]
"""(state, symbol) pairs."""

MAX_SYMBOLS, LINE = 4, 100
"""Maximum number of symbols of a state's largest edge that are listed, and of characters of a line of an edge."""
MAX_EDGES = 2000
"""Maximum number of edges of an automaton that the plugin draws."""
SHOWN = 6
"""Maximum number of transitions that a sentence names."""


def edge_lines(
    machine: FiniteAutomaton, unsupported: Transitions, support: Ints | None, *, accepts: bool
) -> Iterator[str]:
    """A line for each state, with its output, and below it one for each edge, with all of its symbols.

    If the edge of most symbols has many, "every other symbol" takes their place. An edge has the number of times that
    words take it, if there is `support`; symbols with which no word takes it, `unsupported`, are in parentheses.
    """
    untaken, place = set(unsupported), {symbol: i for i, symbol in enumerate(machine.alphabet)}
    edges = edges_of(machine.transitions, machine.alphabet)
    for state, output in enumerate(machine.outputs):
        kind = ("accepting" if output else "rejecting") if accepts else f"output {output!r}"
        yield f"state {state}, {'start, ' if state == machine.start else ''}{kind}"
        leaving = {target: symbols for (source, target), symbols in edges.items() if source == state}
        largest = max(leaving, key=lambda target: len(leaving[target]), default=None)
        is_complete = sum(map(len, leaving.values())) == len(machine.alphabet)
        for target, symbols in leaving.items():
            taken = [symbol for symbol in symbols if (state, symbol) not in untaken]
            never = len(symbols) - len(taken)
            if target == largest and len(symbols) > MAX_SYMBOLS and is_complete:
                shown = "every symbol" if len(leaving) == 1 else "every other symbol"
                shown += f" ({never:,} of {len(symbols):,} taken by no word)" * bool(never)
            else:
                shown = label_of_edge(symbols, taken)
            times = (
                "" if support is None else f": {counted(int(sum(support[state, place[s]] for s in symbols)), 'time')}"
            )
            text = f"to {target} by {shown}{times}"
            yield from textwrap.wrap(text, LINE, initial_indent=4 * " ", subsequent_indent=8 * " ")


def transition_columns(machine: FiniteAutomaton, names: Sequence[object] | None = None) -> tuple[Column, ...]:
    """A row for each transition: from which state, by which symbol, to which; states have these names."""
    known = [str(i) for i in range(len(machine))] if names is None else [*map(str, names)]
    rows = [
        (known[state], visible(str(symbol)), "never seen" if target == MISSING else known[target])
        for state, targets in enumerate(machine.transitions)
        for symbol, target in zip(machine.alphabet, targets, strict=True)
    ]
    sources, symbols, targets = zip(*rows, strict=True) if rows else ((), (), ())
    return column_of("from", sources), column_of("symbol", symbols), column_of("to", targets)


def in_words(edges: Transitions, machine: FiniteAutomaton | None = None) -> str:
    """Transitions by symbol and state; of many the first ones, and the number of the others."""
    place = {} if machine is None else {symbol: i for i, symbol in enumerate(machine.alphabet)}
    shown = []
    for state, symbol in edges[:SHOWN]:
        to = "" if machine is None else f" to {machine.transitions[state][place[symbol]]}"
        shown.append(f"{visible(str(symbol))} from state {state}{to}")
    more = f" and {len(edges) - SHOWN:,} others" if len(edges) > SHOWN else ""
    return f"{', '.join(shown)}{more}"


def is_drawable(machine: FiniteAutomaton) -> bool:
    """Whether it has edges, and few enough for the plugin."""
    edges = {(state, target) for state, row in enumerate(machine.transitions) for target in row if target >= 0}
    return bool(machine.alphabet) and len(edges) <= MAX_EDGES


def automaton_tag(
    machine: FiniteAutomaton,
    centroids: Sequence[object] | None,
    confidence: Array | None,
    unsupported: Transitions | None,
    sizes: Sequence[int] | None,
    *,
    table: Callable[[FiniteAutomaton], dict[str, Any]],
    reference: FiniteAutomaton | None,
    **measured: object,
) -> Tag:
    """As `MooreMachine.tag`; `table` is a machine as the plugin reads it."""
    probabilities = pairs = None
    if unsupported is not None:
        pairs = [[state, list(machine.alphabet).index(symbol)] for state, symbol in unsupported]
    if confidence is not None:
        probabilities = [[None if np.isnan(value) else round(float(value), 4) for value in row] for row in confidence]
    text = json.dumps(
        {
            **table(machine),
            **_numbered(range(len(machine)) if centroids is None else centroids, sizes),
            "confidence": probabilities,
            "unsupported": pairs,
            **measured,
        }
    )
    return text, {
        "kind": "automaton",
        "symbols": [visible(str(symbol)) for symbol in machine.alphabet],
        "reference": None if reference is None else table(reference),
    }


def _numbered(centroids: Sequence[Any], sizes: Sequence[int] | None) -> dict[str, Any]:
    """The number of each state, and its name if it is a tuple of centroids."""
    if not isinstance(centroids[0], tuple):
        return {"centroids": [int(centroid) for centroid in centroids]}
    columns = np.transpose(centroids)
    numbers = np.ravel_multi_index(tuple(columns), tuple(columns.max(axis=1) + 1 if sizes is None else sizes))
    return {"centroids": numbers.tolist(), "names": [str(centroid) for centroid in centroids]}
