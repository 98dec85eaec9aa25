"""Records a log and the plugin's answers about it, which later versions must repeat.

    python -m tests.tensorboard_plugin.record_log tests/tensorboard_plugin/version_1

Run it once for each `schema.VERSION`, with the code that introduces it.
"""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path
from typing import Any

import keras
import numpy as np

from keras_interp_rnn import automata, callbacks, layers
from tests.tensorboard_plugin.test_backend import cut, get, plugin_over

LAYOUT = {"positions", "box", "reference_graph", "routes", "radii", "usual", "merged", "name", "inside"}
"""Entries of answers that later versions may change."""

SLICED = ("transition_probabilities", "transition_counts", "outputs", "contributions", "jacobian")


def write(folder: Path) -> None:
    """A few steps of every kind, by the callbacks."""
    keras.utils.set_random_seed(0)
    rng = np.random.default_rng(0)
    symbols = "ab"
    isan = layers.ISAN(3, 2, return_sequences=True)
    language = keras.Sequential([keras.Input((None,), dtype="int32"), isan, keras.layers.Dense(2)])
    watch = callbacks.Contributions(folder / "isan", [[0, 1, 1]], alphabet=symbols)
    _fit(language, rng.integers(0, 2, (4, 3)), rng.integers(0, 2, (4, 3)), watch)
    truth = automata.tomita(4)
    words = [word for length in range(4) for word in ("0" * length, "1" * length)]
    recognizer = keras.Sequential(
        [
            keras.Input((None,), dtype="int32"),
            automata.SymbolEmbedding("01", 3),
            layers.SRGRU(4, 3),
            keras.layers.Dense(1),
        ]
    )
    ids = recognizer.layers[0].alphabet.encode_batch(words)
    states = callbacks.Automaton(folder / "sr", truth)
    moves = callbacks.TransitionProbabilities(folder / "sr", ids[-2:], validation=ids, tokens=["", "^", "0", "1"])
    _fit(recognizer, ids, np.array([truth.accepts(word) for word in words], "float32"), states, moves)
    gated = keras.Sequential([keras.Input((4, 2)), layers.MinimalRNN(3), keras.layers.Dense(1)])
    x = rng.normal(size=(4, 4, 2)).astype("float32")
    _fit(gated, x, x[:, 0, :1], callbacks.JacobianHistograms(folder / "gated", x, lags=(0, 2)))
    for number, path in enumerate(sorted(folder.rglob("events*"))):  # whose names tell the machine
        path.rename(path.parent / f"events.out.tfevents.{number}.v2")


def _fit(model: keras.Model, x: Any, y: Any, *watching: keras.callbacks.Callback) -> None:
    loss = "mse" if y.dtype == np.float32 else keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile("adam", loss)
    model.fit(x, y, batch_size=4, epochs=1, verbose=0, callbacks=list(watching))


def answers(folder: Path) -> dict[str, Any]:
    """The plugin's answers about a log, without the layout."""
    served = plugin_over(folder)
    runs = get(served, "/tags")
    of_tags = {}
    for run, tags in runs.items():
        for entry in tags:
            where = {"run": run, "tag": entry["tag"]}
            series = get(served, "/series", **where)
            step = {**where, "step": series["steps"][-1]}
            answer = {"series": _without_layout(series)}
            if entry["kind"] in ("automaton", "transition_counts"):
                answer["graph"] = _without_layout(get(served, "/graph", **step))
            if entry["kind"] == "transition_texts":
                answer["texts"] = get(served, "/texts", **step)
            if entry["kind"] in SLICED:
                slices = [cut(served, **step, index=index) for index in (0, 1)]
                answer["slices"] = [np.where(np.isnan(one), -1, one).tolist() for one in slices]
            of_tags[f"{run}:{entry['tag']}"] = answer
    return {"tags": {run: [_without_layout(entry) for entry in tags] for run, tags in runs.items()}, "of_tags": of_tags}


def _without_layout(answer: dict[str, Any]) -> dict[str, Any]:
    kept = {name: value for name, value in answer.items() if name not in LAYOUT}
    return {**kept, "states": [_without_layout(state) for state in kept["states"]]} if "states" in kept else kept


if __name__ == "__main__":
    where = Path(sys.argv[1])
    write(where)
    with gzip.open(where / "answers.json.gz", "wt") as file:
        json.dump(answers(where), file)
