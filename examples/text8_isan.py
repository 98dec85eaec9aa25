"""How well does an ISAN predict text8, at the three sizes of the paper's table 1, and beside other networks?

Trains each as the paper does (one-step-ahead prediction, 90/5/5 split), state carried across windows, validates
after every epoch, keeps the best weights, and writes one JSON record per run. A killed run goes on where it was when
started again with the same arguments.

    python examples/text8_isan.py                                     # downloads text8
    python examples/text8_isan.py --source text8.zip --sizes 8e4
    python examples/text8_isan.py --source other.xz                   # any text, mapped to text8's 27 symbols
    python examples/text8_isan.py --networks ISAN LSTM GRU --minutes 45 --validation 16

Reference: Foerster et al., ICML 2017, arXiv:1611.09434, section 3.1.
"""

import sys
import tempfile
from pathlib import Path

import command_line

parser = command_line.Parser(__doc__)
parser.add_argument("--source", help="a text file (.zip, .xz, .gz or plain) instead of the download of text8")
parser.add_argument("--name", help="name of the data in the record (default: text8, or the file's)")
parser.add_argument("--data-dir", help="folder of the prepared data (default: ~/tensorflow_datasets)")
kinds = ["RNN", "IRNN", "GRU", "LSTM", "ISAN"]
parser.add_argument("--networks", nargs="+", default=["ISAN"], choices=kinds, help="networks to train")
parser.add_argument("--sizes", nargs="+", default=["8e4", "3.2e5", "1.28e6"], help="largest numbers of weights")
parser.add_argument("--minutes", type=float, help="minutes of training per network (default: --epochs of --steps)")
parser.add_argument("--epochs", type=int, default=20, help="passes over the training data")
parser.add_argument("--steps", type=int, default=1000, help="batches in an epoch")
parser.add_argument("--batch", type=int, default=256, help="sequences in a batch")
parser.add_argument("--length", type=int, default=100, help="characters in a window")
parser.add_argument("--learning-rate", type=float, help="of Adam, times the units (default: the network's own)")
parser.add_argument("--warm-up", type=int, default=200, help="steps until the highest learning rate")
parser.add_argument("--clip", type=float, default=0.144, help="largest global norm of a gradient, in bits")
parser.add_argument("--validation", type=int, help="validation windows read after each epoch (default: all)")
parser.add_argument("--seed", type=int, default=0, help="seed of the initial weights")
parser.add_argument("--runs", default="runs/text8_isan", help="folder of checkpoints and TensorBoard logs")
parser.add_argument("--records", default="runs/records", help="folder of the JSON records")
parser.add_argument("--verbose", type=int, default=command_line.VERBOSE, help="as in fit: 0, 1 or 2")
parser.add_argument("--smoke", action="store_true", help="two short epochs on a small text, in a temporary folder")
args = parser.parse_args()

with command_line.quiet():
    from keras_interp_rnn import datasets
    from keras_interp_rnn.reproduce import characters, records


def main() -> None:
    if args.smoke:
        folder = tempfile.mkdtemp(prefix="text8_isan-")
        (Path(folder) / "smoke").write_text(datasets.text.decode(datasets.text.python_documentation()[:200_000]))
        args.source, args.name, args.sizes = str(Path(folder) / "smoke"), "smoke", ["8e3"]
        args.data_dir, args.runs, args.records = folder, f"{folder}/runs", f"{folder}/records"
        args.epochs, args.steps, args.batch, args.length, args.warm_up = 2, 20, 16, 50, 10
    at = {"source": args.source, "data_dir": args.data_dir}
    try:
        parts = {part: datasets.text8.load(part, **at) for part in ("train", "validation", "test")}
        info = datasets.text8.info(**at)
        called = args.name or info["name"]
        text = characters.Text(parts, len(datasets.text.ALPHABET), None, {**info, "name": called})
        for size in args.sizes:
            for network in args.networks:
                protocol = characters.Protocol(
                    args.batch,
                    args.length,
                    args.steps,
                    args.epochs,
                    args.learning_rate or characters.RATES[network],
                    args.warm_up,
                    args.clip,
                    args.validation,
                )
                within = f"-{args.minutes:g}min" if args.minutes else ""
                name = f"{called}-{size}" + ("" if network == "ISAN" else f"-{network}") + within
                record, best = characters.run(
                    *(name, network, size, text, protocol, Path(args.runs) / name),
                    *(args.minutes, args.seed, args.verbose),
                )
                path = Path(args.records) / f"isan_text8-{name}.json"
                records.write(path, {"experiment": "isan_text8", **record})
                bits = record["result"]["test_bits"]
                print(f"{name}: {bits:.3f} bits per character on the test split. Model: {best}")
    except (ValueError, OSError) as error:
        print(f"text8_isan: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print("\nStopped. The same command goes on from the last finished epoch.")
        sys.exit(130)


if __name__ == "__main__":
    main()
