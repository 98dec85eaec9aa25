"""A layer as the contract of tests/layers/test_contract.py knows it, with random weights and sequences in float64.

Weights are random and asymmetric, and all sizes differ, so that no transposed matrix and no swapped axis goes
unnoticed. Gradients of the oracles are complex steps.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import keras
import numpy as np
from keras import ops

from tests import autodiff
from tests.oracles.minimal_rnn import complex_step
from tests.samples import make_mask, make_symbols, outputs_of
from tests.tolerances import assert_close

BACKEND = keras.backend.backend()
QUICK = False if BACKEND == "tensorflow" else "auto"  # `jit_compile`: XLA compiles longer than these models train
# Documented weights whose arguments have another name: `recurrent_initializer` and so on.
ARGUMENTS = {
    **{"recurrent_kernel": "recurrent", "shared_kernel": "shared", "switch_kernel": "switch"},
    **{"into_factors": "factor", "out_of_factors": "factor", "input_kernel": "input", "output_kernel": "output"},
    **{"low_rank_kernel": "decay", "decay_kernel": "decay", "decay_bias": "bias"},
    **{"gate_kernel": "gate", "gate_bias": "bias"},
}


class Subject(NamedTuple):
    """One layer.

    Args:
        make: make(units, features, dtype, **arguments) gives the layer. `features` is the number of symbols, where it
            reads such.
        shapes: shapes(units, features), of each documented weight by its name, which begins at the layer's cell.
        oracle: oracle(weights, inputs, starts, mask) gives each state after each step, (batch, time, n), and then the
            outputs, where these are not the first state; `weights` have the layer's names and orientation, and `starts`
            are None for the layer's own.
        reads: "features", "distributions", "ids" (batch, time) or "columns" of ids (batch, time, 1).
        units: as many as the path of `path` needs.
        path: the name in `chosen_path`, if the layer has one.
        states: how many states there are.
        state_size: of a state, by the number of units, where the outputs are not the first state.
        exact: whether products keep the variable dtype under mixed precision.
        smooth: whether states follow the weights without a jump.
        drops: whether there are dropout rates.
        settings: how many scalars there are besides the documented weights.
        options: whether initializers, regularizers and constraints are arguments of the layer.
        loops: whether Keras's own loop can run its cell: it reads three axes at least.
        variant: of a subject that does whatever depends on the backend alone in the same way.
        representative: of its family, for what takes long.
    """

    name: str
    make: Callable[..., keras.layers.RNN]
    shapes: Callable[[int, int], dict[str, tuple[int, ...]]]
    oracle: Callable[..., list[np.ndarray]]
    reads: str = "features"
    units: int = 4
    features: int = 5
    path: str | None = None
    states: int = 1
    state_size: Callable[[int], int] | None = None
    exact: bool = False
    smooth: bool = True
    drops: bool = False
    settings: int = 0
    options: bool = True
    loops: bool = True
    variant: bool = False
    representative: bool = False

    @property
    def thorough(self) -> bool:
        """Whether it is tried under every mask: elsewhere the same code meets another cell."""
        return not self.variant and (self.representative or not self.settings)

    @property
    def width(self) -> int:
        """The number of entries of a state."""
        return self.state_size(self.units) if self.state_size else self.units

    @property
    def integers(self) -> bool:
        return self.reads in ("ids", "columns")

    @property
    def dtype(self) -> str:
        """The dtype of the sequences."""
        return "int32" if self.integers else "float64"

    @property
    def step_shape(self) -> tuple[int, ...]:
        """The shape of one step of one sequence."""
        return {"ids": (), "columns": (1,)}.get(self.reads, (self.features,))

    def input(self, batch: int | None = None, time: int | None = None, dtype: str | None = None) -> Any:
        return keras.Input((time, *self.step_shape), batch_size=batch, dtype=dtype or self.dtype)

    def layer(self, **arguments: Any) -> keras.layers.RNN:
        """A layer without weights."""
        return self.make(self.units, self.features, **{"dtype": "float64", **arguments})

    def sample(
        self,
        seed: int = 0,
        batch: int = 3,
        time: int = 7,
        features: int | None = None,
        units: int | None = None,
        mask: str | None = None,
    ) -> Sample:
        """The weights depend on the seed and their sizes alone, all but the mask on those and on batch and time."""
        rng = np.random.default_rng(seed)
        subject = self._replace(features=features or self.features, units=units or self.units)
        shapes = subject.shapes(subject.units, subject.features)
        return Sample(
            subject=subject,
            weights={name: random_weight(rng, shape) for name, shape in shapes.items()},
            inputs=subject.sequences(rng, batch, time),
            starts=[rng.normal(size=(batch, subject.width)) for _ in range(self.states)],
            mask=None if mask is None else make_mask(mask, rng, batch, time),
            cotangent=rng.normal(size=(batch, time, subject.units)),
        )

    def sequences(self, rng: np.random.Generator, batch: int, time: int) -> np.ndarray:
        if self.integers:
            return make_symbols(tuple(range(self.features)), rng, batch, time).reshape(batch, time, *self.step_shape)
        if self.reads == "distributions":
            # Sums of powers of two: a distribution in any precision.
            return rng.multinomial(16, np.ones(self.features) / self.features, size=(batch, time)) / 16
        # As `predict` rounds them.
        return rng.normal(size=(batch, time, self.features)).astype("float32").astype("float64")

    def assert_close(self, found: Any, expected: Any, dtype: str = "float64", about: Any = "") -> None:
        # keras.ops.tanh and exp, see tests/tolerances.py.
        backend = "jax, tanh" if (BACKEND, dtype, self.exact) == ("jax", "float64", False) else None
        try:
            assert_close(found, expected, dtype, backend)
        except AssertionError as error:
            raise AssertionError(f"{about} {error}") from error

    def assert_all_close(self, found: Iterable[Any], expected: Iterable[Any], about: Any = "") -> None:
        for place, (one, other) in enumerate(zip(found, expected, strict=True)):
            self.assert_close(one, other, about=(about, place))


def random_weight(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    return rng.normal(size=shape) / np.sqrt(shape[-2] if len(shape) > 1 else 1)


class Sample(NamedTuple):
    """A subject's weights, and a batch to read."""

    subject: Subject
    weights: dict[str, np.ndarray]
    inputs: np.ndarray  # (batch, time, ...)
    starts: list[np.ndarray]  # of each state (batch, n), another for each sequence
    mask: np.ndarray | None  # bool (batch, time)
    cotangent: np.ndarray  # (batch, time, n)

    def with_(self, **weights: np.ndarray) -> Sample:
        return self._replace(weights={**self.weights, **weights})

    def states(self, given: bool = False, go_backwards: bool = False) -> list[np.ndarray]:
        """The oracle's in reading order, from `starts` if these are given, else from the layer's own."""
        return self.run(given, go_backwards)[: self.subject.states]

    def last_states(self, given: bool = False, go_backwards: bool = False) -> list[np.ndarray]:
        return [states[:, -1] for states in self.states(given, go_backwards)]

    def read_out(self, given: bool = False, go_backwards: bool = False) -> np.ndarray:
        """The oracle's outputs in reading order; those at masked steps repeat."""
        return self.run(given, go_backwards)[-1 if self.subject.state_size else 0]

    def run(self, given: bool, go_backwards: bool) -> list[np.ndarray]:
        """The states of the oracle."""
        order = slice(None, None, -1) if go_backwards else slice(None)
        mask = None if self.mask is None else self.mask[:, order]
        return self.subject.oracle(self.weights, self.inputs[:, order], self.starts if given else None, mask)

    def outputs(
        self, given: bool = False, go_backwards: bool = False, zero_output_for_mask: bool = False
    ) -> np.ndarray:
        """The outputs of a Keras RNN."""
        return outputs_of(self.read_out(given, go_backwards), self.mask, go_backwards, zero_output_for_mask)

    def layer(self, **arguments: Any) -> keras.layers.RNN:
        """A built layer with these weights."""
        layer = self.subject.layer(**arguments)
        layer.build(self.inputs.shape)
        self.give(layer.cell)
        if layer.stateful:
            layer.reset_state()
        return layer

    def give(self, cell: keras.layers.Layer) -> None:
        """These weights to a built cell."""
        for variable, array in zip(self.variables(cell), self.weights.values(), strict=True):
            variable.assign(array)

    def variables(self, cell: keras.layers.Layer) -> list[keras.Variable]:
        return [operator.attrgetter(name)(cell) for name in self.weights]

    def cell(self, **arguments: Any) -> keras.layers.Layer:
        """A built cell of its own, with these weights."""
        config = self.subject.layer(**arguments).cell.get_config()
        cell = type(self.subject.layer().cell).from_config(config)
        cell.build((len(self.inputs), *(self.as_columns() if self.subject.loops else self.inputs).shape[2:]))
        self.give(cell)
        return cell

    def gradients(self, given: bool = False, cotangent: np.ndarray | None = None, **flags: bool) -> list[np.ndarray]:
        """The oracle's of sum(cotangent * outputs), by the weights; or, from `starts`, by the inputs and those.

        Outputs of zero pass no gradient on. Ids have no gradient.
        """
        backwards = flags.get("go_backwards", False)
        cotangent = outputs_of(self.cotangent if cotangent is None else cotangent, self.mask, **flags)

        def by(value: Callable[[Any], Sample], array: np.ndarray) -> np.ndarray:
            return complex_step(lambda x: np.sum(cotangent * value(x).read_out(given, backwards)), array)

        if not given:
            return [by(lambda w, name=name: self.with_(**{name: w}), array) for name, array in self.weights.items()]
        found = [] if self.subject.integers else [by(lambda x: self._replace(inputs=x), self.inputs)]
        for i, start in enumerate(self.starts):
            found.append(by(lambda x, i=i: self._replace(starts=[*self.starts[:i], x, *self.starts[i + 1 :]]), start))
        return found

    def gradients_of(
        self, layer: Callable[..., Any], cell: keras.layers.Layer, given: bool = False
    ) -> list[np.ndarray]:
        """The backend's of the same number, of a layer that returns sequences."""
        cotangent = ops.convert_to_tensor(self.cotangent)

        def loss(inputs: Any, starts: Any = None) -> Any:
            return ops.sum(cotangent * layer(inputs, mask=self.mask, initial_state=starts))

        if not given:
            return autodiff.variable_gradients(lambda: loss(ops.convert_to_tensor(self.inputs)), self.variables(cell))
        if self.subject.integers:
            return autodiff.gradients(lambda *starts: loss(self.inputs, list(starts)), self.starts)
        return autodiff.gradients(lambda x, *starts: loss(x, list(starts)), [self.inputs, *self.starts])

    def as_columns(self) -> np.ndarray:
        """The inputs as keras.layers.RNN takes them, whose loop reads three axes."""
        return self.inputs[:, :, None] if self.subject.reads == "ids" else self.inputs
