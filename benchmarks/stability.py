"""Does an ISAN train without a spike, whatever the alphabet, and what holds it?

Trains the same ISAN on each text with the README's optimizer, Adam(2e-3, global_clipnorm=1.44), once with
`recurrent_constraint=None` and once as `layers.ISAN(units, K)` is by default. Every run leaves a JSON file with the
loss of every step, spectral radii, and the costliest symbol of the training text; one that is there is not run again.
Ends with a table and, with --figure, a picture.

    python benchmarks/stability.py --text books=books.txt --bytes raw=anything.bin --figure stability.png
    python benchmarks/stability.py --smoke
"""

import argparse
import json
import math
import tempfile
import time
from pathlib import Path

import keras
import numpy as np

from keras_interp_rnn import analysis, datasets, layers, losses

CONSTRAINTS = {"without": None, "default": "max_spectral_radius"}
RADII_EVERY = 25
READ = 50_000
"""Symbols of the training text of which the costliest is sought."""


def symbols_of(path: Path, raw: bool) -> tuple[np.ndarray, int]:
    """The ids of a file, bytes or characters, and how many there may be."""
    if raw:
        return np.frombuffer(path.read_bytes(), np.uint8), 256
    text = path.read_text()
    alphabet = datasets.Alphabet.from_text(text)
    return alphabet.encode(text), len(alphabet)


def bits_of_symbols(model: keras.Model, windows: datasets.Windows) -> np.ndarray:
    """What each symbol costs, read from the initial state on."""
    model.layers[0].reset_state()
    found = []
    for i in range(len(windows)):
        x, y = windows[i]
        logits = model.predict_on_batch(x).astype(np.float64)
        top = logits.max(axis=-1, keepdims=True)
        log_sum = top[..., 0] + np.log(np.exp(logits - top).sum(axis=-1))
        found.append((log_sum - np.take_along_axis(logits, y[..., None], axis=-1)[..., 0]) / math.log(2))
    return np.concatenate(found, axis=1)


def run(ids: np.ndarray, symbols: int, constraint: str, seed: int, args: argparse.Namespace) -> dict[str, object]:
    keras.utils.set_random_seed(seed)
    isan = layers.ISAN(
        args.units, symbols, return_sequences=True, stateful=True, recurrent_constraint=CONSTRAINTS[constraint]
    )
    inputs = keras.Input((args.length,), batch_size=args.batch, dtype="int32")
    model = keras.Sequential([inputs, isan, keras.layers.Dense(symbols)])
    model.compile(keras.optimizers.Adam(2e-3, global_clipnorm=1.44), losses.BitsPerSymbol())
    train, validation, _ = datasets.text.split(ids)
    windows = datasets.Windows(train, args.batch, length=args.length)
    steps, radii, started = [], [], time.process_time()
    for step in range(args.steps):
        if step % len(windows) == 0:
            isan.reset_state()
        steps.append(float(model.train_on_batch(*windows[step % len(windows)])))
        if (step + 1) % RADII_EVERY == 0:
            radii.append(float(analysis.transition_spectra(model).radius.max()))
    seconds = time.process_time() - started
    spectra = analysis.transition_spectra(model)
    bits = bits_of_symbols(model, datasets.Windows(train[:READ], args.batch, length=args.length))
    held_out = bits_of_symbols(model, datasets.Windows(validation[:READ], args.batch, length=args.length))
    return {
        "losses": steps,
        "radii": radii,
        "symbols": symbols,
        "expanding": int((spectra.radius > 1).sum()),
        "spectral_norm": float(spectra.values.max()),
        "worst_bits": float(bits.max()),
        "validation_bits": float(held_out.mean()),
        "seconds": seconds,
    }


