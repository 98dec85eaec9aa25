"""The tutorials: scripts of cells that begin alike. The site's build runs them; see test_site.py."""

import ast
import sys
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "docs"))
from notebooks_of_scripts import write_notebooks  # noqa: E402

SCRIPTS = sorted((ROOT / "notebooks").glob("*.py"))


@pytest.fixture(scope="module")
def notebooks(tmp_path_factory):
    folder = tmp_path_factory.mktemp("notebooks")
    paths = write_notebooks(ROOT / "notebooks", folder, repository="owner/name")
    return {path.stem: nbformat.read(path, as_version=4) for path in paths}


def test_there_are_nine():
    assert len(SCRIPTS) == 9


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_a_notebook_has_title_badge_installation_and_a_network_in_seconds(script, notebooks):
    first, installation, *rest = notebooks[script.stem].cells
    title, _, badge, *_ = first.source.split("\n")
    assert title.startswith("# ")
    assert f"/owner/name/blob/notebooks/{script.stem}.ipynb" in badge
    assert installation.source.startswith("%pip install")
    assert installation.metadata.tags == ["skip-execution"]
    code = "\n".join(cell.source for cell in rest if cell.cell_type == "code")
    assert any(call in code for call in ("presets.load(", "fitting.fit_lbfgs(", "automata.compile("))
    names = {node.attr for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Attribute)}
    assert not {name for name in names if name.startswith("_") and not name.endswith("__")}


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_a_notebook_is_listed_in_the_index(script):
    assert f"notebooks/{script.stem}\n" in (ROOT / "docs" / "index.md").read_text(encoding="utf-8")


def test_without_a_repository_there_is_no_badge_and_nothing_is_written_twice(tmp_path):
    paths = write_notebooks(ROOT / "notebooks", tmp_path, repository="")
    assert not any("colab" in path.read_text(encoding="utf-8") for path in paths)
    (tmp_path / "of_a_script_that_is_gone.ipynb").touch()
    before = {path: path.stat().st_mtime_ns for path in paths}
    write_notebooks(ROOT / "notebooks", tmp_path, repository="")
    assert {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()} == before
