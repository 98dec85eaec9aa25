"""`python -m keras_interp_rnn check`: proves certificates again, with NumPy alone (`--help` says how)."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

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
        "every proof holds, else 1.",
    )
    check.add_argument("files", nargs="+", type=Path, metavar="FILE", help="of a certificate")
    check.set_defaults(execute=_check)
    args = parser.parse_args(arguments)
    return int(args.execute(args))


def _check(args: argparse.Namespace) -> int:
    """Says of each file whether its proof holds; returns the exit code."""
    from keras_interp_rnn.automata import proof  # NumPy with it

    wrong, assumed = 0, dict[str, None]()
    for file in args.files:
        try:
            found = proof.read(file)
            print(_printable(proof.described(found, str(file))))
            assumed.update(dict.fromkeys(proof.assumptions(found.network)))
        except FileNotFoundError:
            wrong += 1
            message = f"there is no file {file}. Give one that Certificate.save wrote."
            print(f"keras_interp_rnn: {_printable(message)}", file=sys.stderr)
        except (ValueError, OSError) as error:
            wrong += 1
            print(f"keras_interp_rnn: {_printable(str(error))}", file=sys.stderr)
    if not wrong:
        print("Assumed:", *assumed, sep="\n- ")
    return int(wrong > 0)


def _printable(text: str) -> str:
    """Lines in which a character that a terminal would obey, of a file's name or its text, is written as its code."""
    return "".join(c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in text)


if __name__ == "__main__":
    sys.exit(main())
