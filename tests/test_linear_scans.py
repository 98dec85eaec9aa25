"""Scans of linear recurrences and their adjoints, path by path, against the oracle's loops and its complex steps."""

import keras
import numpy as np
import pytest
from keras import ops

from keras_interp_rnn._sequence import matrix_state
from keras_interp_rnn._sequence.diagonal import PASSES, choose_path, diagonal_states
from keras_interp_rnn._sequence.matrix_state import matrix_outputs
from keras_interp_rnn.equations import DeltaNet, GatedLinearAttention
from tests import autodiff
from tests.oracles import linear_recurrences as oracle
from tests.oracles.minimal_rnn import complex_step
from tests.samples import make_mask
from tests.tolerances import assert_close

BACKEND = keras.backend.backend()
PATHS = ("loop", "parallel")
# Powers of two, odd numbers that leave a step over at one or at every level, and both sides of the passes' 32.
LENGTHS = (1, 7, 32, 33) if BACKEND == "jax" else (1, 2, 3, 5, 7, 8, 13, 31, 32, 33, 64)  # JAX compiles each
BATCH, UNITS = 3, 2


def draw(seed: int, steps: int, is_complex: bool, mask: str | None) -> tuple[list[np.ndarray], np.ndarray | None]:
    """Decay, addend, start and cotangent, the numbers of a complex one side by side; and the mask."""
    rng, width = np.random.default_rng(seed), UNITS * (1 + is_complex)
    arrays = [rng.uniform(-1, 1, (BATCH, steps, width)), *(rng.normal(size=(BATCH, steps, width)) for _ in range(2))]
    start = rng.normal(size=(BATCH, width))
    return [*arrays[:2], start, arrays[2]], None if mask is None else make_mask(mask, rng, BATCH, steps)


def expected_states(decay, addend, start, mask, is_complex):
    if not is_complex:
        return oracle.diagonal_real(decay, addend, start, mask)
    pairs = [np.stack(np.split(x, 2, axis=-1), axis=-1) for x in (decay, addend, start)]
    found = oracle.diagonal_complex(*pairs, mask)
    return np.concatenate([found[..., 0], found[..., 1]], axis=-1)


def states_of(path, mask, is_complex):
    def states(decay, addend, start):
        time_major = [ops.swapaxes(x, 0, 1) for x in (decay, addend)]
        read = None if mask is None else ops.convert_to_tensor(mask.T[:, :, None])
        return ops.swapaxes(diagonal_states(path, *time_major, start, read, is_complex), 0, 1)

    return states


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("is_complex", [False, True])
@pytest.mark.parametrize("steps", LENGTHS)
def test_states_and_gradients_equal_the_oracles(path, is_complex, steps):
    for seed, mask in ((steps, None), (steps + 1, "scattered")):
        [*arrays, cotangent], read = draw(seed, steps, is_complex, mask)
        states = states_of(path, read, is_complex)
        tensors = [ops.convert_to_tensor(x) for x in arrays]
        assert_close(states(*tensors), expected_states(*arrays, read, is_complex), "float64")
        found = autodiff.gradients(
            lambda *x, states=states, cotangent=cotangent: ops.sum(ops.convert_to_tensor(cotangent) * states(*x)),
            arrays,
        )
        for i, gradient in enumerate(found):

            def loss(x, i=i, arrays=arrays, cotangent=cotangent, read=read):
                changed = [*arrays[:i], x, *arrays[i + 1 :]]
                return np.sum(cotangent * expected_states(*changed, read, is_complex))

            assert_close(gradient, complex_step(loss, arrays[i]), "float64")


@pytest.mark.skipif(BACKEND != "tensorflow", reason="elsewhere the number of steps is always known")
@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("is_complex", [False, True])
@pytest.mark.parametrize("compiled", [False, True])
def test_a_graph_takes_any_number_of_steps(path, is_complex, compiled):
    import tensorflow as tf

    states = states_of(path, None, is_complex)

    def values_and_gradients(decay, addend, start):
        with tf.GradientTape() as tape:
            tape.watch((decay, addend, start))
            found = states(decay, addend, start)
            loss = tf.reduce_sum(found**2)
        return found, tape.gradient(loss, (decay, addend, start))

    width = UNITS * (1 + is_complex)
    shape = [BATCH, 33 if compiled else None, width]
    signature = [tf.TensorSpec(shape, "float64")] * 2 + [tf.TensorSpec([BATCH, width], "float64")]
    function = tf.function(values_and_gradients, signature, jit_compile=compiled)
    for steps in [33] if compiled else [1, 2**PASSES - 1, 2**PASSES, 2 ** (PASSES + 1) + 3]:
        [*arrays, _], _ = draw(steps, steps, is_complex, None)
        tensors = [tf.constant(x) for x in arrays]
        found, eager = (tf.nest.flatten(run(*tensors)) for run in (function, values_and_gradients))
        for one, other in zip(found, eager, strict=True):
            assert_close(one, other, "float64")
        assert_close(function(*tensors)[0], expected_states(*arrays, None, is_complex), "float64")


