"""The networks of the presets, built from the settings of their cards. The weights come afterwards."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import keras

from keras_interp_rnn import automata, datasets, layers
from keras_interp_rnn.automata.networks import TrainingReport


def symbols(settings: Mapping[str, Any]) -> keras.Model:
    """An ISAN under a linear readout, ids (batch, time) to outputs (batch, time, outputs); it carries its alphabet."""
    alphabet = datasets.text.Alphabet(settings["alphabet"])
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


def memory(settings: Mapping[str, Any]) -> keras.Model:
    """A DeltaNet of one head under a linear readout, ids (batch, time) to outputs (batch, time, outputs)."""
    alphabet = datasets.text.Alphabet(settings["alphabet"])
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
    """A state-regularized GRU that accepts words, as `automata.train_recognizer` returns it."""
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


def words(settings: Mapping[str, Any]) -> keras.Model:
    """An SR-LSTM-P whose head reads the mean hidden state: ids (batch, time), 0 for padding, to one logit.

    It carries its vocabulary, where the settings have the `names` of its ids.
    """
    ids = keras.Input((None,), dtype="int32")
    named = datasets.words.Vocabulary(tuple(settings["names"])).layer()(ids) if "names" in settings else ids
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
"""Entries of `model` of a card that are axes of its weights."""

KINDS: dict[str, Callable[[Mapping[str, Any]], keras.Model]] = {
    "symbols": symbols,
    "memory": memory,
    "recognizer": recognizer,
    "words": words,
}
"""`model["kind"]` of a card -> what builds it."""


def build(settings: Mapping[str, Any]) -> keras.Model:
    """The model of a card; raises ValueError for a kind that this version does not know."""
    kind = settings.get("kind")
    if kind not in KINDS:
        raise ValueError(
            f"The networks of presets are {', '.join(KINDS)}. Received: {kind!r}. Install the keras_interp_rnn that "
            "wrote this card, or a newer one."
        )
    return KINDS[kind](settings)
