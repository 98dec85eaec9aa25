"""The layers above recurrent ones, as functions in float64 and their derivatives: one list, extended here.

A layer is a few parts, one after the other. Types are exact: a subclass, or a layer that was quantized, may compute
something else, and has none.
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable
from typing import Any, Protocol

import keras
import numpy as np
from keras import ops
from numpy.typing import NDArray

from keras_interp_rnn import _backend
from keras_interp_rnn._backend.keras_quirks import operation_name, with_mask
from keras_interp_rnn._network.arrays import as_float64
from keras_interp_rnn._types import Array, Tensor
from keras_interp_rnn.equations import NUMPY

Mask = NDArray[np.bool_]

IDENTITIES = (
    *(keras.layers.InputLayer, keras.layers.Identity, keras.layers.ActivityRegularization),
    *(keras.layers.Dropout, keras.layers.SpatialDropout1D, keras.layers.AlphaDropout),
    *(keras.layers.GaussianDropout, keras.layers.GaussianNoise),
)
"""Layers whose output is their input, outside training."""

BY_FEATURE = (keras.layers.Dense, keras.layers.Activation, keras.layers.Softmax)
"""Layers that compute the same of a step alone as of all steps."""

ALPHABET = "keras_interp_rnn>AlphabetLayer"
"""The registered name of a layer of `datasets`, which passes on what it reads."""

WORD_DROPOUT = "keras_interp_rnn>WordDropout"
"""The registered name of a layer that changes nothing outside training."""


class Part(Protocol):
    """A function of (rows, time, ...) or (rows, ...), and what pulls a gradient back through its last values.

    It reads the mask (rows, time) that its layer is given, None where it is given none.
    """

    def forward(self, x: Array, mask: Mask | None) -> Array: ...

    def backward(self, gradient: Array) -> Array: ...


def registered(thing: Any) -> str:
    """The name under which a class was registered: a subclass that changes the step has another."""
    return str(keras.saving.get_registered_name(type(thing)))


def parts_of(layer: Any) -> list[Linear | Featurewise | Activation | Mean | Zeroed] | None:
    """The parts of a layer, outside training; None for one that is not on the list."""
    kind = type(layer)
    if kind in IDENTITIES or registered(layer) == ALPHABET:
        return []
    if kind is keras.layers.Dense and layer.quantization_mode is None:
        return [Linear(layer), *_activation(layer.activation, layer)]
    if kind is keras.layers.TimeDistributed and type(layer.layer) in BY_FEATURE:
        return parts_of(layer.layer)
    if kind is keras.layers.BatchNormalization and layer.axis == -1:
        return [Normalized(layer)]
    if kind in FORMULAS and reads_features(layer):
        return [Featurewise(layer)]
    if kind is keras.layers.Activation:
        return [*_activation(layer.activation, layer)]
    if operation_name(layer) == "Softmax" and layer.axis == -1:  # a layer, or an operation of keras.ops
        return [Activation(keras.activations.softmax, layer)]
    if operation_name(layer) == "Sigmoid":
        return [Activation(keras.activations.sigmoid, layer)]
    if kind is keras.layers.Masking and layer.mask_value == 0:
        return [Zeroed()]
    if kind is keras.layers.GlobalAveragePooling1D and layer.data_format == "channels_last" and not layer.keepdims:
        return [Mean()]
    return None


def _activation(function: Any, layer: Any) -> list[Activation]:
    return [] if function is keras.activations.linear else [Activation(function, layer)]


class Linear:
    """x R + c: a Dense layer."""

    def __init__(self, layer: Any) -> None:
        self.layer = layer

    @functools.cached_property
    def arrays(self) -> tuple[Array, Array]:
        """R and c."""
        matrix, bias = as_float64(self.layer.kernel), self.layer.bias
        return matrix, np.zeros(matrix.shape[1]) if bias is None else as_float64(bias)

    def forward(self, x: Array, mask: Mask | None) -> Array:
        matrix, bias = self.arrays
        return np.asarray(x @ matrix + bias)

    def backward(self, gradient: Array) -> Array:
        return np.asarray(gradient @ self.arrays[0].T)


class Normalized(Linear):
    """A BatchNormalization outside training: x diag(s) + c, s = gamma / sqrt(variance + epsilon)."""

    @functools.cached_property
    def arrays(self) -> tuple[Array, Array]:
        """diag(s) and c = beta - mean s."""
        layer = self.layer
        mean, variance = as_float64(layer.moving_mean), as_float64(layer.moving_variance)
        scale = 1 / np.sqrt(variance + layer.epsilon)
        scale = scale if layer.gamma is None else scale * as_float64(layer.gamma)
        return np.diag(scale), (0.0 if layer.beta is None else as_float64(layer.beta)) - mean * scale


def _normalization(xp: Any, layer: Any, x: Any, read: Any) -> Any:
    mean = read(layer.mean, "mean")
    deviation = np.maximum(np.sqrt(as_float64(layer.variance)), keras.config.epsilon())
    if layer.invert:
        return x * read(deviation, "deviation") + mean
    return (x - mean) * read(1 / deviation, "scale")  # large numbers keep their digits in x - mean


def _layer_normalization(xp: Any, layer: Any, x: Any, read: Any) -> Any:
    centred = x - xp.mean(x, axis=-1, keepdims=True)
    y = centred / xp.sqrt(xp.mean(centred * centred, axis=-1, keepdims=True) + layer.epsilon)
    y = y if layer.gamma is None else y * read(layer.gamma, "gamma")
    return y if layer.beta is None else y + read(layer.beta, "beta")


def _rescaling(xp: Any, layer: Any, x: Any, read: Any) -> Any:
    return x * read(layer.scale, "scale") + read(layer.offset, "offset")


FORMULAS: dict[Any, Callable[[Any, Any, Any, Any], Any]] = {
    keras.layers.Normalization: _normalization,
    keras.layers.LayerNormalization: _layer_normalization,
    keras.layers.Rescaling: _rescaling,
}
"""Layer with as many outputs as inputs -> its values by an array namespace.

