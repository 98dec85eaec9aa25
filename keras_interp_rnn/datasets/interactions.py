"""Which user met which item, and when: sequences of interactions for next-item recommendation.

    data = interactions.load("sasrec-Video.txt")
    train, validation, test = data.leave_one_out()

A file of interactions has no splits, so `load` takes the file alone; `Interactions.leave_one_out` makes the splits.
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
from keras_interp_rnn._numbers import at_least
from keras_interp_rnn._results import short_repr
from keras_interp_rnn.datasets._files import DataError, existing_file, unpacked

__all__ = ["GAPS", "Examples", "Histories", "Interactions", "TrainingBatches", "generate", "load"]

PathLike = str | os.PathLike[str]

GAPS = 24
"""Buckets of time gaps: 0 if unknown, b for [2^(b-1), 2^b) seconds, the last one for all longer gaps."""


@short_repr
@dataclass(frozen=True, eq=False)
class Interactions:
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

        The rest is for training. Users with fewer than three interactions are in the training part only.

        Args:
            max_length: int > 0, histories keep their last `max_length` interactions.

        Returns:
            The training sequences; then, for validation and for the test, one item per user and the history before it.

        Example:

        >>> train, validation, test = generate(num_items=9, num_users=4, length=6).leave_one_out()
        >>> train.lengths, test.histories.lengths, test.targets.shape
        (array([4, 4, 4, 4]), array([5, 5, 5, 5]), (4,))
        """
        at_least("max_length", max_length, 1)
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


@short_repr
@dataclass(frozen=True, eq=False)
class Histories:
    """Segments of the interactions, of which the last `max_length` are kept.

    Attributes:
        interactions: the `Interactions` that they are segments of.
        starts: int64 (num_histories,), index of the first interaction of each.
        ends: int64 (num_histories,), index after the last interaction of each.
        max_length: interactions of a history that are kept.
    """

    interactions: Interactions
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    max_length: int

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Number of interactions of each history, before it is cut to `max_length`."""
        return self.ends - self.starts

    def padded(self, rows: NDArray[np.intp]) -> dict[str, NDArray[np.int32]]:
        """Makes arrays of some histories.

        Args:
            rows: int (num_rows,), which histories.

        Returns:
            "items" and, if times are known, "gaps": int32 (num_rows, length of the longest), padded with 0 at the end.

        Example:

        >>> train, _, _ = generate(num_items=9, num_users=4, length=6).leave_one_out(max_length=3)
        >>> train.padded(np.array([0, 2]))["items"].shape
        (2, 3)
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
        """Groups the histories into batches of similar length.

        Args:
            batch_size: int > 0, histories in a batch; the last batch may be smaller.
            seed: of a random order of the batches; None for ascending lengths.

        Yields:
            int (batch_size,), the rows of a batch, for `padded`.

        Example:

        >>> train, _, _ = generate(num_items=9, num_users=5, length=6).leave_one_out()
        >>> [len(rows) for rows in train.batches(2)]
        [2, 2, 1]
        """
        at_least("batch_size", batch_size, 1)
        lengths = np.minimum(self.lengths, self.max_length)
        rng = np.random.default_rng(seed)
        order = np.argsort(lengths + (rng.random(len(lengths)) if seed is not None else 0), kind="stable")
        batches = [order[first : first + batch_size] for first in range(0, len(order), batch_size)]
        if seed is not None:
            rng.shuffle(batches)
        yield from batches


@short_repr
@dataclass(frozen=True, eq=False)
class Examples:
    """Histories with the item that followed each.

    Attributes:
        histories: `Histories`.
        targets: int32 (num_histories,), the next item.
    """

    histories: Histories
    targets: NDArray[np.int32]


