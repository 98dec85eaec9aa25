"""Trains state-regularized networks on labelled words until they implement an automaton."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Hashable, Iterable
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

import keras
import numpy as np
from numpy.typing import NDArray

from keras_interp_rnn import layers
from keras_interp_rnn._deprecation import former_arguments, warn_of_name
from keras_interp_rnn._progress import say
from keras_interp_rnn._result import Sentence
from keras_interp_rnn.automata._network import Acceptor
from keras_interp_rnn.automata.extraction import extract
from keras_interp_rnn.automata.symbol_embedding import SymbolEmbedding, checked_symbols
from keras_interp_rnn.automata.words import Word

STEPS_PER_EXECUTION = 50

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


FORMER_FIELDS = {"states": "num_states", "attempts": "num_attempts"}
"""Of a `TrainingReport` in models that version 0.1 saved."""


@keras.saving.register_keras_serializable(package="keras_interp_rnn")
class Recognizer(keras.Sequential):
    """A model that classifies words, as `train_recognizer` returns it.

    Attributes:
        report: outcome of `train_recognizer`, saved with the model. Training by `fit` does not change it.
    """

    report: TrainingReport | None = None

    @property
    def verdict(self) -> TrainingReport | None:
        """The former name of `report`."""
        warn_of_name("Recognizer.verdict", "report")
        return self.report

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if name != "verdict"]  # as Keras reads all of them to save a model

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "report": None if self.report is None else asdict(self.report)}

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Recognizer:
        report = config.get("report", config.get("verdict"))  # its name until 0.1
        rest = {name: value for name, value in config.items() if name not in ("report", "verdict")}
        model = super().from_config(rest, custom_objects)
        if report is not None:
            model.report = TrainingReport(**{FORMER_FIELDS.get(name, name): value for name, value in report.items()})
        return model

    def classify(self, words: Iterable[Iterable[Hashable]]) -> NDArray[np.bool_]:
        """Whether the network accepts each word.

        Args:
            words: sequences of symbols.

        Returns:
            bool (words,).

        Raises:
            ValueError: if a word has a symbol that is not in the alphabet.

        Example:

        >>> from keras_interp_rnn import automata, layers
        >>> ids = keras.Input((None,), dtype="int32")
        >>> words = automata.SymbolEmbedding("01", 4)
        >>> model = automata.Recognizer([ids, words, layers.SRGRU(8, 3), keras.layers.Dense(1)])
        >>> model.classify(["", "01", "0011"]).shape
        (3,)
        """
        return Acceptor(self, self.layers[0].encoding).accepts(words)

    def judge(self, words: Iterable[Iterable[Hashable]]) -> NDArray[np.bool_]:
        """The former name of `classify`."""
        warn_of_name("Recognizer.judge", "classify")
        return self.classify(words)


@dataclass(frozen=True, repr=False)
class TrainingReport(Sentence):
    """Outcome of `train_recognizer`.

    Attributes:
        learned: whether network and automaton classify every word as labelled, and every transition of the network has
            the required probability.
        network_accuracy, automaton_accuracy: balanced accuracy over all words, including those held out.
        held_out_accuracy: that of the automaton over the words held out from training; NaN without any.
        confidence: the lowest probability alpha of a transition.
        num_states: of the minimal automaton.
        num_attempts, seconds: of the whole training; the other fields are of its best attempt.
        reason: why the best attempt did not learn; "" if it has.
    """

    learned: bool
    network_accuracy: float
    automaton_accuracy: float
    held_out_accuracy: float
    confidence: float
    num_states: int
    num_attempts: int
    seconds: float
    reason: str = ""

    @property
    def states(self) -> int:
        """The former name of `num_states`."""
        warn_of_name("TrainingReport.states", "num_states")
        return self.num_states

    @property
    def attempts(self) -> int:
        """The former name of `num_attempts`."""
        warn_of_name("TrainingReport.attempts", "num_attempts")
        return self.num_attempts


@former_arguments(
    positional=(
        *("words", "labels", "alphabet", "units", "num_centroids", "num_attempts", "hold_out", "min_confidence"),
        *("seed", "verbose"),
    ),
    centroids="num_centroids",
    attempts="num_attempts",
    confidence="min_confidence",
)
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
) -> Recognizer:
    r"""Trains a state-regularized GRU until it implements an automaton that classifies the words as labelled.

    The plain cell learns first, from short words to long ones (strength 0). Then `strength` is raised to 1, by steps
    that are halved whenever accuracy drops. Then Gumbel noise on the scores and a falling temperature make the
    transitions certain. Batches hold the same number of positive and negative words. At the end the automaton is
    extracted (`extract`, "exact"): unless it is right on every word, with every transition probable enough, training
    starts again with more units.

    Args:
        words: sequences of symbols. Short words teach most: all words up to some length are a good choice.
        labels: whether each word is in the language.
        alphabet: the symbols, ints or strings.
        units: of the first attempt; each further one has 8 more.
        num_centroids: should exceed the number of states of the automaton.
        num_attempts: maximum number of attempts.
        hold_out: fraction of the long words that is held out from training, for evaluation.
        min_confidence: lowest probability of a transition with which the network counts as an automaton.
        seed: of everything; the same seed gives the same run on the same machine.
        verbose: 1 prints the progress, on one line in a terminal and one line for each phase elsewhere; 0 prints
            nothing.

    Returns:
        The model of the best attempt, with its alphabet and start token. A model is returned even if training failed:
        check `report.learned`. More units, centroids, attempts or short words may help then. From words without a
        wrong label AALpy's RPNI finds an automaton in seconds, and the exact one if the words are complete enough.

    Raises:
        ValueError: if words and labels do not pair up, if a word has a symbol that is not in the alphabet, if there
            are not two words of each label.

    Example:

        words = ["".join(word) for length in range(11) for word in itertools.product("01", repeat=length)]
        model = train_recognizer(words, ["000" not in word for word in words], alphabet="01")
        print(model.report)

    Reference: Wang, Lawrence and Niepert, 2022, section 5.1, for the task; the recipe is this package's.
    """
    if num_attempts < 1:
        raise ValueError(f"There must be at least one attempt. Received: num_attempts={num_attempts}.")
    started = time.monotonic()
    symbols = checked_symbols(alphabet)
    data = _checked_data(words, labels, symbols)
    best: Recognizer | None = None
    for attempt in range(num_attempts):
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
    best.report = replace(best.report, num_attempts=attempt + 1, seconds=time.monotonic() - started)
    if verbose:
        say(str(best.report), stays=True)
        if not best.report.learned:
            say(ADVICE, stays=True)
    return best


class _Data(NamedTuple):
    """Words and whether each is in the language."""

    words: list[Word]
    labels: NDArray[np.bool_]


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
    training = _Training(_network(alphabet, units, num_centroids, seed), data, hold_out, seed, verbose)
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


def _network(alphabet: tuple[Hashable, ...], units: int, num_centroids: int, seed: int) -> Recognizer:
    recurrent = layers.SRGRU(
        units, num_centroids, transition="gumbel", strength=0.0, noise=0.0, seed=seed, name="recurrent"
    )
    embedding = SymbolEmbedding(alphabet, max(4, len(alphabet)), embeddings_initializer="orthogonal", name="symbols")
    model = Recognizer([keras.Input((None,), dtype="int32"), embedding, recurrent, keras.layers.Dense(1, name="head")])
    model.compile(
        keras.optimizers.Adam(5e-3, global_clipnorm=1.0),
        keras.losses.BinaryCrossentropy(from_logits=True),
        jit_compile=True,  # the steps are tiny: XLA takes a tenth of the time
        steps_per_execution=STEPS_PER_EXECUTION,
    )
    return model


class _Training:
    """A model in training, its words, and which of them are held out."""

    def __init__(self, model: Recognizer, data: _Data, hold_out: float, seed: int, verbose: int) -> None:
        self.model, self.labels, self.verbose = model, data.labels, verbose
        self.cell = model.layers[1].cell
        self.ids = model.layers[0].encoding.ids(data.words)
        self.rng = np.random.default_rng(seed)
        self.lengths = np.array([len(word) for word in data.words])
        self.started = time.monotonic()
        # Long words only: the language shows in the short ones, and every one of them counts.
        long = self.lengths > 0.7 * self.lengths.max()
        self.held_out = long & (self.rng.random(len(data.words)) < hold_out)
        for label in (False, True):  # if words of a label are few, all of them are needed for training
            if (~self.held_out & (self.labels == label)).sum() < 10:
                self.held_out &= self.labels != label

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
        positive, negative = np.flatnonzero(among & self.labels), np.flatnonzero(among & ~self.labels)
        loss = math.inf
        for round_ in range(max_rounds):
            halves = [self.rng.choice(part, (num_steps, 32)) for part in (positive, negative)]
            rows = np.concatenate(halves, axis=1).ravel()
            labels = self.labels[rows].astype("float32")
            loss = self.model.fit(self.ids[rows], labels, 64, shuffle=False, verbose=0).history["loss"][-1]
            if self.verbose:
                say(f"{name}, round {round_ + 1}: loss {loss:.4f}")
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
    words, labels = data
    extraction = extract(model)
    by_network = model.classify(words)
    by_automaton = np.array([extraction.dfa.accepts(word) for word in words])
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


def _balanced_accuracy(predictions: NDArray[np.bool_], labels: NDArray[np.bool_]) -> float:
    """Mean over the labels of the fraction of their words that are classified as labelled."""
    accuracies = [np.mean(predictions[labels == label] == label) for label in (False, True) if (labels == label).any()]
    return float(np.mean(accuracies))


def _curriculum(lengths: NDArray[np.int64], labels: NDArray[np.bool_]) -> list[int]:
    """Successive maximum lengths of the words to learn: each adds at least a third more words of both labels."""
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


def _checked_data(words: Iterable[Iterable[Hashable]], labels: Iterable[Any], alphabet: tuple[Hashable, ...]) -> _Data:
    data = _Data([tuple(word) for word in words], np.array([bool(label) for label in labels], dtype=bool))
    if len(data.words) != len(data.labels):
        raise ValueError(f"Every word needs a label. Received: {len(data.words)} words and {len(data.labels)} labels.")
    known = set(alphabet)
    for word in data.words:
        strays = [symbol for symbol in word if symbol not in known]
        if strays:
            raise ValueError(f"A word must be over the alphabet {alphabet!r}. Received: {word!r}, with {strays[0]!r}.")
    counts = int(data.labels.sum()), int((~data.labels).sum())
    if min(counts) < 2:
        raise ValueError(
            f"A language is learned from words in it and words not in it, at least two of each. Received: "
            f"{counts[0]} in it and {counts[1]} not."
        )
    return data
