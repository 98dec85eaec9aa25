"""What the plugin's pages ask for, out of TensorBoard's data provider: one series, or one slice of one step."""

from __future__ import annotations

import dataclasses
import functools
import math
import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from tensorboard import errors
from tensorboard.data import provider as provider_types

from tensorboard_plugins.interp_rnn import checks, graphs, schema

MOST_STEPS = 200
"""Steps of a tag that are shown; `plugin.Loader` asks TensorBoard to keep so many."""

KEPT_BYTES = 256 * 2**20
"""Decoded tensors kept between requests, the latest used."""

LINES = (0, 7, 16, 31, 50, 69, 84, 93, 100)
"""Percentiles of Jacobians that are lines over the steps."""


class Point(NamedTuple):
    """What a tag holds at a step: an array, or what a JSON text said."""

    step: int
    wall_time: float
    value: Any
    size: int


class Part(NamedTuple):
    """A tag that holds one step of a series."""

    tag: str
    max_wall_time: float
    plugin_content: bytes


@dataclasses.dataclass
class Series:
    """All that a tag holds: the description its writer gave, its points by step, and why others were left out."""

    content: Mapping[str, Any]
    points: list[Point]
    left_out: list[str]

    @functools.cached_property
    def overview(self) -> dict[str, Any]:
        """What a view shows first: description and steps, and what is small of the values themselves."""
        values = [point.value for point in self.points]
        found: dict[str, Any] = {
            **self.content,
            "steps": [point.step for point in self.points],
            "wall_times": [point.wall_time for point in self.points],
            "left_out": self.left_out,
        }
        kind = self.content["kind"]
        if kind in graphs.KINDS:
            return {**found, **graphs.overview(kind, values)}
        if kind == "jacobian":
            lines = [_finite(value[:, LINES].tolist()) for value in values]
            return {**found, "lines": LINES, "percentiles": lines}
        return {**found, "shapes": [list(np.shape(value)) for value in values]}


