"""One sequence in many variants at once, each step there or replaced: what variants have in common is read once.

A player is a step, or a group of steps, of a sequence; a coalition is the set of players that are there, and a
reference vector takes the place of the steps of all others. Coalitions that agree up to some step share one state
there. So all 2^n coalitions of n steps take 2^(n + 1) - 2 updates of the state in place of n 2^n, and the n + 1
coalitions of an order of the steps about half as many. A mean over the steps joins the state as a running sum. Two
directions are two trees, joined where their outputs are.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeGuard

import numpy as np
from numpy.typing import NDArray

from keras_interp_rnn._network.along import output_size, read_by_equations
from keras_interp_rnn._network.chain import Chain, _Both, _Recurrent
from keras_interp_rnn._network.parts import EACH_STEP, Linear, Mask, Mean, Part, Zeroed
from keras_interp_rnn._types import Array
from keras_interp_rnn.equations import NUMPY

Nodes = list[Array]
"""Known after reading some prefixes: for each cell its last output and its states, and the running sum."""

Coalitions = NDArray[np.bool_]

ENTRIES = 2**18
"""Entries of a level's widest array, above which a level is read in parts: they fit a cache, and bound the memory."""


class _Cell(NamedTuple):
    """A cell in a direction: the steps (time,) that it reads, and the last one of them."""

    recurrent: _Recurrent
    read: Mask
    last: int


class _Layout(NamedTuple):
    """A chain as parts that read one vector after the other.

    Attributes:
        below: the parts before the first recurrent one.
        sides: for each direction what reads each step, in order. masks: as `sides`.
        pooled: the mask of the mean over the steps that the head reads; None for no mean.
        merge_mode: how two directions are joined. head: the parts after them.
        last: the step after which the head reads; None after all.
    """

    below: Sequence[tuple[Part, Mask | None]]
    sides: Sequence[Sequence[tuple[Part, Mask | None]]]
    head: Sequence[Part]
    merge_mode: str | None = None
    is_pooled: bool = False
    pooled: Mask | None = None
    last: int | None = None


def _layout(chain: Chain, row: int) -> _Layout | None:
    """How a chain reads a sequence of its batch step by step; None where it does not."""
    parts = [(part, None if mask is None else mask[row]) for part, mask in zip(chain.parts, chain.masks, strict=True)]
    recurrent = {i: part for i, (part, _) in enumerate(parts) if isinstance(part, _Recurrent | _Both)}
    first, end = min(recurrent), max(recurrent) + 1
    below = parts[:first]
    uppermost = recurrent[end - 1]
    sides: list[list[tuple[Part, Mask | None]]]
    if isinstance(uppermost, _Both):
        if len(recurrent) > 1:
            return None
        sides, mode = [[(side[0], parts[first][1])] for side in uppermost.sides], uppermost.mode
    else:
        sides, mode = [parts[first:end]], None
        if not all(isinstance(part, (_Recurrent, Zeroed, *EACH_STEP)) for part, _ in sides[0]):
            return None
        cells = [part for part in recurrent.values() if isinstance(part, _Recurrent)]
        if len(cells) > 1 and any(part.order.step == -1 for part in cells):
            return None
    if not uppermost.sequences:
        return _Layout(below, sides, [part for part, _ in parts[end:]], mode)
    rest = parts[end:]
    each = list(itertools.takewhile(lambda part: isinstance(part[0], (Zeroed, *EACH_STEP)), rest))
    if len(each) == len(rest):
        steps = chain.inputs.shape[1]
        return _Layout(below, sides, [part for part, _ in rest], mode, last=range(steps)[chain.step])
    mean, mask = rest[len(each)]
    if not isinstance(mean, Mean) or (each and mode is not None):
        return None
    sides[0] = [*sides[0], *each]
    head = [part for part, _ in rest[len(each) + 1 :]]
    return _Layout(below, sides, head, mode, True, np.ones(chain.inputs.shape[1], bool) if mask is None else mask)


