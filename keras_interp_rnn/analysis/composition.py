r"""Reading whole words by one affine map each, and scoring every symbol inside them on the way.

Compositions of affine maps are affine, so a table of maps lets an input-switched affine network read a word at the
cost of a symbol (Foerster et al., ICML 2017, section 5.1). With the maps of the prefixes of a word x_1 ... x_m

    A_j = W_{x_1} ... W_{x_j},        b_j = b_{j-1} W_{x_j} + b_{x_j},        A_0 = 1, b_0 = 0,

readout R and readout bias c, everything the network says while it reads the word is affine in the state h before it:

    logits after j symbols  h (A_j R) + (b_j R + c),   j = 1, ..., m;        state after the word  h A_m + b_m.

The products A_j R are made beforehand, so the word costs 2 n (m K + n) operations, where m symbols cost 2 n m (K + n).
A word keeps n (n + 1) numbers, a prefix K (n + 1): words share their prefixes, which are the nodes of one trie.

Texts are read side by side, in lanes. Lanes that wait for the same word share one product, lanes whose words begin
alike share the product with that prefix's A_j R. A lane whose word few others wait for waits until more do, so lanes
are not in step. Which words a text is cut into does not depend on the states and is settled first.

Left out: masks, `go_backwards`, distributions instead of symbols, gradients. One lane alone multiplies a row by a
matrix at a time, which runs at the speed of memory.

Also here: the fixed points of the symbols' own maps.
"""

from __future__ import annotations

import itertools
import os
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from keras_interp_rnn._files import atomic_write
from keras_interp_rnn._repr import short_repr
from keras_interp_rnn.affine import AffineMap
from keras_interp_rnn.analysis import _trie
from keras_interp_rnn.analysis._trie import LONGEST, Word
from keras_interp_rnn.analysis._weights import affine_readout, check_forwards, checked_symbols, isan_weights

Array = NDArray[Any]

_ROWS = 2**16  # words that are collected before they are scored together
_SCORED = 2**12  # of these, how many at a time: their states fit the second-level cache
_FEW = 16  # lanes below which each reads on by itself
_SHARE = 0.3  # of the waiting lanes that move on in a round
_HELD = 2**9  # lanes that are fetched, moved on and put back at a time, in the second-level cache
_PIECE = 10**6  # multiply-adds below which OpenBLAS multiplies without packing, a fifth faster
_VERSION = 1


