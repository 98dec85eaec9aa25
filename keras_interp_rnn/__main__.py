"""`python -m keras_interp_rnn`: reproduces tables, makes presets, proves certificates again (`--help` says how)."""

from __future__ import annotations

import argparse
import contextlib
import logging
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import keras_interp_rnn
from keras_interp_rnn import reproduce


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; returns its exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m keras_interp_rnn",
        description="Reproduces the tables and figures of the papers that keras_interp_rnn implements, shows and makes "
        "the trained networks that ship with it, and proves certificates again.",
    )
    parser.add_argument("--version", action="version", version=f"keras_interp_rnn {keras_interp_rnn.__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="{reproduce,presets,check}")
    reproduce.add_parser(commands)
    check = commands.add_parser(
        "check",
        help="prove certificates of networks again, from their files",
        description="Repeats the proofs of files that Certificate.save wrote, with NumPy alone. The exit code is 0 if "
        "every proof holds, else 1.",
    )
    check.add_argument("files", nargs="+", type=Path, metavar="FILE", help="of a certificate")
    check.set_defaults(execute=_check)
    args = parser.parse_args(sys.argv[1:] if arguments is None else arguments)
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # what matters there reaches Python as an exception
    if args.command != "check" and reproduce.needs_keras(args):
        with _silent():
            _import_all()
        for name in ("tensorflow", "absl"):
            logging.getLogger(name).setLevel(logging.ERROR)
    return int(args.execute(args))


def _import_all() -> None:
    """Imports Keras, and registers every class that a saved model may have and how results are shown.

    A training that is resumed loads its model before it has built one.
    """
    from keras_interp_rnn import constraints, datasets, initializers, layers, losses, optimizers, recommender, views  # noqa: F401
    from keras_interp_rnn.automata import recognizer, symbol_embedding  # noqa: F401


def _check(args: argparse.Namespace) -> int:
    """Says of each file whether its proof holds; returns the exit code."""
    from keras_interp_rnn.automata import proof  # NumPy with it

    wrong, assumed = 0, dict[str, None]()
    for file in args.files:
        try:
            found = proof.read(file)
            print(proof.described(found, str(file)))
            assumed.update(dict.fromkeys(proof.assumptions(found.network)))
        except FileNotFoundError:
            wrong += 1
            print(f"keras_interp_rnn: there is no file {file}. Give one that Certificate.save wrote.", file=sys.stderr)
        except (ValueError, OSError) as error:
            wrong += 1
            print(f"keras_interp_rnn: {error}", file=sys.stderr)
    if not wrong:
        print("Assumed:", *assumed, sep="\n- ")
    return int(wrong > 0)


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
