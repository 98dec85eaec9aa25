r"""Contributions: every logit of a network that is affine in its state, split exactly among the symbols read so far.

The state is affine in its history, so the logits are a sum with one term per source (Foerster et al., ICML 2017, eqs. 4
to 6). An ISAN has the matrices W and biases b, a linear recurrence computes them from its inputs:

    l_t = c + sum_{s=0}^{t} kappa_s^t,        kappa_s^t = b_{x_s} W_{x_{s+1}} ... W_{x_t} R,        b_{x_0} = h_0.

All terms of step t come from the terms of step t - 1 by one product with W_{x_t}: O(T^2 n^2) for T symbols. For few
targets, W_{x_{s+1}} ... W_{x_t} R is computed from the end of each, by one product per step: O(T n^2 outputs) a target.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax

from keras_interp_rnn._arrays import check_range
from keras_interp_rnn._checks import integer, integers, invalid
from keras_interp_rnn._network import (
    AffineReading,
    GivenAlphabet,
    OpenedText,
    Way,
    feature_addends,
    share_no_probability,
)
from keras_interp_rnn._outputs import MANY_OUTPUTS, TOP, GivenOutputs, names_of_steps, output_names
from keras_interp_rnn._results import (
    WORD,
    Column,
    Result,
    Table,
    Tag,
    Unpackable,
    View,
    as_lines,
    because,
    counted,
    heat_map,
    nth,
    numbered,
    numbers,
    output_name,
    percent,
    quoted,
    symbol_name,
    text_of,
    texts,
    verdict,
    view,
    visible,
)
from keras_interp_rnn._types import Array
from keras_interp_rnn.analysis.isan.top_contributions import (
    TopContributions,
    largest,
    names_of_sources,
    probability_of_the_others,
    with_the_others,
)
from keras_interp_rnn.equations import isan as equations

MAX_BYTES = 2**34
"""Largest result: beyond it NumPy raises MemoryError, or the process ends."""
SAID = 4
"""Maximum number of outputs that the sentence about a regression has."""


@dataclass(frozen=True, eq=False, repr=False)
class RecentContributions(Unpackable):
    """One step of `recent_contributions`.

    Attributes:
        step: t, from 1.
        values: (sources, outputs), the terms of the last min(t, window) symbols, the earliest first.
        earlier: (outputs,), the sum of the term of the initial state and all earlier terms.
        logits: (outputs,), computed by the recurrence.

    Example: see `recent_contributions`.
    """

    step: int
    values: Array
    earlier: Array
    logits: Array

    def table(self) -> Table:
        """How much each recent symbol, and all before it, added to the largest output."""
        best = int(self.logits.argmax())
        places = range(self.step - len(self.values) + 1, self.step + 1)
        terms = self.values[:, best]
        strongest = because([f"step {place}" for place in places], terms.tolist())
        return Table(
            f"after step {self.step}: {nth('output', best)} is the largest, {self.logits[best]:.4g}{strongest}",
            (
                texts("source", ["earlier", *map(str, places)]),
                Column("share", [float(self.earlier[best]), *terms.tolist()], form="+.4f", sums=True),
            ),
            bars="share",
            base=1,
        )


@dataclass(frozen=True, eq=False, repr=False)
class WordContributions(Result):
    """Contributions summed over words.

    Attributes:
        starts: for each word the position of its first symbol, from 1; the initial state, 0, comes first.
        names: the words.
        values: (words, targets, outputs).

    Example: see `contributions`.
    """

    starts: NDArray[np.int64]
    names: tuple[str, ...]
    values: Array

    def norms(self) -> Array:
        """(words, targets), the Euclidean norms of the words' contributions."""
        return np.asarray(np.linalg.norm(self.values, axis=-1))

    def table(self) -> Table:
        """How far each word moved the last prediction, and a map of all predictions."""
        norms = self.norms()
        if not norms.size:
            return Table("Contributions of no words")
        last, names = norms[:, -1], [*map(visible, self.names)]
        return Table(
            f"{counted(len(last), 'word')}{because(names[1:], last[1:].tolist(), 'nats')}: the norm of each word's "
            "contribution to the last prediction",
            (numbered("word", len(last)), texts("", names), numbers("norm", last, ".4f", unit="nats")),
            ("the map: words from top to bottom, predictions from left to right; full colour is 1 nat or more",),
            bars="norm",
            drawings=(lambda: heat_map(norms.T, names, column="prediction", labelled=True),),
        )


