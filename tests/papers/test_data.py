"""The papers' data sets: their publishers' formats are read right, and what is damaged is one clear error."""

import collections
import gzip
import io
import itertools
import lzma
import re
import struct
import tarfile
from pathlib import Path

import numpy as np
import pytest

from examples.papers.data import _sources, imdb, interactions, mlregtest, mnist, newsgroups20
from keras_interp_rnn.automata import DFA
from keras_interp_rnn.datasets import DataError

IMAGES = np.random.default_rng(0).integers(0, 256, (5, 28, 28), np.uint8)
DIGITS = np.array([3, 1, 4, 9, 0], np.uint8)
EVEN = DFA([[1, 0, 0], [0, 1, 1]], {0}, alphabet="abc")


def att(dfa: DFA) -> bytes:
    """An AT&T table, whose first line names the start: state 0."""
    edges = [(state, target, symbol) for (state, target), symbols in dfa.edges().items() for symbol in symbols]
    lines = [f"{state}\t{target}\t{symbol}\t{symbol}" for state, target, symbol in sorted(edges)]
    return "\n".join([*lines, *map(str, sorted(dfa.accepting))]).encode()


NO_AB = DFA.from_regex("(a|b)*ab(a|b)*", "ab").complement().minimize()


def idx(*header: int, values: np.ndarray) -> bytes:
    return struct.pack(f">{len(header)}I", *header) + values.tobytes()


POSTS = {
    f"20news-bydate-{split}/{group}/{n}": f"From: a\n\nCaf\u00e9 {group} {n}.\n\n-- \nAnn\n".encode("latin-1")
    for split in ("train", "test")
    for group in newsgroups20.CLASSES
    for n in (1000, 7, 999)
}
FILES = {
    "reviews": {
        "train/neg/10_2.txt": b"ten",
        "train/neg/2_1.txt": "caf\u00e9".encode(),
        "train/pos/0_9.txt": b"good",
        "train/urls_neg.txt": b"none",
    },
    "tables": {"train-neg.tsv": "0\t1\tvery \u0085 bad\n1\t2\tbad\n".encode(), "train-pos.tsv": b"0\t9\tgood\n"},
    "mnist": {
        "train-images-idx3-ubyte": idx(2051, 5, 28, 28, values=IMAGES),
        "train-labels-idx1-ubyte": idx(2049, 5, values=DIGITS),
        "t10k-images-idx3-ubyte": idx(2051, 4, 28, 28, values=IMAGES[1:]),
        "t10k-labels-idx1-ubyte": idx(2049, 4, values=DIGITS[1:]),
    },
    "20news": {**POSTS, "20news-bydate-train/sci.med/._7": b"none", "20news-bydate-train/.DS_Store": b"none"},
    "mlregtest": {"04.04.A.att": att(EVEN), "04.04.B.att": att(EVEN.complement())},
}


def write(folder: Path, files: dict[str, bytes]) -> Path:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


