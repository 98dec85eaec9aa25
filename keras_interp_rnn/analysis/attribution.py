r"""Attribution: the share of each step of a sequence in one output of any recurrent network.

A step is taken away by putting a reference vector r in its place, at the inputs of the first recurrent layer (after the
Embedding, if there is one). With f the output that is explained, x the sequence and r the reference at every step:

- telescoping: $a_t = f(x_1 \dots x_t, r \dots r) - f(x_1 \dots x_{t-1}, r \dots r)$. The sum is f(x) - f(r), whatever
  the network. Interactions count for the later of two steps: in "not good" all that "not" does to "good" is in the
  share of "good". Steps are in the order of the inputs, for Bidirectional layers too.
- path integral: $a_t = \langle x_t - r, \int_0^1 \nabla_{x_t} f(r + s (x - r))\, ds \rangle$, integrated gradients
  (Sundararajan, Taly and Yan, ICML 2017), by Gauss-Legendre quadrature. It depends on no order; its sum misses
  f(x) - f(r) by the error of the quadrature.
- occlusion: $a_t = f(x) - f(x$ with r at step t). The sum need not be f(x) - f(r).
- contributions: the terms of `analysis.contributions`, exact if the network is affine in its state.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax

from keras_interp_rnn._checks import choice, integer
from keras_interp_rnn._network import (
    AffineReading,
    GivenNames,
    as_array,
    gives_probabilities,
    read_text,
    read_texts,
    resolve_names,
    token_names,
)
from keras_interp_rnn._network.chain import Chain, open_chain
from keras_interp_rnn._results import Result, output_name
from keras_interp_rnn._types import Array
from keras_interp_rnn.analysis.isan.contributions import contributions

METHODS = ("auto", "telescoping", "path_integral", "occlusion", "contributions")
ROWS = 4096
"""Maximum number of sequences that are run at a time."""

MANY_OUTPUTS, TOP = 64, 16
"""Above 64 outputs a view has the 16 most probable ones alone."""

WORKING_MEMORY = 2**27
"""Bytes of inputs that are run at a time; the layers need a few times as much."""


@dataclass(frozen=True, eq=False, repr=False)
class Attribution(Result):
    r"""Shares of the steps of each sequence in one output.

    Attributes:
        shares: (batch, time); 0 at masked steps.
        output: (batch,), the output that is explained, in float64; with "contributions" the logit before the activation
            at the end of the network, if there is one.
        reference_output: (batch,), the output with no step there; with "contributions" the part due to no symbol.
        residual: largest |reference_output + sum of shares - output|: rounding for "telescoping" and "contributions",
            the error of the quadrature for "path_integral", the gap for "occlusion".
        difference: largest difference between `output` (after the activation) and the output that the network computes
            in its own dtype; NaN for a stateful ISAN, which is not run.
        method: the method that was used.
        tokens: for each sequence the names of what it reads at each step, for views; () if they are not known.

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
    alphabet: GivenNames | None = None,
    tokens: GivenNames | None = None,
) -> Attribution:
    r"""Splits one output of a recurrent network among the steps that it read.

    Args:
        network: a model that is a chain of layers that treat steps one by one (not Conv1D, which mixes them), recurrent
            layers (SimpleRNN, GRU, LSTM, Bidirectional, this package's, `keras.layers.RNN` of any cell or cells), and a
            head of any layers; or a recurrent layer, whose last state is then explained.
        inputs: (batch, time) ids or (batch, time, features), as the network reads them; or a text or texts, strings or
            lists of symbols, if the ids have names; of one length, unless the names have padding.
        target: index of the output that is explained; 0 for a model with one output.
        method: "telescoping", "path_integral", "occlusion" or "contributions", as described in the module. "auto" is
            "contributions" if these are exact given the inputs alone, as for an ISAN, in both directions or under a
            mean too, with a head that is affine before its activation; otherwise "telescoping".
        reference: (features,), input of the first recurrent layer in place of a step; None for zeros, or for the mean
            of all symbols if the layer reads symbols, as an ISAN does.
        mask: bool (batch, time), False where a layer does not read a step; a model computes its own.
        num_points: points of the quadrature of "path_integral".
        alphabet, tokens: names of the ids, by one of the two: a sequence, a mapping, an `Alphabet`, a `Vocabulary` or a
            text layer of Keras; by default the names that a model carries, or the ids.

    Returns:
        `Attribution`.

    Raises:
        ValueError: if the network is not such a chain, is stateful or draws noise; if an input or a weight is not
            finite; if an argument is out of range.

    Units: of the output.
    Exactness: float64 for cells whose equations are known, and for Dense, softmax and mean pooling in the head; other
        layers are run and differentiated in their own dtype. `residual` and `difference` report the errors.
    Example:

        >>> from keras_interp_rnn import analysis
        >>> model = keras.Sequential([keras.layers.Embedding(9, 3), keras.layers.GRU(4), keras.layers.Dense(1)])
        >>> split = analysis.attribution(model, np.array([[1, 5, 2]]), target=0)
        >>> split.shares.shape, split.residual < 1e-12
        ((1, 3), True)

    Reference: Sundararajan, Taly and Yan, ICML 2017, arXiv:1703.01365; Zeiler and Fergus, ECCV 2014, for occlusion.
    """
    if alphabet is not None and tokens is not None:
        raise ValueError("Names must be given once. Received: `alphabet` and `tokens`. Leave one of them out.")
    network, names = resolve_names(network, tokens if alphabet is None else alphabet)
    inputs = read_texts(inputs, names)

    def choose(outputs: Array) -> list[int]:
        return [integer("target", target, 0, below=outputs.shape[-1])]

    found = _split(network, inputs, choose, method, reference, mask, num_points)
    arrays = found.shares[..., 0], found.output[:, 0], found.reference_output[:, 0]
    return Attribution(*arrays, found.residual, found.difference, found.method, token_names(inputs, names))


