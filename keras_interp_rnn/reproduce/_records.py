"""One JSON record per run: what was trained on what, where, for how long, and with what result."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import json
import os
import platform
import subprocess
from collections.abc import Callable, Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

from keras_interp_rnn._files import read_json, write_json

if TYPE_CHECKING:
    from numpy.typing import NDArray

FORMAT = 1
"""Of the records; a reader refuses those of a later one."""

ENVIRONMENTS_FILE = "environments.json"
"""In the folder of a run: every environment it was trained in."""

DIGESTS = ("sha256", "text_sha256")
"""Of the data: a record has one of these, unless its experiment reads no data."""

PACKAGES = ("keras_interp_rnn", "tensorflow", "keras", "numpy")


def environment() -> dict[str, Any]:
    """Date, code commit, versions, Keras's backend and hardware of this process."""
    from keras_interp_rnn import _backend  # not for those who read records: it takes Keras

    backend = _backend.name()
    return {
        "date": datetime.now(timezone.utc).strftime("%Y-%m-%d"),
        "commit": _commit(),
        "python": platform.python_version(),
        "versions": _versions(*PACKAGES, backend),
        "backend": backend,
        "hardware": f"{_cores()} cores of {_processor()}",
        "accelerator": _backend.accelerator(),
    }


def write(path: Path, record: dict[str, Any]) -> dict[str, Any]:
    """Writes a record whole or not at all, with the present environment unless it has one; returns what it wrote.

    The JSON has one line for each key of the record, each entry of `data`, `model`, ... and each point of a curve.
    """
    missing = {} if "environment" in record else {"environment": environment()}
    whole = {"format": FORMAT, **missing, **record}
    write_json(path, whole)
    return whole


def kept(path: Path, compute: Callable[[], dict[str, Any]], parts: Mapping[str, type]) -> dict[str, Any]:
    """A part of what a run finds: read if it was written before a kill, else computed and written.

    Args:
        path: of the part. compute: finds it. parts: what it has at least: name -> type.

    Raises:
        ValueError: if the file is damaged.
    """
    if path.exists():
        return read_json(path, f"A part of an unfinished run is JSON with {', '.join(parts)}", parts, "Remove it.")
    found = compute()
    write_json(path, found)
    return found


def read(path: Path) -> dict[str, Any]:
    """Reads a record.

    Raises:
        ValueError: if the file holds none, or one of a later format.
    """
    record = read_json(path, "A record is JSON with an experiment", {"experiment": str}, "Remove it.")
    version = record.get("format", 1)
    if not isinstance(version, int):
        raise ValueError(f"The format of a record is a number. Received: {path} of format {version!r}. Remove it.")
    if version > FORMAT:
        raise ValueError(
            f"This version reads records up to format {FORMAT}. Received: {path} of format {version}. Install the "
            "keras_interp_rnn that wrote it, or a newer one."
        )
    return record


def has_digest(record: Mapping[str, Any]) -> bool:
    """Whether a record says exactly which data it is of."""
    return bool(set(DIGESTS) & set(record.get("data", {})))


def load_finished(path: Path, **expected: Any) -> dict[str, Any] | None:
    """The record of a run that has finished; None if there is none.

    Args:
        expected: parts of the record as this run would write them.

    Raises:
        ValueError: if one of these differs.
    """
    if not path.exists():
        return None
    record = read(path)
    for part, wanted in expected.items():
        _require_equal("A finished run is taken over if it has the same settings", wanted, record.get(part, {}), path)
    return record


def start_run(folder: Path, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Writes into the folder of a run what its training depends on and where it runs.

    Returns:
        As `run_environment`.

    Raises:
        ValueError: if the run there was started with other settings, naming them.
    """
    path = folder / "settings.json"
    if path.exists():
        kept = read_json(
            path, "The settings of a run are a JSON object", {}, "Give another folder, or delete this one."
        )
        _require_equal("A run resumes with the settings it was started with", settings, kept, path)
    else:
        write_json(path, dict(settings))
    environments, here = _environments(folder), environment()
    if all({**other, "date": ""} != {**here, "date": ""} for other in environments):
        write_json(folder / ENVIRONMENTS_FILE, {"environments": [*environments, here]})
    return run_environment(folder)


def run_environment(folder: Path) -> dict[str, Any]:
    """The environment in which a run was started; under `resumed`, if there are any, those that continued it."""
    first, *others = _environments(folder)
    return {**first, "resumed": others} if others else first


def _environments(folder: Path) -> list[dict[str, Any]]:
    path = folder / ENVIRONMENTS_FILE
    if not path.exists():
        return []
    rule = "The environments of a run are a JSON list"
    remedy = "Give another folder, or delete it."
    listed = read_json(path, rule, {"environments": list}, remedy)["environments"]
    if not listed or not all(isinstance(one, dict) for one in listed):
        raise ValueError(f"{rule} of at least one. Received: {path} with {listed!r}. {remedy}")
    return listed


def sha256(*arrays: NDArray[Any]) -> str:
    """Digest of arrays in their order, with their shapes and types."""
    import numpy as np  # not for those who read records

    digest = hashlib.sha256()
    for array in arrays:
        digest.update(f"{array.dtype.str}{array.shape}".encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def _require_equal(rule: str, wanted: Mapping[str, Any], kept: Mapping[str, Any], path: Path) -> None:
    """Raises ValueError where `kept` differs; a setting that was not kept counts as equal, a digest does not."""
    plain = json.loads(json.dumps(wanted))
    differ = {
        name: value for name, value in plain.items() if kept.get(name, None if name in DIGESTS else value) != value
    }
    if differ:
        other = {name: kept.get(name) for name in differ}
        raise ValueError(f"{rule}. Received: {differ}, and {path} with {other}. Give another folder.")


def _versions(*packages: str) -> dict[str, str]:
    """Package -> its version, of those that are installed; this one may also be run from its source."""
    found = {"keras_interp_rnn": "source"}
    for package in packages:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[package] = importlib.metadata.version(package)
    return found


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
    """Number of processor cores available to this process."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine())
