"""Text as words: tokens, a vocabulary of the commonest, and sequences of ids."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

PADDING, UNKNOWN, START, END = 0, 1, 2, 3
"""Ids that stand for no word of their own."""

SPECIAL = ("<pad>", "<unk>", "<s>", "</s>")

_MARKUP = re.compile(r"<br\s*/?>")
_TOKENS = re.compile(r"[^\W_]+(?:'[^\W\d_]+)?|\.\.\.|\S")


def tokenize(text: str) -> list[str]:
    """Lower-case words, numbers, `...` and single signs; line breaks of HTML are left out.

    >>> tokenize("Skip it!<br />It isn't good... 3/10")
    ['skip', 'it', '!', 'it', "isn't", 'good', '...', '3', '/', '10']
    """
    return _TOKENS.findall(_MARKUP.sub(" ", text.lower()))


@dataclass(frozen=True)
class Vocabulary:
    """The words that have an id of their own.

    Attributes:
        names: of all ids; the first four are padding, unknown word, start and end.
    """

    names: tuple[str, ...]
    _ids: dict[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_ids", {name: i for i, name in enumerate(self.names)})

    def __len__(self) -> int:
        return len(self.names)

    @classmethod
    def of(cls, texts: Iterable[Sequence[str]], size: int) -> "Vocabulary":
        """The commonest words of tokenized texts, `size` ids in all.

        Raises:
            ValueError: if there is no room for a word.
        """
        if size <= len(SPECIAL):
            raise ValueError(f"A vocabulary holds {len(SPECIAL)} ids besides its words. Received: size={size}.")
        counts = Counter(word for text in texts for word in text)
        # Ties by the alphabet, so that the same texts make the same vocabulary.
        ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        return cls((*SPECIAL, *(word for word, _ in ranked[: size - len(SPECIAL)])))

    def encode(self, texts: Sequence[Sequence[str]], longest: int, end: bool = True) -> NDArray[np.int32]:
        """Tokenized texts as ids: (texts, longest), each with a start token, its last words, and padding behind.

        Args:
            longest: ids of a text, start and end token among them. Of a longer text the last words are kept.
            end: whether an end token closes each text.
        """
        ids = np.zeros((len(texts), longest), np.int32)
        room = longest - 1 - end
        for row, text in zip(ids, texts, strict=True):
            words = [self._ids.get(word, UNKNOWN) for word in text[max(0, len(text) - room) :]]
            line = [START, *words, *([END] if end else [])]
            row[: len(line)] = line
        return ids
