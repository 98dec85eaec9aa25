"""Automata extracted from state-regularized networks.

Wang, Lawrence and Niepert, 2022, section 4.2: `counts` is algorithm 1, `mean_probability` eqs. 21 and 22. `exact` needs
no data: if the centroid is all that a network remembers, its transition under every symbol can be computed.
"""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from keras_interp_rnn._checks import choice
from keras_interp_rnn._network import GivenAlphabet
from keras_interp_rnn._results import Column, Table, View, counted, texts
from keras_interp_rnn._types import Array
from keras_interp_rnn.automata.machines import (
    MISSING,
    MooreMachine,
    Transitions,
    Word,
    automaton_of,
    breadth_first,
    checked_words,
    counts_of_transitions,
    unsupported,
)
from keras_interp_rnn.automata.networks._acceptor import Acceptor, open_acceptor, require_memoryless
from keras_interp_rnn.automata.networks._reader import CHUNK
from keras_interp_rnn.automata.networks.fidelity import OfNetwork

METHODS = ("exact", "counts", "mean_probability")


@dataclass(frozen=True, eq=False, repr=False)
class Extraction(OfNetwork):
    """An automaton extracted from a network.

    Attributes:
        dfa: the automaton. Its states are the centroids that words reach, in breadth-first order. A `MooreMachine` if
            the network has an output for each of three labels or more.
        centroids: the centroid of each state; for a stack of layers, the tuple of their centroids.
        support: (states, symbols), number of times that words of `data` take the transition; 0 without data.
        confidence: (states, symbols): with "counts" the fraction of times that the network took the transition, with
            "mean_probability" its mean probability, with "exact" its probability alpha (for a stack, the product over
            the layers). NaN if the transition was never seen.
        entropy: (states, symbols), in nats: with "exact" the entropy of alpha over the next centroids, otherwise of the
            frequencies of the next centroids. 0 if the network follows the automaton without doubt; NaN if the
            transition was never seen.
        unsupported: (state, symbol) pairs of the transitions that no word of `data` takes. Without data, those that no
            training word of `train_recognizer` takes, unless the network was trained further; None if the words are
            not known. "exact" computes these transitions from the network alone; the other methods omit them.
        start_confidence: alpha of the first state, after the start token.
        margins: (states,), the head's output minus the decision threshold; above 0 the state accepts. With "counts" and
            "mean_probability" the fraction of words ending there that were accepted, minus 1/2; NaN if no word ended
            there. For a network with an output for each label the largest output minus the second largest.
        method: the method of `extract`.
        network: the model, as an acceptor of words.

    Example: see `extract`.
    """

    dfa: MooreMachine
    centroids: tuple[Any, ...]
    support: NDArray[np.int64]
    confidence: Array
    entropy: Array
    unsupported: Transitions | None
    start_confidence: float
    margins: Array
    method: str
    network: Acceptor

    def table(self) -> Table:
        """States, the least confidence, transitions that no word takes; a row for each transition."""
        known = self.confidence[~np.isnan(self.confidence)]
        least = f"{known.min():.4f}" if known.size else "none"
        sink = "" if self.dfa.is_complete else " with a rejecting sink for the missing transitions"
        support = ""
        if self.unsupported is not None:
            support = f"; {len(self.unsupported):,} of {self.support.size:,} transitions are taken by no word"
        minimal = len(self.dfa.minimize())
        taken = [f"{times:,}" if times else self._taken(place) for place, times in np.ndenumerate(self.support)]
        sources, symbols, targets = self.dfa.table(names=self.centroids).columns
        return Table(
            f"{counted(len(self.dfa), 'state')} by {self.method}, {minimal} after minimization{sink}; least confidence "
            f"of a transition {least}{support}",
            (sources, symbols, targets, texts("taken by words", taken), self._confidence()),
            folded=True,
        )

    def _taken(self, place: tuple[int, ...]) -> str:
        """Whether words take a transition whose number is not known."""
        if self.unsupported is None:
            return ""
        return "no" if (place[0], self.dfa.alphabet[place[1]]) in self.unsupported else "yes"

    def _confidence(self) -> Column:
        known = [None if np.isnan(value) else float(value) for value in self.confidence.ravel()]
        return Column("confidence", known, form=".4f")

    def drawing(self) -> str:
        """The automaton, its states named by their centroids; transitions that no word takes are dashed."""
        return self.dfa.to_svg([str(centroid) for centroid in self.centroids], unsupported=self.unsupported or ())

    def page_view(self) -> View | None:
        """The automaton of the centroids, with the confidence of each transition."""
        verdict = str(self).splitlines()
        return self.dfa.page_view(self.centroids, self.confidence, unsupported=self.unsupported, verdict=verdict)


