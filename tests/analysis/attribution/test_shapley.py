"""Shapley values of any network: those of brute force on the network's own outputs, or within their errors of them."""

import keras
import numpy as np
import pytest
from keras import ops

from keras_interp_rnn import analysis
from keras_interp_rnn._network.prefixes import Prefixes
from keras_interp_rnn._network.vectors import open_network
from keras_interp_rnn.analysis.attribution.coalitions import exact_values
from tests.oracles import shapley

FEATURES = 3
Dense, Input, Model = keras.layers.Dense, keras.Input, keras.Model


def randomized(model, seed=0, scale=0.7):
    rng = np.random.default_rng(seed)
    for weight in model.trainable_weights:
        weight.assign(rng.normal(size=weight.shape) * scale)
    return model


def computed(model, inputs):
    return np.asarray(ops.convert_to_numpy(model(inputs)), np.float64)


def vectors(rows, steps, seed=0):
    return np.random.default_rng(seed).normal(size=(rows, steps, FEATURES)).astype("float32")


def lstm(units=4, **options):
    return randomized(keras.Sequential([Input((None, FEATURES)), keras.layers.LSTM(units, **options), Dense(3)]))


# Groups and texts of several lengths


@pytest.mark.parametrize(
    "groups",
    [[0, 0, 1, 1, 1, 2], [0, 1, 0, 2, 1, 0], [3, 3, 0, 0, 1, 5], [0] * 6, [[0, 0, 1, 1, 2, 2], [4, 0, 4, 1, 1, 4]]],
)
def test_a_group_comes_and_goes_as_one(groups):
    model, x = lstm(), vectors(2, 6)
    split = analysis.attribution(model, x, target=[0, 2], groups=groups)
    of_rows = np.broadcast_to(groups, (2, 6))
    assert split.shares.shape == (2, of_rows.max() + 1, 2)
    np.testing.assert_array_equal(split.groups, of_rows)
    for row, shares, players in zip(x, split.shares, of_rows, strict=True):
        there, numbers = np.unique(players, return_inverse=True)
        expected = shapley.of_steps(lambda some: computed(model, some)[:, [0, 2]], row, np.zeros_like(row), numbers)
        np.testing.assert_allclose(shares[there], expected, atol=2e-6)
        assert not np.delete(shares, there, axis=0).any()
    assert split.residual < 1e-12
    for method in ("telescoping", "path_integral"):
        single = analysis.attribution(model, x, target=[0, 2], method=method)
        joint = analysis.attribution(model, x, target=[0, 2], method=method, groups=groups)
        expected = np.stack(
            [(single.shares * (of_rows == i)[..., None]).sum(axis=1) for i in range(of_rows.max() + 1)], axis=1
        )
        np.testing.assert_allclose(joint.shares, expected, atol=1e-12)


def of_ids(seed=0, **options):
    embedding = keras.layers.Embedding(9, FEATURES, mask_zero=True)
    return randomized(keras.Sequential([Input((None,), dtype="int32"), embedding, keras.layers.GRU(4), Dense(2)]), seed)


def test_texts_of_a_batch_are_split_as_each_alone():
    model = of_ids()
    ids = np.array([[1, 5, 2, 7, 3, 0, 0], [4, 0, 0, 0, 0, 0, 0], [0, 8, 0, 6, 5, 1, 0], [2, 2, 3, 3, 4, 4, 5]])
    split = analysis.attribution(model, ids, target=1)
    assert split.exact
    assert split.num_runs.tolist() == [2**5, 2, 2**4, 2**7]
    table = computed(model.layers[0], np.arange(9))
    rest = keras.Sequential([keras.layers.Masking(), *model.layers[1:]])
    for i, text in enumerate(ids):
        alone = analysis.attribution(model, text[None], target=1)
        np.testing.assert_allclose(split.shares[i], alone.shares[0], rtol=1e-12, atol=1e-15)
        np.testing.assert_array_equal(split.read[i], text != 0)
        assert not split.shares[i, text == 0].any()
        read = text[text != 0]
        x = table[read]
        expected = shapley.of_steps(lambda some: computed(rest, some + 1e-30)[:, 1], x, 0 * x, np.arange(len(read)))
        np.testing.assert_allclose(split.shares[i, text != 0], expected, atol=2e-6)


