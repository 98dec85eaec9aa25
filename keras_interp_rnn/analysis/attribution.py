r"""Attribution: the share of each step of a sequence in the outputs of any recurrent network.

A step is taken away by putting a reference r in its place, in the vectors that the model reads, or that its Embedding
makes of ids. With f the output that is explained, x the sequence and r the reference at every step:

- telescoping: $a_t = f(x_1 \dots x_t, r \dots r) - f(x_1 \dots x_{t-1}, r \dots r)$. The sum is f(x) - f(r), whatever
  the network. Interactions count for the later of two steps: in "not good" all that "not" does to "good" is in the
  share of "good". Steps are in the order of the inputs, for Bidirectional layers too.
- path integral: $a_{t,i} = (x_{t,i} - r_{t,i}) \int_0^1 \partial_{t,i} f(r + s (x - r))\, ds$ for feature i of step t,
  integrated gradients (Sundararajan, Taly and Yan, ICML 2017), by Gauss-Legendre quadrature. No order matters, and its
  sum misses f(x) - f(r) by the error of the quadrature. Where f is linear, a share is what is lost without the
  feature.
- occlusion: $a_t = f(x) - f(x$ with r at step t). The sum need not be f(x) - f(r).
- contributions: the terms of `analysis.contributions`, exact if the network is affine in its state.

A network that is one layer after the other is run in float64 (`_network.chain`), any other graph by Keras in its own
dtype (`_network.whole`).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax

from keras_interp_rnn._checks import choice, integer, integers
from keras_interp_rnn._network import (
    AffineReading,
    GivenNames,
    as_array,
    gives_probabilities,
    read_text,
    resolve_names,
    token_names,
)
from keras_interp_rnn._network.agreement import nothing
from keras_interp_rnn._network.arrays import is_float, without_unread
from keras_interp_rnn._network.chain import Chain, Differs, NotAChain, open_chain
from keras_interp_rnn._network.whole import Reading, Whole, as_model, read_inputs
from keras_interp_rnn._results import Result, output_name
from keras_interp_rnn._types import Array
from keras_interp_rnn.analysis.isan.contributions import contributions

Opened: TypeAlias = Chain | Whole
"""A network as a function of the vectors that it reads."""

METHODS = ("auto", "telescoping", "path_integral", "occlusion", "contributions")
ROWS = 4096
"""Maximum number of sequences that are run at a time."""

MANY_OUTPUTS, TOP = 64, 16
"""Above 64 outputs a view has the 16 most probable ones alone."""

WORKING_MEMORY = 2**27
"""Bytes of inputs that are run at a time; the layers need a few times as much."""


@dataclass(frozen=True, eq=False, repr=False)
class Attribution(Result):
    r"""The share of each step of each sequence in one output, or in several.

    Attributes:
        shares: (batch, time), or (batch, time, K) in K outputs; 0 at masked steps.
        output: (batch,) or (batch, K), the explained outputs, in float64; with "contributions" the logits before the
            last activation, if there is one.
        reference_output: as `output`, with all steps taken away; with "contributions" the part due to no symbol.
        residual: largest |reference_output + sum of shares - output|: rounding for "telescoping" and "contributions",
            the error of the quadrature for "path_integral", the gap for "occlusion". It checks the sum, not the shares:
            those of telescoping sum to the change of any function.
        difference: largest difference between `output` (after the activation) and the output that the network that was
            given computes in its own dtype; NaN for a stateful ISAN, which is not run.
        method: the method that was used. reason: why it was used.
        targets: int, as `output`, the indices of the outputs.
        features: with "path_integral" the shares of the features of each step, (batch, time, features) or
            (batch, time, features, K), which sum to `shares`; None with other methods. For ids these are the features
            of their vectors.
        tokens: for each sequence the names of what it reads at each step, for views; () if they are not known.
        read: bool (batch, time), False at steps that the network itself masks for all that read them, whose shares are
            0; None if the masks are not known.

    Sequences, steps and features are indices from 0. Views count them from 1.

    Example: see `attribution`.
    """

    shares: Array
    output: Array
    reference_output: Array
    residual: float
    difference: float
    method: str
    reason: str
    targets: NDArray[np.int64]
    features: Array | None = None
    tokens: tuple[tuple[str, ...], ...] = ()
    read: NDArray[np.bool_] | None = None

    def top(self, num_steps: int = 5, *, sequence: int = 0, output: int = 0) -> list[tuple[int, float]]:
        """The steps with the largest shares by absolute value, the largest first.

        Args:
            num_steps: maximum number of steps.
            sequence: which sequence of the batch.
            output: which of the explained outputs.

        Returns:
            [(step, share), ...]; steps count from 0.
        """
        integer("num_steps", num_steps, 0)
        row = self.shares[sequence].reshape(self.shares.shape[1], -1)[:, output]
        return [(int(t), float(row[t])) for t in np.argsort(-np.abs(row), kind="stable")[:num_steps]]


def attribution(
    network: Any,
    inputs: ArrayLike | str | Sequence[Any] | Mapping[str, Any],
    *,
    target: int | Sequence[int] | None = None,
    step: int = -1,
    method: str = "auto",
    reference: ArrayLike | None = None,
    mask: ArrayLike | None = None,
    with_respect_to: int | str | None = None,
    num_points: int = 32,
    alphabet: GivenNames | None = None,
) -> Attribution:
    r"""Splits an output of any network with a recurrent layer among the steps that it read, and among their features.

    Args:
        network: a model with a recurrent layer, Sequential, functional or a subclass; or a recurrent layer, whose last
            state is then explained.
        inputs: (batch, time) ids or (batch, time, features), as the network reads them. If the ids have names, one text
            or several are accepted too, as strings or lists of symbols; they must have one length unless id 0 is
            padding (docs/functions-and-models.md). For a model with several inputs pass a list, or a dict by their
            names.
        target: index of the output to explain, or indices of several; None for the largest output of each sequence.
        step: the step to explain if there are outputs at every step, from 0, or negative from the end.
        method: "telescoping", "path_integral", "occlusion" or "contributions": see docs/attributions.md. "auto" is
            "contributions" if these are exact given the inputs alone, otherwise "telescoping". They are exact for an
            ISAN or a linear recurrence, in one direction or two, whose states or their mean pass through a head that is
            affine before its last activation.
        reference: (features,), (time, features) or (batch, time, features), the vectors that replace the steps taken
            away; None for zeros or, if the layer reads symbols as an ISAN does, for the mean of all symbols.
        mask: bool (batch, time), False at steps that a layer does not read; None for a model, which computes its own.
        with_respect_to: index or name of the input whose steps are taken away, if there are several. The others stay
            fixed. None for the only one that is read as ids, as a text or as vectors (batch, time, features); of
            several such inputs in a list the first, in a dict a name must be given.
        num_points: points of the quadrature of "path_integral".
        alphabet: names of the ids: a sequence, a mapping, an `Alphabet`, a `Vocabulary` or a text layer of Keras; by
            default the names that a model carries, or the ids.

    Returns:
        `Attribution`.

    Raises:
        ValueError: if the network has no recurrent layer or several outputs, is stateful or draws noise; if its output
            depends on other rows of the batch, or on a sequence otherwise than by a vector for each step; if an output,
            a weight or an input at a step that is read is not finite; if an argument is out of range.

    Units: of the output.
    Exactness: float64 for a chain of layers whose cells have known equations and whose other layers are Dense,
        normalizations, softmax or mean pooling. Any other network, such as one with several inputs, attention or
        convolutions, is run and differentiated in its own dtype. `residual` and `difference` report the errors.
    Example:

        >>> from keras_interp_rnn import analysis
        >>> model = keras.Sequential([keras.layers.Embedding(9, 3), keras.layers.GRU(4), keras.layers.Dense(1)])
        >>> split = analysis.attribution(model, np.array([[1, 5, 2]]))
        >>> split.shares.shape, split.residual < 1e-12
        ((1, 3), True)
        >>> split = analysis.attribution(model, np.array([[1, 5, 2]]), method="path_integral")
        >>> split.features.shape, split.residual < 1e-6
        ((1, 3, 3), True)

    Reference: Sundararajan, Taly and Yan, ICML 2017, arXiv:1703.01365; Zeiler and Fergus, ECCV 2014, for occlusion.
    """
    reading = read_inputs(network, inputs, alphabet, with_respect_to)
    found = _split(reading, _chosen(target), method, reference, mask, num_points, step)
    places: Any = (..., 0) if target is None or np.ndim(target) == 0 else ...
    return Attribution(
        shares=found.shares[places],
        output=found.output[places],
        reference_output=found.reference_output[places],
        residual=found.residual,
        difference=found.difference,
        method=found.method,
        reason=found.reason,
        targets=found.top[places],
        features=None if found.features is None else found.features[places],
        tokens=token_names(reading.arrays[reading.varies], reading.names),
        read=found.read,
    )


def _chosen(target: int | Sequence[int] | None) -> Callable[[Array], NDArray[np.int64]]:
    """The outputs (batch, K) to be explained, from all (batch, outputs)."""

    def choose(outputs: Array) -> NDArray[np.int64]:
        if target is None:
            return np.asarray(outputs.argmax(axis=1)[:, None])
        if np.ndim(target) == 0:
            chosen = np.array([integer("target", target, 0, below=outputs.shape[1])])
        else:
            chosen = integers("target", target, ndim=1, below=outputs.shape[1], remedy="Pass indices of outputs.")
        if not len(chosen):
            raise ValueError("`target` must name at least one output. Received: []. Leave it out.")
        return np.broadcast_to(chosen.astype(np.int64), (len(outputs), len(chosen)))

    return choose


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
        unit: of the shares: "nats" of logits; "" if it is the outputs' own.
        read: bool (T,), as of `Attribution`.
    """

    tokens: tuple[str, ...]
    top: NDArray[np.int64]
    predicted: Array
    shares: Array
    reference_output: Array
    outputs: tuple[str, ...]
    residual: float
    method: str
    unit: str = ""
    read: NDArray[np.bool_] | None = None


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
    ids = read_text("A text", text, resolve_names(network, alphabet)[1])[None]
    reading = read_inputs(network, ids, alphabet)
    network, names = reading.network, reading.names
    found = _split(reading, _most_probable, method)
    whole, top = found.all_outputs, found.top[0]
    num = whole.shape[1]
    are_logits = num > 1 and (found.method == "contributions" or not gives_probabilities(network, whole))
    if are_logits:
        whole = softmax(whole, axis=-1)
    outputs = tuple("the output" if num == 1 else output_name(names, output, num) for output in range(num))
    [tokens] = token_names(ids, names)
    arrays = top, whole[0, top], found.shares[0], found.reference_output[0]
    unit, read = "nats" if are_logits else "", None if found.read is None else found.read[0]
    return TopAttribution(tokens, *arrays, outputs, found.residual, found.method, unit, read)


