"""A model as one file of C99: a struct of states, a function that resets it, and one that reads a step.

The model is a chain of layers that treat steps one by one, and of recurrent ones. A cell is written by its equations
(`equations`), which run on `_code.Code` in place of an array namespace: a cell with equations of its own needs nothing
here. What is not known is refused: C that computes something else than the model would be worse than none.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import math
import re
from collections.abc import Callable
from typing import Any

import keras
import numpy as np
from keras import tree

from keras_interp_rnn import layers
from keras_interp_rnn._backend.keras_quirks import mask_of, nodes_of, operation_name, walk_layers
from keras_interp_rnn._cells import CellActivation, equations_of
from keras_interp_rnn._checks import c_identifier, choice, invalid
from keras_interp_rnn._network import (
    NotAChain,
    as_float64,
    calls_of,
    check_finite,
    draws_noise,
    innermost,
    masked_calls,
    state_names,
)
from keras_interp_rnn._network.parts import FORMULAS, Activation, Linear, Normalized, channels_last, parts_of
from keras_interp_rnn._types import Array
from keras_interp_rnn.deploy._c import MATRICES, Lines, Place, Unwritten, loop
from keras_interp_rnn.deploy._code import CHOICE, Code, Given, Index, Value
from keras_interp_rnn.equations import CellEquations

RECURRENT = (
    *(keras.layers.RNN, keras.layers.SimpleRNN, keras.layers.GRU, keras.layers.LSTM),
    *(getattr(layers, name) for name in layers.__all__ if issubclass(getattr(layers, name), keras.layers.RNN)),
)
"""Layers that run their cell step by step, by exact type: a subclass may do something else."""

ACTIVATIONS: dict[Any, Callable[[Code, Any], Any]] = {
    keras.activations.linear: lambda code, x: x,
    keras.activations.relu: lambda code, x: code.maximum(x, 0.0),
    keras.activations.tanh: lambda code, x: code.tanh(x),
    keras.activations.sigmoid: lambda code, x: code.sigmoid(x),
    keras.activations.hard_sigmoid: lambda code, x: code.minimum(code.maximum(x / 6 + 0.5, 0.0), 1.0),
    keras.activations.softmax: lambda code, x: code.softmax(x),
}
"""Activation of Keras -> what it computes."""


def _masking(code: Code, layer: Any, x: Value) -> Value:
    if code.states or code.skips_masked:
        raise Unwritten("to come before every recurrent layer and any other mask")
    differs = code.expression("{} != {}", CHOICE, x, _by_feature(code, x, layer.mask_value, "mask_value"))
    code.lines += ["int differs = 0;", *loop(x.size, f"if ({differs.at('i')}) differs = 1;")]
    code.skip_if("!differs")
    return x


def _by_formula(code: Code, layer: Any, x: Value) -> Value:
    if isinstance(layer, keras.layers.LayerNormalization) and (layer.axis != [-1] or layer.rms_scaling):
        raise Unwritten(f"axis={layer.axis} with rms_scaling={layer.rms_scaling}")
    if isinstance(layer, keras.layers.Rescaling) and not channels_last(layer):
        raise Unwritten("a scale of each channel, which come first")
    y = code.value(FORMULAS[type(layer)](code, layer, x, functools.partial(_by_feature, code, x)))
    if y.size != x.size:
        raise Unwritten("a scale other than 0")
    return y


def _by_feature(code: Code, x: Value, constant: Any, name: str) -> Array:
    """A constant of a layer that reads x, as one number or as one for each feature."""
    array = code.read(constant, name)
    if array.size not in (1, x.size) or array.size != math.prod(array.shape[-1:]):
        raise Unwritten(f"{name} of shape {array.shape}")
    return array.reshape(array.size)


FILE = """\
/* The recurrent network {model} in C99, written by keras_interp_rnn.deploy.to_c.
 *
 *     {name}_state state;
 *     float output[{name}_outputs];
 *     {begin:<{width}}  begins a sequence
 *     {step_once:<{width}}  {meaning}
 *
 * The output is that of the network if the sequence ends there. Constants take {constant_bytes} bytes, the state
 * {state_bytes}. States are rows.{notes}
 */
