"""The benchmark's languages from files and archives, and words drawn after its protocol."""

import collections
import itertools
import tarfile

import numpy as np
import pytest

from keras_interp_rnn.automata import DFA
from keras_interp_rnn.datasets import DataError, mlregtest
from keras_interp_rnn.datasets._drawn_words import Sampler

NAMES = ("04.04.SL.2.1.0", "04.04.SP.2.1.0")
NO_AB = DFA.from_regex("(a|b)*ab(a|b)*", "ab").complement().minimize()
A_NEVER_BEFORE_B = DFA.from_regex("b*a*", "ab")
"""Few words: length + 1 of each length."""


@pytest.fixture(params=["folder", "archive"])
def source(request, tmp_path):
    folder = tmp_path / "mlregtest"
    folder.mkdir()
    even = DFA([[1, 0, 0], [0, 1, 1]], {0}, alphabet="abc")
    for name, dfa in zip(NAMES, (even, even.complement()), strict=True):
        (folder / f"{name}.att").write_text(dfa.to_att())
    if request.param == "folder":
        return folder
    with tarfile.open(tmp_path / "all.tar.xz", "w:xz") as made:
        made.add(folder, "some/folder")
    return tmp_path / "all.tar.xz"


def one_edit_apart(one, other):
    """By all edits of the shorter, or of one of two words of a length."""
    short, long = sorted((one, other), key=len)
    if len(short) == len(long):
        return sum(a != b for a, b in zip(short, long, strict=True)) == 1
    return short in {long[:i] + long[i + 1 :] for i in range(len(long))}


@pytest.mark.parametrize("split", mlregtest.SPLITS)
@pytest.mark.parametrize("seed", range(2))
def test_words_have_their_labels_lengths_and_numbers(source, split, seed):
    assert mlregtest.languages(source=source) == NAMES
    truth = mlregtest.automaton(NAMES[0], source=source)
    found = mlregtest.load(split, language=NAMES[0], source=source, num_words=200, seed=seed)
    assert (len(found), found.positives, found.alphabet) == (200, 100, "abc")
    assert [truth.accepts(word) for word in found.words] == found.labels.tolist()
    lengths = range(20, 30) if split in ("train", "validation") or split.startswith("short") else range(31, 51)
    assert {len(word) for word in found.words} <= set(lengths)
    if split.endswith("adversarial"):
        pairs = list(zip(found.words[::2], found.words[1::2], strict=True))
        assert all(one_edit_apart(*pair) for pair in pairs)
        assert (found.labels[::2] != found.labels[1::2]).all()
    else:
        counts = collections.Counter(map(len, found.words))
        assert set(counts.values()) == {200 // len(lengths)}
    again = mlregtest.load(split, language=NAMES[0], source=source, num_words=200, seed=seed)
    assert again.words == found.words
    assert mlregtest.load(split, language=NAMES[0], source=source, num_words=200, seed=7).words != found.words


def test_no_word_of_a_test_is_trained_on(source):
    splits = {name: mlregtest.load(name, language=NAMES[1], source=source, num_words=400) for name in mlregtest.SPLITS}
    train, validation = set(splits["train"].words), set(splits["validation"].words)
    assert train.isdisjoint(validation)
    for name in mlregtest.SPLITS[2:]:
        words = splits[name].words
        assert len(set(words)) == len(words)
        assert (train | validation).isdisjoint(words)


@pytest.mark.parametrize("label", [True, False])
def test_words_are_uniform_among_those_of_a_label(label):
    """Each of the words of six symbols as often as the others, by a chi-squared bound."""
    sampler = Sampler(NO_AB)
    words = sampler.words(label, 6, 20_000, np.random.default_rng(1))
    every = {word for word in itertools.product((0, 1), repeat=6) if NO_AB.accepts(["ab"[i] for i in word]) == label}
    counts = collections.Counter(map(tuple, words.tolist()))
    assert set(counts) == every
    expected = 20_000 / len(every)
    chi_squared = sum((counts[word] - expected) ** 2 / expected for word in every)
    assert chi_squared < len(every) + 5 * (2 * len(every)) ** 0.5


def test_a_language_of_few_words_gives_those(tmp_path):
    (tmp_path / "few.att").write_text(A_NEVER_BEFORE_B.to_att())
    found = mlregtest.load("short_random", language="few", source=tmp_path, num_words=200)
    assert len(set(found.words)) == len(found)
    assert 0 < found.positives < 100  # 21 to 30 words of each length, less those of the other splits


def test_bad_input_has_one_line(source, tmp_path):
    def load(split="train", language=NAMES[0], **options):
        return mlregtest.load(split, language=language, **{"source": source, **options})

    with pytest.raises(ValueError, match="`split` must be one of"):
        load("test")
    for wrong in (0, 2.5, True):
        with pytest.raises(ValueError, match="`num_words` must be an integer of at least 2"):
            load(num_words=wrong)
    with pytest.raises(ValueError, match="even number"):
        load(num_words=31)
    with pytest.raises(ValueError, match="`seed` must be an integer of at least 0"):
        load(seed=-1)
    with pytest.raises(DataError, match=r"which has no 04\.04\.XX\.att. Check the path and the name of the language"):
        load(language="04.04.XX")
    with pytest.raises(DataError, match="which has no file"):
        mlregtest.languages(source=tmp_path / "nowhere")
    (tmp_path / "damaged.att").write_text("0 1 a\n0 x y z w v u")
    with pytest.raises(DataError, match="damaged.att must be an automaton"):
        load(language="damaged", source=tmp_path)
    (tmp_path / "long.att").write_text("0\t0\taa\taa\n0\n")
    with pytest.raises(DataError, match="one character"):
        load(language="long", source=tmp_path)
    (tmp_path / "all.att").write_text("0\t0\ta\ta\n0\t0\tb\tb\n0\n")
    with pytest.raises(DataError, match="Choose another language"):
        load(language="all", source=tmp_path, num_words=20)
