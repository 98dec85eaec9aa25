"""How near do estimates of Shapley values come with so many runs, or in so many milliseconds?

Five trained networks, an LSTM, a GRU, a Bidirectional LSTM, an LSTM with mean pooling and the preset reviews-sr-lstm,
read texts of 14, 30 and 60 words; LSTMs of 16 to 128 units texts of 30. `analysis.attribution` and the samplers of
shap, shapiq and captum split the output among the words, with a budget of 15 to 960 runs of the network; the quickest
of them also with 3,840, as `attribution` takes longer for as many. All explain
one game: an absent word is a vector of zeros. captum reads a torch network with the same weights where there is one.

Right are, at 14 words, the values from all 16,384 coalitions in float64; at 30 and 60 those of `games.unbiased`, whose
standard error is shown: it shares nothing with the package. The error is the largest of a text, in parts of the range
of the right values. A budget of R runs of n steps is R n updates of the state, for `attribution` as for the others;
`tolerance` is so small that it is spent. Times are processor milliseconds of a whole call, warmed up: one text alone,
and, of `attribution`, a text of a batch. Lines that are in --out are not repeated.

    pip install shap shapiq captum                             # optional
    PYTHONPATH=. python benchmarks/explainers_by_budget.py --out benchmarks/explainers_by_budget.jsonl
    PYTHONPATH=. python benchmarks/explainers_by_budget.py --table benchmarks/explainers_by_budget.jsonl --figure it.png
    PYTHONPATH=. python benchmarks/explainers_by_budget.py --smoke

The results, with hardware, date and commit, are in benchmarks/README.md.
"""

import argparse
import contextlib
import importlib.metadata
import importlib.util
import io
import logging
import math
import statistics
import time
import warnings
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.networks_of_words import trained  # first: it sets Keras's backend

# isort: split
import keras
import numpy as np
import tensorflow as tf

from benchmarks.environment import environment
from benchmarks.games import Game, Network, exact, merits, unbiased
from benchmarks.networks_of_words import KINDS
from benchmarks.records import Record, show
from keras_interp_rnn import analysis, presets

RUNS = (15, 60, 240, 960)
LONG = 3840
"""Runs of the quickest methods, so that they are also compared in the time of `attribution`."""
QUICKEST = ("shap KernelExplainer", "shap PermutationExplainer", "shapiq KernelSHAP")
LENGTHS = {14: 8, 30: 4, 60: 4}
"""Steps, and how many texts of so many."""
UNITS = (16, 32, 64, 128)
NETWORKS = ("LSTM", "GRU", "Bidirectional LSTM", "LSTM, mean pooling", "reviews-sr-lstm")
HERE = "attribution"
WARM_UP = 6
"""Calls before the first that is timed: after a few, a network's own outputs come from a compiled function."""
SEED = 20
"""Of the networks and texts: none that the package was tuned on."""

REVIEWS = (
    "half of this film is a waste of time and then it becomes superb and haunting , the last hour is not boring "
    "at all and the two leads are wonderful together , but nobody should have to sit through so bad a beginning "
    "to get there i wanted to like it because the book is one of my favorites , sadly the script is a mess , the "
    "jokes are not funny and the ending makes no sense , still the music is great and the camera work is some of "
    "the best of the year a very good cast can do little with lines like these , it is dull , predictable and far "
    "too long , the worst part is that it could have been an excellent thriller if they had cut the awful love "
    "story and trusted the old detective not perfect but what a lovely surprise , my kids laughed , my wife cried "
    "and i was never bored , the story is simple and well told and the little girl is amazing , i would see it "
    "again and i recommend it to everybody with a heart"
)
"""Four, for the preset, which reads reviews; a text is a part of them."""

Method = Callable[[Game, int], np.ndarray]
"""Shares of the steps of a game, with so many runs."""


