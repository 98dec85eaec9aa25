r"""Bounds of the outputs of a weighted automaton, on words up to a length and on all words.

The lemma (docs/notes/weighted-automata.md). Let s_w be the states of an affine form with readout R and offset c, let
any M_x, m_x and X be given, and p = s_0, u_0 = 0. With u_{wx} = u_w M_x + m_x and s_w = p + u_w X + delta_w,

    delta_{wx} = delta_w W_x + u_w E_x + e_x,     E_x = X W_x - M_x X,     e_x = p W_x + b_x - p - m_x X,
    f(w)       = (p R + c) + u_w X R + delta_w R.

Let a_j and d_j bound the norms of M_w and W_w over words w of j symbols, and eta and epsilon those of E_x and e_x. Then
for words of at most t symbols

    |u_w| <= U_t = |m| sum_{j<t} a_j,     |delta_w| <= D_t = sum_{j<t} (eta U_{t-1-j} + epsilon) d_j,
    |f_j(w)| <= |p R_j + c_j| + U_t |X R_j| + D_t |R_j|.

As a_{i+j} <= a_i a_j, U_t and the sum of the d_j are finite for all words if some a_k < 1 and d_k < 1, and then so is
D_t <= (eta U_t + epsilon) sum_j d_j. All this holds for any X and M. They are a proposal: the space that the states
reach, and the maps of the symbols in it. delta is measured in the norm |delta L| of a matrix L in which the W_x
contract, if there is one. Every product is widened by a bound of its rounding.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy import optimize

from keras_interp_rnn._types import Array
from keras_interp_rnn.analysis.weighted.forms import AffineForm
from keras_interp_rnn.analysis.weighted.spaces import forward_space

EPSILON = float(np.finfo(np.float64).eps)

LONGEST = 10_000
"""Length up to which bounds are followed."""

CUTS = (1e-13, 1e-11, 1e-9, 1e-7, 1e-5, 1e-3)
"""Relative singular values below which directions count as not reached: each gives a proposal."""

POSITIVE = 1 + 1e-9
"""Bound of the rounding of sums and products of millions of positive numbers."""

PRODUCTS = 3e7
"""Maximum number of multiplications for the norms of words."""

PERIOD = 32
"""Longest words whose norms are computed; words over a single symbol are few."""

ITERATIONS = 2e10
"""Approximate maximum number of multiplications in the iteration for a norm."""

SEARCH = 4e10
"""Approximate maximum number of multiplications in the search for a norm."""

DOUBLINGS, STEPS = (0, 2, 4, 6), 40
"""The search approximates the largest norm by powers p = 2^d, with at most 40 steps for each d."""

SPREAD = 1e-4
"""Weight of the mean squares of L and of its inverse in the search, relative to the logarithm of the norm."""

CONTRACTS = 0.98
"""Spectral norm of the matrices below which no better norm is searched."""


@dataclass(frozen=True)
class Bound:
    """|f_j(w)| for all j is at most `after(t)` for words of at most t symbols, and at most `always` for all words.

    Attributes:
        start: max |p R_j + c_j|. reach: max |X R_j|. error: max |R_j| in the norm of delta.
        drift: max |m_x|. eta, epsilon: as above.
        inside, outside: a_j and d_j for j = 0, ..., k.
    """

    start: float
    reach: float
    error: float
    drift: float
    eta: float
    epsilon: float
    inside: tuple[float, ...]
    outside: tuple[float, ...]

    @property
    def residual(self) -> float:
        """Deviation of the proposal from the automaton: the largest of |p R + c|, |X R|, |E| and |e|."""
        return max(self.start, self.reach, self.eta, self.epsilon)

    @property
    def always(self) -> float:
        """The bound for all words; infinite if no product of few matrices contracts."""
        return self._apart(_sum(self.inside), _sum(self.outside))

    def after(self, length: int) -> float:
        """The bound for words of at most this length."""
        if length > LONGEST:
            return self._apart(_sum(self.inside, length), _sum(self.outside, length))
        with np.errstate(all="ignore"):  # an overflow makes the bound infinite
            reached = np.zeros(length + 1)
            if self.drift:
                reached[1:] = self.drift * np.cumsum(_each(self.inside, length))
            off = self.eta * reached[:length][::-1] + self.epsilon
            missed = float(off @ _each(self.outside, length)) if off.any() else 0.0
        return self._value(float(reached[-1]), missed)

    def longest(self, tolerance: float, up_to: int = LONGEST) -> tuple[int, float]:
        """The largest t, at most `up_to`, whose bound is at most the tolerance, and the bound; else (-1, infinity)."""
        low, high = -1, up_to + 1
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.after(middle) <= tolerance else (low, middle)
        return low, self.after(low) if low >= 0 else math.inf

    def _apart(self, inside: float, outside: float) -> float:
        """The bound by the sums of the a_j and of the d_j."""
        reached = self.drift * inside if self.drift else 0.0
        off = self.eta * reached + self.epsilon
        return self._value(reached, off * outside if off else 0.0)

    def _value(self, reached: float, missed: float) -> float:
        """The bound by U and D."""
        parts = (self.start, reached * self.reach if self.reach else 0.0, missed * self.error if missed else 0.0)
        value = sum(parts) * POSITIVE
        return value if not math.isnan(value) else math.inf


def _each(norms: tuple[float, ...], count: int) -> Array:
    """The first `count` of a_0, a_1, ..., by a_{qk + r} <= a_k^q a_r."""
    *first, last = norms
    powers = np.power(last, np.arange(count // len(first) + 1, dtype=np.float64))
    return np.asarray(np.outer(powers, first).ravel()[:count], np.float64)


def _sum(norms: tuple[float, ...], count: float = math.inf) -> float:
    """A bound of the sum of the first `count` of a_0, a_1, ..., by a_{qk + r} <= a_k^q a_r."""
    *first, last = norms
    period = len(first)
    once = sum(first)
    if math.isinf(count):
        return once / (1 - last) * POSITIVE if last < 1 else math.inf
    times, rest = divmod(int(count), period)
    try:
        # For a_k near 1 the geometric sum cancels.
        powers = times * max(1.0, last) ** times if abs(last - 1) < 1e-6 else (1 - last**times) / (1 - last)
        return (once * powers + last**times * sum(first[:rest])) * POSITIVE
    except OverflowError:
        return math.inf


def bounds_of(form: AffineForm, first: int = 0, loose: float = 0.0, *, search: bool = True) -> Iterator[Bound]:
    """Bounds by the spaces that the states reach. Each holds; which is the smallest depends on the length.

    Args:
        first: number of units of the first of two networks side by side, between which there are no weights.
        loose: bound of the rounding of each entry of the readout and the offset.
        search: whether a norm is searched in which the symbols contract.
    """
    parts = [part for part in (slice(0, first), slice(first, form.units)) if part.start < part.stop]
    identity = np.eye(form.units)
    yield from _bounds_in(form, identity, loose)
    # The norm by iteration does not depend on the coordinates of the network; the norm by descent contracts more.
    for found in (averaged_norm, contracting_norm) if search else ():
        norm = identity.copy()
        for part in parts:
            norm[part, part] = found(form.kernel[:, part, part])
        if (norm != identity).any():
            yield from _bounds_in(form, norm, loose)


def _bounds_in(form: AffineForm, norm: Array, loose: float) -> Iterator[Bound]:
    kernel, size = form.kernel, form.units
    # The rounding error of a sum of up to four products of this number of factors, relative to that of absolute values.
    gamma = 1.01 * (size + 8) * EPSILON / 2
    smallest = float(np.linalg.svd(norm, compute_uv=False).min() - gamma * np.linalg.norm(norm))
    if not smallest > 0:
        return
    # In the coordinates s L, L^{-1} W L = inside + L^{-1} (W L - L inside), so that the error of `inside` is known.
    inside: Array = np.asarray(np.linalg.solve(norm, kernel @ norm), np.float64)
    of_kernel, of_bias = form.rounding or (np.zeros((1, 1, 1)), np.zeros((1, 1)))
    computed = np.broadcast_to(of_kernel, kernel.shape)
    off = float(_size(((kernel, norm), (-norm, inside)), None, gamma).max() / smallest)
    off += float(np.linalg.norm(computed @ np.abs(norm), axis=(1, 2)).max() / smallest * POSITIVE)
    outside = word_norms(inside, off)
    moved = form.initial @ kernel + form.bias - form.initial
    start = np.abs(form.initial @ form.readout + form.offset)
    start += gamma * (np.abs(form.initial) @ np.abs(form.readout) + np.abs(form.offset))
    start += loose * (np.abs(form.initial).sum() + 1) * POSITIVE
    seen = np.linalg.solve(norm, form.readout)
    missed = np.linalg.norm(np.abs(norm @ seen - form.readout) + gamma * np.abs(norm) @ np.abs(seen), axis=0)
    missed += gamma * np.linalg.norm(form.readout) + loose * math.sqrt(size)
    error = (np.linalg.norm(seen, axis=0) + missed / smallest) * POSITIVE
    smallest_value = 0.0
    for cut in CUTS:
        if smallest_value > cut:  # the space would be the same
            continue
        basis, smallest_value, _ = forward_space(moved @ norm, inside, cut)
        reached, drift = basis @ inside @ basis.T, moved @ norm @ basis.T
        space = np.asarray(np.linalg.solve(norm.T, basis.T).T, np.float64)
        each, point = np.ones((len(kernel), 1, 1)), form.initial[None, None]
        eta = _size(((space[None], kernel), (-reached, space[None])), norm, gamma)
        eta += np.linalg.norm(np.abs(space) @ computed @ np.abs(norm), axis=(1, 2)) * POSITIVE
        one_step = ((point, kernel), (each, form.bias[:, None]), (-each, point), (-drift[:, None], space[None]))
        epsilon = _size(one_step, norm, gamma)
        moves = np.abs(form.initial) @ computed + of_bias
        epsilon += np.linalg.norm(moves @ np.abs(norm), axis=1) * POSITIVE
        reach = np.abs(space @ form.readout) + np.abs(space) @ (gamma * np.abs(form.readout) + loose)
        yield Bound(
            float(start.max(initial=0.0)),
            float(np.linalg.norm(reach, axis=0).max(initial=0.0) * POSITIVE),
            float(error.max(initial=0.0)),
            float(np.linalg.norm(drift, axis=1).max(initial=0.0) * POSITIVE),
            float(eta.max(initial=0.0)),
            float(epsilon.max(initial=0.0)),
            word_norms(reached, 0.0),
            outside,
        )


def _size(products: tuple[tuple[Array, Array], ...], norm: Array | None, gamma: float) -> Array:
    """|sum of products L| for each symbol, in the Frobenius norm, widened by the rounding of the products."""
    total = sum(a @ b for a, b in products)
    off = gamma * sum(np.abs(a) @ np.abs(b) for a, b in products)
    if norm is not None:
        total, off = total @ norm, off @ np.abs(norm) + gamma * np.abs(total) @ np.abs(norm)
    return np.asarray(np.linalg.norm(np.abs(total) + off, axis=(-2, -1)) * POSITIVE)


def word_norms(matrices: Array, off: float) -> tuple[float, ...]:
    """Upper bounds of the spectral norms of the products of 0, 1, ..., k matrices, k by what `PRODUCTS` allows.

    Args:
        off: bound of the norm of the error of each matrix.
    """
    symbols, size = matrices.shape[:2]
    if not size:
        return 1.0, 0.0
    largest = _spectral(matrices)
    # Each further factor adds its error and the rounding of a product.
    share = off + size * 4 * (size + 4) * EPSILON * largest
    norms, products = [1.0, largest + off], matrices
    while len(products) * symbols * size**3 <= PRODUCTS and len(norms) <= PERIOD and math.isfinite(norms[-1]):
        with np.errstate(all="ignore"):
            products = (products[:, None] @ matrices).reshape(-1, size, size)
            power = len(norms)
            norms.append(_spectral(products) + power * share * float(np.float64(largest + share) ** (power - 1)))
            if not largest or norms[-1] < 0.5:
                break
    # The most useful period: the one that contracts most for its length.
    best = min(range(1, len(norms)), key=lambda k: norms[k] ** (1 / k) if math.isfinite(norms[k]) else math.inf)
    return tuple(norms[: best + 1])


def _spectral(matrices: Array) -> float:
    """An upper bound of the largest spectral norm; matrices that the Frobenius norm rules out are not decomposed."""
    sizes = np.linalg.norm(matrices, axis=(1, 2))
    if not np.isfinite(sizes).all():
        return math.inf
    order, largest, size = np.argsort(-sizes), 0.0, matrices.shape[1]
    first, count = 0, 64
    while first < len(order) and sizes[order[first]] > largest:
        largest = max(largest, float(_norms(matrices[order[first : first + count]]).max()))
        first, count = first + count, 2 * count
    return float(largest + 16 * size * EPSILON * sizes.max())


def _norms(matrices: Array) -> Array:
    """Spectral norms by the eigenvalues of W W^T, several times faster than singular values."""
    squares = np.linalg.eigvalsh(matrices @ np.swapaxes(matrices, 1, 2))[:, -1]
    return np.asarray(np.sqrt(np.maximum(squares, 0)))


def averaged_norm(kernel: Array, max_rounds: int = 12, max_steps: int = 60) -> Array:
    """L of a quadratic norm |h L| in which the symbols contract; the identity if no better norm is found.

    P with sum_x pi_x W_x P W_x^T = lambda P, by iteration, gives |W_x| <= (lambda / pi_x)^(1/2) for every symbol (after
    Blondel and Nesterov, 2005); the weights pi of the symbols that contract least are raised.
    """
    symbols, size = kernel.shape[:2]
    sizes = _norms(kernel)
    best, weights = float(sizes.max()), np.full(symbols, 1 / symbols)
    chosen: Array = np.eye(size)
    steps = int(min(max_steps, max(5, ITERATIONS / (max_rounds * symbols * size**3))))
    rounds = int(min(max_rounds, max(1, ITERATIONS / (steps * symbols * size**3))))
    for _ in range(rounds if best >= CONTRACTS else 0):
        shape: Array = np.eye(size)
        for _ in range(steps):
            shape = np.tensordot(weights, kernel @ shape @ np.swapaxes(kernel, 1, 2), 1) / best**2 + 1e-4 * shape
            shape = (shape + shape.T) / (2 * np.trace(shape) / size)
        if not np.isfinite(shape).all():
            break
        norm: Array = np.asarray(np.linalg.cholesky(shape + 1e-5 * np.eye(size)))
        sizes = _norms(np.asarray(np.linalg.solve(norm, kernel @ norm)))
        if sizes.max() < best:
            best, chosen = float(sizes.max()), norm
        weights = weights * np.maximum(sizes / sizes.max(), 1e-2)
        weights /= weights.sum()
    return chosen


def contracting_norm(kernel: Array) -> Array:
    r"""L of a quadratic norm |h L| in which the symbols contract; the identity if no better norm is found.

    With M_x = L^{-1} W_x L, log (sum_x tr (M_x M_x^T)^p) / 2p tends to the largest log |M_x| as p rises. It is convex
    along the geodesics of the matrices L L^T, so that every minimum is global (docs/notes/weighted-automata.md); each p
    starts from the result of the previous one. The sizes of L and its inverse are added, as rounding grows with them.
    """
    symbols, size = kernel.shape[:2]
    best, left = float(_norms(kernel).max()), SEARCH
    norm: Array = np.eye(size)
    chosen = norm
    for doublings in DOUBLINGS:
        price = (2 * doublings + 4) * symbols * size**3
        steps = int(min(STEPS, left / price))
        if not steps or best < CONTRACTS:
            break
        try:
            with np.errstate(all="ignore"):
                options = {"maxiter": steps, "maxfun": 2 * steps, "maxcor": 20}
                found = optimize.minimize(
                    _contraction, norm.ravel(), (kernel, doublings), "L-BFGS-B", jac=True, options=options
                )
                norm = found.x.reshape(size, size)
                largest = float(_norms(np.asarray(np.linalg.solve(norm, kernel @ norm))).max())
        except np.linalg.LinAlgError:  # a step to a singular matrix, or to numbers beyond float64
            break
        left -= found.nfev * price
        if largest < best:
            best, chosen = largest, norm
    return chosen


def _contraction(entries: Array, kernel: Array, doublings: int) -> tuple[float, Array]:
    """The objective of `contracting_norm` as a function of the entries of L, for p = 2^doublings, and its gradient."""
    size = kernel.shape[1]
    norm = entries.reshape(size, size)
    inverse = np.linalg.inv(norm)
    inside = inverse @ kernel @ norm
    turned = np.swapaxes(inside, 1, 2)
    left, right = inside @ turned, turned @ inside
    scale = np.trace(left, axis1=1, axis2=2).max() or 1.0
    left, right = left / scale, right / scale
    for _ in range(doublings):
        left, right = left @ left, right @ right
    total = np.trace(left, axis1=1, axis2=2).sum() or 1.0
    value = (np.log(total) / 2**doublings + np.log(scale)) / 2
    value += SPREAD / 2 * ((norm**2).sum() + (inverse**2).sum()) / size
    gradient = inverse.T @ (right - left).sum(axis=0) / total + SPREAD * (norm - inverse.T @ inverse @ inverse.T) / size
    return float(value), gradient.ravel()