@dataclass(frozen=True, eq=False, repr=False)
class Contributions(Result):
    r"""Terms $\kappa_s^t$ of every logit of one text.

    Attributes:
        symbols: (T,), the text.
        targets: (M,), the steps t whose logits are split, from 1 to T.
        values: (T + 1, M, outputs); `values[s, i]` is $\kappa_s^t$ for t = `targets[i]`. Source s = 0 is the initial
            state, source s >= 1 the s-th symbol; the value is 0 if s > t.
        bias: (outputs,), the readout's bias, the same at every step.
        logits: (M, outputs), computed by the recurrence, independently of `values`.
        residual: largest |bias + sum of values over sources - logits|, in nats; rounding, about 1e-15 relative.
        alphabet: names of the symbols, for views; None for their ids.
        features: (T, features, M, outputs), the share of each feature of each step's vector, given the gates; with the
            shares of biases they sum to `values[1:]`. None without `by_feature`.
        given: the layer given whose inputs the split is exact, if layers below it compute them; otherwise "".
        vectors: whether the sources are steps of vectors, also where layers change the number of steps. Views then
            number them from 1.
        output_names: of all outputs, with units; () if they have no names of their own.
        times: names of the steps of vectors; () if they have none.
        regression: whether the outputs are no logits of one choice among classes or symbols: they have units, the model
            was compiled with a loss of regression, or each has a probability of its own, by a sigmoid.

    Units: nats (logits); of the outputs, for a regression.

    Example: see `contributions`.
    """

    title: ClassVar[str] = "Contributions to a prediction"

    symbols: NDArray[np.int64]
    targets: NDArray[np.int64]
    values: Array
    bias: Array
    logits: Array
    residual: float
    alphabet: Sequence[str] | None = None
    features: Array | None = None
    given: str = ""
    vectors: bool = False
    output_names: tuple[str, ...] = ()
    times: tuple[str, ...] = ()
    regression: bool = field(default=False, repr=False)

    bias_name: ClassVar[str] = "readout bias"
    """The name that views give to `bias`."""

    def without(self, sources: Collection[int]) -> Array:
        """The sums (M, outputs) without the terms of some sources.

        These are not the logits of a text without those symbols: their matrices still multiply the earlier terms.
        `analysis.substitutions` gives the outputs of the network for the text without each symbol.

        Args:
            sources: numbers in [0, T]; 0 is the initial state.

        Raises:
            ValueError: for a number out of range.
        """
        chosen = integers("sources", sorted(set(sources)), below=len(self.values), remedy="0 is the initial state.")
        return np.asarray(self.logits - self.values[chosen.astype(int)].sum(axis=0))

    def norms(self) -> Array:
        r"""(T + 1, M), the Euclidean norms $\lVert \kappa_s^t \rVert_2$."""
        return np.asarray(np.linalg.norm(self.values, axis=-1))

    def by_word(self, separator: int | Collection[int] | None = None) -> WordContributions:
        """The terms of each word, summed over its symbols.

        Args:
            separator: the symbol, or symbols, with which a word begins, as in "␣annual␣revenue"; by default the white
                space of the alphabet, or symbol 0 if it has no white space.
        """
        if separator is None:
            separator = [i for i, name in enumerate(self.alphabet or ()) if name.isspace()] or 0
        separators = list(separator) if isinstance(separator, Collection) else [separator]
        first = np.flatnonzero(np.isin(self.symbols, separators)) + 1
        starts = np.unique(np.concatenate([[0], [1][: len(self.symbols)], first]).astype(np.int64))
        sums = np.add.reduceat(self.values, starts, axis=0)
        ends = [*starts[1:], len(self.symbols) + 1]
        pieces = (self.symbols[start - 1 : end - 1] for start, end in zip(starts[1:], ends[1:], strict=True))
        return WordContributions(starts, ("h_0", *(text_of(self.alphabet, piece) for piece in pieces)), sums)

    def winner(self, target: int = -1) -> tuple[int, int]:
        """The outputs with the largest and the second-largest logit at a target; 0 twice if there is a single output.

        Args:
            target: index into `targets`, by default the last one.
        """
        order = np.argsort(-self.logits[target], kind="stable")
        return int(order[0]), int(order[1] if len(order) > 1 else order[0])

    def logit_difference(self, target: int = -1, *, towards: int | None = None, against: int | None = None) -> Array:
        r"""(T + 1,), how far each source moved one logit ahead of another, $\kappa_{s,i}^t - \kappa_{s,j}^t$.

        Args:
            target: index into `targets`, by default the last one.
            towards, against: outputs i and j; by default the winner and the runner-up. For a single output the terms
                themselves.
        """
        if self.logits.shape[1] == 1:
            return self.values[:, target, 0]
        first, second = self.winner(target)
        i, j = first if towards is None else towards, second if against is None else against
        return self.values[:, target, i] - self.values[:, target, j]

    def top(self, num_sources: int = 5, *, target: int = -1, output: int | None = None) -> list[tuple[int, float]]:
        """The sources with the largest terms of one logit, by absolute value, in nats.

        Args:
            num_sources: maximum number of sources.
            target: index into `targets`, by default the last one.
            output: index of the logit; by default the winner's.

        Returns:
            [(source, term), ...], the largest absolute value first.
        """
        integer("num_sources", num_sources, 0)
        read = self._last_source(target) + 1
        column = self.values[:read, target, self.winner(target)[0] if output is None else output]
        order = np.argsort(-np.abs(column), kind="stable")[:num_sources]
        return [(int(source), float(column[source])) for source in order]

    def _last_source(self, target: int) -> int:
        """The last source of a target: its step, or a later one in a network that reads both directions."""
        later = np.flatnonzero(self.values[:, target].any(axis=-1))
        return max(int(self.targets[target]), int(later.max(initial=0)))

    def name(self, symbol: int) -> str:
        """The displayed name of a symbol, a space as "␣", a newline as "⏎"; its id if there is no alphabet."""
        return symbol_name(self.alphabet, symbol)

    def output_name(self, output: int) -> str:
        """The displayed name of an output: its own, or a symbol's if their numbers agree, or "output 4 (index 3)"."""
        return output_name(self.output_names or self.alphabet, output, self.logits.shape[1])

    def source_name(self, source: int) -> str:
        """The displayed name of a source: "h_0" for 0, the initial state; otherwise that of its symbol, or "step"."""
        if source == 0:
            return "h_0"
        if self.vectors:
            return self.times[source - 1] if self.times else "step"
        return self.name(int(self.symbols[source - 1]))

    def shown(self, target: int = -1, width: int = 24) -> str:
        """The view of one target for a terminal: a line per source, with how far it moved the winner ahead.

        Args:
            target: index into `targets`, by default the last one.
            width: columns of the longest bar.
        """
        return "\n".join(as_lines(self.summary(target=target), width=width))

    def table(self, *, target: int = -1) -> Table:
        """As `summary`, and with a column for each output, of which a table has the largest 64 at most.

        Args:
            target: index into `targets`, by default the last one.
        """
        table, count = self.summary(target=target), len(self.bias)
        if not len(self.targets) or count == 1:
            return table
        outputs = np.sort(np.argsort(-self.logits[target], kind="stable")[:MANY_OUTPUTS])
        terms = np.vstack([self.bias, self.values[: len(table) - 1, target]])[:, outputs]
        named, unit = self.output_names or self.alphabet, "nats" if self._in_nats else ""
        names = [output_name(named, output, count, again=True) for output in outputs.tolist()]
        added = [numbers(name, column, unit=unit) for name, column in zip(names, terms.T, strict=True)]
        return replace(table, columns=(*table.columns, *added))

    def summary(self, *, target: int = -1) -> Table:
        """One target: a row for the bias and for each source, how far it moved the winner ahead of the runner-up.

        Of a single output, or of a regression, what each source added to the largest output.

        Args:
            target: index into `targets`, by default the last one.
        """
        if not len(self.targets):
            return Table("Contributions of an empty text")
        step, last, (first, second) = int(self.targets[target]), self._last_source(target), self.winner(target)
        one = self.regression or first == second
        terms = (self.values[:, target, first] if one else self.logit_difference(target))[: last + 1]
        bias = float(self.bias[first] if one else self.bias[first] - self.bias[second])
        named = self.output_names or self.alphabet
        winner, runner = (output_name(named, o, len(self.bias), again=True) for o in (first, second))
        unit = "nats" if self._in_nats and not one else ""
        heading = f"{unit or 'share'} for {winner!r} over {runner!r}"
        if one:
            heading = f"share of {winner}" if self.output_names or len(self.bias) > 1 else "share"
        sources = [self.bias_name.split()[-1], *map(self.source_name, range(last + 1))]
        notes = [f"exact given what {self.given} reads: the layers below it decide its gates"] if self.given else []
        steps = [nth("step", t) for t in range(last)] if self.vectors and not self.times else sources[2:]
        why = because(steps, terms[1:].tolist(), unit, towards=self._direction(target) if one else 1)
        runner_up = "" if one else self._runner_up(second, target)
        place = "after" if last == step else f"at step {step} of"
        return Table(
            f"{place} {self._read(last)}: {self._says(first, target)}{why}{runner_up}",
            (
                Column("position", [None, None, *range(1, last + 1)], form="d"),
                texts("source", sources),
                Column(heading, [bias, *terms.tolist()], form="+.4f", sums=True),
            ),
            tuple(notes),
            bars=heading,
            scale=1.0 if unit else 0.0,
            base=1,
        )

    @property
    def _in_nats(self) -> bool:
        """Whether differences of outputs are in nats."""
        return not self.regression

    def _read(self, step: int) -> str:
        """The text up to a step, in words."""
        if self.vectors:
            return self.times[step - 1] if self.times else f"step {step}"
        read = text_of(self.alphabet, self.symbols[:step])
        return repr(read if len(read) <= WORD else f"…{read[1 - WORD :]}")

    def _says(self, first: int, target: int) -> str:
        """The answer at a target: the outputs, or the most probable one."""
        logits = self.logits[target]
        if len(logits) == 1 and not self.output_names:
            return f"{logits[0]:.4f}"
        if self.regression or len(logits) == 1:
            largest = np.argsort(-logits, kind="stable")[:SAID]
            return ", ".join(f"{self.output_name(o)} {logits[o]:.4g}" for o in largest)
        parts = softmax(logits)
        return verdict(self.output_name(first), float(parts[first]), len(parts))

    def _direction(self, target: int) -> int:
        """1 or -1 where a single output speaks for or against something; 0 for a quantity."""
        return 0

    def _runner_up(self, second: int, target: int) -> str:
        """The second most probable output, as the end of a sentence."""
        part = float(softmax(self.logits[target])[second])
        return f"; then {quoted(self.output_name(second))} {percent(part)}" if self._in_nats else ""

    def last_targets(self) -> Contributions | None:
        """The text up to its last target, with the targets before it up to the first gap.

        None if there is no target, or if a target has terms of later symbols, as in a network that reads both
        directions.
        """
        ends: list[int] = []
        for column in np.argsort(-self.targets, kind="stable").tolist():
            target = int(self.targets[column])
            if self.values[target + 1 :, column].any() or (ends and target != self.targets[ends[-1]] - 1):
                break
            ends.append(column)
        if not ends:
            return None
        columns, end = ends[::-1], int(self.targets[ends[0]])
        return replace(
            self,
            symbols=self.symbols[:end],
            targets=self.targets[columns],
            values=self.values[: end + 1, columns],
            logits=self.logits[columns],
            features=None,
        )

    def most_probable(self, num_outputs: int) -> TopContributions:
        """The terms of so many outputs, fewer than there are, and of the others together; targets must be 1, ..., T."""
        top = np.stack([largest(logits, num_outputs) for logits in self.logits])
        terms = [self.values[: target + 1, i] for i, target in enumerate(self.targets)]
        return TopContributions(
            self.symbols,
            self.logits.shape[1],
            top,
            tuple(with_the_others(one, chosen) for one, chosen in zip(terms, top, strict=True)),
            tuple(np.linalg.norm(one, axis=-1) for one in terms),
            np.stack([with_the_others(self.bias, chosen) for chosen in top]),
            np.array([probability_of_the_others(*each) for each in zip(self.logits, top, strict=True)]),
            self.residual,
            self.alphabet,
            self.vectors,
            self.output_names,
            self.times,
            self.regression,
        )

    def tag(self) -> Tag:
        """The terms of the last targets of a text, as `last_targets` returns them, for the TensorBoard plugin."""
        rows = [self.values[: target + 1, column] for column, target in enumerate(self.targets.tolist())]
        first = len(self.symbols) - len(self.targets) + 1
        values = np.concatenate([*rows, self.bias[None]]).astype(np.float32)
        return values, {
            "kind": "contributions",
            **self._names(),
            **({"first": first} if first > 1 else {}),
            **({"values": True} if self.regression else {}),
        }

    def _names(self) -> dict[str, Any]:
        """The names of the symbols, or the numbers of the steps of vectors, and of the outputs."""
        outputs = [self.output_name(output) for output in range(len(self.bias))]
        return {**names_of_sources(self.symbols, self.alphabet, self.vectors, self.times), "outputs": outputs}

    def page_view(self) -> View | None:
        """The terms of the last predictions in the plugin's view; None as `last_targets`."""
        last = self.last_targets()
        if last is None:
            return None
        return view("reads", last.tag() if last.logits.shape[1] <= MANY_OUTPUTS else last.most_probable(TOP).tag())


