"""The site is built without a warning, its links lead somewhere, and it has every public name."""

import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import nbformat
import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "docs"))
from inventories import ADDRESSES  # noqa: E402
from pages_of_reference import MODULES, PACKAGE  # noqa: E402


class Page(HTMLParser):
    """Anchors and links of a page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.anchors.update(value for name in ("id", "name") if (value := given.get(name)))
        self.links += [value for name in ("href", "src") if (value := given.get(name)) and tag != "base"]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-b", "html", "--fail-on-warning", "--keep-going", "--quiet"]
    built = subprocess.run(
        [*command, "-d", str(folder / "doctrees"), str(ROOT / "docs"), str(folder / "html")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stderr[-3000:]
    return folder / "html"


@pytest.mark.matrix
def test_links_lead_somewhere_and_every_public_name_has_its_page(site):
    """One test, so that the workers of a parallel run do not build the site at the same time."""
    follow_links(site)
    for module in sorted(MODULES):
        find_names(site, module)
    names_of_other_packages(site)
    for script in sorted((ROOT / "notebooks").glob("*.py")):
        look_at_notebook(site, script.stem)


def names_of_other_packages(site):
    """They lead to the addresses of docs/inventories.py."""
    pages = "".join(path.read_text(encoding="utf-8") for path in (site / "reference").rglob("*.html"))
    for base, names in ADDRESSES.items():
        assert any(f'href="{base}{rest}"' in pages for rest in names.values()), base


def look_at_notebook(site, name):
    """It was run: without a warning, and there is something to look at."""
    executed = nbformat.read(site.parent / "jupyter_execute" / "notebooks" / f"{name}.ipynb", as_version=4)
    outputs = [output for cell in executed.cells for output in cell.get("outputs", [])]
    warned = [output.text for output in outputs if output.get("name") == "stderr" and "Warning:" in output.text]
    assert not warned
    seen = {"image/png", "image/svg+xml", "text/html"}  # a picture or a view
    shown = [output for output in outputs if seen & set(output.get("data", ()))]
    assert shown
    page = (site / "notebooks" / f"{name}.html").read_text(encoding="utf-8")
    assert page.count("cell_output") >= len(shown)


def follow_links(site):
    pages = {path: Page(path) for path in site.rglob("*.html")}
    assert len(pages) > 150
    followed = 0
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path.resolve()
            assert target.exists(), f"{path.relative_to(site)}: {link}"
            fragment = unquote(parts.fragment)
            if fragment and target.suffix == ".html":
                assert fragment in pages[target].anchors, f"{path.relative_to(site)}: {link}"
            followed += 1
    assert followed > 10_000


def find_names(site, module):
    overview = Page(site / "reference" / "generated" / f"{module}.html")
    for name in MODULES[module]:
        full = f"{PACKAGE}.{module}.{name}"
        links = [link for link in overview.links if link.endswith(f"#{full}") or link.endswith(f"#module-{full}")]
        assert links, full
        page = site / "reference" / "generated" / links[0].split("#")[0]
        anchors = Page(page).anchors
        assert full in anchors or f"module-{full}" in anchors, full
