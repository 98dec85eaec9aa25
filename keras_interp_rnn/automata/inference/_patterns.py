"""Patterns in words, as small automata: factors, subsequences, and sequences of factors, on all symbols or on some.

A word contains the *factor* ab if b follows a at once; the *subsequence* ab if b comes anywhere after a; the *sequence*
of factors ab..c if c comes anywhere after an ab. A *tier* is a part of the alphabet, on which the other symbols are
skipped: the word acb has the factor ab on the tier {a, b}. The start and the end of a word count as symbols. A word has
a pattern if it contains the pieces of the pattern one after the other, or one piece at least a number of times, or a
number of times with a given remainder; counted occurrences of a piece may overlap.

Such patterns define the strictly local, the locally testable (also with thresholds), the piecewise and the tier-based
languages. The automaton of a piece is the one of Knuth, Morris and Pratt.

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

MAX_SYMBOLS, MAX_STATES = 14, 64  # of a pattern, and of its automaton
COUNTS = tuple((modulus, residue) for modulus in (2, 3, 4, 5) for residue in range(1 if modulus == 2 else modulus))
"""Moduli and residues of counted occurrences; an odd number is the answer "no" to an even one."""

BATCH = 64  # automata that read the words together


class Pattern(NamedTuple):
    """A pattern, which a word has or does not have.

    Attributes:
        pieces: factors, one after the other, as symbols of the tier; see `Family.start` and `Family.end`.
        times: minimum number of occurrences of a single piece.
        modulus: if not 0, the occurrences are counted modulo this instead. residue: the expected remainder.
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
        """Bits that name the family."""
        skipped = len(self.tier) < self.num_symbols
        names = math.log2(self.num_symbols) + math.log2(math.comb(self.num_symbols, len(self.tier)))
        return math.log2(3) + 1 + (names if skipped else 0.0)

    def bits_of(self, pattern: Pattern) -> float:
        """Bits that name a pattern of the family."""
        pieces, times, modulus, _ = pattern
        for repeats in range(len(pieces), 1, -1):  # repeated pieces are named once
            if pieces == pieces[: len(pieces) // repeats] * repeats:
                pieces, times = pieces[: len(pieces) // repeats], repeats
        size = sum(map(len, pieces))
        symbols = math.log2(len(self.tier) + 2 * (self.kind != "subsequence"))
        gaps = size - 1 if self.kind == "sequence" else 0
        counted = 8 + 2 * math.log2(modulus) if modulus else (times > 1) * (2 + 2 * math.log2(times))
        return size * symbols + 2 * math.log2(size + 1) + gaps + counted

    def letters(self, words: Sequence[Sequence[int]]) -> Ints:
        """The words on the tier as columns (longest + 2, N), with `start`, `end`, and `end` + 1 after the end."""
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

    def simplest(self) -> Iterator[Pattern]:
        """The patterns from which a search begins: one or two symbols, some of them counted."""
        symbols = range(len(self.tier))
        yield from (Pattern(((a,),)) for a in symbols)
        if self.kind != "subsequence":
            yield from (Pattern(((a, b),)) for a in (*symbols, self.start) for b in (*symbols, self.end))
            yield from (Pattern(((a,),), 1, *count) for a in symbols for count in COUNTS)
        if self.kind != "factor":
            yield from (Pattern(((a,), (b,))) for a in symbols for b in symbols)

    def neighbours(self, pattern: Pattern) -> list[Pattern]:
        """The patterns of the family that one change leads to."""
        return self._others(pattern, self._changed(pattern))

    def resized(self, pattern: Pattern, symbols: Iterable[int]) -> list[Pattern]:
        """The pattern with one symbol removed, or one of `symbols` added, at its start or end."""
        pieces = pattern.pieces
        changed = [(pieces[0][1:], *pieces[1:]), (*pieces[:-1], pieces[-1][:-1])]
        for symbol in symbols:
            if self.kind != "subsequence":
                changed += [((symbol, *pieces[0]), *pieces[1:]), (*pieces[:-1], (*pieces[-1], symbol))]
            changed += [((symbol,), *pieces), (*pieces, (symbol,))]
        made = (pattern._replace(pieces=tuple(piece for piece in each if piece)) for each in changed)
        return self._others(pattern, made)

    @property
    def symbols(self) -> tuple[int, ...]:
        """The symbols of patterns."""
        return (*range(len(self.tier)), self.start, self.end)

    def _others(self, pattern: Pattern, patterns: Iterable[Pattern]) -> list[Pattern]:
        """Those of the patterns that are in the family, each once, without `pattern`."""
        return [each for each in dict.fromkeys(patterns) if each != pattern and each in self]

    def _changed(self, pattern: Pattern) -> Iterator[Pattern]:
        pieces, times, modulus, _ = pattern
        symbols = self.symbols
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
        for count in COUNTS:
            yield Pattern(pieces, 1, *count)
        if modulus:
            yield Pattern(pieces)

    def __contains__(self, pattern: Pattern) -> bool:
        pieces, copies = pattern.pieces, max(pattern.times, pattern.modulus)
        if not pieces or not all(pieces) or pattern.size > MAX_SYMBOLS:
            return False
        if pattern.size * copies > MAX_STATES or (len(pieces) > 1 and (copies > 1 or self.kind == "factor")):
            return False
        flat = [symbol for piece in pieces for symbol in piece]
        if self.kind == "subsequence" and (len(flat) != len(pieces) or max(flat) >= len(self.tier) or copies > 1):
            return False
        # The start may only come first and the end last, and neither alone.
        return self.start not in flat[1:] and self.end not in flat[:-1] and min(flat) < len(self.tier)

    def automaton(self, pattern: Pattern) -> tuple[Ints, Bools]:
        """The table (n, tier + 3) of a pattern, over tier, start, end and the symbol after it; the accepting states."""
        pieces, times, modulus, residue = pattern
        width = len(self.tier) + 2
        copies = modulus or times
        rows = []
        offset = 0
        for piece in pieces * copies:
            table, border = _matching(piece, width)
            done = offset + len(piece)
            # A counted occurrence may overlap the next; of several pieces each begins after the one before.
            rows.append(np.where(table == len(piece), done + (border if copies > 1 else 0), table + offset))
            offset = done
        if modulus:
            body = np.concatenate(rows) % offset
            holds = np.arange(offset) // len(pieces[0]) == residue
        else:
            body = np.minimum(np.concatenate([*rows, np.full((1, width), offset)]), offset)
            holds = np.arange(offset + 1) == offset
        return np.concatenate([body, np.arange(len(body))[:, None]], axis=1), holds

    def holds(self, patterns: Sequence[Pattern], letters: Ints, until: Deadline = NEVER) -> Bools:
        """Whether each word, a column of `letters`, has each pattern: (patterns, N)."""
        automata = []
        for pattern in patterns:  # of thousands of symbols there are millions
            until.check()
            automata.append(self.automaton(pattern))
        return read(automata, letters, until)

    def on_all_symbols(self, pattern: Pattern) -> tuple[Ints, Bools]:
        """The automaton of a pattern for words on the whole alphabet."""
        table, marks = self.automaton(pattern)
        wide = np.repeat(np.arange(len(table))[:, None], self.num_symbols + 3, axis=1)
        wide[:, list(self.tier)] = table[:, : len(self.tier)]
        wide[:, self.num_symbols :] = table[:, len(self.tier) :]
        return wide, marks


def read(automata: Sequence[tuple[Ints, Bools]], letters: Ints, until: Deadline = NEVER) -> Bools:
    """Whether each automaton, a table and its accepting states, accepts each word: (automata, N).

    Raises TimeUp if the deadline passes before all words are read.
    """
    found = np.empty((len(automata), letters.shape[1]), bool)
    letters = letters.astype(np.int32)
    for first in range(0, len(automata), BATCH):
        until.check(len(automata[first : first + BATCH]))
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
    """The table (n, width) of the search for a piece, in which n means found, and the length of its longest border."""
    table = np.zeros((len(piece), width), np.int64)
    border = 0  # the state after the piece without its first symbol
    for state, symbol in enumerate(piece):
        table[state] = table[border] if state else 0
        table[state, symbol] = state + 1
        if state:
            border = int(table[border, symbol])
    return table, border
