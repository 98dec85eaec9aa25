r"""Every logit of an input-switched affine network, split exactly among the symbols read so far.

The state is affine in its history, so the logits are a sum with one term per source (Foerster et al., ICML 2017,
eqs. 4 to 6):

    l_t = c + sum_{s=0}^{t} kappa_s^t,        kappa_s^t = b_{x_s} W_{x_{s+1}} ... W_{x_t} R,        b_{x_0} = h_0.

All terms of step t come from those of step t - 1 by one product with W_{x_t}: O(T^2 n^2) for T symbols.
"""

from __future__ import annotations

import html
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from keras_interp_rnn._display import visible
from keras_interp_rnn._repr import short_repr
from keras_interp_rnn.analysis._logits import softmax
from keras_interp_rnn.analysis._reading import alphabet_of, encoded
from keras_interp_rnn.analysis._weights import opened
from keras_interp_rnn.equations import isan as equations

Array = NDArray[np.float64]


@short_repr
class Recent(NamedTuple):
    """One step of `recent_contributions`.

    Attributes:
        step: t, from 1.
        values: (sources, outputs), the terms of the last min(t, window) symbols, the oldest first.
        earlier: (outputs,), the sum of the terms of all that came before, the initial state included.
        logits: (outputs,), from running the recurrence forward.
    """

    step: int
    values: Array
    earlier: Array
    logits: Array


@short_repr
@dataclass(frozen=True, eq=False)
class Words:
    """Contributions summed over words.

    Attributes:
        starts: for each word the number of its first symbol, from 1; the initial state, 0, is the first "word".
        names: the words.
        values: (words, targets, outputs).
    """

    starts: NDArray[np.int64]
    names: tuple[str, ...]
    values: Array

    def norms(self) -> Array:
        """(words, targets), the lengths of the words' contributions."""
        return np.linalg.norm(self.values, axis=-1)


