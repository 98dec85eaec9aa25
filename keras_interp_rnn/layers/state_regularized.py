"""State regularization over any cell: `StateRegularizedCell`, `StateRegularizedRNN`, and one layer for each of Keras's.

Reference: Wang, Lawrence and Niepert, "State-Regularized Recurrent Neural Networks to Extract Automata and Explain
Predictions", IEEE TPAMI, 2022, sections 4 and 4.4.
"""

from __future__ import annotations

import difflib
import inspect
import numbers
from typing import Any, NamedTuple

import keras
import numpy as np
from keras import constraints, initializers, ops, random, regularizers

from keras_interp_rnn import _recurrence
from keras_interp_rnn.equations import state_regularized as equations
from keras_interp_rnn.layers._stepped import SteppedRNN, check_three_axes, run_cell, three_axes
from keras_interp_rnn.layers._whole_sequence import derived_seed, positive_int
from keras_interp_rnn.layers.peephole_lstm import PeepholeLSTMCell

Tensor = Any

NORMAL = {
    "float16": (2.0**-14, 65504.0),
    "bfloat16": (2.0**-126, (2 - 2.0**-7) * 2.0**127),
    "float32": (2.0**-126, (2 - 2.0**-23) * 2.0**127),
    "float64": (2.0**-1022, (2 - 2.0**-52) * 2.0**1023),
}
"""The smallest and the largest normal number of each dtype of variables; NumPy has no bfloat16."""


class Component(NamedTuple):
    """What the stochastic component computes with, as tensors: one reading for a whole sequence."""

    centroids: Tensor  # (k, n)
    temperature: Tensor
    strength: Tensor
    noise: Tensor


