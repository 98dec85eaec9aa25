"""Languages that need a memory: LSTMs with and without peepholes and centroids learn parentheses and palindromes.

One protocol for every network (Wang, Lawrence and Niepert, 2022, section 5.2): symbols are embedded and read in order,
an end token last, from short words to long ones, and the weights that do best on the validation words are kept.
"""

from __future__ import annotations

import argparse
import itertools
import math
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import keras
import numpy as np

from keras_interp_rnn import layers
from keras_interp_rnn._progress import say
from keras_interp_rnn.automata import WordEncoding
from keras_interp_rnn.datasets import LabelledWords
from keras_interp_rnn.reproduce import records, training
from keras_interp_rnn.reproduce.networks import LANGUAGES, usual_passes

PARENTHESES = (
    "test_d1_10_l100",
    "test_d10_20_l100",
    "test_d10_20_l200",
    "test_d5_l200",
    "test_d10_l200",
    "test_d20_l1000",
)
PALINDROMES = ("test_l100", "test_l200", "test_l500")
"""Test sets, in the order of the paper's tables 1 and 3."""

STEPS = 16
"""Training steps in one execution."""

SYMBOLS = 1 << 15
"""Words times their length judged at a time."""


def network(kind: str, symbols: int, units: int, centroids: int, seed: int) -> keras.Model:
    """One of `networks.LANGUAGES` over ids of words of so many symbols, with a start and an end token, to a logit.

    Centroids are drawn from U(-0.5, 0.5), and the end token's step goes without them (section 4.4).
    """
    keras.utils.set_random_seed(seed)
    if kind not in LANGUAGES:
        raise ValueError(f"The networks are {LANGUAGES}. Received: {kind!r}.")
    peephole = kind.endswith("-P")
    if kind.startswith("SR"):
        made = layers.SRPeepholeLSTM if peephole else layers.SRLSTM
        recurrent = made(units, centroids, regularize_last_step=False, name="recurrent")
    else:
        recurrent = (layers.PeepholeLSTM if peephole else keras.layers.LSTM)(units, name="recurrent")
    ids = WordEncoding.with_tokens(range(symbols), start=True, end=True).size
    return keras.Sequential(
        [
            keras.Input((None,), dtype="int32"),
            keras.layers.Embedding(ids, units, mask_zero=True),
            recurrent,
            keras.layers.Dense(1, kernel_regularizer=keras.regularizers.L2(5e-4)),
        ]
    )


def nearly_one_length(words: LabelledWords) -> LabelledWords:
    """Those of 15 to 20 symbols: `train` compiles for one shape, not for three, which takes most of a trial run."""
    kept = np.array([15 <= len(word) <= 20 for word in words.words])
    return LabelledWords(tuple(itertools.compress(words.words, kept)), words.labels[kept], words.alphabet)


def main(
    language: str, load: Callable[..., LabelledWords], tests: Sequence[str], args: argparse.Namespace
) -> tuple[list[dict[str, Any]], Path]:
    """The examples: trains what is asked for, a line of the table for each run.

    Args:
        language: name of the experiment. load: `datasets.<language>.load`. tests: its splits to judge.
        args: the options of the examples' command line.

    Returns:
        The records, and the folder of the models.
    """
    if args.smoke:
        folder = tempfile.mkdtemp(prefix=f"{language}-")
        args.data, args.networks, args.passes, args.units, tests = ["small"], ["SR-LSTM-P"], 1, 4, tests[:1]
        args.data_dir, args.runs, args.records = f"{folder}/data", f"{folder}/runs", f"{folder}/records"
    found = []
    width = max(map(len, tests)) + 2
    print(f"{'words':13}{'network':10}{'k':>4}{'seed':>5}" + "".join(f"{name:>{width}}" for name in tests))
    for config in args.data:
        passes = args.passes or usual_passes(language, config)
        for kind in args.networks:
            for centroids in args.centroids if kind.startswith("SR") else [0]:
                for seed in args.seeds:
                    name = f"{language}-{config}-{kind}-{centroids}-{seed}"
                    path = Path(args.records) / f"{name}.json"

                    def words(split: str, config: str = config) -> LabelledWords:
                        found = load(split, config=config, data_dir=args.data_dir)
                        return nearly_one_length(found) if args.smoke else found

                    Path(args.runs).mkdir(parents=True, exist_ok=True)
                    checkpoint = Path(args.runs) / f"{name}.npz"
                    record, model = run(
                        *(path, language, config, kind, words, tests, args.units, centroids, passes, seed, checkpoint)
                    )
                    if model is not None:
                        model.save(Path(args.runs) / f"{name}.keras")
                    found.append(record)
                    wrong = record["result"]["errors"]
                    numbers = "".join(f"{wrong[test]:{width}.1%}" for test in tests)
                    say(f"{config:13}{kind:10}{centroids:4}{seed:5}{numbers}", stays=True)
    return found, Path(args.runs)


