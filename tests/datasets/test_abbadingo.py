import gzip

import pytest

from keras_interp_rnn import datasets

FILE = "4 2\n1 2 b a\n0 0\n1 1 b\n0 1 a\n"


def read(tmp_path, text):
    path = tmp_path / "words.dat"
    path.write_text(text, encoding="utf-8")
    return datasets.abbadingo(path)


def test_words_and_labels_are_read(tmp_path):
    assert read(tmp_path, FILE) == ([("b", "a"), (), ("b",), ("a",)], ["1", "0", "1", "0"])
    packed = tmp_path / "words.dat.gz"
    packed.write_bytes(gzip.compress(("\ufeff" + FILE.replace("\n", "\r\n")).encode()))
    assert datasets.abbadingo(packed) == read(tmp_path, FILE)


@pytest.mark.parametrize("header", ["4 2:0", "4 2:0/0", " 4  2:0 "])
def test_a_header_of_flexfringe_that_announces_no_attributes_is_read(tmp_path, header):
    assert read(tmp_path, FILE.replace("4 2", header, 1)) == read(tmp_path, FILE)


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("", "first line of a file of Abbadingo must have the number of words .* Received: ''"),
        ("4 2:time/f\n", "Received: '4 2:time/f' .* attributes of symbols are not read"),
        ("+ 1 2\n- 2\n", "The first line"),
        (FILE.replace("4 2", "4 2:1", 1), "Received: '4 2:1' .* attributes of symbols are not read"),
        (FILE.replace("4 2", "4 2:0,time/f", 1), "attributes of symbols are not read"),
        (FILE.replace("4 2", "4:0 2", 1), "The first line"),
        (FILE.replace("4 2", "\u0664 2", 1), "The first line"),
        (FILE.replace("1 1 b", "1 \u00b9 b"), "Received: line 4 of"),
        (FILE.replace("1 2 b a", "1 3 b a"), "as many symbols. Received: line 2 of .*, '1 3 b a'"),
        (FILE.replace("0 0", "0"), "Received: line 3 of"),
        (FILE.replace("0 1 a", "-1 1 a"), "must have a label. Received: line 5 of .* with -1"),
        (FILE.replace("1 1 b", "1 1 b/3"), "no attributes. Received: line 4 of .* with 'b/3'"),
        (FILE.removesuffix("0 1 a\n"), "Received: 3 words of 2 symbols in .*, which announces 4 of 2"),
        (FILE.replace("0 1 a", "0 1 c"), "Received: 4 words of 3 symbols"),
    ],
)
def test_files_of_another_form_are_refused_with_the_line(tmp_path, text, rule):
    with pytest.raises(datasets.DataError, match=rule):
        read(tmp_path, text)
