"""Input-switched affine networks: `ISANCell`, and `ISAN` with its whole-sequence paths.

Reference: Foerster, Gilmer, Sohl-Dickstein, Chorowski, Sussillo, "Input Switched Affine Networks: An RNN Architecture
Designed for Interpretability", ICML 2017, arXiv:1611.09434, section 2.
"""

from __future__ import annotations

from typing import Any

import keras
from keras import constraints, initializers, ops, regularizers

from keras_interp_rnn import _recurrence
from keras_interp_rnn.constraints import MaxSpectralRadius
from keras_interp_rnn.equations import isan as equations
from keras_interp_rnn.layers._stepped import SteppedRNN
from keras_interp_rnn.layers._symbols import is_integer, symbols_or_distribution
from keras_interp_rnn.layers._whole_sequence import independent, positive_int

Tensor = Any

FEW_SYMBOLS = 1024
"""Most symbols of which all matrices are constrained by default."""


@keras.saving.register_keras_serializable(package="keras_interp_rnn")
class ISANCell(keras.layers.Layer):
    r"""One step of an input-switched affine network, $h_t = h_{t-1} W_{x_t} + b_{x_t}$.

    There is no nonlinearity: the symbol chooses the affine map. Given a distribution $p$ over the symbols instead of
    a symbol, the cell applies the expected map, $h_t = \sum_k p_k (h_{t-1} W_k + b_k)$. States are rows.

    Args:
        units: int > 0, state size $n$.
        vocabulary_size: int > 0, alphabet size $K$.
        learn_initial_state: whether $h_0$ is trained; if False it stays as initialised.
        recurrent_initializer: for each symbol's own (n, n) matrix; default `Orthogonal(gain=0.9)`.
        bias_initializer: for the (K, n) biases.
        initial_state_initializer: for $h_0$.
        recurrent_regularizer, bias_regularizer, initial_state_regularizer: as in Keras.
        recurrent_constraint: on the (K, n, n) kernel; "max_spectral_radius" is `constraints.MaxSpectralRadius()`, which
            keeps runs of a symbol from blowing up the state, and None is no constraint. Above 1,024 symbols the
            default is None: it walks over all matrices at every step, which took five times as long with 10,000.
        bias_constraint, initial_state_constraint: as in Keras.
        **kwargs: as `keras.layers.Layer`.

    Call arguments:
        inputs: int (batch, 1), ids in [0, K); or (batch, K), one-hot or a distribution.
        states: [(batch, n)].

    Returns: (output, [state]), both (batch, n) and equal.
    Weights: recurrent_kernel (K, n, n); bias (K, n); initial_state (n,).
    Precision: weights and products keep the variable dtype under mixed precision, the output has the compute dtype.
    Raises: ValueError for sizes that are not positive integers, and for inputs of another shape, dtype or range. Ids
        are checked where their values are known (eager execution on a CPU); elsewhere, what an id outside [0, K)
        does is the backend's choice.
    Example:

    >>> cell = ISANCell(4, vocabulary_size=3)
    >>> output, [state] = cell(np.array([[2], [0]]), cell.get_initial_state(batch_size=2))
    >>> tuple(output.shape)
    (2, 4)
    """

    def __init__(
        self,
        units: int,
        vocabulary_size: int,
        learn_initial_state: bool = True,
        recurrent_initializer: Any = None,
        bias_initializer: Any = "glorot_uniform",
        initial_state_initializer: Any = "zeros",
        recurrent_regularizer: Any = None,
        bias_regularizer: Any = None,
        initial_state_regularizer: Any = None,
        recurrent_constraint: Any = "max_spectral_radius",
        bias_constraint: Any = None,
        initial_state_constraint: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.units = positive_int("units", units)
        self.vocabulary_size = positive_int("vocabulary_size", vocabulary_size)
        self.learn_initial_state = learn_initial_state
        if recurrent_initializer is None:
            recurrent_initializer = initializers.Orthogonal(gain=0.9)
        self.recurrent_initializer = initializers.get(recurrent_initializer)
        self.bias_initializer = initializers.get(bias_initializer)
        self.initial_state_initializer = initializers.get(initial_state_initializer)
        self.recurrent_regularizer = regularizers.get(recurrent_regularizer)
        self.bias_regularizer = regularizers.get(bias_regularizer)
        self.initial_state_regularizer = regularizers.get(initial_state_regularizer)
        if recurrent_constraint == "max_spectral_radius":
            recurrent_constraint = MaxSpectralRadius() if self.vocabulary_size <= FEW_SYMBOLS else None
        self.recurrent_constraint = constraints.get(recurrent_constraint)
        self.bias_constraint = constraints.get(bias_constraint)
        self.initial_state_constraint = constraints.get(initial_state_constraint)
        self.state_size = self.units
        self.output_size = self.units

    def build(self, input_shape: tuple[int | None, ...]) -> None:
        # autocast=False: the recurrence compounds rounding over the whole sequence, half precision has none to spare.
        self.recurrent_kernel = self.add_weight(
            name="recurrent_kernel",
            shape=(self.vocabulary_size, self.units, self.units),
            initializer=_each_symbol(self.recurrent_initializer),
            regularizer=self.recurrent_regularizer,
            constraint=self.recurrent_constraint,
            autocast=False,
        )
        self.bias = self.add_weight(
            name="bias",
            shape=(self.vocabulary_size, self.units),
            initializer=self.bias_initializer,
            regularizer=self.bias_regularizer,
            constraint=self.bias_constraint,
            autocast=False,
        )
        self.initial_state = self.add_weight(
            name="initial_state",
            shape=(self.units,),
            initializer=self.initial_state_initializer,
            regularizer=self.initial_state_regularizer,
            constraint=self.initial_state_constraint,
            trainable=self.learn_initial_state,
            autocast=False,
        )
        self.built = True

    def call(self, inputs: Tensor, states: Any, training: bool | None = None) -> tuple[Tensor, list[Tensor]]:
        given = states[0] if isinstance(states, (list, tuple)) else states
        state = ops.cast(given, self.variable_dtype)
        inputs = symbols_or_distribution(inputs, self.vocabulary_size, time_axes=0)
        if is_integer(inputs):
            new = equations.step(ops, self.recurrent_kernel, self.bias, state, inputs[:, 0])
        else:
            distribution = ops.cast(inputs, self.variable_dtype)
            new = equations.expected_step(ops, self.recurrent_kernel, self.bias, state, distribution)
        # The state leaves in the dtype it came in: Keras's loops allow no other.
        new_state = ops.cast(new, given.dtype)
        return ops.cast(new, self.compute_dtype), [new_state] if isinstance(states, (list, tuple)) else new_state

    def get_initial_state(self, batch_size: Any = None) -> list[Tensor]:
        """[(batch_size, n)], $h_0$ for every sequence."""
        if not self.built:
            self.build((None, 1))
        # A sum, not a broadcast: torch refuses to assign to a tensor whose rows share memory.
        return [ops.zeros((batch_size, self.units), dtype=self.variable_dtype) + self.initial_state]

    def compute_output_shape(self, input_shape: Any, states_shape: Any = None) -> Any:
        shape = (input_shape[0], self.units)
        return shape, [shape]

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "units": self.units,
            "vocabulary_size": self.vocabulary_size,
            "learn_initial_state": self.learn_initial_state,
            "recurrent_initializer": initializers.serialize(self.recurrent_initializer),
            "bias_initializer": initializers.serialize(self.bias_initializer),
            "initial_state_initializer": initializers.serialize(self.initial_state_initializer),
            "recurrent_regularizer": regularizers.serialize(self.recurrent_regularizer),
            "bias_regularizer": regularizers.serialize(self.bias_regularizer),
            "initial_state_regularizer": regularizers.serialize(self.initial_state_regularizer),
            "recurrent_constraint": constraints.serialize(self.recurrent_constraint),
            "bias_constraint": constraints.serialize(self.bias_constraint),
            "initial_state_constraint": constraints.serialize(self.initial_state_constraint),
        }


