"""Which class does a sequence have: one protocol for every recurrent network (Wang, Lawrence and Niepert, 2022).

Reviews (table 4), pixels (table 5) and news (section 6). A tenth of the training data is held out, the weights that
judge most of it rightly are judged on the test data. A killed run goes on where it was.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from pathlib import Path
from typing import Any

import keras
import numpy as np
from numpy.typing import NDArray

from keras_interp_rnn import layers
from keras_interp_rnn.datasets import words
from keras_interp_rnn.reproduce import records, training

NETWORKS = ("RNN", "GRU", "LSTM", "LSTM-P", "SR-RNN", "SR-GRU", "SR-LSTM", "SR-LSTM-P")
HEADS = ("last", "last_and_cell", "mean")


@dataclasses.dataclass(frozen=True, eq=False)
class Sequences:
    """Sequences and their classes.

    Attributes:
        train, test: (x, y); x ids (rows, time), 0 for padding, or real (rows, time, features); y int classes.
        classes: their names. vocabulary: names of the ids, None where x is real.
        info: what the record says of the data.
    """

    train: tuple[NDArray[Any], NDArray[Any]]
    test: tuple[NDArray[Any], NDArray[Any]]
    classes: tuple[str, ...]
    vocabulary: tuple[str, ...] | None
    info: dict[str, Any]

    def identity(self) -> dict[str, Any]:
        """`info`, and the sha256 of all sequences and classes."""
        return {**self.info, "sha256": records.sha256(*self.train, *self.test)}


@dataclasses.dataclass(frozen=True)
class Protocol:
    """A network, and how it is trained.

    Args:
        network: one of `NETWORKS`. centroids, transition, temperature: of the SR networks, else 0, "" and 0.
        units: of the recurrent layer. embedding: of an id; 0 for real inputs.
        head: what it reads: the "last" hidden state; "last_and_cell", the cell state too, as for pixels in the paper;
            or the "mean" hidden state over time.
        vectors: mean square root of the embeddings at the start, word vectors counted from the training texts
            (`datasets.words.vectors`, the held-out texts among them, without their classes); 0 for small random ones.
        segment: ids of a text read in training, from a place drawn anew in each pass; 0 for the whole text.
        dropout: of the embedding's features and of what the head reads. word_dropout: share of ids read as unknown
            words in training.
        batch: rows. epochs: of training. steps: batches in an epoch; 0 for one pass of the data.
        learning_rate: Adam's highest, after 100 steps of linear growth; then a cosine to the share `decay` of it.
        clip: largest global norm of a gradient.
    """

    network: str
    centroids: int = 0
    transition: str = ""
    temperature: float = 0.0
    units: int = 128
    embedding: int = 128
    head: str = "last"
    vectors: float = 0.0
    segment: int = 0
    dropout: float = 0.5
    word_dropout: float = 0.0
    batch: int = 64
    epochs: int = 6
    steps: int = 0
    learning_rate: float = 2e-3
    clip: float = 1.0
    decay: float = 0.01


def recurrent(protocol: Protocol, seed: int) -> keras.layers.Layer:
    """The recurrent layer, named "recurrent"."""
    kind = protocol.network
    flags: dict[str, Any] = {
        "return_state": protocol.head == "last_and_cell",
        "return_sequences": protocol.head == "mean",
        "name": "recurrent",
    }
    if kind not in NETWORKS:
        raise ValueError(f"The networks are {', '.join(NETWORKS)}. Received: {kind!r}.")
    if protocol.head not in HEADS:
        raise ValueError(f"A head reads {', '.join(HEADS)}. Received: {protocol.head!r}.")
    if not kind.startswith("SR"):
        plain = {"RNN": keras.layers.SimpleRNN, "GRU": keras.layers.GRU, "LSTM": keras.layers.LSTM}
        return plain.get(kind, layers.PeepholeLSTM)(protocol.units, **flags)
    regularized = {
        "SR-RNN": layers.SRSimpleRNN,
        "SR-GRU": layers.SRGRU,
        "SR-LSTM": layers.SRLSTM,
        "SR-LSTM-P": layers.SRPeepholeLSTM,
    }[kind]
    return regularized(
        protocol.units,
        protocol.centroids,
        temperature=protocol.temperature,
        transition=protocol.transition,
        regularize_last_step=False,
        seed=seed,
        **flags,
    )


def build(protocol: Protocol, data: Sequences, steps: int, seed: int) -> keras.Model:
    """A compiled model, sequences to logits: one for two classes, else one for each."""
    keras.utils.set_random_seed(seed)
    x, _ = data.train
    inputs = keras.Input((None, *x.shape[2:]), dtype=x.dtype.name)
    reads: Any = inputs
    if data.vocabulary is not None:
        if protocol.word_dropout:
            reads = layers.WordDropout(protocol.word_dropout, seed=seed)(reads)
        embedding = keras.layers.Embedding(len(data.vocabulary), protocol.embedding, mask_zero=True)
        reads = embedding(reads)
        if protocol.vectors:
            embedding.set_weights([protocol.vectors * _vectors(data, protocol.embedding)])
        reads = keras.layers.SpatialDropout1D(protocol.dropout, seed=seed + 1)(reads)
    found = recurrent(protocol, seed + 2)(reads)
    if protocol.head == "last_and_cell":
        found = keras.layers.Concatenate()(list(found[1:]))
    elif protocol.head == "mean":
        found = keras.layers.GlobalAveragePooling1D()(found)
    if protocol.dropout:
        found = keras.layers.Dropout(protocol.dropout, seed=seed + 3)(found)
    binary = len(data.classes) == 2
    logits = keras.layers.Dense(1 if binary else len(data.classes))(found)
    model = keras.Model(inputs, logits)
    rate = training.schedule(protocol.learning_rate, steps, 100, protocol.decay)
    optimizer = keras.optimizers.Adam(rate, global_clipnorm=protocol.clip)
    if binary:
        loss = keras.losses.BinaryCrossentropy(from_logits=True)
        accuracy = keras.metrics.BinaryAccuracy(name="accuracy", threshold=0.0)
    else:
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        accuracy = keras.metrics.SparseCategoricalAccuracy(name="accuracy")
    model.compile(optimizer, loss, metrics=[accuracy])
    return model


@functools.lru_cache(maxsize=1)
def _vectors(data: Sequences, features: int) -> NDArray[np.float32]:
    assert data.vocabulary is not None
    return words.vectors(data.train[0], len(data.vocabulary), num_features=features)


def split(data: Sequences, seed: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Rows of the training data to train on, and a tenth to validate on, drawn at random."""
    order = np.random.default_rng(seed).permutation(len(data.train[0]))
    tenth = len(order) // 10
    return np.sort(order[tenth:]), np.sort(order[:tenth])


