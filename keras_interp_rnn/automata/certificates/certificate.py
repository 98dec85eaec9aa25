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

import itertools
import numbers
import os
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from keras_interp_rnn._results import Sentence
from keras_interp_rnn._types import Array
from keras_interp_rnn.automata.certificates import _kernels, _proved, proof
from keras_interp_rnn.automata.certificates._deployed import Deployed, deployed
from keras_interp_rnn.automata.certificates._proved import Proved
from keras_interp_rnn.automata.certificates.proof import Proof
from keras_interp_rnn.automata.machines import DFA, Automaton, MooreMachine, Word, WordEncoding, short_words
from keras_interp_rnn.automata.networks import Extraction, extract_exactly, given_encoding, open_acceptor

EPSILONS = np.logspace(-9, np.log10(0.45), 56)
"""Tried one after the other; any of them that gives a proof will do."""

NUM_TRIED_WORDS = 127
"""Number of short words that the model itself reads in addition to the proof and to those that take each transition."""

PADDING_BEFORE = 3
"""Number of steps, of padding before a word, with which the model reads these words once more."""

MACHINES: tuple[type, ...] = (DFA, MooreMachine)
"""Exact types: a subclass may say something else of a word."""


@dataclass(frozen=True, eq=False, repr=False)
class Certificate(Sentence):
    r"""A proof that a network classifies every word as an automaton does, or where the proof fails.

    Attributes:
        holds: whether it is proved for **every** word, at this temperature.
        dfa: the automaton; a `MooreMachine`, if the network has an output for each of three labels or more.
        path: the automaton of the centroids, which the network follows.
        centroids: the centroid of each state of `path`.
        temperature: $\tau$ at which it holds or fails, as the layer holds it in its dtype.
        epsilon: of the invariant; of the attempt that came closest, if the proof fails. 0 if the state is a centroid
            itself ("soft_argmax", `straight_through`).
        margins: (states of path, symbols), by how much each bound on the log odds of its transition,
            $\ln(\alpha / (1 - \alpha))$, is better than needed; minus infinity without a bound.
        decision_margins: (states of path,), lower bound on the distance of the head's logit from 0, on the right side;
            of a head with an output for each label on the lead of the right logit over every other one.
        failure: where and why the proof fails; "" if it holds.
        proved: the weights that the proof is about, for `save`; None if the certificate was not made by `certify`.
        function_errors: by name the largest error of tanh and sigmoid, and the largest relative one of exp, that were
            measured on the machine of the proof, which assumes 2^-20; empty if the certificate was read from a file.

    Example: see `certify`.
    """

    holds: bool
    dfa: Automaton
    path: Automaton
    centroids: tuple[int, ...]
    temperature: float
    epsilon: float
    margins: Array
    decision_margins: Array
    failure: str
    proved: Proved | None = field(default=None, repr=False)
    function_errors: Mapping[str, float] = field(default_factory=dict)

    @property
    def machine(self) -> Automaton:
        """`dfa`, by a name that fits a Moore machine too."""
        return self.dfa

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
        at the model's own temperature; the bounds that are stated must not be better than those that come out.

        Args:
            network: the model.
            alphabet, start, end: as `certify`.

        Raises:
            ValueError: if certificates do not hold for models of this kind, as `certify`.

        Example: see `certify`.
        """
        parts, _ = _opened(network, alphabet, start, end)
        if not self.holds or self.failure or self.temperature != parts.temperature():
            return False
        if type(self.path) is not type(self.dfa) or type(self.dfa) not in MACHINES:
            return False
        path, dfa = _plain(self.path), _plain(self.dfa)
        if not set(path.outputs) <= set(parts.acceptor.labels) or set(path.alphabet) != set(parts.acceptor.alphabet):
            return False
        centroids = [int(i) for i in self.centroids]
        named = len(set(centroids)) == len(centroids) == len(path) and {*centroids} <= {
            *range(len(parts.numbers.centroids))
        }
        # In (0, 1) for mixtures, 0 otherwise: which one is the model's to say. NaN is neither.
        follows = self.epsilon == 0 if parts.numbers.hard else 0 < self.epsilon < 1
        if not named or not follows or not path.is_complete or path.difference(dfa) is not None:
            return False
        [again] = proof.attempts(parts.numbers, path, tuple(centroids), self.temperature, [self.epsilon])
        if again.least <= 0:
            return False
        claims = ((self.margins, again.margins), (self.decision_margins, again.decisions))
        if not all(proof.supported(claimed, proved) for claimed, proved in claims):
            return False
        # At last, the weights that it carries, if any, are the model's.
        carried = self.proved is None or _proved.same(self.proved, parts.numbers)
        return carried and _misclassified(parts, path) is None

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
            raise ValueError(f"A certificate must hold to be saved. Received: one {why}.")
        parts = {field.name: getattr(self, field.name) for field in fields(Proof)}
        proof.write(path, Proof(**parts))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Certificate:
        """Reads what `save` wrote, and proves it again.

        The proof is repeated with the weights of the file; no bound is believed. It is a proof about those weights:
        whether they are those of a model, `check` says.

        Raises:
            FileNotFoundError: if there is no such file.
            ValueError: if it is damaged, of another version, or was changed; if its proof fails.

        Without Keras, a command reads the file and says what is proved: `python -m keras_interp_rnn check FILE`.

        Example: see `save`.
        """
        return cls(holds=True, failure="", **vars(proof.read(path)))


def certify(
    network: Any,
    dfa: Automaton,
    *,
    temperature: float | None = None,
    alphabet: WordEncoding | Mapping[Hashable, int] | None = None,
    start: int | None = None,
    end: int | None = None,
) -> Certificate:
    r"""Proves that a network classifies every word, of any length, as an automaton does; or says where the proof fails.

    Args:
        network: a model on a closed list: an Embedding that masks id 0, one state-regularized layer over a GRUCell or
            SimpleRNNCell of tanh and sigmoid, and a head of one Dense(1), linear or sigmoid, or of one Dense with an
            output for each of three labels or more, linear or softmax; all in float32 or all in float64; Dropout
            anywhere between.
        dfa: any automaton of the language; a `MooreMachine` of a network with labels, which are as `extract` says. Then
            it is proved that of every word the output of the machine's label is the largest, and no other as large.
        temperature: to prove it for another than the deployed temperature. The certificate is then one of the model
            after `set_temperature(temperature)`.
        alphabet, start, end: as `extract`.

    Returns:
        The certificate; `holds` says whether the proof succeeds.

    Raises:
        ValueError: if `dfa` is a DFA and the network has labels, or the other way round, or is of a subclass; if the
            network remembers more than its centroid; if a layer, flag, dtype or operation of the model
            is not on the list; if a weight is not finite; if the layer's dtype cannot hold the temperature; if tanh,
            sigmoid or exp are measured to be further from their values than the proof assumes.

    Exactness: sound under the assumptions of docs/notes/certificate.md (IEEE arithmetic in the layers' dtype, functions
        within 2^-20 of their value). A proof that fails says nothing about the network. In addition to the proof the
        model itself reads the shortest words and one for each transition, and is not certified if it contradicts the
        proof.

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
    parts, errors = _opened(network, alphabet, start, end)
    certificate = _prove(parts, dfa, _held_temperature(parts, temperature), extract_exactly(parts.acceptor))
    certificate = replace(certificate, function_errors=errors)
    if certificate.holds and certificate.temperature == parts.temperature():
        word = _misclassified(parts, certificate.path)
        if word is not None:
            failure = f"the model itself classifies {word!r} otherwise: a part of it was not taken into account"
            return replace(certificate, holds=False, failure=failure)
    return certificate


