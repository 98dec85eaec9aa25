"""What is written for the plugin: one tensor a tag and step, and a description beside it.

transition_probabilities: float32 (sequences, time, k), NaN where there is none.
    content: tokens, a list of names for each sequence, or [].
transition_counts: float32 (symbols or 1, k, k), how often a symbol moved the network from centroid (row) to centroid.
    content: symbols, their names, or [].
automaton: string scalar, JSON: transitions (states x symbols, -1 where there is none), accepting, start, and of each
    state its centroid; confidence of each transition, null where it was never seen.
    content: symbols, their names; reference, the automaton it is compared with, or null.

Content also has kind and version.
"""

from __future__ import annotations

import json
from typing import Any

from tensorboard.compat.proto.summary_pb2 import DATA_CLASS_TENSOR, SummaryMetadata

PLUGIN = "interp_rnn"
VERSION = 1
KINDS = ("transition_probabilities", "transition_counts", "automaton")


def metadata(kind: str, **content: Any) -> SummaryMetadata:
    """Metadata of a tag of this kind; `content` as the table says."""
    if kind not in KINDS:
        raise ValueError(f"kind must be one of {KINDS}. Received: {kind!r}.")
    found = SummaryMetadata(data_class=DATA_CLASS_TENSOR)
    found.plugin_data.plugin_name = PLUGIN
    found.plugin_data.content = json.dumps({"kind": kind, "version": VERSION, **content}).encode()
    return found
