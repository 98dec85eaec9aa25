"""Words of Tomita's languages, and labelled words with their ids."""

import hashlib

import numpy as np
import pytest

from keras_interp_rnn import automata
from keras_interp_rnn.datasets import LabelledWords, tomita

SPLITS = ("train", "validation", "test")
NUMBERS = ["4", *(pytest.param(number, marks=pytest.mark.matrix) for number in "123567")]


@pytest.mark.parametrize("number", NUMBERS)
def test_every_label_is_the_languages_and_no_word_comes_twice(number):
    loaded = [tomita.load(split, config=number) for split in SPLITS]
    for words in loaded:
        for word, label in zip(words.words, words.labels, strict=True):
            assert automata.tomita(int(number)).accepts(word) == label, word
    every = [word for words in loaded for word in words.words]
    assert len(every) == len(set(every))


def test_a_seed_gives_the_words_that_it_has_always_given():
    words = tomita.load("train", config="4", seed=3)
    read = repr((words.words, words.labels.tolist(), words.alphabet))
    assert hashlib.sha256(read.encode()).hexdigest()[:16] == "c631493b098186e7"


@pytest.mark.matrix
def test_tomitas_splits_are_apart_by_length():
    for number in range(1, 8):
        loaded = {split: tomita.load(split, config=str(number)) for split in SPLITS}
        lengths = {split: {len(word) for word in words.words} for split, words in loaded.items()}
        assert lengths["train"] == {*range(13), 16, 19, 22}
        assert max(lengths["test"]) == 1000
        assert not lengths["train"] & (lengths["validation"] | lengths["test"])
        assert all(0 < words.positives < len(words) for words in loaded.values())


def test_a_change_of_loaded_labels_does_not_change_the_next_load():
    first = tomita.load("train", config="4")
    first.labels[:] = ~first.labels
    np.testing.assert_array_equal(tomita.load("train", config="4").labels, ~first.labels)


def test_ids_have_padding_start_symbols_and_end():
    words = LabelledWords(("ab", "", "bbca"), np.array([True, False, True]), "abc")
    assert words.ids().tolist() == [[2, 3, 0, 0], [0, 0, 0, 0], [3, 3, 4, 2]]
    assert words.ids(start=True, end=True, length=7).tolist() == [
        [1, 2, 3, 5, 0, 0, 0],
        [1, 5, 0, 0, 0, 0, 0],
        [1, 3, 3, 4, 2, 5, 0],
    ]
    assert (words.positives, len(words)) == (2, 3)
    with pytest.raises(ValueError, match="length=4, and a text that needs 5"):
        words.ids(end=True, length=4)


def test_up_to_selects_words_by_length():
    words = LabelledWords(("ab", "", "bbca"), np.array([True, False, True]), "abc")
    short = words.up_to(2)
    assert (short.words, short.labels.tolist(), short.alphabet) == (("ab", ""), [True, False], "abc")
    assert words.up_to(4).words == words.words


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: tomita.load("train", config="8"), r"`config` must be one of '1', .*\. Received: config='8'"),
        (
            lambda: tomita.load("test_l100", config="1"),
            "`split` must be one of .* Received: split='test_l100'",
        ),
        (lambda: tomita.load("train", config="1", seed=-1), "Received: seed=-1"),
        (lambda: tomita.load("train", config="1", seed=0.5), "Received: seed=0.5"),
    ],
)
def test_an_unknown_split_config_or_seed_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_ids_of_a_symbol_outside_the_alphabet_are_refused():
    words = LabelledWords(("a", "ab"), np.array([True, False]), "a")
    with pytest.raises(ValueError, match=r"its alphabet, \('a',\)\. Received: 'b' at position 2\."):
        words.ids()
