r"""A proof that a network follows an automaton on every word, of any length (docs/notes/certificate.md).

The invariant: after every step the exact probabilities $\alpha$ of the computed state give at least $1 - \varepsilon$
to the centroid i of the automaton's state. Then the next state lies in a known region around $s_i$,

    R_i = { sum_j alpha_j s_j + e :  alpha_i >= 1 - epsilon,  |e| <= rounding },

over which the cell is bounded by interval arithmetic for every symbol a. If the bounds show that the next alpha gives
at least $1 - \varepsilon$ to $\delta(i, a)$, the invariant holds after every further step. The bounds include the
rounding of the network's own float arithmetic; they are themselves computed in float64 and widened.

The proof is about numbers: `_deployed` reads them from the program of a model, of which it recognizes each operation
and refuses any other. `Certificate.network` is the model of these numbers. A bound that is not finite proves nothing.
"""

from __future__ import annotations

import math
import os
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace

import keras
import numpy as np

from keras_interp_rnn._checks import invalid, is_proved, positive
from keras_interp_rnn._network import GivenAlphabet
from keras_interp_rnn._results import Column, Sentence, Table, View, counted, visible
from keras_interp_rnn._types import Array
from keras_interp_rnn.automata.certificates import _kernels, _proved, proof
from keras_interp_rnn.automata.certificates._deployed import Deployed, deployed, network_of
from keras_interp_rnn.automata.certificates._proved import Proved
from keras_interp_rnn.automata.certificates.proof import Proof
from keras_interp_rnn.automata.machines import (
    DESCRIPTIONS,
    DFA,
    MooreMachine,
    Word,
    numbered_states,
    short_words,
    tomita,
)
from keras_interp_rnn.automata.networks import Extraction, extract_exactly, open_acceptor

EPSILONS = np.logspace(-9, np.log10(0.45), 56)  # all are tried; any that gives a proof will do
NUM_TRIED_WORDS = 127  # short words that the model itself reads, besides those that take each transition

MACHINES: tuple[type, ...] = (DFA, MooreMachine)
"""Exact types: a subclass may give a word another output."""


