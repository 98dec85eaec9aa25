"""TensorFlow Datasets: imported when it is needed, prepared, and read in order."""

from __future__ import annotations

import contextlib
import io
import os
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from keras_interp_rnn._io import needed
from keras_interp_rnn.datasets._files import DataError, given_path

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
    root = given_path(data_dir, "data_dir")
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


def reach(url: str) -> None:
    """Raises OSError where there is no network, within ten seconds; TFDS tries for three minutes."""
    with contextlib.suppress(urllib.error.HTTPError):  # an answer, if not a good one: TFDS will say
        # Not HEAD: where an address leads on to signed ones, these may be signed for GET alone.
        urllib.request.urlopen(url, timeout=10).close()


def download_errors() -> tuple[type[Exception], ...]:
    """The errors that TFDS raises if there is no network, no such page, or a file with another checksum."""
    import tensorflow_datasets as tfds
    from tensorflow_datasets.core.download.download_manager import NonMatchingChecksumError

    return OSError, tfds.download.DownloadError, NonMatchingChecksumError


def published(name: str, split: str, data_dir: str | os.PathLike[str] | None, module: str, remedy: str) -> Any:
    """The examples of a split of one of TFDS's own datasets as NumPy, downloaded and prepared if necessary.

    Args:
        name: of the dataset in TFDS.
        split: in TFDS's notation.
        data_dir: folder of prepared data; None for TFDS's default.
        module: `datasets.<module>` reads the dataset.
        remedy: a sentence that says what to do if it cannot be downloaded.

    Raises:
        ImportError: if `tensorflow_datasets` is missing.
        DataError: if the data cannot be downloaded, or are damaged.
    """
    tfds = imported(module)
    root = data_root(data_dir)
    with undamaged(root / name):
        made = tfds.builder(name, data_dir=None if data_dir is None else root, try_gcs=False)
    if not Path(made.data_dir).is_dir():
        urls = list(made.url_infos or {})
        try:
            if urls and not (Path(made.data_dir_root) / "downloads" / name).is_dir():
                reach(urls[0])
            prepare(made)
        except download_errors() as error:
            raise DataError(
                f"TensorFlow Datasets cannot download {name} from {', '.join(urls)} ({error}). {remedy}"
            ) from error
    return in_order(made, split)
