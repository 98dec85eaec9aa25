"""Words over an alphabet as rows of ids, and the checks of alphabets, words and labels.

A network reads a word as the start token if there is one, an id for each symbol, the end token if there is one, and
padding, id 0. `SymbolEmbedding` stores the default ids in a model; functions that read a model as an automaton take
them from there or as an argument.
"""

from __future__ import annotations

import operator
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from keras_interp_rnn._checks import integer, invalid, is_integer
from keras_interp_rnn._results import short_repr

Word = tuple[Hashable, ...]

PADDING, START, FIRST = 0, 1, 2
"""The default ids of padding, the start token and the first symbol; the end token follows the last symbol."""

MAX_ID = int(np.iinfo(np.int32).max)
"""Ids are int32."""
MAX_SHOWN = 10
"""Maximum number of symbols of an alphabet that an error shows, when there are more."""


@short_repr
@dataclass(frozen=True)
class WordEncoding:
    """The ids of the symbols of an alphabet and of the start and end tokens; 0 is padding.

    The word (a, b) is the row [start, id of a, id of b, end, 0, ...], without the tokens that are None.

    Args:
        symbols: a mapping from symbols to ids, in the order of the alphabet; or the symbols alone: symbol i then has
            the id i + 2.
        start: id of the token before every word; None for words without a start token.
        end: id of the token after every word; None for words without an end token. It may equal the id of the start
            token, or of a symbol.

    Attributes:
        alphabet: the symbols, in order.
        codes: the id of each symbol.

    Raises:
        ValueError: if there is no symbol, or one is not hashable or occurs twice; if an id is not an int from 1 to
            2^31 - 1, or two symbols have the same id.

    Example:

    >>> encoding = WordEncoding("ab", start=1, end=4)
    >>> encoding.ids(["ab", ""])
    array([[1, 2, 3, 4],
           [1, 4, 0, 0]], dtype=int32)
    """

    alphabet: tuple[Hashable, ...]
    codes: tuple[int, ...]
    start: int | None
    end: int | None
    _code: dict[Hashable, int] = field(init=False, repr=False, compare=False)

    def __init__(
        self, symbols: Mapping[Hashable, int] | Iterable[Hashable], *, start: int | None = None, end: int | None = None
    ) -> None:
        alphabet = checked_alphabet(symbols)
        ids = symbols.values() if isinstance(symbols, Mapping) else range(FIRST, FIRST + len(alphabet))
        codes = tuple(_id(code, f"the symbol {symbol!r}") for symbol, code in zip(alphabet, ids, strict=True))
        symbol_of: dict[int, Hashable] = {}
        for symbol, code in zip(alphabet, codes, strict=True):
            if symbol_of.setdefault(code, symbol) is not symbol:
                raise ValueError(
                    f"Every symbol must have an id of its own. Received: id {code} for {symbol_of[code]!r} and for "
                    f"{symbol!r}. Leave one of them out, or give it another id."
                )
        object.__setattr__(self, "alphabet", alphabet)
        object.__setattr__(self, "codes", codes)
        object.__setattr__(self, "start", None if start is None else _id(start, "the start token"))
        object.__setattr__(self, "end", None if end is None else _id(end, "the end token"))
        object.__setattr__(self, "_code", dict(zip(alphabet, codes, strict=True)))

    @classmethod
    def with_tokens(cls, symbols: Iterable[Hashable], *, start: bool = False, end: bool = False) -> WordEncoding:
        """The default ids for K symbols: padding 0, start token 1, symbol i of the alphabet i + 2, end token K + 2.

        Args:
            symbols: the alphabet, in order.
            start: whether there is a token before every word.
            end: whether there is a token after every word.

        Example:

        >>> WordEncoding.with_tokens("ab", start=True, end=True).ids(["ab"])
        array([[1, 2, 3, 4]], dtype=int32)
        """
        alphabet = checked_alphabet(symbols)
        return cls(alphabet, start=START if start else None, end=FIRST + len(alphabet) if end else None)

    @property
    def symbol_ids(self) -> dict[Hashable, int]:
        """Symbol -> id, in the order of the alphabet."""
        return dict(self._code)

    @property
    def tokens(self) -> tuple[int, ...]:
        """Ids of the start token and the end token, without those that are None."""
        return tuple(token for token in (self.start, self.end) if token is not None)

    @property
    def size(self) -> int:
        """The `input_dim` that an Embedding needs: one more than the largest id."""
        return max(*self.codes, *self.tokens, PADDING) + 1

    def code(self, symbol: Hashable) -> int:
        """The id of a symbol.

        Raises:
            ValueError: if the symbol is not in the alphabet.

        Example:

        >>> WordEncoding({"a": 7, "b": 9}).code("b")
        9
        """
        try:
            return self._code[symbol]
        except (KeyError, TypeError):
            raise self._unknown(symbol) from None

    def ids(self, words: Iterable[Iterable[Hashable]], length: int | None = None) -> NDArray[np.int32]:
        """Encodes words as rows of ids, padded with 0 at the end.

        Args:
            words: sequences of symbols.
            length: of the rows; by default the length of the longest word with its tokens.

        Returns:
            int32 (words, length).

        Raises:
            ValueError: if a word has a symbol that is not in the alphabet, or does not fit into `length` with its
                tokens; if `length` is not an integer.

        Example:

        >>> WordEncoding("ab", start=1).ids(["b", "ab"], length=4)
        array([[1, 3, 0, 0],
               [1, 2, 3, 0]], dtype=int32)
        """
        sequences = checked_words(words)
        num_tokens = len(self.tokens)
        longest = max(map(len, sequences), default=0) + num_tokens
        if length is not None and longest > integer("length", length, 0):
            raise ValueError(
                f"A row must hold its word and the tokens. Received: length={length}, and a word that needs {longest}. "
                "Give a larger length or shorter words."
            )
        before, after = ([] if token is None else [token] for token in (self.start, self.end))
        rows = np.full((len(sequences), longest if length is None else length), PADDING, np.int32)
        for row, word in zip(rows, sequences, strict=True):
            try:
                row[: len(word) + num_tokens] = [*before, *map(self._code.__getitem__, word), *after]
            except (KeyError, TypeError):  # TypeError: an unhashable symbol
                stray = next(symbol for symbol in word if symbol not in self.alphabet)
                raise self._unknown(stray, f" in {_short(word)}") from None
        return rows

    def _unknown(self, symbol: Any, where: str = "") -> ValueError:
        return ValueError(
            f"A word must be over the alphabet {shown_alphabet(self.alphabet)}. Received: the symbol "
            f"{symbol!r}{where}. Leave it out, or pass an alphabet that has it."
        )

    def get_config(self) -> dict[str, Any]:
        """A configuration, which can be saved as JSON, from which `from_config` makes an equal encoding.

        Raises:
            ValueError: if a symbol is neither an int nor a string.
        """
        alphabet = list(checked_symbols(self.alphabet))
        return {"alphabet": alphabet, "codes": list(self.codes), "start": self.start, "end": self.end}

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> WordEncoding:
        """The encoding with this configuration.

        Raises:
            ValueError: if `get_config` cannot have returned this configuration.

        Example:

        >>> encoding = WordEncoding("ab", start=1)
        >>> WordEncoding.from_config(encoding.get_config()) == encoding
        True
        """
        if (
            not isinstance(config, Mapping)
            or set(config) != {"alphabet", "codes", "start", "end"}
            or not all(isinstance(config[name], (list, tuple)) for name in ("alphabet", "codes"))
            or len(config["alphabet"]) != len(config["codes"])
        ):
            raise ValueError(
                "A configuration must have an alphabet, an id for each of its symbols as codes, start and end. "
                f"Received: {config!r}. Pass what get_config returned."
            )
        alphabet = checked_alphabet(config["alphabet"])  # here, as a dict would merge two equal symbols
        return cls(dict(zip(alphabet, config["codes"], strict=True)), start=config["start"], end=config["end"])


