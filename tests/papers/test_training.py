"""What the protocols share: plans, batches in an order that a kill does not change, and resumption to the bit."""

import dataclasses
import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import keras
import numpy as np
import pytest

from examples.papers import _classification as classification
from examples.papers import _training as training
from tests.papers.common import EXPERIMENTS, a_run

PROTOCOL = classification.Protocol(
    "SR-LSTM-P", 3, "gumbel", 1.0, units=4, embedding=4, word_dropout=0.2, batch=8, epochs=4, steps=3
)


def weights(model):
    return [np.asarray(value) for value in model.get_weights()]


def run(folder: Path, seed: int = 0, epochs: int = 4):
    data = EXPERIMENTS["sr-imdb"].read(None, True, {})
    protocol = dataclasses.replace(PROTOCOL, epochs=epochs)
    return classification.train(protocol, data, a_run(folder, seed=seed))


class TestSchedule:
    def test_it_grows_in_a_line_and_falls_to_a_hundredth(self):
        rate = training.schedule(0.5, 1000, 100)
        np.testing.assert_allclose([float(rate(s)) for s in (0, 50, 100, 1000)], [0, 0.25, 0.5, 0.005], atol=1e-6)

    def test_a_short_training_warms_up_for_a_tenth_of_it(self):
        rate = training.schedule(0.5, 20, 100)
        np.testing.assert_allclose([float(rate(s)) for s in (0, 2, 20)], [0, 0.5, 0.005], atol=1e-6)

    def test_hardly_any_steps(self):
        assert float(training.schedule(0.5, 3, 100)(0)) == 0.5


class TestShuffled:
    x, y = np.arange(10)[:, None], np.arange(10)

    def test_a_pass_reads_every_row_once_and_the_next_in_another_order(self):
        batches = training.Shuffled(self.x, self.y, 5, seed=1, count=4)
        first, second = (np.concatenate([batches[i][1] for i in rows]) for rows in ((0, 1), (2, 3)))
        assert sorted(first) == sorted(second) == list(range(10))
        assert first.tolist() != second.tolist()
        for i in range(4):
            np.testing.assert_array_equal(batches[i][0][:, 0], batches[i][1])

    def test_segments_lie_within_the_ids_of_a_row_and_are_drawn_anew_in_each_pass(self):
        x = np.zeros((6, 9), int)
        for row, length in enumerate((9, 9, 7, 4, 2, 1)):
            x[row, :length] = 10 * (row + 1) + np.arange(length)
        batches = training.Shuffled(x, np.arange(6), 3, seed=0, count=40, segment=4)
        starts = {row: set() for row in range(6)}
        for i in range(40):
            for found, row in zip(*batches[i], strict=True):
                ids = found[found > 0]
                assert len(ids) == min(4, np.count_nonzero(x[row]))
                np.testing.assert_array_equal(np.diff(ids), 1)
                starts[row].add(int(ids[0]) % 10)
        assert starts == {0: set(range(6)), 1: set(range(6)), 2: set(range(4)), 3: {0}, 4: {0}, 5: {0}}
        later = training.Shuffled(x, np.arange(6), 3, seed=0, start=7, count=5, segment=4)
        np.testing.assert_array_equal(later[2][0], batches[9][0])
        assert training.Shuffled(x, np.arange(6), 3, seed=0, segment=99)[0][0].shape == (3, 9)

    def test_from_any_start_the_order_is_the_same(self):
        whole = training.Shuffled(self.x, self.y, 3, seed=1, count=8)
        later = training.Shuffled(self.x, self.y, 3, seed=1, start=5, count=3)
        for i in range(3):
            np.testing.assert_array_equal(later[i][1], whole[i + 5][1])
        other = training.Shuffled(self.x, self.y, 3, seed=2)
        assert other[0][1].tolist() != whole[0][1].tolist()

    def test_too_few_rows(self):
        with pytest.raises(
            ValueError, match=r"A batch takes 11 rows. Received: 10. Give more data or a smaller batch."
        ):
            training.Shuffled(self.x, self.y, 11, seed=1)


class TestPlan:
    def test_steps_fill_the_minutes_and_the_plan_is_kept(self, tmp_path, monkeypatch):
        clock = [0.0]
        monkeypatch.setattr(training.time, "monotonic", lambda: clock[0])

        class Model:
            def train_on_batch(self, i, _):
                clock[0] += 5.0 if i < training.NUM_WARM or i == 9 else 0.01  # compiled at first, and disturbed once

        def make():
            return Model(), [(i, None) for i in range(100)]

        assert training.steps_for_minutes(tmp_path, 0.02, 4, make) == 30  # 1.2 s in 4 epochs
        assert training.steps_for_minutes(tmp_path, 0.02, 4, lambda: pytest.fail("it was timed again")) == 30


