"""What AALpy's learners are given and what comes back."""

import itertools

import keras
import numpy as np
import pytest

from examples.papers import _aalpy
from keras_interp_rnn import automata, layers


@pytest.mark.parametrize("network", [keras.layers.GRU, keras.layers.LSTM, layers.SRGRU])
def test_a_queried_network_says_of_every_prefix_what_it_judges_and_reads_none_twice(network):
    keras.utils.set_random_seed(1)
    sizes = (5, 4) if network is layers.SRGRU else (5,)
    embedding = automata.SymbolEmbedding(("0", "1"), 4)
    parts = [keras.Input((None,), dtype="int32"), embedding, network(*sizes), keras.layers.Dense(1)]
    model = automata.Recognizer(parts)
    for variable in model.trainable_variables:
        variable.assign(np.random.default_rng(0).normal(size=variable.shape))
    system = _aalpy.queried(model, 50)
    for word in ("0110", "0101110", "011"):
        prefixes = [word[: i + 1] for i in range(len(word))]
        assert system.query(tuple(word)) == model.classify(prefixes).tolist()
    assert system.query(()) == model.classify([""]).tolist()
    read = {word[:i] for word in ("0110", "0101110") for i in range(8)}
    assert {"".join(prefix) for prefix in system.known} == read
    with pytest.raises(TimeoutError):
        system.query(tuple("1" * 60))
    assert len(system.known) == 51


def test_queries_find_the_automaton_that_a_network_is_or_give_up():
    truth = automata.tomita(5)
    words = ["".join(word) for n in range(9) for word in itertools.product("01", repeat=n)]
    model = automata.compile(truth)
    assert _aalpy.asked(model, words, "01", 2000).equivalent(truth)
    with pytest.raises(TimeoutError):
        _aalpy.asked(model, words, "01", 5)