def test_a_text_without_a_step_has_no_shares():
    model = of_ids()
    split = analysis.attribution(model, np.array([[1, 5, 2], [0, 0, 0], [3, 0, 0]]), target=0)
    assert not split.shares[1].any()
    assert split.output[1] == split.reference_output[1]
    assert split.residual < 1e-12
    assert split.exact
    np.testing.assert_allclose(
        split.shares[0], analysis.attribution(model, [[1, 5, 2]], target=0).shares[0], atol=1e-15
    )


def test_steps_that_the_reference_repeats_have_no_share():
    model, x = lstm(), vectors(1, 7)
    reference = vectors(1, 7, 1)[0]
    x[0, [1, 4]] = reference[[1, 4]]
    split = analysis.attribution(model, x, target=0, reference=reference)
    players = np.array([0, -1, 1, 2, -1, 3, 4])
    expected = shapley.of_steps(lambda some: computed(model, some)[:, 0], x[0], reference, players)
    np.testing.assert_allclose(split.shares[0, players >= 0], expected, atol=2e-6)
    assert not split.shares[0, players < 0].any()
    assert split.num_runs.tolist() == [2**5]


# Longer sequences


@pytest.fixture(scope="module")
def long():
    """A text of 18 steps, too long for exact values, and these values from all 262,144 coalitions."""
    found = []
    for kind in (keras.layers.LSTM, keras.layers.GRU):
        model = randomized(keras.Sequential([Input((None, FEATURES)), kind(3), Dense(2)]), 3, scale=1.0)
        x = vectors(1, 18, 7)
        game = Prefixes(open_network(model, [x]), 0, np.zeros((18, FEATURES)), np.arange(18))
        found.append((model, x, exact_values(game.all_outputs())))
    return found


@pytest.mark.parametrize("tolerance", [0.05, 0.005])
def test_estimates_are_within_their_errors(long, tolerance):
    for model, x, expected in long:
        split = analysis.attribution(model, x, target=[0, 1], tolerance=tolerance)
        assert not split.exact
        assert split.residual < 1e-12
        missed, error = np.abs(split.shares[0] - expected), split.standard_error[0]
        assert (error > 0).all()
        assert (error.max(axis=0) <= tolerance * np.ptp(split.shares[0], axis=0)).all()
        assert (missed <= 4.5 * error).all()  # of 72 values; one in 150,000 of a normal distribution lies beyond
        assert 0 < split.num_runs[0] < 2**13
        again = analysis.attribution(model, x, target=[0, 1], tolerance=tolerance)
        np.testing.assert_array_equal(split.shares, again.shares)  # no draw differs from call to call


def test_the_work_is_bounded_and_the_result_says_so(long):
    [(model, x, expected), _] = long
    cheap = analysis.attribution(model, x, target=0, tolerance=1e-6, max_work=2**12)
    dear = analysis.attribution(model, x, target=0, tolerance=1e-6, max_work=2**17)
    for split in (cheap, dear):
        assert "the budget was spent before the standard errors were below 0.0001% of the range" in split.reason
        assert split.residual < 1e-12
        assert (np.abs(split.shares[0] - expected[:, 0]) <= 5 * split.standard_error[0]).all()
    assert cheap.num_runs[0] < dear.num_runs[0]
    assert dear.standard_error.max() < cheap.standard_error.max()


def test_few_groups_of_a_long_text_are_exact():
    model, x = lstm(), vectors(1, 40)
    groups = np.repeat(np.arange(5), 8)
    split = analysis.attribution(model, x, target=1, groups=groups)
    assert split.exact
    expected = shapley.of_steps(lambda some: computed(model, some)[:, 1], x[0], np.zeros_like(x[0]), groups)
    np.testing.assert_allclose(split.shares[0], expected, atol=2e-6)


