"""Names and places of arguments, and names of functions, of the release before: still taken, with a warning."""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])


def former_arguments(positional: Sequence[str] = (), **renamed: str) -> Callable[[Function], Function]:
    """A decorator that takes calls written for the release before.

    The signature that users and tools see is the new one.

    Args:
        positional: today's names of the arguments that could be given by position, in that order, the first ones
            included. None where no argument has become keyword-only.
        **renamed: former name -> today's name.

    Raises:
        TypeError: from the decorated function, if an argument is given under both of its names, or twice.
    """

    def decorate(function: Function) -> Function:
        signature = inspect.signature(function)
        by_position = [
            name
            for name, parameter in signature.parameters.items()
            if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
        ]
        unknown = [name for name in (*positional, *renamed.values()) if name not in signature.parameters]
        if unknown or list(positional[: len(by_position)]) != by_position[: len(positional)]:
            raise ValueError(
                f"Former arguments map to those of {function.__qualname__}{signature}. "
                f"Received: positional={tuple(positional)}, renamed={renamed}."
            )

        @functools.wraps(function)
        def taking_former(*args: Any, **kwargs: Any) -> Any:
            more = dict(zip(positional[len(by_position) :], args[len(by_position) :], strict=False))
            if more and len(args) <= len(positional):
                args = args[: len(by_position)]
                _warn(function, f"takes {', '.join(more)} by keyword alone")
                _require_new(function, more, kwargs)
                kwargs |= more
            for old in [name for name in kwargs if name in renamed]:
                new = renamed[old]
                given = {new} if new in kwargs or new in by_position[: len(args)] else set()
                _require_new(function, {new: None}, given)
                _warn(function, f"calls its argument {old} {new}")
                kwargs[new] = kwargs.pop(old)
            return function(*args, **kwargs)

        return taking_former  # type: ignore[return-value]

    return decorate


def warn_of_name(former: str, name: str) -> None:
    """Warns the caller of the caller that a name has changed; the former one is kept for one release."""
    warnings.warn(
        f"{former} is now called {name}; the former name is kept for one more release.", DeprecationWarning, 3
    )


def _require_new(function: Callable[..., Any], more: Any, given: Any) -> None:
    twice = sorted(set(more) & set(given))
    if twice:
        raise TypeError(f"{function.__qualname__}() got more than one value for {', '.join(twice)}.")


def _warn(function: Callable[..., Any], what: str) -> None:
    warnings.warn(
        f"{function.__qualname__} now {what}; the former call is taken for one more release.",
        DeprecationWarning,
        stacklevel=3,  # the caller of the decorated function
    )
