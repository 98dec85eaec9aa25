"""Labelled words in, a network that is an automaton out: the recipe by which a state-regularized network learns it."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Hashable, Iterable
from dataclasses import asdict, dataclass, replace
from typing import Any

import keras
import numpy as np
from numpy.typing import NDArray

from keras_interp_rnn import layers
from keras_interp_rnn._progress import say
from keras_interp_rnn.automata._network import Acceptor
from keras_interp_rnn.automata.extraction import extract
from keras_interp_rnn.automata.symbol_embedding import SymbolEmbedding, checked_symbols
from keras_interp_rnn.automata.words import Word

STEPS = 50
"""Training steps in one execution."""

LEARNED = 0.02
"""Mean loss, in nats, at which a phase ends before its time."""

FOLLOWED = 0.1
"""Mean loss below which the network has followed a step; above, it goes back and takes a smaller one."""

ADVICE = (
    "To try next: more units, centroids or attempts; all words up to some length, as short words teach most; another "
    "seed. From words without a wrong label, RPNI (aalpy.learning_algs.run_RPNI) finds an automaton in seconds, the "
    "exact one if the words are complete enough; automata.DFA.from_aalpy reads it."
)
"""What is said after a training that did not succeed."""

HOPELESS = 0.2
"""Mean loss of the plain cell on all words above which an attempt ends: the centroids would not help it."""


@keras.saving.register_keras_serializable(package="keras_interp_rnn")
class Recognizer(keras.Sequential):
    """A model that judges words, as `train_recognizer` makes it.

    Attributes:
        verdict: outcome of `train_recognizer`, saved with the model. Training by `fit` leaves it as it is.
    """

    verdict: Verdict | None = None

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "verdict": None if self.verdict is None else asdict(self.verdict)}

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Recognizer:
        verdict = config.get("verdict")
        rest = {name: value for name, value in config.items() if name != "verdict"}
        model = super().from_config(rest, custom_objects)
        if verdict is not None:
            model.verdict = Verdict(**verdict)
        return model

    def judge(self, words: Iterable[Iterable[Hashable]]) -> NDArray[np.bool_]:
        """Whether the network accepts each word."""
        return Acceptor(self, self.layers[0].encoding).accepts(words)


@dataclass(frozen=True)
class Verdict:
    """Outcome of a training.

    Attributes:
        learned: whether network and automaton judge every given word as it was labelled, and the network moves from
            centroid to centroid with confidence.
        network_accuracy, automaton_accuracy: balanced, over all words given, held out ones included.
        held_out_accuracy: the automaton's, over the words that were kept from training; NaN if there were none.
        confidence: least alpha of a transition.
        states: of the minimal automaton.
        attempts, seconds: of the whole training; the rest is of its best attempt.
        reason: why that one has not learned; "" if it has.
    """

    learned: bool
    network_accuracy: float
    automaton_accuracy: float
    held_out_accuracy: float
    confidence: float
    states: int
    attempts: int
    seconds: float
    reason: str = ""

    def __repr__(self) -> str:
        head = "learned" if self.learned else f"NOT learned{f', {self.reason}' if self.reason else ''}"
        states = f"{self.states} state{'' if self.states == 1 else 's'}"
        attempts = f"{self.attempts} attempt{'' if self.attempts == 1 else 's'}"
        held_out = "no words" if math.isnan(self.held_out_accuracy) else f"{self.held_out_accuracy:.2%}"
        return (
            f"{head}: automaton of {states}, right on {self.automaton_accuracy:.2%} (held out {held_out}), network on "
            f"{self.network_accuracy:.2%}, least confidence {self.confidence:.4f}; {attempts}, {self.seconds:.0f} s"
        )


def train_recognizer(
    words: Iterable[Iterable[Hashable]],
    labels: Iterable[Any],
    alphabet: Iterable[Hashable],
    units: int = 24,
    centroids: int = 12,
    attempts: int = 4,
    hold_out: float = 0.1,
    confidence: float = 0.99,
    seed: int = 0,
    verbose: int = 1,
) -> Recognizer:
    r"""Trains a state-regularized GRU until it is an automaton that judges words as they are labelled.

    The plain cell learns first, from short words to long ones (strength 0); then its state slides to the centroids
    (strength to 1), in steps that are halved where the network loses what it knew; then Gumbel noise on the scores and
    a falling temperature make the transitions certain. Batches hold as many positive as negative words. At the end the
    network is read as an automaton (`extract`, "exact"): if that is not right on every word, and sure of every
    transition, training begins anew, with more units.

    Args:
        words: sequences of symbols. Short ones teach most: all words of up to some length are a good choice.
        labels: whether each word is in the language.
        alphabet: the symbols, ints or strings.
        units: of the first attempt. centroids: more than the automaton has states.
        attempts: at most so many.
        hold_out: share of the long words that is kept from training and only judged.
        confidence: least probability of a transition at which the network counts as an automaton.
        seed: of everything; a run repeats with it on the same machine.
        verbose: 1 prints its progress, in a terminal on one line and elsewhere a line after each phase; 0 prints
            nothing.

    Returns:
        The model, with its alphabet and start token, of the best attempt. It is returned even if training failed:
        check `verdict.learned`. More units, centroids, attempts, or short words may help then. From words without
        a wrong label AALpy's RPNI finds an automaton in seconds, and the exact one if the words are complete enough.

    Raises:
        ValueError: if words and labels do not pair up, if a word has a symbol that is not in the alphabet, if there
            are not two words of each label.

    Reference: Wang, Lawrence and Niepert, 2022, section 5.1, for the task; the recipe is this package's.
    """
    if attempts < 1:
        raise ValueError(f"A network is learned in at least one attempt. Received: attempts={attempts}.")
    started = time.monotonic()
    symbols = checked_symbols(alphabet)
    given, wanted = _checked(words, labels, symbols)
    best: Recognizer | None = None
    for attempt in range(attempts):
        n = units + 8 * attempt
        model = _attempt(given, wanted, symbols, n, centroids, hold_out, confidence, seed + 1000 * attempt, verbose)
        assert model.verdict is not None
        if best is None or _rank(model) > _rank(best):
            best = model
        if model.verdict.learned:
            break
        if verbose:
            elapsed = replace(model.verdict, attempts=attempt + 1, seconds=time.monotonic() - started)
            say(f"attempt {attempt + 1} of {attempts}: {elapsed}", stays=True)
    assert best is not None
    assert best.verdict is not None
    best.verdict = replace(best.verdict, attempts=attempt + 1, seconds=time.monotonic() - started)
    if verbose:
        say(str(best.verdict), stays=True)
        if not best.verdict.learned:
            say(ADVICE, stays=True)
    return best


def _attempt(
    words: list[Word],
    labels: NDArray[np.bool_],
    alphabet: tuple[Hashable, ...],
    units: int,
    centroids: int,
    hold_out: float,
    confidence: float,
    seed: int,
    verbose: int,
) -> Recognizer:
    started = time.monotonic()
    keras.utils.set_random_seed(seed)
    recurrent = layers.SRGRU(
        units, centroids, transition="gumbel", strength=0.0, noise=0.0, seed=seed, name="recurrent"
    )
    embedding = SymbolEmbedding(alphabet, max(4, len(alphabet)), embeddings_initializer="orthogonal", name="symbols")
    model = Recognizer([keras.Input((None,), dtype="int32"), embedding, recurrent, keras.layers.Dense(1, name="head")])
    model.compile(
        keras.optimizers.Adam(5e-3, global_clipnorm=1.0),
        keras.losses.BinaryCrossentropy(from_logits=True),
        jit_compile=True,  # the steps are tiny: XLA takes a tenth of the time
        steps_per_execution=STEPS,
    )
    ids = embedding.encoding.ids(words)
    rng = np.random.default_rng(seed)
    lengths = np.array([len(word) for word in words])
    # Long words alone: in the short ones the language shows, and every one of them counts.
    long = lengths > 0.7 * lengths.max()
    kept = long & (rng.random(len(words)) < hold_out)
    for label in (False, True):  # the few words of a rare label all teach
        if (~kept & (labels == label)).sum() < 10:
            kept &= labels != label
    cell = recurrent.cell

    def phase(name: str, longest: int, rounds: int, steps: int = 100) -> float:
        """Trains on words up to a length until the loss is small; the last mean loss."""
        among = ~kept & (lengths <= longest)
        positive, negative = np.flatnonzero(among & labels), np.flatnonzero(among & ~labels)
        loss = math.inf
        for round_ in range(rounds):
            rows = np.concatenate([rng.choice(part, (steps, 32)) for part in (positive, negative)], axis=1).ravel()
            history = model.fit(ids[rows], labels[rows].astype("float32"), 64, shuffle=False, verbose=0)
            loss = history.history["loss"][-1]
            if verbose:
                say(f"{name}, round {round_ + 1}: loss {loss:.4f}")
            if not math.isfinite(loss) or loss < LEARNED:
                break
        if verbose:
            say(f"{name}: loss {loss:.4f}, {time.monotonic() - started:.0f} s", in_logs=True)
        return loss

    for longest_now in _curriculum(lengths[~kept], labels[~kept]):
        loss = phase(f"plain cell, words to length {longest_now}", longest_now, rounds=25)
    if not loss < HOPELESS:
        cell.set_strength(1.0)
        why = f"as the plain cell keeps a mean loss of {loss:.2g} nats, above {HOPELESS:g}"
        model.verdict = _because(why, _judged(model, words, labels, kept, confidence))
        return model
    everything = int(lengths.max())
    lost = ""

    def slide(name: str, set_value: Callable[[float], None], first: float) -> bool:
        """Takes a value from 0 to 1, in steps small enough for the network to follow; False if there are none."""
        nonlocal lost
        reached, step = 0.0, first
        while reached < 1:
            value = min(1.0, reached + step)
            before = _state(model)
            set_value(value)
            if phase(f"{name} {value:.3f}", everything, rounds=5) < FOLLOWED:
                reached, step = value, 1.3 * step
                continue
            _restore(model, before)
            set_value(reached)
            step /= 2
            if step < first / 100:
                lost = f"as the network loses what it knew where the {name} of its centroids exceeds {reached:.3f}"
                return False
        return True

    followed = slide("strength", cell.set_strength, 0.09) and slide("noise", cell.set_noise, 0.25)
    cell.set_strength(1.0)
    model.verdict = _because(lost, _judged(model, words, labels, kept, confidence))
    for _ in range(14 if followed else 0):
        if model.verdict.learned:
            break
        before = _state(model)
        cell.set_temperature(max(0.1, 0.85 * float(cell.current_temperature())))
        if phase(f"temperature {float(cell.current_temperature()):.2f}", everything, rounds=3) >= FOLLOWED:
            _restore(model, before)
            phase("once more", everything, rounds=3)
        model.verdict = _judged(model, words, labels, kept, confidence)
    return model


def _state(model: Recognizer) -> list[NDArray[Any]]:
    """All weights, the optimizer's too."""
    return [keras.ops.convert_to_numpy(v).copy() for v in (*model.variables, *model.optimizer.variables)]


