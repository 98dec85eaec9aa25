"""Progress on one line of the terminal."""

from __future__ import annotations

import sys
from time import monotonic


def say(text: str, stays: bool = False, in_logs: bool = False) -> None:
    """One line that the next one writes over, in a terminal; elsewhere only what stays or belongs in logs.

    Say "" when the work is done, so that nothing is left of the last line.
    """
    if sys.stdout.isatty():
        print(f"\r\x1b[K{text}", end="\n" if stays else "", flush=True)
    elif stays or in_logs:
        print(text, flush=True)


class Count:
    """Work of a known amount: how much of it is done, and how much time the rest will take if it goes on like that."""

    def __init__(self, what: str, total: int) -> None:
        self.what, self.total, self.started = what, total, monotonic()

    def say(self, done: int) -> None:
        """The line of progress. The time is left out in the first second, as it would be a guess."""
        spent = monotonic() - self.started
        left = f", about {spent / done * (self.total - done):.0f} s left" if done and spent >= 1 else ""
        say(f"{self.what} {done:,} of {self.total:,}{left}")
