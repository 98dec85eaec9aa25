"""A model of symbols as lists of instructions on rows of numbers, for pages that read what somebody types.

The equations of the cells run on `Recorder` in place of an array namespace, as they do for C, and each function that
they call becomes an instruction, [name, target, *what it reads]: rows are numbered, and constants are rows too. There
are lists for what depends on the symbol alone, for a step in each direction, from its states to the next ones, and for
the head, which reads the states after the last step. static/machine.js runs them, for many states at once.

What it leaves out raises `Unwritten`, as in C.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import keras
import numpy as np
from keras import tree

from keras_interp_rnn._arrays import as_float64, check_finite
from keras_interp_rnn._cells import equations_of
from keras_interp_rnn._program import draws_noise, read, read_layer
from keras_interp_rnn._program import operations as o
from keras_interp_rnn._program.along import cells_of, encoder_of, treats_steps_alike
from keras_interp_rnn._program.graph import is_stateful
from keras_interp_rnn._types import Array
from keras_interp_rnn.deploy._c import Unwritten as Unwritten
from keras_interp_rnn.deploy._namespace import Namespace, of_constants
from keras_interp_rnn.deploy.network import ACTIVATIONS, with_activations

Instruction = list[str | int]
"""[name, number of the row that it makes, *numbers of rows that it reads, or sizes]."""


@dataclass(frozen=True)
class Symbol:
    """The symbol that is read, in place of ids.

    Attributes:
        one_hot: its size, if its one-hot vector is meant.
    """

    one_hot: int | None = None
    dtype = "int32"
    shape = (1,)

    @property
    def size(self) -> int:
        return self.one_hot or 1


def _operators(name: str) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """An operator of rows and its reflection."""

    def operation(self: Row, other: object) -> Row:
        return self.recorder.made(name, self, other)

    def reflected(self: Row, other: object) -> Row:
        return self.recorder.made(name, other, self)

    return operation, reflected


class Row:
    """A row (1, n) that has no numbers yet."""

    __array_ufunc__ = None  # arrays of NumPy leave arithmetic to this class
    dtype = "float64"
    ndim = 2

    def __init__(self, recorder: Recorder, number: int, size: int) -> None:
        self.recorder, self.number, self.size, self.shape = recorder, number, size, (1, size)

    __add__, __radd__ = _operators("add")
    __sub__, __rsub__ = _operators("subtract")
    __mul__, __rmul__ = _operators("multiply")
    __truediv__, __rtruediv__ = _operators("divide")
    __lt__, __gt__ = _operators("less")
    __ge__, __le__ = _operators("at_least")

    def __neg__(self) -> Any:
        return -1.0 * self

    def _unwritten(self, *others: object) -> Row:
        raise Unwritten("powers, absolute values, remainders or equality of what a step computes")

    __pow__ = __rpow__ = __mod__ = __rmod__ = __floordiv__ = __rfloordiv__ = __abs__ = _unwritten
    __eq__ = __ne__ = _unwritten  # type: ignore[assignment]
    __hash__ = object.__hash__

    def __getitem__(self, key: Any) -> Row:
        chosen = np.arange(self.size).reshape(self.shape)[key].ravel()
        if not len(chosen) or not np.array_equal(chosen, np.arange(chosen[0], chosen[0] + len(chosen))):
            raise Unwritten("entries that are not side by side")
        return self.recorder.part(self, int(chosen[0]), len(chosen))


def _entry_by_entry(name: str) -> Callable[..., Any]:
    def applied(self: Recorder, x: Row) -> Row:
        return self.made(name, x)

    applied.__name__ = name
    return of_constants(applied)


class Recorder(Namespace):
    """The array namespace whose functions become instructions.

    Attributes:
        section: the list that instructions are added to. constants: number of a row -> its array.
        num_symbols: K, the least that a table has; the last row of each table stands for no symbol.
    """

    written = (Row, Symbol)

    def __init__(self) -> None:
        self.section: list[Instruction] = []
        self.constants: dict[int, Array] = {}
        self.num_symbols = 0
        self._count = 0

    def row(self, size: int) -> Row:
        """A new row, which no instruction makes."""
        self._count += 1
        return Row(self, self._count - 1, size)

    def as_row(self, x: object) -> Row:
        """A value as a row: a constant becomes one that is stored."""
        if isinstance(x, Row):
            return x
        if isinstance(x, Symbol):
            raise Unwritten("arithmetic of symbols")
        array = as_float64(x).reshape(-1)
        if not np.isfinite(array).all():
            raise Unwritten("numbers that are not finite")
        found = self.row(array.size)
        self.constants[found.number] = array
        return found

    def made(self, name: str, *operands: object) -> Row:
        """The row that an instruction makes of rows entry by entry; of one entry there are as many as needed."""
        rows = [self.as_row(x) for x in operands]
        sizes = {row.size for row in rows} - {1}
        if len(sizes) > 1:
            raise Unwritten(f"arithmetic of rows of {' and '.join(map(str, sorted(sizes)))} numbers")
        return self._add(name, max(row.size for row in rows), *(row.number for row in rows))

    def _add(self, name: str, size: int, *given: int) -> Row:
        found = self.row(size)
        self.section.append([name, found.number, *given])
        return found

    # The functions that equations call

    sigmoid = _entry_by_entry("sigmoid")
    softplus = _entry_by_entry("softplus")
    tanh = _entry_by_entry("tanh")
    exp = _entry_by_entry("exp")
    expm1 = _entry_by_entry("expm1")
    log = _entry_by_entry("log")
    sqrt = _entry_by_entry("sqrt")

    @of_constants
    def matmul(self, x: object, matrix: object) -> Row:
        if isinstance(x, Symbol) and x.one_hot is not None and isinstance(matrix, np.ndarray):
            return self.look_up(np.concatenate([matrix, np.zeros((1, matrix.shape[1]))]))
        if not isinstance(x, Row) or not isinstance(matrix, np.ndarray) or matrix.ndim != 2 or x.size != len(matrix):
            raise Unwritten("products of computed matrices")
        return self._add("matmul", matrix.shape[1], x.number, self.as_row(matrix).number)

    @of_constants
    def take(self, table: object, index: object, axis: int = 0) -> Row:
        """The row of a table; of no symbol that of the uniform distribution."""
        if not isinstance(index, Symbol) or not isinstance(table, np.ndarray) or table.ndim != 2 or axis != 0:
            raise Unwritten("entries at computed places")
        return self.look_up(np.concatenate([table, table.mean(axis=0, keepdims=True)]))

    def look_up(self, table: Array) -> Row:
        """The row of a table (K + 1, n), the last of which stands for no symbol, whatever K of other tables."""
        self.num_symbols = min(len(table) - 1, self.num_symbols or len(table) - 1)
        return self._add("row", table.shape[1], self.as_row(table).number, table.shape[1])

    @of_constants
    def softmax(self, x: Row, axis: int = -1) -> Row:
        return self.made("softmax", x)

    @of_constants
    def mean(self, x: Row, axis: int = -1, keepdims: bool = False) -> Row:
        return self._add("mean", 1, x.number)

    @of_constants
    def argmax(self, x: Row, axis: int = -1) -> Row:
        return self.made("largest", x)

    @of_constants
    def one_hot(self, x: object, num_classes: int, axis: int = -1, dtype: object = None) -> Row:
        """The one-hot vector of the largest entry, as `argmax` already gives it."""
        if not isinstance(x, Row) or x.size != num_classes:
            raise Unwritten("one-hot vectors of computed numbers")
        return x

    @of_constants
    def where(self, condition: object, x: object, y: object) -> Row:
        return self.made("where", condition, x, y)

    @of_constants
    def maximum(self, x: object, y: object) -> Row:
        return self.made("maximum", x, y)

    @of_constants
    def minimum(self, x: object, y: object) -> Row:
        return self.made("minimum", x, y)

    @of_constants
    def reshape(self, x: Row, shape: tuple[int, ...]) -> Row:
        if np.empty(x.shape).reshape(shape).shape[-1] != x.size:
            raise Unwritten("rows in another shape")
        return x

    @of_constants
    def split(self, x: Row, num_parts: int, axis: int = -1) -> list[Row]:
        size = x.size // num_parts
        return [self.part(x, i * size, size) for i in range(num_parts)]

    def part(self, x: Row, first: int, size: int) -> Row:
        """Entries side by side."""
        return self._add("part", size, x.number, first, size)

    @of_constants
    def concatenate(self, parts: Sequence[object], axis: int = -1) -> Row:
        rows = [self.as_row(part) for part in parts]
        return self._add("join", sum(row.size for row in rows), *(row.number for row in rows))


@dataclass
class Side:
    """A direction in which symbols are read.

    Attributes:
        backwards: whether the last symbol is read first. step: the instructions of a step.
        states: rows. starts: what they hold at first. after: the rows that take their place.
    """

    backwards: bool
    step: list[Instruction] = field(default_factory=list)
    states: list[Row] = field(default_factory=list)
    starts: list[Array] = field(default_factory=list)
    after: list[Row] = field(default_factory=list)


@dataclass(frozen=True)
class Each:
    """A row of each step of a side."""

    row: Row
    side: Side


@dataclass(frozen=True)
class Pair:
    """Rows of each step of two sides, and how they are joined."""

    parts: tuple[Each, ...]
    joined: Callable[..., Any]


class Mask:
    """Which symbols are read: all but those that are masked."""


@dataclass(frozen=True)
class AtEnd:
    """A row after the last step."""

    row: Row


Known: TypeAlias = Symbol | Mask | Row | Each | Pair | AtEnd
"""A value of a program: a row is one of the symbol alone."""


@dataclass
class Instructions:
    """A model as instructions.

    Attributes:
        constants: number of a row -> its array. symbol: the instructions of what depends on the symbol alone.
        sides: the directions. head: the instructions after the last step. output: the row with the outputs.
        count, last: the rows that hold how many steps are read, and whether a step is the last one.
        num_symbols: K; the id K stands for no symbol.
        masked: ids that some layer masks, so that they are not for typing: the instructions know no masked step.
        activation: of the output, which is left out: "softmax", "sigmoid" or "".
    """

    constants: dict[int, Array]
    symbol: list[Instruction]
    sides: list[Side]
    head: list[Instruction]
    output: Row
    count: Row
    last: Row
    num_symbols: int
    masked: list[int]
    activation: str


def instructions_of(model: keras.Model) -> Instructions:
    """The instructions of a model of symbols, up to the activation that makes probabilities of its outputs.

    Raises:
        ValueError: of a model that has no graph, that carries states, or whose weights are not finite.
        Unwritten: of what has no instruction.
    """
    check_finite(model)
    if is_stateful(model):
        raise Unwritten("states that are carried from text to text")
    return _Writer(model).written()


class _Writer:
    def __init__(self, model: keras.Model) -> None:
        self.program = read(model)
        self.recorder = Recorder()
        self.symbol: list[Instruction] = []
        self.head: list[Instruction] = []
        self.sides: list[Side] = []
        self.masked: set[int] = set()
        self.count, self.last = self.recorder.row(1), self.recorder.row(1)

    def written(self) -> Instructions:
        program = self.program
        alone = len(program.inputs) == len(program.outputs) == 1
        if not alone or len(program.inputs[0].shape) != 2 or program.inputs[0].shape[1] is not None:
            raise Unwritten("one output, and one input, ids (batch, time) of texts of any length")
        [output], activation = program.outputs, ""
        operations = list(program.operations)
        last = operations[-1] if operations else None
        if isinstance(last, o.Elementwise) and last.function in o.PROBABILITIES and last.makes == [output]:
            operations, output, activation = operations[:-1], last.reads[0], o.PROBABILITIES[last.function]
        known: dict[o.Value, Known] = {program.inputs[0]: Symbol()}
        for operation in operations:
            reads_mask = operation.mask is not None and isinstance(known.get(operation.mask), Mask)
            if operation.arguments and not (operation.arguments == ["mask"] and reads_mask):
                raise Unwritten(f"{', '.join(operation.arguments)} as arguments of {operation.name}")
            known[operation.makes[0]] = self._made(operation, [known[value] for value in operation.reads])
        found = known[output]
        end = self._after_last(found) if isinstance(found, Each) and not found.side.backwards else found
        if not isinstance(end, AtEnd) or not self.sides:
            raise Unwritten("outputs of each step of both directions, or of no recurrent layer")
        return Instructions(
            self.recorder.constants,
            self.symbol,
            self.sides,
            self.head,
            end.row,
            self.count,
            self.last,
            self.recorder.num_symbols,
            sorted(self.masked),
            activation,
        )

    def _made(self, operation: o.Operation, reads: list[Known]) -> Known:
        """The value of an operation: a symbol, or a row of the symbol, of each step, or after the last one."""
        if isinstance(operation, o.NotEqual):
            if not isinstance(reads[0], Symbol) or self.masked - {int(operation.value)}:
                raise Unwritten("masks of other numbers than symbols, or two different ones")
            self.masked |= {int(operation.value)} if float(operation.value).is_integer() else set()
            return Mask()
        if isinstance(operation, o.Recur):
            return self._recurrent(operation, reads[0])
        if isinstance(operation, o.Mean):
            return self._mean(operation, reads[0])
        if isinstance(operation, o.Windows):
            return self._windows(operation, reads[0])
        rule = RULES.get(type(operation))
        if rule is None:
            raise Unwritten(f"instructions for {operation.name} ({type(operation.layer).__name__})")
        if any(isinstance(x, Pair) for x in reads):
            raise Unwritten("layers on the steps of both directions")
        of_symbols = any(isinstance(x, Symbol) for x in reads) and not isinstance(operation, TAKES_SYMBOLS)
        if of_symbols or any(isinstance(x, Mask) for x in reads):
            raise Unwritten(f"{operation.name} on symbols or masks")
        each, ends = [x for x in reads if isinstance(x, Each)], [x for x in reads if isinstance(x, AtEnd)]
        if len({id(x.side) for x in each}) > 1:
            parts = tuple(each)
            if len(parts) != len(reads):
                raise Unwritten("layers on the steps of both directions")
            return Pair(parts, functools.partial(rule, self.recorder, operation))
        if ends and len(ends) != len(reads):
            raise Unwritten("what is read after the last step, together with steps")
        self.recorder.section = each[0].side.step if each else self.head if ends else self.symbol
        rows = [x.row if isinstance(x, Each | AtEnd) else x for x in reads]
        made: Row | Symbol = rule(self.recorder, operation, *rows)
        if isinstance(made, Symbol) or not each + ends:
            return made
        return Each(made, each[0].side) if each else AtEnd(made)

    def _kept(self, side: Side, start: Array, next_row: Callable[[Row], Row]) -> Row:
        """A new state of a side, from what it holds at first, and from its row to the row that takes its place."""
        state = self.recorder.row(start.size)
        self.recorder.section = side.step
        after = next_row(state)
        side.states.append(state)
        side.starts.append(start)
        side.after.append(after)
        return state

    def _after_last(self, x: Each) -> AtEnd:
        """The row that a side made of the last step that it read."""
        return AtEnd(self._kept(x.side, np.zeros(x.row.size), lambda _: x.row))

    def _recurrent(self, operation: o.Recur, x: Known) -> Known:
        layer = operation.layer
        if len(operation.makes) > 1:
            raise Unwritten(f"the options of {operation.name}")
        if isinstance(x, Each):
            side = x.side
            if side.backwards or operation.backwards:
                raise Unwritten("layers above one that reads backwards")
        elif isinstance(x, Row | Symbol):
            same = [side for side in self.sides if side.backwards == operation.backwards]
            side = same[0] if same else Side(operation.backwards)
            self.sides += [] if same else [side]
        else:
            raise Unwritten("layers above both directions")
        starts = [as_float64(state)[0] for state in tree.flatten(layer.get_initial_state(1))]
        if any(start.ndim != 1 for start in starts):
            raise Unwritten("states that are matrices")
        output = x.row if isinstance(x, Each) else x
        for cell in cells_of(operation.cell):
            count = len(tree.flatten(cell.state_size))
            output, starts = self._cell(cell, side, starts[:count], output, layer), starts[count:]
        assert isinstance(output, Row)
        each = Each(output, side)
        if operation.sequences and operation.backwards and not operation.in_order:
            raise Unwritten("outputs in the order of reading")
        return each if operation.sequences else self._after_last(each)

    def _cell(self, cell: Any, side: Side, starts: list[Array], x: Row | Symbol, layer: keras.layers.Layer) -> Row:
        """The output of a cell, whose states become states of the side."""
        recorder = self.recorder
        found = None if draws_noise(cell) else equations_of(cell, as_float64)
        if found is None:
            raise Unwritten(f"equations of {type(cell).__name__}, or no noise")
        equations = with_activations(recorder, found, layer.name)
        recorder.section = self.symbol if isinstance(x, Symbol) or self._is_of_symbol(x) else side.step
        encoder = encoder_of(cell)
        if encoder is not None:
            of_ids = isinstance(x, Symbol)
            encoding = read_layer(encoder, (None,) if of_ids else (None, x.size), "int32" if of_ids else "float32")
            known = {encoding.inputs[0]: x}
            for operation in encoding.operations:
                if type(operation) not in RULES:
                    raise Unwritten(f"instructions for {operation.name} in an encoder")
                reads = [known[value] for value in operation.reads]
                known[operation.makes[0]] = RULES[type(operation)](recorder, operation, *reads)
            x = known[encoding.outputs[0]]
        drive = tuple(map(recorder.as_row, equations.drive(recorder, x)))
        recorder.section = side.step
        states = tuple(recorder.row(start.size) for start in starts)
        after = equations.step(recorder, states, drive).states
        if not treats_steps_alike(layer):  # the last step leaves the centroids out
            plain = equations.cell.step(recorder, states, drive).states
            after = tuple(recorder.where(self.last, x, y) for x, y in zip(plain, after, strict=True))
        side.states += states
        side.starts += starts
        side.after += map(recorder.as_row, after)
        return recorder.as_row(equations.output(recorder, after, drive))

    def _is_of_symbol(self, x: Row) -> bool:
        """Whether a row depends on the symbol alone."""
        return x.number in {instruction[1] for instruction in self.symbol}

    def _mean(self, operation: o.Mean, x: Known) -> AtEnd:
        if isinstance(x, Pair):
            means = [self._mean(operation, part).row for part in x.parts]
            self.recorder.section = self.head
            return AtEnd(x.joined(*means))
        if not isinstance(x, Each):
            raise Unwritten("means of what is no sequence of states")
        total = self._kept(x.side, np.zeros(x.row.size), lambda state: state + x.row)
        self.recorder.section = self.head
        return AtEnd(total / self.count)

    def _windows(self, operation: o.Windows, x: Known) -> Known:
        lags = operation.lags
        if lags is None:
            raise Unwritten("steps other than those that have been read")
        if isinstance(x, Each) and max(lags) == 0 and not x.side.backwards:
            return self._after_last(x)
        raise Unwritten("windows of steps")


def _lookup(recorder: Recorder, operation: o.Lookup, x: object) -> Row:
    if not isinstance(x, Symbol):
        raise Unwritten("entries at computed places")
    table = as_float64(operation.table(as_float64))
    return recorder.look_up(np.concatenate([table, np.zeros((1, table.shape[1]))]))


def _affine(recorder: Recorder, operation: o.Affine, x: object) -> Row:
    matrix, offset = operation.arrays(as_float64)
    product: Row = recorder.matmul(x, matrix.reshape(-1, matrix.shape[-1]))
    return product if offset is None else product + offset


def _scale(recorder: Recorder, operation: o.Scale, x: Row) -> Row:
    centre, factor, offset = operation.arrays(as_float64)
    scaled: Row = (x - centre) * factor + offset
    return scaled


def _elementwise(recorder: Recorder, operation: o.Elementwise, x: Row) -> Row:
    if operation.function not in ACTIVATIONS:
        raise Unwritten(f"the activation of {operation.name}")
    return recorder.as_row(ACTIVATIONS[operation.function](recorder, x))


def _sum(recorder: Recorder, operation: o.Sum, *parts: Row) -> Row:
    terms: list[Row] = [factor * x for factor, x in zip(operation.factors, parts, strict=True)]
    return functools.reduce(operator.add, terms)


def _cast(recorder: Recorder, operation: o.Cast, x: Row | Symbol) -> Row | Symbol:
    made = operation.makes[0].dtype
    if made not in ("float32", "float64") and not (isinstance(x, Symbol) and "int" in made):
        raise Unwritten(f"a cast to {made}")
    return x


TAKES_SYMBOLS = (o.Lookup, o.OneHot, o.Cast, o.Affine)
"""Operations that take a symbol, or its one-hot vector."""

RULES: dict[type[o.Operation], Callable[..., Any]] = {
    o.Lookup: _lookup,
    o.OneHot: lambda recorder, operation, x: Symbol(operation.size),
    o.Cast: _cast,
    o.Affine: _affine,
    o.Scale: _scale,
    o.Elementwise: _elementwise,
    o.Normalize: lambda recorder, operation, x: operation.value(recorder, x, lambda weight, _: as_float64(weight)),
    o.Join: lambda recorder, operation, *parts: recorder.concatenate(parts),
    o.Sum: _sum,
}
"""Operation -> what it makes of rows, or of a symbol."""
