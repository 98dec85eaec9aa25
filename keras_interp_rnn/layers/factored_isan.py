"""Affine networks switched by few factors: `FactoredISANCell` and `FactoredISAN`.

An ISAN has one matrix per symbol. Here the input scales the factors of a low-rank correction of one shared matrix, so
that inputs may be real-valued and vocabularies large.

Reference: Foerster, Gilmer, Sohl-Dickstein, Chorowski, Sussillo, "Input Switched Affine Networks: An RNN Architecture
Designed for Interpretability", ICML 2017, arXiv:1611.09434, section 5.2; the factorisation follows Sutskever,
Martens and Hinton, "Generating Text with Recurrent Neural Networks", ICML 2011.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
from keras import initializers, ops
from numpy.typing import ArrayLike, NDArray

from keras_interp_rnn._checks import integer
from keras_interp_rnn._sequence.factored import factored_states, rows_of_table
from keras_interp_rnn._sequence.scan import Path
from keras_interp_rnn._types import Tensor
from keras_interp_rnn.equations import factored_isan as equations
from keras_interp_rnn.layers._cell import AffineCell
from keras_interp_rnn.layers._inputs import holds_integers
from keras_interp_rnn.layers._rnn import MakesItsCell, SequenceRNN


@keras.saving.register_keras_serializable(package="keras_interp_rnn")
class FactoredISANCell(AffineCell):
    r"""One step of an affine network whose matrix the input switches through few factors.

    $$h_t = h_{t-1} W(x_t) + b(x_t), \qquad W(x) = W_0 + U \operatorname{diag}(g(x)) V, \qquad
      g(x) = x P, \qquad b(x) = x B + c.$$

    There is no nonlinearity: $g$ and $b$ are affine in the input, and the step is affine in the state. With a
    vocabulary, $g$ and $b$ are rows of tables, one for each symbol. Given a distribution over the symbols, the cell
    applies the expected map. States are rows.

    Args:
        units: int > 0, state size $n$.
        factors: int > 0, number of factors $f$: the rank of the difference between the matrices of two inputs.
        vocabulary_size: int > 0, alphabet size $K$, if inputs are symbols; None if they are real-valued.
        shared: whether to use $W_0$. Without it $W(x)$ has rank $f$ at most, and $W(-x) = -W(x)$ for real-valued
            inputs.
        shared_initializer: for $W_0$; default `Orthogonal(gain=0.9)`, as for the matrices of an ISAN.
        factor_initializer: for $U$ and $V$, drawn independently.
        switch_initializer: for $P$. The default assumes orthogonal $U$ and $V$. With $W_0$ the gains $g$ of a symbol,
            or of an input whose features have mean square 1, are normal with standard deviation 0.1, so that $W(x)$
            starts near $W_0$. Without $W_0$ they lie around 0.9 for symbols, and have root mean square 0.9 for
            real-valued inputs.
        kernel_initializer: for $B$ of real-valued inputs.
        bias_initializer: for $c$, default zeros; or for the (K, n) biases of symbols, default glorot_uniform.

    Call arguments:
        inputs: (batch, features); with a vocabulary int (batch, 1), ids in [0, K), or (batch, K), one-hot or a
            distribution.

    Weights: shared_kernel (n, n), if shared; into_factors (n, f), out_of_factors (f, n); real-valued inputs:
        switch_kernel (features, f), kernel (features, n), bias (n,); symbols: switch_kernel (K, f), bias (K, n);
        initial_state (n,).
    Example:

    >>> cell = FactoredISANCell(4, factors=2, vocabulary_size=3)
    >>> output, [state] = cell(np.array([[2], [0]]), cell.get_initial_state(batch_size=2))
    >>> tuple(output.shape)
    (2, 4)

    Reference: Foerster et al., ICML 2017, section 5.2.
    """

    weight_initializers = {
        "shared": None,
        "factor": "orthogonal",
        "switch": None,
        "kernel": "glorot_uniform",
        "bias": None,
        "initial_state": "zeros",
    }

    shared_initializer: keras.initializers.Initializer
    switch_initializer: keras.initializers.Initializer
    bias_initializer: keras.initializers.Initializer

    def __init__(
        self,
        units: int,
        factors: int,
        vocabulary_size: int | None = None,
        shared: bool = True,
        learn_initial_state: bool = True,
        **kwargs: object,
    ) -> None:
        super().__init__(units, **kwargs)
        self.factors = integer("factors", factors)
        self.vocabulary_size = None if vocabulary_size is None else integer("vocabulary_size", vocabulary_size)
        self.shared = shared
        self.learn_initial_state = learn_initial_state
        symbols = self.vocabulary_size is not None
        self.shared_initializer = self.shared_initializer or initializers.Orthogonal(gain=0.9)
        self.switch_initializer = self.switch_initializer or _default_switch(symbols, shared)
        self.bias_initializer = self.bias_initializer or initializers.get("glorot_uniform" if symbols else "zeros")

    def make_weights(self, shape: tuple[int | None, ...]) -> None:
        n, f, rows = self.units, self.factors, self.vocabulary_size or shape[-1]
        self.shared_kernel = self.weight("shared", "shared_kernel", (n, n)) if self.shared else None
        self.into_factors = self.weight("factor", "into_factors", (n, f))
        self.out_of_factors = self.weight("factor", "out_of_factors", (f, n), draw=1)
        self.switch_kernel = self.weight("switch", "switch_kernel", (rows, f))
        symbols = self.vocabulary_size is not None
        self.kernel = None if symbols else self.weight("kernel", "kernel", (rows, n))
        self.bias = self.weight("bias", "bias", (rows, n) if symbols else (n,))
        self.add_initial_state()

    def equations(self, read: Callable[[keras.Variable], Tensor]) -> equations.FactoredISAN:
        table, bias = (self.bias, None) if self.kernel is None else (self.kernel, self.bias)
        weights = (self.shared_kernel, self.into_factors, self.out_of_factors, self.switch_kernel, table, bias)
        return equations.FactoredISAN(*(None if weight is None else read(weight) for weight in weights))

    def switch(self, inputs: Tensor) -> tuple[Tensor, ...]:
        """The drive of encoded inputs: gains g (..., f) and addends b (..., n), in the variable dtype."""
        if self.vocabulary_size is not None and holds_integers(inputs):
            return rows_of_table(self.switch_kernel, inputs), rows_of_table(self.bias, inputs)
        return super().switch(inputs)

    def kernels(self, inputs: ArrayLike | None = None) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The affine maps of inputs: matrices W(x) (..., n, n) and biases b(x) (..., n), NumPy in float64.

        An `ISAN` with this kernel and this bias computes the same, so its exact analysis applies. K matrices take
        8 K n^2 bytes, 1.3 GB for 10,000 symbols and 128 units: pass only the symbols of a text.

        Args:
            inputs: with a vocabulary int (...), symbols, by default all K in their order; otherwise (..., features).

        Raises:
            ValueError: if the layer is not built, if the inputs are not symbols of the vocabulary or have another
                number of features, or if real-valued inputs are missing.
        """
        if not self.built:
            raise ValueError(
                "The layer must be built. Received: a cell without weights. Call the layer on inputs once."
            )
        exact = self.equations(lambda weight: np.asarray(ops.convert_to_numpy(weight), np.float64))
        return exact.maps(inputs)


