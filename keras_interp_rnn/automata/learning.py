"""Networks that are automata, trained from labelled words."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Hashable, Iterable
from dataclasses import replace

import keras
import numpy as np
from numpy.typing import NDArray

from keras_interp_rnn import layers
from keras_interp_rnn._checks import integer
from keras_interp_rnn._io import say
from keras_interp_rnn._types import AnyArray
from keras_interp_rnn.automata.certificates import certify
from keras_interp_rnn.automata.inference import Sample, carried, evidence_of, sample_of
from keras_interp_rnn.automata.machines import checked_labels, checked_symbols
from keras_interp_rnn.automata.networks import Recognizer, SymbolEmbedding, TrainingReport, extract

UNITS, MORE_UNITS = 24, 8  # units of the first attempt, and those added by each further attempt
STEPS_PER_EXECUTION = 50
BATCH, STEPS = 64, 100  # words of a training step, the same number of each label; steps of a round
PHASE_DONE_LOSS = 0.02  # mean loss, in nats, at which a phase of training ends early
STEP_ACCEPTED_LOSS = 0.1  # mean loss from which on an increase of the strength or the noise is undone and halved
GIVE_UP_LOSS = 0.2  # mean loss of the plain cell on all words from which on an attempt ends: centroids do not lower it
MIN_CONFIDENCE = 0.99  # minimum probability of every transition of a network that has learned
COOLINGS = 14  # times that the temperature is lowered before an attempt ends
SHARPENINGS = 10  # times that the temperature is halved, without training, where the automaton is right
INTERRUPTED = "as it was interrupted and this is the best so far"
TOO_FEW = "as so few words do not carry the automaton, though it is right on all: labels drawn at random would have one"
"""The reason where the automaton is no shorter description than the labels alone; more attempts do not help."""

ADVICE = (
    "To try next: more centroids or attempts; all words up to some length, as short words teach most; another seed. "
    "automata.infer finds an automaton without a network, also if some labels are wrong."
)
"""Printed after an unsuccessful training."""

COMPILE = (
    "Its automaton contradicts no word: automata.compile(automata.extract(network).dfa) is a network of the same "
    "automaton whose transitions are certain."
)
"""Printed where only the network is not learned, and its automaton is."""


def train_recognizer(
    words: Iterable[Iterable[Hashable]],
    labels: Iterable[object],
    *,
    alphabet: Iterable[Hashable] | None = None,
    num_centroids: int = 12,
    num_attempts: int = 4,
    seed: int = 0,
    verbose: int = 1,
) -> Recognizer:
    r"""Trains a state-regularized GRU to become an automaton that classifies the words as labelled.

    First the plain cell (strength 0) learns, from short words to long ones. Then `strength` is raised to 1, in steps
    that are halved whenever accuracy drops. Then Gumbel noise on the scores and a falling temperature make the
    transitions certain. Batches have the same number of words of each label. At the end the automaton is extracted
    (`extract`, "exact"). If it classifies every word as labelled but a transition is not probable enough, the
    temperature is lowered further, without training. If that does not help, or the automaton is wrong, training starts
    again with more units. A network that has learned is certified (`certify`). If the words are so few that the
    automaton is no shorter a description than their labels, they do not support it, and `report.learned` is False.

    Copies of a word are merged first. A tenth of the different words of each label is held out, if there are enough.
    To find an automaton in seconds without training, use `infer`; `compile` turns it into a network.

    Args:
        words: sequences of symbols. Short words are the most informative: all words up to some length are a good
            choice.
        labels: one for each word, as in `infer`; three labels or more must be ints or strings. The network then has an
            output for each label, the largest of which decides, and the automaton is a Moore machine.
        alphabet: the symbols, ints or strings; by default those of the words, in ascending order.
        num_centroids: number of centroids; it should exceed the number of states of the automaton.
        num_attempts: maximum number of attempts. The first has 24 units, each further attempt 8 more.
        seed: of the whole run; the same seed gives the same run on the same machine.
        verbose: 1 prints the progress, on one line in a terminal, elsewhere on one line for each phase; 0 prints
            nothing.

    Returns:
        The network of the best attempt, also on Ctrl-C, with its alphabet and start token; a line before each further
        attempt names it. Training may have failed: check `report.learned`. If the automaton is right and only
        the network is not, `compile(extract(network).dfa)` is a network of the same automaton. `report.unsupported`
        lists the transitions that no word takes.

    Raises:
        ValueError: as `infer` with `label_noise=0`; if a symbol, or one of three labels or more, is neither an int nor
            a string; if a number is not positive.

    Example:

        words = ["".join(word) for length in range(11) for word in itertools.product("01", repeat=length)]
        model = train_recognizer(words, ["000" not in word for word in words], alphabet="01")
        print(model.report)

    Cost: some minutes on two cores for a small automaton.
    Reference: Wang, Lawrence and Niepert, 2022, section 5.1, for the task; the recipe is this package's.
    """
    started = time.monotonic()
    integer("num_centroids", num_centroids)
    integer("num_attempts", num_attempts)
    sample = sample_of(words, labels, None if alphabet is None else checked_symbols(alphabet), seed, consistent=True)
    checked_symbols(sample.alphabet)
    checked_labels(sample.classes)
    tried: list[tuple[TrainingReport, Recognizer]] = []
    interrupted = False
    for attempt in range(num_attempts):
        try:
            tried.append(_attempt(sample, attempt, num_centroids, seed, verbose))
        except KeyboardInterrupt:  # before or after the training of the attempt
            if not tried:
                raise
            interrupted = True
            break
        report, _ = tried[-1]
        interrupted = report.reason == INTERRUPTED
        if report.learned or interrupted or report.reason == TOO_FEW:
            break
        if verbose:
            so_far = replace(report, num_attempts=len(tried), seconds=time.monotonic() - started)
            say(f"attempt {len(tried)} of {num_attempts}: {so_far}", stays=True)
            if attempt + 1 < num_attempts:
                say(_on_interrupt(tried), stays=True)
    report, model = max(tried, key=lambda each: _rank(each[0]))
    report = _with_reason(INTERRUPTED if interrupted else "", report)
    certified = (report.learned or report.reason == TOO_FEW) and certify(model, extract(model).dfa).holds
    seconds = time.monotonic() - started
    model.report = replace(report, num_attempts=len(tried), certified=certified, seconds=seconds)
    if verbose:
        say(str(model.report), stays=True)
        if not report.learned:
            say(COMPILE if _automaton_is_right(report) else ADVICE, stays=True)
    return model


def _automaton_is_right(report: TrainingReport) -> bool:
    """Whether an automaton that the words support contradicts none of them."""
    return report.automaton_accuracy == 1 and report.reason != TOO_FEW


def _on_interrupt(tried: list[tuple[TrainingReport, Recognizer]]) -> str:
    """A sentence on the network that Ctrl-C returns from now on."""
    best = max(range(len(tried)), key=lambda i: _rank(tried[i][0]))
    report = tried[best][0]
    return (
        f"Ctrl-C now returns the network of attempt {best + 1}: an automaton of {report.num_states} "
        f"state{'s' * (report.num_states != 1)}, balanced accuracy {report.automaton_accuracy:.2%}."
        + (f" {COMPILE}" if _automaton_is_right(report) else "")
    )


def _attempt(
    sample: Sample, attempt: int, num_centroids: int, seed: int, verbose: int
) -> tuple[TrainingReport, Recognizer]:
    """The network of one attempt, and its report."""
    seed += 1000 * attempt
    keras.utils.set_random_seed(seed)
    model = _network(sample, UNITS + MORE_UNITS * attempt, num_centroids, seed)
    training = _Training(model, sample, seed, verbose)
    try:
        reason = training.learn()
        for _ in range(0 if reason else COOLINGS):
            report = report_of(model, sample)
            if report.learned or report.reason == TOO_FEW:
                return report, model
            training.cool()
    except KeyboardInterrupt:
        reason = INTERRUPTED
    training.cell.set_strength(1.0)
    report = report_of(model, sample)
    try:
        report = report if reason == INTERRUPTED else _sharpened(model, sample, report)
    except KeyboardInterrupt:
        reason, report = INTERRUPTED, report_of(model, sample)
    return _with_reason(reason, report), model


def _sharpened(model: Recognizer, sample: Sample, report: TrainingReport) -> TrainingReport:
    """The report of a model whose automaton is right, at the temperature at which it has learned; else as before.

    A lower temperature makes the most probable centroid more probable; that it is still the right one is measured.
    """
    cell, found = model.layers[1].cell, report
    first = float(cell.current_temperature())
    for _ in range(SHARPENINGS):
        if found.learned or not _automaton_is_right(found):
            break
        cell.set_temperature(float(cell.current_temperature()) / 2)
        found = report_of(model, sample)
    if found.learned or found.reason == TOO_FEW:
        return found
    cell.set_temperature(first)
    return report


def _network(sample: Sample, units: int, num_centroids: int, seed: int) -> Recognizer:
    """A network without training, compiled."""
    recurrent = layers.SRGRU(
        units, num_centroids, transition="gumbel", strength=0.0, noise=0.0, seed=seed, name="recurrent"
    )
    size = max(4, len(sample.alphabet))
    embedding = SymbolEmbedding(sample.alphabet, size, embeddings_initializer="orthogonal", name="symbols")
    several = len(sample.classes) > 2
    head = keras.layers.Dense(len(sample.classes) if several else 1, "softmax" if several else None, name="head")
    model = Recognizer([keras.Input((None,), dtype="int32"), embedding, recurrent, head])
    model.labels = sample.classes if several else None
    model.compile(
        keras.optimizers.Adam(5e-3, global_clipnorm=1.0),
        keras.losses.SparseCategoricalCrossentropy() if several else keras.losses.BinaryCrossentropy(from_logits=True),
        jit_compile=True,  # the steps are tiny: XLA takes a tenth of the time
        steps_per_execution=STEPS_PER_EXECUTION,
    )
    return model


class _Training:
    """A model in training, and its words."""

    def __init__(self, model: Recognizer, sample: Sample, seed: int, verbose: int) -> None:
        self.model, self.labels, self.held_out, self.verbose = model, sample.labels, sample.held_out, verbose
        self.cell = model.layers[1].cell
        self.ids = model.layers[0].alphabet.encode_batch(sample.words)
        self.rng = np.random.default_rng(seed)
        self.lengths = np.array([len(word) for word in sample.words])
        self.started = time.monotonic()

    def learn(self) -> str:
        """Trains the plain cell on longer and longer words, then with rising strength and noise.

        Returns:
            "", or why the training failed.
        """
        loss = math.inf
        for max_length in _curriculum(self.lengths[~self.held_out], self.labels[~self.held_out]):
            loss = self.phase(f"plain cell, words to length {max_length}", 25, max_length)
        if not loss < GIVE_UP_LOSS:
            return f"as the mean loss of the plain cell stays at {loss:.2g} nats, above {GIVE_UP_LOSS:g}"
        reason = self.raise_to_1("strength", self.cell.set_strength, 0.09)
        return reason or self.raise_to_1("noise", self.cell.set_noise, 0.25)

    def raise_to_1(self, name: str, set_value: Callable[[float], None], first_step: float) -> str:
        """Raises a value from 0 to 1 by steps that the network follows; returns "", or why that failed."""
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
        """Lowers the temperature and trains; undoes this if the network does not follow."""
        before = _state(self.model)
        self.cell.set_temperature(max(0.1, 0.85 * float(self.cell.current_temperature())))
        if self.phase(f"temperature {float(self.cell.current_temperature()):.2f}", 3) >= STEP_ACCEPTED_LOSS:
            _restore(self.model, before)
            self.phase("former temperature", 3)

    def phase(self, name: str, max_rounds: int, max_length: int | None = None) -> float:
        """Trains on words up to a length until the loss is small; returns the last mean loss."""
        chosen = ~self.held_out & (self.lengths <= (self.lengths.max() if max_length is None else max_length))
        parts = [np.flatnonzero(chosen & (self.labels == label)) for label in np.unique(self.labels[chosen])[::-1]]
        each = max(BATCH // len(parts), 1)  # words of every label
        loss = math.inf
        for round_ in range(max_rounds):
            drawn = [self.rng.choice(part, (STEPS, each)) for part in parts]
            rows = np.concatenate(drawn, axis=1).ravel()
            labels, size = self.labels[rows].astype("float32"), each * len(parts)
            loss = self.model.fit(self.ids[rows], labels, size, shuffle=False, verbose=0).history["loss"][-1]
            if self.verbose:
                say(f"{name}, round {round_ + 1} of {max_rounds} at most: loss {loss:.4f}")
            if not math.isfinite(loss) or loss < PHASE_DONE_LOSS:
                break
        if self.verbose:
            say(f"{name}: loss {loss:.4f}, {time.monotonic() - self.started:.0f} s", in_logs=True)
        return loss


def _state(model: Recognizer) -> list[AnyArray]:
    """All variables, including those of the optimizer."""
    return [keras.ops.convert_to_numpy(v).copy() for v in (*model.variables, *model.optimizer.variables)]


def _restore(model: Recognizer, values: list[AnyArray]) -> None:
    """Sets the variables to earlier values."""
    for variable, value in zip((*model.variables, *model.optimizer.variables), values, strict=True):
        variable.assign(value)


def report_of(model: Recognizer, sample: Sample) -> TrainingReport:
    """The report of a model and its automaton on the words."""
    extraction = extract(model)
    automaton = extraction.dfa.minimize()
    by_network, by_automaton = sample.of(model.classify(sample.words).tolist()), sample.labels_by(automaton)
    wrong = int(((by_network != sample.labels) | (by_automaton != sample.labels)).sum())
    confidence = min(float(extraction.confidence.min()), extraction.start_confidence)
    reason = ""
    if wrong:
        reason = f"as {wrong:,} of {len(sample.words):,} words are misclassified"
    elif confidence < MIN_CONFIDENCE:
        reason = f"as a transition has a probability of {confidence:.4f}, below {MIN_CONFIDENCE:g}"
    elif not carried(sample, automaton):
        reason = TOO_FEW
    return TrainingReport(
        learned=not reason,
        network_accuracy=sample.balanced_accuracy(by_network),
        confidence=confidence,
        reason=reason,
        **evidence_of(sample, automaton),
    )


def _with_reason(reason: str, report: TrainingReport) -> TrainingReport:
    """The report with a reason, unless that is "" or the network has learned."""
    return replace(report, reason=reason) if reason and not report.learned else report


def _rank(report: TrainingReport) -> tuple[bool, float, float]:
    return report.learned, report.automaton_accuracy + report.network_accuracy, report.confidence


def _curriculum(lengths: NDArray[np.int64], labels: AnyArray) -> list[int]:
    """Successive maximum lengths of words; each adds at least 30 % to the rarest label and 80 % to all words."""
    steps: list[int] = []
    classes, longest = np.unique(labels), int(lengths.max())
    counts = [1] * len(classes)
    for length in range(longest):
        now = [int((labels[lengths <= length] == label).sum()) for label in classes]
        if min(now) >= max(2, 1.3 * min(counts)) and sum(now) >= 1.8 * sum(counts):
            steps.append(length)
            counts = now
    return [*steps, longest]
