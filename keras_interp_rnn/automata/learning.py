"""Networks that are automata, from labelled words: by merging states where the words suffice, else by training."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Hashable, Iterable
from dataclasses import replace
from typing import Any, NamedTuple

import keras
import numpy as np
from numpy.typing import NDArray

from keras_interp_rnn import layers
from keras_interp_rnn._numbers import is_integer, is_number
from keras_interp_rnn._progress import say
from keras_interp_rnn.automata._deadline import Deadline
from keras_interp_rnn.automata._deterministic import label_of
from keras_interp_rnn.automata._prefix_tree import Machine
from keras_interp_rnn.automata._searches import Limits, Searched
from keras_interp_rnn.automata.certificate import certify
from keras_interp_rnn.automata.compilation import checked_labels, compile
from keras_interp_rnn.automata.dfa import DFA
from keras_interp_rnn.automata.extraction import extract, interval
from keras_interp_rnn.automata.moore import MooreMachine
from keras_interp_rnn.automata.recognizer import Recognizer, TrainingReport
from keras_interp_rnn.automata.symbol_embedding import SymbolEmbedding, checked_symbols
from keras_interp_rnn.automata.words import Word, labels_and_classes

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

CONVINCING_ERRORS = 0.05
"""Fraction of the words held out, beyond wrong labels, that a merged automaton may misclassify."""

MANY_PREFIXES = 15
"""For a word, on average: all short words have one, and random words of 25 symbols have some 20."""


def train_recognizer(
    words: Iterable[Iterable[Hashable]],
    labels: Iterable[Any],
    *,
    alphabet: Iterable[Hashable],
    units: int = 24,
    num_centroids: int = 12,
    num_attempts: int = 4,
    hold_out: float = 0.1,
    min_confidence: float = 0.99,
    seed: int = 0,
    verbose: int = 1,
    label_noise: float | None = 0.0,
    max_states: int | None = None,
    time_budget: float | None = None,
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

    Words of three labels or more are learned in the same way: the automaton is a Moore machine, and the network has an
    output for each label, of which the largest is the word's.

    Args:
        words: sequences of symbols. Short words teach most: all words up to some length are a good choice.
        labels: one for each word, of two labels: bools; numbers, the larger of which says that the word is in the
            language; or strings such as "accept" and "reject", "yes" and "no", "positive" and "negative".
            `report.accepted` is the one that says it. Or one of three labels or more, ints or strings. Words of the
            language alone do not tell it: the language of all words has them too (Gold, 1967).
        alphabet: the symbols, ints or strings.
        units: of a trained network, at the first attempt; each further one has 8 more.
        num_centroids: of a trained network; should exceed the number of states of the automaton.
        num_attempts: maximum number of attempts at training.
        hold_out: fraction of the long words that is held out from training, for evaluation.
        min_confidence: lowest probability of a transition with which the network counts as an automaton.
        seed: of everything; the same seed gives the same run on the same machine.
        verbose: 1 prints the progress, on one line in a terminal and one line for each phase elsewhere; 0 prints
            nothing.
        label_noise: fraction of the labels that may be wrong, below 1/2; None if it is not known. Unless it is 0 the
            automaton may contradict words, which `report.contradicted` lists; `report.label_noise` is their fraction.
            A trained network makes no use of it.
        max_states: of an automaton that a search finds.
        time_budget: seconds after which no further attempt begins, and a search ends that its own limit, a minute of
            computing at most, has not ended.
        method: "auto" searches for an automaton by merging, by patterns and by splitting, and trains where none finds
            one. Patterns come first where words share few prefixes, as long random words do. "search" does not train,
            and raises where nothing is found; "training" always trains.
        sampling: how the words came about. "weak": anyhow, and each was labelled. "strong": those of each label were
            drawn uniformly from all words of their length that have it; then the rules about patterns are those that
            give the labels to fewest other words, among the ones that contradict none.

    Returns:
        The network that was compiled, or that of the best attempt, also on Ctrl-C; with its alphabet and start token.
        A model is returned even if training failed: check `report.learned`. More units, centroids, attempts or short
        words may help then.

    Raises:
        ValueError: if words and labels do not pair up, if a word has a symbol that is not in the alphabet, if there
            are not two words of each of two labels; if a word has several labels, and none may be wrong; if a label
            is missing (None or NaN), or is neither int nor string among three or more; if two labels do not say which
            of them means that a word is in the language; if `method` or `sampling` is neither of its values; if
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
    until = math.inf if time_budget is None else started + time_budget
    symbols = checked_symbols(alphabet)
    data = _checked_data(words, labels, symbols)
    if label_noise == 0:
        _check_consistent(data)
    best = None
    if method != "training":
        limits = Limits(label_noise, max_states, Deadline(until), seed, sampling == "strong")
        searches = _Searches(data, symbols, limits, hold_out)
        for by in searches.in_order:
            if verbose and best is None:
                say(f"{by}: {len(data.words):,} words")
            best = best or searches.found(by, min_confidence)
    if best is not None:
        assert best.report is not None
        best.report = replace(best.report, seconds=time.monotonic() - started, accepted=data.accepted)
        if verbose:
            say(str(best.report), stays=True)
        return best
    if method == "search":
        raise ValueError(
            f"No automaton was found that describes the labels of {len(data.words):,} words and predicts words held "
            "out. Give more words, short ones above all, label_noise if labels may be wrong, or method='auto', which "
            "trains a network."
        )
    for attempt in range(num_attempts):
        if attempt and time.monotonic() > until:
            attempt -= 1
            break
        try:
            model = _train(
                data,
                symbols,
                units=units + 8 * attempt,
                num_centroids=num_centroids,
                hold_out=hold_out,
                min_confidence=min_confidence,
                seed=seed + 1000 * attempt,
                verbose=verbose,
            )
        except KeyboardInterrupt:
            if best is None:
                raise
            break
        assert model.report is not None
        if best is None or _rank(model) > _rank(best):
            best = model
        if model.report.learned:
            break
        if verbose:
            so_far = replace(model.report, num_attempts=attempt + 1, seconds=time.monotonic() - started)
            say(f"attempt {attempt + 1} of {num_attempts}: {so_far}", stays=True)
    assert best is not None
    assert best.report is not None
    certified = best.report.learned and certify(best, extract(best).dfa).holds
    best.report = replace(
        best.report,
        num_attempts=attempt + 1,
        seconds=time.monotonic() - started,
        certified=certified,
        accepted=data.accepted,
    )
    if verbose:
        say(str(best.report), stays=True)
        if not best.report.learned:
            say(ADVICE, stays=True)
    return best


class _Data(NamedTuple):
    """Words and whether each is in the language; or the place of its label among three classes or more."""

    words: list[Word]
    labels: NDArray[Any]
    classes: tuple[Hashable, ...] = (False, True)
    accepted: Hashable = True
    """Which label, of two, says that a word is in the language."""

    def of(self, said: Iterable[Hashable]) -> NDArray[Any]:
        """What a network or an automaton says of the words, as `labels` has it; -1 for a label of no class."""
        place = {label: i for i, label in enumerate(self.classes)}
        return np.array([place.get(label, -1) for label in said]).astype(self.labels.dtype)


class _Searches:
    """Searches for an automaton in the words that are not held out, and then in all of them."""

    def __init__(self, data: _Data, alphabet: tuple[Hashable, ...], limits: Limits, hold_out: float) -> None:
        self.data, self.alphabet, self.limits = data, alphabet, limits
        column = {symbol: i for i, symbol in enumerate(alphabet)}
        words = [tuple(column[symbol] for symbol in word) for word in data.words]
        self.all = Searched(words, data.labels.astype(np.int64), len(alphabet), len(data.classes))
        self.held_out = _held_out(data, hold_out, np.random.default_rng(limits.seed))
        self.not_held_out = self.all[np.flatnonzero(~self.held_out)] if self.held_out.any() else None

    @property
    def in_order(self) -> tuple[str, ...]:
        """The searches, the most promising one first: merging takes long where words share few prefixes."""
        if self.all.tree.num_prefixes < MANY_PREFIXES * len(self.data.words):
            return "merging", "patterns", "splitting"
        return "patterns", "merging", "splitting"

    def found(self, by: str, min_confidence: float) -> Recognizer | None:
        """The network of the automaton that is found in one way; None if that is not convincing."""
        first, held_out_accuracy, held_out_interval = None, math.nan, (0.0, 1.0)
        if self.not_held_out is not None:
            first = self.not_held_out.automaton(by, self.limits)
            if first is None:
                return None
            expected = self.data.labels[self.held_out]
            said = self._said(self._dfa(first))[self.held_out]
            right = said == expected
            if right.mean() < 1 - CONVINCING_ERRORS - 1.5 * self._noise(first):
                return None
            held_out_accuracy = _balanced_accuracy(said, expected)
            held_out_interval = interval(int(right.sum()), len(right))
        machine = self.all.automaton(by, self.limits, first)
        if machine is None:
            return None
        dfa = self._dfa(machine).minimize()
        model = _compiled(dfa)
        if model is None:
            return None
        by_automaton = self._said(dfa)
        report = _report(model, self.data._replace(labels=by_automaton), self.held_out, min_confidence)
        if not (report.learned and certify(model, dfa).holds):
            return None
        accuracy = _balanced_accuracy(by_automaton, self.data.labels)
        wrong = by_automaton != self.data.labels
        model.report = replace(
            report,
            network_accuracy=accuracy,
            automaton_accuracy=accuracy,
            held_out_accuracy=held_out_accuracy,
            method=by,
            certified=True,
            held_out_interval=held_out_interval,
            contradicted=tuple(self.data.words[row] for row in np.flatnonzero(wrong)),
            label_noise=float(wrong.mean()),
            label_noise_interval=interval(int(wrong.sum()), len(wrong)),
        )
        return model

    def _noise(self, first: Machine) -> float:
        """The fraction of wrong labels; where it is not known, of those that an automaton contradicts."""
        assert self.not_held_out is not None
        return self.not_held_out.contradicted(first) if self.limits.noise is None else self.limits.noise

    def _dfa(self, machine: Machine) -> DFA | MooreMachine:
        table, classes = machine.table.tolist(), self.data.classes
        if len(classes) == 2:
            return DFA(table, np.flatnonzero(machine.outputs).tolist(), alphabet=self.alphabet)
        return MooreMachine(table, [classes[i] for i in machine.outputs], alphabet=self.alphabet)

    def _said(self, dfa: DFA | MooreMachine) -> NDArray[Any]:
        return self.data.of(label_of(dfa, word) for word in self.data.words)


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


def _held_out(data: _Data, hold_out: float, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Which words are held out: long ones only; the language shows in the short ones, and every one of them counts."""
    lengths = np.array([len(word) for word in data.words])
    held_out = (lengths > 0.7 * lengths.max()) & (rng.random(len(data.words)) < hold_out)
    for label in np.unique(data.labels):  # if words of a label are few, all of them are needed for training
        if (~held_out & (data.labels == label)).sum() < 10:
            held_out &= data.labels != label
    return held_out


