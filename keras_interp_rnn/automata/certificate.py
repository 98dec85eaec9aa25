r"""A proof that a network takes an automaton's path on every word, of any length (docs/notes/certificate.md).

The invariant: after every step the exact probabilities $\alpha$ of the state just computed give at least
$1 - \varepsilon$ to the centroid i that the automaton is in. Then the next state lies in a known region around $s_i$,

    R_i = { sum_j alpha_j s_j + e :  alpha_i >= 1 - epsilon,  |e| <= rounding },

over which the cell is bounded by interval arithmetic for every symbol a; and if the bounds show that the next alpha
gives at least $1 - \varepsilon$ to $\delta(i, a)$, the invariant holds for ever. The bounds count the rounding of the
network's own float arithmetic; they are themselves computed in float64 and widened.

The proof is about the model as it is deployed: `_deployed` recognizes each of its parts and refuses what it does not
know, and a bound that is not finite proves nothing.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from keras_interp_rnn._result import Sentence
from keras_interp_rnn.automata import _bounds
from keras_interp_rnn.automata._deployed import Deployed, deployed
from keras_interp_rnn.automata._network import open_acceptor
from keras_interp_rnn.automata.dfa import DFA
from keras_interp_rnn.automata.extraction import Extraction, exact, short_words
from keras_interp_rnn.automata.words import WordEncoding, encoding_of

Array = NDArray[np.float64]

EPSILONS = np.logspace(-9, np.log10(0.45), 56)
"""Tried one after the other: the right one is known by its proof."""

TRIED_WORDS = 127
"""Shortest words that the model itself reads beside the proof."""


@dataclass(frozen=True, eq=False, repr=False)
class Certificate(Sentence):
    r"""What was proved, or where the proof fails.

    Attributes:
        holds: whether the network provably judges **every** word as the automaton, at this temperature.
        dfa: the automaton. path: the automaton of the centroids, whose path the network takes.
        centroids: of each state of `path`.
        temperature: $\tau$ at which it holds or fails, as the layer holds it in its dtype.
        epsilon: of the invariant; of the attempt that came closest, if the proof fails. 0 where the state is a centroid
            itself ("soft_argmax", `straight_through`).
        margins: (states of path, symbols), by how much each bound on the log odds of its transition,
            $\ln(\alpha / (1 - \alpha))$, is better than needed; minus infinity where there is no bound.
        verdict_margins: (states of path,), the least distance of the head's logit from 0, on the right side.
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

    def check(
        self,
        model: Any,
        alphabet: WordEncoding | Mapping[Hashable, int] | None = None,
        start: int | None = None,
        end: int | None = None,
    ) -> bool:
        """Whether this certificate proves what it says of this model, as deployed now.

        Nothing in it is believed. Its path, centroids and epsilon are a proposal, with which the whole proof is done
        again at the model's own temperature; what it says of itself must agree with the outcome.

        Args:
            model, alphabet, start, end: as `certify`.

        Raises:
            ValueError: if the model is not of the kind that certificates hold for, as `certify`.
        """
        parts = deployed(open_acceptor(model, encoding_of(alphabet, start, end)))
        if not self.holds or self.failure or self.temperature != parts.temperature():
            return False
        if set(self.path.alphabet) != set(parts.network.alphabet) or self.path.counterexample(self.dfa) is not None:
            return False
        centroids = [int(i) for i in self.centroids]
        named = len(set(centroids)) == len(centroids) == len(self.path) and set(centroids) <= set(
            range(len(parts.centroids))
        )
        # In (0, 1) for mixtures, 0 otherwise: which one is the model's to say. NaN is neither.
        if not named or not self.path.is_complete or not (self.epsilon == 0 if parts.hard else 0 < self.epsilon < 1):
            return False
        [again] = _attempts(parts, self.path, tuple(centroids), self.temperature, [self.epsilon])
        if again.least <= 0:
            return False
        if not _alike(self.margins, again.margins) or not _alike(self.verdict_margins, again.verdicts):
            return False
        return _misjudged(parts, self.dfa) is None


@dataclass(frozen=True)
class _Attempt:
    """Bounds for one epsilon; minus infinity where there is none."""

    start: float
    margins: Array
    verdicts: Array

    @property
    def least(self) -> float:
        return min(self.least_of_path, float(self.verdicts.min()))

    @property
    def least_of_path(self) -> float:
        return min(self.start, float(self.margins.min()))


def certify(
    model: Any,
    dfa: DFA,
    temperature: float | None = None,
    alphabet: WordEncoding | Mapping[Hashable, int] | None = None,
    start: int | None = None,
    end: int | None = None,
) -> Certificate:
    r"""Proves that a network judges every word, of any length, as an automaton does; or says where the proof fails.

    Args:
        model, alphabet, start, end: as `extract`; of a closed list of models: an Embedding that masks id 0, one
            state-regularized layer over a GRUCell or SimpleRNNCell of tanh and sigmoid, and a head of one Dense(1),
            linear or sigmoid, all in float32 or all in float64; Dropout anywhere between.
        dfa: the automaton; any of its language will do.
        temperature: to ask about another than the model is deployed with. The certificate is then one of the model
            after `set_temperature(temperature)`.

    Raises:
        ValueError: if the network remembers more than its centroid; if a layer, flag, dtype or operation of the model
            is not on the list; if a weight is not finite; if the layer's dtype cannot hold the temperature.

    Exactness: sound under the assumptions of docs/notes/certificate.md (IEEE arithmetic in the layers' dtype, functions
        within 2^-20 of their value). A proof that fails says nothing about the network. Beside the proof the model
        itself reads the shortest words, and is not certified if it contradicts the proof.
    """
    parts = deployed(open_acceptor(model, encoding_of(alphabet, start, end)))
    found = _proved(parts, dfa, _held(parts, temperature), exact(parts.network))
    if found.holds and found.temperature == parts.temperature():
        word = _misjudged(parts, dfa)
        if word is not None:
            failure = f"the model itself judges {word!r} otherwise: something in it was not looked at"
            return Certificate(**{**vars(found), "holds": False, "failure": failure})
    return found


