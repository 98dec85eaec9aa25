"""How far back does an ISAN look, and what is a space worth?

Follows the contribution of every symbol of a text through time, fits its decay with two exponentials, and takes the
cross-entropy with little history, without the last space and with nothing but it: the paper's figure 4.

    python examples/isan_timescales.py --model runs/text_isan/model.keras

Reference: Foerster et al., ICML 2017, section 3.3.
"""

import sys
from pathlib import Path

import command_line

parser = command_line.reads_isan(__doc__, "isan_timescales")
parser.add_argument("--symbols", type=int, default=20_000, help="symbols of the test text to read")
parser.add_argument("--oldest", type=int, default=150, help="largest age of a symbol, in symbols")
args = parser.parse_args()

with command_line.quiet():
    from keras_interp_rnn import analysis, datasets, figures
    from keras_interp_rnn.reproduce import isan_text, records


def main() -> None:
    try:
        model, (_, _, test), about = isan_text.load(args)
    except datasets.DataError as error:
        print(f"isan_timescales: {error}", file=sys.stderr)
        sys.exit(2)
    if args.smoke:
        args.symbols, args.oldest = 1000, 30
    found = analysis.timescales(model, test[: args.symbols], max_age=args.oldest)
    fit = found.fit()
    figures.timescales(found, fit).savefig(Path(args.figures) / "figure4.png", dpi=120)
    fast, slow = fit.scales
    # A second exponential that hardly decays over the ages looked at is no time scale.
    two = f"two exponentials of {fast:.1f} and {slow:.1f} symbols, off by {fit.error:.1%}"
    print("Decay:", two if slow <= 10 * args.oldest else f"no second time scale within {args.oldest} symbols", end="; ")
    print(f"a single exponential is off by {fit.error_of_one:.1%} (root mean square of the logarithm).")
    lengths = [n for n in (0, 1, 2, 3, 5, 10, 20, 50, 100) if n < len(found.history)]
    bits = [f"{n}: {found.history[n]:.2f}" for n in lengths]
    print(f"Bits per symbol with the last n symbols: {', '.join(bits)}, all: {found.whole:.2f}.")
    print("Median bits by position in the word: all contributions, without the last space, the last space alone")
    for row in zip(found.positions, found.median_all, found.median_without, found.median_only, strict=True):
        print("{:4d}{:8.2f}{:8.2f}{:8.2f}".format(*row))
        if row[0] == 12:
            break
    record = {
        "experiment": "isan_timescales",
        **about,
        "protocol": {"symbols": args.symbols, "oldest": args.oldest, "part": "test"},
        "result": {
            "scales": fit.scales,
            "error": fit.error,
            "error_of_one": fit.error_of_one,
            "history": {n: found.history[n] for n in lengths},
            "whole": found.whole,
            "median_all": found.median_all[:12].tolist(),
            "median_without": found.median_without[:12].tolist(),
            "median_only": found.median_only[:12].tolist(),
        },
    }
    records.write(Path(args.records) / "isan_timescales.json", record)
    print(f"Figure: {args.figures}")


if __name__ == "__main__":
    main()
