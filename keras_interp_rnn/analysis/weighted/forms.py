r"""One form for every network that is a weighted automaton: a state, an affine map per symbol, an affine readout.

    s_0 = initial,     s_{wx} = s_w W_x + b_x,     f(w) = s_w R + c.

An ISAN with a linear readout has this form; with the coordinate 1 appended to the state it is a weighted automaton, one
matrix per symbol (docs/notes/weighted-automata.md). A weighted automaton has b = 0 and c = 0. A deterministic automaton
has one-hot vectors for states and the output 1 for words that it accepts, otherwise 0.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from keras_interp_rnn._alphabet import Alphabet, distinct_symbols
from keras_interp_rnn._arrays import as_float64, as_symbols, listed
from keras_interp_rnn._checks import holding, integer, invalid, is_integer
from keras_interp_rnn._network import AffineReading, is_text
from keras_interp_rnn._results import Unpackable
from keras_interp_rnn._types import Array, FiniteAutomaton, LinearAutomaton, ProvedNetwork, ReadNetwork
from keras_interp_rnn.affine import AffineMap
from keras_interp_rnn.analysis.weighted import rounding


@dataclass(frozen=True, eq=False, repr=False)
class LayerAndReadout(Unpackable):
    """A new network; it unpacks into its layer and its readout.

    Attributes:
        layer: a built ISAN. readout: from its states to the outputs, `readout.apply(layer(symbols))`.

    Example: see `minimize`.
    """

    layer: Any
    readout: AffineMap

    def parts(self) -> tuple[Any, AffineMap]:
        """The layer and its readout."""
        return self.layer, self.readout


@dataclass(frozen=True, eq=False)
class AffineForm:
    """A network as arrays, states as rows.

    Attributes:
        initial: (n,). kernel: (K, n, n). bias: (K, n). readout: (n, outputs). offset: (outputs,).
        alphabet: the K symbols; None for the ids 0 to K - 1.
        return_sequences: of the layer, if there is one.
        labels: names of the outputs of a Moore machine; None if they have no names.
        is_verdict: whether the outputs are a finite automaton's: 1 for words that it accepts, or of the label,
            otherwise 0.
        rounding: bounds of the rounding of each entry of kernel and bias, where these were computed; None where they
            are the stored weights.
        parameters: of which they were computed, for a comparison.
        head_rounding: a bound of the rounding of each entry of readout (n, outputs) and offset; None of stored weights.
        masked: the id of steps that the network masks, whose map is the identity; None if there is none.
    """

    initial: Array
    kernel: Array
    bias: Array
    readout: Array
    offset: Array
    alphabet: Sequence[Hashable] | None = None
    return_sequences: bool = False
    labels: Sequence[Hashable] | None = None
    is_verdict: bool = False
    rounding: tuple[Array, Array] | None = None
    parameters: Sequence[Any] = ()
    head_rounding: Array | None = None
    masked: int | None = None

    @property
    def units(self) -> int:
        return len(self.initial)

    @property
    def num_symbols(self) -> int:
        return len(self.kernel)

    @property
    def num_outputs(self) -> int:
        return len(self.offset)

    def homogeneous(self) -> tuple[Array, Array, Array]:
        """The same function with one matrix per symbol: initial (N,), transitions (K, N, N), final (N, outputs).

        N = n + 1, or n if all biases and offsets are 0.
        """
        if not self.bias.any() and not self.offset.any():
            return self.initial, self.kernel, self.readout
        return self.with_constant()

    def with_constant(self) -> tuple[Array, Array, Array]:
        """As `homogeneous`, with N = n + 1 in any case: the last coordinate is the constant 1."""
        n = self.units
        transitions = np.zeros((self.num_symbols, n + 1, n + 1))
        transitions[:, :n, :n], transitions[:, n, :n], transitions[:, n, n] = self.kernel, self.bias, 1
        return np.append(self.initial, 1.0), transitions, np.concatenate([self.readout, self.offset[None]])

    def outputs(self, word: Iterable[int]) -> Array:
        """f(w) of a word of ids."""
        state = self.initial
        for symbol in word:
            state = state @ self.kernel[symbol] + self.bias[symbol]
        return np.asarray(state @ self.readout + self.offset)

    def over(self, alphabet: Sequence[Hashable]) -> AffineForm:
        """The same network with its symbols in the order of another alphabet of these symbols."""
        assert self.alphabet is not None
        order = [list(self.alphabet).index(symbol) for symbol in alphabet]
        kernel, bias = self.kernel[order], self.bias[order]
        off = None if self.rounding is None else (self.rounding[0][order], self.rounding[1][order])
        same = self.parameters if order == sorted(order) else ()
        masked = None if self.masked is None else order.index(self.masked)
        form = replace(self, kernel=kernel, bias=bias, alphabet=tuple(alphabet))
        return replace(form, rounding=off, parameters=same, masked=masked)

    def labelled(self, labels: Sequence[Hashable]) -> AffineForm:
        """The same network with its outputs in another order of its labels."""
        assert self.labels is not None
        order = [list(self.labels).index(label) for label in labels]
        return replace(self, readout=self.readout[:, order], offset=self.offset[order], labels=tuple(labels))

    def reads(self, word: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which steps of a word of ids are read: those that are not masked."""
        return np.ones(len(word), bool) if self.masked is None else word != self.masked

    def ids(self, word: object) -> NDArray[np.int64]:
        """The ids of a word of symbols or ids; raises ValueError as `word_ids`."""
        return word_ids(word, self.alphabet, self.num_symbols)