def encoding_of(
    alphabet: WordEncoding | Mapping[Hashable, int] | None, start: int | None = None, end: int | None = None
) -> WordEncoding | None:
    """The encoding that the arguments alphabet, start and end of a public function describe; None for the model's own.

    Raises:
        ValueError: if the alphabet is neither a WordEncoding nor {symbol: id}; if tokens come without an alphabet, or
            with a WordEncoding.
    """
    if alphabet is None or isinstance(alphabet, WordEncoding):
        if start is None and end is None:
            return alphabet
        rule, remedy = (
            ("together with an alphabet", "Pass {symbol: id, ...} too, or none of the three if the model has its own.")
            if alphabet is None
            else ("without a WordEncoding, which has its own", "Leave them out, or build the WordEncoding with them.")
        )
        raise ValueError(
            f"Ids of tokens must come {rule}. Received: start={start!r}, end={end!r}, alphabet={alphabet!r}. {remedy}"
        )
    if not isinstance(alphabet, Mapping) or not alphabet:
        raise invalid("alphabet", "a mapping of each symbol to its id", alphabet, "Pass {symbol: id, ...}.")
    return WordEncoding(alphabet, start=start, end=end)


def checked_alphabet(symbols: Any) -> tuple[Hashable, ...]:
    """The symbols; raises ValueError unless there is at least one, and all are hashable and different."""
    try:
        alphabet = tuple(symbols)
        different = len(set(alphabet)) == len(alphabet)
    except TypeError:
        raise ValueError(
            f"An alphabet must be a sequence of hashable symbols, or {{symbol: id, ...}}. Received: {symbols!r}."
        ) from None
    check_not_missing(alphabet)
    if not alphabet or not different:
        raise ValueError(f"An alphabet must hold at least one symbol, each once. Received: {symbols!r}.")
    return alphabet


