"""Does `automata.infer` find a rule in real logs, and in how many seconds of the processor?

The logs are 2,000 lines each of loghub (github.com/logpai/loghub; free for research; Zhu et al., ISSRE 2023). Nothing
of them is in this repository.

- BGL, a supercomputer: windows of 20 lines, flagged if one is an alert, as are 15 of the 120 kinds of events.
- OpenSSH: the events of each process, flagged if the server warns of a break-in, or of too many failures. The events
  that say so are left out of the words.

A quarter of the different words is kept for the test. `infer` has its default settings, or one of its searches alone.
The time budget is in seconds of the processor, as those of the table.

    PYTHONPATH=. nice -n 5 python benchmarks/logs.py --data loghub  # a clone, or a folder with the same two CSVs

The results, with hardware, date and commit, are in benchmarks/README.md.
"""

import argparse
import collections
import itertools
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import numpy as np
from aalpy.learning_algs import run_RPNI
from sklearn.tree import DecisionTreeClassifier

from keras_interp_rnn import automata, datasets

Word = tuple[str, ...]
Log = list[tuple[Word, bool]]  # words and whether they are flagged, copies included
Learned = tuple[Callable[[Word], bool], str]  # whether it flags a word, and what was found

SEARCHES = "keras_interp_rnn.automata.inference._searches.SEARCHES"
FLAGS = {"break-in": {"E27"}, "failures": {"E4", "E5", "E15", "E16", "E17", "E18"}}  # events of OpenSSH


def windows(path: Path, step: int, width: int = 20) -> Log:
    """Windows of the lines of BGL; flagged if one of them is an alert, whose label is not "-"."""
    events, marks = (datasets.sessions(path, column).words[0] for column in ("EventId", "Label"))
    starts = range(0, len(events) - width + 1, step)
    return [(events[i : i + width], any(mark != "-" for mark in marks[i : i + width])) for i in starts]


def sessions(path: Path, flags: set[str]) -> Log:
    """Sessions of OpenSSH without some events; flagged if one of these was there."""
    words = datasets.sessions(path, "EventId", by="Pid").words
    return [(tuple(event for event in word if event not in flags), not flags.isdisjoint(word)) for word in words]


def infer(log: Log, alphabet: list[str], seconds: float, only: str = "") -> Learned:
    """By `automata.infer`, or by one of its searches alone."""
    others = {by: lambda *_: None for by in ("merging", "patterns") if only not in ("", by)}
    noise = 0.0 if len(set(log)) == len({word for word, _ in log}) else None
    with mock.patch.dict(SEARCHES, others), mock.patch("time.monotonic", time.process_time):
        found = automata.infer(*zip(*log, strict=True), alphabet=alphabet, label_noise=noise, time_budget=seconds)
    return found.dfa.accepts, f"{len(found.dfa)} states ({found.method})"


def rpni(log: Log, alphabet: list[str], seconds: float) -> Learned:
    """By AALpy's RPNI. A word with an event that it has not seen is not flagged."""
    machine = run_RPNI(log, "dfa", input_completeness="sink_state", print_info=False)
    if machine is None:
        raise ValueError("words with both labels")
    found = automata.DFA.from_aalpy(machine)
    return lambda word: {*word} <= {*found.alphabet} and found.accepts(word), f"{len(machine.states)} states"


def tree(log: Log, alphabet: list[str], seconds: float) -> Learned:
    """By a decision tree over the number of events of each kind."""
    words, labels = zip(*log, strict=True)

    def counts(word: Word) -> list[int]:
        return [word.count(event) for event in alphabet]

    found = DecisionTreeClassifier(random_state=0).fit([*map(counts, words)], labels)
    return lambda word: bool(found.predict([counts(word)])[0]), f"{found.get_n_leaves()} leaves"


LEARNERS: dict[str, Callable[..., Learned]] = {
    "infer": infer,
    "infer, rules alone": lambda *args: infer(*args, only="patterns"),
    "infer, merging alone": lambda *args: infer(*args, only="merging"),
    "RPNI (AALpy)": rpni,
    "decision tree over counts": tree,
}


def split(log: Log, seed: int) -> tuple[Log, Log]:
    """Words to learn from, with their copies, and others, each once with its commonest label."""
    labels = collections.defaultdict(list)
    for word, label in log:
        labels[word].append(label)
    order = [list(labels)[i] for i in np.random.default_rng(seed).permutation(len(labels))]
    first = 3 * len(order) // 4
    unseen = [(word, sum(labels[word]) * 2 > len(labels[word])) for word in order[first:]]
    return [(word, label) for word in order[:first] for label in labels[word]], unseen


def row(name: str, log: Log, learner: str, num_splits: int, seconds: float) -> str:
    """A row of the table: the median of the seconds, what is found, and words of the test that are right."""
    alphabet = sorted({event for word, _ in log for event in word})
    took, results, right, tested = [], collections.Counter(), 0, []
    for seed in range(num_splits):
        print(f"{name}: {learner}, split {seed + 1} of {num_splits}", file=sys.stderr)
        known, unseen = split(log, seed)
        began = time.process_time()
        try:
            label, result = LEARNERS[learner](known, alphabet, seconds)
            right += sum(label(word) == truth for word, truth in unseen)
            tested += [truth for _, truth in unseen]
        except ValueError as error:
            result = "too few bits" if "must have more than" in str(error) else str(error).partition(" that ")[0]
        took.append(time.process_time() - began)
        results[result] += 1
    found = ", ".join(f"{result} ({number}x)" for result, number in results.most_common())
    score = f"{right} of {len(tested)}, {sum(tested)} flagged" if tested else ""
    return f"| {name} | {learner} | {np.median(took):.2f} | {found} | {score} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path("loghub"), help="loghub's folder")
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=120.0, help="time budget")
    parser.add_argument("--only", nargs="+", choices=LEARNERS, default=list(LEARNERS))
    parser.add_argument("--smoke", action="store_true", help="made-up logs, a budget of a second")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if args.smoke:
            bgl = ssh = Path(folder) / "log.csv"
            kinds = enumerate(np.random.default_rng(0).choice(28, 600))
            lines = (f"\n{'-' if kind % 9 else 'ALERT'},{i // 6},E{kind}" for i, kind in kinds)
            bgl.write_text("Label,Pid,EventId" + "".join(lines))
            args.splits, args.seconds = 1, 1.0
        else:
            bgl, ssh = (args.data / name / f"{name}_2k.log_structured.csv" for name in ("BGL", "OpenSSH"))
        logs = {f"OpenSSH, {what}": sessions(ssh, flags) for what, flags in FLAGS.items()}
        logs |= {f"BGL, a window every {step} lines": windows(bgl, step) for step in (4, 10)}
    print("| log | learner | processor, s | found | unseen words right |\n|---|---|---|---|---|")
    for (name, log), learner in itertools.product(logs.items(), args.only):
        print(row(name, log, learner, args.splits, args.seconds), flush=True)


if __name__ == "__main__":
    main()
