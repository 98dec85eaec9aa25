"""Whether the functions with which Keras and this package compute are those in their files.

A method may be replaced on its class, a function in its module; every model then computes otherwise. So the functions
of the modules that compute are compared, by their code, with what Python compiles of the files, as its loaders return
it. The backend itself, which is mostly compiled, is taken as it is.
"""

from __future__ import annotations

import dis
import functools
import inspect
import itertools
import sys
import types
from collections.abc import Iterator
from typing import Any

COMPUTING = (
    *("keras.activations", "keras.layers", "keras.ops", "keras.tree"),
    *(f"keras.src.{name}" for name in ("activations", "backend", "dtype_policies", "models", "ops", "random", "tree")),
    *(f"keras.src.{name}" for name in ("trainers", "utils", "layers.layer", "layers.core", "layers.input_spec")),
    *(f"keras.src.layers.{name}" for name in ("regularization", "rnn")),
    *(f"keras_interp_rnn.{name}" for name in ("_backend", "_cells", "_sequence", "equations", "layers")),
)
"""Modules, each with those below it."""

ROOTS = ("keras", "keras_interp_rnn")

CACHED = type(functools.cache(len))

_originals: dict[int, types.CodeType] = {}
"""Code that was found in a file, by its id."""


def first_replaced() -> str | None:
    """The name of a function that is not the one in its file; None if there is none."""
    for name, module in list(sys.modules.items()):
        if name.startswith(COMPUTING) and any(name == part or name.startswith(f"{part}.") for part in COMPUTING):
            code = _code(name)
            if code is None:  # a loader without code
                continue
            for place, members, defined in _scopes(module, code):
                for key, value in list(members.items()):
                    if not _is_original(name, key, value, key in defined):
                        return f"{place}.{key}"
    return None


def _scopes(module: Any, code: types.CodeType) -> Iterator[tuple[str, dict[str, Any], set[str]]]:
    """The module and its classes: name, members, and the names of what is defined in them."""
    name, top = module.__name__, _defined(code)
    yield name, vars(module), set(top)
    for key, value in list(vars(module).items()):
        if isinstance(value, type) and value.__module__ == name:
            body = top.get(value.__qualname__)
            yield f"{name}.{key}", dict(vars(value)), set() if body is None else set(_defined(body))


def _is_original(module: str, key: str, value: Any, is_defined: bool) -> bool:
    if isinstance(value, type):
        return True  # its members are met where it is defined
    functions = list(_functions(value))
    if not functions:
        # A callable object in the place of a function, or where there was none.
        root = type(value).__module__.split(".")[0]
        return not is_defined and (not callable(value) or _is_known(root, module))
    return all(_from_file(function, module) for function in functions) and _in_its_place(module, key, value)


def _from_file(function: types.FunctionType, module: str) -> bool:
    code, home = function.__code__, str(function.__globals__.get("__name__"))
    if id(code) in _originals or code.co_filename == "<string>":  # dataclasses and named tuples make such functions
        return True
    if home.split(".")[0] not in ROOTS:
        return _is_known(home.split(".")[0], module)
    if code not in _codes(home):
        return False
    _originals[id(code)] = code
    return True


def _in_its_place(module: str, key: str, value: Any) -> bool:
    """Whether a function has the name by which it is found, or is imported by that name."""
    value = getattr(value, "__func__", value)
    if not isinstance(value, types.FunctionType):
        return True
    code = inspect.unwrap(value).__code__
    known_as = (code.co_name, key)
    return id(code) not in _originals or key.strip("_") == code.co_name.strip("_") or known_as in _imported_as(module)


def _is_known(root: str, module: str) -> bool:
    """Whether a package is the standard library, ours, or one that the module imports."""
    code = _code(module)
    imported = () if code is None else {name.split(".")[0] for name in code.co_names}
    return root in sys.stdlib_module_names or root in ROOTS or root in imported or root == "optree"


def _functions(value: Any) -> list[types.FunctionType]:
    """The functions in a member of a module or class, and those that they enclose."""
    found: dict[int, types.FunctionType] = {}
    waiting = [value]
    while waiting:
        x = waiting.pop()
        if isinstance(x, types.FunctionType):
            if id(x) not in found:
                found[id(x)] = x
                for cell in x.__closure__ or ():
                    try:
                        enclosed = cell.cell_contents
                    except ValueError:  # not assigned yet
                        continue
                    if isinstance(enclosed, (types.FunctionType, functools.partial)):
                        waiting.append(enclosed)
        elif isinstance(x, (staticmethod, classmethod)):
            waiting.append(x.__func__)
        elif isinstance(x, property):
            waiting += [x.fget, x.fset, x.fdel]
        elif isinstance(x, (functools.partial, functools.cached_property)):
            waiting.append(x.func)
        elif isinstance(x, CACHED):
            waiting.append(x.__wrapped__)
    return list(found.values())


@functools.cache
def _code(module: str) -> types.CodeType | None:
    """What the file of a module is compiled to."""
    loader: Any = getattr(getattr(sys.modules.get(module), "__spec__", None), "loader", None)
    return loader.get_code(module) if hasattr(loader, "get_code") else None


@functools.cache
def _codes(module: str) -> frozenset[types.CodeType]:
    """That of all its functions."""
    found: set[types.CodeType] = set()
    waiting = [code] if (code := _code(module)) else []
    while waiting:
        inner = [part for part in waiting.pop().co_consts if isinstance(part, types.CodeType)]
        found.update(inner)
        waiting += inner
    return frozenset(found)


def _defined(code: types.CodeType) -> dict[str, types.CodeType]:
    """The functions and classes that the body of a module or class defines."""
    return {part.co_name: part for part in code.co_consts if isinstance(part, types.CodeType)}


@functools.cache
def _imported_as(module: str) -> frozenset[tuple[str, str]]:
    """The name of what a module imports from others, with that by which it calls it."""
    steps = itertools.pairwise(dis.get_instructions(code)) if (code := _code(module)) else ()
    return frozenset((one.argval, two.argval) for one, two in steps if one.opname == "IMPORT_FROM")
