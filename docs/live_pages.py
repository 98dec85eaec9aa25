"""Pages of the site on which a preset reads what anybody types."""

from pathlib import Path

from keras_interp_rnn import presets, views


def write_live_pages(folder: Path) -> None:
    """Writes a page for each preset that the package ships and that can be one."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in presets.list():
        if name not in WITHOUT:
            views.save(presets.load(name), folder / f"{name}.html")


WITHOUT = ("reviews-sr-lstm", "text-isan-216")
"""Presets whose network is neither affine nor an automaton, or whose weights are elsewhere."""
