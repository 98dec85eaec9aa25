r"""Changes of basis of an input-switched affine network, and one in which it is made of zeros and ones.

Nothing but affine maps moves the state, so the network may run in any coordinates (Foerster et al., ICML 2017, section
3.5). States are rows and $h' = [h, 1]$; coordinates are $z = h' F$, and $h' = z G$ with $F G = 1$. Then

    z_t = z_{t-1} (G W'_x F),        W'_x = [[W_x, 0], [b_x, 1]].

Two kinds of coordinates: the readout basis, orthonormal, with the directions the readout sees first; and hot ones,
which are 0 or 1 on every state the network reaches (section 4, figure 9), found by regression of given labels
(`label_basis`) or without any (`sparse_basis`).

Hot coordinates are redundant: those of one block, such as the one-hot code of a count, sum to 1. Each block gives a
relation `sum_b z - 1 + z kappa = 0` that holds for every state, with kappa on dimensions that are 0 on the states that
are reached. What a symbol does to z is determined up to multiples of these relations; `change_basis` adds those
multiples that make a third of each block's entries no larger than zero, per hot column. Where a 0/1 form exists with at
most two thirds ones per block and column, and no relations hold but these, it is the one found.

Why `sparse_basis` needs more than a set of states. Take one count clipped to [0, m] with a delay of one step, p the
count before and c the count after a step, and P_j = [p >= j], C_j = [c >= j]. The states reached are all those with
|p - c| <= 1, that is with P_{j+1} <= P_j, C_j and C_{j+1} <= P_j, C_j. Swapping P_j and C_j for a single j maps this
set to itself by a linear map of z, so that the set alone, and with equal odds for up and down its frequencies too, do
not tell which of 2^m families of one-hot codes is meant. What a code is for does: what is put out now and later.

What this leaves out: codes that are not linear in the state, and networks whose outputs are not 0 or 1.

Reference: Foerster et al., "Input Switched Affine Networks", ICML 2017, arXiv:1611.09434, sections 3.5 and 4, eqs. 7
and 8.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from keras_interp_rnn._repr import short_repr
from keras_interp_rnn.affine import AffineMap
from keras_interp_rnn.analysis._weights import affine_readout, isan_layer, isan_weights

Array = NDArray[np.float64]


@short_repr
@dataclass(frozen=True, eq=False)
class Basis:
    r"""Coordinates $z$ of states $h$, and the way back.

    Attributes:
        to: $h \mapsto z$, matrix (n, m).
        back: $z \mapsto h$, matrix (m, n); undoes `to` for every h.
        readout: r, how many of the first coordinates belong to the readout.
        hot: how many of the first coordinates are 0 or 1 on the states that are reached; 0 in a readout basis. Those
            behind them carry what the hot ones leave unexplained: on the states reached they are near 0, `unused`.
        blocks: the hot coordinates of each one-hot code; they sum to 1.
        relations: (blocks, m + 1), rows rho with z rho[:m] + rho[m] = 0 for all z = to(h).
        points: (points, hot), every hot vector that occurred, 0 or 1.
        names: of the coordinates.
        residual: largest distance of a hot coordinate from its 0 or 1, over the states given.
        unused: largest absolute coordinate behind the hot ones, over the states given.
    """

    to: AffineMap
    back: AffineMap
    readout: int
    names: tuple[str, ...]
    hot: int = 0
    blocks: tuple[tuple[int, ...], ...] = ()
    relations: Any = None
    points: Any = None
    residual: float = 0.0
    unused: float = 0.0


@short_repr
class Blocks(NamedTuple):
    r"""The blocks of eq. 7, by the paper's names, states as rows.

    `rc` leads from the computation to the readout: the paper's $W^{rc}_x$, transposed, shape (K, c, r). `b_r` (K, r)
    and `b_c` (K, c) are the biases.
    """

    rr: Array
    rc: Array
    cr: Array
    cc: Array
    b_r: Array
    b_c: Array


def augmented(layer: Any) -> Array:
    r"""The affine maps of all symbols as matrices, $[h, 1] W'_x = [h W_x + b_x, 1]$.

    Args:
        layer: an ISAN, its cell, or a model with one.

    Returns:
        (K, n + 1, n + 1), $W'_x = [[W_x, 0], [b_x, 1]]$: the transpose of the paper's.

    Raises:
        ValueError: if there is no ISAN.

    Exactness: equal to the weights, in float64.
    Reference: Foerster et al., ICML 2017, section 4 and eq. 7.
    """
    kernel, bias, _ = isan_weights(layer)
    symbols, n = bias.shape
    matrices = np.zeros((symbols, n + 1, n + 1))
    matrices[:, :n, :n], matrices[:, n, :n], matrices[:, n, n] = kernel, bias, 1
    return matrices


def readout_basis(layer: Any, readout: Any = None, rank_tolerance: float = 1e-9) -> Basis:
    r"""An orthonormal basis whose first r vectors are what the readout sees.

    With the singular value decomposition $R = U S V^T$ of the readout's matrix (n, outputs), coordinates are $z = h U$:
    the first $r = \mathrm{rank} R$ span the columns of R (the paper's rows of $W_{ro}$), the rest their complement.

    Args:
        layer: a model of an ISAN and a linear Dense head; or an ISAN.
        readout: for a layer: its Dense head, or a pair (matrix, bias).
        rank_tolerance: singular values below this times the largest count as zero. A readout over blocks of one-hot
            codes may have a rank below its number of outputs.

    Returns:
        `Basis` with m = n coordinates.

    Raises:
        ValueError: if there is no ISAN, or no linear readout.

    Exactness: orthonormal to float64 rounding.
    Reference: Foerster et al., ICML 2017, section 3.5.
    """
    matrix = affine_readout(layer, readout).matrix
    vectors, values, _ = np.linalg.svd(matrix, full_matrices=True)
    n, rank = len(matrix), int(np.sum(values > rank_tolerance * values.max(initial=0.0)))
    names = tuple(f"readout {i}" if i < rank else f"computation {i - rank}" for i in range(n))
    return Basis(AffineMap(vectors, np.zeros(n)), AffineMap(vectors.T, np.zeros(n)), rank, names)


def change_basis(layer: Any, basis: Basis, readout: Any = None, dtype: str = "float64") -> tuple[Any, AffineMap]:
    r"""The same network in other coordinates.

    With $z = h V + v$ and $h = z U + u$: $W^z_x = U W_x V$, $b^z_x = (u W_x + b_x) V + v$, $R^z = U R$,
    $c^z = u R + c$. Where coordinates are redundant, multiples of `basis.relations` are added to each column, so that
    hot blocks become as nearly 0 and 1 as the network is (see the module's head).

    Args:
        layer: a model of an ISAN and a linear Dense head; or an ISAN layer.
        basis: from `readout_basis`, `label_basis` or `sparse_basis`.
        readout: for a layer: its Dense head, or a pair (matrix, bias); None reads the original state.
        dtype: of the new layer.

    Returns:
        A built ISAN with m units, and its readout, so that `readout.apply(new_layer(x))` is what `layer` puts out.

    Raises:
        ValueError: if there is no ISAN layer, or if it has another number of units than the basis.

    Exactness: equal outputs for every text, to rounding in `dtype`.
    Reference: Foerster et al., ICML 2017, sections 3.5 and 4.
    """
    kernel, bias, start = isan_weights(layer)
    head = affine_readout(layer, readout)
    if kernel.shape[1] != len(basis.to.matrix):
        raise ValueError(
            f"A basis belongs to a number of units. Received: a basis of {len(basis.to.matrix)} and a layer of "
            f"{kernel.shape[1]}. Make the basis from states of this layer."
        )
    (to, shift), (back, origin) = basis.to, basis.back
    new_kernel = back @ kernel @ to
    new_bias = (origin @ kernel + bias) @ to + shift
    new_head = AffineMap(back @ head.matrix, origin @ head.matrix + head.offset)
    if basis.blocks:
        # What makes hot columns 0 and 1 would make others arbitrary: as the axes behind the hot ones are arbitrary, so
        # would be how an error that leaves the relations grows from step to step, a millionfold in 50.
        hot = np.arange(len(new_bias[0])) < basis.hot
        both = [_settled(basis, *pair, hot) for pair in zip(new_kernel, new_bias, strict=True)]
        new_kernel, new_bias = (np.array(parts) for parts in zip(*both, strict=True))
        new_head = AffineMap(*_settled(basis, *new_head))
    return _layer_like(layer, new_kernel, new_bias, basis.to.apply(start), dtype), new_head


def label_basis(
    states: ArrayLike,
    labels: ArrayLike,
    readout: int = 0,
    names: Sequence[str] | None = None,
    rank_tolerance: float = 1e-6,
) -> Basis:
    r"""The basis in which states are given hot vectors, by linear regression.

    With states $X = [h, 1]$ as rows and labels B of zeros and ones, $F = X^+ B$ are the hot coordinates. What the
    labels say of the states is $E = B^+ X$; further coordinates are an orthonormal basis Q of all directions in which
    E vanishes, and $G = [(E F)^+ E; Q^T (1 - F (E F)^+ E)]$ leads back: $[F, Q] G = 1$ for every state.

    Args:
        states: (..., n), states the network reaches, the first n numbers of X's rows; all that matter should occur.
        labels: (..., hot), 0 or 1, such as the one-hot codes of the counts before a step and after it.
        readout: how many of the first labels are what the readout puts out.
        names: of the labels.
        rank_tolerance: singular values of X below this times the largest count as zero.

    Returns:
        `Basis` with hot + n + 1 - rank B coordinates; `residual` says how far from 0 and 1 the hot ones are.

    Raises:
        ValueError: if the shapes do not pair up, if labels are not 0 or 1, if they are no affine functions of the
            states: if a coordinate is 0.5 or more from its label.

    Exactness: invertible to float64 rounding, however large `residual`.
    Limits: codes must be linear in the state. `blocks` are found as exact covers of the states by labels, in their
        order.
    Reference: Foerster et al., ICML 2017, section 4.
    """
    given, marks = np.asarray(states, np.float64), np.asarray(labels, np.float64)
    if given.ndim < 2 or given.shape[:-1] != marks.shape[:-1]:
        raise ValueError(
            f"There must be one row of labels for each state. Received: states {given.shape}, labels {marks.shape}. "
            "Flatten both to (samples, ...)."
        )
    rows, hot = _with_constant(given), marks.reshape(-1, marks.shape[-1])
    if not np.isin(hot, (0, 1)).all():
        raise ValueError(f"Labels are 0 or 1. Received: {np.unique(hot)[:5]}. Pass one-hot codes.")
    vectors = np.linalg.lstsq(rows, hot, rcond=rank_tolerance)[0]
    found = rows @ vectors
    residual = float(np.abs(found - hot).max(initial=0.0))
    if residual >= 0.5:
        worst = int(np.abs(found - hot).max(axis=0).argmax())
        raise ValueError(
            f"Labels must be affine functions of the states, to within 0.5. Received: label {worst}, which the best "
            f"one misses by {residual:.2f}. Train the network until it makes no errors, or leave that label out."
        )
    points = _distinct(hot.astype(bool))
    rank = int(np.linalg.matrix_rank(points.astype(float)))
    explained = np.linalg.lstsq(hot, rows, rcond=None)[0]
    rest = np.linalg.svd(explained, full_matrices=True)[2][rank:].T
    decoded = np.linalg.pinv(explained @ vectors, rcond=1e-9) @ explained
    forth = np.concatenate([vectors, rest], axis=1)
    back = np.concatenate([decoded, rest.T @ (np.eye(len(vectors)) - vectors @ decoded)])
    blocks = _partitions(points)
    relations = np.zeros((len(blocks), forth.shape[1] + 1))
    for relation, block in zip(relations, blocks, strict=True):
        missing = -forth[:, list(block)].sum(axis=1)
        missing[-1] += 1  # as a functional of [h, 1], what the block lacks to the constant 1
        relation[:-1] = back @ missing
        relation[list(block)] += 1
        relation[-1] = -1
    names = tuple(names or (f"label {i}" for i in range(hot.shape[1])))
    return Basis(
        AffineMap(forth[:-1], forth[-1]),
        AffineMap(back[:, :-1], np.zeros(len(vectors) - 1)),
        readout,
        names + tuple(f"rest {i}" for i in range(rest.shape[1])),
        hot.shape[1],
        blocks,
        relations,
        points,
        residual,
        float(np.abs(rows @ rest).max(initial=0.0)),
    )


def sparse_basis(
    layer: Any, states: ArrayLike, readout: Any = None, tolerance: float = 0.25, limit: int = 2000
) -> Basis:
    r"""The basis in which states and matrices are zeros and ones, found without labels.

    Whatever the network will put out after reading a further word w is an affine function of its present state,

    $$f_{w,j}(h) = c_j + (h, 1) W'_{w_1} \cdots W'_{w_k} (R_j, 0)^T,$$

    and 0 or 1 on every state it reaches if the outputs are. There are finitely many such functions on those states.
    All are collected, short words first; outputs (k = 0) are kept, and of the others those that are no sum of
    functions whose supports are disjoint and smaller. Reading a symbol turns $f_w$ into $f_{xw}$, again one of them or
    such a sum, so that a network of zeros and ones in these coordinates exists. `label_basis` then makes the basis,
    the values of these functions its labels.

    Args:
        layer: a model of an ISAN and a linear Dense head whose outputs are 0 or 1; or an ISAN.
        states: (..., n), states the network reaches. Functions that differ on no state given are taken for one.
        readout: for a layer: its Dense head, or a pair (matrix, bias).
        tolerance: how far from 0 and 1 a function may be, < 0.5.
        limit: on the number of functions.

    Returns:
        `Basis`; a name such as "output 3 after 0 2" says j and w.

    Raises:
        ValueError: if an output, now or after a word, is farther than `tolerance` from 0 and 1 on some state, or if
            there are more functions than `limit`.

    Exactness: deterministic; `residual` as for `label_basis`.
    Cost: O(N n + n^2) for each function and symbol, N states given, and a search for exact covers among them.
    Example:

        basis = sparse_basis(model, trace(model, symbols)["h"])
        network, readout = change_basis(model, basis)
        rounding_error(*named_blocks(network, basis))  # 0.0025

    Reference: after Foerster et al., ICML 2017, section 4, where the labels were given.
    """
    if not 0 < tolerance < 0.5:
        raise ValueError(f"tolerance lies between 0 and 0.5. Received: {tolerance}. Leave it at 0.25.")
    head, maps = affine_readout(layer, readout), augmented(layer)
    if np.shape(states)[-1] + 1 != maps.shape[1]:
        raise ValueError(
            f"States have as many entries as the layer has units. Received: {np.shape(states)} and "
            f"{maps.shape[1] - 1} units. Pass the states of this layer."
        )
    rows = _with_constant(np.asarray(states, np.float64))
    outputs = head.matrix.shape[1]
    functions = np.concatenate([head.matrix, head.offset[None]]).T
    labels = [_two_valued(rows @ f, f"Output {j}", tolerance) for j, f in enumerate(functions)]
    known = {np.packbits(values).tobytes() for values in labels}
    names = [f"output {j}" for j in range(outputs)]
    waiting: deque[tuple[int, tuple[int, ...], Array]] = deque((j, (), f) for j, f in enumerate(functions))
    while waiting:
        j, word, function = waiting.popleft()
        for symbol, matrix in enumerate(maps):
            earlier, longer = matrix @ function, (symbol, *word)
            name = f"output {j} after {' '.join(map(str, longer))}"
            values = _two_valued(rows @ earlier, name.capitalize(), tolerance)
            code = np.packbits(values).tobytes()
            if code in known or values.all() or not values.any():
                continue
            if len(known) >= limit:
                raise ValueError(
                    f"There may be `limit` functions of the state. Received: limit={limit}, and more. Is the network "
                    "one with few states? Then raise the limit."
                )
            known.add(code)
            labels.append(values)
            names.append(name)
            waiting.append((j, longer, earlier))
    table = np.array(labels).T
    points = _distinct(table)
    sizes = points.sum(axis=0)
    chosen = list(range(outputs))
    for i in range(outputs, points.shape[1]):
        inside = [k for k in np.argsort(sizes, kind="stable") if 0 < sizes[k] < sizes[i]]
        if _cover(points[:, i], points, inside) is None:
            chosen.append(i)
    return label_basis(
        np.asarray(states), table[:, chosen].reshape(*np.shape(states)[:-1], -1), outputs, [names[i] for i in chosen]
    )


def named_blocks(layer: Any, basis: Basis) -> Blocks:
    r"""The blocks of eq. 7 of a network in a basis.

    Args:
        layer: what `change_basis` returned for `basis`.
        basis: whose first `readout` coordinates are the readout's; the computation is the hot ones behind them, or all
            where there are none.

    Returns:
        `Blocks`. What leads to and from the coordinates behind the hot ones is left out.

    Raises:
        ValueError: if there is no ISAN.

    Exactness: slices of the weights.
    Reference: Foerster et al., ICML 2017, eqs. 7 and 8.
    """
    kernel, bias, _ = isan_weights(layer)
    r, m = basis.readout, basis.hot or kernel.shape[1]
    return Blocks(
        kernel[:, :r, :r], kernel[:, r:m, :r], kernel[:, :r, r:m], kernel[:, r:m, r:m], bias[:, :r], bias[:, r:m]
    )


def rounding_error(*arrays: ArrayLike) -> float:
    """Largest distance of any entry from the nearer of 0 and 1."""
    return max(
        float(np.minimum(np.abs(a), np.abs(np.asarray(a) - 1)).max(initial=0.0)) for a in map(np.asarray, arrays)
    )


def near_zero(*arrays: ArrayLike, within: float = 0.05) -> float:
    """Share of entries whose absolute value is at most `within`."""
    entries = np.concatenate([np.ravel(array) for array in arrays])
    return float(np.mean(np.abs(entries) <= within)) if entries.size else 1.0


def rebuilt(layer: Any, basis: Basis, readout: Any = None, dtype: str = "float64") -> tuple[Any, AffineMap]:
    r"""A network of zeros and ones, written down from a trained one.

    The hot blocks of `change_basis` and their biases and readout, each entry rounded to 0 or 1; all other coordinates
    are left out. It starts in that hot vector of `basis.points` from which every symbol leads nearest to where it leads
    from the trained initial state, as what a delay line holds at the start may never be read out.

    Args:
        layer, readout: as `change_basis`.
        basis: with hot coordinates.
        dtype: of the new layer.

    Returns:
        A built ISAN with `basis.hot` units, and its readout, zeros and ones.

    Raises:
        ValueError: if the basis has no hot coordinates, or an entry is 0.5 or farther from 0 and 1.

    Exactness: none promised: run it on fresh texts. `rounding_error` says how much was rounded away.
    Reference: Foerster et al., ICML 2017, section 4.
    """
    if not basis.hot:
        raise ValueError(
            "Rounding needs coordinates that are 0 or 1. Received: a basis without any. Use label_basis or "
            "sparse_basis."
        )
    changed, head = change_basis(layer, basis, readout)
    kernel, bias, _ = isan_weights(changed)
    m = basis.hot
    exact = (kernel[:, :m, :m], bias[:, :m], head.matrix[:m], head.offset)
    error = rounding_error(*exact)
    if error >= 0.5:
        raise ValueError(
            f"Every entry must be nearer than 0.5 to 0 or 1. Received: one that is {error:.2f} away. Train longer, or "
            "with more weight decay."
        )
    kernel, bias, matrix, offset = (np.clip(np.rint(array), 0, 1) for array in exact)
    original = isan_weights(layer)
    wanted = basis.to.apply(original.initial_state @ original.kernel + original.bias)[:, :m]
    points = basis.points.astype(np.float64)
    apart = sum(np.abs(points @ k + b - w).max(axis=1) for k, b, w in zip(kernel, bias, wanted, strict=True))
    start = points[int(np.argmin(np.round(apart, 3)))]
    return _layer_like(layer, kernel, bias, start, dtype), AffineMap(matrix, offset)


def _with_constant(states: Array) -> Array:
    rows = states.reshape(-1, states.shape[-1])
    return np.concatenate([rows, np.ones((len(rows), 1))], axis=1)


def _distinct(table: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Different rows, in an order that depends on them alone."""
    packed = np.packbits(table, axis=1)
    codes = np.ascontiguousarray(packed).view(f"V{packed.shape[1]}")[:, 0]
    return table[np.unique(codes, return_index=True)[1]]


def _two_valued(values: Array, name: str, tolerance: float) -> NDArray[np.bool_]:
    """Which values are 1, if all are 0 or 1."""
    error = rounding_error(values)
    if error > tolerance:
        raise ValueError(
            f"What the network puts out, now or later, must be 0 or 1 to within {tolerance} on every state. Received: "
            f"{name}, which is up to {error:.2f} away. Train longer, or use label_basis."
        )
    return values > 0.5


def _settled(basis: Basis, matrix: Array, offset: Array, columns: Any = True) -> tuple[Array, Array]:
    """The map z -> z matrix + offset, with multiples of the relations added to these columns: see the module's head."""
    both = np.concatenate([matrix, offset[None]])
    levels = np.array([np.quantile(matrix[list(block)], 1 / 3, axis=0, method="lower") for block in basis.blocks])
    both = both - basis.relations.T @ (levels * columns)
    return both[:-1], both[-1]


def _partitions(points: NDArray[np.bool_]) -> tuple[tuple[int, ...], ...]:
    """Columns of which in every row exactly one is 1, block after block; a column belongs to one block at most."""
    blocks: list[tuple[int, ...]] = []
    free = [i for i in range(points.shape[1]) if points[:, i].any()]
    for i in list(free):
        if i in free:
            others = _cover(~points[:, i], points, [k for k in free if k != i])
            if others is not None:
                blocks.append(tuple(sorted([i, *others])))
                free = [k for k in free if k not in blocks[-1]]
    return tuple(blocks)


def _cover(target: NDArray[np.bool_], points: NDArray[np.bool_], members: Sequence[int]) -> list[int] | None:
    """Columns among `members` with disjoint supports whose union is the target; None if there are none."""
    if not target.any():
        return []
    first = int(target.argmax())
    inside = [k for k in members if not (points[:, k] & ~target).any()]
    for k in inside:
        if points[first, k]:
            others = _cover(target & ~points[:, k], points, inside)
            if others is not None:
                return [k, *others]
    return None


def _layer_like(layer: Any, kernel: Array, bias: Array, start: Array, dtype: str) -> Any:
    """A built layer with the arguments of the ISAN in `layer`, and these weights."""
    given = isan_layer(layer)
    if type(given).__name__ != "ISAN":
        raise ValueError(
            f"A change of basis makes one ISAN layer out of one. Received: {given!r}. Pass an ISAN layer, and its "
            "readout."
        )
    config = {**given.get_config(), "units": len(start), "dtype": dtype, "stateful": False}
    made = type(given).from_config(config)
    made.build((None, None))
    for variable, value in zip(
        (made.cell.recurrent_kernel, made.cell.bias, made.cell.initial_state), (kernel, bias, start), strict=True
    ):
        variable.assign(value)
    return made
