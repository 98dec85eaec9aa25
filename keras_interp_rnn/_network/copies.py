"""Copies of Keras models, in another dtype or without carried states, that compute what their models do.

A layer is made again from its configuration, which may lack what a layer was given later. So a copy is compared with
its model on inputs, and refused where it computes something else.
"""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import keras
import numpy as np

from keras_interp_rnn import _backend
from keras_interp_rnn._arrays import MAX_DIFFERENCE
from keras_interp_rnn._backend.keras_quirks import random_states, walk_layers
from keras_interp_rnn._program.graph import symbolic_inputs
from keras_interp_rnn._types import AnyArray

RULE = "A copy of the model must compute what the model does"


class Copy(NamedTuple):
    """A copy of a model, and each layer of the model with the one that was made again."""

    model: keras.Model
    layers: list[tuple[keras.layers.Layer, keras.layers.Layer]]


def copy_of(model: keras.Model, configured: Callable[[Any], Any], inputs: object = None) -> Copy:
    """A copy of a Sequential or functional model on these inputs, with layers of changed configurations.

    Its weights are those that its initializers draw.

    Raises:
        ValueError: if a layer cannot be made again.
    """
    pairs: list[tuple[keras.layers.Layer, keras.layers.Layer]] = []

    def again(operation: object) -> Any:
        if not isinstance(operation, keras.layers.Layer):
            return operation
        try:
            made = type(operation).from_config(configured(operation.get_config()))
        except Exception as error:
            raise _not_made(operation, error) from error
        pairs.append((operation, made))
        return made

    # A clone of a compiled model would be compiled, with a loss that may not be registered.
    plain = model
    if isinstance(model, keras.Sequential):
        plain = keras.Model(model.inputs[0], model.outputs[0])
    elif model.compiled:
        plain = keras.Model(model.input, model.output)
    return Copy(keras.models.clone_model(plain, inputs, clone_function=again, recursive=True), pairs)


def _not_made(layer: keras.layers.Layer, error: Exception) -> ValueError:
    kind = type(layer).__name__
    if isinstance(layer, keras.layers.Lambda):
        why, remedy = "which Keras does not make again", "Make it a registered layer with `get_config`"
    else:
        lines = str(error).strip().splitlines() or [type(error).__name__]
        why = f"which its configuration does not make again ({lines[-1][:120].rstrip('.')})"
        remedy = "Give it `get_config`, and register what it is given by `keras.saving.register_keras_serializable`"
    return ValueError(f"{RULE}. Received: {layer.name} ({kind}), {why}. {remedy}.")


def give_weights(copy: Copy, left_out: Sequence[object] = ()) -> None:
    """Gives each layer of a copy the weights that the layer of the model has now, but for some.

    With the regularizer and the constraint that each weight has: a user may have set others than those of the layer.

    Raises:
        ValueError: if a layer was made again with other weights.
    """
    ids = {id(variable) for variable in left_out}
    for layer, made in copy.layers:
        weights = [weight for weight in layer.weights if id(weight) not in ids]
        if [tuple(weight.shape) for weight in weights] != [tuple(weight.shape) for weight in made.weights]:
            raise ValueError(
                f"{RULE}. Received: {layer.name} ({type(layer).__name__}), which its configuration makes again with "
                "other weights. Give it `get_config` with all that it is made of."
            )
        for weight, of_copy in zip(weights, made.weights, strict=True):
            of_copy.assign(keras.ops.cast(keras.ops.convert_to_numpy(weight), of_copy.dtype))
            of_copy.regularizer, of_copy.constraint = weight.regularizer, weight.constraint
        for part in walk_layers(made):
            if part.weights and hasattr(part, "finalize_state"):  # a Normalization computes with what it adapted
                part.finalize_state()


def check_computes(model: keras.Model, found: Sequence[AnyArray], expected: Sequence[AnyArray]) -> None:
    """Compares the outputs of a copy with those of its model.

    Raises:
        ValueError: if the outputs differ by more than rounding.
    """
    for one, other in zip(found, expected, strict=True):
        size = np.abs(other).max(axis=tuple(range(other.ndim - 1)), initial=0.0)
        with np.errstate(invalid="ignore"):
            apart = np.abs(one - other)
        differ = ~((apart <= rounding(model) * size + 1e-12) | (one == other) | (np.isnan(one) & np.isnan(other)))
        if differ.any():
            raise ValueError(
                f"{RULE}. Received: {model.name}, a copy of which gives {one[differ][0]:.6g} in place of "
                f"{other[differ][0]:.6g}. Return from `get_config` all that a layer computes with, set nothing later, "
                "and leave `call` of a model as it is."
            )


def outputs_of(model: keras.Model, inputs: object) -> list[AnyArray]:
    """The outputs of a model as it predicts, each (batch, ...) in float64."""
    outputs = keras.tree.flatten(model(inputs, training=False))
    return [np.asarray(keras.ops.convert_to_numpy(output), np.float64) for output in outputs]


def rounding(model: keras.Model) -> float:
    """The part of an output that may be rounding, in the coarsest dtype in which a model multiplies weights."""
    dtypes = {str(layer.compute_dtype) for layer in walk_layers(model) if layer.weights and layer is not model}
    return max(
        (MAX_DIFFERENCE[dtype] for dtype in dtypes if dtype in MAX_DIFFERENCE), default=MAX_DIFFERENCE["float32"]
    )


def some_inputs(model: keras.Model, more: int = 0) -> Any:
    """Inputs that a model can read: numbers, ids that every table has, short texts; `more` steps than it asks for."""
    rng = np.random.default_rng(0)
    sizes = [getattr(layer, name, None) for layer in walk_layers(model) for name in ("input_dim", "vocabulary_size")]
    most = min((size for size in sizes if isinstance(size, int)), default=2)

    def values(x: keras.KerasTensor) -> Any:
        batch, *rest = x.shape
        shape = (batch or 2, *(size or 8 for size in rest))
        shape = (*shape[:1], *(size + more for size in shape[1:2]), *shape[2:])
        if x.dtype == "string":
            return keras.ops.convert_to_tensor(rng.choice(["", "a", "a b"], shape).tolist(), dtype="string")
        if "float" in x.dtype:
            return rng.normal(scale=3.0, size=shape).astype("float32")
        return rng.integers(0, max(most, 1), shape).astype(x.dtype)

    return keras.tree.map_structure(values, symbolic_inputs(model))


@contextlib.contextmanager
def same_draws(model: keras.Model) -> Iterator[None]:
    """Afterwards Python, NumPy, torch and the layers of a model draw what they would have drawn before."""
    seeds = [(seed, keras.ops.convert_to_numpy(seed).copy()) for seed in random_states(model)]
    drawn, of_backend = random.getstate(), _backend.generator_state()
    of_numpy = np.random.get_state()  # noqa: NPY002
    try:
        yield
    finally:
        random.setstate(drawn)
        np.random.set_state(of_numpy)  # noqa: NPY002
        if of_backend is not None:
            _backend.set_generator_state(of_backend)
        for seed, value in seeds:  # a recurrent layer of Keras draws its dropout in inference too
            seed.assign(value)