def _train(
    data: _Data,
    alphabet: tuple[Hashable, ...],
    *,
    units: int,
    num_centroids: int,
    hold_out: float,
    min_confidence: float,
    seed: int,
    verbose: int,
) -> Recognizer:
    """One attempt; the model has its report."""
    keras.utils.set_random_seed(seed)
    network = _network(alphabet, data.classes, units, num_centroids, seed)
    training = _Training(network, data, hold_out, seed, verbose)
    model, cell = training.model, training.cell
    loss = training.learn_plain_cell()
    if not loss < GIVE_UP_LOSS:
        cell.set_strength(1.0)
        reason = f"as the plain cell keeps a mean loss of {loss:.2g} nats, above {GIVE_UP_LOSS:g}"
        model.report = _with_reason(reason, _report(model, data, training.held_out, min_confidence))
        return model
    reason = training.raise_to_1("strength", cell.set_strength, 0.09)
    reason = reason or training.raise_to_1("noise", cell.set_noise, 0.25)
    cell.set_strength(1.0)
    model.report = _with_reason(reason, _report(model, data, training.held_out, min_confidence))
    for _ in range(0 if reason else 14):
        if model.report.learned:
            break
        training.cool()
        model.report = _report(model, data, training.held_out, min_confidence)
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
    _compile_for_training(model)
    return model


