"""Names of a package that are imported on first use, so that modules on NumPy alone load without Keras."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any


def on_first_use(package: str, modules: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The functions `__getattr__` and `__dir__` of a package.

    Args:
        package: its full name. modules: name -> the module of the package that has it.
    """
    names = vars(sys.modules[package])

    def __getattr__(name: str) -> Any:
        if name in modules:
            names[name] = getattr(importlib.import_module(f"{package}.{modules[name]}"), name)
            return names[name]
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    def __dir__() -> list[str]:
        return sorted({*names, *modules})

    return __getattr__, __dir__
