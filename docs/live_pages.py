"""Pages of the site that presets are: most of them read what anybody types."""

from pathlib import Path

from keras_interp_rnn import presets, views


def write_live_pages(folder: Path) -> None:
    """Writes the page of each preset: it reads what is typed, or is the card alone."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in presets.list():
        if name != "text-isan-216":  # its weights are not in the package
            views.save(presets.load(name), folder / f"{name}.html")
