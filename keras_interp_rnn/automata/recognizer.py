"""What `train_recognizer` and `compile` return: a model that classifies words, and the outcome of its training."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable
from dataclasses import asdict, dataclass, fields
from typing import Any

import keras
from numpy.typing import NDArray

from keras_interp_rnn._results import Sentence
from keras_interp_rnn.automata._deterministic import Transitions
from keras_interp_rnn.automata._network import Acceptor
from keras_interp_rnn.automata.extraction import interval
from keras_interp_rnn.automata.words import Word

FORMER_FIELDS = {"states": "num_states", "attempts": "num_attempts"}
"""Of a `TrainingReport` in models that version 0.1 saved."""


@keras.saving.register_keras_serializable(package="keras_interp_rnn")
class Recognizer(keras.Sequential):
    """A model that classifies words, as `train_recognizer` returns it.

    Attributes:
        report: outcome of `train_recognizer`, saved with the model. Training by `fit` does not change it.
        labels: that words are given, one for each output and in their order, saved with the model; None for a model
            that accepts words or rejects them.

    `keras.models.clone_model` makes a plain Sequential of it, without `classify`: copy it by
    `Recognizer.from_config(model.get_config())`. Save it as .keras; of an .h5 file Keras knows the class only with
    `load_model(path, custom_objects={"Recognizer": Recognizer})`.

    Example:

    >>> from keras_interp_rnn import presets
    >>> recognizer = presets.load("tomita-1").model  # the words of ones alone
    >>> recognizer.classify(["", "111", "101"])
    array([ True,  True, False])
    """

    report: TrainingReport | None = None
    labels: tuple[Hashable, ...] | None = None

    def get_config(self) -> dict[str, Any]:
        config = {**super().get_config(), "report": None if self.report is None else asdict(self.report)}
        return config if self.labels is None else {**config, "labels": list(self.labels)}

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Recognizer:
        report = config.get("report", config.get("verdict"))  # its name until 0.1
        rest = {name: value for name, value in config.items() if name not in ("report", "verdict", "labels")}
        if not isinstance(rest.get("layers"), list):
            raise ValueError(
                "The configuration of a Recognizer must be what get_config returned. Received: one with the parts "
                f"{sorted(config)}. Save the model again."
            )
        model = super().from_config(rest, custom_objects)
        try:
            model.labels = None if config.get("labels") is None else tuple(config["labels"])
            model.report = None if report is None else _report(report)
        except (TypeError, AttributeError) as error:
            raise ValueError(
                "The configuration of a Recognizer must be what get_config returned. Received: "
                f"labels={config.get('labels')!r} and report={report!r} ({error}). Save the model again."
            ) from None
        return model

    def classify(self, words: Iterable[Iterable[Hashable]]) -> NDArray[Any]:
        """Whether the network accepts each word, or which label it gives it.

        Args:
            words: sequences of symbols.

        Returns:
            bool (words,); of a network with labels the label of each word, that of its largest output.

        Raises:
            ValueError: if a word has a symbol that is not in the alphabet, or the first layer is no `SymbolEmbedding`.

        Example:

        >>> from keras_interp_rnn import automata, layers
        >>> ids = keras.Input((None,), dtype="int32")
        >>> words = automata.SymbolEmbedding("01", 4)
        >>> model = automata.Recognizer([ids, words, layers.SRGRU(8, 3), keras.layers.Dense(1)])
        >>> model.classify(["", "01", "0011"]).shape
        (3,)
        """
        first: Any = self.layers[0] if self.layers else None
        if not hasattr(first, "encoding"):
            raise ValueError(
                "Words are read by a SymbolEmbedding, which knows their alphabet, the first layer of a Recognizer. "
                f"Received: {first!r}. Build it with automata.SymbolEmbedding(alphabet, output_dim)."
            )
        return Acceptor(self, first.encoding).classify(words)


def _report(config: dict[str, Any]) -> TrainingReport:
    """The report with these fields, of any version."""
    known = {field.name for field in fields(TrainingReport)}
    values = {FORMER_FIELDS.get(name, name): value for name, value in config.items()}
    values = {name: value for name, value in values.items() if name in known}
    for name in ("contradicted", "unsupported"):  # lists, in JSON
        values[name] = tuple(map(tuple, values.get(name, ())))
    return TrainingReport(**values)


@dataclass(frozen=True, repr=False)
class TrainingReport(Sentence):
    """Outcome of `train_recognizer`.

    Attributes:
        learned: whether network and automaton classify every word as labelled, apart from those of `contradicted`, and
            every transition of the network has the required probability.
        network_accuracy, automaton_accuracy: balanced accuracy over all different words, including those held out: the
            mean over the labels of the fraction of their words that are classified as labelled.
        held_out_accuracy: the fraction of the words held out that are classified as labelled by the automaton; if it
            was found by a search, by the one found without these words. NaN without any.
        confidence: the lowest probability alpha of a transition.
        num_states: of the minimal automaton.
        num_attempts, seconds: of the whole training; the other fields are of its best attempt.
        reason: why the best attempt did not learn; "" if it has.
        method: "merging", "patterns" or "splitting", if the automaton was found by merging the states of the words'
            prefixes, by rules about patterns or by splitting states, and the network was compiled from it; "training",
            if the network was trained.
        certified: whether `certify` proved the network equal to the automaton, which is tried if it has learned.
        contradicted: the words of which the automaton contradicts a label.
        num_contradicted: the number of labels that it contradicts.
        num_words, num_labels: the number of different words, and of labels: of all words, copies included.
        num_held_out: the number of different words held out.
        num_transitions: of the minimal automaton.
        unsupported: those of them, as (state, symbol), that no word takes. What the automaton does there follows from
            its being small, not from the words. The states are numbered as in `extract(model).dfa.minimize()`.

    Example: see `train_recognizer`.
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
    method: str = "training"
    certified: bool = False
    contradicted: tuple[Word, ...] = ()
    num_contradicted: int = 0
    num_words: int = 0
    num_labels: int = 0
    num_held_out: int = 0
    num_transitions: int = 0
    unsupported: Transitions = ()
    accepted: Hashable = True

    @property
    def held_out_interval(self) -> tuple[float, float]:
        """The exact 95 % interval (Clopper and Pearson) of `held_out_accuracy`; (0, 1) without words held out."""
        right = round(self.num_held_out * self.held_out_accuracy) if self.num_held_out else 0
        return interval(right, self.num_held_out)

    @property
    def label_noise(self) -> float:
        """The fraction of the labels that the automaton contradicts; NaN if their number is not known.

        If the automaton is the right one, these are the wrong labels.
        """
        return self.num_contradicted / self.num_labels if self.num_labels else math.nan

    @property
    def label_noise_interval(self) -> tuple[float, float]:
        """The exact 95 % interval of the probability of a wrong label, if the automaton is the right one.

        It takes one label to be wrong independently of the others (Clopper and Pearson).
        """
        return interval(self.num_contradicted, self.num_labels)
