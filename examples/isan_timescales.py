"""How far back does an ISAN look, and what is a space worth?

Follows the contribution of every symbol of a text through time, fits its decay with two exponentials, and takes the
cross-entropy with little history, without the last space and with nothing but it: the paper's figure 4.

    python examples/isan_timescales.py --model runs/text_isan/model.keras

Reference: Foerster et al., ICML 2017, section 3.3.
"""

import sys
from pathlib import Path

import quiet

with quiet.standard_error():
    from keras_interp_rnn import analysis, datasets, figures
    from keras_interp_rnn.reproduce import isan_text, records


def main() -> None:
    parser = isan_text.arguments(__doc__.splitlines()[0], "isan_timescales")
    parser.add_argument("--symbols", type=int, default=20_000, help="of the test text")
    parser.add_argument("--oldest", type=int, default=150, help="symbols back")
    args = parser.parse_args()
    try:
        model, (_, _, test), about = isan_text.load(args)
    except datasets.text.TextError as error:
        print(f"isan_timescales: {error}", file=sys.stderr)
        sys.exit(2)
    if args.smoke:
        args.symbols, args.oldest = 1000, 30
    found = analysis.timescales(model, test[: args.symbols], args.oldest)
    fit = found.fit()
    figures.timescales(found, fit).savefig(Path(args.figures) / "figure4.png", dpi=120)
    fast, slow = fit.scales
    print(f"Decay: two exponentials of {fast:.1f} and {slow:.1f} symbols, off by {fit.error:.1%};")
    print(f"       a single one would be off by {fit.error_of_one:.1%} (root mean square of the logarithm).")
    lengths = [n for n in (0, 1, 2, 3, 5, 10, 20, 50, 100) if n < len(found.history)]
    print("History: " + ", ".join(f"{n} symbols {found.history[n]:.2f}" for n in lengths), end="")
    print(f", all {found.whole:.2f} bits a symbol.")
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
