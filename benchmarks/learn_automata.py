"""How well does `automata.learn` find the automaton of a network that is none by construction?

LSTMs and GRUs of 24 units are trained on all short words of Tomita's seven languages and of ten random automata. From
each, an automaton is learned: by `learn`, which reads the network's states; by `learn` from its labels alone, as of a
function of words; and by AALpy's L* with two of its oracles, which asks the same weights, stepped in NumPy, and gives
up after `--symbols` symbols. For Tomita's languages the certified state-regularized networks of `presets` are read by
`extract`, and learned too. Every automaton is compared with its network on the same 2,000 words, and with the
language that the network was trained on. A line of JSON for each; lines that are in --out are not repeated.

    PYTHONPATH=. nice -n 10 python benchmarks/learn_automata.py --out benchmarks/learn_automata.jsonl
    PYTHONPATH=. python benchmarks/learn_automata.py --table benchmarks/learn_automata.jsonl
    PYTHONPATH=. python benchmarks/learn_automata.py --smoke

The results, with hardware, date and commit, are in benchmarks/README.md.
"""

import argparse
import functools
import itertools
import json
import os
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import keras
import numpy as np

from keras_interp_rnn import automata, presets

WORDS, SECONDS = 3_000, 3600  # budget of a call of `learn`
LENGTHS = {2: 9, 3: 6}  # symbols -> length up to which all words are trained on
ORACLES = {"L*, W-method": ("RandomWMethodEqOracle", {"walks_per_state": 25, "walk_len": 20})}
ORACLES["L*, words"] = ("RandomWordEqOracle", {"num_walks": 500, "min_walk_len": 5, "max_walk_len": 40})

Learned = tuple[automata.DFA, int, str]
"""The automaton, the number of words that were asked, and a note."""


def languages() -> dict[str, automata.DFA]:
    found = {f"Tomita {number}": automata.tomita(number) for number in range(1, 8)}
    for seed in range(10):
        rng = np.random.default_rng(seed)
        states, alphabet = 4 + seed % 7, "012" if seed % 2 else "01"
        while True:
            table = rng.integers(states, size=(states, len(alphabet))).tolist()
            accepting = np.flatnonzero(rng.random(states) < 0.5).tolist()
            dfa = automata.DFA(table, accepting, alphabet=alphabet).minimize()
            if len(dfa) >= states - 1:
                break
        found[f"random {seed}"] = dfa
    return found


@functools.cache
def network(kind: str, alphabet: tuple[str, ...]) -> tuple[automata.Recognizer, list[np.ndarray]]:
    """A network that is compiled once for all languages of an alphabet, and its variables before training."""
    keras.utils.set_random_seed(0)
    layers = [automata.SymbolEmbedding(alphabet, 4), getattr(keras.layers, kind)(24), keras.layers.Dense(1)]
    model = automata.Recognizer([keras.Input((None,), dtype="int32"), *layers])
    model.compile(
        keras.optimizers.Adam(5e-3, global_clipnorm=1.0),
        keras.losses.BinaryCrossentropy(from_logits=True),
        jit_compile=True,
        steps_per_execution=25,
    )
    model.optimizer.build(model.trainable_variables)
    return model, [
        keras.ops.convert_to_numpy(variable).copy() for variable in (*model.variables, *model.optimizer.variables)
    ]


def trained(kind: str, truth: automata.DFA, smoke: bool) -> tuple[automata.Recognizer, float]:
    """A network without centroids, trained on short words before long ones, and its accuracy on them."""
    alphabet, longest = truth.alphabet, 4 if smoke else LENGTHS[len(truth.alphabet)]
    model, start = network(kind, alphabet)
    for variable, value in zip((*model.variables, *model.optimizer.variables), start, strict=True):
        variable.assign(value)
    words = [word for length in range(longest + 1) for word in itertools.product(alphabet, repeat=length)]
    ids, labels = model.layers[0].alphabet.encode_batch(words), np.array([truth.accepts(word) for word in words])
    lengths, rng = np.array([len(word) for word in words]), np.random.default_rng(0)
    for length in (longest - 4, longest - 2, longest):
        for _ in range(1 if smoke else 6):
            parts = [np.flatnonzero((lengths <= length) & (labels == label)) for label in (False, True)]
            rows = np.concatenate([rng.choice(part, (100, 32)) for part in parts if len(part)], axis=1).ravel()
            history = model.fit(ids[rows], labels[rows].astype("float32"), 64, shuffle=False, verbose=0).history
            if history["loss"][-1] < 0.01:
                break
    return model, float((classifier(model)(words) == labels).mean())


