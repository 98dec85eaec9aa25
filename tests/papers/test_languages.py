"""Networks that learn a language, their errors against a pass over each word by itself, and what training keeps."""

import dataclasses
import itertools
import math
from types import SimpleNamespace

import keras
import numpy as np
import pytest

from examples.papers import _languages as languages
from examples.papers.data import palindromes
from keras_interp_rnn import layers
from keras_interp_rnn.datasets import LabelledWords
from tests.papers.common import (
    EXPERIMENTS,
    a_run,
    assert_same_training,
    committed,
    killed_at_every_other_call,
    needs_records,
)

CENTROIDS = 5
SMALL = languages.Protocol(units=4, centroids=CENTROIDS, passes=1)
LAYERS = {
    "LSTM": keras.layers.LSTM,
    "LSTM-P": layers.PeepholeLSTM,
    "SR-LSTM": layers.SRLSTM,
    "SR-LSTM-P": layers.SRPeepholeLSTM,
}

every_network = pytest.mark.parametrize("network", LAYERS)


def random_words(lengths, seed=0, alphabet="abc", distinct=False):
    """Words of these lengths, about half of them in the language; those drawn twice are one, if `distinct`."""
    rng = np.random.default_rng(seed)
    words = tuple("".join(rng.choice(list(alphabet), length)) for length in lengths)
    words = tuple(dict.fromkeys(words)) if distinct else words
    return LabelledWords(words, rng.random(len(words)) < 0.5, alphabet)


def random_network(network, seed=0):
    """Three symbols, four units, with weights so large that words are judged this way and that."""
    model = languages.build(network, 3, SMALL, seed)
    rng = np.random.default_rng(seed)
    for variable in model.trainable_variables:
        variable.assign(1.5 * rng.normal(size=variable.shape))
    return model


def logits(model, words):
    """Of each word by itself, without padding."""
    codes = [[words.alphabet.index(symbol) + 2 for symbol in word] + [len(words.alphabet) + 2] for word in words.words]
    return np.array([float(model(np.array([code], "int32"))[0, 0]) for code in codes])


class Scripted(keras.Model):
    """A model that learns nothing: the losses of its passes are given, and its only weight counts them.

    It is saved as a small archive, which `scripted` reads.
    """

    def __init__(self, losses=(), count=0):
        super().__init__()
        self.count = self.add_weight(shape=(), initializer=keras.initializers.Constant(count), trainable=False)
        self.losses_to_come, self.fits = iter(losses), []
        self.optimizer = SimpleNamespace(iterations=0)

    def fit(self, rows, labels, batch, epochs, initial_epoch, callbacks, **flags):
        assert epochs == initial_epoch + 1
        assert flags == {"shuffle": False, "verbose": 0}
        self.fits.append(SimpleNamespace(rows=rows, labels=labels, batch=batch))
        self.optimizer.iterations += len(rows) // batch
        self.count.assign_add(1)
        listed = keras.callbacks.CallbackList(callbacks, model=self)
        listed.on_train_begin()
        listed.on_epoch_end(initial_epoch, {"loss": next(self.losses_to_come, 0.5)})
        listed.on_train_end()

    def predict_on_batch(self, rows):
        return np.ones((len(rows), 1))

    def save(self, path):
        with open(path, "wb") as file:
            np.savez(file, count=np.asarray(self.count))


@pytest.fixture
def scripted(monkeypatch, tmp_path):
    """Trains a model of these losses on words; its passes, the number that was kept, and the curve."""

    def load(path):
        with np.load(path) as file:
            return Scripted(count=file["count"])

    def train(words, losses=(), validation=None, seed=0, **settings):
        model = Scripted(losses)
        built = [Scripted(), model]
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        with monkeypatch.context() as patched:
            patched.setattr(keras.models, "load_model", load)
            patched.setattr(languages, "build", lambda *_: built.pop())
            protocol = dataclasses.replace(SMALL, **settings)
            best, curve = languages.train("LSTM", words, validation or words, protocol, seed, folder)
        return SimpleNamespace(fits=model.fits, kept=int(best.count), curve=curve)

    return train


