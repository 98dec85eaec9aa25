"""Section 3 of Chen, 2017, and its figures 2, 3 and 5: next-item recommendation with four recurrent layers."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from examples.papers import _recommendation
from examples.papers._experiment import Claim, Experiment, Finding, Record, Run, grouped, runs, table
from examples.papers._lazy import Array, corpora, drawings, figures, np
from examples.papers._minimal_rnn import GATED, NETWORKS, gates_of
from examples.papers._verdicts import fewer, share

SCORES = ("map_20", "recall_20", "ndcg_20")

STEPS = 100
"""For which critical gates are made, four times the longest lag."""

WITH_ATTRIBUTES = "MinimalRNN, with attributes"

LAGS = (0, 10, 25)
"""The lags of the singular values in records that do not name them."""


BY_CHANCE = {"diagonal": (1.00, 0.09), "moving": (1.07, 0.01)}
"""Mean and standard deviation of these measures of U_h over fresh orthogonal matrices of 64 units."""


class Recommendation(Experiment):
    name = "minimal-rnn-recommendation"
    title = "Next-item recommendation"
    place = "Chen 2017, section 3, figures 2, 3 and 5"
    measure = "MAP@20"
    data = (
        "interactions of users with items: a file of lines `user item [time]`, or `user item item ...`; for attributes "
        "NAME_item2attributes.json beside NAME.txt"
    )
    options = frozenset({"data"})
    small = {"units": 8, "batch": 32, "epochs": 2, "negatives": 16, "probe": 4, "lags": (0, 5)}
    rows = {network: {"network": network} for network in NETWORKS} | {
        "GRU, gate bias 1": {"network": "GRU", "gate_bias": 1.0},
        **{f"{network}, gates for {STEPS} steps": {"network": network, "gate_steps": STEPS} for network in GATED},
        WITH_ATTRIBUTES: {"network": "MinimalRNN", "attributes": True},
    }

    def read(
        self, data: Path | None, smoke: bool, settings: Mapping[str, Any]
    ) -> tuple[str, corpora.interactions.Interactions]:
        """The name of the data, and the data."""
        if smoke:
            return "smoke", corpora.interactions.generate(50, 64, length=30)
        if data is None:
            raise ValueError(
                "The paper's data are not public; nothing is downloaded in their place. Give a file of interactions "
                "by --data, a line `user item [time]` or `user item item ...` each, such as data/Video.txt of "
                "https://github.com/kang205/SASRec."
            )
        return data.name.split(".")[0], corpora.interactions.load(data)

    def identity(self, run: Run) -> dict[str, Any]:
        return _recommendation.identity(*self.load(run))

    def run(self, run: Run) -> Record:
        network, (name, data), own = run.settings["network"], self.load(run), self.settings(run)
        protocol = _recommendation.Protocol(**{name: own[name] for name in own if name != "network"})
        attributes: Array | None = None
        if protocol.attributes and run.data is not None:
            path = run.data.with_name(f"{name}_item2attributes.json")
            attributes = _recommendation.read_attributes(path, data.names)
        elif protocol.attributes:  # smoke
            attributes = np.random.default_rng(0).integers(2, size=(1 + len(data.names), 5)).astype("float32")
        record, model = _recommendation.train(network, name, data, protocol, run, attributes)
        if network == "MinimalRNN":
            kernel, recurrent, blocks = _recommendation.latent_weights(model)
            drawings.latent_weights(kernel, recurrent, blocks=blocks).savefig(run.folder / "figure3.png", dpi=150)
        return record

    def summary(self, record: Record) -> str:
        return f"MAP@20 {record['result']['map_20']:.4f}"

    def called(self, record: Record) -> str:
        return f"{record['data']['name']}, {_kind(record)}"

    def fields(self, records: Sequence[Record]) -> dict[str, str]:
        rows: list[Sequence[object]] = []
        for data, of_data in _by_data(records).items():
            known = [record["result"]["popularity"] for record in of_data if "popularity" in record["result"]]
            if known:
                rows.append([data, "the most popular items", "", *(f"{known[0][score]:.4f}" for score in SCORES), ""])
        first = []
        for (data, network), group in grouped(records, lambda one: (one["data"]["name"], _kind(one))).items():
            scores = [_spread([record["result"][score] for record in group]) for score in SCORES]
            seconds = min(record["result"]["seconds"] for record in group)
            rows.append([data, network, len(group), *scores, f"{seconds:.0f}"])
            first.append(group[0])
        return {
            "drawn": _drawn(records),
            **_gates(records),
            "by_gates": _by_gates(records),
            "table": table("data | network | seeds | MAP@20 | recall@20 | NDCG@20 | least seconds", rows),
            "runs": runs(first, self.called),
        }

    def claims(self, records: Sequence[Record]) -> list[Claim]:
        alike: list[Finding] = []
        behind: list[Finding] = []
        failed: list[Finding] = []
        order: list[Finding] = []
        faster: list[Finding] = []
        for data, of_data in _by_data(records).items():
            of = grouped(of_data, _kind)
            if not set(NETWORKS) <= set(of):
                continue
            scores = {kind: [-record["result"]["map_20"] for record in of[kind]] for kind in NETWORKS}  # less is better
            best = min((scores["CFN"], scores["GRU"]), key=statistics.mean)
            alike.append(fewer(scores["MinimalRNN"], best, _score, 0.05 * statistics.mean(best), of=data))
            least = max((scores[kind] for kind in NETWORKS[1:]), key=statistics.mean)
            behind.append(fewer(least, scores["vanilla"], _score, of=data))
            part = statistics.mean(scores["vanilla"]) / statistics.mean(scores["GRU"])
            failed.append(Finding(f"{part:.0%} of the GRU's", part < 0.1))
            times = [min(one["result"]["seconds"] for one in of[kind]) for kind in ("MinimalRNN", "CFN", "GRU")]
            figure = ", ".join(f"{time:.1f}" for time in times)
            order.append(Finding(f"{data}: {figure} s", times[0] < times[1] < times[2]))
            part = times[0] / times[2]
            faster.append(Finding(f"{part:.2f} of the GRU's", part <= 1.05 * 30 / 46))
        if not alike:
            return []
        measured = [record["result"]["gate"] for record in _measured(records)]

        def beyond_chance(name: str) -> list[Finding]:
            mean, deviation = BY_CHANCE[name]
            scores = [(gate[name] - mean) / deviation for gate in measured]
            return [
                Finding(f"{gate[name]:.2f} times, by chance {mean:.2f} ± {deviation:.2f}", score >= 3)
                for gate, score in zip(measured, scores, strict=True)
            ]

        return [
            self.claim(
                "alike",
                "the MinimalRNN's is less than 5 % below the better of the other two, on each data set",
                *alike,
                decides="more seeds",
            ),
            self.claim(
                "vanilla fails",
                "it is behind all others on each data set; its MAP@20 is below a tenth of the GRU's",
                *behind,
                *failed,
                decides="sequences of 500 steps (here 50), no bound on the gradient, and the paper's optimizer",
            ),
            self.claim(
                "time",
                "in this order; the MinimalRNN in at most 0.68 of the GRU's time (0.65 in the paper), on each data set",
                *order,
                *faster,
                decides="the layers' time alone (in benchmarks/README.md a GRU takes about twice a MinimalRNN's; here "
                "embeddings and readout are timed too)",
            ),
            self.claim(
                "items",
                "items have the larger mean square weights in more than half of the dimensions, the context in at"
                " least a tenth",
                decides="data with context: in ours attributes are a function of the item",
            ),
            self.claim(
                "diagonal",
                "for each seed, entries there are larger than others by three standard deviations of an untrained"
                " orthogonal matrix",
                *beyond_chance("diagonal"),
            ),
            self.claim(
                "columns",
                "for each seed, entries of the largest column are larger than others by three such standard deviations",
                *beyond_chance("moving"),
            ),
            *self._of_figure_5(records),
        ]

    def _of_figure_5(self, records: Sequence[Record]) -> list[Claim]:
        """Claims on singular values through training, at the lag of ten steps, of every data set and seed."""
        runs_of: dict[tuple[str, int], dict[str, list[Sequence[float]]]] = {}
        for record in records:
            kind, lags = _kind(record), _lags(record)
            if kind in NETWORKS and 10 in lags:
                curve = [point["singular_values"][lags.index(10)] for point in record["curve"]]
                runs_of.setdefault((record["data"]["name"], record["model"]["seed"]), {})[kind] = curve
        complete = [curves for curves in runs_of.values() if {"GRU", "MinimalRNN", "CFN"} <= set(curves)]
        highest = [{kind: max(point[-1] for point in curve) for kind, curve in curves.items()} for curves in complete]
        medians = [
            {kind: [point[len(point) // 2] for point in curve] for kind, curve in curves.items()} for curves in complete
        ]
        largest = [[point[-1] for point in curves["GRU"]] for curves in complete]
        jumps = [max(b / a for a, b in zip(values, values[1:], strict=False)) for values in largest]
        return [
            self.claim(
                "GRU",
                "at k = 10, in most networks, the largest one doubles from one evaluation to the next; and "
                "exceeds those of the others with gates",
                *share([jump >= 2 for jump in jumps], 0.5),
                *share([of["GRU"] > max(of["MinimalRNN"], of["CFN"]) for of in highest], 0.5),
                decides="more seeds",
                picture="jacobians_in_training.png",
            ),
            self.claim(
                "CFN",
                "at k = 10 the median falls, in most networks; and ends below 0.001",
                *share([of["CFN"][-1] < of["CFN"][0] for of in medians], 0.5),
                *share([of["CFN"][-1] < 1e-3 for of in medians], 0.5),
                decides="more seeds",
            ),
            self.claim(
                "MinimalRNN",
                "at k = 10, in most networks, the largest one is never above the GRU's highest; and the median "
                "does not end below those of the others",
                *share([of["MinimalRNN"] <= of["GRU"] for of in highest], 0.5),
                *share([of["MinimalRNN"][-1] >= min(of["GRU"][-1], of["CFN"][-1]) for of in medians], 0.5),
                evidence="six networks, of two data sets",
                decides="the bias of the gate, which the paper does not give",
            ),
        ]

    def pictures(self, records: Sequence[Record]) -> dict[str, figures.Figure]:
        """Validation MAP@20 and singular values through training, of the first seed of every network."""
        gates = _first(records, GATED)
        first = {kind: record for kind, record in _first(records).items() if kind in NETWORKS}
        progress = {}
        for kind, record in first.items():
            points = [(one["step"], one["seconds"] / 3600, one["map_20"]) for one in record["curve"]]
            steps, hours, scores = zip(*points, strict=True)
            progress[kind] = steps, hours, scores
        drawn = {
            "recommendation_progress.png": drawings.metric_progress(progress),
            "jacobians_in_training.png": _percentiles(first),
        }
        if len(gates) > len(GATED):
            drawn["jacobians_in_training_by_gates.png"] = _percentiles(gates)
        return drawn


def _by_data(records: Sequence[Record]) -> dict[str, list[Record]]:
    return grouped(records, lambda record: record["data"]["name"])


def _score(value: float) -> str:
    """A MAP@20 that was turned around, so that less is better."""
    return f"{-value:.4f}"


def _kind(record: Record) -> str:
    """The network, its inputs besides the items, and how its gates start if not by the layer's default."""
    own = ", with attributes" if record["protocol"].get("attributes") else gates_of(record["protocol"])
    return f"{record['model']['layer']}{own}"


