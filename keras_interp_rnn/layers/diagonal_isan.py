"""Block-diagonal input-switched affine networks, for large alphabets: `DiagonalISANCell` and `DiagonalISAN`."""

from __future__ import annotations

from collections.abc import Callable

import keras
import numpy as np
from keras import initializers, ops
from numpy.typing import NDArray

from keras_interp_rnn import equations
from keras_interp_rnn._checks import integer
from keras_interp_rnn._sequence.diagonal import choose_path, diagonal_states
from keras_interp_rnn._sequence.factored import rows_of_table
from keras_interp_rnn._sequence.scan import Path, whole_or_stepwise
from keras_interp_rnn._types import Tensor
from keras_interp_rnn.constraints import Interval, MaxSpectralNorm
from keras_interp_rnn.layers._cell import AffineCell
from keras_interp_rnn.layers._inputs import holds_integers
from keras_interp_rnn.layers._rnn import MakesItsCell, SequenceRNN
from keras_interp_rnn.layers._weights import blockwise


@keras.saving.register_keras_serializable(package="keras_interp_rnn")
class DiagonalISANCell(AffineCell):
    r"""One step of an ISAN with block-diagonal matrices, $h_t = h_{t-1} W_{x_t} + b_{x_t}$.

    With blocks of size one, $h_t = w_{x_t} \odot h_{t-1} + b_{x_t}$: each unit decays at a rate that the symbol sets.
    Given a distribution over the symbols, the cell applies the expected map. States are rows.

    Args:
        units: int > 0, state size $n$.
        vocabulary_size: int > 0, alphabet size $K$.
        block_size: int > 0, number $m$ of units in a block; must divide n.
        recurrent_initializer: for each block; None for decays drawn uniformly between 0.5 and 1 or, for larger blocks,
            orthogonal matrices times 0.9.
        bias_initializer: for the (K, n) biases.
        recurrent_constraint: on the (K, n / m, m, m) blocks; "contraction" bounds the spectral norm of each by 1, so
            that no word enlarges a state; None means no constraint.

    Call arguments:
        inputs: int (batch, 1), ids in [0, K); or (batch, K), one-hot or a distribution.

    Weights: recurrent_kernel (K, n / m, m, m); bias (K, n); initial_state (n,).
    Reference: Foerster et al., ICML 2017, arXiv:1611.09434, section 2; with diagonal matrices: the switching linear
        networks of Ji-An, Benna and Mattar, Nature 644, 2025.

    Example:

    >>> from keras_interp_rnn import layers
    >>> cell = layers.DiagonalISANCell(4, vocabulary_size=3)
    >>> output, [state] = cell(np.array([[2], [0]]), cell.get_initial_state(batch_size=2))
    >>> tuple(output.shape)
    (2, 4)
    """

    weight_initializers = {
        "recurrent": None,
        "bias": "glorot_uniform",
        "initial_state": "zeros",
        "recurrent_constraint": "contraction",
    }

    recurrent_initializer: keras.initializers.Initializer

    def __init__(
        self,
        units: int,
        vocabulary_size: int,
        block_size: int = 1,
        learn_initial_state: bool = True,
        **kwargs: object,
    ) -> None:
        block_size = integer("block_size", block_size)
        if kwargs.get("recurrent_constraint", "contraction") == "contraction":
            # The norm of a block of size one is its absolute value: no singular value decomposition.
            kwargs["recurrent_constraint"] = Interval(-1.0, 1.0) if block_size == 1 else MaxSpectralNorm(1.0)
        super().__init__(units, **kwargs)
        self.vocabulary_size = integer("vocabulary_size", vocabulary_size)
        if self.units % block_size:
            raise ValueError(
                f"`block_size` must divide units. Received: units={units}, block_size={block_size}. Pass a divisor."
            )
        self.block_size = block_size
        self.learn_initial_state = learn_initial_state
        default = initializers.RandomUniform(0.5, 1.0) if block_size == 1 else initializers.Orthogonal(gain=0.9)
        self.recurrent_initializer = self.recurrent_initializer or default

    def make_weights(self, shape: tuple[int | None, ...]) -> None:
        symbols, n, m = self.vocabulary_size, self.units, self.block_size
        self.recurrent_kernel = self.weight(
            "recurrent", "recurrent_kernel", (symbols, n // m, m, m), initializer=self._blocks
        )
        self.bias = self.weight("bias", "bias", (symbols, n))
        self.add_initial_state()

    def _blocks(self, shape: tuple[int, ...], dtype: object = None) -> Tensor:
        stacked = (shape[0] * shape[1], *shape[2:])
        if self.block_size == 1:
            return ops.reshape(self.recurrent_initializer((stacked[0], 1), dtype=dtype), shape)
        each = blockwise(self.recurrent_initializer, stacked[0], stacked=True)
        return ops.reshape(each(stacked, dtype=dtype), shape)

    def switch(self, inputs: Tensor) -> tuple[Tensor, ...]:
        """The drive of encoded inputs: blocks (..., n m) and addends (..., n), in the variable dtype."""
        if holds_integers(inputs):
            flat = ops.reshape(ops.convert_to_tensor(self.recurrent_kernel), (self.vocabulary_size, -1))
            return rows_of_table(flat, inputs), rows_of_table(self.bias, inputs)
        return super().switch(inputs)

    def equations(self, read: Callable[[keras.Variable], Tensor]) -> equations.DiagonalISAN:
        return equations.DiagonalISAN(read(self.recurrent_kernel), read(self.bias))

    def kernels(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The affine maps of all symbols: W (K, n, n) and b (K, n), NumPy in float64; 8 K n^2 bytes.

        An `ISAN` with this kernel and this bias computes the same.
        """
        exact = self.equations(lambda weight: np.asarray(ops.convert_to_numpy(weight), np.float64))
        return exact.kernels(np), exact.bias


@keras.saving.register_keras_serializable(package="keras_interp_rnn")
class DiagonalISAN(MakesItsCell, SequenceRNN):
    r"""Input-switched affine network with diagonal or block-diagonal matrices, for large alphabets.

    $$h_t = h_{t-1} \operatorname{diag}(W_{x_t}^1, W_{x_t}^2, \dots) + b_{x_t},$$

    Every function that reads an `ISAN` exactly reads this layer too. With blocks of size one all steps are computed at
    once, as in `MinGRU`.

    Call arguments:
        sequences: int (batch, time), ids in [0, K); or (batch, time, K), one-hot or a distribution at each step.

    Cost: O(T n m) time, O(T n m) memory per sequence; K n (m + 1) + n weights.
    Example:

    >>> model = keras.Sequential([
    ...     keras.Input((None,), dtype="int32"),
    ...     DiagonalISAN(16, vocabulary_size=1000),
    ...     keras.layers.Dense(1),
    ... ])
    >>> model.count_params()
    32033
    """

    cell_class = DiagonalISANCell
    cell_name = "diagonal_isan_cell"

    def path(self, sequences: Tensor) -> Path:
        if self.block_size > 1:
            obstacle = "blocks of several units run step by step: pass block_size=1"
            return whole_or_stepwise(self.fused, obstacle) or Path("stepwise", obstacle)
        return choose_path(self.fused, sequences.shape[1], self.unroll)

    def whole_sequence(
        self, path: Path, sequences: Tensor, states: list[Tensor], mask: Tensor | None, training: bool
    ) -> tuple[Tensor, list[Tensor]]:
        decay, addend = self.cell.switch(self.cell.encode(ops.swapaxes(sequences, 0, 1)))
        read = None if mask is None else ops.transpose(mask)[:, :, None]
        after = diagonal_states(path.name, decay, addend, states[0], read)
        return ops.swapaxes(after, 0, 1), [after[-1]]
