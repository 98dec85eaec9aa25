"""Which class does a sequence have: one protocol for every recurrent network (Wang, Lawrence and Niepert, 2022).

Reviews (table 4), pixels (table 5) and news (section 6). A tenth of the training data is held out, and the weights with
the highest accuracy on it are evaluated on the test data. A killed run resumes.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from examples.papers import _records
from examples.papers._experiment import Experiment, Record, Result, Run, Trainable
from examples.papers._lazy import Array, callbacks, corpora, datasets, keras, layers, np, training

NETWORKS = {
    **{"RNN": "SimpleRNN", "GRU": "GRU", "LSTM": "LSTM", "LSTM-P": "PeepholeLSTM"},
    **{"SR-RNN": "SRSimpleRNN", "SR-GRU": "SRGRU", "SR-LSTM": "SRLSTM", "SR-LSTM-P": "SRPeepholeLSTM"},
}
"""Name -> layer."""

OPTIMIZERS: dict[str, dict[str, Any]] = {
    "Adam": {},
    "RMSprop": {"rho": 0.95, "momentum": 0.9, "epsilon": 1e-4, "centered": True},
}
"""Settings of each; those of RMSprop are the paper's."""

SLID = "slid_accuracy"
"""The validation accuracy in the logs of a sliding network, NaN while the strength is below 1."""

WORDS: dict[str, Any] = {"units": 64, "embedding": 64}
"""Sizes of networks that read words."""


def regularized(
    network: str, centroids: int, transition: str = "mixture", temperature: float = 1.0, **settings: Any
) -> dict[str, Any]:
    own = {"network": network, "centroids": centroids, "transition": transition, "temperature": temperature}
    return {**own, **settings}


