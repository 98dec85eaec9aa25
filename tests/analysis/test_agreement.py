"""What is explained is the network that was given, on its own inputs; whatever is not is refused."""

import keras
import numpy as np
import pytest
from keras import ops

from keras_interp_rnn import analysis, layers
from keras_interp_rnn._program import values
from keras_interp_rnn._program.operations import Affine

pytestmark = pytest.mark.core(2)

STEPS, FEATURES, SYMBOLS = 6, 3, 9
Dense, Input, Model = keras.layers.Dense, keras.Input, keras.Model
TEXT = np.array([[1, 2, 3, 4, 0, 0], [5, 6, 7, 0, 0, 0]])


def normal(scale=1.0, seed=0):
    return keras.initializers.RandomNormal(0, scale, seed=seed)


def embedded(ids, **options):
    return keras.layers.Embedding(SYMBOLS, 4, embeddings_initializer=normal(), **options)(ids)


def vectors(rows=3, seed=0):
    return np.random.default_rng(seed).normal(size=(rows, STEPS, FEATURES)).astype("float32")


def upto(model, x):
    """The shares of the first output by the network itself, each sequence alone."""
    outputs = [
        [float(model(np.where(np.arange(STEPS)[:, None] < t, row, 0)[None])[0, 0]) for t in range(STEPS + 1)]
        for row in x
    ]
    return np.diff(outputs, axis=1)


@pytest.mark.parametrize("offset", [0.0, 1.0])
@pytest.mark.parametrize("scale", [1.0, 1e-3, 1e-6])
def test_a_padding_of_its_own_is_that_of_the_model_however_small_the_output_is(scale, offset):
    ids = Input((STEPS,), dtype="int32")
    read = keras.layers.LSTM(5)(embedded(ids), mask=ops.not_equal(ids, 5))
    model = Model(
        ids, Dense(1, kernel_initializer=normal(scale), bias_initializer=keras.initializers.Constant(offset))(read)
    )
    text = np.array([[1, 2, 3, 5, 5, 5]])
    split = analysis.attribution(model, text)
    own = float(model(text)[0, 0])
    assert abs(split.output[0] - own) < 1e-3 * scale + 1e-6 * abs(own)
    np.testing.assert_array_equal(split.read, text != 5)
    np.testing.assert_array_equal(split.shares[0, 3:], 0)
    assert np.abs(split.shares[0, :3]).min() > 0


def test_a_chain_that_misreads_a_layer_by_a_third_is_not_explained(monkeypatch):
    """A difference that is large beside the change, though small beside 1."""
    x = Input((STEPS, FEATURES))
    model = Model(x, Dense(1, kernel_initializer=normal(1e-3))(keras.layers.GRU(4)(x)))
    assert "Keras runs it" not in analysis.attribution(model, vectors()).reason
    monkeypatch.setitem(
        values.RULES, Affine, lambda operation: values.Equation(lambda x: 0.67 * x @ operation.arrays(np.asarray)[0])
    )
    split = analysis.attribution(model, vectors())
    assert "Keras runs it in its own dtype" in split.reason
    np.testing.assert_allclose(split.output, np.asarray(model(vectors()))[:, 0], rtol=1e-5)


class Noisy(keras.layers.Layer):
    def __init__(self, scale=1e-3):
        super().__init__()
        self.scale, self.seeds = scale, keras.random.SeedGenerator(0)

    def call(self, inputs):
        return inputs + self.scale * keras.random.normal(ops.shape(inputs)[1:], seed=self.seeds)


@pytest.mark.parametrize("in_graph", [False, True])
def test_noise_has_no_shares(in_graph):
    x = Input((STEPS, FEATURES))
    states = keras.layers.LSTM(4)(x)
    states = keras.layers.Add()([states, states]) if in_graph else states
    noisy = Noisy()
    model = Model(x, Dense(1, kernel_initializer=normal(1e-3))(noisy(states)))
    with pytest.raises(
        ValueError, match=f"same from the same inputs. Received: {noisy.name} .Noisy., whose output is an"
    ):
        analysis.attribution(model, vectors())


