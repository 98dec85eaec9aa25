"""Moves states through a text word by word, by the map of each word; many texts are read side by side, in lanes.

Lanes that need the same word share one product. A lane waits while few others need its word, so lanes advance at
different rates. A single lane multiplies one row by a matrix at a time, at the speed of memory.

The last column of the states is all ones; it multiplies the offset, the last row of each map.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from keras_interp_rnn.analysis.isan.composition.segmentation import Array

ROWS = 2**16
"""Words that are yielded together."""
FEW_LANES = 16
"""Number of lanes below which each is read by itself."""
SERVED = 0.3
"""The fraction of the waiting lanes that advance in a round."""
BLOCK = 2**9
"""Lanes that are read, advanced and written back at a time, in the second-level cache."""
PIECE = 10**6
"""Multiply-adds below which OpenBLAS multiplies without packing, a fifth faster."""


class WordsRead(NamedTuple):
    """Words that were read, arrays (rows,), and the states before them, (rows, n + 1)."""

    words: Array
    lanes: Array
    steps: Array
    places: Array  # symbols of the lane before the word
    before: Array


def read(words: Array, states: Array, maps: Array, length: Array) -> Iterator[WordsRead]:
    """Reads words (steps, lanes) and moves `states` (lanes, n + 1) in place to the end.

    Args:
        words: numbers of words, then -1.
        maps: (words, n + 1, n). length: (words,), symbols of each word.

    Yields:
        The words read, at most about `ROWS` at a time; each part is overwritten by the next.
    """
    reader = _read_alone if words.shape[1] < FEW_LANES else _read_in_rounds
    return reader(words, states, maps, length)


def by_word(words: Array, number: int) -> Array:
    """Indices that sort numbers of words; NumPy sorts 16 bits by radix, ten times as fast."""
    return words.astype(np.uint16 if number <= 2**16 else np.int32).argsort(kind="stable")


def _read_alone(words: Array, states: Array, maps: Array, length: Array) -> Iterator[WordsRead]:
    for lane in range(words.shape[1]):
        of_lane = words[words[:, lane] >= 0, lane]
        places = np.concatenate([[0], length[of_lane].cumsum()])
        for begin in range(0, len(of_lane), ROWS):
            part = of_lane[begin : begin + ROWS]
            before = np.empty((len(part), states.shape[1]), states.dtype)
            for i, word in enumerate(part.tolist()):
                before[i] = states[lane]
                np.matmul(before[i], maps[word], out=states[lane, :-1])
            steps = np.arange(begin, begin + len(part))
            yield WordsRead(part, np.full(len(part), lane), steps, places[steps], before)


def _read_in_rounds(words: Array, states: Array, maps: Array, length: Array) -> Iterator[WordsRead]:
    """In each round the lanes that need the same word advance together.

    A word of frequency p that is served whenever q lanes need it takes p / q products per step and keeps q / 2 lanes
    waiting. For a given number of lanes the number of products is minimal for q proportional to the square root of p,
    so the words with the largest q^2 / p are served first.
    """
    number = len(maps)
    total = (words >= 0).sum(axis=0)
    frequency = np.bincount(words[words >= 0], minlength=number) + 1.0
    step, place = np.zeros_like(total), np.zeros_like(total)
    waiting = np.flatnonzero(total)
    room = max(ROWS, len(total))
    before = np.empty((room, states.shape[1]), states.dtype)
    after = np.ones((len(total), states.shape[1]), states.dtype)
    cached = np.empty_like(maps[0])
    rows_of_piece = max(PIECE // cached.size, 1)
    parts: list[tuple[Array, ...]] = []
    rows = 0
    while len(waiting):
        upcoming = words[step[waiting], waiting]
        sizes = np.bincount(upcoming, minlength=number)
        first = np.argsort(-(sizes**2 / frequency), kind="stable")
        enough = np.searchsorted(sizes[first].cumsum(), SERVED * len(waiting)) + 1
        chosen = np.zeros(number, bool)
        chosen[first[:enough]] = True
        picked = np.flatnonzero(chosen[upcoming])
        order = picked[by_word(upcoming[picked], number)]
        lanes, served_words = waiting[order], upcoming[order]
        if rows + len(lanes) > room:
            yield _joined(parts, before[:rows])
            parts, rows = [], 0
        served = np.flatnonzero(chosen & (sizes > 0))
        ends = sizes[served].cumsum()
        for block in _blocks(ends):
            begin, end = int(ends[block.start - 1]) if block.start else 0, int(ends[block.stop - 1])
            # With mode="raise", take would go through a copy.
            here = before[rows + begin : rows + end]
            states.take(lanes[begin:end], axis=0, out=here, mode="clip")
            row = 0
            for word in served[block].tolist():
                size = int(sizes[word])
                # A copy reads the map from memory twice as fast as a product would.
                np.copyto(cached, maps[word])
                for piece in range(row, row + size, rows_of_piece):
                    stop = min(piece + rows_of_piece, row + size)
                    np.matmul(here[piece:stop], cached, out=after[piece:stop, :-1])
                row += size
            states[lanes[begin:end]] = after[:row]
        parts.append((served_words, lanes, step[lanes], place[lanes]))
        rows += len(lanes)
        step[lanes] += 1
        place[lanes] += length[served_words]
        waiting = waiting[step[waiting] < total[waiting]]
    if rows:
        yield _joined(parts, before[:rows])


def _joined(parts: list[tuple[Array, ...]], before: Array) -> WordsRead:
    words, lanes, steps, places = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    return WordsRead(words, lanes, steps, places, before)


def _blocks(ends: Array) -> list[slice]:
    """Neighbouring groups joined to blocks of about `BLOCK` rows; ends: the end of each group."""
    cuts = np.flatnonzero(np.diff(ends // BLOCK, prepend=0)) + 1
    bounds = [0, *cuts.tolist()]
    if bounds[-1] < len(ends):
        bounds.append(len(ends))
    return [slice(a, b) for a, b in itertools.pairwise(bounds)]
