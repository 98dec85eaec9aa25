"""A model that reads symbols and continues a text: what it must be, and that its steps are those of the whole text."""

from __future__ import annotations

import re
from typing import Any, TypeAlias

import keras
import numpy as np
from keras import tree
from numpy.typing import NDArray

from keras_interp_rnn._arrays import as_float64, check_finite
from keras_interp_rnn._network.agreement import computed_in, other_ids
from keras_interp_rnn._network.interface import check_logits, ends_in_softmax, gives_probabilities, vocabulary_sizes
from keras_interp_rnn._network.lost_masks import warn_of_lost_masks
from keras_interp_rnn._program import operations as o
from keras_interp_rnn._program.along import treats_steps_alike
from keras_interp_rnn._program.graph import computing_layers, inputs_of, symbolic_inputs
from keras_interp_rnn._program.read import read, read_opaque
from keras_interp_rnn._program.step import AnySteps, is_precise, outputs, steps_of
from keras_interp_rnn._program.values import with_functions
from keras_interp_rnn._types import Array

Ids: TypeAlias = NDArray[np.integer[Any]]

CHECKED = 16
"""Symbols of a text, and as many others, on which a model is tried before it continues the text."""

IMPOSSIBLE = 30.0
"""A symbol whose logit is that far below the largest has a probability below 1e-13."""


