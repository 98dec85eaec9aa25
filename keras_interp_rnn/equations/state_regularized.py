r"""State-regularized networks: Wang, Lawrence and Niepert, 2022, sections 4 and 4.3.

("State-Regularized Recurrent Neural Networks to Extract Automata and Explain Predictions".)

States are rows (docs/conventions.md), so the k centroids are the rows of S (k, n), the transpose of the paper's. A step
is the recurrent component, any cell, and the stochastic component (`equations.transitions`),

    eq. 13   u_t = f(h_{t-1}, c_{t-1}, x_t)
    eq. 15   alpha = softmax(u_t S^T / tau)                                  the transition probabilities
             h_t = z S                                                       z by the transition

With a strength lambda below 1 the state keeps a part of the cell's own, h_t = lambda (z S) + (1 - lambda) u_t. This is
an extension of the paper: it interpolates between a plain and a regularized network.

If z has the gradient of alpha,

    dh_t/du_t = lambda / tau S^T (D_alpha - alpha^T alpha) S + (1 - lambda) I,

where S^T (D_alpha - alpha^T alpha) S is the covariance of the centroids under alpha.
"""

from __future__ import annotations

from dataclasses import dataclass

from keras_interp_rnn._types import ArrayModule, Tensor
from keras_interp_rnn.equations._cell import CellEquations, Drive, LinearStep, States, Step, scaled, times
from keras_interp_rnn.equations.transitions import Transition

OWN = ("u", "alpha", "centroid", "h", "c")
"""Quantities of a regularized step; those of the inner cell with the same name get the prefix `cell_`."""


@dataclass(frozen=True)
class StochasticComponent:
    """The map from u_t to h_t.

    Attributes:
        transition: the map from scores to z.
        centroids: S (k, n). temperature: tau. strength: lambda. noise: the scale of Gumbel noise.
    """

    transition: Transition
    centroids: Tensor
    temperature: Tensor
    strength: Tensor
    noise: Tensor = 1.0

    def scores(self, xp: ArrayModule, u: Tensor) -> Tensor:
        """Dot products u s_i: (..., n) -> (..., k)."""
        return xp.matmul(u, xp.transpose(self.centroids))

    def transition_weights(self, xp: ArrayModule, u: Tensor, noise: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """The probabilities alpha and the weights z, both (..., k)."""
        return self.transition(xp, self.scores(xp, u), self.temperature, noise, self.noise)

    def next_state(
        self, xp: ArrayModule, u: Tensor, alpha: Tensor, weights: Tensor, regularize: Tensor | None = None
    ) -> Tensor:
        """The next state h_t (..., n), exact for the strengths 0 and 1.

        Args:
            regularize: bool (..., 1), False where the step skips the stochastic component; or None.
        """
        mixture = xp.matmul(weights, self.centroids)
        if self.transition.is_hard:
            # The value uses the weights, the gradient alpha: the bracket is exactly zero.
            soft = xp.matmul(alpha, self.centroids)
            mixture = xp.stop_gradient(mixture) + (soft - xp.stop_gradient(soft))
        state = interpolate(mixture, u, self.strength)
        return state if regularize is None else xp.where(regularize, state, u)

    def pull_back(self, xp: ArrayModule, u: Tensor, product: Tensor) -> Tensor:
        """The product P dh_t/du_t, P (batch, r, n); a hard transition has the mixture's gradient, as in training."""
        alpha, _ = self.transition_weights(xp, u)
        of_scores = self.into_scores(xp, alpha, product)
        return interpolate(times(xp, of_scores, self.centroids), product, self.strength)

    def into_scores(self, xp: ArrayModule, alpha: Tensor, product: Tensor) -> Tensor:
        """P, by the mixture (batch, r, n) or (batch, n), times the mixture's derivative by the scores (..., k)."""
        weighted = scaled(times(xp, product, xp.transpose(self.centroids)), alpha)
        return (weighted - scaled(xp.sum(weighted, axis=-1, keepdims=True), alpha)) / self.temperature


def interpolate(mixture: Tensor, state: Tensor, strength: Tensor) -> Tensor:
    """The state lambda m + (1 - lambda) u, from the mixture m and the cell's state u, both (..., n)."""
    return strength * mixture + (1 - strength) * state


@dataclass(frozen=True)
class StateRegularized(CellEquations):
    """A cell with the stochastic component on its first state; a memory is not regularized."""

    cell: CellEquations
    component: StochasticComponent

    @property
    def has_derivative(self) -> bool:
        return self.cell.has_derivative and self.component.transition.is_deterministic

    def drive(self, xp: ArrayModule, inputs: Tensor) -> Drive:
        return self.cell.drive(xp, inputs)

    def step(self, xp: ArrayModule, states: States, drive: Drive) -> Step:
        """A step without noise."""
        (u, *others), inner = self.cell.step(xp, states, drive)
        alpha, weights = self.component.transition_weights(xp, u)
        quantities = {f"cell_{name}" if name in OWN else name: x for name, x in inner.items()}
        quantities.update(u=u, alpha=alpha, centroid=xp.argmax(weights, axis=-1))
        return Step((self.component.next_state(xp, u, alpha, weights), *others), quantities)

    def linearization(self, xp: ArrayModule, states: States, drive: Drive) -> LinearStep:
        inner = self.cell.linearization(xp, states, drive)
        u = self.cell.step(xp, states, drive).states[0]
        units = u.shape[-1]

        def through(product: Tensor) -> Tensor:
            first = self.component.pull_back(xp, u, product[..., :units])
            return first if len(states) == 1 else xp.concatenate([first, product[..., units:]], axis=-1)

        return LinearStep(lambda product: inner.before(through(product)), lambda product: inner.input(through(product)))
