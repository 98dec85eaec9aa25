"""Layers that carry names, so that a saved model knows the symbols of its ids, and what its outputs are."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import keras

from keras_interp_rnn._alphabet import Alphabet, of_words, with_token_ids
from keras_interp_rnn._checks import invalid
from keras_interp_rnn._outputs import Outputs

# Registered here, as their modules import no Keras.
register = keras.saving.register_keras_serializable
register(package="keras_interp_rnn")(Alphabet)
register(package="keras_interp_rnn")(Outputs)


@register(package="keras_interp_rnn")
class AlphabetLayer(keras.layers.Identity):
    """An identity layer that saves the symbols of ids with a model: `Alphabet.layer()`.

    Args:
        alphabet: an `Alphabet`.
        **kwargs: as `keras.layers.Layer`.
    """

    def __init__(self, alphabet: Alphabet, **kwargs: object) -> None:
        super().__init__(**kwargs)
        if not isinstance(alphabet, Alphabet):
            raise invalid("alphabet", "an Alphabet", alphabet, "Use its layer().")
        self.alphabet = alphabet

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "alphabet": keras.saving.serialize_keras_object(self.alphabet)}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> AlphabetLayer:
        return cls(**{**config, "alphabet": keras.saving.deserialize_keras_object(config.get("alphabet"))})


@register(package="keras_interp_rnn")
class OutputsLayer(keras.layers.Identity):
    """An identity layer that saves the names of outputs with a model: `Outputs.layer()`.

    Args:
        output_names: `Outputs`.
        **kwargs: as `keras.layers.Layer`.
    """

    def __init__(self, output_names: Outputs, **kwargs: object) -> None:
        super().__init__(**kwargs)
        if not isinstance(output_names, Outputs):
            raise invalid("output_names", "Outputs", output_names, "Use its layer().")
        self.output_names = output_names

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "output_names": keras.saving.serialize_keras_object(self.output_names)}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> OutputsLayer:
        return cls(**{**config, "output_names": keras.saving.deserialize_keras_object(config.get("output_names"))})


@register(package="keras_interp_rnn")
class SymbolEmbedding(keras.layers.Embedding):
    """An embedding that knows the symbol of each id, so that a model carries its alphabet.

    Args:
        alphabet: the symbols, ints or strings; symbol i has id i + 2, after padding and the start token.
        output_dim: size of the embedding.
        **kwargs: as `keras.layers.Embedding`; `input_dim` is the number of ids, and `mask_zero` True.

    Attributes:
        alphabet: `Alphabet.with_tokens(alphabet, start=True)`.

    Raises:
        ValueError: if the alphabet is empty, or has a symbol twice or one that is neither an int nor a string; for a
            different `input_dim` or `mask_zero`.

    Example:

    >>> embedding = SymbolEmbedding("ab", 4)
    >>> embedding.alphabet.encode("ab"), tuple(embedding(np.array([[1, 2, 3]])).shape)
    (array([1, 2, 3], dtype=int32), (1, 3, 4))
    """

    def __init__(self, alphabet: Sequence[Hashable], output_dim: int, **kwargs: object) -> None:
        self.alphabet = Alphabet.with_tokens(alphabet, start=True)
        self.alphabet.get_config()  # raises for symbols that cannot be saved
        for name, value in (("input_dim", len(self.alphabet)), ("mask_zero", True)):  # both are in `get_config`
            received = kwargs.pop(name, value)
            if received != value:
                raise ValueError(
                    f"`{name}` must be {value}, as it follows from the alphabet. Received: {name}={received!r}. Leave "
                    "it out."
                )
        super().__init__(len(self.alphabet), output_dim, mask_zero=True, **kwargs)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "alphabet": list(self.alphabet.ordinary)}


@register("keras_interp_rnn", "Vocabulary")
class _Vocabulary(Alphabet):
    """The words of a model that was saved by version 0.3 or earlier."""

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Alphabet:
        return of_words(config["names"])


@register("keras_interp_rnn", "WordEncoding")
class _WordEncoding(Alphabet):
    """The symbols of an automaton in a layer of a user's that was saved by version 0.3 or earlier."""

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Alphabet:
        ids = dict(zip(config["alphabet"], config["codes"], strict=True))
        return with_token_ids(ids, config["start"], config["end"])
