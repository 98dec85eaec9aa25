"""A model as a chain of recurrent layers and a head, run and differentiated in float64.

Layers before the first recurrent one are run by Keras, once: each of them must treat every step by itself. A stack of
cells is a chain of layers of one cell each, under one mask. A cell whose equations are known runs by them in float64;
another one by its own code, in its own dtype, and is not differentiated. Layers of the head that are not known in
closed form run, and are differentiated, by Keras in their dtype. What a chain computes is compared with what Keras
computes, so that a model that is read wrongly is refused.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import keras
import numpy as np
from keras import ops, tree
from numpy.typing import NDArray

from keras_interp_rnn import _backend
from keras_interp_rnn._backend.keras_quirks import operation_name
from keras_interp_rnn._cells import equations_of
from keras_interp_rnn._network.arrays import as_array, as_float64, as_symbols, check_finite
from keras_interp_rnn._network.graph import evaluate
from keras_interp_rnn._network.linearized import _into_inputs, _read_by_equations, _vocabulary
from keras_interp_rnn._network.recurrent import step_cell
from keras_interp_rnn._network.stepper import MAX_DIFFERENCE
from keras_interp_rnn._types import Array
from keras_interp_rnn.equations import NUMPY, CellEquations

Mask = NDArray[np.bool_]

_RECURRENT = (keras.layers.RNN, keras.layers.Bidirectional)
_NOISE = (
    *(keras.layers.Dropout, keras.layers.SpatialDropout1D, keras.layers.AlphaDropout),
    *(keras.layers.GaussianDropout, keras.layers.GaussianNoise),
)
_IDENTITIES = (keras.layers.InputLayer, keras.layers.Identity, keras.layers.ActivityRegularization, *_NOISE)


class _Part(Protocol):
    """A part of a chain: its output for (rows, time, ...) or (rows, ...), and what pulls a gradient back through it."""

    def forward(self, x: Array, mask: Mask) -> Array: ...

    def backward(self, gradient: Array) -> Array: ...


@dataclass(frozen=True)
class Chain:
    """A network as a function of what its first recurrent layer reads.

    Attributes:
        inputs: (batch, time, features), float64. mask: bool (batch, time).
        parts: recurrent layers and the head, in order.
        output: (batch, outputs), the network's own, in its dtype; of a sequence of outputs the last one.
        reads_symbols: whether the inputs are one-hot vectors of symbols, or distributions over them.
    """

    inputs: Array
    mask: Mask
    parts: Sequence[_Part]
    output: Array
    reads_symbols: bool = False

    def run(self, x: Array, mask: Mask) -> Array:
        """(rows, outputs) in float64 for rows (rows, time, features)."""
        for i, part in enumerate(self.parts):
            if x.ndim == 3 and all(isinstance(later, (_Dense, _Elementwise, _Softmax)) for later in self.parts[i:]):
                x = x[:, -1]  # of what treats every step by itself, the last one alone
            x = part.forward(x, mask)
        return x[:, -1] if x.ndim == 3 else x

    def gradient(self, x: Array, mask: Mask, output: int) -> tuple[Array, Array]:
        """One output (rows,), and its gradient by the inputs, as their shape."""
        for part in self.parts:
            x = part.forward(x, mask)
        last = x[:, -1, output] if x.ndim == 3 else x[:, output]
        gradient = np.zeros_like(x)
        gradient[(slice(None), -1, output) if x.ndim == 3 else (slice(None), output)] = 1
        for part in reversed(self.parts):
            gradient = part.backward(gradient)
        return last, gradient


def open_chain(network: Any, inputs: Any, mask: Any = None) -> Chain:
    """The chain of a network.

    Args:
        network: a Sequential or functional model that is one chain of layers; a recurrent layer, Bidirectional too.
        inputs: (batch, time, ...), of the network.
        mask: bool (batch, time), of a layer; a model makes its own.

    Raises:
        ValueError: if the network has other layers, several inputs or outputs, or no recurrent layer; if a weight or an
            input is not finite; if its layers carry states; if the chain does not compute what the network does.
    """
    if len(getattr(network, "inputs", None) or [0]) > 1:
        raise ValueError(
            f"Steps are explained of a model with one input. Received: {network.name}, with {len(network.inputs)}. "
            "Pass the part that reads the sequences, keras.Model(model.inputs[i], layer.output), and a unit of that "
            "layer as target."
        )
    given = as_array("The inputs", inputs)
    if given.ndim < 2 or 0 in given.shape[:2]:
        raise ValueError(
            "The inputs must be sequences (batch, time, ...), at least one of at least one step. Received: shape="
            f"{given.shape}."
        )
    if not np.isfinite(given.astype(np.float64)).all():
        raise ValueError("The inputs must be finite. Received: NaN or infinity. Remove those sequences.")
    if isinstance(network, keras.Model) and mask is not None:
        raise ValueError("A model makes its own mask. Received: a mask besides a model. Pass the layer itself.")
    if not isinstance(network, (keras.Model, *_RECURRENT)):
        raise ValueError(
            "Steps are explained of a model with recurrent layers, or of a recurrent layer. Received: "
            f"{network!r}. Pass keras.layers.RNN(cell) for a cell."
        )
    if isinstance(network, keras.Model) and not hasattr(network, "inputs"):
        network(given)
    layers = _layers(network)
    first = next((i for i, layer in enumerate(layers) if isinstance(layer, _RECURRENT)), None)
    if first is None:
        raise _refusal(f"{network.name}, which has no recurrent layer")
    _check_carries_nothing(layers)
    x, read = ops.convert_to_tensor(given), None if mask is None else ops.convert_to_tensor(np.asarray(mask, bool))
    for layer in layers[:first]:
        if not isinstance(layer, keras.layers.Layer):
            raise _refusal(f"{layer.name} before the first recurrent layer")
        masks = layer.supports_masking or isinstance(layer, keras.layers.Embedding)
        read = layer.compute_mask(x, read) if masks else None
        x = _run_by_steps(layer, x)
    own = network(given, training=False) if mask is None else network(given, mask=np.asarray(mask, bool))
    output = as_float64(own)
    check_finite(network)
    steps = np.ones(given.shape[:2], bool) if read is None else np.asarray(ops.convert_to_numpy(read), bool)
    if steps.shape != given.shape[:2]:
        raise ValueError(
            f"mask must have the shape (batch, time) = {given.shape[:2]} of the inputs. Received: {steps.shape}."
        )
    if not steps.any(axis=1).all():
        raise ValueError(
            "Every sequence must read at least one step. Received: a mask that is False all along for sequence "
            f"{int(np.argmin(steps.any(axis=1)))}. Leave such sequences out."
        )
    kind = keras.backend.standardize_dtype(x.dtype)
    size = _vocabulary(getattr(layers[first], "forward_layer", layers[first]).cell)
    if size is not None and "int" in kind and tuple(x.shape[2:]) in ((), (1,)):
        as_symbols(np.asarray(ops.convert_to_numpy(x)).ravel(), size)
        x, kind = ops.one_hot(ops.reshape(x, x.shape[:2]), size, dtype=layers[first].variable_dtype), "float"
    if len(x.shape) != 3 or "float" not in kind:
        raise ValueError(
            "Steps are replaced by a vector, so the recurrent layer reads (batch, time, features). Received: "
            f"{kind} of shape {tuple(x.shape)} for {layers[first].name}. Put an Embedding before it."
        )
    parts = [part for layer in layers[first:] for part in _parts(layer)]
    chain = Chain(as_float64(x), steps, parts, output[:, -1] if output.ndim == 3 else output, size is not None)
    computed = chain.run(chain.inputs, steps)
    apart = float(np.abs(computed - chain.output).max()) if computed.shape == chain.output.shape else np.inf
    allowed = max(MAX_DIFFERENCE.get(layer.compute_dtype, 0) for layer in layers)
    if not apart <= allowed * max(1.0, float(np.abs(chain.output).max())):
        raise _refusal(f"{network.name}, whose output is {apart:.2g} from that of its layers run one after the other")
    return chain


OWN_INPUTS = "Pass the recurrent layer and its own inputs, and a unit of its state as target."


def _refusal(received: str, remedy: str = OWN_INPUTS) -> ValueError:
    return ValueError(
        "Steps are explained of one chain: layers that treat every step by itself, recurrent layers, and a head. "
        f"Received: {received}. {remedy}"
    )


def _layers(network: Any) -> list[Any]:
    if not isinstance(network, keras.Model):
        return [network]
    if not getattr(network, "inputs", None) or len(network.inputs) != 1 or len(network.outputs) != 1:
        raise _refusal(f"{network.name}, which has not exactly one input and one output")

    def call(operation: Any, node: Any, known: dict[int, Any]) -> list[Any]:
        read = [known[id(tensor)] for tensor in node.input_tensors]
        chains = [each for each in read if each is not None]
        # A mask, or what is made of masks alone, is no part of the chain: it is computed beside it.
        if operation_name(operation) == "NotEqual" or not chains:
            return [None] * len(node.output_tensors)
        if len(chains) != 1:
            raise _refusal(f"{operation.name}, which reads {len(chains)} tensors")
        parts = _layers(operation) if isinstance(operation, keras.Model) else [operation]
        return [[*chains[0], *parts]] * len(node.output_tensors)

    start: Any = []
    [chain] = evaluate(network, [start], call)
    if chain is None:
        raise _refusal(f"{network.name}, whose output is a mask")
    return list(chain)


def _check_carries_nothing(layers: Sequence[Any]) -> None:
    for layer in layers:
        flags = []
        if isinstance(layer, _RECURRENT):
            flags = [flag for flag in ("stateful", "return_state") if getattr(layer, flag)]
        if isinstance(layer, keras.layers.RNN) and layer.go_backwards and layer.return_sequences:
            flags.append("go_backwards")
        if flags:
            raise _refusal(
                f"{layer.name} with {' and '.join(f'{flag}=True' for flag in flags)}",
                f"Rebuild it without {' and '.join(flags)}, and give it the same weights.",
            )


def _parts(layer: Any) -> list[_Part]:
    kind = type(layer)
    if isinstance(layer, keras.layers.Bidirectional):
        return [_Both(layer)]
    if isinstance(layer, keras.layers.RNN):
        return list(_of_cells(layer, layer.return_sequences))
    if isinstance(layer, (*_IDENTITIES, keras.layers.Masking)):
        return []
    if kind is keras.layers.Dense and layer.quantization_mode is None and not layer.lora_enabled:
        bias = np.zeros(layer.units) if layer.bias is None else as_float64(layer.bias)
        return [_Dense(as_float64(layer.kernel), bias), *_activation(layer.activation, layer)]
    if kind is keras.layers.Activation:
        return _activation(layer.activation, layer)
    if kind is keras.layers.Softmax and layer.axis == -1:
        return [_Softmax()]
    if kind is keras.layers.GlobalAveragePooling1D and not layer.keepdims:
        return [_Mean()]
    if isinstance(layer, keras.layers.Layer):
        return [_ByKeras(layer, layer)]
    raise _refusal(f"{layer.name} ({kind.__name__})")


def _activation(activation: Any, layer: Any) -> list[_Part]:
    if activation is keras.activations.linear:
        return []
    if activation is keras.activations.softmax:
        return [_Softmax()]
    if activation not in _SLOPES:
        return [_ByKeras(layer, activation)]
    return [_Elementwise(*_SLOPES[activation])]


def _run_by_steps(layer: Any, x: Any) -> Any:
    """What a layer makes of sequences (batch, time, ...); ValueError unless it treats every step by itself."""
    together = layer(x, training=False)
    try:
        alone = as_float64(layer(ops.reshape(x, (-1, 1, *x.shape[2:])), training=False)).reshape(together.shape)
    except Exception:  # whatever the backend raises of a layer that needs another number of steps
        alone = np.full(together.shape, np.nan)
    if not np.allclose(as_float64(together), alone, rtol=1e-4, atol=1e-5):
        raise _refusal(
            f"{layer.name} ({type(layer).__name__}) before the first recurrent layer, which mixes steps",
            "Pass keras.Sequential of the layers after it, and what it outputs.",
        )
    return together


_SLOPES = {
    keras.activations.sigmoid: (NUMPY.sigmoid, lambda y: y * (1 - y)),
    keras.activations.tanh: (np.tanh, lambda y: 1 - y * y),
    keras.activations.relu: (lambda x: np.maximum(x, 0), lambda y: (y > 0).astype(np.float64)),
}
"""Activation -> its function, and its slope in terms of its value."""


class _ByKeras:
    """A layer, or a function, that Keras runs and differentiates, in the dtype of the layer."""

    def __init__(self, layer: Any, function: Any) -> None:
        self.name, self.dtype, self.function = layer.name, layer.compute_dtype, function
        named = inspect.signature(getattr(function, "call", function)).parameters
        self.takes = named.keys() & {"mask", "training"}

    def _run(self, x: Any) -> Any:
        arguments = {"training": False, "mask": self.mask if len(x.shape) == 3 else None}
        return self.function(x, **{name: arguments[name] for name in self.takes})

    def forward(self, x: Array, mask: Mask) -> Array:
        self.inputs, self.mask = x.astype(self.dtype), mask
        output = as_float64(self._run(ops.convert_to_tensor(self.inputs)))
        if output.ndim == 3 and output.shape[1] != x.shape[1]:
            raise _refusal(f"{self.name}, which changes the number of steps")
        return output

    def backward(self, gradient: Array) -> Array:
        weights = ops.convert_to_tensor(gradient.astype(self.dtype))
        return np.asarray(_backend.gradient(lambda x: ops.sum(self._run(x) * weights), self.inputs), np.float64)


class _Dense:
    def __init__(self, kernel: Array, bias: Array) -> None:
        self.kernel, self.bias = kernel, bias

    def forward(self, x: Array, mask: Mask) -> Array:
        return x @ self.kernel + self.bias

    def backward(self, gradient: Array) -> Array:
        return gradient @ self.kernel.T


class _Elementwise:
    def __init__(self, function: Any, slope: Any) -> None:
        self.function, self.slope = function, slope

    def forward(self, x: Array, mask: Mask) -> Array:
        self.value = self.function(x)
        return self.value

    def backward(self, gradient: Array) -> Array:
        return gradient * self.slope(self.value)


class _Softmax:
    def forward(self, x: Array, mask: Mask) -> Array:
        self.value = NUMPY.softmax(x)
        return self.value

    def backward(self, gradient: Array) -> Array:
        return self.value * (gradient - (gradient * self.value).sum(axis=-1, keepdims=True))


class _Mean:
    def forward(self, x: Array, mask: Mask) -> Array:
        self.weights = (mask / mask.sum(axis=1, keepdims=True))[:, :, None]
        return (x * self.weights).sum(axis=1)

    def backward(self, gradient: Array) -> Array:
        return gradient[:, None, :] * self.weights


def _of_cells(layer: Any, sequences: bool) -> list[_Recurrent]:
    cells = list(getattr(layer.cell, "cells", [layer.cell]))
    starts = [as_float64(ops.cast(x, layer.variable_dtype))[0] for x in tree.flatten(layer.get_initial_state(1))]
    parts = []
    for i, cell in enumerate(cells):
        count = len(tree.flatten(cell.state_size))
        own, starts = starts[:count], starts[count:]
        parts.append(_Recurrent(layer, cell, own, sequences or i < len(cells) - 1))
    return parts


class _Recurrent:
    """One cell along sequences, in the reading order of its layer; outputs in that order too."""

    def __init__(self, layer: Any, cell: Any, starts: list[Array], sequences: bool) -> None:
        self.layer, self.cell, self.starts, self.sequences = layer, cell, starts, sequences
        self.equations = equations_of(cell, as_float64)
        if getattr(getattr(cell, "transition", None), "is_deterministic", True) is False:
            raise _refusal(f"{layer.name}, which draws noise")

    def forward(self, x: Array, mask: Mask) -> Array:
        back = self.layer.go_backwards
        self.inputs, self.read = (x[:, ::-1], mask[:, ::-1]) if back else (x, mask)
        rows, steps = self.read.shape
        last = np.zeros(self.read.shape, bool)
        if not getattr(self.layer, "regularize_last_step", True):
            last[np.arange(rows), steps - 1 - np.argmax(self.read[:, ::-1], axis=1)] = True
        self.last = last
        states = tuple(np.tile(start, (rows, 1)) for start in self.starts)
        output: Array | None = None
        self.before, outputs = [], []
        drive = None if self.equations is None else self._drive(self.equations)
        self.drive: tuple[Array, ...] = drive or ()
        for t in range(steps):
            self.before.append(states)
            read = self.read[:, t, None]
            if self.equations is None or drive is None:
                put_out, new = self._by_the_layer(self.inputs[:, t], states)
            else:
                now = tuple(part[:, t] for part in drive)
                new = self._step(states, now, last[:, t, None])
                put_out = self.equations.output(NUMPY, new, now)
            states = tuple(np.where(read, a, b) for a, b in zip(new, states, strict=True))
            output = np.where(read, put_out, np.zeros_like(put_out) if output is None else output)
            outputs.append(np.where(read, output, 0) if self.layer.zero_output_for_mask else output)
        return np.stack(outputs, axis=1) if self.sequences else outputs[-1]

    def _drive(self, equations: CellEquations) -> tuple[Array, ...]:
        return equations.drive(NUMPY, _read_by_equations(self.cell, self.inputs))

    def _step(self, states: tuple[Array, ...], now: tuple[Array, ...], last: Mask) -> tuple[Array, ...]:
        assert self.equations is not None
        new = self.equations.step(NUMPY, states, now).states
        if last.any():
            plain = self.equations.cell.step(NUMPY, states, now).states  # type: ignore[attr-defined]
            new = tuple(np.where(last, a, b) for a, b in zip(plain, new, strict=True))
        return new

    def _by_the_layer(self, x: Array, states: tuple[Array, ...]) -> tuple[Array, tuple[Array, ...]]:
        tensors = [ops.convert_to_tensor(part, dtype=self.cell.compute_dtype) for part in (x, *states)]
        output, new = step_cell(self.cell, tensors[0], tensors[1:])
        return as_float64(output), tuple(as_float64(part) for part in new)

    def backward(self, gradient: Array) -> Array:
        known = self.equations
        if known is None or not (known.has_derivative and known.outputs_state):
            raise ValueError(
                "The path integral needs the derivative of every cell in closed form. Received: "
                f"{self.cell.name} ({type(self.cell).__name__}). Use method='telescoping' or 'occlusion'."
            )
        rows, steps = self.read.shape
        if not self.sequences:
            whole = np.zeros((rows, steps, gradient.shape[-1]))
            whole[:, -1] = gradient
            gradient = whole
        result = np.zeros(self.inputs.shape)
        sizes = [part.shape[1] for part in self.before[0]]
        carried = np.zeros((rows, 1, sum(sizes)))
        repeated = np.zeros((rows, sizes[0]))
        for t in reversed(range(steps)):
            read = self.read[:, t, None]
            passes = read if self.layer.zero_output_for_mask else np.ones_like(read)
            repeated = repeated + gradient[:, t] * passes
            given = carried.copy()
            given[:, 0, : sizes[0]] += repeated
            now = tuple(part[:, t] for part in self.drive)
            before, by_input = self._pull(known, self.before[t], now, t)(given)
            if self.last[:, t].any():
                inner = known.cell  # type: ignore[attr-defined]
                others = self._pull(inner, self.before[t], now, t)(given)
                at = self.last[:, t, None, None]
                before, by_input = np.where(at, others[0], before), np.where(at, others[1], by_input)
            result[:, t] = np.where(read, by_input[:, 0], 0)
            carried = np.where(read[..., None], before, carried)
            repeated = np.where(read, 0, repeated)
        return result[:, ::-1] if self.layer.go_backwards else result

    def _pull(self, equations: CellEquations, states: tuple[Array, ...], now: tuple[Array, ...], t: int) -> Any:
        linear = equations.linearization(NUMPY, states, now)
        into = _into_inputs(self.cell, linear.input, self.inputs[:, t])
        return lambda product: (linear.before(product), into(product))


class _Both:
    """A Bidirectional layer."""

    def __init__(self, layer: Any) -> None:
        if layer.merge_mode not in ("concat", "sum", "ave"):
            raise _refusal(f"{layer.name} with merge_mode={layer.merge_mode!r}")
        self.mode, self.sequences = layer.merge_mode, layer.return_sequences
        self.sides = [_of_cells(side, layer.return_sequences) for side in (layer.forward_layer, layer.backward_layer)]
        if any(len(side) > 1 for side in self.sides):
            raise _refusal(f"{layer.name} over a stack of cells")

    def forward(self, x: Array, mask: Mask) -> Array:
        first, second = (side[0].forward(x, mask) for side in self.sides)
        second = second[:, ::-1] if self.sequences else second
        self.units = first.shape[-1]
        if self.mode == "concat":
            return np.concatenate([first, second], axis=-1)
        return (first + second) * (0.5 if self.mode == "ave" else 1.0)

    def backward(self, gradient: Array) -> Array:
        scaled = gradient * (0.5 if self.mode == "ave" else 1.0)
        first, second = (scaled, scaled) if self.mode != "concat" else np.split(scaled, [self.units], axis=-1)
        second = second[:, ::-1] if self.sequences else second
        return self.sides[0][0].backward(first) + self.sides[1][0].backward(second)
