"""Words drawn from probabilistic automata: an ISAN beside spectral learning, n-grams and an LSTM (PAutomaC).

A word x_1 ... x_T is read as the text end, x_1, ..., x_T and predicted as x_1, ..., x_T, end. The networks are trained
on one text of all words; the matrix of the end symbol of an ISAN is kept at 0, so that each word begins anew.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from examples.papers import _characters, _records
from examples.papers._experiment import Experiment, Record, Run, by_row, mean_and_range, runs, table
from examples.papers._files import kept
from examples.papers._lazy import Array, analysis, automata, corpora, datasets, keras, layers, losses, np, training

if TYPE_CHECKING:
    Words = Sequence[Array]

PROBLEMS = (3, 6, 9, 10, 19, 24, 34, 47)
"""Numbers in the competition: both sizes of training set, alphabets of 4 to 21 symbols."""

UNITS, BATCH, LENGTH, EPOCHS = 32, 128, 50, 10
"""State size of the ISAN, and its training; the LSTM has as many weights and takes as long."""

SETTINGS: Mapping[str, Mapping[str, Any]] = {
    "ISAN": {"learning_rate": 0.35, "clip": 0.144, "scale": 0.9, "batch": BATCH},
    "LSTM": {"learning_rate": _characters.RATES["LSTM"], "clip": 1.0, "scale": 1.0, "batch": 32},
}
"""As in `_characters`: the learning rate is divided by the number of units."""

ORDERS = range(1, 8)
"""Of the n-grams, chosen on the validation words."""

RANKS = (4, 8, 16, 24, 32, 48, 64, 100)
"""Of spectral learning, chosen on the validation words."""

SMOOTHING = 0.01
"""Weight of the unigrams beside a spectral estimate, which may be 0 or below."""


@dataclass(frozen=True, eq=False)
class Problem:
    """Words of a problem, symbols 0 to `end` - 1; `targets` are the machine's probabilities of the test words."""

    train: list[Array]
    validation: list[Array]
    test: list[Array]
    targets: Array
    end: int