class Counting(Model):
    """A model that adds how often it was called."""

    def __init__(self):
        super().__init__()
        self.lstm, self.head = keras.layers.LSTM(3), Dense(1)
        self.calls = self.add_weight(shape=(), initializer="zeros", trainable=False)

    def call(self, inputs):
        self.calls.assign_add(1.0)
        return self.head(self.lstm(inputs)) + self.calls


def test_a_subclass_that_counts_its_calls_is_refused():
    with pytest.raises(ValueError, match="same from the same inputs"):
        analysis.attribution(Counting(), vectors())


class Hashed(Model):
    def __init__(self):
        super().__init__()
        parts = keras.layers.Hashing(50), keras.layers.Embedding(50, 4), keras.layers.LSTM(5), Dense(1)
        self.parts = list(parts)

    def call(self, inputs):
        for part in self.parts:
            inputs = part(inputs)
        return inputs


@pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="Hashing runs on TensorFlow alone")
def test_ids_of_a_subclass_keep_their_64_bits():
    model, users = Hashed(), np.array([[1, 2, 3, 2**33 + 5]])
    split = analysis.attribution(model, users)
    np.testing.assert_allclose(split.output, np.asarray(model(users))[:, 0], rtol=1e-5)
    assert split.difference < 1e-7
    assert abs(split.output[0] - float(model(users.astype("int32"))[0, 0])) > 1e-4  # another text


def bag(ids, states):
    return keras.layers.CategoryEncoding(SYMBOLS, output_mode="count", name="bag")(ids)


def length(ids, states):
    return ops.sum(ops.cast(ops.not_equal(ids, 0), "float32"), axis=1, keepdims=True)


OTHER_READERS = {
    "a bag of words": (bag, "bag"),
    "the length": (length, "sum"),
    "the mean of the ids": (lambda ids, states: ops.mean(ops.cast(ids, "float32"), axis=1, keepdims=True), "mean"),
    "the first id": (lambda ids, states: ops.cast(ids[:, :1], "float32"), "cast"),
    "a trained gate of the length": (lambda ids, states: states * Dense(5, "sigmoid")(length(ids, states)), "dense"),
    "a vector of the length": (
        lambda ids, states: keras.layers.Embedding(9, 5)(ops.sum(ops.cast(ids != 0, "int32"), axis=1)),
        "embedding",
    ),
}


@pytest.mark.core
@pytest.mark.parametrize("name", OTHER_READERS)
@pytest.mark.parametrize("mask_zero", [False, True])
def test_other_readers_of_the_ids_are_named(name, mask_zero):
    """Without any step they would still be there."""
    other, maker = OTHER_READERS[name]
    ids = Input((STEPS,), dtype="int32")
    states = keras.layers.LSTM(5)(embedded(ids, mask_zero=mask_zero))
    model = Model(ids, Dense(1)(keras.layers.Concatenate()([states, other(ids, states)])))
    with pytest.raises(
        ValueError, match=f"one vector for each step.* also reads {maker}.*an input of its own, and pass"
    ):
        analysis.attribution(model, TEXT)


def mean_by_hand(ids, states):
    mask = ops.cast(ops.not_equal(ids, 0), "float32")[..., None]
    return ops.sum(states * mask, axis=1) / ops.sum(mask, axis=1)


def attended(ids, states):
    scores = Dense(1)(states)[..., 0] + (1.0 - ops.cast(ids != 0, "float32")) * -1e9
    return ops.sum(ops.softmax(scores)[..., None] * states, axis=1)


def last_step(ids, states):
    last = ops.sum(ops.cast(ids != 0, "int32"), axis=1) - 1
    return ops.take_along_axis(states, last[:, None, None], axis=1)[:, 0]


