"""Does an ISAN use more of its state than other recurrent networks?

Trains a vanilla RNN and a GRU of the same text for a while, and compares the variance of their states along their
principal directions with the ISAN's: the paper's figure 1.

    python examples/isan_spectra.py --model runs/text_isan/model.keras        # three minutes on two cores

Reference: Foerster et al., ICML 2017, section 3.1.
"""

import sys
from pathlib import Path

import command_line

parser = command_line.reads_isan(__doc__, "isan_spectra")
parser.add_argument("--units", type=int, nargs="+", default=[128, 256], help="state sizes of the other networks")
parser.add_argument("--steps", type=int, default=1500, help="training steps of each network")
parser.add_argument("--windows", type=int, default=12, help="windows of the validation text to read")
args = parser.parse_args()

with command_line.quiet():
    import keras
    import numpy as np

    from keras_interp_rnn import analysis, datasets, figures
    from keras_interp_rnn.reproduce import isan_text, records


def states(model: keras.Model, symbols: np.ndarray, windows: int) -> np.ndarray:
    """States of the network's recurrent layer along a text, read as in training; without its first windows."""
    recurrent = next(layer for layer in model.layers if hasattr(layer, "cell"))
    reader = keras.Model(model.inputs[0], recurrent.output)
    recurrent.reset_state()
    batch_size, length = model.input_shape
    text = datasets.Windows(symbols, batch_size, length=length)
    read = [np.asarray(reader(text[i][0], training=False)) for i in range(min(windows, len(text)))]
    return np.concatenate([part.reshape(-1, part.shape[-1]) for part in read[len(read) // 4 :]])


def main() -> None:
    try:
        model, (train, validation, _), about = isan_text.load(args)
    except datasets.DataError as error:
        print(f"isan_spectra: {error}", file=sys.stderr)
        sys.exit(2)
    if args.smoke:
        args.units, args.steps = [12], 10
    of_isan = states(model, validation, args.windows)
    spectra = {f"ISAN, {of_isan.shape[1]} units": analysis.state_spectrum(of_isan)}
    for kind in ("SimpleRNN", "GRU"):
        for units in args.units:
            keras.utils.set_random_seed(0)
            recurrent = getattr(keras.layers, kind)(units, return_sequences=True, stateful=True)
            other = isan_text.train(recurrent, train, args.steps)
            spectra[f"{kind}, {units} units"] = analysis.state_spectrum(states(other, validation, args.windows))
    figures.state_spectra(spectra).savefig(Path(args.figures) / "figure1.png", dpi=120)
    print(f"{'':22}directions that explain   50 %   90 %   99 % of the variance, share of all")
    rows = []
    for name, shares in spectra.items():
        needed = [int(np.searchsorted(np.cumsum(shares), level) + 1) for level in (0.5, 0.9, 0.99)]
        rows.append({"network": name, "directions": needed, "units": len(shares)})
        print(f"{name:46}" + "".join(f"{n:4d} ({n / len(shares):.0%})" for n in needed))
    record = {
        "experiment": "isan_spectra",
        **about,
        "protocol": {"steps": args.steps, "windows": args.windows},
        "result": {"networks": rows},
    }
    records.write(Path(args.records) / "isan_spectra.json", record)
    print(f"Figure: {args.figures}")


if __name__ == "__main__":
    main()
