"""Checks of arguments and inputs: each function returns its argument, or raises ValueError."""

from __future__ import annotations

import numbers
from typing import Any

import keras
import numpy as np
from keras import ops

from keras_interp_rnn import _backend, _numbers
from keras_interp_rnn._cells import built_for
from keras_interp_rnn._types import Tensor


def rows(batch_size: Any) -> Any:
    """`batch_size`, an int >= 0 or what stands for one in a traced function."""
    if not _backend.is_traced_size(batch_size) and not (_numbers.is_integer(batch_size) and batch_size >= 0):
        raise ValueError(f"A batch has a number of rows. Received: batch_size={batch_size!r}.")
    return batch_size


def rate(name: str, value: Any) -> float:
    """`value`, a dropout rate."""
    if not isinstance(value, numbers.Real) or not 0 <= float(value) < 1:
        raise ValueError(f"{name} must be a fraction, at least 0 and below 1. Received: {name}={value!r}.")
    return float(value)


def dense(sequences: Tensor) -> Tensor:
    """The sequences, neither sparse nor ragged."""
    layout = _backend.layout(sequences)
    if layout != "dense":
        raise ValueError(
            f"Sequences are dense tensors. Received: a {layout} tensor. Use its to_dense() or to_tensor(), with a mask "
            "where sequences are padded."
        )
    return sequences


def checked_mask(mask: Tensor, sequences: Tensor) -> Tensor:
    """The mask as bool (batch, time), of the sequences' shape."""
    mask = mask if hasattr(mask, "shape") else ops.convert_to_tensor(mask)
    expected, received = tuple(sequences.shape[:2]), tuple(mask.shape)
    fits = len(received) == 2 and all(r == e or None in (r, e) for r, e in zip(received, expected, strict=True))
    if not fits:
        raise ValueError(
            f"mask must have the shape (batch, time) = {expected} of the sequences, True where a step is to be "
            f"read. Received: mask.shape={received}. Give one bool per step."
        )
    return ops.cast(mask, "bool")


def as_tensor(x: Any) -> Tensor:
    """Whatever has a shape as it is, else a tensor."""
    return x if hasattr(x, "shape") else ops.convert_to_tensor(x)


def is_integer(x: Tensor) -> bool:
    """Whether a tensor holds integers."""
    return "int" in keras.backend.standardize_dtype(x.dtype)


def ids_or_none(x: Tensor) -> Tensor | None:
    """The tensor as integers, or None where its numbers cannot be ids.

    Keras builds models on float placeholders, and a Sequential without an Input turns the ids that it reads into
    floats. So floats are taken, as `keras.layers.Embedding` takes them, unless they are known to have fractions, or
    have been rounded to half precision. A fraction that shows only in a compiled function becomes -1, no id of any
    vocabulary.
    """
    if is_integer(x):
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
    """Raises ValueError unless the shape is one of ids or of distributions."""
    axes = len(shape) - num_time_axes
    if axes != 1 and (axes != 2 or shape[-1] not in (1, vocabulary_size)):
        raise ValueError(
            f"{_symbols_rule(vocabulary_size, num_time_axes, name)} Received: shape={shape}. Give each step one id, "
            f"or {vocabulary_size} numbers."
        )


def symbols_or_distribution(x: Any, vocabulary_size: int, num_time_axes: int, name: str) -> Tensor:
    """Ids as int32 with a trailing axis of 1, or the distribution as it is.

    Args:
        num_time_axes: 1 for sequences (batch, time[, K]), 0 for one step of a cell. name: who reads, for the error.
    """
    x = as_tensor(x)
    shape = tuple(x.shape)
    check_symbols(shape, vocabulary_size, num_time_axes, name)
    integer, has_last_axis = is_integer(x), len(shape) == num_time_axes + 2
    if has_last_axis and shape[-1] == vocabulary_size and not (integer and shape[-1] == 1):
        return ops.cast(x, keras.config.floatx()) if integer else x
    ids = ids_or_none(x)
    if ids is None:
        raise ValueError(
            f"{_symbols_rule(vocabulary_size, num_time_axes, name)} Received: shape={shape}, "
            f"dtype={keras.backend.standardize_dtype(x.dtype)}. Cast ids to an integer dtype (for a model input: "
            "keras.Input(shape, dtype='int32'))."
        )
    x = ids
    values = _backend.static_values(x)
    if values is not None and values.size and (values.min() < 0 or values.max() >= vocabulary_size):
        raise ValueError(
            f"ids must lie in [0, vocabulary_size) = [0, {vocabulary_size}). Received: ids from {values.min()} to "
            f"{values.max()}. Map the text to ids below {vocabulary_size}, or build the layer with a larger "
            "vocabulary_size."
        )
    x = _backend.assert_ids_in_range(ops.cast(x, "int32"), vocabulary_size) if values is None else ops.cast(x, "int32")
    return x if has_last_axis else ops.expand_dims(x, -1)


def _symbols_rule(vocabulary_size: int, num_time_axes: int, name: str) -> str:
    axes = "(batch, time" if num_time_axes else "(batch"
    ids_shape = axes + ")" if num_time_axes else "(batch, 1)"
    return f"{name} reads integer ids {ids_shape}, or one-hot vectors or distributions {axes}, {vocabulary_size})."


def check_features(
    cell: Any,
    shape: tuple[int | None, ...],
    num_time_axes: int,
    name: str,
    of_ids: str = "Ids need an Embedding before",
) -> None:
    """Raises ValueError unless each step is one vector of features, of the size for which the cell was built.

    Args:
        of_ids: the remedy if the inputs are ids.
    """
    if len(shape) != num_time_axes + 2 or shape[-1] is None:
        axes = "sequences (batch, time, features)" if num_time_axes else "steps (batch, features)"
        raise ValueError(
            f"{name} reads {axes} of a known number of features. Received: shape={shape}. "
            f"{'Give the Input its' if len(shape) == num_time_axes + 2 else 'Bring the features into one'} last axis. "
            f"{of_ids}."
        )
    check_steps(cell, shape, num_time_axes, name)


def check_steps(cell: Any, shape: tuple[int | None, ...], num_time_axes: int, name: str) -> None:
    """Raises ValueError on inputs without a batch and a time axis, or with other steps than the cell was built for."""
    if len(shape) <= num_time_axes:
        axes = "sequences (batch, time, ...)" if num_time_axes else "steps (batch, ...)"
        raise ValueError(f"{name} reads {axes}. Received: shape={shape}. Add the missing axes.")
    step = shape[num_time_axes + 1 :]
    expected = built_for(cell)
    if expected is not None and (
        len(step) != len(expected) or any(a != b and None not in (a, b) for a, b in zip(step, expected, strict=True))
    ):
        raise ValueError(
            f"This {name} was built for steps of shape {expected}. Received: steps of shape {step}. Pass inputs of "
            "that shape, or build another layer."
        )
