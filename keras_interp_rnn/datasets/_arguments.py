"""Arguments that name one of a few things."""

from __future__ import annotations

from collections.abc import Iterable


def one_of(argument: str, value: object, allowed: Iterable[str]) -> None:
    """Checks that an argument is one of the allowed values.

    Args:
        argument: its name, for the error.
        value: what the user gave.
        allowed: the values that it can have.

    Raises:
        ValueError: if `value` is not among them.
    """
    names = list(allowed)
    if value not in names:
        raise ValueError(f"`{argument}` must be one of {names}. Received: {value!r}. Choose one of them.")
