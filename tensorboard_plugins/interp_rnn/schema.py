"""What is written for the plugin: one tensor a tag and step, and a description beside it.

transition_probabilities: float32 (sequences, time, k), NaN where there is none.
    content: tokens, a list of names for each sequence, or [].
transition_counts: float32 (symbols or 1, k, k), how often a symbol moved the network from centroid (row) to centroid.
    content: symbols, their names, or [].
transition_texts: string scalar, JSON, of the steps that transition_counts counts: prototypes, of each centroid the
    tokens that moved the network there with the highest probability, [token, probability]; moves, [symbol, from, to,
    text], of each move a text that ends with it, its last tokens.
outputs: float32 (k + sequences, outputs): what the model's head puts out for each centroid, and the model for each
    sequence of transition_probabilities.
    content: middle, above which a single output means class 1.
automaton: string scalar, JSON: transitions (states x symbols, -1 where there is none), accepting, start, and of each
    state its centroid; confidence of each transition, null where it was never seen; minimal, the number of states after
    minimization; agreement with the network, the share of words that both judge alike; equivalent, whether it accepts
    the reference's language, counterexample, a shortest word on which they differ (names of its symbols, or null), and
    distance, the mean of the shares of accepted and of rejected words of the reference that it judges otherwise, all
    null without one; visits, the share of the steps of short words that arrive at each state; entropy, the mean of the
    transitions', nats or null.
    content: symbols, their names; reference, the automaton it is compared with, or null.
contributions: float32 (T (T + 3) / 2 + 1, outputs), nats: for each target t = 1, ..., T the terms of the sources
    0, ..., t, source 0 the initial state; last the readout's own bias (`target_rows` says where which is).
    content: symbols, the names of the T; outputs, their names.
jacobian: float32 (lags, 101): the percentiles 0, 1, ..., 100 of the singular values of dh_T / dx_{T-k}.
    content: lags.

Content also has kind and version, and part_of where a tag holds a single step of a series of that name: TensorBoard
reads all steps of a tag at once, which is too much where each is large. Contributions are written so.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tensorboard.compat.proto.summary_pb2 import SummaryMetadata

PLUGIN = "interp_rnn"
VERSION = 1
KINDS = (
    "transition_probabilities",
    "transition_counts",
    "transition_texts",
    "outputs",
    "automaton",
    "contributions",
    "jacobian",
)


def metadata(kind: str, **content: Any) -> SummaryMetadata:
    """Metadata of a tag of this kind; `content` as the table says."""
    if kind not in KINDS:
        raise ValueError(f"kind must be one of {KINDS}. Received: {kind!r}.")
    # Here, as TensorBoard takes time: the callbacks are imported by many who write no logs.
    from tensorboard.compat.proto.summary_pb2 import DATA_CLASS_TENSOR, SummaryMetadata

    found = SummaryMetadata(data_class=DATA_CLASS_TENSOR)
    found.plugin_data.plugin_name = PLUGIN
    found.plugin_data.content = json.dumps({"kind": kind, "version": VERSION, **content}).encode()
    return found


def target_rows(target: int) -> slice:
    """The rows of a `contributions` tensor that belong to a target t, from 1: sources 0, ..., t."""
    first = (target - 1) * (target + 2) // 2
    return slice(first, first + target + 1)
