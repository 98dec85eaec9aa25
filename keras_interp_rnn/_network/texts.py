"""Texts as users pass them: to ids and back to names, by one rule for all functions.

The alphabet is the one that a user passes, else the one that a layer of the model carries. That is, passed or carried,

- an `Alphabet`; carried in its `layer` or in a `SymbolEmbedding`;
- a `TextVectorization` or `StringLookup` of Keras. A model that begins with one is read from the ids after it on;
- names of the ids: a sequence, or a mapping from symbols to ids or from ids to names.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, SupportsInt, cast

import keras
import numpy as np

from keras_interp_rnn._alphabet import Alphabet, distinct_names
from keras_interp_rnn._arrays import as_array
from keras_interp_rnn._backend.keras_quirks import nodes_of
from keras_interp_rnn._checks import is_integer
from keras_interp_rnn._network.text_layers import (
    TEXT_LAYERS,
    TextLayerAlphabet,
    after_text_layers,
    as_strings,
    is_text,
)
from keras_interp_rnn._program.graph import inputs_of
from keras_interp_rnn._results import visible
from keras_interp_rnn._types import AnyArray

GivenAlphabet = Any
"""An alphabet as users pass it: any of those above."""


def resolve_alphabet(
    network: object, given: GivenAlphabet | None = None, reads: int = 0
) -> tuple[Any, Alphabet | None]:
    """A network that reads ids, and its alphabet: the one given, else the one that it carries; None where it has none.

    Args:
        network: a model, a layer or a cell. A model of strings, which begins with a text layer, is read from after it.
        given: names of the ids.
        reads: of a model of several inputs the index of the one whose alphabet is asked for.

    Raises:
        ValueError: if what is given names nothing; for a preset in place of its model; as `after_text_layers`.
    """
    if not isinstance(network, keras.layers.Layer) and isinstance(getattr(network, "model", None), keras.Model):
        raise ValueError(f"A network must be a Keras model. Received: a {type(network).__name__}. Pass its `model`.")
    several = inputs_of(network)
    network, layer = after_text_layers(network, reads)
    if layer is not None:
        carried: Alphabet | None = alphabet_of(layer)
    else:
        carried = _of_input(network, reads) if len(several) > 1 else _carried(network)
    if given is None:
        return network, carried
    named = isinstance(given, Sequence | np.ndarray) and not isinstance(given, Alphabet)
    if carried is not None and named and len(given) < len(carried) and tuple(given) == carried.ordinary:
        return network, carried  # its symbols, without their tokens
    return network, alphabet_of(given)


def alphabet_of(given: GivenAlphabet) -> Alphabet:
    """The alphabet that a user or a layer gives; raises ValueError for anything else."""
    if isinstance(given, TEXT_LAYERS):
        return TextLayerAlphabet(given)
    carried = getattr(given, "alphabet", given)
    if isinstance(carried, Alphabet):
        return carried
    if isinstance(given, Mapping) and given:
        if all(map(is_integer, given.values())):
            return Alphabet(given)
        return Alphabet(distinct_names(given.values(), tuple(given)), ids=tuple(given))
    names = given.tolist() if isinstance(given, np.ndarray) and given.ndim == 1 else given
    are_names = isinstance(names, Sequence) and not isinstance(names, bytes) and len(names) > 0
    if not are_names or not all(isinstance(name, Hashable) for name in names):
        raise ValueError(
            f"`alphabet` must be an Alphabet, or name the ids: a list of names, or a mapping. Received: {given!r}. "
            "Pass one of these, or leave it out."
        )
    return Alphabet(distinct_names(names))


def _carried(model: object) -> Alphabet | None:
    """The alphabet that a layer of a model carries."""
    for part in getattr(model, "layers", []):
        if hasattr(part, "layers"):
            if (found := _carried(part)) is not None:
                return found
        elif isinstance(getattr(part, "alphabet", None), Alphabet):
            return alphabet_of(part)
    return None


def _of_input(model: Any, index: int) -> Alphabet | None:
    """The alphabet that a layer carries which reads an input of a model, given by its index."""
    reached = {id(model.inputs[index])}
    for part in model.layers:
        for node in nodes_of(part):
            read = [i for i, tensor in enumerate(node.input_tensors) if id(tensor) in reached]
            for place in read:
                found = _of_input(part, place) if hasattr(part, "layers") else getattr(part, "alphabet", None)
                if isinstance(found, Alphabet):
                    return found
            if read and isinstance(part, keras.layers.Identity):
                reached |= {id(tensor) for tensor in node.output_tensors}
    return None


def read_text(what: str, given: Any, alphabet: Alphabet | None, *, end: bool = True) -> AnyArray:
    """One text, ids or a string or a list of symbols, as an array of ids; without `end` as one that goes on.

    Raises:
        ValueError: as `as_array`; for a text without an alphabet; as `Alphabet.encode`.
    """
    given = as_strings(given)
    if isinstance(given, np.ndarray) and given.size == 1 and given.ndim != 1 and is_text(given):
        given = given.item()  # one text as a model of strings reads it
    if not is_text(given):
        return as_array(what, given)
    if not isinstance(given, str) and not all(isinstance(symbol, str) for symbol in given):
        raise ValueError(f"{what} must be one text. Received: {len(given)} lists of symbols. Pass one of them.")
    return np.asarray(_required(given, alphabet).encode(given, end=end))


def read_texts(given: Any, alphabet: Alphabet | None) -> Any:
    """A batch of texts as users pass it: texts as ids (batch, time), anything else as it is.

    Args:
        given: a string, or a list of strings or of lists of symbols; of symbols of several letters a list of strings
            is one text, unless strings are split into words. Numbers are not looked at.

    Raises:
        ValueError: for texts without an alphabet; as `Alphabet.encode_batch`.
    """
    given = as_strings(given)
    if not is_text(given):
        return given
    alphabet = _required(given, alphabet)
    return alphabet.encode_batch(batch_of(given, alphabet))


def batch_of(given: str | Sequence[str | Sequence[str]], alphabet: Alphabet) -> Sequence[str | Sequence[str]]:
    """Texts as a list of them, where one may be given by itself."""
    are_symbols = alphabet.split is None and not alphabet.is_characters and all(isinstance(x, str) for x in given)
    return cast(Sequence[str | Sequence[str]], [given] if isinstance(given, str) or are_symbols else given)


def _required(text: object, alphabet: Alphabet | None) -> Alphabet:
    if alphabet is None:
        raise ValueError(
            f"A text must come with an alphabet. Received: {text!r}, without one. Pass alphabet=..., or put "
            "`Alphabet.layer()` right after the input of the model."
        )
    return alphabet


def token_name(alphabet: Alphabet | None, token: SupportsInt) -> str:
    """The name of an id, or the id itself where there is no alphabet; raises ValueError for the id of no symbol."""
    return str(int(token)) if alphabet is None else str(alphabet.name(token))


def token_names(
    inputs: object, alphabet: Alphabet | None = None, *, backwards: bool = False
) -> tuple[tuple[str, ...], ...]:
    """The names of ids (batch, time), as views show them; () for any other input.

    Args:
        inputs: of a layer or model. alphabet: of the ids; None for the ids themselves.
        backwards: whether they are read from the last step to the first.

    Raises:
        ValueError: if an id has no name.
    """
    try:
        ids = as_array("Tokens", inputs)
    except ValueError:  # several inputs, or no numbers
        return ()
    if ids.ndim != 2 or not np.issubdtype(ids.dtype, np.integer):
        return ()
    shown = {token: visible(token_name(alphabet, token)) for token in np.unique(ids).tolist()}
    read = ids[:, ::-1] if backwards else ids
    return tuple(tuple(shown[token] for token in row) for row in read.tolist())
