"""Alphabets: which id stands for which symbol, and texts as ids. Characters, words, events and automata have one class.

Of Keras nothing is imported before `Alphabet.layer` is called, or an alphabet with a function of a user's is saved.
"""

from __future__ import annotations

import operator
import os
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from typing import Any, SupportsInt

import numpy as np
from numpy.typing import ArrayLike, NDArray

from keras_interp_rnn._checks import expanded_path, integer, integers, invalid, is_hashable, is_integer
from keras_interp_rnn._io import DataError, existing_file, read_json, write_json
from keras_interp_rnn._results import nth, short_repr
from keras_interp_rnn._tokens import tokenize

TOKENIZE = "keras_interp_rnn.datasets.words.tokenize"
"""The name under which the tokenizer of this package is saved with an alphabet."""
_BLOCK = 1 << 20
"""Characters encoded at a time, which bounds the memory."""
_LONG = 64
"""Texts of more characters are encoded by a table of code points."""
MAX_ID = int(np.iinfo(np.int32).max)
"""Ids are int32."""
MAX_SHOWN = 10
"""Maximum number of symbols of an alphabet that an error shows, when there are more."""
PADDING, UNKNOWN, START, END = "<pad>", "<unk>", "<s>", "</s>"
SPECIAL = (PADDING, UNKNOWN, START, END)
"""Names of special symbols, where none are given, in the order of their ids."""


