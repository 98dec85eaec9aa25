"""Which character comes next: one protocol for every recurrent network (Foerster et al., 2017, section 3.1).

The text is read in windows, the state is carried from each to the next, validation reads its own text after every
epoch, and the weights that did best there are judged on the test text. A killed run goes on where it was.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import keras
from numpy.typing import NDArray

from keras_interp_rnn import analysis, constraints, layers, losses
from keras_interp_rnn.datasets import Windows
from keras_interp_rnn.reproduce import records, training
from keras_interp_rnn.reproduce.networks import COUNTED

RATES = {"RNN": 0.5, "IRNN": 0.1, "GRU": 1.5, "LSTM": 1.5, "ISAN": 0.35} | {
    "ISAN without biases": 0.35,
    "linear": 0.5,
    "linear, nonlinear readout": 0.5,
}
"""Adam's highest learning rate times the number of units. Adam moves every entry of a matrix by about its rate, and so
the norm of an n x n matrix by up to n times as much."""


@dataclasses.dataclass(frozen=True, eq=False)
class Text:
    """A text, as symbols.

    Attributes:
        parts: symbols of train, validation and test, below `outputs`.
        outputs: symbols that are predicted. read: (outputs,), as what id each is read, None for as it is.
        info: what the record says of the text. of_symbol: characters in a symbol.
    """

    parts: Mapping[str, NDArray[Any]]
    outputs: int
    read: NDArray[Any] | None
    info: Mapping[str, Any]
    of_symbol: int = 1

    @property
    def inputs(self) -> int:
        """Symbols that are told apart when read, K."""
        return self.outputs if self.read is None else int(self.read.max()) + 1


@dataclasses.dataclass(frozen=True)
class Protocol:
    """How a network is trained.

    Args:
        batch: lanes of the text. length: characters in a window. steps: batches in an epoch. epochs: of training.
        learning_rate: Adam's highest, times the number of units. warm_up: steps of linear growth to it; then a cosine
            to the share `decay` of it. clip: largest global norm of a gradient, in bits.
        validation: windows of the validation text read after an epoch, in each of its lanes; None for all.
        optimizer: "adam", or "adagrad" as the paper's for the Billion Word text, whose learning rate is this one too.
        scale: gain of the orthogonal recurrent kernels at the start; IRNN: of the identity.
    """

    batch: int = 256
    length: int = 100
    steps: int = 1000
    epochs: int = 20
    learning_rate: float = RATES["ISAN"]
    warm_up: int = 200
    clip: float = 0.144
    validation: int | None = None
    optimizer: str = "adam"
    decay: float = 0.01
    scale: float | None = None


def parameters(network: str, units: int, inputs: int = 27, outputs: int = 27) -> int:
    """Weights of a network of n units that reads K symbols, with its readout to L outputs, L (n + 1).

    ISAN: K n (n + 1) + n. The others, of g gates (1, 1, 3, 4): g (n² + K n + n), and 3 n more for the GRU. A nonlinear
    readout: 4 n (n + 1) + L (4 n + 1).
    """
    readout = outputs * (units + 1)
    if network.startswith("ISAN"):
        return inputs * units * (units + 1) + units + readout
    if network == "linear, nonlinear readout":
        readout = 4 * units * (units + 1) + outputs * (4 * units + 1)
    gates, biases = {"GRU": (3, 2), "LSTM": (4, 1)}.get(network, (1, 1))
    return gates * units * (units + inputs + biases) + readout


def units_within(network: str, most: float, inputs: int = 27, outputs: int = 27) -> int:
    """The largest number of units whose weights stay within `most`."""
    return max(n for n in range(1, 4000) if parameters(network, n, inputs, outputs) <= most)


def build(network: str, units: int, text: Text, protocol: Protocol) -> keras.Model:
    """A compiled model, symbols (batch, length) to logits (batch, length, outputs).

    All but the ISAN read symbols one-hot. The ISAN has no constraint, as the paper's. IRNN: rectified, its recurrent
    kernel the identity at the start (Le, Jaitly and Hinton, 2015).
    """
    flags: dict[str, Any] = {"return_sequences": True, "stateful": True}
    scale = protocol.scale or (0.9 if network.startswith(("ISAN", "linear")) else 1.0)
    flags["recurrent_initializer"] = (
        keras.initializers.Identity(scale) if network == "IRNN" else keras.initializers.Orthogonal(scale)
    )
    if network == "ISAN":
        recurrent = [layers.ISAN(units, text.inputs, recurrent_constraint=None, **flags)]
    elif network == "ISAN without biases":
        zero: dict[str, Any] = {"bias_initializer": "zeros", "bias_constraint": constraints.Zero()}
        recurrent = [layers.ISAN(units, text.inputs, recurrent_constraint=None, **zero, **flags)]
    else:
        kind = {"RNN": keras.layers.SimpleRNN, "GRU": keras.layers.GRU, "LSTM": keras.layers.LSTM}
        one_hot = keras.layers.Embedding(text.inputs, text.inputs, embeddings_initializer="identity", trainable=False)
        if network == "IRNN":
            recurrent = [one_hot, keras.layers.SimpleRNN(units, "relu", **flags)]
        elif network.startswith("linear"):
            recurrent = [one_hot, keras.layers.SimpleRNN(units, "linear", **flags)]
            if network != "linear":
                recurrent.append(keras.layers.Dense(4 * units, "relu"))
        else:
            recurrent = [one_hot, kind[network](units, **flags)]
    inputs = keras.Input((protocol.length,), batch_size=protocol.batch, dtype="int32")
    model = keras.Sequential([inputs, *recurrent, keras.layers.Dense(text.outputs)])
    rate = training.schedule(
        protocol.learning_rate / units, protocol.epochs * protocol.steps, protocol.warm_up, protocol.decay
    )
    if protocol.optimizer == "adagrad":
        # Squares of these gradients are far below Keras's initial sum of them, 0.1, which would make it plain SGD.
        optimizer = keras.optimizers.Adagrad(
            rate, initial_accumulator_value=1e-7, epsilon=1e-12, global_clipnorm=protocol.clip
        )
    else:
        optimizer = keras.optimizers.Adam(rate, global_clipnorm=protocol.clip)
    model.compile(optimizer, losses.BitsPerSymbol())
    return model


def run(
    name: str,
    network: str,
    size: str,
    text: Text,
    protocol: Protocol,
    folder: Path,
    minutes: float | None = None,
    seed: int = 0,
    verbose: int = 1,
) -> tuple[dict[str, Any], Path]:
    """Trains one network, or goes on with it.

    Args:
        name: what is said of it on the screen. network: one of `networks.CHARACTERS` or `networks.ABLATIONS`.
        size: largest number of weights.
        text, protocol: what it reads and how. folder: of this run: checkpoints, TensorBoard's logs, the plan.
        minutes: of training, without validation: the steps of an epoch are counted out before the first, after a
            dozen have been timed, and written into the folder. None for `protocol.steps`.
        seed: of the first weights. verbose: as in `fit`.

    Returns:
        The record, and where the best model lies.
    """
    units = units_within(network, float(size), text.inputs, text.outputs)
    weights = parameters(network, units, text.inputs, text.outputs)

    def windows(part: str, **which: Any) -> Windows:
        return Windows(text.parts[part], protocol.batch, length=protocol.length, input_table=text.read, **which)

    own = {"network": network, "units": units, "seed": seed, "minutes": minutes, "data": text.info}
    environment = records.begin(folder, {**dataclasses.asdict(protocol), **own})
    if text.read is not None:
        records.write_json(folder / "symbols.json", {"read": text.read.tolist()})
    if minutes is not None:
        steps = training.steps_within(
            folder,
            minutes,
            protocol.epochs,
            training.trial_steps(lambda: (build(network, units, text, protocol), windows("train"))),
        )
        protocol = dataclasses.replace(protocol, steps=steps)
    keras.utils.set_random_seed(seed)
    print(f"\n{name}: {units} units, {weights:,} weights.")
    done = training.fit(
        folder,
        lambda: build(network, units, text, protocol),
        lambda start, count: windows("train", start=start, num_windows=count),
        windows("validation", num_windows=protocol.validation),
        protocol.steps,
        protocol.epochs,
        verbose,
    )
    best = keras.models.load_model(done.best)
    bits = best.evaluate(windows("test"), verbose=0) / text.of_symbol
    record = {
        "environment": environment,
        "data": dict(text.info),
        "model": {"layer": network, "units": units, "parameters": weights, "size": size},
        "protocol": {**dataclasses.asdict(protocol), "seed": seed, "minutes": minutes},
        "result": {
            "test_bits": bits,
            "validation_bits": min(entry["val_loss"] for entry in done.history) / text.of_symbol,
            "seconds": done.history[-1]["seconds"],
            "training_seconds": training.training_seconds(done.history),
            "characters": protocol.epochs * protocol.steps * protocol.batch * protocol.length * text.of_symbol,
        },
        "curve": done.history,
    }
    return record, done.best


def count(model: str, text: Text) -> dict[str, Any]:
    """The record of one of `COUNTED`, counted on the training text.

    The window of naive Bayes, 1 to 6 characters, is chosen on the validation text.
    """
    started = time.monotonic()
    train, validation, test = (text.parts[part] for part in ("train", "validation", "test"))
    if model == "naive Bayes":
        made: list[Any] = [analysis.NaiveBayes(train, window, vocabulary_size=text.outputs) for window in range(1, 7)]
    else:
        made = [analysis.BackoffModel(train, 1 + COUNTED.index(model), vocabulary_size=text.outputs)]
    validation_bits, best = min(((found.bits(validation), i) for i, found in enumerate(made)))
    seconds = time.monotonic() - started
    return {
        "data": dict(text.info),
        "model": {"layer": model, "parameters": 0, "size": ""},
        "protocol": {"seed": 0},
        "result": {
            "test_bits": made[best].bits(test) / text.of_symbol,
            "validation_bits": validation_bits / text.of_symbol,
            "seconds": seconds,
            "training_seconds": seconds,
            "characters": len(train) * text.of_symbol,
        },
        "curve": [],
    }
