"""What a network would say if one symbol of a text were another: every replacement is read, whatever the network is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax

from keras_interp_rnn._checks import integer, is_integer
from keras_interp_rnn._network import (
    as_array,
    check_finite,
    gives_probabilities,
    is_text,
    predict_on_batch,
    read_text,
    resolve_names,
)
from keras_interp_rnn._results import Result, symbol_name
from keras_interp_rnn._types import Array

BATCH = 256
"""Texts that are read at a time, at most."""

WORKING_MEMORY = 2**26
"""Bytes of outputs, of all steps, that are computed at a time."""


@dataclass(frozen=True, eq=False, repr=False)
class Substitutions(Result):
    """The outputs for a text, and for each text that differs from it in one symbol.

    Attributes:
        symbols: (T,), the text.
        alternatives: (A,), the symbols that are read in the place of each.
        outputs: (T, A, outputs); `outputs[t, a]` are those for the text with `alternatives[a]` at position t, from 0.
        original: (outputs,), those for the text as it is.
        alphabet: names of the symbols, for views; None for their ids.
        are_probabilities: whether the outputs are those of a softmax; else they are logits.
        deleted: (T, outputs), those for the text without the symbol at each position; None where the network reads
            texts of one length alone, or the text is of one symbol.

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
        """`outputs` and `original` as probabilities; of a single output the output itself."""
        if len(self.original) == 1 or self.are_probabilities:
            return self.outputs, self.original
        return softmax(self.outputs, axis=-1), softmax(self.original)

    def changes(self, output: int | None = None) -> Array:
        """(T, A): by how much each replacement changes the probability of an output; of a single output its value.

        Args:
            output: by default the most probable one.

        Raises:
            ValueError: if there is no such output.
        """
        changed, usual = self.probabilities()
        chosen = int(usual.argmax()) if output is None else output
        if not is_integer(chosen) or not 0 <= chosen < len(usual):
            raise ValueError(f"Outputs are 0 to {len(usual) - 1}. Received: output={output!r}.")
        return changed[..., chosen] - usual[chosen]

    def top(self, num_substitutions: int = 5, *, output: int | None = None) -> list[tuple[int, int, float]]:
        """The replacements that change an output most.

        Args:
            num_substitutions: maximum number of replacements.
            output: as for `changes`.

        Returns:
            [(position, symbol read instead, change), ...], the largest change first, of either sign.
        """
        integer("num_substitutions", num_substitutions, 0)
        changes = np.where(self.symbols[:, None] == self.alternatives, 0.0, self.changes(output))
        order = np.argsort(-np.abs(changes), axis=None, kind="stable")[:num_substitutions]
        places = np.unravel_index(order, changes.shape)
        return [(int(t), int(self.alternatives[a]), float(changes[t, a])) for t, a in zip(*places, strict=True)]

    def name(self, symbol: int) -> str:
        """How a symbol is shown: its name, a space as "␣"; without an alphabet its id."""
        return symbol_name(self.alphabet, symbol)

    def output_name(self, output: int) -> str:
        """How an output is shown: by the name of a symbol, where the alphabet has as many, else by its number."""
        named = self.alphabet is not None and len(self.alphabet) == len(self.original)
        return self.name(output) if named else f"output {output}"


def substitutions(
    network: Any,
    symbols: ArrayLike | str,
    *,
    alternatives: ArrayLike | str | None = None,
    target: int = -1,
    alphabet: Sequence[str] | None = None,
) -> Substitutions:
    r"""The outputs of a network if one symbol of a text is another, or missing: T (A + 1) texts changed in one place.

    Args:
        network: any model that reads ids (batch, time) and has one output, (batch, outputs) or (batch, time, outputs);
            not a stateful one.
        symbols: int (T,), one text; or a string or a list of symbols, where there is an alphabet. Of a `Recognizer` a
            word.
        alternatives: int (A,), or a string or a list of symbols: those that are tried in each place; by default the
            whole alphabet.
        target: of outputs for every step: which one, negative from the end.
        alphabet: names of the ids; by default those that the model carries (`datasets.text.Alphabet`).

    Returns:
        `Substitutions`; `print` lists the strongest, and `views.save` makes a page in which each can be tried.

    Raises:
        ValueError: if it is no model, does not read ids or is stateful, if the text is empty, if there is neither an
            alphabet nor alternatives, if a symbol is not in the alphabet, if a weight is not finite.

    Exactness: every text is read by the network itself, in its own dtype.
    Cost: T A texts.
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
    if not hasattr(network, "predict_on_batch"):
        raise ValueError(f"Texts are read by a model. Received: {network!r}. Put the layer into one.")
    check_finite(network)
    network, names = resolve_names(network, alphabet)
    text = _ids("A text", read_text("A text", symbols, names))
    if getattr(network, "stateful", False) or any(
        getattr(layer, "stateful", False) for layer in getattr(network, "layers", [])
    ):
        raise ValueError(
            f"Texts are read from the start. Received: {network.name}, whose state is carried over batches "
            "(stateful=True). Build the model anew without it, and give it the same weights."
        )
    if alternatives is None and names is None:
        raise ValueError(
            "The symbols to be tried must be known. Received: neither alternatives nor an alphabet. Pass one of them."
        )
    by_name = names is not None and (alternatives is None or is_text(alternatives))
    others = _ids("Alternatives", names.ids(alternatives) if names is not None and by_name else alternatives)
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
    return Substitutions(
        text,
        others,
        outputs.reshape(len(text), len(others), -1),
        original,
        names,
        are_probabilities,
        _deleted(network, text, places, original, target),
    )


def _deleted(
    network: Any, text: NDArray[np.int64], places: NDArray[np.int64], original: Array, target: int
) -> Array | None:
    """The outputs for the text without each of its symbols; None where it cannot be read."""
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
    """The outputs (batch, outputs) at the target, and the bytes that the network needs for those of one text."""
    found = predict_on_batch(network, ids.astype(np.int32), len(ids))
    if isinstance(found, list | tuple | dict):
        raise ValueError(f"A network has one output. Received: {network.name}, with {len(found)}. Choose one of them.")
    outputs = np.asarray(found)
    num_bytes = outputs.nbytes // len(ids)
    if outputs.ndim == 3:
        if not is_integer(target) or not -outputs.shape[1] <= target < outputs.shape[1]:
            raise ValueError(f"A target is a step of the text of {outputs.shape[1]}. Received: target={target!r}.")
        outputs = outputs[:, target]
    if outputs.ndim != 2:
        raise ValueError(f"Outputs are (batch, outputs) or (batch, time, outputs). Received: shape {outputs.shape}.")
    return outputs.astype(np.float64), num_bytes


def _ids(what: str, given: Any) -> NDArray[np.int64]:
    ids = as_array(what, given)
    if ids.ndim != 1 or not len(ids) or not np.issubdtype(ids.dtype, np.integer):
        raise ValueError(
            f"{what} must be integers, at least one, in one dimension. Received: {ids.dtype} of shape {ids.shape}. "
            "Pass the ids that the model reads, or a string and an alphabet."
        )
    if ids.min() < 0 or ids.max() >= 2**31:
        raise ValueError(f"{what} are ids of at least 0, below 2^31. Received: from {ids.min()} to {ids.max()}.")
    return ids.astype(np.int64)
