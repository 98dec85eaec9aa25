"""An Embedding that stores how words are encoded as ids, so that a saved model knows its alphabet."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import keras

from keras_interp_rnn.automata.machines import START, WordEncoding, checked_symbols

# Registered here, as words.py imports no Keras, so that layers of yours may have an encoding in their configuration.
keras.saving.register_keras_serializable(package="keras_interp_rnn")(WordEncoding)


@keras.saving.register_keras_serializable(package="keras_interp_rnn")
class SymbolEmbedding(keras.layers.Embedding):
    """An embedding that knows the symbol of each id, so that a model carries its alphabet.

    Args:
        alphabet: the symbols, ints or strings; symbol i has id i + 2, after padding and the start token.
        output_dim: size of the embedding.
        **kwargs: as `keras.layers.Embedding`; `input_dim` is the number of ids, and `mask_zero` True.

    Raises:
        ValueError: if the alphabet is empty, or has a symbol twice or one that is neither an int nor a string; for a
            different `input_dim` or `mask_zero`.

    Example:

    >>> embedding = SymbolEmbedding("ab", 4)
    >>> embedding.encoding.ids(["ab"]), tuple(embedding(np.array([[1, 2, 3]])).shape)
    (array([[1, 2, 3]], dtype=int32), (1, 3, 4))
    """

    def __init__(self, alphabet: Sequence[Any], output_dim: int, **kwargs: Any) -> None:
        self.alphabet = checked_symbols(alphabet)
        for name, value in (("input_dim", self.encoding.size), ("mask_zero", True)):  # both are in `get_config`
            received = kwargs.pop(name, value)
            if received != value:
                raise ValueError(
                    f"`{name}` must be {value}, as it follows from the alphabet. Received: {name}={received!r}. Leave "
                    "it out."
                )
        super().__init__(self.encoding.size, output_dim, mask_zero=True, **kwargs)

    @property
    def encoding(self) -> WordEncoding:
        """How words are encoded: with a start token and without an end token."""
        return WordEncoding.with_tokens(self.alphabet, start=True)

    @property
    def symbol_ids(self) -> dict[Hashable, int]:
        """Symbol -> id."""
        return self.encoding.symbol_ids

    @property
    def start_id(self) -> int:
        """Id of the start token."""
        return START

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "alphabet": list(self.alphabet)}
