"""What every layer has: equations, its lines in the contract and in the README, a path that it names."""

from __future__ import annotations

from pathlib import Path

import keras
import numpy as np
import pytest

from keras_interp_rnn import analysis, layers
from keras_interp_rnn._cells import equations_of
from tests.layers.contract import Subject
from tests.layers.subjects import ALL, every_subject, no_variant

LAYERS = [name for name in layers.__all__ if issubclass(getattr(layers, name), keras.layers.RNN)]
README = (Path(__file__).parents[2] / "README.md").read_text()
every_layer = pytest.mark.parametrize("name", LAYERS)


def float64(weight: keras.Variable) -> np.ndarray:
    return np.asarray(keras.ops.convert_to_numpy(weight), np.float64)


@every_layer
def test_signs_the_contract_and_stands_in_the_readme(name: str) -> None:
    assert any(subject.name.split()[0].rstrip(",") == name for subject in ALL), f"{name} is in tests/layers/subjects.py"
    assert f"`layers.{name}`" in README or f"`{name}`" in README, f"{name} stands in README.md"


@every_subject
def test_its_equations_are_known_and_have_a_derivative(subject: Subject) -> None:
    layer = subject.sample().layer()
    equations = equations_of(layer.cell, float64)
    assert equations is not None
    assert equations.has_derivative


@no_variant
def test_its_jacobians_have_the_closed_form(subject: Subject) -> None:
    some = subject.sample()
    jacobian = analysis.input_output_jacobian(some.layer(), some.inputs, 2, with_respect_to="state")
    assert jacobian.method == "closed form"
    assert jacobian.dtype == np.float64


@every_subject
def test_it_says_which_path_it_took_and_why(subject: Subject) -> None:
    some = subject.sample()
    layer = some.layer(return_sequences=True)
    assert layer.chosen_path is None
    subject.assert_close(layer(some.inputs), some.outputs())
    name, reason = layer.chosen_path
    assert name in ("grouped", "static", "whole_sequence", "stepwise")
    assert len(reason) > 5
    if name != "stepwise":
        stepwise = some.layer(return_sequences=True, fused=False)
        subject.assert_close(stepwise(some.inputs), some.outputs())
        assert stepwise.chosen_path == ("stepwise", "fused=False")


@pytest.mark.parametrize("name", ["PeepholeLSTM", "SRGRU"])
def test_a_path_that_cannot_run_is_refused(name: str) -> None:
    sizes = (4,) if name == "PeepholeLSTM" else (4, 3)
    layer = getattr(layers, name)(*sizes, fused=True)
    sentence = f"fused=True cannot run here: the cell of {name} runs step by step: pass fused=False, or fused='auto'."
    with pytest.raises(ValueError, match=sentence):
        layer(np.ones((2, 3, 5), "float32"))


@every_layer
@pytest.mark.parametrize("fused", ["yes", None, 2])
def test_fused_is_auto_or_a_bool(name: str, fused: object) -> None:
    arguments = {"ISAN": (4, 5), "MinimalRNN": (4,), "CFN": (4,), "PeepholeLSTM": (4,)}.get(name, (4, 3))
    if name == "StateRegularizedRNN":
        arguments = (layers.StateRegularizedCell(keras.layers.GRUCell(4), 3),)
    with pytest.raises(ValueError, match="fused must be 'auto', True or False. Received: fused="):
        getattr(layers, name)(*arguments, fused=fused)
