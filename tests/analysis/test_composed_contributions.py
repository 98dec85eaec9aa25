"""Contributions of heads that read the mean of the states, of masked steps, and in both directions."""

import functools

import keras
import numpy as np
import pytest
from scipy.special import expit, softmax

from keras_interp_rnn import analysis, layers
from tests.samples import passing_masks_on

SYMBOLS, UNITS, OUTPUTS = 5, 4, 3
MODES = ("concat", "sum", "ave")


def draw(*parts: keras.layers.Layer, seed: int = 0) -> keras.Model:
    model = keras.Sequential([keras.Input((None,), dtype="int32"), *parts])
    rng = np.random.default_rng(seed)
    for weight in model.weights:
        weight.assign(rng.normal(size=weight.shape) / np.sqrt(weight.shape[0]))
    return model


def isan(**flags) -> layers.ISAN:
    return layers.ISAN(UNITS, SYMBOLS, recurrent_constraint=None, dtype="float64", **flags)


def dense(activation=None) -> keras.layers.Dense:
    return keras.layers.Dense(OUTPUTS, activation, dtype="float64")


def run(model: keras.Model, text: np.ndarray) -> np.ndarray:
    return keras.ops.convert_to_numpy(model(keras.ops.convert_to_tensor(text[None])))[0]


def states(way, text: np.ndarray, silent: int | None) -> np.ndarray:
    """An ISAN's states h_1, ..., h_T by a loop, without the addend of the source `silent`; 0 is the initial state."""
    kernel, bias, state = (
        keras.ops.convert_to_numpy(w) for w in (way.cell.recurrent_kernel, way.cell.bias, way.cell.initial_state)
    )
    state = np.zeros_like(state) if silent == 0 else state
    found = []
    for step, symbol in enumerate(text, start=1):
        state = state @ kernel[symbol] + (0 if step == silent else bias[symbol])
        found.append(state)
    return np.array(found)


def outputs(model: keras.Model, text: np.ndarray, silent: int | None = None) -> np.ndarray:
    """The logits (M, outputs) of a model of an ISAN without the term of one source."""
    layer, *between, head = model.layers
    if isinstance(layer, keras.layers.Bidirectional):
        turned = silent if not silent else len(text) + 1 - silent
        ways = [states(layer.forward_layer, text, silent), states(layer.backward_layer, text[::-1], turned)]
        if layer.return_sequences:
            ways[1] = ways[1][::-1]
        else:
            ways = [way[-1:] for way in ways]
        joined = {"concat": np.concatenate(ways, axis=1), "sum": sum(ways), "ave": sum(ways) / 2}[layer.merge_mode]
    else:
        joined = states(layer, text, silent)
    if between:
        joined = joined.mean(axis=0, keepdims=True)
    kernel, bias = (keras.ops.convert_to_numpy(w) for w in head.weights)
    return joined @ kernel + bias


pool = functools.partial(keras.layers.GlobalAveragePooling1D, dtype="float64")
both = functools.partial(keras.layers.Bidirectional, dtype="float64")
COMPOSED = {
    "mean": lambda: (isan(return_sequences=True), pool(), dense()),
    **{f"both, {mode}": lambda mode=mode: (both(isan(), merge_mode=mode), dense()) for mode in MODES},
    "both, every step": lambda: (both(isan(return_sequences=True)), dense()),
    "both, mean": lambda: (both(isan(return_sequences=True)), pool(), dense()),
}


@pytest.mark.parametrize("kind", COMPOSED)
@pytest.mark.parametrize("seed", [0, 1])
def test_a_term_is_the_loss_of_the_logits_without_its_source(kind, seed):
    model = draw(*COMPOSED[kind](), seed=seed)
    text = np.random.default_rng(seed).integers(0, SYMBOLS, 7).astype("int32")
    split = analysis.contributions(model, text)
    assert split.residual < 1e-12
    np.testing.assert_allclose(split.logits, outputs(model, text), atol=1e-12)
    np.testing.assert_allclose(split.logits.squeeze(), run(model, text), atol=1e-12)
    assert split.targets.tolist() == ([*range(1, 8)] if "every" in kind else [7])
    for source in range(8):
        lost = split.logits - outputs(model, text, silent=source)
        np.testing.assert_allclose(split.values[source], lost, atol=1e-12)


def test_the_mean_of_logits_is_that_of_the_states():
    model = draw(isan(return_sequences=True), dense(), pool(), dense("softmax"))
    text = np.array([1, 2, 0, 3, 4, 1, 1], np.int32)
    split = analysis.contributions(model, text)
    assert split.residual < 1e-12
    np.testing.assert_allclose(softmax(split.logits[0]), run(model, text), atol=1e-12)


RECURRENCES = {
    "MinGRU": lambda **flags: layers.MinGRU(UNITS, dtype="float64", **flags),
    "LRU": lambda **flags: layers.LRU(UNITS, dtype="float64", **flags),
    "DeltaNet": lambda **flags: layers.DeltaNet(UNITS, 2, normalize=False, dtype="float64", **flags),
}


