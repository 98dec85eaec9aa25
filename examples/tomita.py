"""Can a network be trained into an automaton, and proved to be it?

Trains a state-regularized GRU on all short words of one of Tomita's languages, reads an automaton off it, and compares
that with the true one. Then proves that the network follows it on words of every length, and up to which temperature;
and looks for words on which network and automaton disagree. Draws both automata.

    python examples/tomita.py                                # under a minute on two cores
    python examples/tomita.py --language 6

All seven languages with several seeds: python -m examples.papers run tomita --seeds 5

Reference: Wang, Lawrence and Niepert, "State-Regularized Recurrent Neural Networks", 2022, sections 4.2 and 5.1.
"""

import itertools
import tempfile
from pathlib import Path

import command_line

parser = command_line.Parser(__doc__)
parser.add_argument("--language", type=int, default=4, choices=range(1, 8), help="number of Tomita's language")
parser.add_argument("--length", type=int, default=10, help="maximum length of a training word")
parser.add_argument("--attempts", type=int, default=4, help="maximum number of trainings")
parser.add_argument("--seed", type=int, default=0, help="seed of the random numbers")
parser.add_argument("--run", default="runs/tomita", help="folder of the model and the drawings")
parser.add_argument("--smoke", action="store_true", help="the first language, short words, a temporary folder")
args = parser.parse_args()

with command_line.quiet():
    from keras_interp_rnn import automata


def main() -> None:
    if args.smoke:
        args.language, args.length, args.attempts, args.run = 1, 3, 1, tempfile.mkdtemp(prefix="tomita-")
    folder = Path(args.run)
    folder.mkdir(parents=True, exist_ok=True)

    truth = automata.tomita(args.language)
    words = [word for n in range(args.length + 1) for word in itertools.product("01", repeat=n)]
    labels = [truth.accepts(word) for word in words]
    model = automata.train_recognizer(words, labels, alphabet="01", num_attempts=args.attempts, seed=args.seed)
    model.save(folder / "model.keras")
    print(f"\n{len(words)} words, {sum(labels)} of them in the language: {model.report}.")

    # One state for each centroid that the network visits.
    extraction = automata.extract(model)
    smallest = extraction.dfa.minimize()
    is_right = smallest == truth
    print(f"Automaton: {len(smallest)} states, {'the' if is_right else 'NOT the'} true one of Tomita {args.language}.")
    (folder / "centroids.svg").write_text(extraction.dfa.to_svg([str(c) for c in extraction.centroids]))
    (folder / "automaton.svg").write_text(smallest.to_svg())

    certificate = automata.certify(model, truth)
    print(certificate)
    if certificate.holds:
        highest = automata.largest_temperature(model, truth)
        print(f"It holds up to temperature {highest:.2f}; the network is deployed at {certificate.temperature:g}.")

    num_random, num_searched = (20, 20) if args.smoke else (200, 2000)
    print(extraction.fidelity(num_random=num_random, num_searched=num_searched, seed=args.seed))
    print(f"Drawings: {folder}")


if __name__ == "__main__":
    main()
