"""The readers of text, of brackets and of reviews have the figures of their cards, by the loops of the oracles."""

import functools
import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from examples.papers import _binary
from examples.papers._presets import PASSAGE, REVIEWS
from keras_interp_rnn import analysis, datasets, presets
from keras_interp_rnn.presets import cards
from tests.oracles import counting, isan, linear_recurrences
from tests.oracles import state_regularized as sr

load = functools.cache(presets.load)


@functools.cache
def arrays(name):
    """The arrays as they are stored, in float64."""
    with np.load(cards.FOLDER / f"{name}.npz", allow_pickle=False) as file:
        return {key: file[key].astype(np.float64) for key in file.files}


def outputs(name, symbols):
    """The outputs of an ISAN, by loops: (batch, time, outputs)."""
    stored = arrays(name)
    kernel, bias, start = (stored[f"recurrent/{key}"] for key in ("recurrent_kernel", "bias", "initial_state"))
    states = isan.states(np.swapaxes(kernel, 1, 2), bias, start, symbols)
    return states @ stored["head/kernel"] + stored["head/bias"]


def bits(logits, symbols):
    """Mean of -log2 p of the symbols."""
    shifted = logits - logits.max(axis=-1, keepdims=True)
    log_p = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    return -np.mean([row[symbol] for row, symbol in zip(log_p, symbols, strict=True)]) / np.log(2)


# text-isan


def test_the_reader_of_english_has_the_bits_of_its_card():
    card = load("text-isan").card
    ids = load("text-isan").encode(PASSAGE)
    assert card.figure("passage_bits") == pytest.approx(
        bits(outputs("text-isan", ids[None, :-1])[0], ids[1:]), abs=1e-5
    )
    # float16 costs nothing that these figures show.
    assert card.figure("test_bits") == pytest.approx(card.record["result"]["test_bits"], abs=1e-3)
    assert card.figure("test_bits") < 1.75
    shuffled = np.random.default_rng(0).permutation(ids)
    assert bits(outputs("text-isan", shuffled[None, :-1])[0], shuffled[1:]) > 4


def test_the_reader_of_english_takes_strings_and_its_predictions_come_apart():
    model = load("text-isan").model
    split = analysis.contributions(model, "the end of the second world wa")
    first, second = split.winner(-1)
    assert split.name(first) == "r"
    assert split.residual < 1e-9
    expected = outputs("text-isan", load("text-isan").encode("the end of the second world wa")[None])[0, -1]
    np.testing.assert_allclose(split.logits[-1], expected, atol=1e-9)
    assert load("text-isan").alphabet.symbols == datasets.text.ALPHABET
    with pytest.raises(datasets.DataError, match="alphabet"):
        load("text-isan").encode("Déjà vu")


# lookup-delta-net


def tables(seed: int, rows: int):
    """Random writes and questions, and for each question the step that wrote its answer, from a dictionary."""
    rng, names = np.random.default_rng(seed), []
    questions = []
    for row in range(rows):
        stored, text = {}, []
        for step in range(20):
            key, value = rng.choice([*"abcdefgh"]), rng.choice([*"12345678"])
            if key in stored and rng.random() < 0.5:
                text.append(f"{key}?")
                questions.append((row, step, *stored[key]))
            else:
                text.append(f"{key}={value}")
                stored[key] = (step, int(value) - 1)
        names.append(text)
    return names, questions


def test_the_memory_answers_with_what_was_stored_last_and_its_contributions_point_there():
    preset = load("lookup-delta-net")
    names, questions = tables(seed=8, rows=20)
    ids = np.stack([preset.encode(text) for text in names])
    stored = arrays("lookup-delta-net")
    kernel = stored["recurrent/kernel"]
    parts = kernel[:, :8], kernel[:, 8:16], kernel[:, 16:24], kernel[:, 24:]
    weights = linear_recurrences.DeltaNet(*parts, *[None] * 6)  # no gate, no norm, heads side by side
    read = linear_recurrences.delta_net(weights, stored["symbols/embeddings"][ids], heads=1)
    logits = read.outputs @ stored["recurrent/output_kernel"] @ stored["head/kernel"] + stored["head/bias"]
    np.testing.assert_allclose(preset.model.predict(ids, verbose=0), logits, atol=1e-4)
    splits = [analysis.contributions(preset.model, text) for text in names]
    assert len(questions) > 100
    for row, step, written, value in questions:
        assert logits[row, step].argmax() == value
        assert np.abs(splits[row].logit_difference(step)).argmax() == written + 1
    assert preset.card.figure("wrong") == 0
    assert preset.card.figure("states") == 73  # 8 x 8 numbers, 8 logits and the constant