def contributions(
    network: object,
    symbols: ArrayLike | str,
    *,
    readout: object = None,
    targets: int | Sequence[int] | None = None,
    alphabet: GivenAlphabet | None = None,
    outputs: GivenOutputs | None = None,
    times: Sequence[object] | None = None,
    origin: ArrayLike | str | None = None,
    by_feature: bool = False,
) -> Contributions:
    r"""Splits the logits of one text among its symbols and the initial state.

    Args:
        network: a model of an ISAN, or of a linear recurrence such as `layers.MinGRU`, in one direction or two, and a
            head of Dense and BatchNormalization layers without activations between them, over the states or their mean;
            or such a layer or cell. The function splits the logits, the values before the head's last activation.
            Masked steps, as by an Embedding with `mask_zero`, have no share.
        symbols: int (T,), one text, read from the learned initial state; or a string or a list of symbols, if there is
            an alphabet. A linear recurrence reads ids through the Embedding before it, or as one-hot vectors. Without
            an Embedding it may read one sequence of vectors (T, features), whose steps are then the sources. If layers
            below it, such as other recurrences, compute its inputs, the split is exact given these inputs, and `given`
            of the result names the layer.
        readout: for a layer or a cell: its Dense head, or a pair (matrix (n, outputs), bias (outputs,)); None splits
            the state.
        targets: the steps whose logits are split, in [1, T], or negative from the end; None for all steps.
        alphabet: names of the symbols, for views; by default the alphabet that the model carries.
        outputs: names of the outputs: `datasets.Outputs` or a list; by default those that a model carries.
        times: names of the steps of vectors, in order, such as dates, if no layer changes their number.
        origin: the state that counts as no contribution: (n,), such as `mean_state`; "initial" for $h_0$; None for 0.
            Every contribution depends on it, no output does (docs/notes/origin.md).
        by_feature: whether to split each step's term among the features of the vector read at this step, given the
            gates. This is exact because a linear recurrence adds a candidate or a value that is linear in the vector.

    Returns:
        `Contributions` of T + 1 sources to M targets, 8 bytes for each source, target and output. For long texts use
        `recent_contributions`.

    Raises:
        ValueError: if there is no such layer, if its output is not affine in its state, if the head has an activation
            before its last layer, if a symbol is outside the vocabulary or a target outside the text, or if a
            contribution overflows. With `by_feature`, also if the network reads no vectors, or its candidates are not
            linear in them.

    Units: nats (logits).
    Exactness: the terms and the bias of the readout sum to the logits; `residual` is the largest deviation, float64
        rounding.
    Example:

        >>> from keras_interp_rnn import analysis, layers
        >>> model = keras.Sequential([keras.Input((None,), dtype="int32"), layers.ISAN(3, 4), keras.layers.Dense(4)])
        >>> split = analysis.contributions(model, [0, 2, 1])
        >>> split.values.shape, split.residual < 1e-12
        ((4, 3, 4), True)

    Reference: Foerster et al., ICML 2017, eqs. 4 to 6.
    """
    reading = AffineReading(network, alphabet)
    opened = reading.open(symbols, readout, origin, whole=True)
    steps, bias = len(opened.symbols), opened.ways[0].head.offset
    at_the_end, vectors = opened.at_the_end, opened.vectors
    chosen = _check_targets(steps if targets is None and at_the_end else targets, steps)
    if at_the_end and chosen.tolist() != [steps]:
        raise ValueError(
            "The target of a network whose head reads the whole text must be its last step. Received: "
            f"targets={targets!r}. Leave it out."
        )
    _check_size(steps, len(chosen), len(bias), vectors.shape[1] if by_feature and vectors is not None else 1)
    with np.errstate(over="ignore", invalid="ignore"):
        values, logits = _terms(opened.ways[0], chosen)
        for way in opened.ways[1:]:
            terms, added = _terms(way, chosen if at_the_end else steps + 1 - chosen)
            values[0] += terms[0]
            values[1:] += terms[:0:-1]
            logits += added
    check_range("Contributions and logits", (values, logits))
    residual = float(np.abs(bias + values.sum(axis=0) - logits).max(initial=0.0))
    features = _by_feature(opened, chosen) if by_feature else None
    arrays = opened.symbols, chosen, values, bias, logits, residual, reading.names, features
    numbered, names = np.ndim(symbols) == 2 or not opened.same_steps, output_names(network, outputs, len(bias))
    dates = () if times is None else names_of_steps(np.asarray(symbols)[None], times)[0]
    if dates and not opened.same_steps:
        raise ValueError(
            f"`times` must be None where a layer changes the number of steps. Received: {len(dates)} names, and "
            f"{steps} steps that {opened.given} reads. Leave them out."
        )
    return Contributions(
        *arrays,
        opened.given,
        vectors=numbered,
        output_names=names,
        times=dates,
        regression=share_no_probability(network, outputs, len(bias)),
    )


