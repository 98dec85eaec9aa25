"""Tomita's languages by the paper's protocol: the network, its section and its claims."""

import keras
import numpy as np
import pytest

from examples.papers import _records as records
from examples.papers import tomita_paper
from examples.papers._layers import hard_sigmoid
from keras_interp_rnn import automata
from tests.papers.common import EXPERIMENTS, a_run

EXPERIMENT = EXPERIMENTS["tomita-paper"]


@pytest.fixture(autouse=True)
def _without_xla(monkeypatch):
    """So small a network trains for a shorter time than XLA compiles."""
    if keras.backend.backend() == "tensorflow":
        monkeypatch.setattr(tomita_paper._languages, "JIT_COMPILE", False)


def a_record(language, network, seconds=60.0, epochs=7, converged=True, seed=0, more=0, **result):
    read = {}
    if network == "SR-GRU":
        read = {"exact": True, "states": 3, "centroids": 3, "least": 0.75, "by_counts": {"exact": True, "centroids": 3}}
    return {
        "experiment": "tomita-paper",
        "table": {"row": f"{language}-{network}" + tomita_paper.LONG * bool(more)},
        "data": {"name": f"Tomita {language}"},
        "model": {"layer": network, "seed": seed},
        "protocol": {"batch": 2, "more": more, "gate": "hard_sigmoid"},
        "result": {
            **{"converged": converged, "epochs": epochs, "seconds": seconds, "validation_error": 0.25, **read},
            **result,
        },
        "environment": records.environment(),
    }


def verdicts(given):
    return [claim.verdict for claim in EXPERIMENT.claims(given)]


def test_claims_are_on_the_number_of_centroids_and_on_time():
    both = [a_record(2, "SR-GRU", 110), a_record(2, "GRU", 60)]
    assert verdicts(both) == ["found in part", "found"]  # the paper claims it of five languages
    assert verdicts([a_record(2, "SR-GRU", 110, epochs=15), both[1]])[1] == "found in part"
    assert verdicts([a_record(2, "SR-GRU", 700, epochs=15), both[1]])[1] == "contradicted"
    for counted in ({"exact": True, "centroids": 4}, {"exact": False, "centroids": 3}):
        assert verdicts([a_record(2, "SR-GRU", 110, by_counts=counted), both[1]]) == ["contradicted", "found"]
    assert verdicts([both[0], a_record(2, "GRU", 60, converged=False)]) == ["found in part", "not tried"]
    assert verdicts([a_record(language, "SR-GRU") for language in tomita_paper.LEARNED]) == ["found", "not tried"]
    assert verdicts([a_record(2, "SR-GRU", converged=False, exact=False)]) == ["not tried", "not tried"]
    assert verdicts([both[1]]) == ["not tried", "not tried"]


def test_networks_that_train_on_decide_which_centroids_are_used_and_not_how_fast_they_learned():
    wrong = {"exact": False, "centroids": 3}
    both = [a_record(2, "SR-GRU", 110, by_counts=wrong), a_record(2, "GRU", 60)]
    assert verdicts([*both, a_record(2, "SR-GRU", 400, more=1000)]) == ["found in part", "found"]
    assert verdicts([*both, a_record(2, "SR-GRU", 10, more=1000, by_counts=wrong)]) == ["contradicted", "found"]


def test_records_of_another_sigmoid_are_named_and_give_way():
    earlier = a_record(2, "SR-GRU", by_counts={"exact": False, "centroids": 3})
    del earlier["protocol"]["gate"]
    assert verdicts([earlier]) == ["contradicted", "not tried"]
    assert verdicts([earlier, a_record(2, "SR-GRU")]) == ["found in part", "not tried"]
    assert [row[1] for row in EXPERIMENT.lines([earlier, a_record(2, "SR-GRU")])] == ["SR-GRU", "SR-GRU, slope 1/6"]


def test_the_hard_sigmoid_is_theanos():
    """The symbolic fallback of theano.tensor.nnet.hard_sigmoid: 0.2 x + 0.5, between 0 and 1."""
    at = np.array([-3.0, -2.5, -1.0, 0.0, 2.0, 2.5, 4.0], "float32")
    expected = [0.0, 0.0, 0.3, 0.5, 0.9, 1.0, 1.0]
    np.testing.assert_allclose(keras.ops.convert_to_numpy(hard_sigmoid(at)), expected, atol=1e-6)