@dataclass(frozen=True, eq=False, repr=False)
class Certificate(Sentence):
    r"""A proof that a network classifies every word as an automaton does, or the place where the proof fails.

    Attributes:
        holds: whether this is proved for **every** word, at this temperature.
        dfa: the automaton; a `MooreMachine` if the network has an output for each of three labels or more.
        path: the automaton of the centroids, which the network follows.
        centroids: the centroid of each state of `path`.
        temperature: $\tau$ at which the proof holds or fails, rounded to the layer's dtype.
        epsilon: radius of the regions around the centroids; if the proof fails, of the closest attempt. 0 if the state
            is a centroid itself ("soft_argmax", `straight_through`).
        margins: (states of path, symbols), how far the bound on the log odds $\ln(\alpha / (1 - \alpha))$ of each
            transition exceeds the required value; minus infinity if there is no bound.
        decision_margins: (states of path,), lower bound on the distance of the head's logit from 0, on the right side;
            with an output for each label, on the lead of the right logit over all others.
        failure: where and why the proof fails; "" if it holds.
        proved: the weights to which the proof applies, for `save`; None if the certificate was not made by `certify`.
        function_errors: {name: error}, the largest errors of tanh and sigmoid and the largest relative error of exp on
            the machine of the proof, which assumes 2^-20; empty if the certificate was read from a file.

    Example: see `certify`.
    """

    holds: bool
    dfa: MooreMachine
    path: MooreMachine
    centroids: tuple[int, ...]
    temperature: float
    epsilon: float
    margins: Array
    decision_margins: Array
    failure: str
    proved: Proved | None = field(default=None, repr=False)
    function_errors: Mapping[str, float] = field(default_factory=dict)

    @property
    def machine(self) -> MooreMachine:
        """`dfa`, under a name that suits a Moore machine too."""
        return self.dfa

    def network(self) -> keras.Model:
        """The network that is proved, built of the numbers of this certificate: the one to deploy.

        A certificate is about numbers, and about no object whose layers were changed since they were read, or
        that computes something else than its layers do.

        Returns:
            The model, from ids to logits, whose positive or largest one decides; a `Recognizer` if the ids of its
            symbols are those of a `SymbolEmbedding`.

        Raises:
            ValueError: if the certificate does not hold, or has no weights.

        Example:

        >>> from keras_interp_rnn import automata
        >>> certificate = automata.certify(automata.compile(automata.tomita(4)), automata.tomita(4))
        >>> network = certificate.network()
        >>> network.classify(["1001", "10001"]), certificate.check(network)
        (array([ True, False]), True)
        """
        return network_of(self._proved_to_be("deployed", "Deploy the network of one"), float(self.temperature))

    def _proved_to_be(self, done: str, remedy: str) -> Proved:
        """The numbers; raises ValueError if the certificate does not hold, or has none."""
        if not is_proved(self) or self.proved is None:
            why = "without weights" if is_proved(self) else f"that does not hold: {self.failure or self.holds}"
            raise ValueError(
                f"A certificate must hold, and have weights, to be {done}. Received: one {why}. {remedy} that certify "
                "returned and that holds."
            )
        return self.proved

    def check(
        self,
        network: object,
        *,
        alphabet: GivenAlphabet | None = None,
    ) -> bool:
        """Whether this certificate proves the verdicts of a model: whether it has these numbers and operations.

        No field is trusted. The whole proof is repeated at the model's own temperature, with the path, the centroids
        and epsilon as a proposal. The bounds of the certificate must not be better than the proved ones.

        Args:
            network, alphabet: as `certify`.

        Raises:
            ValueError: as `certify`, if no certificate holds for such a model.

        Example: see `certify`.
        """
        parts, _ = _opened(network, alphabet)
        tau = parts.temperature()
        if not is_proved(self) or np.float64(self.temperature) != tau:
            return False
        if type(self.path) is not type(self.dfa) or type(self.dfa) not in MACHINES:
            return False
        path, centroids = _plain(self.path), tuple(int(i) for i in self.centroids)
        bounds = self.margins, self.decision_margins
        claim = Proof(parts.numbers, _plain(self.dfa), path, centroids, tau, self.epsilon, *bounds)
        try:
            proof.repeated(claim)
        except ValueError:
            return False
        carried = self.proved is None or _proved.same(self.proved, parts.numbers)
        return carried and _misclassified(parts, path) is None

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the certificate to a file, whole or not at all.

        The JSON file has the exact weights that the proof needs, and their sha256; the automata, the centroids, epsilon
        and the temperature; every bound, rounded down to nine digits; and the assumptions of the proof.

        Args:
            path: of the file; an existing file is replaced.

        Raises:
            ValueError: if the certificate does not hold or has no weights; if a symbol or a label is neither a string
                nor an integer.
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
        self._proved_to_be("saved", "Save one")
        parts = {field.name: getattr(self, field.name) for field in fields(Proof)}
        proof.write(path, Proof(**parts))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Certificate:
        """Reads a file that `save` wrote, and proves it again.

        The proof is repeated with the weights of the file; no bound is trusted. `check` decides whether these are the
        weights of a model. The command `python -m keras_interp_rnn check FILE` does the same without Keras and prints
        the proved statement.

        Raises:
            FileNotFoundError: if there is no such file.
            ValueError: if the file is damaged, of another version or was changed; if its proof fails.

        Example: see `save`.
        """
        return cls(holds=True, failure="", **vars(proof.read(path)))

    def table(self) -> Table:
        """The verdict, what is proved, of which network, by what margins, under which assumptions.

        A row for each transition of the automaton that the network follows, with its margin. The states are those that
        are drawn, one for each centroid that a word reaches; equivalent ones may be among them.
        """
        margins = Column("margin", np.ravel(self.margins).tolist(), "nats", ".2f")
        columns = (*self.path.table(names=self.centroids).columns, margins)
        if not is_proved(self):
            why = self.failure or f"`holds` is {self.holds!r}"
            verdict = f"Not yet proved for every word at temperature {self.temperature:g}."
            return Table(verdict, columns, (f"Why: {why}.",), folded=True)
        size, minimal = len(self.path), len(self.dfa.minimize())
        merged = f", {minimal} when equivalent ones are merged" if minimal < size else ""
        notes = [f"When: at the temperature {self.temperature:g}."]
        if self.proved is not None:
            proved = self.proved
            cell, reached = type(proved.equations).__name__, len(self.centroids)
            network = f"Of: a {cell} of {np.shape(proved.centroids)[1]} units in {proved.dtype}, of whose "
            network += f"{counted(len(proved.centroids), 'centroid')} a word reaches {reached}"
            sure = f"; the right one has all of the probability but {self.epsilon:.1g}" if self.epsilon else ""
            notes.append(f"{network}{sure}. Deploy `certificate.network()`, which has these numbers.")
        state, column = np.unravel_index(np.argmin(self.margins), np.shape(self.margins))
        place = f"from centroid {self.centroids[state]} by {visible(str(self.path.alphabet[column]))}"
        moves, decisions = np.min(self.margins), np.min(self.decision_margins)
        notes.append(f"Margins: at least {moves:.2f} nats for a move ({place}), {decisions:.2g} for a decision.")
        errors = self.function_errors.values()
        within = f"; on this machine they are within 2^{math.ceil(math.log2(max(errors)))}" if errors else ""
        notes.append(f"Assumed: IEEE arithmetic, and tanh, sigmoid and exp within 2^-20 of their values{within}.")
        verdict = (
            f"Proved: on every word, however long, the network answers as {_named(self.dfa)} "
            f"({counted(size, 'state')}{merged})."
        )
        return Table(verdict, columns, tuple(notes), folded=True)

    def drawing(self) -> str:
        """The automaton that the network follows, its states named by their centroids."""
        return self.path.to_svg(numbered_states(self.centroids, self.path.alphabet))

    def page_view(self) -> View | None:
        """The automaton of the centroids, which the network follows."""
        return self.path.page_view(self.centroids, verdict=str(self).splitlines())