def masked(kind: str, form: str) -> keras.Model:
    embedding = keras.layers.Embedding(SYMBOLS, 3, mask_zero=True, dtype="float64")
    layer = RECURRENCES[kind](return_sequences=form != "last" and form != "both")
    parts = {"last": [layer], "mean": [layer, pool()]}
    parts["both"] = [both(layer)]
    parts["both, mean"] = [passing_masks_on(both(layer)), pool()]
    return draw(embedding, *parts[form], dense("sigmoid"))


@pytest.mark.parametrize("kind", RECURRENCES)
@pytest.mark.parametrize("form", ["last", "mean", "both", "both, mean"])
def test_masked_steps_have_no_share(kind, form):
    model = masked(kind, form)
    text = np.array([0, 0, 3, 1, 0, 4, 2, 0], np.int32)
    split = analysis.contributions(model, text, targets=-1)
    assert split.residual < 1e-12
    np.testing.assert_allclose(expit(split.logits[0]), run(model, text), atol=1e-12)
    assert not split.values[1:][text == 0].any()
    assert split.values[1:][text != 0].any(axis=(1, 2)).all()
    read = analysis.contributions(model, text[text != 0], targets=-1)
    np.testing.assert_allclose(read.values[1:], split.values[1:][text != 0], atol=1e-12)


@pytest.mark.parametrize("form", ["mean", "both", "both, mean"])
def test_an_attribution_takes_the_exact_split_wherever_there_is_one(form):
    model = masked("MinGRU", form)
    batch = np.array([[3, 1, 0, 4], [2, 2, 1, 0]], np.int32)
    found = analysis.attribution(model, batch, target=1)
    assert found.method == "contributions"
    assert max(found.residual, found.difference) < 1e-12
    for shares, text in zip(found.shares, batch, strict=True):
        expected = analysis.contributions(model, text, targets=-1).values[1:, 0, 1]
        np.testing.assert_array_equal(shares, expected)
    assert analysis.attribution(model, batch, target=1, mask=None, reference=np.zeros(3)).method == "shapley"


def test_the_attribution_of_a_stack_does_not_take_the_layers_below_as_given():
    embedding = keras.layers.Embedding(SYMBOLS, 3, dtype="float64")
    below = keras.layers.GRU(3, return_sequences=True, dtype="float64")
    model = draw(embedding, below, RECURRENCES["MinGRU"](), dense())
    assert analysis.contributions(model, [1, 2, 3]).given == model.layers[-2].name
    assert analysis.attribution(model, [[1, 2, 3]], target=0).method == "shapley"


def test_a_network_with_masks_is_an_automaton_whose_padding_changes_nothing():
    model, text = masked("MinGRU", "last"), np.array([0, 3, 1, 0, 2, 0], np.int32)
    shares = analysis.shapley_values(model, text)
    np.testing.assert_allclose(expit(shares.logits[0]), run(model, text), atol=1e-12)


@pytest.mark.parametrize(
    ("parts", "arguments", "message"),
    [
        ("mean", {"targets": 2}, "must be its last step"),
        ("both, sum", {"targets": [1, 7]}, "must be its last step"),
        ("mean", {"origin": "initial"}, "`origin` must be None unless"),
        ("mean", {"by_feature": True}, "reads symbols"),
    ],
)
def test_refuses_targets_origins_and_features_of_such_networks(parts, arguments, message):
    model = draw(*COMPOSED[parts]())
    with pytest.raises(ValueError, match=message):
        analysis.contributions(model, [1, 2, 0, 3, 4, 1, 1], **arguments)


def test_refuses_other_poolings_merges_and_masks():
    for parts in (
        (isan(return_sequences=True), keras.layers.GlobalMaxPooling1D(), dense()),
        (isan(return_sequences=True), pool(data_format="channels_first"), keras.layers.Dense(2)),
        (isan(return_sequences=True), keras.layers.Masking(), pool(), dense()),
        (both(isan(), merge_mode="mul"), dense()),
        (both(isan(go_backwards=True), backward_layer=isan()), dense()),
    ):
        try:
            model = draw(*parts)
        except ValueError:  # Keras itself builds no such model
            continue
        with pytest.raises(ValueError, match=r"analysis\.attribution|Pass the ISAN layer"):
            analysis.contributions(model, [1, 2, 3])
    with pytest.raises(ValueError, match="at least one step"):
        analysis.contributions(masked("MinGRU", "mean"), [0, 0])
    model = draw(*COMPOSED["both, mean"]())
    for function in (analysis.shapley_values, analysis.affine_map):
        with pytest.raises(ValueError, match="one direction"):
            function(model, [1, 2])
    with pytest.raises(ValueError, match="read the states themselves"):
        analysis.shapley_values(draw(*COMPOSED["mean"]()), [1, 2])
