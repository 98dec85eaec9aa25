"""Arguments of figures, held against the annotations: what is none of these is refused before anything is drawn."""

from __future__ import annotations

import functools
import inspect
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ParamSpec, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from keras_interp_rnn._numbers import is_integer, is_number

P = ParamSpec("P")
R = TypeVar("R")


def checked(draw: Callable[P, R]) -> Callable[P, R]:
    """A function that raises ValueError for an argument which is not of its annotated type."""
    signature = inspect.signature(draw)

    @functools.wraps(draw)
    def checking(*args: P.args, **kwargs: P.kwargs) -> R:
        types_of = typing.get_type_hints(draw)
        for name, value in signature.bind(*args, **kwargs).arguments.items():
            if not fits(value, types_of[name]):
                wanted = signature.parameters[name].annotation
                raise ValueError(f"{name} is of the type {wanted}. Received: {name}={value!r:.200}.")
        return draw(*args, **kwargs)

    return checking


def fits(value: Any, wanted: Any) -> bool:
    """Whether a value is of an annotated type, with what it holds. Sequences may be arrays, and arrays nested lists."""
    if wanted == ArrayLike:
        return _of_numbers(value)
    origin, inner = typing.get_origin(wanted), typing.get_args(wanted)
    if origin in (typing.Union, types.UnionType):
        return any(fits(value, one) for one in inner)
    if origin is Mapping:
        return isinstance(value, Mapping) and all(fits(one, inner[1]) for one in value.values())
    if origin is Sequence:
        listed = isinstance(value, Sequence) or (isinstance(value, np.ndarray) and value.ndim > 0)
        return listed and not isinstance(value, bytes) and all(fits(one, inner[0]) for one in value)
    if origin is tuple:
        listed = isinstance(value, tuple | list) and len(value) == len(inner)
        return listed and all(map(fits, value, inner))
    if wanted is float:
        return is_number(value)
    if wanted is int:
        return is_integer(value)
    return not isinstance(wanted, type) or isinstance(value, wanted)


def _of_numbers(value: Any) -> bool:
    try:
        return np.asarray(value).dtype.kind in "biuf"
    except (TypeError, ValueError):  # rows of different lengths, and what cannot be an array
        return False
