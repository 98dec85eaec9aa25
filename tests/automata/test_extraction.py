"""Extraction from networks that are known automata, and the fidelity of automata that are not the network's."""

import dataclasses
import sys

import keras
import numpy as np
import pytest

from keras_interp_rnn import automata, layers
from keras_interp_rnn._alphabet import with_token_ids
from keras_interp_rnn.automata import DFA, MooreMachine, tomita
from keras_interp_rnn.automata.machines import accepted_words, short_words
from keras_interp_rnn.automata.networks import fidelity
from keras_interp_rnn.automata.networks._acceptor import open_acceptor
from tests.automata.machines import words
from tests.automata.networks import LABELS, MODULO_3, drawn, network_of, turned

METHODS = ("exact", "counts", "mean_probability")
IDS = {"a": 2, "b": 3}
SYMBOLS = with_token_ids(IDS, 1, None)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("number", [1, 3, 5, 7])
def test_every_method_finds_tomitas_automata(number, method):
    truth = tomita(number)
    found = automata.extract(network_of(truth), words("01", 8), method=method)
    assert found.dfa.minimize() == truth
    assert found.confidence.min() > 0.99
    assert found.unsupported == ()
    assert found.method == method


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("alphabet", [("a", "b"), (0, 1, 2)], ids=str)
def test_random_automata_are_extracted(alphabet, seed):
    truth = drawn(np.random.default_rng(seed), 6, alphabet)
    model = network_of(truth)
    found = automata.extract(model)
    assert found.dfa.minimize() == truth
    assert sorted(found.centroids) == list(range(len(truth)))
    assert found.support.tolist() == np.zeros_like(found.dfa.transitions).tolist()
    some = words(alphabet, 5)
    np.testing.assert_array_equal(model.classify(some), [truth.accepts(word) for word in some])


def test_support_and_confidence_are_counted():
    model = network_of(tomita(1))
    found = automata.extract(model, ["1", "11", "0", "01"], method="counts")
    # In state 0: 1 is read in "1" and twice in "11", 0 in "0" and "01"; in state 1: 1 in "01".
    assert found.support.tolist() == [[2, 3], [0, 1]]
    assert found.unsupported == ((1, "0"),)
    assert np.isnan(found.confidence[1, 0])
    assert found.confidence[0].tolist() == [1, 1]
    assert found.dfa.transitions[1][0] == -1
    assert str(found).startswith("2 states by counts, 2 after minimization with a rejecting sink for the missing")
    assert str(found).endswith("; 1 of 4 transitions are taken by no word")
    assert found.margins.tolist() == [0.5, -0.5]


def test_mean_probabilities_are_means():
    model = network_of(tomita(1), scale=0.5)
    exact = automata.extract(model)
    mean = automata.extract(model, words("01", 6), method="mean_probability")
    assert mean.dfa.minimize() == exact.dfa.minimize()
    assert 0.5 < mean.confidence.min() < 0.99
    np.testing.assert_allclose(mean.start_confidence, exact.start_confidence, rtol=1e-5)


@pytest.fixture(scope="module")
def of_tomita_4():
    return automata.extract(network_of(tomita(4)))


def with_automaton(found, machine):
    """An extraction with another automaton."""
    return dataclasses.replace(found, dfa=machine)


def test_agreement_with_a_faithful_network_is_perfect():
    found = automata.extract(network_of(tomita(5)))
    fidelity = found.fidelity(num_short=300, num_random=20, max_length=300, num_searched=300)
    assert fidelity.perfect
    assert fidelity.short.words == 255
    assert (fidelity.short.low, fidelity.short.high, fidelity.short.up_to) == (1, 1, 7)
    assert 0.8 < fidelity.long.low < 0.9
    short, long, searched = str(fidelity).splitlines()
    assert short == "short words: 255 of all 255 words up to length 7"
    assert long.startswith("random long words: 20 of 20 words (83.1")
    assert searched.startswith("searched words: 300 of 300 words (98.7")
    everything = DFA(found.dfa.transitions, range(len(found.dfa)), start=found.dfa.start)
    wrong = with_automaton(found, everything).fidelity(num_short=300, num_random=0, num_searched=0).short
    assert wrong.low == wrong.high == wrong.share < 1


def test_agreement_of_a_network_with_labels():
    found = automata.extract(automata.compile(drawn(np.random.default_rng(0), 6, "ab", LABELS)))
    fidelity = found.fidelity(num_short=200, num_random=12, max_length=20, num_searched=40)
    assert fidelity.perfect
    assert fidelity.short.words == 127
    wrong = with_automaton(found, turned(found.dfa)).fidelity(num_short=200, num_random=0, num_searched=0)
    assert wrong.short.agreeing == 0
    assert wrong.short.disagreement == ()


