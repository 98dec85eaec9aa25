"""Logs that the callbacks write in a real `fit`, and TensorBoard over them."""

from __future__ import annotations

import contextlib
import functools
import itertools
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import keras
import numpy as np
from tensorboard import default, program

from keras_interp_rnn import automata, callbacks, datasets, layers
from tensorboard_plugins.interp_rnn.plugin import Loader

ALPHABET = datasets.text.ALPHABET
TEXT = " the return value of the"
WHAT_IF = "the name"
ROOT = Path(__file__).parents[2]
VERSION_1 = Path(__file__).parent / "version_1"
"""A recorded log and the plugin's answers about it."""


@functools.cache
def written() -> Path:
    """A log directory with a run of each family."""
    folder = Path(tempfile.mkdtemp(prefix="plugin-"))
    keras.utils.set_random_seed(0)
    _isan(folder / "isan")
    _state_regularized(folder / "sr")
    what_if(folder / "what_if")
    traces(folder / "gru")
    for name in ("GRU", "MinimalRNN"):
        _jacobians(folder / name, name)
    return folder


def _isan(folder: Path) -> None:
    text = datasets.text.python_documentation()[:20_000]
    model = keras.Sequential(
        [
            keras.Input((25,), batch_size=32, dtype="int32"),
            layers.ISAN(12, 27, return_sequences=True, stateful=True),
            keras.layers.Dense(27),
        ]
    )
    model.compile(keras.optimizers.Adam(1e-2), keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    texts = [datasets.text.encode(TEXT), datasets.text.encode("an argument")]
    model.fit(
        datasets.Windows(text, 32, length=25),
        epochs=3,
        shuffle=False,
        verbose=0,
        callbacks=[
            callbacks.Contributions(folder, texts, alphabet=ALPHABET),
            callbacks.ShapleyValues(folder, texts, alphabet=ALPHABET),
        ],
    )


def what_if(folder: Path) -> None:
    model = keras.Sequential(
        [keras.Input((None,), dtype="int32"), layers.ISAN(6, 27, return_sequences=True), keras.layers.Dense(27)]
    )
    model.compile(keras.optimizers.Adam(1e-2), keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    x = datasets.text.python_documentation()[:2_000].reshape(40, 50)
    watch = callbacks.Substitutions(folder, [WHAT_IF], alternatives="aeiou", alphabet=ALPHABET)
    model.fit(x[:, :-1], x[:, 1:], 20, 2, verbose=0, callbacks=[watch])


def traces(folder: Path) -> None:
    model = keras.Sequential([keras.layers.Embedding(4, 3, mask_zero=True), keras.layers.GRU(5), keras.layers.Dense(1)])
    model.compile(keras.optimizers.Adam(1e-2), "mse")
    x = np.random.default_rng(0).integers(1, 4, (8, 6))
    x[1, 4:] = 0  # padding
    tokens = ["", "<b>one</b>", "two", "three"]
    model.fit(x, x[:, :1] / 3, 4, 2, verbose=0, callbacks=[callbacks.Traces(folder, x[:3], tokens=tokens)])


def _state_regularized(folder: Path) -> None:
    truth = automata.tomita(4)
    words = ["".join(word) for n in range(7) for word in itertools.product("01", repeat=n)]
    data = datasets.LabelledWords(tuple(words), np.array([truth.accepts(word) for word in words]), "01")
    ids = data.ids(start=True)
    embedding = automata.SymbolEmbedding("01", 4)
    model = automata.Recognizer(
        [keras.Input((None,), dtype="int32"), embedding, layers.SRGRU(8, 6, name="r"), keras.layers.Dense(1)]
    )
    model.compile(keras.optimizers.Adam(1e-2), keras.losses.BinaryCrossentropy(from_logits=True))
    tokens = {0: "", 1: "<b>start</b>", 2: "0", 3: "1"}
    watch = callbacks.TransitionProbabilities(folder, ids[-5:], tokens=tokens, validation=ids)
    model.fit(
        ids, data.labels.astype("float32"), 32, 3, verbose=0, callbacks=[callbacks.Automaton(folder, truth), watch]
    )


def _jacobians(folder: Path, kind: str) -> None:
    layer = keras.layers.GRU(6) if kind == "GRU" else layers.MinimalRNN(6)
    model = keras.Sequential([keras.Input((8, 3)), layer, keras.layers.Dense(1)])
    model.compile(keras.optimizers.Adam(1e-2), "mse")
    x = np.random.default_rng(0).normal(size=(32, 8, 3)).astype("float32")
    watch = callbacks.JacobianHistograms(folder, x[:4], lags=(0, 5))
    model.fit(x, x[:, 0, :1], 8, 3, verbose=0, callbacks=[watch])


@contextlib.contextmanager
def served(folder: Path, fast: bool = False, plugin: Path = ROOT) -> Iterator[str]:
    """The address of a TensorBoard over a folder, in a process of its own, with the plugin that lies in another one."""
    environment = {**os.environ, "PYTHONPATH": f"{plugin}{os.pathsep}{ROOT}", "TF_CPP_MIN_LOG_LEVEL": "3"}
    command = [sys.executable, "-m", "tests.tensorboard_plugin.logs", str(folder), "true" if fast else "false"]
    process = subprocess.Popen(
        command, cwd=plugin, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    with process:
        assert process.stdout is not None
        try:
            yield next(line for line in process.stdout if line.startswith("http")).strip().rstrip("/")
        finally:
            process.terminate()


def main(folder: str, fast: str) -> None:
    """TensorBoard with this plugin, whether the package is installed or not, until it is terminated."""
    others = [plugin for plugin in default.get_plugins() if getattr(plugin, "__module__", "") != Loader.__module__]
    board = program.TensorBoard([*others, Loader])
    board.configure(argv=[None], logdir=folder, port=0, host="localhost", load_fast=fast, reload_interval=1.0)
    print(board.launch(), flush=True)
    signal.pause()


if __name__ == "__main__":
    main(*sys.argv[1:])
