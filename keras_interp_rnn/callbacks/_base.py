"""The base of all callbacks: errors name the callback, and only one at a time writes into a folder."""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import keras


class NamedCallback(keras.callbacks.Callback):
    """A callback whose errors begin with its name: a `fit` may have nine of them."""

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        for name, hook in list(vars(cls).items()):
            if name.startswith("on_"):
                setattr(cls, name, _naming(hook))


def _naming(hook: Callable[..., None]) -> Callable[..., None]:
    """The hook of a callback, whose errors name it."""

    @functools.wraps(hook)
    def called(self: object, *args: object, **kwargs: object) -> None:
        name = type(self).__name__
        try:
            hook(self, *args, **kwargs)
        except ValueError as error:
            if str(error).startswith(name):
                raise
            raise ValueError(f"{name}: {error}") from error
        except Exception as error:
            if sys.version_info >= (3, 11) and name not in " ".join(getattr(error, "__notes__", ())):
                error.add_note(f"In the callback {name}.")
            raise

    return called


_WRITERS: dict[Path, tuple[FrameType, Any, Any, Any]] = {}
"""The call of `fit` that writes into a folder, the callback by which it does, and the model and params of that."""

_NONE = (None, None, None, None)

_CHANGES = threading.RLock()


def claim(folder: Path, callback: Any, fit: FrameType | None, rule: str) -> None:
    """Notes that a callback writes into a folder while `fit` runs; `fit` is None where a loop calls the callback.

    Raises:
        ValueError: with this rule, if another callback of this `fit`, or of another one that has not ended, does.
    """
    folder = folder.resolve()
    with _CHANGES:
        other, writer, model, params = _WRITERS.get(folder, _NONE)
        is_taken = writer is not callback if other is fit else other is not None and not has_ended(other)
        if other is not None and is_taken:
            if writer is not None and writer is callback:  # its first `fit` goes on with its own model
                callback.set_model(model)
                callback.set_params(params)
            where = "another callback of this `fit` writes" if other is fit else "another `fit` of this process trains"
            raise ValueError(
                f"{rule} Received: {folder}, where {where}. Wait until it ends, or pass another directory."
            )
        if fit is not None:
            _WRITERS[folder] = fit, callback, callback.model, callback.params


def release(folder: Path, callback: object) -> None:
    """Notes that a callback writes no more into a folder."""
    folder = folder.resolve()
    with _CHANGES:
        if _WRITERS.get(folder, _NONE)[1] is callback:
            del _WRITERS[folder]


def has_ended(fit: FrameType) -> bool:
    """Whether a call has ended; its variables are then cleared. An exception ends it without calling its callbacks.

    To walk the stack of a thread that runs may crash the interpreter (CPython 3.11).
    """
    try:
        fit.clear()
    except RuntimeError:  # it is executing
        return False
    return True
