"""Character text as symbols: any text, for a `datasets.Alphabet`, or over the 27 symbols of text8.

`load` and `split` take any text. All other functions use the 27 symbols: symbol 0 is the space and
symbol i the i-th letter, so `letter & 31` maps ASCII to symbols. `clean` maps any text to this alphabet as text8
does: it lower-cases letters, spells out digits, and replaces everything else by a space, without two spaces in a row.
It processes blocks of a million characters, with the same result as for the whole text.

Accents are removed first, whereas text8 has spaces in place of accented letters. Letters without a decomposition (ß, ø,
æ, Cyrillic, Chinese) become spaces here too.
"""

import codecs
import hashlib
import itertools
import math
import os
import re
import unicodedata
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from keras_interp_rnn._checks import integers, invalid
from keras_interp_rnn._results import nth
from keras_interp_rnn._types import AnyArray
from keras_interp_rnn.datasets._files import DataError, existing_file, unpacked

__all__ = [
    "ALPHABET",
    "clean",
    "decode",
    "encode",
    "load",
    "pairs",
    "python_documentation",
    "read",
    "sha256",
    "split",
]

ALPHABET = " abcdefghijklmnopqrstuvwxyz"
"""The 27 letters; symbol i is `ALPHABET[i]`."""

_OF_CODE = np.full(256, len(ALPHABET), np.uint8)
_OF_CODE[[*ALPHABET.encode("ascii")]] = range(len(ALPHABET))

