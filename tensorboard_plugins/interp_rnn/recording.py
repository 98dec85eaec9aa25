"""What a page without a server is given: of each of its panes a tag, with the answers about its steps.

The block of data is {"panes": [pane, ...], "overlays": {run: series}}. A pane is {"run", "state", "tags": {tag:
{"kind", "series", "steps": {step: answers}}}}; the first tag is the one that is looked at, the others are read beside
it. Answers are those of `Kind.answers`. The step that is looked at is recorded first; other steps follow as long as
there is room.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from tensorboard_plugins.interp_rnn import schema

MAX_BYTES = 8 * 2**20
"""Of the answers in a page."""


class TooLarge(ValueError):
    """The answers that a page needs exceed `MAX_BYTES`; the message says by how much."""


class Tag(NamedTuple):
    """A tag that can be asked.

    Attributes:
        name: of the tag.
        series: what a view shows first.
        answers: of a step, `Kind.answers`.
    """

    name: str
    series: Mapping[str, Any]
    answers: Callable[[int], dict[str, Any]]


def single(kind: str, tensor: ArrayLike | bytes, name: str = "", **content: Any) -> Tag:
    """A tag that was not logged, of one step, 0: checked as if it had been.

    Args:
        kind: of `schema.KINDS`. tensor: its value, as the kind's file says. name: of the tag, by default the kind's.
        content: the description.
    """
    of_kind = schema.KINDS[kind]
    described = schema.described(json.dumps({"kind": kind, "version": schema.VERSION, **content}).encode())
    value = of_kind.decode(described, np.asarray(tensor))
    series = {**described, "steps": [0], "left_out": [], **of_kind.overview(described, [value])}
    return Tag(name or kind, series, lambda step: of_kind.answers(described, value, series))


def pane(tags: Sequence[Tag], state: Mapping[str, Any], *, run: str = "") -> dict[str, Any]:
    """One pane: what is looked at, and tags that are read beside it.

    Args:
        tags: the one that is looked at is the first.
        state: of the view; `step` is the step that is looked at, by default the last one. run: its name.

    Raises:
        TooLarge: if the answers of that step alone are too large.
    """
    steps = list(tags[0].series["steps"])
    state = {"step": steps[-1], **state}
    recorded: dict[str, dict[str, Any]] = {
        tag.name: {"kind": tag.series["kind"], "series": tag.series, "steps": {}} for tag in tags
    }
    size = 0
    for step in sorted(steps, key=lambda step: (abs(steps.index(step) - steps.index(state["step"])), step)):
        answers = {tag.name: tag.answers(step) for tag in tags if step in tag.series["steps"]}
        size += sum(len(json.dumps(answer)) for answer in answers.values())
        if size > MAX_BYTES:
            if step != state["step"]:
                break
            raise TooLarge(
                f"A page holds data of at most {MAX_BYTES // 2**20} MiB. Received: {size / 2**20:.1f} MiB of "
                f"{tags[0].name}. Choose a shorter sequence."
            )
        for name, answer in answers.items():
            recorded[name]["steps"][str(step)] = answer
    return {"run": run, "state": state, "tags": recorded}
