"""Before any training: how far back does an error reach in four recurrent networks?

Draws all weights orthogonal, reads normally distributed sequences, and takes the singular values of the Jacobians
dh_T/dx_{T-k} (figure 4 of the paper). Prints median and inter-decile range of each, over several draws, and saves the
figure and a record.

    python examples/jacobians_at_start.py

Reference: Chen, "MinimalRNN", 2017, arXiv:1711.06788, section 3, "Trainability".
"""

import argparse
import tempfile
from pathlib import Path

import quiet

with quiet.standard_error():
    import numpy as np

    from keras_interp_rnn import analysis, figures
    from keras_interp_rnn.reproduce import recommendation, records


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--units", type=int, default=128, help="and as many input features")
    parser.add_argument("--length", type=int, default=50, help="steps in a sequence")
    parser.add_argument("--batch", type=int, default=16, help="sequences in each draw")
    parser.add_argument("--draws", type=int, default=5, help="of all weights and sequences")
    parser.add_argument("--lags", type=int, nargs="+", default=[0, 5, 10, 25])
    parser.add_argument("--scale", type=float, default=1.0, help="standard deviation of the inputs")
    parser.add_argument("--figure", default="runs/jacobians_at_start.png")
    parser.add_argument("--records", default="runs/records", help="where the JSON record goes")
    parser.add_argument("--smoke", action="store_true", help="small, in a scratch folder")
    args = parser.parse_args()
    if args.smoke:
        folder = tempfile.mkdtemp(prefix="jacobians_at_start-")
        args.units, args.length, args.batch, args.draws, args.lags = 8, 12, 3, 2, [0, 5]
        args.figure, args.records = f"{folder}/figure.png", f"{folder}/records"

    found: dict[str, list[np.ndarray]] = {}
    for draw in range(args.draws):
        inputs = np.random.default_rng(draw).normal(scale=args.scale, size=(args.batch, args.length, args.units))
        for name in recommendation.ARCHITECTURES:
            layer = recommendation.recurrent_layer(name, args.units, args.units, seed=draw)
            values = analysis.jacobian_singular_values(layer, inputs.astype("float32"), args.lags)
            found.setdefault(name, []).append(values.reshape(len(args.lags), -1))
            print(f"draw {draw + 1} of {args.draws}: {name}", end="      \r", flush=True)
    together = {name: np.concatenate(draws, axis=1) for name, draws in found.items()}

    print(" " * 40 + f"\r{'':12}" + "".join(f"{f'k = {lag}':>28}" for lag in args.lags) + "   (median, 10 % to 90 %)")
    table = {}
    for name, values in together.items():
        table[name] = np.percentile(values, [10, 50, 90], axis=1).T.tolist()
        print(f"{name:12}" + "".join(f"{m:10.2g} ({low:.1e}, {high:.1e})" for low, m, high in table[name]))
    Path(args.figure).parent.mkdir(parents=True, exist_ok=True)
    figures.jacobian_histogram(together, args.lags).savefig(args.figure, dpi=150)
    record = {
        "experiment": "jacobians_at_start",
        "protocol": {name: getattr(args, name) for name in ("units", "length", "batch", "draws", "lags", "scale")},
        "result": {name: {"p10_p50_p90": rows} for name, rows in table.items()},
    }
    records.write(Path(args.records) / f"jacobians_at_start-{args.scale:g}.json", record)
    print(f"Figure: {args.figure}")


if __name__ == "__main__":
    main()
