"""Attribution of any graph, at any step, in several outputs and by feature: brute force on the network itself."""

import contextlib
import math

import keras
import numpy as np
import pytest
from keras import ops

from keras_interp_rnn import analysis, layers
from tests.analysis.test_attribution import by_all_coalitions, by_replacing
from tests.oracles import shapley
from tests.samples import passing_masks_on

pytestmark = pytest.mark.core(2)  # cases are other graphs in the same way

FEATURES, STEPS, SYMBOLS = 3, 5, 7
Dense, Input, Model = keras.layers.Dense, keras.Input, keras.Model
READ = np.array([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]], bool)


def vectors(seed=0, features=FEATURES):
    return np.random.default_rng(seed).normal(size=(2, STEPS, features)).astype("float32")


def randomized(model, seed=0):
    rng = np.random.default_rng(seed)
    for weight in model.trainable_weights:
        weight.assign(rng.normal(size=weight.shape) * 0.5)
    return model


def computed(model, inputs):
    return np.asarray(ops.convert_to_numpy(model(inputs)), np.float64)


@contextlib.contextmanager
def explained(model):
    """The network without the softmax of its last layer."""
    last = model.head if isinstance(model, Own) else model.layers[-1]
    activation, last.activation = last.activation, keras.activations.linear
    yield
    last.activation = activation


def lstm(units=4, **options):
    return passing_masks_on(keras.layers.LSTM(units, return_sequences=True, **options))


def after_convolution():
    x = Input((STEPS, FEATURES))
    return Model(x, Dense(2)(keras.layers.GRU(4)(keras.layers.Conv1D(3, 2)(x))))


def around_a_layer():
    x = Input((STEPS, FEATURES))
    return Model(x, Dense(2, "softmax")(keras.layers.LSTM(4)(keras.layers.Add()([x, lstm(FEATURES)(x)]))))


def attention():
    x = Input((STEPS, FEATURES))
    states = keras.layers.Bidirectional(lstm(3))(x)
    weights = keras.layers.Softmax(axis=1)(Dense(1, "tanh")(states))
    return Model(x, Dense(2)(ops.sum(weights * states, axis=1)))


def stack_in_both_directions():
    cells = keras.layers.RNN([keras.layers.GRUCell(3), keras.layers.LSTMCell(2)])
    return keras.Sequential([Input((STEPS, FEATURES)), keras.layers.Bidirectional(cells), Dense(2)])


class Own(Model):
    """A user's class, whose call is layers and operations of Keras."""

    def __init__(self):
        super().__init__()
        self.first, self.second, self.head = lstm(), keras.layers.GRU(3), Dense(2)

    def call(self, inputs, training=False):
        return self.head(self.second(ops.concatenate([inputs, self.first(inputs)], axis=-1)))


class OfTheBackend(Own):
    """One whose call needs tensors of the backend, as its own functions do."""

    def call(self, inputs, training=False):
        if isinstance(inputs, keras.KerasTensor):
            raise TypeError
        return super().call(inputs)


class OnValues(Own):
    """One whose call needs values."""

    def call(self, inputs, training=False):
        return super().call(inputs * float(ops.convert_to_numpy(inputs).max() < 1e9))


GRAPHS = {
    "a convolution before": after_convolution,
    "a connection around a layer": around_a_layer,
    "attention": attention,
    "both directions of a stack": stack_in_both_directions,
    "a subclass": Own,
}


@pytest.mark.parametrize("name", GRAPHS)
def test_shares_of_any_graph_are_differences_of_the_networks_own_outputs(name):
    model, x, reference = GRAPHS[name](), vectors(), np.array([0.3, -0.2, 0.5], "float32")
    model(x)
    randomized(model)
    default = analysis.attribution(model, x, target=1, reference=reference)
    telescoped = analysis.attribution(model, x, target=1, method="telescoping", reference=reference)
    occluded = analysis.attribution(model, x, target=1, method="occlusion", reference=reference)
    present = np.ones((2, STEPS), bool)
    with explained(model):
        upto, without, output = by_replacing(model, x, reference, present)
        expected = by_all_coalitions(model, x, reference, present)
    assert (default.method, default.exact) == ("shapley", True)
    np.testing.assert_allclose(default.shares, expected, atol=2e-6)
    np.testing.assert_allclose(telescoped.shares, upto, atol=2e-6)
    np.testing.assert_allclose(occluded.shares, without, atol=2e-6)
    np.testing.assert_allclose(telescoped.output, output, atol=2e-6)
    assert telescoped.residual < 1e-12
    assert telescoped.difference < 1e-6
    assert "Keras runs it" not in telescoped.reason


