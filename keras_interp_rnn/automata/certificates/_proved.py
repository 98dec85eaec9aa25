"""The numbers of a network that a certificate is about, and their form in a file: no Keras.

They are enough to repeat the proof. A file is JSON; its weights are float64, written so that they are read back
exactly, with their sha256.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Context
from typing import Any

import numpy as np

from keras_interp_rnn._alphabet import Alphabet, token_ids, with_token_ids
from keras_interp_rnn._types import Array
from keras_interp_rnn.equations import GRU, SimpleRNN

DIGITS = 9  # significant digits of a bound in a file
CELLS = {"GRU": GRU, "SimpleRNN": SimpleRNN}

ARRAYS = {"features": 2, "cell_kernel": 2, "recurrent_kernel": 2, "centroids": 2, "head_kernel": 1, "head_bias": 0}
"""The arrays of a file, and their numbers of axes."""
ARRAYS_OF_LABELS = {"head_kernel": 2, "head_bias": 1}
"""The arrays that differ in a network with an output for each label; the file has its labels too."""
BIASES = ("cell_bias", "recurrent_bias")  # arrays of one axis, or null


@dataclass(frozen=True, eq=False)
class Proved:
    """The numbers that a proof reads; weights in float64, exactly as the model holds them.

    Attributes:
        first: id of the start token.
        dtype: "float32" or "float64", of all parts of the model.
        learns_temperature: whether the backend computes tau as an exponential.
        hard: whether the state is the most probable centroid itself, not a mixture.
        embeddings: the features of each id that is read.
        equations: of the inner cell, with its weights.
        centroids: (k, n).
        kernel, bias: of the head's logit, (n,) and a number; or (n, labels) and (labels,).
        labels: of words, as `Acceptor.labels`.
    """

    symbols: Alphabet
    first: int
    dtype: str
    learns_temperature: bool
    hard: bool
    embeddings: Mapping[int, Array]
    equations: GRU | SimpleRNN
    centroids: Array
    kernel: Array
    bias: Array | float
    labels: tuple[Hashable, ...] = (False, True)


def as_json(network: Proved) -> dict[str, Any]:
    """A network as JSON, in which every float64 is written exactly."""
    symbols, cell = network.symbols, network.equations
    gated = isinstance(cell, GRU)
    biases = {"cell_bias": cell.bias, "recurrent_bias": cell.recurrent_bias if isinstance(cell, GRU) else None}
    return {
        "alphabet": list(symbols.ordinary),
        "ids": symbols.ids_of(symbols.ordinary).tolist(),
        "start": symbols.start_id,
        "end": symbols.end_id,
        "dtype": network.dtype,
        "learns_temperature": network.learns_temperature,
        "hard": network.hard,
        "cell": "GRU" if gated else "SimpleRNN",
        "reset_after": bool(cell.reset_after) if isinstance(cell, GRU) else False,
        "features": [network.embeddings[id_].tolist() for id_ in read_ids(symbols)],
        "cell_kernel": cell.kernel.tolist(),
        "recurrent_kernel": cell.recurrent_kernel.tolist(),
        **{name: None if bias is None else bias.tolist() for name, bias in biases.items()},
        "centroids": network.centroids.tolist(),
        "head_kernel": network.kernel.tolist(),
        "head_bias": np.asarray(network.bias).tolist(),
        **({"labels": list(network.labels)} if network.kernel.ndim > 1 else {}),
    }


def read_ids(symbols: Alphabet) -> tuple[int, ...]:
    """The ids that a network reads: those of the symbols of words, and of the tokens around every word."""
    return (*symbols.ids_of(symbols.ordinary).tolist(), *token_ids(symbols))


def digest(content: Mapping[str, object]) -> str:
    """The sha256 of a network as JSON, without spaces and with its keys in order."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), default=repr)
    return hashlib.sha256(text.encode()).hexdigest()


def same(one: Proved, other: Proved) -> bool:
    """Whether two networks have the same numbers."""
    return digest(as_json(one)) == digest(as_json(other))