def check_not_missing(symbols: Iterable[Any]) -> None:
    """Raises ValueError if a symbol is NaN or the like, or holds it: no two are equal, so each would be another."""
    for symbol in symbols:
        if _is_missing(symbol):
            raise ValueError(
                f"A symbol must be equal to itself. Received: {symbol!r}. Leave it out of the words, or put a symbol "
                "such as 'missing' in its place."
            )


def _is_missing(value: Any) -> bool:
    """Whether a value is NaN, NaT or the NA of pandas, or a tuple or set that holds one."""
    if isinstance(value, tuple | frozenset):
        return any(map(_is_missing, value))
    try:
        return bool(value != value)
    except (TypeError, ValueError):  # the NA of pandas is neither equal to itself nor not
        return True


def checked_symbols(symbols: Any) -> tuple[Hashable, ...]:
    """The symbols of an alphabet; raises ValueError unless a model can save them."""
    return checked_labels(checked_alphabet(symbols), "Symbols")


def checked_labels(labels: tuple[Hashable, ...], kind: str = "Labels") -> tuple[Hashable, ...]:
    """The labels; raises ValueError unless all are ints or strings, which a model can save."""
    strays = [label for label in labels if not isinstance(label, (int, str))]
    if strays:
        raise ValueError(
            f"{kind} that are saved must be ints or strings. Received: {strays[0]!r}. Name the {kind.lower()}."
        )
    return labels


def optional_alphabet(symbols: Any) -> tuple[Hashable, ...] | None:
    """As `checked_alphabet`, with None for None."""
    return None if symbols is None else checked_alphabet(symbols)


def _id(value: Any, owner: str) -> int:
    if not is_integer(value) or not 1 <= operator.index(value) <= MAX_ID:
        raise ValueError(
            f"Ids of symbols and tokens must be ints from 1 to {MAX_ID}, as 0 is padding. Received: {value!r} for "
            f"{owner}."
        )
    return operator.index(value)


def checked_word(word: Any) -> Iterable[Hashable]:
    """A word; raises ValueError unless it is iterable."""
    if not isinstance(word, Iterable):
        raise ValueError(f"A word must be a sequence of symbols. Received: {word!r}. Pass () for the empty word.")
    return word


ACCEPTED = {
    **{"reject": "accept", "rejected": "accepted", "negative": "positive", "neg": "pos", "-": "+", "0": "1"},
    **{"no": "yes", "n": "y", "false": "true", "f": "t", "invalid": "valid", "incorrect": "correct", "fail": "pass"},
}
"""Pairs of labels in lower case: the one that means rejected -> the one that means accepted."""


