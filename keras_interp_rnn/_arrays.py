"""Arguments of users, and weights, as NumPy arrays: checked once, with one error sentence each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import keras
import numpy as np
from keras import ops
from numpy.typing import ArrayLike, NDArray

from keras_interp_rnn import _backend
from keras_interp_rnn._checks import integer, invalid
from keras_interp_rnn._results import nth
from keras_interp_rnn._types import AnyArray

MAX_DIFFERENCE = {"float16": 0.05, "bfloat16": 0.2, "float32": 1e-3, "float64": 1e-9}
"""Maximum difference between two ways to compute the same outputs, as a fraction of the largest: rounding."""


def as_array(what: str, given: object) -> AnyArray:
    """Symbols, ids or sequences, as users pass them, as an array of numbers.

    Args:
        what: the name of the argument, for the error. given: an array, a tensor or nested lists.

    Raises:
        ValueError: for text, for None and other objects, for rows of different lengths, ragged tensors too.
    """
    if isinstance(given, str):
        raise ValueError(
            f"{what} must be numbers. Received: a string. Encode it first, e.g. by datasets.text.encode, with the "
            "alphabet that the model was trained on."
        )
    if isinstance(given, Mapping):
        names = ", ".join(map(repr, list(given)[:4])) + (", ..." if len(given) > 4 else "")
        raise ValueError(
            f"{what} must be one array. Received: a dict of {len(given)}, {names}. Stack what a step is made of along "
            "the last axis, in the order of the training data: np.stack([given[name] for name in names], axis=-1)."
        )
    if np.ma.is_masked(given):
        raise ValueError(
            f"{what} must be an array without a mask of its own. Received: a masked array. Pass `array.filled(...)`, "
            "and the steps that are read as `mask`."
        )
    if _backend.layout(given) == "ragged":
        raise ValueError(
            f"{what} must be one array. Received: a ragged tensor, whose rows Keras would fill with zeros, and read "
            "them. Pad its rows as in training, by to_tensor()."
        )
    try:
        array = np.asarray(ops.convert_to_numpy(given) if hasattr(given, "dtype") else given)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{what} must be one array. Received: {type(given).__name__} ({error}). Pad its rows."
        ) from None
    if array.dtype.kind not in "biuf" and array.dtype.name != "bfloat16":
        raise ValueError(
            f"{what} must be an array of numbers. Received: {type(given).__name__}, which makes one of dtype "
            f"{array.dtype}. Pass a NumPy array or a tensor."
        )
    return array


def as_sequences(inputs: object) -> AnyArray:
    """Inputs (batch, time, ...) as an array; raises ValueError unless there is at least one, of at least one step."""
    sequences = as_array("The inputs", inputs)
    if sequences.ndim < 2 or 0 in sequences.shape[:2]:
        raise ValueError(
            "The inputs must be sequences (batch, time, ...), at least one of at least one step. Received: shape="
            f"{sequences.shape}."
        )
    return sequences


def in_rank(given: AnyArray, tensor: Any) -> AnyArray:
    """An array with a last axis of 1 more or less, where the input of a model has it, as Keras reads it.

    Raises:
        ValueError: for another number of features.
    """
    expected = tuple(tensor.shape)
    if given.ndim == len(expected) - 1 and expected[-1] == 1:
        given = given[..., None]
    elif given.ndim == len(expected) + 1 and given.shape[-1] == 1:
        given = given[..., 0]
    if len(expected) > 2 and expected[-1] not in (None, given.shape[-1]):
        raise ValueError(
            f"The inputs must have as many features as the model declares, {expected[-1]}. Received: inputs of shape "
            f"{given.shape}. Pass those that it was trained on."
        )
    return given


def check_batched(model: object, inputs: object) -> None:
    """Raises ValueError for a single sequence; Keras itself adds a last axis of one feature."""
    expected = [tuple(tensor.shape) for tensor in getattr(model, "inputs", None) or ()]
    shape = tuple(getattr(inputs, "shape", ()))
    if shape and len(expected) == 1 and len(shape) == len(expected[0]) - 1 and expected[0][-1] != 1:
        raise ValueError(
            f"`inputs` must be a batch of sequences, of shape {expected[0]}. Received: one of shape {shape}. Pass "
            "inputs[None]."
        )


def as_mask(mask: object, shape: tuple[int, ...]) -> NDArray[np.bool_]:
    """Which steps (batch, time) are read, all where `mask` is None; raises ValueError for another shape."""
    read = np.ones(shape, bool) if mask is None else np.asarray(ops.convert_to_numpy(mask), bool)
    if read.shape != shape:
        raise ValueError(
            f"`mask` must have the shape (batch, time) = {shape} of the inputs. Received: {read.shape}. Pass one entry "
            "per step."
        )
    return read


def without_unread(inputs: AnyArray, read: NDArray[np.bool_], what: str = "The inputs") -> AnyArray:
    """Inputs (batch, time, ...) with zeros in place of what steps hold that are not read: NaN, infinity, ids.

    Args:
        read: bool (batch, time). what: the name of the inputs, for the error.

    Raises:
        ValueError: if a step that is read holds NaN or infinity.
    """
    there = read.reshape(*read.shape, *[1] * (inputs.ndim - 2))
    if not is_float(inputs):
        return np.where(there, inputs, np.zeros_like(inputs))
    numbers = np.isfinite(inputs.astype(np.float64))
    bad = np.argwhere(there & ~numbers)
    if len(bad):
        (row, step), number = bad[0, :2], inputs[tuple(bad[0])]
        raise ValueError(
            f"{what} must be finite at steps that are read. Received: {number} at {nth('step', step)} of "
            f"{nth('sequence', row)}. Leave that sequence out, or mask the step."
        )
    return inputs if numbers.all() else np.where(numbers, inputs, np.zeros_like(inputs))


def is_float(array: AnyArray) -> bool:
    """Whether an array holds floats, those of 16 bits too."""
    return array.dtype.kind == "f" or array.dtype.name == "bfloat16"


def check_reads(read: NDArray[np.bool_]) -> None:
    """Raises ValueError if a sequence reads no step."""
    empty = np.flatnonzero(~read.any(axis=1))
    if empty.size:
        raise ValueError(
            "Every sequence must read at least one step. Received: a mask that is False at every step of "
            f"{nth('sequence', empty[0])}. Leave such sequences out."
        )


def at_step(network: Any, output: NDArray[np.float64], step: int) -> NDArray[np.float64]:
    """The outputs (batch, outputs) of a network, of a sequence of outputs those of a step.

    Raises:
        ValueError: if there is no such step, or if there are several outputs.
    """
    if output.ndim > 2:
        return output[:, integer("step", step, -output.shape[1], below=output.shape[1])].reshape(len(output), -1)
    if step != -1:
        raise ValueError(
            f"`step` must be -1 where there are no outputs at every step. Received: step={step}, and outputs of shape "
            f"{output.shape} of {network.name}. Leave it out, or give the recurrent layer return_sequences=True."
        )
    return output.reshape(len(output), -1)


def check_own_mask(network: object, mask: object) -> None:
    """Raises ValueError for a mask besides a model."""
    if mask is not None and isinstance(network, keras.Model):
        raise ValueError(
            "`mask` must be None for a model, which computes its own. Received: a mask and a model. Pass the layer "
            "itself."
        )


def generator(seed: Any) -> np.random.Generator:
    """NumPy's generator of a seed; raises ValueError for any other value."""
    try:
        return np.random.default_rng(seed)
    except (TypeError, ValueError):
        raise invalid("seed", "a non-negative integer or None", seed) from None


