"""Regular expressions to automata: Thompson's construction, then the subset construction.

Thompson, 1968: every part of an expression becomes two nodes, and its words are the paths between them; the graph has a
few nodes a character. Rabin and Scott, 1959: the sets of nodes that words lead to are the states of a deterministic
automaton. There may be exponentially many, so both their number and the work on them are bounded.
"""

from __future__ import annotations

from collections.abc import Iterable

from keras_interp_rnn._results import nth
from keras_interp_rnn.automata.machines.formats import Table

OPERATORS = "|*+?()"

LENGTH, WORK = 30, 500
"""Maximum characters of an expression, and nodes visited, for each state that the automaton may have."""


class _Graph:
    """Nodes with at most one edge that reads a symbol, and any number of free edges, which read nothing."""

    def __init__(self) -> None:
        self.symbol: list[str | None] = []
        self.target: list[int] = []
        self.free: list[list[int]] = []

    def node(self, before: int | None = None) -> int:
        """A new node, entered without a symbol from the node `before`."""
        self.symbol.append(None)
        self.target.append(-1)
        self.free.append([])
        node = len(self.symbol) - 1
        if before is not None:
            self.free[before].append(node)
        return node


def _graph(expression: str, alphabet: tuple[str, ...]) -> tuple[_Graph, int, int]:
    """The graph of an expression, and the nodes where its words begin and end."""

    def unreadable(what: str, place: int) -> ValueError:
        return ValueError(
            f"A regular expression must consist of the symbols {''.join(alphabet)!r}, |, *, +, ? and pairs of "
            f"parentheses. Received: expression={_quoted(expression)}, {what} at {nth('place', place)}."
        )

    graph, known = _Graph(), set(alphabet)
    # The nodes where the words of the current group begin and end, and the node that they have reached so far.
    enter, leave = graph.node(), graph.node()
    here = enter
    outer: list[tuple[int, int, int]] = []  # the groups around it
    part: tuple[int, int] | None = None  # the part that a *, + or ? would repeat
    for place, sign in enumerate(expression):
        if sign == "(":
            outer.append((enter, leave, here))
            enter, leave = graph.node(here), graph.node()
            here, part = enter, None
        elif sign == ")" and outer:
            graph.free[here].append(leave)
            part = enter, leave
            enter, leave, _ = outer.pop()
            here = part[1]
        elif sign == "|":
            graph.free[here].append(leave)
            here, part = enter, None
        elif sign in "*+?" and part is not None:
            begin, end = part
            if sign != "+" and end not in graph.free[begin]:
                graph.free[begin].append(end)
            if sign != "?" and begin not in graph.free[end]:
                graph.free[end].append(begin)
        elif sign in known:
            begin, end = graph.node(here), graph.node()
            graph.symbol[begin], graph.target[begin] = sign, end
            here, part = end, (begin, end)
        else:
            raise unreadable(f"with {sign!r}", place)
    if outer:
        raise unreadable("with no closing parenthesis", len(expression))
    graph.free[here].append(leave)
    return graph, enter, leave


def table(expression: str, alphabet: tuple[str, ...], max_states: int) -> Table:
    """A deterministic automaton of the expression, not minimized.

    Raises:
        ValueError: if the expression cannot be read; if it would take more than `max_states` states, or too much work.
    """

    def too_large(what: str, limit: int) -> ValueError:
        return ValueError(
            f"With max_states={max_states:,} an expression must have at most {limit:,} {what}. Received: "
            f"expression={_quoted(expression)}, which has more. Pass a smaller expression or a larger max_states."
        )

    if len(expression) > LENGTH * max_states:
        raise too_large("characters", LENGTH * max_states)
    graph, begin, end = _graph(expression, alphabet)
    visits_left = WORK * max_states

    def reached(nodes: Iterable[int]) -> frozenset[int]:
        """The nodes that free edges lead to and that read a symbol or are the end."""
        nonlocal visits_left
        visited = set(nodes)
        queue = list(visited)
        while queue:
            for node in graph.free[queue.pop()]:
                if node not in visited:
                    visited.add(node)
                    queue.append(node)
        visits_left -= len(visited)
        return frozenset(node for node in visited if node == end or graph.symbol[node] is not None)

    start = reached([begin])
    order = {start: 0}
    queue, rows = [start], []
    for nodes in queue:
        row: list[int | None] = []
        for symbol in alphabet:
            target = reached(graph.target[node] for node in nodes if graph.symbol[node] == symbol)
            if target and target not in order:
                order[target] = len(order)
                queue.append(target)
            row.append(order.get(target))
        rows.append(row)
        if len(order) > max_states:
            raise too_large("states before it is minimized", max_states)
        if visits_left < 0:
            raise too_large("nodes to visit", WORK * max_states)
    return Table(rows, [i for nodes, i in order.items() if end in nodes], 0, alphabet)


def _quoted(expression: str) -> str:
    return repr(expression if len(expression) <= 60 else f"{expression[:57]}...")
