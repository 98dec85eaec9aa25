"""The options of `python -m keras_interp_rnn`, read before Keras is imported: `--help` answers at once."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras_interp_rnn
from keras_interp_rnn.reproduce.papers import ENTRIES

EXAMPLES = """
examples:
  python -m keras_interp_rnn reproduce list                     # the tables, their rows, their data
  python -m keras_interp_rnn reproduce sr-imdb --data aclImdb   # every row of a table; the same command resumes it
  python -m keras_interp_rnn reproduce report --out results.md  # the report of all records, with its figures
  python -m keras_interp_rnn tune sr-imdb --row LSTM --data aclImdb --trials 20
"""


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """What the command line asks for; `command` is "reproduce" or "tune"."""
    parser = argparse.ArgumentParser(
        prog="python -m keras_interp_rnn",
        description="Reproduces the tables of the papers that keras_interp_rnn implements, and tunes their networks.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"keras_interp_rnn {keras_interp_rnn.__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="{reproduce,tune}")
    _of_reproduce(
        commands.add_parser(
            "reproduce",
            help="train the networks of a table, or write the report",
            description="Trains every row of a paper's table and writes one JSON record per run, or writes a report "
            "of all records. The same command resumes what was interrupted.",
            epilog=f"tables: {', '.join(ENTRIES)}",
        )
    )
    _of_tune(
        commands.add_parser(
            "tune",
            help="search for hyperparameters",
            description="Tunes the hyperparameters of one row of a table, with the extra `tuner`. The same command "
            "resumes a search that was interrupted.",
            epilog=f"tables: {', '.join(ENTRIES)}",
        )
    )
    return parser.parse_args(arguments)


def _of_reproduce(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("what", metavar="TABLE", help="a table, `all` tables, `list` (what there is) or `report`")
    parser.add_argument("--rows", nargs="+", metavar="ROW", help="rows to run (default: all)")
    parser.add_argument(
        "--budget", type=_positive(float), metavar="MINUTES", help="minutes of training per run (default: the table's)"
    )
    parser.add_argument(
        "--seeds",
        type=_positive(int),
        default=1,
        metavar="N",
        help="runs of each row, with seeds 0 to N - 1 (default: %(default)s)",
    )
    _of_both(parser, runs="runs/reproduce", runs_hold="checkpoints and TensorBoard logs", verbose=2)
    parser.add_argument(
        "--out", type=Path, metavar="FILE", help="file of the report, its figures beside it (default: print the text)"
    )


def _of_tune(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("what", metavar="TABLE", help="a table; `reproduce list` shows its rows")
    parser.add_argument("--row", required=True, help="the row whose hyperparameters are searched")
    parser.add_argument("--trials", type=_positive(int), default=20, help="trials in total (default: %(default)s)")
    parser.add_argument(
        "--steps",
        type=_positive(int),
        default=300,
        help="batches per epoch of a trial, at the row's own batch size (default: %(default)s)",
    )
    parser.add_argument("--epochs", type=_positive(int), default=2, help="epochs of a trial (default: %(default)s)")
    parser.add_argument(
        "--keep",
        nargs="+",
        default=[],
        metavar="SETTING",
        help="settings of the row that are not searched, such as centroids (default: none)",
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of the search and of the weights (default: 0)")
    _of_both(parser, runs="runs/tune", runs_hold="the trials, with TensorBoard logs", verbose=0)


def _of_both(parser: argparse.ArgumentParser, runs: str, runs_hold: str, verbose: int) -> None:
    parser.add_argument(
        "--data", type=Path, metavar="PATH", help="file or folder, as `reproduce list` says (default: download)"
    )
    parser.add_argument(
        "--runs", type=Path, default=Path(runs), metavar="FOLDER", help=f"{runs_hold} (default: %(default)s)"
    )
    parser.add_argument(
        "--records",
        type=Path,
        default=Path("runs/records"),
        metavar="FOLDER",
        help="the JSON records (default: %(default)s)",
    )
    parser.add_argument(
        "--verbose",
        type=int,
        default=verbose,
        metavar="{0,1,2}",
        help="as in fit: 0 silent, 1 a progress bar, 2 a line per epoch (default: %(default)s)",
    )
    parser.add_argument(
        "--smoke", action="store_true", help="try it in seconds: made-up data, tiny networks, a temporary folder"
    )


def _positive(kind: Callable[[str], Any]) -> Callable[[str], Any]:
    """A finite number above 0, for argparse."""

    def number(text: str) -> Any:
        found = kind(text)
        if not 0 < found < math.inf:
            raise argparse.ArgumentTypeError(f"must be a finite number above 0. Received: {text}")
        return found

    number.__name__ = kind.__name__  # what argparse calls it, where it is none
    return number
