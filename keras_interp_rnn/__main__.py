"""python -m keras_interp_rnn reproduce: the papers' tables; tune: settings for them (`--help` says how)."""

from __future__ import annotations

import contextlib
import logging
import os
import sys
from collections.abc import Iterator

from keras_interp_rnn.reproduce import arguments, tables


def main(given: list[str] | None = None) -> int:
    """Runs the command; returns its exit code."""
    args = arguments.parse(given)
    if (args.command, args.what) == ("reproduce", "list"):
        print(tables.listed())
        return 0
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # what matters there reaches Python as an exception
    with _no_notes():
        import keras_interp_rnn.views  # noqa: F401  # registers how results are shown
        from keras_interp_rnn.reproduce import cli
    for name in ("tensorflow", "absl"):
        logging.getLogger(name).setLevel(logging.ERROR)
    return cli.run(args)


@contextlib.contextmanager
def _no_notes() -> Iterator[None]:
    """Nothing reaches standard error inside: TensorFlow 2.21 writes notes there while it is imported, at any log level.

    An exception passes through, and is printed outside.
    """
    saved, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(saved, 2)
        os.close(saved)
        os.close(nowhere)


if __name__ == "__main__":
    sys.exit(main())