def lstms(centroids: int, plain: dict[str, Any], with_centroids: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The LSTMs of the paper's tables 4 and 5: name of the row -> settings.

    Args:
        centroids: k of most rows. plain, with_centroids: settings of the networks without and with centroids.
    """
    k, kind = f"k = {centroids}", "SR-LSTM-P"
    return {name: {"network": name, **plain} for name in ("LSTM", "LSTM-P")} | {
        f"SR-LSTM ({k})": {**regularized("SR-LSTM", centroids), **with_centroids},
        f"{kind} ({k}, eq. 17)": {**regularized(kind, centroids, "soft_argmax"), **with_centroids},
        f"{kind} ({k}, eq. 19)": {**regularized(kind, centroids, "gumbel"), **with_centroids},
        f"{kind} ({k}, eq. 20)": {**regularized(kind, centroids), **with_centroids},
        f"{kind} (k = 50)": {**regularized(kind, 50), **with_centroids},
    }


@dataclasses.dataclass(frozen=True, eq=False)
class Sequences:
    """Sequences and their classes.

    Attributes:
        train, test: (x, y); x ids (rows, time), 0 for padding, or real (rows, time, features); y int classes.
        classes: names of the classes. vocabulary: an `Alphabet`, None where x is real.
        info: of the data, for the record.
        groups: (rows of train,), rows of one number are held out together, as reviews of one film; None for each row by
            itself.
    """

    train: tuple[Array, Array]
    test: tuple[Array, Array]
    classes: tuple[str, ...]
    vocabulary: Any
    info: dict[str, Any]
    groups: Array | None = None

    def identity(self) -> dict[str, Any]:
        """`info`, and the sha256 of all sequences and classes."""
        return {**self.info, "sha256": _records.sha256(*self.train, *self.test)}


@dataclasses.dataclass(frozen=True)
class Protocol:
    """A network, and how it is trained.

    Args:
        network: one of `NETWORKS`. centroids, transition, temperature: of the SR networks, otherwise 0, "" and 0.
        units: size of the recurrent layer. embedding: size of an embedding; 0 for real inputs.
        head: reads the "last" hidden state; "last_and_cell", the cell state too, as for pixels in the paper; or the
            "mean" hidden state over time.
        vectors: root mean square of the initial embeddings, which are word vectors counted from the training texts
            (`datasets.words.vectors`, the held-out texts among them, without their classes); 0 for small random ones.
        segment: number of ids of a text read in training, from a place drawn again in each epoch; 0 for all.
        dropout: of the embedding's features and of what the head reads. word_dropout: fraction of ids read as unknown
            words in training.
        batch: rows. epochs: number. steps: batches in an epoch; 0 for one pass over the data.
        optimizer: one of `OPTIMIZERS`.
        learning_rate: the highest, after 100 steps of linear growth; then it falls along a cosine to the fraction
            `decay` of it. clip: largest global norm of a gradient.
        slide: whether the cell learns without its centroids for a third of the steps, and the strength of the
            regularization grows from 0 to 1 over the second third; the weights that are kept are of full strength. With
            `coarse`, which is without centroids, it grows over the first third.
        peepholes: their initializer.
        coarse: fraction of the minutes in which the LSTM, without centroids, learns from the means of four neighbouring
            pixels each, for `epochs` epochs of its own. It goes on with all pixels, its memory made four times as slow.
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
    slide: bool = False
    peepholes: str = "glorot_uniform"
    coarse: float = 0.0
    optimizer: str = "Adam"


def recurrent(protocol: Protocol, seed: int) -> keras.layers.Layer:
    """The recurrent layer, named "recurrent"."""
    network, head = protocol.network, protocol.head
    if network not in NETWORKS:
        raise ValueError(f"`network` must be one of {', '.join(NETWORKS)}. Received: {network!r}.")
    flags: dict[str, Any] = {"return_state": head == "last_and_cell", "return_sequences": head == "mean"}
    if network.endswith("LSTM-P"):
        flags["peephole_initializer"] = protocol.peepholes
    if network.startswith("SR"):
        flags |= {"num_centroids": protocol.centroids, "transition": protocol.transition, "seed": seed}
        flags |= {"temperature": protocol.temperature, "regularize_last_step": False}
    elif protocol.slide:
        raise ValueError(f"`slide` must be used with centroids. Received: {network!r}. Leave it out.")
    module = layers if network.startswith("SR") or network == "LSTM-P" else keras.layers
    return getattr(module, NETWORKS[network])(protocol.units, name="recurrent", **flags)


def build(protocol: Protocol, data: Sequences, steps: int, seed: int) -> keras.Model:
    """A compiled model, sequences to logits: one for two classes, otherwise one for each.

    Args:
        steps: of the whole training, over which the learning rate falls.
    """
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
    states = recurrent(protocol, seed + 2)(reads)
    if protocol.head == "last_and_cell":
        states = keras.layers.Concatenate()(list(states[1:]))
    elif protocol.head == "mean":
        states = keras.layers.GlobalAveragePooling1D()(states)
    if protocol.dropout:
        states = keras.layers.Dropout(protocol.dropout, seed=seed + 3)(states)
    is_binary = len(data.classes) == 2
    model = keras.Model(inputs, keras.layers.Dense(1 if is_binary else len(data.classes))(states))
    rate = training.schedule(protocol.learning_rate, steps, 100, protocol.decay)
    make = getattr(keras.optimizers, protocol.optimizer)
    optimizer = make(rate, global_clipnorm=protocol.clip, **OPTIMIZERS[protocol.optimizer])
    if is_binary:
        loss = keras.losses.BinaryCrossentropy(from_logits=True)
        accuracy = keras.metrics.BinaryAccuracy(name="accuracy", threshold=0.0)
    else:
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        accuracy = keras.metrics.SparseCategoricalAccuracy(name="accuracy")
    model.compile(optimizer, loss, metrics=[accuracy])
    return model


@functools.lru_cache(maxsize=1)
def _vectors(data: Sequences, features: int) -> Array:
    assert data.vocabulary is not None
    return datasets.words.vectors(data.train[0], len(data.vocabulary), num_features=features)


def split(data: Sequences, seed: int) -> tuple[Array, Array]:
    """Rows of the training data to train on, and a tenth to validate on: drawn one by one, or group by group."""
    rng = np.random.default_rng(seed)
    tenth = len(data.train[0]) // 10
    if data.groups is None:
        order = rng.permutation(len(data.train[0]))
        return np.sort(order[tenth:]), np.sort(order[:tenth])
    _, of_row, sizes = np.unique(data.groups, return_inverse=True, return_counts=True)
    if len(sizes) < 2:
        raise ValueError(
            "Training needs a group of rows besides the one that is held out. "
            f"Received: {len(of_row)} rows of one group. Read more of the data."
        )
    order = rng.permutation(len(sizes))
    is_held_out = np.isin(of_row, order[: np.searchsorted(sizes[order].cumsum(), tenth) + 1])
    return np.flatnonzero(~is_held_out), np.flatnonzero(is_held_out)


def trainable(protocol: Protocol, data: Sequences, seed: int) -> Trainable:
    """A network with its batches. Whatever its batch size, a trial of a search reads the same number of rows."""
    (x, y), (trained, held_out) = data.train, split(data, seed)

    def space(hp: Any) -> dict[str, Any]:
        settings = {
            "learning_rate": hp.Float("learning_rate", 3e-4, 3e-2, sampling="log"),
            "decay": hp.Choice("decay", [0.01, 0.1, 1.0]),
            "clip": hp.Float("clip", 0.1, 10.0, sampling="log"),
            "dropout": hp.Float("dropout", 0.0, 0.6) if protocol.dropout else 0.0,
            "batch": hp.Choice("batch", sorted({protocol.batch // 2, protocol.batch, 2 * protocol.batch})),
        }
        settings["steps"] = max(1, protocol.steps * protocol.batch // settings["batch"])
        if data.vocabulary is not None:
            settings["word_dropout"] = hp.Float("word_dropout", 0.0, 0.4)
        if protocol.network.startswith("SR"):
            settings["centroids"] = hp.Choice("centroids", [5, 10, 20, 50])
            # About the paper's 1; at 0.05 networks diverge, as StateRegularizedCell's gradient, 1 / (12 tau), shows.
            settings["temperature"] = hp.Float("temperature", 0.05, 4.0, sampling="log")
        return settings

    def batches(protocol: Protocol, start: int, count: int | None) -> Any:
        return training.Shuffled(x[trained], y[trained], protocol.batch, seed, start, count, protocol.segment)

    return Trainable(
        base=dataclasses.replace(protocol, steps=protocol.steps or math.ceil(len(trained) / protocol.batch)),
        build=lambda protocol: build(protocol, data, protocol.steps * protocol.epochs, seed),
        batches=batches,
        validation=lambda protocol: (x[held_out], y[held_out]),
        space=space,
        data=data.identity(),
        seed=seed,
        worst=2 * math.log(len(data.classes)),  # twice the loss of a guess
    )


def train(protocol: Protocol, data: Sequences, run: Run) -> tuple[Record, keras.Model]:
    """Trains a network, or resumes its training, in the folder of the run; the record, and the best model."""
    network, parts = trainable(protocol, data, run.seed), split(data, run.seed)
    settings, identity = dataclasses.asdict(protocol), network.data
    own = {"seed": run.seed, "minutes": run.minutes, "data": identity}
    environment = _records.start_run(run.folder, {**settings, **own})
    if data.vocabulary is not None:
        data.vocabulary.save(run.folder / "vocabulary.json")
    coarse = None
    if protocol.coarse:
        coarse, first = _coarse(protocol, data, run)
        build_new = network.build
        network = dataclasses.replace(network, build=lambda protocol: _taken_over(first, build_new(protocol)))
        if run.minutes is not None:
            run = dataclasses.replace(run, minutes=run.minutes * (1 - protocol.coarse))

    def more(protocol: Protocol) -> Sequence[keras.callbacks.Callback]:
        begins = 0 if protocol.coarse else 1
        return _sliding(protocol.steps * protocol.epochs, begins) if protocol.slide else ()

    protocol, done = training.train(network, run, SLID if protocol.slide else "val_accuracy", more)
    model = done.load_best()
    _, accuracy = model.evaluate(*data.test, batch_size=256, verbose=0)
    record: Record = {
        "environment": environment,
        "data": {**identity, "train": len(parts[0]), "validation": len(parts[1]), "test": len(data.test[0])},
        "model": {"network": protocol.network, "parameters": model.count_params()},
        "protocol": {**settings, "steps": protocol.steps, "seed": run.seed},
        "result": Result(
            test=1 - accuracy,
            validation=1 - max(entry["val_accuracy"] for entry in done.history if entry.get("strength", 1.0) == 1.0),
            seconds=training.training_seconds(done.history),
            read=protocol.steps * protocol.epochs * protocol.batch,
            unit="error",
            more={"seconds": done.history[-1]["seconds"]},
        ),
        **({} if coarse is None else {"coarse": coarse["result"].entries()}),
        "curve": [{name: value for name, value in entry.items() if name != SLID} for entry in done.history],
    }
    return record, model


def _coarse(protocol: Protocol, data: Sequences, run: Run) -> tuple[Record, keras.Model]:
    """Record and model of the first part of a training, by a quarter of the pixels; in a folder within the run's."""
    if "LSTM" not in protocol.network:
        raise ValueError(f"`coarse` must be used with an LSTM. Received: {protocol.network!r}. Leave it out.")
    plain = regularized(protocol.network.removeprefix("SR-"), 0, "", 0.0, slide=False, coarse=0.0)
    minutes, folder = None if run.minutes is None else run.minutes * protocol.coarse, run.folder / "coarse"
    print(f"\nBy a quarter of the pixels first, in {folder}.", flush=True)
    first = dataclasses.replace(protocol, **plain)
    return train(first, quartered(data), dataclasses.replace(run, folder=folder, minutes=minutes))


def _taken_over(first: keras.Model, model: keras.Model) -> keras.Model:
    """The model with the weights of one that read a fourth of the steps, its memory c made four times as slow.

    Near c' = f c + i g with 1 - f and i small, both are divided by four where the bias of f grows by log 4 and that of
    i falls by as much.
    """
    for before, layer in zip(first.layers, model.layers, strict=True):
        learned = {weight.name: keras.ops.convert_to_numpy(weight).copy() for weight in before.weights}
        if layer.name == "recurrent":
            units = len(learned["bias"]) // 4  # of each gate: i, f, c, o
            learned["bias"][:units] -= math.log(4)
            learned["bias"][units : 2 * units] += math.log(4)
        for weight in layer.weights:
            if weight.name in learned:  # not the centroids'
                weight.assign(learned[weight.name])
    return model


def _sliding(steps: int, begins: int) -> list[keras.callbacks.Callback]:
    """Sets the strength over so many steps, growing after `begins` thirds of them, and logs `SLID` once it is 1."""

    def strength(step: int) -> float:
        return min(max(3 * step / steps - begins, 0.0), 1.0)

    def rank(_: int, logs: dict[str, float]) -> None:
        logs[SLID] = logs["val_accuracy"] if logs["strength"] == 1 else math.nan

    schedule = callbacks.TemperatureSchedule(strength=strength, update_freq="batch")
    return [schedule, keras.callbacks.LambdaCallback(on_epoch_end=rank)]


class ClassTable(Experiment):
    """A table of networks that classify sequences; a row's settings are those of `Protocol` and of its data."""

    measure = "error"
    options = frozenset({"data", "budget"})
    small = {"units": 4, "embedding": 4, "segment": 0, "batch": 8, "epochs": 2, "steps": 3}

    def identity(self, run: Run) -> dict[str, Any]:
        identity = self.load(run).identity()
        return {name: identity[name] for name in ("name", "sha256")}

    def protocol(self, run: Run) -> Protocol:
        settings = self.settings(run)
        protocol = Protocol(**{name: settings[name] for name in settings if name not in self.of_data})
        return dataclasses.replace(protocol, centroids=min(protocol.centroids, 3)) if run.smoke else protocol

    def run(self, run: Run) -> Record:
        data = self.load(run)
        record, model = train(self.protocol(run), data, run)
        return {**record, **self.interpreted(model, data, run)}

    def interpreted(self, model: keras.Model, data: Sequences, run: Run) -> Record:
        """Further parts of the record: what the trained network shows."""
        return {}

    def tunable(self, run: Run, steps: int, epochs: int) -> Trainable:
        protocol = dataclasses.replace(self.protocol(run), steps=steps, epochs=epochs)
        return trainable(protocol, self.load(run), run.seed)


class DigitTable(ClassTable):
    """A table of networks that classify digits pixel by pixel; a row has the setting `side` too."""

    data = "MNIST: a folder with the four idx files; else it is downloaded"
    of_data = ("side",)

    def read(self, data: Path | None, smoke: bool, settings: Mapping[str, Any]) -> Sequences:
        return digits(data, smoke, **settings)


def encoded(
    train: tuple[list[str], Array],
    test: tuple[list[str], Array],
    classes: tuple[str, ...],
    vocabulary_size: int,
    max_length: int,
    info: dict[str, Any],
    keep_first: bool = False,
    groups: Array | None = None,
) -> Sequences:
    """Texts as ids of the training texts' most frequent words.

    Args:
        train, test: texts and their classes. info, groups: as in `Sequences`.
        keep_first: whether of long texts the first words are kept, where a post says what it is about, or the last.
    """
    tokens = [[datasets.words.tokenize(text) for text in texts] for texts, _ in (train, test)]
    vocabulary = datasets.Alphabet.from_texts(tokens[0], max_size=vocabulary_size)
    if keep_first:
        tokens = [[text[: max_length - 2] for text in texts] for texts in tokens]
    x = [vocabulary.encode_batch(texts, max_length, truncate=True) for texts in tokens]
    return Sequences((x[0], train[1]), (x[1], test[1]), classes, vocabulary, info, groups)


def generated(classes: tuple[str, ...]) -> Sequences:
    """Sequences of 12 ids, each with its class's own word in it."""
    rng = np.random.default_rng(0)
    y = np.arange(60, dtype=np.int32) % len(classes)
    x = rng.integers(4 + len(classes), 12 + len(classes), (60, 12)).astype(np.int32)
    x[:, 5] = 4 + y
    vocabulary = datasets.Alphabet.from_texts([[f"word{i}" for i in range(8 + len(classes))]])
    return Sequences((x[:40], y[:40]), (x[40:], y[40:]), classes, vocabulary, {"name": "smoke"})


def digits(data: Path | None, smoke: bool = False, side: int = 28) -> Sequences:
    """Digits as side² steps of one number in [0, 1]; with a side of 14 the means of four pixels each."""
    names = tuple(map(str, range(10)))
    if smoke:
        rng = np.random.default_rng(0)
        x, y = rng.random((60, 16, 1)).astype("float32"), np.arange(60, dtype=np.int32) % 10
        return Sequences((x[:40], y[:40]), (x[40:], y[40:]), names, None, {"name": "smoke"})
    parts = []
    for part in ("train", "test"):
        images, labels = corpora.mnist.load(part, source=data)
        parts.append((_pixels(images / 255, side), labels))
    return Sequences(parts[0], parts[1], names, None, {"name": "mnist", "pixels": side * side})


def quartered(data: Sequences) -> Sequences:
    """The same digits by the means of four neighbouring pixels each."""

    def part(x: Array, y: Array) -> tuple[Array, Array]:
        side = math.isqrt(x.shape[1])
        return _pixels(x.reshape(-1, side, side), side // 2), y

    train, test = part(*data.train), part(*data.test)
    return dataclasses.replace(data, train=train, test=test, info={**data.info, "pixels": train[0].shape[1]})


def _pixels(images: Array, side: int) -> Array:
    """Images (n, m, m) as sequences (n, side², 1) of the means of squares of pixels."""
    n, of_one, _ = images.shape
    squares = images.reshape(n, side, of_one // side, side, of_one // side)
    return squares.mean(axis=(2, 4)).reshape(n, -1, 1).astype("float32")
