"""Shows a view on the screen or saves it to a file."""

from __future__ import annotations

import os
import sys
import tempfile
import webbrowser
from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras

from keras_interp_rnn._checks import as_path, invalid
from keras_interp_rnn._io import atomic_write, in_terminal
from keras_interp_rnn._results import Fields, Shown, as_html, as_page, as_text
from keras_interp_rnn.affine import AffineMap
from keras_interp_rnn.views.live import Network


def show(result: object, *, browser: bool | None = None) -> None:
    """Shows a result: as a page in a notebook; elsewhere as text, and as a page in a browser tab.

    Args:
        result: a result of a function of `analysis` or `automata`, a preset, or a network, as in `save`.
        browser: whether to open the page outside of notebooks; None opens it if there is a terminal and a display. The
            page is a temporary file, which is not deleted; its path is printed.

    Returns:
        None.

    Raises:
        TypeError: if `result` is not a result.
        ValueError: for a network that `save` rejects.
        RuntimeError: if `browser` is True and no browser can be opened.

    Example:

        >>> from keras_interp_rnn import views
        >>> from keras_interp_rnn.automata.networks import Agreement
        >>> views.show(Agreement(8, 8, 1.0, 1.0, None, up_to=2))
        8 of all 8 words up to length 2
    """
    shown = _shown(result)
    if _in_notebook():
        sys.modules["IPython.display"].display({"text/html": as_html(shown), "text/plain": as_text(shown)}, raw=True)
        return
    print(as_text(shown))
    if _at_a_display() if browser is None else browser:
        folder = Path(tempfile.mkdtemp(prefix="keras_interp_rnn_"))
        path = folder / f"{type(result).__name__}.html"
        save(result, path)
        print(path)
        if not webbrowser.open_new_tab(path.as_uri()) and browser:
            raise RuntimeError(f"No browser can be opened here. Received: browser=True. Open {path} yourself.")


def save(result: object, path: str | os.PathLike[str]) -> None:
    """Writes the view of a result into one file, completely or not at all.

    The page of a network reads any text that you type, offline. For a model over symbols that is affine in its state,
    with a linear readout (`layers.ISAN`, `FactoredISAN`, a linear recurrence over an Embedding), the page contains the
    weights. It shows the exact contribution of each symbol, the effect of deleting or replacing it, and the most
    probable outputs. For a state-regularized model that is an automaton, the page contains the automaton, and shows the
    path of a word and the verdict. Each array is stored in the shortest float that represents it exactly: the page of
    `text-isan` takes 1.2 MB.

    Args:
        result: a result of a function of `analysis` or `automata`, a preset, or such a model. You type symbols of the
            alphabet, or words of the vocabulary, that the model carries in a `layer`; otherwise ids. Or a
            `pathlib.Path`, the folder to which callbacks logged: its page is the TensorBoard tab with all runs.
        path: the file. It ends in ".html" for a page that needs no other file and no network, in ".txt" for the text,
            in ".csv" for the rows of the table with all digits, or in ".svg" or ".png" for a drawing: of an automaton,
            a map, or the bars. A PNG needs the packages of keras_interp_rnn[figures].

    Returns:
        None.

    Raises:
        TypeError: if `result` is not a result.
        ValueError: for another ending; for a drawing, or rows, of a result that has none; for a network of another
            kind, or one whose weights take more than 8 MiB in a page; for a folder without logs, or one whose last
            steps alone take more than 8 MiB.
        ImportError: for a PNG without the packages that draw it.

    Example:

        >>> import tempfile, pathlib
        >>> from keras_interp_rnn import automata, presets, views
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "automaton.html"
        >>> views.save(automata.tomita(1), path)
        >>> path.read_text().startswith("<!doctype html>")
        True
        >>> views.save(presets.load("text-isan"), path.with_name("live.html"))
    """
    is_folder = isinstance(result, os.PathLike)
    writers: dict[str, Callable[[Any], str | bytes]] = {".html": _page_of_logs if is_folder else as_page}
    if not is_folder:
        result = _shown(result)
        writers |= {
            ".txt": lambda result: as_text(result) + "\n",
            ".csv": _rows,
            ".svg": lambda result: result.drawing(),
            ".png": _png,
        }
    suffix = as_path("path", path).suffix.lower()
    if suffix not in writers:
        raise invalid("path", f"a file that ends in {', '.join(writers)}", os.fspath(path), "Add one of these endings.")
    document = writers[suffix](result)
    with atomic_write(path) as partial:
        partial.write_bytes(document if isinstance(document, bytes) else document.encode())


def _png(result: Shown) -> bytes:
    """The drawing at twice its size, in a font that comes with matplotlib; raises ImportError without both packages."""
    try:
        import matplotlib
        import resvg_py
    except ImportError as error:
        raise ImportError(
            f"A PNG needs the packages resvg_py and matplotlib. Received: {error}. Install keras_interp_rnn[figures], "
            "or save an .svg."
        ) from None
    fonts = Path(matplotlib.get_data_path()) / "fonts" / "ttf"
    drawn = resvg_py.svg_to_bytes(
        svg_string=result.drawing(),
        zoom=2,
        background="white",
        font_dirs=[str(fonts)],
        font_family="DejaVu Sans",
        sans_serif_family="DejaVu Sans",
        serif_family="DejaVu Sans",
    )
    return bytes(drawn)


def _rows(result: Shown) -> str:
    """The rows of the table as comma-separated values, all digits; raises ValueError if there are none."""
    text = result.table().to_csv()
    if not text:
        raise ValueError(
            f"A file of comma-separated values must be of a table. Received: {type(result).__name__}, a sentence "
            "without rows. Save it as .txt or .html."
        )
    return text


def _page_of_logs(folder: os.PathLike[str]) -> str:
    from tensorboard_plugins.interp_rnn.folder import page_of  # imports TensorBoard, which takes time

    return page_of(Path(folder))


def _shown(result: object) -> Shown:
    """A result as something that can be shown; raises TypeError for anything else."""
    if isinstance(result, Shown):
        return result
    if isinstance(result, keras.Model):
        return Network(result)
    if isinstance(result, AffineMap):
        return Fields(result)
    raise TypeError(
        "`result` must be a result of analysis or automata, a preset or a network over symbols. Received: "
        f"{type(result).__name__}. Pass the value that one of their functions returned, or a Keras model."
    )


def _at_a_display() -> bool:
    """Whether output goes to a terminal, on a machine that can show windows."""
    display = os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    return in_terminal() and (sys.platform in ("win32", "darwin") or bool(display))


def _in_notebook() -> bool:
    """Whether this process is the kernel of a notebook; asks IPython if it is already imported."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and hasattr(shell, "kernel") and "IPython.display" in sys.modules