def _named(automaton: MooreMachine) -> str:
    """The name of the language of an automaton, or its alphabet."""
    if isinstance(automaton, DFA) and {*automaton.alphabet} == {"0", "1"}:
        for number in range(1, 8):
            if automaton.equivalent(tomita(number)):
                return f"Tomita's automaton {number}, “{DESCRIPTIONS[number]}”"
    symbols = ", ".join(visible(str(symbol)) for symbol in automaton.alphabet[:6])
    return f"the automaton over {symbols}{' ...' if len(automaton.alphabet) > 6 else ''}"


def certify(
    network: object,
    dfa: MooreMachine,
    *,
    temperature: float | None = None,
    alphabet: GivenAlphabet | None = None,
) -> Certificate:
    r"""Proves that a network classifies every word, of any length, as an automaton does, or finds where this fails.

    Args:
        network: a model of exactly these layers: an Embedding that masks id 0; one state-regularized layer over a
            GRUCell or SimpleRNNCell with tanh and sigmoid; a head of one Dense(1), linear or sigmoid, or of one Dense
            with an output for each of three labels or more, linear or softmax. All in float32 or all in float64, with
            Dropout anywhere between.
        dfa: any automaton of the language; for a network with labels (see `extract`) a `MooreMachine`. The certificate
            then proves that for every word the output of the machine's label is larger than all others.
        temperature: a temperature other than the deployed one. The certificate then applies to the model after
            `set_temperature(temperature)`.
        alphabet: as `extract`.

    Returns:
        The certificate; `holds` is True if the proof succeeds.

    Raises:
        ValueError: if `dfa` is a DFA and the network has labels, or the other way round, or if `dfa` is of a subclass;
            if the network remembers more than its centroid; if a layer, flag, dtype or operation of the model is not
            covered; if a weight is not finite; if the layer's dtype cannot represent the temperature; if the measured
            error of tanh, sigmoid or exp is larger than the proof assumes.

    Exactness: sound under the assumptions of docs/notes/certificate.md (IEEE arithmetic in the layers' dtype, functions
        within 2^-20 of their value). A failed proof tells nothing about the network. In addition, the model itself
        reads the shortest words and one word for each transition, and is not certified if it contradicts the proof.

    Example:

    >>> from keras_interp_rnn import automata
    >>> network = automata.compile(automata.tomita(1))
    >>> certificate = automata.certify(network, automata.tomita(1))
    >>> certificate.holds, certificate.check(network)
    (True, True)
    >>> automata.certify(network, automata.tomita(4)).failure
    "the path of the centroids is another automaton: they differ on ('0',)"
    """
    parts, errors = _opened(network, alphabet)
    certificate = _prove(parts, dfa, _held_temperature(parts, temperature), extract_exactly(parts.acceptor))
    certificate = replace(certificate, function_errors=errors)
    if is_proved(certificate) and certificate.temperature == parts.temperature():
        word = _misclassified(parts, certificate.path)
        if word is not None:
            failure = f"the model itself classifies {word!r} otherwise: the proof does not know a part of it"
            return replace(certificate, holds=False, failure=failure)
    return certificate


