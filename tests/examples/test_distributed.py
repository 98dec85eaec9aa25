"""Data-parallel training gives the network that one worker gives, and a worker that was killed goes on."""

import importlib.util
import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.matrix

SCRIPT = Path(__file__).parents[2] / "examples" / "distributed.py"
EVERY = 5
"""Steps between checkpoints, the first one after a step."""

ON_JAX = """
import keras
import numpy as np
from keras_interp_rnn import datasets, layers, losses

keras.distribution.set_distribution(keras.distribution.DataParallel())
keras.utils.set_random_seed(0)
ids = keras.Input((20,), dtype="int32")
model = keras.Model(ids, keras.layers.Dense(27)(layers.ISAN(8, 27, return_sequences=True)(ids)))
model.compile(keras.optimizers.SGD(0.5), losses.BitsPerSymbol())
windows = datasets.Windows(datasets.text.python_documentation(), 8, length=20)
for i in range(12):
    model.train_on_batch(*windows[i])
print(len(model.trainable_variables[0].value.sharding.device_set))
np.savez("weights-0.npz", *model.get_weights())
"""
"""Keras's own step on all devices of a process."""

ON_JAX_PROCESSES = """
import pathlib, shutil, sys
import keras
import numpy as np

worker, workers, epochs = int(sys.argv[1]), sys.argv[2].split(","), int(sys.argv[3])
if len(workers) > 1:
    keras.distribution.initialize(",".join(workers), len(workers), worker)
    keras.distribution.set_distribution(keras.distribution.DataParallel(auto_shard_dataset=False))

from keras_interp_rnn import callbacks, datasets, layers, losses

class Part(keras.utils.PyDataset):
    windows = datasets.Windows(datasets.text.python_documentation(), 8, length=20)

    def __len__(self):
        return 5

    def __getitem__(self, i):
        return tuple(array[worker :: len(workers)] for array in self.windows[i])

run, first = pathlib.Path(f"worker-{worker}"), pathlib.Path("worker-0")
if worker and first.is_dir():
    shutil.rmtree(run, ignore_errors=True)
    shutil.copytree(first, run)
resumable = callbacks.Resumable(run, "loss")
model = resumable.load()
print(f"resumes after epoch {resumable.epoch}", flush=True)
if model is None:
    keras.utils.set_random_seed(0)
    ids = keras.Input((20,), dtype="int32")
    isan = layers.ISAN(8, 27, return_sequences=True)
    model = keras.Model(ids, keras.layers.Dense(27)(isan(ids)))
    model.compile(keras.optimizers.SGD(0.5), losses.BitsPerSymbol())
begin = resumable.epoch
model.fit(Part(), epochs=epochs, initial_epoch=begin, shuffle=False, verbose=0, callbacks=[resumable])
np.savez(f"weights-{worker}.npz", *model.get_weights())
"""
"""`fit` in several processes, each of which reads its part of every batch; all resume where the first one was."""


def start(folder, steps, *more, **environment):
    command = [sys.executable, str(SCRIPT), "--steps", str(steps), "--run", str(folder), *more]
    return subprocess.Popen(command, env={**os.environ, **environment}, stdout=subprocess.PIPE, text=True)


def workers():
    """Two addresses on this machine."""
    with socket.socket() as one, socket.socket() as other:
        for free in (one, other):
            free.bind(("127.0.0.1", 0))
        return [f"127.0.0.1:{free.getsockname()[1]}" for free in (one, other)]


def pair(folder, steps, addresses):
    return [start(folder, steps, "--workers", *addresses, "--worker", str(i)) for i in (0, 1)]


def finish(*processes):
    said = [process.communicate(timeout=300)[0] for process in processes]
    assert all(process.returncode == 0 for process in processes), said
    return said


def weights(folder, worker=0):
    with np.load(Path(folder) / f"weights-{worker}.npz") as found:
        return [found[name] for name in found.files]


def equal(one, other):
    for a, b in zip(one, other, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


@pytest.mark.skipif("os.environ.get('KERAS_BACKEND', 'tensorflow') != 'tensorflow'")
def test_two_workers_reach_the_weights_of_one_with_the_whole_batch_also_after_a_kill(tmp_path):
    finish(start(tmp_path / "one", 100))
    finish(*pair(tmp_path / "two", 100, workers()))
    equal(weights(tmp_path / "one"), weights(tmp_path / "two"))
    equal(weights(tmp_path / "two", 0), weights(tmp_path / "two", 1))
    # The second is killed after a checkpoint, far from the end; the first cannot go on without it, and saves no more.
    killed = pair(tmp_path / "killed", 100_000, workers())
    deadline = time.monotonic() + 120
    while not (tmp_path / "killed" / "worker-0" / "checkpoint").exists() and time.monotonic() < deadline:
        time.sleep(0.1)
    for process in reversed(killed):
        process.send_signal(signal.SIGKILL)
        process.communicate()
    checkpoints = (tmp_path / "killed" / "worker-0").glob("*.index")
    done = 1 + EVERY * (int(max(checkpoints, key=os.path.getmtime).stem.split("-")[1]) - 1)
    for said in finish(*pair(tmp_path / "killed", done + 7, workers())):
        assert f"resumes after step {done}\n" in said
    finish(start(tmp_path / "whole", done + 7))
    equal(weights(tmp_path / "whole"), weights(tmp_path / "killed"))


@pytest.mark.skipif(importlib.util.find_spec("jax") is None, reason="JAX is not installed")
def test_two_jax_devices_reach_the_weights_of_one(tmp_path):
    for devices in (1, 2):
        (tmp_path / str(devices)).mkdir()
        flags = f"--xla_force_host_platform_device_count={devices}"
        environment = {**os.environ, "KERAS_BACKEND": "jax", "XLA_FLAGS": flags}
        [said] = finish(
            subprocess.Popen(
                [sys.executable, "-c", ON_JAX],
                cwd=tmp_path / str(devices),
                env=environment,
                stdout=subprocess.PIPE,
                text=True,
            )
        )
        assert said == f"{devices}\n"
    equal(weights(tmp_path / "1"), weights(tmp_path / "2"))


def on_jax(folder, epochs, addresses=("one",)):
    """A process for each address."""
    folder.mkdir(exist_ok=True)
    return [
        subprocess.Popen(
            [sys.executable, "-c", ON_JAX_PROCESSES, str(worker), ",".join(addresses), str(epochs)],
            cwd=folder,
            env={**os.environ, "KERAS_BACKEND": "jax", "JAX_PLATFORMS": "cpu"},
            stdout=subprocess.PIPE,
            text=True,
        )
        for worker in range(len(addresses))
    ]


@pytest.mark.skipif(importlib.util.find_spec("jax") is None, reason="JAX is not installed")
def test_two_jax_processes_reach_the_weights_of_one_also_after_a_kill(tmp_path):
    killed = on_jax(tmp_path / "two", 100_000, workers())
    progress = tmp_path / "two" / "worker-0" / "progress.json"
    deadline = time.monotonic() + 120
    while not progress.exists() and time.monotonic() < deadline:
        time.sleep(0.1)
    for process in reversed(killed):
        process.send_signal(signal.SIGKILL)
        process.communicate()
    done = len(json.loads(progress.read_text())["history"])
    for said in finish(*on_jax(tmp_path / "two", done + 2, workers())):
        assert said.endswith(f"resumes after epoch {done}\n")  # after what gloo says
    finish(*on_jax(tmp_path / "one", done + 2))
    equal(weights(tmp_path / "one"), weights(tmp_path / "two"))
    equal(weights(tmp_path / "two", 0), weights(tmp_path / "two", 1))
