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

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from keras_interp_rnn._arrays import check_range
from keras_interp_rnn._checks import invalid, is_integer
from keras_interp_rnn._network import GivenAlphabet
from keras_interp_rnn._outputs import GivenOutputs, output_names
from keras_interp_rnn._results import Tag, View, view
from keras_interp_rnn.analysis.isan.contributions import Contributions
from keras_interp_rnn.analysis.weighted.backgrounds import Background, background_over
from keras_interp_rnn.analysis.weighted.forms import affine_form
from keras_interp_rnn.analysis.weighted.games import Game, quadrature


@dataclass(frozen=True, eq=False, repr=False)
class ShapleyValues(Contributions):
    r"""Shapley values $\phi_t$ of the symbols of a word, in the form and with the views of `Contributions`.

    Attributes:
        symbols: (T,), the word.
        targets: (1,), the step whose outputs are explained.
        values: (T + 1, 1, outputs); `values[t, 0]` is $\phi_t$ of symbol t >= 1. Row 0, of the initial state, is 0, and
            so are the rows of symbols after the target, and of masked steps.
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

    title: ClassVar[str] = "Shapley values of a prediction"

    background: Background | None = None
    is_verdict: bool = False

    bias_name: ClassVar[str] = "mean"

    def tag(self) -> Tag:
        """The values of all symbols up to the target, and the mean, for the TensorBoard plugin."""
        end = int(self.targets[0])
        names = self._names()
        rows = np.concatenate([self.values[1 : end + 1, 0], self.bias[None]]).astype(np.float32)
        verdict = {"verdict": True} if self.is_verdict else {}
        return rows, {"kind": "shapley_values", **names, "symbols": names["symbols"][:end], **verdict}

    def page_view(self) -> View:
        """The symbols up to the target in the plugin's view."""
        return view("reads", self.tag())

    @property
    def _in_nats(self) -> bool:
        return not (self.is_verdict or self.regression)

    def _says(self, first: int, target: int) -> str:
        """The verdict of an automaton, or the answer of the network."""
        if not self.is_verdict:
            return super()._says(first, target)
        if len(self.bias) > 1:
            return self.output_name(first)
        return "accepted" if self._direction(target) > 0 else "rejected"

    def _direction(self, target: int) -> int:
        return (1 if self.logits[target, 0] > 0.5 else -1) if self.is_verdict else 0


def shapley_values(
    network: object,
    sequence: ArrayLike | Sequence[Hashable],
    *,
    background: Background | ArrayLike | None = None,
    target: int = -1,
    readout: object = None,
    alphabet: GivenAlphabet | None = None,
    outputs: GivenOutputs | None = None,
) -> ShapleyValues:
    r"""The exact Shapley value of every symbol of a word, for every output.

    Args:
        network: a model of an ISAN, a FactoredISAN or a linear recurrence over symbols, and a Dense head, whose logits
            before the activation are explained; a layer or a cell; a pair (layer, readout); or a `WeightedAutomaton`, a
            `DFA`, a `Certificate` that holds. The output of a `DFA`, and of the automaton in a certificate, is 1 for
            words that it accepts and 0 for others.
        sequence: the word, T >= 1, as ids, or as symbols of the alphabet if there is one. Steps that a model masks, as
            by an Embedding with `mask_zero`, are no players: the values are those of the word without them.
        background: distribution of the unknown symbols: a `Background`, or (K,) probabilities of independent symbols;
            None for uniform ones. It does not depend on the known symbols.
        target: the step whose outputs are explained, in [1, T], or negative from the end. Later symbols are not read.
        readout: for a layer or a cell: its Dense head, or a pair (matrix (n, outputs), bias (outputs,)). To save time,
            pass only the columns that you need, such as the difference of two logits.
        alphabet: names of the symbols, for words and views; by default the alphabet that the model carries.
        outputs: names of the outputs: `datasets.Outputs` or a list; by default those that a model carries.

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
    background = background_over(form.num_symbols, background)
    initial, maps, final = form.homogeneous()
    read = np.flatnonzero(form.reads(word[:end]))
    game = Game(initial, maps, final, word[read], background)
    values = np.zeros((len(word) + 1, 1, final.shape[1]))
    bytes_per_node = game.bytes_of_a_state * (2 * end + 8 * final.shape[1])
    with np.errstate(all="ignore"):
        for nodes, weights in quadrature(max(1, -(-len(read) // 2)), bytes_per_node):
            values[1 + read, 0] += game.derivatives(nodes, weights)
        mean, logits = game.mean(), form.outputs(word[:end])
    check_range("Shapley values", (values, mean, logits))
    residual = float(np.abs(values.sum(axis=(0, 1)) - (logits - mean)).max(initial=0.0))
    names: Any = form.alphabet
    arrays = word, np.array([end]), values, mean, logits[None], residual, names
    named = output_names(network, outputs, final.shape[1])
    return ShapleyValues(*arrays, background=background, is_verdict=form.is_verdict, output_names=named)


def _checked_target(target: int, steps: int) -> int:
    if not steps:
        raise ValueError("`sequence` must have at least one symbol. Received: a word without any.")
    end = int(target) if is_integer(target) else 0
    end += (steps + 1) * (end < 0)
    if not 1 <= end <= steps:
        raise invalid("target", f"a step in [1, {steps}], or negative from the end", target)
    return end
