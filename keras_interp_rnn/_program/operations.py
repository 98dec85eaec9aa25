"""The operations of a program.

Each names the layer of Keras that it comes from, the values that it reads and those that it makes. What it computes is
in its docstring, with weights as variables of Keras, so that an interpreter reads them as it needs them: as arrays of
float64, as tensors of many networks, or as constants of another language.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from keras_interp_rnn._types import Tensor

Weight: TypeAlias = Any
"""A variable of Keras, or an array."""

Read = Callable[[Weight], Tensor]
"""The values of a weight, as an interpreter needs them."""

Shape = tuple[int | None, ...]


@dataclass(eq=False)
class Value:
    """A tensor of a program.

    Attributes:
        shape: None for the batch, and for steps of any number.
        mask: which steps are there, bool (batch, time); None where the tensor carries none.
    """

    shape: Shape
    dtype: str
    mask: Value | None = None


@dataclass(eq=False, kw_only=True)
class Operation:
    """One step of a program.

    Attributes:
        name: of the layer or the operation of Keras.
        reads, makes: values. mask: the one that the layer is given; None where it is given none.
    """

    name: str
    reads: list[Value]
    makes: list[Value]
    mask: Value | None = None


@dataclass(eq=False, kw_only=True)
class Lookup(Operation):
    """Rows of a table (K, n) by ids."""

    table: Weight


@dataclass(eq=False, kw_only=True)
class OneHot(Operation):
    """One-hot vectors of `size` numbers, by ids."""

    size: int


@dataclass(eq=False, kw_only=True)
class Cast(Operation):
    """The same numbers in another dtype, which is that of what it makes."""


@dataclass(eq=False, kw_only=True)
class Affine(Operation):
    """x R + c; if `diagonal`, R is a vector, and the product that of numbers.

    Attributes:
        arrays: from `Read` to R, (n, m) or (n,), and c, (m,), or None.
    """

    arrays: Callable[[Read], tuple[Tensor, Tensor | None]]
    diagonal: bool = False


@dataclass(eq=False, kw_only=True)
class Elementwise(Operation):
    """A function of each number, or a softmax of the last axis."""

    function: Callable[..., Tensor]


@dataclass(eq=False, kw_only=True)
class Normalize(Operation):
    """(x - mean) / sqrt(variance + epsilon) * gamma + beta, over the last axis."""

    epsilon: float
    gamma: Weight | None
    beta: Weight | None


@dataclass(eq=False, kw_only=True)
class Mean(Operation):
    """The mean over the steps that the mask has."""


@dataclass(eq=False, kw_only=True)
class Join(Operation):
    """Features after features."""


@dataclass(eq=False, kw_only=True)
class Sum(Operation):
    """The sum of what it reads, each times its factor."""

    factors: list[float]


@dataclass(eq=False, kw_only=True)
class Reshape(Operation):
    """The same numbers of each sequence in another shape."""


@dataclass(eq=False, kw_only=True)
class NotEqual(Operation):
    """A mask: whether each id is another one than `value`."""

    value: float


@dataclass(eq=False, kw_only=True)
class Unmasked(Operation):
    """Steps of which not all numbers are `value`, and their mask, the second value; the others become 0."""

    value: float


@dataclass(eq=False, kw_only=True)
class Recur(Operation):
    """A cell along the steps: its outputs, of each step or after the last one, and then its states after the last one.

    A masked step leaves the states as they are, and repeats the output.

    Attributes:
        reads: the sequences, and initial states where the call has them; else those of the layer.
        layer, cell: of Keras. backwards: whether the last step is read first.
        sequences: whether each step has an output. zeros: whether that of a masked step is 0.
        in_order: whether outputs are in the order of the steps, and not in that of reading.
    """

    layer: Any
    cell: Any
    backwards: bool
    sequences: bool
    zeros: bool
    in_order: bool


@dataclass(eq=False, kw_only=True)
class Opaque(Operation):
    """Any other call of Keras.

    Attributes:
        call: from tensors of what it reads to those of what it makes.
    """

    call: Callable[[list[Tensor]], list[Tensor]]
