"""Input-switched affine networks: `ISANCell`, and `ISAN` with its whole-sequence paths.

Reference: Foerster, Gilmer, Sohl-Dickstein, Chorowski, Sussillo, "Input Switched Affine Networks: An RNN Architecture
Designed for Interpretability", ICML 2017, arXiv:1611.09434, section 2.
"""

from __future__ import annotations

from collections.abc import Callable

import keras
from keras import initializers, ops

from keras_interp_rnn._checks import integer
from keras_interp_rnn._sequence.affine import choose_path, switched_affine_states
from keras_interp_rnn._sequence.scan import Path
from keras_interp_rnn._types import Tensor
from keras_interp_rnn.constraints import MaxSpectralRadius
from keras_interp_rnn.equations import isan as equations
from keras_interp_rnn.layers._cell import AffineCell
from keras_interp_rnn.layers._inputs import holds_integers
from keras_interp_rnn.layers._rnn import MakesItsCell, SequenceRNN
from keras_interp_rnn.layers._weights import blockwise

FEW_SYMBOLS = 1024
"""Largest alphabet whose matrices are constrained by default."""


@keras.saving.register_keras_serializable(package="keras_interp_rnn")
class ISANCell(AffineCell):
    r"""One step of an input-switched affine network, $h_t = h_{t-1} W_{x_t} + b_{x_t}$.

    There is no nonlinearity: the symbol selects the affine map. Given a distribution $p$ over the symbols instead of
    a symbol, the cell applies the expected map, $h_t = \sum_k p_k (h_{t-1} W_k + b_k)$. States are rows.

    Args:
        units: int > 0, state size $n$.
        vocabulary_size: int > 0, alphabet size $K$.
        recurrent_initializer: for the (n, n) matrix of each symbol; default `Orthogonal(gain=0.9)`.
        bias_initializer: for the (K, n) biases.
        recurrent_constraint: on the (K, n, n) kernel; "max_spectral_radius" is `constraints.MaxSpectralRadius()`, which
            keeps the state bounded in runs of a symbol; None is no constraint. Above 1,024 symbols the default is None,
            because the constraint visits all matrices at every step, even those that a batch does not read.

    Call arguments:
        inputs: int (batch, 1), ids in [0, K); or (batch, K), one-hot or a distribution.

    Weights: recurrent_kernel (K, n, n); bias (K, n); initial_state (n,).
    Example:

    >>> cell = ISANCell(4, vocabulary_size=3)
    >>> output, [state] = cell(np.array([[2], [0]]), cell.get_initial_state(batch_size=2))
    >>> tuple(output.shape)
    (2, 4)

    Reference: Foerster et al., ICML 2017, arXiv:1611.09434, section 2.
    """

    weight_initializers = {
        "recurrent": None,
        "bias": "glorot_uniform",
        "initial_state": "zeros",
        "recurrent_constraint": "max_spectral_radius",
    }

    recurrent_initializer: keras.initializers.Initializer

    def __init__(self, units: int, vocabulary_size: int, learn_initial_state: bool = True, **kwargs: object) -> None:
        vocabulary_size = integer("vocabulary_size", vocabulary_size)
        if kwargs.get("recurrent_constraint", "max_spectral_radius") == "max_spectral_radius":
            kwargs["recurrent_constraint"] = MaxSpectralRadius() if vocabulary_size <= FEW_SYMBOLS else None
        super().__init__(units, **kwargs)
        self.vocabulary_size = vocabulary_size
        self.learn_initial_state = learn_initial_state
        self.recurrent_initializer = self.recurrent_initializer or initializers.Orthogonal(gain=0.9)

    def make_weights(self, shape: tuple[int | None, ...]) -> None:
        symbols, n = self.vocabulary_size, self.units
        each = blockwise(self.recurrent_initializer, symbols, stacked=True)
        self.recurrent_kernel = self.weight("recurrent", "recurrent_kernel", (symbols, n, n), initializer=each)
        self.bias = self.weight("bias", "bias", (symbols, n))
        self.add_initial_state()

    def equations(self, read: Callable[[keras.Variable], Tensor]) -> equations.ISAN:
        return equations.ISAN(read(self.recurrent_kernel), read(self.bias))


@keras.saving.register_keras_serializable(package="keras_interp_rnn")
class ISAN(MakesItsCell, SequenceRNN):
    r"""Input-switched affine network: each symbol applies its own affine map.

    Symbol $x_t$ changes the state by $h_t = h_{t-1} W_{x_t} + b_{x_t}$ and nothing else, so the state after a word is
    a sum with one term per symbol,

    $$h_T = h_0 W_{x_1}\cdots W_{x_T} + \sum_s b_{x_s} W_{x_{s+1}}\cdots W_{x_T},$$

    and `analysis.contributions` splits any logit exactly, up to rounding. States are rows.

    Call arguments:
        sequences: int (batch, time), ids in [0, K); or (batch, time, K), one-hot or a distribution at each step. Ids
            are K times cheaper than the same one-hot vectors. They may be whole numbers in float32, because a
            Sequential without an Input converts ids to float32.

    Cost: O(T n^2) time, O(T n) memory per sequence; K n (n + 1) + n weights.
    Example:

    >>> model = keras.Sequential([
    ...     keras.Input((None,), dtype="int32"),
    ...     ISAN(216, vocabulary_size=27, return_sequences=True),
    ...     keras.layers.Dense(27),
    ... ])
    >>> model.count_params()
    1271619
    """

    cell_class = ISANCell
    cell_name = "isan_cell"

    def path(self, sequences: Tensor) -> Path:
        batch, reads_ids = sequences.shape[0], holds_integers(sequences)
        return choose_path(self.fused, self.units, self.vocabulary_size, batch, reads_ids, self.unroll)

    def whole_sequence(
        self, path: Path, sequences: Tensor, states: list[Tensor], mask: Tensor | None, training: bool
    ) -> tuple[Tensor, list[Tensor]]:
        # copy: a tensor, as TensorFlow's custom gradients take no variables
        weights = self.cell.equations(ops.copy)
        outputs = switched_affine_states(path.name, weights.kernel, weights.bias, states[0], sequences[:, :, 0], mask)
        return outputs, [outputs[:, -1]]