def extract(
    network: object,
    data: Iterable[Iterable[Hashable]] | None = None,
    *,
    method: str = "exact",
    alphabet: GivenAlphabet | None = None,
) -> Extraction:
    r"""Extracts the automaton of a state-regularized network, whose states are centroids.

    Args:
        network: a model of `train_recognizer`, or any `keras.Model` that reads ids and has one state-regularized layer
            and a head with one output, or with an output for each of three labels or more. Or a stack of such layers
            with one output and no other recurrent layers, each reading the states of the layer below. A state of the
            automaton is then a tuple of centroids, one from each layer.
        data: words, for the methods "counts" and "mean_probability". With "exact" they do not change the automaton;
            they only show which of its transitions they support.
        method: "exact" for $\delta(i, a) = \arg\max_j \alpha_j$ after the cell reads a from centroid i, in k times
            |alphabet| steps of the cell, for networks that remember only their centroid; "counts" for the most frequent
            transition (algorithm 1); "mean_probability" for the transition with the highest mean probability (eqs. 21
            and 22).
        alphabet: a `datasets.Alphabet`, with padding of id 0 and the tokens around every word; or a mapping from
            symbols to ids, without tokens. None for the one that the model carries.

    Returns:
        The automaton, with the support and confidence of its transitions. For a network with an output for each label
        it is a `MooreMachine`, in which the label of a word is that of the largest output: one of `Recognizer.labels`,
        or for any other model the index of the output.

    Raises:
        ValueError: for an unknown method; for "exact" on a network with a further memory; for the other methods without
            data, on a stack, or on a network with labels, because a Moore machine needs every transition; if the
            alphabet does not fit; if the model has no such layer or head.

    Example:

    >>> from keras_interp_rnn import automata, layers
    >>> ids = keras.Input((None,), dtype="int32")
    >>> words = automata.SymbolEmbedding("01", 4)
    >>> network = keras.Sequential([ids, words, layers.SRGRU(8, 3), keras.layers.Dense(1)])
    >>> extraction = automata.extract(network)
    >>> len(extraction.dfa) <= 3, extraction.confidence.shape == (len(extraction.dfa), 2)
    (True, True)
    >>> extraction.agreement(["01", "0011"]).words
    2
    >>> extraction.fidelity(num_short=7, num_random=2, max_length=8, num_searched=0).short.up_to
    2

    Reference: Wang, Lawrence and Niepert, 2022, section 4.2.
    """
    choice("method", method, METHODS)
    acceptor = open_acceptor(network, alphabet)
    words = None if data is None else [tuple(word) for word in checked_words(data)]
    if method == "exact":
        require_memoryless(acceptor)
        return _supported(extract_exactly(acceptor), words)
    if len(acceptor.layers) > 1:
        raise ValueError(
            f"A stack of regularized layers must be read by method='exact'. Received: method={method!r}. Use 'exact', "
            "if no layer has a further memory."
        )
    if not words:
        raise ValueError(f"method={method!r} must have words. Received: no data. Pass words.")
    if len(acceptor.labels) > 2:
        raise ValueError(
            f"method={method!r} must read a network that accepts or rejects, as transitions may be missing. Received: "
            f"{acceptor.model.name} with {len(acceptor.labels)} labels. Use method='exact'."
        )
    return _extract_from_words(acceptor, words, method)


