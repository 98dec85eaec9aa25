"""Text as symbols, against a mapping one character at a time."""

import codecs
import hashlib
import re
import tracemalloc
import unicodedata
import zipfile
from collections.abc import Callable, Sized
from pathlib import Path

import numpy as np
import pytest

from keras_interp_rnn.datasets import Alphabet, DataError, _files, text
from tests.archives import DAMAGES, packed, spoiled

SAMPLE = " the cat sat on the mat and one two  three"


def slow_clean(raw: str) -> str:
    """text8's mapping, written one character at a time."""
    words = dict(zip("0123456789", "zero one two three four five six seven eight nine".split(), strict=True))
    out = ""
    for character in unicodedata.normalize("NFKD", raw).lower():
        if unicodedata.category(character) == "Mn" and ord(character) < 0x370:
            continue
        mapped = f" {words[character]} " if character in words else character
        for letter in mapped if re.fullmatch("[a-z ]+", mapped) else " ":
            if letter != " " or not out.endswith(" "):
                out += letter
    return out


def write(folder: Path, suffix: str, data: bytes) -> Path:
    """Writes a text, packed by suffix."""
    path = folder / f"sample{suffix}"
    path.write_bytes(packed(data, suffix))
    return path


@pytest.mark.parametrize(
    ("raw", "cleaned"),
    [
        ("", ""),
        ("Hello, World!", "hello world "),
        ("1984", " one nine eight four "),
        ("a1b", "a one b"),
        ("Café Ångström naïve", "cafe angstrom naive"),
        ("e\u0301 x²", "e x two "),
        ("\ufb01n \uff21\uff22 \u212a \u0130", "fin ab k i"),
        ("straße, 日本語—x", "stra e x"),
        (" \n\t\r a  \u00a0 b", " a b"),
        ("?~{[`@", " "),
    ],
)
def test_clean(raw: str, cleaned: str) -> None:
    assert text.clean(raw) == cleaned
    assert text.clean(cleaned) == cleaned


@pytest.mark.parametrize("block", [1, 2, 7, 1 << 20])
def test_clean_equals_the_slow_mapping_wherever_blocks_join(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text, "_BLOCK", block)
    characters = list("abcXYZ 0195  .,-\n\té\u0301\u0308ßΩ日½\ufb01")
    raw = "".join(np.random.default_rng(0).choice(characters, 2000))
    assert text.clean(raw) == slow_clean(raw)


def test_the_digest_is_that_of_the_text_wherever_blocks_join(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text, "_BLOCK", 3)
    assert text.sha256(text.encode("one two")) == hashlib.sha256(b"one two").hexdigest()


def test_encode_and_decode_are_inverse() -> None:
    assert text.ALPHABET == " abcdefghijklmnopqrstuvwxyz"
    symbols = text.encode(SAMPLE)
    assert symbols.dtype == np.uint8
    np.testing.assert_array_equal(symbols, [text.ALPHABET.index(character) for character in SAMPLE])
    np.testing.assert_array_equal(text.encode(SAMPLE.encode("ascii")), symbols)
    assert text.decode(symbols) == SAMPLE
    assert text.decode(symbols.astype(np.int64)) == SAMPLE
    assert text.decode(text.encode("")) == ""


@pytest.mark.parametrize(
    ("raw", "shown", "position"),
    [("aBc", "'B'", 2), (b"ab\n", r"b'\n'", 3), ("abcé", "'é'", 4), ("日", "'日'", 1), ("a?", "'?'", 2)],
)
def test_encode_names_the_first_foreign_character(raw: str | bytes, shown: str, position: int) -> None:
    with pytest.raises(DataError, match=re.escape(f"{shown} at position {position}. Pass the text through `clean`")):
        text.encode(raw)


@pytest.mark.parametrize("symbols", [[0, 27], [-1, 3], [728]])
def test_decode_refuses_what_is_no_symbol(symbols: list[int]) -> None:
    with pytest.raises(DataError, match=rf"`symbols` must lie in \[0, 27\). Received: symbols from {min(symbols)} to"):
        text.decode(np.array(symbols))


