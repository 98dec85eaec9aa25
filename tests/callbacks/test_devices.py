"""Every callback on several devices: the weights are those that one device gives."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.matrix  # each place is a process that trains with every callback

SCRIPT = Path(__file__).with_name("on_devices.py")
CALLBACKS = (
    "Attributions Automaton CarriedState Contributions JacobianHistograms Resumable ShapleyValues Stability "
    "Substitutions TemperatureSchedule Traces TransitionProbabilities"
).split()
WRITE_NOTHING = {"CarriedState", "Resumable", "TemperatureSchedule"}
TENSORFLOW = ["tensorflow-mirrored-2", "tensorflow-mirrored-3"]
JAX = ["jax-data-2", "jax-model-2"]


@pytest.fixture(scope="module")
def names(request):
    """The callbacks that the chosen tests ask for."""
    parameters = (getattr(item, "callspec", None) for item in request.session.items if item.path == request.path)
    return sorted({found.params["callback"] for found in parameters if found} or CALLBACKS)


@pytest.fixture(scope="module")
def folder_of(tmp_path_factory, names):
    """Place -> the folder that `on_devices.py` filled there, once."""
    folders = {}

    def run(place):
        if place not in folders:
            folders[place] = tmp_path_factory.mktemp(place)
            backend, _, where = place.partition("-")
            flags = f"--xla_force_host_platform_device_count={where[-1]}"
            environment = {"KERAS_BACKEND": backend, "JAX_PLATFORMS": "cpu", "XLA_FLAGS": flags}
            command = [sys.executable, str(SCRIPT), where, str(folders[place]), *names]
            subprocess.run(command, check=True, timeout=600, env={**os.environ, **environment})
        return folders[place]

    return run


def weights(folder, callback):
    complaint = folder / f"{callback}.txt"
    assert not complaint.exists(), complaint.read_text()
    with np.load(folder / f"{callback}.npz") as found:
        return [found[name] for name in found.files]


def check(folder_of, callback, place, one):
    for found, expected in zip(weights(folder_of(place), callback), weights(folder_of(one), callback), strict=True):
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)


def number_of_events(folder):
    return sorted(path.parent.name for path in (folder / "logs").rglob("events.*"))


@pytest.mark.parametrize("callback", CALLBACKS)
@pytest.mark.parametrize("place", TENSORFLOW)
def test_replicas_of_tensorflow_reach_the_weights_of_one_device(folder_of, callback, place):
    check(folder_of, callback, place, "tensorflow-one-1")


@pytest.mark.skipif(importlib.util.find_spec("jax") is None, reason="JAX is not installed")
@pytest.mark.parametrize("callback", CALLBACKS)
@pytest.mark.parametrize("place", JAX)
def test_devices_of_jax_reach_the_weights_of_one_device(folder_of, callback, place):
    check(folder_of, callback, place, "jax-one-1")


def test_a_callback_logs_once_whatever_the_number_of_replicas(folder_of, names):
    assert number_of_events(folder_of(TENSORFLOW[0])) == number_of_events(folder_of("tensorflow-one-1"))
    assert len(number_of_events(folder_of(TENSORFLOW[0]))) == len(set(names) - WRITE_NOTHING)
