"""MaxSpectralRadius beside NumPy's eigenvalues, and what an ISAN is without it."""

import json

import keras
import numpy as np
import pytest

from keras_interp_rnn import layers
from keras_interp_rnn.constraints import MaxSpectralNorm, MaxSpectralRadius, Zero


def radii(w):
    return np.abs(np.linalg.eigvals(np.asarray(w, np.float64))).max(axis=-1)


def pair_radii(w):
    """Growth per step of every pair in turn: the root of the radius of their product."""
    return np.sqrt(radii(np.asarray(w, np.float64)[:, None] @ w[None]))


def applied(constraint, w, times):
    call = constraint
    if times > 1 and keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        call = tf.function(constraint)  # op by op, a hundred calls take a while
    for _ in range(times):
        w = keras.ops.convert_to_numpy(call(keras.ops.convert_to_tensor(w)))
    return w


def matrices(seed, count=6, units=9, scale=1.6, dtype="float32"):
    rng = np.random.default_rng(seed)
    return (scale * rng.normal(size=(count, units, units)) / np.sqrt(units)).astype(dtype)


@pytest.mark.parametrize("count", [1, 2, 27, pytest.param(65, marks=pytest.mark.matrix)])
def test_all_pairs_of_an_alphabet_are_brought_to_the_bound(count):
    w = matrices(count, count=count, scale=2.0)
    bounded = applied(MaxSpectralRadius(0.9), w, 5)
    assert pair_radii(w).max() > 1.2
    assert radii(bounded).max() < 1.05 * 0.9
    assert pair_radii(bounded).max() < 1.05 * 0.9


@pytest.mark.parametrize("seed", range(3))
def test_a_pair_is_bounded_that_outgrows_its_matrices(seed):
    rng = np.random.default_rng(seed)
    w = 0.1 * matrices(seed, dtype="float64")
    one, other = np.linalg.qr(rng.normal(size=(9, 2)))[0].T
    w[1] += 1.5 * np.outer(one, other)  # of radius 0, as is the next: that of their product is 1.8
    w[4] += 1.2 * np.outer(other, one)
    assert radii(w).max() < 0.85
    assert pair_radii(w).max() > 1.1
    bounded = applied(MaxSpectralRadius(0.9), w, 20)
    assert pair_radii(bounded).max() < 1.05 * 0.9
    np.testing.assert_array_equal(bounded[[0, 2, 3, 5]], w[[0, 2, 3, 5]])
    np.testing.assert_array_equal(applied(MaxSpectralRadius(0.9, words=0), w, 1), w)


@pytest.mark.parametrize("seed", range(4))
def test_one_call_takes_a_direction_that_outgrows_the_others_below_the_bound(seed):
    rng = np.random.default_rng(seed)
    w = matrices(seed, units=40, scale=0.5)
    left, right = rng.choice([-1.0, 1.0], (2, 6, 40)) / np.sqrt(40)
    right += left  # so that the product of many steps stays in this direction
    spiked = (w + 3 * left[:, :, None] * right[:, None, :]).astype("float32")
    assert radii(spiked).min() > 1.5
    assert radii(applied(MaxSpectralRadius(0.9), spiked, 1)).max() < 0.95


@pytest.mark.parametrize("seed", range(3))
def test_a_matrix_by_itself_is_scaled_as_a_whole_and_once(seed):
    w = matrices(seed, dtype="float64")
    constraint = MaxSpectralRadius(0.5, words=0)
    once = applied(constraint, w, 1)
    factors = (once / w)[:, :1, :1]
    assert (factors < 0.9).all()
    np.testing.assert_allclose(once, factors * w, rtol=1e-5)
    np.testing.assert_allclose(applied(constraint, once, 1), once, rtol=1e-4)


@pytest.mark.parametrize("units", [9, 40])
@pytest.mark.parametrize("seed", range(3))
def test_it_is_continuous_in_the_weights(seed, units):
    """Small changes of matrices beyond the bound are not enlarged by more than a constant."""
    if keras.backend.backend() != "tensorflow":
        pytest.skip("float64 needs a flag of JAX's")
    rng = np.random.default_rng(seed)
    w = matrices(seed, units=units, scale=1.1, dtype="float64")
    bounded = applied(MaxSpectralRadius(0.9), w, 1)
    assert (abs(bounded - w).max(axis=(1, 2)) > 1e-3).sum() > 3
    for size in (1e-4, 1e-6, 1e-8):
        change = size * rng.normal(size=w.shape) / units
        found = np.linalg.norm(applied(MaxSpectralRadius(0.9), w + change, 1) - bounded)
        assert found < 100 * np.linalg.norm(change)


@pytest.mark.parametrize("seed", range(3))
def test_matrices_within_the_bound_stay_as_they_are(seed):
    w = matrices(seed)
    w *= 0.89 / np.linalg.norm(w, 2, axis=(1, 2))[:, None, None]
    np.testing.assert_array_equal(applied(MaxSpectralRadius(0.9), w, 3), w)