@short_repr
@dataclass(frozen=True, eq=True)
class Alphabet(Sequence[Any]):
    r"""The symbols that a network reads, and the id of each: characters, words, events, or symbols of an automaton.

    Pass an alphabet wherever names of ids are expected; texts are then read as `encode` writes them. It is a sequence:
    `alphabet[i]` is the symbol with the id i, and `len(alphabet)` the `input_dim` of an Embedding. A text is a string
    of characters where each of the ordinary symbols is one character, or where there is `split`; otherwise a list.

    Args:
        symbols: distinct hashable symbols, at least one, such as the characters of a string or a list of words; or a
            mapping from symbols to ids.
        ids: distinct ids of the symbols, in [0, 2^31); None for 0, 1, ...
        start: the symbol before every text; None if there is none.
        end: the symbol after every text; None if there is none.
        unknown: the symbol that replaces all symbols outside the alphabet; None to raise an error for them.
        padding: the symbol after the end of shorter texts of a batch. Without one, the id 0 is padding if it is the id
            of no symbol. If it is, only texts of one length are read together.
        split: a function that splits a string into symbols, such as `datasets.words.tokenize`, or a function of yours,
            which is saved if it is registered by `keras.saving.register_keras_serializable`; None for characters.

    Raises:
        ValueError: if there are no symbols, or one occurs twice or is not hashable; if `start`, `end`, `unknown` or
            `padding` is not one of them, or padding is one of the others; if an id is out of range or occurs twice.

    Example:

    >>> from keras_interp_rnn.datasets import Alphabet
    >>> alphabet = Alphabet.from_text("to be\nor not")
    >>> alphabet.symbols
    '\n benort'
    >>> alphabet.decode(alphabet.encode("not to be"))
    'not to be'
    >>> events = Alphabet(["-", "login", "fail", "logout"], padding="-")
    >>> events.encode_batch([["login", "logout"], ["fail"]])
    array([[1, 3],
           [2, 0]], dtype=int32)
    >>> words = Alphabet.from_texts(["A good film", "a bad film"], max_size=7)
    >>> words.symbols
    ('<pad>', '<unk>', '<s>', '</s>', 'a', 'film', 'bad')
    >>> words.encode("A film!")
    array([2, 4, 5, 1, 3], dtype=int32)

    A layer that returns its inputs saves the alphabet with a model:

        model = keras.Sequential([
            keras.Input((None,), dtype="int32"),
            alphabet.layer(),
            layers.ISAN(192, len(alphabet), return_sequences=True),
            keras.layers.Dense(len(alphabet)),
        ])
        alphabet = Alphabet.of(keras.models.load_model("model.keras"))

    Bytes need no alphabet: `np.frombuffer(data, np.uint8)` are ids in [0, 256).
    """

    symbols: Any
    _: KW_ONLY
    ids: Any = None
    start: Hashable = None
    end: Hashable = None
    unknown: Hashable = None
    padding: Hashable = None
    split: Callable[[str], Iterable[str]] | None = None
    _id_of: dict[Hashable, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        given = self.symbols
        symbols: Any = tuple(s.item() if isinstance(s, np.generic) else s for s in distinct_symbols(given))
        ids = given.values() if isinstance(given, Mapping) and self.ids is None else self.ids
        if ids is not None and not isinstance(ids, Iterable):
            raise invalid("ids", "a list of ids", ids)
        ids = tuple(range(len(symbols))) if ids is None else _checked_ids(symbols, tuple(ids))
        for name in ("start", "end", "unknown", "padding"):
            symbol = getattr(self, name)
            if symbol is not None and (not isinstance(symbol, Hashable) or symbol not in symbols):
                raise invalid(name, "one of the symbols", symbol, "Add it to the symbols.")
        if self.split is not None and not callable(self.split):
            raise invalid("split", "a function of a string", self.split, "Pass str.split, or a function of yours.")
        if self.padding is not None and self.padding in (self.start, self.end, self.unknown):
            remedy = "It is not read: give it a symbol of its own."
            raise invalid("padding", "neither `start`, `end` nor `unknown`", self.padding, remedy)
        if all(isinstance(symbol, str) and len(symbol) == 1 for symbol in symbols):
            symbols = "".join(symbols)
        for name, value in (("symbols", symbols), ("ids", ids), ("_id_of", dict(zip(symbols, ids, strict=True)))):
            object.__setattr__(self, name, value)

    @classmethod
    def from_text(
        cls, text: str | Iterable[str], *, min_count: int = 1, max_size: int | None = None, unknown: str | None = None
    ) -> Alphabet:
        """The alphabet of the characters of a text, or of its tokens, in alphabetical order.

        Args:
            text: any text: a string, or a list of tokens.
            min_count: int, characters or tokens that occur fewer times are omitted.
            max_size: int > 0, largest number of symbols, including `unknown`; the rarest are omitted. None for all.
            unknown: the symbol that replaces omitted and all other symbols, added if the text does not have it. Good
                choices are "\N{REPLACEMENT CHARACTER}" and, for tokens, "<unk>". None raises an error for them.

        Returns:
            The alphabet.

        Raises:
            ValueError: if no symbol is left.

        Example:

        >>> Alphabet.from_text("abracadabra", max_size=3, unknown="?").symbols
        '?ab'
        """
        special = [] if unknown is None else [unknown]
        chosen = _frequent(text if isinstance(text, str) else list(_iterable(text)), special, min_count, max_size)
        return cls(sorted({*chosen, *special}), unknown=unknown)

    @classmethod
    def from_texts(
        cls,
        texts: Iterable[str | Iterable[str]],
        *,
        min_count: int = 1,
        max_size: int | None = None,
        start: str | None = START,
        end: str | None = END,
        unknown: str | None = UNKNOWN,
        padding: str | None = PADDING,
        split: Callable[[str], Iterable[str]] | None = tokenize,
    ) -> Alphabet:
        """The alphabet of the words of texts: the special symbols, then the words, the most frequent first.

        Args:
            texts: strings, which `split` splits, or lists of tokens.
            min_count: int, words that occur fewer times are omitted.
            max_size: int, largest number of symbols, including the special ones; the rarest are omitted. None for all.
            start, end, unknown, padding, split: as of `Alphabet`.

        Returns:
            The alphabet; words that are equally frequent are in alphabetical order.

        Raises:
            ValueError: if no word is left, or `texts` is a single string.

        Example:

        >>> Alphabet.from_texts(["to be or not to be"], max_size=6).symbols
        ('<pad>', '<unk>', '<s>', '</s>', 'be', 'to')
        >>> Alphabet.from_texts(["ACGT", "AC"], split=None, padding="-", start="^", end=None, unknown=None).symbols
        '-^ACGT'
        """
        special = list(dict.fromkeys(name for name in (padding, unknown, start, end) if name is not None))
        some = [text if split is None or not isinstance(text, str) else split(text) for text in _several(texts)]
        tokens = [list(_iterable(text)) for text in some]
        chosen = _frequent([token for text in tokens for token in text], special, min_count, max_size)
        return cls([*special, *chosen], start=start, end=end, unknown=unknown, padding=padding, split=split)

    @classmethod
    def with_tokens(cls, symbols: Iterable[Hashable], *, start: bool = False, end: bool = False) -> Alphabet:
        """The alphabet of K symbols of an automaton: padding 0, start token 1, symbol i has the id i + 2, end K + 2.

        Args:
            symbols: of the automaton, in order.
            start: whether there is a start token before every word.
            end: whether there is an end token after every word.

        Example:

        >>> Alphabet.with_tokens("ab", start=True, end=True).encode_batch(["ab", ""])
        array([[1, 2, 3, 4],
               [1, 4, 0, 0]], dtype=int32)
        """
        ids = {symbol: i + 2 for i, symbol in enumerate(distinct_symbols(symbols))}
        return with_token_ids(ids, 1 if start else None, len(ids) + 2 if end else None)

    @classmethod
    def of(cls, model: Any) -> Alphabet:
        """The alphabet that a layer of a model carries (see `layer`).

        Args:
            model: a Keras model.

        Returns:
            Its alphabet.

        Raises:
            ValueError: if the model has no alphabet, or several.

        Example:

        >>> model = keras.Sequential([keras.Input((None,), dtype="int32"), Alphabet("abc").layer()])
        >>> Alphabet.of(model).symbols
        'abc'
        """
        if not hasattr(model, "layers"):
            raise invalid("model", "a Keras model", model)
        carried = [getattr(part, "alphabet", None) for part in _layers(model)]
        alphabets: list[Alphabet] = []
        for alphabet in carried:
            if isinstance(alphabet, Alphabet) and alphabet not in alphabets:
                alphabets.append(alphabet)
        if len(alphabets) != 1:
            raise ValueError(
                f"A model must have one alphabet. Received: {model.name}, with {len(alphabets)}. Put Alphabet.layer() "
                "right after its input."
            )
        return alphabets[0]

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Alphabet:
        """Loads an alphabet that `save` wrote.

        Args:
            path: of the file.

        Returns:
            The alphabet.

        Raises:
            ValueError: if there is no such file, or it does not contain an alphabet.
        """
        rule, remedy = "The file of an alphabet must be JSON with `symbols`", "Give a file that Alphabet.save wrote."
        path = existing_file(path)
        config = read_json(path, rule, {}, remedy)
        try:
            return cls.from_config(config)
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f"{rule}. Received: {path} ({error!r}). {remedy}") from None

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the alphabet to a JSON file, atomically.

        Args:
            path: of the file; one that exists is overwritten.

        Raises:
            ValueError: as `get_config`.

        Example:

        >>> Alphabet("abc").save("alphabet.json")
        >>> Alphabet.load("alphabet.json").symbols
        'abc'
        """
        write_json(expanded_path("path", path), self.get_config())

    @cached_property
    def ordinary(self) -> tuple[Any, ...]:
        """The symbols that texts are made of, in order: all but `start`, `end`, `unknown` and `padding`."""
        special = {symbol for symbol in (self.start, self.end, self.unknown, self.padding) if symbol is not None}
        return tuple(symbol for symbol in self.symbols if symbol not in special)

    @cached_property
    def is_characters(self) -> bool:
        """Whether every ordinary symbol is one character, so that a text is a string of them."""
        return all(isinstance(symbol, str) and len(symbol) == 1 for symbol in self.ordinary)

    @property
    def start_id(self) -> int | None:
        """The id of `start`."""
        return None if self.start is None else self._id_of[self.start]

    @property
    def end_id(self) -> int | None:
        """The id of `end`."""
        return None if self.end is None else self._id_of[self.end]

    @property
    def padding_id(self) -> int | None:
        """The id after the end of shorter texts of a batch; None if only texts of one length are read together."""
        if self.padding is not None:
            return self._id_of[self.padding]
        return None if 0 in self._symbol_of else 0

    def ids_of(self, symbols: Iterable[Hashable]) -> NDArray[np.int32]:
        """The id of each symbol by itself, without those of `start` and `end`.

        Args:
            symbols: as `encode`.

        Returns:
            int32 (num_symbols,).

        Raises:
            datasets.DataError: if a symbol is not in the alphabet and there is no `unknown`; it names the first one.

        Example:

        >>> Alphabet("abc?", unknown="?").ids_of("cab!")
        array([2, 0, 1, 3], dtype=int32)
        """
        symbols = self._symbols_of(symbols)
        others = -1 if self.unknown is None else self._id_of[self.unknown]
        if isinstance(symbols, str) and len(symbols) > _LONG and isinstance(self.symbols, str):
            ids = np.empty(len(symbols), np.int32)
            for start in range(0, len(symbols), _BLOCK):
                points = _points(symbols[start : start + _BLOCK])
                ids[start : start + _BLOCK] = self._of_points[np.minimum(points, len(self._of_points) - 1)]
        else:
            symbols = list(symbols)
            try:
                ids = np.array([self._id_of.get(symbol, others) for symbol in symbols], np.int32)
            except TypeError:
                known = [self._id_of.get(x, others) if is_hashable(x) else -1 for x in symbols]
                ids = np.array(known, np.int32)
        if ids.size and ids.min() < 0:
            position = int((ids < 0).argmax())
            raise DataError(
                f"A text must consist of the symbols of its alphabet, {shown_symbols(self.ordinary or self.symbols)}. "
                f"Received: {symbols[position]!r} at {nth('position', position)}. Leave it out of the text, or make "
                "the alphabet with `unknown`, a symbol for all others."
            )
        return ids

    def encode(self, text: str | Iterable[Hashable], *, end: bool = True) -> NDArray[np.int32]:
        """Maps a text to ids: the one of `start`, those of its symbols, and the one of `end`, where there are such.

        Args:
            text: a string or a list of symbols.
            end: whether `end` follows; a text that goes on has none.

        Returns:
            int32 (num_symbols,).

        Raises:
            datasets.DataError: as `ids_of`; for a string where symbols have several letters and there is no `split`.

        Example:

        >>> Alphabet("^ab$", start="^", end="$").encode("ba"), Alphabet("^ab$", start="^").encode("ba")
        (array([0, 2, 1, 3], dtype=int32), array([0, 2, 1], dtype=int32))
        """
        ids = self.ids_of(text)
        before = [] if self.start_id is None else [self.start_id]
        after = [self.end_id] if end and self.end_id is not None else []
        return np.concatenate([np.array(before, np.int32), ids, np.array(after, np.int32)]) if before or after else ids

    def encode_batch(
        self,
        texts: Iterable[str | Iterable[Hashable]],
        length: int | None = None,
        *,
        end: bool = True,
        truncate: bool = False,
    ) -> NDArray[np.int32]:
        """Maps texts to rows of ids, with padding after shorter ones.

        Args:
            texts: strings, or lists of symbols.
            length: int, ids in a row, including those of `start` and `end`; None for the longest text.
            end: as `encode`.
            truncate: whether of a text that does not fit into `length` the last symbols are used; otherwise it is an
                error.

        Returns:
            int32 (num_texts, length).

        Raises:
            datasets.DataError: as `encode`; if texts have several lengths and there is no padding; if one does not fit.
            ValueError: if `length` leaves no room for `start` and `end`.

        Example:

        >>> words = Alphabet(["<pad>", "<s>", "good", "bad"], padding="<pad>", start="<s>")
        >>> words.encode_batch([["good"], ["good", "bad"]])
        array([[1, 2, 0],
               [1, 2, 3]], dtype=int32)
        """
        rows = [self.encode(text, end=end) for text in _several(texts)]
        frame = int(self.start is not None) + int(end and self.end is not None)
        longest = max(map(len, rows), default=frame)
        if length is None:
            length = longest
        integer("length", length, frame, "A row holds `start` and `end` too." if frame else "")
        if longest > length:
            if not truncate:
                raise DataError(
                    f"A row must hold its text. Received: length={length}, and a text that needs {longest}. Give a "
                    "larger length or shorter texts, or truncate=True for the last symbols of longer ones."
                )
            rows = [row if len(row) <= length else self._last(row, length) for row in rows]
        padding = self.padding_id
        if padding is None and any(len(row) != length for row in rows):
            lengths = sorted({*map(len, rows), length})
            raise DataError(
                f"Texts that are read together must have one length. Received: lengths from {lengths[0]} to "
                f"{lengths[-1]}. Pass one text at a time, or an alphabet with `padding`, a symbol that the model skips."
            )
        ids = np.full((len(rows), length), 0 if padding is None else padding, np.int32)
        for row, found in zip(ids, rows, strict=True):
            row[: len(found)] = found
        return ids

    def lengths(self, ids: ArrayLike) -> NDArray[np.int64]:
        """The number of ids of each text of a batch, without the padding after it.

        Args:
            ids: integers (num_texts, length), as `encode_batch` returns them.

        Returns:
            int64 (num_texts,).

        Example:

        >>> words = Alphabet(["-", "a", "b"], padding="-")
        >>> words.lengths(words.encode_batch(["a", "bab", ""]))
        array([1, 3, 0])
        """
        rows = integers("ids", ids, ndim=2, below=MAX_ID + 1)
        if not rows.shape[1]:
            return np.zeros(len(rows), np.int64)
        read = rows != (-1 if self.padding_id is None else self.padding_id)
        return np.where(read.any(axis=1), rows.shape[1] - read[:, ::-1].argmax(axis=1), 0).astype(np.int64)

    def decode(self, ids: ArrayLike) -> str | list[Any]:
        """Maps ids back to a text, without `start`, `end` and padding; the id of unknown symbols becomes `unknown`.

        Args:
            ids: integers (num_symbols,), each the id of a symbol.

        Returns:
            The text, or a list of symbols.

        Raises:
            datasets.DataError: if an id is not the id of a symbol.

        Example:

        >>> Alphabet("abc?", unknown="?").decode([2, 0, 1, 3])
        'cab?'
        """
        remedy = "Decode one text at a time, with the alphabet that encoded it."
        array = integers("ids", ids, ndim=1, below=len(self), remedy=remedy, error=DataError)
        left_out = {self.start_id, self.end_id, self.padding_id}
        text = [self.name(i) for i in array.tolist() if i not in left_out]
        return "".join(map(str, text)) if self.is_characters else text

    def name(self, id: SupportsInt) -> Any:
        """The symbol of an id; of padding without a symbol "<pad>".

        Raises:
            datasets.DataError: if it is the id of no symbol.

        Example:

        >>> Alphabet({"a": 7, "b": 9}).name(9)
        'b'
        """
        if not is_integer(id):
            raise DataError(f"`id` must be an integer. Received: {id!r}. Pass the id of a symbol.")
        if int(id) in self._symbol_of:
            return self._symbol_of[int(id)]
        if int(id) == self.padding_id:
            return self[int(id)]
        raise DataError(
            f"An alphabet must name every id that occurs. Received: {len(self.ids)} symbols, none with the id "
            f"{int(id)}. Pass the alphabet that made the ids."
        )

    def layer(self) -> Any:
        """A layer that returns its inputs and holds this alphabet. Put it right after the input of a model.

        Returns:
            The layer.

        Example:

        >>> Alphabet("abc").layer().alphabet.symbols
        'abc'
        """
        import keras

        return keras.saving.get_registered_object("keras_interp_rnn>AlphabetLayer")(self)

    def get_config(self) -> dict[str, object]:
        """A configuration, which can be saved as JSON, from which `from_config` makes an equal alphabet.

        Raises:
            ValueError: if a symbol is neither an int nor a string, or `split` is not registered.
        """
        strays = [symbol for symbol in self.symbols if not isinstance(symbol, int | str)]
        if strays:
            raise ValueError(
                f"Symbols that are saved must be ints or strings. Received: {strays[0]!r}. Name the symbols."
            )
        symbols = self.symbols if isinstance(self.symbols, str) else list(self.symbols)
        config: dict[str, object] = {"symbols": symbols, "unknown": self.unknown}
        if self.ids != tuple(range(len(self.ids))):
            config["ids"] = list(self.ids)
        config |= {name: symbol for name in ("start", "end", "padding") if (symbol := getattr(self, name)) is not None}
        return config | ({} if self.split is None else {"split": _name_of(self.split)})

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Alphabet:
        """The alphabet with this configuration."""
        split = config.get("split")
        return cls(**{**config, "split": _function_of(split) if isinstance(split, str) else split})

    def __len__(self) -> int:
        return int(max(self.ids)) + 1

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return tuple(self[i] for i in range(*index.indices(len(self))))
        place = range(len(self))[index]
        if place in self._symbol_of:
            return self._symbol_of[place]
        return _free(PADDING if place == self.padding_id else f"id {place}", self._id_of)

    def __contains__(self, symbol: object) -> bool:
        return is_hashable(symbol) and symbol in self._id_of

    @cached_property
    def _symbol_of(self) -> dict[int, Hashable]:
        return dict(zip(self.ids, self.symbols, strict=True))

    @cached_property
    def _of_points(self) -> NDArray[np.int32]:
        """Code point -> id, and a last entry for all that are beyond the largest."""
        points = _points(self.symbols)
        table = np.full(int(points.max()) + 2, -1 if self.unknown is None else self._id_of[self.unknown], np.int32)
        table[points] = self.ids
        return table

    def _symbols_of(self, text: object) -> Iterable[Hashable]:
        """The symbols of a text as users pass it."""
        if hasattr(text, "__array__") and not isinstance(text, np.ndarray):
            text = np.asarray(text)  # a tensor
        if isinstance(text, np.ndarray):
            if text.ndim > 1:
                raise DataError(
                    f"`text` must be one text. Received: an array of shape {text.shape}. Encode several by "
                    "encode_batch."
                )
            text = text.tolist()  # of an array without an axis the string itself
        if isinstance(text, str):
            if self.split is not None:
                return _iterable(self.split(text))
            if not self.is_characters:
                raise DataError(
                    f"`text` must be a list of symbols such as {(self.ordinary or self.symbols)[0]!r}, as some have "
                    f"several letters. Received: the string {text[:40]!r}. Split it, for example by text.split()."
                )
            return text
        if isinstance(text, bytes) or not isinstance(text, Iterable):
            raise DataError(
                f"`text` must be a string or a list of symbols. Received: {type(text).__name__}. Decode bytes first; "
                "ids are encoded already."
            )
        symbols = text if isinstance(text, Collection) else list(text)
        if self.is_characters:
            longer = [x for x in symbols if isinstance(x, str) and len(x) != 1 and x not in self._id_of]
            if longer:
                raise DataError(
                    f"`text` must be one text, a string or a list of characters. Received: a list with "
                    f"{longer[0][:40]!r}. Encode several by encode_batch."
                )
        return symbols

    def _last(self, row: NDArray[np.int32], length: int) -> NDArray[np.int32]:
        """The last ids of a row, after the one of `start`."""
        first = row[: int(self.start is not None)]
        return np.concatenate([first, row[len(row) - (length - len(first)) :]])


def of_words(names: Iterable[str]) -> Alphabet:
    """The alphabet of words that `tokenize` splits a text into, after the four special symbols of `from_texts`."""
    special = {"padding": PADDING, "unknown": UNKNOWN, "start": START, "end": END}
    return Alphabet(names, split=tokenize, **special)


def with_token_ids(ids: Mapping[Hashable, int], start: int | None, end: int | None) -> Alphabet:
    """The alphabet of symbols with these ids, padding with the id 0, and tokens with these ids.

    Raises:
        ValueError: if the id of a symbol or of a token is that of padding, or the one of a token is that of a symbol.
    """
    names = {"padding": _free(PADDING, ids), "start": _free(START, ids), "end": _free(END, ids)}
    given = {name: id_ for name, id_ in (("padding", 0), ("start", start), ("end", end)) if id_ is not None}
    special: dict[str, Any] = {
        name: names[next(other for other in given if given[other] == id_)] for name, id_ in given.items()
    }
    before = {special[name]: id_ for name, id_ in given.items() if name != "end"}
    return Alphabet(before | dict(ids) | {special[name]: id_ for name, id_ in given.items()}, **special)


def token_ids(symbols: Alphabet) -> tuple[int, ...]:
    """The ids of the tokens before and after every text, where there are such."""
    return tuple(id_ for id_ in (symbols.start_id, symbols.end_id) if id_ is not None)


def distinct_symbols(symbols: Any) -> tuple[Hashable, ...]:
    """The symbols; raises ValueError unless there is at least one, and all are hashable and different."""
    try:
        found = tuple(symbols)
        counts = Counter(found)
    except TypeError:
        raise ValueError(
            f"An alphabet must be a sequence of hashable symbols, or {{symbol: id, ...}}. Received: {symbols!r}."
        ) from None
    check_not_missing(found)
    if len(counts) < len(found) or not found:
        [(symbol, count)] = counts.most_common(1) or [(None, 0)]
        received = f"{symbol!r} {count} times" if found else repr(symbols)
        raise ValueError(
            f"An alphabet must hold at least one symbol, each once. Received: {received}. Leave out the others."
        )
    return found


def distinct_names(names: Iterable[Hashable], ids: Iterable[int] | None = None) -> list[Hashable]:
    """Names of ids, each once: a name of several ids is followed by the id."""
    names = list(names)
    counts, taken, found = Counter(names), set(names), []
    for name, id_ in zip(names, range(len(names)) if ids is None else ids, strict=True):
        if counts[name] > 1:
            name = f"{name} ({id_})"
            while name in taken:
                name += "'"
            taken.add(name)
        found.append(name)
    return found


def check_not_missing(symbols: Iterable[object]) -> None:
    """Raises ValueError if a symbol is NaN or the like, or holds it: no two are equal, so each would be another."""
    for symbol in symbols:
        if is_missing(symbol):
            raise ValueError(
                f"A symbol must be equal to itself. Received: {symbol!r}. Leave it out of the words, or put a symbol "
                "such as 'missing' in its place."
            )


def is_missing(value: object) -> bool:
    """Whether a value is NaN, NaT or the NA of pandas, or a tuple or set that holds one."""
    if isinstance(value, tuple | frozenset):
        return any(map(is_missing, value))
    try:
        return bool(value != value)
    except (TypeError, ValueError):  # the NA of pandas is neither equal to itself nor not
        return True


def shown_symbols(symbols: Sequence[Hashable]) -> str:
    """Symbols in an error: of many the first ones, and the number of the others."""
    if len(symbols) <= MAX_SHOWN:
        return repr(tuple(symbols))
    return f"{', '.join(map(repr, symbols[:MAX_SHOWN]))} and {len(symbols) - MAX_SHOWN} others"


def _checked_ids(symbols: tuple[Hashable, ...], ids: tuple[Any, ...]) -> tuple[int, ...]:
    """An id for each symbol; raises ValueError unless they are different ints in [0, 2^31)."""
    if len(ids) != len(symbols):
        raise invalid("ids", f"an id for each of {len(symbols)} symbols", ids)
    symbol_of: dict[int, Hashable] = {}
    for symbol, id_ in zip(symbols, ids, strict=True):
        if not is_integer(id_) or not 0 <= operator.index(id_) <= MAX_ID:
            raise ValueError(f"Ids must be ints from 0 to {MAX_ID}. Received: {id_!r} for the symbol {symbol!r}.")
        if symbol_of.setdefault(operator.index(id_), symbol) is not symbol:
            raise ValueError(
                f"Every symbol must have an id of its own. Received: id {id_} for {symbol_of[id_]!r} and for "
                f"{symbol!r}. Leave one of them out, or give it another id."
            )
    return tuple(symbol_of)


def _several(texts: object) -> Iterable[Any]:
    """Texts; raises ValueError for one text, or anything else."""
    one = isinstance(texts, str | bytes) or (isinstance(texts, np.ndarray) and not texts.ndim)
    if one or not isinstance(texts, Iterable):
        raise DataError(f"`texts` must be several texts. Received: {texts!r:.60}. Pass [text] for one.")
    return texts


def _iterable(text: object) -> Iterable[Any]:
    """A text as symbols; raises ValueError for anything else."""
    if isinstance(text, bytes) or not isinstance(text, Iterable):
        raise DataError(f"A text must be a string or a list of symbols. Received: {text!r:.60}. Decode bytes first.")
    return text


def _frequent(text: str | list[str], special: Sequence[str], min_count: int, max_size: int | None) -> list[str]:
    """The symbols of a text that are not special, the most frequent first, ties in the order of code points."""
    if max_size is not None:
        integer("max_size", max_size, len(special) + 1, f"{len(special)} of them are special." if special else "")
    integer("min_count", min_count, 1)
    counts = Counter(text)
    strays = [symbol for symbol in counts if not isinstance(symbol, str)]
    if strays:
        raise DataError(f"A text must consist of strings. Received: {strays[0]!r}. Pass Alphabet(symbols) for others.")
    for symbol in special:
        counts.pop(symbol, None)
    ranked = sorted((c for c, count in counts.items() if count >= min_count), key=lambda c: (-counts[c], c))
    chosen = ranked[: None if max_size is None else max_size - len(special)]
    if not chosen:
        kind = "characters" if isinstance(text, str) else "tokens"
        raise ValueError(
            f"`text` must contain one of its {kind} at least min_count={min_count} times. Received: a text of "
            f"{len(text)} {kind}. Give a longer text or a smaller min_count."
        )
    return chosen


def _free(name: str, symbols: Collection[Hashable]) -> str:
    """A name of none of the symbols."""
    while name in symbols:
        name += "'"
    return name


def _name_of(split: Callable[..., object]) -> str:
    """The name under which a function is saved."""
    if split is tokenize:
        return TOKENIZE
    import keras

    name = str(keras.saving.get_registered_name(split))
    if keras.saving.get_registered_object(name) is not split:
        raise invalid(
            "split",
            "a registered function, if the alphabet is saved",
            split,
            "Decorate it with @keras.saving.register_keras_serializable().",
        )
    return name


def _function_of(name: str) -> Callable[[str], Iterable[str]]:
    """The function with this name."""
    if name == TOKENIZE:
        return tokenize
    import keras

    split = keras.saving.get_registered_object(name)
    if split is None:
        raise invalid("split", "the name of a registered function", name, "Import the module that registers it first.")
    return split  # type: ignore[no-any-return]


def _points(text: str) -> NDArray[np.uint32]:
    """The code points of a text, including lone surrogates."""
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4")


def _layers(model: Any) -> list[Any]:
    """The layers of a model and of the models inside it."""
    return [part for layer in model.layers for part in (_layers(layer) if hasattr(layer, "layers") else [layer])]
