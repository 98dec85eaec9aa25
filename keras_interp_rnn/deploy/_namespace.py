"""The common part of array namespaces on which equations run before there are numbers, to become C or instructions."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from keras_interp_rnn.deploy._c import Unwritten
from keras_interp_rnn.equations import NUMPY


def of_constants(method: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator: NumPy computes the function where all arguments are constants."""

    @functools.wraps(method)
    def chosen(self: Namespace, *args: object, **kwargs: object) -> Any:
        parts = [part for x in args for part in (x if isinstance(x, list | tuple) else [x])]
        if any(isinstance(part, self.written) for part in parts):
            return method(self, *args, **kwargs)
        return getattr(NUMPY, method.__name__)(*args, **kwargs)

    return chosen


class Namespace:
    """An array namespace without functions of its own.

    Attributes:
        written: the types of what has no numbers yet.
    """

    written: ClassVar[tuple[type, ...]] = ()

    def __getattr__(self, name: str) -> Any:
        """A function that cannot be written; of constants alone it is NumPy's."""
        if name.startswith("_"):
            raise AttributeError(name)

        def unwritten(namespace: Namespace, *args: object, **kwargs: object) -> Any:
            raise Unwritten(f"`{name}` of what a step computes")

        unwritten.__name__ = name
        return functools.partial(of_constants(unwritten), self)

    @staticmethod
    def shape(x: Any) -> tuple[int, ...]:
        return tuple(x.shape)

    @staticmethod
    def stop_gradient(x: object) -> Any:
        return x

    @staticmethod
    def ones_like(x: Any) -> Any:
        return np.ones(x.shape)
