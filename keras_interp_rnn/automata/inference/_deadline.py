"""The limits of a search: when it ends, and how labels came about."""

from __future__ import annotations

import math
import time
from typing import NamedTuple


class TimeUp(Exception):
    """A search has come to its deadline; whoever has something to return catches it."""


class Deadline(NamedTuple):
    """A moment, and an amount of computing; a search ends at whichever comes first.

    Computing is the thread's CPU time, so that what a search finds does not depend on what else runs on the machine.

    Attributes:
        moment: by `time.monotonic`. computed: by `time.thread_time`, of the thread that searches.
    """

    moment: float = math.inf
    computed: float = math.inf

    @property
    def passed(self) -> bool:
        """Whether the search must end."""
        return time.monotonic() > self.moment or time.thread_time() > self.computed

    def check(self) -> None:
        """Raises TimeUp if the search must end."""
        if self.passed:
            raise TimeUp

    def within(self, seconds: float) -> Deadline:
        """This deadline, but no more than so many further seconds of computing."""
        return self._replace(computed=min(self.computed, time.thread_time() + seconds))


NEVER = Deadline()
"""A search that ends by itself."""


class Limits(NamedTuple):
    """The limits of a search.

    Attributes:
        noise: probability of a wrong label; None if it is not known. until: when searches end. seed: of a search.
        strong: whether the words of each label were drawn from all that have it, which rules about patterns use.
    """

    noise: float | None = 0.0
    until: Deadline = NEVER
    seed: int = 0
    strong: bool = False

    def ending(self, moment: float) -> Limits:
        """These limits, with an end at a moment of `time.monotonic`."""
        return self._replace(until=self.until._replace(moment=moment))

    def within(self, seconds: float) -> Limits:
        """These limits, with no more than so many further seconds of computing."""
        return self._replace(until=self.until.within(seconds))

    @property
    def exact(self) -> bool:
        """Whether no label is wrong."""
        return self.noise == 0
