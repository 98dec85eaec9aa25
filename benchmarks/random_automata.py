"""Does `automata.infer` find languages that nobody chose?

Draws minimal automata of 3 to 8 states over two or three symbols, infers an automaton from all words up to a length
with their labels, compiles it into a network, and certifies that. With --large, automata of about 10 to 20 states over
two and four symbols, in turn, from the words of the experiment `automata-noise`: all short ones and 3,000 longer ones.
A line for each; lines that are in --out are not repeated.

    PYTHONPATH=. python benchmarks/random_automata.py --count 40 --out random_automata.jsonl            # half a minute
    PYTHONPATH=. python benchmarks/random_automata.py --large --out large_random_automata.jsonl         # a minute
"""

import argparse
import itertools
import json
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from examples.papers import automata_noise
from keras_interp_rnn import automata


def drawn(rng: np.random.Generator, states: int, alphabet: str) -> automata.DFA:
    """A minimal automaton of about so many states."""
    while True:
        table = rng.integers(states, size=(states, len(alphabet)))
        accepting = np.flatnonzero(rng.random(states) < 0.5)
        dfa = automata.DFA(table.tolist(), accepting.tolist(), start=0, alphabet=alphabet).minimize()
        if len(dfa) >= max(2, states - 2):
            return dfa


def small(seed: int) -> tuple[automata.DFA, list[tuple[str, ...]]]:
    """An automaton, and all words up to a length."""
    rng = np.random.default_rng(1000 + seed)
    states, alphabet = int(rng.integers(4, 9)), "abc" if seed % 2 else "ab"
    longest = 10 if len(alphabet) == 2 else 7
    words = [word for n in range(longest + 1) for word in itertools.product(alphabet, repeat=n)]
    return drawn(rng, states, alphabet), words


def large(seed: int) -> tuple[automata.DFA, list[tuple[str, ...]]]:
    """An automaton, and all short words and some longer ones."""
    rng = np.random.default_rng(2000 + seed)
    truth = drawn(rng, 10 + seed // 2 % 11, "abcd" if seed % 2 else "ab")
    return truth, automata_noise.sample(truth, 0.0, (2000, seed)).words


def run(seed: int, draw: Callable[[int], tuple[automata.DFA, list[tuple[str, ...]]]]) -> dict:
    truth, words = draw(seed)
    alphabet = truth.alphabet
    began = time.monotonic()
    found = automata.infer(words, map(truth.accepts, words), alphabet=alphabet, seed=seed, time_budget=None)
    seconds = time.monotonic() - began
    return {
        "seed": seed,
        "states": len(truth),
        "symbols": len(alphabet),
        "words": len(words),
        "exact": found.dfa.equivalent(truth),
        "certified": automata.certify(automata.compile(found.dfa), truth).holds,
        "seconds": round(seconds, 1),
        "verdict": str(found),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--large", action="store_true", help="10 to 20 states")
    parser.add_argument("--out", type=Path, default=Path("random_automata.jsonl"))
    args = parser.parse_args()
    lines = args.out.read_text().splitlines() if args.out.exists() else []
    found = {row["seed"]: row for row in map(json.loads, lines)}
    for seed in range(args.count):
        if seed not in found:
            found[seed] = run(seed, large if args.large else small)
            with args.out.open("a") as out:
                print(json.dumps(found[seed]), file=out)
        print({name: value for name, value in found[seed].items() if name != "verdict"}, flush=True)
    for question in ("exact", "certified"):
        print(f"{question}: {sum(row[question] for row in found.values())} of {len(found)}")


if __name__ == "__main__":
    main()
