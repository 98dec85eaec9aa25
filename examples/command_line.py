"""What the examples' command lines share. Options are read before TensorFlow is imported: --help answers at once."""

import argparse
import contextlib
import os
import sys
from collections.abc import Iterator
from typing import Any

VERBOSE = 1 if sys.stdout.isatty() else 2
"""Of `fit`: a progress bar in a terminal, a line per epoch in a file."""

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"  # what matters there reaches Python as an exception


class Parser(argparse.ArgumentParser):
    """Describes a script by the first line of its docstring, and says every option's default."""

    def __init__(self, docstring: str | None) -> None:
        super().__init__(description=(docstring or "").partition("\n")[0])

    def add_argument(self, *names: Any, **options: Any) -> argparse.Action:
        default = options.get("default")
        if default is not None and default != argparse.SUPPRESS:
            shown = " ".join(map(str, default)) if isinstance(default, list) else default
            options["help"] += f" (default: {shown})"
        return super().add_argument(*names, **options)


def reads_isan(docstring: str | None, name: str) -> Parser:
    """A parser with the options of all scripts that take a trained ISAN apart (`reproduce.isan_text.load`)."""
    parser = Parser(docstring)
    parser.add_argument("--model", default="runs/text_isan/model.keras", help="model of text_isan.py or text8_isan.py")
    parser.add_argument("--text", help="the text it was trained on (default: Python's own documentation)")
    parser.add_argument("--figures", default=f"runs/{name}", help="folder of the figures")
    parser.add_argument("--records", default="runs/records", help="folder of the JSON record")
    parser.add_argument("--smoke", action="store_true", help="a model trained for seconds, in a temporary folder")
    return parser


def learns_language(docstring: str | None, name: str, configs: list[str], passes: str) -> Parser:
    """A parser with the options of the scripts that learn a language (`reproduce.context_free.main`)."""
    networks = ["LSTM", "LSTM-P", "SR-LSTM", "SR-LSTM-P"]
    parser = Parser(docstring)
    parser.add_argument("--data", nargs="+", default=configs[:1], choices=configs, help="which words to learn from")
    parser.add_argument("--networks", nargs="+", default=networks, choices=networks, help="networks to train")
    parser.add_argument("--centroids", type=int, nargs="+", default=[5], help="centroids of the SR networks")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0], help="seeds of the weights, one run each")
    parser.add_argument("--units", type=int, default=10, help="state size")
    parser.add_argument("--passes", type=int, help=f"passes over the words of each length (default: {passes})")
    parser.add_argument("--data-dir", help="folder of the prepared words (default: ~/tensorflow_datasets)")
    parser.add_argument("--runs", default=f"runs/{name}", help="folder of the models")
    parser.add_argument("--records", default="runs/records", help="folder of the JSON records")
    parser.add_argument("--smoke", action="store_true", help="little training, in a temporary folder")
    return parser


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Nothing reaches standard error inside: TensorFlow 2.21 writes notes there while it is imported, at any log level.

    An exception passes through, and is printed outside.
    The command of the package does the same by itself: to import that from here would import TensorFlow.
    """
    saved, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(saved, 2)
        os.close(saved)
        os.close(nowhere)
