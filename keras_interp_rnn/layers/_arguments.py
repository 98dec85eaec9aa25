"""Arguments that many layers take, written once: those of weights, and those that a layer hands on to its cell."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import keras
import numpy as np
from keras import constraints, initializers, ops, regularizers

KINDS = {"initializer": initializers, "regularizer": regularizers, "constraint": constraints}

OF_EVERY_LAYER = ("name", "dtype", "trainable", "activity_regularizer", "autocast", "input_shape", "input_dim")
"""What `keras.layers.Layer` takes."""

MANY_BLOCKS = 1024
"""Matrices of a weight, beyond which drawing each by itself takes seconds."""


def parameters(*functions: Any) -> dict[str, inspect.Parameter]:
    """What the functions take by name, `self`, `*args` and `**kwargs` left out; the first to name one decides."""
    variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    named: dict[str, inspect.Parameter] = {}
    for function in functions:
        for name, parameter in inspect.signature(function).parameters.items():
            if name != "self" and parameter.kind not in variadic:
                named.setdefault(name, parameter)
    return named


class ConstructorSignature:
    """`__signature__` of a class, and not of its instances: what calls those is another matter."""

    def __init__(self, signature: inspect.Signature) -> None:
        self.signature = signature

    def __get__(self, instance: Any, owner: type | None = None) -> inspect.Signature:
        if instance is not None:
            raise AttributeError("__signature__")
        return self.signature


def signature(taken: Mapping[str, inspect.Parameter], positional: int | None = None) -> ConstructorSignature:
    """A signature of these parameters and `**kwargs`; those after the first `positional` by keyword alone."""
    given = list(taken.values())
    if positional is not None:
        by_name = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in given[positional:]]
        given = given[:positional] + by_name
    given.sort(key=lambda parameter: parameter.kind)
    given.append(inspect.Parameter("kwargs", inspect.Parameter.VAR_KEYWORD))
    return ConstructorSignature(inspect.Signature(given))


def weight_arguments(initial: Mapping[str, Any]) -> dict[str, inspect.Parameter]:
    """The initializer, regularizer and constraint of each weight; `initial` has the initializers' defaults.

    A key that is no weight's, "recurrent_constraint" say, gives another default than None.
    """
    weights = [name for name in initial if not name.endswith(tuple(KINDS))]
    names = {f"{weight}_{kind}": None for kind in KINDS for weight in weights}
    defaults = {**names, **{f"{weight}_initializer": initial[weight] for weight in weights}}
    defaults.update({name: value for name, value in initial.items() if name not in weights})
    by_keyword = inspect.Parameter.KEYWORD_ONLY
    return {name: inspect.Parameter(name, by_keyword, default=defaults[name]) for name in names}


def set_weight_arguments(layer: keras.layers.Layer, given: Mapping[str, Any]) -> None:
    """Sets `layer.kernel_initializer` and its like from names, configurations or objects."""
    for name, value in given.items():
        setattr(layer, name, KINDS[name.rsplit("_", 1)[1]].get(value))


def config_of_weight_arguments(layer: keras.layers.Layer, names: Any) -> dict[str, Any]:
    """What `set_weight_arguments` has set, serialized."""
    return {name: KINDS[name.rsplit("_", 1)[1]].serialize(getattr(layer, name)) for name in names}


def reseeded(initializer: Any, k: int) -> Any:
    """The k-th of several independent draws: the initializer itself, then ones of other seeds.

    Keras's random initializers draw the same numbers at every call (their seed is an integer even if none was given).
    """
    seed = getattr(initializer, "seed", None)
    if k == 0 or not isinstance(seed, int):
        return initializer
    return type(initializer).from_config({**initializer.get_config(), "seed": derived_seed(seed, k)})


def blockwise(initializer: Any, blocks: int, stacked: bool = False) -> Any:
    """An initializer of (n, blocks * m), or stacked of (blocks, n, m), that draws each (n, m) by itself.

    An orthogonal matrix of all gates side by side has no orthogonal gate in it, and of stacked matrices Keras's
    initializers would make one kernel with `blocks` times the inputs. Many orthogonal matrices are drawn at once.
    """

    def draw(shape: tuple[int, ...], dtype: Any = None) -> Any:
        if stacked and blocks > MANY_BLOCKS and type(initializer) is initializers.Orthogonal:
            return _orthogonal(shape, initializer.gain, initializer.seed, dtype)
        block = shape[1:] if stacked else (shape[0], shape[1] // blocks)
        draws = [reseeded(initializer, k)(block, dtype=dtype) for k in range(blocks)]
        return ops.stack(draws) if stacked else ops.concatenate(draws, axis=1)

    return draw


def _orthogonal(shape: tuple[int, ...], gain: float, seed: Any, dtype: Any) -> Any:
    """Matrices (..., n, n), each orthogonal times `gain`: by the QR decomposition of normal ones (Mezzadri, 2007)."""
    orthogonal, triangular = ops.qr(keras.random.normal(shape, seed=seed, dtype="float32"))
    signs = ops.sign(ops.diagonal(triangular, axis1=-2, axis2=-1))
    return ops.cast(gain * orthogonal * signs[..., None, :], dtype or keras.config.floatx())


def derived_seed(seed: int, k: int) -> int:
    """The k-th seed that belongs to this one; not seed + k, which something else may have."""
    [own] = np.random.SeedSequence([abs(seed), k]).generate_state(1) >> 1  # 31 bits: torch takes no more
    return int(own)