@pytest.mark.parametrize("name", GRAPHS)
def test_shares_of_features_are_the_integrals_of_finite_differences(name):
    model, x, reference = GRAPHS[name](), vectors(), vectors(1)
    model(x)
    randomized(model)
    split = analysis.attribution(model, x, target=0, method="path_integral", reference=reference)
    assert split.features.shape == x.shape
    np.testing.assert_allclose(split.features.sum(axis=-1), split.shares, atol=1e-12)
    assert split.residual < 1e-5
    # The integral by the midpoint rule, the slope by differences in float32: a few digits.
    points, step, places = (np.arange(20) + 0.5) / 20, 0.02, ((0, 2), (3, 1), (4, 0))
    ways = np.zeros((len(places), *x.shape[1:]), "float32")
    for way, (t, feature) in zip(ways, places, strict=True):
        way[t, feature] = step
    ends = [reference + s * (x - reference) + sign * ways[:, None] for sign in (1, -1) for s in points]
    with explained(model):
        outputs = computed(model, np.concatenate(ends).reshape(-1, *x.shape[1:]).astype("float32"))[:, 0]
    ahead, back = outputs.reshape(2, len(points), len(places), len(x)).mean(axis=1)
    for i, (t, feature) in enumerate(places):
        expected = (ahead - back)[i] / (2 * step) * (x - reference)[:, t, feature]
        np.testing.assert_allclose(split.features[:, t, feature], expected, atol=2e-4)


@pytest.mark.parametrize("build", [lambda: [lstm()], lambda: [keras.layers.Conv1D(3, 2, padding="causal"), lstm()]])
def test_a_step_of_a_sequence_of_outputs_is_that_of_the_text_up_to_it(build):
    model = randomized(keras.Sequential([Input((None, FEATURES)), *build(), Dense(3, "softmax")]))
    x = vectors()
    for method in ("shapley", "telescoping", "path_integral"):
        split = analysis.attribution(model, x, target=1, step=2, method=method)
        upto = analysis.attribution(model, x[:, :3], target=1, method=method)
        np.testing.assert_allclose(split.probability, computed(model, x)[:, 2, 1], atol=1e-6)
        with explained(model):
            np.testing.assert_allclose(split.output, computed(model, x)[:, 2, 1], atol=1e-6)
        np.testing.assert_allclose(split.shares[:, :3], upto.shares, atol=1e-6)
        np.testing.assert_allclose(split.shares[:, 3:], 0, atol=1e-7)
        same = analysis.attribution(model, x, target=1, step=2 - STEPS, method=method)
        np.testing.assert_array_equal(split.shares, same.shares)
    with pytest.raises(ValueError, match=r"`step` must be an integer in \[-5, 5\). Received: step=5"):
        analysis.attribution(model, x, target=0, step=5)


def test_contributions_are_at_any_step_too():
    model = keras.Sequential(
        [Input((None,), dtype="int32"), layers.ISAN(3, SYMBOLS, return_sequences=True), Dense(4, "softmax")]
    )
    ids = np.array([[0, 3, 1, 6], [2, 2, 0, 5]])
    split = analysis.attribution(model, ids, target=[3, 0], step=1)
    assert split.method == "contributions"
    assert "every output is a sum over the steps" in split.reason
    for i, text in enumerate(ids):
        expected = analysis.contributions(model, text, targets=2)
        np.testing.assert_allclose(split.shares[i], expected.values[1:, 0][:, [3, 0]], atol=1e-12)
        np.testing.assert_array_equal(split.output[i], expected.logits[0, [3, 0]])
    assert 0 < split.difference < 1e-6


