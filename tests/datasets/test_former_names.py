"""Calls of the release before: they still work, and warn with the name that is used now."""

import struct
import warnings
from pathlib import Path

import numpy as np
import pytest

from keras_interp_rnn import datasets
from keras_interp_rnn.datasets import DataError, LabelledWords, Windows, counting, imdb, interactions, lm1b, mnist, text
from keras_interp_rnn.datasets.text import Alphabet
from keras_interp_rnn.datasets.words import SPECIAL, Vocabulary

SOME = np.array([1, 2, 1], np.uint8)
WORDS = LabelledWords(("ab", "a"), np.array([True, False]), "ab")


def renamed(sentence: str):
    return pytest.warns(DeprecationWarning, match=sentence)


def test_reading_a_folder_is_loading_a_source(tmp_path: Path) -> None:
    for name in imdb.CLASSES:
        (tmp_path / f"train-{name}.tsv").write_text(f"0\t1\t{name}\n")
    with renamed(r"imdb.read\(folder, split\) is now called imdb.load\(split, source=folder\)") as caught:
        texts, labels = imdb.read(tmp_path, "train")
    assert (texts, labels.tolist()) == (["neg", "pos"], [0, 1])
    assert caught[0].filename == __file__

    (tmp_path / "1b_benchmark.test.tokens").write_text("a\n" * 10)
    with renamed(r"lm1b.read\(split, folder\) is now called lm1b.load\(split, source=folder\)"):
        assert lm1b.read("test", tmp_path).tobytes() == b"a\n" * 10

    (tmp_path / "t10k-images-idx3-ubyte").write_bytes(struct.pack(">4I", 2051, 1, 28, 28) + bytes(784))
    (tmp_path / "t10k-labels-idx1-ubyte").write_bytes(struct.pack(">2I", 2049, 1) + bytes([7]))
    with renamed(r"mnist.read\(split, folder\) is now called mnist.load\(split, source=folder\)"):
        assert mnist.read("test", folder=tmp_path)[1].tolist() == [7]

    (tmp_path / "file").write_text("ann tea\nann milk\n")
    with renamed(r"interactions.read\(path\) is now called interactions.load\(source\)"):
        assert interactions.read(tmp_path / "file").items.tolist() == [2, 1]


def test_the_commonest_are_the_most_frequent() -> None:
    with renamed(r"lm1b.commonest\(symbols, size\) is now called lm1b.most_frequent\(symbols, num_ids\)"):
        np.testing.assert_array_equal(lm1b.commonest(SOME, size=2), lm1b.most_frequent(SOME, num_ids=2))


def test_the_error_of_a_text_is_that_of_all_data() -> None:
    with renamed("datasets.text.TextError is now called datasets.DataError"):
        assert text.TextError is DataError
    with pytest.raises(AttributeError, match="has no attribute 'TextErrors'"):
        text.TextErrors  # noqa: B018
    assert issubclass(DataError, ValueError)


@pytest.mark.parametrize(
    ("former", "now", "sentence"),
    [
        (lambda: Windows(np.arange(31), 2, 5, 2)[0], lambda: Windows(np.arange(31), 2, length=5, start=2)[0], "length"),
        (
            lambda: Windows(SOME, 1, length=2, read=[0, 2, 1], count=1)[0],
            lambda: Windows(SOME, 1, length=2, input_table=[0, 2, 1], num_windows=1)[0],
            "read input_table",
        ),
        (lambda: WORDS.ids(True, False, 4), lambda: WORDS.ids(True, length=4), "length"),
        (lambda: WORDS.up_to(length=1).labels, lambda: WORDS.up_to(max_length=1).labels, "length max_length"),
        (
            lambda: Vocabulary.of([["a"]], size=5).encode([["a"]], longest=4),
            lambda: Vocabulary.of([["a"]], max_size=5).encode([["a"]], length=4),
            "longest length",
        ),
        (lambda: Vocabulary(SPECIAL).encode([["a"]], 4, False), lambda: [[2, 1, 0, 0]], "end"),
        (lambda: Alphabet.from_text("aab", 2).encode("a"), lambda: [0], "min_count"),
        (
            lambda: next(counting.stream(rng=np.random.default_rng(0), batch=2, length=4, types=1, maximum=1))[1],
            lambda: next(counting.stream(0, 2, length=4, num_types=1, max_count=1))[1],
            "types num_types",
        ),
        (lambda: next(counting.stream(0, 2, 4))[0], lambda: next(counting.stream(0, 2, length=4))[0], "length"),
        (lambda: counting.one_hot([[1]], maximum=1), lambda: [[0, 1]], "maximum max_count"),
        (lambda: [len(counting.symbol_names(types=1, noise=0))], lambda: [2], "noise num_noise_symbols"),
        (
            lambda: interactions.generate(items=9, users=3, seed=1).items,
            lambda: interactions.generate(9, 3, seed=1).items,
            "users num_users",
        ),
        (
            lambda: interactions.generate(9, 3).leave_one_out(longest=4)[0].padded(np.arange(3))["items"],
            lambda: interactions.generate(9, 3).leave_one_out(max_length=4)[0].padded(np.arange(3))["items"],
            "longest max_length",
        ),
    ],
)
def test_arguments_under_former_names_and_in_former_places(former, now, sentence) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        np.testing.assert_array_equal(former(), now())
    assert {warning.category for warning in caught} == {DeprecationWarning}
    assert any(sentence in str(warning.message) for warning in caught), [str(warning.message) for warning in caught]


@pytest.mark.parametrize(
    ("name", "former", "now"),
    [
        ("balanced_parentheses", ("train", "small", 3), {"config": "small", "seed": 3}),
        ("palindromes", ("train", "small", 3), {"config": "small", "seed": 3}),
        ("tomita", ("train", "4", 3), {"config": "4", "seed": 3}),
    ],
)
def test_the_config_of_a_language_by_position(name, former, now, monkeypatch) -> None:
    module = getattr(datasets, name)
    built = []
    monkeypatch.setattr(module, "built", lambda *arguments: built.append(arguments))
    monkeypatch.setattr(module, "loaded", lambda made, split: split)
    with renamed("takes config, seed by keyword alone"):
        assert module.load(*former) == "train"
    assert module.load("train", **now) == "train"
    with renamed("takes seed by keyword alone"):
        module.builder(*former[1:])
    assert built == [(name, now["config"], 3, None)] * 3


def test_sources_by_position(tmp_path: Path) -> None:
    with renamed("takes headers, source by keyword alone"), pytest.raises(DataError, match="nowhere"):
        datasets.newsgroups20.load("train", False, tmp_path / "nowhere", data_dir=tmp_path)
    with renamed("takes config, source by keyword alone"), pytest.raises(DataError, match="nowhere"):
        datasets.text8.load("train", "pairs", tmp_path / "nowhere", data_dir=tmp_path)
    with renamed("takes source by keyword alone"), pytest.raises(DataError, match="nowhere"):
        datasets.text8.info("pairs", tmp_path / "nowhere", data_dir=tmp_path)
