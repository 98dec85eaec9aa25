"""Folds a program of symbols: which layer that is affine in its state reads them, and which affine head its states.

A value of the program holds the symbols, their vectors, the states of a layer, their logits, what an activation makes
of these, or something else, with the reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import keras

from keras_interp_rnn._program import operations as o
from keras_interp_rnn._program.affine_layers import describe, is_isan, reads_symbols
from keras_interp_rnn._program.graph import runs_its_graph
from keras_interp_rnn._program.read import read

MERGED: dict[tuple[float, ...], str] = {(1.0, 1.0): "sum", (0.5, 0.5): "ave"}
"""Factors of a sum of two directions -> its name."""


@dataclass(frozen=True)
class Content:
    """The content of a value: "symbols", "vectors" of symbols, "states", "logits", "activated logits" or "other".

    Attributes:
        lookup: of vectors the operation that makes them of ids; None where there is none.
        ways: of states and logits the recurrences whose states they are, of two directions the forward one first.
        merge: of two directions how they are joined, "concat", "sum" or "ave".
        head: of logits the affine operations, `Affine` and `Scale`, that make them of the states, one after the other.
        activation: that the logits went through, if they are activated.
        mask: of what is read further on, whether steps are masked: "" for none, "zero" where the symbol is 0, "states"
            for any others, "lost" where a layer did not pass it on.
        pooled: of states and logits, whether they are the mean over the steps that are not masked.
        reason: of "other", its cause, for the error.
    """

    kind: str
    lookup: o.Lookup | None = None
    ways: tuple[o.Operation, ...] = ()
    merge: str = ""
    head: tuple[o.Affine | o.Scale, ...] = ()
    activation: Any = None
    mask: str = ""
    pooled: bool = False
    reason: str = ""


SYMBOLS = Content("symbols")


class Folded(NamedTuple):
    """Every recurrence of a model that is affine in its state, with what it reads, and the contents of the outputs."""

    recurrences: list[tuple[o.Operation, Content]]
    outputs: list[Content]


def fold(model: keras.Model) -> Folded:
    """Follows the symbols that a Sequential or functional model reads to its outputs.

    Raises:
        ValueError: if the model has no graph, or several inputs.
    """
    if not runs_its_graph(model):
        raise ValueError(
            f"A model must be Sequential or functional and know its inputs. Received: {model.name}, a "
            f"{type(model).__name__}. Pass the ISAN layer and readout=(matrix, bias); or begin a Sequential model with "
            "keras.Input((None,), dtype='int32')."
        )
    if len(model.inputs) > 1:
        raise ValueError(
            f"A model must have one input, its symbols. Received: {model.name}, with {len(model.inputs)} inputs. Pass "
            "the ISAN layer and readout=(matrix, bias), the rows of the head that read its states."
        )
    program = read(model)
    contents: dict[o.Value, Content] = dict.fromkeys(program.inputs, SYMBOLS)
    recurrences: list[tuple[o.Operation, Content]] = []
    for operation in program.operations:
        reads = [contents[value] for value in operation.reads]
        if isinstance(operation, o.Recur | o.Opaque) and reads_symbols(operation.layer):
            recurrences.append((operation, _read_by(operation, reads[0])))
            content = Content("states", ways=(operation,), mask=reads[0].mask)
        else:
            content = _content(operation, reads)
        for value in operation.makes:
            lost = content.mask and value.mask is None and len(value.shape) > 2
            contents[value] = replace(content, mask="lost") if lost else content
    return Folded(recurrences, [contents[value] for value in program.outputs])


def _other(reason: str) -> Content:
    return Content("other", reason=reason)


def _read_by(operation: o.Operation, content: Content) -> Content:
    """The content that a recurrence reads; "other" if it cannot be read."""
    if (called := _called(operation)) is not None or content.reason:
        return called or content
    takes = ("symbols",) if is_isan(operation.layer) else ("symbols", "vectors")
    return content if content.kind in takes else _other(f"{operation.name}, which reads {content.kind}")


def _called(operation: o.Operation) -> Content | None:
    """The content of a call that has more arguments than its input; None of another call."""
    names = ", ".join(operation.arguments)
    return _other(f"{operation.name}, which is called with {names}") if names else None


def _content(operation: o.Operation, reads: Sequence[Content]) -> Content:
    obstacle = next((content for content in reads if content.reason), None)
    if obstacle is not None:
        return obstacle
    found = _passed(operation, reads)
    if found is not None or isinstance(operation, o.Opaque):
        found = _called(operation) or found
    return found or _other(f"{describe(operation.layer)}, on its {reads[0].kind}")


def _passed(operation: o.Operation, reads: Sequence[Content]) -> Content | None:
    """The content after an operation; None after one that is not understood here."""
    content, rank = reads[0], len(operation.reads[0].shape)
    if len(reads) > 1:
        return _both(operation, reads)
    if content.kind == "symbols":
        if isinstance(operation, o.Lookup) and rank == 2:
            return Content("vectors", lookup=operation, mask="zero" if operation.makes[0].mask else "")
        return content if rank == 2 and _keeps_symbols(operation) else None
    affine = content.kind in ("states", "logits")
    if isinstance(operation, o.Affine | o.Scale) and affine:
        return replace(content, kind="logits", head=(*content.head, operation))
    if isinstance(operation, o.Elementwise) and content.kind == "logits":
        return replace(content, kind="activated logits", activation=operation.function)
    if isinstance(operation, o.Mean) and affine and rank == 3 and content.mask not in ("states", "lost"):
        return replace(content, pooled=True)
    if isinstance(operation, o.Unmasked) and content.kind == "states" and operation.value == 0:
        return replace(content, mask="states")
    return None


def _keeps_symbols(operation: o.Operation) -> bool:
    """Whether it only rewrites ids (batch, time): with one more axis, in another integer type, one-hot."""
    if isinstance(operation, o.Reshape):
        shape = operation.makes[0].shape
        return len(shape) == 3 and shape[-1] == 1
    return isinstance(operation, o.OneHot) or (isinstance(operation, o.Cast) and "int" in operation.makes[0].dtype)


def _both(operation: o.Operation, reads: Sequence[Content]) -> Content | None:
    """The states of two directions, next to each other or added."""
    alone = all(content.kind == "states" and len(content.ways) == 1 and not content.pooled for content in reads)
    ways = [way for content in reads for way in content.ways if isinstance(way, o.Recur)]
    if not alone or len(ways) != len(reads) or [way.backwards for way in ways] != [False, True]:
        return None
    first, second = ways
    same = is_isan(first.layer) == is_isan(second.layer) and first.reads == second.reads
    if not same or first.sequences != second.sequences or (second.sequences and not second.in_order):
        return None
    factors = tuple(operation.factors) if isinstance(operation, o.Sum) else ()
    merge = "concat" if isinstance(operation, o.Join) else MERGED.get(factors, "")
    return replace(reads[0], ways=(first, second), merge=merge) if merge else None
