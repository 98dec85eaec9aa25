"""TFDS builder of text8, or of another text in its place: symbols, in text order, in chunks."""

import hashlib
import os
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import tensorflow_datasets as tfds
from numpy.typing import NDArray

from keras_interp_rnn.datasets import text
from keras_interp_rnn.datasets._files import DataError, existing_file

__all__ = ["CHUNK", "Builder"]

URL = "http://mattmahoney.net/dc/text8.zip"
SHA256 = "6e890197040d37d85beb962ae1f041ff1d9a9ca8d20c7d99c85027eebf51dca7"
"""That of the text."""

CHUNK = 100_000


class Builder(tfds.core.GeneratorBasedBuilder):
    """text8, or another text instead of it, one example per chunk of `CHUNK` characters.

    Args:
        source: a text file to read instead of the download. Its data are stored in a folder of `data_dir` named by its
            sha256.
        data_dir: folder of prepared data.
        **kwargs: as `tfds.core.GeneratorBasedBuilder`.

    Raises:
        datasets.DataError: if `source` is not a file.

    Reference: Mikolov et al., Subword language modeling with neural networks, 2012, for the split.
    """

    VERSION = tfds.core.Version("1.0.0")
    RELEASE_NOTES: ClassVar[dict[str, str]] = {"1.0.0": "Initial release."}
    MANUAL_DOWNLOAD_INSTRUCTIONS = f"Put {URL} there."

    def __init__(
        self, *, source: str | os.PathLike[str] | None = None, data_dir: str | os.PathLike[str], **kwargs: object
    ) -> None:
        self._source = None if source is None else existing_file(source, "source")
        if self._source is not None:
            data_dir = Path(data_dir) / f"source-{hashlib.sha256(self._source.read_bytes()).hexdigest()[:12]}"
        super().__init__(data_dir=data_dir, **kwargs)

    def _info(self) -> tfds.core.DatasetInfo:
        symbols = tfds.features.Tensor(shape=(None,), dtype=np.uint8, encoding=tfds.features.Encoding.BYTES)
        return tfds.core.DatasetInfo(
            builder=self,
            description="100,000,000 characters of English Wikipedia (March 2006), reduced to a-z and space.",
            features=tfds.features.FeaturesDict({"symbols": symbols}),
            disable_shuffling=True,
            homepage="http://mattmahoney.net/dc/textdata.html",
            license="CC BY-SA 3.0, GFDL",
            citation="@misc{mahoney2006, title={About the Test Data}, author={Mahoney, Matt}, year={2006}}",
        )

    def _split_generators(self, dl_manager: tfds.download.DownloadManager) -> dict[str, Any]:
        manual = dl_manager.download_dir / "manual" / "text8.zip"
        path = self._source or (Path(manual) if manual.exists() else _download(dl_manager))
        symbols = text.read(path)
        if self._source is None and (sha256 := text.sha256(symbols)) != SHA256:
            raise DataError(
                f"text8 must have the sha256 {SHA256}. Received: {path}, with the sha256 {sha256}. Download {URL} "
                "again, or give another text as `source`."
            )
        parts = zip(("train", "validation", "test"), text.split(symbols), strict=True)
        return {name: self._generate_examples(part) for name, part in parts}

    def _generate_examples(self, symbols: NDArray[np.uint8]) -> Iterator[tuple[int, dict[str, NDArray[np.uint8]]]]:
        for key, start in enumerate(range(0, len(symbols), CHUNK)):
            yield key, {"symbols": symbols[start : start + CHUNK]}


def _download(dl_manager: tfds.download.DownloadManager) -> Path:
    """Downloads text8; the error has the folder for a manual download."""
    try:
        if not any((dl_manager.download_dir / Builder.name).glob("*.zip")):
            # TFDS retries for three minutes before it reports a missing network. This fails at once.
            urllib.request.urlopen(urllib.request.Request(URL, method="HEAD"), timeout=10).close()
        return Path(dl_manager.download(URL))
    except (OSError, tfds.download.DownloadError) as error:
        raise DataError(
            f"text8 must be downloadable from {URL}. Received: {error}. Download it by other means and put it into "
            f"{dl_manager.download_dir / 'manual'}, or give any text file as `source`."
        ) from error
