"""Whether a model is as its layers' classes build it: nothing was switched, replaced or added on any object since.

A model on the closed list of `_deployed` is built again by the constructors of its layers, of what the proof reads and
nothing else. Then the two are compared, object by object: classes, entries of the instances, functions, the graph. So
an option that the proof does not know, of whatever version of Keras, has its default in the second model, and differs.
"""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Mapping
from typing import Any

import keras
import numpy as np
from keras import ops

from keras_interp_rnn import layers
from keras_interp_rnn._network import evaluate
from keras_interp_rnn.equations import transitions

NOT_COMPARED = {
    "names": "name _name _path _parent_path output_names _handle_name _unique_id",
    "how weights begin and how they are trained": """
        _initializer _regularizer _constraint _trainable trainable _aggregation initial seed _initial_seed
        _seed_generators _trainable_variables _non_trainable_variables _synchronization _overwrite_with_gradient
        _initial_value rate dropout recurrent_dropout _dropout_mask _recurrent_dropout_mask is_gptq_calibrated
        is_awq_calibrated
    """,
    "training and evaluation": """
        compiled optimizer _optimizer loss _loss_tracker _metrics _losses_override _compile_loss _compile_metrics
        _compile_config _initial_epoch history stop_training training train_function test_function predict_function
        _jax_state stop_evaluating stop_predicting _compiled_trainable_state _compute_loss_has_training_arg report
        labels
    """,
    "how predictions are run": """
        _run_eagerly _jit_compile steps_per_execution unrolled_steps_per_execution _jax_state_synced _losses _loss_ids
    """,
    "saving": "_auto_config _auto_config_error_args _saved_model_inputs_spec _saved_model_arg_spec",
    "tracking": """
        _tracked stored_ids locked _lock_violation_msg _torch_params _lock _cached_shape_as_list _build_shapes_dict
        _built_for _called _nodes _self_setattr_tracking _self_unconditional_checkpoint_dependencies
        _self_unconditional_dependency_names _self_unconditional_deferred_dependencies _self_update_uid
        _self_name_based_restores _self_saveable_object_factories
    """,
    "the default graph of the thread that made a weight": "_graph_key",
    "calls that are no part of the model, or none of the next": """
        _inbound_nodes _outbound_nodes _keras_history _keras_mask chosen_path _variable_read
    """,
    "the numbers, which the proof reads": "_handle",
}
"""Entries of an instance whose values do not matter to a call outside training, by what they are for."""

_NOT_COMPARED = frozenset(name for names in NOT_COMPARED.values() for name in names.split())
_OF_ANY_TYPE = frozenset(
    name
    for group in ("training and evaluation", "saving", "calls that are no part of the model, or none of the next")
    for name in NOT_COMPARED[group].split()
)
"""Those that no such call reads before it has written them. Of the others it may run methods."""
_ARGUMENTS_OF_WEIGHTS = ("_initializer", "_regularizer", "_constraint")

CONTAINERS = (Mapping, list, tuple, set)

KEYS = (str, int, bool, tuple, type(None))
"""Types of the keys of dictionaries."""

PLAIN = (bool, int, float, complex, str, bytes, type(None), np.generic, np.dtype, inspect.Signature)

EXACT = frozenset({*PLAIN, *np.sctypeDict.values()})
"""Types whose values have no methods but those of Python and NumPy; a type derived from them may."""


def built_again(model: Any, chain: list[Any], dtype: str) -> Any:
    """The model of the same layers, with zeros as weights.

    Args:
        model: on the closed list; chain: its layers from the ids to the output, each on the list too.
    """
    again = {id(layer): _layer(layer, _exact(dtype)) for layer in chain}
    shape = tuple(None if size is None else _exact(size) for size in model.inputs[0].shape)
    ids = keras.layers.InputLayer(batch_shape=shape, dtype=_exact(model.inputs[0].dtype), name="ids")
    if isinstance(model, keras.Sequential):
        return type(model)([ids, *(again[id(layer)] for layer in chain)], name=model.name)

    def called(operation: Any, node: Any, values: dict[int, Any]) -> list[Any]:
        args, kwargs = node.arguments.fill_in(values)
        return [again.get(id(operation), ops.not_equal)(*args, **kwargs)]

    return keras.Model(ids.output, evaluate(model, [ids.output], called)[0], name=model.name)


