"""Figure 4 of Chen, 2017: singular values of the Jacobians of untrained networks, all matrices orthogonal."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from examples.papers._experiment import Claim, Experiment, Finding, Record, Run, runs, table
from examples.papers._lazy import Array, analysis, figures, np
from examples.papers._minimal_rnn import GATED, NETWORKS, gates_of, recurrent_layer

DRAWN = {"units": 128, "length": 50, "batch": 16, "draws": 5, "lags": [0, 5, 10, 25]}


class Start(Experiment):
    """Untrained networks; a row is a standard deviation of the inputs, or the gates' biases."""

    name = "minimal-rnn-start"
    title = "Jacobians at the initial point"
    place = "Chen 2017, figure 4"
    measure = "singular values"
    rows = {
        **{f"inputs of standard deviation {scale:g}": {"scale": scale} for scale in (1.0, 0.3)},
        **{f"gate bias {bias:g}": {"scale": 1.0, "gate_bias": bias} for bias in (0.0, 1.0)},
        "gates for 100 steps": {"scale": 1.0, "gate_steps": 100.0},
    }

    small = {"units": 6, "length": 12, "batch": 2, "draws": 1, "lags": [0, 5]}

    def is_deterministic(self, row: str) -> bool:
        return True

    def run(self, run: Run) -> Record:
        protocol = {**DRAWN, **self.settings(run)}
        values = singular_values(protocol)
        figures.jacobian_histogram(values, protocol["lags"]).savefig(run.folder / "figure4.png", dpi=150)
        percentiles = {kind: np.percentile(of_kind, [10, 50, 90], axis=1) for kind, of_kind in values.items()}
        return {
            "protocol": protocol,
            "result": {kind: {"p10_p50_p90": of_kind.T.tolist()} for kind, of_kind in percentiles.items()},
        }

    def summary(self, record: Record) -> str:
        lag = record["protocol"]["lags"][-1]
        medians = (f"{kind} {rows['p10_p50_p90'][-1][1]:.1e}" for kind, rows in record["result"].items())
        return f"median singular value of dh_T/dx_(T-{lag}): {', '.join(medians)}"

    def called(self, record: Record) -> str:
        return f"scale {record['protocol']['scale']:g}{gates_of(record['protocol'])}"

    def fields(self, records: Sequence[Record]) -> dict[str, str]:
        records = sorted(records, key=lambda record: (-record["protocol"]["scale"], gates_of(record["protocol"])))
        rows = []
        for record in records:
            scale, gates = record["protocol"]["scale"], gates_of(record["protocol"])
            for network, of_network in record["result"].items():
                cells = [f"{median:.2g} ({low:.1e} to {high:.1e})" for low, median, high in of_network["p10_p50_p90"]]
                rows.append([f"{scale:g}", f"{network}{gates}", *cells])
        header = ["inputs' standard deviation", "network", *(f"k = {lag}" for lag in records[0]["protocol"]["lags"])]
        return {"table": table(header, rows), "runs": runs(records, self.called)}

    def claims(self, records: Sequence[Record]) -> list[Claim]:
        vanishes: list[Finding] = []
        spreads: list[Finding] = []
        stays: list[Finding] = []
        for record in records:
            protocol = record["protocol"]
            bias, steps = protocol.get("gate_bias"), protocol.get("gate_steps")
            if protocol["scale"] != 1 or not {10, 25} <= set(protocol["lags"]):
                continue
            start, middle, end = (
                {kind: rows["p10_p50_p90"][protocol["lags"].index(lag)] for kind, rows in record["result"].items()}
                for lag in (0, 10, 25)
            )
            if bias is None:
                first, last = start["MinimalRNN"][1], end["MinimalRNN"][1]
                how = "critical gates" if steps else "bias of 1"
                stays.append(Finding(f"{how}: {first:.2g} to {last:.1g}", last >= 0.1 * first))
            if bias is None and steps is None:
                least = min(percentiles[1] for kind, percentiles in end.items() if kind != "vanilla")
                vanilla = end["vanilla"][1]
                vanishes.append(Finding(f"{vanilla:.0e} against {least:.0e}", vanilla < least))
            if bias == 1:
                decades = {kind: math.log10(high / low) for kind, (low, _, high) in middle.items()}
                gru, others = decades["GRU"], max(decades["CFN"], decades["MinimalRNN"])
                spreads.append(Finding(f"{gru:.1f} decades against {others:.1f}", gru > others))
        # The supremum for |h - z| < 2, where phi is the golden ratio (docs/notes/gated-recurrences.md).
        phi = (1 + math.sqrt(5)) / 2
        greatest = math.sqrt(1 + 4 * phi**-5)
        return [
            self.claim(
                "bound",
                "none of any state, input and gate does ([it comes close to 1.17](notes/gated-recurrences.md))",
                Finding(f"{greatest:.3f}", greatest <= 1),
                evidence="a proof",
            ),
            self.claim(
                "vanilla",
                "with the layers' own gate biases, the median at k = 25 is smaller than those of the others",
                *vanishes,
            ),
            self.claim(
                "GRU",
                "at k = 10 and with equal gate biases of 1, their 10th and 90th percentiles are more decades "
                "apart than with a CFN or a MinimalRNN",
                *spreads,
            ),
            self.claim(
                "MinimalRNN",
                "with the layer's own bias and with critical gates the median at k = 25 is at least a tenth of "
                "that at k = 0",
                *sorted(stays, key=lambda finding: finding.figure),
                decides="the bias of the gate, which the paper does not give",
                picture="jacobians_at_start_critical.png",
            ),
        ]


def singular_values(protocol: Mapping[str, Any]) -> dict[str, Array]:
    """Singular values of the Jacobians of untrained networks, all matrices orthogonal, inputs normal.

    Args:
        protocol: units, length, batch, draws, lags, scale: `draws` of all weights and of `batch` sequences of `length`
            steps whose entries have the standard deviation `scale`. gate_bias, gate_steps: if they are there, as
            `recurrent_layer`, in every network that has the gate; otherwise each layer's own default.

    Returns:
        {network: (lags, values)}.
    """
    units, lags, scale = protocol["units"], protocol["lags"], protocol["scale"]
    gates = {name: protocol[name] for name in ("gate_bias", "gate_steps") if name in protocol}
    kinds = GATED if "gate_steps" in gates else NETWORKS[1:] if "gate_bias" in gates else NETWORKS
    values: dict[str, list[Array]] = {kind: [] for kind in kinds}
    for draw in range(protocol["draws"]):
        shape = (protocol["batch"], protocol["length"], units)
        inputs = np.random.default_rng(draw).normal(scale=scale, size=shape).astype("float32")
        for kind, of_kind in values.items():
            layer = recurrent_layer(kind, units, units, seed=draw, input_variance=scale**2, **gates)
            of_kind.append(analysis.jacobian_singular_values(layer, inputs, lags=lags).reshape(len(lags), -1))
    return {kind: np.concatenate(of_kind, axis=1) for kind, of_kind in values.items()}