class Stepped:
    """An LSTM or GRU with an embedding and a logit, a symbol at a time, as AALpy asks: whether it accepts so far.

    A step raises TimeoutError after `max_symbols` of them.
    """

    def __init__(self, model: automata.Recognizer, max_symbols: int) -> None:
        embedding, self.recurrent, _ = model.layers
        self.vectors, *cell, self.head, self.bias = model.get_weights()
        self.kernel, self.recurrent_kernel, self.cell_bias = cell
        alphabet = embedding.alphabet
        self.ids, self.start = dict(zip(alphabet.symbols, alphabet.ids, strict=True)), alphabet.start_id
        self.num_symbols, self.num_queries, self.num_steps, self.max_symbols = 0, 0, 0, max_symbols

    def read(self, code: int) -> None:
        x, n = self.vectors[code] @ self.kernel, len(self.h)
        with np.errstate(over="ignore"):
            if isinstance(self.recurrent, keras.layers.LSTM):
                i, f, g, o = np.split(x + self.h @ self.recurrent_kernel + self.cell_bias, 4)
                self.c = sigmoid(f) * self.c + sigmoid(i) * np.tanh(g)
                self.h = sigmoid(o) * np.tanh(self.c)
            else:
                x, inner = x + self.cell_bias[0], self.h @ self.recurrent_kernel + self.cell_bias[1]
                z, r = (sigmoid(x[part] + inner[part]) for part in (slice(0, n), slice(n, 2 * n)))
                self.h = z * self.h + (1 - z) * np.tanh(x[2 * n :] + r * inner[2 * n :])

    def pre(self) -> None:
        self.h = np.zeros(len(self.recurrent_kernel))
        self.c = self.h
        self.read(self.start)

    def post(self) -> None:
        pass

    def step(self, letter: Any) -> bool:
        if letter is not None:
            self.num_symbols += 1
            if self.num_symbols > self.max_symbols:
                raise TimeoutError
            self.read(self.ids[letter])
        return bool(self.h @ self.head[:, 0] + self.bias[0] > 0)

    def query(self, word: tuple[Any, ...]) -> list[bool]:
        self.pre()
        self.num_queries += 1
        return [self.step(letter) for letter in word] if word else [self.step(None)]


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def classifier(model: automata.Recognizer) -> Callable[[list[Any]], np.ndarray]:
    """The model as a function of words, compiled without XLA, which would compile it for every shape."""
    reader, symbols = keras.Model(model.inputs, model.outputs), model.layers[0].alphabet
    reader.compile(jit_compile=False)

    def classify(words: list[Any]) -> np.ndarray:
        longest = max(map(len, words)) + 1
        return reader.predict_on_batch(symbols.encode_batch(words, length=-(-longest // 8) * 8))[:, 0] > 0

    return classify


def by_learn(model: automata.Recognizer, alphabet: Any, symbols: int) -> Learned:
    found = automata.learn(model, max_words=WORDS, time_budget=SECONDS)
    return found.dfa, found.num_words, str(found)


def by_labels(model: automata.Recognizer, alphabet: Any, symbols: int) -> Learned:
    """As from a function of words, by the same compiled model."""
    found = automata.learn(classifier(model), tuple(alphabet), max_words=WORDS, time_budget=SECONDS)
    return found.dfa, found.num_words, str(found)


def by_aalpy(oracle: str, settings: dict[str, int]) -> Callable[[Any, Any, int], Learned]:
    def learn(model: automata.Recognizer, alphabet: Any, symbols: int) -> Learned:
        from aalpy import oracles
        from aalpy.learning_algs import run_Lstar

        system, letters = Stepped(model, symbols), list(alphabet)
        looks = getattr(oracles, oracle)(letters, system, **settings)
        learned, data = run_Lstar(letters, system, looks, automaton_type="dfa", print_level=0, return_data=True)
        words = data["queries_learning"] + data["queries_eq_oracle"]
        return automata.DFA.from_aalpy(learned, alphabet), words, f"{system.num_symbols} symbols"

    return learn


def by_extract(model: automata.Recognizer, alphabet: Any, symbols: int) -> Learned:
    dfa = automata.extract(model).dfa
    return dfa, len(dfa) * len(alphabet), "transitions of centroids"


def words_to_compare(truth: automata.DFA) -> list[tuple[Any, ...]]:
    """Random words up to length 40; half are words of the language, of which every other has a symbol changed."""
    rng = random.Random(0)
    words: list[tuple[Any, ...]] = [tuple(rng.choices(truth.alphabet, k=rng.randint(1, 40))) for _ in range(1000)]
    lengths = [length for length in range(1, 41) if truth.count(length)]
    for i in range(1000 if lengths else 0):
        word = truth.sample(rng.choice(lengths), rng)
        place = rng.randrange(len(word))
        words.append((*word[:place], rng.choice(truth.alphabet), *word[place + 1 :]) if i % 2 else word)
    return words


def tried(
    model: automata.Recognizer, methods: dict[str, Any], truth: automata.DFA, symbols: int
) -> Iterator[dict[str, Any]]:
    tests = words_to_compare(truth)
    labels = classifier(model)(tests).tolist()
    for method, learn in methods.items():
        random.seed(0)
        started, used = time.perf_counter(), time.process_time()
        try:
            dfa, words, note = learn(model, truth.alphabet, symbols)
        except TimeoutError:
            yield {"method": method, "states": None}
            continue
        seconds, processor = time.perf_counter() - started, time.process_time() - used
        agreeing = sum(dfa.accepts(word) == label for word, label in zip(tests, labels, strict=True))
        yield {
            "method": method,
            "states": len(dfa.minimize()),
            "words": words,
            "seconds": round(seconds, 2),
            "processor_seconds": round(processor, 2),
            "agreement": agreeing / len(tests),
            "language": dfa.equivalent(truth),
            "note": note,
        }


def measured(args: argparse.Namespace) -> Iterator[dict[str, Any]]:
    aalpy = {name: by_aalpy(*oracle) for name, oracle in ORACLES.items()}
    queries = {"learn": by_learn, "learn, labels alone": by_labels, **aalpy}
    done = {(row["language_name"], row["network"]) for row in rows_of(args.out)} if args.out.exists() else set()
    known = languages()
    kinds = {"Tomita": ("LSTM", "SR-GRU", "GRU"), "random": ("GRU", "LSTM")}
    pairs = [(name, kind) for name in known for kind in kinds[name.split()[0]]]
    pairs.sort(key=lambda pair: int(pair[0].split()[1]))  # some of every family first
    for name, kind in pairs[: 1 if args.smoke else None]:
        if (name, kind) not in done:
            truth = known[name]
            began = time.process_time()
            if kind == "SR-GRU":
                model, accuracy = presets.load(f"tomita-{name[-1]}").model, 1.0
            else:
                model, accuracy = trained(kind, truth, args.smoke)
            methods = {"extract": by_extract, "learn": by_learn} if kind == "SR-GRU" else queries
            print(name, kind, f"trained in {time.process_time() - began:.0f} processor seconds", flush=True)
            results = list(tried(model, methods, truth, 200 if args.smoke else args.symbols))
            yield {
                "language_name": name,
                "true_states": len(truth),
                "network": kind,
                "accuracy": accuracy,
                "results": results,
            }


def rows_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def table(rows: list[dict[str, Any]]) -> Iterator[str]:
    """Medians over the networks of a kind, for each method."""
    yield "| networks | method | ended | states | right | agreement: median, least | words | processor seconds |"
    yield "|---|---|---|---|---|---|---|---|"
    for family in ("Tomita", "random"):
        for kind in ("LSTM", "GRU", "SR-GRU"):
            chosen = [row for row in rows if row["language_name"].startswith(family) and row["network"] == kind]
            for method in dict.fromkeys(result["method"] for row in chosen for result in row["results"]):
                results = [result for row in chosen for result in row["results"] if result["method"] == method]
                ended = [result for result in results if result["states"] is not None]
                figures = {
                    name: [result[name] for result in ended]
                    for name in ("states", "agreement", "words", "processor_seconds", "language")
                }
                if not ended:
                    yield f"| {family}, {kind} | {method} | 0 of {len(results)} | | | | | |"
                    continue
                median = {name: statistics.median(values) for name, values in figures.items()}
                yield (
                    f"| {family}, {kind} | {method} | {len(ended)} of {len(results)} | {median['states']:g} | "
                    f"{sum(figures['language'])} | {median['agreement']:.2%}, {min(figures['agreement']):.2%} | "
                    f"{median['words']:,.0f} | {median['processor_seconds']:.1f} |"
                )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--smoke", action="store_true", help="one language and a toy size")
    parser.add_argument("--out", type=Path, default=Path("learn_automata.jsonl"))
    parser.add_argument("--symbols", type=int, default=100_000, help="that AALpy may let a network read")
    parser.add_argument("--table", type=Path, help="print the table of this file, and measure nothing")
    args = parser.parse_args()
    if args.table:
        print(*table(rows_of(args.table)), sep="\n")
        return
    if args.smoke:
        args.out = Path(tempfile.mkdtemp()) / "smoke.jsonl"
    for row in measured(args):
        with args.out.open("a") as out:
            print(json.dumps(row), file=out)
        for result in row["results"]:
            print(row["language_name"], row["network"], f"accuracy {row['accuracy']:.4f}", result, flush=True)
    print(*table(rows_of(args.out)), sep="\n")


if __name__ == "__main__":
    main()