def _most_probable(outputs: Array) -> NDArray[np.int64]:
    return np.argsort(-outputs, axis=1, kind="stable")[:, : TOP if outputs.shape[1] > MANY_OUTPUTS else None]


class _Split(NamedTuple):
    """Shares (batch, time, K) in the outputs `top` (batch, K), all outputs, and those of `top` with no step there."""

    shares: Array
    top: NDArray[np.int64]
    all_outputs: Array
    reference_output: Array
    difference: float
    method: str
    reason: str
    features: Array | None = None
    read: NDArray[np.bool_] | None = None

    @property
    def output(self) -> Array:
        return np.take_along_axis(self.all_outputs, self.top, axis=1)

    @property
    def residual(self) -> float:
        return float(np.abs(self.reference_output + self.shares.sum(axis=1) - self.output).max())


def _split(
    reading: Reading,
    choose: Callable[[Array], NDArray[np.int64]],
    method: str,
    reference: ArrayLike | None = None,
    mask: ArrayLike | None = None,
    num_points: int = 32,
    step: int = -1,
) -> _Split:
    """The shares in the outputs (batch, K) that `choose` selects from all outputs (batch, outputs)."""
    network, inputs = reading.network, reading.arrays
    choice("method", method, METHODS)
    unused = [name for name, value in (("mask", mask), ("reference", reference)) if value is not None]
    if method == "contributions" and unused:
        raise ValueError(
            "Contributions put nothing in place of a step, so mask and reference must be None. Received: "
            f"method='contributions' with {', '.join(unused)}. Leave them out, or choose 'telescoping'."
        )
    if method == "contributions" or (method == "auto" and not unused and _splits_exactly(network)):
        reason = "every output is a sum over the steps, before the activation at the end"
        return _by_contributions(network, inputs[0], choose, step, reason if method == "auto" else ASKED)
    opened, reason = _opened(reading, mask, step, functools.partial(_absent, reference))
    if method != "auto":
        reason = f"{ASKED}{reason}"
    elif unused:
        reason = f"it takes a {' and a '.join(unused)}{reason}"
    else:
        reason = f"no exact sum over the steps is known for this network{reason}"
    method = "telescoping" if method == "auto" else method
    top = np.asarray(choose(opened.output), np.int64)
    absent = _absent(reference, opened.inputs, opened.reads_symbols)
    each = np.arange(len(opened.inputs))
    whole = _outputs(opened, opened.inputs, each)
    without_steps = np.take_along_axis(_outputs(opened, absent, each), top, axis=1)
    if not np.isfinite(without_steps).all():
        row, output = (int(index[0]) for index in np.nonzero(~np.isfinite(without_steps)))
        raise ValueError(
            "The outputs of a network must be numbers where no step is there. Received: "
            f"{without_steps[row, output]} for sequence {row + 1}. Pass another `reference`."
        )
    features = None
    if method == "path_integral":
        features = np.stack([_path_integral(opened, absent, outputs, num_points) for outputs in top.T], axis=-1)
        shares = features.reshape(*features.shape[:2], -1, features.shape[-1]).sum(axis=2)
    else:
        ends = without_steps, np.take_along_axis(whole, top, axis=1)
        shares = _by_replacing(opened, absent, top, ends, telescoping=method == "telescoping")
        shares = np.where(opened.mask[..., None], shares, 0.0)
    difference = float(np.abs(np.take_along_axis(whole - opened.output, top, axis=1)).max())
    return _Split(shares, top, whole, without_steps, difference, method, reason, features, opened.mask)