def test_one_matrix_is_as_one_of_several():
    w = matrices(0, count=1)
    alone = applied(MaxSpectralRadius(0.9), w[0], 1)
    assert alone.shape == (9, 9)
    np.testing.assert_allclose(alone, applied(MaxSpectralRadius(0.9), w, 1)[0], atol=1e-6)
    assert not np.allclose(alone, w[0])


@pytest.mark.parametrize("w", [np.zeros((3, 4, 4)), np.full((3, 4, 4), 1e-30), 1e25 * np.eye(4)[None]])
def test_extreme_matrices_stay_finite(w):
    assert np.isfinite(applied(MaxSpectralRadius(0.9), w.astype("float32"), 5)).all()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_the_dtype_stays(dtype):
    w = keras.ops.convert_to_tensor(matrices(0, dtype="float64"), dtype)
    found = MaxSpectralRadius(0.9)(w)
    assert keras.backend.standardize_dtype(found.dtype) == dtype


@pytest.mark.matrix
@pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="a function of TensorFlow's")
def test_compiled_by_xla_and_for_a_number_of_matrices_that_is_not_known():
    import tensorflow as tf

    w, constraint = matrices(1), MaxSpectralRadius(0.9, words=3)  # a number that is not known bounds no default
    expected = applied(constraint, w, 1)
    unknown = tf.TensorSpec((None, 9, 9), "float32")
    dynamic = tf.function(constraint, input_signature=[unknown])
    np.testing.assert_allclose(dynamic(w), expected, atol=1e-5)
    by_xla = tf.function(constraint, jit_compile=True)
    np.testing.assert_allclose(by_xla(w), expected, atol=1e-5)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"max_value": 0.0}, "`max_value` must be a positive number. Received: max_value=0.0"),
        ({"max_value": float("nan")}, "`max_value` must be a positive number. Received: max_value=nan"),
        ({"steps": 3}, "`steps` must be an integer of at least 4. Received: steps=3"),
        ({"steps": 7}, "`steps` must be even, as pairs take turns. Received: steps=7"),
        ({"words": -1}, "`words` must be a non-negative integer. Received: words=-1"),
        ({"words": 2.5}, "`words` must be a non-negative integer. Received: words=2.5"),
    ],
)
def test_arguments_out_of_range_are_refused(arguments, says):
    with pytest.raises(ValueError, match=says):
        MaxSpectralRadius(**arguments)


@pytest.mark.parametrize("shape", [(4,), (4, 5), (2, 3, 3, 3)])
def test_other_arrays_than_square_matrices_are_refused(shape):
    for constraint in (MaxSpectralRadius(), MaxSpectralNorm())[: 1 if len(shape) == 4 else 2]:  # blocks have a norm
        with pytest.raises(ValueError, match="`w` must be square matrices, .*Received: shape"):
            constraint(np.ones(shape, "float32"))


class TestNorm:
    @pytest.mark.parametrize("dtype", ["float32", "float64"])
    @pytest.mark.parametrize("seed", range(3))
    def test_singular_values_are_cut_off_and_nothing_else_changes(self, seed, dtype):
        w = matrices(seed, dtype=dtype)
        found = keras.ops.convert_to_numpy(MaxSpectralNorm(0.9)(keras.ops.convert_to_tensor(w)))
        left, values, right = np.linalg.svd(w.astype(np.float64))
        assert values.max() > 1.5
        expected = (left * np.minimum(values, 0.9)[:, None]) @ right
        np.testing.assert_allclose(found, expected, atol=1e-5 if dtype == "float32" else 1e-12)
        assert found.dtype == dtype
        np.testing.assert_allclose(applied(MaxSpectralNorm(0.9), w[0], 1), expected[0], atol=1e-5)

    def test_it_is_saved_and_checked(self):
        constraint = keras.constraints.deserialize(keras.constraints.serialize(MaxSpectralNorm(0.7)))
        assert type(constraint) is MaxSpectralNorm
        assert constraint.max_value == 0.7
        with pytest.raises(ValueError, match="`max_value` must be a positive number. Received: max_value=nan"):
            MaxSpectralNorm(float("nan"))

    def test_it_bounds_an_isan_while_it_trains(self):
        model = TestInAnISAN.network(recurrent_constraint=MaxSpectralNorm(1.0))
        model.fit(*TestInAnISAN.runs(), batch_size=16, epochs=2, verbose=0)
        kernel = keras.ops.convert_to_numpy(model.layers[1].cell.recurrent_kernel)
        assert np.linalg.norm(kernel, ord=2, axis=(1, 2)).max() < 1 + 1e-5


