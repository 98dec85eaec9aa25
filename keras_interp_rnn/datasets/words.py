"""Texts as words: tokens, vocabularies, sequences of ids, and word vectors from counts."""

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import keras
import numpy as np
from numpy.typing import NDArray

from keras_interp_rnn._checks import expanded_path, integer
from keras_interp_rnn._io import atomic_write
from keras_interp_rnn._results import short_repr
from keras_interp_rnn.datasets._alphabet import AlphabetLayer
from keras_interp_rnn.datasets._files import DataError, decoded, existing_file
from keras_interp_rnn.datasets._tokens import tokens_of

__all__ = ["END", "PADDING", "SPECIAL", "START", "UNKNOWN", "Vocabulary", "tokenize", "vectors"]

PADDING, UNKNOWN, START, END = 0, 1, 2, 3
"""Ids of padding, of words outside the vocabulary, and of the tokens at the start and end of a text."""

SPECIAL = ("<pad>", "<unk>", "<s>", "</s>")
"""Names of these four ids."""


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
    return tokens_of(text)


@keras.saving.register_keras_serializable(package="keras_interp_rnn")
@short_repr
@dataclass(frozen=True)
class Vocabulary:
    """The words that have ids of their own.

    Pass a vocabulary wherever names of ids are expected; texts are then read as `encode` writes them.

    Attributes:
        names: the name of each id; the first four are padding, unknown word, start and end.

    Example:

    >>> vocabulary = Vocabulary.of(["a b a c", "b a"], max_size=6)
    >>> vocabulary.names
    ('<pad>', '<unk>', '<s>', '</s>', 'a', 'b')
    >>> vocabulary.encode([["a", "c"]], length=5)
    array([[2, 4, 1, 3, 0]], dtype=int32)

    A layer that returns its inputs saves the vocabulary with a model:

        model = keras.Sequential([
            keras.Input((None,), dtype="int32"),
            vocabulary.layer(),
            keras.layers.Embedding(len(vocabulary), 64, mask_zero=True),
            layers.MinGRU(64),
            keras.layers.Dense(1),
        ])
    """

    names: tuple[str, ...]
    _ids: dict[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_ids", {name: i for i, name in enumerate(self.names)})

    def __len__(self) -> int:
        return len(self.names)

    @classmethod
    def of(cls, texts: Iterable[Sequence[str]], max_size: int) -> "Vocabulary":
        """The vocabulary of the most frequent words of texts.

        Args:
            texts: strings, which `tokenize` splits, or lists of tokens.
            max_size: int > 4, largest number of ids, including the four special ones.

        Returns:
            The vocabulary, in descending order of frequency, ties in alphabetical order.

        Raises:
            ValueError: if `max_size` leaves no room for a word; if `texts` is a single string.

        Example:

        >>> len(Vocabulary.of([["to", "be", "or", "not", "to", "be"]], max_size=100))
        8
        """
        integer("max_size", max_size, len(SPECIAL) + 1, f"{len(SPECIAL)} of the ids are special.")
        counts = Counter(word for text in _several(texts) for word in _tokens(text))
        # Ties in alphabetical order, so that the same texts make the same vocabulary.
        ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        return cls((*SPECIAL, *(word for word, _ in ranked[: max_size - len(SPECIAL)])))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the names to a file, one per line, atomically. Keep it with every model that reads these ids.

        Args:
            path: of the file; one that exists is overwritten.

        Raises:
            ValueError: if a name has a line break, which would split it.

        Example:

        >>> Vocabulary((*SPECIAL, "good", "bad")).save("vocabulary.txt")
        >>> Vocabulary.load("vocabulary.txt").names[4:]
        ('good', 'bad')
        """
        broken = [name for name in self.names if "\n" in name]
        if broken:
            raise ValueError(f"Names must have no line breaks. Received: {broken[0]!r}. Leave them out of words.")
        with atomic_write(expanded_path("path", path)) as partial:
            partial.write_text("".join(f"{name}\n" for name in self.names), encoding="utf-8")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Vocabulary":
        """Loads a vocabulary that `save` wrote.

        Args:
            path: of the file.

        Returns:
            The vocabulary.

        Raises:
            datasets.DataError: if there is no such file, it is not in UTF-8, or it does not begin with the special
                names.
        """
        names = tuple(decoded(existing_file(path)).split("\n")[:-1])
        if names[: len(SPECIAL)] != SPECIAL:
            raise DataError(
                f"The file must begin with {', '.join(SPECIAL)}, one per line. Received: {path}, which begins with "
                f"{', '.join(names[: len(SPECIAL)])!r}. Give a file that `save` wrote."
            )
        return cls(names)

    def encode(
        self, texts: Sequence[str | Sequence[str]], length: int | None = None, *, end: bool = True
    ) -> NDArray[np.int32]:
        """Encodes texts as rows of ids: a start token, the last words of the text, an end token, padding.

        Args:
            texts: strings, which `tokenize` splits, or lists of tokens.
            length: int, ids per row, including the start and the end token; of a longer text the last words are used.
                None for the length of the longest text.
            end: whether an end token follows each text.

        Returns:
            int32 (num_texts, length).

        Raises:
            ValueError: if `length` leaves no room for the start and the end token; if `texts` is a single string.

        Example:

        >>> Vocabulary((*SPECIAL, "good", "bad")).encode([["not", "bad"]], length=4, end=False)
        array([[2, 1, 5, 0]], dtype=int32)
        """
        tokens = [_tokens(text) for text in _several(texts)]
        if length is None:
            length = 1 + end + max(map(len, tokens), default=0)
        integer("length", length, 1 + end, "A row has a start token, and an end token with end=True.")
        ids = np.zeros((len(tokens), length), np.int32)
        room = length - 1 - end
        for row, text in zip(ids, tokens, strict=True):
            words = [self._ids.get(word, UNKNOWN) for word in text[max(0, len(text) - room) :]]
            line = [START, *words, *([END] if end else [])]
            row[: len(line)] = line
        return ids

    def layer(self) -> AlphabetLayer:
        """A layer that returns its inputs and holds this vocabulary. Put it right after the input of a model.

        Returns:
            The layer.

        Example:

        >>> Vocabulary((*SPECIAL, "good", "bad")).layer().alphabet.names[4:]
        ('good', 'bad')
        """
        return AlphabetLayer(self)

    def get_config(self) -> dict[str, Any]:
        return {"names": list(self.names)}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> "Vocabulary":
        return cls(tuple(config["names"]))


def _several(texts: Iterable[str | Sequence[str]]) -> Iterable[str | Sequence[str]]:
    if isinstance(texts, str):
        raise ValueError(f"`texts` must be several texts. Received: the string {texts[:60]!r}. Pass [text] for one.")
    return texts


def _tokens(text: str | Sequence[str]) -> Sequence[str]:
    return tokenize(text) if isinstance(text, str) else text


def vectors(
    ids: NDArray[np.integer],
    vocabulary_size: int,
    *,
    num_features: int,
    window: int = 5,
    num_contexts: int = 2000,
    seed: int = 0,
) -> NDArray[np.float32]:
    r"""Word vectors counted from texts: singular vectors of their positive pointwise mutual information.

    $M_{wc} = \max(0, \log\frac{n_{wc}}{n_w p_c})$ with $p_c \propto n_c^{0.75}$, where $n_{wc}$ counts how often c
    occurs within `window` words of w, and a neighbour at distance d has the weight 1 - (d - 1)/window. The vectors
    are the rows of $U S^{1/2}$ in $M \approx U S V^T$, scaled to a mean square of 1.

    Args:
        ids: int (num_texts, time), as `Vocabulary.encode` returns them.
        vocabulary_size: int > 0, number of ids.
        num_features: int > 0, length of a vector.
        window: int > 0, number of words on either side that are neighbours.
        num_contexts: int > 0; only smaller ids, those of the most frequent words, count as neighbours.
        seed: of the initial vector of the iteration for singular vectors.

    Returns:
        float32 (vocabulary_size, num_features); the special ids, and words that do not occur, are 0.

    Raises:
        ValueError: if there are more features than neighbours, or the window has no word.

    Example:

    >>> vectors(np.array([[2, 4, 5, 3], [2, 4, 6, 3], [2, 5, 6, 3]]), 8, num_features=2).shape
    (8, 2)

    Reference: Levy, Goldberg and Dagan, "Improving Distributional Similarity with Lessons Learned from Word
    Embeddings", 2015, sections 2 and 3.
    """
    integer("window", window)
    num_contexts, special = min(num_contexts, vocabulary_size), len(SPECIAL)
    if not 0 < num_features <= num_contexts - special:
        raise ValueError(
            f"`num_features` must lie in [1, {num_contexts - special}], the number of words that count as neighbours. "
            f"Received: num_features={num_features}. Choose another."
        )
    from scipy import sparse  # takes a tenth of a second
    from scipy.sparse.linalg import svds

    counts = sparse.csr_array((vocabulary_size, num_contexts))
    for distance in range(1, min(window, ids.shape[1] - 1) + 1):
        before, after = ids[:, :-distance].ravel(), ids[:, distance:].ravel()
        words = (before >= special) & (after >= special)
        for word, context in ((before[words], after[words]), (after[words], before[words])):
            near = context < num_contexts
            ones = np.full(int(near.sum()), 1 - (distance - 1) / window)
            counts = counts + sparse.csr_array((ones, (word[near], context[near])), (vocabulary_size, num_contexts))
    if not counts.nnz:
        return np.zeros((vocabulary_size, num_features), np.float32)
    of_word, of_context = counts.sum(axis=1), counts.sum(axis=0) ** 0.75
    pairs = counts.tocoo()
    information = np.log(pairs.data / (of_word[pairs.row] * (of_context / of_context.sum())[pairs.col]))
    positive = information > 0
    matrix = sparse.csr_array(
        (information[positive], (pairs.row[positive], pairs.col[positive])), (vocabulary_size, num_contexts)
    )
    if not matrix.nnz:
        return np.zeros((vocabulary_size, num_features), np.float32)
    start = np.random.default_rng(seed).uniform(0.5, 1.5, num_contexts)
    left, values, _ = svds(matrix, k=num_features, v0=start)
    vectors = (left * np.sqrt(values))[:, ::-1]  # in descending order
    # A singular vector has no sign of its own: its largest entry is positive.
    vectors = vectors * np.sign(vectors[np.abs(vectors).argmax(axis=0), np.arange(num_features)])
    vectors[of_word == 0] = 0
    scaled: NDArray[np.float32] = (vectors / np.sqrt(np.mean(vectors[of_word > 0] ** 2))).astype(np.float32)
    return scaled