@pytest.mark.parametrize("method", ["shapley", "telescoping", "path_integral", "contributions"])
def test_several_outputs_are_split_as_each_alone(method):
    first = layers.MinGRU(4) if method == "contributions" else keras.layers.GRU(4)
    model = randomized(keras.Sequential([Input((None, FEATURES)), first, Dense(3)]))
    x = vectors()
    both = analysis.attribution(model, x, target=[2, 0], method=method)
    assert both.shares.shape == (2, STEPS, 2)
    assert both.targets.tolist() == [[2, 0], [2, 0]]
    for i, target in enumerate((2, 0)):
        alone = analysis.attribution(model, x, target=target, method=method)
        np.testing.assert_allclose(both.shares[..., i], alone.shares, rtol=1e-12, atol=1e-15)
        np.testing.assert_array_equal(both.output[:, i], alone.output)
        assert alone.targets.tolist() == [target, target]
        np.testing.assert_allclose(both.top(2, sequence=1, output=i), alone.top(2, sequence=1), rtol=1e-12)
        if method == "path_integral":
            np.testing.assert_array_equal(both.features[..., i], alone.features)


def test_without_a_target_each_sequence_has_its_largest_output_explained():
    model = randomized(keras.Sequential([Input((None, FEATURES)), keras.layers.GRU(4), Dense(3, use_bias=False)]))
    x = np.stack([3 * vectors()[0], -3 * vectors()[0]])
    outputs = computed(model, x)
    assert len(set(outputs.argmax(axis=1))) == 2
    split = analysis.attribution(model, x)
    assert split.targets.tolist() == outputs.argmax(axis=1).tolist()
    for i, target in enumerate(split.targets):
        alone = analysis.attribution(model, x, target=int(target))
        np.testing.assert_allclose(split.shares[i], alone.shares[i], atol=1e-12)


def two_inputs():
    sequence, static = Input((STEPS, FEATURES), name="sequence"), Input((2,), name="static")
    both = keras.layers.Concatenate()([keras.layers.LSTM(4)(sequence), Dense(3, "relu")(static)])
    return randomized(Model({"sequence": sequence, "static": static}, Dense(2)(both)))


def test_one_of_several_inputs_is_split_while_the_others_are_held():
    model, x, static = two_inputs(), vectors(), vectors(1)[:, 0, :2]
    named = {"sequence": x, "static": static}
    split = analysis.attribution(model, named, target=1, method="telescoping", with_respect_to="sequence")
    steps = np.arange(STEPS)[:, None]
    upto = [computed(model, {**named, "sequence": np.where(steps < t, x, 0)})[:, 1] for t in range(STEPS + 1)]
    np.testing.assert_allclose(split.shares, np.diff(upto, axis=0).T, atol=2e-6)
    default = analysis.attribution(model, named, target=1, with_respect_to="sequence")
    for shares, row, numbers in zip(default.shares, x, static, strict=True):

        def run(variants, numbers=numbers):
            return computed(model, {"sequence": variants, "static": np.tile(numbers, (len(variants), 1))})[:, 1]

        expected = shapley.of_steps(run, row, np.zeros_like(row), np.arange(STEPS))
        np.testing.assert_allclose(shares, expected, atol=2e-6)
    index = [tensor.name for tensor in model.inputs].index("static")
    by_number = analysis.attribution(model, named, target=1, method="occlusion", with_respect_to=index)
    for feature in range(2):
        changed = {**named, "static": np.where(np.arange(2) == feature, 0, static)}
        np.testing.assert_allclose(by_number.shares[:, feature], upto[-1] - computed(model, changed)[:, 1], atol=2e-6)
    for options, sentence in (
        ({"with_respect_to": "text"}, r"an input of the model, by its index or its name: .*Received: .*'text'"),
        ({"with_respect_to": 2}, r"an integer in \[0, 2\)"),
        ({"inputs": [x]}, "one array for each of the model's inputs sequence, static. Received: list of 1. Pass a"),
        ({"inputs": {"a": x}}, "Received: dict of 1. Pass a list, or a dict by these names"),
        ({"inputs": {**named, "static": static * np.nan}}, "inputs must be finite"),
    ):
        with pytest.raises(ValueError, match=sentence):
            analysis.attribution(model, **{"inputs": named, "target": 0, **options})