ASKED = "it was asked for"
"""The reason for a method that the user chose."""


def _opened(reading: Reading, mask: Any, step: int, absent: Any) -> tuple[Opened, str]:
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
        if isinstance(error, Differs) and mask is None:
            network = as_model(network, inputs[0])
        if not hasattr(network, "outputs"):
            raise
        reason = f"; Keras runs it in its own dtype, as it is not one layer after the other: {error.received}"
    return Whole(network, inputs, reading.varies, step, **how), reason


def _is_padding(ids: NDArray[Any], masked: NDArray[np.bool_]) -> bool:
    """Whether steps that are masked are those of one id. Those of vectors may be any."""
    of_others = bool(np.isin(ids[~masked], ids[masked]).any()) if ids.shape == masked.shape else False
    return ids.shape != masked.shape or (len(np.unique(ids[masked])) < 2 and not of_others)


def _splits_exactly(network: Any) -> bool:
    try:
        return AffineReading(network).splits()
    except ValueError:
        return False


def _by_contributions(
    network: Any, inputs: ArrayLike, choose: Callable[[Array], NDArray[np.int64]], step: int, reason: str
) -> _Split:
    rows = as_array("The inputs", inputs)
    if not rows.ndim or not len(rows):
        raise ValueError(f"The inputs must be at least one sequence (batch, time). Received: shape={rows.shape}.")
    if is_float(rows) and rows.ndim == 3:
        rows = without_unread(rows, np.ones(rows.shape[:2], bool))
    splits = [contributions(network, row, targets=step + 1 if step >= 0 else step) for row in rows]
    logits = np.stack([split.logits[0] for split in splits])
    top = np.asarray(choose(logits), np.int64)
    pairs = list(zip(splits, top, strict=True))
    shares = np.stack([split.values[1:, 0, outputs] for split, outputs in pairs])
    without_symbols = np.stack([(split.bias + split.values[0, 0])[outputs] for split, outputs in pairs])
    reading = AffineReading(network)
    found = reading.outputs_at(rows, logits, step)
    difference = np.nan if found is None else np.abs(np.take_along_axis(found[1] - found[0], top, axis=1)).max()
    calls = () if reading.flow is None else reading.flow.isans
    read = None
    if all(value.kind in ("symbols", "vectors") for _, value in calls) and rows.ndim == 2:
        read = (rows != 0) | ~np.array(any(value.mask == "zero" for _, value in calls))
    return _Split(shares, top, logits, without_symbols, float(difference), "contributions", reason, None, read)