def extract_exactly(acceptor: Acceptor) -> Extraction:
    """The automaton of the centroids that words reach, for a network that remembers nothing else."""
    features = np.stack([acceptor.features[code] for code in acceptor.symbol_ids])
    first = acceptor.initial()
    states = [tuple(int(alpha[0].argmax()) for alpha in first)]
    if len(acceptor.layers) == 1:  # few enough to be read all at once
        states += [(i,) for i in range(*acceptor.num_centroids) if (i,) != states[0]]
    numbers = {state: i for i, state in enumerate(states)}
    targets: list[tuple[int, ...]] = []
    confidence, entropy = list[Array](), list[Array]()
    done, size = 0, max(1, CHUNK // len(features))
    while done < len(states):
        batch = states[done : done + size]
        done += len(batch)
        rows = [
            np.repeat(table[list(which)], len(features), axis=0)
            for table, which in zip(acceptor.centroids, zip(*batch, strict=True), strict=True)
        ]
        alphas = acceptor.transitions(rows, np.tile(features, (len(batch), 1)))
        reached = list(zip(*(alpha.argmax(axis=-1).tolist() for alpha in alphas), strict=True))
        for state in reached:
            if numbers.setdefault(state, len(states)) == len(states):
                states.append(state)
        targets += reached
        confidence.append(np.prod([alpha.max(axis=-1) for alpha in alphas], axis=0))
        entropy.append(np.sum([_entropy(alpha) for alpha in alphas], axis=0))
    classes, margins = acceptor.decisions(states)
    shape = len(states), len(features)
    table = np.reshape([numbers[state] for state in targets], shape).tolist()
    outputs = [acceptor.labels[class_] for class_ in classes]
    whole = automaton_of(table, outputs, acceptor.labels, alphabet=acceptor.alphabet)
    order = breadth_first(whole.transitions, whole.start)
    return Extraction(
        whole.reachable(),
        tuple(states[i] if len(acceptor.layers) > 1 else states[i][0] for i in order),
        np.zeros((len(order), len(features)), np.int64),
        np.concatenate(confidence).reshape(shape)[order],
        np.concatenate(entropy).reshape(shape)[order],
        None,
        float(np.prod([alpha.max() for alpha in first])),
        margins[order],
        "exact",
        acceptor,
    )


def _supported(found: Extraction, words: list[Word] | None) -> Extraction:
    """The extraction with the transitions that no word takes; without words, as in the network's report."""
    if words is not None:
        counts = counts_of_transitions(found.dfa, words)
        return replace(found, support=np.array(counts), unsupported=unsupported(found.dfa, words))
    report = getattr(found.network.model, "report", None)
    minimal = found.dfa.minimize()
    if report is None or report.num_transitions != len(minimal) * len(minimal.alphabet):
        return found
    same = dict(found.dfa._product(minimal)[-1])  # state -> state of the minimal automaton
    pairs, reported = itertools.product(range(len(found.dfa)), minimal.alphabet), set(report.unsupported)
    return replace(found, unsupported=tuple((i, symbol) for i, symbol in pairs if (same[i], symbol) in reported))


def _extract_from_words(acceptor: Acceptor, words: list[Word], method: str) -> Extraction:
    _ = acceptor.first_id  # without a start token there is no first state
    k, symbols = acceptor.num_centroids[0], acceptor.alphabet
    column = {symbol: c for c, symbol in enumerate(symbols)}
    taken, weight = np.zeros((2, k, len(symbols), k))
    starts, ends = np.zeros(k), np.zeros((k, 2))
    start_alpha = 0.0
    for first in range(0, len(words), 512):
        batch = words[first : first + 512]
        centroid, probability = acceptor.trace(batch)
        accepted = acceptor.classes(batch)
        for row, word in enumerate(batch):
            state = int(centroid[row, 0])
            if state < 0:
                continue
            starts[state] += 1
            start_alpha = float(probability[row, 0])
            for t, symbol in enumerate(word, start=1):
                target = int(centroid[row, t])
                if target < 0:
                    break
                taken[state, column[symbol], target] += 1
                weight[state, column[symbol], target] += probability[row, t]
                state = target
            else:
                ends[state, int(accepted[row])] += 1
    seen = taken.sum(axis=-1)
    with np.errstate(invalid="ignore"):  # NaN for 0 / 0, where nothing was seen
        frequencies, means = taken / seen[..., None], weight / taken
        margins = ends[:, 1] / ends.sum(axis=-1) - 0.5
    scores = np.nan_to_num(frequencies if method == "counts" else means)
    table = np.where(seen > 0, scores.argmax(axis=-1), MISSING).tolist()
    whole = automaton_of(table, (margins > 0).tolist(), acceptor.labels, start=int(starts.argmax()), alphabet=symbols)
    order = breadth_first(whole.transitions, whole.start)
    return Extraction(
        whole.reachable(),
        tuple(order),
        seen[order].astype(np.int64),
        np.where(seen > 0, scores.max(axis=-1), np.nan)[order],
        _entropy(frequencies[order]),
        tuple((int(state), symbols[column]) for state, column in np.argwhere(seen[order] == 0)),
        start_alpha,
        margins[order],
        method,
        acceptor,
    )


def _entropy(probabilities: Array) -> Array:
    """The entropy in nats of distributions along the last axis."""
    logarithms = np.log(np.maximum(probabilities, np.finfo(np.float64).tiny))
    return np.asarray(-(probabilities * logarithms).sum(axis=-1))