@pytest.mark.core
@pytest.mark.parametrize("pad", [0, 5, 8])
def test_any_padding_at_the_end_is_padding(pad):
    ids = Input((STEPS,), dtype="int32")
    states = keras.layers.LSTM(5, return_sequences=True)(embedded(ids))
    mask = ops.cast(ops.not_equal(ids, pad), "float32")[..., None]
    model = Model(ids, Dense(1)(ops.sum(states * mask, axis=1) / ops.sum(mask, axis=1)))
    for text in (np.where(TEXT == 0, pad, np.where(TEXT == 5, 8, TEXT)) if pad != 8 else TEXT, np.array([[1] * 6])):
        assert analysis.attribution(model, text).shares.shape == text.shape


@pytest.mark.core
@pytest.mark.parametrize("pool", [mean_by_hand, attended, last_step])
def test_masks_by_hand_are_those_of_the_text(pool):
    ids = Input((STEPS,), dtype="int32")
    table = keras.layers.Embedding(SYMBOLS, 4, embeddings_initializer=normal())
    states = keras.layers.LSTM(5, return_sequences=True)(table(ids))
    model = Model(ids, Dense(1)(pool(ids, states)))
    split = analysis.attribution(model, TEXT, method="telescoping")
    np.testing.assert_allclose(split.shares[TEXT == 0], 0, atol=1e-7)
    weights = np.array(ops.convert_to_numpy(table.embeddings))
    for row, shares in zip(TEXT, split.shares, strict=True):
        outputs = []
        for t in range(STEPS + 1):
            table.embeddings.assign(np.where(np.isin(np.arange(SYMBOLS), row[t:])[:, None], 0, weights))
            outputs.append(float(model(row[None])[0, 0]))
        table.embeddings.assign(weights)
        np.testing.assert_allclose(shares[row != 0], np.diff(outputs)[row != 0], atol=1e-6)


class Turned(keras.layers.Layer):
    """An Embedding, the last word first."""

    def __init__(self):
        super().__init__()
        self.table = keras.layers.Embedding(SYMBOLS, 4, embeddings_initializer=normal())

    def call(self, ids):
        return ops.flip(self.table(ids), axis=1)


REORDERED = {
    "flip": lambda ids: embedded(ops.flip(ids, axis=1)),
    "get_item": lambda ids: embedded(ids[:, ::-1]),
    "roll": lambda ids: embedded(ops.roll(ids, 1, axis=1)),
    "concatenate": lambda ids: embedded(ops.concatenate([ops.zeros_like(ids[:, :1]), ids[:, :-1]], axis=1)),
    "take": lambda ids: embedded(ops.take(ids, [1, 0, 2, 3, 4, 5], axis=1)),
    "sort": lambda ids: embedded(ops.sort(ids, axis=1)),
    "cumsum": lambda ids: embedded(ops.cumsum(ids, axis=1) % SYMBOLS),
    "lambda": lambda ids: embedded(keras.layers.Lambda(lambda x: ops.flip(x, axis=1))(ids)),
    "turned": lambda ids: Turned()(ids),
}


@pytest.mark.core
@pytest.mark.parametrize("name", REORDERED)
@pytest.mark.parametrize("text", [TEXT, np.full((1, STEPS), 3)], ids=["words", "one word"])
def test_vectors_are_those_of_the_ids_of_their_steps(name, text):
    """Else a word has the share of another."""
    ids = Input((STEPS,), dtype="int32")
    model = Model(ids, Dense(1)(keras.layers.GRU(3)(REORDERED[name](ids))))
    with pytest.raises(ValueError, match=f"of the id of this step alone. Received: .*, in which {name}.* of other"):
        analysis.attribution(model, text)


def has(word, ids):
    return ops.any(ops.equal(ids, word), axis=1, keepdims=True)


