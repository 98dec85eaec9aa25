"""The events of Attributions, ShapleyValues, Substitutions and Traces, read back from the files."""

import keras
import numpy as np
import pytest
from scipy.special import softmax

from keras_interp_rnn import analysis, callbacks, layers, losses
from keras_interp_rnn._alphabet import with_token_ids
from keras_interp_rnn._outputs import MANY_OUTPUTS, TOP
from keras_interp_rnn.datasets import Alphabet
from tests.callbacks.events import described, events, isan_network, look, points

TEXTS = [np.array([2, 0, 1, 1, 2]), np.array([1])]


def test_shapley_values_are_those_of_analysis(tmp_path):
    model = isan_network()
    background = [0.5, 0.3, 0.2]
    look(model, callbacks.ShapleyValues(tmp_path, TEXTS, background=background, alphabet="_ab"))
    for i, text in enumerate(TEXTS):
        [(step, value)] = points(tmp_path / "shapley_values", f"shapley_values/text_{i}")
        assert step == 0
        expected = analysis.shapley_values(model, text, background=background)
        np.testing.assert_allclose(value[:-1], expected.values[1:, 0], rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(value[-1], expected.bias, rtol=1e-5, atol=1e-6)
        content = described(tmp_path / "shapley_values", f"shapley_values/text_{i}")
        assert content["symbols"] == ["_ab"[symbol] for symbol in text]
        assert content["outputs"] == ["_", "a", "b"]


def test_substitutions_are_those_of_analysis(tmp_path):
    model = isan_network()
    look(model, callbacks.Substitutions(tmp_path, TEXTS, alternatives="ab", alphabet="_ab"))
    for i, text in enumerate(TEXTS):
        [(_, value)] = points(tmp_path / "substitutions", f"substitutions/text_{i}")
        expected = analysis.substitutions(model, text, alternatives=[1, 2], alphabet="_ab")
        np.testing.assert_allclose(value[0], expected.original, atol=1e-6)
        replaced, deleted = np.split(value[1:], [2 * len(text)])
        np.testing.assert_allclose(replaced.reshape(len(text), 2, 3), expected.outputs, atol=1e-6)
        if len(text) > 1:
            np.testing.assert_allclose(deleted, expected.deleted, atol=1e-6)
        content = described(tmp_path / "substitutions", f"substitutions/text_{i}")
        assert (content["alternatives"], content["deletions"]) == (["a", "b"], len(text) > 1)


OF_LOGITS = keras.losses.SparseCategoricalCrossentropy(from_logits=True)


def recurrent(outputs, activation=None, sequences=False):
    keras.utils.set_random_seed(0)
    lstm = keras.layers.LSTM(4, return_sequences=sequences)
    head = keras.layers.Dense(outputs, activation)
    return keras.Sequential([keras.Input((None,), dtype="int32"), keras.layers.Embedding(3, 2), lstm, head])


@pytest.mark.parametrize("method", ["auto", "path_integral", "occlusion"])
@pytest.mark.parametrize("activation", [None, "softmax"])
def test_attributions_are_those_of_analysis(tmp_path, method, activation):
    model, text = recurrent(3, activation, sequences=activation is None), TEXTS[0]
    look(model, callbacks.Attributions(tmp_path, TEXTS, method=method, alphabet="_ab"), OF_LOGITS)
    [(step, value)] = points(tmp_path / "attributions", "attributions/text_0")
    content = described(tmp_path / "attributions", "attributions/text_0")
    estimated = method == "auto"
    assert (step, value.shape, content["kind"]) == (0, (len(text) * (2 + estimated) + 5, 3), "attribution")
    assert content["method"] == ("shapley" if method == "auto" else method)
    assert (content["errors"], content["both"], content["unit"]) == (estimated, True, "logit")
    assert (content["symbols"], content["outputs"]) == (["_ab"[symbol] for symbol in text], ["_", "a", "b"])
    outputs = keras.ops.convert_to_numpy(model(text[None]))[0]
    probabilities = outputs if activation else softmax(outputs[-1])
    numbers = value[0].astype(int)
    np.testing.assert_array_equal(numbers, np.argsort(-probabilities))
    np.testing.assert_allclose(value[1], probabilities[numbers], rtol=1e-5)
    for column, target in enumerate(numbers):
        one = analysis.attribution(model, text[None], target=int(target), method=method)
        np.testing.assert_allclose(value[2 : 2 + len(text), column], one.shares[0], rtol=1e-5, atol=1e-7)
        np.testing.assert_allclose(value[2 + len(text), column], one.reference_output[0], rtol=1e-5, atol=1e-7)
        end = 3 + len(text) * (1 + estimated)
        np.testing.assert_array_equal(value[3 + len(text) : end, column], 0)  # exact
        np.testing.assert_allclose(value[end, column], one.output[0], rtol=1e-5)
        np.testing.assert_allclose(value[end + 1 :, column], one.as_read[0], rtol=1e-5, atol=1e-7)
    [(_, residual)] = points(tmp_path / "attributions", "attributions_residual")
    found = [analysis.attribution(model, one[None], target=k, method=method) for one in TEXTS for k in range(3)]
    assert residual == pytest.approx(max(one.residual for one in found), rel=1e-5, abs=1e-12)


def test_attributions_to_many_outputs_are_those_to_the_most_probable(tmp_path):
    outputs = MANY_OUTPUTS + 1
    model, text = recurrent(outputs), TEXTS[0]
    look(model, callbacks.Attributions(tmp_path, [text]), OF_LOGITS)
    [(_, value)] = points(tmp_path / "attributions", "attributions/text_0")
    logits = keras.ops.convert_to_numpy(model(text[None]))[0]
    assert value.shape == (3 * len(text) + 5, TOP)
    whole = 2 * len(text) + 3
    np.testing.assert_array_equal(value[0], np.argsort(-logits)[:TOP])
    np.testing.assert_allclose(value[1], softmax(logits)[value[0].astype(int)], rtol=1e-5)
    np.testing.assert_allclose(value[2:whole].sum(axis=0), logits[value[0].astype(int)], atol=1e-6)
    np.testing.assert_allclose(value[whole], logits[value[0].astype(int)], atol=1e-6)
    np.testing.assert_allclose(value[-1], value[whole], rtol=1e-6)
    assert len(described(tmp_path / "attributions", "attributions/text_0")["outputs"]) == outputs


@pytest.mark.parametrize(
    ("loss", "are_numbers"),
    [
        ("mse", True),
        (["log_cosh"], True),
        (keras.losses.Huber(), True),
        (keras.losses.CategoricalCrossentropy(from_logits=True), False),
        (losses.BitsPerSymbol(), False),
        (lambda right, found: keras.ops.mean(found, axis=-1), False),
    ],
)
def test_outputs_of_a_regression_are_no_logits(tmp_path, loss, are_numbers):
    model, text = recurrent(3), TEXTS[0]
    look(model, callbacks.Attributions(tmp_path, [text]), loss)
    [(_, value)] = points(tmp_path / "attributions", "attributions/text_0")
    content = described(tmp_path / "attributions", "attributions/text_0")
    assert (content.get("unit", ""), content.get("values", False)) == (("", True) if are_numbers else ("logit", False))
    outputs = keras.ops.convert_to_numpy(model(text[None]))[0]
    expected = outputs if are_numbers else softmax(outputs)
    np.testing.assert_allclose(value[1], expected[value[0].astype(int)], rtol=1e-5, atol=1e-6)


def test_an_attribution_to_one_output_has_its_value(tmp_path):
    model, text = recurrent(1, "sigmoid"), TEXTS[0]
    look(model, callbacks.Attributions(tmp_path, [text]))
    [(_, value)] = points(tmp_path / "attributions", "attributions/text_0")
    [probability] = keras.ops.convert_to_numpy(model(text[None]))[0]
    np.testing.assert_allclose(value[:2, 0], [0, probability], rtol=1e-6)
    np.testing.assert_allclose(value[-1, 0], np.log(probability / (1 - probability)), rtol=1e-4, atol=1e-6)
    content = described(tmp_path / "attributions", "attributions/text_0")
    assert (content["outputs"], content["unit"]) == (["the output"], "log-odds")
    with pytest.raises(ValueError, match="`method` must be one of 'auto', 'shapley'.* Received: method='gradients'"):
        callbacks.Attributions(tmp_path, [text], method="gradients")


def test_the_work_for_an_attribution_is_kept_within_bounds(tmp_path):
    model, text = recurrent(2), np.tile(TEXTS[0], 8)
    with pytest.raises(ValueError, match="`max_work` must be .*Received: max_work=0"):
        callbacks.Attributions(tmp_path, [text], max_work=0)
    for work in (3000, 60_000):
        look(model, callbacks.Attributions(tmp_path / str(work), [text], max_work=work))
    errors = {}
    for work in (3000, 60_000):
        [(_, value)] = points(tmp_path / str(work) / "attributions", "attributions/text_0")
        errors[work] = value[43:83]
        one = analysis.attribution(model, text[None], target=int(value[0, 0]), max_work=work)
        np.testing.assert_allclose(value[2:42, 0], one.shares[0], atol=4 * one.standard_error.max())
    assert 0 < errors[60_000].max() < errors[3000].max()


@pytest.mark.parametrize("masked", [False, True])
def test_traces_are_those_of_analysis(tmp_path, masked):
    keras.utils.set_random_seed(0)
    gru = keras.layers.GRU(3, name="gru")
    model = keras.Sequential([keras.layers.Embedding(4, 2, mask_zero=masked), gru, keras.layers.Dense(1)])
    model.compile(keras.optimizers.SGD(0.0), "mse")
    x = np.array([[1, 2, 3, 1], [3, 2, 0, 0]])
    model.fit(x, np.ones((2, 1)), verbose=0, callbacks=[callbacks.Traces(tmp_path, x, tokens=["", "a", "b", "c"])])
    [(step, value)] = points(tmp_path / "traces", "trace/step_1")
    content = described(tmp_path / "traces", "trace/step_1")
    assert step == 1
    assert content["part_of"] == "interp_rnn/trace"
    assert content["tokens"] == [["a", "b", "c", "a"], ["c", "b", "∅", "∅"]]
    expected = analysis.trace(model, x)
    assert content["quantities"] == [[name, 3] for name in expected]
    for i, name in enumerate(expected):
        part = value[..., 3 * i : 3 * (i + 1)]
        if masked:
            assert np.isnan(part[1, 2:]).all()
            part, whole = part[:1], expected[name][:1]
        else:
            whole = expected[name]
        np.testing.assert_allclose(part, whole, rtol=1e-5, atol=1e-6)


def test_a_layer_that_reads_backwards_names_what_it_reads_first(tmp_path):
    model = keras.Sequential([keras.layers.Embedding(4, 2), keras.layers.GRU(3, go_backwards=True)])
    x = np.array([[1, 2, 3]])
    look(model, callbacks.Traces(tmp_path, x))
    tokens = described(tmp_path / "traces", "trace/step_0")["tokens"]
    assert tokens == [["3", "2", "1"]] == [list(row) for row in analysis.trace(model, x).tokens]


@pytest.mark.parametrize("both", [False, True])
def test_sequences_without_tokens_are_as_many_as_were_logged(both, tmp_path):
    gru = keras.layers.GRU(3)
    model = keras.Sequential([keras.Input((6, 2)), keras.layers.Bidirectional(gru) if both else gru])
    look(model, callbacks.Traces(tmp_path, np.random.default_rng(0).normal(size=(3, 6, 2))))
    assert described(tmp_path / "traces", "trace/step_0")["tokens"] == [[], [], []]
    [(_, values)] = points(tmp_path / "traces", "trace/step_0")
    assert values.shape[:2] == (3, 6)


TEXT_PROBES = [callbacks.Attributions, callbacks.Contributions, callbacks.ShapleyValues, callbacks.Substitutions]


@pytest.mark.parametrize("kind", TEXT_PROBES)
def test_rejects_other_texts(kind, tmp_path):
    for texts in ([], [[]], [[[1]]], [np.zeros((2, 3), int)], [np.zeros(kind.longest + 1, int)]):
        with pytest.raises(
            ValueError, match=rf"{kind.__name__} must have at least one text, each of 1 to {kind.longest} sy"
        ):
            kind(tmp_path, texts)
    for texts in ("abab", None, 5):
        with pytest.raises(
            ValueError, match="`texts` must be a list of texts. Received: texts=.*Pass .text. for one text."
        ):
            kind(tmp_path, texts)


WORDS = Alphabet.from_texts(["good good good bad bad film"])


def test_a_string_is_as_long_as_its_words(tmp_path):
    """Not as its letters, of which there may be more than symbols are allowed."""
    model = keras.Sequential([keras.Input((None,), dtype="int32"), WORDS.layer(), keras.layers.Embedding(7, 2)])
    model.add(keras.layers.GRU(2))
    look(model, callbacks.Attributions(tmp_path, ["good film " * 60]))
    assert len(described(tmp_path / "attributions", "attributions/text_0")["symbols"]) == 122
    with pytest.raises(ValueError, match=r"Attributions must have .* each of 1 to 500 symbols.*\(602,\)"):
        look(model, callbacks.Attributions(tmp_path, ["good film " * 300]))


def of_words(kind):
    keras.utils.set_random_seed(0)
    carried = [keras.Input((None,), dtype="int32"), WORDS.layer()]
    if kind == "ISAN":
        return keras.Sequential([*carried, layers.ISAN(3, 7, return_sequences=True), keras.layers.Dense(7)])
    return keras.Sequential(
        [*carried, keras.layers.Embedding(7, 3, mask_zero=True), layers.SRGRU(4, 3), keras.layers.Dense(1)]
    )


TEXT, IDS = ["Good film"], [[2, 4, 6, 3]]
INPUTS, ROWS = ["Good film", "bad"], np.array([[2, 4, 6, 3], [2, 5, 3, 0]])
READS_TEXTS = {
    "Attributions": ("SRGRU", {"texts": TEXT}, {"texts": IDS}),
    "Contributions": ("ISAN", {"texts": TEXT}, {"texts": IDS}),
    "ShapleyValues": ("ISAN", {"texts": TEXT}, {"texts": IDS}),
    "Substitutions": ("ISAN", {"texts": TEXT}, {"texts": IDS}),
    "Stability": ("ISAN", {"text": TEXT[0]}, {"text": IDS[0]}),
    "Traces": ("SRGRU", {"inputs": INPUTS}, {"inputs": ROWS}),
    "JacobianHistograms": ("SRGRU", {"inputs": INPUTS, "lags": [0, 2]}, {"inputs": ROWS, "lags": [0, 2]}),
    "TransitionProbabilities": ("SRGRU", {"inputs": INPUTS}, {"inputs": ROWS}),
    "Automaton": ("SRGRU", {}, {"alphabet": with_token_ids({"good": 4, "bad": 5, "film": 6}, 2, 3)}),
}


@pytest.mark.core
@pytest.mark.parametrize("name", READS_TEXTS)
def test_texts_are_read_and_named_by_what_the_model_carries(name, tmp_path):
    kind, texts, ids = READS_TEXTS[name]
    written = []
    for where, arguments in (("texts", texts), ("ids", ids)):
        look(of_words(kind), getattr(callbacks, name)(tmp_path / where, **arguments))
        [folder] = (tmp_path / where).iterdir()
        found = events(folder)
        written.append({tag: [event.tensor_proto for event in found.Tensors(tag)] for tag in found.Tags()["tensors"]})
        described_as = {tag: found.SummaryMetadata(tag).plugin_data.content for tag in written[-1]}
        if name not in ("Stability", "JacobianHistograms"):
            assert any(b'"good"' in content for content in described_as.values())
    assert written[0] == written[1]