def word_ids(word: Any, alphabet: Sequence[Hashable] | None, num_symbols: int) -> NDArray[np.int64]:
    """The ids of a word.

    Args:
        word: ids; or symbols of the alphabet, if there is one. Ints are symbols if the alphabet has ints.

    Raises:
        ValueError: for a symbol outside the alphabet, or an id outside [0, num_symbols).
    """
    if alphabet is None:
        return as_symbols(word, num_symbols)
    if isinstance(alphabet, Alphabet):
        return alphabet.encode(word).astype(np.int64) if is_text(word) else as_symbols(word, num_symbols)
    symbols = listed("Symbols", word.tolist() if hasattr(word, "tolist") else word)
    place = {symbol: i for i, symbol in enumerate(alphabet)}
    # A bool is an int, and equal to 0 or 1.
    if all(map(is_integer, symbols)) and not any(is_integer(s) or isinstance(s, bool) for s in place):
        return as_symbols(np.array(symbols, np.int64), num_symbols)
    strays = [symbol for symbol in symbols if symbol not in place]
    if strays:
        raise ValueError(
            f"A word must consist of symbols of the alphabet {tuple(place)!r}. Received: the symbol {strays[0]!r}. "
            "Leave it out, or pass ids."
        )
    return np.array([place[symbol] for symbol in symbols], np.int64)


def symbols_of_words(
    words: Sequence[Iterable[Hashable]], alphabet: Sequence[Hashable] | None, num_symbols: int | None
) -> tuple[tuple[Hashable, ...] | None, int]:
    """The alphabet of words, None for ids, and the number of its symbols."""
    symbols = None if alphabet is None else distinct_symbols(alphabet)
    ids: list[Any] = [symbol for word in words for symbol in word] if symbols is None else []
    if not all(map(is_integer, ids)):
        raise ValueError(
            "Words without an alphabet must consist of ids. Received: symbols that are no ids. Pass the alphabet."
        )
    counted = 1 + max(ids, default=0) if symbols is None else len(symbols)
    num_symbols = counted if num_symbols is None else integer("num_symbols", num_symbols)
    if symbols is not None and num_symbols != counted:
        raise invalid("num_symbols", f"the length of the alphabet, {counted}", num_symbols, "Leave it out.")
    return symbols, num_symbols


def affine_form(network: Any, readout: Any = None, alphabet: Sequence[Hashable] | None = None) -> AffineForm:
    """The function of words that a network computes, as arrays.

    Args:
        network: an ISAN or a FactoredISAN over a vocabulary: a model with a Dense head, whose outputs are the logits
            before its activation; a layer or a cell; a pair (layer, readout); or an automaton:
            `automata.WeightedAutomaton`, `automata.DFA` or `MooreMachine`, or an `automata.Certificate` that holds, for
            the automaton of its centroids.
        readout: for a layer or a cell, a Dense layer or (matrix, bias); None reads the state.
        alphabet: names of the symbols of a network; by default the names that a model carries.

    Raises:
        ValueError: for any other network, for weights that are not finite, for a certificate that does not hold.
    """
    if isinstance(network, ProvedNetwork):
        network = holding(network).path
    if isinstance(network, FiniteAutomaton | LinearAutomaton):
        if readout is not None:
            raise ValueError("The readout of an automaton must be None. Received: a readout. Leave it out.")
        return _of_dfa(network) if isinstance(network, FiniteAutomaton) else _of_weighted(network)
    if readout is None:
        if isinstance(network, tuple) and len(network) == 2:
            network, readout = network
        elif isinstance(network, ReadNetwork) and not callable(network):  # no model with such attributes
            network, readout = network.layer, network.readout
    reading = AffineReading(network, alphabet).forwards()
    (kernel, bias, start), head = reading.weights(), reading.readout(readout)
    sequences = getattr(reading.layer, "return_sequences", False)
    off = rounding.of_maps(reading)
    parameters = () if off is None else (*reading.parameters(), *head)
    of_head = rounding.of_head(reading) if readout is None else 0.0
    return AffineForm(
        start,
        kernel,
        bias,
        *head,
        _names_of_all(reading, len(bias)),
        sequences,
        rounding=off,
        parameters=parameters,
        head_rounding=np.full(head.matrix.shape, of_head) if of_head else None,
        masked=0 if reading.masks_zero else None,
    )