def draw(found: dict[str, dict[str, list[dict[str, object]]]], path: Path) -> None:
    """Losses in the upper row, largest spectral radii in the lower one; a column for each text."""
    from matplotlib.figure import Figure

    colors, names = {"without": "#b2182b", "default": "#2166ac"}, {"without": "no constraint", "default": "default"}
    figure = Figure(figsize=(3.1 * len(found), 5), layout="constrained", dpi=150)
    axes = figure.subplots(2, len(found), sharex=True, sharey="row", squeeze=False)
    for (losses_axis, radii_axis), (text, runs) in zip(axes.T, found.items(), strict=True):
        for constraint, seeds in runs.items():
            for i, of_seed in enumerate(seeds):
                label = names[constraint] if i == 0 else None
                losses_axis.plot(of_seed["losses"], color=colors[constraint], lw=0.8, alpha=0.8, label=label)
                at = RADII_EVERY * np.arange(1, len(of_seed["radii"]) + 1)
                radii_axis.plot(at, of_seed["radii"], color=colors[constraint], lw=0.8, alpha=0.8)
        symbols = seeds[0]["symbols"]
        losses_axis.axhline(math.log2(symbols), color="#888888", lw=0.8, ls="--", label="uniform guess")
        losses_axis.set(title=f"{text}: {symbols} symbols", yscale="log")
        radii_axis.axhline(1, color="#888888", lw=0.8, ls="--")
        radii_axis.set(xlabel="training step")
    axes[0, 0].set(ylabel="bits per symbol, one batch")
    axes[1, 0].set(ylabel="largest spectral radius")
    axes[0, 0].legend(frameon=False, fontsize=8)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)


def table(found: dict[str, dict[str, list[dict[str, object]]]]) -> None:
    print("\n| text | symbols | constraint | highest loss of a step | steps above uniform + 1 | radius | norm", end=" ")
    print("| costliest symbol, bits | validation, bits | CPU ms a step |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for text, runs in found.items():
        for constraint, seeds in runs.items():
            limit = math.log2(seeds[0]["symbols"]) + 1
            highest = max(max(s["losses"]) for s in seeds)
            above = [sum(loss > limit for loss in s["losses"]) for s in seeds]
            validation = ", ".join(f"{s['validation_bits']:.3f}" for s in seeds)
            milliseconds = np.median([1000 * s["seconds"] / len(s["losses"]) for s in seeds])
            print(
                f"| {text} | {seeds[0]['symbols']} | {constraint} | {highest:,.1f} | {', '.join(map(str, above))} "
                f"| {max(s['radii'][-1] for s in seeds):.2f} | {max(s['spectral_norm'] for s in seeds):.2f} "
                f"| {max(s['worst_bits'] for s in seeds):,.0f} "
                f"| {validation} | {milliseconds:.0f} |"
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--text", action="append", default=[], metavar="NAME=FILE", help="read as its characters")
    parser.add_argument("--bytes", action="append", default=[], metavar="NAME=FILE", help="read as bytes")
    parser.add_argument("--seeds", type=int, default=3, help="default: %(default)s")
    parser.add_argument("--units", type=int, default=64, help="default: %(default)s")
    parser.add_argument("--steps", type=int, default=250, help="default: %(default)s")
    parser.add_argument("--batch", type=int, default=64, help="default: %(default)s")
    parser.add_argument("--length", type=int, default=50, help="default: %(default)s")
    parser.add_argument("--out", default="runs/stability", help="folder of the JSON files; default: %(default)s")
    parser.add_argument("--figure", help="where a picture goes")
    parser.add_argument("--smoke", action="store_true", help="a tiny text, seconds")
    args = parser.parse_args()
    if args.smoke:
        args.out = tempfile.mkdtemp(prefix="stability-")
        Path(args.out, "text.txt").write_text("a line\n----\nan other one\n==\n" * 400)
        args.text, args.bytes = [f"text={args.out}/text.txt"], [f"bytes={args.out}/text.txt"]
        args.seeds, args.units, args.steps, args.batch, args.length = 1, 8, 40, 8, 10
        args.figure = f"{args.out}/stability.png"
    files = [(given, raw) for raw in (False, True) for given in (args.bytes if raw else args.text)]
    if not files:
        parser.error("give at least one --text NAME=FILE or --bytes NAME=FILE, or --smoke")
    found: dict[str, dict[str, list[dict[str, object]]]] = {}
    for seed in range(args.seeds):
        for given, raw in files:
            name, path = given.split("=", 1)
            ids, symbols = symbols_of(Path(path), raw)
            for constraint in CONSTRAINTS:
                kept = Path(args.out) / f"{name}-{constraint}-{args.units}-{args.steps}-{seed}.json"
                if not kept.exists():
                    print(f"{name}, {constraint}, seed {seed}", flush=True)
                    kept.parent.mkdir(parents=True, exist_ok=True)
                    kept.write_text(json.dumps(run(ids, symbols, constraint, seed, args)))
                found.setdefault(name, {}).setdefault(constraint, []).append(json.loads(kept.read_text()))
    table(found)
    if args.figure:
        draw(found, Path(args.figure))


if __name__ == "__main__":
    main()
