"""What every section of the report ends with: what is remarked on its records, and their runs."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any


def ending(records: list[dict[str, Any]], name: Callable[[dict[str, Any]], str], heading: str = "Runs") -> str:
    """What is remarked on the records, and their runs. `name` and `heading` as `runs`."""
    return remark(records) + runs(records, name, heading)


def remark(records: list[dict[str, Any]]) -> str:
    """What is remarked on the records, if anything is."""
    return f"\n{records[0]['remark']}" if "remark" in records[0] else ""


def hardware(environment: dict[str, Any]) -> str:
    """What a run had to compute with."""
    found = re.sub(r"^1 cores\b", "1 core", environment["hardware"])
    return f"{found} and {environment['accelerator']}" if environment.get("accelerator") else found


def runs(records: list[dict[str, Any]], name: Callable[[dict[str, Any]], str], heading: str = "Runs") -> str:
    """A line for each record, folded: when, which code, where, with what settings.

    Args:
        name: record -> what it is called. heading: what is seen of the lines until they are unfolded.
    """
    lines = [f"\n<details><summary>{heading}</summary>\n\n"]
    for record in records:
        where, how = record["environment"], record["protocol"]
        given = {key: value for key, value in sorted(how.items()) if value not in ("", None)}
        settings = ", ".join(f"{key.replace('_', ' ')} {value}" for key, value in given.items())
        versions = ", ".join(f"{package} {version}" for package, version in sorted(where["versions"].items()))
        commits = dict.fromkeys(place["commit"] for place in (where, *where.get("resumed", ())))
        commit = f"commit `{'`, then `'.join(commits)}`" if all(commits) else "outside a checkout"
        lines.append(
            f"- {name(record)}: {where['date']}, {commit}, "
            f"{hardware(where)}, Python {where['python']}, {versions}{'; ' * bool(settings)}{settings}.\n"
        )
    return "".join([*lines, "\n</details>\n"])
