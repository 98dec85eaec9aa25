"""Times several things in turn, round after round, so that a noisy machine is noisy to all of them."""

import time
from collections.abc import Callable


def in_turn(
    steps: dict[str, Callable[[], object]],
    rounds: int,
    warm_up: int = 2,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, list[float]]:
    """Seconds of every round by the clock, each step once per round; the warm-up rounds left out."""
    seconds: dict[str, list[float]] = {name: [] for name in steps}
    for _ in range(warm_up + rounds):
        for name, step in steps.items():
            start = clock()
            step()
            seconds[name].append(clock() - start)
    return {name: times[warm_up:] for name, times in seconds.items()}
