"""TensorFlow Datasets: imported when it is needed, prepared, and read in order."""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from keras_interp_rnn._io import expanded, needed
from keras_interp_rnn.datasets._files import DataError

INFO = "dataset_info.json"
"""The file that TFDS writes last."""


def imported(name: str) -> Any:
    """Imports `tensorflow_datasets`; an ImportError says that `datasets.<name>` needs it, and how to install it."""
    with needed("tensorflow_datasets", extra="datasets", by=f"`datasets.{name}`"):
        import tensorflow_datasets
    return tensorflow_datasets


def prepare(made: Any, quiet: bool = False) -> Any:
    """Prepares the data of a builder, or takes those that another process prepared at the same time.

    A process that is killed before the end leaves a folder `incomplete.*` beside the data, which nobody reads.

    Args:
        made: a builder.
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
            made.download_and_prepare(download_config=tfds.download.DownloadConfig(try_download_gcs=False))
        except OSError:
            if not (Path(made.data_dir) / INFO).is_file():
                raise
            made.info.read_from_directory(made.data_dir)  # another process was the first to move its own there
    if not (Path(made.data_dir) / INFO).is_file():
        raise _damaged(Path(made.data_dir), f"{INFO} is missing")
    return made


def in_order(made: Any, split: str, decoders: Any = None) -> Iterator[Any]:
    """The examples of a split as NumPy, in the order in which they were written.

    Raises:
        DataError: if they are damaged.
    """
    import tensorflow_datasets as tfds

    config = tfds.ReadConfig(interleave_cycle_length=1, try_autocache=False)
    with undamaged(Path(made.data_dir)):
        dataset = made.as_dataset(split=split, decoders=decoders, shuffle_files=False, read_config=config)
    examples = iter(tfds.as_numpy(dataset))
    while True:
        with undamaged(Path(made.data_dir)):
            example = next(examples, None)
        if example is None:
            return
        yield example


def data_root(data_dir: str | os.PathLike[str] | None) -> Path:
    """The folder of prepared data; TFDS's default for None."""
    if data_dir is None:
        data_dir = os.environ.get("TFDS_DATA_DIR") or "~/tensorflow_datasets"
    root = expanded(data_dir, "data_dir")
    if root.exists() and not root.is_dir():
        raise DataError(f"`data_dir` must be a folder. Received: {root}, which is a file. Give a folder for data.")
    return root


@contextlib.contextmanager
def undamaged(folder: Path) -> Iterator[None]:
    """Turns the errors that TFDS raises on damaged data into one that names their folder."""
    from google.protobuf.json_format import ParseError
    from tensorflow.errors import OpError

    try:
        yield
    # AssertionError: the data are of no version or of another one.
    except (OpError, ParseError, AssertionError) as error:
        raise _damaged(folder, error) from error


def _damaged(folder: Path, why: object) -> DataError:
    return DataError(
        f"Prepared data must be readable to their end. Received: those in {folder}, which are not ({why}). Delete this "
        "folder, and they are prepared again."
    )
