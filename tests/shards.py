"""All cases of all tests on TensorFlow, and the core on JAX and torch, in 24 shards that can be stopped and continued.

    python -m tests.shards            # runs the shards that this tree has no green outcome of, two at a time
    python -m tests.shards 7/24       # runs one, whatever its outcome was
    python -m tests.shards list       # the files of each shard, and its outcome

A shard belongs to a lane: files that need the same things, with a limit of time. Within a lane files are dealt by their
recorded durations (`durations.json`, written when all shards are green), the longest first, each to the shard that has
least to do. An outcome is a file of `build/matrix/TREE`, where TREE is the hash of every tracked file but records,
durations and the changelog; it counts for the same files and the same versions of Python, Keras and the backend. A red
shard is repeated once by itself: if it is green then, its outcome names the tests that failed before as flakes.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).parents[1]
DURATIONS = ROOT / "tests" / "durations.json"
OUTCOMES = ROOT / "build" / "matrix"
NOT_HASHED = re.compile(r"(^|/)records/|^tests/durations\.json$|^CHANGELOG\.md$")
SECONDS_OF_A_NEW_FILE = 20.0


@dataclass(frozen=True)
class Lane:
    """Files that need the same things.

    Attributes:
        shards: the number of shards.
        minutes: after so long a shard is red.
        backend: Keras's. all_cases: of each test, and not the core alone, for every layer.
    """

    shards: int
    minutes: int
    backend: str = "tensorflow"
    all_cases: bool = True


LANES = {
    "numpy": Lane(3, 30),
    "keras": Lane(12, 40),
    "processes": Lane(3, 40),
    "browsers": Lane(2, 30),
    "jax": Lane(2, 60, "jax", all_cases=False),
    "torch": Lane(2, 60, "torch", all_cases=False),
}
NUM_SHARDS = sum(lane.shards for lane in LANES.values())
PROCESSES = ("tests/examples/", "tests/test_benchmarks.py", "tests/docs/test_notebooks.py", "tests/docs/test_site.py")
"""What starts programs that import TensorFlow themselves."""

ON_BACKENDS = re.search(r"^ON_BACKENDS := ((?:.*\\\n)*.*)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M)[1]
"""What also runs on JAX and on torch, files and folders, as in `make test-backends`."""


@dataclass(frozen=True)
class Outcome:
    """What a shard came to.

    Attributes:
        files: what it ran.
        green: whether no test failed, or none in the second run.
        counts: the number of cases that passed, failed or were skipped.
        seconds: how long both runs took.
        durations: seconds of each file, in the last run.
        flakes: the tests that failed in the first run, and not in the second.
        versions: of Python, Keras and the backend.
    """

    files: list[str]
    green: bool
    counts: Mapping[str, int]
    seconds: float
    durations: Mapping[str, float]
    flakes: list[str]
    versions: Mapping[str, str]


@functools.cache
def lane_of(path: str) -> str:
    """The lane of a file of tests on TensorFlow."""
    if path.startswith(PROCESSES):
        return "processes"
    if "browser" in path.rsplit("/", 1)[-1]:
        return "browsers"
    return "keras" if re.search(r"\bkeras\b", (ROOT / path).read_text(encoding="utf-8")) else "numpy"


def on_backends(path: str) -> bool:
    """Whether a file of tests also runs on JAX and on torch."""
    places = ON_BACKENDS.replace("\\", "").split()
    return path in places or any(path.startswith(f"{place}/") for place in places)


def key(path: str, lane: str | None = None) -> str:
    """The name of a file's duration, in a lane; of tests on TensorFlow where none is given."""
    return f"{lane or lane_of(path)} {path}"


