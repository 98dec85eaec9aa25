"""Can a factored switch replace one matrix for each symbol (after Foerster et al., 2017, section 5.2)?

An ISAN, factored ISANs of several ranks and an LSTM of about the same number of weights are trained for the same number
of steps on characters and on pairs of characters (729 symbols). An oscillator whose frequency is the input is followed
by a factored ISAN, by a linear network without any switch, and by a GRU.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from examples.papers import _isan_text
from examples.papers._experiment import Experiment, Record, Run, runs, table

if TYPE_CHECKING:
    import keras
    from numpy.typing import NDArray

BATCH, LENGTH, EMBEDDED = 32, 50, 27
"""Sequences in a batch, symbols in a window, and features of the LSTM's embedding."""

TESTED = 200_000
"""Characters of the test text."""

WEIGHTS = 60_000
"""Maximum on characters; twice that on pairs."""

FACTORS = (8, 32, 128)

SIGNAL = {"linear": (33,), "FactoredISAN": (24, 11), "GRU": (18,)}
"""Network -> its sizes, about 1,200 weights each."""


class Factored(Experiment):
    """ISANs, factored ISANs and LSTMs of one size on characters and pairs; networks that follow an oscillator."""

    name = "factored-isan"
    title = "A factorised switch"
    place = "after Foerster et al. 2017, section 5.2"
    measure = "bits per character, or fraction of the variance"
    data = "any text (.zip, .xz, .gz or plain); else Python's own documentation"
    options = frozenset({"data"})
    rows = {
        **{
            f"{task}, {network}": {"task": task, "network": network, "steps": 1000}
            for task in ("characters", "pairs")
            for network in ("ISAN", *(f"FactoredISAN of {factors} factors" for factors in FACTORS), "LSTM")
        },
        **{f"oscillator, {network}": {"task": "oscillator", "network": network, "steps": 1000} for network in SIGNAL},
    }

    def read(self, data: Path | None, smoke: bool, settings: Mapping[str, Any]) -> tuple[str, NDArray[Any]]:
        """Name and characters of the text."""
        return _isan_text.characters(data, smoke)

    def identity(self, run: Run) -> dict[str, Any]:
        from keras_interp_rnn.datasets import text

        return {"text_sha256": text.sha256(self.load(run)[1])}

    def run(self, run: Run) -> Record:
        import keras

        from keras_interp_rnn.datasets import text

        name, symbols = self.load(run)
        task, network, steps = (run.settings[key] for key in ("task", "network", "steps"))
        if run.smoke:
            steps = 12
        keras.utils.set_random_seed(run.seed)
        started = time.monotonic()
        if task == "oscillator":
            layer, weights, left = follow_signal(network, steps)
            result = {"of_the_variance_left": left}
        else:
            train, _, test = text.split(symbols)
            test = test[: 20_000 if run.smoke else TESTED]
            width = 2 if task == "pairs" else 1
            if width == 2:
                train, test = text.pairs(train), text.pairs(test)
            max_weights = (9000 if run.smoke else WEIGHTS) * width
            layer, weights, bits = read_text(network, len(text.ALPHABET) ** width, max_weights, train, test, steps)
            result = {"bits_per_character": bits / width}
        return {
            "data": {"name": task, "text": name, **self.identity(run)},
            "model": {"layer": layer, "seed": run.seed, "parameters": weights},
            "protocol": {**run.settings, "steps": steps, "batch": BATCH, "length": LENGTH},
            "result": {**result, "seconds": round(time.monotonic() - started, 1)},
        }

    def summary(self, record: Record) -> str:
        if "bits_per_character" in record["result"]:
            return f"{record['result']['bits_per_character']:.3f} bits per character"
        return f"{record['result']['of_the_variance_left']:.5f} of the variance left"

    def fields(self, records: Sequence[Record]) -> dict[str, str]:
        rows = []
        for record in sorted(records, key=lambda record: (record["data"]["name"], record["model"]["layer"])):
            result = record["result"]
            bits, left = result.get("bits_per_character"), result.get("of_the_variance_left")
            rows.append(
                [
                    *(record["data"]["name"], record["model"]["layer"], f"{record['model']['parameters']:,}"),
                    *(f"{record['protocol']['steps']:,}", "" if bits is None else f"{bits:.3f}"),
                    "" if left is None else f"{left:.5f}",
                ]
            )
        return {
            "table": table(["data", "network", "weights", "steps", "bits per character", "variance left"], rows),
            "runs": runs(records[:1], lambda record: record["data"]["text"]),
        }


