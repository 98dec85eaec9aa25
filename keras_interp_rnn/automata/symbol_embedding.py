"""A Keras layer that carries how words are written in ids, so that a saved model says what it reads."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import keras

from keras_interp_rnn.automata.words import START, WordEncoding

# Here, as words.py knows no Keras: so a layer of one's own may have an encoding in its configuration.
keras.saving.register_keras_serializable(package="keras_interp_rnn")(WordEncoding)


@keras.saving.register_keras_serializable(package="keras_interp_rnn")
class SymbolEmbedding(keras.layers.Embedding):
    """An embedding that knows which symbol each id stands for, and so carries a model's alphabet with it.

    Args:
        alphabet: the symbols, ints or strings; symbol i has id i + 2, after padding and the start token.
        output_dim, **kwargs: as `keras.layers.Embedding`.

    Raises:
        ValueError: if the alphabet is empty, or holds a symbol twice or one that is neither int nor string.
    """

    def __init__(self, alphabet: Sequence[Any], output_dim: int, **kwargs: Any) -> None:
        self.alphabet = checked_symbols(alphabet)
        for name in ("input_dim", "mask_zero"):
            kwargs.pop(name, None)
        super().__init__(self.encoding.size, output_dim, mask_zero=True, **kwargs)

    @property
    def encoding(self) -> WordEncoding:
        """How words are written: a start token before them, no end token."""
        return WordEncoding.with_tokens(self.alphabet, start=True)

    @property
    def symbol_ids(self) -> dict[Hashable, int]:
        return self.encoding.symbol_ids

    @property
    def start_id(self) -> int:
        return START

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "alphabet": list(self.alphabet)}


def checked_symbols(alphabet: Iterable[Hashable]) -> tuple[Hashable, ...]:
    """The symbols of an alphabet that a model may carry, as it is saved: ints or strings."""
    symbols = tuple(alphabet) if isinstance(alphabet, Iterable) else ()
    if not symbols or not all(isinstance(s, (int, str)) for s in symbols) or len(set(symbols)) != len(symbols):
        raise ValueError(f"An alphabet holds different ints or strings. Received: alphabet={alphabet!r}.")
    return symbols