def run(
    path: Path,
    language: str,
    config: str,
    kind: str,
    load: Callable[[str], LabelledWords],
    tests: Sequence[str],
    units: int,
    centroids: int,
    passes: int,
    seed: int,
    checkpoint: Path | None = None,
) -> tuple[dict[str, Any], keras.Model | None]:
    """Trains a network, or goes on with it, and writes the record, or reads the record of a run that has ended.

    Args:
        load: split -> its words. tests: splits to judge. The rest as `network` and `train`.

    Returns:
        The record, and the model if it was trained.
    """
    protocol = {"units": units, "centroids": centroids if kind.startswith("SR") else 0, "passes": passes}
    found = records.made_before(path, protocol=protocol)
    if found is not None:
        return found, None
    record, model = trained(config, kind, load, tests, units, centroids, passes, seed, checkpoint)
    record = {"experiment": language, **record}
    records.write(path, record)
    return record, model


def identity(config: str, words: LabelledWords) -> dict[str, Any]:
    """What a record says of the words for training."""
    digest = records.sha256(words.ids(), words.labels)
    return {"config": config, "words": len(words), "positives": words.positives, "sha256": digest}


def trained(
    config: str,
    kind: str,
    load: Callable[[str], LabelledWords],
    tests: Sequence[str],
    units: int,
    centroids: int,
    passes: int,
    seed: int,
    checkpoint: Path | None = None,
) -> tuple[dict[str, Any], keras.Model]:
    """Trains a network, or goes on with it; its record, without experiment, and the model.

    Args:
        config: of the words, for the record. load: split -> its words. tests: splits to judge. The rest as `network`
            and `train`.
    """
    train_words, validation = load("train"), load("validation")
    model = network(kind, len(train_words.alphabet), units, centroids, seed)
    curve = train(model, train_words, validation, passes, seed=seed, checkpoint=checkpoint)
    record = {
        "data": identity(config, train_words),
        "model": {"layer": kind, "seed": seed, "parameters": model.count_params()},
        "protocol": {"units": units, "centroids": centroids if kind.startswith("SR") else 0, "passes": passes},
        "result": {
            "errors": errors(model, {name: load(name) for name in tests}),
            "validation_error": min(
                (point["validation_error"] for point in curve if point["loss"] is not None), default=None
            ),
            "seconds": curve[-1]["seconds"],
        },
        "curve": curve,
    }
    return record, model