class CompositionTable:
    r"""Affine maps of whole words, to read and to score text with.

    With $A_j$, $b_j$ the composed map of the first $j$ symbols of a word, readout $R$ and its bias $c$, a state $h$
    gives after $j$ symbols the logits $h (A_j R) + (b_j R + c)$ and after the word the state $h A_m + b_m$.

    Args:
        layer: a model of an ISAN and a linear Dense head, which is found; or an ISAN layer or cell.
        words: sequences of symbols, in any order; single symbols, which are always in the table, may be missing.
        readout: for a layer: its Dense head, or a pair (matrix (n, outputs), bias (outputs,)); None for a table that
            reads and does not score.
        budget: int, bytes the table may take; by default 256 MiB.
        dtype: "float32" or "float64", of the table and of everything computed with it.

    Attributes:
        words: the words, sorted; each a tuple of symbols.
        initial_state: (n,), where a text begins unless told otherwise.
        dtype: "float32" or "float64".
        nbytes: bytes of all arrays, at most `budget`.

    Raises:
        ValueError: if the table would exceed its budget, if a word is empty, too long or has symbols outside the
            vocabulary, if there is no ISAN, if the head is not affine, or if the dtype is another.

    Units: bits a symbol.
    Exactness: maps are composed in float64 and rounded once; states and bits are those of reading symbol by symbol,
        up to the rounding of `dtype`.
    Cost: with n units and K symbols, n (n + 1) numbers a word and K (n + 1) a prefix; 2 n (m K + n) operations for a
        word of m symbols.
    Example:

        table = CompositionTable(model, [datasets.text.encode("the "), datasets.text.encode("and ")])
        bits = table.score(datasets.text.encode("the cat and the dog"))

    Reference: Foerster et al., ICML 2017, section 5.1.
    """

    def __init__(
        self,
        layer: Any,
        words: Iterable[Sequence[int]],
        readout: Any = None,
        budget: int = 256 * 2**20,
        dtype: str = "float32",
    ) -> None:
        self.dtype = _checked_dtype(dtype)
        check_forwards(layer)
        weights = isan_weights(layer)
        symbols, units = weights.bias.shape
        head, outputs = _head(layer, readout)
        self._index = _trie.build((_checked_word(word, symbols) for word in words), symbols)
        needed = _size(len(self._index.words), len(self._index.depth), symbols, units, outputs, self.dtype)
        if needed > budget:
            raise ValueError(
                f"A table must fit its budget. Received: budget={budget:,} bytes for {len(self._index.words):,} words "
                f"with {len(self._index.depth):,} prefixes, which take {needed:,}. Pass fewer or shorter words, a "
                "larger budget, or let CompositionTable.from_corpus choose the words."
            )
        self.initial_state: Array = weights.initial_state.astype(self.dtype)
        # Offsets are one more row, met by a column of ones behind the states.
        self._maps: Array = np.empty((len(self._index.words), units + 1, units), self.dtype)
        self._readouts: Array | None = None
        if head is not None:
            self._readouts = np.empty((len(self._index.depth), units + 1, outputs), self.dtype)
        steps = [AffineMap(weights.kernel[x], weights.bias[x]) for x in range(symbols)]
        for node, composed in enumerate(_composed(self._index, steps, units)):
            if self._index.word[node] >= 0:
                self._maps[self._index.word[node]] = np.vstack([composed.matrix, composed.offset])
            if head is not None and self._readouts is not None:
                logits = composed.then(head)
                self._readouts[node] = np.vstack([logits.matrix, logits.offset])

    @classmethod
    def from_corpus(
        cls,
        layer: Any,
        symbols: ArrayLike,
        readout: Any = None,
        longest: int = 12,
        budget: int = 256 * 2**20,
        dtype: str = "float32",
    ) -> CompositionTable:
        """A table of the words that save most steps on a text, within a budget.

        Begins with the n-grams that would save most if each were alone, several times as many as fit. Then, round
        after round, cuts the text into as few words as possible and drops those that save least for their bytes: a
        word saves, each time it is used, the steps it would take without it, less one; it costs its map and the
        prefixes it shares with no other word.

        Args:
            layer, readout, budget, dtype: as for the class.
            symbols: int (time,), a text like those to be read; a few million symbols are enough.
            longest: int in [1, 63], symbols of the longest word.

        Raises:
            ValueError: as for the class; if the budget does not hold the single symbols, or `longest` is outside
                [1, 63].

        Cost: for 4 million symbols and 256 MiB some ten seconds.
        """
        _checked_dtype(dtype)
        if not 1 <= longest <= LONGEST:
            raise ValueError(f"longest must lie in [1, {LONGEST}]. Received: longest={longest}. Pass 12.")
        vocabulary, units = isan_weights(layer).bias.shape
        _, outputs = _head(layer, readout)

        def size(words: int, nodes: int) -> int:
            return _size(words, nodes, vocabulary, units, outputs, dtype)

        text = checked_symbols(symbols, vocabulary)
        words = _trie.chosen(text, vocabulary, longest, budget, size)
        return cls(layer, words, readout, budget, dtype)

    @property
    def words(self) -> tuple[Word, ...]:
        """The words, sorted."""
        return self._index.words

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        readouts = 0 if self._readouts is None else self._readouts.nbytes
        return self._index.nbytes + self._maps.nbytes + readouts + self.initial_state.nbytes

    def __len__(self) -> int:
        return len(self.words)

    def __repr__(self) -> str:
        longest, scores = int(self._index.length.max()), "scores" if self._readouts is not None else "reads only"
        return (
            f"<CompositionTable: {len(self):,} words of up to {longest} symbols, {self.nbytes / 2**20:.1f} MiB, "
            f"{self.dtype}, {scores}>"
        )

    def segment(self, symbols: ArrayLike, method: str = "optimal") -> NDArray[np.int64]:
        """Cuts a text into words of the table.

        Args:
            symbols: int (time,).
            method: "optimal" for as few words as possible, by dynamic programming, of equals the one whose first word
                is longest; "greedy" for the longest word at each place.

        Returns:
            int (steps,), numbers of `words`.

        Raises:
            ValueError: if the method is another, or if the symbols are not one text.
        """
        return self._cut(checked_symbols(symbols, self._vocabulary)[None], method)[:, 0].astype(np.int64)

    def states(self, symbols: ArrayLike, initial_state: ArrayLike | None = None) -> tuple[NDArray[np.int64], Array]:
        """States of one text after each word of its optimal segmentation.

        Args:
            symbols: int (time,).
            initial_state: (n,), by default the layer's.

        Returns:
            ends, int (steps,): how many symbols were read; states (steps, n).

        Raises:
            ValueError: if the symbols are not one text, or the state has another shape.
        """
        text = checked_symbols(symbols, self._vocabulary)[None]
        words = self._cut(text, "optimal")
        before, state = np.empty((len(words), self._units), self.dtype), self._start(initial_state, 1)
        for group in self._read(words, state):
            before[group.steps] = group.before[:, :-1]
        states = np.concatenate([before[1:], state[:, :-1]]) if len(words) else before
        return self._index.length[words[:, 0]].cumsum(dtype=np.int64), states

    def final_state(self, symbols: ArrayLike, initial_state: ArrayLike | None = None) -> Array:
        """The state after a text, or after each of several: priming.

        Args:
            symbols: int (time,) or (lanes, time).
            initial_state: (n,) or (lanes, n), by default the layer's.

        Returns:
            (n,) or (lanes, n).

        Raises:
            ValueError: if the symbols are not of these shapes, or the state has another.
        """
        text = self._lanes(symbols)
        state = self._start(initial_state, len(text))
        for _ in self._read(self._cut(text, "optimal"), state):
            pass
        return state[:, :-1].copy() if np.ndim(symbols) == 2 else state[0, :-1].copy()

    def score(self, symbols: ArrayLike, initial_state: ArrayLike | None = None, method: str = "optimal") -> Array:
        r"""Cross-entropy of every next symbol, $-\log_2 p(x_{t+1} \mid x_1 \ldots x_t)$.

        Args:
            symbols: int (time,) or (lanes, time), texts of equal length read side by side; hundreds of lanes and more
                for speed.
            initial_state: (n,) or (lanes, n), the state before the first symbol, by default the layer's.
            method: as in `segment`.

        Returns:
            (time - 1,) or (lanes, time - 1), entry t - 1 for the symbol at place t, counted from 0, given those
            before; the first symbol is read, not scored.

        Raises:
            ValueError: if the table has no readout, or one whose outputs are not the symbols; if a text is shorter
                than two symbols; if the symbols or the state have other shapes.

        Units: bits.
        """
        if self._readouts is None or self._readouts.shape[2] != self._vocabulary:
            outputs = "none" if self._readouts is None else f"one with {self._readouts.shape[2]} outputs"
            raise ValueError(
                f"Scoring needs a readout with one output for each of the {self._vocabulary} symbols. Received: "
                f"{outputs}. Build the table from the whole model, or pass readout=."
            )
        text = self._lanes(symbols).astype(np.min_scalar_type(self._vocabulary))
        if text.shape[1] < 2:
            raise ValueError(
                f"A text to be scored has at least two symbols, as the first is given. Received: "
                f"{np.shape(symbols)}. Pass a longer text."
            )
        bits = np.empty((len(text), text.shape[1] - 1), self.dtype)
        state = self._start(initial_state, len(text))
        for group in self._read(self._cut(text[:, :-1], method), state):
            self._score(group, text, bits)
        return bits if np.ndim(symbols) == 2 else bits[0]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the table as an .npz file under exactly this name, whole or not at all."""
        arrays = {"maps": self._maps, "initial_state": self.initial_state, "length": self._index.length}
        arrays["symbols"] = np.array(list(itertools.chain(*self.words)), np.int64)
        arrays["vocabulary_size"], arrays["composition_table"] = np.array(self._vocabulary), np.array(_VERSION)
        if self._readouts is not None:
            arrays["readouts"] = self._readouts
        with atomic_write(path) as partial, open(partial, "wb") as file:
            np.savez(file, **arrays)  # type: ignore[arg-type]  # numpy 2.4 takes allow_pickle for any of the arrays

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> CompositionTable:
        """Reads a table that `save` wrote; needs neither the layer nor Keras's model.

        Raises:
            ValueError: if the file is damaged or something else.
            OSError: if there is none.
        """
        table = cls.__new__(cls)
        try:
            # Opened here: NumPy leaves a file open that is no whole archive.
            with open(path, "rb") as file, np.load(file, allow_pickle=False) as arrays:
                if int(arrays["composition_table"]) != _VERSION:
                    raise KeyError("composition_table")
                ends = np.cumsum(arrays["length"])[:-1]
                words = [tuple(map(int, word)) for word in np.split(arrays["symbols"], ends)]
                table._index = _trie.build(words, int(arrays["vocabulary_size"]))
                table._maps, table.initial_state = arrays["maps"], arrays["initial_state"]
                table._readouts = arrays.get("readouts", None)
        except (KeyError, ValueError, TypeError, AttributeError, EOFError, zipfile.BadZipFile, zlib.error) as error:
            raise ValueError(
                f"A table is loaded from a file that CompositionTable.save wrote. Received: {os.fspath(path)!r}, which "
                "is damaged or something else. Build the table from the layer and save it."
            ) from error
        table.dtype = table._maps.dtype.name
        return table

    @property
    def _units(self) -> int:
        return self._maps.shape[2]

    @property
    def _vocabulary(self) -> int:
        return self._index.children.shape[1]

    def _lanes(self, symbols: ArrayLike) -> NDArray[np.int64]:
        """(lanes, time) of one text or several."""
        array = np.asarray(symbols)
        if array.ndim != 2:
            return checked_symbols(array, self._vocabulary)[None]
        return checked_symbols(array.reshape(-1), self._vocabulary).reshape(array.shape)

    def _start(self, initial_state: ArrayLike | None, lanes: int) -> Array:
        """(lanes, n + 1), states with a column of ones behind."""
        given = self.initial_state if initial_state is None else np.asarray(initial_state)
        if given.shape not in ((self._units,), (lanes, self._units)):
            raise ValueError(
                f"initial_state must have shape ({self._units},) or ({lanes}, {self._units}). Received: {given.shape}. "
                "Pass one state for all texts or one for each."
            )
        states = np.ones((lanes, self._units + 1), self.dtype)
        states[:, :-1] = given
        return states

    def _cut(self, text: Array, method: str) -> Array:
        """(steps, lanes), numbers of the words that each lane reads, then -1; text (lanes, time)."""
        if method not in ("optimal", "greedy"):
            raise ValueError(f"method must be 'optimal' or 'greedy'. Received: method={method!r}. Pass 'optimal'.")
        return _trie.walk(_trie.best_words(self._index, np.ascontiguousarray(text.T), method), self._index.length)

    def _read(self, words: Array, states: Array) -> Iterator[_Group]:
        """Reads words (steps, lanes) and moves `states` (lanes, n + 1) in place to the end.

        Yields what was read, in parts of at most some `_ROWS` words; a part is overwritten by the next.
        """
        reader = self._read_alone if words.shape[1] < _FEW else self._read_in_rounds
        return reader(words, states)

    def _read_alone(self, words: Array, states: Array) -> Iterator[_Group]:
        for lane in range(words.shape[1]):
            own = words[words[:, lane] >= 0, lane]
            places = np.concatenate([[0], self._index.length[own].cumsum()])
            for begin in range(0, len(own), _ROWS):
                part = own[begin : begin + _ROWS]
                before = np.empty((len(part), states.shape[1]), states.dtype)
                for i, word in enumerate(part.tolist()):
                    before[i] = states[lane]
                    np.matmul(before[i], self._maps[word], out=states[lane, :-1])
                steps = np.arange(begin, begin + len(part))
                yield _Group(part, np.full(len(part), lane), steps, places[steps], before)

    def _read_in_rounds(self, words: Array, states: Array) -> Iterator[_Group]:
        """Round after round, the lanes that wait for the same word move on together.

        Served whenever q lanes wait for it, a word of frequency p takes p / q products a step and keeps q / 2 lanes
        waiting. The fewest products for so many lanes are those with q in proportion to the square root of p: served
        first are the words with the largest q^2 / p.
        """
        total = (words >= 0).sum(axis=0)
        frequency = np.bincount(words[words >= 0], minlength=len(self)) + 1.0
        step, place = np.zeros_like(total), np.zeros_like(total)
        waiting = np.flatnonzero(total)
        room = max(_ROWS, len(total))
        before = np.empty((room, states.shape[1]), states.dtype)
        after = np.ones((len(total), states.shape[1]), states.dtype)
        hot = np.empty_like(self._maps[0])
        rows_of_piece = max(_PIECE // hot.size, 1)
        read: list[tuple[Array, ...]] = []
        rows = 0
        while len(waiting):
            upcoming = words[step[waiting], waiting]
            sizes = np.bincount(upcoming, minlength=len(self))
            first = np.argsort(-(sizes**2 / frequency), kind="stable")
            enough = np.searchsorted(sizes[first].cumsum(), _SHARE * len(waiting)) + 1
            chosen = np.zeros(len(self), bool)
            chosen[first[:enough]] = True
            picked = np.flatnonzero(chosen[upcoming])
            order = picked[_sorting(upcoming[picked], len(self))]
            lanes, own = waiting[order], upcoming[order]
            if rows + len(lanes) > room:
                yield _joined(read, before[:rows])
                read, rows = [], 0
            served = np.flatnonzero(chosen & (sizes > 0))
            ends = sizes[served].cumsum()
            for part in _together(ends):
                begin, end = int(ends[part.start - 1]) if part.start else 0, int(ends[part.stop - 1])
                # mode: with "raise", take goes through a copy.
                here = before[rows + begin : rows + end]
                states.take(lanes[begin:end], axis=0, out=here, mode="clip")
                row = 0
                for word in served[part].tolist():
                    size = int(sizes[word])
                    # Copied in one sweep, the map comes from memory twice as fast as a product would fetch it.
                    np.copyto(hot, self._maps[word])
                    for piece in range(row, row + size, rows_of_piece):
                        stop = min(piece + rows_of_piece, row + size)
                        np.matmul(here[piece:stop], hot, out=after[piece:stop, :-1])
                    row += size
                states[lanes[begin:end]] = after[:row]
            read.append((own, lanes, step[lanes], place[lanes]))
            rows += len(lanes)
            step[lanes] += 1
            place[lanes] += self._index.length[own]
            waiting = waiting[step[waiting] < total[waiting]]
        if rows:
            yield _joined(read, before[:rows])

    def _score(self, group: _Group, text: Array, bits: Array) -> None:
        """Fills in the bits of all symbols that follow a symbol of the group's words."""
        assert self._readouts is not None
        index, outputs = self._index, self._readouts.shape[2]
        order = _sorting(group.words, len(self))
        begin_of_word = group.lanes * text.shape[1] + group.places
        ones, flat_text, flat_bits = np.ones(outputs, self._readouts.dtype), text.reshape(-1), bits.reshape(-1)
        rows_of_piece = max(_PIECE // self._readouts[0].size, 1)
        largest = np.log(np.finfo(bits.dtype).max / outputs)
        for start in range(0, len(order), _SCORED):
            part = order[start : start + _SCORED]
            before = group.before.take(part, axis=0)
            ends = np.searchsorted(group.words[part], np.arange(len(self) + 1))
            begins, sizes = ends[index.first], ends[index.last] - ends[index.first]
            sizes[0] = 0  # the root: nothing read yet
            nodes = np.flatnonzero(sizes)
            begins, sizes = begins[nodes], sizes[nodes]
            rows = np.concatenate([[0], sizes.cumsum()])
            logits = np.empty((rows[-1], outputs), before.dtype)
            for node, begin, size, row in zip(*(a.tolist() for a in (nodes, begins, sizes, rows[:-1])), strict=True):
                for piece in range(0, size, rows_of_piece):
                    stop = min(piece + rows_of_piece, size)
                    states = before[begin + piece : begin + stop]
                    np.matmul(states, self._readouts[node], out=logits[row + piece : row + stop])
            every = np.arange(rows[-1])
            owner = part.take(every + np.repeat(begins - rows[:-1], sizes))
            place = begin_of_word.take(owner)
            place += np.repeat(index.depth[nodes], sizes)
            every *= outputs
            every += flat_text.take(place)
            # -log2 p = log2 sum exp(logits - right logit). The sum is at least 1, so nothing but overflow can happen.
            logits -= logits.reshape(-1).take(every)[:, None]
            if logits.max() > largest:
                top = logits.max(axis=1)
                found = np.log2(np.exp(logits - top[:, None]) @ ones) + top / np.log(2)
            else:
                found = np.log2(np.exp(logits, out=logits) @ ones)
            place -= group.lanes.take(owner) + 1
            flat_bits[place] = found


class _Group(NamedTuple):
    """Words read; all (rows,), before (rows, n + 1)."""

    words: Array
    lanes: Array
    steps: Array
    places: Array  # symbols of the lane before the word
    before: Array


def _joined(read: list[tuple[Array, ...]], before: Array) -> _Group:
    words, lanes, steps, places = (np.concatenate(parts) for parts in zip(*read, strict=True))
    return _Group(words, lanes, steps, places, before)


@short_repr
@dataclass(frozen=True, eq=False)
class FixedPoints:
    r"""Where each symbol, read for ever, would leave the state as it is.

    Attributes:
        states: (K, n), row k with $h^* = h^* W_k + b_k$; NaN where 1 is an eigenvalue of $W_k$.
        spectral_radius: (K,), largest |eigenvalue| of $W_k$.
        attracts: (K,) bool, whether reading the symbol again and again leads there from every state: radius below 1.
        residual: largest |h* W + b - h*|; rounding.
    """

    states: NDArray[np.float64]
    spectral_radius: NDArray[np.float64]
    attracts: NDArray[np.bool_]
    residual: float


def fixed_points(layer: Any) -> FixedPoints:
    r"""The fixed point of each symbol's map, $h^* = b_k (1 - W_k)^{-1}$, in closed form.

    Args:
        layer: an ISAN, its cell, or a model with one.

    Returns:
        `FixedPoints`. Where the map has an eigenvalue 1 to float64 rounding it has no fixed point or many: NaN.

    Raises:
        ValueError: if there is no ISAN, or more than one.

    Exactness: float64; `residual` reports by how much the states miss their equation.
    Reference: Foerster et al., ICML 2017, section 2.
    """
    weights = isan_weights(layer)
    symbols, units = weights.bias.shape
    states = np.full((symbols, units), np.nan)
    radius = np.empty(symbols)
    residual = 0.0
    for k in range(symbols):
        matrix, offset = weights.kernel[k], weights.bias[k]
        radius[k] = np.abs(np.linalg.eigvals(matrix)).max()
        moved = np.eye(units) - matrix
        singular = np.linalg.svd(moved, compute_uv=False)
        if singular[-1] > units * np.finfo(np.float64).eps * max(singular[0], 1.0):
            states[k] = np.linalg.solve(moved.T, offset)
            residual = max(residual, float(np.abs(states[k] @ matrix + offset - states[k]).max()))
    return FixedPoints(states, radius, (radius < 1) & np.isfinite(states[:, 0]), residual)


def _sorting(words: Array, number: int) -> Array:
    """Indices that sort words; NumPy sorts 16 bits by radix, ten times as fast."""
    return words.astype(np.uint16 if number <= 2**16 else np.int32).argsort(kind="stable")


def _together(ends: Array) -> list[slice]:
    """Neighbouring groups joined to parts of about `_HELD` rows; ends: where each group ends."""
    cuts = np.flatnonzero(np.diff(ends // _HELD, prepend=0)) + 1
    bounds = [0, *cuts.tolist()]
    if bounds[-1] < len(ends):
        bounds.append(len(ends))
    return [slice(a, b) for a, b in itertools.pairwise(bounds)]


def _checked_dtype(dtype: str) -> str:
    if dtype not in ("float32", "float64"):
        raise ValueError(f"dtype must be 'float32' or 'float64'. Received: dtype={dtype!r}. Pass 'float32'.")
    return dtype


def _checked_word(word: Sequence[int], vocabulary_size: int) -> Word:
    symbols = checked_symbols(np.asarray(word), vocabulary_size)
    if not 1 <= len(symbols) <= LONGEST:
        raise ValueError(
            f"A word has 1 to {LONGEST} symbols. Received: one of {len(symbols)}. Leave it out, or cut it into shorter "
            "words."
        )
    return tuple(symbols.tolist())


def _head(layer: Any, readout: Any) -> tuple[AffineMap | None, int]:
    """The affine readout and its number of outputs; None and 0 for a layer by itself."""
    if readout is None and not hasattr(layer, "layers"):
        return None, 0
    head = affine_readout(layer, readout)
    return head, head.matrix.shape[1]


def _size(words: int, nodes: int, vocabulary_size: int, units: int, outputs: int, dtype: str) -> int:
    """Bytes of a table with so many words and nodes, the root one of them."""
    numbers = words * units * (units + 1) + nodes * outputs * (units + 1) + units
    index = (nodes + 1) * (vocabulary_size + 1) + 3 * nodes + words
    return numbers * np.dtype(dtype).itemsize + 4 * index


def _composed(index: _trie.Words, steps: Sequence[AffineMap], units: int) -> Iterator[AffineMap]:
    """The maps of all nodes, in their order, each from that of its parent."""
    path = [AffineMap.identity(units)]
    yield path[0]
    for node in range(1, len(index.depth)):
        depth = index.depth[node]
        path = path[:depth]
        path.append(path[-1].then(steps[index.words[index.first[node]][depth - 1]]))
        yield path[-1]
