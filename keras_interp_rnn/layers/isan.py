"""Input-switched affine networks: `ISANCell`, and `ISAN` with its whole-sequence paths.

Reference: Foerster, Gilmer, Sohl-Dickstein, Chorowski, Sussillo, "Input Switched Affine Networks: An RNN Architecture
Designed for Interpretability", ICML 2017, arXiv:1611.09434, section 2.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
from keras import initializers, ops

from keras_interp_rnn._sequence.affine import choose_path, switched_affine_states
from keras_interp_rnn._sequence.scan import Path
from keras_interp_rnn.constraints import MaxSpectralRadius
from keras_interp_rnn.equations import isan as equations
from keras_interp_rnn.layers._arguments import independent
from keras_interp_rnn.layers._cell import AffineCell
from keras_interp_rnn.layers._rnn import MakesItsCell, SequenceRNN, of_cell
from keras_interp_rnn.layers._validation import is_integer, positive_int, symbols_or_distribution

Tensor = Any

FEW_SYMBOLS = 1024
"""Most symbols of which all matrices are constrained by default."""


@keras.saving.register_keras_serializable(package="keras_interp_rnn")
class ISANCell(AffineCell):
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

    weight_initializers = {
        "recurrent": None,
        "bias": "glorot_uniform",
        "initial_state": "zeros",
        "recurrent_constraint": "max_spectral_radius",
    }

    recurrent_initializer: Any

    def __init__(self, units: int, vocabulary_size: int, learn_initial_state: bool = True, **kwargs: Any) -> None:
        vocabulary_size = positive_int("vocabulary_size", vocabulary_size)
        if kwargs.get("recurrent_constraint", "max_spectral_radius") == "max_spectral_radius":
            kwargs["recurrent_constraint"] = MaxSpectralRadius() if vocabulary_size <= FEW_SYMBOLS else None
        super().__init__(units, **kwargs)
        self.vocabulary_size = vocabulary_size
        self.learn_initial_state = learn_initial_state
        self.recurrent_initializer = self.recurrent_initializer or initializers.Orthogonal(gain=0.9)

    def build(self, input_shape: tuple[int | None, ...]) -> None:
        symbols, n = self.vocabulary_size, self.units
        each = _each_symbol(self.recurrent_initializer)
        self.recurrent_kernel = self.weight("recurrent", "recurrent_kernel", (symbols, n, n), initializer=each)
        self.bias = self.weight("bias", "bias", (symbols, n))
        self.add_initial_state()
        self.built = True

    def equations(self, read: Callable[[Any], Any]) -> equations.ISAN:
        return equations.ISAN(read(self.recurrent_kernel), read(self.bias))

    def next_state(self, inputs: Tensor, state: Tensor, training: bool) -> Tensor:
        inputs = symbols_or_distribution(inputs, self.vocabulary_size, time_axes=0, layer="ISAN")
        return super().next_state(inputs, state, training)


@keras.saving.register_keras_serializable(package="keras_interp_rnn")
class ISAN(MakesItsCell, SequenceRNN):
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

    cell_class = ISANCell
    cell_name = "isan_cell"
    precise = True
    vocabulary_size = of_cell("vocabulary_size")
    learn_initial_state = of_cell("learn_initial_state")

    def build(self, sequences_shape: Any, initial_state_shape: Any = None) -> None:
        # The loop of keras.layers.RNN wants a feature axis, which ids have not.
        super().build((*sequences_shape[:2], 1), initial_state_shape)

    def check_shape(self, shape: Any) -> None:
        """Nothing more than `checked` does."""

    def checked(self, sequences: Tensor) -> Tensor:
        return symbols_or_distribution(sequences, self.vocabulary_size, time_axes=1, layer="ISAN")

    def path(self, sequences: Tensor) -> Path:
        return choose_path(self.fused, self.units, self.vocabulary_size, is_integer(sequences), self.unroll)

    def whole_sequence(
        self, path: Path, sequences: Tensor, states: list[Tensor], mask: Tensor | None, training: bool
    ) -> tuple[Tensor, list[Tensor]]:
        # copy: a tensor, as TensorFlow's custom gradients take no variables
        weights = self.cell.equations(ops.copy)
        outputs = switched_affine_states(path.name, weights.kernel, weights.bias, states[0], sequences[:, :, 0], mask)
        return outputs, [outputs[:, -1]]


def _each_symbol(initializer: Any) -> Any:
    """An initializer of (K, n, n) that draws each symbol's (n, n) matrix by itself.

    Keras's initializers would take the K matrices for one kernel with K times the inputs.
    """

    def draw(shape: tuple[int, ...], dtype: Any = None) -> Tensor:
        return ops.stack([independent(initializer, symbol)(shape[1:], dtype=dtype) for symbol in range(shape[0])])

    return draw