def is_read_by_steps(network: object) -> TypeGuard[Chain]:
    """Whether a network is a chain that reads sequences step by step, so that `Prefixes` takes it."""
    return isinstance(network, Chain) and _layout(network, 0) is not None


def steps_before_output(chain: Chain) -> Mask:
    """The steps (time,) that can change the output: of a sequence of outputs those up to the one that is computed."""
    layout, steps = _layout(chain, 0), np.arange(chain.inputs.shape[1])
    return steps <= (steps[-1] if layout is None or layout.last is None or layout.merge_mode else layout.last)


class Direction:
    """A sequence that is read in one direction, each step by its own vector (1) or by the one in its place (0).

    Attributes:
        steps: in reading order.
    """

    def __init__(self, layout: _Layout, side: Sequence[tuple[Part, Mask | None]], both: Array) -> None:
        length = both.shape[1]
        self._stages: list[_Cell | Part] = []
        self._cells: list[_Cell] = []
        self._above: list[Part] = []  # the parts after the last cell
        backwards = False
        for part, mask in side:
            if isinstance(part, _Recurrent):
                read = np.ones(length, bool) if mask is None else np.asarray(mask, bool)
                order = np.flatnonzero(read)[:: part.order.step or 1]
                backwards = part.order.step == -1
                cell = _Cell(part, read, int(order[-1]) if len(order) else -1)
                self._stages.append(cell)
                self._cells.append(cell)
                self._above = []
            else:
                self._stages.append(part)
                self._above.append(part)
        steps = list(range(length))[:: -1 if backwards else 1]
        if layout.last is not None:
            steps = steps[: steps.index(layout.last) + 1]
        self.steps, self._pooled, self._is_pooled = steps, layout.pooled, layout.is_pooled
        self._drives = self._drive(self._cells[0].recurrent, both)
        self.width = max(sum(start.shape[-1] for start in cell.recurrent.starts) * 4 for cell in self._cells)
        self.count = 0

    @staticmethod
    def _drive(cell: _Recurrent, x: Array) -> tuple[Array, ...]:
        if cell.equations is None:
            return (x,)
        return tuple(cell.equations.drive(NUMPY, read_by_equations(cell.cell, x)))

    def start(self) -> Nodes:
        """The empty prefix."""
        nodes = []
        for cell in self._cells:
            nodes.append(np.zeros((1, output_size(cell.recurrent.cell))))
            nodes += [np.array(start, np.float64)[None] for start in cell.recurrent.starts]
        if self._is_pooled:
            nodes.append(np.zeros((1, self._output_size)))
        return nodes

    @property
    def _output_size(self) -> int:
        x = np.zeros((1, 1, output_size(self._cells[-1].recurrent.cell)))
        for part in self._above:
            x = part.forward(x, None)
        return int(x.shape[-1])

    def step(self, t: int, nodes: Nodes, there: NDArray[np.intp]) -> Nodes:
        """The nodes after step t, of each node by the step's own vector where `there` is 1."""
        self.count += len(there)
        new: Nodes = []
        at, x = 0, np.zeros(0)
        for stage in self._stages:
            if not isinstance(stage, _Cell):
                x = stage.forward(x[:, None], None)[:, 0]
                continue
            cell = stage.recurrent
            old = nodes[at : at + 1 + len(cell.starts)]
            at += len(old)
            if stage.read[t]:
                if not new:
                    now = tuple(drive[there, t] for drive in self._drives)
                else:
                    now = tuple(drive[:, 0] for drive in self._drive(cell, x[:, None]))
                by = cell._by.cell if cell.leaves_out and t == stage.last else cell._by
                old = cell._step(by, old[1:], now)
                x = old[0]
            else:
                x = np.zeros_like(old[0]) if cell.layer.zero_output_for_mask else old[0]
            new += old
        if self._is_pooled:
            new.append(nodes[at] + x if self._pooled is None or self._pooled[t] else nodes[at])
        return new

    def result(self, nodes: Nodes) -> Array:
        """The values that the head reads after the last step, (nodes, units)."""
        if self._is_pooled:
            return nodes[-1] / max(1, self._pooled.sum() if self._pooled is not None else len(self.steps))
        at, x = 0, np.zeros(0)
        for stage in self._stages:
            if isinstance(stage, _Cell):
                x = nodes[at]
                if not stage.read[self.steps[-1]] and stage.recurrent.layer.zero_output_for_mask:
                    x = np.zeros_like(x)
                at += 1 + len(stage.recurrent.starts)
            else:
                x = stage.forward(x[:, None], None)[:, 0]
        return x