def run(
    name: str,
    protocol: Protocol,
    data: Sequences,
    folder: Path,
    minutes: float | None = None,
    seed: int = 0,
    verbose: int = 1,
) -> tuple[dict[str, Any], Path]:
    """Trains one network, or goes on with it.

    Args:
        name: what is said of it on the screen. protocol, data: as they say. folder: of this run.
        minutes: of training, without validation, in place of `protocol.steps`. seed: of weights, draws and orders.
        verbose: as in `fit`.

    Returns:
        The record, and where the best model lies.
    """
    x, y = data.train
    kept, held_out = split(data, seed)

    def batches(start: int = 0, count: int | None = None) -> training.Shuffled:
        return training.Shuffled(x[kept], y[kept], protocol.batch, seed, start, count, protocol.segment)

    identity = data.identity()
    own = {"seed": seed, "minutes": minutes, "data": identity}
    environment = records.begin(folder, {**dataclasses.asdict(protocol), **own})
    if data.vocabulary is not None:
        words.Vocabulary(data.vocabulary).save(folder / "vocabulary.txt")
    steps = protocol.steps or math.ceil(len(kept) / protocol.batch)
    if minutes is not None:
        steps = training.steps_within(
            folder,
            minutes,
            protocol.epochs,
            training.trial_steps(lambda: (build(protocol, data, 100, seed), batches())),
        )
    print(f"\n{name}: {len(kept)} sequences, {steps} steps an epoch.", flush=True)
    done = training.fit(
        folder,
        lambda: build(protocol, data, steps * protocol.epochs, seed),
        batches,
        (x[held_out], y[held_out]),
        steps,
        protocol.epochs,
        verbose,
        by_accuracy=True,
    )
    model = keras.models.load_model(done.best)
    _, accuracy = model.evaluate(*data.test, batch_size=256, verbose=0)
    record: dict[str, Any] = {
        "environment": environment,
        "data": {**identity, "train": len(kept), "validation": len(held_out), "test": len(data.test[0])},
        "model": {"network": protocol.network, "parameters": model.count_params()},
        "protocol": {**dataclasses.asdict(protocol), "steps": steps, "seed": seed, "minutes": minutes},
        "result": {
            "test_error": 1 - accuracy,
            "validation_error": 1 - max(entry["val_accuracy"] for entry in done.history),
            "seconds": done.history[-1]["seconds"],
            "training_seconds": training.training_seconds(done.history),
            "sequences": steps * protocol.epochs * protocol.batch,
        },
        "curve": done.history,
    }
    return record, done.best