def text_and_numbers():
    text, numbers = Input((STEPS,), dtype="int32"), Input((STEPS, 2))
    embedded = keras.layers.Embedding(SYMBOLS, FEATURES, mask_zero=True)(text)
    states = keras.layers.Bidirectional(keras.layers.GRU(3))(embedded)
    return randomized(Model([text, numbers], Dense(2)(keras.layers.Concatenate()([states, lstm()(numbers)[:, -1]]))))


def test_ids_vary_by_their_vectors_and_keep_their_masks():
    model, numbers = text_and_numbers(), vectors(2, 2)
    ids = np.array([[3, 6, 1, 5, 2], [4, 2, 6, 0, 0]], "int32")  # each id once, so that its vector is at one step
    split = analysis.attribution(model, [ids, numbers], target=0, method="telescoping")
    default = analysis.attribution(model, [ids, numbers], target=0)
    assert split.tokens[1] == ("4", "2", "6", "0", "0")
    np.testing.assert_allclose(split.shares[ids == 0], 0, atol=1e-7)
    embedding = next(layer for layer in model.layers if isinstance(layer, keras.layers.Embedding))
    table = np.array(ops.convert_to_numpy(embedding.embeddings))
    for i, row in enumerate(ids):

        def value(coalitions, row=row, i=i):
            outputs = []
            for there in coalitions:
                absent = row[np.flatnonzero(row)[~there]]
                embedding.embeddings.assign(np.where(np.isin(np.arange(SYMBOLS), absent)[:, None], 0, table))
                outputs.append(computed(model, [row[None], numbers[i : i + 1]])[0, 0])
            return np.array(outputs)

        read = np.flatnonzero(row)
        upto = value(np.tri(len(read) + 1, len(read), -1, dtype=bool))
        np.testing.assert_allclose(split.shares[i, read], np.diff(upto), atol=2e-6)
        np.testing.assert_allclose(default.shares[i, read], shapley.shapley_values(value, len(read)), atol=2e-6)


def test_a_subclass_is_split_as_its_functional_twin():
    class Reader(Model):
        def __init__(self):
            super().__init__()
            self.embedding = keras.layers.Embedding(SYMBOLS, 3, mask_zero=True)
            self.lstm, self.head = lstm(), Dense(2)

        def call(self, inputs):
            return self.head(self.lstm(self.embedding(inputs))[:, -1])

    model, ids = Reader(), np.array([[1, 5, 2, 0, 0], [3, 3, 6, 1, 4]])
    model(ids)
    randomized(model)
    text = Input((None,), dtype="int32")
    twin = Model(text, model.call(text))
    for method in ("shapley", "telescoping", "path_integral"):
        ours, expected = (analysis.attribution(each, ids, target=1, method=method) for each in (model, twin))
        np.testing.assert_allclose(ours.shares, expected.shares, atol=1e-12)
    assert analysis.attribution(model, ids, target=1).residual < 1e-12
    assert "Keras runs it" not in ours.reason


def test_a_subclass_without_a_graph_is_one_operation():
    model, x = OfTheBackend(), vectors()
    model(x)
    twin = Own()
    twin(x)
    randomized(model)
    twin.set_weights(model.get_weights())
    for method in ("shapley", "telescoping", "path_integral"):
        ours, expected = (analysis.attribution(each, x, target=1, method=method) for each in (model, twin))
        np.testing.assert_allclose(ours.shares, expected.shares, atol=1e-6)
    with pytest.raises(ValueError, match="must be layers and operations of Keras. Received: .*, an OnValues. Build"):
        analysis.attribution(OnValues(), x)


