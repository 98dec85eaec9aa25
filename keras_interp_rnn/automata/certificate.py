r"""A proof that a network takes an automaton's path on every word, of any length (docs/notes/certificate.md).

The invariant: after every step the exact probabilities $\alpha$ of the state just computed give at least
$1 - \varepsilon$ to the centroid i that the automaton is in. Then the next state lies in a known region around $s_i$,

    R_i = { sum_j alpha_j s_j + e :  alpha_i >= 1 - epsilon,  |e| <= rounding },

over which the cell is bounded by interval arithmetic for every symbol a; and if the bounds show that the next alpha
gives at least $1 - \varepsilon$ to $\delta(i, a)$, the invariant holds for ever. The bounds count the rounding of the
network's own float arithmetic; they are themselves computed in float64 and widened.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from keras_interp_rnn.automata import _bounds
from keras_interp_rnn.automata._network import Network, memoryless, network
from keras_interp_rnn.automata.dfa import DFA
from keras_interp_rnn.automata.extraction import Extraction, extract

Array = NDArray[np.float64]

EPSILONS = np.concatenate([[0.0], np.logspace(-9, np.log10(0.45), 56)])
"""Tried one after the other: the right one is known by its proof."""


@dataclass(frozen=True, eq=False)
class Certificate:
    r"""What was proved, or where the proof fails.

    Attributes:
        holds: whether the network provably judges **every** word as the automaton, at this temperature.
        dfa: the automaton. path: the automaton of the centroids, whose path the network takes.
        centroids: of each state of `path`.
        temperature: $\tau$ at which it holds or fails.
        epsilon: of the invariant; of the attempt that came closest, if the proof fails.
        margins: (states of path, symbols), by how much each bound on the log odds of its transition,
            $\ln(\alpha / (1 - \alpha))$, is better than needed.
        verdict_margins: (states of path,), the least distance of the head's output from its middle, on the right side.
        failure: in words, where and why the proof fails; "" if it holds.
    """

    holds: bool
    dfa: DFA
    path: DFA
    centroids: tuple[int, ...]
    temperature: float
    epsilon: float
    margins: Array
    verdict_margins: Array
    failure: str

    def __str__(self) -> str:
        if not self.holds:
            return f"not certified at temperature {self.temperature:g}: {self.failure}"
        return (
            f"certified for every word at temperature {self.temperature:g}: epsilon {self.epsilon:.2g}, least margin "
            f"{self.margins.min():.2f} nats, of the verdict {self.verdict_margins.min():.2g}"
        )

    def check(self, model: Any, alphabet: Any = None, start: int | None = None, end: int | None = None) -> bool:
        """Whether this certificate, as it stands, is a proof for this model: everything is computed anew.

        Args:
            model, alphabet, start, end: as `certify`.
        """
        opened = network(model, alphabet, start, end)
        memoryless(opened)
        if not self.holds or self.epsilon < 0 or not self.path.equivalent(self.dfa):
            return False
        if len(set(self.centroids)) != len(self.path) or not set(self.centroids) <= set(range(len(opened.centroids()))):
            return False
        found = _attempt(opened, opened.features(), self.path, self.centroids, self.temperature, self.epsilon)
        return bool(found.least > 0)


@dataclass(frozen=True)
class _Attempt:
    start: float
    margins: Array
    verdicts: Array

    @property
    def least(self) -> float:
        return min(self.start, float(self.margins.min()), float(self.verdicts.min()))

    @property
    def least_of_path(self) -> float:
        return min(self.start, float(self.margins.min()))


def certify(
    model: Any,
    dfa: DFA,
    temperature: float | None = None,
    alphabet: Any = None,
    start: int | None = None,
    end: int | None = None,
) -> Certificate:
    r"""Proves that a network judges every word, of any length, as an automaton does; or says where the proof fails.

    Args:
        model, alphabet, start, end: as `extract`; the cell a GRUCell or SimpleRNNCell of tanh and sigmoid, the head one
            Dense.
        dfa: the automaton; any of its language will do.
        temperature: to ask about another than the model is deployed with.

    Raises:
        ValueError: if the network remembers more than its centroid, or if its cell or head cannot be bounded.

    Exactness: sound under the assumptions of docs/notes/certificate.md (IEEE arithmetic in the layer's dtype, functions
        within 2^-20 of their value). A proof that fails says nothing about the network.
    """
    found = extract(model, alphabet=alphabet, start=start, end=end)
    return _certified(found, dfa, _deployed(found) if temperature is None else temperature)


def largest_temperature(
    model: Any, dfa: DFA, alphabet: Any = None, start: int | None = None, end: int | None = None
) -> float:
    """The highest temperature at which the network is certified, by bisection to a thousandth; 0 if there is none.

    Between certified temperatures nothing is assumed: the value returned is one of those that were proved.

    Args:
        model, dfa, alphabet, start, end: as `certify`.
    """
    found = extract(model, alphabet=alphabet, start=start, end=end)
    low, high = 0.0, _deployed(found)

    def holds(tau: float) -> bool:
        return _certified(found, dfa, tau).holds

    for _ in range(20):
        if holds(high):
            low, high = high, 2 * high
        elif low == 0 and high > 1e-4:
            high /= 2
        else:
            break
    while low and high > 1.001 * low:
        middle = (low * high) ** 0.5
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def _deployed(found: Extraction) -> float:
    return float(np.asarray(found.network.layer.cell.current_temperature()))


def _certified(found: Extraction, dfa: DFA, temperature: float) -> Certificate:
    tau = float(temperature)
    if not 0 < tau < np.inf:
        raise ValueError(f"temperature must be a number > 0. Received: temperature={temperature!r}.")
    opened, path, centroids = found.network, found.dfa, found.centroids
    word = path.counterexample(dfa)
    features = opened.features()
    attempts = [(epsilon, _attempt(opened, features, path, centroids, tau, epsilon)) for epsilon in _epsilons(opened)]
    epsilon, best = max(attempts, key=lambda pair: pair[1].least)
    failure = ""
    if word is not None:
        failure = f"the path of the centroids is another automaton: they differ on {word!r}"
    elif best.least <= 0:
        # The path first: a verdict fails alone only for an epsilon for which the path holds.
        epsilon, best = max(attempts, key=lambda pair: (pair[1].least_of_path > 0, pair[1].least))
        failure = _failure(best, path, centroids)
    return Certificate(not failure, dfa, path, centroids, tau, float(epsilon), best.margins, best.verdicts, failure)


def _epsilons(opened: Network) -> Array:
    """A state is a centroid itself, or within epsilon of one."""
    cell = opened.layer.cell
    return EPSILONS[:1] if cell.transition == "soft_argmax" or cell.straight_through else EPSILONS[1:]


def _attempt(
    opened: Network,
    features: dict[int, NDArray[Any]],
    path: DFA,
    centroids: tuple[int, ...],
    temperature: float,
    epsilon: float,
) -> _Attempt:
    cell, verdict, scores = _bounds.of(opened, temperature)
    hard = epsilon == 0
    needed = -np.inf if hard else np.log1p(-epsilon) - np.log(epsilon)
    regions = [scores.region(i, epsilon, hard) for i in centroids]

    def margin(box: _bounds.Box, target: int) -> float:
        """How much better than needed the odds of arriving there are."""
        worst = scores.worst_log_odds(box, target, hard)
        return worst if hard else worst - needed

    origin = _bounds.Region.point(np.zeros(scores.centroids.shape[1]))
    first = margin(cell(origin, features[opened.start]), centroids[path.start]) if opened.start is not None else -np.inf
    margins = np.array(
        [
            [
                margin(cell(region, features[opened.ids[symbol]]), centroids[path.step(state, symbol)])
                for symbol in path.alphabet
            ]
            for state, region in enumerate(regions)
        ]
    )
    boxes = [region.box() if opened.end is None else cell(region, features[opened.end]) for region in regions]
    if opened.end is not None and opened.layer.regularize_last_step:
        raise ValueError(
            "A verdict after an end token is bounded where the stochastic component leaves it out. Received: a layer "
            "with regularize_last_step=True. Build it with False, or without an end token."
        )
    verdicts = np.array([verdict(box, state in path.accepting) for state, box in enumerate(boxes)])
    return _Attempt(first, margins, verdicts)


def _failure(attempt: _Attempt, path: DFA, centroids: tuple[int, ...]) -> str:
    if attempt.start <= 0:
        return f"the start token leads to centroid {centroids[path.start]}, but not surely enough"
    if attempt.margins.min() <= 0:
        state, column = (int(i) for i in np.unravel_index(attempt.margins.argmin(), attempt.margins.shape))
        symbol: Hashable = path.alphabet[column]
        target = path.step(state, symbol)
        return (
            f"from centroid {centroids[state]} the symbol {symbol!r} leads to centroid {centroids[target]}, but "
            f"the bound misses what is needed by {-attempt.margins.min():.2f} nats"
        )
    state = int(attempt.verdicts.argmin())
    return f"the head's verdict on centroid {centroids[state]} is not sure over the whole of its region"
