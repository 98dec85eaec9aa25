r"""Time scales of an input-switched affine network: its contributions by age.

Foerster et al., ICML 2017, section 3.3 and figure 4. With $\kappa_s^t$ the contribution of the symbol at s to the
logits at t (eq. 6), everything here is a mean over t at a fixed age t - s. The terms of one age follow from the terms
of the age before by one product per symbol of the vocabulary:

    u_0(t) = b_{x_t},        u_a(t) = u_{a-1}(t - 1) W_{x_t},        kappa_{t-a}^t = u_a(t) R.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from keras_interp_rnn._arrays import check_range
from keras_interp_rnn._checks import integer, integers
from keras_interp_rnn._io import Count, say
from keras_interp_rnn._network import AffineReading
from keras_interp_rnn._results import Result
from keras_interp_rnn._types import Array
from keras_interp_rnn.analysis.statistics import cross_entropy_bits
from keras_interp_rnn.equations import isan as equations


@dataclass(frozen=True, repr=False)
class TwoExponentials(Result):
    r"""$a_1 e^{-t/\tau_1} + a_2 e^{-t/\tau_2}$, $\tau_1 \le \tau_2$.

    Attributes:
        amplitudes, scales: $a_1, a_2$ and $\tau_1, \tau_2$; scales in symbols.
        error: root mean square of ln(fit / data).
        error_of_one: the same for the best single exponential.

    Example: see `timescales`.
    """

    amplitudes: tuple[float, float]
    scales: tuple[float, float]
    error: float
    error_of_one: float

    def __call__(self, ages: ArrayLike) -> Array:
        ages = np.asarray(ages, float)
        return sum((a * np.exp(-ages / scale) for a, scale in zip(self.amplitudes, self.scales, strict=True)), 0 * ages)


@dataclass(frozen=True, eq=False, repr=False)
class Timescales(Result):
    r"""Contributions of symbols by age, over one text.

    Attributes:
        ages: (A + 1,), the ages t - s = 0, ..., A.
        decay: (A + 1,), mean of $\lVert \kappa_{t-a}^t \rVert_2$ over t for each age a, in nats (figure 4a).
        history: (A + 2,), cross-entropy in bits per symbol if only the last 0, 1, ..., A + 1 symbols contribute, over
            the targets with at least A symbols before them (figure 4c).
        whole: the same if all symbols contribute.
        positions: (P,), 1, 2, ...: position of the predicted symbol after the last separator.
        counts: (P,), number of targets at each position.
        median_all, median_only, median_without: (P,), median cross-entropy in bits at each position, with all
            contributions, with the contribution of the last separator alone, and with all others (figure 4b).
        median_separators: (P,), the same with the contributions of all separators of the text.

    Example: see `timescales`.
    """

    ages: NDArray[np.int64]
    decay: Array
    history: Array
    whole: float
    positions: NDArray[np.int64]
    counts: NDArray[np.int64]
    median_all: Array
    median_only: Array
    median_without: Array
    median_separators: Array | None = None

    def fit(self) -> TwoExponentials:
        """Fits two exponentials to the logarithm of the decay, by least squares.

        Returns:
            `TwoExponentials`.

        Raises:
            ValueError: if the decay is 0 at every age, as for a network without biases.
        """
        from scipy.optimize import least_squares  # the import takes a fifth of a second, and few users fit

        if not self.decay.any():
            raise ValueError(
                "Some symbol must contribute. Received: a decay of 0 at every age. Check that the network has biases."
            )
        ages, logs = self.ages.astype(float), np.log(np.maximum(self.decay, 1e-300))

        def model(parameters: Array) -> Array:
            each = [a - ages * np.exp(-s) for a, s in parameters.reshape(-1, 2)]
            return np.asarray(np.logaddexp.reduce(each, axis=0))

        def solve(start: list[float]) -> Any:
            return least_squares(lambda parameters: model(parameters) - logs, start, method="trf", max_nfev=2000)

        top = float(logs[0])
        one = solve([top, np.log(10.0)])
        starts = [
            [top, np.log(fast), top - drop, np.log(slow)] for fast in (2, 5) for slow in (20, 60) for drop in (2, 4)
        ]
        two = min((solve(start) for start in starts), key=lambda fit: fit.cost)
        pairs = sorted(two.x.reshape(-1, 2).tolist(), key=lambda pair: pair[1])
        errors = [float(np.sqrt(np.mean(fit.fun**2))) for fit in (two, one)]
        amplitudes, scales = zip(*((float(np.exp(a)), float(np.exp(s))) for a, s in pairs), strict=True)
        return TwoExponentials(amplitudes, scales, *errors)


def contributions_by_age(
    network: object, symbols: ArrayLike, *, max_age: int, readout: object = None, origin: ArrayLike | str | None = None
) -> Iterator[tuple[int, Array]]:
    r"""Yields a and $\kappa_{t-a}^t$ of all t > a, (T - a, outputs) in nats, for each age a = 0, ..., `max_age`.

    O(T n^2) time for each age, O(T n) memory. Takes and raises what `contributions` does.
    """
    max_age = integer("max_age", max_age, 0)
    [(weights, head, text, *_)] = AffineReading(network).open(symbols, readout, origin).ways
    places = [np.flatnonzero(text == symbol) for symbol in range(len(weights.kernel))]
    terms = weights.bias[text]
    for age in range(min(max_age, len(text) - 1) + 1):
        with np.errstate(over="ignore", invalid="ignore"):
            read = terms @ head.matrix
        check_range(f"Contributions of age {age}", [read])
        yield age, read
        older = np.empty_like(terms[1:])
        for matrix, of_symbol in zip(weights.kernel, places, strict=True):
            rows = of_symbol[np.searchsorted(of_symbol, age + 1) :] - (age + 1)
            with np.errstate(over="ignore", invalid="ignore"):
                older[rows] = terms[rows] @ matrix
        terms = older


def timescales(
    network: object,
    symbols: ArrayLike,
    *,
    max_age: int = 150,
    separator: int | Collection[int] = 0,
    readout: object = None,
    origin: ArrayLike | str | None = None,
) -> Timescales:
    """The decay of contributions with age, and the cross-entropy without the old ones or without the last separator.

    It takes O(max_age T n^2) time, and shows its progress in a terminal.

    Args:
        network, readout, origin: as `contributions`; the outputs must be the logits of the next symbol.
        symbols: int (T,), T > max_age + 1.
        max_age: the largest age, in steps.
        separator: the symbol, or symbols, between words.

    Returns:
        `Timescales`.

    Raises:
        ValueError: as `contributions`; if the text is too short, if the outputs are not the symbols, or if a separator
            is outside the vocabulary.

    Units: nats for contributions, bits per symbol for cross-entropies.
    Example:

        >>> from keras_interp_rnn import analysis, layers
        >>> model = keras.Sequential([keras.Input((None,), dtype="int32"), layers.ISAN(3, 4), keras.layers.Dense(4)])
        >>> analysis.timescales(model, [0, 2, 1, 0, 3, 1], max_age=2).decay.shape
        (3,)

    Reference: Foerster et al., ICML 2017, figure 4.
    """
    [(weights, head, text, *_)] = AffineReading(network).open(symbols, readout, origin).ways
    remedy = "A text must be longer than the largest age by two symbols."
    max_age = integer("max_age", max_age, 0, remedy, below=len(text) - 1)
    if head.matrix.shape[1] != len(weights.kernel):
        raise ValueError(
            f"The outputs must be the logits of the next symbol, {len(weights.kernel)} of them. Received: a head of "
            f"{head.matrix.shape[1]}."
        )
    separators = list(separator) if isinstance(separator, Collection) else [separator]
    integers("separator", separators, below=len(weights.kernel), remedy="Pass ids.")
    # The last symbol predicts nothing that is known.
    read, following = text[:-1], text[1:]
    with np.errstate(over="ignore", invalid="ignore"):
        states = np.array(list(equations.states(np, *weights, read)))
        logits = equations.logits(np, head.matrix, head.offset, states)
    check_range("States and logits", (states, logits))
    full = cross_entropy_bits(logits, following)
    steps = np.arange(len(read))
    last = np.maximum.accumulate(np.where(np.isin(read, separators), steps, -1))
    since = np.where(last >= 0, steps - last, -1)
    of_separator = np.zeros_like(logits)
    decay, recent = [], np.tile(head.offset, (len(read) - max_age, 1))
    history = [np.mean(cross_entropy_bits(recent, following[max_age:]))]
    progress = Count("timescales: age", max_age)
    for age, terms in contributions_by_age(network, read, max_age=max_age, readout=readout, origin=origin):
        progress.say(age)
        decay.append(np.linalg.norm(terms, axis=1).mean())
        recent += terms[max_age - age :]
        history.append(np.mean(cross_entropy_bits(recent, following[max_age:])))
        of_separator[age:][since[age:] == age] = terms[since[age:] == age]
    say("")
    known = (since >= 0) & (since <= max_age)
    only = cross_entropy_bits(of_separator + head.offset, following)
    without = cross_entropy_bits(logits - of_separator, following)
    # States to which the separators alone contribute.
    biases = np.isin(np.arange(len(weights.kernel)), separators)[:, None] * weights.bias
    of_all = np.array(list(equations.states(np, weights.kernel, biases, np.zeros_like(weights.initial_state), read)))
    every = cross_entropy_bits(equations.logits(np, head.matrix, head.offset, of_all), following)
    positions = np.unique(since[known])
    by_position = [np.flatnonzero(since == position) for position in positions]
    medians = [np.array([np.median(bits[steps]) for steps in by_position]) for bits in (full, only, without, every)]
    counts = np.array([len(steps) for steps in by_position], np.int64)
    ages, whole = np.arange(len(decay)), float(full[max_age:].mean())
    return Timescales(ages, np.array(decay), np.array(history), whole, positions + 1, counts, *medians)
