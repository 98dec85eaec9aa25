"""The files of a preset: a card, NAME.json, and weights, NAME.npz, verified by the sha256 in the card.

Arrays of weights are named `layer/weight`, other arrays have no slash in their names. Python objects are neither
written nor read (`allow_pickle=False`).
"""

from __future__ import annotations

import hashlib
import io
import os
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from keras_interp_rnn._checks import expanded_path
from keras_interp_rnn._io import DAMAGED_ARCHIVE, atomic_write, write_json
from keras_interp_rnn._types import AnyArray
from keras_interp_rnn.presets.cards import FOLDER, FORMAT, Card, Figure

ADDRESS = ""
"""Address of weights that are too large for the package, ADDRESS/NAME.npz; empty before the first release."""


MAX_BYTES = 2**28
"""Largest decompressed size of the arrays of a preset."""


def write(
    folder: Path,
    name: str,
    model: Any,
    *,
    dtype: str,
    description: Mapping[str, Any],
    figures: Sequence[Figure],
    settings: Mapping[str, Any],
    arrays: Mapping[str, AnyArray],
) -> None:
    """Writes the two files of a preset.

    Args:
        folder: of the files. name: of the preset.
        model: the network. dtype: of the stored weights, "float16" or "float32".
        description: text fields and record of the card. figures: the measurements.
        settings: of the network. arrays: further arrays for `load`, in float64.
    """
    weights = {key: np.asarray(value, dtype) for key, value in named_weights(model).items()}
    content = io.BytesIO()
    np.savez_compressed(content, **weights, **arrays)  # type: ignore[arg-type]
    folder.mkdir(parents=True, exist_ok=True)
    with atomic_write(folder / f"{name}.npz") as partial:
        partial.write_bytes(content.getvalue())
    digest = hashlib.sha256(content.getvalue()).hexdigest()
    described = [{"name": figure.name, "value": figure.value, "says": figure.says} for figure in figures]
    write_json(
        folder / f"{name}.json",
        {
            **{"format": FORMAT, "name": name, **description, **settings, "figures": described},
            "weights": {"sha256": digest, "bytes": len(content.getvalue()), "dtype": dtype},
        },
    )


def named_weights(model: Any) -> dict[str, AnyArray]:
    """The weights of a model as `layer/weight`."""
    import keras

    named = {
        f"{layer.name}/{weight.name}": np.asarray(keras.ops.convert_to_numpy(weight))
        for layer in model.layers
        for weight in layer.weights
    }
    assert len(named) == len(model.weights), "two weights of one name"
    return named


def assign(model: Any, arrays: Mapping[str, AnyArray], name: str) -> None:
    """Assigns weights to a model; ValueError if their names or shapes do not match."""
    weights = {f"{layer.name}/{weight.name}": weight for layer in model.layers for weight in layer.weights}
    shapes = {key: tuple(weight.shape) for key, weight in weights.items()}
    received = {key: array.shape for key, array in arrays.items() if "/" in key}
    if shapes != received:
        differ = sorted(key for key in {*shapes, *received} if shapes.get(key) != received.get(key))
        what = ", ".join(f"{key} {received.get(key, 'missing')} for {shapes.get(key, 'none')}" for key in differ)
        raise ValueError(
            f"The weights of {name} must have the shapes that its card describes. Received: {what}. Card and weights "
            "are of two versions: install the package again."
        )
    for key, weight in weights.items():
        weight.assign(arrays[key].astype("float32"))


def read_arrays(card: Card, source: str | os.PathLike[str] | None = None) -> dict[str, AnyArray]:
    """Reads the arrays of a preset, after their sha256 is verified.

    Args:
        card: of the preset. source: file of the weights; None for that of the package or, without one, the release.

    Raises:
        ValueError: if there is no such file, or its sha256 is not that of the card.
    """
    path = expanded_path("source", source) if source is not None else FOLDER / f"{card.name}.npz"
    if source is None and not path.exists():
        path = _downloaded(card)
    try:
        content = path.read_bytes()
    except (OSError, ValueError) as error:  # ValueError: NUL in the path
        trouble = error.strerror if isinstance(error, OSError) else error
        raise ValueError(
            f"`source` must be the file {card.name}.npz. Received: {path} ({trouble}). Check the path."
        ) from None
    digest, expected = hashlib.sha256(content).hexdigest(), card.settings["weights"].get("sha256")
    if digest != expected:
        raise ValueError(
            f"The weights of {card.name} must have the sha256 {expected}. Received: {path}, {len(content):,} bytes "
            f"with the sha256 {digest}. The file is damaged or of another version: install the package again, or give "
            "the right file as `source`."
        )
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            size = sum(entry.file_size for entry in archive.infolist())
        if size > MAX_BYTES:
            raise ValueError(f"{size:,} bytes, more than {MAX_BYTES:,}")
        with np.load(io.BytesIO(content), allow_pickle=False) as file:
            return {key: file[key] for key in file.files}
    except (ValueError, MemoryError, *DAMAGED_ARCHIVE) as error:
        raise ValueError(
            f"The weights of a preset must be NumPy arrays. Received: {path} ({error}). Make the preset again: "
            f"{card.make}"
        ) from None


def _downloaded(card: Card) -> Path:
    """Downloads the file of the release into Keras's cache."""
    if not ADDRESS:
        raise ValueError(
            f"`source` must be {card.name}.npz, which is too large for the package. Received: source=None. The "
            f"repository has it in docs/presets, and {card.make} makes it again."
        )
    import keras

    digest = card.settings["weights"]["sha256"]
    try:
        return Path(
            keras.utils.get_file(
                f"{card.name}-{digest[:16]}.npz",
                f"{ADDRESS}/{card.name}.npz",
                file_hash=digest,
                hash_algorithm="sha256",
                cache_subdir="keras_interp_rnn",
            )
        )
    except Exception as error:  # get_file raises a bare Exception, and ValueError for another digest
        raise ValueError(
            f"The weights of {card.name} must be downloadable from {ADDRESS}. Received: {error}. Download "
            f"{card.name}.npz elsewhere and give it as `source`."
        ) from None
