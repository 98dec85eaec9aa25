import keras
import numpy as np
import pytest

from keras_interp_rnn import layers, regularizers
from tests.tolerances import atol_of_layer


def value(regularizer, w):
    return float(keras.ops.convert_to_numpy(regularizer(w)))


@pytest.mark.parametrize("shape", [(3, 4, 4), (3, 2, 2, 2), (3, 5, 1, 1)])
def test_the_distance_from_the_identity(shape):
    w = np.random.default_rng(0).normal(size=shape)
    apart = w - np.eye(shape[-1])
    expected = 0.3 * np.abs(apart).sum() + 0.7 * (apart**2).sum()
    assert value(regularizers.FromIdentity(0.3, 0.7), w) == pytest.approx(expected)
    assert value(regularizers.FromIdentity(0.3, 0.7), np.broadcast_to(np.eye(shape[-1]), shape)) == 0


def test_penalties_are_computed_in_the_dtype_that_is_given():
    """A mean of keras.ops goes through float32 on JAX (Keras 3.15), whatever it is given."""
    w = np.random.default_rng(0).normal(size=(6, 3, 3))
    apart = w.reshape(3, 2, 3, 3) - w.reshape(3, 2, 3, 3).mean(0)
    found = keras.ops.convert_to_numpy(regularizers.FromMean(3, l1=1.0, l2=1.0)(keras.ops.convert_to_tensor(w)))
    expected = np.abs(apart).sum() + (apart**2).sum()
    assert found == pytest.approx(expected, rel=0, abs=atol_of_layer(1e-12))


def test_the_distance_from_the_mean_is_that_from_the_best_shared_part():
    subjects, symbols = 3, 4
    w = np.random.default_rng(1).normal(size=(subjects * symbols, 2, 1, 1))
    penalty = regularizers.FromMean(subjects, l2=0.5)
    by_subject = w.reshape(subjects, symbols, -1)
    shared = by_subject.mean(0)
    assert value(penalty, w) == pytest.approx(0.5 * ((by_subject - shared) ** 2).sum())
    for other in np.random.default_rng(2).normal(size=(5, *shared.shape)):
        assert value(penalty, w) <= 0.5 * ((by_subject - other) ** 2).sum()
    absolute = np.abs(by_subject - shared).sum()
    assert value(regularizers.FromMean(subjects, l1=2.0), w) == pytest.approx(2 * absolute)


@pytest.mark.parametrize("penalty", [regularizers.FromIdentity(0.1, 0.2), regularizers.FromMean(2, 0.1, 0.2)])
def test_a_layer_adds_the_penalty_and_is_saved_with_it(penalty, tmp_path):
    model = keras.Sequential(
        [keras.Input((None,), dtype="int32"), layers.DiagonalISAN(2, 6, recurrent_regularizer=penalty)]
    )
    kernel = model.layers[0].cell.recurrent_kernel
    found = float(keras.ops.convert_to_numpy(sum(model.losses)))
    assert found == pytest.approx(value(penalty, keras.ops.convert_to_numpy(kernel)), rel=1e-5)
    model.save(tmp_path / "model.keras")
    again = keras.models.load_model(tmp_path / "model.keras").layers[0].cell.recurrent_regularizer
    assert again.get_config() == penalty.get_config()


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: regularizers.FromIdentity(l1=-1), "`l1` must be a non-negative number"),
        (lambda: regularizers.FromMean(0), "`num_groups` must be a positive integer"),
        (lambda: regularizers.FromIdentity(1.0)(np.ones((3, 2))), "`w` must be square matrices"),
        (lambda: regularizers.FromMean(2)(np.ones((3, 2))), "`num_groups` must be a divisor of 3"),
    ],
)
def test_errors_say_what_must_be(make, sentence):
    with pytest.raises(ValueError, match=sentence):
        make()
