"""State regularization of the cells of Keras, and of PeepholeLSTM: each a layer that makes its cell.

Reference: Wang, Lawrence and Niepert, "State-Regularized Recurrent Neural Networks to Extract Automata and Explain
Predictions", IEEE TPAMI, 2022, sections 4 and 4.4.
"""

from __future__ import annotations

import inspect
from typing import Any

import keras

from keras_interp_rnn._checks import integer
from keras_interp_rnn.layers._rnn import MakesItsCell
from keras_interp_rnn.layers._signatures import parameters
from keras_interp_rnn.layers._weights import derived_seed
from keras_interp_rnn.layers.peephole_lstm import PeepholeLSTMCell
from keras_interp_rnn.layers.state_regularized_cell import StateRegularizedCell
from keras_interp_rnn.layers.state_regularized_rnn import StateRegularizedRNN


class _OverOneCell(MakesItsCell, StateRegularizedRNN):
    """`StateRegularizedRNN` over a cell of the class `inner`, which the layer makes itself.

    Args:
        units: int > 0, state size n.
        seed: for the noise, and for the dropout of the inner cell.

    Call arguments:
        sequences: (batch, time, features).

    Weights: centroids (k, n), the scalars of `StateRegularizedCell`, the weights of the inner cell.
    """

    cell_class = StateRegularizedCell
    cell_name = "state_regularized_cell"
    inner: type = keras.layers.SimpleRNNCell

    @classmethod
    def cell_classes(cls) -> list[type]:
        return [cls.cell_class, cls.inner]

    @classmethod
    def cell_parameters(cls) -> dict[str, inspect.Parameter]:
        outer = {"units": parameters(cls.inner)["units"], **parameters(StateRegularizedCell)}
        del outer["cell"]
        inner = {name: p.replace(kind=p.KEYWORD_ONLY) for name, p in parameters(cls.inner).items()}
        return {**outer, **{name: p for name, p in inner.items() if name not in outer}}

    def make_cell(self, units: int, num_centroids: int, *args: Any, seed: int | None = None, **kwargs: Any) -> Any:
        of_component = {name: kwargs.pop(name) for name in parameters(StateRegularizedCell) if name in kwargs}
        shared = {name: kwargs.pop(name) for name in ("dtype", "trainable") if name in kwargs}
        # With one seed for both, dropout masks and noise would be the same numbers.
        inner_seed = None if seed is None else derived_seed(seed, 1)
        inner = self.inner(integer("units", units), seed=inner_seed, name="cell", **kwargs, **shared)
        return super().make_cell(inner, num_centroids, *args, seed=seed, **of_component, **shared)

    def cells(self) -> list[Any]:
        return [self.cell.cell, self.cell]

    def get_config(self) -> dict[str, Any]:
        config = super().get_config()
        del config["cell"]  # the inner cell
        return config


@keras.saving.register_keras_serializable(package="keras_interp_rnn")
class SRSimpleRNN(_OverOneCell):
    """SimpleRNN whose hidden state moves among k learned centroids: `StateRegularizedCell` over `SimpleRNNCell`.

    Example:

    >>> layer = SRSimpleRNN(8, num_centroids=4, transition="soft_argmax")
    >>> tuple(layer(keras.ops.ones((2, 5, 3))).shape)
    (2, 8)
    """

    inner = keras.layers.SimpleRNNCell


@keras.saving.register_keras_serializable(package="keras_interp_rnn")
class SRGRU(_OverOneCell):
    """GRU whose hidden state moves among k learned centroids: `StateRegularizedCell` over `GRUCell`.

    Example:

    >>> layer = SRGRU(8, num_centroids=4, return_sequences=True)
    >>> tuple(layer(keras.ops.ones((2, 5, 3))).shape)
    (2, 5, 8)
    """

    inner = keras.layers.GRUCell


@keras.saving.register_keras_serializable(package="keras_interp_rnn")
class SRLSTM(_OverOneCell):
    """LSTM whose hidden state moves among k learned centroids: `StateRegularizedCell` over `LSTMCell`.

    Example:

    >>> layer = SRLSTM(8, num_centroids=4, temperature=0.5)
    >>> tuple(layer(keras.ops.ones((2, 5, 3))).shape)
    (2, 8)
    """

    inner = keras.layers.LSTMCell


@keras.saving.register_keras_serializable(package="keras_interp_rnn")
class SRPeepholeLSTM(_OverOneCell):
    """LSTM with peepholes (SR-LSTM-P in the paper) whose hidden state moves among k learned centroids.

    `StateRegularizedCell` over `PeepholeLSTMCell`.

    Example:

    >>> layer = SRPeepholeLSTM(8, num_centroids=4, return_state=True)
    >>> [tuple(state.shape) for state in layer(keras.ops.ones((2, 5, 3)))]
    [(2, 8), (2, 8), (2, 8)]
    """

    inner = PeepholeLSTMCell
