"""What every loader says of a `source` or `data_dir` that is no path."""

from collections.abc import Callable
from typing import Any

import pytest

from keras_interp_rnn import datasets

LOADERS: dict[str, Callable[..., Any]] = {
    "imdb": lambda **where: datasets.imdb.load("train", **where),
    "interactions": lambda **where: datasets.interactions.load(*where.values()),
    "lm1b": lambda **where: datasets.lm1b.load("train", **where),
    "mlregtest": lambda **where: datasets.mlregtest.load("train", language="04.04.SL.2.1.0", **where),
    "mnist": lambda **where: datasets.mnist.load("train", **where),
    "newsgroups20": lambda **where: datasets.newsgroups20.load("train", **where),
    "pautomac": lambda **where: datasets.pautomac.load("train", problem=1, **where),
    "text": lambda **where: datasets.text.load(*where.values()),
    "text8": lambda **where: datasets.text8.load("train", **where),
}


@pytest.mark.parametrize("loader", LOADERS)
@pytest.mark.parametrize("value", [3, "", b"folder"])
def test_a_source_is_a_path(loader: str, value: Any) -> None:
    with pytest.raises(ValueError, match=r"A path is a string, not empty, or a pathlib\.Path\. Received: "):
        LOADERS[loader](source=value)


@pytest.mark.parametrize("loader", ["imdb", "lm1b", "mnist", "newsgroups20", "text8"])
@pytest.mark.parametrize("value", [3, ""])
def test_a_folder_of_prepared_data_is_a_path(loader: str, value: Any) -> None:
    with pytest.raises(ValueError, match=r"A path is a string, .* Received: data_dir="):
        LOADERS[loader](data_dir=value)