@keras.saving.register_keras_serializable(package="keras_interp_rnn")
class ISAN(SteppedRNN):
    r"""Input-switched affine network: each symbol applies its own affine map.

    Reading symbol $x_t$ moves the state by $h_t = h_{t-1} W_{x_t} + b_{x_t}$ and nothing else, so the state after a
    word is one term per symbol,

    $$h_T = h_0 W_{x_1}\cdots W_{x_T} + \sum_s b_{x_s} W_{x_{s+1}}\cdots W_{x_T},$$

    and `analysis.contributions` splits any logit exactly, to rounding. States are rows.

    Args:
        units: int > 0, state size $n$.
        vocabulary_size: int > 0, alphabet size $K$.
        learn_initial_state: whether $h_0$ is trained. With `stateful=True` too, $h_0$ is what a sequence begins with:
            before the first batch and after every `reset_state()`.
        fused: "auto", True or False. Whole-sequence path with its own gradient, same values; True raises where it
            cannot run, saying why. `chosen_path` tells what the last call took, and for which reason.
        recurrent_initializer, bias_initializer, ...: as `ISANCell`.
        return_sequences, return_state, go_backwards, stateful, unroll, zero_output_for_mask, **kwargs: as
            `keras.layers.RNN`.

    Call arguments:
        sequences: int (batch, time), ids in [0, K); or (batch, time, K), one-hot or a distribution at each step. Ids
            are K times cheaper than the one-hot vectors that say the same.
        initial_state: (batch, n), in place of $h_0$.
        mask: bool (batch, time); False repeats the previous state. Outputs before the first True are zero, as in
            every Keras RNN.

    Returns: (batch, n), or (batch, time, n) with `return_sequences`; with `return_state` followed by the last state.
    Weights: recurrent_kernel (K, n, n); bias (K, n); initial_state (n,).
    Precision: weights, states and products keep the variable dtype under mixed precision, outputs have the compute
        dtype.
    Cost: O(T n^2) time, O(T n) memory a sequence; K n (n + 1) + n weights.
    Raises: ValueError, if a size is not a positive integer, if the input has another rank or dtype, if the mask is
        not (batch, time), if an id whose value is known (eager execution on a CPU) is outside [0, K). In a compiled
        TensorFlow function on a CPU such an id ends the step with InvalidArgumentError; under XLA, on JAX and on
        accelerators it is undefined, as in any lookup there.
    Example:

    >>> model = keras.Sequential([
    ...     keras.Input((None,), dtype="int32"),
    ...     ISAN(216, vocabulary_size=27, return_sequences=True),
    ...     keras.layers.Dense(27),
    ... ])
    >>> model.count_params()
    1271619

    Reference: Foerster et al., ICML 2017, arXiv:1611.09434, section 2.
    """

    def __init__(
        self,
        units: int,
        vocabulary_size: int,
        learn_initial_state: bool = True,
        fused: bool | str = "auto",
        recurrent_initializer: Any = None,
        bias_initializer: Any = "glorot_uniform",
        initial_state_initializer: Any = "zeros",
        recurrent_regularizer: Any = None,
        bias_regularizer: Any = None,
        initial_state_regularizer: Any = None,
        recurrent_constraint: Any = "max_spectral_radius",
        bias_constraint: Any = None,
        initial_state_constraint: Any = None,
        return_sequences: bool = False,
        return_state: bool = False,
        go_backwards: bool = False,
        stateful: bool = False,
        unroll: bool = False,
        zero_output_for_mask: bool = False,
        **kwargs: Any,
    ) -> None:
        if fused != "auto" and fused not in (True, False):
            raise ValueError(f"fused must be 'auto', True or False. Received: fused={fused!r}.")
        policy = keras.dtype_policies.get(kwargs.get("dtype") or keras.config.dtype_policy())
        cell = ISANCell(
            units,
            vocabulary_size,
            learn_initial_state=learn_initial_state,
            recurrent_initializer=recurrent_initializer,
            bias_initializer=bias_initializer,
            initial_state_initializer=initial_state_initializer,
            recurrent_regularizer=recurrent_regularizer,
            bias_regularizer=bias_regularizer,
            initial_state_regularizer=initial_state_regularizer,
            recurrent_constraint=recurrent_constraint,
            bias_constraint=bias_constraint,
            initial_state_constraint=initial_state_constraint,
            dtype=policy.variable_dtype,  # not the compute dtype: Keras's loop casts the states to that of the cell
            trainable=kwargs.get("trainable", True),
            name="isan_cell",
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
        self.fused = fused if fused == "auto" else bool(fused)
        self.chosen_path: _recurrence.Path | None = None

    def build(self, sequences_shape: Any, initial_state_shape: Any = None) -> None:
        # The loop of keras.layers.RNN wants a feature axis, which ids have not.
        super().build((*sequences_shape[:2], 1), initial_state_shape)

    def checked(self, sequences: Tensor) -> Tensor:
        return symbols_or_distribution(sequences, self.vocabulary_size, time_axes=1)

    @property
    def units(self) -> int:
        return self.cell.units

    @property
    def vocabulary_size(self) -> int:
        return self.cell.vocabulary_size

    @property
    def learn_initial_state(self) -> bool:
        return self.cell.learn_initial_state

    def inner_loop(
        self, sequences: Tensor, initial_state: Any, mask: Tensor | None, training: bool = False
    ) -> tuple[Tensor, Tensor, list[Tensor]]:
        self.chosen_path = _recurrence.choose_path(
            self.fused, self.units, self.vocabulary_size, is_integer(sequences), self.unroll
        )
        if self.chosen_path.name == "stepwise":
            return super().inner_loop(sequences, initial_state, mask, training)
        symbols = sequences[:, :, 0]
        if self.go_backwards:
            symbols = ops.flip(symbols, axis=1)
            mask = None if mask is None else ops.flip(mask, axis=1)
        states = _recurrence.switched_affine_states(
            self.chosen_path.name,
            ops.copy(self.cell.recurrent_kernel),  # copy: a tensor, as TensorFlow's custom gradients take no variables
            ops.copy(self.cell.bias),
            initial_state[0],
            symbols,
            mask,
        )
        outputs = _recurrence.outputs_under_mask(states, mask, self.zero_output_for_mask)
        return outputs[:, -1], outputs, [states[:, -1]]

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "fused": self.fused}


def _each_symbol(initializer: Any) -> Any:
    """An initializer of (K, n, n) that draws each symbol's (n, n) matrix by itself.

    Keras's initializers would take the K matrices for one kernel with K times the inputs.
    """

    def draw(shape: tuple[int, ...], dtype: Any = None) -> Tensor:
        return ops.stack([independent(initializer, symbol)(shape[1:], dtype=dtype) for symbol in range(shape[0])])

    return draw
