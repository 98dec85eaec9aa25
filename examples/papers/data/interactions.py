"""Which user met which item, and when: sequences of interactions for next-item recommendation.

    data = interactions.load("sasrec-Video.txt")
    train, validation, test = data.leave_one_out()

A file of interactions has no splits, so `load` takes the file alone; `Interactions.leave_one_out` makes the splits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import keras
import numpy as np
from numpy.typing import NDArray

from examples.papers.data._sources import PathLike, opened, parsing

GAPS = 24
"""Buckets of time gaps: 0 if unknown, b for [2^(b-1), 2^b) seconds, the last one for all longer gaps."""


class Interactions(NamedTuple):
    """Sequences of items, one per user, in time order.

    Attributes:
        items: int32 (num_interactions,), ids from 1 in descending order of frequency; 0 is left for padding.
        gaps: int32 (num_interactions,), bucket of the time since the user's previous interaction; None without times.
        starts: int64 (num_users + 1,), index of each user's first interaction, and `num_interactions`.
        names: `names[i - 1]` is the name of item i in the file.
    """

    items: NDArray[np.int32]
    gaps: NDArray[np.int32] | None
    starts: NDArray[np.int64]
    names: list[str] | range

    def leave_one_out(self, max_length: int = 500) -> tuple[Histories, Examples, Examples]:
        """Splits the interactions: each user's last one is for the test, the last but one for validation.

        The rest is for training, and all interactions of users with fewer than three. Histories keep their last
        `max_length` interactions.
        """
        lengths = np.diff(self.starts)
        held_out = np.flatnonzero(lengths >= 3)
        ends = self.starts[1:].copy()
        ends[held_out] -= 2
        train = Histories(self, self.starts[:-1], ends, max_length)
        last = self.starts[1:][held_out]
        return (
            train,
            Examples(Histories(self, self.starts[held_out], last - 2, max_length), self.items[last - 2]),
            Examples(Histories(self, self.starts[held_out], last - 1, max_length), self.items[last - 1]),
        )


class Histories(NamedTuple):
    """Segments of the interactions, from `starts` to before `ends`, of which the last `max_length` are kept."""

    interactions: Interactions
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    max_length: int

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Number of interactions of each history, before it is cut to `max_length`."""
        return self.ends - self.starts

    def padded(self, rows: NDArray[np.intp]) -> dict[str, NDArray[np.int32]]:
        """The histories of some rows: "items" and, if times are known, "gaps".

        Each is int32 (num_rows, length of the longest), padded with 0 at the end.
        """
        starts = np.maximum(self.starts[rows], self.ends[rows] - self.max_length)
        lengths = self.ends[rows] - starts
        places = np.arange(max(lengths.max(initial=1), 1))
        inside = places < lengths[:, None]
        index = np.where(inside, starts[:, None] + places, 0)
        arrays = {"items": np.where(inside, self.interactions.items[index], 0).astype(np.int32)}
        if self.interactions.gaps is not None:
            arrays["gaps"] = np.where(inside, self.interactions.gaps[index], 0).astype(np.int32)
        return arrays

    def batches(self, batch_size: int, seed: int | None = None) -> Iterator[NDArray[np.intp]]:
        """The rows of batches of similar length, for `padded`, in a random order or, without seed, by their length."""
        lengths = np.minimum(self.lengths, self.max_length)
        rng = np.random.default_rng(seed)
        order = np.argsort(lengths + (rng.random(len(lengths)) if seed is not None else 0), kind="stable")
        batches = [order[first : first + batch_size] for first in range(0, len(order), batch_size)]
        if seed is not None:
            rng.shuffle(batches)
        yield from batches


class Examples(NamedTuple):
    """Histories with the item that followed each, int32 (num_histories,)."""

    histories: Histories
    targets: NDArray[np.int32]


