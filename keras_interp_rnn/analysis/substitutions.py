"""Outputs of any network if one symbol of a text is replaced or left out: every changed text is read."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, softmax

from keras_interp_rnn._alphabet import Alphabet, token_ids
from keras_interp_rnn._arrays import as_array, check_finite
from keras_interp_rnn._checks import integer, integers
from keras_interp_rnn._network import (
    GivenAlphabet,
    are_quantities,
    gives_probabilities,
    is_text,
    predict_on_batch,
    read_text,
    resolve_alphabet,
    share_no_probability,
)
from keras_interp_rnn._network.inputs import Reading, are_several, one_row, read_inputs
from keras_interp_rnn._network.interface import last_activation
from keras_interp_rnn._network.vectors import masks_of, steps_read
from keras_interp_rnn._outputs import GivenOutputs, output_names, two_classes
from keras_interp_rnn._program.graph import is_stateful
from keras_interp_rnn._results import (
    WORD,
    Column,
    Result,
    Table,
    Tag,
    View,
    masked_steps,
    output_name,
    quoted,
    symbol_name,
    text_of,
    texts,
    verdict,
    verdict_between,
    view,
    visible,
)
from keras_interp_rnn._types import Array, TextModel
from keras_interp_rnn.analysis.attribution.wording import unit_of

BATCH = 256
"""Maximum number of texts that are read at a time."""

WORKING_MEMORY = 2**26
"""Bytes of outputs that are computed at a time, all steps counted."""


BETWEEN_CLASSES = {"linear": "log-odds", "sigmoid": "probability"}
"""Last activation -> what a single output between two classes is."""

MOVED = 0.1
"""Least change of a probability that has a bar of full length."""


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
        read: bool (T,), False at steps that the network itself masks, such as padding: nothing is tried there, and
            `outputs` and `deleted` are `original`. None if the masks are not known.
        output_names: of all outputs, with units; () if they have no names of their own.
        tried: bool (T,), the positions at which a symbol was replaced or deleted: symbols before and after a text stay.
        unit: "log-odds" or "probability" of a single output between two classes that have names, otherwise "".
        class_names: of both; () if they are not known.
        values: whether several outputs share no probability: quantities, or those of sigmoids.

    Example: see `substitutions`.
    """

    title: ClassVar[str] = "What if a symbol were another"

    symbols: NDArray[np.int64]
    alternatives: NDArray[np.int64]
    outputs: Array
    original: Array
    alphabet: Sequence[str] | None = None
    are_probabilities: bool = False
    deleted: Array | None = None
    read: NDArray[np.bool_] | None = None
    output_names: tuple[str, ...] = ()
    tried: NDArray[np.bool_] | None = None
    unit: str = ""
    class_names: tuple[str, ...] = ()
    values: bool = False

    def probabilities(self) -> tuple[Array, Array]:
        """`outputs` and `original` as probabilities; a single output, and outputs that share none, as they are."""
        if len(self.original) == 1 or self.are_probabilities or self.values:
            return self.outputs, self.original
        return softmax(self.outputs, axis=-1), softmax(self.original)

    def changes(self, output: int | None = None) -> Array:
        """(T, A), the change of an output's probability, or of its value if it has none, by each replacement.

        Args:
            output: by default the most probable one, or the largest.

        Raises:
            ValueError: if there is no such output.
        """
        changed, original = self.probabilities()
        chosen = int(original.argmax()) if output is None else integer("output", output, 0, below=len(original))
        return np.asarray(changed[..., chosen] - original[chosen])

    def top(self, num_substitutions: int = 5, *, output: int | None = None) -> list[tuple[int, int, float]]:
        """The replacements that change an output most, of symbols that are read.

        Args:
            num_substitutions: maximum number of replacements.
            output: as for `changes`.

        Returns:
            [(position, replacement, change), ...], the largest absolute change first.
        """
        integer("num_substitutions", num_substitutions, 0)
        changes, same = self.changes(output), self.symbols[:, None] == self.alternatives
        changes = np.where(same, 0.0, changes)
        order = np.argsort(np.where(same, 1.0, -np.abs(changes)), axis=None, kind="stable")
        order = order[self._changes_at()[order // len(self.alternatives)]]
        places = np.unravel_index(order[:num_substitutions], changes.shape)
        return [(int(t), int(self.alternatives[a]), float(changes[t, a])) for t, a in zip(*places, strict=True)]

    def _changes_at(self) -> NDArray[np.bool_]:
        """Bool (T,), the positions at which a symbol was replaced."""
        there = self.read if self.tried is None else self.tried  # what is not read is not tried
        return np.ones(len(self.symbols), bool) if there is None else there

    def name(self, symbol: int) -> str:
        """The displayed name of a symbol; its id if there is no alphabet."""
        return symbol_name(self.alphabet, symbol)

    def output_name(self, output: int) -> str:
        """The displayed name of an output: its own, or that of a symbol if their numbers agree, or its index."""
        return output_name(self.output_names or self.alphabet or (), output, len(self.original))

    def table(self) -> Table:
        """A row for each replacement of a symbol that is read, with the change of the answer."""
        _, usual = self.probabilities()
        first, single = int(usual.argmax()), len(usual) == 1
        name = self.output_name(first)
        if self.values:
            output, answer = name, f"{name} {usual[first]:.4g}"
        elif single:
            output, answer = visible(self.output_names[0]) if self.output_names else "the output", f"{usual[0]:.4f}"
            if self.class_names:
                part = float(expit(usual[0])) if self.unit == "log-odds" else float(usual[0])
                output, answer = f"the {self.unit} of {output}", verdict_between(self.class_names, part)
        else:
            output, answer = f"probability of {name!r}", verdict(name, float(usual[first]), len(usual))
        of_parts = not (single or self.values) or self.unit == "probability"
        read = text_of(self.alphabet, self.symbols if self.read is None else self.symbols[self.read])
        if len(read) > WORD:  # cut between words, if there are any
            read = f"…{read[1 - WORD :].partition(' ')[2] or read[1 - WORD :]}"
        changes, same = self.changes(), self.symbols[:, None] == self.alternatives
        places, others = np.nonzero(~same & self._changes_at()[:, None])
        order = np.argsort(-np.abs(changes[places, others]), kind="stable")
        places, others = places[order], others[order]
        values, strongest, unit = changes[places, others].tolist(), "", unit_of(self.unit)
        if values and values[0]:
            old, new = self.name(int(self.symbols[places[0]])), self.name(int(self.alternatives[others[0]]))
            size = f"{100 * values[0]:+.1f} points" if of_parts else f"{values[0]:+.4g}{f' {unit}' if unit else ''}"
            place = f"{quoted(new)} in place of {quoted(old)} at position {places[0] + 1}"
            strongest = f"; {place} changes {output if of_parts or unit or self.values else 'it'} most, by {size}"
        heading = f"change of {output}"
        return Table(
            f"after {read!r}: {answer}{strongest}",
            (
                Column("position", (places + 1).tolist(), form="d"),
                texts("symbol", [self.name(int(self.symbols[t])) for t in places]),
                texts("instead", [self.name(int(self.alternatives[a])) for a in others]),
                Column(heading, values, unit, "+.1%" if of_parts else "+.4g"),
            ),
            bars=heading,
            scale=1.0 if unit else MOVED if of_parts else 0.0,
            between=" → ",
        )

    def tag(self) -> Tag:
        """Logits for the TensorBoard plugin, the original first; probabilities become their logarithms."""
        parts = [self.original[None], self.outputs.reshape(-1, len(self.original))]
        if self.deleted is not None:
            parts.append(self.deleted)
        rows = np.concatenate(parts)
        if self.are_probabilities and len(self.original) > 1:
            rows = np.log(np.maximum(rows, 1e-30))
        masked = masked_steps(self.read)
        fixed = [step for step in masked_steps(self.tried) if step not in masked]
        return rows.astype(np.float32), {
            "kind": "substitutions",
            "symbols": [self.name(int(symbol)) for symbol in self.symbols],
            "alternatives": [self.name(int(symbol)) for symbol in self.alternatives],
            "outputs": [self.output_name(output) for output in range(len(self.original))],
            "deletions": self.deleted is not None,
            **({"masked": masked} if masked else {}),
            **({"fixed": fixed} if fixed else {}),
            **({"values": True} if self.values else {}),
        }

    def page_view(self) -> View | None:
        """The text with each symbol replaced or deleted, in the plugin's view; None if nothing can be replaced."""
        if not (strongest := self.top(1)):
            return None
        [(position, symbol, _)] = strongest
        return view("reads", self.tag(), picked=position, instead=self.name(symbol))


def substitutions(
    network: Any,
    symbols: ArrayLike | str | Sequence[object] | Mapping[str, object],
    *,
    alternatives: ArrayLike | str | None = None,
    target: int = -1,
    alphabet: GivenAlphabet | None = None,
    outputs: GivenOutputs | None = None,
    with_respect_to: int | str | None = None,
) -> Substitutions:
    r"""The outputs of a network for all texts in which one symbol of a text is replaced or deleted.

    Steps that the network itself masks, such as padding, are not symbols of the text: nothing is put in their place.

    Args:
        network: any model that reads ids (batch, time) and has one output, (batch, outputs) or (batch, time, outputs),
            and is not stateful.
        symbols: int (T,), one text; or a string or a list of symbols, if there is an alphabet; for a `Recognizer` a
            word. For a model with several inputs a list, or a dict by their names, of a text and of what else the
            model reads with it.
        alternatives: int (A,), or a string or a list of symbols, the replacements tried at each position; by default
            the whole alphabet, without symbols that the network masks.
        target: the step whose outputs count if there are outputs at every step; negative from the end.
        alphabet: names of the ids; by default the alphabet that the model carries.
        outputs: names of the outputs: `datasets.Outputs` or a list; by default those that a model carries.
        with_respect_to: as in `analysis.attribution`, index or name of the input whose symbols are replaced.

    Returns:
        `Substitutions`; `print` lists the replacements with the largest effect, and `views.save` makes a page on which
        you can try each.

    Raises:
        ValueError: if the network is not a model, does not read ids or is stateful, if the text is empty or padding
            alone, if there is neither an alphabet nor alternatives, if a symbol is not in the alphabet, or if a weight
            is not finite.

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
    given = network
    if are_several(symbols, network):
        reading = read_inputs(network, one_row(network, symbols), alphabet, with_respect_to)
        network, names = network if reading.own else reading.network, reading.names
        text = _ids("symbols", reading.arrays[reading.varies][0])
        run = functools.partial(_with_others, network, reading)
    else:
        network, names = resolve_alphabet(network, alphabet)
        text, reading = _ids("symbols", read_text("A text", symbols, names)), None
        run = functools.partial(predict_on_batch, network)
    if is_stateful(network):
        raise ValueError(
            f"A model must read each text from the start. Received: {network.name}, which carries its state over "
            "batches (stateful=True). Rebuild it without stateful, and give it the same weights."
        )
    if alternatives is None and names is None:
        raise ValueError(
            "The symbols to be tried must be known. Received: neither alternatives nor an alphabet. Pass one of them."
        )
    others = _ids("alternatives", _alternatives(alternatives, names))
    found = run(text[None].astype(np.int32), 1)
    [original], num_bytes = _at(network, found, target)
    step = target if np.ndim(found) == 3 else -1
    read, masked = _masked(network, text, others if alternatives is None else others[:0], names, reading, step)
    others = others[~np.isin(others, masked)]
    if read is not None and not read.any():
        raise ValueError(
            f"A text must have a symbol that is read. Received: {len(text)} symbols, all of which are masked in "
            f"{network.name}. Pass a text that is not padding alone."
        )
    # The tokens before and after a text stay, and steps that are not read.
    stay = np.isin(text, () if names is None else token_ids(names))
    places = np.flatnonzero(~stay if read is None else ~stay & read)
    ran = np.empty((len(text) * len(others), len(original)))
    batch = max(1, min(BATCH, WORKING_MEMORY // num_bytes))
    place, other = np.divmod(np.arange(len(ran)), len(others))
    changes = np.isin(place, places) & (text[place] != others[other])
    ran[~changes] = original
    changing = np.flatnonzero(changes)
    for rows in (changing[start : start + batch] for start in range(0, len(changing), batch)):
        changed = np.repeat(text[None], len(rows), axis=0)
        changed[np.arange(len(rows)), place[rows]] = others[other[rows]]
        ran[rows], _ = _at(network, run(changed.astype(np.int32), len(rows)), target)
    are_probabilities = gives_probabilities(network, np.concatenate([original[None], ran]))
    shape = getattr(network, "input_shape", None)
    if reading is not None and reading.own is None:
        shape = tuple(network.inputs[reading.varies].shape)
    fixed = isinstance(shape, tuple) and len(shape) > 1 and shape[1] is not None
    deleted = None
    if not fixed and len(text) > 1 and target == -1:
        deleted = np.tile(original, (len(text), 1))
        for rows in np.array_split(places, -(-len(text) // BATCH)):
            if len(rows):
                without = np.stack([np.delete(text, place) for place in rows]).astype(np.int32)
                deleted[rows], _ = _at(network, run(without, len(rows)), target)
    table = ran.reshape(len(text), len(others), -1)
    named = output_names(given, outputs, len(original))
    classes = two_classes(given, outputs, len(original))
    unit = "" if are_quantities(given, outputs) else BETWEEN_CLASSES.get(last_activation(network) or "", "")
    return Substitutions(
        text,
        others,
        table,
        original,
        names,
        are_probabilities,
        deleted,
        read,
        named,
        tried=np.isin(np.arange(len(text)), places),
        unit=unit if classes else "",
        class_names=classes if unit else (),
        values=len(original) > 1 and share_no_probability(given, outputs, len(original)),
    )


def _alternatives(given: Any, alphabet: Alphabet | None) -> Any:
    """The ids of symbols: of names by the alphabet, and of None all that texts are made of."""
    if alphabet is None or not (given is None or is_text(given)):
        return given
    return alphabet.ids_of(alphabet.ordinary if given is None else given)


def _with_others(network: object, reading: Reading, ids: NDArray[np.int32], count: int) -> Any:
    """The outputs for changed texts (count, time), each with the same other inputs."""
    arrays = [ids if i == reading.varies else np.repeat(x, count, axis=0) for i, x in enumerate(reading.arrays)]
    return predict_on_batch(network, reading.as_read(arrays), count)


def _masked(
    network: object,
    text: NDArray[np.int64],
    others: NDArray[np.int64],
    names: Alphabet | None,
    reading: Reading | None,
    step: int,
) -> tuple[NDArray[np.bool_] | None, NDArray[np.int64]]:
    """Which steps (T,) of a text a network reads, and which of other symbols it masks.

    None, and no symbols, for a model that Keras cannot turn into a graph.
    """
    none = others[:0]
    try:
        reading = read_inputs(network, text[None].astype(np.int32), names) if reading is None else reading
        [read] = steps_read(reading, step)
        if not read.any() or not masks_of(reading):
            return read, none
        place, masked = int(np.argmax(read)), [np.zeros(0, bool)]
        for part in np.array_split(others, -(-len(others) // BATCH) or 1):
            changed = np.repeat(text[None], len(part), axis=0).astype(np.int32)
            changed[:, place] = part
            given = [np.repeat(x, len(part), axis=0) for x in reading.arrays]
            given[reading.varies] = changed
            if len(part):
                kept = np.array(masks_of(reading._replace(arrays=given)))[:, :, place]
                kept = kept[~kept.all(axis=1)]  # the others do not depend on the symbol, as those of another input
                masked.append(np.full(len(part), len(kept) > 0) & ~kept.any(axis=0))
        return read, others[np.concatenate(masked)]
    except Warning:
        raise
    except Exception:  # whatever the call of a subclass raises that is no graph
        return None, none


def _at(network: Any, found: Any, target: int) -> tuple[Array, int]:
    """Outputs (batch, outputs) at the target, and the bytes of the outputs of one text at all steps."""
    if isinstance(found, list | tuple | dict):
        raise ValueError(f"The model must have one output. Received: {network.name}, with {len(found)}. Choose one.")
    outputs = np.asarray(found)
    num_bytes = outputs.nbytes // len(outputs)
    if outputs.ndim == 3:
        outputs = outputs[:, integer("target", target, -outputs.shape[1], below=outputs.shape[1])]
    if outputs.ndim != 2:
        raise ValueError(
            "The outputs of the model must have the shape (batch, outputs) or (batch, time, outputs). Received: "
            f"{outputs.shape}."
        )
    return outputs.astype(np.float64), num_bytes


def _ids(name: str, symbols: object) -> NDArray[np.int64]:
    ids = as_array(name, symbols)
    if ids.ndim != 1 or not len(ids) or ids.dtype.kind not in "iu":
        raise ValueError(
            f"`{name}` must be integers, at least one, in one dimension. Received: {ids.dtype} of shape {ids.shape}. "
            "Pass the ids that the model reads, or a string and an alphabet."
        )
    return integers(name, ids, below=2**31).astype(np.int64)