class TestResumption:
    @pytest.mark.matrix
    def test_a_run_that_was_stopped_is_the_run_that_was_not(self, tmp_path, monkeypatch):
        whole, best = run(tmp_path / "whole")
        assert [entry["training_seconds"] > 0 for entry in whole["curve"]] == [True] * 4

        class Stop(training.TrainingTime):
            def on_epoch_begin(self, epoch, logs=None):
                super().on_epoch_begin(epoch, logs)
                if epoch == 2:
                    raise KeyboardInterrupt

        with monkeypatch.context() as patched:
            patched.setattr(training, "TrainingTime", Stop)
            with pytest.raises(KeyboardInterrupt):
                run(tmp_path / "stopped")
        resumed, also_best = run(tmp_path / "stopped")
        for name in ("loss", "val_loss", "accuracy", "val_accuracy"):
            assert [e[name] for e in resumed["curve"]] == [e[name] for e in whole["curve"]]
        assert resumed["result"].test == whole["result"].test
        for one, other in zip(weights(best), weights(also_best), strict=True):
            np.testing.assert_array_equal(one, other)

    @pytest.mark.matrix
    def test_other_settings_or_data_are_refused(self, tmp_path):
        run(tmp_path)
        with pytest.raises(ValueError, match=r"started with. Received: {'seed': 1}, and .*settings.json with {'seed'"):
            run(tmp_path, seed=1)
        others = dataclasses.replace(PROTOCOL, learning_rate=1.0)
        data = EXPERIMENTS["sr-imdb"].read(None, True, {})
        with pytest.raises(ValueError, match=r"Received: {'learning_rate': 1.0}, and .* with {'learning_rate': 0.002}"):
            classification.train(others, data, a_run(tmp_path))
        data.train[0][0, 0] += 1
        with pytest.raises(ValueError, match=r"Received: {'data': {.*'sha256': .* with {'data': {.*'sha256'"):
            classification.train(PROTOCOL, data, a_run(tmp_path))

    @pytest.mark.matrix
    def test_a_finished_run_is_judged_again_without_training(self, tmp_path):
        first, _ = run(tmp_path)
        before = sorted(path.name for path in tmp_path.iterdir())
        second, _ = run(tmp_path)
        assert second["result"] == first["result"]
        assert sorted(path.name for path in tmp_path.iterdir()) == before

    @pytest.mark.matrix
    def test_killed_at_ten_random_moments(self, tmp_path):
        # Epochs of a quarter of a second, so that kills fall into them and not into the start of TensorFlow alone.
        code = """
import pathlib, sys, time
from examples.papers import _training as training
from tests.papers.test_training import run

class Slow(training.TrainingTime):
    def on_train_batch_end(self, batch, logs=None):
        time.sleep(0.08)

training.TrainingTime = Slow
run(pathlib.Path(sys.argv[1]), epochs=30)
"""
        command = [sys.executable, "-c", code, str(tmp_path / "killed")]
        subprocess.run([*command[:-1], str(tmp_path / "whole")], capture_output=True, check=True)
        rng = np.random.default_rng(0)
        progress = tmp_path / "killed" / "progress.json"

        def history():
            return json.loads(progress.read_text())["history"] if progress.exists() else []

        within = 0
        for moment in rng.uniform(0.0, 0.3, 10):
            before = history()
            with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
                deadline = time.monotonic() + 120
                while process.poll() is None and len(history()) == len(before) and time.monotonic() < deadline:
                    time.sleep(0.02)
                time.sleep(moment)
                process.send_signal(signal.SIGKILL)
            after = history()
            assert after[: len(before)] == before, "epochs were trained again"
            within += len(before) < len(after) < 30
        assert within == 10
        subprocess.run(command, capture_output=True, check=True)
        assert len(history()) == 30
        assert history()[: len(after)] == after
        one, other = (keras.models.load_model(tmp_path / name / "resume-0030.keras") for name in ("whole", "killed"))
        for a, b in zip(weights(one), weights(other), strict=True):
            np.testing.assert_array_equal(a, b)
        for a, b in zip(one.optimizer.variables, other.optimizer.variables, strict=True):
            np.testing.assert_array_equal(np.asarray(a.value), np.asarray(b.value))
