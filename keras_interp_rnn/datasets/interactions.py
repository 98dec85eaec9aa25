"""Who met which item when: sequences of interactions for next-item recommendation.

interactions = datasets.interactions.read("sasrec-Video.txt")
train, validation, test = interactions.leave_one_out()
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import keras
import numpy as np
from numpy.typing import NDArray

from keras_interp_rnn._backend.keras_quirks import with_unequal_first_two
from keras_interp_rnn._repr import short_repr
from keras_interp_rnn.datasets._files import TextError, existing_file, unpacked

__all__ = ["Examples", "Histories", "Interactions", "TrainingBatches", "generate", "read"]

GAPS = 24
"""Buckets of time gaps: 0 for none known, b for [2^(b-1), 2^b) seconds, the last one for all longer."""


@short_repr
@dataclass(frozen=True, eq=False)
class Interactions:
    """Sequences of items, one per user, in time order.

    Attributes:
        items: int32 (interactions,), ids from 1, the commonest item first; 0 is left for padding.
        gaps: int32 (interactions,), bucket of the time since the user's interaction before; or None without times.
        starts: int64 (users + 1,), where each user's interactions begin, and the end.
        names: the name of item i in the file is `names[i - 1]`.
    """

    items: NDArray[np.int32]
    gaps: NDArray[np.int32] | None
    starts: NDArray[np.int64]
    names: list[str] | range

    def leave_one_out(self, longest: int = 500) -> tuple[Histories, Examples, Examples]:
        """Training sequences, and for validation and test one item each to be predicted from all before it.

        A user's last interaction is for the test, the last but one for validation, the rest for training; users with
        fewer than three interactions train only. Histories keep their last `longest` interactions.
        """
        lengths = np.diff(self.starts)
        held_out = np.flatnonzero(lengths >= 3)
        ends = self.starts[1:].copy()
        ends[held_out] -= 2
        train = Histories(self, self.starts[:-1], ends, longest)
        last = self.starts[1:][held_out]
        return (
            train,
            Examples(Histories(self, self.starts[held_out], last - 2, longest), self.items[last - 2]),
            Examples(Histories(self, self.starts[held_out], last - 1, longest), self.items[last - 1]),
        )


@short_repr
@dataclass(frozen=True, eq=False)
class Histories:
    """Stretches of interactions, [start, end) each, cut to their last `longest`."""

    of: Interactions
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    longest: int

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Interactions of each, all of them."""
        return self.ends - self.starts

    def padded(self, rows: NDArray[np.intp]) -> dict[str, NDArray[np.int32]]:
        """Items, and gaps where known, of these rows: int32 (rows, longest among them), zeros after the end."""
        starts = np.maximum(self.starts[rows], self.ends[rows] - self.longest)
        lengths = self.ends[rows] - starts
        places = np.arange(max(lengths.max(initial=1), 1))
        inside = places < lengths[:, None]
        index = np.where(inside, starts[:, None] + places, 0)
        found = {"items": np.where(inside, self.of.items[index], 0).astype(np.int32)}
        if self.of.gaps is not None:
            found["gaps"] = np.where(inside, self.of.gaps[index], 0).astype(np.int32)
        return found

    def batches(self, size: int, seed: int | None = None) -> Iterator[NDArray[np.intp]]:
        """Rows in batches of about the same length each; in random order, if a seed is given."""
        lengths = np.minimum(self.lengths, self.longest)
        rng = np.random.default_rng(seed)
        order = np.argsort(lengths + (rng.random(len(lengths)) if seed is not None else 0), kind="stable")
        batches = [order[first : first + size] for first in range(0, len(order), size)]
        if seed is not None:
            rng.shuffle(batches)
        yield from batches


@short_repr
@dataclass(frozen=True, eq=False)
class Examples:
    """Histories and for each the item that came next, int32 (examples,)."""

    histories: Histories
    targets: NDArray[np.int32]


