"""Which item will a user meet next: four recurrent networks under one protocol.

Trains a vanilla RNN, a GRU, a CFN and a MinimalRNN on sequences of items, keeps each one's best epoch by validation
MAP@20, and prints MAP, recall and NDCG at 20 on held-out last items beside the seconds of training, and what the most
popular items alone would reach. Logs the singular values of the Jacobians through training to TensorBoard, writes one
JSON record per run and the paper's figures 2, 3 and 5. A finished run is not repeated, a killed one goes on.

    python examples/recommend.py interactions.txt           # lines `user item [time]`, or `user item item ...`
    python examples/recommend.py --synthetic 5000000 --users 2000 --epochs 1 --architectures MinimalRNN

Reference: Chen, "MinimalRNN", 2017, arXiv:1711.06788, section 3.
"""

import argparse
import dataclasses
import sys
import tempfile
from pathlib import Path

import command_line

parser = command_line.Parser(__doc__)
parser.add_argument("file", nargs="?", help="file of interactions, plain, .gz, .xz or .zip")
parser.add_argument("--synthetic", type=int, metavar="ITEMS", help="draw random interactions with ITEMS items instead")
parser.add_argument("--users", type=int, default=5000, help="users of --synthetic")
parser.add_argument("--name", help="name of the data in the records (default: the file's)")
kinds = ["vanilla", "GRU", "CFN", "MinimalRNN"]
parser.add_argument("--architectures", nargs="+", default=kinds, choices=kinds, help="networks to train")
parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2], help="seeds, one run each")
parser.add_argument("--units", type=int, default=64, help="state size")
parser.add_argument("--batch", type=int, default=128, help="sequences in a batch")
parser.add_argument("--epochs", type=int, default=20, help="passes over the training data")
parser.add_argument("--learning-rate", type=float, default=3e-3, help="learning rate at the start")
parser.add_argument("--longest", type=int, default=500, help="interactions kept per user, the latest ones")
parser.add_argument("--negatives", type=int, default=512, help="negative items drawn per batch")
parser.add_argument("--probe", type=int, default=16, help="sequences whose Jacobians are taken")
parser.add_argument("--lags", type=int, nargs="+", default=[0, 10, 25], help="steps between input and state")
parser.add_argument("--runs", default="runs/recommend", help="folder of models, TensorBoard logs and figures")
parser.add_argument("--records", default="runs/records", help="folder of the JSON records")
parser.add_argument("--verbose", type=int, default=command_line.VERBOSE, help="as in fit: 0, 1 or 2")
parser.add_argument("--smoke", action="store_true", help="tiny, drawn at random, in a temporary folder")
args = parser.parse_args()

with command_line.quiet():
    from keras_interp_rnn import datasets, figures
    from keras_interp_rnn.reproduce import pictures, recommendation, records


def run(kind: str, seed: int, data, protocol: recommendation.Protocol, args: argparse.Namespace) -> dict:
    path = Path(args.records) / f"recommend-{args.name}-{kind}-{seed}.json"
    about = recommendation.identity(args.name, data)
    found = records.made_before(path, protocol=dataclasses.asdict(protocol), data=about)
    if found is not None:
        return found
    logs = Path(args.runs) / args.name / f"{kind}-{seed}"
    record, model = recommendation.trained(kind, args.name, data, protocol, logs, seed, args.verbose)
    if kind == "MinimalRNN":
        kernel, recurrent, blocks = recommendation.latent_weights(model)
        figures.latent_weights(kernel, recurrent, blocks=blocks).savefig(logs / "figure3.png", dpi=150)
    records.write(path, record)
    return record


def scores(result: dict) -> str:
    return f"{result['map_20']:9.4f}{result['recall_20']:11.2%}{result['ndcg_20']:9.4f}"


def main() -> None:
    if args.smoke:
        folder = tempfile.mkdtemp(prefix="recommend-")
        args.synthetic, args.users, args.name, args.seeds, args.epochs, args.units = 50, 64, "smoke", [0], 2, 8
        args.lags, args.probe, args.runs, args.records = [0, 5], 4, f"{folder}/runs", f"{folder}/records"
    try:
        if args.synthetic:
            data = datasets.interactions.generate(args.synthetic, args.users, length=30)
        elif args.file:
            data = datasets.interactions.load(args.file)
        else:
            parser.error("give a file of interactions, or --synthetic ITEMS")
        args.name = args.name or (Path(args.file).stem if args.file else "synthetic")
        protocol = recommendation.Protocol(
            *(args.units, args.batch, args.epochs, args.learning_rate),
            *(args.longest, args.negatives, args.probe, tuple(args.lags)),
        )
        found = [run(kind, seed, data, protocol, args) for kind in args.architectures for seed in args.seeds]
    except ValueError as error:
        print(f"recommend: {error}", file=sys.stderr)
        sys.exit(2)
    head = f"{'last item of each user':24}{'seed':>6}{'MAP@20':>9}{'recall@20':>11}{'NDCG@20':>9}{'seconds':>9}"
    print(f"\n{head}\n{'the most popular items':30}{scores(recommendation.popularity(data))}")
    for record in found:
        model, result = record["model"], record["result"]
        print(f"{model['layer']:24}{model['seed']:6}{scores(result)}{result['seconds']:9.0f}")
    folder = Path(args.runs) / args.name
    for name, figure in pictures.recommendation(found).items():
        figure.savefig(folder / name, dpi=150)
    print(f"Figures: {folder}")


if __name__ == "__main__":
    main()
