import sys

import keras
import numpy as np
import pytest

from keras_interp_rnn import constraints, fitting, layers
from tests.layers_of_users import Times, Without

K = 4


def logistic(z):
    return 1 / (1 + np.exp(-z))


def choices(sessions, trials, seed):
    """Symbols and next choices of an agent with one value, which decays by 0.8 and moves by -1, -1/2, 1/2 or 1."""
    generator = np.random.default_rng(seed)
    value, symbols = np.zeros(sessions), np.zeros((sessions, trials), int)
    for t in range(trials):
        choice = generator.random(sessions) < logistic(value)
        symbols[:, t] = 2 * choice + (generator.random(sessions) < 0.5)
        value = 0.8 * value + np.array([-1, -0.5, 0.5, 1])[symbols[:, t]]
    return symbols[:, :-1], (symbols[:, 1:] // 2).astype(float)


def network(layer=None, loss=None, **kwargs):
    layer = layer or layers.DiagonalISAN(1, K, return_sequences=True, **kwargs)
    model = keras.Sequential([keras.Input((None,), dtype="int32"), layer, keras.layers.Dense(1)])
    model.compile(loss=loss or keras.losses.BinaryCrossentropy(from_logits=True))
    return model


def test_an_agent_is_recovered():
    x, y = choices(40, 100, 0)
    model = network()
    fits = fitting.fit_lbfgs(model, (x, y), num_restarts=3, verbose=0)
    cell, head = model.layers[0].cell, model.layers[-1]
    weights = cell.recurrent_kernel, cell.bias, head.kernel, head.bias
    decays, bias, kernel, shift = (keras.ops.convert_to_numpy(weight).ravel() for weight in weights)
    # The bias of the head moves the logit too: z = a z + b w + (1 - a) c.
    moves = bias * kernel + (1 - decays) * shift
    assert decays == pytest.approx(0.8, abs=0.1)
    assert moves == pytest.approx([-1, -0.5, 0.5, 1], abs=0.25)
    assert fits.converged.any()
    assert fits.loss[0] == fits.losses.min()


def test_the_loss_is_the_one_that_keras_evaluates():
    x, y = choices(6, 30, 1)
    model = network()
    fits = fitting.fit_lbfgs(model, (x, y), num_restarts=2, max_steps=30, verbose=0)
    assert fits.loss[0] == pytest.approx(model.evaluate(x, y[..., None], verbose=0), rel=1e-5)
    assert fits.evaluate((x, y))[0] == pytest.approx(fits.loss[0], abs=1e-12)


def test_fits_of_subsets_are_fits_of_their_sequences_alone():
    x, y = choices(6, 30, 2)
    subsets = np.array([[1, 1, 1, 0, 0, 0], [0, 0, 0, 0, 1, 1], [1, 1, 1, 1, 1, 1]], bool)
    model = network()
    start = model.get_weights()
    together = fitting.fit_lbfgs(model, (x, y), subsets=subsets, num_restarts=2, max_steps=40, verbose=0)
    model.set_weights(start)
    alone = fitting.fit_lbfgs(model, (x[subsets[1]], y[subsets[1]]), num_restarts=2, max_steps=40, verbose=0)
    np.testing.assert_allclose(together.losses[1], alone.losses[0], rtol=1e-6)
    outside = together.evaluate((x, y), subsets=~subsets)
    assert np.isfinite(outside[:2]).all()
    assert np.isnan(outside[2])


def test_steps_of_weight_0_count_for_nothing():
    x, y = choices(5, 20, 3)
    weights = np.ones_like(y)
    weights[:, 12:] = 0
    fits = [
        fitting.fit_lbfgs(
            network(bias_initializer="zeros", recurrent_initializer="ones"), data, num_restarts=1, verbose=0
        )
        for data in ((x, y, weights), (x[:, :12], y[:, :12]), (x, np.where(weights > 0, y, 1 - y), weights))
    ]
    losses = [fit.loss[0] for fit in fits]
    # Heads are drawn for each model: only the minimum is common.
    assert losses == pytest.approx([losses[0]] * 3, abs=1e-4)


class OfAUser(keras.losses.Loss):
    """A loss of a user, which is not registered with Keras."""

    def call(self, y, outputs):
        return keras.losses.sparse_categorical_crossentropy(y, outputs, from_logits=True)


@pytest.mark.parametrize("stacked", [True, False])
@pytest.mark.parametrize(
    ("loss", "options"),
    [
        (keras.losses.SparseCategoricalCrossentropy(from_logits=True, ignore_class=0), {}),
        (keras.losses.SparseCategoricalCrossentropy(from_logits=True), {"loss_weights": 3.0}),
        (keras.losses.SparseCategoricalCrossentropy(from_logits=True), {"loss_weights": [0.5]}),
        (OfAUser(), {"metrics": [keras.metrics.SparseCategoricalAccuracy()]}),
    ],
)
def test_the_objective_is_keras_s(loss, options, stacked, monkeypatch):
    if not stacked:
        monkeypatch.setattr(fitting, "stack_of", lambda model: None)
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(6, 5, 3)).astype("float32"), rng.integers(0, 4, (6, 5))
    gru = keras.layers.GRU(3, return_sequences=True, kernel_regularizer=keras.regularizers.L2(0.1))
    model = keras.Sequential([keras.Input((5, 3)), gru, keras.layers.Dense(4)])
    model.compile(loss=loss, **options)
    fits = fitting.fit_lbfgs(model, (x, y), num_restarts=1, max_steps=2, verbose=0)
    assert fits.loss[0] == pytest.approx(model.evaluate(x, y, verbose=0, return_dict=True)["loss"], rel=1e-5)


