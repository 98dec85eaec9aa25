"""Which character comes next: one protocol for every recurrent network (Foerster et al., 2017, section 3.1).

The text is read in windows, the state is carried from each window to the next, the validation text is read after every
epoch, and the weights with the lowest validation loss are evaluated on the test text. A killed run resumes.
"""

from __future__ import annotations

import bisect
import dataclasses
import hashlib
import math
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from examples.papers import _records
from examples.papers._experiment import Experiment, Record, Result, Run, Trainable
from examples.papers._lazy import Array, analysis, constraints, datasets, keras, layers, losses, ngrams, np, training

NETWORKS = ("RNN", "IRNN", "GRU", "LSTM", "ISAN")
"""The networks of the paper's table 1; `text8` has rows for each."""

TWO_BLOCKS, CONVOLVED = ", two blocks", ", two convolved blocks"
"""How the names of networks of two residual blocks end: plain ones, and ones that see four symbols at a time."""

RECENT = {
    "MinGRU": 2.4,
    "LRU": 1.2,
    "GLA": 2.4,
    "DeltaNet": 2.4,
    f"MinGRU{TWO_BLOCKS}": 2.4,
    f"LRU{TWO_BLOCKS}": 1.2,
    f"GLA{TWO_BLOCKS}": 0.6,
    f"DeltaNet{TWO_BLOCKS}": 0.6,
    f"MinGRU{CONVOLVED}": 2.4,
}
"""Linear recurrences, which the paper does not have, with their rates: an Embedding and one layer, or two blocks
(`linear_recurrence`). DeltaNet is the gated one: without a gate the state that windows hand on is never forgotten."""

ABLATIONS = ("ISAN without biases", "linear", "linear, nonlinear readout")
"""An ISAN whose biases stay zero; a linear network without switching, under a linear readout or under one with a
rectified layer of four times the number of units."""

COUNTED = ("unigrams", "bigrams", "naive Bayes")
"""Models that are counted, not trained."""

RATES = (
    {"RNN": 0.5, "IRNN": 0.1, "GRU": 1.5, "LSTM": 1.5, "ISAN": 0.35}
    | {"ISAN without biases": 0.35, "linear": 0.5, "linear, nonlinear readout": 0.5}
    | RECENT
)
"""Adam's highest learning rate times the number of units. Adam changes every entry of a matrix by about its rate, and
so the norm of an n x n matrix by up to n times as much."""

BASELINE = {"batch": 64, "clip": 1.0, "validation": 64, "warm_up": 100}
"""For networks that are so much slower than the ISAN that they see little text: smaller batches, more steps."""

SEARCHED: dict[str, dict[str, Any]] = {
    "RNN": {"learning_rate": 1.55, "clip": 0.01, "scale": 0.25, "batch": 32},
    "IRNN": {"learning_rate": 1.6, "clip": 1.7, "scale": 0.53},
    "GRU": {"learning_rate": 5.5, "clip": 0.08, "scale": 1.1, "batch": 64},
    "LSTM": {"learning_rate": 10.0, "clip": 0.03, "scale": 0.5, "batch": 32},
}
"""The best settings of the searches in the report, to a hundredth, except the decay: these networks train longer. The
state of an IRNN that starts from the identity itself grows without bound when it is carried from window to window."""

SPREAD = 0.002
"""Standard deviation of bits on text8 between seeds: at most 0.0016 in three ISANs each of two sizes."""

TEXT8 = "6e890197040d37d85beb962ae1f041ff1d9a9ca8d20c7d99c85027eebf51dca7"
"""The sha256 of text8."""

READ = 128_000_000
"""Characters that networks read in rows of equal text."""

EQUAL_TEXT = f", {READ // 1_000_000} M characters"
"""How the names of these rows end."""

LONG: dict[str, dict[str, Any]] = {
    "RNN": {"batch": 32},
    "IRNN": {"learning_rate": 0.4, "scale": 0.53},
    "LSTM": {"batch": 32},
}
"""Settings in these rows, added to `BASELINE`. The searches had short trials; with their larger rates networks
stop improving early."""


@dataclasses.dataclass(frozen=True, eq=False)
class Text:
    """A text, as symbols.

    Attributes:
        parts: symbols of train, validation and test. symbols: their number, K.
        info: of the text, for the record. characters_per_symbol: characters in a symbol.
    """

    parts: Mapping[str, Array]
    symbols: int
    info: Mapping[str, Any]
    characters_per_symbol: int = 1

    def windows(self, part: str, protocol: Protocol, **which: Any) -> datasets.Windows:
        return datasets.Windows(self.parts[part], protocol.batch, length=protocol.length, **which)


