"""The classes of results: nobody constructs them, so no `__all__` names them; functions return them.

The reference describes each on the page of the first function that returns it, or of the first class whose methods do.
"""

import importlib
import inspect
import re
import sys
from collections.abc import Iterable, Iterator
from types import FunctionType
from typing import Any

PACKAGE = "keras_interp_rnn"


def results_by_page(module: str, names: Iterable[str]) -> dict[str, list[type]]:
    """Public name of a module -> the results that its page describes.

    Callbacks return nothing to the user: what their methods pass to each other is their own.
    """
    imported = importlib.import_module(module)
    things = {name: getattr(imported, name) for name in names}
    seen = named_classes()
    if module == f"{PACKAGE}.callbacks":
        return {name: [] for name in things}
    functions_first = sorted(things, key=lambda name: not inspect.isfunction(things[name]))
    return {name: list(results_of(things[name], seen)) for name in functions_first}


def results_of(thing: Any, seen: set[type]) -> Iterator[type]:
    """The results that a function returns, or a class by its methods and attributes, and the results in those.

    Args:
        thing: a function or a class; of anything else there are none.
        seen: results that were met before and are left out; those that are met now are added.
    """
    for annotation, module in annotations(thing):
        for word in re.findall(r"\w+", str(annotation)):
            found = vars(sys.modules[module]).get(word)
            if inspect.isclass(found) and found not in seen and is_result(found):
                seen.add(found)
                yield found
                yield from results_of(found, seen)


def annotations(thing: Any) -> Iterator[tuple[Any, str]]:
    """What a function returns, or the public methods and attributes of a class, each with the module that says so."""
    if inspect.isfunction(thing):
        yield thing.__annotations__.get("return"), thing.__module__
        return
    for base in thing.__mro__ if inspect.isclass(thing) else ():
        if base.__module__.startswith(f"{PACKAGE}."):
            fields = vars(base).get("__annotations__", {})
            yield from ((fields[name], base.__module__) for name in fields if not name.startswith("_"))
            for name, value in vars(base).items():
                if not name.startswith("_") and (method := function_of(value)):
                    yield from annotations(method)


def function_of(attribute: Any) -> FunctionType | None:
    """The function behind a method or a property; None if there is none."""
    for inner in ("fget", "func", "__func__"):
        attribute = getattr(attribute, inner, attribute)
    return attribute if inspect.isfunction(attribute) else None


def named_classes() -> set[type]:
    """The classes of the package that a public `__all__` names, as far as its modules are imported."""
    inner = f"{PACKAGE}.automata."  # contents pages for other folders
    modules = [m for name, m in sys.modules.items() if name.startswith(PACKAGE) and not name.startswith(inner)]
    public = (getattr(m, name, None) for m in modules for name in getattr(m, "__all__", ()))
    return {thing for thing in public if inspect.isclass(thing)}


def is_result(cls: type) -> bool:
    """Whether it is a class of the package, and neither it nor its module is private."""
    private = any(part.startswith("_") for part in [*cls.__module__.split("."), cls.__name__])
    return cls.__module__.startswith(f"{PACKAGE}.") and not private
