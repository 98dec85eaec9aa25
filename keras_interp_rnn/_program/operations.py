"""The operations of a program.

Each names the layer of Keras that it comes from, the values that it reads and those that it makes. What it computes is
in its docstring, with weights as variables of Keras, so that an interpreter reads them as it needs them: as arrays of
float64, as tensors of many networks, or as constants of another language.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

import keras
import numpy as np
from numpy.typing import NDArray

from keras_interp_rnn._types import Tensor

Weight: TypeAlias = Any
"""A variable of Keras, or an array."""

Read = Callable[[Weight], Tensor]
"""The values of a weight, as an interpreter needs them."""

Call: TypeAlias = Callable[[list[Tensor], list[Tensor]], list[Tensor | None]]
"""From tensors, with their masks on them, and masks that are given besides, to tensors. None for no mask."""

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
        layer: the layer or the operation of Keras that it comes from, for its name.
        reads, makes: values. mask: the one that the layer is given; None where it is given none.
    """

    of_rows: ClassVar[bool] = False
    """Whether it makes a row of each row of one value, and so treats every step by itself."""

    layer: Any
    reads: list[Value]
    makes: list[Value]
    mask: Value | None = None

    @property
    def name(self) -> str:
        return str(self.layer.name)

    @property
    def masks(self) -> list[Value | None]:
        """The masks that it reads."""
        return [] if self.mask is None else [self.mask]

    @property
    def arguments(self) -> list[str]:
        """The names of the arguments of its call besides what it reads, and the mask of that."""
        return ["mask"] if self.mask is not None and self.mask is not self.reads[0].mask else []


@dataclass(eq=False, kw_only=True)
class Lookup(Operation):
    """Rows of a table by ids.

    Attributes:
        table: from `Read` to the table (K, n). adapted: whether it is a weight and what LoRA adds to it.
    """

    table: Callable[[Read], Tensor]
    adapted: bool = False


@dataclass(eq=False, kw_only=True)
class OneHot(Operation):
    """One-hot vectors of `size` numbers, by ids."""

    size: int


@dataclass(eq=False, kw_only=True)
class Cast(Operation):
    """The same numbers in another dtype, which is that of what it makes."""


@dataclass(eq=False, kw_only=True)
class Affine(Operation):
    """x R + c.

    Attributes:
        arrays: from `Read` to R, (n, m), of windows (size, n, m), and c, (m,), or None. adapted: whether R is a weight
            and what LoRA adds to it.
    """

    of_rows = True

    arrays: Callable[[Read], tuple[Tensor, Tensor | None]]
    adapted: bool = False


@dataclass(eq=False, kw_only=True)
class Scale(Operation):
    """(x - centre) * factor + offset, number by number.

    Attributes:
        arrays: from `Read` to these three, each of one number for each feature, or of one for all.
        of_weights: whether all three are weights or computed of weights.
    """

    of_rows = True

    arrays: Callable[[Read], tuple[Tensor, Tensor, Tensor]]
    of_weights: bool = True


@dataclass(eq=False, kw_only=True)
class Elementwise(Operation):
    """A function of each number, or a softmax of the last axis."""

    function: Callable[..., Tensor]


PROBABILITIES = {keras.activations.softmax: "softmax", keras.activations.sigmoid: "sigmoid"}
"""Activations that make probabilities of logits."""


@dataclass(eq=False, kw_only=True)
class Normalize(Operation):
    """(x - mean) / sqrt(variance + epsilon) * gamma + beta, over the last axis."""

    of_rows = True

    epsilon: float
    gamma: Weight | None
    beta: Weight | None

    def value(self, xp: Any, x: Any, read: Callable[[Weight, str], Any]) -> Any:
        """Its value in an array namespace, from each weight and its name to their values there."""
        centred = x - xp.mean(x, axis=-1, keepdims=True)
        y = centred / xp.sqrt(xp.mean(centred * centred, axis=-1, keepdims=True) + self.epsilon)
        y = y if self.gamma is None else y * read(self.gamma, "gamma")
        return y if self.beta is None else y + read(self.beta, "beta")


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
class Windows(Operation):
    """The steps of each window, one after the other as one vector; one vector without steps for the window of x[:, i].

    Attributes:
        places: from the number of steps to the steps (windows, size) of each window, -1 for one of zeros. No step is
            twice at the same place of a window.
        lags: of windows of which one ends at each step, and of the last step alone, how many steps before that step
            each one lies; None of others.
    """

    places: Callable[[int], NDArray[np.intp]]
    lags: tuple[int, ...] | None


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
        cell: of Keras. backwards: whether the last step is read first.
        sequences: whether each step has an output. zeros: whether that of a masked step is 0.
        in_order: whether outputs are in the order of the steps, and not in that of reading.
        stateful: whether the states begin where those of the call before ended.
    """

    cell: Any
    backwards: bool
    sequences: bool
    zeros: bool
    in_order: bool
    stateful: bool


@dataclass(eq=False, kw_only=True)
class Opaque(Operation):
    """Any other call of Keras.

    Attributes:
        call: from tensors of what it reads, with their masks on them, and of `given`, to those of what it makes: values
            and, of a layer that may pass masks on, the mask of each, None where it carries none.
        given: masks that are arguments of the call.
        others: the names of arguments of the call besides its input and its mask.
        place: of the call among all calls of its layer, after those of the nested models around it.
    """

    call: Call
    given: list[Value]
    others: list[str]
    place: tuple[int, ...] = ()

    @property
    def arguments(self) -> list[str]:
        return self.others or super().arguments

    @property
    def masks(self) -> list[Value | None]:
        return [*(x.mask for x in self.reads), *self.given]
