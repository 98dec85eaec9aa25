"""The part of a network from what its lowest recurrent layer reads to the outputs of the uppermost one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from keras_interp_rnn._network.vectors import Network
from keras_interp_rnn._program import operations as o
from keras_interp_rnn._program.along import Mask
from keras_interp_rnn._program.read import RECURRENT, needed
from keras_interp_rnn._program.values import ByKeras, Cells, Known, Step, backward, forward
from keras_interp_rnn._types import Array


class RecurrentPart:
    """The recurrent layers of a network, and what is between them.

    Attributes:
        inputs: (batch, time, features), what the lowest one reads. read: bool (batch, time), the steps that it reads.

    Raises:
        ValueError: if the layers read something else than the lowest one does, and than the layers below them make.
    """

    def __init__(self, network: Network) -> None:
        places = [i for i, step in enumerate(network.steps) if isinstance(step.operation.layer, RECURRENT)]
        below, self._steps = network.steps[: places[0]], network.steps[places[0] : places[-1] + 1]
        lowest, uppermost = self._steps[0].operation, self._steps[-1].operation
        self._network, self._from, self._to = network, lowest.reads[0], uppermost.makes[0]
        _check_order(self._steps)
        needs = needed([step.operation for step in self._steps], [self._to])
        parallel = next((step for step in self._steps if _is_recurrent(step) and step.operation not in needs), None)
        if parallel is not None:
            raise ValueError(
                "The outputs of the uppermost recurrent layer must follow from those of all others, for derivatives of "
                f"them. Received: {parallel.operation.name}, on which {uppermost.name} does not depend. Pass one layer "
                "and its own inputs."
            )
        reached = {*network.sources, *(value for step in below for value in step.operation.makes)} - {self._from}
        other = next((step for step in self._steps if reached.intersection(step.operation.reads)), None)
        if other is not None:
            raise ValueError(
                "The recurrent layers of a network must read what the lowest one reads, or what comes after it, for "
                f"derivatives by these inputs. Received: {other.operation.name}, which also reads what comes before "
                f"{lowest.name}. Pass one layer and its own inputs."
            )
        above = {value for step in network.steps[places[-1] + 1 :] for value in step.operation.reads}
        if above.intersection(uppermost.makes[1:]):
            raise ValueError(
                "The uppermost recurrent layer must have one output. Received: "
                f"{uppermost.name}, of which more is read. Rebuild it without return_state, or with "
                "merge_mode='concat', and give it the same weights."
            )
        each = np.arange(len(network.inputs))
        known = network.start(network.inputs, each)
        forward(below, known)
        self.inputs: Array = known[self._from]
        self._units = int(network.known[self._to].shape[-1])
        mask = lowest.mask or self._from.mask
        everything = np.ones(network.mask.shape, bool)
        self.read: Mask = everything if mask is None else network.held(mask, each)

    @property
    def is_closed(self) -> bool:
        """Whether all derivatives come from equations."""
        functions = [step.function for step in self._steps]
        cells = [cell for function in functions if isinstance(function, Cells) for cell in function.cells]
        return all(cell.is_closed for cell in cells) and not any(isinstance(each, ByKeras) for each in functions)

    def outputs_by_inputs(self) -> Iterator[tuple[Array, Mask]]:
        """For each sequence dy/dx (n, time, features), and which steps are read.

        y is the output; of a sequence of outputs the one after the last step read.
        """
        for row, (x, read) in enumerate(zip(self.inputs, self.read, strict=True)):
            output, each = self._values(x, row)[self._to], np.arange(self._units)
            gradient = np.zeros_like(output)
            gradient[(each, np.flatnonzero(read)[-1], each) if output.ndim == 3 else (each, each)] = 1
            gradients = {self._to: gradient}
            backward(self._steps, gradients)
            yield gradients[self._from], read

    def _values(self, x: Array, row: int) -> Known:
        """All values where one row for each output reads the same sequence."""
        rows = np.full(self._units, row)
        known = self._network.start(self._network.inputs[rows], rows)
        known[self._from] = np.repeat(x[None], self._units, axis=0)
        forward(self._steps, known)
        return known


def _is_recurrent(step: Step) -> bool:
    return isinstance(step.operation, o.Recur | o.Opaque) and isinstance(step.operation.layer, RECURRENT)


def _check_order(steps: Sequence[Step]) -> None:
    """Raises ValueError for a layer whose outputs are in another order than the steps."""
    for operation, _ in steps:
        if not isinstance(operation, o.Recur) or operation.in_order:
            continue
        if operation.backwards and operation.sequences:
            raise ValueError(
                f"The outputs of recurrent layers must be in the order of the steps. Received: {operation.name} with "
                "go_backwards=True and return_sequences=True. Rebuild it without go_backwards, and give it the same "
                "weights."
            )
