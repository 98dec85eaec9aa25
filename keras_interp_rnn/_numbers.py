"""Checks of arguments: each gives the value back, or raises ValueError with the rule and what was received."""

from __future__ import annotations

import operator
from collections.abc import Collection
from typing import Any, TypeVar

import numpy as np

T = TypeVar("T")


def is_integer(value: Any) -> bool:
    """Whether a value is an integer: an int, or what stands for one, as NumPy's do; not a bool."""
    try:
        operator.index(value)
    except TypeError:
        return False
    return not isinstance(value, bool)


def at_least(name: str, value: Any, least: int) -> int:
    """A value as an int; ValueError for what is no integer, or a smaller one."""
    if not is_integer(value) or operator.index(value) < least:
        raise ValueError(f"`{name}` must be an integer of at least {least}. Received: {name}={value!r}.")
    return operator.index(value)


def is_number(value: Any) -> bool:
    """Whether a value is a real number, NaN and infinities included: Python's or NumPy's, not a bool."""
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


def positive(name: str, value: Any) -> float:
    """A value as a float; ValueError unless it is a finite number above 0."""
    if not is_number(value) or not 0 < value < np.inf:
        raise ValueError(f"`{name}` must be a number above 0. Received: {name}={value!r}.")
    return float(value)


def fraction(name: str, value: Any, *, below: float = 1.0) -> float:
    """A value as a float; ValueError unless it is at least 0 and below a number."""
    if not is_number(value) or not 0 <= value < below:
        raise ValueError(f"`{name}` must be a number in [0, {below:g}). Received: {name}={value!r}.")
    return float(value)


def choice(name: str, value: Any, choices: Collection[T]) -> T:
    """A value; ValueError unless it is one of some."""
    for known in choices:
        if type(value) is type(known) and value == known:
            return known
    raise ValueError(f"`{name}` must be one of {', '.join(map(repr, choices))}. Received: {name}={value!r}.")
