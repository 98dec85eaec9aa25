"""The figures whose data are in the records: examples and the report draw them alike."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RECOMMENDERS = ("vanilla", "GRU", "CFN", "MinimalRNN")
"""In the order of the paper's figures."""

LAGS = (0, 10, 25)
"""Of the singular values in records that do not name theirs."""


def draw(records: Sequence[Mapping[str, Any]], folder: Path) -> list[Path]:
    """Draws the report's figures that these records hold the data of; the files, PNG at 150 dots an inch.

    Raises:
        ImportError: without matplotlib.
    """
    drawn: dict[str, Figure] = {}
    recommenders = [record for record in records if record["experiment"] == "recommend"]
    if recommenders:
        data = data_drawn(recommenders)
        drawn |= recommendation(record for record in recommenders if record["data"]["name"] == data)
    drawn |= parentheses(record for record in records if record["experiment"] == "balanced_parentheses")
    paths = [folder / name for name in drawn]
    if paths:
        folder.mkdir(parents=True, exist_ok=True)
    for path, figure in zip(paths, drawn.values(), strict=True):
        figure.savefig(path, dpi=150)
    return paths


def data_drawn(recommenders: Iterable[Mapping[str, Any]]) -> str:
    """Of records on several data the name of those that are drawn: one, so that a report has one picture."""
    return str(max(record["data"]["name"] for record in recommenders))


def recommendation(records: Iterable[Mapping[str, Any]]) -> dict[str, Figure]:
    """File name -> figure: validation MAP@20 and singular values through training (Chen, 2017, figures 2 and 5).

    Args:
        records: on the same data; of every network the one of the least seed is drawn.
    """
    from keras_interp_rnn import figures

    first: dict[str, Mapping[str, Any]] = {}
    for record in sorted(records, key=lambda record: record["model"]["seed"]):
        first.setdefault(record["model"]["layer"], record)
    curves = {kind: first[kind]["curve"] for kind in RECOMMENDERS if kind in first}
    progress = {
        kind: figures.Progress(
            [point["step"] for point in curve],
            [point["seconds"] / 3600 for point in curve],
            [point["map_20"] for point in curve],
        )
        for kind, curve in curves.items()
    }
    steps = {kind: curve.steps for kind, curve in progress.items()}
    singular = {kind: [point["singular_values"] for point in curve] for kind, curve in curves.items()}
    lags = next(iter(first.values()))["protocol"].get("lags", LAGS)
    return {
        "recommendation_progress.png": figures.metric_progress(progress),
        "jacobians_in_training.png": figures.jacobian_percentiles(steps, singular, lags=lags),
    }


def parentheses(records: Iterable[Mapping[str, Any]]) -> dict[str, Figure]:
    """File name -> figure: validation errors by the number of centroids (Wang, Lawrence and Niepert, 2022, figure 6).

    Args:
        records: of balanced parentheses; those of an SR-LSTM-P on `small` are drawn, of every number of centroids the
            one of the least seed, where there are several.
    """
    from keras_interp_rnn import figures

    curves: dict[str, tuple[list[float], list[float]]] = {}
    for centroids, record in by_centroids(records).items():
        curve = [point for point in record["curve"] if point["loss"] is not None]
        found = [point["step"] for point in curve], [point["validation_error"] for point in curve]
        curves[f"k = {centroids}"] = found
    return {"parentheses-centroids.png": figures.error_curves(curves)} if curves else {}


def by_centroids(records: Iterable[Mapping[str, Any]]) -> dict[int, Mapping[str, Any]]:
    """Number of centroids -> the record that `parentheses` draws; {} where there are not several."""
    found: dict[int, Mapping[str, Any]] = {}
    drawn = (r for r in records if (r["data"]["config"], r["model"]["layer"]) == ("small", "SR-LSTM-P"))
    for record in sorted(drawn, key=lambda r: (r["protocol"]["centroids"], r["model"]["seed"])):
        found.setdefault(record["protocol"]["centroids"], record)
    return found if len(found) > 1 else {}
