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

from keras_interp_rnn._network.entering import is_of_each_step
from keras_interp_rnn._network.vectors import Network
from keras_interp_rnn._program import operations as o
from keras_interp_rnn._program.along import CellAlong, Mask, read_by_equations
from keras_interp_rnn._program.values import Cells, Step, forward
from keras_interp_rnn._types import Array
from keras_interp_rnn.equations import NUMPY

Nodes = list[Array]
"""Known after reading some prefixes: for each cell its last output and its states, and the running sum."""

Coalitions = NDArray[np.bool_]

ENTRIES = 2**18
"""Entries of a level's widest array, above which a level is read in parts: they fit a cache, and bound the memory."""

BELOW = (o.Unmasked, o.Join, o.Sum)
"""Operations below the recurrent layers that treat every step by itself, besides those of `is_of_each_step`."""


class _Cell(NamedTuple):
    """A cell in a direction.

    Attributes:
        along: the cell. starts: its states at the start, each (n,).
        read: (time,), the steps that it reads. last: the last one of them. zeros: whether a masked step's output is 0.
    """

    along: CellAlong
    starts: Sequence[Array]
    read: Mask
    last: int
    zeros: bool


class _Layout(NamedTuple):
    """A network as operations that read one vector after the other.

    Attributes:
        below: the operations before the first recurrent one.
        sides: for each direction what reads each step, in order.
        joined: where the outputs of two directions are joined; None of one direction.
        head: the operations after them. pooled: the mean over the steps that the head reads; None for no mean.
        last: the step after which the head reads; None after all.
    """

    below: Sequence[Step]
    sides: Sequence[Sequence[Step]]
    joined: Step | None
    head: Sequence[Step]
    pooled: Step | None = None
    last: int | None = None


def _layout(network: Network) -> _Layout | None:
    """How a network reads sequences step by step; None where it does not."""
    places = [i for i, step in enumerate(network.steps) if isinstance(step.function, Cells)]
    if not places or not _reads_each_step(network, network.steps[places[0]].operation.reads[0]):
        return None
    first, end = places[0], places[-1] + 1
    below, sides = network.steps[:first], [network.steps[first:end]]
    recurrences: list[o.Recur] = [network.steps[i].operation for i in places]  # type: ignore[misc]
    uppermost, made = recurrences[-1], recurrences[-1].makes[0]
    joined = network.steps[end] if end == first + 2 == places[-1] + 1 and end < len(network.steps) else None
    if joined is not None and _joins(joined.operation, recurrences, network.reached):
        sides = [[network.steps[i]] for i in places]
        end, made = end + 1, joined.operation.makes[0]
    else:
        joined = None
        if len(places) > 1 and any(each.backwards for each in recurrences):
            return None
        if not _is_chain(sides[0], recurrences[0].reads[0], network.reached):
            return None
    turned = uppermost.sequences and uppermost.backwards and not uppermost.in_order
    if turned or not all(isinstance(step.operation, BELOW) or _treats_steps_alone(network, step) for step in below):
        return None
    between = [step for side in sides for step in side if not isinstance(step.function, Cells)]
    rest = network.steps[end:]
    if not all(_is_of_steps(network, step) for step in between) or not _is_chain(rest, made, network.reached):
        return None
    if not uppermost.sequences:
        return _Layout(below, sides, joined, rest)
    each = list(itertools.takewhile(lambda step: _is_of_steps(network, step), rest))
    if len(each) == len(rest):
        return None
    chosen, head = rest[len(each)], rest[len(each) + 1 :]
    one = isinstance(chosen.operation, o.Windows) and len(chosen.operation.makes[0].shape) == 2
    if one or type(chosen.operation) is o.Operation:  # the step whose output counts
        last = int(chosen.function.forward([np.arange(network.inputs.shape[1])[None, :, None]], [])[0].ravel()[0])
        if not all(is_of_each_step(step.operation) for step in head):
            return None
        return _Layout(below, sides, joined, [*each, *head], last=last)
    if not isinstance(chosen.operation, o.Mean) or (each and joined is not None):
        return None
    sides[0] = [*sides[0], *each]
    return _Layout(below, sides, joined, head, chosen)


def _reads_each_step(network: Network, value: o.Value) -> bool:
    """Whether a value has one vector for each step of each sequence."""
    return bool(network.known[value].shape[:2] == network.known[network.sources[0]].shape[:2])


