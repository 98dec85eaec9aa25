"""Networks that are automata, from labelled words: by merging states where the words suffice, else by training."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Hashable, Iterable
from dataclasses import replace
from typing import Any

import keras
import numpy as np
from numpy.typing import NDArray

from keras_interp_rnn import layers
from keras_interp_rnn._io import say
from keras_interp_rnn._numbers import is_integer, is_number
from keras_interp_rnn.automata._deadline import Deadline, TimeUp
from keras_interp_rnn.automata._deterministic import unsupported
from keras_interp_rnn.automata._sample import Sample, sample_of
from keras_interp_rnn.automata._searches import Limits, automata_of
from keras_interp_rnn.automata.certificate import certify
from keras_interp_rnn.automata.compilation import compile
from keras_interp_rnn.automata.dfa import DFA
from keras_interp_rnn.automata.extraction import extract
from keras_interp_rnn.automata.moore import MooreMachine
from keras_interp_rnn.automata.recognizer import Recognizer, TrainingReport
from keras_interp_rnn.automata.symbol_embedding import SymbolEmbedding

STEPS_PER_EXECUTION = 50

BATCH = 64
"""Words of a training step, the same number of each label."""

PHASE_DONE_LOSS = 0.02
"""Mean loss, in nats, at which a phase of training ends early."""

STEP_ACCEPTED_LOSS = 0.1
"""Mean loss below which an increase of the strength or the noise is kept; otherwise it is undone and halved."""

GIVE_UP_LOSS = 0.2
"""Mean loss of the plain cell on all words above which an attempt ends: centroids do not lower it."""

ADVICE = (
    "To try next: more units, centroids or attempts; all words up to some length, as short words teach most; another "
    "seed. From words without a wrong label, RPNI (aalpy.learning_algs.run_RPNI) finds an automaton in seconds, the "
    "exact one if the words are complete enough; automata.DFA.from_aalpy reads it."
)
"""Printed after an unsuccessful training."""

SEARCH_SHARE = 0.75
"""Of the time budget, for searches that come before a training."""

RESERVED, RESERVED_SECONDS = 0.1, 5.0
"""Of the time budget, at most so many seconds, for the report and the proof."""

XLA_SECONDS = 40.0
"""Time that must be left for XLA, which compiles for ten seconds before the first step."""

TIME_UP, INTERRUPTED = STOPPED = (
    "as the time budget ended and this is the best so far",
    "as it was interrupted and this is the best so far",
)
"""Why a training ended that did not end by itself."""


def train_recognizer(
    words: Iterable[Iterable[Hashable]],
    labels: Iterable[Any],
    *,
    alphabet: Iterable[Hashable] | None = None,
    units: int = 24,
    num_centroids: int = 12,
    num_attempts: int = 4,
    hold_out: float = 0.1,
    min_confidence: float = 0.99,
    seed: int = 0,
    verbose: int = 1,
    label_noise: float | None = 0.0,
    max_states: int | None = None,
    time_budget: float | None = 120.0,
    method: str = "auto",
    sampling: str = "weak",
) -> Recognizer:
    r"""Makes a state-regularized GRU that is an automaton which classifies the words as labelled.

    States of the words' prefixes are merged, which needs words that share endings, as short ones do. Else rules are
    looked for that tell the labels: a decision tree that asks which factors, subsequences and counts a word has, on
    all symbols or on a tier of them; long words do for that. Else states are split, as long as that shortens the
    description of the automaton and the labels. If one of these finds an automaton of a shorter description than the
    labels have, and it predicts words that were held out, the network is compiled from the automaton of all words
    (`compile`) and certified (`certify`). Else a network is trained.

    In training, the plain cell learns first, from short words to long ones (strength 0). Then `strength` is raised to
    1, by steps that are halved whenever accuracy drops. Then Gumbel noise on the scores and a falling temperature make
    the transitions certain. Batches hold the same number of positive and negative words. At the end the automaton is
    extracted (`extract`, "exact"): unless it is right on every word, with every transition probable enough, training
    starts again with more units.

    Copies of a word are merged first: they are no evidence of their own. The words held out thus differ from all
    others; they are drawn from every label and from all lengths.

    Words of three labels or more are learned in the same way: the automaton is a Moore machine, and the network has an
    output for each label, of which the largest is the word's.

    Args:
        words: sequences of symbols. Short words teach most: all words up to some length are a good choice.
        labels: one for each word, of two labels: bools; numbers, the larger of which says that the word is in the
            language; or strings such as "accept" and "reject", "yes" and "no", "positive" and "negative".
            `report.accepted` is the one that says it. Or one of three labels or more, ints or strings. Words of the
            language alone do not tell it: the language of all words has them too (Gold, 1967).
        alphabet: the symbols, ints or strings; by default those of the words, in ascending order.
        units: of a trained network, at the first attempt; each further one has 8 more.
        num_centroids: of a trained network; should exceed the number of states of the automaton.
        num_attempts: maximum number of attempts at training.
        hold_out: fraction of the different words that is held out, for evaluation; none of a label that would be left
            with fewer than five.
        min_confidence: lowest probability of a transition with which the network counts as an automaton.
        seed: of everything; the same seed gives the same run on the same machine, as far as no time runs out.
        verbose: 1 prints the progress, on one line in a terminal and one line for each phase elsewhere; 0 prints
            nothing.
        label_noise: fraction of the labels that may be wrong, below 1/2; None if it is not known. Unless it is 0 a word
            has the label of most of its copies, of equally many the smaller one, and the automaton may contradict
            labels: `report.contradicted` lists their words and `report.label_noise` is their fraction. An automaton for
            which that fraction exceeds `label_noise`, by more than chance allows, is not learned. A trained network
            may not contradict the label of most copies.
        max_states: of an automaton that a search finds.
        time_budget: seconds within which the call ends, to a tenth if the machine is not overloaded; None for no limit.
            Before a training, searches have three quarters of it. Each search has a limit of its own besides, a minute
            of computing at most. A small network takes some minutes to train.
        method: "auto" searches for an automaton by merging, by patterns and by splitting, and trains where none finds
            one. Merging comes last where words share few prefixes, as long random words do. "search" does not train,
            and raises where nothing is found; "training" always trains.
        sampling: how the words came about. "weak": anyhow, and each was labelled. "strong": those of each label were
            drawn uniformly from all words of their length that have it; then the rules about patterns are those that
            give the labels to fewest other words, among the ones that contradict none.

    Returns:
        The network that was compiled, or that of the best attempt, also on Ctrl-C or when the time is over; with its
        alphabet and start token. A model is returned even if training failed: check `report.learned`. More units,
        centroids, attempts, time or short words may help then. `report.unsupported` lists the transitions that rest on
        no word.

    Raises:
        ValueError: if words and labels do not pair up, if a word has a symbol that is not in the alphabet, if there
            are not two different words of each of two labels; if a word has several labels, and none may be wrong; if a
            label is missing (None or NaN), or is neither int nor string among three or more; if two labels do not say
            which of them means that a word is in the language; if `method` or `sampling` is neither of its values; if
            `method` is "search" and nothing is found.

    Example:

        words = ["".join(word) for length in range(11) for word in itertools.product("01", repeat=length)]
        model = train_recognizer(words, ["000" not in word for word in words], alphabet="01")
        print(model.report)

    Cost: merging of all words up to some length, a few thousand, takes about a second; with wrong labels some seconds.
        Patterns of 10,000 words take 5 to 20 seconds, a minute at most, and splitting half a minute at most; both twice
        if words are held out.
    Reference: Wang, Lawrence and Niepert, 2022, section 5.1, for the task; the recipe is this package's. Merging is not
        AALpy's, as it takes wrong labels too: Lang, Pearlmutter and Price, ICGI 1998, with a likelihood in place of
        their score and a search for the shortest description. Trees over patterns, and splitting by description length,
        are this package's. Strong and weak sampling: Tenenbaum and Griffiths, "Generalization, similarity, and Bayesian
        inference", Behavioral and Brain Sciences 24, 2001. On words of a language alone: Gold, "Language identification
        in the limit", Information and Control, 1967.
    """
    if not is_integer(num_attempts) or num_attempts < 1:
        raise ValueError(f"There must be at least one attempt. Received: num_attempts={num_attempts!r}.")
    if label_noise is not None and not (is_number(label_noise) and 0 <= label_noise < 0.5):
        raise ValueError(f"Less than half of the labels may be wrong. Received: label_noise={label_noise!r}.")
    if max_states is not None and not (is_integer(max_states) and max_states >= 1):
        raise ValueError(f"An automaton has at least one state. Received: max_states={max_states!r}.")
    if not is_number(hold_out) or not 0 <= hold_out < 1:
        raise ValueError(f"hold_out is a fraction of the words, below 1. Received: hold_out={hold_out!r}.")
    if not is_number(min_confidence) or not 0 <= min_confidence <= 1:
        raise ValueError(f"min_confidence is a probability. Received: min_confidence={min_confidence!r}.")
    if time_budget is not None and not (is_number(time_budget) and time_budget > 0):
        raise ValueError(f"time_budget is a number of seconds above 0. Received: time_budget={time_budget!r}.")
    if method not in ("auto", "search", "training"):
        raise ValueError(f"method is 'auto', 'search' or 'training'. Received: method={method!r}.")
    if sampling not in ("weak", "strong"):
        raise ValueError(f"sampling is 'weak' or 'strong'. Received: sampling={sampling!r}.")
    started = time.monotonic()
    end = math.inf if time_budget is None else started + time_budget - min(RESERVED * time_budget, RESERVED_SECONDS)
    sample = sample_of(words, labels, alphabet, hold_out, seed, consistent=label_noise == 0)
    model = None
    if method != "training":
        search_end = end if method == "search" else started + SEARCH_SHARE * (end - started)
        limits = Limits(label_noise, max_states, Deadline(search_end), seed, sampling == "strong")
        if verbose:
            say(f"searching for an automaton of {len(sample.words):,} different words")
        model = _from_search(sample, limits, min_confidence)
        if model is None and method == "search":
            within = "" if time_budget is None else f", within {time_budget:g} s"
            raise ValueError(
                f"No automaton was found that describes the labels of {len(sample.words):,} different words and "
                f"predicts words held out{within}. Give more words, short ones above all, label_noise if labels may be "
                "wrong, a larger time_budget, or method='auto', which trains a network."
            )
    if model is None:
        model = _from_training(
            sample,
            units=units,
            num_centroids=num_centroids,
            num_attempts=num_attempts,
            min_confidence=min_confidence,
            seed=seed,
            until=Deadline(end),
            verbose=verbose,
        )
    assert model.report is not None
    model.report = replace(model.report, seconds=time.monotonic() - started, accepted=sample.accepted)
    if verbose:
        say(str(model.report), stays=True)
        if not model.report.learned:
            say(ADVICE, stays=True)
    return model


def _from_search(sample: Sample, limits: Limits, min_confidence: float) -> Recognizer | None:
    """The network of the first automaton that a search finds and that is proved to be the network; None without one."""
    for automaton, method, right in automata_of(sample, limits):
        model = _compiled(automaton)
        if model is None:
            continue
        report = _report(model, sample, min_confidence, by_search=True)
        if report.learned and certify(model, automaton).holds:
            held_out = report.num_held_out
            accuracy = right / held_out if held_out else math.nan
            model.report = replace(report, held_out_accuracy=accuracy, method=method, certified=True)
            return model
    return None


def _compiled(dfa: DFA | MooreMachine) -> Recognizer | None:
    """The network of an automaton; None if it is too large for one, or has fewer labels than the words."""
    try:
        model = compile(dfa, "SRGRU", transition="gumbel")
    except ValueError:
        return None
    assert isinstance(model, Recognizer)
    _compile_for_training(model)
    model.optimizer.build(model.trainable_variables)  # as it is saved with the model
    return model


def _from_training(
    sample: Sample,
    *,
    units: int,
    num_centroids: int,
    num_attempts: int,
    min_confidence: float,
    seed: int,
    until: Deadline,
    verbose: int,
) -> Recognizer:
    """The best network of several attempts at training."""
    started = time.monotonic()
    best: Recognizer | None = None
    for attempt in range(1, num_attempts + 1):
        try:
            model = _train(
                sample,
                units=units + 8 * (attempt - 1),
                num_centroids=num_centroids,
                min_confidence=min_confidence,
                seed=seed + 1000 * (attempt - 1),
                until=until,
                verbose=verbose,
            )
        except KeyboardInterrupt:  # before or after its training
            if best is None:
                raise
            assert best.report is not None
            best.report = _with_reason(INTERRUPTED, best.report)
            attempt -= 1
            break
        assert model.report is not None
        stopped = model.report.reason if model.report.reason in STOPPED else TIME_UP if until.passed else ""
        if best is None or _rank(model) > _rank(best):
            best = model
        assert best.report is not None
        if best.report.learned or stopped:
            best.report = _with_reason(stopped, best.report)
            break
        if verbose:
            so_far = replace(model.report, num_attempts=attempt, seconds=time.monotonic() - started)
            say(f"attempt {attempt} of {num_attempts}: {so_far}", stays=True)
    assert best is not None
    assert best.report is not None
    certified = best.report.learned and certify(best, extract(best).dfa).holds
    best.report = replace(best.report, num_attempts=attempt, certified=certified)
    return best


def _train(
    sample: Sample,
    *,
    units: int,
    num_centroids: int,
    min_confidence: float,
    seed: int,
    until: Deadline,
    verbose: int,
) -> Recognizer:
    """One attempt; the model has its report."""
    keras.utils.set_random_seed(seed)
    network = _network(sample.alphabet, sample.classes, units, num_centroids, seed)
    training = _Training(network, sample, seed, until, verbose)
    model, cell = training.model, training.cell
    try:
        loss = training.learn_plain_cell()
        if loss < GIVE_UP_LOSS:
            reason = training.raise_to_1("strength", cell.set_strength, 0.09)
            reason = reason or training.raise_to_1("noise", cell.set_noise, 0.25)
        else:
            reason = f"as the plain cell keeps a mean loss of {loss:.2g} nats, above {GIVE_UP_LOSS:g}"
        for _ in range(0 if reason else 14):
            model.report = _report(model, sample, min_confidence)
            if model.report.learned:
                return model
            training.cool()
    except TimeUp:
        reason = TIME_UP
    except KeyboardInterrupt:
        reason = INTERRUPTED
    cell.set_strength(1.0)
    model.report = _with_reason(reason, _report(model, sample, min_confidence))
    return model


def _network(
    alphabet: tuple[Hashable, ...], classes: tuple[Hashable, ...], units: int, num_centroids: int, seed: int
) -> Recognizer:
    recurrent = layers.SRGRU(
        units, num_centroids, transition="gumbel", strength=0.0, noise=0.0, seed=seed, name="recurrent"
    )
    embedding = SymbolEmbedding(alphabet, max(4, len(alphabet)), embeddings_initializer="orthogonal", name="symbols")
    head = keras.layers.Dense(1, name="head")
    if len(classes) > 2:
        head = keras.layers.Dense(len(classes), "softmax", name="head")
    model = Recognizer([keras.Input((None,), dtype="int32"), embedding, recurrent, head])
    model.labels = classes if len(classes) > 2 else None
    return model


def _compile_for_training(model: Recognizer, jit_compile: bool = True) -> None:
    loss = keras.losses.BinaryCrossentropy(from_logits=True)
    model.compile(
        keras.optimizers.Adam(5e-3, global_clipnorm=1.0),
        loss if model.labels is None else keras.losses.SparseCategoricalCrossentropy(),
        jit_compile=jit_compile,  # the steps are tiny: XLA takes a tenth of the time
        steps_per_execution=STEPS_PER_EXECUTION,
    )


class _Training:
    """A model in training and its words; raises TimeUp at the deadline."""

    def __init__(self, model: Recognizer, sample: Sample, seed: int, until: Deadline, verbose: int) -> None:
        _compile_for_training(model, until.moment - time.monotonic() > XLA_SECONDS)
        self.model, self.labels, self.held_out, self.verbose = model, sample.labels, sample.held_out, verbose
        self.cell = model.layers[1].cell
        self.ids = model.layers[0].encoding.ids(sample.words)
        self.rng = np.random.default_rng(seed)
        self.lengths = np.array([len(word) for word in sample.words])
        self.started, self.until, self.round_seconds = time.monotonic(), until, math.inf

    def learn_plain_cell(self) -> float:
        """Trains from short words to long ones; returns the last mean loss."""
        loss = math.inf
        for max_length in _curriculum(self.lengths[~self.held_out], self.labels[~self.held_out]):
            loss = self.phase(f"plain cell, words to length {max_length}", 25, max_length)
        return loss

    def raise_to_1(self, name: str, set_value: Callable[[float], None], first_step: float) -> str:
        """Raises a value from 0 to 1, in steps small enough for the network to follow.

        Returns:
            "", or why it cannot be raised further.
        """
        reached, step = 0.0, first_step
        while reached < 1:
            value = min(1.0, reached + step)
            before = _state(self.model)
            set_value(value)
            if self.phase(f"{name} {value:.3f}", 5) < STEP_ACCEPTED_LOSS:
                reached, step = value, 1.3 * step
                continue
            _restore(self.model, before)
            set_value(reached)
            step /= 2
            if step < first_step / 100:
                return f"as the network loses accuracy when the {name} of its centroids exceeds {reached:.3f}"
        return ""

    def cool(self) -> None:
        """Lowers the temperature, and trains at it; undoes it if the network does not follow."""
        before = _state(self.model)
        self.cell.set_temperature(max(0.1, 0.85 * float(self.cell.current_temperature())))
        if self.phase(f"temperature {float(self.cell.current_temperature()):.2f}", 3) >= STEP_ACCEPTED_LOSS:
            _restore(self.model, before)
            self.phase("former temperature", 3)

    def phase(self, name: str, max_rounds: int, max_length: int | None = None, num_steps: int = 100) -> float:
        """Trains on words up to a length until the loss is small; returns the last mean loss."""
        among = ~self.held_out & (self.lengths <= (self.lengths.max() if max_length is None else max_length))
        parts = [np.flatnonzero(among & (self.labels == label)) for label in np.unique(self.labels[among])[::-1]]
        each = max(BATCH // len(parts), 1)  # of every label
        loss = math.inf
        for round_ in range(max_rounds):
            drawn = [self.rng.choice(part, (num_steps, each)) for part in parts]
            rows = np.concatenate(drawn, axis=1).ravel()
            labels, size = self.labels[rows].astype("float32"), each * len(parts)
            began = time.monotonic()
            if math.isfinite(self.round_seconds):  # the first round compiles, and ends when it ends
                self.until._replace(moment=self.until.moment - self.round_seconds).check()
            loss = self.model.fit(self.ids[rows], labels, size, shuffle=False, verbose=0).history["loss"][-1]
            self.round_seconds = min(self.round_seconds, time.monotonic() - began)
            if self.verbose:
                say(f"{name}, round {round_ + 1} of {max_rounds} at most: loss {loss:.4f}")
            if not math.isfinite(loss) or loss < PHASE_DONE_LOSS:
                break
        if self.verbose:
            say(f"{name}: loss {loss:.4f}, {time.monotonic() - self.started:.0f} s", in_logs=True)
        return loss


def _state(model: Recognizer) -> list[NDArray[Any]]:
    """All weights, including the optimizer's."""
    return [keras.ops.convert_to_numpy(v).copy() for v in (*model.variables, *model.optimizer.variables)]


