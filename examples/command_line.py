"""What the examples share. Options are read before TensorFlow is imported, so that --help answers at once."""

import argparse
import contextlib
import os
import sys
from collections.abc import Iterator
from typing import Any

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"  # what matters there reaches Python as an exception

VERBOSE = int(sys.stdout is not None and sys.stdout.isatty())
"""For `fit`: Keras's progress bar, with the time left, in a terminal; nothing in a log."""
LINES = VERBOSE or 2
"""The same, with a line for each epoch in a log."""


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


def reads_isan(docstring: str | None) -> Parser:
    """A parser with the options of `trained_isan`."""
    parser = Parser(docstring)
    parser.add_argument("--model", default="runs/text_isan/model.keras", help="model of text_isan.py")
    parser.add_argument("--text", help="the text that it was trained on (default: Python's own documentation)")
    parser.add_argument("--figure", default=f"runs/{parser.prog.removesuffix('.py')}.png", help="file of the figure")
    parser.add_argument("--smoke", action="store_true", help="a small model that is trained in seconds")
    return parser


def trained_isan(args: argparse.Namespace) -> tuple[Any, list[Any]]:
    """The model that the options of `reads_isan` name, and its training, validation and test text."""
    import keras

    from keras_interp_rnn import datasets, layers, losses

    if not args.smoke and not os.path.isfile(args.model):
        sys.exit(f"There is no model {args.model}. Train one by text_isan.py, or give --model.")
    try:
        symbols = datasets.text.read(args.text) if args.text else datasets.text.python_documentation()
        if not args.smoke:
            return keras.models.load_model(args.model), datasets.text.split(symbols)
    except ValueError as error:
        sys.exit(str(error))
    parts, size = datasets.text.split(symbols[:200_000]), len(datasets.text.ALPHABET)
    isan = layers.ISAN(12, size, return_sequences=True, stateful=True)
    model = keras.Sequential([keras.Input((50,), batch_size=64, dtype="int32"), isan, keras.layers.Dense(size)])
    model.compile("adam", losses.BitsPerSymbol())
    model.fit(datasets.Windows(parts[0], 64, length=50, num_windows=20), shuffle=False, verbose=VERBOSE)
    return model, parts


def save(figure: Any, path: str) -> None:
    """Writes a figure, and says where."""
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    figure.savefig(path, dpi=120)
    print(f"Figure: {path}")


@contextlib.contextmanager
def quiet(extra: str = "") -> Iterator[None]:
    """Discards standard error: TensorFlow 2.21 writes notes there while it is imported, at any log level.

    An exception passes through, and is printed outside. Where a package of an extra is not installed, the example ends
    with a line that names the extra.
    """
    saved, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    except ModuleNotFoundError as error:
        if not extra:
            raise
        sys.exit(f"This example needs {error.name}: pip install 'keras_interp_rnn[{extra}]'")
    finally:
        os.dup2(saved, 2)
        os.close(saved)
        os.close(nowhere)
