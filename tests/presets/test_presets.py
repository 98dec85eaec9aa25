"""Every preset has the figures of its card; what is no preset is refused."""

import functools
import hashlib
import io
import json
import re
import shutil
import struct
import zipfile
from itertools import product
from pathlib import Path

import keras
import numpy as np
import pytest

from keras_interp_rnn import automata, presets, views
from keras_interp_rnn.presets import cards, storage
from tests.archives import DAMAGES, spoiled

FILES = cards.FOLDER
LARGER = {"text-isan-216": Path(__file__).parents[2] / "docs" / "presets" / "text-isan-216.npz"}
"""Presets whose weights are not in the package, with the file in the repository."""

MAX_BYTES = 2_500_000
"""The size of all cards and weights together in the wheel."""


@pytest.fixture(scope="module")
def loaded():
    """Presets by name, each loaded once."""
    return functools.cache(presets.load)


def refused(sentence, source=None, name="tomita-4"):
    """The error with which a preset is not loaded, which is one line."""
    with pytest.raises(ValueError, match=sentence) as error:
        presets.load(name, source=source)
    assert "\n" not in str(error.value)
    return str(error.value)


TOMITA = [name for name in presets.list() if re.fullmatch(r"tomita-\d", name)]


def test_the_languages_are_there():
    assert [f"tomita-{number}" for number in range(1, 8)] == TOMITA


@pytest.mark.parametrize("name", TOMITA)
def test_a_recognizer_is_right_on_all_short_words(name, loaded):
    preset = loaded(name)
    words = ["".join(word) for n in range(11) for word in product("01", repeat=n)]
    right = [automata.tomita(int(name[-1])).accepts(word) for word in words]
    np.testing.assert_array_equal(preset.model.classify(words), right)
    assert preset.card.figure("wrong") == 0
    assert preset.alphabet.ordinary == ("0", "1")


@pytest.mark.parametrize("name", TOMITA)
def test_the_proof_succeeds_again(name, loaded):
    preset = loaded(name)
    certificate = preset.certificate
    assert certificate.holds, certificate.failure
    assert certificate is preset.certificate, "it is made once"
    assert certificate.check(preset.model)
    assert certificate.temperature == pytest.approx(preset.card.figure("temperature"), rel=1e-6)
    assert len(preset.automaton) == preset.card.figure("states")
    assert preset.card.figure("certified") == 1
    assert preset.card.figure("largest_temperature") >= certificate.temperature
    assert preset.automaton.equivalent(automata.tomita(int(name[-1])))


def test_the_tested_network_is_right_on_short_words_and_wrong_beyond(loaded):
    preset, truth = loaded("tomita-4-lstm"), automata.tomita(4)
    words = ["".join(word) for n in range(1, 13) for word in product("01", repeat=n)]
    ids = np.array([np.pad(preset.encode(word), (0, 12 - len(word))) for word in words])
    accepted = preset.model.predict(ids, batch_size=2048, verbose=0)[:, 0] > 0
    assert preset.card.figure("short_wrong") == sum(accepted != [truth.accepts(word) for word in words]) == 0
    fooled = int(preset.card.figure("fooled"))
    for ones in (fooled - 1, fooled, fooled + 1, 50, 100):
        answer = preset.model.predict(preset.encode("000" + ones * "1")[None], verbose=0)[0, 0] > 0
        assert answer == (ones >= fooled)  # and no is right for each of these words
    networks = preset.record["result"]["networks"]
    assert [each["stored"] for each in networks].count(True) == 1
    assert preset.page_view().name == "proof"


@pytest.mark.parametrize("name", presets.list())
def test_a_card_has_the_required_parts(name):
    card = presets.load(name).card if name in TOMITA else cards.read_card(name)
    assert card.name == name
    for sentence in (card.what, card.data, card.licence, *card.limits):
        assert sentence.endswith("."), sentence
    assert card.limits
    assert card.figures
    assert card.make.startswith(f"python -m examples.papers preset {name}")
    assert {"data", "model", "protocol", "result", "environment", "experiment"} <= set(card.record)
    assert card.record["environment"]["versions"]["keras"]
    assert not re.search("(?<![A-Za-z])/(tmp|home|work)", json.dumps(dict(card.record)))
    assert name in str(card)
    assert all(str(figure) in str(card) for figure in card.figures)


def test_all_files_together_are_small():
    files = [path for path in FILES.iterdir() if path.suffix in (".json", ".npz")]
    assert {path.stem for path in files} == set(presets.list())
    assert len(files) == 2 * len(presets.list()) - len(LARGER)
    assert sum(path.stat().st_size for path in files) < MAX_BYTES


