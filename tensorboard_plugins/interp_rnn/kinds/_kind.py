"""Base classes of kinds of tags, and the decoding of arrays."""

from __future__ import annotations

import abc
import base64
import zlib
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tensorboard_plugins.interp_rnn.checks import Rule, UnknownContent, checked, parsed

Description = Mapping[str, Any]
"""The description of a tag by its writer, from `schema.metadata`."""


class BadRequest(ValueError):
    """A request for something that a tag lacks; the message names it."""


class Kind(abc.ABC):
    """A kind of tag.

    Attributes:
        NAME: the kind in descriptions; the file has the same name.
        VIEW: the view that shows such tags, static/VIEW.js; None for a kind that views only read with other kinds.
        RULES: the entries of its description.
        LAST_SLICES: approximate number of bytes of the last slices of a step in a page without a server; None for all
            slices.
    """

    NAME: ClassVar[str]
    VIEW: ClassVar[str | None] = None
    RULES: ClassVar[tuple[Rule, ...]] = ()
    LAST_SLICES: ClassVar[int | None] = None

    def describe(self, entries: Mapping[str, Any]) -> dict[str, Any]:
        """The entries of a description; raises UnknownContent if it breaks a rule."""
        part = Rule("part_of", "the name of a series", lambda value: isinstance(value, str), needed=False)
        return checked(entries, f"The description of {self.NAME}", (*self.RULES, part))

    @abc.abstractmethod
    def decode(self, description: Description, tensor: NDArray[Any]) -> Any:
        """The value of one step; raises UnknownContent for a tensor of another kind."""

    def overview(self, description: Description, values: Sequence[Any]) -> dict[str, Any]:
        """The values of all steps that a view shows first."""
        return {"shapes": [list(np.shape(value)) for value in values]}

    def num_slices(self, description: Description, value: Any) -> int:
        """The number of slices of the value of one step."""
        return 0

    def first_slice(self, description: Description) -> int:
        """The index of the first slice that is not missing."""
        return 0

    def slice(self, description: Description, value: Any, index: int) -> NDArray[np.float32]:
        """One slice of the value of one step; raises BadRequest if there is no such slice."""
        raise BadRequest(f"A slice must be one of an array. Received: a tag of the kind {self.NAME}. Request it whole.")

    def graph(self, description: Description, value: Any, overview: Mapping[str, Any]) -> dict[str, Any]:
        """The drawn states and edges of one step."""
        raise BadRequest(f"A graph must be one of an automaton or of transition counts. Received: {self.NAME}.")

    def texts(self, value: Any) -> dict[str, Any]:
        """The texts of one step."""
        raise BadRequest(f"Texts must be those of transition_texts. Received: a tag of the kind {self.NAME}.")

    def answers(self, description: Description, value: Any, overview: Mapping[str, Any]) -> dict[str, Any]:
        """All answers to a page about the value of one step, as JSON; by default `encoded` slices."""
        count = self.num_slices(description, value)
        slices: list[dict[str, Any]] = []
        size = 0
        for index in reversed(range(self.first_slice(description), count)):
            if self.LAST_SLICES is not None and slices and size > self.LAST_SLICES:
                return {"slices": [None] * (index + 1) + slices[::-1]}
            slices.append(encoded(self.slice(description, value, index)))
            size += len(slices[-1]["values"])
        return {"slices": [None] * (count - len(slices)) + slices[::-1]}


class ArrayKind(Kind):
    """A kind whose values are arrays of real numbers; by default the only slice is the whole array.

    Attributes:
        FINITE: whether NaN and infinities are rejected, as for numbers that are drawn as lengths of bars.
    """

    FINITE: ClassVar[bool] = False

    @abc.abstractmethod
    def form(self, description: Description, shape: tuple[int, ...]) -> tuple[str, bool]:
        """The shape in words, and whether a shape is valid."""

    def decode(self, description: Description, tensor: NDArray[Any]) -> NDArray[Any]:
        if not (np.issubdtype(tensor.dtype, np.floating) or np.issubdtype(tensor.dtype, np.integer)):
            raise UnknownContent(f"{self.NAME} must be real numbers. Received: {tensor.dtype}.")
        axes, fits = self.form(description, tensor.shape)
        if not fits or not tensor.size:
            raise UnknownContent(f"{self.NAME} must have the shape {axes}. Received: {tensor.shape}.")
        if self.FINITE and not np.isfinite(tensor).all():
            raise UnknownContent(f"{self.NAME} must be finite. Received: {np.sum(~np.isfinite(tensor))} that are not.")
        return tensor

    def num_slices(self, description: Description, value: Any) -> int:
        return 1

    def slice(self, description: Description, value: Any, index: int) -> NDArray[np.float32]:
        return np.asarray(value, np.float32)


class SequencesKind(ArrayKind):
    """A kind whose values are arrays (sequences, ...); a slice is one sequence."""

    def num_slices(self, description: Description, value: Any) -> int:
        return len(value)

    def slice(self, description: Description, value: Any, index: int) -> NDArray[np.float32]:
        require_within(index, 0, len(value) - 1)
        return np.asarray(value[index], np.float32)


def encoded(values: NDArray[np.float32]) -> dict[str, Any]:
    """An array in JSON: its shape, and little-endian float32, deflated, in base64."""
    packed = zlib.compress(values.astype("<f4").tobytes(), 9)
    return {"shape": values.shape, "values": base64.b64encode(packed).decode()}


def decoded_text(name: str, tensor: NDArray[Any]) -> dict[str, Any]:
    """The JSON object in a string tensor; raises UnknownContent if there is none."""
    text = tensor.item() if tensor.shape == () else None
    if not isinstance(text, bytes | str):
        raise UnknownContent(f"{name} must be a JSON text. Received: {tensor.dtype} of shape {tensor.shape}.")
    return parsed(text)


def require_numbers(name: str, numbers: NDArray[Any], outputs: int) -> None:
    """Raises UnknownContent unless all numbers are indices of outputs."""
    if not np.isin(numbers, np.arange(outputs)).all():
        raise UnknownContent(
            f"{name}: the first row of a block must be integers in [0, {outputs}), the numbers of outputs. Received: "
            f"{numbers.min():g} to {numbers.max():g}."
        )


def require_within(index: int, low: int, high: int) -> None:
    """Raises BadRequest for an index outside of [low, high]."""
    if not low <= index <= high:
        raise BadRequest(f"index must lie in [{low}, {high}]. Received: {index}.")
