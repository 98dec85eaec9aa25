"""How far back a network remembers (Chen, 2017, section 3): a symbol recalled after noise."""

from __future__ import annotations

import functools
import statistics
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from examples.papers import _records
from examples.papers._experiment import (
    Claim,
    Experiment,
    Finding,
    Record,
    Run,
    grouped,
    row_and_seed,
    runs,
    table,
)
from examples.papers._minimal_rnn import GATED, NETWORKS, recurrent_layer, set_gate_bias

if TYPE_CHECKING:
    import keras
    import numpy as np
    from numpy.typing import NDArray

PROTOCOL: dict[str, Any] = {
    **{"units": 64, "symbols": 8, "batch": 64, "learning_rate": 2e-3, "clip": 1.0},
    **{"lags": [10, 20, 50, 100, 200, 400], "steps": 2000, "every": 100, "recalls": 0.95},
}
"""Of every network: at each lag up to `steps` steps of Adam, until of 1,000 new sequences the fraction `recalls` is
right, which is tried after `every` steps."""

TESTED = 1000


class Lags(Experiment):
    """The longest lag over which a network learns to recall a symbol."""

    name = "minimal-rnn-lags"
    title = "How far back a network remembers"
    place = "Chen 2017, section 3"
    measure = "steps"
    rows = {
        **{network: {"network": network} for network in NETWORKS},
        "GRU, gate bias 1": {"network": "GRU", "gate_bias": 1.0},
        **{f"{network}, gates for 100 steps": {"network": network, "gate_steps": 100.0} for network in GATED},
    }

    def run(self, run: Run) -> Record:
        protocol = {**PROTOCOL, **run.settings, "seed": run.seed}
        if run.smoke:
            protocol |= {"units": 8, "batch": 8, "lags": [2, 4], "steps": 20, "every": 10, "recalls": 0.0}
        environment = _records.start_run(run.folder, protocol)
        steps: dict[str, int | None] = {}
        for lag in protocol["lags"]:
            learn = functools.partial(_learn, protocol, lag)
            found = _records.kept(run.folder / f"{lag}.json", learn, {"right": float})
            steps[str(lag)] = found["steps"]
            if run.verbose:
                print(f"lag {lag}: {_shown(found['steps'])}", flush=True)
            if found["steps"] is None:
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
        for (_, row), group in _by_row(records).items():
            results = [record["result"] for record in group]
            longest = [result["longest"] for result in results]
            needed = [[result["steps"].get(str(lag)) for result in results] for lag in lags]
            rows.append(
                [row, len(group), f"{statistics.median(longest):g} ({min(longest)} to {max(longest)})"]
                + [_median(of_lag) for of_lag in needed]
            )
        header = ["network", "seeds", "longest lag", *(f"steps for {lag}" for lag in lags)]
        return {"table": table(header, rows), "runs": runs(records, row_and_seed)}

    def claims(self, records: Sequence[Record]) -> list[Claim]:
        longest = {
            row: statistics.median(record["result"]["longest"] for record in group)
            for (_, row), group in _by_row(records).items()
        }

        def farther(condition: str, own: str, *others: str) -> Finding:
            if not {own, *others} <= set(longest):
                return Finding(condition, None)
            best = max(longest[other] for other in others)
            return Finding(f"{condition}: {longest[own]:g} against {best:g} steps", longest[own] > best)

        return [
            Claim(
                "section 3",
                "It captures dependencies on inputs farther back than other networks do.",
                "a MinimalRNN recalls a symbol after more steps, in the median, than each of the others: with the "
                "layers' own gate biases, with equal ones of 1, and with critical gates",
                (
                    farther("own biases", "MinimalRNN", "vanilla", "GRU", "CFN"),
                    farther("biases of 1", "MinimalRNN", "GRU, gate bias 1", "CFN"),
                    farther("critical gates", *(f"{one}, gates for 100 steps" for one in reversed(GATED))),
                ),
            )
        ]


def sequences(rng: np.random.Generator, rows: int, lag: int, symbols: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """One of so many unit vectors, then `lag` normal vectors of mean square length 1; and which one it was."""
    import numpy as np

    y = rng.integers(symbols, size=rows)
    x = rng.normal(scale=symbols**-0.5, size=(rows, 1 + lag, symbols)).astype("float32")
    x[:, 0] = np.eye(symbols)[y]
    return x, y.astype("int32")


def model_of(protocol: Mapping[str, Any]) -> keras.Model:
    """A compiled network that says which symbol came first; its matrices are orthogonal.

    Args:
        protocol: of a row; gate_bias or gate_steps as in `minimal_rnn_start.singular_values`.
    """
    import keras

    from keras_interp_rnn import initializers

    keras.utils.set_random_seed(protocol["seed"])
    kind, units, symbols = protocol["network"], protocol["units"], protocol["symbols"]
    flags = {}
    if "gate_steps" in protocol:
        flags["bias_initializer"] = initializers.CriticalBias(kind, protocol["gate_steps"], input_variance=1 / symbols)
    layer = recurrent_layer(kind, units, symbols, protocol["seed"], **flags)
    if "gate_bias" in protocol:
        set_gate_bias(layer, protocol["gate_bias"], symbols)
    model = keras.Sequential([keras.Input((None, symbols)), layer, keras.layers.Dense(symbols)])
    model.compile(
        keras.optimizers.Adam(protocol["learning_rate"], global_clipnorm=protocol["clip"]),
        keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    )
    return model


def _learn(protocol: Mapping[str, Any], lag: int) -> dict[str, Any]:
    """The number of training steps after which a network recalls a symbol, None if it does not; and the accuracy."""
    import numpy as np

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


def _by_row(records: Sequence[Record]) -> dict[tuple[int, str], list[Record]]:
    return grouped(records, lambda record: (record["table"]["order"], record["table"]["row"]))


def _shown(steps: int | None) -> str:
    return "not recalled" if steps is None else f"recalled after {steps} steps of training"


def _median(steps: Sequence[int | None]) -> str:
    """Of those that succeeded, and how many did not."""
    learned = [needed for needed in steps if needed is not None]
    if not learned:
        return "-"
    failed = len(steps) - len(learned)
    return f"{statistics.median(learned):,g}" + f" ({failed} did not)" * bool(failed)
