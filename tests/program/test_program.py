"""A model as a program: calls that are read as others than they seem."""

import keras
import numpy as np
import pytest
from keras import layers as L
from keras import ops

from keras_interp_rnn import _program
from keras_interp_rnn._program.values import forward, with_functions
from tests.program.models import FEATURES, graph, of_vectors

WINDOWS = [
    {"padding": padding, "strides": stride, "dilation_rate": dilation}
    for padding in ("valid", "same", "causal")
    for stride, dilation in ((1, 1), (2, 1), (3, 1), (1, 2), (1, 3))
]


@pytest.mark.parametrize("steps", [7, 8, 11])
@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("options", WINDOWS, ids=lambda options: "-".join(map(str, options.values())))
def test_windows_are_those_of_a_convolution(options, size, steps):
    keras.utils.set_random_seed(steps)
    model = of_vectors(L.Conv1D(4, size, activation="tanh", bias_initializer="normal", **options))
    x = np.random.default_rng(size).normal(size=(2, steps, FEATURES))
    program = _program.read(model)
    known = {program.inputs[0]: x}
    forward(with_functions(program.operations), known)
    np.testing.assert_allclose(known[program.outputs[0]], ops.convert_to_numpy(model(x)), rtol=1e-4, atol=1e-5)


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


def test_an_operation_with_an_argument_by_name_is_opaque():
    def shifted(x):
        add = type((x + 1.0)._keras_history.operation)
        return add()(L.GRU(3)(x), x2=2.0)

    assert operations_of(shifted) == ["Recur", "Opaque"]