def _restore(model: Recognizer, values: list[NDArray[Any]]) -> None:
    for variable, value in zip((*model.variables, *model.optimizer.variables), values, strict=True):
        variable.assign(value)


def _with_reason(reason: str, report: TrainingReport) -> TrainingReport:
    """The report with the reason, if there is one and the training failed."""
    return replace(report, reason=reason) if reason and not report.learned else report


def _report(model: Recognizer, sample: Sample, min_confidence: float, *, by_search: bool = False) -> TrainingReport:
    """What the model and its automaton make of the words; one that a search has found may contradict labels."""
    words, labels, held_out = sample.words, sample.labels, sample.held_out
    extraction = extract(model)
    automaton = extraction.dfa.minimize()
    by_network = sample.of(model.classify(words).tolist())
    by_automaton = sample.labels_by(automaton)
    misclassified = by_network != by_automaton if by_search else (by_network != labels) | (by_automaton != labels)
    wrong = int(misclassified.sum())
    confidence = min(float(extraction.confidence.min()), extraction.start_confidence)
    learned = wrong == 0 and confidence >= min_confidence
    reason = ""
    if wrong:
        reason = f"as {wrong:,} of {len(words):,} words are misclassified"
    elif not learned:
        reason = f"as a transition has a probability of {confidence:.4f}, below {min_confidence:g}"
    contradicted = sample.num_contradicted(by_automaton)
    return TrainingReport(
        learned,
        _balanced_accuracy(by_network, labels),
        _balanced_accuracy(by_automaton, labels),
        float((by_automaton == labels)[held_out].mean()) if held_out.any() else math.nan,
        confidence,
        len(automaton),
        1,
        0.0,
        reason,
        contradicted=tuple(words[row] for row in np.flatnonzero(contradicted)),
        num_contradicted=int(contradicted.sum()),
        num_words=len(words),
        num_labels=int(sample.counts.sum()),
        num_held_out=int(held_out.sum()),
        num_transitions=len(automaton) * len(automaton.alphabet),
        unsupported=unsupported(automaton, words),
    )


def _rank(model: Recognizer) -> tuple[Any, ...]:
    report = model.report
    assert report is not None
    return report.learned, report.automaton_accuracy + report.network_accuracy, report.confidence


def _balanced_accuracy(predictions: NDArray[Any], labels: NDArray[Any]) -> float:
    """Mean over the labels of the fraction of their words that are classified as labelled."""
    return float(np.mean([np.mean(predictions[labels == label] == label) for label in np.unique(labels)]))


def _curriculum(lengths: NDArray[np.int64], labels: NDArray[Any]) -> list[int]:
    """Successive maximum lengths of the words to learn: each adds at least a third more words of the rarest label."""
    steps: list[int] = []
    classes = np.unique(labels)
    counts = [1] * len(classes)
    for length in range(int(lengths.max()) + 1):
        now = [int((labels[lengths <= length] == label).sum()) for label in classes]
        if all(n >= 2 for n in now) and min(now) >= 1.3 * min(counts) and sum(now) >= 1.8 * sum(counts):
            steps.append(length)
            counts = now
    if not steps or steps[-1] != int(lengths.max()):
        steps.append(int(lengths.max()))
    return steps
