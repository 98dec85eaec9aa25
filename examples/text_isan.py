"""What does a small ISAN learn from a text in two minutes, and which characters decided its prediction?

Trains a character model on Python's documentation or a text of yours, compares it with n-gram models, lets it write,
and splits a prediction exactly among the characters that it has read. Ctrl-C ends the training early.

    python examples/text_isan.py
    python examples/text_isan.py --text book.txt.gz --prompt "it was the best of"

Reference: Foerster et al., ICML 2017, arXiv:1611.09434, sections 2, 3.1 and 3.3.
"""

import sys
import tempfile
from pathlib import Path

import command_line

parser = command_line.Parser(__doc__)
parser.add_argument("--text", help="a text file, plain, .gz, .xz or .zip (default: Python's own documentation)")
parser.add_argument("--prompt", default="the return val", help="beginning of the samples")
parser.add_argument("--run", default="runs/text_isan", help="folder of the model and the TensorBoard logs")
parser.add_argument("--epochs", type=int, default=6, help="passes over the training data")
parser.add_argument("--units", type=int, default=128, help="state size")
parser.add_argument("--smoke", action="store_true", help="seconds instead of minutes: a small model, two epochs")
args = parser.parse_args()

with command_line.quiet():
    import keras

    from keras_interp_rnn import analysis, callbacks, datasets, layers, losses

ALPHABET = datasets.Alphabet(datasets.text.ALPHABET)
BATCH, LENGTH, LINES = 64, 50, command_line.LINES


def build(units: int, steps: int) -> keras.Model:
    model = keras.Sequential(
        [
            keras.Input((LENGTH,), batch_size=BATCH, dtype="int32"),
            ALPHABET.layer(),  # the model carries its alphabet: strings can be passed to the analysis
            layers.ISAN(units, len(ALPHABET), return_sequences=True, stateful=True),
            keras.layers.Dropout(0.5),
            keras.layers.Dense(len(ALPHABET)),
        ]
    )
    schedule = keras.optimizers.schedules.CosineDecay(2e-3, steps, alpha=0.02)
    model.compile(keras.optimizers.AdamW(schedule, weight_decay=0.1, global_clipnorm=1.44), losses.BitsPerSymbol())
    return model


def main() -> None:
    if args.smoke:
        args.run, args.epochs, args.units = tempfile.mkdtemp(prefix="text_isan-"), 2, 24
    keras.utils.set_random_seed(0)
    symbols = datasets.text.read(args.text) if args.text else datasets.text.python_documentation()
    parts = datasets.text.split(symbols[:100_000] if args.smoke else symbols)
    prompt, run = datasets.text.clean(args.prompt).lstrip(), Path(args.run)
    run.mkdir(parents=True, exist_ok=True)

    print(f"{len(parts[0]):,} characters, loss in bits per character. Ctrl-C ends the training early.")
    train, validation, test = (datasets.Windows(part, BATCH, length=LENGTH) for part in parts)
    model = build(args.units, args.epochs * len(train))
    logs = [callbacks.CarriedState(), keras.callbacks.TensorBoard(run / "tensorboard", write_graph=False)]
    try:
        model.fit(train, epochs=args.epochs, validation_data=validation, shuffle=False, callbacks=logs, verbose=LINES)
    except KeyboardInterrupt:
        print("\nStopped. This is the model so far:")
    model.save(run / "model.keras")

    print(f"\nBits per character on the test split{' (a trial run learns next to nothing)' * args.smoke}:")
    for order, name in ((1, "unigram"), (2, "bigram with back-off"), (3, "trigram with back-off")):
        counted = analysis.BackoffModel(parts[0], order, vocabulary_size=len(ALPHABET))
        print(f"  {name:<22} {counted.bits(parts[2]):.3f}")
    bits = model.evaluate(test, verbose=0, callbacks=[callbacks.CarriedState()])
    print(f"  {f'ISAN, {model.count_params():,} weights':<22} {bits:.3f}")
    print(f"\nIt writes:\n  {analysis.generate(model, prompt, num_symbols=120, inverse_temperature=2.0)}")

    split = analysis.contributions(model, prompt)
    print(f"\nThe prediction, split exactly among the characters read:\n\n{split}")
    print(f"\nThe contributions to all logits sum to the logits up to {split.residual:.1e} (float64 rounding).")
    tensorboard = Path(sys.executable).with_name("tensorboard")
    print(f"\nModel: {run / 'model.keras'}\nCurves: {tensorboard} --logdir {run / 'tensorboard'}")


if __name__ == "__main__":
    try:
        main()
    except (ValueError, OSError) as error:
        print(f"text_isan: {error}", file=sys.stderr)
        sys.exit(2)
