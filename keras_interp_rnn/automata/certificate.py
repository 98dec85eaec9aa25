r"""A proof that a network follows an automaton on every word, of any length (docs/notes/certificate.md).

The invariant: after every step the exact probabilities $\alpha$ of the state just computed give at least
$1 - \varepsilon$ to the centroid i that the automaton is in. Then the next state lies in a known region around $s_i$,

    R_i = { sum_j alpha_j s_j + e :  alpha_i >= 1 - epsilon,  |e| <= rounding },

over which the cell is bounded by interval arithmetic for every symbol a. If the bounds show that the next alpha gives
at least $1 - \varepsilon$ to $\delta(i, a)$, the invariant holds after every further step. The bounds include the
rounding of the network's own float arithmetic; they are themselves computed in float64 and widened.

The proof is about the model as it is deployed: `_deployed` recognizes each of its parts and refuses any other, and a
bound that is not finite proves nothing.
"""

from __future__ import annotations

import json
import math
import numbers
import os
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from keras_interp_rnn import _files
from keras_interp_rnn._deprecation import former_arguments, warn_of_name
from keras_interp_rnn._result import Sentence
from keras_interp_rnn.automata import _bounds, _proved
from keras_interp_rnn.automata._deployed import Deployed, deployed
from keras_interp_rnn.automata._network import open_acceptor
from keras_interp_rnn.automata._proved import Proved
from keras_interp_rnn.automata.dfa import DFA
from keras_interp_rnn.automata.extraction import Extraction, extract_exactly, short_words
from keras_interp_rnn.automata.words import WordEncoding, encoding_of

Array = NDArray[np.float64]

EPSILONS = np.logspace(-9, np.log10(0.45), 56)
"""Tried one after the other; any of them that gives a proof will do."""

NUM_TRIED_WORDS = 127
"""Number of short words that the model itself reads in addition to the proof."""


FORMAT, VERSION = "keras_interp_rnn.Certificate", 1
"""Of a certificate's file."""

ASSUMPTIONS = (
    "IEEE 754 arithmetic in the network's dtype, rounded to nearest, in any order of summation; no reduced precision.",
    "tanh and sigmoid within 2^-20 of their values, exp within 2^-20 relatively.",
    "Words are ids with the start token before them, the end token after them if there is one, and padding 0.",
    "The network is an Embedding, one state-regularized layer and a Dense(1), called outside training.",
)
"""Of every proof, in short, as a file states them; docs/notes/certificate.md has the details."""

FILE_PARTS: dict[str, type] = {
    **dict.fromkeys(("network", "dfa", "path"), dict),
    **dict.fromkeys(("centroids", "margins", "decision_margins", "assumptions"), list),
    **dict.fromkeys(("temperature", "epsilon"), float),
    "sha256": str,
}