def _joins(operation: o.Operation, recurrences: Sequence[o.Recur], reached: set[o.Value]) -> bool:
    """Whether an operation joins the outputs of two directions that read the same."""
    first, second = recurrences
    same = first.reads == second.reads and [x for x in first.reads if x in reached] == first.reads[:1]
    in_order = all(each.in_order or not each.sequences for each in recurrences)
    is_joined = isinstance(operation, o.Join | o.Sum) and operation.reads == [first.makes[0], second.makes[0]]
    return same and in_order and is_joined and first.sequences == second.sequences


def _is_chain(steps: Sequence[Step], value: o.Value, reached: set[o.Value]) -> bool:
    """Whether each operation reads the value that the one before it makes, and no other that the vectors reach."""
    for operation, _ in steps:
        if [x for x in operation.reads if x in reached] != [value]:
            return False
        value = operation.makes[0]
    return True


def _is_of_steps(network: Network, step: Step) -> bool:
    """Whether an operation on the states treats every step by itself."""
    operation = step.operation
    if isinstance(operation, o.Elementwise):
        return _treats_steps_alone(network, step)
    return is_of_each_step(operation) or isinstance(operation, o.Unmasked)


def _treats_steps_alone(network: Network, step: Step) -> bool:
    """Whether an operation makes the same of a step alone as among others."""
    operation = step.operation
    if is_of_each_step(operation):
        return True
    x = network.known[operation.reads[0]]
    masked = any(mask is not None and network.known.get(mask) is not None for mask in operation.masks)
    if len(operation.reads) > 1 or (masked and isinstance(operation, o.Opaque)) or x.ndim < 3:
        return False
    nobody = [None for _ in operation.masks]
    try:
        together = step.function.forward([x], nobody)[0]
        alone = step.function.forward([x.reshape(-1, 1, *x.shape[2:])], nobody)[0]
        return bool(np.allclose(together, alone.reshape(together.shape), rtol=1e-4, atol=1e-5))
    except Exception:  # whatever the backend raises of a layer that needs another number of steps
        return False


def is_read_by_steps(network: object) -> TypeGuard[Network]:
    """Whether a network reads sequences step by step, so that `Prefixes` takes it."""
    return isinstance(network, Network) and _layout(network) is not None


def steps_before_output(network: Network) -> Mask:
    """The steps (time,) that can change the output: of a sequence of outputs those up to the one that is computed."""
    layout, steps = _layout(network), np.arange(network.inputs.shape[1])
    return steps <= (steps[-1] if layout is None or layout.last is None or layout.joined else layout.last)


class Direction:
    """A sequence that is read in one direction, each step by its own vector (1) or by the one in its place (0).

    Attributes:
        steps: in reading order.
    """

    def __init__(self, network: Network, layout: _Layout, side: Sequence[Step], row: int, both: Array) -> None:
        length = both.shape[1]
        self._stages: list[_Cell | Step] = []
        self._cells: list[_Cell] = []
        self._above: list[Step] = []  # what comes after the last cell
        backwards = False
        for step in side:
            if not isinstance(step.function, Cells):
                self._stages.append(step)
                self._above.append(step)
                continue
            recurrence = step.function
            read, backwards = network.mask_of(recurrence)[row], recurrence.operation.backwards
            order = np.flatnonzero(read)[recurrence.order]
            starts = [network.held(value, np.array([row]))[0] for value in recurrence.operation.reads[1:]]
            for along, own in zip(recurrence.cells, recurrence.of_cells(starts or recurrence.starts), strict=True):
                zeros = recurrence.operation.zeros and along is recurrence.cells[-1]
                self._cells.append(_Cell(along, own, read, int(order[-1]) if len(order) else -1, zeros))
            self._stages += self._cells[-len(recurrence.cells) :]
            self._above = []
        steps = list(range(length))[:: -1 if backwards else 1]
        if layout.last is not None:
            steps = steps[: steps.index(layout.last) + 1]
        self.steps, self._pooled = steps, None
        if layout.pooled is not None:
            mask = layout.pooled.operation.mask
            self._pooled = np.ones(length, bool) if mask is None else network.held(mask, np.array([row]))[0]
        self._drives = self._drive(self._cells[0].along, both)
        self.width = max(sum(start.shape[-1] for start in cell.starts) * 4 for cell in self._cells)
        self.count = 0

    @staticmethod
    def _drive(cell: CellAlong, x: Array) -> tuple[Array, ...]:
        if cell.equations is None:
            return (x,)
        return tuple(cell.equations.drive(NUMPY, read_by_equations(cell.cell, x)))

    def start(self) -> Nodes:
        """The empty prefix."""
        nodes = []
        for cell in self._cells:
            nodes.append(np.zeros((1, cell.along.num_outputs)))
            nodes += [np.array(start, np.float64)[None] for start in cell.starts]
        if self._pooled is not None:
            nodes.append(np.zeros((1, self._output_size)))
        return nodes

    @property
    def _output_size(self) -> int:
        x = np.zeros((1, 1, self._cells[-1].along.num_outputs))
        for step in self._above:
            x = _applied(step, x)
        return int(x.shape[-1])

    def step(self, t: int, nodes: Nodes, there: NDArray[np.intp]) -> Nodes:
        """The nodes after step t, of each node by the step's own vector where `there` is 1."""
        self.count += len(there)
        new: Nodes = []
        at, x = 0, np.zeros(0)
        for stage in self._stages:
            if not isinstance(stage, _Cell):
                x = _applied(stage, x[:, None])[:, 0]
                continue
            cell = stage.along
            old = nodes[at : at + 1 + len(stage.starts)]
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
                x = np.zeros_like(old[0]) if stage.zeros else old[0]
            new += old
        if self._pooled is not None:
            new.append(nodes[at] + x if self._pooled[t] else nodes[at])
        return new

    def result(self, nodes: Nodes) -> Array:
        """The values that the head reads after the last step, (nodes, units)."""
        if self._pooled is not None:
            return np.asarray(nodes[-1] / max(1, self._pooled.sum()))
        at, x = 0, np.zeros(0)
        for stage in self._stages:
            if isinstance(stage, _Cell):
                x = nodes[at]
                if not stage.read[self.steps[-1]] and stage.zeros:
                    x = np.zeros_like(x)
                at += 1 + len(stage.starts)
            else:
                x = _applied(stage, x[:, None])[:, 0]
        return x


