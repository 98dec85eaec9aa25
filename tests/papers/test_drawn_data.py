"""Data that are drawn: words of two languages, their labels checked by other recognisers, and counts by a loop."""

import functools
import hashlib
import itertools
import re

import numpy as np
import pytest

from examples.papers.data import balanced_parentheses, counting, palindromes
from tests.oracles import counting as oracle


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
def splits(module, config):
    return {split: module.load(split, config=config) for split in module.LANGUAGE.splits}


def labelled(module, word):
    half = len(word) // 2
    return matched(word) if module is balanced_parentheses else word[:half] == word[half:][::-1]


@pytest.mark.parametrize("config", ["small", "small_near"])
@pytest.mark.parametrize("module", [balanced_parentheses, palindromes])
def test_every_label_agrees_with_another_recogniser_and_no_word_comes_twice(module, config):
    for words in splits(module, config).values():
        for word, label in zip(words.words, words.labels, strict=True):
            assert labelled(module, word) == label, word
    every = [word for words in splits(module, config).values() for word in words.words]
    assert len(every) == len(set(every))


@pytest.mark.parametrize(
    ("module", "config", "split", "digest"),
    [
        (palindromes, "small_near", "train", "ebd052ef2ff7b9fe"),
        (balanced_parentheses, "small", "test_d5_l200", "446f3f73a1fa338c"),
    ],
)
def test_a_seed_gives_the_words_that_it_has_always_given(module, config, split, digest):
    words = module.load(split, config=config, seed=0)
    read = repr((words.words, words.labels.tolist(), words.alphabet))
    assert hashlib.sha256(read.encode()).hexdigest()[:16] == digest


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
    loaded = splits(balanced_parentheses, config)
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
    loaded = splits(balanced_parentheses, "small_paper")

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
    words = splits(palindromes, "small_near")["test_l100"]
    for word, label in zip(words.words, words.labels, strict=True):
        half = len(word) // 2
        unequal = sum(a != b for a, b in zip(word[:half], word[half:][::-1], strict=True))
        assert unequal == (0 if label else 1)


def test_near_negatives_are_one_symbol_from_balanced():
    words = splits(balanced_parentheses, "small_near")["train"]
    for word, label in zip(words.words, words.labels, strict=True):
        opens, closes = word.count("("), word.count(")")
        assert label or abs(opens - closes) <= 2
        if not label:
            changed = (word[:i] + s + word[i + 1 :] for i in range(len(word)) for s in "()")
            assert any(map(matched, changed)), word


@pytest.mark.parametrize(("types", "maximum", "delay", "noise"), [(2, 5, 1, 1), (1, 1, 0, 0), (3, 2, 4, 2)])
def test_a_stream_counts_as_the_oracle(types, maximum, delay, noise):
    sizes = {"num_types": types, "max_count": maximum, "delay": delay, "num_noise_symbols": noise}
    for symbols, counts in itertools.islice(counting.stream(0, 4, length=60, **sizes), 2):
        assert symbols.shape == (4, 60)
        assert set(np.unique(symbols)) <= set(range(2 * types + noise))
        for row, found, code in zip(symbols, counts, counting.one_hot(counts, maximum), strict=True):
            expected = oracle.counts(row, types, maximum, delay)
            np.testing.assert_array_equal(found, expected)
            np.testing.assert_array_equal(code, [oracle.target(step, maximum) for step in expected])


def test_the_symbols_have_names():
    assert counting.symbol_names() == ("(", ")", "[", "]", "a")