@short_repr
@dataclass(frozen=True, eq=False)
class Contributions:
    r"""Terms $\kappa_s^t$ of every logit of one text.

    Attributes:
        symbols: (T,), the text.
        targets: (M,), the steps t whose logits are split, from 1 to T.
        values: (T + 1, M, outputs); `values[s, i]` is $\kappa_s^t$ of t = `targets[i]`: source s = 0 is the initial
            state, s >= 1 the s-th symbol; zero where s > t.
        bias: (outputs,), the readout's own bias, the same at every step.
        logits: (M, outputs), from running the recurrence forward, not from `values`.
        residual: largest |bias + sum of values over sources - logits|, in logits; rounding, about 1e-15 relative.
        alphabet: names of the symbols, for what is shown; None for their numbers.

    Units: nats (logits).
    """

    symbols: NDArray[np.int64]
    targets: NDArray[np.int64]
    values: Array
    bias: Array
    logits: Array
    residual: float
    alphabet: Sequence[str] | None = None

    def without(self, sources: Collection[int]) -> Array:
        """Logits (M, outputs) the network would have put out had these sources contributed nothing.

        Args:
            sources: numbers in [0, T]; 0 is the initial state.

        Raises:
            ValueError: for a number outside.
        """
        chosen = sorted(set(sources))
        if chosen and not 0 <= chosen[0] <= chosen[-1] < len(self.values):
            raise ValueError(
                f"Sources are numbers in [0, {len(self.values) - 1}], 0 the initial state. Received: {chosen}."
            )
        return self.logits - self.values[chosen].sum(axis=0)

    def norms(self) -> Array:
        r"""(T + 1, M), the lengths $\lVert \kappa_s^t \rVert_2$."""
        return np.linalg.norm(self.values, axis=-1)

    def by_word(self, separator: int | Collection[int] | None = None) -> Words:
        """The terms of every word together, as the sum over its symbols.

        Args:
            separator: the symbol, or symbols, that a word begins with, as in "␣annual␣revenue"; by default the white
                space of the alphabet, or symbol 0 where it has none.
        """
        first = np.flatnonzero(np.isin(self.symbols, self._separators(separator))) + 1
        starts = np.unique(np.concatenate([[0], [1][: len(self.symbols)], first]).astype(np.int64))
        sums = np.add.reduceat(self.values, starts, axis=0)
        ends = [*starts[1:], len(self.symbols) + 1]
        pieces = (self.symbols[start - 1 : end - 1] for start, end in zip(starts[1:], ends[1:], strict=True))
        return Words(starts, ("h_0", *("".join(map(self.name, piece)) for piece in pieces)), sums)

    def winner(self, target: int = -1) -> tuple[int, int]:
        """The output of the largest logit at a target, and the runner-up.

        Args:
            target: index into `targets`, the last by default.
        """
        order = np.argsort(-self.logits[target], kind="stable")
        return int(order[0]), int(order[1] if len(order) > 1 else order[0])

    def pull(self, target: int = -1, towards: int | None = None, against: int | None = None) -> Array:
        r"""(T + 1,): by how much each source moved one logit ahead of another, $\kappa_{s,i}^t - \kappa_{s,j}^t$.

        Args:
            target: index into `targets`, the last by default.
            towards, against: outputs i and j; the winner and the runner-up where not given.
        """
        first, second = self.winner(target)
        i, j = first if towards is None else towards, second if against is None else against
        return self.values[:, target, i] - self.values[:, target, j]

    def top(self, count: int = 5, target: int = -1, output: int | None = None) -> list[tuple[int, float]]:
        """The sources with the largest terms of one logit, whatever their sign: (source, term in nats).

        Args:
            count: at most so many. target: index into `targets`. output: the winner where not given.
        """
        read = int(self.targets[target]) + 1
        column = self.values[:read, target, self.winner(target)[0] if output is None else output]
        order = np.argsort(-np.abs(column), kind="stable")[:count]
        return [(int(source), float(column[source])) for source in order]

    def name(self, symbol: int) -> str:
        """How a symbol is shown: its name, a space as "␣", a newline as "⏎"; without an alphabet its number."""
        if self.alphabet is None or not 0 <= symbol < len(self.alphabet):
            return f"{symbol} "
        return visible(self.alphabet[symbol])

    def shown(self, target: int = -1, width: int = 24) -> str:
        """The view of one target for a terminal: a line for each source, how far it moved the winner ahead.

        Args:
            target: index into `targets`, the last by default. width: columns of the longest bar.
        """
        first, second = self.winner(target)
        step, pull = int(self.targets[target]), self.pull(target)
        p = softmax(self.logits[target])
        winner, runner = self.name(first), self.name(second)
        lines = [
            f"after {''.join(map(self.name, self.symbols[:step]))!r}: {winner!r} {p[first]:.1%}, "
            f"{runner!r} {p[second]:.1%}",
            f"source   nats for {winner!r} over {runner!r}",
        ]
        scale = max(float(np.abs(pull).max()), 1e-300)
        own = float(self.bias[first] - self.bias[second])
        for name, value in [("bias", own), *((self._source(s), pull[s]) for s in range(step + 1))]:
            bar = round(width * min(abs(value) / scale, 1))
            lines.append(f"{name:6} {value:+9.4f}  {('#' if value > 0 else '-') * bar}")
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.shown() if len(self.targets) else "Contributions of an empty text"

    def _repr_html_(self) -> str:
        """The last target for a notebook: every symbol shaded by how far it moved the winner ahead of the runner-up."""
        if not len(self.targets):
            return "<p>Contributions of an empty text</p>"
        first, second = self.winner()
        step, pull = int(self.targets[-1]), self.pull()
        p = softmax(self.logits[-1])
        scale = max(float(np.abs(pull[1 : step + 1]).max(initial=0)), 1e-300)
        spans = []
        for source in range(1, step + 1):
            value = pull[source]
            red, green, blue = (33, 102, 172) if value > 0 else (178, 24, 43)
            spans.append(
                f'<span title="{value:+.4f} nats" style="background:rgba({red},{green},{blue},'
                f'{0.75 * abs(value) / scale:.3f})">{html.escape(self._source(source))}</span>'
            )
        winner, runner = (html.escape(self.name(i)) for i in (first, second))
        return (
            f"<div><p>Next: <b>{winner}</b> {p[first]:.1%} before <b>{runner}</b> {p[second]:.1%}. "
            f"Blue moved {winner} ahead, red {runner}; up to {scale:.2f} nats a symbol. "
            f"Initial state {pull[0]:+.3f}, readout bias {self.bias[first] - self.bias[second]:+.3f}. "
            f'Residual of the sum {self.residual:.1e}.</p><p style="font-family:monospace;font-size:130%;'
            f'overflow-wrap:anywhere">{"".join(spans)}</p></div>'
        )

    def _separators(self, given: int | Collection[int] | None) -> list[int]:
        if given is None:
            return [i for i, name in enumerate(self.alphabet or ()) if name.isspace()] or [0]
        return list(given) if isinstance(given, Collection) else [given]

    def _source(self, source: int) -> str:
        return "h_0" if source == 0 else self.name(int(self.symbols[source - 1]))


