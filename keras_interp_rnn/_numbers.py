"""What is an integer, and what a number, where users pass one."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np


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