@dataclasses.dataclass(frozen=True)
class Protocol:
    """A network, and how it is trained.

    Args:
        network: of `RATES`. size: largest number of weights.
        batch: sequences read side by side. length: characters in a window. steps: batches in an epoch. epochs: number.
        learning_rate: Adam's highest, times the number of units; 0 for that of `RATES`. warm_up: steps over which it
            grows linearly; then it falls along a cosine to the fraction `decay` of it. clip: largest global norm of a
            gradient, in bits.
        validation: windows of the validation text read after an epoch; None reads all.
        scale: gain of the initial orthogonal recurrent kernels; for an IRNN of the identity.
    """

    network: str
    size: str
    batch: int = 256
    length: int = 100
    steps: int = 1000
    epochs: int = 10
    learning_rate: float = 0.0
    warm_up: int = 200
    clip: float = 0.144
    validation: int | None = None
    decay: float = 0.01
    scale: float | None = None

    def __post_init__(self) -> None:
        if self.network not in RATES:
            raise ValueError(
                f"A network on characters must be one of {', '.join(RATES)}. Received: {self.network!r}. Correct the "
                "row, or add the network to RATES, `parameters` and `build`."
            )
        if not self.learning_rate:
            object.__setattr__(self, "learning_rate", RATES[self.network])

    def units(self, text: Text) -> int:
        """The largest state size for which the network has at most `size` weights."""
        return largest_units(self.network, float(self.size), text.symbols)


