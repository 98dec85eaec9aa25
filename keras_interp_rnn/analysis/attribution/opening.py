"""A network and its inputs as a function of vectors, and the vectors in place of those taken away."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, softmax

from keras_interp_rnn._arrays import as_array
from keras_interp_rnn._network import GivenAlphabet, is_text, read_text, resolve_alphabet
from keras_interp_rnn._network.agreement import nothing
from keras_interp_rnn._network.inputs import Reading, are_several, one_row
from keras_interp_rnn._network.prefixes import steps_before_output
from keras_interp_rnn._network.vectors import Network, open_network
from keras_interp_rnn._types import Array

ROWS = 4096
"""Maximum number of sequences that are run at a time."""

WORKING_MEMORY = 2**27
"""Bytes of inputs that are run at a time; the layers need a few times as much."""


def batch_of_one(network: Any, sequence: object, alphabet: GivenAlphabet | None) -> object:
    """One sequence of a network, with or without an axis of 1 for the batch, as a batch."""
    if are_several(sequence, network):
        return one_row(network, sequence)
    if is_text(sequence):
        return read_text("The sequence", sequence, resolve_alphabet(network, alphabet)[1])[None]
    given = as_array("The sequence", sequence)
    try:
        rank = len(network.inputs[0].shape)
    except (AttributeError, TypeError):  # a layer, or a model of no declared inputs
        are_ids = given.dtype.kind in "iu" and (given.ndim < 2 or (given.ndim == 2 and len(given) == 1))
        rank = 2 if are_ids else 3
    return given[None] if given.ndim == rank - 1 else given


MAX_APART = 5e-3
"""The largest difference of probabilities from those of the network, which may be of half precision; under a softmax
that makes none above a quarter, in parts of four times the largest one."""

UNITS = {"softmax": "logit", "sigmoid": "log-odds"}
"""Activation at the end of a network -> the unit of the outputs that are explained under it."""


def opened_for(reading: Reading, mask: Any, step: int, absent: Any) -> tuple[Network, str]:
    """The network as a function, and what of it is not run in float64; "" where all is."""
    network = open_network(
        reading.network, reading.arrays, reading.varies, step, mask=mask, absent=absent, own=reading.own
    )
    return network, f"; {network.by_keras}" if network.by_keras else ""


def as_explained(opened: Network, of: str) -> tuple[Network, Array, str, Array | None]:
    """The function that is explained, its outputs (batch, outputs), their unit, and the probabilities of logits.

    Args:
        of: "logit" for what a softmax or a sigmoid at the end makes probabilities of; "probability" for the outputs.
    """
    each, activation = np.arange(len(opened.inputs)), opened.activation
    if of == "logit" and activation:
        before = opened.before_activation()
        logits = outputs_of(before, before.inputs, each)
        probabilities = activated(logits, activation)
        apart = np.abs(probabilities - opened.output).max(axis=1)
        size = np.minimum(1, 4 * opened.output.max(axis=1)) if activation == "softmax" else 1
        if (apart <= MAX_APART * size).all():  # no other axis, and no mask
            return before, logits, UNITS[activation], probabilities
        activation = None
    return opened, outputs_of(opened, opened.inputs, each), "probability" if activation else "", None


def activated(logits: Array, activation: str) -> Array:
    """The probabilities that an activation makes of logits."""
    return np.asarray(softmax(logits, axis=-1) if activation == "softmax" else expit(logits))


def steps_that_count(opened: Network, absent: Array) -> NDArray[np.bool_]:
    """The steps (batch, time) that are read before what is explained, and differ from those in their place."""
    differs = (opened.inputs != absent).reshape(*opened.mask.shape, -1).any(axis=-1)
    return np.asarray(opened.mask & differs & steps_before_output(opened))


def outputs_of(opened: Network, x: Array, rows: NDArray[np.intp]) -> Array:
    """The outputs for rows (rows, time, ...), each in place of a sequence."""
    return np.concatenate([opened.run(x[part], rows[part]) for part in row_slices(opened, len(x))])


def row_slices(opened: Network, count: int) -> list[slice]:
    """Slices of so many sequences that are run at a time."""
    size = int(max(1, min(ROWS, WORKING_MEMORY // opened.inputs[0].nbytes)))
    return [slice(start, start + size) for start in range(0, count, size)]


def absent_vectors(reference: ArrayLike | None, inputs: Array, reads_symbols: bool) -> Array:
    """The vectors in place of steps that are not there, as the inputs."""
    if reference is None:
        return nothing(inputs, reads_symbols)
    shape, array = inputs.shape, as_array("The reference", reference).astype(np.float64)
    if array.shape not in [shape[start:] for start in (0, 1, 2)] or not np.isfinite(array).all():
        raise ValueError(
            f"`reference` must be a finite vector {shape[2:]}, or one for each step, {shape[1:]} or {shape}, as the "
            f"network reads them. Received: shape={array.shape}. Pass the embedding of a token, for instance."
        )
    return np.broadcast_to(array, shape)