def _terms(way: Way, targets: NDArray[np.int64]) -> tuple[Array, Array]:
    """The terms (T + 1, targets, outputs) of one direction, and the logits, computed by the recurrence."""
    weights, head, rows = way.weights, way.head, way.rows
    columns = {int(target): column for column, target in enumerate(targets)}
    values = np.zeros((len(rows) + 1, len(targets), head.matrix.shape[1]))
    logits = np.zeros(values.shape[1:])
    read = rows[: targets.max(initial=0)]
    if way.pooled is not None:
        states = np.array([*equations.states(np, *weights, rows)])
        logits[0] = equations.logits(np, head.matrix, head.offset, way.pooled @ states)
        following = np.zeros_like(head.matrix)
        for step in range(len(rows), 0, -1):
            following = following + way.pooled[step - 1] * head.matrix
            values[step, 0] = weights.bias[rows[step - 1]] @ following
            following = weights.kernel[rows[step - 1]] @ following
        values[0, 0] = weights.initial_state @ following
        return values, logits
    for step, state in enumerate(equations.states(np, *weights, read), start=1):
        if step in columns:
            logits[columns[step]] = equations.logits(np, head.matrix, head.offset, state)
    if targets.sum() * logits.shape[1] < len(read) ** 2 / 2:  # fewer multiplications from the end of each target
        for step, column in columns.items():
            values[: step + 1, column] = equations.sources_seen(np, *weights, read[:step], head.matrix)
    else:
        for step, terms in enumerate(equations.sources(np, *weights, read), start=1):
            if step in columns:
                values[: step + 1, columns[step]] = terms @ head.matrix
    return values, logits


