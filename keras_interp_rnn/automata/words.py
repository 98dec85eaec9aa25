"""How words over an alphabet are written as ids.

A network reads a word as a row of ids: that of the start token if it has one, one for each symbol, that of the end
token if it has one, and padding, id 0, behind. `WordEncoding` holds these ids and writes and reads such rows. It knows
no network: `SymbolEmbedding` carries the default ids in a model, and whoever reads a model as an automaton takes them
from there or is told.
"""

from __future__ import annotations

import operator
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from keras_interp_rnn._repr import short_repr

Word = tuple[Hashable, ...]

PADDING, START, FIRST = 0, 1, 2
"""The default ids of padding, of the start token and of the first symbol; the end token's follows the last symbol's."""

LARGEST = int(np.iinfo(np.int32).max)
"""Ids are int32."""


@short_repr
@dataclass(frozen=True)
class WordEncoding:
    """How words over an alphabet are written as ids; 0 is padding.

    The word (a, b) is the row [start, id of a, id of b, end, 0, ...], without a token that is None.

    Args:
        symbols: symbol -> id, in the order of the alphabet; or the symbols alone, of which symbol i has the id i + 2.
        start, end: ids of the tokens before and after every word; None for words without. A token is known by its
            place, so its id may be that of the other token or of a symbol.

    Attributes:
        alphabet: the symbols, in order. codes: the id of each.

    Raises:
        ValueError: if there is no symbol, or one is not hashable or comes twice; if an id is no int from 1 to
            2^31 - 1, or two symbols have the same one.

    Example:

    >>> encoding = WordEncoding("ab", start=1, end=4)
    >>> encoding.ids(["ab", ""])
    array([[1, 2, 3, 4],
           [1, 4, 0, 0]], dtype=int32)
    >>> encoding.decode([[1, 3, 3, 4], [1, 4, 0, 0]])
    [('b', 'b'), ()]
    """

    alphabet: tuple[Hashable, ...]
    codes: tuple[int, ...]
    start: int | None
    end: int | None
    _code: dict[Hashable, int] = field(init=False, repr=False, compare=False)
    _symbol: dict[int, Hashable] = field(init=False, repr=False, compare=False)

    def __init__(
        self, symbols: Mapping[Hashable, int] | Iterable[Hashable], start: int | None = None, end: int | None = None
    ) -> None:
        alphabet = _alphabet(symbols)
        given = symbols.values() if isinstance(symbols, Mapping) else range(FIRST, FIRST + len(alphabet))
        codes = tuple(_id(code, f"the symbol {symbol!r}") for symbol, code in zip(alphabet, given, strict=True))
        symbol_of: dict[int, Hashable] = {}
        for symbol, code in zip(alphabet, codes, strict=True):
            if code in symbol_of:
                raise ValueError(
                    f"Every symbol has an id of its own. Received: id {code} for {symbol_of[code]!r} and for "
                    f"{symbol!r}. Leave one of them out, or give it another id."
                )
            symbol_of[code] = symbol
        object.__setattr__(self, "alphabet", alphabet)
        object.__setattr__(self, "codes", codes)
        object.__setattr__(self, "start", None if start is None else _id(start, "the start token"))
        object.__setattr__(self, "end", None if end is None else _id(end, "the end token"))
        object.__setattr__(self, "_code", dict(zip(alphabet, codes, strict=True)))
        object.__setattr__(self, "_symbol", symbol_of)

    @classmethod
    def with_tokens(cls, symbols: Iterable[Hashable], start: bool = False, end: bool = False) -> WordEncoding:
        """The default ids, for K symbols: padding 0, start token 1, symbol i of the alphabet i + 2, end token K + 2.

        Args:
            symbols: the alphabet, in order.
            start, end: whether a token stands before and after every word.

        Raises:
            ValueError: as the class.
        """
        alphabet = _alphabet(symbols)
        return cls(alphabet, START if start else None, FIRST + len(alphabet) if end else None)

    @property
    def symbol_ids(self) -> dict[Hashable, int]:
        """Symbol -> id, in the order of the alphabet."""
        return dict(self._code)

    @property
    def tokens(self) -> tuple[int, ...]:
        """Ids of the start token and of the end token, of those that there are."""
        return tuple(token for token in (self.start, self.end) if token is not None)

    @property
    def size(self) -> int:
        """Number of ids that an Embedding needs: one more than the largest."""
        return max(*self.codes, *self.tokens, PADDING) + 1

    def code(self, symbol: Hashable) -> int:
        """The id of a symbol; raises ValueError for one that is not in the alphabet."""
        try:
            return self._code[symbol]
        except (KeyError, TypeError):
            raise self._unknown(symbol) from None

    def ids(self, words: Iterable[Iterable[Hashable]], length: int | None = None) -> NDArray[np.int32]:
        """Words as rows of ids, padded by 0 at the end.

        Args:
            words: sequences of symbols.
            length: of the rows; None for that of the longest word with its tokens.

        Returns:
            int32 (words, length).

        Raises:
            ValueError: if a word holds a symbol that is not in the alphabet, or is longer than `length` leaves room
                for.
        """
        given = _words(words)
        room = len(self.tokens)
        longest = max(map(len, given), default=0) + room
        if length is not None and longest > length:
            raise ValueError(
                f"A row holds its word and the tokens. Received: length={length}, and a word that needs {longest}. "
                "Give a larger length, or shorter words."
            )
        before, after = ([] if token is None else [token] for token in (self.start, self.end))
        rows = np.full((len(given), longest if length is None else length), PADDING, np.int32)
        for row, word in zip(rows, given, strict=True):
            try:
                row[: len(word) + room] = [*before, *map(self._code.__getitem__, word), *after]
            except (KeyError, TypeError):  # of an unhashable symbol
                stray = next(symbol for symbol in word if symbol not in self.alphabet)
                raise self._unknown(stray, f" in {_short(word)}") from None
        return rows

    def decode(self, ids: ArrayLike) -> list[Word]:
        """The words that rows of ids stand for: what `ids` has written, read back.

        Args:
            ids: int (words, length).

        Returns:
            Each word as a tuple of symbols, without tokens and padding.

        Raises:
            ValueError: if a row is none that `ids` writes: a token is missing, padding stands within, an id is no
                symbol's.
        """
        try:
            rows = np.asarray(ids)
        except ValueError:  # rows of different lengths
            rows = np.asarray(ids, object)
        if rows.ndim != 2 or rows.dtype.kind not in "iu":
            raise ValueError(
                f"Ids are integers (words, length). Received: {rows.dtype} {rows.shape}. Give a row for each word, "
                "padded by 0 to one length."
            )
        return [self._word(row) for row in rows.tolist()]

    def _word(self, row: list[int]) -> Word:
        used = max((place for place, id_ in enumerate(row, start=1) if id_ != PADDING), default=0)
        first, last = int(self.start is not None), used - int(self.end is not None)
        tokens = (*row[:first], *row[max(first, last) : used])
        inside = row[first:last]
        if tokens != self.tokens or any(id_ not in self._symbol for id_ in inside):
            raise ValueError(
                f"A row of ids is made of the start token {self.start}, symbols of the ids {_short(self.codes)}, the "
                f"end token {self.end} and padding 0, in this order. Received: {_short(row)}. Decode with the encoding "
                "that wrote it."
            )
        return tuple(self._symbol[id_] for id_ in inside)

    def _unknown(self, symbol: Any, where: str = "") -> ValueError:
        return ValueError(
            f"A word is made of the alphabet {_short(self.alphabet)}. Received: the symbol {symbol!r}{where}. Leave it "
            "out, or give an alphabet that has it."
        )

    def get_config(self) -> dict[str, Any]:
        """What `from_config` makes an equal encoding of, and JSON can hold.

        Raises:
            ValueError: if a symbol is neither an int nor a string.
        """
        strays = [symbol for symbol in self.alphabet if not isinstance(symbol, (int, str))]
        if strays:
            raise ValueError(
                f"Symbols that are saved are ints or strings. Received: {strays[0]!r}. Name the symbols by strings."
            )
        return {"alphabet": list(self.alphabet), "codes": list(self.codes), "start": self.start, "end": self.end}

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> WordEncoding:
        """The encoding of a configuration.

        Raises:
            ValueError: if it is none that `get_config` gives.
        """
        names = {"alphabet", "codes", "start", "end"}
        if (
            not isinstance(config, Mapping)
            or set(config) != names
            or not all(isinstance(config[name], (list, tuple)) for name in ("alphabet", "codes"))
            or len(config["alphabet"]) != len(config["codes"])
        ):
            raise ValueError(
                "A configuration holds an alphabet, an id for each of its symbols as codes, start and end. Received: "
                f"{config!r}. Give what get_config returned."
            )
        alphabet = _alphabet(config["alphabet"])  # before a dict would make one of two
        return cls(dict(zip(alphabet, config["codes"], strict=True)), config["start"], config["end"])