def largest_temperature(
    network: object,
    dfa: MooreMachine,
    *,
    alphabet: GivenAlphabet | None = None,
) -> float:
    """The highest temperature at which the network is certified, by bisection to a thousandth.

    The proof holds at the returned temperature. Temperatures below it need a proof of their own.

    Args:
        network, dfa, alphabet: as `certify`.

    Returns:
        The temperature, at most 2^20 times the network's own; 0 if none is found.

    Raises:
        ValueError: as `certify`.

    Example:

    >>> from keras_interp_rnn import automata
    >>> network = automata.compile(automata.tomita(1))
    >>> automata.largest_temperature(network, automata.tomita(4))  # another language
    0.0
    """
    parts, _ = _opened(network, alphabet)
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


def _opened(network: object, alphabet: GivenAlphabet | None) -> tuple[Deployed, dict[str, float]]:
    """The parts of a network, and the errors of its functions on this machine."""
    parts = deployed(open_acceptor(network, alphabet))
    return parts, dict(_kernels.measured(parts.numbers.dtype))


def _held_temperature(parts: Deployed, temperature: float | None) -> float:
    """The requested temperature as the layer would hold it; raises ValueError if it cannot."""
    if temperature is None:
        return parts.temperature()
    held = parts.temperature(positive("temperature", temperature))
    if not np.finfo(parts.numbers.dtype).tiny <= held < np.inf:
        remedy = "Pass another: the layer would compute NaN with this one."
        raise invalid("temperature", f"a normal number of {parts.numbers.dtype}", temperature, remedy)
    return held


def _misclassified(parts: Deployed, path: MooreMachine) -> tuple[Hashable, ...] | None:
    """A word that the deployed model and the automaton of its centroids classify differently; None if none is found.

    The model reads the shortest words and one word for each transition in three batches: with padding after the words,
    with padding before them, and the longest words with none.

    Raises:
        ValueError: if the model does not run on them.
    """
    acceptor, limit = parts.acceptor, parts.acceptor.max_length
    words = {*short_words(path.alphabet, NUM_TRIED_WORDS), *_words_of_transitions(path)}
    tried = sorted((word for word in words if limit is None or len(word) <= limit), key=len)
    try:
        readings = [(tried, acceptor.classes(tried))]
        if limit is None:
            ids = acceptor.encode(tried)
            behind_padding = np.array([np.roll(row, np.count_nonzero(row == 0)) for row in ids])
            longest = [i for i, word in enumerate(tried) if len(word) == len(tried[-1])]
            readings.append((tried, acceptor.classes_of_rows(behind_padding)))
            readings.append(([tried[i] for i in longest], acceptor.classes_of_rows(ids[longest])))
    except Exception as error:  # whatever a layer raises that was changed since it was built
        raise ValueError(
            f"The model itself must read words. Received: {acceptor.model.name}, which raises {type(error).__name__}. "
            "Build the model of these layers again, with the same weights."
        ) from error
    for some, classes in readings:
        for word, class_ in zip(some, classes, strict=True):
            if acceptor.labels[class_] != path.output(word):
                return word
    return None


def _words_of_transitions(path: MooreMachine) -> Iterator[Word]:
    """The shortest word that ends with each transition."""
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


def _plain(automaton: MooreMachine) -> MooreMachine:
    """An automaton with the same table, without attributes that were set on this object."""
    return type(automaton)._of(automaton.transitions, automaton.outputs, automaton.start, automaton.alphabet)


def _prove(parts: Deployed, dfa: MooreMachine, tau: float, extraction: Extraction) -> Certificate:
    """The proof along the extracted automaton of the centroids, which is a proposal like any other."""
    if isinstance(dfa, MACHINES):
        if type(dfa) not in MACHINES:
            raise ValueError(
                f"`dfa` must be a DFA or a MooreMachine itself. Received: a {type(dfa).__name__}, which may "
                "give words other outputs than its table. Build a DFA with its transitions."
            )
        dfa = _plain(dfa)
    path, centroids = extraction.dfa, extraction.centroids
    epsilons = [0.0] if parts.numbers.hard else EPSILONS.tolist()
    attempts = list(zip(epsilons, proof.attempts(parts.numbers, path, centroids, tau, epsilons), strict=True))
    epsilon, best = max(attempts, key=lambda pair: pair[1].least)
    word = path.difference(dfa)
    holds, failure = word is None and bool(best.least > 0), ""
    if word is not None:
        failure = f"the path of the centroids is another automaton: they differ on {word!r}"
    elif not holds:
        # The path first: only where it holds does a decision fail by itself.
        epsilon, best = max(attempts, key=lambda pair: (pair[1].least_of_path > 0, pair[1].least))
        failure = proof.failure(best, path, centroids)
    margins = (best.margins, best.decisions)
    return Certificate(holds, dfa, path, centroids, tau, epsilon, *margins, failure, parts.numbers)
