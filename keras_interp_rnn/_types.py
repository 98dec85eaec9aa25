"""Arrays and tensors in annotations, and what is asked of objects that other folders, or users, bring.

A protocol is met by any object with these attributes: `analysis` reads automata so without importing `automata`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
"""Of NumPy: exact analysis runs in float64."""

Ints = NDArray[np.int64]

Tensor = Any
"""What `keras.ops` takes: a tensor of Keras's backend; or an array, where equations run on NumPy."""


@runtime_checkable
class CellWithEquations(Protocol):
    """A cell that says what it computes."""

    def equations(self, read: Callable[[Any], Any]) -> Any:
        """Its `keras_interp_rnn.equations.CellEquations`, where `read(weight)` is an array or a tensor."""


@runtime_checkable
class FiniteAutomaton(Protocol):
    """A `DFA`, whose labels are False and True, or a `MooreMachine`: the label of each state, and all labels."""

    alphabet: Sequence[Hashable]
    start: int
    transitions: Sequence[Sequence[int]]
    outputs: Sequence[Hashable]

    @property
    def labels(self) -> Sequence[Hashable]: ...

    def __len__(self) -> int:
        """The number of states."""


@runtime_checkable
class LinearAutomaton(Protocol):
    """A `WeightedAutomaton`: initial (n,), transitions (K, n, n), final (n,) or (n, outputs)."""

    alphabet: Sequence[Hashable] | None
    initial: Any
    transitions: Any
    final: Any


@runtime_checkable
class ProvedNetwork(Protocol):
    """A `Certificate`: whether it holds, else why not, and the automaton of the network's centroids."""

    holds: bool
    failure: str
    path: Any


@runtime_checkable
class ReadNetwork(Protocol):
    """A recurrent layer and the readout of its states."""

    layer: Any
    readout: Any


@runtime_checkable
class NgramModel(Protocol):
    """Probabilities of the next symbol given up to `order - 1` before it: a table for each number of these."""

    vocabulary_size: int
    order: int
    probabilities: Sequence[Any]
