r"""Phase portraits over symbols: by how much each symbol changes a logit, against the logit before it.

With one logit l (of two outputs their difference) and the step from t - 1 to t by the symbol x_t, a point is
(l_{t-1}, l_t - l_{t-1}). If a network of one unit is affine, h' = h w_x + b_x and l = h r + c, all points of a symbol
lie on one line,

    l' - l = (w_x - 1)(l - c) + b_x r:

its slope is the decay less 1, and it crosses 0 at the fixed point of the symbol. Networks of several units scatter
about it: `residual` is how far. Fixed points and time constants are those of the affine map, h* = h* W_x + b_x and
-1 / ln |eigenvalue of W_x|, not of the line.

Reference: Ji-An, Benna and Mattar, "Discovering cognitive strategies with tiny recurrent neural networks", Nature 644,
2025, figure 3.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from keras_interp_rnn._checks import integer, integers, invalid
from keras_interp_rnn._results import Result, Table, counted, numbers, phase_lines, quoted, symbol_name, texts
from keras_interp_rnn._types import Array, Ints
from keras_interp_rnn.analysis.weighted.forms import AffineForm, affine_form

SAME = 1e-12
"""Distance of the size of an eigenvalue from 1, below which a symbol leaves its direction unchanged."""


CONSTANTS = 6
"""Maximum number of time constants of a symbol in a table."""


@dataclass(frozen=True, eq=False, repr=False)
class PhasePortrait(Result):
    """The logit before each step of a network, and its change by the step.

    Attributes:
        logits: (points,), before each step. changes: (points,), by each step. symbols: int (points,).
        slopes, intercepts: (K,), of the line fitted to each symbol's changes by least squares; NaN if its logits are
            all the same.
        residual: (K,), the largest distance of a change from its line; NaN if there is no line.
        fixed_points: (K,), the logit to which repeating a symbol leads; NaN if there is none, and for networks that are
            not affine.
        time_constants: (K, n), steps, in descending order: in so many steps of a symbol a direction shrinks to 1/e;
            infinite for one that the symbol leaves unchanged, and negative for one that it makes grow, by e in as many
            steps; NaN for networks that are not affine.
        alphabet: names of the symbols, or None.

    Units: nats; steps.
    Example: see `phase_portrait`.
    """

    logits: Array
    changes: Array
    symbols: Ints
    slopes: Array
    intercepts: Array
    residual: Array
    fixed_points: Array
    time_constants: Array
    alphabet: Sequence[Hashable] | None

    def name(self, symbol: int) -> str:
        """The displayed name of a symbol."""
        return symbol_name(self.alphabet, symbol)

    def table(self) -> Table:
        """A row for each symbol: its slope, how far points are from its line, its fixed point, its time constants."""
        constants = [" ".join(map(_time_constant, row[:CONSTANTS])) for row in self.time_constants.tolist()]
        names = [self.name(symbol) for symbol in range(len(self.slopes))]
        known = np.flatnonzero(np.isfinite(self.slopes))
        steepest = f"; {quoted(names[known[self.slopes[known].argmin()]])} pulls back most" if len(known) else ""
        return Table(
            f"change of the logit against the logit before, {counted(len(self.logits), 'step')}, a line for each "
            f"symbol; rings are fixed points{steepest}",
            (
                texts("symbol", names),
                numbers("slope", self.slopes, "+.3f"),
                numbers("residual", self.residual, ".1e"),
                numbers("fixed point", self.fixed_points, "+.3f"),
                texts("time constants (steps)", constants),
            ),
            drawings=(self.drawing,),
        )

    def drawing(self) -> str:
        """The line of each symbol over the logits that it was read at, with its name; a ring at its fixed point."""
        lines = []
        for symbol in np.unique(self.symbols).tolist():
            logits = self.logits[self.symbols == symbol]
            ends = np.array([logits.min(), logits.max()])
            changes = self.slopes[symbol] * ends + self.intercepts[symbol]
            if np.isfinite(changes).all():
                pairs = tuple(zip(ends.tolist(), changes.tolist(), strict=True))
                lines.append((symbol, self.name(symbol), pairs, float(self.fixed_points[symbol])))
        return phase_lines(self.logits, self.changes, lines)


def _time_constant(value: float) -> str:
    """A time constant as text; a direction that does not decay has none."""
    if abs(value) > 1e12:  # an eigenvalue of 1 but for rounding
        return "none (unchanged)"
    return f"none (grows by e in {-value:.3g})" if value < 0 else f"{value:.3g}"


def phase_portrait(
    network: object,
    sequences: Sequence[object],
    *,
    towards: int | None = None,
    against: int | None = None,
    alphabet: Sequence[Hashable] | None = None,
) -> PhasePortrait:
    """How much each symbol changes a logit, as a function of the logit before it.

    Args:
        network: a network that `equivalent` reads, such as a model of an ISAN and a Dense head, or an
            `automata.WeightedAutomaton`; or any model of symbols with outputs at every step, such as a GRU, of which
            the steps from the second on count.
        sequences: sequences of symbols, of any lengths, such as `sequences` of `datasets.sessions`.
        towards, against: the outputs whose difference is the logit. By default the second and the first of two outputs,
            or a single output itself.
        alphabet: names of the symbols; by default those that the network carries.

    Returns:
        `PhasePortrait`; `figures.phase_portrait` draws it.

    Raises:
        ValueError: if there is no step, if a network of three or more outputs comes without `towards` and `against`, or
            if it has no output at every step.

    Units: nats (logits); steps.
    Exactness: in float64 for affine networks, whose fixed points and time constants are computed from the weights.
    Example:

    >>> from keras_interp_rnn import automata
    >>> learner = automata.WeightedAutomaton(  # a value that decays by 0.8 and moves by -1 or 1
    ...     [0, 1], [[[0.8, 0], [-1, 1]], [[0.8, 0], [1, 1]]], [2, 0])
    >>> portrait = phase_portrait(learner, [[0, 1, 1, 0, 1]])
    >>> portrait.slopes.round(3).tolist(), portrait.fixed_points.round(3).tolist()
    ([-0.2, -0.2], [-10.0, 10.0])

    Reference: Ji-An, Benna and Mattar, Nature 644, 2025.
    """
    try:
        form = affine_form(network, alphabet=alphabet)
    except ValueError:
        if not hasattr(network, "predict"):
            raise
        form = None
    if form is None:
        before, after, symbols = _predicted(network, sequences)
        num_symbols = int(symbols.max(initial=-1)) + 1 if alphabet is None else len(alphabet)
        fixed, constants = np.full((num_symbols, before.shape[1]), np.nan), np.full((num_symbols, 1), np.nan)
    else:
        before, after, symbols = _run(form, sequences)
        num_symbols, alphabet = form.num_symbols, form.alphabet if alphabet is None else alphabet
        fixed, constants = _fixed(form)
    if not len(symbols):
        raise ValueError(
            "`sequences` must have a step that is read. Received: none. Steps of a model count from the second on."
        )
    direction = _direction(before.shape[1], towards, against)
    logits, changes = before @ direction, (after - before) @ direction
    lines = np.array([_line(logits[symbols == x], changes[symbols == x]) for x in range(num_symbols)])
    slopes, intercepts, residual = lines.T
    fixed_points = fixed @ direction
    return PhasePortrait(logits, changes, symbols, slopes, intercepts, residual, fixed_points, constants, alphabet)


def _direction(num_outputs: int, towards: int | None, against: int | None) -> Array:
    """The logit as a column over the outputs."""
    if num_outputs == 1 or (num_outputs == 2 and towards is None and against is None):
        return np.array([-1.0, 1.0][-num_outputs:])
    if towards is None or against is None:
        raise ValueError(
            f"`towards` and `against` must be outputs of a network of {num_outputs}. Received: towards={towards}, "
            f"against={against}. Pass both."
        )
    direction = np.zeros(num_outputs)
    for name, output, sign in (("towards", towards, 1.0), ("against", against, -1.0)):
        if integer(name, output, 0) >= num_outputs:
            raise invalid(name, f"an output, below {num_outputs}", output)
        direction[output] += sign
    return direction


def _run(form: AffineForm, sequences: Sequence[object]) -> tuple[Array, Array, Ints]:
    """Outputs before and after each step of all sequences, and its symbol."""
    words = [form.ids(word) for word in sequences]
    longest = max(map(len, words), default=0)
    ids = np.array([np.pad(word, (0, longest - len(word)), constant_values=-1) for word in words])
    state = np.tile(form.initial, (len(words), 1))
    outputs, read = [state @ form.readout + form.offset], []
    for now in ids.reshape(len(words), longest).T:
        state = np.einsum("bi,bij->bj", state, form.kernel[now]) + form.bias[now]
        outputs.append(state @ form.readout + form.offset)
        read.append(now)
    symbols = np.concatenate([*read, np.zeros(0, np.int64)]).astype(np.int64)
    before, after = (np.concatenate([*part, np.zeros((0, form.num_outputs))]) for part in (outputs[:-1], outputs[1:]))
    steps = symbols >= 0
    return before[steps], after[steps], symbols[steps]


def _predicted(network: Any, sequences: Sequence[Any]) -> tuple[Array, Array, Ints]:
    """As `_run`, from the second step on, by a model."""
    pairs = []
    for word in sequences:
        ids = integers("sequences", word, ndim=1)
        outputs = np.asarray(network.predict(ids[None], verbose=0), np.float64)
        if outputs.ndim != 3 or outputs.shape[1] != len(ids):
            raise ValueError(
                f"`network` must have an output at every step. Received: outputs of shape {outputs.shape}. Build the "
                "recurrent layer with return_sequences=True."
            )
        pairs.append((outputs[0, :-1], outputs[0, 1:], ids[1:]))
    before, after, symbols = (np.concatenate(parts) for parts in zip(*pairs, strict=True))
    return before, after, symbols


def _fixed(form: AffineForm) -> tuple[Array, Array]:
    """Outputs at the fixed point of each symbol (K, outputs), and time constants (K, n)."""
    size = np.abs(np.linalg.eigvals(form.kernel))
    outputs = np.full((form.num_symbols, form.num_outputs), np.nan)
    for x in np.flatnonzero((size < 1).all(axis=1)):
        state = np.linalg.solve((np.eye(form.units) - form.kernel[x]).T, form.bias[x])
        outputs[x] = state @ form.readout + form.offset
    with np.errstate(divide="ignore"):
        constants = np.where(np.abs(size - 1) < SAME, np.inf, -1 / np.log(size))
    return outputs, -np.sort(-constants, axis=1)


def _line(logits: Array, changes: Array) -> tuple[float, float, float]:
    """Slope and intercept of a line through points, and the largest distance from it."""
    centred = logits - logits.mean() if len(logits) else logits
    spread = float(centred @ centred)
    if not spread > (1e-12 * max(1.0, float(np.abs(logits).max(initial=0.0)))) ** 2:
        return np.nan, np.nan, np.nan
    slope = float(centred @ changes) / spread
    intercept = float(changes.mean() - slope * logits.mean())
    return slope, intercept, float(np.abs(changes - slope * logits - intercept).max())
