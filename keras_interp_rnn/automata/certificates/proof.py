"""The proof of a certificate, from the numbers of a network and an automaton of its centroids; and its file.

This module and all its imports need NumPy alone, so that a certificate's file is proved again without Keras.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from keras_interp_rnn import _io
from keras_interp_rnn._checks import as_path
from keras_interp_rnn._types import Array
from keras_interp_rnn.automata.certificates import _bounds, _proved
from keras_interp_rnn.automata.certificates._proved import Proved
from keras_interp_rnn.automata.machines import DFA, MooreMachine

FORMAT, VERSION = "keras_interp_rnn.Certificate", 1
"""The format and version of a certificate's file."""

ASSUMPTIONS = (
    "IEEE 754 arithmetic in the network's dtype, rounded to nearest, in any order of summation; no reduced precision.",
    "tanh and sigmoid within 2^-20 of their values, exp within 2^-20 relatively.",
    "Words are ids with the start token before them, the end token after them if there is one, and padding 0.",
    "The network is an Embedding, one state-regularized layer and a Dense(1), called outside training.",
)
"""The assumptions of every proof, as a file states them; docs/notes/certificate.md has the details."""

ASSUMPTION_OF_LABELS = (
    "The network is an Embedding, one state-regularized layer and a Dense with an output for each label, of which the "
    "largest decides, called outside training."
)
"""The last assumption for a network with labels."""

PARTS: dict[str, type] = {
    **dict.fromkeys(("network", "dfa", "path"), dict),
    **dict.fromkeys(("centroids", "margins", "decision_margins", "assumptions"), list),
    **dict.fromkeys(("temperature", "epsilon"), float),
    "sha256": str,
}
"""The parts of a file and their types, besides its format and version."""

REMEDY = "Save the certificate again."


@dataclass(frozen=True, eq=False)
class Proof:
    """A proof about the numbers of a network, without the model, or a claim to be one; attributes as `Certificate`."""

    proved: Proved
    dfa: MooreMachine
    path: MooreMachine
    centroids: tuple[int, ...]
    temperature: float
    epsilon: float
    margins: Array
    decision_margins: Array


@dataclass(frozen=True)
class Attempt:
    """Margins for one epsilon; minus infinity if there is no bound."""

    start: float
    margins: Array
    decisions: Array

    @property
    def least(self) -> float:
        """The proof succeeds if this is above 0."""
        return min(self.least_of_path, float(self.decisions.min()))

    @property
    def least_of_path(self) -> float:
        """The network follows the path, whatever its head decides, if this is above 0."""
        return min(self.start, float(self.margins.min()))


def assumptions(network: Proved) -> tuple[str, ...]:
    """The assumptions of a proof about this network."""
    return ASSUMPTIONS if network.kernel.ndim == 1 else (*ASSUMPTIONS[:-1], ASSUMPTION_OF_LABELS)


def attempts(
    network: Proved, path: MooreMachine, centroids: Sequence[int], tau: float, epsilons: Sequence[float]
) -> list[Attempt]:
    """The bounds on every transition and every decision, for each epsilon.

    Args:
        path: the automaton of the centroids, with labels of the network. centroids: the one of each state of `path`.
    """
    symbols = network.symbols
    ids = dict(zip(symbols.ordinary, symbols.ids_of(symbols.ordinary).tolist(), strict=True))
    cell, decision, scores = _bounds.bounds_of(network, tau)
    origin = _bounds.Region.point(np.zeros(network.centroids.shape[1]))
    last = None if symbols.end_id is None else network.embeddings[symbols.end_id]
    places = [network.labels.index(label) for label in path.outputs]

    tried = np.asarray(epsilons, np.float64)
    with np.errstate(all="ignore"):  # a bound that overflows proves nothing, see `_finite`
        needed = np.zeros(len(tried)) if network.hard else np.log1p(-tried) - np.log(tried)

        def margin(bounded: Callable[[Array], _bounds.Box], id_: int, state: int) -> Array:
            """By how much the bound on the log odds of a state's centroid exceeds what is needed."""
            return scores.worst_log_odds(bounded(network.embeddings[id_]), centroids[state]) - needed

        start = margin(cell(origin), network.first, path.start)
        margins, decisions = [], []
        for state, place in enumerate(places):
            region = scores.region(centroids[state], tried)
            bounded = cell(region)
            margins.append([margin(bounded, ids[a], path.step(state, a)) for a in path.alphabet])
            decision_on = decision(region.box() if last is None else bounded(last), place)
            decisions.append(np.broadcast_to(decision_on, tried.shape))
    found = zip(_finite(start), np.moveaxis(_finite(margins), -1, 0), _finite(decisions).T, strict=True)
    return [Attempt(float(start), margins, decisions) for start, margins, decisions in found]


