"""Contributions: a block of rows for each target, a step of a text after which a prediction is made."""

from __future__ import annotations

import abc
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tensorboard_plugins.interp_rnn.checks import Rule, flag, integer, names
from tensorboard_plugins.interp_rnn.kinds._kind import ArrayKind, Description, require_within


class TargetsKind(ArrayKind):
    """A kind whose values have a block for each target t = first, ..., T; the slice of a target is its block.

    Slice 0 holds the norms of all terms, (T + 1, T), if first is 1.

    Description: symbols, the T names; outputs, their names; first, the first target, by default 1; vectors, whether
    vectors were read, so that the symbols are the numbers of steps, by default false; values, whether the outputs are
    quantities, and no logits, by default false. A network that reads a text as a whole has only the last target.
    """

    VIEW = "reads"
    FINITE = True
    LAST_SLICES = 3 * 2**16
    RULES: ClassVar[tuple[Rule, ...]] = (
        Rule("symbols", "a list of names", names),
        Rule("outputs", "a list of names", names),
        Rule("first", "a target", lambda value: integer(value, 1), needed=False),
        Rule("vectors", "true or false", flag, needed=False),
        Rule("values", "true or false", flag, needed=False),
    )

    @staticmethod
    @abc.abstractmethod
    def rows(target: int) -> slice:
        """The rows of a target, from 1, if first is 1."""

    def block(self, description: Description, value: NDArray[Any], target: int) -> NDArray[Any]:
        """The rows of a target."""
        rows, before = self.rows(target), self.rows(description.get("first", 1)).start
        return value[rows.start - before : rows.stop - before]

    def num_rows(self, description: Description) -> int:
        """The number of rows of all blocks."""
        first, steps = description.get("first", 1), len(description["symbols"])
        return max(0, self.rows(steps).stop - self.rows(first).start) if steps else 0

    def num_slices(self, description: Description, value: Any) -> int:
        return len(description["symbols"]) + 1

    def first_slice(self, description: Description) -> int:
        first: int = description.get("first", 1)
        return first if first > 1 else 0

    def slice(self, description: Description, value: Any, index: int) -> NDArray[np.float32]:
        require_within(index, self.first_slice(description), len(description["symbols"]))
        found = self.of_target(description, value, index) if index else self.of_all(description, value)
        return found.astype(np.float32)

    def of_target(self, description: Description, value: NDArray[Any], target: int) -> NDArray[Any]:
        """The slice of a target."""
        return self.block(description, value, target)

    def of_all(self, description: Description, value: NDArray[Any]) -> NDArray[Any]:
        """The norms (T + 1, T) of all terms."""
        steps = len(description["symbols"])
        norms = np.zeros((steps + 1, steps))
        for target in range(1, steps + 1):
            norms[: target + 1, target - 1] = self.norms(self.block(description, value, target))
        return norms

    @abc.abstractmethod
    def norms(self, block: NDArray[Any]) -> NDArray[Any]:
        """The norms (t + 1,) of the terms in the block of a target t."""
