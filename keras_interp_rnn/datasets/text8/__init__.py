"""text8: 100 MB of English Wikipedia over 27 symbols, read through TFDS as one array.

    train = text8.load("train")                        # uint8 (90000000,)
    mine = text8.load("train", source="my_text.txt.gz")

The first call prepares the data: from the file `source` if you pass one, otherwise from text8.zip in
`<data_dir>/downloads/manual`, otherwise from a download. The data of a file are stored in a folder named by its sha256,
so that two files never share prepared data. The split is 90 : 5 : 5 by characters, in text order, as in Mikolov et al.
(2012).
"""

import contextlib
import io
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from keras_interp_rnn._checks import expanded_path
from keras_interp_rnn._io import needed
from keras_interp_rnn.datasets._files import DataError

if TYPE_CHECKING:
    from keras_interp_rnn.datasets.text8.text8_dataset_builder import Builder

__all__ = ["builder", "load"]

PathLike = str | os.PathLike[str]


def builder(*, source: PathLike | None = None, data_dir: PathLike | None = None) -> "Builder":
    """Prepares the data, and returns their TFDS builder.

    Args:
        source: a text file, plain or compressed (.gz, .xz, .zip), to read instead of text8; None for text8.
        data_dir: folder of prepared data; None for the environment variable TFDS_DATA_DIR, or ~/tensorflow_datasets.

    Returns:
        The builder, for `as_dataset` and the other methods of TFDS.

    Raises:
        ImportError: if `tensorflow_datasets` is missing.
        datasets.DataError: if the text is missing, damaged or too short.

    Example:

    >>> from keras_interp_rnn.datasets import text8
    >>> builder = text8.builder(source="my_text.txt")
    >>> sorted(builder.info.splits)
    ['test', 'train', 'validation']
    """
    with needed("tensorflow_datasets", extra="datasets", by="`datasets.text8`"):
        import tensorflow_datasets as tfds
    from keras_interp_rnn.datasets.text8.text8_dataset_builder import Builder

    if data_dir is None:
        data_dir = os.environ.get("TFDS_DATA_DIR") or "~/tensorflow_datasets"
    root = expanded_path("data_dir", data_dir)
    if root.exists() and not root.is_dir():
        raise DataError(f"`data_dir` must be a folder. Received: {root}, which is a file. Give a folder for data.")
    with _undamaged(root):
        text8 = Builder(source=source, data_dir=root)
    with contextlib.ExitStack() as quiet:
        if source is not None:  # nothing that takes long
            for redirect in (contextlib.redirect_stderr, contextlib.redirect_stdout):
                quiet.enter_context(redirect(io.StringIO()))
        text8.download_and_prepare(download_config=tfds.download.DownloadConfig(try_download_gcs=False))
    return text8


def load(split: str, *, source: PathLike | None = None, data_dir: PathLike | None = None) -> NDArray[np.uint8]:
    """Loads a split as one array, in text order. `text.pairs` joins every two of its characters.

    Args:
        split: "train", "validation" or "test", or a slice of one in TFDS's notation ("train[:10%]"), cut between chunks
            of 100,000 characters.
        source: as `builder`.
        data_dir: as `builder`.

    Returns:
        uint8 (num_characters,) in [0, 27).

    Raises:
        ImportError: if `tensorflow_datasets` is missing.
        ValueError: if `split` is unknown.
        datasets.DataError: if the text is missing, damaged or too short.

    Example:

    >>> from keras_interp_rnn.datasets import text, text8
    >>> text.decode(text8.load("train", source="my_text.txt")[:11])
    'all and one'
    """
    made = builder(source=source, data_dir=data_dir)
    import tensorflow_datasets as tfds

    config = tfds.ReadConfig(interleave_cycle_length=1, try_autocache=False)  # in the order of writing
    raw = {"symbols": tfds.decode.SkipDecoding()}  # TFDS's own decoding logs a deprecation of TFDS
    with _undamaged(Path(made.data_dir)):
        examples = made.as_dataset(split=split, decoders=raw, shuffle_files=False, read_config=config)
        return np.concatenate([np.frombuffer(each["symbols"], np.uint8) for each in tfds.as_numpy(examples)])


@contextlib.contextmanager
def _undamaged(folder: Path) -> Iterator[None]:
    """Converts errors of TFDS on damaged data into one that names their folder."""
    from google.protobuf.json_format import ParseError
    from tensorflow.errors import OpError

    try:
        yield
    # AssertionError: the data have no version or another one.
    except (OpError, ParseError, AssertionError) as error:
        raise DataError(
            f"Prepared data must be readable to their end. Received: those in {folder} ({error}). Delete this folder "
            "to prepare them again."
        ) from error