def test_decays_of_zero_and_one_are_exact():
    """A step that forgets everything, and one that keeps everything, on both paths."""
    decay = np.array([1.0, 0.0, 1.0, 1.0, 0.0])[None, :, None]
    addend = np.array([0.0, 3.0, 0.0, 1.0, 1e30])[None, :, None]
    for path in PATHS:
        found = states_of(path, None, False)(*map(ops.convert_to_tensor, (decay, addend, np.array([[7.0]]))))
        np.testing.assert_array_equal(ops.convert_to_numpy(found)[0, :, 0].astype("float64"), [7, 3, 3, 4, 1e30])


def test_unrolled_steps_take_no_path():
    assert choose_path("auto", 5, True).name == "stepwise"
    with pytest.raises(ValueError, match=r"fused=True cannot run here: unroll=True asks for the cell step by step"):
        choose_path(True, 5, True)


@pytest.mark.parametrize("equations", [GatedLinearAttention, DeltaNet])
@pytest.mark.parametrize("one_decay", [False, True])
@pytest.mark.parametrize("mask", [None, "scattered", "leading"])
@pytest.mark.parametrize("chunk", [64, 4, 3])
def test_matrix_states_outputs_and_gradients_equal_the_oracles(monkeypatch, equations, one_decay, mask, chunk):
    monkeypatch.setattr(matrix_state, "CHUNK", chunk)
    rng, batch, steps, heads, keys, values = np.random.default_rng(5), 2, 6, 2, 3, 2
    decay = rng.uniform(0.2, 1, (batch, steps, heads, 1 if one_decay or equations is DeltaNet else keys))
    strength = rng.uniform(0.1, 1, (batch, steps, heads))
    query, key = rng.normal(size=(2, batch, steps, heads, keys)) / 2
    value = rng.normal(size=(batch, steps, heads, values))
    start = rng.normal(size=(batch, heads, keys, values))
    arrays = [start, query, key, strength, value, decay]
    read = None if mask is None else make_mask(mask, rng, batch, steps)
    cotangents = rng.normal(size=(batch, steps, heads, values)), rng.normal(size=start.shape)

    def expected(start, query, key, strength, value, decay):
        if equations.erases:
            found = oracle.matrix_delta(decay[..., 0], strength, key, value, query, start, read)
        else:
            found = oracle.matrix_decay(decay, key * strength[..., None], value, query, start, read)
        # A masked step's reading is not used: layers repeat the output before it.
        outputs = found.outputs if read is None else np.where(read[:, :, None, None], found.outputs, 0)
        return outputs, found.states[:, -1]

    def computed(start, query, key, strength, value, decay):
        entries = [ops.swapaxes(x, 0, 1) for x in (query, key, key * strength[..., None], value, decay)]
        masked = None if read is None else ops.convert_to_tensor(read.T[:, :, None, None])
        outputs, last = matrix_outputs(equations, ops.reshape(start, (batch, -1)), tuple(entries), masked)
        outputs = ops.reshape(outputs, (batch, steps, heads, values))
        if read is not None:
            outputs = ops.where(ops.convert_to_tensor(read[:, :, None, None]), outputs, 0.0)
        return outputs, ops.reshape(last, start.shape)

    for found, right in zip(computed(*map(ops.convert_to_tensor, arrays)), expected(*arrays), strict=True):
        assert_close(found, right, "float64")
    gradients = autodiff.gradients(
        lambda *x: sum(ops.sum(ops.convert_to_tensor(c) * y) for c, y in zip(cotangents, computed(*x), strict=True)),
        arrays,
    )
    for i, gradient in enumerate(gradients):

        def loss(x, i=i):
            results = expected(*arrays[:i], x, *arrays[i + 1 :])
            return sum(np.sum(c * y) for c, y in zip(cotangents, results, strict=True))

        assert_close(gradient, complex_step(loss, arrays[i]), "float64")
