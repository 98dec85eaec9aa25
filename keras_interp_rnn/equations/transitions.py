r"""Transitions of state-regularized networks to the next state: section 4 of Wang, Lawrence and Niepert, 2022.

From the scores u_t S^T (k centroids) a transition computes the transition probabilities alpha and the weights z of the
centroids in the next state z S:

    eq. 15   alpha = softmax(u_t S^T / tau)
    eq. 16   sample        j ~ alpha,                     z = one-hot(j)
    eq. 17   soft_argmax   z = one-hot(argmax alpha)      gradient: as of z = alpha
    eq. 19   gumbel        alpha = softmax((u_t S^T + g) / tau), g_i = -log(-log(uniform)),     z = alpha
    eq. 20   mixture       z = alpha

(Eq. 19 prints the exponent as exp(u s_i + g_i) / tau; the temperature divides the whole argument.)

A transition is an object; its name stands for the object with default settings. A subclass that defines a name can be
used by that name.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from keras_interp_rnn._checks import choice
from keras_interp_rnn._types import ArrayModule, Tensor

NAMES: dict[str, type[Transition]] = {}
"""Transitions by name, in the order of their definition."""


class Transition:
    """Base class of the maps from scores to alpha and z.

    Attributes:
        name: by which it is found.
        is_hard: whether the state is the most probable centroid, with the gradient of the mixture.
        passes_gradient: whether a gradient passes from z to alpha, as if z were alpha.
    """

    name: ClassVar[str] = ""
    is_hard = False
    passes_gradient = True

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        if vars(cls).get("name"):  # an inherited name belongs to the base class
            NAMES[cls.name] = cls

    def takes_noise(self, training: bool) -> bool:
        """Whether a step needs Gumbel noise (batch, k)."""
        return False

    @property
    def is_deterministic(self) -> bool:
        """Whether the result is always the same outside training."""
        return not self.takes_noise(training=False)

    def __call__(
        self, xp: ArrayModule, scores: Tensor, temperature: Tensor, noise: Tensor | None = None, scale: Tensor = 1.0
    ) -> tuple[Tensor, Tensor]:
        """Alpha and z, both (..., k).

        Args:
            xp: array namespace. scores: (..., k). temperature: tau.
            noise: Gumbel noise (..., k), or None. scale: factor of the noise.
        """
        alpha = probabilities(xp, scores, temperature)
        return alpha, most_probable(xp, alpha) if self.is_hard else alpha

    def get_config(self) -> dict[str, Any]:
        """The name and the arguments of the constructor."""
        return {"name": self.name}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Transition) and self.get_config() == other.get_config()

    def __hash__(self) -> int:
        return hash(repr(self))

    def __repr__(self) -> str:
        settings = {k: v for k, v in self.get_config().items() if k != "name"}
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in settings.items())})"


class Mixture(Transition):
    """Eq. 20: the state is the mean of the centroids under alpha."""

    name = "mixture"


class SoftArgmax(Transition):
    """Eq. 17: the most probable centroid, with the gradient of the mixture."""

    name = "soft_argmax"
    is_hard = True


class Gumbel(Transition):
    """Eq. 19: a mixture under scores with Gumbel noise, drawn in training.

    Args:
        straight_through: the most probable centroid alone, with the gradient of the mixture.
        sample_at_inference: draws noise outside training too.
    """

    name = "gumbel"

    def __init__(self, straight_through: bool = False, sample_at_inference: bool = False) -> None:
        self.straight_through = self.is_hard = bool(straight_through)
        self.sample_at_inference = bool(sample_at_inference)

    def takes_noise(self, training: bool) -> bool:
        return training or self.sample_at_inference

    def __call__(
        self, xp: ArrayModule, scores: Tensor, temperature: Tensor, noise: Tensor | None = None, scale: Tensor = 1.0
    ) -> tuple[Tensor, Tensor]:
        return super().__call__(xp, scores if noise is None else scores + scale * noise, temperature)

    def get_config(self) -> dict[str, Any]:
        settings = {"straight_through": self.straight_through, "sample_at_inference": self.sample_at_inference}
        return {**super().get_config(), **settings}


class Sample(Transition):
    """Eq. 16: a centroid drawn from alpha, always. No gradient passes from the state to alpha."""

    name = "sample"
    passes_gradient = False

    def takes_noise(self, training: bool) -> bool:
        return True

    def __call__(
        self, xp: ArrayModule, scores: Tensor, temperature: Tensor, noise: Tensor | None = None, scale: Tensor = 1.0
    ) -> tuple[Tensor, Tensor]:
        """As `Transition`: the largest of log alpha + g is a draw from alpha (the Gumbel-max trick)."""
        alpha = probabilities(xp, scores, temperature)
        return alpha, most_probable(xp, scores / temperature + noise, alpha.dtype)


def probabilities(xp: ArrayModule, scores: Tensor, temperature: Tensor) -> Tensor:
    """Eq. 15, and eq. 19 for scores with Gumbel noise: (..., k) -> (..., k), rows that sum to 1."""
    if scores.shape[-1] == 1:  # Keras's softmax warns about a single entry
        return xp.ones_like(scores)
    return xp.softmax(scores / temperature, axis=-1)


def most_probable(xp: ArrayModule, scores: Tensor, dtype: object = None) -> Tensor:
    """One-hot vectors of the largest entries: (..., k) -> (..., k)."""
    return xp.one_hot(xp.argmax(scores, axis=-1), scores.shape[-1], dtype=dtype or scores.dtype)


def gumbel(xp: ArrayModule, uniform: Tensor) -> Tensor:
    """Noise of the Gumbel(0, 1) distribution from uniform numbers in (0, 1)."""
    return -xp.log(-xp.log(uniform))


def get(identifier: Transition | Mapping[str, object] | str) -> Transition:
    """A transition, given as an object, a name or a configuration; ValueError for anything else."""
    if isinstance(identifier, Transition):
        return identifier
    settings = dict(identifier) if isinstance(identifier, Mapping) else {"name": identifier}
    remedy = "Before you use the name of your own transition, import the module that defines it."
    return NAMES[choice("transition", settings.pop("name", None), NAMES, remedy)](**settings)
