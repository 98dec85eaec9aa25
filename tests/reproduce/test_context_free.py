"""The networks of context_free.py, their errors against a pass over each word by itself, and what training keeps."""

import itertools
import json
import math
from pathlib import Path
from types import SimpleNamespace

import keras
import numpy as np
import pytest
from keras import ops

from keras_interp_rnn import layers
from keras_interp_rnn.datasets import LabelledWords
from keras_interp_rnn.reproduce import context_free, networks, records

CENTROIDS = 5
LAYERS = {
    "LSTM": keras.layers.LSTM,
    "LSTM-P": layers.PeepholeLSTM,
    "SR-LSTM": layers.SRLSTM,
    "SR-LSTM-P": layers.SRPeepholeLSTM,
}

every_kind = pytest.mark.parametrize("kind", LAYERS)


def random_words(lengths, seed=0, alphabet="abc", distinct=False):
    """Words of these lengths, about half of them in the language; those drawn twice are one, if `distinct`."""
    rng = np.random.default_rng(seed)
    words = tuple("".join(rng.choice(list(alphabet), length)) for length in lengths)
    words = tuple(dict.fromkeys(words)) if distinct else words
    return LabelledWords(words, rng.random(len(words)) < 0.5, alphabet)


def random_network(kind, seed=0):
    """Three symbols, four units, with weights so large that words are judged this way and that."""
    model = context_free.network(kind, 3, 4, CENTROIDS, seed)
    rng = np.random.default_rng(seed)
    for variable in model.trainable_variables:
        variable.assign(1.5 * rng.normal(size=variable.shape))
    return model


def logits(model, words):
    """Of each word by itself, without padding."""
    codes = [[words.alphabet.index(symbol) + 2 for symbol in word] + [words.end_id] for word in words.words]
    return np.array([float(model(np.array([code], "int32"))[0, 0]) for code in codes])