def _restore(model: Recognizer, values: list[NDArray[Any]]) -> None:
    for variable, value in zip((*model.variables, *model.optimizer.variables), values, strict=True):
        variable.assign(value)


def _because(reason: str, verdict: Verdict) -> Verdict:
    """The verdict with the reason, if there is one, and the training has not succeeded."""
    return replace(verdict, reason=reason) if reason and not verdict.learned else verdict


def _judged(
    model: Recognizer, words: list[Word], labels: NDArray[np.bool_], kept: NDArray[np.bool_], confidence: float
) -> Verdict:
    found = extract(model)
    says = model.judge(words)
    automaton = np.array([found.dfa.accepts(word) for word in words])
    right = bool((says == labels).all() and (automaton == labels).all())
    least = min(float(found.confidence.min()), found.start_confidence)
    wrong = int(((says != labels) | (automaton != labels)).sum())
    reason = f"as {wrong:,} of {len(words):,} words are misjudged"
    if right:
        reason = f"as a transition has a probability of {least:.4f}, below {confidence:g}"
    return Verdict(
        right and least >= confidence,
        _balanced(says, labels),
        _balanced(automaton, labels),
        _balanced(automaton[kept], labels[kept]) if kept.any() else math.nan,
        least,
        len(found.dfa.minimize()),
        1,
        0.0,
        "" if right and least >= confidence else reason,
    )


