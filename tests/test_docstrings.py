"""The examples in docstrings do what they say."""

import doctest
import importlib.util
import inspect
import pkgutil
import re
from pathlib import Path

import keras
import numpy as np
import pytest

import keras_interp_rnn
import tensorboard_plugins
from keras_interp_rnn import _backend, datasets
from tests.test_public_names import PUBLIC, results

# Modules written for one backend are imported where it is the one that runs.
OTHERS = {
    f"keras_interp_rnn.{stem}{name}"
    for stem in ("_backend.", "_sequence.grouped_")
    for name in _backend.CLASSES
    if name != _backend.name()
}
MODULES = sorted(
    module.name
    for package in (keras_interp_rnn, tensorboard_plugins)
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
    if not module.name.endswith("__main__") and module.name not in OTHERS
)


class Finder(doctest.DocTestFinder):
    """Finds functions under decorators too: those belong to the module in which they were written."""

    def _from_module(self, module, object):
        return super()._from_module(module, inspect.unwrap(object) if inspect.isfunction(object) else object)


def examples(name):
    module = importlib.import_module(name)
    return [test for test in Finder().find(module) if test.examples]


@pytest.fixture
def samples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The working folder of the examples: the files that they read, and an empty folder for data of TFDS."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TFDS_DATA_DIR", str(tmp_path / "data"))
    write_samples(tmp_path)


def write_samples(folder: Path) -> None:
    """The files that examples read."""
    (folder / "my_text.txt").write_text("All, and one. " * 20)


def test_there_are_examples():
    assert sum(len(examples(f"keras_interp_rnn.layers.{name}")) for name in ("isan", "minimal_rnn", "cfn")) >= 4


@pytest.mark.usefixtures("samples")
@pytest.mark.parametrize("name", MODULES)
def test_examples_do_what_they_say(name):
    said = []
    for test in examples(name):
        test.globs.update(np=np, keras=keras)
        doctest.DocTestRunner(verbose=False).run(test, out=said.append)
    assert not said, "".join(said)


DRAWS = "keras_interp_rnn.figures"
DATASETS = "keras_interp_rnn.datasets"
COMPLETE = [
    *(name for name in PUBLIC if name.endswith((".analysis", ".figures", ".views", ".datasets"))),
    *(f"{DATASETS}.{name}" for name in PUBLIC[DATASETS] if inspect.ismodule(getattr(datasets, name))),
]


def public_functions(module):
    if module == DRAWS:
        pytest.importorskip("matplotlib")
    imported = importlib.import_module(module)
    return {name: thing for name in imported.__all__ if inspect.isfunction(thing := getattr(imported, name))}


@pytest.mark.parametrize("module", COMPLETE)
def test_a_public_function_says_what_it_takes_gives_and_refuses_with_an_example_that_runs(module):
    functions = public_functions(module)
    assert functions
    homes = {function.__module__ for function in functions.values()}
    modules = [name for name in MODULES if name.startswith(module) or name in homes]
    collected = {test.name.rpartition(".")[2] for name in modules for test in examples(name)}
    for name, function in functions.items():
        for heading in ("Args:", "Example:"):
            needed = heading != "Args:" or inspect.signature(function).parameters
            assert not needed or f"    {heading}" in function.__doc__, f"{module}.{name} has no {heading}"
        assert any(f"    {heading}" in function.__doc__ for heading in ("Returns:", "Yields:")), f"{name} returns what?"
        # An error sentence in the body is a promise of the docstring, too.
        assert ("raise " not in inspect.getsource(inspect.unwrap(function))) or "    Raises:" in function.__doc__, name
        assert name in collected, f"the example of {module}.{name} does not run"


SEE = re.compile(r"^ *Example: see `(\w+)`\.$", re.M)
EXAMPLE = re.compile(r"^ *Example:.*\n\n *\S", re.M)


def public_things():
    """Public functions and classes, and the results that they return."""
    for module, names in PUBLIC.items():
        if module == DRAWS and importlib.util.find_spec("matplotlib") is None:
            continue
        for thing in [*(getattr(importlib.import_module(module), name) for name in names), *results(module)]:
            if inspect.isclass(thing) or inspect.isfunction(thing):
                yield importlib.import_module(module), thing


def test_a_public_name_has_an_example_or_names_the_one_that_shows_it():
    wrong = []
    for module, thing in public_things():
        seen = SEE.search(thing.__doc__)
        if seen and seen[1] not in module.__all__:
            wrong.append(f"{module.__name__}.{thing.__name__} refers to {seen[1]}, which is not public there")
        elif not EXAMPLE.search((getattr(module, seen[1]) if seen else thing).__doc__):
            wrong.append(f"{module.__name__}.{thing.__name__} has no example")
    assert not wrong, "\n".join(wrong)
