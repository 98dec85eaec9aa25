"""What do the biases of an ISAN say about letters, in the space that predictions read and in the rest?

Splits the bias of every letter into its part in the readout subspace and the rest, and draws their lengths against the
letters' frequencies (the paper's figure 6) and the angles between them (figure 7). Prints the singular values of every
letter's matrix and which output reads the direction that it stretches most.

    python examples/isan_subspaces.py --model runs/text_isan/model.keras

Reference: Foerster et al., ICML 2017, section 3.5; its version 1, section 4.4, for the singular values.
"""

import sys
from pathlib import Path

import command_line

args = command_line.reads_isan(__doc__, "isan_subspaces").parse_args()

with command_line.quiet():
    import numpy as np

    from keras_interp_rnn import analysis, datasets, figures
    from keras_interp_rnn.reproduce import isan_text, records

ALPHABET = datasets.text.ALPHABET
PARTS = ("whole bias", "readout subspace", "computational subspace")


def main() -> None:
    try:
        model, (train, _, _), about = isan_text.load(args)
    except datasets.DataError as error:
        print(f"isan_subspaces: {error}", file=sys.stderr)
        sys.exit(2)
    folder = Path(args.figures)
    counts = np.bincount(train, minlength=len(ALPHABET))
    log_p = np.log(np.maximum(counts, 1) / len(train))
    norms, cosines = analysis.bias_norms(model), analysis.bias_cosines(model)
    figures.bias_norms(norms, log_p, names=ALPHABET).savefig(folder / "figure6.png", dpi=120)
    figures.bias_cosines(cosines, ALPHABET).savefig(folder / "figure7.png", dpi=120)
    vowels = [ALPHABET.index(letter) for letter in "aeiou"]
    consonants = [i for i in range(1, len(ALPHABET)) if i not in vowels]
    rows = []
    print(f"{'':24}{'norm ~ log p':>14}{'within vowels':>15}{'consonants':>12}{'across':>8}   (mean cosines)")
    for name, norm, cosine in zip(PARTS, norms, cosines, strict=True):
        off = ~np.eye(len(ALPHABET), dtype=bool)
        means = [
            float(cosine[np.ix_(a, b)][off[np.ix_(a, b)]].mean())
            for a, b in ((vowels, vowels), (consonants, consonants), (vowels, consonants))
        ]
        rows.append({"part": name, "correlation": analysis.correlation(norm, log_p), "cosines": means})
        shown = (f"{value:+.2f}" if np.isfinite(value) else "none" for value in (rows[-1]["correlation"], *means))
        print("{:24}{:>14}{:>15}{:>12}{:>8}".format(name, *shown))
    spectra = analysis.transition_spectra(model)
    print("\nAlignment: |cosine| between what the letter's matrix stretches most and what the logit of a space reads.")
    print("letter  largest singular values   spectral radius  alignment")
    for i, letter in enumerate(ALPHABET):
        values = "".join(f"{value:6.2f}" for value in spectra.values[i, :4])
        print(f"{letter if i else '␣':>6}{values}{spectra.radius[i]:18.2f}{spectra.alignment[i, 0]:11.2f}")
    record = {
        "experiment": "isan_subspaces",
        **about,
        "protocol": {},
        "result": {
            "parts": rows,
            "largest_singular_values": spectra.values[:, 0].tolist(),
            "radius": spectra.radius.tolist(),
            "alignment_with_space": spectra.alignment[:, 0].tolist(),
        },
    }
    records.write(Path(args.records) / "isan_subspaces.json", record)
    print(f"Figures: {folder}")


if __name__ == "__main__":
    main()