class TrainingBatches(keras.utils.PyDataset):
    """Batches for next-item training: inputs are all items but the last, targets all but the first.

    Args:
        histories: `Histories`; those with fewer than two items are left out.
        batch_size: int > 0, sequences in a batch, of similar length; the last batch may be smaller.
        seed: of the order, which differs from epoch to epoch.
        epoch: int >= 0, the first epoch to be read, for a run that resumes.
        **kwargs: as `keras.utils.PyDataset`.

    Raises:
        ValueError: if no history has two items, or a batch none.

    Example:

    >>> train, _, _ = generate(num_items=9, num_users=5, length=6).leave_one_out()
    >>> batches = TrainingBatches(train, batch_size=2)
    >>> inputs, targets = batches[0]
    >>> len(batches), inputs["items"].shape, targets.shape
    (3, (2, 3), (2, 3))
    """

    def __init__(self, histories: Histories, batch_size: int, *, seed: int = 0, epoch: int = 0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        long_enough = histories.lengths >= 2
        if not long_enough.any():
            raise ValueError("Next items are learned from histories of at least two. Received: none. Give longer ones.")
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
        self._batches = with_unequal_first_two(batches, steps)


def load(source: PathLike) -> Interactions:
    """Loads a file of interactions.

    Each line is either one interaction or one user:

    - `user item`, in time order;
    - `user item time`, in any order, the time in seconds;
    - `user item item ...`, all items of the user in time order. This form is recognized by lines of different lengths.

    Fields are separated by blanks, commas or tabs.

    Args:
        source: the file, plain or compressed (.gz, .xz, .zip).

    Returns:
        The interactions of all users.

    Raises:
        datasets.DataError: if the file cannot be read or has no interaction, or at a line that does not fit.

    Example:

    >>> data = load("interactions.txt")
    >>> data.items, data.names
    (array([1, 2, 1, 3], dtype=int32), ['tea', 'bread', 'milk'])
    """
    path = existing_file(source, "source")
    lines = []
    with unpacked(path) as stream:
        for number, line in enumerate(stream, 1):
            try:
                lines.append(line.decode().replace(",", " ").split())
            except UnicodeDecodeError as error:
                raise DataError(
                    f"Names must be in UTF-8. Received: {path}, line {number} ({error}). Convert it."
                ) from None
    numbered = [(number, fields) for number, fields in enumerate(lines, 1) if fields]
    if not numbered:
        raise DataError(f"A file of interactions must have at least one. Received: {path}, which has none.")
    for number, fields in numbered:
        if len(fields) < 2:
            raise DataError(
                f"A line must have a user and at least one item. Received: {path}, line {number}, with {fields}. Fix "
                "or remove it."
            )
    sizes = {len(fields) for _, fields in numbered}
    if sizes in ({2}, {3}):
        return _from_events(path, numbered, timed=sizes == {3})
    seen: set[str] = set()
    for number, (user, *_) in numbered:
        if user in seen:
            raise DataError(
                "All lines must be `user item`, or all `user item time`, or each must have all items of one user. "
                f"Received: {path}, with lines of {sorted(sizes)[:4]} fields, and line {number} with user {user} once "
                "more."
            )
        seen.add(user)
    return _arranged((item for _, fields in numbered for item in fields[1:]), [len(f) - 1 for _, f in numbered], None)


def generate(num_items: int, num_users: int, *, seed: int = 0, length: int = 20) -> Interactions:
    """Draws interactions at random, to try out a catalogue of any size.

    The popularity of items follows Zipf's law, and half of the items are a function of the previous one.

    Args:
        num_items: int > 0.
        num_users: int > 0.
        seed: of the random numbers.
        length: int > 0, interactions of each user.

    Returns:
        Interactions without times; the names of the items are numbers.

    Example:

    >>> data = generate(num_items=1000, num_users=3, length=5)
    >>> data.items.shape, data.starts
    ((15,), array([ 0,  5, 10, 15]))
    """
    for name, value in (("num_items", num_items), ("num_users", num_users), ("length", length)):
        at_least(name, value, 1)
    rng = np.random.default_rng(seed)
    drawn = np.minimum(np.exp(rng.random((num_users, length)) * np.log(num_items)).astype(np.int64), num_items - 1)
    follows = rng.random((num_users, length)) < 0.5
    for t in range(1, length):
        drawn[:, t] = np.where(follows[:, t], (drawn[:, t - 1] * 7 + 3) % num_items, drawn[:, t])
    starts = np.arange(num_users + 1, dtype=np.int64) * length
    return Interactions((drawn.ravel() + 1).astype(np.int32), None, starts, range(num_items))


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
                raise DataError(
                    f"A time must be a number of seconds. Received: {path}, line {number}, with {fields[2]!r}. Fix or "
                    "remove the line."
                )
    order = np.lexsort((times, of_user))
    lengths = np.bincount(of_user, minlength=len(users))
    items = (numbered[place][1][1] for place in order)
    return _arranged(items, lengths, times[order] if timed else None)


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
