"""How much of an ISAN is an n-gram model?

Compares what it predicts after no letter and after one with the letters and pairs of its text (the paper's figure 8),
and its bits per character with those of back-off n-gram models.

    python examples/isan_ngrams.py --model runs/text_isan/model.keras

Reference: Foerster et al., ICML 2017, section 3.6.
"""

import command_line

parser = command_line.reads_isan(__doc__)
parser.add_argument("--order", type=int, default=5, help="symbols in the longest n-gram")
parser.add_argument("--symbols", type=int, default=20_000, help="symbols of the test text to read")
args = parser.parse_args()

with command_line.quiet():
    import numpy as np

    from keras_interp_rnn import analysis, datasets, figures

ALPHABET = datasets.text.ALPHABET


def main() -> None:
    model, (train, _, test) = command_line.trained_isan(args)
    if args.smoke:
        args.order, args.symbols = 3, 1000
    agreement = analysis.ngram_agreement(model, train)
    print("correlation of the network with the text")
    print(f"  unigrams: {agreement.unigram_correlation:.2f}")
    print(f"  bigrams, mean over first letters: {np.nanmean(agreement.bigram_correlations):.2f}", end=" ")
    print(f"(those of unigrams: {np.nanmean(agreement.unigram_baseline):.2f})")
    print("bits per character of the test text")
    text = test[: args.symbols]
    for order in range(1, args.order + 1):
        print(f"  {order}-gram {analysis.BackoffModel(train, order, vocabulary_size=len(ALPHABET)).bits(text):.3f}")
    print(f"  ISAN   {analysis.timescales(model, text, max_age=0).whole:.3f}")
    command_line.save(figures.ngram_agreement(agreement, ALPHABET), args.figure)


if __name__ == "__main__":
    main()
