"""Checks and conversions of inputs: sequences, masks, ids, distributions and features."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
from keras import ops

from keras_interp_rnn import _backend
from keras_interp_rnn._cells import built_for
from keras_interp_rnn._types import Tensor


def dense(sequences: Tensor) -> Tensor:
    """The sequences; ValueError if they are sparse or ragged."""
    layout = _backend.layout(sequences)
    if layout != "dense":
        raise ValueError(
            f"`sequences` must be a dense tensor. Received: a {layout} tensor. Use its to_dense() or to_tensor(), with "
            "a mask where sequences are padded."
        )
    return sequences


def checked_mask(mask: Tensor, sequences: Tensor) -> Tensor:
    """The mask as bool (batch, time), of the sequences' shape."""
    mask = as_tensor(mask)
    expected, received = tuple(sequences.shape[:2]), tuple(mask.shape)
    fits = len(received) == 2 and all(r == e or None in (r, e) for r, e in zip(received, expected, strict=True))
    if not fits:
        raise ValueError(
            f"`mask` must have the shape (batch, time) = {expected} of the sequences, True where a step is to be "
            f"read. Received: mask.shape={received}. Give one bool per step."
        )
    return ops.cast(mask, "bool")


def as_tensor(x: object) -> Tensor:
    """A tensor or array unchanged, anything else as a tensor."""
    return x if hasattr(x, "shape") else ops.convert_to_tensor(x)


def holds_integers(x: Tensor) -> bool:
    """Whether a tensor holds integers."""
    return "int" in keras.backend.standardize_dtype(x.dtype)


def ids_or_none(x: Tensor) -> Tensor | None:
    """The tensor as integers; None if its numbers cannot be ids.

    Keras builds models on float placeholders, and a Sequential without an Input turns the ids that it reads into
    floats. So floats are accepted, as `keras.layers.Embedding` does, unless they are known to have fractions or were
    rounded to half precision. A fraction that occurs only in a compiled function becomes -1, an invalid id.
    """
    if holds_integers(x):
        return x
    dtype = keras.backend.standardize_dtype(x.dtype)
    if _backend.is_placeholder(x) and keras.backend.is_float_dtype(dtype):
        return ops.cast(x, "int32")
    if dtype not in ("float32", "float64"):
        return None
    values = _backend.static_values(x)
    if values is None:
        return ops.cast(ops.where(ops.equal(x, ops.floor(x)), x, -1.0), "int32")
    return ops.cast(x, "int32") if np.array_equal(values, np.floor(values)) else None


def check_symbols(shape: tuple[int | None, ...], vocabulary_size: int, num_time_axes: int, name: str) -> None:
    """Raises ValueError unless ids or distributions can have this shape."""
    axes = len(shape) - num_time_axes
    if axes != 1 and (axes != 2 or shape[-1] not in (1, vocabulary_size)):
        raise ValueError(
            f"{_symbols_rule(vocabulary_size, num_time_axes, name)} Received: shape={shape}. Give each step one id, "
            f"or {vocabulary_size} numbers."
        )


def symbols_or_distribution(x: Any, vocabulary_size: int, num_time_axes: int, name: str) -> Tensor:
    """Ids as int32 with a trailing axis of 1; distributions unchanged.

    Args:
        num_time_axes: 1 for sequences (batch, time[, K]), 0 for one step of a cell. name: of the layer, for the error.
    """
    x = as_tensor(x)
    shape = tuple(x.shape)
    check_symbols(shape, vocabulary_size, num_time_axes, name)
    are_ids, has_last_axis = holds_integers(x), len(shape) == num_time_axes + 2
    if has_last_axis and shape[-1] == vocabulary_size and not (are_ids and shape[-1] == 1):
        return ops.cast(x, keras.config.floatx()) if are_ids else x
    ids = ids_or_none(x)
    if ids is None:
        raise ValueError(
            f"{_symbols_rule(vocabulary_size, num_time_axes, name)} Received: shape={shape}, "
            f"dtype={keras.backend.standardize_dtype(x.dtype)}. Cast ids to an integer dtype (for a model input: "
            "keras.Input(shape, dtype='int32'))."
        )
    values = _backend.static_values(ids)
    if values is not None and values.size and (values.min() < 0 or values.max() >= vocabulary_size):
        raise ValueError(
            f"Ids must lie in [0, vocabulary_size) = [0, {vocabulary_size}). Received: ids from {values.min()} to "
            f"{values.max()}. Map the text to ids below {vocabulary_size}, or build the layer with a larger "
            "vocabulary_size."
        )
    ids = ops.cast(ids, "int32")
    if values is None:
        ids = _backend.assert_ids_in_range(ids, vocabulary_size)
    return ids if has_last_axis else ops.expand_dims(ids, -1)


def _symbols_rule(vocabulary_size: int, num_time_axes: int, name: str) -> str:
    axes = "(batch, time" if num_time_axes else "(batch"
    ids_shape = axes + ")" if num_time_axes else "(batch, 1)"
    return (
        f"Inputs of {name} must be integer ids {ids_shape}, or one-hot vectors or distributions {axes}, "
        f"{vocabulary_size})."
    )


def check_features(
    cell: object,
    shape: tuple[int | None, ...],
    num_time_axes: int,
    name: str,
    remedy: str = "Ids need an Embedding before",
) -> None:
    """Raises ValueError unless each step is a vector of as many features as the cell was built for.

    Args:
        remedy: if the inputs are ids.
    """
    if len(shape) != num_time_axes + 2 or shape[-1] is None:
        axes = "sequences (batch, time, features)" if num_time_axes else "steps (batch, features)"
        raise ValueError(
            f"Inputs of {name} must be {axes} with a known number of features. Received: shape={shape}. "
            f"{'Give the Input its' if len(shape) == num_time_axes + 2 else 'Bring the features into one'} last axis. "
            f"{remedy}."
        )
    check_steps(cell, shape, num_time_axes, name)


def check_steps(cell: object, shape: tuple[int | None, ...], num_time_axes: int, name: str) -> None:
    """Raises ValueError unless there are batch and time axes, and steps of the shape that the cell was built for."""
    if len(shape) <= num_time_axes:
        axes = "sequences (batch, time, ...)" if num_time_axes else "steps (batch, ...)"
        raise ValueError(f"Inputs of {name} must be {axes}. Received: shape={shape}. Add the missing axes.")
    step = shape[num_time_axes + 1 :]
    expected = built_for(cell)
    if expected is not None and (
        len(step) != len(expected) or any(a != b and None not in (a, b) for a, b in zip(step, expected, strict=True))
    ):
        raise ValueError(
            f"Steps of this {name} must have the shape {expected}, for which it was built. Received: steps of shape "
            f"{step}. Pass inputs of that shape, or build another layer."
        )
