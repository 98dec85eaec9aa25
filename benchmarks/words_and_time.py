"""Are more words ever worse for `automata.infer`, and how long does it take?

For each language, words in four sizes, each a part of the next: is the language's automaton found, and in how many
seconds, of a budget of 60? Both are seconds of the processor, so that what else the machine runs does not matter. The
languages are seven random automata of 4 to 20 states over two to eight symbols, with the shortest words and as many
longer ones, and thirteen of MLRegTest over four letters, one of a class, whose words are long (--data is the folder of
the benchmark's automata, NAME.att). A line of JSON for each; lines that are in --out are not repeated.

    PYTHONPATH=. nice -n 10 python benchmarks/words_and_time.py --data mlregtest --out benchmarks/words_and_time.jsonl
    PYTHONPATH=. python benchmarks/words_and_time.py --table benchmarks/words_and_time.jsonl
    PYTHONPATH=. python benchmarks/words_and_time.py --smoke

The results, with hardware, date and commit, are in benchmarks/README.md.
"""

import argparse
import itertools
import json
import random
import statistics
import time
from collections.abc import Callable, Hashable, Iterator
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from keras_interp_rnn import automata

SECONDS = 60.0
SIZES = (1_000, 2_000, 10_000, 50_000)
CLASSES = tuple("SL TLT PT Reg SP LT LTT PLT SF TLTT TPLT TSL Zp".split())
RANDOM = (
    (6, "ab"),
    (10, "abcd"),
    (16, "ab"),
    (8, "abcdefgh"),
    (4, "abcd"),
    (12, "abc"),
    (20, "ab"),
)  # states and symbols
LONGEST = 25  # symbols of a word of a random automaton

Words = list[tuple[str, ...]]


