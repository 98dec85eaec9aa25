"""What Contributions writes, read back from the event files."""

import json

import keras
import numpy as np
import pytest
from tensorboard import errors

from keras_interp_rnn import analysis, layers
from keras_interp_rnn.callbacks import Contributions, contributions
from tensorboard_plugins.interp_rnn import schema
from tests.analysis.isan.networks import network
from tests.callbacks.events import described, isan_network, look, points
from tests.oracles import isan as oracle
from tests.tensorboard_plugin.test_backend import cut, get, plugin_over

TEXTS = [np.array([2, 0, 1, 1, 2]), np.array([1])]


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """Where two steps of a training were written, and the model."""
    folder, model = tmp_path_factory.mktemp("trained"), isan_network()
    model.compile(keras.optimizers.SGD(0.0), keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    symbols = np.random.default_rng(1).integers(0, 3, (4, 6))
    watch = Contributions(folder, TEXTS, alphabet="_ab")
    model.fit(symbols[:, :-1], symbols[:, 1:], 2, verbose=0, callbacks=[watch])
    return folder / "contributions", model


@pytest.mark.parametrize("text", [0, 1])
def test_every_term_of_every_target_is_where_the_schema_says(trained, text):
    folder, model = trained
    kernel, bias, start, readout, readout_bias = (np.array(w, np.float64) for w in model.get_weights())
    expected = oracle.contributions(kernel.transpose(0, 2, 1), bias, start, readout.T, TEXTS[text])
    series = f"contributions/text_{text}"
    residuals = points(folder, "contributions_residual")
    assert [step for step, _ in residuals] == [0, 2]
    assert all(0 <= value < 1e-12 for _, value in residuals)
    for step in (0, 2):
        [(found, written)] = points(folder, f"{series}/step_{step}")
        assert found == step
        length = len(TEXTS[text])
        assert written.shape == (length * (length + 3) // 2 + 1, 3)
        assert written.dtype == np.float32
        for t in range(1, length + 1):
            np.testing.assert_allclose(written[schema.target_rows(t)], expected[: t + 1, t - 1], atol=1e-6)
        np.testing.assert_allclose(written[-1], readout_bias, atol=1e-6)
        assert schema.target_rows(length).stop == len(written) - 1
        content = described(folder, f"{series}/step_{step}")
        assert schema.described(json.dumps(content).encode()) == content
        assert content["part_of"] == f"interp_rnn/{series}"
        assert content["symbols"] == ["_ab"[symbol] for symbol in TEXTS[text]]
        assert content["outputs"] == ["_", "a", "b"]


@pytest.mark.parametrize(
    ("texts", "alphabet", "symbols", "outputs"),
    [
        (TEXTS, "\n \x07", [r"\x07", "⏎", "␣", "␣", r"\x07"], ["⏎", "␣", r"\x07"]),  # visible
        (["ca", "b"], "abc", ["c", "a"], ["a", "b", "c"]),
    ],
)
def test_texts_are_read_and_shown_by_the_alphabet(tmp_path, texts, alphabet, symbols, outputs):
    look(isan_network(), Contributions(tmp_path, texts, alphabet=alphabet))
    content = described(tmp_path / "contributions", "contributions/text_0/step_0")
    assert (content["symbols"], content["outputs"]) == (symbols, outputs)


def test_rejects_a_head_that_does_not_split_before_the_training(tmp_path):
    model = isan_network(keras.layers.Activation("softmax"), keras.layers.Dense(3))
    with pytest.raises(ValueError, match="Dense layers alone must read"):
        look(model, Contributions(tmp_path, TEXTS))


SYMBOLS = 9
ROWS = 5 * (5 + 7) // 2  # of the blocks of five symbols


@pytest.fixture(params=[0, 1])
def large(request, tmp_path, monkeypatch):
    """What is written of five symbols where each may have two outputs of nine, and the terms of all by the paper."""
    model, (*paper, readout_bias) = network(4, SYMBOLS, SYMBOLS, request.param)
    text = np.random.default_rng(request.param).integers(0, SYMBOLS, 5)
    monkeypatch.setattr(contributions, "MAX_NUMBERS", 4 * ROWS + 3)
    monkeypatch.setattr(contributions.analysis, "contributions", None)  # splits all outputs
    look(model, Contributions(tmp_path, [text], alphabet="abcdefghi"))
    [(_, written)] = points(tmp_path / "contributions", "contributions/text_0/step_0")
    content = described(tmp_path / "contributions", "contributions/text_0/step_0")
    return tmp_path / "contributions", written, content, oracle.contributions(*paper, text), readout_bias


class TestManyOutputs:
    def test_the_most_probable_have_terms_and_the_others_their_sum(self, large):
        folder, written, content, terms, bias = large
        [(_, residual)] = points(folder, "contributions_residual")
        assert 0 <= residual < 1e-12
        assert written.shape == (ROWS, 2 + 2)
        assert schema.described(json.dumps(content).encode()) == content
        assert (content["kind"], content["top"]) == ("top_contributions", 2)
        assert content["outputs"] == list("abcdefghi")
        for t in range(1, 6):
            block = written[schema.block_rows(t)]
            expected = terms[: t + 1, t - 1]
            logits = expected.sum(axis=0) + bias
            probabilities = np.exp(logits) / np.exp(logits).sum()
            order = np.argsort(-logits)
            top, others = order[:2], order[2:]
            np.testing.assert_array_equal(block[0, :2], top)
            np.testing.assert_allclose(block[0, 2:], [probabilities[others].sum(), 0], rtol=1e-6)
            np.testing.assert_allclose(block[1:-1, :2], expected[:, top], atol=1e-5)
            np.testing.assert_allclose(block[1:-1, 2], expected[:, others].sum(axis=1), atol=1e-5)
            np.testing.assert_allclose(block[1:-1, 3], np.linalg.norm(expected, axis=1), atol=1e-5)
            np.testing.assert_allclose(block[-1], [*bias[top], bias[others].sum(), 0], atol=1e-6)

    def test_the_plugin_gives_the_block_of_a_target_and_the_norms_of_all(self, large):
        folder, written, _, terms, _ = large
        served, where = plugin_over(folder), {"run": ".", "tag": "interp_rnn/contributions/text_0"}
        series = get(served, "/series", **where)
        assert (series["top"], series["steps"], series["left_out"]) == (2, [0], [])
        for t in range(1, 6):
            np.testing.assert_array_equal(cut(served, **where, step=0, index=t), written[schema.block_rows(t)])
        norms = cut(served, **where, step=0)
        assert norms.shape == (6, 5)
        for t in range(1, 6):
            np.testing.assert_allclose(norms[: t + 1, t - 1], np.linalg.norm(terms[: t + 1, t - 1], axis=1), atol=1e-5)
            assert not norms[t + 1 :, t - 1].any()

    @pytest.mark.parametrize("length", [1, 20, 100, 500, Contributions.longest])
    @pytest.mark.parametrize("outputs", [2, 27, 5_000])
    def test_a_text_of_any_length_fits(self, length, outputs):
        whole = (schema.target_rows(length).stop + 1) * outputs
        rows = schema.block_rows(length).stop
        top = contributions.MAX_NUMBERS // rows - 2
        assert whole <= contributions.MAX_NUMBERS or 2 <= top < outputs - 1
        assert rows * (top + 2) <= contributions.MAX_NUMBERS

    def test_rejects_a_longer_text(self, tmp_path):
        with pytest.raises(ValueError, match="at least one text, each of 1 to 1444 symbols"):
            Contributions(tmp_path, [np.zeros(1_445, int)])
        longest = Contributions.longest + 1
        assert 4 * schema.block_rows(longest).stop > contributions.MAX_NUMBERS


@pytest.mark.parametrize("outputs", [4, 70])
@pytest.mark.parametrize("kind", ["mean", "two-way"])
def test_of_a_network_that_reads_a_text_as_a_whole_the_last_target_is_written(kind, outputs, tmp_path, monkeypatch):
    monkeypatch.setattr(contributions, "MAX_NUMBERS", 100)
    keras.utils.set_random_seed(0)
    isan = layers.ISAN(4, 3, return_sequences=kind == "mean")
    read = [isan, keras.layers.GlobalAveragePooling1D()] if kind == "mean" else [keras.layers.Bidirectional(isan)]
    model = keras.Sequential([keras.Input((None,), dtype="int32"), *read, keras.layers.Dense(outputs)])
    look(model, Contributions(tmp_path, TEXTS[:1]))
    [(_, written)] = points(tmp_path / "contributions", "contributions/text_0/step_0")
    content = described(tmp_path / "contributions", "contributions/text_0/step_0")
    split = analysis.contributions(model, TEXTS[0])
    assert content["first"] == 5
    if outputs == 4:
        np.testing.assert_allclose(written, [*split.values[:, 0], split.bias], rtol=1e-6)
    else:
        assert (content["top"], written.shape) == (100 // 8 - 2, (8, 100 // 8))
        np.testing.assert_allclose(written[1:-1, :-2], split.values[:, 0, written[0, :-2].astype(int)], rtol=1e-6)
    served, where = plugin_over(tmp_path / "contributions"), {"run": ".", "tag": "interp_rnn/contributions/text_0"}
    np.testing.assert_array_equal(cut(served, **where, step=0, index=5), written)
    with pytest.raises(errors.InvalidArgumentError, match=r"index must lie in \[5, 5\]"):
        cut(served, **where, step=0)