class Logs:
    """Reads tags of this plugin.

    Args:
        provider: TensorBoard's data provider.
    """

    def __init__(self, provider: Any) -> None:
        self._provider = provider
        self._kept: OrderedDict[tuple[Any, ...], Series] = OrderedDict()
        self._lock = threading.Lock()  # of `_kept`: TensorBoard answers each request in a thread of its own

    def tags(self, context: Any, experiment: str) -> dict[str, list[dict[str, Any]]]:
        """Run -> its tags, or the series that they are parts of: name, kind, last step.

        What cannot be read has an error in place of the kind.
        """
        found: dict[str, dict[str, dict[str, Any]]] = {}
        for run, tags in sorted(self._listed(context, experiment).items()):
            for tag, series in sorted(tags.items()):
                entry = {"tag": tag, "last_step": series.max_step, "last_time": series.max_wall_time}
                try:
                    content = checks.described(series.plugin_content)
                    entry["kind"] = content["kind"]
                    if _is_part(tag, content):
                        entry["tag"] = content["part_of"]
                except checks.UnknownContent as error:
                    entry["error"] = str(error)
                there = found.setdefault(run, {})
                earlier = there.get(entry["tag"])
                if earlier is None or earlier["last_step"] <= entry["last_step"]:
                    there[entry["tag"]] = entry
        return {run: list(entries.values()) for run, entries in found.items()}

    def series(self, context: Any, experiment: str, run: str, tag: str) -> dict[str, Any]:
        """What a view shows first: description and steps, and what is small of the values themselves.

        automaton, transition_counts: positions of the centroids, and history, numbers for each step. jacobian:
        percentiles, those of `LINES`. The others: shapes. All: left_out, a sentence for each reason why steps are. A
        series in parts: its steps alone, no tensor is read.
        """
        parts = self._parts(context, experiment, run, tag)
        if parts:
            last = parts[max(parts)]
            times = [parts[step].max_wall_time for step in sorted(parts)]
            return {**self._content(last), "steps": sorted(parts), "wall_times": times, "left_out": []}
        return self._read(context, experiment, run, tag).overview

    def graph(self, context: Any, experiment: str, run: str, tag: str, step: int) -> dict[str, Any]:
        """The states and edges of an automaton, or of counted transitions, at a step (`graphs.graph`)."""
        content, value = self._at(context, experiment, run, tag, step)
        if content["kind"] not in graphs.KINDS:
            raise errors.InvalidArgumentError(f"{tag} is no automaton and counts no transitions.")
        return graphs.graph(content, value)

    def texts(self, context: Any, experiment: str, run: str, tag: str, step: int) -> dict[str, Any]:
        """What `transition_texts` hold at a step, as they were written."""
        content, value = self._at(context, experiment, run, tag, step)
        if content["kind"] != "transition_texts":
            raise errors.InvalidArgumentError(f"{tag} holds no texts.")
        return dict(value)

    def slice(self, context: Any, experiment: str, run: str, tag: str, step: int, index: int) -> NDArray[np.float32]:
        """One part of the tensor of one step.

        transition_probabilities: the sequence `index`, (time, k). transition_counts: all of it. contributions: the
        target `index` from 1, (index + 2, outputs), the readout's bias last; or for 0 the norms of all terms
        (T + 1, T) followed by the logits (outputs, T), one below the other. outputs, jacobian: all of it.
        """
        content, value = self._at(context, experiment, run, tag, step)
        kind = content["kind"]
        if kind in ("transition_counts", "outputs", "jacobian"):
            return np.asarray(value, np.float32)
        if kind == "transition_probabilities":
            _within(index, 0, len(value) - 1)
            return np.asarray(value[index], np.float32)
        if kind == "contributions":
            steps = len(content["symbols"])
            _within(index, 0, steps)
            if index:
                return np.concatenate([value[schema.target_rows(index)], value[-1:]]).astype(np.float32)
            return _overview(value, steps)
        raise errors.InvalidArgumentError(f"{tag} has no slices: it comes as a whole.")

    def _at(self, context: Any, experiment: str, run: str, tag: str, step: int) -> tuple[Mapping[str, Any], Any]:
        """Description of a tag, or of the part of a series, and its value at a step."""
        parts = self._parts(context, experiment, run, tag)
        if step in parts or not parts:
            read = self._read(context, experiment, run, parts[step].tag if parts else tag)
            for point in read.points:
                if point.step == step:
                    return read.content, point.value
        raise errors.NotFoundError(f"There is no step {step} of {tag} in {run}.")

    def _listed(self, context: Any, experiment: str) -> Mapping[str, Mapping[str, Any]]:
        listed = self._provider.list_tensors(context, experiment_id=experiment, plugin_name=schema.PLUGIN)
        return listed or {}

    def _parts(self, context: Any, experiment: str, run: str, series: str) -> dict[int, Part]:
        """Step -> the tag that holds it, of a series in parts; empty for a tag."""
        found = {}
        for tag, listed in self._listed(context, experiment).get(run, {}).items():
            try:
                content = self._content(listed)
                if _is_part(tag, content) and content["part_of"] == series:
                    found[listed.max_step] = Part(tag, listed.max_wall_time, listed.plugin_content)
            except errors.InvalidArgumentError:
                continue
        return found

    def _content(self, listed: Any) -> dict[str, Any]:
        try:
            return checks.described(listed.plugin_content)
        except checks.UnknownContent as error:
            raise errors.InvalidArgumentError(str(error)) from None

    def _read(self, context: Any, experiment: str, run: str, tag: str) -> Series:
        listed = self._listed(context, experiment).get(run, {}).get(tag)
        if listed is None:
            raise errors.NotFoundError(f"There is no tag {tag!r} of this plugin in the run {run!r}.")
        content = self._content(listed)
        key = (experiment, run, tag, listed.max_step, listed.max_wall_time)
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
        some = self._provider.read_tensors(
            context,
            experiment_id=experiment,
            plugin_name=schema.PLUGIN,
            run_tag_filter=provider_types.RunTagFilter(runs=[run], tags=[tag]),
            downsample=MOST_STEPS,
        )
        read = _series(content, (some or {}).get(run, {}).get(tag, []))
        with self._lock:
            self._keep(key, read)
        return read

    def _keep(self, key: tuple[Any, ...], read: Series) -> None:
        for old in [other for other in self._kept if other[:3] == key[:3]]:
            del self._kept[old]
        self._kept[key] = read
        while len(self._kept) > 1 and sum(map(_size, self._kept.values())) > KEPT_BYTES:
            self._kept.popitem(last=False)


def _is_part(tag: str, content: Mapping[str, Any]) -> bool:
    return "part_of" in content and tag.startswith(f"{content['part_of']}/")


