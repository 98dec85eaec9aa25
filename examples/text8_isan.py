"""How well does an ISAN predict text8, at the three sizes of the paper's table 1?

Trains each size as the paper does (one-step-ahead prediction, 90/5/5 split), state carried across windows, validates
after every epoch, keeps the best weights, and writes one JSON record per size. A killed run goes on where it was when
started again with the same arguments.

    python examples/text8_isan.py                                     # downloads text8
    python examples/text8_isan.py --source text8.zip --sizes 8e4
    python examples/text8_isan.py --source other.xz --name other      # any text, mapped to text8's 27 symbols

Reference: Foerster et al., ICML 2017, arXiv:1611.09434, section 3.1.
"""

import argparse
import sys
import tempfile
from pathlib import Path

import quiet

with quiet.standard_error():
    import keras

    from keras_interp_rnn import callbacks, datasets, layers, losses
    from keras_interp_rnn.reproduce import records

SYMBOLS = 27
PROTOCOL = ("batch", "length", "steps", "epochs", "learning_rate", "warm_up", "clip")


def units_within(parameters: float) -> int:
    """The largest n whose ISAN, K n (n + 1) + n, and readout, K (n + 1), stay within the number of parameters."""
    return max(n for n in range(1, 2000) if SYMBOLS * (n + 1) ** 2 + n <= parameters)


def build(units: int, args: argparse.Namespace) -> keras.Model:
    model = keras.Sequential(
        [
            keras.Input((args.length,), batch_size=args.batch, dtype="int32"),
            layers.ISAN(units, SYMBOLS, return_sequences=True, stateful=True),
            keras.layers.Dense(SYMBOLS),
        ]
    )
    # Adam moves every entry by about its rate, and so the norm of an n x n matrix by up to n times as much.
    schedule = keras.optimizers.schedules.CosineDecay(
        initial_learning_rate=0.0,
        warmup_target=args.learning_rate / units,
        warmup_steps=args.warm_up,
        decay_steps=args.epochs * args.steps - args.warm_up,
        alpha=0.01,
    )
    model.compile(keras.optimizers.Adam(schedule, global_clipnorm=args.clip), losses.BitsPerSymbol())
    return model


def train(size: str, args: argparse.Namespace) -> None:
    units = units_within(float(size))
    parts = {
        name: datasets.text8.load(name, source=args.source, data_dir=args.data_dir)
        for name in ("train", "validation", "test")
    }
    run = Path(args.runs) / f"{args.name}-{size}"
    resumable = callbacks.Resumable(run)
    model = resumable.load() or build(units, args)
    print(f"\n{args.name}, {size}: {units} units, {model.count_params():,} parameters, from epoch {resumable.epoch}.")
    done, steps = resumable.epoch * args.steps, args.epochs * args.steps
    windows = datasets.Windows(parts["train"], args.batch, args.length, start=done, count=max(steps - done, 1))
    model.fit(
        windows,
        epochs=args.epochs,
        initial_epoch=resumable.epoch,
        steps_per_epoch=args.steps,
        shuffle=False,
        validation_data=datasets.Windows(parts["validation"], args.batch, args.length),
        callbacks=[callbacks.CarriedState(), resumable, keras.callbacks.TensorBoard(run / "tensorboard")],
        verbose=args.verbose,
    )
    best = keras.models.load_model(resumable.best)
    bits = best.evaluate(datasets.Windows(parts["test"], args.batch, args.length), verbose=0)
    record = {
        "experiment": "isan_text8",
        "data": {**datasets.text8.info(source=args.source, data_dir=args.data_dir), "name": args.name},
        "model": {"layer": "ISAN", "units": units, "parameters": best.count_params(), "size": size},
        "protocol": {name: getattr(args, name) for name in PROTOCOL},
        "result": {
            "test_bits": bits,
            "validation_bits": min(entry["val_loss"] for entry in resumable.history),
            "seconds": resumable.history[-1]["seconds"],
            "characters": args.epochs * args.steps * args.batch * args.length,
        },
        "curve": resumable.history,
    }
    records.write(Path(args.records) / f"isan_text8-{args.name}-{size}.json", record)
    print(f"{args.name}, {size}: {bits:.3f} bits per character on the test split. Model: {resumable.best}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--source", help="a text file (.zip, .xz, .gz or plain) instead of the download of text8")
    parser.add_argument("--name", default="text8", help="what the record calls the data")
    parser.add_argument("--data-dir", help="where TFDS keeps prepared data")
    parser.add_argument("--sizes", nargs="+", default=["8e4", "3.2e5", "1.28e6"], help="largest numbers of parameters")
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--steps", type=int, default=1000, help="batches in an epoch")
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--length", type=int, default=100, help="characters in a window")
    parser.add_argument("--learning-rate", type=float, default=0.35, help="Adam's highest, times the number of units")
    parser.add_argument("--warm-up", type=int, default=200, help="steps of linear growth to it; then a cosine to 1 %%")
    parser.add_argument("--clip", type=float, default=0.144, help="largest global norm of a gradient, in bits")
    parser.add_argument("--runs", default="runs/text8_isan", help="checkpoints and TensorBoard logs")
    parser.add_argument("--records", default="docs/records", help="where the JSON records go")
    parser.add_argument("--verbose", type=int, default=1, help="as in fit: 1 a progress bar, 2 a line per epoch")
    parser.add_argument("--smoke", action="store_true", help="two short epochs on a small text, in a scratch folder")
    args = parser.parse_args()
    if args.smoke:
        folder = tempfile.mkdtemp(prefix="text8_isan-")
        (Path(folder) / "smoke").write_text(datasets.text.decode(datasets.text.python_documentation()[:200_000]))
        args.source, args.name, args.sizes = str(Path(folder) / "smoke"), "smoke", ["8e3"]
        args.data_dir, args.runs, args.records = folder, f"{folder}/runs", f"{folder}/records"
        args.epochs, args.steps, args.batch, args.length, args.warm_up = 2, 20, 16, 50, 10
    for size in args.sizes:
        try:
            train(size, args)
        except datasets.text.TextError as error:
            print(f"text8_isan: {error}", file=sys.stderr)
            sys.exit(2)
        except KeyboardInterrupt:
            print("\nStopped. The same command goes on from the last finished epoch.")
            sys.exit(130)


if __name__ == "__main__":
    main()
