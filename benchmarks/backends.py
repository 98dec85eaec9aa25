"""How fast do the layers train on each backend, beside Keras's layers there and torch's own?

A process for each backend holds its models; one training step of one model at a time is asked for, in turn over models
and backends, round after round, so that a noisy machine is noisy to all. Medians over the rounds.
Text: an ISAN beside LSTMs of as many weights, the next character predicted at every step, Adam with clipping.
Sequences: MinimalRNN and CFN beside GRUs of as many units, over embedded items, the last state read, Adam.
Keras's models are trained by `train_on_batch` as `compile()` leaves them, torch's by the usual loop.

    python benchmarks/backends.py                                  # all that are installed, twenty minutes on two cores
    python benchmarks/backends.py --backends torch --batch 128
    python benchmarks/backends.py --one-thread                     # processor seconds, beside other work
    python benchmarks/backends.py --smoke

The results, with hardware, date and commit, are in benchmarks/README.md.
"""

import argparse
import importlib.util
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

BACKENDS = ("tensorflow", "jax", "torch")
SYMBOLS, ITEMS = 27, 1000
PAUSE = 0.3  # seconds in which the threads of the last step stop waiting for work
ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "TF_NUM_INTRAOP_THREADS": "1",
    "TF_NUM_INTEROP_THREADS": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false",
}
TABLES = {"text": "LSTM", "sequences": "GRU"}
"""Each with the kind of layer that it is compared with."""


def sizes(smoke: bool) -> dict[str, int]:
    if smoke:
        return {"length": 6, "units": 12, "lstm_units": 10, "gated_units": 8}
    return {"length": 100, "units": 216, "lstm_units": 550, "gated_units": 256}


def models_of_text(batch: int, length: int, units: int, lstm_units: int, **_: int) -> dict[str, Callable[[], Any]]:
    import keras
    import numpy as np

    from keras_interp_rnn import datasets, layers, losses

    windows = datasets.Windows(datasets.text.python_documentation(), batch, length=length)
    x, y = windows[0]

    def trained(*parts: keras.layers.Layer) -> Callable[[], Any]:
        model = keras.Sequential(
            [keras.Input((length,), batch_size=batch, dtype="int32"), *parts, keras.layers.Dense(SYMBOLS)]
        )
        model.compile(keras.optimizers.Adam(1e-3, global_clipnorm=1.44), losses.BitsPerSymbol())
        return lambda: model.train_on_batch(x, y)

    one_hot = keras.layers.Embedding(SYMBOLS, SYMBOLS, embeddings_initializer="identity", trainable=False)
    found = {
        f"ISAN({units})": trained(layers.ISAN(units, SYMBOLS, return_sequences=True)),
        f"Keras LSTM({lstm_units})": trained(one_hot, keras.layers.LSTM(lstm_units, return_sequences=True)),
    }
    if keras.backend.backend() == "torch":
        import torch

        ids, targets = (torch.tensor(np.asarray(a)).long() for a in (x, y))
        lstm, readout = torch.nn.LSTM(SYMBOLS, lstm_units, batch_first=True), torch.nn.Linear(lstm_units, SYMBOLS)
        weights = [*lstm.parameters(), *readout.parameters()]

        def loss() -> Any:
            states, _ = lstm(torch.nn.functional.one_hot(ids, SYMBOLS).float())
            return torch.nn.functional.cross_entropy(readout(states).flatten(0, 1), targets.flatten())

        found[f"torch.nn.LSTM({lstm_units})"] = by_hand(loss, weights, clip=1.44)
    return found


def models_of_sequences(batch: int, length: int, gated_units: int, **_: int) -> dict[str, Callable[[], Any]]:
    import keras
    import numpy as np

    from keras_interp_rnn import layers

    rng = np.random.default_rng(0)
    x, y = rng.integers(ITEMS, size=(batch, length)), rng.normal(size=(batch, 1)).astype("float32")

    def trained(kind: Any) -> Callable[[], Any]:
        parts = [keras.layers.Embedding(ITEMS, gated_units), kind(gated_units), keras.layers.Dense(1)]
        model = keras.Sequential([keras.Input((length,), batch_size=batch, dtype="int32"), *parts])
        model.compile("adam", "mse")
        return lambda: model.train_on_batch(x, y)

    kinds = {"MinimalRNN": layers.MinimalRNN, "CFN": layers.CFN, "Keras GRU": keras.layers.GRU}
    found = {f"{name}({gated_units})": trained(kind) for name, kind in kinds.items()}
    if keras.backend.backend() == "torch":
        import torch

        ids, targets = torch.tensor(x), torch.tensor(y)
        table = torch.nn.Embedding(ITEMS, gated_units)
        gru, readout = torch.nn.GRU(gated_units, gated_units, batch_first=True), torch.nn.Linear(gated_units, 1)
        weights = [*table.parameters(), *gru.parameters(), *readout.parameters()]

        def loss() -> Any:
            return torch.nn.functional.mse_loss(readout(gru(table(ids))[0][:, -1]), targets)

        found[f"torch.nn.GRU({gated_units})"] = by_hand(loss, weights)
    return found


