"""Answers to the plugin's pages from TensorBoard's data provider: one series, or one part of one step."""

from __future__ import annotations

import dataclasses
import functools
import math
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from tensorboard import errors
from tensorboard.data import provider as provider_types

from tensorboard_plugins.interp_rnn import recording, schema
from tensorboard_plugins.interp_rnn.checks import UnknownContent
from tensorboard_plugins.interp_rnn.kinds._kind import BadRequest, Kind

MAX_STEPS = 200
"""Maximum number of steps of a tag; `plugin.Loader` asks TensorBoard to keep that many."""

NEW_FOLDER = "log to a new folder."

MAX_CACHE = 256 * 2**20
"""Maximum size of decoded tensors that are cached, the latest used."""


PARTS, LOSS = ("train", "validation"), "epoch_loss"
"""Folders of Keras's TensorBoard callback, and the tag of its losses."""


class Point(NamedTuple):
    """The value of a tag at a step: an array, or the object of a JSON text."""

    step: int
    wall_time: float
    value: Any
    size: int


class Part(NamedTuple):
    """A tag with a single step of a series."""

    tag: str
    max_wall_time: float
    plugin_content: bytes


@dataclasses.dataclass
class Series:
    """The description of a tag, its points by step, and sentences on the points that are left out."""

    description: Mapping[str, Any]
    points: list[Point]
    left_out: list[str]

    @property
    def kind(self) -> Kind:
        return schema.KINDS[self.description["kind"]]

    @functools.cached_property
    def overview(self) -> dict[str, Any]:
        """The first answer to a view: description, steps, and the overview that the kind computes from all values."""
        return {
            **self.description,
            "steps": [point.step for point in self.points],
            "left_out": self.left_out,
            **self.kind.overview(self.description, [point.value for point in self.points]),
        }


