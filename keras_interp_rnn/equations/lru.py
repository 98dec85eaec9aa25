r"""Linear recurrent units: Orvieto et al., "Resurrecting Recurrent Neural Networks for Long Sequences", ICML 2023.

arXiv:2303.06349. States are rows (docs/conventions.md), complex, and stored as real arrays, [Re h | Im h] (..., 2 N).
With input kernel B (features, N), output kernel C (N, n) and skip D (n,), if there are n features:

    section 3.3    lambda = exp(-exp(nu) + i exp(theta))
    eq. 7          h_t = lambda * h_{t-1} + exp(gamma) * (x_t B)
    appendix A     y_t = Re(h_t C) + D * x_t
"""

from __future__ import annotations

from dataclasses import dataclass

from keras_interp_rnn._types import ArrayModule, Tensor
from keras_interp_rnn.equations._cell import Drive, LinearStep, States, Step, times
from keras_interp_rnn.equations._diagonal import DiagonalEquations


@dataclass(frozen=True)
class LRU(DiagonalEquations):
    """A cell with the drive (exp(gamma) * (x_t B), D * x_t), without the latter if there is no D.

    Attributes:
        kernel: [Re B | Im B] (features, 2N). output_kernel: [Re C; Im C] (2N, n). skip: D (n,), or None.
        decay, phase, gain: nu, theta, gamma (N,).
    """

    kernel: Tensor
    output_kernel: Tensor
    skip: Tensor | None
    decay: Tensor
    phase: Tensor
    gain: Tensor

    is_complex = True

    def eigenvalues(self, xp: ArrayModule) -> tuple[Tensor, Tensor]:
        """Real and imaginary parts of lambda, (N,)."""
        size, angle = xp.exp(-xp.exp(self.decay)), xp.exp(self.phase)
        return size * xp.cos(angle), size * xp.sin(angle)

    def drive(self, xp: ArrayModule, inputs: Tensor) -> Drive:
        addend = xp.matmul(inputs, self.kernel) * self._gains(xp)
        return (addend,) if self.skip is None else (addend, inputs * self.skip)

    def _gains(self, xp: ArrayModule) -> Tensor:
        gain = xp.exp(self.gain)
        return xp.concatenate([gain, gain], axis=0)

    def feature_drives(self, xp: ArrayModule, inputs: Tensor) -> dict[int, Tensor]:
        parts = {0: inputs[..., None] * (self.kernel * self._gains(xp))}
        if self.skip is not None:
            parts[1] = inputs[..., None] * self.skip * xp.eye(self.skip.shape[0])
        return parts

    def coefficients(self, xp: ArrayModule, drive: Drive) -> tuple[Tensor, Tensor]:
        """The constant decay lambda (2N,), and the addend (..., 2N)."""
        return xp.concatenate(self.eigenvalues(xp), axis=0), drive[0]

    def step(self, xp: ArrayModule, states: States, drive: Drive) -> Step:
        return Step((self._rotated(xp, states[0], 1) + drive[0],), {})

    def _rotated(self, xp: ArrayModule, state: Tensor, direction: int) -> Tensor:
        """The product lambda * h (..., 2N); for direction -1 with the conjugate of lambda."""
        (real, imaginary), (re, im) = self.eigenvalues(xp), xp.split(state, 2, axis=-1)
        imaginary = direction * imaginary
        return xp.concatenate([real * re - imaginary * im, real * im + imaginary * re], axis=-1)

    def output(self, xp: ArrayModule, states: States, drive: Drive) -> Tensor:
        real, imaginary = xp.split(self.output_kernel, 2, axis=0)
        read = xp.matmul(states[0], xp.concatenate([real, -imaginary], axis=0))
        return read if self.skip is None else read + drive[1]

    def linearization(self, xp: ArrayModule, states: States, drive: Drive) -> LinearStep:
        return LinearStep(
            lambda product: self._rotated(xp, product, -1),
            lambda product: self.into_input(xp, product, product, drive),
        )

    def into_input(self, xp: ArrayModule, by_decay: Tensor, by_addend: Tensor, drive: Drive) -> Tensor:
        return times(xp, by_addend, xp.transpose(self.kernel * self._gains(xp)))  # lambda does not depend on the input
