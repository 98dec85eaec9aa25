"""Experiments that take a trained ISAN apart: what they read, and what is shown of it."""

import keras
import numpy as np
import pytest

from examples.papers import _records as records
from examples.papers import (
    isan_ngrams,
    isan_predictions,
    isan_samples,
    isan_spectra,
    isan_subspaces,
    isan_timescales,
)
from keras_interp_rnn import analysis, datasets, layers
from tests.analysis.isan.networks import CLOSE, network
from tests.oracles import isan_reading as reading
from tests.papers.common import a_run, tables

SYMBOLS = len(datasets.text.ALPHABET)


def isan(units=5, symbols=SYMBOLS):
    keras.utils.set_random_seed(1)
    ids = keras.Input((50,), batch_size=64, dtype="int32")
    recurrent = layers.ISAN(units, symbols, return_sequences=True, stateful=True, bias_initializer="glorot_uniform")
    return keras.Sequential([ids, recurrent, keras.layers.Dense(symbols)])


@pytest.fixture
def given(tmp_path):
    """A model and a text, as `--model` and `--data`."""
    isan().save(tmp_path / "model.keras")
    words = np.random.default_rng(0).choice(["the", "of", "annual", "revenue", "parser", "string"], 4000)
    (tmp_path / "book.txt").write_text(" ".join(words))
    return {"model": tmp_path / "model.keras", "data": tmp_path / "book.txt", "smoke": False}


def test_the_model_and_the_text_that_were_given_are_read(given, tmp_path):
    run = a_run(tmp_path, settings={"symbols": 500, "oldest": 10}, **given)
    experiment = isan_timescales.Timescales()
    record = experiment.run(run)
    model, symbols = keras.models.load_model(given["model"]), datasets.text.read(given["data"])
    test = datasets.text.split(symbols)[2]
    assert record["result"]["whole"] == analysis.timescales(model, test[:500], max_age=10).whole
    assert record["data"]["name"] == "book.txt"
    assert record["data"]["text_sha256"] == datasets.text.sha256(symbols)
    assert record["model"] == {
        **{"layer": "ISAN", "units": 5, "parameters": model.count_params()},
        "sha256": records.sha256(*model.get_weights()),
    }
    assert (tmp_path / "figure4.png").is_file()
    # What a record says of its data tells another text and another model apart.
    isan(units=6).save(tmp_path / "other.keras")
    other = experiment.identity(a_run(tmp_path, **{**given, "model": tmp_path / "other.keras"}))
    about = experiment.identity(run)
    assert about.items() <= record["data"].items()
    assert other["text_sha256"] == about["text_sha256"]
    assert other["model_file_sha256"] != about["model_file_sha256"]


def test_a_model_that_is_none_is_refused(given, tmp_path):
    experiment = isan_subspaces.Subspaces()
    isan(symbols=30).save(tmp_path / "other.keras")
    wrong = {**given, "model": tmp_path / "other.keras"}
    with pytest.raises(
        ValueError, match=r"must have one ISAN of 27 symbols. Received: --model .*other.keras, with \[30\]"
    ):
        experiment.run(a_run(tmp_path, **wrong))
    with pytest.raises(ValueError, match="`--model` must be a file. Received: nowhere.keras. Leave it out"):
        experiment.run(a_run(tmp_path, **{**given, "model": tmp_path.relative_to(tmp_path) / "nowhere.keras"}))


@pytest.mark.matrix
def test_without_a_model_a_small_one_is_trained_once_for_all_experiments(tmp_path, monkeypatch):
    runs = [a_run(tmp_path / name, settings={"order": 2, "symbols": 100}) for name in ("one", "two")]
    for run in runs:
        run.folder.mkdir()
    first = isan_ngrams.Ngrams().run(runs[0])
    monkeypatch.setattr(keras.Model, "fit", None)
    second = isan_ngrams.Ngrams().run(runs[1])
    assert first["model"] == second["model"]
    assert first["result"] == second["result"]
    other = isan_subspaces.Subspaces()
    (tmp_path / "three").mkdir()
    assert other.run(a_run(tmp_path / "three"))["model"] == first["model"]


@pytest.mark.matrix
def test_a_part_of_the_biases_that_is_empty_has_no_correlation(given, tmp_path):
    """Five units and 27 outputs: everything is in the readout subspace."""
    _, result = isan_subspaces.Subspaces().analyse(
        isan(), datasets.text.split(datasets.text.read(given["data"])), a_run(tmp_path)
    )
    whole, readout, rest = (row["correlation"] for row in result["readings"]["as trained"]["parts"])
    assert whole == pytest.approx(readout)
    assert np.isnan(rest)