@pytest.mark.parametrize("suffix", ["", ".txt", ".gz", ".xz", ".zip", ".ZIP"])
def test_read_maps_a_text_over_the_alphabet_unchanged(suffix: str, tmp_path: Path) -> None:
    symbols = text.read(write(tmp_path, suffix.lower(), SAMPLE.encode()).rename(tmp_path / f"text{suffix}"))
    assert symbols.dtype == np.uint8
    assert text.decode(symbols) == SAMPLE  # two spaces in a row included


@pytest.mark.parametrize("suffix", ["", ".gz", ".xz", ".zip"])
@pytest.mark.parametrize("block", [3, 1 << 20])
def test_read_cleans_any_other_text(suffix: str, block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text, "_BLOCK", block)
    raw = "Ça,  c'est 2 \u00d7 日本\n" * 3
    path = write(tmp_path, suffix, raw.encode("utf-8") + b"the\xffend")
    with pytest.warns(UserWarning, match="not in utf-8 throughout .*0xff.* Pass its encoding, such as 'latin-1'"):
        assert text.decode(text.read(path)) == slow_clean(raw) + "the end"


ENCODINGS = ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be"]


def marked(raw: str, encoding: str) -> bytes:
    """The text as a file with its byte order mark, in both orders; UTF-8 with and without one."""
    return (raw if encoding in ("utf-8", "utf-8-sig", "utf-16", "utf-32") else "\ufeff" + raw).encode(encoding)


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("block", [3, 1 << 20])
def test_the_byte_order_mark_decides_the_encoding(
    encoding: str, block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text, "_BLOCK", block)
    path = write(tmp_path, "", marked("Hello,\r\nÇa \U0001f600", encoding))
    assert text.decode(text.read(path)) == "hello ca "
    assert text.load(path) == "Hello,\nÇa \U0001f600"


def test_bytes_against_the_byte_order_mark_are_replaced(tmp_path: Path) -> None:
    path = write(tmp_path, "", codecs.BOM_UTF16_LE + "a\ud800b".encode("utf-16-le", "surrogatepass") + b"x")
    with pytest.warns(UserWarning, match="not in utf-16 throughout"):
        assert text.decode(text.read(path)) == "a b "
    with pytest.warns(UserWarning, match="what cannot be decoded is replaced"):
        assert text.load(path).count("\ufffd") == 2


@pytest.mark.parametrize("mark", [codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF32_BE])
def test_a_mark_alone_is_an_empty_file(mark: bytes, tmp_path: Path) -> None:
    path = write(tmp_path, "", mark)
    with pytest.raises(DataError, match=r"at least one character. Received: .*, an empty file. Give another"):
        text.load(path)
    with pytest.raises(DataError, match="must contain a letter a-z or a digit"):
        text.read(path)


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16-le", "utf-32-be"])
@pytest.mark.parametrize("raw", ["le café est fermé", "hello"])
def test_a_file_in_another_encoding_is_read_by_its_name(encoding: str, raw: str, tmp_path: Path) -> None:
    path = write(tmp_path, "", raw.encode(encoding))
    assert text.load(path, encoding=encoding) == raw
    assert text.decode(text.read(path, encoding=encoding)) == text.clean(raw)
    if not raw.isascii() or encoding.startswith("utf"):
        with pytest.warns(UserWarning, match="is not in utf-8 throughout"):
            text.load(path)


def test_an_unknown_encoding_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="`encoding` must be one that Python knows. Received: encoding='klingon'"):
        text.load(write(tmp_path, "", b"a"), encoding="klingon")


@pytest.mark.parametrize("suffix", ["", ".gz", ".xz", ".zip"])
def test_a_text_is_loaded_unchanged(suffix: str, tmp_path: Path) -> None:
    path = write(tmp_path, suffix, "NAME:\n\tO, 3\r\r\nend \xe9".encode() + b"\xff")
    with pytest.warns(UserWarning, match="not in utf-8 throughout"):
        assert text.load(path) == "NAME:\n\tO, 3\n\nend é\ufffd"
    for read in (text.load, text.read):
        with pytest.raises(DataError, match=r"at least one character. Received: .*, an empty file. Give another"):
            read(write(tmp_path, suffix, b""))


