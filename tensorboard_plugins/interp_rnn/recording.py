"""What a page without a server is given: tags, with the answers about their steps.

The block of data is {"views", "folders", "state", "runs": {run: {tag: {"kind", "series", "steps": {step: answers}}}}}.
Answers are those of `Kind.answers`. The step that is looked at is recorded first; others follow where there is room.
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
        run: it is in.
        name: of the tag.
        series: what a view shows first.
        answers: of a step, `Kind.answers`.
    """

    run: str
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
    return Tag("", name or kind, series, lambda step: of_kind.answers(described, value, series))


def block(tags: Sequence[Tag], state: Mapping[str, Any]) -> dict[str, Any]:
    """The data of a page that shows tags.

    Args:
        state: of the page; of each tag the step nearest to its `step`, by default the last one, is always recorded.

    Raises:
        TooLarge: if the answers about those steps alone are too large.
    """
    wanted = state.get("step")
    last = max(tag.series["steps"][-1] for tag in tags)
    centre = wanted if isinstance(wanted, int | float) else last
    runs: dict[str, dict[str, Any]] = {}
    rest, size = [], 0
    for tag in tags:
        first, *others = sorted(tag.series["steps"], key=lambda step: (abs(step - centre), step))
        rest += [(abs(step - centre), step, tag) for step in others]
        answer, size = _sized(tag, first, size)
        recorded = {"kind": tag.series["kind"], "series": tag.series, "steps": {str(first): answer}}
        runs.setdefault(tag.run, {})[tag.name] = recorded
    if size > MAX_BYTES:
        raise TooLarge(
            f"A page holds data of at most {MAX_BYTES // 2**20} MiB. Received: {size / 2**20:.1f} MiB of "
            f"{', '.join(tag.name for tag in tags)}. Choose a shorter sequence."
        )
    for _, step, tag in sorted(rest, key=lambda each: each[:2]):
        answer, size = _sized(tag, step, size)
        if size > MAX_BYTES:
            break
        runs[tag.run][tag.name]["steps"][str(step)] = answer
    return {"views": schema.views(), "folders": schema.FOLDERS, "state": dict(state), "runs": runs}


def _sized(tag: Tag, step: int, before: int) -> tuple[dict[str, Any], int]:
    """The answers about a step, and the bytes of all with those before."""
    answer = tag.answers(step)
    return answer, before + len(json.dumps(answer))
