"""`list` and `load`, and what they return."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from keras_interp_rnn._io import expanded
from keras_interp_rnn._results import Result, as_text
from keras_interp_rnn.presets import storage
from keras_interp_rnn.presets.cards import FOLDER, Card, checked_name, names, read_card

if TYPE_CHECKING:
    import keras
    import numpy as np
    from numpy.typing import NDArray

    from keras_interp_rnn.analysis import Basis
    from keras_interp_rnn.automata import DFA, Certificate
    from keras_interp_rnn.datasets.words import Vocabulary


@dataclass(frozen=True, eq=False, repr=False)
class Preset(Result):
    """A trained network, and what belongs to it.

    Attributes:
        name: of the preset.
        model: a Keras model that is not compiled; it reads int32 ids (batch, time).
        alphabet: symbols, or the words of the vocabulary. The model carries it, and so reads texts.
        card: what the network is, from which data, how good.
        vocabulary: of a network that reads words; else None.
        automaton: that a recognizer is proved to be; else None.
        basis: coordinates in which the network consists of zeros and ones (`analysis.change_basis`); None for most.
        centroids: names of the centroids of a network that reads words: class and most typical words. Else empty.

    Example: see `load`.
    """

    name: str
    model: keras.Model
    alphabet: Sequence[str]
    card: Card
    vocabulary: Vocabulary | None = None
    automaton: DFA | None = None
    basis: Basis | None = None
    centroids: tuple[str, ...] = ()

    @property
    def record(self) -> Mapping[str, Any]:
        """Of the training: data, settings, versions, hardware, curve."""
        return self.card.record

    @cached_property
    def certificate(self) -> Certificate | None:
        """The proof that the network is `automaton`, made anew of the loaded network; None without one."""
        from keras_interp_rnn import automata

        return None if self.automaton is None else automata.certify(self.model, self.automaton)

    def encode(self, text: str | Sequence[str]) -> NDArray[np.int32]:
        """The ids of a text, as the model reads them.

        Args:
            text: a word over the alphabet, a list of symbols where they have several letters, or any text for a network
                that reads words; tokens that the vocabulary does not have become "<unk>".

        Returns:
            int32 (time,). `preset.model.predict(preset.encode(text)[None])` is a batch of one.

        Raises:
            ValueError: if the text has a symbol that the alphabet does not have, or no word of the vocabulary.

        Example:

        >>> from keras_interp_rnn import presets
        >>> presets.load("tomita-4").encode("0110")
        array([1, 2, 3, 3, 2], dtype=int32)
        """
        if self.vocabulary is not None:
            from keras_interp_rnn.datasets import words

            tokens = words.tokenize(text) if isinstance(text, str) else [*text]
            if not set(tokens) & set(self.vocabulary.names):
                raise ValueError(
                    f"A text must have a word of the vocabulary of {self.name}, {len(self.vocabulary):,} English "
                    f"words. Received: {text!r}. Give another text."
                )
            return self.vocabulary.encode([tokens])[0]
        if self.automaton is not None:
            return self.model.layers[0].encoding.ids([text])[0]
        return self.alphabet.encode(text)  # type: ignore[attr-defined]


@as_text.register
def preset(result: Preset) -> str:
    """The card."""
    return as_text(result.card)


def list() -> tuple[str, ...]:
    """The names of the presets.

    Returns:
        The names, in alphabetical order. The package has the weights of all but `text-isan-216`.

    Example:

    >>> from keras_interp_rnn import presets
    >>> "tomita-4" in presets.list()
    True
    """
    return names()


def load(name: str, *, source: str | os.PathLike[str] | None = None) -> Preset:
    """Loads a trained network.

    Args:
        name: one of `list()`.
        source: your own copy: the file of the weights, for those that are not in the package; or a folder that
            `python -m examples.papers preset` wrote, with card and weights. None for the files of the package.

    Returns:
        The network, its alphabet and its card.

    Raises:
        ValueError: if there is no such preset; if its weights are missing, damaged or of another version, by their
            sha256; or if it needs a newer version of the package.

    Example:

    >>> from keras_interp_rnn import presets
    >>> preset = presets.load("tomita-4")
    >>> preset.model.classify(["0110", "01000"])
    array([ True, False])
    >>> preset.certificate.holds
    True
    """
    if source is not None and not isinstance(source, str | os.PathLike):
        raise ValueError(f"A source is the path of a folder or a file. Received: source={source!r}.")
    if source is not None and os.path.isdir(folder := expanded(source, "source")):
        card = read_card(name, folder)
        arrays = storage.read_arrays(card, folder / f"{name}.npz")
    else:
        card = read_card(checked_name(name, names()), FOLDER)
        arrays = storage.read_arrays(card, source)
    try:
        return _made(name, card, arrays)
    except (KeyError, TypeError, AttributeError, IndexError, OverflowError) as error:
        raise ValueError(
            f"The card of a preset must describe a network as `python -m examples.papers preset` does. Received: the "
            f"card of {name} ({error!r}). The card is damaged: install the package again."
        ) from None


def _made(name: str, card: Card, arrays: Mapping[str, Any]) -> Preset:
    """The preset of a card and its arrays."""
    from keras_interp_rnn import analysis, automata, datasets
    from keras_interp_rnn.presets import networks

    settings = card.settings
    sizes = {1, *(length for array in arrays.values() for length in array.shape)}
    strays = {key: settings["model"][key] for key in networks.SIZES if settings["model"].get(key, 1) not in sizes}
    if strays:
        raise ValueError(
            f"The sizes of {name} must be those of its weights. Received: {strays}. Card and weights are of two "
            "versions: install the package again."
        )
    names = {"names": settings["vocabulary"]} if "vocabulary" in settings else {}
    model = networks.build({**settings["model"], **names})
    storage.assign(model, arrays, name)
    parts: dict[str, Any] = {}
    if settings["model"]["kind"] in ("symbols", "memory"):
        parts["alphabet"] = datasets.text.Alphabet.of(model)
        if "basis" in settings:
            parts["basis"] = _basis(analysis, settings["basis"], arrays)
    elif settings["model"]["kind"] == "recognizer":
        parts["alphabet"] = tuple(settings["model"]["alphabet"])
        parts["automaton"] = automata.tomita(settings["automaton"]["tomita"])
    else:
        parts["vocabulary"] = vocabulary = datasets.words.Vocabulary(tuple(settings["vocabulary"]))
        if len(vocabulary) != settings["model"]["vocabulary"] or vocabulary.names[:4] != datasets.words.SPECIAL:
            raise ValueError(
                f"The vocabulary of {name} has {settings['model']['vocabulary']} words, the first of them "
                f"{', '.join(datasets.words.SPECIAL)}. Received: {len(vocabulary)}, from {vocabulary.names[:4]}. The "
                "card is damaged: install the package again."
            )
        parts["alphabet"] = vocabulary.names
        parts["centroids"] = tuple(settings["centroids"])
    return Preset(name, model, card=card, **parts)


def _basis(analysis: Any, settings: Mapping[str, Any], arrays: Mapping[str, Any]) -> Basis:
    """A basis from its numbers in the card and its arrays."""
    maps = {
        which: analysis.AffineMap(arrays[f"basis_{which}"], arrays[f"basis_{which}_offset"]) for which in ("to", "back")
    }
    numbers = {name: settings[name] for name in ("num_readout", "num_binary", "residual", "unused")}
    return analysis.Basis(
        **maps,
        **numbers,
        names=tuple(settings["names"]),
        blocks=tuple(tuple(block) for block in settings["blocks"]),
        relations=arrays["basis_relations"],
        points=arrays["basis_points"],
    )
