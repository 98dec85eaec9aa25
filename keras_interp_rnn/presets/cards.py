"""Cards of trained networks: architecture, data, quality, and limits. They are read without Keras."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from keras_interp_rnn._checks import choice
from keras_interp_rnn._io import read_json
from keras_interp_rnn._results import Column, Result, Table, short_repr, texts

FORMAT = 1
"""Format of the cards; later formats raise an error."""

FOLDER = Path(__file__).parent / "weights"
"""Folder of the cards and weights that ship with the package."""

PARTS = {
    **dict.fromkeys(("name", "what", "data", "licence", "make"), str),
    **{"format": int, "limits": list, "figures": list, "model": dict, "weights": dict, "record": dict},
}
"""Keys and types of the JSON of every card; some kinds of networks have more."""


@short_repr
@dataclass(frozen=True)
class Figure:
    """A number measured with the loaded network.

    Attributes:
        name: of the figure.
        value: the number.
        says: unit and data of the measurement.

    Example:

    >>> from keras_interp_rnn import presets
    >>> states = presets.load("tomita-4").card.figures[1]
    >>> states.value, states.says
    (4.0, 'states of the smallest automaton')
    """

    name: str
    value: float
    says: str

    def __str__(self) -> str:
        return f"{self.value:.4g} {self.says}"


@dataclass(frozen=True, repr=False)
class Card(Result):
    """The description of a trained network.

    Attributes:
        name: the argument of `load`.
        what: the network, in a sentence.
        data: the training data.
        licence: of the data and the weights.
        figures: measurements with the stored weights.
        limits: unsuitable uses.
        make: the command that trains it again.
        record: the training: data with their digest, settings, versions, hardware, date, curve.
        settings: of the network and of its files, for `load`.

    Example:

    >>> from keras_interp_rnn import presets
    >>> presets.load("tomita-4").card.make
    'python -m examples.papers preset tomita-4'
    """

    name: str
    what: str
    data: str
    licence: str
    figures: tuple[Figure, ...]
    limits: tuple[str, ...]
    make: str
    record: Mapping[str, Any]
    settings: Mapping[str, Any]

    def figure(self, name: str) -> float:
        """The value of a figure.

        Args:
            name: of the figure.

        Returns:
            The value.

        Raises:
            ValueError: if the card has no such figure.

        Example:

        >>> from keras_interp_rnn import presets
        >>> presets.load("tomita-4").card.figure("certified")
        1.0
        """
        values = {figure.name: figure.value for figure in self.figures}
        return values[choice("name", name, values)]

    def table(self) -> Table:
        """The network, its data, figures and limits; a row for each figure."""
        notes = [f"data: {self.data}", f"licence: {self.licence}"]
        notes += [f"figure: {figure}" for figure in self.figures]
        notes += [f"limit: {limit}" for limit in self.limits]
        if self.settings.get("page"):
            notes.append(f'page: views.save(presets.load("{self.name}"), "live.html") reads what you type')
        columns = (
            texts("figure", [figure.name for figure in self.figures]),
            Column("value", [figure.value for figure in self.figures], form=".4g"),
            texts("of", [figure.says for figure in self.figures]),
        )
        notes.append(f"made by: {self.make}")
        return Table(f"{self.name}: {self.what}", columns, tuple(notes), folded=True)


def names(folder: Path) -> tuple[str, ...]:
    """The names of all presets in a folder, in alphabetical order."""
    return tuple(sorted(path.stem for path in folder.glob("*.json")))


def checked_name(name: object, known: Collection[str]) -> str:
    """The name of a known preset."""
    return choice("name", name, known)


def read_card(name: str, folder: Path = FOLDER) -> Card:
    """The card of a preset.

    Raises:
        ValueError: if there is no such preset, or its card is damaged or of a later version.
    """
    known = names(folder)
    if not known:
        raise ValueError(
            f"A folder of presets must have a readable card, NAME.json, for each. Received: {folder}, without any. "
            "Check the path and its permissions."
        )
    path = folder / f"{checked_name(name, known)}.json"
    rule = "The card of a preset must be JSON with " + ", ".join(PARTS)
    remedy = "The file is damaged: install the package again."
    content = read_json(path, rule, PARTS, remedy)
    if content["format"] > FORMAT:
        raise ValueError(
            f"The format of a card must be at most {FORMAT}. Received: {path} of format {content['format']}. Install "
            "the keras_interp_rnn that wrote it, or a newer one."
        )
    try:
        figures = tuple(Figure(str(f["name"]), float(f["value"]), str(f["says"])) for f in content["figures"])
    except (TypeError, KeyError, ValueError) as error:
        raise ValueError(f"{rule}. Received: {path} ({error!r}). {remedy}") from None
    described = {part: content[part] for part in ("name", "what", "data", "licence", "make", "record")}
    settings = {
        part: value for part, value in content.items() if part not in (*described, "figures", "limits", "format")
    }
    return Card(**described, figures=figures, limits=tuple(map(str, content["limits"])), settings=settings)
