"""How near do attribution methods come to the exact Shapley values of trained sequence networks?

Trains four small networks on generated tasks, computes the exact Shapley values of held-out words by
`analysis.shapley_values` (symbols that are unknown are uniform and independent), checks them on words of three symbols
against the sum over all coalitions, and measures other methods against them:

- permutation sampling: for each permutation one background word is turned into the word, symbol by symbol;
- shap's KernelExplainer and PermutationExplainer, if shap is installed, with 100 words of the background;
- integrated gradients by Gauss-Legendre quadrature, from the mean of all embeddings and from zero; gradient x input;
- occlusion: the output less that with the mean embedding, or less the mean output over all symbols, in one place;
- `analysis.attribution`, Shapley values of another game, whose absent symbols are the mean of all embeddings;
- contributions, and the norm of each symbol's contributions to all outputs, which plays the role of attention.

An ISAN has no embedding: its inputs are one-hot vectors, and a mixture of them applies the mixture of their maps.

    pip install shap                                         # optional
    PYTHONPATH=. python benchmarks/attribution_truth.py --out truth.json --figure truth.png  # four minutes
    PYTHONPATH=. python benchmarks/attribution_truth.py --smoke

The results, with hardware, date and commit, are in benchmarks/README.md.
"""

import argparse
import importlib.util
import itertools
import json
import logging
import math
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import keras
import numpy as np
import tensorflow as tf
from scipy import stats

from benchmarks.environment import environment
from keras_interp_rnn import analysis, layers

LENGTH = 31
KEYS = VALUES = 4
WRITES = KEYS * VALUES
"""Symbol VALUES * key + value writes the value to the key."""
FILLERS = 12
DEPTHS = 6
"""Of brackets."""
UNKNOWN = -1
"""Label of a step that has no answer."""
BACKGROUND_WORDS = 100
"""Of shap's explainers: more than these draw a warning from KernelExplainer."""
POINTS = 32
"""Of the quadrature."""
ROWS = 4096
"""Words that are evaluated together."""


# Tasks: words (count, length) and what is right after every symbol.


def writes(rng: np.random.Generator, count: int, length: int) -> tuple[np.ndarray, np.ndarray]:
    """What is stored under each key: labels (count, length, KEYS)."""
    words = rng.integers(WRITES + FILLERS, size=(count, length))
    return words, stored(words)