`read(constant, name)` is one number, or one for each feature. `deploy` writes the formulas as C.
"""
SHIFTS = ("mean", "offset")
"""Constants without which the formulas of Normalization and Rescaling are products."""


def reads_features(layer: Any) -> bool:
    """Whether a layer of `FORMULAS` has one constant for all features, or one for each."""
    if isinstance(layer, keras.layers.LayerNormalization):
        last = len((layer.get_build_config() or {}).get("input_shape") or ()) - 1  # as Keras 3.16 writes the axis
        return layer.axis in ([-1], [last]) and not layer.rms_scaling
    if isinstance(layer, keras.layers.Normalization):
        return layer.mean is not None and math.prod(layer.mean.shape[:-1]) == 1
    return np.ndim(layer.scale) < 2 and np.ndim(layer.offset) < 2 and channels_last(layer)


def channels_last(layer: Any) -> bool:
    """Whether a Rescaling multiplies the last axis."""
    return np.ndim(layer.scale) == 0 or keras.config.image_data_format() == "channels_last"


class Featurewise:
    """A layer of `FORMULAS`."""

    def __init__(self, layer: Any) -> None:
        self.layer = layer

    def _values(self, x: Array, shifted: bool = True) -> Array:
        def read(constant: Any, name: str) -> Any:
            return as_float64(constant).ravel() if shifted or name not in SHIFTS else 0.0

        return np.asarray(FORMULAS[type(self.layer)](NUMPY, self.layer, x, read))

    def forward(self, x: Array, mask: Mask | None) -> Array:
        self.inputs = x
        return self._values(x)

    def backward(self, gradient: Array) -> Array:
        if not isinstance(self.layer, keras.layers.LayerNormalization):
            return self._values(gradient, shifted=False)
        gradient = gradient if self.layer.gamma is None else gradient * as_float64(self.layer.gamma)
        centred = self.inputs - self.inputs.mean(axis=-1, keepdims=True)
        variance = (centred**2).mean(axis=-1, keepdims=True) + self.layer.epsilon
        along = centred * (gradient * centred).mean(axis=-1, keepdims=True) / variance
        return np.asarray((gradient - gradient.mean(axis=-1, keepdims=True) - along) / np.sqrt(variance))


class Mean:
    """The mean over the steps that are read."""

    def forward(self, x: Array, mask: Mask | None) -> Array:
        mask = np.ones(x.shape[:2], bool) if mask is None else mask
        with np.errstate(invalid="ignore"):  # NaN for a sequence without a step, as of Keras
            self.weights: Array = (mask / mask.sum(axis=1, keepdims=True))[:, :, None]
        return np.asarray((x * self.weights).sum(axis=1))

    def backward(self, gradient: Array) -> Array:
        return gradient[:, None, :] * self.weights


class Zeroed:
    """0 where all is 0: the same values, and for the layers above another mask."""

    def forward(self, x: Array, mask: Mask | None) -> Array:
        return x

    def backward(self, gradient: Array) -> Array:
        return gradient


class ByKeras:
    """A function that Keras runs and differentiates, in a dtype."""

    def __init__(self, name: str, function: Any, dtype: str) -> None:
        self.name, self.function, self.dtype = name, function, dtype

    def _run(self, x: Any) -> Any:
        takes = inspect.signature(getattr(self.function, "call", self.function)).parameters
        masked = with_mask(x, self.mask if len(x.shape) == 3 else None)
        return self.function(masked, **({"training": False} if "training" in takes else {}))

    def forward(self, x: Array, mask: Mask | None) -> Array:
        self.inputs, self.mask = x.astype(self.dtype), mask
        return as_float64(self._run(ops.convert_to_tensor(self.inputs)))

    def backward(self, gradient: Array) -> Array:
        weights = ops.convert_to_tensor(gradient.astype(self.dtype))
        return np.asarray(_backend.gradient(lambda x: ops.sum(self._run(x) * weights), self.inputs), np.float64)


RESHAPING = ("Flatten", "Reshape", "Squeeze", "ExpandDims")
"""Layers and operations that change the shape alone."""


class Reshaped(ByKeras):
    """The same numbers in another shape, as Keras orders them."""

    closed = True

    def forward(self, x: Array, mask: Mask | None) -> Array:
        self.shape, self.mask = x.shape, mask
        places = np.tile(np.arange(x[0].size, dtype="int32").reshape(x.shape[1:]), (2, *[1] * (x.ndim - 1)))
        self.order = ops.convert_to_numpy(self._run(ops.convert_to_tensor(places)))[0]
        return x.reshape(len(x), -1)[:, self.order.ravel()].reshape(len(x), *self.order.shape)

    def backward(self, gradient: Array) -> Array:
        flat = np.zeros((len(gradient), math.prod(self.shape[1:])))
        flat[:, self.order.ravel()] = gradient.reshape(len(gradient), -1)
        return flat.reshape(len(gradient), *self.shape[1:])


_CLOSED: dict[Any, tuple[Callable[[Array], Array], Callable[[Array, Array], Array]]] = {
    keras.activations.sigmoid: (NUMPY.sigmoid, lambda y, gradient: gradient * y * (1 - y)),
    keras.activations.tanh: (np.tanh, lambda y, gradient: gradient * (1 - y * y)),
    keras.activations.relu: (lambda x: np.maximum(x, 0), lambda y, gradient: gradient * (y > 0)),
    keras.activations.softmax: (NUMPY.softmax, lambda y, gradient: y * (gradient - (gradient * y).sum(-1)[..., None])),
}
"""Activation -> its function, and what its value y makes of a gradient."""

OPERATIONS = {
    ops.sigmoid: keras.activations.sigmoid,
    ops.tanh: keras.activations.tanh,
    ops.relu: keras.activations.relu,
    ops.softmax: keras.activations.softmax,
}
"""Function of keras.ops -> the activation that it is."""

PROBABILITIES = {keras.activations.softmax: "softmax", keras.activations.sigmoid: "sigmoid"}
"""Activations that make probabilities of logits."""


class Activation(ByKeras):
    """An activation; of those that are not known in closed form by Keras, in the dtype of their layer."""

    def __init__(self, function: Any, layer: Any) -> None:
        function = OPERATIONS.get(function, function)
        self.closed = _CLOSED.get(function)
        super().__init__(layer.name, function, "float64" if self.closed else layer.compute_dtype)

    def forward(self, x: Array, mask: Mask | None) -> Array:
        self.value = super().forward(x, mask) if self.closed is None else self.closed[0](x)
        return self.value

    def backward(self, gradient: Array) -> Array:
        if self.closed is None:
            return super().backward(gradient)
        return self.closed[1](self.value, gradient)


EACH_STEP = (Linear, Featurewise, Activation)
"""Parts that treat every step by itself."""


def activation_of(part: Part | None) -> str | None:
    """The activation, "softmax" or "sigmoid", where a part makes probabilities of logits."""
    return PROBABILITIES.get(part.function) if isinstance(part, Activation) else None


def probabilities_by(operation: keras.Operation) -> str | None:
    """The activation, "softmax" or "sigmoid", by which a layer or an operation makes probabilities of logits."""
    parts = parts_of(operation)
    return activation_of(parts[-1] if parts else None)


def logits_by(operation: keras.Operation, x: Tensor) -> Tensor:
    """The logits (rows, ...), as a tensor, that an operation of `probabilities_by` makes probabilities of."""
    layer = operation.layer if type(operation) is keras.layers.TimeDistributed else operation
    if type(layer) is not keras.layers.Dense:
        return x
    product = ops.matmul(ops.cast(x, layer.compute_dtype), ops.cast(layer.kernel, layer.compute_dtype))
    return product if layer.bias is None else ops.add(product, ops.cast(layer.bias, layer.compute_dtype))
