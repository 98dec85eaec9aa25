"""One record per run, a line of JSON in its experiment's file: what was trained on what, where, for how long, with what
result."""

from __future__ import annotations

import contextlib
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

from examples.papers._files import parsed, read_json, write_json, write_text

FORMAT = 1
"""The format of the records; a reader refuses a later one."""

ENVIRONMENTS_FILE = "environments.json"
"""In the folder of a run: every environment it was trained in."""

PARTS = ("data", "model", "protocol", "result", "environment")
"""Parts of a record, each an object where a record has it."""

DIGESTS = ("sha256", "text_sha256")
"""Names of the data's digest: a record has one of these, unless its experiment reads no data."""


def environment() -> dict[str, Any]:
    """Date, code commit, versions, Keras's backend and hardware of this process."""
    import keras  # not for those who read records

    backend = keras.backend.backend()
    versions = {"keras_interp_rnn": "source"}
    for package in ("keras_interp_rnn", "tensorflow", "keras", "numpy", backend):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            versions[package] = importlib.metadata.version(package)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return {
        "date": datetime.now(timezone.utc).strftime("%Y-%m-%d"),
        "commit": _commit(),
        "python": platform.python_version(),
        "versions": versions,
        "backend": backend,
        "hardware": f"{cores} cores of {_processor()}",
        "accelerator": _accelerator(backend),
    }


def path_of(folder: Path, experiment: str) -> Path:
    return folder / f"{experiment}.jsonl"


def append(folder: Path, record: Mapping[str, Any]) -> dict[str, Any]:
    """Adds a record to its experiment's file, in place of one of the same `run`; returns the line's content.

    The present environment is added unless the record has one. A new line is written by one call, so that runs side by
    side do not disturb each other.
    """
    missing = {} if "environment" in record else {"environment": environment()}
    whole = {"format": FORMAT, **missing, **record}
    path, line = path_of(folder, whole["experiment"]), json.dumps(whole, sort_keys=True) + "\n"
    before = read(path) if path.exists() else []
    others = [other for other in before if other["run"] != whole["run"]]
    if len(others) < len(before):
        write_text(path, "".join([*(json.dumps(other, sort_keys=True) + "\n" for other in others), line]))
    else:
        folder.mkdir(parents=True, exist_ok=True)
        with path.open("ab") as file:
            file.write(line.encode())
    return whole


def read(path: Path) -> list[dict[str, Any]]:
    """Reads the records of a file, one a line.

    Raises:
        ValueError: if a line is not a record, or one of a later format.
    """
    records = []
    for number, line in enumerate(path.read_bytes().splitlines(), 1):
        place = f"{path}, line {number},"
        record = parsed(line, place, "Remove the line.", experiment=str, run=str)
        others = [name for name in PARTS if not isinstance(record.get(name, {}), dict)]
        if others:
            raise ValueError(
                f"{', '.join(others)} of a record must be objects. Received: {path}, line {number}. Remove the line."
            )
        if record.get("format", 1) != FORMAT:
            raise ValueError(
                f"The format of a record must be {FORMAT}. Received: {place} of format {record['format']!r}. Check out "
                "the version that wrote it."
            )
        records.append(record)
    return records


def has_digest(record: Mapping[str, Any]) -> bool:
    return bool(set(DIGESTS) & set(record.get("data", {})))


def find(folder: Path, experiment: str, run: str) -> dict[str, Any] | None:
    """The record of a run that has finished; None if there is none."""
    path = path_of(folder, experiment)
    return next((record for record in read(path) if record["run"] == run), None) if path.exists() else None


def require_equal(record: Mapping[str, Any], place: Path, **expected: Mapping[str, Any]) -> None:
    """Raises ValueError if a finished record differs from what its run would write now: name of a part -> the part."""
    for part, values in expected.items():
        _require_equal("A finished run is taken over if it has the same settings", values, record.get(part, {}), place)


def start_run(folder: Path, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Writes into the folder of a run what its training depends on and where it runs; returns `run_environment`.

    Raises:
        ValueError: if the run there was started with other settings, naming them.
    """
    path = folder / "settings.json"
    if path.exists():
        before = read_json(path, "Give another folder, or delete this one.")
        _require_equal("A run resumes with the settings it was started with", settings, before, path)
    else:
        write_json(path, settings)
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
    return list(read_json(path, "Give another folder, or delete it.", environments=list)["environments"])


def sha256(*arrays: Any) -> str:
    """Digest of arrays in their order, with their shapes and types."""
    import numpy as np  # not for those who read records

    digest = hashlib.sha256()
    for array in arrays:
        digest.update(f"{array.dtype.str}{array.shape}".encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def _require_equal(rule: str, expected: Mapping[str, Any], before: Mapping[str, Any], path: Path) -> None:
    """Raises ValueError where `before` differs; a setting that it lacks counts as equal, a digest does not."""
    plain = json.loads(json.dumps(expected))
    differ = {
        name: value for name, value in plain.items() if before.get(name, None if name in DIGESTS else value) != value
    }
    if differ:
        other = {name: before.get(name) for name in differ}
        raise ValueError(f"{rule}. Received: {differ}, and {path} with {other}. Give another folder.")


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


def _accelerator(backend: str) -> str:
    """The name of the accelerator that Keras's backend uses; "" for none."""
    if backend == "jax":
        import jax

        device = jax.devices()[0]
        return "" if device.platform == "cpu" else str(device.device_kind)
    if backend == "torch":
        import torch

        return str(torch.cuda.get_device_name()) if torch.cuda.is_available() else ""
    import tensorflow as tf

    devices = tf.config.list_physical_devices("GPU")
    return str(tf.config.experimental.get_device_details(devices[0]).get("device_name", "a GPU")) if devices else ""


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine())
