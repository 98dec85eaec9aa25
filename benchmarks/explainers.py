"""How near do the explainers of shap, shapiq, captum and xplique come to the Shapley values of an LSTM, at what cost?

Keras LSTMs learn Tomita's fourth language, words without three 0s in a row. The logits of words of 12 symbols are
split among the symbols, by `analysis.attribution` and by the explainers of every package that is installed. captum, and
shap where the table says so, read a torch network with the same weights. All explain the same game: an absent symbol is
replaced by a reference, so the worth of a set S of steps is

    v(S) = f(the word, with the reference at every step outside S).

Its Shapley values, summed over all 4,096 sets in float64, are the measure. The reference is the mean of the symbols'
vectors. It is subtracted from them and added to the LSTM's bias, so that it becomes 0, the one reference that all
packages take. The networks read vectors; the shares of a step's features are added up.

    pip install shap shapiq captum xplique                # optional
    PYTHONPATH=. python benchmarks/explainers.py          # five minutes on one thread
    PYTHONPATH=. python benchmarks/explainers.py --smoke

The results, with hardware, date and commit, are in benchmarks/README.md.
"""

import argparse
import contextlib
import importlib.metadata
import importlib.util
import io
import itertools
import json
import os
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import keras
import numpy as np
import tensorflow as tf
from scipy import stats
from turns import in_turn

from benchmarks.environment import environment
from benchmarks.games import shapley_values
from benchmarks.records import into_readme, where
from keras_interp_rnn import analysis, automata

LENGTH, FEATURES, UNITS = 12, 8, 16
SETS = np.array(list(itertools.product((0, 1), repeat=LENGTH)))
"""All sets of steps, a row each: 1 where a step is present."""

SAMPLES = 960
"""Of methods that have no number of their own, out of 4,096 sets."""

POISON = "DeepExplainer"
"""Where it fails, it leaves TensorFlow unable to differentiate in this process: it comes last."""

Method = Callable[[np.ndarray], np.ndarray]
"""Shares (words, LENGTH), from the vectors of words (words, LENGTH, FEATURES)."""


def over_vectors(weights: list[np.ndarray], dtype: str) -> keras.Model:
    """The network from the vectors of the symbols on."""
    parts = keras.Input((LENGTH, FEATURES)), keras.layers.LSTM(UNITS, dtype=dtype), keras.layers.Dense(1, dtype=dtype)
    model = keras.Sequential(parts)
    model.set_weights(weights)
    return model


def trained(seed: int, epochs: int) -> tuple[list[np.ndarray], np.ndarray, float]:
    """Weights of a network over vectors whose mean is 0, these vectors, and the fraction of right answers."""
    keras.utils.set_random_seed(seed)
    embedding, layer, head = keras.layers.Embedding(2, FEATURES), keras.layers.LSTM(UNITS), keras.layers.Dense(1)
    model = keras.Sequential([keras.Input((LENGTH,), dtype="int32"), embedding, layer, head])
    model.compile(keras.optimizers.Adam(1e-2, global_clipnorm=1.0), keras.losses.BinaryCrossentropy(from_logits=True))
    language = automata.tomita(4)
    labels = np.array([language.accepts("".join(map(str, word))) for word in SETS])
    model.fit(SETS, labels, batch_size=64, epochs=epochs, verbose=0)
    right = np.mean((model.predict_on_batch(SETS)[:, 0] > 0) == labels)
    [table], [kernel, recurrent, bias] = embedding.get_weights(), layer.get_weights()
    mean = table.mean(axis=0)
    return [kernel, recurrent, bias + mean @ kernel, *head.get_weights()], table - mean, float(right)


