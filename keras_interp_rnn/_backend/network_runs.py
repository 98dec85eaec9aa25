"""The outputs of a network itself, by a compiled function where they are asked for again and again.

To compile a network takes longer than to run it a few times, so that it runs as it is at first. The function is kept as
long as the network is as it was, but for the values of its weights, which are always those of the moment. Layers and
functions of users, which may compute something else each time, are never compiled.
"""

from __future__ import annotations

import contextlib
import inspect
import weakref
from collections.abc import Callable
from dataclasses import dataclass

import keras
import numpy as np
from keras import ops, tree

from keras_interp_rnn import _backend
from keras_interp_rnn._backend.keras_quirks import walk_layers
from keras_interp_rnn._types import Tensor

AS_IT_IS = 40
"""Steps that a network reads before it is compiled, which takes about as long as to read so many."""

OWN = ("keras", __name__.split(".")[0])
PLAIN = (bool, int, float, str, bytes, type(None))

Compiled = Callable[..., Tensor]


@dataclass
class _Run:
    """A network's attributes when it was first opened, the steps it has read, and the function compiled of it."""

    attributes: list[object]
    steps: int = 0
    is_tried: bool = False
    compiled: Compiled | None = None


_RUNS: weakref.WeakKeyDictionary[keras.Model, _Run] = weakref.WeakKeyDictionary()


def own_outputs(network: keras.Layer) -> Callable[..., Tensor]:
    """The outputs outside training, as a function of the inputs, as the network is called with them, and of a mask.

    It is compiled from the start or never: compiled, numbers of half precision are rounded at other places.
    """
    known = _run_of(network) if isinstance(network, keras.Model) else None
    compiled = None if known is None else known.compiled

    def outputs(structure: Tensor, **arguments: Tensor) -> Tensor:
        if compiled is not None and not arguments:
            with contextlib.suppress(Exception):  # the network itself raises the error that the user knows
                given = zip(tree.flatten(structure), network.inputs, strict=True)
                return compiled(*(ops.cast(ops.convert_to_tensor(x), tensor.dtype) for x, tensor in given))
        if known is not None:
            known.steps += max((size for x in tree.flatten(structure) for size in x.shape[1:2]), default=1)
        return network(structure, training=False, **arguments)

    return outputs


def _run_of(network: keras.Model) -> _Run | None:
    """The run of a network as it is now; None of one that is never compiled."""
    attributes = _attributes(network)
    if attributes is None:
        return None
    known = _RUNS.get(network)
    if known is None or not _are_equal(known.attributes, attributes):
        known = _RUNS[network] = _Run(attributes)
    if known.steps >= AS_IT_IS and not known.is_tried:
        known.is_tried, known.compiled = True, _compiled(network)
    return known


def _compiled(network: keras.Model) -> Compiled | None:
    structure = network.inputs[0] if isinstance(network, keras.Sequential) else network.input
    # The function must not keep the network, by which it is kept.
    itself = weakref.ref(network)

    def run(*inputs: Tensor) -> Tensor:
        model = itself()
        assert model is not None
        return model(tree.pack_sequence_as(structure, list(inputs)), training=False)

    return _backend.compiled_for_all_sizes(run, network.inputs)


def _attributes(network: keras.Model) -> list[object] | None:
    """All that a network computes with but the values of its weights; None for layers or functions of users."""
    found: list[object] = []
    objects: list[object] = [*walk_layers(network)]
    for thing in objects:
        values = vars(thing)
        functions = [value for value in values.values() if callable(value)]
        if not all(map(_is_own, [thing, *functions])):
            return None
        found += [weakref.ref(thing), type(thing).call] if isinstance(thing, keras.Layer) else [type(thing)]
        for name, value in values.items():
            found += [name, *_as_compared(value)]
        parts = [value for value in values.values() if type(value).__module__.startswith(OWN[1])]
        # As the transition of a state-regularized cell.
        objects += [part for part in parts if not isinstance(part, (keras.Layer, tuple))]
    return found


def _is_own(thing: object) -> bool:
    """Whether a layer, a function or another object is Keras's or this package's."""
    module = inspect.getmodule(thing)
    return module is not None and module.__name__.split(".")[0] in OWN


def _as_compared(value: object) -> tuple[object, ...]:
    """Parts of a value that stay as they are as long as it does; of lists, dicts and arrays their contents."""
    if isinstance(value, PLAIN):
        return (value,)
    if _is_plain(value):
        return (repr(value),)
    if isinstance(value, np.ndarray):
        return (value.dtype.str, repr(value.shape), value.tobytes())
    if isinstance(value, keras.Variable):
        return (value.value,)
    if isinstance(value, keras.DTypePolicy):
        return (value.name,)
    may_be_tensor = type(value).__module__.split(".")[0] not in ("builtins", "keras", "inspect")
    return (value if may_be_tensor and ops.is_tensor(value) else id(value),)


def _is_plain(value: object) -> bool:
    """Whether a value is of numbers and strings alone."""
    if isinstance(value, dict):
        value = [*value, *value.values()]
    return isinstance(value, PLAIN) or (isinstance(value, (tuple, list)) and all(map(_is_plain, value)))


def _are_equal(first: list[object], second: list[object]) -> bool:
    def is_same(a: object, b: object) -> bool:
        return a is b or (type(a) is type(b) and isinstance(a, (*PLAIN, weakref.ref)) and a == b)

    return len(first) == len(second) and all(map(is_same, first, second))