def _by_feature(opened: OpenedText, targets: NDArray[np.int64]) -> Array:
    """(T, features, targets, outputs): the addends of features, each mapped on to the targets."""
    if opened.vectors is None or opened.at_the_end:
        reads = "symbols, or in both directions" if opened.vectors is None else "the mean of its states"
        raise ValueError(
            "For by_feature a linear recurrence must read vectors forwards, state by state. Received: a network that "
            f"reads {reads}. Leave by_feature=True out, or pass the layer, its readout, and the vectors."
        )
    addends = feature_addends(opened.cell, opened.vectors)
    [(weights, head, *_)] = opened.ways
    shares = np.zeros((*opened.vectors.shape, len(targets), len(head.offset)))
    for column, target in enumerate(targets):
        read = head.matrix
        for step in range(target - 1, -1, -1):
            shares[step, :, column] = addends[step] @ read
            read = weights.kernel[step] @ read
    return shares


def _check_size(steps: int, targets: int, outputs: int, features: int) -> None:
    size = 8 * (steps + 1) * targets * outputs * features
    if size > MAX_BYTES:
        raise ValueError(
            f"The contributions of all symbols to all targets must fit into {MAX_BYTES / 2**30:g} GiB. Received: "
            f"{steps} symbols, {targets} targets and {outputs} outputs, which need {size / 2**30:.1f} GiB. Pass fewer "
            "`targets`, or use `recent_contributions`."
        )


