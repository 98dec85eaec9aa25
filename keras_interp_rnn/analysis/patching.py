r"""Patching: what of one run makes the output of another, by putting it there.

A network reads a clean and a corrupted sequence. In the run of the corrupted one a quantity q, a state or a gate, is
replaced at step t by its value in the clean run, and the run goes on from there. Over pairs of sequences the mean of

    effect(q, t) = output of the patched run - output of the corrupted run

is the indirect effect of causal tracing, and its share of the mean of (clean - corrupted) is how much of the change it
restores: 1 if all of it passes through q at step t.

References: Vig et al., "Investigating gender bias in language models using causal mediation analysis", NeurIPS 2020;
Meng, Bau, Andonian and Belinkov, "Locating and editing factual associations in GPT", NeurIPS 2022, arXiv:2202.05262.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from keras_interp_rnn._arrays import as_array, listed
from keras_interp_rnn._checks import choice, integer, invalid
from keras_interp_rnn._network import GivenAlphabet, read_texts, recurrent_layers, resolve_alphabet, token_names
from keras_interp_rnn._network.vectors import Network, open_network
from keras_interp_rnn._program.along import CellAlong
from keras_interp_rnn._program.values import Cells
from keras_interp_rnn._results import Column, Result, Table, counted, heat_map, numbers, quoted, texts
from keras_interp_rnn._types import AnyArray, Array
from keras_interp_rnn.analysis.attribution import row_slices


class _Place(NamedTuple):
    """A quantity of a cell; `is_flipped` of the backward one of two directions, whose steps a trace turns round."""

    recurrence: Cells
    cell: CellAlong
    name: str
    is_state: bool
    is_flipped: bool


NUMBERED = 16
"""Maximum number of steps of a map with numbers."""

Recorded = dict[Any, dict[tuple[str, int], Array]]
"""For each cell its quantities at each step in reading order."""


@dataclass(frozen=True, eq=False, repr=False)
class Patching(Result):
    """The output of every patched run, and those of the clean and the corrupted run.

    Attributes:
        names: the patched quantities; those patched together are joined by "+".
        outputs: (pairs, quantities, time), in reading order; NaN at a step that a pair does not read.
        clean, corrupted: (pairs,), outputs without a patch.
        targets: (pairs,), index of the output.
        difference: largest difference of the clean and corrupted outputs from those that the network itself computes.
        tokens: of the clean sequences and of the corrupted ones, the names of what each reads at each step; () if they
            are not known.

    Example: see `patching`.
    """

    names: tuple[str, ...]
    outputs: Array
    clean: Array
    corrupted: Array
    targets: NDArray[np.int64]
    difference: float
    tokens: tuple[tuple[tuple[str, ...], ...], ...] = ()

    @property
    def num_pairs(self) -> NDArray[np.int64]:
        """(quantities, time), the number of pairs over which an effect is averaged: those that read the step."""
        return np.asarray((~np.isnan(self.outputs)).sum(axis=0))

    @property
    def effects(self) -> Array:
        """(quantities, time), mean over the pairs of patched minus corrupted outputs; NaN if no pair reads the step."""
        return self._mean(self.outputs - self.corrupted[:, None, None])

    @property
    def restored(self) -> Array:
        """(quantities, time), `effects` as fractions of the mean change from corrupted to clean; NaN if that is 0."""
        change = np.where(np.isnan(self.outputs), np.nan, (self.clean - self.corrupted)[:, None, None])
        mean = self._mean(change)
        return np.asarray(self.effects / np.where(mean == 0, np.nan, mean) + 0.0)  # no -0

    def _mean(self, values: Array) -> Array:
        return np.asarray(np.nansum(values, axis=0) / np.where(self.num_pairs, self.num_pairs, np.nan))

    def step_name(self, step: int) -> str:
        """The name of what all pairs read at a step, "clean for corrupted" if these differ; "" where pairs differ."""
        read = {tuple(row[step] for row in pair) for pair in zip(*self.tokens, strict=True)}
        if len(read) != 1:
            return ""
        [(clean, corrupted)] = read
        return quoted(clean) if clean == corrupted else f"{quoted(clean)} for {quoted(corrupted)}"

    def table(self) -> Table:
        """A row for each quantity and step: its effect, what it restores, and over how many pairs."""
        rows, (quantities, steps) = [*np.ndindex(self.effects.shape)], self.effects.shape
        names = [self.step_name(step) for step in range(steps)]
        return replace(
            self.summary(),
            columns=(
                texts("quantity", [self.names[i] for i, _ in rows]),
                Column("step", [step + 1 for _, step in rows], form="d"),
                *([texts("read", names * quantities)] if any(names) else []),
                numbers("effect", self.effects.ravel(), "+.3g"),
                numbers("restored", self.restored.ravel(), ".1%"),
                Column("pairs", self.num_pairs.ravel().tolist(), form="d"),
            ),
        )

    def summary(self) -> Table:
        """A row for each quantity: the step at which it has the largest effect, and what it restores there.

        Of steps that all pairs read, or as many as read any.
        """
        by_all = self.num_pairs == self.num_pairs.max(axis=1, keepdims=True)  # steps of fewer pairs are no comparison
        steps = [int(each.argmax()) for each in np.where(by_all, np.nan_to_num(np.abs(self.effects)), -1.0)]
        places = range(len(steps))
        restored = [float(self.restored[i, steps[i]]) for i in places]
        names = [self.step_name(step) for step in steps]
        # What all states together restore is so by construction: what one of them does alone was found.
        known = [i for i in places if np.isfinite(restored[i])]
        alone = [i for i in known if "+" not in self.names[i]] or known
        most = max(alone, key=lambda i: abs(restored[i]), default=None)
        found = ""
        if most is not None:
            place = f"step {steps[most] + 1}{f', {names[most]},' if names[most] else ''}"
            found = f"{self.names[most]} at {place} restores {restored[most]:.0%} of the difference; "
        mean = "mean output" if len(self.clean) > 1 else "output"
        return Table(
            f"{found}{mean} from {self.corrupted.mean():.4g} corrupted to {self.clean.mean():.4g} clean, "
            f"{counted(len(self.clean), 'pair')}",
            (
                texts("quantity", self.names),
                Column("step", [step + 1 for step in steps], form="d"),
                *([texts("read", names)] if any(names) else []),
                Column("effect", [float(self.effects[i, steps[i]]) for i in places], form="+.3g"),
                Column("restored", restored, form=".1%"),
            ),
            bars="restored",
            scale=1.0,
            drawings=(self._map,),
        )

    def drawing(self) -> str:
        """The shares that each quantity restores at each step, below the sentence about them."""
        return self._map(self.summary().caption)

    def _map(self, title: str = "") -> str:
        count = self.restored.shape[1]
        names = [self.step_name(step) or str(step + 1) for step in range(count)]
        legend = (
            "In a cell: the share of the difference between both outputs that a quantity restores, copied after this "
            "step from the clean run into the corrupted one."
        )
        form = ".0%" if count <= NUMBERED else ""
        return heat_map(
            self.restored.T, self.names, labelled=True, columns=names, title=title, form=form, legend=legend
        )


def patching(
    network: object,
    clean: object,
    *,
    corrupted: object,
    target: int | None = None,
    quantities: Sequence[str | Sequence[str]] | None = None,
    step: int = -1,
    alphabet: GivenAlphabet | None = None,
) -> Patching:
    r"""How much of the change of an output a state or a gate of another sequence restores, step by step.

    Args:
        network: a model of one input, or a recurrent layer, over cells whose equations are known.
        clean, corrupted: (batch, time) ids or (batch, time, features), of one shape; or texts, if the ids have names.
            Sequence i of both are a pair, and must read the same steps.
        target: index of the output; None for the largest output of each clean sequence.
        quantities: names as in `trace`; quantities named together in a sequence are patched together. None for each
            quantity alone and, if a cell has several states, all of them together.
        step: the step of the output if there are outputs at every step, from 0, or negative from the end.
        alphabet: names of the ids, as for `attribution`.

    Returns:
        `Patching`, with `effects` and `restored` (quantities, time).

    Raises:
        ValueError: if the network is stateful or draws noise; if a cell has no equations, or lacks a named quantity; if
            an input or a weight is not finite; if the sequences of a pair differ in shape or in the steps that they
            read.

    Units: of the output.
    Exactness: float64, by the equations of the cells; the other layers as in `attribution`. All states of the network
        together restore the clean output, up to rounding, if the pair has the same inputs after the step and the output
        reads only the states of later steps. A state is replaced after the step, in any cell. Gates and candidates can
        be patched in LSTM, PeepholeLSTM, GRU, CFN and MinimalRNN; whatever reads a patched gate within the step, such
        as the candidate of a GRU the reset gate, reads its clean value.
    Cost: one run of every pair for each quantity and step.
    Example:

        >>> from keras_interp_rnn import analysis
        >>> layer, sequences = keras.layers.LSTM(4), np.random.default_rng(0).normal(size=(2, 3, 6, 5))
        >>> found = analysis.patching(layer, sequences[0], corrupted=sequences[1], target=0)
        >>> found.names
        ('h', 'c', 'i', 'f', 'o', 'candidate', 'h+c')
        >>> bool(np.allclose(found.restored[-1, -1], 1))  # nothing but the state reaches the output
        True

    References: Vig et al., 2020; Meng et al., 2022.
    """
    network, names = resolve_alphabet(network, alphabet)
    both = [as_array(f"`{name}`", read_texts(x, names)) for name, x in (("clean", clean), ("corrupted", corrupted))]
    if both[0].shape != both[1].shape:
        raise ValueError(
            "Clean and corrupted sequences must have the same shape. Received: "
            f"{both[0].shape} and {both[1].shape}. Pass pairs of one length, or pad both alike."
        )
    inputs, count = np.concatenate(both), len(both[0])
    # The change that is split is that between the two of a pair.
    opened = open_network(network, [inputs], step=step, absent=lambda x, _: np.roll(x, count, axis=0))
    _check_recurrences(opened)
    if not np.array_equal(opened.mask[:count], opened.mask[count:]):
        raise ValueError(
            "The sequences of a pair must read the same steps. Received: masks that differ. Pass pairs of one length."
        )
    places = _places(recurrent_layers(network, inputs), opened)
    groups = _groups(quantities, places)
    recorded: Recorded = {}
    for cell in opened.cells:
        cell.patch = _recording(recorded.setdefault(cell, {}))
    pairs = np.arange(count)
    whole = [opened.run(opened.inputs[pairs], pairs)]
    for cell in opened.cells:
        cell.patch = None
    whole.append(opened.run(opened.inputs[count:], pairs))
    if target is None:
        targets = whole[0].argmax(axis=1)
    else:
        targets = np.full(count, integer("target", target, 0, below=whole[0].shape[1]))
    outputs = [_patched(opened, [places[name] for name in group], recorded, targets) for group in groups]
    return Patching(
        names=tuple("+".join(group) for group in groups),
        outputs=np.stack(outputs, axis=1),
        clean=whole[0][pairs, targets],
        corrupted=whole[1][pairs, targets],
        targets=targets,
        difference=float(np.abs(np.concatenate(whole) - opened.output).max()),
        tokens=tuple(token_names(array, names) for array in both) if inputs.ndim == 2 else (),
    )


def _check_recurrences(opened: Network) -> None:
    """Raises ValueError if no state can be patched, or if a layer has other steps than the inputs."""
    if not opened.recurrences:
        raise ValueError(
            "States can be patched in recurrent layers that run their cells by known equations. Received: "
            f"{opened.by_keras or 'none'}. Use analysis.attribution for an output of the whole network."
        )
    for each in opened.recurrences:
        if opened.known[each.operation.reads[0]].shape[1] != opened.mask.shape[1]:
            raise ValueError(
                "Recurrent layers must read as many steps as the network, for these to be patched. Received: "
                f"{each.operation.name}, which reads others. Pass the recurrent layer and its own inputs."
            )


def _places(layers: Sequence[tuple[str, object, object, object]], opened: Network) -> dict[str, _Place]:
    """The quantities that can be patched, by the names of `trace`."""
    places: dict[str, _Place] = {}
    prefixes = {id(layer): prefix for prefix, layer, *_ in layers}
    for recurrence, cell in [(each, cell) for each in opened.recurrences for cell in each.cells]:
        if cell.equations is None:
            raise ValueError(
                "The equations of a cell must be known, to patch it. Received: "
                f"{cell.layer.name} over {type(cell.cell).__name__}. Give the cell a method `equations`, or set its "
                "states by `analysis.trace(..., set=...)`."
            )
        prefix = prefixes[id(cell.layer)]
        in_stack = [other for other in opened.cells if other.layer is cell.layer]
        place = prefix + (f"{in_stack.index(cell)}/" if cell.cell is not cell.layer.cell else "")
        if f"{place}h" in places:
            raise ValueError(
                f"Every layer must be called once, to be patched. Received: {cell.layer.name}, called twice. Rebuild "
                "the model with a layer of the same weights in each place."
            )
        for name in (*cell.state_names, *cell.equations.patched):
            places[f"{place}{name}"] = _Place(
                recurrence, cell, name, name in cell.state_names, prefix.endswith("backward/")
            )
    return places


def _groups(quantities: object, places: Mapping[str, _Place]) -> list[list[str]]:
    """The names that are patched together."""
    if quantities is not None:
        entries = [quantities] if isinstance(quantities, str) else listed("Quantities", quantities)
        groups = [[entry] if isinstance(entry, str) else listed("Quantities", entry) for entry in entries]
        if not all(groups) or not groups:
            raise invalid("quantities", "names, at least one", quantities, f"Choose from {', '.join(places)}.")
        return [[choice("quantities", name, places) for name in group] for group in groups]
    found = [[name] for name in places]
    for cell in dict.fromkeys(place.cell for place in places.values()):
        states = [name for name, place in places.items() if place.cell is cell and place.is_state]
        if len(states) > 1:
            found.append(states)
    return found


def _recording(recorded: dict[tuple[str, int], Array]) -> Callable[[int, str, Array], Array]:
    def patch(t: int, name: str, value: Array) -> Array:
        recorded[name, t] = value
        return value

    return patch


def _patched(opened: Network, group: Sequence[_Place], recorded: Recorded, targets: NDArray[np.int64]) -> Array:
    """The outputs (pairs, time) of the corrupted sequences, where a group is patched at each step that is read."""
    count, length = len(targets), opened.mask.shape[1]
    read = opened.mask_of(group[0].recurrence)[:count, group[0].recurrence.order]
    rows, steps = np.nonzero(read[:, ::-1] if group[0].is_flipped else read)
    found = np.full((count, length), np.nan)
    for part in row_slices(opened, len(rows)):
        for cell in opened.cells:
            places = [place for place in group if place.cell is cell]
            at = length - 1 - steps[part] if places and places[0].is_flipped else steps[part]
            cell.patch = _replacing([place.name for place in places], recorded[cell], rows[part], at)
        outputs = opened.run(opened.inputs[count + rows[part]], rows[part])
        found[rows[part], steps[part]] = outputs[np.arange(len(outputs)), targets[rows[part]]]
    return found


def _replacing(
    names: Sequence[str], recorded: Mapping[tuple[str, int], Array], rows: AnyArray, steps: AnyArray
) -> Callable[[int, str, Array], Array]:
    """Row i takes what was recorded of sequence rows[i] at step steps[i], in reading order."""

    def patch(t: int, name: str, value: Array) -> Array:
        if name not in names:
            return value
        chosen = steps == t
        result = value.copy()
        result[chosen] = recorded[name, t][rows[chosen]]
        return result

    return patch
