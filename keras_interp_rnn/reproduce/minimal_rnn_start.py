"""Figure 4 of Chen, 2017: singular values of the Jacobians of untrained networks, all matrices orthogonal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from keras_interp_rnn.reproduce._experiment import Experiment, Record, Run, runs, table

if TYPE_CHECKING:
    import keras
    from numpy.typing import NDArray

DRAWN = {"units": 128, "length": 50, "batch": 16, "draws": 5, "lags": [0, 5, 10, 25]}


class Start(Experiment):
    """Untrained networks; a row is a standard deviation of the inputs, or a bias of the gates."""

    name = "minimal-rnn-start"
    title = "Jacobians at the initial point"
    place = "Chen 2017, figure 4"
    measure = "singular values"
    former_name = "jacobians_at_start"
    rows = {
        **{f"inputs of standard deviation {scale:g}": {"scale": scale} for scale in (1.0, 0.3)},
        **{f"gate bias {bias:g}": {"scale": 1.0, "gate_bias": bias} for bias in (0.0, 1.0)},
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


def _gate_bias(record: Record) -> str:
    """Of networks that share one; "" where each has its own."""
    bias = record["protocol"].get("gate_bias")
    return "" if bias is None else f", gate bias {bias:g}"


def singular_values(protocol: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
    """Singular values of the Jacobians of untrained networks, all matrices orthogonal, inputs normal.

    Args:
        protocol: units, length, batch, draws, lags, scale: `draws` of all weights and of `batch` sequences of `length`
            steps whose entries have the standard deviation `scale`. gate_bias, if it is there: one bias for the gate
            that keeps the state, in every architecture that has one; otherwise each layer's own default.

    Returns:
        {architecture: (lags, values)}.
    """
    import numpy as np

    from keras_interp_rnn import analysis
    from keras_interp_rnn.reproduce._recommendation import ARCHITECTURES, recurrent_layer

    units, lags, gate_bias = protocol["units"], protocol["lags"], protocol.get("gate_bias")
    kinds = [kind for kind in ARCHITECTURES if gate_bias is None or kind != "vanilla"]
    values: dict[str, list[NDArray[Any]]] = {kind: [] for kind in kinds}
    for draw in range(protocol["draws"]):
        shape = (protocol["batch"], protocol["length"], units)
        inputs = np.random.default_rng(draw).normal(scale=protocol["scale"], size=shape).astype("float32")
        for kind, of_kind in values.items():
            layer = recurrent_layer(kind, units, units, seed=draw)
            if gate_bias is not None:
                set_gate_bias(layer, gate_bias, units)
            of_kind.append(analysis.jacobian_singular_values(layer, inputs, lags=lags).reshape(len(lags), -1))
    return {kind: np.concatenate(of_kind, axis=1) for kind, of_kind in values.items()}


def set_gate_bias(layer: keras.layers.RNN, value: float, features: int) -> None:
    """Sets the bias of the gate that keeps the state; in a CFN minus it for the gate that admits the input."""
    import numpy as np

    from keras_interp_rnn import layers

    if not layer.built:
        layer.build((None, None, features))
    bias, n = np.zeros(layer.cell.bias.shape), layer.units
    bias[..., :n] = value  # u comes first in all three
    if isinstance(layer, layers.CFN):
        bias[n : 2 * n] = -value
    if bias.ndim == 2:  # a GRU has one for the input and one for the state, which are added
        bias[1] = 0
    layer.cell.bias.assign(bias)
