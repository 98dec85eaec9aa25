"""How far back does an ISAN look?

Follows the contribution of every symbol of a text through time, fits its decay with two exponentials, and computes the
bits per symbol with a short history: the paper's figure 4.

    python examples/isan_timescales.py --model runs/text_isan/model.keras

Reference: Foerster et al., ICML 2017, section 3.3.
"""

import command_line

parser = command_line.reads_isan(__doc__)
parser.add_argument("--symbols", type=int, default=20_000, help="symbols of the test text to read")
parser.add_argument("--oldest", type=int, default=150, help="largest age of a symbol, in symbols")
args = parser.parse_args()

with command_line.quiet():
    from keras_interp_rnn import analysis, figures


def main() -> None:
    model, (_, _, test) = command_line.trained_isan(args)
    if args.smoke:
        args.symbols, args.oldest = 1000, 30
    scales = analysis.timescales(model, test[: args.symbols], max_age=args.oldest)
    fit = scales.fit()
    fast, slow = fit.scales
    print(f"Contributions decay on scales of {fast:.1f} and {slow:.1f} symbols (fit off by {fit.error:.1%},", end=" ")
    print(f"a single exponential by {fit.error_of_one:.1%}: root mean square of the logarithm).")
    for length in (0, 1, 2, 3, 5, 10, 20, 50, 100):
        if length < len(scales.history):
            print(f"{scales.history[length]:6.2f} bits per symbol with the last {length} symbols")
    print(f"{scales.whole:6.2f} bits per symbol with all of them")
    command_line.save(figures.timescales(scales, fit), args.figure)


if __name__ == "__main__":
    main()
