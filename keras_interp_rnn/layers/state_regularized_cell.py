"""`StateRegularizedCell`: state regularization of any cell.

Reference: Wang, Lawrence and Niepert, "State-Regularized Recurrent Neural Networks to Extract Automata and Explain
Predictions", IEEE TPAMI, 2022, sections 4 and 4.4.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import keras
import numpy as np
from keras import initializers, ops, random

from keras_interp_rnn import equations
from keras_interp_rnn._cells import equations_of, run_cell
from keras_interp_rnn._checks import integer, non_negative, positive, within
from keras_interp_rnn._types import KerasCell, Tensor
from keras_interp_rnn.equations import transitions
from keras_interp_rnn.layers._cell import Cell, check_inputs

NORMAL = {
    "float16": (2.0**-14, 65504.0),
    "bfloat16": (2.0**-126, (2 - 2.0**-7) * 2.0**127),
    "float32": (2.0**-126, (2 - 2.0**-23) * 2.0**127),
    "float64": (2.0**-1022, (2 - 2.0**-52) * 2.0**1023),
}
"""The smallest and the largest normal number of each dtype of variables; NumPy has no bfloat16."""


@keras.saving.register_keras_serializable(package="keras_interp_rnn")
class StateRegularizedCell(Cell):
    r"""A cell whose hidden state moves among $k$ learned centroids $s_1, \dots, s_k$.

    The inner cell computes $u_t = f(h_{t-1}, c_{t-1}, x_t)$, which gives the transition probabilities

    $$\alpha_i = \frac{\exp(u_t \cdot s_i / \tau)}{\sum_j \exp(u_t \cdot s_j / \tau)}$$

    and the next state, by one of four transitions:

    - "mixture" (eq. 20): $h_t = \sum_i \alpha_i s_i$;
    - "soft_argmax" (eq. 17): $h_t = s_j$ for the most probable $j$, with the gradient of the mixture;
    - "gumbel" (eq. 19): a mixture with $\alpha = \mathrm{softmax}((u_t \cdot s_i + g_i) / \tau)$, $g_i$ drawn from
      Gumbel(0, 1) in training;
    - "sample" (eq. 16): $h_t = s_j$ with $j$ drawn from $\alpha$, in training and in inference. No gradient passes
      from $h_t$ to $\alpha$.

    A memory (an LSTM's c) is not regularized.

    The configuration keeps the initial temperature, strength and noise; the weights hold their current values.

    Use the cell in `StateRegularizedRNN`. On JAX a bare `keras.layers.RNN` uses one draw of noise for all steps, and on
    every backend it raises an error for an inner cell with dropout.

    The Jacobian of a mixture is $\partial h_t / \partial u_t = \mathrm{Cov}_\alpha(s) / \tau$. Before training, with
    centroids uniform in [-0.5, 0.5] and scores near 0, it is about $1 / (12 \tau)$ times the identity. At the paper's
    $\tau = 1$ each step therefore keeps only a twelfth of the gradient that passes through the centroids. The memory
    of an LSTM bypasses them.

    Args:
        cell: any Keras cell whose first state is its hidden state, a vector: SimpleRNNCell, GRUCell, LSTMCell,
            PeepholeLSTMCell, MinimalRNNCell, CFNCell, ISANCell, or your own.
        num_centroids: int > 0, $k$.
        temperature: $\tau > 0$, a normal number of the variable dtype.
        transition: "mixture", "soft_argmax", "gumbel" or "sample".
        strength: $\lambda$ in [0, 1]: the state is $\lambda$ times the regularized state plus $1 - \lambda$ times
            $u_t$; 0 gives the plain cell.
        learn_temperature: whether to train $\log \tau$, so that $\tau$ stays positive.
        straight_through: for "gumbel": whether $h_t$ is the most probable centroid alone, with the gradient of the
            mixture.
        sample_at_inference: for "gumbel": whether to draw noise outside training too, to estimate uncertainty.
        noise: for "gumbel": factor of $g$, >= 0.
        learn_centroids: whether the centroids are trained.
        seed: of the noise.
        centroids_initializer: default uniform in [-0.5, 0.5].

    Call arguments:
        inputs: (batch, ...), one step, of any shape that the cell reads.
        states: the states of the inner cell, h (batch, n) first.

    Returns: h (batch, n), the new states.
    Weights: centroids (k, n); the scalars temperature or log_temperature, strength and noise; the weights of the inner
        cell. Of the scalars only log_temperature is trained. All are saved with the model, and
        `callbacks.TemperatureSchedule` sets them.
    Precision: scores, probabilities and states keep the variable dtype. Cells of this package read the states
        unrounded; Keras's own cells round them to their compute dtype.
    Raises:
        ValueError: if the cell has no vector state, if k < 1, tau <= 0, strength outside [0, 1], noise < 0, or for an
            unknown transition.
    Example:

    >>> cell = StateRegularizedCell(keras.layers.GRUCell(8), num_centroids=4)
    >>> tuple(keras.layers.RNN(cell)(keras.ops.ones((2, 5, 3))).shape)
    (2, 8)

    Reference: Wang, Lawrence and Niepert, 2022, section 4, eqs. 13 to 20; the strength is this package's own.
    """

    weight_initializers = {"centroids": None}
    centroids_initializer: keras.initializers.Initializer
    cell: Any
    temperature: float | keras.Variable
    log_temperature: float | keras.Variable

    def __init__(
        self,
        cell: KerasCell | Mapping[str, object],
        num_centroids: int,
        temperature: float = 1.0,
        transition: transitions.Transition | Mapping[str, object] | str = "mixture",
        strength: float = 1.0,
        *,
        learn_temperature: bool = False,
        straight_through: bool = False,
        sample_at_inference: bool = False,
        noise: float = 1.0,
        learn_centroids: bool = True,
        seed: int | None = None,
        **kwargs: object,
    ) -> None:
        cell = keras.saving.deserialize_keras_object(cell) if isinstance(cell, Mapping) else cell
        super().__init__(_units(cell), **kwargs)
        self.cell = cell
        self.num_centroids = integer("num_centroids", num_centroids)
        self.transition = _transition(transition, straight_through, sample_at_inference)
        self.learn_temperature = bool(learn_temperature)
        self.learn_centroids = bool(learn_centroids)
        self.centroids_initializer = self.centroids_initializer or initializers.RandomUniform(-0.5, 0.5)
        self.seed = seed
        self.seed_generator = random.SeedGenerator(seed=seed)
        self.initial: dict[str, float] = {}
        self.set_temperature(temperature)
        self.set_strength(strength)
        self.set_noise(noise)
        self.state_size = self.cell.state_size

    def check_shape(self, shape: tuple[int | None, ...], num_time_axes: int = 0, name: str | None = None) -> None:
        check_inputs(self.cell, shape, num_time_axes, name or type(self).__name__)

    def make_weights(self, shape: tuple[int | None, ...]) -> None:
        for name in ("log_temperature" if self.learn_temperature else "temperature", "strength", "noise"):
            start = functools.partial(_constant, getattr(self, name))
            trained = name == "log_temperature"
            scalar = self.add_weight(name=name, shape=(), initializer=start, trainable=trained, autocast=False)
            setattr(self, name, scalar)
        if isinstance(self.cell, keras.layers.Layer) and not self.cell.built:
            self.cell.build(shape)
        shape = (self.num_centroids, self.units)
        self.centroids = self.weight("centroids", "centroids", shape, trainable=self.learn_centroids, autocast=False)

    def next_states(self, inputs: Tensor, states: list[Tensor], training: bool) -> list[Tensor]:
        if training and any(getattr(self.cell, name, 0) for name in ("dropout", "recurrent_dropout")):
            raise ValueError(
                "The inner cell must have no dropout in a bare keras.layers.RNN, which draws no masks for it. "
                f"Received: {self.cell.name} with dropout. Use layers.StateRegularizedRNN(cell)."
            )
        noise = self.draw((ops.shape(states[0])[0],), training)
        return self.step(inputs, states, self.stochastic_component(), noise, training=training)

    def step(
        self,
        inputs: Tensor,
        states: list[Tensor],
        component: equations.StochasticComponent,
        noise: Tensor | None = None,
        regularize: Tensor | None = None,
        training: bool = False,
    ) -> list[Tensor]:
        """The new states after one step, h (batch, n) first.

        Args:
            component: as `self.stochastic_component()`. noise: as `self.draw`, or None.
            regularize: bool (batch or 1, 1), False where the step skips the stochastic component.
        """
        _, new = run_cell(self.cell, inputs, states, training)
        u = ops.cast(new[0], self.variable_dtype)
        alpha, weights = component.transition_weights(ops, u, noise)
        return [component.next_state(ops, u, alpha, weights, regularize), *new[1:]]

    def stochastic_component(
        self, read: Callable[[keras.Variable], Tensor] = ops.copy
    ) -> equations.StochasticComponent:
        """The stochastic component with its current weights, read once for a whole sequence."""
        weights = (self.centroids, self.current_temperature(), self.strength, self.noise)
        return equations.StochasticComponent(self.transition, *(read(x) for x in weights))

    def equations(self, read: Callable[[keras.Variable], Tensor]) -> equations.StateRegularized | None:
        """The equations; None if those of the inner cell are not known."""
        inner = equations_of(self.cell, read)
        return None if inner is None else equations.StateRegularized(inner, self.stochastic_component(read))

    def encode(self, inputs: Tensor) -> Tensor:
        """The inputs as the equations of the inner cell read them."""
        return self.cell.encode(inputs) if hasattr(self.cell, "encode") else inputs

    @property
    def is_hard(self) -> bool:
        """Whether the state is a single centroid, with the gradient of the mixture."""
        return self.transition.is_hard

    def draw(self, shape: tuple[object, ...], training: bool) -> Tensor | None:
        """Gumbel noise (*shape, k); None if the transition takes none."""
        if not self.transition.takes_noise(training):
            return None
        # Above 0, whose noise is minus infinity.
        uniform = random.uniform(
            (*shape, self.num_centroids), minval=1e-30, maxval=1.0, dtype="float32", seed=self.seed_generator
        )
        return ops.cast(transitions.gumbel(ops, ops.minimum(uniform, 1 - 2**-24)), self.variable_dtype)

    def current_temperature(self) -> Tensor:
        r"""$\tau$, a positive scalar."""
        if self.learn_temperature:
            return ops.exp(self.log_temperature)
        return ops.convert_to_tensor(self.temperature, self.variable_dtype)

    def set_temperature(self, value: float) -> float:
        r"""Sets $\tau > 0$, a normal number, and returns it; backends may flush subnormal ones to 0."""
        value = positive("temperature", _plain(value))
        smallest, largest = NORMAL[self.variable_dtype]
        if not smallest <= value <= largest:
            raise ValueError(
                f"`temperature` must be a normal number of {self.variable_dtype}, from {smallest:.3g} to "
                f"{largest:.3g}. Received: temperature={value!r}. For the most probable centroid alone use "
                "transition='soft_argmax'."
            )
        if self.learn_temperature:
            return self._set("temperature", value, "log_temperature", np.log(np.float64(value)))
        return self._set("temperature", value, "temperature", np.float64(value))

    def set_strength(self, value: float) -> float:
        r"""Sets $\lambda$ in [0, 1], and returns it."""
        value = within("strength", _plain(value), 0, 1)
        return self._set("strength", value, "strength", np.float64(value))

    def set_noise(self, value: float) -> float:
        """Sets the scale >= 0 of the Gumbel noise, and returns it."""
        value = non_negative("noise", _plain(value))
        return self._set("noise", value, "noise", np.float64(value))

    def _set(self, argument: str, value: float, weight: str, number: np.float64) -> float:
        """Sets a weight or, before it exists, its initial value and the argument in the configuration."""
        if self.built:
            getattr(self, weight).assign(number)
        else:
            self.initial[argument] = value
            setattr(self, weight, number)
        return value

    def get_initial_state(self, batch_size: int | None = None) -> list[Tensor]:
        """The initial state of the inner cell; zeros if it defines none."""
        if not hasattr(self.cell, "get_initial_state"):
            return super().get_initial_state(batch_size)
        states: list[Tensor] = keras.tree.flatten(self.cell.get_initial_state(batch_size=batch_size))
        return states

    def get_config(self) -> dict[str, Any]:
        transition = self.transition.get_config()
        named = type(self.transition) in WITH_ARGUMENTS
        return {
            **super().get_config(),
            "cell": keras.saving.serialize_keras_object(self.cell),
            "transition": transition["name"] if named else transition,
            **self.initial,
            **{name: named and transition.get(name, False) for name in ("straight_through", "sample_at_inference")},
        }


def _units(cell: object) -> int:
    sizes = getattr(cell, "state_size", None)
    first = sizes[0] if isinstance(sizes, (list, tuple)) and sizes else sizes
    is_other = isinstance(cell, (type, keras.layers.RNN, keras.layers.StackedRNNCells))
    if is_other or not isinstance(cell, KerasCell) or isinstance(first, bool) or not isinstance(first, int):
        raise ValueError(
            "`cell` must be a Keras cell whose first state is its hidden state, a vector (batch, n). Received: "
            f"cell={cell!r} with state_size={sizes!r}. Pass a cell, not a layer; in a stack, regularize each cell by "
            "itself: StackedRNNCells([StateRegularizedCell(...), ...])."
        )
    return first


WITH_ARGUMENTS = (transitions.Mixture, transitions.SoftArgmax, transitions.Gumbel, transitions.Sample)
"""Transitions whose settings are arguments of the cell."""


def _transition(
    identifier: transitions.Transition | Mapping[str, object] | str, straight_through: bool, sample_at_inference: bool
) -> transitions.Transition:
    transition = transitions.get(identifier)
    settings = {"straight_through": straight_through, "sample_at_inference": sample_at_inference}
    for name, value in settings.items():
        if value and type(transition) is not transitions.Gumbel:
            raise ValueError(
                f"`transition` must be 'gumbel' with {name}=True. Received: transition={transition.name!r}. "
                "'soft_argmax' takes the most probable centroid, 'sample' draws one."
            )
    return transitions.Gumbel(**settings) if any(settings.values()) else transition


def _constant(value: np.float64, shape: tuple[int, ...], dtype: object = None) -> Tensor:
    """An initializer that keeps float64, which Keras's Constant rounds to float32."""
    return ops.convert_to_tensor(value, dtype=dtype)


def _plain(value: object) -> Any:
    """A scalar tensor or array as a number of Python; anything else unchanged."""
    is_scalar = getattr(value, "shape", None) == () and not isinstance(value, np.generic)
    return ops.convert_to_numpy(value).item() if is_scalar else value
