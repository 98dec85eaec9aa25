"""A trained ISAN and its text, for the scripts that take one apart."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

import keras
from numpy.typing import NDArray

from keras_interp_rnn import layers, losses
from keras_interp_rnn.datasets import DataError, Windows, text
from keras_interp_rnn.reproduce import records

SYMBOLS = len(text.ALPHABET)


def load(
    args: argparse.Namespace,
) -> tuple[keras.Model, tuple[NDArray[Any], NDArray[Any], NDArray[Any]], dict[str, dict[str, Any]]]:
    """The model, its text split into training, validation and test, and what a record says of both.

    Args:
        args: `model` and `text`, files; `figures` and `records`, folders; `smoke`, for a model trained in seconds.

    Raises:
        datasets.DataError: if there is no such text, or no such model.
    """
    symbols = text.read(args.text) if args.text else text.python_documentation()
    if args.smoke:
        args.figures = args.records = tempfile.mkdtemp(prefix="isan-")
        symbols = symbols[:200_000]
        model = train(layers.ISAN(12, SYMBOLS, return_sequences=True, stateful=True), symbols, 20)
    else:
        if not Path(args.model).is_file():
            raise DataError(
                f"There is no model {args.model}. Train one by text_isan.py (or `make run`), or give --model."
            )
        model = keras.models.load_model(args.model)
    Path(args.figures).mkdir(parents=True, exist_ok=True)
    isan = next(layer for layer in model.layers if isinstance(layer, layers.ISAN))
    weights = records.sha256(*model.get_weights())
    about = {
        "data": {
            "name": Path(args.text).name if args.text else "Python documentation",
            "text_sha256": text.sha256(symbols),
        },
        "model": {"layer": "ISAN", "units": isan.units, "parameters": model.count_params(), "sha256": weights},
    }
    return model, text.split(symbols), about


def train(recurrent: keras.layers.Layer, symbols: NDArray[Any], steps: int, batch: int = 64) -> keras.Model:
    """A model that predicts the next symbol from the states of this layer, after so many steps of training."""
    embedding = [] if isinstance(recurrent, layers.ISAN) else [keras.layers.Embedding(SYMBOLS, SYMBOLS)]
    inputs = keras.Input((50,), batch_size=batch, dtype="int32")
    model = keras.Sequential([inputs, *embedding, recurrent, keras.layers.Dense(SYMBOLS)])
    schedule = keras.optimizers.schedules.CosineDecay(2e-3, steps, alpha=0.02)
    model.compile(keras.optimizers.Adam(schedule, global_clipnorm=1.0), losses.BitsPerSymbol())
    model.fit(Windows(symbols, batch, length=50, num_windows=steps), shuffle=False, verbose=0)
    return model
