"""How fast are the layers on the accelerator at hand, beside Keras's LSTM and GRU there and cuDNN's through torch?

Times forward passes and training steps, a row at a time, and prints each row as it is had. The rows that answer most
come first, and `--seconds` ends the run after the row that runs then. Training steps are those of `fit`, which sends
the next batch before the loss of the last one is back (torch: the same in a loop): the seconds of an epoch over its
steps. Next to them is a step whose loss is awaited, as by `train_on_batch`; a forward pass ends when all its logits
are in the computer's memory. Every network reads ids or embedded ids, so that the
products with the inputs count for all. Precisions hold for all networks alike: `float32` multiplies in float32, `tf32`
lets the chip round the factors of float32 products to 10 bits, `bfloat16` is Keras's policy mixed_bfloat16 (torch:
autocast), under which an ISAN computes in float32.

On the JAX backend Keras has cuDNN's LSTM alone (Keras 3.15), its GRU is a loop; where torch is installed with CUDA its
own layers are timed too, whatever the backend. The JSON file says on which chip the figures were had; where there is no
accelerator it says so and times the CPU.

    PYTHONPATH=. KERAS_BACKEND=jax python benchmarks/accelerator.py --tests --out accelerator.json
    PYTHONPATH=. KERAS_BACKEND=jax python benchmarks/accelerator.py --only "^ISAN" --batch 128 --seconds 60
    PYTHONPATH=. KERAS_BACKEND=jax python benchmarks/accelerator.py --smoke

The results, with hardware, date and commit, are in benchmarks/README.md.
"""

import argparse
import contextlib
import importlib
import itertools
import json
import os
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # torch needs some of the chip's memory too
with contextlib.suppress(ImportError):
    importlib.import_module("torch._dynamo")  # its triton 3.8 ends the process where TensorFlow 2.21 came before it
import keras
import numpy as np
from turns import in_turn

from benchmarks.environment import environment
from keras_interp_rnn import layers

SYMBOLS = 27
PRECISIONS = ("float32", "tf32", "bfloat16")
PATHS = ("static", "blocks", "dense", "stepwise")
EPOCH = 20
"""Steps of an epoch."""


class Steps(NamedTuple):
    """What is timed of a network."""

    forward: Callable[[], Any]
    training: Callable[[], Any]  # an epoch of EPOCH steps
    awaited: Callable[[], float]  # one step and its loss
    weights: int
    path: Callable[[], str]  # that a layer of this package took


class Sizes(NamedTuple):
    """Units of the networks; an ISAN and the large LSTM have about equally many weights."""

    isan: int = 216
    large: int = 550
    small: int = 256
    factors: int = 64


Maker = Callable[[int, int, str], Steps]  # of batch, length and precision


