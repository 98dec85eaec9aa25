r"""How much each step of a sequence added to one output of any recurrent network.

A step that is not there is replaced by a reference vector r, at the inputs of the first recurrent layer (behind the
Embedding, if there is one). With f the output in question, x the sequence and r the reference at every step:

- telescoping: $a_t = f(x_1 \dots x_t, r \dots r) - f(x_1 \dots x_{t-1}, r \dots r)$. The sum is f(x) - f(r), whatever
  the network. Interactions go to the later of two steps: in "not good" all that "not" does to "good" is the share of
  "good". That is the bias of the order, which is the order of the inputs in every layer, Bidirectional included.
- path integral: $a_t = \langle x_t - r, \int_0^1 \nabla_{x_t} f(r + s (x - r))\, ds \rangle$, integrated gradients
  (Sundararajan, Taly and Yan, ICML 2017), by Gauss-Legendre quadrature. It has no order; its sum misses f(x) - f(r) by
  the error of the quadrature.
- occlusion: $a_t = f(x) - f(x$ with r at step t). The sum is not f(x) - f(r), and says by how much.
- contributions: those of `analysis.contributions`, exact, of a network that is affine in its state.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from keras_interp_rnn._checks import integer, is_integer
from keras_interp_rnn._network import AffineReading, alphabet_of, as_array, read_texts
from keras_interp_rnn._network.chain import Chain, open_chain
from keras_interp_rnn._results import Result
from keras_interp_rnn._types import Array
from keras_interp_rnn.analysis.isan.contributions import contributions
from keras_interp_rnn.analysis.state_regularized.tokens import Names
from keras_interp_rnn.analysis.traces import token_names

METHODS = ("auto", "telescoping", "path_integral", "occlusion", "contributions")
ROWS = 4096
"""Sequences that are run at a time, at most."""

WORKING_MEMORY = 2**27
"""Bytes of inputs that are run at a time; the layers need a few times as much."""


@dataclass(frozen=True, eq=False, repr=False)
class Attribution(Result):
    r"""Shares of the steps of each sequence in one output.

    Attributes:
        shares: (batch, time); 0 where a step is masked.
        output: (batch,), the output that is explained, in float64; of "contributions" of a network that ends in an
            activation the logit before it.
        reference_output: (batch,), the output where no step is there; of "contributions" what no symbol adds.
        residual: largest |reference_output + sum of shares - output|: rounding for "telescoping" and "contributions",
            the error of the quadrature for "path_integral", the gap for "occlusion".
        difference: largest difference between `output` (through the activation, if there is one after it) and what the
            network computes in its own dtype; NaN of a stateful ISAN, which is not run.
        method: the method that was used.
        tokens: for each sequence the names of what is read at its steps, for views; () where they are not known.

    Example: see `attribution`.
    """

    shares: Array
    output: Array
    reference_output: Array
    residual: float
    difference: float
    method: str
    tokens: tuple[tuple[str, ...], ...] = ()

    def top(self, num_steps: int = 5, *, sequence: int = 0) -> list[tuple[int, float]]:
        """The steps with the largest shares by absolute value, the largest first.

        Args:
            num_steps: maximum number of steps.
            sequence: which sequence of the batch.

        Returns:
            [(step, share), ...]; steps count from 0.
        """
        integer("num_steps", num_steps, 0)
        row = self.shares[sequence]
        return [(int(t), float(row[t])) for t in np.argsort(-np.abs(row), kind="stable")[:num_steps]]


def attribution(
    network: Any,
    inputs: ArrayLike | str | Sequence[Any],
    *,
    target: int,
    method: str = "auto",
    reference: ArrayLike | None = None,
    mask: ArrayLike | None = None,
    num_points: int = 32,
    alphabet: Names | None = None,
) -> Attribution:
    r"""Splits one output of a recurrent network among the steps that it read.

    Args:
        network: a model that is a chain of layers: any that treat steps one by one (not Conv1D, which mixes them),
            recurrent layers (SimpleRNN, GRU, LSTM, Bidirectional, this package's, `keras.layers.RNN` of any cell or
            cells), a head of any layers; or a recurrent layer, whose last state is then explained.
        inputs: (batch, time) ids or (batch, time, features), as the network reads them; or a text or texts of one
            length, strings or lists of symbols, where there is an alphabet.
        target: the output that is explained, an index; of a model with one output 0.
        method: "telescoping", "path_integral", "occlusion" or "contributions", as described in the module; "auto" is
            "contributions" for an ISAN with a head that is affine before its activation, else "telescoping".
        reference: (features,), what the first recurrent layer reads where a step is not there; None for zeros, and for
            the mean of all symbols where it reads symbols, as an ISAN does.
        mask: bool (batch, time), of a layer; a model makes its own.
        num_points: points of the quadrature of "path_integral".
        alphabet: names of the ids; by default those that a model carries (`datasets.text.Alphabet`), or the ids.

    Returns:
        `Attribution`.

    Raises:
        ValueError: if the network is no such chain, is stateful or draws noise; if an input or a weight is not finite;
            if an argument is out of range.

    Units: those of the output.
    Exactness: float64 wherever a cell's equations are known, and of Dense, softmax and mean pooling in the head; all
        else runs in its own dtype. `residual` and `difference` report the rest.
    Example:

        >>> from keras_interp_rnn import analysis
        >>> model = keras.Sequential([keras.layers.Embedding(9, 3), keras.layers.GRU(4), keras.layers.Dense(1)])
        >>> split = analysis.attribution(model, np.array([[1, 5, 2]]), target=0)
        >>> split.shares.shape, split.residual < 1e-12
        ((1, 3), True)

    Reference: Sundararajan, Taly and Yan, ICML 2017, arXiv:1703.01365; Zeiler and Fergus, ECCV 2014, for occlusion.
    """
    names = alphabet_of(network) if alphabet is None else alphabet
    inputs = read_texts(inputs, names)
    if method not in METHODS:
        raise ValueError(f"method must be one of {', '.join(map(repr, METHODS))}. Received: {method!r}.")
    replaces = mask is not None or reference is not None
    if method == "contributions" and replaces:
        given = ", ".join(name for name, value in (("mask", mask), ("reference", reference)) if value is not None)
        raise ValueError(
            "Contributions need nothing in place of a step, so they have no reference, and no mask. Received: "
            f"method='contributions' with {given}. Leave them out, or choose 'telescoping'."
        )
    if method == "contributions" or (method == "auto" and not replaces and _is_affine(network)):
        found = _by_contributions(network, inputs, target)
        return replace(found, tokens=token_names(inputs, names))
    method = "telescoping" if method == "auto" else method
    chain = open_chain(network, inputs, mask)
    output = _check_target(target, chain.output.shape[-1])
    absent = _check_reference(reference, chain)
    whole = _outputs(chain, chain.inputs, chain.mask)[:, output]
    nothing = _outputs(chain, np.broadcast_to(absent, chain.inputs.shape), chain.mask)[:, output]
    if method == "path_integral":
        shares = _path_integral(chain, absent, output, num_points)
    else:
        shares = _by_replacing(chain, absent, output, telescoping=method == "telescoping")
    shares = np.where(chain.mask, shares, 0.0)
    residual = float(np.abs(nothing + shares.sum(axis=1) - whole).max())
    difference = float(np.abs(whole - chain.output[:, output]).max())
    return Attribution(shares, whole, nothing, residual, difference, method, token_names(inputs, names))


def _is_affine(network: Any) -> bool:
    try:
        AffineReading(network).forwards().readout()
    except ValueError:
        return False
    return True


def _by_contributions(network: Any, inputs: ArrayLike, target: int) -> Attribution:
    rows = as_array("The inputs", inputs)
    if not rows.ndim or not len(rows):
        raise ValueError(f"The inputs are sequences (batch, time), at least one. Received: shape={rows.shape}.")
    splits = [contributions(network, row, targets=-1) for row in rows]
    output = _check_target(target, splits[0].logits.shape[-1])
    shares = np.stack([split.values[1:, 0, output] for split in splits])
    nothing = np.array([split.bias[output] + split.values[0, 0, output] for split in splits])
    whole = np.array([split.logits[0, output] for split in splits])
    residual = float(np.abs(nothing + shares.sum(axis=1) - whole).max())
    logits = np.array([split.logits[0] for split in splits])
    found = AffineReading(network).last_outputs(rows, logits)
    apart = np.nan if found is None else np.abs(found[1] - found[0])[:, output].max()
    return Attribution(shares, whole, nothing, residual, float(apart), "contributions")


def _outputs(chain: Chain, x: Array, mask: NDArray[np.bool_]) -> Array:
    """The outputs of many sequences, some at a time."""
    rows = _rows_at_a_time(chain)
    return np.concatenate([chain.run(x[i : i + rows], mask[i : i + rows]) for i in range(0, len(x), rows)])


def _rows_at_a_time(chain: Chain) -> int:
    return max(1, min(ROWS, WORKING_MEMORY // chain.inputs[0].nbytes))


def _by_replacing(chain: Chain, absent: Array, output: int, *, telescoping: bool) -> Array:
    shares = []
    for x, mask in zip(chain.inputs, chain.mask, strict=True):
        steps, values = np.arange(len(x)), np.empty(len(x) + 1)
        for rows in np.array_split(np.arange(len(x) + 1), -(-(len(x) + 1) // _rows_at_a_time(chain))):
            there = steps < rows[:, None] if telescoping else steps != rows[:, None]
            changed = np.where(there[:, :, None], x, absent)
            values[rows] = chain.run(changed, np.tile(mask, (len(rows), 1)))[:, output]
        shares.append(np.diff(values) if telescoping else values[-1] - values[:-1])
    return np.stack(shares)


def _path_integral(chain: Chain, absent: Array, output: int, num_points: int) -> Array:
    if not is_integer(num_points) or num_points < 1:
        raise ValueError(f"num_points is a number, at least 1. Received: num_points={num_points!r}. Pass an int > 0.")
    points, weights = np.polynomial.legendre.leggauss(num_points)
    change = chain.inputs - absent
    total = np.zeros_like(change)
    for point, weight in zip((points + 1) / 2, weights / 2, strict=True):
        total += weight * chain.gradient(absent + point * change, chain.mask, output)[1]
    return (total * change).sum(axis=-1)


def _check_target(target: Any, outputs: int) -> int:
    if not is_integer(target) or not 0 <= target < outputs:
        raise ValueError(f"target is an output, an int in [0, {outputs - 1}]. Received: target={target!r}.")
    return operator.index(target)


def _check_reference(reference: ArrayLike | None, chain: Chain) -> Array:
    features = chain.inputs.shape[-1]
    if reference is None:
        return np.full(features, 1 / features) if chain.reads_symbols else np.zeros(features)
    array = as_array("The reference", reference).astype(np.float64)
    if array.shape != (features,) or not np.isfinite(array).all():
        raise ValueError(
            f"The reference is one finite vector ({features},), as the first recurrent layer reads it. Received: "
            f"shape={array.shape}. Pass the embedding of a token, for one."
        )
    return array
