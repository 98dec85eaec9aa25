"""`StateRegularizedRNN`: a `StateRegularizedCell` along sequences.

Reference: Wang, Lawrence and Niepert, "State-Regularized Recurrent Neural Networks to Extract Automata and Explain
Predictions", IEEE TPAMI, 2022, sections 4 and 4.4.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
from keras import ops

from keras_interp_rnn import equations
from keras_interp_rnn._sequence.masks import last_read
from keras_interp_rnn._types import Tensor
from keras_interp_rnn.layers._dense import DenseRNN
from keras_interp_rnn.layers._rnn import Extras
from keras_interp_rnn.layers.state_regularized_cell import WITH_ARGUMENTS, StateRegularizedCell


@keras.saving.register_keras_serializable(package="keras_interp_rnn")
class StateRegularizedRNN(DenseRNN):
    """Runs a `StateRegularizedCell` along sequences.

    Args:
        cell: a `StateRegularizedCell`.
        regularize_last_step: False skips the stochastic component at the last step that each sequence reads, in reading
            order. At this step, the paper's end token, the next layer then sees the full state and memory (section
            4.4). The last state is then no mixture of centroids. With `stateful=True` every batch ends in such a step.

    Call arguments:
        sequences: (batch, time, ...), steps of any shape that the cell reads.
        initial_state: the states of the cell, each (batch, n).

    Weights: as `StateRegularizedCell`.
    Cost: the inner cell and O(T k n) time, step by step.
    Reference: Wang, Lawrence and Niepert, 2022, section 4.
    Example:

    >>> layer = StateRegularizedRNN(StateRegularizedCell(keras.layers.GRUCell(8), num_centroids=4))
    >>> tuple(layer(keras.ops.ones((2, 5, 3))).shape)
    (2, 8)
    """

    def __init__(self, cell: StateRegularizedCell, regularize_last_step: bool = True, **kwargs: Any) -> None:
        cell = keras.saving.deserialize_keras_object(cell) if isinstance(cell, dict) else cell
        if not isinstance(cell, StateRegularizedCell):
            raise ValueError(
                f"`cell` must be a StateRegularizedCell. Received: {cell!r}. Wrap it: StateRegularizedCell(cell, "
                "num_centroids)."
            )
        super().__init__(cell, **kwargs)
        self.regularize_last_step = bool(regularize_last_step)

    @property
    def recurrent_cell(self) -> Any:
        return self.cell.cell

    def component(self) -> equations.StochasticComponent:
        component: equations.StochasticComponent = self.cell.stochastic_component()
        return component

    def obstacle(self) -> str | None:
        if type(self.cell.transition) not in WITH_ARGUMENTS:
            return f"the transition {self.cell.transition!r} is not one of this package: pass fused=False"
        return super().obstacle()

    def per_step(self, sequences: Tensor, mask: Tensor | None, training: bool) -> Extras:
        steps, batch_size = ops.shape(sequences)[:2]
        noise = self.cell.draw((steps, batch_size), training)
        extras = {} if noise is None else {"noise": noise}
        if not self.regularize_last_step:
            extras["regularize"] = ops.logical_not(last_read(mask, steps))[:, :, None]
        return extras

    def stepper(self, training: bool) -> Callable[[Tensor, list[Tensor], Extras], tuple[Tensor, list[Tensor]]]:
        component = self.component()  # read once, outside the loop

        def step(inputs: Tensor, states: list[Tensor], extras: Extras) -> tuple[Tensor, list[Tensor]]:
            new = self.cell.step(inputs, states, component, extras.get("noise"), extras.get("regularize"), training)
            return new[0], new

        return step

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "regularize_last_step": self.regularize_last_step}
