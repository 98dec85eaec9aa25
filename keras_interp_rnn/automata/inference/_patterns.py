"""Patterns in words, as small automata: factors, subsequences, and sequences of factors, on all symbols or on some.

A word contains the *factor* ab if b follows a at once; the *subsequence* ab if b comes anywhere after a; the *sequence*
of factors ab..c if c comes anywhere after an ab. On a *tier*, a part of the alphabet, the other symbols are not there:
the word acb has the factor ab on the tier {a, b}. The start and the end of a word are symbols of it. A pattern asks
whether a word has its pieces one after the other, or one piece at least some number of times, or a number of times
that has a remainder; occurrences of a piece that are counted may overlap.

Languages whose words are told by such patterns are the strictly local, locally testable (with thresholds), piecewise
and tier-based ones. The automaton of a pattern is that of Knuth, Morris and Pratt, one for each piece.

References: McNaughton and Papert, "Counter-free automata", 1971; Simon, "Piecewise testable events", 1975; Heinz,
Rawal and Tanner, "Tier-based strictly local constraints for phonology", ACL 2011.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from keras_interp_rnn._types import Ints
from keras_interp_rnn.automata.inference._deadline import NEVER, Deadline

Bools = NDArray[np.bool_]

MAX_SYMBOLS = 14
"""Symbols in all pieces of a pattern, at most."""

MAX_STATES = 64
"""States of the automaton of a pattern, at most."""

MODULI = (2, 3, 4, 5)
"""Occurrences are counted modulo these."""

BATCH = 64
"""Automata that read the words at once."""


class Pattern(NamedTuple):
    """A pattern that is looked for in a word.

    Attributes:
        pieces: factors, one after the other, as symbols of the tier; see `Family.start` and `Family.end`.
        times: occurrences of the piece, if there is one: at least so many.
        modulus: if not 0, occurrences are counted modulo this instead. residue: which the count then has.
    """

    pieces: tuple[tuple[int, ...], ...]
    times: int = 1
    modulus: int = 0
    residue: int = 0

    @property
    def size(self) -> int:
        """Number of symbols."""
        return sum(map(len, self.pieces))


@dataclass(frozen=True)
class Family:
    """Patterns of one kind, on one tier.

    Attributes:
        kind: "factor", "subsequence" or "sequence". tier: symbols that are not skipped. num_symbols: of the alphabet.
    """

    kind: str
    tier: tuple[int, ...]
    num_symbols: int

    @property
    def start(self) -> int:
        """The symbol before a word; the symbols of the tier are 0, 1, ... in a pattern."""
        return len(self.tier)

    @property
    def end(self) -> int:
        """The symbol after a word."""
        return len(self.tier) + 1

    @property
    def bits(self) -> float:
        """To name the family."""
        skipped = len(self.tier) < self.num_symbols
        names = math.log2(self.num_symbols) + math.log2(math.comb(self.num_symbols, len(self.tier)))
        return math.log2(3) + 1 + (names if skipped else 0.0)

    def bits_of(self, pattern: Pattern) -> float:
        """To name a pattern of the family."""
        pieces, times, modulus, _ = pattern
        for repeats in range(len(pieces), 1, -1):  # what is repeated is named once
            if pieces == pieces[: len(pieces) // repeats] * repeats:
                pieces, times = pieces[: len(pieces) // repeats], repeats
        size = sum(map(len, pieces))
        symbols = math.log2(len(self.tier) + 2 * (self.kind != "subsequence"))
        gaps = size - 1 if self.kind == "sequence" else 0
        counted = 8 + 2 * math.log2(modulus) if modulus else (times > 1) * (2 + 2 * math.log2(times))
        return size * symbols + 2 * math.log2(size + 1) + gaps + counted

    def letters(self, words: Sequence[Sequence[int]]) -> Ints:
        """The words on the tier, one in each column of (longest + 2, N), with start, end, and `end` + 1 after that."""
        place = np.full(self.num_symbols, -1)
        place[list(self.tier)] = np.arange(len(self.tier))
        flat = place[np.fromiter(itertools.chain.from_iterable(words), np.int64)]
        row = np.repeat(np.arange(len(words)), [len(word) for word in words])[flat >= 0]
        flat = flat[flat >= 0]
        lengths = np.bincount(row, minlength=len(words))
        letters = np.full((lengths.max(initial=0) + 2, len(words)), self.end + 1)
        letters[0] = self.start
        letters[np.arange(len(row)) - np.repeat(np.cumsum(lengths) - lengths, lengths) + 1, row] = flat
        letters[lengths + 1, np.arange(len(words))] = self.end
        return letters

    def simplest(self) -> list[Pattern]:
        """With which a search begins: of one symbol, or two, some of them counted."""
        symbols = range(len(self.tier))
        ones = [Pattern(((a,),)) for a in symbols]
        twos = []
        if self.kind != "subsequence":
            twos += [Pattern(((a, b),)) for a in (*symbols, self.start) for b in (*symbols, self.end)]
            twos += [
                Pattern(((a,),), 1, modulus, residue)
                for a in symbols
                for modulus in MODULI
                for residue in range(1 if modulus == 2 else modulus)
            ]
        if self.kind != "factor":
            twos += [Pattern(((a,), (b,))) for a in symbols for b in symbols]
        return ones + twos

    def neighbours(self, pattern: Pattern) -> list[Pattern]:
        """Patterns of the family that one change leads to."""
        return [each for each in dict.fromkeys(self._changed(pattern)) if each != pattern and self._holds(each)]

    def resized(self, pattern: Pattern, symbols: Iterable[int]) -> list[Pattern]:
        """The pattern with one symbol more, of some, or less, at its start or end."""
        pieces = pattern.pieces
        changed = [(pieces[0][1:], *pieces[1:]), (*pieces[:-1], pieces[-1][:-1])]
        for symbol in symbols:
            if self.kind != "subsequence":
                changed += [((symbol, *pieces[0]), *pieces[1:]), (*pieces[:-1], (*pieces[-1], symbol))]
            changed += [((symbol,), *pieces), (*pieces, (symbol,))]
        made = [pattern._replace(pieces=tuple(piece for piece in each if piece)) for each in changed]
        return [each for each in dict.fromkeys(made) if each != pattern and self._holds(each)]

    def longer(self, pattern: Pattern) -> list[Pattern]:
        """Patterns of a piece with a symbol more, once less: a run of symbols may be told by either."""
        pieces, times, _, _ = pattern
        symbols = (*range(len(self.tier)), self.start, self.end)
        made = [Pattern((piece,), times - 1) for a in symbols for piece in ((a, *pieces[0]), (*pieces[0], a))]
        return [each for each in dict.fromkeys(made) if times > 1 and self._holds(each)]

    def _changed(self, pattern: Pattern) -> Iterator[Pattern]:
        pieces, times, modulus, _ = pattern
        symbols = (*range(len(self.tier)), self.start, self.end)
        for i, piece in enumerate(pieces):
            before, after = pieces[:i], pieces[i + 1 :]
            for j in range(len(piece) + 1):
                if self.kind != "subsequence":
                    for symbol in symbols:
                        yield pattern._replace(pieces=(*before, (*piece[:j], symbol, *piece[j:]), *after))
                if 0 < j < len(piece):
                    yield pattern._replace(pieces=(*before, piece[:j], piece[j:], *after))
            for j in range(len(piece)):
                rest = (*piece[:j], *piece[j + 1 :])
                yield pattern._replace(pieces=(*before, *((rest,) if rest else ()), *after))
                for symbol in symbols:
                    yield pattern._replace(pieces=(*before, (*piece[:j], symbol, *piece[j + 1 :]), *after))
            if after:
                yield pattern._replace(pieces=(*before, piece + after[0], *after[1:]))
        for i in range(len(pieces) + 1):
            for symbol in symbols:
                yield pattern._replace(pieces=(*pieces[:i], (symbol,), *pieces[i:]))
        yield pattern._replace(pieces=pieces * 2)
        for shorter in (pieces, (pieces[0][1:],), (pieces[0][:-1],)):
            yield Pattern(shorter, times + 1)
        if times > 1:
            yield Pattern(pieces, times - 1)
            yield Pattern(pieces * times)
        for other in MODULI:
            for residue in range(1 if other == 2 else other):
                yield Pattern(pieces, 1, other, residue)
        if modulus:
            yield Pattern(pieces)

    def _holds(self, pattern: Pattern) -> bool:
        """Whether a pattern is one of the family."""
        pieces, times, modulus, _ = pattern
        if not pieces or not all(pieces) or pattern.size > MAX_SYMBOLS:
            return False
        if pattern.size * max(times, modulus) > MAX_STATES or (len(pieces) > 1 and max(times, modulus) > 1):
            return False
        if self.kind == "factor" and len(pieces) > 1:
            return False
        flat = [symbol for piece in pieces for symbol in piece]
        if self.kind == "subsequence" and (
            len(flat) != len(pieces) or max(flat) >= len(self.tier) or max(times, modulus) > 1
        ):
            return False
        # The start comes first and the end last, if at all, and not by themselves.
        return self.start not in flat[1:] and self.end not in flat[:-1] and min(flat) < len(self.tier)

    def automaton(self, pattern: Pattern) -> tuple[Ints, Bools]:
        """The table (n, tier and three) of a pattern, over tier, start, end and what follows; and where it holds."""
        pieces, times, modulus, residue = pattern
        width = len(self.tier) + 2
        copies = modulus or times
        counts = copies > 1
        rows = []
        offset = 0
        for piece in pieces * (copies if counts else 1):
            table, border = _matching(piece, width)
            done = offset + len(piece)
            # An occurrence that is counted may overlap the next; a piece begins after the one before.
            rows.append(np.where(table == len(piece), done + (border if counts else 0), table + offset))
            offset = done
        if modulus:
            body = np.concatenate(rows)
            body = np.where(body >= offset, body - offset, body)
            holds = np.arange(offset) // len(pieces[0]) == residue
        else:
            body = np.concatenate([*(row for row in rows), np.full((1, width), offset)])
            body = np.minimum(body, offset)
            holds = np.arange(offset + 1) == offset
        return np.concatenate([body, np.arange(len(body))[:, None]], axis=1), holds

    def holds(self, patterns: Sequence[Pattern], letters: Ints, until: Deadline = NEVER) -> Bools:
        """Which patterns are in which words, (patterns, N), written as by `letters`."""
        return read([self.automaton(pattern) for pattern in patterns], letters, until)

    def on_all_symbols(self, pattern: Pattern) -> tuple[Ints, Bools]:
        """The automaton of a pattern for words on the whole alphabet."""
        table, marks = self.automaton(pattern)
        wide = np.repeat(np.arange(len(table))[:, None], self.num_symbols + 3, axis=1)
        wide[:, list(self.tier)] = table[:, : len(self.tier)]
        wide[:, self.num_symbols :] = table[:, len(self.tier) :]
        return wide, marks


def read(automata: Sequence[tuple[Ints, Bools]], letters: Ints, until: Deadline = NEVER) -> Bools:
    """Which automata, tables and marks of states, end in a marked state after which words, (automata, N).

    Raises TimeUp if the deadline passes before all words are read.
    """
    found = np.empty((len(automata), letters.shape[1]), bool)
    letters = letters.astype(np.int32)
    for first in range(0, len(automata), BATCH):
        until.check()
        batch = automata[first : first + BATCH]
        size, width = max(len(table) for table, _ in batch), batch[0][0].shape[1]
        tables = np.zeros((len(batch), size, width), np.int32)
        marked = np.zeros((len(batch), size), bool)
        for i, (table, marks) in enumerate(batch):
            tables[i, : len(table)] = (table + i * size) * width
            marked[i, : len(table)] = marks
        flat = tables.ravel()
        states = np.arange(len(batch), dtype=np.int32)[:, None] * np.int32(size * width)
        states = np.broadcast_to(states, (len(batch), letters.shape[1]))
        for row in letters:
            states = flat.take(states + row)
        found[first : first + len(batch)] = marked.ravel().take(states // width)
    return found


def _matching(piece: Sequence[int], width: int) -> tuple[Ints, int]:
    """The states (n, width) of the search for a piece before it is found, n for found, and its longest border."""
    table = np.zeros((len(piece), width), np.int64)
    border = 0  # the state after the piece without its first symbol
    for state, symbol in enumerate(piece):
        table[state] = table[border] if state else 0
        table[state, symbol] = state + 1
        if state:
            border = int(table[border, symbol])
    return table, border
