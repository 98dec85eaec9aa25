"""Generated text: logits are those of the model on all symbols before, and symbols follow their probabilities."""

import keras
import numpy as np
import pytest
import scipy.stats

from keras_interp_rnn import analysis, layers
from keras_interp_rnn._network import Stepper
from keras_interp_rnn.analysis.generation import _draw
from keras_interp_rnn.datasets import Alphabet
from tests.samples import passing_masks_on

pytestmark = pytest.mark.core(2)  # cases are flags, or another layer in the same way


K = 7
TEXT = np.random.default_rng(5).integers(0, K, 23)

STEPS = {"return_sequences": True}
# Layers that read ids; all others read an embedding.
OF_IDS = {
    "ISAN": lambda **kw: [layers.ISAN(6, K, **STEPS, **kw)],
    "FactoredISAN": lambda **kw: [layers.FactoredISAN(6, 3, K, **STEPS, **kw)],
}
OF_VECTORS = {
    "MinimalRNN": lambda **kw: [layers.MinimalRNN(6, **STEPS, **kw)],
    "CFN": lambda **kw: [layers.CFN(6, **STEPS, **kw)],
    "PeepholeLSTM": lambda **kw: [layers.PeepholeLSTM(6, **STEPS, **kw)],
    "SRGRU": lambda **kw: [layers.SRGRU(6, 4, **STEPS, **kw)],
    "SRLSTM": lambda **kw: [layers.SRLSTM(6, 4, transition="gumbel", **STEPS, **kw)],
    "SRPeepholeLSTM": lambda **kw: [layers.SRPeepholeLSTM(6, 4, transition="soft_argmax", **STEPS, **kw)],
    "SRSimpleRNN": lambda **kw: [layers.SRSimpleRNN(6, 4, **STEPS, **kw)],
    "SimpleRNN": lambda **kw: [keras.layers.SimpleRNN(6, **STEPS, **kw)],
    "LSTM": lambda **kw: [keras.layers.LSTM(6, **STEPS, **kw)],
    "GRU": lambda **kw: [keras.layers.GRU(6, **STEPS, **kw)],
    "GRU, reset before": lambda **kw: [keras.layers.GRU(6, reset_after=False, **STEPS, **kw)],
    "RNN of cells": lambda **kw: [
        keras.layers.RNN([keras.layers.LSTMCell(6), layers.MinimalRNNCell(5), keras.layers.GRUCell(4)], **STEPS, **kw)
    ],
    "stack": lambda **kw: [
        passing_masks_on(keras.layers.LSTM(5, **STEPS, **kw)),
        keras.layers.LayerNormalization(),
        keras.layers.Dropout(0.5),
        layers.MinimalRNN(6, **STEPS, **kw),
    ],
    "last output": lambda **kw: [passing_masks_on(keras.layers.GRU(5, **STEPS, **kw)), layers.CFN(6, **kw)],
}


def network(name, shape=(None,), batch_size=None, mask_zero=False, head=(), dtype="float32", **flags):
    """A model with random asymmetric weights."""
    of_ids = name in OF_IDS
    recurrent = (OF_IDS if of_ids else OF_VECTORS)[name](**flags)
    model = keras.Sequential(
        [
            keras.Input(shape, batch_size=batch_size, dtype="int32"),
            *([] if of_ids else [keras.layers.Embedding(K, 5, mask_zero=mask_zero)]),
            *recurrent,
            keras.layers.Dense(K, dtype=dtype),
            *head,
        ]
    )
    rng = np.random.default_rng(len(name))
    # Temperature and strength are weights of state-regularized cells too, and stay.
    for weight in model.weights:
        if len(weight.shape):
            weight.assign(rng.normal(size=weight.shape) * 0.5)
    return model


def stepped(model, text):
    stepper = Stepper(model, text)
    stepper.check(text)
    return np.array([stepper.read(int(symbol)) for symbol in text])


def whole(model, text):
    """The logits of every step: of all steps at once, or of every beginning of the text."""
    found = keras.ops.convert_to_numpy(model(text[None]))
    if found.ndim == 3:
        return found[0]
    return np.concatenate([keras.ops.convert_to_numpy(model(text[None, : t + 1])) for t in range(len(text))])