def pack(path: Path, files: dict[str, bytes], prefix: str = "any/folder/") -> Path:
    with tarfile.open(path, f"w:{path.suffix[1:]}".replace(":tar", ":")) as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(prefix + name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return path


@pytest.fixture(params=["folder", "all.tar", "all.tar.gz", "all.tar.xz"])
def given(request, tmp_path):
    """Writes the files of a data set as a folder, or as an archive of it."""

    def give(name: str) -> Path:
        return (write if request.param == "folder" else pack)(tmp_path / request.param, FILES[name])

    return give


def test_reviews(given):
    texts, labels = imdb.load("train", source=given("reviews"))
    assert texts == ["ten", "caf\u00e9", "good"]  # by the names of the files
    assert (labels.tolist(), labels.dtype) == ([0, 0, 1], np.int32)


def test_tables_of_reviews(given):
    texts, labels = imdb.load("train", source=given("tables"))
    assert (texts, labels.tolist()) == (["very \u0085 bad", "bad", "good"], [0, 0, 1])


def test_digits(given, tmp_path):
    packed = write(tmp_path / "packed", {f"{name}.gz": gzip.compress(one) for name, one in FILES["mnist"].items()})
    for source in (given("mnist"), packed):
        for split, first in (("train", 0), ("test", 1)):
            images, labels = mnist.load(split, source=source)
            np.testing.assert_array_equal(images, IMAGES[first:])
            assert (labels.tolist(), labels.dtype) == (DIGITS[first:].tolist(), np.int32)


def test_downloaded_digits(tmp_path, monkeypatch):
    monkeypatch.setattr(mnist, "downloaded", lambda url, sha256: tmp_path / "mnist.npz")
    np.savez(tmp_path / "mnist.npz", x_test=IMAGES, y_test=DIGITS, allow_pickle=False)
    images, labels = mnist.load("test")
    np.testing.assert_array_equal(images, IMAGES)
    assert (labels.tolist(), labels.dtype) == (DIGITS.tolist(), np.int32)


@pytest.mark.parametrize("split", ["train", "test"])
def test_posts_by_group_and_number(given, split):
    source = given("20news")
    texts, labels = newsgroups20.load(split, source=source)
    wanted = [f"20news-bydate-{split}/{group}/{n}" for group in newsgroups20.CLASSES for n in (7, 999, 1000)]
    assert texts == [POSTS[name].decode("latin-1") for name in wanted]
    assert labels.tolist() == [i for i in range(20) for _ in range(3)]
    assert newsgroups20.load(split, source=source, headers=False)[0][0] == "Caf\u00e9 alt.atheism 7."


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ("One.\nTwo.", "One.\nTwo."),
        ("One.\n\n-- \nAnn\n\nUtrecht", "One."),
        ("One.\n\n----\nAnn\n----\n", "One."),
        ("One.\n\nTwo.\n\nAnn\nUtrecht\n", "One.\n\nTwo."),
        ("One.\n\n" + "Two.\n" * 5, "One.\n\n" + "Two.\n" * 4 + "Two."),
        ("One.\n--\n" + "Two.\n" * 11, "One.\n--\n" + "Two.\n" * 10 + "Two."),
        ("-- \nAnn", "-- \nAnn"),
        ("> -- \n> Bob\nNo.", "> -- \n> Bob\nNo."),
        ("", ""),
    ],
)
def test_the_body_of_a_post(written, kept):
    assert newsgroups20.body(f"From: a@b.c\nSubject: x\n \t\n{written}") == kept


def one_edit_apart(one, other):
    """By all edits of the shorter, or of one of two words of a length."""
    short, long = sorted((one, other), key=len)
    if len(short) == len(long):
        return sum(a != b for a, b in zip(short, long, strict=True)) == 1
    return short in {long[:i] + long[i + 1 :] for i in range(len(long))}


