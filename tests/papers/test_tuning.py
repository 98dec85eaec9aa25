"""Searches: what they try, that they go on, and that several processes share one."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

keras_tuner = pytest.importorskip("keras_tuner")
pytest.importorskip("sklearn")

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator  # noqa: E402

from examples.papers import _characters as characters  # noqa: E402
from examples.papers import _commands, _records, tuning  # noqa: E402
from examples.papers.__main__ import main  # noqa: E402
from tests.papers.common import EXPERIMENTS, a_run  # noqa: E402


def classes(kind="SR-GRU"):
    sr = {"centroids": 3, "transition": "mixture", "temperature": 1.0} if kind.startswith("SR") else {}
    run = a_run(Path(), settings={"network": kind, **sr})
    return EXPERIMENTS["sr-imdb"].tunable(run, steps=2, epochs=1)


def text(network="ISAN"):
    run = a_run(Path(), settings={"network": network, "size": "4e3"})
    return EXPERIMENTS["isan-text8"].tunable(run, steps=4, epochs=2)


def searched(network, folder, max_trials, **more):
    """The trials of a search."""
    return tuning.trials(tuning.search(network, folder, max_trials, **more), network.worst)


def tune(*arguments):
    return main(["tune", *arguments])


class TestHypermodels:
    @pytest.mark.parametrize("network", characters.NETWORKS)
    def test_of_characters(self, network):
        model, hp = text(network), keras_tuner.HyperParameters()
        built = model.build(model.protocol(hp))
        assert set(hp.values) == {"learning_rate", "decay", "clip", "scale", "batch"}
        protocol = model.protocol(hp)
        assert built.input_shape == (protocol.batch, 20)
        assert protocol.steps == 8  # of the first choice, half the batch

    def test_of_classes(self):
        plain, regularized = keras_tuner.HyperParameters(), keras_tuner.HyperParameters()
        classes("LSTM").protocol(plain)
        classes("SR-LSTM-P").protocol(regularized)
        assert set(regularized.values) - set(plain.values) == {"centroids", "temperature"}
        assert set(plain.values) == {"learning_rate", "decay", "clip", "dropout", "word_dropout", "batch"}

    def test_pixels_have_no_words_to_drop(self):
        run, hp = a_run(Path(), settings=EXPERIMENTS["sr-mnist"].rows["LSTM"]), keras_tuner.HyperParameters()
        EXPERIMENTS["sr-mnist"].tunable(run, 2, 1).protocol(hp)
        assert set(hp.values) == {"learning_rate", "decay", "clip", "batch"}

    @pytest.mark.matrix
    @pytest.mark.parametrize(("batch", "steps", "validation"), [(4, 8, 4), (8, 4, 2), (16, 2, 1)])
    def test_whatever_the_batch_a_trial_reads_as_much_and_its_rate_falls_to_the_end(self, batch, steps, validation):
        model, hp = text(), keras_tuner.HyperParameters()
        hp.Fixed("batch", batch)
        hp.Fixed("decay", 0.01)
        protocol = model.protocol(hp)
        built = model.build(protocol)
        assert (protocol.batch, protocol.steps, protocol.validation) == (batch, steps, validation)
        found = tuning.hypermodel(model).fit(hp, built, verbose=0)
        assert 0 < found["val_loss"] < model.worst == 2 * np.log2(27)
        assert int(built.optimizer.iterations) == 2 * steps
        last = float(built.optimizer.learning_rate)
        assert last == pytest.approx(0.01 * protocol.learning_rate / built.layers[0].units, rel=1e-4)


class TestKept:
    @pytest.mark.matrix
    def test_it_has_the_protocols_own_value_in_every_trial(self, tmp_path):
        found = searched(classes(), tmp_path / "s", 3, keep=["centroids", "batch"])
        assert [(trial["settings"]["centroids"], trial["settings"]["batch"]) for trial in found] == [(3, 8)] * 3
        assert len({trial["settings"]["learning_rate"] for trial in found}) == 3

    def test_what_is_not_searched_is_not_kept(self, tmp_path):
        with pytest.raises(ValueError, match=r"that is kept is one of learning_rate, .*Received: 'units'. Leave it"):
            tuning.search(classes(), tmp_path / "s", 1, keep=["units"])
        with pytest.raises(ValueError, match="Received: 'scale'. Leave it out"):
            tuning.search(text(), tmp_path / "s", 1, keep=["scale"])
        assert not (tmp_path / "s").exists()


@pytest.mark.matrix
class TestSearch:
    def test_it_goes_on_where_it_was(self, tmp_path):
        first = searched(classes(), tmp_path / "s", 2)
        assert len(first) == 2
        assert first[0]["val_loss"] <= first[1]["val_loss"]
        assert searched(classes(), tmp_path / "s", 2) == first
        more = searched(classes(), tmp_path / "s", 3)
        assert len(more) == 3
        assert all(trial in more for trial in first)

    def test_a_search_keeps_its_settings(self, tmp_path):
        tuning.search(classes(), tmp_path / "s", 1)
        with pytest.raises(ValueError, match=r"it was started with. Received: {'seed': 1}, and .* with {'seed': 0}"):
            tuning.search(classes(), tmp_path / "s", 1, seed=1)
        with pytest.raises(ValueError, match=r"it was started with. Received: {'kept': \['centroids'\]}"):
            tuning.search(classes(), tmp_path / "s", 1, keep=["centroids"])

    def test_trainings_that_run_away_do_not_end_a_search(self, tmp_path, monkeypatch):
        build = characters.build

        def runaway(*args):
            model = build(*args)
            model.layers[-1].bias.assign(np.full(27, np.nan))
            return model

        monkeypatch.setattr(characters, "build", runaway)
        assert [trial["val_loss"] for trial in searched(text(), tmp_path / "s", 4)] == [None] * 4

    def test_tensorboard_has_the_settings_of_every_trial(self, tmp_path):
        tuning.search(text(), tmp_path / "s", 2)
        folders = sorted((tmp_path / "s" / "tensorboard").glob("*/execution0"))
        assert len(folders) == 2
        for folder in folders:
            tags = EventAccumulator(str(folder)).Reload().PluginTagToContent("hparams")
            assert "_hparams_/session_start_info" in tags

    def test_the_command_writes_every_trial_down(self, tmp_path, monkeypatch, capsys):
        monkeypatch.setattr(_commands, "scratch_folder", lambda: tmp_path)
        assert tune("isan-text8", "--row", "LSTM-8e4", "--smoke") == 0
        assert "3 trials. TensorBoard: tensorboard --logdir" in capsys.readouterr().out
        [found] = _records.read(tmp_path / "records" / "tuning.jsonl")
        assert found["experiment"] == "tuning"
        assert found["table"] == {"table": "isan-text8", "row": "LSTM-8e4"}
        assert found["data"]["name"] == "smoke"
        assert len(found["result"]["trials"]) == 3

    @pytest.mark.parametrize(
        ("table", "row"), [("sr-palindromes", "large-LSTM"), ("isan-ablations", "bigrams"), ("minimal-rnn-start", None)]
    )
    def test_what_is_not_tuned(self, capsys, table, row):
        row = row or next(iter(EXPERIMENTS[table].rows))
        assert tune(table, "--row", row) == 2
        assert f"Networks on characters and on classes are tuned. Received: {table}, {row}." in capsys.readouterr().err

    def test_a_chief_and_two_workers_share_a_search(self, tmp_path):
        import socket

        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        code = (
            "import pathlib, sys; from tests.papers.test_tuning import classes, searched; "
            "print(len(searched(classes('GRU'), pathlib.Path(sys.argv[1]), 6)), 'trials')"
        )
        command = [sys.executable, "-c", code, str(tmp_path / "s")]
        shared = {**os.environ, "KERASTUNER_ORACLE_IP": "127.0.0.1", "KERASTUNER_ORACLE_PORT": str(port)}
        processes = [
            subprocess.Popen(
                command, env={**shared, "KERASTUNER_TUNER_ID": name}, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
            )
            for name in ("chief", "tuner0", "tuner1")
        ]
        said = [process.communicate(timeout=300)[0].decode() for process in processes]
        assert [process.returncode for process in processes] == [0, 0, 0], said
        assert said[0].strip().endswith("6 trials")
        assert {path.name for path in (tmp_path / "s").glob("trial_*")} == {f"trial_{i}" for i in range(6)}
        assert {path.name for path in (tmp_path / "s").glob("tuner*.json")} == {"tuner0.json", "tuner1.json"}


@pytest.mark.parametrize(("given", "trials"), [([], 3), (["--trials", "2"], 2), (["--trials", "9"], 3)])
def test_a_smoke_search_makes_at_most_the_trials_asked_for(given, trials, tmp_path, monkeypatch):
    asked = []

    def search(network, directory, max_trials, **more):
        asked.append((max_trials, network.base.steps, network.base.epochs, directory))
        raise ValueError("enough")

    monkeypatch.setattr(tuning, "search", search)
    monkeypatch.setattr(_commands, "scratch_folder", lambda: tmp_path)
    assert tune("sr-imdb", "--row", "LSTM", "--smoke", *given) == 2
    assert asked == [(trials, 2, 1, tmp_path / "runs" / "sr-imdb-LSTM")]