def _compile_for_training(model: Recognizer) -> None:
    loss = keras.losses.BinaryCrossentropy(from_logits=True)
    model.compile(
        keras.optimizers.Adam(5e-3, global_clipnorm=1.0),
        loss if model.labels is None else keras.losses.SparseCategoricalCrossentropy(),
        jit_compile=True,  # the steps are tiny: XLA takes a tenth of the time
        steps_per_execution=STEPS_PER_EXECUTION,
    )


class _Training:
    """A model in training, its words, and which of them are held out."""

    def __init__(self, model: Recognizer, data: _Data, hold_out: float, seed: int, verbose: int) -> None:
        self.model, self.labels, self.verbose = model, data.labels, verbose
        self.cell = model.layers[1].cell
        self.ids = model.layers[0].encoding.ids(data.words)
        self.rng = np.random.default_rng(seed)
        self.lengths = np.array([len(word) for word in data.words])
        self.started = time.monotonic()
        self.held_out = _held_out(data, hold_out, self.rng)

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
            loss = self.model.fit(self.ids[rows], labels, size, shuffle=False, verbose=0).history["loss"][-1]
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


def _report(model: Recognizer, data: _Data, held_out: NDArray[np.bool_], min_confidence: float) -> TrainingReport:
    words, labels = data.words, data.labels
    extraction = extract(model)
    by_network = data.of(model.classify(words).tolist())
    by_automaton = data.of(label_of(extraction.dfa, word) for word in words)
    wrong = int(((by_network != labels) | (by_automaton != labels)).sum())
    confidence = min(float(extraction.confidence.min()), extraction.start_confidence)
    learned = wrong == 0 and confidence >= min_confidence
    reason = ""
    if wrong:
        reason = f"as {wrong:,} of {len(words):,} words are misclassified"
    elif not learned:
        reason = f"as a transition has a probability of {confidence:.4f}, below {min_confidence:g}"
    return TrainingReport(
        learned,
        _balanced_accuracy(by_network, labels),
        _balanced_accuracy(by_automaton, labels),
        _balanced_accuracy(by_automaton[held_out], labels[held_out]) if held_out.any() else math.nan,
        confidence,
        len(extraction.dfa.minimize()),
        1,
        0.0,
        reason,
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


def _checked_data(words: Iterable[Iterable[Hashable]], labels: Iterable[Any], alphabet: tuple[Hashable, ...]) -> _Data:
    if labels is None:
        raise ValueError(
            "Words of a language alone do not tell it: the language of all words, and many smaller ones, have them too "
            "(Gold, 1967). Received: labels=None. Give words that are not in it as well, and a label for each word."
        )
    given, labels = [tuple(word) for word in words], list(labels)
    if len(given) != len(labels):
        raise ValueError(f"Every word needs a label. Received: {len(given)} words and {len(labels)} labels.")
    places, classes = labels_and_classes(labels)
    if len(classes) == 2:
        data = _Data(given, places.astype(bool), accepted=classes[1])
    else:
        data = _Data(given, places, checked_labels(classes))
    known = set(alphabet)
    for word in data.words:
        strays = [symbol for symbol in word if symbol not in known]
        if strays:
            raise ValueError(f"A word must be over the alphabet {alphabet!r}. Received: {word!r}, with {strays[0]!r}.")
    counts = int(data.labels.sum()), int((data.labels == 0).sum())
    if len(classes) == 2 and min(counts) < 2:
        raise ValueError(
            f"A language is learned from words in it and words not in it, at least two of each. Received: "
            f"{counts[0]} in it and {counts[1]} not."
        )
    return data


def _check_consistent(data: _Data) -> None:
    """Raises ValueError if a word has several labels."""
    first: dict[Word, Any] = {}
    for word, label in zip(data.words, data.labels.tolist(), strict=True):
        first.setdefault(word, label)
    both = {word for word, label in zip(data.words, data.labels.tolist(), strict=True) if first[word] != label}
    if both:
        shown = ", ".join(repr(word) for word in sorted(both, key=lambda word: (len(word), repr(word)))[:3])
        rule, received = (
            ("A word is in the language or not", "both")
            if len(data.classes) == 2
            else ("A word has one label", "several")
        )
        raise ValueError(
            f"{rule}. Received: {received} labels for {len(both):,} word{'s' * (len(both) > 1)}: {shown}"
            f"{', ...' if len(both) > 3 else ''}. Remove one, or pass label_noise, the fraction that may be wrong, or "
            "None if it is not known."
        )
