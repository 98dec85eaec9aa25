"""Section 3 of Chen, 2017, and its figures 2, 3 and 5: next-item recommendation with four recurrent layers."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from keras_interp_rnn.reproduce._experiment import Experiment, Record, Run, grouped, runs, table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from keras_interp_rnn.datasets.interactions import Interactions

NETWORKS = ("vanilla", "GRU", "CFN", "MinimalRNN")
"""In the order of the paper's figures."""

SCORES = ("map_20", "recall_20", "ndcg_20")

LAGS = (0, 10, 25)
"""Of the singular values in records that do not name theirs."""


class Recommendation(Experiment):
    """Recommenders with four kinds of recurrent layers."""

    name = "minimal-rnn-recommendation"
    title = "Next-item recommendation"
    place = "Chen 2017, section 3, figures 2, 3 and 5"
    measure = "MAP@20"
    data = "interactions of users with items: a file of lines `user item [time]`, or `user item item ...`"
    options = frozenset({"data"})
    former_name = "recommend"
    rows = {network: {"network": network} for network in NETWORKS}

    def read(self, data: Path | None, smoke: bool, settings: Mapping[str, Any]) -> tuple[str, Interactions]:
        """The name of the data, and the data."""
        from keras_interp_rnn.datasets import interactions

        if smoke:
            return "smoke", interactions.generate(50, 64, length=30)
        if data is None:
            raise ValueError(
                "The paper's data are not public; nothing is downloaded in their place. Give a file of interactions "
                "by --data, a line `user item [time]` or `user item item ...` each, such as data/Video.txt of "
                "https://github.com/kang205/SASRec."
            )
        return data.name.split(".")[0], interactions.load(data)

    def identity(self, run: Run) -> dict[str, Any]:
        from keras_interp_rnn.reproduce import _recommendation

        return _recommendation.identity(*self.load(run))

    def run(self, run: Run) -> Record:
        from keras_interp_rnn import figures
        from keras_interp_rnn.reproduce import _recommendation

        protocol = _recommendation.Protocol()
        if run.smoke:
            protocol = _recommendation.Protocol(units=8, batch=32, epochs=2, negatives=16, probe=4, lags=(0, 5))
        network, (name, data) = run.settings["network"], self.load(run)
        record, model = _recommendation.train(network, name, data, protocol, run)
        if network == "MinimalRNN":
            kernel, recurrent, blocks = _recommendation.latent_weights(model)
            figures.latent_weights(kernel, recurrent, blocks=blocks).savefig(run.folder / "figure3.png", dpi=150)
        return record

    def summary(self, record: Record) -> str:
        return f"MAP@20 {record['result']['map_20']:.4f}"

    def fields(self, records: Sequence[Record]) -> dict[str, str]:
        by_network = grouped(records, lambda record: (record["data"]["name"], record["model"]["layer"]))
        rows: list[Sequence[object]] = []
        for data, of_data in grouped(records, lambda record: record["data"]["name"]).items():
            known = [record["result"]["popularity"] for record in of_data if "popularity" in record["result"]]
            if known:
                rows.append([data, "the most popular items", "", *(f"{known[0][score]:.4f}" for score in SCORES), ""])
        for (data, network), group in by_network.items():
            scores = [_spread([record["result"][score] for record in group]) for score in SCORES]
            seconds = min(record["result"]["seconds"] for record in group)
            rows.append([data, network, len(group), *scores, f"{seconds:.0f}"])
        first = [group[0] for group in by_network.values()]
        header = ["data", "network", "seeds", "MAP@20", "recall@20", "NDCG@20", "least seconds"]
        return {
            "drawn": _drawn(records),
            **_gates(records),
            "table": table(header, rows),
            "runs": runs(first, lambda record: f"{record['data']['name']}, {record['model']['layer']}"),
        }

    def pictures(self, records: Sequence[Record]) -> dict[str, Figure]:
        """Validation MAP@20 and singular values through training, of the first seed of every network."""
        from keras_interp_rnn import figures

        of_data = [record for record in records if record["data"]["name"] == _drawn(records)]
        by_network = grouped(of_data, lambda record: record["model"]["layer"])
        first = {
            kind: min(by_network[kind], key=lambda record: record["model"]["seed"])
            for kind in NETWORKS
            if kind in by_network
        }
        curves = {kind: record["curve"] for kind, record in first.items()}
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


def _drawn(records: Sequence[Record]) -> str:
    """The name of the data that are drawn, the last one: a report has one picture."""
    return str(max(record["data"]["name"] for record in records))


def _gates(records: Sequence[Record]) -> dict[str, str]:
    """Sizes of entries of U_h, figure 3, of the runs whose records have them."""
    measured = [record for record in records if "gate" in record["result"]]
    if not measured:
        return dict.fromkeys(("diagonal", "moving", "moved"), "not measured") | {"gates": "no record"}
    data = _drawn(measured)
    gates = [record["result"]["gate"] for record in measured if record["data"]["name"] == data]
    sizes = {}
    for name in gates[0]:
        low, high = (f"{bound(gate[name] for gate in gates):.1f}" for bound in (min, max))
        sizes[name] = low if low == high else f"{low} to {high}"
    seeds = f"lowest and highest of {len(gates)} seeds" if len(gates) > 1 else "one seed"
    return {**sizes, "gates": f"{data}, {seeds}"}


def _spread(values: Sequence[float]) -> str:
    return f"{statistics.mean(values):.4f}" + (f" ± {statistics.stdev(values):.4f}" if len(values) > 1 else "")
