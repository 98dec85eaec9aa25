"""Keras, NumPy and the package, each imported when a name of it is first used: `list` and the report come at once."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any


class _Lazy:
    """A module whose names, or a package whose modules, are imported when they are used."""

    def __init__(self, name: str, is_package: bool = False) -> None:
        self._name, self._is_package = name, is_package

    def __getattr__(self, name: str) -> Any:
        if self._is_package:
            return importlib.import_module(f"{self._name}.{name}")
        return getattr(importlib.import_module(self._name), name)


training: Any = _Lazy("examples.papers._training")
binary: Any = _Lazy("examples.papers._binary")
ngrams: Any = _Lazy("examples.papers._ngrams")
drawings: Any = _Lazy("examples.papers.figures")
corpora: Any = _Lazy("examples.papers.data", is_package=True)

if TYPE_CHECKING:
    import keras
    import numpy as np
    from numpy.typing import NDArray

    from keras_interp_rnn import (
        analysis,
        automata,
        callbacks,
        constraints,
        datasets,
        equations,
        figures,
        initializers,
        layers,
        losses,
        presets,
    )

    Array = NDArray[Any]
else:
    keras, np = _Lazy("keras"), _Lazy("numpy")
    analysis, automata, callbacks, constraints, datasets, equations, figures, initializers, layers, losses, presets = (
        _Lazy(f"keras_interp_rnn.{name}")
        for name in """
            analysis automata callbacks constraints datasets equations figures initializers layers losses presets
        """.split()
    )
    Array = Any

__all__ = """
    Array analysis automata binary callbacks constraints corpora datasets drawings equations figures initializers keras
    layers losses ngrams np presets training
""".split()
