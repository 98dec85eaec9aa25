"""Results as the TensorBoard plugin draws them: tags, and the views that hold them in a page without a server."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tensorboard_plugins.interp_rnn import recording

Tag = tuple[Any, dict[str, Any]]
"""A tensor, and its description: the file `tensorboard_plugins/interp_rnn/kinds/KIND.py` documents both."""


class View(NamedTuple):
    """A view of the plugin with its data.

    Attributes:
        name: the module that draws it, `static/NAME.js`.
        data: what it draws, as `recording.block` returns it.
        title, lead: of its page; "" for those of the result's class.
    """

    name: str
    data: dict[str, Any]
    title: str = ""
    lead: str = ""


def view(name: str, tag: Tag, **state: object) -> View:
    """A view of a tag of one step; raises recording.TooLarge if its data are too large for a page."""
    return pane(name, {"": tag}, **state)


def pane(name: str, tags: dict[str, Tag], **state: object) -> View:
    """A view of tags of one step by their names, the first of which is drawn with what the others add."""
    recorded = [recording.single(values, name=named, **more) for named, (values, more) in tags.items()]
    return View(name, recording.block(recorded, {"place": name, **state}))


def masked_steps(read: NDArray[np.bool_] | None) -> list[int]:
    """The steps of a text that are not read, from 0; none where they are not known."""
    return [] if read is None else np.flatnonzero(~read).tolist()


def step_numbers(steps: int) -> list[str]:
    """The names of steps without names, from 1."""
    return [str(step + 1) for step in range(steps)]