@pytest.mark.matrix
def test_a_model_of_a_fixed_length_is_checked_on_words_that_it_reads():
    free = network_of(tomita(4))
    copies = [type(layer).from_config(layer.get_config()) for layer in free.layers]
    model = keras.Sequential([keras.Input((12,), dtype="int32"), *copies])
    model.set_weights(free.get_weights())
    found, expected = automata.extract(model), automata.extract(free)
    assert found.dfa == expected.dfa
    sentence = r"must be at most 11, the longest that the model reads\. Received: max_length=1000\. Pass max_length=11"
    with pytest.raises(ValueError, match=sentence):
        found.fidelity()
    fidelity = found.fidelity(num_short=10**4, num_random=50, max_length=11, num_searched=300)
    assert fidelity.perfect
    assert (fidelity.short.words, fidelity.short.up_to) == (2**12 - 1, 11)
    assert (fidelity.long.words, fidelity.searched.words) == (50, 300)
    assert expected.fidelity(num_random=50).perfect


def words_of_fidelity(found, monkeypatch, **numbers):
    """The short words, the random long ones and the searched ones that `fidelity` reads."""
    read, original = [], type(found)._agreement
    monkeypatch.setattr(type(found), "_agreement", lambda self, w, what: read.append(w) or original(self, w, what))
    found.fidelity(**numbers)
    return read


def test_random_long_words_have_the_maximum_length(of_tomita_4, monkeypatch):
    read = words_of_fidelity(of_tomita_4, monkeypatch, num_short=10, num_random=400, max_length=3, num_searched=10)
    assert max(map(len, read[1])) == 3


def test_half_of_the_random_words_have_each_label_in_turn(monkeypatch):
    """A label of one word in a million is drawn too."""
    truth = MooreMachine([[i + 1, 9] for i in range(8)] + [[8, 9], [9, 9]], ["no"] * 8 + ["yes", "perhaps"])
    found = automata.extract(automata.compile(truth))
    read = words_of_fidelity(found, monkeypatch, num_short=1, num_random=60, max_length=40, num_searched=0)
    labels = [truth.output(word) for word in read[1][:30]]
    assert min(labels.count("yes"), labels.count("no")) >= 8


def test_a_long_check_shows_its_progress_in_a_terminal_and_leaves_nothing(of_tomita_4, monkeypatch, capsys):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setattr("keras_interp_rnn._io.monotonic", lambda: 0.0)  # too early for the time left
    monkeypatch.setattr(fidelity, "CHUNK", 1000)
    found = of_tomita_4
    assert found.fidelity(num_short=300, num_random=4, max_length=300, num_searched=300).short.words == 255
    printed = capsys.readouterr().out
    shown = [line.removeprefix("fidelity: ") for line in printed.split("\r\x1b[K") if line]
    assert shown[:2] == ["short words, 0 of 255", "short words, 178 of 255"]
    assert shown[2] == "random long words, 0 of 4"
    assert [line for line in shown if line.startswith("searching")] == [
        "searching words, 0 of 300",
        "searching words, 256 of 300",
    ]
    assert "searched words, 0 of 300" in shown
    assert printed.endswith("\r\x1b[K")
    found.agreement(words("01", 9))  # as a callback calls it, while another progress is shown
    assert capsys.readouterr().out == ""


def test_the_shortest_disagreement_is_shown(of_tomita_4):
    wrong = DFA(tomita(4).transitions, {0, 1, 2, 3}, start=0)  # 000 accepted too
    numbers = {"num_short": 300, "num_random": 20, "max_length": 300, "num_searched": 300}
    fidelity = with_automaton(of_tomita_4, wrong).fidelity(**numbers)
    assert not fidelity.perfect
    assert fidelity.short.disagreement == ("0", "0", "0")
    assert fidelity.searched.disagreement is not None
    assert "not on '000'" in str(fidelity)


def other_model(
    recurrent: keras.layers.Layer, mask: bool = True, outputs: int = 1, dtype: str = "float32"
) -> keras.Model:
    return keras.Sequential(
        [
            keras.Input((None,), dtype="int32"),
            keras.layers.Embedding(5, 3, mask_zero=mask, dtype=dtype),
            recurrent,
            keras.layers.Dense(outputs),
        ]
    )


def test_a_network_with_a_further_memory_is_read_by_counting():
    model = other_model(layers.SRLSTM(4, 3, regularize_last_step=False))
    found = automata.extract(model, words("ab", 5), method="counts", alphabet=with_token_ids(IDS, 1, 4))
    assert len(found.dfa) <= 3
    assert found.dfa.alphabet == ("a", "b")
    assert found.support.sum() == sum(map(len, words("ab", 5)))
    with pytest.raises(ValueError, match="whose cell has a further state. Use method='counts' or 'mean_probability'"):
        automata.extract(model, alphabet=with_token_ids({"a": 2}, 1, 4))


def test_a_model_without_labels_has_the_indices_of_its_outputs():
    model = other_model(layers.SRGRU(5, 4), outputs=4)
    found = automata.extract(model, alphabet=SYMBOLS)
    assert isinstance(found.machine, MooreMachine)
    assert set(found.machine.outputs) <= {0, 1, 2, 3}
    assert found.machine is found.dfa
    assert open_acceptor(model, SYMBOLS).classify(words("ab", 4)).dtype.kind == "i"


