"""What the protocols share: plans, batches in an order that a kill does not change, and resumption to the bit."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from examples.papers import _classification as classification
from examples.papers import _training as training
from tests.papers.common import EXPERIMENTS, a_run, assert_same_training, killed_at_every_other_call

PROTOCOL = classification.Protocol(
    "SR-LSTM-P", 3, "gumbel", 1.0, units=4, embedding=4, word_dropout=0.2, batch=8, epochs=4, steps=3
)


def run(folder: Path, seed: int = 0):
    return classification.train(PROTOCOL, EXPERIMENTS["sr-imdb"].read(None, True, {}), a_run(folder, seed=seed))


class TestSchedule:
    @pytest.mark.parametrize(
        ("steps", "rates"),
        [(1000, {0: 0, 50: 0.25, 100: 0.5, 1000: 0.005}), (20, {0: 0, 2: 0.5, 20: 0.005}), (3, {0: 0.5})],
    )
    def test_it_grows_in_a_line_for_a_tenth_at_most_and_falls_to_a_hundredth(self, steps, rates):
        rate = training.schedule(0.5, steps, 100)
        np.testing.assert_allclose([float(rate(step)) for step in rates], [*rates.values()], atol=1e-6)


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
    def test_a_run_that_dies_in_every_epoch_is_the_run_that_does_not(self, tmp_path, monkeypatch):
        whole, best = run(tmp_path / "whole")
        assert [entry["training_seconds"] > 0 for entry in whole["curve"]] == [True] * 4
        (found, model), kills = killed_at_every_other_call(
            monkeypatch, training.TrainingTime, "on_epoch_begin", lambda: run(tmp_path / "killed")
        )
        assert kills == 4
        assert_same_training((found["curve"], model), (whole["curve"], best))
        assert found["result"].test == whole["result"].test
        again, _ = run(tmp_path / "whole")  # judged again, without training
        assert again["result"] == whole["result"]

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
