"""Outputs for texts with another symbol, against the oracle's loop and against one text after the other."""

import sys

import keras
import numpy as np
import pytest

from keras_interp_rnn import analysis, datasets, layers
from tests.analysis.isan.networks import network
from tests.oracles import isan as oracle

TEXT = [2, 0, 1, 1, 2]
MODULE = sys.modules["keras_interp_rnn.analysis.substitutions"]  # the package has a function of that name


def reader(seed=0):
    """An ISAN of random weights over three symbols."""
    return network(4, 3, 3, seed)[0]


def by_loop(text, seed=0):
    """The outputs after a text, by the oracle."""
    W, b, start, matrix, offset = network(4, 3, 3, seed)[1]
    return oracle.logits(matrix, offset, oracle.states(W, b, start, np.array([text])))[0]


@pytest.mark.parametrize(("seed", "memory"), [(0, MODULE.WORKING_MEMORY), (1, 4 * 3 * 4)])
@pytest.mark.parametrize("target", [-1, 1])
def test_outputs_of_every_text_are_those_of_the_oracle(seed, memory, target, monkeypatch):
    """All texts at once, and a few at a time."""
    monkeypatch.setattr(MODULE, "WORKING_MEMORY", memory)
    model = reader(seed)
    changed = analysis.substitutions(model, TEXT, alternatives=[1, 0], target=target)
    np.testing.assert_allclose(changed.original, by_loop(TEXT, seed)[target], atol=1e-5)
    for position in range(5):
        for i, other in enumerate((1, 0)):
            text = [*TEXT[:position], other, *TEXT[position + 1 :]]
            np.testing.assert_allclose(changed.outputs[position, i], by_loop(text, seed)[target], atol=1e-5)
    if target == 1:  # what is read later changes nothing
        np.testing.assert_allclose(changed.outputs[2:], np.broadcast_to(changed.original, (3, 2, 3)), atol=1e-6)


@pytest.mark.parametrize("batch", [2, 256])
def test_outputs_of_every_text_without_a_symbol_are_those_of_the_oracle(batch, monkeypatch):
    monkeypatch.setattr(MODULE, "BATCH", batch)
    model = reader()
    changed = analysis.substitutions(model, TEXT, alternatives=[1])
    assert changed.deleted.shape == (5, 3)
    for position in range(5):
        text = [*TEXT[:position], *TEXT[position + 1 :]]
        np.testing.assert_allclose(changed.deleted[position], by_loop(text)[-1], atol=1e-5)


def test_texts_that_cannot_be_shorter_have_no_deletions():
    assert analysis.substitutions(reader(), [1], alternatives=[0]).deleted is None
    assert analysis.substitutions(reader(), TEXT, alternatives=[0], target=1).deleted is None
    fixed = keras.Sequential([keras.Input((3,), dtype="int32"), keras.layers.Embedding(3, 2), keras.layers.GRU(2)])
    assert analysis.substitutions(fixed, [0, 1, 2], alternatives=[0]).deleted is None


def test_the_value_of_a_single_output_changes(monkeypatch):
    monkeypatch.setattr(MODULE, "BATCH", 4)
    keras.utils.set_random_seed(0)
    model = keras.Sequential([keras.layers.Embedding(5, 3), keras.layers.GRU(4), keras.layers.Dense(1)])
    changed = analysis.substitutions(model, [1, 2, 3], alternatives=[4, 0, 1], alphabet="-abcd")
    for position in range(3):
        for i, other in enumerate((4, 0, 1)):
            text = np.array([[1, 2, 3]])
            text[0, position] = other
            expected = model.predict_on_batch(text)[0, 0] - model.predict_on_batch(np.array([[1, 2, 3]]))[0, 0]
            assert changed.changes()[position, i] == pytest.approx(expected, abs=1e-6)
    assert changed.output_name(0) == "output 1 (index 0)"
    best = changed.top(1)[0]
    assert abs(best[2]) == np.abs(changed.changes()).max()
    assert 2 <= len(str(changed).splitlines()) <= 20
    assert str(changed).startswith("after 'abc': ")


def test_probabilities_are_left_as_they_are_and_logits_are_not():
    model = reader()
    logits = analysis.substitutions(model, TEXT, alphabet="abc")
    assert not logits.are_probabilities
    assert logits.output_name(2) == "c"
    soft = keras.Model(model.inputs[0], keras.layers.Softmax()(model.outputs[0]))
    probable = analysis.substitutions(soft, TEXT, alphabet="abc")
    assert probable.are_probabilities
    np.testing.assert_allclose(logits.probabilities()[0], probable.probabilities()[0], atol=1e-6)
    np.testing.assert_allclose(logits.changes(2), probable.outputs[..., 2] - probable.original[2], atol=1e-6)


def test_the_replacement_by_itself_changes_nothing_and_is_not_among_the_strongest():
    changed = analysis.substitutions(reader(), TEXT, alphabet="abc")
    for position, symbol in enumerate(TEXT):
        np.testing.assert_allclose(changed.outputs[position, symbol], changed.original, atol=1e-6)
    strongest = changed.top(10)
    assert [abs(change) for *_, change in strongest] == sorted((abs(change) for *_, change in strongest), reverse=True)
    assert changed.top() == strongest[:5]
    assert all(TEXT[position] != symbol for position, symbol, _ in strongest)
    assert analysis.substitutions(reader(), "cab", alphabet="abc").symbols.tolist() == [2, 0, 1]


