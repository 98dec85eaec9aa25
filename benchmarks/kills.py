"""What of the result is lost when a process is killed while it trains, repeats a table, or prepares data? Nothing.

Each task is done once without a kill. Then it is killed, begun again in the same folder, killed again, and at last left
alone; what it ends with must be what the undisturbed one ended with, to the bit. Moments are drawn uniformly from the
time that the task took after its imports, or from half of it where it goes on from where it was.
training: `fit` with `Resumable`; compared are weights, optimizer and history.
reproduction: `python -m examples.papers run sr-parentheses`, one row of it; compared is the record, except where and
    how long it ran.
data: `datasets.languages` prepared by TFDS, half of the time by two processes at once; compared are words and labels.

    python benchmarks/kills.py             # ten kills of each, about twenty minutes
    python benchmarks/kills.py --smoke     # one kill of training and of data

The results, with hardware, date and commit, are in benchmarks/README.md.
"""

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

ROW = "small-LSTM"
"""Of the experiment `sr-parentheses`, which learns it in less than a minute."""

TRAINING = """
import hashlib, sys, time
import keras, numpy as np
from keras_interp_rnn import callbacks, datasets, layers, losses
print("started", flush=True)
keras.config.disable_interactive_logging()
keras.utils.set_random_seed(0)
windows = datasets.Windows(np.random.default_rng(0).integers(0, 27, 3_000), 4, length=20)
resumable = callbacks.Resumable(sys.argv[1], "loss", mode="min")
model = resumable.load()
if model is None:
    inputs = keras.Input((20,), batch_size=4, dtype="int32")
    model = keras.Sequential([inputs, layers.ISAN(16, 27, return_sequences=True), keras.layers.Dense(27)])
    model.compile(keras.optimizers.Adam(1e-3), losses.BitsPerSymbol())
pause = keras.callbacks.LambdaCallback(on_train_batch_end=lambda batch, logs: time.sleep(0.005))
last = int(sys.argv[2])
model.fit(windows, epochs=last, initial_epoch=resumable.epoch, shuffle=False, verbose=0, callbacks=[resumable, pause])
digest = hashlib.sha256()
model = resumable.load()
for variable in (*model.variables, *model.optimizer.variables):
    digest.update(keras.ops.convert_to_numpy(variable).tobytes())
history = [{name: value for name, value in logs.items() if name != "seconds"} for logs in resumable.history]
print("ends with", digest.hexdigest(), len(history), history)
"""

DATA = """
import hashlib, sys
from keras_interp_rnn import datasets
import tensorflow_datasets as tfds
print("started", flush=True)
words = datasets.languages.builder("tomita_4", data_dir=sys.argv[1]).as_dataset("train", shuffle_files=False)
read = [(word["word"], bool(word["label"])) for word in tfds.as_numpy(words)]
print("ends with", len(read), hashlib.sha256(repr(read).encode()).hexdigest())
"""


class Task(NamedTuple):
    """How a process does it in a folder.

    Attributes:
        command: of a folder. started: how the line begins that it prints when it is about to work.
        result: of a folder and what the process printed; what has to be the same.
        part: of its time, in which kills fall. processes: how many do it at once, every other time.
    """

    command: Callable[[Path], list[str]]
    started: str
    result: Callable[[Path, str], str]
    part: float
    processes: int = 1


def reproduce(folder: Path) -> list[str]:
    command = ["-m", "examples.papers", "run", "sr-parentheses", "--rows", ROW]
    return [*command, *(f"--{n}={folder / n}" for n in ("runs", "records"))]


def record(folder: Path, said: str) -> str:
    """The record, but for when, where and how long it ran."""

    def plain(part: object) -> object:
        if isinstance(part, dict):
            return {name: plain(one) for name, one in part.items() if name not in ("environment", "seconds")}
        return [plain(one) for one in part] if isinstance(part, list) else part

    file = folder / "records" / "sr-parentheses.jsonl"
    return json.dumps(plain(json.loads(file.read_text())), sort_keys=True) if file.exists() else said[-2000:]


def last_line(folder: Path, said: str) -> str:
    """What it ends with, or its last messages."""
    return next((line for line in said.splitlines() if line.startswith("ends with")), said[-2000:])


TASKS = {
    "training": Task(lambda folder: ["-c", TRAINING, str(folder), "12"], "started", last_line, 0.5),
    "reproduction": Task(reproduce, "[1 of 1]", record, 0.5),
    "data": Task(lambda folder: ["-c", DATA, str(folder)], "started", last_line, 0.5, 2),
}


def begun(task: Task, folder: Path) -> subprocess.Popen:
    environment = {**os.environ, "KERAS_BACKEND": "tensorflow", "TF_CPP_MIN_LOG_LEVEL": "3"}
    command = [sys.executable, *task.command(folder)]
    process = subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    )
    said = ""
    for line in process.stdout:
        said += line
        if line.startswith(task.started):
            return process
    sys.exit(f"It did not begin:\n{said}")


def ended(task: Task, folder: Path) -> str:
    process = begun(task, folder)
    return task.result(folder, process.communicate()[0])


def trial(task: Task, kills: int, folder: Path, seconds: float, moments: random.Random) -> tuple[str, int]:
    """Kills a task `kills` times, then lets it end; returns what it ends with, and how often the kill came in time."""
    fell = 0
    for number in range(kills):
        processes = [begun(task, folder) for _ in range(1 + number % task.processes)]
        time.sleep(moments.uniform(0, seconds))
        for process in processes:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                fell += 1
            process.communicate()
    return ended(task, folder), fell


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=[*TASKS])
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--folders", type=int, default=5, help="in each of which a task begins anew")
    parser.add_argument("--smoke", action="store_true", help="one kill of training and of data")
    args = parser.parse_args()
    kills, folders = (1, 1) if args.smoke else (args.kills, args.folders)
    moments = random.Random(0)
    print("| task | seconds of one without kills | kills while it ran | ends with the same |")
    print("|---|---|---|---|")
    lost = []
    for name, task in TASKS.items():
        if args.only not in (None, name) or (args.smoke and name == "reproduction"):
            continue
        with tempfile.TemporaryDirectory(prefix="kills-") as root:
            if not args.smoke:
                ended(task, Path(root) / "first")  # makes the words
            start = time.monotonic()
            whole = ended(task, Path(root) / "whole")
            seconds = time.monotonic() - start
            results: list[tuple[str, int]] = []
            while sum(fell for _, fell in results) < kills and len(results) < 5 * folders:
                folder = Path(root) / str(len(results))
                results.append(trial(task, kills // folders, folder, task.part * seconds, moments))
        if not whole.startswith(("ends with", "{")):
            sys.exit(f"{name} fails without kills:\n{whole}")
        lost += [f"{name}: {result}\nin place of {whole}" for result, _ in results if result != whole]
        same = sum(result == whole for result, _ in results)
        fell = sum(fell for _, fell in results)
        print(f"| {name} | {seconds:.1f} | {fell} | {same} of {len(results)} folders |", flush=True)
    if lost:
        sys.exit("\n".join(lost))


if __name__ == "__main__":
    main()