# counting-isan


@pytest.mark.parametrize("seed", range(3))
def test_the_counting_network_makes_no_error(seed):
    preset = load("counting-isan")
    symbols = np.random.default_rng(seed).integers(5, size=(4, 300))
    right = np.array([counting.counts(row, types=2, maximum=5, delay=1) for row in symbols])
    codes = outputs("counting-isan", symbols).reshape(4, 300, 2, 6)
    np.testing.assert_array_equal(codes.argmax(axis=-1), right)
    found = np.asarray(preset.model.predict(symbols, verbose=0)).reshape(codes.shape)
    np.testing.assert_allclose(found, codes, atol=1e-4)
    assert preset.card.figure("wrong") == preset.card.figure("rebuilt_wrong") == 0
    assert preset.encode("([)a]").tolist() == [0, 2, 1, 4, 3]


@pytest.mark.matrix
def test_in_its_basis_the_counting_network_consists_of_zeros_and_ones():
    preset, stored = load("counting-isan"), arrays("counting-isan")
    basis = preset.basis
    assert basis.num_binary == preset.card.figure("binary") == len(basis.blocks) * 6
    changed, readout = analysis.change_basis(preset.model, basis)
    blocks = _binary.named_blocks(changed, basis)
    off = _binary.rounding_error(*blocks, readout.matrix[: basis.num_binary], readout.offset)
    assert off == pytest.approx(preset.card.figure("off"), abs=1e-6)
    # The rounded network counts too.
    layer, head = _binary.binarized_network(preset.model, basis)
    symbols = np.random.default_rng(7).integers(5, size=(3, 200))
    states = analysis.trace(layer, symbols)["h"]
    right = np.array([counting.counts(row, types=2, maximum=5, delay=1) for row in symbols])
    np.testing.assert_array_equal(head.apply(states).reshape(3, 200, 2, 6).argmax(axis=-1), right)
    # And the map is one of coordinates: there and back.
    h = np.random.default_rng(1).normal(size=(5, 35))
    z = h @ stored["basis_to"] + stored["basis_to_offset"]
    np.testing.assert_allclose(z @ stored["basis_back"] + stored["basis_back_offset"], h, atol=1e-8)


# reviews-sr-lstm


def logit(ids):
    """The logit of the reader of reviews, by loops (the last step has no centroids)."""
    stored = {key.partition("/")[2]: value for key, value in arrays("reviews-sr-lstm").items() if key[0] == "r"}
    gates = [np.split(stored[key].T, 4) for key in ("kernel", "recurrent_kernel")]
    parts = zip(*gates, np.split(stored["bias"], 4), strict=True)
    network = sr.PeepholeLSTM(*(array for gate in parts for array in gate), *stored["peephole"])
    component = sr.Stochastic(stored["centroids"].T, tau=float(stored["temperature"]))
    embeddings, head = (arrays("reviews-sr-lstm")[key] for key in ("words/embeddings", "head/kernel"))
    h, c, states = np.zeros(24), np.zeros(24), []
    for step, word in enumerate(ids):
        u, c, _ = network.step(h, c, embeddings[word])
        h = u if step + 1 == len(ids) else component.state(u)
        states.append(h)
    return float(np.mean(states, axis=0) @ head[:, 0] + arrays("reviews-sr-lstm")["head/bias"][0])


