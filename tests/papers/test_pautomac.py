"""Words of probabilistic automata: the probabilities that each model gives, what it starts from, and the table."""

import itertools

import keras
import numpy as np
import pytest

from examples.papers import pautomac
from examples.papers._layers import ResetAt
from examples.papers.data import pautomac as data
from keras_interp_rnn.automata import WeightedAutomaton
from tests.papers.common import a_run

WORDS = [np.array(word, np.int32) for length in range(4) for word in itertools.product(range(3), repeat=length)]


def machine(seed=0, states=3, symbols=3):
    rng = np.random.default_rng(seed)
    stop = rng.uniform(0.2, 0.5, states)
    initial, moves, emissions = (
        rng.dirichlet(np.ones(size), size=count) for size, count in ((states, 1), (states, states), (symbols, states))
    )
    return WeightedAutomaton.from_hmm(initial[0], moves, emissions, stop=stop)


@pytest.mark.parametrize("seed", range(3))
def test_an_automaton_that_is_exact_gives_the_probabilities_of_the_machine(seed):
    automaton = machine(seed)
    found = pautomac.of_automaton(automaton, WORDS)
    np.testing.assert_allclose(np.exp(found), automaton.values(WORDS), rtol=1e-9)


def test_estimates_below_zero_are_smoothed():
    initial, transitions, final = (np.array(a, float) for a in ([1], [[[0.5]], [[-0.2]]], [0.6]))
    automaton = WeightedAutomaton(initial, transitions, final)
    words = [np.array(word, int) for word in ([], [0], [1], [1, 1], [0, 1, 0])]
    found = np.exp(pautomac.of_automaton(automaton, words, np.full(3, 1 / 3)))
    assert (found > 0).all()


def test_ngrams_give_the_product_of_their_conditional_probabilities():
    problem = pautomac._drawn()
    model = pautomac._ngrams(problem)
    word, total = [1, 0, 2], 0.0
    padded = [problem.end, *word, problem.end]
    for i in range(1, len(padded)):
        history = padded[max(0, i + 1 - model.order) : i]
        total += np.log(model.probabilities[len(history)][(*history, padded[i])])
    np.testing.assert_allclose(pautomac._of_ngrams(model, [np.array(word)], problem.end), total, rtol=1e-12)


@pytest.mark.parametrize("network", ["ISAN", "LSTM"])
def test_probabilities_of_words_do_not_depend_on_the_words_beside_them(network):
    keras.utils.set_random_seed(0)
    model = pautomac.build(network, 3, 1)
    together = pautomac.of_network(model, WORDS, 3)
    for i in (0, 2, 9, 30):
        text = np.array([[3, *WORDS[i], 3]])
        log_p = keras.ops.convert_to_numpy(keras.ops.log_softmax(model(text[:, :-1])))
        expected = log_p[0, np.arange(text.shape[1] - 1), text[0, 1:]].sum()
        np.testing.assert_allclose(together[i], expected, atol=1e-5)


def test_the_end_of_a_word_leaves_nothing_of_it():
    constraint = ResetAt(2)
    kernel = np.random.default_rng(0).normal(size=(3, 4, 4)).astype("float32")
    kept = keras.ops.convert_to_numpy(constraint(kernel))
    np.testing.assert_array_equal(kept[:2], kernel[:2])
    np.testing.assert_array_equal(kept[2], 0)
    assert keras.constraints.deserialize(keras.constraints.serialize(constraint)).symbol == 2


def test_a_spectral_start_has_its_states_and_no_memory_across_words(tmp_path):
    problem = pautomac._drawn()
    run = a_run(tmp_path, settings={"model": "ISAN", "start": "spectral", "steps": 20})
    kernel, bias, _, matrix, offset = pautomac._spectral_start(problem, run)
    automaton = pautomac._spectral(problem, (2, 3))
    rank = len(automaton)
    np.testing.assert_array_equal(kernel[problem.end], 0)
    ratios = [kernel[x, :rank, :rank] / automaton.transitions[x] for x in range(problem.end)]
    for ratio in ratios:
        np.testing.assert_allclose(ratio, ratio[0, 0], rtol=1e-4)
    np.testing.assert_array_equal(matrix[rank:], 0)
    # Before any training it is about as good as n-grams.
    model = pautomac.build("ISAN", problem.end, 1)
    model.set_weights([kernel, bias, np.zeros_like(bias[0]), matrix, offset])
    nats = -pautomac.of_network(model, problem.validation, problem.end).sum()
    ngrams = -pautomac._of_ngrams(pautomac._ngrams(problem), problem.validation, problem.end).sum()
    assert nats < 1.05 * ngrams


def test_words_are_shuffled_whole():
    words = [np.array([0, 1]), np.array([2]), np.array([], int)]
    text = pautomac._shuffled(words, 3, 13, 0)
    assert len(text) == 13
    assert text[0] == 3
    passes = "".join(map(str, text[1:13])).split("3")
    assert sorted(passes[:3]) == ["", "01", "2"] == sorted(passes[3:6])


@pytest.mark.matrix
@pytest.mark.parametrize("row", pautomac.ProbabilisticAutomata.rows)
def test_every_row_runs_and_comes_close_to_the_machine(row, tmp_path):
    experiment = pautomac.ProbabilisticAutomata()
    run = a_run(tmp_path / "one", row=row, settings=experiment.rows[row])
    record = experiment.run(run)
    [result] = record["result"].values()
    problem = pautomac._drawn()
    assert result["machine"] == data.perplexity(problem.targets, problem.targets)
    assert 0 < result["above"] < 0.15
    again = experiment.run(run)
    assert again["result"]["0"]["perplexity"] == result["perplexity"]
