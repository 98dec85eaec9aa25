"""Which letters and words of the past made up a prediction?

Splits the logits of an ISAN exactly among the symbols that it has read, and asks what their sum says without those of
one of the words, as in the paper's "annual reve", where "annual" turns "reverse" into "revenue". The network that reads
the text without that word may say something else. Draws the paper's figure 3.

    python examples/isan_predictions.py --model runs/text_isan/model.keras
    python examples/isan_predictions.py --model model.keras --prompt "the return val"

Reference: Foerster et al., ICML 2017, sections 3.3 and 3.4.
"""

import command_line

parser = command_line.reads_isan(__doc__)
parser.add_argument("--prompt", default="annual reve", help="text whose last prediction is split")
args = parser.parse_args()

with command_line.quiet():
    from keras_interp_rnn import analysis, datasets, figures


def main() -> None:
    model, _ = command_line.trained_isan(args)
    symbols = datasets.text.encode(f" {args.prompt}")
    split = analysis.contributions(model, symbols, alphabet=datasets.text.ALPHABET)
    print(f"{split}\nThe sum of the contributions misses the logits by {split.residual:.1e}.\n")

    words = split.by_word()
    ends = [*words.starts[1:], len(symbols) + 1]
    winner = split.name(split.winner()[0])
    for name, start, end in zip(words.names, words.starts, ends, strict=True):
        without = split.without(range(start, end))[-1]
        print(f"without the terms of {name:12} the sum says {split.name(without.argmax())!r} (with them {winner!r})")
    command_line.save(figures.contribution_column(split), args.figure)


if __name__ == "__main__":
    main()
