r"""How a state depends on inputs and states of earlier steps: input-output Jacobians and their singular values.

By the chain rule (Chen, 2017, eq. 4),

    dh_T/dx_{T-k} = (dh_T/dh_{T-1} ... dh_{T-k+1}/dh_{T-k}) dh_{T-k}/dx_{T-k},

multiplied from the left, so that all lags come from one pass. Singular values near 1 let an error pass back unchanged.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from keras_interp_rnn._arrays import listed
from keras_interp_rnn._checks import choice, integer, invalid
from keras_interp_rnn._network import has_many_states, read_texts, resolve_alphabet, resolve_recurrent_layer
from keras_interp_rnn._network.recurrent_part import RecurrentPart
from keras_interp_rnn._network.vectors import open_network
from keras_interp_rnn._program import CellAlong, check_num_steps, linear_steps, output_in_state
from keras_interp_rnn._results import Shown, Table, Tag, View, as_text, heat_map, line_chart
from keras_interp_rnn._results import numbers as column_of
from keras_interp_rnn._results import view as tag_view
from keras_interp_rnn._types import Array

PERCENTILES = (0.0, 6.68, 15.87, 30.85, 50.0, 69.15, 84.13, 93.32, 100.0)
"""The nine lines of TensorBoard's Distributions tab and of the paper's figure 5: minimum, median and maximum, and half,
one and one and a half standard deviations of a normal distribution to either side of the median."""


PERCENTS = (0, 16, 50, 84, 100)
"""Percentiles of singular values in a table."""


class Derivatives(Shown, np.ndarray[Any, np.dtype[np.float64]]):
    """A float64 array of derivatives, with the method that computed them.

    Attributes:
        method: "closed form", from the cell's equations in float64; or "autodiff", by the backend in the layer's dtype.
        lags: the lag of each entry along the first axis of singular values; () for a Jacobian, or a part of the array.

    Example: see `input_output_jacobian`.
    """

    method: str
    lags: tuple[int, ...]

    def __array_finalize__(self, source: object) -> None:
        self.method = getattr(source, "method", "")
        self.lags = ()  # the new array may be a part of the source, or computed from it

    def __str__(self) -> str:
        return as_text(self) if self.lags else super().__str__()

    def table(self) -> Table:
        """The percentiles of singular values, a row for each lag; of any other derivatives a map of the first ones."""
        values = np.asarray(self)
        if self.lags:
            rows = values.reshape(len(self.lags), -1)
            of_lags = np.percentile(rows, PERCENTS, axis=1)
            columns = [column_of(f"{p}%", row, ".3g") for p, row in zip(PERCENTS, of_lags, strict=True)]
            median = of_lags[PERCENTS.index(50)]
            return Table(
                f"singular values by {self.method}: their median is {median[0]:.3g} at lag {self.lags[0]}, and "
                f"{median[-1]:.3g} at lag {self.lags[-1]}",
                (column_of("lag", self.lags, "d"), *columns),
                ("percentiles; in the drawing their logarithms to the base of 10",),
                drawings=(lambda: _of_lags(of_lags),),
            )
        lines = tuple(np.array2string(values).splitlines())
        if values.ndim != 3 or not values.size:
            return Table(f"derivatives by {self.method}", outline=lines)
        largest = np.unravel_index(np.abs(values[0]).argmax(), values[0].shape)
        units = [f"unit {i}" for i in range(values.shape[1])]
        return Table(
            f"Jacobians of {len(values)} sequences, by {self.method}: in the first one unit {largest[0]} depends most "
            f"on input {largest[1] + 1}, {values[0][largest]:+.3g}",
            notes=(
                "the map: a row for each unit of the state, a column for each entry of the input; blue is positive, "
                "orange negative; full colour is the largest value",
            ),
            outline=lines,
            drawings=(lambda: heat_map(values[0].T, units, column="input", least=0, labelled=True),),
        )

    def tag(self) -> Tag:
        """Percentiles of the singular values, for the TensorBoard plugin."""
        return jacobian_tag(np.asarray(self), self.lags)

    def page_view(self) -> View | None:
        """The distributions of singular values at each lag, in the plugin's view; None for other derivatives."""
        return tag_view("memory", self.tag()) if self.lags and self.size else None