def recent_contributions(
    network: object,
    symbols: ArrayLike | str,
    *,
    window: int,
    readout: object = None,
    origin: ArrayLike | str | None = None,
    alphabet: Sequence[str] | None = None,
) -> Iterator[RecentContributions]:
    r"""Splits the logits of a long text among its last symbols, step by step, in constant memory.

    Args:
        network: as `contributions`, in one direction, with a head that reads the states, not their mean.
        readout, origin, alphabet: as `contributions`.
        symbols: as `contributions`, of any length.
        window: number of symbols with a term each; all earlier symbols share one term.

    Yields:
        `RecentContributions` for every step, in O(window n^2) time.

    Raises:
        ValueError: as `contributions`, and if the window is below 1.

    Units: nats (logits).
    Exactness: bias + values + earlier sum to the logits, to float64 rounding.
    Example:

        >>> from keras_interp_rnn import analysis, layers
        >>> model = keras.Sequential([keras.Input((None,), dtype="int32"), layers.ISAN(3, 4), keras.layers.Dense(4)])
        >>> [recent.values.shape for recent in analysis.recent_contributions(model, [0, 2, 1], window=2)]
        [(1, 4), (2, 4), (2, 4)]

    Reference: Foerster et al., ICML 2017, eqs. 4 to 6.
    """
    window = integer("window", window)
    [(weights, head, text, *_)] = AffineReading(network, alphabet).open(symbols, readout, origin).ways
    return _recent(weights, head, text, window)


