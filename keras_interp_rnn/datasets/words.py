"""Text as words: tokens, a vocabulary of the commonest, sequences of ids, and vectors counted from them."""

import os
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from keras_interp_rnn._repr import short_repr
from keras_interp_rnn.datasets._files import decoded

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


@short_repr
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

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the words into a file, one a line: what a model that reads their ids needs besides itself."""
        Path(path).write_text("".join(f"{name}\n" for name in self.names), encoding="utf-8")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Vocabulary":
        """The vocabulary that `save` wrote.

        Raises:
            ValueError: if the file does not begin as one, or is not UTF-8.
        """
        names = tuple(decoded(Path(path)).split("\n")[:-1])
        if names[: len(SPECIAL)] != SPECIAL:
            raise ValueError(
                f"A vocabulary begins with {', '.join(SPECIAL)}, one a line. Received: {path}, which begins with "
                f"{', '.join(names[: len(SPECIAL)])!r}. Give a file that `save` wrote."
            )
        return cls(names)

    def encode(self, texts: Sequence[Sequence[str]], longest: int, end: bool = True) -> NDArray[np.int32]:
        """Tokenized texts as ids: (texts, longest), each with a start token, its last words, and padding behind.

        Args:
            longest: ids of a text, start and end token among them. Of a longer text the last words are kept.
            end: whether an end token closes each text.

        Raises:
            ValueError: if there is no room for start and end.
        """
        if longest < 1 + end:
            raise ValueError(f"longest must be at least {1 + end}, for start and end. Received: longest={longest}.")
        ids = np.zeros((len(texts), longest), np.int32)
        room = longest - 1 - end
        for row, text in zip(ids, texts, strict=True):
            words = [self._ids.get(word, UNKNOWN) for word in text[max(0, len(text) - room) :]]
            line = [START, *words, *([END] if end else [])]
            row[: len(line)] = line
        return ids


def vectors(
    ids: NDArray[np.integer], size: int, features: int, window: int = 5, contexts: int = 2000, seed: int = 0
) -> NDArray[np.float32]:
    r"""Word vectors counted from texts: singular vectors of their positive pointwise mutual information.

    $M_{wc} = \max(0, \log\frac{n_{wc}}{n_w p_c})$ with $p_c \propto n_c^{0.75}$, where $n_{wc}$ counts how often c
    stands within `window` words of w, a neighbour at distance d with the weight 1 - (d - 1)/window. Of
    $M \approx U S V^T$ the rows of $U S^{1/2}$ are the vectors, scaled to a mean square of 1.

    Args:
        ids: int (texts, time) as `Vocabulary.encode` makes them.
        size: number of ids. features: length of a vector. window: words to either side.
        contexts: ids below this count as neighbours; the most frequent words come first.
        seed: of the vector from which the iteration for singular vectors starts.

    Returns:
        (size, features); the special ids, and words that do not occur, are 0.

    Raises:
        ValueError: if there are more features than neighbours or words.

    Reference: Levy, Goldberg and Dagan, "Improving Distributional Similarity with Lessons Learned from Word
    Embeddings", 2015, sections 2 and 3.
    """
    contexts, special = min(contexts, size), len(SPECIAL)
    if not 0 < features <= contexts - special:
        raise ValueError(
            f"A vector has at most as many features as there are words that count as neighbours, {contexts - special}. "
            f"Received: features={features}."
        )
    from scipy import sparse  # a tenth of a second, for those who ask
    from scipy.sparse.linalg import svds

    counts = sparse.csr_array((size, contexts))
    for distance in range(1, min(window, ids.shape[1] - 1) + 1):
        before, after = ids[:, :-distance].ravel(), ids[:, distance:].ravel()
        words = (before >= special) & (after >= special)
        for word, context in ((before[words], after[words]), (after[words], before[words])):
            near = context < contexts
            ones = np.full(int(near.sum()), 1 - (distance - 1) / window)
            counts = counts + sparse.csr_array((ones, (word[near], context[near])), (size, contexts))
    if not counts.nnz:
        return np.zeros((size, features), np.float32)
    of_word, of_context = counts.sum(axis=1), counts.sum(axis=0) ** 0.75
    pairs = counts.tocoo()
    information = np.log(pairs.data / (of_word[pairs.row] * (of_context / of_context.sum())[pairs.col]))
    positive = information > 0
    matrix = sparse.csr_array((information[positive], (pairs.row[positive], pairs.col[positive])), (size, contexts))
    if not matrix.nnz:
        return np.zeros((size, features), np.float32)
    start = np.random.default_rng(seed).uniform(0.5, 1.5, contexts)
    left, values, _ = svds(matrix, k=features, v0=start)
    vectors = (left * np.sqrt(values))[:, ::-1]  # in descending order
    # A singular vector has no sign of its own: its largest entry is positive.
    vectors = vectors * np.sign(vectors[np.abs(vectors).argmax(axis=0), np.arange(features)])
    vectors[of_word == 0] = 0
    return (vectors / np.sqrt(np.mean(vectors[of_word > 0] ** 2))).astype(np.float32)
