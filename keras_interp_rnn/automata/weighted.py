r"""Weighted automata: a vector, a matrix for each symbol, final vectors.

The value of a word is f(x_1 ... x_T) = initial A_{x_1} ... A_{x_T} final, states as rows. An ISAN with a linear readout
is one of n + 1 states: the last coordinate of its states is the constant 1, the last row of its matrices the bias
(docs/notes/weighted-automata.md). So are deterministic automata, hidden Markov models and back-off n-gram models.

References: Schuetzenberger, "On the definition of a family of automata", Information and Control, 1961; Droste, Kuich
and Vogler (eds.), "Handbook of Weighted Automata", 2009.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import keras
import numpy as np

from keras_interp_rnn._alphabet import distinct_symbols
from keras_interp_rnn._arrays import check_range
from keras_interp_rnn._checks import fraction, invalid, non_negative
from keras_interp_rnn._network import isan_model
from keras_interp_rnn._results import Result
from keras_interp_rnn._types import Array, FiniteAutomaton
from keras_interp_rnn.analysis.weighted import hankel
from keras_interp_rnn.analysis.weighted.forms import (
    affine_form,
    arrays_of_dfa,
    checked_arrays,
    symbols_of_words,
    word_ids,
)
from keras_interp_rnn.analysis.weighted.minimization import constant_last, reduced
from keras_interp_rnn.analysis.weighted.products import row_times
from keras_interp_rnn.automata import weighted_drawing
from keras_interp_rnn.automata.inference import stochastic
from keras_interp_rnn.automata.machines import checked_words


@dataclass(frozen=True, eq=False, repr=False)
class WeightedAutomaton(weighted_drawing.Drawable, Result):
    r"""A weighted automaton over the reals: $f(x_1 \ldots x_T) = \alpha A_{x_1} \cdots A_{x_T} \omega$.

    Args:
        initial: (n,), $\alpha$.
        transitions: (K, n, n), $A_x$ for every symbol; states are rows.
        final: (n,), $\omega$, for one number per word; or (n, outputs), for several.
        alphabet: the K symbols, hashable and all different; None for the ids 0 to K - 1.

    Raises:
        ValueError: if the shapes do not match, a number is not finite, or the alphabet does not fit.

    Example:

    >>> ones = WeightedAutomaton([1, 0], [[[1, 0], [0, 1]], [[1, 1], [0, 1]]], [0, 1], alphabet="01")
    >>> ones.value("10110"), ones.values(["", "11"])
    (3.0, array([0., 2.]))
    """

    initial: Array
    transitions: Array
    final: Array
    alphabet: tuple[Hashable, ...] | None = None

    def __post_init__(self) -> None:
        arrays = checked_arrays(self.initial, self.transitions, self.final)
        for name, array in zip(("initial", "transitions", "final"), arrays, strict=True):
            array.setflags(write=False)
            object.__setattr__(self, name, array)
        if self.alphabet is not None:
            symbols = distinct_symbols(self.alphabet)
            if len(symbols) != len(arrays[1]):
                raise invalid("alphabet", f"{len(arrays[1])} different symbols, one for each matrix", symbols)
            object.__setattr__(self, "alphabet", symbols)

    def __len__(self) -> int:
        """Number of states."""
        return len(self.initial)

    @property
    def num_symbols(self) -> int:
        """K."""
        return len(self.transitions)

    def value(self, word: Iterable[Hashable]) -> Any:
        """The value of a word: a float, or (outputs,) if `final` has several columns.

        Args:
            word: symbols of the alphabet; ids if there is no alphabet.

        Returns:
            The value in float64, even if intermediate states underflow or overflow: 0.0 for a value below 2.5e-324.
            Each product and sum is rounded, by about n T 1e-16 of the sum of the absolute values of all paths: digits
            are lost where paths of both signs cancel.

        Raises:
            ValueError: if a symbol is not in the alphabet, or the value is too large for float64.
        """
        ids = word_ids(word, self.alphabet, self.num_symbols)
        found = row_times((*self.transitions[ids], self._columns), self.initial)
        check_range("The value of a word", [found])
        return float(found[0]) if self.final.ndim == 1 else found

    def values(self, words: Iterable[Iterable[Hashable]]) -> Array:
        """The values of several words: (words,), or (words, outputs); errors as `value`."""
        return np.array([self.value(word) for word in checked_words(words)]).reshape(-1, *self.final.shape[1:])

    def sum(self, other: WeightedAutomaton) -> WeightedAutomaton:
        """The automaton whose value is the sum of both values: n + m states.

        Raises:
            ValueError: if alphabets or numbers of outputs differ.
        """
        second = _over_the_same(self, other)
        n, m = len(self), len(second)
        transitions = np.zeros((self.num_symbols, n + m, n + m))
        transitions[:, :n, :n], transitions[:, n:, n:] = self.transitions, second.transitions
        initial, final = (np.concatenate(pair) for pair in ((self.initial, second.initial), (self.final, second.final)))
        return replace(self, initial=initial, transitions=transitions, final=final)

    def product(self, other: WeightedAutomaton) -> WeightedAutomaton:
        """The automaton whose value is the product of both values, output by output: n m states.

        Raises:
            ValueError: as `sum`.
        """
        second = _over_the_same(self, other)
        size = len(self) * len(second)
        with np.errstate(all="ignore"):  # the constructor refuses infinities
            initial = np.kron(self.initial, second.initial).astype(np.float64)
            pairs = np.einsum("kij,klm->kiljm", self.transitions, second.transitions).reshape(-1, size, size)
            final = np.einsum("i...,j...->ij...", self.final, second.final).reshape(size, *self.final.shape[1:])
        return replace(self, initial=initial, transitions=pairs, final=final)

    def scale(self, factor: float) -> WeightedAutomaton:
        """The automaton whose value is `factor` times the value of this one."""
        return replace(self, final=self.final * float(factor))

    def minimize(self, *, tolerance: float = 1e-10) -> WeightedAutomaton:
        """The automaton with the fewest states, at least one, and the same values.

        If a coordinate is the constant 1, it comes last, as in `from_network`.

        Args:
            tolerance: as in `analysis.minimize`, which also reports how clearly the tolerance determines the size.

        Raises:
            ValueError: if the tolerance is outside [0, 1).

        Exactness: as `analysis.minimize`, whose `residual` bounds the difference of the values.
            `analysis.equivalent(automaton, automaton.minimize())` can prove the two equivalent.
        """
        tolerance = fraction("tolerance", tolerance)
        [initial], transitions, final, _, _ = reduced(self.initial[None], self.transitions, self._columns, tolerance)
        initial, transitions, final = constant_last(initial, transitions, final, tolerance)
        return replace(self, initial=initial, transitions=transitions, final=final.reshape(-1, *self.final.shape[1:]))

    def prefix_sums(self) -> WeightedAutomaton:
        r"""The automaton whose value of a word is the sum of the values of all words that begin with it.

        It has $\omega' = (1 - \sum_x A_x)^{-1} \omega$. Probabilities of words become probabilities of prefixes: the
        probability of the next symbol x after w is f'(wx) / f'(w).

        Raises:
            ValueError: if the sums do not converge, because the spectral radius of $\sum_x A_x$ is not below 1.
        """
        total = self.transitions.sum(axis=0)
        radius = float(np.abs(np.linalg.eigvals(total)).max())
        if not radius < 1 - 1e-12:
            raise ValueError(
                "The sum of the matrices must have a spectral radius below 1, to sum values over all words. Received: "
                f"{radius:.6g}. Scale the matrices down, or learn them from words that end."
            )
        return replace(self, final=np.linalg.solve(np.eye(len(self)) - total, self.final))

    @property
    def _columns(self) -> Array:
        """The final weights as (n, outputs)."""
        return self.final.reshape(len(self), -1)

    @property
    def _symbols(self) -> tuple[Hashable, ...]:
        return tuple(range(self.num_symbols)) if self.alphabet is None else self.alphabet

    @classmethod
    def from_network(cls, network: object, *, readout: object = None) -> WeightedAutomaton:
        """The automaton of a network that is affine in its state: n + 1 states, the last of which is always 1.

        Its words are all that the network reads: an alphabet's start, end and padding are symbols as the others.

        Args:
            network: a model of an ISAN, a FactoredISAN over a vocabulary, or a linear recurrence over an Embedding or
                one-hot vectors, with a linear Dense head, also under a softmax; a layer, a cell; or (layer, readout).
            readout: for a layer or a cell: its Dense head, or a pair (matrix, bias); None reads the state.

        Raises:
            ValueError: if there is no such layer, or no linear readout.

        Example:

        >>> from keras_interp_rnn import layers
        >>> model = keras.Sequential([keras.Input((None,), dtype="int32"), layers.ISAN(3, 4), keras.layers.Dense(4)])
        >>> automaton = WeightedAutomaton.from_network(model)
        >>> len(automaton), np.allclose(automaton.value([2, 0, 1]), model(np.array([[2, 0, 1]]))[0], atol=1e-5)
        (4, True)
        """
        form = affine_form(network, readout)
        return cls(*form.with_constant(), None if form.alphabet is None else tuple(form.alphabet))

    def to_isan(self, *, return_sequences: bool = False, dtype: str = "float32") -> keras.Model:
        """A model of ids, an ISAN with a linear Dense readout, that outputs the value of every word.

        If the last coordinate is the constant 1, it becomes the biases; otherwise the biases are 0.

        Args:
            return_sequences: whether the model outputs the value of every nonempty prefix.
            dtype: of the model.

        Raises:
            ValueError: if a weight is too large for the dtype.

        Example:

        >>> ones = WeightedAutomaton([1, 0], [[[1, 0], [0, 1]], [[1, 1], [0, 1]]], [0, 1])
        >>> np.array(ones.to_isan()(np.array([[1, 0, 1, 1, 0]])))
        array([[3.]], dtype=float32)
        """
        form = affine_form(self)
        weights = form.kernel, form.bias, form.initial
        return isan_model(*weights, (form.readout, form.offset), dtype=dtype, return_sequences=return_sequences)

    @classmethod
    def from_dfa(cls, dfa: FiniteAutomaton) -> WeightedAutomaton:
        """The automaton with the states and alphabet of a `DFA` whose value is 1 for accepted words and 0 for others.

        For a `MooreMachine` it has one value for each label, 1 for words with that label and 0 for others.
        """
        initial, transitions, final = arrays_of_dfa(dfa)
        return cls(initial, transitions, final[:, 0] if final.shape[1] == 1 else final, tuple(dfa.alphabet))

    @classmethod
    def from_words(
        cls,
        words: Iterable[Iterable[Hashable]],
        *,
        alphabet: Sequence[Hashable] | None = None,
        num_symbols: int | None = None,
        pseudo_count: float = 0.01,
    ) -> WeightedAutomaton:
        r"""An automaton of the probabilities of words, learned from words of one kind alone, such as normal sessions.

        The states are deterministic. Prefixes of the words after which the words continue alike are merged, by Akaike's
        criterion. If N words pass a state and n of them have a symbol (or the end) next, the state gives it the
        probability (n + c) / (N + (K + 1) c), where c is `pseudo_count`. A symbol that no word has there does not
        change the state. `analysis.surprise` reads the automaton.

        Args:
            words: sequences of symbols, each as often as it occurred.
            alphabet: the symbols; None for words of ids.
            num_symbols: K, if there is no alphabet; None for one more than the largest id.
            pseudo_count: float >= 0; 0 for the relative frequencies, for which a symbol that never came is impossible.

        Returns:
            The automaton, whose value of a word is its probability.

        Raises:
            ValueError: if there is no word, a symbol is not in the alphabet, or a number is out of range; if the words
                have more than two million different prefixes.

        Exactness: an estimate. If a deterministic stochastic automaton drew the words, it converges to that automaton.
        Example:

        >>> words = [n * "ab" for n in range(6) for _ in range(2 ** (6 - n))]  # half as many for each ab more
        >>> learned = WeightedAutomaton.from_words(words, alphabet="ab", pseudo_count=0)
        >>> len(learned), round(learned.value("ab"), 2), learned.value("ba")
        (2, 0.25, 0.0)

        References: Carrasco and Oncina, "Learning stochastic regular grammars by means of a state merging method", ICGI
        1994, for the order of merges; Akaike, "A new look at the statistical model identification", IEEE Transactions
        on Automatic Control 19, 1974.
        """
        pseudo_count = non_negative("pseudo_count", pseudo_count)
        drawn = checked_words(words)
        symbols, num_symbols = symbols_of_words(drawn, alphabet, num_symbols)
        counts = Counter(tuple(word_ids(word, symbols, num_symbols).tolist()) for word in drawn)
        return cls(*stochastic(counts, num_symbols, pseudo_count), symbols)

    @classmethod
    def from_hankel(
        cls,
        words: Iterable[Iterable[Hashable]] | Mapping[Any, float],
        rank: int,
        *,
        alphabet: Sequence[Hashable] | None = None,
        num_symbols: int | None = None,
        max_length: int = 4,
        max_basis: int = 500,
    ) -> WeightedAutomaton:
        r"""Spectral learning: an automaton of `rank` states from words, or from values of words.

        Let f(v) be the value of the word v. The rank of the table H(p, s) = f(ps) over prefixes p and suffixes s is the
        number of states of the smallest automaton of f. With the largest singular values and vectors of the table,
        $H \approx U D V^T$, and the tables $H_x(p, s) = f(pxs)$,

        $$A_x = D^{-1} U^T H_x V, \qquad \alpha = H(\varepsilon, \cdot) V, \qquad
        \omega = D^{-1} U^T H(\cdot, \varepsilon).$$

        For drawn words, f(v) is first the mean number of occurrences of v in a word, which is estimated well for short
        v; then, with $A = \sum_x A_x$, $\alpha (1 - A)$ and $(1 - A) \omega$ give the probability of the whole word.

        Args:
            words: drawn words, whose probabilities the automaton then estimates; or {word: value}, with the value 0 for
                all other words.
            rank: int > 0, number of states.
            alphabet: the symbols; None for words of ids.
            num_symbols: K, if there is no alphabet; None for one more than the largest id.
            max_length: maximum length of the prefixes and suffixes.
            max_basis: maximum number of prefixes, and of suffixes: the most frequent, or those with the largest values.

        Returns:
            The automaton. Estimates may be below 0.

        Raises:
            ValueError: if the table does not have that rank, or a symbol is not in the alphabet.

        Exactness: exact for values of an automaton of that rank, if the table has the rank. For drawn words an estimate
            that converges as their number grows.
        Example:

        >>> values = {"a" * n: 0.5 ** (n + 1) for n in range(9)}
        >>> learned = WeightedAutomaton.from_hankel(values, 1, alphabet="a", max_length=3)
        >>> round(learned.value("a" * 20) * 2**21, 6)
        1.0

        References: Hsu, Kakade and Zhang, "A spectral algorithm for learning hidden Markov models", COLT 2009; Balle,
        Carreras, Luque and Quattoni, "Spectral learning of weighted automata", Machine Learning, 2014.
        """
        given = words if isinstance(words, Mapping) else checked_words(words)
        symbols, num_symbols = symbols_of_words(list(given), alphabet, num_symbols)
        ids = [word_ids(word, symbols, num_symbols) for word in given]
        values = list(words.values()) if isinstance(words, Mapping) else None
        return cls(*hankel.learned(ids, values, rank, num_symbols, max_length, max_basis), symbols)


def _over_the_same(one: WeightedAutomaton, other: WeightedAutomaton) -> WeightedAutomaton:
    """The other automaton with its symbols in the order of the first."""
    if not isinstance(other, WeightedAutomaton) or other.final.shape[1:] != one.final.shape[1:]:
        raise ValueError(
            "Weighted automata must have the same number of outputs to be combined. Received: "
            f"{other!r}, and one with final {one.final.shape}."
        )
    mine, others = one._symbols, other._symbols
    if set(mine) != set(others):
        raise ValueError(f"Both automata must read the same alphabet. Received: {mine!r} and {others!r}.")
    return replace(other, transitions=other.transitions[[others.index(symbol) for symbol in mine]], alphabet=mine)
