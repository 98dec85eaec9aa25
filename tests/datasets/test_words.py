"""Texts as words, sequences of ids, and word vectors."""

import unicodedata

import keras
import numpy as np
import pytest

from keras_interp_rnn.datasets import words
from keras_interp_rnn.datasets.text import Alphabet


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


TEXTS = [["b", "a", "b"], ["c", "a", "d", "b"]]


def test_the_commonest_words_have_ids_and_ties_go_by_the_alphabet():
    found = words.Vocabulary.of(TEXTS, 7)
    assert found.names == ("<pad>", "<unk>", "<s>", "</s>", "b", "a", "c")
    assert len(found) == 7
    with pytest.raises(
        ValueError, match="`max_size` must be an integer of at least 5. Received: max_size=4. 4 of the ids are special."
    ):
        words.Vocabulary.of(TEXTS, 4)


def test_a_vocabulary_is_written_and_read(tmp_path):
    found = words.Vocabulary.of([["\u00e9t\u00e9", "it's", ".", "...", "\u2026", "#"]], 12)
    found.save(tmp_path / "vocabulary.txt")
    assert words.Vocabulary.load(tmp_path / "vocabulary.txt") == found
    (tmp_path / "other.txt").write_text("a\nb\n")
    with pytest.raises(ValueError, match=r"begin with <pad>, <unk>, <s>, </s>, one per line. Received: .*other.txt"):
        words.Vocabulary.load(tmp_path / "other.txt")
    (tmp_path / "other.txt").write_text("<pad>\n<unk>\n<s>\n</s>\n\u00e9t\u00e9\n", encoding="latin-1")
    with pytest.raises(ValueError, match=r"in UTF-8. Received: .*other.txt \(.*position 21.*Convert it"):
        words.Vocabulary.load(tmp_path / "other.txt")


def test_texts_become_rows_with_start_and_end_and_padding():
    found = words.Vocabulary.of(TEXTS, 7)
    assert found.encode(TEXTS, 7).tolist() == [[2, 4, 5, 4, 3, 0, 0], [2, 6, 5, 1, 4, 3, 0]]
    assert found.encode(TEXTS, 4).tolist() == [[2, 5, 4, 3], [2, 1, 4, 3]], "the last words are kept"
    assert found.encode(TEXTS, 4, end=False).tolist() == [[2, 4, 5, 4], [2, 5, 1, 4]]
    assert found.encode(TEXTS, 7).dtype == np.int32
    assert found.encode(TEXTS, 2).tolist() == [[2, 3], [2, 3]]
    with pytest.raises(ValueError, match="`length` must be an integer of at least 2. Received: length=1. A row has"):
        found.encode(TEXTS, 1)


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


@pytest.mark.parametrize(
    "made",
    [
        lambda: words.Vocabulary.of("good film", 10),
        lambda: words.Vocabulary((*words.SPECIAL, "good", "bad")).encode("good film", 4),
    ],
)
def test_one_string_in_place_of_several_texts_is_refused(made):
    with pytest.raises(
        ValueError, match="`texts` must be several texts. Received: the string 'good film'. Pass .text."
    ):
        made()


def test_a_string_is_split_into_words():
    found = words.Vocabulary.of(["Good film!", "a good one"], 8)
    assert found == words.Vocabulary.of([["good", "film", "!"], ["a", "good", "one"]], 8)
    rows = [["a", "good", "film"], ["bad"]]
    assert (
        found.encode(["A good film", "Bad"]).tolist() == found.encode(rows).tolist() == found.encode(rows, 5).tolist()
    )
    assert found.encode([]).shape == (0, 2)


def test_a_vocabulary_is_saved_with_its_model(tmp_path):
    vocabulary = words.Vocabulary.of(["good film", "bad film"], 8)
    parts = [vocabulary.layer(), keras.layers.Embedding(len(vocabulary), 2), keras.layers.GRU(2)]
    keras.Sequential([keras.Input((None,), dtype="int32"), *parts]).save(tmp_path / "model.keras")
    again = keras.models.load_model(tmp_path / "model.keras")
    assert again.layers[0].alphabet == vocabulary
    with pytest.raises(ValueError, match="A model must have one alphabet. Received: .*, with 0"):
        Alphabet.of(again)


def test_a_name_with_a_line_break_is_refused(tmp_path):
    with pytest.raises(ValueError, match="Names must have no line breaks. Received: 'a.nb'."):
        words.Vocabulary((*words.SPECIAL, "a\nb")).save(tmp_path / "vocabulary.txt")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("window", [0, -1, 1.5])
def test_a_window_below_one_is_refused(window):
    with pytest.raises(ValueError, match="`window` must be a positive integer. Received: window="):
        words.vectors(np.array([[2, 4, 5, 3]]), 8, num_features=2, window=window)