def test_a_preset_shows_itself(loaded, tmp_path):
    preset = loaded("tomita-4")
    assert str(preset) == str(preset.card)
    assert preset.record is preset.card.record
    views.save(preset, tmp_path / "preset.html")
    assert preset.card.what.replace("'", "&#x27;") in (tmp_path / "preset.html").read_text()
    with pytest.raises(ValueError, match=r"^`name` must be one of 'certified', .*Received: name='bits'.*$"):
        preset.card.figure("bits")


# Files


@pytest.fixture
def copy(tmp_path):
    """A folder with a preset's two files, which a test may damage."""

    def made(name="tomita-4"):
        for suffix in (".json", ".npz"):
            shutil.copy(FILES / f"{name}{suffix}", tmp_path)
        return tmp_path

    return made


def edit(folder, name="tomita-4", change=lambda card: None, **entries):
    path = folder / f"{name}.json"
    card = {**json.loads(path.read_text()), **entries}
    change(card)
    path.write_text(json.dumps(card))


def test_a_copy_loads(copy, loaded):
    folder = copy()
    ids = np.array([[1, 2, 3, 3, 2, 0]])
    outputs = loaded("tomita-4").model(ids)
    np.testing.assert_array_equal(presets.load("tomita-4", source=folder).model(ids), outputs)
    np.testing.assert_array_equal(presets.load("tomita-4", source=folder / "tomita-4.npz").model(ids), outputs)


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("tomita-8", "Did you mean 'tomita-"),
        ("Tomita-4", "Did you mean 'tomita-4'"),
        ("counting", "Did you mean 'counting-isan'"),
        ("text_isan", "Did you mean 'text-isan'"),
        ("zzzz", ""),
        ("../tomita-4", "Did you mean 'tomita-4'"),
        (4, ""),
        (None, ""),
    ],
)
def test_an_unknown_preset_is_refused_with_the_near_names(name, remedy):
    error = refused(r"^`name` must be one of .*tomita-4.*Received: name=", name=name)
    assert f"Received: name={name!r}." in error
    assert remedy in error
    assert bool(remedy) == ("Did you mean" in error)


@pytest.mark.parametrize("damage", ["flipped", "cut", "empty", "other"])
def test_damaged_weights_are_refused(copy, damage):
    path = copy() / "tomita-4.npz"
    content = bytearray(path.read_bytes())
    if damage == "flipped":
        content[len(content) // 2] ^= 1
    content = {"cut": content[:-1], "empty": b"", "other": (FILES / "tomita-3.npz").read_bytes()}.get(damage, content)
    path.write_bytes(content)
    refused(r"The weights of tomita-4 must have the sha256 .*tomita-4\.npz.*install", path.parent)
    refused("sha256", path)


def test_missing_weights_are_refused(copy):
    folder = copy()
    (folder / "tomita-4.npz").unlink()
    for source in (folder, folder / "other.npz"):
        refused(r"Received: .*No such file", source)
    for source, message in (
        ("a" * 5_000, "File name too long"),
        ("a\x00b", "null byte"),
        ("~nosuchuser", "home folder"),
    ):
        refused(message, source)
    refused("must have a readable card, NAME.json, for each. Received: .*, without any", folder.parent)
    refused(r"`name` must be one of 'tomita-4'. Received: name='tomita-5'", folder, "tomita-5")


def replace_weights(folder, content):
    """Writes weights, and their digest into the card."""
    (folder / "tomita-4.npz").write_bytes(content)
    edit(folder, change=lambda card: card["weights"].update(sha256=hashlib.sha256(content).hexdigest()))


def test_weights_that_are_no_arrays_are_refused_and_run_no_code(copy):
    ran = []

    class Evil:
        def __reduce__(self):
            return ran.append, (1,)

    folder, content = copy(), io.BytesIO()
    np.savez(content, evil=np.array([Evil()], object))
    replace_weights(folder, content.getvalue())
    refused("The weights of a preset must be NumPy arrays. .*Make the preset again", folder)
    replace_weights(folder, b"no archive")
    refused("The weights of a preset must be NumPy arrays", folder)
    assert not ran


def test_weights_of_another_network_are_refused(copy):
    folder = copy()
    settings = json.loads((folder / "tomita-4.json").read_text())["model"]
    edit(folder, model={**settings, "units": settings["units"] + 1})
    refused(r"must match its weights. Received: {'units': 25}. .*two versions", folder)
    edit(folder, model={**settings, "units": settings["centroids"]})  # an axis, of another weight
    refused(r"must have the shapes that its card describes. Received: .*recurrent/.*two versions", folder)
    edit(folder, model={**settings, "kind": "transformer"})
    refused("`kind` must be one of .*Received: kind='transformer'. Install", folder)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda card: card.update(automaton=None), id="no automaton"),
        pytest.param(lambda card: card["automaton"].update(tomita=[]), id="a language that is a list"),
        pytest.param(lambda card: card["model"].update(kind=[]), id="a kind that is a list"),
        pytest.param(lambda card: card["model"].update(report={}), id="an empty report"),
        pytest.param(lambda card: card["model"].update(report=None), id="no report"),
        pytest.param(lambda card: card["model"].update(units=10**12), id="units beyond memory"),
        pytest.param(lambda card: card["model"].update(units=[24]), id="units in a list"),
        pytest.param(lambda card: card["model"].pop("units"), id="no units"),
        pytest.param(lambda card: card["model"].update(alphabet=7), id="an alphabet that is a number"),
        pytest.param(lambda card: card.update(model=[]), id="a model that is a list"),
    ],
)
def test_a_card_that_describes_no_network_is_refused(copy, change):
    folder = copy()
    edit(folder, change=change)
    refused("Received: ", folder)


