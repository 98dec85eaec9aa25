"""What a benchmark measured: lines of JSON in a file, and a table of them in benchmarks/README.md."""

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

README = Path(__file__).parent / "README.md"
END = "<!-- end -->"


class Record:
    """Lines of JSON, which are appended to a file, and are not made twice."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.lines = [json.loads(line) for line in path.read_text().splitlines()] if path and path.exists() else []

    def __call__(self, key: dict[str, Any], make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        for line in self.lines:
            if all(line.get(name) == value for name, value in key.items()):
                return dict(line)
        line = {**key, **make()}
        self.lines.append(line)
        if self.path:
            with self.path.open("a") as out:
                print(json.dumps(line), file=out)
        return line

    @property
    def where(self) -> str:
        """When and where the newest lines were made, in words."""
        return where(next(line["environment"] for line in reversed(self.lines) if "environment" in line))


def show(path: Path, name: str, tables: Callable[[list[dict[str, Any]]], Iterable[str]], *, write: bool) -> Record:
    """Prints the tables of a record, and with `write` puts them into benchmarks/README.md."""
    record = Record(path)
    found = [record.where, "", *tables(record.lines)]
    print(*found, sep="\n")
    if write:
        into_readme(name, found)
    return record


def where(environment: dict[str, Any]) -> str:
    """When and where something was measured, in words."""
    versions = {**environment["versions"], **environment.get("packages", {})}
    named = ", ".join(f"{name} {version}" for name, version in sorted(versions.items()))
    commit, hardware = environment["commit"], environment["hardware"]
    return f"{environment['date']}, commit `{commit}`, one thread of {hardware}; {named}."


def into_readme(name: str, lines: Iterable[str]) -> None:
    """Puts lines in place of those between `<!-- NAME -->` and the next end."""
    start = f"<!-- {name} -->"
    before, rest = README.read_text(encoding="utf-8").split(start)
    after = rest.split(END, 1)[1]
    table = "\n".join(lines).strip()
    README.write_text(f"{before}{start}\n\n{table}\n\n{END}{after}", encoding="utf-8")