class Logs:
    """Reads tags of this plugin.

    Args:
        provider: TensorBoard's data provider.
    """

    def __init__(self, provider: Any) -> None:
        self._provider = provider
        self._cache: OrderedDict[tuple[Any, ...], Series] = OrderedDict()
        self._lock = threading.Lock()  # of the cache: TensorBoard answers each request in its own thread

    def tags(self, context: Any, experiment: str) -> dict[str, list[dict[str, Any]]]:
        """Run -> name, kind and last step of its tags, or of the series to which they belong.

        A tag that cannot be read has an error instead of a kind.
        """
        runs: dict[str, dict[str, dict[str, Any]]] = {}
        for run, tags in sorted(self._listed(context, experiment).items()):
            for tag, listed in sorted(tags.items()):
                entry = {"tag": tag, "last_step": listed.max_step}
                try:
                    description = schema.described(listed.plugin_content)
                    entry["kind"] = description["kind"]
                    if _is_part(tag, description):
                        entry["tag"] = description["part_of"]
                except UnknownContent as error:
                    entry["error"] = str(error)
                entries = runs.setdefault(run, {})
                earlier = entries.get(entry["tag"])
                if earlier is None or earlier["last_step"] <= entry["last_step"]:
                    entries[entry["tag"]] = entry
        return {run: list(entries.values()) for run, entries in runs.items()}

    def series(self, context: Any, experiment: str, run: str, tag: str) -> dict[str, Any]:
        """The first answer to a view: `Series.overview`. Only the last written part of a series in parts is read.

        A run that started again in the same folder leaves steps of the run before it, perhaps of another text.
        """
        parts = self._parts(context, experiment, run, tag)
        if not parts:
            return self._read(context, experiment, run, tag).overview
        last = max(parts.values(), key=lambda part: part.max_wall_time)
        description = _description(last)
        steps = [step for step in sorted(parts) if _description(parts[step]) == description]
        left_out = list(self._read(context, experiment, run, last.tag).left_out)
        if len(steps) < len(parts):
            others = _steps([step for step in parts if step not in steps])
            left_out.append(f"{others} left out. Other texts were logged than in what was written last: {NEW_FOLDER}")
        return {**description, "steps": steps, "left_out": left_out}

    def graph(self, context: Any, experiment: str, run: str, tag: str, step: int) -> dict[str, Any]:
        """The drawn states and edges of a step (kinds/_graph.py)."""

        def answer(read: Series, value: Any) -> Any:
            return read.kind.graph(read.description, value, read.overview)

        return self._answer(context, experiment, run, tag, step, answer)

    def texts(self, context: Any, experiment: str, run: str, tag: str, step: int) -> dict[str, Any]:
        """The texts of a step (kinds/transition_texts.py)."""
        return self._answer(context, experiment, run, tag, step, lambda read, value: read.kind.texts(value))

    def slice(self, context: Any, experiment: str, run: str, tag: str, step: int, index: int) -> NDArray[np.float32]:
        """One part of the tensor of one step, as its kind divides it."""

        def answer(read: Series, value: Any) -> Any:
            return read.kind.slice(read.description, value, index)

        return self._answer(context, experiment, run, tag, step, answer)

    def losses(self, context: Any, experiment: str) -> dict[str, dict[str, float]]:
        """Folder -> the last finite losses that Keras's own callback logged to it: of "train", of "validation"."""
        listed = self._provider.list_scalars(context, experiment_id=experiment, plugin_name="scalars") or {}
        found: dict[str, dict[str, float]] = {}
        for run, tags in sorted(listed.items()):
            above, _, part = f"./{run}".rpartition("/")
            if part not in PARTS or LOSS not in tags:
                continue
            asked = provider_types.RunTagFilter(runs=[run], tags=[LOSS])
            read = self._provider.read_scalars(
                context, experiment_id=experiment, plugin_name="scalars", downsample=MAX_STEPS, run_tag_filter=asked
            )
            finite = [point.value for point in read[run][LOSS] if math.isfinite(point.value)]
            if finite:
                found.setdefault(above.removeprefix("./"), {})[part] = finite[-1]
        return found

    def recorded(
        self, context: Any, experiment: str, asked: Sequence[Mapping[str, Any]], state: Mapping[str, Any]
    ) -> dict[str, Any]:
        """The data of a page without a server (recording.py): tags, and tags without a view in the same runs.

        Args:
            asked: objects with run and tag.
            state: of the page; `step` is the step that is shown.
        """
        listed = self.tags(context, experiment)
        tags = [(one["run"], one["tag"]) for one in asked]
        more = [(run, entry["tag"]) for run, _ in tags for entry in listed.get(run, []) if _has_no_view(entry)]
        found = []
        for run, tag in dict.fromkeys([*tags, *more]):
            try:
                found.append(self._recording(context, experiment, run, tag))
            except errors.InvalidArgumentError:
                if (run, tag) in tags:  # any other damaged tag is left out
                    raise
        found = [one for one in found if one.series["steps"]]
        if not found:
            raise errors.NotFoundError(
                f"There is no step of {asked[0]['tag']!r} in the run {asked[0]['run']!r} that can be read."
            )
        try:
            return recording.block(found, state)
        except recording.TooLarge as error:
            raise errors.InvalidArgumentError(str(error)) from None

    def _recording(self, context: Any, experiment: str, run: str, tag: str) -> recording.Tag:
        series = self.series(context, experiment, run, tag)

        def answer(read: Series, value: Any) -> Any:
            return read.kind.answers(read.description, value, read.overview)

        def answers(step: int) -> Any:
            return self._answer(context, experiment, run, tag, step, answer)

        return recording.Tag(run, tag, series, answers)

    def _answer(
        self, context: Any, experiment: str, run: str, tag: str, step: int, answer: Callable[[Series, Any], Any]
    ) -> Any:
        """An answer computed from the value of a step."""
        parts = self._parts(context, experiment, run, tag)
        if step in parts or not parts:
            read = self._read(context, experiment, run, parts[step].tag if parts else tag)
            for point in read.points:
                if point.step == step:
                    try:
                        return answer(read, point.value)
                    except BadRequest as error:
                        raise errors.InvalidArgumentError(str(error)) from None
        raise errors.NotFoundError(f"There is no step {step} of {tag} in {run}.")

    def _listed(self, context: Any, experiment: str) -> Mapping[str, Mapping[str, Any]]:
        listed = self._provider.list_tensors(context, experiment_id=experiment, plugin_name=schema.PLUGIN)
        return listed or {}

    def _parts(self, context: Any, experiment: str, run: str, series: str) -> dict[int, Part]:
        """Step -> its tag, for a series in parts; empty for a tag."""
        parts = {}
        for tag, listed in self._listed(context, experiment).get(run, {}).items():
            try:
                description = _description(listed)
            except errors.InvalidArgumentError:
                continue
            if _is_part(tag, description) and description["part_of"] == series:
                parts[listed.max_step] = Part(tag, _time(listed.max_wall_time), listed.plugin_content)
        return parts

    def _read(self, context: Any, experiment: str, run: str, tag: str) -> Series:
        listed = self._listed(context, experiment).get(run, {}).get(tag)
        if listed is None:
            raise errors.NotFoundError(f"There is no tag {tag!r} of this plugin in the run {run!r}.")
        description = _description(listed)
        key = (experiment, run, tag, listed.max_step, _time(listed.max_wall_time))
        with self._lock:
            if key in self._cache:
                self._cache.move_to_end(key)
                return self._cache[key]
        read = _series(description, self._tensors(context, experiment, run, tag))
        with self._lock:
            self._store(key, read)
        return read

    def _tensors(self, context: Any, experiment: str, run: str, tag: str) -> list[Any]:
        try:
            tensors = self._provider.read_tensors(
                context,
                experiment_id=experiment,
                plugin_name=schema.PLUGIN,
                run_tag_filter=provider_types.RunTagFilter(runs=[run], tags=[tag]),
                downsample=MAX_STEPS,
            )
        except errors.PublicError:
            raise
        except Exception as error:  # TensorBoard decodes a tensor of any shape and dtype that a log claims
            raise errors.InvalidArgumentError(
                f"The tensors of a tag must have the shape and dtype that they claim. Received: {tag!r} of the run "
                f"{run!r}, which is damaged ({error})."
            ) from None
        return list((tensors or {}).get(run, {}).get(tag, []))

    def _store(self, key: tuple[Any, ...], read: Series) -> None:
        for old in [other for other in self._cache if other[:3] == key[:3]]:
            del self._cache[old]
        self._cache[key] = read
        while len(self._cache) > 1 and sum(map(_size, self._cache.values())) > MAX_CACHE:
            self._cache.popitem(last=False)


