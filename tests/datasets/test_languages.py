"""Words of formal languages, their labels checked by other recognisers."""

import functools
import hashlib
import re

import numpy as np
import pytest

from keras_interp_rnn import automata, datasets
from keras_interp_rnn.datasets import LabelledWords, balanced_parentheses, counting, palindromes, tomita


def matched(word):
    """Strikes out pairs until none is left."""
    word = re.sub("[a-z]", "", word)
    while "()" in word:
        word = word.replace("()", "")
    return not word


def depth(word):
    levels = np.cumsum([{"(": 1, ")": -1}.get(symbol, 0) for symbol in word])
    return int(levels.max(initial=0))


TESTS = {
    "test_d1_10_l100": (1, 10, 100),
    "test_d10_20_l100": (10, 20, 100),
    "test_d10_20_l200": (10, 20, 200),
    "test_d5_l200": (5, 5, 200),
    "test_d10_l200": (10, 10, 200),
    "test_d20_l1000": (20, 20, 1000),
}


@functools.cache
def splits(name, config):
    module = getattr(datasets, name)
    return {split: module.load(split, config=config) for split in module.LANGUAGE.splits}


CONFIGS = [
    *(("tomita", "4"), ("balanced_parentheses", "small"), ("balanced_parentheses", "small_near")),
    *(("palindromes", "small"), ("palindromes", "small_near")),
    *(pytest.param("tomita", number, marks=pytest.mark.matrix) for number in "123567"),
    *(pytest.param("balanced_parentheses", name, marks=pytest.mark.matrix) for name in ("small_paper", "large_near")),
]


