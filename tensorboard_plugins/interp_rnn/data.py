"""What the plugin's pages ask for, out of TensorBoard's data provider: one series, or one slice of one step."""

from __future__ import annotations

import json
import math
from collections import Counter, OrderedDict
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from tensorboard import errors
from tensorboard.data import provider as provider_types

from tensorboard_plugins.interp_rnn import layout, schema

MOST_STEPS = 200
"""Steps of a tag that are shown; `plugin.Loader` asks TensorBoard to keep so many."""

KEPT_BYTES = 256 * 2**20
"""Decoded tensors kept between requests, the latest used."""


class Point(NamedTuple):
    """A tensor at a step."""

    step: int
    wall_time: float
    value: NDArray[Any]


class Series(NamedTuple):
    """All that a tag holds: the description its writer gave, and its points by step."""

    content: Mapping[str, Any]
    points: list[Point]


class Logs:
    """Reads tags of this plugin.

    Args:
        provider: TensorBoard's data provider.
    """

    def __init__(self, provider: Any) -> None:
        self._provider = provider
        self._kept: OrderedDict[tuple[Any, ...], Series] = OrderedDict()

    def tags(self, context: Any, experiment: str) -> dict[str, list[dict[str, Any]]]:
        """Run -> its tags: name, kind, last step, and an error in place of the kind where it cannot be read."""
        found: dict[str, list[dict[str, Any]]] = {}
        for run, tags in sorted(self._listed(context, experiment).items()):
            for tag, series in sorted(tags.items()):
                entry = {"tag": tag, "last_step": series.max_step, "last_time": series.max_wall_time}
                try:
                    entry["kind"] = schema.described(series.plugin_content)["kind"]
                except schema.UnknownContent as error:
                    entry["error"] = str(error)
                found.setdefault(run, []).append(entry)
        return found

    def series(self, context: Any, experiment: str, run: str, tag: str) -> dict[str, Any]:
        """What a view shows first: description and steps, and the values themselves where they are small."""
        read = self._read(context, experiment, run, tag)
        content = dict(read.content)
        found: dict[str, Any] = {
            **content,
            "steps": [point.step for point in read.points],
            "wall_times": [point.wall_time for point in read.points],
        }
        if content["kind"] == "automaton":
            tables = [_table(point.value) for point in read.points]
            return {**found, "automata": tables, "positions": _positions(tables)}
        if content["kind"] == "jacobian":
            return {**found, "percentiles": [_finite(point.value.tolist()) for point in read.points]}
        return {**found, "shapes": [list(point.value.shape) for point in read.points]}

    def slice(self, context: Any, experiment: str, run: str, tag: str, step: int, index: int) -> NDArray[np.float32]:
        """One part of the tensor of one step.

        transition_probabilities: the sequence `index`, (time, k). transition_counts: all of it. contributions: the
        target `index` from 1, (index + 2, outputs), the readout's bias last; or for 0 the norms of all terms
        (T + 1, T) followed by the logits (outputs, T), one below the other.
        """
        read = self._read(context, experiment, run, tag)
        value = next((point.value for point in read.points if point.step == step), None)
        if value is None:
            raise errors.NotFoundError(f"There is no step {step} of {tag} in {run}.")
        kind = read.content["kind"]
        if kind == "transition_counts":
            return np.asarray(value, np.float32)
        if kind == "transition_probabilities":
            _within(index, 0, len(value) - 1)
            return np.asarray(value[index], np.float32)
        if kind == "contributions":
            steps = len(read.content["symbols"])
            _within(index, 0, steps)
            if index:
                return np.concatenate([value[schema.target_rows(index)], value[-1:]]).astype(np.float32)
            return _overview(value, steps)
        raise errors.InvalidArgumentError(f"{tag} has no slices: it comes as a whole.")

    def _listed(self, context: Any, experiment: str) -> Mapping[str, Mapping[str, Any]]:
        listed = self._provider.list_tensors(context, experiment_id=experiment, plugin_name=schema.PLUGIN)
        return listed or {}

    def _read(self, context: Any, experiment: str, run: str, tag: str) -> Series:
        listed = self._listed(context, experiment).get(run, {}).get(tag)
        if listed is None:
            raise errors.NotFoundError(f"There is no tag {tag!r} of this plugin in the run {run!r}.")
        try:
            content = schema.described(listed.plugin_content)
        except schema.UnknownContent as error:
            raise errors.InvalidArgumentError(str(error)) from None
        key = (experiment, run, tag, listed.max_step, listed.max_wall_time)
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
        data = (some or {}).get(run, {}).get(tag, [])
        read = Series(
            content, [Point(d.step, d.wall_time, np.asarray(d.numpy)) for d in data if _sound(content, d.numpy)]
        )
        self._keep(key, read)
        return read

    def _keep(self, key: tuple[Any, ...], read: Series) -> None:
        for old in [other for other in self._kept if other[:3] == key[:3]]:
            del self._kept[old]
        self._kept[key] = read
        while len(self._kept) > 1 and sum(map(_size, self._kept.values())) > KEPT_BYTES:
            self._kept.popitem(last=False)


