"""Figure 4 of Chen, 2017: singular values of the Jacobians of untrained networks, all matrices orthogonal."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from examples.papers._experiment import Claim, Experiment, Finding, Record, Run, runs, table
from examples.papers._minimal_rnn import GATED, NETWORKS, recurrent_layer, set_gate_bias

if TYPE_CHECKING:
    from numpy.typing import NDArray

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

    def is_deterministic(self, row: str) -> bool:
        return True

    def run(self, run: Run) -> Record:
        import numpy as np

        from keras_interp_rnn import figures

        protocol = {**DRAWN, **run.settings}
        if run.smoke:
            protocol |= {"units": 6, "length": 12, "batch": 2, "draws": 1, "lags": [0, 5]}
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

    def fields(self, records: Sequence[Record]) -> dict[str, str]:
        records = sorted(records, key=lambda record: (-record["protocol"]["scale"], _gate_bias(record)))
        rows = []
        for record in records:
            for network, of_network in record["result"].items():
                cells = [f"{median:.2g} ({low:.1e} to {high:.1e})" for low, median, high in of_network["p10_p50_p90"]]
                rows.append([f"{record['protocol']['scale']:g}", f"{network}{_gate_bias(record)}", *cells])
        lags = [f"k = {lag}" for lag in records[0]["protocol"]["lags"]]
        return {
            "table": table(["inputs' standard deviation", "network", *lags], rows),
            "runs": runs(records, lambda record: f"scale {record['protocol']['scale']:g}{_gate_bias(record)}"),
        }

    def claims(self, records: Sequence[Record]) -> list[Claim]:
        usual = [
            record
            for record in records
            if record["protocol"]["scale"] == 1 and {10, 25} <= set(record["protocol"]["lags"])
        ]
        own = [record for record in usual if not {"gate_bias", "gate_steps"} & set(record["protocol"])]
        critical = [record for record in usual if "gate_steps" in record["protocol"]]
        equal = [record for record in usual if record["protocol"].get("gate_bias") == 1]
        vanishes: list[Finding] = []
        spreads: list[Finding] = []
        stays: list[Finding] = []

        def at(record: Record, lag: int) -> dict[str, Sequence[float]]:
            """Percentiles of each network at a lag."""
            i = record["protocol"]["lags"].index(lag)
            return {kind: rows["p10_p50_p90"][i] for kind, rows in record["result"].items()}

        for record in own:
            medians = {kind: percentiles[1] for kind, percentiles in at(record, 25).items()}
            least = min(value for kind, value in medians.items() if kind != "vanilla")
            vanishes.append(Finding(f"{medians['vanilla']:.0e} against {least:.0e}", medians["vanilla"] < least))
            start, end = (at(record, lag)["MinimalRNN"][1] for lag in (0, 25))
            stays.append(Finding(f"bias of 1: {start:.2g} to {end:.1g}", end >= 0.1 * start))
        for record in critical:
            start, end = (at(record, lag)["MinimalRNN"][1] for lag in (0, 25))
            stays.append(Finding(f"critical gates: {start:.2g} to {end:.1g}", end >= 0.1 * start))
        for record in equal:
            spread = {kind: _decades(percentiles) for kind, percentiles in at(record, 10).items()}
            others = max(spread["CFN"], spread["MinimalRNN"])
            spreads.append(Finding(f"{spread['GRU']:.1f} decades against {others:.1f}", spread["GRU"] > others))
        # The supremum for |h - z| < 2, where phi is the golden ratio (docs/notes/gated-recurrences.md).
        phi = (1 + math.sqrt(5)) / 2
        greatest = math.sqrt(1 + 4 * phi**-5)
        nothing = (Finding("", None),)
        return [
            Claim(
                "section 2, equation 4",
                "With unitary U_h no singular value of a step's Jacobian exceeds 1.",
                "none of any state, input and gate does ([it comes close to 1.17](notes/gated-recurrences.md))",
                (Finding(f"{greatest:.3f}", greatest <= 1),),
            ),
            Claim(
                "figure 4",
                "At the initial point the singular values of a vanilla RNN vanish quickly.",
                "with the layers' own gate biases, the median at k = 25 is smaller than those of the others",
                tuple(vanishes) or nothing,
            ),
            Claim(
                "figure 4",
                "Those of a GRU stretch in some directions and shrink in others from k = 10 on.",
                "at k = 10 and with equal gate biases of 1, their 10th and 90th percentiles are more decades apart "
                "than with a CFN or a MinimalRNN",
                tuple(spreads) or nothing,
            ),
            Claim(
                "figure 4",
                "Those of a MinimalRNN neither stretch nor shrink up to k = 25.",
                "with the layer's own bias and with critical gates the median at k = 25 is at least a tenth of that at "
                "k = 0",
                tuple(stays) or nothing,
            ),
        ]


def _decades(percentiles: Sequence[float]) -> float:
    """From the 10 % to the 90 % percentile."""
    low, _, high = percentiles
    return math.log10(high / low)


def _gate_bias(record: Record) -> str:
    """Of networks that share one, or the steps that it is made for; "" where each has its own."""
    bias, steps = (record["protocol"].get(name) for name in ("gate_bias", "gate_steps"))
    if steps is not None:
        return f", gates for {steps:g} steps"
    return "" if bias is None else f", gate bias {bias:g}"


def singular_values(protocol: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
    """Singular values of the Jacobians of untrained networks, all matrices orthogonal, inputs normal.

    Args:
        protocol: units, length, batch, draws, lags, scale: `draws` of all weights and of `batch` sequences of `length`
            steps whose entries have the standard deviation `scale`. gate_bias, if it is there: one bias for the gate
            that keeps the state, in every network that has one; gate_steps: in place of it,
            `initializers.CriticalBias` for so many steps, in MinimalRNN and GRU; otherwise each layer's own default.

    Returns:
        {network: (lags, values)}.
    """
    import numpy as np

    from keras_interp_rnn import analysis, initializers

    units, lags = protocol["units"], protocol["lags"]
    gate_bias, gate_steps = protocol.get("gate_bias"), protocol.get("gate_steps")
    kinds = [kind for kind in NETWORKS if gate_bias is None or kind != "vanilla"]
    if gate_steps is not None:
        kinds = [*GATED]
    values: dict[str, list[NDArray[Any]]] = {kind: [] for kind in kinds}
    for draw in range(protocol["draws"]):
        shape = (protocol["batch"], protocol["length"], units)
        inputs = np.random.default_rng(draw).normal(scale=protocol["scale"], size=shape).astype("float32")
        for kind, of_kind in values.items():
            flags = {}
            if gate_steps is not None:
                variance = protocol["scale"] ** 2
                flags["bias_initializer"] = initializers.CriticalBias(kind, gate_steps, input_variance=variance)
            layer = recurrent_layer(kind, units, units, seed=draw, **flags)
            if gate_bias is not None:
                set_gate_bias(layer, gate_bias, units)
            of_kind.append(analysis.jacobian_singular_values(layer, inputs, lags=lags).reshape(len(lags), -1))
    return {kind: np.concatenate(of_kind, axis=1) for kind, of_kind in values.items()}