def _finite(bounds: object) -> Array:
    """The bounds, with minus infinity in place of NaN and infinities, which prove nothing."""
    array = np.asarray(bounds, np.float64)
    return np.where(np.isfinite(array), array, -np.inf)


def failure(attempt: Attempt, path: MooreMachine, centroids: Sequence[int]) -> str:
    """Where and why an attempt fails."""
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


def repeated(claim: Proof) -> Attempt:
    """Proves a claim again: its path, centroids and epsilon are a proposal, and its bounds are not believed.

    Raises:
        ValueError: if the proof fails, or if a claimed bound is better than the proved one.
    """
    network, path, centroids, epsilon = claim.proved, claim.path, claim.centroids, claim.epsilon
    if set(path.alphabet) != set(network.symbols.ordinary) or not path.is_complete:
        raise ValueError("the path is not over the network's alphabet, or misses transitions")
    if set(path.alphabet) != set(claim.dfa.alphabet) or path.difference(claim.dfa) is not None:
        raise ValueError("the path is not of the automaton's language")
    if not set(path.outputs) <= set(network.labels):
        raise ValueError("the path has a label that the network does not have")
    if not {*centroids} <= {*range(len(network.centroids))}:
        raise ValueError("a centroid that the network does not have")
    if not len({*centroids}) == len(centroids) == len(path):
        raise ValueError("every state of the path needs a centroid of its own")
    # In (0, 1) for mixtures, otherwise 0: the network decides which. NaN is neither.
    if not (epsilon == 0 if network.hard else 0 < epsilon < 1):
        raise ValueError(f"no proof has epsilon {epsilon}")
    [again] = attempts(network, path, centroids, claim.temperature, [epsilon])
    if again.least <= 0:
        raise ValueError(f"the proof fails: {failure(again, path, centroids)}")
    if not _supported(claim.margins, again.margins) or not _supported(claim.decision_margins, again.decisions):
        raise ValueError("the bounds are better than those that are proved of the weights")
    return again


def _supported(claimed: object, proved: Array) -> bool:
    """Whether bounds are no better than those proved, to the digits that a file holds. Smaller ones are true too."""
    claimed = np.asarray(claimed, np.float64)
    return claimed.shape == proved.shape and bool((claimed - 1e-6 * np.abs(proved) - 1e-9 <= proved).all())


def write(path: str | os.PathLike[str], proof: Proof) -> None:
    """Writes the file of a certificate, whole or not at all."""
    network = _proved.as_json(proof.proved)
    content = {
        "format": FORMAT,
        "version": VERSION,
        "network": network,
        "sha256": _proved.digest(network),
        **{name: json.loads(dfa.to_json()) for name, dfa in (("dfa", proof.dfa), ("path", proof.path))},
        "centroids": [int(i) for i in proof.centroids],
        "temperature": float(proof.temperature),
        "epsilon": float(proof.epsilon),
        "margins": [[_proved.rounded_down(float(x)) for x in row] for row in proof.margins],
        "decision_margins": [_proved.rounded_down(float(x)) for x in proof.decision_margins],
        "assumptions": list(assumptions(proof.proved)),
    }
    _io.write_json(as_path("path", path), content)