def network_and_texts(name: str, units: int, length: int, texts: int, updates: int, folder: Path | None) -> Any:
    rng = np.random.default_rng([SEED, length, 2])
    if name in KINDS:
        return trained(name, units, 60, SEED, updates, folder), KINDS[name].draw(rng, texts, length)[0]
    preset = presets.load(name)
    ids = np.ravel(preset.encode(REVIEWS)).astype("int32")
    starts = np.linspace(0, len(ids) - length, texts).astype(int)
    return preset.model, np.array([ids[start : start + length] for start in starts])


# Other packages.


def of_shap() -> dict[str, Method]:
    import shap

    def masker(game: Game) -> Any:
        return shap.maskers.Independent(np.zeros((1, len(game.vectors))))

    def one(game: Game) -> np.ndarray:
        return np.ones((1, len(game.vectors)))

    return {
        "shap PermutationExplainer": lambda game, runs: (
            shap.PermutationExplainer(game, masker(game))(one(game), max_evals=runs, silent=True).values
        ),
        "shap KernelExplainer": lambda game, runs: shap.KernelExplainer(game, 0 * one(game)).shap_values(
            one(game), nsamples=runs - 2, l1_reg=False, silent=True
        ),
    }


def of_shapiq() -> dict[str, Method]:
    from shapiq import approximator

    def method(name: str) -> Method:
        def shares(game: Game, runs: int) -> np.ndarray:
            players = len(game.vectors)
            found = getattr(approximator, name)(n=players, random_state=0).approximate(runs, game)
            return np.array([found[(i,)] for i in range(players)])

        return shares

    names = ("KernelSHAP", "SVARM", "PermutationSamplingSV", "UnbiasedKernelSHAP", "StratifiedSamplingSV")
    return {f"shapiq {name}": method(name) for name in names}