def labelled(name, config, word):
    if name == "tomita":
        return automata.tomita(int(config)).accepts(word)
    return matched(word) if name == "balanced_parentheses" else word[: len(word) // 2] == word[len(word) // 2 :][::-1]


@pytest.mark.parametrize(("name", "config"), CONFIGS)
def test_every_label_agrees_with_another_recogniser(name, config):
    for words in splits(name, config).values():
        for word, label in zip(words.words, words.labels, strict=True):
            assert labelled(name, config, word) == label, word


@pytest.mark.parametrize(("name", "config"), CONFIGS)
def test_no_two_splits_share_a_word_and_none_has_one_twice(name, config):
    every = [word for words in splits(name, config).values() for word in words.words]
    assert len(every) == len(set(every))


DIGESTS = {
    ("tomita", "4", 3, "train"): "c631493b098186e7",
    ("palindromes", "small_near", 0, "train"): "ebd052ef2ff7b9fe",
    ("balanced_parentheses", "small", 0, "test_d5_l200"): "446f3f73a1fa338c",
}
"""Hashes of words and labels: a seed draws the same data in every version."""


@pytest.mark.parametrize(("name", "config", "seed", "split"), DIGESTS)
def test_a_seed_gives_the_words_that_it_has_always_given(name, config, seed, split):
    words = getattr(datasets, name).load(split, config=config, seed=seed)
    read = repr((words.words, words.labels.tolist(), words.alphabet))
    assert hashlib.sha256(read.encode()).hexdigest()[:16] == DIGESTS[name, config, seed, split]


@pytest.mark.matrix
def test_tomitas_splits_are_apart_by_length():
    for number in range(1, 8):
        loaded = splits("tomita", str(number))
        lengths = {split: {len(word) for word in words.words} for split, words in loaded.items()}
        assert lengths["train"] == {*range(13), 16, 19, 22}
        assert max(lengths["test"]) == 1000
        assert not lengths["train"] & (lengths["validation"] | lengths["test"])
        assert all(0 < words.positives < len(words) for words in loaded.values())


@pytest.mark.parametrize(
    ("config", "train", "validation"),
    [
        ("small", (601, 407), (142, 126)),
        ("small_near", (601, 407), (142, 126)),
        pytest.param("small_paper", (601, 407), (142, 126), marks=pytest.mark.matrix),
        pytest.param("large_near", (13_025, 9_261), (3_582, 3_122), marks=pytest.mark.matrix),
    ],
)
def test_parentheses_have_the_papers_numbers_depths_and_lengths(config, train, validation):
    loaded = splits("balanced_parentheses", config)
    limits = {"train": (1, 5, 100), "validation": (6, 10, 100), **TESTS}
    assert set(loaded) == set(limits)
    for split, (shallowest, deepest, longest) in limits.items():
        words = loaded[split]
        sizes = {"train": train, "validation": validation}.get(split, (500, 500))
        assert (words.positives, len(words) - words.positives) == sizes
        positives = [word for word, label in zip(words.words, words.labels, strict=True) if label]
        depths = {depth(word) for word in positives}
        assert min(depths) >= shallowest
        assert max(depths) == deepest
        assert max(map(len, words.words)) <= longest
        assert max(map(len, positives)) > (0.5 if config == "small_paper" else 0.9) * longest


@pytest.mark.matrix
def test_the_papers_grammar_gives_short_strings_and_unequal_numbers():
    loaded = splits("balanced_parentheses", "small_paper")

    def median(split):
        words = loaded[split]
        return np.median([len(word) for word, label in zip(words.words, words.labels, strict=True) if label])

    # The published data: 9 to 10 in training, about 67 at depths 10 to 20.
    assert 7 <= median("train") <= 12
    assert 50 <= median("test_d10_20_l100") <= 80
    # The depths of critical branching: the probability of at least d falls as 1/d.
    words = loaded["train"]
    depths = [depth(word) for word, label in zip(words.words, words.labels, strict=True) if label]
    counts = np.bincount(depths, minlength=6)[1:]
    assert (np.diff(counts[1:]) < 0).all(), counts
    for words in loaded.values():
        for word, label in zip(words.words, words.labels, strict=True):
            assert label or word.count("(") != word.count(")")


def test_near_palindromes_are_one_letter_from_one():
    words = splits("palindromes", "small_near")["test_l100"]
    for word, label in zip(words.words, words.labels, strict=True):
        half = len(word) // 2
        unequal = sum(a != b for a, b in zip(word[:half], word[half:][::-1], strict=True))
        assert unequal == (0 if label else 1)


def test_near_negatives_are_one_symbol_from_balanced():
    words = splits("balanced_parentheses", "small_near")["train"]
    for word, label in zip(words.words, words.labels, strict=True):
        opens, closes = word.count("("), word.count(")")
        assert label or abs(opens - closes) <= 2
        if not label:
            changed = (word[:i] + s + word[i + 1 :] for i in range(len(word)) for s in "()")
            assert any(map(matched, changed)), word


def test_palindromes_reach_their_lengths():
    for split, longest in {"train": 100, "test_l100": 100, "test_l200": 200, "test_l500": 500}.items():
        words = splits("palindromes", "small")[split]
        assert 0.9 * longest < max(map(len, words.words)) <= longest


def test_another_seed_draws_other_data():
    first = splits("palindromes", "small")["train"]
    other = palindromes.load("train", seed=3)
    assert not {word for word in other.words if len(word) > 8} & set(first.words)


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
    assert (words.start_id, words.end_id, words.positives, len(words)) == (1, 5, 2, 3)
    with pytest.raises(ValueError, match="length=4, and a word that needs 5"):
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
        (lambda: balanced_parentheses.load("train", config="huge"), "Received: config='huge'"),
        (lambda: palindromes.load("train", seed=-1), "Received: seed=-1"),
        (lambda: palindromes.load("train", seed=0.5), "Received: seed=0.5"),
        (lambda: counting.load("training"), "`split` must be one of .* Received: split='training'"),
    ],
)
def test_an_unknown_split_config_or_seed_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_ids_of_a_symbol_outside_the_alphabet_are_refused():
    words = LabelledWords(("a", "ab"), np.array([True, False]), "a")
    with pytest.raises(ValueError, match=r"over the alphabet \('a',\)\. Received: the symbol 'b' in 'ab'\."):
        words.ids()
