"""Writes the two tables of architecture.md: the folders, by their docstrings, and the rules of tests/test_imports.py.

python docs/architecture.py
"""

import ast
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "architecture.md"
PACKAGE = ROOT / "keras_interp_rnn"


def folders() -> str:
    """A row for each folder and module of the package, with the first sentence of its docstring."""
    inits = [path for path in PACKAGE.rglob("__init__.py") if path.parent != PACKAGE]
    modules = [path for path in PACKAGE.glob("*.py") if path.name not in ("__init__.py", "__main__.py")]
    rows = {f"{path.parent.relative_to(PACKAGE).as_posix()}/": path for path in inits}
    rows |= {path.name: path for path in modules}
    return _table(("in `keras_interp_rnn/`", "holds"), {f"`{name}`": _summary(rows[name]) for name in sorted(rows)})


def imports() -> str:
    """A row for each rule of who may import whom."""
    from tests.test_imports import MAY_IMPORT

    def short(name: str) -> str:
        return f"`{name.removeprefix('keras_interp_rnn.')}`"

    rows = {f"`{module}`": ", ".join(sorted(map(short, names))) or "–" for module, names in sorted(MAY_IMPORT.items())}
    return _table(("module", "may import"), rows)


def page() -> str:
    """The page with both tables as they must be."""
    text = PAGE.read_text(encoding="utf-8")
    for name, table in (("folders", folders()), ("imports", imports())):
        text = re.sub(
            rf"(<!-- {name} -->\n).*?(<!-- end -->)", lambda m, t=table: m[1] + t + m[2], text, flags=re.DOTALL
        )
    return text


def _summary(path: Path) -> str:
    first = (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").split("\n\n")[0]
    return re.split(r"(?<=[a-z)`])\. ", " ".join(first.split()))[0].rstrip(".")


def _table(head: tuple[str, str], rows: dict[str, str]) -> str:
    lines = [f"| {head[0]} | {head[1]} |", "|---|---|", *(f"| {name} | {text} |" for name, text in rows.items())]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    PAGE.write_text(page(), encoding="utf-8")