def _recent(weights: Any, head: Any, text: NDArray[np.int64], window: int) -> Iterator[RecentContributions]:
    # The first row is the sum of all terms before the window, the others are its symbols, the earliest first.
    terms, state = weights.initial_state[None, :], weights.initial_state
    for step, symbol in enumerate(text, start=1):
        matrix, bias = weights.kernel[symbol], weights.bias[symbol]
        with np.errstate(over="ignore", invalid="ignore"):
            terms = np.concatenate([terms @ matrix, bias[None, :]])
            if len(terms) > window + 1:
                terms = np.concatenate([terms[:1] + terms[1:2], terms[2:]])
            state = state @ matrix + bias
            read, logits = terms @ head.matrix, state @ head.matrix + head.offset
        check_range(f"Contributions and logits at step {step}", (read, logits))
        yield RecentContributions(step, read[1:], read[0], logits)


def _check_targets(targets: int | Sequence[int] | None, steps: int) -> NDArray[np.int64]:
    if targets is None:
        return np.arange(1, steps + 1)
    chosen = integers("targets", np.atleast_1d(np.asarray(targets)), ndim=1)
    chosen = np.where(chosen < 0, chosen + steps + 1, chosen)
    if not chosen.size or ((chosen < 1) | (chosen > steps)).any() or len(np.unique(chosen)) < len(chosen):
        raise invalid("targets", f"different steps in [1, {steps}], or negative from the end", targets)
    return chosen.astype(np.int64)