def test_a_text_of_one_digit_is_read(tmp_path: Path) -> None:
    assert text.decode(text.read(write(tmp_path, "", b"7"))) == " seven "


def test_read_takes_the_only_text_of_a_zip(tmp_path: Path) -> None:
    def many(**texts: str) -> Path:
        with zipfile.ZipFile(tmp_path / "many.zip", "w") as archive:
            archive.writestr("folder/", "")
            for name in ("folder/picture.png", "__MACOSX/folder/text", "folder/.DS_Store"):
                archive.writestr(name, "longer than either of the texts")
            for name, content in texts.items():
                archive.writestr(name, content)
        return tmp_path / "many.zip"

    assert text.decode(text.read(many(large="the large one"))) == "the large one"
    with pytest.raises(DataError, match=r"no suffix or ends in \.txt.*\['small.txt', 'large'\]. Unpack it"):
        text.read(many(**{"small.txt": "small"}, large="the large one"))


def test_read_needs_a_text_in_a_zip(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "none.zip", "w") as archive:
        archive.writestr("one.png", "a")
        archive.writestr("two.png", "b")
    with pytest.raises(DataError, match=r"no suffix or ends in \.txt.*\['one.png', 'two.png'\]. Unpack it"):
        text.read(tmp_path / "none.zip")


def test_read_refuses_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(
        DataError, match=r"`path` must be a file. Received: .*nowhere\.txt, which does not exist\. Check the path"
    ):
        text.read(tmp_path / "nowhere.txt")
    with pytest.raises(DataError, match=r"`path` must be a file.*which is a folder\. Give a file inside it"):
        text.read(tmp_path)


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("a" * 5_000, r"`path` must be a file\. Received: a+, which does not exist"),
        ("a\x00b", r"`path` must be a file\. Received: a\x00b, which does not exist"),
        (
            "~nosuchuser/x",
            r"must be a path whose ~ is the home folder of a user\. Received: path='~nosuchuser/x'\. Write",
        ),
    ],
)
def test_a_path_that_no_file_can_have_is_refused(path: str, message: str) -> None:
    for read in (text.load, text.read, Alphabet.load):
        with pytest.raises(ValueError, match=message):
            read(path)


@pytest.mark.filterwarnings("ignore:.* is not in utf-16 throughout")
@pytest.mark.parametrize("data", [b"   ", b"\n\n", "日本語".encode(), b"\xff\xfe\xfd", b"?!"])
def test_read_refuses_a_text_without_letters_and_digits(data: bytes, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"must contain a letter a-z or a digit. Received: .*Give a text in Latin"):
        text.read(write(tmp_path, "", data))


