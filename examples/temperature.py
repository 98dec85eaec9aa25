"""Up to which temperature is a trained network an automaton?

Trains a state-regularized GRU on one of Tomita's languages, reads one word at several temperatures, and draws the
probabilities of all centroids after each symbol (the paper's figure 3) and the automaton beside them. Prints for each
temperature the probability of the least certain transition, whether the automaton read off the network is the
language's, how often the network is right on words of up to twice the length, and whether both are proved equal.

    python examples/temperature.py                       # under a minute on two cores
    python examples/temperature.py --language 4 --word 0010

Reference: Wang, Lawrence and Niepert, "State-Regularized Recurrent Neural Networks", 2022, theorem 4.2 and figure 3.
"""

import itertools
import tempfile
from pathlib import Path

import command_line

parser = command_line.Parser(__doc__)
parser.add_argument("--language", type=int, default=1, choices=range(1, 8), help="number of Tomita's language")
parser.add_argument("--word", default="10", help="word to read")
parser.add_argument(
    "--temperatures", type=float, nargs="+", default=[0.1, 0.5, 1.0, 2.0, 5.0, 10.0], help="to be tried"
)
parser.add_argument("--length", type=int, default=10, help="maximum length of a training word")
parser.add_argument("--seed", type=int, default=0, help="seed of the random numbers")
parser.add_argument("--figures", default="runs/temperature", help="folder of the figures")
parser.add_argument("--smoke", action="store_true", help="short words, in a temporary folder")
args = parser.parse_args()

with command_line.quiet():
    import numpy as np

    from keras_interp_rnn import analysis, automata, datasets, figures


def main() -> None:
    attempts = 4
    if args.smoke:
        args.length, attempts, args.figures = 3, 1, tempfile.mkdtemp(prefix="temperature-")
    truth = automata.tomita(args.language)
    words = ["".join(word) for n in range(args.length + 1) for word in itertools.product("01", repeat=n)]
    labels = [truth.accepts(word) for word in words]
    model = automata.train_recognizer(words, labels, alphabet="01", num_attempts=attempts, seed=args.seed)
    cell = model.get_layer("recurrent").cell
    trained = float(cell.current_temperature())
    print(f"\nTrained at temperature {trained:g}.\n")

    rng = np.random.default_rng(args.seed)
    longer = ["".join(rng.choice(["0", "1"], n)) for n in rng.integers(1, 2 * args.length + 1, 500)]
    in_language = np.array([truth.accepts(word) for word in longer])
    ids = datasets.LabelledWords((args.word,), np.array([truth.accepts(args.word)]), "01").ids(start=True)
    alphas, answers = {}, ["no", "yes"]
    print(f"{'temperature':>11}{'least certain':>15}{'automaton':>11}{'words right':>13}{'proved':>8}")
    for temperature in args.temperatures:
        cell.set_temperature(temperature)
        alphas[temperature] = analysis.transition_probabilities(model, ids)[0]
        extraction = automata.extract(model)
        least = min(float(extraction.confidence.min()), extraction.start_confidence)
        right = np.mean(model.classify(longer) == in_language)
        same, proved = extraction.dfa.equivalent(truth), automata.certify(model, truth).holds
        print(f"{temperature:11g}{least:15.4f}{answers[same]:>11}{right:13.1%}{answers[proved]:>8}")
    cell.set_temperature(trained)
    print(f"Highest temperature proved: {automata.largest_temperature(model, truth):.3g}.")

    command_line.save(figures.temperatures(alphas, ["S", *args.word]), f"{args.figures}/figure3.png")
    extraction = automata.extract(model)
    drawing = Path(args.figures, "automaton.svg")
    drawing.write_text(extraction.dfa.to_svg([str(c) for c in extraction.centroids]))
    print(f"Automaton: {drawing}")


if __name__ == "__main__":
    main()
