"""The notebooks of the site, from the percent scripts in notebooks/."""

from __future__ import annotations

import sys
from pathlib import Path

import jupytext
import nbformat

COLAB = "https://colab.research.google.com/github"
BADGE = "[![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)]"


def write_notebooks(scripts: Path, folder: Path, *, repository: str) -> list[Path]:
    """Writes a notebook for every script; one that has not changed keeps its time.

    Args:
        scripts: the folder of the percent scripts.
        folder: of the notebooks.
        repository: "owner/name" on GitHub, whose branch `notebooks` holds them (.github/workflows/docs.yml); "" for
            none, and no badge.
    """
    folder.mkdir(exist_ok=True)
    written = []
    for script in sorted(scripts.glob("*.py")):
        notebook = jupytext.read(script)
        path = folder / f"{script.stem}.ipynb"
        if repository:
            link = f"{COLAB}/{repository}/blob/notebooks/{path.name}"
            title, _, rest = notebook.cells[0].source.partition("\n")
            notebook.cells[0].source = f"{title}\n\n{BADGE}({link})\n{rest}"
        for number, cell in enumerate(notebook.cells):
            cell.id = f"cell-{number}"  # of its own, not drawn: the same script gives the same file
        text = nbformat.writes(notebook)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
        written.append(path)
    for stray in set(folder.glob("*.ipynb")) - set(written):
        stray.unlink()
    return written


if __name__ == "__main__":
    scripts, folder, repository = sys.argv[1:]
    write_notebooks(Path(scripts), Path(folder), repository=repository)
