"""With ten thousand symbols, most are not in a batch: should the optimizer leave their matrices alone?

An ISAN with a matrix for each of the most frequent words, and a factored one, predict the next word: once trained by
Adam, which moves every matrix at every step along earlier gradients, and once by `lazy_adam.LazyAdam`, which moves
those of the words in the batch (after Foerster et al., 2017, section 5.2).
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from examples.papers import _isan_text, _records
from examples.papers._experiment import Experiment, Record, Run, runs, table

if TYPE_CHECKING:
    import keras
    from numpy.typing import NDArray

BATCH, LENGTH, RATE = 32, 25, 3e-3
TRAINED, TESTED = 20_000_000, 500_000
"""Characters of the training and of the test text."""


class RareSymbols(Experiment):
    """Networks on words, trained by Adam and by LazyAdam."""

    name = "rare-symbols"
    title = "Ten thousand symbols"
    place = "after Foerster et al. 2017, section 5.2"
    measure = "bits per word"
    data = "any text (.zip, .xz, .gz or plain); else Python's own documentation"
    options = frozenset({"data"})
    of_data = ("symbols",)
    rows = {
        f"{network}, {optimizer}": {
            **{"network": network, "optimizer": optimizer},
            **{"symbols": 10_000, "units": 16, "steps": 600},
        }
        for network in ("ISAN", "FactoredISAN")
        for optimizer in ("Adam", "LazyAdam")
    }

    def read(self, data: Path | None, smoke: bool, settings: Mapping[str, Any]) -> tuple[str, int, list[NDArray[Any]]]:
        """Name of the text, number of symbols, and training and test text as ids of words."""
        from keras_interp_rnn.datasets import text, words

        name, characters = _isan_text.characters(data, smoke)
        train, _, test = text.split(characters)
        parts = [text.decode(part).split() for part in (train[:TRAINED], test[:TESTED])]
        symbols = 300 if smoke else settings["symbols"]
        vocabulary = words.Vocabulary.of(parts[:1], symbols)
        ids = [vocabulary.encode([part], len(part) + 1, end=False)[0] for part in parts]
        return name, symbols, ids

    def identity(self, run: Run) -> dict[str, Any]:
        return {"sha256": _records.sha256(*self.load(run)[2])}

    def run(self, run: Run) -> Record:
        import keras

        from keras_interp_rnn.datasets import Windows

        name, symbols, (train, test) = self.load(run)
        units, steps = (4, 6) if run.smoke else (run.settings["units"], run.settings["steps"])
        keras.utils.set_random_seed(run.seed)
        network, model = build(run.settings, units, symbols, steps)
        milliseconds = _timed(model, Windows(train, BATCH, length=LENGTH), steps)
        return {
            "data": {"name": name, "words": len(train), **self.identity(run)},
            "model": {"layer": network, "seed": run.seed, "parameters": model.count_params()},
            "protocol": {**run.settings, "symbols": symbols, "units": units, "steps": steps, "batch": BATCH},
            "result": {
                "bits_per_word": model.evaluate(Windows(test, BATCH, length=LENGTH), verbose=0),
                "milliseconds": milliseconds,
            },
        }

    def summary(self, record: Record) -> str:
        return (
            f"{record['result']['bits_per_word']:.3f} bits per word, {record['result']['milliseconds']:.0f} ms a step"
        )

    def fields(self, records: Sequence[Record]) -> dict[str, str]:
        rows = [
            [
                *(record["data"]["name"], record["model"]["layer"], f"{record['model']['parameters']:,}"),
                *(record["protocol"]["optimizer"], f"{record['protocol']['steps']:,}"),
                *(f"{record['result']['bits_per_word']:.3f}", f"{record['result']['milliseconds']:.0f}"),
            ]
            for record in sorted(records, key=lambda record: (record["data"]["name"], record["model"]["layer"]))
        ]
        header = ["text", "network", "weights", "optimizer", "steps", "bits per word", "ms per step"]
        return {
            "table": table(header, rows),
            "runs": runs(records, lambda record: f"{record['data']['name']}, {record['model']['layer']}"),
        }


def build(settings: Mapping[str, Any], units: int, symbols: int, steps: int) -> tuple[str, keras.Model]:
    """Name and compiled model of a row."""
    import keras

    from examples.papers.lazy_adam import LazyAdam
    from keras_interp_rnn import layers, losses

    flags = {"return_sequences": True, "stateful": True}
    if settings["network"] == "ISAN":
        name = f"ISAN({units}, {symbols})"
        layer = layers.ISAN(units, symbols, recurrent_constraint=None, **flags)
    else:
        name = f"FactoredISAN({4 * units}, {2 * units}, {symbols})"
        layer = layers.FactoredISAN(4 * units, 2 * units, symbols, **flags)
    inputs = keras.Input((LENGTH,), batch_size=BATCH, dtype="int32")
    model = keras.Sequential([inputs, layer, keras.layers.Dense(symbols)])
    optimizer = LazyAdam if settings["optimizer"] == "LazyAdam" else keras.optimizers.Adam
    rate = keras.optimizers.schedules.CosineDecay(RATE, steps, 0.02)
    model.compile(optimizer(rate, global_clipnorm=1.0), losses.BitsPerSymbol(), jit_compile=False)
    return name, model


def _timed(model: keras.Model, windows: Any, steps: int) -> float:
    """Trains; median milliseconds of a step, the first tenth left out."""
    import numpy as np

    seconds = []
    for step in range(steps):
        x, y = windows[step % len(windows)]
        started = time.perf_counter()
        model.train_on_batch(x, y)
        seconds.append(time.perf_counter() - started)
    return 1000 * float(np.median(seconds[len(seconds) // 10 :]))
