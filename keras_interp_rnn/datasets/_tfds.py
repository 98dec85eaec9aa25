"""TensorFlow Datasets: imported when it is needed, prepared, and read in order."""

from __future__ import annotations

import contextlib
import io
from typing import Any


def imported(name: str) -> Any:
    """`tensorflow_datasets`; an ImportError says that `datasets.<name>` needs it, and how to install it."""
    try:
        import tensorflow_datasets
    except ImportError as error:
        raise ImportError(
            f"`datasets.{name}` needs tensorflow_datasets ({error}): pip install keras_interp_rnn[datasets]"
        ) from error
    return tensorflow_datasets


def prepare(made: Any) -> Any:
    """Prepares a builder that makes its data in seconds, without a progress bar for each split; returns it."""
    import tensorflow_datasets as tfds

    with contextlib.redirect_stderr(io.StringIO()):
        made.download_and_prepare(download_config=tfds.download.DownloadConfig(try_download_gcs=False))
    return made


def in_order(made: Any, split: str, decoders: Any = None) -> Any:
    """The examples of a split as NumPy, in the order in which they were written."""
    import tensorflow_datasets as tfds

    config = tfds.ReadConfig(interleave_cycle_length=1, try_autocache=False)
    return tfds.as_numpy(made.as_dataset(split=split, decoders=decoders, shuffle_files=False, read_config=config))