def _outputs(opened: Opened, x: Array, rows: NDArray[np.intp]) -> Array:
    return np.concatenate([opened.run(x[part], rows[part]) for part in row_slices(opened, len(x))])


def row_slices(opened: Opened, count: int) -> list[slice]:
    """Slices of so many sequences that are run at a time."""
    size = int(max(1, min(ROWS, WORKING_MEMORY // opened.inputs[0].nbytes)))
    return [slice(start, start + size) for start in range(0, count, size)]


def _by_replacing(
    opened: Opened, absent: Array, outputs: NDArray[np.int64], ends: tuple[Array, Array], *, telescoping: bool
) -> Array:
    """The shares of telescoping or of occlusion; `ends` are the outputs without any step and with all."""
    (count, length), features = opened.inputs.shape[:2], opened.inputs.ndim - 2
    steps, (without, whole) = np.arange(length), ends
    # Telescoping reads the first steps alone, 1 to T - 1 of them; occlusion all but one.
    runs = steps[1:] if telescoping else steps
    sequence, changed = (index.ravel() for index in np.indices((count, len(runs))))
    values = np.empty((len(sequence), outputs.shape[1]))
    for part in row_slices(opened, len(sequence)):
        rows, run = sequence[part], runs[changed[part], None]
        there = (steps < run if telescoping else steps != run).reshape(-1, length, *[1] * features)
        found = opened.run(np.where(there, opened.inputs[rows], absent[rows]), rows)
        values[part] = np.take_along_axis(found, outputs[rows], axis=1)
    between = values.reshape(count, len(runs), outputs.shape[1])
    if not telescoping:
        return whole[:, None] - between
    upto = np.concatenate([without[:, None], between, whole[:, None]], axis=1)
    # A masked step changes nothing but digits that are rounded.
    for t in steps[:0:-1]:
        upto[:, t] = np.where(opened.mask[:, t, None], upto[:, t], upto[:, t + 1])
    leading = ~np.logical_or.accumulate(opened.mask, axis=1)[:, :-1, None]
    upto[:, 1:-1] = np.where(leading, without[:, None], upto[:, 1:-1])
    return np.diff(upto, axis=1)


def _path_integral(opened: Opened, absent: Array, outputs: NDArray[np.int64], num_points: int) -> Array:
    """The shares, as the inputs, in one output of each sequence."""
    points, weights = np.polynomial.legendre.leggauss(integer("num_points", num_points))
    change, total = opened.inputs - absent, np.zeros_like(opened.inputs)
    sequence, point = (index.ravel() for index in np.indices((len(change), num_points)))
    for part in row_slices(opened, len(sequence)):
        rows, along = sequence[part], (points[point[part]] + 1) / 2
        found = opened.gradient(absent[rows] + _each(along, change) * change[rows], rows, outputs[rows])
        np.add.at(total, rows, _each(weights[point[part]] / 2, change) * found)
    return total * change * opened.mask.reshape(*opened.mask.shape, *[1] * (total.ndim - 2))


def _each(numbers: Array, like: Array) -> Array:
    """A number for each row of an array of so many axes."""
    return numbers.reshape(-1, *[1] * (like.ndim - 1))


def _absent(reference: ArrayLike | None, inputs: Array, reads_symbols: bool) -> Array:
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
