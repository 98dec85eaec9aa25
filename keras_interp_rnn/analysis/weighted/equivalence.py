r"""Equality of the logits of two networks: a proof with its bound, or a word on which they differ.

Side by side, two affine networks are one, with states [h, h'], readout [R; -R'] and offset c - c': the networks are
equal if its outputs are 0. Three steps:

1. Equality of the weights as they are, without rounding: units in another order, or elimination over the integers. The
   difference is then 0 on all words. Matrices that are computed of weights, those of linear recurrences and of a
   FactoredISAN, are rounded: there only equal weights are a proof, and the bound below includes the rounding.
2. All words, the shortest first, within a budget; then words that lead to new directions of the state, which suffice
   to find any difference in exact arithmetic (Tzeng, 1992), and successors of words with the largest differences. A
   word on which the networks differ by more than the tolerance is a witness.
3. Otherwise a bound of the difference by the lemma of `_bounds`: for all words if the networks contract, or for all
   words up to a length.

Limits: the rounding of a network that runs in floating point does not count. Both are functions of real numbers.

Reference: Tzeng, "A polynomial-time algorithm for the equivalence of probabilistic automata", SIAM J. Comput., 1992.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from keras_interp_rnn._checks import choice, integer, positive
from keras_interp_rnn._results import Sentence, Table, shown_word
from keras_interp_rnn._types import Array
from keras_interp_rnn.analysis.weighted import _bounds, _exact
from keras_interp_rnn.analysis.weighted.differences import block_diagonal, side_by_side
from keras_interp_rnn.analysis.weighted.forms import AffineForm, affine_form

COMPARED = ("logits", "probabilities")


@dataclass(frozen=True, eq=False, repr=False)
class Equivalence(Sentence):
    """A proof that two networks are equal, a witness that they are not, or neither.

    Attributes:
        equal: True if it is proved that they differ by at most `bound` on every word of at most `max_length` symbols,
            and `bound` is at most `tolerance`; False if there is a witness; None if there is neither.
        tolerance: of the logits, or of the logits minus their mean if probabilities are compared.
        bound: proved bound of the difference on words of at most `max_length` symbols; infinite without a proof.
        max_length: the length up to which the bound holds; None for all words, -1 without a proof. If `equal` is None,
            the largest length for which the bound is within the tolerance.
        exact: whether the bound is 0 by exact arithmetic of the stored weights. Matrices that are computed of weights
            are rounded, by as much as the bound allows for: then only networks of equal weights are exactly equal.
        witness: a word on which they differ by more than the tolerance; None if the search found no such word.
        difference: the difference on the witness, with both run in float64; without a witness, the largest difference
            on the words tried.
        is_shortest: whether it is proved that no shorter word is a witness.
        num_tried: number of words that were tried.
        residual: how far the joint space of reachable states is from being invariant and from having equal outputs; 0
            for an exact proof, infinite without a proof.

    Units: nats (logits).

    Example: see `equivalent`.
    """

    equal: bool | None
    tolerance: float
    bound: float
    max_length: int | None
    exact: bool
    witness: tuple[Hashable, ...] | None
    difference: float
    is_shortest: bool
    num_tried: int
    residual: float

    def table(self) -> Table:
        """Equal, with the bound and the words that it covers; different, with a witness; or undecided."""
        words = "all words" if self.max_length is None else f"all words of at most {self.max_length} symbols"
        if self.witness is not None:
            which = "a shortest word" if self.is_shortest else "a word"
            after = repr(shown_word(self.witness)) if self.witness else "no symbol"
            return Table(f"different: by {self.difference:.3g} after {after}, {which} that tells them apart")
        if self.equal:
            how = "in exact arithmetic" if self.exact else f"to {self.bound:.1e}"
            return Table(f"equal on {words}, {how}")
        proved = f"equal to {self.tolerance:g} on {words}" if self.max_length != -1 else "nothing is proved"
        return Table(
            f"undecided: {proved}; the largest difference on {self.num_tried:,} words tried was {self.difference:.1e}; "
            "no bound within the tolerance was found for longer words, which also happens where states contract"
        )


def equivalent(
    first: object,
    second: object,
    *,
    tolerance: float = 1e-6,
    compare: str = "logits",
    max_length: int | None = None,
    max_words: int = 20_000,
) -> Equivalence:
    r"""Proves that two networks have the same logits on all words, or finds a word on which they differ.

    Args:
        first, second: models of an ISAN, a FactoredISAN over a vocabulary or a linear recurrence over symbols, and a
            Dense head, whose outputs before the activation are compared; pairs (layer, readout); layers, whose states
            are compared; or a `WeightedAutomaton`, a `DFA`, a `MooreMachine`, a `Certificate` that holds. Symbols are
            matched by name if both networks name them, otherwise by position; outputs of Moore machines by label.
        tolerance: > 0, the largest difference of an output that is allowed.
        compare: "logits"; or "probabilities", for which the mean over the outputs is subtracted from the logits,
            because a softmax does not depend on a constant. Log probabilities then differ by at most twice the
            tolerance.
        max_length: of the words that are compared; None for all words.
        max_words: maximum number of words that are tried, a bound on time and memory.

    Returns:
        `Equivalence`.

    Raises:
        ValueError: for any other network; if the networks differ in their number of symbols or outputs, in their
            alphabets, or in their labels.

    Units: nats (logits).
    Exactness: of the weights as real numbers; see `Equivalence.bound` and docs/notes/weighted-automata.md.
    Cost: O(max_words K n^2) for the search, O(K n^3) for the bound.
    Example:

        >>> from keras_interp_rnn import analysis, automata
        >>> parity = automata.DFA([[0, 1], [1, 0]], accepting={1})
        >>> print(analysis.equivalent(parity, automata.WeightedAutomaton.from_dfa(parity).to_isan()))
        equal on all words, in exact arithmetic
        >>> analysis.equivalent(parity, automata.tomita(1)).witness
        ()

    Reference: Tzeng, SIAM J. Comput., 1992; proof of the bound in docs/notes/weighted-automata.md.
    """
    tolerance = positive("tolerance", tolerance)
    choice("compare", compare, COMPARED)
    max_words = integer("max_words", max_words)
    max_length = None if max_length is None else integer("max_length", max_length, 0)
    one, other, names = _paired(affine_form(first), affine_form(second))
    centred = compare == "probabilities" and one.num_outputs > 1
    if _exactly_equal(one, other, centred):
        return Equivalence(True, tolerance, 0.0, max_length, True, None, 0.0, False, 0, 0.0)
    both, loose, units = side_by_side(one, other, centred)
    found = _search(both, loose, tolerance, max_length, max_words)
    if found.witness is not None:
        word = tuple(names[i] for i in found.witness) if names is not None else found.witness
        return Equivalence(
            False, tolerance, math.inf, -1, False, word, found.difference, found.is_shortest, found.num_tried, math.inf
        )
    rest = (False, None, found.difference, False, found.num_tried)
    bounds = []
    for bound in _bounds.bounds_of(both, units, loose):
        bounds.append(bound)
        if bound.always <= tolerance:
            return Equivalence(True, tolerance, bound.always, max_length, *rest, bound.residual)
    longest = _bounds.LONGEST if max_length is None else max_length
    reached = [(*bound.longest(tolerance, longest), bound.residual) for bound in bounds]
    length, largest, residual = max(reached, key=lambda one: (one[0], -one[1]))
    equal = True if max_length is not None and length == max_length else None
    return Equivalence(equal, tolerance, largest, length, *rest, residual if length >= 0 else math.inf)


def _paired(first: AffineForm, second: AffineForm) -> tuple[AffineForm, AffineForm, Any]:
    """Both with their symbols and outputs in one order, and the names of the symbols, or None."""
    if first.num_symbols != second.num_symbols or first.num_outputs != second.num_outputs:
        raise ValueError(
            "Both networks must read the same symbols and have the same number of outputs. Received: "
            f"{first.num_symbols} symbols and {first.num_outputs} outputs, and {second.num_symbols} and "
            f"{second.num_outputs}."
        )
    named = [tuple(form.alphabet) for form in (first, second) if form.alphabet is not None]
    if len(named) == 2:
        if set(named[0]) != set(named[1]):
            raise ValueError(f"Both networks must read the same alphabet. Received: {named[0]!r} and {named[1]!r}.")
        second = second.over(named[0])
    if first.labels is not None and second.labels is not None:
        if set(first.labels) != set(second.labels):
            raise ValueError(
                f"Both machines must have the same labels. Received: {first.labels!r} and {second.labels!r}."
            )
        second = second.labelled(first.labels)
    return first, second, named[0] if named else None


def _exactly_equal(first: AffineForm, second: AffineForm, centred: bool) -> bool | None:
    """Whether the weights as they are prove equality, without rounding; None if that would take too long."""
    if any(x is not None for form in (first, second) for x in (form.rounding, form.head_rounding)):  # are no weights
        pairs = itertools.zip_longest(first.parameters, second.parameters)
        return bool(first.parameters) and all(np.array_equal(a, b) for a, b in pairs)
    one, other = first.homogeneous(), second.homogeneous()
    if _exact.have_same_units(one, other, up_to_constant=centred):
        return True
    (alpha, a, omega), (beta, b, psi) = one, other
    return _exact.is_zero(
        np.concatenate([alpha, beta]),
        block_diagonal(a, b),
        np.concatenate([omega, -psi]),
        up_to_constant=centred,
    )


@dataclass(frozen=True)
class _Found:
    witness: tuple[int, ...] | None
    difference: float
    is_shortest: bool
    num_tried: int


def _search(both: AffineForm, loose: float, tolerance: float, max_length: int | None, max_words: int) -> _Found:
    """Words on which the outputs exceed the tolerance: all of the shortest, then the most promising of each length.

    One of the words that lead to the same state suffices. If there are too many states, the search goes on from those
    that lead to new directions and from those with the largest outputs. Every state has a bound of its rounding, so
    that no word is a witness by rounding alone.
    """
    symbols, size = both.num_symbols, both.units
    width = max(1, max_words // (4 * symbols))
    longest = 2 * size + 1 if max_length is None else max_length
    gamma = (size + 3) * _bounds.EPSILON
    kernel, readout = np.abs(both.kernel), np.abs(both.readout)
    of_kernel, of_bias = both.rounding or (np.zeros_like(kernel), np.zeros_like(both.bias))
    kernel = kernel + of_kernel
    states, words = both.initial[None], np.zeros((1, 0), np.int32)
    errors = np.zeros_like(states)
    directions, largest, tried, complete = np.zeros((0, size)), 0.0, 0, True
    for length in range(longest + 1):
        outputs = np.abs(states @ both.readout + both.offset)
        rounding = errors @ readout + gamma * (np.abs(states) @ readout + np.abs(both.offset))
        rounding += loose * (np.abs(states).sum(axis=1, keepdims=True) + 1)
        sure = (outputs - 2 * rounding).max(axis=1, initial=0.0)
        within = bool((outputs + 2 * rounding <= tolerance).all())
        outputs = outputs.max(axis=1, initial=0.0)
        tried += len(states)
        largest = max(largest, float(outputs.max()))
        if sure.max() > tolerance:
            best = int(sure.argmax())
            return _Found(tuple(words[best].tolist()), float(outputs[best]), complete, tried)
        complete = complete and within  # otherwise a word of this length may be a witness, but for rounding
        if length == longest or tried >= max_words:
            break
        first = np.sort(np.unique(np.concatenate([states, errors], axis=1), axis=0, return_index=True)[1])
        outputs, states, errors, words = outputs[first], states[first], errors[first], words[first]
        if tried + len(states) * symbols > max_words or len(states) > width:
            new, directions = _leading_out(states - both.initial, directions)
            keep = np.unique(np.concatenate([new, np.argsort(-outputs, kind="stable")[: max(1, width // 8)]]))
            complete = complete and len(keep) == len(states)
            states, errors, words = states[keep], errors[keep], words[keep]
        with np.errstate(all="ignore"):  # words that overflow are dropped
            # Twice the rounding of the product, to cover the rounding of the bound.
            off = [
                errors @ kernel[x]
                + 2 * gamma * (np.abs(states) @ kernel[x] + np.abs(both.bias[x]))
                + np.abs(states) @ of_kernel[x]
                + of_bias[x]
                for x in range(symbols)
            ]
            states = np.concatenate([states @ both.kernel[x] + both.bias[x] for x in range(symbols)])
            errors = (1 + 2 * gamma) * np.concatenate(off)
            finite = np.isfinite(states).all(axis=1) & np.isfinite(errors).all(axis=1)
            finite &= np.isfinite(np.abs(states) @ readout + errors @ readout).all(axis=1)
        words = np.concatenate([np.pad(words, ((0, 0), (0, 1)), constant_values=x) for x in range(symbols)])
        complete = complete and bool(finite.all())
        states, errors, words = states[finite], errors[finite], words[finite]
        if not len(states):
            break
    return _Found(None, largest, False, tried)


def _leading_out(vectors: Array, directions: Array) -> tuple[NDArray[np.int64], Array]:
    """The vectors that lead out of the space of `directions`, by Gram-Schmidt with pivots, and the larger space."""
    rest = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-300)
    rest = rest - rest @ directions.T @ directions
    chosen: list[int] = []
    for _ in range(min(rest.shape)):
        sizes = np.linalg.norm(rest, axis=1)
        pivot = int(sizes.argmax())
        if sizes[pivot] <= 1e-8:
            break
        chosen.append(pivot)
        new = rest[pivot] / sizes[pivot]
        directions = np.concatenate([directions, new[None]])
        rest = rest - np.outer(rest @ new, new)
    return np.array(chosen, np.int64), directions
