"""Errors of loaders for a `source` or `data_dir` that is not a path."""

from collections.abc import Callable
from typing import Any

import pytest

from keras_interp_rnn import datasets

LOADERS: dict[str, Callable[..., Any]] = {
    "text": lambda **where: datasets.text.load(*where.values()),
    "text8": lambda **where: datasets.text8.load("train", **where),
}


@pytest.mark.parametrize("loader", LOADERS)
@pytest.mark.parametrize("value", [3, "", b"folder"])
def test_a_source_is_a_path(loader: str, value: Any) -> None:
    with pytest.raises(ValueError, match=r"must be a path: a string, not empty, or a pathlib\.Path\. Received: "):
        LOADERS[loader](source=value)


@pytest.mark.parametrize("value", [3, ""])
def test_a_folder_of_prepared_data_is_a_path(value: Any) -> None:
    with pytest.raises(ValueError, match=r"`data_dir` must be a path: .* Received: data_dir="):
        LOADERS["text8"](data_dir=value)