@pytest.mark.parametrize("shifted", [False, True])
def test_cosines_of_biases_are_those_of_the_parts_and_0_where_a_part_is_0(shifted):
    model, (W, bias, _, readout, _) = network(7, 4, 3, 0)
    origin = np.arange(7.0) / 7 if shifted else None
    if shifted:
        bias = W @ origin + bias - origin
    parts = (bias, *reading.parts(readout, bias))
    for cosines, part in zip(isan_subspaces.bias_cosines(model, None, origin), parts, strict=True):
        np.testing.assert_allclose(cosines, reading.cosines(part), **CLOSE)
    whole, _, rest = isan_subspaces.bias_cosines(network(3, 4, 5, 0)[0], None, None)
    assert whole.any()
    assert not rest.any()  # the readout spans the space


def test_figure_1_has_the_spectra_in_both_coordinates_and_none_without_a_record_of_them():
    spectra = {"ISAN, 3 units": [0.5, 0.3, 0.2], "ISAN in balanced coordinates, 3 units": [0.9, 0.05, 0.05]}
    spectra["GRU, 2 units"] = [0.75, 0.25]
    networks = [
        {"network": name, "units": len(shares), "directions": directions, "spectrum": shares}
        for (name, shares), directions in zip(spectra.items(), ([1, 3, 3], [1, 1, 3], [1, 2, 2]), strict=True)
    ]
    experiment, record = isan_spectra.Spectra(), {"result": {"networks": networks}}
    drawn = {
        file: {line.get_label(): line.get_ydata().tolist() for line in figure.axes[0].lines}
        for file, figure in experiment.pictures([record]).items()
    }
    trained, balanced, other = spectra
    assert drawn == {
        "isan-1.png": {name: spectra[name] for name in (trained, other)},
        "isan-1-balanced.png": {name: spectra[name] for name in (balanced, other)},
    }
    [claim] = experiment.claims([record])
    assert [finding.holds for finding in claim.findings] == [False, False]
    older = [{name: row[name] for name in row if name != "spectrum"} for row in networks if row["network"] != balanced]
    assert experiment.pictures([{"result": {"networks": older}}]) == {}
    [claim] = experiment.claims([{"result": {"networks": older}}])
    assert [finding.holds for finding in claim.findings] == [False, None]


def test_words_decide_where_the_prediction_without_them_is_another():
    letters = np.random.default_rng(0).choice(list(datasets.text.ALPHABET[1:]), (80, 7))
    model, symbols = isan(units=12), datasets.text.encode(" ".join("".join(word) for word in letters))
    decided = isan_predictions.decided_by_a_word(model, symbols, 100)
    assert decided == sorted(decided, reverse=True)
    for margin, beginning, letter, other in decided:
        split = analysis.contributions(model, datasets.text.encode(beginning))
        first = range(1, len(beginning.split()[0]) + 2)
        without = split.without(first)[-1]
        assert datasets.text.ALPHABET[split.logits[-1].argmax()] == letter != other
        assert datasets.text.ALPHABET[without.argmax()] == other
        assert margin > 0
    assert decided


def test_samples_begin_with_the_prompt_and_known_words_are_counted(given, tmp_path):
    settings = {"prompt": "annual reve", "inverse_temperatures": (1.0, 50.0), "symbols": 40, "samples": 2}
    experiment = isan_samples.Samples()
    record = experiment.run(a_run(tmp_path, settings=settings, **given))
    model = keras.models.load_model(given["model"])
    for one in record["result"]["by_temperature"]:
        expected = analysis.generate(
            model,
            " annual reve",
            num_symbols=40,
            inverse_temperature=one["inverse_temperature"],
            seed=1,
            alphabet=datasets.text.ALPHABET,
        )
        assert one["samples"][1] == expected.strip()
        words = [word for sample in one["samples"] for word in sample.split()[1:-1]]
        assert one["words"] == len(words)
        known = {"the", "of", "annual", "revenue", "parser", "string"}
        assert one["known"] == sum(word in known for word in words) / max(len(words), 1)
    [[_, first, second]] = tables(experiment.fields([{**record, "environment": records.environment()}])["table"])
    assert (first[1], second[1]) == ("1", "50")
    assert first[3].startswith("annual reve")