def shards(files: Iterable[str], durations: Mapping[str, float]) -> list[tuple[str, list[str]]]:
    """The lane and the files of each shard. The order of the files, and of the durations, does not matter."""
    of_lane: dict[str, list[str]] = {name: [] for name in LANES}
    for path in sorted(files):
        of_lane[lane_of(path)].append(path)
        if on_backends(path):
            of_lane["jax"].append(path)
            of_lane["torch"].append(path)
    return [(lane, part) for lane, paths in of_lane.items() for part in _dealt(lane, paths, durations)]


def _dealt(lane: str, paths: list[str], durations: Mapping[str, float]) -> list[list[str]]:
    seconds = {path: durations.get(key(path, lane), SECONDS_OF_A_NEW_FILE) for path in paths}
    parts: list[list[str]] = [[] for _ in range(LANES[lane].shards)]
    for path in sorted(paths, key=lambda path: (-seconds[path], path)):
        min(parts, key=lambda part: sum(seconds[path] for path in part)).append(path)
    return parts


def tracked() -> list[str]:
    """Every tracked file."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    return sorted(filter(None, listed.decode().split("\0")))


def tree() -> str:
    """The hash of every tracked file, as it is on disk, but for records, durations and the changelog."""
    summed = hashlib.sha256()
    for path in tracked():
        if not NOT_HASHED.search(path) and (ROOT / path).is_file():
            summed.update(f"{path}\0{hashlib.sha256((ROOT / path).read_bytes()).hexdigest()}\n".encode())
    return summed.hexdigest()[:16]


def versions(lane: str) -> dict[str, str]:
    """Of Python, Keras and the lane's backend."""
    backend = LANES[lane].backend
    return {"python": sys.version.split()[0], "keras": version("keras"), backend: version(backend)}


def outcome_file(number: int, tree_hash: str) -> Path:
    return OUTCOMES / tree_hash / f"{number:02}.json"


def outcome_of(number: int, lane: str, files: list[str], tree_hash: str) -> Outcome | None:
    """The outcome of a shard of this tree, of these files by the versions that are installed; None without one."""
    path = outcome_file(number, tree_hash)
    if not path.is_file():
        return None
    outcome = Outcome(**json.loads(path.read_text(encoding="utf-8")))
    return outcome if outcome.files == files and outcome.versions == versions(lane) else None


def run(number: int, lane: str, files: list[str], tree_hash: str) -> Outcome:
    """Runs a shard, a second time if it is red, and writes its outcome and what it printed."""
    path = outcome_file(number, tree_hash)
    path.parent.mkdir(parents=True, exist_ok=True)
    started = time.monotonic()
    code, cases = _pytest(lane, files, path.with_suffix(".log"))
    flakes: list[str] = []
    if code != 0:
        flakes = [name for name, _, what in cases if what == "failed"] or [f"pytest ended with {code}"]
        code, cases = _pytest(lane, files, path.with_suffix(".again.log"))
    durations: Counter[str] = Counter()
    for name, took, _ in cases:
        durations[name.partition("::")[0]] += took
    outcome = Outcome(
        files=files,
        green=code == 0,
        counts=dict(Counter(what for _, _, what in cases)),
        seconds=round(time.monotonic() - started, 1),
        durations={name: round(took, 1) for name, took in durations.items()},
        flakes=flakes if code == 0 else [],
        versions=versions(lane),
    )
    path.write_text(json.dumps(asdict(outcome), indent=1) + "\n", encoding="utf-8")
    return outcome


