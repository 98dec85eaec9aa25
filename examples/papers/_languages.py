"""Which words are in a language: one protocol for every network (Wang, Lawrence and Niepert, 2022, section 5.2).

Symbols are embedded and read in order, an end token last. Training goes from short words to long ones, and the weights
with the lowest validation error are kept. A killed run resumes after its last pass over the words.
"""

from __future__ import annotations

import collections
import dataclasses
import functools
import itertools
import math
import random
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from examples.papers import _records
from examples.papers._experiment import (
    Experiment,
    Finding,
    Record,
    Run,
    grouped,
    mean_and_range,
    percent,
    runs,
    table,
)
from examples.papers._lazy import Array, automata, callbacks, corpora, datasets, keras, layers, np, training
from examples.papers._verdicts import fewer

NETWORKS = ("LSTM", "LSTM-P", "SR-LSTM", "SR-LSTM-P")

PARENTHESES = (
    *("test_d1_10_l100", "test_d10_20_l100", "test_d10_20_l200"),
    *("test_d5_l200", "test_d10_l200", "test_d20_l1000"),
)
"""The tests of balanced parentheses, in the paper's order."""

STEPS = 16
"""Training steps in one execution."""

JIT_COMPILE = True
"""Whether training runs through XLA."""

SYMBOLS = 1 << 15
"""Padded symbols that are evaluated at a time."""


@dataclasses.dataclass(frozen=True)
class Protocol:
    """How a network is built and trained.

    Args:
        units: state size. centroids: of a network that has them. readout_decay: L2 penalty on the readout kernel.
        passes: over the words of each stage. stages: number of equal steps in which the maximum length grows; 1 reads
            all words from the start. last: factor by which the last stage has more passes.
        batch: words in a batch. learning_rate, rho, momentum, epsilon, centered: of RMSProp. clip: largest global norm
            of a gradient.
        start_token: whether words are read after a start token. paper_weights: whether weights are initialized as in
            the published code: orthogonal for each gate, no forget bias, U(-0.5, 0.5) for embeddings, peepholes and
            readout. shared_peephole: whether the forget gate reads the input gate's peephole, as in the published code.
        steps: training steps in a pass, of words drawn at random; 0 reads all words of a stage. Then `passes` and
            `stages` have no meaning: the maximum length grows over the first `growing` passes, so that each of them
            adds the same number of words; the validation error counts from then on, and training ends once twice as
            many passes have been made as up to the lowest one, after at least three and at most eight times `growing`.
        total: number of passes, in place of that rule; 0 keeps the rule.
    """

    units: int = 10
    centroids: int = 0
    readout_decay: float = 5e-4
    passes: int = 2
    stages: int = 10
    last: int = 3
    batch: int = 32
    learning_rate: float = 2e-3
    rho: float = 0.95
    momentum: float = 0.9
    epsilon: float = 1e-7
    centered: bool = False
    clip: float = 1.0
    start_token: bool = False
    paper_weights: bool = False
    shared_peephole: bool = False
    steps: int = 0
    growing: int = 0
    total: int = 0


PAPER: dict[str, Any] = {
    **{"learning_rate": 1e-4, "epsilon": 1e-4, "centered": True, "clip": 1e6},
    **{"start_token": True, "paper_weights": True, "steps": 1024, "growing": 48},
}
"""Optimizer and initial weights of the paper's published code, which trains longer where words are many. The bound on
the gradient's norm is never reached; without one, XLA on a CPU compiles steps that take a hundred times as long."""