def networks(sizes: Sizes, accelerated: bool) -> dict[str, tuple[int, Maker]]:
    """By name: how late its rows come, and how it is made."""
    # On an accelerator cuDNN's LSTM or an error: Keras would fall back to its loop without a word.
    fused = {"use_cudnn": accelerated or "auto"}
    n, small, large = sizes.isan, sizes.small, sizes.large

    def of(layer: Callable[..., keras.layers.Layer], *arguments: Any, embedded: int = 0, **options: Any) -> Maker:
        return lambda *case: keras_steps(lambda: layer(*arguments, return_sequences=True, **options), embedded, *case)

    found = {
        f"ISAN({n}, {SYMBOLS})": (0, of(layers.ISAN, n, SYMBOLS)),
        f"LSTM({large})": (0, of(keras.layers.LSTM, large, embedded=SYMBOLS, **fused)),
        f"torch.nn.LSTM({large})": (0, lambda *case: torch_steps("LSTM", large, SYMBOLS, *case)),
        f"ISAN({n}, {SYMBOLS}), no constraint": (1, of(layers.ISAN, n, SYMBOLS, recurrent_constraint=None)),
        f"FactoredISAN({small}, {sizes.factors})": (
            1,
            of(layers.FactoredISAN, small, sizes.factors, vocabulary_size=SYMBOLS),
        ),
        f"torch.nn.GRU({small})": (1, lambda *case: torch_steps("GRU", small, small, *case)),
        f"torch.nn.LSTM({small})": (1, lambda *case: torch_steps("LSTM", small, small, *case)),
        f"LSTM({small})": (1, of(keras.layers.LSTM, small, embedded=small, **fused)),
        f"GRU({small})": (1, of(keras.layers.GRU, small, embedded=small)),
        f"MinimalRNN({small})": (1, of(layers.MinimalRNN, small, embedded=small)),
        f"CFN({small})": (1, of(layers.CFN, small, embedded=small)),
        f"SRGRU({small}, 10)": (1, of(layers.SRGRU, small, 10, embedded=small)),
        f"SRLSTM({small}, 10)": (1, of(layers.SRLSTM, small, 10, embedded=small)),
    }
    for path, symbols in itertools.product(PATHS, (SYMBOLS, 4, 2)):
        make = of(on_path, path, n, symbols)
        found[f"ISAN({n}, {symbols}), {path}"] = (2 if symbols == SYMBOLS else 3, make)
    return found


def on_path(path: str, units: int, symbols: int, **options: Any) -> layers.ISAN:
    """An ISAN that takes this path whatever the sizes."""
    layer = layers.ISAN(units, symbols, recurrent_constraint=None, **options)
    chosen = layer.path
    layer.path = lambda sequences: chosen(sequences)._replace(name=path)
    return layer


def read_and_predicted(batch: int, length: int, symbols: int = SYMBOLS) -> np.ndarray:
    return np.random.default_rng(0).integers(symbols, size=(2, batch, length)).astype("int32")


