"""Layers whose state is affine in the one before, given a symbol or a vector."""

from __future__ import annotations

from typing import Any

import keras

from keras_interp_rnn._backend.keras_quirks import walk_layers

_OURS = "keras_interp_rnn>"


def registered(thing: object) -> str:
    """The name under which a class was registered: a subclass that changes the step has another."""
    return str(keras.saving.get_registered_name(type(thing)))


def is_isan_cell(cell: Any) -> bool:
    """Whether it is an ISAN's cell over a vocabulary: a cell of this package that is affine in its state."""
    affine = registered(cell).startswith(_OURS) and getattr(cell, "is_affine", False)
    return affine and cell.vocabulary_size is not None


def is_isan(layer: Any) -> bool:
    """Whether it is a recurrent layer over such a cell, of this package or `keras.layers.RNN` itself."""
    of_its_own = registered(layer).startswith(_OURS) and hasattr(layer, "cell_class")
    return (of_its_own or type(layer) is keras.layers.RNN) and is_isan_cell(layer.cell)


def is_linear_recurrence(layer: object) -> bool:
    """Whether it is a layer of this package, or its cell, whose state is affine in the one before, given vectors."""
    cell = getattr(layer, "cell", layer)
    ours = registered(layer).startswith(_OURS) and registered(cell).startswith(_OURS)
    return ours and getattr(cell, "is_linear_recurrence", False)


def reads_symbols(layer: object) -> bool:
    """Whether its state is affine in the one before, given symbols or their vectors."""
    return is_isan(layer) or is_linear_recurrence(layer)


def has_isan(network: object) -> bool:
    """Whether there is such a layer in a network, readable or not."""
    layers = walk_layers(network) if isinstance(network, keras.Model) else [network]
    return any(reads_symbols(layer) or is_isan_cell(layer) for layer in layers)


def describe(thing: Any) -> str:
    """A layer or an operation, for an error: its name, its type and what is unusual about it."""
    if not hasattr(thing, "name"):
        return repr(thing)
    name = f"{thing.name} ({type(thing).__name__}"
    if isinstance(thing, keras.layers.RNN):
        return f"{name} over {type(thing.cell).__name__})"
    if getattr(thing, "quantization_mode", None) is not None:
        return f"{name}, quantized to {thing.quantization_mode})"
    activation = getattr(thing, "activation", keras.activations.linear)
    if activation is not keras.activations.linear:
        return f"{name} with the activation {getattr(activation, '__name__', activation)!r})"
    return f"{name})"