def _series(content: Mapping[str, Any], data: Iterable[Any]) -> Series:
    """What was written last at each step, as far as it can be read and has the shape of what was written last of all.

    A run that was begun again in the same folder leaves later steps of the run before it, of another network.
    """
    latest: dict[int, Point] = {}
    reasons: dict[str, list[int]] = {}
    for datum in sorted(data, key=lambda datum: datum.wall_time):
        try:
            value = _decoded(content, datum.numpy)
        except checks.UnknownContent as error:
            reasons.setdefault(str(error), []).append(datum.step)
        else:
            latest[datum.step] = Point(datum.step, datum.wall_time, value, _bytes(datum.numpy))
    if latest:
        shape = np.shape(max(latest.values(), key=lambda point: point.wall_time).value)
        for other in [point for point in latest.values() if np.shape(point.value) != shape]:
            reason = f"The shape is {np.shape(other.value)}, and {shape} in what was written last: log to a new folder."
            reasons.setdefault(reason, []).append(other.step)
            del latest[other.step]
    left_out = [f"{_steps(steps)} left out. {reason}" for reason, steps in reasons.items()]
    return Series(content, [latest[step] for step in sorted(latest)], left_out)


def _steps(steps: list[int]) -> str:
    first, last = min(steps), max(steps)
    return f"Step {first} is" if len(steps) == 1 else f"{len(steps)} steps from {first} to {last} are"


def _decoded(content: Mapping[str, Any], value: Any) -> Any:
    """An array, or what a JSON text says.

    Raises:
        UnknownContent: if it is not what its kind should be.
    """
    kind, array = content["kind"], np.asarray(value)
    if kind in ("automaton", "transition_texts"):
        said = array.item() if array.shape == () else None
        if not isinstance(said, bytes | str):
            raise checks.UnknownContent(f"{kind} must be a JSON text. Received: {array.dtype} of shape {array.shape}.")
        return checks.written(kind, said)
    if not (np.issubdtype(array.dtype, np.floating) or np.issubdtype(array.dtype, np.integer)):
        raise checks.UnknownContent(f"{kind} must be real numbers. Received: {array.dtype}.")
    axes, fits = _form(content, array.shape)
    if not fits or not array.size:
        raise checks.UnknownContent(f"{kind} must have the shape {axes}. Received: {array.shape}.")
    if kind == "transition_counts" and not (np.isfinite(array).all() and (array >= 0).all()):
        raise checks.UnknownContent("transition_counts must be finite and 0 or more. Received: others.")
    return array


def _form(content: Mapping[str, Any], shape: tuple[int, ...]) -> tuple[str, bool]:
    """The axes of a kind, in words, and whether a shape has them."""
    kind = content["kind"]
    if kind == "jacobian":
        expected = (len(content["lags"]), 101)
        return str(expected), shape == expected
    if kind == "contributions":
        steps = len(content["symbols"])
        expected = (steps * (steps + 3) // 2 + 1, len(content["outputs"]))
        return str(expected), shape == expected
    if kind == "transition_counts":
        symbols = len(content["symbols"])
        square = len(shape) == 3 and shape[1] == shape[2]
        return f"({symbols or 'symbols'}, k, k)", square and symbols in (0, shape[0])
    if kind == "outputs":
        return "(k + sequences, outputs)", len(shape) == 2
    return "(sequences, time, k)", len(shape) == 3


def _overview(value: NDArray[Any], steps: int) -> NDArray[np.float32]:
    norms = np.zeros((steps + 1, steps), np.float32)
    logits = np.zeros((value.shape[1], steps), np.float32)
    lengths = np.sqrt(np.einsum("ro,ro->r", value, value))
    for target in range(1, steps + 1):
        rows = schema.target_rows(target)
        norms[: target + 1, target - 1] = lengths[rows]
        logits[:, target - 1] = value[rows].sum(axis=0) + value[-1]
    return np.concatenate([norms, logits])


def _finite(values: Any) -> Any:
    """Nested lists of numbers with None for what JSON does not know."""
    if isinstance(values, list):
        return [_finite(value) for value in values]
    return values if math.isfinite(values) else None


def _within(index: int, low: int, high: int) -> None:
    if not low <= index <= high:
        raise errors.InvalidArgumentError(f"index must lie in [{low}, {high}]. Received: {index}.")


def _bytes(value: Any) -> int:
    """Of a tensor; of a text, its length."""
    array = np.asarray(value)
    return len(array.item()) if array.dtype == object and array.ndim == 0 else array.nbytes


def _size(read: Series) -> int:
    return sum(point.size for point in read.points)