def undecided(kind, words, seed=0):
    """A random network that judges half of the words to be in the language, and those it does."""
    model = random_network(kind, seed)
    found = logits(model, words)
    low, high = np.sort(found)[(len(words) - 1) // 2 :][:2]
    assert high - low > 1e-3, "no verdict hangs on rounding"
    model.layers[-1].bias.assign_sub([(low + high) / 2])
    return model, found > (low + high) / 2


class Scripted:
    """A model that learns nothing: the losses of its passes are given, and its one weight counts them."""

    def __init__(self, losses=()):
        self.losses, self.fits, self.weights = iter(losses), [], [np.array(0.0)]

    def compile(self, optimizer, loss, **_):
        self.optimizer = SimpleNamespace(iterations=0)

    def fit(self, rows, labels, batch, **_):
        self.fits.append(SimpleNamespace(rows=rows, labels=labels, batch=batch))
        self.optimizer.iterations += len(rows) // batch
        self.weights = [self.weights[0] + 1]
        return SimpleNamespace(history={"loss": [9.0, next(self.losses, 0.5)]})

    def predict_on_batch(self, rows):
        return np.ones((len(rows), 1))

    def get_weights(self):
        return list(self.weights)

    def set_weights(self, weights):
        self.weights = list(weights)


def scripted_errors(monkeypatch, errors):
    errors = itertools.chain(errors, itertools.repeat(0.9))
    monkeypatch.setattr(context_free, "error", lambda model, words: next(errors))


@pytest.fixture
def quick(monkeypatch):
    """Short executions, and not through XLA, which compiles longer than these networks train."""
    compile_ = keras.Model.compile
    monkeypatch.setattr(context_free, "STEPS", 2)
    monkeypatch.setattr(
        keras.Model, "compile", lambda self, *args, **kwargs: compile_(self, *args, **{**kwargs, "jit_compile": False})
    )


class TestNetwork:
    @every_kind
    def test_every_kind_is_an_embedding_its_layer_and_a_logit(self, kind):
        embedding, recurrent, head = context_free.network(kind, 3, 4, CENTROIDS, seed=0).layers
        assert set(LAYERS) == set(networks.LANGUAGES)
        assert type(recurrent) is LAYERS[kind]
        assert recurrent.name == "recurrent"
        assert tuple(embedding.embeddings.shape) == (6, 4)
        assert embedding.mask_zero
        assert tuple(head.kernel.shape) == (4, 1)
        assert float(head.kernel_regularizer(np.ones((4, 1), "float32"))) == pytest.approx(4 * 5e-4)

    @every_kind
    def test_weights_are_as_many_as_counted_by_hand(self, kind):
        model = context_free.network(kind, 3, 4, CENTROIDS, seed=0)
        recurrent = 4 * (4 * 4 + 4 * 4 + 4)
        peephole = 3 * 4 * kind.endswith("-P")
        component = (CENTROIDS * 4 + 3) * kind.startswith("SR")  # centroids; temperature, strength and noise
        assert model.count_params() == 6 * 4 + recurrent + peephole + component + 4 + 1

    @every_kind
    def test_it_reads_any_number_of_words_of_any_length(self, kind):
        model = random_network(kind)
        assert model.input_shape == (None, None)
        for words, length in ((2, 3), (5, 1)):
            assert model(np.ones((words, length), "int32")).shape == (words, 1)

    @pytest.mark.parametrize("kind", ["SR-LSTM", "SR-LSTM-P"])
    def test_centroids_are_drawn_evenly_between_minus_and_plus_one_half(self, kind):
        cell = context_free.network(kind, 3, 30, 20, seed=0).get_layer("recurrent").cell
        drawn = ops.convert_to_numpy(cell.centroids)
        assert drawn.shape == (20, 30)
        assert 0.49 < np.abs(drawn).max() <= 0.5
        assert abs(drawn.var() - 1 / 12) < 0.01

    @pytest.mark.parametrize("kind", ["SR-LSTM", "SR-LSTM-P"])
    @pytest.mark.parametrize("padding", [0, 3])
    def test_the_end_tokens_step_goes_without_the_centroids(self, kind, padding):
        model = random_network(kind)
        embedding, recurrent, head = model.layers
        ids = np.array([[2, 4, 3, 5], [3, 3, 2, 5]], "int32")
        embedded = embedding(ids)
        # A bare RNN regularizes every step.
        before = keras.layers.RNN(recurrent.cell, return_state=True)(embedded[:, :-1])[1:]
        plain, _ = recurrent.cell.cell(embedded[:, -1], before)
        regularized, _ = recurrent.cell(embedded[:, -1], before)
        found = model(np.pad(ids, ((0, 0), (0, padding))))
        np.testing.assert_allclose(found, head(plain), rtol=1e-5, atol=1e-5)
        assert np.abs(found - head(regularized)).min() > 0.01

    def test_an_unknown_kind_is_named(self):
        with pytest.raises(ValueError, match=r"networks are \('LSTM', .*\). Received: 'GRU'"):
            context_free.network("GRU", 3, 4, CENTROIDS, seed=0)

    @every_kind
    def test_a_seed_repeats(self, kind):
        first, again, other = (context_free.network(kind, 3, 4, CENTROIDS, seed) for seed in (3, 3, 4))
        for a, b in zip(first.get_weights(), again.get_weights(), strict=True):
            np.testing.assert_array_equal(a, b)
        drawn = [variable.ndim == 2 for variable in first.weights]
        assert sum(drawn) >= 4
        for a, c, random in zip(first.get_weights(), other.get_weights(), drawn, strict=True):
            assert (np.abs(a - c).max() > 0.01) == random


class TestError:
    @pytest.mark.parametrize("lengths", [[0, 1, 5, 2, 9, 3, 7, 1, 4, 6, 8], [2, 101, 30, 4, 1]], ids=["short", "long"])
    @every_kind
    def test_neither_padding_nor_whole_batches_change_a_verdict(self, kind, lengths, monkeypatch):
        monkeypatch.setattr(context_free, "SYMBOLS", 850)  # 8 words of 101 ids, or 4 of 201: neither divides
        words = random_words(lengths)
        model, expected = undecided(kind, words)
        assert context_free.error(model, LabelledWords(words.words, expected, "abc")) == 0
        assert context_free.error(model, LabelledWords(words.words, ~expected, "abc")) == 1
        assert context_free.error(model, words) == pytest.approx(np.mean(expected != words.labels))

    def test_a_single_wrong_word_counts_as_one(self):
        words = random_words(range(7))
        model, expected = undecided("SR-LSTM-P", words)
        for i in range(7):
            labels = expected ^ (np.arange(7) == i)
            assert context_free.error(model, LabelledWords(words.words, labels, "abc")) == pytest.approx(1 / 7)

    @pytest.mark.parametrize(("symbols", "length"), [(7, 101), (100, 101), (101, 201), (500, 501), (1001, 1002)])
    def test_rows_have_few_lengths_and_batches_one_size(self, symbols, length, monkeypatch):
        monkeypatch.setattr(context_free, "SYMBOLS", 2050)
        words = random_words([symbols, 3, symbols, 0, 5])
        seen = []

        class Watched(Scripted):
            def predict_on_batch(self, rows):
                seen.append(rows.shape)
                return super().predict_on_batch(rows)

        assert context_free.error(Watched(), words) == pytest.approx(np.mean(~words.labels))
        batch = {101: 20, 201: 10, 501: 4, 1002: 2}[length]
        assert seen == [(batch, length)] * math.ceil(5 / batch)

    def test_errors_are_those_of_each_test_set(self):
        model, _ = undecided("LSTM-P", random_words(range(8)))
        tests = {f"test_{seed}": random_words(range(1 + seed, 8), seed) for seed in range(3)}
        found = context_free.errors(model, tests)
        assert found == {name: np.mean((logits(model, words) > 0) != words.labels) for name, words in tests.items()}
        assert len(set(found.values())) > 1


class TestTrain:
    WORDS = random_words([length for length in range(1, 21) for _ in range(1 + length)], seed=3, distinct=True)

    def test_words_grow_and_are_read_as_often_as_asked(self):
        model = Scripted()
        curve = context_free.train(model, self.WORDS, self.WORDS, passes=2, batch=4)
        assert [point["length"] for point in curve] == [2 * tenth for tenth in range(1, 11) for _ in range(2)] + [
            20
        ] * 4
        assert len(model.fits) == len(curve)
        assert [point["step"] for point in curve] == list(
            itertools.accumulate(len(fit.rows) // fit.batch for fit in model.fits)
        )
        seconds = [point["seconds"] for point in curve]
        assert seconds == sorted(seconds)

    def test_a_pass_reads_words_up_to_its_length_evenly_in_whole_executions(self, monkeypatch):
        monkeypatch.setattr(context_free, "STEPS", 3)
        model = Scripted()
        curve = context_free.train(model, self.WORDS, self.WORDS, passes=1, batch=4)
        letters = ["", "", *"abc"]
        labels = dict(zip(self.WORDS.words, self.WORDS.labels, strict=True))
        for point, fit in zip(curve, model.fits, strict=True):
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

    def test_rows_have_three_lengths_that_hold_the_words_and_no_shorter_would(self):
        model = Scripted()
        curve = context_free.train(model, self.WORDS, self.WORDS, passes=1)
        widths = [fit.rows.shape[1] for fit in model.fits]
        assert widths == [min(w for w in (7, 14, 21) if w > point["length"]) for point in curve]
        assert set(widths) == {7, 14, 21}

    def test_a_seed_repeats_the_order_and_another_does_not(self):
        orders = []
        for seed in (1, 1, 2):
            model = Scripted()
            context_free.train(model, self.WORDS, self.WORDS, passes=2, seed=seed)
            orders.append([fit.rows for fit in model.fits])
        first, again, other = orders
        assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
        assert not any(np.array_equal(a, b) for a, b in zip(first, other, strict=True))
        assert not np.array_equal(first[0], first[1]), "another order in every pass"

    def test_the_curve_has_the_last_loss_and_the_validation_error_of_every_pass(self, monkeypatch):
        scripted_errors(monkeypatch, [0.5, 0.25, 0.375])
        curve = context_free.train(Scripted([3.0, 2.0, 1.0]), self.WORDS, self.WORDS, passes=1)
        assert [(point["loss"], point["validation_error"]) for point in curve[:3]] == [
            (3.0, 0.5),
            (2.0, 0.25),
            (1.0, 0.375),
        ]
        assert set(curve[0]) == {"step", "seconds", "length", "loss", "validation_error"}

    @pytest.mark.parametrize(("errors", "kept"), [([0.5, 0.25, 0.375, 0.25], 2), ([0.5], 1), ([0.95] * 11, 12)])
    def test_the_first_weights_of_the_least_validation_error_are_kept(self, errors, kept, monkeypatch):
        """After the scripted errors comes 0.9."""
        scripted_errors(monkeypatch, errors)
        model = Scripted()
        curve = context_free.train(model, self.WORDS, self.WORDS, passes=1)
        assert len(curve) == 12
        assert model.get_weights() == [kept]

    def test_lengths_with_words_of_one_label_alone_are_left_out(self):
        labels = np.array([len(word) > 5 and word.count("a") % 2 == 0 for word in self.WORDS.words])
        words = LabelledWords(self.WORDS.words, labels, "abc")
        curve = context_free.train(Scripted(), words, words, passes=1)
        assert [point["length"] for point in curve] == [*range(6, 21, 2), 20, 20]

    @pytest.mark.parametrize("loss", [math.nan, math.inf])
    def test_a_loss_that_is_not_finite_ends_the_training_with_the_best_weights(self, loss, monkeypatch):
        scripted_errors(monkeypatch, [0.5, 0.25, 0.75])
        model = Scripted([1.0, 1.0, loss])
        curve = context_free.train(model, self.WORDS, self.WORDS, passes=2)
        assert len(curve) == len(model.fits) == 3
        assert model.get_weights() == [2]

    @pytest.mark.parametrize("losses", [[math.nan], [1.0, math.nan]])
    def test_weights_of_a_loss_that_is_not_finite_are_never_the_best(self, losses, monkeypatch):
        scripted_errors(monkeypatch, [0.5, 0.25][-len(losses) :])
        model = Scripted(losses)
        context_free.train(model, self.WORDS, self.WORDS, passes=2)
        assert model.get_weights() == [len(losses) - 1]

    @pytest.mark.usefixtures("quick")
    def test_a_network_learns_and_is_left_with_the_least_error(self):
        """Whether a word has a b; all words of up to three symbols are without."""
        texts = ["", "a", "c", "ac", *map("".join, itertools.product("abc", repeat=4))]
        words = LabelledWords(tuple(texts), np.array(["b" in text for text in texts]), "abc")
        model = context_free.network("SR-LSTM-P", 3, 4, CENTROIDS, seed=0)
        before = context_free.error(model, words)
        curve = context_free.train(model, words, words, passes=3, batch=8)
        assert [point["length"] for point in curve] == [4] * (2 * 3 + 3 * 3)
        assert curve[-1]["loss"] < curve[0]["loss"]
        least = min(point["validation_error"] for point in curve)
        assert context_free.error(model, words) == least < before

    @pytest.mark.slow
    @pytest.mark.usefixtures("quick")
    def test_killed_in_any_pass_it_ends_with_the_same_weights(self, tmp_path, monkeypatch):
        words = random_words([1, 2, 3] * 20, distinct=True)
        judge, whole, passes = context_free.error, context_free.network("SR-LSTM-P", 3, 4, CENTROIDS, seed=0), 1
        expected = context_free.train(whole, words, words, passes, batch=8, seed=4)
        checkpoint, kills = tmp_path / "run" / "training.npz", 0

        def killed(model, words):
            """Before every pass but the first is judged, once."""
            nonlocal kills
            if calls and len(expected) > kills + 1:
                kills += 1
                raise KeyboardInterrupt
            calls.append(1)
            return judge(model, words)

        monkeypatch.setattr(context_free, "error", killed)
        while True:
            model, calls = context_free.network("SR-LSTM-P", 3, 4, CENTROIDS, seed=kills), []
            try:
                found = context_free.train(model, words, words, passes, batch=8, seed=4, checkpoint=checkpoint)
                break
            except KeyboardInterrupt:
                continue
        assert kills == len(expected) - 1 >= 10
        for one, other in zip(found, expected, strict=True):
            assert {**one, "seconds": 0} == {**other, "seconds": 0}
        assert [point["seconds"] for point in found] == sorted(point["seconds"] for point in found)
        for one, other in zip(model.get_weights(), whole.get_weights(), strict=True):
            np.testing.assert_array_equal(one, other)
        assert [path.name for path in checkpoint.parent.iterdir()] == ["training.npz"]
        sentence = (
            rf"passes it began with\. Received: {2 * len(expected)} passes to length 3, and .* of {len(expected)} to 3"
        )
        with pytest.raises(ValueError, match=sentence):
            context_free.train(model, words, words, 2 * passes, batch=8, checkpoint=checkpoint)


class TestRun:
    CURVE = [
        {"step": 2, "seconds": 1.5, "length": 1, "loss": 0.75, "validation_error": 0.25},
        {"step": 4, "seconds": 2.5, "length": 2, "loss": 0.5, "validation_error": 0.375},
    ]

    def load(self, split):
        return random_words([5] * 6, {"train": 1, "validation": 2, "test_a": 3, "test_b": 4}[split])

    def test_a_record_that_exists_is_read_and_nothing_is_trained(self, tmp_path):
        path = tmp_path / "r.json"
        path.write_text('{"experiment": "e", "result": {"errors": {"test_a": 0.125}}}')

        def never(split):
            raise AssertionError

        found = context_free.run(path, "language", "small", "LSTM", never, ["test_a"], 4, CENTROIDS, 1, seed=0)
        assert found == ({"experiment": "e", "result": {"errors": {"test_a": 0.125}}}, None)
        assert path.read_text() == '{"experiment": "e", "result": {"errors": {"test_a": 0.125}}}'

    @pytest.mark.parametrize(("kind", "centroids"), [("LSTM", 0), ("SR-LSTM-P", CENTROIDS)])
    def test_a_record_says_what_was_trained_on_what_and_what_came_out(self, kind, centroids, tmp_path, monkeypatch):
        given = {}

        def train(model, words, validation, passes, seed, checkpoint):
            assert checkpoint is None
            given.update(words=words.words, validation=validation.words, passes=passes, seed=seed)
            model.layers[-1].kernel.assign_add(np.ones((4, 1)))
            return self.CURVE

        monkeypatch.setattr(context_free, "train", train)
        path = tmp_path / "new" / "r.json"
        tests = ["test_b", "test_a"]
        record, model = context_free.run(path, "language", "small", kind, self.load, tests, 4, CENTROIDS, 7, seed=9)
        words = self.load("train")
        assert given == {
            "words": words.words,
            "validation": self.load("validation").words,
            "passes": 7,
            "seed": 9,
        }
        fresh = context_free.network(kind, 3, 4, CENTROIDS, seed=9)
        fresh.layers[-1].kernel.assign_add(np.ones((4, 1)))
        for found, expected in zip(model.get_weights(), fresh.get_weights(), strict=True):
            np.testing.assert_array_equal(found, expected)
        assert record == {
            "experiment": "language",
            "data": {
                "config": "small",
                "words": 6,
                "positives": int(words.labels.sum()),
                "sha256": records.sha256(words.ids(), words.labels),
            },
            "model": {"layer": kind, "seed": 9, "parameters": fresh.count_params()},
            "protocol": {"units": 4, "centroids": centroids, "passes": 7},
            "result": {
                "errors": context_free.errors(fresh, {name: self.load(name) for name in tests}),
                "validation_error": 0.25,
                "seconds": 2.5,
            },
            "curve": self.CURVE,
        }
        written = json.loads(path.read_text())
        assert written.pop("environment")
        assert written.pop("format")
        assert written == record
        again, none = context_free.run(path, "language", "small", kind, None, tests, 4, CENTROIDS, 7, seed=9)
        assert none is None
        assert again.pop("environment")
        assert again.pop("format")
        assert again == record

    @pytest.mark.usefixtures("quick")
    def test_a_run_trains_and_judges_with_the_weights_it_kept(self, tmp_path):
        path = tmp_path / "r.json"
        tests = ["test_a", "test_b"]
        record, model = context_free.run(path, "language", "small", "LSTM", self.load, tests, 4, CENTROIDS, 1, 0)
        assert record["result"]["validation_error"] == context_free.error(model, self.load("validation"))
        assert record["result"]["errors"] == {name: context_free.error(model, self.load(name)) for name in tests}
        assert record["result"]["seconds"] == record["curve"][-1]["seconds"]


def test_a_record_of_other_settings_is_not_taken_for_this_run(tmp_path):
    path = tmp_path / "r.json"
    path.write_text('{"experiment": "e", "protocol": {"units": 3, "centroids": 0, "passes": 1}}')
    with pytest.raises(ValueError, match="made with the same settings. Received: .*'units': 4"):
        context_free.run(path, "x", "small", "LSTM", None, (), 4, 5, 1, 0)


def test_the_committed_records_have_the_usual_passes():
    folder = Path(__file__).parents[2] / "docs" / "records"
    for language in networks.PASSES:
        found = [json.loads(path.read_text()) for path in folder.glob(f"{language}-*.json")]
        assert found
        for record in found:
            assert record["protocol"]["passes"] == networks.usual_passes(language, record["data"]["config"])


def test_words_of_one_label_teach_nothing():
    words = LabelledWords(("a", "b"), np.array([True, True]), "ab")
    with pytest.raises(ValueError, match="Received: 2, 2 of them in it"):
        context_free.train(context_free.network("LSTM", 2, 2, 2, 0), words, words, 1)
