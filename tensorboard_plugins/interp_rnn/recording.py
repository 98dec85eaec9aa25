"""The data of a page without a server: tags with the answers about their steps.

The block of data is {"views", "folders", "state", "runs": {run: {tag: {"kind", "series", "steps": {step: answers}}}}}.
Answers are those of `Kind.answers`. The step that is shown is recorded first; other steps follow if there is room.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from tensorboard_plugins.interp_rnn import schema

MAX_BYTES = 8 * 2**20
"""Maximum size of the answers in a page."""


class TooLarge(ValueError):
    """The answers that a page needs exceed `MAX_BYTES`; the message gives their size."""


class Tag(NamedTuple):
    """A tag of a page.

    Attributes:
        run: its run.
        name: its name.
        series: the first answer to a view.
        answers: `Kind.answers` of a step.
    """

    run: str
    name: str
    series: Mapping[str, Any]
    answers: Callable[[int], dict[str, Any]]


def single(tensor: ArrayLike | bytes, kind: str, *, name: str = "", **content: Any) -> Tag:
    """A tag of the single step 0 that was not logged; it is checked like a logged one.

    Args:
        tensor: its value, as documented in the file of the kind.
        kind: one of `schema.KINDS`.
        name: of the tag, by default the name of the kind.
        **content: other entries of the description.
    """
    of_kind = schema.KINDS[kind]
    described = schema.described(json.dumps({"kind": kind, "version": schema.VERSION, **content}).encode())
    value = of_kind.decode(described, np.asarray(tensor))
    series = {**described, "steps": [0], "left_out": [], **of_kind.overview(described, [value])}
    return Tag("", name or kind, series, lambda step: of_kind.answers(described, value, series))


def block(tags: Sequence[Tag], state: Mapping[str, Any]) -> dict[str, Any]:
    """The data of a page that shows tags.

    Args:
        tags: with at least one step each.
        state: of the page. The step of each tag nearest to its `step`, by default the last, is always recorded.

    Raises:
        TooLarge: if the answers about these steps alone are too large.
    """
    step = state.get("step")
    centre = step if isinstance(step, int | float) else max(tag.series["steps"][-1] for tag in tags)
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
    """The answers about a step, and the total size of all answers so far."""
    answer = tag.answers(step)
    return answer, before + len(json.dumps(answer))