def _rank(model: Recognizer) -> tuple[Any, ...]:
    verdict = model.verdict
    assert verdict is not None
    return verdict.learned, verdict.automaton_accuracy + verdict.network_accuracy, verdict.confidence


def _balanced(says: NDArray[np.bool_], labels: NDArray[np.bool_]) -> float:
    """Mean over the labels of the share of words judged as labelled."""
    shares = [np.mean(says[labels == label] == label) for label in (False, True) if (labels == label).any()]
    return float(np.mean(shares))


def _curriculum(lengths: NDArray[np.int64], labels: NDArray[np.bool_]) -> list[int]:
    """Lengths up to which words are learned, one after the other: each step has a third more words of both labels."""
    steps: list[int] = []
    counts = (1, 1)
    for length in range(int(lengths.max()) + 1):
        among = labels[lengths <= length]
        now = (int(among.sum()), int((~among).sum()))
        if all(n >= 2 for n in now) and min(now) >= 1.3 * min(counts) and sum(now) >= 1.8 * sum(counts):
            steps.append(length)
            counts = now
    if not steps or steps[-1] != int(lengths.max()):
        steps.append(int(lengths.max()))
    return steps


def _checked(
    words: Iterable[Iterable[Hashable]], labels: Iterable[Any], alphabet: tuple[Hashable, ...]
) -> tuple[list[Word], NDArray[np.bool_]]:
    given = [tuple(word) for word in words]
    wanted = np.array([bool(label) for label in labels], dtype=bool)
    if len(given) != len(wanted):
        raise ValueError(f"Every word has a label. Received: {len(given)} words and {len(wanted)} labels.")
    known = set(alphabet)
    for word in given:
        strays = [symbol for symbol in word if symbol not in known]
        if strays:
            raise ValueError(f"A word is made of the alphabet {alphabet!r}. Received: {word!r}, with {strays[0]!r}.")
    counts = int(wanted.sum()), int((~wanted).sum())
    if min(counts) < 2:
        raise ValueError(
            f"A language is learned from words in it and words that are not, at least two of each. Received: "
            f"{counts[0]} in it and {counts[1]} not."
        )
    return given, wanted
