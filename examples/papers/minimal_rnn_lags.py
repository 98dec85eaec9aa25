"""How far back a network remembers (Chen, 2017, section 3): a symbol recalled after noise."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from examples.papers import _records
from examples.papers._experiment import Claim, Experiment, Finding, Record, Run, by_row, runs, table
from examples.papers._files import cached
from examples.papers._lazy import Array, keras, np
from examples.papers._minimal_rnn import GATED, NETWORKS, recurrent_layer
from examples.papers._verdicts import fewer

PROTOCOL: dict[str, Any] = {
    **{"units": 64, "symbols": 8, "batch": 64, "learning_rate": 2e-3, "clip": 1.0},
    **{"lags": [10, 20, 50, 100, 200, 400], "steps": 2000, "every": 100, "recalls": 0.95},
}
"""Every network is trained at each lag, for up to `steps` steps of Adam, until it is right on the fraction `recalls` of
1,000 new sequences, which is tried after `every` steps."""

TESTED = 1000


class Lags(Experiment):
    name = "minimal-rnn-lags"
    title = "How far back a network remembers"
    place = "Chen 2017, section 3"
    measure = "steps"
    rows = {
        **{network: {"network": network} for network in NETWORKS},
        "GRU, gate bias 1": {"network": "GRU", "gate_bias": 1.0},
        **{f"{network}, gates for 100 steps": {"network": network, "gate_steps": 100.0} for network in GATED},
    }

    small = {"units": 8, "batch": 8, "lags": [2, 4], "steps": 20, "every": 10, "recalls": 0.0}

    def run(self, run: Run) -> Record:
        protocol = {**PROTOCOL, **self.settings(run), "seed": run.seed}
        environment = _records.start_run(run.folder, protocol)
        steps: dict[str, int | None] = {}
        for lag in protocol["lags"]:
            found = cached(run.folder / f"{lag}.json", partial(_learn, protocol, lag), right=float)["steps"]
            steps[str(lag)] = found
            if run.verbose:
                outcome = "not recalled" if found is None else f"recalled after {found} steps of training"
                print(f"lag {lag}: {outcome}", flush=True)
            if found is None:
                break
        longest = max((int(lag) for lag, needed in steps.items() if needed is not None), default=0)
        return {
            "environment": environment,
            "data": {"name": "a symbol, then noise"},
            "model": {"layer": run.settings["network"], "seed": run.seed},
            "protocol": protocol,
            "result": {"longest": longest, "steps": steps},
        }

    def summary(self, record: Record) -> str:
        return f"recalls a symbol after {record['result']['longest']} steps"

    def fields(self, records: Sequence[Record]) -> dict[str, str]:
        lags = max((record["protocol"]["lags"] for record in records), key=len)
        rows = []
        for row, group in by_row(records).items():
            results = [record["result"] for record in group]
            longest = [result["longest"] for result in results]
            needed = [[result["steps"].get(str(lag)) for result in results] for lag in lags]
            median = f"{statistics.median(longest):g} ({min(longest)} to {max(longest)})"
            rows.append([row, len(group), median, *map(_median, needed)])
        header = ["network", "seeds", "longest lag", *(f"steps for {lag}" for lag in lags)]
        return {"table": table(header, rows), "runs": runs(records, self.called)}

    def claims(self, records: Sequence[Record]) -> list[Claim]:
        longest = {row: [-r["result"]["longest"] for r in group] for row, group in by_row(records).items()}
        learned = {row: [r["result"]["steps"].get("100") for r in group] for row, group in by_row(records).items()}

        def farther(condition: str, own: str, *others: str) -> Finding:
            if not {own, *others} <= set(longest):
                return Finding()
            best = min((longest[other] for other in others), key=statistics.median)
            return fewer(longest[own], best, lambda steps: f"{-steps:.0f}", of=condition)

        critical = [f"{one}, gates for 100 steps" for one in reversed(GATED)]
        sooner = Finding()
        if set(critical) <= set(learned) and all(all(learned[one]) for one in critical):
            own, other = (learned[one] for one in critical)
            sooner = fewer(own, other, "{:.0f}".format, of="steps to learn a lag of 100")
        return [
            self.claim(
                "farther",
                "with critical gates a MinimalRNN learns a lag of 100 in fewer steps than the GRU; it recalls a "
                "symbol after more steps than each of the others, with the layers' own gate biases, with equal "
                "ones of 1, and with critical gates",
                sooner,
                farther("own biases", "MinimalRNN", "vanilla", "GRU", "CFN"),
                farther("biases of 1", "MinimalRNN", "GRU, gate bias 1", "CFN"),
                farther("critical gates", *critical),
                decides="a GRU that resets before the product, as the paper's; the bias of the gate, which it does not "
                "give",
            )
        ]


def sequences(rng: np.random.Generator, rows: int, lag: int, symbols: int) -> tuple[Array, Array]:
    """One of so many unit vectors, then `lag` normal vectors of mean square length 1; and which one it was."""
    y = rng.integers(symbols, size=rows)
    x = rng.normal(scale=symbols**-0.5, size=(rows, 1 + lag, symbols)).astype("float32")
    x[:, 0] = np.eye(symbols)[y]
    return x, y.astype("int32")


def model_of(protocol: Mapping[str, Any]) -> keras.Model:
    """A compiled network that says which symbol came first; its matrices are orthogonal."""
    keras.utils.set_random_seed(protocol["seed"])
    symbols = protocol["symbols"]
    gates = {name: protocol[name] for name in ("gate_bias", "gate_steps") if name in protocol}
    sizes = protocol["units"], symbols, protocol["seed"]
    layer = recurrent_layer(protocol["network"], *sizes, input_variance=1 / symbols, **gates)
    model = keras.Sequential([keras.Input((None, symbols)), layer, keras.layers.Dense(symbols)])
    model.compile(
        keras.optimizers.Adam(protocol["learning_rate"], global_clipnorm=protocol["clip"]),
        keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    )
    return model


def _learn(protocol: Mapping[str, Any], lag: int) -> dict[str, Any]:
    """The number of training steps after which a network recalls a symbol, None if it does not; and the accuracy."""
    model, symbols = model_of(protocol), protocol["symbols"]
    rng = np.random.default_rng([protocol["seed"], lag])
    x, y = sequences(rng, TESTED, lag, symbols)
    right = 0.0
    for step in range(1, protocol["steps"] + 1):
        model.train_on_batch(*sequences(rng, protocol["batch"], lag, symbols))
        if step % protocol["every"] == 0:
            right = float(np.mean(model.predict_on_batch(x).argmax(axis=1) == y))
            if right >= protocol["recalls"]:
                return {"steps": step, "right": right}
    return {"steps": None, "right": right}


def _median(steps: Sequence[int | None]) -> str:
    """The median of the runs that succeeded, and the number of the others."""
    learned = [needed for needed in steps if needed is not None]
    if not learned:
        return "-"
    failed = len(steps) - len(learned)
    return f"{statistics.median(learned):,g}" + f" ({failed} did not)" * bool(failed)
