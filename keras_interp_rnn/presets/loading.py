"""`list`, `load`, and the class `Preset`."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from keras_interp_rnn._alphabet import SPECIAL
from keras_interp_rnn._checks import expanded_path, holding
from keras_interp_rnn._results import Result, Table, View
from keras_interp_rnn.presets import storage
from keras_interp_rnn.presets.cards import FOLDER, Card, names, read_card

if TYPE_CHECKING:
    import keras
    from numpy.typing import NDArray

    from keras_interp_rnn._alphabet import Alphabet
    from keras_interp_rnn.analysis import Basis
    from keras_interp_rnn.automata import DFA, Certificate


@dataclass(frozen=True, eq=False, repr=False)
class Preset(Result):
    """A trained network with its alphabet and card.

    Attributes:
        name: of the preset.
        model: an uncompiled Keras model of int32 ids (batch, time).
        alphabet: of the ids: symbols, or words. Pass it as `alphabet` or `tokens`.
        card: description of the network, its data and its quality.
        automaton: the automaton with which a recognizer is proved to agree; otherwise None.
        basis: coordinates in which the network consists of zeros and ones (`analysis.change_basis`); None for most.
        centroids: class and most typical words of each centroid of a network that reads words; otherwise empty.

    Example: see `load`.
    """

    name: str
    model: keras.Model
    alphabet: Alphabet
    card: Card
    automaton: DFA | None = None
    basis: Basis | None = None
    centroids: tuple[str, ...] = ()

    reads_typing = True

    @property
    def record(self) -> Mapping[str, Any]:
        """The record of the training: data, settings, versions, hardware, curve."""
        return self.card.record

    @cached_property
    def certificate(self) -> Certificate | None:
        """The proof that the loaded network equals `automaton`, computed on first use; None without an automaton."""
        from keras_interp_rnn import automata

        return None if self.automaton is None else automata.certify(self.model, self.automaton)

    def encode(self, text: str | Sequence[str]) -> NDArray[np.int32]:
        """Encodes a text as the ids that the model reads.

        Args:
            text: a word over the alphabet, a list of symbols if they have several letters, or any text for a network
                that reads words; tokens that the vocabulary does not have become "<unk>".

        Returns:
            int32 (time,). `preset.model.predict(preset.encode(text)[None])` is a batch of one.

        Raises:
            ValueError: if the text has a symbol outside the alphabet, or no word of the vocabulary.

        Example:

        >>> from keras_interp_rnn import presets
        >>> presets.load("tomita-4").encode("0110")
        array([1, 2, 3, 3, 2], dtype=int32)
        """
        alphabet = self.alphabet
        ids = alphabet.encode(text)
        if alphabet.unknown is not None and not np.isin(ids, alphabet.ids_of(alphabet.ordinary)).any():
            raise ValueError(
                f"`text` must have a word of the vocabulary of {self.name}, {len(alphabet):,} English words. Received: "
                f"{text!r}. Give another text."
            )
        return ids

    def table(self) -> Table:
        """The card."""
        return self.card.table()

    def page_view(self) -> View | None:
        """The page that reads typed text; None if the network cannot.

        A page of two networks reads with both: one that is right on its test set, and one that is proved.
        """
        from keras_interp_rnn.views.against_proof import Words, against_proof
        from keras_interp_rnn.views.live import live_view

        against = self.card.settings.get("against")
        if against:
            proved = holding(load(against["proved"]).certificate)
            return against_proof(self.model, proved, Words(**against["words"]), against["title"])

        first = self.card.settings.get("page")
        if not first:
            return None
        more = self.table().notes, first.get("choices", ())
        view = live_view(self.model, self.name, first["text"], first["outputs"], *more)
        return view._replace(title=self.name, lead=f"{self.card.what} {view.lead}")


def list() -> tuple[str, ...]:
    """The names of the presets.

    Returns:
        The names, in alphabetical order. The package has the weights of all but `text-isan-216`.

    Example:

    >>> from keras_interp_rnn import presets
    >>> "tomita-4" in presets.list()
    True
    """
    return names(FOLDER)


def load(name: str, *, source: str | os.PathLike[str] | None = None) -> Preset:
    """Loads a trained network.

    Args:
        name: one of `list()`.
        source: your own copy: a file of weights that are not in the package, or a folder with card and weights that
            `python -m examples.papers preset` wrote. None for the files of the package.

    Returns:
        The network, its alphabet and its card.

    Raises:
        ValueError: if there is no such preset; if its weights are missing, damaged or of another version, according to
            their sha256; or if it needs a newer version of the package.

    Example:

    >>> from keras_interp_rnn import presets
    >>> preset = presets.load("tomita-4")
    >>> preset.model.classify(["0110", "01000"])
    array([ True, False])
    >>> preset.certificate.holds
    True
    """
    if source is not None and os.path.isdir(folder := expanded_path("source", source)):
        card = read_card(name, folder)
        arrays = storage.read_arrays(card, folder / f"{name}.npz")
    else:
        card = read_card(name, FOLDER)
        arrays = storage.read_arrays(card, source)
    try:
        return _made(name, card, arrays)
    except (KeyError, TypeError, AttributeError, IndexError, OverflowError) as error:
        raise ValueError(
            "The card of a preset must describe a network as `python -m examples.papers preset` does. Received: the "
            f"card of {name} ({error!r}). The card is damaged: install the package again."
        ) from None


def _made(name: str, card: Card, arrays: Mapping[str, Any]) -> Preset:
    """Builds the preset from its card and its arrays."""
    from keras_interp_rnn import automata, datasets
    from keras_interp_rnn.presets import networks

    settings = card.settings
    sizes = {1, *(length for array in arrays.values() for length in array.shape)}
    strays = {key: settings["model"][key] for key in networks.SIZES if settings["model"].get(key, 1) not in sizes}
    if strays:
        raise ValueError(
            f"The sizes of {name} must match its weights. Received: {strays}. Card and weights are of two "
            "versions: install the package again."
        )
    names = {"names": settings["vocabulary"]} if "vocabulary" in settings else {}
    first = tuple(settings.get("vocabulary", ())[:4])
    if names and (first != SPECIAL or len(settings["vocabulary"]) != settings["model"]["vocabulary"]):
        raise ValueError(
            f"The vocabulary of {name} must have {settings['model']['vocabulary']} words, beginning with "
            f"{', '.join(SPECIAL)}. Received: {len(settings['vocabulary'])}, from {first}. The card is damaged: "
            "install the package again."
        )
    model = networks.build({**settings["model"], **names})
    storage.assign(model, arrays, name)
    parts: dict[str, Any] = {}
    if "basis" in settings:
        parts["basis"] = _basis(settings["basis"], arrays)
    if "automaton" in settings:
        parts["automaton"] = automata.tomita(settings["automaton"]["tomita"])
    if "centroids" in settings:
        parts["centroids"] = tuple(settings["centroids"])
    return Preset(name, model, datasets.Alphabet.of(model), card, **parts)


def _basis(settings: Mapping[str, Any], arrays: Mapping[str, Any]) -> Basis:
    """Builds a basis from its numbers in the card and its arrays."""
    from keras_interp_rnn import analysis

    numbers = {name: settings[name] for name in ("num_readout", "num_binary", "residual", "unused")}
    return analysis.Basis(
        to=analysis.AffineMap(arrays["basis_to"], arrays["basis_to_offset"]),
        back=analysis.AffineMap(arrays["basis_back"], arrays["basis_back_offset"]),
        **numbers,
        names=tuple(settings["names"]),
        blocks=tuple(tuple(block) for block in settings["blocks"]),
        relations=arrays["basis_relations"],
        points=arrays["basis_points"],
    )
