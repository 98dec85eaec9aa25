"""Layers over cells with one product h U of the state: SimpleRNN, GRU, LSTM, MinimalRNN and the like."""

from __future__ import annotations

from typing import Any

from keras import ops

from keras_interp_rnn._cells import equations_of
from keras_interp_rnn._sequence.dense import dense_states
from keras_interp_rnn._sequence.scan import Path, whole_or_stepwise
from keras_interp_rnn._types import Tensor
from keras_interp_rnn.equations import DenseEquations, StochasticComponent
from keras_interp_rnn.layers._rnn import SequenceRNN


class DenseRNN(SequenceRNN):
    """A cell over whole sequences: products with the inputs of all steps first, then a loop with one product per step.

    Cells whose derivative is not known, cells with dropout, and cells in mixed precision run step by step.
    """

    at_once = "products with the inputs of all steps at once, a loop with its own adjoint"

    @property
    def recurrent_cell(self) -> Any:
        """The cell with the product h U."""
        return self.cell

    def component(self) -> StochasticComponent | None:
        """The stochastic component after the recurrent cell, with its current weights; None without one."""
        return None

    def path(self, sequences: Tensor) -> Path:
        return whole_or_stepwise(self.fused, self.obstacle()) or Path("whole_sequence", str(self.at_once))

    def obstacle(self) -> str | None:
        """Why the cell runs step by step, with the remedy; None if whole sequences can be computed."""
        cell = self.recurrent_cell
        known = equations_of(cell, lambda weight: weight)
        if not (isinstance(known, DenseEquations) and known.has_derivative and known.multiplies_once):
            return f"the cell of {type(self).__name__} runs step by step: pass fused=False"
        if any(getattr(cell, name, 0) for name in ("dropout", "recurrent_dropout")):
            return "a cell with dropout runs step by step: pass fused=False"
        if getattr(cell, "compute_dtype", None) != self.variable_dtype:
            return f"a cell that computes in {cell.compute_dtype} runs step by step: pass fused=False"
        return None

    def whole_sequence(
        self, path: Path, sequences: Tensor, states: list[Tensor], mask: Tensor | None, training: bool
    ) -> tuple[Tensor, list[Tensor]]:
        sequences = ops.swapaxes(sequences, 0, 1)
        mask = None if mask is None else ops.transpose(mask)
        # copy: a tensor, as TensorFlow's custom gradients take no variables
        known = equations_of(self.recurrent_cell, ops.copy)
        assert isinstance(known, DenseEquations)
        after = dense_states(
            known,
            self.component(),
            states,
            self._drive(known, sequences),
            **self.per_step(sequences, mask, training),
            mask=mask,
            unroll=self.unroll,
        )
        return ops.swapaxes(after[0], 0, 1), [state[-1] for state in after]

    def _drive(self, known: DenseEquations, sequences: Tensor) -> tuple[Tensor, ...]:
        """The drive of all steps, each part (time, batch, width)."""
        time, batch, *features = ops.shape(sequences)
        # Time joins the batch, so that one call encodes all steps.
        rows = ops.reshape(sequences, (-1, *features))
        encode = getattr(self.recurrent_cell, "encode", None)
        rows = ops.cast(rows, self.variable_dtype) if encode is None else encode(rows)
        return tuple(ops.reshape(x, (time, batch, x.shape[-1])) for x in known.drive(ops, rows))
