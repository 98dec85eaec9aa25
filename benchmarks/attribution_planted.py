"""Do shares find what was planted?

Four truths that are known before any network is explained:

- **linear**: a linear SimpleRNN of 60 steps, whose shares are products of its matrices;
- **signed words**: a GRU that learned the sum of the values of 20 words, whose shares are these values;
- **intents**: an LSTM with a softmax over four intents, each text with two or three of its intent's three keywords
  among neutral words: how many of a text's keywords are among its largest shares;
- **states**: the hidden Markov model of Tonekaboni et al. (2020) and Crabbe and van der Schaar (2021), with the
  parameters of time_interpret: three numbers at each of 200 steps, of which the hidden state says which one decides the
  label of the step. A GRU learned the labels. The players are the three numbers of a step, and all that came before.

Beside `analysis.attribution` stand its other methods, and where it is installed shap's KernelExplainer; beside the
states, what time_interpret publishes for a GRU of its own (experiments/hmm/results.csv, means of five folds). No code
and no data of it is used.

    pip install shap                                         # optional
    PYTHONPATH=. python benchmarks/attribution_planted.py --out benchmarks/attribution_planted.jsonl
    PYTHONPATH=. python benchmarks/attribution_planted.py --smoke

Lines that are in --out are not repeated. The results, with hardware, date and commit, are in benchmarks/README.md.
"""

import argparse
import importlib.util
import logging
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.networks_of_words import L  # first: it sets Keras's backend

# isort: split
import keras
import numpy as np

from benchmarks.environment import environment
from benchmarks.games import Network
from benchmarks.records import Record, show
from keras_interp_rnn import analysis

Shares = Callable[..., np.ndarray]

PUBLISHED = {
    "Lime": (0.932, 0.438, 0.937, 0.912),
    "DeepLift": (0.920, 0.454, 0.938, 0.912),
    "integrated gradients": (0.918, 0.454, 0.936, 0.909),
    "ExtremalMask": (0.885, 0.781, 0.910, 0.883),
    "occlusion": (0.866, 0.393, 0.870, 0.817),
    "GradientShap": (0.849, 0.414, 0.852, 0.798),
    "augmented occlusion": (0.755, 0.388, 0.915, 0.830),
    "DynaMask": (0.711, 0.763, 0.876, 0.695),
    "Retain": (0.645, 0.334, 0.799, 0.622),
    "FIT": (0.421, 0.549, 0.711, 0.463),
}
"""Of time_interpret: areas under precision, under recall, under the ROC curve and under the curve of both."""


def here(model: keras.Model, x: Any, **options: Any) -> Any:
    return analysis.attribution(model, x, **options)


def fitted(model: keras.Model, draw: Callable[[np.random.Generator], Any], loss: Any, updates: int) -> keras.Model:
    rate = keras.optimizers.schedules.CosineDecay(6e-3, updates)
    model.compile(keras.optimizers.Adam(rate, global_clipnorm=1.0), loss)
    rng = np.random.default_rng(31)
    for _ in range(updates):
        model.train_on_batch(*draw(rng))
    return model


OWN: dict[str, dict[str, Any]] = {
    "as it comes": {},
    "telescoping": {"method": "telescoping"},
    "path integral": {"method": "path_integral"},
    "occlusion": {"method": "occlusion"},
}


def by_kernel(model: keras.Model, x: np.ndarray, absent: np.ndarray, runs: int) -> np.ndarray | None:
    """The shares that shap's KernelExplainer finds with so many runs of each sequence; None where it is missing."""
    if importlib.util.find_spec("shap") is None:
        return None
    import shap

    logging.getLogger("shap").setLevel(logging.ERROR)
    network = Network(model, "float32")
    found = []
    for sequence in x:
        vectors = network.vectors(sequence)

        def game(sets: np.ndarray, vectors: np.ndarray = vectors) -> np.ndarray:
            return network(absent + sets[:, :, None] * (vectors - absent)).astype(np.float64)

        ones = np.ones((1, len(vectors)))
        values = shap.KernelExplainer(game, 0 * ones).shap_values(ones, nsamples=runs, l1_reg=False, silent=True)
        found.append(np.reshape(values, -1))
    return np.array(found)


# A linear network.


