"""Presets are made, with networks so small that they train in seconds."""

import dataclasses
import functools

import numpy as np
import pytest

from examples.papers import EXPERIMENTS, _presets
from examples.papers import __main__ as command_line
from examples.papers.tomita import Tomita
from keras_interp_rnn import datasets, presets
from keras_interp_rnn.presets import cards


class Quick(Tomita):
    def run(self, run):
        return super().run(dataclasses.replace(run, smoke=True))


QUICK = [Quick() if experiment.name == "tomita" else experiment for experiment in EXPERIMENTS]


def with_settings(monkeypatch, name, settings):
    known = _presets.recipes(EXPERIMENTS)
    known[name].settings = settings
    monkeypatch.setattr(_presets, "recipes", lambda experiments: known)


def made(tmp_path, name, experiments=EXPERIMENTS, data=None):
    return _presets.make(name, experiments, data=data, runs=tmp_path / "runs", out=tmp_path / "out", verbose=0)


@pytest.mark.matrix
def test_a_recognizer_is_made_stored_and_measured(tmp_path, monkeypatch):
    monkeypatch.setattr(_presets, "WORD_LENGTH", 5)
    preset = made(tmp_path, "tomita-1", QUICK)
    assert preset.card.record["experiment"] == "tomita"
    shipped = cards.read_card("tomita-1")
    for part in ("what", "data", "licence", "limits"):
        assert getattr(preset.card, part) == getattr(shipped, part)
    words = ["", "1", "10", "0110"]
    wrong = preset.card.figure("wrong")
    assert wrong == sum(
        bool(accepted) != ("0" not in word)
        for word, accepted in zip(words_to(5), preset.model.classify(words_to(5)), strict=True)
    )
    again = presets.load("tomita-1", source=tmp_path / "out")
    assert again.model.classify(words).tolist() == preset.model.classify(words).tolist()
    assert again.model.report == preset.model.report
    # What has finished is taken over: the files are the same to the byte.
    before = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    made(tmp_path, "tomita-1", QUICK)
    assert {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()} == before


@functools.cache
def words_to(length):
    from itertools import product

    return ["".join(word) for n in range(length + 1) for word in product("01", repeat=n)]


@pytest.mark.matrix
@pytest.mark.parametrize("name", ["text-isan", "text-isan-216"])
def test_a_reader_of_text_is_made_rounded_and_measured(name, tmp_path, monkeypatch):
    text = "".join(np.random.default_rng(0).choice(list("abc "), 600_000))
    (tmp_path / "text.txt").write_text(text)
    settings = {"network": "ISAN", "size": "4e3", "batch": 8, "length": 20, "steps": 3, "epochs": 1, "validation": 2}
    with_settings(monkeypatch, name, settings)
    made(tmp_path, name, data=tmp_path / "text.txt")
    preset = presets.load(name, source=tmp_path / "out")
    assert preset.alphabet.symbols == datasets.text.ALPHABET
    assert {layer.dtype for layer in preset.model.layers[-2:]} == {"float32"}
    weights = preset.model.layers[-1].get_weights()[0]
    np.testing.assert_array_equal(weights, weights.astype(np.float16), "stored as float16")
    assert 2 < preset.card.figure("test_bits") < 5
    assert 2 < preset.card.figure("passage_bits") < 6
    assert preset.card.record["data"]["text_sha256"]


@pytest.mark.matrix
def test_a_reader_of_reviews_is_made_with_its_vocabulary_and_centroids(tmp_path, monkeypatch):
    folder = tmp_path / "aclImdb"
    folder.mkdir()
    rng = np.random.default_rng(0)
    for split in ("train", "test"):
        for label, words in (("neg", "bad dull film a and"), ("pos", "good fine film a and")):
            lines = [f"{10 * i}\t1\t{' '.join(rng.choice(words.split(), 20))}\n" for i in range(40)]
            (folder / f"{split}-{label}.tsv").write_text("".join(lines))
    small = {
        "units": 4,
        "embedding": 3,
        "vocabulary": 11,
        "centroids": 3,
        "epochs": 1,
        "vectors": 0,
        "batch": 8,
        "longest": 24,
    }
    with_settings(
        monkeypatch, "reviews-sr-lstm", {**_presets.recipes(EXPERIMENTS)["reviews-sr-lstm"].settings, **small}
    )
    preset = made(tmp_path, "reviews-sr-lstm", data=folder)
    assert preset.alphabet.symbols[:4] == ("<pad>", "<unk>", "<s>", "</s>")
    assert set(preset.alphabet[4:]) == {"a", "bad", "dull", "and", "film", "fine", "good"}
    assert len(preset.centroids) == 3
    assert all(name.startswith(("neg: ", "pos: ")) for name in preset.centroids)
    assert 0 <= preset.card.figure("test_error") <= 1
    assert preset.encode("a good film").tolist()[0] == 2
    with pytest.raises(ValueError, match=r"word of the vocabulary of reviews-sr-lstm, 11 .*Received: 'xyz'"):
        preset.encode("xyz")


def test_every_preset_has_a_recipe_that_agrees_with_its_card():
    known = _presets.recipes(EXPERIMENTS)
    assert set(known) == {*presets.list()}
    for name in presets.list():
        card, recipe = cards.read_card(name), known[name]
        assert card.make == recipe.make
        assert card.record["experiment"] == recipe.experiment
        assert card.settings["weights"]["dtype"] == recipe.dtype


def test_an_unknown_preset_is_not_made(tmp_path, capsys):
    assert command_line.main(["preset", "tomita-9", "--out", str(tmp_path)]) == 2
    error = capsys.readouterr().err
    assert error.startswith("papers: `name` must be one of ")
    assert len(error.splitlines()) == 1
    assert not list(tmp_path.iterdir())