@dataclass(frozen=True, eq=False, repr=False)
class TopAttribution(Result):
    r"""Shares of the steps of one text in the most probable outputs of a network.

    Attributes:
        tokens: (T,), the names of what is read.
        top: (K,), the outputs, the most probable first.
        predicted: (K,), their probabilities by a softmax; the value of a single output.
        shares: (T, K). reference_output: (K,), the outputs with no step there.
        outputs: the names of all outputs.
        residual, method: as of `Attribution`.
    """

    tokens: tuple[str, ...]
    top: NDArray[np.int64]
    predicted: Array
    shares: Array
    reference_output: Array
    outputs: tuple[str, ...]
    residual: float
    method: str


def top_attribution(
    network: Any, text: ArrayLike | str, *, method: str = "auto", alphabet: GivenNames | None = None
) -> TopAttribution:
    """Splits the outputs after one text among its steps: all outputs, or the 16 most probable of more than 64.

    Args:
        network, method, alphabet: as `attribution`.
        text: ids (time,), or a string or a list of symbols, if the ids have names.

    Raises:
        ValueError: as `attribution`.
    """
    network, names = resolve_names(network, alphabet)
    ids = read_text("A text", text, names)[None]
    found = _split(network, ids, _most_probable, method)
    whole = found.all_outputs
    if whole.shape[1] > 1 and (found.method == "contributions" or not gives_probabilities(network, whole)):
        whole = softmax(whole, axis=-1)
    num = whole.shape[1]
    outputs = tuple("the output" if num == 1 else output_name(names, output, num) for output in range(num))
    [tokens] = token_names(ids, names)
    arrays = found.top, whole[0, found.top], found.shares[0], found.reference_output[0]
    return TopAttribution(tokens, *arrays, outputs, found.residual, found.method)


def _most_probable(outputs: Array) -> NDArray[np.int64]:
    return np.argsort(-outputs[0], kind="stable")[: TOP if outputs.shape[1] > MANY_OUTPUTS else None]


class _Split(NamedTuple):
    """Shares (batch, time, K) in the outputs `top`, all outputs, and the outputs `top` with no step there."""

    shares: Array
    top: NDArray[np.int64]
    all_outputs: Array
    reference_output: Array
    difference: float
    method: str

    @property
    def output(self) -> Array:
        return self.all_outputs[:, self.top]

    @property
    def residual(self) -> float:
        return float(np.abs(self.reference_output + self.shares.sum(axis=1) - self.output).max())