def labels_and_classes(labels: Iterable[Any]) -> tuple[NDArray[np.int64], tuple[Hashable, ...]]:
    """The index of each label among the different ones, and these; the second of two means that a word is accepted.

    Of two numbers the larger means accepted, as True does; of two strings the one that `ACCEPTED` maps the other to.
    Three labels or more are ordered; no one of them means accepted.

    Args:
        labels: one value for each word: plain, or from NumPy, pandas or a tensor.

    Raises:
        ValueError: if a label is missing or no single value; if all labels are the same; if it is not known which of
            two means accepted.
    """
    values = [_plain(label) for label in labels]
    try:
        different = list(dict.fromkeys(values))
    except TypeError:
        raise ValueError(
            "A label must be one value for a word. Received: "
            f"{next(v for v in values if not isinstance(v, Hashable))!r}. Pass numbers or strings."
        ) from None
    if len(different) < 2:
        received = f"the label {different[0]!r} alone" if different else "none"
        raise ValueError(
            "There must be words of two labels or more, at least two different ones of each. "
            f"Received: {received}. Pass words of another label too."
        )
    classes = _rejected_and_accepted(*different) if len(different) == 2 else ordered(different)
    index = {label: i for i, label in enumerate(classes)}
    return np.array([index[value] for value in values], np.int64), classes


def _rejected_and_accepted(first: Any, second: Any) -> tuple[Hashable, Hashable]:
    if all(isinstance(label, (int, float)) for label in (first, second)):  # bools too
        return (first, second) if first < second else (second, first)
    if all(isinstance(label, str) for label in (first, second)):
        for rejected, accepted in ((first, second), (second, first)):
            if ACCEPTED.get(rejected.strip().lower()) == accepted.strip().lower():
                return rejected, accepted
    raise ValueError(
        f"It must be known which of two labels means that a word is accepted. Received: {first!r} and {second!r}. Pass "
        f"[label == {first!r} for label in labels], if that one does."
    )


def _plain(label: Any) -> Any:
    """A label as a plain value of Python; raises ValueError if it is missing or an array of several."""
    if hasattr(label, "dtype"):  # NumPy's, or a tensor
        array = np.asarray(label)
        if array.size != 1:
            raise ValueError(
                f"A label must be one value for a word. Received: an array of shape {array.shape}. Pass the number of "
                "the class, labels.argmax(axis=-1) of one-hot rows."
            )
        label = array.item()
    if label is None or _is_missing(label):
        raise ValueError(f"Every word must have a label. Received: the label {label!r}. Leave out words without one.")
    return label


def ordered(labels: Iterable[Hashable]) -> tuple[Hashable, ...]:
    """The different labels, in ascending order; if they cannot be compared, by type and `repr`."""
    different = list(dict.fromkeys(labels))
    try:
        return tuple(sorted(different))  # type: ignore[type-var]
    except TypeError:
        return tuple(sorted(different, key=lambda label: (type(label).__name__, repr(label))))


def names_of_states(names: Any, states: int) -> list[str]:
    """A name for each state, by default its number; raises ValueError if there are more or fewer."""
    if names is None:
        return [str(state) for state in range(states)]
    texts = [str(name) for name in names] if isinstance(names, Iterable) else []
    if len(texts) != states:
        raise invalid("names", f"a name for each of {states} states", names)
    return texts


def checked_words(words: Any) -> list[Sequence[Hashable]]:
    """A list of words; raises ValueError for anything else, such as a single word."""
    try:
        if isinstance(words, str):
            raise TypeError
        return [word if isinstance(word, (str, tuple)) else tuple(word) for word in words]
    except TypeError:
        raise ValueError(
            f"Words must be a list of sequences of symbols. Received: {words!r}. Give [word] for one word."
        ) from None


def shown_alphabet(symbols: Sequence[Hashable]) -> str:
    """An alphabet in an error: of many symbols the first ones, and the number of the others."""
    if len(symbols) <= MAX_SHOWN:
        return repr(tuple(symbols))
    return f"{', '.join(map(repr, symbols[:MAX_SHOWN]))} and {len(symbols) - MAX_SHOWN} others"


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