def read(path: str | os.PathLike[str]) -> Proof:
    """Reads a file that `write` wrote, and proves it again with the weights of the file.

    Raises:
        FileNotFoundError: if there is no such file.
        ValueError: if it is damaged, of another version, or was changed; if its proof fails.
    """
    types = {"format": str, "version": int, **PARTS}
    path = as_path("path", path)
    content = _io.read_json(path, "A certificate's file must be one that Certificate.save wrote", types, REMEDY)
    try:
        return _from_json(content)
    except (ValueError, TypeError, KeyError, OverflowError) as error:
        line = " ".join(str(error).split())
        raise ValueError(f"A certificate must hold to be read. Received: {path}: {line[:300]}. {REMEDY}") from None


def described(proof: Proof, name: str) -> str:
    """A proof in five lines: its automaton, network, margins and weights."""
    network, dfa = proof.proved, proof.dfa
    k, units = network.centroids.shape
    cell = type(network.equations).__name__
    labels = f", labels {_listed(dfa.labels)}" if not isinstance(dfa, DFA) else ""
    return (
        f"{name}: the network classifies every word as the automaton does\n"
        f"  automaton  {len(dfa)} states over {_listed(dfa.alphabet)}{labels}\n"
        f"  network    {cell} of {units} units, {k} centroids, {network.dtype}, temperature {proof.temperature:.6g}\n"
        f"  margins    {proof.margins.min():.4g} nats of a transition, {proof.decision_margins.min():.4g} of a "
        f"decision; epsilon {proof.epsilon:.3g}\n"
        f"  weights    sha256 {_proved.digest(_proved.as_json(network))}"
    )


def _listed(things: Sequence[Hashable]) -> str:
    """The first few things."""
    return ", ".join(map(repr, things[:8])) + (", ..." if len(things) > 8 else "")


def _from_json(content: Mapping[str, Any]) -> Proof:
    """The proof in a file; raises ValueError, TypeError, KeyError or OverflowError unless it holds."""
    if content["format"] != FORMAT or content["version"] != VERSION or isinstance(content["version"], bool):
        raise ValueError(
            f"the format {content['format']!r}, version {content['version']!r}, not {FORMAT!r}, version {VERSION}"
        )
    if set(content) != {"format", "version", *PARTS}:
        raise ValueError(f"other parts: {sorted(set(content) ^ {'format', 'version', *PARTS})}")
    if _proved.digest(content["network"]) != content["sha256"]:
        raise ValueError("the weights are not those of the sha256")
    network = _proved.from_json(content["network"])
    if content["assumptions"] != list(assumptions(network)):
        raise ValueError("it states other assumptions than those of the proof")
    kind = DFA if network.kernel.ndim == 1 else MooreMachine
    dfa, path = (kind.from_json(json.dumps(content[name])) for name in ("dfa", "path"))
    if path.alphabet != network.symbols.ordinary:
        raise ValueError("the path is not over the network's alphabet")
    if not all(type(i) is int for i in content["centroids"]):
        raise ValueError("a centroid that is no integer")
    # A learned temperature is the exponential of the number that the network holds.
    tau = content["temperature"]
    held = network.dtype == "float64" or network.learns_temperature or _proved.in_float32(tau)
    if not np.finfo(network.dtype).tiny <= tau < np.inf or not held:
        raise ValueError(f"a network of {network.dtype} cannot hold the temperature {tau}")
    bounds = content["margins"], content["decision_margins"]
    claim = Proof(network, dfa, path, tuple(content["centroids"]), tau, content["epsilon"], *bounds)
    again = repeated(claim)
    return replace(claim, margins=again.margins, decision_margins=again.decisions)