@pytest.mark.parametrize("split", mlregtest.SPLITS)
def test_words_of_a_language(tmp_path, split):
    source = write(tmp_path, FILES["mlregtest"])
    found = mlregtest.load(split, language="04.04.A", source=source, num_words=200, seed=1)
    assert (len(found), found.positives, found.alphabet) == (200, 100, "abc")
    assert [EVEN.accepts(word) for word in found.words] == found.labels.tolist()
    lengths = range(31, 51) if split.startswith("long") else range(20, 30)
    counts = collections.Counter(map(len, found.words))
    assert set(counts) <= set(lengths)
    if split.endswith("adversarial"):
        assert all(map(one_edit_apart, found.words[::2], found.words[1::2]))
        assert (found.labels[::2] != found.labels[1::2]).all()
    else:
        assert set(counts.values()) == {200 // len(lengths)}
    again, other = (mlregtest.load(split, language="04.04.A", source=source, num_words=200, seed=s) for s in (1, 7))
    assert again.words == found.words != other.words


def test_no_word_of_a_test_is_trained_on(given):
    source = given("mlregtest")
    assert mlregtest.languages(source=source) == ("04.04.A", "04.04.B")
    words = {
        split: mlregtest.load(split, language="04.04.B", source=source, num_words=400).words
        for split in mlregtest.SPLITS
    }
    seen = {*words.pop("train")}
    assert seen.isdisjoint(words["validation"])
    seen |= {*words.pop("validation")}
    assert all(seen.isdisjoint(of_split) and len({*of_split}) == len(of_split) for of_split in words.values())


@pytest.mark.parametrize("label", [True, False])
def test_words_are_uniform_among_those_of_a_label(label):
    """Each of the words of six symbols as often as the others, by a chi-squared bound."""
    words = mlregtest.Sampler(NO_AB).words(label, 6, 20_000, np.random.default_rng(1))
    every = {word for word in itertools.product((0, 1), repeat=6) if NO_AB.accepts(["ab"[i] for i in word]) == label}
    counts = collections.Counter(map(tuple, words.tolist()))
    assert set(counts) == every
    expected = 20_000 / len(every)
    assert sum((counts[word] - expected) ** 2 / expected for word in every) < len(every) + 5 * (2 * len(every)) ** 0.5


def test_a_language_of_few_words_gives_those(tmp_path):
    (tmp_path / "few.att").write_bytes(att(DFA.from_regex("b*a*", "ab")))  # length + 1 of each length
    found = mlregtest.load("short_random", language="few", source=tmp_path, num_words=200)
    assert len(set(found.words)) == len(found)
    assert 0 < found.positives < 100  # 21 to 30 words of each length, less those of the other splits


EVENTS = b"ann milk\nbob milk\nann bread\nbob eggs\nann milk\nann eggs\ncy bread\n"
SEQUENCES = b"ann milk bread milk eggs\nbob milk eggs\ncy bread\n"
TIMED = b"bob eggs 7\nann milk 3\nann bread 1\nbob milk 7.5\nann eggs 1e6\n"


def by_user(data):
    """Names of every user's items."""
    return [[data.names[i - 1] for i in data.items[a:b]] for a, b in itertools.pairwise(data.starts)]


@pytest.mark.parametrize("content", [EVENTS, SEQUENCES, EVENTS.replace(b" ", b"\t"), lzma.compress(EVENTS)])
def test_interactions_of_events_and_of_sequences(tmp_path, content):
    (tmp_path / "file").write_bytes(content)
    data = interactions.load(tmp_path / "file")
    assert by_user(data) == [["milk", "bread", "milk", "eggs"], ["milk", "eggs"], ["bread"]]
    assert data.gaps is None
    assert (data.names[0], data.items.min()) == ("milk", 1)  # the most frequent; 0 is left for padding
    train, validation, test = data.leave_one_out(max_length=2)
    assert train.lengths.tolist() == [2, 2, 1]
    assert [data.names[i - 1] for i in (*validation.targets, *test.targets)] == ["milk", "eggs"]
    last = test.histories.padded(np.array([0]))["items"][0]
    assert [data.names[i - 1] for i in last] == ["bread", "milk"]


def test_times_put_interactions_in_order_and_give_gaps(tmp_path):
    (tmp_path / "timed.gz").write_bytes(gzip.compress(TIMED))
    data = interactions.load(tmp_path / "timed.gz")
    assert by_user(data) == [["bread", "milk", "eggs"], ["eggs", "milk"]]
    # 2 s lie in [2, 4), bucket 2; 999,997 s in [2^19, 2^20), bucket 20; half a second counts as one.
    assert data.gaps.tolist() == [0, 2, 20, 0, 1]


def test_training_batches_cover_every_history_once_in_another_order_each_epoch():
    train, _, _ = interactions.generate(num_items=50, num_users=23, length=8).leave_one_out()
    batches = interactions.TrainingBatches(train, batch_size=5, seed=3)
    epochs = []
    for _ in range(2):
        epochs.append([batches[i] for i in range(len(batches))])
        batches.on_epoch_end()
    for inputs, targets in epochs[0]:
        np.testing.assert_array_equal(inputs["items"][:, 1:], targets[:, :-1])
    rows = [[tuple(row) for _, targets in epoch for row in targets] for epoch in epochs]
    assert rows[0] != rows[1]
    expected = sorted(map(tuple, train.padded(np.arange(23))["items"][:, 1:]))
    assert sorted(rows[0]) == sorted(rows[1]) == expected


@pytest.mark.parametrize("seed", range(5))
def test_keras_reads_batches_of_all_lengths(tmp_path, seed):
    lines = [" ".join(map(str, [user, *range(5)])) for user in range(30)] + ["more " + " ".join(map(str, range(9)))]
    (tmp_path / "file").write_text("\n".join(lines))
    train, _, _ = interactions.load(tmp_path / "file").leave_one_out(max_length=6)
    batches = interactions.TrainingBatches(train, batch_size=4, seed=seed)
    assert len({batches[i][1].shape[1] for i in (0, 1)}) == 2, "Keras would take the length of these two for all"


LOADERS = {
    "reviews": lambda source: imdb.load("train", source=source),
    "tables": lambda source: imdb.load("train", source=source),
    "mnist": lambda source: mnist.load("train", source=source),
    "20news": lambda source: newsgroups20.load("test", source=source),
    "mlregtest": lambda source: mlregtest.load("train", language="04.04.A", source=source, num_words=20),
    "interactions": lambda source: interactions.load(source / "file" if source.is_dir() else source),
}
IMAGES_FILE, LABELS_FILE = list(FILES["mnist"])[:2]
DAMAGES = [
    ("reviews", "train/neg/2_1.txt", b"caf\xe9", "neg/2_1.txt must hold reviews in UTF-8"),
    ("tables", "train-pos.tsv", b"0\t9\tgood\nbroken\n", "train-pos.tsv must hold"),
    ("mnist", IMAGES_FILE, b"", "images-idx3-ubyte must hold an array"),
    ("mnist", IMAGES_FILE, FILES["mnist"][LABELS_FILE], "images-idx3-ubyte must hold an array"),
    ("mnist", IMAGES_FILE, idx(2052, 5, 28, 28, values=IMAGES), r"begins with \[2052, 5, 28, 28\]"),
    ("mnist", IMAGES_FILE, idx(2051, 5, 14, 56, values=IMAGES), r"begins with \[2051, 5, 14, 56\]"),
    ("mnist", IMAGES_FILE, FILES["mnist"][IMAGES_FILE][:-1], "cannot reshape"),
    ("mnist", IMAGES_FILE, idx(2051, 2**32 - 1, 28, 28, values=IMAGES), "cannot reshape"),
    ("mnist", IMAGES_FILE, FILES["mnist"]["t10k-images-idx3-ubyte"], "5 labels up to 9 of 4 images"),
    ("mnist", LABELS_FILE, idx(2049, 5, values=DIGITS + np.uint8(1)), "5 labels up to 10"),
    ("mnist", IMAGES_FILE, gzip.compress(FILES["mnist"][IMAGES_FILE])[:-20], "readable to its end.*idx3-ubyte, which"),
    ("20news", "20news-bydate-test/sci.math/1", b"a", r"each of the 20 groups.*\['sci.math'\]"),
    ("mlregtest", "04.04.A.att", b"0 1 a\n0 x y z w v u", "04.04.A.att must hold an automaton"),
    ("mlregtest", "04.04.A.att", b"0\t0\taa\taa\n0\n", "one-character symbols"),
    ("mlregtest", "04.04.A.att", b"0\t0\ta\ta\n0\n", "Choose another language"),
    ("interactions", "file", b"\n \n", "a line of 0 fields"),
    ("interactions", "file", b"a 1\nb\nc 2\n", "a line of 1 fields"),
    ("interactions", "file", b"a 1 2\nb 1\na 3 4 5\n", "some of one user"),
    ("interactions", "file", b"a x 3\nb y noon\n", "noon"),
    ("interactions", "file", b"a x inf\nb y 3\n", "no number of seconds"),
    ("interactions", "file", b"a caf\xe9\n", "UTF-8"),
]


@pytest.mark.parametrize(("name", "file", "content", "message"), DAMAGES)
def test_a_damaged_file_is_named(tmp_path, name, file, content, message):
    write(tmp_path, {**FILES.get(name, {}), file: content})
    with pytest.raises(DataError, match=message) as caught:
        LOADERS[name](tmp_path)
    assert re.search(r"must .* Received: .* (again|another language)\.$", str(caught.value))


@pytest.mark.parametrize("name", LOADERS)
def test_a_source_that_is_missing_or_another(tmp_path, name):
    (tmp_path / "text").write_text("no archive")
    for source, message in (
        (tmp_path / "nowhere", "`source` must be a file or folder. Received: .*nowhere, which does not exist"),
        (
            tmp_path / "empty",
            r"must be (a file or folder|a folder with .*, or an archive of it\. Received: .*which has none)",
        ),
    ):
        (tmp_path / "empty").mkdir(exist_ok=True)
        with pytest.raises(DataError, match=message):
            LOADERS[name](source)


@pytest.mark.parametrize("kind", ["gz", "xz"])
@pytest.mark.parametrize("place", [0.3, 0.8, -8])
def test_a_damaged_archive_is_refused(tmp_path, kind, place):
    path = pack(tmp_path / f"all.tar.{kind}", {"x.txt": np.random.default_rng(0).bytes(20_000), "last": b""})
    assert len(_sources.files(path, "x.txt", what="")["x.txt"]) == 20_000
    damaged = bytearray(path.read_bytes())
    damaged[int(place * len(damaged)) if place > 0 else place] ^= 1
    path.write_bytes(damaged)
    with pytest.raises(DataError, match="must be readable to its end. Received: .*Download it again"):
        _sources.files(path, "x.txt", what="")
    path.write_text("no archive")
    with pytest.raises(DataError, match="must be readable to its end"):
        _sources.files(path, "x.txt", what="")


@pytest.mark.parametrize("load", [imdb.load, mnist.load, newsgroups20.load])
def test_without_network_it_says_where_the_data_are(load, monkeypatch):
    def unreachable(**arguments):
        assert len(arguments["file_hash"]) == 64
        raise Exception("URL fetch failure")  # as Keras raises it

    monkeypatch.setattr("keras.utils.get_file", unreachable)
    with pytest.raises(DataError, match=r"Received: URL fetch failure. Get http.*by other means .*`source`\.$"):
        load("train")
