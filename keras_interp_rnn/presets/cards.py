"""The card of a trained network: what it is, from which data, how good, and where it ends. Read without Keras."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from keras_interp_rnn._io import read_json
from keras_interp_rnn._results import Result, as_text, short_repr

FORMAT = 1
"""Of the cards; a reader refuses those of a later one."""

FOLDER = Path(__file__).parent / "weights"
"""Of the cards and weights that ship with the package."""

PARTS = {
    **dict.fromkeys(("name", "what", "data", "licence", "make"), str),
    **{"format": int, "limits": list, "figures": list, "model": dict, "weights": dict, "record": dict},
}
"""What the JSON of a card holds, besides what single kinds of networks need."""


@short_repr
@dataclass(frozen=True)
class Figure:
    """A number that was measured with the network as it is loaded.

    Attributes:
        name: what it is called.
        value: the number.
        says: its unit, and what it was measured on.

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
    """What a trained network is.

    Attributes:
        name: under which `load` finds it.
        what: the network, in a sentence.
        data: what it was trained on.
        licence: of the data, and of the weights.
        figures: what was measured, with the weights as they are stored.
        limits: what it is not good for.
        make: the command that trains it again.
        record: of the training: data with their digest, settings, versions, hardware, date, curve.
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
        for figure in self.figures:
            if figure.name == name:
                return figure.value
        known = ", ".join(figure.name for figure in self.figures)
        raise ValueError(f"The figures of {self.name} are {known}. Received: {name!r}. Choose one of these.")


@as_text.register
def as_lines(card: Card) -> str:
    """What the network is, what it was trained on, its figures and its limits."""
    lines = [f"{card.name}: {card.what}", f"data: {card.data}", f"licence: {card.licence}"]
    lines += [f"figure: {figure}" for figure in card.figures]
    lines += [f"limit: {limit}" for limit in card.limits]
    if card.settings.get("page"):
        lines.append(f'page: views.save(presets.load("{card.name}"), "live.html") reads what you type')
    return "\n".join([*lines, f"made by: {card.make}"])


def names() -> tuple[str, ...]:
    """The presets, in alphabetical order: the package has the cards of all."""
    return tuple(sorted(path.stem for path in FOLDER.glob("*.json")))


def checked_name(name: Any, known: tuple[str, ...]) -> str:
    """The name of a preset; raises ValueError for any other, naming those that look like it."""
    if isinstance(name, str) and name in known:
        return name
    near = difflib.get_close_matches(str(name).lower(), known, n=3, cutoff=0.5)
    remedy = f"Did you mean {' or '.join(near)}?" if near else "Choose one of these."
    raise ValueError(f"The presets are {', '.join(known)}. Received: {name!r}. {remedy}")


def read_card(name: str, folder: Path = FOLDER) -> Card:
    """The card of a preset.

    Raises:
        ValueError: if there is no such preset, or its card is damaged or of a later version.
    """
    known = tuple(sorted(path.stem for path in folder.glob("*.json")))
    if not known:
        raise ValueError(
            f"A folder of presets must have a card, NAME.json, for each. Received: {folder}, where none can be seen. "
            "Check the path and its permissions."
        )
    checked_name(name, known)
    path = folder / f"{name}.json"
    rule = "The card of a preset is JSON with " + ", ".join(PARTS)
    remedy = "The file is damaged: install the package again."
    content = read_json(path, rule, PARTS, remedy)
    if content["format"] > FORMAT:
        raise ValueError(
            f"This version reads cards up to format {FORMAT}. Received: {path} of format {content['format']}. Install "
            "the keras_interp_rnn that wrote it, or a newer one."
        )
    try:
        figures = tuple(Figure(str(f["name"]), float(f["value"]), str(f["says"])) for f in content["figures"])
    except (TypeError, KeyError, ValueError) as error:
        raise ValueError(
            f"{rule}. Received: {path} ({error!r}). The file is damaged: install the package again."
        ) from None
    said = {part: content[part] for part in ("name", "what", "data", "licence", "make", "record")}
    left = {part: value for part, value in content.items() if part not in (*said, "figures", "limits", "format")}
    return Card(**said, figures=figures, limits=tuple(map(str, content["limits"])), settings=left)
