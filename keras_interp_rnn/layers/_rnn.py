"""Base class of all layers: runs cells along sequences, with states, masks, direction and flags handled once."""

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
from keras_interp_rnn._checks import invalid
from keras_interp_rnn._sequence.masks import outputs_under_mask, repeated_under_mask, zero_where_masked
from keras_interp_rnn._sequence.scan import Path, scan, whole_or_stepwise
from keras_interp_rnn._types import Tensor
from keras_interp_rnn.layers._cell import Cell, check_inputs
from keras_interp_rnn.layers._docstrings import document
from keras_interp_rnn.layers._inputs import as_tensor, checked_mask, dense
from keras_interp_rnn.layers._signatures import OF_EVERY_LAYER, parameters, signature

Extras = Mapping[str, Tensor]


class SequenceRNN(keras.layers.RNN):
    """`keras.layers.RNN` with five differences.

    - A subclass may run whole sequences at once; `chosen_path` gives the path of the last call, and the reason.
    - States keep the variable dtype under mixed precision: rounding errors would add up along the sequence.
    - With `stateful=True` a text starts from the current initial state of the cell, which may be trained. So does the
      text after `reset_state()`.
    - The states can be set, to resume an interrupted run.
    - Masks reach the next layer in every version of Keras; those of `keras.layers.RNN` no longer do in 3.16.

    The cell decides which inputs are valid. A subclass defines in `at_once` and `whole_sequence` how all steps run at
    once, and in `per_step` and `stepper` what its steps read besides the inputs.

    Args:
        fused: "auto", True or False: whether the layer computes all steps at once, with the same values and its own
            gradient. "auto" does so if the layer can; True raises an error with the reason if it cannot.
            `chosen_path` gives the path of the last call.
        return_sequences, return_state, go_backwards, stateful, unroll, zero_output_for_mask: as `keras.layers.RNN`.
        **kwargs: as `keras.layers.RNN`: name, dtype, trainable, activity_regularizer.

    Call arguments:
        sequences: (batch, time, features).
        initial_state: (batch, n), one for each state; by default the layer's own.
        mask: bool (batch, time); False repeats the previous state. Outputs before the first True are zero, as in
            every Keras RNN. Masked steps are not read: they may hold anything, NaN, infinity or ids out of range.

    Attributes:
        at_once: one line on how `whole_sequence` computes all steps; None without such a method.
        outputs_are_states: whether the output of the cell is its first state.
        chosen_path: name and reason of the path of the last call; None before the first.

    Returns: (batch, n), or (batch, time, n) with `return_sequences`; with `return_state` followed by the last states.
    Raises:
        ValueError: if the sequences, the initial state or the mask have another shape.
    """

    at_once: ClassVar[str | None] = None
    outputs_are_states: ClassVar[bool] = True

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        taken = parameters(cls.__init__, SequenceRNN.__init__, keras.layers.RNN.__init__)
        cls.__signature__ = signature(taken, positional=len(parameters(cls.__init__)))
        document(cls)

    def __init__(self, cell: object, fused: bool | str = "auto", **kwargs: object) -> None:
        if fused != "auto" and fused not in (True, False):
            raise invalid("fused", "'auto', True or False", fused)
        super().__init__(cell, **kwargs)
        pass_masks_on(self)
        self.fused = fused if fused == "auto" else bool(fused)
        self.chosen_path: Path | None = None

    def check_shape(self, shape: Any) -> None:
        """Raises ValueError unless the layer reads sequences of this shape."""
        check_inputs(self.cell, tuple(shape), 1, type(self).__name__)

    def checked(self, sequences: Tensor) -> Tensor:
        """The sequences as a tensor; ValueError if their shape is wrong."""
        if isinstance(self.cell, Cell):
            return self.cell.checked(sequences, 1, type(self).__name__)
        sequences = as_tensor(sequences)
        self.check_shape(sequences.shape)
        return sequences

    def path(self, sequences: Tensor) -> Path:
        """The path on which these sequences are computed."""
        return whole_or_stepwise(self.fused, self.obstacle()) or Path("whole_sequence", str(self.at_once))

    @property
    def runs_at_once(self) -> bool:
        """Whether `whole_sequence` knows the cell and its derivative."""
        return bool(self.at_once)

    def obstacle(self) -> str | None:
        """Why the layer runs step by step, with the remedy; None if it runs whole sequences."""
        return None if self.runs_at_once else f"the cell of {type(self).__name__} runs step by step: pass fused=False"

    def whole_sequence(
        self, path: Path, sequences: Tensor, states: list[Tensor], mask: Tensor | None, training: bool
    ) -> tuple[Tensor, list[Tensor]]:
        """All outputs (batch, time, n) and the last states, on a path other than stepwise."""
        raise NotImplementedError

    def per_step(self, sequences: Tensor, mask: Tensor | None, training: bool) -> Extras:
        """Tensors (time, batch or 1, ...) that the steps read besides the inputs.

        Args:
            sequences: (time, batch, ...), in reading order. mask: bool (time, batch), or None.
        """
        return {}

    def stepper(self, training: bool) -> Callable[[Tensor, list[Tensor], Extras], tuple[Tensor, list[Tensor]]]:
        """A function from input, states and extras of a step to its output and new states."""
        return lambda inputs, states, extras: run_cell(self.cell, inputs, states, training)

    def build(self, sequences_shape: Any, initial_state_shape: Any = None) -> None:
        self.check_shape(sequences_shape)
        if self.stateful and self.states is None and sequences_shape[0] is not None:
            if not self.cell.built:  # an initial state may be a weight
                self.cell.build((sequences_shape[0], *sequences_shape[2:]))
            # As in every Keras RNN these are not weights, so they bypass Keras's tracking. Autocast would round the
            # state at every batch under mixed precision.
            states = [self._carried(i, sequences_shape[0]) for i in range(len(keras.tree.flatten(self.state_size)))]
            fresh = keras.Variable("ones", (), dtype="int32", trainable=False, name="fresh")
            object.__setattr__(self, "states", states)
            object.__setattr__(self, "_fresh", fresh)
        super().build(sequences_shape, initial_state_shape)

    def _carried(self, i: int, batch_size: int) -> keras.Variable:
        """A variable that carries the i-th state from batch to batch.

        Its first value is a function, as Keras builds saved models in a scope where no other works.
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
        self, sequences: Tensor, initial_state: object = None, mask: Tensor | None = None, training: bool = False
    ) -> Any:
        sequences, mask = self._checked_and_masked(sequences, mask)
        self._check_sizes(sequences)
        unrelated = initial_state is not None or self.stateful  # the batch of the states may differ
        states = self._first_states(initial_state, sequences)
        if unrelated:
            sequences, mask, states = _backend.of_one_batch(sequences, mask, states)
        last_output, outputs, states = self._run(sequences, states, mask, training)
        if self.stateful:
            self.set_states(states)
        output = ops.cast(outputs if self.return_sequences else last_output, self.compute_dtype)
        return (output, *(ops.cast(s, self.compute_dtype) for s in states)) if self.return_state else output

    def _checked_and_masked(self, sequences: Tensor, mask: Any) -> tuple[Tensor, Tensor | None]:
        """The checked sequences, with zeros at masked steps, and the mask as bool (batch, time), or None.

        No mask further on would do: a product with 0 is NaN for NaN and infinity, in outputs and in gradients.
        """
        sequences = as_tensor(dense(sequences))
        if mask is not None:
            self.check_shape(sequences.shape)
            mask = checked_mask(mask, sequences)
            read = mask[(..., *[None] * (len(sequences.shape) - 2))]
            sequences = zero_where_masked(sequences, read)
        return self.checked(sequences), mask

    def _check_sizes(self, sequences: Tensor) -> None:
        if sequences.shape[1] == 0:
            raise ValueError(
                f"`sequences` must have at least one step. Received: shape {tuple(sequences.shape)}. Leave empty "
                "sequences out."
            )
        if self.unroll and sequences.shape[1] is None:
            raise ValueError(
                "The number of steps must be known for unroll=True. Received: sequences of shape "
                f"{tuple(sequences.shape)}. Give the model's Input its time, or pass unroll=False."
            )
        if self.stateful and sequences.shape[0] is not None and sequences.shape[0] != self.states[0].shape[0]:
            raise ValueError(
                f"Every batch must have {self.states[0].shape[0]} sequences, as the first one, with stateful=True. "
                f"Received: a batch of {sequences.shape[0]}. Keep the batch size, and drop a smaller last batch."
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
            read, of_step = rest[: len(masks)], dict(zip(extras, rest[len(masks) :], strict=True))
            output, new = step_cell(inputs, states, of_step)
            new = [ops.cast(x, old.dtype) for x, old in zip(new, states, strict=True)]
            if read:
                new = [ops.where(read[0], x, old) for x, old in zip(new, states, strict=True)]
            return new, (new[0] if self.outputs_are_states else ops.cast(output, new[0].dtype),)

        width = states[0].shape[-1] if self.outputs_are_states else self.cell.output_size
        last, [outputs] = scan(step, states, (sequences, *masks, *extras.values()), (width,), unroll=self.unroll)
        forget_dropout(self.cell)
        return ops.swapaxes(outputs, 0, 1), last

    def compute_output_spec(
        self, sequences: Any, initial_state: Any = None, mask: object = None, training: bool = False
    ) -> Any:
        # Keras infers shapes without calling the layer, so a model of wrong inputs would fail only when it runs.
        self.checked(dense(sequences))
        if mask is not None:
            checked_mask(mask, sequences)
        if initial_state is not None:
            self.checked_states(initial_state, sequences.shape[0])
        return super().compute_output_spec(sequences, initial_state=initial_state, mask=mask, training=training)

    def checked_states(self, initial_state: Any, batch: int | None) -> list[Tensor]:
        """The states as a list; ValueError if a shape is wrong. `batch` is None if it is not known."""
        states = list(initial_state) if isinstance(initial_state, (list, tuple)) else [initial_state]
        sizes = keras.tree.flatten(self.state_size)
        shapes = [tuple(state.shape) if hasattr(state, "shape") else np.shape(state) for state in states]
        fits = [len(shape) for shape in shapes] == [2] * len(sizes) and all(
            shape[1] == size and (shape[0] == batch or None in (shape[0], batch))
            for shape, size in zip(shapes, sizes, strict=True)
        )
        if not fits:
            raise ValueError(
                f"`initial_state` must be one array (batch, size) for each state, of sizes {sizes}"
                f"{'' if batch is None else f', for a batch of {batch}'}. Received: {shapes}. Give each sequence a "
                "state of its own."
            )
        return states

    @property
    def variables(self) -> list[keras.Variable]:
        """Weights, states of random generators, and the states carried from batch to batch with `stateful=True`.

        Keras leaves the carried states of its own layers out. Its JAX trainer updates only listed variables, so every
        batch of those layers starts from the initial state.
        """
        return [*super().variables, *((*self.states, self._fresh) if self.states else ())]

    def reset_state(self) -> None:
        """Lets the next batch start from the current initial state."""
        if self.states is not None:
            for variable, start in zip(self.states, self.get_initial_state(self.states[0].shape[0]), strict=True):
                variable.assign(ops.convert_to_tensor(start))
            self._fresh.assign(ops.ones_like(self._fresh.value))

    @property
    def at_start(self) -> bool:
        """Whether the next batch of a `stateful=True` layer starts from the initial state."""
        return bool(ops.convert_to_numpy(self._fresh.value))

    def set_states(self, states: list[Any]) -> None:
        """Lets the next batch of a `stateful=True` layer start from these states, each (batch, n)."""
        for variable, state in zip(self.states, states, strict=True):
            variable.assign(state)
        self._fresh.assign(ops.zeros_like(self._fresh.value))

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "fused": self.fused}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> SequenceRNN:
        return cls(**config)


class MakesItsCell:
    """Mixin of a layer that makes its cell, from the arguments that are not the layer's own.

    It precedes the layer's class: `class CFN(MakesItsCell, SequenceRNN)`. Signature and docstring combine both, and the
    arguments of the cell are attributes of the layer too.

    Attributes:
        cell_class: class of the cell. cell_name: name of the cell.
    """

    cell_class: ClassVar[type]
    _of_layer: ClassVar[dict[str, inspect.Parameter]]
    _taken: ClassVar[Any]
    __signature__: ClassVar[Any]
    cell_name: ClassVar[str] = "cell"
    cell: Any

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        base = cls.__mro__[cls.__mro__.index(MakesItsCell) + 1]
        cls._of_layer = parameters(base, SequenceRNN, keras.layers.RNN)
        del cls._of_layer["cell"]
        if not hasattr(cls, "cell_class"):
            return
        of_cell = cls.cell_parameters()
        by_position = sum(parameter.kind is parameter.POSITIONAL_OR_KEYWORD for parameter in of_cell.values())
        taken = signature({**of_cell, **cls._of_layer}, positional=by_position)
        init = vars(cls).get("__init__")
        cls._taken, cls.__signature__ = taken.signature, taken if init is None else signature(parameters(init))
        for name in of_cell:
            if not hasattr(cls, name):
                setattr(cls, name, property(functools.partial(_of_cell, name), doc=f"As the cell's `{name}`."))
        document(cls, *cls.cell_classes())

    def __init__(self, *args: object, **kwargs: object) -> None:
        self._check_arguments(args, kwargs)
        of_layer = {name: kwargs.pop(name) for name in (*self._of_layer, *OF_EVERY_LAYER) if name in kwargs}
        shared = {name: of_layer[name] for name in ("dtype", "trainable") if name in of_layer}
        super().__init__(self.make_cell(*args, **kwargs, **shared), **of_layer)  # type: ignore[call-arg]

    @classmethod
    def cell_classes(cls) -> list[type]:
        """Classes of the cells whose arguments the layer takes, the outermost first."""
        return [cls.cell_class]

    @classmethod
    def cell_parameters(cls) -> dict[str, inspect.Parameter]:
        """The parameters of the cell that the layer takes, in order."""
        return parameters(cls.cell_class)

    def _check_arguments(self, args: tuple[object, ...], kwargs: dict[str, Any]) -> None:
        """Raises TypeError that names the layer, not its cell, if arguments are missing or unknown."""
        try:
            self._taken.bind(*args, **kwargs)
        except TypeError as error:
            by_position = [name for name, p in self._taken.parameters.items() if p.kind is p.POSITIONAL_OR_KEYWORD]
            raise TypeError(f"{type(self).__name__}({', '.join(by_position)}, ...): {error}.") from None

    def make_cell(self, *args: Any, **kwargs: Any) -> Any:
        """Makes the cell from the arguments that are not the layer's own."""
        return self.cell_class(*args, name=self.cell_name, **kwargs)

    def cells(self) -> list[Any]:
        """The cells whose arguments the layer takes, the innermost first."""
        return [self.cell]

    def get_config(self) -> dict[str, Any]:
        """The flags of the layer and the arguments of its cell."""
        config: dict[str, Any] = super().get_config()  # type: ignore[misc]
        del config["cell"]
        for part in self.cells():
            config.update({k: v for k, v in part.get_config().items() if k not in ("name", "trainable", "dtype")})
        return config


def _of_cell(name: str, layer: Any) -> Any:
    """The attribute of the outermost cell of the layer that has it."""
    owner = next((cell for cell in reversed(layer.cells()) if hasattr(cell, name)), layer.cell)
    return getattr(owner, name)


def _check_noise(layer: Any) -> None:
    """Raises ValueError if a layer within the cell, such as an encoder's Dropout, draws numbers at each step."""
    noise = (keras.layers.Dropout, keras.layers.GaussianDropout, keras.layers.GaussianNoise)
    for part in walk_layers(layer.cell):
        if isinstance(part, noise):
            raise ValueError(
                f"On {_backend.title()} random layers must be outside of the loop over the steps. Received: "
                f"{part.name}, in the cell of {layer.name}, which runs step by step. Put it before {layer.name}, with "
                "its inputs."
            )
