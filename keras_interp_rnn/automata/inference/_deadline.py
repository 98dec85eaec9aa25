"""The limits of a search: when it must end, what it may try, and what is known of how the labels arose."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import NamedTuple


class TimeUp(Exception):
    """A search has reached its deadline; callers that have a result to return catch this."""


@dataclass
class Ledger:
    """The candidates that searches have scored, and what has cut one of them off: "", "time" or "work"."""

    scored: int = 0
    cut_off: str = ""


class Deadline(NamedTuple):
    """A moment, an amount of computing and one of work; a search ends at whichever comes first.

    Computing is CPU time of the thread, so that results do not depend on what else the machine runs. Work is a number
    of scored candidates, so that they do not depend on the machine.

    Attributes:
        moment: by `time.monotonic`. computed: by `time.thread_time`, of the searching thread.
        work: number of candidates in `ledger`, which all deadlines of a call share; None to count none.
    """

    moment: float = math.inf
    computed: float = math.inf
    work: float = math.inf
    ledger: Ledger | None = None

    @property
    def passed(self) -> bool:
        """Whether the search must end; the ledger notes why."""
        by_work = self.ledger is not None and self.ledger.scored > self.work
        late = by_work or (self.moment < math.inf and time.monotonic() > self.moment)
        late = late or (self.computed < math.inf and time.thread_time() > self.computed)
        if late and self.ledger is not None:
            self.ledger.cut_off = self.ledger.cut_off or ("work" if by_work else "time")
        return late

    def check(self, scored: int = 0) -> None:
        """Counts candidates that are scored now; raises TimeUp if the search must end."""
        if self.ledger is not None:
            self.ledger.scored += scored
        if self.passed:
            raise TimeUp

    def within(self, seconds: float) -> Deadline:
        """This deadline, but at most so many further seconds of computing, unless work is limited."""
        if self.work < math.inf:
            return self
        return self._replace(computed=min(self.computed, time.thread_time() + seconds))

    def share(self, fraction: float) -> Deadline:
        """This deadline, but at most a fraction of the work that is left; of the time, if work is not limited."""
        if self.work < math.inf:
            done = 0 if self.ledger is None else self.ledger.scored
            return self._replace(work=done + fraction * (self.work - done))
        now = time.monotonic()
        return self._replace(moment=now + fraction * (self.moment - now))


NEVER = Deadline()


class Limits(NamedTuple):
    """The limits of a search.

    Attributes:
        noise: probability of a wrong label; None if unknown. until: the deadline. seed: of the search.
    """

    noise: float | None = 0.0
    until: Deadline = NEVER
    seed: int = 0

    def share(self, fraction: float) -> Limits:
        """These limits, but at most a fraction of what is left, as `Deadline.share`."""
        return self._replace(until=self.until.share(fraction))

    def within(self, seconds: float) -> Limits:
        """These limits, but at most so many further seconds of computing."""
        return self._replace(until=self.until.within(seconds))

    @property
    def exact(self) -> bool:
        """Whether no label is wrong."""
        return self.noise == 0
