"""Character text as symbols: any alphabet, `Alphabet`, and the 27 letters of text8, space and a to z.

All functions here are about the 27, but for `split`, which cuts any text, and `Alphabet`, which makes symbols of it.

Symbol 0 is the space and symbol i the i-th letter, so `letter & 31` maps ASCII to symbols. `clean` brings any
text into this alphabet by text8's own mapping: lower case, digits spelt out, everything else a space, no two
spaces in a row. It works on a million characters at a time; a joint between two blocks changes nothing, since
the mapping looks at one character at a time and runs of spaces are closed across the joint.

Accents are stripped first, which text8 did not do: it turned accented letters into spaces. Letters that do
not decompose (ß, ø, æ, Cyrillic, Chinese) have no counterpart and become spaces here too.
"""

import codecs
import hashlib
import itertools
import math
import os
import re
import unicodedata
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from keras_interp_rnn.datasets._alphabet import Alphabet, AlphabetLayer
from keras_interp_rnn.datasets._files import TextError, existing_file, unpacked

__all__ = [
    "ALPHABET",
    "Alphabet",
    "AlphabetLayer",
    "TextError",
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

_LETTERS = Alphabet(ALPHABET)

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
    """Brings any text into the alphabet by text8's mapping.

    Accents go by compatibility decomposition (NFKD): "É" becomes "e", "²" becomes " two ". Spaces at the ends
    stay. A clean text comes back as it is.

    Args:
        text: any text.

    Returns:
        The text over `ALPHABET`, without two spaces in a row.
    """
    return _clean(text[start : start + _BLOCK] for start in range(0, len(text), _BLOCK)).decode("ascii")


def encode(text: str | bytes) -> NDArray[np.uint8]:
    """Maps a text over the alphabet to symbols.

    Args:
        text: characters, or ASCII bytes, all of them in `ALPHABET`.

    Returns:
        uint8 (characters,), symbols in [0, 27).

    Raises:
        TextError: if a character is foreign to the alphabet; names the first one.
    """
    raw = text if isinstance(text, bytes) else text.encode("ascii", "replace")
    symbols = _LETTERS.ids_of(np.frombuffer(raw, np.uint8))
    foreign = symbols < 0
    if foreign.any():
        position = int(foreign.argmax())
        raise TextError(
            f"A text is encoded from the 27 characters a-z and space alone. Received: "
            f"{text[position : position + 1]!r} at position {position}. Pass the text through `clean` first."
        )
    return symbols.astype(np.uint8)


def decode(symbols: NDArray[Any]) -> str:
    """Maps symbols back to characters: the inverse of `encode`.

    Args:
        symbols: integers (characters,), in [0, 27).

    Returns:
        The text.

    Raises:
        TextError: if a symbol is out of range.
    """
    symbols = np.asarray(symbols)
    if symbols.size and not 0 <= symbols.min() <= symbols.max() < len(ALPHABET):
        raise TextError(
            f"Symbols lie in [0, {len(ALPHABET)}). Received: symbols from {symbols.min()} to {symbols.max()}."
            f" Divide pairs into symbols first: `pair // 27, pair % 27`."
        )
    return _LETTERS.decode(symbols)


def read(path: str | os.PathLike[str]) -> NDArray[np.uint8]:
    """Reads a text file as symbols.

    A file over the alphabet is mapped as it stands; any other is decoded and cleaned. The encoding is UTF-8, or UTF-16
    or UTF-32 where the file begins with a byte order mark of these; undecodable bytes become spaces. Of a .zip with
    several files, the one read is the largest whose name has no suffix or ends in .txt.

    Args:
        path: a plain file, or a .gz, .xz or .zip by its suffix.

    Returns:
        uint8 (characters,), symbols in [0, 27).

    Raises:
        TextError: if there is no such file, or it is a folder, damaged, empty, or without a letter or digit.
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
        data = _clean(_decoded(data))
    symbols = np.frombuffer(data, np.uint8)
    np.bitwise_and(symbols, 31, out=symbols)
    if not symbols.any():
        raise TextError(
            f"A text has at least one letter a-z or digit. Received: {path}, which has none. "
            f"Give a text in Latin script, in UTF-8."
        )
    return symbols


def load(path: str | os.PathLike[str]) -> str:
    """Reads a text file as it stands, for an `Alphabet`; line ends of any kind are newlines.

    Args:
        path: as `read`, and decoded like there; undecodable bytes become "\N{REPLACEMENT CHARACTER}".

    Returns:
        The characters.

    Raises:
        TextError: if there is no such file, or it is a folder, damaged, or empty.
    """
    path = existing_file(path)
    with unpacked(path) as stream:
        data = stream.read()
    if not data:
        raise _empty(path)
    return "".join(_decoded(data)).replace("\r\n", "\n").replace("\r", "\n")


def sha256(symbols: NDArray[Any]) -> str:
    """Digest of the text that symbols stand for, as the records of text8 and other texts have it.

    Args:
        symbols: as `decode`.
    """
    digest = hashlib.sha256()
    for start in range(0, len(symbols), _BLOCK):
        digest.update(decode(symbols[start : start + _BLOCK]).encode("ascii"))
    return digest.hexdigest()


def python_documentation() -> NDArray[np.uint8]:
    """Returns the English documentation that ships with Python itself, cleaned.

    Some 400,000 characters (Python 3.11) that need no download: `pydoc_data.topics`, in sorted order of the keys. The
    text changes from one Python version to the next, so no figure from it is comparable between them.

    Returns:
        uint8 (characters,), symbols in [0, 27).
    """
    from pydoc_data.topics import topics

    return encode(clean(" ".join(topics[key] for key in sorted(topics))))


def split(
    symbols: NDArray[Any], fractions: tuple[float, float, float] = (0.9, 0.05, 0.05)
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Cuts a text into training, validation and test part, in this order and without copying.

    Args:
        symbols: (characters,).
        fractions: three positive numbers that sum to 1; the cuts are rounded to the nearest symbol.

    Returns:
        Three views of `symbols`, one after the other.

    Raises:
        ValueError: if the fractions are not as said.
        TextError: if a part would have fewer than two symbols.
    """
    if len(fractions) != 3 or min(fractions) <= 0 or not math.isclose(sum(fractions), 1, abs_tol=1e-6):
        raise ValueError(
            f"A text is split by three positive fractions that sum to 1. Received: fractions={fractions}. "
            f"The paper's are (0.9, 0.05, 0.05)."
        )
    first, second, _ = (round(len(symbols) * end) for end in itertools.accumulate(fractions))
    parts = symbols[:first], symbols[first:second], symbols[second:]
    if min(map(len, parts)) < 2:
        raise TextError(
            f"Each part of a split has at least two symbols. Received: {len(symbols)} symbols, split into "
            f"{len(parts[0])}, {len(parts[1])} and {len(parts[2])}. Give a longer text or other fractions."
        )
    return parts


def pairs(symbols: NDArray[Any]) -> NDArray[np.uint16]:
    """Reads a text two characters at a time: symbols a, b become the pair 27 a + b.

    Args:
        symbols: (characters,), in [0, 27).

    Returns:
        uint16 (characters // 2,), pairs in [0, 729); an odd last character is left out.
    """
    even = len(symbols) // 2 * 2
    return symbols[0:even:2].astype(np.uint16) * np.uint16(len(ALPHABET)) + symbols[1:even:2]


def _decoded(data: bytes | bytearray) -> Iterator[str]:
    """Decodes a file in blocks."""
    encoding = next((name for mark, name in _MARKED if data.startswith(mark)), "utf-8")
    blocks = (bytes(data[start : start + _BLOCK]) for start in range(0, len(data), _BLOCK))
    return codecs.iterdecode(blocks, encoding, errors="replace")


def _empty(path: Path) -> TextError:
    return TextError(f"A text has at least one character. Received: {path}, an empty file. Give another.")


def _clean(blocks: Iterable[str]) -> bytearray:
    """Cleans a text that comes in blocks."""
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
