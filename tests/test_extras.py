"""Without the packages of an extra: what needs one says which, and how to install it."""

import importlib
import json
import sys

import pytest

import keras_interp_rnn
from keras_interp_rnn._extras import needed
from keras_interp_rnn.automata import DFA, tomita
from keras_interp_rnn.reproduce import cli


def hide(monkeypatch, package):
    """As if the package were not installed, and no module that needs it imported yet."""
    for name in [name for name in sys.modules if name == package or name.startswith(f"{package}.")]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, package, None)
    for ours in ("keras_interp_rnn.figures", "keras_interp_rnn.tuning"):
        for name in [name for name in sys.modules if name == ours or name.startswith(f"{ours}.")]:
            monkeypatch.delitem(sys.modules, name)
        monkeypatch.delattr(keras_interp_rnn, ours.rpartition(".")[2], raising=False)  # `from ... import` looks there


@pytest.mark.parametrize(
    ("module", "package", "extra"),
    [("keras_interp_rnn.figures", "matplotlib", "figures"), ("keras_interp_rnn.tuning", "keras_tuner", "tuner")],
)
def test_a_module_names_the_extra_that_it_needs(monkeypatch, module, package, extra):
    hide(monkeypatch, package)
    with pytest.raises(
        ImportError, match=rf"^`{module}` needs {package} \(.+\): pip install 'keras_interp_rnn\[{extra}\]'$"
    ):
        importlib.import_module(module)


@pytest.mark.parametrize(
    ("method", "module", "package"),
    [
        (DFA.to_networkx, "networkx", "networkx"),
        (DFA.to_automata_lib, "automata", "automata-lib"),
        (DFA.to_aalpy, "aalpy", "aalpy"),
    ],
)
def test_an_automaton_names_the_extra_of_a_converter(monkeypatch, method, module, package):
    hide(monkeypatch, module)
    with pytest.raises(
        ImportError,
        match=rf"^`DFA.{method.__name__}` needs {package} \(.+\): pip install 'keras_interp_rnn\[automata\]'$",
    ):
        method(tomita(1))


def test_the_commands_name_the_extra_in_one_line(monkeypatch, tmp_path, capsys):
    hide(monkeypatch, "matplotlib")
    hide(monkeypatch, "keras_tuner")
    record = {"experiment": "balanced_parentheses", "environment": {"date": "2026-01-01", "commit": "0"}}
    monkeypatch.setattr(cli.report, "read", lambda folder: [record])
    monkeypatch.setattr(cli.report, "write", lambda found, out: importlib.import_module("keras_interp_rnn.figures"))
    assert cli.main(["report", "--records", str(tmp_path), "--out", str(tmp_path / "results.md")]) == 2
    said = capsys.readouterr().err
    assert len(said.splitlines()) == 1
    assert "pip install 'keras_interp_rnn[figures]'" in said
    assert cli.tune(["sr-imdb", "--row", "LSTM", "--trials", "1", "--smoke"]) == 2
    said = capsys.readouterr().err
    assert len(said.splitlines()) == 1
    assert "pip install 'keras_interp_rnn[tuner]'" in said


def test_an_import_that_succeeds_and_other_errors_pass():
    with needed("json", extra="figures", by="`here`"):
        found = importlib.import_module("json")
    assert found is json
    with pytest.raises(ValueError, match="^another$"), needed("json", extra="figures", by="`here`"):
        raise ValueError("another")