@dataclass(frozen=True, eq=False, repr=False)
class Certificate(Sentence):
    r"""A proof that a network classifies every word as an automaton does, or where the proof fails.

    Attributes:
        holds: whether it is proved for **every** word, at this temperature.
        dfa: the automaton.
        path: the automaton of the centroids, which the network follows.
        centroids: the centroid of each state of `path`.
        temperature: $\tau$ at which it holds or fails, as the layer holds it in its dtype.
        epsilon: of the invariant; of the attempt that came closest, if the proof fails. 0 if the state is a centroid
            itself ("soft_argmax", `straight_through`).
        margins: (states of path, symbols), by how much each bound on the log odds of its transition,
            $\ln(\alpha / (1 - \alpha))$, is better than needed; minus infinity without a bound.
        decision_margins: (states of path,), lower bound on the distance of the head's logit from 0, on the right side.
        failure: where and why the proof fails; "" if it holds.
        proved: the weights that the proof is about, for `save`; None if the certificate was not made by `certify`.
    """

    holds: bool
    dfa: DFA
    path: DFA
    centroids: tuple[int, ...]
    temperature: float
    epsilon: float
    margins: Array
    decision_margins: Array
    failure: str
    proved: Proved | None = field(default=None, repr=False)

    @property
    def verdict_margins(self) -> Array:
        """The former name of `decision_margins`."""
        warn_of_name("Certificate.verdict_margins", "decision_margins")
        return self.decision_margins

    @former_arguments(positional=("self", "network", "alphabet", "start", "end"), model="network")
    def check(
        self,
        network: Any,
        *,
        alphabet: WordEncoding | Mapping[Hashable, int] | None = None,
        start: int | None = None,
        end: int | None = None,
    ) -> bool:
        """Whether this certificate is a proof about a model, as it is deployed now.

        No field is trusted. The path, the centroids and epsilon are a proposal, with which the whole proof is repeated
        at the model's own temperature; the other fields must agree with the outcome.

        Args:
            network: the model.
            alphabet: as `certify`.
            start: as `certify`.
            end: as `certify`.

        Returns:
            True if every field is right and the certificate holds.

        Raises:
            ValueError: if certificates do not hold for models of this kind, as `certify`.

        Example: see `certify`.
        """
        parts = deployed(open_acceptor(network, encoding_of(alphabet, start, end)))
        if not self.holds or self.failure or self.temperature != parts.temperature():
            return False
        if set(self.path.alphabet) != set(parts.acceptor.alphabet) or self.path.counterexample(self.dfa) is not None:
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
        if not _alike(self.margins, again.margins) or not _alike(self.decision_margins, again.decisions):
            return False
        # At last, the weights that it carries, if any, are the model's.
        carried = self.proved is None or _same(self.proved, _proved.proved(parts))
        return carried and _misclassified(parts, self.dfa) is None

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the certificate to a file, whole or not at all.

        The file is JSON: the weights that the proof needs, exactly, and their sha256; the automata, the centroids,
        epsilon and the temperature; every bound, rounded down to nine digits; the assumptions of the proof.

        Args:
            path: of the file; one that exists is replaced.

        Raises:
            ValueError: if the certificate does not hold or carries no weights; if a symbol is neither a string nor an
                integer.
            OSError: if the file cannot be written.

        Example:

        >>> import tempfile, pathlib
        >>> from keras_interp_rnn import automata
        >>> network = automata.compile(automata.tomita(1))
        >>> certificate = automata.certify(network, automata.tomita(1))
        >>> file = pathlib.Path(tempfile.mkdtemp()) / "tomita1.json"
        >>> certificate.save(file)
        >>> automata.Certificate.load(file).check(network)
        True
        """
        if not self.holds or self.proved is None:
            why = "without weights, which certify gives it" if self.holds else f"that does not hold: {self.failure}"
            raise ValueError(f"A certificate is saved if it holds. Received: one {why}.")
        automata = {"dfa": json.loads(self.dfa.to_json()), "path": json.loads(self.path.to_json())}
        network = _proved.as_json(self.proved)
        content = {
            "format": FORMAT,
            "version": VERSION,
            "network": network,
            "sha256": _proved.digest(network),
            **automata,
            "centroids": [int(i) for i in self.centroids],
            "temperature": float(self.temperature),
            "epsilon": float(self.epsilon),
            "margins": [[_proved.rounded_down(float(x)) for x in row] for row in self.margins],
            "decision_margins": [_proved.rounded_down(float(x)) for x in self.decision_margins],
            "assumptions": list(ASSUMPTIONS),
        }
        _files.write_json(Path(path), content)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Certificate:
        """Reads what `save` wrote, and proves it again.

        The proof is repeated with the weights of the file; no bound is believed. It is a proof about those weights:
        whether they are those of a model, `check` says.

        Args:
            path: of the file.

        Returns:
            The certificate.

        Raises:
            FileNotFoundError: if there is no such file.
            ValueError: if it is damaged, of another version, or was changed; if its proof fails.

        Example: see `save`.
        """
        path = Path(path)
        kinds = {"format": str, "version": int, **FILE_PARTS}
        remedy = "Save the certificate again."
        content = _files.read_json(path, "A certificate's file is what Certificate.save wrote", kinds, remedy)
        try:
            return _from_json(content)
        except (ValueError, TypeError, KeyError, OverflowError) as error:
            line = " ".join(str(error).split())
            raise ValueError(f"{path} is no certificate that holds: {line[:300]}. {remedy}") from None


def _same(one: Proved, other: Proved) -> bool:
    return _proved.digest(_proved.as_json(one)) == _proved.digest(_proved.as_json(other))


def _from_json(content: Mapping[str, Any]) -> Certificate:
    """The certificate of a file, proved again; raises ValueError, TypeError or KeyError for anything else."""
    if content["format"] != FORMAT or content["version"] != VERSION or isinstance(content["version"], bool):
        raise ValueError(
            f"it is of the format {content['format']!r}, version {content['version']!r}; read is {VERSION}"
        )
    if set(content) != {"format", "version", *FILE_PARTS}:
        raise ValueError(f"other parts: {sorted(set(content) ^ {'format', 'version', *FILE_PARTS})}")
    if _proved.digest(content["network"]) != content["sha256"]:
        raise ValueError("the weights are not those of the sha256")
    if content["assumptions"] != list(ASSUMPTIONS):
        raise ValueError("it states other assumptions than those of the proof")
    network = _proved.from_json(content["network"])
    dfa, path = (DFA.from_json(json.dumps(content[name])) for name in ("dfa", "path"))
    centroids, tau, epsilon = tuple(content["centroids"]), content["temperature"], content["epsilon"]
    if path.alphabet != network.encoding.alphabet or not path.is_complete:
        raise ValueError("the path is not over the network's alphabet, or misses transitions")
    if set(path.alphabet) != set(dfa.alphabet) or path.counterexample(dfa) is not None:
        raise ValueError("the path is not of the automaton's language")
    if not all(type(i) is int and 0 <= i < len(network.centroids) for i in centroids):
        raise ValueError("a centroid that the network does not have")
    if len(set(centroids)) != len(centroids) or len(centroids) != len(path):
        raise ValueError("every state of the path needs a centroid of its own")
    if not np.finfo(network.dtype).tiny <= tau < np.inf:
        raise ValueError(f"the temperature {tau}")
    if not (epsilon == 0 if network.hard else 0 < epsilon < 1):
        raise ValueError(f"epsilon {epsilon}")
    [again] = _attempts(network, path, centroids, tau, [epsilon])
    if again.least <= 0:
        raise ValueError(f"the proof fails: {_failure(again, path, centroids)}")
    if not _alike(content["margins"], again.margins) or not _alike(content["decision_margins"], again.decisions):
        raise ValueError("the bounds are not those of the weights")
    return Certificate(True, dfa, path, centroids, tau, epsilon, again.margins, again.decisions, "", network)


@dataclass(frozen=True)
class _Attempt:
    """Margins for one epsilon; minus infinity without a bound."""

    start: float
    margins: Array
    decisions: Array

    @property
    def least(self) -> float:
        return min(self.least_of_path, float(self.decisions.min()))

    @property
    def least_of_path(self) -> float:
        return min(self.start, float(self.margins.min()))


@former_arguments(positional=("network", "dfa", "temperature", "alphabet", "start", "end"), model="network")
def certify(
    network: Any,
    dfa: DFA,
    *,
    temperature: float | None = None,
    alphabet: WordEncoding | Mapping[Hashable, int] | None = None,
    start: int | None = None,
    end: int | None = None,
) -> Certificate:
    r"""Proves that a network classifies every word, of any length, as an automaton does; or says where the proof fails.

    Args:
        network: a model on a closed list: an Embedding that masks id 0, one state-regularized layer over a GRUCell or
            SimpleRNNCell of tanh and sigmoid, and a head of one Dense(1), linear or sigmoid, all in float32 or all in
            float64; Dropout anywhere between.
        dfa: any automaton of the language.
        temperature: to prove it for another than the deployed temperature. The certificate is then one of the model
            after `set_temperature(temperature)`.
        alphabet: as `extract`.
        start: as `extract`.
        end: as `extract`.

    Returns:
        The certificate; `holds` says whether the proof succeeds.

    Raises:
        ValueError: if the network remembers more than its centroid; if a layer, flag, dtype or operation of the model
            is not on the list; if a weight is not finite; if the layer's dtype cannot hold the temperature.

    Exactness: sound under the assumptions of docs/notes/certificate.md (IEEE arithmetic in the layers' dtype, functions
        within 2^-20 of their value). A proof that fails says nothing about the network. In addition to the proof the
        model itself reads the shortest words, and is not certified if it contradicts the proof.

    Example:

    >>> from keras_interp_rnn import automata, layers
    >>> ids = keras.Input((None,), dtype="int32")
    >>> words = automata.SymbolEmbedding("01", 4)
    >>> always = keras.layers.Dense(1, kernel_initializer="zeros", bias_initializer="ones")
    >>> network = keras.Sequential([ids, words, layers.SRGRU(4, 1), always])
    >>> everything = automata.DFA([[0, 0]], accepting={0})
    >>> certificate = automata.certify(network, everything)
    >>> certificate.holds, certificate.check(network)
    (True, True)
    >>> automata.certify(network, automata.tomita(1)).failure
    "the path of the centroids is another automaton: they differ on ('0',)"
    """
    parts = deployed(open_acceptor(network, encoding_of(alphabet, start, end)))
    certificate = _prove(parts, dfa, _held_temperature(parts, temperature), extract_exactly(parts.acceptor))
    if certificate.holds and certificate.temperature == parts.temperature():
        word = _misclassified(parts, dfa)
        if word is not None:
            failure = f"the model itself classifies {word!r} otherwise: a part of it was not taken into account"
            return replace(certificate, holds=False, failure=failure)
    return certificate


@former_arguments(positional=("network", "dfa", "alphabet", "start", "end"), model="network")
def largest_temperature(
    network: Any,
    dfa: DFA,
    *,
    alphabet: WordEncoding | Mapping[Hashable, int] | None = None,
    start: int | None = None,
    end: int | None = None,
) -> float:
    """The highest temperature at which the network is certified, by bisection to a thousandth.

    Nothing is assumed between certified temperatures: the value returned is one of those proved.

    Args:
        network: as `certify`.
        dfa: as `certify`.
        alphabet: as `certify`.
        start: as `certify`.
        end: as `certify`.

    Returns:
        The temperature; 0 if there is none.

    Raises:
        ValueError: as `certify`.

    Example:

    >>> from keras_interp_rnn import automata, layers
    >>> ids = keras.Input((None,), dtype="int32")
    >>> words = automata.SymbolEmbedding("01", 4)
    >>> network = keras.Sequential([ids, words, layers.SRGRU(4, 1), keras.layers.Dense(1)])
    >>> automata.largest_temperature(network, automata.tomita(1))  # one centroid is too few
    0.0
    """
    parts = deployed(open_acceptor(network, encoding_of(alphabet, start, end)))
    extraction = extract_exactly(parts.acceptor)
    low, high = 0.0, parts.temperature()

    def holds(tau: float) -> bool:
        return _prove(parts, dfa, tau, extraction).holds

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


def _held_temperature(parts: Deployed, temperature: float | None) -> float:
    """The requested temperature as the layer would hold it; raises ValueError if it cannot."""
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


def _misclassified(parts: Deployed, dfa: DFA) -> tuple[Hashable, ...] | None:
    """One of the shortest words that the deployed model and the automaton classify differently; None without one."""
    words = short_words(dfa.alphabet, NUM_TRIED_WORDS)
    by_model = parts.acceptor.accepts(words)
    return next((word for word, accepted in zip(words, by_model, strict=True) if accepted != dfa.accepts(word)), None)


def _prove(parts: Deployed, dfa: DFA, tau: float, extraction: Extraction) -> Certificate:
    """The proof along the extracted automaton of the centroids, which is a proposal like any other."""
    path, centroids = extraction.dfa, extraction.centroids
    epsilons = [0.0] if parts.hard else EPSILONS.tolist()
    attempts = list(zip(epsilons, _attempts(parts, path, centroids, tau, epsilons), strict=True))
    epsilon, best = max(attempts, key=lambda pair: pair[1].least)
    word = path.counterexample(dfa)
    holds, failure = word is None and best.least > 0, ""
    if word is not None:
        failure = f"the path of the centroids is another automaton: they differ on {word!r}"
    elif not holds:
        # The path first: that a decision alone fails can be said only of an epsilon for which the path holds.
        epsilon, best = max(attempts, key=lambda pair: (pair[1].least_of_path > 0, pair[1].least))
        failure = _failure(best, path, centroids)
    weights = _proved.proved(parts)
    return Certificate(holds, dfa, path, centroids, tau, epsilon, best.margins, best.decisions, failure, weights)


def _attempts(
    parts: Deployed | Proved, path: DFA, centroids: tuple[int, ...], tau: float, epsilons: Sequence[float]
) -> list[_Attempt]:
    encoding = parts.encoding
    cell, decision, scores = _bounds.bounds_of(parts, tau)
    origin = _bounds.Region.point(np.zeros(parts.centroids.shape[1]))
    last = None if encoding.end is None else parts.embeddings[encoding.end]

    def attempt(epsilon: float) -> _Attempt:
        needed = 0.0 if parts.hard else math.log1p(-epsilon) - math.log(epsilon)
        regions = [scores.region(i, epsilon) for i in centroids]

        def margin(region: _bounds.Region, id_: int, state: int) -> float:
            """By how much the bound on the log odds of the centroid of a state is better than needed."""
            return scores.worst_log_odds(cell(region, parts.embeddings[id_]), centroids[state]) - needed

        start = margin(origin, parts.first, path.start)
        margins = [
            [margin(region, encoding.code(symbol), path.step(state, symbol)) for symbol in path.alphabet]
            for state, region in enumerate(regions)
        ]
        boxes = [region.box() if last is None else cell(region, last) for region in regions]
        decisions = [decision(box, state in path.accepting) for state, box in enumerate(boxes)]
        return _Attempt(float(_finite(start)), _finite(margins), _finite(decisions))

    with np.errstate(all="ignore"):  # a bound that overflows proves nothing, see `_finite`
        return [attempt(epsilon) for epsilon in epsilons]


def _finite(bounds: Any) -> Array:
    """The bounds, with minus infinity for NaN and infinities, which prove nothing."""
    array = np.asarray(bounds, np.float64)
    return np.where(np.isfinite(array), array, -np.inf)


def _alike(claimed: Any, proved: Array) -> bool:
    claimed = np.asarray(claimed, np.float64)
    return claimed.shape == proved.shape and bool(np.allclose(claimed, proved, rtol=1e-6, atol=1e-9))


def _failure(attempt: _Attempt, path: DFA, centroids: tuple[int, ...]) -> str:
    if not np.isfinite(attempt.least_of_path):
        return "the arithmetic may overflow, or its rounding is too large for any bound"
    if attempt.start <= 0:
        return f"the start token leads to centroid {centroids[path.start]}, but not with enough probability"
    if attempt.margins.min() <= 0:
        state, column = (int(i) for i in np.unravel_index(attempt.margins.argmin(), attempt.margins.shape))
        symbol: Hashable = path.alphabet[column]
        target = path.step(state, symbol)
        return (
            f"from centroid {centroids[state]} the symbol {symbol!r} leads to centroid {centroids[target]}, but "
            f"the bound misses what is needed by {-attempt.margins.min():.2f} nats"
        )
    state = int(attempt.decisions.argmin())
    return f"the head's decision on centroid {centroids[state]} is not the same over its whole region"
