"""Where and when a benchmark ran, for its record."""

import importlib.metadata
import os
import platform
import subprocess
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import keras


def environment() -> dict[str, Any]:
    """Date, code commit, versions, Keras's backend and hardware of this process."""
    commit = subprocess.run(
        ["git", "describe", "--always", "--dirty=+", "--abbrev=12"],
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
        check=False,
    ).stdout.strip()
    return {
        "date": datetime.now(timezone.utc).strftime("%Y-%m-%d"),
        "commit": commit,
        "python": platform.python_version(),
        "versions": {name: importlib.metadata.version(name) for name in ("keras", "numpy", "tensorflow")},
        "backend": keras.backend.backend(),
        "hardware": f"{os.cpu_count()} cores of {_processor()}",
        "accelerator": _accelerator(keras.backend.backend()),
    }


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
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(": ")[2] for line in lines if line.startswith("model name")), platform.processor())
