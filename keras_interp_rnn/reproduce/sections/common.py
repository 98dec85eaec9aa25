"""What the report's sections share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def runs(records: list[dict[str, Any]], name: Callable[[dict[str, Any]], str]) -> str:
    """A line for each run: when, which code, where, with what settings. `name` says what it is called."""
    lines = []
    for record in records:
        where, how = record["environment"], record["protocol"]
        settings = ", ".join(f"{key.replace('_', ' ')} {value}" for key, value in sorted(how.items()))
        versions = ", ".join(f"{package} {version}" for package, version in sorted(where["versions"].items()))
        commit = f"commit `{where['commit']}`" if where["commit"] else "outside a checkout"
        lines.append(
            f"- {name(record)}: {where['date']}, {commit}, "
            f"{where['hardware']}, Python {where['python']}, {versions}; {settings}.\n"
        )
    return "".join(lines)
