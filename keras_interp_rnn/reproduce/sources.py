"""The data of the tables: through TensorFlow Datasets, from local files, or made up in a moment to try a table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from keras_interp_rnn import datasets
from keras_interp_rnn.reproduce import records
from keras_interp_rnn.reproduce.characters import Text
from keras_interp_rnn.reproduce.classification import Sequences


def text8(data: Path | None, made_up: bool = False) -> Text:
    """text8, or the text in a file, split 90/5/5."""
    symbols = len(datasets.text.ALPHABET)
    if made_up:
        parts = datasets.text.split(datasets.text.python_documentation()[:20_000])
        info = {"name": "smoke", "characters": 20_000, "text_sha256": "", "whole_text8": False}
        return Text(dict(zip(("train", "validation", "test"), parts, strict=True)), symbols, None, info)
    found = {part: datasets.text8.load(part, source=data) for part in ("train", "validation", "test")}
    return Text(found, symbols, None, datasets.text8.info(source=data))


def pairs(data: Path | None, made_up: bool = False) -> Text:
    """The same text, two characters a symbol: 27² = 729 symbols (Foerster et al., 2017, section 5.1)."""
    of_one = text8(data, made_up)
    found = {part: datasets.text.pairs(symbols) for part, symbols in of_one.parts.items()}
    return Text(found, of_one.outputs**2, None, of_one.info, of_symbol=2)


def lm1b(data: Path | None, made_up: bool = False) -> Text:
    """One Billion Word text as bytes: the 70 commonest are told apart when read, all 256 when predicted."""
    names = ("train", "validation", "test")
    if made_up:
        rng = np.random.default_rng(0)
        parts = {name: rng.integers(97, 123, 2000).astype(np.uint8) for name in names}
    else:
        parts = {name: datasets.lm1b.load(name, source=data) for name in names}
    info = {
        **{"name": "lm1b", "bytes": {name: len(part) for name, part in parts.items()}, "whole": data is None},
        "text_sha256": records.sha256(*parts.values()),
    }
    return Text(parts, 256, datasets.lm1b.most_frequent(parts["train"]), info)


def imdb(data: Path | None, made_up: bool = False, vocabulary: int = 10_000, longest: int = 400) -> Sequences:
    """Film reviews, tokenized; the vocabulary is that of the training reviews."""
    if made_up:
        return _made_up(datasets.imdb.CLASSES)
    parts = []
    for split in ("train", "test"):
        texts, labels = datasets.imdb.load(split, source=data)
        parts.append((texts, labels))
    info = {"name": "imdb", "vocabulary": vocabulary, "longest": longest}
    return _encoded(parts[0], parts[1], datasets.imdb.CLASSES, vocabulary, longest, info)


def newsgroups(
    data: Path | None, made_up: bool = False, headers: bool = True, vocabulary: int = 10_003, longest: int = 200
) -> Sequences:
    """All 18,846 posts, four fifths of them for training, as in the paper: 15,076 and 3,770, drawn at random."""
    if made_up:
        return _made_up(("alt.atheism", "sci.space", "misc.forsale"))
    texts: list[str] = []
    labels: list[NDArray[Any]] = []
    for split in ("train", "test"):
        some, their = datasets.newsgroups20.load(split, headers=headers, source=data)
        texts += some
        labels.append(their)
    y = np.concatenate(labels)
    order = np.random.default_rng(0).permutation(len(texts))
    train, test = np.split(order, [len(texts) - len(texts) // 5 - 1])
    parts = [([texts[i] for i in rows], y[rows]) for rows in (train, test)]
    info = {"name": "newsgroups20", "vocabulary": vocabulary, "longest": longest, "headers": headers}
    return _encoded(parts[0], parts[1], datasets.newsgroups20.CLASSES, vocabulary, longest, info, first=True)


def mnist(data: Path | None, made_up: bool = False, side: int = 28) -> Sequences:
    """Digits, pixel by pixel: side² steps of one number in [0, 1]; with a side of 14 the means of four pixels each."""
    digits = tuple(map(str, range(10)))
    if made_up:
        rng = np.random.default_rng(0)
        x, y = rng.random((60, 12, 1)).astype("float32"), np.arange(60, dtype=np.int32) % 10
        return Sequences((x[:40], y[:40]), (x[40:], y[40:]), digits, None, {"name": "smoke"})
    parts = []
    for split in ("train", "test"):
        images, labels = datasets.mnist.load(split, source=data)
        pixels = images.reshape(len(images), side, 28 // side, side, 28 // side).mean(axis=(2, 4)) / 255
        parts.append((pixels.reshape(len(images), -1, 1).astype("float32"), labels))
    return Sequences(parts[0], parts[1], digits, None, {"name": "mnist", "pixels": side * side})


def _encoded(
    train: tuple[list[str], NDArray[Any]],
    test: tuple[list[str], NDArray[Any]],
    classes: tuple[str, ...],
    size: int,
    longest: int,
    info: dict[str, Any],
    first: bool = False,
) -> Sequences:
    """Texts as ids. Of long ones the last words are kept, or the first: where a post says what it is about."""
    tokens = [[datasets.words.tokenize(text) for text in texts] for texts, _ in (train, test)]
    vocabulary = datasets.words.Vocabulary.of(tokens[0], size)
    if first:
        tokens = [[text[: longest - 2] for text in texts] for texts in tokens]
    x = [vocabulary.encode(texts, longest) for texts in tokens]
    return Sequences((x[0], train[1]), (x[1], test[1]), classes, vocabulary.names, info)


def _made_up(classes: tuple[str, ...]) -> Sequences:
    """Sequences of 12 ids, in each of which its class's own word occurs."""
    rng = np.random.default_rng(0)
    y = np.arange(60, dtype=np.int32) % len(classes)
    x = rng.integers(4 + len(classes), 12 + len(classes), (60, 12)).astype(np.int32)
    x[:, 5] = 4 + y
    names = (*datasets.words.SPECIAL, *(f"word{i}" for i in range(8 + len(classes))))
    return Sequences((x[:40], y[:40]), (x[40:], y[40:]), classes, names, {"name": "smoke"})
