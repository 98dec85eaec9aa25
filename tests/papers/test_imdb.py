"""Which reviews are of one film."""

import numpy as np
import pytest

from examples.papers import imdb
from examples.papers.data import imdb as reviews


def archive(folder, ids, lines=12):
    """An unpacked archive with these ids; reviews 10 and 2 of either class are of one film."""
    for name in reviews.CLASSES:
        (folder / "train" / name).mkdir(parents=True)
        for number in ids:
            (folder / "train" / name / f"{number}_7.txt").write_text(f"{name} {number}")
        films = [
            "http://www.imdb.com/title/tt0001/usercomments" if i in (2, 10) else f"{name}{i}" for i in range(lines)
        ]
        (folder / "train" / f"urls_{name}.txt").write_text("\n".join(films) + "\n")
    return folder


def test_films_are_those_of_the_addresses_in_the_order_of_the_reviews(tmp_path):
    folder = archive(tmp_path, [2, 7, 10])
    texts, _ = reviews.load("train", source=folder)
    assert texts == ["neg 10", "neg 2", "neg 7", "pos 10", "pos 2", "pos 7"]  # by the names of the files
    held_out, films = imdb.films(folder)
    assert held_out == "films"
    np.testing.assert_array_equal(films, [0, 0, 1, 0, 0, 2])


def test_a_list_of_addresses_that_is_too_short(tmp_path):
    with pytest.raises(ValueError, match="urls_neg.txt of 3 lines, and a review with the id 10. Unpack"):
        imdb.films(archive(tmp_path, [2, 10], lines=3))


def test_without_addresses_neighbouring_ids_stand_for_films(tmp_path):
    for name in reviews.CLASSES:
        rows = [f"{number}_7\t7\ttext {number}" for number in (0, 49, 50, 130)]
        (tmp_path / f"train-{name}.tsv").write_text("\n".join(rows) + "\n")
    held_out, films = imdb.films(tmp_path)
    assert held_out == "blocks of 50 ids"
    np.testing.assert_array_equal(films, [0, 0, 1, 2, 0, 0, 1, 2])


def test_without_ids_reviews_are_held_out_one_by_one():
    assert imdb.films(None) == ("reviews", None)
