"""Models that earlier versions saved load, and put out what they did: see tests/golden/make.py."""

import itertools
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import keras
import numpy as np
import pytest

import keras_interp_rnn
from keras_interp_rnn import constraints, layers, losses
from keras_interp_rnn.automata import extract, tomita
from keras_interp_rnn.datasets import Alphabet
from tests.golden import make
from tests.tolerances import assert_close

FILES = sorted(make.GOLDEN.glob("*/*.keras"))
FIRST = make.GOLDEN / "0.1.0"

pytestmark = pytest.mark.skipif(
    tuple(int(part) for part in keras.__version__.split(".")[:2]) < (3, 15),
    reason="an older Keras reads no file that a newer one saved, and these are of 3.15",
)

TRANSITIONS = {"mixture", "soft_argmax", "gumbel", "sample"}
MOST = 1_500_000
"""Bytes that the folder of a version may hold: every clone carries all folders."""


def assert_as_saved(found, path: Path) -> None:
    saved = dict(np.load(path.with_suffix(".npz")))
    assert set(found) == set(saved)
    for name, values in saved.items():
        if values.dtype.kind == "f":
            assert_close(found[name], values, str(values.dtype))
        else:
            np.testing.assert_array_equal(found[name], values)


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_model_that_a_version_saved_puts_out_what_it_did(path):
    model = keras.models.load_model(path)
    assert_as_saved(make.observed(model, np.load(path.with_suffix(".npz"))["inputs"]), path)


IN_A_FRESH_PROCESS = """
import sys

import keras_interp_rnn
import keras, numpy

for path, inputs, outputs in zip(*[iter(sys.argv[1:])] * 3):
    model = keras.models.load_model(path)
    numpy.save(outputs, keras.ops.convert_to_numpy(keras.tree.flatten(model(numpy.load(inputs)["inputs"]))[0]))
"""


@pytest.mark.matrix
def test_a_fresh_process_loads_them_with_one_import(tmp_path):
    drawn = [path for path in FILES if "output_0" not in np.load(path.with_suffix(".npz"))]
    assert [path.stem for path in drawn] == ["sample"] * len(drawn)
    outputs = {path: tmp_path / f"{path.parent.name}-{path.stem}.npy" for path in FILES}
    arguments = [str(x) for path, output in outputs.items() for x in (path, path.with_suffix(".npz"), output)]
    environment = {name: value for name, value in os.environ.items() if name != "JAX_ENABLE_X64"}
    ran = subprocess.run(
        [sys.executable, "-c", IN_A_FRESH_PROCESS, *arguments],
        env=environment,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert ran.returncode == 0, ran.stderr[-4000:]
    for path, output in outputs.items():
        if path not in drawn:
            saved = np.load(path.with_suffix(".npz"))["output_0"]
            # JAX has no float64 unless the process is told so.
            dtype = "float32" if keras.backend.backend() == "jax" else str(saved.dtype)
            assert_close(np.load(output), saved, dtype)


def test_every_layer_cell_and_transition_has_a_file_or_will_have_one_with_the_next_version():
    classes, transitions = set(), set()
    saved = [zipfile.ZipFile(path).read("config.json").decode() for path in FILES]
    new = set(make.MODELS) - {path.stem for path in FILES}
    for text in [*saved, *(make.MODELS[name]().to_json() for name in new)]:
        classes |= {name for name in layers.__all__ if f'"class_name": "{name}"' in text}
        transitions |= {name for name in TRANSITIONS if f'"{name}"' in text}
    assert classes == set(layers.__all__)
    assert transitions == TRANSITIONS


@pytest.mark.parametrize("version", sorted({path.parent.name for path in FILES}))
def test_the_files_are_small_and_name_no_folder_of_the_machine_that_made_them(version):
    files = list((make.GOLDEN / version).iterdir())
    assert {path.suffix for path in files} == {".keras", ".npz"}
    assert sum(path.stat().st_size for path in files) <= MOST
    for path in files:
        if path.suffix == ".keras":
            for name in ("config.json", "metadata.json"):
                assert not _paths(json.loads(zipfile.ZipFile(path).read(name)))


def _paths(config) -> list[str]:
    return [value for value in keras.tree.flatten(config) if isinstance(value, str) and value.startswith("/")]


def test_a_recognizer_keeps_its_verdict_and_its_symbols():
    model = keras.models.load_model(FIRST / "recognizer.keras")
    assert model.report == make.VERDICT
    assert model.layers[0].alphabet == Alphabet.with_tokens(["a", "b", 7], start=True)


def test_a_network_that_was_an_automaton_is_it_still():
    model = keras.models.load_model(FIRST / "automaton.keras")
    language = tomita(4)
    words = [word for length in range(8) for word in itertools.product(language.alphabet, repeat=length)]
    np.testing.assert_array_equal(model.classify(words), [language.accepts(word) for word in words])
    assert extract(model).dfa == language.minimize()


def test_a_model_keeps_its_alphabet_its_loss_and_its_optimizer():
    model = keras.models.load_model(make.GOLDEN / "0.2.0" / "characters.keras")
    alphabet = Alphabet.of(model)
    assert (alphabet.symbols, alphabet.unknown) == ("\n aé\N{REPLACEMENT CHARACTER}", "\N{REPLACEMENT CHARACTER}")
    assert isinstance(model.loss, losses.BitsPerSymbol)
    assert isinstance(model.optimizer, keras.optimizers.Adam)
    assert model.optimizer.clipnorm == 1.0
    assert int(model.optimizer.iterations) == 1
    moments = [keras.ops.convert_to_numpy(variable) for variable in model.optimizer.variables[2:]]
    assert any(np.any(moment) for moment in moments)


def test_a_model_keeps_its_words():
    """Of the class `Vocabulary`, which later became `Alphabet`."""
    alphabet = Alphabet.of(keras.models.load_model(make.GOLDEN / "0.3.0" / "words.keras"))
    assert alphabet == Alphabet.from_texts(["a film good bad"], max_size=7)
    assert alphabet.encode("A bad, bad film").tolist() == [2, 4, 5, 1, 5, 6, 3]


def test_a_layer_keeps_its_constraint():
    model = keras.models.load_model(FIRST / "isan_with_constraints.keras")
    constraint = model.layers[-1].cell.recurrent_kernel.constraint
    assert isinstance(constraint, constraints.MaxSpectralNorm)
    assert constraint.max_value == 0.8


def test_the_files_of_a_version_are_never_written_again():
    """They may hold what the package can no longer make: only users' files would tell."""
    assert keras_interp_rnn.__version__ in {path.parent.name for path in FILES}, "run python -m tests.golden.make"
    with pytest.raises(FileExistsError):
        make.main()