FLAGGED = {
    "where": lambda ids, x, word: ops.where(has(word, ids)[..., None], -x, x),
    "multiply": lambda ids, x, word: x * (1 - 2 * ops.cast(has(word, ids), "float32"))[..., None],
    "divide": lambda ids, x, word: x / (1 + ops.sum(ops.cast(ops.equal(ids, word), "float32"), axis=1))[:, None, None],
    "later": lambda ids, x, word: (
        x * (1 - 2 * ops.cumsum(ops.cast(ops.equal(ids, word), "float32"), axis=1))[..., None]
    ),
    "larger": lambda ids, x, word: x * (1 - 2 * ops.cast(ids > word - 1, "float32"))[..., None],
    "mask": lambda ids, x, word: keras.layers.GRU(4)(
        x, mask=ops.cumsum(ops.cast(ops.equal(ids, word), "int32"), axis=1) < 1
    ),
}


FLAGGED_TEXTS = [[1, 7, 2, 3, 4, 5], [1, 2, 3, 4, 5, 7], [7, 7, 7, 7, 7, 7], [1, 0, 2, 3, 4, 5]]
CASES = [(name, text) for name in FLAGGED for text in FLAGGED_TEXTS[: 1 if name == "mask" else None]]
CASES.remove(("larger", [1, 0, 2, 3, 4, 5]))  # the same for all words


@pytest.mark.core
@pytest.mark.parametrize(("name", "text"), CASES)
def test_a_word_that_multiplies_or_selects_is_named(name, text):
    """With what it does kept, its own share would be that of its vector."""
    word = 0 if 0 in text else 7
    ids = Input((STEPS,), dtype="int32")
    x = FLAGGED[name](ids, embedded(ids), word)
    model = Model(ids, Dense(1)(keras.layers.GRU(3)(x) if len(x.shape) > 2 else x))
    with pytest.raises(ValueError, match="one vector for each step.* also reads .* and would stay"):
        analysis.attribution(model, np.array([text]))


@pytest.mark.core
@pytest.mark.parametrize("mask_zero", [False, True])
def test_a_bag_of_one_hot_vectors_has_the_shares_of_its_words(mask_zero):
    ids = Input((STEPS,), dtype="int32")
    states = keras.layers.LSTM(5)(embedded(ids, mask_zero=mask_zero))
    words = ops.sum(ops.one_hot(ids, SYMBOLS), axis=1)
    head = Dense(1, use_bias=False)
    model, alone = Model(ids, Dense(1)(states) + head(words)), Model(ids, Dense(1)(states))
    alone.set_weights(model.get_weights()[:-1])
    text = np.array([[1, 2, 3, 4, 5, 6]])
    of_words = np.asarray(ops.convert_to_numpy(head.kernel))[text, 0]
    split, rest = (analysis.attribution(each, text) for each in (model, alone))
    np.testing.assert_allclose(split.shares, rest.shares + of_words, atol=1e-6)


MIXED = {
    "the mean": lambda h: h - ops.mean(h, axis=0, keepdims=True),
    "the first": lambda h: h - ops.take(h, [0], axis=0),
    "the last": lambda h: h - ops.flip(ops.take(ops.flip(h, axis=0), [0], axis=0), axis=0),
    "the neighbour": lambda h: h - ops.roll(h, 1, axis=0),
    "the largest": lambda h: h / ops.max(ops.abs(h), axis=0, keepdims=True),
}


@pytest.mark.core
@pytest.mark.parametrize("name", MIXED)
@pytest.mark.parametrize("rows", [1, 3])
def test_outputs_that_depend_on_other_rows_are_refused(name, rows):
    x = Input((STEPS, FEATURES))
    model = Model(x, Dense(1)(MIXED[name](keras.layers.LSTM(5)(x))))
    with pytest.raises(ValueError, match="must depend on that sequence alone. Received: .* other sequences are in the"):
        analysis.attribution(model, vectors(rows))