def words_of(alphabet: str, number: int, seed: int) -> Words:
    """Different words: half of them the shortest ones, the others of all lengths up to `LONGEST`; in random order."""
    rng = np.random.default_rng(seed)
    every = (word for n in itertools.count() for word in itertools.product(alphabet, repeat=n))
    words = dict.fromkeys(itertools.islice(every, number // 2))
    while len(words) < number:
        words[tuple(rng.choice(list(alphabet), rng.integers(1, LONGEST + 1)).tolist())] = None
    listed = list(words)
    return [listed[i] for i in rng.permutation(number)]


def languages(data: Path | None) -> Iterator[tuple[str, automata.DFA, Callable[[int], Words]]]:
    """Languages, with a function that draws so many words; the first ones are the words of a smaller size."""
    for states, alphabet in RANDOM:
        name = f"random, {states} states, {len(alphabet)} symbols"
        truth = random_automaton(np.random.default_rng([0, states]), states, alphabet)
        yield name, truth, partial(words_of, alphabet, seed=0)
    if data is None:
        return
    names = sorted(path.stem for path in data.glob("04.*.att"))
    for kind in CLASSES:
        name = next(name for name in names if name.split(".")[2] == kind)
        truth = acceptor((data / f"{name}.att").read_text(encoding="utf-8")).minimize()
        yield name, truth, partial(words_of_benchmark, truth)


def acceptor(text: str) -> automata.DFA:
    """The automaton of a file of MLRegTest: lines `from to symbol symbol`, and `state` for an accepting one."""
    rows = [line.split() for line in text.splitlines()]
    numbers: dict[str, int] = {}
    for row in rows:
        for state in row[:2]:
            numbers.setdefault(state, len(numbers))
    transitions: list[dict[Hashable, int]] = [{} for _ in numbers]
    for row in rows:
        if len(row) > 1:
            transitions[numbers[row[0]]][row[2]] = numbers[row[1]]
    accepting = [numbers[row[0]] for row in rows if len(row) == 1]
    return automata.DFA(transitions, accepting, alphabet=sorted({row[2] for row in rows if len(row) > 1}))


def random_automaton(rng: np.random.Generator, states: int, alphabet: str) -> automata.DFA:
    """A minimal automaton of so many states with a random table."""
    while True:
        transitions = rng.integers(states, size=(states, len(alphabet)))
        accepting = np.flatnonzero(rng.random(states) < 0.5)
        dfa = automata.DFA(transitions.tolist(), accepting.tolist(), alphabet=alphabet).minimize()
        if len(dfa) == states:
            return dfa


def words_of_benchmark(truth: automata.DFA, number: int) -> Words:
    """Words of 20 to 29 symbols, half of them in the language; the first ones are those of a smaller number."""
    rng = random.Random(0)
    sides = [(side, [n for n in range(20, 30) if side.count(n)]) for side in (truth, truth.complement())]
    return [side.sample(rng.choice(lengths), rng) for _ in range(number // 2) for side, lengths in sides]


def inferred(truth: automata.DFA, words: Words) -> dict[str, Any]:
    """What is found, whether it is the language, and the seconds that it took."""
    labels = [truth.accepts(word) for word in words]
    began = time.process_time()
    try:
        with mock.patch("time.monotonic", time.process_time):  # by which `infer` sees that its time is up
            found = automata.infer(words, labels, alphabet=truth.alphabet, time_budget=SECONDS)
        result = {"found": len(found.dfa), "method": found.method, "exact": found.dfa.equivalent(truth)}
    except ValueError as error:
        if "No automaton was found" not in str(error):
            raise
        result = {"found": None, "method": "", "exact": False}
    return {"states": len(truth), **result, "seconds": round(time.process_time() - began, 2)}


def table(lines: list[dict[str, Any]]) -> str:
    """Markdown: a row for each language, a column for each size."""
    sizes = sorted({line["words"] for line in lines})
    rows = [["language", "states", *(f"{size:,} words" for size in sizes)], ["---"] * (2 + len(sizes))]
    for name in dict.fromkeys(line["language"] for line in lines):
        own = {line["words"]: line for line in lines if line["language"] == name}
        states = next(iter(own.values()))["states"]
        rows.append([name, str(states), *(_cell(own[size]) if size in own else "" for size in sizes)])
    summary = []
    for size in sizes:
        some = [line for line in lines if line["words"] == size]
        median = statistics.median(line["seconds"] for line in some)
        summary.append(f"{sum(line['exact'] for line in some)} of {len(some)}; {median:.1f} s in the median")
    rows.append(["**exact**", "", *summary])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _cell(line: dict[str, Any]) -> str:
    what = "exact" if line["exact"] else f"{line['found']} states" if line["found"] else "nothing"
    return f"{what}, {line['seconds']:.1f} s" + (f" ({line['method']})" if line["method"] else "")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="MLRegTest's automata; without them random automata alone")
    parser.add_argument("--out", type=Path, default=Path("words_and_time.jsonl"))
    parser.add_argument("--table", type=Path, help="print the table of a record")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="numbers of words; by default all")
    parser.add_argument("--smoke", action="store_true", help="toy sizes, to see that it runs")
    args = parser.parse_args()
    if args.table:
        print(table([*map(json.loads, args.table.read_text().splitlines())]))
        return
    lines = [*map(json.loads, args.out.read_text().splitlines())] if args.out.exists() and not args.smoke else []
    done = {(line["language"], line["words"]) for line in lines}
    sizes, some = ((200, 400), 1) if args.smoke else (args.sizes, None)
    for name, truth, draw in itertools.islice(languages(args.data), some):
        missing = [size for size in sizes if (name, size) not in done]
        words = draw(max(sizes if args.smoke else SIZES)) if missing else []
        for size in missing:
            lines.append({"language": name, "words": size, **inferred(truth, words[:size])})
            if not args.smoke:
                with args.out.open("a") as out:
                    print(json.dumps(lines[-1]), file=out)
            print(lines[-1], flush=True)
    print(table(lines))


if __name__ == "__main__":
    main()
