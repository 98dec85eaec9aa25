"""A model as one file of C99: a struct of states, a function that resets it, and one that reads a step.

The model is a program of operations that treat steps one by one, and of recurrences. A cell is written by its equations
(`equations`), which run on `_code.Code` in place of an array namespace: a cell with equations of its own needs nothing
here. What is not known is refused: C that computes something else than the model would be worse than none.
"""

from __future__ import annotations

import collections
import dataclasses
import functools
import inspect
import operator
import re
from collections.abc import Callable, Iterator
from typing import Any

import keras
import numpy as np
from keras import tree

from keras_interp_rnn._arrays import as_float64, check_finite
from keras_interp_rnn._cells import CellActivation, equations_of
from keras_interp_rnn._checks import c_identifier, choice, invalid
from keras_interp_rnn._program import Program, draws_noise, read, read_layer, state_names
from keras_interp_rnn._program import operations as o
from keras_interp_rnn._program.along import cells_of, encoder_of, treats_steps_alike
from keras_interp_rnn._program.graph import computing_layers, runs_its_graph
from keras_interp_rnn._types import Array
from keras_interp_rnn.deploy._c import MATRICES, Lines, Place, Unwritten, loop, plus
from keras_interp_rnn.deploy._code import Code
from keras_interp_rnn.deploy._values import CHOICE, Given, Index, Value
from keras_interp_rnn.equations import CellEquations

ACTIVATIONS: dict[Any, Callable[[Any, Any], Any]] = {
    keras.activations.linear: lambda code, x: x,
    keras.activations.relu: lambda code, x: code.maximum(x, 0.0),
    keras.activations.tanh: lambda code, x: code.tanh(x),
    keras.activations.sigmoid: lambda code, x: code.sigmoid(x),
    keras.activations.hard_sigmoid: lambda code, x: code.minimum(code.maximum(x / 6 + 0.5, 0.0), 1.0),
    keras.activations.softmax: lambda code, x: code.softmax(x),
}
"""Activation of Keras -> what it computes, in the array namespace that writes it."""


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
        model: Sequential or functional, built, in float32, of one input and one output: Embedding; recurrent layers of
            Keras or of this package, or `RNN` over a cell with equations of its own, whose states are vectors; Dense;
            Conv1D with padding="causal", if no steps are masked; the last step, x[:, -1]; Normalization; Rescaling;
            BatchNormalization; LayerNormalization over the last axis; Add, Subtract, Average and Concatenate; and the
            activations linear, relu, tanh, sigmoid, hard_sigmoid and softmax. Masking may come before the first
            recurrent layer. Dropout and other layers that do nothing outside training are omitted. The code ignores
            `stateful`: a sequence begins with `NAME_reset`.
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
    program = _program(model)
    [place] = program.inputs
    code = Code(prefix, weights, reads_symbols=len(place.shape) == 2)
    given: Any
    match place.shape:
        case (_, _):
            given = code.symbol
        case (_, _, int(features)) if "float" in place.dtype:
            given = Given(code, features, Place("x"))
        case shape:
            remedy = "Give it an Input (time,) of ids, or (time, features) of floats."
            raise _refusal(f"{model.name}, which reads {place.dtype} of shape {shape}", remedy)
    output = _written(code, program, given)
    if not code.states:
        raise _refusal(f"{model.name}, which has no recurrent layer", "Pass a model that has one.")
    return _file(code, model, given, output)


def _refusal(received: str, remedy: str) -> ValueError:
    return ValueError(
        "A model that is written as C must be of layers that can be read step by step, all of a kind that `to_c` "
        f"lists. Received: {received}. {remedy}"
    )


EXPORT = "Rebuild the model without it, or export it: model.export(path, format='onnx')."


def _program(model: object) -> Program:
    """The program of a model.

    Raises:
        ValueError: if it has no graph, several inputs or outputs, another dtype than float32, or weights not finite.
    """
    if not isinstance(model, keras.Model):
        raise invalid("model", "a Keras model", model, "Put the layers into a keras.Sequential.")
    if not runs_its_graph(model):
        raise _refusal(
            f"{model.name}, a {type(model).__name__} whose graph is not known",
            "Build a Sequential with an Input, or a functional model, of its layers.",
        )
    if len(model.inputs) != 1 or len(model.outputs) != 1:
        raise _refusal(f"{model.name}, which has not exactly one input and one output", EXPORT)
    for layer in computing_layers(model):
        if (policy := layer.dtype_policy.name) != "float32":
            remedy = "Rebuild it in float32, and give it the same weights."
            raise _refusal(f"{layer.name} with the dtype policy {policy}", remedy)
    check_finite(model)
    return read(model)