def _split(
    network: Any,
    inputs: Any,
    choose: Callable[[Array], Sequence[int] | NDArray[np.int64]],
    method: str,
    reference: ArrayLike | None = None,
    mask: ArrayLike | None = None,
    num_points: int = 32,
) -> _Split:
    """The shares in the outputs that `choose` selects from all outputs (batch, outputs)."""
    choice("method", method, METHODS)
    unused = [name for name, value in (("mask", mask), ("reference", reference)) if value is not None]
    if method == "contributions" and unused:
        raise ValueError(
            "Contributions put nothing in place of a step, so mask and reference must be None. Received: "
            f"method='contributions' with {', '.join(unused)}. Leave them out, or choose 'telescoping'."
        )
    if method == "contributions" or (method == "auto" and not unused and _splits_exactly(network)):
        return _by_contributions(network, inputs, choose)
    method = "telescoping" if method == "auto" else method
    chain = open_chain(network, inputs, mask)
    top = np.asarray(choose(chain.output), np.int64)
    absent = _check_reference(reference, chain)
    whole = _outputs(chain, chain.inputs, chain.mask)
    without_steps = _outputs(chain, np.broadcast_to(absent, chain.inputs.shape), chain.mask)[:, top]
    if method == "path_integral":
        shares = np.stack([_path_integral(chain, absent, int(output), num_points) for output in top], axis=-1)
    else:
        shares = _by_replacing(chain, absent, top, telescoping=method == "telescoping")
    shares = np.where(chain.mask[..., None], shares, 0.0)
    difference = float(np.abs(whole - chain.output)[:, top].max())
    return _Split(shares, top, whole, without_steps, difference, method)


def _splits_exactly(network: Any) -> bool:
    try:
        return AffineReading(network).splits()
    except ValueError:
        return False


def _by_contributions(network: Any, inputs: ArrayLike, choose: Callable[[Array], Any]) -> _Split:
    rows = as_array("The inputs", inputs)
    if not rows.ndim or not len(rows):
        raise ValueError(f"The inputs must be at least one sequence (batch, time). Received: shape={rows.shape}.")
    splits = [contributions(network, row, targets=-1) for row in rows]
    logits = np.stack([split.logits[0] for split in splits])
    top = np.asarray(choose(logits), np.int64)
    shares = np.stack([split.values[1:, 0, top] for split in splits])
    without_symbols = np.stack([(split.bias + split.values[0, 0])[top] for split in splits])
    found = AffineReading(network).last_outputs(rows, logits)
    difference = np.nan if found is None else np.abs(found[1] - found[0])[:, top].max()
    return _Split(shares, top, logits, without_symbols, float(difference), "contributions")


def _outputs(chain: Chain, x: Array, mask: NDArray[np.bool_]) -> Array:
    rows = _rows_at_a_time(chain)
    return np.concatenate([chain.run(x[i : i + rows], mask[i : i + rows]) for i in range(0, len(x), rows)])


def _rows_at_a_time(chain: Chain) -> int:
    return int(max(1, min(ROWS, WORKING_MEMORY // chain.inputs[0].nbytes)))


def _by_replacing(chain: Chain, absent: Array, outputs: NDArray[np.int64], *, telescoping: bool) -> Array:
    shares = []
    for x, mask in zip(chain.inputs, chain.mask, strict=True):
        steps, values = np.arange(len(x)), np.empty((len(x) + 1, len(outputs)))
        for rows in np.array_split(np.arange(len(x) + 1), -(-(len(x) + 1) // _rows_at_a_time(chain))):
            there = steps < rows[:, None] if telescoping else steps != rows[:, None]
            changed = np.where(there[:, :, None], x, absent)
            values[rows] = chain.run(changed, np.tile(mask, (len(rows), 1)))[:, outputs]
        shares.append(np.diff(values, axis=0) if telescoping else values[-1] - values[:-1])
    return np.stack(shares)


def _path_integral(chain: Chain, absent: Array, output: int, num_points: int) -> Array:
    points, weights = np.polynomial.legendre.leggauss(integer("num_points", num_points))
    change = chain.inputs - absent
    total = np.zeros_like(change)
    for point, weight in zip((points + 1) / 2, weights / 2, strict=True):
        total += weight * chain.gradient(absent + point * change, chain.mask, output)[1]
    return np.asarray((total * change).sum(axis=-1))


def _check_reference(reference: ArrayLike | None, chain: Chain) -> Array:
    features = chain.inputs.shape[-1]
    if reference is None:
        return np.full(features, 1 / features) if chain.reads_symbols else np.zeros(features)
    array = as_array("The reference", reference).astype(np.float64)
    if array.shape != (features,) or not np.isfinite(array).all():
        raise ValueError(
            f"`reference` must be a finite vector ({features},), as the first recurrent layer reads it. Received: "
            f"shape={array.shape}. Pass the embedding of a token, for instance."
        )
    return array
