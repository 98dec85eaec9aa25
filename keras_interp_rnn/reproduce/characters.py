"""Which character comes next: one protocol for every recurrent network (Foerster et al., 2017, section 3.1).

The text is read in windows, the state is carried from each to the next, validation reads its own text after every
epoch, and the weights that did best there are judged on the test text. A killed run goes on where it was.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import keras
from numpy.typing import NDArray

from keras_interp_rnn import layers, losses
from keras_interp_rnn.datasets import Windows, text
from keras_interp_rnn.reproduce import training

NETWORKS = ("RNN", "IRNN", "GRU", "LSTM", "ISAN")
SYMBOLS = len(text.ALPHABET)

RATES = {"RNN": 0.5, "IRNN": 0.1, "GRU": 1.5, "LSTM": 1.5, "ISAN": 0.35}
"""Adam's highest learning rate times the number of units. Adam moves every entry of a matrix by about its rate, and so
the norm of an n x n matrix by up to n times as much."""


@dataclasses.dataclass(frozen=True)
class Protocol:
    """How a network is trained.

    Args:
        batch: lanes of the text. length: characters in a window. steps: batches in an epoch. epochs: of training.
        learning_rate: Adam's highest, times the number of units. warm_up: steps of linear growth to it; then a cosine
            to 1 %. clip: largest global norm of a gradient, in bits. validation: windows of the validation text read
            after an epoch, in each of its lanes; None for all.
    """

    batch: int = 256
    length: int = 100
    steps: int = 1000
    epochs: int = 20
    learning_rate: float = RATES["ISAN"]
    warm_up: int = 200
    clip: float = 0.144
    validation: int | None = None


def parameters(network: str, units: int) -> int:
    """Weights of a network of so many units with its readout, K (n + 1); K = 27 symbols.

    ISAN: K n (n + 1) + n. The others, of g gates (1, 1, 3, 4): g (n² + K n + n), and 3 n more for the GRU.
    """
    readout = SYMBOLS * (units + 1)
    if network == "ISAN":
        return SYMBOLS * units * (units + 1) + units + readout
    gates, biases = {"RNN": (1, 1), "IRNN": (1, 1), "GRU": (3, 2), "LSTM": (4, 1)}[network]
    return gates * units * (units + SYMBOLS + biases) + readout


def units_within(network: str, most: float) -> int:
    """The largest number of units whose weights stay within `most`."""
    return max(n for n in range(1, 4000) if parameters(network, n) <= most)


def build(network: str, units: int, protocol: Protocol) -> keras.Model:
    """A compiled model, ids (batch, length) to logits (batch, length, K).

    All but the ISAN read symbols one-hot. IRNN: rectified, its recurrent kernel the identity at the start (Le, Jaitly
    and Hinton, 2015).
    """
    flags = {"return_sequences": True, "stateful": True}
    one_hot = keras.layers.Embedding(SYMBOLS, SYMBOLS, embeddings_initializer="identity", trainable=False)
    recurrent = {
        "ISAN": lambda: [layers.ISAN(units, SYMBOLS, **flags)],
        "RNN": lambda: [one_hot, keras.layers.SimpleRNN(units, **flags)],
        "IRNN": lambda: [
            one_hot,
            keras.layers.SimpleRNN(units, "relu", recurrent_initializer=keras.initializers.Identity(), **flags),
        ],
        "GRU": lambda: [one_hot, keras.layers.GRU(units, **flags)],
        "LSTM": lambda: [one_hot, keras.layers.LSTM(units, **flags)],
    }[network]()
    inputs = keras.Input((protocol.length,), batch_size=protocol.batch, dtype="int32")
    model = keras.Sequential([inputs, *recurrent, keras.layers.Dense(SYMBOLS)])
    rate = training.schedule(protocol.learning_rate / units, protocol.epochs * protocol.steps, protocol.warm_up)
    model.compile(keras.optimizers.Adam(rate, global_clipnorm=protocol.clip), losses.BitsPerSymbol())
    return model


def run(
    name: str,
    network: str,
    size: str,
    parts: Mapping[str, NDArray[Any]],
    data: Mapping[str, Any],
    protocol: Protocol,
    folder: Path,
    minutes: float | None = None,
    seed: int = 0,
    verbose: int = 1,
) -> tuple[dict[str, Any], Path]:
    """Trains one network, or goes on with it.

    Args:
        name: what is said of it on the screen. network: one of `NETWORKS`. size: largest number of weights.
        parts: symbols of train, validation and test. data: what the record says of them.
        protocol: how. folder: of this run: checkpoints, TensorBoard's logs, the plan.
        minutes: of training, without validation: the steps of an epoch are counted out before the first, after a
            dozen have been timed, and written into the folder. None for `protocol.steps`.
        seed: of the first weights. verbose: as in `fit`.

    Returns:
        The record, and where the best model lies.
    """
    units = units_within(network, float(size))

    def windows(part: str, **which: Any) -> Windows:
        return Windows(parts[part], protocol.batch, protocol.length, **which)

    if minutes is not None:
        model, some = build(network, units, protocol), windows("train")
        steps = training.steps_within(
            folder,
            minutes,
            protocol.epochs,
            {"network": network, "units": units, "batch": protocol.batch, "length": protocol.length},
            lambda i: model.train_on_batch(*some[i % len(some)]),
        )
        protocol = dataclasses.replace(protocol, steps=steps)
    keras.utils.set_random_seed(seed)
    print(f"\n{name}: {units} units, {parameters(network, units):,} weights.")
    done = training.fit(
        folder,
        lambda: build(network, units, protocol),
        lambda start, count: windows("train", start=start, count=count),
        windows("validation", count=protocol.validation),
        protocol.steps,
        protocol.epochs,
        verbose,
    )
    best = keras.models.load_model(done.best)
    bits = best.evaluate(windows("test"), verbose=0)
    record = {
        "data": dict(data),
        "model": {"layer": network, "units": units, "parameters": parameters(network, units), "size": size},
        "protocol": {**dataclasses.asdict(protocol), "seed": seed, "minutes": minutes},
        "result": {
            "test_bits": bits,
            "validation_bits": min(entry["val_loss"] for entry in done.history),
            "seconds": done.history[-1]["seconds"],
            "training_seconds": training.training_seconds(done.history),
            "characters": protocol.epochs * protocol.steps * protocol.batch * protocol.length,
        },
        "curve": done.history,
    }
    return record, done.best
