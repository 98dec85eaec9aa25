"""`python -m examples.papers`: runs the papers' experiments, writes their report, makes presets (`--help` says how)."""

from __future__ import annotations

import argparse
import contextlib
import logging
import os
import sys
from collections.abc import Iterator, Sequence

from examples.papers import EXPERIMENTS, _commands


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command; returns its exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m examples.papers",
        description="Reproduces the tables and figures of the papers. Every run appends a record to a file.",
        epilog=_commands.EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="{list,run,report,tune,check,preset}")
    _commands.add_verbs(verbs, EXPERIMENTS)
    args = parser.parse_args(arguments)
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # what matters there reaches Python as an exception
    if _commands.needs_keras(args):
        with _silent():
            # A training that is resumed loads its model before it has built one: every class must be registered.
            import keras_interp_rnn  # noqa: F401
        for name in ("tensorflow", "absl"):
            logging.getLogger(name).setLevel(logging.ERROR)
    return int(args.execute(args))


@contextlib.contextmanager
def _silent() -> Iterator[None]:
    """Discards standard error: TensorFlow 2.21 writes notes there while it is imported, at any log level.

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
