"""Parameters have the names of docs/conventions.md, and docstrings avoid words that hide the subject."""

import dataclasses
import functools
import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, NamedTuple

import keras
import pytest

import keras_interp_rnn
from tests.test_public_names import PUBLIC, results

OURS = "keras_interp_rnn"
GLOSSARY = (Path(__file__).parents[1] / "docs" / "conventions.md").read_text(encoding="utf-8")
MODULES = sorted({*PUBLIC, *(f"{OURS}.{name}" for name in PUBLIC[OURS]), f"{OURS}.equations"} - {OURS})

# A name that parameters must not have -> what to call it.
FORBIDDEN = {
    **dict.fromkeys(("longest", "highest", "largest", "most", "oldest", "maximum", "limit", "budget"), "max_..."),
    **dict.fromkeys(("least", "fewest", "lowest", "shortest", "smallest", "minimum"), "min_..."),
    **dict.fromkeys(("few", "many", "top", "count", "often", "attempts", "searched", "long", "bins"), "num_..."),
    **dict.fromkeys(("contexts", "types", "images"), "num_..."),
    **{"folder": "source or path", "rng": "seed", "batch": "batch_size", "schedule": "temperature"},
    **dict.fromkeys(("layer", "model"), "network"),
}

# Whose parameters follow somebody else, and whose. Their names are still looked at.
FOLLOWS_KERAS = (
    keras.Layer,
    keras.losses.Loss,
    keras.optimizers.Optimizer,
    keras.constraints.Constraint,
    keras.regularizers.Regularizer,
)
MAY_BE_GIVEN_BY_POSITION = {
    "results": "dataclasses and named tuples are made by the package, and their fields have an order",
    "Keras": "constructors of layers, cells, losses, optimizers and constraints have Keras's form",
    "protocols": "methods of equations and cells are called by layers, once a step, in one order: `CellEquations`",
}

# Keras's own words: those of the objects that the package's derive from or stand beside.
OF_KERAS = (
    keras.Layer,
    keras.Model.fit,
    keras.Model.compute_loss,
    keras.layers.RNN,
    keras.layers.SimpleRNN,
    keras.layers.GRU,
    keras.layers.LSTM,
    keras.layers.Embedding,
    keras.layers.MultiHeadAttention,
    keras.callbacks.ModelCheckpoint,
    keras.callbacks.TensorBoard,
    keras.optimizers.Adam,
    keras.losses.Loss,
    keras.constraints.MaxNorm,
    keras.regularizers.L1L2,
)

# Wording that a plain sentence replaces.
OBSCURE = [
    r'"""What ',
    r'"""Of ',
    r"\b(which|that|what|and) (is |are )?none\b",
    r"\banew\b",
    r"\bbehind\b",
    r"\bbeside\b",
    r"\bstands?\b(?! for)",
    r"(?<![.\"])\b(says|said)\b(?!:)",
    r"\bwanted\b",
]


class Function(NamedTuple):
    """A public function, method or constructor: its name behind the package's, and its parameters but self."""

    name: str
    parameters: list[inspect.Parameter]
    by_position: str
    """Why more than two parameters may be given by position; empty if they may not."""
    is_result: bool


def of_ours(thing: Any) -> bool:
    return (getattr(thing, "__module__", None) or "").startswith(OURS)


def is_result(cls: type) -> bool:
    """Whether its constructor takes its fields, and nobody wrote it: such a function has no file."""
    written = inspect.unwrap(cls.__init__).__code__.co_filename != "<string>" if dataclasses.is_dataclass(cls) else True
    return not written or hasattr(cls, "_fields")


def reason(name: str, cls: type | None = None) -> str:
    """Why parameters may be given by position."""
    if name.startswith("equations.") or (cls and issubclass(cls, keras.Layer)):
        return MAY_BE_GIVEN_BY_POSITION["protocols"]
    return ""


def parameters(thing: Any, bound: bool = False) -> list[inspect.Parameter]:
    return list(inspect.signature(thing).parameters.values())[bound:]


def of_class(name: str, cls: type) -> Iterator[Function]:
    result = is_result(cls)
    by_position = MAY_BE_GIVEN_BY_POSITION["results" if result else "Keras"]
    by_position = by_position if result or issubclass(cls, FOLLOWS_KERAS) else reason(name)
    if result or ("__init__" in vars(cls) and of_ours(cls.__init__)) or "__signature__" in vars(cls):
        yield Function(name, parameters(cls), by_position, result)
    # With the methods of a class that is there to be inherited, such as the conversions of an automaton.
    ours = [base for base in reversed(cls.__mro__) if of_ours(base) and base.__module__.split(".")[1] == "automata"]
    for attribute, value in {name: value for base in [*ours, cls] for name, value in vars(base).items()}.items():
        method = value.__func__ if isinstance(value, (classmethod, staticmethod)) else value
        inherited = any(attribute in vars(base) for base in cls.__mro__[1:] if not of_ours(base))
        # What overrides a method of Keras or matplotlib has its parameters.
        if isinstance(method, FunctionType) and not attribute.startswith("_") and not inherited and of_ours(method):
            bound = not isinstance(value, staticmethod)
            yield Function(f"{name}.{attribute}", parameters(method, bound), reason(f"{name}.{attribute}", cls), False)


