"""TFDS builder of text8: a text as symbols, in text order, in chunks.

The text comes from the first of these that exists:

1. the file given as `source`;
2. the first of `MANUAL_FILES` in `manual_dir`;
3. the download.

The first two can be any text file: it is read by `datasets.text.read` and split 90 : 5 : 5 like text8. The metadata
describe it: name and sha256 of the file, sha256 and length of the text, and whether it is text8 itself. A text with the
length of text8 and its name or opening, but another sha256, raises an error.
"""

import hashlib
import os
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import tensorflow_datasets as tfds
from numpy.typing import NDArray

from keras_interp_rnn.datasets import _tfds, text
from keras_interp_rnn.datasets._files import DataError, existing_file

__all__ = ["CHUNK", "MANUAL_FILES", "Builder", "manual_file"]

URL = "http://mattmahoney.net/dc/text8.zip"
CHARACTERS = 100_000_000
SHA256 = "6e890197040d37d85beb962ae1f041ff1d9a9ca8d20c7d99c85027eebf51dca7"
OPENING = " anarchism originated as a term of abuse first used against early working class radicals"

CHUNK = 100_000

MANUAL_FILES = (
    "text8.zip",
    "text8",
    "text8.txt",
    "text8.gz",
    "text8.xz",
    "text8.prefix",
    "text8.prefix.gz",
    "text8.prefix.xz",
)

_DTYPES = {"chars": np.uint8, "pairs": np.uint16}


class Builder(tfds.core.GeneratorBasedBuilder):
    """text8, or another text instead of it, one example per chunk of `CHUNK` characters.

    With a `source`, the data are stored in a folder of `data_dir` named by the sha256 of the file, so that two sources
    never share prepared data. Without one, prepared data are reused, as everywhere in TFDS.

    Args:
        source: a text file to read instead of the download.
        data_dir: folder of prepared data; None for TFDS's default.
        **kwargs: as `tfds.core.GeneratorBasedBuilder`; `config` is "chars" or "pairs".

    Raises:
        datasets.DataError: if `source` is not a file.

    Reference: Mikolov et al., Subword language modeling with neural networks, 2012, for the split.
    """

    VERSION = tfds.core.Version("1.0.0")
    RELEASE_NOTES: ClassVar[dict[str, str]] = {"1.0.0": "Initial release."}
    BUILDER_CONFIGS: ClassVar[list[tfds.core.BuilderConfig]] = [
        tfds.core.BuilderConfig(name="chars", description="27 symbols: space and a to z."),
        tfds.core.BuilderConfig(name="pairs", description="729 symbols: two characters a, b become 27 a + b."),
    ]
    MANUAL_DOWNLOAD_INSTRUCTIONS = f"Put {URL} there, or another text under one of the names {MANUAL_FILES}."

    def __init__(
        self,
        *,
        source: str | os.PathLike[str] | None = None,
        data_dir: str | os.PathLike[str] | None = None,
        **kwargs: Any,
    ) -> None:
        self._source = None if source is None else existing_file(source, "source")
        if self._source is not None:
            data_dir = _tfds.data_root(data_dir) / f"source-{_file_sha256(self._source)[:12]}"
        with _tfds.undamaged(_tfds.data_root(data_dir) / self.name):
            super().__init__(data_dir=data_dir, **kwargs)

    def _info(self) -> tfds.core.DatasetInfo:
        symbols = tfds.features.Tensor(
            shape=(None,),
            dtype=_DTYPES[self.builder_config.name],
            encoding=tfds.features.Encoding.BYTES,
        )
        return tfds.core.DatasetInfo(
            builder=self,
            description="100,000,000 characters of English Wikipedia (March 2006), reduced to a-z and space.",
            features=tfds.features.FeaturesDict({"symbols": symbols}),
            disable_shuffling=True,
            homepage="http://mattmahoney.net/dc/textdata.html",
            license="CC BY-SA 3.0, GFDL",
            citation="@misc{mahoney2006, title={About the Test Data}, author={Mahoney, Matt}, year={2006}}",
            metadata=tfds.core.MetadataDict(),
        )

    def _split_generators(self, dl_manager: tfds.download.DownloadManager) -> dict[str, Any]:
        path = self._source or _manual_file(dl_manager) or _download(dl_manager)
        symbols = text.read(path)
        self.info.metadata.update(_record(path, symbols))
        parts = zip(("train", "validation", "test"), text.split(symbols), strict=True)
        return {name: self._generate_examples(part) for name, part in parts}

    def _generate_examples(self, symbols: NDArray[np.uint8]) -> Iterator[tuple[int, dict[str, NDArray[Any]]]]:
        for key, start in enumerate(range(0, len(symbols), CHUNK)):
            chunk = symbols[start : start + CHUNK]
            yield key, {"symbols": text.pairs(chunk) if self.builder_config.name == "pairs" else chunk}


def manual_file(folder: Path) -> Path | None:
    """The first of `MANUAL_FILES` in a folder, or None."""
    return next((folder / name for name in MANUAL_FILES if (folder / name).is_file()), None)


def _manual_file(dl_manager: tfds.download.DownloadManager) -> Path | None:
    try:
        return manual_file(Path(dl_manager.manual_dir))
    except AssertionError:  # raised by TFDS if the folder is missing or empty
        return None


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


def _record(path: Path, symbols: NDArray[np.uint8]) -> dict[str, Any]:
    """Describes a text; DataError if it claims to be text8 and is not."""
    sha256 = text.sha256(symbols)
    whole = sha256 == SHA256
    claims = path.name.split(".")[0] == "text8" or text.decode(symbols[: len(OPENING)]) == OPENING
    if len(symbols) == CHARACTERS and claims and not whole:
        raise DataError(
            f"text8 must have the sha256 {SHA256}. Received: {path}, with its length and its name or opening, but "
            f"the sha256 {sha256}. Download {URL} again, or rename the file if it is another text."
        )
    return {
        "source": path.name,
        "sha256": _file_sha256(path),
        "text_sha256": sha256,
        "characters": len(symbols),
        "whole_text8": whole,
    }


def _file_sha256(path: Path) -> str:
    sha256 = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(1 << 20):
            sha256.update(block)
    return sha256.hexdigest()
