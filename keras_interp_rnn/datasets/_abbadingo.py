"""Labelled words in Abbadingo's format, which competitions of grammatical inference and FlexFringe use.

The first line has the number of words and the size of the alphabet, "2263 2" or FlexFringe's "2263 2:0"; every other
line has the label of a word, its length, and its symbols. A file is read whole or refused with the number of a line:
nothing is skipped.

Reference: Lang, Pearlmutter and Price, "Results of the Abbadingo One DFA learning competition and a new evidence-driven
state merging algorithm", ICGI 1998.
"""

from __future__ import annotations

import os
import re

from keras_interp_rnn.datasets._files import DataError, existing_file, unpacked_text

__all__ = ["abbadingo"]

_HEADER = re.compile(r"(?P<words>[0-9]{1,18}) (?P<symbols>[0-9]{1,18})(:0(/0)?)?")
"""FlexFringe writes after a colon how many attributes words and symbols have: none of those that are read."""


def abbadingo(path: str | os.PathLike[str]) -> tuple[list[tuple[str, ...]], list[str]]:
    r"""Reads labelled words in the format of Abbadingo and FlexFringe, for `automata.infer`.

    Args:
        path: the file, plain or compressed.

    Returns:
        The words, as tuples of strings, and their labels, such as "0" and "1".

    Raises:
        DataError: if the file cannot be read: if a line is not a word, the length of a word differs from the number in
            its line, a label is missing (-1), symbols have attributes, or the first line is wrong.

    Example:

    >>> import pathlib
    >>> written = pathlib.Path("train.dat").write_text("2 2\n1 2 a b\n0 1 b\n")
    >>> abbadingo("train.dat")
    ([('a', 'b'), ('b',)], ['1', '0'])
    """
    source = existing_file(path)
    text = unpacked_text(source)
    lines = [(number, line.split()) for number, line in enumerate(text.splitlines(), start=1) if line.strip()]
    first = " ".join(lines[0][1]) if lines else ""
    head = _HEADER.fullmatch(first)
    if head is None:
        raise DataError(
            "The first line of a file of Abbadingo must have the number of words and the size of the alphabet. "
            f"Received: {first[:60]!r} in {source}. Write it so; attributes of symbols are not read."
        )
    words, labels = [], []
    for number, (label, *rest) in lines[1:]:
        if not rest or not re.fullmatch(r"[0-9]{1,9}", rest[0]) or int(rest[0]) != len(rest) - 1:
            raise DataError(
                "A line of a file of Abbadingo must have a label, the length of the word, and as many symbols. "
                f"Received: line {number} of {source}, {' '.join([label, *rest])[:60]!r}. Correct the line."
            )
        if label == "-1":
            raise DataError(
                f"Every word must have a label. Received: line {number} of {source} with -1, as test data have. Pass "
                "the training data."
            )
        stray = next((field for field in (label, *rest[1:]) if "/" in field), None)
        if stray is not None:
            raise DataError(
                f"Symbols and labels must have no attributes. Received: line {number} of {source} with {stray!r}. "
                "Remove what follows the slash."
            )
        labels.append(label)
        words.append(tuple(rest[1:]))
    num_symbols = len({symbol for word in words for symbol in word})
    if len(words) != int(head["words"]) or num_symbols > int(head["symbols"]):
        raise DataError(
            "A file of Abbadingo must have the numbers of words and symbols of its first line. Received: "
            f"{len(words):,} words of {num_symbols} symbols in {source}, which announces {head['words']} of "
            f"{head['symbols']}. "
            "Correct that line, or copy the file again if it was cut."
        )
    return words, labels
