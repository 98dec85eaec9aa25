"""Which models of public reports does `analysis.attribution` split, and how exactly?

Builds the model of each report, with small layers and random weights, and splits an output among the steps by the
method that `attribution` chooses, and among steps and features by path integrals. A line of the table is what came out;
--write puts the table into benchmarks/README.md.

    python -m benchmarks.models_of_reports                  # about three minutes on one thread
"""

import argparse
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import keras
import numpy as np
from keras import ops

from benchmarks.records import into_readme
from keras_interp_rnn import analysis, layers

NAME = "models of reports"
"""Of the table in benchmarks/README.md."""
L, Sequential, Input, Model = keras.layers, keras.Sequential, keras.Input, keras.Model
BATCH, STEPS, FEATURES, SYMBOLS = 2, 6, 4, 9
BOUNDS = (1e-12, 1e-6, 1e-4, 1e-2, 1e-1, 1.0)
"""A residual is shown as the first of these that is at least three times as large, in units of the largest output."""


def numbers(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(BATCH, *shape)).astype("float32")


def ids(steps: int = STEPS, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(1, SYMBOLS, (BATCH, steps)).astype("int32")


def padded_ids() -> np.ndarray:
    return np.where(np.arange(STEPS) < [[4], [6]], ids(), 0)


def padded_numbers() -> np.ndarray:
    return np.where((np.arange(STEPS) < [[4], [6]])[:, :, None], numbers(STEPS, FEATURES), 0)


def of_vectors(*parts: Any, features: int = FEATURES) -> Model:
    return Sequential([Input((STEPS, features)), *parts])


def of_ids(*parts: Any, masked: bool = False) -> Model:
    return Sequential([Input((STEPS,), dtype="int32"), L.Embedding(SYMBOLS, 3, mask_zero=masked), *parts])


def of_symbols(*parts: Any) -> Model:
    return Sequential([Input((None,), dtype="int32"), *parts])


def seq(units: int = 4, kind: Any = L.LSTM, **options: Any) -> Any:
    return kind(units, return_sequences=True, **options)


class OfItsOwn(Model):
    """Stacked LSTMs whose last step alone is read."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding, self.first, self.second = L.Embedding(SYMBOLS, 3), seq(), seq()
        self.head = L.Dense(1)

    def call(self, inputs: Any) -> Any:
        return self.head(self.second(self.first(self.embedding(inputs)))[:, -1])


def joined() -> Model:
    """Records in two inputs, joined feature by feature."""
    first, second = Input((STEPS, FEATURES)), Input((STEPS, FEATURES))
    states = L.LSTM(4)(L.Concatenate()([first, second]))
    return Model([first, second], L.Dense(1, "sigmoid")(states))


def branches() -> Model:
    """A sequence, and numbers that do not change."""
    sequence, static = Input((STEPS, FEATURES), name="sequence"), Input((3,), name="static")
    both = L.Concatenate()([L.LSTM(4)(sequence), L.Dense(4, "relu")(static)])
    return Model({"sequence": sequence, "static": static}, L.Dense(1)(both))


def categories() -> Model:
    """A sequence, and ids that do not change."""
    sequence, category = Input((STEPS, FEATURES)), Input((1,), dtype="int32")
    both = L.Concatenate()([L.LSTM(4)(sequence), L.Flatten()(L.Embedding(SYMBOLS, 2)(category))])
    return Model([sequence, category], L.Dense(1)(L.Dense(5, "sigmoid")(both)))


def text_and_numbers() -> Model:
    """A text, and a vector of features."""
    text, vector = Input((STEPS,), dtype="int32"), Input((3,))
    states = L.Bidirectional(L.LSTM(3))(L.Embedding(SYMBOLS, 3, mask_zero=True)(text))
    return Model([text, vector], L.Dense(1, "sigmoid")(L.Concatenate()([states, vector])))


def embedding_and_matrix() -> Model:
    """A text, and numbers for each of its words."""
    text, matrix = Input((STEPS,), dtype="int32"), Input((STEPS, 2))
    return Model([text, matrix], L.Dense(2)(L.GRU(4)(L.Concatenate()([L.Embedding(SYMBOLS, 3)(text), matrix]))))


def siamese() -> Model:
    """Two texts, read by one encoder."""
    first, second = Input((STEPS,), dtype="int32"), Input((STEPS,), dtype="int32")
    encoder = of_ids(L.LSTM(4), masked=True)
    return Model([first, second], L.Dot(axes=-1, normalize=True)([encoder(first), encoder(second)]))


def encoder_decoder() -> Model:
    """A decoder that begins with the encoder's states."""
    source, target = Input((STEPS,), dtype="int32"), Input((3,), dtype="int32")
    _, state = L.GRU(4, return_state=True)(L.Embedding(SYMBOLS, 3)(source))
    states = seq(4, L.GRU)(L.Embedding(SYMBOLS, 3)(target), initial_state=state)
    return Model([source, target], L.Dense(SYMBOLS, "softmax")(states))


def scores_by_products() -> Model:
    """Attention as a product with the last state, of reshaped and permuted tensors."""
    x = Input((STEPS, FEATURES))
    states = seq(5, L.GRU)(x)
    turned = L.Permute((2, 1))(states)
    scores = L.Permute((2, 1))(L.Dense(STEPS, use_bias=False)(turned))
    return Model(x, L.Dense(1, "sigmoid")(L.Flatten()(L.Dot((2, 1))([scores, turned[:, :, -1:]]))))


def attention(layer: Any) -> Callable[[], Model]:
    def build() -> Model:
        x = Input((STEPS, FEATURES))
        states = L.Bidirectional(seq(3))(x)
        attended = layer()([states, states]) if layer is not own_attention else own_attention(states)
        return Model(x, L.Dense(2, "softmax")(attended if len(attended.shape) == 2 else L.Flatten()(attended)))

    return build


def own_attention(states: Any) -> Any:
    """A score for each step, a softmax over the steps, and the weighted mean."""
    weights = L.Softmax(axis=1)(L.Dense(1, "tanh")(states))
    return ops.sum(weights * states, axis=1)


def own_mask() -> Model:
    """An ISAN that is called with a mask."""
    text = Input((None,), dtype="int32")
    return Model(text, L.Dense(1)(layers.ISAN(4, SYMBOLS)(text, mask=ops.not_equal(text, 0))))


def skip() -> Model:
    """A connection around a recurrent layer."""
    x = Input((STEPS, FEATURES))
    return Model(x, L.Dense(1)(L.LSTM(4)(L.Add()([x, seq(FEATURES)(x)]))))


def isan_and_numbers() -> Model:
    """An ISAN's states and other numbers under one head."""
    text, vector = Input((None,), dtype="int32"), Input((3,))
    return Model([text, vector], L.Dense(2)(L.Concatenate()([layers.ISAN(4, SYMBOLS)(text), vector])))


class Report(NamedTuple):
    """A report, its model, its inputs, and the arguments of `attribution`."""

    report: str
    build: Callable[[], Any]
    inputs: Callable[[], Any]
    options: dict[str, Any] = {}


def _vectors() -> np.ndarray:
    return numbers(STEPS, FEATURES)


Dense, Bi = L.Dense, L.Bidirectional
REPORTS = {
    "LSTM of relu and TimeDistributed heads, at any step": Report(
        "shap#213",
        lambda: of_vectors(
            seq(8, activation="relu"),
            L.TimeDistributed(Dense(8, "relu")),
            L.TimeDistributed(Dense(1, "sigmoid")),
        ),
        _vectors,
        {"step": 2},
    ),
    "Masking, LSTM, sigmoid": Report(
        "shap#213", lambda: of_vectors(L.Masking(), L.LSTM(4), Dense(1, "sigmoid")), padded_numbers
    ),
    "LSTM over 29 numbers": Report(
        "shap#1401", lambda: Sequential([Input((29, 1)), L.LSTM(4), Dense(1)]), lambda: numbers(29, 1)
    ),
    "the same, reshaped inside the model": Report(
        "shap#1401", lambda: Sequential([Input((29,)), L.Reshape((29, 1)), L.LSTM(4), Dense(1)]), lambda: numbers(29)
    ),
    "LSTM with several outputs at every step": Report(
        "shap#2526", lambda: of_vectors(seq(), Dense(3)), _vectors, {"step": -2, "target": [0, 1, 2]}
    ),
    "multivariate LSTM": Report("shap#2457, #772", lambda: of_vectors(L.LSTM(4), Dense(1)), _vectors),
    "forecast of two steps": Report("shap#948", lambda: of_vectors(L.LSTM(4), Dense(2)), _vectors, {"target": [0, 1]}),
    "LSTM of as many units as numbers, Dense": Report("shap#2808", lambda: of_vectors(L.LSTM(24), Dense(1)), _vectors),
    "LSTM with dropout, Dense": Report(
        "eli5#294, shap#3344", lambda: of_vectors(L.LSTM(8, dropout=0.2), L.Dropout(0.2), Dense(1)), _vectors
    ),
    "LSTM of one step": Report(
        "shap#2614", lambda: Sequential([Input((1, 23)), L.LSTM(4), Dense(1)]), lambda: numbers(1, 23)
    ),
    "Embedding, LSTM, sigmoid": Report("shap#193", lambda: of_ids(L.LSTM(4), Dense(1, "sigmoid")), ids),
    "Embedding with a mask, LSTM, sigmoid": Report(
        "shap#965", lambda: of_ids(L.LSTM(4), Dense(1, "sigmoid"), masked=True), padded_ids
    ),
    "Embedding, LSTM with dropout inside, softmax": Report(
        "shap#1490", lambda: of_ids(L.LSTM(4, dropout=0.3, recurrent_dropout=0.3), Dense(6, "softmax")), ids
    ),
    "LSTM over LSTM": Report("shap#502, #1193", lambda: of_vectors(seq(), L.LSTM(3), Dense(1)), _vectors),
    "Bidirectional over Bidirectional, softmax": Report(
        "shap#2929, #2114", lambda: of_vectors(Bi(seq()), Bi(L.LSTM(3)), Dense(2, "softmax")), _vectors
    ),
    "Embedding, Bidirectional LSTM": Report("alibi#369", lambda: of_ids(Bi(L.LSTM(3)), Dense(3, "softmax")), ids),
    "two Bidirectional GRUs over vectors of sentences": Report(
        "captum#409", lambda: of_vectors(Bi(seq(3, L.GRU)), Bi(L.GRU(3)), Dense(1)), _vectors
    ),
    "SimpleRNN, Dense at every step, Flatten": Report(
        "shap#1406", lambda: of_vectors(seq(3, L.SimpleRNN), Dense(1), L.Flatten()), _vectors, {"target": 3}
    ),
    "LSTM of ten steps and seven features": Report(
        "captum#1306", lambda: Sequential([Input((10, 7)), L.LSTM(4), Dense(1)]), lambda: numbers(10, 7)
    ),
    "subclass: stacked LSTMs, of which the last step is read": Report("captum#799", OfItsOwn, ids),
    "GRU with scores of Permute, Reshape and Dot": Report("shap#3605", scores_by_products, _vectors),
    "attention over a Bidirectional LSTM, of Dense and softmax": Report(
        "shap#1668", attention(own_attention), _vectors
    ),
    "keras.layers.Attention": Report("shap#1668", attention(L.Attention), _vectors),
    "MultiHeadAttention": Report(
        "shap#1668",
        lambda: (lambda x: Model(x, Dense(1)(L.GlobalMaxPooling1D()(multi_head(seq(4)(x))))))(Input((STEPS, FEATURES))),
        _vectors,
    ),
    "two sequences, concatenated": Report(
        "shap#3593",
        joined,
        lambda: [numbers(STEPS, FEATURES), numbers(STEPS, FEATURES, seed=1)],
        {"with_respect_to": 1},
    ),
    "a sequence and numbers in two branches": Report(
        "shap#2153", branches, lambda: {"sequence": _vectors(), "static": numbers(3)}, {"with_respect_to": "sequence"}
    ),
    "the same, split among the numbers": Report(
        "shap#2153", branches, lambda: {"sequence": _vectors(), "static": numbers(3)}, {"with_respect_to": "static"}
    ),
    "a sequence and ids in two branches": Report("shap#739", categories, lambda: [_vectors(), ids(1)]),
    "a text and a feature vector": Report("shap#1735", text_and_numbers, lambda: [padded_ids(), numbers(3)]),
    "a text and numbers for each word": Report("captum#956", embedding_and_matrix, lambda: [ids(), numbers(STEPS, 2)]),
    "two texts, one encoder": Report("shap#3593", siamese, lambda: [padded_ids(), ids(seed=1)]),
    "encoder and decoder, at a step of the decoder": Report(
        "captum#1236, shap#3343", encoder_decoder, lambda: [ids(), ids(3, seed=1)], {"step": 1}
    ),
    "autoencoder: RepeatVector, LSTM, TimeDistributed": Report(
        "shap#2526",
        lambda: of_vectors(L.LSTM(3), L.RepeatVector(STEPS), seq(), L.TimeDistributed(Dense(FEATURES))),
        _vectors,
        {"step": 0, "target": 1},
    ),
    "Conv1D, MaxPooling1D, LSTM": Report(
        "–",
        lambda: of_vectors(L.Conv1D(5, 3, activation="relu"), L.MaxPooling1D(2), L.LSTM(4), Dense(1)),
        _vectors,
    ),
    "Embedding, Conv1D, LSTM": Report("–", lambda: of_ids(L.Conv1D(4, 3, padding="same"), L.LSTM(4), Dense(1)), ids),
    "TimeDistributed(Conv2D), LSTM": Report(
        "–",
        lambda: Sequential(
            [
                Input((3, 5, 5, 1)),
                L.TimeDistributed(L.Conv2D(2, 3)),
                L.TimeDistributed(L.Flatten()),
                L.LSTM(4),
                Dense(1),
            ]
        ),
        lambda: numbers(3, 5, 5, 1),
    ),
    "ConvLSTM2D": Report(
        "–",
        lambda: Sequential([Input((3, 5, 5, 1)), L.ConvLSTM2D(2, 3), L.Flatten(), Dense(1)]),
        lambda: numbers(3, 5, 5, 1),
    ),
    "LSTM, LayerNormalization": Report("–", lambda: of_ids(L.LSTM(4), L.LayerNormalization(), Dense(1)), ids),
    "LSTM, GlobalMaxPooling1D": Report("–", lambda: of_vectors(seq(), L.GlobalMaxPooling1D(), Dense(1)), _vectors),
    "a connection around an LSTM": Report("–", skip, _vectors),
    "Bidirectional with merge_mode='mul'": Report(
        "–", lambda: of_vectors(Bi(L.GRU(3), merge_mode="mul"), Dense(1)), _vectors
    ),
    "GRU backwards with all its steps": Report(
        "–", lambda: of_vectors(seq(3, L.GRU, go_backwards=True), L.GRU(3), Dense(1)), _vectors
    ),
    "Bidirectional over a stack of cells": Report(
        "–", lambda: of_vectors(Bi(L.RNN([L.GRUCell(3), L.LSTMCell(2)])), Dense(1)), _vectors
    ),
    "mixed_float16": Report("–", lambda: of_vectors(L.LSTM(4, dtype="mixed_float16"), Dense(1)), _vectors),
    "ISAN, softmax": Report("–", lambda: of_symbols(layers.ISAN(4, SYMBOLS), Dense(3, "softmax")), ids),
    "ISAN with a mask": Report("–", own_mask, padded_ids),
    "Bidirectional ISAN": Report("–", lambda: of_symbols(Bi(layers.ISAN(4, SYMBOLS)), Dense(1, "sigmoid")), ids),
    "ISAN, hidden layer of relu": Report(
        "–", lambda: of_symbols(layers.ISAN(4, SYMBOLS), Dense(5, "relu"), Dense(1)), ids
    ),
    "LSTM over ISAN": Report(
        "–", lambda: of_symbols(seq(4, layers.ISAN, vocabulary_size=SYMBOLS), L.LSTM(3), Dense(1)), ids
    ),
    "ISAN and numbers": Report("–", isan_and_numbers, lambda: [ids(), numbers(3)]),
    "MinGRU over vectors, at any step": Report(
        "–", lambda: of_vectors(seq(4, layers.MinGRU), Dense(2)), _vectors, {"step": 3}
    ),
    **{
        f"{name} before a GRU": Report("–", lambda make=make: of_vectors(make(), L.GRU(3), Dense(1)), _vectors)
        for name, make in {
            "Activation": lambda: L.Activation("relu"),
            "LayerNormalization": L.LayerNormalization,
            "BatchNormalization": L.BatchNormalization,
            "Normalization": lambda: L.Normalization(mean=np.arange(FEATURES), variance=np.ones(FEATURES)),
            "Rescaling": lambda: L.Rescaling(0.5, 0.1),
            "TimeDistributed(Dense)": lambda: L.TimeDistributed(Dense(3)),
        }.items()
    },
}


def multi_head(x: Any) -> Any:
    return L.MultiHeadAttention(2, 3)(x, x)


class Row(NamedTuple):
    """A line of the table."""

    model: str
    report: str
    runs_in: str
    method: str
    residual: str
    by_feature: str

    def __str__(self) -> str:
        return f"| {' | '.join(self)} |"


def row(name: str, margin: float = 3.0) -> Row:
    """The line of a model: what `attribution` makes of it.

    Args:
        margin: how many times a residual is below its bound; that of float32 is not the same on every processor.
    """
    report = REPORTS[name]
    keras.utils.set_random_seed(0)
    model, inputs = report.build(), report.inputs()
    chosen = analysis.attribution(model, inputs, **report.options)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The path integral of sequence")  # the table shows by how much
        by_feature = analysis.attribution(model, inputs, method="path_integral", **report.options)
    shape = "×".join(map(str, by_feature.features.shape))
    whole, parts = ("Keras runs it" in by_feature.reason, "Keras runs" in by_feature.reason)
    runs_in = "Keras" if whole else "float64 and Keras" if parts else "float64"
    return Row(
        name, report.report, runs_in, chosen.method, _bound(chosen, margin), f"{shape}, {_bound(by_feature, margin)}"
    )


def _bound(split: Any, margin: float) -> str:
    relative = split.residual / max(1e-3, float(np.abs(split.output).max()))
    return next(
        (f"{bound:.0e}".replace("e-0", "e-").replace("e+00", "") for bound in BOUNDS if margin * relative <= bound),
        "more",
    )


HEAD = str(Row("model", "report", "runs in", "method", "residual", "by feature: shape, residual"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--smoke", action="store_true", help="three models alone")
    parser.add_argument("--only", help="models whose name contains this")
    parser.add_argument("--write", action="store_true", help="into benchmarks/README.md")
    args = parser.parse_args()
    names = [name for name in REPORTS if (args.only or "") in name]
    lines = [HEAD, "|---" * len(Row._fields) + "|"]
    for name in names[:3] if args.smoke else names:
        lines.append(str(row(name)))
        print(lines[-1], flush=True)
    if args.write:
        into_readme(NAME, lines)


if __name__ == "__main__":
    main()