def _layer(layer: Any, dtype: str) -> Any:
    """A layer of the list, of the arguments that a proof takes into account, or that act in training alone."""
    common = {"name": layer.name, "dtype": dtype}
    if isinstance(layer, keras.layers.Dropout):
        return keras.layers.Dropout(layer.rate, noise_shape=layer.noise_shape, seed=0, **common)
    if isinstance(layer, keras.layers.Dense):
        return keras.layers.Dense(
            _exact(layer.units),
            activation=layer.activation,
            use_bias=bool(layer.use_bias),
            kernel_initializer="zeros",
            **common,
        )
    if isinstance(layer, keras.layers.Embedding):
        common["embeddings_initializer"] = "zeros"
        if type(layer) is keras.layers.Embedding:
            sizes = _exact(layer.input_dim), _exact(layer.output_dim)
            return keras.layers.Embedding(*sizes, mask_zero=bool(layer.mask_zero), **common)
        return type(layer)(layer.alphabet, _exact(layer.output_dim), **common)
    component, inner = layer.cell, layer.cell.cell
    # A flag that is no bool may change its mind.
    of_layer: dict[str, Any] = {
        "fused": layer.fused if type(layer.fused) is str else bool(layer.fused),
        "unroll": bool(layer.unroll),
        "regularize_last_step": bool(layer.regularize_last_step),
    }
    of_component: dict[str, Any] = {
        "transition": _transition(component.transition),
        "learn_temperature": bool(component.learn_temperature),
        "learn_centroids": bool(component.learn_centroids),
        "centroids_initializer": "zeros",
    }
    of_cell = {"use_bias": bool(inner.use_bias), "kernel_initializer": "zeros", "recurrent_initializer": "zeros"}
    if isinstance(inner, keras.layers.GRUCell):
        of_cell["reset_after"] = bool(inner.reset_after)
    sizes = _exact(inner.units), _exact(component.num_centroids)
    if type(layer) is not layers.StateRegularizedRNN:
        return type(layer)(*sizes, seed=0, **of_component, **of_cell, **of_layer, **common)
    cell = type(inner)(sizes[0], seed=0, dtype=dtype, name=inner.name, **of_cell)
    regularized = layers.StateRegularizedCell(cell, sizes[1], seed=0, dtype=dtype, name=component.name, **of_component)
    return layers.StateRegularizedRNN(regularized, **of_layer, **common)


def _exact(value: Any) -> Any:
    """A size, or the name of a dtype, without methods of its own."""
    if type(value) in EXACT:
        return value
    return str.__str__(value) if isinstance(value, str) else int(value)


def _transition(transition: Any) -> transitions.Transition:
    """A deterministic transition of the same kind."""
    if isinstance(transition, transitions.Gumbel):
        return transitions.Gumbel(straight_through=bool(transition.straight_through))
    again: transitions.Transition = type(transition)()
    return again


def first_difference(found: Any, built: Any, at: str) -> str | None:
    """The first difference between two objects, by its path from `at`; None if there is none.

    Everything is compared that a call may read: classes, entries, the code of functions and what it encloses, and which
    layers, operations and variables are one and the same.
    """
    waiting: list[tuple[str, Any, Any]] = [(at, found, built)]
    partners: dict[int, Any] = {}
    met: dict[tuple[int, int], tuple[Any, Any]] = {}  # with the objects, whose ids are then of no other
    while waiting:
        at, one, other = waiting.pop()
        if isinstance(other, keras.DTypePolicy):  # layers share one, those that are built again too
            other = type(other)(other.name)
        if one is other or (id(one), id(other)) in met:
            continue
        met[id(one), id(other)] = one, other
        if type(one) is not type(other):
            return f"{at}, {_named(one)} in place of {_named(other)}"
        if (odd := _odd_name(one)) is not None:
            return f"{at}, with {_named(odd)} as a name"
        if type(getattr(one, "_handle", None)) is not type(getattr(other, "_handle", None)):
            return f"{at}._handle, {_named(one._handle)}"
        if (name := _entry_with_methods(one, other)) is not None:
            return f"{_joined(at, name)}, {_named(vars(one)[name])}, which may have methods of its own"
        parts, expected = _parts(one), _parts(other)
        if parts is None or expected is None:
            if not _equal(one, other):
                return f"{at}={_named(one)} in place of {_named(other)}"
            continue
        if isinstance(one, (keras.Operation, keras.Variable, keras.KerasTensor)):
            if partners.setdefault(id(one), other) is not other or partners.setdefault(id(other), one) is not one:
                return f"{at}, {_named(one)} that is in another place too"
            at = one.name if isinstance(one, keras.layers.Layer) else at
        if isinstance(one, (keras.Model, keras.layers.InputLayer)) and type(one.dtype_policy) is keras.DTypePolicy:
            expected["_dtype_policy"] = one.dtype_policy  # which was set when it was made
        both = [name for name in parts if name in expected]
        for name in both:  # a flag first, not what follows from it
            if isinstance(parts[name], PLAIN) and not _equal(parts[name], expected[name]):
                kind = "" if type(parts[name]) in EXACT else f" of the class {type(parts[name]).__name__}"
                return f"{_joined(at, name)}={parts[name]!r}{kind} in place of {_named(expected[name])}"
        for name in sorted(parts.keys() - expected.keys()):
            note = isinstance(one, keras.Model) and type(parts[name]) in PLAIN
            if note and not hasattr(type(one), name):
                continue  # of a user, or of whatever trained the model
            return f"{_joined(at, name)}, {_named(parts[name])}, which its class does not make"
        for name in sorted(expected.keys() - parts.keys()):
            return f"{at} without its {name!r}"
        waiting += [(_joined(at, name), parts[name], expected[name]) for name in both]
    return None


