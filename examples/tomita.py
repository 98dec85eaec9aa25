"""Can a network be trained into an automaton, and proved to be it?

For each of Tomita's seven languages: trains a state-regularized GRU on all words up to a length, reads it as an
automaton, compares that with the true one, proves that the network follows it on words of every length, and looks for
words on which they differ after all. Draws the automata. A finished run is not repeated.

    python examples/tomita.py                                # all seven, one seed: about six minutes on two cores
    python examples/tomita.py --languages 5 --seeds 0 1 2 3 4

Reference: Wang, Lawrence and Niepert, "State-Regularized Recurrent Neural Networks", 2022, sections 4.2 and 5.1.
"""

import argparse
import itertools
import sys
import tempfile
from pathlib import Path

import command_line

parser = command_line.Parser(__doc__)
parser.add_argument("--languages", type=int, nargs="+", default=list(range(1, 8)), help="languages to learn")
parser.add_argument("--seeds", type=int, nargs="+", default=[0], help="seeds, one run each")
parser.add_argument("--longest", type=int, default=10, help="symbols in the longest training word")
parser.add_argument("--attempts", type=int, default=4, help="largest number of trainings per language")
parser.add_argument("--long", type=int, default=200, help="random words of up to 1,000 symbols to check")
parser.add_argument("--runs", default="runs/tomita", help="folder of models and drawings")
parser.add_argument("--records", default="runs/records", help="folder of the JSON records")
parser.add_argument("--smoke", action="store_true", help="the first language, in a temporary folder")
args = parser.parse_args()

with command_line.quiet():
    from keras_interp_rnn import automata
    from keras_interp_rnn.reproduce import records


def run(number: int, seed: int, args: argparse.Namespace) -> dict:
    path = Path(args.records) / f"tomita-{number}-{seed}.json"
    protocol = {"longest": args.longest, "attempts": args.attempts}
    before = records.made_before(path, protocol=protocol)
    if before is not None:
        return before
    truth = automata.tomita(number)
    words = [word for n in range(args.longest + 1) for word in itertools.product("01", repeat=n)]
    labels = [truth.accepts(word) for word in words]
    folder = Path(args.runs) / f"tomita-{number}-{seed}"
    folder.mkdir(parents=True, exist_ok=True)
    model = automata.train_recognizer(words, labels, alphabet="01", num_attempts=args.attempts, seed=seed)
    model.save(folder / "model.keras")
    found = automata.extract(model)
    (folder / "centroids.svg").write_text(found.dfa.to_svg([str(c) for c in found.centroids]))
    smallest = found.dfa.minimize()
    (folder / "automaton.svg").write_text(smallest.to_svg())
    certificate = automata.certify(model, truth)
    longest = 30 if args.smoke else 1000
    agreement = found.fidelity(num_random=args.long, max_length=longest, num_searched=10 * args.long, seed=seed)
    print(certificate)
    record = {
        "experiment": "tomita",
        "data": {"name": f"Tomita {number}", "longest": args.longest, "words": len(words), "positives": sum(labels)},
        "protocol": protocol,
        "model": {"layer": "SRGRU", "seed": seed, "parameters": model.count_params()},
        "result": {
            "exact": smallest == truth,
            "states": len(smallest),
            "centroids": len(found.dfa),
            "certified": certificate.holds,
            "temperature": certificate.temperature,
            "epsilon": certificate.epsilon,
            "largest_temperature": automata.largest_temperature(model, truth) if certificate.holds else 0.0,
            "long_words": agreement.long.words,
            "long_agreeing": agreement.long.agreeing,
            "searched_words": agreement.searched.words,
            "searched_agreeing": agreement.searched.agreeing,
            "attempts": model.report.num_attempts,
            "seconds": model.report.seconds,
        },
    }
    records.write(path, record)
    return record


def main() -> None:
    if args.smoke:
        folder = tempfile.mkdtemp(prefix="tomita-")
        args.languages, args.longest, args.attempts, args.long = [1], 3, 1, 2
        args.runs, args.records = f"{folder}/runs", f"{folder}/records"
    try:
        found = [run(number, seed, args) for number in args.languages for seed in args.seeds]
    except ValueError as error:
        print(f"tomita: {error}", file=sys.stderr)
        sys.exit(2)
    print(f"\n{'language':11}{'seed':>4}{'states':>8}{'exact':>7}{'certified':>11}{'long words':>12}{'seconds':>9}")
    for record in found:
        result = record["result"]
        says = ["no", "yes"]
        long_words = f"{result['long_agreeing']}/{result['long_words']}"
        print(
            f"{record['data']['name']:11}{record['model']['seed']:4}{result['states']:8}{says[result['exact']]:>7}"
            f"{says[result['certified']]:>11}{long_words:>12}{result['seconds']:9.0f}"
        )
    print(f"Drawings: {args.runs}")


if __name__ == "__main__":
    main()
