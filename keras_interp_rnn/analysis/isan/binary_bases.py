r"""Coordinates that are 0 or 1 on every state that an input-switched affine network reaches.

Foerster et al., ICML 2017, section 4 and figure 9, who regress labels on the states; here the labels are derived from
the network. A set of states does not suffice for this. Take one count clipped to [0, m] with a delay of one step, p the
count before and c the count after a step, and P_j = [p >= j], C_j = [c >= j]. The states reached are all with
|p - c| <= 1, that is with P_{j+1} <= P_j, C_j and C_{j+1} <= P_j, C_j. Swapping P_j and C_j for a single j maps this
set to itself by a linear map of z. So the set alone, and with equal odds for up and down its frequencies too, cannot
tell 2^m families of one-hot codes apart. Only their use distinguishes them: the outputs, now and later.

Limits: codes must be linear in the state, and outputs must be 0 or 1.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from keras_interp_rnn._arrays import as_array
from keras_interp_rnn._checks import integer, invalid, is_number
from keras_interp_rnn._network import AffineReading
from keras_interp_rnn._results import output_name
from keras_interp_rnn._types import Array
from keras_interp_rnn.affine import AffineMap
from keras_interp_rnn.analysis.isan.bases import Basis
from keras_interp_rnn.analysis.isan.maps import homogeneous_matrices

RANK = 1e-6
"""Singular values of the states below this times the largest count as zero."""


def sparse_basis(
    network: object, states: ArrayLike, *, readout: object = None, tolerance: float = 0.25, max_functions: int = 2000
) -> Basis:
    r"""The basis in which states and matrices are zeros and ones, derived without labels.

    Output j of the network after a further word w is an affine function of its present state,

    $$f_{w,j}(h) = c_j + (h, 1) W'_{w_1} \cdots W'_{w_k} (R_j, 0)^T,$$

    and it is 0 or 1 on every reachable state if the outputs are. There are finitely many such functions on these
    states. The search collects all of them, short words first. The outputs (k = 0) become coordinates, and so does each
    other function that is not a sum of functions with disjoint, smaller supports. Reading a symbol turns $f_w$ into
    $f_{xw}$, again a coordinate or such a sum, so the network consists of zeros and ones in these coordinates.
    The binary coordinates are the linear regression of the values of these functions on the states.

    Args:
        network: a model of an ISAN and a linear Dense head whose outputs are 0 or 1; or an ISAN.
        states: (..., n), states that the network reaches. Functions that agree on all of them count as one.
        readout: for a layer: its Dense head, or a pair (matrix, bias).
        tolerance: maximum distance of a function's value from 0 or 1, < 0.5.
        max_functions: maximum number of functions.

    Returns:
        `Basis`; the name "output 3 after 0 2" means j = 3 and w = (0, 2).

    Raises:
        ValueError: if an output, now or after a word, is farther than `tolerance` from 0 and 1 on some state, or if
            there are more than `max_functions` functions.

    Exactness: deterministic; invertible to float64 rounding, however large `residual`.
    Cost: O(N n + n^2) for each function and symbol, with N states, and a search for exact covers among them.
    Example: a network that delays one bit by a step.

        >>> from keras_interp_rnn import analysis, layers
        >>> layer = layers.ISAN(2, 2, recurrent_constraint=None)
        >>> layer.build((None, None))
        >>> matrix, bias = [[0, 1], [0, 0]], [[0, 0], [1, 0]]
        >>> layer.set_weights([np.array([matrix, matrix]), np.array(bias), np.zeros(2)])
        >>> states = [[0, 0], [1, 0], [0, 1], [1, 1]]
        >>> basis = analysis.sparse_basis(layer, states, readout=([[0], [1]], [0]))
        >>> basis.names[: basis.num_binary]
        ('output 1 (index 0)', 'output 1 (index 0) after 0')

    Reference: Foerster et al., ICML 2017, section 4, who use labels.
    """
    if not is_number(tolerance) or not 0 < tolerance < 0.5:
        raise invalid("tolerance", "a number between 0 and 0.5", tolerance, "Leave it at 0.25.")
    max_functions = integer("max_functions", max_functions)
    head, maps = AffineReading(network).readout(readout), homogeneous_matrices(network)
    states = as_array("states", states).astype(np.float64)
    if not states.ndim or states.shape[-1] + 1 != maps.shape[1]:
        raise ValueError(
            f"`states` must have the shape (..., {maps.shape[1] - 1}), an entry per unit of the layer. Received: "
            f"{states.shape}. Pass the states of this layer."
        )
    if not states.size or not np.isfinite(states).all():
        raise ValueError(
            f"`states` must be finite, and at least one. Received: shape {states.shape}, or NaN or infinity. Pass the "
            "states of this layer on some texts."
        )
    rows = _with_constant(states)
    outputs = head.matrix.shape[1]
    functions = np.concatenate([head.matrix, head.offset[None]]).T
    names = [output_name(None, j, outputs) for j in range(outputs)]
    labels = [_as_binary(rows @ f, name, tolerance) for f, name in zip(functions, names, strict=True)]
    known = {np.packbits(values).tobytes() for values in labels}
    waiting: deque[tuple[int, tuple[int, ...], Array]] = deque((j, (), f) for j, f in enumerate(functions))
    while waiting:
        j, word, function = waiting.popleft()
        for symbol, matrix in enumerate(maps):
            earlier, longer = matrix @ function, (symbol, *word)
            name = f"{names[j]} after {' '.join(map(str, longer))}"
            values = _as_binary(rows @ earlier, name, tolerance)
            code = np.packbits(values).tobytes()
            if code in known or values.all() or not values.any():
                continue
            if len(known) >= max_functions:
                raise ValueError(
                    f"There must be at most max_functions functions of the state. Received: max_functions="
                    f"{max_functions}, and more functions. If the network has few states, pass a larger max_functions."
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
    return _label_basis(states, table[:, chosen], outputs, [names[i] for i in chosen])


def _label_basis(states: Array, labels: NDArray[np.bool_], num_readout: int, names: Sequence[str]) -> Basis:
    r"""The basis in which the coordinates of states (..., n) are their labels (states, binary), by linear regression.

    With states $X = [h, 1]$ as rows and labels B of zeros and ones, $F = X^+ B$ gives the binary coordinates. The
    labels explain the part $E = B^+ X$ of the states. The further coordinates are an orthonormal basis Q of all
    directions in which E vanishes, and $G = [(E F)^+ E; Q^T (1 - F (E F)^+ E)]$ maps back: $[F, Q] G = 1$ for every
    state. `blocks` are exact covers of the states by labels, searched in the order of the labels.
    """
    # Units scaled to one size by powers of two, which are exact: the ranks do not depend on the sizes of units.
    scale = np.ldexp(1.0, np.frexp(np.abs(states).reshape(-1, states.shape[-1]).max(axis=0))[1])
    rows, binary = _with_constant(states / scale), labels.astype(np.float64)
    vectors = np.linalg.lstsq(rows, binary, rcond=RANK)[0]
    residual = float(np.abs(rows @ vectors - binary).max(initial=0.0))
    points = _distinct(labels)
    rank = int(np.linalg.matrix_rank(points.astype(float)))
    explained = np.linalg.lstsq(binary, rows, rcond=None)[0]
    rest = np.linalg.svd(explained, full_matrices=True)[2][rank:].T
    decoded = np.linalg.pinv(explained @ vectors, rcond=1e-9) @ explained
    forth = np.concatenate([vectors, rest], axis=1)
    back = np.concatenate([decoded, rest.T @ (np.eye(len(vectors)) - vectors @ decoded)])
    blocks = _partitions(points)
    relations = np.zeros((len(blocks), forth.shape[1] + 1))
    for relation, block in zip(relations, blocks, strict=True):
        missing = -forth[:, list(block)].sum(axis=1)
        missing[-1] += 1  # the difference of the block's sum from the constant 1, as a functional of [h, 1]
        relation[:-1] = back @ missing
        relation[list(block)] += 1
        relation[-1] = -1
    return Basis(
        AffineMap(forth[:-1] / scale[:, None], forth[-1]),
        AffineMap(back[:, :-1] * scale, np.zeros(len(vectors) - 1)),
        num_readout,
        (*names, *(f"rest {i}" for i in range(rest.shape[1]))),
        binary.shape[1],
        blocks,
        relations,
        points,
        residual,
        float(np.abs(rows @ rest).max(initial=0.0)),
    )


def _with_constant(states: Array) -> Array:
    rows = states.reshape(-1, states.shape[-1])
    return np.concatenate([rows, np.ones((len(rows), 1))], axis=1)


def _distinct(table: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Distinct rows, in an order that depends on them alone."""
    packed = np.packbits(table, axis=1)
    codes = np.ascontiguousarray(packed).view(f"V{packed.shape[1]}")[:, 0]
    return table[np.unique(codes, return_index=True)[1]]


def _as_binary(values: Array, name: str, tolerance: float) -> NDArray[np.bool_]:
    """Which values are 1; raises ValueError unless all are 0 or 1 to within the tolerance."""
    error = float(np.minimum(np.abs(values), np.abs(values - 1)).max(initial=0.0))
    if error > tolerance:
        raise ValueError(
            f"The outputs of the network, now or later, must be 0 or 1 to within {tolerance} on every state. Received: "
            f"{name}, up to {error:.2f} away. Train longer."
        )
    return values > 0.5


def _partitions(points: NDArray[np.bool_]) -> tuple[tuple[int, ...], ...]:
    """Blocks of columns with exactly one 1 in every row; a column belongs to one block at most."""
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
