"""Linear recurrences: decays and addends of all steps at once, then a scan."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import keras
from keras import ops

from keras_interp_rnn._checks import integer
from keras_interp_rnn._sequence.diagonal import choose_path, diagonal_states
from keras_interp_rnn._sequence.matrix_state import matrix_outputs
from keras_interp_rnn._sequence.scan import UNROLLED, Path
from keras_interp_rnn._types import Tensor
from keras_interp_rnn.layers._cell import Cell
from keras_interp_rnn.layers._rnn import MakesItsCell, SequenceRNN
from keras_interp_rnn.layers._weights import reseeded


class LinearCell(Cell):
    """A cell whose next state is an affine map of the state, chosen by the input alone.

    Attributes:
        is_linear_recurrence: marks the class for code that does not import layers.

    Precision: products and outputs have the compute dtype; states and decays keep the variable dtype.
    """

    is_linear_recurrence: ClassVar[bool] = True

    def encode(self, inputs: Tensor) -> Tensor:
        """The inputs as the equations read them, in the compute dtype."""
        return ops.cast(inputs, self.compute_dtype)

    def drive(self, inputs: Tensor) -> tuple[Tensor, ...]:
        """The drive of inputs (..., features), in the variable dtype except for the products.

        Decays are near 1, where half precision has few numbers, and powers of rounded ones are far off.
        """
        products = _Products(self.compute_dtype, self.variable_dtype)
        encoded = ops.cast(self.encode(inputs), self.variable_dtype)
        drive: tuple[Tensor, ...] = self.precise_equations().drive(products, encoded)
        return drive

    def output(self, states: list[Tensor], drive: tuple[Tensor, ...]) -> Tensor:
        """The outputs of steps, from the states after them."""
        rounded = [ops.cast(x, self.compute_dtype) for x in (*states, *drive)]
        return self.rounded_equations().output(ops, tuple(rounded[: len(states)]), tuple(rounded[len(states) :]))

    def output_and_states(self, inputs: Tensor, states: list[Tensor], training: bool) -> tuple[Tensor, list[Tensor]]:
        drive = self.drive(inputs)
        new = list(self.precise_equations().step(ops, tuple(states), drive).states)
        return self.output(new, drive), new


class _Products:
    """`keras.ops` whose products have the compute dtype; everything else has the variable dtype."""

    def __init__(self, compute_dtype: str, variable_dtype: str) -> None:
        self._compute, self._variable = compute_dtype, variable_dtype

    def __getattr__(self, name: str) -> Any:
        return getattr(ops, name)

    def matmul(self, a: Tensor, b: Tensor) -> Tensor:
        return ops.cast(ops.matmul(ops.cast(a, self._compute), ops.cast(b, self._compute)), self._variable)


class LinearRNN(MakesItsCell, SequenceRNN):
    """A `LinearCell` over whole sequences."""

    def drive(self, sequences: Tensor) -> tuple[Tensor, ...]:
        """The drive of all steps, time-major."""
        inputs = ops.swapaxes(sequences, 0, 1)
        time, batch, *features = ops.shape(inputs)
        # Time joins the batch, so that one call projects all steps.
        drive = self.cell.drive(ops.reshape(inputs, (-1, *features)))
        return tuple(ops.reshape(x, (time, batch, x.shape[-1])) for x in drive)


class DiagonalRNN(LinearRNN):
    """A `LinearCell` whose units do not mix: a scan with numbers for decays."""

    def path(self, sequences: Tensor) -> Path:
        return choose_path(self.fused, sequences.shape[1], self.unroll)

    def whole_sequence(
        self, path: Path, sequences: Tensor, states: list[Tensor], mask: Tensor | None, training: bool
    ) -> tuple[Tensor, list[Tensor]]:
        drive = self.drive(sequences)
        known = self.cell.precise_equations()
        decay, addend = known.coefficients(ops, drive)
        read = None if mask is None else ops.transpose(mask)[:, :, None]
        decay = ops.broadcast_to(decay, ops.shape(addend))
        after = diagonal_states(path.name, decay, addend, states[0], read, known.is_complex)
        return ops.swapaxes(self.cell.output([after], drive), 0, 1), [after[-1]]


class MatrixStateCell(LinearCell):
    """A cell whose state is a matrix (d_k, d_v) for each head, stored as a row (batch, H d_k d_v).

    Args:
        num_heads: int > 0, $H$.
        key_dim: int > 0, $d_k$, of each head.
        value_dim: int > 0, $d_v$, of each head.
        normalize: whether each head's output o is divided by its root mean square, sqrt(mean(o^2) + 1e-5). If not, the
            outputs are affine in the state, given the inputs.

    Call arguments:
        states: [(batch, H d_k d_v)].

    Returns: (output (batch, n), [state]).
    """

    normalize: bool
    gate_kernel: Any

    def set_sizes(self, num_heads: object, key_dim: object, value_dim: object, halves: int = 1) -> None:
        """Sets H, d_k, d_v and the state's size; None stands for d_k = n / (H halves) and d_v = n / H.

        Raises:
            ValueError: if H does not divide n where it must, or if a size is not a positive integer.
        """
        heads, units = integer("num_heads", num_heads), self.units
        if None in (key_dim, value_dim) and units % (heads * (halves if key_dim is None else 1)):
            raise ValueError(
                f"`units` must be a multiple of num_heads{' times 2' if halves > 1 else ''}, unless key_dim and "
                f"value_dim are given. Received: units={units}, num_heads={heads}. Pass both, the sizes of each head."
            )
        self.num_heads = heads
        self.key_dim = integer("key_dim", units // (heads * halves) if key_dim is None else key_dim)
        self.value_dim = integer("value_dim", units // heads if value_dim is None else value_dim)
        self.state_size = heads * self.key_dim * self.value_dim

    def side_by_side(self, part: str, name: str, rows: object, widths: tuple[int, ...]) -> Any:
        """A weight of several matrices (rows, width), each drawn by itself."""
        initializer = getattr(self, f"{part}_initializer")

        def draw(shape: tuple[int, ...], dtype: object = None) -> Tensor:
            drawn = [reseeded(initializer, i)((rows, width), dtype=dtype) for i, width in enumerate(widths)]
            return ops.concatenate(drawn, axis=1)

        return self.weight(part, name, (rows, sum(widths)), initializer=draw)

    def add_readout(self, values: int) -> None:
        """Adds the weights of the readout of the heads' outputs (..., values)."""
        self.scale = self.weight("scale", "scale", (self.value_dim,)) if self.normalize else None
        self.output_kernel = self.weight("output", "output_kernel", (values, self.units))

    def read_readout(self, read: Callable[[keras.Variable], Tensor]) -> tuple[Any, ...]:
        """The fields of `MatrixStateEquations`."""
        optional = (None if x is None else read(x) for x in (self.scale, self.gate_kernel))
        return self.num_heads, read(self.output_kernel), *optional

    def output(self, states: list[Tensor], drive: tuple[Tensor, ...]) -> Tensor:
        known = self.precise_equations()
        return self.read_out(known.read(ops, tuple(states), drive), known.gate(drive))

    def read_out(self, read: Tensor, gate: Tensor | None) -> Tensor:
        """The outputs of steps, from the heads' outputs o (..., H d_v) and the gate."""
        rounded = [None if x is None else ops.cast(x, self.compute_dtype) for x in (read, gate)]
        return self.rounded_equations().read_out(ops, *rounded)


class MatrixStateRNN(LinearRNN):
    """A `MatrixStateCell` over whole sequences: one loop with its own adjoint.

    Call arguments:
        sequences: (batch, time, features).
        initial_state: (batch, H d_k d_v).

    Cost: O(T H d_k d_v) time and, in training, memory per sequence, in addition to the projections.
    """

    at_once = "projections of all steps at once, a loop with its own adjoint"
    outputs_are_states = False

    def obstacle(self) -> str | None:
        return UNROLLED if self.unroll else super().obstacle()

    def whole_sequence(
        self, path: Path, sequences: Tensor, states: list[Tensor], mask: Tensor | None, training: bool
    ) -> tuple[Tensor, list[Tensor]]:
        drive = self.drive(sequences)
        known = self.cell.precise_equations()
        read = None if mask is None else ops.transpose(mask)[:, :, None, None]
        entries = (known.heads(ops, drive[0]), *known.entries(ops, drive))
        outputs, last = matrix_outputs(type(known), states[0], entries, read)
        gate = known.gate(drive)
        return self.cell.read_out(outputs, None if gate is None else ops.swapaxes(gate, 0, 1)), [last]
