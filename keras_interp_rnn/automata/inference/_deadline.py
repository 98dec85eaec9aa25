"""When a search ends."""

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
