"""Errors without the packages of an extra name the package and how to install it."""

import importlib
import json
import sys

import pytest

import keras_interp_rnn
from examples.papers import _commands
from examples.papers.__main__ import main
from keras_interp_rnn._io import needed
from keras_interp_rnn.automata import DFA, tomita


def hide(monkeypatch, package):
    """Hides a package, and forgets the modules that import it."""
    for name in [name for name in sys.modules if name == package or name.startswith(f"{package}.")]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, package, None)
    ours = "keras_interp_rnn.figures"
    for name in [name for name in sys.modules if name == ours or name.startswith(f"{ours}.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delattr(keras_interp_rnn, "figures", raising=False)  # `from ... import` looks there


def test_a_module_names_the_extra_that_it_needs(monkeypatch):
    hide(monkeypatch, "matplotlib")
    with pytest.raises(
        ImportError,
        match=r"^`keras_interp_rnn.figures` needs matplotlib \(.+\): pip install 'keras_interp_rnn\[figures\]'$",
    ):
        importlib.import_module("keras_interp_rnn.figures")


def test_an_automaton_names_the_extra_of_a_converter(monkeypatch):
    for method, module, package in (
        (DFA.to_networkx, "networkx", "networkx"),
        (DFA.to_automata_lib, "automata", "automata-lib"),
        (DFA.to_aalpy, "aalpy", "aalpy"),
    ):
        hide(monkeypatch, module)
        remedy = r"\(.+\): pip install 'keras_interp_rnn\[automata\]'$"
        with pytest.raises(ImportError, match=rf"^`DFA.{method.__name__}` needs {package} {remedy}"):
            method(tomita(1))


def test_the_commands_name_the_extra_in_one_line(monkeypatch, tmp_path, capsys):
    hide(monkeypatch, "matplotlib")
    hide(monkeypatch, "keras_tuner")
    monkeypatch.setattr(_commands._report, "write", lambda *of: importlib.import_module("keras_interp_rnn.figures"))
    arguments = ["report", "--records", str(tmp_path), "--out", str(tmp_path / "results.md")]
    assert main([*arguments]) == 2
    error = capsys.readouterr().err
    assert len(error.splitlines()) == 1
    assert "pip install 'keras_interp_rnn[figures]'" in error
    assert main(["tune", "sr-imdb", "--row", "LSTM", "--trials", "1", "--smoke"]) == 2
    error = capsys.readouterr().err
    assert len(error.splitlines()) == 1
    assert "pip install 'keras_interp_rnn[tuner]'" in error


def test_an_import_that_succeeds_and_other_errors_pass():
    with needed("json", extra="figures", by="`here`"):
        found = importlib.import_module("json")
    assert found is json
    with pytest.raises(ValueError, match="^another$"), needed("json", extra="figures", by="`here`"):
        raise ValueError("another")
