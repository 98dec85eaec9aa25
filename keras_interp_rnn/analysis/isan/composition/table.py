r"""Reads whole words by one affine map each, and scores every symbol within them.

Compositions of affine maps are affine, so a table of maps lets an input-switched affine network read a word at the
cost of a symbol (Foerster et al., ICML 2017, section 5.1); `CompositionTable` has the equations and costs. Words share
their prefixes, which are the nodes of one trie.

A text is cut into words first, independently of the states (`segmentation`); `reader` then moves states from word to
word, and `scorer` scores the symbols.

Limits: ids alone, not distributions over symbols; no masks, no `go_backwards`, no gradients.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from keras_interp_rnn._arrays import as_symbols, check_range, listed
from keras_interp_rnn._checks import choice, positive
from keras_interp_rnn._network import AffineReading
from keras_interp_rnn._results import Unpackable
from keras_interp_rnn.affine import AffineMap
from keras_interp_rnn.analysis.isan.composition import reader, scorer, segmentation
from keras_interp_rnn.analysis.isan.composition.segmentation import MAX_LENGTH, Array, Trie, Word

DTYPES = ("float32", "float64")


@dataclass(frozen=True, eq=False, repr=False)
class StatesAfterWords(Unpackable):
    """States of a text after each word of its segmentation; it unpacks into both arrays.

    Attributes:
        ends: int (steps,), number of symbols read. states: (steps, n).

    Example: see `CompositionTable`.
    """

    ends: NDArray[np.int64]
    states: Array


class CompositionTable:
    r"""Affine maps of whole words, which read and score text.

    Let a word have $m$ symbols, and let $A_j = W_{x_1} \cdots W_{x_j}$, $b_j = b_{j-1} W_{x_j} + b_{x_j}$ be the map of
    its first $j$ symbols. From a state $h$ a readout $R$ with bias $c$ gives the logits $h (A_j R) + (b_j R + c)$ after
    $j$ symbols, and the state after the word is $h A_m + b_m$.

    Args:
        network: a model of an ISAN and a Dense head; or an ISAN layer or cell.
        words: sequences of symbols, in any order. Single symbols are always in the table and may be left out.
        readout: for a layer or a cell: its Dense head, or a pair (matrix (n, outputs), bias (outputs,)); None for a
            table that reads and does not score.
        max_bytes: maximum size of the table; by default 256 MiB.
        dtype: "float32" or "float64", of the table and its results.

    Attributes:
        words: the words, sorted; each a tuple of symbols.
        initial_state: (n,), the default state before a text.
        dtype: "float32" or "float64".
        nbytes: bytes of all arrays, at most `max_bytes`.

    Raises:
        ValueError: if the table would exceed `max_bytes`, if a word is empty, too long or has symbols outside the
            vocabulary, if there is no ISAN, if the head is not affine, or for another dtype. Methods: if symbols are
            not one text, or outside the vocabulary, or a state has another shape.

    Units: bits per symbol.
    Exactness: maps are composed in float64 and rounded once; states and bits equal those of reading symbol by symbol,
        to the rounding of `dtype`.
    Cost: with n units and K symbols, n (n + 1) numbers per word and K (n + 1) per prefix. Scoring a word takes
        2 n (m K + n) operations, compared with 2 n m (K + n) symbol by symbol, because the table has the products
        $A_j R$.
    Example:

        >>> from keras_interp_rnn import analysis, layers
        >>> model = keras.Sequential([keras.Input((None,), dtype="int32"), layers.ISAN(3, 4), keras.layers.Dense(4)])
        >>> table = analysis.CompositionTable(model, [[0, 2, 1], [3, 3]])
        >>> table.segment([3, 3, 0, 2, 1, 1]), len(table)
        (array([5, 1, 2]), 6)
        >>> table.score([3, 3, 0, 2, 1, 1]).shape
        (5,)

    Reference: Foerster et al., ICML 2017, section 5.1.
    """

    def __init__(
        self,
        network: object,
        words: Iterable[Sequence[int]],
        *,
        readout: object = None,
        max_bytes: int = 256 * 2**20,
        dtype: str = "float32",
    ) -> None:
        self.dtype = choice("dtype", dtype, DTYPES)
        positive("max_bytes", max_bytes)
        weights = AffineReading(network).forwards().weights()
        symbols, units = weights.bias.shape
        head, outputs = _head(network, readout)
        self._trie = segmentation.build((_check_word(word, symbols) for word in listed("Words", words)), symbols)
        number, prefixes = len(self._trie.words), len(self._trie.depth)
        needed = _size(number, prefixes, symbols, units, outputs, self.dtype)
        if needed > max_bytes:
            raise ValueError(
                f"A table must fit into max_bytes. Received: max_bytes={max_bytes:,} bytes for {number:,} words with "
                f"{prefixes:,} prefixes, which take {needed:,}. Pass fewer or shorter words, or a larger max_bytes."
            )
        self.initial_state: Array = weights.initial_state.astype(self.dtype)
        # Offsets are one more row, multiplied by a column of ones after the states.
        self._maps: Array = np.empty((number, units + 1, units), self.dtype)
        self._readouts: Array | None = None
        if head is not None:
            self._readouts = np.empty((prefixes, units + 1, outputs), self.dtype)
        steps = [AffineMap(weights.kernel[x], weights.bias[x]) for x in range(symbols)]
        with np.errstate(over="ignore", invalid="ignore"):
            for node, composed in enumerate(_composed(self._trie, steps, units)):
                if self._trie.word[node] >= 0:
                    self._maps[self._trie.word[node]] = np.vstack([composed.matrix, composed.offset])
                if head is not None and self._readouts is not None:
                    logits = composed.then(head)
                    self._readouts[node] = np.vstack([logits.matrix, logits.offset])
        check_range("The maps of the words", [self._maps, *([] if self._readouts is None else [self._readouts])])

    @property
    def words(self) -> tuple[Word, ...]:
        """The words, sorted; each a tuple of symbols."""
        return self._trie.words

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        readouts = 0 if self._readouts is None else self._readouts.nbytes
        return self._trie.nbytes + self._maps.nbytes + readouts + self.initial_state.nbytes

    def __len__(self) -> int:
        return len(self.words)

    def __repr__(self) -> str:
        longest, scores = int(self._trie.length.max()), "scores" if self._readouts is not None else "reads only"
        return (
            f"<CompositionTable: {len(self):,} words of up to {longest} symbols, {self.nbytes / 2**20:.1f} MiB, "
            f"{self.dtype}, {scores}>"
        )

    def segment(self, symbols: ArrayLike, method: str = "optimal") -> NDArray[np.int64]:
        """Cuts a text into words of the table.

        Args:
            symbols: int (time,).
            method: "optimal" for as few words as possible, by dynamic programming, ties broken by the longest first
                word; "greedy" for the longest word at each place.

        Returns:
            int (steps,), indices into `words`.
        """
        return self._cut(as_symbols(symbols, self._vocabulary)[None], method)[:, 0].astype(np.int64)

    def states(self, symbols: ArrayLike, initial_state: ArrayLike | None = None) -> StatesAfterWords:
        """States of one text after each word of its optimal segmentation.

        Args:
            symbols: int (time,).
            initial_state: (n,), by default the layer's.
        """
        text = as_symbols(symbols, self._vocabulary)[None]
        words = self._cut(text, "optimal")
        before, state = np.empty((len(words), self._units), self.dtype), self._start(initial_state, 1)
        for part in self._read(words, state):
            before[part.steps] = part.before[:, :-1]
        states = np.concatenate([before[1:], state[:, :-1]]) if len(words) else before
        return StatesAfterWords(self._trie.length[words[:, 0]].cumsum(dtype=np.int64), states)

    def final_state(self, symbols: ArrayLike, initial_state: ArrayLike | None = None) -> Array:
        """The state after a text, or after each of several texts.

        Args:
            symbols: int (time,) or (lanes, time).
            initial_state: (n,) or (lanes, n), by default the layer's.

        Returns:
            (n,) or (lanes, n).
        """
        text = self._lanes(symbols)
        state = self._start(initial_state, len(text))
        for _ in self._read(self._cut(text, "optimal"), state):
            pass
        return state[:, :-1].copy() if np.ndim(symbols) == 2 else state[0, :-1].copy()

    def score(self, symbols: ArrayLike, initial_state: ArrayLike | None = None, *, method: str = "optimal") -> Array:
        r"""Cross-entropy of every next symbol, $-\log_2 p(x_{t+1} \mid x_1 \ldots x_t)$.

        Args:
            symbols: int (time,) or (lanes, time), texts of equal length read in parallel, fastest in hundreds of lanes
                or more.
            initial_state: (n,) or (lanes, n), the state before the first symbol, by default the layer's.
            method: as in `segment`.

        Returns:
            (time - 1,) or (lanes, time - 1), entry t - 1 for the symbol at position t, counted from 0, given the
            symbols before it; the first symbol is read, not scored.

        Raises:
            ValueError: if the table has no readout, or one whose outputs are not the symbols; if a text is shorter
                than two symbols.

        Units: bits.
        """
        if self._readouts is None or self._readouts.shape[2] != self._vocabulary:
            outputs = "none" if self._readouts is None else f"one with {self._readouts.shape[2]} outputs"
            raise ValueError(
                f"To score, a table must have a readout with one output for each of the {self._vocabulary} symbols. "
                f"Received: {outputs}. Build the table from the whole model, or pass readout=."
            )
        text = self._lanes(symbols).astype(np.min_scalar_type(self._vocabulary))
        if text.shape[1] < 2:
            raise ValueError(
                "A text to be scored must have at least two symbols, as the first is only read. Received: shape "
                f"{np.shape(symbols)}. Pass a longer text."
            )
        bits = np.empty((len(text), text.shape[1] - 1), self.dtype)
        state = self._start(initial_state, len(text))
        for part in self._read(self._cut(text[:, :-1], method), state):
            scorer.score(part, self._trie, self._readouts, text, bits)
        return bits if np.ndim(symbols) == 2 else bits[0]

    @property
    def _units(self) -> int:
        return int(self._maps.shape[2])

    @property
    def _vocabulary(self) -> int:
        return int(self._trie.children.shape[1])

    def _lanes(self, symbols: ArrayLike) -> NDArray[np.int64]:
        """(lanes, time) of one text or several."""
        array = np.asarray(symbols)
        if array.ndim != 2:
            return as_symbols(array, self._vocabulary)[None]
        return as_symbols(array.reshape(-1), self._vocabulary).reshape(array.shape)

    def _start(self, initial_state: ArrayLike | None, lanes: int) -> Array:
        """(lanes, n + 1), states with a column of ones after them."""
        start = self.initial_state if initial_state is None else np.asarray(initial_state)
        if start.shape not in ((self._units,), (lanes, self._units)):
            raise ValueError(
                f"`initial_state` must have shape ({self._units},) or ({lanes}, {self._units}). Received: "
                f"{start.shape}. Pass one state for all texts or one for each."
            )
        states = np.ones((lanes, self._units + 1), self.dtype)
        states[:, :-1] = start
        return states

    def _cut(self, text: Array, method: str) -> Array:
        """(steps, lanes), numbers of the words that each lane reads, then -1; text (lanes, time)."""
        choice("method", method, ("optimal", "greedy"))
        return segmentation.walk(
            segmentation.best_words(self._trie, np.ascontiguousarray(text.T), method), self._trie.length
        )

    def _read(self, words: Array, states: Array) -> Iterator[reader.WordsRead]:
        return reader.read(words, states, self._maps, self._trie.length)


def _check_word(word: Sequence[int], vocabulary_size: int) -> Word:
    symbols = as_symbols(word, vocabulary_size)
    if not 1 <= len(symbols) <= MAX_LENGTH:
        raise ValueError(
            f"A word must have 1 to {MAX_LENGTH} symbols. Received: one of {len(symbols)}. Leave it out, or cut it "
            "into shorter words."
        )
    return tuple(symbols.tolist())


def _head(network: object, readout: object) -> tuple[AffineMap | None, int]:
    """The affine readout and its number of outputs; None and 0 for a layer without one."""
    if readout is None and not hasattr(network, "layers"):
        return None, 0
    head = AffineReading(network).readout(readout)
    return head, head.matrix.shape[1]


def _size(words: int, nodes: int, vocabulary_size: int, units: int, outputs: int, dtype: str) -> int:
    """Bytes of a table with this number of words and nodes, the root included."""
    numbers = words * units * (units + 1) + nodes * outputs * (units + 1) + units
    index = (nodes + 1) * (vocabulary_size + 1) + 3 * nodes + words
    return numbers * np.dtype(dtype).itemsize + 4 * index


def _composed(trie: Trie, steps: Sequence[AffineMap], units: int) -> Iterator[AffineMap]:
    """The maps of all nodes, in their order, each from the map of its parent."""
    path = [AffineMap.identity(units)]
    yield path[0]
    for node in range(1, len(trie.depth)):
        depth = trie.depth[node]
        path = path[:depth]
        path.append(path[-1].then(steps[trie.words[trie.first[node]][depth - 1]]))
        yield path[-1]