@pytest.mark.parametrize("policy", ["mixed_bfloat16", "mixed_float16", "float32"])
def test_a_softmax_is_known_whatever_its_dtype(policy):
    keras.utils.set_random_seed(0)
    many = 2000
    head = keras.layers.Dense(many, activation="softmax", kernel_initializer="random_normal", dtype=policy)
    model = keras.Sequential(
        [keras.Input((None,), dtype="int32"), keras.layers.Embedding(many, 8), keras.layers.GRU(9), head]
    )
    changed = analysis.substitutions(model, [0, 1, 2], alternatives=[0, 1])
    assert changed.are_probabilities
    np.testing.assert_array_equal(changed.probabilities()[1], changed.original)


def test_a_subclassed_model_is_judged_by_its_outputs():
    class Reader(keras.Model):
        def __init__(self):
            super().__init__()
            self.table = keras.layers.Embedding(3, 3, embeddings_initializer="random_normal")

        def call(self, ids):
            return keras.ops.softmax(keras.ops.sum(self.table(ids), axis=1))

    assert analysis.substitutions(Reader(), TEXT, alphabet="abc").are_probabilities


def test_refuses_invalid_arguments():
    keeping = layers.ISAN(4, 3, stateful=True)
    stateful = keras.Sequential([keras.Input((None,), batch_size=2, dtype="int32"), keeping, keras.layers.Dense(3)])
    inside = keras.Sequential([keras.Input((None,), batch_size=2, dtype="int32"), stateful, keras.layers.Dense(3)])
    of_nan = network.__wrapped__(4, 3, 3, 0)[0]
    of_nan.set_weights([np.full(weight.shape, np.nan) for weight in of_nan.get_weights()])
    for model, text, named, message in (
        (reader(), [], {"alphabet": "abc"}, "`symbols` must be integers, at least one"),
        (reader(), [[0, 1]], {"alphabet": "abc"}, r"`symbols` must be .*Received: int64 of shape \(1, 2\)"),
        (reader(), [0.5], {"alphabet": "abc"}, "`symbols` must be integers"),
        (reader(), [0, 1], {}, "Received: neither alternatives nor an alphabet"),
        (reader(), "ab", {}, "Received: 'ab', without one"),
        (reader(), "axb", {"alphabet": "abc"}, "Received: 'x'"),
        (reader(), [0, 1], {"alternatives": [], "alphabet": "abc"}, "`alternatives` must be integers"),
        (
            reader(),
            [0, 1],
            {"alphabet": "abc", "target": 2},
            r"`target` must be an integer in \[-2, 2\). Received: target=2",
        ),
        (
            reader(),
            [0, 1],
            {"alternatives": [-1]},
            r"`alternatives` must lie in \[0, 2147483648\). Received: alternatives from -1",
        ),
        (
            reader(),
            [0, 1],
            {"alternatives": [2**33]},
            r"must lie in \[0, 2147483648\). Received: alternatives from 8589934592",
        ),
        (stateful, TEXT, {"alphabet": "abc"}, "must read each text from the start. Received: .*stateful=True"),
        (inside, TEXT, {"alphabet": "abc"}, "must read each text from the start. Received: .*stateful=True"),
        (
            keras.layers.GRU(2),
            [0, 1],
            {"alternatives": [0]},
            "must be a model. Received: <GRU.*Put the layer into one.",
        ),
        (of_nan, TEXT, {"alphabet": "abc"}, "weights must be finite"),
    ):
        with pytest.raises(ValueError, match=message) as error:
            analysis.substitutions(model, text, **named)
        assert "\n" not in str(error.value)


WORDS = ["<s>", "</s>", "bad", "good", "film"]


def critic(activation=None):
    """A network of words between two classes, with symbols before and after each text."""
    keras.utils.set_random_seed(1)
    ids = keras.Input((None,), dtype="int32")
    words = datasets.Alphabet(WORDS, start="<s>", end="</s>", split=str.split).layer()(ids)
    named = datasets.Outputs(["negative", "positive"]).layer()(words)
    head = keras.layers.Dense(1, activation, bias_initializer="ones")
    return keras.Model(ids, head(keras.layers.GRU(4)(keras.layers.Embedding(5, 3)(named))))


def test_symbols_before_and_after_a_text_stay_and_have_no_rows():
    changed = analysis.substitutions(critic(), "good film")
    np.testing.assert_array_equal(changed.tried, [False, True, True, False])
    assert {*changed.table().to_dict()["position"]} == {2, 3}
    assert {position for position, *_ in changed.top(20)} == {1, 2}
    _, described = changed.tag()
    assert described["fixed"] == [0, 3]
    assert "masked" not in described


@pytest.mark.parametrize(("activation", "unit"), [(None, "log-odds"), ("sigmoid", "probability"), ("tanh", "")])
def test_two_named_classes_have_a_verdict(activation, unit):
    changed = analysis.substitutions(critic(activation), "good film")
    assert changed.unit == unit
    caption, heading = changed.table().caption, changed.table().columns[-1].heading
    if not unit:
        assert changed.class_names == ()
        assert " sure" not in caption
        return
    part = changed.original[0] if unit == "probability" else 1 / (1 + np.exp(-changed.original[0]))
    name, sure = ("positive", part) if part > 0.5 else ("negative", 1 - part)
    assert f"”, {100 * sure:.0f}% sure; “" in caption
    assert f"“{name}”, " in caption
    assert heading == f"change of the {unit} of positive{', nats' if unit == 'log-odds' else ''}"
    assert f" changes the {unit} of positive most, by " in caption