class TestInAnISAN:
    @staticmethod
    def network(units=24, **arguments):
        ids = keras.Input((20,), dtype="int32")
        states = layers.ISAN(units, 5, return_sequences=True, **arguments)(ids)
        model = keras.Model(ids, keras.layers.Dense(5, dtype=arguments.get("dtype"))(states))
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        model.compile(keras.optimizers.Adam(5e-3, global_clipnorm=1.0), loss)
        return model

    @staticmethod
    def runs(seed=0):
        """Texts of which a sixteenth are runs of the last symbol."""
        rng = np.random.default_rng(seed)
        text = rng.integers(0, 4, (64, 21))
        text[::16] = 4
        return text[:, :-1], text[:, 1:]

    def test_the_constraint_is_the_default_and_none_switches_it_off(self):
        assert isinstance(layers.ISAN(4, 3).cell.recurrent_constraint, MaxSpectralRadius)
        assert isinstance(layers.ISANCell(4, 3).recurrent_constraint, MaxSpectralRadius)
        assert layers.ISAN(4, 3, recurrent_constraint=None).cell.recurrent_constraint is None
        assert isinstance(layers.ISAN(4, 1024).cell.recurrent_constraint, MaxSpectralRadius)
        assert layers.ISAN(4, 1025).cell.recurrent_constraint is None

    @pytest.mark.matrix
    def test_training_holds_the_radii_that_it_lets_grow_without(self):
        found = {}
        for name, arguments in {"default": {}, "none": {"recurrent_constraint": None}}.items():
            keras.utils.set_random_seed(1)
            model = self.network(**arguments)
            model.fit(*self.runs(), batch_size=16, epochs=6, verbose=0)
            found[name] = radii(model.layers[1].get_weights()[0]).max()
        assert found["none"] > 1.05
        assert found["default"] < 1.0

    @pytest.mark.core(1)
    @pytest.mark.parametrize("optimizer", ["adam", "sgd"])
    @pytest.mark.parametrize(
        "seed", [1, pytest.param(2, marks=pytest.mark.matrix), pytest.param(3, marks=pytest.mark.matrix)]
    )
    def test_two_trainings_that_differ_by_rounding_stay_close(self, seed, optimizer):
        rng, models = np.random.default_rng(seed), []
        for _ in range(2):
            keras.utils.set_random_seed(seed)
            models.append(self.network())
            if optimizer == "sgd":
                models[-1].compile(keras.optimizers.SGD(0.5), models[-1].loss)
        one, other = models
        other.set_weights([w * (1 + 1e-7 * rng.choice([-1.0, 1.0], w.shape)) for w in one.get_weights()])
        x, y = self.runs(seed)
        constrained = 0
        for step in range(50):
            rows = slice(16 * (step % 4), 16 * (step % 4) + 16)
            for model in models:
                model.train_on_batch(x[rows], y[rows])
            constrained += radii(one.layers[1].get_weights()[0]).max() > 0.9
        assert constrained > 20  # the bound is reached, and not once
        for a, b in zip(one.get_weights(), other.get_weights(), strict=True):
            np.testing.assert_allclose(a, b, rtol=0, atol=1e-5)

    @pytest.mark.parametrize("arguments", [{}, {"recurrent_constraint": MaxSpectralRadius(0.7, 8, 4)}])
    def test_it_is_saved_and_loaded(self, tmp_path, arguments):
        model = self.network(**arguments)
        model.save(tmp_path / "model.keras")
        again = keras.models.load_model(tmp_path / "model.keras", compile=False).layers[1].cell.recurrent_constraint
        assert type(again) is MaxSpectralRadius
        assert again.get_config() == model.layers[1].cell.recurrent_constraint.get_config()

    def test_a_configuration_without_a_constraint_loads_without_one(self):
        config = json.loads(json.dumps(layers.ISAN(4, 3, recurrent_constraint=None).get_config()))
        assert config["recurrent_constraint"] is None
        assert layers.ISAN.from_config(config).cell.recurrent_constraint is None

    @pytest.mark.matrix
    @pytest.mark.parametrize("policy", ["float64", "mixed_float16", "mixed_bfloat16"])
    def test_a_training_step_in_mixed_precision(self, policy):
        model = self.network(units=6, dtype=policy)
        model.layers[1].cell.recurrent_kernel.assign(1.2 * np.tile(np.eye(6), (5, 1, 1)))
        model.fit(*self.runs(), batch_size=64, verbose=0)
        kernel = model.layers[1].get_weights()[0]
        assert np.isfinite(kernel).all()
        assert np.linalg.norm(kernel) < 1.2 * np.sqrt(30)


def test_a_weight_kept_at_zero_stays_there_in_training():
    layer = layers.ISAN(3, 5, bias_initializer="zeros", bias_constraint=Zero(), initial_state_initializer="ones")
    model = keras.Sequential([keras.Input((None,), dtype="int32"), layer])
    model.compile("sgd", "mse")
    before = keras.ops.convert_to_numpy(layer.cell.recurrent_kernel).copy()
    model.fit(np.array([[1, 2, 4]]), np.ones((1, 3)), verbose=0)
    assert not keras.ops.convert_to_numpy(layer.cell.bias).any()
    assert (keras.ops.convert_to_numpy(layer.cell.recurrent_kernel) != before).any()
