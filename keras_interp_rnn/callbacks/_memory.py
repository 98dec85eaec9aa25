"""The memory of the callbacks of a run: attributes that training has changed, as arrays that `np.savez` takes.

A callback's memory consists of its public attributes that differ from their values when training began, if they hold
numbers, texts, None, arrays, functions of `keras.ops`, or lists, tuples and dictionaries of these. For `EarlyStopping`
these are the best value, the number of epochs without a better one, and the best weights. Attributes that begin with an
underscore are left alone: they may be handles of the process that a kill ended.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import keras
import numpy as np

from keras_interp_rnn._types import AnyArray


def digests(callback: keras.callbacks.Callback) -> dict[str, bytes]:
    """A digest of each attribute, which shows later whether training has changed it."""
    return {name: _digest(plain, arrays) for name, plain, arrays in _attributes(callback)}


def pack(callbacks: Sequence[keras.callbacks.Callback], at_start: Sequence[Mapping[str, bytes]]) -> dict[str, AnyArray]:
    """The memory of callbacks, given their digests when training began."""
    packed: dict[str, AnyArray] = {}
    memories = []
    for callback, before in zip(callbacks, at_start, strict=True):
        memory = {}
        for name, plain, arrays in _attributes(callback):
            if _digest(plain, arrays) != before.get(name):
                memory[name] = [plain, len(packed)]
                packed |= {f"callbacks_{len(packed) + i}": array for i, array in enumerate(arrays)}
        memories.append([type(callback).__name__, memory])
    return {**packed, "callbacks": np.array(json.dumps(memories))}


def restore(callbacks: Sequence[keras.callbacks.Callback], packed: Mapping[str, AnyArray]) -> None:
    """Gives callbacks the memory that `pack` returned; callbacks of one class are matched in their order."""
    memories = json.loads(str(packed["callbacks"])) if "callbacks" in packed else []
    for callback in callbacks:
        found = next((memory for memory in memories if memory[0] == type(callback).__name__), None)
        if found is not None:
            memories.remove(found)
            for name, (plain, first) in found[1].items():
                setattr(callback, name, _value(plain, first, packed))


def _attributes(callback: keras.callbacks.Callback) -> Iterator[tuple[str, Any, list[AnyArray]]]:
    for name, value in vars(callback).items():
        if name.startswith("_") or name == "params":
            continue
        arrays: list[AnyArray] = []
        with contextlib.suppress(TypeError, ValueError, RecursionError):  # another type, or a list that holds itself
            yield name, _plain(value, arrays), arrays


def _plain(value: Any, arrays: list[AnyArray]) -> Any:
    """A value as JSON; its arrays are appended to the list. Raises TypeError for another type of value."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.ndarray):
        if value.dtype.kind == "V":  # bfloat16, for which NumPy's files have no name
            value = value.astype(np.float32)
        if value.dtype.hasobject:
            raise TypeError
        arrays.append(value)
        return {"array": len(arrays) - 1}
    if type(value) in (list, tuple):
        return {type(value).__name__: [_plain(item, arrays) for item in value]}
    if type(value) is dict and all(isinstance(key, str) for key in value):
        return {"dict": {key: _plain(item, arrays) for key, item in value.items()}}
    name = getattr(value, "__name__", "")
    if callable(value) and getattr(keras.ops, name, None) is value:
        return {"keras.ops": name}
    raise TypeError


def _value(plain: object, first: int, packed: Mapping[str, AnyArray]) -> Any:
    """The inverse of `_plain`; `first` is the index of the first array."""
    if not isinstance(plain, dict):
        return plain
    [(kind, content)] = plain.items()
    if kind == "array":
        return packed[f"callbacks_{first + content}"]
    if kind == "keras.ops":
        return getattr(keras.ops, content)
    if kind == "dict":
        return {key: _value(item, first, packed) for key, item in content.items()}
    values = [_value(item, first, packed) for item in content]
    return tuple(values) if kind == "tuple" else values


def _digest(plain: object, arrays: list[AnyArray]) -> bytes:
    digest = hashlib.blake2b(json.dumps(plain).encode())
    for array in arrays:
        digest.update(f"{array.dtype} {array.shape}".encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.digest()
