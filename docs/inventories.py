"""Addresses of names of other packages, for intersphinx: Keras publishes no inventory of its own."""

from __future__ import annotations

import zlib
from pathlib import Path

KERAS = "https://keras.io/api/"

ADDRESSES = {
    KERAS: {
        "keras.Layer": "layers/base_layer/",
        "keras.Model": "models/model/",
        "keras.layers.Embedding": "layers/core_layers/embedding/",
        "keras.layers.LSTM": "layers/recurrent_layers/lstm/",
        "keras.layers.Layer": "layers/base_layer/",
        "keras.layers.RNN": "layers/recurrent_layers/rnn/",
        "keras.ops": "ops/",
        "keras.optimizers.Adam": "optimizers/adam/",
        "keras.optimizers.Optimizer": "optimizers/",
        "keras.optimizers.schedules.LearningRateSchedule": "optimizers/learning_rate_schedules/",
    },
}
"""Base address -> name -> rest of its address."""


def write_inventories(folder: Path) -> dict[str, tuple[str, str]]:
    """Writes an inventory for each base address; returns the value of `intersphinx_mapping`."""
    mapping = {}
    for number, (base, names) in enumerate(ADDRESSES.items()):
        path = folder / f"{number}.inv"
        lines = "".join(f"{name} py:class 1 {rest} -\n" for name, rest in sorted(names.items()))
        header = f"# Sphinx inventory version 2\n# Project: {base}\n# Version:\n# The rest is compressed by zlib.\n"
        path.write_bytes(header.encode() + zlib.compress(lines.encode()))
        mapping[f"inventory{number}"] = (base, str(path))
    return mapping