def _sound(content: Mapping[str, Any], value: NDArray[Any]) -> bool:
    """Whether a tensor has the shape that its kind says; one that has not is left out."""
    kind, shape = content["kind"], np.shape(value)
    if kind == "automaton":
        return shape == () and _table(value) is not None
    if not np.issubdtype(np.asarray(value).dtype, np.number):
        return False
    if kind == "jacobian":
        return shape == (len(content.get("lags", ())), 101)
    if kind == "contributions":
        steps = len(content.get("symbols", ()))
        return shape == (steps * (steps + 3) // 2 + 1, len(content.get("outputs", ())))
    return len(shape) == 3


def _table(value: NDArray[Any]) -> dict[str, Any] | None:
    """The automaton a string tensor holds; None for anything else."""
    try:
        found = json.loads(np.asarray(value).item())
        rows = [[int(target) for target in row] for row in found["transitions"]]
        sound = all(-1 <= target < len(rows) for row in rows for target in row) and 0 <= found["start"] < len(rows)
        return found if sound and len(found["centroids"]) == len(rows) else None
    except (ValueError, TypeError, KeyError, AttributeError):
        return None


def _positions(tables: list[Any]) -> dict[str, list[float]]:
    """Centroid -> column and row, the same at every step."""
    edges = {
        (table["centroids"][state], table["centroids"][target])
        for table in tables
        for state, row in enumerate(table["transitions"])
        for target in row
        if target >= 0
    }
    starts = Counter(table["centroids"][table["start"]] for table in tables)
    placed = layout.positions(edges, [centroid for centroid, _ in starts.most_common()])
    return {str(centroid): list(place) for centroid, place in placed.items()}


def _overview(value: NDArray[Any], steps: int) -> NDArray[np.float32]:
    norms = np.zeros((steps + 1, steps), np.float32)
    logits = np.zeros((value.shape[1], steps), np.float32)
    for target in range(1, steps + 1):
        terms = value[schema.target_rows(target)]
        norms[: target + 1, target - 1] = np.linalg.norm(terms, axis=1)
        logits[:, target - 1] = terms.sum(axis=0) + value[-1]
    return np.concatenate([norms, logits])


def _finite(values: Any) -> Any:
    """Nested lists of numbers with None for what JSON does not know."""
    if isinstance(values, list):
        return [_finite(value) for value in values]
    return values if math.isfinite(values) else None


def _within(index: int, low: int, high: int) -> None:
    if not low <= index <= high:
        raise errors.InvalidArgumentError(f"index must lie in [{low}, {high}]. Received: {index}.")


def _size(read: Series) -> int:
    return sum(point.value.nbytes for point in read.points)
