"""Tomita's languages by the paper's protocol: the network and its training."""

import keras
import numpy as np
import pytest

from examples.papers import _training, tomita_paper
from examples.papers._layers import hard_sigmoid
from keras_interp_rnn import automata
from tests.papers.common import EXPERIMENTS, a_run

EXPERIMENT = EXPERIMENTS["tomita-paper"]


@pytest.fixture(autouse=True)
def _without_xla(monkeypatch):
    """So small a network trains for a shorter time than XLA compiles."""
    if keras.backend.backend() == "tensorflow":
        monkeypatch.setattr(tomita_paper._languages, "JIT_COMPILE", False)


def a_record(network, seconds=60.0, epochs=7, gate="hard_sigmoid", **result):
    read = {"states": 3, "by_counts": {"exact": True, "centroids": 3}} if network == "SR-GRU" else {}
    return {
        "table": {"row": f"2-{network}"},
        "data": {"name": "Tomita 2"},
        "model": {"layer": network},
        "protocol": {"gate": gate} if gate else {},
        "result": {"converged": True, "epochs": epochs, "seconds": seconds, **read, **result},
    }


def test_networks_that_learned_the_words_with_the_papers_sigmoid_decide_the_claims():
    def verdicts(*records):
        return [claim.verdict for claim in EXPERIMENT.claims(records)]

    plain, wrong = a_record("GRU"), {"by_counts": {"exact": False, "centroids": 3}}
    assert verdicts(a_record("SR-GRU", 110), plain) == ["found in part", "found"]  # one of five languages
    assert verdicts(a_record("SR-GRU", 110, by_counts={"exact": True, "centroids": 4}), plain)[0] == "contradicted"
    assert verdicts(a_record("SR-GRU", converged=False, **wrong), plain) == ["not tried", "not tried"]
    earlier = a_record("SR-GRU", 700, 15, gate=None, **wrong)
    assert verdicts(earlier, plain) == ["contradicted", "contradicted"]
    assert verdicts(earlier, a_record("SR-GRU", 110), plain) == ["found in part", "found"]


def test_the_hard_sigmoid_is_theanos():
    """The symbolic fallback of theano.tensor.nnet.hard_sigmoid: 0.2 x + 0.5, between 0 and 1."""
    at = np.array([-3.0, -2.5, -1.0, 0.0, 2.0, 2.5, 4.0], "float32")
    expected = [0.0, 0.0, 0.3, 0.5, 0.9, 1.0, 1.0]
    np.testing.assert_allclose(keras.ops.convert_to_numpy(hard_sigmoid(at)), expected, atol=1e-6)


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


def test_words_of_one_length_are_shuffled_in_each_epoch(tmp_path, monkeypatch):
    read, fit = [], _training.fit_next_epoch
    monkeypatch.setattr(
        _training, "fit_next_epoch", lambda model, ids, *args: (read.append(ids), fit(model, ids, *args))
    )
    tomita_paper._train("GRU", short("1"), settings(epochs=2, sorted_epochs=2), a_run(tmp_path))
    lengths = [np.count_nonzero(ids, axis=1) for ids in read]
    np.testing.assert_array_equal(lengths[0], np.sort(lengths[0]))
    np.testing.assert_array_equal(*lengths)
    assert not np.array_equal(*read)


@pytest.mark.matrix  # a whole training
def test_training_ends_when_every_word_is_right_or_time_is_up(tmp_path):
    words, protocol = short("1"), settings(epochs=200, units=12, more=3)
    model, curve = tomita_paper._train("GRU", words, protocol, a_run(tmp_path / "whole"))
    learned = [point["wrong"] for point in curve].index(0)
    assert len(curve) == learned + 1 + 3 < 200
    assert curve[-1]["wrong"] == tomita_paper._wrong(model, words)
    timed = a_run(tmp_path / "timed", minutes=0)
    assert len(tomita_paper._train("GRU", words, protocol, timed)[1]) == 1


@pytest.mark.core(1)
@pytest.mark.parametrize("network", tomita_paper.NETWORKS)
def test_a_killed_run_goes_on_where_it_was(tmp_path, network):
    words = short("4")
    whole, killed = (a_run(tmp_path / name) for name in ("whole", "killed"))
    _, expected = tomita_paper._train(network, words, settings(epochs=4), whole)
    tomita_paper._train(network, words, settings(epochs=2), killed)
    _, found = tomita_paper._train(network, words, settings(epochs=4), killed)
    assert [point["wrong"] for point in found] == [point["wrong"] for point in expected]
    np.testing.assert_allclose([point["loss"] for point in found], [point["loss"] for point in expected], rtol=1e-5)
    assert len(found) == 4