def in_pairs(h):
    return h - ops.reshape(ops.flip(ops.reshape(h, (-1, 2, 5)), axis=1), (-1, 5))


class Whitened(keras.layers.Layer):
    """A BatchNormalization that is always in training."""

    def __init__(self):
        super().__init__()
        self.norm = keras.layers.BatchNormalization()

    def call(self, x):
        return self.norm(x, training=True)


@pytest.mark.core
@pytest.mark.parametrize("of_ids", [False, True])
def test_rows_are_not_mixed_in_pairs(of_ids):
    x = Input((STEPS,), dtype="int32") if of_ids else Input((STEPS, FEATURES))
    model = Model(x, Dense(1)(in_pairs(keras.layers.LSTM(5)(embedded(x) if of_ids else x))))
    with pytest.raises(ValueError, match="must depend on that sequence alone. Received: .* other sequences are in the"):
        analysis.attribution(model, TEXT if of_ids else vectors(2))


@pytest.mark.core
@pytest.mark.parametrize("mix", [lambda x: x - ops.mean(x, axis=(0, 1), keepdims=True), lambda x: Whitened()(x)])
@pytest.mark.parametrize("text", [[1, 7, 2, 3, 4, 5], [3, 3, 3, 3, 3, 3], None])
def test_one_row_is_not_centred_over_all_rows_and_steps(mix, text):
    x = Input((STEPS, FEATURES)) if text is None else Input((STEPS,), dtype="int32")
    model = Model(x, Dense(1)(keras.layers.LSTM(5)(mix(x if text is None else embedded(x)))))
    with pytest.raises(ValueError, match="must depend on that sequence alone. Received: .* other sequences are in the"):
        analysis.attribution(model, vectors(1) if text is None else np.array([text]))


@pytest.mark.core
@pytest.mark.parametrize("batch_size", [1, 2, 3])
def test_a_network_of_so_many_rows_alone_is_refused(batch_size):
    x = Input((STEPS, FEATURES), batch_size=batch_size)
    states = ops.reshape(keras.layers.LSTM(5)(x), (batch_size, 5))
    model = Model(x, Dense(1)(states))
    with pytest.raises(ValueError, match=f"any number of sequences. Received: .*, which reads {batch_size}, and fails"):
        analysis.attribution(model, vectors(batch_size))


@pytest.mark.core
@pytest.mark.parametrize("dtype", ["bfloat16", "mixed_bfloat16"])
@pytest.mark.parametrize("noise", [0.05, 0.01])
def test_a_coarse_dtype_does_not_hide_noise(dtype, noise):
    x = Input((STEPS, FEATURES))
    noisy = Noisy(noise)
    states = keras.layers.Dropout(0.1, dtype="bfloat16")(keras.layers.LSTM(4)(x))
    states = states if dtype == "bfloat16" else keras.layers.Dense(4, dtype=dtype)(states)
    model = Model(x, Dense(1)(noisy(ops.cast(states, "float32"))))
    with pytest.raises(ValueError, match="same from the same inputs"):
        analysis.attribution(model, vectors())


def test_the_layer_that_mixes_rows_is_named():
    x = Input((STEPS, FEATURES))
    mixes = keras.layers.Lambda(MIXED["the mean"], name="whitening")
    model = keras.Sequential([x, keras.layers.LSTM(5), mixes, Dense(1)])
    with pytest.raises(ValueError, match=r"Received: whitening \(Lambda\), whose output is another one"):
        analysis.attribution(model, vectors())


TURNED = {
    "Permute": lambda x: keras.layers.Permute((2, 1))(x),
    "transpose": lambda x: ops.transpose(x, (0, 2, 1)),
    "after a layer": lambda x: keras.layers.Permute((2, 1))(keras.layers.Rescaling(0.5)(x)),
}


