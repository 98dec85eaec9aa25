"""One JSON record per run: what was trained on what, where, for how long, and what came out."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import os
import platform
import subprocess
from collections.abc import Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from keras_interp_rnn._files import atomic_write

FORMAT = 1
"""Of the records; a reader refuses those of a later one."""

PLACES = "environments.json"
"""In the folder of a run."""

DIGESTS = ("sha256", "text_sha256")
"""Of data: a record without one may be of any."""

PACKAGES = ("keras_interp_rnn", "tensorflow", "keras", "numpy")


def environment() -> dict[str, Any]:
    """Date, code commit, versions, Keras's backend and hardware of this process."""
    from keras_interp_rnn import _backend  # not for those who read records: it takes Keras

    backend = _backend.name()
    return {
        "date": datetime.now(timezone.utc).strftime("%Y-%m-%d"),
        "commit": _commit(),
        "python": platform.python_version(),
        "versions": {name: _version(name) for name in dict.fromkeys((*PACKAGES, backend))},
        "backend": backend,
        "hardware": f"{_cores()} cores of {_processor()}",
        "accelerator": _backend.accelerator(),
    }


def write(path: Path, record: dict[str, Any]) -> dict[str, Any]:
    """Writes the record as readable JSON, with the environment unless it has one, whole or not at all; returns it."""
    made = {} if "environment" in record else {"environment": environment()}
    whole = {"format": FORMAT, **made, **record}
    write_json(path, whole)
    return whole


def read(path: Path) -> dict[str, Any]:
    """A record.

    Raises:
        ValueError: if it is none, or one of a later format.
    """
    found = read_json(path, "A record is JSON with an experiment", {"experiment": str}, "Take it away.")
    form = found.get("format", 1)
    if not isinstance(form, int):
        raise ValueError(f"The format of a record is a number. Received: {path} of format {form!r}. Take it away.")
    if form > FORMAT:
        raise ValueError(
            f"This version reads records up to format {FORMAT}. Received: {path} of format {form}. Install the "
            "keras_interp_rnn that wrote it, or a newer one."
        )
    return found


def made_before(path: Path, **expected: Any) -> dict[str, Any] | None:
    """The record of a run that has ended; None if there is none.

    Args:
        expected: parts of the record as this run would write them.

    Raises:
        ValueError: if one of these is not as expected.
    """
    if not path.exists():
        return None
    found = read(path)
    for part, wanted in expected.items():
        _same("A record is read again if it was made with the same settings", wanted, found.get(part, {}), path)
    return found


def begin(folder: Path, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Writes into the folder of a run all that its training depends on, and where it takes place.

    Returns:
        As `begun`.

    Raises:
        ValueError: if the run there was begun with other settings, naming them.
    """
    path = folder / "settings.json"
    if path.exists():
        kept = read_json(
            path, "The settings of a run are a JSON object", {}, "Give another folder, or delete this one."
        )
        _same("A run goes on with the settings it began with", settings, kept, path)
    else:
        write_json(path, dict(settings))
    places, here = _places(folder), environment()
    if all({**place, "date": ""} != {**here, "date": ""} for place in places):
        write_json(folder / PLACES, {"environments": [*places, here]})
    return begun(folder)


def begun(folder: Path) -> dict[str, Any]:
    """The environment in which a run began; `resumed`, if others than that one went on with it, are those."""
    first, *others = _places(folder)
    return {**first, "resumed": others} if others else first


def _places(folder: Path) -> list[dict[str, Any]]:
    path = folder / PLACES
    if not path.exists():
        return []
    rule = "The places of a run are JSON with its environments"
    places = read_json(path, rule, {"environments": list}, "Give another folder, or delete this one.")["environments"]
    if not places or not all(isinstance(place, dict) for place in places):
        raise ValueError(f"{rule}, at least one. Received: {path} with {places!r}. Give another folder, or delete it.")
    return places


def sha256(*arrays: NDArray[Any]) -> str:
    """Of arrays, their shapes and types, one after another."""
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(f"{array.dtype.str}{array.shape}".encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def _same(rule: str, wanted: Mapping[str, Any], kept: Mapping[str, Any], path: Path) -> None:
    """Raises ValueError where what is kept is not what is wanted; settings that are not kept count for the same."""
    plain = json.loads(json.dumps(wanted))
    differ = {
        name: value for name, value in plain.items() if kept.get(name, None if name in DIGESTS else value) != value
    }
    if differ:
        other = {name: kept.get(name) for name in differ}
        raise ValueError(f"{rule}. Received: {differ}, and {path} with {other}. Give another folder.")


def read_json(path: Path, rule: str, parts: Mapping[str, type], remedy: str) -> dict[str, Any]:
    """A JSON object.

    Args:
        path: of an existing file.
        rule: what it must be, for the error.
        parts: what it holds at least, and of which type.
        remedy: what to do.

    Raises:
        ValueError: if the file holds something else, naming it.
    """
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        wrong = [name for name, kind in parts.items() if not isinstance(found[name], kind)]
        if wrong or not isinstance(found, dict):
            raise TypeError(f"{', '.join(wrong)} of another type" if wrong else f"a {type(found).__name__}")
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ValueError(f"{rule}. Received: {path} ({error!r}). {remedy}") from None
    return found


def write_json(path: Path, content: dict[str, Any]) -> None:
    """Writes readable JSON, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as partial:
        partial.write_text(json.dumps(content, indent=1, sort_keys=True) + "\n")


def _version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "source"


def _commit() -> str:
    """The commit of the checkout this package lies in, with a + if the working tree differs; "" outside one."""

    def git(*arguments: str) -> str:
        folder = Path(__file__).parent
        return subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True, check=True).stdout

    try:
        dirty = git("status", "--porcelain", "--untracked-files=no").strip()
        return git("rev-parse", "--short=12", "HEAD").strip() + ("+" if dirty else "")
    except (OSError, subprocess.CalledProcessError):
        return ""


def _cores() -> int:
    """Those that this process may use, where the system says so."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine())
