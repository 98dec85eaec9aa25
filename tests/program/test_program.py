"""A model as a program: which operations it has, and that they compute what the model does."""

import keras
import numpy as np
import pytest
from keras import layers as L
from keras import ops

from keras_interp_rnn import _program, layers
from keras_interp_rnn._program.values import forward, with_functions

STEPS, FEATURES, SYMBOLS = 5, 3, 6


def computed(program, inputs):
    """The output of a program, in float64."""
    known = dict(zip(program.inputs, inputs, strict=True))
    forward(with_functions(program.operations), known)
    return known[program.outputs[0]]


def of_ids(*above, mask_zero=False):
    return keras.Sequential(
        [keras.Input((None,), dtype="int32"), L.Embedding(SYMBOLS, FEATURES, mask_zero=mask_zero), *above]
    )


def of_vectors(*above, steps=None):
    return keras.Sequential([keras.Input((steps, FEATURES)), *above])


def graph(make, *shapes):
    inputs = [keras.Input(shape, dtype="float32" if len(shape) > 1 else "int32") for shape in shapes]
    return keras.Model(inputs if len(inputs) > 1 else inputs[0], make(*inputs))


def nested():
    inner = of_ids(L.GRU(4, return_sequences=True), mask_zero=True)
    return graph(lambda ids: L.Dense(2)(L.LSTM(3)(inner(ids))), (None,))


def shared():
    dense = L.Dense(4, activation="tanh")
    return graph(lambda a, b: L.Add()([dense(L.GRU(3)(a)), dense(L.LSTM(3)(b))]), (None, FEATURES), (None, 2))


def two_inputs():
    return graph(lambda a, b: L.Dense(2)(ops.concatenate([L.GRU(3)(a), b[:, 0]], -1)), (None, FEATURES), (None, 2))


def with_states():
    return graph(lambda a, b: L.GRU(4)(a, initial_state=L.Dense(4)(L.LSTM(2)(b))), (None, FEATURES), (None, 2))


def masked_branches():
    ids = keras.Input((None,), dtype="int32")
    x = L.Embedding(SYMBOLS, 4, mask_zero=True)(ids)
    joined = L.Concatenate()([L.GRU(4, return_sequences=True)(x), L.LSTM(3, return_sequences=True)(x)])
    return keras.Model(ids, L.GRU(2)(L.Add()([L.Dense(4)(joined), x])))


def attention():
    def make(x):
        h = L.LSTM(4, return_sequences=True)(x)
        return L.Dense(1)(ops.sum(h * ops.softmax(L.Dense(1)(h), axis=1), axis=1))

    return graph(make, (None, FEATURES))


class Doubled(L.GRU):
    def call(self, sequences, initial_state=None, mask=None, training=False):
        return 2 * super().call(sequences, initial_state, mask, training)