def linear(args: Any) -> dict[str, Any]:
    """The largest error of a share in parts of the range of the true ones, and the largest standard error stated."""
    steps, features, units, count = 60, 3, 12, 4
    keras.utils.set_random_seed(7)
    layer, head = L.SimpleRNN(units, activation="linear"), L.Dense(1)
    model = keras.Sequential([keras.Input((steps, features)), layer, head])
    kernel, recurrent, bias = layer.get_weights()
    layer.set_weights([kernel, 0.97 * recurrent, bias])
    x = np.random.default_rng(8).normal(size=(count, steps, features)).astype("float32")
    kernel, recurrent, column = (w.astype(np.float64) for w in (kernel, 0.97 * recurrent, head.get_weights()[0][:, 0]))
    truth = np.zeros((count, steps))
    for t in reversed(range(steps)):
        truth[:, t] = x[:, t].astype(np.float64) @ kernel @ column
        column = recurrent.astype(np.float32).astype(np.float64) @ column
    spread = np.ptp(truth, axis=1, keepdims=True)
    found: dict[str, Any] = {}
    for name, options in OWN.items():
        split = here(model, x, **options)
        found[name] = {"error": float(np.abs((split.shares - truth) / spread).max()), "method": split.method}
        if split.standard_error is not None:
            found[name]["standard_error"] = float((split.standard_error / spread).max())
    others = by_kernel(model, x, np.zeros(features, "float32"), 240)
    if others is not None:
        found["shap KernelExplainer, 240 runs"] = {"error": float(np.abs((others - truth) / spread).max())}
    return found


# A sum of signed words.


def signed_words(args: Any) -> dict[str, Any]:
    """Errors in parts of the range of the values of a text's words; the reference is a word of value 0."""
    rng = np.random.default_rng(9)
    values = np.concatenate([[0.0], rng.permutation(np.concatenate([np.zeros(9), np.linspace(-2, 2, 10)]))])
    steps, count = 24, args.texts or 50

    def draw(rng: np.random.Generator, count: int = 64) -> tuple[np.ndarray, np.ndarray]:
        ids = rng.integers(len(values), size=(count, steps)).astype("int32")
        return ids, values[ids].sum(axis=1)

    keras.utils.set_random_seed(10)
    parts = [keras.Input((None,), dtype="int32"), L.Embedding(len(values), 8), L.GRU(32), L.Dense(1)]
    model = fitted(keras.Sequential(parts), draw, "mse", args.updates)
    ids, total = draw(np.random.default_rng(11), count)
    misfit = float(np.sqrt(np.mean((model.predict_on_batch(ids)[:, 0] - total) ** 2)))
    neutral = model.layers[0].get_weights()[0][0]
    truth = values[ids]
    shares = {name: here(model, ids, reference=neutral, **options).shares for name, options in OWN.items()}
    others = by_kernel(model, ids, neutral, 240)
    if others is not None:
        shares["shap KernelExplainer, 240 runs"] = others
    found: dict[str, Any] = {"misfit of the network": {"error": misfit / np.ptp(values)}}
    for name, own in shares.items():
        gaps = np.abs(own - truth).max(axis=1) / np.ptp(truth, axis=1)
        found[name] = {"error": float(gaps.mean()), "correlation": float(np.corrcoef(own.ravel(), truth.ravel())[0, 1])}
    return found


# Four intents.