def arrays_of_dfa(dfa: FiniteAutomaton) -> tuple[Array, Array, Array]:
    """A `DFA` in zeros and ones: initial (n,), transitions (K, n, n), zero rows for missing ones, final (n, 1).

    For a `MooreMachine` final is (n, labels), with a 1 at the label of each state.
    """
    size = len(dfa)
    transitions = np.zeros((len(dfa.alphabet), size, size))
    for state, row in enumerate(dfa.transitions):
        for symbol, target in enumerate(row):
            if target >= 0:
                transitions[symbol, state, target] = 1
    initial = np.zeros(size)
    initial[dfa.start] = 1
    labels = dfa.labels[1:] if tuple(dfa.labels) == (False, True) else dfa.labels
    final = np.array([[float(output == label) for label in labels] for output in dfa.outputs])
    return initial, transitions, final


def checked_arrays(initial: ArrayLike, transitions: ArrayLike, final: ArrayLike) -> tuple[Array, Array, Array]:
    """The parts of a weighted automaton as float64 arrays.

    Raises:
        ValueError: if the shapes do not pair up, or a number is not finite.
    """
    arrays = []
    for name, value in (("initial", initial), ("transitions", transitions), ("final", final)):
        array = np.array(value)
        if array.dtype.kind not in "biuf":
            raise ValueError(f"`{name}` must be real numbers. Received: dtype {array.dtype}.")
        arrays.append(array.astype(np.float64))
        if not np.isfinite(arrays[-1]).all():
            raise ValueError(f"The weights must be finite. Received: NaN or infinity in {name}.")
    first, matrices, last = arrays
    size = first.size
    if (
        first.shape != (size,)
        or size == 0
        or matrices.shape[1:] != (size, size)
        or not len(matrices)
        or last.ndim not in (1, 2)
        or len(last) != size
    ):
        raise ValueError(
            "A weighted automaton must have the shapes initial (n,), transitions (symbols, n, n), and final (n,) or "
            f"(n, outputs), n and symbols at least 1. Received: {first.shape}, {matrices.shape} and {last.shape}."
        )
    return first, matrices, last


def _of_weighted(automaton: LinearAutomaton) -> AffineForm:
    """Affine if the last coordinate is the constant 1, as in `WeightedAutomaton.from_network`; otherwise linear."""
    initial, transitions, final = checked_arrays(automaton.initial, automaton.transitions, automaton.final)
    final = final[:, None] if final.ndim == 1 else final
    constant = np.zeros(len(initial))
    constant[-1] = 1
    if len(initial) > 1 and initial[-1] == 1 and (transitions[:, :, -1] == constant).all():
        kernel, bias = transitions[:, :-1, :-1], transitions[:, -1, :-1]
        return AffineForm(initial[:-1], kernel, bias, final[:-1], final[-1], automaton.alphabet)
    return _linear(initial, transitions, final, automaton.alphabet)


def _of_dfa(automaton: FiniteAutomaton) -> AffineForm:
    initial, kernel, final = arrays_of_dfa(automaton)
    labels = tuple(automaton.labels) if final.shape[1] > 1 else None
    form = _linear(initial, kernel, final, automaton.alphabet)
    return replace(form, labels=labels, is_verdict=True)


def _linear(initial: Array, kernel: Array, final: Array, alphabet: Sequence[Hashable] | None) -> AffineForm:
    return AffineForm(initial, kernel, np.zeros(kernel.shape[:2]), final, np.zeros(final.shape[1]), alphabet)


def switch_arrays(network: object) -> tuple[dict[str, Array], Sequence[Hashable] | None]:
    """A network over symbols as the fewest arrays of `affine_form`, and the names of its symbols.

    Returns:
        initial, bias, readout and offset, as attributes of `AffineForm`; and kernel (K, n, n), or, for a FactoredISAN,
        the parts of W_x = shared + into diag(gains_x) out: into (n, f), gains (K, f), out (f, n), and shared (n, n), if
        it has that.

    Raises:
        ValueError: as `affine_form`.
    """
    reading = AffineReading(network)
    cell = reading.cell
    if not hasattr(cell, "into_factors"):
        form = affine_form(network)
        names = ("initial", "kernel", "bias", "readout", "offset")
        return {name: getattr(form, name) for name in names}, form.alphabet
    head = reading.forwards().readout()
    known = cell.equations(as_float64)
    arrays = {
        "initial": as_float64(cell.initial_state),
        **{"into": known.into_factors, "gains": known.switch_kernel, "out": known.out_of_factors},
        **{"bias": known.kernel, "readout": head.matrix, "offset": head.offset},
    }
    names_of_symbols = _names_of_all(reading, len(known.kernel))
    return (arrays if known.shared is None else {**arrays, "shared": known.shared}), names_of_symbols


def _names_of_all(reading: AffineReading, num_symbols: int) -> Alphabet | None:
    """The alphabet of a network; raises ValueError unless it has one symbol for each that the network reads."""
    names = reading.names
    if names is not None and len(names) != num_symbols:
        raise ValueError(
            f"The alphabet of {reading.layer.name} must have one symbol for each of the {num_symbols} that it reads. "
            f"Received: {len(names)}, {names.symbols!r:.60}. Pass one of {num_symbols}, or build the network for "
            f"{len(names)}."
        )
    return names
