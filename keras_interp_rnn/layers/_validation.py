"""Checks of arguments and inputs: each function returns its argument, or raises ValueError."""

from __future__ import annotations

import numbers
from typing import Any

import keras
from keras import ops

from keras_interp_rnn import _backend, _numbers

Tensor = Any


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


def symbols_or_distribution(x: Tensor, vocabulary_size: int, num_time_axes: int, layer: str) -> Tensor:
    """Ids as int32 with a trailing axis of 1, or the distribution as it is.

    Args:
        num_time_axes: 1 for sequences (batch, time[, K]), 0 for one step of a cell. layer: who reads, for the error.
    """
    axes = "(batch, time" if num_time_axes else "(batch"
    ids_shape = axes + ")" if num_time_axes else "(batch, 1)"
    x = x if hasattr(x, "dtype") and hasattr(x, "shape") else ops.convert_to_tensor(x)
    shape = tuple(x.shape)
    integer = is_integer(x)
    is_ids = integer and (len(shape) == num_time_axes + 1 or (len(shape) == num_time_axes + 2 and shape[-1] == 1))
    if not is_ids and (len(shape) != num_time_axes + 2 or shape[-1] != vocabulary_size):
        raise ValueError(
            f"{layer} reads integer ids {ids_shape}, or one-hot vectors or distributions {axes}, {vocabulary_size}). "
            f"Received: shape={shape}, dtype={keras.backend.standardize_dtype(x.dtype)}. "
            "Cast ids to an integer dtype (for a model input: keras.Input(shape, dtype='int32'))."
        )
    if not is_ids:
        return ops.cast(x, keras.config.floatx()) if integer else x
    values = _backend.static_values(x)
    if values is not None and values.size and (values.min() < 0 or values.max() >= vocabulary_size):
        raise ValueError(
            f"ids must lie in [0, vocabulary_size) = [0, {vocabulary_size}). Received: ids from {values.min()} to "
            f"{values.max()}. Map the text to ids below {vocabulary_size}, or build the layer with a larger "
            "vocabulary_size."
        )
    x = _backend.assert_ids_in_range(ops.cast(x, "int32"), vocabulary_size) if values is None else ops.cast(x, "int32")
    return ops.expand_dims(x, -1) if len(shape) == num_time_axes + 1 else x
