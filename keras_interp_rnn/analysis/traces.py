"""Everything a recurrent layer computes while it reads: gates, states, transition probabilities, centroids."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from keras_interp_rnn._repr import short_repr
from keras_interp_rnn.analysis import _quantities
from keras_interp_rnn.analysis._reading import recurrent_part

STATES = ("h", "c")


@short_repr
class Trace(dict[str, NDArray[Any]]):
    """{name: array (batch, time, entries)}: what `trace` returns."""


def trace(layer: Any, inputs: Any, mask: Any = None) -> Trace:
    r"""Every quantity of every step, by its paper's name.

    | layer | names |
    |---|---|
    | any | `h`; an LSTM's memory `c` |
    | `MinimalRNN` | latent `z`, update gate `u` |
    | `CFN` | update gate `u`, input gate `i`, `candidate` |
    | GRU of Keras | update gate `u`, reset gate `r`, `candidate` |
    | LSTM of Keras, `PeepholeLSTM` | gates `i`, `f`, `o`, `candidate` |
    | your own cell that brings its equations | what these say |
    | state-regularized | `u` the state before regularization, `alpha` (k), `centroid`; the cell's own |
    | a stack of cells | the above with the prefix `0/`, `1/`, ... |

    Where the cell inside a regularized one has a quantity of the same name, it gets a prefix: `cell_u`.

    Args:
        layer: a recurrent layer, or a model with exactly one.
        inputs: (batch, time, ...), what the layer reads; or the model, if a model is given.
        mask: bool (batch, time), False where a step is not read; a model makes its own.

    Returns:
        A dict of arrays (batch, time, entries), `centroid` (batch, time), in reading order: time runs backwards for a
        layer with `go_backwards`. Where a step is masked, `h` and `c` are those kept, everything else is NaN and
        `centroid` -1; likewise `alpha` and `centroid` where the stochastic component is left out
        (`regularize_last_step=False`). `centroid` is the one taken, in a mixture the most probable one.

    Raises:
        ValueError: if a sequence reads no step, if the layer is Bidirectional or not recurrent, if a weight is not
            finite.

    Exactness: for the states the layer's own code runs, step by step, in its own dtype, outside training; the other
        quantities are made of them by the cell's equations in the dtype of its variables.
    Reference: Wang, Lawrence and Niepert, 2022, eqs. 13 to 25; Chen, 2017, eqs. 1 to 3.
    """
    layer, sequences, read = recurrent_part(layer, inputs, mask)
    empty = np.flatnonzero(~read.any(axis=1))
    if empty.size:
        raise ValueError(
            f"Every sequence must read at least one step. Received: a mask that is False all along for sequence "
            f"{empty[0]}. Leave such sequences out."
        )
    found = list(_quantities.steps(layer, sequences, read))
    traced = Trace({name: np.stack([step[name] for step in found], axis=1) for name in found[0]})
    for name, values in traced.items():
        kind = name.split("/")[-1]
        if kind not in STATES and not kind.startswith("state_"):
            values[~read] = -1 if kind == "centroid" else np.nan
    return traced


def transition_probabilities(layer: Any, inputs: Any, mask: Any = None) -> NDArray[Any]:
    r"""$\alpha$ of every step: the probabilities of moving to each centroid (eq. 15).

    Args:
        layer, inputs, mask: as `trace`; the layer is state-regularized.

    Returns:
        (batch, time, k), rows that sum to 1; NaN where a step is masked or goes without the stochastic component.

    Raises:
        ValueError: as `trace`; if the layer has no centroids.

    Reference: Wang, Lawrence and Niepert, 2022, eq. 15.
    """
    return regularized_trace(layer, inputs, mask)["alpha"]


def regularized_trace(layer: Any, inputs: Any, mask: Any = None) -> Trace:
    """`trace` of a state-regularized layer; raises ValueError for another one."""
    traced = trace(layer, inputs, mask)
    if "alpha" not in traced:
        raise ValueError(
            f"Transition probabilities are those between centroids. Received: {layer!r}, which has none. Use "
            "layers.SRLSTM or its like, or StateRegularizedRNN."
        )
    return traced


def drift(states: NDArray[Any]) -> NDArray[np.float64]:
    r"""How far states move away over a sequence, in steps of usual size.

    The distance between the means of the first and the last quarter, over the mean distance of one step. About 0 for
    states that return, up to $3 T / 4$ for states that run in one direction.

    Args:
        states: (batch, time, n), of a `trace`, unmasked.

    Returns:
        (batch,).

    Raises:
        ValueError: with fewer than four steps.
    """
    steps = states.shape[1]
    if steps < 4:
        raise ValueError(f"Drift compares quarters of a sequence, so it needs four steps. Received: {steps}.")
    states = np.asarray(states, np.float64)
    quarter = steps // 4
    apart = np.linalg.norm(states[:, -quarter:].mean(axis=1) - states[:, :quarter].mean(axis=1), axis=-1)
    step = np.linalg.norm(np.diff(states, axis=1), axis=-1).mean(axis=1)
    return np.divide(apart, step, out=np.zeros_like(apart), where=step > 0)