def _parts(x: Any) -> dict[Any, Any] | None:
    """The parts of an object by name; None for an object that is not looked into."""
    if isinstance(x, (*PLAIN, type, types.ModuleType)) or not (hasattr(x, "__dict__") or isinstance(x, CONTAINERS)):
        return None
    parts: dict[Any, Any] = {name: part for name, part in getattr(x, "__dict__", {}).items() if not _left_out(name)}
    if hasattr(x, "stored_ids") and type(x.config) is dict:  # a tracker: what it looks for, not what it has found
        parts["config"] = [(name, test) for name, (test, _) in x.config.items()]
    if isinstance(x, types.FunctionType):
        parts |= {name: getattr(x, name) for name in ("__code__", "__globals__", "__defaults__", "__kwdefaults__")}
        parts |= {
            name: cell.cell_contents for name, cell in zip(x.__code__.co_freevars, x.__closure__ or (), strict=True)
        }
    elif isinstance(x, types.MethodType):
        parts = {"function": x.__func__, "object": x.__self__}
    elif isinstance(x, functools.partial):
        parts |= {"function": x.func, "args": x.args, "keywords": x.keywords}
    elif isinstance(x, Mapping):
        parts |= {f"[{key!r}]": part for key, part in x.items() if key != "_torch_params"}
    elif isinstance(x, (list, tuple)):
        parts |= {f"[{i}]": value for i, value in enumerate(x)}
    elif isinstance(x, set):
        parts["elements"] = frozenset(x)
    return parts


def _odd_name(x: Any) -> Any:
    """A name of an entry, or a key, that is not of a plain type, and so may compare as it likes; None without one."""
    names = [*getattr(x, "__dict__", ())], [*x] if isinstance(x, Mapping) else []
    strange = [name for name in names[0] if type(name) is not str] + [key for key in names[1] if type(key) not in KEYS]
    return next(iter(strange), None)


def _entry_with_methods(one: Any, other: Any) -> str | None:
    """The name of an entry that is not compared, but whose methods a call may run and are not those of `other`."""
    entries, expected = getattr(one, "__dict__", {}), getattr(other, "__dict__", {})
    for name, entry in entries.items():
        if not _left_out(name) or name in _OF_ANY_TYPE or name.endswith(_ARGUMENTS_OF_WEIGHTS):
            continue
        if type(entry) in (*EXACT, dict, list, set, tuple):
            continue
        if isinstance(entry, PLAIN) or name not in expected or type(entry) is not type(expected[name]):
            return str(name)
    return None


def _left_out(name: str) -> bool:
    return name in _NOT_COMPARED or (name.endswith(_ARGUMENTS_OF_WEIGHTS) and name != "activity_regularizer")


def _joined(at: str, name: str) -> str:
    return f"{at}{name}" if name.startswith("[") else f"{at}.{name}"


def _equal(one: Any, other: Any) -> bool:
    try:
        return type(one) is type(other) and bool(one == other)
    except (TypeError, ValueError, RuntimeError):  # arrays
        return False


def _named(x: Any) -> str:
    name = type(x).__name__
    return repr(x) if isinstance(x, PLAIN) else f"{'an' if name[0] in 'AEIOUaeiou' else 'a'} {name}"
