"""Linear recurrent units: `LRUCell` and `LRU`.

Reference: Orvieto, Smith, Gu, Fernando, Gulcehre, Pascanu and De, "Resurrecting Recurrent Neural Networks for Long
Sequences", ICML 2023, arXiv:2303.06349.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import keras
from keras import initializers, ops

from keras_interp_rnn import equations
from keras_interp_rnn._checks import integer, invalid, is_number, positive
from keras_interp_rnn._types import Tensor
from keras_interp_rnn.layers._linear import DiagonalRNN, LinearCell
from keras_interp_rnn.layers._weights import reseeded

MARGIN = 1e-4
"""Distance of a uniform number in (0, 1) from both ends, where the logarithms of logarithms diverge."""


@keras.saving.register_keras_serializable(package="keras_interp_rnn")
class LRUCell(LinearCell):
    r"""One step of a linear recurrent unit, $h_t = \lambda \odot h_{t-1} + e^\gamma \odot (x_t B)$, of complex units.

    Here $\lambda = \exp(-e^\nu + i e^\theta)$. The output is $y_t = \mathrm{Re}(h_t C)$, plus $D \odot x_t$ if the
    inputs have $n$ features. States are rows, stored as $[\mathrm{Re}\,h, \mathrm{Im}\,h]$.

    Args:
        units: int > 0, size $n$ of the output.
        state_dim: int > 0, number $N$ of complex units; None for $n$.
        min_radius, max_radius: bounds of $|\lambda|$, drawn uniformly on the ring.
        max_phase: bound of the phase of $\lambda$, drawn uniformly.
        kernel_initializer: for Re B and Im B; None for normal numbers of variance 1 / (2 features).
        output_initializer: for Re C and Im C; None for normal numbers of variance 1 / N.
        skip_initializer: for D; None for normal numbers of variance 1.
        decay_initializer, phase_initializer: for $\nu$ and $\theta$; None for the ring.
        gain_initializer: for $\gamma$; None for $\log \sqrt{1 - |\lambda|^2}$, with which white noise leaves a state of
            the noise's variance.

    Call arguments:
        states: [(batch, 2 N)].

    Returns: (output (batch, n), [state]).
    Weights: kernel $[\mathrm{Re}\,B, \mathrm{Im}\,B]$ (features, 2 N); output_kernel $[\mathrm{Re}\,C; \mathrm{Im}\,C]$
        (2 N, n); decay $\nu$, phase $\theta$, gain $\gamma$ (N,); skip D (n,), if the inputs have n features.
    Reference: Orvieto et al., ICML 2023, arXiv:2303.06349, sections 3.3 and 3.4, appendix A.

    Example:

    >>> from keras_interp_rnn import layers
    >>> cell = layers.LRUCell(4, state_dim=6)
    >>> output, [state] = cell(np.ones((2, 3)), cell.get_initial_state(batch_size=2))
    >>> tuple(output.shape), tuple(state.shape)
    ((2, 4), (2, 12))
    """

    weight_initializers = dict.fromkeys(("kernel", "output", "skip", "decay", "phase", "gain"))

    kernel_initializer: keras.initializers.Initializer
    output_initializer: keras.initializers.Initializer
    skip_initializer: keras.initializers.Initializer
    decay_initializer: keras.initializers.Initializer
    phase_initializer: keras.initializers.Initializer
    gain_initializer: keras.initializers.Initializer

    def __init__(
        self,
        units: int,
        state_dim: int | None = None,
        min_radius: float = 0.0,
        max_radius: float = 1.0,
        max_phase: float = 2 * math.pi,
        **kwargs: object,
    ) -> None:
        super().__init__(units, **kwargs)
        self.state_dim = self.units if state_dim is None else integer("state_dim", state_dim)
        self.state_size = 2 * self.state_dim
        if not all(map(is_number, (min_radius, max_radius))) or not 0 <= min_radius < max_radius <= 1:
            raise ValueError(
                "`min_radius` and `max_radius` must be numbers with 0 <= min_radius < max_radius <= 1. Received: "
                f"min_radius={min_radius!r}, max_radius={max_radius!r}."
            )
        if positive("max_phase", max_phase) > 2 * math.pi:
            raise invalid("max_phase", "at most 2 pi", max_phase)
        self.min_radius, self.max_radius, self.max_phase = min_radius, max_radius, max_phase
        self._uniform = initializers.RandomUniform(MARGIN, 1 - MARGIN)

    def make_weights(self, shape: tuple[int | None, ...]) -> None:
        n, states = self.units, self.state_dim
        normal = "untruncated_normal"
        input_draw = self.kernel_initializer or initializers.VarianceScaling(0.5, "fan_in", normal)
        output_draw = self.output_initializer or initializers.VarianceScaling(2.0, "fan_in", normal)
        self.kernel = self.weight("kernel", "kernel", (shape[1], 2 * states), initializer=input_draw)
        self.output_kernel = self.weight("output", "output_kernel", (2 * states, n), initializer=output_draw)
        for name, drawn in (("decay", self._decay), ("phase", self._phase), ("gain", self._gain)):
            initializer = getattr(self, f"{name}_initializer") or drawn
            setattr(self, name, self.weight(name, name, (states,), initializer=initializer))
        skip_draw = self.skip_initializer or initializers.RandomNormal(stddev=1.0)
        self.skip = self.weight("skip", "skip", (n,), initializer=skip_draw) if shape[1] == n else None

    def _decay(self, shape: tuple[int, ...], dtype: object = None) -> Tensor:
        low, high = self.min_radius**2, self.max_radius**2
        return ops.log(-0.5 * ops.log(low + self._uniform(shape, dtype=dtype) * (high - low)))

    def _phase(self, shape: tuple[int, ...], dtype: object = None) -> Tensor:
        return ops.log(self.max_phase * reseeded(self._uniform, 1)(shape, dtype=dtype))

    def _gain(self, shape: tuple[int, ...], dtype: object = None) -> Tensor:
        """The gains of the decays, which the initializer draws again as the same numbers."""
        decay = (self.decay_initializer or self._decay)(shape, dtype=dtype)
        return 0.5 * ops.log(-ops.expm1(-2 * ops.exp(decay)))

    def equations(self, read: Callable[[keras.Variable], Tensor]) -> equations.LRU:
        skip = None if self.skip is None else read(self.skip)
        weights = (self.decay, self.phase, self.gain)
        return equations.LRU(read(self.kernel), read(self.output_kernel), skip, *map(read, weights))


@keras.saving.register_keras_serializable(package="keras_interp_rnn")
class LRU(DiagonalRNN):
    r"""Linear recurrent unit: complex units, each of which rotates and decays at its own constant rate.

    $$\lambda = \exp(-e^\nu + i e^\theta), \qquad h_t = \lambda \odot h_{t-1} + e^\gamma \odot (x_t B), \qquad
      y_t = \mathrm{Re}(h_t C) + D \odot x_t,$$

    where the last term exists only if the inputs have $n$ features. The output is a linear function of all inputs so
    far: put a nonlinear layer after it.

    Call arguments:
        sequences: (batch, time, features).
        initial_state: (batch, 2 N).

    Cost: O(T N (features + n)) time, O(T N) memory per sequence; 2 N (features + n) + 3 N weights, plus n for D.
    Example:

    >>> layer = LRU(64, state_dim=32, return_sequences=True)
    >>> tuple(layer(np.ones((8, 20, 5))).shape)
    (8, 20, 64)
    """

    cell_class = LRUCell
    cell_name = "lru_cell"
    outputs_are_states = False
