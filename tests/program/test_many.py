"""Many networks as one computation: models that it does not take, besides those of the table of interpreters."""

import keras
import pytest

from keras_interp_rnn import layers
from keras_interp_rnn._program import stack_of
from tests.program.models import SYMBOLS, of_ids


@pytest.mark.parametrize(
    "model",
    [
        of_ids(keras.layers.GRU(2, activation=lambda x: x - keras.ops.mean(x, axis=0))),
        of_ids(mask_zero=True),
        keras.Sequential([keras.Input((None, SYMBOLS)), layers.ISAN(2, SYMBOLS)]),
        keras.Sequential([keras.Input((None, SYMBOLS)), keras.layers.GRU(2, activity_regularizer="l2")]),
    ],
)
def test_a_model_with_another_layer_has_no_stack(model):
    assert stack_of(model) is None


class Negated(keras.Model):
    def call(self, inputs, training=None, mask=None):
        return -super().call(inputs, training=training)


def test_a_model_that_computes_more_than_its_graph_has_no_stack():
    x = keras.Input((None,), dtype="int32")
    assert stack_of(Negated(x, keras.layers.Dense(1)(layers.ISAN(2, SYMBOLS)(x)))) is None