def scripted_errors(monkeypatch, errors):
    errors = itertools.chain(errors, itertools.repeat(0.9))
    monkeypatch.setattr(languages, "error", lambda model, words: next(errors))


@pytest.fixture
def quick(monkeypatch):
    """Short executions, and not through XLA, which compiles longer than these networks train."""
    monkeypatch.setattr(languages, "STEPS", 2)
    monkeypatch.setattr(languages, "JIT_COMPILE", False)


class TestBuild:
    @every_network
    def test_every_network_is_an_embedding_its_layer_and_a_logit(self, network):
        model = languages.build(network, 3, SMALL, seed=0)
        embedding, recurrent, head = model.layers
        assert set(LAYERS) == set(languages.NETWORKS)
        assert type(recurrent) is LAYERS[network]
        assert recurrent.name == "recurrent"
        assert getattr(recurrent, "regularize_last_step", False) is False  # the end token's
        assert tuple(embedding.embeddings.shape) == (6, 4)
        assert embedding.mask_zero
        assert tuple(head.kernel.shape) == (4, 1)
        assert float(head.kernel_regularizer(np.ones((4, 1), "float32"))) == pytest.approx(4 * 5e-4)
        of_layer = 4 * (4 * 4 + 4 * 4 + 4) + 3 * 4 * network.endswith("-P")
        component = (CENTROIDS * 4 + 3) * network.startswith("SR")  # centroids; temperature, strength and noise
        assert model.count_params() == 6 * 4 + of_layer + component + 4 + 1


@pytest.mark.core(1)
@pytest.mark.parametrize("lengths", [[0, 1, 5, 2, 9, 3, 7, 1, 4, 6, 8], [2, 101, 30, 4, 1]], ids=["short", "long"])
@every_network
def test_neither_padding_nor_whole_batches_change_a_logit_and_errors_are_counted(network, lengths, monkeypatch):
    monkeypatch.setattr(languages, "SYMBOLS", 850)  # 8 words of 101 ids, or 4 of 201: neither divides
    model, words = random_network(network), random_words(lengths)
    found = languages.predict(model, words)
    np.testing.assert_allclose(found, logits(model, words), rtol=1e-4, atol=1e-4)
    for wrong in range(len(words) + 1):
        labels = (found > 0) ^ (np.arange(len(words)) < wrong)
        labelled = LabelledWords(words.words, labels, "abc")
        assert languages.error(model, labelled) == pytest.approx(wrong / len(words))