def _description(listed: Any) -> dict[str, Any]:
    try:
        return schema.described(listed.plugin_content)
    except UnknownContent as error:
        raise errors.InvalidArgumentError(str(error)) from None


def _is_part(tag: str, description: Mapping[str, Any]) -> bool:
    return "part_of" in description and tag.startswith(f"{description['part_of']}/")


def _has_no_view(entry: Mapping[str, Any]) -> bool:
    """Whether a listed tag is of a kind that has no view."""
    return "kind" in entry and schema.KINDS[entry["kind"]].VIEW is None


def _series(description: Mapping[str, Any], data: Iterable[Any]) -> Series:
    """The last value of each step that can be read and has the shape of the last written value.

    A run that started again in the same folder leaves later steps of the run before it, of another network.
    """
    latest: dict[int, Point] = {}
    reasons: dict[str, list[int]] = {}
    for datum in sorted(data, key=lambda datum: _time(datum.wall_time)):
        tensor = np.asarray(datum.numpy)
        try:
            value = schema.KINDS[description["kind"]].decode(description, tensor)
        except UnknownContent as error:
            reasons.setdefault(str(error), []).append(datum.step)
        else:
            size = tensor.nbytes if isinstance(value, np.ndarray) else len(tensor.item())
            latest[datum.step] = Point(datum.step, _time(datum.wall_time), value, size)
    if latest:
        shape = np.shape(max(latest.values(), key=lambda point: point.wall_time).value)
        for other in [point for point in latest.values() if np.shape(point.value) != shape]:
            reason = f"The shape is {np.shape(other.value)}, and {shape} in what was written last: {NEW_FOLDER}"
            reasons.setdefault(reason, []).append(other.step)
            del latest[other.step]
    left_out = [f"{_steps(steps)} left out. {reason}" for reason, steps in reasons.items()]
    return Series(description, [latest[step] for step in sorted(latest)], left_out)


def _time(wall_time: float) -> float:
    """A wall time; NaN and infinities count as the earliest."""
    return wall_time if math.isfinite(wall_time) else 0.0


def _steps(steps: list[int]) -> str:
    first, last = min(steps), max(steps)
    return f"Step {first} is" if len(steps) == 1 else f"{len(steps)} steps from {first} to {last} are"


def _size(read: Series) -> int:
    return sum(point.size for point in read.points)