@keras.saving.register_keras_serializable(package="keras_interp_rnn")
class FactoredISAN(MakesItsCell, SequenceRNN):
    r"""Affine network whose matrix the input switches by few factors, for real-valued inputs or large vocabularies.

    $$h_t = h_{t-1} W(x_t) + b(x_t), \qquad W(x) = W_0 + U \operatorname{diag}(g(x)) V, \qquad
      g(x) = x P, \qquad b(x) = x B + c,$$

    with $U$ (n, f) and $V$ (f, n). With a vocabulary $g$ and $b$ are rows of tables. Every step is affine in the state,
    so that a state is a sum of one term per step, as in `ISAN`:

    $$h_T = h_0 W(x_1)\cdots W(x_T) + \sum_s b(x_s) W(x_{s+1})\cdots W(x_T).$$

    Call arguments:
        sequences: (batch, time, features); with a vocabulary int (batch, time), ids in [0, K), or (batch, time, K),
            one-hot or a distribution at each step.

    Cost: O(T n (n + f)) time, O(T (n + f)) memory per sequence; K (f + n) + 2 n f + n^2 + n weights with a vocabulary,
        compared with K n (n + 1) + n of an ISAN. g and b are computed for the whole sequence before the loop.
    Rare symbols: the gradients of both tables are dense, with zeros in the rows of symbols that a batch does not read.
        SGD leaves these rows unchanged. Adam moves them on by their momentum, and passes over all K (f + n) numbers, as
        it does in Keras 3.15 for any gradient. Times of a step with K = 10,000, n = 128, f = 64, batches of 32 times 50
        symbols, on one core of an AMD EPYC (TensorFlow 2.21), with SGD, Adam, and Adam under XLA: 10.3, 15.5 and
        10.4 ms for a model that predicts one number; 278, 306 and 246 ms for one that predicts the next of the 10,000
        symbols. The readout costs far more than the tables.
    Example:

    >>> model = keras.Sequential([
    ...     keras.Input((None,), dtype="int32"),
    ...     FactoredISAN(128, factors=64, vocabulary_size=10_000),
    ...     keras.layers.Dense(1),
    ... ])
    >>> model.count_params()
    1953025
    """

    cell: FactoredISANCell
    cell_class = FactoredISANCell
    cell_name = "factored_isan_cell"
    at_once = "gains and biases of all steps at once, a loop with its own adjoint"

    def kernels(self, inputs: ArrayLike | None = None) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The affine maps of inputs, by default of all symbols: as `FactoredISANCell.kernels`."""
        return self.cell.kernels(inputs)

    def whole_sequence(
        self, path: Path, sequences: Tensor, states: list[Tensor], mask: Tensor | None, training: bool
    ) -> tuple[Tensor, list[Tensor]]:
        gains, addends = self.cell.switch(ops.swapaxes(self.cell.encode(sequences), 0, 1))
        # copy: a tensor, as TensorFlow's custom gradients take no variables
        weights = self.cell.equations(ops.copy)
        states_after = factored_states(
            equations.joint_kernel(ops, weights.shared, weights.into_factors),
            weights.out_of_factors,
            states[0],
            gains,
            addends,
            None if mask is None else ops.transpose(mask)[:, :, None],
            self.unroll,
        )
        return ops.swapaxes(states_after, 0, 1), [states_after[-1]]


def _default_switch(symbols: bool, shared: bool) -> Any:
    if symbols:
        return initializers.RandomNormal(mean=0.0 if shared else 0.9, stddev=0.1)
    return initializers.VarianceScaling(0.1**2 if shared else 0.9**2, "fan_in", "untruncated_normal")