class ProbabilisticAutomata(Experiment):
    """Test perplexities on the competition's problems; every row runs all of them."""

    name = "pautomac"
    title = "Probabilistic automata"
    place = "Verwer, Eyraud and de la Higuera 2014, PAutomaC"
    measure = "test perplexity above the machine's own"
    data = "the competition's files, a folder or an archive of it"
    options = frozenset({"data"})
    rows = {
        "n-grams": {"model": "n-grams"},
        "spectral": {"model": "spectral"},
        "ISAN": {"model": "ISAN", "start": "random", "steps": 2000},
        "ISAN, spectral start": {"model": "ISAN", "start": "spectral", "steps": 2000},
        "LSTM": {"model": "LSTM", "start": "random", "steps": 2000},
    }

    def read(self, data: Path | None, smoke: bool, settings: Mapping[str, Any]) -> dict[int, Problem]:
        """Number -> problem."""
        if smoke:
            return {0: _drawn()}
        if data is None:
            raise ValueError("The competition's files are not downloaded. Received: no --data. Give their folder.")
        found = {}
        for number in PROBLEMS:
            words = corpora.pautomac.load("train", problem=number, source=data)
            held_out = len(words.words) // 10
            test = corpora.pautomac.load("test", problem=number, source=data)
            targets = corpora.pautomac.solution(number, source=data)
            parts = list(words.words[held_out:]), list(words.words[:held_out]), list(test.words)
            found[number] = Problem(*parts, targets, words.num_symbols)
        return found

    def identity(self, run: Run) -> dict[str, Any]:
        problems = self.load(run).values()
        digests = [_records.sha256(_text(one.train, one.end), _text(one.test, one.end)) for one in problems]
        of_all = (np.frombuffer(digest.encode(), np.uint8) for digest in digests)
        return {"sha256": digests[0] if len(digests) == 1 else _records.sha256(*of_all)}

    def is_deterministic(self, row: str) -> bool:
        return self.rows[row]["model"] in ("n-grams", "spectral")

    def run(self, run: Run) -> Record:
        perplexity = corpora.pautomac.perplexity
        model, problems = run.settings["model"], self.load(run)
        environment = _records.start_run(run.folder, {**run.settings, "seed": run.seed, **self.identity(run)})
        results: dict[str, Any] = {}
        for number, problem in problems.items():
            began = time.monotonic()
            log_probability, more = _learned(model, problem, run, run.folder / str(number))
            seconds = more.pop("training_seconds", None) or time.monotonic() - began
            validation = -float(log_probability(problem.validation).sum()) / len(_text(problem.validation, 0)[1:])
            machine = perplexity(problem.targets, problem.targets)
            logarithms = log_probability(problem.test)  # over the largest, as the perplexity divides by the sum
            found = perplexity(np.maximum(np.exp(logarithms - logarithms.max()), 1e-300), problem.targets)
            results[str(number)] = {
                **{"perplexity": found, "machine": machine, "above": found / machine - 1},
                **{"validation_nats": validation, "seconds": seconds, **more},
            }
            if run.verbose:
                print(f"  problem {number}: {found:.3f}, {found / machine - 1:+.2%}, {seconds:.0f} s", flush=True)
        return {
            "environment": environment,
            "data": {"name": "smoke" if run.smoke else "PAutomaC", **self.identity(run)},
            "model": {"layer": run.row},
            "protocol": {**run.settings, **SETTINGS.get(model, {}), "seed": run.seed},
            "result": results,
        }

    def summary(self, record: Record) -> str:
        above = [result["above"] for result in record["result"].values()]
        within = sum(one <= 0.01 for one in above)
        return f"{within} of {len(above)} problems within 1 % of the machine, median {statistics.median(above):+.2%}"

    def called(self, record: Record) -> str:
        return f"{record['model']['layer']}, seed {record['protocol']['seed']}"

    def fields(self, records: Sequence[Record]) -> dict[str, str]:
        of_row = {row: [record["result"] for record in group] for row, group in by_row(records).items()}
        machine = {number: one["machine"] for record in records for number, one in record["result"].items()}
        rows = []
        for number in sorted(machine, key=int):
            above = [[of[number]["above"] for of in group if number in of] for group in of_row.values()]
            rows.append([number, f"{machine[number]:.3f}", *(mean_and_range(one, "{:+.2%}".format) for one in above)])
        rows.append(["within 1 %", "", *map(_within, of_row.values())])
        seconds = [
            statistics.median(one["seconds"] for of in group for one in of.values()) for group in of_row.values()
        ]
        rows.append(["median seconds", "", *(f"{one:.0f}" for one in seconds)])
        return {"table": table(["problem", "machine", *of_row], rows), "runs": runs(records, self.called)}


def _within(group: Sequence[Record]) -> str:
    counts = [sum(one["above"] <= 0.01 for one in of.values()) for of in group]
    most = len(group[0])
    return f"{min(counts)} to {max(counts)} of {most}" if min(counts) < max(counts) else f"{counts[0]} of {most}"


def _learned(model: str, problem: Problem, run: Run, folder: Path) -> tuple[Callable[[Words], Array], dict[str, Any]]:
    """Words -> natural logarithms of their probabilities, and what the record says of the model."""
    if model == "n-grams":
        ngrams = _ngrams(problem)
        return lambda words: _of_ngrams(ngrams, words, problem.end), {"order": ngrams.order}
    if model == "spectral":
        automaton = _spectral(problem, (2, 3) if run.smoke else RANKS)
        return lambda words: of_automaton(automaton, words, _unigrams(problem)), {"rank": len(automaton)}
    network, more = _trained(model, problem, run, folder)
    return lambda words: of_network(network, words, problem.end), more


# Counted and spectral models


def _ngrams(problem: Problem) -> analysis.BackoffModel:
    """The order with the lowest loss on the validation words."""
    text, size = _text(problem.train, problem.end), problem.end + 1
    models = [analysis.BackoffModel(text, order, vocabulary_size=size) for order in ORDERS]
    return max(models, key=lambda one: _of_ngrams(one, problem.validation, problem.end).sum())