def encoding_of(
    alphabet: WordEncoding | Mapping[Hashable, int] | None, start: int | None = None, end: int | None = None
) -> WordEncoding | None:
    """What the arguments alphabet, start and end of a public function say; None where the model is to say it.

    Raises:
        ValueError: if the alphabet is neither a WordEncoding nor {symbol: id}, or a WordEncoding with tokens beside it.
    """
    if alphabet is None:
        return None
    if isinstance(alphabet, WordEncoding):
        if start is not None or end is not None:
            raise ValueError(
                f"A WordEncoding says which tokens stand around words. Received: start={start!r}, end={end!r} beside "
                "one. Leave them out, or build the WordEncoding with them."
            )
        return alphabet
    if not isinstance(alphabet, Mapping) or not alphabet:
        raise ValueError(
            f"An alphabet says which id stands for which symbol. Received: {alphabet!r}. Pass {{symbol: id, ...}}."
        )
    return WordEncoding(alphabet, start, end)


def _alphabet(symbols: Any) -> tuple[Hashable, ...]:
    """The symbols; raises ValueError unless there is one at least, and all are hashable and different."""
    try:
        alphabet = tuple(symbols)
        different = len(set(alphabet)) == len(alphabet)
    except TypeError:
        raise ValueError(
            f"An alphabet is a row of hashable symbols, or {{symbol: id, ...}}. Received: {symbols!r}."
        ) from None
    if not alphabet or not different:
        raise ValueError(f"An alphabet holds at least one symbol, each once. Received: {symbols!r}.")
    return alphabet


def _id(value: Any, whose: str) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__") or not 1 <= operator.index(value) <= LARGEST:
        raise ValueError(
            f"Ids of symbols and tokens are ints from 1 to {LARGEST}, as 0 is padding. Received: {value!r} for {whose}."
        )
    return operator.index(value)


def _words(words: Any) -> list[Sequence[Hashable]]:
    try:
        if isinstance(words, str):
            raise TypeError
        return [word if isinstance(word, (str, tuple)) else tuple(word) for word in words]
    except TypeError:
        raise ValueError(
            f"Words are sequences of symbols, and ids are written of several. Received: {words!r}. Give [word] for one."
        ) from None


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