def _of_lags(percentiles: Array) -> str:
    """A line for each percentile (percentiles, lags)."""
    with np.errstate(divide="ignore"):  # a gap where a singular value is 0
        return line_chart([*np.log10(percentiles)], [f"{p}%" for p in PERCENTS], x="lag number")


def jacobian_tag(singular_values: Array, lags: Sequence[int]) -> Tag:
    """Percentiles of singular values (lags, sequences, values), for the TensorBoard plugin."""
    percentiles = np.percentile(singular_values.reshape(len(lags), -1), np.arange(101), axis=1).T
    return percentiles.astype(np.float32), {"kind": "jacobian", "lags": [int(lag) for lag in lags]}


def _derivatives(array: Array, method: str, lags: Sequence[int] = ()) -> Derivatives:
    result = np.ascontiguousarray(array, np.float64).view(Derivatives)
    result.method, result.lags = method, tuple(map(int, lags))
    return result


def input_output_jacobian(
    network: object, inputs: object, *, lag: int, mask: object = None, with_respect_to: str = "input"
) -> Derivatives:
    r"""The Jacobian $\partial h_T / \partial x_{T-k}$ of the last state with respect to the input k steps before.

    Args:
        network: a layer of this package, any `keras.layers.RNN` (LSTM, GRU, SimpleRNN, your own cell in an `RNN`), or a
            model with such a layer. Steps count in reading order, also with `go_backwards`, from the layer's own
            initial state. In a stack of recurrent layers, or with Bidirectional, h is the output of the uppermost layer
            and x the input of the lowest, and steps count from the start of the sequence.
        inputs: (batch, time, ...), the inputs of the layer or of the model; or a text or texts, if the model carries
            the names of its ids.
        lag: int >= 0, k. T is the last step that a sequence reads; masked steps do not count.
        mask: bool (batch, time), False at steps that are not read; None for a model, which computes its own.
        with_respect_to: "input"; or, for a single layer, "state": $\partial h_T / \partial h_{T-k}$, whose columns
            belong to the whole state (h and c of an LSTM side by side).

    Returns:
        `Derivatives` (batch, n, features) or (batch, n, state entries), float64. Row i belongs to $h_T[i]$, as in the
        paper. For an `ISAN` or a `FactoredISAN` ids count as one-hot vectors with K features. The attribute `method`
        is "closed form" or "autodiff".

    Raises:
        ValueError: if a sequence reads fewer than lag + 1 steps, if no layer is recurrent, if a weight or the Jacobian
            is not finite, if the layer embeds ids (an id has no derivative), or if several layers are not a chain, as
            for `attribution`.

    Exactness: in closed form and float64 for every layer of this package, for Keras's SimpleRNN, GRU and LSTM, and for
        cells that provide their equations, also inside a state-regularized layer. The encoder of a `MinimalRNN` runs in
        its own dtype. A hard transition is differentiated as in training, as a mixture. The backend differentiates all
        other cells, activations other than tanh and sigmoid, and noise outside training, in reverse mode and the
        layer's dtype; the products are in float64.
    Example:

        >>> from keras_interp_rnn import analysis, layers
        >>> jacobian = analysis.input_output_jacobian(layers.MinimalRNN(4), np.ones((2, 6, 3)), lag=5)
        >>> jacobian.shape, jacobian.method
        ((2, 4, 3), 'closed form')

    Reference: Chen, 2017, arXiv:1711.06788, eq. 4.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        [(_, jacobian, method)] = _jacobians(network, inputs, [lag], mask, with_respect_to)
    return _derivatives(jacobian, method)


def jacobian_singular_values(
    network: object, inputs: object, *, lags: Sequence[int], mask: object = None, with_respect_to: str = "input"
) -> Derivatives:
    r"""Singular values of $\partial h_T / \partial x_{T-k}$ for every lag k and every sequence.

    Args:
        network, inputs, mask, with_respect_to: as `input_output_jacobian`.
        lags: ints >= 0. One backward pass, to the largest lag, computes all of them.

    Returns:
        `Derivatives` (lags, batch, min(n, features)), float64, in descending order along the last axis.

    Raises:
        ValueError: as `input_output_jacobian`; or if there is no lag.

    Example:

        >>> from keras_interp_rnn import analysis, layers
        >>> analysis.jacobian_singular_values(layers.CFN(4), np.ones((2, 6, 3)), lags=[0, 5]).shape
        (2, 2, 3)

    Reference: Chen, 2017, arXiv:1711.06788, figures 4 and 5.
    """
    lags = listed("Lags", lags)
    if not lags:
        raise invalid("lags", "a list of at least one lag", lags)
    with np.errstate(over="ignore", invalid="ignore"):
        found = {
            lag: (np.linalg.svd(jacobian, compute_uv=False), method)
            for lag, jacobian, method in _jacobians(network, inputs, lags, mask, with_respect_to)
        }
    values, methods = zip(*(found[lag] for lag in lags), strict=True)
    return _derivatives(np.stack(values), methods[0], lags)


def _jacobians(
    network: object, inputs: object, lags: Sequence[int], mask: object, with_respect_to: str
) -> Iterator[tuple[int, Array, str]]:
    """Lag, Jacobian and method for each of the lags, in ascending order."""
    choice("with_respect_to", with_respect_to, ("input", "state"))
    lags = [integer("lag", lag, 0, "Pass a number of steps.") for lag in lags]
    network, names = resolve_alphabet(network)
    inputs = read_texts(inputs, names)
    if has_many_states(network):
        yield from _jacobians_of_layers(network, inputs, lags, mask, with_respect_to)
        return
    layer, sequences, read = resolve_recurrent_layer(network, inputs, mask)
    recurrent = CellAlong(layer)
    method = "closed form" if recurrent.is_closed else "autodiff"
    steps = linear_steps(recurrent, sequences, read, max(lags) + 1)
    product = np.tile(output_in_state(layer), (len(sequences), 1, 1))
    for lag, step in enumerate(steps):
        if lag in lags:
            jacobian = step.input(product) if with_respect_to == "input" else product
            _check_finite(lag, jacobian)
            yield lag, jacobian, method
        if lag < max(lags):
            product = step.before(product)


def _jacobians_of_layers(
    network: object, inputs: object, lags: Sequence[int], mask: object, with_respect_to: str
) -> Iterator[tuple[int, Array, str]]:
    """As `_jacobians`, of the uppermost of several recurrent layers, or of two directions."""
    if with_respect_to != "input":
        rule = "'input' for a network of several layers or directions, which has no single state"
        raise invalid("with_respect_to", rule, with_respect_to, "Pass one layer and its own inputs.")
    part = RecurrentPart(open_network(network, [inputs], mask=mask))
    check_num_steps(part.read, max(lags) + 1)
    jacobians = [(jacobian, np.flatnonzero(read)[::-1]) for jacobian, read in part.outputs_by_inputs()]
    for lag in sorted(set(lags)):
        jacobian = np.stack([jacobian[:, steps[lag]] for jacobian, steps in jacobians])
        _check_finite(lag, jacobian)
        yield lag, jacobian, "closed form" if part.is_closed else "autodiff"


def _check_finite(lag: int, jacobian: Array) -> None:
    if np.isfinite(jacobian).all():
        return
    raise ValueError(
        f"The Jacobian at lag {lag} must be finite. Received: weights whose products overflow. Ask for a shorter lag."
    )