_BLOCK = 1 << 20
_MARKED = (  # the mark of UTF-32 begins with that of UTF-16
    *((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF32_LE, "utf-32"), (codecs.BOM_UTF32_BE, "utf-32")),
    *((codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16")),
)
_DIGITS = tuple(
    (str(digit).encode("ascii"), f" {word} ".encode("ascii"))
    for digit, word in enumerate("zero one two three four five six seven eight nine".split())
)
_KEPT = ALPHABET.encode("ascii") + b"0123456789"
_LOWER = bytes(code if code in _KEPT else ord(" ") for code in bytes(range(256)).lower())
_ACCENTS = re.compile("[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]+")


def clean(text: str) -> str:
    """Maps any text to the 27 symbols, as text8 does.

    Accents are removed by compatibility decomposition (NFKD): "É" becomes "e", "²" becomes " two ". Spaces at both
    ends are kept. A clean text is returned unchanged.

    Args:
        text: any text.

    Returns:
        The text over `ALPHABET`, without two spaces in a row.

    Example:

    >>> clean("Café 12, please")
    'cafe one two please'
    """
    return _clean(text[start : start + _BLOCK] for start in range(0, len(text), _BLOCK)).decode("ascii")


def encode(text: str | bytes) -> NDArray[np.uint8]:
    """Maps a text over the space and a to z to symbols.

    Args:
        text: characters, or ASCII bytes, all of them in `ALPHABET`.

    Returns:
        uint8 (num_characters,), symbols in [0, 27).

    Raises:
        datasets.DataError: if a character is not in the alphabet; it names the first one.

    Example:

    >>> encode("a cab")
    array([1, 0, 3, 1, 2], dtype=uint8)
    """
    raw = text if isinstance(text, bytes) else text.encode("ascii", "replace")
    symbols = _OF_CODE[np.frombuffer(raw, np.uint8)]
    foreign = symbols == len(ALPHABET)
    if foreign.any():
        position = int(foreign.argmax())
        raise DataError(
            "`text` must consist of the 27 characters a-z and space. Received: "
            f"{text[position : position + 1]!r} at {nth('position', position)}. Pass the text through `clean` first."
        )
    return symbols


def decode(symbols: ArrayLike) -> str:
    """Maps symbols back to characters, the inverse of `encode`.

    Args:
        symbols: integers (num_characters,), in [0, 27).

    Returns:
        The text.

    Raises:
        datasets.DataError: if a symbol is out of range.

    Example:

    >>> decode([1, 0, 3, 1, 2])
    'a cab'
    """
    remedy = "Divide pairs into symbols first: `pair // 27, pair % 27`."
    found = integers("symbols", symbols, below=len(ALPHABET), remedy=remedy, error=DataError)
    letters: bytes = np.frombuffer(ALPHABET.encode("ascii"), np.uint8)[found].tobytes()
    return letters.decode("ascii")


def read(path: str | os.PathLike[str], *, encoding: str = "utf-8") -> NDArray[np.uint8]:
    """Reads a text file as symbols for the space and a to z.

    A file of these characters alone is mapped unchanged; any other is decoded and cleaned. Undecodable bytes become
    spaces, with a warning. From a .zip with several files it reads the only one whose name has no suffix or ends
    in .txt.

    Args:
        path: a plain file, or a compressed file with the suffix .gz, .xz or .zip.
        encoding: encoding of a file without a byte order mark, as Python names it, such as "latin-1" or "utf-16-le".

    Returns:
        uint8 (num_characters,), symbols in [0, 27).

    Raises:
        datasets.DataError: if the file does not exist, is a folder, is damaged or empty, or has no letter or digit.
        ValueError: if Python does not know the encoding.

    Example:

    >>> decode(read("my_text.txt")[:11])
    'all and one'
    """
    path = existing_file(path)
    data, in_alphabet = bytearray(), True
    with unpacked(path) as stream:
        while block := stream.read(_BLOCK):
            data += block
            in_alphabet = in_alphabet and not block.translate(None, ALPHABET.encode("ascii"))
    if not data:
        raise _empty(path)
    if not in_alphabet:
        data = _clean(_decoded(data, encoding, path))
    symbols = np.frombuffer(data, np.uint8)
    np.bitwise_and(symbols, 31, out=symbols)
    if not symbols.any():
        raise DataError(
            f"The text must contain a letter a-z or a digit. Received: {path}, without any. Give a text in Latin "
            "script, and its encoding."
        )
    return symbols


def load(path: str | os.PathLike[str], *, encoding: str = "utf-8") -> str:
    """Reads a text file unchanged, for an `Alphabet`. Line ends of any kind become newlines.

    Args:
        path, encoding: as `read`; undecodable bytes become "\N{REPLACEMENT CHARACTER}", with a warning.

    Returns:
        The characters.

    Raises:
        datasets.DataError: if the file does not exist, is a folder, or is damaged or empty.
        ValueError: if Python does not know the encoding.

    Example:

    >>> load("my_text.txt")[:13]
    'All, and one.'
    """
    path = existing_file(path)
    with unpacked(path) as stream:
        data = stream.read()
    text = "".join(_decoded(data, encoding, path)).replace("\r\n", "\n").replace("\r", "\n")
    if not text:
        raise _empty(path)
    return text


def sha256(symbols: AnyArray) -> str:
    """Computes the digest of a text from its symbols.

    Args:
        symbols: as `decode`.

    Returns:
        The sha256 of the ASCII text, in hexadecimal.

    Example:

    >>> sha256(encode("a cab"))[:8]
    '0d561d21'
    """
    digest = hashlib.sha256()
    for start in range(0, len(symbols), _BLOCK):
        digest.update(decode(symbols[start : start + _BLOCK]).encode("ascii"))
    return digest.hexdigest()


def python_documentation() -> NDArray[np.uint8]:
    """Reads the English documentation that is part of Python (`pydoc_data.topics`), cleaned.

    It has about 400,000 characters (Python 3.11) and needs no download. The text differs between versions of Python, so
    do not compare results across versions.

    Returns:
        uint8 (num_characters,), symbols in [0, 27).

    Example:

    >>> len(python_documentation()) > 100_000
    True
    """
    from pydoc_data.topics import topics

    return encode(clean(" ".join(topics[key] for key in sorted(topics))))


def split(
    symbols: AnyArray, fractions: tuple[float, float, float] = (0.9, 0.05, 0.05)
) -> tuple[AnyArray, AnyArray, AnyArray]:
    """Splits a text into a training, a validation and a test part, in this order and without copying.

    Args:
        symbols: (num_symbols,), of any alphabet.
        fractions: three positive numbers that sum to 1; the cuts are rounded to the nearest symbol.

    Returns:
        Three consecutive views of `symbols`.

    Raises:
        ValueError: if the fractions are not positive or do not sum to 1.
        datasets.DataError: if a part would have fewer than two symbols.

    Example:

    >>> [len(part) for part in split(np.zeros(100, np.uint8))]
    [90, 5, 5]
    """
    if len(fractions) != 3 or min(fractions) <= 0 or not math.isclose(sum(fractions), 1, abs_tol=1e-6):
        raise ValueError(
            f"`fractions` must be three positive numbers that sum to 1. Received: fractions={fractions}. The paper's "
            "are (0.9, 0.05, 0.05)."
        )
    first, second, _ = (round(len(symbols) * end) for end in itertools.accumulate(fractions))
    parts = symbols[:first], symbols[first:second], symbols[second:]
    if min(map(len, parts)) < 2:
        raise DataError(
            f"Each part of a split must have at least two symbols. Received: {len(symbols)} symbols, split into "
            f"{len(parts[0])}, {len(parts[1])} and {len(parts[2])}. Give a longer text or other fractions."
        )
    return parts


def pairs(symbols: AnyArray) -> NDArray[np.uint16]:
    """Joins every two characters of a text: symbols a and b become the pair 27 a + b.

    Args:
        symbols: (num_characters,), in [0, 27).

    Returns:
        uint16 (num_characters // 2,), pairs in [0, 729); an odd last character is dropped.

    Raises:
        ValueError: if a symbol is outside [0, 27).

    Example:

    >>> pairs(encode("cab")), 27 * 3 + 1
    (array([82], dtype=uint16), 82)
    """
    symbols = integers("symbols", symbols, below=len(ALPHABET))
    even = len(symbols) // 2 * 2
    ids: NDArray[np.uint16] = symbols[0:even:2].astype(np.uint16) * np.uint16(len(ALPHABET)) + symbols[1:even:2]
    return ids


def _decoded(data: bytes | bytearray, encoding: str, path: Path) -> Iterator[str]:
    """Decodes a file in blocks, with a warning if a part cannot be decoded."""
    encoding = next((name for mark, name in _MARKED if data.startswith(mark)), encoding)

    def decoded(errors: str) -> Iterator[str]:
        blocks = (bytes(data[start : start + _BLOCK]) for start in range(0, len(data), _BLOCK))
        return codecs.iterdecode(blocks, encoding, errors)

    reason = ""
    try:
        if codecs.lookup(encoding).name == "utf-8" and b"\0" in data:
            reason = "it has zeros between its letters, as UTF-16"
        for _ in decoded("strict"):
            pass
    except LookupError:
        raise invalid("encoding", "one that Python knows", encoding) from None
    except UnicodeError as error:
        reason = str(error)
    if reason:
        warnings.warn(
            f"{path} is not in {encoding} throughout ({reason}), and what cannot be decoded is replaced. Pass its "
            "encoding, such as 'latin-1' or 'utf-16-le'.",
            stacklevel=3,
        )
    return decoded("replace")


def _empty(path: Path) -> DataError:
    return DataError(f"The text must have at least one character. Received: {path}, an empty file. Give another.")


def _clean(blocks: Iterable[str]) -> bytearray:
    """Cleans a text given in blocks."""
    text = bytearray()
    for block in blocks:
        if not block.isascii():
            block = _ACCENTS.sub("", unicodedata.normalize("NFKD", block))
        raw = block.encode("ascii", "replace").translate(_LOWER)
        for digit, word in _DIGITS:
            raw = raw.replace(digit, word)
        while b"  " in raw:
            raw = raw.replace(b"  ", b" ")
        text += raw[1:] if text.endswith(b" ") and raw.startswith(b" ") else raw
    return text
