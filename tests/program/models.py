"""Kinds of models, one a line: the operations that each has as a program, and the interpreters that take it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import keras
from keras import layers as L
from keras import ops

from keras_interp_rnn import layers

FEATURES, SYMBOLS = 3, 6
EACH = {"return_sequences": True}


class Row(NamedTuple):
    """A kind of model.

    Attributes:
        make: the model. operations: of its program, in order. taken_by: the interpreters that take it, besides values.
    """

    make: Callable[[], keras.Model]
    operations: str
    taken_by: str = ""


def of_symbols(*above: Any) -> keras.Model:
    return keras.Sequential([keras.Input((None,), dtype="int32"), *above])


def of_ids(*above: Any, mask_zero: bool = False) -> keras.Model:
    return of_symbols(L.Embedding(SYMBOLS, FEATURES, mask_zero=mask_zero), *above)


def of_vectors(*above: Any, steps: int | None = None) -> keras.Model:
    return keras.Sequential([keras.Input((steps, FEATURES)), *above])


def graph(make: Callable[..., Any], *shapes: tuple[int | None, ...]) -> keras.Model:
    inputs = [keras.Input(shape, dtype="float32" if len(shape) > 1 else "int32") for shape in shapes]
    return keras.Model(inputs if len(inputs) > 1 else inputs[0], make(*inputs))


def above(make: Callable[[Any], Any], **flags: Any) -> Callable[[], keras.Model]:
    """A model of what is made of the states of a GRU."""
    return lambda: graph(lambda x: make(L.GRU(3, **flags)(x)), (None, FEATURES))


def nested() -> keras.Model:
    inner = of_ids(L.GRU(4, **EACH), mask_zero=True)
    return graph(lambda ids: L.Dense(2)(L.LSTM(3)(inner(ids))), (None,))


def shared() -> keras.Model:
    dense = L.Dense(4, activation="tanh")
    return graph(lambda a, b: L.Add()([dense(L.GRU(3)(a)), dense(L.LSTM(3)(b))]), (None, FEATURES), (None, 2))


def two_inputs() -> keras.Model:
    return graph(lambda a, b: L.Dense(2)(ops.concatenate([L.GRU(3)(a), b[:, 0]], -1)), (None, FEATURES), (None, 2))


def with_states() -> keras.Model:
    return graph(lambda a, b: L.GRU(4)(a, initial_state=L.Dense(4)(L.LSTM(2)(b))), (None, FEATURES), (None, 2))


def masked_branches() -> keras.Model:
    ids = keras.Input((None,), dtype="int32")
    x = L.Embedding(SYMBOLS, 4, mask_zero=True)(ids)
    joined = L.Concatenate()([L.GRU(4, **EACH)(x), L.LSTM(3, **EACH)(x)])
    return keras.Model(ids, L.GRU(2)(L.Add()([L.Dense(4)(joined), x])))


def branches() -> keras.Model:
    ids = keras.Input((None,), dtype="int32")
    x = L.Embedding(SYMBOLS, 4, mask_zero=True)(ids)
    below = L.LayerNormalization()(L.Dense(4, "tanh")(L.Embedding(SYMBOLS, 3)(ids)))
    states = L.GRU(4, **EACH)(x)
    upper = L.LSTM(3, **EACH)(L.Add()([L.Rescaling(0.5)(states), below]))
    return keras.Model(ids, L.Dense(2, "softmax")(L.Concatenate()([upper, states])))


def attention() -> keras.Model:
    def make(x: Any) -> Any:
        h = L.LSTM(4, **EACH)(x)
        return L.Dense(1)(ops.sum(h * ops.softmax(L.Dense(1)(h), axis=1), axis=1))

    return graph(make, (None, FEATURES))


def heads() -> keras.Model:
    ids = keras.Input((None,), dtype="int32")
    states = L.GRU(3, **EACH)(L.Embedding(SYMBOLS, 4)(ids))
    mean = L.BatchNormalization()(L.GlobalAveragePooling1D()(states))
    return keras.Model(ids, L.Average()([L.Dense(2)(mean), L.LSTM(2)(states)]))


def joined() -> keras.Model:
    ids = keras.Input((None,), dtype="int32")
    parts = [layers.ISAN(2, SYMBOLS, **EACH)(ids), L.Embedding(SYMBOLS, 4)(ids)]
    return keras.Model(ids, L.Dense(1)(L.Concatenate()(parts)))


class Doubled(L.GRU):
    """A call of its own."""

    def call(self, sequences: Any, initial_state: Any = None, mask: Any = None, training: bool = False) -> Any:
        return 2 * super().call(sequences, initial_state, mask, training)


def both(layer: Any, **flags: Any) -> Any:
    return L.Bidirectional(layer, **flags)


MODELS = {
    "head": Row(
        lambda: of_vectors(L.LSTM(4), L.Dense(2, "softmax")), "Recur Affine Elementwise", "pull_back many c prefixes"
    ),
    "mask of ids": Row(
        lambda: of_ids(L.GRU(4), L.Dense(1), mask_zero=True),
        "NotEqual Lookup Recur Affine",
        "pull_back step c prefixes",
    ),
    "each step of ids": Row(
        lambda: of_ids(L.GRU(4, **EACH), L.Dense(SYMBOLS)), "Lookup Recur Affine", "pull_back many step c prefixes"
    ),
    "stack": Row(
        lambda: of_ids(L.GRU(4, **EACH), L.LSTM(3), mask_zero=True),
        "NotEqual Lookup Recur Recur",
        "pull_back step c prefixes",
    ),
    "stack of heads": Row(
        lambda: of_ids(L.LSTM(4, **EACH), L.LayerNormalization(), L.SimpleRNN(3, **EACH), L.Dense(2, "relu")),
        "Lookup Recur Normalize Recur Affine Elementwise",
        "pull_back many step c prefixes",
    ),
    "reset before": Row(lambda: of_vectors(L.GRU(4, reset_after=False)), "Recur", "pull_back many c prefixes"),
    "no bias": Row(lambda: of_vectors(L.SimpleRNN(4, use_bias=False)), "Recur", "pull_back many c prefixes"),
    "two directions": Row(
        lambda: of_ids(both(L.LSTM(4, **EACH)), L.GlobalAveragePooling1D(), mask_zero=True),
        "NotEqual Lookup Recur Recur Join Mean",
        "pull_back prefixes",
    ),
    "sum of directions": Row(
        lambda: of_vectors(both(L.GRU(4), merge_mode="ave")), "Recur Recur Sum", "pull_back many prefixes"
    ),
    "product of directions": Row(lambda: of_vectors(both(L.GRU(4), merge_mode="mul")), "Opaque"),
    "backwards": Row(lambda: of_ids(L.SimpleRNN(4, go_backwards=True, **EACH)), "Lookup Recur", "pull_back many"),
    "zeros": Row(
        lambda: of_ids(L.GRU(4, zero_output_for_mask=True, **EACH), mask_zero=True),
        "NotEqual Lookup Recur",
        "pull_back step prefixes",
    ),
    "masking": Row(lambda: of_vectors(L.Masking(0.0), L.GRU(4)), "Unmasked Recur", "pull_back c prefixes"),
    "norms": Row(
        lambda: of_vectors(L.LayerNormalization(), L.GRU(4), L.BatchNormalization(), L.Dropout(0.5), L.Dense(2)),
        "Normalize Recur Scale Affine",
        "pull_back many c prefixes",
    ),
    "scales": Row(
        lambda: of_vectors(L.Normalization(mean=0.5, variance=4.0), L.GRU(3), L.Rescaling(2.0, [1.0, -1.0, 0.5])),
        "Scale Recur Scale",
        "pull_back many c prefixes",
    ),
    "a call of its own": Row(lambda: of_vectors(Doubled(3), L.Dense(2)), "Opaque Affine"),
    "nothing outside training": Row(
        lambda: of_symbols(layers.WordDropout(0.5), L.Embedding(SYMBOLS, 3), L.GRU(3), L.Activation("linear")),
        "Lookup Recur",
        "pull_back many step c prefixes",
    ),
    "each step by itself": Row(
        lambda: of_vectors(L.GRU(4, **EACH), L.TimeDistributed(L.Dense(2, activation="relu"))),
        "Recur Affine Elementwise",
        "pull_back many c prefixes",
    ),
    "shape": Row(
        lambda: of_vectors(L.GRU(4, **EACH), L.Flatten(), L.Dense(6), L.Reshape((2, 3)), steps=8),
        "Recur Reshape Affine Reshape",
        "pull_back many",
    ),
    "convolution": Row(lambda: of_vectors(L.Conv1D(4, 2), L.GRU(4)), "Windows Affine Recur", "pull_back many"),
    "causal convolutions": Row(
        lambda: of_ids(
            L.Conv1D(4, 3, dilation_rate=2, padding="causal"), L.GRU(4, **EACH), L.Conv1D(3, 2, padding="causal")
        ),
        "Lookup Windows Affine Recur Windows Affine",
        "pull_back many step c",
    ),
    "convolution in groups": Row(lambda: of_vectors(L.Conv1D(6, 2, groups=3), L.GRU(4)), "Opaque Recur"),
    "convolution above": Row(
        lambda: of_ids(L.LSTM(4, **EACH), L.Conv1D(3, 3, 2, "same"), L.GlobalAveragePooling1D()),
        "Lookup Recur Windows Affine Mean",
        "pull_back many",
    ),
    "last step": Row(
        above(lambda x: L.Dense(2)(x[:, -1]), **EACH), "Recur Windows Affine", "pull_back many c prefixes"
    ),
    "third step": Row(above(lambda x: L.Dense(2)(x[:, 2]), **EACH), "Recur Windows Affine", "pull_back many prefixes"),
    "some steps": Row(
        lambda: graph(lambda x: L.GRU(3)(x[:, 3:0:-2, :]), (None, FEATURES)), "Windows Recur", "pull_back many"
    ),
    "some features": Row(lambda: graph(lambda x: L.GRU(3)(x[:, :, 1:]), (None, FEATURES)), "Opaque Recur", "prefixes"),
    "ISAN": Row(
        lambda: of_symbols(layers.ISAN(4, SYMBOLS), L.Dense(2)), "Recur Affine", "pull_back many step c fold prefixes"
    ),
    "each step of an ISAN": Row(
        lambda: of_symbols(layers.ISAN(3, SYMBOLS, **EACH), L.Dense(2, "tanh")),
        "Recur Affine Elementwise",
        "pull_back many step c fold prefixes",
    ),
    "ISAN backwards": Row(
        lambda: of_symbols(layers.ISAN(3, SYMBOLS, go_backwards=True), L.Dense(2)),
        "Recur Affine",
        "pull_back many prefixes",
    ),
    "DiagonalISAN": Row(
        lambda: of_symbols(layers.DiagonalISAN(3, SYMBOLS, **EACH), L.Dense(2)),
        "Recur Affine",
        "pull_back many step c fold prefixes",
    ),
    "DiagonalISAN of blocks": Row(
        lambda: of_symbols(layers.DiagonalISAN(4, SYMBOLS, 2), L.Dense(2)),
        "Recur Affine",
        "pull_back many step c fold prefixes",
    ),
    "FactoredISAN": Row(
        lambda: of_symbols(layers.FactoredISAN(4, 2, SYMBOLS), L.Dense(2)),
        "Recur Affine",
        "pull_back step c fold prefixes",
    ),
    "MinGRU": Row(
        lambda: of_ids(layers.MinGRU(4, **EACH), L.Dense(2)),
        "Lookup Recur Affine",
        "pull_back many step c fold prefixes",
    ),
    "MinGRU, padding masked": Row(
        lambda: of_ids(layers.MinGRU(4), L.Dense(2), mask_zero=True),
        "NotEqual Lookup Recur Affine",
        "pull_back step c fold prefixes",
    ),
    "MinLSTM, positive": Row(
        lambda: of_ids(layers.MinLSTM(4, positive=True), L.Dense(2)),
        "Lookup Recur Affine",
        "pull_back many step c fold prefixes",
    ),
    "LRU": Row(
        lambda: of_ids(layers.LRU(4, 3, **EACH), L.Dense(2)), "Lookup Recur Affine", "pull_back step c fold prefixes"
    ),
    "DeltaNet": Row(
        lambda: of_ids(layers.DeltaNet(4, 2, normalize=False), L.Dense(2)),
        "Lookup Recur Affine",
        "pull_back step fold prefixes",
    ),
    "MinimalRNN": Row(
        lambda: of_ids(layers.MinimalRNN(4, **EACH), L.Dense(2)), "Lookup Recur Affine", "pull_back step c prefixes"
    ),
    "CFN": Row(lambda: of_ids(layers.CFN(4), L.Dense(2)), "Lookup Recur Affine", "pull_back step c prefixes"),
    "state-regularized": Row(
        lambda: of_ids(layers.SRGRU(4, 3, **EACH), L.BatchNormalization(), L.Dense(2)),
        "Lookup Recur Scale Affine",
        "pull_back step c prefixes",
    ),
    "two directions of an ISAN": Row(
        lambda: of_symbols(both(layers.ISAN(3, SYMBOLS)), L.Dense(2)),
        "Recur Recur Join Affine",
        "pull_back many fold prefixes",
    ),
    "mean of an ISAN": Row(
        lambda: of_symbols(layers.ISAN(3, SYMBOLS, **EACH), L.GlobalAveragePooling1D(), L.Dense(2)),
        "Recur Mean Affine",
        "pull_back many fold prefixes",
    ),
    "another activation": Row(
        lambda: of_ids(L.GRU(4, **EACH), L.Dense(2, "gelu")), "Lookup Recur Affine Elementwise", "many prefixes"
    ),
    "nested": Row(nested, "NotEqual Lookup Recur Recur Affine", "pull_back step c prefixes"),
    "shared": Row(shared, "Recur Affine Elementwise Recur Affine Elementwise Sum", "pull_back many prefixes"),
    "two inputs": Row(two_inputs, "Windows Recur Opaque Affine", "prefixes"),
    "masked branches": Row(masked_branches, "NotEqual Lookup Recur Recur Join Affine Sum Recur", "pull_back step c"),
    "branches": Row(
        branches,
        "NotEqual Lookup Recur Lookup Affine Elementwise Normalize Scale Sum Recur Join Affine Elementwise",
        "pull_back step",
    ),
    "heads": Row(heads, "Lookup Recur Recur Mean Scale Affine Sum", "pull_back many"),
    "joined": Row(joined, "Lookup Recur Join Affine", "pull_back many step c"),
    "initial states": Row(with_states, "Recur Affine Opaque"),
    "attention": Row(attention, "Recur Affine Opaque Opaque Opaque Affine"),
    "multiple": Row(above(lambda x: 2.5 * x), "Recur Scale", "pull_back many c prefixes"),
    "quotient": Row(above(lambda x: x / 3), "Recur Scale", "pull_back many c prefixes"),
    "quotient of a number": Row(above(lambda x: 3 / x), "Recur Opaque", "prefixes"),
    "shifted": Row(above(lambda x: 2.5 + x), "Recur Scale", "pull_back many c prefixes"),
    "shifted down": Row(above(lambda x: x - 2.5), "Recur Scale", "pull_back many c prefixes"),
    "turned round": Row(above(lambda x: 1 - x), "Recur Scale", "pull_back many c prefixes"),
}