class TrainingBatches(keras.utils.PyDataset):
    """Batches for next-item training: inputs are all items but the last, targets all but the first.

    Args:
        histories: those with fewer than two items are left out.
        batch_size: sequences of about the same length in a batch; the last batch may be smaller.
        seed: of the order, which differs from epoch to epoch. epoch: the first to be read.
    """

    def __init__(self, histories: Histories, batch_size: int, seed: int = 0, epoch: int = 0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        long_enough = histories.lengths >= 2
        starts, ends = histories.starts[long_enough], histories.ends[long_enough]
        self.histories = Histories(histories.of, starts, ends, histories.longest + 1)
        self.batch_size, self.seed, self.epoch = batch_size, seed, epoch
        self.on_epoch_end()

    def __len__(self) -> int:
        return len(self._batches)

    def __getitem__(self, index: int) -> tuple[dict[str, NDArray[np.int32]], NDArray[np.int32]]:
        found = self.histories.padded(self._batches[index])
        return {name: values[:, :-1] for name, values in found.items()}, found["items"][:, 1:]

    def on_epoch_end(self) -> None:
        batches = list(self.histories.batches(self.batch_size, seed=self.seed + 1000 * self.epoch))
        self.epoch += 1
        steps = np.minimum([self.histories.lengths[rows].max() for rows in batches], self.histories.longest)
        self._batches = with_unequal_first_two(batches, steps)


def read(path: str | os.PathLike[str]) -> Interactions:
    """Reads a file of interactions, plain, .gz, .xz or .zip.

    Either every line is one interaction, `user item` in time order or `user item time` in any order (seconds); or
    every line is one user with all items in time order, `user item item ...`, recognised by lines of different
    lengths. Fields are separated by blanks, commas or tabs.

    Raises:
        TextError: if the file cannot be read, holds nothing, or at a line that does not fit, naming it.
    """
    path = existing_file(path)
    lines = []
    with unpacked(path) as stream:
        for number, line in enumerate(stream, 1):
            try:
                lines.append(line.decode().replace(",", " ").split())
            except UnicodeDecodeError as error:
                raise TextError(f"Names are UTF-8. Received: {path}, line {number} ({error}). Convert it.") from None
    numbered = [(number, fields) for number, fields in enumerate(lines, 1) if fields]
    if not numbered:
        raise TextError(f"A file of interactions holds at least one. Received: {path}, which holds none.")
    for number, fields in numbered:
        if len(fields) < 2:
            raise TextError(
                f"A line holds a user and at least one item. Received: {path}, line {number}, with {fields}. Mend or "
                "remove it."
            )
    sizes = {len(fields) for _, fields in numbered}
    if sizes in ({2}, {3}):
        return _from_events(path, numbered, timed=sizes == {3})
    seen: set[str] = set()
    for number, (user, *_) in numbered:
        if user in seen:
            raise TextError(
                "All lines hold `user item`, or all hold `user item time`, or each holds all items of one user. "
                f"Received: {path}, with lines of {sorted(sizes)[:4]} fields, and line {number} with user {user} once "
                "more."
            )
        seen.add(user)
    return _arranged((item for _, fields in numbered for item in fields[1:]), [len(f) - 1 for _, f in numbered], None)


def generate(items: int, users: int, seed: int = 0, length: int = 20) -> Interactions:
    """Interactions drawn at random, for trying out a catalogue of any size.

    Popularity falls by Zipf's law, and half of the items follow from the one before.
    """
    rng = np.random.default_rng(seed)
    drawn = np.minimum(np.exp(rng.random((users, length)) * np.log(items)).astype(np.int64), items - 1)
    follows = rng.random((users, length)) < 0.5
    for t in range(1, length):
        drawn[:, t] = np.where(follows[:, t], (drawn[:, t - 1] * 7 + 3) % items, drawn[:, t])
    starts = np.arange(users + 1, dtype=np.int64) * length
    return Interactions((drawn.ravel() + 1).astype(np.int32), None, starts, range(items))


def _from_events(path: Path, numbered: list[tuple[int, list[str]]], timed: bool) -> Interactions:
    users, of_user = np.unique([fields[0] for _, fields in numbered], return_inverse=True)
    times = np.zeros(len(numbered))
    if timed:
        for place, (number, fields) in enumerate(numbered):
            try:
                times[place] = float(fields[2])
            except ValueError:
                times[place] = np.nan
            if not np.isfinite(times[place]):
                raise TextError(f"A time is a number of seconds. Received: {path}, line {number}, with {fields[2]!r}.")
    order = np.lexsort((times, of_user))
    lengths = np.bincount(of_user, minlength=len(users))
    items = (numbered[place][1][1] for place in order)
    return _arranged(items, lengths, times[order] if timed else None)


def _arranged(names: Iterable[str], lengths: Any, times: NDArray[np.float64] | None) -> Interactions:
    distinct, codes, counts = np.unique(list(names), return_inverse=True, return_counts=True)
    falling = np.argsort(-counts, kind="stable")
    rank = np.empty(len(distinct), np.int32)
    rank[falling] = np.arange(1, len(distinct) + 1)
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    gaps = None
    if times is not None:
        seconds = np.maximum(np.diff(times, prepend=times[0]), 0)
        gaps = np.minimum(1 + np.floor(np.log2(np.maximum(seconds, 1))), GAPS - 1).astype(np.int32)
        gaps[starts[:-1]] = 0
    return Interactions(rank[codes], gaps, starts, distinct[falling].tolist())