def settings(network: str, size: str, own: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of a row: `own`, and what networks with switches, or without, have in common."""
    common = {"validation": 16} if network == "ISAN" else BASELINE
    if network in RECENT:
        common = {**common, "batch": 128, "validation": 32}
    return {"network": network, "size": size, **common, **own}


def equal_text(settings: Mapping[str, Any], characters_per_symbol: int = 1) -> dict[str, Any]:
    """Settings of a row whose network reads `READ` characters, in epochs of a thousand steps."""
    step = settings.get("batch", Protocol.batch) * settings.get("length", Protocol.length) * characters_per_symbol
    return {**settings, "steps": 1000, "epochs": READ // (1000 * step)}


def parameters(network: str, units: int, symbols: int = 27) -> int:
    """Weights of a network of n units that reads and predicts K symbols, with its readout, K (n + 1).

    ISAN: K n (n + 1) + n. The others, of g gates (1, 1, 3, 4): g (n² + K n + n), and 3 n more for the GRU. A nonlinear
    readout: 4 n (n + 1) + K (4 n + 1). Of `RECENT` they are counted on the network, built.
    """
    if network in RECENT:
        ids = keras.Input((None,), dtype="int32")
        states = linear_recurrence(network, ids, units, symbols, {"return_sequences": True})
        return int(keras.Model(ids, keras.layers.Dense(symbols)(states)).count_params())
    readout = symbols * (units + 1)
    if network.startswith("ISAN"):
        return symbols * units * (units + 1) + units + readout
    if network == "linear, nonlinear readout":
        readout = 4 * units * (units + 1) + symbols * (4 * units + 1)
    gates, biases = {"GRU": (3, 2), "LSTM": (4, 1)}.get(network, (1, 1))
    return gates * units * (units + symbols + biases) + readout


def largest_units(network: str, max_parameters: float, symbols: int = 27) -> int:
    """The largest number of units, of `RECENT` a multiple of 8, for which the network has at most so many weights."""
    possible = range(8, 1200, 8) if network in RECENT else range(1, 4000)
    above = bisect.bisect_right(possible, max_parameters, key=lambda n: parameters(network, n, symbols))
    return possible[above - 1]


def linear_recurrence(network: str, ids: Any, units: int, symbols: int, flags: Mapping[str, Any]) -> Any:
    """States of a network of `RECENT`: those of one layer over an Embedding, or of two blocks around such layers.

    A block adds y W * sigmoid(y V) to its input x, where y is what the layer makes of the normalized x; a convolved one
    gives the layer a causal depthwise convolution over four steps of it, which starts afresh in each window.
    """
    name, _, blocks = network.partition(",")
    made = layers.GatedLinearAttention if name == "GLA" else getattr(layers, name)
    own = {**flags, "gated": True} if name == "DeltaNet" else flags
    x = keras.layers.Embedding(symbols, units)(ids)
    if not blocks:
        return made(units, **own)(x)
    for _ in range(2):
        y = keras.layers.LayerNormalization()(x)
        if network.endswith(CONVOLVED):
            y = keras.layers.DepthwiseConv1D(4)(keras.layers.ZeroPadding1D((3, 0))(y))
        y = made(units, **own)(y)
        gated = keras.layers.Multiply()([keras.layers.Dense(units)(y), keras.layers.Dense(units, "sigmoid")(y)])
        x = keras.layers.Add()([x, gated])
    return keras.layers.LayerNormalization()(x)


def build(text: Text, protocol: Protocol) -> keras.Model:
    """A compiled model, symbols (batch, length) to logits (batch, length, K).

    The paper's networks except the ISAN read symbols one-hot. The ISAN has no constraint, as in the paper. IRNN:
    rectified, its recurrent kernel initialized with the identity (Le, Jaitly and Hinton, 2015).
    """
    network, units = protocol.network, protocol.units(text)
    scale = protocol.scale or (0.9 if network.startswith(("ISAN", "linear")) else 1.0)
    inputs = keras.Input((protocol.length,), batch_size=protocol.batch, dtype="int32")
    flags: dict[str, Any] = {"return_sequences": True, "stateful": True}
    if network in RECENT:
        states = linear_recurrence(network, inputs, units, text.symbols, flags)
        return compiled(keras.Model(inputs, keras.layers.Dense(text.symbols)(states)), protocol, units)
    start = keras.initializers.Identity if network == "IRNN" else keras.initializers.Orthogonal
    flags["recurrent_initializer"] = start(scale)
    if network.startswith("ISAN"):
        if network == "ISAN without biases":
            flags |= {"bias_initializer": "zeros", "bias_constraint": constraints.Zero()}
        recurrent = [layers.ISAN(units, text.symbols, recurrent_constraint=None, **flags)]
    else:
        one_hot = keras.layers.Embedding(text.symbols, text.symbols, embeddings_initializer="identity", trainable=False)
        gated = {"GRU": keras.layers.GRU, "LSTM": keras.layers.LSTM}
        if network not in gated:
            flags["activation"] = {"RNN": "tanh", "IRNN": "relu"}.get(network, "linear")
        recurrent = [one_hot, gated.get(network, keras.layers.SimpleRNN)(units, **flags)]
        if network == "linear, nonlinear readout":
            recurrent.append(keras.layers.Dense(4 * units, "relu"))
    return compiled(keras.Sequential([inputs, *recurrent, keras.layers.Dense(text.symbols)]), protocol, units)


def compiled(model: keras.Model, protocol: Protocol, units: int) -> keras.Model:
    steps = protocol.epochs * protocol.steps
    rate = training.schedule(protocol.learning_rate / units, steps, protocol.warm_up, protocol.decay)
    model.compile(keras.optimizers.Adam(rate, global_clipnorm=protocol.clip), losses.BitsPerSymbol())
    return model


def trainable(text: Text, protocol: Protocol, seed: int) -> Trainable:
    """A network with its batches. Whatever its batch size, a trial of a search reads the same number of characters."""

    def space(hp: Any) -> dict[str, Any]:
        batch = hp.Choice("batch", sorted({protocol.batch // 2, protocol.batch, 2 * protocol.batch}))

        def rescaled(windows: int) -> int:
            return max(1, windows * protocol.batch // batch)

        return {
            "batch": batch,
            "steps": rescaled(protocol.steps),
            "validation": None if protocol.validation is None else rescaled(protocol.validation),
            "learning_rate": hp.Float("learning_rate", 0.1, 30.0, sampling="log"),
            "decay": hp.Choice("decay", [0.01, 0.1, 1.0]),
            "clip": hp.Float("clip", 0.01, 3.0, sampling="log"),
            "scale": hp.Float("scale", 0.25, 1.5),
        }

    def built(protocol: Protocol) -> keras.Model:
        keras.utils.set_random_seed(seed)
        return build(text, protocol)

    return Trainable(
        base=protocol,
        build=built,
        batches=lambda protocol, start, count: text.windows("train", protocol, start=start, num_windows=count),
        validation=lambda protocol: text.windows("validation", protocol, num_windows=protocol.validation),
        space=space,
        data=dict(text.info),
        seed=seed,
        worst=2 * math.log2(text.symbols),  # twice the loss of a guess
    )


def train(text: Text, protocol: Protocol, run: Run) -> Record:
    """Trains a network, or resumes its training, in the folder of the run; the record."""
    units = protocol.units(text)
    weights = parameters(protocol.network, units, text.symbols)
    own = {"units": units, "seed": run.seed, "minutes": run.minutes, "data": text.info}
    environment = _records.start_run(run.folder, {**dataclasses.asdict(protocol), **own})
    print(f"\n{units} units, {weights:,} weights.")
    protocol, done = training.train(trainable(text, protocol, run.seed), run)
    test = done.load_best().evaluate(text.windows("test", protocol), verbose=0)
    read = protocol.epochs * protocol.steps * protocol.batch * protocol.length
    of_model = ("network", "size")
    settings = {k: v for k, v in dataclasses.asdict(protocol).items() if k not in of_model}
    return {
        "environment": environment,
        "data": dict(text.info),
        "model": {"layer": protocol.network, "units": units, "parameters": weights, "size": protocol.size},
        "protocol": {**settings, "seed": run.seed},
        "result": Result(
            test=test / text.characters_per_symbol,
            validation=min(entry["val_loss"] for entry in done.history) / text.characters_per_symbol,
            seconds=training.training_seconds(done.history),
            read=read * text.characters_per_symbol,
            unit="bits",
            more={"seconds": done.history[-1]["seconds"]},
        ),
        "curve": done.history,
    }


def count(model: str, text: Text) -> Record:
    """The record of one of `COUNTED`, counted on the training text.

    The window of naive Bayes, 1 to 6 characters, is chosen on the validation text.
    """
    started = time.monotonic()
    train, validation, test = (text.parts[part] for part in ("train", "validation", "test"))
    models: list[Any] = (
        [ngrams.NaiveBayes(train, window, vocabulary_size=text.symbols) for window in range(1, 7)]
        if model == "naive Bayes"
        else [analysis.BackoffModel(train, 1 + COUNTED.index(model), vocabulary_size=text.symbols)]
    )
    validation_bits, best = min((counted.bits(validation), i) for i, counted in enumerate(models))
    seconds = time.monotonic() - started
    return {
        "data": dict(text.info),
        "model": {"layer": model, "parameters": 0, "size": ""},
        "protocol": {"seed": 0},
        "result": Result(
            test=models[best].bits(test) / text.characters_per_symbol,
            validation=validation_bits / text.characters_per_symbol,
            seconds=seconds,
            read=len(train) * text.characters_per_symbol,
            unit="bits",
            more={"seconds": seconds},
        ),
        "curve": [],
    }


def text8(data: Path | None, smoke: bool = False) -> Text:
    """text8, or the text in a file, split 90/5/5; generated in a moment for `smoke`."""
    names = ("train", "validation", "test")
    symbols = len(datasets.text.ALPHABET)
    if smoke:
        short = datasets.text.python_documentation()[:20_000]
        smoked = {"text_sha256": datasets.text.sha256(short), "characters": len(short), "whole_text8": False}
        return Text(dict(zip(names, datasets.text.split(short), strict=True)), symbols, {"name": "smoke", **smoked})
    parts = {name: datasets.text8.load(name, source=data) for name in names}
    whole = np.concatenate([*parts.values()])
    digest = datasets.text.sha256(whole)
    info: Record = {"text_sha256": digest, "characters": len(whole), "whole_text8": digest == TEXT8}
    if data is not None:
        info |= {"source": data.name, "sha256": hashlib.sha256(data.read_bytes()).hexdigest()}
    return Text(parts, symbols, {"name": "text8" if data is None or digest == TEXT8 else data.stem, **info})


class CharacterTable(Experiment):
    """A table of networks that predict the next symbol; a row's settings are those of `Protocol`."""

    measure = "bits per character"
    data = "text8: a file with it (.zip, .xz, .gz or plain), or any other text; else it is downloaded"
    options = frozenset({"data", "budget"})
    small = {"size": "4e3", "batch": 8, "length": 20, "steps": 3, "epochs": 2, "warm_up": 1, "validation": 2}

    def read(self, data: Path | None, smoke: bool, settings: Mapping[str, Any]) -> Text:
        return text8(data, smoke)

    def protocol(self, run: Run) -> Protocol:
        return Protocol(**self.settings(run))

    def run(self, run: Run) -> Record:
        if run.settings["network"] in COUNTED:
            return count(run.settings["network"], self.load(run))
        return train(self.load(run), self.protocol(run), run)

    def identity(self, run: Run) -> dict[str, Any]:
        return {"text_sha256": self.load(run).info["text_sha256"]}

    def is_timed(self, row: str) -> bool:
        return not self.is_deterministic(row) and "steps" not in self.rows[row]

    def is_deterministic(self, row: str) -> bool:
        return self.rows[row]["network"] in COUNTED

    def tunable(self, run: Run, steps: int, epochs: int) -> Trainable:
        if run.settings["network"] in COUNTED:
            return super().tunable(run, steps, epochs)
        protocol = dataclasses.replace(self.protocol(run), steps=steps, epochs=epochs)
        return trainable(self.load(run), protocol, run.seed)