def _lags(record: Record) -> list[int]:
    return list(record["protocol"].get("lags", LAGS))


def _by_gates(records: Sequence[Record]) -> str:
    """Singular values at the end of training by how the gates start; "" without networks that differ in it."""
    first = _first(records, GATED)
    if len(first) <= len(GATED):
        return ""
    rows = []
    for kind, record in first.items():
        lags, last = _lags(record), record["curve"][-1]["singular_values"]
        of_lags = [f"{last[lags.index(k)][i]:.1e}" for k in lags if k for i in (len(last[0]) // 2, -1)]
        rows.append([kind, f"{record['result']['map_20']:.4f}", *of_lags])
        shown = [f"{name}, k = {k}" for k in lags if k for name in ("median", "largest")]
    return table(["network", "MAP@20", *shown], rows)


def _first(records: Sequence[Record], networks: Sequence[str] = NETWORKS) -> dict[str, Record]:
    """The first seed of every network of these kinds on the data that are drawn, its variants too, in their order."""
    of_data = [record for record in records if record["data"]["name"] == _drawn(records)]
    return {
        kind: min(of_kind, key=lambda record: record["model"]["seed"])
        for network in networks
        for kind, of_kind in grouped(of_data, _kind).items()
        if kind.split(",")[0] == network and kind != WITH_ATTRIBUTES
    }


def _percentiles(records: Mapping[str, Record]) -> figures.Figure:
    """Figure 5, of these networks."""
    steps = {kind: [point["step"] for point in record["curve"]] for kind, record in records.items()}
    singular = {kind: [point["singular_values"] for point in record["curve"]] for kind, record in records.items()}
    return figures.jacobian_percentiles(steps, singular, lags=_lags(next(iter(records.values()))))


def _drawn(records: Sequence[Record]) -> str:
    """The name of the data that are drawn, the last one: a report has one picture."""
    return str(max(record["data"]["name"] for record in records))


def _measured(records: Sequence[Record]) -> list[Record]:
    """Records of U_h: of networks that read attributes, as the paper's read context; or of plain ones."""
    of = grouped([record for record in records if "gate" in record["result"]], _kind)
    return of.get(WITH_ATTRIBUTES) or of.get("MinimalRNN", [])


def _gates(records: Sequence[Record]) -> dict[str, str]:
    """Sizes of entries of U_h, figure 3, of the runs whose records have them."""
    measured = _measured(records)
    if not measured:
        return dict.fromkeys(("diagonal", "moving", "moved"), "not measured") | {"gates": "no record"}
    data = _drawn(measured)
    gates = [record["result"]["gate"] for record in measured if record["data"]["name"] == data]
    sizes = {}
    for name in gates[0]:
        low, high = (f"{bound(gate[name] for gate in gates):.1f}" for bound in (min, max))
        sizes[name] = low if low == high else f"{low} to {high}"
    seeds = f"lowest and highest of {len(gates)} seeds" if len(gates) > 1 else "one seed"
    reads = _kind(measured[0]).removeprefix("MinimalRNN")
    return {**sizes, "gates": f"{data}{reads}, {seeds}"}


def _spread(values: Sequence[float]) -> str:
    return f"{statistics.mean(values):.4f}" + (f" ± {statistics.stdev(values):.4f}" if len(values) > 1 else "")
