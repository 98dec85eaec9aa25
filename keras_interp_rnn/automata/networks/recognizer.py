"""Models that classify words, as `train_recognizer` and `compile` return them, and reports of their training."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import asdict, dataclass, fields
from typing import Any

import keras

from keras_interp_rnn._alphabet import Alphabet
from keras_interp_rnn._results import Table, counted
from keras_interp_rnn._types import AnyArray
from keras_interp_rnn.automata.inference import Evidence
from keras_interp_rnn.automata.networks._acceptor import Acceptor

FORMER_FIELDS = {"states": "num_states", "attempts": "num_attempts"}
"""Fields of a `TrainingReport` in models that version 0.1 saved."""


@keras.saving.register_keras_serializable(package="keras_interp_rnn")
class Recognizer(keras.Sequential):
    """A model that classifies words, as `train_recognizer` and `compile` return it.

    Attributes:
        report: the outcome of `train_recognizer`, saved with the model. Training with `fit` does not change it.
        labels: the label of each output, saved with the model; None for a model that accepts or rejects words.

    `keras.models.clone_model` makes a plain Sequential without `classify`; use
    `Recognizer.from_config(model.get_config())` for a copy. Save it as .keras; an .h5 file needs
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
    def from_config(cls, config: dict[str, Any], custom_objects: object = None) -> Recognizer:
        report = config.get("report", config.get("verdict"))  # "verdict" until 0.1
        rest = {name: value for name, value in config.items() if name not in ("report", "verdict", "labels")}
        if not isinstance(rest.get("layers"), list):
            raise ValueError(
                "The configuration of a Recognizer must be what get_config returned. Received: one with the parts "
                f"{sorted(config)}. Save the model again."
            )
        model: Recognizer = super().from_config(rest, custom_objects)
        try:
            model.labels = None if config.get("labels") is None else tuple(config["labels"])
            model.report = None if report is None else _report(report)
        except (TypeError, AttributeError) as error:
            raise ValueError(
                "The configuration of a Recognizer must be what get_config returned. Received: "
                f"labels={config.get('labels')!r} and report={report!r} ({error}). Save the model again."
            ) from None
        return model

    def classify(self, words: Iterable[Iterable[Hashable]]) -> AnyArray:
        """Whether the network accepts each word, or the label that it gives each word.

        Args:
            words: sequences of symbols.

        Returns:
            bool (words,); for a network with labels the label of the largest output for each word.

        Raises:
            ValueError: if a word has a symbol that is not in the alphabet, or the first layer is not a
                `SymbolEmbedding`.

        Example:

        >>> from keras_interp_rnn import automata, layers
        >>> ids = keras.Input((None,), dtype="int32")
        >>> words = automata.SymbolEmbedding("01", 4)
        >>> model = automata.Recognizer([ids, words, layers.SRGRU(8, 3), keras.layers.Dense(1)])
        >>> model.classify(["", "01", "0011"]).shape
        (3,)
        """
        first: Any = self.layers[0] if self.layers else None
        if not isinstance(getattr(first, "alphabet", None), Alphabet):
            raise ValueError(
                "The first layer of a Recognizer must be a SymbolEmbedding, which knows the alphabet. Received: "
                f"{first!r}. Build it with automata.SymbolEmbedding(alphabet, output_dim)."
            )
        return Acceptor(self, first.alphabet).classify(words)


def _report(config: dict[str, Any]) -> TrainingReport:
    """The report with these fields, of any version."""
    known = {field.name for field in fields(TrainingReport)}
    values = {FORMER_FIELDS.get(name, name): value for name, value in config.items()}
    values = {name: value for name, value in values.items() if name in known}
    for name in ("contradicted", "questions", "rare", "unsupported"):  # lists, in JSON
        values[name] = tuple(map(tuple, values.get(name, ())))
    return TrainingReport(**values)


@dataclass(frozen=True, repr=False, kw_only=True)
class TrainingReport(Evidence):
    """Outcome of `train_recognizer`: the accuracy of the network, and the evidence for its automaton.

    Attributes:
        learned: whether the network and the automaton classify every word as labelled, every transition of the network
            is probable enough, and the words support the automaton: it is a shorter description than their labels
            alone.
        network_accuracy: as `automaton_accuracy`, for the network itself.
        confidence: the lowest probability alpha of a transition.
        num_attempts, seconds: of the whole training; the other fields describe its best attempt.
        reason: why the best attempt did not learn; "" if it did.
        certified: whether `certify` proved that the network agrees with the automaton. It tries if `learned` is True.

    Example: see `train_recognizer`.
    """

    learned: bool
    network_accuracy: float
    confidence: float
    num_attempts: int = 1
    seconds: float = 0.0
    reason: str = ""
    certified: bool = False

    def table(self) -> Table:
        """Whether the network learned, from how many words, its accuracy, and the evidence of the words."""
        reason = f", {self.reason}" if self.reason and not self.learned else ""
        head = f"{'learned' if self.learned else 'NOT learned'}{self._words()}{reason}"
        equal = self.network_accuracy == self.automaton_accuracy
        network = "" if equal else f" (network {self.network_accuracy:.2%})"
        rest = [f"least confidence {self.confidence:.4f}", counted(self.num_attempts, "attempt")]
        return Table(f"{'; '.join([*self._parts(head, network), *rest])}, {self.seconds:.0f} s")