#include <math.h>
#include <stdint.h>

enum {{ {name}_{inputs} = {size}, {name}_outputs = {outputs} }};

typedef struct {{
{fields}
}} {name}_state;

void {name}_reset({name}_state *state);
{returned} {name}_step({name}_state *state, {parameter}, float *output);

{definitions}

void {name}_reset({name}_state *state)
{{
{reset}
}}

{returned} {name}_step({name}_state *state, {parameter}, float *output)
{{
{step}
}}
"""

OF_SYMBOLS: dict[str, Any] = {
    "inputs": "symbols",
    "returned": "int",
    "parameter": "int symbol",
    "argument": "symbol",
    "meaning": "0; -1 for an unknown symbol, which changes nothing",
    "notes": [],
}
OF_VECTORS: dict[str, Any] = {
    "inputs": "inputs",
    "returned": "void",
    "parameter": "const float *x",
    "argument": "x",
    "meaning": "reads one vector",
    "notes": [
        "Inputs must be finite: a NaN can stay in the state for good. Test them by isfinite(); where one is not, skip",
        "the step or reset the state.",
    ],
}


def to_c(model: keras.Model, *, name: str = "network", weights: str = "float32") -> str:
    """A trained model of small recurrent layers as one file of C99, for a microcontroller.

    The file has a struct `NAME_state` and two functions: `NAME_reset(state)` begins a sequence, and
    `NAME_step(state, x, output)` reads one step and writes the output that the model would give if the sequence ended
    there. The code allocates no memory, has no global variables but constants, computes in float, and needs only math.h
    and stdint.h. It also compiles as C++.

    Args:
        model: Sequential or functional, built, in float32: a chain of Embedding; recurrent layers of Keras or of this
            package, or `RNN` over a cell with equations of its own, whose states are vectors; Dense; Normalization;
            Rescaling; BatchNormalization; LayerNormalization over the last axis; and the activations linear, relu,
            tanh, sigmoid, hard_sigmoid and softmax. Masking may come before the first recurrent layer. Dropout and
            other layers that do nothing outside training are omitted. The code ignores `stateful`: a sequence begins
            with `NAME_reset`.
        name: prefix of all identifiers.
        weights: "float32"; or "int8", for matrices of integers with one scale per column, which take about a fourth of
            the memory. Vectors stay in float32, and arithmetic in float.

    Returns:
        The text of the file. For a model that reads ids the step is `int NAME_step(state, int symbol, float *output)`,
        which returns 0. For an id that the model does not have it returns -1, and changes neither the state nor the
        output. An id 0 that the Embedding masks changes neither and returns 0. For a model that reads vectors the step
        is `void NAME_step(state, const float *x, float *output)`, which changes neither if a Masking layer masks the
        step.

    Exactness: the operations are those of the cell's equations in float, in a different order from Keras's. Inputs must
        be finite: a NaN can stay in the state until it is reset.

    Raises:
        ValueError: if the model has several inputs or outputs, or a layer, a flag, an activation or a dtype that is not
            supported; if it is not built; if a weight is not finite; if the name is not a C identifier.

    Example:

    >>> import keras
    >>> from keras_interp_rnn import deploy, layers
    >>> model = keras.Sequential([
    ...     keras.Input((None,), dtype="int32"),
    ...     layers.ISAN(4, vocabulary_size=3, return_sequences=True),
    ...     keras.layers.Dense(2),
    ... ])
    >>> "int parity_step(parity_state *state, int symbol, float *output);" in deploy.to_c(model, name="parity")
    True
    """
    prefix = c_identifier("name", name)
    choice("weights", weights, MATRICES)
    calls = _calls(model)
    [place] = model.inputs
    shape = place.shape
    if len(shape) != 2 and (len(shape) != 3 or shape[2] is None or "float" not in place.dtype):
        remedy = "Give it an Input (time,) of ids, or (time, features) of floats."
        raise _refusal(f"{model.name}, which reads {place.dtype} of shape {shape}", remedy)
    code = Code(prefix, weights)
    read: Any = code.symbol if len(shape) == 2 else Given(code, shape[2], Place("x"))
    output = read
    for operation, is_masked in calls:
        output = _written(code, operation, output, is_masked)
    if not code.states:
        raise _refusal(f"{model.name}, which has no recurrent layer", "Pass a model that has one.")
    return _file(code, model, read, output)


def _refusal(received: str, remedy: str) -> ValueError:
    return ValueError(
        "A model that is written as C must be one chain of layers that can be read step by step, all of a kind that "
        f"`to_c` lists. Received: {received}. {remedy}"
    )


EXPORT = "Rebuild the model without it, or export it: model.export(path, format='onnx')."


def _calls(model: Any) -> list[tuple[Any, bool]]:
    """The layers of a model from its inputs on, those of nested models too, each with whether it reads a mask.

    Raises:
        ValueError: if it is no chain in float32 with finite weights.
    """
    if not isinstance(model, keras.Model):
        raise invalid("model", "a Keras model", model, "Put the layers into a keras.Sequential.")
    if not getattr(model, "inputs", None) or not getattr(model, "outputs", None):
        raise _refusal(
            f"{model.name}, a {type(model).__name__} whose graph is not known",
            "Build a Sequential with an Input, or a functional model, of its layers.",
        )
    calls = _chain(model)
    for layer in walk_layers(model):
        for node in nodes_of(layer) if isinstance(layer, keras.Model) else ():
            _is_masked(layer, node)
        policy = "float32" if isinstance(layer, keras.Model | keras.layers.InputLayer) else layer.dtype_policy.name
        if policy != "float32":
            remedy = "Rebuild it in float32, and give it the same weights."
            raise _refusal(f"{layer.name} with the dtype policy {policy}", remedy)
    check_finite(model)
    return calls


def _chain(network: Any) -> list[tuple[Any, bool]]:
    try:
        calls = calls_of(network)
    except NotAChain as error:
        raise _refusal(error.received, EXPORT) from None
    masked = masked_calls(network)
    return [
        (call.operation, call.node is not None and (_is_masked(call.operation, call.node) or id(call.node) in masked))
        for call in calls
    ]


def _is_masked(operation: Any, node: Any) -> bool:
    """Whether an operation is called with the mask of what it reads; ValueError if it is called with anything else."""
    read, *others = node.arguments.args
    arguments = tree.flatten([others, node.arguments.kwargs])
    masks = [each for each in arguments if isinstance(each, keras.KerasTensor)]
    values = [each for each in arguments if each is not None and each is not False]
    if len(values) > len(masks) or any(mask is not mask_of(read) for mask in masks):
        received = f"{operation.name} ({type(operation).__name__}), which is called with more than what it reads"
        raise _refusal(received, "Call it without initial_state, mask and training.")
    return bool(masks)


def _written(code: Code, operation: Any, x: Any, is_masked: bool = False) -> Any:
    """The value, or the symbol, that an operation makes of one."""
    name = f"{operation.name} ({type(operation).__name__})"
    try:
        if isinstance(operation, keras.layers.RNN):
            if is_masked != code.skips_masked:
                raise _refusal(f"{name}, to which the mask of the layers before it does not come", EXPORT)
            return _recurrent(code, operation, name, x)
        if isinstance(operation, keras.layers.Embedding) and type(operation).call is keras.layers.Embedding.call:
            table = code.take(code.read(operation.embeddings), x)
            if operation.mask_zero:
                code.skip_if("symbol == 0")
            return table
        if type(operation) is layers.WordDropout:
            return x  # drops words in training alone
        if operation_name(operation) == "OneHot" and operation.axis in (-1, 2):
            return code.one_hot(x, operation.num_classes)
        comment = [f"/* {_plain(name)} */"]
        if type(operation) is keras.layers.Masking:
            return code.block(comment, lambda: _masking(code, operation, code.value(x)))
        if type(operation) in FORMULAS:
            return code.block(comment, lambda: _by_formula(code, operation, code.value(x)))
        parts = parts_of(operation)
        if parts is None:
            raise _refusal(name, EXPORT)
        return code.block(comment, lambda: _of_parts(code, name, parts, x)) if parts else x
    except Unwritten as error:
        raise _refusal(f"{name}, which needs {error}", EXPORT) from None


def _of_parts(code: Code, name: str, parts: list[Any], x: Any) -> Value:
    """A value after the parts of a layer."""
    for part in parts:
        if type(part) is Linear:
            product = code.matmul(x, code.read(part.layer.kernel))
            x = product if part.layer.bias is None else product + code.read(part.layer.bias)
        elif type(part) is Normalized:
            matrix, offset = part.arrays
            x = x * np.diag(matrix) + offset
        elif type(part) is Activation and part.function in ACTIVATIONS:
            x = ACTIVATIONS[part.function](code, x)
        elif type(part) is Activation:
            known = ", ".join(each.__name__ for each in ACTIVATIONS)
            found = getattr(part.function, "__name__", part.function)
            raise _refusal(f"{name} with activation={found}", f"Train it with {known}.")
        else:
            raise _refusal(name, EXPORT)
    return code.value(x)


def _recurrent(code: Code, layer: Any, name: str, x: Any) -> Value:
    """The output of a recurrent layer, of one cell or of a stack of cells."""
    read_otherwise = ("go_backwards", "return_state", *(["zero_output_for_mask"] if code.skips_masked else []))
    flags = [f"{flag}=True" for flag in read_otherwise if getattr(layer, flag)]
    if not getattr(layer, "regularize_last_step", True):
        flags.append("regularize_last_step=False")
    if type(layer) not in RECURRENT or flags:
        raise _refusal(" with ".join([name, *flags]), EXPORT)
    starts = [as_float64(state)[0] for state in tree.flatten(layer.get_initial_state(1))]
    for cell in getattr(layer.cell, "cells", [layer.cell]):
        count = len(tree.flatten(cell.state_size))
        x, starts = _cell(code, cell, name, starts[:count], x), starts[count:]
    output: Value = x
    return output


def _cell(code: Code, cell: Any, name: str, starts: list[Array], x: Any) -> Value:
    """The output of a cell, once its states are replaced by the next ones."""
    found = None if draws_noise(cell) else equations_of(cell, code.read)
    if found is None:
        reason = "draws noise" if draws_noise(cell) else "has no equations that are known"
        raise _refusal(f"{name}, whose cell {type(cell).__name__} {reason}", EXPORT)
    equations = _with_activations(code, found, name)
    encoder = getattr(innermost(cell), "encoder", None)
    if encoder is not None:
        skipped = code.skips_masked
        for operation, _ in _chain(encoder):
            x = _written(code, operation, x)
        if code.skips_masked != skipped:
            raise _refusal(f"{name}, whose encoder masks steps", "Put the layer that masks before it.")
    names = state_names(len(starts))
    number = 1 + sum(field.startswith("h") for field in code.states)
    states = tuple(code.state(f"{each}{number}", start) for each, start in zip(names, starts, strict=True))

    def compute() -> Value:
        drive = equations.drive(code, x)
        after, quantities = equations.step(code, states, drive)
        new = tuple(map(code.value, after))
        for each, value in (*quantities.items(), *zip(names, new, strict=True)):
            if isinstance(value, Value):
                value.name = re.sub(r"\W|^(?=\d)", "_", f"{each}_t", flags=re.ASCII)
        places = [value.place for value in new]  # all of them before a state is replaced
        for state, place in zip(states, places, strict=True):
            code.lines += loop(state.size, f"{state.at('i')} = {place.at('i')};")
        output = equations.output(code, new, drive)
        return states[0] if output is new[0] else code.value(output)

    return code.block(_comment(name, equations, x, starts), compute)


def _with_activations(code: Code, equations: Any, name: str) -> Any:
    """Equations whose activations are those of `code`, in place of Keras's."""
    changed: dict[str, Any] = {}
    for field in dataclasses.fields(equations) if dataclasses.is_dataclass(equations) else ():
        value = getattr(equations, field.name)
        value = value.function if isinstance(value, CellActivation) else value
        if isinstance(value, CellEquations):
            changed[field.name] = _with_activations(code, value, name)
        elif callable(value) and value in ACTIVATIONS:
            changed[field.name] = functools.partial(ACTIVATIONS[value], code)
        elif callable(value):
            received = f"{name} with {field.name}={getattr(value, '__name__', value)}"
            raise _refusal(received, f"Train it with {', '.join(each.__name__ for each in ACTIVATIONS)}.")
    return dataclasses.replace(equations, **changed) if changed else equations


