"""What do the biases of an ISAN say about letters, in the space that predictions read and in the rest?

Splits the bias of every letter into its part in the readout subspace and the rest, and draws their lengths against the
letters' frequencies: the paper's figure 6. Prints how similar vowels and consonants are in each subspace, figure 7.

    python examples/isan_subspaces.py --model runs/text_isan/model.keras

Reference: Foerster et al., ICML 2017, section 3.5.
"""

import command_line

args = command_line.reads_isan(__doc__).parse_args()

with command_line.quiet():
    import numpy as np

    from keras_interp_rnn import analysis, datasets, figures

ALPHABET = datasets.text.ALPHABET


def main() -> None:
    model, (train, _, _) = command_line.trained_isan(args)
    log_p = np.log(np.maximum(np.bincount(train, minlength=len(ALPHABET)), 1) / len(train))
    norms, cosines = analysis.bias_norms(model), analysis.bias_cosines(model)

    vowels = [ALPHABET.index(letter) for letter in "aeiou"]
    consonants = [i for i in range(1, len(ALPHABET)) if i not in vowels]
    print("mean cosine between the biases of a vowel and another letter")
    print(f"{'':24}{'vowels':>8}{'consonants':>12}")
    for part, cosine in zip(("whole bias", "readout subspace", "computational subspace"), cosines, strict=True):
        among = cosine[np.ix_(vowels, vowels)].sum() - len(vowels)  # without those of a letter with itself
        within = among / (len(vowels) * (len(vowels) - 1))
        print(f"{part:24}{within:+8.2f}{cosine[np.ix_(vowels, consonants)].mean():+12.2f}")
    command_line.save(figures.bias_norms(norms, log_p, names=ALPHABET), args.figure)


if __name__ == "__main__":
    main()