def gru(model=None, **options):
    return other_model(layers.SRGRU(4, 3, **options), **(model or {}))


def labelled(labels):
    model = automata.compile(MODULO_3)
    model.labels = labels
    return model


ITS = {"alphabet": SYMBOLS}
FITS = "a label of its own for each output. Received: 3 outputs, labels"
LAST_ID = r"as 0 is padding, to the last one of the Embedding. Received: \[.*(5|99)\], and an Embedding of 5 ids"


@pytest.mark.parametrize(
    ("build", "arguments", "sentence"),
    [
        (gru, {**ITS, "method": "excat"}, "'counts', 'mean_probability'. Received: method='excat'"),
        *(
            (gru, {**ITS, "data": data, "method": "counts"}, sentence)
            for data, sentence in (
                ([], "must have words. Received: no data"),
                (["ac"], "over the alphabet .* Received: the symbol 'c'"),
                ("abab", "Words must be a list of sequences of symbols. Received: 'abab'"),
            )
        ),
        (gru, {}, "must carry its alphabet, or one must be passed. Received: .*, which carries none. Pass alphabet="),
        (gru, {"alphabet": IDS}, "Received: a model without one. Train with a token before every word"),
        (gru, {"alphabet": IDS, "data": ["ab"], "method": "counts"}, "An automaton must have a first state, which"),
        (lambda: other_model(keras.layers.GRU(4, name="gru")), ITS, "a state-regularized layer. Received: gru"),
        (lambda: gru({"mask": False}), ITS, "would read the padding"),
        (lambda: gru({"outputs": 2}), ITS, "one output, whether it accepts. Received: a model with 2"),
        (lambda: gru(strength=0.5), ITS, "with a strength of 0.5. Continue training"),
        (lambda: gru(transition="sample"), ITS, "must be deterministic. Received"),
        (
            gru,
            {"alphabet": "ab"},
            "The id 0 must be padding.* an alphabet with the symbol 'a' there. Pass .* {symbol: id",
        ),
        (gru, {"alphabet": {}}, "a list of names, or a mapping. Received: {}. Pass one of these"),
        (gru, {"alphabet": with_token_ids({"a": 2, "b": 5}, 1, None)}, LAST_ID),
        (gru, {"alphabet": with_token_ids(IDS, 99, None)}, LAST_ID),
        *((lambda labels=labels: labelled(labels), {}, FITS) for labels in (LABELS[:2], ("a", "a", "b"), 3)),
        (
            lambda: labelled(LABELS),
            {"data": ["01"], "method": "counts"},
            "method='counts' must read a network that accepts or rejects.* with 3 labels. Use",
        ),
    ],
)
def test_rejects_networks_and_arguments_that_give_no_automaton(build, arguments, sentence):
    with pytest.raises(ValueError, match=sentence):
        automata.extract(build(), **arguments)


@pytest.mark.core
@pytest.mark.parametrize(
    ("alphabet", "max_words", "max_length"),
    [("", 500, 0), ("0", 1, 0), ("0", 4, 3), ("01", 0, 0), ("01", 6, 1), ("01", 7, 2), ("abc", 13, 2)],
)
def test_short_words_are_all_words_up_to_a_length(alphabet, max_words, max_length):
    assert short_words(alphabet, max_words) == words(alphabet, max_length)
    assert short_words(alphabet or "ab", 500, max_length=max_length) == words(alphabet or "ab", max_length)


@pytest.mark.parametrize(
    ("name", "value"), [("num_random", -1), ("max_length", 0), ("num_searched", -2), ("num_short", None)]
)
def test_rejects_invalid_numbers_of_words(name, value, of_tomita_4):
    sentence = rf"`{name}` must be a (positive|non-negative) integer. Received: {name}={value}\."
    with pytest.raises(ValueError, match=sentence):
        of_tomita_4.fidelity(**{name: value})
    assert np.isnan(of_tomita_4.agreement([]).share)


@pytest.mark.parametrize("number", range(1, 8))
def test_accepted_words_are_the_shortest_of_a_language(number):
    for dfa in (tomita(number), tomita(number).complement()):
        every = [word for word in short_words("01", 2**12) if dfa.accepts(word)]
        for max_words in (1, 6, min(27, len(every))):
            found = accepted_words(dfa, max_words)
            assert len(set(found)) == len(found) == max_words
            assert [len(word) for word in found] == [len(word) for word in every[:max_words]]
            assert set(found) <= set(every)
            assert found == accepted_words(dfa, max_words)


def test_accepted_words_of_a_language_with_few_words_or_none():
    assert accepted_words(DFA.from_regex("(000000|11)?"), 9) == [(), ("1", "1"), ("0",) * 6]
    assert accepted_words(DFA.from_regex("(0000000)*"), 3) == [(), ("0",) * 7, ("0",) * 14]
    assert accepted_words(DFA([[0, 0]], []), 5) == []
