"""Whether a figure of ours bears a claim out, by intervals.

A verdict rests on effect sizes with the errors of both sides: a share of networks has Wilson's interval, a difference
of two networks Welch's, both of 95 %. One training decides nothing, unless the spread between seeds is known from other
rows. A reading of one network, or a claim that a network exists, needs no other.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Sequence

from examples.papers._experiment import Finding, Record

Shown = Callable[[float], str]


def share(is_so: Iterable[bool], *least: float, of: str = "networks") -> list[Finding]:
    """For each bound, whether the share lies above it with its whole interval; below it the part fails."""
    every = list(is_so)
    if not every:
        return [Finding() for _ in least]
    low, high = wilson(sum(every), len(every))
    figure = f"{sum(every)} of {len(every)} {of} ({low:.0%} to {high:.0%})"
    return [Finding(figure, True if low > bound else False if high < bound else None) for bound in least]


def fewer(
    ours: Sequence[float], others: Sequence[float], shown: Shown, least: float = 0.0, spread: float = 0.0, of: str = ""
) -> Finding:
    """Whether one network's mean is below another's by more than `least`, with the whole interval of the difference.

    Args:
        ours, others: a value for each seed. shown: a value as text. spread: the standard deviation between seeds, as
            `spread_of`; used where a network has fewer than three. of: what is compared.
    """
    figure, low, high = _difference(ours, others, shown, spread, of)
    return Finding(figure, True if high < -least else False if low > -least else None)


def alike(
    ours: Sequence[float], others: Sequence[float], shown: Shown, apart: float, spread: float = 0.0, of: str = ""
) -> Finding:
    """Whether two means differ by at most `apart`, with the whole interval of the difference; as `fewer`."""
    figure, low, high = _difference(ours, others, shown, spread, of)
    is_so = True if max(-low, high) <= apart else False if max(low, -high) > apart else None
    return Finding(figure, is_so)


def above(values: Sequence[float], bound: float, shown: Shown, of: str = "") -> Finding:
    """Whether a mean is above a bound with its whole interval; it fails if it is below with it."""
    _, low, high = _difference(values, [bound] * len(values), shown, 0.0, of)
    figure = f"{of} {shown(statistics.mean(values))} ({_seeds(values)})".strip() if values else ""
    return Finding(figure, True if low > 0 else False if high < 0 else None)


def reaches(
    ours: Sequence[float], paper: float, shown: Shown, margin: float = 0.0, spread: float = 0.0, error: float = 0.0
) -> Finding:
    """Whether a mean is at most the paper's figure and a margin; it fails if it is above both by two standard errors.

    Args:
        ours: a value for each seed. shown, spread: as in `fewer`. error: the standard error of a single value of ours
            and of the paper's, such as that of the test examples.
    """
    if not ours:
        return Finding()
    mean = statistics.mean(ours)
    figure = f"{shown(mean)} ({_seeds(ours)})"
    between = statistics.stdev(ours) if len(ours) > 2 else spread
    if not between:
        return Finding(figure)
    both = 2 * math.sqrt(between**2 / len(ours) + between**2 + 2 * error**2)
    return Finding(figure, True if mean <= paper + margin else False if mean - both > paper + margin else None)


def spread_of(groups: Iterable[Sequence[float]]) -> float:
    """The largest standard deviation between seeds among groups of at least three; 0 without one."""
    return max((statistics.stdev(group) for group in groups if len(group) > 2), default=0.0)


def wilson(successes: int, trials: int, z: float = 1.96) -> tuple[float, float]:
    share, square = successes / trials, z * z / trials
    middle = (share + square / 2) / (1 + square)
    half = math.sqrt(square * share * (1 - share) + square * square / 4) / (1 + square)
    return max(0.0, middle - half), min(1.0, middle + half)


def standard_error(error: float, tested: int) -> float:
    """The standard error of an error rate on this number of test examples."""
    return math.sqrt(error * (1 - error) / tested)


def values_of(records: Iterable[Record], row: str, name: str) -> list[float]:
    """A result of each record of a row."""
    return [record["result"][name] for record in records if record.get("table", {}).get("row") == row]


def _difference(
    ours: Sequence[float], others: Sequence[float], shown: Shown, spread: float, of: str
) -> tuple[str, float, float]:
    """Two means as text, and the interval of their difference; of infinite width where nothing is known of a spread."""
    sizes = [len(ours), len(others)]
    if not min(sizes):
        return "", -math.inf, math.inf
    means = [statistics.mean(values) for values in (ours, others)]
    figure = f"{of}: " * bool(of) + f"{shown(means[0])} against {shown(means[1])} ({sizes[0]} and {sizes[1]} seeds)"
    if min(sizes) > 2:
        from scipy import stats  # not for those who list experiments

        parts = [statistics.variance(values) / len(values) for values in (ours, others)]
        each = sum(part**2 / (size - 1) for part, size in zip(parts, sizes, strict=True))
        error = float(stats.t.ppf(0.975, sum(parts) ** 2 / each)) * math.sqrt(sum(parts)) if each else 0.0
    else:
        error = 2 * spread * math.sqrt(sum(1 / size for size in sizes)) if spread else math.inf
    return figure, means[0] - means[1] - error, means[0] - means[1] + error


def _seeds(values: Sequence[float]) -> str:
    return "1 seed" if len(values) == 1 else f"{len(values)} seeds"