def of_module(module: ModuleType, seen: set[str]) -> Iterator[Function]:
    if module.__name__ in seen:
        return
    seen.add(module.__name__)
    for attribute in module.__all__:
        thing = getattr(module, attribute)
        name = f"{module.__name__.removeprefix(OURS + '.')}.{attribute}"
        if isinstance(thing, ModuleType):
            yield from of_module(thing, seen)
        elif isinstance(thing, type):
            if not issubclass(thing, Exception):
                yield from of_class(name, thing)
        elif isinstance(thing, FunctionType):
            yield Function(name, parameters(thing), reason(name), False)
    for cls in results(module.__name__):
        yield from of_class(f"{module.__name__.removeprefix(OURS + '.')}.{cls.__name__}", cls)


@functools.cache
def functions() -> list[Function]:
    seen: set[str] = set()
    return [function for name in MODULES for function in of_module(importlib.import_module(name), seen)]


POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def glossary() -> dict[str, str]:
    """The parameters of the glossary, each with its unit."""
    rows = GLOSSARY.split("## Parameters")[1]
    units: dict[str, str] = {}
    for line in rows.splitlines():
        if line.startswith("| `"):
            names, *_, unit = (cell.strip() for cell in line.strip("|").split("|"))
            units |= dict.fromkeys(re.findall(r"`(\w+)`", names), unit)
    return units


UNITS = glossary()
KERAS = {parameter.name for thing in OF_KERAS for parameter in parameters(thing)}


def forbidden(function: Function, parameter: inspect.Parameter) -> bool:
    """Whether the name must not be used. A field of a result is a count if it is an integer: others are results."""
    if parameter.name in ("layer", "model"):  # to be called network, by those that find a recurrent layer
        if function.name == "automata.compile":  # the name of the class of layer that it makes: none is found
            return False
        return function.name.startswith(("analysis.", "automata.")) and not (function.by_position or function.is_result)
    return parameter.name in FORBIDDEN and (is_integer(parameter) or not function.is_result)


def is_integer(parameter: inspect.Parameter) -> bool:
    return parameter.annotation in (int, "int", "int | None")


def no_count(function: Function, parameter: inspect.Parameter) -> bool:
    """Whether an integer is called neither a count nor a bound, and the glossary knows of nothing else that it is."""
    if function.is_result or not is_integer(parameter):
        return False
    named = parameter.name.startswith(("num_", "max_", "min_"))
    return not named and parameter.name not in KERAS and UNITS.get(parameter.name, "count") == "count"


def unknown(function: Function, parameter: inspect.Parameter) -> bool:
    """Whether neither the glossary nor Keras has the name. Fields of results are described as attributes."""
    variadic = parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    return not function.is_result and not variadic and parameter.name not in UNITS.keys() | KERAS


def by_position(function: Function, parameter: inspect.Parameter) -> bool:
    """Whether it is behind the second and can be given by position."""
    place = [each.name for each in function.parameters if each.kind in POSITIONAL]
    return not function.by_position and parameter.name in place[2:]


RULES = {
    "a forbidden name": forbidden,
    "a count that does not begin with num_, max_ or min_": no_count,
    "a name that docs/conventions.md does not have": unknown,
    "behind the second parameter, and not by keyword alone": by_position,
}


def violations(rule: str) -> set[tuple[str, str]]:
    return {
        (function.name, parameter.name)
        for function in functions()
        for parameter in function.parameters
        if RULES[rule](function, parameter)
    }


@pytest.mark.parametrize("rule", RULES)
def test_parameters_have_the_names_and_places_of_the_conventions(rule):
    wrong = violations(rule)
    assert not wrong, f"{rule}: " + "\n".join(f"{each}, {FORBIDDEN.get(each[1], '')}" for each in sorted(wrong))


def test_no_file_has_obscure_wording():
    package, found = Path(keras_interp_rnn.__file__).parent, {}
    for path in sorted(package.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        for match in (match for pattern in OBSCURE for match in re.finditer(pattern, text)):
            found[f"{path.relative_to(package)}:{text.count(chr(10), 0, match.start()) + 1}"] = match[0]
    listed = "\n".join(f"{place}: {words!r}" for place, words in found.items())
    assert not found, f"Write plain sentences, names of variables too; for things use what they do:\n{listed}"


def test_every_name_of_the_glossary_is_one_of_a_parameter():
    used = {parameter.name for function in functions() for parameter in function.parameters}
    assert not UNITS.keys() - used, f"No public function has these: {sorted(UNITS.keys() - used)}"


def test_the_walk_sees_functions_methods_constructors_and_submodules():
    names = {function.name for function in functions()}
    assert {
        *("analysis.contributions", "analysis.Contributions.without", "automata.DFA", "automata.DFA.from_regex"),
        *("datasets.text8.load", "datasets.Alphabet.from_text", "datasets.Windows", "layers.ISAN"),
        *(
            "callbacks.Automaton",
            "equations.ISAN.step",
            "losses.BitsPerSymbol",
            "constraints.MaxSpectralRadius",
        ),
    } <= names
    assert not {"callbacks.CarriedState.on_epoch_begin", "layers.ISAN.build", "losses.BitsPerSymbol.call"} & names
