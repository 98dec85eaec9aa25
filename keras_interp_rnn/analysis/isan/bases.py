r"""An input-switched affine network in other coordinates.

Only affine maps move the state, so the network may run in any coordinates (Foerster et al., "Input Switched Affine
Networks", ICML 2017, arXiv:1611.09434, sections 3.5 and 4, eqs. 7 and 8).
States are rows and $h' = [h, 1]$; coordinates are $z = h' F$, and $h' = z G$ with $F G = 1$. Then

    z_t = z_{t-1} (G W'_x F),        W'_x = [[W_x, 0], [b_x, 1]].

The readout basis is orthonormal, with the directions that the readout sees first. `binary_bases` has coordinates that
are 0 or 1 on every state that the network reaches (section 4, figure 9).

Binary coordinates are redundant: the coordinates of one block, such as the one-hot code of a count, sum to 1. Each
block gives a relation `sum_b z - 1 + z kappa = 0` that holds for every state, with kappa on dimensions that are 0 on
the states that are reached. The effect of a symbol on z is determined up to multiples of these relations;
`change_basis` adds the multiples for which a third of each block's entries are at most zero, per binary column. If the
network has a 0/1 form with at most two thirds ones per block and column, and there are no other relations, that form is
the result.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from keras_interp_rnn._arrays import as_symbols, check_range, listed
from keras_interp_rnn._checks import invalid, non_negative
from keras_interp_rnn._network import AffineReading, isan_like
from keras_interp_rnn._results import Result
from keras_interp_rnn._types import Array
from keras_interp_rnn.affine import AffineMap
from keras_interp_rnn.analysis.weighted.differences import on_short_words
from keras_interp_rnn.analysis.weighted.forms import AffineForm, LayerAndReadout
from keras_interp_rnn.equations import isan as equations


@dataclass(frozen=True, eq=False, repr=False)
class Basis(Result):
    r"""Coordinates $z$ of states $h$, and the map back.

    Attributes:
        to: the map $h \mapsto z$, matrix (n, m).
        back: the map $z \mapsto h$, matrix (m, n); it inverts `to` for every h.
        num_readout: r; the first r coordinates belong to the readout.
        names: of the coordinates.
        num_binary: number of binary coordinates, which come first; 0 in a readout basis. They are 0 or 1 on the states
            that the network reaches. The others hold what the binary ones leave unexplained and are near 0 on these
            states, see `unused`.
        blocks: the binary coordinates of each one-hot code; they sum to 1.
        relations: (blocks, m + 1); a row rho has z rho[:m] + rho[m] = 0 for all z = to(h).
        points: (points, num_binary), every binary vector that occurred.
        residual: largest distance of a binary coordinate from its 0 or 1, over the states of the basis.
        unused: largest absolute value of the other coordinates, over the same states.

    Example: see `readout_basis`.
    """

    to: AffineMap
    back: AffineMap
    num_readout: int
    names: tuple[str, ...]
    num_binary: int = 0
    blocks: tuple[tuple[int, ...], ...] = ()
    relations: Any = None
    points: Any = None
    residual: float = 0.0
    unused: float = 0.0


@dataclass(frozen=True, eq=False, repr=False)
class TransformedNetwork(LayerAndReadout):
    """A network in other coordinates; it unpacks into its layer and its readout.

    Attributes:
        layer: a built ISAN.
        readout: `AffineMap` from its states to the outputs: `readout.apply(layer(symbols))`.
        residual: largest difference between its outputs and those of the original network on all words of at most
            `max_length` symbols, in float64.
        max_length: the greatest length for which all words can be run in about a second; 1 for a rounded network.

    Example: see `change_basis`.
    """

    residual: float
    max_length: int


def readout_basis(network: object, readout: object = None, *, rank_tolerance: float = 1e-9) -> Basis:
    r"""An orthonormal basis whose first r vectors span the directions on which the readout depends.

    With the singular value decomposition $R = U S V^T$ of the readout's matrix (n, outputs), coordinates are $z = h U$:
    the first $r = \mathrm{rank} R$ span the columns of R (the paper's rows of $W_{ro}$), the rest their complement.

    Args:
        network: a model of an ISAN and a Dense head; or an ISAN layer or cell.
        readout: for a layer or a cell: its Dense head, or a pair (matrix, bias).
        rank_tolerance: each row of R is divided by its largest entry; singular values below this times the largest one
            then count as zero. A readout of blocks of one-hot codes may have a rank below its number of outputs.

    Returns:
        `Basis` with m = n coordinates.

    Raises:
        ValueError: if there is no ISAN, or no linear readout.

    Exactness: orthonormal to float64 rounding.
    Example:

        >>> from keras_interp_rnn import analysis, layers
        >>> model = keras.Sequential([keras.Input((None,), dtype="int32"), layers.ISAN(5, 3), keras.layers.Dense(3)])
        >>> basis = analysis.readout_basis(model)
        >>> basis.num_readout, basis.names[3]
        (3, 'computation 0')

    Reference: Foerster et al., ICML 2017, section 3.5.
    """
    non_negative("rank_tolerance", rank_tolerance)
    matrix = AffineReading(network).readout(readout).matrix
    vectors = np.linalg.svd(matrix, full_matrices=True)[0]
    # Rows of one size, as the rank does not depend on the sizes of units, but singular values do.
    rows = matrix / np.maximum(np.abs(matrix).max(axis=1, keepdims=True, initial=0.0), 1e-300)
    sizes = np.linalg.svd(rows, compute_uv=False)
    n, rank = len(matrix), int(np.sum(sizes > rank_tolerance * sizes.max(initial=0.0)))
    names = tuple(f"readout {i}" if i < rank else f"computation {i - rank}" for i in range(n))
    return Basis(AffineMap(vectors, np.zeros(n)), AffineMap(vectors.T, np.zeros(n)), rank, names)


def check_basis(basis: object) -> None:
    """Raises ValueError unless the argument is a `Basis`."""
    if not isinstance(basis, Basis):
        raise invalid("basis", "a Basis, as readout_basis makes one", basis)


def mean_state(network: object, sequences: Iterable[ArrayLike]) -> Array:
    r"""The mean of the states that an ISAN reaches on some texts, an origin for its analysis.

    With this origin the readout's bias is the mean output on the texts, and a contribution is the average change of the
    output when the symbol is inserted (docs/notes/origin.md).

    Args:
        network: a model of an ISAN and a Dense head; or an ISAN layer or cell.
        sequences: texts, each as ids (time,), read from the initial state. The mean gives every step the same weight.

    Returns:
        (n,), the `origin` of `contributions`, `timescales`, `bias_norms` and others.

    Raises:
        ValueError: if there is no ISAN, if it reads backwards, if there is no symbol, or one outside the vocabulary, or
            if the mean state is not finite.

    Cost: O(T n^2).
    Example:

        >>> from keras_interp_rnn import analysis, layers
        >>> model = keras.Sequential([keras.Input((None,), dtype="int32"), layers.ISAN(5, 3), keras.layers.Dense(3)])
        >>> mean = analysis.mean_state(model, [np.random.default_rng(0).integers(3, size=100)])
        >>> analysis.contributions(model, [0, 2, 1], origin=mean).residual < 1e-12
        True
    """
    kernel, bias, start = AffineReading(network).forwards().weights()
    total, count = np.zeros(len(start)), 0
    for sequence in listed("Texts", sequences):
        symbols = as_symbols(sequence, len(kernel))
        with np.errstate(over="ignore", invalid="ignore"):
            total += sum(equations.states(np, kernel, bias, start, symbols), np.zeros(len(start)))
        count += len(symbols)
    if not count:
        raise ValueError("`sequences` must have at least one symbol. Received: no symbol. Pass sequences of ids.")
    check_range("The sum of the states", [total])
    return total / count


def change_basis(
    network: object, basis: Basis, *, readout: object = None, dtype: str = "float64"
) -> TransformedNetwork:
    r"""The same network in other coordinates.

    With $z = h V + v$ and $h = z U + u$: $W^z_x = U W_x V$, $b^z_x = (u W_x + b_x) V + v$, $R^z = U R$,
    $c^z = u R + c$. If coordinates are redundant, multiples of `basis.relations` are added to each column, so that
    binary blocks become as close to 0 and 1 as the network allows (see the docstring of this module).

    Args:
        network: a model of an ISAN and a Dense head; or an ISAN layer.
        basis: from `readout_basis`, `balanced_basis` or `sparse_basis`. A `Basis` of the maps h - m and z + m moves the
            origin to a state m, such as `mean_state`.
        readout: for a layer: its Dense head, or a pair (matrix, bias); None for the identity.
        dtype: of the new layer.

    Returns:
        `TransformedNetwork`: a built ISAN with m units, and its readout. `readout.apply(layer(symbols))` is the output
        of `network`.

    Raises:
        ValueError: if there is no ISAN layer, or if the basis has another number of units.

    Exactness: equal outputs for every text, to the rounding of `dtype`; `residual` is the largest difference on all
        words of at most `max_length` symbols. `analysis.equivalent` can prove it for all words.
    Example:

        >>> from keras_interp_rnn import analysis, layers
        >>> model = keras.Sequential([keras.Input((None,), dtype="int32"), layers.ISAN(5, 3), keras.layers.Dense(3)])
        >>> layer, readout = analysis.change_basis(model, analysis.readout_basis(model))
        >>> layer.units, readout.matrix.shape
        (5, (5, 3))

    Reference: Foerster et al., ICML 2017, sections 3.5 and 4.
    """
    check_basis(basis)
    reading = AffineReading(network)
    (kernel, bias, start), head = reading.weights(), reading.readout(readout)
    if kernel.shape[1] != len(basis.to.matrix):
        raise ValueError(
            f"`basis` must have the units of the layer. Received: a basis of {len(basis.to.matrix)} units and a layer "
            f"of {kernel.shape[1]}. Make the basis from states of this layer."
        )
    (to, shift), (back, origin) = basis.to, basis.back
    new_kernel = back @ kernel @ to
    new_bias = (origin @ kernel + bias) @ to + shift
    new_head = AffineMap(back @ head.matrix, origin @ head.matrix + head.offset)
    if basis.blocks:
        # In binary columns alone: the other columns, of arbitrary axes, would become arbitrary, and an error off the
        # relations would grow from step to step, a millionfold in 50.
        binary = np.arange(len(new_bias[0])) < basis.num_binary
        both = [_add_relations(basis, *pair, binary) for pair in zip(new_kernel, new_bias, strict=True)]
        new_kernel, new_bias = (np.array(parts) for parts in zip(*both, strict=True))
        new_head = AffineMap(*_add_relations(basis, *new_head))
    layer = isan_like(network, new_kernel, new_bias, basis.to.apply(start), dtype)
    after = AffineReading(layer).weights()
    original = AffineForm(start, kernel, bias, *head)
    changed = AffineForm(after.initial_state, after.kernel, after.bias, *new_head)
    return TransformedNetwork(layer, new_head, *on_short_words(original, changed))


def _add_relations(basis: Basis, matrix: Array, offset: Array, columns: object = True) -> tuple[Array, Array]:
    """The map z -> z matrix + offset, with multiples of the relations added to some columns: see the module."""
    both = np.concatenate([matrix, offset[None]])
    levels = np.array([np.quantile(matrix[list(block)], 1 / 3, axis=0, method="lower") for block in basis.blocks])
    both = both - basis.relations.T @ (levels * columns)
    return both[:-1], both[-1]