def test_weights_are_measured_before_they_are_unpacked(copy):
    """An array of zeros as `np.savez_compressed` writes it, small in the file and large in memory."""
    header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (100000000,), }"
    header += b" " * (63 - (len(header) + 10) % 64) + b"\n"
    packed = io.BytesIO()
    with (
        zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("a/b.npy", "w", force_zip64=True) as file,
    ):
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header)
        for _ in range(storage.MAX_BYTES // 2**20 + 1):
            file.write(bytes(2**20))
    folder = copy()
    replace_weights(folder, packed.getvalue())
    refused(r"bytes, more than 268,435,456\)\. Make the preset again", folder)


@pytest.mark.core
@pytest.mark.parametrize("damage", DAMAGES)
def test_weights_whose_directory_is_damaged_are_refused(copy, damage):
    folder = copy()
    replace_weights(folder, spoiled((FILES / "tomita-4.npz").read_bytes(), damage))
    refused("The weights of a preset must be NumPy arrays. Received: ", folder)


@pytest.mark.parametrize("content", ["", "[]", "{}", "null", '{"format": "1"}', "\x00"])
def test_a_damaged_card_is_refused(copy, content):
    folder = copy()
    (folder / "tomita-4.json").write_text(content)
    refused(r"a preset must be JSON with .*tomita-4\.json.*The file is damaged", folder)


def test_damaged_entries_of_a_card_are_refused(copy):
    folder = copy()
    for figures in ([{}], [1], [{"name": "x", "value": "y", "says": "z"}]):
        edit(folder, figures=figures)
        refused("The card of a preset must be JSON", folder)
    edit(folder, figures=[], format=cards.FORMAT + 1)
    refused(r"The format of a card must be at most 1. Received: .* of format 2. Install", folder)


@pytest.mark.parametrize("names", [("<pad>",), ("the", "a", "film")])
def test_another_vocabulary_is_refused(copy, names):
    folder = copy("reviews-sr-lstm")
    edit(folder, "reviews-sr-lstm", vocabulary=list(names))
    sentence = "The vocabulary of reviews-sr-lstm must have 8000 words.*Received: .*install the package again"
    refused(sentence, folder, "reviews-sr-lstm")


# Weights that are not in the package


def test_a_preset_outside_the_package_names_its_source():
    refused("`source` must be text-isan-216.npz, which is too large.* Received: source=None", name="text-isan-216")


def test_large_weights_come_from_a_release_or_from_the_users_copy(copy, tmp_path, monkeypatch):
    release, package = copy(), tmp_path / "package"
    package.mkdir()
    (tmp_path / "cache").mkdir()
    shutil.move(release / "tomita-4.json", package)
    monkeypatch.setattr(cards, "FOLDER", package)
    monkeypatch.setattr(storage, "FOLDER", package)
    monkeypatch.setattr("keras_interp_rnn.presets.loading.FOLDER", package)
    words = ["0110", "01000"]
    assert presets.load("tomita-4", source=release / "tomita-4.npz").model.classify(words).tolist() == [True, False]
    get_file = keras.utils.get_file
    monkeypatch.setattr(
        keras.utils, "get_file", lambda *args, **kwargs: get_file(*args, **kwargs, cache_dir=str(tmp_path / "cache"))
    )
    monkeypatch.setattr(storage, "ADDRESS", release.as_uri())
    assert presets.load("tomita-4").model.classify(words).tolist() == [True, False]
    (release / "tomita-4.npz").unlink()  # it is in the cache
    assert presets.load("tomita-4").model.classify(words).tolist() == [True, False]
    shutil.rmtree(tmp_path / "cache" / "keras_interp_rnn")
    refused(r"must be downloadable from file:.*give it as `source`")
    (release / "tomita-4.npz").write_bytes(b"damaged")
    refused(r"must be downloadable from file:.*give it as `source`")


# Symbols and words


def test_a_word_over_another_alphabet_is_refused(loaded):
    preset = loaded("tomita-4")
    assert preset.encode("01").tolist() == [1, 2, 3]
    for foreign in ("012", "0 1"):
        with pytest.raises(ValueError, match=f"^.*'{foreign.strip('01')}'.*$"):
            preset.encode(foreign)
