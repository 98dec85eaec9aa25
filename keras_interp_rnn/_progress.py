"""Progress on one line of the terminal."""

from __future__ import annotations

import sys


def say(text: str, stays: bool = False, in_logs: bool = False) -> None:
    """One line that the next one writes over, in a terminal; elsewhere only what stays or belongs in logs.

    Say "" when the work is done, so that nothing is left of the last line.
    """
    if sys.stdout.isatty():
        print(f"\r\x1b[K{text}", end="\n" if stays else "", flush=True)
    elif stays or in_logs:
        print(text, flush=True)
