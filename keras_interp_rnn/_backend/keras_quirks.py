"""Behaviour of Keras that differs from its documentation, and what it lacks: one function each, used by all files.

Each docstring ends in the versions of Keras for which it holds, and in the test that fails without the function.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import FrameType
from typing import Any

import keras

from keras_interp_rnn._types import Tensor

CUT_GRAPH = (ValueError, KeyError)
"""Raised by a model whose outputs do not depend on its inputs: when it is made, or, in Keras 3.12, when called."""


def walk_layers(model: keras.layers.Layer) -> list[keras.layers.Layer]:
    """A model or layer and all layers in it, those inside wrappers, cells and other layers too.

    `model.layers` ends at the first level, and Keras has no public walk.

    Holds: Keras 3.12 and later.
    Guarded by: tests/test_keras_quirks.py::test_a_walk_meets_layers_in_wrappers_cells_and_models.
    """
    return list(model._flatten_layers())


def pass_masks_on(layer: keras.layers.RNN) -> None:
    """Makes a recurrent layer pass its mask on to the next layer.

    Since Keras 3.16 `keras.layers.RNN` does not, as it sets `supports_masking` to False when a layer is made.

    Holds: Keras 3.16.
    Guarded by: tests/test_keras_quirks.py::test_a_layer_that_passes_masks_on.
    """
    layer.supports_masking = True


def fit_around(callback: keras.callbacks.Callback) -> tuple[list[keras.callbacks.Callback], FrameType | None]:
    """The callbacks that `fit` calls together with this one, as the list it iterates over, and the frame of `fit`.

    A callback has no access to the others. If `fit` is not calling the callback now, the list is the callback alone,
    and the frame None.

    Holds: Keras 3.12 to 3.16.
    Guarded by: tests/test_keras_quirks.py::test_a_callback_finds_the_others_and_the_call_of_fit.
    """
    frame = inspect.currentframe()
    while frame is not None:
        owner = frame.f_locals.get("self")
        if isinstance(owner, keras.callbacks.CallbackList) and any(one is callback for one in owner.callbacks):
            return owner.callbacks, frame.f_back
        frame = frame.f_back
    return [callback], None


def optimizer_steps(model: keras.Model) -> int:
    """The training steps that a model's optimizer has taken; 0 if the model has none.

    `int(optimizer.iterations)` fails under a `tf.distribute` strategy.

    Holds: Keras 3.12 to 3.16.
    Guarded by: tests/test_keras_quirks.py::test_steps_of_an_optimizer_are_read_under_a_strategy.
    """
    optimizer = getattr(model, "optimizer", None)
    return 0 if optimizer is None else int(keras.ops.convert_to_numpy(optimizer.iterations))


def random_states(model: keras.Model) -> list[keras.Variable]:
    """The states of the random generators in a model, those of dropout for example.

    A saved model lacks them, so a loaded model would draw the first numbers again.

    Holds: Keras 3.12 to 3.16.
    Guarded by: tests/test_keras_quirks.py::test_random_states_are_what_a_saved_model_leaves_out.
    """
    return [variable for variable in model.variables if "seed_generator_state" in variable.path]


def symbolic_layout(x: keras.KerasTensor) -> str:
    """`"dense"`, `"sparse"` or `"ragged"`, of a symbolic tensor.

    Neither flag is documented, and Keras 3.12 has no ragged tensors.

    Holds: Keras 3.12 and later.
    Guarded by: tests/test_backend.py::test_layouts.
    """
    return "sparse" if getattr(x, "sparse", False) else "ragged" if getattr(x, "ragged", False) else "dense"


def only_infers_shapes() -> bool:
    """Whether Keras now runs layers on placeholders, to build them or to infer the shapes of their outputs.

    Placeholders are floats even for ids, and on torch they are tensors of ones. Keras exports the scope that it then
    enters, but no function that returns it.

    Holds: Keras 3.12 to 3.16.
    Guarded by: tests/test_keras_quirks.py::test_placeholders_are_told_from_values.
    """
    with keras.SymbolicScope() as scope:
        return scope.original_scope is not None


def mask_of(x: Any) -> Any:
    """The mask that a tensor carries, or None.

    The graph lacks the mask of a layer that is called with `training`, which is passed on when the model runs. In Keras
    3.16 it lacks the masks of all recurrent layers of Keras.

    Holds: Keras 3.12 to 3.16.
    Guarded by: tests/analysis/test_traces.py::test_the_mask_of_an_embedding_reaches_a_layer_called_with_training.
    """
    mask = getattr(x, "_keras_mask", None)
    if mask is not None or isinstance(x, keras.KerasTensor):
        return mask
    found: list[Any] = []  # where a tensor has no attributes, as on JAX, Keras knows the mask and gives it to layers

    class Reader(keras.layers.Layer):
        def call(self, x: object, mask: object = None) -> Any:
            found.append(mask)
            return x

    Reader(autocast=False, dtype=keras.backend.standardize_dtype(x.dtype))(x)
    return found[0]


def with_mask(x: Tensor, mask: Tensor | None) -> Tensor:
    """The same tensor with this mask and no other, as a layer passes it on; None for no mask.

    Holds: Keras 3.12 to 3.16.
    Guarded by: tests/test_keras_quirks.py::test_a_tensor_is_given_a_mask.
    """
    if mask is None:
        return keras.ops.copy(x)

    class Giver(keras.layers.Layer):
        def call(self, x: Tensor) -> Tensor:
            return keras.ops.copy(x)  # a tensor keeps the mask that it has

        def compute_mask(self, x: Tensor, previous_mask: Tensor | None) -> Tensor | None:
            return mask

    return Giver(autocast=False, dtype=keras.backend.standardize_dtype(x.dtype))(x)


def made_by(x: keras.KerasTensor) -> tuple[Any, Any]:
    """The layer or operation whose output is a tensor of a model's graph, and the node of that call.

    Keras draws the graph of a model, but has no public walk over it.

    Holds: Keras 3.12 and later.
    Guarded by: tests/test_keras_quirks.py::test_a_tensor_knows_the_call_that_made_it.
    """
    operation, index, _ = x._keras_history
    return operation, nodes_of(operation)[index]


def nodes_of(operation: Any) -> list[Any]:
    """The nodes of all calls of a layer or operation on symbolic tensors, in their order.

    Holds: Keras 3.12 and later.
    Guarded by: tests/test_keras_quirks.py::test_a_tensor_knows_the_call_that_made_it.
    """
    return list(operation._inbound_nodes)


def operation_name(operation: object) -> str:
    """The name of the class of an operation of Keras, such as "ExpandDims"; "" for anything else.

    Keras exports its operations as functions, not as classes.

    Holds: Keras 3.12 and later.
    Guarded by: tests/program/test_fold.py::test_a_model_that_is_read_has_the_logits_it_outputs.
    """
    kind = type(operation)
    return kind.__name__ if kind.__module__.split(".")[0] == "keras" else ""


def as_in_a_layer(cell: keras.layers.Layer, step: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """`step`, a call of the cell, computed as in a layer that holds the cell.

    A layer does not cast the weights of a cell with `autocast=False`. A cell that is called by itself casts them, but
    not its inputs.

    Holds: Keras 3.12 to 3.16.
    Guarded by: tests/analysis/test_traces.py::test_peepholes_are_traced_in_mixed_precision.
    """
    if getattr(cell, "autocast", True):
        return step
    in_layer: Callable[[Any], Any] = keras.layers.Lambda(step, autocast=False, dtype=cell.dtype_policy)
    return in_layer