def read_text(
    network: str, symbols: int, max_weights: int, train: NDArray[Any], test: NDArray[Any], steps: int
) -> tuple[str, int, float]:
    """Name and number of weights of a network trained on a text, and its bits per symbol of the test text."""
    import keras

    from keras_interp_rnn import losses
    from keras_interp_rnn.datasets import Windows

    name, recurrent = symbol_network(network, symbols, max_weights)
    inputs = keras.Input((LENGTH,), batch_size=BATCH, dtype="int32")
    model = keras.Sequential([inputs, *recurrent, keras.layers.Dense(symbols)])
    model.compile(_adam(steps, 2e-3), losses.BitsPerSymbol(), jit_compile=False)
    model.fit(Windows(train, BATCH, length=LENGTH, num_windows=steps), shuffle=False, verbose=0)
    return name, model.count_params(), model.evaluate(Windows(test, BATCH, length=LENGTH), verbose=0)


def symbol_network(network: str, symbols: int, max_weights: int) -> tuple[str, list[keras.layers.Layer]]:
    """The largest network of a kind with at most `max_weights` weights with its readout: its name, and its layers."""
    import keras

    from keras_interp_rnn import layers

    def units(count: Callable[[int], int]) -> int:
        return next(n for n in itertools.count(1) if count(n + 1) + (n + 2) * symbols > max_weights)

    flags = {"return_sequences": True, "stateful": True}
    if network == "ISAN":
        n = units(lambda n: symbols * n * (n + 1) + n)
        return f"ISAN({n})", [layers.ISAN(n, symbols, **flags)]
    if network == "LSTM":
        n = units(lambda n: symbols * EMBEDDED + 4 * n * (n + EMBEDDED + 1))
        # An embedding with a dense gradient: Keras 3.15 squares that of an Embedding for each occurrence of a symbol.
        one_hot = keras.layers.CategoryEncoding(symbols, output_mode="one_hot")
        embedding = [one_hot, keras.layers.Dense(EMBEDDED, use_bias=False)]
        return f"LSTM({n})", [*embedding, keras.layers.LSTM(n, **flags)]
    factors = int(network.split()[2])
    n = units(lambda n: symbols * (factors + n) + 2 * n * factors + n * n + n)
    return f"FactoredISAN({n}, {factors})", [layers.FactoredISAN(n, factors, symbols, **flags)]


def follow_signal(network: str, steps: int) -> tuple[str, int, float]:
    """Name and number of weights of a trained network, and the fraction of the variance left on 512 new sequences."""
    import keras

    from keras_interp_rnn import layers

    sizes = SIGNAL[network]
    if network == "linear":
        orthogonal = keras.initializers.Orthogonal(0.9)
        layer = keras.layers.SimpleRNN(*sizes, "linear", recurrent_initializer=orthogonal, return_sequences=True)
    else:
        kind = layers.FactoredISAN if network == "FactoredISAN" else keras.layers.GRU
        layer = kind(*sizes, return_sequences=True)
    commands, sine = oscillator(64 * min(steps, 100) + 512)
    model = keras.Sequential([keras.Input(commands.shape[1:]), layer, keras.layers.Dense(1)])
    model.compile(_adam(steps, 5e-3), "mse", jit_compile=False)
    model.fit(commands[512:], sine[512:], batch_size=64, epochs=-(-steps // min(steps, 100)), verbose=0)
    left = model.evaluate(commands[:512], sine[:512], verbose=0) / float(sine[:512].var())
    return f"{network}({', '.join(map(str, sizes))})", model.count_params(), left


def oscillator(count: int, steps: int = 60) -> tuple[NDArray[Any], NDArray[Any]]:
    """Slowly changing commands in [-1, 1], and the sine that turns by 0.3 + 0.2 command at every step."""
    import numpy as np

    rng = np.random.default_rng(1)
    knots = rng.uniform(-1, 1, size=(count, steps // 10 + 2))
    places = np.arange(steps) / 10
    commands = np.stack([np.interp(places, np.arange(knots.shape[1]), row) for row in knots])
    sine = np.sin(np.cumsum(0.3 + 0.2 * commands, axis=1))
    return commands[:, :, None].astype("float32"), sine[:, :, None].astype("float32")


def _adam(steps: int, rate: float) -> keras.optimizers.Optimizer:
    """With a warm-up: Adam's first steps are coherent, and would raise the spectral radius of any linear network."""
    import keras

    from examples.papers import _training

    return keras.optimizers.Adam(_training.schedule(rate, steps, steps // 10, 0.02), global_clipnorm=1.0)
