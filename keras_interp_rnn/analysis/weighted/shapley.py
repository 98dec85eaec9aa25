r"""Exact Shapley values of the symbols of a word, by Owen's integral and Gauss-Legendre quadrature.

The players are the T symbols of a word x. The value of a coalition S is v(S) = E f(z), with z_t = x_t for t in S and
all other z_t drawn from the background. Each symbol is an affine map, so with homogeneous states, maps A_x, and
independent background symbols of mean map B = sum_a p(a) A_a, Owen's integral (1972) of the multilinear extension is

    phi_t = int_0^1  s_0 C_1(q) ... C_{t-1}(q) (A_{x_t} - B) C_{t+1}(q) ... C_T(q) o  dq,
    C_s(q) = q A_{x_s} + (1 - q) B,

the integral of a polynomial of degree T - 1: Gauss-Legendre quadrature with ceil(T / 2) nodes is exact. For a Markov
background the state includes the last symbol of the chain, which moves on at every step, seen or not. Prefixes s_0 C_1
... C_{t-1} and suffixes C_{t+1} ... C_T o take two passes over the word.

A contribution (`contributions`) is what a symbol added when it was read; a Shapley value is the change of the output by
knowing the symbol, on average over the other symbols that are known, against a background.

Reference: Owen, "Multilinear extensions of games", Management Science, 1972; Marzouk and de la Higuera, "On the
tractability of SHAP explanations under Markovian distributions", ICML 2024, arXiv:2405.02936.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from keras_interp_rnn._checks import invalid, is_integer
from keras_interp_rnn._network import check_range
from keras_interp_rnn._types import Array
from keras_interp_rnn.analysis.isan.contributions import Contributions
from keras_interp_rnn.analysis.weighted.backgrounds import Background
from keras_interp_rnn.analysis.weighted.forms import affine_form

MEMORY = 2**27
"""Bytes of the states of all steps, which limit how many nodes are evaluated together."""


@dataclass(frozen=True, eq=False, repr=False)
class ShapleyValues(Contributions):
    r"""Shapley values $\phi_t$ of the symbols of a word, in the form and with the views of `Contributions`.

    Attributes:
        symbols: (T,), the word.
        targets: (1,), the step whose outputs are explained.
        values: (T + 1, 1, outputs); `values[t, 0]` is $\phi_t$ of symbol t >= 1. Row 0, of the initial state, is 0, and
            so are the rows of symbols after the target.
        bias: (outputs,), $E f$: the mean outputs over words of the background.
        logits: (1, outputs), $f(x)$, computed by the recurrence.
        residual: largest |sum of values - (f(x) - E f)|.
        alphabet: names of the symbols, for views; None for their ids.
        background: the background that was used.
        is_verdict: whether the outputs are a finite automaton's: 1 for a word that it accepts, or of the label,
            otherwise 0.

    Units: of the outputs; nats for logits.

    Example: see `shapley_values`.
    """

    background: Background | None = None
    is_verdict: bool = False

    bias_name: ClassVar[str] = "mean"


def shapley_values(
    network: Any,
    sequence: ArrayLike | Sequence[Any],
    *,
    background: Background | ArrayLike | None = None,
    target: int = -1,
    readout: Any = None,
    alphabet: Sequence[str] | None = None,
) -> ShapleyValues:
    r"""The exact Shapley value of every symbol of a word, for every output.

    Args:
        network: a model of an ISAN, a FactoredISAN or a linear recurrence over symbols, and a Dense head, whose logits
            before the activation are explained; a layer or a cell; a pair (layer, readout); or a `WeightedAutomaton`, a
            `DFA`, a `Certificate` that holds. The output of a `DFA`, and of the automaton in a certificate, is 1 for
            words that it accepts and 0 for others.
        sequence: the word, T >= 1, as ids, or as symbols of the alphabet if there is one.
        background: distribution of the unknown symbols: a `Background`, or (K,) probabilities of independent symbols;
            None for uniform ones. It does not depend on the known symbols.
        target: the step whose outputs are explained, in [1, T], or negative from the end. Later symbols are not read.
        readout: for a layer or a cell: its Dense head, or a pair (matrix (n, outputs), bias (outputs,)). To save time,
            pass only the columns that you need, such as the difference of two logits.
        alphabet: names of the symbols, for words and views; by default the names that the model carries.

    Returns:
        `ShapleyValues`: `values[t, 0]` for symbol t = 1, ..., T.

    Raises:
        ValueError: for any other network, if the word has no symbol or one outside the vocabulary, if the background is
            over another number of symbols, if the target is outside the word, or if values leave the range of float64.

    Units: nats (logits), or the outputs of an automaton.
    Exactness: the values sum to f(x) - E f; `residual` is the largest deviation. They equal the sums over all 2^T
        coalitions, to float64 rounding.
    Cost: O(T^2 n^2 outputs), K times that for a Markov background.
    Example:

        >>> from keras_interp_rnn import analysis, automata
        >>> even_ones = automata.DFA([[0, 1], [1, 0]], accepting={0})
        >>> shares = analysis.shapley_values(even_ones, "0110")
        >>> shares.logits[0], shares.bias, shares.values[1:, 0, 0].round(4)
        (array([1.]), array([0.5]), array([0.125, 0.125, 0.125, 0.125]))

    Reference: Owen, 1972; Marzouk and de la Higuera, ICML 2024; proof in docs/notes/weighted-automata.md.
    """
    form = affine_form(network, readout, alphabet)
    word = form.ids(sequence)
    end = _checked_target(target, len(word))
    background = _background(background, form.num_symbols)
    initial, maps, final = form.homogeneous()
    game = _Game(initial, maps, final, word[:end], background)
    values = np.zeros((len(word) + 1, 1, final.shape[1]))
    with np.errstate(all="ignore"):
        for node, weight in _nodes(end, game.bytes_per_node):
            values[1 : end + 1, 0] += game.derivatives(node, weight)
        mean, logits = game.mean(), form.outputs(word[:end])
    check_range("Shapley values", (values, mean, logits))
    residual = float(np.abs(values.sum(axis=(0, 1)) - (logits - mean)).max(initial=0.0))
    names: Any = form.alphabet
    arrays = word, np.array([end]), values, mean, logits[None], residual, names
    return ShapleyValues(*arrays, background=background, is_verdict=form.is_verdict)


class _Game:
    """The multilinear extension of a word's game: states are (nodes, chain, n), functionals (nodes, chain, n, outputs).

    The axis `chain` is the last symbol of the background; its length is 1 if symbols are independent.
    """

    def __init__(self, initial: Array, maps: Array, final: Array, word: NDArray[np.int64], background: Background):
        self.initial, self.maps, self.final, self.word = initial, maps, final, word
        self.markov = background.is_markov
        self.first, self.transitions = background.initial, np.asarray(background.transitions)
        self.mean_map = np.einsum("k,kij->ij", background.initial, maps)
        self.chain = len(maps) if self.markov else 1

    @property
    def bytes_per_node(self) -> int:
        """Bytes of the states of all steps, and of the functionals of one step."""
        n, outputs = self.final.shape
        return int(8 * self.chain * n * (2 * len(self.word) + 8 * outputs))

    def derivatives(self, nodes: Array, weights: Array) -> Array:
        """(T, outputs), the sum over nodes q of the weight times d/dq_t of the extension at (q, ..., q)."""
        q = nodes[:, None, None]
        states = self._start(len(nodes))
        changes = []  # of the state at step t if x_t becomes known
        for t, symbol in enumerate(self.word):
            known, unknown = self._step(states, t, symbol)
            changes.append(known - unknown)
            states = q * known + (1 - q) * unknown
        suffix = np.broadcast_to(self.final, (len(nodes), self.chain, *self.final.shape))
        found = np.zeros((len(self.word), self.final.shape[1]))
        for t in range(len(self.word) - 1, -1, -1):
            found[t] = np.einsum("q,qcn,qcno->o", weights, changes[t], suffix, optimize=True)
            if t:
                suffix = self._back(suffix, t, self.word[t], nodes[:, None, None, None])
        return found

    def mean(self) -> Array:
        """E f over words of the background."""
        states = self._start(1)
        for t, symbol in enumerate(self.word):
            _, states = self._step(states, t, symbol)
        return np.asarray(states.sum(axis=(0, 1)) @ self.final)

    def _start(self, nodes: int) -> Array:
        # Before the first symbol, the axis of the chain is the distribution of the first symbol.
        shares = self.first if self.markov else np.ones(1)
        return np.broadcast_to(shares[:, None] * self.initial, (nodes, self.chain, len(self.initial)))

    def _step(self, states: Array, t: int, symbol: int) -> tuple[Array, Array]:
        """The states after a step if its symbol is known, and if it is unknown."""
        if not self.markov:
            return states @ self.maps[symbol], states @ self.mean_map
        if t:
            states = np.einsum("qcn,cd->qdn", states, self.transitions, optimize=True)
        unknown = np.swapaxes(np.swapaxes(states, 0, 1) @ self.maps, 0, 1)
        return states @ self.maps[symbol], unknown

    def _back(self, suffix: Array, t: int, symbol: int, q: Array) -> Array:
        """The functionals before a step that is not the first."""
        if not self.markov:
            difference = self.maps[symbol] - self.mean_map
            return np.asarray(_apply(self.mean_map, suffix) + q * _apply(difference, suffix))
        known = _apply(self.maps[symbol], suffix)
        unknown = np.stack([_apply(a, suffix[:, i]) for i, a in enumerate(self.maps)], axis=1)
        both = q * known + (1 - q) * unknown
        return np.asarray(np.einsum("cd,qdno->qcno", self.transitions, both, optimize=True))


def _apply(matrix: Array, columns: Array) -> Array:
    """Matrix @ columns (..., n, outputs), as one product."""
    moved = np.moveaxis(columns, -2, 0)
    return np.asarray(np.moveaxis((matrix @ moved.reshape(len(moved), -1)).reshape(moved.shape), 0, -2))


def _nodes(steps: int, bytes_per_node: int) -> Iterator[tuple[Array, Array]]:
    """Gauss-Legendre nodes and weights on [0, 1], some at a time, exact for polynomials of degree steps - 1."""
    nodes, weights = np.polynomial.legendre.leggauss(-(-steps // 2))
    at_once = max(1, MEMORY // bytes_per_node)
    for first in range(0, len(nodes), at_once):
        some = slice(first, first + at_once)
        yield (nodes[some] + 1) / 2, weights[some] / 2


def _background(given: Any, num_symbols: int) -> Background:
    if given is None:
        return Background.uniform(num_symbols)
    background: Background = given if isinstance(given, Background) else Background(given)
    if background.num_symbols != num_symbols:
        raise ValueError(
            f"`background` must be over the symbols of the network, {num_symbols}. Received: one over "
            f"{background.num_symbols}."
        )
    return background


def _checked_target(target: int, steps: int) -> int:
    if not steps:
        raise ValueError("`sequence` must have at least one symbol. Received: a word without any.")
    end = int(target) if is_integer(target) else 0
    end += (steps + 1) * (end < 0)
    if not 1 <= end <= steps:
        raise invalid("target", f"a step in [1, {steps}], or negative from the end", target)
    return end
