r"""Text that a character model writes: symbol by symbol, each drawn from what the model predicts.

With the logits l of the next symbol and the inverse temperature $\beta$, symbol c has the probability

    p(c) = exp(beta l_c) / sum_i exp(beta l_i).

States are carried from step to step, so a text of T symbols takes T steps of every recurrent layer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from keras_interp_rnn.analysis._reading import alphabet_of, encoded
from keras_interp_rnn.analysis._step_by_step import Stepper


@overload
def generate(
    model: Any,
    prompt: str,
    length: int,
    inverse_temperature: float = ...,
    seed: int | None = ...,
    alphabet: Sequence[str] | None = ...,
) -> str: ...


@overload
def generate(
    model: Any,
    prompt: ArrayLike,
    length: int,
    inverse_temperature: float = ...,
    seed: int | None = ...,
    alphabet: None = ...,
) -> NDArray[np.int32]: ...


@overload
def generate(
    model: Any,
    prompt: ArrayLike,
    length: int,
    inverse_temperature: float = ...,
    seed: int | None = ...,
    *,
    alphabet: Sequence[str],
) -> str: ...


def generate(
    model: Any,
    prompt: str | ArrayLike,
    length: int,
    inverse_temperature: float = 1.0,
    seed: int | None = 0,
    alphabet: Sequence[str] | None = None,
) -> str | NDArray[np.int32]:
    r"""Continues a text by what a model predicts.

    Args:
        model: Sequential or functional, from ids (batch, time) to logits (or probabilities, by a softmax) of the next
            symbol; with any recurrent layers of Keras or of this package, in a stack too. Batch size, length and
            `stateful` of its layers do not matter; the states they carry are neither read nor changed.
        prompt: what the text begins with, at least one symbol, read from the layers' initial states; a string, or int
            (time,).
        length: how many symbols are added.
        inverse_temperature: $\beta$ >= 0; 1 draws from the model's own probabilities, 0 draws every symbol alike,
            infinity takes the most probable symbol.
        seed: of the draws; None for other draws at each call.
        alphabet: symbols by id, `datasets.text.Alphabet` or `datasets.text.ALPHABET`; by default the one that the model
            carries.

    Returns:
        The prompt and what follows it: a string if the prompt is one or if an alphabet is given, else int32
        (time + length,).

    Raises:
        ValueError: if the prompt is empty or has other symbols, if a string comes without an alphabet, if the alphabet
            has another size than there are logits, if a layer besides the recurrent ones mixes time steps, if a logit
            is NaN.

    Exactness: every logit is that of the model on the whole text, to the rounding of its dtype; the layers' own cells
        run, step by step, outside training.

    Example:

        analysis.generate(model, "the return val", 200, inverse_temperature=2.0)
    """
    if isinstance(length, bool) or not hasattr(length, "__index__") or int(length) < 0:
        raise ValueError(f"length must be an integer >= 0. Received: length={length!r}.")
    if not inverse_temperature >= 0:
        raise ValueError(
            f"inverse_temperature must be a number >= 0. Received: inverse_temperature={inverse_temperature!r}. Pass 1 "
            "to draw from the model's own probabilities."
        )
    names = alphabet_of(model) if alphabet is None else alphabet
    begin = encoded(prompt, names) if isinstance(prompt, str) else np.asarray(prompt)
    if begin.ndim != 1 or not begin.size or not np.issubdtype(begin.dtype, np.integer):
        raise ValueError(
            "A prompt is a string, or the integers of one text, shape (time,), at least one symbol. Received: "
            f"{begin.dtype} of shape {begin.shape}."
        )
    stepper = Stepper(model, begin)
    if names is not None and len(names) != stepper.outputs:
        raise ValueError(
            f"An alphabet has a symbol for each of the model's {stepper.outputs} logits. Received: one of {len(names)} "
            "symbols. Pass the alphabet the model was trained on."
        )
    if begin.min() < 0 or begin.max() >= stepper.outputs:
        raise ValueError(
            f"A prompt is made of the symbols that the model predicts, [0, {stepper.outputs}). Received: {begin.min()} "
            f"to {begin.max()}. Encode it with the alphabet the model was trained on."
        )
    stepper.check(begin)
    rng = np.random.default_rng(seed)
    written = begin.tolist()
    for symbol in written[: len(written) if length else 0]:
        logits = stepper.read(symbol)
    for left in range(int(length), 0, -1):
        written.append(_drawn(logits, float(inverse_temperature), rng))
        if left > 1:
            logits = stepper.read(written[-1])
    if isinstance(prompt, str) or alphabet is not None:
        assert names is not None
        return "".join(names[symbol] for symbol in written)
    return np.array(written, np.int32)


def _drawn(logits: NDArray[np.float64], inverse_temperature: float, rng: np.random.Generator) -> int:
    """A symbol, drawn with the probabilities softmax(inverse_temperature * logits)."""
    largest = logits.max()
    if not np.isfinite(largest):
        raise ValueError(f"The logits of a next symbol are numbers. Received: {largest}. Has the state overflowed?")
    if np.isinf(inverse_temperature):
        return int(logits.argmax())
    weights, possible = np.zeros(len(logits)), logits > -np.inf
    weights[possible] = np.exp(inverse_temperature * (logits[possible] - largest))
    cumulated = weights.cumsum()
    return int(np.searchsorted(cumulated, rng.random() * cumulated[-1], side="right"))
