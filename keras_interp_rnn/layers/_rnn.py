"""One way along a sequence for all layers: `keras.layers.RNN` with flags, states, masks and direction handled once."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import keras
import numpy as np
from keras import ops

from keras_interp_rnn import _backend
from keras_interp_rnn._backend.keras_quirks import pass_masks_on, walk_layers
from keras_interp_rnn._cells import draw_dropout, forget_dropout, run_cell
from keras_interp_rnn._sequence.masks import outputs_under_mask, repeated_under_mask
from keras_interp_rnn._sequence.scan import Path, scan, whole_or_stepwise
from keras_interp_rnn._types import Tensor
from keras_interp_rnn.layers._arguments import OF_EVERY_LAYER, parameters, signature
from keras_interp_rnn.layers._cell import Cell, check_inputs
from keras_interp_rnn.layers._docstrings import document
from keras_interp_rnn.layers._validation import as_tensor, checked_mask, dense

Extras = Mapping[str, Tensor]


class SequenceRNN(keras.layers.RNN):
    """`keras.layers.RNN` with five differences.

    - A subclass may run whole sequences at once; `chosen_path` says which path the last call took, and why.
    - States keep the variable dtype under mixed precision: rounding them would add up along the sequence.
    - With `stateful=True` a text begins with the cell's own initial state, also after `reset_state()`, and as it is
      then: it may be trained.
    - The states can be set, to resume an interrupted run.
    - Masks are passed on to the next layer, whatever the version of Keras: `keras.layers.RNN` stops that in 3.16.

    What it reads its cell says. A subclass says in `at_once` and `whole_sequence`, how it runs all steps at once; in
    `per_step` and `stepper`, what its steps read besides the inputs.

    Args:
        fused: "auto", True or False: whether all steps are computed at once, with a gradient of their own and the same
            values, where the layer can do that. True raises where it cannot, saying why. `chosen_path` tells what the
            last call did, and for which reason.
        return_sequences, return_state, go_backwards, stateful, unroll, zero_output_for_mask: as `keras.layers.RNN`.
        **kwargs: as `keras.layers.RNN`: name, dtype, trainable, activity_regularizer.

    Call arguments:
        sequences: (batch, time, features).
        initial_state: (batch, n), one for each state; by default the layer's own.
        mask: bool (batch, time); False repeats the previous state. Outputs before the first True are zero, as in
            every Keras RNN.

    Attributes:
        at_once: how `whole_sequence` computes all steps, in one line; None where there is no such method.
        outputs_are_states: whether the cell puts out its first state as it is.
        chosen_path: name and reason of the path that the last call took; None before the first.

    Returns: (batch, n), or (batch, time, n) with `return_sequences`; with `return_state` followed by the last states.
    Raises:
        ValueError: if the sequences, the initial state or the mask have another shape.
    """

    at_once: ClassVar[str | None] = None
    outputs_are_states: ClassVar[bool] = True

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        taken = parameters(cls.__init__, SequenceRNN.__init__, keras.layers.RNN.__init__)
        cls.__signature__ = signature(taken, positional=len(parameters(cls.__init__)))
        document(cls)

    def __init__(self, cell: Any, fused: bool | str = "auto", **kwargs: Any) -> None:
        if fused != "auto" and fused not in (True, False):
            raise ValueError(f"fused must be 'auto', True or False. Received: fused={fused!r}.")
        super().__init__(cell, **kwargs)
        pass_masks_on(self)
        self.fused = fused if fused == "auto" else bool(fused)
        self.chosen_path: Path | None = None

    def check_shape(self, shape: Any) -> None:
        """Raises ValueError unless the layer reads sequences of this shape."""
        check_inputs(self.cell, tuple(shape), 1, type(self).__name__)

    def checked(self, sequences: Tensor) -> Tensor:
        """The sequences as the layer takes them; raises ValueError on wrong ones."""
        if isinstance(self.cell, Cell):
            return self.cell.checked(sequences, 1, type(self).__name__)
        sequences = as_tensor(sequences)
        self.check_shape(sequences.shape)
        return sequences

    def path(self, sequences: Tensor) -> Path:
        """How these sequences are read."""
        obstacle = None if self.at_once else f"the cell of {type(self).__name__} runs step by step: pass fused=False"
        return whole_or_stepwise(self.fused, obstacle) or Path("whole_sequence", str(self.at_once))

    def whole_sequence(
        self, path: Path, sequences: Tensor, states: list[Tensor], mask: Tensor | None, training: bool
    ) -> tuple[Tensor, list[Tensor]]:
        """All outputs (batch, time, n) and the last states, where `path` is not stepwise."""
        raise NotImplementedError

    def per_step(self, sequences: Tensor, mask: Tensor | None, training: bool) -> Extras:
        """What a step reads besides its input: tensors (time, batch or 1, ...).

        Args:
            sequences: (time, batch, ...), in reading order. mask: bool (time, batch), or None.
        """
        return {}

    def stepper(self, training: bool) -> Callable[[Tensor, list[Tensor], Extras], tuple[Tensor, list[Tensor]]]:
        """A function from the input, the states and the extras of a step to the output and the new states."""
        return lambda inputs, states, extras: run_cell(self.cell, inputs, states, training)

    def build(self, sequences_shape: Any, initial_state_shape: Any = None) -> None:
        self.check_shape(sequences_shape)
        if self.stateful and self.states is None and sequences_shape[0] is not None:
            if not self.cell.built:  # an initial state may be a weight
                self.cell.build((sequences_shape[0], *sequences_shape[2:]))
            # As in every Keras RNN these are no weights, neither counted nor saved: set past Keras's tracking. Without
            # autocast, which would round the state at every batch under mixed precision.
            states = [self._carried(i, sequences_shape[0]) for i in range(len(keras.tree.flatten(self.state_size)))]
            fresh = keras.Variable("ones", (), dtype="int32", trainable=False, name="fresh")
            object.__setattr__(self, "states", states)
            object.__setattr__(self, "_fresh", fresh)
        super().build(sequences_shape, initial_state_shape)

    def _carried(self, i: int, batch_size: int) -> keras.Variable:
        """The i-th state from batch to batch.

        A function makes its first value: Keras builds saved models in a scope that takes no other.
        """
        return keras.Variable(
            lambda shape, dtype: ops.cast(self.get_initial_state(batch_size)[i], dtype),
            (batch_size, keras.tree.flatten(self.state_size)[i]),
            dtype=self.variable_dtype,
            trainable=False,
            autocast=False,
            name=f"rnn_state_{i}",
        )

    def call(
        self, sequences: Tensor, initial_state: Any = None, mask: Tensor | None = None, training: bool = False
    ) -> Any:
        sequences = self.checked(dense(sequences))
        mask = None if mask is None else checked_mask(mask, sequences)
        self._check_sizes(sequences)
        unrelated = initial_state is not None or self.stateful  # states whose batch is not that of the sequences
        states = self._first_states(initial_state, sequences)
        if unrelated:
            sequences, mask, states = _backend.of_one_batch(sequences, mask, states)
        last_output, outputs, states = self._run(sequences, states, mask, training)
        if self.stateful:
            for variable, state in zip(self.states, states, strict=True):
                variable.assign(state)
            self._fresh.assign(ops.zeros_like(self._fresh.value))
        output = ops.cast(outputs if self.return_sequences else last_output, self.compute_dtype)
        return (output, *(ops.cast(s, self.compute_dtype) for s in states)) if self.return_state else output

    def _check_sizes(self, sequences: Tensor) -> None:
        if sequences.shape[1] == 0:
            raise ValueError(
                f"A sequence has at least one step. Received: sequences of shape {tuple(sequences.shape)}. Leave empty "
                "ones out."
            )
        if self.unroll and sequences.shape[1] is None:
            raise ValueError(
                "unroll=True needs a known number of steps. Received: sequences of shape "
                f"{tuple(sequences.shape)}. Give the model's Input its time, or pass unroll=False."
            )
        if self.stateful and sequences.shape[0] is not None and sequences.shape[0] != self.states[0].shape[0]:
            raise ValueError(
                f"stateful=True carries one state per sequence, of {self.states[0].shape[0]}. Received: a batch of "
                f"{sequences.shape[0]}. Keep the batch size, and drop a smaller last batch."
            )

    def _first_states(self, initial_state: Any, sequences: Tensor) -> list[Tensor]:
        if initial_state is None:
            initial_state = self.get_initial_state(ops.shape(sequences)[0])
            if self.stateful:
                fresh = self._fresh.value > 0
                initial_state = [
                    ops.where(fresh, ops.cast(start, state.dtype), state.value)
                    for start, state in zip(initial_state, self.states, strict=True)
                ]
        return [ops.cast(x, self.variable_dtype) for x in self.checked_states(initial_state, sequences.shape[0])]

    def _run(
        self, sequences: Tensor, states: list[Tensor], mask: Tensor | None, training: bool
    ) -> tuple[Tensor, Tensor, list[Tensor]]:
        """The last output, all outputs (batch, time, n), and the last states."""
        self.chosen_path = self.path(sequences)
        if self.go_backwards:
            sequences = ops.flip(sequences, axis=1)
            mask = None if mask is None else ops.flip(mask, axis=1)
        if self.chosen_path.name == "stepwise":
            outputs, last = self._stepwise(sequences, states, mask, training)
        else:
            outputs, last = self.whole_sequence(self.chosen_path, sequences, states, mask, training)
        if mask is None:
            return last[0] if self.outputs_are_states else outputs[:, -1], outputs, last
        outputs = outputs if self.outputs_are_states else repeated_under_mask(outputs, mask)
        outputs = outputs_under_mask(outputs, mask, self.zero_output_for_mask)
        return outputs[:, -1], outputs, last

    def _stepwise(
        self, sequences: Tensor, states: list[Tensor], mask: Tensor | None, training: bool
    ) -> tuple[Tensor, list[Tensor]]:
        sequences = ops.swapaxes(sequences, 0, 1)
        mask = None if mask is None else ops.transpose(mask)
        masks = () if mask is None else (mask[:, :, None],)
        extras = self.per_step(sequences, mask, training)
        if training and not _backend.draws_in_loops():
            _check_noise(self)
        draw_dropout(self.cell, sequences[0], states[0], training)
        step_cell = self.stepper(training)

        def step(states: list[Tensor], now: tuple[Tensor, ...]) -> tuple[list[Tensor], tuple[Tensor]]:
            inputs, *rest = now
            read, given = rest[: len(masks)], dict(zip(extras, rest[len(masks) :], strict=True))
            output, new = step_cell(inputs, states, given)
            new = [ops.cast(x, old.dtype) for x, old in zip(new, states, strict=True)]
            if read:
                new = [ops.where(read[0], x, old) for x, old in zip(new, states, strict=True)]
            return new, (new[0] if self.outputs_are_states else ops.cast(output, new[0].dtype),)

        width = states[0].shape[-1] if self.outputs_are_states else self.cell.output_size
        last, [outputs] = scan(step, states, (sequences, *masks, *extras.values()), (width,), unroll=self.unroll)
        forget_dropout(self.cell)
        return ops.swapaxes(outputs, 0, 1), last

    def compute_output_spec(
        self, sequences: Any, initial_state: Any = None, mask: Any = None, training: bool = False
    ) -> Any:
        # Keras infers shapes without calling the layer, so a model of wrong inputs would fail only when it runs.
        self.checked(dense(sequences))
        if mask is not None:
            checked_mask(mask, sequences)
        if initial_state is not None:
            self.checked_states(initial_state, sequences.shape[0])
        return super().compute_output_spec(sequences, initial_state=initial_state, mask=mask, training=training)

    def checked_states(self, initial_state: Any, batch: int | None) -> list[Tensor]:
        """The states as a list; raises ValueError on other shapes. batch: that of the sequences, None if not known."""
        states = list(initial_state) if isinstance(initial_state, (list, tuple)) else [initial_state]
        sizes = keras.tree.flatten(self.state_size)
        shapes = [tuple(state.shape) if hasattr(state, "shape") else np.shape(state) for state in states]
        fits = [len(shape) for shape in shapes] == [2] * len(sizes) and all(
            shape[1] == size and (shape[0] == batch or None in (shape[0], batch))
            for shape, size in zip(shapes, sizes, strict=True)
        )
        if not fits:
            raise ValueError(
                f"initial_state must be one array (batch, size) for each state, of sizes {sizes}"
                f"{'' if batch is None else f', for a batch of {batch}'}. Received: {shapes}. Give each sequence a "
                "state of its own."
            )
        return states

    @property
    def variables(self) -> list[keras.Variable]:
        """The weights, the states of random generators, and those carried from batch to batch with `stateful=True`.

        Keras keeps the latter out of its own layers' list. Its JAX trainer carries along what is in the list and
        nothing else, so that every batch would begin anew.
        """
        return [*super().variables, *((*self.states, self._fresh) if self.states else ())]

    def reset_state(self) -> None:
        """The next batch begins with the initial state, as it is then."""
        if self.states is not None:
            for variable, start in zip(self.states, self.get_initial_state(self.states[0].shape[0]), strict=True):
                variable.assign(ops.convert_to_tensor(start))
            self._fresh.assign(ops.ones_like(self._fresh.value))

    @property
    def at_start(self) -> bool:
        """Whether the next batch of a `stateful=True` layer begins with the initial state."""
        return bool(ops.convert_to_numpy(self._fresh.value))

    def set_states(self, states: list[Any]) -> None:
        """The next batch begins with these states, each (batch, n), of a `stateful=True` layer."""
        for variable, state in zip(self.states, states, strict=True):
            variable.assign(state)
        self._fresh.assign(ops.zeros_like(self._fresh.value))

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "fused": self.fused}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> SequenceRNN:
        return cls(**config)


class MakesItsCell:
    """A layer over a cell that it makes itself, of the arguments which are not its own.

    Stands before the layer's class: `class CFN(MakesItsCell, SequenceRNN)`. Signature and docstring are put together
    from both, and what the cell was made with is an attribute of the layer too.

    Attributes:
        cell_class: of the cell. cell_name: its name.
        precise: whether the cell computes in the variable dtype under mixed precision too.
    """

    cell_class: ClassVar[type]
    _of_layer: ClassVar[dict[str, inspect.Parameter]]
    _taken: ClassVar[Any]
    __signature__: ClassVar[Any]
    cell_name: ClassVar[str] = "cell"
    precise: ClassVar[bool] = False
    cell: Any

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        base = cls.__mro__[cls.__mro__.index(MakesItsCell) + 1]
        cls._of_layer = parameters(base, SequenceRNN, keras.layers.RNN)
        del cls._of_layer["cell"]
        if not hasattr(cls, "cell_class"):
            return
        of_cell = cls.cell_parameters()
        by_position = sum(parameter.kind is parameter.POSITIONAL_OR_KEYWORD for parameter in of_cell.values())
        taken = signature({**of_cell, **cls._of_layer}, positional=by_position)
        own = vars(cls).get("__init__")
        cls._taken, cls.__signature__ = taken.signature, taken if own is None else signature(parameters(own))
        for name in of_cell:
            if not hasattr(cls, name):
                setattr(cls, name, property(functools.partial(_of_cell, name), doc=f"As the cell's `{name}`."))
        document(cls, *cls.cell_classes())

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._check_arguments(args, kwargs)
        of_layer = {name: kwargs.pop(name) for name in (*self._of_layer, *OF_EVERY_LAYER) if name in kwargs}
        shared = {name: of_layer[name] for name in ("dtype", "trainable") if name in of_layer}
        if self.precise:
            policy = keras.dtype_policies.get(shared.get("dtype") or keras.config.dtype_policy())
            if not isinstance(policy, keras.dtype_policies.DTypePolicy):  # of a saved configuration
                raise ValueError(f"dtype must be a dtype policy or its name. Received: dtype={shared['dtype']!r}.")
            shared["dtype"] = policy.variable_dtype
        super().__init__(self.make_cell(*args, **kwargs, **shared), **of_layer)  # type: ignore[call-arg]

    @classmethod
    def cell_classes(cls) -> list[type]:
        """Of the cells whose arguments the layer takes, the outermost first."""
        return [cls.cell_class]

    @classmethod
    def cell_parameters(cls) -> dict[str, inspect.Parameter]:
        """What the layer takes for its cell, in order."""
        return parameters(cls.cell_class)

    def _check_arguments(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Raises TypeError, in the name of the layer and not of its cell, on too many or too few arguments."""
        try:
            self._taken.bind(*args, **kwargs)
        except TypeError as error:
            by_position = [name for name, p in self._taken.parameters.items() if p.kind is p.POSITIONAL_OR_KEYWORD]
            raise TypeError(f"{type(self).__name__}({', '.join(by_position)}, ...): {error}.") from None

    def make_cell(self, *args: Any, **kwargs: Any) -> Any:
        """The cell, of the arguments that are not the layer's own."""
        return self.cell_class(*args, name=self.cell_name, **kwargs)

    def cells(self) -> list[Any]:
        """Whose arguments the layer takes, the innermost first."""
        return [self.cell]

    def get_config(self) -> dict[str, Any]:
        """The layer's own flags and its cell's arguments, in one."""
        config = super().get_config()  # type: ignore[misc]
        del config["cell"]
        for part in self.cells():
            config.update({k: v for k, v in part.get_config().items() if k not in ("name", "trainable", "dtype")})
        return config


def _of_cell(name: str, layer: Any) -> Any:
    """An attribute of the outermost of the layer's cells that has it."""
    owner = next((cell for cell in reversed(layer.cells()) if hasattr(cell, name)), layer.cell)
    return getattr(owner, name)


def _check_noise(layer: Any) -> None:
    """Raises ValueError if a layer within the cell, such as an encoder's Dropout, draws numbers at each step."""
    noise = (keras.layers.Dropout, keras.layers.GaussianDropout, keras.layers.GaussianNoise)
    for part in walk_layers(layer.cell):
        if isinstance(part, noise):
            raise ValueError(
                f"On {_backend.title()} no layer draws within the loop over the steps. Received: {part.name}, in the "
                f"cell of {layer.name}, which runs step by step. Put it before {layer.name}, with what it reads."
            )
