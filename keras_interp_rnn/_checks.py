"""Checks of arguments: each returns the converted value, or raises ValueError with rule, value received and remedy."""

from __future__ import annotations

import difflib
import functools
import inspect
import operator
import os
import re
import types
import typing
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from keras_interp_rnn._types import AnyArray

T = TypeVar("T")
P = ParamSpec("P")
R = TypeVar("R")


def invalid(name: str, rule: str, value: object, remedy: str = "") -> ValueError:
    """The error of an argument that breaks a rule, such as "a positive integer"."""
    return ValueError(" ".join(filter(None, (f"`{name}` must be {rule}. Received: {name}={value!r}.", remedy))))


def is_integer(value: Any) -> bool:
    """Whether a value is an integer of Python or NumPy; a bool is not."""
    try:
        operator.index(value)
    except TypeError:
        return False
    return not isinstance(value, bool)


def is_hashable(value: object) -> bool:
    """Whether a value has a hash; a tuple that holds a list, which is an instance of Hashable, has none."""
    try:
        hash(value)
    except TypeError:
        return False
    return True


def is_number(value: object) -> bool:
    """Whether a value is a real number of Python or NumPy, NaN and infinities included; a bool is not."""
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


def integer(name: str, value: Any, minimum: int = 1, remedy: str = "", *, below: int | None = None) -> int:
    """An integer of at least `minimum`, and below `below` if that is given."""
    number = operator.index(value) if is_integer(value) else minimum - 1
    if number < minimum or (below is not None and number >= below):
        rules = {0: "a non-negative integer", 1: "a positive integer"}
        rule = rules.get(minimum, f"an integer of at least {minimum}")
        raise invalid(name, rule if below is None else f"an integer in [{minimum}, {below})", value, remedy)
    return number


def positive(name: str, value: object) -> float:
    """A finite number above 0."""
    number = _as_float(value)
    if not 0 < number < np.inf:
        raise invalid(name, "a positive number", value)
    return number


def non_negative(name: str, value: object) -> float:
    """A finite number of at least 0."""
    number = _as_float(value)
    if not 0 <= number < np.inf:
        raise invalid(name, "a non-negative number", value)
    return number


def is_proved(certificate: Any) -> bool:
    """Whether the proof of a certificate succeeded: `holds` is True, and no failure is named."""
    return certificate.holds is True and not certificate.failure


def holding(certificate: Any) -> Any:
    """A certificate that holds; of another nothing is known of the network."""
    if not is_proved(certificate):
        raise ValueError(
            "A certificate must hold, so that the network is an automaton. Received: a certificate that does not hold "
            f"({certificate.failure}). Train to a lower temperature, or pass the automaton itself."
        )
    return certificate


def fraction(name: str, value: object, *, below: float = 1.0) -> float:
    """A number in [0, below)."""
    number = _as_float(value)
    if not 0 <= number < below:
        raise invalid(name, f"a number in [0, {below:g})", value)
    return number


def within(name: str, value: object, minimum: float, maximum: float, remedy: str = "") -> float:
    """A finite number in [minimum, maximum]."""
    number = _as_float(value)
    if not minimum <= number <= maximum:
        raise invalid(name, f"a number in [{minimum:g}, {maximum:g}]", value, remedy)
    return number


def choice(name: str, value: object, choices: Collection[T], remedy: str = "") -> T:
    """One of the choices; the error suggests those that are spelled alike."""
    for known in choices:
        if isinstance(value, type(known)) and isinstance(value, bool) == isinstance(known, bool) and value == known:
            return known
    near = difflib.get_close_matches(str(value).lower(), [str(known) for known in choices])
    hint = f"Did you mean {' or '.join(map(repr, near))}?" if near else ""
    rule = f"one of {', '.join(map(repr, choices))}"
    raise invalid(name, rule, value, " ".join(filter(None, (hint, remedy))))