def listed(what: str, given: Any) -> list[Any]:
    """Several things that a user passes, as a list.

    Raises:
        ValueError: if it is one thing.
    """
    try:
        return list(given)
    except TypeError:
        raise ValueError(f"{what} must be a list. Received: {given!r}. Pass a list.") from None


def as_float64(tensor: object) -> NDArray[np.float64]:
    """A weight or a tensor as a float64 array, exactly as the backend holds it."""
    return np.asarray(ops.convert_to_numpy(tensor), np.float64)


def as_symbols(symbols: ArrayLike, vocabulary_size: int) -> NDArray[np.int64]:
    """The symbols of one text as an integer vector.

    Raises:
        ValueError: if they are not one row of integers in [0, vocabulary_size).
    """
    array = as_array("symbols", symbols)
    if array.ndim != 1 or (array.size and not np.issubdtype(array.dtype, np.integer)):
        raise ValueError(
            f"`symbols` must be the integers of one text, shape (time,). Received: {array.dtype} of shape "
            f"{array.shape}. Pass one row of a batch."
        )
    integer("vocabulary_size", vocabulary_size)
    if array.size and (array.min() < 0 or array.max() >= vocabulary_size):
        raise ValueError(
            f"`symbols` must lie in [0, {vocabulary_size}). Received: {array.min()} to {array.max()}. Map the text "
            "with the alphabet that was trained on."
        )
    return array.astype(np.int64)


def check_id_range(given: object, size: int) -> None:
    """Raises ValueError unless an array holds whole numbers in [0, size): backends read others as some id in there."""
    ids = as_array("Ids", given)
    if ids.size and not ((ids >= 0) & (ids < size) & (ids == np.floor(ids))).all():
        raise ValueError(
            f"Ids must be integers in [0, {size}). Received: from {ids.min()} to {ids.max()}, of {ids.dtype}. Map the "
            "text with the alphabet that the model was trained on."
        )


def check_finite(layer: keras.layers.Layer) -> None:
    """Raises ValueError if a weight of a layer or model is not finite."""
    for weight in layer.weights:
        if not np.isfinite(ops.convert_to_numpy(weight)).all():
            raise ValueError(
                f"The weights must be finite. Received: NaN or infinity in {weight.path}. Train with a lower learning "
                "rate or with clipped gradients."
            )


def check_range(name: str, arrays: Iterable[AnyArray]) -> None:
    """Raises ValueError where something that was computed has left the range of its floats."""
    if not all(np.isfinite(array).all() for array in arrays):
        raise ValueError(
            f"{name} must fit into floats. Received: weights so large that they overflow. Scale the weights down, or "
            "pass a shorter text."
        )
