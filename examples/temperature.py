"""Up to which temperature is a trained network an automaton?

Trains a state-regularized GRU on one of Tomita's languages, reads one word at several temperatures, and draws the
probabilities of all centroids after each symbol (the paper's figure 3) and the automaton beside them. Prints for each
temperature how sure the least sure transition is, whether the automaton read off the network is the language's, how
often the network is right on words of up to twice the length, and whether both are proved to be one.

    python examples/temperature.py                       # under a minute on two cores
    python examples/temperature.py --language 4 --word 0010

Reference: Wang, Lawrence and Niepert, "State-Regularized Recurrent Neural Networks", 2022, theorem 4.2 and figure 3.
"""

import itertools
import tempfile
from pathlib import Path

import command_line

parser = command_line.Parser(__doc__)
parser.add_argument("--language", type=int, default=1, help="number of Tomita's language, 1 to 7")
parser.add_argument("--word", default="10", help="word to read")
parser.add_argument(
    "--temperatures", type=float, nargs="+", default=[0.1, 0.5, 1.0, 2.0, 5.0, 10.0], help="temperatures to try"
)
parser.add_argument("--centroids", type=int, default=10, help="number of centroids")
parser.add_argument("--longest", type=int, default=10, help="symbols in the longest training word")
parser.add_argument("--seed", type=int, default=0, help="seed of the random numbers")
parser.add_argument("--figures", default="runs/temperature", help="folder of the figures")
parser.add_argument("--records", default="runs/records", help="folder of the JSON record")
parser.add_argument("--smoke", action="store_true", help="short words, in a temporary folder")
args = parser.parse_args()

with command_line.quiet():
    import numpy as np

    from keras_interp_rnn import analysis, automata, datasets, figures
    from keras_interp_rnn.reproduce import records


def main() -> None:
    if args.smoke:
        args.longest, args.centroids, args.temperatures = 3, 4, [0.5, 1.0, 5.0]
        args.figures = tempfile.mkdtemp(prefix="temperature-")
        args.records = args.figures
    truth = automata.tomita(args.language)
    words = ["".join(word) for n in range(args.longest + 1) for word in itertools.product("01", repeat=n)]
    labels = [truth.accepts(word) for word in words]
    model = automata.train_recognizer(
        words, labels, alphabet="01", num_centroids=args.centroids, num_attempts=1 if args.smoke else 4, seed=args.seed
    )
    cell = model.get_layer("recurrent").cell
    trained = float(cell.current_temperature())
    read = datasets.LabelledWords((args.word,), np.array([truth.accepts(args.word)]), "01").ids(start=True)
    rng = np.random.default_rng(args.seed)
    tried = ["".join(rng.choice(["0", "1"], n)) for n in rng.integers(1, 2 * args.longest + 1, 500)]
    wanted = np.array([truth.accepts(word) for word in tried])
    alphas, rows, says = {}, [], ["no", "yes"]
    print(f"\nTrained at temperature {trained:g}.\n")
    print(f"{'temperature':>11}{'least sure':>12}{'automaton':>11}{'words right':>13}{'proved':>8}")
    for temperature in args.temperatures:
        cell.set_temperature(temperature)
        alphas[temperature] = analysis.transition_probabilities(model, read)[0]
        found = automata.extract(model)
        least = min(float(found.confidence.min()), found.start_confidence)
        right = np.mean(model.classify(tried) == wanted)
        same, proved = found.dfa.equivalent(truth), automata.certify(model, truth).holds
        print(f"{temperature:11g}{least:12.4f}{says[same]:>11}{right:13.1%}{says[proved]:>8}")
        row = {"temperature": temperature, "least": least, "exact": same, "right": float(right), "certified": proved}
        rows.append(row)
    cell.set_temperature(trained)
    folder = Path(args.figures)
    folder.mkdir(parents=True, exist_ok=True)
    figures.temperatures(alphas, ["S", *args.word]).savefig(folder / "figure3.png", dpi=150)
    found = automata.extract(model)
    (folder / "automaton.svg").write_text(found.dfa.to_svg([str(c) for c in found.centroids]))
    highest = automata.largest_temperature(model, truth)
    record = {
        "experiment": "temperature",
        "data": {"name": f"Tomita {args.language}", "longest": args.longest, "word": args.word},
        "protocol": {"longest": args.longest, "centroids": args.centroids},
        "model": {"layer": "SRGRU", "seed": args.seed, "parameters": model.count_params()},
        "result": {"temperatures": rows, "trained": trained, "largest": highest},
    }
    records.write(Path(args.records) / f"temperature-{args.language}-{args.seed}.json", record)
    print(f"Highest temperature proved: {highest:.3g}. Figures: {folder}")


if __name__ == "__main__":
    main()