def build(network: str, symbols: int, protocol: Protocol, seed: int) -> keras.Model:
    """A compiled model, ids of words over so many symbols with an end token (batch, time) to logits (batch, 1).

    Centroids are drawn from U(-0.5, 0.5), and the end token's step is not regularized (section 4.4).
    """
    from examples.papers import _layers

    keras.utils.set_random_seed(seed)
    units = protocol.units
    regularized = {"SR-LSTM": layers.SRLSTM, "SR-LSTM-P": layers.SRPeepholeLSTM}
    if protocol.shared_peephole:
        regularized = {"SR-LSTM-P": _layers.SRSharedPeepholeLSTM}
    if network in regularized:
        recurrent = regularized[network](units, protocol.centroids, regularize_last_step=False, name="recurrent")
    else:
        recurrent = {"LSTM": keras.layers.LSTM, "LSTM-P": layers.PeepholeLSTM}[network](units, name="recurrent")
    ids = len(datasets.Alphabet.with_tokens(range(symbols), start=True, end=True))
    model = keras.Sequential(
        [
            keras.Input((None,), dtype="int32"),
            keras.layers.Embedding(ids, units, mask_zero=True),
            recurrent,
            keras.layers.Dense(1, kernel_regularizer=keras.regularizers.L2(protocol.readout_decay)),
        ]
    )
    if protocol.paper_weights:
        _initialize_as_published(model, seed)
    settings = {name: getattr(protocol, name) for name in ("learning_rate", "rho", "momentum", "epsilon", "centered")}
    model.compile(
        keras.optimizers.RMSprop(**settings, global_clipnorm=protocol.clip),
        keras.losses.BinaryCrossentropy(from_logits=True),
        jit_compile=JIT_COMPILE,
        steps_per_execution=STEPS,
    )
    return model


