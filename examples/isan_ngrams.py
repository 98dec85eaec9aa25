"""How much of an ISAN is an n-gram model?

Compares what it predicts after no letter and after one with the letters and pairs of its text (the paper's figure 8),
and its bits per character with those of back-off n-gram models.

    python examples/isan_ngrams.py --model runs/text_isan/model.keras

Reference: Foerster et al., ICML 2017, section 3.6.
"""

import sys
from pathlib import Path

import command_line

parser = command_line.reads_isan(__doc__, "isan_ngrams")
parser.add_argument("--order", type=int, default=5, help="symbols in the longest n-gram")
parser.add_argument("--symbols", type=int, default=20_000, help="symbols of the test text to read")
args = parser.parse_args()

with command_line.quiet():
    import numpy as np

    from keras_interp_rnn import analysis, datasets, figures
    from keras_interp_rnn.reproduce import isan_text, records

ALPHABET = datasets.text.ALPHABET


def main() -> None:
    try:
        model, (train, _, test), about = isan_text.load(args)
    except datasets.DataError as error:
        print(f"isan_ngrams: {error}", file=sys.stderr)
        sys.exit(2)
    if args.smoke:
        args.order, args.symbols = 3, 1000
    found = analysis.ngram_agreement(model, train)
    figures.ngram_agreement(found, ALPHABET).savefig(Path(args.figures) / "figure8.png", dpi=120)
    better = int(np.nansum(found.bigram_correlations > found.unigram_baseline))
    print(f"Correlation of the network with the text: unigrams {found.unigram_correlation:.2f}, ", end="")
    print(f"bigrams {np.nanmean(found.bigram_correlations):.2f} on average (unigrams with bigrams ", end="")
    print(f"{np.nanmean(found.unigram_baseline):.2f}), better for {better} of {len(ALPHABET)} letters.")
    text, bits = test[: args.symbols], {}
    for order in range(1, args.order + 1):
        bits[f"{order}-gram"] = analysis.BackoffModel(train, order, vocabulary_size=len(ALPHABET)).bits(text)
    bits["ISAN"] = analysis.timescales(model, text, max_age=0).whole
    print("Bits a character: " + ", ".join(f"{name} {value:.3f}" for name, value in bits.items()))
    record = {
        "experiment": "isan_ngrams",
        **about,
        "protocol": {"order": args.order, "symbols": args.symbols},
        "result": {
            "unigram_correlation": found.unigram_correlation,
            "bigram_correlation": float(np.nanmean(found.bigram_correlations)),
            "unigram_baseline": float(np.nanmean(found.unigram_baseline)),
            "better": better,
            "bits": bits,
        },
    }
    records.write(Path(args.records) / "isan_ngrams.json", record)
    print(f"Figure: {args.figures}")


if __name__ == "__main__":
    main()
