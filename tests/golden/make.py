"""Saved models of a version, with what they put out: later versions load them and put out the same.

    python -m tests.golden.make

writes tests/golden/VERSION/, a `.keras` file and an `.npz` file for each entry of `MODELS`. The folder of a released
version is kept for good and never written again, as users have files like these; a new version adds a folder. A model
is small, has random weights none of which is zero, and other sizes on every axis.

The arrays of an `.npz` file are what `observed` returns: `inputs`, and what is seen of the model on them.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import numpy as np

import keras_interp_rnn
from keras_interp_rnn import analysis, layers
from keras_interp_rnn.automata import Recognizer, SymbolEmbedding, tomita
from keras_interp_rnn.automata.networks import TrainingReport
from keras_interp_rnn.constraints import MaxSpectralNorm, Zero
from keras_interp_rnn.datasets import Alphabet
from keras_interp_rnn.losses import BitsPerSymbol
from tests.automata.networks import network_of

GOLDEN = Path(__file__).parent
BATCH, TIME, FEATURES, SYMBOLS = 3, 7, 4, 5

SCALARS = {"temperature": 0.7, "log_temperature": -0.4, "strength": 0.85, "noise": 0.6}
"""What these weights are saved as: none of it what the layer was made with, so that it can come from the file alone."""

VERDICT = TrainingReport(
    learned=True,
    network_accuracy=1.0,
    automaton_accuracy=0.9375,
    held_out_accuracy=0.875,
    confidence=0.9921875,
    num_states=3,
    num_attempts=2,
    seconds=1.5,
)


def ids(*rest: Any, **flags: Any) -> keras.Sequential:
    """Layers that read ids."""
    return keras.Sequential([keras.Input((TIME,), dtype="int32", **flags), *rest])


def reals(*rest: Any, **flags: Any) -> keras.Sequential:
    """Layers that read real numbers."""
    return keras.Sequential([keras.Input((TIME, FEATURES), **flags), *rest])


def embedded(*rest: Any) -> keras.Sequential:
    """Layers that read embeddings of ids, of which 0 is padding."""
    return keras.Sequential(
        [keras.Input((None,), dtype="int32"), keras.layers.Embedding(SYMBOLS, FEATURES, mask_zero=True), *rest]
    )


def head() -> keras.layers.Layer:
    return keras.layers.Dense(2)


def with_states(layer: keras.layers.Layer) -> keras.Model:
    """A model whose outputs are all that the layer returns."""
    sequences = keras.Input((TIME, FEATURES))
    return keras.Model(sequences, layer(sequences))


def regularized(cell: keras.layers.Layer, **arguments: Any) -> layers.StateRegularizedCell:
    return layers.StateRegularizedCell(cell, 4, **arguments)


def compiled(model: keras.Model, loss: Any, optimizer: Any) -> keras.Model:
    """The model with an optimizer that has taken a step."""
    model.compile(optimizer, loss)
    x = np.random.default_rng(1).integers(SYMBOLS, size=(BATCH, TIME)).astype("int32")
    model.train_on_batch(x, np.roll(x, -1, axis=1))
    return model


def recognizer() -> keras.Model:
    model = Recognizer(
        [
            keras.Input((None,), dtype="int32"),
            SymbolEmbedding(["a", "b", 7], FEATURES),
            layers.SRGRU(6, 4, transition="gumbel", name="recurrent"),
            keras.layers.Dense(1),
        ]
    )
    model.report = VERDICT
    return model


def characters() -> keras.Model:
    alphabet = Alphabet("\n aé\N{REPLACEMENT CHARACTER}", unknown="\N{REPLACEMENT CHARACTER}")
    isan = layers.ISAN(6, len(alphabet), return_sequences=True)
    model = ids(alphabet.layer(), isan, keras.layers.Dense(len(alphabet)))
    return compiled(model, BitsPerSymbol(), keras.optimizers.Adam(1e-3, clipnorm=1.0))


def words() -> keras.Model:
    alphabet = Alphabet.from_texts([["a", "film", "good", "bad"]], max_size=7)
    embedding = keras.layers.Embedding(len(alphabet), FEATURES, mask_zero=True)
    return ids(alphabet.layer(), embedding, layers.MinGRU(6), head())


# An entry is a name and what makes the model. What a model reads follows from its inputs: ids below SYMBOLS, or reals.
MODELS: dict[str, Callable[[], keras.Model]] = {
    "isan": lambda: ids(layers.ISAN(6, SYMBOLS, return_sequences=True), head()),
    "isan_last_state": lambda: ids(layers.ISAN(6, SYMBOLS)),
    "isan_initial_state_kept": lambda: ids(layers.ISAN(6, SYMBOLS, learn_initial_state=False, return_sequences=True)),
    "isan_of_distributions": lambda: keras.Sequential(
        [keras.Input((TIME, SYMBOLS)), keras.layers.Softmax(), layers.ISAN(6, SYMBOLS, return_sequences=True)]
    ),
    "isan_with_constraints": lambda: ids(
        layers.ISAN(
            6,
            SYMBOLS,
            recurrent_constraint=MaxSpectralNorm(0.8),
            recurrent_regularizer=keras.regularizers.L2(1e-3),
            recurrent_initializer="identity",
        )
    ),
    "isan_both_ways": lambda: ids(keras.layers.Bidirectional(layers.ISAN(6, SYMBOLS, return_sequences=True))),
    "isan_stepwise": lambda: ids(layers.ISAN(6, SYMBOLS, fused=False, unroll=True)),
    "isan_backwards": lambda: ids(layers.ISAN(6, SYMBOLS, go_backwards=True, return_sequences=True)),
    "isan_stateful": lambda: ids(
        layers.ISAN(6, SYMBOLS, stateful=True, return_sequences=True), head(), batch_size=BATCH
    ),
    "isan_mixed_float16": lambda: ids(
        layers.ISAN(6, SYMBOLS, return_sequences=True, dtype="mixed_float16"), keras.layers.Dense(2, dtype="float32")
    ),
    "isan_float64": lambda: ids(layers.ISAN(6, SYMBOLS, dtype="float64")),
    "isan_cell": lambda: keras.Sequential(
        [keras.Input((TIME, 1), dtype="int32"), keras.layers.RNN(layers.ISANCell(6, SYMBOLS))]
    ),
    "factored_isan": lambda: ids(layers.FactoredISAN(6, 2, SYMBOLS, return_sequences=True), head()),
    "factored_isan_of_reals": lambda: reals(layers.FactoredISAN(6, 2, return_sequences=True), head()),
    "factored_isan_not_shared": lambda: reals(layers.FactoredISAN(6, 3, shared=False, return_sequences=True)),
    "factored_isan_cell": lambda: reals(keras.layers.RNN(layers.FactoredISANCell(6, 2))),
    "diagonal_isan": lambda: ids(layers.DiagonalISAN(6, SYMBOLS, block_size=2, return_sequences=True), head()),
    "diagonal_isan_cell": lambda: keras.Sequential(
        [keras.Input((TIME, 1), dtype="int32"), keras.layers.RNN(layers.DiagonalISANCell(6, SYMBOLS))]
    ),
    "min_gru": lambda: reals(layers.MinGRU(6, return_sequences=True), keras.layers.RNN(layers.MinGRUCell(5))),
    "min_lstm": lambda: reals(
        layers.MinLSTM(6, positive=True, return_sequences=True), keras.layers.RNN(layers.MinLSTMCell(5))
    ),
    "lru": lambda: reals(layers.LRU(6, state_dim=5, return_sequences=True), keras.layers.RNN(layers.LRUCell(6))),
    "rg_lru": lambda: reals(layers.RGLRU(6, return_sequences=True), keras.layers.RNN(layers.RGLRUCell(6))),
    "gated_linear_attention": lambda: reals(
        layers.GatedLinearAttention(8, num_heads=2, decay_rank=3, return_sequences=True),
        keras.layers.RNN(layers.GatedLinearAttentionCell(8, num_heads=2, decay_rank=None)),
    ),
    "delta_net": lambda: reals(
        layers.DeltaNet(8, num_heads=2, gated=True, return_sequences=True),
        keras.layers.RNN(layers.DeltaNetCell(8, num_heads=2, normalize=False)),
    ),
    "minimal_rnn": lambda: reals(layers.MinimalRNN(6, return_sequences=True), head()),
    "minimal_rnn_of_ids": lambda: ids(
        layers.MinimalRNN(6, encoder=keras.layers.Embedding(SYMBOLS, 6), return_sequences=True), head()
    ),
    "minimal_rnn_stateful_backwards": lambda: reals(
        layers.MinimalRNN(6, stateful=True, go_backwards=True, return_sequences=True), batch_size=BATCH
    ),
    "minimal_rnn_mixed_float16": lambda: reals(
        layers.MinimalRNN(6, dtype="mixed_float16"), keras.layers.Dense(2, dtype="float32")
    ),
    "minimal_rnn_dropout": lambda: reals(layers.MinimalRNN(6, dropout=0.2, recurrent_dropout=0.3, seed=5)),
    "minimal_rnn_cell": lambda: reals(keras.layers.RNN(layers.MinimalRNNCell(6))),
    "cfn": lambda: reals(layers.CFN(6, return_sequences=True), head()),
    "cfn_cell": lambda: reals(keras.layers.RNN(layers.CFNCell(6))),
    "peephole_lstm": lambda: with_states(layers.PeepholeLSTM(6, return_sequences=True, return_state=True)),
    "peephole_lstm_cell": lambda: reals(keras.layers.RNN(layers.PeepholeLSTMCell(6))),
    "sr_simple_rnn": lambda: reals(layers.SRSimpleRNN(6, 4, return_sequences=True), head()),
    "sr_gru": lambda: reals(layers.SRGRU(6, 4, return_sequences=True), head()),
    "sr_lstm": lambda: with_states(layers.SRLSTM(6, 4, return_sequences=True, return_state=True)),
    "sr_peephole_lstm": lambda: with_states(layers.SRPeepholeLSTM(6, 4, return_sequences=True, return_state=True)),
    "soft_argmax": lambda: reals(layers.SRGRU(6, 4, transition="soft_argmax", return_sequences=True)),
    "gumbel": lambda: reals(layers.SRGRU(6, 4, transition="gumbel", seed=3, return_sequences=True)),
    "gumbel_straight_through": lambda: reals(
        layers.SRGRU(6, 4, transition="gumbel", straight_through=True, return_sequences=True)
    ),
    "sample": lambda: keras.Sequential(
        [keras.Input((1, FEATURES)), layers.SRGRU(6, 4, transition="sample", return_sequences=True)]
    ),
    "learned_temperature": lambda: reals(
        layers.SRSimpleRNN(6, 4, learn_temperature=True, learn_centroids=False, return_sequences=True)
    ),
    "last_step_free": lambda: embedded(layers.SRLSTM(6, 4, regularize_last_step=False), head()),
    "sr_of_minimal_rnn": lambda: reals(
        layers.StateRegularizedRNN(regularized(layers.MinimalRNNCell(6)), return_sequences=True)
    ),
    "sr_of_isan": lambda: keras.Sequential(
        [
            keras.Input((TIME, 1), dtype="int32"),
            layers.StateRegularizedRNN(regularized(layers.ISANCell(6, SYMBOLS)), return_sequences=True),
        ]
    ),
    "sr_cell": lambda: reals(keras.layers.RNN(regularized(keras.layers.GRUCell(6)))),
    "sr_cells_stacked": lambda: reals(
        keras.layers.RNN([regularized(keras.layers.SimpleRNNCell(5)), regularized(layers.PeepholeLSTMCell(6))])
    ),
    "sr_stateful": lambda: reals(
        layers.SRPeepholeLSTM(6, 4, stateful=True, return_sequences=True), head(), batch_size=BATCH
    ),
    "masks": lambda: embedded(
        layers.CFN(6, return_sequences=True, zero_output_for_mask=True),
        layers.MinimalRNN(5, return_sequences=True),
        layers.SRLSTM(6, 4, return_sequences=True, go_backwards=True),
    ),
    "masks_of_peephole_lstm": lambda: embedded(layers.PeepholeLSTM(6, return_sequences=True), layers.SRSimpleRNN(5, 4)),
    "masks_of_factored_isan": lambda: embedded(layers.FactoredISAN(6, 2, return_sequences=True)),
    "recognizer": recognizer,
    "automaton": lambda: network_of(tomita(4)),
    "characters": characters,
    "words": words,
    "protocol_characters": lambda: ids(layers.ISAN(6, SYMBOLS, bias_constraint=Zero(), return_sequences=True)),
    "protocol_classification": lambda: ids(
        layers.WordDropout(0.2), keras.layers.Embedding(SYMBOLS, FEATURES, mask_zero=True), layers.SRLSTM(6, 4)
    ),
}


def fill(model: keras.Model, rng: np.random.Generator) -> None:
    """Random weights, none of them zero; states keep their size from step to step, about."""
    if isinstance(model, Recognizer) and model.report is None:
        return  # an automaton, by its weights
    for weight in model.weights:
        if weight.name in SCALARS:
            weight.assign(SCALARS[weight.name])
        else:
            scale = weight.shape[-2] ** -0.5 if len(weight.shape) > 1 else 0.5
            if weight.name in ("centroids", "embeddings"):
                scale = 2.0  # far apart, so that states differ much
            weight.assign(scale * rng.normal(size=weight.shape))
            assert keras.ops.convert_to_numpy(weight).all()


def inputs_of(model: keras.Model, rng: np.random.Generator) -> np.ndarray:
    """What a model reads: sequences that end in padding where it masks, as the lengths of a batch differ."""
    [given] = model.inputs
    time = given.shape[1] or TIME
    if given.dtype != "int32":
        return rng.normal(size=(BATCH, time, *given.shape[2:])).astype("float32")
    padded = given.shape[1] is None
    found = rng.integers(
        int(padded), getattr(model.layers[0], "input_dim", SYMBOLS), size=(BATCH, time, *given.shape[2:])
    ).astype("int32")
    if padded:
        for row in range(BATCH):
            found[row, time - 2 * row :] = 0
    return found


def observed(model: keras.Model, inputs: np.ndarray) -> dict[str, np.ndarray]:
    """What is seen of a model on its inputs.

    Returns:
        inputs: as given. parameters: (trained, others), their numbers. One of
        output_0, output_1, ...: each output; with a stateful layer followed by again_0, ..., of a second call.
        probabilities: (batch, 1, k), of the first step alone, where the states after it are drawn.
    """
    counts = [sum(int(np.prod(w.shape)) for w in of) for of in (model.trainable_weights, model.non_trainable_weights)]
    found = {"inputs": inputs, "parameters": np.array(counts)}
    last = model.layers[-1]
    transition = getattr(getattr(last, "cell", None), "transition", None)
    if getattr(transition, "name", transition) == "sample":
        return {**found, "probabilities": analysis.transition_probabilities(last, inputs)}
    names = ("output", "again") if any(getattr(layer, "stateful", False) for layer in model.layers) else ("output",)
    for name in names:
        for i, output in enumerate(keras.tree.flatten(model(inputs))):
            found[f"{name}_{i}"] = keras.ops.convert_to_numpy(output)
    return found


def main() -> None:
    folder = GOLDEN / keras_interp_rnn.__version__
    folder.mkdir()
    for number, (name, make) in enumerate(sorted(MODELS.items())):
        keras.utils.set_random_seed(number)
        rng = np.random.default_rng(number)
        model = make()
        fill(model, rng)
        model.save(folder / f"{name}.keras")
        np.savez_compressed(folder / f"{name}.npz", **observed(model, inputs_of(model, rng)))


if __name__ == "__main__":
    main()