def test_the_reader_of_reviews_has_the_accuracy_of_its_card():
    preset = load("reviews-sr-lstm")
    rows = [preset.encode(text) for text, _ in REVIEWS]
    expected = np.array([logit(row) for row in rows])
    padded = np.array([np.pad(row, (0, max(map(len, rows)) - len(row))) for row in rows])
    np.testing.assert_allclose(preset.model.predict(padded, verbose=0)[:, 0], expected, atol=1e-4)
    labels = np.array([bool(label) for _, label in REVIEWS])
    assert ((expected > 0) == labels).sum() == preset.card.figure("own_right")
    assert preset.card.figure("test_error") == pytest.approx(preset.card.record["result"]["test_error"], abs=2e-3)
    assert preset.card.figure("test_error") < 0.13


def test_the_verdict_on_a_review_is_explained():
    preset = load("reviews-sr-lstm")
    assert preset.alphabet == datasets.Alphabet.of(preset.model)
    assert len(preset.centroids) == 10
    explained = analysis.explain(preset.model, preset.encode(REVIEWS[5][0]), tokens=preset.alphabet)
    assert explained.prediction == 0
    assert explained.tokens[:4] == ("<s>", "the", "worst", "film")
    assert preset.centroids[explained.centroids[0]].startswith("neg: ")
    assert preset.encode("A zzyzx film").tolist()[2] == 1
    with pytest.raises(ValueError, match=r"^.*word of the vocabulary of reviews-sr-lstm, 8,000 .*Received: 'zzyzx'.*$"):
        preset.encode("zzyzx")


# Other backends

FIGURES = """
import json, pathlib
import numpy as np
from keras_interp_rnn import losses, presets
from examples.papers import EXPERIMENTS, _presets

found = {}
for name in presets.list():
    recipe = _presets.recipes(EXPERIMENTS)[name]
    larger = pathlib.Path("docs", "presets", f"{name}.npz")
    if name == "text-isan-216" and not larger.exists():
        continue  # in the source archive
    preset = presets.load(name, source=larger if name == "text-isan-216" else None)
    if name.startswith("text-isan"):
        passage = preset.encode(_presets.PASSAGE)
        bits = losses.BitsPerSymbol()(passage[None, 1:], preset.model.predict(passage[None, :-1], verbose=0))
        found[name] = {"passage_bits": float(bits)}
    elif name == "reviews-sr-lstm":
        said = [preset.model.predict(preset.encode(text)[None], verbose=0)[0, 0] > 0 for text, _ in _presets.REVIEWS]
        right = sum(bool(one) == bool(label) for one, (_, label) in zip(said, _presets.REVIEWS))
        found[name] = {"own_right": float(right)}
    else:
        found[name] = {figure: float(value) for figure, value, _ in recipe.figures(preset, None)}
print(json.dumps(found))
"""
ROOT = Path(__file__).parents[2]

NEED_DATA = {"text-isan": {"test_bits"}, "text-isan-216": {"test_bits"}, "reviews-sr-lstm": {"test_error"}}
"""Figures that are measured on texts which do not ship with the package."""


@pytest.mark.matrix
@pytest.mark.parametrize("backend", ["tensorflow", "jax", "torch"])
def test_every_preset_gives_the_figures_of_its_card_under_every_backend(backend):
    if find_spec(backend) is None:
        pytest.skip(f"{backend} is not installed")
    done = subprocess.run(
        [sys.executable, "-c", FIGURES],
        env={**os.environ, "KERAS_BACKEND": backend, "PYTHONPATH": str(ROOT)},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert {*presets.list()} - {*found} <= {"text-isan-216"}
    assert "text-isan-216" in found or not (ROOT / "docs" / "presets").exists()
    for name, figures in found.items():
        card = cards.read_card(name)
        assert set(figures) == {figure.name for figure in card.figures} - NEED_DATA.get(name, set())
        for figure, value in figures.items():
            assert value == pytest.approx(card.figure(figure), rel=2e-3, abs=1e-5), (name, figure)


def test_the_judge_of_reviews_reads_a_text_by_the_vocabulary_that_it_carries():
    preset, text = load("reviews-sr-lstm"), "It isn't good."
    by_text = analysis.explain(preset.model, text)
    by_ids = analysis.explain(preset.model, preset.encode(text), tokens=preset.alphabet)
    assert by_text.tokens == by_ids.tokens == ("<s>", "it", "isn't", "good", ".", "</s>")
    np.testing.assert_array_equal(by_text.alpha, by_ids.alpha)
