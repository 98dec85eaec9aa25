"""Words, their ids, and the reviews of IMDB as they lie in a folder."""

import numpy as np
import pytest

from keras_interp_rnn.datasets import imdb, text, words


@pytest.mark.parametrize(
    ("sentence", "tokens"),
    [
        ("Skip it!<br /><br/>It isn't good... 3/10", ["skip", "it", "!", "it", "isn't", "good", "...", "3", "/", "10"]),
        ("rock'n'roll -- \"quoted\"", ["rock'n", "'", "roll", "-", "-", '"', "quoted", '"']),
        ("caf\u00e9 \u2013 na\u00efve", ["caf\u00e9", "\u2013", "na\u00efve"]),
        ("", []),
    ],
)
def test_tokens(sentence, tokens):
    assert words.tokenize(sentence) == tokens


TEXTS = [["b", "a", "b"], ["c", "a", "d", "b"]]


def test_the_commonest_words_have_ids_and_ties_go_by_the_alphabet():
    found = words.Vocabulary.of(TEXTS, 7)
    assert found.names == ("<pad>", "<unk>", "<s>", "</s>", "b", "a", "c")
    assert len(found) == 7
    with pytest.raises(ValueError, match="holds 4 ids besides its words. Received: size=4"):
        words.Vocabulary.of(TEXTS, 4)


def test_texts_become_rows_with_start_and_end_and_padding():
    found = words.Vocabulary.of(TEXTS, 7)
    assert found.encode(TEXTS, 7).tolist() == [[2, 4, 5, 4, 3, 0, 0], [2, 6, 5, 1, 4, 3, 0]]
    assert found.encode(TEXTS, 4).tolist() == [[2, 5, 4, 3], [2, 1, 4, 3]], "the last words are kept"
    assert found.encode(TEXTS, 4, end=False).tolist() == [[2, 4, 5, 4], [2, 5, 1, 4]]
    assert found.encode(TEXTS, 7).dtype == np.int32


def test_reviews_as_files(tmp_path):
    for label, name in enumerate(imdb.CLASSES):
        folder = tmp_path / "test" / name
        folder.mkdir(parents=True)
        for i in range(2):
            (folder / f"{i}_{7 * label}.txt").write_text(f"review {name} {i}")
    texts, labels = imdb.read(tmp_path, "test")
    assert texts == ["review neg 0", "review neg 1", "review pos 0", "review pos 1"]
    assert labels.tolist() == [0, 0, 1, 1]
    with pytest.raises(text.TextError, match=r"no reviews in .*neither train/neg/\*.txt nor train-neg.tsv"):
        imdb.read(tmp_path, "train")
    with pytest.raises(ValueError, match="split must be 'train' or 'test'. Received: 'valid'"):
        imdb.read(tmp_path, "valid")


def test_reviews_as_tables(tmp_path):
    (tmp_path / "train-neg.tsv").write_text("0\t1\tvery \u0085 bad\n1\t2\tbad\n")
    (tmp_path / "train-pos.tsv").write_text("0\t9\tgood\n")
    texts, labels = imdb.read(tmp_path, "train")
    assert texts == ["very \u0085 bad", "bad", "good"]
    assert labels.tolist() == [0, 0, 1]
    (tmp_path / "train-pos.tsv").write_text("0\t9\tgood\nbroken\n")
    with pytest.raises(text.TextError, match=r"train-pos.tsv, line 2, with 1 fields. Mend or remove it"):
        imdb.read(tmp_path, "train")
