"""A network and its inputs as a function of vectors, and the vectors in place of those taken away."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, softmax

from keras_interp_rnn._network import GivenNames, as_array, is_text, read_text, resolve_names
from keras_interp_rnn._network.agreement import nothing
from keras_interp_rnn._network.chain import Chain, NotAChain, open_chain
from keras_interp_rnn._network.prefixes import steps_before_output
from keras_interp_rnn._network.whole import Reading, Whole, are_several, as_model, one_row
from keras_interp_rnn._types import Array

Opened: TypeAlias = Chain | Whole
"""A network as a function of the vectors that it reads."""

ROWS = 4096
"""Maximum number of sequences that are run at a time."""

WORKING_MEMORY = 2**27
"""Bytes of inputs that are run at a time; the layers need a few times as much."""


def batch_of_one(network: Any, sequence: object, alphabet: GivenNames | None) -> object:
    """One sequence of a network, with or without an axis of 1 for the batch, as a batch."""
    if are_several(sequence, network):
        return one_row(network, sequence)
    if is_text(sequence):
        return read_text("The sequence", sequence, resolve_names(network, alphabet)[1])[None]
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


def opened_for(reading: Reading, mask: Any, step: int, absent: Any) -> tuple[Opened, str]:
    """The network as a function, and why it is not run in float64; "" where it is."""
    network, inputs, how = reading.network, reading.arrays, {"absent": absent, "own": reading.own}
    try:
        chain = open_chain(network, inputs[0] if len(inputs) == 1 else inputs, mask, step, **how)
        if mask is not None or all(
            given is None or _is_padding(np.asarray(inputs[0]), ~given) for given in chain.masks
        ):
            return chain, ""
        reason = "; Keras runs it in its own dtype, as its masks may be made of more than the padding"
    except NotAChain as error:
        if not hasattr(network, "outputs"):
            network, inputs = as_model(network, inputs[0], mask)
            if len(network.outputs) > 1:
                raise
        reason = f"; Keras runs it in its own dtype, as it is not one layer after the other: {error.received}"
    return Whole(network, inputs, reading.varies, step, **how), reason


def _is_padding(ids: NDArray[Any], masked: NDArray[np.bool_]) -> bool:
    """Whether steps that are masked are those of one id. Those of vectors may be any."""
    of_others = bool(np.isin(ids[~masked], ids[masked]).any()) if ids.shape == masked.shape else False
    return ids.shape != masked.shape or (len(np.unique(ids[masked])) < 2 and not of_others)


def as_explained(opened: Opened, of: str) -> tuple[Opened, Array, str, Array | None]:
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


def steps_that_count(opened: Opened, absent: Array) -> NDArray[np.bool_]:
    """The steps (batch, time) that are read before what is explained, and differ from those in their place."""
    differs = (opened.inputs != absent).reshape(*opened.mask.shape, -1).any(axis=-1)
    counts = steps_before_output(opened) if isinstance(opened, Chain) else np.ones(opened.mask.shape[1], bool)
    return np.asarray(opened.mask & differs & counts)


def outputs_of(opened: Opened, x: Array, rows: NDArray[np.intp]) -> Array:
    """The outputs for rows (rows, time, ...), each in place of a sequence."""
    return np.concatenate([opened.run(x[part], rows[part]) for part in row_slices(opened, len(x))])


def row_slices(opened: Opened, count: int) -> list[slice]:
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
