"""The reviews of IMDB from TFDS; from a folder, see test_words.py."""

import sys
import urllib.error
import urllib.request
from pathlib import Path

import numpy as np
import pytest

from keras_interp_rnn.datasets import DataError, _tfds, imdb


def test_reviews_of_tfds_negative_ones_first(monkeypatch: pytest.MonkeyPatch) -> None:
    def published(name, split, data_dir, module, remedy):
        assert (name, split, data_dir, module) == ("imdb_reviews", "test", "here", "imdb")
        reviews = [("good", 1), ("bad", 0), ("caf\u00e9", 1), ("worse", 0), ("fine", 1)]
        return [{"text": review.encode(), "label": np.int64(label)} for review, label in reviews]

    monkeypatch.setattr(_tfds, "published", published)
    texts, labels = imdb.load("test", data_dir="here")
    assert texts == ["bad", "worse", "good", "caf\u00e9", "fine"]
    assert labels.tolist() == [0, 0, 1, 1, 1]
    assert labels.dtype == np.int32


def test_a_split_is_checked_before_anything_is_downloaded() -> None:
    with pytest.raises(ValueError, match=r"`split` must be one of \['train', 'test'\]. Received: 'unsupervised'"):
        imdb.load("unsupervised")


def test_without_network_it_points_at_a_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def unreachable(*args: object, **kwargs: object) -> None:
        raise urllib.error.URLError("no network")

    monkeypatch.setattr(urllib.request, "urlopen", unreachable)
    message = r"cannot download imdb_reviews from http.*no network.*Unpack aclImdb_v1.tar.gz of https:.*as `source`"
    with pytest.raises(DataError, match=message):
        imdb.load("train", data_dir=tmp_path)


def test_without_tfds_it_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tensorflow_datasets", None)
    with pytest.raises(ImportError, match=r"^`datasets.imdb` needs.*pip install 'keras_interp_rnn\[datasets\]'$"):
        imdb.load("train")