@pytest.mark.core
@pytest.mark.parametrize("name", TURNED)
@pytest.mark.parametrize("shape", [(3, 6), (5, 5), (1, 4)])
def test_time_in_the_last_axis_is_named(name, shape):
    x = Input(shape)
    lstm = keras.layers.LSTM(4)
    model = Model(x, Dense(1)(lstm(TURNED[name](x))))
    given = np.random.default_rng(0).normal(size=(2, *shape))
    with pytest.raises(
        ValueError, match=rf"second axis of the inputs. Received: .*{lstm.name} \(LSTM\) takes axis 2 as"
    ):
        analysis.attribution(model, given)
    behind = Model(lstm.input, model.output)
    assert analysis.attribution(behind, np.swapaxes(given, 1, 2)).shares.shape == (2, shape[1])


@pytest.mark.parametrize("dropped", [slice(1, None), slice(-1), slice(None, None, 2)])
def test_time_in_the_last_axis_is_named_where_a_sensor_is_dropped(dropped):
    x = Input((5, 8))
    model = Model(x, Dense(1)(keras.layers.LSTM(4)(keras.layers.Permute((2, 1))(x[:, dropped]))))
    with pytest.raises(ValueError, match=r"second axis of the inputs. Received: .* takes axis 2 as"):
        analysis.attribution(model, np.random.default_rng(0).normal(size=(2, 5, 8)))
    turned = Model(x, Dense(1)(keras.layers.LSTM(4)(x[:, dropped])))  # drops steps
    analysis.attribution(turned, np.random.default_rng(0).normal(size=(2, 5, 8)))


@pytest.mark.parametrize("dtype", ["int64", "uint8", "bool", "float64", "float16"])
@pytest.mark.parametrize("inputs", [1, 2])
def test_numbers_of_any_dtype_are_no_ids(dtype, inputs):
    counts, other = Input((STEPS, FEATURES)), Input((2,))
    states = keras.layers.LSTM(5)(counts)
    states = states if inputs == 1 else keras.layers.Concatenate()([states, other])
    model = Model([counts, other][:inputs] if inputs > 1 else counts, Dense(1)(states))
    x = np.random.default_rng(0).integers(0, 2, (2, STEPS, FEATURES)).astype(dtype)
    numbers = np.random.default_rng(1).integers(0, 2, (2, 2)).astype(dtype)
    given, floats = [[a, b][:inputs] if inputs > 1 else a for a, b in ((x, numbers), (x * 1.0, numbers * 1.0))]
    split, same = (analysis.attribution(model, each, method="path_integral") for each in (given, floats))
    np.testing.assert_allclose(split.shares, same.shares, atol=1e-7)
    np.testing.assert_allclose(split.output, np.asarray(model(floats))[:, 0], atol=1e-6)
    if inputs > 1:
        of_numbers = analysis.attribution(model, given, with_respect_to=1)
        assert of_numbers.shares.shape == (2, 2)


def test_outputs_in_a_dict_and_inputs_of_another_rank_are_read():
    text, age = Input((STEPS,), dtype="int32", name="text"), Input((1,), name="age")
    both = keras.layers.Concatenate()([keras.layers.LSTM(3)(embedded(text)), age])
    model = Model({"text": text, "age": age}, {"risk": Dense(1)(both)})
    ages = [0.3, 0.4]
    split = analysis.attribution(model, {"age": ages, "text": TEXT}, with_respect_to="text")
    expected = model({"text": TEXT, "age": np.array(ages)[:, None]})["risk"]
    np.testing.assert_allclose(split.output, np.asarray(expected)[:, 0], atol=1e-6)
    with pytest.raises(ValueError, match="as many rows. Received: 1, 2. Pass a row of each input for each sequence"):
        analysis.attribution(model, {"age": [0.3], "text": TEXT}, with_respect_to="text")