def _of_ngrams(model: analysis.BackoffModel, words: Words, end: int) -> Array:
    first = model.bits([end])
    texts = [_text([word], end) for word in words]
    return np.array([first - model.bits(text) * len(text) for text in texts]) * np.log(2)


def _spectral(problem: Problem, ranks: Sequence[int]) -> automata.WeightedAutomaton:
    """The rank with the lowest loss on the validation words."""
    found: list[tuple[float, int, automata.WeightedAutomaton]] = []
    for rank in ranks:
        try:
            automaton = automata.WeightedAutomaton.from_hankel(problem.train, rank, num_symbols=problem.end)
            likelihood = of_automaton(automaton, problem.validation, _unigrams(problem)).sum()
        except ValueError:  # the table has a lower rank, or the values of long words do not fall off
            continue
        found.append((likelihood, -len(found), automaton))
    if not found:
        raise ValueError(f"No rank of {tuple(ranks)} gives an automaton. Received: too few words. Pass more words.")
    return max(found)[2]


def _unigrams(problem: Problem) -> Array:
    """(end + 1,), frequencies of the symbols and of the end in the training words."""
    counts = np.bincount(_text(problem.train, problem.end)[1:], minlength=problem.end + 1)
    return np.asarray(counts / counts.sum())


def of_automaton(automaton: automata.WeightedAutomaton, words: Words, unigrams: Array | None = None) -> Array:
    """Logarithms of the probabilities of words: sums of those of each symbol after its prefix.

    With unigrams, those of a symbol after a prefix are mixed with them, as estimates may be 0 or below; these count as
    0, and a prefix whose estimate is not above 0 is read as the empty one.
    """
    prefixes, end = automaton.prefix_sums().final, automaton.num_symbols
    views = np.concatenate([automaton.transitions @ prefixes, automaton.final[None]]).T
    logarithms = np.zeros(len(words))
    for rows, _, targets, _ in _padded(words, end):
        states = np.repeat(automaton.initial[None], len(rows), axis=0)
        for t in range(targets.shape[1]):
            p = np.maximum(states @ views / (states @ prefixes)[:, None], 0.0)
            p /= p.sum(axis=1, keepdims=True)
            if unigrams is not None:
                p = (1 - SMOOTHING) * p + SMOOTHING * unigrams
            live = np.array([t <= len(words[row]) for row in rows])
            logarithms[rows[live]] += np.log(p[live, targets[live, t]])
            for symbol in range(end):
                here = targets[:, t] == symbol
                states[here] = states[here] @ automaton.transitions[symbol]
            totals = states @ prefixes
            states = np.where(totals[:, None] > 1e-12, states / np.maximum(totals, 1e-12)[:, None], automaton.initial)
    return logarithms


# Networks


def build(network: str, end: int, steps: int, *, batch: int | None = None, length: int | None = None) -> keras.Model:
    """A compiled model, ids (batch, length) to logits (batch, length, end + 1); stateful if it has a batch size."""
    from examples.papers._layers import ResetAt

    settings, symbols = SETTINGS[network], end + 1
    start = keras.initializers.Orthogonal(settings["scale"])
    flags: dict[str, Any] = {"return_sequences": True, "stateful": batch is not None, "recurrent_initializer": start}
    weights = _characters.parameters("ISAN", UNITS, symbols, symbols)
    units = UNITS if network == "ISAN" else _characters.largest_units(network, weights, symbols, symbols)
    if network == "ISAN":
        recurrent = [layers.ISAN(units, symbols, recurrent_constraint=ResetAt(end), **flags)]
    else:
        one_hot = keras.layers.Embedding(symbols, symbols, embeddings_initializer="identity", trainable=False)
        recurrent = [one_hot, keras.layers.LSTM(units, **flags)]
    inputs = keras.Input((length,), batch_size=batch, dtype="int32")
    model = keras.Sequential([inputs, *recurrent, keras.layers.Dense(symbols)])
    rate = training.schedule(settings["learning_rate"] / units, steps, 200)
    model.compile(keras.optimizers.Adam(rate, global_clipnorm=settings["clip"]), losses.BitsPerSymbol())
    return model


