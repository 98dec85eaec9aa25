"""Imports TensorFlow Datasets on demand, prepares data, and reads them in order."""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from keras_interp_rnn._checks import expanded_path
from keras_interp_rnn._io import needed
from keras_interp_rnn.datasets._files import DataError

INFO = "dataset_info.json"
"""The file that TFDS writes last."""


def imported(name: str) -> Any:
    """Imports `tensorflow_datasets`; the ImportError names `datasets.<name>` and the extra to install."""
    with needed("tensorflow_datasets", extra="datasets", by=f"`datasets.{name}`"):
        import tensorflow_datasets
    return tensorflow_datasets


def prepare(builder: Any, quiet: bool = False) -> Any:
    """Prepares the data of a builder, unless another process prepares them at the same time.

    A killed process leaves a folder `incomplete.*` next to the data, which is never read.

    Args:
        builder: of TFDS.
        quiet: whether to suppress the progress bars and messages of TFDS, for data that are not downloaded.

    Returns:
        The builder.
    """
    import tensorflow_datasets as tfds

    with contextlib.ExitStack() as stack:
        if quiet:
            stack.enter_context(contextlib.redirect_stderr(io.StringIO()))
            stack.enter_context(contextlib.redirect_stdout(io.StringIO()))
        try:
            builder.download_and_prepare(download_config=tfds.download.DownloadConfig(try_download_gcs=False))
        except OSError:
            if not (Path(builder.data_dir) / INFO).is_file():
                raise
            builder.info.read_from_directory(builder.data_dir)  # another process was faster
    if not (Path(builder.data_dir) / INFO).is_file():
        raise _damaged(Path(builder.data_dir), f"{INFO} is missing")
    return builder


def in_order(builder: Any, split: str, decoders: Any = None) -> Iterator[Any]:
    """Yields the examples of a split as NumPy arrays, in the order in which they were written.

    Raises:
        DataError: if they are damaged.
    """
    import tensorflow_datasets as tfds

    config = tfds.ReadConfig(interleave_cycle_length=1, try_autocache=False)
    with undamaged(Path(builder.data_dir)):
        dataset = builder.as_dataset(split=split, decoders=decoders, shuffle_files=False, read_config=config)
    examples = iter(tfds.as_numpy(dataset))
    while True:
        with undamaged(Path(builder.data_dir)):
            example = next(examples, None)
        if example is None:
            return
        yield example


def data_root(data_dir: str | os.PathLike[str] | None) -> Path:
    """The folder of prepared data; None stands for TFDS's default."""
    if data_dir is None:
        data_dir = os.environ.get("TFDS_DATA_DIR") or "~/tensorflow_datasets"
    root = expanded_path("data_dir", data_dir)
    if root.exists() and not root.is_dir():
        raise DataError(f"`data_dir` must be a folder. Received: {root}, which is a file. Give a folder for data.")
    return root


@contextlib.contextmanager
def undamaged(folder: Path) -> Iterator[None]:
    """Converts errors of TFDS on damaged data into one that names their folder."""
    from google.protobuf.json_format import ParseError
    from tensorflow.errors import OpError

    try:
        yield
    # AssertionError: the data have no version or another one.
    except (OpError, ParseError, AssertionError) as error:
        raise _damaged(folder, error) from error


def _damaged(folder: Path, why: object) -> DataError:
    return DataError(
        f"Prepared data must be readable to their end. Received: those in {folder} ({why}). Delete this folder to "
        "prepare them again."
    )