def keras_steps(
    recurrent: Callable[[], keras.layers.Layer], embedded: int, batch: int, length: int, precision: str
) -> Steps:
    """Of a network of Keras, compiled as `compile` does by default."""
    keras.config.set_dtype_policy("mixed_bfloat16" if precision == "bfloat16" else "float32")
    layer = recurrent()
    symbols = getattr(layer, "vocabulary_size", None) or SYMBOLS
    before = [keras.layers.Embedding(symbols, embedded)] if embedded else []
    inputs = keras.Input((length,), batch_size=batch, dtype="int32")
    model = keras.Sequential([inputs, *before, layer, keras.layers.Dense(symbols, dtype="float32")])
    model.compile(keras.optimizers.Adam(1e-3), keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    x, y = read_and_predicted(batch, length, symbols)
    epoch = np.concatenate([x] * EPOCH), np.concatenate([y] * EPOCH)
    return Steps(
        lambda: model.predict_on_batch(x)[0, 0, 0],
        lambda: model.fit(*epoch, batch_size=batch, verbose=0, shuffle=False),
        lambda: float(model.train_on_batch(x, y)),
        model.count_params(),
        lambda: getattr(layer, "chosen_path", ("",))[0],
    )


def torch_steps(kind: str, units: int, embedded: int, batch: int, length: int, precision: str) -> Steps:
    """Of torch's own layer, without Keras: cuDNN's, where torch has a GPU."""
    import torch

    device = "cuda" if torch.cuda.is_available() else "cpu"
    embedding = torch.nn.Embedding(SYMBOLS, embedded).to(device)
    recurrent = getattr(torch.nn, kind)(embedded, units, batch_first=True).to(device)
    readout = torch.nn.Linear(units, SYMBOLS).to(device)
    weights = [*embedding.parameters(), *recurrent.parameters(), *readout.parameters()]
    optimizer = torch.optim.Adam(weights, fused=device == "cuda")
    x, y = (torch.tensor(ids, dtype=torch.long) for ids in read_and_predicted(batch, length))

    def logits() -> Any:
        with torch.autocast(device, torch.bfloat16, enabled=precision == "bfloat16"):
            return readout(recurrent(embedding(x.to(device)))[0]).float()

    def forward() -> Any:
        with torch.no_grad():
            return logits().cpu()[0, 0, 0]

    def training() -> Any:
        optimizer.zero_grad(set_to_none=True)
        loss = torch.nn.functional.cross_entropy(logits().reshape(-1, SYMBOLS), y.to(device).reshape(-1))
        loss.backward()
        optimizer.step()
        return loss.detach()

    def epoch() -> float:
        for _ in range(EPOCH):
            loss = training()
        return float(loss)

    return Steps(forward, epoch, lambda: float(training()), sum(weight.numel() for weight in weights), str)


def set_precision(precision: str) -> None:
    """How all backends that are at hand multiply float32 numbers."""
    reduced = precision != "float32"
    with contextlib.suppress(ImportError):
        import torch

        torch.backends.cuda.matmul.allow_tf32 = reduced
        torch.backends.cudnn.allow_tf32 = reduced
    if keras.backend.backend() == "jax":
        import jax

        jax.config.update("jax_default_matmul_precision", "tensorfloat32" if reduced else "highest")
    elif keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        tf.config.experimental.enable_tensor_float_32_execution(reduced)


def cases(args: argparse.Namespace, known: dict[str, tuple[int, Maker]]) -> Iterator[tuple[str, int, str]]:
    """Names, batches and precisions, those first that stand first in their lists."""
    names = [name for name in known if not args.only or any(re.search(part, name) for part in args.only)]
    every = itertools.product(enumerate(args.precision), enumerate(args.batch), names)
    late = [(i + j + 1.5 * known[name][0], name, batch, precision) for (i, precision), (j, batch), name in every]
    for _, name, batch, precision in sorted(late, key=lambda case: case[0]):
        yield name, batch, precision


def row(make: Maker, batch: int, args: argparse.Namespace, precision: str) -> dict[str, Any]:
    """What was measured, or why nothing was."""
    started = time.perf_counter()
    set_precision(precision)
    try:
        steps = make(batch, args.length, precision)
        [awaited] = in_turn({"": steps.awaited}, args.rounds, warm_up=3).values()
        [epochs] = in_turn({"": steps.training}, max(1, args.rounds // 4)).values()
        training = [seconds / EPOCH for seconds in epochs]
        [forward] = in_turn({"": steps.forward}, args.rounds).values() if args.forward else [[float("nan")]]
    except Exception as error:  # another row may run
        return {"failed": f"{type(error).__name__}: {error}".splitlines()[0][:200]}
    finally:
        keras.utils.clear_session()
    return {
        "weights": steps.weights,
        "path": steps.path(),
        "forward_seconds": statistics.median(forward),
        "training_seconds": statistics.median(training),
        "training_seconds_of_rounds": training,
        "awaited_seconds": statistics.median(awaited),
        "row_seconds": time.perf_counter() - started,
    }


def as_line(name: str, batch: int, precision: str, found: dict[str, Any], length: int) -> str:
    if "failed" in found:
        return f"| {name} | {batch} | {precision} | not run: {found['failed']} |"
    rounds = found["training_seconds_of_rounds"]
    whole = 1000 * found["training_seconds"]
    return (
        f"| {name} | {batch} | {precision} | {found['path']} | {found['weights']:,} "
        f"| {1000 * found['forward_seconds']:.2f} | {whole:.2f} ({1000 * min(rounds):.2f} to {1000 * max(rounds):.2f}) "
        f"| {1000 * found['awaited_seconds']:.2f} "
        f"| {1000 * batch * length / whole:,.0f} |"
    )


def ratios(times: list[dict[str, Any]], sizes: Sizes) -> Iterator[str]:
    """How many times as long as cuDNN's layer the training steps of a network take, and of it as long as the network's.

    Beside an ISAN are the LSTMs of as many weights, beside a state-regularized layer and a MinimalRNN those of as many
    units.
    """
    had = [row for row in times if "failed" not in row]
    seconds = {(row["network"], row["batch"], row["precision"]): row for row in had}
    small = f"({sizes.small}"
    beside = {
        f"ISAN({sizes.isan}, {SYMBOLS})": [f"LSTM({sizes.large})", f"torch.nn.LSTM({sizes.large})"],
        f"SRGRU{small}, 10)": [f"torch.nn.GRU{small})"],
        f"SRLSTM{small}, 10)": [f"LSTM{small})", f"torch.nn.LSTM{small})"],
        f"MinimalRNN{small})": [f"torch.nn.GRU{small})"],
    }
    for (name, batch, precision), row in seconds.items():
        for other in beside.get(name, []):
            if of_other := seconds.get((other, batch, precision)):
                own, its = (x["training_seconds"] for x in (row, of_other))
                awaited = of_other["awaited_seconds"] / row["awaited_seconds"]
                yield (
                    f"{name}, batch {batch}, {precision}: {own / its:.2f} of the time of {other}, {its / own:.2f} "
                    f"times as fast ({awaited:.2f} with losses awaited)"
                )


def run_tests() -> str:
    """What pytest says of the core of the layers' tests here; exits if they fail."""
    command = [sys.executable, "-m", "pytest", "-q", "-m", "not matrix", "tests/layers", "tests/test_recurrence.py"]
    done = subprocess.run(command, cwd=Path(__file__).parents[1], capture_output=True, text=True)
    said = (done.stdout or done.stderr).strip().splitlines()[-1]
    print(f"Tests of the layers: {said}")
    if done.returncode:
        sys.exit(f"The tests of the layers failed (exit code {done.returncode}); nothing was timed.")
    return said


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tests", action="store_true", help="run the core of the layers' tests first")
    parser.add_argument("--only", nargs="+", help="networks whose names match one of these regular expressions")
    parser.add_argument("--batch", type=int, nargs="+", default=[128, 512, 2048, 32, 4096])
    parser.add_argument("--precision", nargs="+", choices=PRECISIONS, default=PRECISIONS)
    parser.add_argument("--length", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--forward", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="no row begins after so many")
    parser.add_argument("--out", help="a JSON file for the results")
    parser.add_argument("--smoke", action="store_true")
    args = parser.parse_args()
    sizes = Sizes()
    if args.smoke:
        args.batch, args.length, args.rounds, sizes = args.batch[:1], 6, 1, Sizes(6, 8, 8, 2)
        args.precision, args.batch = args.precision[:1], [4]
    tests = run_tests() if args.tests else None  # before this process takes the accelerator's memory
    started = time.perf_counter()
    record = {**environment(), "tests": tests, "length": args.length, "rounds": args.rounds, "times": []}
    print(f"{record['backend']} on {record['accelerator'] or 'the CPU: no accelerator is at hand'}.")
    print(f"{args.length} steps; ms, median of {args.rounds} rounds.\n")
    columns = "network | batch | precision | path | weights | forward | training step (epochs) | awaited | symbols/s"
    print(f"| {columns} |\n|{'---|' * 9}", flush=True)
    known = networks(sizes, bool(record["accelerator"]))
    if args.smoke:
        known = {name: made for name, made in known.items() if made[0] < 3}
    for name, batch, precision in cases(args, known):
        if time.perf_counter() - started > args.seconds:
            print(f"\n{args.seconds:.0f} seconds are over; the rows that are left were not run.")
            break
        found = row(known[name][1], batch, args, precision)
        print(as_line(name, batch, precision, found, args.length), flush=True)
        record["times"].append({"network": name, "batch": batch, "precision": precision, **found})
        if args.out:
            Path(args.out).write_text(json.dumps(record, indent=1, sort_keys=True) + "\n")
    print("\nTraining steps:", *ratios(record["times"], sizes), sep="\n- ")


if __name__ == "__main__":
    main()