def _trained(network: str, problem: Problem, run: Run, folder: Path) -> tuple[keras.Model, dict[str, Any]]:
    """A network trained on the words, or resumed, its last weights; and what the record says of it."""
    from examples.papers import _layers  # noqa: F401 - a class of models to resume

    length, epochs = (10, 2) if run.smoke else (LENGTH, EPOCHS)
    batch = 4 if run.smoke else SETTINGS[network]["batch"]
    of_isan = 20 if run.smoke else run.settings["steps"]
    steps = of_isan if network == "ISAN" else _as_long_as_the_isan(network, of_isan, problem, folder, run.smoke)
    steps = max(1, steps // epochs)
    text = _shuffled(problem.train, problem.end, epochs * steps * batch * length + batch, run.seed)
    keras.utils.set_random_seed(run.seed)
    start = _spectral_start(problem, run) if run.settings["start"] == "spectral" else None

    def make() -> keras.Model:
        model = build(network, problem.end, steps * epochs, batch=batch, length=length)
        if start is not None:
            model.set_weights(start)
        elif network == "ISAN":
            isan = model.layers[0].cell
            isan.recurrent_kernel.assign(isan.recurrent_kernel.constraint(isan.recurrent_kernel))
        return model

    def batches(first: int, count: int) -> Any:
        return datasets.Windows(text, batch, length=length, start=first, num_windows=count)

    validation = datasets.Windows(_text(problem.validation, problem.end), batch, length=length)
    done = training.fit(folder, make, batches, validation, steps, epochs, 0)
    last = done.load()
    assert last is not None
    model = build(network, problem.end, 1)
    model.set_weights(last.get_weights())
    seconds = training.training_seconds(done.history)
    return model, {"training_seconds": seconds, "steps": steps * epochs, "parameters": model.count_params()}


def _as_long_as_the_isan(network: str, of_isan: int, problem: Problem, folder: Path, smoke: bool) -> int:
    """The number of steps of a network that take as long as the ISAN's: both are timed in turn, once."""

    def timed() -> dict[str, int]:
        length = 10 if smoke else LENGTH
        seconds: dict[str, list[float]] = {"ISAN": [], network: []}
        models, windows = {}, {}
        for name in seconds:
            batch = 4 if smoke else SETTINGS[name]["batch"]
            models[name] = build(name, problem.end, of_isan, batch=batch, length=length)
            text = _shuffled(problem.train, problem.end, batch * length + 1, 0)
            windows[name] = text[:-1].reshape(-1, length), text[1:].reshape(-1, length)
        for _ in range(4 if smoke else 20):
            for name, model in models.items():
                began = time.monotonic()
                model.train_on_batch(*windows[name])
                seconds[name].append(time.monotonic() - began)
        isan, own = (statistics.median(seconds[name][2:]) for name in ("ISAN", network))
        return {"steps": max(1, round(of_isan * isan / own))}

    return int(kept(folder / "plan.json", timed, steps=int)["steps"])


def of_network(network: keras.Model, words: Words, end: int) -> Array:
    """Logarithms of the probabilities of words under a network."""
    logarithms = np.zeros(len(words))
    for rows, inputs, targets, mask in _padded(words, end):
        logits = keras.ops.convert_to_numpy(network(inputs)).astype(np.float64)
        logits -= np.logaddexp.reduce(logits, axis=-1, keepdims=True)
        log_p = np.take_along_axis(logits, targets[..., None], axis=-1)[..., 0]
        logarithms[rows] = (log_p * mask).sum(axis=1)
    return logarithms


def _spectral_start(problem: Problem, run: Run) -> list[Array]:
    """Weights of an ISAN whose first coordinates are the states of a spectral automaton.

    The states of an automaton shrink with the probability of the prefix, so each matrix is divided by what it does to
    the length of a state in the geometric mean. The readout is a logistic regression on the states of the training
    words. The other coordinates start as usual, without a part in the readout.
    """
    from sklearn.linear_model import LogisticRegression

    ranks = [rank for rank in ((2, 3) if run.smoke else RANKS) if rank <= UNITS]
    automaton = _spectral(problem, ranks)
    rank, end = len(automaton), problem.end
    model = build("ISAN", end, 1)
    kernel, bias, *rest = model.layers[0].get_weights()
    text = _text(problem.train, end)[:50_000]
    initial = automaton.initial / np.linalg.norm(automaton.initial)
    growth: list[list[float]] = [[] for _ in range(end)]
    state = initial
    for symbol in text[1:]:
        if symbol == end:
            state = initial
            continue
        state = state @ automaton.transitions[symbol]
        length = float(np.linalg.norm(state))
        growth[symbol].append(np.log(max(length, 1e-12)))
        state = state / length if length > 1e-12 else initial
    scales = np.exp(np.array([np.mean(one) if one else 0.0 for one in growth]))
    kernel[:, :rank], kernel[:, :, :rank], bias[:, :rank] = 0, 0, 0
    kernel[:end, :rank, :rank] = automaton.transitions / scales[:, None, None]
    kernel[end] = 0
    bias[end, :rank] = initial
    states, state = [], np.zeros(UNITS)
    for symbol in text[:-1]:
        state = state @ kernel[symbol] + bias[symbol]
        states.append(state[:rank])
    spread = np.sqrt(np.mean(np.square(states), axis=0)) + 1e-6
    fitted = LogisticRegression(max_iter=300).fit(np.array(states) / spread, text[1:])
    matrix, offset = np.zeros((UNITS, end + 1), np.float32), np.full(end + 1, -10.0, np.float32)
    coefficients = fitted.coef_ if len(fitted.classes_) > 2 else np.concatenate([-fitted.coef_, fitted.coef_]) / 2
    intercept = fitted.intercept_ if len(fitted.classes_) > 2 else np.array([-1, 1]) * fitted.intercept_ / 2
    matrix[:rank, fitted.classes_], offset[fitted.classes_] = (coefficients / spread).T, intercept
    return [kernel, bias, *rest, matrix, offset]


# Words


def _text(words: Words, end: int) -> Array:
    """All words in one text, the end symbol before the first one and after each."""
    return np.concatenate([[end], *(np.append(word, end) for word in words)]).astype(np.int32)


def _shuffled(words: Words, end: int, size: int, seed: int) -> Array:
    """A text of that size: all words again and again, in an order drawn for each pass."""
    rng, parts, total = np.random.default_rng(seed), [np.array([end], np.int32)], 1
    while total < size:
        part = _text([words[i] for i in rng.permutation(len(words))], end)[1:]
        parts.append(part)
        total += len(part)
    return np.concatenate(parts)[:size]


def _padded(words: Words, end: int, batch: int = 256) -> Iterator[tuple[Array, Array, Array, Array]]:
    """Batches of words of similar length: which they are, inputs, targets, and where these are of the word."""
    order = np.argsort([len(word) for word in words], kind="stable")
    for rows in (order[i : i + batch] for i in range(0, len(words), batch)):
        longest = max(len(words[row]) for row in rows) + 1
        inputs = np.full((len(rows), longest), end, np.int32)
        targets, mask = inputs.copy(), np.zeros(inputs.shape)
        for i, row in enumerate(rows):
            word = words[row]
            inputs[i, 1 : len(word) + 1], targets[i, : len(word)], mask[i, : len(word) + 1] = word, word, 1
        yield rows, inputs, targets, mask


def _drawn() -> Problem:
    """Words of a small hidden Markov model, for `smoke`."""
    initial, stop = np.array([1.0, 0.0]), np.array([0.2, 0.3])
    moves = np.array([[0.7, 0.3], [0.4, 0.6]])
    emissions = np.array([[0.6, 0.3, 0.1], [0.1, 0.2, 0.7]])
    rng, words = np.random.default_rng(0), []
    for _ in range(400):
        state, word = 0, list[int]()
        while rng.random() >= stop[state]:
            word.append(int(rng.choice(3, p=emissions[state])))
            state = int(rng.choice(2, p=moves[state]))
        words.append(np.array(word, np.int32))
    machine = automata.WeightedAutomaton.from_hmm(initial, moves, emissions, stop=stop)
    test = [np.array(word, np.int32) for word in {tuple(word.tolist()): None for word in words[300:]}]
    return Problem(words[40:300], words[:40], test, machine.values(test), 3)