def _plain(text: str) -> str:
    """A text that neither begins nor ends a comment, in ASCII."""
    text = re.sub(r"[^ -~]", "_", text)
    return text.replace("*/", "* /").replace("/*", "/ *").replace("\\", "").replace("??", "? ?")


def _comment(name: str, equations: Any, x: Value | Index, starts: list[Array]) -> Lines:
    """A comment with the equations of a cell, as their docstring has them, without Jacobians."""
    width = "a symbol" if isinstance(x, Index) else x.shape[-1]
    lines = [f"{name}: {width} -> {', '.join(str(start.size) for start in starts)}"]
    inner = equations
    while isinstance(inner, CellEquations):
        kind = type(inner)
        documented = inspect.getmodule(kind) if kind.__module__.startswith("keras_interp_rnn.") else kind
        text = (inspect.getdoc(documented) or "").splitlines()
        lines += [*text[:1], *(line for line in text if line.startswith("    ") and not re.search("D_|dh_t", line))]
        inner = getattr(inner, "cell", None)
    return _commented(lines)


def _commented(lines: Lines) -> Lines:
    first, *others = map(_plain, lines)
    return [f"/* {first}", *(f" * {line}".rstrip() for line in others), " */"]


def _file(code: Code, model: Any, read: Value | Index, output: Value) -> str:
    """The whole text, once all layers are written."""
    if isinstance(read, Index):
        form = {**OF_SYMBOLS, "size": code.num_symbols}
        before = [f"if (symbol < 0 || symbol >= {code.name}_symbols) return -1;"]
        after = ["return 0;"]
    else:
        form = {**OF_VECTORS, "size": read.size}
        before, after = [] if read.is_read else ["(void)x;"], []
    reset = []
    for field, start in code.states.items():
        value = code.constant(start).entry("0", "i") if start.any() else "0.0f"
        reset += loop(start.size, f"state->{field}[i] = {value};")
    begin, step_once = f"{code.name}_reset(&state);", f"{code.name}_step(&state, {form.pop('argument')}, output);"
    notes = [*form.pop("notes"), *(["A masked step changes neither state nor output."] if code.skips_masked else [])]
    return FILE.format(
        **form,
        begin=begin,
        step_once=step_once,
        width=max(len(begin), len(step_once)),
        notes="".join(f"\n * {note}" for note in notes),
        name=code.name,
        model=_plain(model.name),
        outputs=output.size,
        fields=_indented([f"float {field}[{start.size}];" for field, start in code.states.items()]),
        definitions="\n\n".join("\n".join(lines) for lines in code.definitions()),
        constant_bytes=code.num_bytes,
        state_bytes=4 * sum(start.size for start in code.states.values()),
        reset=_indented(reset),
        step=_indented([*before, *code.lines, "", *output.into(Place("output")), *after]),
    )


def _indented(lines: Lines) -> str:
    return "\n".join(f"    {line}".rstrip() for line in lines)