def from_json(content: Mapping[str, Any]) -> Proved:
    """The network that `as_json` wrote; raises ValueError for anything else."""
    arrays_of = {**ARRAYS, **(ARRAYS_OF_LABELS if "labels" in content else {})}
    unknown = set(content) - {"labels"} ^ {
        *("alphabet", "ids", "start", "end", "dtype", "learns_temperature", "hard", "cell", "reset_after"),
        *ARRAYS,
        *BIASES,
    }
    if unknown:
        raise ValueError(f"the network has other parts: {', '.join(sorted(unknown))}")
    flags = [content[name] for name in ("learns_temperature", "hard", "reset_after")]
    if content["dtype"] not in ("float32", "float64") or content["cell"] not in list(CELLS):
        raise ValueError(f"no proof knows a {content['cell']} in {content['dtype']}")
    if not all(isinstance(flag, bool) for flag in flags) or (content["reset_after"] and content["cell"] != "GRU"):
        raise ValueError("learns_temperature, hard or reset_after is neither true nor false, or not of this cell")
    if not isinstance(content["start"], int):
        raise ValueError("the start token has no id")
    if not isinstance(content["alphabet"], list) or not isinstance(content["ids"], list):
        raise ValueError("alphabet or ids is not a list")
    ids_of = dict(zip(content["alphabet"], content["ids"], strict=True))
    if len(ids_of) != len(content["alphabet"]):
        raise ValueError("a symbol occurs twice")
    symbols = with_token_ids(ids_of, content["start"], content["end"])
    arrays = {name: _array(name, content[name], axes) for name, axes in arrays_of.items()}
    arrays |= {name: _array(name, content[name], 1) for name in BIASES if content[name] is not None}
    labels = _labels(content["labels"], arrays["head_bias"].size) if "labels" in content else (False, True)
    ids = read_ids(symbols)
    k, units = arrays["centroids"].shape
    width = units * (3 if content["cell"] == "GRU" else 1)
    shapes = {
        "features": (len(ids), len(arrays["cell_kernel"])),
        "cell_kernel": (len(arrays["cell_kernel"]), width),
        "recurrent_kernel": (units, width),
        "cell_bias": (width,),
        "recurrent_bias": (width,),
        "head_kernel": (units, *arrays["head_bias"].shape),
    }
    for name, array in arrays.items():
        if content["dtype"] == "float32" and not in_float32(array):
            raise ValueError(f"{name} has a number that no float32 holds, in a network of float32")
    wrong = [name for name, shape in shapes.items() if name in arrays and arrays[name].shape != shape]
    both = "cell_bias" in arrays and content["reset_after"]
    if wrong or not k or ("recurrent_bias" in arrays) != both:
        raise ValueError(f"shapes do not fit: {', '.join(wrong) or 'recurrent_bias'}")
    weights = (arrays["cell_kernel"], arrays["recurrent_kernel"], arrays.get("cell_bias"))
    cell: GRU | SimpleRNN = SimpleRNN(*weights)
    if content["cell"] == "GRU":
        cell = GRU(*weights, reset_after=content["reset_after"], recurrent_bias=arrays.get("recurrent_bias"))
    return Proved(
        symbols,
        content["start"],
        content["dtype"],
        content["learns_temperature"],
        content["hard"],
        _rows(ids, arrays["features"]),
        cell,
        arrays["centroids"],
        arrays["head_kernel"],
        arrays["head_bias"] if "labels" in content else float(arrays["head_bias"]),
        labels,
    )


def in_float32(numbers: object) -> bool:
    """Whether a float32 holds each of these numbers."""
    with np.errstate(all="ignore"):
        return bool((np.asarray(numbers, np.float32).astype(np.float64) == np.asarray(numbers, np.float64)).all())


def rounded_down(bound: float) -> float:
    """The largest float of `DIGITS` significant digits that is not above a finite bound."""
    if not math.isfinite(bound):
        raise ValueError(f"A bound must be finite. Received: {bound}. Save a certificate that holds.")
    return float(Context(prec=DIGITS, rounding=ROUND_FLOOR).create_decimal_from_float(bound))


def _labels(value: Any, num_outputs: int) -> tuple[Hashable, ...]:
    """The labels of a file: one for each of three outputs or more."""
    plain = isinstance(value, list) and all(isinstance(label, (str, int)) for label in value)
    if not plain or not 3 <= len(set(value)) == len(value) == num_outputs:
        raise ValueError("labels must be strings, integers or bools, three or more and one for each output")
    return tuple(value)


def _array(name: str, value: object, axes: int) -> Array:
    try:
        array = np.array(value)
    except ValueError:  # rows of different lengths
        raise ValueError(f"{name} has rows of different lengths") from None
    if array.ndim != axes or array.dtype != np.float64 or not np.isfinite(array).all():
        raise ValueError(f"{name} is not an array of {axes} axes of finite floats")
    return array


def _rows(ids: Sequence[int], rows: Array) -> dict[int, Array]:
    found: dict[int, Array] = {}
    for id_, row in zip(ids, rows, strict=True):
        if not np.array_equal(found.setdefault(id_, row), row):
            raise ValueError(f"two rows of features for the id {id_}")
    return found