def _written(code: Code, program: Program, given: object) -> Any:
    """The output of a program, as a value or a symbol, from what it reads."""
    known = {program.inputs[0]: given}
    readers = collections.Counter(value for operation in program.operations for value in operation.reads)
    for operations in _blocks(program.operations):
        first = operations[0]
        name = f"{first.name} ({type(first.layer).__name__})"
        _check(first, name)
        compute = functools.partial(_computed, code, operations, name, [known[value] for value in first.reads])
        try:
            unblocked = isinstance(first, UNBLOCKED) and (not isinstance(first, ROWS) or readers[first.makes[0]] == 1)
            written = compute() if unblocked else code.block([f"/* {_plain(name)} */"], compute)
        except Unwritten as error:
            raise _refusal(f"{name}, which needs {error}", EXPORT) from None
        known[operations[-1].makes[0]] = written
    return known[program.outputs[0]]


def _computed(code: Code, operations: list[o.Operation], name: str, reads: list[Any]) -> Any:
    """The value after operations one after the other, from values or a symbol."""
    for operation in operations:
        reads = [RULES[type(operation)](code, operation, name, *reads)]
    return reads[0]


def _blocks(operations: list[o.Operation]) -> Iterator[list[o.Operation]]:
    """The operations one by one, an activation, or a product of windows, with that of its own layer before it."""
    block: list[o.Operation] = []
    for operation in operations:
        follows = bool(block) and operation.reads == block[-1].makes and operation.layer is block[-1].layer
        if block and not (follows and (isinstance(operation, o.Elementwise) or isinstance(block[-1], o.Windows))):
            yield block
            block = []
        block.append(operation)
    if block:
        yield block


def _check(operation: o.Operation, name: str) -> None:
    """Raises ValueError for an operation that is not known, or is called with more than what it reads."""
    if operation.arguments:
        remedy = "Call it without initial_state, mask and training."
        raise _refusal(f"{name}, which is called with more than what it reads", remedy)
    if type(operation) not in RULES:
        raise _refusal(name, EXPORT)


def _lookup(code: Code, operation: o.Lookup, name: str, x: object) -> Any:
    return code.take(operation.table(code.read), x)


def _cast(code: Code, operation: o.Cast, name: str, x: object) -> Any:
    made = operation.makes[0].dtype
    if made != "float32" and not (isinstance(x, Index) and "int" in made):
        raise _refusal(name, EXPORT)
    return x


def _not_equal(code: Code, operation: o.NotEqual, name: str, x: object) -> None:
    if not isinstance(x, Index) or code.states or code.skips_masked:
        raise Unwritten("to come before every recurrent layer and any other mask")
    code.skip_if(f"{x.expression()} == {int(operation.value)}")


def _unmasked(code: Code, operation: o.Unmasked, name: str, x: object) -> Any:
    x = code.value(x)
    if code.states or code.skips_masked:
        raise Unwritten("to come before every recurrent layer and any other mask")
    differs = code.expression("{} != {}", CHOICE, x, code.read(operation.value, "mask_value"))
    code.lines += ["int differs = 0;", *loop(x.size, f"if ({differs.at('i')}) differs = 1;")]
    code.skip_if("!differs")
    return x


def _affine(code: Code, operation: o.Affine, name: str, x: object) -> Value:
    matrix, offset = operation.arrays(code.read)
    product = code.matmul(x, matrix.reshape(-1, matrix.shape[-1]))
    return code.value(product if offset is None else product + offset)


def _scale(code: Code, operation: o.Scale, name: str, x: object) -> Value:
    x = code.value(x)
    names = ("centre", "factor", "offset")
    arrays = [code.read(array, each) for array, each in zip(operation.arrays(code.read), names, strict=True)]
    for each, array in zip(names, arrays, strict=True):
        if array.size not in (1, x.size):
            raise Unwritten(f"{each} of shape {array.shape}")
    centre, factor, offset = arrays
    y = code.value((x - centre) * factor + offset)
    if y.size != x.size:
        raise Unwritten("a factor other than 0")
    return y


def _normalize(code: Code, operation: o.Normalize, name: str, x: object) -> Value:
    return code.value(operation.value(code, code.value(x), code.read))


