"""text8: 100 MB of English Wikipedia over 27 symbols, read through TFDS as one array.

    train = text8.load("train")                        # uint8 (90000000,)
    pairs = text8.load("test", config="pairs")         # uint16 (2500000,)
    mine = text8.load("train", source="my_text.txt.gz")
    text8.info(source="my_text.txt.gz")["whole_text8"] # False

The first call prepares the data: from the file `source` if you pass one, otherwise from a file in
`<data_dir>/downloads/manual` (text8.zip, text8.xz, ...), otherwise from a download. The data of a file are stored in a
folder named by its sha256, so that two files never share prepared data. The split is 90 : 5 : 5 by characters, in text
order, as in Mikolov et al. (2012).
"""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from keras_interp_rnn._checks import choice
from keras_interp_rnn.datasets import _tfds

if TYPE_CHECKING:
    from keras_interp_rnn.datasets.text8.text8_dataset_builder import Builder

__all__ = ["builder", "info", "load"]

PathLike = str | os.PathLike[str]


def builder(config: str = "chars", *, source: PathLike | None = None, data_dir: PathLike | None = None) -> "Builder":
    """Prepares the data, and returns their TFDS builder.

    Args:
        config: "chars" for 27 symbols, "pairs" for 729.
        source: a text file, plain or compressed (.gz, .xz, .zip), to read instead of text8; None for text8.
        data_dir: folder of prepared data; None for the environment variable TFDS_DATA_DIR, or ~/tensorflow_datasets.

    Returns:
        The builder, for `as_dataset` and the other methods of TFDS.

    Raises:
        ImportError: if `tensorflow_datasets` is missing.
        ValueError: if `config` is unknown.
        datasets.DataError: if the text is missing, damaged or too short.

    Example:

    >>> from keras_interp_rnn.datasets import text8
    >>> builder = text8.builder("chars", source="my_text.txt")
    >>> sorted(builder.info.splits)
    ['test', 'train', 'validation']
    """
    _tfds.imported("text8")
    from keras_interp_rnn.datasets.text8.text8_dataset_builder import Builder, manual_file

    choice("config", config, sorted(Builder.builder_configs))
    root = _tfds.data_root(data_dir)
    source = manual_file(root / "downloads" / "manual") if source is None else source
    text8 = Builder(config=config, source=source, data_dir=root)
    _tfds.prepare(text8, quiet=source is not None)
    return text8


def load(
    split: str, *, source: PathLike | None = None, data_dir: PathLike | None = None, config: str = "chars"
) -> NDArray[Any]:
    """Loads a split as one array, in text order.

    Args:
        split: "train", "validation" or "test", or a slice of one in TFDS's notation ("train[:10%]"), cut between chunks
            of 100,000 characters.
        source: as `builder`.
        data_dir: as `builder`.
        config: as `builder`.

    Returns:
        uint8 (num_characters,) in [0, 27), or uint16 (num_pairs,) in [0, 729).

    Raises:
        ImportError: if `tensorflow_datasets` is missing.
        ValueError: if `split` or `config` is unknown.
        datasets.DataError: if the text is missing, damaged or too short.

    Example:

    >>> from keras_interp_rnn.datasets import text, text8
    >>> text.decode(text8.load("train", source="my_text.txt")[:11])
    'all and one'
    >>> text8.load("validation", source="my_text.txt", config="pairs").dtype
    dtype('uint16')
    """
    made = builder(config, source=source, data_dir=data_dir)
    import tensorflow_datasets as tfds  # after `builder`, whose error names the extra to install

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


def info(config: str = "chars", *, source: PathLike | None = None, data_dir: PathLike | None = None) -> dict[str, Any]:
    """Describes the text from which the data were prepared.

    Args:
        config: as `builder`.
        source: as `builder`.
        data_dir: as `builder`.

    Returns:
        - name: "text8", or the file name of another text without its last suffix;
        - source: the name of the file;
        - sha256: of the file;
        - text_sha256: of the text, decompressed and cleaned;
        - characters: their number in all three splits;
        - whole_text8: whether the text is text8 itself.

    Raises:
        ImportError: if `tensorflow_datasets` is missing.
        ValueError: if `config` is unknown.
        datasets.DataError: if the text is missing, damaged or too short.

    Example:

    >>> from keras_interp_rnn.datasets import text8
    >>> about = text8.info(source="my_text.txt")
    >>> about["name"], about["whole_text8"]
    ('my_text', False)
    """
    metadata = dict(builder(config, source=source, data_dir=data_dir).info.metadata)
    return {"name": "text8" if metadata["whole_text8"] else Path(metadata["source"]).stem, **metadata}