class TrainingBatches(keras.utils.PyDataset):
    """Batches for next-item training: inputs are all items but the last, targets all but the first.

    Args:
        histories: `Histories`; those with fewer than two items are left out.
        batch_size: int > 0, sequences in a batch, of similar length; the last batch may be smaller.
        seed: of the order, which differs from epoch to epoch.
        epoch: int >= 0, the first epoch to be read, for a run that resumes.
    """

    def __init__(self, histories: Histories, batch_size: int, *, seed: int = 0, epoch: int = 0) -> None:
        super().__init__()
        long_enough = histories.lengths >= 2
        starts, ends = histories.starts[long_enough], histories.ends[long_enough]
        self.histories = Histories(histories.interactions, starts, ends, histories.max_length + 1)
        self.batch_size, self.seed, self.epoch = batch_size, seed, epoch
        self.on_epoch_end()

    def __len__(self) -> int:
        return len(self._batches)

    def __getitem__(self, index: int) -> tuple[dict[str, NDArray[np.int32]], NDArray[np.int32]]:
        arrays = self.histories.padded(self._batches[index])
        return {name: values[:, :-1] for name, values in arrays.items()}, arrays["items"][:, 1:]

    def on_epoch_end(self) -> None:
        """Called by Keras: draws the order of the next epoch."""
        batches = list(self.histories.batches(self.batch_size, seed=self.seed + 1000 * self.epoch))
        self.epoch += 1
        steps = np.minimum([self.histories.lengths[rows].max() for rows in batches], self.histories.max_length)
        # `fit` takes the length of the first two batches for that of all, if it is the same (Keras 3.12 to 3.16).
        for other in np.flatnonzero(steps != steps[0])[:1]:
            batches[1], batches[other] = batches[other], batches[1]
        self._batches = batches


def load(source: PathLike) -> Interactions:
    """Loads a file of interactions.

    Each line is either one interaction or one user:

    - `user item`, in time order;
    - `user item time`, in any order, the time in seconds;
    - `user item item ...`, all items of the user in time order. This form is recognized by lines of different lengths.

    Fields are separated by blanks, commas or tabs. The file may be compressed, as .gz or .xz.
    """
    path = Path(source).expanduser()
    with (
        parsing(path, "lines `user item`, or `user item time`, or all items of one user each, in UTF-8"),
        opened(path) as stream,
    ):
        lines = [line.decode().replace(",", " ").split() for line in stream]
        lines = [fields for fields in lines if fields]
        sizes = {len(fields) for fields in lines}
        if min(sizes, default=0) < 2:
            raise ValueError(f"a line of {min(sizes, default=0)} fields")
        if sizes in ({2}, {3}):
            return _from_events(lines)
        if len({user for user, *_ in lines}) < len(lines):
            raise ValueError(f"lines of {sorted(sizes)[:4]} fields, some of one user")
        return _arranged((item for _, *items in lines for item in items), [len(fields) - 1 for fields in lines], None)


def generate(num_items: int, num_users: int, *, seed: int = 0, length: int = 20) -> Interactions:
    """Draws interactions at random, to try out a catalogue of any size.

    Each user has `length` of them, without times. The popularity of items follows Zipf's law, and half of the items are
    a function of the previous one.
    """
    rng = np.random.default_rng(seed)
    drawn = np.minimum(np.exp(rng.random((num_users, length)) * np.log(num_items)).astype(np.int64), num_items - 1)
    follows = rng.random((num_users, length)) < 0.5
    for t in range(1, length):
        drawn[:, t] = np.where(follows[:, t], (drawn[:, t - 1] * 7 + 3) % num_items, drawn[:, t])
    starts = np.arange(num_users + 1, dtype=np.int64) * length
    return Interactions((drawn.ravel() + 1).astype(np.int32), None, starts, range(num_items))


def _from_events(lines: list[list[str]]) -> Interactions:
    users, of_user = np.unique([user for user, *_ in lines], return_inverse=True)
    timed = len(lines[0]) == 3
    times = np.array([float(fields[2]) for fields in lines]) if timed else np.zeros(len(lines))
    if not np.isfinite(times).all():
        raise ValueError("a time that is no number of seconds")
    order = np.lexsort((times, of_user))
    lengths = np.bincount(of_user, minlength=len(users))
    return _arranged((lines[place][1] for place in order), lengths, times[order] if timed else None)


def _arranged(names: Iterable[str], lengths: Any, times: NDArray[np.float64] | None) -> Interactions:
    distinct, codes, counts = np.unique(list(names), return_inverse=True, return_counts=True)
    descending = np.argsort(-counts, kind="stable")
    rank = np.empty(len(distinct), np.int32)
    rank[descending] = np.arange(1, len(distinct) + 1)
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    gaps = None
    if times is not None:
        seconds = np.maximum(np.diff(times, prepend=times[0]), 0)
        gaps = np.minimum(1 + np.floor(np.log2(np.maximum(seconds, 1))), GAPS - 1).astype(np.int32)
        gaps[starts[:-1]] = 0
    return Interactions(rank[codes], gaps, starts, distinct[descending].tolist())