def as_path(name: str, value: object) -> Path:
    """A path, as a `pathlib.Path`."""
    if not isinstance(value, str | os.PathLike) or not os.fspath(value):
        raise invalid(name, "a path: a string, not empty, or a pathlib.Path", value)
    return Path(value)


def expanded_path(name: str, value: object) -> Path:
    """A path in which a leading `~` is replaced by the home folder."""
    try:
        return as_path(name, value).expanduser()
    except RuntimeError:
        raise invalid(
            name, "a path whose ~ is the home folder of a user", str(value), "Write the folder out."
        ) from None


def c_identifier(name: str, value: object) -> str:
    """A string that C takes as the beginning of an identifier."""
    if not isinstance(value, str) or not re.fullmatch(r"[A-Za-z_][A-Za-z_0-9]*", value):
        raise invalid(name, "an identifier of C", value, "Pass letters.")
    return value


def integers(
    name: str,
    value: ArrayLike,
    *,
    ndim: int | None = None,
    below: int | None = None,
    remedy: str = "",
    error: type[ValueError] = ValueError,
) -> AnyArray:
    """An array of integers, in [0, below) and of so many axes where these are given; an empty one has any dtype."""
    masked = np.count_nonzero(value.mask) if isinstance(value, np.ma.MaskedArray) else 0
    if masked:
        raise error(f"`{name}` must have no masked entries. Received: {masked} of them. Remove them.")
    array = np.asarray(value)
    if (ndim is not None and array.ndim != ndim) or (array.size and array.dtype.kind not in "iu"):
        rule = "one row of integers" if ndim == 1 else "integers"
        raise error(f"`{name}` must be {rule}. Received: {array.dtype} of shape {array.shape}. {remedy}".rstrip())
    if below is not None and array.size and not 0 <= array.min() <= array.max() < below:
        received = f"{name} from {array.min()} to {array.max()}"
        raise error(f"`{name}` must lie in [0, {below}). Received: {received}. {remedy}".rstrip())
    return array


def annotated(function: Callable[P, R]) -> Callable[P, R]:
    """Decorator: every argument is checked against its annotation before the function runs."""
    signature = inspect.signature(function)

    @functools.wraps(function)
    def checking(*args: P.args, **kwargs: P.kwargs) -> R:
        annotations = typing.get_type_hints(function)
        for name, value in signature.bind(*args, **kwargs).arguments.items():
            if not fits(value, annotations[name]):
                rule = f"of the type {signature.parameters[name].annotation}"
                raise ValueError(f"`{name}` must be {rule}. Received: {name}={value!r:.200}.")
        return function(*args, **kwargs)

    return checking


def fits(value: Any, annotation: Any) -> bool:
    """Whether a value and its entries are of an annotated type. Sequences may be arrays, and arrays nested lists."""
    if annotation == ArrayLike:
        return _is_numeric(value)
    origin, inner = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (typing.Union, types.UnionType):
        return any(fits(value, each) for each in inner)
    if origin is Mapping:
        return isinstance(value, Mapping) and all(fits(entry, inner[1]) for entry in value.values())
    if origin is Sequence:
        listed = isinstance(value, Sequence) or (isinstance(value, np.ndarray) and value.ndim > 0)
        return listed and not isinstance(value, bytes) and all(fits(entry, inner[0]) for entry in value)
    if origin is tuple:
        listed = isinstance(value, tuple | list) and len(value) == len(inner)
        return listed and all(map(fits, value, inner))
    if annotation is float:
        return is_number(value)
    if annotation is int:
        return is_integer(value)
    return not isinstance(annotation, type) or isinstance(value, annotation)


def _as_float(value: Any) -> float:
    """A real number as a float; NaN, which lies in no range, for any other value."""
    try:
        return float(value) if is_number(value) else np.nan
    except OverflowError:  # an integer that no float holds
        return np.nan


def _is_numeric(value: object) -> bool:
    try:
        return np.asarray(value).dtype.kind in "biuf"
    except (TypeError, ValueError):  # rows of different lengths, and objects that no array holds
        return False
