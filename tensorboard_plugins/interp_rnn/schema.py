"""The form of the plugin's logs: a tensor for each tag and step, and a description, JSON in the metadata of the tag.

The file of each kind in kinds/ documents its tensors and descriptions. A description also has kind and version, and
part_of if the tag is a single step of a series of that name: TensorBoard reads all steps of a tag at once, which is too
much if each is large. Contributions and traces are written in parts.
"""

from __future__ import annotations

import importlib
import json
from typing import TYPE_CHECKING, Any

from tensorboard_plugins.interp_rnn.checks import UnknownContent, parsed
from tensorboard_plugins.interp_rnn.kinds._kind import Kind
from tensorboard_plugins.interp_rnn.kinds.contributions import target_rows
from tensorboard_plugins.interp_rnn.kinds.top_contributions import block_rows

if TYPE_CHECKING:
    from tensorboard.compat.proto.summary_pb2 import SummaryMetadata

__all__ = ["FOLDERS", "KINDS", "PLUGIN", "VERSION", "block_rows", "described", "metadata", "target_rows", "views"]

PLUGIN = "interp_rnn"
VERSION = 1
KINDS: dict[str, Kind] = {
    name: importlib.import_module(f"tensorboard_plugins.interp_rnn.kinds.{name}").KIND
    for name in (
        "contributions",
        "top_contributions",
        "shapley_values",
        "attribution",
        "interactions",
        "substitutions",
        "trace",
        "automaton",
        "transition_counts",
        "transition_texts",
        "transition_probabilities",
        "outputs",
        "jacobian",
    )
}
"""Every kind, the file kinds/NAME.py; tabs are in the order of their first kinds."""

FOLDERS = (
    *("attributions", "automaton", "contributions", "jacobians", "shapley_values", "stability", "substitutions"),
    *("traces", "transitions"),
)
"""The folders of the callbacks in the folder of a training, which the page shows as one run."""


def metadata(kind: str, **content: Any) -> SummaryMetadata:
    """Metadata of a tag of this kind; the file of the kind documents `content`."""
    if kind not in KINDS:
        raise ValueError(f"`kind` must be one of {', '.join(KINDS)}. Received: kind={kind!r}. Add its file to kinds/.")
    # Imported here, as TensorBoard takes time, and many who import the callbacks write no logs.
    from tensorboard.compat.proto.summary_pb2 import DATA_CLASS_TENSOR, SummaryMetadata

    summary = SummaryMetadata(data_class=DATA_CLASS_TENSOR)
    summary.plugin_data.plugin_name = PLUGIN
    summary.plugin_data.content = json.dumps({"kind": kind, "version": VERSION, **content}).encode()
    return summary


def described(content: bytes) -> dict[str, Any]:
    """The description that `metadata` put into a tag: kind, version, part_of if it has one, and the kind's entries.

    Raises:
        UnknownContent: if it is not such a description, or one of another version.
    """
    try:
        entries = parsed(content)
        kind, version = entries["kind"], entries["version"]
    except KeyError as error:
        raise UnknownContent(f"The tag is not described as this plugin's tags are ({error!r}).") from None
    except UnknownContent as error:
        raise UnknownContent(f"The tag is not described as this plugin's tags are. {error}") from None
    if version != VERSION or not isinstance(kind, str) or kind not in KINDS:
        raise UnknownContent(
            f"This plugin reads version {VERSION} of {', '.join(KINDS)}. Received: version {version} of {kind!r}. "
            "Install the keras_interp_rnn that wrote it, or a newer one."
        )
    return {"kind": kind, "version": VERSION, **KINDS[kind].describe(entries)}


def views() -> dict[str, list[str]]:
    """The views of the page, static/VIEW.js, and the kinds that each shows; the first is the overview of all runs."""
    shown: dict[str, list[str]] = {"overview": []}
    for name, kind in KINDS.items():
        if kind.VIEW is not None:
            shown.setdefault(kind.VIEW, []).append(name)
    return shown
