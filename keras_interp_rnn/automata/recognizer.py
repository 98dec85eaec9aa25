"""What `train_recognizer` and `compile` return: a model that classifies words, and the outcome of its training."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import asdict, dataclass
from typing import Any

import keras
from numpy.typing import NDArray

from keras_interp_rnn._result import Sentence
from keras_interp_rnn.automata._network import Acceptor
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

    `keras.models.clone_model` and .h5 files make a plain Sequential of it, without `classify`: save it as .keras, and
    copy it by `Recognizer.from_config(model.get_config())`.

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
        model = super().from_config(rest, custom_objects)
        if config.get("labels") is not None:
            model.labels = tuple(config["labels"])
        if report is not None:
            fields = {FORMER_FIELDS.get(name, name): value for name, value in report.items()}
            for name in ("held_out_interval", "label_noise_interval"):
                fields[name] = tuple(fields.get(name, (0.0, 1.0)))
            fields["contradicted"] = tuple(tuple(word) for word in fields.get("contradicted", ()))  # lists, in JSON
            model.report = TrainingReport(**fields)
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


@dataclass(frozen=True, repr=False)
class TrainingReport(Sentence):
    """Outcome of `train_recognizer`.

    Attributes:
        learned: whether network and automaton classify every word as labelled, apart from those of `contradicted`, and
            every transition of the network has the required probability.
        network_accuracy, automaton_accuracy: balanced accuracy over all words, including those held out.
        held_out_accuracy: over the words held out, that of the automaton; of one that was merged or split, that of the
            automaton found without these words. NaN without any.
        confidence: the lowest probability alpha of a transition.
        num_states: of the minimal automaton.
        num_attempts, seconds: of the whole training; the other fields are of its best attempt.
        reason: why the best attempt did not learn; "" if it has.
        method: "merging", "patterns" or "splitting", if the automaton was found by merging the states of the words'
            prefixes, by rules about patterns or by splitting states, and the network was compiled from it; "training",
            if the network was trained.
        certified: whether `certify` proved the network equal to the automaton, which is tried if it has learned.
        held_out_interval: the exact 95 % interval (Clopper and Pearson) of the fraction of the words held out that the
            automaton classifies as labelled; (0, 1) without any.
        contradicted: the words whose labels the automaton contradicts, if some of them may be wrong.
        label_noise: their fraction: if the automaton is the right one, that of the wrong labels. None if the network
            was trained.
        label_noise_interval: the exact 95 % interval (Clopper and Pearson) of the probability of a wrong label, if the
            automaton is the right one and one label is wrong independently of the others; (0, 1) if the network was
            trained.

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
    held_out_interval: tuple[float, float] = (0.0, 1.0)
    contradicted: tuple[Word, ...] = ()
    label_noise: float | None = None
    label_noise_interval: tuple[float, float] = (0.0, 1.0)
    accepted: Hashable = True