@pytest.mark.parametrize("name", [*OF_IDS, *OF_VECTORS])
def test_the_logits_are_those_of_the_model_on_the_whole_text(name):
    model = network(name)
    expected = whole(model, TEXT)
    assert np.ptp(expected, axis=0).min() > 1e-3, "the states matter"
    np.testing.assert_allclose(stepped(model, TEXT), expected, rtol=1e-4, atol=1e-5)
    # Nothing of the model has changed, and no layer has been called on other symbolic inputs.
    np.testing.assert_array_equal(whole(model, TEXT), expected)
    assert all(len(layer._inbound_nodes) == 1 for layer in model.layers)


@pytest.mark.parametrize("name", ["ISAN", "MinimalRNN", "SRGRU", "LSTM", "RNN of cells"])
def test_batch_size_length_and_carried_states_of_the_layer_do_not_matter(name):
    fixed = network(name, (4,), 3, stateful=True)
    fixed(np.random.default_rng(0).integers(0, K, (3, 4)))
    free = network(name)
    free.set_weights(fixed.get_weights())
    before = [keras.ops.convert_to_numpy(x) for x in keras.tree.flatten(fixed.layers[-2].states)]
    np.testing.assert_allclose(stepped(fixed, TEXT), whole(free, TEXT), rtol=1e-4, atol=1e-5)
    after = [keras.ops.convert_to_numpy(x) for x in keras.tree.flatten(fixed.layers[-2].states)]
    for x, y in zip(before, after, strict=True):
        np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize("flags", [{}, {"zero_output_for_mask": True}])