def chosen(nodes: Nodes, rows: slice | NDArray[np.intp]) -> Nodes:
    """Some of the nodes."""
    return [x[rows] for x in nodes]


class Prefixes:
    """A sequence of a chain as a function of coalitions.

    Attributes:
        num_players: n. players: (time,), the player of each step, negative for one that is always there.
        directions: in which the sequence is read. runs: of how many coalitions the outputs were computed.

    Args:
        chain: the network. row: which sequence of its batch.
        absent: the vectors (time, ...) in place of those of absent players.
        players: (time,), the player of each step; negative for a step that is always there.
    """

    def __init__(self, chain: Chain, row: int, absent: Array, players: NDArray[np.intp]) -> None:
        layout = _layout(chain, row)
        if layout is None:
            raise ValueError("not read step by step")
        both = np.stack([absent, chain.inputs[row]])
        for part, mask in layout.below:
            both = part.forward(both, None if mask is None else np.stack([mask, mask]))
        self._layout = layout
        self.directions = [Direction(layout, side, both) for side in layout.sides]
        self.players = np.asarray(players)
        self.num_players = int(self.players.max(initial=-1)) + 1
        self.runs = 0

    @property
    def adds_up_steps(self) -> bool:
        """Whether the outputs are sums over the steps of parts of their states: an affine head reads their mean."""
        return self._layout.is_pooled and all(isinstance(part, Linear) for part in self._layout.head)

    @property
    def num_steps(self) -> int:
        """How many steps of a sequence are read, of two directions in both."""
        return sum(len(direction.steps) for direction in self.directions)

    def updates_of_all(self, players: NDArray[np.intp]) -> int:
        """How often a state is updated for all coalitions of players (time,) of a sequence of the batch."""
        total = 0
        for direction in self.directions:
            of_steps = players[direction.steps]
            _, first = np.unique(of_steps[of_steps >= 0], return_index=True)
            places = np.flatnonzero(of_steps >= 0)[first]
            met = np.searchsorted(np.sort(places), np.arange(len(of_steps)), side="right")
            total += sum(2 ** int(number) for number in met)
        return total

    @property
    def updates(self) -> int:
        """How often a state was updated."""
        return sum(direction.count for direction in self.directions)

    def outputs(self, coalitions: Coalitions) -> Array:
        """(m, outputs) for coalitions (m, n)."""
        coalitions = np.asarray(coalitions, bool)
        self.runs += len(coalitions)
        return self.head([self._read(direction, coalitions) for direction in self.directions])

    def _read(self, direction: Direction, coalitions: Coalitions) -> Array:
        """The values that the head reads of a direction, (m, units)."""
        order = list(dict.fromkeys(self.players[t] for t in direction.steps if self.players[t] >= 0))
        sorted_rows = np.lexsort(coalitions[:, order[::-1]].T) if order else np.arange(len(coalitions))
        limit = max(64, ENTRIES // direction.width)
        found = []
        for start in range(0, len(coalitions), limit):
            part = coalitions[sorted_rows[start : start + limit]]
            *_, last = self._levels(direction, part)
            found.append(direction.result(last.after)[last.node])
        result = np.empty((len(coalitions), found[0].shape[1]))
        result[sorted_rows] = np.concatenate(found)
        return result

    def levels(self, coalitions: Coalitions) -> Iterator[Level]:
        """The steps of a network of one direction, each for the prefixes of coalitions (m, n) that differ."""
        [direction] = self.directions
        self.runs += len(coalitions)
        return self._levels(direction, np.asarray(coalitions, bool))

    def _levels(self, direction: Direction, coalitions: Coalitions) -> Iterator[Level]:
        nodes, node = direction.start(), np.zeros(len(coalitions), np.intp)
        known: set[int] = set()
        of_node: dict[int, NDArray[np.intp]] = {}  # whether a player of several steps is there, for each node
        remaining = {int(p): int((self.players[direction.steps] == p).sum()) for p in set(self.players.tolist())}
        for t in direction.steps:
            player = int(self.players[t])
            before, there = nodes, np.ones(len(nodes[0]), np.intp)
            if player in known:
                there = of_node[player]
            elif player >= 0:
                known.add(player)
                keys, node = np.unique(node * 2 + coalitions[:, player], return_inverse=True)
                up, there = keys >> 1, keys & 1
                before = chosen(nodes, up)
                of_node = {p: bits[up] for p, bits in of_node.items()}
                if remaining[player] > 1:
                    of_node[player] = there
            nodes = direction.step(t, before, there)
            yield Level(t, player, there, before, nodes, node)

    def all_outputs(self) -> Array:
        """(2^n, outputs) for all coalitions; in the index of a coalition bit i is that of player i."""
        self.runs += 2**self.num_players
        found = []
        for direction in self.directions:
            leaves: list[tuple[NDArray[np.intp], Array]] = []
            self._expand(direction, 0, direction.start(), np.zeros(1, np.intp), leaves)
            codes = np.concatenate([codes for codes, _ in leaves])
            values = np.concatenate([values for _, values in leaves])
            ordered = np.empty((2**self.num_players, values.shape[1]))
            ordered[codes] = values
            met = sum(1 << int(p) for p in np.unique(self.players[direction.steps]) if p >= 0)
            found.append(ordered[np.arange(2**self.num_players) & met])
        return self.head(found)

    def _expand(
        self,
        direction: Direction,
        place: int,
        nodes: Nodes,
        codes: NDArray[np.intp],
        leaves: list[tuple[NDArray[np.intp], Array]],
    ) -> None:
        """Reads the steps from a place of the reading order on, by both vectors of each player."""
        limit = max(64, ENTRIES // direction.width)
        for i in range(place, len(direction.steps)):
            t = direction.steps[i]
            player = int(self.players[t])
            if player < 0:
                there = np.ones(len(codes), np.intp)
            elif player in self.players[direction.steps[:i]]:
                there = codes >> player & 1
            else:
                if 2 * len(codes) > limit and len(codes) > 1:
                    half = len(codes) // 2
                    for rows in (slice(half), slice(half, None)):
                        self._expand(direction, i, chosen(nodes, rows), codes[rows], leaves)
                    return
                there = np.repeat([0, 1], len(codes))
                nodes = [np.concatenate([x, x]) for x in nodes]
                codes = np.concatenate([codes, codes | 1 << player])
            nodes = direction.step(t, nodes, there)
        leaves.append((codes, direction.result(nodes)))

    def head(self, results: Sequence[Array]) -> Array:
        """The outputs, from what the head reads of each direction."""
        mode = self._layout.merge_mode
        if mode is None:
            [x] = results
        elif mode == "concat":
            x = np.concatenate(results, axis=-1)
        else:
            x = (results[0] + results[1]) * (0.5 if mode == "ave" else 1.0)
        if self._layout.last is not None:
            x = x[:, None]
        limit = max(64, ENTRIES // max(1, x.shape[-1]))
        found = []
        for start in range(0, len(x), limit):
            y = x[start : start + limit]
            for part in self._layout.head:
                y = part.forward(y, None)
            found.append(y.reshape(len(y), -1))
        return np.concatenate(found)


class Level(NamedTuple):
    """A step for all prefixes that differ.

    Attributes:
        step, player: which. there: (nodes,), whether the player is there.
        before, after: the nodes. node: (m,), the node of each coalition.
    """

    step: int
    player: int
    there: NDArray[np.intp]
    before: Nodes
    after: Nodes
    node: NDArray[np.intp]