def of_captum(forward: Callable[[Any], Any]) -> dict[str, Method]:
    import torch
    from captum import attr

    def method(explainer: Any, options: Callable[[int, int], dict[str, int]]) -> Method:
        def shares(game: Game, runs: int) -> np.ndarray:
            steps, features = game.vectors.shape
            torch.manual_seed(0)
            places = torch.arange(steps)[None, :, None].repeat(1, 1, features)

            def counted(x: Any) -> Any:
                game.runs += len(x)
                return forward(x)

            x = torch.tensor(game.vectors[None], dtype=torch.float32)
            with torch.no_grad():
                found = explainer(counted).attribute(x, feature_mask=places, **options(runs, steps))
            return found.numpy()[0, :, 0]

        return shares

    def permutations(runs: int, steps: int) -> dict[str, int]:
        return {"n_samples": max(1, runs // steps), "perturbations_per_eval": steps}

    def samples(runs: int, _: int) -> dict[str, int]:
        return {"n_samples": runs, "perturbations_per_eval": min(runs, 256)}

    return {
        "captum ShapleyValueSampling": method(attr.ShapleyValueSampling, permutations),
        "captum KernelShap": method(attr.KernelShap, samples),
    }


def in_torch(network: Network) -> Callable[[Any], Any]:
    """The network as a function of tensors: a torch network of the same weights, or, for other layers, Keras's."""
    import torch

    recurrent, *_, head = network.model.layers
    both = isinstance(recurrent, keras.layers.Bidirectional)
    sides = [recurrent.forward_layer, recurrent.backward_layer] if both else [recurrent]
    if not isinstance(sides[0], keras.layers.LSTM | keras.layers.GRU):
        return lambda x: torch.tensor(network(x.numpy()))
    is_gru = isinstance(sides[0], keras.layers.GRU)
    pooled = len(network.model.layers) == 3
    units, features = sides[0].units, network.model.input_shape[-1]
    made = (torch.nn.GRU if is_gru else torch.nn.LSTM)(features, units, batch_first=True, bidirectional=both)
    arrays: list[np.ndarray] = []
    for side in sides:
        kernel, recurrent_kernel, bias = side.get_weights()
        bias = bias if is_gru else np.stack([bias, 0 * bias])
        order = np.array([1, 0, 2] if is_gru else [0, 1, 2, 3])
        columns = (order[:, None] * units + np.arange(units)).ravel()
        arrays += [kernel.T[columns], recurrent_kernel.T[columns], *bias[:, columns]]
    made.load_state_dict(dict(zip(made.state_dict(), map(torch.tensor, arrays), strict=True)))
    weight, shift = map(torch.tensor, head.get_weights())

    def forward(x: Any) -> Any:
        states = made(x)[0]
        last = torch.cat([states[:, -1, :units], states[:, 0, units:]], dim=1)
        return ((states.mean(dim=1) if pooled else last) @ weight + shift)[:, 0]

    return forward


def methods(network: Network) -> dict[str, Method]:
    """Of every package that is installed."""
    there, found = importlib.util.find_spec, dict[str, Method]()
    if there("shap"):
        logging.getLogger("shap").setLevel(logging.ERROR)
        found |= of_shap()
    if there("shapiq"):
        found |= of_shapiq()
    if there("captum") and there("torch"):
        import torch

        torch.set_num_threads(1)
        found |= of_captum(in_torch(network))
    return found


# What is measured.


def timed(call: Callable[[], np.ndarray], rounds: int) -> tuple[np.ndarray, float]:
    """What it returns, and the median of processor milliseconds."""
    times = []
    for _ in range(rounds):
        start = time.process_time()
        found = call()
        times.append(1e3 * (time.process_time() - start))
    return found, statistics.median(times)


def of_another(method: Method, games: list[Game], runs: int, right: np.ndarray, rounds: int) -> dict[str, Any]:
    """A line of a method: a number for each text; or why there are none."""
    line: dict[str, list[Any]] = {}
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            method(games[0], runs)
            for game, values in zip(games, right, strict=True):
                game.runs = 0
                shares, ms = timed(lambda game=game: np.reshape(method(game, runs), -1), rounds)
                found = {**merits(shares, values), "ms": ms, "runs": game.runs / rounds}
                for key, value in found.items():
                    line.setdefault(key, []).append(value)
    except Exception as error:  # whatever another package raises is its result
        return {"fails": f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"[:120]}
    return line


def of_this(model: keras.Model, texts: np.ndarray, options: dict[str, Any], right: np.ndarray, rounds: int) -> Any:
    """As `of_another`; also milliseconds a text of a batch."""
    line: dict[str, list[Any]] = {}
    for text, values in zip(texts, right, strict=True):
        for _ in range(WARM_UP if not line else 0):
            analysis.attribution(model, text[None], method="shapley", target=0, **options)
        found, ms = timed(
            lambda text=text: analysis.attribution(model, text[None], method="shapley", target=0, **options), rounds
        )
        said = {**merits(found.shares[0], values), "ms": ms, "runs": int(found.num_runs[0])}
        said["standard_error"] = float(found.standard_error.max() / np.ptp(values))
        for key, value in said.items():
            line.setdefault(key, []).append(value)
    shared = {**options, "max_work": options["max_work"] * len(texts)} if options else {}
    _, ms = timed(lambda: analysis.attribution(model, texts, method="shapley", target=0, **shared), rounds)
    return {**line, "ms_of_batch": ms / len(texts)}


def right_values(network: Network, texts: np.ndarray, pairs: int) -> dict[str, Any]:
    values, errors = [], []
    for i, text in enumerate(texts):
        game, players = Game(network, text), len(text)
        if players <= 16:
            found, error = exact(game, players), np.zeros(players)
        else:
            found, error = unbiased(game, players, pairs, np.random.default_rng([i, 5]))
        values.append(found.tolist())
        errors.append(float(error.max() / np.ptp(found)))
    return {"values": values, "standard_error": errors}


def measure(record: Record, name: str, units: int, length: int, runs: tuple[int, ...], args: Any) -> None:
    model, texts = network_and_texts(name, units, length, args.texts or LENGTHS[length], args.updates, args.networks)
    network = Network(model, "float32")
    weights = zlib.crc32(b"".join(np.ascontiguousarray(each).tobytes() for each in model.get_weights()))
    key = {"network": name, "units": units, "length": length, "weights": weights, "texts": len(texts)}
    of_reference = {**key, "method": "right values"}
    right = record(of_reference, lambda: right_values(Network(model, "float64"), texts, args.pairs))["values"]
    right, games = np.array(right), [Game(network, text) for text in texts]
    others = methods(network)
    steps = length * (2 if name.startswith("Bidirectional") else 1)
    for count in runs:
        options = {"tolerance": 1e-9, "max_work": count * steps}
        own = {**key, "method": HERE, "budget": count}
        record(own, lambda options=options: of_this(model, texts, options, right, args.rounds))
        for method, call in others.items():
            line = {**key, "method": method, "budget": count}
            record(line, lambda call=call, count=count: of_another(call, games, count, right, args.rounds))
    for method in QUICKEST if LONG > max(runs) > 100 else ():
        if call := others.get(method):
            line = {**key, "method": method, "budget": LONG}
            record(line, lambda call=call: of_another(call, games, LONG, right, args.rounds))
    record(
        {**key, "method": f"{HERE}, as it comes", "budget": 0}, lambda: of_this(model, texts, {}, right, args.rounds)
    )
    print(f"{name}, {units} units, {length} steps", flush=True)


# Tables.


def _mean(line: dict[str, Any], key: str) -> float:
    return float(np.mean(line[key])) if key in line else math.nan


def _said(line: dict[str, Any]) -> str:
    return f"{_mean(line, 'error'):.3f} ({_mean(line, 'ms'):,.0f})"


def tables(lines: list[dict[str, Any]]) -> Iterator[str]:
    """Errors by runs, means over the networks; who is ahead, network by network; and by units."""
    lines = [line for line in lines if "method" in line]
    measured = [line for line in lines if "budget" in line]
    five = [line for line in measured if line["network"] in NETWORKS and line["units"] == UNITS_OF_FIVE]
    for length in sorted({line["length"] for line in five}):
        some = [line for line in five if line["length"] == length]
        known = [line for line in lines if line["method"] == "right values" and line["length"] == length]
        errors = [max(line["standard_error"]) for line in known if line["units"] == UNITS_OF_FIVE]
        yield f"\n{length} steps (right values known to {max(errors):.4f} of the range; mean of the networks):\n"
        budgets = sorted({line["budget"] for line in some if line["budget"]})
        columns = [*(f"{count} runs" for count in budgets), *(f"ms at {count}" for count in budgets)]
        yield f"| method | {' | '.join(columns)} |"
        yield f"|{'---|' * (1 + 2 * len(budgets))}"
        for method in dict.fromkeys(line["method"] for line in some):
            cells = []
            for key, form in (("error", ".3f"), ("ms", ",.0f")):
                for count in budgets:
                    own = [line for line in some if line["method"] == method and line["budget"] in (count, 0)]
                    found = [_mean(line, key) for line in own if key in line]
                    whole = bool(own) and len(found) == len(own)
                    cells.append("" if not whole else format(np.mean(found), form if np.mean(found) < 1e4 else ".0e"))
            yield f"| {method} | {' | '.join(cells)} |"
    yield "\nHere, and the best of the others, error (ms):\n"
    yield "| network | steps | runs | here | the best of the others | in as little time as here |"
    yield "|---|---|---|---|---|---|"
    for line in (line for line in measured if line["method"] == HERE):
        same = ("network", "units", "length", "weights")
        others = [
            each
            for each in measured
            if not each["method"].startswith(HERE) and "error" in each and all(each[k] == line[k] for k in same)
        ]
        equal = [each for each in others if each["budget"] == line["budget"]]
        quick = [each for each in others if _mean(each, "ms") <= _mean(line, "ms")]
        best = [min(some, key=lambda each: _mean(each, "error"), default=None) for some in (equal, quick)]
        said = ["" if each is None else f"{each['method']} {_said(each)}" for each in best]
        first = f"{line['network']}, {line['units']} | {line['length']} | {line['budget']} | {_said(line)}"
        yield f"| {first} | {' | '.join(said)} |"


UNITS_OF_FIVE = 24


def draw(lines: list[dict[str, Any]], path: Path) -> None:
    """Errors by runs and by milliseconds, at the longest texts, a column for each network."""
    from matplotlib.figure import Figure

    length = max(line["length"] for line in lines if "length" in line)
    some = [
        line
        for line in lines
        if line.get("length") == length and line.get("budget") and "error" in line and line["units"] == UNITS_OF_FIVE
    ]
    names = list(dict.fromkeys(line["network"] for line in some))
    figure = Figure(figsize=(2.5 * len(names), 6), layout="constrained", dpi=150)
    axes = figure.subplots(2, len(names), sharey=True, squeeze=False)
    for column, name in zip(axes.T, names, strict=True):
        for i, method in enumerate(dict.fromkeys(line["method"] for line in some)):
            own = [line for line in some if line["network"] == name and line["method"] == method]
            color, width = ("black", 2.0) if method == HERE else (f"C{i}", 1.0)
            errors = [_mean(line, "error") for line in own]
            for axis, key in zip(column, ("budget", "ms"), strict=True):
                axis.loglog([_mean(line, key) for line in own], errors, "o-", color=color, lw=width, ms=3, label=method)
        column[0].set(title=name, xlabel="runs of the network")
        column[1].set(xlabel="processor ms a text")
        for axis in column:
            axis.spines[["top", "right"]].set_visible(False)
            axis.grid(alpha=0.3)
            axis.set_ylim(0.007, 2)  # some solve singular equations with few runs: they leave the picture
    for axis in axes[:, 0]:
        axis.set_ylabel("largest error / range of the values")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=5, frameon=False, fontsize="small")
    finding = f"Texts of {length} words: attribution is nearest with as many runs; by time KernelExplainer is as near"
    figure.suptitle(finding, fontsize="medium")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, help="a file of JSON lines, which are not repeated")
    parser.add_argument("--table", type=Path, help="print the tables of such a file, and measure nothing")
    parser.add_argument("--figure", type=Path, help="a picture of the errors, .png or .svg")
    parser.add_argument("--networks", type=Path, help="a folder that keeps the trained networks")
    parser.add_argument("--only", help="networks whose name contains this")
    parser.add_argument("--part", choices=("networks", "units", "both"), default="both")
    parser.add_argument("--lengths", type=int, nargs="+", default=list(LENGTHS))
    parser.add_argument("--texts", type=int, help="of each length; by default 4 or 8")
    parser.add_argument("--pairs", type=int, default=200_000, help="of coalitions, for the right values; %(default)s")
    parser.add_argument("--updates", type=int, default=800, help="of training; default: %(default)s")
    parser.add_argument("--rounds", type=int, default=3, help="of which the median time is kept; default: %(default)s")
    parser.add_argument("--write", action="store_true", help="with --table, into benchmarks/README.md")
    parser.add_argument("--smoke", action="store_true")
    args = parser.parse_args()
    if args.table:
        record = show(args.table, "explainers_by_budget", tables, write=args.write)
        if args.figure:
            draw(record.lines, args.figure)
        return
    warnings.filterwarnings("ignore")  # of the other packages: of few coalitions, and of what they will rename
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    names, runs = NETWORKS, RUNS
    if args.smoke:
        args.lengths, args.texts, args.pairs, args.updates, args.rounds = [8, 18], 1, 40, 2, 1
        names, runs = NETWORKS[2:4], (60,)
    record = Record(None if args.smoke else args.out)
    installed = [name for name in ("shap", "shapiq", "captum", "torch") if importlib.util.find_spec(name)]
    packages = {name: importlib.metadata.version(name) for name in installed}
    record({"environment": {**environment(), "packages": packages}}, dict)
    if args.part != "units":
        for name in names:
            for length in args.lengths if (args.only or "") in name else ():
                measure(record, name, UNITS_OF_FIVE, length, runs, args)
    if args.part != "networks" and not args.smoke:
        for units in UNITS:
            measure(record, "LSTM", units, 30, runs[-2:], args)
    print(*tables(record.lines), sep="\n")
    if args.figure:
        draw(record.lines, args.figure)


if __name__ == "__main__":
    main()
