"""`python -m keras_interp_rnn`: reproduces the papers' tables, and makes the presets (`--help` says how)."""

from __future__ import annotations

import argparse
import contextlib
import logging
import os
import sys
from collections.abc import Iterator, Sequence

import keras_interp_rnn
from keras_interp_rnn import reproduce


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; returns its exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m keras_interp_rnn",
        description="Reproduces the tables and figures of the papers that keras_interp_rnn implements, and shows and "
        "makes the trained networks that ship with it.",
    )
    parser.add_argument("--version", action="version", version=f"keras_interp_rnn {keras_interp_rnn.__version__}")
    reproduce.add_parser(parser.add_subparsers(dest="command", required=True, metavar="{reproduce,presets}"))
    args = parser.parse_args(reproduce.with_verb(sys.argv[1:] if arguments is None else arguments))
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # what matters there reaches Python as an exception
    if reproduce.needs_keras(args):
        with _silent():
            from keras_interp_rnn import views  # noqa: F401 - Keras with it, and what results look like
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
