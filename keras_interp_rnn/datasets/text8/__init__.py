"""text8: 100 MB of English Wikipedia over 27 symbols, read through TFDS as one array.

    train = text8.load("train")                        # uint8 (90000000,)
    pairs = text8.load("test", config="pairs")         # uint16 (2500000,)
    own = text8.load("train", source="my_text.txt.gz")
    text8.info(source="my_text.txt.gz")["whole_text8"] # False

The first call prepares the data, from the file given as `source`, else from a file put into
`<data_dir>/downloads/manual` by hand (text8.zip, text8.xz, ...), else from the download. Data of a file lie
in a folder named by its sha256, so another file never gets the data of the first. The split is 90 : 5 : 5 by
characters, in text order, as in Mikolov et al. (2012).
"""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from keras_interp_rnn.datasets import _tfds

if TYPE_CHECKING:
    from keras_interp_rnn.datasets.text8.text8_dataset_builder import Builder

__all__ = ["builder", "info", "load"]

PathLike = str | os.PathLike[str]


def builder(config: str = "chars", source: PathLike | None = None, data_dir: PathLike | None = None) -> "Builder":
    """Returns the TFDS builder, its data prepared.

    Args:
        config: "chars", 27 symbols, or "pairs", 729.
        source: a text file, plain, .gz, .xz or .zip, in place of text8.
        data_dir: where prepared data lie; by default the environment variable TFDS_DATA_DIR, or
            ~/tensorflow_datasets.

    Returns:
        The builder, for `as_dataset` and everything else TFDS does.

    Raises:
        ImportError: if `tensorflow_datasets` is missing.
        ValueError: if `config` is unknown.
        datasets.text.TextError: if the text is missing, damaged or too short.
    """
    _tfds.imported("text8")
    from keras_interp_rnn.datasets.text8.text8_dataset_builder import Builder, manual_file

    if config not in Builder.builder_configs:
        raise ValueError(
            f"`config` is one of {sorted(Builder.builder_configs)}. Received: {config!r}. Choose one of them."
        )
    source = source or manual_file(_tfds.data_root(data_dir) / "downloads" / "manual")
    made = Builder(config=config, source=source, data_dir=_tfds.data_root(data_dir))
    return _tfds.prepare(made, quiet=source is not None)


def load(
    split: str, config: str = "chars", source: PathLike | None = None, data_dir: PathLike | None = None
) -> NDArray[Any]:
    """Returns a split as one array, in text order.

    Args:
        split: "train", "validation" or "test", or a slice of one in TFDS's notation ("train[:10%]"), cut
            between chunks of 100,000 characters.
        config: as `builder`.
        source: as `builder`.
        data_dir: as `builder`.

    Returns:
        uint8 (characters,) in [0, 27), or uint16 (pairs,) in [0, 729).

    Raises:
        ImportError, ValueError, datasets.text.TextError: as `builder`.
    """
    made = builder(config, source, data_dir)
    import tensorflow_datasets as tfds  # after `builder`, which says what to install where it is missing

    from keras_interp_rnn.datasets.text8.text8_dataset_builder import CHUNK

    raw = {"symbols": tfds.decode.SkipDecoding()}  # TFDS's own decoding logs a deprecation of TFDS
    dtype = np.dtype(made.info.features["symbols"].np_dtype)
    symbols = np.empty(made.info.splits[split].num_examples * CHUNK // dtype.itemsize, dtype)
    filled = 0
    for example in _tfds.in_order(made, split, raw):
        chunk = np.frombuffer(example["symbols"], dtype)
        symbols[filled : filled + len(chunk)] = chunk
        filled += len(chunk)
    return symbols[:filled]


def info(config: str = "chars", source: PathLike | None = None, data_dir: PathLike | None = None) -> dict[str, Any]:
    """Says what text the data were prepared from.

    Args:
        config: as `builder`.
        source: as `builder`.
        data_dir: as `builder`.

    Returns:
        name: "text8", or another text's file name without its last ending; source: the file's name; sha256: of the
        file; text_sha256: of the text, unpacked and cleaned; characters: in all three splits; whole_text8: whether the
        text is text8 itself.

    Raises:
        ImportError, ValueError, datasets.text.TextError: as `builder`.
    """
    found = dict(builder(config, source, data_dir).info.metadata)
    return {"name": "text8" if found["whole_text8"] else Path(found["source"]).stem, **found}
