"""Weights of cells: their initializer, regularizer and constraint as arguments, and independent initial draws."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import keras
import numpy as np
from keras import constraints, initializers, ops, regularizers

from keras_interp_rnn._types import Tensor

KINDS = {"initializer": initializers, "regularizer": regularizers, "constraint": constraints}

MANY_BLOCKS = 1024
"""Matrices of a weight, beyond which drawing each by itself takes seconds."""

Initializer = Callable[..., Tensor]


def weight_arguments(initial: Mapping[str, object]) -> dict[str, inspect.Parameter]:
    """The initializer, regularizer and constraint of each weight; `initial` maps weights to default initializers.

    A key such as "recurrent_constraint" sets the default of that argument, which is None otherwise.
    """
    weights = [name for name in initial if not name.endswith(tuple(KINDS))]
    names = {f"{weight}_{kind}": None for kind in KINDS for weight in weights}
    defaults = {**names, **{f"{weight}_initializer": initial[weight] for weight in weights}}
    defaults.update({name: value for name, value in initial.items() if name not in weights})
    by_keyword = inspect.Parameter.KEYWORD_ONLY
    return {name: inspect.Parameter(name, by_keyword, default=defaults[name]) for name in names}


def set_weight_arguments(layer: keras.layers.Layer, arguments: Mapping[str, object]) -> None:
    """Sets `layer.kernel_initializer` and the like from names, configurations or objects."""
    for name, value in arguments.items():
        setattr(layer, name, KINDS[name.rsplit("_", 1)[1]].get(value))


def config_of_weight_arguments(layer: keras.layers.Layer, names: Iterable[str]) -> dict[str, Any]:
    """The attributes that `set_weight_arguments` set, serialized."""
    return {name: KINDS[name.rsplit("_", 1)[1]].serialize(getattr(layer, name)) for name in names}


def reseeded(initializer: Any, k: int) -> Any:
    """The initializer of the k-th of several independent draws: itself for 0, with another seed after that.

    Keras's random initializers draw the same numbers at every call, as their seed is always an integer.
    """
    seed = getattr(initializer, "seed", None)
    if k == 0 or not isinstance(seed, int):
        return initializer
    return type(initializer).from_config({**initializer.get_config(), "seed": derived_seed(seed, k)})


def blockwise(initializer: Any, blocks: int, stacked: bool = False) -> Initializer:
    """An initializer that draws each (n, m) of (n, blocks * m), or of (blocks, n, m) if stacked, separately.

    One orthogonal matrix for all gates contains no orthogonal gate, and Keras's initializers take stacked matrices for
    one kernel with `blocks` times the inputs. Many orthogonal matrices are drawn at once.
    """

    def draw(shape: tuple[int, ...], dtype: Any = None) -> Tensor:
        if stacked and blocks > MANY_BLOCKS and type(initializer) is initializers.Orthogonal:
            return _orthogonal(shape, initializer.gain, initializer.seed, dtype)
        block = shape[1:] if stacked else (shape[0], shape[1] // blocks)
        draws = [reseeded(initializer, k)(block, dtype=dtype) for k in range(blocks)]
        return ops.stack(draws) if stacked else ops.concatenate(draws, axis=1)

    return draw


def _orthogonal(shape: tuple[int, ...], gain: float, seed: object, dtype: object) -> Tensor:
    """Orthogonal matrices (..., n, n) times `gain`, from the QR decomposition of normal ones (Mezzadri, 2007)."""
    orthogonal, triangular = ops.qr(keras.random.normal(shape, seed=seed, dtype="float32"))
    signs = ops.sign(ops.diagonal(triangular, axis1=-2, axis2=-1))
    return ops.cast(gain * orthogonal * signs[..., None, :], dtype or keras.config.floatx())


def derived_seed(seed: int, k: int) -> int:
    """The k-th seed derived from a seed; seed + k could be in use elsewhere."""
    [derived] = np.random.SeedSequence([abs(seed), k]).generate_state(1) >> 1  # 31 bits: torch takes no more
    return int(derived)
