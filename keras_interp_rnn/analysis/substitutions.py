"""Outputs of any network if one symbol of a text is replaced or left out: every changed text is read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax

from keras_interp_rnn._checks import integer, integers
from keras_interp_rnn._network import (
    as_array,
    check_finite,
    gives_probabilities,
    is_text,
    predict_on_batch,
    read_text,
    resolve_names,
)
from keras_interp_rnn._results import Result, output_name, symbol_name
from keras_interp_rnn._types import Array, TextModel

BATCH = 256
"""Maximum number of texts that are read at a time."""

WORKING_MEMORY = 2**26
"""Bytes of outputs that are computed at a time, all steps counted."""


@dataclass(frozen=True, eq=False, repr=False)
class Substitutions(Result):
    """The outputs for a text, and for each text that differs from it in one symbol.

    Attributes:
        symbols: (T,), the text.
        alternatives: (A,), the symbols that replace each symbol in turn.
        outputs: (T, A, outputs); `outputs[t, a]` for the text with `alternatives[a]` at position t, from 0.
        original: (outputs,), for the text without a change.
        alphabet: names of the symbols, for views; None for their ids.
        are_probabilities: whether the outputs come from a softmax; otherwise they are logits.
        deleted: (T, outputs), for the text without the symbol at each position; None if the network reads only texts of
            one length, or the text has one symbol.

    Example: see `substitutions`.
    """

    symbols: NDArray[np.int64]
    alternatives: NDArray[np.int64]
    outputs: Array
    original: Array
    alphabet: Sequence[str] | None = None
    are_probabilities: bool = False
    deleted: Array | None = None

    def probabilities(self) -> tuple[Array, Array]:
        """`outputs` and `original` as probabilities; a single output as it is."""
        if len(self.original) == 1 or self.are_probabilities:
            return self.outputs, self.original
        return softmax(self.outputs, axis=-1), softmax(self.original)

    def changes(self, output: int | None = None) -> Array:
        """(T, A), the change of an output's probability, or of the value of a single output, by each replacement.

        Args:
            output: by default the most probable one.

        Raises:
            ValueError: if there is no such output.
        """
        changed, original = self.probabilities()
        chosen = int(original.argmax()) if output is None else integer("output", output, 0, below=len(original))
        return np.asarray(changed[..., chosen] - original[chosen])

    def top(self, num_substitutions: int = 5, *, output: int | None = None) -> list[tuple[int, int, float]]:
        """The replacements that change an output most.

        Args:
            num_substitutions: maximum number of replacements.
            output: as for `changes`.

        Returns:
            [(position, replacement, change), ...], the largest absolute change first.
        """
        integer("num_substitutions", num_substitutions, 0)
        changes = np.where(self.symbols[:, None] == self.alternatives, 0.0, self.changes(output))
        order = np.argsort(-np.abs(changes), axis=None, kind="stable")[:num_substitutions]
        places = np.unravel_index(order, changes.shape)
        return [(int(t), int(self.alternatives[a]), float(changes[t, a])) for t, a in zip(*places, strict=True)]

    def name(self, symbol: int) -> str:
        """The displayed name of a symbol; its id if there is no alphabet."""
        return symbol_name(self.alphabet, symbol)

    def output_name(self, output: int) -> str:
        """The displayed name of an output: that of a symbol if their numbers agree, otherwise its index."""
        return output_name(self.alphabet or (), output, len(self.original))


def substitutions(
    network: Any,
    symbols: ArrayLike | str,
    *,
    alternatives: ArrayLike | str | None = None,
    target: int = -1,
    alphabet: Sequence[str] | None = None,
) -> Substitutions:
    r"""The outputs of a network for all texts in which one symbol of a text is replaced or deleted.

    Args:
        network: any model that reads ids (batch, time) and has one output, (batch, outputs) or (batch, time, outputs),
            and is not stateful.
        symbols: int (T,), one text; or a string or a list of symbols, if there is an alphabet; for a `Recognizer` a
            word.
        alternatives: int (A,), or a string or a list of symbols, the replacements tried at each position; by default
            the whole alphabet.
        target: the step whose outputs count if there are outputs at every step; negative from the end.
        alphabet: names of the ids; by default the names that the model carries (`datasets.text.Alphabet`).

    Returns:
        `Substitutions`; `print` lists the replacements with the largest effect, and `views.save` makes a page on which
        you can try each.

    Raises:
        ValueError: if the network is not a model, does not read ids or is stateful, if the text is empty, if there is
            neither an alphabet nor alternatives, if a symbol is not in the alphabet, or if a weight is not finite.

    Exactness: the network itself reads every text, in its own dtype.
    Cost: T (A + 1) texts.
    Example:

        >>> from keras_interp_rnn import analysis, presets
        >>> reader = presets.load("text-isan").model
        >>> changed = analysis.substitutions(reader, "the return val", alternatives="aeiou")
        >>> changed.outputs.shape
        (14, 5, 27)
        >>> position, symbol, change = changed.top(1)[0]
        >>> position, changed.name(symbol), round(change, 2)
        (10, 'i', -0.42)
    """
    if not isinstance(network, TextModel):
        raise ValueError(f"`network` must be a model. Received: {network!r}. Put the layer into one.")
    check_finite(network)
    network, names = resolve_names(network, alphabet)
    text = _ids("symbols", read_text("A text", symbols, names))
    if any(getattr(part, "stateful", False) for part in (network, *getattr(network, "layers", []))):
        raise ValueError(
            f"A model must read each text from the start. Received: {network.name}, which carries its state over "
            "batches (stateful=True). Rebuild it without stateful, and give it the same weights."
        )
    if alternatives is None and names is None:
        raise ValueError(
            "The symbols to be tried must be known. Received: neither alternatives nor an alphabet. Pass one of them."
        )
    by_name = names is not None and (alternatives is None or is_text(alternatives))
    others = _ids("alternatives", names.ids(alternatives) if names is not None and by_name else alternatives)
    # The tokens before and after a text stay.
    places = np.flatnonzero(~np.isin(text, () if names is None else names.frame))
    [original], num_bytes = _outputs(network, text[None], target)
    outputs = np.empty((len(text) * len(others), len(original)))
    batch = max(1, min(BATCH, WORKING_MEMORY // num_bytes))
    place, other = np.divmod(np.arange(len(outputs)), len(others))
    changes = np.isin(place, places) & (text[place] != others[other])
    outputs[~changes] = original
    changing = np.flatnonzero(changes)
    for rows in (changing[start : start + batch] for start in range(0, len(changing), batch)):
        changed = np.repeat(text[None], len(rows), axis=0)
        changed[np.arange(len(rows)), place[rows]] = others[other[rows]]
        outputs[rows], _ = _outputs(network, changed, target)
    are_probabilities = gives_probabilities(network, np.concatenate([original[None], outputs]))
    deleted = _deleted(network, text, places, original, target)
    table = outputs.reshape(len(text), len(others), -1)
    return Substitutions(text, others, table, original, names, are_probabilities, deleted)


def _deleted(
    network: Any, text: NDArray[np.int64], places: NDArray[np.int64], original: Array, target: int
) -> Array | None:
    """The outputs for the text without each of its symbols; None if the network cannot read it."""
    shape = getattr(network, "input_shape", None)
    fixed = isinstance(shape, tuple) and len(shape) > 1 and shape[1] is not None
    if fixed or len(text) < 2 or target != -1:
        return None
    deleted = np.tile(original, (len(text), 1))
    for rows in np.array_split(places, -(-len(text) // BATCH)):
        if len(rows):
            deleted[rows], _ = _outputs(network, np.stack([np.delete(text, place) for place in rows]), target)
    return deleted


def _outputs(network: Any, ids: NDArray[np.int64], target: int) -> tuple[Array, int]:
    """The outputs (batch, outputs) at the target, and the bytes of the outputs of one text at all steps."""
    found = predict_on_batch(network, ids.astype(np.int32), len(ids))
    if isinstance(found, list | tuple | dict):
        raise ValueError(f"The model must have one output. Received: {network.name}, with {len(found)}. Choose one.")
    outputs = np.asarray(found)
    num_bytes = outputs.nbytes // len(ids)
    if outputs.ndim == 3:
        outputs = outputs[:, integer("target", target, -outputs.shape[1], below=outputs.shape[1])]
    if outputs.ndim != 2:
        raise ValueError(
            "The outputs of the model must have the shape (batch, outputs) or (batch, time, outputs). Received: "
            f"{outputs.shape}."
        )
    return outputs.astype(np.float64), num_bytes


def _ids(name: str, symbols: Any) -> NDArray[np.int64]:
    ids = as_array(name, symbols)
    if ids.ndim != 1 or not len(ids) or ids.dtype.kind not in "iu":
        raise ValueError(
            f"`{name}` must be integers, at least one, in one dimension. Received: {ids.dtype} of shape {ids.shape}. "
            "Pass the ids that the model reads, or a string and an alphabet."
        )
    return integers(name, ids, below=2**31).astype(np.int64)