class Stepper:
    """Logits of the next symbol, symbol by symbol.

    A recurrence begins with the initial states of its layer, whatever batch size, length or `stateful` the layer was
    made with; the states that it carries are neither read nor written.

    Args:
        model: Sequential or functional, from ids (batch, time) to logits or probabilities of the next symbol.
        begin: int (time,), at least one symbol, on which a Sequential model without an input is built.

    Attributes:
        outputs: number of logits.

    Raises:
        ValueError: for any other model; if a recurrence does not read forwards, each step alike.
    """

    def __init__(self, model: keras.Model, begin: Ids) -> None:
        if not isinstance(model, keras.Model):
            raise ValueError(
                f"`network` must be a model, from ids to logits, to continue a text. Received: {model!r}. Put the "
                "layer and its head into a keras.Sequential."
            )
        if not inputs_of(model):
            model(begin[None])  # a Sequential model that was not told its input yet
        tensors = [tree.flatten(getattr(model, side, None)) for side in ("inputs", "outputs")]
        ranks = [len(x.shape) for side in tensors for x in side if x is not None]
        if ranks not in ([2, 3], [2, 2]):
            raise ValueError(
                "A model must be Sequential or functional, read ids (batch, time), and output logits of the next "
                f"symbol, (batch, time, symbols) or (batch, symbols), to continue a text. Received: {model.name}, a "
                f"{type(model).__name__} with inputs and outputs of {ranks} axes. Build such a model of its layers."
            )
        check_finite(model)
        check_logits(model)
        warn_of_lost_masks(model)
        precise = all(map(is_precise, computing_layers(model)))
        self._model, self._program = model, read(model) if precise else read_opaque(model, but_recurrences=True)
        self.outputs = int(self._program.outputs[0].shape[-1] or 0)
        for operation in self._program.operations:
            if isinstance(operation.layer, keras.layers.RNN):
                _check_forwards(operation)
        [self._size] = vocabulary_sizes(model)
        known = None if self._size is None or not precise else steps_of(self._program, self._size)
        self._steps = known or AnySteps(self._program)
        self._log = ends_in_softmax(model)
        self._made: list[Array] = []

    def read(self, symbol: int) -> NDArray[np.float64]:
        """Reads one more symbol and returns the logits (symbols,) of the next one.

        Raises:
            ValueError: if the model does not read the symbol.
        """
        self._check_reads(symbol)
        output = self._steps.read(symbol)
        self._made.append(output)
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(output[0]) if self._log else output[0])

    def check(self, begin: Ids) -> None:
        """Compares running step by step with running all steps at once, before a text is continued.

        On its first symbols, and on others of the vocabulary.

        Args:
            begin: int (time,), the beginning of the text.

        Raises:
            ValueError: if they differ by more than rounding; if the outputs are neither logits nor a distribution.
        """
        self._check_reads(int(begin.min()))
        self._check_reads(int(begin.max()))
        ids = other_ids(begin, None) if self._size is None else np.arange(min(self._size, self.outputs))
        probe = np.concatenate([begin[:CHECKED], np.random.default_rng(0).choice(ids, CHECKED)])
        probe[-CHECKED // 2] = ids[0]  # what masks, most often
        try:
            made = np.concatenate([self._steps.read(int(symbol)) for symbol in probe])
            whole = self._whole(probe)
        except Exception as error:  # whatever a layer raises of one step
            message = re.sub("\x1b\\[[0-9;]*m", "", str(error))  # Keras writes in bold
            raise self._refusal(f"which fails: {' '.join(message.split())[:200]}") from error
        finally:
            self._steps.reset()
        self._compare(made, whole)
        distributions = gives_probabilities(self._model, whole)
        if not distributions:
            check_logits(self._model, whole)
        self._log = distributions

    def confirm(self, text: Ids) -> None:
        """Compares all that was read with running all steps at once.

        Args:
            text: int (time,), the symbols that were read.

        Raises:
            ValueError: if they differ by more than rounding.
        """
        self._compare(np.concatenate(self._made), self._whole(text))

    def _check_reads(self, symbol: int) -> None:
        if self._size is not None and not 0 <= symbol < self._size:
            raise ValueError(
                f"A model must read each symbol of its text. Received: the symbol {symbol}, and {self._model.name}, "
                f"which reads {self._size} symbols and has {self.outputs} outputs. Give its Embedding as many rows as "
                "it has outputs."
            )

    def _whole(self, text: Ids) -> Array:
        """The outputs (time or 1, symbols) of all steps at once: of the model, if it takes any length."""
        model, ids = self._model, text[None].astype(np.int32)
        if set(model.inputs[0].shape) == {None}:
            given = tree.pack_sequence_as(symbolic_inputs(model), [ids])
            [output] = map(as_float64, tree.flatten(model(given, training=False)))
        else:
            [output] = outputs(self._program, with_functions(self._program.operations), ids)
        return output.reshape(-1, self.outputs)

    def _compare(self, made: Array, whole: Array) -> None:
        """Raises ValueError if outputs differ by more than rounding and a small part of how far they move."""
        made = made[-len(whole) :]
        is_number = np.isfinite(whole)
        largest = np.where(is_number, whole, -np.inf).max(axis=-1, keepdims=True)
        counted = is_number & (self._log | (whole > largest - IMPOSSIBLE))
        both_small = (whole <= largest - IMPOSSIBLE) & (made <= largest - IMPOSSIBLE + 1)
        same = (whole == made) | (np.isnan(whole) & np.isnan(made)) | (~counted & both_small)
        shown = np.ma.masked_array(whole, ~counted)
        moves = np.maximum(np.ma.ptp(shown, axis=0), shown.std(axis=-1, keepdims=True)).filled(0.0)
        dtypes = {computed_in(str(layer.compute_dtype)) for layer in computing_layers(self._model)}
        epsilon = max((_EPSILON[dtype] for dtype in dtypes & _EPSILON.keys()), default=_EPSILON["float32"])
        part = 1e-9 if dtypes == {"float64"} else 1e-3
        floor = 1e-6 if self._log else 0.0
        with np.errstate(invalid="ignore"):  # of infinities
            apart = np.where(same, 0.0, np.abs(whole - made))
        if not (apart <= part * moves + 4 * epsilon * np.abs(whole) + floor).all():
            raise self._refusal(
                f"whose outputs are {np.nanmax(apart):.2g} apart when it reads symbol by symbol and when it reads all "
                "at once"
            )

    def _refusal(self, received: str) -> ValueError:
        return ValueError(
            "Only recurrent layers, and causal convolutions in float32 or float64, must look back, and no layer must "
            f"draw noise, for a model to continue a text symbol by symbol. Received: {self._model.name}, {received}. "
            "Leave out other layers that mix time steps, and layers that draw noise."
        )


_EPSILON = {"float16": 2.0**-10, "bfloat16": 2.0**-7, "float32": 2.0**-23, "float64": 2.0**-52}


def _check_forwards(operation: o.Operation) -> None:
    reasons = {
        "reads from the end": operation.layer.go_backwards,
        f"is called with {', '.join(operation.arguments)}": operation.arguments,
        "treats the last step otherwise": not treats_steps_alike(operation.layer),
    }
    reason = next((reason for reason, holds in reasons.items() if holds), "")
    if reason:
        raise ValueError(
            "Recurrent layers must read forwards, each step alike, from their own initial state, to continue a "
            f"text. Received: {operation.name}, which {reason}. Rebuild it without that; of a Bidirectional layer use "
            "its forward_layer alone."
        )
