"""The mean field against wide random networks, run here step by step; the biases that layers get from it."""

import keras
import numpy as np
import pytest

from keras_interp_rnn import analysis, initializers, layers

NUM_MATRICES = {"MinimalRNN": (2, 1), "GRU": (3, 3), "LSTM": (4, 4)}
"""Of the inputs, and of the state."""


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def step(cell, states, x, kernels, recurrent, bias, reset_after=True):
    """The next states, from the papers; complex numbers pass."""
    if cell == "MinimalRNN":
        [h] = states
        z = np.tanh(x @ kernels[0])
        u = sigmoid(h @ recurrent[0] + z @ kernels[1] + bias)
        return (u * h + (1 - u) * z,)
    arguments = [x @ kernel for kernel in kernels]
    if cell == "GRU":
        [h] = states
        u, r = (sigmoid(h @ recurrent[i] + arguments[i] + b) for i, b in enumerate((bias, 0)))
        mixed = r * (h @ recurrent[2]) if reset_after else (r * h) @ recurrent[2]
        return (u * h + (1 - u) * np.tanh(mixed + arguments[2]),)
    h, c = states
    i, f, g, o = (h @ matrix + argument for matrix, argument in zip(recurrent, arguments, strict=True))
    c = sigmoid(f + bias) * c + sigmoid(i - bias) * np.tanh(g)
    return sigmoid(o) * np.tanh(c), c


def simulated(cell, bias, seed, *, shared, units=300, scale=1.0, variance=1.0, before=150, k=20, **options):
    """Mean square of the last state, and growth per step of small perturbations, by complex steps."""
    rng = np.random.default_rng(seed)

    def drawn():
        inputs, states = NUM_MATRICES[cell]
        return rng.normal(size=(inputs, units, units)) / units**0.5, scale * rng.normal(
            size=(states, units, units)
        ) / units**0.5

    matrices = drawn()
    states = (np.zeros((1, units)),) * (2 if cell == "LSTM" else 1)
    squares, sizes, tiny = [], [], 1e-30
    for t in range(before + 3 + k):
        if not shared:
            matrices = drawn()
        if t == before:
            states = tuple(state + 1j * tiny * rng.normal(size=(8, units)) for state in states)
        x = rng.normal(scale=variance**0.5, size=(1, units))
        states = step(cell, states, x, *matrices, bias, **options)
        if t >= before - 50:
            squares.append((states[-1].real ** 2).mean())
        if t >= before + 2:  # once it is in the direction that grows most
            sizes.append(sum((state.imag**2).mean() for state in states))
    return np.mean(squares[:50]), (sizes[-1] / sizes[0]) ** (1 / k)


CASES = [
    ("MinimalRNN", 0.0, {}),
    ("MinimalRNN", 1.5, {"scale": 2.0, "variance": 0.3}),
    ("GRU", 1.0, {}),
    ("GRU", -0.5, {"scale": 2.0, "variance": 0.5}),
    ("GRU", 0.5, {"scale": 1.5, "reset_after": False}),
    ("LSTM", 1.0, {}),
    ("LSTM", 0.0, {"scale": 1.5, "variance": 0.4}),
]


@pytest.mark.matrix
@pytest.mark.parametrize(("cell", "bias", "settings"), CASES)
def test_random_networks_follow_the_mean_field(cell, bias, settings):
    found = np.array([simulated(cell, bias, seed, shared=False, units=200, before=55, **settings) for seed in range(4)])
    further = {"reset_after": settings["reset_after"]} if "reset_after" in settings else {}
    field = initializers.mean_field(
        cell,
        bias,
        recurrent_scale=settings.get("scale", 1.0),
        input_variance=settings.get("variance", 1.0),
        **further,
    )
    variance, growth = found.mean(axis=0)
    assert variance == pytest.approx(field.state_variance, rel=0.03)
    assert growth == pytest.approx(field.growth, rel=0.02)


@pytest.mark.matrix
@pytest.mark.parametrize("cell", NUM_MATRICES)
@pytest.mark.parametrize(("bias", "tolerance"), [(3.0, 0.02), (5.0, 0.002)])
def test_networks_that_share_theirs_agree_near_the_critical_point(cell, bias, tolerance):
    before = 200 if bias == 3 else 800
    growth = [simulated(cell, bias, seed, shared=True, before=before)[1] for seed in range(4)]
    assert np.mean(growth) == pytest.approx(initializers.mean_field(cell, bias).growth, rel=tolerance)


def test_where_the_reset_gate_multiplies_matters_with_large_matrices():
    after, before = (
        initializers.mean_field("GRU", 0.0, recurrent_scale=3.0, reset_after=after).growth for after in (True, False)
    )
    assert abs(after - before) > 0.01


def test_a_large_matrix_is_critical_at_a_finite_bias():
    """The paper's line of critical networks; the note has this one."""
    assert initializers.mean_field("MinimalRNN", 1.0, recurrent_scale=6.5).growth == pytest.approx(1, abs=1e-3)
    assert initializers.mean_field("MinimalRNN", 1.0, recurrent_scale=7.0).steps < 0


