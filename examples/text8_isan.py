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

import argparse
import sys
import tempfile
from pathlib import Path

import quiet

with quiet.standard_error():
    from keras_interp_rnn import datasets
    from keras_interp_rnn.reproduce import characters, records


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--source", help="a text file (.zip, .xz, .gz or plain) instead of the download of text8")
    parser.add_argument("--name", help="what the record calls the data; text8, or the file")
    parser.add_argument("--data-dir", help="where TFDS keeps prepared data")
    parser.add_argument("--networks", nargs="+", default=["ISAN"], choices=characters.NETWORKS)
    parser.add_argument("--sizes", nargs="+", default=["8e4", "3.2e5", "1.28e6"], help="largest numbers of weights")
    parser.add_argument("--minutes", type=float, help="of training for each, in place of --steps")
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--steps", type=int, default=1000, help="batches in an epoch")
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--length", type=int, default=100, help="characters in a window")
    parser.add_argument("--learning-rate", type=float, help="Adam's highest, times the number of units")
    parser.add_argument("--warm-up", type=int, default=200, help="steps of linear growth to it; then a cosine to 1 %%")
    parser.add_argument("--clip", type=float, default=0.144, help="largest global norm of a gradient, in bits")
    parser.add_argument("--validation", type=int, help="windows of the validation text read after an epoch; all")
    parser.add_argument("--seed", type=int, default=0, help="of the first weights")
    parser.add_argument("--runs", default="runs/text8_isan", help="checkpoints and TensorBoard logs")
    parser.add_argument("--records", default="runs/records", help="where the JSON records go")
    parser.add_argument("--verbose", type=int, default=1, help="as in fit: 1 a progress bar, 2 a line per epoch")
    parser.add_argument("--smoke", action="store_true", help="two short epochs on a small text, in a scratch folder")
    args = parser.parse_args()
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