def by_hand(loss: Callable[[], Any], weights: list, clip: float | None = None) -> Callable[[], Any]:
    """A training step as users of torch write it."""
    import torch

    optimizer = torch.optim.Adam(weights, 1e-3)

    def step() -> float:
        optimizer.zero_grad()
        value = loss()
        value.backward()
        if clip is not None:
            torch.nn.utils.clip_grad_norm_(weights, clip)
        optimizer.step()
        return value.item()

    return step


def work(table: str, batch: int, smoke: bool, processor: bool) -> None:
    """What a process does: names its models, then runs one step of each that it is told."""
    models = {"text": models_of_text, "sequences": models_of_sequences}[table](batch, **sizes(smoke))
    print("models", *models, sep="\t", flush=True)
    clock = time.process_time if processor else time.perf_counter
    for line in sys.stdin:
        step = models[line.strip()]
        start = clock()
        step()
        print("seconds", clock() - start, sep="\t", flush=True)


class Process:
    """The models of one backend, in a process of their own."""

    def __init__(self, backend: str, table: str, batch: int, smoke: bool, one_thread: bool) -> None:
        flags = [*(["--smoke"] if smoke else []), *(["--one-thread"] if one_thread else [])]
        command = [sys.executable, __file__, "--worker", table, "--batch", str(batch), *flags]
        environment = {**os.environ, "KERAS_BACKEND": backend, "TF_CPP_MIN_LOG_LEVEL": "3"}
        environment |= ONE_THREAD if one_thread else {}
        self.process = subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.models = self.answer("models")

    def answer(self, to: str) -> list[str]:
        for line in self.process.stdout or ():
            word, *rest = line.rstrip("\n").split("\t")
            if word == to:
                return rest
        raise SystemExit(f"the process ended with {self.process.wait()}")

    def seconds(self, model: str) -> float:
        assert self.process.stdin is not None
        self.process.stdin.write(model + "\n")
        self.process.stdin.flush()
        return float(self.answer("seconds")[0])

    def end(self) -> None:
        self.process.communicate()


def compare(
    backends: list[str], table: str, batch: int, rounds: int, smoke: bool, one_thread: bool, skip: list[str]
) -> None:
    processes = {backend: Process(backend, table, batch, smoke, one_thread) for backend in backends}
    try:
        models = [
            (backend, model)
            for backend, process in processes.items()
            for model in process.models
            if not model.startswith(tuple(skip))
        ]
        times: dict[tuple[str, str], list[float]] = {model: [] for model in models}
        for turn in range(2 + rounds):
            for backend, model in models if turn % 2 else models[::-1]:
                time.sleep(0 if smoke else PAUSE)
                times[backend, model].append(processes[backend].seconds(model))
    finally:
        for process in processes.values():
            process.end()
    times = {model: seconds[2:] for model, seconds in times.items()}
    length = sizes(smoke)["length"]
    print(f"\n{table}, batch {batch}, {length} steps, median of {rounds} rounds; times as fast, round by round:\n")
    print(f"| backend | model | ms | symbols/s | than Keras's {TABLES[table]} there | than torch.nn.{TABLES[table]} |")
    print("|---|---|---|---|---|---|")
    for (backend, model), seconds in times.items():
        median = statistics.median(seconds)
        row = [backend, model, f"{1000 * median:.0f}", f"{batch * length / median:,.0f}"]
        for rival in (f"Keras {TABLES[table]}", f"torch.nn.{TABLES[table]}"):
            theirs = next((s for (b, m), s in times.items() if m.startswith(rival + "(") and b == backend), None)
            row.append(
                f"{statistics.median(a / b for a, b in zip(theirs, seconds, strict=True)):.2f}" if theirs else ""
            )
        print(f"| {' | '.join(row)} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    installed = [name for name in BACKENDS if importlib.util.find_spec(name)]
    parser.add_argument("--backends", nargs="+", choices=BACKENDS, default=installed, help="default: all installed")
    parser.add_argument("--tables", nargs="+", choices=list(TABLES), default=list(TABLES))
    parser.add_argument("--batch", type=int, nargs="+", default=[128, 512])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--one-thread", action="store_true", help="processor seconds: for a machine that is busy")
    parser.add_argument("--skip", nargs="+", default=[], help="models, by the beginnings of their names")
    parser.add_argument("--smoke", action="store_true", help="tiny sizes, seconds")
    parser.add_argument("--worker", choices=list(TABLES), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.worker:
        work(args.worker, args.batch[0], args.smoke, args.one_thread)
        return
    for table in args.tables:
        for batch in [4] if args.smoke else args.batch:
            compare(
                args.backends, table, batch, 1 if args.smoke else args.rounds, args.smoke, args.one_thread, args.skip
            )


if __name__ == "__main__":
    main()