class TestTrain:
    WORDS = random_words([length for length in range(1, 21) for _ in range(1 + length)], seed=3, distinct=True)

    def test_words_grow_and_are_read_as_often_as_asked(self, scripted):
        trained = scripted(self.WORDS, passes=2, batch=4)
        lengths = [2 * tenth for tenth in range(1, 11) for _ in range(2)] + [20] * 4
        assert [point["length"] for point in trained.curve] == lengths
        assert len(trained.fits) == len(trained.curve)
        assert [point["step"] for point in trained.curve] == list(
            itertools.accumulate(len(fit.rows) // fit.batch for fit in trained.fits)
        )
        seconds = [point["seconds"] for point in trained.curve]
        assert seconds == sorted(seconds)

    def test_a_pass_reads_words_up_to_its_length_evenly_in_whole_executions(self, scripted, monkeypatch):
        monkeypatch.setattr(languages, "STEPS", 3)
        trained = scripted(self.WORDS, batch=4)
        letters = ["", "", *"abc"]
        labels = dict(zip(self.WORDS.words, self.WORDS.labels, strict=True))
        for point, fit in zip(trained.curve, trained.fits, strict=True):
            among = {word for word in self.WORDS.words if len(word) <= point["length"]}
            assert fit.batch == 4
            assert len(fit.rows) % (3 * 4) == 0
            ends = (fit.rows == 5).argmax(axis=1)
            assert ((fit.rows == 0).sum(axis=1) == fit.rows.shape[1] - ends - 1).all(), "padding after the end alone"
            read = [
                "".join(letters[i] for i in row[:end])
                for row, end in zip(fit.rows.tolist(), ends.tolist(), strict=True)
            ]
            assert set(read) <= among
            # Less than an execution is left out; words of less than one are read again.
            assert len(read) > len(among) - 3 * 4
            counts = [read.count(word) for word in among]
            assert max(counts) - min(counts) <= 1
            assert fit.labels.tolist() == [labels[word] for word in read]

    def test_a_seed_repeats_the_order_and_another_does_not(self, scripted):
        orders = [[fit.rows for fit in scripted(self.WORDS, passes=2, seed=seed).fits] for seed in (1, 1, 2)]
        first, again, other = orders
        assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
        assert not any(np.array_equal(a, b) for a, b in zip(first, other, strict=True))
        assert not np.array_equal(first[0], first[1]), "another order in every pass"

    def test_the_curve_has_the_loss_and_the_validation_error_of_every_pass(self, scripted, monkeypatch):
        scripted_errors(monkeypatch, [0.5, 0.25, 0.375])
        curve = scripted(self.WORDS, [3.0, 2.0, 1.0]).curve
        assert [(point["loss"], point["validation_error"]) for point in curve[:3]] == [
            (3.0, 0.5),
            (2.0, 0.25),
            (1.0, 0.375),
        ]
        assert set(curve[0]) == {"step", "seconds", "length", "loss", "validation_error"}

    @pytest.mark.parametrize(("errors", "kept"), [([0.5, 0.25, 0.375, 0.25], 2), ([0.5], 1), ([0.95] * 11, 12)])
    def test_the_first_weights_of_the_least_validation_error_are_kept(self, errors, kept, scripted, monkeypatch):
        """After the scripted errors comes 0.9."""
        scripted_errors(monkeypatch, errors)
        trained = scripted(self.WORDS)
        assert len(trained.curve) == 12
        assert trained.kept == kept

    def test_lengths_with_words_of_one_label_alone_are_left_out(self, scripted):
        labels = np.array([len(word) > 5 and word.count("a") % 2 == 0 for word in self.WORDS.words])
        words = LabelledWords(self.WORDS.words, labels, "abc")
        assert [point["length"] for point in scripted(words).curve] == [*range(6, 21, 2), 20, 20]

    @pytest.mark.parametrize("losses", [[math.nan], [1.0, math.nan], [1.0, 1.0, math.inf]])
    def test_a_loss_that_is_not_finite_ends_the_training_with_the_best_weights(self, losses, scripted, monkeypatch):
        scripted_errors(monkeypatch, [0.5, 0.25, 0.0])
        trained = scripted(self.WORDS, losses, passes=2)
        assert len(trained.curve) == len(trained.fits) == len(losses)
        assert (trained.curve[-1]["loss"], trained.curve[-1]["validation_error"]) == (None, None)
        assert trained.kept == len(losses) - 1

    def test_words_of_one_label_teach_nothing(self, tmp_path):
        words = LabelledWords(("a", "b"), np.array([True, True]), "ab")
        with pytest.raises(ValueError, match=r"Received: 2 words, of which 2 are in it. Add words"):
            languages.train("LSTM", words, words, SMALL, 0, tmp_path)

    @pytest.mark.matrix
    @pytest.mark.usefixtures("quick")
    def test_killed_in_any_pass_it_ends_with_the_same_weights(self, tmp_path, monkeypatch):
        words = random_words([1, 2, 3] * 20, distinct=True)
        protocol = dataclasses.replace(SMALL, batch=8, stages=2, last=2)

        def train(name):
            model, curve = languages.train("SR-LSTM-P", words, words, protocol, 4, tmp_path / name)
            return curve, model

        expected = train("whole")
        found, kills = killed_at_every_other_call(monkeypatch, languages, "error", lambda: train("killed"))
        assert kills == len(expected[0]) == 3
        assert_same_training(found, expected)
        assert [point["seconds"] for point in found[0]] == sorted(point["seconds"] for point in found[0])
        files = [sorted(path.name for path in (tmp_path / name).iterdir()) for name in ("whole", "killed")]
        assert files[0] == files[1]


class TestRun:
    @pytest.fixture
    def experiment(self, monkeypatch):
        """On random words, and without Keras's training."""
        experiment = type(EXPERIMENTS["sr-palindromes"])()
        monkeypatch.setattr(experiment, "read", lambda data, smoke, settings: self.load)
        return experiment

    def load(self, split):
        splits = ("train", "validation", "test_l100", "test_l200", "test_l500")
        return random_words([5] * 6, splits.index(split))

    @pytest.mark.matrix
    @pytest.mark.usefixtures("quick")
    def test_a_run_trains_and_judges_with_the_weights_it_kept(self, experiment, tmp_path, capsys):
        run = a_run(tmp_path, settings=experiment.rows["small-LSTM"], verbose=1)
        record = experiment.run(run)
        lines = capsys.readouterr().out.splitlines()
        assert len(lines) == len(record["curve"])
        assert lines[0].startswith("pass 1 of ")
        model = keras.models.load_model(tmp_path / "model.keras")
        least = min(point["validation_error"] for point in record["curve"])
        assert record["result"]["validation_error"] == languages.error(model, self.load("validation")) == least
        assert record["result"]["errors"] == {"test_l100": languages.error(model, self.load("test_l100"))}
        assert record["result"]["seconds"] == record["curve"][-1]["seconds"]
        with pytest.raises(ValueError, match=r"Received: {'learning_rate': 1.0}, and .*settings.json with"):
            experiment.run(a_run(tmp_path, settings={**run.settings, "learning_rate": 1.0}))


@needs_records
@pytest.mark.parametrize("name", ["sr-parentheses", "sr-palindromes"])
def test_the_committed_records_have_the_settings_of_their_row(name):
    experiment = EXPERIMENTS[name]
    assert committed(name)
    for record in committed(name):
        protocol = record["protocol"]
        row = languages.row_name(record["data"]["config"], record["model"]["layer"], protocol["centroids"])
        settings = {"centroids": 0, **experiment.rows[row]}
        # Older records do not have all settings.
        assert all(protocol[name] == value for name, value in settings.items() if name in protocol), row
        assert {"passes", "centroids"} <= set(protocol)


def test_the_papers_training_on_palindromes_reads_the_same_words(monkeypatch):
    asked = []
    monkeypatch.setattr(palindromes, "load", lambda split, config: asked.append((split, config)))
    experiment = EXPERIMENTS["sr-palindromes"]
    for row in ("large-LSTM", "large_paper-LSTM"):
        experiment.read(None, False, {"config": experiment.rows[row]["config"]})("train")
    assert asked == [("train", "large")] * 2
    assert experiment.rows["large_paper-LSTM"]["learning_rate"] == languages.PAPER["learning_rate"]


def test_figure_6_has_the_lowest_seed_of_every_number_of_centroids_of_which_there_are_several():
    experiment = EXPERIMENTS["sr-parentheses"]

    def a_record(network, k=0, config="small", seed=0):
        point = {"step": k + seed, "loss": 0.5, "validation_error": 0.25}
        return {
            "data": {"config": config},
            "model": {"layer": network, "seed": seed},
            "protocol": {"centroids": k},
            "curve": [point, point, {"step": 9, "loss": None, "validation_error": None}],
        }

    given = [a_record("SR-LSTM-P", k, seed=seed) for k, seed in ((5, 1), (5, 0), (2, 3))]
    others = [a_record("SR-LSTM-P", 7, "large"), a_record("LSTM")]
    [(name, figure)] = experiment.pictures([*given, *others]).items()
    assert name == "parentheses-centroids.png"
    lines = {line.get_label(): line.get_xdata().tolist() for line in figure.axes[0].lines}
    assert {label: steps for label, steps in lines.items() if label.startswith("k")} == {
        "k = 2": [5, 5],
        "k = 5": [5, 5],
    }
    assert experiment.pictures([given[0], *others]) == {}


class TestPublishedTraining:
    """`PAPER`: how the published code trains."""

    WORDS = random_words([length for length in range(1, 21) for _ in range(1 + length)], seed=3, distinct=True)
    PROTOCOL = languages.Protocol(**{**languages.PAPER, "steps": 4, "growing": 5, "batch": 8})

    @pytest.mark.parametrize("network", languages.NETWORKS)
    def test_initial_weights(self, network):
        centroids = 5 if network.startswith("SR") else 0
        protocol = dataclasses.replace(self.PROTOCOL, centroids=centroids, units=6)
        model = languages.build(network, 3, protocol, seed=4)
        for weight in model.trainable_variables:
            value = keras.ops.convert_to_numpy(weight)
            if weight.name == "bias":
                assert not value.any()
            elif weight.name.endswith("kernel") and value.shape[-1] == 24:
                for gate in np.split(value, 4, axis=1):
                    np.testing.assert_allclose(gate @ gate.T, np.eye(6), atol=1e-5)
                assert len({gate.tobytes() for gate in np.split(value, 4, axis=1)}) == 4
            else:
                assert 0.3 < np.abs(value).max() <= 0.5, weight.path
        again = languages.build(network, 3, protocol, seed=4)
        other = languages.build(network, 3, protocol, seed=5)
        for weights in zip(*(each.trainable_variables for each in (model, again, other)), strict=True):
            a, b, c = map(keras.ops.convert_to_numpy, weights)
            np.testing.assert_array_equal(a, b)
            assert (a != c).any() or not a.any()

    def test_the_optimizer(self):
        optimizer = languages.build("LSTM", 3, self.PROTOCOL, seed=0).optimizer
        assert (optimizer.centered, optimizer.rho, optimizer.momentum) == (True, 0.95, 0.9)
        assert (optimizer.epsilon, float(optimizer.learning_rate)) == (1e-4, pytest.approx(1e-4))

    def test_words_grow_by_equal_numbers_and_are_drawn_anew_in_every_pass(self):
        schedule = languages.Schedule(self.WORDS, self.PROTOCOL, seed=2)
        lengths = np.array([len(word) for word in self.WORDS.words])
        assert len(schedule.limits) == 8 * 5
        assert schedule.limits[4:] == [20] * 36
        for i, limit in enumerate(schedule.limits[:5]):
            assert np.mean(lengths <= limit) >= (i + 1) / 5 > np.mean(lengths < limit)
        orders = [schedule.order(i) for i in range(7)]
        assert all(len(order) == 4 * 8 for order in orders)
        assert all(lengths[order].max() <= limit for order, limit in zip(orders, schedule.limits, strict=False))
        assert len({order.tobytes() for order in orders}) == 7
        again = languages.Schedule(self.WORDS, self.PROTOCOL, seed=2)
        np.testing.assert_array_equal(again.order(6), orders[6])
        assert (languages.Schedule(self.WORDS, self.PROTOCOL, seed=3).order(6) != orders[6]).any()

    def test_it_ends_when_the_error_has_not_improved_for_as_long_again(self):
        schedule = languages.Schedule(self.WORDS, self.PROTOCOL, seed=0)
        growing = [math.nan] * 5
        assert [schedule.is_validated(i) for i in range(7)] == [False] * 5 + [True] * 2
        assert not schedule.is_over([])
        assert not schedule.is_over([*growing, 0.1, *[0.2] * 8])  # 14 passes, at least 15
        assert schedule.is_over([*growing, 0.1, *[0.2] * 9])
        late = [*growing, *[0.2] * 6, 0.1]  # the lowest after 12 passes
        assert not schedule.is_over([*late, *[0.1] * 11])
        assert schedule.is_over([*late, *[0.1] * 12])
        falling = [*growing, *np.linspace(0.5, 0.1, 35)]
        assert not schedule.is_over(falling[:-1])
        assert schedule.is_over(falling)

    @pytest.mark.matrix
    def test_the_weights_of_the_lowest_error_after_growing_are_kept(self, tmp_path):
        model, curve = languages.train("LSTM", self.WORDS, self.WORDS, self.PROTOCOL, 0, tmp_path)
        assert [point["validation_error"] is None for point in curve] == [True] * 5 + [False] * (len(curve) - 5)
        lowest = min(point["validation_error"] for point in curve[5:])
        assert languages.error(model, self.WORDS, start_token=True) == pytest.approx(lowest)
        assert all("val_loss" in point for point in curve[5:])
