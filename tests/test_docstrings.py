"""The examples in docstrings do what they say."""

import doctest
import importlib
import pkgutil

import keras
import numpy as np
import pytest

import keras_interp_rnn
import tensorboard_plugins
from keras_interp_rnn import _backend

# Imported where they are the one that runs.
OTHERS = {f"keras_interp_rnn._backend.{name}" for name in _backend.CLASSES if name != _backend.name()}
MODULES = sorted(
    module.name
    for package in (keras_interp_rnn, tensorboard_plugins)
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
    if not module.name.endswith("__main__") and module.name not in OTHERS
)


def examples(name):
    module = importlib.import_module(name)
    return [test for test in doctest.DocTestFinder().find(module) if test.examples]


def test_there_are_examples():
    assert sum(len(examples(f"keras_interp_rnn.layers.{name}")) for name in ("isan", "minimal_rnn", "cfn")) >= 4


@pytest.mark.parametrize("name", MODULES)
def test_examples_do_what_they_say(name):
    said = []
    for test in examples(name):
        test.globs.update(np=np, keras=keras)
        doctest.DocTestRunner().run(test, out=said.append)
    assert not said, "".join(said)