def _initialize_as_published(model: keras.Model, seed: int) -> None:
    """Orthogonal matrices for each gate, biases of zero, and U(-0.5, 0.5) for everything else."""
    for i, weight in enumerate(model.trainable_variables):
        draw = 1000 * seed + 10 * i
        rows, columns = (*weight.shape, 1)[:2]
        if weight.name == "bias":
            value = np.zeros(weight.shape)
        elif weight.name.endswith("kernel") and columns > 1:
            gates = [keras.initializers.Orthogonal(seed=draw + gate)((rows, columns // 4)) for gate in range(4)]
            value = np.concatenate([keras.ops.convert_to_numpy(gate) for gate in gates], axis=1)
        else:
            value = keras.initializers.RandomUniform(-0.5, 0.5, seed=draw)(weight.shape)
        weight.assign(value)


class Schedule:
    """Which words each pass reads, and when training ends; the seed is that of the orders."""

    def __init__(self, words: datasets.LabelledWords, protocol: Protocol, seed: int) -> None:
        self.protocol, self.seed = protocol, seed
        self.lengths = np.array([len(word) for word in words.words])
        longest = int(self.lengths.max())
        if protocol.steps:
            share = (1 + np.arange(protocol.growing)) / protocol.growing
            growing = np.ceil(np.quantile(self.lengths, share)).astype(int).tolist()
            more = protocol.total - protocol.growing if protocol.total else 7 * protocol.growing
            self.limits = [*growing, *([longest] * more)]
            return
        self.limits = []
        for stage in range(1, protocol.stages + 1):
            limit = math.ceil(stage * longest / protocol.stages)
            if len(set(words.labels[self.lengths <= limit].tolist())) == 2:  # words of one label teach nothing
                self.limits += [limit] * (protocol.passes * (protocol.last if stage == protocol.stages else 1))
        rng = np.random.default_rng(seed)
        self._orders = [self._order(limit, rng) for limit in self.limits]

    def _order(self, limit: int, rng: np.random.Generator) -> Array:
        among = np.flatnonzero(self.lengths <= limit)
        # Whole executions, so that nothing is compiled for a remainder.
        execution = self.protocol.batch * STEPS
        count = max(1, len(among) // execution) * execution
        return np.concatenate([rng.permutation(among) for _ in range(math.ceil(count / len(among)))])[:count]

    def order(self, index: int) -> Array:
        """Indices of the words of a pass, in the order in which they are read."""
        if not self.protocol.steps:
            return self._orders[index]
        among = np.flatnonzero(self.lengths <= self.limits[index])
        rng = np.random.default_rng([self.seed, index])
        return rng.choice(among, self.protocol.steps * self.protocol.batch)

    def is_validated(self, index: int) -> bool:
        """Whether the validation error after a pass counts."""
        return index >= self.protocol.growing

    def is_over(self, errors: Sequence[float]) -> bool:
        """Whether training ends, after passes with these validation errors."""
        growing = self.protocol.growing
        if len(errors) >= len(self.limits) or not growing or self.protocol.total or len(errors) < 3 * growing:
            return len(errors) >= len(self.limits)
        lowest = growing + int(np.nanargmin(errors[growing:]))
        return len(errors) >= 2 * (lowest + 1)


def train(
    network: str,
    words: datasets.LabelledWords,
    validation: datasets.LabelledWords,
    protocol: Protocol,
    seed: int,
    folder: Path,
    verbose: int = 0,
    more: Sequence[keras.callbacks.Callback] = (),
) -> tuple[keras.Model, list[dict[str, Any]]]:
    """Trains a network, or resumes its training, with its checkpoints in a folder.

    Args:
        network, words, validation, protocol, seed, folder: as their names have it. verbose: 1 prints a line per pass.
        more: callbacks, called after the validation error is known; what they add to the logs is in the curve.

    Returns:
        The model with the weights of the lowest validation error, and the curve: after each pass the steps and seconds
        so far, the maximum length, the loss and the validation error. A loss that is not finite ends the training; it
        and its validation error are None.
    """
    from examples.papers import _layers  # noqa: F401 - a class of models to resume

    if words.positives in (0, len(words)):
        raise ValueError(
            f"A language is learned from words in it and words outside. Received: {len(words)} words, of which "
            f"{words.positives} are in it. Add words with the other label."
        )
    schedule = Schedule(words, protocol, seed)
    rows, labels = words.ids(start=protocol.start_token, end=True), words.labels.astype("float32")
    widths = [math.ceil(third * rows.shape[1] / 3) for third in (1, 2, 3)]  # each is compiled
    resumable = callbacks.Resumable(folder, "validation_error")
    model = resumable.load() or build(network, len(words.alphabet), protocol, seed)

    def evaluate(epoch: int, logs: dict[str, float]) -> None:
        logs.update(length=schedule.limits[epoch], step=int(model.optimizer.iterations), validation_error=math.nan)
        if math.isfinite(logs["loss"]) and not protocol.steps:
            logs["validation_error"] = error(model, validation)
        elif math.isfinite(logs["loss"]) and schedule.is_validated(epoch):
            logits = predict(model, validation, protocol.start_token)
            logs["validation_error"] = float(np.mean((logits > 0) != validation.labels))
            # Among passes with equal errors the one with the lowest loss is the best.
            logs["val_loss"] = float(np.mean(np.logaddexp(0, np.where(validation.labels, -logits, logits))))
        if verbose:
            number = f"{'at most ' * bool(protocol.steps)}{len(schedule.limits)}"
            progress = f"pass {epoch + 1} of {number}, length {logs['length']}"
            print(f"{progress}: loss {logs['loss']:.4f}, validation error {logs['validation_error']:.3f}", flush=True)

    evaluated = keras.callbacks.LambdaCallback(on_epoch_end=evaluate)
    while not schedule.is_over([entry["validation_error"] for entry in resumable.history]):
        epoch = resumable.epoch
        if epoch and not math.isfinite(resumable.history[-1]["loss"]):
            break
        order = schedule.order(epoch)
        width = next(width for width in widths if width > schedule.limits[epoch] + protocol.start_token)
        training.fit_next_epoch(
            model, rows[order, :width], labels[order], protocol.batch, resumable, [evaluated, *more]
        )
    if not math.isfinite(resumable.history[0]["loss"]):  # no weights are better than the initial ones
        build(network, len(words.alphabet), protocol, seed).save(resumable.best)
    return resumable.load_best(), [_point(entry) for entry in resumable.history]


def _point(entry: Mapping[str, Any]) -> dict[str, Any]:
    point = {name: value if isinstance(value, list) or math.isfinite(value) else None for name, value in entry.items()}
    return {**point, "length": int(entry["length"]), "step": int(entry["step"])}


def error(model: keras.Model, words: datasets.LabelledWords, start_token: bool = False) -> float:
    """Fraction of the words that are misclassified; `start_token` as in `Protocol`."""
    return float(np.mean((predict(model, words, start_token) > 0) != words.labels))


def predict(model: keras.Model, words: datasets.LabelledWords, start_token: bool = False) -> Array:
    """The logit of every word."""
    longest, num_tokens = max(map(len, words.words)), 1 + start_token
    length = next((n for n in (100, 200, 500, 1000) if n >= longest), longest)  # few shapes, for each is compiled
    length += num_tokens
    rows = words.ids(start=start_token, end=True, length=length)
    batch = max(1, SYMBOLS // length)
    padded = np.pad(rows, ((0, -len(rows) % batch), (0, 0)), mode="edge")
    logits = [model.predict_on_batch(padded[i : i + batch])[:, 0] for i in range(0, len(padded), batch)]
    return np.concatenate(logits)[: len(rows)]


def short_words(language: automata.DFA, max_length: int) -> datasets.LabelledWords:
    """All words over 0 and 1 of at most this length, with their labels."""
    words = ["".join(word) for n in range(max_length + 1) for word in itertools.product("01", repeat=n)]
    return datasets.LabelledWords(tuple(words), np.array([language.accepts(word) for word in words]), "01")


def generated(seed: int = 0) -> datasets.LabelledWords:
    """Words of nearly one length, labelled by whether they begin with a bracket; for `smoke`, in a moment."""
    rng = random.Random(seed)
    words = tuple("".join(rng.choices("()abcde", k=rng.randint(18, 20))) for _ in range(200))
    return datasets.LabelledWords(words, np.array([word[0] == "(" for word in words]), "()abcde")


class LanguageExperiment(Experiment):
    """An experiment on the words of a language; a row's settings are `config`, `network` and those of the protocol.

    Attributes:
        language: name of the module of `data` that loads the words. tests: its splits, in the paper's order.
    """

    measure = "error"
    of_data = ("config",)
    language: ClassVar[str]
    tests: ClassVar[tuple[str, ...]]

    def read(
        self, data: Path | None, smoke: bool, settings: Mapping[str, Any]
    ) -> Callable[[str], datasets.LabelledWords]:
        """Split -> its words."""
        if smoke:
            return functools.cache(lambda split: generated(("train", "validation", *self.tests).index(split)))
        load = getattr(corpora, self.language).load
        return functools.cache(functools.partial(load, config=settings["config"]))

    def identity(self, run: Run) -> dict[str, Any]:
        words, config = self.load(run)("train"), "smoke" if run.smoke else run.settings["config"]
        digest = _records.sha256(words.ids(), words.labels)
        return {"config": config, "words": len(words), "positives": words.positives, "sha256": digest}

    def run(self, run: Run) -> Record:
        words, protocol, network = self.load(run), self.protocol(run), run.settings["network"]
        own = {"network": network, "seed": run.seed, "data": self.identity(run)}
        environment = _records.start_run(run.folder, {**dataclasses.asdict(protocol), **own})
        both, judges = (words("train"), words("validation")), self.judges(run)
        model, curve = train(network, *both, protocol, run.seed, run.folder, run.verbose, judges)
        return {
            "environment": environment,
            "data": self.identity(run),
            "model": {"layer": network, "seed": run.seed, "parameters": model.count_params()},
            "protocol": dataclasses.asdict(protocol),
            "result": {**self.result(run, model, curve), "seconds": curve[-1]["seconds"]},
            "curve": curve,
        }

    def judges(self, run: Run) -> Sequence[keras.callbacks.Callback]:
        return ()

    def result(self, run: Run, model: keras.Model, curve: Sequence[Record]) -> Record:
        """The result of a trained network, without the seconds: its errors on the tests."""
        words, token = self.load(run), self.protocol(run).start_token
        errors = [point["validation_error"] for point in curve if point["validation_error"] is not None]
        return {
            "errors": {test: error(model, words(test), token) for test in self.tests_of(run)},
            "validation_error": min(errors, default=None),
        }

    def protocol(self, run: Run) -> Protocol:
        own = {name: value for name, value in run.settings.items() if name not in ("config", "network")}
        protocol = Protocol(**own)
        if not run.smoke:
            return protocol
        steps, growing = min(protocol.steps, 32), min(protocol.growing, 1)
        return dataclasses.replace(protocol, units=4, passes=1, last=1, steps=steps, growing=growing)

    def tests_of(self, run: Run) -> tuple[str, ...]:
        return self.tests[:1] if run.smoke else self.tests


class LanguageTable(LanguageExperiment):
    """A table of networks that learn one language.

    Attributes:
        paper_errors: row -> the paper's errors on the tests.
    """

    paper_errors: ClassVar[Mapping[str, Sequence[float]]]

    def summary(self, record: Record) -> str:
        return ", ".join(f"{test} {wrong:.1%}" for test, wrong in record["result"]["errors"].items())

    def called(self, record: Record) -> str:
        centroids, shared = record["protocol"]["centroids"], record["protocol"].get("shared_peephole", False)
        network = f"{record['data']['config']}, {record['model']['layer']}"
        return network + f", k = {centroids}" * bool(centroids) + ", p_f = p_i" * shared

    def fields(self, records: Sequence[Record]) -> dict[str, str]:
        by_config = grouped(records, lambda record: (not is_of_the_paper(record), record["data"]["config"]))
        first = [group[0] for of_config in by_config.values() for group in _by_network(of_config).values()]
        tables = [self._table(config, of_config) for (_, config), of_config in by_config.items()]
        return {"tables": "\n\n".join(tables), "runs": runs(first, self.called)}

    def by_row(self, records: Sequence[Record]) -> dict[str, list[list[float]]]:
        """Name of a row -> for each test the errors of its seeds, none where there are no records.

        Records of a shared peephole, and of few tests, are left out.
        """
        found = collections.defaultdict[str, list[list[float]]](lambda: [[] for _ in self.tests])
        for record in records:
            errors, protocol = record["result"]["errors"], record["protocol"]
            if not protocol.get("shared_peephole") and set(self.tests) <= set(errors):
                row = row_name(record["data"]["config"], record["model"]["layer"], protocol["centroids"])
                for test, of_test in zip(self.tests, found[row], strict=True):
                    of_test.append(errors[test])
        return found

    def ahead(self, of: Mapping[str, list[list[float]]], better: str, worse: str, name: str = "") -> list[Finding]:
        """Whether a row has fewer errors than another, for each test; `of` as `by_row`."""
        pairs = zip(map(shown, self.tests), of[better], of[worse], strict=True)
        return [fewer(ours, others, percent, of=f"{name}{test}") for test, ours, others in pairs]

    def _table(self, config: str, records: Sequence[Record]) -> str:
        """A line for each network and number of centroids, the paper's figures below it."""
        tests = sorted(records[0]["result"]["errors"], key=self.tests.index)
        rows: list[list[object]] = []
        for (_, network, centroids, shared), group in _by_network(records).items():
            results = [record["result"] for record in group]
            minutes = statistics.median(result["seconds"] for result in results) / 60
            cells = [mean_and_range([result["errors"][test] for result in results]) for test in tests]
            called = f"{network}, p_f = p_i" if shared else network
            rows.append([called, centroids or None, len(group), f"{minutes:.1f}", *cells])
            paper = self.paper_errors.get(row_name(config, network, centroids))
            if paper is not None:
                rows.append(["*the paper's*", centroids or None, None, None, *(f"*{wrong:.1%}*" for wrong in paper)])
        data = records[0]["data"]
        says = f"`{config}`, {data['words']:,} words for training, {data['positives']:,} of them in the language:\n\n"
        return says + table(["network", "k", "seeds", "median minutes", *map(shown, tests)], rows)


def rows_of(networks: Iterable[str], config: str, centroids: int = 5, **settings: Any) -> dict[str, dict[str, Any]]:
    """Rows of these networks on a config of the words, with settings of the protocol."""
    rows = {}
    for network in networks:
        own = {"centroids": centroids} if network.startswith("SR") else {}
        row = row_name(config, network, own.get("centroids", 0))
        rows[row] = {"config": config, "network": network, **own, **settings}
    return rows


def row_name(config: str, network: str, centroids: int) -> str:
    """The row of a network; the number of centroids is named where it is not 5."""
    return f"{config}-{network}" + (f"-{centroids}" if centroids not in (0, 5) else "")


def percentages(paper_errors: Mapping[str, Sequence[float]]) -> dict[str, str]:
    """Row -> the paper's errors, as the list of experiments shows them."""
    return {row: ", ".join(map(percent, errors)) for row, errors in paper_errors.items()}


def is_of_the_paper(record: Record) -> bool:
    """Whether words and training are the paper's; these come first."""
    config = str(record["data"]["config"])
    return config.endswith("_paper") and "_near" not in config


def shown(test: str) -> str:
    """The name of a test set, as tables head their columns."""
    return test.removeprefix("test_").replace("_", " ")


def _by_network(records: Sequence[Record]) -> dict[tuple[int, str, int, bool], list[Record]]:
    """(place of the network, network, its number of centroids, whether gates share a peephole) -> records."""

    def key(record: Record) -> tuple[int, str, int, bool]:
        network, protocol = record["model"]["layer"], record["protocol"]
        return NETWORKS.index(network), network, protocol["centroids"], protocol.get("shared_peephole", False)

    return grouped(records, key)