def test_words_of_one_length_are_shuffled_in_each_epoch(tmp_path, monkeypatch):
    read = []
    monkeypatch.setattr(
        tomita_paper.training, "fit_next_epoch", lambda model, ids, *args: read.append(ids) or stop(len(read))
    )

    def stop(epochs):
        if epochs == 2:
            raise KeyboardInterrupt
        resumable.history.append({"wrong": 1, "seconds": 0.0})

    made = tomita_paper.callbacks.Resumable

    def resume(*args):
        nonlocal resumable
        resumable = made(*args)
        return resumable

    resumable = None
    monkeypatch.setattr(tomita_paper.callbacks, "Resumable", resume)
    with pytest.raises(KeyboardInterrupt):
        tomita_paper._train("GRU", short("1"), settings(epochs=9, sorted_epochs=9), a_run(tmp_path, minutes=None))
    lengths = [np.count_nonzero(ids, axis=1) for ids in read]
    np.testing.assert_array_equal(lengths[0], np.sort(lengths[0]))
    np.testing.assert_array_equal(*lengths)
    assert not np.array_equal(*read)


@pytest.mark.parametrize("network", tomita_paper.NETWORKS)
def test_the_network_has_the_papers_parts_and_initial_weights(network):
    model = tomita_paper._build(network, {**tomita_paper.PROTOCOL, "seed": 3, "units": 5, "centroids": 4})
    layer = model.layers[1]
    inner = layer.cell.cell if network == "SR-GRU" else layer.cell
    assert (inner.reset_after, inner.use_bias) == (False, False)
    assert inner.recurrent_activation is hard_sigmoid
    gates = np.split(keras.ops.convert_to_numpy(inner.recurrent_kernel), 3, axis=1)
    for gate in gates:
        np.testing.assert_allclose(gate @ gate.T, np.eye(5), atol=1e-5)
    assert not np.allclose(gates[0], gates[1])
    if network == "SR-GRU":
        assert np.abs(keras.ops.convert_to_numpy(layer.cell.centroids)).max() <= 0.1
        assert float(keras.ops.convert_to_numpy(layer.cell.current_temperature())) == 1
    assert isinstance(model.optimizer, keras.optimizers.Adadelta)


def short(language):
    """Its shortest words."""
    return tomita_paper._languages.short_words(automata.tomita(int(language)), 4)


def settings(**more):
    return {**tomita_paper.PROTOCOL, **tomita_paper.SMOKE, "seed": 0, **more}


def test_training_ends_when_every_word_is_right_or_time_is_up(tmp_path):
    run = a_run(tmp_path / "whole", "1-GRU", settings={"language": "1", "network": "GRU"}, minutes=None)
    words = short("1")
    protocol = settings(epochs=200, units=12)
    model, curve = tomita_paper._train("GRU", words, protocol, run)
    assert curve[-1]["wrong"] == 0 == tomita_paper._wrong(model, words)
    assert len(curve) < 200
    assert all(point["wrong"] > 0 for point in curve[:-1])
    timed = a_run(tmp_path / "timed", "1-GRU", settings=run.settings, minutes=0)
    assert len(tomita_paper._train("GRU", words, protocol, timed)[1]) == 1


def test_training_goes_on_for_more_epochs_once_every_word_is_right(tmp_path):
    words = short("1")
    run = a_run(tmp_path, "1-GRU", minutes=None)
    _, curve = tomita_paper._train("GRU", words, settings(epochs=200, units=12, more=3), run)
    right = [point["wrong"] for point in curve].index(0)
    assert len(curve) == right + 1 + 3


@pytest.mark.parametrize("network", tomita_paper.NETWORKS)
def test_a_killed_run_goes_on_where_it_was(tmp_path, network):
    words = short("4")
    whole, killed = (a_run(tmp_path / name, f"4-{network}", minutes=None) for name in ("whole", "killed"))
    _, expected = tomita_paper._train(network, words, settings(epochs=4), whole)
    tomita_paper._train(network, words, settings(epochs=2), killed)
    _, found = tomita_paper._train(network, words, settings(epochs=4), killed)
    assert [point["wrong"] for point in found] == [point["wrong"] for point in expected]
    np.testing.assert_allclose([point["loss"] for point in found], [point["loss"] for point in expected], rtol=1e-5)
    assert len(found) == 4