def largest_temperature(
    network: Any,
    dfa: Automaton,
    *,
    alphabet: WordEncoding | Mapping[Hashable, int] | None = None,
    start: int | None = None,
    end: int | None = None,
) -> float:
    """The highest temperature at which the network is certified, by bisection to a thousandth.

    Nothing is assumed between certified temperatures: the value returned is one of those proved.

    Args:
        network, dfa, alphabet, start, end: as `certify`.

    Returns:
        The temperature; 0 if there is none. It is searched for up to 2^20 times that of the network.

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
    parts, _ = _opened(network, alphabet, start, end)
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


def _opened(network: Any, alphabet: Any, start: int | None, end: int | None) -> tuple[Deployed, dict[str, float]]:
    """The parts of a network, and how far the functions are off that it computes with, on this machine."""
    parts = deployed(open_acceptor(network, given_encoding(network, alphabet, start, end)))
    return parts, dict(_kernels.measured(parts.numbers.dtype))


def _held_temperature(parts: Deployed, temperature: float | None) -> float:
    """The requested temperature as the layer would hold it; raises ValueError if it cannot."""
    if temperature is None:
        return parts.temperature()
    if not isinstance(temperature, numbers.Real) or not 0 < temperature < np.inf:
        raise ValueError(f"`temperature` must be a positive number. Received: temperature={temperature!r}.")
    held = parts.temperature(float(temperature))
    if not np.finfo(parts.numbers.dtype).tiny <= held < np.inf:
        raise ValueError(
            f"`temperature` must be a normal number of {parts.numbers.dtype}. Received: temperature={temperature!r}. "
            "The layer would compute NaN with it."
        )
    return held


def _misclassified(parts: Deployed, path: Automaton) -> tuple[Hashable, ...] | None:
    """A word that the deployed model classifies otherwise than the automaton of its centroids; None if none is found.

    Tried are the shortest words and one word for each transition: padded after the word, before it, and not at all.
    """
    acceptor = parts.acceptor
    words = {*short_words(path.alphabet, NUM_TRIED_WORDS), *_words_of_transitions(path)}
    limit = acceptor.max_length
    tried = sorted((word for word in words if limit is None or len(word) <= limit), key=len)
    found = {word: path.output(word) for word in tried}

    def first_wrong(words: Sequence[Word], classes: NDArray[np.int64]) -> Word | None:
        labels = (parts.acceptor.labels[class_] for class_ in classes)
        return next((word for word, label in zip(words, labels, strict=True) if label != found[word]), None)

    wrong = first_wrong(tried, acceptor.classes(tried))
    if limit is not None or wrong is not None:
        return wrong
    for _, group in itertools.groupby(tried, key=len):
        same_length = list(group)
        ids = acceptor.encoding.ids(same_length)
        for padding in (0, PADDING_BEFORE):
            wrong = first_wrong(same_length, acceptor.classes_of_rows(np.pad(ids, ((0, 0), (padding, 0)))))
            if wrong is not None:
                return wrong
    return None


def _words_of_transitions(path: Automaton) -> Iterator[Word]:
    """For each transition the shortest word whose last step it is."""
    shortest: dict[int, Word] = {path.start: ()}
    waiting = [path.start]
    for state in waiting:  # which grows
        for symbol in path.alphabet:
            word = (*shortest[state], symbol)
            yield word
            target = path.step(state, symbol)
            if target not in shortest:
                shortest[target] = word
                waiting.append(target)


def _plain(automaton: Automaton) -> Automaton:
    """An automaton with the same table, without what was set on this object."""
    return type(automaton)._of(automaton.transitions, automaton.outputs, automaton.start, automaton.alphabet)


def _prove(parts: Deployed, dfa: Automaton, tau: float, extraction: Extraction) -> Certificate:
    """The proof along the extracted automaton of the centroids, which is a proposal like any other."""
    if isinstance(dfa, MACHINES):
        if type(dfa) not in MACHINES:
            raise ValueError(
                f"`dfa` must be a DFA or a MooreMachine itself. Received: a {type(dfa).__name__}, which may "
                "say something else of a word. Build a DFA with its transitions."
            )
        dfa = _plain(dfa)
    path, centroids = extraction.dfa, extraction.centroids
    epsilons = [0.0] if parts.numbers.hard else EPSILONS.tolist()
    attempts = list(zip(epsilons, proof.attempts(parts.numbers, path, centroids, tau, epsilons), strict=True))
    epsilon, best = max(attempts, key=lambda pair: pair[1].least)
    word = path.difference(dfa)
    holds, failure = word is None and best.least > 0, ""
    if word is not None:
        failure = f"the path of the centroids is another automaton: they differ on {word!r}"
    elif not holds:
        # The path first: that a decision alone fails can be said only of an epsilon for which the path holds.
        epsilon, best = max(attempts, key=lambda pair: (pair[1].least_of_path > 0, pair[1].least))
        failure = proof.failure(best, path, centroids)
    margins = (best.margins, best.decisions)
    return Certificate(holds, dfa, path, centroids, tau, epsilon, *margins, failure, parts.numbers)
