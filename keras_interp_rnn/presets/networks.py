"""Builds the networks of presets from the settings of their cards, before the weights are assigned."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import keras

from keras_interp_rnn import automata, datasets, layers
from keras_interp_rnn._alphabet import of_words
from keras_interp_rnn._checks import choice
from keras_interp_rnn.automata.networks import TrainingReport


def symbols(settings: Mapping[str, object]) -> keras.Model:
    """An ISAN with an alphabet layer and a linear readout: ids (batch, time) to (batch, time, outputs)."""
    alphabet = datasets.Alphabet(settings["alphabet"])
    return keras.Sequential(
        [
            keras.Input((None,), dtype="int32"),
            alphabet.layer(),
            layers.ISAN(
                settings["units"], len(alphabet), return_sequences=True, recurrent_constraint=None, name="recurrent"
            ),
            keras.layers.Dense(settings["outputs"], name="head"),
        ]
    )


def memory(settings: Mapping[str, object]) -> keras.Model:
    """A DeltaNet of one head with a linear readout: ids (batch, time) to (batch, time, outputs)."""
    alphabet = datasets.Alphabet(settings["alphabet"])
    key_dim, value_dim = settings["key_dim"], settings["value_dim"]
    return keras.Sequential(
        [
            keras.Input((None,), dtype="int32"),
            alphabet.layer(),
            keras.layers.Embedding(len(alphabet), settings["embedding"], name="symbols"),
            layers.DeltaNet(
                settings["units"], 1, key_dim, value_dim, normalize=False, return_sequences=True, name="recurrent"
            ),
            keras.layers.Dense(settings["outputs"], name="head"),
        ]
    )


def recognizer(settings: Mapping[str, Any]) -> keras.Model:
    """A state-regularized GRU that accepts words, as returned by `automata.train_recognizer`."""
    recurrent = layers.SRGRU(settings["units"], settings["centroids"], transition="gumbel", name="recurrent")
    model = automata.Recognizer(
        [
            keras.Input((None,), dtype="int32"),
            automata.SymbolEmbedding(settings["alphabet"], settings["embedding"], name="symbols"),
            recurrent,
            keras.layers.Dense(1, name="head"),
        ]
    )
    model.report = TrainingReport(**settings["report"])
    return model


def lstm(settings: Mapping[str, object]) -> keras.Model:
    """An LSTM of Keras that accepts words: ids (batch, time), 0 for padding, to one logit."""
    alphabet = datasets.Alphabet(settings["alphabet"], padding="")
    return keras.Sequential(
        [
            keras.Input((None,), dtype="int32"),
            alphabet.layer(),
            datasets.Outputs(["no", "yes"]).layer(),
            keras.layers.Embedding(len(alphabet), settings["embedding"], mask_zero=True, name="symbols"),
            keras.layers.LSTM(settings["units"], name="recurrent"),
            keras.layers.Dense(1, name="head"),
        ]
    )


def words(settings: Mapping[str, Any]) -> keras.Model:
    """An SR-LSTM-P with a readout of the mean hidden state: ids (batch, time), 0 for padding, to one logit.

    It carries its vocabulary, where the settings have the `names` of its ids, and the names of both verdicts.
    """
    ids = keras.Input((None,), dtype="int32")
    named = datasets.Outputs(["negative", "positive"]).layer()(ids)
    named = of_words(settings["names"]).layer()(named) if "names" in settings else named
    reads = keras.layers.Embedding(settings["vocabulary"], settings["embedding"], mask_zero=True, name="words")(named)
    states = layers.SRPeepholeLSTM(
        settings["units"],
        settings["centroids"],
        temperature=settings["temperature"],
        regularize_last_step=False,
        return_sequences=True,
        name="recurrent",
    )(reads)
    mean = keras.layers.GlobalAveragePooling1D(name="mean")(states)
    return keras.Model(ids, keras.layers.Dense(1, name="head")(mean))


SIZES = ("units", "outputs", "centroids", "embedding", "vocabulary", "value_dim")
"""Entries of a card's `model` that are axes of the weights."""

KINDS: dict[str, Callable[[Mapping[str, Any]], keras.Model]] = {
    "symbols": symbols,
    "memory": memory,
    "recognizer": recognizer,
    "lstm": lstm,
    "words": words,
}
"""`model["kind"]` of a card -> the function that builds the model."""


def build(settings: Mapping[str, object]) -> keras.Model:
    """Builds the model of a card; ValueError if its kind is unknown."""
    remedy = "Install the keras_interp_rnn that wrote this card, or a newer one."
    return KINDS[choice("kind", settings.get("kind"), KINDS, remedy)](settings)