def contributions(
    layer: Any,
    symbols: ArrayLike,
    readout: Any = None,
    targets: int | Sequence[int] | None = None,
    alphabet: Sequence[str] | None = None,
) -> Contributions:
    r"""Splits the logits of one text among its symbols and the initial state.

    Args:
        layer: a model of an ISAN and a linear Dense head, which is found; or an ISAN layer or cell.
        symbols: int (T,), one text, read from the learned initial state; or a string, where there is an alphabet.
        readout: for a layer: its Dense head, or a pair (matrix (n, outputs), bias (outputs,)); None splits the
            state itself.
        targets: the steps whose logits are split, in [1, T], or negative from the end; None for all.
        alphabet: names of the symbols, for what is shown; by default those that the model carries
            (`datasets.text.Alphabet`).

    Returns:
        `Contributions`; T + 1 sources, M targets: 8 (T + 1) M outputs bytes. For texts of which that is too much see
        `recent_contributions`.

    Raises:
        ValueError: if there is no ISAN, if the head is not linear, if a symbol is outside the vocabulary or a target
            outside the text.

    Units: nats (logits).
    Exactness: the terms and the bias of the readout sum to the logits; `residual` reports by how much they miss
        (float64 rounding).
    Reference: Foerster et al., ICML 2017, eqs. 4 to 6.
    """
    names = alphabet_of(layer) if alphabet is None else alphabet
    if isinstance(symbols, str) and names is not None:
        symbols = encoded(symbols, names)
    weights, head, text = opened(layer, symbols, readout)
    steps, outputs = len(text), head.matrix.shape[1]
    wanted = _checked_targets(targets, steps)
    columns = {int(target): column for column, target in enumerate(wanted)}
    values = np.zeros((steps + 1, len(wanted), outputs))
    logits = np.zeros((len(wanted), outputs))
    read = text[: wanted.max(initial=0)]
    both = zip(equations.sources(np, *weights, read), equations.states(np, *weights, read), strict=True)
    for step, (terms, state) in enumerate(both, start=1):
        if step in columns:
            values[: step + 1, columns[step]] = terms @ head.matrix
            logits[columns[step]] = equations.logits(np, head.matrix, head.offset, state)
    residual = np.abs(head.offset + values.sum(axis=0) - logits).max(initial=0.0)
    return Contributions(text, wanted, values, head.offset, logits, float(residual), names)


def recent_contributions(layer: Any, symbols: ArrayLike, window: int, readout: Any = None) -> Iterator[Recent]:
    r"""Splits the logits of a long text among its last symbols, step by step, in memory that does not grow.

    Args:
        layer, readout: as `contributions`.
        symbols: int (T,), of any length.
        window: so many symbols back; what came before is one term.

    Yields:
        `Recent`, for every step. O(window n^2) each.

    Raises:
        ValueError: as `contributions`, and if the window is below 1.

    Units: nats (logits).
    Exactness: bias + values + earlier sum to the logits, to float64 rounding.
    Reference: Foerster et al., ICML 2017, eqs. 4 to 6.
    """
    if window < 1:
        raise ValueError(f"A window holds at least one symbol. Received: window={window}.")
    weights, head, text = opened(layer, symbols, readout)
    return _recent(weights, head, text, window)


def _recent(weights: Any, head: Any, text: NDArray[np.int64], window: int) -> Iterator[Recent]:
    # The first row is all that came before the window, the others are its symbols, the oldest first.
    terms, state = weights.initial_state[None, :], weights.initial_state
    for step, symbol in enumerate(text, start=1):
        matrix, bias = weights.kernel[symbol], weights.bias[symbol]
        terms = np.concatenate([terms @ matrix, bias[None, :]])
        if len(terms) > window + 1:
            terms = np.concatenate([terms[:1] + terms[1:2], terms[2:]])
        state = state @ matrix + bias
        read = terms @ head.matrix
        yield Recent(step, read[1:], read[0], state @ head.matrix + head.offset)


def _checked_targets(targets: int | Sequence[int] | None, steps: int) -> NDArray[np.int64]:
    if targets is None:
        return np.arange(1, steps + 1)
    wanted = np.atleast_1d(np.asarray(targets))
    if wanted.ndim != 1 or not np.issubdtype(wanted.dtype, np.integer):
        raise ValueError(f"Targets are steps, integers. Received: targets={targets!r}.")
    wanted = np.where(wanted < 0, wanted + steps + 1, wanted)
    if ((wanted < 1) | (wanted > steps)).any() or len(set(wanted.tolist())) < len(wanted):
        raise ValueError(f"Targets are different steps in [1, {steps}]. Received: targets={targets!r}.")
    return wanted.astype(np.int64)
