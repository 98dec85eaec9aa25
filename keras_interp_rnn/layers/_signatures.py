"""Signatures of cells and layers, put together from those of several functions."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

OF_EVERY_LAYER = ("name", "dtype", "trainable", "activity_regularizer", "autocast", "input_shape", "input_dim")
"""Arguments of `keras.layers.Layer`."""


def parameters(*functions: Any) -> dict[str, inspect.Parameter]:
    """The named parameters of functions, without `self`; the first function that has a name decides."""
    variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    named: dict[str, inspect.Parameter] = {}
    for function in functions:
        for name, parameter in inspect.signature(function).parameters.items():
            if name != "self" and parameter.kind not in variadic:
                named.setdefault(name, parameter)
    return named


class ConstructorSignature:
    """`__signature__` of a class; its instances have none, as they are called with other arguments."""

    def __init__(self, signature: inspect.Signature) -> None:
        self.signature = signature

    def __get__(self, instance: object, owner: type | None = None) -> inspect.Signature:
        if instance is not None:
            raise AttributeError("__signature__")
        return self.signature


def signature(taken: Mapping[str, inspect.Parameter], positional: int | None = None) -> ConstructorSignature:
    """A signature of these parameters and `**kwargs`; after the first `positional` they are keyword-only."""
    ordered = list(taken.values())
    if positional is not None:
        ordered[positional:] = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in ordered[positional:]]
    ordered.sort(key=lambda parameter: parameter.kind)
    return ConstructorSignature(
        inspect.Signature([*ordered, inspect.Parameter("kwargs", inspect.Parameter.VAR_KEYWORD)])
    )
