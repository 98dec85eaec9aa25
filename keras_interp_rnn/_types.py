"""Types of arrays and tensors, and protocols of objects from other folders or from users.

Any object with these attributes meets a protocol, so that `analysis` reads automata without importing `automata`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
"""A NumPy array in float64, the precision of exact analysis."""

AnyArray = NDArray[Any]
"""A NumPy array of any dtype: ids, masks or numbers."""

Ints = NDArray[np.int64]

Tensor = Any
"""A tensor of Keras's backend, or an array if equations run on NumPy."""

ArrayModule = Any
"""The functions of `keras.ops` that equations call on tensors: `keras.ops` itself, or `equations.NUMPY`."""


@runtime_checkable
class KerasCell(Protocol):
    """A cell of `keras.layers.RNN`."""

    state_size: Any

    def call(self, inputs: Tensor, states: object) -> tuple[Tensor, Any]:
        """The output and the next states."""


@runtime_checkable
class TextModel(Protocol):
    """A Keras model, built on a graph or of your own."""

    name: str

    def predict_on_batch(self, x: object) -> Any:
        """The outputs for a batch."""


@runtime_checkable
class CellWithEquations(Protocol):
    """A cell that provides its equations."""

    def equations(self, read: Callable[[Any], Any]) -> Any:
        """The `keras_interp_rnn.equations.CellEquations`, where `read(weight)` is an array or a tensor."""


@runtime_checkable
class FiniteAutomaton(Protocol):
    """A `DFA`, whose labels are False and True, or a `MooreMachine`: the label of each state, and all labels."""

    @property
    def alphabet(self) -> Sequence[Hashable]: ...

    @property
    def start(self) -> int: ...

    @property
    def transitions(self) -> Sequence[Sequence[int]]: ...

    @property
    def outputs(self) -> Sequence[Hashable]: ...

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

    def prefix_sums(self) -> LinearAutomaton:
        """The automaton whose value of a word is the sum over all words that begin with it."""


@runtime_checkable
class ProvedNetwork(Protocol):
    """A `Certificate`: whether it holds, why it fails, and the automaton of the network's centroids."""

    holds: bool
    failure: str
    path: Any


@runtime_checkable
class ReadNetwork(Protocol):
    """A recurrent layer and the readout of its states."""

    layer: Any
    readout: Any