def stored(words: np.ndarray) -> np.ndarray:
    """The last value that was written to each key, or UNKNOWN: (count, length, KEYS)."""
    held = np.full((*words.shape, KEYS), UNKNOWN)
    now = np.full((len(words), KEYS), UNKNOWN)
    for t, symbols in enumerate(words.T):
        is_write = symbols < WRITES
        now[is_write, symbols[is_write] // VALUES] = symbols[is_write] % VALUES
        held[:, t] = now
    return held


def queries(rng: np.random.Generator, count: int, length: int) -> tuple[np.ndarray, np.ndarray]:
    """Symbols from WRITES + FILLERS on ask for a key, the last one always: labels (count, length, 1)."""
    words = rng.integers(WRITES + FILLERS + KEYS, size=(count, length))
    words[:, -1] = WRITES + FILLERS + rng.integers(KEYS, size=count)
    asked = words - WRITES - FILLERS
    answers = np.take_along_axis(stored(words), np.maximum(asked, 0)[:, :, None], axis=2)
    return words, np.where(asked[:, :, None] >= 0, answers, UNKNOWN)


def brackets(rng: np.random.Generator, count: int, length: int) -> tuple[np.ndarray, np.ndarray]:
    """The depth of brackets, which does not leave [0, 5], among two symbols of noise: labels (count, length, 1)."""
    words = rng.integers(4, size=(count, length))
    depths = np.zeros((count, length + 1), int)
    for t, symbols in enumerate(words.T):
        depths[:, t + 1] = np.clip(depths[:, t] + np.array([1, -1, 0, 0])[symbols], 0, DEPTHS - 1)
    return words, depths[:, 1:, None]


def majority(rng: np.random.Generator, count: int, length: int) -> tuple[np.ndarray, np.ndarray]:
    """Whether there are more 0s than 1s, among six other symbols: labels (count, length, 1), UNKNOWN for ties."""
    words = rng.integers(8, size=(count, length))
    ahead = np.cumsum(np.where(words == 0, 1, np.where(words == 1, -1, 0)), axis=1)[:, :, None]
    return words, np.where(ahead == 0, UNKNOWN, ahead > 0)


@dataclass(frozen=True)
class Task:
    """A network, and the words that it learns from. Each label is one of some answers, with a logit for each."""

    name: str
    draw: Callable[[np.random.Generator, int, int], tuple[np.ndarray, np.ndarray]]
    layer: Callable[[], keras.layers.Layer]
    symbols: int
    outputs: int
    answers: int
    steps: int
    rate: float = 1e-2


TASKS = (
    Task(
        "MinGRU, stores values by keys",
        writes,
        lambda: layers.MinGRU(32, return_sequences=True),
        WRITES + FILLERS,
        KEYS * VALUES,
        VALUES,
        400,
    ),
    Task(
        "DeltaNet, looks a value up by its key",
        queries,
        lambda: layers.DeltaNet(8, num_heads=1, normalize=False, return_sequences=True),
        WRITES + FILLERS + KEYS,
        VALUES,
        VALUES,
        600,
    ),
    Task(
        "ISAN, counts brackets",
        brackets,
        lambda: layers.ISAN(32, 4, return_sequences=True),
        4,
        DEPTHS,
        DEPTHS,
        1000,
        5e-3,
    ),
    Task(
        "MinGRU, more 0s than 1s",
        majority,
        lambda: layers.MinGRU(16, return_sequences=True),
        8,
        2,
        2,
        300,
    ),
)


def loss_of(task: Task) -> Callable[[Any, Any], Any]:
    of_classes = keras.losses.SparseCategoricalCrossentropy(from_logits=True, ignore_class=UNKNOWN)
    return lambda labels, logits: of_classes(
        keras.ops.reshape(labels, (-1,)), keras.ops.reshape(logits, (-1, task.answers))
    )


def right(task: Task, labels: np.ndarray, outputs: np.ndarray) -> float:
    """The fraction of right answers after the last symbol, where there is one."""
    labels, outputs = labels[:, -1], outputs[:, -1]
    found = outputs.reshape(*labels.shape, task.answers).argmax(axis=-1)
    return float(np.mean((found == labels)[labels != UNKNOWN]))


def trained(task: Task, steps: int, seed: int) -> keras.Model:
    keras.utils.set_random_seed(seed)
    rng = np.random.default_rng([seed, 1])
    layer = task.layer()
    embedding = [] if isinstance(layer, layers.ISAN) else [keras.layers.Embedding(task.symbols, 16)]
    parts = [keras.Input((None,), dtype="int32"), *embedding, layer, keras.layers.Dense(task.outputs)]
    model = keras.Sequential(parts)
    schedule = keras.optimizers.schedules.CosineDecay(task.rate, steps)
    model.compile(keras.optimizers.Adam(schedule, global_clipnorm=1.0), loss_of(task))
    for _ in range(steps):
        words, labels = task.draw(rng, 64, LENGTH)
        model.train_on_batch(words.astype("int32"), labels.astype("int32"))
    return model


class Network:
    """A trained network in float64 with one output, which `ask` chooses; it counts the words it evaluates."""

    def __init__(self, trained_model: keras.Model):
        *parts, self.full_head = trained_model.layers
        config = {"return_sequences": False, "dtype": "float64"}
        made = [type(parts[-1]).from_config({**parts[-1].get_config(), **config})]
        self.is_isan = isinstance(made[0], layers.ISAN)
        if not self.is_isan:
            made.insert(0, keras.layers.Embedding(parts[0].input_dim, parts[0].output_dim, dtype="float64"))
        heads = [keras.layers.Dense(size, dtype="float64") for size in (1, self.full_head.units)]
        first = keras.Input((None,), dtype="int32")
        self.model, self.full = (keras.Sequential([first, *made, head]) for head in heads)
        for copy, part in zip(self.full.layers, trained_model.layers, strict=True):
            copy.set_weights([np.asarray(weight, np.float64) for weight in part.get_weights()])
        self.layer, self.head = self.model.layers[-2:]
        self.table = np.eye(self.layer.get_weights()[0].shape[0]) if self.is_isan else made[0].get_weights()[0]
        self.evaluations = 0
        signature = tf.TensorSpec((None, None), tf.int32)
        self._run = tf.function(lambda ids: self.model(ids)[:, 0], input_signature=[signature])
        vectors = tf.TensorSpec((None, None, self.table.shape[1]), tf.float64)
        self._gradients = tf.function(self._differentiated, input_signature=[vectors])
        self._run_vectors = tf.function(self._of_vectors, input_signature=[vectors])
        one = np.zeros((1, LENGTH), int)
        for compiled, given in ((self, one), (self.of_vectors, self.table[one]), (self.gradients, self.table[one])):
            compiled(given)

    def ask(self, column: np.ndarray) -> None:
        """From now on the output is that combination of the network's outputs."""
        kernel, bias = self.full.layers[-1].get_weights()
        self.head.set_weights([kernel @ column[:, None], bias @ column[:, None]])

    def __call__(self, words: np.ndarray) -> np.ndarray:
        words = np.asarray(words).astype("int32")
        self.evaluations += len(words)
        some = [self._run(words[first : first + ROWS]).numpy() for first in range(0, len(words), ROWS)]
        return np.concatenate(some)

    def of_vectors(self, vectors: np.ndarray) -> np.ndarray:
        """The outputs for embeddings, or mixtures of one-hot vectors: (words,)."""
        self.evaluations += len(vectors)
        return self._run_vectors(vectors).numpy()

    def gradients(self, vectors: np.ndarray) -> np.ndarray:
        """Of the outputs, by the vectors."""
        self.evaluations += len(vectors)
        return self._gradients(vectors).numpy()

    def _of_vectors(self, vectors: Any) -> Any:
        if not self.is_isan:
            return self.head(self.layer(vectors))[:, 0]
        cell = self.layer.cell
        kernel, bias = tf.convert_to_tensor(cell.recurrent_kernel), tf.convert_to_tensor(cell.bias)
        state = tf.zeros((tf.shape(vectors)[0], cell.units), tf.float64) + cell.initial_state
        for t in range(LENGTH):
            maps = tf.einsum("wk,kij->wij", vectors[:, t], kernel)
            state = tf.einsum("wi,wij->wj", state, maps) + vectors[:, t] @ bias
        return self.head(state)[:, 0]

    def _differentiated(self, vectors: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(vectors)
            outputs = self._of_vectors(vectors)
        return tape.gradient(outputs, vectors)


@dataclass(frozen=True)
class Question:
    """A held-out word, the combination of outputs that is explained, and the places that the answer is made of.

    These are the last write to the key, and the query where there is one; none where all symbols count.
    """

    word: np.ndarray
    column: np.ndarray
    decisive: tuple[int, ...] = ()


def questions(task: Task, rng: np.random.Generator) -> Iterator[Question]:
    """Words with an answer; what is explained is its logit less the mean logit of all answers."""
    while True:
        words, labels = task.draw(rng, 1, LENGTH)
        word, label = words[0], labels[0, -1]
        known = np.flatnonzero(label != UNKNOWN)
        if not len(known):
            continue
        at = rng.choice(known)
        column = np.zeros((len(label), task.answers))
        column[at] = (np.arange(task.answers) == label[at]) - 1 / task.answers
        yield Question(word, column.ravel(), decisive(task, word, at))


def decisive(task: Task, word: np.ndarray, key: int) -> tuple[int, ...]:
    """The last write to the key, and the query that names it."""
    if task.draw not in (writes, queries):
        return ()
    asked = task.draw is queries
    [*_, last] = np.flatnonzero(word // VALUES == (word[-1] - WRITES - FILLERS if asked else key))
    return (int(last), len(word) - 1) if asked else (int(last),)


# Methods: shares of the symbols of a word.


def brute_force(network: Network, word: np.ndarray) -> np.ndarray:
    """Shapley's sum over all coalitions, the worth of each a mean over all words."""
    symbols, players = len(network.table), len(word)
    every = np.array(list(itertools.product(range(symbols), repeat=players)))
    outputs = network(every).reshape((symbols,) * players)
    worth = {}
    for known in itertools.product((False, True), repeat=players):
        chosen = outputs[tuple(s if k else slice(None) for s, k in zip(word, known, strict=True))]
        worth[known] = float(np.mean(chosen))
    shares = np.zeros(players)
    for known, value in worth.items():
        for t in range(players):
            if not known[t]:
                others = sum(known)
                weight = math.factorial(others) * math.factorial(players - 1 - others) / math.factorial(players)
                shares[t] += weight * (worth[(*known[:t], True, *known[t + 1 :])] - value)
    return shares


def permutation_sampling(
    network: Network, word: np.ndarray, counts: list[int], rng: np.random.Generator
) -> Iterator[np.ndarray]:
    """The mean over the first permutations of what each symbol changes, for each of some numbers of permutations."""
    total, done = np.zeros(len(word)), 0
    for count in counts:
        while done < count:
            some = min(count - done, ROWS // len(word))
            rank = rng.permuted(np.tile(np.arange(len(word)), (some, 1)), axis=1)
            drawn = rng.integers(len(network.table), size=(some, 1, len(word)))
            known = rank[:, None, :] < np.arange(len(word) + 1)[:, None]
            mixed = np.where(known, word, drawn)
            outputs = network(mixed.reshape(-1, len(word))).reshape(some, -1)
            total += np.take_along_axis(np.diff(outputs, axis=1), rank, axis=1).sum(axis=0)
            done += some
        yield total / done


def integrated_gradients(network: Network, word: np.ndarray, start: np.ndarray) -> np.ndarray:
    nodes, weights = np.polynomial.legendre.leggauss(POINTS)
    change = network.table[word] - start
    gradients = network.gradients(start + (nodes[:, None, None] + 1) / 2 * change)
    return np.einsum("q,qtf,tf->t", weights / 2, gradients, change)


def occlusion_by_mean(network: Network, word: np.ndarray) -> np.ndarray:
    rows = np.repeat(network.table[word][None], len(word) + 1, axis=0)
    rows[np.arange(len(word)), np.arange(len(word))] = network.table.mean(axis=0)
    outputs = network.of_vectors(rows)
    return outputs[-1] - outputs[:-1]


def occlusion_by_symbols(network: Network, word: np.ndarray) -> np.ndarray:
    symbols = len(network.table)
    rows = np.tile(word, (len(word), symbols, 1))
    rows[np.arange(len(word)), :, np.arange(len(word))] = np.arange(symbols)
    outputs = network(rows.reshape(-1, len(word))).reshape(len(word), symbols)
    return network(word[None])[0] - outputs.mean(axis=1)


def one_shot_methods(network: Network) -> dict[str, Callable[[np.ndarray], np.ndarray]]:
    table = network.table

    def of_steps(model: keras.Model, word: np.ndarray) -> np.ndarray:
        return analysis.contributions(model, word, targets=-1).values[1:, 0]

    def against_the_mean(word: np.ndarray) -> np.ndarray:
        found = analysis.attribution(
            network.model, word[None], method="shapley", target=0, reference=table.mean(axis=0)
        )
        network.evaluations += int(found.num_runs[0])
        return found.shares[0]

    return {
        "Shapley values against the mean": against_the_mean,
        "integrated gradients from the mean": lambda word: integrated_gradients(network, word, table.mean(axis=0)),
        "integrated gradients from zero": lambda word: integrated_gradients(network, word, np.zeros(table.shape[1])),
        "gradient x input": lambda word: np.sum(network.gradients(table[word][None])[0] * table[word], axis=-1),
        "occlusion by the mean embedding": lambda word: occlusion_by_mean(network, word),
        "occlusion, mean over symbols": lambda word: occlusion_by_symbols(network, word),
        "contributions": lambda word: of_steps(network.model, word)[:, 0],
        "norms of contributions": lambda word: np.linalg.norm(of_steps(network.full, word), axis=-1),
    }


def methods_of_shap(
    network: Network, sizes: list[int], rng: np.random.Generator
) -> dict[str, Callable[[np.ndarray], np.ndarray]]:
    """Both explainers with so many coalitions each.

    KernelExplainer keeps ten symbols unless `l1_reg` is False, and is also given ten times the background.
    """
    import shap

    logging.getLogger("shap").setLevel(logging.ERROR)
    base, more = (rng.integers(len(network.table), size=(count * BACKGROUND_WORDS, LENGTH)) for count in (1, 10))

    def kernel(word: np.ndarray, size: int, known: np.ndarray = base, **options: Any) -> np.ndarray:
        keras.utils.set_random_seed(0)  # shap draws from the global generator
        explainer = shap.KernelExplainer(network, known)
        return np.reshape(explainer.shap_values(word[None], nsamples=size, silent=True, **options), -1)

    def permutation(word: np.ndarray, size: int) -> np.ndarray:
        masker = shap.maskers.Independent(base, max_samples=BACKGROUND_WORDS)
        explainer = shap.PermutationExplainer(network, masker, seed=0)
        rounds = max(1, round(size / (2 * LENGTH + 1)))
        return np.reshape(explainer(word[None], max_evals=rounds * (2 * LENGTH + 1), silent=True).values, -1)

    found: dict[str, Callable[[np.ndarray], np.ndarray]] = {}
    for size in sizes:
        found[f"shap.KernelExplainer, nsamples={size:,}"] = lambda word, size=size: kernel(word, size)
        name = f"shap.KernelExplainer, nsamples={size:,}, l1_reg=False"
        found[name] = lambda word, size=size: kernel(word, size, l1_reg=False)
    name = f"shap.KernelExplainer, nsamples={sizes[0]:,}, l1_reg=False, {len(more):,} words"
    found[name] = lambda word: kernel(word, sizes[0], more, l1_reg=False)
    for size in sizes:
        name = f"shap.PermutationExplainer, max_evals={size:,}"
        found[name] = lambda word, size=size: permutation(word, size)
    return found


# Figures of merit.


def merits(
    shares: np.ndarray, exact: np.ndarray, gain: float, decisive: tuple[int, ...], signed: bool
) -> dict[str, Any]:
    """How near shares come to the exact values, which sum to the gain. Norms are ranked against absolute values."""
    spread = np.ptp(exact)
    top = int(np.abs(shares).argmax())
    return {
        "error": float(np.abs(shares - exact).max() / spread) if signed else None,
        "rank_correlation": float(stats.spearmanr(shares, exact if signed else np.abs(exact)).statistic),
        "same_top": top == int(np.abs(exact).argmax()),
        "top_is_decisive": top in decisive if decisive else None,
        "residual": float(abs(shares.sum() - gain) / spread) if signed else None,
    }


def measured(network: Network, question: Question, args: argparse.Namespace, number: int) -> Iterator[dict[str, Any]]:
    """A row for each method; those that draw samples leave out the words from `args.sampled` on."""
    network.ask(question.column)
    word = question.word
    start = time.process_time()
    values = analysis.shapley_values(network.model, word)
    seconds = time.process_time() - start
    exact = values.values[1:, 0, 0]
    gain = float(network(word[None])[0] - values.bias[0])

    def row(name: str, shares: np.ndarray, evaluations: int, seconds: float) -> dict[str, Any]:
        signed = not name.startswith("norms")
        found = merits(shares, exact, gain, question.decisive, signed)
        return {"method": name, "evaluations": evaluations, "seconds": seconds, **found}

    yield row("exact", exact, 0, seconds)
    methods = one_shot_methods(network)
    if number < args.sampled:
        rng = np.random.default_rng([args.seed, 2, number])
        began, before = time.process_time(), network.evaluations
        sampled = permutation_sampling(network, word, args.permutations, rng)
        for count, shares in zip(args.permutations, sampled, strict=True):
            spent, made = time.process_time() - began, network.evaluations - before
            yield row(f"sampling, {count:,} permutations", shares, made, spent)
        if importlib.util.find_spec("shap"):
            methods = {**methods_of_shap(network, args.coalitions, rng), **methods}
    for name, method in methods.items():
        start, before = time.process_time(), network.evaluations
        shares = method(word)
        yield row(name, shares, network.evaluations - before, time.process_time() - start)


def check(task: Task, network: Network, rng: np.random.Generator, words: int) -> float:
    """The largest difference from brute force on words of three symbols, in parts of the range."""
    found = []
    for _, question in zip(range(words), questions(task, rng), strict=False):
        network.ask(question.column)
        short = question.word[-3:]
        expected = brute_force(network, short)
        exact = analysis.shapley_values(network.model, short).values[1:, 0, 0]
        found.append(np.abs(exact - expected).max() / np.ptp(expected))
    return float(max(found))


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Of one method over the words: means, the median time, and the largest error."""

    def mean(name: str) -> float | None:
        values = [row[name] for row in rows if row[name] is not None]
        return float(np.mean(values)) if values else None

    names = ("evaluations", "error", "rank_correlation", "same_top", "top_is_decisive", "residual")
    worst = max((row["error"] for row in rows if row["error"] is not None), default=None)
    seconds = float(np.median([row["seconds"] for row in rows]))
    return {"words": len(rows), "seconds": seconds, **{name: mean(name) for name in names}, "worst_error": worst}


def table(summaries: dict[str, dict[str, Any]]) -> None:
    print("| method | words | evaluations | ms | error | worst | rank correlation | same top | decisive | residual |")
    print(f"|{'---|' * 10}")
    for name, found in summaries.items():

        def text(what: str, form: str, found: dict[str, Any] = found) -> str:
            return "" if found[what] is None else format(found[what], form)

        cells = [
            str(found["words"]),
            f"{found['evaluations']:,.0f}",
            f"{1e3 * found['seconds']:,.0f}",
            *(text(what, ".1e" if name == "exact" else ".3f") for what in ("error", "worst_error")),
            text("rank_correlation", ".3f"),
            text("same_top", ".0%"),
            text("top_is_decisive", ".0%"),
            text("residual", ".1e"),
        ]
        print(f"| {' | '.join([name, *cells])} |")


STYLES = {
    "sampling": ("#1b6ca8", "o-"),
    "shap.KernelExplainer": ("#a8434f", "s-"),
    "shap.PermutationExplainer": ("#e0a458", "^-"),
    "Shapley values against the mean": ("#222222", "*"),
    "integrated gradients from the mean": ("#4f8f5b", "D"),
    "integrated gradients from zero": ("#4f8f5b", "x"),
    "gradient x input": ("#4f8f5b", "+"),
    "occlusion by the mean embedding": ("#7d5ba6", "x"),
    "occlusion, mean over symbols": ("#7d5ba6", "D"),
    "contributions": ("#8c8c8c", "P"),
}
LOWEST, HIGHEST = 3e-3, 4
"""Where the axis of the errors ends; what is lower is drawn there, as a triangle."""


def draw(record: dict[str, Any], path: str) -> None:
    """Errors by processor time, a panel for each task."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(2.6 * len(record["tasks"]), 4.4), layout="constrained", dpi=150)
    axes = figure.subplots(1, len(record["tasks"]), sharex=True, sharey=True, squeeze=False)[0]
    for axis, task in zip(axes, record["tasks"], strict=True):
        found = {name: summary(rows) for name, rows in task["rows"].items()}
        for style, (color, form) in STYLES.items():
            of_it = [v for k, v in found.items() if k == style or (k.startswith(f"{style}, ") and "l1_reg" not in k)]
            if not of_it:
                continue
            times, errors = np.array(sorted((1e3 * each["seconds"], each["error"]) for each in of_it)).T
            low = errors < LOWEST
            axis.loglog(times, np.maximum(errors, LOWEST), form, color=color, markersize=5, lw=1, label=style)
            if low.any():
                axis.plot(times[low], np.full(low.sum(), LOWEST), "v", color=color, markersize=9, clip_on=False)
        axis.axvline(1e3 * found["exact"]["seconds"], color="#222222", lw=1, ls="--", label="exact")
        axis.set(xlabel="processor ms a word", ylim=(LOWEST, HIGHEST))
        axis.set_title(task["task"].replace(", ", "\n"), fontsize="medium")
        axis.spines[["top", "right"]].set_visible(False)
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("largest error / range of the values")
    handles, names = axes[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=4, frameon=False, fontsize="small")
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)


def version_of_shap() -> str | None:
    """None where it is not installed. Also compiles what shap compiles when it is first used."""
    if not importlib.util.find_spec("shap"):
        return None
    import shap

    masker = shap.maskers.Independent(np.zeros((2, 3)))
    shap.PermutationExplainer(lambda rows: rows.sum(axis=1), masker)(np.ones((1, 3)), silent=True)
    return str(shap.__version__)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--words", type=int, default=40, help="held-out words of each task; default: %(default)s")
    parser.add_argument("--sampled", type=int, default=5, help="of them for methods that sample; default: %(default)s")
    parser.add_argument("--permutations", type=int, nargs="+", default=[10, 100, 1000], help="of the sampling")
    parser.add_argument("--coalitions", type=int, nargs="+", default=[100, 500], help="nsamples of KernelExplainer")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", help="a JSON file for the results")
    parser.add_argument("--figure", help="a picture, .png or .svg")
    parser.add_argument("--smoke", action="store_true")
    args = parser.parse_args()
    if args.smoke:
        args.words, args.permutations, args.coalitions = 2, [2, 4], [70]
    record: dict[str, Any] = {**environment(), "shap": version_of_shap(), "arguments": vars(args).copy(), "tasks": []}
    if not record["shap"]:
        print("shap: not installed; its explainers are left out.")
    for task in TASKS:
        start = time.perf_counter()
        network = Network(model := trained(task, 5 if args.smoke else task.steps, args.seed))
        seconds = time.perf_counter() - start
        words, labels = task.draw(np.random.default_rng([args.seed, 3]), 1000, LENGTH)
        correct = right(task, labels, np.asarray(model.predict_on_batch(words.astype("int32"))))
        rng = np.random.default_rng([args.seed, 4])
        off = check(task, network, rng, 1 if args.smoke else 3)
        if off > 1e-10:
            raise SystemExit(f"{task.name}: the exact values differ by {off:.0e} from the sum over all coalitions.")
        print(f"\n{task.name}: {correct:.1%} of 1,000 words right, trained in {seconds:.0f} s; {off:.0e} from all")
        print(f"coalitions of words of three symbols. Means over words of {LENGTH} symbols.\n", flush=True)
        rows: dict[str, list[dict[str, Any]]] = {}
        for i, question in zip(range(args.words), questions(task, rng), strict=False):
            for row in measured(network, question, args, i):
                rows.setdefault(row["method"], []).append({**row, "word": i})
        summaries = {name: summary(found) for name, found in rows.items()}
        table(summaries)
        record["tasks"].append(
            {"task": task.name, "right": correct, "training_seconds": seconds, "from_brute_force": off, "rows": rows}
        )
        if args.out:
            Path(args.out).write_text(json.dumps(record, indent=1, sort_keys=True) + "\n")
    if args.figure:
        draw(record, args.figure)


if __name__ == "__main__":
    main()
