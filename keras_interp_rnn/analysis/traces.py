"""Traces: all that a recurrent layer computes at each step, such as gates, states and transition probabilities."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from keras_interp_rnn._arrays import check_reads
from keras_interp_rnn._network import (
    GivenAlphabet,
    read_texts,
    recurrent_layers,
    resolve_alphabet,
    resolve_recurrent_layer,
    run_with_quantities,
    states_to_set,
    token_names,
)
from keras_interp_rnn._outputs import names_of_steps
from keras_interp_rnn._results import Column, Result, Table, Tag, View, counted, heat_map, numbers, texts, view
from keras_interp_rnn._types import AnyArray

STATES = ("h", "c")
"""States, which a masked step repeats; a cell with further states has `state_1`, `state_2`, ... instead of `c`."""


@dataclass(frozen=True, eq=False, repr=False)
class Trace(Result, Mapping[str, AnyArray]):
    """Every quantity of every step: a mapping from names to arrays.

    Attributes:
        quantities: {name: array (batch, time, entries)}, in reading order.
        tokens: for each sequence the names of what it reads at each step, for views; () if they are not known.
        read: bool (batch, time), whether any layer reads the step; None if the layers have different steps.
        vectors: whether vectors were read, so that `tokens`, if there are any, are the names of steps.

    Example: see `trace`.
    """

    quantities: Mapping[str, AnyArray]
    tokens: tuple[tuple[str, ...], ...] = ()
    read: NDArray[np.bool_] | None = None
    vectors: bool = False

    def __getitem__(self, name: str) -> AnyArray:
        return self.quantities[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.quantities)

    def __len__(self) -> int:
        return len(self.quantities)

    def table(self) -> Table:
        """A row for each number: the sequence, the step and its name, the quantity, the unit from 0, and its value."""
        if not self:
            return self.summary()
        flat = {name: values.reshape(*values.shape[:2], -1) for name, values in self.items()}
        places = np.concatenate([np.indices(values.shape).reshape(3, -1) for values in flat.values()], axis=1)
        sequences, steps, units = places.tolist()
        columns = [
            Column("sequence", (places[0] + 1).tolist(), form="d"),
            Column("step", (places[1] + 1).tolist(), form="d"),
            texts("quantity", [name for name, values in flat.items() for _ in range(values.size)]),
            Column("unit", units, form="d"),
            numbers("value", np.concatenate([values.ravel() for values in flat.values()]), ".4g"),
        ]
        if self.tokens and {values.shape[1] for values in flat.values()} == {len(self.tokens[0])}:
            read = [self.tokens[i][t] for i, t in zip(sequences, steps, strict=True)]
            columns.insert(2, texts("time" if self.vectors else "read", read))
        return replace(self.summary(), columns=tuple(columns))

    def summary(self) -> Table:
        """A row for each quantity: its shape and its range."""
        names, shapes, low, high = [], [], [], []
        for name, values in self.items():
            known = values[~np.isnan(values)]
            names.append(name)
            shapes.append("x".join(map(str, values.shape)))
            low.append(float(known.min()) if known.size else np.nan)
            high.append(float(known.max()) if known.size else np.nan)
        batch, steps, *_ = next(iter(self.values())).shape if self else (0, 0)
        return Table(
            f"{counted(len(self), 'quantity') if len(self) == 1 else f'{len(self)} quantities'} of "
            f"{counted(steps, 'step')} of {counted(batch, 'sequence')}",
            (
                texts("quantity", names),
                texts("shape", shapes),
                numbers("least", low, ".4g"),
                numbers("largest", high, ".4g"),
            ),
        )

    def drawing(self) -> str:
        """The state of the first layer over the steps of the first sequence."""
        name = next((name for name in self if name.split("/")[-1] == "h"), next(iter(self)))
        first = self[name][0]
        flat = first.reshape(len(first), -1)
        return heat_map(flat, [f"unit {i}" for i in range(flat.shape[1])])

    def tag(self) -> Tag:
        """All quantities of a step in one row, for the TensorBoard plugin; NaN throughout where it is not read."""
        arrays = {name: values.reshape(*values.shape[:2], -1) for name, values in self.items()}
        joined = np.concatenate([*arrays.values()], axis=-1).astype(np.float32)
        if self.read is not None:
            joined[~self.read] = np.nan
        return joined, {
            "kind": "trace",
            "quantities": [[name, values.shape[-1]] for name, values in arrays.items()],
            "tokens": [list(row) for row in self.tokens] or [[] for _ in joined],
            **({"vectors": True} if self.vectors else {}),
        }

    def page_view(self) -> View | None:
        """All quantities in the plugin's view; None if they have different steps."""
        if len({values.shape[:2] for values in self.quantities.values()}) != 1:
            return None
        return view("reads", self.tag())