def intents(args: Any) -> dict[str, Any]:
    """Recall of a text's k keywords among its k largest shares."""
    kinds, keys, neutral, steps, count = 4, 3, 40, 20, args.texts or 200

    def draw(rng: np.random.Generator, count: int = 64) -> tuple[np.ndarray, np.ndarray]:
        intent = rng.integers(kinds, size=count)
        ids = kinds * keys + rng.integers(neutral, size=(count, steps))
        for row, kind in zip(ids, intent, strict=True):
            k = int(rng.integers(2, keys + 1))
            row[rng.choice(steps, k, replace=False)] = kind * keys + rng.choice(keys, k, replace=False)
        return ids.astype("int32"), intent

    keras.utils.set_random_seed(12)
    parts = [keras.Input((None,), dtype="int32"), L.Embedding(kinds * keys + neutral, 16), L.LSTM(32)]
    model = keras.Sequential([*parts, L.Dense(kinds, "softmax")])
    model = fitted(model, draw, "sparse_categorical_crossentropy", args.updates)
    ids, intent = draw(np.random.default_rng(13), count)
    probabilities = model.predict_on_batch(ids)
    sure = probabilities.max(axis=1)
    is_key = ids < kinds * keys
    found: dict[str, Any] = {
        "the network": {
            "right": float((probabilities.argmax(axis=1) == intent).mean()),
            "above 0.99": float((sure > 0.99).mean()),
        }
    }
    options = {**OWN, "telescoping, of the probability": {"method": "telescoping", "of": "probability"}}
    options["Shapley, of the probability"] = {"method": "shapley", "of": "probability"}
    for name, of_it in options.items():
        shares = here(model, ids, **of_it).shares
        recall = []
        for row, key in zip(shares, is_key, strict=True):
            top = np.argsort(-row, kind="stable")[: key.sum()]
            recall.append(key[top].mean())
        found[name] = {"recall": float(np.mean(recall)), "all of them": float(np.mean(np.array(recall) == 1))}
    return found


# A hidden Markov model.

MEANS = np.array([[0.1, 1.6, 0.5], [-0.1, -0.4, -1.5]])
DECIDES = (1, 2)
"""Which number decides the label, by state."""


