"""`python -m keras_interp_rnn check` proves certificates again, with NumPy alone; `--help` explains it."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

import keras_interp_rnn


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; returns its exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m keras_interp_rnn", description="Proves certificates of networks again, from their files."
    )
    parser.add_argument("--version", action="version", version=f"keras_interp_rnn {keras_interp_rnn.__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="{check}")
    check = commands.add_parser(
        "check",
        help="prove certificates again",
        description="Repeats the proofs of files that Certificate.save wrote, with NumPy alone. The exit code is 0 if "
        "every proof holds, else 1, whether or not the report could be written.",
    )
    check.add_argument("files", nargs="+", type=Path, metavar="FILE", help="of a certificate")
    return _check(parser.parse_args(arguments).files)


def _check(files: Sequence[Path]) -> int:
    """Reports for each file whether its proof holds; returns the exit code."""
    from keras_interp_rnn.automata import certificates  # imports NumPy, which `--help` does not need

    wrong, assumed = 0, dict[str, None]()
    for file in files:
        try:
            found = certificates.read(file)
            _report(certificates.described(found, str(file)))
            assumed.update(dict.fromkeys(certificates.assumptions(found.proved)))
        except FileNotFoundError:
            wrong += 1
            _complain(f"there is no file {file}. Give one that Certificate.save wrote.")
        except (ValueError, OSError) as error:
            wrong += 1
            _complain(str(error))
    if not wrong:
        _report("\n- ".join(("Assumed:", *assumed)))
    return int(wrong > 0)


def _report(text: str) -> None:
    """Prints a part of the report; the rest is left out if the reader closed the stream or the disk is full."""
    try:
        _print(text, sys.stdout)
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # so that Python does not fail again at its end
        if not isinstance(error, BrokenPipeError):
            _complain(f"the report cannot be written: {error}")


def _complain(text: str) -> None:
    with contextlib.suppress(OSError):
        _print(f"keras_interp_rnn: {text}", sys.stderr)


def _print(text: str, stream: TextIO | None) -> None:
    """Prints a text; characters that control a terminal, or that the stream cannot encode, become escape codes."""
    if stream is None:  # closed before Python began
        return
    printable = "".join(c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in text)
    print(printable.encode(stream.encoding, "backslashreplace").decode(stream.encoding), file=stream, flush=True)


if __name__ == "__main__":
    sys.exit(main())