def _pytest(lane: str, files: list[str], log: Path) -> tuple[int, list[tuple[str, float, str]]]:
    """The exit status of pytest, and name, seconds and outcome of each case."""
    report = log.with_suffix(".xml")
    one_thread = dict.fromkeys(("TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS", "OMP_NUM_THREADS"), "1")
    every_layer = {"EVERY_LAYER": "1"} if LANES[lane].all_cases else {}
    environment = {**os.environ, **one_thread, **every_layer, "KERAS_BACKEND": LANES[lane].backend}
    core = [] if LANES[lane].all_cases else ["-m", "not matrix"]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *core, *files]
    command += [f"--junitxml={report}", "-o", "junit_family=xunit1"]
    with log.open("w", encoding="utf-8") as output:
        try:
            done = subprocess.run(
                command,
                cwd=ROOT,
                env=environment,
                stdout=output,
                stderr=subprocess.STDOUT,
                timeout=60 * LANES[lane].minutes,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return 124, []
    # A shard may have no case on a backend: pytest then ends with 5.
    return (0 if done.returncode == 5 else done.returncode), list(_cases(report))


def _cases(report: Path) -> Iterator[tuple[str, float, str]]:
    if not report.is_file():
        return
    for case in ElementTree.parse(report).iter("testcase"):
        kinds = {child.tag for child in case}
        what = "failed" if kinds & {"failure", "error"} else "skipped" if "skipped" in kinds else "passed"
        name = f"{case.get('file') or case.get('classname', '')}::{case.get('name')}"
        yield name, float(case.get("time", 0)), what


def recorded_durations() -> dict[str, float]:
    """Seconds of each file in its lane, and in the core alone, as "core PATH"."""
    return json.loads(DURATIONS.read_text(encoding="utf-8")) if DURATIONS.is_file() else {}


def main(arguments: list[str]) -> int:
    files = [path for path in tracked() if re.search(r"^tests/(.*/)?test_\w+\.py$", path) and (ROOT / path).is_file()]
    numbered, tree_hash = dict(enumerate(shards(files, recorded_durations()), start=1)), tree()

    def green(number: int) -> bool:
        outcome = outcome_of(number, *numbered[number], tree_hash)
        return outcome is not None and outcome.green

    if arguments == ["list"]:
        for number, (lane, paths) in numbered.items():
            print(f"{number:2}/{NUM_SHARDS} {lane:9} {'green' if green(number) else '     '}", *paths)
        return 0
    numbers = [_number(argument) for argument in arguments] or [number for number in numbered if not green(number)]
    print(f"{len(numbers)} of {NUM_SHARDS} shards to run at {tree_hash}; outcomes are in {OUTCOMES / tree_hash}.")

    def run_and_report(number: int) -> None:
        outcome = run(number, *numbered[number], tree_hash)
        counts = ", ".join(f"{count} {what}" for what, count in sorted(outcome.counts.items()))
        flakes = f"; failed once: {', '.join(outcome.flakes)}" if outcome.flakes else ""
        verdict = "green" if outcome.green else "RED  "
        print(
            f"{number:2}/{NUM_SHARDS} {numbered[number][0]:9} {verdict} in {outcome.seconds:.0f} s: {counts}{flakes}",
            flush=True,
        )

    with ThreadPoolExecutor(max_workers=2) as pool:
        list(pool.map(run_and_report, numbers))
    num_green = sum(map(green, numbered))
    print(f"{num_green} of {NUM_SHARDS} green at {tree_hash}")
    if num_green == NUM_SHARDS:
        _write_durations(numbered, tree_hash)
    return 0 if all(map(green, numbers)) else 1


def _write_durations(numbered: Mapping[int, tuple[str, list[str]]], tree_hash: str) -> None:
    durations = {name: took for name, took in recorded_durations().items() if name.startswith("core ")}
    for number, (lane, paths) in numbered.items():
        if outcome := outcome_of(number, lane, paths, tree_hash):
            durations |= {key(path, lane): took for path, took in outcome.durations.items()}
    DURATIONS.write_text(json.dumps(dict(sorted(durations.items())), indent=0) + "\n", encoding="utf-8")


def _number(argument: str) -> int:
    """The number of a shard in "7/24"."""
    number, _, total = argument.partition("/")
    if not number.isdigit() or total != str(NUM_SHARDS) or not 1 <= int(number) <= NUM_SHARDS:
        raise SystemExit(f"A shard must be one of 1/{NUM_SHARDS} to {NUM_SHARDS}/{NUM_SHARDS}. Received: {argument}.")
    return int(number)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
