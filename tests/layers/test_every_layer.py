"""Every layer has equations, an entry in the contract and in the README, and a path with a reason."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from pathlib import Path

import keras
import numpy as np
import pytest

from keras_interp_rnn import analysis, layers
from keras_interp_rnn.layers._docstrings import sections
from tests.gated_samples import assert_close
from tests.layers.contract import BACKEND, Subject
from tests.layers.subjects import ALL, SUBJECTS, every_subject, no_variant
from tests.oracles.minimal_rnn import complex_step

pytestmark = pytest.mark.core(6 if BACKEND == "tensorflow" else 2)  # layers of other families


LAYERS = [name for name in layers.__all__ if issubclass(getattr(layers, name), keras.layers.RNN)]
CLASSES = [name for name in layers.__all__ if name != "WordDropout"]
README = (Path(__file__).parents[2] / "README.md").read_text()


def test_every_layer_is_in_the_contract_and_the_readme() -> None:
    signed = {subject.name.split()[0].rstrip(",") for subject in ALL}
    assert not set(LAYERS) - signed, "without a line in tests/layers/subjects.py"
    named = set(re.findall(r"`(?:layers\.)?(\w+)`", README))
    assert not set(LAYERS) - named, "without a place in README.md"


def documented(kind: type) -> dict[str, str]:
    """The description of each argument in a docstring."""
    entries = re.split(r"^ {4}(?=\S)", sections(kind.__doc__)[1]["Args"], flags=re.MULTILINE)[1:]
    named = [entry.split(":", 1) for entry in entries]
    return {name: text for names, text in named for name in re.split(r",\s+", names)}


def test_the_docstring_describes_each_argument_once_and_what_goes_in_and_comes_out() -> None:
    of_keras = {
        *inspect.signature(keras.layers.GRUCell).parameters,
        *inspect.signature(keras.layers.LSTMCell).parameters,
    }
    for name in CLASSES:
        kind = getattr(layers, name)
        described = documented(kind)
        taken = sorted(inspect.signature(kind).parameters)
        assert sorted(argument.lstrip("*") for argument in described) == taken, name
        left_to_keras = {argument for argument, text in described.items() if text.strip() == "as in Keras."}
        assert not {a for a in left_to_keras - of_keras if not a.endswith(("_regularizer", "_constraint"))}, name
        assert max(map(len, kind.__doc__.splitlines())) <= 120, name
    for name in LAYERS:
        _, found = sections(getattr(layers, name).__doc__)
        assert set(found) >= {"Call arguments", "Returns", "Weights", "Raises", "Reference"}, name
        assert "mask: " in found["Call arguments"], name
        assert found["Returns"].startswith(" (batch, n), or (batch, time, n)"), name


def test_a_docstring_takes_over_what_it_does_not_say_itself() -> None:
    class Cell(layers.CFNCell):
        """A cell.

        Args:
            units: the number of rows.

        Raises:
            ValueError: if it must.
        """

    class Layer(layers.CFN):
        """A layer.

        Args:
            dropout: the fraction of ones.
        """

        cell_class = Cell

    assert documented(Layer)["dropout"].strip() == "the fraction of ones."
    assert documented(Layer)["units"].strip() == "the number of rows."
    assert documented(Layer)["seed"] == documented(layers.CFN)["seed"]
    assert "    ValueError: if it must.\n" in Layer.__doc__
    assert "Example" not in sections(Layer.__doc__)[1]
    assert Layer.__doc__.startswith("A layer.\n\nArgs:\n    units: ")
    assert type("Silent", (layers.CFN,), {}).__doc__ is None


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (
            lambda: layers.ISAN(4),
            "ISAN(units, vocabulary_size, learn_initial_state, ...): missing a required argument: ",
        ),
        (lambda: layers.PeepholeLSTM(4, 5), "PeepholeLSTM(units, ...): too many positional arguments."),
        (lambda: layers.SRGRU(4, units=5, num_centroids=3), "SRGRU(units, num_centroids, temperature, transition, "),
    ],
)
def test_arguments_too_many_or_too_few_are_reported_by_the_layer(make: Callable, sentence: str) -> None:
    with pytest.raises(TypeError, match=re.escape(sentence)):
        make()


def test_a_layer_has_what_its_cells_were_made_with() -> None:
    layer = layers.SRLSTM(4, 3, dropout=0.25, transition="sample", seed=7)
    assert (layer.units, layer.num_centroids, layer.dropout, layer.seed) == (4, 3, 0.25, 7)
    assert layer.transition.name == "sample"
    assert layers.ISAN(4, 5, learn_initial_state=False).learn_initial_state is False
    assert layers.FactoredISAN(4, 2, shared=False).shared is False


def diagonal(function: Callable[[np.ndarray], np.ndarray], rows: np.ndarray) -> np.ndarray:
    """The derivatives of each row of `function(rows)` by its own row of `rows`: (batch, n, entries)."""
    found = complex_step(function, rows)
    return np.stack([found[row, :, row] for row in range(len(rows))])


@no_variant
@pytest.mark.parametrize("lag", [0, 2])
def test_its_jacobians_are_the_oracles(subject: Subject, lag: int) -> None:
    hold_jacobians(subject, lag)


@pytest.mark.parametrize("name", ["RGLRU", "RGLRU of its own size"])
def test_jacobians_of_an_rg_lru_with_and_without_an_input_kernel(name: str) -> None:
    hold_jacobians(SUBJECTS[name], lag=0)


def hold_jacobians(subject: Subject, lag: int) -> None:
    some = subject.sample()
    layer, after = some.layer(), some.inputs.shape[1] - lag
    run = subject.oracle
    before = [states[:, after - 1] for states in some.states()]
    ends = np.cumsum([states.shape[1] for states in before])[:-1]
    if lag:

        def last_state(state: np.ndarray) -> np.ndarray:
            return run(some.weights, some.inputs[:, after:], np.split(state, ends, axis=1), None)[0][:, -1]

        found = analysis.input_output_jacobian(layer, some.inputs, lag=lag, with_respect_to="state")
        assert (found.method == "closed form") is has_closed_form(subject)
        check(subject, found, diagonal(last_state, np.concatenate(before, axis=1)))
    if subject.reads == "features":

        def last_output(step: np.ndarray) -> np.ndarray:
            moved = some.inputs.astype(step.dtype)
            moved[:, after - 1] = step
            return run(some.weights, moved, None, None)[0][:, -1]

        found = analysis.input_output_jacobian(layer, some.inputs, lag=lag)
        assert (found.method == "closed form") is has_closed_form(subject)
        check(subject, found, diagonal(last_output, some.inputs[:, after - 1]))


def has_closed_form(subject: Subject) -> bool:
    """Whether its steps are linearized by equations: those of matrix states are differentiated by the backend."""
    return not subject.name.startswith(("GatedLinearAttention", "DeltaNet"))


def check(subject: Subject, found: np.ndarray, expected: np.ndarray) -> None:
    assert np.abs(expected).max() > 1e-6
    # An encoder is a layer, and runs on the backend.
    by_backend = "MinimalRNN" in subject.name or not has_closed_form(subject)
    assert_close(np.asarray(found), expected, "float64", None if by_backend else "numpy")


@every_subject
def test_the_chosen_path_has_a_reason(subject: Subject) -> None:
    some = subject.sample()
    layer = some.layer(return_sequences=True)
    assert layer.chosen_path is None
    subject.assert_close(layer(some.inputs), some.outputs())
    name, reason = layer.chosen_path
    assert name in ("grouped", "blocks", "dense", "static", "loop", "parallel", "whole_sequence", "stepwise")
    assert len(reason) > 5
    if name != "stepwise":
        stepwise = some.layer(return_sequences=True, fused=False)
        subject.assert_close(stepwise(some.inputs), some.outputs())
        assert stepwise.chosen_path == ("stepwise", "fused=False")


@pytest.mark.parametrize("name", ["PeepholeLSTM", "SRGRU"])
def test_a_path_that_cannot_run_is_refused(name: str) -> None:
    sizes = (4,) if name == "PeepholeLSTM" else (4, 3)
    layer = getattr(layers, name)(*sizes, activation="elu", fused=True)
    sentence = f"fused=True cannot run here: the cell of {name} runs step by step: pass fused=False, or fused='auto'."
    with pytest.raises(ValueError, match=sentence):
        layer(np.ones((2, 3, 5), "float32"))


def test_fused_is_auto_or_a_bool() -> None:
    for name in LAYERS:
        taken = inspect.signature(getattr(layers, name)).parameters.values()
        needs = [one for one in taken if one.default is one.empty and one.name != "kwargs"]
        arguments: tuple = (8, 3)[: len(needs)]
        if name == "StateRegularizedRNN":
            arguments = (layers.StateRegularizedCell(keras.layers.GRUCell(4), 3),)
        for fused in ("yes", "grouped", None, 2):
            sentence = f"`fused` must be 'auto', True or False. Received: fused={fused!r}."
            with pytest.raises(ValueError, match=re.escape(sentence)):
                getattr(layers, name)(*arguments, fused=fused)
