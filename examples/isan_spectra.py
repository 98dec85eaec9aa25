"""How many directions of its state does an ISAN use?

Takes the variance of its states along their principal directions: the ISAN of the paper's figure 1. `python -m
examples.papers run isan-spectra` trains vanilla RNNs and GRUs on the same text and compares them.

    python examples/isan_spectra.py --model runs/text_isan/model.keras

Reference: Foerster et al., ICML 2017, section 3.1.
"""

import command_line

args = command_line.reads_isan(__doc__).parse_args()

with command_line.quiet():
    import keras
    import numpy as np

    from keras_interp_rnn import analysis, datasets, figures, layers


def main() -> None:
    model, (_, validation, _) = command_line.trained_isan(args)
    isan = next(layer for layer in model.layers if isinstance(layer, layers.ISAN))
    reader = keras.Model(model.inputs[0], isan.output)
    isan.reset_state()
    batch, length = model.input_shape
    windows = datasets.Windows(validation, batch, length=length)
    states = np.concatenate([np.asarray(reader(windows[i][0])) for i in range(min(12, len(windows)))])
    spectrum = analysis.state_spectrum(states.reshape(-1, isan.units))
    for fraction in (0.5, 0.9, 0.99):
        directions = int(np.searchsorted(np.cumsum(spectrum), fraction) + 1)
        print(f"{directions:4} of {isan.units} directions explain {fraction:.0%} of the variance")
    command_line.save(figures.state_spectra({f"ISAN, {isan.units} units": spectrum}), args.figure)


if __name__ == "__main__":
    main()