@pytest.mark.parametrize("name", ["LSTM", "MinimalRNN", "stack"])
def test_masked_symbols_keep_the_states(name, flags):
    model = network(name, mask_zero=True, **flags)
    assert (TEXT == 0).sum() > 2
    for text in (TEXT, np.array([0, 0, *TEXT])):
        np.testing.assert_allclose(stepped(model, text), whole(model, text), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dtype", ["float64", "mixed_bfloat16"])
@pytest.mark.parametrize("name", ["ISAN", "LSTM"])
def test_states_keep_their_dtype(name, dtype):
    keras.config.set_dtype_policy(dtype)
    try:
        model = network(name, dtype=None)
        bound = 1e-12 if dtype == "float64" else 0.05
        np.testing.assert_allclose(stepped(model, TEXT), whole(model, TEXT).astype(float), rtol=bound, atol=bound)
    finally:
        keras.config.set_dtype_policy("float32")


def test_functional_models_nested_models_and_softmax():
    inner = keras.Sequential([keras.Input((None, 5)), keras.layers.GRU(4, **STEPS), keras.layers.Dense(5)])
    recurrent = keras.layers.LSTM(5, return_state=True, **STEPS)
    symbols = keras.Input((None,), dtype="int32")
    embedded = keras.layers.Embedding(K, 5)(symbols)
    outputs, _, _ = recurrent(embedded)
    twice, _, _ = recurrent(inner(embedded) * 2)  # the same layer, with states of its own
    model = keras.Model(symbols, keras.layers.Dense(K)(keras.layers.Concatenate()([outputs, twice, embedded])))
    rng = np.random.default_rng(0)
    model.set_weights([rng.normal(size=w.shape) for w in model.get_weights()])
    np.testing.assert_allclose(stepped(model, TEXT), whole(model, TEXT), rtol=1e-4, atol=1e-5)
    for head in (keras.layers.Softmax(), keras.layers.Dense(K, activation="softmax")):
        model = network("GRU", head=[head])
        expected = np.log(whole(model, TEXT))
        for each in (model, keras.Sequential([model])):
            np.testing.assert_allclose(stepped(each, TEXT), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["ISAN", "stack"])
def test_at_infinite_inverse_temperature_every_symbol_is_the_most_probable(name):
    model = network(name)
    written = analysis.generate(model, TEXT[:3], num_symbols=20, inverse_temperature=np.inf)
    assert written.dtype == np.int32
    np.testing.assert_array_equal(written[:3], TEXT[:3])
    np.testing.assert_array_equal(written[3:], whole(model, written)[2:-1].argmax(axis=1))
    np.testing.assert_array_equal(
        analysis.generate(model, TEXT[:3], num_symbols=20, inverse_temperature=1e6, seed=1), written
    )


@pytest.mark.parametrize("inverse_temperature", [0.0, 0.5, 1.0, 3.0])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_symbol_is_drawn_with_its_probability(inverse_temperature, seed):
    logits, rng = np.random.default_rng(seed).normal(size=K) * 1.5 - 400, np.random.default_rng(seed)
    logits[3] = -np.inf
    drawn = np.bincount([_draw(logits, inverse_temperature, rng) for _ in range(20_000)], minlength=K)
    assert drawn[3] == 0, "what is impossible stays so"
    possible = np.delete(logits, 3)
    p = np.exp(inverse_temperature * (possible - possible.max()))
    assert scipy.stats.chisquare(np.delete(drawn, 3), 20_000 * p / p.sum()).pvalue > 1e-3


@pytest.mark.parametrize(("name", "inverse_temperature"), [("ISAN", 0.7), ("SRLSTM", 2.0)])
def test_every_symbol_is_drawn_from_the_models_logits_on_all_before(name, inverse_temperature):
    model = network(name)
    written = analysis.generate(model, TEXT[:2], num_symbols=20, inverse_temperature=inverse_temperature, seed=6)
    logits, rng = whole(model, written), np.random.default_rng(6)
    drawn = [_draw(row.astype(float), inverse_temperature, rng) for row in logits[1:-1]]
    np.testing.assert_array_equal(written[2:], drawn)
    assert len(np.unique(written)) > 3


def test_a_seed_determines_the_text():
    model = network("MinimalRNN")

    def written(**seed):
        return analysis.generate(model, [1], num_symbols=30, **seed).tolist()

    assert written(seed=3) == written(seed=3) != written(seed=4)
    assert written(seed=None) != written(seed=None)
    assert written() == written(seed=0)
    assert analysis.generate(model, [1, 2], num_symbols=0).tolist() == [1, 2]
    # Not told its input, a model learns it from the prompt.
    model = keras.Sequential([keras.layers.Embedding(K, 3), keras.layers.GRU(4, **STEPS), keras.layers.Dense(K)])
    assert len(analysis.generate(model, [1, 2], num_symbols=3)) == 5


def test_a_string_is_continued_by_a_string():
    alphabet = Alphabet("abc\n ?é", unknown="?")
    model = network("ISAN")
    ids = analysis.generate(model, [2, 3, 5, 0], num_symbols=12)
    expected = alphabet.decode(ids)
    assert analysis.generate(model, "c\nXa", num_symbols=12, alphabet=alphabet) == expected
    assert analysis.generate(model, [2, 3, 5, 0], num_symbols=12, alphabet=alphabet) == expected
    assert analysis.generate(model, "c\n?a", num_symbols=12, alphabet=alphabet.symbols) == expected
    carrying = keras.Sequential([keras.Input((None,), dtype="int32"), alphabet.layer(), *model.layers])
    assert analysis.generate(carrying, "c\nXa", num_symbols=12) == expected
    assert analysis.generate(carrying, ids[:4], num_symbols=12).tolist() == ids.tolist()


def a_model(*middle):
    ids, embedding = keras.Input((None,), dtype="int32"), keras.layers.Embedding(K, 5)
    return keras.Sequential([ids, embedding, *middle, keras.layers.Dense(K)])


class Wrapped(keras.Model):
    def call(self, ids):
        return keras.ops.one_hot(ids, K)


REFUSED = {
    "Bidirectional": (
        lambda: a_model(keras.layers.Bidirectional(keras.layers.GRU(3, **STEPS))),
        "must read forwards.*Received: backward_gru.*, which reads from the end",
    ),
    "backwards": (
        lambda: a_model(keras.layers.GRU(3, go_backwards=True, **STEPS)),
        "must read forwards, each step alike.*Received: gru.*, which reads from the end",
    ),
    "last step": (
        lambda: a_model(layers.SRGRU(3, 2, regularize_last_step=False, **STEPS)),
        "each step alike.*Received: srgru.*, which treats the last step otherwise",
    ),
    "convolution": (
        lambda: a_model(keras.layers.Conv1D(4, 3, padding="same"), keras.layers.GRU(3, **STEPS)),
        "Only recurrent layers, and causal .* must look back.*outputs are .* apart.*Leave out other layers that mix",
    ),
    "noise": (
        lambda: a_model(layers.SRGRU(6, 4, transition="sample", centroids_initializer="normal", **STEPS)),
        "no layer must draw noise.*outputs are .* apart.*Leave out .* layers that draw noise",
    ),
    "layer": (lambda: layers.ISAN(3, K), "must be a model, from ids to logits.*Received: <ISAN"),
    "one-hot": (
        lambda: keras.Sequential([keras.Input((None, K)), layers.ISAN(3, K, **STEPS), keras.layers.Dense(K)]),
        r"must be .*read ids \(batch, time\).*Received: sequential.*with inputs and outputs of \[3, 3\] axes",
    ),
    "no graph": (Wrapped, r"must be Sequential or functional.*Received: wrapped.*, a Wrapped"),
}


def drawn(model, seed=0):
    rng = np.random.default_rng(seed)
    model.set_weights([rng.normal(size=w.shape) * 0.8 for w in model.get_weights()])
    return model


def with_an_impossible_symbol(model):
    model.layers[-1].bias.assign(np.array([-1e9, *np.zeros(K - 1)]))
    return model


class UntilTheFirst0(keras.layers.Layer):
    """One-hot vectors, masked from the first id 0 on."""

    supports_masking = True

    def call(self, ids):
        return keras.ops.one_hot(ids, K)

    def compute_mask(self, ids, mask=None):
        return keras.ops.cumprod(keras.ops.cast(keras.ops.not_equal(ids, 0), "int32"), axis=1) > 0


def gru():
    return keras.layers.GRU(6, **STEPS)


def looking_back(**options):
    """A causal convolution in groups, which is not read step by step."""
    return keras.layers.Conv1D(5, 2, padding="causal", groups=5, **options)


LOOKING_BACK = {
    "a convolution, and a symbol that is impossible": (
        lambda: with_an_impossible_symbol(drawn(a_model(looking_back(), gru()))),
        [3, 1, 2],
    ),
    "a mean, after one symbol": (lambda: drawn(a_model(keras.layers.GlobalAveragePooling1D())), [3]),
    "a normalization over steps, after equal symbols": (
        lambda: drawn(a_model(keras.layers.GroupNormalization(1), gru())),
        [3, 3],
    ),
    "by more steps than are tried before": (
        lambda: drawn(a_model(looking_back(dilation_rate=40), gru())),
        np.random.default_rng(0).integers(0, K, 60),
    ),
    "a mask, of which the prompt tells nothing": (
        lambda: drawn(
            keras.Sequential([keras.Input((None,), dtype="int32"), UntilTheFirst0(), gru(), keras.layers.Dense(K)]), 3
        ),
        [3, 1],
    ),
    "a layer that fails on one step": (lambda: drawn(a_model(keras.layers.Conv1D(5, 3), gru())), [3, 1, 2, 4]),
}


@pytest.mark.core
@pytest.mark.parametrize("why", LOOKING_BACK)
def test_layers_that_look_back_are_refused_whatever_the_prompt(why):
    make, prompt = LOOKING_BACK[why]
    with pytest.raises(ValueError, match="Only recurrent layers.* must look back.*Leave out other layers that mix"):
        analysis.generate(make(), prompt, num_symbols=20, inverse_temperature=np.inf)


def test_an_impossible_symbol_is_never_drawn():
    model = with_an_impossible_symbol(drawn(a_model(gru())))
    written = analysis.generate(model, [3, 1, 2], num_symbols=20, inverse_temperature=0.01)
    assert (written[3:] != 0).all()


@pytest.mark.core
@pytest.mark.parametrize("dilation", [1, 40])
def test_a_text_goes_on_through_a_causal_convolution(dilation):
    convolution = keras.layers.Conv1D(5, 2, dilation_rate=dilation, padding="causal", activation="relu")
    model, text = drawn(a_model(convolution, gru())), np.random.default_rng(0).integers(0, K, 60)
    written = analysis.generate(model, text, num_symbols=20, inverse_temperature=np.inf)
    logits = keras.ops.convert_to_numpy(model(written[None]))[0]
    np.testing.assert_array_equal(written[60:], logits[59:-1].argmax(axis=-1))


@pytest.mark.core
@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16"])
def test_half_precision_hides_no_layer_that_looks_back(policy, global_policy):
    global_policy(policy)
    ids = keras.Input((None,), dtype="int32")
    embedded = keras.layers.Embedding(K, 5)(ids)
    mixed = gru()(embedded) * 3.0 + keras.layers.Conv1D(6, 3, padding="causal")(embedded) * 0.1
    with pytest.raises(ValueError, match="Only recurrent layers.* must look back"):
        analysis.generate(drawn(keras.Model(ids, keras.layers.Dense(K)(mixed))), [3, 1, 2], num_symbols=8)


def test_distributions_are_recognized_by_their_sums():
    ids = keras.Input((None,), dtype="int32")
    states = gru()(keras.layers.Embedding(K, 5)(ids))
    plain = drawn(keras.Model(ids, keras.layers.Dense(K, "softmax")(states)[:, -1]))
    stepper = Stepper(plain, TEXT)
    stepper.check(TEXT)
    logits = [stepper.read(int(symbol)) for symbol in TEXT][-1]
    np.testing.assert_allclose(np.exp(logits), keras.ops.convert_to_numpy(plain(TEXT[None]))[0], rtol=1e-4)
    ids = keras.Input((None,), dtype="int32")
    sigmoids = keras.layers.Dense(K, "sigmoid")(gru()(keras.layers.Embedding(K, 5)(ids)))[:, -1]
    with pytest.raises(ValueError, match="must end in logits or in a softmax"):
        analysis.generate(drawn(keras.Model(ids, sigmoids)), [3, 1], num_symbols=2)


@pytest.mark.parametrize("middle", [[], [keras.layers.Dense(5, "gelu")]])
def test_symbols_that_the_embedding_does_not_have_are_refused(middle):
    embedding = keras.layers.Embedding(4, 5)
    model = keras.Sequential([keras.Input((None,), dtype="int32"), embedding, *middle, gru(), keras.layers.Dense(K)])
    for prompt in ([5, 1], [3, 1]):
        with pytest.raises(ValueError, match="must read each symbol of its text. Received: the symbol [456], and"):
            analysis.generate(drawn(model), prompt, num_symbols=40)


class OfMatrices(keras.layers.Layer):
    """A cell whose state is a matrix."""

    state_size, output_size = [(2, 3)], 6

    def get_initial_state(self, batch_size=None):
        return [keras.ops.zeros((batch_size, 2, 3))]

    def build(self, shape):
        self.kernel = self.add_weight(shape=(shape[-1], 6))
        self.built = True

    def call(self, x, states):
        h = keras.ops.tanh(0.5 * states[0] + keras.ops.reshape(keras.ops.matmul(x, self.kernel), (-1, 2, 3)))
        return keras.ops.reshape(h, (-1, 6)), [h]


def test_a_state_may_be_a_matrix():
    model = drawn(a_model(keras.layers.RNN(OfMatrices(), **STEPS)))
    np.testing.assert_allclose(stepped(model, TEXT), whole(model, TEXT), rtol=1e-4, atol=1e-5)


def test_padding_of_a_prompt_is_left_out():
    text = keras.layers.TextVectorization(output_sequence_length=8)
    text.adapt(["the cat sat on the mat"])
    parts = [keras.layers.Embedding(8, 5), gru(), keras.layers.Dense(7)]
    model = keras.Sequential([keras.Input((1,), dtype="string"), text, *parts])
    for part in parts:
        part.set_weights([np.random.default_rng(1).normal(size=w.shape) for w in part.get_weights()])
    written = analysis.generate(model, "the cat sat", num_symbols=3)
    assert written[:3] == ["the", "cat", "sat"]
    assert len(written) == 6


def test_a_text_layer_in_a_nested_model_is_named():
    text = keras.layers.TextVectorization()
    text.adapt(["the cat sat on the mat"])
    inner = keras.Sequential([keras.Input((1,), dtype="string"), text, keras.layers.Embedding(8, 5)])
    strings = keras.Input((1,), dtype="string")
    model = keras.Model(strings, keras.layers.Dense(7)(gru()(inner(strings))))
    for call in (analysis.attribution, analysis.trace):
        with pytest.raises(ValueError, match="must be a layer of the model itself. Received: .*text_vectorization"):
            call(model, ["the cat"])


@pytest.mark.parametrize("why", REFUSED)
def test_models_that_cannot_be_run_step_by_step_are_refused(why):
    make, sentence = REFUSED[why]
    with pytest.raises(ValueError, match=sentence):
        analysis.generate(make(), [1, 2, 3], num_symbols=4)


class Doubled(keras.layers.GRU):
    """A layer whose call is more than its cell."""

    def call(self, sequences, initial_state=None, mask=None, training=False):
        return 2 * super().call(sequences, initial_state, mask, training)


class Shifted(keras.Model):
    """A model whose call is more than its graph."""

    def call(self, inputs, training=None, mask=None):
        return super().call(inputs, training, mask) + keras.ops.arange(K, dtype="float32")


def test_layers_and_models_that_do_more_than_their_cells_and_graphs_are_refused():
    plain = network("GRU")
    in_lists = keras.Model(plain.inputs, plain.outputs)
    np.testing.assert_array_equal(
        analysis.generate(in_lists, [1, 2], num_symbols=4), analysis.generate(plain, [1, 2], num_symbols=4)
    )
    for model, sentence in (
        (a_model(Doubled(3, **STEPS)), r"outputs are .* apart when it reads symbol by symbol"),
        (Shifted(plain.inputs[0], plain.outputs[0]), "must be Sequential or functional.*a Shifted"),
    ):
        with pytest.raises(ValueError, match=sentence):
            analysis.generate(model, [1, 2, 3], num_symbols=4)


def test_probabilities_of_zero_may_differ_in_their_logits():
    model = network("GRU", head=[keras.layers.Rescaling(300.0), keras.layers.Softmax()])
    written = analysis.generate(model, [1, 2], num_symbols=10)
    assert (whole(model, written) == 0).any()
    assert written[2:].tolist() == whole(model, written)[1:-1].argmax(axis=1).tolist()


def test_refuses_invalid_arguments():
    symbols = keras.Input((None,), dtype="int32")
    embedded = keras.layers.Embedding(K, 5)(symbols)
    begun = keras.layers.GRU(5, **STEPS)(embedded, initial_state=keras.layers.GRU(5)(embedded))
    of_nan = network("LSTM")
    of_nan.layers[-1].bias.assign(np.full(K, np.nan))
    names = Alphabet("abcdefg")
    for arguments, sentence in (
        ({"prompt": []}, r"at least one symbol. Received: float64 of shape \(0,\)"),
        ({"prompt": [[1, 2]]}, r"Received: int64 of shape \(1, 2\)"),
        ({"prompt": [0.5]}, "Received: float64 of shape"),
        ({"prompt": [1, K]}, rf"`prompt` must lie in \[0, {K}\). Received: prompt from 1 to {K}. Encode it"),
        ({"prompt": [-1]}, "prompt from -1 to -1"),
        ({"prompt": "abc"}, "A text must come with an alphabet. Received: 'abc', without one. Pass alphabet="),
        ({"prompt": "", "alphabet": "abcdefg"}, "at least one symbol"),
        ({"prompt": "axb", "alphabet": "abcdefg"}, "the symbols of its alphabet, .*. Received: 'x'"),
        ({"prompt": "axb", "alphabet": names}, "the symbols of its alphabet, .*. Received: 'x'"),
        ({"alphabet": "abc"}, f"a symbol for each of the model's {K} logits. Received: 3 symbols"),
        ({"num_symbols": -1}, "a non-negative integer. Received: num_symbols=-1"),
        ({"num_symbols": 1.5}, "a non-negative integer. Received: num_symbols=1.5"),
        ({"inverse_temperature": -1.0}, "a number of at least 0. Received: inverse_temperature=-1.0. Pass 1"),
        ({"inverse_temperature": np.nan}, "a number of at least 0. Received: inverse_temperature=nan"),
        ({"network": of_nan}, "weights must be finite"),
        (
            {"network": keras.Model(symbols, keras.layers.Dense(K)(begun))},
            "their own initial state.*Received: gru.*, which is called with initial_state",
        ),
    ):
        with pytest.raises(ValueError, match=sentence):
            analysis.generate(**{"network": network("ISAN"), "prompt": [1, 2], "num_symbols": 3, **arguments})
