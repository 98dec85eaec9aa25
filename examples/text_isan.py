"""What does a small ISAN learn from a text in two minutes, and which characters made its mind up?

Trains a character model, compares it with n-gram models on the same split, lets it write, and takes one of its
predictions apart exactly. Without arguments it reads the English documentation that ships with Python itself.

    python examples/text_isan.py
    python examples/text_isan.py --text book.txt.gz --prompt "it was the best of"
    python examples/text_isan.py --fresh                     # train anew instead of going on

Reference: Foerster et al., ICML 2017, arXiv:1611.09434, sections 2, 3.1 and 3.3.
"""

import shutil
import sys
import tempfile
from pathlib import Path

import command_line

parser = command_line.Parser(__doc__)
parser.add_argument("--text", help="a text file, plain, .gz, .xz or .zip (default: Python's own documentation)")
parser.add_argument("--prompt", default="the return val", help="beginning of the samples")
parser.add_argument("--run", default="runs/text_isan", help="folder of the model, checkpoints and TensorBoard logs")
parser.add_argument("--fresh", action="store_true", help="start over, even if the folder holds a run")
parser.add_argument("--epochs", type=int, default=6, help="passes over the training data")
parser.add_argument("--units", type=int, default=128, help="state size")
parser.add_argument("--smoke", action="store_true", help="seconds instead of minutes: a small model, two epochs")
args = parser.parse_args()

with command_line.quiet():
    import keras
    import numpy as np

    from keras_interp_rnn import analysis, callbacks, datasets, layers, losses
    from keras_interp_rnn.reproduce import records

SYMBOLS = len(datasets.text.ALPHABET)
BATCH, LENGTH = 64, 50


def build(units: int, steps: int) -> keras.Model:
    model = keras.Sequential(
        [
            keras.Input((LENGTH,), batch_size=BATCH, dtype="int32"),
            layers.ISAN(units, SYMBOLS, return_sequences=True, stateful=True),
            keras.layers.Dropout(0.5),
            keras.layers.Dense(SYMBOLS),
        ]
    )
    schedule = keras.optimizers.schedules.CosineDecay(2e-3, steps, alpha=0.02)
    model.compile(keras.optimizers.AdamW(schedule, weight_decay=0.1, global_clipnorm=1.44), losses.BitsPerSymbol())
    return model


def train(parts: list[np.ndarray], run: Path, epochs: int, units: int) -> keras.Model:
    """The best model of the run in this folder, which goes on where it was stopped."""
    train_windows, validation_windows = (datasets.Windows(part, BATCH, length=LENGTH) for part in parts[:2])
    resumable = callbacks.Resumable(run)
    if resumable.epoch >= epochs:
        print(f"\nThe run in {run} is finished ({resumable.epoch} epochs); --fresh trains anew.")
        return keras.models.load_model(resumable.best)
    verb = f"Going on after epoch {resumable.epoch}" if resumable.epoch else "Training"
    print(f"\n{verb}, loss in bits per character. Ctrl-C stops; the best model so far stays in {resumable.best}.")
    model = resumable.load() or build(units, epochs * len(train_windows))
    logs = [callbacks.CarriedState(), resumable, keras.callbacks.TensorBoard(run / "tensorboard", write_graph=False)]
    try:
        epochs_left = {"epochs": epochs, "initial_epoch": resumable.epoch}
        model.fit(train_windows, validation_data=validation_windows, shuffle=False, callbacks=logs, **epochs_left)
    except KeyboardInterrupt:
        resumable.save_if_none()
        sys.exit(f"\nStopped. The model so far is {resumable.best}. Run the same command again to go on.")
    return keras.models.load_model(resumable.best)


def explain(model: keras.Model, prompt: np.ndarray) -> None:
    """Prints how far each character of the prompt pushed the winning next character away from the runner-up."""
    split = analysis.contributions(model, prompt)
    runner_up, winner = np.argsort(split.logits[-1])[-2:]
    names = [f"'{letter}'" for letter in datasets.text.ALPHABET]
    pushes = split.values[:, -1, winner] - split.values[:, -1, runner_up]
    bias = split.bias[winner] - split.bias[runner_up]
    total = split.logits[-1, winner] - split.logits[-1, runner_up]
    print(f"\nAfter '{datasets.text.decode(prompt)}' comes {names[winner]} rather than {names[runner_up]}.")
    print(f"Share of each character in the difference of their logits (nats; + is for {names[winner]}):\n")
    rows = [("bias", bias), ("start", pushes[0])]
    rows += [(names[symbol], push) for symbol, push in zip(prompt, pushes[1:], strict=True)]
    scale = 24 / max(abs(push) for _, push in rows)
    for name, push in rows:
        bar = ("+" if push > 0 else "-") * round(abs(push) * scale)
        print(f"  {name:>6} {push:+8.3f}  {bar}".rstrip())
    print(f"  {'sum':>6} {sum(push for _, push in rows):+8.3f}  the logits themselves differ by {total:+.3f}")
    print(f"  The shares of all logits sum to the logits up to {split.residual:.1e} (float64 rounding).")


def main() -> None:
    if args.smoke:
        args.run, args.epochs, args.units = tempfile.mkdtemp(prefix="text_isan-"), 2, 24
    keras.utils.set_random_seed(0)
    symbols = datasets.text.read(args.text) if args.text else datasets.text.python_documentation()
    symbols = symbols[:100_000] if args.smoke else symbols
    prompt = datasets.text.encode(datasets.text.clean(args.prompt).lstrip())
    parts = datasets.text.split(symbols)
    print(f"{len(symbols):,} characters of {args.text or 'Python documentation'}; 90 % train, 5 % validate, 5 % test.")

    run = Path(args.run)
    if args.fresh and run.exists():
        shutil.rmtree(run)
    settings = {"text_sha256": records.sha256(symbols), "units": args.units, "epochs": args.epochs}
    records.begin(run, settings)
    model = train(parts, run, args.epochs, args.units)

    print("\nBits per character on the test split:")
    for order, name in enumerate(("unigram", "bigram with back-off", "trigram with back-off"), start=1):
        print(f"  {name:<22} {analysis.BackoffModel(parts[0], order, vocabulary_size=SYMBOLS).bits(parts[2]):.3f}")
    bits = model.evaluate(datasets.Windows(parts[2], BATCH, length=LENGTH), verbose=0)
    print(f"  {f'ISAN, {model.count_params():,} weights':<22} {bits:.3f}")
    for inverse_temperature in (1.5, 2.0):
        text = analysis.generate(
            model, prompt, num_symbols=120, inverse_temperature=inverse_temperature, alphabet=datasets.text.ALPHABET
        )
        print(f"\nIt writes, at inverse temperature {inverse_temperature}:\n  {text}")
    explain(model, prompt)
    tensorboard = Path(sys.executable).with_name("tensorboard")
    print(f"\nThe curves: {tensorboard} --logdir {run / 'tensorboard'}   (then open http://localhost:6006)")


if __name__ == "__main__":
    try:
        main()
    except (ValueError, OSError) as error:
        print(f"text_isan: {error}", file=sys.stderr)
        sys.exit(2)