def trace(
    network: Any,
    inputs: Any,
    *,
    mask: Any = None,
    set: Mapping[int, object] | None = None,
    tokens: GivenAlphabet | None = None,
    times: Sequence[object] | None = None,
) -> Trace:
    r"""Every quantity of every step, by its name in the paper.

    | layer | names |
    |---|---|
    | any | state `h`; an LSTM's memory `c` |
    | `MinimalRNN` | latent `z`, update gate `u` |
    | `CFN` | update gate `u`, input gate `i`, `candidate` |
    | GRU of Keras | update gate `u`, reset gate `r`, `candidate` |
    | LSTM of Keras, `PeepholeLSTM` | gates `i`, `f`, `o`, `candidate` |
    | your own cell that provides its equations | the names that its `step` returns |
    | state-regularized | state before regularization `u`, `alpha` (k), `centroid`; the names of the inner cell |
    | a stack of cells | the same names with the prefix `0/`, `1/`, ... |
    | Bidirectional | the same names with the prefix `forward/`, `backward/` |
    | a model with several recurrent layers | the same names with the layer's name and a slash as prefix |

    An update gate of the cell inside a state-regularized layer is called `cell_u`.

    Args:
        network: a recurrent layer, possibly Bidirectional, or a model with at least one.
        inputs: (batch, time, ...), the inputs of the layer or of the model; or a text or texts of one length, strings
            or lists of tokens, if the tokens have names.
        mask: bool (batch, time), False at steps that are not read; None for a model, which computes its own.
        set: {step: state}, for a single layer: replaces the state after a step, counted from 0 in reading order, by
            (n,) or (batch, n). The next step continues from it. If the cell has several states, pass a list: `[h, c]`
            for an LSTM.
        tokens: names of the ids, for views; by default the alphabet that a model carries, or the ids.
        times: names of the steps of vectors, in order, such as dates. Names are left out where several layers read
            other numbers of steps, or one of them backwards.

    Returns:
        `Trace`, a mapping from names to arrays (batch, time, entries), `centroid` (batch, time), in reading order. For
        a layer with `go_backwards` time therefore runs backwards; the backward layer of a Bidirectional one has each
        entry at the step that it read. A masked step repeats `h` and `c`; its other quantities are NaN, and its
        `centroid` is -1. So are `alpha` and `centroid` at a step without the stochastic component
        (`regularize_last_step=False`). `centroid` is the chosen centroid; in a mixture, the most probable one.

    Raises:
        ValueError: if a sequence reads no step, if no layer is recurrent, if a weight, or an input of a layer at a step
            that it reads, is not finite, or if a state of `set` has another shape or is not finite.

    Exactness: states come from the layer's own code, step by step in its dtype, outside training; other quantities
        from the cell's equations, in the dtype of its variables.
    Example:

        >>> from keras_interp_rnn import analysis, layers
        >>> traced = analysis.trace(layers.MinimalRNN(4), np.ones((2, 5, 3)))
        >>> sorted(traced), traced["u"].shape
        (['h', 'u', 'z'], (2, 5, 4))

    Reference: Wang, Lawrence and Niepert, 2022, eqs. 13 to 25; Chen, 2017, eqs. 1 to 3.
    """
    network, names = resolve_alphabet(network, tokens)
    inputs = read_texts(inputs, names)
    found = recurrent_layers(network, inputs, mask)
    if set and len(found) > 1:
        prefixes = ", ".join(prefix.rstrip("/") for prefix, *_ in found)
        raise ValueError(
            f"`set` must be used with a single recurrent layer. Received: a network with {prefixes}. Pass the layer "
            "and its own inputs."
        )
    quantities: dict[str, AnyArray] = {}
    are_read = []
    for prefix, layer, sequences, layer_mask in found:
        order = slice(None, None, -1 if prefix.endswith("backward/") else 1)
        of_layer, read = _quantities(layer, sequences, layer_mask, set or {})
        quantities |= {f"{prefix}{name}": values[:, order] for name, values in of_layer.items()}
        are_read.append(read[:, order])
    forward = [layer for prefix, layer, *_ in found if not prefix.endswith("backward/")]
    any_backwards = any(getattr(layer, "go_backwards", False) for layer in forward)
    backwards = len(found) == 1 and any_backwards
    # A layer that returns its last output alone leaves fewer steps to the layers above it.
    by_any = np.any(are_read, axis=0) if len({read.shape for read in are_read}) == 1 else None
    tokens = token_names(inputs, names, backwards=backwards)
    if times is not None:
        vectors = found[0][2] if isinstance(inputs, list | tuple | Mapping) else inputs
        tokens = tuple(row[:: -1 if backwards else 1] for row in names_of_steps(vectors, times))
    # Where layers read in other orders, or other numbers of steps, no entry of all is that of a name.
    one_order = by_any is not None and (len(found) == 1 or not any_backwards)
    steps = next(iter(quantities.values())).shape[1]
    fits = one_order and bool(tokens) and len(tokens[0]) == steps
    return Trace(quantities, tokens if fits else (), by_any, vectors=times is not None)


def _quantities(
    network: object, inputs: object, mask: object, replaced: Mapping[int, object]
) -> tuple[dict[str, AnyArray], NDArray[np.bool_]]:
    """The quantities of one layer, in reading order, and which steps it reads."""
    layer, sequences, read = resolve_recurrent_layer(network, inputs, mask)
    check_reads(read)
    states = states_to_set(layer, replaced, *sequences.shape[:2])
    steps = list(run_with_quantities(layer, sequences, read, states))
    quantities = {name: np.stack([step[name] for step in steps], axis=1) for name in steps[0]}
    for name, values in quantities.items():
        kind = name.split("/")[-1]
        if kind not in STATES and not kind.startswith("state_"):
            values[~read] = -1 if kind == "centroid" else np.nan
    return quantities, read