@pytest.mark.core(1)
@pytest.mark.parametrize("steps", [67, 66, 130])
def test_long_texts_have_estimates(steps):
    model, x = lstm(), vectors(1, steps)
    groups = np.arange(steps)
    groups[5:8] = 5  # a group with a step that changes nothing in between
    x[0, 6] = 0
    split = analysis.attribution(model, x, target=0, groups=groups, tolerance=0.2)
    assert split.residual < 1e-12
    assert np.isfinite(split.standard_error).all()
    # The last step is read with all or none of those before it: its share lies between what it adds to both.
    first_in, last_out = np.zeros_like(x), x.copy()
    first_in[0, -1], last_out[0, -1] = x[0, -1], 0
    outputs = computed(model, np.concatenate([x, last_out, first_in, 0 * x]))[:, 0]
    ends = np.sort([outputs[0] - outputs[1], outputs[2] - outputs[3]])
    slack = 0.5 * np.ptp(ends) + 6 * split.standard_error[0, -1]
    assert ends[0] - slack < split.shares[0, -1] < ends[1] + slack


# Networks that are not read step by step


def two_bidirectional(steps):
    below = keras.layers.Bidirectional(keras.layers.GRU(3, return_sequences=True))
    return keras.Sequential(
        [Input((steps, FEATURES)), below, keras.layers.Bidirectional(keras.layers.GRU(3)), Dense(2)]
    )


def attention(steps):
    x = Input((steps, FEATURES))
    states = keras.layers.LSTM(4, return_sequences=True)(x)
    weights = keras.layers.Softmax(axis=1)(Dense(1, "tanh")(states))
    return Model(x, Dense(2)(ops.sum(weights * states, axis=1)))


class Own(Model):
    """A user's class."""

    def __init__(self):
        super().__init__()
        self.first, self.second = keras.layers.LSTM(4, return_sequences=True), keras.layers.GRU(3)
        self.head = Dense(2)

    def call(self, inputs):
        return self.head(self.second(ops.concatenate([inputs, self.first(inputs)], axis=-1)))


def own(steps):
    model = Own()
    model(np.zeros((1, steps, FEATURES)))
    return model


def two_inputs(steps):
    x, numbers = Input((steps, FEATURES)), Input((2,))
    return Model(
        [x, numbers], Dense(2)(keras.layers.Concatenate()([keras.layers.LSTM(4)(x), Dense(3, "tanh")(numbers)]))
    )


GRAPHS = {"two Bidirectional": two_bidirectional, "attention": attention, "a subclass": own, "two inputs": two_inputs}
BY_STEPS = ("two inputs",)
"""Read step by step, so that more than eight players have exact values."""


@pytest.mark.core(2)
@pytest.mark.parametrize("name", GRAPHS)
def test_any_graph_has_exact_values_up_to_eight_players_and_estimates_above(name):
    steps = 10
    model, x = randomized(GRAPHS[name](steps), 1), vectors(2, steps)
    numbers = np.array([[0.5, -1.0], [2.0, 0.3]], "float32")

    def split(**options):
        return analysis.attribution(model, [x, numbers] if name == "two inputs" else x, target=[1, 0], **options)

    def run(variants, row):
        of_row = np.tile(numbers[row], (len(variants), 1))
        return computed(model, [variants, of_row] if name == "two inputs" else variants)[:, [1, 0]]

    groups = [0, 0, 1, 2, 3, 4, 5, 6, 6, 7]
    grouped, estimated = split(groups=groups), split(tolerance=0.02)
    assert grouped.exact
    assert grouped.num_runs.tolist() == [2**8] * 2
    assert estimated.exact == (name in BY_STEPS)
    for row in range(2):

        def value(some, row=row):
            return run(np.where(some[..., None], x[row], 0).astype("float32"), row)

        exact = exact_values(value(shapley.coalitions(steps)))
        assert (np.abs(estimated.shares[row] - exact) <= 5 * estimated.standard_error[row] + 2e-6).all()
        expected = exact_values(value(shapley.coalitions(8)[:, groups]))
        np.testing.assert_allclose(grouped.shares[row], expected, atol=2e-6)
    for each in (grouped, estimated):
        assert each.residual < 1e-12
    # All pairs of ten players are 511: with as many runs as there are coalitions values are exact.
    whole = split(tolerance=1e-9, max_work=2**11)
    assert whole.exact
    np.testing.assert_allclose(whole.shares[row], exact, atol=2e-6)