def train(
    model: keras.Model,
    words: LabelledWords,
    validation: LabelledWords,
    passes: int,
    batch: int = 32,
    seed: int = 0,
    checkpoint: Path | None = None,
) -> list[dict[str, Any]]:
    """Trains from short words to long ones, and leaves the weights of the least validation error.

    The words up to a tenth, two tenths, ... of the greatest length are read `passes` times each, all of them three
    times as often, in rows of three lengths, each of which is compiled.

    Args:
        passes: over the words of a length.
        checkpoint: a file, written after every pass; where there is one, the training goes on from it.

    Returns:
        The curve: after each pass the steps and seconds so far, the loss (None if it was not finite: training ends
        there), and the validation error.

    Raises:
        ValueError: if all words have one label; if the checkpoint is of a training with other passes.
    """
    if len(set(words.labels.tolist())) < 2:
        raise ValueError(
            f"A language is learned from words in it and words outside. Received: {len(words)}, {words.positives} "
            "of them in it."
        )
    model.compile(
        keras.optimizers.RMSprop(2e-3, rho=0.95, momentum=0.9, global_clipnorm=1.0),
        keras.losses.BinaryCrossentropy(from_logits=True),
        jit_compile=True,
        steps_per_execution=STEPS,
    )
    rng = np.random.default_rng(seed)
    lengths = np.array([len(word) for word in words.words])
    rows, labels = words.ids(end=True), words.labels.astype("float32")
    longest = rows.shape[1]
    limits = []
    for tenth in range(1, 11):
        limit = math.ceil(tenth * lengths.max() / 10)
        if len(set(labels[lengths <= limit])) == 2:
            limits += [limit] * passes * (3 if tenth == 10 else 1)
    curve: list[dict[str, Any]] = []
    kept = model.get_weights()
    if checkpoint is not None and checkpoint.exists():
        kept, progress = training.load_progress(checkpoint, model)
        if progress["limits"] != limits:
            raise ValueError(
                f"A training goes on with the passes it began with. Received: {len(limits)} passes to length "
                f"{limits[-1]}, and {checkpoint} of {len(progress['limits'])} to {progress['limits'][-1]}. Take the "
                "file away, or give another folder for the runs."
            )
        curve, rng.bit_generator.state = progress["curve"], progress["orders"]
    started = time.monotonic() - (curve[-1]["seconds"] if curve else 0.0)
    best = min((point["validation_error"] for point in curve if point["loss"] is not None), default=math.inf)
    for limit in limits[len(curve) :]:
        if curve and curve[-1]["loss"] is None:
            break
        among = np.flatnonzero(lengths <= limit)
        width = next(w for w in (math.ceil(longest / 3), math.ceil(2 * longest / 3), longest) if w > limit)
        # Whole executions, so that nothing is compiled for a remainder.
        count = max(1, len(among) // (batch * STEPS)) * batch * STEPS
        order = np.concatenate([rng.permutation(among) for _ in range(math.ceil(count / len(among)))])[:count]
        history = model.fit(rows[order, :width], labels[order], batch, shuffle=False, verbose=0)
        wrong = error(model, validation)
        loss = history.history["loss"][-1]
        point = {
            "step": int(model.optimizer.iterations),
            "seconds": time.monotonic() - started,
            "length": limit,
            "loss": loss if math.isfinite(loss) else None,
            "validation_error": wrong,
        }
        curve.append(point)
        say(f"length {limit}, step {point['step']}: loss {loss:.4f}, validation error {wrong:.3f}")
        if wrong < best and math.isfinite(loss):
            best, kept = wrong, model.get_weights()
        if checkpoint is not None:
            progress = {"limits": limits, "curve": curve, "orders": rng.bit_generator.state}
            training.save_progress(checkpoint, model, kept, progress)
    model.set_weights(kept)
    return curve


def errors(model: keras.Model, tests: Mapping[str, LabelledWords]) -> dict[str, float]:
    """Share of words judged wrongly, for each test set."""
    return {name: error(model, words) for name, words in tests.items()}


def error(model: keras.Model, words: LabelledWords) -> float:
    """Share of words judged wrongly."""
    longest = max(map(len, words.words)) + 1
    length = next((n for n in (101, 201, 501, 1001) if n >= longest), longest)  # few shapes, for each is compiled
    rows = words.ids(end=True, length=length)
    batch = max(1, SYMBOLS // length)
    padded = np.pad(rows, ((0, -len(rows) % batch), (0, 0)), mode="edge")
    logits = [model.predict_on_batch(padded[i : i + batch])[:, 0] for i in range(0, len(padded), batch)]
    return float(np.mean((np.concatenate(logits)[: len(rows)] > 0) != words.labels))
