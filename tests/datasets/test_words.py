"""Texts as words, and word vectors."""

import unicodedata

import numpy as np
import pytest

from keras_interp_rnn.datasets import words


@pytest.mark.parametrize(
    ("sentence", "tokens"),
    [
        ("Skip it!<br /><br/>It isn't good... 3/10", ["skip", "it", "!", "it", "isn't", "good", "...", "3", "/", "10"]),
        ("rock'n'roll -- \"quoted\"", ["rock'n", "'", "roll", "-", "-", '"', "quoted", '"']),
        ("caf\u00e9 \u2013 na\u00efve", ["caf\u00e9", "\u2013", "na\u00efve"]),
        ("", []),
    ],
)
def test_tokens(sentence, tokens):
    assert words.tokenize(sentence) == tokens


APOSTROPHES = "\u2019\u2018\u201b\u02bc\u02bb\uff07`\u00b4\u2032\u02b9\u1fbd\u055a\ua78c\x92"
NOT_SHOWN = "\U000e0001\U000e0020\U000e0041\U000e007f\u00ad\u200b\u200c\u200d\u2060\ufeff\u200e\u034f\ufe0e\x00\x7f"


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        *((f"I DON{sign}T", "I don't") for sign in APOSTROPHES),
        *((f"it{sign} is", "it is") for sign in NOT_SHOWN),
        *((f"a{blank}b", "a b") for blank in "\u00a0\u2003\u2009\u202f\u3000\u2028\u2800\u3164"),
        *((f"well{hyphen}known", "well-known") for hyphen in "\u2010\u2011\u2212\uff0d\ufe63"),
        ("cafe\u0301", "caf\u00e9"),
        ("e\u0323\u0302", "\u1ec7"),
        ("o\ufb03ce \ufb02ow", "office flow"),
        ("\uff21\uff22\uff23\uff11\uff01", "abc1!"),
        ("\uff76\uff9e", "\u30ac"),
        ("wait\u2026 what\u203d", "wait... what\u203d"),
        ("wait\u2024\u2024\u2024 so\u2025.", "wait... so..."),
        ("\u201cso\u201d", '"so"'),
        ("\U0001f3f4\U000e0067x", "\U0001f3f4x"),
        ("\u212b \u00b5 \u2163", "\u00e5 \u03bc iv"),
        ("\u0130stanbul", "istanbul"),
        ("\u0149", "'n"),
        ("\u2764\ufe0f", "\u2764"),
        ("\ufee3\ufeae\ufea3\ufe92\ufe8e", "\u0645\u0631\u062d\u0628\u0627"),
        ("\u03d3", "\u03d2\u0301"),
        ("\u1e9b", "\u017f\u0307"),
        ("<br\u00a0/>x", "x"),
        ("3\u20444 5\u22362", "3/4 5:2"),
    ],
)
def test_texts_that_look_the_same_have_the_same_tokens(text, plain):
    assert words.tokenize(text) == words.tokenize(plain)


@pytest.mark.parametrize(
    "texts",
    [
        ("x\u00b2", "x2"),  # a superscript
        ("\u00bd", "1/2"),
        ("\u2460", "1"),
        ("\u0430", "a"),  # the letter of the Cyrillic alphabet
        ("re\u2013do", "re-do"),
        ("\u00fc", "u"),
        ("`a`", "'a'"),
        ("\u201ea\u201c", '"a"'),
        ("\u00aba\u00bb", '"a"'),
        ("f\u2032", "f'"),
    ],
)
def test_texts_that_look_different_or_are_of_another_alphabet_keep_their_tokens(texts):
    assert words.tokenize(texts[0]) != words.tokenize(texts[1])


@pytest.mark.parametrize(
    "grapheme",
    [
        "\u0928\u092e\u0938\u094d\u0924\u0947",
        "z\u0306\u0323",
        "\U0001f468\u200d\U0001f469\u200d\U0001f467",
        "\U0001f1e9\U0001f1ea",
        "1\u20e3",
        "\U0001f44d\U0001f3fd",
        "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
        "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
        "\u0915\u094d\u200d\u0937",
        "\u0e01\u0e4d\u0e32",
        "!\u0301",
    ],
)
def test_no_character_is_cut_from_its_marks(grapheme):
    assert words.tokenize(f"{grapheme} {grapheme}, !") == [*unicode_nfc(grapheme, grapheme), ",", "!"]


def unicode_nfc(*texts):
    return [unicodedata.normalize("NFC", text) for text in texts]


class TestVectors:
    @staticmethod
    def information(rows, size, window):
        """The matrix of the docstring, pair by pair."""
        counts = np.zeros((size, size))
        for row in rows:
            for i, word in enumerate(row):
                for j, other in enumerate(row):
                    if word > 3 and other > 3 and 0 < abs(i - j) <= window:
                        counts[word, other] += 1 - (abs(i - j) - 1) / window
        smoothed = counts.sum(axis=0) ** 0.75
        found = np.zeros_like(counts)
        for word, other in zip(*np.nonzero(counts), strict=True):
            share = counts[word, other] / counts[word].sum() / (smoothed[other] / smoothed.sum())
            found[word, other] = max(0, np.log(share))
        return found

    @pytest.mark.parametrize("seed", range(3))
    def test_vectors_are_singular_vectors_of_the_mutual_information(self, seed):
        ids = np.random.default_rng(seed).integers(0, 24, (30, 12)) ** 2 // 24  # the first ids are the most frequent
        found = words.vectors(ids, 24, num_features=20, window=3, num_contexts=24).astype(float)
        left, values, _ = np.linalg.svd(self.information(ids.tolist(), 24, 3))
        expected = (left * np.sqrt(values))[:, :20]
        expected *= 1 / np.sqrt(np.mean(expected[np.unique(ids[ids > 3])] ** 2))
        np.testing.assert_allclose(found @ found.T, expected @ expected.T, atol=1e-4)
        assert not found[:4].any()

    def test_texts_without_words_have_zero_vectors(self):
        assert not words.vectors(np.zeros((2, 5), np.int32), 12, num_features=3).any()
        assert words.vectors(np.full((2, 1), 5), 12, num_features=3).shape == (12, 3)

    def test_more_features_than_neighbours_are_refused(self):
        with pytest.raises(
            ValueError, match=r"`num_features` must lie in \[1, 8\], the number of words.* Received: num_features=9"
        ):
            words.vectors(np.zeros((2, 5), np.int32), 12, num_features=9)


@pytest.mark.parametrize("window", [0, -1, 1.5])
def test_a_window_below_one_is_refused(window):
    with pytest.raises(ValueError, match="`window` must be a positive integer. Received: window="):
        words.vectors(np.array([[2, 4, 5, 3]]), 8, num_features=2, window=window)