@pytest.mark.parametrize("suffix", [".gz", ".xz", ".zip"])
@pytest.mark.parametrize("damage", ["truncated", "flipped", "foreign"])
def test_read_needs_an_archive_that_unpacks(suffix: str, damage: str, tmp_path: Path) -> None:
    words = np.random.default_rng(0).choice(list(text.ALPHABET), 50_000)
    path = write(tmp_path, suffix, "".join(words).encode())
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0xFF
    path.write_bytes(
        {"truncated": path.read_bytes()[: len(data) // 2], "flipped": data, "foreign": b"plain text"}[damage]
    )
    with pytest.raises(
        DataError, match=r"decompress to its end. Received: .*truncated, damaged or encrypted: download"
    ):
        text.read(path)


@pytest.mark.core
@pytest.mark.parametrize("damage", DAMAGES)
def test_read_needs_a_zip_whose_directory_is_whole(damage: str, tmp_path: Path) -> None:
    path = write(tmp_path, ".zip", b"one two")
    path.write_bytes(spoiled(path.read_bytes(), damage))
    with pytest.raises(DataError, match="decompress to its end. Received: .*truncated, damaged or encrypted"):
        text.read(path)


@pytest.mark.parametrize("reader", [text.read, text.load])
@pytest.mark.parametrize("suffix", [".gz", ".xz", ".zip"])
def test_a_packed_text_unpacks_no_further_than_is_allowed(
    suffix: str, reader: Callable[[Path], Sized], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    size = 50_000
    path = write(tmp_path, suffix, b"a" * size)
    for allowed in (size, size - 1):
        monkeypatch.setattr(_files, "LARGEST", allowed)
        if allowed < size:
            message = rf"decompress to at most 49,999 bytes. Received: .*{suffix}, with more. If you trust it"
            with pytest.raises(DataError, match=message):
                reader(path)
        else:
            assert len(reader(path)) == size
    plain = write(tmp_path, "", b"a" * size)
    assert len(reader(plain)) == size  # what lies unpacked may be as large as it is


def test_read_takes_little_more_memory_than_the_text(tmp_path: Path) -> None:
    path = write(tmp_path, "", SAMPLE.encode() * (16 << 14))
    tracemalloc.start()
    try:
        symbols = text.read(path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 1.5 * len(symbols)


def test_python_documentation(monkeypatch: pytest.MonkeyPatch) -> None:
    symbols = text.python_documentation()
    assert symbols.dtype == np.uint8
    assert len(symbols) > 200_000
    np.testing.assert_array_equal(np.unique(symbols), np.arange(27))
    monkeypatch.setattr("pydoc_data.topics.topics", {"b": "Second.", "a": "First 1."})
    assert text.decode(text.python_documentation()) == "first one second "


@pytest.mark.parametrize("size", [40, 101, 1000])
def test_split_is_contiguous_views(size: int) -> None:
    symbols = np.arange(size) % 27
    parts = text.split(symbols)
    np.testing.assert_array_equal(np.concatenate(parts), symbols)
    assert all(np.shares_memory(part, symbols) for part in parts)
    for part, fraction in zip(parts, (0.9, 0.05, 0.05), strict=True):
        assert abs(len(part) - fraction * size) <= 1


def test_split_of_text8_is_the_papers() -> None:
    whole = np.broadcast_to(np.uint8(0), 100_000_000)
    assert [len(part) for part in text.split(whole)] == [90_000_000, 5_000_000, 5_000_000]
    assert [len(part) for part in text.split(whole[:100], (0.5, 0.3, 0.2))] == [50, 30, 20]


def test_split_needs_two_symbols_a_part() -> None:
    with pytest.raises(DataError, match=r"at least two symbols. Received: 20 symbols, split into 18, 1 and 1."):
        text.split(np.zeros(20, np.uint8))


@pytest.mark.parametrize("fractions", [(0.5, 0.5, 0.5), (1.0, 0.0, 0.0), (0.5, 0.5), (1.5, -0.25, -0.25)])
def test_split_needs_three_fractions(fractions: tuple[float, float, float]) -> None:
    with pytest.raises(
        ValueError, match=r"`fractions` must be three positive numbers that sum to 1. Received: fractions="
    ):
        text.split(np.zeros(100, np.uint8), fractions)


@pytest.mark.parametrize("size", [0, 1, 2, 7, 8])
def test_pairs(size: int) -> None:
    symbols = np.random.default_rng(size).integers(0, 27, size).astype(np.uint8)
    pairs = text.pairs(symbols)
    assert pairs.dtype == np.uint16
    np.testing.assert_array_equal(pairs, [27 * int(symbols[i]) + int(symbols[i + 1]) for i in range(0, size - 1, 2)])
    np.testing.assert_array_equal(text.pairs(np.array([26, 26], np.uint8)), [728])


@pytest.mark.parametrize("symbols", [[0, 27], [-1, 3]])
def test_pairs_are_of_symbols_of_the_alphabet(symbols):
    with pytest.raises(ValueError, match=r"`symbols` must lie in \[0, 27\). Received: symbols from"):
        text.pairs(np.array(symbols))