MODELS = {
    "head": (lambda: of_vectors(L.LSTM(4), L.Dense(2, activation="softmax")), "Recur Affine Elementwise"),
    "mask of ids": (lambda: of_ids(L.GRU(4), L.Dense(1), mask_zero=True), "NotEqual Lookup Recur Affine"),
    "stack": (
        lambda: of_ids(L.GRU(4, return_sequences=True), L.LSTM(3), mask_zero=True),
        "NotEqual Lookup Recur Recur",
    ),
    "two directions": (
        lambda: of_ids(L.Bidirectional(L.LSTM(4, return_sequences=True)), L.GlobalAveragePooling1D(), mask_zero=True),
        "NotEqual Lookup Recur Recur Join Mean",
    ),
    "sum of directions": (lambda: of_vectors(L.Bidirectional(L.GRU(4), merge_mode="ave")), "Recur Recur Sum"),
    "product of directions": (lambda: of_vectors(L.Bidirectional(L.GRU(4), merge_mode="mul")), "Opaque"),
    "backwards": (lambda: of_ids(L.SimpleRNN(4, go_backwards=True, return_sequences=True)), "Lookup Recur"),
    "zeros": (
        lambda: of_ids(L.GRU(4, zero_output_for_mask=True, return_sequences=True), mask_zero=True),
        "NotEqual Lookup Recur",
    ),
    "masking": (lambda: of_vectors(L.Masking(0.0), L.GRU(4)), "Unmasked Recur"),
    "norms": (
        lambda: of_vectors(L.LayerNormalization(), L.GRU(4), L.BatchNormalization(), L.Dropout(0.5), L.Dense(2)),
        "Normalize Recur Scale Affine",
    ),
    "scales": (
        lambda: of_vectors(L.Normalization(mean=0.5, variance=4.0), L.GRU(3), L.Rescaling(2.0, [1.0, -1.0, 0.5])),
        "Scale Recur Scale",
    ),
    "a call of its own": (lambda: of_vectors(Doubled(3), L.Dense(2)), "Opaque Affine"),
    "nothing outside training": (
        lambda: keras.Sequential(
            [
                keras.Input((None,), dtype="int32"),
                layers.WordDropout(0.5),
                L.Embedding(SYMBOLS, 3),
                L.GRU(3),
                L.Activation("linear"),
            ]
        ),
        "Lookup Recur",
    ),
    "each step": (
        lambda: of_vectors(L.GRU(4, return_sequences=True), L.TimeDistributed(L.Dense(2, activation="relu"))),
        "Recur Affine Elementwise",
    ),
    "shape": (
        lambda: of_vectors(L.GRU(4, return_sequences=True), L.Flatten(), L.Dense(6), L.Reshape((2, 3)), steps=STEPS),
        "Recur Reshape Affine Reshape",
    ),
    "convolution": (lambda: of_vectors(L.Conv1D(4, 2), L.GRU(4)), "Opaque Recur"),
    "ISAN": (
        lambda: keras.Sequential([keras.Input((None,), dtype="int32"), layers.ISAN(4, SYMBOLS), L.Dense(2)]),
        "Recur Affine",
    ),
    "linear recurrence": (lambda: of_ids(layers.MinGRU(4)), "Lookup Recur"),
    "state-regularized": (lambda: of_vectors(layers.SRGRU(4, 3)), "Recur"),
    "nested": (nested, "NotEqual Lookup Recur Recur Affine"),
    "shared": (shared, "Recur Affine Elementwise Recur Affine Elementwise Sum"),
    "two inputs": (two_inputs, "Opaque Recur Opaque Affine"),
    "masked branches": (masked_branches, "NotEqual Lookup Recur Recur Join Affine Sum Recur"),
    "initial states": (with_states, "Recur Affine Opaque"),
    "attention": (attention, "Recur Affine Opaque Opaque Opaque Affine"),
    "multiple": (lambda: graph(lambda x: 2.5 * L.GRU(3)(x), (None, FEATURES)), "Recur Sum"),
    "shifted": (lambda: graph(lambda x: 2.5 + L.GRU(3)(x), (None, FEATURES)), "Recur Opaque"),
}


@pytest.mark.core(4)
@pytest.mark.parametrize("name", MODELS)
def test_a_program_computes_what_its_model_does(name):
    make, operations = MODELS[name]
    keras.utils.set_random_seed(3)
    model, rng = make(), np.random.default_rng(3)
    model.set_weights([rng.normal(size=w.shape) ** (2 if w.ndim == 1 else 1) for w in model.get_weights()])
    program = _program.read(model)
    assert " ".join(type(each).__name__ for each in program.operations) == operations
    inputs = [
        rng.integers(SYMBOLS, size=(2, STEPS)) if x.ndim == 2 else rng.normal(size=(2, STEPS, x.shape[-1]))
        for x in model.inputs
    ]
    if inputs[0].ndim == 2:
        inputs[0][0, 3:] = 0
    else:
        inputs[0][0, 3:] = 0.0
    given = [ops.cast(x, tensor.dtype) for x, tensor in zip(inputs, model.inputs, strict=True)]
    expected = ops.convert_to_numpy(model(given if len(given) > 1 else given[0], training=False))
    found = computed(program, inputs)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def operations_of(make):
    return [type(each).__name__ for each in _program.read(graph(make, (None, FEATURES))).operations]


def test_dropout_that_a_call_asks_for_is_opaque():
    assert operations_of(lambda x: L.GRU(3)(L.Dropout(0.5)(x, training=True))) == ["Opaque", "Recur"]
    assert operations_of(lambda x: L.GRU(3)(L.Dropout(0.5)(x))) == ["Recur"]


def test_states_are_values_too():
    def of_both(x):
        joined, *states = L.Bidirectional(L.LSTM(3, return_state=True))(x)
        return L.Concatenate()([states[1], states[2], joined])

    program = _program.read(graph(of_both, (None, FEATURES)))
    forward, backward, join, last = program.operations
    assert last.reads == [forward.makes[2], backward.makes[1], join.makes[0]]
    assert [value.shape for value in last.reads] == [(None, 3), (None, 3), (None, 6)]
