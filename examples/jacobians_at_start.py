"""Before any training: how far back does an error reach in four recurrent networks?

Draws all weights orthogonal, reads normally distributed sequences, and takes the singular values of the Jacobians
dh_T/dx_{T-k} (figure 4 of the paper). Prints median and inter-decile range of each, over several draws, and saves the
figure and a record.

    python examples/jacobians_at_start.py

Reference: Chen, "MinimalRNN", 2017, arXiv:1711.06788, section 3, "Trainability".
"""

import tempfile
from pathlib import Path

import command_line

parser = command_line.Parser(__doc__)
parser.add_argument("--units", type=int, default=128, help="state size and number of input features")
parser.add_argument("--length", type=int, default=50, help="steps in a sequence")
parser.add_argument("--batch", type=int, default=16, help="sequences in each draw")
parser.add_argument("--draws", type=int, default=5, help="draws of weights and sequences")
parser.add_argument("--lags", type=int, nargs="+", default=[0, 5, 10, 25], help="steps between input and state")
parser.add_argument("--scale", type=float, default=1.0, help="standard deviation of the inputs")
parser.add_argument("--gate-bias", type=float, help="of every gate that keeps the state; otherwise each layer's own")
parser.add_argument("--figure", default="runs/jacobians_at_start.png", help="file of the figure")
parser.add_argument("--records", default="runs/records", help="folder of the JSON record")
parser.add_argument("--smoke", action="store_true", help="small, in a temporary folder")
args = parser.parse_args()

with command_line.quiet():
    from keras_interp_rnn import figures
    from keras_interp_rnn.reproduce import recommendation, records


def main() -> None:
    if args.smoke:
        folder = tempfile.mkdtemp(prefix="jacobians_at_start-")
        args.units, args.length, args.batch, args.draws, args.lags = 8, 12, 3, 2, [0, 5]
        args.figure, args.records = f"{folder}/figure.png", f"{folder}/records"

    protocol = {name: getattr(args, name) for name in ("units", "length", "batch", "draws", "lags", "scale")}
    of_bias = ""
    if args.gate_bias is not None:
        protocol["gate_bias"], of_bias = args.gate_bias, f"-bias-{args.gate_bias:g}"
    found = recommendation.at_start(protocol)
    record = recommendation.start_record(protocol, found)
    print("Singular values of dh_T/dx_(T-k): median (10th percentile, 90th percentile)")
    print(f"{'':12}" + "".join(f"{f'k = {lag}':>28}" for lag in args.lags))
    for name, result in record["result"].items():
        rows = result["p10_p50_p90"]
        print(f"{name:12}" + "".join(f"{m:10.2g} ({low:.1e}, {high:.1e})" for low, m, high in rows))
    Path(args.figure).parent.mkdir(parents=True, exist_ok=True)
    figures.jacobian_histogram(found, args.lags).savefig(args.figure, dpi=150)
    records.write(Path(args.records) / f"jacobians_at_start-{args.scale:g}{of_bias}.json", record)
    print(f"Figure: {args.figure}")


if __name__ == "__main__":
    main()
