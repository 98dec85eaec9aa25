"""Figures of the package's shape, which may fall and must not rise. They hold its size, not a count of lines."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "keras_interp_rnn"

BRANCHES = (ast.If, ast.For, ast.While, ast.ExceptHandler, ast.IfExp, ast.comprehension)
ABSTRACT = {"Layer", "RNN", "InputLayer", "Wrapper"}
WITH_THEIR_OWN_LISTS = ("layers", "presets", "_backend", "_cells.py")
"""Where Keras's layers are named to be derived from, built or run, not to be told apart."""


def trees(folder: Path = PACKAGE) -> Iterator[tuple[Path, ast.Module]]:
    for path in sorted(folder.rglob("*.py")):
        yield path, ast.parse(path.read_text(encoding="utf-8"))


def nodes(folder: Path = PACKAGE) -> Iterator[ast.AST]:
    for _, tree in trees(folder):
        yield from ast.walk(tree)


def closed_lists_of_layers() -> int:
    """Files that name three of Keras's classes of layers or more, and so know what some layers compute."""
    count = 0
    for path, tree in trees():
        if path.relative_to(PACKAGE).parts[0] not in WITH_THEIR_OWN_LISTS:
            attributes = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
            named = {node.attr for node in attributes if ast.unparse(node.value) in ("keras.layers", "L")}
            count += len(named - ABSTRACT) >= 3
    return count


def walks_of_a_graph() -> int:
    """Calls of the function that runs through a Keras graph, in the files that import it or have it."""
    count = 0
    for _, tree in trees():
        names = {
            alias.asname or alias.name
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom)
            and (node.module or "").startswith(("keras_interp_rnn._program", "keras_interp_rnn._network"))
            for alias in node.names
        }
        names |= {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
        if "evaluate" in names:
            calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
            count += sum(isinstance(call.func, ast.Name) and call.func.id == "evaluate" for call in calls)
    return count


def branches_of(folder: str) -> int:
    """Conditions, loops and handlers, and values of a BoolOp less one."""
    found = list(nodes(PACKAGE / folder))
    values = sum(len(node.values) - 1 for node in found if isinstance(node, ast.BoolOp))
    return values + sum(isinstance(node, BRANCHES) for node in found)


def branches_of_programs() -> int:
    """Branches of `_program`."""
    return branches_of("_program")


def branches_of_networks() -> int:
    """Branches of `_network`."""
    return branches_of("_network")


def attributes_asked_by_name() -> int:
    """Calls of hasattr and getattr."""
    names = (node.func for node in nodes() if isinstance(node, ast.Call))
    return sum(isinstance(name, ast.Name) and name.id in ("hasattr", "getattr") for name in names)


def uses_of_any() -> int:
    """How often `Any` stands in an annotation or elsewhere."""
    return sum(isinstance(node, ast.Name) and node.id == "Any" for node in nodes())


def files_that_name_an_analysis() -> int:
    """Files of code or tests, its own apart, that name `analysis.patching`: as many as a new analysis edits."""
    own = {"patching.py", "patching.js", "test_patching.py", Path(__file__).name}
    folders = ("keras_interp_rnn", "tensorboard_plugins", "tests")
    files = [path for folder in folders for path in (ROOT / folder).rglob("*") if path.suffix in (".py", ".js")]
    files = [path for path in files if path.name not in own]
    return sum("patching" in path.read_text(encoding="utf-8").lower() for path in files)


HELD = {
    closed_lists_of_layers: 1,
    walks_of_a_graph: 2,
    branches_of_programs: 545,
    branches_of_networks: 1122,
    attributes_asked_by_name: 207,
    uses_of_any: 883,
    files_that_name_an_analysis: 7,
}


@pytest.mark.core
@pytest.mark.parametrize("figure", HELD, ids=lambda figure: figure.__name__)
def test_a_figure_does_not_rise(figure):
    """A figure that has fallen is held at what it is now: write the new one."""
    assert figure() == HELD[figure], f"{figure.__doc__.splitlines()[0]} Held: {HELD[figure]}, now: {figure()}."
