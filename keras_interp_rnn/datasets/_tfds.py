"""TensorFlow Datasets: imported when it is needed, prepared, and read in order."""

from __future__ import annotations

import contextlib
import io
import os
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from keras_interp_rnn.datasets._files import TextError


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


def reach(url: str) -> None:
    """Raises OSError where there is no network, within ten seconds; TFDS tries for three minutes."""
    with contextlib.suppress(urllib.error.HTTPError):  # an answer, if not a good one: TFDS will say
        # Not HEAD: where an address leads on to signed ones, these may be signed for GET alone.
        urllib.request.urlopen(url, timeout=10).close()


def download_errors() -> tuple[type[Exception], ...]:
    """What TFDS raises where there is no network, no such page, or a file with another checksum."""
    import tensorflow_datasets as tfds
    from tensorflow_datasets.core.download.download_manager import NonMatchingChecksumError

    return OSError, tfds.download.DownloadError, NonMatchingChecksumError


def published(name: str, split: str, data_dir: str | os.PathLike[str] | None, module: str, remedy: str) -> Any:
    """The examples of a split of one of TFDS's own datasets as NumPy, downloaded and prepared if need be.

    Args:
        name: of the dataset in TFDS.
        split: in TFDS's notation.
        data_dir: where prepared data lie; TFDS's own default.
        module: `datasets.<module>` reads it.
        remedy: what to do where it cannot be downloaded, as a sentence.

    Raises:
        ImportError: if `tensorflow_datasets` is missing.
        TextError: if the data cannot be downloaded.
    """
    tfds = imported(module)
    made = tfds.builder(name, data_dir=None if data_dir is None else Path(data_dir).expanduser(), try_gcs=False)
    if not Path(made.data_dir).is_dir():
        urls = list(made.url_infos or {})
        try:
            if urls and not (Path(made.data_dir_root) / "downloads" / name).is_dir():
                reach(urls[0])
            made.download_and_prepare(download_config=tfds.download.DownloadConfig(try_download_gcs=False))
        except download_errors() as error:
            raise TextError(
                f"TensorFlow Datasets cannot download {name} from {', '.join(urls)} ({error}). {remedy}"
            ) from error
    return in_order(made, split)