def test_a_layer_that_hides_its_embedding_is_refused():
    class Hidden(keras.layers.Layer):
        def __init__(self):
            super().__init__()
            self.embedding, self.lstm = keras.layers.Embedding(SYMBOLS, 3), lstm()

        def call(self, inputs):
            return self.lstm(self.embedding(inputs))

    ids = Input((STEPS,), dtype="int32")
    model = Model(ids, Dense(1)(keras.layers.GRU(3)(Hidden()(ids))))
    with pytest.raises(ValueError, match="vectors .* of the ids, and nothing else. Received: hidden.*Make the Embed"):
        analysis.attribution(model, np.array([[1, 5, 2, 0, 3]]))


def test_a_mask_of_vectors_is_that_of_the_sequences():
    x = Input((STEPS, FEATURES))
    states = lstm()(keras.layers.Masking()(x))
    model = randomized(Model(x, Dense(2)(keras.layers.LSTM(3)(keras.layers.Concatenate()([states, states])))))
    values = np.where(READ[:, :, None], vectors(), 0).astype("float32")
    for method in ("shapley", "telescoping", "path_integral"):
        split = analysis.attribution(model, values, target=0, method=method)
        assert split.residual < 1e-5
        np.testing.assert_allclose(split.shares[~READ], 0, atol=1e-7)
        np.testing.assert_allclose(split.output, computed(model, values)[:, 0], atol=1e-6)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "mixed_float16", "mixed_bfloat16"])
def test_half_precision_of_a_graph_runs_in_its_dtype(dtype):
    x = Input((STEPS, FEATURES), dtype="float32")
    first = lstm(FEATURES, dtype=dtype, recurrent_initializer="glorot_uniform")
    last = keras.layers.GRU(4, dtype=dtype, recurrent_initializer="glorot_uniform")
    model = Model(x, Dense(2, dtype=dtype)(last(keras.layers.Add(dtype=dtype)([x, first(x)]))))
    for method in ("shapley", "telescoping", "path_integral"):
        split = analysis.attribution(model, vectors(), target=0, method=method)
        assert split.residual < (0.02 if method == "path_integral" else 1e-12)
        assert np.isfinite(split.shares).all()


def test_a_reference_may_be_a_sequence_of_its_own():
    model = randomized(keras.Sequential([Input((STEPS, FEATURES)), lstm(), keras.layers.Flatten(), Dense(2)]))
    x, other = vectors(), vectors(1)
    split = analysis.attribution(model, x, target=0, reference=other)
    np.testing.assert_allclose(split.reference_output, computed(model, other)[:, 0], atol=1e-6)
    of_each = [analysis.attribution(model, x[i : i + 1], target=0, reference=other[i]).shares[0] for i in range(2)]
    np.testing.assert_allclose(split.shares, of_each, atol=1e-12)
    with pytest.raises(ValueError, match=r"finite vector \(3,\), or one for each step, \(5, 3\) or \(2, 5, 3\)"):
        analysis.attribution(model, x, target=0, reference=other[:, 0])


def test_shapley_values_of_a_graph_of_many_steps_are_near_those_of_all_sets():
    steps = 10
    x = Input((steps, FEATURES))
    model = randomized(Model(x, Dense(1)(keras.layers.GRU(4)(keras.layers.Add()([x, lstm(FEATURES)(x)])))))
    given = np.random.default_rng(1).normal(size=(2, steps, FEATURES)).astype("float32")
    split = analysis.attribution(model, given)
    assert split.method == "shapley"
    assert not split.exact
    assert (split.num_runs <= 512).all()
    sets = np.arange(2**steps)[:, None] >> np.arange(steps) & 1
    sizes = np.array([math.factorial(s) * math.factorial(steps - 1 - s) for s in range(steps)]) / math.factorial(steps)
    for row in range(2):
        values = computed(model, given[row] * sets[:, :, None].astype("float32"))[:, 0]
        for t in range(steps):
            without = np.flatnonzero(sets[:, t] == 0)
            right = sizes[sets[without].sum(axis=1)] @ (values[without | 1 << t] - values[without])
            assert abs(split.shares[row, t] - right) <= 4 * split.standard_error[row, t] + 1e-6
        assert split.residuals[row] < 1e-6