def by_enumeration(network: keras.Model, vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The Shapley values of every word, and what they have to add up to."""
    games = [network.predict_on_batch(SETS[:, :, None] * word)[:, 0].astype(np.float64) for word in vectors]
    values = np.array([shapley_values(worth.reshape((2,) * LENGTH)) for worth in games])
    return values, np.array([worth[-1] - worth[0] for worth in games])


def twin(weights: list[np.ndarray]) -> Any:
    """The network in torch."""
    import torch

    class Twin(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.lstm = torch.nn.LSTM(FEATURES, UNITS, batch_first=True)
            self.head = torch.nn.Linear(UNITS, 1)

        def forward(self, vectors: Any) -> Any:
            return self.head(self.lstm(vectors)[0][:, -1])

    torch.set_num_threads(1)
    made = Twin()
    kernel, recurrent, bias, head, shift = (torch.tensor(weight) for weight in weights)
    arrays = (kernel.T, recurrent.T, bias, torch.zeros_like(bias), head.T, shift)
    made.load_state_dict(dict(zip(made.state_dict(), arrays, strict=True)))
    return made.eval()


def of_this_package(network: keras.Model) -> dict[str, Method]:
    def method(name: str, **options: Any) -> Method:
        return lambda vectors: analysis.attribution(network, vectors, target=0, method=name, **options).shares

    found = {"as it comes": method("auto")}
    found |= {name: method(name) for name in ("telescoping", "path_integral", "occlusion")}
    more = {f"path_integral, num_points={points}": method("path_integral", num_points=points) for points in (50, 1000)}
    return {**found, **more}


def of_shap(network: keras.Model, torch_network: Any) -> dict[str, Method]:
    import shap

    nothing, all_steps = np.zeros((1, LENGTH)), np.ones((1, LENGTH))
    masker = shap.maskers.Independent(nothing)
    absent = np.zeros((1, LENGTH, FEATURES), np.float32)

    def each(explained: Callable[[Any], Any]) -> Method:
        """The steps are the features of a function of their presence, a function for each word."""

        def shares(vectors: np.ndarray) -> np.ndarray:
            games = [
                lambda sets, word=word: network.predict_on_batch(sets[:, :, None] * word)[:, 0] for word in vectors
            ]
            return np.array([np.reshape(explained(game), -1) for game in games])

        return shares

    def added(values: Any) -> np.ndarray:
        return np.reshape(values, (-1, LENGTH, FEATURES)).sum(axis=-1)

    def deep(vectors: np.ndarray) -> np.ndarray:
        return added(shap.DeepExplainer(network, absent).shap_values(vectors))

    def deep_torch(vectors: np.ndarray) -> np.ndarray:
        import torch

        return added(shap.DeepExplainer(torch_network, torch.tensor(absent)).shap_values(torch.tensor(vectors)))

    found = {
        "ExactExplainer": each(lambda game: shap.ExactExplainer(game, masker)(all_steps, silent=True).values),
        "KernelExplainer, l1_reg=False": each(
            lambda game: shap.KernelExplainer(game, nothing).shap_values(all_steps, l1_reg=False, silent=True)
        ),
        "PermutationExplainer": each(
            lambda game: shap.PermutationExplainer(game, masker)(all_steps, silent=True).values
        ),
        "GradientExplainer": lambda vectors: added(shap.GradientExplainer(network, absent).shap_values(vectors)),
    }
    if torch_network is not None:
        found["DeepExplainer, torch"] = deep_torch
    return {**found, POISON: deep}


def of_shapiq(network: keras.Model) -> dict[str, Method]:
    from shapiq import approximator

    def method(name: str) -> Method:
        def shares(vectors: np.ndarray) -> np.ndarray:
            found = []
            for word in vectors:
                sampler = getattr(approximator, name)(n=LENGTH, random_state=0)

                def game(sets: np.ndarray, word: np.ndarray = word) -> np.ndarray:
                    return network.predict_on_batch(np.atleast_2d(sets)[:, :, None] * word)[:, 0]

                values = sampler.approximate(SAMPLES, game)
                found.append([values[(step,)] for step in range(LENGTH)])
            return np.array(found)

        return shares

    names = ("KernelSHAP", "SVARM", "PermutationSamplingSV")
    return {f"{name}, {SAMPLES} runs": method(name) for name in names}


def of_captum(torch_network: Any) -> dict[str, Method]:
    import torch
    from captum import attr

    steps = torch.arange(LENGTH)[None, :, None].repeat(1, 1, FEATURES)

    def added(explainer: Any) -> Method:
        return lambda vectors: explainer.attribute(torch.tensor(vectors), target=0).detach().numpy().sum(axis=-1)

    def sampled(vectors: np.ndarray) -> np.ndarray:
        explainer = attr.ShapleyValueSampling(torch_network)
        return explainer.attribute(torch.tensor(vectors), target=0, feature_mask=steps).detach().numpy()[..., 0]

    def kernel(vectors: np.ndarray) -> np.ndarray:
        options = {"target": 0, "feature_mask": steps, "n_samples": SAMPLES, "perturbations_per_eval": SAMPLES}
        with torch.no_grad():
            found = [attr.KernelShap(torch_network).attribute(torch.tensor(one[None]), **options) for one in vectors]
        return np.stack([shares[0, :, 0].numpy() for shares in found])

    return {
        "IntegratedGradients": added(attr.IntegratedGradients(torch_network)),
        "ShapleyValueSampling": sampled,
        f"KernelShap, n_samples={SAMPLES}": kernel,
        "DeepLift": added(attr.DeepLift(torch_network)),
    }


def of_xplique(network: keras.Model) -> dict[str, Method]:
    from xplique import attributions

    steps = tf.repeat(tf.range(LENGTH)[:, None], FEATURES, axis=1)

    def explained(explainer: Any, vectors: np.ndarray) -> np.ndarray:
        return np.asarray(explainer.explain(vectors, np.ones((len(vectors), 1), np.float32)))

    def integrated(vectors: np.ndarray) -> np.ndarray:
        explainer = attributions.IntegratedGradients(network, baseline_value=0.0)
        return explained(explainer, vectors).reshape(-1, LENGTH, FEATURES).sum(axis=-1)

    def kernel(vectors: np.ndarray) -> np.ndarray:
        explainer = attributions.KernelShap(network, map_to_interpret_space=lambda word: steps)
        return explained(explainer, vectors).reshape(len(vectors), LENGTH, -1)[..., 0]

    return {"IntegratedGradients": integrated, "KernelShap": kernel}


def methods(network: keras.Model, weights: list[np.ndarray]) -> dict[tuple[str, str], Method]:
    """Package and method, of every package that is installed."""
    there = importlib.util.find_spec
    torch_network = twin(weights) if there("torch") else None
    packages: dict[str, Callable[[], dict[str, Method]]] = {"keras_interp_rnn": lambda: of_this_package(network)}
    if there("shap"):
        packages["shap"] = lambda: of_shap(network, torch_network)
    if there("shapiq"):
        packages["shapiq"] = lambda: of_shapiq(network)
    if there("captum") and torch_network is not None:
        packages["captum"] = lambda: of_captum(torch_network)
    if there("xplique"):
        packages["xplique"] = lambda: of_xplique(network)
    found = {(package, name): method for package, make in packages.items() for name, method in make().items()}
    return dict(sorted(found.items(), key=lambda item: POISON in item[0]))


def measured(method: Method, vectors: np.ndarray, exact: np.ndarray, sums: np.ndarray, rounds: int) -> dict[str, Any]:
    """Processor milliseconds, and how near the shares come to the exact values; or why there are none."""
    shares: list[np.ndarray] = []
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            times = in_turn({"": lambda: shares.append(method(vectors))}, rounds, warm_up=1, clock=time.process_time)
    except Exception as error:  # whatever another package raises is its result
        *_, reason = ("", *filter(str.strip, str(error).splitlines()))
        return {"error": f"{type(error).__name__}: {reason.strip().split('! ')[0]}"}
    pairs = list(zip(shares[-1], exact, strict=True))
    return {
        "ms": 1e3 * statistics.median(times[""]),
        "residuals": np.abs(shares[-1].sum(axis=1) - sums).tolist(),
        "errors": [float(np.abs(found - right).max() / np.ptp(right)) for found, right in pairs],
        "pearson": [float(stats.pearsonr(found, right).statistic) for found, right in pairs],
        "spearman": [float(stats.spearmanr(found, right).statistic) for found, right in pairs],
    }


def line(package: str, name: str, rows: list[dict[str, Any]], exact_ms: list[float]) -> str:
    """A line of the table, over the words of all networks; times also in parts of those of shap's exact values."""
    for row in rows:
        if "error" in row:
            return f"| {package} | {name} | fails: {row['error']} | | | | | |"
    found = {key: np.concatenate([row[key] for row in rows]) for key in ("residuals", "errors", "pearson", "spearman")}
    ms, missed = statistics.median(row["ms"] for row in rows), found["residuals"]
    residual = f"{np.median(missed):.1e} ({missed.max():.1e})"
    errors = [_number(value) for value in (found["errors"].mean(), found["errors"].max())]
    means = " | ".join(f"{found[key].mean():.3f}" for key in ("pearson", "spearman"))
    part = statistics.median(row["ms"] / of for row, of in zip(rows, exact_ms, strict=True)) if exact_ms else None
    times = f"{ms:,.0f} | {'' if part is None else format(part, '.2f')}"
    return f"| {package} | {name} | {times} | {residual} | {errors[0]} ({errors[1]}) | {means} |"


def _number(value: float) -> str:
    return f"{value:.3f}" if value >= 5e-4 else f"{value:.0e}"


def lines_of(record: dict[str, Any]) -> Iterator[str]:
    networks = record["networks"]
    right = ", ".join(format(one["right"], ".1%") for one in networks)
    changes = np.abs(np.concatenate([one["sums"] for one in networks]))
    yield f"{where(record)} {len(networks)} networks; of all words right: {right}. |f(word) - f(reference)|:"
    yield f"{changes.min():.2f} to {changes.max():.2f}, median {np.median(changes):.2f}.\n"
    columns = f"ms for {record['words']} words | of shap's exact | residual | error | Pearson | Spearman"
    yield f"| package | method | {columns} |"
    yield f"|{'---|' * 8}"
    rows = record["rows"]
    exact_ms = [one["ms"] for row in rows if row["method"] == "ExactExplainer" for one in row["networks"]]
    for row in rows:
        yield line(f"{row['package']} {record['packages'][row['package']]}", row["method"], row["networks"], exact_ms)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--words", type=int, default=32, help="words that are explained; default: %(default)s")
    parser.add_argument("--seeds", type=int, default=3, help="networks; default: %(default)s")
    parser.add_argument("--epochs", type=int, default=30, help="of training; default: %(default)s")
    parser.add_argument("--rounds", type=int, default=3, help="of which the median time is shown; default: %(default)s")
    parser.add_argument("--out", type=Path, help="a JSON file for the results")
    parser.add_argument("--smoke", action="store_true")
    parser.add_argument("--table", type=Path, help="print the table of such a file, and measure nothing")
    parser.add_argument("--write", action="store_true", help="with --table, into benchmarks/README.md")
    args = parser.parse_args()
    if args.table:
        found = list(lines_of(json.loads(args.table.read_text())))
        print(*found, sep="\n")
        if args.write:
            into_readme("explainers", found)
        return
    if args.smoke:
        args.words, args.seeds, args.epochs, args.rounds = 2, 1, 1, 1
    networks, games = [], []
    for seed in range(args.seeds):
        weights, table, right = trained(seed, args.epochs)
        words = SETS[np.random.default_rng([seed, 1]).choice(len(SETS), args.words, replace=False)]
        vectors = table[words]
        exact, sums = by_enumeration(over_vectors(weights, "float64"), vectors)
        missed = np.abs(exact.sum(axis=1) - sums).max()
        if missed > 1e-10:
            raise SystemExit(f"The exact values miss their sums by {missed:.0e}.")
        networks.append({"right": right, "sums": sums.tolist(), "missed": float(missed)})
        games.append((methods(over_vectors(weights, "float32"), weights), vectors, exact, sums))
    rows = {
        key: [measured(by_key[key], vectors, exact, sums, args.rounds) for by_key, vectors, exact, sums in games]
        for key in games[0][0]
    }
    versions = {package: importlib.metadata.version(package) for package, _ in rows}
    for name in ("shap", "shapiq", "captum", "xplique"):
        if name not in versions:
            print(f"{name}: not installed; its explainers are left out.")
    record = {**environment(), "packages": versions, "networks": networks, "words": args.words}
    record["rows"] = [
        {"package": package, "method": name, "networks": found} for (package, name), found in rows.items()
    ]
    print(*lines_of(record), sep="\n")
    if args.out:
        args.out.write_text(json.dumps(record, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
