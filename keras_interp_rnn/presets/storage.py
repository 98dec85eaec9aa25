"""The files of a preset: a card, NAME.json, and its weights, NAME.npz, which the card's sha256 guards.

The arrays of the weights are called `layer/weight`, others by a name without a slash. None holds Python objects, and
none is read that would (`allow_pickle=False`).
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
from numpy.typing import NDArray

from keras_interp_rnn._io import DAMAGED_ARCHIVE, atomic_write, expanded, write_json
from keras_interp_rnn.presets.cards import FOLDER, FORMAT, Card, Figure

ADDRESS = ""
"""Where weights are that are too large for the package, as ADDRESS/NAME.npz; "" while there is no such place."""


MAX_BYTES = 2**28
"""Of all arrays of a preset, unpacked."""


def write(
    folder: Path,
    name: str,
    model: Any,
    *,
    dtype: str,
    said: Mapping[str, Any],
    figures: Sequence[Figure],
    settings: Mapping[str, Any],
    arrays: Mapping[str, NDArray[Any]],
) -> None:
    """Writes the two files of a preset.

    Args:
        folder: where they go. name: of the preset.
        model: whose weights are stored. dtype: in which, "float16" or "float32".
        said: what the card says, besides the figures. figures: what was measured.
        settings: of the network. arrays: others that `load` needs, in float64.
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
            **{"format": FORMAT, "name": name, **said, **settings, "figures": described},
            "weights": {"sha256": digest, "bytes": len(content.getvalue()), "dtype": dtype},
        },
    )


def named_weights(model: Any) -> dict[str, NDArray[Any]]:
    """The weights of a model as `layer/weight`."""
    import keras

    named = {
        f"{layer.name}/{weight.name}": np.asarray(keras.ops.convert_to_numpy(weight))
        for layer in model.layers
        for weight in layer.weights
    }
    assert len(named) == len(model.weights), "two weights of one name"
    return named


def assign(model: Any, arrays: Mapping[str, NDArray[Any]], name: str) -> None:
    """Gives a model its weights; raises ValueError if they are those of another."""
    wanted = {f"{layer.name}/{weight.name}": weight for layer in model.layers for weight in layer.weights}
    given = {key: value for key, value in arrays.items() if "/" in key}
    shapes = {key: tuple(weight.shape) for key, weight in wanted.items()}
    received = {key: value.shape for key, value in given.items()}
    if shapes != received:
        differ = sorted(key for key in {*shapes, *received} if shapes.get(key) != received.get(key))
        what = ", ".join(f"{key} {received.get(key, 'missing')} for {shapes.get(key, 'none')}" for key in differ)
        raise ValueError(
            f"The weights of {name} have the shapes that its card describes. Received: {what}. Card and weights are of "
            "two versions: install the package again."
        )
    for key, weight in wanted.items():
        weight.assign(given[key].astype("float32"))


def read_arrays(card: Card, source: str | os.PathLike[str] | None = None) -> dict[str, NDArray[Any]]:
    """The arrays of a preset, once their sha256 is the card's.

    Args:
        card: of the preset. source: file of the weights; None for that of the package, or else for the release's.

    Raises:
        ValueError: if there is no such file, or it is not the one of the card.
    """
    path = expanded(source, "source") if source is not None else FOLDER / f"{card.name}.npz"
    if source is None and not path.exists():
        path = _downloaded(card)
    try:
        content = path.read_bytes()
    except (OSError, ValueError) as error:  # ValueError: NUL in the path
        trouble = error.strerror if isinstance(error, OSError) else error
        raise ValueError(
            f"`source` is the file {card.name}.npz. Received: {path} ({trouble}). Check the path."
        ) from None
    digest, wanted = hashlib.sha256(content).hexdigest(), card.settings["weights"].get("sha256")
    if digest != wanted:
        raise ValueError(
            f"The weights of {card.name} have the sha256 {wanted}. Received: {path}, {len(content):,} bytes with the "
            f"sha256 {digest}. The file is damaged or of another version: install the package again, or give the right "
            "file as `source`."
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
            f"The weights of a preset are NumPy arrays. Received: {path} ({error}). Make the preset anew: {card.make}"
        ) from None


def _downloaded(card: Card) -> Path:
    """The release's file, in Keras's cache."""
    if not ADDRESS:
        raise ValueError(
            f"The weights of {card.name} are too large for the package, and no release has them yet. Received: no "
            f"`source`. Give {card.name}.npz as `source`: the repository has it in docs/presets, and {card.make} makes "
            "it anew."
        )
    import keras

    wanted = card.settings["weights"]
    try:
        return Path(
            keras.utils.get_file(
                f"{card.name}-{wanted['sha256'][:16]}.npz",
                f"{ADDRESS}/{card.name}.npz",
                file_hash=wanted["sha256"],
                hash_algorithm="sha256",
                cache_subdir="keras_interp_rnn",
            )
        )
    except Exception as error:  # get_file raises a bare Exception, and ValueError for another digest
        raise ValueError(
            f"The weights of {card.name} are downloaded from {ADDRESS}. Received: {error}. Download {card.name}.npz "
            "elsewhere and give it as `source`."
        ) from None