def _elementwise(code: Code, operation: o.Elementwise, name: str, x: object) -> Value:
    if operation.function not in ACTIVATIONS:
        known = ", ".join(each.__name__ for each in ACTIVATIONS)
        found = getattr(operation.function, "__name__", operation.function)
        raise _refusal(f"{name} with activation={found}", f"Train it with {known}.")
    return code.value(ACTIVATIONS[operation.function](code, code.value(x)))


def _sum(code: Code, operation: o.Sum, name: str, *parts: object) -> Value:
    terms = [factor * code.value(x) for factor, x in zip(operation.factors, parts, strict=True)]
    return code.value(functools.reduce(operator.add, terms))


def _windows(code: Code, operation: o.Windows, name: str, given: object) -> Value:
    """Windows that end at each step: its last steps are a state, the oldest first."""
    x, lags = code.value(given), operation.lags
    if lags is None:
        raise Unwritten("steps other than those that have been read")
    if max(lags) == 0:
        return x
    if code.skips_masked:
        raise Unwritten("steps that are masked, and so never read")
    size, earliest, new = x.size, max(lags), x.at("i")
    name = f"x{1 + sum(field.startswith('x') for field in code.states)}"
    steps = code.state(name, np.zeros((earliest + 1) * size))
    code.lines += loop(earliest * size, f"{steps.at('i')} = {steps.at(plus('i', str(size)))};")
    code.lines += loop(size, f"{steps.at(plus('i', str(earliest * size)))} = {new};")
    if len(lags) == earliest + 1:
        return steps
    window: Value = code.concatenate([steps.part((earliest - lag) * size, (1, size)) for lag in lags])
    return window


def _recur(code: Code, operation: o.Recur, name: str, x: object) -> Value:
    if (operation.mask is not None) != code.skips_masked:
        raise _refusal(f"{name}, to which the mask of the layers before it does not come", EXPORT)
    return _recurrent(code, operation, name, x)


RULES: dict[type[o.Operation], Callable[..., Any]] = {
    o.Lookup: _lookup,
    o.OneHot: lambda code, operation, name, x: code.one_hot(x, operation.size),
    o.Cast: _cast,
    o.NotEqual: _not_equal,
    o.Unmasked: _unmasked,
    o.Affine: _affine,
    o.Scale: _scale,
    o.Normalize: _normalize,
    o.Elementwise: _elementwise,
    o.Join: lambda code, operation, name, *parts: code.concatenate(parts),
    o.Sum: _sum,
    o.Windows: _windows,
    o.Recur: _recur,
}
"""Operation -> what it makes of values, or of a symbol."""

ROWS = (o.Lookup, o.OneHot)
"""Operations that are written where they are read, if that is once."""

UNBLOCKED = (*ROWS, o.Cast, o.NotEqual, o.Recur)
"""These, operations that write nothing, and those that write their own block."""


def _recurrent(code: Code, operation: o.Recur, name: str, x: Any) -> Value:
    """The output of a recurrent layer, of one cell or of a stack of cells."""
    layer = operation.layer
    flags = {
        "go_backwards=True": operation.backwards,
        "return_state=True": len(operation.makes) > 1,
        "zero_output_for_mask=True": operation.zeros and code.skips_masked,
        "regularize_last_step=False": not treats_steps_alike(layer),
    }
    if any(flags.values()):
        raise _refusal(" with ".join([name, *(flag for flag, is_set in flags.items() if is_set)]), EXPORT)
    starts = [as_float64(state)[0] for state in tree.flatten(layer.get_initial_state(1))]
    for cell in cells_of(layer.cell):
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
    equations = with_activations(code, found, name)
    encoder = encoder_of(cell)
    if encoder is not None:
        of_ids = isinstance(x, Index)
        encoding = read_layer(encoder, (None,) if of_ids else (None, x.size), "int32" if of_ids else "float32")
        if any(isinstance(operation, o.Unmasked) for operation in encoding.operations):
            raise _refusal(f"{name}, whose encoder masks steps", "Put the layer that masks before it.")
        x = _written(code, encoding, x)
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


def with_activations(code: object, equations: Any, name: str) -> Any:
    """Equations whose activations are those of `code`, in place of Keras's."""
    changed: dict[str, Any] = {}
    for field in dataclasses.fields(equations) if dataclasses.is_dataclass(equations) else ():
        value = getattr(equations, field.name)
        value = value.function if isinstance(value, CellActivation) else value
        if isinstance(value, CellEquations):
            changed[field.name] = with_activations(code, value, name)
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


def _comment(name: str, equations: object, x: Value | Index, starts: list[Array]) -> Lines:
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
