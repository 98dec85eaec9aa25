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


def is_number(value: Any) -> bool:
    """Whether a value is a real number, NaN and infinities included: Python's or NumPy's, not a bool."""
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