@pytest.mark.parametrize("dtype", ["float32", "mixed_float16"])
def test_an_empty_text_has_shares_of_0(dtype):
    ids = Input((STEPS,), dtype="int32")
    states = keras.layers.LSTM(4, dtype=dtype)(keras.layers.Embedding(SYMBOLS, 4, mask_zero=True, dtype=dtype)(ids))
    model = Model(ids, Dense(2, "softmax", dtype=dtype)(states))
    text = TEXT.copy()
    text[1] = 0
    split = analysis.attribution(model, text, target=0)
    np.testing.assert_array_equal(split.shares[1], 0)
    assert not split.read[1].any()
    alone = analysis.attribution(model, text[:1], target=0)
    np.testing.assert_allclose(split.shares[0], alone.shares[0], atol=1e-12)
    np.testing.assert_array_equal(analysis.attribution(model, text[1:], target=0).shares, 0)
    layer = keras.layers.GRU(2)
    layer(vectors())
    np.testing.assert_array_equal(
        analysis.attribution(layer, vectors(), target=0, mask=np.zeros((3, STEPS), bool)).shares, 0
    )


@pytest.mark.parametrize("chain", [True, False])
def test_a_text_for_which_the_model_has_no_number_is_named(chain):
    ids = Input((STEPS,), dtype="int32")
    states = keras.layers.Bidirectional(keras.layers.LSTM(3, return_sequences=True))(embedded(ids, mask_zero=True))
    states = states if chain else keras.layers.Add()([states, states])
    pooled = keras.layers.GlobalAveragePooling1D()(states, mask=ops.not_equal(ids, 0))
    model = Model(ids, Dense(2)(pooled))
    text = TEXT.copy()
    text[1] = 0
    with pytest.raises(
        ValueError, match="NaN for sequence 2 of 2, of which no step is read, as all are masked. Leave it"
    ):
        analysis.attribution(model, text, target=0)


def test_steps_that_are_masked_for_all_who_read_them_are_not_read():
    ids, number = Input((STEPS,), dtype="int32"), Input((1,))
    vectors = embedded(ids, mask_zero=True)
    states = keras.layers.LSTM(3)(vectors)
    for others, expected in (([], TEXT != 0), ([ops.mean(vectors, axis=1)], TEXT >= 0)):
        model = Model([ids, number], Dense(1)(keras.layers.Concatenate()([states, number, *others])))
        split = analysis.attribution(model, [TEXT, np.ones((2, 1))], target=0)
        np.testing.assert_array_equal(split.read, expected)
        assert ("masked" in str(split)) == (not others)


@pytest.mark.parametrize("mask_zero", [True, False])
def test_contributions_are_of_steps_that_are_read(mask_zero):
    vectors = keras.layers.Embedding(SYMBOLS, 4, mask_zero=mask_zero)
    model = keras.Sequential([Input((None,), dtype="int32"), vectors, layers.MinGRU(3), Dense(2)])
    split = analysis.attribution(model, TEXT, target=0)
    assert split.method == "contributions"
    np.testing.assert_array_equal(split.read, TEXT != 0 if mask_zero else TEXT >= 0)


def test_a_reference_for_which_the_model_has_no_number_is_refused():
    x = Input((STEPS, FEATURES))
    states = keras.layers.LSTM(4)(x)
    model = Model(x, Dense(1)(states / ops.sum(ops.abs(states), axis=1, keepdims=True)))
    with pytest.raises(ValueError, match="numbers where no step is there. Received: nan for sequence 1. Pass another"):
        analysis.attribution(model, vectors())
    assert analysis.attribution(model, vectors(), reference=vectors(1, 1)[0, 0]).residual < 1e-6


def test_a_series_of_one_number_a_step_needs_no_last_axis():
    x = Input((STEPS, 1))
    states = keras.layers.LSTM(3)(x)
    for head in (states, keras.layers.Add()([states, states])):
        model, series = Model(x, Dense(1)(head)), vectors(2)[..., 0]
        split, same = (analysis.attribution(model, given) for given in (series, series[..., None]))
        np.testing.assert_array_equal(split.shares, same.shares)
