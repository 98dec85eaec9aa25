"""The tokens of a text. Texts that look the same have the same tokens, and no character with its marks is cut.

Unicode writes one picture in many ways: é in one code point or two, ’ for ', no-break spaces and hyphens, ligatures and
full-width letters, characters that are not shown. Before a text is cut, each is replaced by its plainest form. Letters
of other alphabets stay what they are, and so do superscripts, fractions and circled letters, which look different.
A character is cut off with all that belongs to it: accents, vowel signs, the parts of an emoji or a flag (Unicode
Standard Annex 29, extended grapheme clusters).
"""

from __future__ import annotations

import functools
import re
import sys
import unicodedata

__all__ = ["tokenize"]

APOSTROPHES = "\u2018\u2019\u201b\u02bb\u02bc\u02bd\u055a\ua78b\ua78c"
QUOTATION_MARKS = "\u201c\u201d\u201f\u2033\u301d\u301e"
HYPHENS = "\u2010\u2011\u2212"
"""Signs that are read as ', \" and -."""

BETWEEN_LETTERS = "`\u00b4\u02b9\u02be\u02c8\u02ca\u02cb\u0384\u05f3\u1fbd\u1fbf\u2032\u2035"
"""Signs that are read as ' between two letters alone."""

LOOK = {
    **dict.fromkeys(APOSTROPHES, "'"),
    **dict.fromkeys(QUOTATION_MARKS, '"'),
    **dict.fromkeys(HYPHENS, "-"),
    **dict.fromkeys("\u2044\u2215", "/"),
    "\u2236": ":",
    "\u2012": "\u2013",  # dashes of one length
    "\u2015": "\u2014",
    **dict.fromkeys("\u2800\u3164\uffa0", " "),  # blank letters
    **dict.fromkeys("\u034f\u115f\u1160\u17b4\u17b5", ""),  # not shown, and no format characters
    **{chr(code): "" for code in (*range(0x180B, 0x1810), *range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0))},
}
"""Character -> what looks the same; variants of glyphs, the last line, are not told apart."""

SAME_LOOK = ("<compat>", "<wide>", "<narrow>", "<small>", "<noBreak>", "<font>")
SHAPES = ("<initial>", "<medial>", "<final>", "<isolated>")
"""Kinds of decompositions in Unicode that keep the look: ligatures and widths, and shapes of Arabic letters."""

NON_JOINER, JOINER = "\u200c", "\u200d"
SHOWN_FORMATS = {*range(0x600, 0x606), 0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0x110BD, 0x110CD}
TAGS = range(0xE0020, 0xE0080)
"""Format characters that are seen: signs of numbers in Arabic, and, after a black flag, the letters of its region."""

EMOJI = "\u2190-\u2bff\U0001f000-\U0001faff"
JOINED = EMOJI + (
    "\u0600-\u109f\u1700-\u18af\u1900-\u1cff\ua800-\uaaff\uabc0-\uabff\ufb50-\ufdff\ufe70-\ufefe"
    "\U00010a00-\U00011fff\U000e0020-\U000e007f"
)
"""Emoji, and the scripts whose letters a joiner shapes."""

_MARKUP = re.compile(r"<br\s*/?>")
_STRAY_JOINER = re.compile(f"(?<![{JOINED}])[{NON_JOINER}{JOINER}]+|[{NON_JOINER}{JOINER}]+(?![{JOINED}])")
_TAGS = re.compile("(\U0001f3f4[\U000e0020-\U000e007e]+\U000e007f)|[\U000e0020-\U000e007f]")


def tokenize(text: str) -> list[str]:
    r"""Splits a text into tokens: lower-case words, numbers, `...` and single punctuation marks.

    Texts that look the same have the same tokens, whatever apostrophes, accents, blanks, hyphens, ligatures or widths
    they are written with, and whatever they have that is not shown. High quotation marks are read as straight ones; low
    ones and guillemets stay. A character is not cut from its marks, nor are the parts of an emoji. HTML line breaks are
    removed.

    Args:
        text: any text.

    Returns:
        The tokens, in order.

    Example:

    >>> tokenize("Skip it!<br />It isn't good... 3/10")
    ['skip', 'it', '!', 'it', "isn't", 'good', '...', '3', '/', '10']
    >>> tokenize("It isn\u2019t \uff47ood\u2026")
    ['it', "isn't", 'good', '...']
    """
    text = unicodedata.normalize("NFC", text).translate(_PLAIN)
    text = _TAGS.sub(r"\1", unicodedata.normalize("NFC", text))
    text = _STRAY_JOINER.sub("", text)
    between, of_any, of_ascii = _patterns()
    text = unicodedata.normalize("NFC", between.sub("'", text).lower().replace("i\u0307", "i"))
    return (of_ascii if text.isascii() else of_any).findall(_MARKUP.sub(" ", text))


class _Plain(dict[int, str]):
    """Code point -> what is read in its place, found when it is first met."""

    def __missing__(self, code: int) -> str:
        self[code] = found = _plain(chr(code))
        return found


_PLAIN = _Plain()


def _plain(character: str) -> str:
    """The plainest form of a character."""
    if character in LOOK:
        return LOOK[character]
    code, category = ord(character), unicodedata.category(character)
    if 0x80 <= code < 0xA0 and not character.isspace():  # Windows' characters, which browsers show in their place
        windows = bytes([code]).decode("cp1252", errors="ignore")
        return windows and _plain(windows)
    if category == "Cc":
        return character if character.isspace() else ""
    if category == "Cf":
        return character if character in (NON_JOINER, JOINER) or code in SHOWN_FORMATS or code in TAGS else ""
    kind, *parts = unicodedata.decomposition(character).split() or [""]
    if kind not in (*SAME_LOOK, *SHAPES) or (parts[0] == "0020" and len(parts) > 1):  # an accent without a letter
        return character
    return "".join(map(_plain, unicodedata.normalize("NFKC", character)))


@functools.cache
def _patterns() -> tuple[re.Pattern[str], ...]:
    """Patterns of an apostrophe between letters, of a token, and of a token in a text of ASCII, which has no marks."""
    marks = "".join(chr(i) for i in range(min(sys.maxunicode, 0x1FFFF)) if unicodedata.category(chr(i))[0] == "M")
    more = f"[{marks}{NON_JOINER}{JOINER}\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f]"
    letters = rf"[^\W\d_]+(?:{more}+[^\W\d_]*)*"
    word = rf"[^\W_]+(?:{more}+[^\W_]*)*(?:'{letters})?"
    flag = "[\U0001f1e6-\U0001f1ff]{2}"
    sign = rf"\S{more}*(?:(?<={JOINER})[{EMOJI}]{more}*)*"
    between = rf"[{BETWEEN_LETTERS}](?=[^\W\d_])(?<=(?:[^\W\d_]|[{marks}]).)"
    ascii_word = r"[^\W_]+(?:'[^\W\d_]+)?"
    return tuple(map(re.compile, (between, rf"{word}|\.\.\.|{flag}|{sign}", rf"{ascii_word}|\.\.\.|\S")))