@keras.saving.register_keras_serializable(package="keras_interp_rnn")
class StateRegularizedCell(keras.layers.Layer):
    r"""A cell whose hidden state moves among $k$ learned centroids $s_1, \dots, s_k$.

    The cell makes $u_t = f(h_{t-1}, c_{t-1}, x_t)$ of the state before; from it the transition probabilities

    $$\alpha_i = \frac{\exp(u_t \cdot s_i / \tau)}{\sum_j \exp(u_t \cdot s_j / \tau)}$$

    and the next state, by one of four transitions:

    - "mixture" (eq. 20): $h_t = \sum_i \alpha_i s_i$;
    - "soft_argmax" (eq. 17): $h_t = s_j$, $j$ the most probable; the gradient is that of the mixture;
    - "gumbel" (eq. 19): a mixture with $\alpha = \mathrm{softmax}((u_t \cdot s_i + g_i) / \tau)$, $g_i$ drawn from
      Gumbel(0, 1) in training;
    - "sample" (eq. 16): $h_t = s_j$, $j$ drawn from $\alpha$, always. No gradient passes from $h_t$ to $\alpha$.

    A memory (an LSTM's c) stays as it is.

    A mixture hands a change of $u_t$ on by $\partial h_t / \partial u_t = \mathrm{Cov}_\alpha(s) / \tau$: before
    training, with centroids uniform in [-0.5, 0.5] and scores near 0, by about $1 / (12 \tau)$. At the paper's
    $\tau = 1$ every step then leaves a twelfth of the gradient that passes through the centroids. What an LSTM's
    memory holds goes round them.

    Args:
        cell: any Keras cell whose first state is its hidden state, a vector: SimpleRNNCell, GRUCell, LSTMCell,
            PeepholeLSTMCell, MinimalRNNCell, CFNCell, ISANCell, your own.
        num_centroids: int > 0, $k$.
        temperature: $\tau > 0$, a normal number of the variable dtype.
        transition: "mixture", "soft_argmax", "gumbel" or "sample".
        strength: $\lambda$ in [0, 1]: the state is $\lambda$ times that of the centroids and $1 - \lambda$ times
            $u_t$. 0 is the plain cell.
        learn_temperature: trains $\log \tau$, so that $\tau$ stays positive.
        straight_through: of "gumbel": the most probable centroid alone, with the gradient of the mixture.
        sample_at_inference: of "gumbel": draws noise outside training too, for estimates of uncertainty.
        noise: of "gumbel": >= 0, by which $g$ is multiplied.
        centroids_initializer: default uniform in [-0.5, 0.5].
        centroids_regularizer, centroids_constraint: as in Keras.
        learn_centroids: False keeps them as they were drawn.
        seed: of the noise.
        **kwargs: as `keras.layers.Layer`.

    Call arguments:
        inputs: (batch, ...), one step, whatever the cell reads.
        states: the cell's; h, (batch, n), first.

    Returns: h (batch, n), the new states.
    Weights: centroids (k, n); temperature or log_temperature, strength, noise, scalars, not trained except
        log_temperature, saved with the model and set by `callbacks.TemperatureSchedule`; the cell's own.
    Precision: scores, probabilities and states keep the variable dtype.
    Raises: ValueError, if the cell has no vector state, if k < 1, tau <= 0, strength outside [0, 1], noise < 0, or for
        an unknown transition.

    In a bare `keras.layers.RNN` noise is drawn at every step, but on JAX once for all steps, and a cell with dropout
    is refused: `StateRegularizedRNN` does both right on every backend.

    Reference: Wang, Lawrence and Niepert, 2022, eqs. 13 to 20; the strength is this package's own.
    """

    def __init__(
        self,
        cell: Any,
        num_centroids: int,
        temperature: float = 1.0,
        transition: str = "mixture",
        strength: float = 1.0,
        learn_temperature: bool = False,
        straight_through: bool = False,
        sample_at_inference: bool = False,
        noise: float = 1.0,
        centroids_initializer: Any = None,
        centroids_regularizer: Any = None,
        centroids_constraint: Any = None,
        learn_centroids: bool = True,
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        # autocast=False: states of the variable dtype arrive as they are; the cell casts what it reads.
        super().__init__(autocast=False, **kwargs)
        self.cell = cell
        self.units = _units(cell)
        self.num_centroids = positive_int("num_centroids", num_centroids)
        self.transition = _known_transition(transition)
        for name, value in (("straight_through", straight_through), ("sample_at_inference", sample_at_inference)):
            if value and transition != "gumbel":
                raise ValueError(
                    f"{name} belongs to transition='gumbel'. Received: {name}=True, transition={transition!r}. "
                    "soft_argmax takes the most probable centroid, sample draws one."
                )
        self.straight_through = bool(straight_through)
        self.sample_at_inference = bool(sample_at_inference)
        self.learn_temperature = bool(learn_temperature)
        self.learn_centroids = bool(learn_centroids)
        self.initial = {
            "temperature": self._checked_temperature(temperature),
            "strength": _checked("strength", strength),
            "noise": _checked("noise", noise),
        }
        self.centroids_initializer = initializers.get(centroids_initializer or initializers.RandomUniform(-0.5, 0.5))
        self.centroids_regularizer = regularizers.get(centroids_regularizer)
        self.centroids_constraint = constraints.get(centroids_constraint)
        self.seed = seed
        self.seed_generator = random.SeedGenerator(seed=seed)
        if self.learn_temperature:
            self.log_temperature = self._scalar("log_temperature", trainable=True)
        else:
            self.temperature = self._scalar("temperature")
        self.strength = self._scalar("strength")
        self.noise = self._scalar("noise")
        self.set_temperature(temperature)
        self.set_strength(strength)
        self.set_noise(noise)
        self.state_size = cell.state_size
        self.output_size = self.units

    def _scalar(self, name: str, trainable: bool = False) -> keras.Variable:
        return self.add_weight(name=name, shape=(), initializer="zeros", trainable=trainable, autocast=False)

    def build(self, input_shape: Any) -> None:
        if isinstance(self.cell, keras.layers.Layer) and not self.cell.built:
            self.cell.build(input_shape)
        self.centroids = self.add_weight(
            name="centroids",
            shape=(self.num_centroids, self.units),
            initializer=self.centroids_initializer,
            regularizer=self.centroids_regularizer,
            constraint=self.centroids_constraint,
            trainable=self.learn_centroids,
            autocast=False,
        )
        self.built = True

    def call(self, inputs: Tensor, states: Any, training: bool = False) -> tuple[Tensor, Any]:
        if training and any(getattr(self.cell, name, 0) for name in ("dropout", "recurrent_dropout")):
            raise ValueError(
                "Nobody draws dropout masks for a cell inside a StateRegularizedCell in a bare keras.layers.RNN. "
                f"Received: {self.cell.name} with dropout. Use layers.StateRegularizedRNN(cell)."
            )
        given = list(states) if isinstance(states, (list, tuple)) else [states]
        noise = self.draw((ops.shape(given[0])[0],), training)
        state, new = self.step(inputs, given, self.component(), noise, training=training)
        new = [ops.cast(x, old.dtype) for x, old in zip(new, given, strict=True)]
        return ops.cast(state, self.compute_dtype), new if isinstance(states, (list, tuple)) else new[0]

    def step(
        self,
        inputs: Tensor,
        states: list[Tensor],
        component: Component,
        noise: Tensor | None = None,
        regularize: Tensor | None = None,
        training: bool = False,
    ) -> tuple[Tensor, list[Tensor]]:
        """One step: h (batch, n) and the new states.

        Args:
            component: as `self.component()`. noise: as `self.draw`, or None.
            regularize: bool (batch or 1, 1), False where the step goes without the stochastic component.
        """
        _, new = run_cell(self.cell, inputs, states, training)
        u = ops.cast(new[0], self.variable_dtype)
        alpha, weights = self.transit(u, component, noise)
        state = self.arrive(u, alpha, weights, component, regularize)
        return state, [state, *new[1:]]

    def arrive(
        self, u: Tensor, alpha: Tensor, weights: Tensor, component: Component, regularize: Tensor | None
    ) -> Tensor:
        """The next state h (batch, n) from u, alpha and the weights of the centroids."""
        if self.is_hard:
            mixture = ops.matmul(alpha, component.centroids)
            # The value is that of the weights, the gradient that of alpha: the bracket is exactly zero.
            mixture = ops.stop_gradient(ops.matmul(weights, component.centroids)) + (
                mixture - ops.stop_gradient(mixture)
            )
            state = equations.slid(mixture, u, component.strength)
        else:
            state = equations.regularized(ops, weights, component.centroids, u, component.strength)
        return state if regularize is None else ops.where(regularize, state, u)

    @property
    def is_hard(self) -> bool:
        """Whether the state is a centroid, with the gradient of the mixture."""
        return self.transition == "soft_argmax" or self.straight_through

    def transit(self, u: Tensor, component: Component, noise: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Transition probabilities alpha and the weights of the centroids in the state, both (batch, k), from u."""
        scores = equations.scores(ops, u, component.centroids)
        if self.transition == "sample":
            alpha = equations.transition_probabilities(ops, scores, component.temperature)
            drawn = ops.argmax(scores / component.temperature + noise, axis=-1)
            return alpha, ops.one_hot(drawn, self.num_centroids, dtype=alpha.dtype)
        if noise is not None:
            scores = scores + component.noise * noise
        alpha = equations.transition_probabilities(ops, scores, component.temperature)
        if self.is_hard:
            return alpha, ops.one_hot(ops.argmax(alpha, axis=-1), self.num_centroids, dtype=alpha.dtype)
        return alpha, alpha

    def component(self) -> Component:
        """The weights of the stochastic component as they are now."""
        return Component(
            *(ops.copy(x) for x in (self.centroids, self.current_temperature(), self.strength, self.noise))
        )

    def draw(self, shape: tuple[Any, ...], training: bool) -> Tensor | None:
        """Gumbel noise (*shape, k), or None if this transition takes none now."""
        if self.transition == "gumbel" and not (training or self.sample_at_inference):
            return None
        if self.transition not in ("gumbel", "sample"):
            return None
        # Not from 0, whose noise is minus infinity.
        uniform = random.uniform(
            (*shape, self.num_centroids), minval=1e-30, maxval=1.0, dtype="float32", seed=self.seed_generator
        )
        return ops.cast(equations.gumbel(ops, ops.minimum(uniform, 1 - 2**-24)), self.variable_dtype)

    def current_temperature(self) -> Tensor:
        r"""$\tau$, a positive scalar."""
        return ops.exp(self.log_temperature) if self.learn_temperature else ops.convert_to_tensor(self.temperature)

    def set_temperature(self, value: float) -> None:
        r"""Sets $\tau > 0$."""
        value = self._checked_temperature(value)
        if self.learn_temperature:
            self.log_temperature.assign(np.log(np.float64(value)))
        else:
            self.temperature.assign(np.float64(value))

    def _checked_temperature(self, value: Any) -> float:
        """`value`, which scores can be divided by: numbers below the normal ones count as 0 in float arithmetic."""
        value = _checked("temperature", value)
        smallest, largest = NORMAL[self.variable_dtype]
        if not smallest <= value <= largest:
            raise ValueError(
                f"temperature must be a normal number of {self.variable_dtype}, from {smallest:.3g} to {largest:.3g}. "
                f"Received: temperature={value!r}. For the most probable centroid alone use transition='soft_argmax'."
            )
        return value

    def set_strength(self, value: float) -> None:
        r"""Sets $\lambda$ in [0, 1]."""
        self.strength.assign(np.float64(_checked("strength", value)))

    def set_noise(self, value: float) -> None:
        """Sets the scale >= 0 of the Gumbel noise."""
        self.noise.assign(np.float64(_checked("noise", value)))

    def get_initial_state(self, batch_size: Any = None) -> list[Tensor]:
        """The cell's own; zeros, if it has none."""
        if hasattr(self.cell, "get_initial_state"):
            states = self.cell.get_initial_state(batch_size=batch_size)
            return list(states) if isinstance(states, (list, tuple)) else [states]
        sizes = self.state_size if isinstance(self.state_size, (list, tuple)) else [self.state_size]
        return [ops.zeros((batch_size, size), dtype=self.variable_dtype) for size in sizes]

    def compute_output_shape(self, input_shape: Any, states_shape: Any = None) -> Any:
        sizes = self.state_size if isinstance(self.state_size, (list, tuple)) else [self.state_size]
        return (input_shape[0], self.units), [(input_shape[0], size) for size in sizes]

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "cell": keras.saving.serialize_keras_object(self.cell),
            "num_centroids": self.num_centroids,
            "transition": self.transition,
            **self.initial,
            "learn_temperature": self.learn_temperature,
            "straight_through": self.straight_through,
            "sample_at_inference": self.sample_at_inference,
            "centroids_initializer": initializers.serialize(self.centroids_initializer),
            "centroids_regularizer": regularizers.serialize(self.centroids_regularizer),
            "centroids_constraint": constraints.serialize(self.centroids_constraint),
            "learn_centroids": self.learn_centroids,
            "seed": self.seed,
        }

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> StateRegularizedCell:
        return cls(**{**config, "cell": keras.saving.deserialize_keras_object(config["cell"])})


@keras.saving.register_keras_serializable(package="keras_interp_rnn")
class StateRegularizedRNN(SteppedRNN):
    """Runs a `StateRegularizedCell` along sequences.

    Args:
        cell: a `StateRegularizedCell`.
        regularize_last_step: False leaves the stochastic component out at the last step that each sequence reads, in
            reading order: that of the paper's end token, so that what comes after the layer sees all of state and
            memory (section 4.4). The last state is then not one of the centroids'; with `stateful=True` every batch
            ends in such a step.
        return_sequences, return_state, go_backwards, stateful, unroll, zero_output_for_mask, **kwargs: as
            `keras.layers.RNN`.

    Call arguments:
        sequences: (batch, time, ...), each step whatever the cell reads.
        initial_state: the cell's states, each (batch, n).
        mask: bool (batch, time); False repeats the previous state. Outputs before the first True are zero, as in
            every Keras RNN.

    Returns: (batch, n), or (batch, time, n) with `return_sequences`; with `return_state` followed by the last states.
    Weights: as `StateRegularizedCell`.
    Raises: ValueError, if the cell is another one; if the mask has another shape.
    Reference: Wang, Lawrence and Niepert, 2022, section 4.

    Example:

    >>> layer = StateRegularizedRNN(StateRegularizedCell(keras.layers.GRUCell(8), num_centroids=4))
    >>> tuple(layer(keras.ops.ones((2, 5, 3))).shape)
    (2, 8)
    """

    def __init__(
        self,
        cell: StateRegularizedCell,
        regularize_last_step: bool = True,
        return_sequences: bool = False,
        return_state: bool = False,
        go_backwards: bool = False,
        stateful: bool = False,
        unroll: bool = False,
        zero_output_for_mask: bool = False,
        **kwargs: Any,
    ) -> None:
        if not isinstance(cell, StateRegularizedCell):
            raise ValueError(
                f"StateRegularizedRNN runs a StateRegularizedCell. Received: {cell!r}. Wrap it: "
                "StateRegularizedCell(cell, num_centroids)."
            )
        super().__init__(
            cell,
            return_sequences=return_sequences,
            return_state=return_state,
            go_backwards=go_backwards,
            stateful=stateful,
            unroll=unroll,
            zero_output_for_mask=zero_output_for_mask,
            **kwargs,
        )
        self.regularize_last_step = bool(regularize_last_step)

    def per_step(self, steps: Any, batch: Any, mask: Tensor | None, training: bool) -> tuple[Tensor, ...]:
        noise = self.cell.draw((steps, batch), training)
        extras = () if noise is None else (noise,)
        if self.regularize_last_step:
            return extras
        return (*extras, ops.logical_not(_recurrence.last_read(mask, steps))[:, :, None])

    def advance(
        self, inputs: Tensor, states: list[Tensor], extras: tuple[Tensor, ...], training: bool
    ) -> tuple[Tensor, list[Tensor]]:
        regularize = None if self.regularize_last_step else extras[-1]
        noise = extras[0] if len(extras) > (regularize is not None) else None
        return self.cell.step(inputs, states, self._component, noise, regularize, training)

    def inner_loop(self, *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor, list[Tensor]]:
        self._component = self.cell.component()  # read once, outside the loop
        try:
            return super().inner_loop(*args, **kwargs)
        finally:
            del self._component

    def get_config(self) -> dict[str, Any]:
        config = keras.layers.RNN.get_config(self)
        return {**config, "regularize_last_step": self.regularize_last_step}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> StateRegularizedRNN:
        return cls(**{**config, "cell": keras.saving.deserialize_keras_object(config["cell"])})


class _OverOneCell(StateRegularizedRNN):
    """`StateRegularizedRNN` over a cell that the layer makes itself, of `inner`."""

    inner: type

    def __init__(
        self,
        units: int,
        num_centroids: int,
        temperature: float = 1.0,
        transition: str = "mixture",
        strength: float = 1.0,
        regularize_last_step: bool = True,
        return_sequences: bool = False,
        return_state: bool = False,
        go_backwards: bool = False,
        stateful: bool = False,
        unroll: bool = False,
        zero_output_for_mask: bool = False,
        **kwargs: Any,
    ) -> None:
        of_layer = {name: kwargs.pop(name) for name in ("name", "activity_regularizer") if name in kwargs}
        shared = {name: kwargs.pop(name) for name in ("dtype", "trainable") if name in kwargs}
        of_component = {name: kwargs.pop(name) for name in _COMPONENT_ARGUMENTS if name in kwargs}
        seed = kwargs.pop("seed", None)
        # Another seed for the dropout: of one seed, masks and noise would be the same numbers.
        inner_seed = None if seed is None else derived_seed(seed, 1)
        cell = StateRegularizedCell(
            self.inner(positive_int("units", units), seed=inner_seed, name="cell", **kwargs, **shared),
            num_centroids,
            temperature=temperature,
            transition=transition,
            strength=strength,
            seed=seed,
            name="state_regularized_cell",
            **of_component,
            **shared,
        )
        super().__init__(
            cell,
            regularize_last_step=regularize_last_step,
            return_sequences=return_sequences,
            return_state=return_state,
            go_backwards=go_backwards,
            stateful=stateful,
            unroll=unroll,
            zero_output_for_mask=zero_output_for_mask,
            **of_layer,
            **shared,
        )

    def build(self, sequences_shape: Any, initial_state_shape: Any = None) -> None:
        check_three_axes(self, sequences_shape)
        super().build(sequences_shape, initial_state_shape)

    def checked(self, sequences: Tensor) -> Tensor:
        return three_axes(self, sequences)

    def get_config(self) -> dict[str, Any]:
        """The layer's own flags, the component's arguments and the inner cell's, in one."""
        config = super().get_config()
        for part in (self.cell.cell, self.cell):
            config.update({k: v for k, v in part.get_config().items() if k not in ("name", "trainable", "dtype")})
        del config["cell"]
        return config

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> _OverOneCell:
        return cls(**config)


_COMPONENT_ARGUMENTS = (
    set(inspect.signature(StateRegularizedCell).parameters)
    - set(inspect.signature(_OverOneCell).parameters)
    - {"cell", "seed"}
)


@keras.saving.register_keras_serializable(package="keras_interp_rnn")
class SRSimpleRNN(_OverOneCell):
    """SimpleRNN whose hidden state moves among k learned centroids: `StateRegularizedCell` over `SimpleRNNCell`.

    Args:
        units: int > 0, state size n.
        num_centroids: int > 0, k.
        temperature, transition, strength: as `StateRegularizedCell`.
        regularize_last_step: as `StateRegularizedRNN`.
        return_sequences, return_state, go_backwards, stateful, unroll, zero_output_for_mask: as `keras.layers.RNN`.
        **kwargs: any other argument of `StateRegularizedCell` or of the inner cell; `seed` serves both; name, dtype
            and trainable are the layer's.

    Call arguments, returns: as `StateRegularizedRNN`.
    Weights: centroids (k, n), the scalars of `StateRegularizedCell`, those of the inner cell.
    Raises: ValueError, as `StateRegularizedCell`.
    Reference: Wang, Lawrence and Niepert, 2022, section 4.

    Example:

    >>> layer = SRSimpleRNN(8, num_centroids=4, transition="soft_argmax")
    >>> tuple(layer(keras.ops.ones((2, 5, 3))).shape)
    (2, 8)
    """

    inner = keras.layers.SimpleRNNCell


@keras.saving.register_keras_serializable(package="keras_interp_rnn")
class SRGRU(_OverOneCell):
    """GRU whose hidden state moves among k learned centroids; all else as `SRSimpleRNN`, over `GRUCell`."""

    inner = keras.layers.GRUCell


@keras.saving.register_keras_serializable(package="keras_interp_rnn")
class SRLSTM(_OverOneCell):
    """LSTM whose hidden state moves among k learned centroids; all else as `SRSimpleRNN`, over `LSTMCell`."""

    inner = keras.layers.LSTMCell


@keras.saving.register_keras_serializable(package="keras_interp_rnn")
class SRPeepholeLSTM(_OverOneCell):
    """LSTM with peepholes (SR-LSTM-P in the paper) whose hidden state moves among k learned centroids.

    All else as `SRSimpleRNN`, over `PeepholeLSTMCell`.
    """

    inner = PeepholeLSTMCell


def _units(cell: Any) -> int:
    sizes = getattr(cell, "state_size", None)
    first = sizes[0] if isinstance(sizes, (list, tuple)) and sizes else sizes
    no_cell = isinstance(cell, (type, keras.layers.RNN, keras.layers.StackedRNNCells)) or not hasattr(cell, "call")
    if no_cell or isinstance(first, bool) or not isinstance(first, int):
        raise ValueError(
            "State regularization moves a cell's hidden state, its first, a vector (batch, n). Received: "
            f"cell={cell!r} with state_size={sizes!r}. Pass a cell, not a layer; of a stack, regularize each cell by "
            "itself: StackedRNNCells([StateRegularizedCell(...), ...])."
        )
    return first


def _known_transition(transition: Any) -> str:
    if transition not in equations.TRANSITIONS:
        near = difflib.get_close_matches(str(transition), equations.TRANSITIONS, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise ValueError(
            f"transition must be one of {', '.join(map(repr, equations.TRANSITIONS))}. Received: {transition!r}.{hint}"
        )
    return transition


def _checked(name: str, value: Any) -> float:
    rule, holds = {
        "temperature": ("a number > 0", lambda x: 0 < x < float("inf")),
        "strength": ("a number in [0, 1]", lambda x: 0 <= x <= 1),
        "noise": ("a number >= 0", lambda x: 0 <= x < float("inf")),
    }[name]
    # NumPy's scalars are no Real of Python's, but convert.
    number = isinstance(value, numbers.Real) or (hasattr(value, "shape") and value.shape == ())
    if isinstance(value, bool) or not number or not holds(float(value)):
        raise ValueError(f"{name} must be {rule}. Received: {name}={value!r}.")
    return float(value)