def states(rng: np.random.Generator, count: int, steps: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Numbers (count, steps, 3), labels (count, steps), and which number decides (count, steps)."""
    covariances = []
    for decides in DECIDES:
        covariance = np.eye(3) * 0.801
        covariance[decides, 0] = covariance[0, decides] = 0.01
        covariances.append(covariance)
    state, stayed = rng.integers(2, size=count), np.zeros(count)
    x, which = np.zeros((count, steps, 3)), np.zeros((count, steps), int)
    for t in range(steps):
        one = np.where(state == 1, 0.95 - stayed / 500, 0.05)
        new = (rng.random(count) < one).astype(int)
        stayed = np.where(new == state, stayed + 1, 0)
        state = new
        for s in (0, 1):
            x[state == s, t] = rng.multivariate_normal(MEANS[s], covariances[s], size=int((state == s).sum()))
        which[:, t] = np.array(DECIDES)[state]
    decisive = np.take_along_axis(x, which[:, :, None], axis=2)[:, :, 0]
    return x.astype("float32"), (rng.random((count, steps)) < 1 / (1 + np.exp(-2 * decisive))).astype(int), which


def a_step(gru: Any, head: Any) -> keras.Model:
    """A step of a GRU: from a sequence of four vectors, which add up to the state before and the three numbers."""
    units = gru.units
    size = units + 3
    total = L.SimpleRNN(size, activation="linear", use_bias=False)
    vectors = keras.Input((4, size))
    both = total(vectors)
    cell = L.GRU(units)
    state = cell(both[:, None, units:], initial_state=both[:, :units])
    last = L.Dense(1, "sigmoid")
    model = keras.Model(vectors, last(state))
    total.set_weights([np.eye(size), np.eye(size)])
    cell.set_weights(gru.get_weights())
    last.set_weights(head.get_weights())
    return model


def hidden_states(args: Any) -> dict[str, Any]:
    """Areas under precision, recall, the ROC curve, and precision by recall, of the numbers that decide."""
    steps, units = 200, 64
    train, tested = (16, 2) if args.smoke else (800, args.texts or 200)
    keras.utils.set_random_seed(14)
    gru, head = L.GRU(units, return_sequences=True), L.Dense(1, "sigmoid")
    model = keras.Sequential([keras.Input((None, 3)), gru, head])
    x, labels, _ = states(np.random.default_rng(15), train, steps)
    model.compile(keras.optimizers.Adam(3e-3, global_clipnorm=1.0), "binary_crossentropy")
    model.fit(x, labels[:, :, None], batch_size=32, epochs=1 if args.smoke else args.epochs, verbose=0)
    x, labels, which = states(np.random.default_rng(16), tested, steps)
    reader = keras.Sequential([keras.Input((None, 3)), gru])
    before, before_empty = (
        np.concatenate([np.zeros((len(x), 1, units)), reader.predict_on_batch(given)[:, :-1]], axis=1)
        for given in (x, 0 * x)
    )
    rows, empty = np.zeros((2, len(x), steps, 4, units + 3), "float32")
    rows[:, :, 0, :units], empty[:, :, 0, :units] = before, before_empty
    for i in range(3):
        rows[:, :, 1 + i, units + i] = x[:, :, i]
    step_model = a_step(gru, head)
    truth = np.eye(3, dtype=bool)[which]
    right = (model.predict_on_batch(x)[:, :, 0] > 0.5) == labels
    found: dict[str, Any] = {"the network": {"right": float(right.mean())}}
    for name, options in {k: v for k, v in OWN.items() if k != "telescoping"}.items():
        start, shares = time.process_time(), []
        for one, absent in zip(rows, empty, strict=True):
            shares.append(here(step_model, one, target=0, reference=absent, **options).shares[:, 1:])
        found[name] = {**areas(np.abs(shares), truth), "seconds": time.process_time() - start}
    found["at random"] = areas(np.random.default_rng(17).random(truth.shape), truth)
    return found


def areas(scores: np.ndarray, truth: np.ndarray) -> dict[str, float]:
    """Scores are scaled to [0, 1] in each sequence; precision and recall are areas over the threshold."""
    flat = scores.reshape(len(scores), -1)
    low, high = flat.min(axis=1, keepdims=True), flat.max(axis=1, keepdims=True)
    scaled, right = ((flat - low) / (high - low + 1e-5)).ravel(), truth.ravel()
    order = np.argsort(-scaled, kind="stable")
    threshold, hits = scaled[order], np.cumsum(right[order])
    last = np.append(np.diff(threshold) != 0, True)
    threshold, hits, count = threshold[last], hits[last], np.arange(1, len(scaled) + 1)[last]
    precision, recall = hits / count, hits / hits[-1]
    false = (count - hits) / (len(scaled) - hits[-1])
    return {
        "precision": float(-np.trapezoid(precision, threshold)),
        "recall": float(-np.trapezoid(recall, threshold)),
        "roc": float(np.trapezoid(np.append(0, recall), np.append(0, false))),
        "both": float(np.trapezoid(np.append(1, precision), np.append(0, recall))),
    }


TRUTHS = {"linear": linear, "signed words": signed_words, "intents": intents, "states": hidden_states}


def tables(lines: list[dict[str, Any]]) -> Iterator[str]:
    for line in lines:
        if "truth" not in line:
            continue
        found = {key: value for key, value in line.items() if isinstance(value, dict)}
        columns = list(dict.fromkeys(key for value in found.values() for key in value))
        yield f"\n{line['truth']}:\n\n| | {' | '.join(columns)} |\n|{'---|' * (1 + len(columns))}"
        for name, value in found.items():
            yield f"| {name} | {' | '.join(_text(value.get(key, '')) for key in columns)} |"
        if line["truth"] == "states":
            for name, row in PUBLISHED.items():
                of_it = dict(zip(("precision", "recall", "roc", "both"), row, strict=True))
                cells = [f"{of_it[key]:.3f}" if key in of_it else "" for key in columns]
                yield f"| time_interpret, published: {name} | {' | '.join(cells)} |"


def _text(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:.3f}" if value >= 1e-3 else f"{value:.1e}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, help="a file of JSON lines, which are not repeated")
    parser.add_argument("--table", type=Path, help="print the tables of such a file, and measure nothing")
    parser.add_argument("--only", help="truths whose name contains this")
    parser.add_argument("--texts", type=int, help="sequences of each; by default 50 to 200")
    parser.add_argument("--updates", type=int, default=1500, help="of training; default: %(default)s")
    parser.add_argument("--epochs", type=int, default=20, help="of training of the states; default: %(default)s")
    parser.add_argument("--write", action="store_true", help="with --table, into benchmarks/README.md")
    parser.add_argument("--smoke", action="store_true")
    args = parser.parse_args()
    if args.table:
        show(args.table, "attribution_planted", tables, write=args.write)
        return
    if args.smoke:
        args.texts, args.updates = 2, 2
    record = Record(None if args.smoke else args.out)
    record({"environment": environment()}, dict)
    for name, measure in TRUTHS.items():
        if (args.only or "") in name:
            record({"truth": name}, lambda measure=measure: measure(args))
            print(name, flush=True)
    print(*tables(record.lines), sep="\n")


if __name__ == "__main__":
    main()