def test_a_target_of_weight_0_may_be_missing():
    rng = np.random.default_rng(0)
    x, y, weight = rng.normal(size=(6, 5, 3)), rng.normal(size=(6, 5, 1)), np.ones((6, 5))
    weight[0, 3] = 0
    model = keras.Sequential([keras.Input((5, 3)), keras.layers.GRU(3, return_sequences=True), keras.layers.Dense(1)])
    model.compile(loss="mse")
    start, found = model.get_weights(), []
    for missing in (y[0, 3], np.nan):
        model.set_weights(start)
        target = y.copy()
        target[0, 3] = missing
        found.append(fitting.fit_lbfgs(model, (x, target, weight), num_restarts=2, max_steps=5, verbose=0).losses)
    assert np.array_equal(*found)
    assert np.isfinite(found[0]).all()


@pytest.mark.parametrize(
    ("constraint", "holds"),
    [
        # With singular values that are all alike the derivative of a decomposition is NaN too.
        (constraints.MaxSpectralNorm(0.5), lambda bias: True),
        (keras.constraints.MaxNorm(5.0), lambda bias: np.linalg.norm(bias) <= 5),
        (keras.constraints.UnitNorm(), lambda bias: np.linalg.norm(bias) == pytest.approx(1, abs=1e-5)),
        (keras.constraints.MinMaxNorm(2.0, 4.0), lambda bias: 1.99 <= np.linalg.norm(bias) <= 4.01),
    ],
)
def test_weights_under_a_norm_may_begin_at_0(constraint, holds):
    """As every bias does; the derivative of a norm at 0 is NaN."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(6, 5, 3)), rng.normal(size=(6, 5, 2)) - 3
    keras.utils.set_random_seed(0)
    spectral = isinstance(constraint, constraints.MaxSpectralNorm)
    head = keras.layers.Dense(2, bias_constraint=None if spectral else constraint)
    layer = keras.layers.SimpleRNN(3, return_sequences=True, recurrent_constraint=constraint if spectral else None)
    model = keras.Sequential([keras.Input((5, 3)), layer, head])
    model.compile(loss="mse")
    fits = fitting.fit_lbfgs(model, (x, y), num_restarts=2, max_steps=40, verbose=0)
    assert (fits.num_steps > 5).all()
    assert fits.loss[0] < 1.5
    assert holds(keras.ops.convert_to_numpy(head.bias))


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"y": np.nan}, "must be finite at each start. Received: nan. The inputs, the targets of positive weight"),
        ({"loss": lambda y, p: keras.ops.sqrt(0 * p[..., 0])}, "a gradient of NaN or infinity by .*kernel"),
        ({"loss": keras.losses.MeanSquaredError(reduction="sum")}, "must have a mean for its reduction.* 'sum'"),
    ],
)
def test_an_objective_that_cannot_be_followed_is_refused(change, sentence):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(6, 5, 3)), rng.normal(size=(6, 5, 1))
    model = keras.Sequential([keras.Input((5, 3)), keras.layers.GRU(3, return_sequences=True), keras.layers.Dense(1)])
    model.compile(loss=change.get("loss", "mse"))
    y[1, 2] = change.get("y", 0)
    with pytest.raises(ValueError, match=sentence):
        fitting.fit_lbfgs(model, (x, y), num_restarts=1, verbose=0)


@pytest.mark.parametrize("later", [False, True])
def test_penalties_count_and_are_not_evaluated(later):
    x, y = choices(4, 20, 4)
    penalized = keras.regularizers.L2(0.125)  # Keras has it in float32
    model = network(bias_regularizer=None if later else penalized)
    model.layers[0].cell.bias.regularizer = penalized
    # In the end the head makes up for biases that shrink, and the penalty vanishes: it is looked at before.
    fits = fitting.fit_lbfgs(model, (x, y), num_restarts=2, max_steps=2, verbose=0)
    penalty = 0.125 * float(np.square(fits.weights[0][K : 2 * K]).sum())
    assert fits.loss[0] == pytest.approx(fits.evaluate((x, y))[0] + penalty, abs=1e-12)
    assert penalty > 1e-3


def test_each_fit_has_its_factor_of_the_penalties():
    x, y = choices(4, 20, 4)
    model = network(bias_regularizer=keras.regularizers.L2(0.1))
    start = model.get_weights()
    settings = {"num_restarts": 2, "max_steps": 10, "verbose": 0}
    together = fitting.fit_lbfgs(model, (x, y), penalty_factors=[0.0, 1.0, 3.0], **settings)
    assert len(together) == 3
    for fit, scale in ((0, 0.0), (2, 0.3)):
        alone = network(bias_regularizer=keras.regularizers.L2(scale))
        alone.set_weights(start)
        np.testing.assert_allclose(fitting.fit_lbfgs(alone, (x, y), **settings).losses[0], together.losses[fit], 1e-6)


@pytest.mark.parametrize(
    ("constraint", "holds"),
    [
        (constraints.Interval(0, 0.6), lambda w: (w >= 0).all() and (w <= 0.6).all()),
        (keras.constraints.NonNeg(), lambda w: (w >= 0).all()),
        (keras.constraints.MaxNorm(0.7, axis=[0, 1, 2, 3]), lambda w: 0.69 < np.linalg.norm(w) <= 0.7),
    ],
)
def test_constraints_hold(constraint, holds):
    x, y = choices(4, 30, 5)
    model = network(recurrent_constraint=constraint)
    fits = fitting.fit_lbfgs(model, (x, y), num_restarts=2, max_steps=60, verbose=0)
    assert holds(fits.weights[0][:K])
    # Keras divides by the norm plus 1e-7: its MaxNorm, applied twice, would be another weight.
    assert fits.evaluate((x, y))[0] == pytest.approx(fits.loss[0], abs=1e-12)


def test_a_model_whose_layers_have_no_stack_is_fitted_too(monkeypatch, capsys):
    x, y = choices(3, 12, 6)
    inputs = keras.Input((None,), dtype="int32")
    states = layers.CFN(2, return_sequences=True)(keras.layers.Embedding(K, 3)(inputs))
    model = keras.Model(inputs, keras.layers.Dense(1)(states))
    model.compile(loss=keras.losses.BinaryCrossentropy(from_logits=True))
    before = model.evaluate(x, y[..., None], verbose=0)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    fits = fitting.fit_lbfgs(model, (x, y), subsets=np.eye(3, dtype=bool), num_restarts=2, max_steps=8)
    first, *_, last = capsys.readouterr().out.strip("\r\x1b[K").split("\r\x1b[K")
    assert first == "L-BFGS: 0 of 6 starts done, evaluation 1"
    assert last.startswith("L-BFGS: 6 of 6 starts done")
    assert fits.losses.shape == (3, 2)
    each = fits.evaluate((x, y), subsets=np.eye(3, dtype=bool))
    assert each == pytest.approx(fits.loss, abs=1e-9)
    assert each.mean() < before
    for fit in range(3):
        fits.load(fit)
        assert model.evaluate(x[[fit]], y[[fit], :, None], verbose=0) == pytest.approx(each[fit], abs=1e-5)


@pytest.mark.matrix
def test_the_same_seed_gives_the_same_fit_and_another_one_other_starts():
    x, y = choices(3, 15, 7)
    model = network()
    start = model.get_weights()

    def losses(seed):
        model.set_weights(start)
        return fitting.fit_lbfgs(model, (x, y), num_restarts=3, max_steps=3, seed=seed, verbose=0).losses[0]

    first, again, other = losses(0), losses(0), losses(1)
    np.testing.assert_array_equal(first, again)
    assert first[0] == other[0]
    assert (first[1:] != other[1:]).all()


@pytest.mark.matrix
def test_sparse_categories_and_last_states_are_fitted():
    x, _ = choices(8, 10, 8)
    model = keras.Sequential([keras.Input((None,), dtype="int32"), layers.ISAN(2, K), keras.layers.Dense(3)])
    model.compile(loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    y = x[:, -1] % 3
    fits = fitting.fit_lbfgs(model, (x, y), num_restarts=2, max_steps=100, verbose=0)
    assert fits.loss[0] < 0.01


@pytest.mark.matrix
def test_many_sequences_are_fitted_in_parts(monkeypatch):
    x, y = choices(6, 12, 9)
    model = network()
    start = model.get_weights()
    subsets = np.eye(6, dtype=bool)
    whole = fitting.fit_lbfgs(model, (x, y), subsets=subsets, num_restarts=2, max_steps=5, verbose=0)
    model.set_weights(start)
    monkeypatch.setattr(fitting, "MAX_STEPS_AT_ONCE", 60)
    parts = fitting.fit_lbfgs(model, (x, y), subsets=subsets, num_restarts=2, max_steps=5, verbose=0)
    np.testing.assert_allclose(whole.losses, parts.losses, rtol=1e-9)


def numbers(head=2, last=None, sequences=True, before=(), after=(), loss="mse", **kwargs):
    keras.utils.set_random_seed(2)
    inputs = keras.Input((5, 3))
    x = inputs
    for layer in (*before, keras.layers.GRU(3, return_sequences=sequences), *after):
        x = layer(x)
    model = keras.Model(inputs, keras.layers.Dense(head, activation=last, name="out", **kwargs)(x))
    model.compile(loss=loss)
    return model


RNG = np.random.default_rng(1)
GIVEN, REAL, CLASSES = RNG.normal(size=(10, 5, 3)), RNG.normal(size=(10, 5, 2)), RNG.integers(0, 4, (10, 5))


def adapted(nested=False):
    layer = keras.layers.Normalization()
    layer.adapt(5 * GIVEN + 7)
    if not nested:
        return layer
    inner = keras.Input((5, 3))
    return keras.Model(inner, layer(inner))


def left_out(y, outputs):
    return keras.losses.sparse_categorical_crossentropy(y, outputs, from_logits=True, ignore_class=2)


class LeftOut(keras.losses.Loss):
    def call(self, y, outputs):
        return left_out(y, outputs)


@pytest.mark.parametrize(
    ("model", "x", "y"),
    [
        (lambda: numbers(before=[adapted()]), 5 * GIVEN + 7, REAL),
        (lambda: numbers(before=[adapted(nested=True)]), 5 * GIVEN + 7, REAL),
        (lambda: numbers(4, loss=left_out), GIVEN, CLASSES),
        (lambda: numbers(4, loss=LeftOut()), GIVEN, CLASSES),
        (lambda: numbers(4, "softmax", False, loss="categorical_crossentropy"), GIVEN, np.eye(4)[CLASSES[:, 0]]),
        (lambda: numbers(2, None, False), GIVEN, REAL[:, 0]),
        (lambda: numbers(loss={"out": "mse"}), GIVEN, REAL),
        (lambda: numbers(loss=["mse"]), GIVEN, REAL),
        (lambda: numbers(loss=lambda y, p: keras.ops.mean(keras.ops.square(y - p), axis=(1, 2))), GIVEN, REAL),
    ],
)
def test_the_fit_is_the_one_that_keras_evaluates(model, x, y):
    model = model()
    before = model.evaluate(x, y, verbose=0)
    fits = fitting.fit_lbfgs(model, (x, y), num_restarts=2, max_steps=10, verbose=0)
    after = model.evaluate(x, y, verbose=0)
    assert fits.loss[0] == pytest.approx(after, rel=1e-4)
    assert after < before


class Plain(keras.layers.Layer):
    def __init__(self, factor):
        super().__init__()
        self.factor = factor

    def call(self, x):
        return self.factor * x


def changed_later():
    layer = Times()
    layer.factor = 0.1
    return layer


class OwnCall(keras.Model):
    def call(self, x, training=None, mask=None):
        return 2 * super().call(x, training=training)


class OwnLoss(keras.Model):
    def compute_loss(self, *args, **kwargs):
        return 3 * super().compute_loss(*args, **kwargs)


class Threefold(keras.losses.MeanSquaredError):
    def __call__(self, y, outputs, sample_weight=None):
        return 3 * super().__call__(y, outputs, sample_weight)


class Subclass(keras.Model):
    def __init__(self):
        super().__init__()
        self.layer = keras.layers.GRU(2, return_sequences=True)

    def call(self, x):
        return self.layer(x)


def of_class(kind):
    made = numbers()
    model = kind(made.input, made.output) if kind is not Subclass else kind()
    model.compile(loss="mse")
    model(GIVEN)
    return model


def over_the_batch(y, outputs):
    return keras.ops.mean(keras.ops.square(y - outputs - keras.ops.mean(y - outputs, axis=0, keepdims=True)), -1)


COPY, OBJECTIVE, EACH = (
    "A copy of the model must",
    "The objective must be the loss",
    "The loss must have a value for each",
)


@pytest.mark.parametrize(
    ("model", "sentence"),
    [
        (lambda: numbers(after=[changed_later()]), f"{COPY}.*a copy of which gives"),
        (lambda: numbers(after=[Without(0.1)]), f"{COPY}.*a copy of which gives"),
        (lambda: numbers(after=[Plain(0.1)]), f"{COPY}.*Plain.*its configuration does not make again"),
        (lambda: numbers(after=[keras.layers.Lambda(lambda x: 2 * x)]), f"{COPY}.*Lambda"),
        (lambda: numbers(kernel_regularizer=lambda x: 0.1 * keras.ops.sum(x)), f"{COPY}.*Dense"),
        (lambda: of_class(OwnCall), f"{COPY}.*a copy of which gives"),
        (lambda: of_class(Subclass), "must be Sequential or functional, with one output. Received: .*subclass"),
        (lambda: of_class(OwnLoss), f"{OBJECTIVE} that Keras computes"),
        (lambda: numbers(loss=Threefold()), f"{OBJECTIVE} that Keras computes"),
        (lambda: numbers(loss=over_the_batch), f"{EACH}.*over_the_batch, which compares the sequences"),
        (lambda: numbers(loss=keras.losses.Dice()), EACH),
        (lambda: numbers(loss=lambda y, p: keras.ops.mean(keras.ops.square(y - p))), EACH),
        (lambda: numbers(1, loss=keras.losses.MeanSquaredError(reduction="none")), "must have a mean"),
    ],
)
def test_a_model_that_would_be_fitted_to_something_else_is_refused(model, sentence):
    model = model()
    before = model.get_weights()
    with pytest.raises(ValueError, match=sentence):
        fitting.fit_lbfgs(model, (GIVEN, REAL), num_restarts=1, verbose=0)
    for one, other in zip(model.get_weights(), before, strict=True):
        np.testing.assert_array_equal(one, other)


X, Y = choices(3, 5, 10)
MODEL = network()


@pytest.mark.core
@pytest.mark.parametrize(
    ("model", "data", "options", "sentence"),
    [
        (MODEL, X, {}, r"`data` must be \(x, y\) or \(x, y, sample_weight\)"),
        (MODEL, (X, Y[:2]), {}, r"must hold arrays of one number of sequences. Received: \[2, 3\]"),
        (MODEL, (X, Y, Y[:, :2]), {}, r"`sample_weight` must be non-negative numbers of shape \(3,\) or \(3, 4\)"),
        (MODEL, (X, Y, -np.ones(3)), {}, "`sample_weight` must be non-negative"),
        (MODEL, (X, Y), {"subsets": np.ones((2, 4), bool)}, r"`subsets` must be booleans of shape \(fits, 3\)"),
        (MODEL, (X, Y), {"subsets": np.ones((2, 3))}, "`subsets` must be booleans"),
        (MODEL, (X, Y), {"subsets": np.diag([1, 0, 1]) > 0}, r"must have a step of positive .* none in row 2\. Leave"),
        (MODEL, (X, Y), {"penalty_factors": [1.0, -1.0]}, "`penalty_factors` must be non-negative numbers"),
        (MODEL, (X, Y), {"penalty_factors": 1.0}, r"must be non-negative numbers of shape \(fits,\)"),
        (MODEL, (X, Y), {"penalty_factors": np.ones(2), "subsets": np.eye(3, dtype=bool)}, r"shape \(2, 3\)"),
        (MODEL, (X, Y), {"num_restarts": 0}, "`num_restarts` must be a positive integer. Received"),
        (keras.Sequential([keras.layers.Dense(1)]), (X, Y), {}, "`model` must be a built Keras model"),
        (keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)]), (X, Y), {}, "must be compiled with one loss"),
        (network(layers.ISAN(2, K)), (X, Y), {}, "must compute its loss of the data. Received: .*same shape"),
        (network(layers.ISAN(2, K), "mse"), (X, Y), {}, "The loss must have a value for each step"),
    ],
)  # fmt: skip
def test_errors_say_what_must_be(model, data, options, sentence):
    with pytest.raises(ValueError, match=sentence):
        fitting.fit_lbfgs(model, data, **{"verbose": 0, "max_steps": 2, **options})
