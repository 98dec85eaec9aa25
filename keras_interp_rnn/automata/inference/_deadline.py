"""The limits of a search: when it must end, and what is known of how the labels arose."""

from __future__ import annotations

import math
import time
from typing import NamedTuple


class TimeUp(Exception):
    """A search has reached its deadline; callers that have a result to return catch this."""


class Deadline(NamedTuple):
    """A moment and an amount of computing; a search ends at whichever comes first.

    Computing is CPU time of the thread, so that results do not depend on what else the machine runs.

    Attributes:
        moment: by `time.monotonic`. computed: by `time.thread_time`, of the searching thread.
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
        """This deadline, but at most so many further seconds of computing."""
        return self._replace(computed=min(self.computed, time.thread_time() + seconds))


NEVER = Deadline()


class Limits(NamedTuple):
    """The limits of a search.

    Attributes:
        noise: probability of a wrong label; None if unknown. until: the deadline. seed: of the search.
        strong: whether the words of each label were drawn uniformly from all words of that label (strong sampling).
    """

    noise: float | None = 0.0
    until: Deadline = NEVER
    seed: int = 0
    strong: bool = False

    def ending(self, moment: float) -> Limits:
        """These limits, but with an end at a moment of `time.monotonic`."""
        return self._replace(until=self.until._replace(moment=moment))

    def within(self, seconds: float) -> Limits:
        """These limits, but at most so many further seconds of computing."""
        return self._replace(until=self.until.within(seconds))

    @property
    def exact(self) -> bool:
        """Whether no label is wrong."""
        return self.noise == 0