def _applied(step: Step, x: Array) -> Array:
    """The value of an operation that treats every step by itself."""
    return np.asarray(step.function.forward([x], [None])[0])


def chosen(nodes: Nodes, rows: slice | NDArray[np.intp]) -> Nodes:
    """Some of the nodes."""
    return [x[rows] for x in nodes]


class Prefixes:
    """A sequence of a chain as a function of coalitions.

    Attributes:
        num_players: n. players: (time,), the player of each step, negative for one that is always there.
        directions: in which the sequence is read. runs: of how many coalitions the outputs were computed.

    Args:
        network: that `is_read_by_steps`. row: which sequence of its batch.
        absent: the vectors (time, ...) in place of those of absent players.
        players: (time,), the player of each step; negative for a step that is always there.
    """

    def __init__(self, network: Network, row: int, absent: Array, players: NDArray[np.intp]) -> None:
        layout = _layout(network)
        if layout is None:
            raise ValueError("not read step by step")
        rows = np.array([row, row])
        known = network.start(np.stack([absent, network.inputs[row]]), rows)
        forward(layout.below, known)
        both = known[layout.sides[0][0].operation.reads[0]]
        self._network, self._layout, self._row = network, layout, row
        self.directions = [Direction(network, layout, side, row, both) for side in layout.sides]
        self.players = np.asarray(players)
        self.num_players = int(self.players.max(initial=-1)) + 1
        self.runs = 0

    @property
    def adds_up_steps(self) -> bool:
        """Whether the outputs are sums over the steps of parts of their states: an affine head reads their mean."""
        affine = all(isinstance(step.operation, o.Affine | o.Scale) for step in self._layout.head)
        return self._layout.pooled is not None and affine

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
        if self._layout.joined is None:
            [x] = results
        else:
            [x] = self._layout.joined.function.forward(results, [])
        if self._layout.last is not None:
            x = x[:, None]
        limit = max(64, ENTRIES // max(1, x.shape[-1]))
        found = []
        for start in range(0, len(x), limit):
            y = x[start : start + limit]
            for step in self._layout.head:
                y = self._made(step, y)
            found.append(y.reshape(len(y), -1))
        return np.concatenate(found)

    def _made(self, step: Step, x: Array) -> Array:
        """The value of an operation of the head, whose other reads are those of the sequence."""
        reached = self._network.reached
        rows = np.full(len(x), self._row)
        reads = [x if value in reached else self._network.held(value, rows) for value in step.operation.reads]
        opaque = isinstance(step.operation, o.Opaque)  # the others treat every step by itself
        given = step.operation.masks
        masks = [self._network.held(mask, rows) if mask is not None and opaque else None for mask in given]
        return np.asarray(step.function.forward(reads, masks)[0])


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
