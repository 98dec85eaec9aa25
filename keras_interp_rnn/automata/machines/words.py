"""Checks of symbols, words and labels."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from keras_interp_rnn._alphabet import distinct_symbols, is_missing
from keras_interp_rnn._checks import invalid

Word = tuple[Hashable, ...]


def checked_symbols(symbols: object) -> tuple[Hashable, ...]:
    """The symbols of an alphabet; raises ValueError unless a model can save them."""
    return checked_labels(distinct_symbols(symbols), "Symbols")


def checked_labels(labels: tuple[Hashable, ...], kind: str = "Labels") -> tuple[Hashable, ...]:
    """The labels; raises ValueError unless all are ints or strings, which a model can save."""
    strays = [label for label in labels if not isinstance(label, (int, str))]
    if strays:
        raise ValueError(
            f"{kind} that are saved must be ints or strings. Received: {strays[0]!r}. Name the {kind.lower()}."
        )
    return labels


def optional_alphabet(symbols: object) -> tuple[Hashable, ...] | None:
    """As `distinct_symbols`, with None for None."""
    return None if symbols is None else distinct_symbols(symbols)


def checked_word(word: object) -> Iterable[Hashable]:
    """A word; raises ValueError unless it is iterable."""
    if not isinstance(word, Iterable):
        raise ValueError(f"A word must be a sequence of symbols. Received: {word!r}. Pass () for the empty word.")
    return word


ACCEPTED = {
    **{"reject": "accept", "rejected": "accepted", "negative": "positive", "neg": "pos", "-": "+", "0": "1"},
    **{"no": "yes", "n": "y", "false": "true", "f": "t", "invalid": "valid", "incorrect": "correct", "fail": "pass"},
}
"""Pairs of labels in lower case: the one that means rejected -> the one that means accepted."""


def labels_and_classes(labels: Iterable[object]) -> tuple[NDArray[np.int64], tuple[Hashable, ...]]:
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


def _plain(label: object) -> Any:
    """A label as a plain value of Python; raises ValueError if it is missing or an array of several."""
    if hasattr(label, "dtype"):  # NumPy's, or a tensor
        array = np.asarray(label)
        if array.size != 1:
            raise ValueError(
                f"A label must be one value for a word. Received: an array of shape {array.shape}. Pass the number of "
                "the class, labels.argmax(axis=-1) of one-hot rows."
            )
        label = array.item()
    if label is None or is_missing(label):
        raise ValueError(f"Every word must have a label. Received: the label {label!r}. Leave out words without one.")
    return label


def ordered(labels: Iterable[Hashable]) -> tuple[Hashable, ...]:
    """The different labels, in ascending order; if they cannot be compared, by type and `repr`."""
    different = list(dict.fromkeys(labels))
    try:
        return tuple(sorted(different))  # type: ignore[type-var]
    except TypeError:
        return tuple(sorted(different, key=lambda label: (type(label).__name__, repr(label))))


def names_of_states(names: object, states: int) -> list[str]:
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
