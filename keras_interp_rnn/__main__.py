"""`python -m keras_interp_rnn` lists trained networks, shows one, explains yours, and proves certificates again.

Certificates are proved with NumPy alone, and cards read with less; the other commands import TensorFlow.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import webbrowser
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

import keras_interp_rnn


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; returns its exit code."""
    options = _parser().parse_args(arguments)
    if options.command == "check":
        return _check(options.files)
    if options.command is None:
        return _list()
    try:
        return _show(options) if options.command == "show" else _explain(options)
    except (ValueError, TypeError, OSError, ImportError) as error:
        _complain(str(error).splitlines()[0])
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m keras_interp_rnn",
        description="Lists the trained networks that ship with the package. A command opens the page of one, explains "
        "a network of yours, or proves certificates again.",
    )
    parser.add_argument("--version", action="version", version=f"keras_interp_rnn {keras_interp_rnn.__version__}")
    commands = parser.add_subparsers(dest="command", metavar="{show,explain,check}")
    show = commands.add_parser("show", help="open the page of a trained network that ships with the package")
    show.add_argument("name", help="of the network, as listed without a command")
    explain = commands.add_parser(
        "explain",
        help="explain the answer of a network of yours to a text",
        description="Prints how far each token of a text moved the answer of the network, and saves the page.",
    )
    explain.add_argument("model", type=Path, metavar="MODEL.keras", help="which carries its alphabet, or reads strings")
    explain.add_argument("text", help="what it reads")
    for command in (show, explain):
        command.add_argument("--save", type=Path, metavar="FILE", help="ends in .html, .svg, .png, .csv or .txt")
        command.add_argument("--no-browser", action="store_true", help="open nothing")
    check = commands.add_parser(
        "check",
        help="prove certificates again",
        description="Repeats the proofs of files that Certificate.save wrote, with NumPy alone. The exit code is 0 if "
        "every proof holds, else 1, whether or not the report could be written.",
    )
    check.add_argument("files", nargs="+", type=Path, metavar="FILE", help="of a certificate")
    return parser


def _list() -> int:
    """A line for each network that ships with the package."""
    from keras_interp_rnn.presets import cards

    for name in cards.names(cards.FOLDER):
        _report(f"{name:20}  {cards.read_card(name).what}")
    _report("\nA page of one: python -m keras_interp_rnn show NAME. Your own: explain MODEL.keras TEXT.")
    return 0


def _show(options: argparse.Namespace) -> int:
    from keras_interp_rnn import presets

    return _view(presets.load(options.name), options, f"{options.name}.html")


def _explain(options: argparse.Namespace) -> int:
    import keras

    from keras_interp_rnn import analysis
    from keras_interp_rnn._outputs import MANY_OUTPUTS
    from keras_interp_rnn.automata import networks  # noqa: F401 - registers the classes of saved models

    if not options.model.exists():
        raise FileNotFoundError(f"there is no file {options.model}. Give one that model.save wrote.")
    model = keras.models.load_model(options.model)
    found = analysis.attribution(model, [options.text])
    few = 1 < model.outputs[0].shape[-1] <= MANY_OUTPUTS
    drawn = analysis.attribution(model, [options.text], target="all") if few else found
    return _view(drawn, options, "explanation.html", str(found))


def _view(result: object, options: argparse.Namespace, name: str, text: str = "") -> int:
    """Prints a result or a text about it, saves its page, and opens it where there is a screen."""
    from keras_interp_rnn import views

    path = Path(name) if options.save is None else options.save
    views.save(result, path)
    _report(text or str(result))
    _report(f"\n{path}")
    if not options.no_browser and path.suffix == ".html":
        webbrowser.open_new_tab(path.resolve().as_uri())
    return 0


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