@pytest.mark.parametrize("cell", NUM_MATRICES)
@pytest.mark.parametrize("steps", [2, 30, 1000])
def test_the_bias_gives_the_number_of_steps(cell, steps):
    start = initializers.CriticalBias(cell, steps, input_variance=0.4)
    field = initializers.mean_field(cell, start.gate_bias, input_variance=0.4)
    assert field.steps == pytest.approx(steps, rel=1e-6)
    assert field.growth == pytest.approx(np.exp(-2 / steps))


def built(cell, units, **settings):
    """A layer with orthogonal matrices, each gate's by itself, whose features are as many as its units."""
    start = initializers.CriticalBias(cell, **settings)
    if cell == "MinimalRNN":
        encoder = keras.layers.Dense(units, "tanh", kernel_initializer=keras.initializers.Orthogonal(seed=5))
        return layers.MinimalRNN(
            units, encoder=encoder, kernel_initializer=keras.initializers.Orthogonal(seed=6), bias_initializer=start
        )
    options = {"unit_forget_bias": False} if cell == "LSTM" else {}
    layer = getattr(keras.layers, cell)(units, bias_initializer=start, **options)
    layer.build((None, None, units))
    for first, weight in ((0, layer.cell.kernel), (10, layer.cell.recurrent_kernel)):
        drawn = [keras.initializers.Orthogonal(seed=first + i)((units, units)) for i in range(weight.shape[1] // units)]
        weight.assign(keras.ops.concatenate(drawn, axis=1))
    return layer


@pytest.mark.parametrize("cell", ["MinimalRNN", "GRU"])
def test_an_input_of_a_layer_decays_in_that_many_steps(cell):
    layer = built(cell, 64, steps=40)
    inputs = np.random.default_rng(0).normal(size=(32, 80, 64)).astype("float32")
    values = analysis.jacobian_singular_values(layer, inputs, lags=[5, 25]).reshape(2, -1)
    near, far = (values**2).mean(axis=1)
    assert np.log(far / near) == pytest.approx(-2 * 20 / 40, rel=0.2)


@pytest.mark.parametrize(
    ("make", "cell", "parts"),
    [
        (lambda start: layers.MinimalRNN(3, bias_initializer=start), "MinimalRNN", [[1]]),
        (lambda start: keras.layers.GRU(3, bias_initializer=start), "GRU", [[1, 0, 0], [0, 0, 0]]),
        (lambda start: keras.layers.GRU(3, reset_after=False, bias_initializer=start), "GRU", [[1, 0, 0]]),
        (lambda start: keras.layers.LSTM(3, unit_forget_bias=False, bias_initializer=start), "LSTM", [[-1, 1, 0, 0]]),
    ],
    ids=["MinimalRNN", "GRU", "GRU, reset before", "LSTM"],
)
def test_a_layer_has_the_bias_after_it_was_saved_and_loaded(make, cell, parts, tmp_path):
    start = initializers.CriticalBias(cell, 25.0, recurrent_scale=0.9, input_variance=0.5)
    model = keras.Sequential([keras.Input((None, 2)), make(start)])
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras").layers[0]
    expected = np.repeat(np.array(parts) * start.gate_bias, 3, axis=-1).squeeze()
    np.testing.assert_allclose(keras.ops.convert_to_numpy(loaded.cell.bias), expected, rtol=1e-6)
    again = keras.initializers.deserialize(keras.initializers.serialize(start))
    assert again.get_config() == start.get_config()
    assert again.gate_bias == start.gate_bias


def test_arguments_without_a_mean_field_are_refused():
    field, critical = initializers.mean_field, initializers.CriticalBias
    for call, arguments, options, message in (
        (field, ("CFN", 1.0), {}, "`cell` must be one of 'MinimalRNN', 'GRU', 'LSTM'. Received: cell='CFN'"),
        (field, ("GRU", np.nan), {}, r"`gate_bias` must be a number in \[-30, 30\].* gate_bias=nan"),
        (field, ("MinimalRNN", 10**9), {}, r"`gate_bias` must be a number in \[-30, 30\].* gate_bias=1000"),
        (field, ("GRU", 1.0), {"recurrent_scale": 0}, "`recurrent_scale` must be a positive number"),
        (field, ("GRU", 1.0), {"input_variance": -1}, "`input_variance` must be a non-negative number"),
        (critical, ("GRU", 0), {}, "`steps` must be a positive number. Received: steps=0"),
        (critical, ("GRU", np.inf), {}, "`steps` must be a positive number. Received: steps=inf"),
        (
            critical,
            ("MinimalRNN", 0.01),
            {},
            "`steps` must be reached by a gate bias .* steps=0.01 and recurrent_scale=1, w",
        ),
        (critical("LSTM"), ((6,),), {}, r"4 parts of n each. Received: shape=\(6,\)"),
        (critical("GRU"), ((3, 6),), {}, r"3 parts of n each. Received: shape=\(3, 6\)"),
        (critical("LSTM"), ((2, 8),), {}, r"4 parts of n each. Received: shape=\(2, 8\)"),
    ):
        with pytest.raises(ValueError, match=message):
            call(*arguments, **options)