def largest_temperature(
    model: Any,
    dfa: DFA,
    alphabet: WordEncoding | Mapping[Hashable, int] | None = None,
    start: int | None = None,
    end: int | None = None,
) -> float:
    """The highest temperature at which the network is certified, by bisection to a thousandth; 0 if there is none.

    Between certified temperatures nothing is assumed: the value returned is one of those that were proved.

    Args:
        model, dfa, alphabet, start, end: as `certify`.

    Raises:
        ValueError: as `certify`.
    """
    parts = deployed(open_acceptor(model, encoding_of(alphabet, start, end)))
    read = exact(parts.network)
    low, high = 0.0, parts.temperature()

    def holds(tau: float) -> bool:
        return _proved(parts, dfa, tau, read).holds

    for _ in range(20):
        if holds(high):
            low, high = high, parts.temperature(2 * high)
        elif low == 0 and high > 1e-4:
            high = parts.temperature(high / 2)
        else:
            break
    while low and high > 1.001 * low:
        middle = parts.temperature((low * high) ** 0.5)
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def _held(parts: Deployed, temperature: float | None) -> float:
    """The temperature asked for, as the layer would hold it."""
    if temperature is None:
        return parts.temperature()
    if not isinstance(temperature, numbers.Real) or not 0 < temperature < np.inf:
        raise ValueError(f"temperature must be a number > 0. Received: temperature={temperature!r}.")
    held = parts.temperature(float(temperature))
    if not np.finfo(parts.dtype).tiny <= held < np.inf:
        raise ValueError(
            f"temperature must be a normal number of {parts.dtype}. Received: temperature={temperature!r}. The layer "
            "would compute NaN with it."
        )
    return held


def _misjudged(parts: Deployed, dfa: DFA) -> tuple[Hashable, ...] | None:
    """One of the shortest words that the deployed model judges otherwise than the automaton."""
    words = short_words(dfa.alphabet, TRIED_WORDS)
    says = parts.network.accepts(words)
    return next((word for word, accepted in zip(words, says, strict=True) if accepted != dfa.accepts(word)), None)


def _proved(parts: Deployed, dfa: DFA, tau: float, read: Extraction) -> Certificate:
    """The proof along the automaton that was read off the centroids: a proposal, like any other."""
    path, centroids = read.dfa, read.centroids
    epsilons = [0.0] if parts.hard else EPSILONS.tolist()
    attempts = list(zip(epsilons, _attempts(parts, path, centroids, tau, epsilons), strict=True))
    epsilon, best = max(attempts, key=lambda pair: pair[1].least)
    word = path.counterexample(dfa)
    holds, failure = word is None and best.least > 0, ""
    if word is not None:
        failure = f"the path of the centroids is another automaton: they differ on {word!r}"
    elif not holds:
        # The path first: a verdict fails alone only for an epsilon for which the path holds.
        epsilon, best = max(attempts, key=lambda pair: (pair[1].least_of_path > 0, pair[1].least))
        failure = _failure(best, path, centroids)
    return Certificate(holds, dfa, path, centroids, tau, epsilon, best.margins, best.verdicts, failure)


def _attempts(
    parts: Deployed, path: DFA, centroids: tuple[int, ...], tau: float, epsilons: Sequence[float]
) -> list[_Attempt]:
    network = parts.network
    cell, verdict, scores = _bounds.of(parts, tau)
    origin = _bounds.Region.point(np.zeros(parts.centroids.shape[1]))
    last = None if network.encoding.end is None else parts.embeddings[network.encoding.end]

    def attempt(epsilon: float) -> _Attempt:
        needed = 0.0 if parts.hard else math.log1p(-epsilon) - math.log(epsilon)
        regions = [scores.region(i, epsilon) for i in centroids]

        def margin(region: _bounds.Region, id_: int, state: int) -> float:
            """How much better than needed the odds of arriving at the centroid of a state are."""
            return scores.worst_log_odds(cell(region, parts.embeddings[id_]), centroids[state]) - needed

        start = margin(origin, parts.first, path.start)
        margins = [
            [margin(region, network.encoding.code(symbol), path.step(state, symbol)) for symbol in path.alphabet]
            for state, region in enumerate(regions)
        ]
        boxes = [region.box() if last is None else cell(region, last) for region in regions]
        verdicts = [verdict(box, state in path.accepting) for state, box in enumerate(boxes)]
        return _Attempt(float(_finite(start)), _finite(margins), _finite(verdicts))

    with np.errstate(all="ignore"):  # what overflows is no bound, see `_finite`
        return [attempt(epsilon) for epsilon in epsilons]


def _finite(bounds: Any) -> Array:
    """Bounds that prove something: neither NaN nor infinity does."""
    given = np.asarray(bounds, np.float64)
    return np.where(np.isfinite(given), given, -np.inf)


def _alike(said: Any, found: Array) -> bool:
    said = np.asarray(said, np.float64)
    return said.shape == found.shape and bool(np.allclose(said, found, rtol=1e-6, atol=1e-9))


def _failure(attempt: _Attempt, path: DFA, centroids: tuple[int, ...]) -> str:
    if not np.isfinite(attempt.least_of_path):
        return "the arithmetic may overflow, or its rounding is too large for any bound"
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
