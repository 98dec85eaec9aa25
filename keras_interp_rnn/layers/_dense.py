"""Layers over cells with one product h U of the state: SimpleRNN, GRU, LSTM, MinimalRNN and the like."""

from __future__ import annotations

from typing import Any

from keras import ops

from keras_interp_rnn._cells import equations_of
from keras_interp_rnn._sequence.dense import dense_states
from keras_interp_rnn._sequence.scan import Path
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

    @property
    def runs_at_once(self) -> bool:
        known = equations_of(self.recurrent_cell, lambda weight: weight)
        return isinstance(known, DenseEquations) and known.has_derivative and known.multiplies_once

    def obstacle(self) -> str | None:
        if unknown := super().obstacle():
            return unknown
        cell = self.recurrent_cell
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
        known = equations_of(self.recurrent_cell, self._rounded)
        assert isinstance(known, DenseEquations)
        states_after, last = dense_states(
            known,
            self.component(),
            states,
            self._drive(known, sequences),
            **self.per_step(sequences, mask, training),
            mask=mask,
            unroll=self.unroll,
        )
        return ops.swapaxes(states_after, 0, 1), last

    def _rounded(self, weight: object) -> Tensor:
        """A weight in the dtype of products: a copy, as TensorFlow's custom gradients take no variables."""
        return ops.copy(ops.cast(weight, self.recurrent_cell.compute_dtype))

    def _drive(self, known: DenseEquations, sequences: Tensor) -> tuple[Tensor, ...]:
        """The drive of all steps, each part (time, batch, width)."""
        time, batch, *features = ops.shape(sequences)
        # Time joins the batch, so that one call encodes all steps.
        rows = ops.reshape(sequences, (-1, *features))
        encode = getattr(self.recurrent_cell, "encode", None)
        rows = ops.cast(rows, self.variable_dtype) if encode is None else encode(rows)
        drive = (ops.cast(x, self.variable_dtype) for x in known.drive(ops, rows))
        return tuple(ops.reshape(x, (time, batch, x.shape[-1])) for x in drive)
