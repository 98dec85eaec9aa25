"""Names and arguments of the release before: still taken, with a warning that says the new ones."""

import warnings

import keras
import numpy as np
import pytest

from keras_interp_rnn import automata
from keras_interp_rnn.automata import DFA, WordEncoding, tomita
from tests.automata.networks import network_of


def test_classes_and_attributes(tmp_path):
    model = network_of(tomita(1))
    model.report = automata.TrainingReport(True, 1.0, 1.0, 1.0, 1.0, 2, 1, 1.0)
    with pytest.warns(DeprecationWarning, match=r"automata\.Verdict is now called TrainingReport"):
        assert automata.Verdict is automata.TrainingReport
    with pytest.warns(DeprecationWarning, match=r"Recognizer\.verdict is now called report"):
        assert model.verdict is model.report
    with pytest.warns(DeprecationWarning, match=r"Recognizer\.judge is now called classify"):
        np.testing.assert_array_equal(model.judge(["1", "0"]), [True, False])
    certificate = automata.certify(model, tomita(1))
    with pytest.warns(DeprecationWarning, match=r"Certificate\.verdict_margins is now called decision_margins"):
        assert certificate.verdict_margins is certificate.decision_margins
    model.save(tmp_path / "model.keras")  # without a warning, though Keras reads every attribute that `dir` names
    assert keras.models.load_model(tmp_path / "model.keras").report == model.report
    with pytest.raises(AttributeError, match="'Verdicts'"):
        getattr(automata, "Verdicts")  # noqa: B009


def test_a_configuration_of_0_1_has_a_verdict():
    model = network_of(tomita(1))
    config = model.get_config()
    config["verdict"] = {
        "learned": True,
        "network_accuracy": 1.0,
        "automaton_accuracy": 1.0,
        "held_out_accuracy": 1.0,
        "confidence": 1.0,
        "states": 2,
        "attempts": 3,
        "seconds": 1.5,
        "reason": "",
    }
    del config["report"]
    report = automata.Recognizer.from_config(config).report
    assert report == automata.TrainingReport(True, 1.0, 1.0, 1.0, 1.0, 2, 3, 1.5)
    with pytest.warns(DeprecationWarning, match="num_states"):
        assert report.states == 2
    with pytest.warns(DeprecationWarning, match="num_attempts"):
        assert report.attempts == 3


@pytest.mark.parametrize(
    ("former", "today"),
    [
        (lambda: DFA([[0, 1], [1, 0]], {0}, 1, "ab"), lambda: DFA([[0, 1], [1, 0]], {0}, start=1, alphabet="ab")),
        (lambda: WordEncoding("ab", 1, 4), lambda: WordEncoding("ab", start=1, end=4)),
        (
            lambda: WordEncoding.with_tokens("ab", True, True),
            lambda: WordEncoding.with_tokens("ab", start=True, end=True),
        ),
        (lambda: tomita(1).sample(3, rng=0), lambda: tomita(1).sample(3, seed=0)),
        (lambda: DFA.from_regex("ab", "ab", 10), lambda: DFA.from_regex("ab", "ab", max_states=10)),
        (
            lambda: automata.extract(network_of(tomita(1)), ["1", "0"], "counts").dfa,
            lambda: automata.extract(network_of(tomita(1)), ["1", "0"], method="counts").dfa,
        ),
        (
            lambda: automata.extract(model=network_of(tomita(1))).dfa,
            lambda: automata.extract(network=network_of(tomita(1))).dfa,
        ),
        (
            lambda: automata.certify(network_of(tomita(1)), tomita(1), 0.5).temperature,
            lambda: automata.certify(network_of(tomita(1)), tomita(1), temperature=0.5).temperature,
        ),
        (
            lambda: automata.extract(network_of(tomita(1))).fidelity(shortest=3, long=2, longest=4, searched=1),
            lambda: automata.extract(network_of(tomita(1))).fidelity(3, 2, max_length=4, num_searched=1),
        ),
    ],
)
def test_arguments(former, today):
    with warnings.catch_warnings(record=True) as raised:
        warnings.simplefilter("always")
        value = former()
    assert any("the former call is taken for one more release" in str(one.message) for one in raised)
    assert value == today()


def test_arguments_of_a_training():
    with warnings.catch_warnings(record=True) as raised:
        warnings.simplefilter("always")
        with pytest.raises(ValueError, match="Received: num_attempts=0"):
            automata.train_recognizer(["1"], [True], "01", centroids=3, attempts=0, confidence=0.9)
    said = [str(one.message).split(";")[0] for one in raised]
    assert said == [
        "train_recognizer now takes alphabet by keyword alone",
        *(
            f"train_recognizer now calls its argument {former} {name}"
            for former, name in (
                ("centroids", "num_centroids"),
                ("attempts", "num_attempts"),
                ("confidence", "min_confidence"),
            )
        ),
    ]
