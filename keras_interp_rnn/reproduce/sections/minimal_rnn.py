"""The report's sections on the MinimalRNN (Chen, 2017)."""

from __future__ import annotations

import statistics
from typing import Any

from keras_interp_rnn.reproduce.pictures import data_drawn
from keras_interp_rnn.reproduce.sections.runs import ending

START = """
## Jacobians at the initial point (Chen 2017, figure 4)

`examples/jacobians_at_start.py`; singular values of dh_T/dx_{T-k}, all matrices orthogonal: median (10 % to 90 %).
*They vanish quickly in the vanilla RNN; those of the MinimalRNN neither stretch nor shrink, even at k = 25.*

![histograms of singular values, inputs of standard deviation 1](figures/jacobians_at_start.png)

| inputs' standard deviation | network | """

RECOMMEND = """
## Next-item recommendation (Chen 2017, section 3)

`examples/recommend.py`; held-out last items, mean and standard deviation over the seeds; the least seconds of training
of any seed, on a machine that others used too. The paper's own data, and its MAP@20 of 0.15, are not public. *The
MinimalRNN trains in two thirds of the GRU's time, 30 hours against 46, the CFN in 36; a vanilla RNN fails.*

Validation MAP@20 by steps and by hours on {data} (first seed), figure 2 of the paper, which has test data there:

![validation MAP@20 through training](figures/recommendation_progress.png)

Singular values through training, figure 5 of the paper, on {data} (first seed). *The GRU's grow rapidly in some
iterations, the CFN's mostly shrink towards 0; those of the MinimalRNN are relatively well-conditioned throughout.*

![percentiles of singular values through training](figures/jacobians_in_training.png)

"""

GATES = """Weights of a MinimalRNN on {data}, figure 3 of the paper, whose data had context beside the
items. Mean sizes of entries of U_h, over those off the diagonal ({seeds}):

- on the diagonal {diagonal} (*an entry of the gate depends mostly on the same dimension of the state*);
- in the largest column {moving} (*dimensions of the context act on all of the gate*);
- in the largest row, an entry of the gate on which all of the state acts, {moved}.

![weight matrices of the MinimalRNN](figures/recommendation_weights.png)

"""

SCORES = """| data | network | seeds | MAP@20 | recall@20 | NDCG@20 | least seconds |
|---|---|---|---|---|---|---|
"""


def start(records: list[dict[str, Any]]) -> str:
    """Figure 4."""
    records = sorted(records, key=lambda record: (-record["protocol"]["scale"], _gate_bias(record)))
    lags = records[0]["protocol"]["lags"]
    lines = [" | ".join(f"k = {lag}" for lag in lags) + " |\n|" + "---|" * (len(lags) + 2) + "\n"]
    for record in records:
        for network, rows in record["result"].items():
            cells = [f"{median:.2g} ({low:.1e} to {high:.1e})" for low, median, high in rows["p10_p50_p90"]]
            lines.append(f"| {record['protocol']['scale']:g} | {network}{_gate_bias(record)} | {' | '.join(cells)} |\n")
    name = "scale {scale:g}".format
    return START + "".join(lines) + ending(records, lambda record: name(**record["protocol"]) + _gate_bias(record))


def _gate_bias(record: dict[str, Any]) -> str:
    """Of networks that share one; "" where each has its own."""
    bias = record["protocol"].get("gate_bias")
    return "" if bias is None else f", gate bias {bias:g}"


def recommend(records: list[dict[str, Any]]) -> str:
    """Section 3 and figure 5."""
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for record in records:
        groups.setdefault((record["data"]["name"], record["model"]["layer"]), []).append(record)
    lines = []
    for data in sorted({data for data, _ in groups}):
        known = [
            r["result"]["popularity"] for r in records if r["data"]["name"] == data and "popularity" in r["result"]
        ]
        if known:
            cells = [f"{known[0][name]:.4f}" for name in ("map_20", "recall_20", "ndcg_20")]
            lines.append(f"| {data} | the most popular items | | " + " | ".join(cells) + " | |\n")
    for (data, network), group in sorted(groups.items()):
        cells = [_spread([record["result"][name] for record in group]) for name in ("map_20", "recall_20", "ndcg_20")]
        seconds = min(record["result"]["seconds"] for record in group)
        lines.append(f"| {data} | {network} | {len(group)} | " + " | ".join(cells) + f" | {seconds:.0f} |\n")
    first = [group[0] for _, group in sorted(groups.items())]
    return (
        RECOMMEND.format(data=data_drawn(records))
        + _gates(records)
        + SCORES
        + "".join(lines)
        + ending(first, lambda record: f"{record['data']['name']}, {record['model']['layer']}")
    )


def _gates(records: list[dict[str, Any]]) -> str:
    """Figure 3, of the runs whose records have it."""
    found = [record for record in records if "gate" in record["result"]]
    if not found:
        return ""
    data = data_drawn(found)
    gates = [record["result"]["gate"] for record in found if record["data"]["name"] == data]
    shown = {}
    for name in gates[0]:
        sizes = [gate[name] for gate in gates]
        low, high = f"{min(sizes):.1f}", f"{max(sizes):.1f}"
        shown[name] = low if low == high else f"{low} to {high}"
    seeds = f"lowest and highest of {len(gates)} seeds" if len(gates) > 1 else "one seed"
    return GATES.format(data=data, seeds=seeds, **shown)


def _spread(values: list[float]) -> str:
    return f"{statistics.mean(values):.4f}" + (f" ± {statistics.stdev(values):.4f}" if len(values) > 1 else "")
